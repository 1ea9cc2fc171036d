//! What both regressions share: what they refuse, how they forget, and how their equations are solved.

use super::{NoiseError, room};
use crate::flow::vector::{add, dot, scale, sqrt};
use crate::lane::{Block, LANES};
use crate::layout::{Kind, Layout};

/// How well the equations of a [`Regression`](super::Regression) are solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The norm of what is left of `B + Bᵀ`, relative to its own.
    pub residual: f32,
    /// Iterations that were made.
    pub iterations: u32,
}

/// Refuses sites whose values are no numbers.
pub(super) fn numbers(layout: Layout) -> Result<(), NoiseError> {
    if layout.kind() == Kind::Categorical { Err(NoiseError::Categorical) } else { Ok(()) }
}

/// Refuses gradients of fewer sites than there are.
pub(super) fn long(sites: usize, gradients: [&[Block]; 2]) -> Result<(), NoiseError> {
    let need = sites.div_ceil(LANES);
    let got = gradients[0].len().min(gradients[1].len());
    if got < need { Err(NoiseError::Memory { need, got }) } else { Ok(()) }
}

/// Refuses a ridge that is none.
pub(super) fn ridge_value(ridge: f32) -> Result<f32, NoiseError> {
    if ridge >= 0.0 && ridge.is_finite() { Ok(ridge) } else { Err(NoiseError::Ridge(ridge)) }
}

/// Two numbers become their sum: the same bits on both sides of the diagonal.
pub(super) fn add_up(numbers: &mut [f32], here: usize, there: usize) {
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0.0);
    let sum = number(here) + number(there);
    for at in [here, there] {
        if let Some(slot) = numbers.get_mut(at) {
            *slot = sum;
        }
    }
}

/// Moves after which sums are halved: sums of their squares have not yet all digits of a float.
const HALF_LIFE: u32 = 1 << 22;

/// Halves sums where it is time.
pub(super) fn forget(moves: u32, sums: [&mut [Block]; 2]) {
    if moves.is_multiple_of(HALF_LIFE) {
        sums.into_iter().for_each(|sums| scale(sums, 0.5));
    }
}

/// w ← the solution of `M + Mᵀ = B + Bᵀ` by conjugate gradients from 0 (Hestenes and Stiefel 1952). `apply` makes
/// `M = (A + ρ)w`, and `symmetrise` adds the transposed matrix. It takes `size` blocks of w and three times `size` of
/// scratch. It stops where the residual is below 10⁻⁵, or after `iterations`.
pub(super) fn solve(
    iterations: u32,
    size: usize,
    (w, scratch): (&mut [Block], &mut [Block]),
    b: &[Block],
    symmetrise: impl Fn(&mut [Block]),
    apply: impl Fn(&[Block], &mut [Block]),
) -> Result<Fit, NoiseError> {
    let w = room(w, size)?;
    let scratch = room(scratch, size.saturating_mul(3))?;
    let (rest, scratch) = scratch.split_at_mut_checked(size).unwrap_or_default();
    let (direction, image) = scratch.split_at_mut_checked(size).unwrap_or_default();
    w.fill([0.0; LANES]);
    // What `apply` leaves out stays 0.
    image.fill([0.0; LANES]);
    rest.iter_mut().zip(b).for_each(|(slot, &block)| *slot = block);
    symmetrise(rest);
    direction.iter_mut().zip(rest.iter()).for_each(|(slot, &block)| *slot = block);
    let first = dot(rest, rest);
    let (mut square, mut made) = (first, 0);
    while made < iterations && square > 1e-10 * first {
        apply(direction, image);
        symmetrise(image);
        let curvature = dot(direction, image);
        // Numbers whose squares are floats may have products with moments that are not.
        if !curvature.is_finite() {
            return Err(NoiseError::Gradient);
        }
        if curvature <= 0.0 {
            break;
        }
        let length = square / curvature;
        add(w, length, direction);
        add(rest, -length, image);
        let next = dot(rest, rest);
        scale(direction, next / square);
        add(direction, 1.0, rest);
        square = next;
        made += 1;
    }
    if !square.is_finite() {
        return Err(NoiseError::Gradient);
    }
    let residual = if first > 0.0 { sqrt(square / first) } else { 0.0 };
    Ok(Fit { residual, iterations: made })
}
