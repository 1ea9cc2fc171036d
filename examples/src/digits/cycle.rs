//! The cycle of ACS: by hand, and by its own algorithm.

use crate::chains::{VecChain, memory, streams};
use crate::cli::Failure;
use bitmc::step::langevin_cycle;
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{Chain, Info, LaneRng, Langevin, Rbm, Schedule};
use rayon::prelude::*;

/// Steps of a cycle, its smallest step size and its largest balance: what did best in trials on this model.
const STEPS: usize = 20;
const SMALLEST: f32 = 0.15;
const BALANCE: f32 = 0.8;

/// Chains that tune, as in the paper.
const CHAINS: u32 = 100;

/// Kernels, and what their parameters are.
pub(super) type Found = Result<(Vec<Langevin<'static>>, String), Failure>;

/// From a largest step size.
pub(super) fn by_hand(largest: f32) -> Found {
    let wrong = |error: &dyn std::fmt::Display| Failure::Option(format!("--step-size: {error}"));
    Langevin::adjusted(largest).map_err(|error| wrong(&error))?;
    let step_size = Schedule::cyclical_step_size(largest, SMALLEST, STEPS as u64).map_err(|e| wrong(&e))?;
    let balance = Schedule::cosine(BALANCE, 0.5, STEPS as u64).map_err(|e| wrong(&e))?;
    let kernels = langevin_cycle::<STEPS>(&step_size, &balance).map_err(|e| wrong(&e))?;
    Ok((kernels.to_vec(), format!("α = {largest} … {SMALLEST}, β ≤ {BALANCE}")))
}

/// By ACS's Algorithms 2–5, over chains from fair bits; the search for the largest step size begins at 5, as in
/// its authors' program.
pub(super) fn tuned(rbm: &Rbm<'_>, seed: u64) -> Found {
    let settings =
        CycleSettings { chains: CHAINS, steps: 1, step_size: (0.05, 5.0), ..CycleSettings::default() };
    let mut tuner = CycleTuner::new([Trial::default(); STEPS], settings).map_err(Failure::option)?;
    // Other generators than those of the chains that are shown.
    let chain = |mut rng: LaneRng| -> Result<(VecChain<'_, Rbm<'_>>, LaneRng), Failure> {
        Ok((Chain::random(rbm, memory(rbm), &mut rng).map_err(Failure::option)?, rng))
    };
    let mut chains: Vec<_> = streams(!seed).take(CHAINS as usize).map(chain).collect::<Result<_, _>>()?;
    while let Some(kernel) = tuner.kernel() {
        let infos: Vec<Info> = chains.par_iter_mut().map(|(chain, rng)| chain.step(&kernel, rng)).collect();
        infos.iter().for_each(|info| _ = tuner.observe(info));
    }
    let kernels = tuner.kernels::<STEPS>().map_err(Failure::option)?;
    let (smallest, largest) = tuner.ends();
    let parameters = format!(
        "α = {:.2} (rate {:.2}) … {:.2} (rate {:.2}), β ≤ {}",
        largest.step_size, largest.rate, smallest.step_size, smallest.rate, largest.balance
    );
    Ok((kernels.to_vec(), parameters))
}
