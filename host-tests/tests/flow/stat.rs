//! The continuous samplers by chance, with fixed seeds: what they converge to, and that broken ones do not.

use bitmc::flow::{
    DiagonalGaussian, Esh, Hmc, HmcChain, Mixture, NoseHoover, PlainPotential, Potential, Replay, Reservoir,
    StepSize, blocks, log_weight,
};
use bitmc::lane::Block;
use bitmc::random::{normals, uniform};
use bitmc::stats::{Average, Evidence, LogSum};
use bitmc::{LaneRng, SeedableRng};
use bitmc_host_tests::flow::{Flaws, NaiveHmc, Quartic, RIGHT, Target, Trajectory};
use bitmc_host_tests::stat::replicas::pieces;
use bitmc_host_tests::stat::{Moments, Verdict, chi_square};
use bitmc_host_tests::stuck::Stuck;
use statrs::distribution::{ContinuousCDF, Normal};

fn step(value: f32) -> StepSize {
    StepSize::new(value).expect("a legal step size")
}

fn block(values: &[f32]) -> [Block; 1] {
    let mut out = [[0.0; 16]];
    out[0][..values.len()].copy_from_slice(values);
    out
}

fn memory<const N: usize>() -> [Block; N] {
    [[0.0; 16]; N]
}

// ---- Jarzynski's Z

/// (start energy, end energy, r, d) → ln w.
type Weight = fn(f64, f64, f64, f64) -> f64;

/// The mean weight of trajectories from N(0, I) to a Gaussian, against the true √(1/Π p).
fn evidence(precision: &[f32], epsilon: f32, steps: u32, replicas: u32, weight: Option<Weight>) -> Verdict {
    let d = precision.len();
    let (mean, packed) = (block(&vec![0.0; d]), block(precision));
    let model = DiagonalGaussian::new(d, &mean, &packed).unwrap();
    let parts = pieces(|piece| {
        let mut rng = LaneRng::stream(20 + d as u64, piece);
        let (mut moments, mut own) = (Moments::default(), Evidence::new());
        for _ in 0..replicas / 64 {
            let start = &normals(&mut rng)[..d];
            let mut chain = Esh::random(&model, memory::<3>(), start, &mut rng).unwrap();
            let start_energy = 0.5 * start.iter().map(|x| x * x).sum::<f32>();
            let energy = chain.energy();
            for _ in 0..steps {
                chain.step(step(epsilon));
            }
            let kernel = log_weight(start_energy, &chain);
            own.add(kernel);
            let log = weight.map_or(f64::from(kernel), |weight| {
                weight(start_energy.into(), energy.into(), chain.log_speed().into(), d as f64)
            });
            moments.push(log.exp());
        }
        (moments, own)
    });
    let own = parts[0].1;
    let first = parts[0].0;
    let all = parts.iter().fold(Moments::default(), |sum, part| sum.and(part.0));
    let truth = precision.iter().map(|&p| f64::from(p)).product::<f64>().powf(-0.5);
    if weight.is_none() {
        // The streaming estimate in f32 says the same as float64, and so does its error.
        assert!((f64::from(own.log_z()).exp() / first.mean() - 1.0).abs() < 1e-5);
        let error = (first.variance() / first.count()).sqrt() / first.mean();
        assert!((f64::from(own.relative_error()) / error - 1.0).abs() < 1e-2);
    }
    let error = (all.variance() / all.count()).sqrt();
    let what = format!("d = {d}, ε = {epsilon}: Z = {:.5} ± {error:.5} of {truth:.5}", all.mean());
    Verdict::z(what, (all.mean() - truth) / error)
}

#[test]
fn jarzynski_finds_z_at_any_step_size() {
    let two: &[f32] = &[8.0, 0.8];
    let six: &[f32] = &[4.0, 1.0, 2.0, 0.8, 3.0, 1.5];
    for (precision, replicas) in [(two, 1 << 19), (six, 1 << 18)] {
        for epsilon in [0.1, 0.5] {
            evidence(precision, epsilon, 20, replicas, None).must_pass();
        }
    }
    // The printed weight uses E(x₀) and r: exact only where H is conserved, as it nearly is at .1 …
    let printed: Weight = |e0, e, r, _| e0 - e + r;
    println!("the printed weight at .1: {:?}", evidence(two, 0.1, 20, 1 << 19, Some(printed)));
    evidence(two, 0.5, 20, 1 << 19, Some(printed)).must_fail();
    // … and no weight, or none for the path, is wrong anywhere.
    evidence(two, 0.1, 20, 1 << 17, Some(|_, _, _, _| 0.0)).must_fail();
    evidence(two, 0.1, 20, 1 << 17, Some(|e0, e, r, d| e0 - e + (d + 1.0) * r)).must_fail();
}

// ---- Time averages

/// Trajectories, and a new direction every so many steps.
const CHAINS: u32 = 64;
const STEPS: u32 = 12_000;
const REFRESH: u32 = 400;

const WELLS: Quartic = Quartic { barrier: 0.8, coupling: 0.6, tilt: 0.2 };
const BOWL: Quartic = Quartic { barrier: -0.2, coupling: 0.9, tilt: 0.4 };

/// A name and a function of (x, y).
type Moment = (&'static str, fn(f64, f64) -> f64);

const MOMENTS: [Moment; 6] = [
    ("x", |x, _| x),
    ("y", |_, y| y),
    ("xx", |x, _| x * x),
    ("xy", |x, y| x * y),
    ("yy", |_, y| y * y),
    ("xxxx", |x, _| x.powi(4)),
];

/// The time averages of each trajectory against the exact moments.
fn averages(target: &Quartic, run: impl Fn(u32) -> [f64; 6] + Sync) -> Verdict {
    let runs: Vec<[f64; 6]> = pieces(&run);
    Verdict::worst(MOMENTS.iter().enumerate().map(|(index, (name, of))| {
        let mut moments = Moments::default();
        runs.iter().for_each(|run| moments.push(run[index]));
        let (exact, error) = (target.mean(of), (moments.variance() / moments.count()).sqrt());
        let what = format!("<{name}> = {:.4} ± {error:.4} of {exact:.4}", moments.mean());
        Verdict::z(what, (moments.mean() - exact) / error)
    }))
}

fn kernel_averages(target: &Quartic, chain: u32, refresh: u32, weigh: bool) -> [f64; 6] {
    let mut rng = LaneRng::stream(30, chain);
    let start = &normals(&mut rng)[..2];
    let mut chain = Esh::random(target, memory::<3>(), start, &mut rng).unwrap();
    let mut averages = [Average::new(); 6];
    for number in 0..STEPS {
        if refresh > 0 && number % refresh == 0 {
            chain.refresh(&mut rng);
        }
        let leap = chain.step(step(0.05));
        let [x, y] = [chain.position()[0], chain.position()[1]].map(f64::from);
        if number > STEPS / 20 {
            let weight = if weigh { leap.log_time } else { 0.0 };
            for (average, (_, of)) in averages.iter_mut().zip(MOMENTS) {
                average.add(weight, of(x, y) as f32);
            }
        }
    }
    averages.map(|average| f64::from(average.mean()))
}

fn naive_averages(target: &Quartic, chain: u32, flaws: Flaws) -> [f64; 6] {
    let mut rng = LaneRng::stream(31, chain);
    let draw = normals(&mut rng).map(f64::from);
    let mut trajectory = Trajectory::new(target, &draw[..2], &draw[2..4], flaws);
    let (mut sums, mut total) = ([0.0; 6], 0.0);
    for number in 0..STEPS {
        if number % REFRESH == 0 {
            let draw = normals(&mut rng).map(f64::from);
            let length = draw[0].hypot(draw[1]);
            trajectory.u = vec![draw[0] / length, draw[1] / length];
        }
        let time = trajectory.step(0.05);
        if number > STEPS / 20 {
            total += time;
            for (sum, (_, of)) in sums.iter_mut().zip(MOMENTS) {
                *sum += time * of(trajectory.x[0], trajectory.x[1]);
            }
        }
    }
    sums.map(|sum| sum / total)
}

#[test]
fn time_averages_are_the_moments() {
    assert_eq!(CHAINS, bitmc_host_tests::stat::replicas::PIECES);
    for target in [&WELLS, &BOWL] {
        averages(target, |chain| kernel_averages(target, chain, REFRESH, true)).must_pass();
        averages(target, |chain| naive_averages(target, chain, RIGHT)).must_pass();
        // And without new directions: nothing random but the start.
        averages(target, |chain| kernel_averages(target, chain, 0, true)).must_pass();
    }
    averages(&WELLS, |chain| kernel_averages(&WELLS, chain, REFRESH, false)).must_fail();
    // In two dimensions h = ε is the same flaw: both double a.
    averages(&WELLS, |chain| naive_averages(&WELLS, chain, Flaws { dimension: -1.0, ..RIGHT })).must_fail();
}

/// N(0, I) below a hard constraint at x = ½, where x has the mean −φ(½)/Φ(½). A step that turns back has stayed for its
/// time. Without that, points from which a step would come across the constraint count too little.
#[test]
fn a_step_that_turned_back_has_a_weight() {
    let model = PlainPotential::new(3, |x, gradient| {
        gradient.copy_from_slice(x);
        if x[0] > 0.5 { f32::INFINITY } else { 0.5 * x.iter().map(|x| x * x).sum::<f32>() }
    });
    let exact = -(-0.125f64).exp() / std::f64::consts::TAU.sqrt() / Normal::new(0.0, 1.0).unwrap().cdf(0.5);
    let mean = |weigh: bool| {
        let runs = pieces(|piece| {
            let mut rng = LaneRng::stream(34, piece);
            let mut chain = Esh::random(&model, memory::<3>(), &[0.1, 0.3, -0.4], &mut rng).unwrap();
            let mut average = Average::new();
            for number in 0..STEPS {
                if number % 50 == 0 {
                    chain.refresh(&mut rng);
                }
                let leap = chain.step(step(0.2));
                if weigh || !leap.fault {
                    average.add(leap.log_time, chain.position()[0]);
                }
            }
            f64::from(average.mean())
        });
        let mut moments = Moments::default();
        runs.iter().for_each(|&run| moments.push(run));
        let error = (moments.variance() / moments.count()).sqrt();
        Verdict::z(
            format!("{:.4} ± {error:.4} of {exact:.4}", moments.mean()),
            (moments.mean() - exact) / error,
        )
    };
    mean(true).must_pass();
    mean(false).must_fail();
}

/// Correlation .99 in the plane, in the coordinates along and across its valley: dynamics and start are the same in all
/// directions. Alone, trajectories from N(0, I) give less than half of the variance along the valley.
#[test]
fn a_gaussian_needs_new_directions() {
    let (mean, precision) = (block(&[0.0; 2]), block(&[1.0 / 1.99, 1.0 / 0.01]));
    let gaussian = DiagonalGaussian::new(2, &mean, &precision).unwrap();
    let variance = |refresh: u32| {
        let runs = pieces(|piece| {
            let mut rng = LaneRng::stream(33, piece);
            let start = &normals(&mut rng)[..2];
            let mut chain = Esh::random(&gaussian, memory::<3>(), start, &mut rng).unwrap();
            let mut average = Average::new();
            for number in 0..20_000 {
                if refresh > 0 && number % refresh == 0 {
                    chain.refresh(&mut rng);
                }
                let leap = chain.step(step(0.1));
                average.add(leap.log_time, chain.position()[0].powi(2));
            }
            f64::from(average.mean())
        });
        let mut moments = Moments::default();
        runs.iter().for_each(|&run| moments.push(run));
        let error = (moments.variance() / moments.count()).sqrt();
        println!("new directions every {refresh} steps: {:.3} ± {error:.3} of 1.99", moments.mean());
        (moments.mean(), error)
    };
    let (alone, error) = variance(0);
    assert!(alone < 1.0 && error < 0.1, "{alone} ± {error}");
    let (refreshed, error) = variance(100);
    assert!((refreshed - 1.99).abs() < 0.1 + 3.0 * error && error < 0.1, "{refreshed} ± {error}");
}

// ---- One sample of a trajectory

#[test]
fn a_reservoir_keeps_in_proportion_to_weight() {
    let weights: [f32; 8] = [1.0, 5.0, 0.5, 3.0, 0.0, 8.0, 2.0, 1.5];
    let distribution: Vec<f64> = weights.iter().map(|&w| f64::from(w) / 21.0).collect();
    let keep = |weigh: bool, offset: f32| {
        let mut rng = LaneRng::seed_from_u64(40);
        let mut counts = vec![0u64; 8];
        for _ in 0..200_000 {
            let mut reservoir = Reservoir::new([[-1.0; 16]]);
            for (index, weight) in weights.iter().enumerate() {
                let log = if weigh || *weight == 0.0 { weight.ln() + offset } else { 0.0 };
                reservoir.offer(&[[index as f32; 16]], log, &mut rng);
            }
            counts[reservoir.sample()[0][15] as usize] += 1;
        }
        counts
    };
    // Weights of any size: unscaled times grow and shrink by e^1000 on a long way.
    for offset in [0.0, -1000.0, 2000.0] {
        chi_square("reservoir", &keep(true, offset), &distribution).must_pass();
    }
    chi_square("reservoir without weights", &keep(false, 0.0), &distribution).must_fail();

    let mut sum = LogSum::new();
    (0..1000).for_each(|i| sum.add(i as f32));
    assert!((sum.log() - (999.0 - (1.0 - (-1f32).exp()).ln())).abs() < 1e-4);
    let mut many = LogSum::new();
    (0..1_000_000).for_each(|_| many.add(-7.0));
    assert!((many.log() - (1e6f32.ln() - 7.0)).abs() < 2e-6);
    many.add(f32::NAN);
    many.add(f32::NEG_INFINITY);
    assert!((many.log() - (1e6f32.ln() - 7.0)).abs() < 2e-6);
}

#[test]
fn a_replay_finds_the_point_of_a_time() {
    let chain = || Esh::new(&WELLS, memory::<3>(), &[0.3, 0.1], &[1.0, -0.5]).unwrap();
    let (mut whole, mut points, mut times) = (chain(), vec![[0.3f64, 0.1]], vec![0f64]);
    let mut total = LogSum::new();
    for _ in 0..500 {
        let leap = whole.step(step(0.1));
        total.add(leap.log_time);
        times.push(times.last().unwrap() + f64::from(leap.log_time).exp());
        points.push([whole.position()[0], whole.position()[1]].map(f64::from));
    }
    for share in [1e-6f32, 0.003, 0.25, 0.5, 0.777, 0.999, 1.0] {
        let mut found = [[0.0; 16]];
        let reached = Replay::new(total, share).run(&mut chain(), step(0.1), 501, &mut found);
        assert!(reached, "share {share}");
        let target = f64::from(share) * times[500];
        let after = times.iter().position(|&time| time >= target).unwrap_or(500).max(1);
        let part = (target - times[after - 1]) / (times[after] - times[after - 1]);
        for axis in 0..2 {
            let (a, b) = (points[after - 1][axis], points[after][axis]);
            let expected = a + part * (b - a);
            // The clock holds 10⁻⁷ of the total, over a step of about 1/500 of it: 5·10⁻⁵ of .1.
            assert!((f64::from(found[0][axis]) - expected).abs() < 1e-4, "share {share}: {found:?} {expected}");
        }
    }
    assert!(!Replay::new(total, 1.0).run(&mut chain(), step(0.1), 400, &mut [[0.0; 16]]));
}

// ---- Newtonian comparators

const CENTRES: [[f32; 2]; 3] = [[-1.0, 0.5], [1.2, 0.0], [0.0, -1.5]];
const SHARES: [f32; 3] = [0.5, 0.3, 0.2];
const SIGMA: f32 = 0.6;
/// Cells a side, of width ½ around the origin; the outermost reach to infinity.
const SIDE: usize = 10;

/// The mixture in float64.
struct Three;

impl Target for Three {
    fn energy(&self, x: &[f64]) -> f64 {
        -Self::terms(x).map(|(weight, _)| weight).sum::<f64>().ln()
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let total: f64 = Self::terms(x).map(|(weight, _)| weight).sum();
        let pull = |axis| Self::terms(x).map(|(weight, away)| weight / total * away[axis]).sum::<f64>();
        [0, 1].map(|axis: usize| pull(axis) / f64::from(SIGMA).powi(2)).to_vec()
    }
}

impl Three {
    fn terms(x: &[f64]) -> impl Iterator<Item = (f64, [f64; 2])> {
        CENTRES.iter().zip(SHARES).map(move |(centre, share)| {
            let away = [x[0] - f64::from(centre[0]), x[1] - f64::from(centre[1])];
            let square = away[0].powi(2) + away[1].powi(2);
            (f64::from(share) * (-0.5 * square / f64::from(SIGMA).powi(2)).exp(), away)
        })
    }

    fn draw(rng: &mut LaneRng) -> [f32; 2] {
        let which = uniform(rng);
        let index = usize::from(which > SHARES[0]) + usize::from(which > SHARES[0] + SHARES[1]);
        let noise = normals(rng);
        [CENTRES[index][0] + SIGMA * noise[0], CENTRES[index][1] + SIGMA * noise[1]]
    }

    fn distribution() -> Vec<f64> {
        let mut distribution = vec![0.0; SIDE * SIDE];
        for (centre, share) in CENTRES.iter().zip(SHARES) {
            let cells = [0, 1].map(|axis: usize| {
                let normal = Normal::new(centre[axis].into(), SIGMA.into()).unwrap();
                let edge = |i: usize| match i {
                    0 => 0.0,
                    SIDE => 1.0,
                    _ => normal.cdf(0.5 * (i as f64 - SIDE as f64 / 2.0)),
                };
                (0..SIDE).map(|i| edge(i + 1) - edge(i)).collect::<Vec<_>>()
            });
            for (index, cell) in distribution.iter_mut().enumerate() {
                *cell += f64::from(share) * cells[0][index / SIDE] * cells[1][index % SIDE];
            }
        }
        distribution
    }

    fn cell(x: [f64; 2]) -> usize {
        let [a, b] = x.map(|x| ((2.0 * x + SIDE as f64 / 2.0).floor().max(0.0) as usize).min(SIDE - 1));
        a * SIDE + b
    }
}

/// Replicas that start from the distribution itself; after some transitions they must still follow it.
fn exact_start(what: &str, replicas: u32, last: impl Fn([f32; 2], &mut LaneRng) -> [f64; 2] + Sync) -> Verdict {
    let counts = pieces(|piece| {
        let mut rng = LaneRng::stream(50, piece);
        let mut counts = vec![0u64; SIDE * SIDE];
        for _ in 0..replicas / 64 {
            let start = Three::draw(&mut rng);
            counts[Three::cell(last(start, &mut rng))] += 1;
        }
        counts
    });
    let sum = counts.iter().fold(vec![0; SIDE * SIDE], |mut sum: Vec<u64>, counts| {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        sum
    });
    chi_square(what, &sum, &Three::distribution())
}

#[test]
fn mala_and_hmc_keep_their_distribution() {
    const REPLICAS: u32 = 1 << 18;
    let mut means = [[0.0; 16]; 3];
    means.iter_mut().zip(CENTRES).for_each(|(mean, centre)| mean[..2].copy_from_slice(&centre));
    let logs = SHARES.map(f32::ln);
    let model = Mixture::new(2, &means, &logs, SIGMA).unwrap();
    let run = |kernel: Hmc, steps: u32| {
        let model = &model;
        move |start: [f32; 2], rng: &mut LaneRng| {
            let mut chain = HmcChain::new(model, memory::<5>(), &start).unwrap();
            (0..steps).for_each(|_| {
                chain.step(&kernel, rng);
            });
            [chain.position()[0], chain.position()[1]].map(f64::from)
        }
    };
    exact_start("no step", REPLICAS, |start, _| start.map(f64::from)).must_pass();
    exact_start("MALA", REPLICAS, run(Hmc::langevin(step(0.5)), 20)).must_pass();
    exact_start("HMC, k = 5", REPLICAS, run(Hmc::new(step(0.35), 5).unwrap(), 10)).must_pass();
    exact_start("ULA for MALA", REPLICAS, run(Hmc::unadjusted_langevin(step(0.5)), 20)).must_fail();

    let naive = |epsilon, steps, test, kinetic| {
        move |start: [f32; 2], rng: &mut LaneRng| {
            let mut x = start.map(f64::from).to_vec();
            let kernel = NaiveHmc { epsilon, steps, test, kinetic };
            (0..10).for_each(|_| kernel.step(&Three, &mut x, rng));
            [x[0], x[1]]
        }
    };
    exact_start("HMC in float64", REPLICAS / 4, naive(0.35, 5, true, 1.0)).must_pass();
    exact_start("HMC without a test", REPLICAS / 4, naive(0.35, 5, false, 1.0)).must_fail();
    exact_start("HMC, half the kinetic energy", REPLICAS / 4, naive(0.35, 5, true, 0.5)).must_fail();
}

#[test]
fn ula_keeps_its_own_distribution() {
    // On precision p the distribution of x ← (1 − ½ε²p)x + εn has the variance 1/(p(1 − ¼ε²p)).
    let precision = [1.0f32, 4.0, 0.25];
    let (mean, packed) = (block(&[0.0; 3]), block(&precision));
    let model = DiagonalGaussian::new(3, &mean, &packed).unwrap();
    let squares = |inflated: bool| {
        let variance = precision.map(|p| 1.0 / (p * if inflated { 1.0 - 0.0625 * p } else { 1.0 }));
        let parts = pieces(|piece| {
            let mut rng = LaneRng::stream(60, piece);
            let mut moments = [Moments::default(); 3];
            for _ in 0..4096 {
                let noise = normals(&mut rng);
                let start: Vec<f32> = (0..3).map(|i| noise[i] * variance[i].sqrt()).collect();
                let mut chain = HmcChain::new(&model, memory::<5>(), &start).unwrap();
                (0..20)
                    .for_each(|_| assert!(chain.step(&Hmc::unadjusted_langevin(step(0.5)), &mut rng).accepted));
                for ((moments, x), variance) in moments.iter_mut().zip(chain.position()).zip(variance) {
                    moments.push(f64::from(x * x / variance) - 1.0);
                }
            }
            moments
        });
        Verdict::worst((0..3).map(|axis| {
            let all = parts.iter().fold(Moments::default(), |sum, part| sum.and(part[axis]));
            let error = (all.variance() / all.count()).sqrt();
            Verdict::z(format!("variance of coordinate {axis}: {:+.4}", all.mean()), all.mean() / error)
        }))
    };
    squares(true).must_pass();
    squares(false).must_fail();
}

#[test]
fn the_thermostat_conserves_and_samples() {
    let drift = |epsilon: f32| {
        let mut rng = LaneRng::seed_from_u64(70);
        let mut chain = NoseHoover::new(&BOWL, memory::<3>(), &[0.5, 0.5], 2.0, &mut rng).unwrap();
        (0..(4.0 / epsilon) as u32).map(|_| f64::from(chain.step(step(epsilon)).error)).sum::<f64>().abs()
    };
    let (coarse, fine) = (drift(0.1), drift(0.05));
    println!("drift of the conserved energy at .1, .05: {coarse:.2e} {fine:.2e}");
    assert!((coarse / fine - 4.0).abs() < 0.6 && fine < 0.05);
    assert!(NoseHoover::new(&BOWL, memory::<3>(), &[0.0; 2], 0.0, &mut LaneRng::seed_from_u64(1)).is_err());
}

/// Long runs of the comparators have the moments of the target.
#[test]
fn mala_has_the_moments_of_a_quartic() {
    let chain = |chain: u32| {
        let mut rng = LaneRng::stream(80, chain);
        let mut mala = HmcChain::new(&BOWL, memory::<5>(), &[0.1, 0.1]).unwrap();
        let mut sums = [0.0; 6];
        for number in 0..8_000 {
            mala.step(&Hmc::langevin(step(0.6)), &mut rng);
            let [x, y] = [mala.position()[0], mala.position()[1]].map(f64::from);
            if number >= 400 {
                sums.iter_mut().zip(MOMENTS).for_each(|(sum, (_, of))| *sum += of(x, y) / 7_600.0);
            }
        }
        sums
    };
    averages(&BOWL, chain).must_pass();
    assert_eq!(blocks(Potential::dim(&BOWL)), 1);
}

#[test]
fn any_generator_leaves_a_legal_state() {
    for (what, stuck) in Stuck::all() {
        let mut rng = stuck.clone();
        let mut chain = HmcChain::new(&BOWL, memory::<5>(), &[0.1, 0.1]).unwrap();
        let mut flow = Esh::random(&BOWL, memory::<3>(), &[0.1, 0.1], &mut rng).unwrap();
        let mut kept = Reservoir::new(block(&[0.1, 0.1]));
        for number in 0..200 {
            chain.step(&Hmc::langevin(step(0.5)), &mut rng);
            if number % 10 == 0 {
                flow.refresh(&mut rng);
            }
            let leap = flow.step(step(0.1));
            kept.offer(flow.position_blocks(), leap.log_time, &mut rng);
            let numbers = chain.position().iter().chain(flow.position()).chain(kept.sample().as_flattened());
            assert!(numbers.copied().all(f32::is_finite) && flow.log_speed().is_finite(), "{what}");
        }
        assert_eq!((chain.faults(), flow.faults()), (0, 0), "{what}");
    }
}
