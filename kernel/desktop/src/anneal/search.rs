//! The runs of a search, on all cores.

use super::fall::{Ends, Schedule, one, sixteen, sliced, temperatures};
use super::ladders::Ladders;
use super::{Annealed, Annealer, Budget, Method, Minimum, Reached};
use crate::Error;
use crate::chains::{room, streams};
use crate::parts::{Parts, Ready};
use crate::progress::Progress;
use bitmc::LaneRng;
use bitmc::Packed;
use bitmc::lane::LANES;
use bitmc::sliced::{CHAINS, SlicedIsing};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Sweeps of the first run in bits. Each run has twice those of the one before it.
const FIRST: u64 = 128;
/// Sites up to which the first of them takes a second at most.
const MOST: usize = 10_000;
/// States that are kept.
const KEPT: usize = 100;
/// How far an energy may be above the target, over both: one or two steps from an f32 to the next.
const NEAR: f32 = f32::EPSILON;

/// The work: which run is next.
struct Tasks<S> {
    streams: S,
    run: u64,
    spent: u64,
}

/// What runs have found.
#[derive(Default)]
struct Found {
    /// Energies, and how many runs ended there.
    states: HashMap<Vec<u32>, (f32, u64)>,
    runs: u64,
    sweeps: u64,
    /// The ends of each run, where they are wanted one by one.
    ends: Vec<(u64, Ends, u64)>,
    /// When a batch of runs reached the target.
    reached: Vec<Reached>,
    /// Seconds, and the lowest energy by then.
    curve: Vec<(f64, f32)>,
}

impl Found {
    fn add(&mut self, ends: Ends, sweeps: u64) {
        self.runs += ends.len() as u64;
        self.sweeps += sweeps;
        for (words, energy) in ends {
            self.states.entry(words).or_insert((energy, 0)).1 += 1;
        }
        if self.states.len() > 4 * KEPT {
            let mut energies: Vec<f32> = self.states.values().map(|entry| entry.0).collect();
            energies.sort_by(f32::total_cmp);
            let level = energies[2 * KEPT];
            self.states.retain(|_, entry| entry.0 <= level);
        }
    }
}

/// How a run goes.
enum Kind<'e> {
    /// Temperatures, and whether they are the caller's.
    Fall(f64, f64, bool),
    /// The same in the 512 bits of a block.
    Sliced(SlicedIsing<'e>, (f64, f64, bool)),
    Ladders(Ladders<'e>),
}

/// The model, where 512 runs at once take little longer than the sixteen of a batch, and so many are wanted.
fn bits<'e>(annealer: &Annealer<'_>, ready: &Ready<'e>) -> Option<SlicedIsing<'e>> {
    let Ready::Ising(model) = ready else { return None };
    let is_wanted = match annealer.budget {
        Budget::Seconds(_) => true,
        Budget::Sweeps(sweeps) => sweeps >= 4 * FIRST * CHAINS as u64,
        Budget::Reads(reads, ..) => reads >= CHAINS / 2,
    };
    let is_free = annealer.model.known.is_empty() && model.form().sites() <= MOST;
    (is_wanted && is_free).then(|| SlicedIsing::new(*model).ok()).flatten()
}

pub(super) fn search(annealer: &Annealer<'_>) -> Result<Annealed, Error> {
    let since = Instant::now();
    let (settings, budget) = (&annealer.settings, annealer.budget);
    let mut parts = Parts::new(annealer.model, 1.0)?;
    let ready = parts.ready()?;
    let mut soft = Parts::soft(annealer.model, 1.0)?;
    let soft = soft.ready()?;
    // One that is to be stopped may well ask for more than there is room for.
    if let (Budget::Reads(reads, _, None), None) = (budget, annealer.target) {
        // States and energies, twice.
        room("reads", reads, 2 * (4 * annealer.model.layout().words() + 32))?;
    }
    let mut streams = streams(settings.seed);
    let mut first = streams.next().ok_or_else(|| Error::option("no generator"))?;
    let (hot, cold) = match annealer.range {
        Some(range) => range,
        None => temperatures(annealer.model, &soft, &mut first)?,
    };
    let given = annealer.range.is_some();
    let kind = match annealer.method {
        Method::Annealing => match bits(annealer, &ready) {
            Some(model) => Kind::Sliced(model, (hot, cold, given)),
            None => Kind::Fall(hot, cold, given),
        },
        method => {
            let pair = method == Method::Isoenergetic;
            let models = (&ready, &soft);
            Kind::Ladders(Ladders::new(annealer.model, models, pair, (hot, cold), &mut first)?)
        }
    };
    let late = || {
        let over = |limit| since.elapsed() >= Duration::from_secs_f64(limit);
        settings.cancel.is_cancelled() || budget.seconds().is_some_and(over)
    };
    let total = match budget {
        Budget::Seconds(limit) => (limit * 1000.0) as u64,
        Budget::Sweeps(sweeps) => sweeps,
        Budget::Reads(reads, sweeps, _) => sweeps.saturating_mul(reads as u64),
    };
    let (progress, told) = (Progress::new(!settings.progress, total), AtomicU64::new(0));
    let tick = || {
        if let Budget::Seconds(limit) = budget {
            let now = (since.elapsed().as_secs_f64().min(limit) * 1000.0) as u64;
            progress.advance(now.saturating_sub(told.fetch_max(now, Ordering::Relaxed)));
        }
    };
    // Ends of a run, and sweeps of all its replicas for each of one.
    let (ends_of_run, times) = match &kind {
        Kind::Sliced(..) => (CHAINS as u64, CHAINS as u64),
        Kind::Fall(..) if matches!(ready, Ready::Ising(_)) => (LANES as u64, LANES as u64),
        Kind::Fall(..) => (1, 1),
        Kind::Ladders(ladders) => (1, ladders.sweeps()),
    };
    let constant = annealer.model.constant;
    let target = annealer.target.map(|energy| {
        let target = ((energy - constant) as f32).clamp(f32::MIN, f32::MAX);
        // Terms that cancel leave their own rounding in a sum near 0.
        let size = target.abs().max(hot.min(1.0) as f32);
        target + NEAR * size
    });
    let are_reads = matches!(budget, Budget::Reads(..));
    // Of a batch only the best end is kept.
    let best_alone = target.is_some() && !are_reads;
    // The first batch that reached the target.
    let (goal, hit) = (target.unwrap_or(f32::NEG_INFINITY), AtomicU64::new(u64::MAX));
    let tasks = Mutex::new(Tasks { streams, run: 0, spent: 0 });
    let (found, failed) = (Mutex::new(Found::default()), Mutex::new(None));
    let next = || {
        let mut tasks = tasks.lock().expect("no thread panics");
        let over = match budget {
            Budget::Seconds(_) => false,
            Budget::Sweeps(all) => tasks.spent >= all,
            Budget::Reads(reads, _, _) => tasks.run * ends_of_run >= reads as u64,
        };
        // The first run always begins: there is an answer however late it is.
        if over || tasks.run > hit.load(Ordering::Relaxed) || (tasks.run > 0 && late()) {
            return None;
        }
        let (run, sweeps) = match budget {
            Budget::Reads(_, sweeps, _) => (tasks.run, sweeps),
            _ if ends_of_run == CHAINS as u64 => (tasks.run, FIRST << tasks.run.min(9)),
            _ => (tasks.run, 1000 << (tasks.run / 4).min(6)),
        };
        (tasks.run, tasks.spent) = (run + 1, tasks.spent + sweeps * times);
        Some((run, sweeps, tasks.streams.next()?))
    };
    let go = |run: u64, sweeps: u64, rng: &mut LaneRng| -> Result<(Ends, u64), Error> {
        let watch = || {
            tick();
            !settings.cancel.is_cancelled() && (run == 0 || !late()) && run <= hit.load(Ordering::Relaxed)
        };
        match &kind {
            &Kind::Fall(hot, cold, given) => {
                let schedule = Schedule { hot, cold, sweeps, given };
                match &ready {
                    Ready::Ising(model) => sixteen(annealer.model, model, schedule, rng, watch),
                    _ => one(annealer.model, ready.energy(), &soft, schedule, rng, watch),
                }
            }
            &Kind::Sliced(model, (hot, cold, given)) => {
                let most = if best_alone { 1 } else { CHAINS };
                sliced(model, Schedule { hot, cold, sweeps, given }, most, rng, watch)
            }
            Kind::Ladders(ladders) => ladders.run(sweeps, goal, rng, watch),
        }
    };
    rayon::broadcast(|_| {
        while let Some((run, sweeps, mut rng)) = next() {
            match go(run, sweeps, &mut rng) {
                Ok((mut ends, made)) => {
                    let mut found = found.lock().expect("no thread panics");
                    let lowest = ends.iter().map(|end| end.1).fold(f32::INFINITY, f32::min);
                    if lowest < found.curve.last().map_or(f32::INFINITY, |last| last.1) {
                        found.curve.push((since.elapsed().as_secs_f64(), lowest));
                    }
                    if best_alone {
                        ends.sort_by(|a, b| a.1.total_cmp(&b.1));
                        ends.truncate(1);
                    }
                    if target.is_some() && ends.iter().any(|end| end.1 <= goal) {
                        hit.fetch_min(run, Ordering::Relaxed);
                        found.reached.push(Reached { run, seconds: since.elapsed().as_secs_f64() });
                    }
                    if target.is_some() || are_reads {
                        found.ends.push((run, ends, made * times));
                    } else {
                        found.add(ends, made * times);
                    }
                }
                Err(error) => *failed.lock().expect("no thread panics") = Some(error),
            }
            if !matches!(budget, Budget::Seconds(_)) {
                progress.advance(sweeps * times);
            }
            if failed.lock().expect("no thread panics").is_some() {
                return;
            }
        }
    });
    if let Some(error) = failed.into_inner().expect("no thread panics") {
        return Err(error);
    }
    let mut found = found.into_inner().expect("no thread panics");
    if settings.cancel.is_cancelled()
        && found.runs == 0
        && found.ends.iter().all(|(_, ends, _)| ends.is_empty())
    {
        return Err(Error::option("it was cancelled before the first run ended"));
    }
    // The same runs for any number of threads.
    let last = hit.into_inner();
    let mut ends = std::mem::take(&mut found.ends);
    ends.retain(|&(run, ..)| run <= last);
    ends.sort_by_key(|&(run, ..)| run);
    let most = if let Budget::Reads(reads, _, _) = budget { reads } else { 0 };
    let mut reads = Vec::new();
    for (_, ends, sweeps) in ends {
        reads.extend(ends.iter().take(most - reads.len()).cloned());
        found.add(ends, sweeps);
    }
    let mut reached = found.reached.into_iter().find(|reached| reached.run == last);
    if are_reads {
        // Of the batch the run, unless it is one past the reads.
        reached = reached.and_then(|batch| {
            let run = reads.iter().position(|read: &(_, f32)| read.1 <= goal)? as u64;
            Some(Reached { run, ..batch })
        });
    }
    let mut states: Vec<_> = found.states.into_iter().collect();
    states.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| a.0.cmp(&b.0)));
    let layout = annealer.model.layout();
    let minimum = |(words, (energy, runs)): (Vec<u32>, (f32, u64))| {
        let state = Packed::new(layout, &words).map_or(Vec::new(), |state| state.values().collect());
        Minimum { energy: f64::from(energy) + constant, runs, state }
    };
    let (hottest, coldest) = match &kind {
        &Kind::Fall(hot, cold, _) | &Kind::Sliced(_, (hot, cold, _)) => (hot, cold),
        Kind::Ladders(ladders) => ladders.ends(),
    };
    Ok(Annealed {
        states: states.into_iter().take(KEPT).map(minimum).collect(),
        runs: found.runs,
        sweeps: found.sweeps,
        hottest,
        coldest,
        target: reached,
        reads: reads.into_iter().map(|(words, energy)| (words, f64::from(energy) + constant)).collect(),
        curve: found.curve.into_iter().map(|(at, energy)| (at, f64::from(energy) + constant)).collect(),
        layout,
    })
}
