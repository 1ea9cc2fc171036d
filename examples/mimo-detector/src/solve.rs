//! The model of a frame: the precision matrix, its centre, and the MMSE estimate, all over the values k.

use crate::Frame;
use crate::numbers::root;
use bitmc::lane::Block;

/// What is added to the diagonal for the centre, as a share of it. A channel without an inverse has a centre all the same.
const RIDGE: f32 = 1e-5;

/// Fills A, μ and the MMSE estimate; nothing where the channel is zero or a number is not finite.
///
/// `E = |y − Hx|²/N₀`, and `x = δ(2k − S + 1)`: so `A = (8δ²/N₀) HᵀH`, and `Aμ = (4δ/N₀) Hᵀ(y − Hx₀)` with x₀ that of k = 0.
#[expect(clippy::needless_range_loop, reason = "rows and columns, as in the formulas")]
pub(crate) fn model<const N: usize>(
    frame: &Frame<N>,
    rows: &mut [Block; N],
    centre: &mut [f32; N],
    mmse: &mut [f32; N],
) -> Option<()> {
    let delta = frame.modulation.half_distance();
    let scale = 4.0 * delta / frame.noise;
    let middle = 0.5 * (frame.modulation.arity() as f32 - 1.0);
    let column = |i: usize| frame.channel.iter().map(move |row| row[i]);
    let mut matrix = [[0.0; N]; N];
    // About the middle of the values, where x = 0.
    let mut right = [0.0; N];
    let mut trace = 0.0;
    for i in 0..N {
        right[i] = scale * column(i).zip(frame.received).map(|(h, y)| h * y).sum::<f32>();
        for j in 0..=i {
            let product = column(i).zip(column(j)).map(|(a, b)| a * b).sum::<f32>();
            matrix[i][j] = 2.0 * delta * scale * product;
            matrix[j][i] = matrix[i][j];
        }
        trace += matrix[i][i];
    }
    if !(trace > 0.0 && trace < f32::INFINITY && frame.noise > 0.0) {
        return None;
    }
    for (row, entries) in rows.iter_mut().zip(&matrix) {
        row.iter_mut().zip(entries).for_each(|(out, &entry)| *out = entry);
    }
    let ridge = RIDGE * trace / N as f32;
    let factor = cholesky(&matrix, ridge)?;
    *centre = right;
    substitute(&factor, centre);
    // Once more with what is left, which the ridge and the rounding have cost.
    let mut left = right;
    for (left, row) in left.iter_mut().zip(&matrix) {
        *left -= row.iter().zip(&*centre).map(|(a, x)| a * x).sum::<f32>();
    }
    substitute(&factor, &mut left);
    centre.iter_mut().zip(left).for_each(|(centre, left)| *centre += left + middle);
    // A prior of variance 1/2 for x is one of 1/(8δ²) for k.
    *mmse = right;
    substitute(&cholesky(&matrix, 8.0 * delta * delta)?, mmse);
    mmse.iter_mut().for_each(|k| *k += middle);
    centre.iter().chain(&*mmse).all(|k| k.is_finite()).then_some(())
}

/// The lower factor of a matrix with so much more on its diagonal, the inverse of its own diagonal in place of it.
fn cholesky<const N: usize>(matrix: &[[f32; N]; N], more: f32) -> Option<[[f32; N]; N]> {
    let mut factor = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let before = (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f32>();
            let rest = matrix[i][j] - before;
            if i == j {
                let square = rest + more;
                if square.is_nan() || square <= 0.0 {
                    return None;
                }
                factor[i][i] = 1.0 / root(square);
            } else {
                factor[i][j] = rest * factor[j][j];
            }
        }
    }
    Some(factor)
}

/// Solves in place.
fn substitute<const N: usize>(factor: &[[f32; N]; N], x: &mut [f32; N]) {
    for i in 0..N {
        let before = (0..i).map(|k| factor[i][k] * x[k]).sum::<f32>();
        x[i] = (x[i] - before) * factor[i][i];
    }
    for i in (0..N).rev() {
        let after = (i + 1..N).map(|k| factor[k][i] * x[k]).sum::<f32>();
        x[i] = (x[i] - after) * factor[i][i];
    }
}
