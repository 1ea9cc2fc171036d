//! Draws from the densities.

use super::REACH;
use bitmc::LaneRng;
use bitmc::random::{normals, uniform};
use std::f64::consts::{PI, TAU};

/// A density in the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Two arms of a spiral, one and a half turns
    #[value(name = "2spirals")]
    TwoSpirals,
    /// Eight normal distributions on a circle
    #[value(name = "8gaussians")]
    EightGaussians,
    /// Two circles, one inside the other
    Circles,
    /// Two half circles, each around an end of the other
    Moons,
    /// Five curved blades
    Pinwheel,
    /// One spiral
    Swissroll,
    /// Every second field of a board of 4 × 4 fields
    Checkerboard,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::TwoSpirals,
        Self::EightGaussians,
        Self::Circles,
        Self::Moons,
        Self::Pinwheel,
        Self::Swissroll,
        Self::Checkerboard,
    ];

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoSpirals => "2spirals",
            Self::EightGaussians => "8gaussians",
            Self::Circles => "circles",
            Self::Moons => "moons",
            Self::Pinwheel => "pinwheel",
            Self::Swissroll => "swissroll",
            Self::Checkerboard => "checkerboard",
        }
    }

    /// A draw, in the square of [`REACH`]; one outside is drawn again.
    pub fn draw(self, rng: &mut LaneRng) -> [f64; 2] {
        loop {
            let point = self.anywhere(rng);
            if point.iter().all(|value| value.abs() < REACH) {
                return point;
            }
        }
    }

    fn anywhere(self, rng: &mut LaneRng) -> [f64; 2] {
        let normal = normals(rng).map(f64::from);
        match self {
            Self::TwoSpirals => {
                let side = if below(rng, 2.0) == 0.0 { 1.0 } else { -1.0 };
                let angle = u(rng).sqrt() * 3.0 * PI;
                let along = [-angle.cos() * angle + 0.5 * u(rng), angle.sin() * angle + 0.5 * u(rng)];
                [0, 1].map(|axis| side * along[axis] / 3.0 + 0.1 * normal[axis])
            }
            Self::EightGaussians => {
                let angle = below(rng, 8.0) * TAU / 8.0;
                let centre = [4.0 * angle.cos(), 4.0 * angle.sin()];
                [0, 1].map(|axis| (centre[axis] + 0.5 * normal[axis]) / 2f64.sqrt())
            }
            Self::Circles => {
                let radius = if below(rng, 2.0) == 0.0 { 3.0 } else { 1.5 };
                let angle = u(rng) * TAU;
                [radius * angle.cos() + 0.24 * normal[0], radius * angle.sin() + 0.24 * normal[1]]
            }
            Self::Moons => {
                let (lower, angle) = (below(rng, 2.0), u(rng) * PI);
                let upper = [angle.cos(), angle.sin()];
                let point = if lower == 0.0 { upper } else { [1.0 - upper[0], 0.5 - upper[1]] };
                [2.0 * point[0] - 1.0 + 0.2 * normal[0], 2.0 * point[1] - 0.2 + 0.2 * normal[1]]
            }
            Self::Pinwheel => {
                let (along, across) = (1.0 + 0.3 * normal[0], 0.1 * normal[1]);
                let angle = below(rng, 5.0) * TAU / 5.0 + 0.25 * along.exp();
                let (sin, cos) = angle.sin_cos();
                [2.0 * (along * cos + across * sin), 2.0 * (across * cos - along * sin)]
            }
            Self::Swissroll => {
                let angle = 1.5 * PI * (1.0 + 2.0 * u(rng));
                [(angle * angle.cos() + normal[0]) / 5.0, (angle * angle.sin() + normal[1]) / 5.0]
            }
            Self::Checkerboard => {
                let x = 4.0 * u(rng) - 2.0;
                let y = u(rng) - 2.0 * below(rng, 2.0) + x.floor().rem_euclid(2.0);
                [2.0 * x, 2.0 * y]
            }
        }
    }
}

/// Uniform in [0, 1).
fn u(rng: &mut LaneRng) -> f64 {
    f64::from(uniform(rng))
}

/// A uniform whole number below n.
fn below(rng: &mut LaneRng, n: f64) -> f64 {
    (u(rng) * n).floor()
}
