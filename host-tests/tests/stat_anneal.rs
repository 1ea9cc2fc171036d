//! Annealed importance sampling on real RBMs: ln Z of 784 × 16 against its exact value, with standard errors that
//! must be right too, and that of 784 × 500 from below and from above.

use bitmc::energy::Tempered;
use bitmc::noise::guided_balance;
use bitmc::stats::Evidence;
use bitmc::step::Gibbs;
use bitmc::temper::{Replica, forward, reverse};
use bitmc::{Energy, LaneRng, Langevin, Packed, SeedableRng};
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::npy;
use bitmc_host_tests::stat::Verdict;
use bitmc_host_tests::stat::replicas::pieces;
use rayon::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// A step size and balance for every β: bold where bits are nearly independent, and those of the first-order
/// sampler at β = 1 (METHODS.md §3 and §4).
fn kernel(beta: f32) -> Langevin<'static> {
    let step_size = 0.35 / (beta * beta * beta * beta).max(1e-3);
    Langevin::balanced(step_size, guided_balance(step_size, 0.25)).unwrap()
}

/// Evenly from 0 to 1.
fn betas(count: u32) -> impl DoubleEndedIterator<Item = f32> {
    (1..=count).map(move |k| k as f32 / count as f32)
}

/// The logits of the means of the training digits, which are kept within .01 and .99 (METHODS.md §4).
fn fields() -> Vec<f32> {
    let digits = npy::states("mnist/mnist_train1000.bits");
    let mean = |site: usize| {
        let ones = digits.iter().filter(|words| words[site / 32] >> (site % 32) & 1 == 1).count();
        (ones as f32 / digits.len() as f32).clamp(0.01, 0.99)
    };
    (0..784).map(mean).map(|mean| (mean / (1.0 - mean)).ln()).collect()
}

#[test]
fn forward_and_reverse_agree_on_the_large_machine() {
    let weights = Weights::new(&npy::machine("rbm500")).unwrap();
    let rbm = weights.rbm().unwrap();
    let fields = fields();
    let path = Tempered::from_base(&rbm, &fields, 0.0).unwrap();
    let reference = npy::states("rbm500/gibbs_from_data_1000.bits");
    // One run in each direction a piece, the reverse ones from different states of the law.
    let gap = |count: u32| {
        let both = pieces(|piece| {
            let mut rng = LaneRng::stream(42, piece);
            let start = Packed::new(path.layout(), &reference[piece as usize * 15]).unwrap();
            let mut replica = Replica::new(path.at(1.0).unwrap(), heap::memory(&path), start).unwrap();
            let back = reverse(&mut replica, betas(count), 1, kernel, &mut rng);
            let out = forward(&mut replica, betas(count), 1, kernel, &mut rng).unwrap();
            assert_eq!(replica.faults(), 0);
            (out, back)
        });
        let (mut out, mut back) = (Evidence::new(), Evidence::new());
        for (forward, reverse) in both {
            out.add(forward);
            back.add(reverse);
        }
        let base = f64::from(path.base().log_z());
        let (below, above) = (base + f64::from(out.log_z()), base - f64::from(back.log_z()));
        let errors = (out.relative_error(), back.relative_error());
        println!(
            "{count} β: ln Z {below:.3} ± {:.3} forward, {above:.3} ± {:.3} in reverse",
            errors.0, errors.1
        );
        (below - above).abs()
    };
    let right = gap(1000);
    assert!(right <= 1.0, "{right} nats");
    // Twin: too few β, with which forward runs say too little and reverse runs too much.
    let hasty = gap(20);
    assert!(hasty > 1.0, "the check cannot see haste: {hasty} nats");
}

/// An estimate of ln Z and its standard error.
type Estimate = (f64, f64);

/// The logarithm of the sum over the states of the machine 784 × 16, by its 2¹⁶ hidden states.
const EXACT: f64 = 176.271_644_107_540_85;

/// What an estimate is made of.
#[derive(Clone, Copy)]
struct Effort {
    estimates: u64,
    walks: u32,
    betas: u32,
    /// The largest standard error that it may state.
    error: f64,
}

/// Estimates, each from a seed of its own. Z is that of the machine whichever side is summed out: here
/// the 784 visible units are, and Gibbs sweeps move the 16 hidden ones. (Over the visible ones moves are slow at
/// β = 1, whatever the kernel: a weight's logarithm has a standard deviation of 1.5 after 100 β of block Gibbs
/// and of 2.1 after 100 of the first-order sampler, too heavy a tail for an honest standard error.)
fn estimates(seed: u64, effort: Effort) -> Vec<Estimate> {
    let weights = Weights::new(&npy::machine("rbm16").transposed()).unwrap();
    let rbm = weights.rbm().unwrap();
    let path = Tempered::new(&rbm, 0.0).unwrap();
    let start = vec![0; path.layout().words()];
    // Closer near 0, where E − E₀ varies most: every β then adds about as much to the variance.
    let betas = (1..=effort.betas).map(|k| (k as f32 / effort.betas as f32).powi(2));
    let estimate = |run: u64| {
        let mut rng = LaneRng::seed_from_u64(seed + run);
        let start = Packed::new(path.layout(), &start).unwrap();
        let mut replica = Replica::new(path, heap::memory(&path), start).unwrap();
        let mut evidence = Evidence::new();
        for _ in 0..effort.walks {
            let kernel = |_| Gibbs::systematic();
            evidence.add(forward(&mut replica, betas.clone(), 1, kernel, &mut rng).unwrap());
        }
        assert_eq!(replica.faults(), 0);
        let log_z = f64::from(path.base().log_z()) + f64::from(evidence.log_z());
        (log_z, f64::from(evidence.relative_error()))
    };
    (0..effort.estimates).into_par_iter().map(estimate).collect()
}

/// `Σz²` over the estimates, with their standard errors times `factor`, against χ² in both tails.
fn check(what: &str, estimates: &[Estimate], factor: f64) -> Verdict {
    let squares = estimates.iter().map(|(log_z, error)| ((log_z - EXACT) / (factor * error)).powi(2));
    let sum: f64 = squares.sum();
    let law = ChiSquared::new(estimates.len() as f64).unwrap();
    let p = 2.0 * law.cdf(sum).min(law.sf(sum));
    Verdict::new(format!("{what}: Σz² of {} estimates is {sum:.1}", estimates.len()), p)
}

/// Estimates with their standard errors, and twins of them.
fn estimates_and_their_errors(seed: u64, effort: Effort) {
    let estimates = estimates(seed, effort);
    let mean = estimates.iter().map(|&(log_z, _)| log_z).sum::<f64>() / estimates.len() as f64;
    let largest = estimates.iter().map(|&(_, error)| error).fold(0.0, f64::max);
    println!("ln Z {mean:.4} on average, {EXACT:.4} exactly; standard errors up to {largest:.4}");
    assert!(largest <= effort.error, "a standard error of {largest}");
    check("ln Z", &estimates, 1.0).must_pass();
    // Twins: wrong error bars, either way.
    check("standard errors halved", &estimates, 0.5).must_fail();
    check("standard errors doubled", &estimates, 2.0).must_fail();
    // Twin: ln Z off by two of the largest standard errors allowed.
    let off = |&(log_z, error): &Estimate| (log_z + 2.0 * effort.error, error);
    let off: Vec<Estimate> = estimates.iter().map(off).collect();
    check("ln Z off", &off, 1.0).must_fail();
}

#[test]
fn estimates_and_their_errors_are_right_on_the_small_machine() {
    estimates_and_their_errors(1000, Effort { estimates: 100, walks: 32, betas: 64, error: 0.3 });
}

#[test]
#[ignore = "a minute of a core: .ci/long runs it"]
fn finer_estimates_and_their_errors_are_right_on_the_small_machine() {
    estimates_and_their_errors(2000, Effort { estimates: 50, walks: 200, betas: 128, error: 0.05 });
}
