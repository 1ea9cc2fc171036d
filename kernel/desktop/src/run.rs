//! How a run goes: starts, the choice of a sampler, warm-up, draws.

use crate::auto;
use crate::chains::{add, bytes, memory, possible, room, streams};
use crate::diagnose::mean;
use crate::keep::{Keeper, Place};
use crate::model::Model;
use crate::parts::{Dyn, Parts, Ready};
use crate::plan::{Ground, Plan, SPARE, Spare};
use crate::progress::Progress;
use crate::ranks::{CANCELLED, LATE, Link};
use crate::sampler::{Choice, Sampler};
use crate::unit::{Start, Track, Unit};
use crate::{Error, Samples};
use bitmc::energy::{BaseDistribution, Tempered};
use bitmc::stats::Acceptance;
use bitmc::{Chain, Gibbs, LaneRng, Layout, Packed, packed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use typed_arena::Arena;

/// What was tried, what was chosen, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The sampler that drew.
    pub sampler: Plan,
    /// Why it was this one, in a sentence.
    pub why: String,
    /// The pilot runs.
    pub tried: Vec<Trial>,
    /// Steps of each chain before its first draw, pilot runs included.
    pub warmup: u64,
    /// Steps of each chain from one draw to the next.
    pub thin: u64,
    /// Accepted proposals over all proposals, while drawing; not counted in replica exchange.
    pub acceptance: Option<f64>,
    /// Sites that a step changes, on average, while drawing; not counted in replica exchange.
    pub moved_sites_per_step: Option<f64>,
    /// Steps at which the energy failed.
    pub faults: u64,
    /// Of replica exchange: how often neighbours swap, from the lowest β on; `None` where none tried.
    pub swap_rates: Vec<Option<f64>>,
    /// Of replica exchange: ways of replicas from the coldest rung to the hottest and back, of all chains together, warm-up
    /// included.
    #[serde(default)]
    pub round_trips: Option<u64>,
    /// Why there are fewer draws than requested.
    pub stopped: Option<String>,
}

/// Seconds that the parts of a run took. They are no part of the report, which is the same on any machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Seconds {
    /// The start, and the choice of the sampler.
    pub choice: f64,
    /// The rest of the warm-up.
    pub warmup: f64,
    /// The draws.
    pub draws: f64,
}

/// A pilot run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The sampler.
    pub sampler: String,
    /// Steps of each chain.
    pub steps: u64,
    /// Microseconds that these steps take on one core, by the table of costs: not measured by a clock.
    pub cost: f64,
    /// The bulk effective sample size of the energy or the slowest site, whichever is less.
    pub ess: Option<f64>,
    /// The largest R̂; infinity is 1e308 as JSON.
    #[serde(with = "crate::diagnose::infinite")]
    pub r_hat: Option<f64>,
}

/// Whether the time is over, and which units are moved here: all of them, or those of this rank.
pub(crate) struct Watch<'s> {
    sampler: &'s Sampler<'s>,
    since: Instant,
    link: Option<&'s Link>,
}

impl Watch<'_> {
    /// Why the run must stop, if it must. Over ranks all of them have the same answer.
    pub(crate) fn over(&self) -> Option<&'static str> {
        self.link.map_or_else(|| self.over_here(), Link::over)
    }

    fn over_here(&self) -> Option<&'static str> {
        if self.sampler.settings.cancel.is_cancelled() {
            return Some(CANCELLED);
        }
        let late = self.sampler.seconds.is_some_and(|seconds| self.since.elapsed().as_secs_f64() >= seconds);
        late.then_some(LATE)
    }

    /// How long the slowest rank took for a block, and whether one of them must stop.
    fn agree(&self, took: Duration) -> Result<Duration, Error> {
        self.link.map_or(Ok(took), |link| link.agree(took, self.over_here()))
    }

    /// What the first rank finds; it says nothing to the others meanwhile.
    pub(crate) fn by_the_first(
        &self,
        find: impl FnOnce(&Watch<'_>) -> Result<Vec<f32>, Error>,
    ) -> Result<Vec<f32>, Error> {
        let here = || find(&Watch { link: None, ..*self });
        match self.link {
            Some(link) => link.by_the_first(here),
            None => here(),
        }
    }

    fn is_here(&self, unit: usize) -> bool {
        self.link.is_none_or(|link| link.is_here(unit))
    }
}

/// Steps before the first draw of a sampler by hand, where nothing else is said.
pub(crate) const WARMUP: u64 = 1000;

/// How long a block of work takes before the clock is looked at.
const BLOCK: Duration = Duration::from_millis(100);

/// Moves all units by blocks that take about [`BLOCK`] each, `each(unit, steps)` on all cores; returns how many of `count`
/// were done. How they are cut into blocks changes nothing but where a run can be stopped.
pub(crate) fn blocks<'e>(
    units: &mut [Box<dyn Unit + 'e>],
    count: u64,
    watch: &Watch<'_>,
    progress: &Progress,
    mut each: impl FnMut(&mut [Box<dyn Unit + 'e>], u64) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (mut done, mut block) = (0, 1);
    while done < count && watch.over().is_none() {
        let (now, since) = (block.min(count - done), Instant::now());
        each(units, now)?;
        done += now;
        progress.advance(now);
        let took = watch.agree(since.elapsed())?;
        if took < BLOCK / 2 {
            block = block.saturating_mul(2);
        } else if took > BLOCK * 2 && block > 1 {
            block /= 2;
        }
    }
    Ok(done)
}

/// Moves every chain by so many steps; `after` each block it is told how many were made. Returns that too.
pub(crate) fn advance<'e>(
    units: &mut [Box<dyn Unit + 'e>],
    steps: u64,
    watch: &Watch<'_>,
    progress: &Progress,
    mut after: impl FnMut(&[Box<dyn Unit + 'e>], u64) -> Result<(), Error>,
) -> Result<u64, Error> {
    let mut made = 0;
    blocks(units, steps, watch, progress, |units, now| {
        let here = units.par_iter_mut().enumerate().filter(|(unit, _)| watch.is_here(*unit));
        here.for_each(|(_, unit)| unit.advance(now));
        made += now;
        after(units, made)
    })
}

/// Steps times sites between two draws from which on a run can be stopped between them.
const LONG: u64 = 1 << 22;

/// Draws: `thin` steps and a record, `draws` times, added to the tracks. Of the first draw `past` steps are made. Returns
/// the steps since the last record: some where a long draw was stopped. `after` is told them too.
pub(crate) fn draw<'e>(
    units: &mut [Box<dyn Unit + 'e>],
    tracks: &mut Vec<Track>,
    (draws, thin, mut past): (u64, u64, u64),
    watch: &Watch<'_>,
    progress: &Progress,
    mut after: impl FnMut(&[Box<dyn Unit + 'e>], &[Track], u64) -> Result<(), Error>,
) -> Result<u64, Error> {
    if tracks.is_empty() {
        tracks.resize(units.iter().map(|unit| unit.chains()).sum(), Track::default());
    }
    if thin.saturating_mul(watch.sampler.model.sites() as u64) >= LONG {
        for _ in 0..draws {
            let (before, hidden) = (past, Progress::new(true, 0));
            let each = |units: &[_], made| after(units, tracks, before + made);
            past += advance(units, thin - before, watch, &hidden, each)?;
            if past < thin {
                break;
            }
            let work = with_tracks(units, tracks);
            work.into_iter()
                .filter(|(unit, ..)| watch.is_here(*unit))
                .for_each(|(_, unit, own)| record(unit.as_mut(), own));
            progress.advance(1);
            past = 0;
            after(units, tracks, past)?;
        }
    } else {
        blocks(units, draws, watch, progress, |units, now| {
            let mut work = with_tracks(units, tracks);
            work.retain(|(unit, ..)| watch.is_here(*unit));
            let mut own = work.iter_mut().flat_map(|(.., own)| own.iter_mut());
            own.try_for_each(|track| track.reserve(now as usize, watch.sampler.model.layout().words()))?;
            work.into_par_iter().for_each(|(_, unit, own)| {
                for _ in 0..now {
                    unit.advance(thin);
                    record(unit.as_mut(), own);
                }
            });
            after(units, tracks, past)
        })?;
    }
    if let Some(link) = watch.link {
        link.share(with_tracks(units, tracks))?;
    }
    Ok(past)
}

/// A draw. Energies are computed from the state at the draws 1, 2, 4, 8, …: small ones would keep the rounding of the large
/// ones where chains begin, and a short warm-up may end there.
fn record(unit: &mut (dyn Unit + '_), own: &mut [Track]) {
    let number = own.first().map_or(0, |track| track.energies.len()) + 1;
    if number.is_power_of_two() {
        unit.refresh();
    }
    unit.record(own);
}

/// Units with their numbers, and the tracks of the chains of each.
fn with_tracks<'u, 'e>(
    units: &'u mut [Box<dyn Unit + 'e>],
    mut tracks: &'u mut [Track],
) -> Vec<(usize, &'u mut Box<dyn Unit + 'e>, &'u mut [Track])> {
    let with = |(number, unit): (usize, &'u mut Box<dyn Unit + 'e>)| {
        let (own, others) = std::mem::take(&mut tracks).split_at_mut(unit.chains());
        tracks = others;
        (number, unit, own)
    };
    units.iter_mut().enumerate().map(with).collect()
}

pub(crate) fn run(sampler: &Sampler<'_>, link: Option<&Link>) -> Result<Samples, Error> {
    let watch = Watch { sampler, since: Instant::now(), link };
    let model = sampler.model;
    let keeper = Keeper::new(sampler, link.is_some())?;
    link.map_or(Ok(()), |link| link.check(keeper.question()))?;
    let bar = sampler.settings.progress && watch.is_here(0);
    let mut parts = Parts::new(model, sampler.temperature)?;
    let beta = parts.beta();
    let ready = parts.ready()?;
    let heated = Tempered::new(ready.energy(), beta).map_err(Error::model)?;
    let energy: &Dyn<'_> = if beta == 1.0 { ready.energy() } else { &heated };
    let chains = sampler.chains;
    room("chains", chains, bytes(energy))?;
    let (draws, each) = (chains.saturating_mul(sampler.draws), 4 * (energy.layout().words() + 1));
    // A run that is to be stopped may well ask for more than there is room for, but not for a terabyte.
    if sampler.seconds.is_none() && draws.saturating_mul(each) >= 1 << 40 {
        room("draws", draws, each)?;
    }
    let mut streams = streams(sampler.settings.seed);
    let starts = starts(model, energy, sampler, &mut streams)?;
    let spare = Spare::new(Box::new(move || streams.take(chains * SPARE).collect()));
    let held = held(model);
    let held = Packed::new(Layout::binary(model.sites()), &held).map_err(Error::model)?;
    let special = if beta == 1.0 { Some(&ready) } else { None };
    let (arena, kernels) = (Arena::new(), Arena::new());
    let ground = Ground {
        special,
        energy,
        starts: &starts,
        spare: &spare,
        held,
        seed: sampler.settings.seed,
        arena: &arena,
        kernels: &kernels,
    };

    let mut kept = keeper.read()?;
    let chosen = match (&kept, &sampler.choice) {
        (Some(kept), _) => auto::Chosen::again(kept.report.clone(), &ground)?,
        (None, Choice::Exactly(plan)) => {
            auto::Chosen::by_hand(plan.clone(), "chosen by hand", sampler.thin, &ground)?
        }
        (None, Choice::Tuned(plan)) => auto::Chosen::tuned(plan, sampler, &ground, &watch)?,
        (None, Choice::Auto) => auto::choose(sampler, &ready, &ground, &watch)?,
    };
    let auto::Chosen { mut report, mut units, steps } = chosen;
    let choice = watch.since.elapsed().as_secs_f64();
    // Where the time is over, the pilot runs may have been cut short: nothing is drawn or kept from there.
    let cut = kept.is_none() && !matches!(sampler.choice, Choice::Exactly(_)) && watch.over().is_some();

    let mut tracks = vec![Track::default(); chains];
    let mut place = Place {
        // A pilot run is the warm-up of the chains that go on from it.
        warmup: sampler.warmup.unwrap_or(if steps > 0 { 0 } else { WARMUP }).saturating_sub(steps),
        past: 0,
    };
    if let Some(kept) = &mut kept {
        keeper.restore(kept, &mut units)?;
        (tracks, place) = (std::mem::take(&mut kept.tracks), kept.place);
    }
    let warm = kept.is_some() && place.warmup == 0;
    report.warmup = steps;
    let mut last = watch.since;
    let mut keep = |report: &Report, units: &[_], tracks: &[_], place: Place| {
        if last.elapsed() > Keeper::EVERY {
            keeper.write(report, units, tracks, place)?;
            last = Instant::now();
        }
        Ok(())
    };
    if !warm {
        let rest = place.warmup;
        let progress = Progress::new(!bar, rest);
        progress.note("warm-up".into());
        advance(&mut units, rest, &watch, &progress, |units, made| {
            (place.warmup, report.warmup) = (rest - made, steps + made);
            // What follows the last step is a part of the warm-up.
            if made < rest { keep(&report, units, &tracks, place) } else { Ok(()) }
        })?;
        if place.warmup == 0 {
            units.iter_mut().for_each(|unit| {
                unit.refresh();
                *unit.acceptance() = Acceptance::new();
            });
        }
    }
    let warmup = watch.since.elapsed().as_secs_f64() - choice;
    let before = tracks.first().map_or(0, |track: &Track| track.energies.len()) as u64;
    let draws = sampler.draws as u64 - before.min(sampler.draws as u64);
    let progress = Progress::new(!bar, draws);
    progress.note(format!("draws of {} chains, {}", sampler.chains, report.sampler));
    if !cut {
        if place.warmup == 0 {
            let work = (draws, report.thin, place.past);
            place.past = draw(&mut units, &mut tracks, work, &watch, &progress, |units, tracks, past| {
                keep(&report, units, tracks, Place { past, ..place })
            })?;
        }
        keeper.write(&report, &units, &tracks, place)?;
    }
    drop(progress);

    let done = tracks.first().map_or(0, |track| track.energies.len());
    if done < sampler.draws {
        let why = watch.over().unwrap_or("it was stopped");
        let when = match (cut, place.warmup, &sampler.checkpoint) {
            (true, ..) => " in the pilot runs, which are not kept",
            (_, 0, _) => "",
            (_, _, Some(_)) => " in the warm-up, which is kept",
            _ => " in the warm-up, which is not kept",
        };
        report.stopped = Some(format!("{done} of {} draws: {why}{when}", sampler.draws));
    }
    report.account(&mut units);
    let seconds = Seconds { choice, warmup, draws: watch.since.elapsed().as_secs_f64() - choice - warmup };
    Ok(Samples::new(model, sampler.temperature, tracks, report, seconds))
}

impl Report {
    /// Of a run that has not drawn.
    #[must_use]
    pub fn new(sampler: Plan, why: String) -> Self {
        Self {
            sampler,
            why,
            tried: Vec::new(),
            warmup: 0,
            thin: 1,
            acceptance: None,
            moved_sites_per_step: None,
            faults: 0,
            swap_rates: Vec::new(),
            round_trips: None,
            stopped: None,
        }
    }

    /// What the units say of their steps.
    fn account(&mut self, units: &mut [Box<dyn Unit + '_>]) {
        let total = units.iter_mut().map(|unit| *unit.acceptance()).fold(Acceptance::new(), add);
        let counted = !matches!(self.sampler, Plan::Exchange { .. } | Plan::Isoenergetic { .. });
        self.acceptance = counted.then(|| total.rate().into());
        self.moved_sites_per_step = counted.then(|| total.jump_distance().into());
        self.faults = total.faults;
        let ladders: Vec<_> = units.iter().filter_map(|unit| unit.ladder()).collect();
        let rungs = ladders.first().map_or(0, |ladder| ladder.rungs().len().saturating_sub(1));
        let rate = |rung: usize| {
            let rates = ladders.iter().filter_map(|ladder| ladder.rungs()[rung].rate()).map(f64::from);
            let rates: Vec<f64> = rates.collect();
            (!rates.is_empty()).then(|| mean(&rates))
        };
        self.swap_rates = (0..rungs).map(rate).collect();
        self.round_trips =
            (!ladders.is_empty()).then(|| ladders.iter().map(|ladder| ladder.round_trips()).sum());
    }
}

/// The sites that are known, one bit each.
pub(crate) fn held(model: &Model) -> Vec<u32> {
    let mut held = vec![0; Layout::binary(model.sites()).words()];
    model.known.iter().for_each(|&(site, _)| held[site / 32] |= 1 << (site % 32));
    held
}

/// ln of the sum of `e^−E₀` over the states that agree with the known sites: where E₀ is 0, of their number. In 32 bits that of
/// 10⁵ sites would be off by hundredths.
pub(crate) fn log_base(model: &Model, base: BaseDistribution<'_>, energy: &Dyn<'_>) -> f64 {
    let held = held(model);
    let free = |site: &usize| held[site / 32] >> (site % 32) & 1 == 0;
    let all = energy.layout().arity();
    let arity = |site| energy.arities().map_or(all, |each| usize::from(each[site])) as u32;
    let weight = |site, value| f64::from(base.field(site, value));
    let sum = |site| {
        let weights = (0..arity(site)).map(|value| weight(site, value));
        let most = weights.clone().fold(f64::NEG_INFINITY, f64::max);
        most + weights.map(|weight| (weight - most).exp()).sum::<f64>().ln()
    };
    let known: f64 = model.known.iter().map(|&(site, value)| weight(site, value)).sum();
    (0..model.sites()).filter(free).map(sum).sum::<f64>() + known
}

/// A random state a chain that is possible and has the known values.
pub(crate) fn starts(
    model: &Model,
    energy: &Dyn<'_>,
    sampler: &Sampler<'_>,
    streams: &mut impl Iterator<Item = LaneRng>,
) -> Result<Vec<Start>, Error> {
    let mut soft = Parts::soft(model, sampler.temperature)?;
    let soft = soft.ready()?;
    let held = held(model);
    let held = Packed::new(Layout::binary(model.sites()), &held).map_err(Error::model)?;
    let one = |mut rng| Ok(Start { words: start(model, energy, &soft, held, &mut rng)?, rng });
    streams.take(sampler.chains).map(one).collect()
}

/// From a random state by sweeps of Gibbs sampling over the model without its hard constraints; where that is not enough from
/// others, at temperatures at which the constraints give way.
pub(crate) fn start(
    model: &Model,
    energy: &Dyn<'_>,
    soft: &Ready<'_>,
    held: Packed<'_>,
    rng: &mut LaneRng,
) -> Result<Vec<u32>, Error> {
    const SWEEPS: usize = 2000;
    const HOTTER: [f32; 3] = [0.4, 0.2, 0.7];
    const TIMES: usize = 8;
    let soft: &Dyn<'_> = soft.energy();
    if let Some(words) = sought(model, energy, (soft, SWEEPS), held, rng)? {
        return Ok(words);
    }
    for beta in HOTTER.into_iter().cycle().take(TIMES * HOTTER.len()) {
        let heated = Tempered::new(soft, beta).map_err(Error::model)?;
        if let Some(words) = sought(model, energy, (&heated, SWEEPS / 4), held, rng)? {
            return Ok(words);
        }
    }
    let all = SWEEPS + TIMES * HOTTER.len() * SWEEPS / 4;
    Err(Error::model(format!(
        "no possible state found in {all} sweeps: the hard constraints may contradict each other"
    )))
}

/// The first state of so many sweeps over the soft energy that the other one allows.
fn sought(
    model: &Model,
    energy: &Dyn<'_>,
    (soft, sweeps): (&Dyn<'_>, usize),
    held: Packed<'_>,
    rng: &mut LaneRng,
) -> Result<Option<Vec<u32>>, Error> {
    let layout = energy.layout();
    // Only energies of the user's own still forbid states here.
    let random = |rng: &mut LaneRng| {
        let chain = Chain::random(soft, memory(soft), rng)?;
        let mut words = chain.state().words().to_vec();
        for &(site, value) in &model.known {
            packed::set(layout, &mut words, site, value)?;
        }
        Chain::new(soft, memory(soft), Packed::new(layout, &words)?)
    };
    let mut chain = possible(random, rng)?;
    chain.clamp(held).map_err(Error::model)?;
    let mut cache = memory(energy).cache;
    for _ in 0..sweeps {
        if energy.init(chain.state(), &mut cache).is_ok_and(f32::is_finite) {
            return Ok(Some(chain.state().words().to_vec()));
        }
        chain.step(&Gibbs::systematic(), rng);
    }
    Ok(None)
}
