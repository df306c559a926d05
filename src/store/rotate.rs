//! Rotations of keys that were cut short: the ledger tells whether they happened.

use events::log::ReadLog as _;
use events::payload::Stream;
use replay::writer::author_subject;

use super::{KeyFiles, Store, StoreError};

impl Store {
    /// Finishes a rotation that was cut short. A drawn key that the ledger does not know waits for the next one:
    /// whoever drew it may be on its way to say so.
    pub(super) fn settle_rotations(&self) -> Result<(), StoreError> {
        let keys = KeyFiles::new(self.home.clone());
        for stream in Stream::ALL {
            let Some(next) = keys.next(*stream)? else { continue };
            if !self.log.positions_about(&author_subject(&next.public()))?.is_empty() {
                keys.replace(*stream)?;
            }
        }
        Ok(())
    }
}
