//! Targets in float64, and the same as potentials of the kernel.

use bitmc::flow::{Potential, blocks};
use bitmc::lane::Block;
use std::cell::Cell;

/// An energy in float64.
pub trait Target {
    /// E(x).
    fn energy(&self, x: &[f64]) -> f64;
    /// ∂E/∂x.
    fn gradient(&self, x: &[f64]) -> Vec<f64>;
}

/// `E = Σ ½pᵢxᵢ²`.
#[derive(Clone, Debug)]
pub struct Valley {
    /// 1/variance of every coordinate.
    pub precision: Vec<f64>,
}

impl Target for Valley {
    fn energy(&self, x: &[f64]) -> f64 {
        x.iter().zip(&self.precision).map(|(x, p)| 0.5 * p * x * x).sum()
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        x.iter().zip(&self.precision).map(|(x, p)| p * x).collect()
    }
}

/// Two dimensions without symmetry or normality: `E = ¼x⁴ − bx² + cxy + ½y² + ⅙y⁴ + tilt·x`. Its moments
/// are sums over a grid.
#[derive(Clone, Copy, Debug)]
pub struct Quartic {
    /// Half the height scale of the barrier between two wells.
    pub barrier: f64,
    /// The coupling.
    pub coupling: f64,
    /// What makes one well deeper.
    pub tilt: f64,
}

impl Quartic {
    /// The exact mean of a function, by the trapezoidal rule on [−6, 6]²: it converges faster than any power
    /// of the spacing.
    pub fn mean(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for i in -300..=300 {
            for j in -300..=300 {
                let (x, y) = (0.02 * f64::from(i), 0.02 * f64::from(j));
                let weight = (-self.energy(&[x, y])).exp();
                total += weight;
                sum += weight * of(x, y);
            }
        }
        sum / total
    }
}

impl Target for Quartic {
    fn energy(&self, x: &[f64]) -> f64 {
        let (x, y) = (x[0], x[1]);
        0.25 * x.powi(4) - self.barrier * x * x
            + self.coupling * x * y
            + 0.5 * y * y
            + y.powi(4) / 6.0
            + self.tilt * x
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let (x, y) = (x[0], x[1]);
        vec![
            x.powi(3) - 2.0 * self.barrier * x + self.coupling * y + self.tilt,
            self.coupling * x + y + y.powi(3) * 2.0 / 3.0,
        ]
    }
}

impl Potential for Quartic {
    fn dim(&self) -> usize {
        2
    }

    fn gradient(&self, x: &[Block], _: &mut [Block], out: &mut [Block]) -> f32 {
        let at = [f64::from(x[0][0]), f64::from(x[0][1])];
        let slope = Target::gradient(self, &at);
        (out[0][0], out[0][1]) = (slope[0] as f32, slope[1] as f32);
        self.energy(&at) as f32
    }
}

/// A potential that does to order what potentials should not.
pub struct Watched<F> {
    /// Dimensions.
    pub dim: usize,
    /// E and the gradient.
    pub function: F,
    /// Gradients asked for.
    pub calls: Cell<u32>,
}

impl<F: Fn(&[f32], &mut [f32]) -> f32> Potential for Watched<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, x: &[Block], _: &mut [Block], out: &mut [Block]) -> f32 {
        assert!(x.len() == blocks(self.dim) && out.len() == x.len());
        assert!(x.as_flattened()[self.dim..].iter().all(|lane| lane.to_bits() == 0), "dirty padding");
        self.calls.set(self.calls.get() + 1);
        // Whatever a potential leaves in the padding must not matter.
        out.as_flattened_mut()[self.dim..].fill(f32::NAN);
        (self.function)(&x.as_flattened()[..self.dim], &mut out.as_flattened_mut()[..self.dim])
    }
}
