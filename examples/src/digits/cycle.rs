//! The cycle of ACS by hand, and by its own algorithm.

use crate::cli::Failure;
use bitmc::step::langevin_cycle;
use bitmc::{Langevin, Rbm, Schedule};
use bitmc_desktop::cyclical;

/// Steps of a cycle, its smallest step size and its largest balance: what did best in trials on this model.
const STEPS: usize = 20;
const SMALLEST: f32 = 0.15;
const BALANCE: f32 = 0.8;

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

/// By ACS's own algorithm.
pub(super) fn tuned(rbm: &Rbm<'_>, seed: u64) -> Found {
    let found = cyclical::tuned(rbm, seed)?;
    Ok((found.kernels()?, found.words))
}
