//! The bias of the unadjusted sampler, from its own matrix: it vanishes with the step size for quadratic and multilinear
//! energies (DLP Theorem 5.1), and not for others (Theorem 5.2 and the counterexample of its §5.2).

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
    }
}
