//! ln Z by population annealing.

use crate::Error;
use crate::chains::{bytes, memory, room, streams};
use crate::logz::{Estimate, LogZ, Weights};
use crate::model::Model;
use crate::parts::{Dyn, Parts, Ready};
use crate::progress::Progress;
use crate::run::{held, log_base, start};
use crate::tempering::VecReplica;
use bitmc::energy::Tempered;
use bitmc::temper::{Families, Replica, begin, next_beta, resample};
use bitmc::{Energy, Gibbs, LaneRng, Layout, Packed};
use rayon::prelude::*;

/// Replicas of the pilot run that chooses the temperatures.
const PILOT: usize = 256;
/// The share of equal weights that a step of β leaves.
const SHARE: f32 = 0.9;
/// Temperatures that are too many: energies change by far more than T at each.
const MOST: usize = 100_000;

/// Replicas, each with its own generator.
struct Population<'e> {
    replicas: Vec<VecReplica<'e, Dyn<'e>>>,
    rngs: Vec<LaneRng>,
    /// For resampling.
    shared: LaneRng,
    gaps: Vec<f32>,
    families: Vec<u32>,
    beta: f32,
    log_z: f64,
    /// The relative variance of Z if replicas forgot everything from step to step.
    variance: f64,
    /// What rounding of energies may do to ln Z.
    rounding: f64,
}

impl<'e> Population<'e> {
    /// Exact draws from the base.
    fn new(
        model: &Model,
        path: Tempered<'e, Dyn<'e>>,
        (soft, held): (&Ready<'_>, Packed<'_>),
        size: usize,
        streams: &mut impl Iterator<Item = LaneRng>,
    ) -> Result<Self, Error> {
        let shared = streams.next().ok_or_else(|| Error::option("no generator"))?;
        let mut rngs: Vec<LaneRng> = streams.take(size).collect();
        let first = |rng: &mut LaneRng| {
            // Any possible state does, for `begin` draws another.
            let words = start(model, path.target(), soft, held, rng)?;
            let state = Packed::new(path.layout(), &words).map_err(Error::model)?;
            let mut replica = Replica::new(path, memory(&path), state).map_err(Error::model)?;
            replica.clamp(held).map_err(Error::model)?;
            let gap = begin(&mut replica, rng).map_err(Error::model)?;
            Ok((replica, gap))
        };
        let drawn: Vec<_> = rngs.par_iter_mut().map(first).collect::<Result<_, Error>>()?;
        let (replicas, gaps): (Vec<_>, Vec<f32>) = drawn.into_iter().unzip();
        let log_z = log_base(model, path.base(), path.target());
        let families = (0..size as u32).collect();
        Ok(Self { replicas, rngs, shared, gaps, families, beta: 0.0, log_z, variance: 0.0, rounding: 0.0 })
    }

    /// Goes to the next β: resampling, and a Gibbs sweep of each replica.
    fn step(&mut self, beta: f32) -> Result<(), Error> {
        let step = f64::from(beta - self.beta);
        let weights = Weights::of(&self.gaps.iter().map(|&gap| -step * f64::from(gap)).collect::<Vec<_>>());
        resample(&mut self.replicas, &self.gaps, &mut self.families, beta, &mut self.shared)
            .map_err(Error::model)?;
        self.log_z += weights.log_mean;
        self.variance += weights.relative_variance;
        self.rounding += weights.rounding;
        let replicas = self.replicas.par_iter_mut().zip(&mut self.rngs).zip(&mut self.gaps);
        replicas.for_each(|((replica, rng), gap)| {
            replica.run(&Gibbs::systematic(), rng, 1, &mut ());
            *gap = replica.gap();
        });
        self.beta = beta;
        Ok(())
    }
}

impl LogZ<'_> {
    /// Estimates by a population of this size, on temperatures that a pilot run chose.
    pub(crate) fn population_estimate(&self, size: usize) -> Result<Estimate, Error> {
        let mut parts = Parts::new(self.model, self.temperature)?;
        let beta = parts.beta();
        let ready = parts.ready()?;
        let cooled = Tempered::new(ready.energy(), beta).map_err(Error::model)?;
        let path = self.path(&cooled)?;
        let mut soft = Parts::soft(self.model, self.temperature)?;
        let soft = soft.ready()?;
        let held = held(self.model);
        let held = Packed::new(Layout::binary(self.model.sites()), &held).map_err(Error::model)?;
        room("population", size, bytes(&path).saturating_add(256))?;
        let mut streams = streams(self.settings.seed);
        let cancelled = || {
            if self.settings.cancel.is_cancelled() { Err(Error::option("it was cancelled")) } else { Ok(()) }
        };

        let mut betas = Vec::new();
        let mut pilot = Population::new(self.model, path, (&soft, held), size.min(PILOT), &mut streams)?;
        while pilot.beta < 1.0 {
            cancelled()?;
            if betas.len() == MOST {
                return Err(Error::model(format!(
                    "more than {MOST} temperatures are needed: energies differ by far more than T"
                )));
            }
            let beta = next_beta(pilot.beta, 1.0, &pilot.gaps, SHARE).map_err(Error::model)?;
            pilot.step(beta)?;
            betas.push(beta);
        }
        drop(pilot);

        let mut population = Population::new(self.model, path, (&soft, held), size, &mut streams)?;
        let progress = Progress::new(!self.settings.progress, betas.len() as u64);
        for &beta in &betas {
            cancelled()?;
            population.step(beta)?;
            progress.advance(1);
        }
        drop(progress);
        let families = Families::of(&population.families, &mut vec![0; size]).map_err(Error::model)?;
        let error = f64::from(families.relative_error()).max(population.variance.sqrt());
        let (unmet, alike) = self.unmet(population.variance, size);
        let error = error.hypot(population.rounding).hypot(unmet);
        let mean_size = f64::from(families.mean_size());
        let warning = (mean_size > 0.01 * size as f64).then(|| {
            format!(
                "a replica has {mean_size:.0} relatives in a population of {size}: ln Z and its error are doubtful; take a larger population"
            )
        });
        let warning = warning.or(alike);
        Ok(Estimate {
            log_z: population.log_z - self.constant()?,
            error,
            runs: size,
            temperatures: betas.len(),
            effective_runs: size as f64 / mean_size,
            families: Some(families.families() as usize),
            warning,
        })
    }
}
