//! Where the socket lies. The system takes only short paths for one: a long one moves elsewhere, and a file
//! tells where.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::store::Home;

/// Longest path of a socket, in bytes: the shortest limit of the systems ferry runs on is 104.
const PATH_BYTES_MAX: usize = 100;

fn plain(home: &Home) -> PathBuf {
    home.run().join("ferry.sock")
}

/// The file that tells where the socket lies when it lies elsewhere.
fn pointer(home: &Home) -> PathBuf {
    home.run().join("sock")
}

/// Where a client finds the socket.
pub(super) fn find(home: &Home) -> PathBuf {
    match fs::read(pointer(home)) {
        Ok(bytes) => PathBuf::from(std::ffi::OsStr::from_bytes(&bytes)),
        Err(_) => plain(home),
    }
}

/// Where an owner puts it: the folder is made, open to its user alone, and nothing lies in the way.
pub(super) fn prepare(home: &Home, runtime: &Path) -> io::Result<PathBuf> {
    private_folder(&home.run())?;
    let path = plain(home);
    remove(&path)?;
    remove(&pointer(home))?;
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return Ok(path);
    }
    private_folder(runtime)?;
    // By the folder it stands for: of one ledger there may be copies.
    let folder = fs::metadata(home.path())?;
    let path = runtime.join(format!("{:x}-{:x}.sock", folder.dev(), folder.ino()));
    remove(&path)?;
    fs::write(pointer(home), path.as_os_str().as_bytes())?;
    Ok(path)
}

/// Takes the socket away.
pub(super) fn clear(home: &Home, path: &Path) -> io::Result<()> {
    remove(path).and_then(|()| remove(&pointer(home)))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a folder, or makes sure that one that is there is the same user's and closed to others: in a temporary
/// folder anybody may have been first.
fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let folder = fs::symlink_metadata(path)?;
    let is_own = folder.uid() == geteuid().as_raw();
    if folder.is_dir() && is_own && folder.mode() & 0o077 == 0 {
        return Ok(());
    }
    let problem = format!("{} is not a folder of this user alone; remove it", path.display());
    Err(io::Error::new(ErrorKind::PermissionDenied, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_long_path_moves_elsewhere_and_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = folder.path().join("runtime");
        for (name, moves) in [("short".to_owned(), false), ("long".repeat(30), true)] {
            let home = Home::new(folder.path().join(name));
            fs::create_dir(home.path()).unwrap();
            let path = prepare(&home, &runtime).unwrap();
            assert_eq!(path.starts_with(&runtime), moves);
            assert_eq!(find(&home), path);
            assert!(path.as_os_str().len() <= PATH_BYTES_MAX + 50);
            clear(&home, &path).unwrap();
            assert_eq!(find(&home), plain(&home));
        }
    }

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("home"));
        fs::create_dir(home.path()).unwrap();
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(private_folder(&open).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(home.path(), &link).unwrap();
        assert!(private_folder(&link).is_err());
    }
}
