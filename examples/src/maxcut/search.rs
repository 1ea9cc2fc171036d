//! Annealing runs on all cores, for some seconds or some steps.

use super::anneal::{Choice, Ladder};
use super::{bound, cut, descend};
use crate::chains::streams;
use crate::formats::rudy::Graph;
use crate::progress::Progress;
use bitmc::{LaneRng, Packed};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// After so many seconds.
    Seconds(f64),
    /// After the runs that begin before so many steps are spent, all together: the result is the same on every
    /// machine, with any number of threads.
    Steps(u64),
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The largest cut.
    pub cut: f64,
    /// The partition that has it; of several the one of the earliest run.
    pub words: Vec<u32>,
    /// The run that found it.
    pub run: usize,
    /// Runs that ended.
    pub runs: usize,
    /// Every larger cut with the seconds at which it was found.
    pub curve: Vec<(f64, f64)>,
}

impl Found {
    /// Whether the partition is one of this graph and has the cut that is written beside it.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        let layout = super::layout(graph);
        Packed::new(layout, &self.words).map_err(|error| format!("the partition: {error}"))?;
        let got = cut(graph, &self.words);
        if got != self.cut {
            return Err(format!("its partition cuts {got}, it says {}", self.cut));
        }
        // The curve ends at that cut and rises in both.
        let rises = self.curve.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 < two[1].1);
        if !rises || self.curve.last().is_none_or(|last| last.1 != self.cut) {
            return Err(format!("its curve does not rise to the cut {got}"));
        }
        Ok(())
    }
}

/// The steps of run `run`: four of each length, doubling from 1,000 to 64,000.
#[must_use]
pub fn steps_of(run: usize) -> u64 {
    1000 << (run / 4).min(6)
}

/// Anneals again and again, each run with its own random numbers, until the budget is spent or a cut is found
/// that no other can exceed. The best state of every run is improved by single moves at its end.
///
/// The progress is told in thousandths of a second, or in steps.
#[must_use]
pub fn search(
    graph: &Graph,
    ladder: &Ladder<'_>,
    choice: Choice,
    seed: u64,
    budget: Budget,
    progress: &Progress,
) -> Found {
    let start = Instant::now();
    let found = Found {
        cut: f64::NEG_INFINITY,
        words: vec![0; super::layout(graph).words()],
        run: usize::MAX,
        runs: 0,
        curve: Vec::new(),
    };
    let (found, tasks) = (Mutex::new(found), Mutex::new(Tasks { streams: streams(seed), run: 0, spent: 0 }));
    let (ended, told, most) = (AtomicBool::new(false), AtomicU64::new(0), bound(graph));
    let late = || matches!(budget, Budget::Seconds(limit) if start.elapsed() >= Duration::from_secs_f64(limit));
    let offer = |run: usize, words: &[u32]| {
        let size = cut(graph, words);
        let mut found = found.lock().expect("no thread panics");
        if size > found.cut {
            found.curve.push((start.elapsed().as_secs_f64(), size));
            progress.note(format!("{}: cut {size}", choice.name()));
        }
        if size > found.cut || (size == found.cut && run < found.run) {
            (found.cut, found.run) = (size, run);
            found.words.copy_from_slice(words);
        }
        ended.fetch_or(size >= most, Ordering::Relaxed);
    };
    let work = |run: usize, mut rng: LaneRng| {
        let mut best = None;
        ladder.anneal(choice, steps_of(run), &mut rng, |better| {
            if let Some(words) = better {
                best = Some(words.to_vec());
                return true;
            }
            if let Budget::Seconds(limit) = budget {
                let now = (start.elapsed().as_secs_f64().min(limit) * 1000.0) as u64;
                progress.advance(now.saturating_sub(told.fetch_max(now, Ordering::Relaxed)));
            }
            !late()
        });
        if let Some(mut words) = best {
            descend(graph, &mut words);
            offer(run, &words);
        }
        if matches!(budget, Budget::Steps(_)) {
            progress.advance(steps_of(run));
        }
    };
    rayon::broadcast(|_| {
        loop {
            let task = tasks.lock().expect("no thread panics").next(budget);
            // The first run always begins: there is an answer however late it is.
            let goes_on = |run: usize| run == 0 || !(late() || ended.load(Ordering::Relaxed));
            let Some((run, rng)) = task.filter(|(run, _)| goes_on(*run)) else { return };
            work(run, rng);
            found.lock().expect("no thread panics").runs += 1;
        }
    });
    found.into_inner().expect("no thread panics")
}

/// The runs that are still to be made, in their order.
struct Tasks<S> {
    streams: S,
    run: usize,
    spent: u64,
}

impl<S: Iterator<Item = LaneRng>> Tasks<S> {
    fn next(&mut self, budget: Budget) -> Option<(usize, LaneRng)> {
        if matches!(budget, Budget::Steps(all) if self.spent >= all) {
            return None;
        }
        let (run, rng) = (self.run, self.streams.next()?);
        self.spent += steps_of(run);
        self.run += 1;
        Some((run, rng))
    }
}
