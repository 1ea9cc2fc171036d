//! The continuous samplers in float64, as the paper prints them (Ver Steeg and Galstyan 2021): sinh and
//! cosh, no safe forms, one number after the other. And what can be broken in them on purpose.

mod newton;
mod runge_kutta;
mod targets;

pub use newton::{NaiveHmc, normal};
pub use runge_kutta::{integrate, scaled_field, unscaled_field};
pub use targets::{Quartic, Target, Valley, Watched};

/// What may be wrong with a trajectory: each of these must be seen by the test of its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flaws {
    /// A half turn takes `half · ε`: right is ½.
    pub half: f64,
    /// Added to the dimension: right is 0.
    pub dimension: f64,
}

/// Nothing wrong.
pub const RIGHT: Flaws = Flaws { half: 0.5, dimension: 0.0 };

/// A trajectory of energy-sampling dynamics by the scaled leapfrog (Eq. 15).
#[derive(Clone, Debug)]
pub struct Trajectory<'t, T: ?Sized> {
    target: &'t T,
    /// Position.
    pub x: Vec<f64>,
    /// Direction.
    pub u: Vec<f64>,
    /// ln|v|.
    pub r: f64,
    flaws: Flaws,
}

impl<'t, T: Target + ?Sized> Trajectory<'t, T> {
    /// From a point in a direction.
    pub fn new(target: &'t T, x: &[f64], u: &[f64], flaws: Flaws) -> Self {
        let length = norm(u);
        Self { target, x: x.to_vec(), u: u.iter().map(|u| u / length).collect(), r: 0.0, flaws }
    }

    fn dim(&self) -> f64 {
        self.x.len() as f64 + self.flaws.dimension
    }

    /// `E + d·r`.
    #[must_use]
    pub fn hamiltonian(&self) -> f64 {
        self.target.energy(&self.x) + self.x.len() as f64 * self.r
    }

    /// One step; returns the unscaled time it took.
    pub fn step(&mut self, epsilon: f64) -> f64 {
        let first = self.turn(self.flaws.half * epsilon);
        for (x, u) in self.x.iter_mut().zip(&self.u) {
            *x += epsilon * u;
        }
        first + self.turn(self.flaws.half * epsilon)
    }

    /// Half a step in u and r over a scaled time h; the time it takes.
    fn turn(&mut self, h: f64) -> f64 {
        let g = self.target.gradient(&self.x);
        let steepness = norm(&g);
        if steepness == 0.0 {
            return self.r.exp() * h / self.dim();
        }
        let e: Vec<f64> = g.iter().map(|g| -g / steepness).collect();
        let w: f64 = self.u.iter().zip(&e).map(|(u, e)| u * e).sum();
        let a = h * steepness / self.dim();
        let (sinh, cosh) = (a.sinh(), a.cosh());
        let below = cosh + w * sinh;
        for (u, e) in self.u.iter_mut().zip(&e) {
            *u = (*u + e * (sinh + w * cosh - w)) / below;
        }
        let time = self.r.exp() / steepness * (sinh + w * (cosh - 1.0));
        self.r += below.ln();
        time
    }
}

/// The length of a vector.
#[must_use]
pub fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The half turn of METHODS.md §7 from a = h|g|/d and w = u·e: the gain in r, and the logarithm of the time
/// it takes times |g|/e^r. In float64, by forms that cannot overflow.
#[must_use]
pub fn turn_truth(a: f64, w: f64) -> (f64, f64) {
    let m = -(-a).exp_m1();
    if w == -1.0 {
        return (-a, m.ln());
    }
    let gain = if a < 1.0 {
        (2.0 * (0.5 * a).sinh().powi(2) + w * a.sinh()).ln_1p()
    } else {
        a + (0.5 * (1.0 + (-2.0 * a).exp() - w * (-2.0 * a).exp_m1())).ln()
    };
    (gain, a + (0.5 * m * (2.0 - m + w * m)).ln())
}

/// The time as the paper's released form has it, in f32: `e^r/|g|·(sinh a + w(cosh a − 1))` by exponentials.
/// Kept as a broken variant: `1 − e^(−2a)` and `1 + e^(−2a) − 2e^(−a)` cancel where a is small.
#[must_use]
pub fn released_log_time(a: f32, w: f32) -> f32 {
    let (z, z2) = ((-a).exp(), (-2.0 * a).exp());
    a + (0.5 * ((1.0 - z2) + w * (1.0 + z2 - 2.0 * z))).ln()
}
