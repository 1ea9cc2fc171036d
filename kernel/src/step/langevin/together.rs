//! Several chains of one energy, step by step together.

use super::{Asked, Langevin};
use crate::accept::Info;
use crate::chain::{Chain, CountError, Ring, keep, plane};
use crate::energy::{Energy, Slope};
use crate::lane::{Bits, Block};
use crate::noise::Noise;
use crate::packed::Packed;
use crate::step::together::groups;
use rand_core::Rng;

impl<N: Noise> Langevin<'_, N> {
    /// One transition of each of several chains: the same, bit for bit, as [`Chain::step`] of each with its own generator,
    /// whatever runs beside it. Only the gradients at the proposals are computed at once ([`Energy::gradients`]). An
    /// [`Rbm`](crate::Rbm) and a [`CoarseRbm`](crate::energy::CoarseRbm) then read their weights once for several
    /// chains. Chains of other energies, or of several, may be given all the same.
    ///
    /// ```
    /// # use bitmc::energy::pack_rows;
    /// use bitmc::{Chain, Info, LaneRng, Langevin, Layout, Rbm, memory};
    /// # let (mut weights, mut hidden) = ([[0.0; 16]; 3], [[0.0; 16]]);
    /// # pack_rows(&[0.5, -1.0, 0.25, 0.0, 1.5, -0.5], 2, &mut weights)?;
    /// # pack_rows(&[0.1, -0.2], 2, &mut hidden)?;
    /// # let model = Rbm::new(&weights, &[0.3, -0.4, 0.0], &hidden, 2)?;
    /// const L: Layout = Layout::binary(3);
    /// let mut rngs = [0, 1, 2, 3].map(|stream| LaneRng::stream(1, stream));
    /// let start = |rng| Chain::random(&model, memory!(L, Rbm::cache_len(2)), rng).unwrap();
    /// let mut chains = rngs.each_mut().map(start);
    /// let sampler = Langevin::adjusted(0.5)?;
    /// let mut infos = [Info::default(); 4];
    /// for _ in 0..100 {
    ///     sampler.step_together(&mut chains, &mut rngs, &mut infos)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// From [`Layout::MANY`](crate::Layout::MANY) categorical values on, each chain asks for its gradients alone,
    /// site by site: its memory has room for one site. A batch would need all values of all sites of all chains.
    /// Chains that are told their energies take it from their caller ([`Open::ask_each`](crate::Open::ask_each)).
    ///
    /// # Errors
    /// [`CountError`] where there is not one generator and one place for an [`Info`] a chain.
    pub fn step_together<E, W, C, B, R>(
        &self,
        chains: &mut [Chain<'_, E, W, C, B>],
        rngs: &mut [R],
        infos: &mut [Info],
    ) -> Result<(), CountError>
    where
        E: Energy + ?Sized,
        W: AsMut<[u32]> + AsRef<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]>,
        R: Rng,
    {
        CountError::check(chains.len(), [rngs.len(), infos.len()])?;
        let rest = groups((chains, rngs, infos), |rings, rngs| self.step_group::<_, _, 16>(rings, rngs));
        let rest = groups(rest, |rings, rngs| self.step_group::<_, _, 4>(rings, rngs));
        groups(rest, |rings, rngs| self.step_group::<_, _, 1>(rings, rngs));
        Ok(())
    }

    #[inline(never)] // its rings must not weigh on the stack of fewer chains
    fn step_group<E: Energy + ?Sized, R: Rng, const M: usize>(
        &self,
        mut rings: [Ring<'_, E>; M],
        rngs: &mut [R; M],
    ) -> [Info; M] {
        let mut rngs = rngs.iter_mut();
        let asked = rings.each_mut().map(|ring| {
            // There are as many generators.
            let asked = self.ask(ring, rngs.next()?)?;
            Some((asked, ring.shift()))
        });
        let together = self.gradients(&mut rings, &asked);
        let mut asked = asked.into_iter();
        rings.map(|mut ring| match asked.next().flatten() {
            Some((asked, difference)) if together => {
                let arrival = self.weigh_there(&mut ring, difference);
                self.settle(ring, asked, &arrival)
            }
            Some((asked, difference)) => self.tell(ring, asked, difference),
            None => ring.failed(),
        })
    }

    /// Puts the gradients at all proposals where [`Ring::gradient_there`] puts each. False where they must be
    /// computed one by one. That is where the energies are not the same, a proposal is forbidden or missing, or a row
    /// is a site.
    fn gradients<E: Energy + ?Sized, const M: usize>(
        &self,
        rings: &mut [Ring<'_, E>; M],
        asked: &[Option<(Asked, f32)>; M],
    ) -> bool {
        let Some(energy) = rings.first().map(|ring| ring.energy) else { return false };
        let usual = asked.iter().all(|asked| asked.is_some_and(|(_, difference)| difference != f32::INFINITY));
        let same = rings.iter().all(|ring| core::ptr::eq(ring.energy, energy) && !ring.layout.many_values());
        if !(usual && same) {
            return false;
        }
        energy.gradients(&mut rings.each_mut().map(|ring| Slope {
            x: Packed::trusted(ring.layout, ring.there.words),
            cache: ring.there.cache,
            out: if N::SOME { &mut *ring.here.weights } else { &mut *ring.there.weights },
        }));
        for ring in rings {
            let gradient = if N::SOME { &*ring.here.weights } else { &*ring.there.weights };
            ring.slope_there = keep(gradient, plane(ring.layout, ring.planes, !ring.core.there_first));
        }
        true
    }
}
