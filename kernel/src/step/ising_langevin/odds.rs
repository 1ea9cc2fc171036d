//! The weights of [`IsingLangevin`](super::IsingLangevin): what a site is drawn by, and what it adds to Z.
//!
//! A site flips with log odds z, here in bits, to base 2. Its rarer outcome (staying where z > 0, flipping elsewhere)
//! has probability `q = e/(1+e)`, `e = 2^(−|z|)`. Its weight w is 1 + ⌊2¹⁴p⌋, p the probability to flip. A number n
//! of 14 random bits decides: it flips where n + 1 < w, and stays where n + 1 > w. Where they are equal, more bits
//! decide. A clamped site has weight 0.
//!
//! Weights are in halves of words, and are compared there: a word has those of sites l and 16 + l of 32.

use crate::lane::{F32s, Interleaved, LANES, LaneSums, Mask, U32s};
use core::f32::consts::{LN_2, LOG2_E};

/// Log odds are cut to this: ±80 to base e.
const LIMIT: f32 = 80.0 * LOG2_E;
/// 2¹⁴, and what turns k = ⌊2¹⁴p⌋ into that of 1 − p.
const RANGE: f32 = 16_384.0;
const TURN: u32 = 0x3FFF;
const TWO_POW_31: f32 = 2_147_483_648.0;
const SIGN: u32 = 0x8000_0000;
/// Softplus is summed in units of 2⁻²⁴.
const UNITS: f32 = 16_777_216.0;

/// A model's unit and a step size, in bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Odds {
    pub(crate) half_unit: f32,
    pub(crate) half_curvature: f32,
}

/// Log odds to base e, to base 2.
pub(crate) fn bits(log_odds: f32) -> f32 {
    log_odds * LOG2_E
}

impl Odds {
    /// Weights, and ln(1 + 2^z) in units of 2⁻²⁴, given fields, and words whose top bits are the values.
    #[inline(always)]
    pub(crate) fn weigh<const N: usize>(self, fields: [U32s; N], values: [U32s; N]) -> ([U32s; N], [U32s; N]) {
        weigh(fields, values, F32s::splat(self.half_unit), F32s::splat(self.half_curvature))
    }

    /// (e, z > 0) of one site.
    pub(crate) fn of(self, field: u32, x: u32) -> (f32, bool) {
        let field = if x == 0 { field } else { field.wrapping_neg() };
        odds(field, self.half_unit, self.half_curvature)
    }

    /// Whether a site flips that was tied: the probability of its rarer outcome is then what its weight dropped of 2¹⁴q.
    #[cold]
    pub(crate) fn flips(self, field: u32, x: u32, mut word: impl FnMut() -> u32) -> bool {
        let (e, likely) = self.of(field, x);
        let (_, rest) = parts(e / (1.0 + e) * RANGE);
        let (whole, rest) = parts(rest * TWO_POW_31);
        let noise = word() >> 1;
        let rare = noise < whole || (noise == whole && ((word() >> 1) as f32) < rest * TWO_POW_31);
        rare != likely
    }
}

#[inline(always)]
fn odds(signed_field: u32, half_unit: f32, half_curvature: f32) -> (f32, bool) {
    let z = F32s::from_i32(U32s::splat(signed_field)) * F32s::splat(half_unit) - F32s::splat(half_curvature);
    ((-z.abs()).max(F32s::splat(-LIMIT)).exp2_bounded().first(), F32s::splat(0.0).lt(z).any())
}

/// A number in [0, 2³¹): what is whole of it, and the rest.
fn parts(number: f32) -> (u32, f32) {
    let whole = F32s::splat(number).trunc_i32();
    (whole.to_f32().first().to_bits(), number - F32s::from_i32(whole).first())
}

/// L/(e + q) in units, as a polynomial in eq, where L = ln(1+e) and q = e/(1+e). Here e + q = 2 sinh L and eq = 2
/// cosh L − 2. So the quotient is even in L and smooth. Up to e = 1 five coefficients give L within 9e-8, rounding
/// included. In powers of e it takes eight. Our own minimax fit.
const LN_1P: [f32; 5] = [
    5.888_578e-4 * UNITS,
    -3.475_649_4e-3 * UNITS,
    1.664_640_2e-2 * UNITS,
    -8.333_152e-2 * UNITS,
    0.499_999_94 * UNITS,
];

/// [`Odds::weigh`] with numbers of its own in every lane.
#[inline(always)]
pub(crate) fn weigh<const N: usize>(
    fields: [U32s; N],
    values: [U32s; N],
    half_unit: F32s,
    half_curvature: F32s,
) -> ([U32s; N], [U32s; N]) {
    let sign = U32s::splat(SIGN);
    let z = (Interleaved(fields).i32_to_f32() * half_unit).to_bits() ^ (Interleaved(values) & sign);
    let z = z.to_f32() - half_curvature;
    // −|z|
    let below = (z.to_bits() | sign).to_f32().max(F32s::splat(-LIMIT));
    let e = below.exp2_bounded();
    let q = e / (e + F32s::splat(1.0));
    let likely = z.positive();
    let turned = likely.keep(Interleaved::splat(U32s::splat(TURN)));
    let weights = ((q * F32s::splat(RANGE)).trunc_i32() ^ turned) + U32s::splat(1);
    let ln_1p = (e * q).polynomial(&LN_1P) * (e + q);
    let linear = likely.keep((below * F32s::splat(-LN_2 * UNITS)).trunc_i32());
    (weights.0, (linear + ln_1p.trunc_i32()).0)
}

const TOPS: u32 = 0x8000_8000;

/// The sites that flip and those that more bits decide, in the top bits of the halves.
#[inline(always)]
pub(crate) fn draw(weights: U32s, noise: U32s) -> (U32s, U32s) {
    let (bits, ones, tops) = (U32s::splat(0x3FFF_3FFF), U32s::splat(0x0001_0001), U32s::splat(TOPS));
    // 2¹⁵ + n + 1 − w, above 0 in every half, so that none borrows. A batch has a value in the top bit of a low half,
    // and reads no other.
    let above = (noise & bits) + (tops + ones) - weights;
    (above ^ tops, (above ^ (above - ones)) & tops)
}

/// The top bits of the halves of a register, as those of the 32 sites.
#[inline(always)]
pub(crate) fn tops(halves: U32s, part: usize) -> u32 {
    halves.shl::<16>().signs(part) | (halves.signs(part) << LANES)
}

/// The words that hold the weights of sites, and whether they are in the high halves.
#[inline(always)]
pub(crate) fn halves(sites: U32s) -> (U32s, Mask) {
    let (lanes, high) = (U32s::splat(LANES as u32 - 1), U32s::splat(LANES as u32));
    // Of word w those of sites 32w + l and 32w + 16 + l, at 16w + l.
    ((sites.shr::<1>() & U32s::splat(!(LANES as u32 - 1))) | (sites & lanes), (sites & high).eq(high))
}

/// A number of units.
#[inline]
pub(crate) fn value(units: i64) -> f32 {
    units as f32 * (1.0 / UNITS)
}

/// A sum of softpluses in units, or of differences of them, in any order.
#[derive(Debug)]
pub(crate) struct Sum {
    recent: LaneSums,
    blocks: u32,
    total: i64,
}

impl Sum {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { recent: LaneSums::ZERO, blocks: 0, total: 0 }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, units: U32s, part: usize) {
        self.recent.add(units, part);
    }

    /// Call after each block.
    #[inline(always)]
    pub(crate) fn next(&mut self) {
        self.blocks += 1;
        if self.blocks >= 1 << 15 {
            self.carry();
        }
    }

    fn carry(&mut self) {
        self.total += self.recent.values().sum::<i64>();
        *self = Self { total: self.total, ..Self::new() };
    }

    pub(crate) fn total(mut self) -> i64 {
        self.carry();
        self.total
    }
}
