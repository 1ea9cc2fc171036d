//! The samplers of AB's tables, each tuned as there, then frozen.

use super::largest::by_largest;
use super::{Chosen, Driver, Known, Room, Which, settled};
use crate::cli::Failure;
use crate::harness::{Counted, Sampler};
use crate::progress::Progress;
use bitmc::lane::Block;
use bitmc::noise::{Noise, guided_balance};
use bitmc::step::ParameterError;
use bitmc::tune::RateTuner;
use bitmc::{Energy, Gibbs, Kernel, Kind, LaneRng, Langevin, RandomWalk, SeedableRng};
use bitmc_desktop::second_order::Drawn;
use serde::Serialize;

/// The memory of all noises of one target.
#[derive(Debug, Default)]
pub struct Rooms {
    paper: [Room; 4],
    beyond: [Room; 3],
    d: Vec<Block>,
    diagonal: Vec<Block>,
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

/// Which samplers there are to be.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Also those that the paper does not have.
    pub beyond: bool,
    /// The most sites of a target with AB-max, whose D takes some tens of factorisations of W + D.
    pub largest: usize,
}

/// The samplers of one target, each tuned, then frozen, and told of.
pub struct Tuning<'r, 't, E> {
    energy: &'t E,
    w: Known<'t>,
    driver: Driver,
    progress: &'t Progress,
    tell: &'t dyn Fn(&Tuned),
    /// The samplers, in the order of the table.
    pub samplers: Vec<Sampler<'r, E>>,
    /// What was tuned of each.
    pub tuned: Vec<Tuned>,
}

/// Bounds of a step size.
const SIZES: (f32, f32) = (1e-4, 1e4);
/// The share of the noise that AB-momentum keeps.
const MOMENTUM: f32 = 0.5;

impl<'r, 't, E: Energy + Sync + 'r> Tuning<'r, 't, E> {
    /// RWM tuned to an acceptance of .234, Gibbs, LB (DMALA) and DLP-trace tuned to .574, and the balanced samplers by
    /// the driver. These are of first order, with the diagonal of W alone where it is not zero, and with the D of λ-shift, of
    /// the smallest largest eigenvalue and of the smallest trace. AB-edge, with the D of the edges, is the last of them.
    ///
    /// Beyond the paper there are AB-1st with σ tuned to .574 and α by the guide, three that may adapt from the far end
    /// ([`Driver::far`]), and AB-trace with κ adapted too. The last is AB-momentum over the D of AB-trace. Its bits flip with
    /// min(1, e^z).
    ///
    /// `w` is what is known of the energy's W; the rest each estimates.
    ///
    /// # Errors
    /// [`Failure::Option`] where the energy has no legal start or W no D.
    pub fn new(
        energy: &'t E,
        w: Known<'t>,
        driver: Driver,
        extent: Extent,
        rooms: &'r mut Rooms,
        progress: &'t Progress,
        tell: &'t dyn Fn(&Tuned),
    ) -> Result<Self, Failure> {
        let (samplers, tuned) = (Vec::new(), Vec::new());
        let mut tuning = Self { energy, w, driver, progress, tell, samplers, tuned };
        tuning.baselines()?;
        let by_trace = tuning.paper(extent, &mut rooms.paper, &mut rooms.d, &mut rooms.diagonal)?;
        if extent.beyond {
            tuning.beyond(by_trace, &mut rooms.beyond)?;
        }
        Ok(tuning)
    }

    fn baselines(&mut self) -> Result<(), Failure> {
        let sites = self.energy.layout().sites();
        let walk = |r: f32| RandomWalk::new(r);
        let r = self.to_rate(RateTuner::RANDOM_WALK, (1.0, sites as f32), walk)?;
        self.add("RWM", format!("r = {r:.2}"), walk(r).map_err(Failure::option)?);

        let updates = (sites / 10).max(1) as u32;
        let gibbs = Gibbs::random(updates).map_err(Failure::option)?;
        self.add("Gibbs", format!("{updates} random sites a step"), gibbs);

        let size = self.to_rate(RateTuner::LOCALLY_BALANCED, SIZES, Langevin::adjusted)?;
        self.add("LB", format!("α = {size:.4}"), Langevin::adjusted(size).map_err(Failure::option)?);
        Ok(())
    }

    fn paper(
        &mut self,
        extent: Extent,
        rooms: &'r mut [Room; 4],
        d: &'r mut Vec<Block>,
        diagonal: &'r mut Vec<Block>,
    ) -> Result<Drawn<'r>, Failure> {
        let (driver, energy, w, progress) = (self.driver, self.energy, self.w, self.progress);
        let [trace, shift, largest, edges] = rooms;
        let by_trace = driver.second_order(energy, w, Which::Trace, trace, progress)?;
        let noise = *by_trace.0.noise();
        *d = noise.d().unwrap_or_default().to_vec();
        let d: &'r [Block] = d;
        let kernel = |size| Langevin::preconditioned(size, d);
        let size = self.to_rate(RateTuner::LOCALLY_BALANCED, SIZES, kernel)?;
        self.add("DLP-trace", format!("σ = {size:.4}"), kernel(size).map_err(Failure::option)?);

        self.add_driven("AB-1st", driver.first_order(energy, progress)?);
        if let Some(driven) = driver.diagonal(energy, w, diagonal, progress)? {
            self.add_driven("AB-diagonal", driven);
        }
        self.add_driven("AB-shift", driver.second_order(energy, w, Which::Shift, shift, progress)?);
        if energy.layout().sites() <= extent.largest {
            self.add_driven(
                "AB-max",
                driver.second_order(energy, w, Which::By(by_largest), largest, progress)?,
            );
        } else {
            progress.advance(driver.burn_in + driver.adapt);
        }
        self.add_driven("AB-trace", by_trace);
        self.add_driven("AB-edge", driver.second_order(energy, w, Which::Edges, edges, progress)?);
        Ok(noise)
    }

    fn beyond(&mut self, by_trace: Drawn<'r>, rooms: &'r mut [Room; 3]) -> Result<(), Failure> {
        let (driver, energy, w, progress) = (self.driver, self.energy, self.w, self.progress);
        let [edges, trace, precise] = rooms;
        // Fair values of S = 0 … S − 1 have the variance (S² − 1)/12.
        let variance = ((energy.layout().arity().pow(2) - 1) as f32) / 12.0;
        let kernel = |size| Langevin::balanced(size, guided_balance(size, variance));
        let size = self.to_rate(RateTuner::LOCALLY_BALANCED, SIZES, kernel)?;
        let parameters = format!("σ = {size:.4}, α = {:.4}", guided_balance(size, variance));
        self.add("AB-1st-rate", parameters, kernel(size).map_err(Failure::option)?);

        let far = Driver { far: true, ..driver };
        self.add_driven("AB-1st-far", far.first_order(energy, progress)?);
        self.add_driven("AB-edge-far", far.second_order(energy, w, Which::Edges, edges, progress)?);
        self.add_driven("AB-trace-far", far.second_order(energy, w, Which::Trace, trace, progress)?);
        let driver = Driver { precision: true, ..driver };
        self.add_driven("AB-trace-κ", driver.second_order(energy, w, Which::Trace, precise, progress)?);

        let kernel = Langevin::second_order(by_trace, f32::INFINITY, 1.0).map_err(Failure::option)?;
        let mut kernel = kernel.momentum(MOMENTUM).map_err(Failure::option)?;
        let mut parameters = format!("D of AB-trace, σ = ∞, α = 1, κ = 1, a = {MOMENTUM}");
        if energy.layout().kind() == Kind::Binary {
            kernel = kernel.metropolis_flips().map_err(Failure::option)?;
            parameters += ", flips with min(1, e^z)";
        }
        self.add("AB-momentum", parameters, kernel);
        Ok(())
    }

    fn add<K>(&mut self, name: &str, parameters: String, kernel: K)
    where
        K: for<'e> Kernel<Counted<'e, E>> + Sync + 'r,
    {
        let sampler = Sampler::kernel(name, &parameters, kernel);
        self.push(sampler, Tuned { sampler: name.into(), parameters, chosen: None });
    }

    fn add_driven<K>(&mut self, name: &str, (kernel, chosen): (K, Chosen))
    where
        K: for<'e> Kernel<Counted<'e, E>> + Sync + 'r,
    {
        let Chosen { step_size, balance, precision, .. } = chosen;
        let parameters = format!("σ = {step_size:.4}, α = {balance:.4}, κ = {precision:.3}");
        let sampler = Sampler::kernel(name, parameters, kernel);
        let parameters = chosen.to_string();
        self.push(sampler, Tuned { sampler: name.into(), parameters, chosen: Some(chosen) });
    }

    fn push(&mut self, sampler: Sampler<'r, E>, tuned: Tuned) {
        (self.tell)(&tuned);
        self.samplers.push(sampler);
        self.tuned.push(tuned);
    }

    /// One parameter, moved until the rate of acceptance is this.
    fn to_rate<K: Kernel<E>>(
        &self,
        rate: f32,
        bounds: (f32, f32),
        kernel: impl Fn(f32) -> Result<K, ParameterError>,
    ) -> Result<f32, Failure> {
        let (driver, energy) = (self.driver, self.energy);
        let mut tuner = RateTuner::new(bounds.0.max(0.1), bounds, rate).map_err(Failure::option)?;
        let mut rng = LaneRng::seed_from_u64(driver.seed);
        let mut chain = settled(energy, driver.sweeps, &mut rng)?;
        let steps = driver.burn_in + driver.adapt;
        for _ in 0..steps {
            let now = kernel(tuner.parameter()).map_err(Failure::option)?;
            tuner.observe(&chain.step(&now, &mut rng));
        }
        self.progress.advance(steps);
        tuner.freeze();
        Ok(tuner.parameter())
    }
}
