//! Wolff moves: one cluster of an Ising or Potts model.

use super::Kernel;
use super::bonds::{Bonds, Mirrored};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::{Ising, Potts};
use crate::packed::Packed;
use crate::random::below;
use rand_core::Rng;

/// Wolff moves of an Ising or Potts model (Wolff 1989; METHODS.md §2). For `f = Σ J s s' + Σ h s` one cluster C grows from a
/// uniform site over pairs with `J s s' > 0`, each bound with probability `1 − e^(−2|J|)`. It flips with probability `min(1,
/// e^(−2 Σ_C h s))`, of which [`Info::log_ratio`] has the logarithm.
///
/// For a [`Potts`] model of q values the first site has a value k. The move draws a new value l for it, and takes c =
/// k + l modulo q. Bonds are then those of [`SwendsenWang`](super::SwendsenWang) with this c. Where couplings are
/// positive, the cluster is of sites with value k, and they take l.
///
/// It is correct for any signs and fields, over spins, bits and values, and reversible. It pays only where couplings are not
/// frustrated, as [`SwendsenWang`](super::SwendsenWang), of which it takes the largest clusters most often; strong fields
/// reject most flips. A cluster that meets a clamped site stays, which is exact as it is there: then `log_ratio` is −∞ and
/// `proposed` 0.
///
/// Cost: an exponential number a favoured pair at the cluster, made sixteen at a time, and O(degree) additions a
/// flip. The state and its cache are copied. The list of sites to visit is in the memory of the next cache.
///
/// ```
/// use bitmc::step::Wolff;
/// use bitmc::{memory, torus, Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory};
/// const L: Layout = Layout::binary(64);
/// let mut memory = SparseMemory::<64, 256>::new();
/// let model = Ising::spins_edges_once(64, torus(8, 8, 0.44), &[], memory.borrow())?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(64)), &mut rng)?;
/// let moved: u32 = (0..1000).map(|_| chain.step(&Wolff, &mut rng).moved()).sum();
/// assert!(moved > 20_000); // more than 20 sites a step, all of one cluster
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wolff;

impl Kernel<Ising<'_>> for Wolff {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        step(ring, rng)
    }
}

impl Kernel<Potts<'_>> for Wolff {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Potts<'_>>, rng: &mut R) -> Info {
        step(ring, rng)
    }
}

/// Flips the cluster of a random site at there: twice what its fields lose, in units; nothing where it meets a clamped site.
fn grow<E: Mirrored, R: Rng + ?Sized>(ring: &mut Ring<'_, E>, bonds: &mut Bonds, rng: &mut R) -> Option<i64> {
    let (layout, model) = (ring.layout, ring.energy);
    let form = model.couplings();
    let (here, free) = (Packed::trusted(layout, ring.here.words), Packed::trusted(layout, ring.free));
    let (words, list) = (&mut *ring.there.words, ring.there.cache.as_flattened_mut());
    let first = below(layout.sites() as u32, rng);
    let mirror = model.mirror_of(here.get(first as usize), rng);
    let mut waiting = 0;
    let add = |site: u32, waiting: &mut usize, list: &mut [u32], words: &mut [u32]| {
        model.flip(mirror, words, site as usize);
        if let Some(slot) = list.get_mut(*waiting) {
            *slot = site;
        }
        *waiting += 1;
        (free.get(site as usize) != 0).then_some(())
    };
    add(first, &mut waiting, list, words)?;
    let mut sum = 0;
    while waiting > 0 {
        waiting -= 1;
        let site = list.get(waiting).copied().unwrap_or(0) as usize;
        let (value, mut shares) = (here.get(site), 0);
        for entry in form.row(site) {
            shares += E::share(entry.coupling);
            let other = entry.site as usize;
            let outside = here.get(other) == Packed::trusted(layout, words).get(other);
            if outside && bonds.bind((model, mirror), (value, entry), here, rng) {
                add(entry.site, &mut waiting, list, words)?;
            }
        }
        sum += model.pull(mirror, (site, value), form.linear().get(site).copied().unwrap_or(0), shares);
    }
    Some(sum)
}

fn step<E: Mirrored, R: Rng + ?Sized>(mut ring: Ring<'_, E>, rng: &mut R) -> Info {
    ring.copy_words();
    ring.core.weights_of = None;
    let form = ring.energy.couplings();
    let mut bonds = Bonds::new(&form);
    let Some(sum) = grow(&mut ring, &mut bonds, rng) else {
        return ring.close(Info { log_ratio: f32::NEG_INFINITY, ..Info::default() });
    };
    // e^(−½·sum) is the probability that there is no such bond.
    let accepted = !bonds.draw(sum, rng);
    let (difference, log_ratio) = (ring.arrive(), -0.5 * form.value(sum));
    let proposed = ring.distance();
    ring.close(Info { accepted, proposed, log_ratio, difference, fault: false })
}
