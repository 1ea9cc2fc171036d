//! Hamiltonian Monte Carlo in float64, with what can be broken in it.

use super::Target;
use crate::stat::replicas::uniform;
use rand_core::Rng;
use std::f64::consts::TAU;

/// A standard normal (Box and Muller).
pub fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    radius * (TAU * uniform(rng)).cos()
}

/// Hamiltonian Monte Carlo as it is printed (Neal 2011, Fig. 2).
#[derive(Clone, Copy, Debug)]
pub struct NaiveHmc {
    /// The step size.
    pub epsilon: f64,
    /// Steps a proposal.
    pub steps: u32,
    /// Whether there is a Metropolis test. Right is true.
    pub test: bool,
    /// What the kinetic energy is multiplied by in the test. Right is 1.
    pub kinetic: f64,
}

impl NaiveHmc {
    /// One transition.
    pub fn step<T: Target + ?Sized>(&self, target: &T, x: &mut Vec<f64>, rng: &mut impl Rng) {
        let mut v: Vec<f64> = x.iter().map(|_| normal(rng)).collect();
        let mut y = x.clone();
        let total =
            |x: &[f64], v: &[f64]| target.energy(x) + 0.5 * self.kinetic * v.iter().map(|v| v * v).sum::<f64>();
        let before = total(x, &v);
        for _ in 0..self.steps {
            for half in [true, false] {
                let g = target.gradient(&y);
                v.iter_mut().zip(&g).for_each(|(v, g)| *v -= 0.5 * self.epsilon * g);
                if half {
                    y.iter_mut().zip(&v).for_each(|(y, v)| *y += self.epsilon * v);
                }
            }
        }
        if !self.test || uniform(rng) < (before - total(&y, &v)).exp() {
            *x = y;
        }
    }
}
