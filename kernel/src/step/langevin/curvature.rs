//! The curvature of the proposal.

use crate::lane::Block;
use crate::step::ParameterError;

/// The curvature c of the proposal: the inverse step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curvature<'a> {
    /// The same at every site.
    Same(f32),
    /// One a site (DLP §6, preconditioning): `cᵢ = 1/(α pᵢ)`. Every lane must be finite and not negative,
    /// and those past the last site do nothing else. A chain with more blocks of sites than this refuses every step as a fault.
    Each(&'a [Block]),
    /// A multiple of one a site: `cᵢ = factor · dᵢ`.
    Times(f32, &'a [Block]),
}

/// `number`/α.
pub(in crate::step) fn per_step_size(number: f32, step_size: f32) -> Result<f32, ParameterError> {
    let curvature = number / step_size;
    let legal = step_size > 0.0 && step_size.is_finite() && curvature.is_finite();
    if legal { Ok(curvature) } else { Err(ParameterError::StepSize(step_size)) }
}
