//! What is added to an objective's gradient: penalties, and a limit.

use crate::flow::vector::{largest, scale, sqrt};
use crate::lane::{Block, F32s, LANES, PARTS, Total, sum};

/// ℓ1: adds `strength · sign(θ)` to the gradient and returns the penalty `strength · Σ|θ|`. Pass the parameters it is
/// meant for, for example the couplings without the fields, and their part of the gradient.
pub fn lasso(strength: f32, parameters: &[Block], gradient: &mut [Block]) -> f32 {
    let (zero, s) = (F32s::splat(0.0), F32s::splat(strength));
    let sizes = penalise(parameters, gradient, |theta| {
        let sign = zero.lt(theta).pick(s, theta.lt(zero).pick(-s, zero));
        (sign, theta.abs())
    });
    strength * sizes
}

/// Weight decay, ℓ2: adds `strength · θ` to the gradient and returns the penalty `½ strength · Σθ²`.
pub fn decay(strength: f32, parameters: &[Block], gradient: &mut [Block]) -> f32 {
    let s = F32s::splat(strength);
    0.5 * strength * penalise(parameters, gradient, |theta| (s * theta, theta * theta))
}

/// Adds a penalty's slopes to the gradient; the sum of the sizes. `penalty` gives both of some parameters.
#[inline]
fn penalise(parameters: &[Block], gradient: &mut [Block], penalty: impl Fn(F32s) -> (F32s, F32s)) -> f32 {
    let mut total = Total::new(0.0);
    for (theta, gradient) in parameters.iter().zip(gradient) {
        let mut sizes = [0.0; LANES];
        for part in 0..PARTS {
            let (slope, size) = penalty(F32s::load(theta, part));
            (F32s::load(gradient, part) + slope).store(gradient, part);
            size.store(&mut sizes, part);
        }
        total.add(sum(&sizes));
    }
    total.value()
}

/// Scales a gradient down to a Euclidean norm of `limit` where it is longer, and returns the norm that it had.
/// A gradient with a NaN or an infinity is left alone, and NaN returned.
///
/// The norm is taken relative to the largest number, so it does not overflow where the numbers do not.
pub fn clip(limit: f32, gradient: &mut [Block]) -> f32 {
    let most = largest(gradient);
    if !most.is_finite() {
        return f32::NAN;
    }
    if most == 0.0 {
        return 0.0;
    }
    let mut total = Total::new(0.0);
    for block in gradient.iter() {
        let mut squares = [0.0; LANES];
        for part in 0..PARTS {
            let part_of = F32s::load(block, part) / F32s::splat(most);
            (part_of * part_of).store(&mut squares, part);
        }
        total.add(sum(&squares));
    }
    let length = sqrt(total.value());
    if length * (most / limit) > 1.0 {
        let factor = limit / most / length;
        if factor >= f32::MIN_POSITIVE || most < 1.0 {
            scale(gradient, factor);
        } else {
            // In two steps: a subnormal factor has lost digits.
            scale(gradient, 1.0 / most);
            scale(gradient, limit / length);
        }
    }
    most * length
}
