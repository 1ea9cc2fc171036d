//! The proposal over sites of many values: one site after another, nothing kept.
//!
//! Each site's gradient is computed, made into weights and used before the next one. So the room of one site serves
//! any number of sites, and a step takes two gradients instead of one.

use super::{Curvature, Langevin};
use crate::chain::{Momenta, Ring};
use crate::draw::{Domain, Logits, Row, Shape, Weighed};
use crate::energy::Energy;
use crate::lane::{Bits, Block, LogProduct};
use crate::noise::Noise;
use crate::packed::{Packed, set};
use rand_core::Rng;

impl<N: Noise> Langevin<'_, N> {
    /// Draws y; the product of its weights, or `None` where there are none to be had.
    pub(super) fn depart<E: Energy + ?Sized, R: Rng + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        rng: &mut R,
    ) -> Option<LogProduct> {
        if self.misfits(ring.layout) {
            return None;
        }
        if !ring.layout.row_is_site() {
            let planes = ring.layout.row_blocks();
            self.slopes(ring, |eta, kept| self.draw(rng, eta, kept, planes));
        }
        let layout = ring.layout;
        let (here, there) = (Packed::trusted(layout, ring.here.words), &mut *ring.there.words);
        let domain = Domain { free: Packed::trusted(layout, ring.free), arities: ring.energy.arities() };
        let weighed = self.pass(ring.energy, here, ring.here.cache, ring.here.weights, domain, |row, site| {
            let value = row.draw(rng);
            // The site and the value are within the layout: there is nothing to refuse.
            let _ = set(layout, there, site, value);
            value
        });
        ring.core.normaliser = weighed.normaliser;
        ring.core.weights_of = None;
        (!weighed.nan).then_some(weighed.chosen)
    }

    /// What [`Langevin::depart`] would have returned, had it drawn the state in `there`, with `given` as its noise.
    /// That is whether there are no weights, and the product of the chosen ones, or `None` if it never draws that
    /// state.
    pub(super) fn retrace<E: Energy + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        given: impl FnOnce(&mut [Block], Momenta<'_>),
    ) -> (bool, Option<LogProduct>) {
        if self.misfits(ring.layout) {
            return (true, None);
        }
        if !ring.layout.row_is_site() {
            self.slopes(ring, given);
        }
        let here = Packed::trusted(ring.layout, ring.here.words);
        let there = Packed::trusted(ring.layout, ring.there.words);
        let domain = Domain { free: Packed::trusted(ring.layout, ring.free), arities: ring.energy.arities() };
        let mut possible = true;
        let weighed = self.pass(ring.energy, here, ring.here.cache, ring.here.weights, domain, |row, site| {
            let value = there.get(site);
            possible &= row.weight(value) > 0.0;
            value
        });
        ring.core.normaliser = weighed.normaliser;
        ring.core.weights_of = None;
        (weighed.nan, possible.then_some(weighed.chosen))
    }

    /// Weighs every site at `at`. The closure `choose` says which value of a site enters `chosen`. The buffer
    /// `slopes` has the gradients of ordinal sites, or room for one categorical site.
    pub(super) fn pass<E: Energy + ?Sized>(
        &self,
        energy: &E,
        at: Packed<'_>,
        cache: &[Bits],
        slopes: &mut [Block],
        domain: Domain<'_>,
        mut choose: impl FnMut(&Row<'_>, usize) -> u32,
    ) -> Weighed {
        let layout = at.layout();
        let shape = Shape { balance: self.balance, window: self.window };
        let (mut normaliser, mut chosen, mut nan) = (LogProduct::ONE, LogProduct::ONE, false);
        for (site, here) in at.values().enumerate() {
            let (arity, c) = (domain.arity(layout, site), self.curvature_at(site));
            let row = Row::new(if domain.free.get(site) == 0 {
                Logits::held(here)
            } else if layout.row_is_site() {
                energy.gradient(at, cache, site..site + 1, slopes);
                Logits::categorical(slopes, here, arity, shape, c)
            } else {
                let gradient = slopes.as_flattened().get(site).copied().unwrap_or(f32::NAN);
                Logits::ordinal(gradient, here, arity, shape, c)
            });
            nan |= row.nan;
            normaliser = normaliser.times(LogProduct::new(row.sum(), 0));
            let weight = row.weight(choose(&row, site));
            if weight > 0.0 {
                chosen = chosen.times(LogProduct::new(weight, 0));
            }
        }
        Weighed { normaliser, chosen, nan, possible: true }
    }

    /// c of a site, D included.
    pub(super) fn curvature_at(&self, site: usize) -> f32 {
        let value = |of: &[Block]| of.as_flattened().get(site).copied().unwrap_or(0.0);
        let c = match self.curvature {
            Curvature::Same(c) => c,
            Curvature::Each(blocks) => value(blocks),
            Curvature::Times(factor, blocks) => factor * value(blocks),
        };
        self.noise.d().map_or(c, |d| c + self.balance * value(d))
    }
}
