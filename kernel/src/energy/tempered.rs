//! Any energy at any temperature, on a path from a distribution that is easy to draw from.

use super::{BaseDistribution, Energy, EnergyError, PathError, room};
use crate::lane::{Bits, Block, F32s, LANES, PARTS, Total};
use crate::layout::{Kind, Layout};
use crate::packed::{Move, Packed};
use core::ops::Range;

/// An energy on the path between a distribution of independent sites and the energy's own:
/// `E_β(x) = β E(x) + (1 − β) E₀(x)`, E₀ that of a [`BaseDistribution`] (METHODS.md §4). Over the uniform base it is
/// the energy at inverse temperature β.
///
/// Every kernel can run over it. All that a kernel knows of the distribution is what the energy tells it, and
/// gradients, shifts and differences come scaled together. Replica exchange and annealed importance sampling
/// ([`temper`](crate::temper)) move chains along β.
///
/// `E = +∞` stays `+∞`, at β = 0 too. The distribution there is the base's on the states that the energy allows. A β
/// above 1 is legal and sharpens the distribution.
///
/// The cache is the energy's with one block more, which keeps E and E₀ of the state as running totals. A move that
/// changes E by 16,384 or more computes E from nothing. A move with β times the change of 16,384 or more does not: it
/// is rejected. Cost: the energy's own, and one multiplication a component of the gradient.
#[derive(Debug)]
pub struct Tempered<'e, E: ?Sized> {
    target: &'e E,
    base: BaseDistribution<'e>,
    beta: f32,
}

impl<E: ?Sized> Clone for Tempered<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: ?Sized> Copy for Tempered<'_, E> {}

/// E and E₀ of a state, as running totals: plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ends {
    /// `E(x)`, the energy's.
    pub target: Total,
    /// `E₀(x)`, the base's.
    pub base: Total,
}

impl Ends {
    /// `E(x) − E₀(x)`: how the log density falls with β.
    #[must_use]
    pub fn gap(self) -> f32 {
        self.target.value() - self.base.value()
    }

    /// `E_β(x)`.
    #[must_use]
    pub fn at(self, beta: f32) -> f32 {
        beta * self.target.value() + (1.0 - beta) * self.base.value()
    }
}

impl Tempered<'_, ()> {
    /// Blocks of cache, for an energy with caches of `cache_len`: for [`memory!`](crate::memory).
    #[must_use]
    pub const fn cache_len(cache_len: usize) -> usize {
        cache_len.saturating_add(1)
    }
}

impl<'e, E: Energy + ?Sized> Tempered<'e, E> {
    /// The energy at inverse temperature β: `p_β ∝ e^(−βE)`.
    ///
    /// # Errors
    /// [`PathError::Beta`] where β is negative or not finite.
    pub fn new(target: &'e E, beta: f32) -> Result<Self, PathError> {
        Self::from_base(target, &[], beta)
    }

    /// The energy at β on the path from the base with fields θ.
    ///
    /// # Errors
    /// [`PathError`] where β is negative or not finite, a field is not finite, or there are too many or too
    /// few fields for [`BaseDistribution`].
    pub fn from_base(target: &'e E, fields: &'e [f32], beta: f32) -> Result<Self, PathError> {
        Self { target, base: BaseDistribution::new(target, fields)?, beta: 0.0 }.at(beta)
    }

    /// The same path at another β.
    ///
    /// # Errors
    /// [`PathError::Beta`].
    pub fn at(self, beta: f32) -> Result<Self, PathError> {
        if beta >= 0.0 && beta.is_finite() { Ok(Self { beta, ..self }) } else { Err(PathError::Beta(beta)) }
    }

    /// β.
    #[must_use]
    pub fn beta(&self) -> f32 {
        self.beta
    }

    /// The energy at β = 1.
    #[must_use]
    pub fn target(&self) -> &'e E {
        self.target
    }

    /// The distribution at β = 0.
    #[must_use]
    pub fn base(&self) -> BaseDistribution<'e> {
        self.base
    }

    /// The ends at the state of a cache.
    pub(crate) fn ends(&self, cache: &[Bits]) -> Ends {
        let kept = cache.get(self.target.cache_len()).copied().unwrap_or_default();
        let [a, b, c, d, ..] = kept.map(f32::from_bits);
        Ends { target: Total::from_parts(a, b), base: Total::from_parts(c, d) }
    }

    pub(crate) fn keep(&self, ends: Ends, cache: &mut [Bits]) {
        if let Some([a, b, c, d, ..]) = cache.get_mut(self.target.cache_len()) {
            let ((target, target_rest), (base, base_rest)) = (ends.target.parts(), ends.base.parts());
            (*a, *b) = (target.to_bits(), target_rest.to_bits());
            (*c, *d) = (base.to_bits(), base_rest.to_bits());
        }
    }

    /// The energy's own part of a cache.
    fn own<'c>(&self, cache: &'c [Bits]) -> &'c [Bits] {
        cache.get(..self.target.cache_len()).unwrap_or_default()
    }

    /// Notes a move that has changed E by `target`, the energy's own part of the cache being there; the change of E_β.
    pub(crate) fn moved(&self, step: &Move<'_>, target: f32, cache: &mut [Bits]) -> f32 {
        let mut ends = self.ends(cache);
        let mut base = 0.0;
        if !self.base.is_uniform() {
            let field = |site, value| self.base.field(site, value);
            base = step.changes().map(|c| field(c.site, c.from) - field(c.site, c.to)).sum();
        }
        ends.target.add(target);
        // At small β a chain goes to and fro between energies far apart: the errors of these steps would add up.
        if Total::coarse(target) && self.beta * target < Total::COARSE {
            let own = cache.get_mut(..self.target.cache_len()).unwrap_or_default();
            let Ok(total) = self.target.init(step.to(), own) else { return f32::NAN };
            // Of an energy that adds up floats the total may itself be off.
            ends.target.mend(total, 0.0625);
        }
        ends.base.add(base);
        self.keep(ends, cache);
        self.mix(target, base)
    }

    /// β·(change of E) + (1 − β)·(change of E₀).
    fn mix(&self, target: f32, base: f32) -> f32 {
        if target == f32::INFINITY { target } else { self.beta * target + (1.0 - self.beta) * base }
    }
}

impl<E: Energy + ?Sized> Energy for Tempered<'_, E> {
    fn layout(&self) -> Layout {
        self.target.layout()
    }

    fn cache_len(&self) -> usize {
        Tempered::cache_len(self.target.cache_len())
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let own = room(cache, self.cache_len())?.get_mut(..self.target.cache_len()).unwrap_or_default();
        let target = self.target.init(x, own)?;
        let ends = Ends { target: Total::new(target), base: self.base.energy(x) };
        self.keep(ends, cache);
        super::checked(self.mix(target, ends.base.value()))
    }

    fn arities(&self) -> Option<&[u16]> {
        self.target.arities()
    }

    fn offsets(&self) -> Option<&[i32]> {
        self.target.offsets()
    }

    fn estimates(&self) -> bool {
        self.target.estimates()
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        if self.beta == 0.0 {
            out.fill([0.0; LANES]);
        } else {
            self.target.gradient(x, self.own(cache), rows.clone(), out);
        }
        let beta = F32s::splat(self.beta);
        for block in out.iter_mut() {
            for part in 0..PARTS {
                (beta * F32s::load(block, part)).store(block, part);
            }
        }
        if self.base.is_uniform() {
            return;
        }
        let layout = self.layout();
        // A linear θ has the slope θ(1).
        let first = if layout.kind() == Kind::Categorical { 0 } else { 1 };
        for (row, blocks) in rows.zip(out.chunks_mut(layout.row_blocks())) {
            for (at, slot) in blocks.as_flattened_mut().iter_mut().enumerate() {
                if let Some((site, value)) = layout.component(row, at / LANES, at % LANES) {
                    *slot -= (1.0 - self.beta) * self.base.field(site, first + value as u32);
                }
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let Some(own) = cache.get_mut(..self.target.cache_len()) else { return f32::NAN };
        let target = self.target.shift(step, own);
        self.moved(step, target, cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.target.differences(words, self.own(cache), site, out);
        let here = Packed::trusted(self.layout(), words).get(site);
        for (value, out) in (0..).zip(out) {
            *out = self.mix(*out, self.base.field(site, here) - self.base.field(site, value));
        }
    }
}
