//! A Runge–Kutta integrator of order 5 with adaptive steps, the reference for the leapfrogs.

use super::{Target, norm};

/// The tableau of Dormand and Prince (1980): the row of each stage, then of order 5, then of order 4.
const STAGES: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const FOURTH: [f64; 7] =
    [5179.0 / 57600.0, 0.0, 7571.0 / 16695.0, 393.0 / 640.0, -92097.0 / 339200.0, 187.0 / 2100.0, 1.0 / 40.0];

/// Integrates ẏ = f(y) over `time`, each step's error within `tolerance` of the larger of 1 and |y|; the
/// number of evaluations of f.
pub fn integrate(y: &mut Vec<f64>, time: f64, tolerance: f64, f: impl Fn(&[f64]) -> Vec<f64>) -> u64 {
    let (mut done, mut step, mut evaluations) = (0.0, 1e-3 * time, 0);
    while done < time {
        step = step.min(time - done);
        let mut slopes = vec![f(y)];
        let mut next = y.clone();
        for row in STAGES {
            next = y.clone();
            for (factor, slope) in row.iter().zip(&slopes) {
                next.iter_mut().zip(slope).for_each(|(y, s)| *y += step * factor * s);
            }
            slopes.push(f(&next));
        }
        evaluations += 7;
        let mut other = y.clone();
        for (factor, slope) in FOURTH.iter().zip(&slopes) {
            other.iter_mut().zip(slope).for_each(|(y, s)| *y += step * factor * s);
        }
        let apart: Vec<f64> = next.iter().zip(&other).map(|(a, b)| a - b).collect();
        let excess = norm(&apart) / (tolerance * norm(y).max(1.0));
        if excess <= 1.0 {
            done += step;
            *y = next;
        }
        step *= (0.9 * excess.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
    }
    evaluations
}

/// The scaled dynamics (Eq. 6) of y = (x, u, r, t), t the unscaled time.
pub fn scaled_field<T: Target + ?Sized>(target: &T, y: &[f64]) -> Vec<f64> {
    let d = (y.len() - 2) / 2;
    let (x, u, r) = (&y[..d], &y[d..2 * d], y[2 * d]);
    let g = target.gradient(x);
    let along: f64 = u.iter().zip(&g).map(|(u, g)| u * g).sum();
    let turn = u.iter().zip(&g).map(|(u, g)| -(g - along * u) / d as f64);
    let time = r.exp() / d as f64;
    u.iter().copied().chain(turn).chain([-along / d as f64, time]).collect()
}

/// The original dynamics (Eq. 2) of y = (x, v).
pub fn unscaled_field<T: Target + ?Sized>(target: &T, y: &[f64]) -> Vec<f64> {
    let d = y.len() / 2;
    let (x, v) = (&y[..d], &y[d..]);
    let square: f64 = v.iter().map(|v| v * v).sum();
    let g = target.gradient(x);
    v.iter().map(|v| v * d as f64 / square).chain(g.iter().map(|g| -g)).collect()
}
