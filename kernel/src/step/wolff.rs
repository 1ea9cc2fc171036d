//! Wolff moves: one cluster of an Ising model.

use super::Kernel;
use super::bonds::{Bonds, flip, spin};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Ising;
use crate::packed::Packed;
use crate::random::below;
use rand_core::Rng;

/// Wolff moves of an Ising model (Wolff 1989; METHODS.md §2). For `f = Σ J s s' + Σ h s` one cluster C grows from a uniform
/// site over pairs with `J s s' > 0`, each bound with probability `1 − e^(−2|J|)`, and flips with probability
/// `min(1, e^(−2 Σ_C h s))`, of which [`Info::log_ratio`] has the logarithm.
///
/// It is correct for any signs and fields, over spins and bits, and reversible. It pays only where couplings are not
/// frustrated, as [`SwendsenWang`](super::SwendsenWang), of which it takes the largest clusters most often; strong fields
/// reject most flips. A cluster that meets a clamped site stays, which is exact as it is there: then `log_ratio` is −∞ and
/// `proposed` 0.
///
/// Cost: an exponential number a favoured pair at the cluster, sixteen side by side, O(degree) additions a flip, and a copy of
/// the state and its cache. The list of sites to visit stands in the memory of the next cache.
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

/// Flips the cluster of a random site at there: 4 Σ_C h s in units; nothing where it meets a clamped site.
fn grow<R: Rng + ?Sized>(ring: &mut Ring<'_, Ising<'_>>, bonds: &mut Bonds, rng: &mut R) -> Option<i64> {
    let (layout, form) = (ring.layout, ring.energy.form());
    let (here, free) = (Packed::trusted(layout, ring.here.words), Packed::trusted(layout, ring.free));
    let (words, list) = (&mut *ring.there.words, ring.there.cache.as_flattened_mut());
    let mut waiting = 0;
    let add = |site: u32, waiting: &mut usize, list: &mut [u32], words: &mut [u32]| {
        flip(words, site as usize);
        if let Some(slot) = list.get_mut(*waiting) {
            *slot = site;
        }
        *waiting += 1;
        (free.get(site as usize) != 0).then_some(())
    };
    add(below(layout.sites() as u32, rng), &mut waiting, list, words)?;
    let mut sum = 0;
    while waiting > 0 {
        waiting -= 1;
        let site = list.get(waiting).copied().unwrap_or(0) as usize;
        let spin = spin(here, site);
        let mut field = 2 * i64::from(form.linear().get(site).copied().unwrap_or(0));
        for entry in form.row(site) {
            field += i64::from(entry.coupling);
            let other = entry.site as usize;
            let outside = here.get(other) == Packed::trusted(layout, words).get(other);
            if outside && bonds.bind((spin, entry), here, rng) {
                add(entry.site, &mut waiting, list, words)?;
            }
        }
        sum += spin * field;
    }
    Some(sum)
}

impl Kernel<Ising<'_>> for Wolff {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        ring.copy_words();
        ring.core.weights_of = None;
        let form = ring.energy.form();
        let mut bonds = Bonds::new(&form);
        let Some(sum) = grow(&mut ring, &mut bonds, rng) else {
            return ring.close(Info { log_ratio: f32::NEG_INFINITY, ..Info::default() });
        };
        // e^(−2 Σ_C h s) is the probability that there is no such bond.
        let accepted = !bonds.draw(sum, rng);
        let (difference, log_ratio) = (ring.arrive(), -0.5 * form.value(sum));
        let proposed = ring.distance();
        ring.close(Info { accepted, proposed, log_ratio, difference, fault: false })
    }
}
