//! The weights that the discrete Langevin proposal is drawn by: here, and there for the way back.

use super::{Arrival, Curvature, Langevin};
use crate::chain::{Momenta, Ring, momentum};
use crate::draw::{Domain, Shape, Weighed, binary, metropolis, planes};
use crate::energy::Energy;
use crate::lane::{Block, F32s, PARTS};
use crate::layout::{Kind, Layout};
use crate::noise::{Noise, along};
use crate::packed::{Move, Packed};

impl<N: Noise> Langevin<'_, N> {
    /// Makes the weights at `here`, unless they are there from the step before. True where there can be none: a
    /// gradient is NaN, or the kernel does not fit the chain.
    #[inline]
    pub(super) fn weigh_here<E: Energy + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        draw: impl FnOnce(&mut [Block], Momenta<'_>),
    ) -> bool {
        if !N::SOME && ring.core.weights_of == Some(self.key) {
            return false;
        }
        if self.misfits(ring.layout) {
            return true;
        }
        self.slopes(ring, draw);
        let here = Packed::trusted(ring.layout, ring.here.words);
        let domain = Domain { free: Packed::trusted(ring.layout, ring.free), arities: ring.energy.arities() };
        // There is no move to score yet: `chosen` is not used.
        let weighed = self.weigh(ring.here.weights, here, here, domain);
        ring.core.normaliser = weighed.normaliser;
        // η is of this step only, and so are weights that know it.
        ring.core.weights_of = if weighed.nan || N::SOME { None } else { Some(self.key) };
        weighed.nan
    }

    /// ∂E/∂x − η at `here`, in place of its weights. With a noise, η comes from `draw` and is left in the
    /// weights of `there`, which nothing else needs before the gradient there.
    #[inline]
    pub(super) fn slopes<E: Energy + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        draw: impl FnOnce(&mut [Block], Momenta<'_>),
    ) {
        ring.gradient_here();
        if N::SOME {
            let eta = ring.there.weights.get_mut(..ring.layout.gradient_blocks()).unwrap_or_default();
            draw(eta, (&mut ring.core.momentum, momentum(ring.layout, ring.planes)));
            tilt(ring.here.weights, eta);
        }
    }

    /// Sets η ← η' = η − (W+D)v in the weights of `there`. Returns `κ(v·η − ½vᵀ(W+D)v) = ½κ v·(η + η')`. The way back
    /// has this number with the other sign, bit for bit.
    #[inline]
    pub(super) fn follow<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>) -> f32 {
        if !N::SOME || self.misfits(ring.layout) {
            return 0.0;
        }
        let planes = ring.layout.row_blocks();
        let step = Move::trusted(ring.layout, ring.here.words, ring.there.words);
        let eta = ring.there.weights.get_mut(..ring.layout.gradient_blocks()).unwrap_or_default();
        let before = along(&step, eta, planes);
        self.noise.follow(&step, eta, planes);
        0.5 * self.precision * (before + along(&step, eta, planes))
    }

    /// Makes weights of the gradient there, which is where [`Ring::gradient_there`] puts it.
    #[inline]
    pub(super) fn weigh_there<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>, difference: f32) -> Arrival {
        let here = Packed::trusted(ring.layout, ring.here.words);
        let there = Packed::trusted(ring.layout, ring.there.words);
        let domain = Domain { free: Packed::trusted(ring.layout, ring.free), arities: ring.energy.arities() };
        let weights = if N::SOME {
            let eta = ring.there.weights.get(..ring.layout.gradient_blocks()).unwrap_or_default();
            tilt(ring.here.weights, eta);
            &mut *ring.here.weights
        } else {
            &mut *ring.there.weights
        };
        let weighed = if ring.layout.many_values() {
            self.pass(ring.energy, there, ring.there.cache, weights, domain, |_, site| here.get(site))
        } else {
            self.weigh(weights, there, here, domain)
        };
        Arrival { difference, weighed }
    }

    /// Whether there are fewer curvatures than blocks of sites, a noise for another number of sites, or no room for one.
    pub(super) fn misfits(&self, layout: Layout) -> bool {
        let blocks = layout.blocks();
        let given = match self.curvature {
            Curvature::Same(_) => blocks,
            Curvature::Each(values) | Curvature::Times(_, values) => values.len(),
        };
        let short = given.min(self.noise.d().map_or(blocks, <[Block]>::len)) < blocks;
        let other = self.noise.sites().is_some_and(|sites| sites != layout.sites());
        let bits = layout.kind() == Kind::Binary;
        short || other || (N::SOME && (layout.row_is_site() || (self.metropolis && !bits)))
    }

    /// Turns gradients ∂E/∂x at `at` into weights, in place, and scores the move from `at` to `other`.
    #[inline]
    pub(super) fn weigh(
        &self,
        weights: &mut [Block],
        at: Packed<'_>,
        other: Packed<'_>,
        domain: Domain<'_>,
    ) -> Weighed {
        // A copy of its own where one number does for all sites and has to be read but once.
        if let (Kind::Binary, None, Curvature::Same(c)) = (at.layout().kind(), self.noise.d(), self.curvature) {
            let c = F32s::splat(c);
            return self.weigh_bits(weights, at, other, domain, |_, _| c);
        }
        let each = |block, part| self.curvature_of(block, part);
        if at.layout().kind() == Kind::Binary {
            return self.weigh_bits(weights, at, other, domain, each);
        }
        let shape = Shape { balance: self.balance, window: self.window };
        planes::weigh(weights, at, other, domain, shape, &each)
    }

    #[inline]
    fn weigh_bits(
        &self,
        weights: &mut [Block],
        at: Packed<'_>,
        other: Packed<'_>,
        domain: Domain<'_>,
        curvature: impl Fn(usize, usize) -> F32s,
    ) -> Weighed {
        if N::SOME && self.metropolis {
            return metropolis::weigh(weights, at, other, domain.free, self.balance, curvature);
        }
        binary::weigh(weights, at, other, domain.free, self.balance, curvature)
    }

    /// c = βD + 1/σ.
    #[inline]
    fn curvature_of(&self, block: usize, part: usize) -> F32s {
        let value = |of: &[Block]| of.get(block).map_or(F32s::splat(0.0), |values| F32s::load(values, part));
        let c = match self.curvature {
            Curvature::Same(c) => F32s::splat(c),
            Curvature::Each(values) => value(values),
            Curvature::Times(factor, values) => F32s::splat(factor) * value(values),
        };
        self.noise.d().map_or(c, |d| c + F32s::splat(self.balance) * value(d))
    }
}

/// ∂E/∂x − η.
#[inline]
fn tilt(gradients: &mut [Block], eta: &[Block]) {
    for (gradient, eta) in gradients.iter_mut().zip(eta) {
        for part in 0..PARTS {
            (F32s::load(gradient, part) - F32s::load(eta, part)).store(gradient, part);
        }
    }
}
