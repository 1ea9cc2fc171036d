//! 784 sites with an exact distribution: an RBM of 16 hidden units, whose states are drawn exactly by way of its 2¹⁶
//! hidden states. Chains start there and take fifty steps; every pixel's marginal, the pixel count's mean
//! and variance and the mean energy must be as before.

use bitmc::{BlockGibbs, Energy, Kernel, LaneRng, Langevin, Rbm, Rng};
use bitmc_host_tests::heap::{self, Weights, unpack};
use bitmc_host_tests::naive::{Machine, Target, sigmoid, softplus};
use bitmc_host_tests::npy;
use bitmc_host_tests::stat::models::HalfEnergy;
use bitmc_host_tests::stat::replicas::{Dice, PIECES, pieces, reference_rng, state, uniform};
use bitmc_host_tests::stat::{Moments, Verdict};
use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};
use std::sync::LazyLock;

/// An RBM with few hidden units, and its distribution through them.
struct Exact {
    machine: Machine,
    log_z: f64,
    hidden: Dice,
    /// P(vᵢ = 1).
    marginals: Vec<f64>,
    count_mean: f64,
    count_variance: f64,
}

/// Summed once for all tests.
static EXACT: LazyLock<Exact> = LazyLock::new(|| Exact::of(npy::machine("rbm16")));

impl Exact {
    fn of(machine: Machine) -> Self {
        let (units, pixels) = (machine.hidden.len(), machine.sites());
        let states: Vec<usize> = (0..1 << units).collect();
        let logs: Vec<f64> = states
            .par_iter()
            .map(|&h| {
                let bias: f64 = bits(h, units).map(|unit| f64::from(machine.hidden[unit])).sum();
                bias + logits(&machine, h).map(softplus).sum::<f64>()
            })
            .collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let distribution: Vec<f64> = weights.iter().map(|w| w / sum).collect();

        // A part of the hidden states at a time, in order: the same sums on any number of threads.
        let parts: Vec<_> = states
            .par_chunks(1024)
            .map(|part| {
                let (mut marginals, mut mean, mut square, mut within) = (vec![0.0; pixels], 0.0, 0.0, 0.0);
                for &h in part {
                    let mut count = 0.0;
                    for (marginal, logit) in marginals.iter_mut().zip(logits(&machine, h)) {
                        let p = sigmoid(logit);
                        *marginal += distribution[h] * p;
                        count += p;
                        within += distribution[h] * p * (1.0 - p);
                    }
                    mean += distribution[h] * count;
                    square += distribution[h] * count * count;
                }
                (marginals, mean, square, within)
            })
            .collect();
        let mut marginals = vec![0.0; pixels];
        let (mut count_mean, mut square, mut within) = (0.0, 0.0, 0.0);
        for part in parts {
            marginals.iter_mut().zip(part.0).for_each(|(sum, p)| *sum += p);
            (count_mean, square, within) = (count_mean + part.1, square + part.2, within + part.3);
        }
        let count_variance = within + square - count_mean * count_mean;
        let (log_z, hidden) = (sum.ln() + top, Dice::new(&distribution));
        Self { machine, log_z, hidden, marginals, count_mean, count_variance }
    }

    /// An exact draw.
    fn draw(&self, rng: &mut impl Rng) -> Vec<f64> {
        let h = self.hidden.roll(rng);
        logits(&self.machine, h).map(|logit| f64::from(u8::from(uniform(rng) < sigmoid(logit)))).collect()
    }
}

fn bits(h: usize, units: usize) -> impl Iterator<Item = usize> {
    (0..units).filter(move |unit| (h >> unit) & 1 == 1)
}

/// `Wh + a`.
fn logits(machine: &Machine, h: usize) -> impl Iterator<Item = f64> {
    let rows = machine.weights.chunks_exact(machine.hidden.len()).zip(&machine.visible);
    rows.map(move |(row, &a)| f64::from(a) + bits(h, row.len()).map(|unit| f64::from(row[unit])).sum::<f64>())
}

/// Sums over the ends of chains.
#[derive(Default)]
struct Ends {
    ones: Vec<u64>,
    count: Moments,
    count_variance: Moments,
    /// E at the end less E at the start of the same chain.
    energy: Moments,
}

/// `chains` chains of fifty steps from exact draws, over all tests of the ends.
fn check<E, K>(what: &str, model: &E, sampler: &K, chains: u32, seed: u64) -> Verdict
where
    E: Energy + Sync,
    K: Kernel<E> + Sync,
{
    let exact = &*EXACT;
    let parts = pieces(|piece| {
        let mut reference = reference_rng(seed, piece);
        let mut rng = LaneRng::stream(seed, piece);
        let mut ends = Ends { ones: vec![0; exact.marginals.len()], ..Ends::default() };
        let mut start = exact.draw(&mut reference);
        let mut chain = heap::chain(model, &heap::pack(&start)).unwrap();
        for _ in 0..chains / PIECES {
            chain.restart(state(model.layout(), &heap::pack(&start))).unwrap();
            for _ in 0..50 {
                chain.step(sampler, &mut rng);
            }
            let end = unpack(chain.state());
            ends.ones.iter_mut().zip(&end).for_each(|(ones, &x)| *ones += x as u64);
            let off = end.iter().sum::<f64>() - exact.count_mean;
            ends.count.push(off);
            ends.count_variance.push(off * off);
            // In float64, so that what the kernel believes its energy to be plays no part.
            ends.energy.push(exact.machine.energy(&end) - exact.machine.energy(&start));
            start = exact.draw(&mut reference);
        }
        assert_eq!(chain.faults(), 0);
        ends
    });
    let ends = parts.into_iter().reduce(|mut a, b| {
        a.ones.iter_mut().zip(b.ones).for_each(|(a, b)| *a += b);
        let count_variance = a.count_variance.and(b.count_variance);
        Ends { ones: a.ones, count: a.count.and(b.count), count_variance, energy: a.energy.and(b.energy) }
    });
    let ends = ends.unwrap();
    let total = ends.count.count() as u64;
    // The distribution of a pixel's count is binomial exactly; for one that is not rare p = 10⁻⁶/787 is z = 6.07.
    let pixels = ends.ones.iter().zip(&exact.marginals).enumerate().map(|(pixel, (&ones, &p))| {
        let distribution = Binomial::new(p, total).unwrap();
        let above = if ones == 0 { 1.0 } else { distribution.sf(ones - 1) };
        let p = (2.0 * above.min(distribution.cdf(ones))).clamp(0.0, 1.0);
        Verdict::new(format!("{what}: pixel {pixel}, {ones} of {total}"), p)
    });
    let rest = [
        ends.count.against(&format!("{what}: pixel count less its mean"), 0.0),
        ends.count_variance.against(&format!("{what}: variance of the pixel count"), exact.count_variance),
        ends.energy.against(&format!("{what}: change of the energy"), 0.0),
    ];
    rest.iter().for_each(|verdict| println!("{}", verdict.what));
    Verdict::worst(pixels.chain(rest))
}

fn with_model(test: impl FnOnce(Rbm<'_>)) {
    let weights = Weights::new(&EXACT.machine).unwrap();
    test(weights.rbm().unwrap());
}

#[test]
fn the_sums_are_the_published_ones() {
    let exact = &*EXACT;
    let published = npy::json("rbm16/exact.json");
    let number = |key: &str| published[key].as_f64().unwrap();
    // Sums of 2¹⁶ × 784 terms in float64, in another order: 10⁻¹² relative is far above their rounding
    // (about √n · 2⁻⁵³) and far below any wrong term.
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    println!("log Z {}, count {} and {}", exact.log_z, exact.count_mean, exact.count_variance);
    assert!(close(exact.log_z, number("logZ")), "{}", exact.log_z);
    assert!(close(exact.log_z, 176.271_644_107_540_85));
    assert!(close(exact.count_mean, number("sum_v")), "{}", exact.count_mean);
    // Both are differences of second moments, and have the rounding of those.
    let square = exact.count_variance + exact.count_mean.powi(2);
    let off = exact.count_variance - number("E_pixelcount_var");
    assert!(off.abs() <= 1e-12 * square, "{}", exact.count_variance);
    for (ours, theirs) in exact.marginals.iter().zip(npy::doubles("rbm16/exact_marginals_v.npy")) {
        assert!(close(*ours, theirs), "{ours} {theirs}");
    }
}

#[test]
fn adjusted_langevin() {
    with_model(|model| {
        let sampler = |step_size| Langevin::adjusted(step_size).unwrap();
        check("adjusted .2", &model, &sampler(0.2), 19_200, 81).must_pass();
        check("adjusted .3", &model, &sampler(0.3), 6_400, 82).must_pass();
        check("half energy", &HalfEnergy(model), &sampler(0.2), 3_200, 83).must_fail();
        check("unadjusted", &model, &Langevin::unadjusted(0.2).unwrap(), 3_200, 84).must_fail();
    });
}

#[test]
fn block_gibbs() {
    with_model(|model| {
        let mut room = vec![[0; 16]; Rbm::columns_len(784, 16)];
        let model = model.with_columns(&mut room).unwrap();
        check("block Gibbs", &model, &BlockGibbs, 19_200, 85).must_pass();
    });
    // Negative control: the distribution of a model whose hidden biases were forgotten.
    let bare = Machine { hidden: vec![0.0; 16], ..EXACT.machine.clone() };
    let weights = Weights::new(&bare).unwrap();
    check("block Gibbs without hidden biases", &weights.rbm().unwrap(), &BlockGibbs, 3_200, 86).must_fail();
}
