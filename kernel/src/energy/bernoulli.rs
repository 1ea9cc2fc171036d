//! Independent binary sites.

use super::{Energy, EnergyError};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// Independent binary sites, `E(x) = −Σ θᵢxᵢ`: site i is 1 with probability `1/(1+e^(−θᵢ))`.
///
/// `θᵢ = ±∞` would pin a site: clamp it instead. Cost: one operation a site.
#[derive(Clone, Copy, Debug)]
pub struct Bernoulli<'a> {
    logits: &'a [f32],
}

impl<'a> Bernoulli<'a> {
    /// Sites with the log odds θ of being 1. `None` where there is no site or a logit is not finite.
    #[must_use]
    pub fn new(logits: &'a [f32]) -> Option<Self> {
        let legal = !logits.is_empty() && logits.iter().all(|l| l.is_finite());
        legal.then_some(Self { logits })
    }

    fn logit(&self, site: usize) -> f32 {
        self.logits.get(site).copied().unwrap_or(0.0)
    }
}

impl Energy for Bernoulli<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.logits.len())
    }

    fn cache_len(&self) -> usize {
        0
    }

    fn init(&self, x: Packed<'_>, _cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let on = self.logits.iter().zip(x.values()).filter(|&(_, x)| x != 0);
        super::checked(-on.map(|(&logit, _)| logit).sum::<f32>())
    }

    fn gradient(&self, _x: Packed<'_>, _cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        let logits = self.logits.get(blocks.start * LANES..).unwrap_or_default();
        for (out, &logit) in out.as_flattened_mut().iter_mut().zip(logits) {
            *out = -logit;
        }
    }

    fn shift(&self, step: &Move<'_>, _cache: &mut [Bits]) -> f32 {
        let changes = step.changes();
        changes.map(|c| self.logit(c.site) * (c.from as f32 - c.to as f32)).sum()
    }

    fn differences(&self, words: &mut [u32], _cache: &[Bits], site: usize, out: &mut [f32]) {
        let here = Packed::trusted(self.layout(), words).get(site) as f32;
        for (value, out) in [0.0, 1.0].into_iter().zip(out) {
            *out = self.logit(site) * (here - value);
        }
    }
}
