//! The Gaussian integral: normal draws that follow a curved energy, so that sites can move at once.
//!
//! Let W be (near) the Hessian of `f = −E`, D diagonal and `W + D ⪰ 0`. Add a draw `η ~ N(0, W+D)` to the gradient,
//! with D in the curvature. The proposal then factorises over sites and yet knows W. This is the Gaussian integral
//! trick of the any-scale balanced samplers (METHODS.md §3, where the paper's Eq. 14 is put right). The sampler is
//! [`Langevin::second_order`](crate::Langevin::second_order). It asks a [`Noise`] for two things, a draw from N(0,
//! W+D) and the product (W+D)v, and for D itself:
//!
//! | noise | W | cost of a draw | memory |
//! |---|---|---|---|
//! | [`Edgewise`] | sparse, any size; D by type | one normal an edge; half of that by [`Run`]s, on lattices; less as [whole numbers](crate::step::IsingBalanced::discrete) | D |
//! | [`Dense`] | any, up to [`Dense::MAX_SITES`] sites; any D | one product with a triangle | W, its root, D |
//! | [`Diagonal`] | diagonal: `D = −W`, so that nothing is left to draw | none | none |
//! | [`Still`] | none: the first-order samplers | none | none |
//!
//! D for a [`Dense`] one: [`constant`] (the same for all sites, AB-shift) or [`MinTrace`] (the smallest trace,
//! AB-trace). Where the energy is not quadratic, W comes from a [`Regression`] over the moves of a burn-in. Where it
//! is known which sites are coupled, take a [`SparseRegression`]. For σ, α and κ take an [`Adaptation`] by jump
//! distance, or for σ a [`RateTuner`](crate::tune::RateTuner) with [`guided_balance`].
//!
//! # Where the energy is not quadratic
//! From nothing known of W to frozen parameters: a burn-in of first order, W from its moves, D, the noise, σ and α.
//!
//! ```
//! use bitmc::noise::{Adaptation, Dense, DenseMatrix, MinTrace, Parameters, Regression};
//! use bitmc::{Chain, Function, LaneRng, Langevin, Layout, Move, Packed, Plain, SeedableRng, memory, stats::Means};
//!
//! const SITES: usize = 12;
//! const L: Layout = Layout::binary(SITES);
//!
//! /// E(x) = ¼ u⁴ − ½ Σ x, u = Σ ± x/2 with alternating signs: every pair of sites is coupled, how much depends on x.
//! struct Balance;
//!
//! fn sign(site: usize) -> f32 {
//!     if site % 2 == 0 { 0.5 } else { -0.5 }
//! }
//!
//! fn u(x: Packed<'_>) -> f32 {
//!     (0..SITES).map(|site| sign(site) * x.get(site) as f32).sum()
//! }
//!
//! impl Function for Balance {
//!     fn layout(&self) -> Layout {
//!         L
//!     }
//!     fn total(&self, x: Packed<'_>) -> f32 {
//!         0.25 * u(x).powi(4) - 0.5 * x.ones() as f32
//!     }
//!     fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
//!         u(x).powi(3) * sign(site) - 0.5
//!     }
//! }
//!
//! // Σ v Δg over the moves of a chain of first order, after its own burn-in.
//! let gradient = |x: Packed<'_>| {
//!     let mut lanes = [0.0; 16];
//!     (0..SITES).for_each(|site| lanes[site] = Balance.gradient(x, site));
//!     [lanes; L.blocks()]
//! };
//! let (energy, mut rng) = (Plain(Balance), LaneRng::seed_from_u64(1));
//! let mut chain = Chain::random(&energy, memory!(L, Plain::<Balance>::CACHE_LEN), &mut rng)?;
//! let first = Langevin::balanced(0.5, 0.5)?;
//! chain.run(&first, &mut rng, 1000, &mut ());
//! let mut room = [[0.0; 16]; Regression::blocks(SITES)];
//! let mut regression = Regression::new(SITES, &mut room)?;
//! for _ in 0..2000 {
//!     let mut from = [0; L.words()];
//!     from.copy_from_slice(chain.state().words());
//!     if chain.step(&first, &mut rng).moved() > 0 {
//!         let from = Packed::new(L, &from)?;
//!         let step = Move::new(from, chain.state())?;
//!         regression.push(&step, &gradient(from), &gradient(chain.state()))?;
//!     }
//! }
//!
//! // W; the D of the smallest trace; draws from N(0, W + D).
//! let mut rows = [[0.0; 16]; DenseMatrix::blocks(SITES)];
//! let fit = regression.solve(1e-3, 100, &mut rows, &mut [[0.0; 16]; 3 * DenseMatrix::blocks(SITES)])?;
//! assert!(fit.residual < 0.01);
//! let w = DenseMatrix::new(SITES, &rows)?;
//! let (mut d, mut root) = ([[0.0; 16]; L.blocks()], [[0.0; 16]; Dense::root_blocks(SITES)]);
//! let (mut vectors, mut scratch) = ([[0.0; 16]; MinTrace::blocks(SITES)], [[0.0; 16]; 3 * L.blocks()]);
//! MinTrace::new(0.01, 200).solve(&w, &mut d, &mut vectors, &mut scratch)?;
//! let noise = Dense::new(w, &mut d, &mut root)?;
//!
//! // σ and α by jump distance; from the freeze on the chain is reversible, and its states count.
//! let kernel = |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance);
//! let mut adaptation = Adaptation::new(Parameters::START);
//! for _ in 0..10_000 {
//!     let info = chain.step(&kernel(adaptation.parameters())?, &mut rng);
//!     adaptation.observe(&info);
//! }
//! adaptation.freeze();
//! let mut means = Means::new([0; SITES]);
//! chain.run(&kernel(adaptation.parameters())?, &mut rng, 40_000, &mut means);
//!
//! // Any W is exact: beside it the sum over all states.
//! let (mut all, mut up) = (0.0, 0.0);
//! for words in (0..1 << SITES).map(|bits| [bits]) {
//!     let x = Packed::new(L, &words)?;
//!     let weight = f64::from(-Balance.total(x)).exp();
//!     all += weight;
//!     up += weight * f64::from(x.get(0));
//! }
//! assert!((f64::from(means.mean(0).ok_or("no such site")?) - up / all).abs() < 0.015);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adaptation;
mod dense;
mod diagonal;
pub(crate) mod edges;
mod edgewise;
mod error;
mod least_squares;
mod matrix;
mod pattern;
mod regression;
pub(crate) mod runs;
mod scaled;
mod shift;
mod snapshot;
mod trace;

pub use adaptation::{Adaptation, Parameters, guided_balance};
pub use dense::Dense;
pub use diagonal::Diagonal;
pub use edgewise::Edgewise;
pub use error::NoiseError;
pub use least_squares::Fit;
pub use matrix::{DenseMatrix, SparseMatrix, Symmetric};
pub use pattern::SparseRegression;
pub use regression::Regression;
pub use runs::Run;
pub use shift::{Eigenvalue, LANCZOS_STEPS, constant, least_eigenvalue};
pub use trace::{MinTrace, Solved};

use crate::lane::{Block, LANES, Total};
use crate::packed::{Change, Move};
use rand_core::Rng;

/// Draws from N(0, W+D) and products with W+D.
///
/// `eta` has one block for every sixteen sites where `planes` is 1: binary and ordinal sites, `v = y − x`. For
/// categorical sites it has `planes` blocks, one a value, as [`gradient`](crate::Energy::gradient) has. Every value
/// is a plane of its own with the same W and D, and `v = e_y − e_x` in one-hot vectors. Lanes past the last site are
/// ignored.
///
/// Draws and products must be of the same matrix W+D. The sampler is exact for *any* matrix that they share, and
/// wrong where the draw has another covariance than the product.
pub trait Noise {
    /// Whether there is anything to draw: where not, neither method is called.
    const SOME: bool;

    /// D, one a site, in blocks; `None` where it is zero. A chain with more blocks of sites refuses every
    /// step as a fault.
    fn d(&self) -> Option<&[Block]>;

    /// For how many sites W + D is: a chain of another number refuses every step as a fault. `None` where any will do.
    fn sites(&self) -> Option<usize> {
        None
    }

    /// Tells W from others of the same D: a [momentum](crate::Langevin::momentum) of another noise is drawn again. By
    /// default D alone tells noises apart. Write it where a chain has several noises with one D in turn.
    fn key(&self) -> u64 {
        0
    }

    /// Fills `eta` with independent planes of N(0, W+D).
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [Block], planes: usize);

    /// η ← η − (W+D)v for the move v.
    fn follow(&self, step: &Move<'_>, eta: &mut [Block], planes: usize);
}

/// No noise: what makes a sampler a first-order one. Free: it is gone when the code is compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Still;

impl Noise for Still {
    const SOME: bool = false;

    #[inline]
    fn d(&self) -> Option<&[Block]> {
        None
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, _: &mut R, _: &mut [Block], _: usize) {}

    #[inline]
    fn follow(&self, _: &Move<'_>, _: &mut [Block], _: usize) {}
}

/// The first `need` elements of memory.
fn room<T>(memory: &mut [T], need: usize) -> Result<&mut [T], NoiseError> {
    let got = memory.len();
    memory.get_mut(..need).ok_or(NoiseError::Memory { need, got })
}

/// Σ v·η over the changed sites.
pub(crate) fn along(step: &Move<'_>, eta: &[Block], planes: usize) -> f32 {
    let lanes = eta.as_flattened();
    let mut sum = Total::default();
    if planes == 1 {
        step.changes().for_each(|change| {
            let v = (change.to as i32 - change.from as i32) as f32;
            sum.add(v * lanes.get(change.site).copied().unwrap_or(0.0));
        });
        return sum.value();
    }
    for change in step.changes() {
        for (plane, v) in components(change, planes) {
            sum.add(v * lanes.get(place(change.site, plane, planes)).copied().unwrap_or(0.0));
        }
    }
    sum.value()
}

/// A site's move v as (plane, component) pairs: y − x in the one plane there is, or e_y − e_x.
#[inline]
fn components(change: Change, planes: usize) -> impl Iterator<Item = (usize, f32)> {
    let one = planes == 1;
    let first =
        if one { (0, (change.to as i32 - change.from as i32) as f32) } else { (change.to as usize, 1.0) };
    let second = if one { None } else { Some((change.from as usize, -1.0)) };
    core::iter::once(first).chain(second)
}

/// The place of a site's number in its plane.
#[inline]
fn place(site: usize, plane: usize, planes: usize) -> usize {
    ((site / LANES) * planes + plane) * LANES + site % LANES
}
