//! ln Z by annealed importance sampling.

use crate::Error;
use crate::chains::{memory, streams};
use crate::model::Model;
use crate::parts::{Dyn, Parts, Ready};
use crate::progress::Progress;
use crate::run::{held, start};
use crate::settings::{Settings, settings};
use bitmc::energy::Tempered;
use bitmc::stats::Evidence;
use bitmc::temper::{Replica, forward};
use bitmc::{Energy, Gibbs, LaneRng, Layout, Packed};
use rayon::prelude::*;
use serde::Serialize;

/// The settings of an estimate of `ln Z`, `Z = Σ e^(−E(x)/T)`; [`LogZ::run`] runs it over all cores.
///
/// Annealed importance sampling (Neal 2001) from independent uniform sites: each run passes through the temperatures, from β
/// = 0 to 1, with one Gibbs sweep at each. The mean of the runs' weights is Z, without bias, however many temperatures; the
/// logarithm of a mean of few weights is too low. Where sites are known Z is the sum over the states that agree.
///
/// ```
/// use bitmc_desktop::Model;
///
/// let model = Model::ising(2, &[(0, 1, 0.5)], &[])?;
/// let estimate = model.log_z().run()?;
/// let exact = (2.0 * 0.5f64.exp() + 2.0 * (-0.5f64).exp()).ln();
/// assert!((estimate.log_z - exact).abs() < 5.0 * estimate.error);
/// # Ok::<(), bitmc_desktop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LogZ<'m> {
    model: &'m Model,
    runs: usize,
    temperatures: usize,
    temperature: f32,
    settings: Settings,
}

/// An estimate of ln Z.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// ln Z.
    pub log_z: f64,
    /// Its standard error, by the spread of the runs' weights.
    pub error: f64,
    /// Runs.
    pub runs: usize,
    /// Temperatures of a run.
    pub temperatures: usize,
    /// The effective number of runs, `(Σw)²/Σw²`.
    pub effective_runs: f64,
    /// What makes the estimate doubtful.
    pub warning: Option<String>,
}

impl Model {
    /// The settings of an estimate of ln Z.
    #[must_use]
    pub fn log_z(&self) -> LogZ<'_> {
        LogZ { model: self, runs: 64, temperatures: 1000, temperature: 1.0, settings: Settings::default() }
    }
}

settings!(LogZ, "What stops the estimate from elsewhere: it is then an error.");

impl LogZ<'_> {
    /// Independent runs.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Temperatures of a run, a Gibbs sweep at each.
    #[must_use]
    pub fn temperatures(self, temperatures: usize) -> Self {
        Self { temperatures, ..self }
    }

    /// T.
    #[must_use]
    pub fn temperature(self, temperature: f32) -> Self {
        Self { temperature, ..self }
    }

    /// Estimates.
    ///
    /// # Errors
    /// [`Error::Option`] where a setting is illegal or it was cancelled, [`Error::Model`] where the model cannot be sampled
    /// at this temperature, or no run ended in a possible state.
    pub fn run(&self) -> Result<Estimate, Error> {
        if self.runs < 2 || self.temperatures == 0 {
            return Err(Error::option("runs: at least 2 are needed, and 1 temperature"));
        }
        self.settings.install(|| self.estimate())
    }

    fn estimate(&self) -> Result<Estimate, Error> {
        let mut parts = Parts::new(self.model, self.temperature)?;
        let beta = parts.beta();
        let ready = parts.ready()?;
        let path = Tempered::new(ready.energy(), 0.0).map_err(Error::model)?;
        let mut soft = Parts::soft(self.model, self.temperature)?;
        let soft = soft.ready()?;
        let held = held(self.model);
        let held = Packed::new(Layout::binary(self.model.sites()), &held).map_err(Error::model)?;
        let progress = Progress::new(!self.settings.progress, self.runs as u64);
        let streams: Vec<LaneRng> = streams(self.settings.seed).take(self.runs).collect();
        let one = |mut rng: LaneRng| {
            if self.settings.cancel.is_cancelled() {
                return Err(Error::option("it was cancelled"));
            }
            let answer = self.walk(path, beta, (&soft, held), &mut rng);
            progress.advance(1);
            answer
        };
        let walks: Vec<(f32, f32)> = streams.into_par_iter().map(one).collect::<Result<_, _>>()?;
        drop(progress);
        let base = walks[0].1;
        let mut evidence = Evidence::new();
        walks.iter().for_each(|walk| evidence.add(walk.0));
        if walks.iter().all(|walk| walk.0 == f32::NEG_INFINITY) {
            let reason =
                "no run ended in a possible state: independent draws hardly ever keep the hard constraints";
            return Err(Error::model(reason));
        }
        // The constant of the model's file is in every energy.
        let constant = self.model.constant / f64::from(self.temperature);
        let effective_runs = f64::from(evidence.equal_weights());
        let warning = (effective_runs < 0.1 * self.runs as f64).then(|| {
            format!("{effective_runs:.1} of {} runs have all the weight: ln Z is likely too low; take more temperatures", self.runs)
        });
        Ok(Estimate {
            log_z: f64::from(base) + f64::from(evidence.log_z()) - constant,
            error: evidence.relative_error().into(),
            runs: self.runs,
            temperatures: self.temperatures,
            effective_runs,
            warning,
        })
    }

    /// ln w of one run, and ln Z of the base.
    fn walk<'e>(
        &self,
        path: Tempered<'e, Dyn<'e>>,
        most: f32,
        (soft, held): (&Ready<'_>, Packed<'_>),
        rng: &mut LaneRng,
    ) -> Result<(f32, f32), Error> {
        let (model, layout) = (self.model, path.layout());
        // Any possible state does: the run begins with a draw from the base.
        let words = start(model, path.target(), soft, held, rng)?;
        let state = Packed::new(layout, &words).map_err(Error::model)?;
        let mut replica = Replica::new(path, memory(&path), state).map_err(Error::model)?;
        replica.clamp(held).map_err(Error::model)?;
        let base = replica.base_log_z();
        let beta = |step: usize| most * step as f32 / self.temperatures as f32;
        let betas = (1..=self.temperatures).map(beta);
        let weight = forward(&mut replica, betas, 1, |_| Gibbs::systematic(), rng).map_err(Error::model)?;
        Ok((weight, base))
    }
}
