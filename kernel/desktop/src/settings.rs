//! What every run has: a seed, threads, a bar, and what stops it.

use crate::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Threads that are taken where there are fewer cores.
const ANYWHERE: usize = 8;

/// The settings of runs of any kind.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    threads: usize,
    pub(crate) progress: bool,
    pub(crate) cancel: Cancel,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, threads: 0, progress: false, cancel: Cancel::new() }
    }
}

impl Settings {
    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(crate) fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    pub(crate) fn progress(self, progress: bool) -> Self {
        Self { progress, ..self }
    }

    pub(crate) fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Works with these threads. More than there are cores do nothing but wait for each other, and that takes longer the more
    /// they are. Yet up to [`ANYWHERE`] of them are taken on any machine.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.min(cores.max(ANYWHERE));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|error| Error::option(format!("threads: {error}")))?.install(work)
    }
}

/// The methods that set them, for a type with a field `settings`.
macro_rules! settings {
    ($type:ident, $cancel:literal) => {
        impl $type<'_> {
            /// The seed of all random numbers.
            #[must_use]
            pub fn seed(self, seed: u64) -> Self {
                Self { settings: self.settings.seed(seed), ..self }
            }

            /// Threads to work with, at most one a core (or 8, where there are fewer cores); 0 is one a core.
            #[must_use]
            pub fn threads(self, threads: usize) -> Self {
                Self { settings: self.settings.threads(threads), ..self }
            }

            /// Shows a bar with the time left on standard error, where that is a terminal.
            #[must_use]
            pub fn progress(self, progress: bool) -> Self {
                Self { settings: self.settings.progress(progress), ..self }
            }

            #[doc = $cancel]
            #[must_use]
            pub fn cancel(self, cancel: &$crate::Cancel) -> Self {
                Self { settings: self.settings.cancel(cancel), ..self }
            }
        }
    };
}
pub(crate) use settings;

#[cfg(test)]
mod tests {
    use super::{ANYWHERE, Settings};

    #[test]
    fn no_more_threads_than_are_of_use() {
        let cores = std::thread::available_parallelism().unwrap().get();
        let taken = |threads| Settings::default().threads(threads).install(|| Ok(rayon::current_num_threads()));
        for (threads, need) in [(1, 1), (ANYWHERE, ANYWHERE), (1000, cores.max(ANYWHERE))] {
            assert_eq!(taken(threads).unwrap(), need);
        }
    }
}

/// Stops a run from another thread, or from the handler of a signal: it then gives back what there is.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// One that has not been called.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run at its next draw.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run is to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
