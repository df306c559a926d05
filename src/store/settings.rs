//! What a store is opened with, and where that comes from.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use events::bytes::Bytes16;
use events::ids::Millis;
use fjall::PersistMode;
use nix::unistd::geteuid;

use super::boot;

/// With the disk's own time for a sync, what is not synced is hardly ever older than 50 ms.
const SYNC_EVERY: Duration = Duration::from_millis(40);

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
    pub(super) const fn durability(self) -> PersistMode {
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
    /// The time, for what is recorded while opening.
    pub now: Millis,
    /// From the start of one sync of the journal to the start of the next.
    pub sync_every: Duration,
    /// Where the socket lies when the home's path is too long for one.
    pub runtime: PathBuf,
}

impl Settings {
    /// What the system and the environment say: `FERRY_WITNESS` (a folder, or `off`), else
    /// `$XDG_STATE_HOME/ferry`, else `~/.local/state/ferry`.
    #[must_use]
    pub fn from_system(promise: Promise) -> Self {
        Self {
            promise,
            boot: boot::boot_id(),
            witness: witness_folder(),
            now: clock(),
            sync_every: SYNC_EVERY,
            runtime: runtime_folder(),
        }
    }
}

/// The system's clock; zero before 1970.
#[must_use]
pub fn clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// `$XDG_RUNTIME_DIR/ferry`, else a folder of this user's under the temporary one.
fn runtime_folder() -> PathBuf {
    let named = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    match named {
        Some(folder) => PathBuf::from(folder).join("ferry"),
        None => std::env::temp_dir().join(format!("ferry-{}", geteuid())),
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
