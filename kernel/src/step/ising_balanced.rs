//! The second-order balanced sampler for Ising models, edge by edge.

mod draw;
mod flips;
mod momentum;
mod pass;

use self::draw::Draw;
use self::flips::flip;
use self::pass::{Choose, Eta, Odds, Ways};
use super::langevin::{inverse, precision_value};
use super::momentum::Momentum;
use super::{Kernel, ParameterError, Transition};
use crate::accept::{Info, accept};
use crate::chain::{Ring, copy, momentum};
use crate::energy::Ising;
use crate::lane::{Block, F32s, LANES, Mask, PARTS, Product, i16s_mut};
use crate::noise::{Edgewise, Noise};
use crate::packed::{Packed, StateError};
use crate::random::DiscreteGaussian;
use rand_core::Rng;

/// AB-edge for Ising models: the distribution of [`Langevin::second_order`](super::Langevin::second_order) over an [`Edgewise`]
/// noise with other draws, at about half the cost (Sun and others 2023; METHODS.md §3).
///
/// Here W is the Hessian of `f = −E` itself. So the sum of gradient and noise at the far end differs from that at the
/// near end only by D: `g(y) + η' = g(x) + η − Dv`. A site that stays has the same log odds `z = αr − 1/2σ` both
/// ways, with `r = v(g + η) − ½D`. One that flips has `−z − 1/σ` on the way back. The ratio is a sum over the sites
/// that flip, with `s = 1/σ`:
///
/// ```text
/// ln A = Σ_flips [ (κ−α) r − ½s + ln( (1 + e^z) / (e^z + e^−s) ) ] + (1−κ) (f(y) − f(x))
/// ```
///
/// So a step has one gradient, one pass of weights and no product with W. That of the general kernel has two, two and one. At α
/// = κ = 1 and σ = ∞ every move is accepted. Log odds are cut to ±80 in the draw.
///
/// Cost a step: one normal an edge, or a whole number of sixteen bits ([`IsingBalanced::discrete`]), and half a word and an
/// exponential a site. A flip is O(degree), twice where it is rejected. No memory beside the chain's own and the noise's.
///
/// ```
/// use bitmc::noise::{Edgewise, Run, SparseMatrix};
/// use bitmc::step::IsingBalanced;
/// use bitmc::{Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, torus};
/// const L: Layout = Layout::binary(64);
/// let mut couplings = SparseMemory::<64, 256>::new();
/// let model = Ising::spins_edges_once(64, torus(8, 8, 0.44), &[], couplings.borrow())?;
/// let matrix = SparseMatrix::of(model.form());
/// let (mut d, mut runs) = ([[0.0; 16]; L.blocks()], [Run::default(); 40]);
/// let noise = Edgewise::new(matrix, &mut d)?.by_runs(&mut runs)?;
/// let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0)?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(64)), &mut rng)?;
/// assert!((0..100).all(|_| chain.step(&sampler, &mut rng).accepted));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The type says whether there may be [momentum](IsingBalanced::momentum), so that firmware without it has no code for it: 3 KB.
#[derive(Clone, Copy, Debug)]
pub struct IsingBalanced<'a, const MOMENTUM: bool = false> {
    noise: Edgewise<'a>,
    /// 1/σ.
    curvature: f32,
    balance: f32,
    precision: f32,
    grid: Option<Grid>,
    /// How much of the noise is kept from step to step.
    momentum: Option<Momentum>,
    /// Whether sites flip with min(1, e^z).
    metropolis: bool,
}

/// A move that is given, and the probability of what is chosen.
struct Given {
    metropolis: bool,
    rare: Product,
    all: Product,
    /// Whether it can be drawn.
    possible: bool,
}

impl Choose for &mut Given {
    fn flips(&mut self, there: u32, free: u32, odds: &Odds, part: usize) -> [Mask; 2] {
        let mut of = |block: usize| {
            if part == 0 {
                self.rare.next_block();
                self.all.next_block();
            }
            let mask = |bits: u32| Mask::from_bits(bits >> (LANES * block), part);
            let (flips, free, (e, likely)) = (mask(there), mask(free), odds.of(block));
            let one = F32s::splat(1.0);
            if self.metropolis {
                let sure = likely | !e.lt(one);
                self.possible &= !(free & sure & !flips).any();
                self.rare.times_where(free & !sure, flips.pick(e, one - e), part);
            } else {
                self.rare.times_where(free & (flips ^ likely), e, part);
                self.all.times_where(free, one + e, part);
            }
            flips
        };
        [of(0), of(1)]
    }
}

/// Whole numbers k, and what makes η of their sums.
#[derive(Clone, Copy, Debug)]
struct Grid {
    magnitude: f32,
    /// `e^(−κ|W|k²/2m²)`.
    gaussian: DiscreteGaussian,
    /// |W|/m.
    step: f32,
}

impl Grid {
    /// The coarsest grid, of m = 1, 2, 4 … parts of |W|, on which κ|W|/m² is at most 2. The variance of k is then
    /// within .2 % of that of the normals (METHODS.md §3).
    fn new(magnitude: f32, precision: f32) -> Result<Self, ParameterError> {
        let (mut step, mut precision_of) = (magnitude, magnitude * precision);
        while precision_of > 2.0 && precision_of.is_finite() {
            (step, precision_of) = (0.5 * step, 0.25 * precision_of);
        }
        let gaussian =
            DiscreteGaussian::new(precision_of).ok_or(ParameterError::WeakCoupling(magnitude * precision))?;
        Ok(Self { magnitude, gaussian, step })
    }
}

impl<'a> IsingBalanced<'a> {
    /// At step size σ and balance α. The noise must be made of the couplings of the very model that the chain is of:
    /// [`SparseMatrix::of`](crate::noise::SparseMatrix::of) its [`form`](Ising::form). A chain of another one refuses every
    /// step as a fault.
    ///
    /// # Errors
    /// [`ParameterError`] where σ is not positive (+∞ is allowed) or α is outside (0, 1].
    pub fn new(noise: Edgewise<'a>, step_size: f32, balance: f32) -> Result<Self, ParameterError> {
        if !(balance > 0.0 && balance <= 1.0) {
            return Err(ParameterError::Balance(balance));
        }
        let (curvature, precision) = (inverse(step_size)?, 1.0);
        Ok(Self { noise, curvature, balance, precision, grid: None, momentum: None, metropolis: false })
    }

    /// The same over a discrete Gaussian noise, for couplings of one magnitude |W|, as those of a lattice are. It is another
    /// proposal for the same stationary distribution, at .6 to .7 of the cost.
    ///
    /// The auxiliary variable need not be normal. Its density must fall with the square of its distance from `Lᵀx`, so that
    /// products of x cancel. That holds as well where it takes but the values of a grid, of which all the means `Lᵀx` are
    /// points. So an edge adds `(|W|/m) k` to the noise at its ends instead of `√(|W|/κ) ξ`. The whole numbers k are from a
    /// [`DiscreteGaussian`] of precision `λ = κ|W|/m²`. The grid has m = 1, 2, 4 … parts of |W|, the coarsest of λ ≤ 2. Log
    /// odds and the ratio are made of it as before. Every move is accepted at α = κ = 1 and σ = ∞. As many sites
    /// move: the variance of k is within .2 % of that of the normals.
    ///
    /// Cost: O(edges).
    ///
    /// # Errors
    /// As [`IsingBalanced::new`], and:
    /// * [`ParameterError::UnequalCouplings`] where couplings differ in magnitude, even by one unit of the model's
    ///   grid.
    /// * [`ParameterError::Degree`] where a site has more than 1,023 couplings.
    /// * [`ParameterError::WeakCoupling`] where |W| is below 1/16 or not finite. W is 4J for spins whose edges are
    ///   given once.
    ///
    /// ```
    /// use bitmc::noise::{Edgewise, SparseMatrix};
    /// use bitmc::step::{IsingBalanced, ParameterError};
    /// use bitmc::{Ising, SparseMemory};
    /// let mut couplings = SparseMemory::<3, 4>::new();
    /// let mut d = [[0.0; 16]; 1];
    /// let model = Ising::spins_edges_once(3, [(0, 1, 0.4), (1, 2, -0.4)], &[], couplings.borrow())?;
    /// let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d)?;
    /// IsingBalanced::discrete(noise, f32::INFINITY, 1.0)?;
    ///
    /// // Two magnitudes: normals, then.
    /// let model = Ising::spins_edges_once(3, [(0, 1, 0.4), (1, 2, -0.3)], &[], couplings.borrow())?;
    /// let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d)?;
    /// let refused = IsingBalanced::discrete(noise, f32::INFINITY, 1.0);
    /// assert!(matches!(refused, Err(ParameterError::UnequalCouplings)));
    /// refused.or_else(|_| IsingBalanced::new(noise, f32::INFINITY, 1.0))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn discrete(noise: Edgewise<'a>, step_size: f32, balance: f32) -> Result<Self, ParameterError> {
        let sampler = Self::new(noise, step_size, balance)?;
        let magnitude = noise.magnitude().ok_or(ParameterError::UnequalCouplings)?;
        if noise.degree() > DiscreteGaussian::MOST_ADDED {
            return Err(ParameterError::Degree(noise.degree()));
        }
        Ok(Self { grid: Some(Grid::new(magnitude, 1.0)?), ..sampler })
    }
}

impl<'a, const MOMENTUM: bool> IsingBalanced<'a, MOMENTUM> {
    /// The precision κ of the auxiliary variable: see [`Langevin::precision`](super::Langevin::precision).
    ///
    /// # Errors
    /// [`ParameterError::Precision`] where κ is not from 10⁻⁶ to 10⁶; of [`IsingBalanced::discrete`]
    /// [`ParameterError::WeakCoupling`] where κ|W| is below 1/16 or not finite.
    pub fn precision(mut self, precision: f32) -> Result<Self, ParameterError> {
        self.precision = precision_value(precision)?;
        self.grid = self.grid.map(|grid| Grid::new(grid.magnitude, precision)).transpose()?;
        Ok(self)
    }

    /// Keeps the share a of the noise from step to step, 0 ≤ a < 1: see
    /// [`Langevin::momentum`](super::Langevin::momentum). With [`IsingBalanced::discrete`] each whole number is kept
    /// with probability a, else drawn again. Kept ones are moved along and negated. There a is rounded to 2⁻¹⁶, and to
    /// 1 − 2⁻¹⁶ at most.
    ///
    /// The noise is in the chain's memory, behind its weights: [`IsingBalanced::weights_and_momentum`]. A chain without this
    /// room refuses every step as a fault. Cost beside a step without: O(sites), and of whole numbers O(edges).
    ///
    /// # Errors
    /// [`ParameterError::Momentum`] where a is not in [0, 1).
    pub fn momentum(self, keep: f32) -> Result<IsingBalanced<'a, true>, ParameterError> {
        let Self { noise, curvature, balance, precision, grid, metropolis, .. } = self;
        let momentum = Momentum::new(keep, &noise)?;
        Ok(IsingBalanced { noise, curvature, balance, precision, grid, momentum, metropolis })
    }

    /// How much is kept, if the type allows it.
    fn kept(&self) -> Option<&Momentum> {
        if MOMENTUM { self.momentum.as_ref() } else { None }
    }

    /// A site flips with probability min(1, e^z) in place of 1/(1 + e^(−z)):
    /// [`Langevin::metropolis_flips`](super::Langevin::metropolis_flips). Here no move is without a way back.
    ///
    /// # Errors
    /// [`ParameterError::MetropolisFlips`] where σ is below 1/80.
    pub fn metropolis_flips(mut self) -> Result<Self, ParameterError> {
        if self.curvature > pass::LIMIT {
            return Err(ParameterError::MetropolisFlips);
        }
        self.metropolis = true;
        Ok(self)
    }

    /// The probabilities of a move from the chain's state to `to`, without making it, given the noise `eta`. The
    /// noise is a draw from N(0, (W+D)/κ), as [`Noise::draw`] makes it, or from the grid of
    /// [`IsingBalanced::discrete`]. Its numbers are finite, and blocks that are missing are 0. The cost of a step.
    /// Where log odds are past ±80, the way there is that of the draw, which cuts them. The way back and the ratio
    /// are not cut.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition_given(
        &self,
        mut ring: Ring<'_, Ising<'_>>,
        to: Packed<'_>,
        eta: &[Block],
    ) -> Result<Transition, StateError> {
        ring.put(to)?;
        let mut possible = self.noise.is_of(ring.energy.form());
        let stranger = !possible;
        ring.core.weights_of = None;
        let difference = ring.arrive();
        let here = ring.here.words.iter().zip(ring.free);
        for (slot, (&here, &free)) in ring.there.words.iter_mut().zip(here) {
            *slot ^= here;
            possible &= *slot & !free == 0;
        }
        ring.there.weights.fill([0.0; LANES]);
        copy(ring.there.weights, eta);
        let (metropolis, one) = (self.metropolis, Product::one());
        let mut given = Given { metropolis, rare: one, all: one, possible: true };
        let ways = self.pass::<true, [Block; 2]>(&mut ring, 1.0, &mut given);
        let Given { rare, all, possible: drawn, .. } = given;
        possible &= drawn;
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

    /// `Σ_flips [ tilt · r − ½s + ln((1 + e^z)/(e^z + e^−s)) ]`; with min(1, e^z) `Σ_flips [ tilt · r + ½s − min(s, max(0, z+s)) ]`.
    fn way_back(&self, ways: &Ways, tilt: f32) -> f32 {
        let of_flip = if self.metropolis { 0.5 } else { -0.5 } * self.curvature;
        // Σ r may be infinite.
        let of_r = if tilt == 0.0 { 0.0 } else { tilt * ways.r.value() };
        of_r + of_flip * ways.flips as f32 + ways.gain.finish().ln()
    }

    /// A pass that draws which sites flip.
    fn go_over<E: Eta, R: Rng + ?Sized>(
        &self,
        ring: &mut Ring<'_, Ising<'_>>,
        scale: f32,
        rng: &mut R,
    ) -> Ways {
        // At α = κ and without a bound on the step the ratio is known, and a pass without it carries less along.
        let known = self.curvature == 0.0 && self.precision == self.balance;
        // A microcontroller has two passes in its flash: the next one does for all else. Two more would take 4 KB.
        if PARTS == LANES && !(known && E::WHOLE && !self.metropolis) {
            E::widen(ring.there.weights.get_mut(..ring.layout.blocks()).unwrap_or_default());
            return self.pass::<true, [Block; 2]>(ring, scale, Draw::<R, true>::new(rng, self.metropolis));
        }
        match (known, self.metropolis) {
            (true, false) => self.pass::<false, E>(ring, scale, Draw::<R, false>::new(rng, false)),
            (true, true) => self.pass::<false, E>(ring, scale, Draw::<R, true>::new(rng, true)),
            (false, false) => self.pass::<true, E>(ring, scale, Draw::<R, false>::new(rng, false)),
            (false, true) => self.pass::<true, E>(ring, scale, Draw::<R, true>::new(rng, true)),
        }
    }

    fn log_ratio(&self, ways: &Ways, difference: f32) -> f32 {
        self.way_back(ways, self.precision - self.balance) + (self.precision - 1.0) * difference
    }
}

impl<const MOMENTUM: bool> Kernel<Ising<'_>> for IsingBalanced<'_, MOMENTUM> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        let moves = self.kept().is_some();
        let no_room = moves && momentum(ring.layout, ring.planes).len() < self.momentum_blocks();
        if no_room || !self.noise.is_of(ring.energy.form()) {
            return ring.failed();
        }
        let ways = if let Some(grid) = &self.grid {
            if let Some(momentum) = self.kept() {
                self.refresh_whole(momentum, grid, &mut ring, rng);
            } else {
                let eta = i16s_mut(ring.there.weights).get_mut(..2 * LANES * ring.here.words.len());
                self.noise.draw_whole(&grid.gaussian, rng, eta.unwrap_or_default());
            }
            self.go_over::<[[i16; LANES]; 2], R>(&mut ring, grid.step, rng)
        } else {
            let blocks = ring.layout.blocks();
            self.noise.draw(rng, ring.there.weights.get_mut(..blocks).unwrap_or_default(), 1);
            let mut scale = F32s::splat(1.0 / self.precision).sqrt().first();
            if let Some(momentum) = self.kept() {
                self.refresh_floats(momentum, &mut ring);
                scale = 1.0;
            }
            self.go_over::<[Block; 2], R>(&mut ring, scale, rng)
        };
        // It moves here, and back where that is rejected: there has no state of its own.
        ring.core.weights_of = None;
        let legal = !moves || self.leave(&mut ring);
        let runs = self.noise.runs_for(ways.flips);
        let difference = ring.energy.form().value(flip(&mut ring, runs));
        let log_ratio = if legal { self.log_ratio(&ways, difference) } else { f32::NEG_INFINITY };
        let accepted = accept(log_ratio, rng);
        if accepted {
            ring.core.energy.add(difference);
            // A gradient that another kernel kept is of the state before.
            ring.core.slope = false;
        } else {
            flip(&mut ring, runs);
        }
        match (moves, accepted) {
            (true, true) => self.arrive(&mut ring),
            (true, false) => self.stay(&mut ring),
            (false, _) => (),
        }
        let info = Info { accepted: false, proposed: ways.flips, log_ratio, difference, fault: false };
        Info { accepted, ..ring.close(info) }
    }
}
