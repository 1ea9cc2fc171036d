//! W by least squares, and (σ, α, κ) adapted: what they find where it is known.

use bitmc::lane::LANES;
use bitmc::noise::{
    Adaptation, DenseMatrix, Edgewise, Parameters, Regression, SparseMatrix, Symmetric, guided_balance,
};
use bitmc::tune::RateTuner;
use bitmc::{Chain, Energy, Info, Ising, LaneRng, Langevin, Move, Packed, SeedableRng, torus};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::lattice::Quadratic;

/// The largest error of an estimated W after `steps` of burn-in, relative to the largest entry of the truth.
fn estimate(energy: &impl Energy, truth: &impl Symmetric, steps: u32, step_size: f32, ridge: f32) -> f64 {
    let sites = truth.sites();
    let mut memory = vec![[7.0; LANES]; Regression::blocks(sites)];
    let mut regression = Regression::new(sites, &mut memory).unwrap();
    let mut rng = LaneRng::seed_from_u64(8);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    let sampler = Langevin::adjusted(step_size).unwrap();
    for _ in 0..steps {
        let before = chain.state().words().to_vec();
        let before = Packed::new(energy.layout(), &before).unwrap();
        chain.step(&sampler, &mut rng);
        let step = Move::new(before, chain.state()).unwrap();
        regression
            .push(&step, &heap::gradient(energy, before), &heap::gradient(energy, chain.state()))
            .unwrap();
    }
    assert_eq!(regression.moves(), steps);
    let mut rows = vec![[7.0; LANES]; DenseMatrix::blocks(sites)];
    let mut scratch = vec![[7.0; LANES]; 3 * DenseMatrix::blocks(sites)];
    assert_eq!(regression.solve(ridge, 1, &mut rows, &mut scratch).unwrap().iterations, 1);
    let fit = regression.solve(ridge, 400, &mut rows, &mut scratch).unwrap();
    assert!((2..400).contains(&fit.iterations), "{fit:?}");
    assert!(fit.residual < 1e-3, "{fit:?}");
    let found = DenseMatrix::new(sites, &rows).unwrap();
    let mut full = vec![[0.0; LANES]; DenseMatrix::blocks(sites)];
    let truth = DenseMatrix::of(truth, &mut full).unwrap();
    let (mut error, mut largest) = (0.0f64, 0.0f64);
    for a in 0..sites {
        for b in 0..sites {
            error = error.max(f64::from(found.get(a, b) - truth.get(a, b)).abs());
            largest = largest.max(f64::from(truth.get(a, b)).abs());
        }
    }
    println!("{sites} sites, {steps} steps: {fit:?}, error {}", error / largest);
    error / largest
}

#[test]
fn least_squares_find_the_w_of_a_quadratic_energy() {
    // Moves explain the gradients exactly: what is left is the ridge's bias, of its own size times the mean
    // moment over the smallest one, and the residual of the solution.
    let mut memory = Couplings::new(36, 72);
    let ising = Ising::spins_edges_once(36, torus(6, 6, 0.25), &[0.1; 36], memory.borrow()).unwrap();
    let matrix = SparseMatrix::of(ising.form());
    assert!(estimate(&ising, &matrix, 3000, 0.4, 1e-4) < 1e-2);
    // Negative control: a tenth of the sites have hardly moved, and the ridge holds W near 0 there.
    assert!(estimate(&ising, &matrix, 5, 0.4, 1e-4) > 0.1);

    let model = Quadratic::random(20, 9, 0.3, 0.1, true, 4);
    let mut memory = Couplings::new(20, 190);
    let gaussian = model.sparse(&mut memory).unwrap();
    assert!(estimate(&gaussian, &gaussian.precision(), 3000, 2.0, 1e-4) < 1e-2);
}

#[test]
fn a_regression_of_nothing_is_zero() {
    let mut memory = vec![[7.0; LANES]; Regression::blocks(3)];
    let regression = Regression::new(3, &mut memory).unwrap();
    let mut rows = vec![[7.0; LANES]; DenseMatrix::blocks(3)];
    let fit = regression.solve(1e-3, 10, &mut rows, &mut vec![[0.0; LANES]; 9]).unwrap();
    assert_eq!((fit.residual, fit.iterations), (0.0, 0));
    assert_eq!(rows, vec![[0.0; LANES]; 3]);
    assert!(regression.solve(1e-3, 10, &mut rows[..2], &mut vec![[0.0; LANES]; 9]).is_err());
    assert!(regression.solve(1e-3, 10, &mut rows, &mut vec![[0.0; LANES]; 8]).is_err());
    assert!(Regression::new(3, &mut vec![[0.0; LANES]; 5]).is_err());
    assert!(Regression::new(0, &mut []).is_err());
}

/// A tuner's two functions.
trait Tuner {
    fn now(&self) -> Parameters;
    fn see(&mut self, info: &Info);
}

impl Tuner for Adaptation {
    fn now(&self) -> Parameters {
        self.parameters()
    }

    fn see(&mut self, info: &Info) {
        self.observe(info);
    }
}

/// σ by acceptance rate, α by the guide for fair bits.
impl Tuner for RateTuner {
    fn now(&self) -> Parameters {
        let step_size = self.parameter();
        Parameters { step_size, balance: guided_balance(step_size, 0.25), precision: 1.0 }
    }

    fn see(&mut self, info: &Info) {
        self.observe(info);
    }
}

impl Tuner for Parameters {
    fn now(&self) -> Parameters {
        *self
    }

    fn see(&mut self, _: &Info) {}
}

/// Flips and acceptance a step over the second half, on a critical torus of 12 × 12; with the edges' noise or
/// of first order.
fn run(tuner: &mut impl Tuner, second: bool, steps: u32) -> (f64, f64) {
    let mut memory = Couplings::new(144, 288);
    let model = Ising::spins_edges_once(144, torus(12, 12, 0.4407), &[], memory.borrow()).unwrap();
    let mut d = vec![[0.0; LANES]; 9];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let mut rng = LaneRng::seed_from_u64(2);
    let mut chain: Chain<'_, Ising<'_>, _, _, _> = heap::random_chain(&model, &mut rng).unwrap();
    let (mut moved, mut accepted) = (0u32, 0u32);
    for step in 0..steps {
        let now = tuner.now();
        let info = if second {
            let kernel = Langevin::second_order(noise, now.step_size, now.balance).unwrap();
            chain.step(&kernel.precision(now.precision).unwrap(), &mut rng)
        } else {
            chain.step(&Langevin::balanced(now.step_size, now.balance).unwrap(), &mut rng)
        };
        tuner.see(&info);
        if step >= steps / 2 {
            moved += info.moved();
            accepted += u32::from(info.accepted);
        }
    }
    let half = f64::from(steps - steps / 2);
    (f64::from(moved) / half, f64::from(accepted) / half)
}

#[test]
fn adaptation_by_jump_distance_finds_long_steps() {
    // Of second order the longest jumps are at α = 1 and σ = ∞, where everything is accepted.
    let mut best = Parameters { step_size: f32::INFINITY, balance: 1.0, precision: 1.0 };
    let (most, _) = run(&mut best, true, 20_000);
    for adaptation in [Adaptation::new(Parameters::START), Adaptation::new(Parameters::START).with_precision()]
    {
        let mut adaptation = adaptation;
        let (early, _) = run(&mut Parameters::START.clone(), true, 20_000);
        run(&mut adaptation, true, 60_000);
        adaptation.freeze();
        let frozen = adaptation;
        let (flips, rate) = run(&mut adaptation, true, 20_000);
        println!(
            "{:?}: {flips} flips of {most}, at the start {early}, acceptance {rate}",
            adaptation.parameters()
        );
        assert_eq!(adaptation, frozen, "a frozen adaptation stands still");
        assert!(adaptation.is_frozen());
        // Candidates are a fifth apart, each rated by a hundred steps, whose flips have a deviation of about a
        // fifth too at criticality: the parameters keep wandering where the distance is flat.
        assert!(flips >= 0.5 * most, "{flips} of {most}");
        assert!(early < 0.1 * most, "the start is as good: {early}");
    }
    // Plain data: half-way taken apart, it goes on as it would have.
    let mut whole = Adaptation::new(Parameters::START);
    run(&mut whole, false, 5000);
    let mut kept = whole;
    run(&mut whole, false, 5000);
    run(&mut kept, false, 5000);
    assert_eq!(whole, kept);
}

/// σ and α after `blocks` blocks of a hundred steps, each step told a distance that knows nothing but the parameters.
fn climb(distance: impl Fn(Parameters) -> u32, blocks: u32) -> Adaptation {
    climb_from(Adaptation::new(Parameters::START), distance, blocks)
}

fn climb_from(mut adaptation: Adaptation, distance: impl Fn(Parameters) -> u32, blocks: u32) -> Adaptation {
    for _ in 0..100 * blocks {
        adaptation.observe_distance(distance(adaptation.parameters()));
    }
    adaptation
}

#[test]
fn adaptation_climbs_to_the_largest_distance() {
    let bell = |x: f32, at: f32| 1.0 / (1.0 + (x / at).ln().powi(2));
    let distance = |now: Parameters| (1e6 * bell(now.step_size, 3.0) * bell(now.balance, 0.8)) as u32;
    let mut found = climb(distance, 600);
    let now = found.parameters();
    // At the end γ is below .02: the best of θ and θ(1 ± γ) is within γ of the top.
    assert!(found.rate() < 0.02, "{found:?}");
    assert!((now.step_size / 3.0 - 1.0).abs() < 0.02 && (now.balance / 0.8 - 1.0).abs() < 0.02, "{now:?}");
    found.freeze();
    let kept = found;
    found.observe_distance(u32::MAX);
    assert_eq!(found, kept);
    // Negative control: where the shortest distance is the largest number it goes elsewhere.
    let away = climb(|now| 1_000_000 - distance(now), 600).parameters();
    assert!((away.step_size / 3.0).ln().abs() > 1.0, "{away:?}");
}

/// Algorithms 3 and 4 as the paper prints them: (σ, α, γ) after so many rounds.
fn printed(distance: impl Fn(Parameters) -> u32, rounds: u32) -> (f32, f32, f32) {
    let Parameters { step_size: mut sigma, balance: mut alpha, precision } = Parameters::START;
    let mut rate = 0.2f32;
    let best = |of: &dyn Fn(f32) -> u32, rate: f32| {
        let [stay, up, down] = [1.0, 1.0 + rate, 1.0 - rate].map(of);
        match stay.max(up).max(down) {
            most if most == up => 1.0 + rate,
            most if most == down => 1.0 - rate,
            _ => 1.0,
        }
    };
    for _ in 0..rounds {
        let at = |step_size: f32, balance: f32| distance(Parameters { step_size, balance, precision });
        let next_sigma = sigma * best(&|factor| at(sigma * factor, alpha), rate);
        let next_alpha = (alpha * best(&|factor| at(sigma, (alpha * factor).min(1.0)), rate)).min(1.0);
        if (next_sigma, next_alpha) == (sigma, alpha) {
            rate *= 0.9;
        }
        (sigma, alpha) = (next_sigma, next_alpha);
    }
    (sigma, alpha, rate)
}

/// On a ridge, where the best α depends on σ, and where ties are common.
#[test]
fn adaptation_as_printed_is_the_papers() {
    let ridge = |now: Parameters| {
        let (x, y) = (f64::from(now.step_size).ln(), f64::from(now.balance));
        (40.0 / (1.0 + (x - 1.0).powi(2) + 30.0 * (y - 0.6 - 0.1 * x).powi(2))) as u32
    };
    let mut told_apart = 0;
    for rounds in 1..120 {
        let found = climb_from(Adaptation::new(Parameters::START).as_printed(), ridge, 6 * rounds);
        let (sigma, alpha, rate) = printed(ridge, rounds);
        let now = found.parameters();
        assert_eq!((now.step_size, now.balance, found.rate()), (sigma, alpha, rate), "round {rounds}");
        // Negative control: the other rule goes elsewhere.
        told_apart += u32::from(climb(ridge, 6 * rounds).parameters() != now);
    }
    assert!(told_apart > 100, "{told_apart}");
    // Nothing moves: as printed σ and α grow nevertheless.
    let still = |_: Parameters| 0;
    assert_eq!(climb(still, 60).parameters(), Parameters::START);
    let grown = climb_from(Adaptation::new(Parameters::START).as_printed(), still, 60).parameters();
    assert!(grown.step_size > 0.6 && grown.balance == 1.0, "{grown:?}");
}

/// The rate's tuner, frozen, with its flips and acceptance a step; and the flips of the published adaptation beside it.
fn tuned(second: bool) -> (RateTuner, f64, f64, f64) {
    let mut tuner = RateTuner::new(0.1, (1e-3, 1e3), 0.574).unwrap();
    run(&mut tuner, second, 30_000);
    tuner.freeze();
    let (flips, rate) = run(&mut tuner, second, 30_000);
    let mut adaptation = Adaptation::new(Parameters::START);
    run(&mut adaptation, second, 60_000);
    adaptation.freeze();
    let (theirs, accepted) = run(&mut adaptation, second, 30_000);
    println!("{:?}: {flips} flips, acceptance {rate}", tuner.now());
    println!("{:?}: {theirs} flips, acceptance {accepted}", adaptation.parameters());
    (tuner, flips, rate, theirs)
}

#[test]
fn adaptation_by_acceptance_rate_holds_the_rate() {
    let (_, flips, rate, theirs) = tuned(false);
    // The chain at criticality is correlated over hundreds of steps: 30,000 know a rate to a few hundredths.
    assert!((rate - 0.574).abs() < 0.1, "{rate}");
    assert!(flips > 0.7 * theirs, "{flips} against {theirs}");
    let (early, far) = run(&mut Parameters::START.clone(), false, 10_000);
    assert!((far - 0.574).abs() > 0.1, "the start has the rate already: {early} {far}");
}

#[test]
fn of_second_order_the_rate_leads_to_the_far_end_and_theirs_stops_short() {
    // On a quadratic energy the longest steps are accepted most: a rate of .574 is nowhere, and the tuner goes on to
    // its bound, where α is 1.
    let (tuner, flips, rate, theirs) = tuned(true);
    assert!(tuner.now().balance > 0.99 && rate > 0.95, "{:?}: {rate}", tuner.now());
    assert!(flips > 1.2 * theirs, "{flips} against {theirs}");
}

#[test]
fn the_guide_is_its_formula() {
    for r in [1e-6f64, 1e-3, 0.1, 1.0, 10.0, 1e4] {
        let found = f64::from(guided_balance((0.25 * r) as f32, 0.25));
        // Eq. 6 as it was derived: α = ½ + (√(r² + 4) − 2)/(2r), in float64 where it cancels mildly.
        let truth = 0.5 + ((r * r + 4.0).sqrt() - 2.0) / (2.0 * r);
        assert!((found - truth).abs() < 2e-7 + 1e-15 / r, "{r}: {found} {truth}");
    }
    assert_eq!(guided_balance(f32::INFINITY, 0.25), 1.0);
    assert_eq!(guided_balance(1.0, 0.0), 1.0);
    assert_eq!(guided_balance(f32::NAN, 1.0), 1.0);
}
