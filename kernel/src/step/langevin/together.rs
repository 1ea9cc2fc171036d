//! Several chains of one energy, step by step together.

use super::{Arrival, Langevin, shift};
use crate::accept::Info;
use crate::chain::{Chain, Ring};
use crate::draw::Domain;
use crate::energy::{Energy, Slope};
use crate::lane::{Bits, Block};
use crate::packed::Packed;
use rand_core::Rng;

impl Langevin<'_> {
    /// One transition of each of several chains: the same, bit for bit, as [`Chain::step`] of each with its own
    /// generator, whatever runs beside it. Only the gradients at the proposals are asked for at once
    /// ([`Energy::gradients`]), which is what an [`Rbm`](crate::Rbm) and a
    /// [`CoarseRbm`](crate::energy::CoarseRbm) make good use of: they read their weights once for several chains.
    /// Chains of other energies, or of several, may be given all the same.
    ///
    /// ```
    /// # use bitmc::energy::pack_rows;
    /// use bitmc::{Chain, LaneRng, Langevin, Layout, Rbm, memory};
    /// # let (mut weights, mut hidden) = ([[0.0; 16]; 3], [[0.0; 16]]);
    /// # pack_rows(&[0.5, -1.0, 0.25, 0.0, 1.5, -0.5], 2, &mut weights)?;
    /// # pack_rows(&[0.1, -0.2], 2, &mut hidden)?;
    /// # let model = Rbm::new(&weights, &[0.3, -0.4, 0.0], &hidden, 2)?;
    /// const L: Layout = Layout::binary(3);
    /// let mut rngs = [0, 1, 2, 3].map(|stream| LaneRng::stream(1, stream));
    /// let start = |rng| Chain::random(&model, memory!(L, Rbm::cache_len(2)), rng).unwrap();
    /// let mut chains = rngs.each_mut().map(start);
    /// let sampler = Langevin::adjusted(0.5)?;
    /// for _ in 0..100 {
    ///     sampler.step_together(&mut chains, &mut rngs);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step_together<E, W, C, B, R, const N: usize>(
        &self,
        chains: &mut [Chain<'_, E, W, C, B>; N],
        rngs: &mut [R; N],
    ) -> [Info; N]
    where
        E: Energy + ?Sized,
        W: AsMut<[u32]> + AsRef<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]>,
        R: Rng,
    {
        let mut rings = chains.each_mut().map(Chain::ring);
        let mut proposals = [None; N];
        for ((proposal, ring), rng) in proposals.iter_mut().zip(&mut rings).zip(rngs.iter_mut()) {
            *proposal = self.propose(ring, rng).map(|chosen| (chosen, ring.distance()));
        }
        let known = if proposals.iter().all(Option::is_some) { arrive(&mut rings) } else { None };
        let mut rest = proposals.into_iter().zip(rngs).enumerate();
        rings.map(|mut ring| {
            let Some((number, (Some((chosen, proposed)), rng))) = rest.next() else { return ring.failed() };
            let arrival = match known.as_ref().and_then(|differences| differences.get(number)) {
                Some(&difference) => self.weigh_there(&mut ring, difference),
                None => self.arrive(&mut ring),
            };
            self.settle(ring, chosen, proposed, &arrival, rng)
        })
    }

    /// Makes weights of the gradient there.
    fn weigh_there<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>, difference: f32) -> Arrival {
        let here = Packed::trusted(ring.layout, ring.here.words);
        let there = Packed::trusted(ring.layout, ring.there.words);
        let domain = Domain { free: Packed::trusted(ring.layout, ring.free), arities: ring.energy.arities() };
        Arrival { difference, auxiliary: 0.0, weighed: self.weigh(ring.there.weights, there, here, domain) }
    }
}

/// Moves the caches of all proposals along, and puts the gradients in place of the weights there: E(there) − E(here)
/// of each. `None` where that is to be done one by one: the energies are not the same, a proposal is forbidden, or
/// sites of many values come one at a time.
fn arrive<E: Energy + ?Sized, const N: usize>(rings: &mut [Ring<'_, E>; N]) -> Option<[f32; N]> {
    let energy = rings.first()?.energy;
    if !rings.iter().all(|ring| core::ptr::eq(ring.energy, energy) && !ring.layout.many_values()) {
        return None;
    }
    let differences = rings.each_mut().map(shift);
    if differences.contains(&f32::INFINITY) {
        return None;
    }
    energy.gradients(&mut rings.each_mut().map(|ring| Slope {
        x: Packed::trusted(ring.layout, ring.there.words),
        cache: ring.there.cache,
        out: ring.there.weights,
    }));
    Some(differences)
}
