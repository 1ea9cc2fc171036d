//! Sequential and chromatic Gibbs from cached fields: their conditionals, composed to the matrices of their
//! sweeps; their draws, against sweeps over the same noise in plain code; and colourings that are none.

use bitmc::random::logistics;
use bitmc::step::{ChromaticGibbs, Colouring, ColouringError, SequentialGibbs};
use bitmc::{Energy, Kernel, LaneRng, Packed, Potts, SeedableRng};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::planes::Tables;
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::Table;

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const HELD: u32 = 0b10_0110;

/// The matrix of drawing all sites of a class at once, given p(site takes a value | x).
fn class(space: &Space, held: u32, class: &[usize], p: impl Fn(usize, usize, u32) -> f64) -> Table {
    let entry = |x: usize, y: usize| {
        let site = |site: usize| {
            let (from, to) = (space.state(x).get(site), space.state(y).get(site));
            match class.contains(&site) && (held >> site) & 1 == 0 {
                true => p(x, site, to),
                false => f64::from(u8::from(from == to)),
            }
        };
        (0..space.layout.sites()).map(site).product()
    };
    Table { rows: (0..space.states()).map(|x| (0..space.states()).map(|y| entry(x, y)).collect()).collect() }
}

fn sweep(space: &Space, held: u32, classes: &[Vec<usize>], p: impl Fn(usize, usize, u32) -> f64) -> Table {
    let first = Table::identity(space.states());
    classes.iter().fold(first, |sweep, sites| sweep.then(&class(space, held, sites, &p)))
}

fn classes(colouring: Colouring<'_>, sites: usize) -> Vec<Vec<usize>> {
    let members = |class: Packed<'_>| (0..sites).filter(|&site| class.get(site) == 1).collect();
    colouring.classes().map(members).filter(|class: &Vec<usize>| !class.is_empty()).collect()
}

/// Checks a sweep, a sweep that takes all sites for one class, and the draws of a kernel.
fn judge<E: Energy, K: Kernel<E>>(
    name: &str,
    (space, energy): (&Space, &E),
    kernel: &K,
    classes: &[Vec<usize>],
    p: impl Fn(usize, usize, u32) -> f64,
) {
    let mut rng = LaneRng::seed_from_u64(23);
    for held in [0, HELD] {
        let distribution = space.given(held, space.states() - 1);
        let right = sweep(space, held, classes, &p);
        let verdict = distribution.judge(&right);
        assert!(verdict.stationary(), "{name}, held {held:b}: {verdict:?}");
        let wrong = class(space, held, &(0..space.layout.sites()).collect::<Vec<_>>(), &p);
        assert!(held != 0 || !distribution.judge(&wrong).stationary(), "{name}: a wrong colouring is not seen");
        let (mut chain, from) = (space.chain(energy, held), space.states() / 2 + 1);
        let counts = space.counts(&mut chain, kernel, from, 50_000, &mut rng);
        chi_square(&format!("{name}, held {held:b}"), &counts, &right.rows[from]).must_pass();
        if held == 0 {
            chi_square("all sites at once", &counts, &wrong.rows[from]).must_fail();
        }
    }
}

#[test]
fn ising_models() {
    for (seed, scale) in [0.4, 1.0, 3.0].into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.4, scale, seed as u64);
        let (space, mut couplings) = (Space::binary(&model), model.couplings());
        let energy = couplings.ising(&model).unwrap();
        let mut chain = space.chain(&energy, 0);
        let odds: Vec<Vec<f64>> = (0..space.states())
            .map(|x| {
                chain.restart(space.state(x)).unwrap();
                (0..6).map(|site| f64::from(SequentialGibbs::log_odds(&chain.ring(), site))).collect()
            })
            .collect();
        let p = |x: usize, site: usize, to: u32| {
            let z = odds[x][site] * if to == 1 { 1.0 } else { -1.0 };
            1.0 / (1.0 + (-z).exp())
        };
        let each: Vec<Vec<usize>> = (0..6).map(|site| vec![site]).collect();
        judge(&format!("sequential, sd {scale}"), (&space, &energy), &SequentialGibbs, &each, p);
        let mut memory = [0; Colouring::words(6, 6)];
        let colouring = Colouring::greedy(energy.form(), &mut memory).unwrap();
        let kernel = ChromaticGibbs::new(colouring);
        let classes = classes(colouring, 6);
        assert!(classes.len() < 6, "some sites are not coupled");
        judge(&format!("chromatic, sd {scale}"), (&space, &energy), &kernel, &classes, p);
    }
}

#[test]
fn strong_couplings() {
    // No draw shows these: the probabilities do.
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesTwice, 6, 0.8, scale, seed as u64);
        let (space, mut couplings) = (Space::binary(&model), model.couplings());
        let energy = couplings.ising(&model).unwrap();
        let mut chain = space.chain(&energy, 0);
        for x in 0..space.states() {
            chain.restart(space.state(x)).unwrap();
            let gradient = model.gradient(&heap::unpack(space.state(x)));
            for (site, gradient) in gradient.into_iter().enumerate() {
                // All numbers are multiples of 1/64 and small: both are exact.
                assert_eq!(f64::from(SequentialGibbs::log_odds(&chain.ring(), site)), -gradient);
            }
        }
    }
}

#[test]
fn potts_models() {
    let mut source = Source::new(12);
    for (sites, arity, scale) in [(4, 3, 0.5), (3, 4, 1.0), (4, 3, 3.0)] {
        // A path, and a bond across it.
        let mut edges: Vec<_> = (1..sites as u32).map(|b| (b - 1, b, source.coarse(scale))).collect();
        edges.push((0, 2, source.coarse(scale)));
        let fields: Vec<f32> = (0..sites * arity).map(|_| source.coarse(0.5)).collect();
        let mut couplings = Couplings::new(sites, edges.len());
        let model = Potts::new(sites, arity, edges.iter().copied(), &fields, couplings.borrow()).unwrap();
        let table = Tables::potts(&edges, arity, &fields);
        let space = Space::tables(&table, model.layout());
        let mut memory = vec![0; Colouring::words(sites, 3)];
        let colouring = Colouring::greedy(model.form(), &mut memory).unwrap();
        let mut chain = space.chain(&model, 0);
        let log_p: Vec<Vec<Vec<f32>>> = (0..space.states())
            .map(|x| {
                chain.restart(space.state(x)).unwrap();
                let mut conditional = |site| {
                    let mut out = vec![f32::NAN; arity];
                    ChromaticGibbs::conditional(chain.ring(), site, &mut out);
                    out
                };
                (0..sites).map(&mut conditional).collect()
            })
            .collect();
        let p = |x: usize, site: usize, to: u32| f64::from(log_p[x][site][to as usize]).exp();
        let (kernel, classes) = (ChromaticGibbs::new(colouring), classes(colouring, sites));
        judge(&format!("Potts {sites} of {arity}"), (&space, &model), &kernel, &classes, p);
    }
}

/// One sweep in plain code: sites in the order given, each 1 where its noise is below its field.
fn plain(model: &Pairwise, x: &mut [f64], held: &[usize], order: impl Iterator<Item = usize>, noise: &[f32]) {
    for site in order.filter(|site| !held.contains(site)) {
        x[site] = f64::from(u8::from(f64::from(noise[site]) < -model.gradient(x)[site]));
    }
}

/// Sweeps in turn and by colours beside plain code, bit for bit; every seventh site is held.
fn compare(model: &Pairwise, steps: usize) {
    let sites = model.fields.len();
    let mut couplings = model.couplings();
    let energy = couplings.ising(model).unwrap();
    let mut memory = vec![0; Colouring::words(sites, 20)];
    let colouring = Colouring::greedy(energy.form(), &mut memory).unwrap();
    let coloured: Vec<usize> = classes(colouring, sites).concat();
    let held: Vec<usize> = (0..sites).filter(|site| site % 7 == 3).collect();
    let mask: Vec<f64> = (0..sites).map(|site| f64::from(u8::from(held.contains(&site)))).collect();
    let mut rng = LaneRng::seed_from_u64(24);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    chain.clamp(Packed::new(energy.layout(), &heap::pack(&mask)).unwrap()).unwrap();
    let (mut x, mut copy, mut moved) = (heap::unpack(chain.state()), rng.clone(), 0);
    for step in 0..steps {
        let noise: Vec<f32> = (0..sites.div_ceil(16)).flat_map(|_| logistics(&mut copy)).collect();
        let info = if step % 2 == 0 {
            plain(model, &mut x, &held, 0..sites, &noise);
            chain.step(&SequentialGibbs, &mut rng)
        } else {
            plain(model, &mut x, &held, coloured.iter().copied(), &noise);
            chain.step(&ChromaticGibbs::new(colouring), &mut rng)
        };
        assert_eq!(heap::unpack(chain.state()), x, "{sites} sites, step {step}");
        moved += info.moved();
    }
    assert!(moved as usize > sites * steps / 15, "{sites} sites, {moved} moves");
    let truth = model.energy(&x);
    assert!(
        (f64::from(chain.energy()) - truth).abs() <= 1e-6 * sites.max(100) as f64,
        "{} {truth}",
        chain.energy()
    );
}

#[test]
fn sweeps_are_those_of_plain_code() {
    // Couplings within a block of sixteen, across blocks and across words.
    for sites in [1, 15, 16, 17, 33, 70] {
        let density = 4.0 / sites as f64;
        compare(&models::pairwise(Convention::SpinsEdgesOnce, sites, density, 0.5, sites as u64), 300);
    }
}

/// How many neighbours each site has.
fn degrees(model: &Pairwise) -> Vec<usize> {
    let mut degrees = vec![0; model.fields.len()];
    for &(a, b, _) in &model.edges {
        degrees[a as usize] += 1;
        degrees[b as usize] += 1;
    }
    degrees
}

#[test]
fn sites_numbered_by_class() {
    let sites = 1000;
    let model = models::pairwise(Convention::SpinsEdgesOnce, sites, 7e-3, 0.3, 8);
    let (mut couplings, mut memory) = (model.couplings(), vec![0; Colouring::words(sites, 20)]);
    let colouring = Colouring::greedy(couplings.ising(&model).unwrap().form(), &mut memory).unwrap();
    let mut numbers = vec![0; sites];
    colouring.numbers(&mut numbers).unwrap();
    let (number, classes) = (|site: usize| numbers[site] as usize, classes(colouring, sites));

    // Class after class, and in a class by degree.
    let degrees_before = degrees(&model);
    let mut order = classes.concat();
    let class_of = |site: usize| classes.iter().position(|class| class.contains(&site));
    order.sort_by_key(|&site| (class_of(site), degrees_before[site]));
    assert_eq!(order.iter().map(|&site| number(site)).collect::<Vec<_>>(), (0..sites).collect::<Vec<_>>());

    let mut numbered = Pairwise { convention: model.convention, edges: Vec::new(), fields: vec![0.0; sites] };
    let anew = |&(a, b, coupling): &(u32, u32, f32)| (numbers[a as usize], numbers[b as usize], coupling);
    numbered.edges = model.edges.iter().map(anew).collect();
    model.fields.iter().enumerate().for_each(|(site, &field)| numbered.fields[number(site)] = field);
    // The same distribution in other words, and the same classes.
    let mut source = Source::new(9);
    let x = source.state(sites);
    let mut y = vec![0.0; sites];
    x.iter().enumerate().for_each(|(site, &value)| y[number(site)] = value);
    assert!((model.energy(&x) - numbered.energy(&y)).abs() < 1e-9);
    let (mut couplings, mut memory) = (numbered.couplings(), vec![0; Colouring::words(sites, 20)]);
    let again = Colouring::greedy(couplings.ising(&numbered).unwrap().form(), &mut memory).unwrap();
    let mut first = 0;
    for (class, before) in self::classes(again, sites).iter().zip(&classes) {
        assert_eq!(*class, (first..first + before.len()).collect::<Vec<_>>());
        first += before.len();
    }
    assert_eq!(first, sites);

    // Rows are long, of many lengths, and mostly as long as the one before: that is a path of its own.
    let lengths = degrees(&numbered);
    assert!(lengths.iter().sum::<usize>() > 5 * sites && lengths.iter().any(|&length| length > 12));
    assert!(lengths.windows(2).filter(|pair| pair[0] != pair[1]).count() < sites / 8);
    compare(&numbered, 40);

    let error = colouring.numbers(&mut numbers[1..]).unwrap_err();
    assert_eq!(error, ColouringError::Numbers { need: sites, got: sites - 1 });
}

#[test]
fn colourings_that_are_none() {
    let path = Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: vec![(0, 1, 0.5), (1, 2, 0.5)],
        fields: vec![0.0; 3],
    };
    let (mut couplings, mut other) = (path.couplings(), path.couplings());
    let energy = couplings.ising(&path).unwrap();
    let form = energy.form();
    assert!(Colouring::new(form, &[0b101, 0b010]).is_ok());
    assert!(Colouring::new(form, &[0b101, 0b010, 0]).is_ok());
    let error = |classes: &[u32]| Colouring::new(form, classes).unwrap_err();
    assert_eq!(error(&[0b011, 0b100]), ColouringError::Coupled { a: 0, b: 1 });
    assert_eq!(error(&[0b101]), ColouringError::Uncoloured { site: 1 });
    assert_eq!(error(&[]), ColouringError::Uncoloured { site: 0 });
    assert_eq!(error(&[0b101, 0b011]), ColouringError::Twice { site: 0 });
    assert_eq!(error(&[0b1101, 0b010]), ColouringError::Padding);
    assert_eq!(Colouring::greedy(form, &mut [0]).unwrap_err(), ColouringError::Classes { site: 1 });
    assert_eq!(Colouring::greedy(form, &mut [0; 9]).unwrap().classes().count(), 2);
    let long = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.1, 1.0, 1);
    let mut memory = long.couplings();
    let long = memory.ising(&long).unwrap();
    let error = Colouring::new(long.form(), &[0; 3]).unwrap_err();
    assert_eq!(error, ColouringError::Length { class: 2, got: 3 });
    let mut room = [0; 21];
    let error = Colouring::greedy(long.form(), &mut room).unwrap_err();
    assert_eq!(error, ColouringError::Length { class: 2, got: 21 });
    assert!(Colouring::greedy(long.form(), &mut room[..20]).is_ok());

    // The same couplings elsewhere are not those that were checked.
    let second = other.ising(&path).unwrap();
    let kernel = ChromaticGibbs::new(Colouring::new(form, &[0b101, 0b010]).unwrap());
    let mut rng = LaneRng::seed_from_u64(25);
    let (mut right, mut wrong) = (heap::chain(&energy, &[0]).unwrap(), heap::chain(&second, &[0]).unwrap());
    assert!(!right.step(&kernel, &mut rng).fault);
    let info = wrong.step(&kernel, &mut rng);
    assert!(info.fault && !info.accepted && wrong.state().words() == [0] && wrong.faults() == 1);
}

/// Many values are refused, and a colouring of other couplings is: either is enough.
#[test]
fn potts_models_that_are_refused() {
    for arity in [3, 64, 65] {
        let (mut couplings, mut others) = (Couplings::new(2, 1), Couplings::new(2, 1));
        let model = Potts::new(2, arity, [(0, 1, 0.5)], &[], couplings.borrow()).unwrap();
        let other = Potts::new(2, arity, [(0, 1, 0.5)], &[], others.borrow()).unwrap();
        for own in [true, false] {
            let mut memory = [0; Colouring::words(2, 2)];
            let form = if own { model.form() } else { other.form() };
            let kernel = ChromaticGibbs::new(Colouring::greedy(form, &mut memory).unwrap());
            let mut chain = heap::chain(&model, &vec![0; model.layout().words()]).unwrap();
            let info = chain.step(&kernel, &mut LaneRng::seed_from_u64(26));
            assert_eq!(info.fault, !own || arity > 64, "{arity} values, own couplings: {own}");
            assert!(!info.fault || (info.moved() == 0 && chain.state().values().all(|value| value == 0)));
        }
    }
}
