//! The `ferry` binary: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ferry::main()
}
