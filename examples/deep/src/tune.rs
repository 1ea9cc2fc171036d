//! Parameters found by chains that are not those of the result.

use bitmc::Langevin;
use bitmc::noise::{Adaptation, Parameters};
use bitmc::open::Ask;
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc_examples::cli::Failure;
use bitmc_examples::told::{Chains, Evaluator};

/// Chains that tune. The adaptation looks at 100 steps of each candidate: four of each of these.
pub const TUNERS: u32 = 25;
/// Candidates that the adaptation looks at, where nothing else is said.
pub const CANDIDATES: u32 = 120;
/// Steps of a cycle of ACS.
pub const CYCLE: usize = 20;

/// Adapts σ and α by the jump distance.
///
/// # Errors
/// [`Failure`] where a kernel does not fit.
pub fn adapted<N: Evaluator, K: Ask + Sync, X: ToString>(
    chains: &mut Chains<'_, N>,
    candidates: u32,
    kernel: impl Fn(Parameters) -> Result<K, X>,
) -> Result<Parameters, Failure> {
    let mut adaptation = Adaptation::new(Parameters::START);
    let mut seen = 0;
    while seen < candidates as usize {
        chains.step(&kernel(adaptation.parameters()).map_err(Failure::model)?)?;
        seen += chains.infos.iter().filter(|info| adaptation.observe(info)).count();
    }
    adaptation.freeze();
    Ok(adaptation.parameters())
}

/// The kernels of a cycle of ACS, found by its tuner below a step size and a balance, and its ends in words.
///
/// # Errors
/// [`Failure`] where a kernel does not fit.
pub fn cycle<N: Evaluator>(
    chains: &mut Chains<'_, N>,
    candidates: u32,
    (largest, balance): (f32, f32),
) -> Result<([Langevin<'static>; CYCLE], String), Failure> {
    let share = |whole: u32| (whole * candidates / CANDIDATES).clamp(2, whole);
    let settings = CycleSettings {
        chains: chains.infos.len() as u32,
        steps: 1,
        step_size: (0.05, largest),
        balance: (0.5, balance),
        rounds: share(21),
        balances: share(10),
        ..CycleSettings::default()
    };
    let mut tuner = CycleTuner::new([Trial::default(); CYCLE], settings).map_err(Failure::model)?;
    while let Some(kernel) = tuner.kernel() {
        chains.step(&kernel)?;
        chains.infos.iter().for_each(|info| _ = tuner.observe(info));
    }
    let (smallest, largest) = tuner.ends();
    let words = format!(
        "α = {:.2} (rate {:.2}) … {:.2} (rate {:.2})",
        largest.step_size, largest.rate, smallest.step_size, smallest.rate
    );
    Ok((tuner.kernels::<CYCLE>().map_err(Failure::model)?, words))
}
