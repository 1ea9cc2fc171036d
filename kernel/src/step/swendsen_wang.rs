//! Swendsen–Wang moves: all clusters of an Ising or Potts model at once.

use super::Kernel;
use super::bonds::{Bonds, Mirrored};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::{Ising, Potts};
use crate::packed::Packed;
use rand_core::Rng;

/// Swendsen–Wang moves of an Ising or Potts model (Swendsen and Wang 1987; METHODS.md §2). For `f = Σ J s s' + Σ h s` every
/// pair with `J s s' > 0` is bound with probability `1 − e^(−2|J|)`, and every spin with `h s > 0` to a ghost spin with
/// `1 − e^(−2|h|)`. Each cluster of bound spins flips with probability ½, but for those that hold the ghost.
///
/// A step of a [`Potts`] model of q values draws c below q. Each site with value k has the image c − k, modulo q (Wang,
/// Swendsen and Kotecký 1989). Sites that are their own image rest. For `f = Σ J [x = x'] + Σ w(x)` two others are bound with
/// probability `1 − e^(−|J|)` in two cases. Either J > 0 and their values agree, or J < 0 and one has the image of
/// the other. A site is bound to the ghost with `1 − e^(−(w(k) − w(c−k)))`. A cluster that flips takes the images.
///
/// It is correct for any signs and fields, over spins, bits and values, and reversible. It pays only where couplings are not
/// frustrated, in ferromagnets and bipartite antiferromagnets, near criticality most: elsewhere one cluster holds nearly all
/// sites. Strong fields hold most clusters.
///
/// A cluster with a clamped site stays. That is exact. Given the bonds, both states of each cluster are equally likely. A
/// clamped site fixes that of its own cluster and of no other.
///
/// Cost: an exponential number a favoured pair and a favoured field, made sixteen at a time. Then one or a few steps
/// up the clusters' trees, and O(degree) additions a flip. The trees are in the memory of the next cache.
///
/// ```
/// use bitmc::step::SwendsenWang;
/// use bitmc::{memory, torus, Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory};
/// const L: Layout = Layout::binary(64);
/// let mut memory = SparseMemory::<64, 256>::new();
/// let model = Ising::spins_edges_once(64, torus(8, 8, 0.44), &[], memory.borrow())?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(64)), &mut rng)?;
/// let moved: u32 = (0..1000).map(|_| chain.step(&SwendsenWang, &mut rng).moved()).sum();
/// assert!(moved > 30_000 && moved < 34_000); // half of the sites a step
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwendsenWang;

/// Set in the word of a root whose cluster stays.
const HELD: u32 = 0x8000_0000;

/// Trees over the sites in one word each. A site's word is its parent, which is below it, or itself at a root.
struct Trees<'a>(&'a mut [u32]);

impl Trees<'_> {
    fn word(&self, site: u32) -> u32 {
        self.0.get(site as usize).copied().unwrap_or(0)
    }

    fn set(&mut self, site: u32, word: u32) {
        if let Some(slot) = self.0.get_mut(site as usize) {
            *slot = word;
        }
    }

    /// The root above a site; halves the way to it.
    fn root(&mut self, mut site: u32) -> u32 {
        loop {
            let parent = self.word(site) & !HELD;
            if parent >= site {
                return site;
            }
            let above = self.word(parent) & !HELD;
            self.set(site, above);
            site = above;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        if low != high {
            self.set(low, self.word(low) | (self.word(high) & HELD));
            self.set(high, low);
        }
    }

    fn hold(&mut self, site: u32) {
        let root = self.root(site);
        self.set(root, root | HELD);
    }
}

impl Kernel<Ising<'_>> for SwendsenWang {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        step(ring, rng)
    }
}

impl Kernel<Potts<'_>> for SwendsenWang {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Potts<'_>>, rng: &mut R) -> Info {
        step(ring, rng)
    }
}

/// Draws the mirror. Draws site by site the bonds with later sites, then the bond with the ghost. Then draws a word
/// of coins for every 32 sites.
fn step<E: Mirrored, R: Rng + ?Sized>(mut ring: Ring<'_, E>, rng: &mut R) -> Info {
    ring.copy_words();
    ring.core.weights_of = None;
    let model = ring.energy;
    let mirror = model.mirror(rng);
    let form = model.couplings();
    let mut bonds = Bonds::new(&form);
    let free = Packed::trusted(ring.layout, ring.free);
    let here = Packed::trusted(ring.layout, ring.here.words);
    let mut trees = Trees(ring.there.cache.as_flattened_mut());
    trees.0.iter_mut().zip(0..).for_each(|(slot, site)| *slot = site);
    for (site, (linear, row)) in form.rows().enumerate() {
        let (value, mut shares) = (here.get(site), 0);
        for entry in row {
            shares += E::share(entry.coupling);
            if entry.site as usize > site && bonds.bind((model, mirror), (value, entry), here, rng) {
                trees.join(site as u32, entry.site);
            }
        }
        let pull = model.pull(mirror, (site, value), linear, shares);
        if free.get(site) == 0 || (pull > 0 && bonds.draw(pull, rng)) {
            trees.hold(site as u32);
        }
    }
    // A root comes before the sites that follow it, and the coin of its own place is its cluster's.
    let mut coins = 0;
    for site in 0..ring.layout.sites() as u32 {
        if site % 32 == 0 {
            coins = rng.next_u32();
        }
        let word = trees.word(site);
        let (parent, held) = ((word & !HELD) as usize, word & HELD != 0);
        let flips = if parent == site as usize {
            !held && coins.wrapping_shr(site) & 1 == 1
        } else {
            here.get(parent) != Packed::trusted(ring.layout, ring.there.words).get(parent)
        };
        if flips {
            model.flip(mirror, ring.there.words, site as usize);
        }
    }
    let difference = ring.arrive();
    let proposed = ring.distance();
    ring.close(Info { accepted: true, proposed, log_ratio: 0.0, difference, fault: false })
}
