//! `exp`, `ln` and their relatives from + and × alone, in a written order: the same bits everywhere.
//!
//! Each coefficient set is a minimax fit of our own, rounded to f32 and polished in f32 arithmetic. Its interval and
//! error are given with it. The errors quoted for the functions were measured against f64 over every f32
//! (`.ci/long`). A strided run of the same comparison is in the everyday tests.

use super::{F32s, Interleaved, U32s};
use core::f32::consts::{LN_2, LOG2_E};

/// Sign and exponent.
const ABOVE_MANTISSA: u32 = 0xFF80_0000;
/// 1.5 · 2²³: adding it rounds a float below 2²² in magnitude to an integer, which is then in the low bits.
const MAGIC: f32 = 12_582_912.0;
const MAGIC_BITS: u32 = 0x4B40_0000;

/// ln 2 in two parts. The first has 15 significant bits: k times it is exact for |k| < 2⁹.
const LN_2_HIGH: f32 = 0.693_145_75;
const LN_2_LOW: f32 = 1.428_606_8e-6;

/// e^r = 1 + (r + r²·P(r)) for |r| ≤ .3468: relative error 5.3e-9.
const EXP: [f32; 5] = [1.381_455_3e-3, 8.368_763e-3, 4.166_839e-2, 0.166_665_18, 0.499_999_94];

/// 2^f = X(f) for |f| ≤ ½: relative error 9.4e-8.
#[expect(clippy::approx_constant, reason = "the best first coefficient beside the others is not quite ln 2")]
const EXP2: [f32; 6] = [1.326_952_1e-3, 9.671_291e-3, 5.550_711e-2, 0.240_222_47, 0.693_147, 1.0];

/// ln(1+y) = y + y²·Q(y) for √½ ≤ 1+y < √2: relative error 9.1e-9.
const LN: [f32; 9] = [
    -7.634_547e-2,
    0.127_617_25,
    -0.131_602_21,
    0.142_017_51,
    -0.166_233_05,
    0.200_012_22,
    -0.250_008_23,
    0.333_333_28,
    -0.5,
];
const SQRT_HALF_BITS: u32 = 0x3F35_04F3;

/// ln(1+y) = y + y²·R(y) for −¼ ≤ y ≤ ½: relative error 2.3e-8.
const LN_1P: [f32; 8] = [
    5.111_143_7e-2,
    -0.117_378_935,
    0.149_130_87,
    -0.168_524_64,
    0.199_876_55,
    -0.249_930_53,
    0.333_332_4,
    -0.500_000_5,
];

/// ln(1+e^x) = ln 2 + x/2 + x²·C(x²) for |x| ≤ ½ (ln cosh is even): absolute error 1.4e-9.
const SOFTPLUS: [f32; 3] = [3.349_177e-4, -5.206_568e-3, 0.124_999_925];

/// −log₂(1+y) = y·G(y) for |y| ≤ ⅓: absolute error 2.4e-6, which the quantile divides by 2w or more.
const MINUS_LOG2_1P: [f32; 6] =
    [0.270_412_36, -0.336_936_97, 0.359_554_46, -0.477_890_13, 0.721_353_24, -1.442_741_2];
const TWO_THIRDS_BITS: u32 = 0x3F2A_AAAB;

/// 2 atanh(s) = s·T(s²) for |s| ≤ ⅓: absolute error 1.4e-9.
const TWICE_ATANH: [f32; 5] = [0.288_700_88, 0.277_875_63, 0.400_393_4, 0.666_658_7, 2.0];

/// Normal quantile, w = −log₂ p, s = √w. Centre (w < 7.25): z = (½−p)·A(s − 1.875), error 6.7e-7 relative;
/// tail (w ≤ 65): z = B(s − 5.375), error 1.2e-6 relative. Pairs of (centre, tail).
const QUANTILE: [(f32, f32); 8] = [
    (-4.374_435e-3, 1.564_611_8e-6),
    (2.564_360_6e-2, -7.206_079e-6),
    (-7.103_418e-3, 2.294_282e-5),
    (-5.263_097_6e-2, -1.747_534_7e-4),
    (-0.167_295_6, 1.213_867_9e-3),
    (0.741_593_4, -7.917_744e-3),
    (1.654_561_8, 1.232_679_6),
    (3.288_494_6, 5.883_425),
];
const QUANTILE_SPLIT: f32 = 7.25;
const QUANTILE_MID: (f32, f32) = (1.875, 5.375);

/// −2 ln(1+y) = y·N(y) for |y| ≤ ⅓: relative error 1.7e-7.
const MINUS_TWICE_LN_1P: [f32; 8] = [
    0.307_313_92,
    -0.342_223_63,
    0.328_401_7,
    -0.395_900_73,
    0.500_152_44,
    -0.666_759_8,
    0.999_998_75,
    -1.999_999_7,
];

/// sin(πf/2) = f·S(f²) and cos(πf/2) = (1 − f²)·C(f²) for |f| ≤ 1: relative errors 6.7e-9 and 8.9e-10.
const SIN: [f32; 5] = [1.516_785_3e-4, -4.674_157_4e-3, 7.968_993e-2, -0.645_963_8, 1.570_796_4];
const COS: [f32; 5] = [2.359_770_5e-5, -8.935_305e-4, 1.996_860_4e-2, -0.233_700_5, 1.0];

/// The largest magnitude of a normal made by inversion: the quantile of 2⁻⁶⁵.
pub const NORMAL_LIMIT: f32 = 9.17;

/// Horner's rule, highest coefficient first.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f32; N], x: F32s) -> F32s {
    let mut rest = coefficients.iter();
    let first = rest.next().copied().unwrap_or(0.0);
    rest.fold(F32s::splat(first), |sum, &c| sum * x + F32s::splat(c))
}

/// x = 2^k · (1 + y) with 1 + y in [b, 2b) for the float b of the given bits: (y, bits of MAGIC + k).
#[inline(always)]
fn split(x: F32s, base: u32) -> (F32s, U32s) {
    let above = x.to_bits() - U32s::splat(base);
    let mantissa = x.to_bits() - (above & U32s::splat(ABOVE_MANTISSA));
    let y = mantissa.to_f32() - F32s::splat(1.0);
    (y, above.sar::<23>() + U32s::splat(MAGIC_BITS))
}

impl<const N: usize> Interleaved<F32s, N> {
    /// [`polynomial`].
    #[inline(always)]
    pub(crate) fn polynomial<const K: usize>(self, coefficients: &[f32; K]) -> Self {
        let mut rest = coefficients.iter();
        let first = rest.next().copied().unwrap_or(0.0);
        rest.fold(Self::splat(F32s::splat(first)), |sum, &c| sum * self + F32s::splat(c))
    }

    /// [`polynomial`] with an even number of coefficients, by pairs of terms. They wait for each other less than Horner's rule makes
    /// them.
    #[inline(always)]
    fn by_pairs<const K: usize>(self, coefficients: &[f32; K]) -> Self {
        const { assert!(K.is_multiple_of(2)) };
        let square = self * self;
        let (pairs, _) = coefficients.as_chunks::<2>();
        let mut pairs = pairs.iter().map(|&[a, b]| self * F32s::splat(a) + F32s::splat(b));
        let first = pairs.next().unwrap_or(square);
        pairs.fold(first, |sum, pair| sum * square + pair)
    }

    /// e^x = 2^n · (1 + rest): (MAGIC + n, rest), 1 + rest in about [.707, 1.415].
    #[inline(always)]
    fn exp_reduced(self) -> (Self, Self) {
        let t = self * F32s::splat(LOG2_E) + F32s::splat(MAGIC);
        let n = t - F32s::splat(MAGIC);
        let r = (self - n * F32s::splat(LN_2_HIGH)) - n * F32s::splat(LN_2_LOW);
        (t, r + (r * r) * r.polynomial(&EXP))
    }

    /// p · 2^n for MAGIC + n.
    #[inline(always)]
    fn scaled(self, t: Self) -> Self {
        // The shift pushes every bit of MAGIC out and leaves n in the exponent.
        (self.to_bits() + t.to_bits().shl::<23>()).to_f32()
    }

    /// [`F32s::exp_bounded`].
    #[inline(always)]
    pub(crate) fn exp_bounded(self) -> Self {
        let (t, rest) = self.exp_reduced();
        (rest + F32s::splat(1.0)).scaled(t)
    }

    /// [`F32s::exp2_bounded`].
    #[inline(always)]
    pub(crate) fn exp2_bounded(self) -> Self {
        let t = self + F32s::splat(MAGIC);
        let f = self - (t - F32s::splat(MAGIC));
        // As `by_pairs`, written out: builds that mind their size keep its iterator.
        let [c5, c4, c3, c2, c1, c0] = EXP2;
        let pair = |a, b| f * F32s::splat(a) + F32s::splat(b);
        let square = f * f;
        let p = (pair(c5, c4) * square + pair(c3, c2)) * square + pair(c1, c0);
        p.scaled(t)
    }

    /// u = 2^k · (1 + y), |y| ≤ ⅓: u and the integer k · 2²³. A u below 2⁻⁶⁵ counts as 2⁻⁶⁵.
    #[inline(always)]
    fn by_thirds(self) -> (Self, Interleaved<U32s, N>) {
        let u = self.max(F32s::splat(1.0 / 36_893_488_147_419_103_232.0));
        (u, (u.to_bits() - U32s::splat(TWO_THIRDS_BITS)) & U32s::splat(ABOVE_MANTISSA))
    }

    /// y of that.
    #[inline(always)]
    fn mantissa(self, above: Interleaved<U32s, N>) -> Self {
        (self.to_bits() - above).to_f32() - F32s::splat(1.0)
    }

    /// −2 ln(2^k · (1 + y)), k as the integer k · 2²³, which is a float.
    #[inline(always)]
    fn minus_twice_ln(above: Interleaved<U32s, N>, rest: Self) -> Self {
        above.i32_to_f32() * F32s::splat(-2.0 * LN_2 / 8_388_608.0) + rest
    }

    /// [`F32s::normal_radius`].
    #[inline(always)]
    pub(crate) fn normal_radius(self) -> Self {
        let (u, above) = self.by_thirds();
        let y = u.mantissa(above);
        Self::minus_twice_ln(above, y * y.polynomial(&MINUS_TWICE_LN_1P)).sqrt()
    }

    /// [`F32s::gumbel_above`].
    #[inline(always)]
    pub(crate) fn gumbel_above(self) -> Self {
        let (one, half) = (Self::splat(F32s::splat(1.0)), F32s::splat(0.5));
        let (_, above) = (one - self).by_thirds();
        // Of 1 − v = 2^k · (1 + y) from v itself: where k is 0 it is −v, with all its digits.
        let scale = (one.to_bits() - above).to_f32();
        let y = (scale - one) - self * scale;
        let (u, above) = (Self::minus_twice_ln(above, y * y.by_pairs(&MINUS_TWICE_LN_1P)) * half).by_thirds();
        let y = u.mantissa(above);
        Self::minus_twice_ln(above, y * y.by_pairs(&MINUS_TWICE_LN_1P)) * half
    }

    /// [`F32s::quarter_turns`].
    #[inline(always)]
    pub(crate) fn quarter_turns(self) -> (Self, Self) {
        let (one, square) = (Self::splat(F32s::splat(1.0)), self * self);
        (self * square.polynomial(&SIN), (one - self) * (one + self) * square.polynomial(&COS))
    }
}

impl F32s {
    /// `e^x` for |x| ≤ 80, the bits of [`F32s::exp`] at fewer operations; beyond, garbage.
    #[inline(always)]
    pub fn exp_bounded(self) -> Self {
        let Interleaved([one]) = Interleaved([self]).exp_bounded();
        one
    }

    /// `2^x` for |x| ≤ 120, within 2.5 ulp; beyond, garbage. The cheapest exponential there is: 16 operations, in a row
    /// of twelve.
    #[inline(always)]
    pub fn exp2_bounded(self) -> Self {
        let Interleaved([one]) = Interleaved([self]).exp2_bounded();
        one
    }

    /// `e^x` for x ≤ 88.7 or NaN.
    #[inline(always)]
    pub(crate) fn exp_no_overflow(self) -> Self {
        let least = Self::splat(-104.0); // e^−104 rounds to 0
        let (Interleaved([t]), Interleaved([rest])) =
            Interleaved([self.lt(least).pick(least, self)]).exp_reduced();
        // 2^n as two normal factors: 1 + rest times the first is exact, so a subnormal result rounds once.
        let exponent = t.to_bits() - U32s::splat(MAGIC_BITS - 254);
        let half = exponent.shr::<1>();
        ((rest + Self::splat(1.0)) * half.shl::<23>().to_f32()) * (exponent - half).shl::<23>().to_f32()
    }

    /// `e^x`: within 1 ulp, monotone, gradual underflow, exact at 0 and ±∞; NaN stays NaN.
    #[inline(always)]
    pub fn exp(self) -> Self {
        let most = Self::splat(89.0); // overflows to +∞ in the last product
        most.lt(self).pick(most, self).exp_no_overflow()
    }

    /// `ln x`: within 1.2 ulp, subnormals too, monotone; −∞ at 0, NaN below.
    #[inline(always)]
    pub fn ln(self) -> Self {
        let zero = Self::splat(0.0);
        let tiny = self.lt(Self::splat(f32::MIN_POSITIVE));
        let scaled = tiny.pick(self * Self::splat(8_388_608.0), self);
        let (y, k) = split(scaled, SQRT_HALF_BITS);
        let k = k.to_f32() - tiny.pick(Self::splat(MAGIC + 23.0), Self::splat(MAGIC));
        let ln = (((y * y) * polynomial(&LN, y) + k * Self::splat(LN_2_LOW)) + y) + k * Self::splat(LN_2_HIGH);
        let ln = self.lt(Self::splat(f32::INFINITY)).pick(ln, self);
        let ln = self.eq(zero).pick(Self::splat(f32::NEG_INFINITY), ln);
        self.lt(zero).pick(Self::splat(f32::NAN), ln)
    }

    /// `ln(1+e)` for e in [0, 1]: within 1.5 ulp, relative to the smallest e; NaN stays NaN.
    #[inline(always)]
    pub fn ln_1p_unit(self) -> Self {
        // From ½ on as ln 2 + ln(1+y), y = (e−1)/2: one polynomial over [0, 1] would not be monotone at 1.
        let upper = !self.lt(Self::splat(0.5)) & self.eq(self);
        let half = (self - Self::splat(1.0)) * Self::splat(0.5);
        let y = upper.pick(half, self);
        let base = upper.pick(Self::splat(LN_2), Self::splat(0.0));
        base + (y + (y * y) * polynomial(&LN_1P, y))
    }

    /// `e^x − 1` for x ≤ 80: within 1.6 ulp, relative on the whole way to 0, monotone; −1 far below; NaN
    /// stays NaN.
    #[inline(always)]
    pub fn exp_m1(self) -> Self {
        // e^x = 2^n(1 + rest): then (2^n − 1) + 2^n·rest, the first term exact wherever the second matters.
        let least = Self::splat(-80.0);
        let (Interleaved([t]), Interleaved([rest])) =
            Interleaved([self.lt(least).pick(least, self)]).exp_reduced();
        let scale = (t.to_bits().shl::<23>() + U32s::splat(0x3F80_0000)).to_f32();
        (scale - Self::splat(1.0)) + scale * rest
    }

    /// `ln(1+x)`: within 3 ulp, relative on the whole way to 0, monotone; −∞ at −1, NaN below; NaN stays
    /// NaN.
    #[inline(always)]
    pub fn ln_1p(self) -> Self {
        let near = !self.lt(Self::splat(-0.25)) & !Self::splat(0.4375).lt(self);
        let far = (Self::splat(1.0) + self).ln();
        near.pick(self + (self * self) * polynomial(&LN_1P, self), far)
    }

    /// `1/(1+e^(−x))`: within 2.5 ulp on both tails, monotone; NaN stays NaN.
    #[inline(always)]
    pub fn sigmoid(self) -> Self {
        let low = self.lt(Self::splat(-2.0));
        let e = low.pick(self, -self).exp_no_overflow();
        low.pick(e, Self::splat(1.0)) / (Self::splat(1.0) + e)
    }

    /// `ln(1+e^x)` (softplus): within 3 ulp relative on both tails, monotone; NaN stays NaN.
    #[inline(always)]
    pub fn ln_1p_exp(self) -> Self {
        let zero = Self::splat(0.0);
        let minus_size = -self.abs();
        let outer = zero.lt(self).pick(self, zero) + minus_size.exp_no_overflow().ln_1p_unit();
        // Near 0 that moves in steps coarser than x does, and would not be monotone.
        let square = self * self;
        let even = square * polynomial(&SOFTPLUS, square);
        let centre = Self::splat(LN_2) + (Self::splat(0.5) * self + even);
        Self::splat(-0.5).lt(minus_size).pick(centre, outer)
    }

    /// `ln((1−v)/v)` for v in [0, ½], within 2·10⁻⁷ absolute and 2 ulp relative; about 88 at 0.
    #[inline(always)]
    pub(crate) fn log_odds_against(self) -> Self {
        // v = 2^k·b: ln((1−v)/b) − k·ln 2. With b in [½, 1) the quotient is in [½, 2], and so its logarithm is
        // 2 atanh of the difference over the sum.
        let exponent = self.to_bits().shr::<23>();
        let b = ((self.to_bits() & U32s::splat(!ABOVE_MANTISSA)) | U32s::splat(0x3F00_0000)).to_f32();
        let a = Self::splat(1.0) - self;
        let s = (a - b) / (a + b);
        let minus_k = Self::from_i32(U32s::splat(126) - exponent);
        minus_k * Self::splat(LN_2) + s * polynomial(&TWICE_ATANH, s * s)
    }

    /// The z ≥ 0 with P(N > z) = p, for a tail probability p in (0, ½] of a standard normal. The result is within
    /// 2·10⁻⁶ relative, and monotone. Any p below 2⁻⁶⁵ counts as 2⁻⁶⁵.
    #[inline(always)]
    pub fn normal_quantile(self) -> Self {
        let least = Self::splat(1.0 / 36_893_488_147_419_103_232.0);
        let p = least.lt(self).pick(self, least);
        let (y, k) = split(p, TWO_THIRDS_BITS);
        let w = (Self::splat(MAGIC) - k.to_f32()) + y * polynomial(&MINUS_LOG2_1P, y);
        let centre = w.lt(Self::splat(QUANTILE_SPLIT));
        let pick = |(a, b): (f32, f32)| centre.pick(Self::splat(a), Self::splat(b));
        let v = w.sqrt() - pick(QUANTILE_MID);
        let mut rest = QUANTILE.iter();
        let first = rest.next().copied().unwrap_or_default();
        let h = rest.fold(pick(first), |sum, &c| sum * v + pick(c));
        centre.pick(Self::splat(0.5) - p, Self::splat(1.0)) * h
    }

    /// √(−2 ln u) for u in [0, 1], the length of a pair of standard normals. The result is within 4·10⁻⁷ relative,
    /// and monotone. Any u below 2⁻⁶⁵ counts as 2⁻⁶⁵.
    #[inline(always)]
    pub fn normal_radius(self) -> Self {
        let Interleaved([one]) = Interleaved([self]).normal_radius();
        one
    }

    /// −ln(−ln(1−v)) for v in [0, 1]: the number that a standard Gumbel variable passes with probability v. Within 5·10⁻⁶
    /// absolute. Any v below 2⁻⁶⁵ counts as 2⁻⁶⁵, and 1 as 1 − 2⁻⁶⁵.
    #[inline(always)]
    pub(crate) fn gumbel_above(self) -> Self {
        let Interleaved([one]) = Interleaved([self]).gumbel_above();
        one
    }

    /// sin(πf/2) and cos(πf/2) for |f| ≤ 1: within 4·10⁻⁷ relative.
    #[inline(always)]
    pub fn quarter_turns(self) -> (Self, Self) {
        let (Interleaved([sin]), Interleaved([cos])) = Interleaved([self]).quarter_turns();
        (sin, cos)
    }
}
