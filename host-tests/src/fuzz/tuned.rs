//! Tuners that follow a chain, and the cycles that they make.

use super::energies::size_of_pairwise;
use super::{Source, Trial};
use bitmc::noise::{Adaptation, Parameters};
use bitmc::step::Cycle;
use bitmc::tune::{self, CycleSettings, CycleTuner, RateTuner};
use bitmc::{Ising, Langevin, RandomWalk};

/// Positions of a cycle.
const POSITIONS: usize = 4;

/// A chain of an Ising model and one of them. `None` where something is refused.
pub(super) fn run(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites();
    let (pairwise, mut couplings) = source.pairwise(sites);
    let model = couplings.rounded(&pairwise).ok()?;
    let mut trial = Trial::start(&model, size_of_pairwise(&pairwise), source)?;
    match source.below(3) {
        0 => cycle(&mut trial, source)?,
        1 => rate(&mut trial, source)?,
        _ => adaptation(&mut trial, source)?,
    }
    trial.compare();
    Some(())
}

/// Bounds of a step size, most often in order.
fn bounds(source: &mut Source<'_>) -> (f32, f32) {
    let (a, b) = (source.parameter(), source.parameter());
    if a <= b || source.one_in(16) { (a, b) } else { (b, a) }
}

/// Step sizes and balances stay where the settings have them, whatever the chain does.
fn cycle(trial: &mut Trial<'_, Ising<'_>>, source: &mut Source<'_>) -> Option<()> {
    // Now and then too few of something.
    let least = if source.one_in(16) { 0 } else { 1 };
    let mut count = |least: u32| least + source.below(4) as u32;
    let settings = CycleSettings {
        chains: count(least),
        steps: count(least),
        burn_in: count(0),
        rounds: count(0),
        step_sizes: count(2 * least),
        balances: count(2 * least),
        ..CycleSettings::default()
    };
    let step_sizes = bounds(source);
    let settings = CycleSettings {
        target: source.float().abs() / 8.0,
        learning_rate: source.float().abs() / 8.0,
        balance: (0.5, 0.5 + source.float().abs() / 16.0),
        step_size: step_sizes,
        lower_balance: source.byte() & 1 != 0,
        ..settings
    };
    let mut tuner = CycleTuner::new([tune::Trial::default(); POSITIONS], settings).ok()?;
    let patience = usize::from(source.byte());
    for _ in 0..patience {
        let Some(kernel) = tuner.kernel() else {
            assert!(tuner.is_frozen());
            break;
        };
        let info = trial.step(&kernel, source);
        tuner.observe(&info);
    }
    tuner.freeze();
    assert!(tuner.kernel().is_none());
    let balances = settings.balance;
    for found in tuner.positions() {
        assert!((step_sizes.0..=step_sizes.1).contains(&found.step_size), "{found:?} of {settings:?}");
        assert!((balances.0..=balances.1).contains(&found.balance), "{found:?} of {settings:?}");
    }
    let kernels = tuner.kernels::<POSITIONS>().expect("what was tuned is legal");
    trial.steps(&Cycle::new(&kernels)?, source);
    Some(())
}

fn rate(trial: &mut Trial<'_, Ising<'_>>, source: &mut Source<'_>) -> Option<()> {
    let bounds = bounds(source);
    let first = [source.parameter(), bounds.0, bounds.1][source.below(3)];
    let mut tuner = RateTuner::new(first, bounds, source.float().abs() / 8.0).ok()?;
    for _ in 0..usize::from(source.byte()) {
        let step_size = tuner.parameter();
        assert!((bounds.0..=bounds.1).contains(&step_size), "{step_size} of {bounds:?}");
        let info = match source.below(2) {
            0 => trial.step(&Langevin::adjusted(step_size).ok()?, source),
            _ => trial.step(&RandomWalk::new(step_size).ok()?, source),
        };
        tuner.observe(&info);
    }
    tuner.freeze();
    assert!((bounds.0..=bounds.1).contains(&tuner.parameter()), "{tuner:?}");
    Some(())
}

fn adaptation(trial: &mut Trial<'_, Ising<'_>>, source: &mut Source<'_>) -> Option<()> {
    let start = Parameters {
        step_size: source.parameter(),
        balance: source.float().abs(),
        precision: source.parameter(),
    };
    let mut tuner = Adaptation::new(start);
    for _ in 0..usize::from(source.byte()) {
        let now = tuner.parameters();
        let kernel = match Langevin::balanced(now.step_size, now.balance) {
            // What it began with may be no number.
            Err(_) if !(start.step_size > 0.0 && start.balance > 0.0) => return None,
            kernel => kernel.expect("what was tuned is legal"),
        };
        assert!((1e-6..=1e6).contains(&now.step_size) && (0.01..=1.0).contains(&now.balance), "{now:?}");
        let info = trial.step(&kernel, source);
        tuner.observe(&info);
    }
    Some(())
}
