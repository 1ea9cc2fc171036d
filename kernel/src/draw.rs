//! Logits → weights → values, with their probabilities: the proposal of every site at once.
//!
//! The *weights* of a site's values are the exponentials of their logits, the largest being 1. A value is
//! drawn with probability weight / sum of weights, from one uniform, and the log-probability of a move is
//! ```text
//! log q = Σ ln(weight of the chosen value) − Σ ln(sum of the weights)
//! ```
//! over all sites: two running products and one logarithm, made of the very weights that were drawn from.
//! A site that must not move, clamped or padding, has one value of weight 1.
//!
//! # Rounding
//! * A site of up to 64 values takes one uniform. The uniform and the running sums are floats, so a value rarer than
//!   2⁻²⁴ may never be drawn. The total variation between drawn and scored probabilities is below 10⁻⁵ in the worst
//!   case. Counted over all words of the generator for 120 sets of weights, it is at most 7·10⁻⁷. A log ratio has
//!   roundings of that size too.
//! * A site of [`Layout::MANY`] values or more takes 192 random bits. Every value has its probability within a relative
//!   10⁻⁵, however rare it is. Counted, the largest difference is 2·10⁻⁶.
//!
//! # Infinite gradients
//! A logit of ±∞ counts as the largest finite number or is cut at [`LOGIT_LIMIT`] below the largest. Only a value that
//! the site may not take has weight 0. A logit of ∞ − ∞ is NaN: a fault, which shuts a state off in both directions.

pub(crate) mod binary;
pub(crate) mod conditional;
pub(crate) mod index;
pub(crate) mod logits;
pub(crate) mod metropolis;
pub(crate) mod planes;
mod row;
pub(crate) mod sums;

use crate::lane::{Block, LogProduct};
use crate::layout::{Kind, Layout};
use crate::packed::Packed;
use rand_core::Rng;

pub(crate) use row::{Logits, Row};

/// Logits are cut at 30 below the largest (odds of 10⁻¹³): what the uniforms still resolve. Those of −∞ too. The cut
/// is part of the proposal, in the draw and in its probability alike, so an adjusted chain stays exact.
pub const LOGIT_LIMIT: f32 = 30.0;

/// What was found of gradients that are turned into weights, and of a move from `at` to `other` among them.
pub(crate) struct Weighed {
    /// Π (sum of weights) over all sites.
    pub(crate) normaliser: LogProduct,
    /// Π (weight of the value in `other`).
    pub(crate) chosen: LogProduct,
    /// Whether a logit is NaN.
    pub(crate) nan: bool,
    /// Whether the value in `other` can be drawn at every site.
    pub(crate) possible: bool,
}

/// Which values the sites may take.
#[derive(Clone, Copy)]
pub(crate) struct Domain<'a> {
    /// A site may move where its field is not zero.
    pub(crate) free: Packed<'a>,
    /// The arity of every site, where they differ.
    pub(crate) arities: Option<&'a [u16]>,
}

impl Domain<'_> {
    /// The arity of a site.
    pub(crate) fn arity(&self, layout: Layout, site: usize) -> u32 {
        layout.arity_at(self.arities, site) as u32
    }
}

/// The parameters of the proposal: β, and how far an ordinal value may move.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) balance: f32,
    pub(crate) window: u32,
}

/// Draws y from the weights at x, one uniform a site; returns Π (weight of the drawn value).
#[inline]
pub(crate) fn draw<R: Rng + ?Sized>(
    weights: &[Block],
    x: Packed<'_>,
    y: &mut [u32],
    rng: &mut R,
) -> LogProduct {
    match x.layout().kind() {
        Kind::Binary => binary::draw(weights, x.words(), y, rng),
        Kind::Categorical | Kind::Ordinal => planes::draw(weights, x.layout(), y, rng),
    }
}

/// What [`draw`] would have returned, had it drawn y; `None` where it never draws y.
pub(crate) fn score(weights: &[Block], x: Packed<'_>, y: Packed<'_>) -> Option<LogProduct> {
    match x.layout().kind() {
        Kind::Binary => binary::score(weights, x, y),
        Kind::Categorical | Kind::Ordinal => planes::score(weights, y),
    }
}
