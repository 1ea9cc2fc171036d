//! The second-order balanced sampler for Ising models, edge by edge.

mod flips;

use self::flips::flip;
use super::langevin::{inverse, precision_value};
use super::{Kernel, ParameterError, Transition};
use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{Abreast, Block, F32s, LANES, Mask, PARTS, Product, Total, U32s, sum};
use crate::noise::{Edgewise, Noise};
use crate::packed::{Packed, StateError};
use crate::random::uniforms;
use core::f32::consts::LOG2_E;
use rand_core::Rng;

/// AB-edge for Ising models: the law of [`Langevin::second_order`](super::Langevin::second_order) over an [`Edgewise`]
/// noise with other draws, at about half the cost (Sun and others 2023; METHODS.md §3).
///
/// Where W is the Hessian of `f = −E` itself, the gradient and the noise at the far end are those at the near end but
/// for D: `g(y) + η' = g(x) + η − Dv`. Then a site that stays has the same log odds `z = αr − 1/2σ` both ways, with
/// `r = v(g + η) − ½D`, one that flips has `−z − 1/σ` on the way back, and the ratio is a sum over the sites that flip,
/// `s = 1/σ`:
///
/// ```text
/// ln A = Σ_flips [ (κ−α) r − ½s + ln( (1 + e^z) / (e^z + e^−s) ) ] + (1−κ) (f(y) − f(x))
/// ```
///
/// So a step has one gradient and one pass of weights and no product with W, where that of the general kernel has two of
/// each and one. At α = κ = 1 and σ = ∞ every move is accepted. Log odds are cut to ±80 in the draw.
///
/// Cost a step: one normal an edge, a uniform and an exponential a site, O(degree) a flip, twice where it is rejected.
/// No memory beside the chain's own and the noise's.
///
/// ```
/// use bitmc::noise::{Edgewise, Run, SparseMatrix};
/// use bitmc::step::IsingBalanced;
/// use bitmc::{Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, torus};
/// const L: Layout = Layout::binary(64);
/// let mut couplings = SparseMemory::<64, 256>::new();
/// let model = Ising::spins_edges_once(torus(8, 8, 0.44), &[0.0; 64], couplings.lend())?;
/// let matrix = SparseMatrix::of(model.form());
/// let (mut d, mut runs) = ([[0.0; 16]; L.blocks()], [Run::default(); 40]);
/// let noise = Edgewise::new(matrix, &mut d)?.by_runs(&mut runs)?;
/// let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0)?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(64)), &mut rng)?;
/// assert!((0..100).all(|_| chain.step(&sampler, &mut rng).accepted));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IsingBalanced<'a> {
    noise: Edgewise<'a>,
    /// 1/σ.
    curvature: f32,
    balance: f32,
    precision: f32,
}

/// Log odds are cut to this.
const LIMIT: f32 = 80.0;
/// Words whose sites are added up lane by lane before their sum goes to a total.
const BATCH: u32 = 8;
const SIGN: u32 = 0x8000_0000;

impl<'a> IsingBalanced<'a> {
    /// At step size σ and balance α. The noise must be made of the couplings of the very model that the chain is of
    /// ([`SparseMatrix::of`](crate::noise::SparseMatrix::of) its [`form`](Ising::form)): a chain of another one refuses
    /// every step as a fault.
    ///
    /// # Errors
    /// [`ParameterError`] where σ is not positive (+∞ is allowed) or α is outside (0, 1].
    pub fn new(noise: Edgewise<'a>, step_size: f32, balance: f32) -> Result<Self, ParameterError> {
        if !(balance > 0.0 && balance <= 1.0) {
            return Err(ParameterError::Balance(balance));
        }
        Ok(Self { noise, curvature: inverse(step_size)?, balance, precision: 1.0 })
    }

    /// The precision κ of the auxiliary variable: see [`Langevin::precision`](super::Langevin::precision).
    ///
    /// # Errors
    /// [`ParameterError::Precision`] where κ is not from 10⁻⁶ to 10⁶.
    pub fn precision(mut self, precision: f32) -> Result<Self, ParameterError> {
        self.precision = precision_value(precision)?;
        Ok(self)
    }

    /// The probabilities of a move from the chain's state to `to`, without making it, given that it drew `eta` from
    /// N(0, (W+D)/κ) ([`Noise::draw`]: finite numbers; blocks that are missing are 0). The cost of a step. Where log odds
    /// are past ±80, the way there is that of the draw, which cuts them, the way back and the ratio are not cut.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition_given(
        &self,
        mut ring: Ring<'_, Ising<'_>>,
        to: Packed<'_>,
        eta: &[Block],
    ) -> Result<Transition, StateError> {
        let to = to.of(ring.layout)?;
        let mut possible = self.noise.is_of(ring.energy.form());
        let stranger = !possible;
        ring.there.words.iter_mut().zip(to.words()).for_each(|(slot, &word)| *slot = word);
        ring.core.weights_of = None;
        let difference = ring.arrive();
        let here = ring.here.words.iter().zip(ring.free);
        for (slot, (&here, &free)) in ring.there.words.iter_mut().zip(here) {
            *slot ^= here;
            possible &= *slot & !free == 0;
        }
        let eta = eta.iter().copied().chain(core::iter::repeat([0.0; LANES]));
        ring.there.weights.iter_mut().zip(eta).for_each(|(slot, block)| *slot = block);
        let (mut rare, mut all) = (Product::one(), Product::one());
        let ways = self.pass::<true>(&mut ring, 1.0, |given, free, odds, part| {
            let mut of = |block: usize| {
                if part == 0 {
                    rare.next_block();
                    all.next_block();
                }
                let mask = |bits: u32| Mask::from_bits(bits >> (LANES * block), part);
                let (flips, free, (e, likely)) = (mask(given), mask(free), odds.of(block));
                rare.times_where(free & (flips ^ likely), e, part);
                all.times_where(free, F32s::splat(1.0) + e, part);
                flips
            };
            [of(0), of(1)]
        });
        let log_forward = rare.finish().over(all.finish()).ln();
        let log_reverse = log_forward + self.way_back(&ways, -self.balance);
        let log_ratio = self.log_ratio(&ways, difference);
        let fault = stranger || log_ratio.is_nan();
        let of = |value: f32| if possible { value } else { f32::NEG_INFINITY };
        Ok(Transition {
            log_forward: of(log_forward),
            log_reverse: of(log_reverse),
            difference,
            log_ratio: if fault { f32::NEG_INFINITY } else { of(log_ratio) },
            fault,
        })
    }

    /// Goes over all sites: `choose` is told the bits of there's words and which sites are free in the two blocks of a
    /// word, and the odds of a part of both, and says which sites flip where they are free; there's words are left with
    /// those that do. η is in there's weights, to be multiplied by `scale`. What the ratio needs of those that flip is
    /// added up where `WEIGHED`.
    #[inline]
    fn pass<const WEIGHED: bool>(
        &self,
        ring: &mut Ring<'_, Ising<'_>>,
        scale: f32,
        mut choose: impl FnMut(u32, u32, &Odds, usize) -> [Mask; 2],
    ) -> Ways {
        let law = Law {
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
        let (eta, last_eta) = ring.there.weights.as_chunks::<2>();
        let last = (alone(last_fields), alone(last_eta), alone(last_d));
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
                let (r, odds) = law.of_word(fields, load(eta), load(d), masks(x));
                let [low, high] = choose(*word, free, &odds, part);
                flips |= (low.bits(part) | (high.bits(part) << LANES)) & free;
                if WEIGHED {
                    ways.add(masks(flips), r, bounded.then_some((&odds, bound)), part);
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

    /// `Σ_flips [ tilt · r − ½s + ln((1 + e^z)/(e^z + e^−s)) ]`.
    fn way_back(&self, ways: &Ways, tilt: f32) -> f32 {
        tilt * ways.r.value() - 0.5 * self.curvature * ways.flips as f32 + ways.gain.finish().ln()
    }

    fn log_ratio(&self, ways: &Ways, difference: f32) -> f32 {
        self.way_back(ways, self.precision - self.balance) + (self.precision - 1.0) * difference
    }
}

/// The last block, where it has a word to itself.
fn alone<T: Copy + Default>(last: &[[T; LANES]]) -> [[T; LANES]; 2] {
    [last.first().copied().unwrap_or_default(), [T::default(); LANES]]
}

/// What r and z are made of.
struct Law {
    unit: F32s,
    scale: F32s,
    /// α, and 1/2σ: of log odds to base 2, whose exponential is the cheapest.
    balance: F32s,
    half_curvature: F32s,
}

impl Law {
    /// r and the odds of both blocks of a word: abreast, and one after the other where registers are one lane.
    #[inline(always)]
    fn of_word(&self, fields: [U32s; 2], eta: [F32s; 2], d: [F32s; 2], x: [Mask; 2]) -> ([F32s; 2], Odds) {
        if PARTS == 1 {
            let (r, e, likely) = self.weigh(Abreast(fields), Abreast(eta), Abreast(d), Abreast(x));
            return (r.0, Odds { e: e.0, likely: likely.0 });
        }
        let one = |f, eta, d, x| self.weigh(Abreast([f]), Abreast([eta]), Abreast([d]), Abreast([x]));
        let ([f0, f1], [eta0, eta1], [d0, d1], [x0, x1]) = (fields, eta, d, x);
        let (Abreast([r0]), Abreast([e0]), Abreast([likely0])) = one(f0, eta0, d0, x0);
        let (Abreast([r1]), Abreast([e1]), Abreast([likely1])) = one(f1, eta1, d1, x1);
        ([r0, r1], Odds { e: [e0, e1], likely: [likely0, likely1] })
    }

    /// r, e^(−|z|), and whether z > 0, from fields, η, D and values.
    #[inline(always)]
    fn weigh<const N: usize>(
        &self,
        fields: Abreast<U32s, N>,
        eta: Abreast<F32s, N>,
        d: Abreast<F32s, N>,
        x: Abreast<Mask, N>,
    ) -> (Abreast<F32s, N>, Abreast<F32s, N>, Abreast<Mask, N>) {
        let sign = U32s::splat(SIGN);
        let h = fields.i32_to_f32() * self.unit + eta * self.scale;
        let r = (h.to_bits() ^ x.keep(Abreast::splat(sign))).to_f32() - d * F32s::splat(0.5);
        let z = r * self.balance - self.half_curvature;
        let below = (z.to_bits() | sign).to_f32().max(F32s::splat(-LIMIT * LOG2_E));
        (r, below.exp2_bounded(), z.positive())
    }
}

/// The log odds z of flipping, of two blocks.
struct Odds {
    /// e^(−|z|).
    e: [F32s; 2],
    /// z > 0.
    likely: [Mask; 2],
}

impl Odds {
    /// Those of one of the blocks.
    #[inline(always)]
    fn of(&self, block: usize) -> (F32s, Mask) {
        let ([low, high], [likely, beside]) = (self.e, self.likely);
        if block == 0 { (low, likely) } else { (high, beside) }
    }
}

/// What is added up over the sites that flip.
struct Ways {
    flips: u32,
    /// Σ r.
    r: Total,
    lanes: Block,
    words: u32,
    /// Π (1 + e^z)/(e^z + e^−s).
    gain: Product,
}

impl Ways {
    fn new() -> Self {
        Self { flips: 0, r: Total::new(0.0), lanes: [0.0; LANES], words: 0, gain: Product::one() }
    }

    /// What flips in two blocks: their r, and their odds where the step has a bound e^(−s).
    #[inline(always)]
    fn add(&mut self, flipped: [Mask; 2], r: [F32s; 2], odds: Option<(&Odds, F32s)>, part: usize) {
        let one = F32s::splat(1.0);
        for (block, (flipped, r)) in flipped.into_iter().zip(r).enumerate() {
            if !flipped.any() {
                continue;
            }
            (F32s::load(&self.lanes, part) + flipped.keep(r.to_bits()).to_f32()).store(&mut self.lanes, part);
            if let Some((odds, bound)) = odds {
                let (e, likely) = odds.of(block);
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

impl Kernel<Ising<'_>> for IsingBalanced<'_> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        if !self.noise.is_of(ring.energy.form()) {
            return ring.failed();
        }
        let blocks = ring.layout.blocks();
        self.noise.draw(rng, ring.there.weights.get_mut(..blocks).unwrap_or_default(), 1);
        let scale = F32s::splat(1.0 / self.precision).sqrt().first();
        let mut u = [[0.0; LANES]; 2];
        let choose = |_, _, odds: &Odds, part| {
            if part == 0 {
                u = [uniforms(rng), uniforms(rng)];
            }
            let [low, high] = &u;
            let flips = |u: &Block, (e, likely): (F32s, Mask)| {
                (F32s::load(u, part) * (F32s::splat(1.0) + e)).lt(e) ^ likely
            };
            [flips(low, odds.of(0)), flips(high, odds.of(1))]
        };
        // At α = κ and without a bound on the step the ratio is known, and a pass without it carries less along.
        let weighed = self.curvature > 0.0 || self.precision != self.balance;
        let ways = if weighed {
            self.pass::<true>(&mut ring, scale, choose)
        } else {
            self.pass::<false>(&mut ring, scale, choose)
        };
        // It moves here, and back where that is rejected: there has no state of its own.
        ring.core.weights_of = None;
        let runs = self.noise.runs_for(ways.flips);
        let difference = ring.energy.form().value(flip(&mut ring, runs));
        let log_ratio = self.log_ratio(&ways, difference);
        let accepted = accept(log_ratio, rng);
        if accepted {
            ring.core.energy.add(difference);
        } else {
            flip(&mut ring, runs);
        }
        let info = Info { accepted, proposed: ways.flips, log_ratio, difference, fault: log_ratio.is_nan() };
        ring.close(Info { accepted: false, ..info });
        info
    }
}
