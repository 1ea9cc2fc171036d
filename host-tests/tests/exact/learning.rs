//! Objectives of learning and their gradients by the parameters, against float64 (METHODS.md §5–6).

use bitmc::energy::{Boltzmann, Perceptron, PerceptronError, SparseError};
use bitmc::lane::{Block, LANES};
use bitmc::learn::{
    Adam, Contrast, CyclicalLearning, Importance, LearnError, Minibatch, Objective, PseudoLikelihood,
    RateError, RatioMatching, Replay, Report, Sgd, SparseIsing, SparsePotts, clip, decay, lasso,
};
use bitmc::step::Curvature;
use bitmc::{Gibbs, LaneRng, Langevin, Layout, Move, Packed, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::learning::{Goal, Lesson, deviation};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance::{PARAMETER_GRADIENT, ROUNDING};
use rayon::prelude::*;

fn lessons() -> Vec<Lesson> {
    let mut lessons = vec![Lesson::rbm(5, 3, 1.0, 1), Lesson::rbm(20, 17, 0.5, 2), Lesson::rbm(33, 16, 0.3, 3)];
    for sites in [3, 17, 40] {
        lessons.push(Lesson::sparse_ising(sites, true, 0.5, 4));
        lessons.push(Lesson::sparse_ising(sites, false, 0.5, 5));
        lessons.push(Lesson::sparse_potts(sites, 3, 0.7, 6));
    }
    lessons.push(Lesson::sparse_potts(18, 20, 0.5, 7));
    lessons.push(Lesson::perceptron(&[5, 3], 1.0, 1));
    lessons.push(Lesson::perceptron(&[20, 17, 9], 0.4, 2));
    lessons.push(Lesson::perceptron(&[33, 16, 20, 7], 0.4, 3));
    for (seed, sites) in [1, 2, 5, 15, 16, 17, 33, 40].into_iter().enumerate() {
        for spins in [false, true] {
            let sd = 1.0 / (sites as f64).sqrt();
            lessons.push(Lesson::boltzmann(sites, spins, sd, seed as u64));
            if sites <= 17 {
                lessons.push(Lesson::own(sites, spins, sd, seed as u64, false));
            }
        }
    }
    lessons
}

/// The gradient in natural order, and the report.
fn learn(lesson: &Lesson, objective: &impl Objective, samples: &[Vec<usize>]) -> (Vec<f64>, Report) {
    let mut gradient = vec![[7.0; LANES]; lesson.blocks];
    let report = lesson.with(&lesson.theta, |model| {
        let mut memory = heap::memory(model);
        let mut rng = LaneRng::seed_from_u64(1);
        let mut batch = Minibatch::new(model, &mut gradient).unwrap();
        for x in samples {
            let words = lesson.pack(x);
            let x = Packed::new(lesson.layout, &words).unwrap();
            batch.add(objective, model, x, &mut memory, &mut rng).unwrap();
        }
        batch.finish()
    });
    (lesson.natural(&gradient), report)
}

fn mean(rows: &[Vec<f64>]) -> Vec<f64> {
    (0..rows[0].len()).map(|k| rows.iter().map(|row| row[k]).sum::<f64>() / rows.len() as f64).collect()
}

#[test]
fn energies_by_their_parameters() {
    for lesson in lessons() {
        let mut source = Source::new(5);
        for _ in 0..3 {
            let x = lesson.state(&mut source);
            let mut gradient = vec![[0.0; LANES]; lesson.blocks];
            lesson.with(&lesson.theta, |model| {
                assert_eq!(model.parameter_len(), lesson.blocks);
                let (words, mut cache) = (lesson.pack(&x), vec![[0; LANES]; model.cache_len()]);
                let state = Packed::new(lesson.layout, &words).unwrap();
                let energy = f64::from(model.init(state, &mut cache).unwrap());
                let truth = lesson.energy(&lesson.theta, &x);
                assert!((energy - truth).abs() <= PARAMETER_GRADIENT * (1.0 + truth.abs()), "{}", lesson.name);
                model.accumulate(state, &cache, 0.5, &mut gradient);
            });
            let half: Vec<f64> =
                lesson.derivative(Goal::Energy, &lesson.theta, &x).into_iter().map(|g| 0.5 * g).collect();
            let off = deviation(&lesson.natural(&gradient), &half);
            assert!(off <= PARAMETER_GRADIENT, "{}: {off}", lesson.name);
        }
    }
}

#[test]
fn objectives_of_up_to_five_sites_by_their_parameters() {
    objectives_by_their_parameters(|sites| sites <= 5);
}

#[test]
fn objectives_of_more_sites_by_their_parameters() {
    objectives_by_their_parameters(|sites| sites > 5);
}

fn objectives_by_their_parameters(of: impl Fn(usize) -> bool) {
    for lesson in lessons().into_iter().filter(|lesson| of(lesson.layout.sites())) {
        let mut source = Source::new(6);
        let samples: Vec<_> = (0..3).map(|_| lesson.state(&mut source)).collect();
        let check = |goal: Goal, (gradient, report): (Vec<f64>, Report)| {
            let rows: Vec<_> = samples.iter().map(|x| lesson.derivative(goal, &lesson.theta, x)).collect();
            let off = deviation(&gradient, &mean(&rows));
            assert!(off <= PARAMETER_GRADIENT, "{} {goal:?}: gradient off by {off}", lesson.name);
            let losses: Vec<f64> = samples.iter().map(|x| lesson.goal(goal, &lesson.theta, x)).collect();
            let loss = losses.iter().sum::<f64>() / 3.0;
            let variance = losses.iter().map(|l| (l - loss).powi(2)).sum::<f64>() / 2.0;
            assert!((f64::from(report.loss) / loss - 1.0).abs() <= PARAMETER_GRADIENT, "{}", lesson.name);
            assert!(
                (f64::from(report.log_loss) - loss.ln()).abs() <= PARAMETER_GRADIENT * (1.0 + loss.ln().abs())
            );
            let size = variance + loss * loss;
            assert!((f64::from(report.variance) - variance).abs() <= PARAMETER_GRADIENT * size);
            assert_eq!((report.samples, report.log_scale), (3, 0.0));
            let neighbours = lesson.layout.sites() * (lesson.layout.arity() - 1);
            assert_eq!(report.evaluations, 3 * (1 + neighbours as u64));
        };
        check(Goal::PseudoLikelihood, learn(&lesson, &PseudoLikelihood, &samples));
        if lesson.layout.arity() > 2 {
            continue;
        }
        check(Goal::Sigmoid, learn(&lesson, &RatioMatching::SIGMOID, &samples));
        check(Goal::Ratio, learn(&lesson, &RatioMatching::RATIO, &samples));
    }
}

#[test]
fn a_wrong_derivative_of_a_function_of_ones_own_is_seen() {
    let lesson = Lesson::own(16, true, 0.25, 3, true);
    let mut source = Source::new(6);
    let samples: Vec<_> = (0..3).map(|_| lesson.state(&mut source)).collect();
    for (goal, (gradient, _)) in [
        (Goal::PseudoLikelihood, learn(&lesson, &PseudoLikelihood, &samples)),
        (Goal::Sigmoid, learn(&lesson, &RatioMatching::SIGMOID, &samples)),
        (Goal::Ratio, learn(&lesson, &RatioMatching::RATIO, &samples)),
    ] {
        let rows: Vec<_> = samples.iter().map(|x| lesson.derivative(goal, &lesson.theta, x)).collect();
        let off = deviation(&gradient, &mean(&rows));
        assert!(off > 100.0 * PARAMETER_GRADIENT, "{goal:?}: off by {off}");
    }
}

#[test]
fn networks_are_energies() {
    // The input gradient is that of the continuous extension: one unit's worth of a bit that feeds a linear sum.
    for lesson in [Lesson::perceptron(&[20, 17, 9], 0.4, 2), Lesson::perceptron(&[33, 16, 20, 7], 0.4, 3)] {
        let mut source = Source::new(3);
        let (x, y) = (lesson.state(&mut source), lesson.state(&mut source));
        lesson.with(&lesson.theta, |model| {
            let sites = lesson.layout.sites();
            let (mut words, mut cache) = (lesson.pack(&x), vec![[0; LANES]; model.cache_len()]);
            let total = model.init(Packed::new(lesson.layout, &words).unwrap(), &mut cache).unwrap();
            let reach = 1.0 + f64::from(total.abs());
            for site in 0..sites {
                let mut out = [7.0; 2];
                model.differences(&mut words, &cache, site, &mut out);
                assert_eq!(out[x[site]], 0.0);
                let truth = lesson.differences(&x, site);
                assert!((f64::from(out[1 - x[site]]) - truth).abs() <= 1e-5 * reach, "{}", lesson.name);
            }
            // A move leaves the cache that a start there would make, bit for bit.
            let there = lesson.pack(&y);
            let (from, to) = (Packed::new(lesson.layout, &words), Packed::new(lesson.layout, &there).unwrap());
            let mut moved = cache.clone();
            let shift = model.shift(&Move::new(from.unwrap(), to).unwrap(), &mut moved);
            let mut fresh = cache.clone();
            let after = model.init(to, &mut fresh).unwrap();
            assert_eq!((moved, shift.to_bits()), (fresh, (after - total).to_bits()));
            // ∂E/∂x, by feeding the first layer's bias: W₁ᵀ(∂E/∂b₁).
            let mut slopes = vec![[0.0; LANES]; sites.div_ceil(LANES)];
            model.gradient(to, &cache, 0..slopes.len(), &mut slopes);
            let by_theta = lesson.derivative(Goal::Energy, &lesson.theta, &x);
            let units = if sites == 20 { 17 } else { 16 };
            let truth: Vec<f64> = (0..sites)
                .map(|i| (0..units).map(|k| lesson.theta[units * (1 + i) + k] * by_theta[k]).sum())
                .collect();
            let found: Vec<f64> = slopes.as_flattened()[..sites].iter().map(|&g| f64::from(g)).collect();
            assert!(deviation(&found, &truth) <= PARAMETER_GRADIENT, "{}", lesson.name);
        });
    }
    let theta = [[0.0; LANES]; 8];
    let no = |widths: &'static [usize], blocks: usize| Perceptron::new(widths, &theta[..blocks]).is_err();
    assert!(
        no(&[], 0) && no(&[3], 3) && no(&[0, 3], 5) && no(&[3, 0], 5) && no(&[2, 257], 8) && no(&[3, 2], 6)
    );
    assert!(!no(&[3, 3], 8) && no(&[1, 1, 1, 1, 1], 8));
    // Layers of two blocks and of sixteen, the widest.
    let wrong = |widths: &'static [usize], (block, lane, value): (usize, usize, f32)| {
        let mut theta = vec![[0.0; LANES]; Perceptron::parameter_len(widths)];
        assert!(Perceptron::new(widths, &theta).is_ok());
        theta[block][lane] = value;
        assert_eq!(
            Perceptron::new(widths, &theta).err(),
            Some(PerceptronError::Value { index: block * LANES + lane })
        );
    };
    for at in [(0, 0, f32::NAN), (0, 3, 1.0), (4, 1, 1.0)] {
        wrong(&[3, 3], at);
    }
    for at in [(3, 1, 1.0), (5, 2, f32::INFINITY), (10, 0, f32::NAN), (25, 1, 1.0)] {
        wrong(&[3, 17, 1], at);
    }
    wrong(&[1, 256], (31, 15, f32::NAN));
    // As many sites as a layout has, and one more.
    const MOST: usize = i32::MAX as usize;
    assert_eq!(
        Perceptron::new(&[MOST, 1], &[]).err(),
        Some(PerceptronError::Length { need: MOST + 3, got: 0 })
    );
    assert_eq!(Perceptron::new(&[MOST + 1, 1], &[]).err(), Some(PerceptronError::Widths));
    // Behind the state of the network a block of sums and one of slopes for sixteen units.
    assert_eq!(Perceptron::cache_len(std::hint::black_box(&[3, 1, 17, 49])), 1 + 2 + 4 + 8);
}

#[test]
fn a_few_neighbours_of_many_are_as_good_as_all_at_once() {
    // Dense machines take few weighted neighbours one by one and many in one pass: the same sums.
    for spins in [false, true] {
        let lesson = Lesson::boltzmann(70, spins, 0.2, 8);
        let mut source = Source::new(2);
        let x = lesson.state(&mut source);
        lesson.with(&lesson.theta, |model| {
            let (mut words, mut cache) = (lesson.pack(&x), vec![[0; LANES]; model.cache_len()]);
            model.init(Packed::new(lesson.layout, &words).unwrap(), &mut cache).unwrap();
            let mut scratch = cache.clone();
            let mut sum = vec![[0.0; LANES]; lesson.blocks];
            let mut whole = sum.clone();
            let weight = |site: usize| (site as f32 - 30.5) / 16.0;
            for site in 0..70 {
                let mut weights = [[0.0; LANES]; 5];
                weights.as_flattened_mut()[site] = weight(site);
                model.accumulate_changes(&mut words, &cache, &mut scratch, &weights, &mut sum);
            }
            let mut weights = [[0.0; LANES]; 5];
            (0..70).for_each(|site| weights.as_flattened_mut()[site] = weight(site));
            model.accumulate_changes(&mut words, &cache, &mut scratch, &weights, &mut whole);
            assert_eq!(words, lesson.pack(&x));
            let off = deviation(&lesson.natural(&whole), &lesson.natural(&sum));
            assert!(off <= 4.0 * ROUNDING, "{off}");
        });
    }
}

/// The estimate of (J, ∂J/∂θ) from given neighbours, and n.
fn estimate(lesson: &Lesson, form: &Importance, x: &[usize], sites: &[usize]) -> (f64, Vec<f64>, Vec<f64>) {
    let mut gradient = vec![[0.0; LANES]; lesson.blocks];
    let (report, n) = lesson.with(&lesson.theta, |model| {
        let mut memory = heap::memory(model);
        let words = lesson.pack(x);
        let x = Packed::new(lesson.layout, &words).unwrap();
        let mut n = vec![0.0; lesson.layout.sites()];
        form.proposal(model, x, &mut memory, &mut n).unwrap();
        let mut batch = Minibatch::new(model, &mut gradient).unwrap();
        form.observe_given(model, x, sites, &mut memory, &mut batch).unwrap();
        (batch.finish(), n)
    });
    (f64::from(report.loss), lesson.natural(&gradient), n.into_iter().map(f64::from).collect())
}

/// (J, ∂J/∂θ) averaged over every draw of two of six neighbours.
fn expectation(lesson: &Lesson, form: &Importance, x: &[usize], replace: bool) -> (f64, Vec<f64>) {
    let (_, _, n) = estimate(lesson, form, x, &[0]);
    assert!((n.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let (mut loss, mut gradient) = (0.0, vec![0.0; lesson.theta.len()]);
    for i in 0..6 {
        for j in (0..6).filter(|&j| replace || j != i) {
            let (l, g, _) = estimate(lesson, form, x, &[i, j]);
            let p = if replace { n[i] * n[j] } else { n[i] * n[j] / (1.0 - n[i]) };
            loss += p * l;
            gradient.iter_mut().zip(g).for_each(|(sum, g)| *sum += p * g);
        }
    }
    (loss, gradient)
}

#[test]
fn importance_sampling_is_unbiased_over_every_draw() {
    // The RBM's Taylor estimate is not exact; the Boltzmann machine's is.
    for lesson in [
        Lesson::rbm(6, 4, 1.5, 4),
        Lesson::boltzmann(6, false, 1.0, 4),
        Lesson::own(6, false, 1.0, 4, false),
        Lesson::perceptron(&[6, 8, 4], 0.7, 4),
        Lesson::perceptron(&[6, 8, 6, 4], 0.7, 4),
    ] {
        let mut source = Source::new(7);
        for _ in 0..4 {
            let x = lesson.state(&mut source);
            for (form, goal) in [
                (Importance::ratio_matching(2).unwrap(), Goal::Sigmoid),
                (Importance::uniform(2).unwrap(), Goal::Ratio),
                (Importance::basic(2).unwrap(), Goal::Ratio),
            ] {
                let truth = lesson.goal(goal, &lesson.theta, &x);
                let slopes = lesson.derivative(goal, &lesson.theta, &x);
                let (loss, gradient) = expectation(&lesson, &form, &x, true);
                assert!((loss / truth - 1.0).abs() <= PARAMETER_GRADIENT, "{form:?}: {loss} for {truth}");
                let off = deviation(&gradient, &slopes);
                assert!(off <= PARAMETER_GRADIENT, "{form:?}: {off}");
                // The negative control draws without replacement and weighs as if with. Uniform draws forgive that; so does
                // the J of weights that are exact.
                let (_, variant) = expectation(&lesson, &form, &x, false);
                let off = deviation(&variant, &slopes);
                let uniform = form == Importance::uniform(2).unwrap();
                assert!(
                    uniform || off > 10.0 * PARAMETER_GRADIENT,
                    "{form:?}: the broken variant is off by {off}"
                );
            }
            // The advanced form of one neighbour is its term of Eq. 3, so all of them together are Eq. 3, and so is the
            // gradient. Its estimate is of neither.
            let one = Importance::advanced(1).unwrap();
            let terms: Vec<_> = (0..6).map(|site| estimate(&lesson, &one, &x, &[site])).collect();
            let sum = terms.iter().map(|(loss, ..)| loss).sum::<f64>();
            let gradients: Vec<_> = terms.iter().map(|(_, gradient, _)| gradient.clone()).collect();
            let gradient: Vec<f64> = mean(&gradients).into_iter().map(|g| 6.0 * g).collect();
            let slopes = lesson.derivative(Goal::Ratio, &lesson.theta, &x);
            assert!((sum / lesson.goal(Goal::Ratio, &lesson.theta, &x) - 1.0).abs() <= PARAMETER_GRADIENT);
            assert!(deviation(&gradient, &slopes) <= PARAMETER_GRADIENT);
            let advanced = Importance::advanced(2).unwrap();
            let (loss, _) = expectation(&lesson, &advanced, &x, true);
            let truth = lesson.goal(Goal::Ratio, &lesson.theta, &x);
            assert!((loss / truth - 1.0).abs() > 100.0 * PARAMETER_GRADIENT);
        }
    }
}

#[test]
fn the_basic_form_has_no_variance_where_taylor_is_exact() {
    let lesson = Lesson::boltzmann(6, true, 1.0, 11);
    let basic = Importance::basic(1).unwrap();
    let x = [0, 1, 1, 0, 1, 0];
    let truth = lesson.goal(Goal::Ratio, &lesson.theta, &x);
    let mut gradients = Vec::new();
    for site in 0..6 {
        let (loss, gradient, _) = estimate(&lesson, &basic, &x, &[site]);
        assert!((loss / truth - 1.0).abs() <= PARAMETER_GRADIENT);
        gradients.push(gradient);
    }
    // Its gradient does.
    assert!(deviation(&gradients[0], &gradients[1]) > 0.1);
}

#[test]
fn drawn_neighbours_come_with_the_probabilities_that_are_said() {
    // 20,000 draws of 6 sites: chi-square with 5 degrees of freedom, 10⁻⁶ at 35.9.
    let lesson = Lesson::rbm(6, 4, 1.0, 9);
    let form = Importance::ratio_matching(1).unwrap();
    let x = [1, 0, 1, 1, 0, 0];
    let (_, _, n) = estimate(&lesson, &form, &x, &[0]);
    let alone: Vec<f64> = (0..6).map(|i| estimate(&lesson, &form, &x, &[i]).0).collect();
    let mut counts = [0.0; 6];
    lesson.with(&lesson.theta, |model| {
        let (mut memory, words) = (heap::memory(model), lesson.pack(&x));
        let mut rng = LaneRng::seed_from_u64(3);
        let mut gradient = vec![[0.0; LANES]; lesson.blocks];
        for _ in 0..20_000 {
            let x = Packed::new(lesson.layout, &words).unwrap();
            let mut batch = Minibatch::new(model, &mut gradient).unwrap();
            batch.add(&form, model, x, &mut memory, &mut rng).unwrap();
            let report = batch.finish();
            assert_eq!(report.evaluations, 2);
            let site = alone.iter().position(|&loss| loss == f64::from(report.loss)).unwrap();
            counts[site] += 1.0;
        }
    });
    let against = |n: &[f64]| -> f64 {
        counts.iter().zip(n).map(|(c, n)| (c - 20_000.0 * n).powi(2) / (20_000.0 * n)).sum()
    };
    assert!(against(&n) < 35.9, "{}", against(&n));
    assert!(against(&[1.0 / 6.0; 6]) > 35.9);
}

#[test]
fn no_exponential_overflows_at_any_energy() {
    for sd in [10.0, 1e3, 1e6, 1e12] {
        let mut lesson = Lesson::boltzmann(12, false, 1.0, 3);
        lesson.theta.iter_mut().for_each(|t| *t = f64::from((*t * sd) as f32));
        let mut source = Source::new(1);
        let samples: Vec<_> = (0..4).map(|_| lesson.state(&mut source)).collect();
        let finite = |gradient: &[f64]| gradient.iter().all(|g| g.is_finite());
        let largest = samples.iter().flat_map(|x| {
            let here = lesson.energy(&lesson.theta, x);
            let lesson = &lesson;
            (0..12).map(move |i| {
                let mut y = x.clone();
                y[i] = 1 - y[i];
                2.0 * (here - lesson.energy(&lesson.theta, &y))
            })
        });
        let log_loss = {
            let exponents: Vec<f64> = largest.collect();
            let most = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most + exponents.iter().map(|e| (e - most).exp()).sum::<f64>().ln() - 4f64.ln()
        };
        let (gradient, report) = learn(&lesson, &RatioMatching::RATIO, &samples);
        assert!(finite(&gradient) && gradient.iter().any(|&g| g != 0.0), "{sd}");
        assert!((f64::from(report.log_loss) - log_loss).abs() <= 1e-5 * log_loss.abs(), "{sd}");
        assert!(report.log_scale > 0.0);
        for form in [Importance::basic(5), Importance::advanced(5), Importance::uniform(5)] {
            let (gradient, report) = learn(&lesson, &form.unwrap(), &samples);
            assert!(finite(&gradient) && report.log_loss.is_finite(), "{sd}");
        }
        for (gradient, report) in [
            learn(&lesson, &RatioMatching::SIGMOID, &samples),
            learn(&lesson, &Importance::ratio_matching(5).unwrap(), &samples),
            learn(&lesson, &PseudoLikelihood, &samples),
        ] {
            assert!(finite(&gradient) && report.loss.is_finite() && report.log_scale == 0.0, "{sd}");
        }
    }
}

#[test]
fn a_batch_that_makes_room_keeps_what_it_had() {
    // A sample of small exponents, then one of large ones: both must stand in the common scale.
    let mut lesson = Lesson::boltzmann(3, false, 1.0, 1);
    // Of the second pair the exponents are 39 and 41, so that the first counts.
    for (fields, first) in [([25.0, -1.0, 0.5], vec![1, 0, 0]), ([19.5, 20.5, 0.5], vec![0, 1, 0])] {
        lesson.theta = [&fields[..], &[0.0; 3]].concat();
        let samples = [first, vec![0, 0, 0]];
        let (gradient, report) = learn(&lesson, &RatioMatching::RATIO, &samples);
        let rows: Vec<_> = samples.iter().map(|x| lesson.derivative(Goal::Ratio, &lesson.theta, x)).collect();
        let scale = (-f64::from(report.log_scale)).exp();
        let truth: Vec<f64> = mean(&rows).into_iter().map(|g| g * scale).collect();
        assert!(report.log_scale > 40.0 && deviation(&gradient, &truth) <= PARAMETER_GRADIENT);
        let losses = samples.iter().map(|x| lesson.goal(Goal::Ratio, &lesson.theta, x));
        let log_loss = (losses.sum::<f64>() / 2.0).ln();
        let off = f64::from(report.log_loss) - log_loss;
        assert!(off.abs() <= PARAMETER_GRADIENT * log_loss, "{off}");
    }
}

/// θ learned from an exact population by a gradient in natural order, with a falling rate: the mean of the last
/// third of the iterations.
fn descend(lesson: &Lesson, steps: usize, mut gradient: impl FnMut(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut theta = vec![[0.0; LANES]; lesson.blocks];
    let mut moments = vec![[0.0; LANES]; 2 * lesson.blocks];
    let mut adam = Adam::new(&mut moments, 0.1).unwrap().with(0.9, 0.99, 1e-8).unwrap();
    let mut last = Vec::new();
    for step in 0..steps {
        adam.set_rate(0.1 * 1e-3f32.powf(step as f32 / steps as f32)).unwrap();
        let slopes = gradient(&lesson.natural(&theta));
        adam.step(&lesson.blocks_of(&slopes), &mut theta);
        if 3 * step >= 2 * steps {
            last.push(lesson.natural(&theta));
        }
    }
    mean(&last)
}

/// The population's gradient of an objective. One that draws is asked several times: Adam's normaliser turns
/// noise into bias.
fn population(
    lesson: &Lesson,
    distribution: &[f64],
    theta: &[f64],
    (objective, times): (&impl Objective, usize),
    rng: &mut LaneRng,
) -> Vec<f64> {
    let mut sum = vec![0.0; theta.len()];
    let mut gradient = vec![[0.0; LANES]; lesson.blocks];
    lesson.with(theta, |model| {
        let mut memory = heap::memory(model);
        for (x, p) in lesson.states().iter().zip(distribution) {
            let words = lesson.pack(x);
            let mut batch = Minibatch::new(model, &mut gradient).unwrap();
            let x = Packed::new(lesson.layout, &words).unwrap();
            for _ in 0..times {
                batch.add(objective, model, x, &mut memory, rng).unwrap();
            }
            let scale = f64::from(batch.finish().log_scale).exp();
            sum.iter_mut().zip(lesson.natural(&gradient)).for_each(|(s, g)| *s += p * scale * g);
        }
    });
    sum
}

/// The largest distance of parameters.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn consistent_objectives_find_the_parameters_of_an_exact_population() {
    [(4, 1500, 32), (6, 1500, 16), (8, 1500, 10)].into_par_iter().for_each(|(sites, steps, times)| {
        let lesson = Lesson::boltzmann(sites, false, 0.5, 20 + sites as u64);
        let (truth, distribution, states) =
            (&lesson.theta, lesson.distribution(&lesson.theta), lesson.states());
        let mut rng = LaneRng::seed_from_u64(sites as u64);
        // Maximum likelihood, with the model's mean enumerated.
        let likelihood = descend(&lesson, steps, |theta| {
            let mut gradient = vec![[0.0; LANES]; lesson.blocks];
            let model_distribution = lesson.distribution(theta);
            lesson.with(theta, |model| {
                for ((x, p), q) in states.iter().zip(&distribution).zip(model_distribution) {
                    let (words, mut cache) = (lesson.pack(x), vec![[0; LANES]; model.cache_len()]);
                    let x = Packed::new(lesson.layout, &words).unwrap();
                    model.init(x, &mut cache).unwrap();
                    model.accumulate(x, &cache, (p - q) as f32, &mut gradient);
                }
            });
            lesson.natural(&gradient)
        });
        let mut learned = |objective: &dyn Fn(&[f64], &mut LaneRng) -> Vec<f64>| {
            descend(&lesson, steps, |theta| objective(theta, &mut rng))
        };
        let sigmoid =
            learned(&|theta, rng| population(&lesson, &distribution, theta, (&RatioMatching::SIGMOID, 1), rng));
        let pseudo =
            learned(&|theta, rng| population(&lesson, &distribution, theta, (&PseudoLikelihood, 1), rng));
        let guided = Importance::ratio_matching(3).unwrap();
        let guided = learned(&|theta, rng| population(&lesson, &distribution, theta, (&guided, times), rng));
        // Exact gradients end where f32 rounds them to noise, 10⁻⁵; a relative 10⁻⁴ of parameters of size 1 and a
        // curvature of .05 allow 2·10⁻³. Drawn ones carry what Adam makes of their noise, a few parts in a hundred.
        for (name, found, within) in [
            ("likelihood", &likelihood, 2e-3),
            ("ratio matching", &sigmoid, 2e-3),
            ("pseudo-likelihood", &pseudo, 2e-3),
            ("importance", &guided, 2e-2),
        ] {
            let off = distance(found, truth);
            println!("{sites} sites, {name}: off by {off:.5}");
            assert!(off <= within, "{sites} sites, {name}: off by {off}");
        }
        let quarter: Vec<f64> = truth.iter().map(|t| 0.25 * t).collect();
        let ratio =
            learned(&|theta, rng| population(&lesson, &distribution, theta, (&RatioMatching::RATIO, 1), rng));
        println!("{sites} sites, Eq. 3: off a quarter by {:.5}", distance(&ratio, &quarter));
        assert!(distance(&ratio, &quarter) <= 2e-3 && distance(&ratio, truth) > 0.1);
        let basic = Importance::basic(3).unwrap();
        let basic = learned(&|theta, rng| population(&lesson, &distribution, theta, (&basic, times), rng));
        println!("{sites} sites, basic: off a quarter by {:.5}", distance(&basic, &quarter));
        assert!(distance(&basic, &quarter) <= 2e-2);
        let advanced = Importance::advanced(3).unwrap();
        let advanced =
            learned(&|theta, rng| population(&lesson, &distribution, theta, (&advanced, times), rng));
        // The share of the truth, by least squares: of Eq. 3 a quarter.
        let share = |found: &[f64]| {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            dot(found, truth) / dot(truth, truth)
        };
        let (basic, advanced) = (share(&basic), share(&advanced));
        println!("{sites} sites: share of the parameters {basic:.3} by basic, {advanced:.3} by advanced");
        assert!((basic - 0.25).abs() < 0.02 && advanced < 0.22, "{sites} sites: {basic}, {advanced}");
    });
}

/// CD-4 and PCD from four samples: the gradient and the loss of each, and where the persistent chains are.
fn contrasts(lesson: &Lesson) -> (Vec<f64>, Vec<f64>, [f32; 2], Vec<u32>) {
    let (mut source, kernel) = (Source::new(4), Langevin::adjusted(0.4).unwrap());
    let samples: Vec<_> = (0..4).map(|_| lesson.pack(&lesson.state(&mut source))).collect();
    let (mut words, state) = (samples.concat(), |words| Packed::new(lesson.layout, words).unwrap());
    lesson.with(&lesson.theta, |model| {
        let (mut memory, mut rng) = (heap::memory(model), LaneRng::seed_from_u64(2));
        let mut replay = Replay::new(lesson.layout, &mut words).unwrap();
        let (mut short, mut long) = (vec![[7.0; LANES]; lesson.blocks], vec![[7.0; LANES]; lesson.blocks]);
        let mut divergence = Contrast::new(model, 4, 4, &mut short).unwrap();
        let mut persistent = Contrast::new(model, 4, 4, &mut long).unwrap();
        for (index, x) in samples.iter().enumerate() {
            divergence.diverge(model, state(x), (&kernel, 4), &mut memory, &mut rng).unwrap();
            persistent.data(model, state(x), &mut memory).unwrap();
            persistent.persist(model, (&mut replay, index), (&kernel, 9), &mut memory, &mut rng).unwrap();
        }
        let losses = [divergence.finish().loss, persistent.finish().loss];
        (lesson.natural(&short), lesson.natural(&long), losses, replay.words().to_vec())
    })
}

/// A million samples, each with bit 0, of a model without parameters: the gradient is −1 there. Adding 10⁻⁶ to a float
/// a million times gives −1.009. And only the ratio of samples to chains is announced.
#[test]
fn a_gradient_does_not_depend_on_how_many_are_announced() {
    let layout = Layout::binary(2);
    let theta = vec![[0.0; LANES]; Boltzmann::parameter_len(2)];
    let mut compiled = vec![[0; LANES]; Boltzmann::memory_len(2)];
    let model = Boltzmann::bits(&theta, 2, &mut compiled).unwrap();
    let (mut memory, mut rng) = (heap::memory(&model), LaneRng::seed_from_u64(1));
    let x = Packed::new(layout, &[1]).unwrap();
    let mut gradient = theta.clone();
    let mut many = Contrast::new(&model, 1_000_000, 1, &mut gradient).unwrap();
    (0..1_000_000).for_each(|_| many.data(&model, x, &mut memory).unwrap());
    assert_eq!(many.finish().samples, 1_000_000);
    assert!((gradient[0][0] + 1.0).abs() < 1e-6, "{gradient:?}");
    let kernel = Gibbs::systematic();
    let [few, all] = [10, 5].map(|announced| {
        let mut gradient = theta.clone();
        rng = LaneRng::seed_from_u64(1);
        let mut contrast = Contrast::new(&model, announced, announced, &mut gradient).unwrap();
        for _ in 0..5 {
            contrast.diverge(&model, x, (&kernel, 3), &mut memory, &mut rng).unwrap();
        }
        (contrast.finish(), gradient)
    });
    assert_eq!(few, all);
    assert!(few.1[0][0] != 0.0 && few.0.faults == 0);
}

/// A kernel that does not fit the model stays where it is, and says so.
#[test]
fn faults_of_chains_are_told() {
    let theta = vec![[0.0; LANES]; Boltzmann::parameter_len(20)];
    let mut compiled = vec![[0; LANES]; Boltzmann::memory_len(20)];
    let model = Boltzmann::bits(&theta, 20, &mut compiled).unwrap();
    let (mut memory, mut rng, mut gradient) = (heap::memory(&model), LaneRng::seed_from_u64(1), theta.clone());
    let short = [[1.0; LANES]];
    let kernel = Langevin::new(0.5, Curvature::Each(&short), true).unwrap();
    let mut contrast = Contrast::new(&model, 1, 1, &mut gradient).unwrap();
    let x = Packed::new(Layout::binary(20), &[5]).unwrap();
    contrast.diverge(&model, x, (&kernel, 50), &mut memory, &mut rng).unwrap();
    assert_eq!(contrast.finish().faults, 50);
}

/// Parameters on the grid of 1/64 have exact energies, whichever way they are summed: the chains and all sums over
/// four samples are equal bit for bit.
#[test]
fn chains_of_a_function_of_ones_own_are_those_of_the_built_in_model() {
    for (sites, spins) in [15, 16, 17, 40].into_iter().flat_map(|sites| [(sites, false), (sites, true)]) {
        let truth = contrasts(&Lesson::boltzmann(sites, spins, 0.5, 9));
        assert_eq!(contrasts(&Lesson::own(sites, spins, 0.5, 9, false)), truth, "{sites} {spins}");
        // The wrong ∂E/∂θ has the same chains and another gradient.
        let broken = contrasts(&Lesson::own(sites, spins, 0.5, 9, true));
        assert_eq!((broken.2, &broken.3), (truth.2, &truth.3));
        assert!(broken.0 != truth.0 && broken.1 != truth.1, "{sites} {spins}");
    }
}

/// The largest error of parameters that each objective learns from the exact population of the true ones.
fn errors(lesson: &Lesson) -> [f64; 3] {
    let (distribution, mut rng) = (lesson.distribution(&lesson.theta), LaneRng::seed_from_u64(5));
    let mut learn = |see: &dyn Fn(&[f64], &mut LaneRng) -> Vec<f64>| {
        distance(&descend(lesson, 1500, |theta| see(theta, &mut rng)), &lesson.theta)
    };
    let guided = Importance::ratio_matching(3).unwrap();
    [
        learn(&|theta, rng| population(lesson, &distribution, theta, (&PseudoLikelihood, 1), rng)),
        learn(&|theta, rng| population(lesson, &distribution, theta, (&RatioMatching::SIGMOID, 1), rng)),
        learn(&|theta, rng| population(lesson, &distribution, theta, (&guided, 32), rng)),
    ]
}

/// The bounds are those of `consistent_objectives_find_the_parameters_of_an_exact_population`.
#[test]
fn a_function_of_ones_own_learns_the_parameters_of_an_exact_population() {
    let [built_in, own, broken] = [
        errors(&Lesson::boltzmann(4, false, 0.5, 24)),
        errors(&Lesson::own(4, false, 0.5, 24, false)),
        errors(&Lesson::own(4, false, 0.5, 24, true)),
    ];
    println!("built in {built_in:.5?}, own {own:.5?}, broken {broken:.5?}");
    for (index, within) in [2e-3, 2e-3, 2e-2].into_iter().enumerate() {
        assert!(built_in[index] <= within && own[index] <= within, "{index}: {built_in:?} {own:?}");
        assert!(broken[index] > 5.0 * within, "{index}: {broken:?}");
    }
}

/// At any rate a number whose gradient is 0 stays, and the others move.
#[test]
fn the_largest_rate_moves_nothing_without_a_gradient() {
    let mut moments = [[0.0; LANES]; 2];
    let mut adam = Adam::new(&mut moments, f32::MAX).unwrap();
    let mut theta = [[0.25; LANES]];
    let mut gradient = [[0.0; LANES]];
    gradient[0][0] = 1.0;
    for _ in 0..3 {
        adam.step(&gradient, &mut theta);
        assert!(theta[0][0] < -1e37 && theta[0][1..] == [0.25; LANES - 1], "{theta:?}");
    }
}

#[test]
fn optimisers_are_their_formulas() {
    let mut source = Source::new(4);
    let mut moments = [[9.0; LANES]; 4];
    let mut adam = Adam::new(&mut moments, 0.01).unwrap();
    let (mut theta, mut truth) = ([[0.0; LANES]; 2], vec![0.0f64; 32]);
    let (mut m, mut v) = (vec![0.0; 32], vec![0.0; 32]);
    for t in 1..=50 {
        let mut gradient = [[0.0f32; LANES]; 2];
        gradient.as_flattened_mut().iter_mut().for_each(|g| *g = source.normal(3.0));
        adam.step(&gradient, &mut theta);
        for (k, &g) in gradient.as_flattened().iter().enumerate() {
            let g = f64::from(g);
            m[k] = 0.9 * m[k] + 0.1 * g;
            v[k] = 0.999 * v[k] + 0.001 * g * g;
            let (first, second) = (m[k] / (1.0 - 0.9f64.powi(t)), v[k] / (1.0 - 0.999f64.powi(t)));
            truth[k] -= 0.01 * first / (second.sqrt() + 1e-8);
        }
    }
    let found: Vec<f64> = theta.as_flattened().iter().map(|&t| f64::from(t)).collect();
    // 1 − .999ᵗ has a relative error of t roundings over t/1000.
    assert!(deviation(&found, &truth) < 1000.0 * ROUNDING, "{}", deviation(&found, &truth));

    // Resumed, it goes on bit for bit; a gradient that is not finite is passed over and counted.
    let (kept, powers) = adam.state();
    let mut kept = kept.to_vec();
    let mut other = Adam::resume(&mut kept, powers, 0.01).unwrap();
    let mut again = theta;
    let mut gradient = [[0.5; LANES]; 2];
    gradient[1][3] = f32::NAN;
    assert_eq!(adam.skipped(), 0);
    adam.step(&gradient, &mut theta);
    other.step(&gradient, &mut again);
    assert_eq!(theta, again);
    assert_eq!((adam.skipped(), theta[1][3]), (1, found[19] as f32));
    for bad in [0.0, -1e-8, 1e-40, f32::INFINITY] {
        let refused = Adam::new(&mut kept.clone(), 0.01).unwrap().with(0.9, 0.999, bad).unwrap_err();
        assert_eq!(refused, RateError::Epsilon(bad));
    }
    // From what no optimiser has been it does not go on: it would make θ NaN.
    for power in [f32::NAN, 1.5, -0.1] {
        for powers in [(power, 0.5), (0.5, power)] {
            let refused = Adam::resume(&mut kept, powers, 0.01).unwrap_err();
            assert!(matches!(refused, RateError::Power(said) if said.to_bits() == power.to_bits()));
        }
    }
    for (index, value) in [(3, f32::NAN), (20, -1.0), (35, f32::INFINITY)] {
        let mut wrong = kept.clone();
        wrong.as_flattened_mut()[index] = value;
        assert_eq!(Adam::resume(&mut wrong, powers, 0.01).unwrap_err(), RateError::Moment { index });
        assert!(Adam::new(&mut wrong, 0.01).is_ok(), "what is in the memory does not matter to a new one");
    }

    let mut theta = [[1.0; LANES]];
    Sgd::new(0.25).unwrap().step(&[[2.0; LANES]], &mut theta);
    assert_eq!(theta, [[0.5; LANES]]);
}

#[test]
fn penalties_and_limits_are_their_formulas() {
    let mut theta = [[0.0; LANES]];
    (theta[0][0], theta[0][1]) = (2.0, -0.5);
    let mut gradient = [[1.0; LANES]];
    assert_eq!(lasso(0.5, &theta, &mut gradient), 1.25);
    assert_eq!((gradient[0][0], gradient[0][1], gradient[0][2]), (1.5, 0.5, 1.0));
    let mut gradient = [[1.0; LANES]];
    assert_eq!(decay(0.5, &theta, &mut gradient), 0.25 * 4.25);
    assert_eq!((gradient[0][0], gradient[0][1], gradient[0][2]), (2.0, 0.75, 1.0));

    let mut gradient = [[0.0; LANES]];
    assert_eq!(clip(1.0, &mut gradient), 0.0);
    (gradient[0][0], gradient[0][5]) = (3.0, -4.0);
    assert!((f64::from(clip(10.0, &mut gradient)) - 5.0).abs() < 5.0 * 4.0 * ROUNDING);
    assert_eq!((gradient[0][0], gradient[0][5]), (3.0, -4.0));
    clip(1.0, &mut gradient);
    assert!((f64::from(gradient[0][0]) - 0.6).abs() < 4.0 * ROUNDING);
    assert!((f64::from(gradient[0][5]) + 0.8).abs() < 4.0 * ROUNDING);
    // Squares overflow, norms do not.
    (gradient[0][0], gradient[0][5]) = (3e30, -4e30);
    assert!((clip(1.0, &mut gradient) / 5e30 - 1.0).abs() < 1e-6);
    assert!((gradient[0][5] + 0.8).abs() < 1e-6);
    // Where the factor is a subnormal number, and where it is 0.
    for (value, limit) in [(3e38, 1e-6), (1e38, 1e-3), (-2e38, 1e-8), (1e-40, 0.0), (1e38, 0.0)] {
        gradient = [[0.0; LANES]];
        (gradient[0][0], gradient[0][5]) = (value, value);
        clip(limit, &mut gradient);
        let truth = f64::from(limit).copysign(value.into()) * 0.5f64.sqrt();
        assert!((f64::from(gradient[0][5]) - truth).abs() <= 1e-6 * truth.abs(), "{value} {limit}");
    }
    gradient[0][2] = f32::INFINITY;
    assert!(clip(1.0, &mut gradient).is_nan());
}

#[test]
fn contrast_is_data_against_the_ends_of_chains() {
    let lesson = Lesson::rbm(20, 9, 0.5, 6);
    let mut source = Source::new(1);
    let samples: Vec<_> = (0..3).map(|_| lesson.pack(&lesson.state(&mut source))).collect();
    let state = |words| Packed::new(lesson.layout, words).unwrap();
    let kernel = Langevin::adjusted(0.3).unwrap();
    lesson.with(&lesson.theta, |model| {
        let (mut memory, mut rng) = (heap::memory(model), LaneRng::seed_from_u64(2));
        let mut gradient = vec![[1.0; LANES]; lesson.blocks];
        // Chains of no steps end where they start.
        let mut still = Contrast::new(model, 3, 3, &mut gradient).unwrap();
        for x in &samples {
            still.diverge(model, state(x), (&kernel, 0), &mut memory, &mut rng).unwrap();
        }
        let report = still.finish();
        assert_eq!((report.loss, report.samples, report.evaluations), (0.0, 3, 6));
        assert!(lesson.natural(&gradient).iter().all(|g| g.abs() < 4.0 * ROUNDING));

        // Persistent chains: the buffer goes on, and the gradient is that of its states.
        let mut words = samples.concat();
        let mut replay = Replay::new(lesson.layout, &mut words).unwrap();
        let mut contrast = Contrast::new(model, 1, 3, &mut gradient).unwrap();
        contrast.data(model, state(&samples[0]), &mut memory).unwrap();
        for chain in 0..replay.len() {
            contrast.persist(model, (&mut replay, chain), (&kernel, 7), &mut memory, &mut rng).unwrap();
        }
        let report = contrast.finish();
        let slopes = |x: Packed<'_>| {
            let x: Vec<usize> = x.values().map(|x| x as usize).collect();
            (lesson.derivative(Goal::Energy, &lesson.theta, &x), lesson.energy(&lesson.theta, &x))
        };
        let (mut truth, mut loss) = slopes(state(&samples[0]));
        for (chain, start) in samples.iter().enumerate() {
            assert_ne!(replay.state(chain).words(), start);
            let (slopes, energy) = slopes(replay.state(chain));
            truth.iter_mut().zip(slopes).for_each(|(t, s)| *t -= s / 3.0);
            loss -= energy / 3.0;
        }
        assert!(deviation(&lesson.natural(&gradient), &truth) <= PARAMETER_GRADIENT);
        assert!((f64::from(report.loss) - loss).abs() <= PARAMETER_GRADIENT * loss.abs());
        assert_eq!(report.evaluations, 1 + 3 * 8);
        // A state that the buffer has not is refused, and nothing added.
        let mut contrast = Contrast::new(model, 1, 3, &mut gradient).unwrap();
        let refused = contrast.persist(model, (&mut replay, 3), (&kernel, 7), &mut memory, &mut rng);
        assert_eq!((refused, contrast.finish().evaluations), (Err(LearnError::State(3)), 0));
        // The same chains by hand, from the same stream.
        let mut rng = LaneRng::seed_from_u64(2);
        let mut chain = heap::chain(model, &samples[0]).unwrap();
        chain.run(&kernel, &mut rng, 7, &mut ());
        assert_eq!(chain.state().words(), replay.state(0).words());
    });
}

#[test]
fn cyclical_learning_explores_once_a_cycle() {
    let schedule =
        CyclicalLearning { period: 4, large: (5.0, 0.9, 3), small: (0.2, 7), retune: 2, adjusted: false };
    let steps: Vec<u64> = (0..9).map(|iteration| schedule.at(iteration).unwrap().1).collect();
    assert_eq!(steps, [3, 7, 7, 7, 3, 7, 7, 7, 3]);
    let due: Vec<u64> = (0..20).filter(|&iteration| schedule.is_due(iteration)).collect();
    assert_eq!(due, [0, 8, 16]);
    assert!(!CyclicalLearning { retune: 0, ..schedule }.is_due(0));
    assert!(CyclicalLearning { large: (5.0, 1.5, 3), ..schedule }.at(0).is_err());
    assert!(CyclicalLearning { small: (0.0, 3), ..schedule }.at(1).is_err());
    assert_eq!(CyclicalLearning { period: 0, ..schedule }.at(5).unwrap().1, 3);
}

#[test]
fn what_cannot_be_learned_from_is_said() {
    let lesson = Lesson::boltzmann(5, true, 1.0, 1);
    lesson.with(&lesson.theta, |model| {
        let (mut memory, mut rng) = (heap::memory(model), LaneRng::seed_from_u64(1));
        let mut gradient = vec![[0.0; LANES]; lesson.blocks];
        let need = lesson.blocks;
        let short = |got| Some(LearnError::Gradient { need, got });
        assert_eq!(Minibatch::new(model, &mut gradient[1..]).err(), short(need - 1));
        assert_eq!(Contrast::new(model, 1, 1, &mut gradient[1..]).err(), short(need - 1));
        assert_eq!(Contrast::new(model, 0, 1, &mut gradient).err(), Some(LearnError::NoSamples));
        let mut batch = Minibatch::new(model, &mut gradient).unwrap();
        let x = Packed::new(Layout::binary(6), &[1]).unwrap();
        assert!(batch.add(&PseudoLikelihood, model, x, &mut memory, &mut rng).is_err());
        let x = Packed::new(Layout::binary(5), &[1]).unwrap();
        let form = Importance::basic(2).unwrap();
        let given = form.observe_given(model, x, &[1, 5], &mut memory, &mut batch);
        assert_eq!(given, Err(LearnError::Site(5)));
        assert_eq!(form.observe_given(model, x, &[], &mut memory, &mut batch), Err(LearnError::Draws(0)));
        memory.weights.pop();
        assert!(batch.add(&form, model, x, &mut memory, &mut rng).is_err());
        assert_eq!(batch.finish().samples, 0);
    });
    assert_eq!(Importance::uniform(0), Err(LearnError::Draws(0)));
    assert_eq!(Importance::advanced(65), Err(LearnError::Draws(65)));
    assert!(Replay::new(Layout::binary(40), &mut [0; 3]).is_err());
    assert!(Replay::new(Layout::binary(40), &mut []).is_err());
    assert!(Replay::new(Layout::binary(40), &mut [0, 256]).is_err());
    let mut words = [0; 4];
    let mut replay = Replay::new(Layout::binary(40), &mut words).unwrap();
    for index in [2, 1 << (usize::BITS - 1), usize::MAX] {
        assert_eq!(replay.set(index, 0, 1), Err(LearnError::State(index)));
        replay.put(index, Packed::new(Layout::binary(40), &[1, 1]).unwrap());
    }
    assert!(replay.set(1, 40, 1).is_err() && replay.set(1, 39, 2).is_err());
    assert_eq!(replay.words(), [0; 4]);
    let picked: Vec<_> = (0..40).map(|seed| replay.pick(&mut LaneRng::seed_from_u64(seed))).collect();
    assert!((0..2).all(|state| picked.contains(&state)) && picked.iter().all(|&state| state < 2));
    let potts = Lesson::sparse_potts(5, 3, 1.0, 1);
    potts.with(&potts.theta, |model| {
        let (mut memory, mut rng) = (heap::memory(model), LaneRng::seed_from_u64(1));
        let (words, mut gradient) = (potts.pack(&[0; 5]), vec![[0.0; LANES]; potts.blocks]);
        let x = Packed::new(potts.layout, &words).unwrap();
        let mut batch = Minibatch::new(model, &mut gradient).unwrap();
        let refused = batch.add(&RatioMatching::SIGMOID, model, x, &mut memory, &mut rng);
        assert_eq!(refused, Err(LearnError::NotBinary));
        let form = Importance::ratio_matching(1).unwrap();
        assert_eq!(batch.add(&form, model, x, &mut memory, &mut rng), Err(LearnError::NotBinary));
    });
    let theta = [[0.0; LANES]; 2];
    let mut room = heap::Couplings::new(4, 2);
    for (edges, error) in [
        ([(1, 0), (1, 2)], SparseError::Unsorted { site: 1 }),
        ([(0, 2), (0, 1)], SparseError::Unsorted { site: 0 }),
        ([(0, 1), (0, 1)], SparseError::Unsorted { site: 0 }),
        ([(1, 1), (2, 3)], SparseError::Diagonal { edge: 0 }),
        ([(0, 1), (0, 4)], SparseError::OutOfRange { edge: 1 }),
    ] {
        assert_eq!(SparseIsing::spins(&theta, 4, &edges, room.borrow()).err(), Some(error), "{edges:?}");
    }
    assert!(SparseIsing::bits(&theta[1..], 4, &[(0, 1), (2, 3)], room.borrow()).is_err());
    assert!(SparsePotts::new(&theta, (4, 5), &[(0, 1), (2, 3)], room.borrow()).is_err());
    let mut odd: [Block; 1] = [[0.0; LANES]];
    assert!(Adam::new(&mut odd, 0.1).is_err());
    for rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(Sgd::new(rate).is_err() && Adam::new(&mut [], rate).is_err());
    }
    assert!(Adam::new(&mut [], 0.1).unwrap().with(1.0, 0.9, 1e-8).is_err());
    assert!(Adam::new(&mut [], 0.1).unwrap().with(0.9, 0.9, 0.0).is_err());
}

#[test]
fn dense_couplings_that_are_none_are_refused() {
    let mut memory = [[0; LANES]; Boltzmann::memory_len(3)];
    let mut theta = [[0.0; LANES]; Boltzmann::parameter_len(3)];
    assert!(Boltzmann::spins(&theta, 0, &mut memory).is_err());
    let wrong = Boltzmann::bits(&theta[1..], 3, &mut memory).unwrap_err();
    assert_eq!(wrong, SparseError::Parameters { need: theta.len(), got: theta.len() - 1 });
    for (place, value, error) in [
        (Boltzmann::coupling(3, 1, 2).unwrap(), f32::NAN, SparseError::PairNotFinite { a: 1, b: 2 }),
        (2, f32::INFINITY, SparseError::FieldNotFinite { site: 2 }),
        (1, 2e30, SparseError::TooLarge { site: 1 }),
    ] {
        let mut bad = theta;
        bad.as_flattened_mut()[place] = value;
        assert_eq!(Boltzmann::bits(&bad, 3, &mut memory).unwrap_err(), error);
        assert_eq!(Boltzmann::spins(&bad, 3, &mut memory).unwrap_err(), error);
    }
    assert!(Boltzmann::spins(&theta, 3, &mut memory[1..]).is_err());
    for bad in [f32::NAN, f32::INFINITY, 1e31] {
        let place = Boltzmann::coupling(3, 2, 1).unwrap();
        theta.as_flattened_mut()[place] = bad;
        assert!(Boltzmann::spins(&theta, 3, &mut memory).is_err());
        theta.as_flattened_mut()[place] = 0.0;
        theta.as_flattened_mut()[2] = bad;
        assert!(Boltzmann::bits(&theta, 3, &mut memory).is_err());
        theta.as_flattened_mut()[2] = 0.0;
    }
    assert_eq!((Boltzmann::coupling(3, 1, 1), Boltzmann::coupling(3, 0, 3)), (None, None));
    // What is no parameter is not read.
    theta[0][7] = f32::NAN;
    assert!(Boltzmann::spins(&theta, 3, &mut memory).is_ok());
}

#[test]
fn stuck_generators_end_and_leave_numbers() {
    let lesson = Lesson::rbm(20, 5, 0.5, 3);
    for (name, mut rng) in Stuck::all() {
        lesson.with(&lesson.theta, |model| {
            let (mut memory, words) = (heap::memory(model), lesson.pack(&[1; 20]));
            let mut gradient = vec![[0.0; LANES]; lesson.blocks];
            let mut batch = Minibatch::new(model, &mut gradient).unwrap();
            let x = Packed::new(lesson.layout, &words).unwrap();
            for form in [Importance::ratio_matching(64), Importance::uniform(3), Importance::basic(1)] {
                batch.add(&form.unwrap(), model, x, &mut memory, &mut rng).unwrap();
            }
            assert_eq!(batch.finish().samples, 3, "{name}");
            assert!(lesson.natural(&gradient).iter().all(|g| g.is_finite()), "{name}");
        });
    }
}
