//! Cyclical sampling: schedules are what they say at every step of a u64, a cycle of
//! kernels keeps the distribution, and a chain is at the right position of its cycle, also when it was stopped.

use bitmc::schedule::ScheduleError;
use bitmc::step::{Cycle, ParameterError, langevin_cycle};
use bitmc::{Chain, Energy, Function, Kind, LaneRng, Langevin, Layout, Packed, Plain, Schedule, SeedableRng};
use bitmc_host_tests::compose::{Matrix, drift, irreversibility, matrix, product, transitions};
use bitmc_host_tests::enumerate::{Distribution, values};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::{heap, models, tolerance};
use std::f64::consts::PI;

/// Periods, and a step within each.
fn positions() -> impl Iterator<Item = (u64, u64)> {
    let short = (1..=64u64).chain([100, 365, 1000]).flat_map(|s| (0..s).map(move |k| (s, k)));
    let long = [(1u64 << 24) + 1, (1 << 32) + 15, (1 << 52) - 1];
    short.chain(long.into_iter().flat_map(|s| (0..100).map(move |part| (s, s / 100 * part + part))))
}

#[test]
fn schedules_are_their_formulas() {
    let (first, last) = (5.0, 0.2);
    let span = f64::from(first - last);
    for (s, k) in positions() {
        let share = k as f64 / s as f64;
        let cosine = ((PI * share).cos() + 1.0) / 2.0;
        let close = |found: f32, exact: f64, roundings: f64| {
            let off = (f64::from(found) - exact).abs() / (tolerance::ROUNDING * roundings);
            assert!(off <= 1.0, "step {k} of {s}: {found} {exact}, {off} bounds");
        };
        let bound = tolerance::COSINE_ROUNDINGS * span + tolerance::LINE_ROUNDINGS * f64::from(first);
        close(Schedule::cosine(first, last, s).unwrap().at(k), f64::from(last) + span * cosine, bound);
        let step_size = Schedule::cyclical_step_size(first, last, s).unwrap().at(k);
        let bound = (tolerance::COSINE_ROUNDINGS + tolerance::LINE_ROUNDINGS) * f64::from(first);
        close(step_size, (f64::from(first) * cosine).max(f64::from(last)), bound);
        let bound = tolerance::LINE_ROUNDINGS * f64::from(first);
        close(Schedule::linear(first, last, s).unwrap().at(k), f64::from(first) - span * share, bound);
        let exact = f64::from(first) * (f64::from(last) / f64::from(first)).powf(share);
        close(Schedule::geometric(first, last, s).unwrap().at(k), exact, tolerance::POWER_ROUNDINGS * exact);
        assert_eq!(Schedule::constant(first).unwrap().at(k), first);
    }
    // It begins at its first value, to the last bit, where `last + (first − last)` is another number.
    for (first, last) in [(1e-8, 1.0), (0.3, 0.1), (1.0, -1e8)] {
        assert_eq!(Schedule::cosine(first, last, 7).unwrap().at(14), first);
    }
    // The published cycle begins at the largest and ends at the smallest; its quarter is exactly half.
    let step_size = Schedule::cyclical_step_size(4.0, 0.25, 20).unwrap();
    assert_eq!([step_size.at(0), step_size.at(10), step_size.at(19)], [4.0, 2.0, 0.25]);
}

#[test]
fn schedules_are_right_past_u32() {
    const PAST: u64 = u32::MAX as u64 + 1;
    let cosine = Schedule::cosine(0.95, 0.5, 20).unwrap();
    for k in 0..20u64 {
        for cycles in [1, PAST / 4, PAST, PAST << 20] {
            assert_eq!(cosine.at(k + 20 * cycles).to_bits(), cosine.at(k).to_bits(), "{k}, {cycles} cycles");
        }
    }
    // Negative control: a counter of 32 bits is at another position there, for 20 does not divide 2³².
    let narrow = |step: u64| cosine.at(u64::from(step as u32));
    assert!((0..20).any(|k| narrow(PAST + k) != cosine.at(PAST + k)), "the check cannot see a narrow counter");
    for schedule in [Schedule::linear(5.0, 0.2, 100).unwrap(), Schedule::geometric(5.0, 0.2, 100).unwrap()] {
        assert_eq!((schedule.at(0), schedule.at(100)), (5.0, 0.2));
        assert_eq!((schedule.at(PAST), schedule.at(u64::MAX)), (0.2, 0.2));
    }
    let long = Schedule::linear(0.0, 1.0, 4 * PAST).unwrap();
    assert_eq!([long.at(PAST), long.at(2 * PAST), long.at(3 * PAST)], [0.25, 0.5, 0.75]);
}

/// From one end of the floats to the other, where the factor itself is less than any float.
#[test]
fn a_geometric_schedule_spans_the_floats() {
    for (first, last) in [(1e38f32, 2e-38f32), (1e20, 1e-20), (1.0, 1.2e-38), (3e38, 1e-5)] {
        let schedule = Schedule::geometric(first, last, 1000).unwrap();
        for k in 0..=1000u16 {
            let share = f64::from(k) / 1000.0;
            let log = (f64::from(last) / f64::from(first)).ln();
            let exact = f64::from(first) * (log * share).exp();
            let found = f64::from(schedule.at(k.into()));
            // The exponent is up to 175, and rounded three times.
            let bound = (4.0 + 3.0 * log.abs()) * tolerance::ROUNDING;
            assert!((found / exact - 1.0).abs() < bound, "{first} … {last}, step {k}: {found} {exact}");
        }
    }
}

/// From one end of the floats to the other upwards, where the last factor is the largest float: so near the end of a long
/// schedule that the share rounds to 1, and both logarithms are rounded up.
#[test]
fn a_geometric_schedule_does_not_leave_the_floats() {
    const STEPS: u64 = 1 << 40;
    let mut source = Source::new(3);
    for _ in 0..10_000 {
        let first = (source.uniform() * 3.5 + 1.0) as f32 * f32::MIN_POSITIVE;
        for (first, last) in [(first, first * f32::MAX), (1.0, f32::MAX)] {
            // Where the quotient is rounded past the floats there is no schedule.
            let Ok(schedule) = Schedule::geometric(first, last, STEPS) else { continue };
            for step in [STEPS - 1, STEPS - (1 << 10)] {
                let found = schedule.at(step);
                // The exponent is up to 89, and rounded three times.
                assert!((found / last - 1.0).abs() < 300.0 * f32::EPSILON, "{first} … {last}, {step}: {found}");
            }
        }
    }
}

#[test]
fn illegal_schedules_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for refused in [
            Schedule::constant(value),
            Schedule::cosine(value, 1.0, 5),
            Schedule::cosine(1.0, value, 5),
            Schedule::cyclical_step_size(1.0, value, 5),
            Schedule::linear(1.0, value, 5),
            Schedule::geometric(value, 1.0, 5),
        ] {
            assert!(matches!(refused, Err(ScheduleError::NotFinite(_) | ScheduleError::NotPositive(_))));
        }
    }
    assert!(matches!(Schedule::linear(-3e38, 3e38, 5), Err(ScheduleError::NotFinite(_))));
    // Ends whose quotient is no float.
    assert_eq!(Schedule::geometric(1e-20, 1e20, 100), Err(ScheduleError::NotFinite(f32::INFINITY)));
    assert!(Schedule::geometric(1e20, 1e-20, 100).unwrap().at(99).is_finite());
    assert!(Schedule::geometric(f32::MIN_POSITIVE, 1.0, 5).is_ok());
    assert_eq!(Schedule::geometric(0.0, 1.0, 5), Err(ScheduleError::NotPositive(0.0)));
    assert_eq!(Schedule::geometric(1.0, 1e-40, 5), Err(ScheduleError::NotPositive(1e-40)));
    for refused in [Schedule::cosine(1.0, 0.5, 0), Schedule::linear(1.0, 0.5, 0)] {
        assert_eq!(refused, Err(ScheduleError::NoSteps));
    }
    let step_size = Schedule::linear(1.0, -1.0, 4).unwrap();
    let balance = Schedule::constant(0.5).unwrap();
    assert_eq!(langevin_cycle::<4>(&step_size, &balance).unwrap_err(), ParameterError::StepSize(0.0));
    assert!(Cycle::<Langevin<'_>>::new(&[]).is_none());
}

/// The kernels of a short cycle, from bold to local.
fn kernels<const S: usize>(largest: f32, smallest: f32) -> [Langevin<'static>; S] {
    let step_size = Schedule::cyclical_step_size(largest, smallest, S as u64).unwrap();
    let balance = Schedule::cosine(0.95, 0.5, S as u64).unwrap();
    langevin_cycle(&step_size, &balance).unwrap()
}

/// Checks each position of a cycle and the whole of it; returns the cycle's irreversibility.
fn judge(name: &str, energy: &dyn Energy, distribution: &Distribution, states: &[Vec<u32>]) -> f64 {
    let cycle = kernels::<5>(8.0, 0.2);
    let found: Vec<Transitions> = cycle.iter().map(|kernel| transitions(energy, kernel, states)).collect();
    let whole = |p: &dyn Fn(usize, usize, usize) -> f64| -> Matrix {
        let parts = (0..cycle.len()).map(|position| matrix(states.len(), |x, y| p(position, x, y)));
        parts.reduce(|whole, part| product(&whole, &part)).unwrap()
    };
    for (position, part) in found.iter().enumerate() {
        let verdict = part.judge(distribution);
        assert!(verdict.passes(), "{name}, position {position}: {verdict:?}");
    }
    let right = whole(&|position, x, y| found[position].moves(x, y));
    let allowed = cycle.len() as f64 * tolerance::STATIONARITY;
    assert!(drift(distribution, &right) <= allowed, "{name}: {}", drift(distribution, &right));

    // Negative control: the parameters change inside a step, between the proposal and the way back.
    let energies = &distribution.energies;
    let broken = whole(&|position, x, y| {
        let (forward, back) = (&found[position], &found[(position + 1) % cycle.len()]);
        let ratio = energies[x] - energies[y] + back.log_q(y, x) - forward.log_q(x, y);
        (forward.log_q(x, y) + ratio.min(0.0)).exp()
    });
    assert!(
        drift(distribution, &broken) > 20.0 * allowed,
        "{name}: the broken variant is not seen, {}",
        drift(distribution, &broken)
    );
    irreversibility(distribution, &right)
}

#[test]
fn a_cycle_keeps_the_distribution() {
    for (seed, sd) in [0.4, 3.0].into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, sd, seed as u64);
        let states: Vec<_> = (0..64).map(|state| heap::pack(&values(state, 6))).collect();
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        let one_way = judge(&format!("Ising, sd {sd}"), &energy, &Distribution::of(&model), &states);
        // The whole cycle is not reversible: its parts are, one by one.
        assert!(one_way > 1e-4, "{one_way}");
        for kind in [Kind::Categorical, Kind::Ordinal] {
            let tables = Tables::new(kind, &[3, 5, 2, 4], sd, seed as u64);
            let energy = Plain(Own(&tables));
            let state = |number| {
                let mut words = vec![0; energy.layout().words()];
                for (site, value) in tables.values(number).into_iter().enumerate() {
                    bitmc::packed::set(energy.layout(), &mut words, site, value as u32).unwrap();
                }
                words
            };
            let states: Vec<_> = (0..tables.states()).map(state).collect();
            judge(&format!("{kind:?}, sd {sd}"), &energy, &tables.distribution(), &states);
        }
    }
}

/// `f = −½ (x − c)ᵀA(x − c)` over two bits: log-concave between them.
struct Bowl;

impl Bowl {
    const A: [[f64; 2]; 2] = [[0.5, 0.1], [0.1, 0.4]];
    const CENTRE: [f64; 2] = [0.3, 0.6];

    /// ∇E = A(x − c).
    fn slope(state: usize) -> [f64; 2] {
        let off = [0, 1].map(|site| ((state >> site) & 1) as f64 - Self::CENTRE[site]);
        Self::A.map(|row| row[0] * off[0] + row[1] * off[1])
    }

    fn energy(state: usize) -> f64 {
        let slope = Self::slope(state);
        (0..2).map(|site| 0.5 * (((state >> site) & 1) as f64 - Self::CENTRE[site]) * slope[site]).sum()
    }

    /// The smallest and the largest eigenvalue of A: m and M.
    fn curvatures() -> (f64, f64) {
        let [[a, b], [_, d]] = Self::A;
        let (middle, half) = ((a + d) / 2.0, ((a - d) / 2.0).hypot(b));
        (middle - half, middle + half)
    }
}

impl Function for Bowl {
    fn layout(&self) -> Layout {
        Layout::binary(2)
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        Self::energy(x.words()[0] as usize) as f32
    }
    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        Self::slope(x.words()[0] as usize)[site] as f32
    }
}

/// ACS Theorems 5.4 and 5.5: after n cycles whose last step has (α, β) the total variation from p is at most (1 − ε)ⁿ.
#[test]
fn a_log_concave_target_is_reached_as_fast_as_the_theorem_says() {
    let distribution = Distribution::from_energies(2, (0..4).map(Bowl::energy).collect());
    let states: Vec<_> = (0..4).map(|state| vec![state]).collect();
    let (least, largest) = Bowl::curvatures();
    let (step_size, balance) = (1.0f32, 0.5f32);
    let (a, b) = (f64::from(step_size), f64::from(balance));
    assert!(a < 1.0 / (b * largest) && 1.5 < 1.0 / (0.75 * largest), "the theorem's condition on α");
    let flattest = (0..4).map(|x| Bowl::slope(x)[0].hypot(Bowl::slope(x)[1])).fold(f64::INFINITY, f64::min);
    let diameter = 2f64.sqrt();
    let curved = 1.0 / (2.0 * a) + b * largest - b * least / 2.0;
    let epsilon = (-curved * diameter * diameter - flattest * diameter).exp();
    assert!(epsilon > 0.15, "a bound that says something: {epsilon}");

    // Whether the bound holds from every start, for so many cycles.
    let holds = |kernels: &[Langevin<'_>]| {
        let cycle = kernels
            .iter()
            .map(|kernel| {
                let found = transitions(&Plain(Bowl), kernel, &states);
                matrix(4, |x, y| found.moves(x, y))
            })
            .reduce(|whole, part| product(&whole, &part))
            .unwrap();
        let mut power = cycle.clone();
        (1..=40).all(|cycles| {
            let far = |row: &Vec<f64>| {
                row.iter().zip(&distribution.probabilities).map(|(p, q)| (p - q).abs()).sum::<f64>() / 2.0
            };
            let worst = power.iter().map(far).fold(0.0, f64::max);
            power = product(&power, &cycle);
            worst <= (1.0 - epsilon).powi(cycles)
        })
    };
    let bold = Langevin::balanced(1.5, 0.75).unwrap();
    let local = Langevin::balanced(step_size, balance).unwrap();
    assert!(holds(&[local]) && holds(&[bold, local]));
    // Negative controls: a last step that is smaller than it says alone, and one without the Metropolis test.
    assert!(!holds(&[Langevin::balanced(step_size / 10.0, balance).unwrap()]));
    assert!(!holds(&[bold, Langevin::unadjusted(step_size).unwrap()]));
}

#[test]
fn a_chain_is_at_its_position() {
    // Each step is that of the position's kernel, weights that were made with other parameters are not
    // used, and a chain that was stopped at any step goes on in the cycle.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let kernels = kernels::<7>(2.0, 0.3);
    let cycle = Cycle::new(&kernels).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let mut other = heap::random_chain(&energy, &mut rng).unwrap();
    let mut compared = 0;
    for step in 0..2000u64 {
        assert_eq!(chain.steps(), step);
        let words = chain.state().words().to_vec();
        let state = Packed::new(energy.layout(), &words).unwrap();
        other.restart(state).unwrap();
        let kept = Chain::resume(&energy, heap::memory(&energy), state, chain.core());
        let (mut resumed, mut rng_again) = (kept.unwrap(), rng.clone());
        let info = chain.step(&cycle, &mut rng);
        assert_eq!(info, resumed.step(&cycle, &mut rng_again), "step {step}");
        assert_eq!(chain.state(), resumed.state(), "step {step}");
        assert_eq!(chain.energy().to_bits(), resumed.energy().to_bits(), "step {step}");
        if info.moved() > 0 {
            let kernel = &kernels[(step % 7) as usize];
            let said = kernel.transition(other.ring(), chain.state()).unwrap();
            assert_eq!(info.log_ratio.to_bits(), said.log_ratio.to_bits(), "step {step}");
            compared += 1;
        }
    }
    assert!(compared > 500, "only {compared} moves to compare");
    chain.restart(other.state()).unwrap();
    assert_eq!(chain.steps(), 0, "a new start is at the first position");
}

#[test]
fn stuck_generators_end_and_stay_legal() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 3.0, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let kernels = kernels::<7>(60.0, 0.05);
    for (name, mut rng) in Stuck::all() {
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        chain.run(&Cycle::new(&kernels).unwrap(), &mut rng, 200, &mut ());
        assert!(Packed::new(energy.layout(), chain.state().words()).is_ok(), "{name}");
        assert_eq!((chain.faults(), chain.steps()), (0, 200), "{name}");
    }
}
