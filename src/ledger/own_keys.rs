//! The keys the owner signs with.

use events::batch::Author;
use events::hash::LedgerSecret;
use events::ids::AuthorId;
use events::log::{Log as _, ReadLog as _};
use events::payload::{Actor, Stream};
use replay::writer::Keys;

use crate::store::{Home, KeyFiles, Store, StoreError};

/// The keys the owner signs with, each where its chain stands.
pub(super) struct OwnKeys {
    authors: [Author; 4],
    pub(super) files: KeyFiles,
    pub(super) secret: LedgerSecret,
}

impl OwnKeys {
    pub(super) fn read(home: &Home, store: &Store) -> Result<Self, StoreError> {
        let files = KeyFiles::new(home.clone());
        Ok(Self { authors: authors(files.all()?, store), secret: files.secret()?, files })
    }

    pub(super) fn reload(&mut self, store: &Store) -> Result<(), StoreError> {
        self.authors = authors(self.files.all()?, store);
        Ok(())
    }

    pub(super) const fn author(&mut self, stream: Stream) -> &mut Author {
        let [node, proxy, agent, people] = &mut self.authors;
        match stream {
            Stream::Node => node,
            Stream::Proxy => proxy,
            Stream::Agent => agent,
            Stream::People => people,
        }
    }

    pub(super) fn is_own(&self, key: &AuthorId) -> bool {
        self.authors.iter().any(|author| author.id() == *key)
    }

    /// True when the new key of a rotation was drawn, and waits beside the old one.
    pub(super) fn is_drawn(&self, actor: &Actor) -> Result<bool, StoreError> {
        Ok(self.files.next(actor.stream)?.is_some_and(|key| key.public() == actor.key))
    }
}

fn authors(keys: Keys, store: &Store) -> [Author; 4] {
    let Keys { node, proxy, agent, people } = keys;
    let ledger = store.head().ledger;
    [node, proxy, agent, people].map(|key| {
        let tip = store.tip(&key.public());
        Author::new(key, ledger, tip)
    })
}
