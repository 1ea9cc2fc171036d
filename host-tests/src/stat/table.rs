//! Naive samplers as tables: the whole transition matrix in float64, for up to a few hundred states.
//!
//! The discrete Langevin sampler here is written from METHODS.md §1 with nothing shared with the kernel, and
//! can be given one of the defects that such samplers have had.

use super::replicas::{Dice, Plan, pieces, reference_rng, total};
use crate::enumerate::values;
use crate::naive::{Machine, Target, sigmoid};

/// What is wrong with a naive sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// No Metropolis test: not a defect in a sampler that says so.
    Unadjusted,
    /// The reverse probability is made with the gradient at the old state.
    StaleReverse,
    /// The ratio of the proposals is missing: `A = e^(E(x) − E(y))`.
    NoReverse,
    /// The test sees half the difference of the energies.
    HalfEnergy,
    /// The reverse probability counts the clamped sites as free.
    ForgottenClamp,
}

/// A naive discrete Langevin sampler over a tabulated target.
#[derive(Clone, Debug)]
pub struct Langevin {
    /// Energy and gradient of every state.
    points: Vec<(f64, Vec<f64>)>,
    /// One curvature c a site.
    curvature: Vec<f64>,
    /// A mask of the sites that keep their value.
    pub held: usize,
    /// What is wrong with it.
    pub defect: Defect,
}

impl Langevin {
    /// Over a target, with one curvature a site and every site free.
    #[must_use]
    pub fn new(target: &(impl Target + ?Sized), curvature: Vec<f64>) -> Self {
        let sites = target.sites();
        let point = |state| {
            let x = values(state, sites);
            (target.energy(&x), target.gradient(&x))
        };
        let points = (0..1 << sites).map(point).collect();
        Self { points, curvature, held: 0, defect: Defect::None }
    }

    /// With the same step size α at every site.
    #[must_use]
    pub fn with_step_size(target: &(impl Target + ?Sized), step_size: f64) -> Self {
        Self::new(target, vec![1.0 / step_size; target.sites()])
    }

    /// The same with a defect.
    #[must_use]
    pub fn broken(&self, defect: Defect) -> Self {
        Self { defect, ..self.clone() }
    }

    /// `log q(to|from)` with the gradient of a state: `P(flip i) = σ(−½(1−2xᵢ)∂ᵢE − cᵢ/2)`.
    fn log_proposal(&self, from: usize, to: usize, gradient: &[f64], held: usize) -> f64 {
        let mut log = 0.0;
        for (site, (g, c)) in gradient.iter().zip(&self.curvature).enumerate() {
            let up = 1.0 - 2.0 * ((from >> site) & 1) as f64;
            let flip = -0.5 * up * g - 0.5 * c;
            let flips = ((from ^ to) >> site) & 1 == 1;
            log += match ((held >> site) & 1 == 1, flips) {
                (true, true) => f64::NEG_INFINITY,
                (true, false) => 0.0,
                (false, true) => sigmoid(flip).ln(),
                (false, false) => sigmoid(-flip).ln(),
            };
        }
        log
    }

    fn acceptance(&self, x: usize, y: usize, forward: f64) -> f64 {
        let difference = self.points[y].0 - self.points[x].0;
        let reverse =
            |gradient_at: usize, held| self.log_proposal(y, x, &self.points[gradient_at].1, held) - forward;
        let log = match self.defect {
            Defect::None => reverse(y, self.held) - difference,
            Defect::Unadjusted => 0.0,
            Defect::StaleReverse => reverse(x, self.held) - difference,
            Defect::NoReverse => -difference,
            Defect::HalfEnergy => reverse(y, self.held) - 0.5 * difference,
            Defect::ForgottenClamp => reverse(y, 0) - difference,
        };
        log.exp().min(1.0)
    }

    /// The transition matrix.
    #[must_use]
    pub fn table(&self) -> Table {
        let states = self.points.len();
        let row = |x: usize| {
            let mut row = vec![0.0; states];
            for y in 0..states {
                let forward = self.log_proposal(x, y, &self.points[x].1, self.held);
                if forward > f64::NEG_INFINITY {
                    let proposed = forward.exp();
                    let moved = proposed * self.acceptance(x, y, forward);
                    row[y] += moved;
                    row[x] += proposed - moved;
                }
            }
            row
        };
        Table { rows: (0..states).map(row).collect() }
    }
}

/// Block Gibbs over the visible units of an RBM, the hidden ones enumerated: `Σ_h P(h|v) P(v'|h)`. The way back to the visible
/// units may have a machine of its own, which makes a broken sampler.
#[must_use]
pub fn block_gibbs(machine: &Machine, back: &Machine) -> Table {
    let (sites, units) = (machine.sites(), machine.hidden.len());
    let bernoulli = |logits: &[f64], state: usize| -> f64 {
        let each = logits.iter().enumerate();
        each.map(|(i, &z)| sigmoid(if (state >> i) & 1 == 1 { z } else { -z })).product()
    };
    let given = |h: usize| -> Vec<f64> {
        let rows = back.weights.chunks_exact(units).zip(&back.visible);
        let on = |row: &[f32]| -> f64 {
            row.iter().enumerate().filter(|&(j, _)| (h >> j) & 1 == 1).map(|(_, &w)| f64::from(w)).sum()
        };
        rows.map(|(row, &a)| f64::from(a) + on(row)).collect()
    };
    let down: Vec<Vec<f64>> = (0..1 << units).map(given).collect();
    let row = |x: usize| {
        let up = machine.activations(&values(x, sites));
        let mut row = vec![0.0; 1 << sites];
        for (h, down) in down.iter().enumerate() {
            let p = bernoulli(&up, h);
            row.iter_mut().enumerate().for_each(|(y, out)| *out += p * bernoulli(down, y));
        }
        row
    };
    Table { rows: (0..1 << sites).map(row).collect() }
}

/// Gibbs over the visible units of an RBM that passes on the means of the hidden units instead of draws of
/// them: a broken sampler that is often seen.
#[must_use]
pub fn mean_field_gibbs(machine: &Machine) -> Table {
    let states = 1 << machine.sites();
    let row = |x: usize| {
        let hidden: Vec<f64> =
            machine.activations(&values(x, machine.sites())).into_iter().map(sigmoid).collect();
        let rows = machine.weights.chunks_exact(hidden.len()).zip(&machine.visible);
        let logits: Vec<f64> = rows
            .map(|(row, &a)| {
                f64::from(a) + row.iter().zip(&hidden).map(|(&w, h)| f64::from(w) * h).sum::<f64>()
            })
            .collect();
        let bit = |y: usize, site: usize| if (y >> site) & 1 == 1 { 1.0 } else { -1.0 };
        let to = |y| logits.iter().enumerate().map(|(site, l)| sigmoid(bit(y, site) * l)).product();
        (0..states).map(to).collect()
    };
    Table { rows: (0..states).map(row).collect() }
}

/// A Markov chain as its transition matrix.
#[derive(Clone, Debug)]
pub struct Table {
    /// `P(x, ·)`, a row for each x.
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    /// The distribution after one step.
    #[must_use]
    pub fn after(&self, distribution: &[f64]) -> Vec<f64> {
        let mut next = vec![0.0; distribution.len()];
        for (p, row) in distribution.iter().zip(&self.rows) {
            for (next, q) in next.iter_mut().zip(row) {
                *next += p * q;
            }
        }
        next
    }

    /// The stationary distribution, by squaring the matrix until its rows agree.
    ///
    /// # Panics
    /// Where they do not: a chain that has no single distribution.
    #[must_use]
    pub fn stationary(&self) -> Vec<f64> {
        let mut rows = self.rows.clone();
        for _ in 0..64 {
            let power = Self { rows };
            rows = power.rows.iter().map(|row| power.after(row)).collect();
            // Rounding is kept from growing: every row is a distribution.
            for row in &mut rows {
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|p| *p /= sum);
            }
            if rows.iter().all(|row| total_variation(row, &rows[0]) < 1e-13) {
                return rows.swap_remove(0);
            }
        }
        panic!("the chain has no single stationary distribution");
    }

    /// Counts of the states in which replicas end that start from a distribution.
    #[must_use]
    pub fn ends(&self, plan: &Plan, start: &[f64]) -> Vec<u64> {
        let dice: Vec<Dice> = self.rows.iter().map(|row| Dice::new(row)).collect();
        let start = Dice::new(start);
        total(pieces(|piece| {
            let mut rng = reference_rng(plan.seed, piece);
            let mut counts = vec![0; self.rows.len()];
            for _ in 0..plan.share() {
                let first = start.roll(&mut rng);
                counts[(0..plan.steps).fold(first, |state, _| dice[state].roll(&mut rng))] += 1;
            }
            counts
        }))
    }
}

/// Half the sum of the absolute differences of two distributions.
#[must_use]
pub fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}
