//! A hard constraint: an energy of the number of ones that is +∞ beyond a limit.

use crate::heap;
use crate::naive::Target;
use bitmc::{Function, Layout, Packed};

/// weight · (ones − 2)², and more than `most` ones are forbidden: not multilinear, and with a hard constraint. It is
/// the reference in f64, and the energy of a user who rounds it.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Sites.
    pub sites: usize,
    /// The most ones that a state may have.
    pub most: f64,
    /// The weight.
    pub weight: f64,
}

impl Target for Count {
    fn sites(&self) -> usize {
        self.sites
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let ones: f64 = x.iter().sum();
        if ones > self.most { f64::INFINITY } else { self.weight * (ones - 2.0).powi(2) }
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        vec![2.0 * self.weight * (x.iter().sum::<f64>() - 2.0); self.sites]
    }
}

impl Function for Count {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.energy(&heap::unpack(x)) as f32
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        Target::gradient(self, &heap::unpack(x))[site] as f32
    }
}
