//! The conditional of one site given all others: its values side by side, from exact differences.

use crate::lane::{Block, F32s, LANES, PARTS, ln, ln_1p};

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
        let (mut others, mut likeliest) = (0.0, None);
        for (block, weights) in weights.iter_mut().enumerate() {
            for part in 0..PARTS {
                (F32s::splat(least) - F32s::load(weights, part)).exp().store(weights, part);
            }
            for (lane, &weight) in weights.iter().enumerate() {
                if likeliest.is_none() && weight == 1.0 {
                    likeliest = Some(block * LANES + lane);
                } else {
                    others += weight;
                }
            }
        }
        Self { likeliest: likeliest.unwrap_or(here), others, fault }
    }

    /// Draws a value by one uniform: relative precision for the likeliest value and for all others.
    #[inline]
    pub(crate) fn draw(self, weights: &[Block], uniform: f32) -> usize {
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
