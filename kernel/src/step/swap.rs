//! Swaps of two sites' values.

use super::symmetric::{Arrival, arrive, close};
use super::{Kernel, Transition};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use crate::lane::{Total, ln};
use crate::layout::Layout;
use crate::packed::{Move, Packed, StateError, set};
use crate::random::below;
use rand_core::Rng;

/// Exchanges the values of two sites that differ (Kawasaki 1966; METHODS.md §2), and keeps the number of sites at every value.
/// It is for distributions on states with a given number of ones. A free site is drawn uniformly, then one among the free sites
/// of other values. The numbers of those do not change, so the reverse is as likely, and the Metropolis test takes `A = e^(E(x)
/// − E(y))`.
///
/// Where every free site has one value, or a value would come to a site of a smaller arity, the step stays.
///
/// Cost a step: two passes over the state's words, and one difference of energies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swap;

impl Swap {
    /// The probabilities of a move from the chain's state to `to`, without making it. O(sites²) for a move that
    /// stays, O(sites) else.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        to: Packed<'_>,
    ) -> Result<Transition, StateError> {
        ring.put(to)?;
        let mut changes = Move::trusted(ring.layout, ring.here.words, to.words()).changes();
        let q = match (changes.next(), changes.next(), changes.next()) {
            (Some(a), Some(b), None) if a.from == b.to && a.to == b.from => pair(&ring, a.site, b.site),
            (None, ..) => stays(&ring),
            _ => 0.0,
        };
        drop(changes);
        let log_q = if q > 0.0 { ln(q) } else { f32::NEG_INFINITY };
        let Arrival { difference, log_ratio, fault } = arrive(&mut ring);
        let log_reverse = if difference == f32::INFINITY { f32::NEG_INFINITY } else { log_q };
        let log_ratio = if q > 0.0 { log_ratio } else { f32::NEG_INFINITY };
        Ok(Transition { log_forward: log_q, log_reverse, difference, log_ratio, fault })
    }
}

/// The probability that two sites are drawn, in either order; 0 where they cannot exchange their values.
fn pair<E: Energy + ?Sized>(ring: &Ring<'_, E>, a: usize, b: usize) -> f32 {
    if !(ring.free(a) && ring.free(b) && legal(ring, a, b)) {
        return 0.0;
    }
    let all = others(ring, None).count();
    let second = |first: usize| others(ring, Some(ring.here_state().get(first))).count();
    (1.0 / second(a) as f32 + 1.0 / second(b) as f32) / all as f32
}

/// The probability that no exchange comes up.
fn stays<E: Energy + ?Sized>(ring: &Ring<'_, E>) -> f32 {
    let (sites, here) = (ring.layout.sites(), ring.here_state());
    let mut moves = Total::new(0.0);
    for b in 0..sites {
        for a in (0..b).filter(|&a| here.get(a) != here.get(b)) {
            moves.add(pair(ring, a, b));
        }
    }
    let moves = moves.value();
    // A rounding of a sum that is 1 is no probability.
    if moves < 1.0 - 1e-5 { 1.0 - moves } else { 0.0 }
}

fn legal<E: Energy + ?Sized>(ring: &Ring<'_, E>, a: usize, b: usize) -> bool {
    let here = ring.here_state();
    here.get(a) < ring.arity(b) && here.get(b) < ring.arity(a)
}

/// The free sites, those of one value left out: in each word the lowest bit of their fields.
struct Fields<'r> {
    words: &'r [u32],
    free: &'r [u32],
    layout: Layout,
    without: Option<u32>,
}

fn others<'r, E: ?Sized>(ring: &'r Ring<'_, E>, without: Option<u32>) -> Fields<'r> {
    Fields { words: ring.here.words, free: ring.free, layout: ring.layout, without }
}

impl Fields<'_> {
    fn words(&self) -> impl Iterator<Item = u32> {
        let width = self.layout.field_bits();
        let low = match width {
            1 => u32::MAX,
            2 => 0x5555_5555,
            4 => 0x1111_1111,
            8 => 0x0101_0101,
            _ => 0x0001_0001,
        };
        self.words.iter().zip(self.free).map(move |(&word, &free)| {
            let Some(value) = self.without else { return free & low };
            let mut differs = word ^ low.wrapping_mul(value);
            let mut folded = 1;
            while folded < width {
                differs |= differs >> folded;
                folded *= 2;
            }
            differs & free & low
        })
    }

    fn count(&self) -> u32 {
        self.words().map(u32::count_ones).sum()
    }

    /// Site number `index` among them.
    fn site(&self, index: u32) -> Option<usize> {
        let mut left = index;
        for (number, mut word) in self.words().enumerate() {
            let here = word.count_ones();
            if left < here {
                (0..left).for_each(|_| word &= word.wrapping_sub(1));
                let field = word.trailing_zeros() >> self.layout.field_bits().trailing_zeros();
                return Some(number * self.layout.fields_per_word() + field as usize);
            }
            left -= here;
        }
        None
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<usize> {
        self.site(below(self.count(), rng))
    }
}

impl<E: Energy + ?Sized> Kernel<E> for Swap {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        ring.copy_words();
        let first = others(&ring, None).draw(rng);
        let value = first.map(|site| ring.here_state().get(site));
        let second = value.and_then(|value| others(&ring, Some(value)).draw(rng));
        if let (Some(a), Some(b)) = (first, second)
            && legal(&ring, a, b)
        {
            let (to_b, to_a) = (ring.here_state().get(a), ring.here_state().get(b));
            // Legal values of sites that exist.
            let _ = set(ring.layout, ring.there.words, a, to_a);
            let _ = set(ring.layout, ring.there.words, b, to_b);
        }
        close(ring, rng)
    }
}
