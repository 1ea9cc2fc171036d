//! What was told, as an energy.

use super::gradient_len;
use crate::chain::{ChainError, CountError};
use crate::energy::{Energy, EnergyError};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// The gradient at one state, as it was told. It answers nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub(super) layout: Layout,
    pub(super) arities: Option<&'a [u16]>,
    /// `[site]` or `[site][value]`; empty where there is none.
    pub(super) slopes: &'a [f32],
}

impl Told<'_> {
    /// Whether a gradient has its length, or is none.
    pub(super) fn check(&self, gradient: &[f32]) -> Result<(), OpenError> {
        let (need, got) = (gradient_len(self.layout), gradient.len());
        if got == need || got == 0 { Ok(()) } else { Err(OpenError::Gradient { need, got }) }
    }

    /// The gradient into the plane of a point; false where there is none, or it is not kept.
    pub(super) fn keep(&self, plane: &mut [Block]) -> bool {
        let known = !self.slopes.is_empty() && !self.layout.row_is_site();
        if known {
            pack(self.layout, self.slopes, plane);
        }
        known
    }

    /// Whether a slope of a value that its site has is NaN.
    pub(super) fn has_nan(&self) -> bool {
        let width = self.layout.slopes();
        let arity = |site| self.layout.arity_at(self.arities, site).min(width);
        let mut rows = self.slopes.chunks(width).enumerate();
        rows.any(|(site, row)| row.iter().take(arity(site)).any(|slope| slope.is_nan()))
    }
}

/// A gradient in the field's order, `[site]` or `[site][value]`, as the rows of [`Energy::gradient`].
fn pack(layout: Layout, slopes: &[f32], out: &mut [Block]) {
    out.fill([0.0; LANES]);
    out.as_flattened_mut().iter_mut().zip(slopes).for_each(|(out, &slope)| *out = slope);
    if !layout.row_is_site() {
        spread(layout, out);
    }
}

/// Slopes one after the other, `[site][value]`, into lanes, in place. Those of sixteen sites are the rows of a
/// matrix. It is transposed, to have the sites along the lanes.
#[inline(never)]
pub(crate) fn spread(layout: Layout, out: &mut [Block]) {
    let width = layout.slopes();
    let last = width.saturating_mul(LANES).saturating_sub(1);
    for planes in out.chunks_exact_mut(width).filter(|_| width > 1) {
        let planes = planes.as_flattened_mut();
        // What is at i belongs to 16 i mod (16 width − 1): cycles, each begun at its least place.
        for start in 1..last {
            let next = |at: usize| (at / width) + (at % width) * LANES;
            let mut at = next(start);
            while at > start {
                at = next(at);
            }
            if at == start {
                let mut held = planes.get(start).copied().unwrap_or_default();
                loop {
                    at = next(at);
                    let Some(slot) = planes.get_mut(at) else { break };
                    core::mem::swap(slot, &mut held);
                    if at == start {
                        break;
                    }
                }
            }
        }
    }
}

impl Energy for Told<'_> {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn cache_len(&self) -> usize {
        0
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities
    }

    fn init(&self, _: Packed<'_>, _: &mut [Bits]) -> Result<f32, EnergyError> {
        Err(EnergyError::Nan)
    }

    fn gradient(&self, _: Packed<'_>, _: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let row = if self.layout.row_is_site() { self.layout.slopes() } else { 0 };
        pack(self.layout, self.slopes.get(rows.start.saturating_mul(row)..).unwrap_or_default(), out);
    }

    fn shift(&self, _: &Move<'_>, _: &mut [Bits]) -> f32 {
        f32::NAN
    }

    fn differences(&self, _: &mut [u32], _: &[Bits], _: usize, out: &mut [f32]) {
        out.fill(f32::NAN);
    }
}

crate::error::errors! {
    /// Why an open chain cannot go on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OpenError {
        /// The chain cannot start, or a mask is none.
        Chain(error: ChainError) from ChainError => "{error}";
        /// The gradient has `got` numbers: [`gradient_len`] is `need`.
        Gradient {
            /// Numbers needed.
            need: usize,
            /// Numbers given.
            got: usize,
        } => "the gradient has {got} numbers: the layout needs {need}";
        /// The kernel needs the gradient at the state, which was not told.
        NoGradient => "the kernel needs the gradient at the state: none was told, or none is kept (`ask_with`)";
        /// Nothing was asked.
        NotAsked => "nothing was asked: `ask` comes before `tell`";
        /// There is not one of each a chain.
        Count(error: CountError) from CountError => "{error}";
    }
}
