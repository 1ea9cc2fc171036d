//! The conditional of one site given all others: its values along the lanes, from exact differences.

use super::sums::{Sums, registers};
use crate::lane::{Block, F32s, LANES, PARTS, ln, ln_1p};
use crate::layout::Layout;
use rand_core::Rng;

/// `p(k) ∝ weight of k`, the largest weight being 1. A list of few values has 0 in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditional {
    arity: usize,
    /// The likeliest value.
    likeliest: usize,
    /// The sum of all other weights.
    others: f32,
    /// Whether a difference was NaN or −∞; its value has weight 0.
    pub(crate) fault: bool,
}

impl Conditional {
    /// Turns differences `E(k) − E(here)` of `arity` values into weights `e^(least − difference)`, in place; places
    /// past the last one of many values get weight 0. The present value has difference 0 whatever `weights` has there, so there is
    /// always one to draw.
    #[inline(always)]
    pub(crate) fn weigh(weights: &mut [Block], arity: usize, here: usize) -> Self {
        let many = many(weights);
        let all = weights.as_flattened_mut();
        let (values, past) = all.split_at_mut_checked(arity).unwrap_or_default();
        let (mut least, mut fault) = (0.0, false);
        if let Some(here) = values.get_mut(here) {
            *here = 0.0;
        }
        for difference in values {
            if difference.is_nan() || *difference == f32::NEG_INFINITY {
                fault = true;
                *difference = f32::INFINITY;
            }
            least = if *difference < least { *difference } else { least };
        }
        if many {
            past.fill(f32::INFINITY);
        }
        for (block, weights) in weights.iter_mut().enumerate() {
            for part in 0..PARTS {
                if block * LANES + part * F32s::WIDTH < arity {
                    (F32s::splat(least) - F32s::load(weights, part)).exp_no_overflow().store(weights, part);
                } else {
                    F32s::splat(0.0).store(weights, part);
                }
            }
        }
        let values = weights.as_flattened_mut().get_mut(..arity).unwrap_or_default();
        let likeliest = values.iter().position(|&weight| weight == 1.0).unwrap_or(here);
        let others = if many {
            total(weights) - 1.0
        } else {
            values.iter_mut().skip(likeliest).take(1).for_each(|weight| *weight = 0.0);
            values.iter().fold(0.0, |sum, weight| sum + weight)
        };
        Self { arity, likeliest, others, fault }
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
        let all = weights.as_flattened();
        for (value, &weight) in all.get(..self.arity).unwrap_or(all).iter().enumerate() {
            sum += weight;
            if at < sum {
                return value;
            }
        }
        self.likeliest
    }

    /// The log-probability of a value.
    pub(crate) fn log_probability(self, weights: &[Block], value: usize) -> f32 {
        let weight = match value {
            _ if value == self.likeliest => 1.0,
            _ if value < self.arity => weights.as_flattened().get(value).copied().unwrap_or(0.0),
            _ => 0.0,
        };
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
