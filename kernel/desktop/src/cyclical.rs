//! Automatic cyclical scheduling in one call: the cycle of step sizes and balances that its own algorithm finds.

use crate::Error;
use crate::chains::{VecChain, streams, tuning};
use crate::unit::Start;
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{Energy, Info, LaneRng, Langevin};
use rayon::prelude::*;

/// Steps of a cycle.
pub const STEPS: usize = 20;

/// Chains that tune, as in the program of the paper's authors.
const CHAINS: u32 = 100;

/// A cycle that was found: step size and balance of each of its steps, and what it is in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Step sizes and balances.
    pub positions: Vec<(f32, f32)>,
    /// The largest and the smallest step size with the rates at which they were accepted.
    pub words: String,
}

impl Found {
    /// The kernels, in their order.
    ///
    /// # Errors
    /// [`Error::Option`] where a step size or a balance is illegal.
    pub fn kernels(&self) -> Result<Vec<Langevin<'static>>, Error> {
        kernels(&self.positions)
    }
}

/// A kernel for each step size and balance.
pub(crate) fn kernels(positions: &[(f32, f32)]) -> Result<Vec<Langevin<'static>>, Error> {
    positions.iter().map(|&(size, balance)| Langevin::balanced(size, balance).map_err(Error::option)).collect()
}

/// By ACS's Algorithms 2–5, over a hundred chains from random states, for sites of any kind. The search for the largest step
/// size begins at 5, as in its authors' program. About 40,000 steps.
///
/// # Errors
/// [`Error::Model`] where the energy fails at a random state.
pub fn tuned<E: Energy + Sync + ?Sized>(energy: &E, seed: u64) -> Result<Found, Error> {
    tuned_from(energy, seed, &[])
}

/// The same; where the energy forbids a random state, one of these starts takes its place.
pub(crate) fn tuned_from<E: Energy + Sync + ?Sized>(
    energy: &E,
    seed: u64,
    starts: &[Start],
) -> Result<Found, Error> {
    let settings =
        CycleSettings { chains: CHAINS, steps: 1, step_size: (0.05, 5.0), ..CycleSettings::default() };
    let mut tuner = CycleTuner::new([Trial::default(); STEPS], settings).map_err(Error::model)?;
    // Other generators than those of the chains that sample.
    let chain = |(index, mut rng): (usize, LaneRng)| -> Result<(VecChain<'_, E>, LaneRng), Error> {
        let start = starts.get(index % starts.len().max(1));
        Ok((tuning(energy, start, &mut rng)?, rng))
    };
    let rngs = streams(!seed).take(CHAINS as usize).enumerate();
    let mut chains: Vec<_> = rngs.map(chain).collect::<Result<_, _>>()?;
    while let Some(kernel) = tuner.kernel() {
        let infos: Vec<Info> = chains.par_iter_mut().map(|(chain, rng)| chain.step(&kernel, rng)).collect();
        infos.iter().for_each(|info| _ = tuner.observe(info));
    }
    let (smallest, largest) = tuner.ends();
    let words = format!(
        "α = {:.2} (rate {:.2}) … {:.2} (rate {:.2}), β ≤ {}",
        largest.step_size, largest.rate, smallest.step_size, smallest.rate, largest.balance
    );
    let positions = tuner.positions().iter().map(|trial| (trial.step_size, trial.balance)).collect();
    Ok(Found { positions, words })
}
