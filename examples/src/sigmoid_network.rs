//! The binary network of DLP's program: a regression network with weights of ±1, its output through a sigmoid.
//!
//! `o(z) = σ(c + Σⱼ vⱼ tanh(bⱼ + Σₖ Wₖⱼ zₖ))` and `E = 100 · mean (o(z) − y)²` over the rows. W, b, v and c are the state: a site
//! is 1 where its weight is +1. Site `k · units + j` is Wₖⱼ; then come the b, the v, and c.

use crate::adult::Data;
use crate::cli::Failure;
use crate::told::Evaluator;
use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Energy, LaneRng, Layout, Move, Packed, Rng};
use nalgebra::DMatrix;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Of the mean squared error.
const FACTOR: f32 = 100.0;

/// Means and deviations of columns.
#[derive(Clone, Debug)]
pub struct Standard(Vec<(f32, f32)>);

impl Standard {
    /// Of each column. A column without variance has deviation 1.
    #[must_use]
    pub fn of(data: &Data) -> Self {
        let of = |column: &[f32]| {
            let count = column.len() as f32;
            let mean = column.iter().sum::<f32>() / count;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / count;
            (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
        };
        Self(data.inputs.chunks(data.targets.len()).map(of).collect())
    }
}

/// The network over a data set.
#[derive(Debug)]
pub struct SigmoidNetwork {
    /// A column a row of the data: its inputs, and a 1 for the biases.
    inputs: DMatrix<f32>,
    targets: Vec<f32>,
    units: usize,
    /// Rows of a minibatch and the seed of their draws. All chains of a step have one batch.
    batch: Option<(usize, u64)>,
    step: AtomicU32,
}

impl SigmoidNetwork {
    /// Over data, with the columns standardised.
    #[must_use]
    pub fn new(data: &Data, standard: &Standard, units: usize) -> Self {
        let (rows, columns) = (data.targets.len(), standard.0.len());
        let input = |column: usize, row: usize| match standard.0.get(column) {
            Some((mean, deviation)) => (data.inputs[column * rows + row] - mean) / deviation,
            None => 1.0,
        };
        Self {
            inputs: DMatrix::from_fn(columns + 1, rows, input),
            targets: data.targets.clone(),
            units,
            batch: None,
            step: AtomicU32::new(0),
        }
    }

    /// With energies and gradients of minibatches: for samplers that are told them and do not test.
    #[must_use]
    pub fn in_batches(mut self, rows: usize, seed: u64) -> Self {
        self.batch = Some((rows, seed));
        self
    }

    /// Draws the batch of the next step.
    pub fn next_batch(&self) {
        self.step.fetch_add(1, Ordering::Relaxed);
    }

    /// Sites.
    fn weights(&self) -> usize {
        self.units * (self.inputs.nrows() + 1) + 1
    }

    /// The first weight of the output.
    fn output(&self) -> usize {
        self.units * self.inputs.nrows()
    }

    fn sign(x: Packed<'_>, site: usize) -> f32 {
        2.0 * x.get(site) as f32 - 1.0
    }

    /// What the hidden units say of some rows: one row a unit.
    fn hidden(&self, x: Packed<'_>, inputs: &DMatrix<f32>) -> DMatrix<f32> {
        let weights = x.values().take(self.output()).map(|value| 2.0 * value as f32 - 1.0);
        let mut hidden = DMatrix::from_iterator(self.units, inputs.nrows(), weights) * inputs;
        hidden.iter_mut().for_each(|z| *z = tangent(*z));
        hidden
    }

    fn logits(&self, x: Packed<'_>, hidden: &DMatrix<f32>) -> Vec<f32> {
        let votes: Vec<f32> = (0..self.units).map(|unit| Self::sign(x, self.output() + unit)).collect();
        let bias = Self::sign(x, self.weights() - 1);
        let logit = |column: nalgebra::DVectorView<'_, f32>| {
            bias + column.iter().zip(&votes).map(|(tanh, vote)| tanh * vote).sum::<f32>()
        };
        hidden.column_iter().map(logit).collect()
    }

    /// The outputs for all rows.
    #[must_use]
    pub fn outputs(&self, x: Packed<'_>) -> Vec<f32> {
        self.logits(x, &self.hidden(x, &self.inputs)).into_iter().map(sigmoid).collect()
    }

    /// The mean squared error of outputs.
    #[must_use]
    pub fn error(&self, outputs: &[f32]) -> f64 {
        let squares = outputs.iter().zip(&self.targets).map(|(o, y)| f64::from(o - y).powi(2));
        squares.sum::<f64>() / self.targets.len() as f64
    }

    fn energy_of(&self, logits: impl Iterator<Item = f32>) -> f32 {
        let squares = logits.zip(&self.targets).map(|(logit, y)| f64::from(sigmoid(logit) - y).powi(2));
        (f64::from(FACTOR) * squares.sum::<f64>() / self.targets.len() as f64) as f32
    }

    /// `E` and `∂E/∂x`, of some rows.
    fn find(&self, x: Packed<'_>, inputs: &DMatrix<f32>, targets: &[f32], gradient: &mut [f32]) -> f32 {
        let mut hidden = self.hidden(x, inputs);
        let (mut squares, mut slopes) = (0.0, Vec::with_capacity(targets.len()));
        // ∂x is twice ∂weight, and the square has a factor of two.
        let factor = 4.0 * FACTOR / targets.len() as f32;
        for (logit, y) in self.logits(x, &hidden).into_iter().zip(targets) {
            let o = sigmoid(logit);
            squares += f64::from(o - y).powi(2);
            slopes.push(factor * (o - y) * o * (1.0 - o));
        }
        let (first, rest) = gradient.split_at_mut(self.output());
        let (votes, bias) = rest.split_at_mut(self.units);
        votes.fill(0.0);
        let signs: Vec<f32> = (0..self.units).map(|unit| Self::sign(x, self.output() + unit)).collect();
        for (mut column, slope) in hidden.column_iter_mut().zip(&slopes) {
            for ((tanh, vote), sign) in column.iter_mut().zip(&mut *votes).zip(&signs) {
                *vote += slope * *tanh;
                *tanh = slope * sign * (1.0 - *tanh * *tanh);
            }
        }
        bias[0] = slopes.iter().sum();
        first.copy_from_slice((hidden * inputs.transpose()).as_slice());
        (f64::from(FACTOR) * squares / targets.len() as f64) as f32
    }

    /// The logits after one site is another, from those before.
    fn moved(&self, x: Packed<'_>, logits: &[f32], site: usize) -> Vec<f32> {
        let change = -2.0 * Self::sign(x, site);
        if site == self.weights() - 1 {
            return logits.iter().map(|logit| logit + change).collect();
        }
        let (layer, unit) = (site / self.units, site % self.units);
        let vote = Self::sign(x, self.output() + unit);
        let weights: Vec<f32> =
            (0..self.inputs.nrows()).map(|layer| Self::sign(x, layer * self.units + unit)).collect();
        let moved = |(logit, inputs): (&f32, nalgebra::DVectorView<'_, f32>)| {
            let before: f32 = inputs.iter().zip(&weights).map(|(input, weight)| input * weight).sum();
            let tanh = tangent(before);
            match inputs.get(layer) {
                Some(input) => logit + vote * (tangent(before + change * input) - tanh),
                None => logit + change * tanh,
            }
        };
        logits.iter().zip(self.inputs.column_iter()).map(moved).collect()
    }
}

fn tangent(z: f32) -> f32 {
    1.0 - 2.0 / (1.0 + (2.0 * z).exp())
}

fn sigmoid(z: f32) -> f32 {
    1.0 / (1.0 + (-z).exp())
}

impl Evaluator for SigmoidNetwork {
    fn layout(&self) -> Layout {
        Layout::binary(self.weights())
    }

    fn block(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<(), Failure> {
        let rows: Option<Vec<usize>> = self.batch.map(|(rows, seed)| {
            let mut rng = LaneRng::stream(seed, self.step.load(Ordering::Relaxed));
            let count = self.targets.len() as u64;
            (0..rows).map(|_| ((u64::from(rng.next_u32()) * count) >> 32) as usize).collect()
        });
        for ((&x, energy), gradient) in states.iter().zip(energies).zip(gradients.chunks_mut(self.weights())) {
            *energy = match &rows {
                None => self.find(x, &self.inputs, &self.targets, gradient),
                Some(rows) => {
                    let targets: Vec<f32> = rows.iter().map(|&row| self.targets[row]).collect();
                    self.find(x, &self.inputs.select_columns(rows), &targets, gradient)
                }
            };
        }
        Ok(())
    }
}

/// For Gibbs. The cache has the logits.
impl Energy for SigmoidNetwork {
    fn layout(&self) -> Layout {
        Evaluator::layout(self)
    }

    fn cache_len(&self) -> usize {
        self.targets.len().div_ceil(LANES)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let (need, got) = (Energy::cache_len(self), cache.len());
        if got < need {
            return Err(EnergyError::Cache { need, got });
        }
        let logits = self.logits(x, &self.hidden(x, &self.inputs));
        cache.as_flattened_mut().fill(0);
        cache.as_flattened_mut().iter_mut().zip(&logits).for_each(|(word, logit)| *word = logit.to_bits());
        Ok(self.energy_of(logits.into_iter()))
    }

    fn gradient(&self, x: Packed<'_>, _: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let mut all = vec![0.0; self.weights()];
        self.find(x, &self.inputs, &self.targets, &mut all);
        let wanted = all.get(rows.start * LANES..).unwrap_or_default();
        out.as_flattened_mut().iter_mut().zip(wanted).for_each(|(out, slope)| *out = *slope);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let before = self.energy_of(cache.as_flattened().iter().map(|&word| f32::from_bits(word)));
        self.init(step.to(), cache).map_or(f32::NAN, |after| after - before)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let x = Packed::new(Energy::layout(self), words).expect("a state");
        let logits: Vec<f32> =
            cache.as_flattened()[..self.targets.len()].iter().map(|&w| f32::from_bits(w)).collect();
        let difference =
            self.energy_of(self.moved(x, &logits, site).into_iter()) - self.energy_of(logits.into_iter());
        let here = x.get(site);
        (0..).zip(out).for_each(|(value, out)| *out = if value == here { 0.0 } else { difference });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chains::memory;
    use bitmc::energy::check;

    fn data() -> Data {
        Data { inputs: vec![0.0, 1.0, 3.0, 0.5, 0.5, 0.5, 1.0, -1.0, 2.0], targets: vec![0.0, 1.0, 1.0] }
    }

    /// In float64, by hand: columns (0, 1, 3), a constant and (1, −1, 2), two units, weights W = (+−, −+, ++), b = (−, +),
    /// v = (+, −), c = −1.
    fn by_hand(standardised: bool) -> f64 {
        let (first, third) = ([0.0f64, 1.0, 3.0], [1.0f64, -1.0, 2.0]);
        let standard = |x: [f64; 3]| {
            let mean = x.iter().sum::<f64>() / 3.0;
            let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 3.0).sqrt();
            x.map(|x| if standardised { (x - mean) / deviation } else { x })
        };
        let (first, third) = (standard(first), standard(third));
        let second = if standardised { 0.0 } else { 0.5 };
        let square = |row: usize| {
            let a = (first[row] - second + third[row] - 1.0).tanh();
            let b = (-first[row] + second + third[row] + 1.0).tanh();
            let o = 1.0 / (1.0 + (-(a - b - 1.0)).exp());
            (o - [0.0, 1.0, 1.0][row]).powi(2)
        };
        (0..3).map(square).sum::<f64>() * 100.0 / 3.0
    }

    #[test]
    fn the_energy_is_the_one_by_hand() {
        let data = data();
        let network = SigmoidNetwork::new(&data, &Standard::of(&data), 2);
        let bits = [1, 0, /**/ 0, 1, /**/ 1, 1, /**/ 0, 1, /**/ 1, 0, /**/ 0];
        let words = [bits.iter().rev().fold(0, |word, bit| word << 1 | bit)];
        let x = Packed::new(Energy::layout(&network), &words).unwrap();
        assert_eq!(x.layout().sites(), bits.len());
        let energy = f64::from(network.init(x, &mut memory(&network).cache).unwrap());
        assert!((energy - by_hand(true)).abs() < 1e-4, "{energy}, {}", by_hand(true));
        assert!((energy - by_hand(false)).abs() > 0.5, "{energy}, {}", by_hand(false));
        assert!((network.error(&network.outputs(x)) - energy / 100.0).abs() < 1e-6);
    }

    /// Differences agree with totals; with small inputs the gradient predicts them.
    #[test]
    fn the_energy_agrees_with_itself() {
        let data = data();
        let network = SigmoidNetwork::new(&data, &Standard::of(&data), 5);
        let states = [[0x002d_3b91], [0x001e_44f3]];
        let layout = Energy::layout(&network);
        let mask = (1 << layout.sites()) - 1;
        let words = states.map(|[word]: [u32; 1]| [word & mask]);
        let rows = || words.iter().map(|words| Packed::new(layout, words).unwrap());
        let checked = check(&network, &mut memory(&network), rows()).unwrap();
        assert!(checked.correlation > Some(0.5), "{checked:?}");
        // With small inputs the energy is nearly linear in one weight of the first layer.
        let small = Data { inputs: data.inputs.iter().map(|x| 0.005 * x).collect(), ..data.clone() };
        let network = SigmoidNetwork::new(&small, &Standard(vec![(0.0, 1.0); 3]), 5);
        let mut gradient = vec![0.0; layout.sites()];
        let x = rows().next().unwrap();
        network.evaluate(&[x], &mut [0.0], &mut gradient).unwrap();
        let mut cache = memory(&network).cache;
        network.init(x, &mut cache).unwrap();
        let most = gradient.iter().take(15).fold(0f32, |most, slope| most.max(slope.abs()));
        for (site, slope) in gradient.iter().enumerate().take(15) {
            let (mut differences, here) = ([0.0; 2], x.get(site) as usize);
            network.differences(&mut words[0].to_vec(), &cache, site, &mut differences);
            let (predicted, found) = (slope * (1.0 - 2.0 * here as f32), differences[1 - here]);
            assert!((found - predicted).abs() < 0.05 * most, "{site}: {predicted}, {found}");
            // Half the slope, the gradient by the weight and not by the site, is off.
            assert!(slope.abs() < most || (found - 0.5 * predicted).abs() > 0.4 * most);
        }
    }

    /// The mean over many batches is the gradient of all rows; one batch is not.
    #[test]
    fn batches_have_the_gradient_on_the_average() {
        let data = data();
        let standard = Standard::of(&data);
        let whole = SigmoidNetwork::new(&data, &standard, 2);
        let parts = SigmoidNetwork::new(&data, &standard, 2).in_batches(2, 7);
        let x = Packed::new(Energy::layout(&whole), &[0x2d3]).unwrap();
        let sites = Energy::layout(&whole).sites();
        let mut gradient = vec![0.0; sites];
        whole.evaluate(&[x], &mut [0.0], &mut gradient).unwrap();
        let (mut sums, mut once) = (vec![0.0; sites], vec![0.0; sites]);
        let times = 4000;
        for _ in 0..times {
            parts.next_batch();
            parts.evaluate(&[x], &mut [0.0], &mut once).unwrap();
            sums.iter_mut().zip(&once).for_each(|(sum, slope)| *sum += slope / times as f32);
        }
        let most = gradient.iter().fold(0f32, |most, slope| most.max(slope.abs()));
        let gap = |a: &[f32]| a.iter().zip(&gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(gap(&sums) < 0.06 * most, "{} of {most}", gap(&sums));
        assert!(gap(&once) > 0.1 * most, "{} of {most}", gap(&once));
    }
}
