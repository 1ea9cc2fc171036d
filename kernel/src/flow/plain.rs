//! A potential from one function over plain slices.

use super::Potential;
use crate::lane::Block;

/// A [`Potential`] of your own, from its dimension and one function: it is shown x, writes `∂E/∂x`, and returns E.
///
/// Both slices have `dim` numbers. The gradient is 0 at the call, so that terms may be added up. A function that needs
/// scratch memory is a [`Potential`].
///
/// ```
/// use bitmc::flow::{Hmc, HmcChain, PlainPotential, StepSize, blocks};
/// use bitmc::{LaneRng, SeedableRng};
///
/// // E = ½x² + ½(y − x²)²: a bent valley.
/// let valley = PlainPotential::new(2, |x, gradient| {
///     let off = x[1] - x[0] * x[0];
///     gradient[0] = x[0] - 2.0 * x[0] * off;
///     gradient[1] = off;
///     0.5 * (x[0] * x[0] + off * off)
/// });
/// let memory = [[0.0; 16]; HmcChain::<(), ()>::memory_len(blocks(2), 0)];
/// let mut chain = HmcChain::new(&valley, memory, &[0.0, 0.0])?;
/// let (kernel, mut rng) = (Hmc::new(StepSize::new(0.2)?, 8)?, LaneRng::seed_from_u64(1));
/// let steps = 20_000;
/// let mut sum = 0.0;
/// for _ in 0..steps {
///     chain.step(&kernel, &mut rng);
///     sum += chain.position()[1];
/// }
/// assert!((sum / steps as f32 - 1.0).abs() < 0.1); // ⟨y⟩ = ⟨x²⟩ = 1
/// # Ok::<(), bitmc::flow::FlowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PlainPotential<F> {
    dim: usize,
    function: F,
}

impl<F: Fn(&[f32], &mut [f32]) -> f32> PlainPotential<F> {
    /// In `dim` dimensions, `function(x, gradient)` being E(x). As with any [`Potential`], `E = +∞` is a hard
    /// constraint; NaN, `−∞` and a gradient that is not finite are faults.
    pub const fn new(dim: usize, function: F) -> Self {
        Self { dim, function }
    }
}

/// Cost: one call of the function, and `dim` stores that clear the gradient.
impl<F: Fn(&[f32], &mut [f32]) -> f32> Potential for PlainPotential<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, x: &[Block], _scratch: &mut [Block], out: &mut [Block]) -> f32 {
        let (x, out) = (x.as_flattened().get(..self.dim), out.as_flattened_mut().get_mut(..self.dim));
        // Buffers that are too short: a fault, not a panic in the function.
        let (Some(x), Some(out)) = (x, out) else { return f32::NAN };
        out.fill(0.0);
        (self.function)(x, out)
    }
}
