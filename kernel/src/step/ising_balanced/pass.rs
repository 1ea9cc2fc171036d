//! One pass over all sites: their log odds of flipping, and what the ratio needs of those that flip.

use super::IsingBalanced;
use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{Block, F32s, Interleaved, LANES, Mask, PARTS, Product, Total, U32s, i16s, sum};
use crate::noise::Noise;
use core::f32::consts::LOG2_E;

/// Log odds are cut to this.
pub(super) const LIMIT: f32 = 80.0;
/// Words whose sites are added up lane by lane before their sum goes to a total.
const BATCH: u32 = 8;
const SIGN: u32 = 0x8000_0000;

/// η of the two blocks of a word.
pub(super) trait Eta: Sized {
    /// Whether they are whole numbers.
    const WHOLE: bool;

    /// Makes floats of those that lie in weights.
    fn widen(weights: &mut [Block]);

    /// Those of `whole` words that lie in weights, and that of the word behind them, which may have one block.
    fn of(weights: &[Block], whole: usize) -> (&[Self], Self);

    fn load(&self, part: usize) -> [F32s; 2];
}

/// A float a site.
impl Eta for [Block; 2] {
    const WHOLE: bool = false;

    fn widen(_: &mut [Block]) {}

    fn of(weights: &[Block], whole: usize) -> (&[Self], Self) {
        let (words, last) = weights.split_at_checked(2 * whole).unwrap_or_default();
        (words.as_chunks().0, alone(last))
    }

    #[inline(always)]
    fn load(&self, part: usize) -> [F32s; 2] {
        let [low, high] = self;
        [F32s::load(low, part), F32s::load(high, part)]
    }
}

/// A whole number a site.
impl Eta for [[i16; LANES]; 2] {
    const WHOLE: bool = true;

    /// From the last block on: what it takes the room of has been read.
    fn widen(weights: &mut [Block]) {
        for block in (0..weights.len()).rev() {
            let whole = i16s(weights).as_chunks::<LANES>().0.get(block).copied();
            if let (Some(to), Some(whole)) = (weights.get_mut(block), whole) {
                *to = whole.map(f32::from);
            }
        }
    }

    fn of(weights: &[Block], whole: usize) -> (&[Self], Self) {
        let (blocks, _) = i16s(weights).as_chunks::<LANES>();
        let (words, last) = blocks.as_chunks().0.split_at_checked(whole).unwrap_or_default();
        (words, last.first().copied().unwrap_or_default())
    }

    #[inline(always)]
    fn load(&self, part: usize) -> [F32s; 2] {
        let [low, high] = self;
        [F32s::from_i32(U32s::load_i16s(low, part)), F32s::from_i32(U32s::load_i16s(high, part))]
    }
}

/// Says which sites flip where they are free.
pub(super) trait Choose {
    /// In a part of the two blocks of a word, given the bits of there's word, which sites are free, and the odds.
    fn flips(&mut self, there: u32, free: u32, odds: &Odds, part: usize) -> [Mask; 2];
}

impl<const MOMENTUM: bool> IsingBalanced<'_, MOMENTUM> {
    /// Goes over all sites; there's words are left with those that flip. η is in there's weights, as numbers E to be
    /// multiplied by `scale`. What the ratio needs of those that flip is added up where `WEIGHED`.
    #[inline]
    pub(super) fn pass<const WEIGHED: bool, E: Eta>(
        &self,
        ring: &mut Ring<'_, Ising<'_>>,
        scale: f32,
        mut choose: impl Choose,
    ) -> Ways {
        let weigher = Weigher {
            unit: F32s::splat(ring.energy.form().unit()),
            scale: F32s::splat(scale),
            balance: F32s::splat(self.balance * LOG2_E),
            half_curvature: F32s::splat(0.5 * self.curvature * LOG2_E),
        };
        // e^(−1/σ), of which the ratio knows where the step size has a bound.
        let bound = F32s::splat(-self.curvature.min(LIMIT)).exp_bounded();
        let bounded = self.curvature > 0.0;
        let mut ways = Ways::new();
        let (d, last_d) = self.noise.d().unwrap_or_default().as_chunks::<2>();
        let (fields, last_fields) = ring.here.cache.as_chunks::<2>();
        let (eta, last_eta) = E::of(ring.there.weights, fields.len());
        let last = (alone(last_fields), last_eta, alone(last_d));
        let last = (!last_fields.is_empty()).then_some(((&last.0, &last.1), &last.2));
        let blocks = fields.iter().zip(eta).zip(d).chain(last);
        let words = ring.here.words.iter().zip(ring.free).zip(ring.there.words.iter_mut());
        for (((fields, eta), d), ((&x, &free), word)) in blocks.zip(words) {
            let mut flips = 0;
            for part in 0..PARTS {
                let masks = |bits: u32| [Mask::from_bits(bits, part), Mask::from_bits(bits >> LANES, part)];
                let load = |[low, high]: &[Block; 2]| [F32s::load(low, part), F32s::load(high, part)];
                let [low, high] = fields;
                let fields = [U32s::load(low, part), U32s::load(high, part)];
                let (r, odds) = weigher.of_word(fields, eta.load(part), load(d), masks(x));
                let [low, high] = choose.flips(*word, free, &odds, part);
                flips |= (low.bits(part) | (high.bits(part) << LANES)) & free;
                if WEIGHED {
                    ways.add(masks(flips), r, bounded.then_some((&odds, bound, self.metropolis)), part);
                }
            }
            *word = flips;
            ways.flips += word.count_ones();
            if WEIGHED {
                ways.next_word();
            }
        }
        ways.flush();
        ways
    }
}

/// The last block, where it has a word to itself.
fn alone<T: Copy + Default>(last: &[[T; LANES]]) -> [[T; LANES]; 2] {
    [last.first().copied().unwrap_or_default(), [T::default(); LANES]]
}

/// What r and z are made of.
struct Weigher {
    unit: F32s,
    scale: F32s,
    /// α, and 1/2σ: of log odds to base 2, whose exponential is the cheapest.
    balance: F32s,
    half_curvature: F32s,
}

impl Weigher {
    /// r and the odds of both blocks of a word: interleaved, and one after the other where registers are one lane.
    #[inline(always)]
    fn of_word(&self, fields: [U32s; 2], eta: [F32s; 2], d: [F32s; 2], x: [Mask; 2]) -> ([F32s; 2], Odds) {
        if PARTS == 1 {
            let (r, e, likely) =
                self.weigh(Interleaved(fields), Interleaved(eta), Interleaved(d), Interleaved(x));
            return (r.0, Odds { e: e.0, likely: likely.0 });
        }
        let one =
            |f, eta, d, x| self.weigh(Interleaved([f]), Interleaved([eta]), Interleaved([d]), Interleaved([x]));
        let ([f0, f1], [eta0, eta1], [d0, d1], [x0, x1]) = (fields, eta, d, x);
        let (Interleaved([r0]), Interleaved([e0]), Interleaved([likely0])) = one(f0, eta0, d0, x0);
        let (Interleaved([r1]), Interleaved([e1]), Interleaved([likely1])) = one(f1, eta1, d1, x1);
        ([r0, r1], Odds { e: [e0, e1], likely: [likely0, likely1] })
    }

    /// r, e^(−|z|), and whether z > 0, from fields, η, D and values.
    #[inline(always)]
    fn weigh<const N: usize>(
        &self,
        fields: Interleaved<U32s, N>,
        eta: Interleaved<F32s, N>,
        d: Interleaved<F32s, N>,
        x: Interleaved<Mask, N>,
    ) -> (Interleaved<F32s, N>, Interleaved<F32s, N>, Interleaved<Mask, N>) {
        let sign = U32s::splat(SIGN);
        let h = fields.i32_to_f32() * self.unit + eta * self.scale;
        let r = (h.to_bits() ^ x.keep(Interleaved::splat(sign))).to_f32() - d * F32s::splat(0.5);
        let z = r * self.balance - self.half_curvature;
        let below = (z.to_bits() | sign).to_f32().max(F32s::splat(-LIMIT * LOG2_E));
        (r, below.exp2_bounded(), z.positive())
    }
}

/// The log odds z of flipping, of two blocks.
pub(super) struct Odds {
    /// e^(−|z|).
    e: [F32s; 2],
    /// z > 0.
    likely: [Mask; 2],
}

impl Odds {
    /// Those of one of the blocks.
    #[inline(always)]
    pub(super) fn of(&self, block: usize) -> (F32s, Mask) {
        let ([low, high], [likely, beside]) = (self.e, self.likely);
        if block == 0 { (low, likely) } else { (high, beside) }
    }
}

/// What is added up over the sites that flip.
pub(super) struct Ways {
    pub(super) flips: u32,
    /// Σ r.
    pub(super) r: Total,
    lanes: Block,
    words: u32,
    /// Π (1 + e^z)/(e^z + e^−s); with min(1, e^z) Π e^(−min(s, max(0, z+s))).
    pub(super) gain: Product,
}

impl Ways {
    fn new() -> Self {
        Self { flips: 0, r: Total::new(0.0), lanes: [0.0; LANES], words: 0, gain: Product::one() }
    }

    /// What flips in two blocks: their r, and their odds where the step has a bound e^(−s).
    #[inline(always)]
    fn add(&mut self, flipped: [Mask; 2], r: [F32s; 2], odds: Option<(&Odds, F32s, bool)>, part: usize) {
        let one = F32s::splat(1.0);
        for (block, (flipped, r)) in flipped.into_iter().zip(r).enumerate() {
            if !flipped.any() {
                continue;
            }
            (F32s::load(&self.lanes, part) + flipped.keep(r.to_bits()).to_f32()).store(&mut self.lanes, part);
            if let Some((odds, bound, metropolis)) = odds {
                let (e, likely) = odds.of(block);
                if metropolis {
                    let back = bound / e;
                    self.gain.times_where(flipped, likely.pick(bound, back.lt(one).pick(back, one)), part);
                    continue;
                }
                let back = likely.pick(one + bound * e, e + bound);
                self.gain.times_where(flipped, (one + e) / back, part);
            }
        }
    }

    #[inline(always)]
    fn next_word(&mut self) {
        self.gain.next_block();
        self.gain.next_block();
        self.words += 1;
        if self.words == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.r.add(sum(&self.lanes));
        (self.lanes, self.words) = ([0.0; LANES], 0);
    }
}
