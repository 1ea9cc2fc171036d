//! Sequential Gibbs for Ising models.

use super::Kernel;
use super::fields::{in_turn, log_odds, thresholds};
use super::gibbs::Updates;
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::{Ising, Pending};
use crate::lane::{F32s, LANES, PARTS};
use crate::packed::Packed;
use crate::random::logistics;
use rand_core::Rng;

/// Gibbs sampling of an Ising model by sweeps (METHODS.md §2): what [`Gibbs::systematic`](super::Gibbs) does, from
/// the model's cached fields. A site becomes 1 where a standard logistic number is below its log odds, the
/// field `b + Kx`. So the noise of sixteen sites is made before their fields are known.
///
/// Cost a sweep: a logistic number a site, and O(degree) additions a flip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequentialGibbs;

impl SequentialGibbs {
    /// The log odds of a site being 1 given the rest of the chain's state, as a sweep compares them with noise. They
    /// are 0 where there is no such site.
    #[must_use]
    pub fn log_odds(ring: &Ring<'_, Ising<'_>>, site: usize) -> f32 {
        let (unit, mut odds) = (F32s::splat(ring.energy.form().unit()), [0.0; LANES]);
        if let Some(fields) = ring.here.cache.get(site / LANES) {
            (0..PARTS).for_each(|part| log_odds(fields, unit, part).store(&mut odds, part));
        }
        odds.get(site % LANES).copied().unwrap_or(0.0)
    }
}

impl Kernel<Ising<'_>> for SequentialGibbs {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        let mut updates = Updates::begin(&mut ring);
        let free = Packed::trusted(ring.layout, ring.free);
        let per_unit = ring.energy.form().per_unit();
        let list = PARTS == 1 && ring.energy.form().wide();
        let blocks = ring.layout.blocks();
        let mut word_of_noise = |index: usize| {
            let mut noise = [[0; LANES]; 2];
            for noise in noise.iter_mut().take(blocks.saturating_sub(2 * index)) {
                *noise = thresholds(&logistics(rng), per_unit);
            }
            noise
        };
        // A word ahead: the processor computes them while it waits for the flips of the word before.
        let (mut noise, mut difference) = (word_of_noise(0), 0);
        let mut pending = Pending::new();
        for (index, (word, &among)) in ring.there.words.iter_mut().zip(free.words()).enumerate() {
            let next = word_of_noise(index + 1);
            let (model, cache, word) = (ring.energy, &mut *ring.there.cache, (index, word));
            difference += if list {
                in_turn::<true>(model, cache, word, among, &noise, &mut pending)
            } else {
                in_turn::<false>(model, cache, word, among, &noise, &mut pending)
            };
            noise = next;
        }
        updates.add(ring.energy.form().value(difference));
        updates.end(ring)
    }
}
