//! What a tuner of cycles works with.

use crate::tune::{TuneError, bounds, share};

/// What a [`CycleTuner`](super::CycleTuner) works with. The defaults are the paper's for a single chain, with a hundred steps
/// where its authors' program takes one step of a hundred chains.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CycleSettings {
    /// Chains whose steps are observed in turn.
    pub chains: u32,
    /// Steps of every chain for one candidate.
    pub steps: u32,
    /// Steps of every chain in each of the two parts of burn-in. Of the second, along the cycle, only whole cycles are taken:
    /// none where this is less than one.
    pub burn_in: u32,
    /// Rounds of the search for each end of the step sizes (the paper's budget of 500 steps: 21).
    pub rounds: u32,
    /// Candidates a round for a step size.
    pub step_sizes: u32,
    /// Candidates for a balance.
    pub balances: u32,
    /// Wished acceptance rate ρ*, in (0, 1).
    pub target: f32,
    /// ζ, in (0, 1): how far one round may go.
    pub learning_rate: f32,
    /// β of the smallest and of the largest step size, from ½ to 1.
    pub balance: (f32, f32),
    /// Where the searches for the smallest and for the largest step size begin.
    pub step_size: (f32, f32),
    /// Whether the search for the largest step size begins again with a β_max lower by .05, as the paper advises. It
    /// does so where it has ended with a rate below ¾ ρ*, as often as needed, down to the smallest β. Each search
    /// takes `rounds`. Off by default.
    pub lower_balance: bool,
}

impl Default for CycleSettings {
    fn default() -> Self {
        Self {
            chains: 1,
            steps: 100,
            burn_in: 50,
            rounds: 21,
            step_sizes: 5,
            balances: 10,
            target: 0.5,
            learning_rate: 0.5,
            balance: (0.5, 0.95),
            step_size: (0.05, 60.0),
            lower_balance: false,
        }
    }
}

/// Whether a tuner can work with settings and so many positions.
pub(super) fn check(settings: &CycleSettings, positions: usize) -> Result<(), TuneError> {
    let CycleSettings { balance, step_size, .. } = *settings;
    let length = u32::try_from(positions).unwrap_or(0);
    let few = length < 2 || settings.balances < 2 || settings.step_sizes < 2;
    if few || settings.chains == 0 || settings.steps == 0 {
        return Err(TuneError::Count);
    }
    [settings.target, settings.learning_rate].into_iter().try_for_each(share)?;
    for value in [balance.0, balance.1] {
        if !(0.5..=1.0).contains(&value) {
            return Err(TuneError::Share(value));
        }
    }
    let (lower, upper) = balance;
    if lower > upper {
        return Err(TuneError::Order { lower, upper });
    }
    bounds(step_size)
}
