//! The gradient of 16-bit integers in float64, from its formula.

use crate::naive::{Machine, Target, sigmoid};
use crate::tolerance::{ACTIVITY_TIE, ROUNDING};

/// An RBM whose gradient is `−a − (u/4096) Σ round(W/u) round(4096 σ)`.
#[derive(Clone, Debug)]
pub struct Coarse {
    /// The machine; its weights are multiples of `grid`.
    pub machine: Machine,
    /// u.
    pub unit: f64,
    /// round(W/u).
    pub weights: Vec<i64>,
}

impl Coarse {
    /// Rounds the weights of a machine, which are multiples of `grid`.
    #[must_use]
    pub fn new(machine: Machine, grid: f64) -> Self {
        let sizes = machine.weights.iter().map(|w| f64::from(w.abs()));
        let largest = sizes.fold(0.0, f64::max);
        let rows = machine.weights.chunks_exact(machine.hidden.len());
        let reach = rows.map(|row| row.iter().map(|w| f64::from(w.abs())).sum()).fold(0.0, f64::max);
        let mut unit = grid;
        while largest >= unit * 16_384.0 || reach >= unit * 262_144.0 {
            unit *= 2.0;
        }
        let weights = machine.weights.iter().map(|&w| (f64::from(w) / unit + 0.5).floor() as i64).collect();
        Self { machine, unit, weights }
    }

    /// round(4096 σ(p)) at a state.
    #[must_use]
    pub fn activities(&self, v: &[f64]) -> Vec<i64> {
        let p = self.machine.activations(v).into_iter();
        p.map(|p| (4096.0 * sigmoid(p) + 0.5).floor() as i64).collect()
    }

    /// The hidden units whose activity lies so near a tie that f32 may round it to the other side.
    #[must_use]
    pub fn ties(&self, v: &[f64]) -> Vec<bool> {
        let p = self.machine.activations(v).into_iter().map(|p| 4096.0 * sigmoid(p));
        p.map(|s| ((s - s.floor()) - 0.5).abs() < ACTIVITY_TIE).collect()
    }

    /// Σ qs of every visible unit.
    #[must_use]
    pub fn sums(&self, v: &[f64]) -> Vec<i64> {
        let s = self.activities(v);
        let rows = self.weights.chunks_exact(s.len());
        rows.map(|row| row.iter().zip(&s).map(|(q, s)| q * s).sum()).collect()
    }
}

impl Target for Coarse {
    fn sites(&self) -> usize {
        self.machine.sites()
    }

    fn energy(&self, v: &[f64]) -> f64 {
        self.machine.energy(v)
    }

    fn gradient(&self, v: &[f64]) -> Vec<f64> {
        let sums = self.sums(v).into_iter().zip(&self.machine.visible);
        sums.map(|(sum, &a)| -f64::from(a) - sum as f64 * (self.unit / 4096.0)).collect()
    }

    /// Two roundings, of the sum and of the result; and where an activity is near a tie, its unit.
    fn gradient_reach(&self, v: &[f64]) -> Vec<f64> {
        let (ties, sums) = (self.ties(v), self.sums(v));
        let rows = self.weights.chunks_exact(ties.len()).zip(&self.machine.visible).zip(&sums);
        rows.map(|((row, &a), &sum)| {
            let units: i64 = row.iter().zip(&ties).map(|(q, &tie)| if tie { q.abs() } else { 0 }).sum();
            let scale = self.unit / 4096.0;
            2.0 * (f64::from(a.abs()) + sum.abs() as f64 * scale) + units as f64 * scale / ROUNDING
        })
        .collect()
    }
}
