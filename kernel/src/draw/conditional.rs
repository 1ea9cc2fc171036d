//! The conditional of one site given all others: its values side by side, from exact differences.

use super::sums::{Sums, registers};
use crate::lane::{Block, F32s, LANES, PARTS, ln, ln_1p};
use crate::layout::Layout;
use rand_core::Rng;

/// `p(k) ∝ weight of k`, the largest weight being 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditional {
    /// The likeliest value.
    likeliest: usize,
    /// The sum of all other weights.
    others: f32,
    /// Whether a difference was NaN or −∞; such a value has weight 0.
    pub(crate) fault: bool,
}

impl Conditional {
    /// Turns differences `E(k) − E(here)` of `arity` values into weights `e^(least − difference)`, in place.
    /// The present value has difference 0 whatever stands there, so there is always one to draw.
    #[inline]
    pub(crate) fn weigh(weights: &mut [Block], arity: usize, here: usize) -> Self {
        let (mut least, mut fault) = (0.0, false);
        let values = weights.as_flattened_mut();
        for (value, difference) in values.iter_mut().enumerate() {
            let bad = difference.is_nan() || *difference == f32::NEG_INFINITY;
            if value >= arity || (bad && value != here) {
                fault |= value < arity;
                *difference = f32::INFINITY;
            } else if value == here {
                *difference = 0.0;
            }
            least = if *difference < least { *difference } else { least };
        }
        for weights in weights.iter_mut() {
            for part in 0..PARTS {
                (F32s::splat(least) - F32s::load(weights, part)).exp().store(weights, part);
            }
        }
        let likeliest = weights.as_flattened().iter().position(|&weight| weight == 1.0).unwrap_or(here);
        let others = if many(weights) {
            total(weights) - 1.0
        } else {
            let others = weights.as_flattened().iter().enumerate().filter(|&(value, _)| value != likeliest);
            others.fold(0.0, |sum, (_, weight)| sum + weight)
        };
        Self { likeliest, others, fault }
    }

    /// Draws a value: by one uniform, or from `rng` where the site has many values. Relative precision for the
    /// likeliest value and for all others together; of many values for each.
    #[inline]
    pub(crate) fn draw<R: Rng + ?Sized>(self, weights: &[Block], uniform: f32, rng: &mut R) -> usize {
        if many(weights) {
            return draw_many(weights, rng).unwrap_or(self.likeliest);
        }
        let at = uniform * (1.0 + self.others);
        if at >= self.others {
            return self.likeliest;
        }
        // The same sum in the same order, so that it ends at `others`.
        let mut sum = 0.0;
        for (value, &weight) in weights.as_flattened().iter().enumerate() {
            if value != self.likeliest {
                sum += weight;
                if at < sum {
                    return value;
                }
            }
        }
        self.likeliest
    }

    /// The log-probability of a value.
    pub(crate) fn log_probability(self, weights: &[Block], value: usize) -> f32 {
        let weight = weights.as_flattened().get(value).copied().unwrap_or(0.0);
        ln(weight) - ln_1p(self.others)
    }
}

/// Whether a sum in one float would lose small weights.
#[inline]
fn many(weights: &[Block]) -> bool {
    weights.len() * LANES >= Layout::MANY
}

fn sums(weights: &[Block]) -> Sums {
    Sums::new(weights.len(), |block| at(weights, block))
}

fn at(weights: &[Block], block: usize) -> [F32s; PARTS] {
    registers(weights.get(block).unwrap_or(&[0.0; LANES]))
}

#[inline(never)] // its buffers must not weigh on the stack of other chains
fn total(weights: &[Block]) -> f32 {
    sums(weights).total()
}

#[inline(never)] // the same
fn draw_many<R: Rng + ?Sized>(weights: &[Block], rng: &mut R) -> Option<usize> {
    sums(weights).draw(|block| at(weights, block), rng)
}
