//! Annealed importance sampling on real RBMs: ln Z of 784 × 16 against its exact value, with standard errors that
//! must be right too, and that of 784 × 500 from below and from above.

use bitmc::energy::Tempered;
use bitmc::noise::guided_balance;
use bitmc::stats::Evidence;
use bitmc::temper::{Replica, forward, reverse};
use bitmc::{Energy, GibbsWithGradients, LaneRng, Langevin, Packed, SeedableRng};
use bitmc_host_tests::digits::{hidden_fields, visible_fields};
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

#[test]
fn forward_and_reverse_agree_on_the_large_machine() {
    let weights = Weights::new(&npy::machine("rbm500")).unwrap();
    let rbm = weights.rbm().unwrap();
    let fields = visible_fields();
    let path = Tempered::from_base(&rbm, &fields, 0.0).unwrap();
    let reference = npy::states("rbm500/gibbs_from_data_1000.bits");
    // One run in each direction a piece, the reverse ones from different states of the distribution.
    let gap = |count: u32| {
        let both = pieces(|piece| {
            let mut rng = LaneRng::stream(42, piece);
            let start = Packed::new(path.layout(), &reference[piece as usize * 15]).unwrap();
            let mut replica = Replica::new(path.at(1.0).unwrap(), heap::memory(&path), start).unwrap();
            let back = reverse(&mut replica, betas(count), 1, kernel, &mut rng).unwrap();
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
    // Negative control: too few β, with which forward runs say too little and reverse runs too much.
    let hasty = gap(20);
    assert!(hasty > 1.0, "the check cannot see haste: {hasty} nats");
}

/// An estimate of ln Z and its standard error.
type Estimate = (f64, f64);

/// The logarithm of the sum over the states of the machine 784 × 16, by its 2¹⁶ hidden states.
const EXACT: f64 = 176.271_644_107_540_85;

/// What an estimate is made of, and the largest standard error that it may state.
const ESTIMATES: u64 = 50;
const WALKS: u32 = 100;
const BETAS: u32 = 1024;
const ERROR: f64 = 0.05;

/// Estimates, each from a seed of its own. Z is that of the machine whichever side is summed out: here
/// the 784 visible units are, and single flips by Gibbs with gradients move the 16 hidden ones. (Over the visible ones
/// moves are slow at β = 1, whatever the kernel: a weight's logarithm has a standard deviation of 1.5 after 100 β of
/// block Gibbs and of 2.1 after 100 of the first-order sampler, too heavy a tail for an honest standard error.)
///
/// The walks begin at hidden units that are as often on as the training digits turn them on, and β is closer near 0,
/// where E − E₀ varies most. In equal time the variance is a quarter of that from fair bits by Gibbs sweeps.
fn estimates(seed: u64) -> Vec<Estimate> {
    let machine = npy::machine("rbm16");
    let fields = hidden_fields(&machine);
    let weights = Weights::new(&machine.transposed()).unwrap();
    let rbm = weights.rbm().unwrap();
    let path = Tempered::from_base(&rbm, &fields, 0.0).unwrap();
    let start = vec![0; path.layout().words()];
    let betas = (1..=BETAS).map(|k| k as f32 / BETAS as f32).map(|part| part * part.sqrt());
    let kernel = GibbsWithGradients::new(1).unwrap();
    let estimate = |run: u64| {
        let mut rng = LaneRng::seed_from_u64(seed + run);
        let start = Packed::new(path.layout(), &start).unwrap();
        let mut replica = Replica::new(path, heap::memory(&path), start).unwrap();
        let mut evidence = Evidence::new();
        for _ in 0..WALKS {
            evidence.add(forward(&mut replica, betas.clone(), 1, |_| kernel, &mut rng).unwrap());
        }
        assert_eq!(replica.faults(), 0);
        let log_z = f64::from(path.base().log_z()) + f64::from(evidence.log_z());
        (log_z, f64::from(evidence.relative_error()))
    };
    (0..ESTIMATES).into_par_iter().map(estimate).collect()
}

/// `Σz²` over the estimates, with their standard errors times `factor`, against χ² in both tails.
fn check(what: &str, estimates: &[Estimate], factor: f64) -> Verdict {
    let squares = estimates.iter().map(|(log_z, error)| ((log_z - EXACT) / (factor * error)).powi(2));
    let sum: f64 = squares.sum();
    let distribution = ChiSquared::new(estimates.len() as f64).unwrap();
    let p = 2.0 * distribution.cdf(sum).min(distribution.sf(sum));
    Verdict::new(format!("{what}: Σz² of {} estimates is {sum:.1}", estimates.len()), p)
}

#[test]
fn estimates_and_their_errors_are_right_on_the_small_machine() {
    let estimates = estimates(1000);
    let mean = estimates.iter().map(|&(log_z, _)| log_z).sum::<f64>() / estimates.len() as f64;
    let largest = estimates.iter().map(|&(_, error)| error).fold(0.0, f64::max);
    println!("ln Z {mean:.4} on average, {EXACT:.4} exactly; standard errors up to {largest:.4}");
    assert!(largest <= ERROR, "a standard error of {largest}");
    check("ln Z", &estimates, 1.0).must_pass();
    // Negative controls: wrong error bars, either way.
    check("standard errors halved", &estimates, 0.5).must_fail();
    check("standard errors doubled", &estimates, 2.0).must_fail();
    // Negative control: ln Z off by two of the largest standard errors allowed.
    let off = |&(log_z, error): &Estimate| (log_z + 2.0 * ERROR, error);
    let off: Vec<Estimate> = estimates.iter().map(off).collect();
    check("ln Z off", &off, 1.0).must_fail();
}
