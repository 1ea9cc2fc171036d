//! The samplers of AB's tables, each tuned as there, then frozen.

use super::{Chosen, Curvature, Driver, Room, Which, settled};
use crate::cli::Failure;
use crate::harness::Sampler;
use crate::progress::Progress;
use bitmc::lane::Block;
use bitmc::noise::{Noise, guided_balance};
use bitmc::step::ParameterError;
use bitmc::tune::RateTuner;
use bitmc::{Energy, Gibbs, Kernel, LaneRng, Langevin, RandomWalk, SeedableRng};
use serde::Serialize;

/// The memory of all noises of one target.
#[derive(Debug, Default)]
pub struct Rooms {
    rooms: [Room; 6],
    d: Vec<Block>,
}

/// A tuned sampler, in words.
#[derive(Clone, Debug, Serialize)]
pub struct Tuned {
    /// Its name in the table.
    pub sampler: String,
    /// What was tuned, how, and to what.
    pub parameters: String,
    /// What the driver of a balanced sampler chose.
    pub chosen: Option<Chosen>,
}

/// RWM tuned to an acceptance of .234, Gibbs, LB (DMALA) and DLP-trace tuned to .574, and the balanced samplers by
/// the driver: of first order; with the D of λ-shift, of the edges, of the smallest trace. Beyond the paper:
/// AB-1st with σ tuned to .574 and α by the guide; three that may adapt from the far end ([`Driver::far`]); AB-trace
/// with κ adapted too.
///
/// `w` is the energy's own W; where there is none each is estimated. Each sampler is told of as it is tuned.
///
/// # Errors
/// [`Failure::Option`] where the energy has no legal start or W no D.
pub fn samplers<'r, E: Energy + Sync + 'r>(
    energy: &E,
    w: Option<&Curvature>,
    driver: Driver,
    rooms: &'r mut Rooms,
    progress: &Progress,
    tell: impl Fn(&Tuned),
) -> Result<(Vec<Sampler<'r, E>>, Vec<Tuned>), Failure> {
    let sites = energy.layout().sites();
    let (mut samplers, mut all) = (Vec::new(), Vec::new());
    let mut add = |sampler: Sampler<'r, E>, name: &str, parameters: String, chosen: Option<Chosen>| {
        let tuned = Tuned { sampler: name.into(), parameters, chosen };
        tell(&tuned);
        samplers.push(sampler);
        all.push(tuned);
    };

    let walk = |r: f32| RandomWalk::new(r);
    let most = sites as f32;
    let r = to_rate(energy, RateTuner::RANDOM_WALK, (1.0, most), driver, progress, walk)?;
    let name = format!("r = {r:.2}");
    add(Sampler::kernel("RWM", &name, walk(r).map_err(Failure::option)?), "RWM", name, None);

    let updates = (sites / 10).max(1) as u32;
    let name = format!("{updates} random sites a step");
    let gibbs = Gibbs::random(updates).map_err(Failure::option)?;
    add(Sampler::kernel("Gibbs", &name, gibbs), "Gibbs", name, None);

    let balanced = RateTuner::LOCALLY_BALANCED;
    let sizes = (1e-4, 1e4);
    let size = to_rate(energy, balanced, sizes, driver, progress, Langevin::adjusted)?;
    let name = format!("α = {size:.4}");
    add(Sampler::kernel("LB", &name, Langevin::adjusted(size).map_err(Failure::option)?), "LB", name, None);

    let Rooms { rooms: [shift, edges, trace, precise, far_edges, far_trace], d } = rooms;
    let (kernel, chosen) = driver.second_order(energy, w, Which::Trace, trace, progress)?;
    let (by_trace, of_trace) = (kernel, chosen);
    *d = by_trace.noise().d().unwrap_or_default().to_vec();
    let d: &'r [Block] = d;
    let kernel = |size| Langevin::preconditioned(size, d);
    let size = to_rate(energy, balanced, sizes, driver, progress, kernel)?;
    let name = format!("σ = {size:.4}");
    let kernel = kernel(size).map_err(Failure::option)?;
    add(Sampler::kernel("DLP-trace", &name, kernel), "DLP-trace", name, None);

    let (kernel, chosen) = driver.first_order(energy, progress)?;
    let name = shown(&chosen);
    add(Sampler::kernel("AB-1st", &name, kernel), "AB-1st", chosen.to_string(), Some(chosen));

    // Fair values of S = 0 … S − 1 have the variance (S² − 1)/12.
    let variance = ((energy.layout().arity().pow(2) - 1) as f32) / 12.0;
    let kernel = |size| Langevin::balanced(size, guided_balance(size, variance));
    let size = to_rate(energy, balanced, sizes, driver, progress, kernel)?;
    let name = format!("σ = {size:.4}, α = {:.4}", guided_balance(size, variance));
    let kernel = kernel(size).map_err(Failure::option)?;
    add(Sampler::kernel("AB-1st-rate", &name, kernel), "AB-1st-rate", name, None);

    for (name, which, room) in [("AB-shift", Which::Shift, shift), ("AB-edge", Which::Edges, edges)] {
        let (kernel, chosen) = driver.second_order(energy, w, which, room, progress)?;
        add(Sampler::kernel(name, shown(&chosen), kernel), name, chosen.to_string(), Some(chosen));
    }
    let name = shown(&of_trace);
    add(Sampler::kernel("AB-trace", name, by_trace), "AB-trace", of_trace.to_string(), Some(of_trace));

    let far = Driver { far: true, ..driver };
    let (kernel, chosen) = far.first_order(energy, progress)?;
    let name = shown(&chosen);
    add(Sampler::kernel("AB-1st-far", name, kernel), "AB-1st-far", chosen.to_string(), Some(chosen));
    for (name, which, room) in
        [("AB-edge-far", Which::Edges, far_edges), ("AB-trace-far", Which::Trace, far_trace)]
    {
        let (kernel, chosen) = far.second_order(energy, w, which, room, progress)?;
        add(Sampler::kernel(name, shown(&chosen), kernel), name, chosen.to_string(), Some(chosen));
    }
    let driver = Driver { precision: true, ..driver };
    let (kernel, chosen) = driver.second_order(energy, w, Which::Trace, precise, progress)?;
    let name = shown(&chosen);
    add(Sampler::kernel("AB-trace-κ", name, kernel), "AB-trace-κ", chosen.to_string(), Some(chosen));
    Ok((samplers, all))
}

fn shown(chosen: &Chosen) -> String {
    format!("σ = {:.4}, α = {:.4}, κ = {:.3}", chosen.step_size, chosen.balance, chosen.precision)
}

/// One parameter, moved until the rate of acceptance is this.
fn to_rate<E: Energy, K: Kernel<E>>(
    energy: &E,
    rate: f32,
    bounds: (f32, f32),
    driver: Driver,
    progress: &Progress,
    kernel: impl Fn(f32) -> Result<K, ParameterError>,
) -> Result<f32, Failure> {
    let mut tuner = RateTuner::new(bounds.0.max(0.1), bounds, rate).map_err(Failure::option)?;
    let mut rng = LaneRng::seed_from_u64(driver.seed);
    let mut chain = settled(energy, driver.sweeps, &mut rng)?;
    let steps = driver.burn_in + driver.adapt;
    for _ in 0..steps {
        let now = kernel(tuner.parameter()).map_err(Failure::option)?;
        tuner.observe(&chain.step(&now, &mut rng));
    }
    progress.advance(steps);
    tuner.freeze();
    Ok(tuner.parameter())
}
