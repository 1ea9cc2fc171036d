//! What a sampler works in: two points, here and there.

use crate::accept::Info;
use crate::energy::{Energy, Ising};
use crate::lane::{Bits, Block, LogProduct, Total};
use crate::layout::Layout;
use crate::packed::{self, Move, Packed, StateError, place};

/// All that a chain knows, without its state: plain data to copy and keep.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Core {
    pub(crate) energy: Total,
    /// Π (1+e) at the state, where `weights_of` is set.
    pub(crate) normaliser: LogProduct,
    /// Σ ln(1+e^z) at the state, in a kernel's own units, where `weights_of` is set.
    pub(crate) softplus: i64,
    /// The parameters that the weights at the state were made with.
    pub(crate) weights_of: Option<u64>,
    /// Whether the point's plane holds the gradient at the state.
    pub(crate) slope: bool,
    /// What the momentum of the chain's memory holds.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) momentum: Option<Kept>,
    /// Whether the energy knows no differences ([`Energy::estimates`]): no test means anything.
    pub(crate) estimates: bool,
    pub(crate) there_first: bool,
    pub(crate) faults: u32,
    /// Transitions since the start.
    pub(crate) steps: u64,
}

impl Core {
    pub(crate) fn at(energy: f32) -> Self {
        Self {
            energy: Total::new(energy),
            normaliser: LogProduct::ONE,
            softplus: 0,
            weights_of: None,
            slope: false,
            momentum: None,
            estimates: false,
            there_first: false,
            faults: 0,
            steps: 0,
        }
    }
}

/// Names the auxiliary variable that a chain keeps from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Kept {
    /// What it is drawn from; of whole numbers it has the bit [`Kept::WHOLE`].
    pub(crate) key: u64,
    pub(crate) blocks: u32,
}

impl Kept {
    pub(crate) const WHOLE: u64 = 1;
}

/// The auxiliary variable in a chain's memory, and what it is.
pub(crate) type Momenta<'a> = (&'a mut Option<Kept>, &'a mut [Block]);

impl Core {
    /// The same state with another energy: its weights are to be made again.
    pub(crate) fn temper(&mut self, energy: f32) {
        self.energy = Total::new(energy);
        self.weights_of = None;
        self.slope = false;
    }

    /// Goes on over an Ising model with another b than `linear`, over the same couplings; false where it did not. Takes the words of
    /// the state, and the cache of both points.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        model: &Ising<'_>,
        linear: &[i32],
        words: &[u32],
        cache: &mut [Bits],
    ) -> bool {
        let cache = cache.get_mut(self.place(model.cache_len())).unwrap_or_default();
        let Some(total) = model.init_from(linear, words, cache) else { return false };
        self.temper(total);
        self.momentum = None;
        true
    }

    /// The state in a chain's words.
    pub(crate) fn state(self, layout: Layout, words: &[u32]) -> Packed<'_> {
        Packed::trusted(layout, self.words(layout.words(), words))
    }

    /// The state in a chain's words, so many.
    pub(crate) fn words(self, length: usize, words: &[u32]) -> &[u32] {
        words.get(self.place(length)).unwrap_or_default()
    }

    /// Where a plane of so many numbers is in the memory of both points.
    pub(super) fn place(self, length: usize) -> core::ops::Range<usize> {
        let first = if self.there_first { length } else { 0 };
        first..first + length
    }

    /// The state of the other point.
    pub(crate) fn other_state(self, layout: Layout, words: &[u32]) -> Packed<'_> {
        Self { there_first: !self.there_first, ..self }.state(layout, words)
    }
}

/// A state with what was computed there.
#[derive(Debug)]
pub struct Point<'a> {
    pub(crate) words: &'a mut [u32],
    pub(crate) cache: &'a mut [Bits],
    pub(crate) weights: &'a mut [Block],
}

/// What a sampler works in: the point where the chain is, and the one where it may go.
///
/// ```text
/// here → weights → draw there, log q(there|here) → energy, gradient, weights there → log q(here|there)
///   ↑                                                                                     ↓
///   └──────────────────────────── here and there change places if accepted ──────────────┘
/// ```
#[derive(Debug)]
pub struct Ring<'a, E: ?Sized> {
    pub(crate) energy: &'a E,
    pub(crate) layout: Layout,
    pub(crate) here: Point<'a>,
    pub(crate) there: Point<'a>,
    pub(crate) free: &'a [u32],
    /// Room for a plane a point, which keeps its gradient, and behind it for the [`momentum`](super::momentum); short
    /// where the caller provides none.
    pub(crate) planes: &'a mut [Block],
    /// Whether the plane of there holds its gradient.
    pub(crate) slope_there: bool,
    pub(crate) core: &'a mut Core,
}

impl<E: ?Sized> Ring<'_, E> {
    pub(crate) fn here_state(&self) -> Packed<'_> {
        Packed::trusted(self.layout, self.here.words)
    }

    pub(crate) fn there_state(&self) -> Packed<'_> {
        Packed::trusted(self.layout, self.there.words)
    }

    /// Whether no site is clamped.
    #[inline]
    pub(crate) fn all_free(&self) -> bool {
        let Some((&last, words)) = self.free.split_last() else { return true };
        last == self.layout.last_word() && words.iter().fold(u32::MAX, |all, word| all & word) == u32::MAX
    }

    /// Whether a site may move: it is neither clamped nor padding.
    #[inline]
    pub(crate) fn free(&self, site: usize) -> bool {
        Packed::trusted(self.layout, self.free).get(site) != 0
    }

    pub(crate) fn copy_cache(&mut self) {
        copy(self.there.cache, self.here.cache);
    }

    pub(crate) fn copy_words(&mut self) {
        copy(self.there.words, self.here.words);
    }

    /// Lays a state of the chain's layout down at there.
    pub(crate) fn put(&mut self, state: Packed<'_>) -> Result<(), StateError> {
        copy(self.there.words, state.of(self.layout)?.words());
        Ok(())
    }

    /// Sites at which here and there differ.
    pub(crate) fn distance(&self) -> u32 {
        Move::trusted(self.layout, self.here.words, self.there.words).count() as u32
    }

    /// Ends a step that could not even propose.
    pub(crate) fn failed(self) -> Info {
        self.close(Info { log_ratio: f32::NEG_INFINITY, fault: true, ..Info::default() })
    }

    /// Ends a step without a test. It stays where the difference is not finite, which is a fault.
    pub(crate) fn close_untested(self, difference: f32, failed: bool) -> Info {
        let accepted = difference.is_finite();
        let log_ratio = if accepted { 0.0 } else { f32::NEG_INFINITY };
        let proposed = self.distance();
        self.close(Info { accepted, proposed, log_ratio, difference, fault: failed || !accepted })
    }

    /// Ends a step: moves if it was accepted, counts it and its faults. A ratio that is NaN is a fault, as one of −∞.
    pub(crate) fn close(self, mut info: Info) -> Info {
        if info.log_ratio.is_nan() {
            (info.log_ratio, info.fault) = (f32::NEG_INFINITY, true);
        }
        if info.accepted {
            self.core.there_first = !self.core.there_first;
            self.core.slope = self.slope_there;
            self.core.energy.add(info.difference);
        }
        if info.fault {
            // What led to it must not last.
            self.core.momentum = None;
        }
        self.core.steps = self.core.steps.wrapping_add(1);
        self.core.faults = self.core.faults.saturating_add(u32::from(info.fault));
        info
    }
}

impl<E: Energy + ?Sized> Ring<'_, E> {
    /// The values that a site may take.
    #[inline]
    pub(crate) fn arity(&self, site: usize) -> u32 {
        self.layout.arity_at(self.energy.arities(), site) as u32
    }

    /// ∂E/∂x at here, in place of its weights: from the plane, or else from the energy.
    #[inline]
    pub(crate) fn gradient_here(&mut self) {
        let plane = plane(self.layout, self.planes, self.core.there_first);
        if self.core.slope {
            return copy(self.here.weights, plane);
        }
        let here = Packed::trusted(self.layout, self.here.words);
        self.energy.gradient(here, self.here.cache, 0..self.layout.rows(), self.here.weights);
        self.core.slope = keep(self.here.weights, plane);
    }

    /// ∂E/∂x at there, in place of its weights, or of those at here.
    #[inline]
    pub(crate) fn gradient_there(&mut self, in_place_of_here: bool) {
        let weights = if in_place_of_here { &mut *self.here.weights } else { &mut *self.there.weights };
        let there = Packed::trusted(self.layout, self.there.words);
        self.energy.gradient(there, self.there.cache, 0..self.layout.rows(), weights);
        self.slope_there = keep(weights, plane(self.layout, self.planes, !self.core.there_first));
    }

    /// Makes there's cache from here's: `E(there) − E(here)`.
    pub(crate) fn arrive(&mut self) -> f32 {
        self.copy_cache();
        let step = Move::trusted(self.layout, self.here.words, self.there.words);
        if step.count() == 0 { 0.0 } else { self.energy.shift(&step, self.there.cache) }
    }

    /// The same, where the energy is asked even if nothing has moved.
    pub(crate) fn shift(&mut self) -> f32 {
        self.copy_cache();
        let step = Move::trusted(self.layout, self.here.words, self.there.words);
        self.energy.shift(&step, self.there.cache)
    }

    /// Sets one site of there and moves its cache along: `E(after) − E(before)`.
    #[inline]
    pub(crate) fn set(&mut self, site: usize, value: u32) -> f32 {
        let (word, _) = place(self.layout, site);
        let before = [self.there.words.get(word).copied().unwrap_or(0)];
        // A value that is none leaves the site as it is.
        let _ = packed::set(self.layout, self.there.words, site, value);
        let there = Packed::trusted(self.layout, self.there.words);
        self.energy.shift(&Move::within(word, &before, there), self.there.cache)
    }
}

/// The plane of the first or the second point; empty where there is no room for both.
#[inline]
pub(crate) fn plane(layout: Layout, planes: &mut [Block], second: bool) -> &mut [Block] {
    if planes.is_empty() {
        return planes;
    }
    let (len, first) = (layout.plane_blocks(), if second { layout.plane_blocks() } else { 0 });
    if planes.len() < 2 * len { &mut [] } else { planes.get_mut(first..first + len).unwrap_or_default() }
}

/// Keeps a gradient; whether there is a plane for it.
#[inline]
pub(crate) fn keep(gradient: &[Block], plane: &mut [Block]) -> bool {
    copy(plane, gradient);
    !plane.is_empty()
}

/// Copies as many elements as both have.
#[inline]
pub(crate) fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}
