//! Making, opening and repairing a ledger: it is judged before it is believed.

use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use events::bytes::{Bytes, Bytes32};
use events::hash::{Domain, LedgerSecret, digest};
use events::head::Head;
use events::ids::{LedgerId, Millis, Seq};
use events::log::{AppendError, ReadLog as _};
use events::payload::{Finding, FindingCode, Stream};
use events::sign::{HEAD_PREFIX, SigningKey, VERIFIER};
use fjall::PersistMode;
use replay::writer::{WriteError, Writer, author_subject, open_ledger};

use super::files::copy_into;
use super::head::{
    Evidence, Missing, Record, Refusal, RunSlot, Slot, Stop, SyncSlots, WitnessSlot, judge,
    read_all,
};
use super::syncer::{SyncState, Syncer};
use super::{FjallLog, Home, KeyFiles, Promise, Settings, Store, StoreError};

/// Positions that a loss of power took, none of which had been promised to survive one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first position that is gone.
    pub from: Seq,
    /// The position after the last.
    pub to: Seq,
}

/// What opening a ledger came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Whether the stop before was clean.
    pub was_clean: bool,
    /// What a loss of power took. A finding in the ledger says so too.
    pub lost: Option<Lost>,
}

/// A loss that a person accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What the store had been refused for.
    pub refusal: Refusal,
    /// What is gone of what had been promised. A finding in the ledger says so too.
    pub lost: Lost,
}

/// What lies in a home, before anything is decided about it.
struct Found {
    lock: File,
    log: FjallLog,
    node: SigningKey,
    sync: [Slot; 2],
    newest: Vec<Record>,
    /// A record says that everything before was admitted by the rules of this build.
    admitted: Seq,
    verdict: Result<Stop, Refusal>,
}

impl Found {
    fn look(home: &Home, settings: &Settings, lock: File) -> Result<Self, StoreError> {
        let node = KeyFiles::new(home.clone()).signing(Stream::Node)?;
        let (run, sync) = read_all(&home.head(), &node.public(), &mac_key(&node))?;
        let newest_sync = sync.into_iter().filter_map(Slot::record).max_by_key(|r| r.counter);
        let newest: Vec<Record> = run.record().into_iter().chain(newest_sync).collect();
        if newest.len() < 2 || !newest.iter().all(|record| record.clean) {
            keep_journal(home)?;
        }
        let durability = settings.promise.durability();
        let log = match newest_sync {
            Some(record) => FjallLog::open(&home.ledger(), record.head.ledger, durability)?,
            None if home.ledger().exists() => FjallLog::open_any(&home.ledger(), durability)?,
            None => return Err(Refusal::HeadMissing(Missing::Sync).into()),
        };
        let witness = match &settings.witness {
            Some(folder) => WitnessSlot::read(folder, &log.head().ledger, &node.public())
                .unwrap_or(Slot::Missing),
            None => Slot::Missing,
        };
        let link_at = |position| log.link_at(position).ok().flatten();
        let (boot, store) = (settings.boot, log.head());
        let verdict = judge(&Evidence { boot, run, sync, witness, store, link_at: &link_at });
        let newest = newest.into_iter().chain(witness.record()).collect();
        let admitted = newest_sync.filter(|record| record.verifier == VERIFIER);
        let admitted = admitted.map_or(0, |record| record.head.next);
        Ok(Self { lock, log, node, sync, newest, admitted, verdict })
    }

    /// Writes what is gone before anything that tells of it is overwritten.
    fn record(
        &mut self,
        home: &Home,
        code: FindingCode,
        lost: Lost,
        at: Millis,
    ) -> Result<(), StoreError> {
        let node = KeyFiles::new(home.clone()).signing(Stream::Node)?;
        let subject = author_subject(&node.public());
        let at = at.max(self.log.received());
        let mut writer = Writer::new(&mut self.log, node);
        let finding = Finding { code, from: lost.from, to: lost.to };
        writer.push(at, subject, &finding).and_then(|()| writer.flush()).map_err(written)?;
        self.log.sync()
    }

    /// What is gone of what was vouched for: from the newest position whose past is still there.
    fn loss(&self, refusal: &Refusal) -> Lost {
        let end = self.log.head().next;
        let vouched = || self.newest.iter().map(|record| record.head);
        let is_there =
            |head: &Head| self.log.link_at(head.next).is_ok_and(|link| link == Some(head.link));
        let from = match refusal {
            Refusal::Forked { .. } => {
                vouched().filter(is_there).map(|head| head.next).max().unwrap_or(0)
            }
            _ => end,
        };
        let to = vouched().map(|head| head.next).max().unwrap_or(from);
        Lost { from, to: to.max(from) }
    }

    /// Takes the store into use. The first round of syncing vouches for what was found.
    fn take(self, home: &Home, settings: Settings) -> Result<Store, StoreError> {
        let counter = self.newest.iter().map(|record| record.counter).max().unwrap_or(0);
        let (node_id, head) = (self.node.public(), self.log.head());
        // What was recovered from the journal is vouched for as synced before long: so it shall be.
        self.log.sync()?;
        let run = RunSlot::open(&home.head(), node_id, mac_key(&self.node))?;
        let state = sync_state(home, self.node, self.sync, counter, &settings, &head.ledger)?;
        let mut store = Store {
            home: home.clone(),
            run,
            log: self.log,
            syncer: None,
            failed: false,
            counter,
            settings,
            lock: self.lock,
        };
        store.write_run(false)?;
        // Once on disk, so that no record of an earlier boot outlives this one's start.
        store.run.sync()?;
        store.syncer = Some(Syncer::start(home.ledger(), state, head)?);
        Ok(store)
    }
}

impl Store {
    /// Makes a new ledger: keys, an id, its first batch, its first head.
    ///
    /// # Errors
    /// [`StoreError::Exists`] where there is one; else what failed.
    pub fn init(home: &Home, settings: &Settings, at: Millis) -> Result<LedgerId, StoreError> {
        if home.has_ledger() {
            return Err(StoreError::Exists { path: home.path().to_owned() });
        }
        home.create()?;
        let lock = lock(home)?;
        let keys = KeyFiles::new(home.clone());
        keys.create()?;
        let mut id = [0; 32];
        getrandom::fill(&mut id).map_err(|error| StoreError::Key {
            path: home.keys(),
            problem: format!("the system gives no entropy: {error}"),
        })?;
        let ledger: LedgerId = Bytes(id);
        let mut log = FjallLog::open(&home.ledger(), ledger, PersistMode::SyncAll)?;
        let signing = keys.all()?;
        let streams = [
            (Stream::Proxy, signing.proxy.public()),
            (Stream::Agent, signing.agent.public()),
            (Stream::People, signing.people.public()),
        ];
        open_ledger(&mut log, signing.node, &streams, at).map_err(written)?;
        log.flush()?;
        let node = keys.signing(Stream::Node)?;
        let run = RunSlot::open(&home.head(), node.public(), mac_key(&node))?;
        let head = log.head();
        let mut state = sync_state(home, node, [Slot::Missing; 2], 0, settings, &ledger)?;
        let (boot, verifier) = (state.boot, VERIFIER);
        run.write(&Record { counter: 1, boot, clean: true, power: false, verifier, head })?;
        run.sync()?;
        // Last: from here on there is a ledger.
        state.record(head, true)?;
        drop(lock);
        Ok(ledger)
    }

    /// Opens a ledger for use: judges the store against the heads kept outside it, checks what an unclean
    /// stop can have touched, and records what is gone.
    ///
    /// # Errors
    /// [`StoreError::Head`] and [`StoreError::Broken`] when the store is not the one that was promised.
    pub fn open(home: &Home, settings: Settings) -> Result<(Self, Opened), StoreError> {
        let lock = lock_ledger(home)?;
        // The same lock, held until the journals have been looked after.
        let held = lock.try_clone().map_err(StoreError::file(home.path()))?;
        let opened = Self::open_locked(home, settings, lock);
        if opened.is_err() {
            keep_refused_journal(home);
        }
        drop(held);
        opened
    }

    fn open_locked(
        home: &Home,
        settings: Settings,
        lock: File,
    ) -> Result<(Self, Opened), StoreError> {
        let mut found = Found::look(home, &settings, lock)?;
        let stop = found.verdict?;
        if stop != Stop::Clean {
            found.log.check_tail()?;
        }
        found.log.check_signatures(found.admitted)?;
        let lost = match stop {
            Stop::LostTail { from, to } => Some(Lost { from, to }),
            Stop::Clean | Stop::Unclean => None,
        };
        if let Some(lost) = lost {
            found.record(home, FindingCode::TailLost, lost, settings.now)?;
        }
        let opened = Opened { was_clean: stop == Stop::Clean, lost };
        let store = found.take(home, settings)?;
        store.settle_rotations()?;
        Ok((store, opened))
    }

    /// Accepts that events which had been promised are gone: the store as it is becomes the ledger, and a
    /// finding in it says what is missing. `None` when there is nothing to accept.
    ///
    /// # Errors
    /// [`StoreError::Broken`] when the store has a hole: no acceptance closes one.
    pub fn accept_loss(
        home: &Home,
        settings: Settings,
    ) -> Result<Option<(Self, Accepted)>, StoreError> {
        let mut found = Found::look(home, &settings, lock_ledger(home)?)?;
        found.log.check_tail()?;
        found.log.check_signatures(found.admitted)?;
        let Err(refusal) = found.verdict else { return Ok(None) };
        let lost = found.loss(&refusal);
        found.record(home, FindingCode::LossAccepted, lost, settings.now)?;
        let store = found.take(home, settings)?;
        store.sync()?;
        Ok(Some((store, Accepted { refusal, lost })))
    }
}

pub(super) fn written(error: WriteError<StoreError>) -> StoreError {
    match error {
        WriteError::Append(AppendError::Store(error)) => error,
        // Events of ferry's own making that a log refuses are a fault of the log's notes about itself.
        _ => StoreError::Damaged { what: "author index" },
    }
}

fn sync_state(
    home: &Home,
    node: SigningKey,
    found: [Slot; 2],
    counter: u64,
    settings: &Settings,
    ledger: &LedgerId,
) -> Result<SyncState, StoreError> {
    let witness = settings.witness.as_ref();
    let witness = witness.and_then(|folder| WitnessSlot::open(folder, ledger).ok());
    Ok(SyncState {
        slots: SyncSlots::open(&home.head(), node, found, witness)?,
        counter,
        boot: settings.boot,
        power: settings.promise == Promise::Power,
        every: settings.sync_every,
    })
}

/// The key of `run` records.
fn mac_key(node: &SigningKey) -> LedgerSecret {
    derived_key(node, Domain::HeadMacKey, b"key of head/run")
}

/// A secret for one use, derived from the node key by what only the node key can sign.
pub(super) fn derived_key(node: &SigningKey, domain: Domain, label: &[u8]) -> LedgerSecret {
    let signature = node.sign(HEAD_PREFIX, label);
    let key: Bytes32 = digest(domain, signature.as_slice());
    LedgerSecret::new(key.0)
}

fn lock_ledger(home: &Home) -> Result<File, StoreError> {
    if home.has_ledger() {
        lock(home)
    } else {
        Err(StoreError::NoLedger { path: home.path().to_owned() })
    }
}

/// One owner at a time.
fn lock(home: &Home) -> Result<File, StoreError> {
    let path = home.path().join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(StoreError::file(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy),
        Err(TryLockError::Error(error)) => Err(StoreError::file(&path)(error)),
    }
}

/// Copies the journals aside before the engine opens them: it cuts off what it cannot read.
fn keep_journal(home: &Home) -> Result<(), StoreError> {
    let (from, to) = (home.ledger(), home.journal_before());
    if !from.exists() {
        return Ok(());
    }
    if to.exists() {
        std::fs::remove_dir_all(&to).map_err(StoreError::file(&to))?;
    }
    DirBuilder::new().mode(0o700).create(&to).map_err(StoreError::file(&to))?;
    for entry in std::fs::read_dir(&from).map_err(StoreError::file(&from))? {
        let path = entry.map_err(StoreError::file(&from))?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            copy_into(&path, &to)?;
        }
    }
    File::open(&to).and_then(|folder| folder.sync_all()).map_err(StoreError::file(&to))
}

/// A refused ledger is opened again and again by whoever does not believe it: the journal as it was first
/// refused is kept apart, and not overwritten.
fn keep_refused_journal(home: &Home) {
    let (before, refused) = (home.journal_before(), home.journal_refused());
    if before.exists() && !refused.exists() {
        // Where it cannot be moved it still lies where it was copied.
        let _ = std::fs::rename(before, refused);
    }
}
