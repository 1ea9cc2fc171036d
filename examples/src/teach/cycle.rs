//! The ends of the cyclical sampler, found on the model of the moment.

use super::TeachError;
use crate::chains::{VecChain, memory};
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
    let settings = CycleSettings { steps: 40, burn_in: 20, rounds: 6, ..settings(cycle, 0.05) };
    let mut chain = Chain::new(model, memory(model), start)?;
    let tuner = tuned(settings, std::slice::from_mut(&mut chain), rng)?;
    cycle.set_ends(tuner.ends());
    Ok(tuner.steps())
}

/// The settings of a cycle's search, from a smallest step size to 5.
#[must_use]
pub fn settings(cycle: &CyclicalLearning, floor: f32) -> CycleSettings {
    CycleSettings { balance: (0.5, cycle.large.1), step_size: (floor, 5.0), ..CycleSettings::default() }
}

/// A tuner of both ends that has finished, with chains that go on from where they are.
///
/// # Errors
/// [`TeachError`] where a setting is illegal.
pub fn tuned<E: Energy + ?Sized>(
    settings: CycleSettings,
    chains: &mut [VecChain<'_, E>],
    rng: &mut LaneRng,
) -> Result<CycleTuner<[Trial; 2]>, TeachError> {
    let mut tuner = CycleTuner::new([Trial::default(); 2], settings)?;
    while let Some(kernel) = tuner.kernel() {
        for chain in &mut *chains {
            tuner.observe(&chain.step(&kernel, rng));
        }
    }
    Ok(tuner)
}
