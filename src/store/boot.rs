//! Which boot of the machine this is: what a process wrote is in the system's memory until the next one.

use std::path::Path;

use events::bytes::Bytes16;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Identity of the running boot; zero where the system does not tell: then nothing an earlier process
/// wrote without a sync can be counted on.
pub(super) fn boot_id() -> Bytes16 {
    let text = std::fs::read_to_string(Path::new(BOOT_ID)).unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    Bytes16::from_hex(&digits).unwrap_or(Bytes16::ZERO)
}
