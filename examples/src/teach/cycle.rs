//! The ends of the cyclical sampler, found on the model of the moment.

use super::TeachError;
use crate::chains::memory;
use bitmc::learn::CyclicalLearning;
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{Chain, Energy, LaneRng, Packed};

/// Tunes a cycle on an energy, with its own largest balance, by a chain from a state; returns the chain's steps. The
/// search for the largest step size begins at 5, as in the sampler's paper.
///
/// # Errors
/// [`TeachError`] where the state is none of the energy's or the balance is illegal.
pub fn retune<E: Energy + ?Sized>(
    cycle: &mut CyclicalLearning,
    model: &E,
    start: Packed<'_>,
    rng: &mut LaneRng,
) -> Result<u64, TeachError> {
    let settings = CycleSettings {
        steps: 40,
        burn_in: 20,
        rounds: 6,
        balance: (0.5, cycle.large.1),
        step_size: (0.05, 5.0),
        ..CycleSettings::default()
    };
    let mut tuner = CycleTuner::new([Trial::default(); 2], settings)?;
    let mut chain = Chain::new(model, memory(model), start)?;
    while let Some(kernel) = tuner.kernel() {
        tuner.observe(&chain.step(&kernel, rng));
    }
    cycle.set_ends(tuner.ends());
    Ok(tuner.steps())
}
