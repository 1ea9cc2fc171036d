//! Energy-sampling dynamics without randomness, against float64. Each broken naive goes through the lines that
//! the right one goes through, and must fail there.

use bitmc::flow::{
    DiagonalGaussian, Esh, FlowError, Hmc, HmcChain, Leap, NoseHoover, Potential, StepControl, StepSize, Turn,
    Unscaled, Way, blocks,
};
use bitmc::lane::Block;
use bitmc::snapshot::{Reader, SnapshotError, Writer};
use bitmc::{LaneRng, Rng, SeedableRng};
use bitmc_host_tests::flow::{
    Flaws, Quartic, RIGHT, Target, Trajectory, Valley, Watched, integrate, released_log_time, scaled_field,
    turn_truth, unscaled_field,
};
use bitmc_host_tests::snapshot;
use std::cell::Cell;

/// The unit of rounding of f32.
const UNIT: f64 = 1.0 / (1u32 << 24) as f64;

const QUARTIC: Quartic = Quartic { barrier: 0.5, coupling: 0.6, tilt: 0.2 };

fn step(value: f32) -> StepSize {
    StepSize::new(value).expect("a legal step size")
}

fn memory(potential: &(impl Potential + ?Sized)) -> Vec<Block> {
    vec![[0.0; 16]; Esh::<(), ()>::memory_len(blocks(potential.dim()), potential.scratch_len())]
}

fn packed(values: &[f64]) -> Vec<Block> {
    let mut out = vec![[0.0; 16]; blocks(values.len())];
    for (slot, &value) in out.as_flattened_mut().iter_mut().zip(values) {
        *slot = value as f32;
    }
    out
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Sixteen coordinates with standard deviations from ½ to 2.
fn valley() -> Valley {
    Valley { precision: (0..16).map(|i| 4f64.powf(1.0 - f64::from(i) / 7.5)).collect() }
}

/// The worst error of (gain, log time) in units of their bound, over the grid of turns.
///
/// Bound of the gain: a is one rounded product, and a + ln(1 + loss) rounds four times on numbers up to 2a;
/// ln(below) has at most as much as its own size. Of the log time: it adds the relative error of at most
/// ten roundings, and the rounding of a sum of terms up to a + 17.
fn turn_errors(log_time: impl Fn(f32, f32, &Turn) -> f32) -> (f64, f64) {
    let mut worst = (0f64, 0f64);
    for exponent in -32..=16 {
        let a = 10f32.powf(exponent as f32 / 4.0);
        for w in [-1.0, -0.999_999_9, -0.999, -0.5, -1e-4, 0.0, 1e-6, 0.3, 0.9, 1.0] {
            let turn = Turn::new(Way::new(1.0, w), a);
            let (gain, time) = turn_truth(f64::from(a), f64::from(w));
            let found = log_time(a, w, &turn);
            assert!(
                turn.keep.is_finite() && turn.push.is_finite() && turn.gain.is_finite(),
                "a = {a}, w = {w}"
            );
            let size = f64::from(a).max(gain.abs());
            worst.0 = worst.0.max((f64::from(turn.gain) - gain).abs() / (8.0 * UNIT * size));
            let room = UNIT * (16.0 + 2.0 * (size + time.abs() + 17.0));
            worst.1 = worst.1.max((f64::from(found) - time).abs() / room);
            // |u| stays 1: along e and across it. Near straight up both factors are large, and so is their rounding.
            let along = f64::from(turn.keep) * f64::from(w) - f64::from(turn.push);
            let across = f64::from(turn.keep) * (1.0 - f64::from(w).powi(2)).sqrt();
            let room = 8.0 * UNIT * f64::from(turn.keep - turn.push).max(1.0);
            assert!((along.hypot(across) - 1.0).abs() < room, "a = {a}, w = {w}");
            let turned = f64::from(turn.way.down - turn.way.up) / 2.0;
            assert!((turned - along).abs() < room, "a = {a}, w = {w}: {turned} {along}");
        }
    }
    worst
}

#[test]
fn a_turn_is_accurate_from_1e_minus_8_to_1e4() {
    let (gain, time) = turn_errors(|_, _, turn| turn.log_time(0.0));
    println!("right: gain {gain:.3}, time {time:.3} of the bound");
    assert!(gain <= 1.0 && time <= 1.0);
    let (_, released) = turn_errors(|a, w, _| released_log_time(a, w));
    println!("broken: time {released:.1} of the bound (or NaN)");
    assert!(released.is_nan() || released > 1.0, "the check cannot see a cancelled time");
    let lost = f64::from(released_log_time(1e-6, 0.0)) - turn_truth(1e-6, 0.0).1;
    println!("the released form at a = 1e-6: {:.2} %", 100.0 * lost.exp_m1());
    assert!(lost.exp_m1().abs() > 0.01);
}

/// The root mean square error of H at scaled time 2, over starts and directions.
fn kernel_error(epsilon: f32) -> f64 {
    let target = valley();
    let (mean, precision) = (packed(&[0.0; 16]), packed(&target.precision));
    let model = DiagonalGaussian::new(16, &mean, &precision).unwrap();
    rms(|start, direction| {
        let mut chain = Esh::new(&model, memory(&model), start, direction).unwrap();
        let before = target.energy(&doubles(start));
        for _ in 0..(2.0 / epsilon).round() as u32 {
            chain.step(step(epsilon));
        }
        target.energy(&doubles(chain.position())) + 16.0 * f64::from(chain.log_speed()) - before
    })
}

fn naive_error(epsilon: f32, flaws: Flaws) -> f64 {
    let target = valley();
    rms(|start, direction| {
        let mut chain = Trajectory::new(&target, &doubles(start), &doubles(direction), flaws);
        let before = chain.hamiltonian();
        for _ in 0..(2.0 / epsilon).round() as u32 {
            chain.step(f64::from(epsilon));
        }
        chain.hamiltonian() - before
    })
}

fn rms(error: impl Fn(&[f32], &[f32]) -> f64) -> f64 {
    let mut rng = LaneRng::seed_from_u64(6);
    let squares = (0..32).map(|_| {
        let start = bitmc::random::normals(&mut rng);
        let direction = bitmc::random::normals(&mut rng);
        error(&start, &direction).powi(2)
    });
    (squares.sum::<f64>() / 32.0).sqrt()
}

/// By how much the error falls per halving, from .5 to .125.
fn fall(error: impl Fn(f32) -> f64) -> [f64; 2] {
    let [a, b, c] = [0.5, 0.25, 0.125].map(&error);
    println!("rms error of H at .5, .25, .125: {a:.3e} {b:.3e} {c:.3e}, ratios {:.3} {:.3}", a / b, b / c);
    [a / b, b / c]
}

#[test]
fn the_error_of_the_hamiltonian_falls_by_four_per_halving() {
    // The next order of the error is (ε²) of it: a few per cent at ½, four times less at ¼.
    let second_order = |ratios: [f64; 2]| (ratios[0] - 4.0).abs() < 0.25 && (ratios[1] - 4.0).abs() < 0.0625;
    assert!(second_order(fall(kernel_error)));
    assert!(second_order(fall(|epsilon| naive_error(epsilon, RIGHT))));
    assert!(!second_order(fall(|epsilon| naive_error(epsilon, Flaws { half: 1.0, ..RIGHT }))));
    assert!(!second_order(fall(|epsilon| naive_error(epsilon, Flaws { dimension: -1.0, ..RIGHT }))));
}

/// How far a trajectory of 800 steps and back ends from its start; and the worst | |u| − 1 | on the way.
///
/// On standard deviations from ¼ to 1: |x| stays near 2, where a unit in the last place is 1.2·10⁻⁷, and the
/// rounding of 1,600 steps adds up to forty times a third of that where nothing stretches it.
fn there_and_back(epsilon: f32, seed: u64, turn_round: bool) -> (f64, f64) {
    let target: Vec<f64> = valley().precision.iter().map(|p| 4.0 * p).collect();
    let (mean, precision) = (packed(&[0.0; 16]), packed(&target));
    let model = DiagonalGaussian::new(16, &mean, &precision).unwrap();
    let mut rng = LaneRng::seed_from_u64(seed);
    let start = bitmc::random::normals(&mut rng).map(|x| 0.5 * x);
    let mut chain = Esh::random(&model, memory(&model), &start, &mut rng).unwrap();
    let (mut off, mut length) = (0f64, 0f64);
    let mut run = |chain: &mut Esh<'_, _, _>| {
        for _ in 0..800 {
            chain.step(step(epsilon));
            length = length.max((bitmc_host_tests::flow::norm(&doubles(chain.direction())) - 1.0).abs());
        }
    };
    run(&mut chain);
    if turn_round {
        chain.reverse();
    }
    run(&mut chain);
    for (&x, &start) in chain.position().iter().zip(&start) {
        off = off.max((f64::from(x) - f64::from(start)).abs());
    }
    (off.max(f64::from(chain.log_speed().abs())), length)
}

#[test]
fn eight_hundred_steps_and_back_return() {
    for epsilon in [0.01, 0.05, 0.1] {
        let runs: Vec<_> = (0..8).map(|seed| there_and_back(epsilon, seed, true)).collect();
        let off = runs.iter().fold(0f64, |most, run| most.max(run.0));
        let length = runs.iter().fold(0f64, |most, run| most.max(run.1));
        println!("ε = {epsilon}, worst of 8: off by {off:.2e}, |u| by {length:.2e}");
        assert!(off < 1e-5 && length < 8.0 * UNIT);
    }
    assert!(there_and_back(0.1, 0, false).0 > 1e-2, "the check cannot see");
}

#[test]
fn the_kernel_is_the_printed_algorithm() {
    let mut rng = LaneRng::seed_from_u64(8);
    for _ in 0..20 {
        let draw = bitmc::random::normals(&mut rng);
        let (start, direction) = ([draw[0], draw[1]], [draw[2], draw[3]]);
        let mut chain = Esh::new(&QUARTIC, memory(&QUARTIC), &start, &direction).unwrap();
        let mut naive = Trajectory::new(&QUARTIC, &doubles(&start), &doubles(&direction), RIGHT);
        for moved in 0..80 {
            if moved == 40 {
                // A new direction: the next steps are those of a trajectory that begins here.
                let (before, speed) = (chain.direction().to_vec(), chain.log_speed());
                chain.refresh(&mut rng);
                assert!(chain.direction() != before && chain.log_speed() == speed);
                naive =
                    Trajectory::new(&QUARTIC, &doubles(chain.position()), &doubles(chain.direction()), RIGHT);
                naive.r = f64::from(speed);
            }
            let (leap, time) = (chain.step(step(0.1)), naive.step(0.1));
            // Forty steps of a smooth flow: rounding of 10⁻⁷ a step, stretched less than a hundredfold.
            let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 2e-5;
            assert!(chain.position().iter().zip(&naive.x).all(|(&a, &b)| close(a, b)));
            assert!(chain.direction().iter().zip(&naive.u).all(|(&a, &b)| close(a, b)));
            assert!(close(chain.log_speed(), naive.r) && close(leap.log_time, time.ln()));
        }
    }
}

#[test]
fn the_leapfrogs_approach_the_reference_integrator() {
    let (start, direction) = ([0.7, -0.4], [0.6, 0.8]);
    let mut y: Vec<f64> = start.iter().chain(&direction).copied().chain([0.0, 0.0]).collect();
    integrate(&mut y, 3.0, 1e-12, |y| scaled_field(&QUARTIC, y));
    let (start, direction) = ([0.7f32, -0.4], [0.6f32, 0.8]);
    let scaled = |epsilon: f32| {
        let mut chain = Esh::new(&QUARTIC, memory(&QUARTIC), &start, &direction).unwrap();
        let mut time = 0.0;
        for _ in 0..(3.0 / epsilon).round() as u32 {
            time += f64::from(chain.step(step(epsilon)).log_time).exp();
        }
        let apart = |a: f32, b: f64| (f64::from(a) - b).abs();
        let x = apart(chain.position()[0], y[0]).max(apart(chain.position()[1], y[1]));
        [x, apart(chain.log_speed(), y[4]), (time - y[5]).abs()]
    };
    let (coarse, fine) = (scaled(0.1), scaled(0.05));
    println!("scaled, (x, r, t) at .1 and .05: {coarse:?} {fine:?}");
    for (coarse, fine) in coarse.iter().zip(fine) {
        assert!((coarse / fine - 4.0).abs() < 0.6 && fine < 1e-2);
    }

    let mut y = vec![0.7, -0.4, 0.6, 0.8];
    integrate(&mut y, 0.5, 1e-12, |y| unscaled_field(&QUARTIC, y));
    let unscaled = |epsilon: f32| {
        let mut chain = Unscaled::new(&QUARTIC, memory(&QUARTIC), &start, &direction).unwrap();
        for _ in 0..(0.5 / epsilon).round() as u32 {
            chain.step(step(epsilon));
        }
        let apart = chain.position().iter().zip(&y).map(|(&a, &b)| (f64::from(a) - b).abs());
        apart.fold(0.0, f64::max)
    };
    let (coarse, fine) = (unscaled(0.02), unscaled(0.01));
    println!("unscaled at .02 and .01: {coarse:.2e} {fine:.2e}");
    assert!((coarse / fine - 4.0).abs() < 0.6);
}

/// A potential whose gradient is constant.
fn slope(dim: usize, slope: f32) -> Watched<impl Fn(&[f32], &mut [f32]) -> f32> {
    let function = move |x: &[f32], out: &mut [f32]| {
        out.fill(0.0);
        out[0] = slope;
        if slope.abs() > 1e30 { 0.0 } else { slope * x[0] }
    };
    Watched { dim, function, calls: Cell::new(0) }
}

#[test]
fn any_gradient_leaves_a_legal_state() {
    for dim in [2, 15, 16, 17, 33] {
        for exponent in -45..=38 {
            let model = slope(dim, 3.0 * 10f32.powi(exponent));
            for along in [-1.0f32, -0.999_999, 0.0, 0.5, 1.0] {
                let mut direction = vec![0.0; dim];
                (direction[0], direction[1]) = (along, (1.0 - along * along).sqrt());
                let mut chain = Esh::new(&model, memory(&model), &vec![0.5; dim], &direction).unwrap();
                for _ in 0..4 {
                    let leap = chain.step(step(0.1));
                    assert!(!leap.fault && !leap.log_time.is_nan() && leap.log_time < f32::INFINITY);
                    assert!(chain.log_speed().is_finite());
                    let length = bitmc_host_tests::flow::norm(&doubles(chain.direction()));
                    assert!((length - 1.0).abs() < 1e-6, "|u| = {length} at 1e{exponent}");
                }
                assert_eq!(model.calls.replace(0), 5, "one gradient a step");
            }
        }
    }
}

/// A step that follows a long one back up the same slope: 1 + w is then a subnormal, or 0.
#[test]
fn a_turn_from_almost_straight_up_is_finite() {
    for down in [0.0f32, 1e-45, 3e-45, 1e-42, 1e-38, 1e-30] {
        for exponent in -32..=152 {
            let a = 10f32.powf(exponent as f32 / 4.0);
            let turn = Turn::new(Way { steepness: 1.0, down, up: 2.0 }, a);
            let Turn { keep, push, gain, time, way } = turn;
            assert!(
                [keep, push, gain, time, way.down, way.up].into_iter().all(f32::is_finite),
                "{down}, {a}: {turn:?}"
            );
        }
    }
}

/// Whatever the step size, x, the direction or velocity and E stay finite, and a step that went nowhere says so.
#[test]
fn steps_of_any_size_leave_a_legal_state() {
    let bowl = |x: &[f32], out: &mut [f32]| {
        out.copy_from_slice(x);
        0.5 * x.iter().map(|x| x * x).sum::<f32>()
    };
    let quartic = |x: &[f32], out: &mut [f32]| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = 4.0 * x.powi(3));
        x.iter().map(|x| x.powi(4)).sum::<f32>()
    };
    let steep = |x: &[f32], out: &mut [f32]| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = 1e18f32.copysign(*x));
        1e18 * x.iter().map(|x| x.abs()).sum::<f32>()
    };
    let wall = move |x: &[f32], out: &mut [f32]| {
        let energy = bowl(x, out);
        if x[0].abs() > 5.0 { f32::INFINITY } else { energy }
    };
    type Function<'a> = &'a dyn Fn(&[f32], &mut [f32]) -> f32;
    let functions: [(&str, Function<'_>); 4] =
        [("bowl", &bowl), ("quartic", &quartic), ("steep", &steep), ("wall", &wall)];
    let (start, direction) = ([0.1, 0.2, 0.3], [1.0, 0.5, -0.3]);
    for (name, function) in functions {
        let model = Watched { dim: 3, function, calls: Cell::new(0) };
        for exponent in (-74..=76).chain([-10, 1, 3]) {
            let size = step(if exponent == 76 { 3e38 } else { 10f32.powf(exponent as f32 / 2.0) });
            let mut rng = LaneRng::seed_from_u64(12);
            let mut esh = Esh::new(&model, memory(&model), &start, &direction).unwrap();
            let mut unscaled = Unscaled::new(&model, memory(&model), &start, &direction).unwrap();
            let mut thermostat = NoseHoover::new(&model, memory(&model), &start, 3.0, &mut rng).unwrap();
            for number in 0..200 {
                let at = format!("{name}, ε = {:e}, step {number}", size.get());
                let leaps = [esh.step(size), unscaled.step(size), thermostat.step(size)];
                let energies = [esh.energy(), unscaled.energy(), thermostat.energy()];
                for (leap, energy) in leaps.iter().zip(energies) {
                    assert!(
                        leap.energy.is_finite() && leap.energy.to_bits() == energy.to_bits(),
                        "{at}: {leap:?}"
                    );
                    assert!(leap.fault || leap.log_time.is_finite(), "{at}: {leap:?}");
                    assert!(!leap.log_time.is_nan(), "{at}: {leap:?}");
                }
                let [_, leap, _] = leaps;
                assert!(leap.fault || leap.error.is_finite(), "{at}: {leap:?}");
                let esh = esh.position().iter().chain(esh.direction());
                let unscaled = unscaled.position().iter().chain(unscaled.velocity());
                let mut numbers = esh.chain(unscaled).chain(thermostat.position());
                assert!(numbers.all(|number| number.is_finite()), "{at}");
            }
        }
    }
}

/// Steps past the limit of stability: what has left the floats is undone, and the sampler goes on.
#[test]
fn a_thermostat_that_overflows_turns_back() {
    let (mean, precision) = (packed(&[0.0; 3]), packed(&[1.0; 3]));
    let model = DiagonalGaussian::new(3, &mean, &precision).unwrap();
    let mut rng = LaneRng::seed_from_u64(5);
    let mut chain = NoseHoover::new(&model, memory(&model), &[0.1, 0.2, 0.3], 3.0, &mut rng).unwrap();
    let mut faults = 0;
    for _ in 0..1000 {
        let before = chain.position().to_vec();
        let leap = chain.step(step(3.0));
        if leap.fault {
            faults += 1;
            let size = before.iter().fold(0f32, |most, x| most.max(x.abs()));
            let near = chain.position().iter().zip(&before).all(|(a, b)| (a - b).abs() <= 1e-4 * size);
            assert!(near, "{before:?} became {:?}", chain.position());
        }
        assert!(chain.position().iter().all(|x| x.is_finite()) && chain.energy().is_finite());
    }
    assert!(faults > 0 && faults < 1000, "{faults}");
}

/// What a sampler needs is what it says, no dimension is none or more than 2²⁴, and the first energy is that of the start.
#[test]
fn samplers_say_what_they_need() {
    let (mean, precision) = (packed(&[0.5; 19]), packed(&[2.0; 19]));
    let model = DiagonalGaussian::new(19, &mean, &precision).unwrap();
    let (start, mut rng) = ([0.25; 19], LaneRng::seed_from_u64(1));
    let energy = 19.0 * 0.5 * 2.0 * 0.0625;
    let [esh, hmc, thermostat] = std::hint::black_box([
        Esh::<(), ()>::memory_len as fn(usize, usize) -> usize,
        HmcChain::<(), ()>::memory_len,
        NoseHoover::<(), ()>::memory_len,
    ])
    .map(|len| len(2, model.scratch_len()));
    let short = |need: usize| (vec![[0.0; 16]; need - 1], Some(FlowError::Memory { need, got: need - 1 }));
    let (room, error) = short(esh);
    assert_eq!(Esh::new(&model, room, &start, &[1.0; 19]).err(), error);
    let (room, error) = short(hmc);
    assert_eq!(HmcChain::new(&model, room, &start).err(), error);
    assert_eq!(HmcChain::new(&model, vec![[0.0; 16]; hmc], &start).unwrap().energy(), energy);
    let (room, error) = short(thermostat);
    assert_eq!(NoseHoover::new(&model, room, &start, 3.0, &mut rng).err(), error);
    for mass in [0.0, -1.0, 1e-40, f32::INFINITY] {
        let refused = NoseHoover::new(&model, memory(&model), &start, mass, &mut rng).err();
        assert_eq!(refused, Some(FlowError::Parameter(mass)));
    }
    for dim in [0, (1 << 24) + 1] {
        let function: &dyn Fn(&[f32], &mut [f32]) -> f32 = &|_, _| 0.0;
        let none = Watched { dim, function, calls: Cell::new(0) };
        assert_eq!(HmcChain::new(&none, vec![[0.0; 16]], &[]).err(), Some(FlowError::Dimension(dim)));
    }
}

/// Along a slope whose square is below the floats u and r are those of any other: r grows by ln(cosh a + w sinh a), with a = ε|g|/d
/// and w the cosine to the descent. H = E + d·r stays, and so says the step.
#[test]
fn a_slope_far_below_the_floats_turns_as_others_do() {
    let slope = [3e-17, -4e-17];
    let function: &dyn Fn(&[f32], &mut [f32]) -> f32 = &|x, gradient| {
        gradient.copy_from_slice(&slope);
        slope[0] * x[0] + slope[1] * x[1]
    };
    let model = Watched { dim: 2, function, calls: Cell::new(0) };
    for direction in [[0.6f32, 0.8], [-0.6, 0.8], [0.8, -0.6], [-1.0, 0.0]] {
        let mut chain = Esh::new(&model, memory(&model), &[0.5, -0.25], &direction).unwrap();
        let before = f64::from(chain.hamiltonian());
        let leap = chain.step(step(4e16));
        let (a, w) = (1.0, f64::from(-3.0 * direction[0] + 4.0 * direction[1]) / 5.0);
        let r = (f64::cosh(a) + w * f64::sinh(a)).ln();
        assert!((f64::from(chain.log_speed()) - r).abs() < 1e-5, "{direction:?}: {} {r}", chain.log_speed());
        let grown = f64::from(chain.hamiltonian()) - before;
        assert!((grown - f64::from(leap.error)).abs() < 1e-5, "{grown} {leap:?}");
        let h = f64::from(chain.energy()) + 2.0 * f64::from(chain.log_speed());
        assert!((f64::from(chain.hamiltonian()) - h).abs() < 1e-5);
    }
}

/// Where E is not finite a proposal ends, also in the middle of its way, whatever the potential says of its gradient there.
#[test]
fn a_proposal_ends_where_the_energy_is_not_finite() {
    for (beyond, fault) in [(f32::INFINITY, false), (f32::NEG_INFINITY, true), (f32::NAN, true)] {
        let paths = [0.0, 7.0, f32::NAN].map(|slope| {
            // A band that a proposal of twelve leaps crosses and leaves again.
            let function = move |x: &[f32], out: &mut [f32]| {
                let inside = x[0] > 0.5 && x[0] < 0.8;
                out[0] = if inside { slope } else { x[0] };
                if inside { beyond } else { 0.5 * x[0] * x[0] }
            };
            let model = Watched { dim: 1, function, calls: Cell::new(0) };
            let memory = vec![[0.0; 16]; HmcChain::<(), ()>::memory_len(1, 0)];
            let mut chain = HmcChain::new(&model, memory, &[-0.2]).unwrap();
            let (kernel, mut rng) = (Hmc::new(step(0.1), 12).unwrap(), LaneRng::seed_from_u64(6));
            let path: Vec<f32> = (0..500)
                .map(|_| {
                    let proposal = chain.step(&kernel, &mut rng);
                    assert!(fault || !proposal.fault, "{proposal:?}");
                    chain.position()[0]
                })
                .collect();
            assert_eq!(chain.faults() > 0, fault);
            path
        });
        assert!(paths.iter().all(|path| path == &paths[0]), "{beyond}");
    }
}

/// A thermostat of a mass or friction that none has is not taken back.
#[test]
fn a_forged_thermostat_is_refused() {
    let (mean, precision) = (packed(&[0.0; 3]), packed(&[1.0; 3]));
    let model = DiagonalGaussian::new(3, &mean, &precision).unwrap();
    let mut rng = LaneRng::seed_from_u64(5);
    let mut chain = NoseHoover::new(&model, memory(&model), &[0.1, 0.2, 0.3], 3.0, &mut rng).unwrap();
    chain.step(step(0.1));
    let bytes = snapshot::save(&[&chain]);
    let bath = bytes.windows(4).position(|name| name == b"nose").unwrap() + 4;
    let mut with = |friction: f32, mass: f32| {
        let mut forged = bytes.clone();
        forged[bath..bath + 4].copy_from_slice(&friction.to_le_bytes());
        forged[bath + 4..bath + 8].copy_from_slice(&mass.to_le_bytes());
        snapshot::load(&snapshot::sealed(forged), &mut [&mut chain])
    };
    assert_eq!((with(0.5, 3.0), with(-0.5, 1.0)), (Ok(()), Ok(())));
    for (friction, mass) in [(f32::NAN, 3.0), (f32::INFINITY, 3.0), (0.5, -1.0), (0.5, 1e-40), (0.5, f32::NAN)]
    {
        assert_eq!(with(friction, mass), Err(SnapshotError::Value), "{friction} {mass}");
    }
}

/// Whatever a core says of the length of its direction, x stays a state.
#[test]
fn a_forged_length_of_a_direction_does_no_harm() {
    let (mean, precision) = (packed(&[0.0; 3]), packed(&[1.0; 3]));
    let model = DiagonalGaussian::new(3, &mean, &precision).unwrap();
    let mut chain = Esh::new(&model, memory(&model), &[0.1, 0.2, 0.3], &[1.0, 0.5, -0.3]).unwrap();
    chain.step(step(0.1));
    let bytes = snapshot::save(&[&chain]);
    let core = chain.core();
    let place = |bits: [u8; 4]| bytes.windows(4).rposition(|window| window == bits);
    let direction = place(chain.direction()[0].to_le_bytes()).unwrap();
    // Σ uᵢ² and the faults are the last of the core, x and its length come after it.
    let length = direction - 4 - 3 * 4 - 4 - 8;
    let kept = f32::from_le_bytes(bytes[length..length + 4].try_into().unwrap());
    assert!((kept - 1.0).abs() < 1e-5, "{kept}");
    for (at, value) in [length, direction]
        .into_iter()
        .flat_map(|at| [f32::NAN, f32::INFINITY, 0.0, -1.0, 1e-30, 3e38].map(|value| (at, value)))
    {
        let mut forged = bytes.clone();
        forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let _ = snapshot::load(&snapshot::sealed(forged), &mut [&mut chain]);
        for _ in 0..20 {
            chain.step(step(10.0));
            let mut numbers = chain.position().iter().chain(chain.direction());
            assert!(numbers.all(|number| number.is_finite()), "{value} at {at}");
        }
    }
    snapshot::load(&bytes, &mut [&mut chain]).unwrap();
    assert_eq!(chain.core(), core);
}

/// Without scaling a particle goes ε d/|v| far in one step: farther, the more a slope has slowed it down.
#[test]
fn a_particle_that_a_slope_has_nearly_stopped_goes_far() {
    let slope = 1.999_999_8e-20f32;
    let function: &dyn Fn(&[f32], &mut [f32]) -> f32 = &|x, gradient| {
        gradient.fill(0.0);
        gradient[0] = slope;
        slope * x[0]
    };
    let model = Watched { dim: 3, function, calls: Cell::new(0) };
    let mut chain = Unscaled::new(&model, memory(&model), &[0.0; 3], &[1.0, 0.0, 0.0]).unwrap();
    let leap = chain.step(step(1e20));
    let speed = 1.0 - 0.5 * 1e20 * f64::from(slope);
    let far = 3.0 * 1e20 / speed;
    assert!(!leap.fault && speed < 2e-7, "{leap:?} {speed}");
    // The speed is what is left of 1, of which it has one digit.
    assert!((f64::from(chain.position()[0]).ln() - far.ln()).abs() < 1.0, "{:?} {far}", chain.position());
}

/// Where a step meets a hard constraint the thermostat turns round, and the next steps lead back the way it came.
#[test]
fn a_thermostat_at_a_hard_constraint_goes_back_the_way_it_came() {
    let function: &dyn Fn(&[f32], &mut [f32]) -> f32 = &|x, gradient| {
        gradient.copy_from_slice(x);
        if x.iter().any(|x| x.abs() > 0.8) { f32::INFINITY } else { 0.5 * x.iter().map(|x| x * x).sum::<f32>() }
    };
    let model = Watched { dim: 3, function, calls: Cell::new(0) };
    let mut turned = 0;
    for seed in 0..20 {
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chain = NoseHoover::new(&model, memory(&model), &[0.1, 0.2, 0.3], 3.0, &mut rng).unwrap();
        let mut way = vec![chain.position().to_vec()];
        while !chain.step(step(0.1)).fault && way.len() < 100 {
            way.push(chain.position().to_vec());
        }
        if way.len() == 100 {
            continue;
        }
        turned += 1;
        for (number, there) in way.iter().rev().enumerate() {
            let near = chain.position().iter().zip(there).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(near, "{number} steps back: {there:?}, {:?}", chain.position());
            chain.step(step(0.1));
        }
    }
    assert!(turned > 5, "{turned}");
}

/// A thermostat so light that what it makes of ξ leaves the floats.
#[test]
fn a_thermostat_without_mass_stays_where_it_is() {
    let (mean, precision) = (packed(&[0.0; 3]), packed(&[1.0; 3]));
    let model = DiagonalGaussian::new(3, &mean, &precision).unwrap();
    for seed in 0..20 {
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chain = NoseHoover::new(&model, memory(&model), &[0.1, 0.2, 0.3], 1e-30, &mut rng).unwrap();
        for _ in 0..4 {
            let leap = chain.step(step(1e10));
            assert!(leap.fault && leap.energy == chain.energy(), "{leap:?}");
            assert_eq!(chain.position(), [0.1, 0.2, 0.3]);
        }
    }
}

/// Two potentials with one energy and one size of the gradient at a point, in other directions.
#[test]
fn a_trajectory_goes_on_over_a_potential_of_the_same_energy() {
    let (mean, flat, steep) = (packed(&[0.0; 2]), packed(&[1.0, 3.0]), packed(&[3.0, 1.0]));
    let one = DiagonalGaussian::new(2, &mean, &flat).unwrap();
    let other = DiagonalGaussian::new(2, &mean, &steep).unwrap();
    let chain = Esh::new(&one, memory(&one), &[1.0; 2], &[1.0, 0.0]).unwrap();
    let mut bytes = [0; 256];
    Writer::new(&mut bytes).put(&chain).finish().unwrap();
    let mut loaded = Esh::new(&other, memory(&other), &[0.5; 2], &[0.0, 1.0]).unwrap();
    Reader::new(&bytes).unwrap().get(&mut loaded).unwrap().finish().unwrap();
    let (x, u) = (chain.position(), chain.direction());
    let resumed = Esh::resume(&other, memory(&other), x, u, chain.core()).unwrap();
    for mut chain in [loaded, resumed] {
        let mut fresh = Esh::new(&other, memory(&other), x, u).unwrap();
        let (leap, right) = (chain.step(step(0.3)), fresh.step(step(0.3)));
        assert_eq!((leap.energy, leap.error), (right.energy, right.error));
    }
}

/// What was kept over one potential and goes on over another, such as one that has learned since: E, H and the next
/// steps are those of a trajectory that begins there, but for the r that it brings.
#[test]
fn a_trajectory_goes_on_over_another_potential() {
    let mean = packed(&[0.0; 19]);
    let (flat, steep) = (packed(&[1.0; 19]), packed(&[9.0; 19]));
    let one = DiagonalGaussian::new(19, &mean, &flat).unwrap();
    let other = DiagonalGaussian::new(19, &mean, &steep).unwrap();
    let mut rng = LaneRng::seed_from_u64(11);
    let start: Vec<f32> = (0..19).map(|_| bitmc::random::uniform(&mut rng)).collect();
    let mut chain = Esh::random(&one, memory(&one), &start, &mut rng).unwrap();
    (0..10).for_each(|_| {
        chain.step(step(0.1));
    });
    let mut bytes = [0; 1024];
    Writer::new(&mut bytes).put(&chain).finish().unwrap();
    let mut loaded = Esh::new(&other, memory(&other), &start, &[1.0; 19]).unwrap();
    Reader::new(&bytes).unwrap().get(&mut loaded).unwrap().finish().unwrap();
    let (x, u) = (chain.position().to_vec(), chain.direction().to_vec());
    let mut resumed = Esh::resume(&other, memory(&other), &x, &u, chain.core()).unwrap();
    let mut fresh = Esh::new(&other, memory(&other), &x, &u).unwrap();
    let r = f64::from(chain.log_speed());
    assert!(r.abs() > 0.01);
    for _ in 0..5 {
        for chain in [&loaded, &resumed] {
            assert_eq!(
                chain.energy(),
                Esh::new(&other, memory(&other), chain.position(), &u).unwrap().energy()
            );
            assert!((f64::from(chain.log_speed() - fresh.log_speed()) - r).abs() < 1e-5);
            assert!(chain.position().iter().zip(fresh.position()).all(|(a, b)| (a - b).abs() < 1e-5));
        }
        let leap = fresh.step(step(0.1));
        for also in [loaded.step(step(0.1)), resumed.step(step(0.1))] {
            assert!((also.error - leap.error).abs() < 1e-4, "{also:?} {leap:?}");
            assert!((f64::from(also.log_time - leap.log_time) - r).abs() < 1e-4, "{also:?} {leap:?}");
        }
    }
}

#[test]
fn straight_up_and_no_gradient() {
    // Straight up: u stays, r falls by ε|g|/d, and x moves on.
    let model = slope(3, 2.0);
    let mut chain = Esh::new(&model, memory(&model), &[0.0; 3], &[1.0, 0.0, 0.0]).unwrap();
    let leap = chain.step(step(0.3));
    assert_eq!(chain.direction(), [1.0, 0.0, 0.0]);
    assert!((chain.log_speed() + 0.3 * 2.0 / 3.0).abs() < 1e-7);
    // ∫₀^ε e^(−2s/3)/3 ds
    assert!((leap.log_time - ((1.0 - (-0.2f32).exp()) / 2.0).ln()).abs() < 1e-6);
    // No gradient: a straight line at constant speed.
    let model = slope(3, 0.0);
    let mut chain = Esh::new(&model, memory(&model), &[0.0; 3], &[0.6, 0.8, 0.0]).unwrap();
    let leap = chain.step(step(0.5));
    assert_eq!((chain.log_speed(), chain.energy()), (0.0, 0.0));
    assert!((leap.log_time - (0.5f32 / 3.0).ln()).abs() < 1e-6);
    assert!((chain.position()[1] - 0.4).abs() < 1e-7);
}

#[test]
fn walls_and_faults_turn_the_trajectory_back() {
    for beyond in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let function = move |x: &[f32], out: &mut [f32]| {
            let square: f32 = x.iter().map(|x| x * x).sum();
            out.copy_from_slice(x);
            if x[0] > 1.0 { beyond } else { 0.5 * square }
        };
        let model = Watched { dim: 2, function, calls: Cell::new(0) };
        let mut chain = Esh::new(&model, memory(&model), &[0.0, 0.3], &[1.0, 0.2]).unwrap();
        let mut path = vec![chain.position().to_vec()];
        let mut steps = 0;
        loop {
            let leap = chain.step(step(0.1));
            steps += 1;
            assert!(steps < 100);
            if leap.fault {
                assert!(leap.log_time.is_finite() && leap.error.abs() < 1e-5);
                break;
            }
            path.push(chain.position().to_vec());
        }
        // From here the way leads back through every point.
        for point in path.iter().rev().skip(1) {
            chain.step(step(0.1));
            assert!(chain.position().iter().zip(point).all(|(a, b)| (a - b).abs() < 1e-5));
        }
        assert_eq!(chain.faults(), 1);
        let start = Esh::new(&model, memory(&model), &[2.0, 0.0], &[1.0, 0.0]);
        assert!(matches!(start, Err(FlowError::Energy(_))));
    }
}

#[test]
fn steps_without_a_weight_say_so() {
    // So steep that ln|v| leaves the floats in a step: E says nothing of it.
    let function = |_: &[f32], out: &mut [f32]| {
        out.fill(-1e37);
        0.0
    };
    let model = Watched { dim: 2, function, calls: Cell::new(0) };
    let mut chain = Esh::new(&model, memory(&model), &[0.0; 2], &[1.0, 0.5]).unwrap();
    assert!(!chain.step(step(1.0)).fault);
    for faults in 1..4 {
        let leap = chain.step(step(100.0));
        assert!(leap.fault && leap.log_time == f32::NEG_INFINITY, "{leap:?}");
        assert_eq!((chain.log_speed(), chain.faults()), (f32::INFINITY, faults));
    }
}

#[test]
fn a_resumed_trajectory_and_a_trait_object_have_the_same_bits() {
    let (mean, precision) = (packed(&[0.0; 19]), packed(&[1.5; 19]));
    let model = DiagonalGaussian::new(19, &mean, &precision).unwrap();
    let mut rng = LaneRng::seed_from_u64(9);
    let start: Vec<f32> = (0..19).map(|_| bitmc::random::uniform(&mut rng)).collect();
    let mut whole = Esh::random(&model, memory(&model), &start, &mut rng).unwrap();
    let any: &dyn Potential = &model;
    for number in 0..60 {
        let (x, u, core) = (whole.position().to_vec(), whole.direction().to_vec(), whole.core());
        let mut resumed = Esh::resume(any, memory(any), &x, &u, core).unwrap();
        let size = step(0.05 + 0.01 * (rng.next_u32() % 8) as f32);
        assert_eq!(whole.step(size), resumed.step(size), "step {number}");
        assert_eq!(whole.position(), resumed.position());
        assert_eq!(whole.direction(), resumed.direction());
        assert_eq!(whole.core(), resumed.core());
    }
}

/// A step back leaves x where it was to a rounding, and the gradient with it.
#[test]
fn a_trajectory_that_has_turned_back_goes_on_with_the_same_bits() {
    let function = |x: &[f32], out: &mut [f32]| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x * x * x + x);
        let energy: f32 = x.iter().map(|x| 0.25 * x * x * x * x + 0.5 * x * x).sum();
        if x[0] > 1.0 { f32::INFINITY } else { energy }
    };
    let model = Watched { dim: 3, function, calls: Cell::new(0) };
    let mut turned = 0;
    for seed in 0..20 {
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chain = Esh::random(&model, memory(&model), &[0.1, 0.2, -0.3], &mut rng).unwrap();
        for _ in 0..100 {
            if !chain.step(step(0.3)).fault {
                continue;
            }
            turned += 1;
            let mut bytes = [0; 256];
            Writer::new(&mut bytes).put(&chain).finish().unwrap();
            let mut loaded = Esh::random(&model, memory(&model), &[0.0; 3], &mut rng).unwrap();
            Reader::new(&bytes).unwrap().get(&mut loaded).unwrap().finish().unwrap();
            let (x, u) = (chain.position(), chain.direction());
            let resumed = Esh::resume(&model, memory(&model), x, u, chain.core()).unwrap();
            for also in [&loaded, &resumed] {
                assert_eq!(also.core(), chain.core());
            }
        }
    }
    assert!(turned > 50, "{turned}");
}

#[test]
fn a_step_size_follows_the_error() {
    let (mean, precision) = (packed(&[0.0; 16]), packed(&valley().precision));
    let model = DiagonalGaussian::new(16, &mean, &precision).unwrap();
    for first in [1e-3, 2.0] {
        let mut rng = LaneRng::seed_from_u64(10);
        let mut chain = Esh::random(&model, memory(&model), &[1.0; 16], &mut rng).unwrap();
        let mut control = StepControl::new(step(first), 0.01).unwrap();
        let mut run = |control: &mut StepControl, steps: u32| {
            let squares = (0..steps).map(|_| {
                let leap = chain.step(control.step_size());
                control.observe(&leap);
                f64::from(leap.error).powi(2)
            });
            (squares.sum::<f64>() / f64::from(steps)).sqrt()
        };
        run(&mut control, 2_000);
        control.freeze();
        let held = control.step_size();
        let error = run(&mut control, 4_000);
        println!("from {first}: ε = {}, rms error a step {error:.4}", held.get());
        assert!(error > 0.003 && error < 0.03 && control.step_size() == held && control.is_frozen());
    }
    assert!(StepControl::new(step(0.1), 0.0).is_err() && StepControl::new(step(0.1), f32::NAN).is_err());
    // A fault and an error that is none halve the step size, each alone.
    for (error, fault) in [(0.0, true), (f32::NAN, false), (f32::INFINITY, false)] {
        let mut control = StepControl::new(step(0.5), 0.01).unwrap();
        control.observe(&Leap { log_time: 0.0, energy: 1.0, error, fault });
        assert_eq!(control.step_size().get(), 0.25, "{error} {fault}");
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let model = slope(3, 1.0);
    let start = |start: &[f32], direction: &[f32]| Esh::new(&model, memory(&model), start, direction).err();
    assert_eq!(start(&[0.0; 2], &[1.0; 3]), Some(FlowError::Length { need: 3, got: 2 }));
    assert_eq!(start(&[0.0; 3], &[0.0; 3]), Some(FlowError::NoDirection));
    assert_eq!(start(&[0.0, f32::NAN, 0.0], &[1.0; 3]), Some(FlowError::NotFinite { index: 1 }));
    assert_eq!(start(&[0.0; 3], &[1.0, 0.0, f32::INFINITY]), Some(FlowError::NotFinite { index: 2 }));
    assert_eq!(start(&[0.0; 3], &[1e-40, 3e-40, 0.0]), None);
    assert_eq!(start(&[0.0; 3], &[3e38, 3e38, 3e38]), None);
    let short = Esh::new(&model, vec![[0.0; 16]; 2], &[0.0; 3], &[1.0; 3]);
    assert_eq!(short.err(), Some(FlowError::Memory { need: 3, got: 2 }));
    let none = Esh::new(&slope(0, 1.0), Vec::new(), &[], &[]).err();
    assert_eq!(none, Some(FlowError::Dimension(0)));
    // In one dimension the direction never turns, with a new one now and then either: ⟨x²⟩ of N(0, 1) came out as 1.40.
    let (line, one) = (slope(1, 1.0), Some(FlowError::Dimension(1)));
    assert_eq!(Unscaled::new(&line, memory(&line), &[0.0], &[1.0]).err(), one);
    assert_eq!(Esh::new(&line, memory(&line), &[0.0], &[1.0]).err(), one);
    assert_eq!(Esh::random(&line, memory(&line), &[0.0], &mut LaneRng::seed_from_u64(1)).err(), one);
    let two = slope(2, 1.0);
    let core = Esh::new(&two, memory(&two), &[0.0; 2], &[1.0; 2]).unwrap().core();
    assert_eq!(Esh::resume(&line, memory(&line), &[0.0], &[1.0], core).err(), one);
    assert_eq!(
        one.unwrap().to_string(),
        "1 dimensions: there must be at most 2^24, at least 1, and 2 where a direction must turn"
    );
    for size in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-40] {
        assert!(StepSize::new(size).is_err());
    }
    assert!(StepSize::new(1e-37).is_ok() && StepSize::new(3e38).is_ok());
}
