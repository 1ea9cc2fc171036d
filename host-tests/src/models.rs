//! Random models with fixed seeds.

use crate::naive::{Convention, Independent, Machine, Pairwise};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::TAU;

/// Numbers for models: another generator than the kernel's.
#[derive(Clone, Debug)]
pub struct Source(Xoshiro256PlusPlus);

impl Source {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.uniform() * limit as f64) as usize
    }

    /// 32 fair bits.
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of some things.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A normal number with standard deviation `sd`.
    pub fn normal(&mut self, sd: f64) -> f32 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        (sd * radius * (TAU * self.uniform()).cos()) as f32
    }

    /// A normal number rounded to a multiple of 1/64: sums of a few are exact in f32 and in fixed point.
    pub fn coarse(&mut self, sd: f64) -> f32 {
        (self.normal(sd) * 64.0).round() / 64.0
    }

    /// Values of a random binary state.
    pub fn state(&mut self, sites: usize) -> Vec<f64> {
        (0..sites).map(|_| f64::from(self.uniform() < 0.5)).collect()
    }
}

/// A pairwise model in which every pair has a coupling with probability `density`; all on the grid of 1/64.
#[must_use]
pub fn pairwise(convention: Convention, sites: usize, density: f64, sd: f64, seed: u64) -> Pairwise {
    let mut source = Source::new(seed);
    let mut edges = Vec::new();
    for b in 0..sites as u32 {
        for a in 0..b {
            if source.uniform() < density {
                edges.push((a, b, source.coarse(sd)));
            }
        }
    }
    // Neither the order of the edges nor that of their ends may matter.
    for last in (1..edges.len()).rev() {
        edges.swap(last, source.below(last + 1));
    }
    for edge in edges.iter_mut().step_by(2) {
        *edge = (edge.1, edge.0, edge.2);
    }
    Pairwise { convention, edges, fields: (0..sites).map(|_| source.coarse(sd)).collect() }
}

/// An RBM with weights on the grid of 1/64.
#[must_use]
pub fn machine(visible: usize, hidden: usize, sd: f64, seed: u64) -> Machine {
    let mut source = Source::new(seed);
    let mut draw = |count: usize| (0..count).map(|_| source.coarse(sd)).collect();
    Machine { weights: draw(visible * hidden), visible: draw(visible), hidden: draw(hidden) }
}

/// Independent bits.
#[must_use]
pub fn independent(sites: usize, sd: f64, seed: u64) -> Independent {
    let mut source = Source::new(seed);
    Independent { logits: (0..sites).map(|_| source.coarse(sd)).collect() }
}

/// The edges of an open lattice, each with a coupling from `draw`.
pub fn open_lattice(rows: u32, columns: u32, mut draw: impl FnMut() -> f32) -> Vec<(u32, u32, f32)> {
    let mut edges = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let site = row * columns + column;
            if column + 1 < columns {
                edges.push((site, site + 1, draw()));
            }
            if row + 1 < rows {
                edges.push((site, site + columns, draw()));
            }
        }
    }
    edges
}
