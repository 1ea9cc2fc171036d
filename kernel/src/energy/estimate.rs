//! Gradients that are estimates, of a minibatch for example.

use super::{Energy, EnergyError};
use crate::lane::{Bits, Block};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// An energy of which only an unbiased estimate of the gradient is known, for example one from a minibatch of data.
/// It drives the unadjusted Langevin sampler (DLP §6, stochastic gradients).
///
/// `estimate(x, rows, out)` writes `∂E/∂x` for the given [rows](Layout::rows). It may give another answer each time.
/// This is how often a step of [`Langevin`](crate::Langevin) calls it:
///
/// | sites | calls a step |
/// |---|---|
/// | of up to 64 values | 1, for all rows at the new state; the next step starts from it |
/// | ordinal, of [many values](Layout::many_values) | 1, for all rows at the state |
/// | categorical, of many values | 1 for each site that may move, at the state |
///
/// Where sites have many values nothing is kept from one step to the next. One call more, or one a site, is made at
/// the start, and one where parameters or clamped sites change. No chain keeps a gradient of it.
///
/// Differences of the energy are unknown and reported as 0. A Metropolis test would accept every move, and Gibbs
/// sampling would draw uniform values. Use [`Langevin::unadjusted`](crate::Langevin::unadjusted): over this energy
/// every step of another sampler is a fault.
///
/// ```
/// use bitmc::{energy::Estimate, Layout};
/// use core::cell::Cell;
/// let batch = Cell::new(0);
/// let data = [[1.0, 3.0], [2.0, 5.0]]; // rows of a data set
/// let energy = Estimate::new(Layout::binary(2), |_x, _blocks, out| {
///     let row = data[batch.get() % 2];
///     batch.set(batch.get() + 1);
///     out[0][..2].copy_from_slice(&row);
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Estimate<F> {
    layout: Layout,
    estimate: F,
}

impl<F: Fn(Packed<'_>, Range<usize>, &mut [Block])> Estimate<F> {
    /// An energy from an estimator of its gradient.
    pub const fn new(layout: Layout, estimate: F) -> Self {
        Self { layout, estimate }
    }
}

impl<F: Fn(Packed<'_>, Range<usize>, &mut [Block])> Energy for Estimate<F> {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn cache_len(&self) -> usize {
        0
    }

    fn estimates(&self) -> bool {
        true
    }

    fn init(&self, _x: Packed<'_>, _cache: &mut [Bits]) -> Result<f32, EnergyError> {
        Ok(0.0)
    }

    fn gradient(&self, x: Packed<'_>, _cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        (self.estimate)(x, blocks, out);
    }

    fn shift(&self, _step: &Move<'_>, _cache: &mut [Bits]) -> f32 {
        0.0
    }

    fn differences(&self, _words: &mut [u32], _cache: &[Bits], _site: usize, out: &mut [f32]) {
        out.fill(0.0);
    }
}
