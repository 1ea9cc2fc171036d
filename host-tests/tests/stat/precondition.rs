//! The preconditioning example of DLP, Appendix H: `f = sᵀWs`, W = diag(−.001, −1000), two spins.
//!
//! On spins f is constant, so the distribution is uniform and every proposal is accepted: what differs are the
//! gradients of the natural extension, `∂E/∂x = −4Wᵢsᵢ` on the {0,1} scale, .004 and 4,000 in size. They
//! always push a site to flip, with log odds `z = −2Wᵢ − cᵢ/2`.
//!
//! * With cᵢ = −4Wᵢ (on spins 1/pᵢ with p = 1000 and .001, α = 1) z is 0 at both sites: fair coins at every
//!   step, and log RMSE is about −½ ln n.
//! * With one c for both there is always a site that never rests or never moves: below c ≈ 4,000 site 2
//!   flips at every step, from there up site 1 does not flip. A site that flips at every step has the right
//!   mean over all steps, by parity alone; over every other step it is constant. So log RMSE over every
//!   other step is ln √½ = −.347, whatever the step size. (A sigmoid that overflows to NaN freezes site 2
//!   as well; cut log odds do not.)
//! * Appendix H prints 1/pᵢ² for the curvature. With that z₂ = 2,000 − 2·10⁶, and site 2 does not move.

use bitmc::lane::Block;
use bitmc::stats::{Every, Means};
use bitmc::step::Curvature;
use bitmc::{Function, LaneRng, Langevin, Layout, Packed, Plain, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::stat::Verdict;
use statrs::distribution::{ChiSquared, ContinuousCDF};

const STEPS: u32 = 250_000;

struct Diagonal;

impl Function for Diagonal {
    fn layout(&self) -> Layout {
        Layout::binary(2)
    }

    fn total(&self, _x: Packed<'_>) -> f32 {
        1000.001
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        [0.004, 4000.0][site] * (2.0 * x.get(site) as f32 - 1.0)
    }
}

/// Means of both spins over every other one of 2·[`STEPS`] steps.
fn means(curvature: Curvature<'_>, adjusted: bool) -> [f64; 2] {
    let energy = Plain(Diagonal);
    let sampler = Langevin::new(0.5, curvature, adjusted).unwrap();
    let mut rng = LaneRng::seed_from_u64(51);
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    let mut means = Every::new(2, Means::new([0; 2]));
    chain.run(&sampler, &mut rng, 2 * u64::from(STEPS), &mut means);
    [0, 1].map(|site| 2.0 * f64::from(means.observer.mean(site).unwrap()) - 1.0)
}

/// Squares of the means, on average over the sites; the true means are 0.
fn square([a, b]: [f64; 2]) -> f64 {
    (a * a + b * b) / 2.0
}

/// Whether these are the means of fair coins: n Σ m² is a chi-square of two degrees.
fn check(what: &str, means: [f64; 2]) -> Verdict {
    let statistic = 2.0 * f64::from(STEPS) * square(means);
    let p = ChiSquared::new(2.0).unwrap().sf(statistic);
    Verdict::new(format!("{what}: log RMSE {:.3}", square(means).ln() / 2.0), p)
}

fn each(curvature: [f32; 2]) -> [Block; 1] {
    let mut block = [0.0; 16];
    block[..2].copy_from_slice(&curvature);
    [block]
}

#[test]
fn a_curvature_a_site_mixes() {
    let fitted = each([0.004, 4000.0]);
    for adjusted in [true, false] {
        check("fitted curvatures", means(Curvature::Each(&fitted), adjusted)).must_pass();
    }
    // On the {0,1} scale a curvature is four times that on spins.
    let squared = each([4.0 * 1e-6, 4.0 * 1e6]);
    check("curvatures as printed", means(Curvature::Each(&squared), true)).must_fail();
}

#[test]
fn one_step_size_is_stuck() {
    for step_size in [1e-6, 2.4e-4, 2.5e-4, 2.6e-4, 1e-3, 0.1, 1.0, 53.0, 1e4] {
        for adjusted in [true, false] {
            let means = means(Curvature::Same(1.0 / step_size), adjusted);
            check(&format!("one step size {step_size}"), means).must_fail();
            // One site at least has not moved in half a million steps.
            assert!(means.map(f64::abs).contains(&1.0), "{means:?}");
            assert!(square(means).ln() / 2.0 >= 0.5f64.sqrt().ln(), "{means:?}");
        }
    }
}
