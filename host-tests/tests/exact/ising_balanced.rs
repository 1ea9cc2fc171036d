//! [`IsingBalanced`]: detailed balance point by point and integrated, what its steps report, and what
//! other models and failed generators do to it. That it draws as it says is in `stat/exact_start.rs`.

use bitmc::energy::Sparse;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::{IsingBalanced, ParameterError, Transition};
use bitmc::{Energy, Ising, Kernel, LaneRng, Langevin, Packed, SeedableRng, torus};
use bitmc_host_tests::enumerate;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::listed::{Listed, count};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::noise::{Auxiliary, draw, factor};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance;
use std::cell::RefCell;

/// κ, σ, α.
const PARAMETERS: [(f32, f32, f32); 6] = [
    (1.0, f32::INFINITY, 1.0),
    (1.0, 0.7, 0.6),
    (0.75, 1.5, 0.8),
    (0.4, 0.3, 0.5),
    (2.0, 4.0, 1.0),
    (0.75, f32::INFINITY, 0.75),
];

/// A random generator's worth of u: about as far from the means as u itself goes.
fn points(components: usize, reach: f64) -> Vec<Vec<f64>> {
    let mut source = Source::new(78);
    (0..6).map(|_| (0..components).map(|_| f64::from(source.normal(reach))).collect()).collect()
}

#[test]
fn flows_balance_point_by_point() {
    let mut integrated = 0;
    for (sites, sd, seed) in [(2, 1.0, 1), (4, 0.4, 2), (4, 2.0, 3)] {
        let target = models::pairwise(Convention::SpinsEdgesOnce, sites, 1.0, sd, seed);
        let mut memory = target.couplings();
        let energy = memory.ising(&target).unwrap();
        let mut d = [[0.0; LANES]];
        let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
        let factor = factor(&noise, sites, 100);
        let reach = factor.iter().flatten().fold(0.0f64, |most, l| most.max(l.abs()));
        for (precision, step_size, balance) in PARAMETERS {
            let sampler = IsingBalanced::new(noise, step_size, balance).unwrap();
            let sampler = sampler.precision(precision).unwrap();
            let transition = |from: &[u32], to: Packed<'_>, eta: &[Block]| -> Transition {
                let mut chain = heap::chain(&energy, from).unwrap();
                sampler.transition_given(chain.ring(), to, eta).unwrap()
            };
            let auxiliary = |without_auxiliary| Auxiliary {
                layout: energy.layout(),
                states: (0..1 << sites).map(|state| (0..sites).map(|i| (state >> i) & 1).collect()).collect(),
                log_pi: (0..1 << sites).map(|x| -target.energy(&enumerate::values(x, sites))).collect(),
                transition: &transition,
                factor: factor.clone(),
                precision: f64::from(precision),
                without_auxiliary,
            };
            let name = format!("sd {sd}, κ {precision}, σ {step_size}, α {balance}");
            let (right, broken) = (auxiliary(false), auxiliary(true));
            let points = points(right.components(), 1.0 + 2.0 * reach);
            let asymmetry = right.asymmetry(&points);
            assert!(asymmetry <= tolerance::ASYMMETRY, "{name}: {asymmetry}");
            assert!(
                broken.asymmetry(&points) > 100.0 * tolerance::ASYMMETRY,
                "{name}: the broken variant passes"
            );
            // It says what the way back has without making it: the way back says the same.
            for u in &points {
                for (x, y) in (0..1 << sites).flat_map(|x| (0..x).map(move |y| (x, y))) {
                    let (there, back) = (right.given(x, y, u), right.given(y, x, u));
                    let off = (there.log_reverse - back.log_forward).abs();
                    let far = there.log_reverse < tolerance::LEAST_FLOW.ln();
                    assert!(far || off <= tolerance::ASYMMETRY, "{name}: {there:?} {back:?}");
                }
            }
            if right.few_components() {
                let (found, variant) = (right.integrate(), broken.integrate());
                integrated += 1;
                assert!(found.passes(), "{name}, integrated: {found:?}");
                assert!(!variant.passes(), "{name}, integrated: the broken variant passes {variant:?}");
            }
        }
    }
    // Two sites, one edge.
    assert_eq!(integrated, PARAMETERS.len());
}

fn on_torus(side: u32, other: u32, coupling: impl Fn(u32) -> f32) -> Pairwise {
    let edges = torus(side, other, 1.0).map(|(i, j, _)| (i, j, coupling(i / 50))).collect();
    Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields: vec![0.1; (side * other) as usize] }
}

/// A torus whose edges make runs, and a model where they do not.
fn targets() -> [Pairwise; 2] {
    [on_torus(12, 11, |_| 0.4), models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6)]
}

#[test]
fn steps_of_a_torus_whose_fields_move_by_runs_report_what_transitions_say() {
    // So large that rows are not at hand; a seventh of the runs of another coupling and sign, which may be the first.
    for (other, rest) in [(3, 0.4), (0, 0.4), (3, -0.4)] {
        let model = on_torus(150, 111, |fifty| if fifty % 7 == other { -0.75 * rest } else { rest });
        check_steps(&model, 120);
    }
}

#[test]
fn steps_report_what_transitions_say() {
    targets().iter().for_each(|model| check_steps(model, 2000));
}

fn check_steps(model: &Pairwise, steps: usize) {
    let mut couplings = model.couplings();
    let energy = couplings.ising(model).unwrap();
    let layout = energy.layout();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = vec![[0.0; LANES]; layout.blocks()];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let mut other = heap::random_chain(&energy, &mut rng).unwrap();
    let held = heap::pack(&(0..layout.sites()).map(|i| f64::from(i % 5 == 2)).collect::<Vec<_>>());
    let held = Packed::new(layout, &held).unwrap();
    let sampler = |step_size, balance| IsingBalanced::new(noise, step_size, balance).unwrap();
    // The second to the fourth add up what flips, with a bound on the step, without one, and for its bound alone.
    let samplers = [
        (sampler(f32::INFINITY, 1.0), 1.0),
        (sampler(1.0, 0.8), 1.0),
        (sampler(f32::INFINITY, 0.75), 1.0),
        (sampler(2.0, 1.0), 1.0),
        (sampler(f32::INFINITY, 0.75).precision(0.75).unwrap(), 0.75),
    ];
    // Kernels that keep weights run between: weights kept past their time would show.
    let between = Langevin::adjusted(0.2).unwrap();
    let (mut compared, mut rejected) = (0, 0);
    for step in 0..steps {
        match step % 40 {
            10 => (chain.clamp(held).unwrap(), other.clamp(held).unwrap()),
            30 => (chain.release(), other.release()),
            _ => ((), ()),
        };
        if step % 9 == 8 {
            chain.step(&between, &mut rng);
        }
        let number = step / 3 % samplers.len();
        let (sampler, precision) = &samplers[number];
        let before = chain.state().words().to_vec();
        other.restart(chain.state()).unwrap();
        let mut eta = draw(&noise, layout.blocks(), 1, &mut rng.clone());
        eta.as_flattened_mut().iter_mut().for_each(|eta| *eta *= (1.0f32 / precision).sqrt());
        let info = chain.step(sampler, &mut rng);
        if number == 0 {
            // Everything cancels, not up to rounding.
            assert!(info.accepted && info.log_ratio == 0.0, "step {step}: {info:?}");
        }
        if info.moved() > 0 {
            let said = sampler.transition_given(other.ring(), chain.state(), &eta).unwrap();
            assert_eq!(info.log_ratio.to_bits(), said.log_ratio.to_bits(), "step {step}");
            assert_eq!(info.difference.to_bits(), said.difference.to_bits(), "step {step}");
            compared += 1;
        } else {
            assert_eq!(chain.state().words(), before);
            rejected += 1;
        }
        let exact = model.energy(&heap::unpack(chain.state()));
        assert!((f64::from(chain.energy()) - exact).abs() < 1e-3, "step {step}");
    }
    assert!(compared > steps / 6 && rejected > steps / 100, "{compared} moves, {rejected} rejected");
}

#[test]
fn a_clamped_site_is_never_proposed() {
    let model = &targets()[1];
    let mut couplings = model.couplings();
    let energy = couplings.ising(model).unwrap();
    let mut d = vec![[0.0; LANES]; 5];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let mut chain = heap::chain(&energy, &[0; 3]).unwrap();
    chain.clamp(Packed::new(energy.layout(), &[4, 0, 0]).unwrap()).unwrap();
    let sampler = IsingBalanced::new(noise, 1.0, 0.8).unwrap();
    let mut said = |to: u32| {
        let to = [to, 0, 0];
        sampler.transition_given(chain.ring(), Packed::new(energy.layout(), &to).unwrap(), &[]).unwrap()
    };
    assert_eq!((said(6).log_forward, said(6).log_ratio), (f32::NEG_INFINITY, f32::NEG_INFINITY));
    assert!(said(2).log_forward.is_finite() && said(2).log_ratio.is_finite());
}

#[test]
fn stuck_generators_end_and_stay_legal() {
    // The torus has couplings of one magnitude.
    let [torus, other] = targets();
    for (model, discrete) in [(&torus, false), (&torus, true), (&other, false)] {
        let mut couplings = model.couplings();
        let energy = couplings.ising(model).unwrap();
        let layout = energy.layout();
        let mut d = vec![[0.0; LANES]; layout.blocks()];
        let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
        let held: Vec<f64> = (0..layout.sites()).map(|i| f64::from(i % 5 == 2)).collect();
        let held = heap::pack(&held);
        for (name, mut stuck) in Stuck::all() {
            let mut chain = heap::random_chain(&energy, &mut LaneRng::seed_from_u64(5)).unwrap();
            chain.clamp(Packed::new(layout, &held).unwrap()).unwrap();
            let before = chain.state().words().to_vec();
            for (precision, step_size, balance) in PARAMETERS {
                let make = if discrete { IsingBalanced::discrete } else { IsingBalanced::new };
                let sampler = make(noise, step_size, balance).unwrap().precision(precision).unwrap();
                for _ in 0..10 {
                    let info = Kernel::step(&sampler, chain.ring(), &mut stuck);
                    assert!(!info.fault && !info.log_ratio.is_nan(), "{name}");
                }
            }
            assert!(Packed::new(layout, chain.state().words()).is_ok(), "{name}");
            for ((now, before), held) in chain.state().words().iter().zip(&before).zip(&held) {
                assert_eq!((now ^ before) & held, 0, "{name}: a clamped site moved");
            }
        }
    }
}

#[test]
fn other_models_are_faults_and_bad_parameters_have_names() {
    let edges = || (0..19).map(|site| (site, site + 1, 0.5));
    let (mut memory, mut second) = (Couplings::new(20, 20), Couplings::new(20, 20));
    let energy = Ising::bits_edges_once(20, edges(), &[], memory.borrow()).unwrap();
    let other = Ising::bits_edges_once(20, edges(), &[], second.borrow()).unwrap();
    let mut rng = LaneRng::seed_from_u64(5);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let before = chain.state().words().to_vec();
    let diagonal = [0.5; 20];
    let with_diagonal = SparseMatrix::with_diagonal(energy.form(), &diagonal).unwrap();
    for matrix in [SparseMatrix::of(other.form()), with_diagonal, SparseMatrix::minus(energy.form())] {
        let mut d = [[0.0; LANES]; 2];
        let kernel = IsingBalanced::new(Edgewise::new(matrix, &mut d).unwrap(), 1.0, 0.8).unwrap();
        let info = chain.step(&kernel, &mut rng);
        assert!(info.fault && !info.accepted && chain.state().words() == before);
        assert!(
            kernel
                .transition_given(chain.ring(), Packed::new(energy.layout(), &[0]).unwrap(), &[])
                .unwrap()
                .fault
        );
    }
    assert_eq!(chain.faults(), 3);
    let mut d = [[0.0; LANES]; 2];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    for bad in [0.0, -1.0, f32::NAN, 1e-39] {
        assert!(matches!(IsingBalanced::new(noise, bad, 0.5), Err(ParameterError::StepSize(_))), "{bad}");
    }
    for bad in [0.0, 1.5, f32::NAN] {
        assert!(matches!(IsingBalanced::new(noise, 1.0, bad), Err(ParameterError::Balance(_))), "{bad}");
    }
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e30, 1.1e6, 0.9e-6, 1e-30] {
        let kernel = IsingBalanced::new(noise, 1.0, 0.5).unwrap();
        assert!(matches!(kernel.precision(bad), Err(ParameterError::Precision(_))), "{bad}");
    }
}

/// The probability that a site without couplings flips, counted: all values of its sixteen bits, and of the words that
/// decide where they do not.
fn flips(field: f32, up: bool, metropolis: bool) -> (f64, f64) {
    let mut memory = Couplings::new(1, 0);
    let energy = Ising::bits_edges_once(1, [], &[field], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0).unwrap();
    let sampler = if metropolis { sampler.metropolis_flips().unwrap() } else { sampler };
    let chain = RefCell::new(heap::chain(&energy, &[0]).unwrap());
    let moves = |half: u32, rest: u64| {
        let mut chain = chain.borrow_mut();
        chain.restart(Packed::new(energy.layout(), &[u32::from(up)]).unwrap()).unwrap();
        let mut words = [u32::MAX; 2 * LANES];
        (words[0], words[LANES], words[LANES + 1]) = (half | 0xFFFF_0000, (rest >> 32) as u32, rest as u32);
        Kernel::step(&sampler, chain.ring(), &mut Listed(&words)).moved() == 1
    };
    let (mut sure, mut tied) = (0, Vec::new());
    for half in 0..1 << 16 {
        match (moves(half, 0), moves(half, u64::MAX)) {
            (true, true) => sure += 1,
            (false, false) => (),
            (low, _) => tied.push((half, low)),
        }
    }
    assert!(tied.len() <= 1, "{tied:?} undecided");
    let range = 1u128 << 64;
    let shares = tied.iter().map(|&(half, low)| {
        let share = count(range, |rest| moves(half, rest as u64) == low) as f64 / range as f64;
        if low { share } else { 1.0 - share }
    });
    let rest: f64 = shares.sum();
    ((f64::from(sure) + rest) / 65_536.0, f64::from(sure) / 65_536.0)
}

#[test]
fn sites_flip_with_the_logistic_probability_down_to_the_rarest() {
    for field in [0.0f32, 0.4, -1.3, 3.7, -9.2, 11.0, -14.5, 20.0] {
        for up in [false, true] {
            let odds = if up { -f64::from(field) } else { f64::from(field) };
            let rare = 1.0 / (1.0 + odds.abs().exp());
            let exact = if odds > 0.0 { 1.0 - rare } else { rare };
            let (found, sure) = flips(field, up, false);
            // Log odds to base 2: three roundings of their size; an exponential, 1 + e, a quotient, a difference.
            let bound = rare * tolerance::ROUNDING * (3.0 * odds.abs() + 10.0) + 2f64.powi(-60);
            let off = (found - exact).abs();
            // That more than 16 bits count is 2^-16 of q near 1/2, and all of it where it is small.
            println!("{odds}: {exact:e}, off by {:.2} of the bound", off / bound);
            assert!(off <= bound, "log odds {odds}: {found:e} for {exact:e}");
            // Negative control: what the sixteen bits decide alone; they do where the odds are even.
            assert!(odds == 0.0 || (sure - exact).abs() > bound, "log odds {odds}: the broken variant passes");
        }
    }
}

/// So many edges that fields move by runs where there are some, and by rows without.
#[test]
fn fields_of_a_large_model_are_right_with_runs_and_without() {
    let model = on_torus(150, 111, |_| 0.1);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = vec![[0.0; LANES]; energy.layout().blocks()];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let by_rows = Edgewise::new(matrix, &mut d).unwrap();
    for noise in [by_rows, by_rows.by_runs(&mut runs).unwrap()] {
        let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0).unwrap();
        let mut rng = LaneRng::seed_from_u64(3);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        for _ in 0..3 {
            let info = chain.step(&sampler, &mut rng);
            assert!(info.accepted && info.moved() > 1000, "{info:?}");
            let exact = model.energy(&heap::unpack(chain.state()));
            assert!((f64::from(chain.energy()) - exact).abs() < 1e-2, "{} {exact}", chain.energy());
        }
    }
}

/// A star whose sites all go up at once: the sum of them around its centre is past sixteen bits.
#[test]
fn a_site_of_more_couplings_than_sixteen_bits_count_has_its_field() {
    const LEAVES: u32 = 33_000;
    let edges = (1..=LEAVES).map(|leaf| (0, leaf, 1.0 / 1024.0)).collect();
    let fields = vec![100.0; LEAVES as usize + 1];
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges, fields };
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = vec![[0.0; LANES]; energy.layout().blocks()];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
    let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0).unwrap();
    let mut chain = heap::chain(&energy, &vec![0; energy.layout().words()]).unwrap();
    let info = chain.step(&sampler, &mut LaneRng::seed_from_u64(1));
    assert_eq!((info.accepted, info.moved()), (true, LEAVES + 1));
    let exact = model.energy(&heap::unpack(chain.state()));
    assert!((f64::from(chain.energy()) - exact).abs() < 1.0, "{} {exact}", chain.energy());
}

/// A probability that is a power of two is met to half a rounding: below it, uniforms are twice as close to one another.
#[test]
fn a_rare_flip_of_a_power_of_two_is_drawn_that_often() {
    let field = -17.0 * core::f32::consts::LN_2;
    let (found, _) = flips(field, false, true);
    let off = (found * 2f64.powi(17) - 1.0).abs();
    assert!(off <= 0.5 * tolerance::ROUNDING, "{found:e}, off by {off:e}");
}

/// Sites 0 and 16 share a word of noise, whose halves both fall where more bits decide: the one's, then the other's.
#[test]
fn two_ties_of_one_word_are_decided_one_by_one() {
    let mut memory = Couplings::new(32, 0);
    let energy = Ising::bits_edges_once(32, [], &[-1.3; 32], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 2];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0).unwrap();
    let tie = (65_536.0 / (1.0 + 1.3f64.exp())) as u32;
    for (low, high) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut words = vec![u32::MAX; LANES];
        words[0] = tie | tie << 16;
        // A uniform of 0 takes two words.
        for rare in [low, high] {
            words.extend(if rare { &[0, 0][..] } else { &[u32::MAX] });
        }
        words.extend([0; 4]);
        // A 1 is rare, whether the site flips to it or stays.
        for start in [0, 1 | 1 << 16] {
            let mut chain = heap::chain(&energy, &[start]).unwrap();
            Kernel::step(&sampler, chain.ring(), &mut Listed(&words));
            assert_eq!(chain.state().words(), [u32::from(low) | u32::from(high) << 16], "{start}");
        }
    }
}

/// Of so many sites that a float's digits do not do for what flips: ln A and the way there in float64.
#[test]
fn a_million_flips_are_added_up_to_the_last_digits() {
    const SITES: usize = 1 << 20;
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges: vec![], fields: vec![0.1; SITES] };
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut d = vec![[0.0; LANES]; energy.layout().blocks()];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let mut chain = heap::chain(&energy, &vec![0; SITES / 32]).unwrap();
    let ones = vec![u32::MAX; SITES / 32];
    let to = Packed::new(energy.layout(), &ones).unwrap();
    let sampler = IsingBalanced::new(noise, f32::INFINITY, 0.5).unwrap();
    let said = sampler.transition_given(chain.ring(), to, &[]).unwrap();
    let all = SITES as f64 * f64::from(0.1f32);
    // Sixteen additions to a lane and four of lanes, three products of log odds, each rounded.
    let off = (f64::from(said.log_ratio) / (0.5 * all) - 1.0).abs();
    assert!(off <= 23.0 * tolerance::ROUNDING, "ln A: {} for {}, off by {off:e}", said.log_ratio, 0.5 * all);
    let log_forward = -(SITES as f64) * (-0.05f64).exp().ln_1p();
    let off = (f64::from(said.log_forward) / log_forward - 1.0).abs();
    assert!(off <= 23.0 * tolerance::ROUNDING, "ln q: {} for {log_forward}, off by {off:e}", said.log_forward);
}

/// r of ±2²⁷ in one lane of neighbouring words are added up before the other lanes are, and leave the 1 beside them.
#[test]
fn what_cancels_in_a_lane_leaves_the_other_lanes() {
    let mut linear = [0; 33];
    (linear[0], linear[1], linear[32]) = (1 << 27, 1, -(1 << 27));
    let energy = Ising::quadratic(Sparse::from_rows(&[0; 33], &[], &linear, 0).unwrap());
    let mut d = [[0.0; LANES]; 3];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let mut chain = heap::chain(&energy, &[0, 0]).unwrap();
    let sampler = IsingBalanced::new(noise, f32::INFINITY, 0.5).unwrap();
    let to = Packed::new(energy.layout(), &[3, 1]).unwrap();
    assert_eq!(sampler.transition_given(chain.ring(), to, &[]).unwrap().log_ratio, 0.5);
}

/// Fields of 2¹²⁷: what the flips of a lane add up to is past the floats, though E stays as it was.
#[test]
fn moves_are_accepted_without_a_bound_whatever_the_fields() {
    let mut linear = [0; 32];
    for site in [0, 16] {
        (linear[site], linear[site + 1]) = (1 << 30, -(1 << 30));
    }
    let energy = Ising::quadratic(Sparse::from_rows(&[0; 32], &[], &linear, 97).unwrap());
    let mut d = [[0.0; LANES]; 2];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0).unwrap();
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    // Sites 1 and 17 do what is rare, all others what is not.
    let mut words = vec![u32::MAX; LANES];
    words[1] = 0;
    words.extend([0; 8]);
    let info = Kernel::step(&sampler, chain.ring(), &mut Listed(&words));
    assert_eq!((info.accepted, info.proposed, info.log_ratio), (true, 4, 0.0));
    assert_eq!(chain.state().words(), [3 | 3 << 16]);
}

/// With min(1, e^z) a site of z ≥ 0 that stays makes a move impossible: in either block of a word, in both, and where e^z is 1
/// in floats.
#[test]
fn what_flips_for_sure_cannot_stay() {
    let of = |linear: &[i32; 32], exponent, to: u32| {
        let energy = Ising::quadratic(Sparse::from_rows(&[0; 32], &[], linear, exponent).unwrap());
        let mut d = [[0.0; LANES]; 2];
        let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
        let sampler = IsingBalanced::new(noise, f32::INFINITY, 1.0).unwrap().metropolis_flips().unwrap();
        let mut chain = heap::chain(&energy, &[0]).unwrap();
        let to = [to];
        let to = Packed::new(energy.layout(), &to).unwrap();
        let said = sampler.transition_given(chain.ring(), to, &[]).unwrap();
        (said.log_forward, said.log_ratio)
    };
    for (linear, exponent) in [(1, 0), (1, -30), (0, 0)] {
        let impossible = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        assert_eq!(of(&[linear; 32], exponent, u32::MAX), (0.0, 0.0), "{linear}");
        for stays in [1, 1 << 31, 1 | 1 << 31, u32::MAX, 0xFFFF, 3 << 16] {
            assert_eq!(of(&[linear; 32], exponent, !stays), impossible, "{linear}, {stays:x}");
        }
    }
}

#[test]
fn metropolis_flips_take_steps_down_to_the_least() {
    let mut memory = Couplings::new(1, 0);
    let energy = Ising::bits_edges_once(1, [], &[0.5], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let of = |step_size| IsingBalanced::new(noise, step_size, 1.0).unwrap().metropolis_flips();
    assert!(of(1.0 / 80.0).is_ok() && of(f32::INFINITY).is_ok());
    assert!(matches!(of(1.0 / 80.001), Err(ParameterError::MetropolisFlips)));
}
