//! The paper's targets (Ver Steeg and Galstyan 2021, Sec. 3): a potential, where chains start, exact draws,
//! and moments. Sizes and starts are those of the authors' program (`esh/datasets.py` and `test_suite.py`): the paper
//! does not print them.

use bitmc::LaneRng;
use bitmc::flow::{DenseGaussian, DiagonalGaussian, Funnel, Mixture, Potential, blocks};
use bitmc::lane::{Block, LANES};
use bitmc::random::{normals, uniform};
use std::f32::consts::{FRAC_1_SQRT_2, TAU};

/// Centres of the mixture stand on a circle of this radius.
const RADIUS: f32 = 0.5;
/// The standard deviation of its components.
const SIGMA: f32 = 0.075;
const CENTRES: usize = 8;
/// Variances of the narrow Gaussian across and along: its axes are the diagonals.
const AXES: [f32; 2] = [0.01, 1.0];
/// The standard deviation of the funnel's first coordinate.
const FUNNEL: f32 = 3.0;
/// Dimensions of the ill-conditioned Gaussian.
const ILL: usize = 50;
/// Dimensions of the funnel.
const FUNNEL_DIM: usize = 20;

/// A target by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Eight Gaussians on a circle.
    Mog,
    /// The same; every chain starts in the middle of the one at the top.
    MogPrior,
    /// Two coordinates with correlation −.98.
    Scg,
    /// The same; chains start around one end, from N((−2, 2), I).
    ScgBias,
    /// Fifty independent coordinates with variances from .01 to 1 in even steps. (Neal 2011 has these numbers for
    /// standard deviations: there ULA at ε = .1 is unstable.)
    Icg,
    /// Neal's funnel in twenty dimensions.
    Funnel,
}

impl Target {
    /// All of them, in the order of the paper's Table 1 but for the funnel, which comes last.
    pub const ALL: [Self; 6] = [Self::Mog, Self::MogPrior, Self::Scg, Self::ScgBias, Self::Icg, Self::Funnel];

    /// The paper's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mog => "2D MOG",
            Self::MogPrior => "2D MOG-prior",
            Self::Scg => "2D SCG",
            Self::ScgBias => "2D SCG-bias",
            Self::Icg => "50D ICG",
            Self::Funnel => "20D funnel",
        }
    }

    /// Dimensions.
    #[must_use]
    pub fn dim(self) -> usize {
        match self {
            Self::Icg => ILL,
            Self::Funnel => FUNNEL_DIM,
            _ => 2,
        }
    }

    /// Half the side of a picture of its first two coordinates.
    #[must_use]
    pub fn span(self) -> f32 {
        match self {
            Self::Mog | Self::MogPrior => 1.0,
            Self::Scg | Self::ScgBias => 3.5,
            Self::Icg | Self::Funnel => 9.0,
        }
    }

    /// The variances of a coordinate and of its square; all means are 0. For the funnel they are the numbers of the
    /// authors' program, of which only the first is right.
    #[must_use]
    pub fn moments(self) -> Vec<[f64; 2]> {
        // The square of a normal variable has variance 2σ⁴.
        let normal = |variance: f64| [variance, 2.0 * variance * variance];
        match self {
            Self::Mog | Self::MogPrior => {
                let (r, s) = (f64::from(RADIUS * RADIUS), f64::from(SIGMA * SIGMA));
                vec![[r / 2.0 + s, r * r / 8.0 + 2.0 * r * s + 2.0 * s * s]; 2]
            }
            Self::Scg | Self::ScgBias => vec![normal(f64::from(AXES[0] + AXES[1]) / 2.0); 2],
            Self::Icg => (0..ILL).map(|i| normal(f64::from(width(i)).powi(2))).collect(),
            Self::Funnel => std::iter::once([9.0, 12.7]).chain(vec![[80.5, 1730.0]; FUNNEL_DIM - 1]).collect(),
        }
    }

    /// Where a chain starts: N(0, I), unless the target's name says otherwise.
    #[must_use]
    pub fn start(self, rng: &mut LaneRng) -> Vec<f32> {
        match self {
            Self::MogPrior => centre(CENTRES / 4).to_vec(),
            Self::ScgBias => normal_vector(2, rng).iter().zip([-2.0, 2.0]).map(|(x, end)| x + end).collect(),
            _ => normal_vector(self.dim(), rng),
        }
    }

    /// A draw from the target itself.
    #[must_use]
    pub fn draw(self, rng: &mut LaneRng) -> Vec<f32> {
        let mut x = normal_vector(self.dim(), rng);
        match self {
            Self::Mog | Self::MogPrior => {
                let which = ((uniform(rng) * CENTRES as f32) as usize).min(CENTRES - 1);
                x.iter_mut().zip(centre(which)).for_each(|(x, c)| *x = c + SIGMA * *x);
            }
            Self::Scg | Self::ScgBias => {
                let [across, along] = [AXES[0].sqrt() * x[0], AXES[1].sqrt() * x[1]];
                x = turned([across, along]).to_vec();
            }
            Self::Icg => x.iter_mut().enumerate().for_each(|(i, x)| *x *= width(i)),
            Self::Funnel => {
                x[0] *= FUNNEL;
                let width = (0.5 * x[0]).exp();
                x.iter_mut().skip(1).for_each(|x| *x *= width);
            }
        }
        x
    }

    /// A sample as the authors' program compares it: brought to a standard normal, but for the mixture.
    #[must_use]
    pub fn whitened(self, mut x: Vec<f32>) -> Vec<f32> {
        match self {
            Self::Mog | Self::MogPrior => {}
            Self::Scg | Self::ScgBias => {
                let [across, along] = turned([x[0], x[1]]);
                x = vec![across / AXES[0].sqrt(), along / AXES[1].sqrt()];
            }
            Self::Icg => x.iter_mut().enumerate().for_each(|(i, x)| *x /= width(i)),
            Self::Funnel => {
                let width = (0.5 * x[0]).exp();
                x[0] /= FUNNEL;
                x.iter_mut().skip(1).for_each(|x| *x /= width);
            }
        }
        x
    }

    /// Hands the potential to `then`.
    ///
    /// # Panics
    /// Never: the parameters are legal.
    pub fn with<T>(self, then: impl FnOnce(&(dyn Potential + Sync)) -> T) -> T {
        let legal = "legal parameters";
        match self {
            Self::Mog | Self::MogPrior => {
                let means: Vec<Block> = (0..CENTRES).map(|which| block(&centre(which))).collect();
                then(&Mixture::new(2, &means, &[0.0; CENTRES], SIGMA).expect(legal))
            }
            Self::Scg | Self::ScgBias => {
                let [across, along] = AXES.map(|variance| 0.5 / variance);
                let rows =
                    [[across + along, across - along], [across - along, across + along]].map(|row| block(&row));
                then(&DenseGaussian::new(2, &[[0.0; LANES]], &rows).expect(legal))
            }
            Self::Icg => {
                let mean = vec![[0.0; LANES]; blocks(ILL)];
                let mut precision = mean.clone();
                let slots = precision.as_flattened_mut().iter_mut().take(ILL);
                slots.enumerate().for_each(|(i, slot)| *slot = 1.0 / (width(i) * width(i)));
                then(&DiagonalGaussian::new(ILL, &mean, &precision).expect(legal))
            }
            Self::Funnel => then(&Funnel::new(FUNNEL_DIM, FUNNEL).expect(legal)),
        }
    }
}

/// The standard deviation of a coordinate of the ill-conditioned Gaussian.
fn width(index: usize) -> f32 {
    (0.01 + 0.99 * index as f32 / (ILL - 1) as f32).sqrt()
}

/// Between the coordinates and the diagonals, in either direction.
fn turned([x, y]: [f32; 2]) -> [f32; 2] {
    [(x + y) * FRAC_1_SQRT_2, (x - y) * FRAC_1_SQRT_2]
}

fn centre(which: usize) -> [f32; 2] {
    let angle = TAU * which as f32 / CENTRES as f32;
    [RADIUS * angle.cos(), RADIUS * angle.sin()]
}

fn block(values: &[f32]) -> Block {
    std::array::from_fn(|lane| values.get(lane).copied().unwrap_or(0.0))
}

/// Standard normals.
pub fn normal_vector(dim: usize, rng: &mut LaneRng) -> Vec<f32> {
    let drawn: Vec<Block> = (0..blocks(dim)).map(|_| normals(rng)).collect();
    drawn.as_flattened()[..dim].to_vec()
}
