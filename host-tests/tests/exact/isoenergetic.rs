//! Isoenergetic moves: all moves of all pairs of states are in detailed balance and keep the sum of the energies, for every
//! energy that knows its neighbours, with clamped sites, in replicas and in batches; and wrong ones are seen.

use bitmc::batch::{self, Batch, BatchSite};
use bitmc::energy::{PolynomialBuffers, Tempered};
use bitmc::step::SequentialGibbs;
use bitmc::temper::{Isoenergetic, IsoenergeticError, Ladder, Neighbours, Replica, Rung};
use bitmc::{
    Energy, Function, Gibbs, Ising, LaneRng, LatticeGaussian, Layout, Packed, Plain, Polynomial, Potts,
    SeedableRng,
};
use bitmc_host_tests::factors::Graph;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::planes::Tables;
use bitmc_host_tests::stuck::Stuck;
use std::collections::HashMap;

const BETA: f32 = 0.75;

/// All states: their words, and their energies in float64.
struct States {
    layout: Layout,
    words: Vec<Vec<u32>>,
    energies: Vec<f64>,
}

impl States {
    fn new(layout: Layout, arities: &[usize], energy: impl Fn(&[usize]) -> f64) -> Self {
        let count = arities.iter().product();
        let (mut words, mut energies) = (Vec::new(), Vec::new());
        for state in 0..count {
            let mut rest: usize = state;
            let mut values = Vec::new();
            let mut packed = vec![0; layout.words()];
            for (site, &arity) in arities.iter().enumerate() {
                values.push(rest % arity);
                bitmc::packed::set(layout, &mut packed, site, (rest % arity) as u32).unwrap();
                rest /= arity;
            }
            words.push(packed);
            energies.push(energy(&values));
        }
        Self { layout, words, energies }
    }
}

/// What was found of all moves of all pairs of possible states.
#[derive(Debug)]
struct Verdict {
    /// The largest |E(x′) + E(y′) − E(x) − E(y)|.
    drift: f64,
    /// The largest difference of a probability flow from its reverse.
    asymmetry: f64,
    /// The largest error of a replica's own energy.
    error: f64,
    /// The share of moves that move.
    moving: f64,
    /// Moves that were refused because they would change the sum of the energies.
    refused: u32,
}

impl Verdict {
    fn passes(&self) -> bool {
        // Flows are float64; an energy here takes a few roundings of f32 numbers up to 30.
        self.exact() && self.moving > 0.1 && self.refused == 0
    }

    fn exact(&self) -> bool {
        self.drift < 1e-9 && self.asymmetry < 1e-15 && self.error < 1e-4
    }
}

fn judge(energy: &dyn Energy, graph: &dyn Neighbours, states: &States, held: Option<Packed<'_>>) -> Verdict {
    let path = Tempered::new(energy, BETA).unwrap();
    let possible: Vec<usize> = (0..states.words.len()).filter(|&s| states.energies[s].is_finite()).collect();
    let state = |number: usize| Packed::new(states.layout, &states.words[number]).unwrap();
    let number: HashMap<&[u32], usize> =
        states.words.iter().enumerate().map(|(n, words)| (&words[..], n)).collect();
    let start = state(possible[0]);
    let mut one = Replica::new(path, heap::memory(&path), start).unwrap();
    let mut other = Replica::new(path, heap::memory(&path), start).unwrap();
    let clusters = Isoenergetic::new(graph);
    let mut memory = vec![7; Isoenergetic::memory_len(states.layout.sites())];
    let least = states.energies.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = |s: usize| (-f64::from(BETA) * (states.energies[s] - least)).exp();
    let z: f64 = possible.iter().map(|&s| weight(s)).sum();
    let mut flows: HashMap<[usize; 4], f64> = HashMap::new();
    let (mut drift, mut error, mut moved, mut all, mut refused) = (0.0f64, 0.0f64, 0, 0, 0);
    for &x in &possible {
        for &y in &possible {
            let sites = states.layout.sites();
            let differ = (0..sites).filter(|&site| state(x).get(site) != state(y).get(site)).count();
            // Where the energy is symmetric and most differ, those that agree are looked at.
            let of = if graph.symmetric() && differ > sites / 2 { sites - differ } else { differ };
            for chosen in 0..of.max(1) as u64 {
                for (replica, s) in [(&mut one, x), (&mut other, y)] {
                    replica.restart(state(s)).unwrap();
                    if let Some(held) = held {
                        replica.clamp(held).unwrap();
                    }
                }
                let word = ((2 * chosen + 1) << 31) / of.max(1) as u64;
                let size = match clusters.step(&mut one, &mut other, &mut memory, &mut Stuck::At(word as u32)) {
                    Err(IsoenergeticError::Neighbours(change)) => {
                        assert!(change.abs() > 1e-3);
                        refused += 1;
                        0
                    }
                    size => size.unwrap(),
                };
                let to = (number[one.state().words()], number[other.state().words()]);
                assert_eq!(size > 0, to != (x, y));
                moved += usize::from(size > 0);
                all += 1;
                let sum = |x: usize, y: usize| states.energies[x] + states.energies[y];
                drift = drift.max((sum(to.0, to.1) - sum(x, y)).abs());
                for (replica, s) in [(&one, to.0), (&other, to.1)] {
                    error = error.max((f64::from(replica.energy()) - states.energies[s]).abs());
                }
                let flow = weight(x) * weight(y) / (z * z) / of.max(1) as f64;
                *flows.entry([x, y, to.0, to.1]).or_insert(0.0) += flow;
            }
        }
    }
    let reverse = |&[a, b, c, d]: &[usize; 4]| flows.get(&[c, d, a, b]).copied().unwrap_or(0.0);
    let asymmetry = flows.iter().map(|(pair, flow)| (flow - reverse(pair)).abs()).fold(0.0, f64::max);
    Verdict { drift, asymmetry, error, moving: f64::from(moved as u32) / f64::from(all), refused }
}

fn spins(model: &Pairwise) -> States {
    let sites = model.fields.len();
    let energy = |x: &[usize]| model.energy(&x.iter().map(|&x| x as f64).collect::<Vec<_>>());
    States::new(Layout::binary(sites), &vec![2; sites], energy)
}

/// The neighbours of an energy, but for those of one site; or with a claim that all bits may flip.
struct Wrong<'a> {
    right: &'a dyn Neighbours,
    deaf: Option<usize>,
    symmetric: bool,
}

impl Neighbours for Wrong<'_> {
    fn sites(&self) -> usize {
        self.right.sites()
    }

    fn visit(&self, site: usize, see: &mut dyn FnMut(usize)) {
        if Some(site) != self.deaf {
            self.right.visit(site, &mut |other| {
                if Some(other) != self.deaf {
                    see(other)
                }
            });
        }
    }

    fn symmetric(&self) -> bool {
        self.symmetric || self.right.symmetric()
    }
}

#[test]
fn every_move_is_in_detailed_balance_with_fields() {
    for (number, convention) in Convention::ALL.into_iter().enumerate() {
        let model = models::pairwise(convention, 5, 0.6, 1.0, 3 + number as u64);
        let mut couplings = model.couplings();
        let (energy, states) = (couplings.ising(&model).unwrap(), spins(&model));
        assert!(!Neighbours::symmetric(&energy));
        let verdict = judge(&energy, &energy, &states, None);
        assert!(verdict.passes(), "{convention:?}: {verdict:?}");
        // Wrong lists: a site without its neighbours, and flips of sites that agree where there are fields. Moves that they
        // make wrong are refused, and the others are exact.
        for (deaf, symmetric) in [(Some(2), false), (None, true)] {
            let verdict = judge(&energy, &Wrong { right: &energy, deaf, symmetric }, &states, None);
            assert!(verdict.exact() && verdict.refused > 20, "{deaf:?}: {verdict:?}");
        }
    }
}

#[test]
fn without_fields_sites_that_agree_flip() {
    for convention in Convention::ALL {
        let mut model = models::pairwise(convention, 5, 0.7, 1.0, 8);
        model.fields.fill(0.0);
        if convention == Convention::BitsEdgesOnce {
            // Fields that make spins of bits: b = −½ΣK.
            for &(a, b, coupling) in &model.edges {
                model.fields[a as usize] -= 0.5 * coupling;
                model.fields[b as usize] -= 0.5 * coupling;
            }
        }
        let mut couplings = model.couplings();
        let (energy, states) = (couplings.ising(&model).unwrap(), spins(&model));
        assert!(Neighbours::symmetric(&energy), "{convention:?}");
        let verdict = judge(&energy, &energy, &states, None);
        assert!(verdict.passes(), "{convention:?}: {verdict:?}");
        // A base with fields is not symmetric: moves are those of sites that differ.
        let theta = [0.5, -0.25, 1.0, 0.0, 0.5];
        let path = Tempered::from_base(&energy, &theta, 0.5).unwrap();
        let mut rng = LaneRng::seed_from_u64(1);
        let replica = |words: [u32; 1]| {
            Replica::new(path, heap::memory(&path), Packed::new(states.layout, &words).unwrap()).unwrap()
        };
        let (mut one, mut other) = (replica([0b00000]), replica([0b11110]));
        let sum = one.gap() + other.gap();
        let clusters = Isoenergetic::new(&energy);
        for _ in 0..20 {
            clusters.step(&mut one, &mut other, &mut [0; 6], &mut rng).unwrap();
            assert!((one.gap() + other.gap() - sum).abs() < 1e-4);
            assert_eq!(one.state().get(0), other.state().get(0));
        }
    }
}

#[test]
fn clamped_sites_stay() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 5, 0.6, 1.0, 3);
    let mut couplings = model.couplings();
    let (energy, states) = (couplings.ising(&model).unwrap(), spins(&model));
    for held in [0b00100u32, 0b01010] {
        let mask = [held];
        let verdict = judge(&energy, &energy, &states, Some(Packed::new(states.layout, &mask).unwrap()));
        assert!(verdict.passes(), "{held:05b}: {verdict:?}");
        let path = Tempered::new(&energy, BETA).unwrap();
        let mut rng = LaneRng::seed_from_u64(2);
        let replica = |rng: &mut LaneRng| {
            let mut replica = Replica::random(path, heap::memory(&path), rng).unwrap();
            replica.clamp(Packed::new(states.layout, &mask).unwrap()).unwrap();
            replica
        };
        let (mut one, mut other) = (replica(&mut rng), replica(&mut rng));
        let before = (one.state().words()[0] & held, other.state().words()[0] & held);
        for _ in 0..200 {
            Isoenergetic::new(&energy).step(&mut one, &mut other, &mut [0; 6], &mut rng).unwrap();
            one.run(&Gibbs::systematic(), &mut rng, 1, &mut ());
            assert_eq!((one.state().words()[0] & held, other.state().words()[0] & held), before);
        }
    }
}

#[test]
fn every_move_is_in_detailed_balance_for_other_energies() {
    let mut source = Source::new(4);
    let mut edges = |list: &[(u32, u32)]| -> Vec<(u32, u32, f32)> {
        list.iter().map(|&(a, b)| (a, b, source.coarse(1.0))).collect()
    };
    let path = edges(&[(0, 1), (1, 2), (3, 2)]);
    let fields: Vec<f32> =
        (0..12).map(|n| (n as f32 * 0.37).sin()).map(|w| (w * 64.0).round() / 64.0).collect();
    let mut couplings = Couplings::new(4, 3);
    let potts = Potts::new(4, 3, path.iter().copied(), &fields, couplings.borrow()).unwrap();
    let tables = Tables::potts(&path, 3, &fields);
    let states = States::new(potts.layout(), &[3; 4], |x| tables.energy(x));
    let verdict = judge(&potts, &potts, &states, None);
    assert!(verdict.passes(), "Potts: {verdict:?}");
    let deaf = Wrong { right: &potts, deaf: Some(1), symmetric: false };
    let verdict = judge(&potts, &deaf, &states, None);
    assert!(verdict.exact() && verdict.refused > 20, "{verdict:?}");

    let mut couplings = Couplings::new(4, 3);
    let (diagonal, centre) = ([0.5, 0.75, 0.5, 1.0], [1.0, 0.5, 1.5, 1.0]);
    let gaussian = LatticeGaussian::sparse(
        4,
        3,
        path.iter().map(|&(a, b, w)| (a, b, 0.125 * w)),
        &diagonal,
        &centre,
        couplings.borrow(),
    )
    .unwrap();
    let energy = |x: &[usize]| {
        let off = |i: usize| x[i] as f64 - f64::from(centre[i]);
        (0..4).map(|i| 0.5 * f64::from(diagonal[i]) * off(i).powi(2)).sum::<f64>()
            + path
                .iter()
                .map(|&(a, b, w)| 0.125 * f64::from(w) * off(a as usize) * off(b as usize))
                .sum::<f64>()
    };
    let states = States::new(gaussian.layout(), &[3; 4], energy);
    let verdict = judge(&gaussian, &gaussian, &states, None);
    assert!(verdict.passes(), "Gaussian: {verdict:?}");

    for (spins, scale) in [(false, 0.0), (true, 1.0)] {
        let terms: [(&[u32], f32); 5] =
            [(&[0, 1, 2], 0.75), (&[2, 3], -1.25), (&[1, 3, 4], 0.5), (&[0], 0.5), (&[4], -0.25)];
        let (mut sites, mut long, mut members) = (vec![[0; 2]; 5], vec![[0; 2]; 3], vec![[0; 2]; 8]);
        let memory = PolynomialBuffers::new(&mut sites, &mut long, &mut members);
        let model =
            if spins { Polynomial::spins(5, terms, memory) } else { Polynomial::bits(5, terms, memory) }
                .unwrap();
        let energy = |x: &[usize]| {
            let value = |site: u32| (1.0 + scale) * x[site as usize] as f64 - scale;
            terms.iter().map(|(list, w)| f64::from(*w) * list.iter().map(|&i| value(i)).product::<f64>()).sum()
        };
        let states = States::new(model.layout(), &[2; 5], energy);
        let verdict = judge(&model, &model, &states, None);
        assert!(verdict.passes(), "polynomial: {verdict:?}");
        let deaf = Wrong { right: &model, deaf: Some(3), symmetric: false };
        let verdict = judge(&model, &deaf, &states, None);
        assert!(verdict.exact() && verdict.refused > 20, "{verdict:?}");
    }

    let graph = Graph::random(&[2, 3, 2, 3], 1.0, 0.15, false, 6);
    let mut compiled = graph.compiled();
    let factors = compiled.model().unwrap();
    let states = States::new(factors.layout(), &[2, 3, 2, 3], |x| graph.energy(x));
    assert!(states.energies.iter().any(|energy| energy.is_infinite()));
    let verdict = judge(&factors, &factors, &states, None);
    assert!(verdict.passes(), "factors: {verdict:?}");
    // The list of another graph, which misses couplings.
    let other = Graph::random(&[2, 3, 2, 3], 1.0, 0.0, false, 7);
    let mut other = other.compiled();
    let deaf = Wrong { right: &other.model().unwrap(), deaf: Some(0), symmetric: false };
    let verdict = judge(&factors, &deaf, &states, None);
    assert!(verdict.refused > 20, "factors: {verdict:?}");
}

/// A site that is clamped in one of two batches keeps its value in both.
#[test]
fn a_site_that_is_clamped_in_one_batch_stays_in_both() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.06, 0.0, 5);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let clusters = Isoenergetic::new(&energy);
    let mut rng = LaneRng::seed_from_u64(7);
    let mut batch = || Batch::random(&energy, [BatchSite::new(); 40], &mut rng).unwrap();
    let (mut one, mut other) = (batch(), batch());
    let (held, mut memory) = ([0x0FF0, 0], [0; Isoenergetic::memory_len(40)]);
    other.clamp(Packed::new(energy.layout(), &held).unwrap()).unwrap();
    let mut sizes = 0;
    for chain in 0..16 {
        let of =
            |batch: &Batch<'_, [BatchSite; 40]>| batch.state(chain, &mut [0; 2]).unwrap().words()[0] & held[0];
        let before = (of(&one), of(&other));
        for from_one in [true, false] {
            let (x, y) = if from_one { (&mut one, &mut other) } else { (&mut other, &mut one) };
            sizes += x.exchange_cluster(chain, (y, chain), &clusters, &mut memory, &mut rng).unwrap();
            assert_eq!((of(&one), of(&other)), before, "{chain}");
        }
    }
    assert!(sizes > 16, "{sizes}");
}

#[test]
fn batches_make_the_moves_of_replicas() {
    for fields in [0.0, 0.5] {
        let mut model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.06, 1.0, 5);
        model.fields.fill(fields);
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        let layout = energy.layout();
        let path = Tempered::new(&energy, BETA).unwrap();
        let clusters = Isoenergetic::new(&energy);
        let mut rng = LaneRng::seed_from_u64(6);
        let mut batch = || {
            let mut batch = Batch::random(&energy, [BatchSite::new(); 40], &mut rng).unwrap();
            batch.set_betas([BETA; 16]).unwrap();
            let held = [0b100, 0];
            batch.clamp(Packed::new(layout, &held).unwrap()).unwrap();
            // Of mixed halves.
            batch.step(&bitmc::step::IsingLangevin::adjusted(0.7).unwrap(), &mut rng);
            batch
        };
        let (mut one, mut other) = (batch(), batch());
        let state = |batch: &Batch<'_, [BatchSite; 40]>, chain: usize| {
            let mut words = [0; 2];
            batch.state(chain, &mut words).unwrap();
            words
        };
        let mut sizes = 0;
        for round in 0..200 {
            let (a, b) = (round % 16, round * 7 % 16);
            let before: Vec<_> = (0..16).map(|chain| (state(&one, chain), state(&other, chain))).collect();
            let replica = |words: &[u32; 2]| {
                let mut replica =
                    Replica::new(path, heap::memory(&path), Packed::new(layout, words).unwrap()).unwrap();
                let held = [0b100, 0];
                replica.clamp(Packed::new(layout, &held).unwrap()).unwrap();
                replica
            };
            let (mut x, mut y) = (replica(&before[a].0), replica(&before[b].1));
            let mut memory = [0; Isoenergetic::memory_len(40)];
            let seed = LaneRng::seed_from_u64(round as u64);
            let size = clusters.step(&mut x, &mut y, &mut memory, &mut seed.clone()).unwrap();
            let found =
                one.exchange_cluster(a, (&mut other, b), &clusters, &mut memory, &mut seed.clone()).unwrap();
            assert_eq!(size, found);
            sizes += size;
            for (chain, before) in before.iter().enumerate() {
                let (this, that) = (state(&one, chain), state(&other, chain));
                assert_eq!(
                    this,
                    if chain == a { [x.state().words()[0], x.state().words()[1]] } else { before.0 }
                );
                assert_eq!(
                    that,
                    if chain == b { [y.state().words()[0], y.state().words()[1]] } else { before.1 }
                );
            }
            assert!((one.energy(a) - x.energy()).abs() < 1e-4 && (other.energy(b) - y.energy()).abs() < 1e-4);
            // A round of replica exchange takes energies from the sums that they are made of.
            let mut ladder = Ladder::new([Rung::default(); 2], &[0.5 * BETA, BETA]).unwrap();
            let mut swaps = seed.clone();
            batch::round(&mut ladder, &mut one, &[SequentialGibbs; 16], 0, &mut rng, &mut swaps);
            one.set_betas([BETA; 16]).unwrap();
            assert!((one.energy(a) - x.energy()).abs() < 1e-4);
            // The sums over the sites move along: a step that uses them makes the right energies.
            one.step(&bitmc::step::IsingLangevin::adjusted(0.7).unwrap(), &mut rng);
            other.step(&SequentialGibbs, &mut rng);
            let drift = [one.refresh(), other.refresh()];
            assert!(drift.as_flattened().iter().all(|drift| drift.abs() < 1e-4), "{drift:?}");
        }
        assert!(sizes > 400, "{sizes}");
    }
}

/// Two bits with an energy of their own beside a constant, of which a graph knows no edge.
struct Far;

impl Function for Far {
    fn layout(&self) -> Layout {
        Layout::binary(2)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        50_000.0 + 8.0 * (x.get(0) * x.get(1)) as f32
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        8.0 * x.get(1 - site) as f32
    }
}

impl Neighbours for Far {
    fn sites(&self) -> usize {
        2
    }

    fn visit(&self, _: usize, _: &mut dyn FnMut(usize)) {}
}

/// What rounding may do to energies of 50,000 hides no change of 8.
#[test]
fn a_wrong_graph_is_seen_beside_large_energies() {
    let energy = Plain(Far);
    let path = Tempered::new(&energy, 1.0).unwrap();
    let [mut one, mut other] = [3, 0]
        .map(|x| Replica::new(path, heap::memory(&path), Packed::new(Far.layout(), &[x]).unwrap()).unwrap());
    let found =
        Isoenergetic::new(&Far).step(&mut one, &mut other, &mut [0; 64], &mut LaneRng::seed_from_u64(1));
    assert_eq!(found, Err(IsoenergeticError::Neighbours(-8.0)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 5, 0.6, 1.0, 3);
    let (mut couplings, mut second) = (model.couplings(), model.couplings());
    let (energy, second) = (couplings.ising(&model).unwrap(), second.ising(&model).unwrap());
    let small = models::pairwise(Convention::SpinsEdgesOnce, 4, 0.6, 1.0, 3);
    let mut couplings = small.couplings();
    let small = couplings.ising(&small).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let mut replica = |energy, beta| {
        let path = Tempered::new(energy, beta).unwrap();
        Replica::random(path, heap::memory(&path), &mut rng).unwrap()
    };
    let (mut one, mut other) = (replica(&energy, 0.5), replica(&energy, 0.5));
    let (mut hot, mut strange) = (replica(&energy, 0.25), replica(&second, 0.5));
    let theta = [0.5; 5];
    let path = Tempered::from_base(&energy, &theta, 0.5).unwrap();
    let mut based = Replica::random(path, heap::memory(&path), &mut rng).unwrap();
    let (clusters, mut memory) = (Isoenergetic::new(&energy), [0; 6]);
    let mut rng = LaneRng::seed_from_u64(2);
    assert_eq!(Isoenergetic::memory_len(5), 6);
    let refused = clusters.step(&mut one, &mut other, &mut memory[..5], &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Memory { need: 6, got: 5 }));
    let refused = clusters.step(&mut one, &mut hot, &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Betas(0.5, 0.25)));
    for other in [&mut strange, &mut based] {
        assert_eq!(clusters.step(&mut one, other, &mut memory, &mut rng), Err(IsoenergeticError::Energies));
    }
    let refused = Isoenergetic::new(&small).step(&mut one, &mut other, &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Sites { need: 4, got: 5 }));
    // Replicas that are equal stay.
    let words = one.state().words().to_vec();
    other.restart(Packed::new(energy.layout(), &words).unwrap()).unwrap();
    assert_eq!(clusters.step(&mut one, &mut other, &mut memory, &mut rng), Ok(0));
    for (name, mut stuck) in Stuck::all() {
        clusters.step(&mut one, &mut other, &mut memory, &mut stuck).unwrap();
        assert!(Packed::new(energy.layout(), one.state().words()).is_ok(), "{name}");
    }

    let batch = |energy| Batch::random(energy, [BatchSite::new(); 5], &mut LaneRng::seed_from_u64(1)).unwrap();
    let (mut one, mut other, mut strange) = (batch(&energy), batch(&energy), batch(&second));
    let mut rng = LaneRng::seed_from_u64(2);
    let refused = one.exchange_cluster(16, (&mut other, 0), &clusters, &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Chain(16)));
    let refused = one.exchange_cluster(0, (&mut strange, 0), &clusters, &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Energies));
    let refused = one.exchange_cluster(0, (&mut other, 0), &clusters, &mut memory[..3], &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Memory { need: 6, got: 3 }));
    let wrong: Isoenergetic<'_, Ising<'_>> = Isoenergetic::new(&small);
    let refused = one.exchange_cluster(0, (&mut other, 0), &wrong, &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Model));
    let refused = one.exchange_cluster(0, (&mut other, 0), &Isoenergetic::new(&second), &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Model));
    other.set_betas([0.5; 16]).unwrap();
    let refused = one.exchange_cluster(0, (&mut other, 0), &clusters, &mut memory, &mut rng);
    assert_eq!(refused, Err(IsoenergeticError::Betas(1.0, 0.5)));
}
