//! Runs in which the temperature falls, and the temperatures.

use crate::Error;
use crate::chains::memory;
use crate::model::Model;
use crate::parts::{Dyn, Ready};
use crate::run::held;
use aligned_vec::avec;
use bitmc::batch::{Batch, BatchSite};
use bitmc::energy::{BaseDistribution, Tempered};
use bitmc::lane::LANES;
use bitmc::sliced::{CHAINS, SlicedChains, SlicedGibbs, SlicedIsing};
use bitmc::step::SequentialGibbs;
use bitmc::temper::Replica;
use bitmc::{Energy, Gibbs, Ising, LaneRng, Layout, Packed, packed};

/// Temperatures of a run.
const RUNGS: u64 = 64;
/// The hottest one over the root of the mean square of a change of energy. On lattices and random graphs .4 takes half of the time of .7.
const HOT: f64 = 0.4;
/// The coldest one over a small change of energy: there one is taken once in 20,000 times.
const COLD: f64 = 0.1;

/// How the temperature falls.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    pub(super) hot: f64,
    pub(super) cold: f64,
    pub(super) sweeps: u64,
    /// Whether the temperatures are the caller's: then the temperature falls geometrically, and ends at the coldest
    /// one. Else it falls linearly, and sweeps at a temperature as good as 0 follow.
    pub(super) given: bool,
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
pub(super) fn temperatures(model: &Model, soft: &Ready<'_>, rng: &mut LaneRng) -> Result<(f64, f64), Error> {
    const STATES: usize = 8;
    let energy = soft.energy();
    let (layout, held) = (energy.layout(), held(model));
    let held = Packed::new(Layout::binary(layout.sites()), &held).map_err(Error::model)?;
    let mut changes = Vec::new();
    for _ in 0..STATES {
        let mut words = crate::run::start(model, energy, soft, held, rng)?;
        let mut cache = memory(energy).cache;
        let state = Packed::new(layout, &words).map_err(Error::model)?;
        energy.init(state, &mut cache).map_err(Error::model)?;
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
pub(super) type Ends = Vec<(Vec<u32>, f32)>;

/// A random state of an Ising model with the known values.
pub(super) fn random(model: &Model, ising: &Ising<'_>, rng: &mut LaneRng) -> Result<Vec<u32>, Error> {
    let layout = ising.layout();
    let mut words = vec![0; layout.words()];
    BaseDistribution::new(ising, &[]).map_err(Error::model)?.draw(rng, &mut words);
    for &(site, value) in &model.known {
        packed::set(layout, &mut words, site, value).map_err(Error::model)?;
    }
    Ok(words)
}

/// Sixteen runs of an Ising model in a batch, and the sweeps of each, those at temperature 0 left out; no ends where they were given
/// up.
pub(super) fn sixteen(
    model: &Model,
    ising: &Ising<'_>,
    schedule: Schedule,
    rng: &mut LaneRng,
    watch: impl Fn() -> bool,
) -> Result<(Ends, u64), Error> {
    let (layout, held) = (ising.layout(), held(model));
    let starts = (0..LANES).map(|_| random(model, ising, rng)).collect::<Result<Vec<_>, _>>()?;
    let state = |lane: usize| Packed::new(layout, &starts[lane]).map_err(Error::model);
    let mut batch =
        Batch::new(ising, vec![BatchSite::new(); layout.sites()], state(0)?).map_err(Error::model)?;
    for lane in 1..LANES {
        batch.restart(lane, state(lane)?).map_err(Error::model)?;
    }
    let held = Packed::new(layout, &held).map_err(Error::model)?;
    batch.clamp(held).map_err(Error::model)?;
    let mut done = 0u64;
    for (beta, sweeps) in schedule.rungs() {
        batch.set_betas([beta; LANES]).map_err(Error::model)?;
        for _ in 0..sweeps {
            batch.step(&SequentialGibbs, rng);
            done += 1;
            if done.is_multiple_of(64) && !watch() {
                return Ok((Vec::new(), done.min(schedule.sweeps)));
            }
        }
    }
    batch.refresh();
    let end = |lane: usize| {
        let mut words = vec![0; layout.words()];
        batch.state(lane, &mut words).map_err(Error::model)?;
        Ok((words, batch.energy(lane)))
    };
    Ok(((0..LANES).map(end).collect::<Result<_, Error>>()?, schedule.sweeps))
}

/// The same of 512 runs of an Ising model whose couplings have one magnitude; the lowest ends alone, where no more than `most` are wanted.
pub(super) fn sliced(
    model: SlicedIsing<'_>,
    schedule: Schedule,
    most: usize,
    rng: &mut LaneRng,
    watch: impl Fn() -> bool,
) -> Result<(Ends, u64), Error> {
    let mut blocks = avec![[0; LANES]; model.sites()];
    let mut table = vec![0; SlicedGibbs::words(&model)];
    SlicedChains::random(model, &mut blocks, rng).map_err(Error::model)?;
    let (mut done, every) = (0_u64, 1 + (1 << 15) / model.sites() as u64);
    for (beta, sweeps) in schedule.rungs() {
        let at = model.at(beta).map_err(Error::model)?;
        let chains = SlicedChains::new(at, &mut blocks).map_err(Error::model)?;
        let mut gibbs = SlicedGibbs::new(chains, &mut table).map_err(Error::model)?;
        for _ in 0..sweeps {
            gibbs.sweep(rng);
            done += 1;
            if done.is_multiple_of(every) && !watch() {
                return Ok((Vec::new(), done.min(schedule.sweeps)));
            }
        }
    }
    let chains = SlicedChains::new(model, &mut blocks).map_err(Error::model)?;
    let mut energies = [0.0; CHAINS];
    chains.energies(&mut energies);
    let mut order: Vec<usize> = (0..CHAINS).collect();
    if most < CHAINS {
        order.sort_by(|&a, &b| energies[a].total_cmp(&energies[b]));
        order.truncate(most);
    }
    let end = |&chain: &usize| {
        let mut words = vec![0; Layout::binary(model.sites()).words()];
        chains.state(chain, &mut words).map_err(Error::model)?;
        Ok((words, energies[chain]))
    };
    Ok((order.iter().map(end).collect::<Result<_, Error>>()?, schedule.sweeps))
}

/// The same of one run of any model.
pub(super) fn one(
    model: &Model,
    energy: &Dyn<'_>,
    soft: &Ready<'_>,
    schedule: Schedule,
    rng: &mut LaneRng,
    watch: impl Fn() -> bool,
) -> Result<(Ends, u64), Error> {
    let (layout, held) = (energy.layout(), held(model));
    let held = Packed::new(Layout::binary(layout.sites()), &held).map_err(Error::model)?;
    let words = crate::run::start(model, energy, soft, held, rng)?;
    let path = Tempered::new(energy, 1.0).map_err(Error::model)?;
    let start = Packed::new(layout, &words).map_err(Error::model)?;
    let mut replica = Replica::new(path, memory(&path), start).map_err(Error::model)?;
    replica.clamp(held).map_err(Error::model)?;
    let mut done = 0;
    for (beta, sweeps) in schedule.rungs() {
        replica.set_beta(beta).map_err(Error::model)?;
        for _ in 0..sweeps {
            replica.step(&Gibbs::systematic(), rng);
            done += 1;
            if !watch() {
                return Ok((Vec::new(), done.min(schedule.sweeps)));
            }
        }
    }
    let words = replica.state().words().to_vec();
    let mut cache = memory(energy).cache;
    let total = energy.init(replica.state(), &mut cache).map_err(Error::model)?;
    Ok((vec![(words, total)], schedule.sweeps))
}

#[cfg(test)]
mod tests {
    use super::{RUNGS, Schedule};

    #[test]
    fn temperatures_fall_to_the_coldest_and_no_sweep_is_lost() {
        for (sweeps, given) in [(RUNGS, true), (1000, true), (1, true), (1000, false)] {
            let rungs: Vec<_> = Schedule { hot: 8.0, cold: 0.5, sweeps, given }.rungs().collect();
            let (falling, quench) = rungs.split_at(RUNGS as usize);
            assert_eq!(falling.iter().map(|rung| rung.1).sum::<u64>(), sweeps);
            assert!(falling.is_sorted_by(|one, next| one.0 < next.0));
            assert_eq!((falling[0].0, falling[falling.len() - 1].0), (0.125, 2.0));
            // Half way down: the geometric or the arithmetic mean.
            let half = if given { 2.0 } else { 4.25 };
            let middle = (f64::from(falling[31].0) * f64::from(falling[32].0)).sqrt();
            assert!((middle * half - 1.0).abs() < 0.01, "{middle}");
            assert_eq!(quench.len(), usize::from(!given));
        }
    }
}
