//! The auxiliary variable of AB-edge, kept from step to step.

use super::{Grid, IsingBalanced};
use crate::chain::{Memory, Ring, copy, momentum as room};
use crate::energy::Ising;
use crate::lane::{F32s, LANES, Mask, PARTS, U32s, i16s_mut};
use crate::layout::Layout;
use crate::noise::edges::changes;
use crate::noise::{Edgewise, Noise};
use crate::packed::Packed;
use crate::random::DiscreteGaussian;
use crate::step::momentum::{Momentum, over_precision};
use rand_core::Rng;

impl<const MOMENTUM: bool> IsingBalanced<'_, MOMENTUM> {
    /// Blocks of momentum in a chain's memory.
    #[must_use]
    pub fn momentum_blocks(&self) -> usize {
        match self.grid {
            Some(_) => self.noise.edges().div_ceil(2 * LANES),
            None => self.noise.d().unwrap_or_default().len(),
        }
    }

    /// Blocks of weights of a chain with momentum. Where edges keep whole numbers, that is 2 bytes an edge more. With
    /// up to two edges a site, the number is that of
    /// [`Memory::weights_and_momentum`](crate::Memory::weights_and_momentum).
    #[must_use]
    pub fn weights_and_momentum(&self, layout: Layout) -> usize {
        let (weights, momentum) = (Memory::weights(layout), self.momentum_blocks());
        let gradients = Memory::weights_and_gradients(layout).saturating_sub(weights);
        weights + if momentum < gradients { momentum } else { gradients + momentum }
    }

    /// The sums of whole numbers, of which some were kept.
    pub(super) fn refresh_whole<R: Rng + ?Sized>(
        &self,
        momentum: &Momentum,
        grid: &Grid,
        ring: &mut Ring<'_, Ising<'_>>,
        rng: &mut R,
    ) {
        let of = [grid.gaussian.precision().to_bits(), grid.step.to_bits(), self.noise.has_runs().into()];
        let kind = Some(momentum.whole(of, self.momentum_blocks()));
        let goes_on = core::mem::replace(&mut ring.core.momentum, kind) == kind;
        let kept = i16s_mut(room(ring.layout, ring.planes)).get_mut(..self.noise.edges()).unwrap_or_default();
        Edgewise::refresh(&grid.gaussian, if goes_on { momentum.of_65536() } else { 0 }, rng, kept);
        let eta = i16s_mut(ring.there.weights).get_mut(..2 * LANES * ring.here.words.len());
        self.noise.add_up(kept, eta.unwrap_or_default());
    }

    /// η of which some was kept, from the draws in there's weights.
    pub(super) fn refresh_floats(&self, momentum: &Momentum, ring: &mut Ring<'_, Ising<'_>>) {
        let blocks = self.momentum_blocks();
        let eta = ring.there.weights.get_mut(..blocks).unwrap_or_default();
        over_precision(eta, self.precision);
        let kind = momentum.floats(self.precision, blocks);
        momentum.refresh(kind, &mut ring.core.momentum, room(ring.layout, ring.planes), eta);
    }

    /// Before sites flip: moves whole numbers along, η to what does not change. False where a whole number is past those that
    /// are ever drawn: p of such a state is 0.
    pub(super) fn leave(&self, ring: &mut Ring<'_, Ising<'_>>) -> bool {
        if self.grid.is_none() {
            self.add_slopes(ring, 1.0);
            return true;
        }
        self.move_whole(ring, 1) <= DiscreteGaussian::MOST_DRAWN
    }

    /// After sites flipped: η' of what [`IsingBalanced::leave`] left.
    pub(super) fn arrive(&self, ring: &mut Ring<'_, Ising<'_>>) {
        if self.grid.is_none() {
            self.add_slopes(ring, -1.0);
        }
    }

    /// After sites flipped back: all as it was.
    pub(super) fn stay(&self, ring: &mut Ring<'_, Ising<'_>>) {
        if self.grid.is_none() {
            copy(room(ring.layout, ring.planes), ring.there.weights);
        } else {
            self.move_whole(ring, -1);
        }
    }

    fn move_whole(&self, ring: &mut Ring<'_, Ising<'_>>, sign: i16) -> u16 {
        let parts = self.grid.map_or(0.0, |grid| (grid.magnitude / grid.step).min(8192.0)) as i16;
        let blocks = ring.layout.blocks();
        let v = changes(ring.here.words, ring.there.words, sign * parts, blocks, ring.here.weights);
        let kept = i16s_mut(room(ring.layout, ring.planes)).get_mut(..self.noise.edges()).unwrap_or_default();
        self.noise.move_along(v, kept)
    }

    /// `η ← η ± (g + Dx)`: since `η' = η − (W+D)v` and `g(y) = g(x) + Wv`, a move changes none of the sum.
    fn add_slopes(&self, ring: &mut Ring<'_, Ising<'_>>, sign: f32) {
        let (unit, sign) = (F32s::splat(sign * ring.energy.form().unit()), F32s::splat(sign));
        let x = Packed::trusted(ring.layout, ring.here.words);
        let d = self.noise.d().unwrap_or_default();
        for (block, ((kept, fields), d)) in
            room(ring.layout, ring.planes).iter_mut().zip(ring.here.cache.iter()).zip(d).enumerate()
        {
            let up = x.bits(block);
            for part in 0..PARTS {
                let slope = F32s::from_i32(U32s::load(fields, part)) * unit;
                let pull = Mask::from_bits(up, part).keep(F32s::load(d, part).to_bits()).to_f32() * sign;
                (F32s::load(kept, part) + (slope + pull)).store(kept, part);
            }
        }
    }
}
