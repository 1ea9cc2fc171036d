//! The bias of the unadjusted sampler, from its own matrix: it vanishes with the step size for quadratic and multilinear
//! energies (the first within the bound of DLP Theorem 5.1), and not for others (the counterexample of its §5.2).

use bitmc::{Function, Langevin, Layout, Packed, Plain};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use std::f64::consts::PI;

/// Σ |p_α − p| over all states, p_α the stationary distribution of the unadjusted sampler.
fn bias(function: &dyn Function, step_size: f32) -> f64 {
    let energy = Plain(function);
    let sites = function.layout().sites();
    let words: Vec<[u32; 1]> = (0..1 << sites).map(|state| [state]).collect();
    let energies = words.iter().map(|words| {
        let x = Packed::new(function.layout(), words).unwrap();
        f64::from(function.total(x))
    });
    let distribution = Distribution::from_energies(sites, energies.collect());
    let matrix = Transitions::of(&energy, &Langevin::unadjusted(step_size).unwrap(), 0);
    matrix.stationary().iter().zip(&distribution.probabilities).map(|(a, b)| (a - b).abs()).sum()
}

/// Terms of up to four of four bits: `E = Σ w Π x`.
struct Multilinear(Vec<(u32, f32)>);

impl Function for Multilinear {
    fn layout(&self) -> Layout {
        Layout::binary(4)
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        let bits = x.words()[0];
        self.0.iter().filter(|(mask, _)| bits & mask == *mask).map(|(_, w)| w).sum()
    }
    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let (bits, own) = (x.words()[0], 1 << site);
        self.0.iter().filter(|(mask, _)| mask & own != 0 && (bits | own) & mask == *mask).map(|(_, w)| w).sum()
    }
}

/// `f = 2ε sin(πs/2)` over one spin s: the slope is 0 at both values.
struct Sine(f64);

impl Function for Sine {
    fn layout(&self) -> Layout {
        Layout::binary(1)
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        (-2.0 * self.0 * (PI * (f64::from(x.get(0)) - 0.5)).sin()) as f32
    }
    fn gradient(&self, x: Packed<'_>, _: usize) -> f32 {
        (-4.0 * self.0 * (PI / 2.0) * (PI * (f64::from(x.get(0)) - 0.5)).cos()) as f32
    }
}

#[test]
fn it_falls_for_quadratic_and_multilinear_energies_only() {
    let pairs = models::pairwise(Convention::BitsEdgesOnce, 4, 1.0, 0.7, 3);
    let quadratic = Multilinear(
        (0..4)
            .map(|site| (1 << site, -pairs.fields[site]))
            .chain(pairs.edges.iter().map(|&(a, b, j)| ((1 << a) | (1 << b), -j)))
            .collect(),
    );
    let mut source = models::Source::new(4);
    let cubic = Multilinear((1..16).map(|mask| (mask, source.coarse(0.5))).collect());
    let falls = |function: &dyn Function| {
        let [one, quarter, tenth] = [1.0, 0.25, 0.1].map(|step_size| bias(function, step_size));
        // Like e^(−1/(2α)): from α = .25 to .1 a factor of e³, at least half of which in logarithms.
        one > 0.1 && quarter < one / 2.0 && tenth < quarter * (-1.5f64).exp() && tenth < 0.02
    };
    assert!(falls(&quadratic) && falls(&cubic));
    // The negative control: the same check of the counterexample.
    assert!(!falls(&Sine(0.5)));
    for step_size in [1.0, 0.25, 0.1, 0.07] {
        let found = bias(&Sine(0.5), step_size);
        assert!((found - 1f64.tanh()).abs() < 1e-4, "step size {step_size}: {found}");
        // At ε = 1 the chain has ½ where 1/(1 + e⁻⁴) = .98 is right.
        let found = bias(&Sine(1.0), step_size);
        assert!((found - 2f64.tanh()).abs() < 1e-4, "step size {step_size}: {found}");
    }
}

/// The paper's Ising model (DLP appendix I.1): `U = sᵀ(cW)s + bΣs` over four spins on a square, c = .1, b = .2.
struct Square;

impl Square {
    fn spins(x: Packed<'_>) -> [f64; 4] {
        [0, 1, 2, 3].map(|site| 2.0 * f64::from(x.get(site)) - 1.0)
    }
}

impl Function for Square {
    fn layout(&self) -> Layout {
        Layout::binary(4)
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        let s = Self::spins(x);
        -(0..4).map(|site| 0.2 * s[site] * s[(site + 1) % 4] + 0.2 * s[site]).sum::<f64>() as f32
    }
    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let s = Self::spins(x);
        -2.0 * (0.2 * (s[(site + 1) % 4] + s[(site + 3) % 4]) + 0.2) as f32
    }
}

/// `Z exp(−1/(2α) − λ_min/2)` of Theorem 5.1. Over spins α is four times that over bits; cW has the eigenvalues 0 and ±.2.
#[test]
fn it_is_within_the_bound_for_log_quadratic_densities() {
    let z: f64 = (0..16u32)
        .map(|state| f64::from(-Square.total(Packed::new(Layout::binary(4), &[state]).unwrap())).exp())
        .sum();
    let bound = |over_spins: f64| z * (-0.5 / over_spins + 0.1).exp();
    for over_spins in [0.1, 0.2, 0.4, 1.0, 4.0] {
        let found = bias(&Square, (over_spins / 4.0) as f32);
        assert!(found <= bound(over_spins) + 1e-6, "α = {over_spins}: {found}");
    }
    // Only below the bound's own noise does it say nothing: the counterexample has a Z of 3.1, no W, and a bias that stays.
    let found = bias(&Sine(0.5), 0.025);
    assert!(found > 2.0 * 1f64.cosh() * (-0.5f64 / 0.1).exp(), "{found}");
}
