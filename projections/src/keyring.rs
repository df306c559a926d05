//! Which key may write what, from which position on.

use std::collections::BTreeMap;

use events::event::Body;
use events::ids::{AuthorId, Seq};
use events::payload::{Actor, ActorChange, Stream};
use events::sign::check_key;
use serde::{Deserialize, Serialize};

use crate::projection::Context;
use crate::table::Table;

/// A key's standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// What it writes.
    pub stream: Stream,
    /// Whether it may still write.
    pub active: bool,
    /// The event that let it write: what it said before has no effect.
    pub since: Seq,
    /// The event that took it away: what it says after has no effect.
    pub until: Option<Seq>,
}

impl Key {
    const fn new(stream: Stream, since: Seq) -> Self {
        Self { stream, active: true, since, until: None }
    }

    const fn ended(self, at: Seq) -> Self {
        Self { active: false, until: Some(at), ..self }
    }
}

/// The keys of a ledger. Its first event names the node key; the node key enrols all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyring {
    keys: Table<AuthorId, Key>,
}

impl Keyring {
    pub(crate) const NAME: &'static str = "keyring";

    pub(crate) const fn new() -> Self {
        Self { keys: Table::new(Self::NAME) }
    }

    pub(crate) fn of(keys: BTreeMap<AuthorId, Key>) -> Self {
        Self { keys: Table::of(Self::NAME, keys) }
    }

    pub(crate) const fn table(&self) -> &Table<AuthorId, Key> {
        &self.keys
    }

    pub(crate) fn settle(&mut self) {
        self.keys.settle();
    }

    /// True when the key could write a stream at a position: what it said there stands.
    #[must_use]
    pub fn could_write(&self, author: &AuthorId, stream: Stream, at: Seq) -> bool {
        self.keys.get(author).is_some_and(|key| {
            key.stream == stream && key.since < at && key.until.is_none_or(|until| at <= until)
        })
    }

    /// The stream a key may write to now.
    #[must_use]
    pub fn stream_of(&self, author: &AuthorId) -> Option<Stream> {
        self.keys.get(author).filter(|key| key.active).map(|key| key.stream)
    }

    /// True when the event's author may write its kind. The first event of a ledger speaks for itself.
    #[must_use]
    pub fn allows(&self, context: &Context, body: &Body<'_>) -> bool {
        match body {
            Body::LedgerOpened(opened) => context.seq == 0 && opened.node == context.author,
            Body::Unknown(_) => self.stream_of(&context.author).is_some(),
            _ => {
                let stream = self.stream_of(&context.author);
                stream.is_some() && stream == context.written_by
            }
        }
    }

    /// The keys, with their standing.
    pub fn keys(&self) -> impl Iterator<Item = (&AuthorId, &Key)> {
        self.keys.iter()
    }

    /// True when a change of keys would make sense here.
    #[must_use]
    pub fn accepts(&self, actor: &Actor) -> bool {
        self.clone().change(actor, 0)
    }

    /// A key's standing, if the ledger knows it.
    #[must_use]
    pub fn standing(&self, key: &AuthorId) -> Option<Key> {
        self.keys.get(key).copied()
    }

    /// Takes the node key in. Always makes sense: [`Keyring::allows`] lets it come first only.
    pub(crate) fn open(&mut self, node: AuthorId) -> bool {
        self.keys.insert(node, Key::new(Stream::Node, 0));
        true
    }

    /// Follows a change of a key; false when the change makes no sense here and has no effect.
    pub(crate) fn change(&mut self, actor: &Actor, at: Seq) -> bool {
        let known = self.keys.get(&actor.key).copied();
        let enrolled = Key::new(actor.stream, at);
        let writes = |key: Option<Key>| key.filter(|key| key.active && key.stream == actor.stream);
        match actor.change {
            ActorChange::Enrolled if known.is_none() && check_key(&actor.key).is_ok() => {
                self.keys.insert(actor.key, enrolled);
                true
            }
            ActorChange::Retired if !self.is_last_node(&actor.key) => {
                let Some(key) = writes(known) else { return false };
                self.keys.insert(actor.key, key.ended(at));
                true
            }
            ActorChange::Rotated if known.is_none() && check_key(&actor.key).is_ok() => {
                let Some(old) = actor.replaces else { return false };
                let Some(key) = writes(self.keys.get(&old).copied()) else { return false };
                self.keys.insert(old, key.ended(at));
                self.keys.insert(actor.key, enrolled);
                true
            }
            _ => false,
        }
    }

    /// Without a node key nobody could enrol another, or vouch for a head.
    fn is_last_node(&self, author: &AuthorId) -> bool {
        let nodes = self.keys.iter().filter(|(_, key)| key.active && key.stream == Stream::Node);
        nodes.map(|(node, _)| node).eq([author])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::bytes::Bytes;
    use events::sign::SigningKey;

    fn key(seed: u8) -> AuthorId {
        SigningKey::from_secret(&[seed; 32]).public()
    }

    fn actor(key: AuthorId, change: ActorChange, replaces: Option<AuthorId>) -> Actor {
        Actor { key, stream: Stream::Proxy, change, replaces }
    }

    #[test]
    fn keys_are_enrolled_rotated_and_retired_once() {
        let mut keyring = Keyring::new();
        assert!(keyring.change(&actor(key(1), ActorChange::Enrolled, None), 1));
        assert!(!keyring.change(&actor(key(1), ActorChange::Enrolled, None), 1));
        assert_eq!(keyring.stream_of(&key(1)), Some(Stream::Proxy));
        assert!(!keyring.change(&actor(key(2), ActorChange::Rotated, None), 1));
        assert!(!keyring.change(&actor(key(2), ActorChange::Rotated, Some(key(3))), 1));
        assert!(keyring.change(&actor(key(2), ActorChange::Rotated, Some(key(1))), 1));
        assert_eq!(keyring.stream_of(&key(1)), None);
        assert_eq!(keyring.stream_of(&key(2)), Some(Stream::Proxy));
        assert!(keyring.change(&actor(key(2), ActorChange::Retired, None), 1));
        assert_eq!(keyring.stream_of(&key(2)), None);
        assert!(
            !keyring.change(&actor(key(1), ActorChange::Enrolled, None), 1),
            "retired is for good"
        );
    }

    #[test]
    fn the_last_node_key_does_not_retire() {
        let mut keyring = Keyring::new();
        let node = |key, change, replaces| Actor { key, stream: Stream::Node, change, replaces };
        keyring.open(key(1));
        assert!(!keyring.change(&node(key(1), ActorChange::Retired, None), 1));
        assert!(keyring.change(&node(key(2), ActorChange::Enrolled, None), 1));
        assert!(keyring.change(&node(key(1), ActorChange::Retired, None), 1));
        assert!(!keyring.change(&node(key(2), ActorChange::Retired, None), 1));
        assert!(keyring.change(&node(key(3), ActorChange::Rotated, Some(key(2))), 1));
    }

    #[test]
    fn an_unsound_key_is_not_enrolled() {
        let mut keyring = Keyring::new();
        let mut identity = [0; 32];
        identity[0] = 1;
        assert!(!keyring.change(&actor(Bytes(identity), ActorChange::Enrolled, None), 1));
    }
}
