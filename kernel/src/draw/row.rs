//! A site of many values: its values along the lanes, one site at a time.
//!
//! The logits are those of [`planes`](super::planes), the largest weight is 1. Weights are not kept: a block of them
//! is made again from its logits where [`Sums`] needs it.

use super::sums::{Sums, add_to, block_of, registers};
use super::{LOGIT_LIMIT, Shape};
use crate::lane::{Bits, Block, F32s, Interleaved, LANES, PARTS, U32s, ln};
use core::f32::consts::LOG2_E;
use core::ops::Range;
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

    /// What every move costs: c of a categorical site. That of an ordinal one grows with the move.
    fn cost(&self) -> f32 {
        if let Slope::Values(..) = self.slope { self.curvature } else { 0.0 }
    }

    /// The largest logit of a move without its [`cost`](Self::cost), and whether a logit is NaN. An infinite one counts as
    /// the largest finite number. Where a cost is not negative and staying is a choice, the present value may be among the
    /// moves: its 0 changes nothing.
    fn most(&self) -> (f32, bool) {
        let last = self.blocks().saturating_sub(1);
        let all = PARTS == 1 && self.stay == 0.0 && self.curvature >= 0.0;
        let (most, nan) = match self.slope {
            // The logit falls where the gradient rises, rounding and all: its least value decides.
            Slope::Values(gradient, present) if all && present.abs() < f32::INFINITY => {
                let (least, nan) = least_of(gradient.get(..last).unwrap_or_default());
                let (end, end_nan) = self.most_of(last..last + 1);
                ((self.balance * (present - least)).max(end), nan | end_nan)
            }
            _ => self.most_of(0..last + 1),
        };
        (most.min(f32::MAX), nan | (most - self.cost()).is_nan())
    }

    /// The same of some blocks; −∞ of none.
    fn most_of(&self, blocks: Range<usize>) -> (f32, bool) {
        let (mut most, mut nan) = (F32s::splat(f32::NEG_INFINITY), false);
        for block in blocks {
            for part in 0..PARTS {
                let z = self.moves(block, part);
                nan |= (!z.eq(z)).any();
                most = most.lt(z).pick(z, most);
            }
        }
        (largest_lane(most), nan)
    }

    /// The blocks that have the present value, and lanes past the last one.
    #[inline(always)]
    fn special(&self) -> [usize; 2] {
        [self.here.wrapping_sub(self.first) as usize / LANES, self.blocks().wrapping_sub(1)]
    }

    /// The values of a block.
    #[inline(always)]
    fn values(&self, block: usize, part: usize) -> U32s {
        const LANE: Bits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        U32s::splat(self.first.wrapping_add((block * LANES) as u32)) + U32s::load(&LANE, part)
    }

    /// The logits of a block's moves without their cost: NaN where the gradient is, −∞ of what is no move.
    #[inline(always)]
    fn moves(&self, block: usize, part: usize) -> F32s {
        let values = || self.values(block, part);
        let here = U32s::splat(self.here);
        let z = match self.slope {
            Slope::Values(gradient, present) => {
                let gradient = F32s::load(gradient.get(block).unwrap_or(&[0.0; LANES]), part);
                (gradient - F32s::splat(present)) * F32s::splat(-self.balance)
            }
            Slope::Line(gradient) => {
                let v = F32s::from_i32(values() - here);
                F32s::splat(-self.balance * gradient) * v - F32s::splat(0.5 * self.curvature) * (v * v)
            }
        };
        if !self.special().contains(&block) {
            return z;
        }
        let moves = !values().eq(here) & values().lt_i32(U32s::splat(self.past));
        moves.pick(z, F32s::splat(f32::NEG_INFINITY))
    }
}

/// The weights of a site's values: the largest is 1.
struct Weights<'a> {
    logits: Logits<'a>,
    /// The largest logit.
    largest: f32,
    /// What is taken away from the logits of moves without their cost.
    offset: f32,
}

impl<'a> Weights<'a> {
    /// Of logits whose moves have at most `most` without their cost.
    fn new(logits: Logits<'a>, most: f32) -> Self {
        let moving = most - logits.cost();
        let moves = (moving, most);
        let (largest, offset) = if moving > logits.stay { moves } else { (logits.stay, logits.cost()) };
        Self { logits, largest, offset }
    }

    /// A block of weights: 0 of no value, at least e^(−30) of any other, also where the logit is −∞.
    #[inline(always)]
    fn block(&self, block: usize) -> [F32s; PARTS] {
        let (logits, offset) = (&self.logits, F32s::splat(self.offset));
        core::array::from_fn(|part| {
            let z = logits.moves(block, part);
            let z = if self.offset < f32::MAX { z } else { offset.lt(z).pick(offset, z) };
            let (special, values) = (logits.special().contains(&block), logits.values(block, part));
            let stays = values.eq(U32s::splat(logits.here));
            let of_staying = F32s::splat(logits.stay - self.largest);
            let below = if special { stays.pick(of_staying, z - offset) } else { z - offset };
            let Interleaved([weight]) = weights(Interleaved([below]));
            if !special {
                return weight;
            }
            let legal = values.lt_i32(U32s::splat(logits.past));
            let legal = if logits.stay == 0.0 { legal } else { legal & !stays };
            legal.keep(weight.to_bits()).to_f32()
        })
    }

    /// Adds the weights of some blocks. Of most of them only the gradient has to be looked at, in several registers at once: a
    /// weight is a long row of operations.
    #[inline(always)]
    fn add(&self, mut blocks: Range<usize>, sums: &mut [F32s; PARTS]) {
        if let (Slope::Values(gradients, present), true) =
            (self.logits.slope, PARTS == 1 && self.offset < f32::MAX)
        {
            let (present, minus_balance) = (F32s::splat(present), F32s::splat(-self.logits.balance));
            let offset = F32s::splat(self.offset);
            for special in self.logits.special() {
                let plain = blocks.start..special.min(blocks.end).max(blocks.start);
                let (groups, _) = gradients.get(plain.clone()).unwrap_or_default().as_chunks::<WAYS>();
                for group in groups {
                    let gradients = Interleaved(group.each_ref().map(|block| F32s::load(block, 0)));
                    let found = weights((gradients - present) * minus_balance - offset);
                    found.0.into_iter().for_each(|weight| add_to(sums, [weight; PARTS]));
                }
                let past = blocks.end.min(special + 1).max(plain.end);
                (plain.start + WAYS * groups.len()..past).for_each(|block| add_to(sums, self.block(block)));
                blocks.start = past;
            }
        }
        blocks.for_each(|block| add_to(sums, self.block(block)));
    }
}

/// e to the power of some registers, cut below; by the power of 2, which is the cheapest.
#[inline(always)]
fn weights<const N: usize>(below: Interleaved<F32s, N>) -> Interleaved<F32s, N> {
    (below.max(F32s::splat(-LOGIT_LIMIT)) * F32s::splat(LOG2_E)).exp2_bounded()
}

/// Blocks that are looked at together, so that no operation waits for the one before: as many as registers hold.
const WAYS: usize = if cfg!(target_feature = "avx512f") { 4 } else { 2 };

/// The least number of some blocks, ∞ of none, and whether one is NaN.
fn least_of(blocks: &[Block]) -> (f32, bool) {
    let mut ways = [[(F32s::splat(f32::INFINITY), F32s::splat(0.0)); PARTS]; WAYS];
    let see = |(way, block): (&mut [(F32s, F32s); PARTS], &Block)| {
        for ((least, sum), number) in way.iter_mut().zip(registers(block)) {
            (*least, *sum) = (number.min(*least), *sum + number);
        }
    };
    let (groups, rest) = blocks.as_chunks::<WAYS>();
    groups.iter().for_each(|group| ways.iter_mut().zip(group).for_each(see));
    ways.iter_mut().zip(rest).for_each(see);
    let (mut minus_least, mut suspect) = (f32::NEG_INFINITY, false);
    for (least, sum) in ways.into_iter().flatten() {
        // A sum is NaN too where ∞ and −∞ meet.
        suspect |= (!sum.eq(sum)).any();
        minus_least = largest_lane(-least).max(minus_least);
    }
    (-minus_least, suspect && blocks.as_flattened().iter().any(|number| number.is_nan()))
}

fn largest_lane(register: F32s) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    register.store(&mut lanes, 0);
    lanes.iter().fold(f32::NEG_INFINITY, |most, &z| if most < z { z } else { most })
}

/// The weights of a site's values, with their sums.
pub(crate) struct Row<'a> {
    weights: Weights<'a>,
    sums: Sums,
    /// Whether a logit is NaN.
    pub(crate) nan: bool,
}

impl<'a> Row<'a> {
    /// The weights of all values.
    pub(crate) fn new(logits: Logits<'a>) -> Self {
        let (most, nan) = logits.most();
        let weights = Weights::new(logits, most);
        // What becomes of a NaN is the processor's affair. A row with one is a fault. One whose logits are all −∞ is
        // never drawn from, and would take −∞ from −∞. Neither has weights.
        let blocks = if nan || weights.largest == f32::NEG_INFINITY { 0 } else { logits.blocks() };
        let sums = Sums::by(blocks, |blocks, sums| weights.add(blocks, sums));
        Self { weights, sums, nan }
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> f32 {
        self.sums.total()
    }

    /// The logarithm of the sum of all weights; `None` where every logit is −∞.
    pub(crate) fn log_sum(&self) -> Option<f32> {
        let largest = self.weights.largest;
        (largest > f32::NEG_INFINITY).then(|| largest + ln(self.sum()))
    }

    /// The weight of a value; 0 where it is never drawn.
    pub(crate) fn weight(&self, value: u32) -> f32 {
        let logits = &self.weights.logits;
        if !(logits.first..logits.past).contains(&value) {
            return 0.0;
        }
        let place = (value - logits.first) as usize;
        let weights = block_of(self.weights.block(place / LANES));
        weights.get(place % LANES).copied().unwrap_or(0.0)
    }

    /// Draws a value.
    pub(crate) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let logits = &self.weights.logits;
        let place = self.sums.draw(|block| self.weights.block(block), rng);
        place.map_or(logits.here, |place| logits.first + place as u32)
    }
}
