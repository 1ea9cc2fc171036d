//! Products of transition matrices: what several kernels do in turn.

use crate::enumerate::Distribution;
use crate::heap;
use crate::matrix::Transitions;
use bitmc::{Energy, Langevin, Packed};

/// A whole transition matrix, row by row.
pub type Matrix = Vec<Vec<f64>>;

/// The kernel's own transitions between given states, every site free.
///
/// # Panics
/// Where a chain cannot start at one of them, or a step between two is a fault.
#[must_use]
pub fn transitions(energy: &dyn Energy, sampler: &Langevin<'_>, states: &[Vec<u32>]) -> Transitions {
    let layout = energy.layout();
    let mut chain = heap::chain(energy, &states[0]).unwrap();
    Transitions::new(states.len(), |x, y| {
        chain.restart(Packed::new(layout, &states[x]).unwrap()).unwrap();
        let found = sampler.transition(chain.ring(), Packed::new(layout, &states[y]).unwrap()).unwrap();
        assert!(!found.fault);
        (f64::from(found.log_forward), f64::from(found.log_ratio))
    })
}

/// The matrix of moves `p(x, y)` for x ≠ y; what is left of a row stays.
pub fn matrix(states: usize, p: impl Fn(usize, usize) -> f64) -> Matrix {
    let row = |x| {
        let mut row: Vec<f64> = (0..states).map(|y| if x == y { 0.0 } else { p(x, y) }).collect();
        row[x] = 1.0 - row.iter().sum::<f64>();
        row
    };
    (0..states).map(row).collect()
}

/// First `a`, then `b`.
#[must_use]
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let entry = |row: &Vec<f64>, y: usize| row.iter().zip(b).map(|(p, next)| p * next[y]).sum();
    a.iter().map(|row| (0..b.len()).map(|y| entry(row, y)).collect()).collect()
}

/// The largest |πP − π|.
#[must_use]
pub fn drift(distribution: &Distribution, p: &Matrix) -> f64 {
    let pi = &distribution.probabilities;
    let at = |y: usize| pi.iter().zip(p).map(|(pi, row)| pi * row[y]).sum::<f64>();
    (0..pi.len()).map(|y| (at(y) - pi[y]).abs()).fold(0.0, f64::max)
}

/// How far a matrix is from what is reversible: the largest |π(x)P(x,y) − π(y)P(y,x)|.
#[must_use]
pub fn irreversibility(distribution: &Distribution, p: &Matrix) -> f64 {
    let pi = &distribution.probabilities;
    let flow = |x: usize, y: usize| pi[x] * p[x][y];
    let cells = (0..pi.len()).flat_map(|x| (0..x).map(move |y| (x, y)));
    cells.map(|(x, y)| (flow(x, y) - flow(y, x)).abs()).fold(0.0, f64::max)
}
