//! Small models with strong couplings, and an energy that a user might write.

use super::replicas::{reference_rng, uniform};
use crate::naive::{Convention, Machine, Pairwise, Target};
use crate::passes_on;
use bitmc::lane::Bits;
use bitmc::{Energy, Function, Layout, Move, Packed, Rng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A standard normal (Box and Muller 1958).
pub fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

fn normals(rng: &mut Xoshiro256PlusPlus, number: usize, sd: f64) -> Vec<f32> {
    (0..number).map(|_| (sd * normal(rng)) as f32).collect()
}

/// Spins all coupled with one another, couplings of a given standard deviation, fields of sd ½.
#[must_use]
pub fn complete(sites: u32, sd: f64, seed: u64) -> Pairwise {
    let mut rng = reference_rng(seed, 0);
    let pairs = (0..sites).flat_map(|a| (a + 1..sites).map(move |b| (a, b)));
    let edges = pairs.map(|(a, b)| (a, b, (sd * normal(&mut rng)) as f32)).collect();
    let fields = normals(&mut rng, sites as usize, 0.5);
    Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields }
}

/// An RBM with normal weights of a given standard deviation, and biases of sd ½.
#[must_use]
pub fn machine(visible: usize, hidden: usize, sd: f64, seed: u64) -> Machine {
    let mut rng = reference_rng(seed, 0);
    let weights = normals(&mut rng, visible * hidden, sd);
    Machine { weights, visible: normals(&mut rng, visible, 0.5), hidden: normals(&mut rng, hidden, 0.5) }
}

/// `E = k (n − m)⁴` with n the number of ones: not quadratic, so that the gradient is no difference of
/// energies, and the same for all states with as many ones.
#[derive(Clone, Copy, Debug)]
pub struct Well {
    /// Sites.
    pub sites: usize,
    /// k.
    pub depth: f32,
    /// m.
    pub centre: f32,
}

impl Function for Well {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let off = x.ones() as f32 - self.centre;
        self.depth * off * off * off * off
    }

    fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
        let off = x.ones() as f32 - self.centre;
        4.0 * self.depth * off * off * off
    }
}

impl Target for Well {
    fn sites(&self) -> usize {
        self.sites
    }

    fn energy(&self, x: &[f64]) -> f64 {
        f64::from(self.depth) * (x.iter().sum::<f64>() - f64::from(self.centre)).powi(4)
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let off = x.iter().sum::<f64>() - f64::from(self.centre);
        vec![4.0 * f64::from(self.depth) * off.powi(3); self.sites]
    }
}

/// An energy with a defect: differences are half of what they are, gradients are right. The Metropolis test
/// sees half the energy.
#[derive(Clone, Copy, Debug)]
pub struct HalfEnergy<E>(pub E);

impl<E: Energy> Energy for HalfEnergy<E> {
    passes_on!(0: layout, cache_len, arities, init, gradient, differences);

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        0.5 * self.0.shift(step, cache)
    }
}
