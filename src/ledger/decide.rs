//! What a command comes to, given the live world: events of one stream, or a refusal.

use std::collections::BTreeMap;

use events::event::{EventError, Events, Payload};
use events::hash::engine_subject;
use events::ids::{AuthorId, Millis, Seq, Subject};
use events::log::ReadLog as _;
use events::payload::{Actor, ActorChange, Price};
use projections::book::EnginePrice;
use replay::decider::DeciderError;
use replay::import::{Basis, ImportError, ImportedTurn, Recorded};
use replay::policy_file::PolicyFileError;
use replay::writer::author_subject;
use serde_bytes::Bytes as RawBytes;

use super::command::{Command, Outcome, PRICES_A_COMMAND_MAX, TURNS_A_COMMAND_MAX};
use super::group::Group;
use super::live::Live;
use crate::store::StoreError;

/// What was decided.
pub(super) struct Decided {
    /// What is to be written.
    pub(super) events: Events,
    /// What the asker is told once it is.
    pub(super) outcome: Outcome,
    /// A change of keys to be carried out then.
    pub(super) key: Option<Actor>,
}

impl Decided {
    pub(super) fn known(first: Seq) -> Self {
        let outcome = Outcome::Written { first, repeated: true };
        Self { events: Events::new(), outcome, key: None }
    }
}

/// Why nothing was decided.
pub(super) enum Stop {
    /// The command makes no sense here.
    Refused(String),
    /// The store failed.
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<EventError> for Stop {
    fn from(error: EventError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<DeciderError> for Stop {
    fn from(error: DeciderError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<PolicyFileError> for Stop {
    fn from(error: PolicyFileError) -> Self {
        DeciderError::from(error).into()
    }
}

impl From<ImportError<StoreError>> for Stop {
    fn from(error: ImportError<StoreError>) -> Self {
        match error {
            ImportError::Event(error) => error.into(),
            ImportError::Store(error) => Self::Failed(error),
            ImportError::Damaged { .. } => Self::Failed(StoreError::Damaged { what: "log" }),
        }
    }
}

impl Live {
    pub(super) fn decide(
        &mut self,
        command: &Command<'_>,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        match command {
            Command::ImportTurns(turns) => self.import(turns),
            Command::CloseImport { id, at, import } => self.said_once(*id, *at, import, group),
            Command::ImportPrices { at, prices } => self.import_prices(*at, prices),
            Command::ClosePrices { id, at, book } => self.said_once(*id, *at, book, group),
            Command::Ask { id, turn } => self.ask(id, turn, group),
            Command::Retry { turn, attempt } => self.retry(turn, *attempt, group),
            Command::EndAttempt { turn, attempted } => self.end_attempt(turn, attempted, group),
            Command::CloseTurn { turn, closed } => self.close_turn(turn, closed, group),
            Command::SetPolicy { at, sequence, text } => {
                self.set_policy(*at, *sequence, text, group)
            }
            Command::Judge { at, turn, verdict } => self.judge(*at, turn, *verdict, group),
            Command::ChangeKey { at, actor } => self.change_key(*at, *actor, group.next),
        }
    }

    fn import(&mut self, turns: &[&RawBytes]) -> Result<Decided, Stop> {
        at_most(TURNS_A_COMMAND_MAX, turns.len(), "turns")?;
        let basis = Basis {
            log: &self.store,
            keyring: &self.world.keyring,
            secret: &self.keys.secret,
            kinds: &self.kinds,
        };
        let mut events = Events::new();
        let mut recorded = Vec::with_capacity(turns.len());
        for turn in turns {
            let turn: ImportedTurn<'_> = rmp_serde::from_slice(turn)
                .map_err(|error| Stop::Refused(format!("no turn: {error}")))?;
            recorded.push(self.importer.decide(&basis, &turn, &mut events)?);
        }
        Ok(Decided { events, outcome: Outcome::Imported(recorded), key: None })
    }

    /// Prices that are new or different. Twice the same in one command is one.
    fn import_prices(&self, at: Millis, prices: &[&RawBytes]) -> Result<Decided, Stop> {
        at_most(PRICES_A_COMMAND_MAX, prices.len(), "prices")?;
        let mut events = Events::new();
        let mut recorded = Vec::with_capacity(prices.len());
        let mut said: BTreeMap<String, EnginePrice> = BTreeMap::new();
        for price in prices {
            let price: Price<'_> = rmp_serde::from_slice(price)
                .map_err(|error| Stop::Refused(format!("no price: {error}")))?;
            let stated = EnginePrice::of(&price, None);
            let known = said.get(&stated.engine).or_else(|| self.world.book.engine(&stated.engine));
            let outcome = match known {
                Some(known) if known.says_the_same(&stated) => Recorded::Repeated,
                Some(_) => Recorded::Amended,
                None => Recorded::New,
            };
            if outcome != Recorded::Repeated {
                events.push(at, engine_subject(&stated.engine), &price)?;
                said.insert(stated.engine.clone(), stated);
            }
            recorded.push(outcome);
        }
        Ok(Decided { events, outcome: Outcome::Imported(recorded), key: None })
    }

    /// An event under an id of its asker's, once.
    fn said_once(
        &self,
        id: Subject,
        at: Millis,
        payload: &impl Payload,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        if let Some(first) = self.store.positions_about(&id)?.first() {
            return Ok(Decided::known(*first));
        }
        if let Some(said) = group.said.get(&id) {
            return Ok(Decided::known(*said));
        }
        let first = group.next;
        let mut events = Events::new();
        events.push(at, id, payload)?;
        group.said.insert(id, first);
        let outcome = Outcome::Written { first, repeated: false };
        Ok(Decided { events, outcome, key: None })
    }

    fn change_key(&self, at: Millis, actor: Actor, first: Seq) -> Result<Decided, Stop> {
        let subject = author_subject(&actor.key);
        let standing = self.world.keyring.standing(&actor.key);
        let is_active = |key: &AuthorId| self.world.keyring.stream_of(key) == Some(actor.stream);
        let is_done = match actor.change {
            ActorChange::Enrolled => is_active(&actor.key),
            ActorChange::Retired => {
                standing.is_some_and(|standing| standing.stream == actor.stream && !standing.active)
            }
            ActorChange::Rotated => {
                is_active(&actor.key) && !actor.replaces.is_some_and(|old| is_active(&old))
            }
        };
        if is_done {
            // It may be in the group that is being gathered.
            let there = self.store.positions_about(&subject)?.last().copied();
            return Ok(Decided::known(there.unwrap_or(first)));
        }
        if !self.world.keyring.accepts(&actor) {
            let change = actor.change.label();
            let stream = actor.stream.label();
            let problem = format!("key {} cannot be {change} for the stream {stream}", actor.key);
            return Err(Stop::Refused(problem));
        }
        if actor.change == ActorChange::Retired && self.keys.is_own(&actor.key) {
            let stream = actor.stream.label();
            let problem = format!("it is this ledger's own {stream} key; rotate it instead");
            return Err(Stop::Refused(problem));
        }
        let takes_own_place = actor.replaces.is_some_and(|old| self.keys.is_own(&old));
        if takes_own_place && !self.keys.is_drawn(&actor)? {
            let problem =
                "the new key's secret is not beside the old one: nothing could be signed any more";
            return Err(Stop::Refused(problem.to_owned()));
        }
        let mut events = Events::new();
        events.push(at, subject, &actor)?;
        let outcome = Outcome::Written { first, repeated: false };
        Ok(Decided { events, outcome, key: Some(actor) })
    }
}

fn at_most(allowed: usize, given: usize, what: &str) -> Result<(), Stop> {
    if given <= allowed {
        return Ok(());
    }
    Err(Stop::Refused(format!("{given} {what} in one command; {allowed} are allowed")))
}
