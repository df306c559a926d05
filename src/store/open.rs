//! Making, opening and repairing a ledger: it is judged before it is believed.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use events::bytes::{Bytes, Bytes32};
use events::hash::{Domain, LedgerSecret, digest};
use events::ids::{LedgerId, Millis, Seq};
use events::log::{AppendError, Log as _};
use events::payload::{Finding, FindingCode, Stream};
use events::sign::{HEAD_PREFIX, SigningKey};
use fjall::PersistMode;
use replay::writer::{WriteError, Writer, author_subject, open_ledger};

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
    verdict: Result<Stop, Refusal>,
}

impl Found {
    fn look(home: &Home, settings: &Settings) -> Result<Self, StoreError> {
        if !home.has_ledger() {
            return Err(StoreError::NoLedger { path: home.path().to_owned() });
        }
        let lock = lock(home)?;
        let node = KeyFiles::new(home.clone()).signing(Stream::Node)?;
        let (run, sync) = read_all(&home.head(), &node.public(), &mac_key(&node))?;
        let newest_sync = sync.into_iter().filter_map(Slot::record).max_by_key(|r| r.counter);
        let newest: Vec<Record> = run.record().into_iter().chain(newest_sync).collect();
        if newest.len() < 2 || !newest.iter().all(|record| record.clean) {
            keep_journal(home)?;
        }
        let ledger = newest_sync.ok_or(Refusal::HeadMissing(Missing::Sync))?.head.ledger;
        let witness = match &settings.witness {
            Some(folder) => WitnessSlot::read(folder, &ledger, &node.public())?,
            None => Slot::Missing,
        };
        let log = FjallLog::open(&home.ledger(), ledger, settings.promise.durability())?;
        let link_at = |position| log.link_at(position).ok().flatten();
        let (boot, store) = (settings.boot, log.head());
        let verdict = judge(&Evidence { boot, run, sync, witness, store, link_at: &link_at });
        let newest = newest.into_iter().chain(witness.record()).collect();
        Ok(Self { lock, log, node, sync, newest, verdict })
    }

    /// Takes the store into use. The first round of syncing vouches for what was found.
    fn take(self, home: &Home, settings: Settings) -> Result<(Store, SigningKey), StoreError> {
        let counter = self.newest.iter().map(|record| record.counter).max().unwrap_or(0);
        let (node_id, head) = (self.node.public(), self.log.head());
        let signing = KeyFiles::new(home.clone()).signing(Stream::Node)?;
        let state = sync_state(home, signing, self.sync, counter, &settings, &head.ledger)?;
        let mut store = Store {
            home: home.clone(),
            run: RunSlot::open(&home.head(), node_id, mac_key(&self.node))?,
            log: self.log,
            syncer: None,
            counter,
            settings,
            node: node_id,
            _lock: self.lock,
        };
        store.write_run(false)?;
        store.syncer = Some(Syncer::start(home.ledger(), state, head)?);
        Ok((store, self.node))
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
        state.record(head, true)?;
        run.write(&Record { counter: 1, boot: state.boot, clean: true, power: false, head })?;
        run.sync()?;
        drop(lock);
        Ok(ledger)
    }

    /// Opens a ledger for use: judges the store against the heads kept outside it, checks what an unclean
    /// stop can have touched, and records what is gone.
    ///
    /// # Errors
    /// [`StoreError::Head`] and [`StoreError::Broken`] when the store is not the one that was promised.
    pub fn open(home: &Home, settings: Settings) -> Result<(Self, Opened), StoreError> {
        let found = Found::look(home, &settings)?;
        let stop = found.verdict?;
        if stop != Stop::Clean {
            found.log.check_tail()?;
        }
        let (mut store, node) = found.take(home, settings)?;
        let lost = match stop {
            Stop::LostTail { from, to } => Some(Lost { from, to }),
            Stop::Clean | Stop::Unclean => None,
        };
        if let Some(lost) = lost {
            store.record_finding(FindingCode::TailLost, lost, node)?;
        }
        Ok((store, Opened { was_clean: stop == Stop::Clean, lost }))
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
        let found = Found::look(home, &settings)?;
        found.log.check_tail()?;
        let Err(refusal) = found.verdict else { return Ok(None) };
        let from = found.log.head().next;
        let to = found.newest.iter().map(|record| record.head.next).max().unwrap_or(from);
        let lost = Lost { from, to: to.max(from) };
        let (mut store, node) = found.take(home, settings)?;
        store.record_finding(FindingCode::LossAccepted, lost, node)?;
        store.sync()?;
        Ok(Some((store, Accepted { refusal, lost })))
    }

    /// Writes that positions are gone.
    fn record_finding(
        &mut self,
        code: FindingCode,
        lost: Lost,
        node: SigningKey,
    ) -> Result<(), StoreError> {
        let (subject, at) = (author_subject(&self.node), self.settings.now);
        let mut writer = Writer::new(self, node);
        let finding = Finding { code, from: lost.from, to: lost.to };
        writer.push(at, subject, &finding).and_then(|()| writer.flush()).map_err(written)
    }
}

fn written(error: WriteError<StoreError>) -> StoreError {
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
    let witness = settings.witness.as_ref().map(|folder| WitnessSlot::open(folder, ledger));
    Ok(SyncState {
        slots: SyncSlots::open(&home.head(), node, found, witness.transpose()?)?,
        counter,
        boot: settings.boot,
        power: settings.promise == Promise::Power,
    })
}

/// The key of `run` records: derived from the node key by what only the node key can sign.
fn mac_key(node: &SigningKey) -> LedgerSecret {
    let signature = node.sign(HEAD_PREFIX, b"key of head/run");
    let key: Bytes32 = digest(Domain::HeadMacKey, signature.as_slice());
    LedgerSecret::new(key.0)
}

/// One owner at a time.
fn lock(home: &Home) -> Result<File, StoreError> {
    let path = home.path().join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
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
    std::fs::create_dir(&to).map_err(StoreError::file(&to))?;
    for entry in std::fs::read_dir(&from).map_err(StoreError::file(&from))? {
        let path = entry.map_err(StoreError::file(&from))?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            copy_into(&path, &to)?;
        }
    }
    Ok(())
}

/// Copies a file without its zeros: journals are preallocated and mostly empty.
fn copy_into(path: &Path, folder: &Path) -> Result<(), StoreError> {
    const CHUNK: usize = 64 * 1024;
    let Some(name) = path.file_name() else { return Ok(()) };
    let copy = || -> io::Result<()> {
        let (mut from, mut to) = (File::open(path)?, File::create(folder.join(name))?);
        let mut chunk = vec![0; CHUNK];
        let mut length = 0;
        loop {
            let read = from.read(&mut chunk)?;
            let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            if bytes.iter().any(|byte| *byte != 0) {
                to.write_all(bytes)?;
            } else {
                to.seek_relative(i64::try_from(read).unwrap_or(i64::MAX))?;
            }
            length += read as u64;
        }
        to.set_len(length)
    };
    copy().map_err(StoreError::file(path))
}
