//! Learning an Ising model whose distribution is known exactly. Every method finds it, and broken ones do not.

use bitmc::energy::Boltzmann;
use bitmc::learn::CyclicalLearning;
use bitmc::random::uniform;
use bitmc::tune::CycleSettings;
use bitmc::{
    Bernoulli, Chain, Energy, Gibbs, GibbsWithGradients, LaneRng, Langevin, Layout, Packed, SeedableRng,
};
use bitmc_desktop::bits::BitRows;
use bitmc_desktop::chains::memory;
use bitmc_desktop::checkpoint::Checkpoint;
use bitmc_desktop::learn::{
    Annealing, Family, IsingFamily, Learned, Learner, Method, Mover, NetworkFamily, Objective, Plan, RbmFamily,
    RunningFloor, Split, independent, measure,
};
use bitmc_desktop::{Error, Model};

const SITES: usize = 6;

const FIELDS: [f64; SITES] = [0.3, -0.2, 0.0, 0.5, -0.4, 0.1];

/// A ring with a chord.
const EDGES: [(usize, usize, f64); 7] =
    [(0, 1, 0.6), (1, 2, -0.5), (2, 3, 0.4), (3, 4, 0.7), (4, 5, -0.3), (0, 5, 0.5), (1, 4, -0.6)];

/// The probability of every state, in f64.
fn distribution(fields: &[f64], coupling: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let weight = |state: usize| {
        let spin = |site: usize| if state >> site & 1 == 1 { 1.0 } else { -1.0 };
        let pairs = (0..SITES).flat_map(|a| (a + 1..SITES).map(move |b| (a, b)));
        let pairs: f64 = pairs.map(|(a, b)| coupling(a, b) * spin(a) * spin(b)).sum();
        (pairs + fields.iter().enumerate().map(|(site, field)| field * spin(site)).sum::<f64>()).exp()
    };
    let weights: Vec<f64> = (0..1 << SITES).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn truth() -> Vec<f64> {
    let coupling = |a, b| EDGES.iter().find(|edge| (edge.0, edge.1) == (a, b)).map_or(0.0, |edge| edge.2);
    distribution(&FIELDS, coupling)
}

/// Σ p ln(p/q), of the truth p and what was learned, q.
fn divergence(learned: &Learned) -> f64 {
    let numbers = learned.theta.as_flattened();
    let fields: Vec<f64> = numbers[..SITES].iter().map(|&field| field.into()).collect();
    let coupling = |a, b| f64::from(numbers[Boltzmann::coupling(SITES, a, b).expect("two sites")]);
    let q = distribution(&fields, coupling);
    truth().iter().zip(q).map(|(p, q)| p * (p / q).ln()).sum()
}

/// Draws from the truth.
fn source() -> impl Fn(&mut LaneRng, &mut [u32]) + Sync {
    let p = truth();
    move |rng: &mut LaneRng, words: &mut [u32]| {
        let mut left = f64::from(uniform(rng));
        let state = p.iter().position(|p| {
            left -= p;
            left < 0.0
        });
        words[0] = state.unwrap_or(0) as u32;
    }
}

const PLAN: Plan = Plan {
    seed: 1,
    iterations: 1500,
    batch: 200,
    replay: 0,
    rate: 0.03,
    lasso: 0.0,
    decay: 0.0,
    clip: 0.0,
    biases: true,
    parts: 2,
};

fn learn(method: Method) -> Learned {
    let family = IsingFamily { sites: SITES };
    Learner::new(&family, source(), method, PLAN).run().expect("a legal run")
}

#[test]
fn every_method_finds_the_distribution_and_wrong_ones_do_not() {
    let cycle =
        CyclicalLearning { period: 8, large: (1.0, 0.8, 5), small: (0.2, 5), retune: 8, adjusted: false };
    let right = [
        Method::Chains(Mover::Sweeps, 3),
        Method::Chains(Mover::Gibbs(Gibbs::random(1).expect("one site")), 10),
        Method::Chains(Mover::Gradients(GibbsWithGradients::new(1).expect("one site")), 10),
        Method::Chains(Mover::Langevin(Langevin::adjusted(0.3).expect("a step size")), 5),
        Method::Cyclical(CyclicalLearning { adjusted: true, ..cycle }),
        Method::Objective(Objective::RatioMatching),
        Method::Objective(Objective::PseudoLikelihood),
        Method::Objective(Objective::Guided(4)),
    ];
    let wrong = [
        // Chains that stay where they began.
        Method::Chains(Mover::Sweeps, 0),
        // Large unadjusted steps leave another distribution invariant.
        Method::Chains(Mover::Langevin(Langevin::unadjusted(2.0).expect("a step size")), 5),
        // So do those of the first iteration of a cycle in the paper, whose chains the gradient is taken from.
        Method::Cyclical(cycle),
        // Least at another distribution.
        Method::Objective(Objective::Equation3),
        Method::Objective(Objective::Uniform(4)),
    ];
    for method in right {
        let found = divergence(&learn(method));
        println!("{found:.5} {method:?}");
        assert!(found < 0.01, "{found} {method:?}");
    }
    for method in wrong {
        let found = divergence(&learn(method));
        println!("{found:.5} {method:?}");
        assert!(found > 0.03, "{found} {method:?}");
    }
}

fn rows() -> BitRows {
    let (draw, mut rng) = (source(), LaneRng::seed_from_u64(9));
    let (mut rows, mut words) = (BitRows::new(Layout::binary(SITES)), [0]);
    for _ in 0..4000 {
        draw(&mut rng, &mut words);
        rows.push(Packed::new(rows.layout(), &words).expect("bits"));
    }
    rows
}

#[test]
fn threads_do_not_change_a_bit() {
    let (family, data) = (RbmFamily { visible: SITES, hidden: 20 }, rows());
    let run = |threads: usize| {
        let plan = Plan { iterations: 50, parts: 3, ..PLAN };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let method = Method::Chains(Mover::Sweeps, 1);
        pool.install(|| Learner::new(&family, &data, method, plan).run()).expect("a legal run")
    };
    let one = run(1);
    assert!([2, 3, 7].into_iter().all(|threads| run(threads) == one));
}

#[test]
fn a_stopped_run_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.bin");
    let (family, data) = (IsingFamily { sites: SITES }, rows());
    let cycle =
        CyclicalLearning { period: 4, large: (1.0, 0.8, 2), small: (0.2, 2), retune: 3, adjusted: false };
    let methods =
        [Method::Chains(Mover::Sweeps, 1), Method::Cyclical(cycle), Method::Objective(Objective::Guided(3))];
    for method in methods {
        let plan = Plan { iterations: 60, replay: 300, ..PLAN };
        let learner = || Learner::new(&family, &data, method, plan);
        let whole = learner().run().expect("a legal run");
        let stopped = learner()
            .checkpoint(Checkpoint::at(path.clone(), 7, false))
            .watched(|look| Ok(look.iteration < 23))
            .expect("a legal run");
        assert_eq!(stopped.iterations, 23);
        let again = learner().checkpoint(Checkpoint::at(path.clone(), 7, true)).run().expect("a legal run");
        assert!(again == whole, "{method:?}");
        // Another run does not take the file.
        let other = Learner::new(&family, &data, method, Plan { rate: 0.01, ..plan });
        let refused = other.checkpoint(Checkpoint::at(path.clone(), 7, true)).run();
        assert!(matches!(refused, Err(Error::File { .. })), "{refused:?}");
    }
}

#[test]
fn a_run_of_other_data_another_start_or_another_family_does_not_take_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.bin");
    let (data, plan) = (rows(), Plan { iterations: 10, ..PLAN });
    let (method, kept) =
        (Method::Objective(Objective::Guided(2)), |again| Checkpoint::at(path.clone(), 5, again));
    // As many parameters: six blocks and one, and seven blocks.
    let family = RbmFamily { visible: SITES, hidden: 4 };
    let learner = || Learner::new(&family, &data, method, plan);
    let first = learner().checkpoint(kept(false)).run().expect("a legal run");
    assert!(learner().checkpoint(kept(true)).run().expect("the same run") == first);
    let refused = |run: Result<Learned, Error>, what: &str| match run {
        Err(Error::File { reason, .. }) => {
            assert!(reason.starts_with(&format!("the run had other options: {what}")), "{reason}");
        }
        other => panic!("{what}: {other:?}"),
    };
    let mut fewer = BitRows::new(data.layout());
    data.rows().skip(1).for_each(|row| fewer.push(Packed::new(data.layout(), row).expect("bits")));
    refused(Learner::new(&family, &fewer, method, plan).checkpoint(kept(true)).run(), "data ");
    refused(Learner::new(&family, source(), method, plan).checkpoint(kept(true)).run(), "data ");
    refused(learner().theta(vec![[0.0; 16]; first.theta.len()]).checkpoint(kept(true)).run(), "start ");
    refused(learner().base(&[0.5; SITES]).checkpoint(kept(true)).run(), "start ");
    let theta = first.theta.clone();
    let from = |base| learner().theta(theta.clone()).base(base);
    from(&[0.5; SITES]).checkpoint(kept(false)).run().expect("a legal run");
    refused(from(&[0.4; SITES]).checkpoint(kept(true)).run(), "base ");
    let other = RbmFamily { visible: SITES, hidden: 5 };
    let wider = Learner::new(&other, &data, method, plan).checkpoint(kept(true)).run();
    refused(wider, "RbmFamily { visible: 6, hidden: 4 }, not RbmFamily { visible: 6, hidden: 5 }");
    // Samples that a function draws are told apart, too.
    let learner = |odds: f32| {
        let draw = move |rng: &mut LaneRng, words: &mut [u32]| words[0] = u32::from(uniform(rng) < odds);
        Learner::new(&family, draw, method, plan)
    };
    let once = learner(0.5).checkpoint(kept(false)).run().expect("a legal run");
    assert!(learner(0.5).checkpoint(kept(true)).run().expect("the same run") == once);
    refused(learner(0.4).checkpoint(kept(true)).run(), "data ");
}

#[test]
fn families_without_units_or_sites_are_refused() {
    let data = rows();
    let none = BitRows::new(Layout::binary(0));
    assert_eq!((none.len(), none.rows().len(), none.means().len()), (0, 0, 0));
    assert!(Split::new(&none, 1).is_err());
    fn refused<F: Family>(family: &F, rows: &BitRows) {
        for method in [Method::Chains(Mover::Sweeps, 1), Method::Objective(Objective::Guided(2))] {
            let by_function = |_: &mut LaneRng, _: &mut [u32]| {};
            let run = Learner::new(family, by_function, method, PLAN).run();
            assert!(matches!(run, Err(Error::Model(_))), "{run:?}");
            let run = Learner::new(family, rows, method, PLAN).run();
            assert!(matches!(run, Err(Error::Model(_))), "{run:?}");
        }
    }
    let no_hidden = RbmFamily { visible: SITES, hidden: 0 };
    refused(&no_hidden, &data);
    assert!(no_hidden.model(&[[0.0; 16]]).is_err());
    assert!(
        RbmFamily { visible: 0, hidden: 0 }.model(&[]).is_err() && IsingFamily { sites: 0 }.model(&[]).is_err()
    );
    refused(&RbmFamily { visible: 0, hidden: 3 }, &none);
    refused(&IsingFamily { sites: 0 }, &none);
    for hidden in [&[][..], &[0], &[3, 0]] {
        refused(&NetworkFamily::new(SITES, hidden), &data);
    }
    refused(&NetworkFamily::new(0, &[3]), &none);
    refused(&NetworkFamily { widths: Vec::new() }, &none);
}

/// Tuning moves states of the persistent chains themselves, twenty at a time, and others each time.
#[test]
fn a_cycle_is_tuned_by_the_persistent_chains() {
    const EACH: usize = 20;
    let data = rows();
    // Forty sites, so that no tuner comes back to its state by chance; no steps and next to no learning: only tuning moves a chain.
    let family = IsingFamily { sites: 40 };
    let draw = |rng: &mut LaneRng, words: &mut [u32]| {
        words[0] = data.rows().next().expect("a row")[0] | (uniform(rng) < 0.5) as u32;
        words[1] = 0;
    };
    let chains = |iterations: u64, retune: u32| {
        let cycle =
            CyclicalLearning { period: 1, large: (1.0, 0.8, 0), small: (0.2, 0), retune, adjusted: true };
        let plan = Plan { iterations, batch: 50, replay: 70, rate: 1e-9, parts: 3, ..PLAN };
        Learner::new(&family, draw, Method::Cyclical(cycle), plan).run().expect("a legal run").chains
    };
    let still = chains(1, 0);
    let moved = |iterations| -> Vec<usize> {
        let tuned = chains(iterations, 1);
        assert_eq!(tuned.len(), still.len());
        (0..70).filter(|state| tuned[2 * state..][..2] != still[2 * state..][..2]).collect()
    };
    assert_eq!(chains(3, 0), still, "nothing else moves them");
    let [once, twice, all] = [1, 2, 4].map(moved);
    assert_eq!((once.len(), twice.len(), all.len()), (EACH, 2 * EACH, 70));
    assert!(once.iter().all(|state| twice.contains(state)));
}

/// The floor is the mean of what was found less its standard deviation. Where an energy is rougher it begins anew.
#[test]
fn the_running_floor_rises_and_begins_anew() {
    // Fair bits: every step size has the rate 1.
    let easy = Bernoulli::new(&[0.0; 64]).expect("finite");
    // Large odds at every site: what flips many of them at once is hardly ever good.
    let rough = Bernoulli::new(&[2.5; 64]).expect("finite");
    let mut rng = LaneRng::seed_from_u64(4);
    let (mut floor, mut found) = (RunningFloor::default(), Vec::new());
    let mut cycle =
        CyclicalLearning { period: 8, large: (1.0, 0.8, 5), small: (0.2, 5), retune: 8, adjusted: true };
    let settings = CycleSettings { steps: 40, burn_in: 20, rounds: 6, ..CycleSettings::default() };
    assert_eq!(floor.value(), RunningFloor::LOWEST);
    let start = [0; 2];
    for searches in 1..16 {
        let state = Packed::new(easy.layout(), &start).expect("zeros");
        let mut chain = Chain::new(&easy, memory(&easy), state).expect("a start");
        let steps = floor.tune(&mut cycle, settings, std::slice::from_mut(&mut chain), &mut rng);
        assert!(steps.expect("legal settings") > 0 && floor.searches() == searches);
        found.push(cycle.small.0);
        let mean = found.iter().sum::<f32>() / searches as f32;
        let sd = (found.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / searches as f32).sqrt();
        assert!((floor.value() - (mean - sd).max(RunningFloor::LOWEST)).abs() < 1e-5, "{found:?}");
    }
    assert!(floor.value() > 2.0 * RunningFloor::LOWEST, "{floor:?}");
    let state = Packed::new(rough.layout(), &start).expect("zeros");
    let mut chain = Chain::new(&rough, memory(&rough), state).expect("a start");
    floor.tune(&mut cycle, settings, std::slice::from_mut(&mut chain), &mut rng).expect("legal settings");
    assert!(floor.searches() == 1 && cycle.small.0 < found[14], "{floor:?}");
}

#[test]
fn wrong_input_is_refused() {
    let (family, data) = (IsingFamily { sites: SITES }, rows());
    let method = Method::Chains(Mover::Sweeps, 1);
    let run = |plan: Plan| Learner::new(&family, &data, method, plan).run();
    for plan in [
        Plan { batch: 0, ..PLAN },
        Plan { parts: 0, ..PLAN },
        Plan { parts: 201, ..PLAN },
        Plan { rate: f32::NAN, ..PLAN },
        Plan { rate: -1.0, ..PLAN },
        Plan { lasso: f32::NAN, ..PLAN },
        Plan { decay: -1.0, ..PLAN },
        Plan { clip: f32::NAN, ..PLAN },
    ] {
        assert!(run(plan).is_err(), "{plan:?}");
    }
    let (other, none) = (IsingFamily { sites: 7 }, BitRows::new(Layout::binary(SITES)));
    assert!(Learner::new(&other, &data, method, PLAN).run().is_err());
    assert!(Learner::new(&family, &none, method, PLAN).run().is_err());
    assert!(Learner::new(&family, &data, method, PLAN).base(&[0.0; 5]).run().is_err());
    assert!(Learner::new(&family, &data, method, PLAN).theta(vec![[0.0; 16]; 3]).run().is_err());
    let draws = |draws| Learner::new(&family, &data, Method::Objective(Objective::Guided(draws)), PLAN).run();
    assert!(draws(0).is_err() && draws(65).is_err() && draws(130).is_err());
    assert!(draws(128).is_ok());
    // The ratio of Eq. 3 overflows where a neighbour is far less likely.
    let network = NetworkFamily::new(SITES, &[8]);
    let steep = Plan { rate: 300.0, iterations: 300, ..PLAN };
    let refused = Learner::new(&network, &data, Method::Objective(Objective::Equation3), steep).run();
    assert!(matches!(refused, Err(Error::Model(_))), "{refused:?}");
    // No error on the way of a look is lost.
    let stopped = Learner::new(&family, &data, method, PLAN).watched(|_| Err(Error::option("enough")));
    assert!(matches!(stopped, Err(Error::Option(text)) if text == "enough"));
}

#[test]
fn a_learned_machine_explains_data_held_out() {
    let (family, split) =
        (RbmFamily { visible: SITES, hidden: 16 }, Split::new(&rows(), 1000).expect("two parts"));
    let plan = Plan { iterations: 1500, rate: 0.02, ..PLAN };
    let learned = Learner::new(&family, &split.train, Method::Chains(Mover::Sweeps, 2), plan)
        .base(&split.fields)
        .run()
        .expect("a legal run");
    let model = bitmc::Rbm::from_parameters(&learned.theta, SITES, 16).expect("parameters");
    let annealing = Annealing { seed: 1, runs: 200, betas: 200, sweeps: 10, step_size: 0.35, power: 4 };
    let (found, ends) = measure(&model, &split, annealing, &bitmc::BlockGibbs).expect("a legal run");
    let p = truth();
    let best = -p.iter().map(|p| p * p.ln()).sum::<f64>();
    println!("{found:?}, best -{best}, independent {:?}", independent(&split));
    assert_eq!(ends.len(), 200);
    let (low, high) = (found.test_reverse.mean, found.test_forward.mean);
    let error = found.test_forward.standard_error.hypot(found.test_reverse.standard_error);
    assert!((low - high).abs() < 4.0 * error + 0.02, "both directions agree: {found:?}");
    assert!(independent(&split).mean < -best - 0.2);
    // As likely as under the truth, but for what 3,000 rows leave open.
    assert!((high + best).abs() < 4.0 * found.test_forward.standard_error + 0.03, "{found:?}");
}

#[test]
fn a_learned_machine_is_a_file_that_the_command_reads() {
    let (family, data) = (RbmFamily { visible: SITES, hidden: 20 }, rows());
    let plan = Plan { iterations: 30, ..PLAN };
    let learned =
        Learner::new(&family, &data, Method::Chains(Mover::Sweeps, 1), plan).run().expect("a legal run");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("machine.npz");
    family.save(&learned.theta, &path).expect("a file");
    let draws = |model: Model| {
        let samples = model.sampler().seed(3).run().expect("a run");
        (samples.wide_values(), samples.energies(0))
    };
    let read = draws(Model::read(&path).expect("an RBM"));
    assert_eq!(read, draws(family.model(&learned.theta).expect("an RBM")));
    let other = RbmFamily { visible: SITES, hidden: 40 };
    assert!(matches!(other.save(&learned.theta, &path), Err(Error::Model(_))));
    let nowhere = folder.path().join("no").join("machine.npz");
    assert!(matches!(family.save(&learned.theta, &nowhere), Err(Error::File { .. })));
}
