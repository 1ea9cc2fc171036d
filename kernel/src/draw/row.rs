//! A site of many values: its values along the lanes, one site at a time.
//!
//! The logits are those of [`planes`](super::planes), the largest weight is 1. Weights are not kept: a block of them
//! is made again from its logits where [`Sums`] needs it.

use super::sums::{Sums, block_of};
use super::{LOGIT_LIMIT, Shape};
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s, ln};
use rand_core::Rng;

/// The logits of a site's values, relative to staying.
#[derive(Clone, Copy)]
pub(crate) struct Logits<'a> {
    slope: Slope<'a>,
    balance: f32,
    curvature: f32,
    here: u32,
    /// The first value that can be drawn, and the one past the last.
    first: u32,
    past: u32,
    /// The logit of staying: 0, or −∞ where that is no choice.
    stay: f32,
}

#[derive(Clone, Copy)]
enum Slope<'a> {
    /// Categorical: ∂E/∂x by value, and that of the present value.
    Values(&'a [Block], f32),
    /// Ordinal: ∂E/∂x.
    Line(f32),
}

impl<'a> Logits<'a> {
    /// A categorical site of some arity at `here`, from ∂E/∂x by value: `z = −β(G_k − G_x) − c[k ≠ x]`.
    pub(crate) fn categorical(gradient: &'a [Block], here: u32, arity: u32, shape: Shape, c: f32) -> Self {
        let present = gradient.as_flattened().get(here as usize).copied().unwrap_or(0.0);
        let slope = Slope::Values(gradient, present);
        Self { slope, balance: shape.balance, curvature: c, here, first: 0, past: arity, stay: 0.0 }
    }

    /// An ordinal site, from its gradient: `z = −βGv − ½cv²`, v = k − x at most the window.
    pub(crate) fn ordinal(gradient: f32, here: u32, arity: u32, shape: Shape, c: f32) -> Self {
        let first = here.saturating_sub(shape.window);
        let past = arity.min(here.saturating_add(shape.window).saturating_add(1));
        let slope = Slope::Line(gradient);
        Self { slope, balance: shape.balance, curvature: c, here, first, past, stay: 0.0 }
    }

    /// The same without the present value.
    pub(crate) fn leaving(self) -> Self {
        Self { stay: f32::NEG_INFINITY, ..self }
    }

    /// A site that may not move.
    pub(crate) fn held(here: u32) -> Self {
        Self::ordinal(0.0, here, here.saturating_add(1), Shape { balance: 0.0, window: 0 }, 0.0)
    }

    fn blocks(&self) -> usize {
        (self.past.saturating_sub(self.first) as usize).div_ceil(LANES)
    }

    /// The largest logit, and whether one is NaN. Staying has logit 0; an infinite one counts as the largest
    /// finite number.
    fn largest(&self) -> (f32, bool) {
        let last = self.blocks().saturating_sub(1);
        match self.slope {
            // The logit falls where the gradient rises, rounding and all: its least value decides.
            Slope::Values(gradient, present) if present.abs() < f32::INFINITY && self.stay == 0.0 => {
                let whole = gradient.get(..last).unwrap_or_default();
                let (least, nan) = extreme(whole.iter(), |block, part| -F32s::load(block, part));
                let z = self.balance * (least + present) - self.curvature;
                let (end, end_nan) = extreme(last..last + 1, |&block, part| self.block(block, part));
                (z.max(end).clamp(0.0, f32::MAX), nan | end_nan)
            }
            _ => {
                let (most, nan) = extreme(0..last + 1, |&block, part| self.block(block, part));
                (most.max(self.stay).min(f32::MAX), nan)
            }
        }
    }

    /// Whether a block has the present value, or lanes past the last one.
    #[inline(always)]
    fn is_special(&self, block: usize) -> bool {
        let lane = self.here.wrapping_sub(self.first) as usize;
        block == lane / LANES || block + 1 == self.blocks()
    }

    /// The values of a block.
    #[inline(always)]
    fn values(&self, block: usize, part: usize) -> U32s {
        const LANE: Bits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        U32s::splat(self.first.wrapping_add((block * LANES) as u32)) + U32s::load(&LANE, part)
    }

    /// A block of logits: −∞ past the last value, NaN where the gradient is.
    #[inline(always)]
    fn block(&self, block: usize, part: usize) -> F32s {
        let (balance, c) = (F32s::splat(self.balance), F32s::splat(self.curvature));
        let value = || self.values(block, part);
        let here = U32s::splat(self.here);
        let z = match self.slope {
            Slope::Values(gradient, present) => {
                let gradient = gradient.get(block).unwrap_or(&[0.0; LANES]);
                -balance * (F32s::load(gradient, part) - F32s::splat(present)) - c
            }
            Slope::Line(gradient) => {
                let v = F32s::from_i32(value() - here);
                -balance * F32s::splat(gradient) * v - F32s::splat(0.5) * c * (v * v)
            }
        };
        if !self.is_special(block) {
            return z;
        }
        let z = value().eq(here).pick(F32s::splat(self.stay), z);
        value().lt_i32(U32s::splat(self.past)).pick(z, F32s::splat(f32::NEG_INFINITY))
    }

    /// A block of weights: 0 past the last value, at least e^(−30) elsewhere, also where the logit is −∞.
    #[inline(always)]
    fn weights(&self, largest: f32, block: usize) -> [F32s; PARTS] {
        core::array::from_fn(|part| {
            let (zero, cut) = (F32s::splat(0.0), F32s::splat(-LOGIT_LIMIT));
            let below = self.block(block, part) - F32s::splat(largest);
            let below = if largest < f32::MAX { below } else { zero.lt(below).pick(zero, below) };
            let w = below.max(cut).exp_bounded();
            if !self.is_special(block) {
                return w;
            }
            let values = self.values(block, part);
            let legal = values.lt_i32(U32s::splat(self.past));
            let legal = if self.stay == 0.0 { legal } else { legal & !values.eq(U32s::splat(self.here)) };
            legal.keep(w.to_bits()).to_f32()
        })
    }
}

/// Blocks that are looked at together, so that no comparison waits for the one before: one in each register.
const WAYS: usize = if cfg!(target_feature = "avx512f") {
    4
} else if cfg!(target_feature = "avx2") {
    2
} else {
    1
};

/// The largest number of some blocks, −∞ of none, and whether one is NaN.
#[inline(always)]
fn extreme<T>(blocks: impl Iterator<Item = T> + Clone, value: impl Fn(&T, usize) -> F32s) -> (f32, bool) {
    let (mut largest, mut nan) = (f32::NEG_INFINITY, false);
    for part in 0..PARTS {
        let nothing = (F32s::splat(f32::NEG_INFINITY), Mask::from_bits(u32::MAX, part));
        let (mut ways, mut blocks) = ([nothing; WAYS], blocks.clone());
        'all: loop {
            for (most, numbers) in &mut ways {
                let Some(block) = blocks.next() else { break 'all };
                let z = value(&block, part);
                *numbers = *numbers & z.eq(z);
                *most = most.lt(z).pick(z, *most);
            }
        }
        for (most, numbers) in ways {
            nan |= (!numbers).any();
            let mut lanes = [f32::NEG_INFINITY; LANES];
            most.store(&mut lanes, part);
            largest = lanes.iter().fold(largest, |most, &z| if most < z { z } else { most });
        }
    }
    (largest, nan)
}

/// The weights of a site's values.
pub(crate) struct Row<'a> {
    logits: Logits<'a>,
    largest: f32,
    sums: Sums,
    /// Whether a logit is NaN.
    pub(crate) nan: bool,
}

impl<'a> Row<'a> {
    /// The weights of all values.
    pub(crate) fn new(logits: Logits<'a>) -> Self {
        let (largest, nan) = logits.largest();
        // What becomes of a NaN is the processor's affair. A row with one is a fault. One whose logits are all −∞ is
        // never drawn from, and would take −∞ from −∞. Neither has weights.
        let blocks = if nan || largest == f32::NEG_INFINITY { 0 } else { logits.blocks() };
        let sums = Sums::new(blocks, |block| logits.weights(largest, block));
        Self { logits, largest, sums, nan }
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> f32 {
        self.sums.total()
    }

    /// The logarithm of the sum of all weights; `None` where every logit is −∞.
    pub(crate) fn log_sum(&self) -> Option<f32> {
        (self.largest > f32::NEG_INFINITY).then(|| self.largest + ln(self.sum()))
    }

    /// The weight of a value; 0 where it is never drawn.
    pub(crate) fn weight(&self, value: u32) -> f32 {
        if !(self.logits.first..self.logits.past).contains(&value) {
            return 0.0;
        }
        let place = (value - self.logits.first) as usize;
        let weights = block_of(self.logits.weights(self.largest, place / LANES));
        weights.get(place % LANES).copied().unwrap_or(0.0)
    }

    /// Draws a value.
    pub(crate) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let place = self.sums.draw(|block| self.logits.weights(self.largest, block), rng);
        place.map_or(self.logits.here, |place| self.logits.first + place as u32)
    }
}
