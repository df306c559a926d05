//! `ferry completions`: what a shell needs to complete ferry's commands.

use std::io::Write as _;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Arguments;
use crate::failure::Failure;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry completions bash > ~/.local/share/bash-completion/completions/ferry
  ferry completions zsh > ~/.zfunc/_ferry
  ferry completions fish > ~/.config/fish/completions/ferry.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "ferry", &mut script);
        Ok(std::io::stdout().write_all(&script)?)
    }
}
