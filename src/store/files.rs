//! Copying the engine's files.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use super::StoreError;

/// Copies a file without its zeros: journals are preallocated and mostly empty.
pub(super) fn copy_into(path: &Path, folder: &Path) -> Result<(), StoreError> {
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
        to.set_len(length)?;
        to.sync_all()
    };
    copy().map_err(StoreError::file(path))
}
