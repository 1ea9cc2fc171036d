//! The likelihood of data under a model, by annealed importance sampling in both directions.

use crate::Error;
use crate::bits::BitRows;
use crate::chains::{mean_energy_of, memory, streams};
use crate::diagnose::{mean, standard_error};
use crate::logz::Weights;
use bitmc::energy::Tempered;
use bitmc::noise::guided_balance;
use bitmc::step::ParameterError;
use bitmc::temper::{Replica, forward, reverse};
use bitmc::{Chain, Energy, Kernel, LaneRng, Langevin, Layout, Packed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Data to learn from, and data held out.
#[derive(Clone, Debug)]
pub struct Split {
    /// To learn from.
    pub train: BitRows,
    /// Held out.
    pub test: BitRows,
    /// The logits of the training data's means, which are kept within .01 and .99.
    pub fields: Vec<f32>,
}

impl Split {
    /// Splits rows of bits: the last `held_out` ones are not learned from.
    ///
    /// # Errors
    /// [`Error::Option`] where either part would be empty, [`Error::Model`] where the rows are no bits.
    pub fn new(rows: &BitRows, held_out: usize) -> Result<Self, Error> {
        let layout = rows.layout();
        if layout != Layout::binary(layout.sites()) {
            return Err(Error::model("rows of sites with more than two values: bits are needed"));
        }
        if held_out == 0 || held_out >= rows.len() {
            let reason = format!("{held_out} rows held out of {}: both parts need a row", rows.len());
            return Err(Error::option(reason));
        }
        let part = |taken: &mut dyn Iterator<Item = &[u32]>| -> Result<BitRows, Error> {
            let mut part = BitRows::new(layout);
            for row in taken {
                part.push(Packed::new(layout, row)?);
            }
            Ok(part)
        };
        let learned = rows.len() - held_out;
        let (train, test) = (part(&mut rows.rows().take(learned))?, part(&mut rows.rows().skip(learned))?);
        let logit = |mean: f32| (mean / (1.0 - mean)).ln();
        let fields = train.means().into_iter().map(|mean| logit(mean.clamp(0.01, 0.99))).collect();
        Ok(Self { train, test, fields })
    }
}

/// How much is annealed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Annealing {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Runs in each direction.
    pub runs: u32,
    /// Inverse temperatures, evenly from 0 to 1, one transition at each.
    pub betas: u32,
    /// Steps of the model's own sampler before a run in reverse: sweeps of block Gibbs for a restricted Boltzmann machine.
    pub sweeps: u64,
    /// Step size of a transition, σ at β = 1 of the first-order balanced sampler (METHODS.md §3). If it is too large
    /// for the energy, the two directions disagree.
    pub step_size: f32,
    /// At β the step size is `step_size`/β^`power`, at most 1,000 times as large. A power of 0 is one step size for
    /// all β. A power of 4 suits an RBM, whose bits are nearly independent at small β.
    pub power: u8,
}

impl Annealing {
    /// A generator for each run.
    fn streams(self) -> Result<Vec<LaneRng>, Error> {
        if self.runs < 2 || self.betas == 0 {
            let reason =
                format!("{} runs at {} temperatures: two and one are the least", self.runs, self.betas);
            return Err(Error::option(reason));
        }
        Ok(streams(self.seed).take(self.runs as usize).collect())
    }

    /// The transition at β.
    fn kernel(self, beta: f32) -> Result<Langevin<'static>, ParameterError> {
        let step_size = self.step_size / beta.powi(self.power.into()).max(1e-3);
        Langevin::balanced(step_size, guided_balance(step_size, 0.25))
    }
}

/// An estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The estimate.
    pub mean: f64,
    /// Its standard error. That of ln Z knows of a long tail of weights that no run has met.
    pub standard_error: f64,
}

impl Mean {
    /// ln of the mean of weights, from their logarithms.
    fn of(logs: impl Iterator<Item = f32>) -> Self {
        let weights = Weights::of(&logs.map(f64::from).collect::<Vec<_>>());
        Self { mean: weights.log_mean, standard_error: weights.error() }
    }
}

/// ln Z, and the mean ln p of data, by runs in each direction. Forward runs tend to say too little of ln Z and too
/// much of ln p, reverse runs the opposite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likelihood {
    /// ln Z by forward runs.
    pub log_z_forward: Mean,
    /// ln Z by reverse runs.
    pub log_z_reverse: Mean,
    /// Data held out, by forward runs.
    pub test_forward: Mean,
    /// Data held out, by reverse runs.
    pub test_reverse: Mean,
    /// Data learned from, by forward runs.
    pub train_forward: Mean,
    /// Data learned from, by reverse runs.
    pub train_reverse: Mean,
}

fn betas(count: u32) -> impl DoubleEndedIterator<Item = f32> {
    (1..=count).map(move |k| k as f32 / count as f32)
}

/// The likelihood in both directions, and states where forward runs ended. Reverse runs begin where the model's sampler
/// has led. It starts in turn from a row of the training data and from the end of a forward run.
///
/// # Errors
/// [`Error::Option`] without two runs or a temperature. [`Error::Model`] where the step size is illegal or the model
/// is faulty at a row of the data.
pub fn measure<E: Energy + Sync + ?Sized>(
    model: &E,
    data: &Split,
    annealing: Annealing,
    sampler: &(impl Kernel<E> + Sync),
) -> Result<(Likelihood, Vec<Vec<u32>>), Error> {
    let path = Tempered::from_base(model, &data.fields, 1.0)?;
    let cold = annealing.kernel(1.0)?;
    let kernel = |beta| annealing.kernel(beta).unwrap_or(cold);
    let one = |(run, mut rng): (usize, LaneRng)| -> Result<_, Error> {
        let row = Packed::new(path.layout(), data.train.row(run % data.train.len()))?;
        let mut replica = Replica::new(path, memory(&path), row)?;
        let there = forward(&mut replica, betas(annealing.betas), 1, kernel, &mut rng)?;
        let end = replica.state().words().to_vec();
        let from = if run % 2 == 0 { row } else { replica.state() };
        let mut chain = Chain::new(model, memory(model), from)?;
        chain.run(sampler, &mut rng, annealing.sweeps, &mut ());
        replica.set_beta(1.0)?;
        replica.restart(chain.state())?;
        let back = reverse(&mut replica, betas(annealing.betas), 1, kernel, &mut rng)?;
        Ok((there, back, end))
    };
    let runs: Vec<(f32, f32, Vec<u32>)> =
        annealing.streams()?.into_par_iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let base = f64::from(path.base().log_z());
    let forward = Mean::of(runs.iter().map(|run| run.0));
    let reverse = Mean::of(runs.iter().map(|run| run.1));
    let log_z_forward = Mean { mean: base + forward.mean, ..forward };
    let log_z_reverse = Mean { mean: base - reverse.mean, ..reverse };
    let (test, train) = (minus_energy(model, &data.test)?, minus_energy(model, &data.train)?);
    let given = |part: Mean, log_z: Mean| Mean {
        mean: part.mean - log_z.mean,
        standard_error: part.standard_error.hypot(log_z.standard_error),
    };
    let likelihood = Likelihood {
        log_z_forward,
        log_z_reverse,
        test_forward: given(test, log_z_forward),
        test_reverse: given(test, log_z_reverse),
        train_forward: given(train, log_z_forward),
        train_reverse: given(train, log_z_reverse),
    };
    Ok((likelihood, runs.into_iter().map(|run| run.2).collect()))
}

/// Mean ln p of the training data and of those held out, by forward runs alone.
///
/// # Errors
/// As [`measure`].
pub fn glance<E: Energy + Sync + ?Sized>(
    model: &E,
    data: &Split,
    annealing: Annealing,
) -> Result<(f64, f64), Error> {
    let path = Tempered::from_base(model, &data.fields, 1.0)?;
    let cold = annealing.kernel(1.0)?;
    let kernel = |beta| annealing.kernel(beta).unwrap_or(cold);
    let one = |mut rng: LaneRng| -> Result<f32, Error> {
        let mut replica = Replica::random(path, memory(&path), &mut rng)?;
        Ok(forward(&mut replica, betas(annealing.betas), 1, kernel, &mut rng)?)
    };
    let runs: Vec<f32> = annealing.streams()?.into_par_iter().map(one).collect::<Result<_, _>>()?;
    let log_z = f64::from(path.base().log_z()) + Mean::of(runs.into_iter()).mean;
    let part = |rows| -mean_energy_of(model, rows) - log_z;
    Ok((part(&data.train), part(&data.test)))
}

/// The mean ln p of the data held out under independent sites with the means of the training data.
#[must_use]
pub fn independent(data: &Split) -> Mean {
    let log_p = |row: &[u32]| -> f64 {
        let site = |(site, &field): (usize, &f32)| {
            let field = f64::from(field);
            let on = row[site / 32] >> (site % 32) & 1 == 1;
            -(if on { -field } else { field }).exp().ln_1p()
        };
        data.fields.iter().enumerate().map(site).sum()
    };
    let values: Vec<f64> = data.test.rows().map(log_p).collect();
    Mean { mean: mean(&values), standard_error: standard_error(&values) }
}

/// The mean of −E over rows.
fn minus_energy<E: Energy + ?Sized>(model: &E, rows: &BitRows) -> Result<Mean, Error> {
    let mut cache = memory(model).cache;
    let mut value = |row| -> Result<f64, Error> {
        let x = Packed::new(model.layout(), row)?;
        Ok(-f64::from(model.init(x, &mut cache).map_err(bitmc::ChainError::from)?))
    };
    let values: Vec<f64> = rows.rows().map(&mut value).collect::<Result<_, _>>()?;
    Ok(Mean { mean: mean(&values), standard_error: standard_error(&values) })
}
