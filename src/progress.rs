//! Progress of work that may take a while, shown on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often the bar is drawn anew.
const REDRAW: Duration = Duration::from_millis(100);

/// A bar of `length` steps on standard error; nothing where that is no terminal.
pub(crate) fn bar(what: &'static str, length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length).with_message(what);
    // The template is a constant: it either parses in every build or in none.
    if let Ok(style) = ProgressStyle::with_template("{msg:20} {wide_bar} {percent:>3} %") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(REDRAW);
    bar
}
