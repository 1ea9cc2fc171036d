//! Chromatic Gibbs: one class of uncoupled sites after another, each at once.

mod potts;

use super::Kernel;
use super::colouring::Colouring;
use super::fields::at_once;
use super::gibbs::Updates;
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Ising;
use crate::packed::Packed;
use crate::random::logistics;
use rand_core::Rng;

/// Chromatic Gibbs (Gonzalez et al. 2011; METHODS.md §2): the sites of a class are independent given all others, so a class is
/// drawn at once, sixteen sites at a time. A step is one sweep over the classes. For [`Ising`] and
/// [`Potts`](crate::Potts) models, from their cached fields. It keeps the distribution exactly, and is not
/// reversible. Clamped sites keep their value.
///
/// A chain over other couplings than those that the colouring was checked against refuses every step as a
/// fault.
///
/// Potts models of [many values](crate::Layout::many_values) are refused: every step is a fault.
///
/// Cost a sweep: a logistic number a site, and O(degree) additions a changed site. For each class, all blocks from
/// its first to its last are compared in lanes. (Potts: an exponential a value of all blocks that have some of the
/// class.) This is least where sites are numbered class by class: [`Colouring::numbers`].
///
/// ```
/// use bitmc::step::{ChromaticGibbs, Colouring, SequentialGibbs};
/// use bitmc::{memory, torus, Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory};
///
/// const L: Layout = Layout::binary(16);
/// let (mut couplings, mut classes) = (SparseMemory::<16, 64>::new(), [0; Colouring::words(16, 2)]);
/// let model = Ising::spins_edges_once(16, torus(4, 4, 0.3), &[], couplings.borrow())?;
/// let kernel = ChromaticGibbs::new(Colouring::greedy(model.form(), &mut classes)?);
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(16)), &mut rng)?;
/// chain.step(&kernel, &mut rng);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChromaticGibbs<'a> {
    colouring: Colouring<'a>,
}

impl<'a> ChromaticGibbs<'a> {
    /// Over the classes of a colouring.
    #[must_use]
    pub const fn new(colouring: Colouring<'a>) -> Self {
        Self { colouring }
    }
}

impl Kernel<Ising<'_>> for ChromaticGibbs<'_> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        if !self.colouring.fits(ring.energy.form()) {
            return ring.failed();
        }
        let mut updates = Updates::begin(&mut ring);
        let free = Packed::trusted(ring.layout, ring.free);
        ring.there.weights.iter_mut().for_each(|noise| *noise = logistics(rng));
        let mut difference = 0;
        for class in self.colouring.classes() {
            // Where sites are numbered class by class, a class has few words.
            let held = |word: &u32| *word != 0;
            let Some(first) = class.words().iter().position(held) else { continue };
            let words = first..=class.words().iter().rposition(held).unwrap_or(first);
            let among = || {
                let free = free.words().get(words.clone()).unwrap_or_default();
                let class = class.words().get(words.clone()).unwrap_or_default();
                free.iter().zip(class).map(|(free, class)| free & class)
            };
            let after = ring.there.words.get_mut(words.clone()).unwrap_or_default();
            let noise = ring.there.weights.get(2 * first..).unwrap_or_default().chunks(2);
            for (index, ((word, among), noise)) in after.iter_mut().zip(among()).zip(noise).enumerate() {
                if among != 0 {
                    at_once(ring.energy, ring.there.cache, word, first + index, among, noise);
                }
            }
            // A site has one class: where it has changed, it has just now.
            let before = ring.here.words.get(words.clone()).unwrap_or_default();
            let flips = before.iter().zip(&*after).zip(among()).enumerate();
            let flips = flips
                .map(|(index, ((&before, &after), among))| (first + index, before, (before ^ after) & among));
            difference += ring.energy.follow(ring.there.cache.as_flattened_mut(), flips);
        }
        updates.add(ring.energy.form().value(difference));
        updates.end(ring)
    }
}
