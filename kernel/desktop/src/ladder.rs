//! A ladder of temperatures for replica exchange, found by short runs.

use crate::Error;
use crate::auto::{AGREE, Pilot, settle};
use crate::chains::streams;
use crate::parts::{Dyn, Parts};
use crate::plan::{Ground, Plan, SPARE};
use crate::run::{Watch, starts};
use crate::sampler::Sampler;
use bitmc::lane::LANES;
use bitmc::temper::{Ladder, Rung};
use std::cmp::Ordering;
use typed_arena::Arena;

/// Steps of a short run of a ladder.
const STEPS: u64 = 256;
/// Chains of a short run at one β, so many that they hardly start in one mode by chance; and its steps, twice.
const CHAINS: usize = 16;
const LOOK: u64 = 128;
/// β that may be the bottom of the ladder.
const BOTTOMS: [f32; 9] = [0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.04, 0.01];
/// Swap rates below this one leave a gap in the ladder.
const GAP: f32 = 0.2;
/// Rungs of a ladder, at least and at first.
const RUNGS: (usize, usize) = (3, 6);

/// The communication barrier Λ of a ladder, its rejection rates added up (Syed, Bouchard-Côté, Deligiannidis, Doucet 2022). It
/// depends little on the number of rungs where these are many.
pub(crate) fn barrier(ladder: &Ladder<Vec<Rung>>) -> f32 {
    ladder.rungs().iter().filter_map(|rung| rung.rate()).map(|rate| 1.0 - rate).sum()
}

/// 2Λ + 1 rungs: half of the swaps are then rejected, at which non-reversible swaps make the most round trips for the work.
pub(crate) fn wanted(barrier: f32, most: usize) -> usize {
    ((2.0 * barrier).ceil() as usize + 1).clamp(RUNGS.0, most)
}

/// The ladder. Its bottom is the largest β at which chains of a short run move and agree. It has 2Λ + 1 rungs, and more where
/// a gap is left. They are spaced so that neighbours swap equally often. `ladders` of them are to move as one chain.
pub(crate) fn build(
    sampler: &Sampler<'_>,
    ground: &Ground<'_>,
    ladders: usize,
    watch: &Watch<'_>,
) -> Result<Vec<f32>, Error> {
    watch.by_the_first(|watch| built(sampler, ground, ladders, watch))
}

fn built(
    sampler: &Sampler<'_>,
    ground: &Ground<'_>,
    ladders: usize,
    watch: &Watch<'_>,
) -> Result<Vec<f32>, Error> {
    let bottom = bottom(sampler, ground, watch)?;
    // The lanes of a batch are moved in any case: fewer rungs than the first ones save nothing there.
    let (fewest, most) = if ground.special.is_some_and(|ready| matches!(ready, crate::parts::Ready::Ising(_))) {
        (RUNGS.1, LANES)
    } else {
        (RUNGS.0, SPARE / ladders - 1)
    };
    let mut count = RUNGS.1;
    loop {
        let mut betas = spaced(bottom, count);
        for _ in 0..3 {
            betas = respaced(&betas, ground, watch)?.betas;
        }
        let Short { least, barrier, .. } = respaced(&betas, ground, watch)?;
        let mut wanted = wanted(barrier, most).max(fewest);
        if least < GAP {
            wanted = wanted.max((count + 1).min(most));
        }
        // Λ from few rungs is too low, so a ladder grows until it has enough. One that shrank was measured with more.
        let done = match count.cmp(&RUNGS.1) {
            Ordering::Less => wanted >= count,
            Ordering::Equal => wanted == count,
            Ordering::Greater => wanted <= count,
        };
        if done || watch.over().is_some() {
            return Ok(betas);
        }
        count = wanted;
    }
}

/// β from the bottom to 1, each the same multiple of the one before.
fn spaced(bottom: f32, count: usize) -> Vec<f32> {
    spaced_between((bottom, 1.0), count)
}

/// β from one to a larger one, each the same multiple of the one before.
pub(crate) fn spaced_between((bottom, top): (f32, f32), count: usize) -> Vec<f32> {
    let step = f64::from(bottom / top).ln() / (count as f64 - 1.0);
    let beta = |rung: usize| top * ((count - 1 - rung) as f64 * step).exp() as f32;
    (0..count).map(|rung| if rung == count - 1 { top } else { beta(rung) }).collect()
}

/// What a short run says of a ladder.
struct Short {
    /// The same number of β, in other places.
    betas: Vec<f32>,
    /// The smallest swap rate.
    least: f32,
    /// Λ.
    barrier: f32,
}

/// A short run of a ladder.
fn respaced(betas: &[f32], ground: &Ground<'_>, watch: &Watch<'_>) -> Result<Short, Error> {
    let plan = Plan::Exchange { betas: betas.to_vec() };
    let few = Ground { starts: &ground.starts[..1], ..*ground };
    let mut units = plan.units(&few)?;
    settle(&mut units, STEPS, watch)?;
    let mut out = betas.to_vec();
    let Some(ladder) = units[0].ladder() else { return Ok(Short { betas: out, least: 1.0, barrier: 0.0 }) };
    ladder.respaced(&mut out);
    let rates = ladder.rungs().iter().take(betas.len() - 1).filter_map(|rung| rung.rate());
    let least = rates.fold(1.0, f32::min);
    // Rounding may leave two of them equal.
    if out.windows(2).any(|pair| pair[0] >= pair[1]) {
        out = betas.to_vec();
    }
    Ok(Short { betas: out, least, barrier: barrier(ladder) })
}

/// The largest β at which the chains of a short run, from states of their own, move and agree.
fn bottom(sampler: &Sampler<'_>, ground: &Ground<'_>, watch: &Watch<'_>) -> Result<f32, Error> {
    for beta in BOTTOMS {
        let temperature = sampler.temperature / beta;
        let mut parts = Parts::new(sampler.model, temperature)?;
        let rest = parts.beta();
        let ready = parts.ready()?;
        let heated = bitmc::energy::Tempered::new(ready.energy(), rest).map_err(Error::model)?;
        let energy: &Dyn<'_> = if rest == 1.0 { ready.energy() } else { &heated };
        let special = (rest == 1.0).then_some(&ready);
        let hotter = Sampler { chains: CHAINS, temperature, ..sampler.clone() };
        let mut streams = streams(ground.seed ^ u64::from_be_bytes(*b"a bottom"));
        let starts = &starts(sampler.model, energy, &hotter, &mut streams)?[..];
        let (arena, kernels) = (Arena::new(), Arena::new());
        let (spare, held, seed) = (ground.spare, ground.held, ground.seed);
        let hot = Ground { special, energy, starts, spare, held, seed, arena: &arena, kernels: &kernels };
        let mut pilot = Pilot::new(Plan::Gibbs, &hot)?;
        settle(&mut pilot.units, LOOK, watch)?;
        pilot.go(&hotter, LOOK, energy.layout(), watch)?;
        // Chains that all stay in one state have not said that there is no other.
        if pilot.r_hat.is_some_and(|r_hat| r_hat <= AGREE) || watch.over().is_some() {
            return Ok(beta);
        }
    }
    Ok(0.01)
}
