use super::*;
use bitmc::stats::Evidence;
use bitmc::temper::{Replica, forward};
use bitmc::{Layout, SeedableRng};
use bitmc_desktop::learn::{Annealing, measure};

/// The network again, naively: in float64, pixel by pixel, over numbers instead of bits.
struct Reference {
    shape: Shape,
    logits: Vec<f64>,
    theta: Vec<f64>,
}

/// A picture: side, channels, and the numbers.
type Plain = (usize, usize, Vec<f64>);

fn swish(z: f64) -> f64 {
    z / (1.0 + (-z).exp())
}

impl Reference {
    fn new(shape: &Shape, logits: &[f32], theta: &[Block]) -> Self {
        let wide = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect();
        Self { shape: shape.clone(), logits: wide(logits), theta: wide(theta.as_flattened()) }
    }

    /// One convolution with the next parameters.
    fn convolution(
        &self,
        at: &mut usize,
        (side, from, x): &Plain,
        (width, to, stride): (usize, usize, usize),
    ) -> Plain {
        let out = side.div_ceil(stride);
        let bias = *at + width * width * from * to;
        let mut y = Vec::new();
        for (row, column) in (0..out).flat_map(|row| (0..out).map(move |column| (row, column))) {
            for channel in 0..to {
                let mut sum = self.theta[bias + channel];
                for (i, j) in (0..width).flat_map(|i| (0..width).map(move |j| (i, j))) {
                    let (r, c) = (row * stride + i, column * stride + j);
                    let half = width / 2;
                    if r < half || c < half || r >= side + half || c >= side + half {
                        continue;
                    }
                    for k in 0..*from {
                        let weight = self.theta[*at + ((i * width + j) * from + k) * to + channel];
                        sum += weight * x[((r - half) * side + c - half) * from + k];
                    }
                }
                y.push(sum);
            }
        }
        *at = bias + to;
        (out, to, y)
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let swished = |(side, channels, z): Plain| (side, channels, z.into_iter().map(swish).collect());
        let mut at = 0;
        let (width, stride) = self.shape.entry;
        let entry = (self.shape.side, 1, x.to_vec());
        let mut h: Plain = swished(self.convolution(&mut at, &entry, (width, self.shape.channels, stride)));
        for &(to, stride) in &self.shape.blocks {
            let inner = swished(self.convolution(&mut at, &h, (3, to, stride)));
            let outer = self.convolution(&mut at, &inner, (3, to, 1));
            let short =
                if h.1 != to || stride != 1 { self.convolution(&mut at, &h, (1, to, stride)) } else { h };
            let sums = outer.2.iter().zip(&short.2).map(|(a, b)| a + b).collect();
            h = swished((outer.0, to, sums));
        }
        let (side, channels, h) = h;
        let head = self.theta[at..at + channels].iter().cycle();
        let net = head.zip(&h).map(|(head, h)| head * h).sum::<f64>() / (side * side) as f64;
        let base = self.logits.iter().zip(x).map(|(l, x)| l * x - l.exp().ln_1p());
        -(base.sum::<f64>() + net)
    }

    /// The mean of −ln p of some states, by a sum over all states.
    fn loss(&self, data: &[usize]) -> f64 {
        let energies: Vec<f64> = (0..512).map(|state| self.energy(&numbers(state))).collect();
        let z = energies.iter().map(|e| (-e).exp()).sum::<f64>();
        data.iter().map(|&state| energies[state]).sum::<f64>() / data.len() as f64 + z.ln()
    }
}

const TOY: Layout = Layout::binary(9);

fn numbers(state: usize) -> Vec<f64> {
    (0..9).map(|site| f64::from((state >> site & 1) as u8)).collect()
}

fn toy() -> Shape {
    Shape::three_blocks(3, 4, 6)
}

/// Rows, columns and diagonals of a square of nine, each with one pixel changed in part of the samples.
fn data() -> Split {
    crate::one_thread_a_product();
    let mut rng = LaneRng::seed_from_u64(7);
    let mut rows = BitRows::new(TOY);
    for number in 0..400 {
        let figure = [0b111_000_000, 0b000_111_000, 0b000_000_111, 0b001_010_100, 0b100_010_001][number % 5];
        let noise = bitmc::Rng::next_u32(&mut rng) % 18;
        let word = if noise < 9 { figure ^ 1 << noise } else { figure };
        rows.push(Packed::new(TOY, &[word]).unwrap());
    }
    Split::new(&rows, 80).unwrap()
}

fn states(rows: &BitRows) -> Vec<usize> {
    rows.rows().map(|row| row[0] as usize).collect()
}

/// Random parameters under which energies differ by some units.
fn rough(shape: &Shape, seed: u64) -> Vec<Block> {
    let mut theta = shape.start(&mut LaneRng::seed_from_u64(seed));
    for (index, value) in theta.as_flattened_mut()[..shape.parameters()].iter_mut().enumerate() {
        *value = 1.5 * *value + 0.1 * (index as f32).sin();
    }
    theta
}

/// The largest difference, relative to numbers above 1.
fn gap(found: &[f32], need: &[f64]) -> f64 {
    assert_eq!(found.len(), need.len());
    let of = |(&a, b): (&f32, &f64)| (f64::from(a) - b).abs() / b.abs().max(1.0);
    found.iter().zip(need).map(of).fold(0.0, f64::max)
}

/// Central differences of a function of numbers.
fn slopes(at: &mut [f64], of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let count = at.len();
    let mut one = |index: usize| {
        let here = at[index];
        let mut value = |x| {
            at[index] = x;
            of(at)
        };
        let slope = (value(here + 1e-5) - value(here - 1e-5)) / 2e-5;
        at[index] = here;
        slope
    };
    (0..count).map(&mut one).collect()
}

/// E, ∂E/∂x and ∂E/∂θ of the toy and of a small network with the papers' strides. The same numbers reject weights that differ by
/// a hundredth in one place.
#[test]
fn energies_and_gradients_are_those_of_float64() {
    let papers = Shape { side: 6, entry: (3, 1), channels: 3, blocks: vec![(3, 2), (3, 2), (4, 1), (4, 1)] };
    for shape in [toy(), papers] {
        let sites = shape.side * shape.side;
        let logits: Vec<f32> = (0..sites).map(|site| (site as f32).cos()).collect();
        let theta = rough(&shape, 3);
        let network = Network::new(&shape, &logits, &theta).unwrap();
        let x: Vec<f32> = (0..sites).map(|site| f32::from(u8::from(site * site % 5 < 2))).collect();
        let (mut energy, mut gradient) = ([0.0], vec![0.0; sites]);
        network.evaluate(&x, &mut energy, &mut gradient).unwrap();
        let mut by_theta = vec![0.0; shape.parameters()];
        network.accumulate_all(&x, 0.5, &mut by_theta).unwrap();
        by_theta.iter_mut().for_each(|slope| *slope *= 2.0);
        // ∂ net²/∂θ = −2 net ∂E/∂θ, where −net is E less that of the independent sites.
        let base: f64 =
            logits.iter().zip(&x).map(|(l, x)| f64::from(l * x) - f64::from(*l).exp().ln_1p()).sum();
        let net = -f64::from(energy[0]) - base;
        let mut words = vec![0; Layout::binary(sites).words()];
        x.iter().enumerate().for_each(|(site, &x)| words[site / 32] |= (x as u32) << (site % 32));
        let state = Packed::new(Layout::binary(sites), &words).unwrap();
        let mut square = vec![0.0; shape.parameters()];
        network.accumulate_square(state, 0.5, &mut square).unwrap();
        let need: Vec<f64> = by_theta.iter().map(|&slope| -net * f64::from(slope)).collect();
        assert!(net.abs() > 0.1 && gap(&square, &need) < 1e-4);
        let gaps = |theta: &[Block]| {
            let mut reference = Reference::new(&shape, &logits, theta);
            let mut wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let here = gap(&energy, &[reference.energy(&wide)]);
            let by_x = slopes(&mut wide, |x| reference.energy(x));
            let mut numbers = reference.theta.clone();
            numbers.truncate(shape.parameters());
            let (shape, logits) = (shape.clone(), reference.logits.clone());
            reference.theta.clear();
            let by = slopes(&mut numbers, |theta| {
                Reference { shape: shape.clone(), logits: logits.clone(), theta: theta.to_vec() }.energy(&wide)
            });
            [here, gap(&gradient, &by_x), gap(&by_theta, &by)]
        };
        assert!(gaps(&theta).iter().all(|&gap| gap < 1e-4), "{:?}", gaps(&theta));
        let mut other = theta.clone();
        other[1][3] += 0.01;
        assert!(gaps(&other).iter().any(|&gap| gap > 1e-4), "{:?}", gaps(&other));
        let layout = Layout::binary(sites);
        let mut rows = BitRows::new(layout);
        for seed in 1..9u32 {
            let words: Vec<u32> =
                (0..layout.words() as u32).map(|word| seed.wrapping_mul(0x9E37_79B9) >> word).collect();
            let spare = 32 * layout.words() - sites;
            let words: Vec<u32> = words.iter().map(|word| word >> spare).collect();
            rows.push(Packed::new(layout, &words).unwrap());
        }
        let states = rows.rows().map(|row| Packed::new(layout, row).unwrap());
        bitmc::energy::check(&network, &mut memory(&network), states).unwrap();
    }
}

/// The matrix of a step on nine pixels keeps the distribution of the energy in float64. That of another energy is seen, and of
/// a step without the Metropolis test.
#[test]
fn steps_keep_the_distribution_of_float64() {
    let (digits, shape) = (data(), toy());
    let theta = rough(&shape, 5);
    let network = Network::new(&shape, &digits.fields, &theta).unwrap();
    let reference = Reference::new(&shape, &digits.fields, &theta);
    let weights: Vec<f64> = (0..512).map(|state| (-reference.energy(&numbers(state))).exp()).collect();
    let all: f64 = weights.iter().sum();
    let layout = Layout::binary(9);
    // The largest differences of rows from 1 and of what flows into a state from its probability.
    let worst = |kernel: &Langevin<'_>, weights: &[f64]| {
        let (mut into, mut rows) = (vec![0.0; 512], 0.0f64);
        for from in 0..512u32 {
            let words = [from];
            let start = Packed::new(layout, &words).unwrap();
            let mut chain = Chain::new(&network, memory(&network), start).unwrap();
            let (mut stays, mut sum) = (0.0, 0.0);
            for to in 0..512u32 {
                let words = [to];
                let found = kernel.transition(chain.ring(), Packed::new(layout, &words).unwrap()).unwrap();
                let (proposed, accepted) =
                    (f64::from(found.log_forward).exp(), f64::from(found.log_ratio).exp().min(1.0));
                sum += proposed;
                stays += proposed * (1.0 - accepted);
                into[to as usize] += weights[from as usize] / all * proposed * accepted;
            }
            into[from as usize] += weights[from as usize] / all * stays;
            rows = rows.max((sum - 1.0).abs());
        }
        let flows = into.iter().zip(weights).map(|(into, weight)| (into - weight / all).abs() * all / weight);
        (rows, flows.fold(0.0, f64::max))
    };
    for kernel in [Langevin::adjusted(0.4).unwrap(), Langevin::balanced(0.8, 0.7).unwrap()] {
        let (rows, flows) = worst(&kernel, &weights);
        assert!(rows < 1e-5 && flows < 1e-5, "{rows:e}, {flows:e}");
        let other: Vec<f64> =
            weights.iter().enumerate().map(|(x, w)| if x & 1 == 0 { *w } else { 1.01 * w }).collect();
        assert!(worst(&kernel, &other).1 > 1e-4, "{:?}", worst(&kernel, &other));
    }
    let (_, flows) = worst(&Langevin::unadjusted(0.4).unwrap(), &weights);
    assert!(flows > 1e-3, "{flows:e}");
}

/// Data less all states by their probability: the gradient of the loss, against differences of the exact loss in float64.
#[test]
fn the_gradient_of_the_loss_is_that_of_the_likelihood() {
    let (digits, shape) = (data(), toy());
    let theta = rough(&shape, 5);
    let network = Network::new(&shape, &digits.fields, &theta).unwrap();
    let reference = Reference::new(&shape, &digits.fields, &theta);
    let train = states(&digits.train);
    let x = |state| numbers(state).iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let energies: Vec<f64> = (0..512).map(|state| reference.energy(&numbers(state))).collect();
    let z = energies.iter().map(|e| (-e).exp()).sum::<f64>();
    let with = |chains: f32| {
        let mut gradient = vec![0.0; shape.parameters()];
        for &state in &train {
            network.accumulate_all(&x(state), 1.0 / train.len() as f32, &mut gradient).unwrap();
        }
        for (state, energy) in energies.iter().enumerate() {
            let weight = chains * ((-energy).exp() / z) as f32;
            network.accumulate_all(&x(state), weight, &mut gradient).unwrap();
        }
        gradient
    };
    let mut numbers = reference.theta[..shape.parameters()].to_vec();
    // Each fifth of them: a loss takes 512 energies.
    let one = |index: usize| {
        let mut at = |by: f64| {
            let here = numbers[index];
            numbers[index] = here + by;
            let theta = numbers.clone();
            numbers[index] = here;
            Reference { shape: shape.clone(), logits: reference.logits.clone(), theta }.loss(&train)
        };
        (at(1e-4) - at(-1e-4)) / 2e-4
    };
    let need: Vec<f64> = (0..shape.parameters()).step_by(5).map(one).collect();
    let some = |gradient: Vec<f32>| gradient.into_iter().step_by(5).collect::<Vec<f32>>();
    let (right, wrong) = (gap(&some(with(-1.0)), &need), gap(&some(with(1.0)), &need));
    assert!(right < 1e-4 && wrong > 1e-2, "{right}, {wrong}");
}

/// ln Z of the toy by both directions, against the sum over its 512 states. Runs whose temperatures end at 0.9 are rejected.
#[test]
fn annealing_finds_the_sum_over_all_states() {
    let (digits, shape) = (data(), toy());
    let mut theta = rough(&shape, 11);
    // The energies of the net are to matter.
    let head = shape.parameters() - 6..shape.parameters();
    theta.as_flattened_mut()[head].iter_mut().for_each(|slot| *slot *= 20.0);
    let network = Network::new(&shape, &digits.fields, &theta).unwrap();
    let exact = Reference::new(&shape, &digits.fields, &theta);
    let log_z = (0..512).map(|state| (-exact.energy(&numbers(state))).exp()).sum::<f64>().ln();
    assert!(log_z.abs() > 0.5, "a net that hardly matters: {log_z}");
    let annealing = Annealing { seed: 5, runs: 200, betas: 60, sweeps: 200, step_size: 0.35, power: 4 };
    let kernel = Langevin::adjusted(0.3).unwrap();
    let (found, _) = measure(&network, &digits, annealing, &kernel).unwrap();
    let near = |mean: f64, error: f64| error < 0.2 && (mean - log_z).abs() < 4.0 * error;
    for found in [found.log_z_forward, found.log_z_reverse] {
        assert!(near(found.mean, found.standard_error), "{found:?}, {log_z}");
    }
    let data = states(&digits.test);
    let exact = -exact.loss(&data);
    assert!((found.test_forward.mean - exact - (log_z - found.log_z_forward.mean)).abs() < 1e-3);
    let until = |last: f32| {
        let path = Tempered::from_base(&network, &digits.fields, 1.0).unwrap();
        let mut rng = LaneRng::seed_from_u64(3);
        let mut replica = Replica::random(path, memory(&path), &mut rng).unwrap();
        let mut evidence = Evidence::new();
        for _ in 0..1000 {
            let betas = (1..=60).map(|k| last * k as f32 / 60.0);
            evidence.add(forward(&mut replica, betas, 1, |_| kernel, &mut rng).unwrap());
        }
        let mean = path.base().log_z() + evidence.log_z();
        (f64::from(mean), f64::from(evidence.relative_error()))
    };
    let (right, wrong) = (until(1.0), until(0.9));
    assert!(near(right.0, right.1) && !near(wrong.0, wrong.1), "{right:?}, {wrong:?}, {log_z}");
}

fn plan() -> Plan {
    Plan {
        seed: 1,
        shape: toy(),
        iterations: 400,
        steps: 6,
        batch: 40,
        buffer: 80,
        rate: 0.02,
        warm_up: 20,
        momentum: 0.9,
        clip: 0.0,
        penalty: 0.0,
        restarts: 0.0,
        step_size: 0.3,
        average: 0.9,
        cycle: (8, 5),
    }
}

fn exact_loss(digits: &Split, plan: &Plan, theta: &[Block]) -> f64 {
    Reference::new(&plan.shape, &digits.fields, theta).loss(&states(&digits.test))
}

/// DMALA, GWG and ACS with the Metropolis test bring −ln p of the samples held out down, by the sum over all states. The wrong sign
/// brings it up, and so does ACS as in its paper, without the test.
#[test]
fn learning_raises_the_exact_likelihood() {
    let (digits, plan) = (data(), plan());
    let nowhere = Checkpoint::default();
    let start = plan.shape.start(&mut streams(plan.seed).next().unwrap());
    let before = exact_loss(&digits, &plan, &start);
    for sampler in [Sampler::Dmala, Sampler::Gwg] {
        let lesson = learn(&digits, sampler, &plan, (&nowhere, ""), |_, _| true).unwrap();
        let after = exact_loss(&digits, &plan, &lesson.theta);
        assert!(after < before - 0.8, "{sampler:?}: {before} to {after}");
        assert!(lesson.curve.last().unwrap().gap.abs() < 1.0);
    }
    // Step sizes that were tuned on an energy of the past want an energy that changes slowly.
    let slow = Plan { rate: 0.005, ..plan.clone() };
    let cyclical = |sampler| -> f64 {
        let lesson = learn(&digits, sampler, &slow, (&nowhere, ""), |_, _| true);
        lesson.map_or(f64::INFINITY, |lesson| exact_loss(&digits, &slow, &lesson.theta))
    };
    let (tested, untested) = (cyclical(Sampler::AcsAdjusted), cyclical(Sampler::Acs));
    assert!(tested > 0.0 && tested < before - 0.8, "ACS with the test: {before} to {tested}");
    assert!(untested > before + 1.0, "ACS without the test: {before} to {untested}");
    let short = Plan { iterations: 60, ..plan };
    let lesson = descend(&digits, Sampler::Dmala, &short, (&nowhere, ""), |_, _| true, -1.0).unwrap();
    let after = exact_loss(&digits, &short, &lesson.theta);
    assert!(after > before + 0.2, "the wrong sign: {before} to {after}");
}

fn same(one: &Lesson, two: &Lesson) -> bool {
    let plain = |lesson: &Lesson| Lesson { milliseconds: 0, ..lesson.clone() };
    plain(one) == plain(two)
}

/// A run that is killed goes on from its checkpoint with the same numbers; with one thread as with two. Another seed has others,
/// and another question is refused.
#[test]
fn a_run_that_was_killed_goes_on() {
    let (digits, plan) = (data(), Plan { iterations: 60, ..plan() });
    let folder = std::env::temp_dir().join(format!("bitmc-deep-learn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for &sampler in Sampler::value_variants() {
        let whole = learn(&digits, sampler, &plan, (&Checkpoint::default(), ""), |_, _| true).unwrap();
        let file = folder.join(format!("{sampler:?}"));
        let at = |resume| Checkpoint::at(file.clone(), 7, resume);
        let mut left = 45;
        let killed = |_, _: &Point| {
            left -= 1;
            left > 0
        };
        let part = learn(&digits, sampler, &plan, (&at(false), "a; b"), killed).unwrap();
        assert!(!same(&whole, &part));
        assert!(learn(&digits, sampler, &plan, (&at(true), "a; c"), |_, _| true).is_err());
        let mut steps = 0;
        let on = |_, _: &Point| {
            steps += 1;
            true
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let resumed = pool.install(|| learn(&digits, sampler, &plan, (&at(true), "a; b"), on)).unwrap();
        assert_eq!(steps, 60 - 42);
        assert!(same(&whole, &resumed), "{sampler:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let one = pool.install(|| learn(&digits, sampler, &plan, (&Checkpoint::default(), ""), |_, _| true));
        assert!(same(&whole, &one.unwrap()), "{sampler:?}");
        let other = Plan { seed: 2, ..plan.clone() };
        let other = learn(&digits, sampler, &other, (&Checkpoint::default(), ""), |_, _| true).unwrap();
        assert!(!same(&whole, &other));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// ACS takes half the steps in the first iteration of a cycle, and tunes when it is due.
#[test]
fn acs_honours_its_schedule() {
    let (digits, plan) = (data(), Plan { iterations: 90, ..plan() });
    let lesson = learn(&digits, Sampler::Acs, &plan, (&Checkpoint::default(), ""), |_, _| true).unwrap();
    // Cycles of 8 iterations: 12 begin, and 40 iterations lie between two tunings of 200 steps of eight chains for each end.
    let steps = 12 * 3 + (90 - 12) * 6;
    let each = 2 * 200 * 8;
    assert!(lesson.tuning >= 3 * each && lesson.tuning.is_multiple_of(each), "{}", lesson.tuning);
    assert_eq!(lesson.evaluations, (steps + 2 * 90) * 40 + lesson.tuning);
    let ends = lesson.curve.last().unwrap().ends;
    assert!(ends.0 >= 0.05 && ends.1 >= ends.0 && ends.1 <= 5.0, "{ends:?}");
}
