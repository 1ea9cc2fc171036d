//! The likelihood of digits under a machine, by annealed importance sampling in both directions.

use super::Digits;
use crate::bits::BitRows;
use crate::chains::{mean_energy_of, memory, streams};
use crate::harness::{mean, standard_error};
use crate::teach::TeachError;
use bitmc::energy::Tempered;
use bitmc::noise::guided_balance;
use bitmc::stats::Evidence;
use bitmc::temper::{Replica, forward, reverse};
use bitmc::{Chain, Energy, Kernel, LaneRng, Langevin, Packed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

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
}

/// An estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The estimate.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// ln Z, and the mean ln p of digits, by runs in each direction. Forward runs tend to say too little of ln Z and too
/// much of ln p, reverse runs the opposite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likelihood {
    /// ln Z by forward runs.
    pub log_z_forward: Mean,
    /// ln Z by reverse runs.
    pub log_z_reverse: Mean,
    /// Digits held out, by forward runs.
    pub test_forward: Mean,
    /// Digits held out, by reverse runs.
    pub test_reverse: Mean,
    /// Digits learned from, by forward runs.
    pub train_forward: Mean,
    /// Digits learned from, by reverse runs.
    pub train_reverse: Mean,
}

/// A step size and balance for every β: bold where bits are nearly independent, near those of the first-order sampler
/// at β = 1 (METHODS.md §3 and §4).
fn kernel(beta: f32) -> Langevin<'static> {
    let step_size = 0.35 / beta.powi(4).max(1e-3);
    Langevin::balanced(step_size, guided_balance(step_size, 0.25)).expect("a legal step size and balance")
}

fn betas(count: u32) -> impl DoubleEndedIterator<Item = f32> {
    (1..=count).map(move |k| k as f32 / count as f32)
}

/// The likelihood in both directions, and states where forward runs ended. Reverse runs begin where the model's sampler
/// has led, in turn, from a training digit and from the end of a forward run.
///
/// # Errors
/// [`TeachError`] where the model is faulty at a digit.
pub fn measure<E: Energy + Sync + ?Sized>(
    model: &E,
    digits: &Digits,
    annealing: Annealing,
    sampler: &(impl Kernel<E> + Sync),
) -> Result<(Likelihood, Vec<Vec<u32>>), TeachError> {
    let path = Tempered::from_base(model, &digits.fields, 1.0)?;
    let one = |(run, mut rng): (usize, LaneRng)| -> Result<_, TeachError> {
        let digit = Packed::new(path.layout(), digits.train.row(run)).expect("a row of the digits");
        let mut replica = Replica::new(path, memory(&path), digit)?;
        let there = forward(&mut replica, betas(annealing.betas), 1, kernel, &mut rng)?;
        let end = replica.state().words().to_vec();
        let from = if run % 2 == 0 { digit } else { replica.state() };
        let mut chain = Chain::new(model, memory(model), from)?;
        chain.run(sampler, &mut rng, annealing.sweeps, &mut ());
        replica.set_beta(1.0)?;
        replica.restart(chain.state())?;
        let back = reverse(&mut replica, betas(annealing.betas), 1, kernel, &mut rng)?;
        Ok((there, back, end))
    };
    let streams: Vec<LaneRng> = streams(annealing.seed).take(annealing.runs as usize).collect();
    let runs: Vec<(f32, f32, Vec<u32>)> =
        streams.into_par_iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let (mut there, mut back, mut drawn) = (Evidence::new(), Evidence::new(), Vec::new());
    for (forward, reverse, end) in runs {
        there.add(forward);
        back.add(reverse);
        drawn.push(end);
    }
    let base = f64::from(path.base().log_z());
    let estimate =
        |log_z: f64, of: &Evidence| Mean { mean: log_z, standard_error: f64::from(of.relative_error()) };
    let log_z_forward = estimate(base + f64::from(there.log_z()), &there);
    let log_z_reverse = estimate(base - f64::from(back.log_z()), &back);
    let (test, train) = (minus_energy(model, &digits.test), minus_energy(model, &digits.train));
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
    Ok((likelihood, drawn))
}

/// Mean ln p of the training digits and of those held out, by forward runs alone.
///
/// # Errors
/// As [`measure`].
pub fn glance<E: Energy + Sync + ?Sized>(
    model: &E,
    digits: &Digits,
    annealing: Annealing,
) -> Result<(f64, f64), TeachError> {
    let path = Tempered::from_base(model, &digits.fields, 1.0)?;
    let one = |mut rng: LaneRng| -> Result<f32, TeachError> {
        let mut replica = Replica::random(path, memory(&path), &mut rng)?;
        Ok(forward(&mut replica, betas(annealing.betas), 1, kernel, &mut rng)?)
    };
    let streams: Vec<LaneRng> = streams(annealing.seed).take(annealing.runs as usize).collect();
    let weights: Vec<f32> = streams.into_par_iter().map(one).collect::<Result<_, _>>()?;
    let mut evidence = Evidence::new();
    weights.into_iter().for_each(|weight| evidence.add(weight));
    let log_z = f64::from(path.base().log_z()) + f64::from(evidence.log_z());
    let part = |rows| -mean_energy_of(model, rows) - log_z;
    Ok((part(&digits.train), part(&digits.test)))
}

/// The mean ln p of the digits held out under independent pixels with the means of the others.
#[must_use]
pub fn independent(digits: &Digits) -> Mean {
    let log_p = |row: &[u32]| -> f64 {
        let pixel = |(site, &field): (usize, &f32)| {
            let field = f64::from(field);
            let on = row[site / 32] >> (site % 32) & 1 == 1;
            -(if on { -field } else { field }).exp().ln_1p()
        };
        digits.fields.iter().enumerate().map(pixel).sum()
    };
    let values: Vec<f64> = digits.test.rows().map(log_p).collect();
    Mean { mean: mean(&values), standard_error: standard_error(&values) }
}

/// The mean of −E over digits.
fn minus_energy<E: Energy + ?Sized>(model: &E, rows: &BitRows) -> Mean {
    let mut cache = memory(model).cache;
    let mut value = |row| {
        let x = Packed::new(model.layout(), row).ok()?;
        model.init(x, &mut cache).ok()
    };
    let values: Vec<f64> = rows.rows().map(|row| value(row).map_or(f64::NAN, |e| -f64::from(e))).collect();
    Mean { mean: mean(&values), standard_error: standard_error(&values) }
}
