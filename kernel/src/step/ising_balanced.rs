//! The second-order balanced sampler for Ising models, edge by edge.

use super::langevin::{inverse, precision_value};
use super::{Kernel, ParameterError, Transition};
use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{Block, F32s, LANES, Mask, PARTS, Product, Total, U32s, sum};
use crate::noise::{Edgewise, Noise};
use crate::packed::{Packed, StateError};
use crate::random::uniforms;
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
/// Blocks that are added up lane by lane before their sum goes to a total.
const BATCH: u32 = 16;

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
    /// [`ParameterError::Precision`] where κ or 1/κ is not positive and finite.
    pub fn precision(mut self, precision: f32) -> Result<Self, ParameterError> {
        self.precision = precision_value(precision)?;
        Ok(self)
    }

    /// The probabilities of a move from the chain's state to `to`, without making it, given that it drew `eta` from
    /// N(0, (W+D)/κ) ([`Noise::draw`]; blocks that are missing are 0). The cost of a step.
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
        let fault = !possible;
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
        let ways = self.pass(&mut ring, 1.0, |given, free, odds, part| {
            if part == 0 {
                rare.next_block();
                all.next_block();
            }
            let flips = Mask::from_bits(given, part);
            rare.times_where(free & (flips ^ odds.likely), odds.e, part);
            all.times_where(free, F32s::splat(1.0) + odds.e, part);
            flips
        });
        let log_forward = rare.finish().over(all.finish()).ln();
        let log_reverse = log_forward + self.way_back(&ways, -self.balance);
        let of = |value: f32| if possible { value } else { f32::NEG_INFINITY };
        Ok(Transition {
            log_forward: of(log_forward),
            log_reverse: of(log_reverse),
            difference,
            log_ratio: of(self.log_ratio(&ways, difference)),
            fault,
        })
    }

    /// Goes over all sites: `choose` is told the bits of there's words, which sites are free, and the odds of a part of a
    /// block, and says which sites flip; there's words are left with those that do. η is in there's weights, to be
    /// multiplied by `scale`.
    #[inline]
    fn pass(
        &self,
        ring: &mut Ring<'_, Ising<'_>>,
        scale: f32,
        mut choose: impl FnMut(u32, Mask, &Odds, usize) -> Mask,
    ) -> Ways {
        let (unit, scale) = (F32s::splat(ring.energy.form().unit()), F32s::splat(scale));
        let (balance, curvature) = (F32s::splat(self.balance), F32s::splat(0.5 * self.curvature));
        let (half, limit) = (F32s::splat(0.5), F32s::splat(LIMIT));
        // e^(−1/σ), of which the ratio knows where the step size has a bound.
        let bound = F32s::splat(-self.curvature.min(LIMIT)).exp_bounded();
        let bounded = self.curvature > 0.0;
        let mut ways = Ways::new();
        let blocks = ring.here.cache.iter().zip(ring.there.weights.iter());
        for (block, ((fields, eta), d)) in blocks.zip(self.noise.d().unwrap_or_default()).enumerate() {
            let (index, place) = (block / 2, LANES * (block % 2));
            let bits = |words: &[u32]| words.get(index).map_or(0, |word| (word >> place) & 0xFFFF);
            let (x, free, given) = (bits(ring.here.words), bits(ring.free), bits(ring.there.words));
            let mut flips = 0;
            for part in 0..PARTS {
                let (one, free) = (Mask::from_bits(x, part), Mask::from_bits(free, part));
                let h = F32s::from_i32(U32s::load(fields, part)) * unit + F32s::load(eta, part) * scale;
                let r = one.pick(-h, h) - half * F32s::load(d, part);
                let z = balance * r - curvature;
                let size = z.abs();
                let size = size.lt(limit).pick(size, limit);
                let odds = Odds { e: (-size).exp_bounded(), likely: F32s::splat(0.0).lt(z) };
                let flipped = free & choose(given, free, &odds, part);
                flips |= flipped.bits(part);
                ways.tilt(flipped, r, part);
                if bounded && flipped.any() {
                    ways.gain(flipped, &odds, bound, part);
                }
            }
            ways.flips += flips.count_ones();
            ways.next_block();
            if let Some(word) = ring.there.words.get_mut(index) {
                *word ^= (given ^ flips) << place;
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

/// The log odds z of flipping.
struct Odds {
    /// e^(−|z|).
    e: F32s,
    /// z > 0.
    likely: Mask,
}

/// What is added up over the sites that flip.
struct Ways {
    flips: u32,
    /// Σ r.
    r: Total,
    lanes: Block,
    blocks: u32,
    /// Π (1 + e^z)/(e^z + e^−s).
    gain: Product,
}

impl Ways {
    fn new() -> Self {
        Self { flips: 0, r: Total::new(0.0), lanes: [0.0; LANES], blocks: 0, gain: Product::one() }
    }

    #[inline(always)]
    fn tilt(&mut self, flipped: Mask, r: F32s, part: usize) {
        (F32s::load(&self.lanes, part) + flipped.keep(r.to_bits()).to_f32()).store(&mut self.lanes, part);
    }

    #[inline(always)]
    fn gain(&mut self, flipped: Mask, odds: &Odds, bound: F32s, part: usize) {
        let one = F32s::splat(1.0);
        let back = odds.likely.pick(one + bound * odds.e, odds.e + bound);
        self.gain.times_where(flipped, (one + odds.e) / back, part);
    }

    #[inline(always)]
    fn next_block(&mut self) {
        self.gain.next_block();
        self.blocks += 1;
        if self.blocks == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.r.add(sum(&self.lanes));
        (self.lanes, self.blocks) = ([0.0; LANES], 0);
    }
}

/// Flips the sites in there's words here, and moves the fields along: `E(after) − E(before)` in units.
#[inline]
fn flip(ring: &mut Ring<'_, Ising<'_>>) -> i64 {
    let fields = ring.here.cache.as_flattened_mut();
    let mut units = 0;
    for (index, (word, &flips)) in ring.here.words.iter_mut().zip(ring.there.words.iter()).enumerate() {
        units += ring.energy.follow(fields, index, *word, flips);
        *word ^= flips;
    }
    units
}

impl Kernel<Ising<'_>> for IsingBalanced<'_> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        if !self.noise.is_of(ring.energy.form()) {
            return ring.failed();
        }
        let blocks = ring.layout.blocks();
        self.noise.draw(rng, ring.there.weights.get_mut(..blocks).unwrap_or_default(), 1);
        let scale = F32s::splat(1.0 / self.precision).sqrt().first();
        let mut u = [0.0; LANES];
        let ways = self.pass(&mut ring, scale, |_, _, odds, part| {
            if part == 0 {
                u = uniforms(rng);
            }
            let rare = (F32s::load(&u, part) * (F32s::splat(1.0) + odds.e)).lt(odds.e);
            rare ^ odds.likely
        });
        // It moves here, and back where that is rejected: there has no state of its own.
        ring.core.weights_of = None;
        let difference = ring.energy.form().value(flip(&mut ring));
        let log_ratio = self.log_ratio(&ways, difference);
        let accepted = accept(log_ratio, rng);
        if accepted {
            ring.core.energy.add(difference);
        } else {
            flip(&mut ring);
        }
        ring.core.steps = ring.core.steps.wrapping_add(1);
        Info { accepted, proposed: ways.flips, log_ratio, difference, fault: false }
    }
}
