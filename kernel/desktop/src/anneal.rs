//! States of low energy by simulated annealing.

use crate::chains::{memory, streams};
use crate::model::Model;
use crate::npz::Npz;
use crate::parts::{Dyn, Parts, Ready};
use crate::progress::Progress;
use crate::run::held;
use crate::settings::{Settings, settings};
use crate::{Error, files};
use bitmc::batch::{Batch, BatchSite};
use bitmc::energy::{Base, Tempered};
use bitmc::lane::LANES;
use bitmc::step::SequentialGibbs;
use bitmc::temper::Replica;
use bitmc::{Chain, Energy, Gibbs, Ising, LaneRng, Layout, Packed, packed};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Temperatures of a run.
const RUNGS: u64 = 64;
/// The hottest one over the root of the mean square of a change of energy: there nothing is in order yet.
const HOT: f64 = 0.7;
/// The coldest one over a small change of energy: there one is taken once in 150 times.
const COLD: f64 = 0.2;
/// States that are kept.
const KEPT: usize = 100;

/// The settings of an annealing; [`Annealer::run`] runs it over all cores.
///
/// Runs of Gibbs sweeps, with the temperature falling, follow each other until the time is over: four of each length (Ising
/// models: four batches of sixteen), from 1,000 sweeps to 64,000. Every run ends with sweeps at temperature 0.
///
/// ```
/// use bitmc_desktop::Model;
///
/// let model = Model::ising(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, -1.0)], &[0.5, 0.0, 0.0, 0.0])?;
/// let found = model.annealer().sweeps(1000).run()?;
/// assert_eq!((found.states[0].energy, &found.states[0].state[..]), (-3.5, &[1, 1, 1, 0][..]));
/// # Ok::<(), bitmc_desktop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Annealer<'m> {
    model: &'m Model,
    budget: Budget,
    range: Option<(f64, f64)>,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
enum Budget {
    Seconds(f64),
    Sweeps(u64),
    /// Runs, the sweeps of each, and the most seconds of all together.
    Reads(usize, u64, Option<f64>),
}

impl Budget {
    fn seconds(self) -> Option<f64> {
        match self {
            Self::Seconds(limit) => Some(limit),
            Self::Reads(_, _, limit) => limit,
            Self::Sweeps(_) => None,
        }
    }
}

/// What an annealing found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Annealed {
    /// The different states at which runs ended, the lowest energy first; at most a hundred.
    pub states: Vec<Minimum>,
    /// Runs that ended.
    pub runs: u64,
    /// Sweeps of all runs.
    pub sweeps: u64,
    /// The temperature at which a run begins.
    pub hottest: f64,
    /// The last temperature above 0.
    pub coldest: f64,
    /// Packed states with their energies in the order of the runs, where [`Annealer::reads`] asked for a number of these.
    #[serde(skip)]
    pub reads: Vec<(Vec<u32>, f64)>,
    #[serde(skip)]
    pub(crate) layout: Layout,
}

impl Annealed {
    /// The shape of a state.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Writes an archive that `numpy.load` reads: `states` (states, sites), `uint8` or above 256 values `uint16`;
    /// `energies` and `runs`, one a state.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let (count, sites) = (self.states.len(), self.layout.sites());
        let energies: Vec<f64> = self.states.iter().map(|state| state.energy).collect();
        let runs: Vec<i64> = self.states.iter().map(|state| state.runs as i64).collect();
        let values = || self.states.iter().flat_map(|state| &state.state);
        files::write_with(path.as_ref(), |file| {
            let mut npz = Npz::to(file);
            if self.layout.arity() > 256 {
                npz.add("states", &[count, sites], &values().map(|&value| value as u16).collect::<Vec<_>>())?;
            } else {
                npz.add("states", &[count, sites], &values().map(|&value| value as u8).collect::<Vec<_>>())?;
            }
            npz.add("energies", &[count], &energies)?;
            npz.add("runs", &[count], &runs)?;
            npz.finish().map(|_| ())
        })
    }
}

/// A state at which runs ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Minimum {
    /// Its energy.
    pub energy: f64,
    /// Runs that ended there.
    pub runs: u64,
    /// The value of every site.
    pub state: Vec<u32>,
}

impl Model {
    /// The settings of a search for states of low energy.
    #[must_use]
    pub fn annealer(&self) -> Annealer<'_> {
        Annealer { model: self, budget: Budget::Seconds(10.0), range: None, settings: Settings::default() }
    }
}

/// The work: which run is next.
struct Tasks<S> {
    streams: S,
    run: u64,
    spent: u64,
}

settings!(Annealer, "What stops the search from elsewhere.");

impl Annealer<'_> {
    /// Ends after so many seconds.
    #[must_use]
    pub fn seconds(self, seconds: f64) -> Self {
        Self { budget: Budget::Seconds(seconds), ..self }
    }

    /// Ends with the runs that begin before so many sweeps are spent, all together: the same answer on any machine, with any
    /// number of threads.
    #[must_use]
    pub fn sweeps(self, sweeps: u64) -> Self {
        Self { budget: Budget::Sweeps(sweeps), ..self }
    }

    /// Makes so many runs of so many sweeps each, and keeps the end of each in [`Annealed::reads`]. With a number of seconds no
    /// run begins later, and those that are then on their way are given up; the first one is always there.
    #[must_use]
    pub fn reads(self, reads: usize, sweeps: u64, seconds: Option<f64>) -> Self {
        Self { budget: Budget::Reads(reads, sweeps, seconds), ..self }
    }

    /// The temperatures at which a run begins and ends; between them it falls geometrically, and no sweeps at temperature 0
    /// follow. Without them they are chosen by the changes of energy at random states.
    #[must_use]
    pub fn temperatures(self, hottest: f64, coldest: f64) -> Self {
        Self { range: Some((hottest, coldest)), ..self }
    }

    /// Searches.
    ///
    /// # Errors
    /// [`Error::Option`] where a setting is illegal, [`Error::Model`] where the model has no possible state to start from.
    pub fn run(&self) -> Result<Annealed, Error> {
        if self.budget.seconds().is_some_and(|seconds| !(seconds > 0.0 && seconds < 1e9)) {
            return Err(Error::option("seconds: a number above 0 is needed"));
        }
        if matches!(self.budget, Budget::Reads(reads, sweeps, _) if reads == 0 || sweeps == 0) {
            return Err(Error::option("reads and sweeps: at least 1 of each is needed"));
        }
        if self.range.is_some_and(|(hot, cold)| !(hot >= cold && cold > 0.0 && hot < 1e30 && cold > 1e-30)) {
            return Err(Error::option(
                "temperatures: two numbers above 0, the first one not below the second, are needed",
            ));
        }
        self.settings.install(|| self.search())
    }

    fn search(&self) -> Result<Annealed, Error> {
        let since = Instant::now();
        let mut parts = Parts::new(self.model, 1.0)?;
        let ready = parts.ready()?;
        let mut soft = Parts::soft(self.model, 1.0)?;
        let soft = soft.ready()?;
        let mut streams = streams(self.settings.seed);
        let mut first = streams.next().ok_or_else(|| Error::option("no generator"))?;
        let (hot, cold) = match self.range {
            Some(range) => range,
            None => temperatures(self.model, &soft, &mut first)?,
        };
        let late = || {
            self.settings.cancel.is_cancelled()
                || self.budget.seconds().is_some_and(|limit| since.elapsed() >= Duration::from_secs_f64(limit))
        };
        let total = match self.budget {
            Budget::Seconds(limit) => (limit * 1000.0) as u64,
            Budget::Sweeps(sweeps) => sweeps,
            Budget::Reads(reads, sweeps, _) => sweeps.saturating_mul(reads as u64),
        };
        let (progress, told) = (Progress::new(!self.settings.progress, total), AtomicU64::new(0));
        let tick = || {
            if let Budget::Seconds(limit) = self.budget {
                let now = (since.elapsed().as_secs_f64().min(limit) * 1000.0) as u64;
                progress.advance(now.saturating_sub(told.fetch_max(now, Ordering::Relaxed)));
            }
        };
        let tasks = Mutex::new(Tasks { streams, run: 0, spent: 0 });
        let found = Mutex::new((HashMap::<Vec<u32>, (f32, u64)>::new(), 0, 0));
        let reads = Mutex::new(Vec::new());
        let failed = Mutex::new(None);
        let lanes = if matches!(ready, Ready::Ising(_)) { LANES as u64 } else { 1 };
        rayon::broadcast(|_| {
            loop {
                let task = {
                    let mut tasks = tasks.lock().expect("no thread panics");
                    let over = match self.budget {
                        Budget::Seconds(_) => false,
                        Budget::Sweeps(all) => tasks.spent >= all,
                        Budget::Reads(reads, _, _) => tasks.run * lanes >= reads as u64,
                    };
                    // The first run always begins: there is an answer however late it is.
                    if over || (tasks.run > 0 && late()) {
                        return;
                    }
                    let (run, sweeps) = match self.budget {
                        Budget::Reads(_, sweeps, _) => (tasks.run, sweeps),
                        _ => (tasks.run, 1000 << (tasks.run / 4).min(6)),
                    };
                    (tasks.run, tasks.spent) = (run + 1, tasks.spent + sweeps * lanes);
                    (run, sweeps, tasks.streams.next())
                };
                let (run, sweeps, Some(mut rng)) = task else { return };
                let watch = || {
                    tick();
                    run == 0 || !late()
                };
                let schedule = Schedule { hot, cold, sweeps, given: self.range.is_some() };
                let ended = match &ready {
                    Ready::Ising(model) => sixteen(self.model, model, schedule, &mut rng, watch),
                    _ => one(self.model, ready.energy(), &soft, schedule, &mut rng, watch),
                };
                match ended {
                    Ok(states) => {
                        let mut found = found.lock().expect("no thread panics");
                        found.1 += states.len() as u64;
                        found.2 += sweeps * lanes;
                        if matches!(self.budget, Budget::Reads(..)) && !states.is_empty() {
                            reads.lock().expect("no thread panics").push((run, states.clone()));
                        }
                        for (words, energy) in states {
                            let entry = found.0.entry(words).or_insert((energy, 0));
                            entry.1 += 1;
                        }
                        if found.0.len() > 4 * KEPT {
                            let mut energies: Vec<f32> = found.0.values().map(|entry| entry.0).collect();
                            energies.sort_by(f32::total_cmp);
                            let level = energies[2 * KEPT];
                            found.0.retain(|_, entry| entry.0 <= level);
                        }
                    }
                    Err(error) => *failed.lock().expect("no thread panics") = Some(error),
                }
                if !matches!(self.budget, Budget::Seconds(_)) {
                    progress.advance(sweeps * lanes);
                }
                if failed.lock().expect("no thread panics").is_some() {
                    return;
                }
            }
        });
        if let Some(error) = failed.into_inner().expect("no thread panics") {
            return Err(error);
        }
        let (states, runs, sweeps) = found.into_inner().expect("no thread panics");
        let mut states: Vec<_> = states.into_iter().collect();
        states.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| a.0.cmp(&b.0)));
        let layout = self.model.layout();
        let minimum = |(words, (energy, runs)): (Vec<u32>, (f32, u64))| {
            let state = Packed::new(layout, &words).map_or(Vec::new(), |state| state.values().collect());
            Minimum { energy: f64::from(energy) + self.model.constant, runs, state }
        };
        let states = states.into_iter().take(KEPT).map(minimum).collect();
        let mut ends = reads.into_inner().expect("no thread panics");
        ends.sort_by_key(|&(run, _)| run);
        let end = |(words, energy): (Vec<u32>, f32)| (words, f64::from(energy) + self.model.constant);
        let most = if let Budget::Reads(reads, _, _) = self.budget { reads } else { 0 };
        let reads = ends.into_iter().flat_map(|(_, states)| states).take(most).map(end).collect();
        Ok(Annealed { states, runs, sweeps, hottest: hot, coldest: cold, reads, layout })
    }
}

/// How the temperature falls.
#[derive(Clone, Copy)]
struct Schedule {
    hot: f64,
    cold: f64,
    sweeps: u64,
    /// Whether the temperatures are the caller's: then the temperature falls geometrically, and ends at the coldest one. Else it falls
    /// linearly, and sweeps at a temperature as good as 0 follow.
    given: bool,
}

impl Schedule {
    /// β and the sweeps there, of each temperature.
    fn rungs(self) -> impl Iterator<Item = (f32, u64)> {
        let Self { hot, cold, sweeps, given } = self;
        let rung = move |rung: u64| {
            let part = rung as f64 / (RUNGS - 1) as f64;
            let temperature = if given { hot * (cold / hot).powf(part) } else { hot + (cold - hot) * part };
            let share = |rung: u64| sweeps * rung / RUNGS;
            ((1.0 / temperature) as f32, share(rung + 1) - share(rung))
        };
        (0..RUNGS).map(rung).chain((!given).then_some(((1e4 / cold) as f32, 8)))
    }
}

/// The hottest and the coldest temperature, by changes of energy at random states.
fn temperatures(model: &Model, soft: &Ready<'_>, rng: &mut LaneRng) -> Result<(f64, f64), Error> {
    const STATES: usize = 8;
    let energy = soft.energy();
    let layout = energy.layout();
    let mut changes = Vec::new();
    for _ in 0..STATES {
        let chain = Chain::random(energy, memory(energy), rng).map_err(Error::model)?;
        let mut words = chain.state().words().to_vec();
        let mut cache = memory(energy).cache;
        energy.init(chain.state(), &mut cache).map_err(Error::model)?;
        let mut out = vec![0.0; layout.arity()];
        for site in (0..layout.sites()).step_by(layout.sites().div_ceil(4096)) {
            energy.differences(&mut words, &cache, site, &mut out);
            changes.extend(
                out[..model.arity_of(site)]
                    .iter()
                    .copied()
                    .filter(|d| d.is_finite() && *d != 0.0)
                    .map(|d| f64::from(d.abs())),
            );
        }
    }
    changes.sort_by(f64::total_cmp);
    if changes.is_empty() {
        return Ok((1.0, 1.0)); // Without a change any temperature will do.
    }
    let square = changes.iter().map(|change| change * change).sum::<f64>() / changes.len() as f64;
    let (hot, small) = (HOT * square.sqrt(), changes[changes.len() / 20]);
    Ok((hot, (COLD * small).min(hot).max(hot * 1e-4)))
}

/// States with their energies.
type Ends = Vec<(Vec<u32>, f32)>;

/// Sixteen runs of an Ising model in a batch.
fn sixteen(
    model: &Model,
    ising: &Ising<'_>,
    schedule: Schedule,
    rng: &mut LaneRng,
    watch: impl Fn() -> bool,
) -> Result<Ends, Error> {
    let (layout, held) = (ising.layout(), held(model));
    let base = Base::new(ising, &[]).map_err(Error::model)?;
    let mut words = vec![0; layout.words()];
    let mut random = || {
        base.draw(rng, &mut words);
        for &(site, value) in &model.known {
            packed::set(layout, &mut words, site, value).map_err(Error::model)?;
        }
        Ok::<_, Error>(words.clone())
    };
    let starts = (0..LANES).map(|_| random()).collect::<Result<Vec<_>, _>>()?;
    let state = |lane: usize| Packed::new(layout, &starts[lane]).map_err(Error::model);
    let mut batch =
        Batch::new(ising, vec![BatchSite::new(); layout.sites()], state(0)?).map_err(Error::model)?;
    for lane in 1..LANES {
        batch.restart(lane, state(lane)?).map_err(Error::model)?;
    }
    let held = Packed::new(layout, &held).map_err(Error::model)?;
    batch.clamp(held).map_err(Error::model)?;
    for (beta, sweeps) in schedule.rungs() {
        batch.set_betas([beta; LANES]).map_err(Error::model)?;
        for sweep in 0..sweeps {
            batch.step(&SequentialGibbs, rng);
            if sweep % 64 == 63 && !watch() {
                return Ok(Vec::new());
            }
        }
    }
    batch.refresh();
    let end = |lane: usize| {
        let mut words = vec![0; layout.words()];
        batch.state(lane, &mut words).map_err(Error::model)?;
        Ok((words, batch.energy(lane)))
    };
    (0..LANES).map(end).collect()
}

/// One run of any model.
fn one(
    model: &Model,
    energy: &Dyn<'_>,
    soft: &Ready<'_>,
    schedule: Schedule,
    rng: &mut LaneRng,
    watch: impl Fn() -> bool,
) -> Result<Ends, Error> {
    let (layout, held) = (energy.layout(), held(model));
    let held = Packed::new(Layout::binary(layout.sites()), &held).map_err(Error::model)?;
    let words = crate::run::start(model, energy, soft, held, rng)?;
    let path = Tempered::new(energy, 1.0).map_err(Error::model)?;
    let start = Packed::new(layout, &words).map_err(Error::model)?;
    let mut replica = Replica::new(path, memory(&path), start).map_err(Error::model)?;
    replica.clamp(held).map_err(Error::model)?;
    for (beta, sweeps) in schedule.rungs() {
        replica.set_beta(beta).map_err(Error::model)?;
        for _ in 0..sweeps {
            replica.step(&Gibbs::systematic(), rng);
            if !watch() {
                return Ok(Vec::new());
            }
        }
    }
    let words = replica.state().words().to_vec();
    let mut cache = memory(energy).cache;
    let total = energy.init(replica.state(), &mut cache).map_err(Error::model)?;
    Ok(vec![(words, total)])
}
