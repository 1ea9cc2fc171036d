//! A progress bar with the time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error; hidden where that is not a terminal.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for so much work.
    #[must_use]
    pub fn new(quiet: bool, work: u64) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(Some(work), target);
        let template = "{percent:>3}% [{bar:30}] {eta:>4} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
    }

    /// Some of the work is done.
    pub fn advance(&self, work: u64) {
        self.bar.inc(work);
    }

    /// Prints a line on standard output, above the bar.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| crate::files::say(text));
    }

    /// Says something behind the bar.
    pub fn note(&self, text: String) {
        self.bar.set_message(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
