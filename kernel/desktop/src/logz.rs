//! ln Z: its settings, and annealed importance sampling.

use crate::Error;
use crate::chains::{memory, room, streams};
use crate::diagnose::mean;
use crate::keep::fingerprint;
use crate::model::Model;
use crate::parts::{Dyn, Parts, Ready};
use crate::progress::Progress;
use crate::ranks::{Ranks, over};
use crate::run::{held, log_base, start};
use crate::samples::{doubtful, with_rounding};
use crate::settings::{Settings, settings};
#[cfg(doc)]
use bitmc::energy::BaseDistribution;
use bitmc::energy::Tempered;
use bitmc::layout::Kind;
use bitmc::temper::{Replica, forward};
use bitmc::{Energy, Gibbs, LaneRng, Layout, Packed};
use rayon::prelude::*;
use serde::Serialize;

/// The settings of an estimate of `ln Z`, `Z = Σ e^(−E(x)/T)`; [`LogZ::run`] runs it over all cores.
///
/// Annealed importance sampling (Neal 2001) from independent sites, uniform without [`LogZ::base`]. Each run passes from
/// β = 0 to 1, with one Gibbs sweep at each temperature. The mean of the runs' weights is Z, without bias, however many temperatures; the logarithm of a
/// mean of few weights is too low. Where sites are known Z is the sum over the states that agree.
///
/// With [`LogZ::population`] it is population annealing instead (Machta 2010). All replicas pass through the
/// temperatures together, and the likely ones are copied in place of the others. A pilot run of 256 replicas chooses
/// the temperatures.
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
    pub(crate) model: &'m Model,
    runs: Option<usize>,
    temperatures: Option<usize>,
    population: Option<usize>,
    base: Vec<f32>,
    temperature: f64,
    pub(crate) settings: Settings,
}

/// Independent runs, where nothing else is set.
const RUNS: usize = 64;
/// Temperatures of a run, where nothing else is set.
const TEMPERATURES: usize = 1000;

/// Equal weights below which an estimate is doubtful, however many runs there were.
const FEW: f64 = 10.0;
/// Fewer runs say little of the error.
const FEWEST: usize = 8;
/// Temperatures from a base below which the error may be too small. A value that the base nearly rules out may have a part of Z. No run
/// begins there, and none has the time to go there.
const FEWEST_FROM_A_BASE: usize = 200;

/// An estimate of ln Z.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// ln Z.
    pub log_z: f64,
    /// Its standard error, by the spread of the runs' weights. Weights whose logarithms are normal with the same variance
    /// may have a larger spread; then it is that. Of a population it is by the sizes of its families, or by the spread of
    /// the weights at each temperature where that is larger. What rounding of energies to f32 may do is in it. It is
    /// infinite where all runs have the same weight: then nothing is known of it. It is 1/runs more where a table forbids
    /// states. As JSON infinity is 1e308.
    #[serde(serialize_with = "crate::diagnose::bounded")]
    pub error: f64,
    /// Runs, or replicas of a population.
    pub runs: usize,
    /// Temperatures of a run.
    pub temperatures: usize,
    /// The effective number of runs: `(Σw)²/Σw²`, or `R e^(−s²)` of R runs where that is less, s² the variance of ln w. Of a
    /// population `1/Σn²`, where n is the share of a family in it.
    pub effective_runs: f64,
    /// Replicas of the start from which the population descends; `None` of annealed importance sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub families: Option<usize>,
    /// What makes the estimate doubtful.
    pub warning: Option<String>,
}

impl Model {
    /// The settings of an estimate of ln Z.
    #[must_use]
    pub fn log_z(&self) -> LogZ<'_> {
        LogZ {
            model: self,
            runs: None,
            temperatures: None,
            population: None,
            base: Vec::new(),
            temperature: 1.0,
            settings: Settings::default(),
        }
    }
}

/// Fields for [`LogZ::base`]: of independent sites whose values are as frequent as in these states, each value counted half a
/// time more. Of ordinal sites they have the same means.
///
/// # Errors
/// [`Error::Option`] where there are no states, or one is none of this layout.
pub fn base_fields<S: IntoIterator<Item = u32>>(
    layout: Layout,
    states: impl IntoIterator<Item = S>,
) -> Result<Vec<f32>, Error> {
    let (sites, arity) = (layout.sites(), layout.arity());
    let (mut counts, mut rows) = (vec![0.5f64; sites * arity], 0);
    for state in states {
        let mut of_row = 0;
        for (site, value) in state.into_iter().enumerate() {
            if site >= sites || value as usize >= arity {
                return Err(Error::option(format!(
                    "base: row {rows} has the value {value} at site {site}, where there are {sites} sites of {arity} values"
                )));
            }
            counts[site * arity + value as usize] += 1.0;
            of_row += 1;
        }
        if of_row != sites {
            return Err(Error::option(format!(
                "base: row {rows} has {of_row} values, where {sites} are needed"
            )));
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(Error::option("base: no states"));
    }
    let sites = counts.chunks_exact(arity);
    Ok(match layout.kind() {
        Kind::Categorical => counts.iter().map(|count| count.ln() as f32).collect(),
        Kind::Binary | Kind::Ordinal => sites.map(|counts| slope(counts) as f32).collect(),
    })
}

/// The θ at which `p(k) ∝ e^θk` has the mean of these counts. Of two values it is the logarithm of their odds.
fn slope(counts: &[f64]) -> f64 {
    if let [zeros, ones] = counts {
        return (ones / zeros).ln();
    }
    let mean = |weights: &mut dyn Iterator<Item = f64>| {
        let (sum, moment) = weights
            .zip(0..)
            .fold((0.0, 0.0), |(sum, moment), (weight, k)| (sum + weight, moment + weight * f64::from(k)));
        moment / sum
    };
    let most = (counts.len() - 1) as f64;
    let goal = mean(&mut counts.iter().copied());
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..60 {
        let middle: f64 = 0.5 * (low + high);
        let weights = &mut (0..counts.len()).map(|k| (middle * k as f64 - middle.max(0.0) * most).exp());
        *(if mean(weights) < goal { &mut low } else { &mut high }) = middle;
    }
    low
}

settings!(LogZ, "What stops the estimate from elsewhere: it is then an error.");

impl LogZ<'_> {
    /// Independent runs of annealed importance sampling: 64 without this.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs: Some(runs), ..self }
    }

    /// Temperatures of a run of annealed importance sampling, a Gibbs sweep at each: 1,000 without this.
    #[must_use]
    pub fn temperatures(self, temperatures: usize) -> Self {
        Self { temperatures: Some(temperatures), ..self }
    }

    /// Population annealing with so many replicas, instead of annealed importance sampling. It has no runs, and chooses its
    /// temperatures itself: [`LogZ::runs`] and [`LogZ::temperatures`] are refused.
    #[must_use]
    pub fn population(self, replicas: usize) -> Self {
        Self { population: Some(replicas), ..self }
    }

    /// Begins at independent sites with these fields θ ([`BaseDistribution`]) instead of uniform ones. [`base_fields`] makes
    /// them of states near those of the model: draws of a chain, or the data that an RBM has learned. Fewer temperatures are
    /// then enough, down to 200. Below that the error may be too small by far, and a warning says so. A mode from which no
    /// such state comes may be missed, and ln Z is then too low without a warning.
    #[must_use]
    pub fn base(self, fields: &[f32]) -> Self {
        Self { base: fields.to_vec(), ..self }
    }

    /// T. Weights are divided by it in 32 bits, the constant of the model in 64.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Self {
        Self { temperature, ..self }
    }

    /// Estimates.
    ///
    /// # Errors
    /// * [`Error::Option`] where a setting is illegal or it was cancelled.
    /// * [`Error::Model`] where the model cannot be sampled at this temperature, or no run ended in a possible state.
    pub fn run(&self) -> Result<Estimate, Error> {
        if self.population.is_some() {
            let size = self.size()?;
            return Ok(self.told(self.settings.install(|| self.population_estimate(size, None))?));
        }
        let (runs, temperatures) = (self.runs.unwrap_or(RUNS), self.temperatures.unwrap_or(TEMPERATURES));
        if runs < 2 || temperatures == 0 {
            return Err(Error::option("runs: at least 2 are needed, and 1 temperature"));
        }
        Ok(self.told(self.settings.install(|| self.estimate(runs, temperatures))?))
    }

    /// T in the 32 bits of the weights.
    pub(crate) fn narrow(&self) -> f32 {
        self.temperature as f32
    }

    /// With a warning where rounding of the model's numbers is not small beside the temperature.
    fn told(&self, mut estimate: Estimate) -> Estimate {
        let rounding = doubtful(self.model.rounding_at(self.narrow()), self.temperature);
        estimate.warning = with_rounding(rounding, estimate.warning);
        estimate
    }

    /// The estimate of a population over several processes, with the same bits. Each rank has a share of the replicas. States travel
    /// where a replica is copied to another rank.
    ///
    /// # Errors
    /// As [`LogZ::run`], and [`Error::Ranks`] where another rank failed or ranks cannot talk to each other. [`Error::Option`] where
    /// ranks differ in model or settings, or without a population.
    pub fn run_over(&self, ranks: &dyn Ranks) -> Result<Estimate, Error> {
        over(ranks, |link| {
            let size = self.size()?;
            link.check(&format!(
                "model {:016x}; population {size}; seed {}; temperature {}; base {:?}",
                fingerprint(self.model),
                self.settings.seed,
                self.temperature,
                self.base
            ))?;
            Ok(self.told(self.settings.install(|| self.population_estimate(size, Some(link)))?))
        })
    }

    /// The size of the population.
    fn size(&self) -> Result<usize, Error> {
        let size = self.population.ok_or_else(|| Error::option("population: runs over ranks need one"))?;
        for (name, given) in [("runs", self.runs), ("temperatures", self.temperatures)] {
            if given.is_some() {
                return Err(Error::option(format!("{name}: population annealing has none to set")));
            }
        }
        if !(2..=1 << 30).contains(&size) {
            return Err(Error::option(format!("population: {size} replicas, where from 2 to 2^30 are needed")));
        }
        Ok(size)
    }

    /// From the base at β = 0 to the model at its temperature at β = 1.
    pub(crate) fn path<'e>(&'e self, model: &'e Tempered<'e, Dyn<'e>>) -> Result<Tempered<'e, Dyn<'e>>, Error> {
        let energy: &Dyn<'_> = if model.beta() == 1.0 { model.target() } else { model };
        Tempered::from_base(energy, &self.base, 0.0).map_err(|error| Error::option(format!("base: {error}")))
    }

    fn estimate(&self, runs: usize, temperatures: usize) -> Result<Estimate, Error> {
        let mut parts = Parts::new(self.model, self.narrow())?;
        let beta = parts.beta();
        let ready = parts.ready()?;
        let cooled = Tempered::new(ready.energy(), beta).map_err(Error::model)?;
        let path = self.path(&cooled)?;
        let mut soft = Parts::soft(self.model, self.narrow())?;
        let soft = soft.ready()?;
        let held = held(self.model);
        let held = Packed::new(Layout::binary(self.model.sites()), &held).map_err(Error::model)?;
        // Generators, and ln w.
        room("runs", runs, size_of::<LaneRng>() + 32)?;
        let progress = Progress::new(!self.settings.progress, runs as u64);
        let streams: Vec<LaneRng> = streams(self.settings.seed).take(runs).collect();
        let one = |mut rng: LaneRng| {
            if self.settings.cancel.is_cancelled() {
                return Err(Error::option("it was cancelled"));
            }
            let answer = self.walk(path, temperatures, (&soft, held), &mut rng);
            progress.advance(1);
            answer
        };
        let walks: Vec<f32> = streams.into_par_iter().map(one).collect::<Result<_, _>>()?;
        drop(progress);
        let base = log_base(self.model, path.base(), ready.energy());
        let weights = Weights::of(&walks.iter().map(|&walk| walk.into()).collect::<Vec<_>>());
        if weights.log_mean == f64::NEG_INFINITY {
            let reason = "no run ended in a possible state: independent draws hardly ever keep the hard constraints; take more runs, or a population";
            return Err(Error::model(reason));
        }
        let constant = self.constant()?;
        let effective_runs = weights.equal;
        let (unmet, alike) = self.unmet(weights.relative_variance, runs);
        let few = (0.1 * runs as f64).min(10.0 * FEW).max(FEW.min(0.5 * runs as f64));
        let warning = (effective_runs < few).then(|| {
            format!("{effective_runs:.1} of {runs} runs have all the weight: ln Z is likely too low; take more temperatures, more runs, a base near the model, or a population")
        });
        let warning = warning.or(alike).or_else(|| {
            (runs < FEWEST).then(|| format!("{runs} runs say little of the error: take at least {FEWEST}"))
        });
        let hasty = !self.base.is_empty() && temperatures < FEWEST_FROM_A_BASE;
        let warning = warning.or_else(|| {
            let few = format!("{temperatures} temperatures from a base: the error may be too small by far");
            hasty.then(|| format!("{few}; take at least {FEWEST_FROM_A_BASE}"))
        });
        Ok(Estimate {
            log_z: base + weights.log_mean - constant,
            error: weights.error().hypot(unmet),
            runs,
            temperatures,
            effective_runs,
            families: None,
            warning,
        })
    }

    /// The error for what none of so many runs met, and what makes them doubtful. The variance is that of their weights.
    pub(crate) fn unmet(&self, variance: f64, runs: usize) -> (f64, Option<String>) {
        let alike = variance == 0.0 && !self.model.is_flat();
        let unmet = match (alike, self.model.forbids()) {
            (true, false) => f64::INFINITY,
            (_, true) => 1.0 / runs as f64,
            _ => 0.0,
        };
        let doubt = "all runs have the same weight: no term made a difference in any state that they met";
        (unmet, (alike && !self.model.forbids()).then(|| doubt.into()))
    }

    /// The constant of the model's file, which is in every energy, over T.
    pub(crate) fn constant(&self) -> Result<f64, Error> {
        let constant = self.model.constant / self.temperature;
        if constant.is_finite() {
            Ok(constant)
        } else {
            Err(Error::model("the constant of the energy over T is not finite"))
        }
    }

    /// ln w of one run.
    fn walk<'e>(
        &self,
        path: Tempered<'e, Dyn<'e>>,
        temperatures: usize,
        (soft, held): (&Ready<'_>, Packed<'_>),
        rng: &mut LaneRng,
    ) -> Result<f32, Error> {
        let (model, layout) = (self.model, path.layout());
        // Any possible state does: the run begins with a draw from the base.
        let words = start(model, path.target(), soft, held, rng)?;
        let state = Packed::new(layout, &words).map_err(Error::model)?;
        let mut replica = Replica::new(path, memory(&path), state).map_err(Error::model)?;
        replica.clamp(held).map_err(Error::model)?;
        let beta = |step: usize| step as f32 / temperatures as f32;
        let cancel = &self.settings.cancel;
        let betas = (1..=temperatures).map(beta).take_while(|_| !cancel.is_cancelled());
        let walk = forward(&mut replica, betas, 1, |_| Gibbs::systematic(), rng).map_err(Error::model)?;
        if cancel.is_cancelled() { Err(Error::option("it was cancelled")) } else { Ok(walk) }
    }
}

/// What weights say, by their logarithms; in f64, for those that are nearly equal.
pub(crate) struct Weights {
    /// ln of their mean.
    pub(crate) log_mean: f64,
    /// The variance of the mean over its square, by the spread of the weights.
    pub(crate) relative_variance: f64,
    /// The same if the logarithms are normal. Few runs see nothing of the tail that has most of the weight: the spread of their
    /// weights is then too small, but not that of the logarithms. It is at most the square of their variance, twice as far as
    /// the mean of such weights is above that of the logarithms.
    tail: f64,
    /// How many equal weights they are worth: `(Σw)²/Σw²`, or what normal logarithms with their variance are worth.
    pub(crate) equal: f64,
    /// What rounding of the logarithms to f32 may do to that of the mean.
    pub(crate) rounding: f64,
}

impl Weights {
    pub(crate) fn of(logs: &[f64]) -> Self {
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let finite = logs.iter().map(|log| log.abs()).filter(|size| size.is_finite());
        let rounding = f64::from(f32::EPSILON) * finite.fold(0.0, f64::max);
        if most == f64::NEG_INFINITY {
            let relative_variance = f64::INFINITY;
            return Self { log_mean: most, relative_variance, tail: relative_variance, equal: 0.0, rounding };
        }
        let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let (n, mean) = (weights.len() as f64, mean(&weights));
        let squares = |of: &[f64], mean: f64| of.iter().map(|w| (w - mean).powi(2)).sum::<f64>();
        let spread = squares(&weights, mean);
        // Of states that are possible.
        let logs: Vec<f64> = logs.iter().copied().filter(|log| log.is_finite()).collect();
        let possible = logs.len() as f64;
        let variance = squares(&logs, self::mean(&logs)) / (possible - 1.0).max(1.0);
        Self {
            log_mean: most + mean.ln(),
            relative_variance: spread / (n * (n - 1.0)) / mean.powi(2),
            tail: ((variance.exp() * n / possible - 1.0) / n).min(variance.powi(2)),
            equal: (n / (1.0 + spread / n / mean.powi(2))).min(possible * (-variance).exp()),
            rounding,
        }
    }

    /// The standard error of `log_mean`.
    pub(crate) fn error(&self) -> f64 {
        self.relative_variance.max(self.tail).sqrt().hypot(self.rounding)
    }
}
