//! A site of many values: its values along the lanes, one site at a time.
//!
//! The logits are those of [`planes`](super::planes). The likeliest value has weight 1; E is the sum of all
//! other weights, added up in chunks of 1,024 values. One uniform decides first whether it is another value,
//! `u(1+E) < E`, then in which chunk, which block and which lane. Weights are not kept: a block of them is
//! made again from its logits where it is needed.

use super::{LOGIT_LIMIT, Shape};
use crate::lane::{self, Bits, Block, F32s, LANES, Mask, PARTS, U32s};
use crate::layout::Layout;

/// Blocks of a chunk.
const CHUNK: usize = 64;
/// Chunks of the largest arity, and one for a window that does not start at a chunk.
const CHUNKS: usize = Layout::MAX_ARITY / (CHUNK * LANES) + 1;

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
        Self {
            slope: Slope::Line(gradient),
            balance: shape.balance,
            curvature: c,
            here,
            first,
            past,
            stay: 0.0,
        }
    }

    /// The same without the present value.
    pub(crate) fn leaving(self) -> Self {
        Self { stay: f32::NEG_INFINITY, ..self }
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
                let (least, nan) = extreme(whole.len(), |block, part| {
                    whole.get(block).map_or(F32s::splat(0.0), |block| -F32s::load(block, part))
                });
                let z = self.balance * (least + present) - self.curvature;
                let (end, end_nan) = extreme(1, |_, part| self.block(last, part));
                (z.max(end).clamp(0.0, f32::MAX), nan | end_nan)
            }
            _ => {
                let (most, nan) = extreme(last + 1, |block, part| self.block(block, part));
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

    /// A block of logits: −∞ past the last value, NaN where the gradient is.
    #[inline(always)]
    fn block(&self, block: usize, part: usize) -> F32s {
        const LANE: Bits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let (balance, c) = (F32s::splat(self.balance), F32s::splat(self.curvature));
        let value = || U32s::splat(self.first.wrapping_add((block * LANES) as u32)) + U32s::load(&LANE, part);
        let here = U32s::splat(self.here);
        let z = match self.slope {
            Slope::Values(gradient, present) => {
                let gradient = gradient.get(block).unwrap_or(&[0.0; LANES]);
                -(balance * (F32s::load(gradient, part) - F32s::splat(present))) - c
            }
            Slope::Line(gradient) => {
                let v = F32s::from_i32(value() - here);
                -(balance * F32s::splat(gradient) * v) - F32s::splat(0.5) * c * (v * v)
            }
        };
        if !self.is_special(block) {
            return z;
        }
        let z = value().eq(here).pick(F32s::splat(self.stay), z);
        value().lt_i32(U32s::splat(self.past)).pick(z, F32s::splat(f32::NEG_INFINITY))
    }
}

/// The largest of some blocks, −∞ of none, and whether one is NaN.
fn extreme(blocks: usize, value: impl Fn(usize, usize) -> F32s) -> (f32, bool) {
    let (mut largest, mut nan) = (f32::NEG_INFINITY, false);
    for part in 0..PARTS {
        let (mut most, mut numbers) = (F32s::splat(f32::NEG_INFINITY), Mask::from_bits(0xFFFF, part));
        for block in 0..blocks {
            let z = value(block, part);
            numbers = numbers & z.eq(z);
            most = most.lt(z).pick(z, most);
        }
        nan |= (!numbers).any();
        let mut lanes = [f32::NEG_INFINITY; LANES];
        most.store(&mut lanes, part);
        largest = lanes.iter().fold(largest, |most, &z| if most < z { z } else { most });
    }
    (largest, nan)
}

/// The weights of a site's values.
pub(crate) struct Row<'a> {
    logits: Logits<'a>,
    largest: f32,
    likeliest: u32,
    /// E: the sum of all weights but the likeliest's.
    others: f32,
    chunks: [f32; CHUNKS],
    /// Whether a logit is NaN.
    pub(crate) nan: bool,
}

impl<'a> Row<'a> {
    /// The weights of all values.
    pub(crate) fn new(logits: Logits<'a>) -> Self {
        let (largest, nan) = logits.largest();
        let mut row = Self { logits, largest, likeliest: u32::MAX, others: 0.0, chunks: [0.0; CHUNKS], nan };
        row.add_up();
        row
    }

    /// A site that may not move.
    pub(crate) fn held(here: u32) -> Self {
        let logits = Logits {
            slope: Slope::Line(0.0),
            balance: 0.0,
            curvature: 0.0,
            here,
            first: here,
            past: here,
            stay: 0.0,
        };
        Self { logits, largest: 0.0, likeliest: here, others: 0.0, chunks: [0.0; CHUNKS], nan: false }
    }

    /// Finds the likeliest value, the first of weight 1, and the sums of the others.
    fn add_up(&mut self) {
        let (mut chunks, mut others) = ([0.0; CHUNKS], 0.0);
        for (chunk, total) in chunks.iter_mut().enumerate() {
            let blocks = chunk * CHUNK..self.logits.blocks().min((chunk + 1) * CHUNK);
            if blocks.is_empty() {
                break;
            }
            let mut sum = [0.0; LANES];
            for block in blocks {
                for part in 0..PARTS {
                    let mut w = self.all_weights(block, part);
                    if self.likeliest == u32::MAX {
                        let ones = w.eq(F32s::splat(1.0)).bits(part);
                        if ones != 0 {
                            let lane = (block * LANES) as u32 + ones.trailing_zeros();
                            self.likeliest = self.logits.first + lane;
                            let first = Mask::from_bits(ones & ones.wrapping_neg(), part);
                            w = first.pick(F32s::splat(0.0), w);
                        }
                    }
                    (F32s::load(&sum, part) + w).store(&mut sum, part);
                }
            }
            *total = lane::sum(&sum);
            others += *total;
        }
        (self.chunks, self.others) = (chunks, others);
        if self.likeliest == u32::MAX {
            // There was no value to choose from.
            self.likeliest = self.logits.here;
        }
    }

    #[inline(always)]
    fn all_weights(&self, block: usize, part: usize) -> F32s {
        let (zero, cut, never) = (F32s::splat(0.0), F32s::splat(-LOGIT_LIMIT), F32s::splat(f32::NEG_INFINITY));
        let z = self.logits.block(block, part);
        let below = z - F32s::splat(self.largest);
        let below = if self.largest < f32::MAX { below } else { zero.lt(below).pick(zero, below) };
        let w = cut.lt(below).pick(below, cut).exp_bounded();
        never.lt(z).keep(w.to_bits()).to_f32()
    }

    /// A block of weights, that of the likeliest value 0.
    fn weights(&self, block: usize) -> Block {
        let mut weights = [0.0; LANES];
        (0..PARTS).for_each(|part| self.all_weights(block, part).store(&mut weights, part));
        let likeliest = self.likeliest.wrapping_sub(self.logits.first) as usize;
        if let Some(weight) = likeliest.checked_sub(block * LANES).and_then(|lane| weights.get_mut(lane)) {
            *weight = 0.0;
        }
        weights
    }

    /// 1 + E.
    pub(crate) fn sum(&self) -> f32 {
        1.0 + self.others
    }

    /// The logarithm of the sum of all weights; `None` where every logit is −∞.
    pub(crate) fn log_sum(&self) -> Option<f32> {
        (self.largest > f32::NEG_INFINITY).then(|| self.largest + lane::ln(self.sum()))
    }

    /// The weight of a value; 0 where it is never drawn.
    pub(crate) fn weight(&self, value: u32) -> f32 {
        if value == self.likeliest {
            return 1.0;
        }
        if !(self.logits.first..self.logits.past).contains(&value) {
            return 0.0;
        }
        let place = (value - self.logits.first) as usize;
        self.weights(place / LANES).get(place % LANES).copied().unwrap_or(0.0)
    }

    /// The value that a uniform chooses.
    pub(crate) fn draw(&self, u: f32) -> u32 {
        let v = u * self.sum();
        if v < self.others { self.walk(v).unwrap_or(self.likeliest) } else { self.likeliest }
    }

    /// Down the levels; where rounding leads past the end of one, its last positive weight.
    fn walk(&self, v: f32) -> Option<u32> {
        let (chunk, (), v) = descend(self.chunks.iter().map(|&sum| ((), sum)), v)?;
        let blocks = chunk * CHUNK..self.logits.blocks().min((chunk + 1) * CHUNK);
        let sums = blocks.map(|block| {
            let weights = self.weights(block);
            (weights, lane::sum(&weights))
        });
        let (block, weights, v) = descend(sums, v)?;
        let (lane, (), _) = descend(weights.iter().map(|&weight| ((), weight)), v)?;
        Some(self.logits.first + ((chunk * CHUNK + block) * LANES + lane) as u32)
    }
}

/// The first item at which the running sum passes v, or else the last with a positive weight; and what is
/// left of v there.
fn descend<T>(items: impl Iterator<Item = (T, f32)>, v: f32) -> Option<(usize, T, f32)> {
    let (mut sum, mut found) = (0.0, None);
    for (index, (item, weight)) in items.enumerate() {
        if weight > 0.0 {
            found = Some((index, item, v - sum));
            sum += weight;
            if v < sum {
                break;
            }
        }
    }
    found
}
