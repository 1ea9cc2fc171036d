//! Which sites flip, from sixteen bits each.

use super::pass::{Choose, Odds};
use crate::lane::{Bits, F32s, LANES, Mask, PARTS, U32s};
use crate::random::{uniform, words};
use rand_core::Rng;

/// 2¹⁶.
const RANGE: f32 = 65_536.0;

/// Draws which sites flip, by words in which the low half is noise for the first block and the high half for the second.
///
/// The rarer outcome of a site (staying where it likely flips, else flipping) has probability `q = e/(1+e)`. A number
/// n of sixteen bits decides: it happens where n + 1 ≤ 2¹⁶q, and not where n ≥ 2¹⁶q. Between them, at one site in
/// 2¹⁶, more bits decide.
///
/// With `METROPOLIS` a site flips where it likely does, else with probability e. Without vector registers that copy of the code
/// looks at `metropolis` too, and does for both.
pub(super) struct Draw<'r, R: ?Sized, const METROPOLIS: bool> {
    rng: &'r mut R,
    noise: Bits,
    metropolis: bool,
}

impl<'r, R: Rng + ?Sized, const METROPOLIS: bool> Draw<'r, R, METROPOLIS> {
    pub(super) fn new(rng: &'r mut R, metropolis: bool) -> Self {
        Self { rng, noise: [0; LANES], metropolis }
    }
}

impl<R: Rng + ?Sized, const METROPOLIS: bool> Choose for Draw<'_, R, METROPOLIS> {
    #[inline(always)]
    fn flips(&mut self, _: u32, _: u32, odds: &Odds, part: usize) -> [Mask; 2] {
        if part == 0 {
            self.noise = words(self.rng);
        }
        let noise = U32s::load(&self.noise, part);
        let metropolis = METROPOLIS && (PARTS < LANES || self.metropolis);
        let of = |block: usize, number: U32s| {
            let ((e, likely), number) = (odds.of(block), F32s::from_i32(number));
            let one = F32s::splat(1.0);
            let (whole, most) = (if metropolis { one } else { one + e }, e * F32s::splat(RANGE));
            let product = number * whole;
            let rare = product.lt(most);
            let ties = rare & most.lt(product + whole);
            if metropolis { (rare | likely, ties & !likely) } else { (rare ^ likely, ties) }
        };
        let (low, ties) = of(0, noise & U32s::splat(0xFFFF));
        let (high, more) = of(1, noise.shr::<16>());
        if (ties | more).any() {
            let (of_low, of_high) = (odds.of(0), odds.of(1));
            // Made here, so that nothing goes to memory where there are no ties.
            let ties = Ties { ties: [ties, more], e: [of_low.0, of_high.0], likely: [of_low.1, of_high.1] };
            return ties.settle(metropolis, [low, high], &self.noise, part, self.rng);
        }
        [low, high]
    }
}

/// Where sixteen bits do not decide.
struct Ties {
    ties: [Mask; 2],
    e: [F32s; 2],
    likely: [Mask; 2],
}

impl Ties {
    /// The flips, those of ties by what 2¹⁶q has beyond n.
    #[cold]
    #[inline(never)]
    fn settle<R: Rng + ?Sized>(
        &self,
        metropolis: bool,
        flips: [Mask; 2],
        noise: &Bits,
        part: usize,
        rng: &mut R,
    ) -> [Mask; 2] {
        let mut e = [[0.0; LANES]; 2];
        e.iter_mut().zip(self.e).for_each(|(to, e)| e.store(to, part));
        let [low, high] = e;
        let bits = |masks: [Mask; 2]| masks.map(|mask| mask.bits(part));
        let (ties, likely, mut flips) = (bits(self.ties), bits(self.likely), bits(flips));
        for (lane, (e, noise)) in low.into_iter().zip(high).zip(noise).enumerate() {
            let of = [(e.0, noise & 0xFFFF), (e.1, noise >> 16)];
            for (((flips, ties), likely), (e, n)) in flips.iter_mut().zip(ties).zip(likely).zip(of) {
                if (ties >> lane) & 1 == 1 {
                    let of_rare = if metropolis { e } else { e / (1.0 + e) };
                    let rare = uniform(rng) < of_rare * RANGE - n as f32;
                    *flips = (*flips & !(1 << lane)) | (u32::from(rare) ^ ((likely >> lane) & 1)) << lane;
                }
            }
        }
        flips.map(|flips| Mask::from_bits(flips, part))
    }
}
