//! Opening a ledger for use: judged before it is believed.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use events::admission::Admitted;
use events::batch::AuthorTip;
use events::bytes::{Bytes, Bytes16, Bytes32};
use events::hash::{Domain, LedgerSecret, digest};
use events::head::{Head, SignedHead};
use events::ids::{AuthorId, BatchId, LedgerId, Millis, Seq, Subject};
use events::log::{AppendError, Log, Receipt, Visit};
use events::payload::{Finding, FindingCode, Stream};
use events::sign::{HEAD_PREFIX, SigningKey};
use fjall::PersistMode;
use replay::writer::{WriteError, Writer, author_subject, open_ledger};

use super::head::{
    Evidence, Missing, Record, Refusal, RunSlot, Slot, Stop, SyncSlots, WitnessSlot, judge,
    newest_signed, read_all,
};
use super::syncer::{SyncState, Syncer};
use super::{FjallLog, Home, KeyFiles, StoreError, boot};

/// What an answer promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promise {
    /// What was answered survives the death of the process; a loss of power costs at most 50 ms of it.
    #[default]
    Process,
    /// What was answered survives a loss of power: each answer waits for a sync.
    Power,
}

impl Promise {
    const fn durability(self) -> PersistMode {
        match self {
            Self::Process => PersistMode::Buffer,
            Self::Power => PersistMode::SyncData,
        }
    }
}

/// What a store is opened with besides its home. The environment arrives here, and nowhere deeper.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What an answer promises.
    pub promise: Promise,
    /// The running boot; zero where the system does not tell.
    pub boot: Bytes16,
    /// The folder that keeps a copy of the newest sync record, apart from the home.
    pub witness: Option<PathBuf>,
}

impl Settings {
    /// What the system and the environment say: `FERRY_WITNESS` (a folder, or `off`), else
    /// `$XDG_STATE_HOME/ferry`, else `~/.local/state/ferry`.
    #[must_use]
    pub fn from_system(promise: Promise) -> Self {
        Self { promise, boot: boot::boot_id(), witness: witness_folder() }
    }
}

fn witness_folder() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match from("FERRY_WITNESS") {
        Some(off) if off == "off" => None,
        Some(folder) => Some(PathBuf::from(folder)),
        None => from("XDG_STATE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(from("HOME")?).join(".local/state")))
            .map(|state| state.join("ferry")),
    }
}

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

/// A ledger open for use by its one owner.
pub struct Store {
    home: Home,
    log: FjallLog,
    run: RunSlot,
    syncer: Option<Syncer>,
    counter: u64,
    settings: Settings,
    node: AuthorId,
    _lock: File,
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
        if !home.has_ledger() {
            return Err(StoreError::NoLedger { path: home.path().to_owned() });
        }
        let lock = lock(home)?;
        let keys = KeyFiles::new(home.clone());
        let node = keys.signing(Stream::Node)?;
        let (node_id, mac_key) = (node.public(), mac_key(&node));
        let (run, sync) = read_all(&home.head(), &node_id, &mac_key)?;
        let records: Vec<Record> =
            [run, sync[0], sync[1]].into_iter().filter_map(Slot::record).collect();
        if !(records.len() > 1 && records.iter().all(|record| record.clean)) {
            keep_journal(home)?;
        }
        let ledger = sync.iter().find_map(|slot| slot.record()).map(|record| record.head.ledger);
        let ledger = ledger.ok_or(Refusal::HeadMissing(Missing::Sync))?;
        let witness = match &settings.witness {
            Some(folder) => WitnessSlot::read(folder, &ledger, &node_id)?,
            None => Slot::Missing,
        };
        let log = FjallLog::open(&home.ledger(), ledger, settings.promise.durability())?;
        let boot = settings.boot;
        let link_at = |position| log.link_at(position).ok().flatten();
        let store = log.head();
        let stop = judge(&Evidence { boot, run, sync, witness, store, link_at: &link_at })?;
        if stop != Stop::Clean {
            log.check_tail()?;
        }
        let counter = records.iter().map(|record| record.counter).max().unwrap_or(0);
        let node_again = keys.signing(Stream::Node)?;
        let state = sync_state(home, node_again, sync, counter, &settings, &ledger)?;
        let run = RunSlot::open(&home.head(), node_id, mac_key)?;
        let mut opened = Self {
            home: home.clone(),
            log,
            run,
            syncer: None,
            counter,
            settings,
            node: node_id,
            _lock: lock,
        };
        opened.write_run(false)?;
        opened.syncer = Some(Syncer::start(home.ledger(), state, store)?);
        let lost = opened.record_loss(stop, node)?;
        Ok((opened, Opened { was_clean: stop == Stop::Clean, lost }))
    }

    /// Writes the finding that positions are gone.
    fn record_loss(&mut self, stop: Stop, node: SigningKey) -> Result<Option<Lost>, StoreError> {
        let Stop::LostTail { from, to } = stop else { return Ok(None) };
        let subject = author_subject(&self.node);
        let mut writer = Writer::new(self, node);
        let finding = Finding { code: FindingCode::TailLost, from, to };
        writer.push(0, subject, &finding).and_then(|()| writer.flush()).map_err(written)?;
        Ok(Some(Lost { from, to }))
    }

    /// The newest head that is synced and vouched for by a signed record of this process: batches may
    /// leave the machine up to here.
    #[must_use]
    pub fn synced(&self) -> Option<Head> {
        self.syncer.as_ref().and_then(Syncer::synced)
    }

    /// Waits until everything appended is synced, and gives the head a record vouches for.
    ///
    /// # Errors
    /// [`StoreError::SyncFailed`].
    pub fn sync(&self) -> Result<Head, StoreError> {
        self.syncer.as_ref().ok_or(StoreError::SyncFailed)?.wait()
    }

    /// The newest head a sync record vouched for when the ledger was opened, or since.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn vouched_head(&self) -> Result<Option<SignedHead>, StoreError> {
        newest_signed(&self.home.head())
    }

    /// The end of the log, signed by the node key.
    ///
    /// # Errors
    /// When the node key cannot be read.
    pub fn signed_head(&self) -> Result<SignedHead, StoreError> {
        let node = KeyFiles::new(self.home.clone()).signing(Stream::Node)?;
        Ok(SignedHead::sign(self.log.head(), &node))
    }

    /// Stops cleanly: everything in tables, everything synced, and records that say so.
    ///
    /// # Errors
    /// What failed; the stop was not clean then, and the next open looks closer.
    pub fn close(mut self) -> Result<(), StoreError> {
        let syncer = self.syncer.take().ok_or(StoreError::SyncFailed)?;
        let mut state = syncer.stop()?;
        self.log.flush()?;
        state.record(self.log.head(), true)?;
        self.write_run(true)?;
        self.run.sync()
    }

    fn write_run(&mut self, clean: bool) -> Result<(), StoreError> {
        self.counter += 1;
        let power = self.settings.promise == Promise::Power;
        let (counter, boot, head) = (self.counter, self.settings.boot, self.log.head());
        self.run.write(&Record { counter, boot, clean, power, head })
    }
}

impl Log for Store {
    type Error = StoreError;

    fn head(&self) -> Head {
        self.log.head()
    }

    fn tip(&self, author: &AuthorId) -> AuthorTip {
        self.log.tip(author)
    }

    /// Appends, then writes the head record, then answers: what is answered is vouched for.
    fn append(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<StoreError>> {
        let receipts = self.log.append(group, received)?;
        self.write_run(false).map_err(AppendError::Store)?;
        if let Some(syncer) = &self.syncer {
            syncer.committed(self.log.head()).map_err(AppendError::Store)?;
        }
        Ok(receipts)
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.log.read(from, visit)
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, StoreError> {
        self.log.position_of(batch)
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, StoreError> {
        self.log.positions_about(subject)
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

fn copy_into(file: &Path, folder: &Path) -> Result<(), StoreError> {
    let Some(name) = file.file_name() else { return Ok(()) };
    std::fs::copy(file, folder.join(name)).map(|_| ()).map_err(StoreError::file(file))
}
