//! The weights of [`IsingLangevin`](super::IsingLangevin): what a site is drawn by, and what it adds to Z.
//!
//! A site flips with log odds z, here in bits, to base 2. Its rarer outcome (staying where z > 0, flipping elsewhere)
//! has probability `q = e/(1+e)`, `e = 2^(−|z|)`. Its weight w is 1 + ⌊2¹⁴p⌋, p the probability to flip: with n of 14
//! random bits it flips where n + 1 < w, stays where n + 1 > w, and where they are equal more bits decide. A clamped
//! site has weight 0.
//!
//! Weights stand in halves of words, and are compared there: a word has those of sites l and 16 + l of 32.

use crate::lane::{F32s, LANES, Sums, U32s};
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
pub(crate) struct Law {
    pub(crate) half_unit: f32,
    pub(crate) half_curvature: f32,
}

/// Log odds to base e, to base 2.
pub(crate) fn bits(log_odds: f32) -> f32 {
    log_odds * LOG2_E
}

impl Law {
    /// Weights, and ln(1 + 2^z) in units of 2⁻²⁴, given fields, and words whose top bits are the values.
    #[inline(always)]
    pub(crate) fn weigh<const N: usize>(self, sites: [(U32s, U32s); N]) -> [(U32s, U32s); N] {
        weigh(sites, F32s::splat(self.half_unit), F32s::splat(self.half_curvature))
    }

    /// (e, z > 0) of one site.
    pub(crate) fn odds(self, field: u32, x: u32) -> (f32, bool) {
        let field = if x == 0 { field } else { field.wrapping_neg() };
        odds(field, self.half_unit, self.half_curvature)
    }

    /// Whether a site flips that was tied: the probability of its rarer outcome is then what its weight dropped of 2¹⁴q.
    #[cold]
    pub(crate) fn flips(self, field: u32, x: u32, mut word: impl FnMut() -> u32) -> bool {
        let (e, likely) = self.odds(field, x);
        let (_, rest) = parts(scaled(F32s::splat(e)).first());
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

/// 2¹⁴ e/(1+e).
#[inline(always)]
fn scaled(e: F32s) -> F32s {
    (e / (F32s::splat(1.0) + e)) * F32s::splat(RANGE)
}

/// A number in [0, 2³¹): what is whole of it, and the rest.
fn parts(number: f32) -> (u32, f32) {
    let whole = F32s::splat(number).trunc_i32();
    (whole.to_f32().first().to_bits(), number - F32s::from_i32(whole).first())
}

/// ln(1+e)/e in units, for e in [0, 1]: with the rounding of f32 within 1.7e-7, absolute. Our own minimax fit.
const LN_1P: [f32; 8] = [
    -6.452_87e-3 * UNITS,
    3.608_553e-2 * UNITS,
    -9.532_409e-2 * UNITS,
    0.167_649_15 * UNITS,
    -0.240_731_31 * UNITS,
    0.331_798_37 * UNITS,
    -0.499_874_06 * UNITS,
    0.999_996_4 * UNITS,
];

/// ln(1+e) in units. By pairs of terms, so that it is done after seven operations, not fifteen.
#[inline(always)]
fn ln_1p(e: F32s) -> F32s {
    let [c7, c6, c5, c4, c3, c2, c1, c0] = LN_1P;
    let pair = |a, b| F32s::splat(a) * e + F32s::splat(b);
    let square = e * e;
    let high = pair(c7, c6) * square + pair(c5, c4);
    let low = pair(c3, c2) * square + pair(c1, c0);
    (high * (square * square) + low) * e
}

/// [`Law::weigh`] with numbers of its own in every lane.
///
/// Some registers at once, stage by stage: the operations of one depend on each other in a long row, and processors
/// look ahead less far than it is.
#[inline(always)]
pub(crate) fn weigh<const N: usize>(
    sites: [(U32s, U32s); N],
    half_unit: F32s,
    half_curvature: F32s,
) -> [(U32s, U32s); N] {
    // Loops over arrays: what `map` is given is not always inlined.
    let none = F32s::splat(0.0);
    let mut odds = [(none, none, none.lt(none)); N];
    for ((e, below, likely), (field, values)) in odds.iter_mut().zip(sites) {
        let z = (F32s::from_i32(field) * half_unit).to_bits() ^ (values & U32s::splat(SIGN));
        let z = z.to_f32() - half_curvature;
        // −|z|
        *below = (z.to_bits() | U32s::splat(SIGN)).to_f32().max(F32s::splat(-LIMIT));
        *e = below.exp2_bounded();
        *likely = none.lt(z);
    }
    let mut weighed = [(U32s::splat(0), U32s::splat(0)); N];
    for ((weight, softplus), (e, below, likely)) in weighed.iter_mut().zip(odds) {
        *weight = (scaled(e).trunc_i32() ^ likely.keep(U32s::splat(TURN))) + U32s::splat(1);
        *softplus = likely.keep((below * F32s::splat(-LN_2 * UNITS)).trunc_i32()) + ln_1p(e).trunc_i32();
    }
    weighed
}

const TOPS: u32 = 0x8000_8000;

/// The sites that flip and those that more bits decide, in the top bits of the halves.
#[inline(always)]
pub(crate) fn draw(weights: U32s, noise: U32s) -> (U32s, U32s) {
    let (bits, ones, tops) = (U32s::splat(0x3FFF_3FFF), U32s::splat(0x0001_0001), U32s::splat(TOPS));
    // 2¹⁵ + n + 1 − w, above 0 in every half, so that none borrows; a batch has a value in the top bit of a low half, and
    // reads no other.
    let above = (noise & bits) + (tops + ones) - weights;
    (above ^ tops, (above ^ (above - ones)) & tops)
}

/// The top bits of the halves of a register, as those of the 32 sites.
#[inline(always)]
pub(crate) fn tops(halves: U32s, part: usize) -> u32 {
    halves.shl::<16>().signs(part) | (halves.signs(part) << LANES)
}

/// The word and the shift at which the weight of a site stands.
#[inline(always)]
pub(crate) fn half(site: usize) -> (usize, usize) {
    (site / 32 * LANES + site % LANES, site & LANES)
}

/// A number of units.
#[inline]
pub(crate) fn value(units: i64) -> f32 {
    units as f32 * (1.0 / UNITS)
}

/// A sum of softpluses in units, or of differences of them, in any order.
#[derive(Debug)]
pub(crate) struct Sum {
    recent: Sums,
    blocks: u32,
    total: i64,
}

impl Sum {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { recent: Sums::ZERO, blocks: 0, total: 0 }
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
