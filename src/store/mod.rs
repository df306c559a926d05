//! The store: a ledger on fjall that never loses anything silently.
//!
//! fjall opens without a word after losing synced data in several kinds of damage, so nothing here takes
//! a successful open for a whole ledger. Positions, links and a head kept outside the store are checked
//! against each other, and what does not fit is refused by name. This is the only module that names fjall.

mod blobs;
mod boot;
mod copy;
mod error;
mod files;
pub mod head;
mod home;
mod keys;
mod layout;
mod log;
mod open;
mod owned;
mod reader;
mod rotate;
mod settings;
mod snapshots;
mod subjects;
mod syncer;

pub use blobs::Blobs;
pub use copy::Copy;
pub use error::StoreError;
pub use head::Vouched;
pub use home::Home;
pub use keys::KeyFiles;
pub use log::FjallLog;
pub use open::{Accepted, Lost, Opened};
pub(crate) use owned::Sealed;
pub use owned::Store;
pub use reader::{Reader, View};
pub use settings::{Promise, Settings, clock};
pub use snapshots::{SNAPSHOT_EVENTS, Snapshots};
