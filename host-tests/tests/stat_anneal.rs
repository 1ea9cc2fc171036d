//! Annealed importance sampling on a real RBM, 784 × 500: ln Z from below and from above.

use bitmc::energy::Tempered;
use bitmc::noise::guided_balance;
use bitmc::stats::Evidence;
use bitmc::temper::{Replica, forward, reverse};
use bitmc::{Energy, LaneRng, Langevin, Packed};
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::npy;
use bitmc_host_tests::stat::replicas::pieces;

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

/// The logits of the means of the training digits, which are kept within .01 and .99 (METHODS.md §6).
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
