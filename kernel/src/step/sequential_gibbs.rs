//! Sequential Gibbs for Ising models.

use super::Kernel;
use super::fields::{in_turn, log_odds, thresholds};
use super::gibbs::Updates;
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::{Ising, Pending, Tempered};
use crate::lane::{Bits, F32s, LANES, PARTS};
use crate::packed::{Move, Packed};
use crate::random::logistics;
use core::ops::Range;
use rand_core::Rng;

/// Gibbs sampling of an Ising model by sweeps (METHODS.md §2): what [`Gibbs::systematic`](super::Gibbs) does, from
/// the model's cached fields. A site becomes 1 where a standard logistic number is below its log odds, the
/// field `b + Kx`. So the noise of sixteen sites is made before their fields are known.
///
/// It runs over [`Tempered`] models too, and so in replica exchange. [`SequentialGibbs::part`] draws a part of the sites.
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

    /// The part of a sweep that draws the sites of some words, 32 sites each. Parts that follow one another are the sweep,
    /// bit for bit, and each of them alone leaves p as it is: so a sweep fits a time slice. A part copies the state
    /// and its fields, O(sites) words, as every step does.
    #[must_use]
    pub const fn part(words: Range<usize>) -> SequentialGibbsPart {
        SequentialGibbsPart { words }
    }
}

impl Kernel<Ising<'_>> for SequentialGibbs {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        SequentialGibbs::part(0..usize::MAX).step(ring, rng)
    }
}

/// A part of a sweep of [`SequentialGibbs`]: see [`SequentialGibbs::part`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequentialGibbsPart {
    words: Range<usize>,
}

impl Kernel<Ising<'_>> for SequentialGibbsPart {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        let model = ring.energy;
        let (mut updates, mut difference) = (Updates::begin(&mut ring), 0);
        sweep(&mut ring, model, self.words.clone(), rng, |units| difference += units);
        updates.add(model.form().value(difference));
        updates.end(ring)
    }
}

/// Draws the sites of some words of a chain over `model`, or over an energy whose answers and cache are those of it.
/// `changed` is told how the energy changes with each flip, in units.
#[inline]
pub(super) fn sweep<E: ?Sized, R: Rng + ?Sized>(
    ring: &mut Ring<'_, E>,
    model: &Ising<'_>,
    words: Range<usize>,
    rng: &mut R,
    changed: impl FnMut(i64),
) {
    let per_unit = model.form().per_unit();
    draw(ring, model, words, |_| thresholds(&logistics(rng), per_unit), changed);
}

/// At an inverse temperature, and on the path from a base: the log odds are `β(b + Kx) + (1 − β)θ`.
impl Kernel<Tempered<'_, Ising<'_>>> for SequentialGibbs {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Tempered<'_, Ising<'_>>>, rng: &mut R) -> Info {
        SequentialGibbs::part(0..usize::MAX).step(ring, rng)
    }
}

impl Kernel<Tempered<'_, Ising<'_>>> for SequentialGibbsPart {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Tempered<'_, Ising<'_>>>, rng: &mut R) -> Info {
        let mut updates = Updates::begin(&mut ring);
        let (path, model) = (*ring.energy, ring.energy.target());
        let (base, rest) = (path.base(), 1.0 - path.beta());
        // At β = 0 all thresholds are infinite.
        let per_unit = model.form().per_unit() / path.beta();
        let mut difference = 0;
        let thresholds_of = |block| {
            let mut noise = logistics(rng);
            if !base.is_uniform() {
                for (site, noise) in (LANES * block..).zip(&mut noise) {
                    *noise -= rest * (base.field(site, 1) - base.field(site, 0));
                }
            }
            thresholds(&noise, per_unit)
        };
        draw(&mut ring, model, self.words.clone(), thresholds_of, |units| difference += units);
        let step = Move::trusted(ring.layout, ring.here.words, ring.there.words);
        updates.add(path.moved(&step, model.form().value(difference), ring.there.cache));
        updates.end(ring)
    }
}

/// Draws the sites of some words in turn, from the thresholds of each block. `changed` is told how the energy changes
/// with each flip, in units of the grid.
#[inline]
fn draw<E: ?Sized>(
    ring: &mut Ring<'_, E>,
    model: &Ising<'_>,
    words: Range<usize>,
    mut thresholds_of: impl FnMut(usize) -> Bits,
    mut changed: impl FnMut(i64),
) {
    let list = PARTS == 1 && model.form().wide();
    let free = Packed::trusted(ring.layout, ring.free);
    let blocks = ring.layout.blocks().min(words.end.saturating_mul(2));
    let mut word_of_noise = |index: usize| {
        let mut noise = [[0; LANES]; 2];
        for (block, noise) in (2 * index..blocks).zip(&mut noise) {
            *noise = thresholds_of(block);
        }
        noise
    };
    // A word ahead: the processor computes them while it waits for the flips of the word before.
    let first = words.start.min(ring.there.words.len());
    let mut noise = word_of_noise(first);
    let mut pending = Pending::new();
    let all = ring.there.words.iter_mut().zip(free.words()).enumerate();
    for (index, (word, &among)) in all.skip(first).take(words.end.saturating_sub(first)) {
        let next = word_of_noise(index + 1);
        let (cache, word) = (&mut *ring.there.cache, (index, word));
        if list {
            in_turn::<true>(model, cache, word, among, &noise, &mut pending, &mut changed);
        } else {
            in_turn::<false>(model, cache, word, among, &noise, &mut pending, &mut changed);
        }
        noise = next;
    }
}
