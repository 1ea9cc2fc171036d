//! Bit-sliced spins: their probabilities against float64, their matrices against distributions by enumeration, every bit of
//! every chain against a scalar reference; what they refuse.

use bitmc::energy::Entry;
use bitmc::lane::Bits;
use bitmc::sliced::{MAX_DEGREE, SlicedChains, SlicedError, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::{Energy, LaneRng, Packed, Rng, SeedableRng, StateError};
use bitmc_host_tests::heap;
use bitmc_host_tests::listed::Listed;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::naive::{Convention, Pairwise, sigmoid};
use bitmc_host_tests::sliced::{Defect, Room, Sliced, graph, sliced};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::stuck::Stuck;

fn graphs() -> [Pairwise; 4] {
    [
        graph(8, 0.5, 0.0, false, 1),
        graph(8, 0.4, 0.3, false, 2),
        graph(9, 0.25, 0.7, true, 3),
        graph(6, 3.0, 1.0, false, 4),
    ]
}

const TWO_POW_MINUS_64: f64 = 1.0 / 18_446_744_073_709_551_616.0;

fn degree(model: &Pairwise, site: u32) -> usize {
    model.edges.iter().filter(|(a, b, _)| *a == site || *b == site).count()
}

#[test]
fn probabilities_are_those_of_every_count() {
    // A float64 sigmoid is within four roundings; the kernel's is within 2⁻⁶⁴.
    let close =
        |p: u64, truth: f64| (p as f64 * TWO_POW_MINUS_64 - truth).abs() <= 5e-16 * truth + TWO_POW_MINUS_64;
    let mut degrees = 0;
    for pairwise in graphs() {
        let size = f64::from(pairwise.edges[0].2.abs());
        let mut memory = pairwise.couplings();
        let model = sliced(&pairwise, &mut memory);
        let mut room = Room::new(&model);
        // A tenth has every bit of its mantissa.
        for beta in [1.0, 0.1_f32, 2.0, 0.0, -0.0] {
            let gibbs = room.gibbs(model.at(beta).unwrap());
            for site in 0..model.sites() {
                let (degree, field) = (degree(&pairwise, site as u32), f64::from(pairwise.fields[site]));
                degrees |= 1 << degree;
                for up in 0..=degree {
                    let z = 2.0 * f64::from(beta) * (size * (2.0 * up as f64 - degree as f64) + field);
                    let (p, value) = gibbs.conditional(site, up).unwrap();
                    assert!(close(p, sigmoid(-z.abs())), "β {beta}, site {site}, {up} up: {p:x}");
                    assert!(if z == 0.0 { p == 1 << 63 } else { value == u32::from(z < 0.0) });
                }
                assert!(gibbs.conditional(site, degree + 1).is_none());
            }
            assert!(gibbs.conditional(model.sites(), 0).is_none());
        }
        for (step_size, beta) in [(0.1, 1.0), (0.6, 1.0), (1000.0, 1.0), (0.6, 0.1_f32)] {
            let langevin = room.langevin(model.at(beta).unwrap(), step_size);
            let half = f64::from(0.5 * (1.0 / step_size));
            for site in 0..model.sites() {
                let (degree, field) = (degree(&pairwise, site as u32), f64::from(pairwise.fields[site].abs()));
                for (agreeing, along) in (0..=degree).flat_map(|a| [(a, false), (a, true)]) {
                    let s = if along { 1.0 } else { -1.0 };
                    let local = size * (2.0 * agreeing as f64 - degree as f64) + field * s;
                    let z = -f64::from(beta) * local - half;
                    assert!(close(langevin.flip(site, agreeing, along).unwrap(), sigmoid(z)), "{z}");
                }
                assert!(langevin.flip(site, degree + 1, false).is_none());
            }
            assert!(langevin.flip(model.sites(), 0, true).is_none());
        }
    }
    assert_eq!(degrees, 0b1_1111_1110, "every degree from 1 to 8");
}

/// The number of neighbours that push a site up, from the state's number.
fn up(pairwise: &Pairwise, site: usize, state: usize) -> usize {
    let pushes = |&&(a, b, coupling): &&(u32, u32, f32)| {
        let (a, b) = (a as usize, b as usize);
        (a == site || b == site) && ((state >> (a + b - site)) & 1 == 1) == (coupling > 0.0)
    };
    pairwise.edges.iter().filter(pushes).count()
}

#[test]
fn updates_keep_the_distribution() {
    for pairwise in graphs().into_iter().filter(|pairwise| pairwise.fields.len() < 9) {
        let space = Space::binary(&pairwise);
        let mut memory = pairwise.couplings();
        let model = sliced(&pairwise, &mut memory);
        let mut room = Room::new(&model);
        let gibbs = room.gibbs(model);
        let update = |site: usize, more: usize| {
            let row = |x: usize| {
                let up = (up(&pairwise, site, x) + more).min(degree(&pairwise, site as u32));
                let (p, rare) = gibbs.conditional(site, up).unwrap();
                let p = p as f64 * TWO_POW_MINUS_64;
                let mut row = vec![0.0; space.states()];
                row[x & !(1 << site) | (rare as usize) << site] = p;
                row[x & !(1 << site) | (1 - rare as usize) << site] = 1.0 - p;
                row
            };
            Table { rows: (0..space.states()).map(row).collect() }
        };
        for site in 0..model.sites() {
            let verdict = space.judge(&update(site, 0));
            assert!(verdict.passes(), "site {site}: {verdict:?}");
            assert!(!space.judge(&update(site, 1)).passes(), "site {site}: a count too high is not seen");
        }
    }
}

#[test]
fn steps_keep_the_distribution() {
    let small = [graph(6, 3.0, 1.0, false, 4), graph(7, 0.4, 0.3, false, 2), graph(7, 0.5, 0.0, false, 1)];
    for pairwise in small {
        let distribution = bitmc_host_tests::enumerate::Distribution::of(&pairwise);
        let space = Space::binary(&pairwise);
        let mut memory = pairwise.couplings();
        let model = sliced(&pairwise, &mut memory);
        let mut room = Room::new(&model);
        // With 1 some sites of the last model flip with probability ½.
        for step_size in [0.1, 0.6, 1.0, 1000.0] {
            let langevin = room.langevin(model, step_size);
            let log_p = |(x, site): (usize, usize)| {
                let degree = degree(&pairwise, site as u32);
                let (value, up) = ((x >> site) & 1 == 1, up(&pairwise, site, x));
                let agreeing = if value { up } else { degree - up };
                let p = langevin.flip(site, agreeing, value == (pairwise.fields[site] > 0.0)).unwrap();
                [p.wrapping_neg(), p].map(|p| (p as f64 * TWO_POW_MINUS_64).ln())
            };
            let sites = model.sites();
            let log_p: Vec<_> = (0..sites << sites).map(|cell| log_p((cell / sites, cell % sites))).collect();
            let matrix = |ratio: bool| {
                Transitions::new(space.states(), |x, y| {
                    let q = (0..sites).map(|site| log_p[sites * x + site][((x ^ y) >> site) & 1]).sum();
                    let log_ratio = || langevin.log_ratio(space.state(x), space.state(y)).unwrap();
                    (q, if ratio { f64::from(log_ratio()) } else { 0.0 })
                })
            };
            let verdict = matrix(true).judge(&distribution);
            assert!(verdict.passes(), "step size {step_size}: {verdict:?}");
            assert!(!matrix(false).judge(&distribution).passes(), "step size {step_size}: no test is not seen");
        }
    }
}

fn random_blocks(sites: usize, rng: &mut impl Rng) -> Vec<Bits> {
    (0..sites).map(|_| core::array::from_fn(|_| rng.next_u32())).collect()
}

#[test]
fn every_bit_is_that_of_a_scalar_baseline() {
    for (number, pairwise) in graphs().into_iter().enumerate() {
        let mut memory = pairwise.couplings();
        let model = sliced(&pairwise, &mut memory);
        let mut room = Room::new(&model);
        let mut rng = LaneRng::seed_from_u64(number as u64);
        room.blocks = random_blocks(model.sites(), &mut rng);
        let mut naive = Sliced::new(&pairwise, &room.blocks, Defect::None);
        let mut own = rng.clone();
        let mut gibbs = room.gibbs(model);
        for _ in 0..5 {
            gibbs.sweep(&mut own);
            naive.sweep(&mut rng);
            assert!(gibbs.chains().blocks() == naive.blocks(), "graph {number}");
        }
        assert_eq!(own, rng);
        for (step_size, adjusted) in [(0.2, true), (0.8, true), (0.3, false)] {
            let mut langevin =
                if adjusted { room.langevin(model, step_size) } else { room.unadjusted(model, step_size) };
            let mut moved = 0;
            for _ in 0..5 {
                let accepted = langevin.step(&mut own);
                let accepted: u32 = accepted.iter().map(|word| word.count_ones()).sum();
                assert_eq!(accepted as usize, naive.step(step_size, adjusted, &mut rng), "graph {number}");
                assert!(langevin.chains().blocks() == naive.blocks(), "graph {number}, step size {step_size}");
                moved += accepted;
            }
            assert!((1..=2560).contains(&moved) && (adjusted || moved == 2560));
            assert_eq!(own, rng);
        }
    }
}

#[test]
fn large_lattices_too() {
    let mut source = Source::new(9);
    let edges: Vec<_> = bitmc::torus(20, 21, 0.0)
        .map(|(a, b, _)| (a, b, if source.normal(1.0) > 0.0 { 0.45 } else { -0.45 }))
        .collect();
    let pairwise = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields: vec![0.0; 420] };
    let mut memory = pairwise.couplings();
    let model = sliced(&pairwise, &mut memory);
    let mut room = Room::new(&model);
    let mut rng = LaneRng::seed_from_u64(5);
    room.blocks = random_blocks(model.sites(), &mut rng);
    let mut gibbs = room.gibbs(model);
    (0..50).for_each(|_| gibbs.sweep(&mut rng));
    let mut naive = Sliced::new(&pairwise, gibbs.chains().blocks(), Defect::None);
    let (mut own, mut moved) = (rng.clone(), 0);
    let mut langevin = room.langevin(model, 0.13);
    for _ in 0..2 {
        langevin.step(&mut own);
        moved += naive.step(0.13, true, &mut rng);
        assert!(langevin.chains().blocks() == naive.blocks());
    }
    assert!((512..1024).contains(&moved), "{moved} of 1024 moves");
}

#[test]
fn states_and_statistics() {
    let pairwise = graph(9, 0.25, 0.7, true, 3);
    let mut memory = pairwise.couplings();
    let ising = memory.ising(&pairwise).unwrap();
    let model = SlicedIsing::new(ising).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut blocks = vec![[0; 16]; 9];
    let mut chains = SlicedChains::random(model, &mut blocks, &mut rng).unwrap();
    let (mut ones, mut energies) = ([0; 512], [0.0; 512]);
    chains.ones(&mut ones);
    chains.energies(&mut energies);
    let (mut words, mut cache) = ([0], vec![[0; 16]; ising.cache_len()]);
    let mut by_site = [0; 9];
    for (chain, &ones) in ones.iter().enumerate() {
        let state = chains.state(chain, &mut words).unwrap();
        let energy = ising.init(state, &mut cache).unwrap();
        assert_eq!((chains.energy(chain), energies[chain]), (energy, energy));
        assert_eq!(state.ones(), ones as usize);
        state.values().zip(&mut by_site).for_each(|(value, sum)| *sum += value);
        assert!(state.values().enumerate().all(|(site, value)| value == chains.get(chain, site)));
    }
    assert!((0..9).all(|site| chains.site_ones(site) == by_site[site]) && chains.site_ones(9) == 0);
    let state = heap::pack(&[1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let state = Packed::new(ising.layout(), &state).unwrap();
    chains.set(77, state).unwrap();
    assert_eq!(chains.state(77, &mut words).unwrap(), state);
    let before = chains.blocks().to_vec();
    for chain in [512, 513, usize::MAX] {
        assert!(chains.set(chain, state).is_ok() && chains.get(chain, 0) == 0 && chains.energy(chain).is_nan());
        assert_eq!(chains.state(chain, &mut words).unwrap().ones(), 0);
    }
    assert!(chains.blocks() == before);
    let other = Packed::new(bitmc::Layout::binary(3), &[0]).unwrap();
    let error = StateError::Layout { need: state.layout(), got: other.layout() };
    assert_eq!(chains.set(0, other).unwrap_err(), error);
    assert_eq!(chains.state(0, &mut []).unwrap_err(), StateError::Words { need: 1, got: 0 });
}

#[test]
fn what_does_not_fit_is_refused() {
    let with = |edges: Vec<(u32, u32, f32)>, fields: Vec<f32>| {
        let pairwise = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields };
        let mut memory = pairwise.couplings();
        SlicedIsing::new(memory.ising(&pairwise).unwrap()).map(|_| ())
    };
    let error = with(vec![(0, 1, 0.5), (1, 2, -0.5), (2, 3, 0.25)], vec![0.0; 4]).unwrap_err();
    assert_eq!(error, SlicedError::Coupling { a: 2, b: 3 });
    let error = with(vec![(0, 1, 0.5)], vec![0.0, 0.25, -0.5]).unwrap_err();
    assert_eq!(error, SlicedError::Field { site: 2 });
    let star = |leaves: u32| (1..=leaves).map(|leaf| (0, leaf, 1.0)).collect::<Vec<_>>();
    assert_eq!(
        with(star(9), vec![0.0; 10]).unwrap_err(),
        SlicedError::Degree { site: 0, degree: MAX_DEGREE + 1 }
    );
    assert!(with(star(8), vec![0.0; 9]).is_ok() && with(vec![], vec![0.0, 1.0, -1.0]).is_ok());

    let pairwise = graph(8, 0.4, 0.3, false, 2);
    let mut memory = pairwise.couplings();
    let model = sliced(&pairwise, &mut memory);
    for beta in [-1.0, f32::INFINITY] {
        assert_eq!(model.at(beta).map(|_| ()), Err(SlicedError::Beta(beta)));
    }
    assert!(matches!(model.at(f32::NAN), Err(SlicedError::Beta(_))));
    let (words, blocks) = (SlicedLangevin::words(&model), SlicedLangevin::blocks(&model));
    let make = |sites: usize, words: usize, room: usize, step_size: f32, adjusted: bool| {
        let (mut x, mut table, mut room) = (vec![[0; 16]; sites], vec![0; words], vec![[0; 16]; room]);
        let chains = SlicedChains::new(model, &mut x)?;
        match adjusted {
            true => SlicedLangevin::adjusted(chains, step_size, &mut table, &mut room).map(|_| ()),
            false => SlicedLangevin::unadjusted(chains, step_size, &mut table, &mut room).map(|_| ()),
        }
    };
    let short = |need: usize| Err(SlicedError::Memory { need, got: need - 1 });
    assert_eq!(make(8, words, blocks, 0.5, true), Ok(()));
    assert_eq!(make(7, words, blocks, 0.5, true), short(8));
    assert_eq!(make(8, words - 1, blocks, 0.5, true), short(words));
    assert_eq!(make(8, words, blocks - 1, 0.5, true), short(blocks));
    assert_eq!(make(8, words, 8, 0.5, false), Ok(()));
    assert_eq!(make(8, words, 7, 0.5, false), short(8));
    for step_size in [0.0, -1.0, f32::INFINITY, 1e-40] {
        assert_eq!(make(8, words, blocks, step_size, true), Err(SlicedError::StepSize(step_size)));
    }
    assert!(matches!(make(8, words, blocks, f32::NAN, true), Err(SlicedError::StepSize(_))));
    // 7 · 0.4 + 0.3 + 1/(2α) against 30.
    assert_eq!(make(8, words, blocks, 0.0185, true), Err(SlicedError::Steep));
    assert_eq!(make(8, words, blocks, 0.0187, true), Ok(()));
    let (mut x, mut table) = (vec![[0; 16]; 8], vec![0; SlicedGibbs::words(&model) - 1]);
    let chains = SlicedChains::new(model, &mut x).unwrap();
    let need = SlicedGibbs::words(&model);
    assert_eq!(SlicedGibbs::new(chains, &mut table).unwrap_err(), SlicedError::Memory { need, got: need - 1 });
}

#[test]
fn no_generator_hangs() {
    let pairwise = graph(8, 0.4, 0.3, false, 2);
    let mut memory = pairwise.couplings();
    let model = sliced(&pairwise, &mut memory);
    for (_, mut stuck) in Stuck::all() {
        let mut room = Room::new(&model);
        let mut gibbs = room.gibbs(model);
        (0..20).for_each(|_| gibbs.sweep(&mut stuck));
        let mut langevin = room.langevin(model, 0.5);
        (0..20).for_each(|_| _ = langevin.step(&mut stuck));
    }
}

/// Spins without couplings, each with this field.
fn alone(sites: usize, field: f32) -> Pairwise {
    Pairwise { convention: Convention::SpinsEdgesOnce, edges: vec![], fields: vec![field; sites] }
}

#[test]
fn thresholds_hold_to_their_last_bit() {
    let mut odd = 0;
    for field in [0.0, 0.3, 0.7, -1.5, 20.0] {
        let alone = alone(1, field);
        let mut memory = alone.couplings();
        let model = sliced(&alone, &mut memory);
        let mut room = Room::new(&model);
        let (threshold, rare) = room.gibbs(model).conditional(0, 0).unwrap();
        odd += threshold & 1;
        for (number, value) in [(threshold - 1, rare), (threshold, 1 - rare), (threshold + 1, 1 - rare)] {
            // In all chains the same number, its highest bit in the first plane.
            let planes: Vec<_> =
                (0..64).rev().flat_map(|bit| [0u32.wrapping_sub((number >> bit) as u32 & 1); 16]).collect();
            let mut planes = Listed(&planes);
            room.gibbs(model).sweep(&mut planes);
            assert_eq!(room.blocks[0], [0u32.wrapping_sub(value); 16], "field {field}, {number:x}");
            assert!(number != threshold || planes.0.is_empty(), "field {field}");
        }
    }
    // Where the last bit is 0, a number that is the threshold is not told from one that is above.
    assert!(odd > 0);
}

#[test]
fn a_chain_takes_shared_bits_once() {
    let alone = alone(3, 0.3);
    let mut memory = alone.couplings();
    let model = sliced(&alone, &mut memory);
    let mut room = Room::new(&model);
    let (threshold, rare) = room.gibbs(model).conditional(0, 0).unwrap();
    let of = |plane: usize| (threshold >> (63 - plane)) & 1 == 1;
    let (one, zero) = ((8..13).find(|&plane| of(plane)).unwrap(), (8..13).find(|&plane| !of(plane)).unwrap());
    // A plane in which some chains have a bit of their own, and the others one that decides them.
    let plane = |plane: usize, own: &[(usize, bool)]| {
        let mut words = [if of(plane) { 0 } else { u32::MAX }; 16];
        for &(chain, bit) in own {
            let place = 1 << (chain % 32);
            words[chain / 32] = if bit { words[chain / 32] | place } else { words[chain / 32] & !place };
        }
        words
    };
    // A chain is undecided after a site's own planes, and is decided by one of the shared ones: below at `one`, above at `zero`.
    let own = |chain| (0..8).map(move |number| plane(number, &[(chain, of(number))]));
    let until = |number: usize, end: usize| of(number) ^ (number == end);
    let shared = |ends: [(usize, usize); 2]| {
        (8..13).map(move |number| plane(number, &ends.map(|(chain, end)| (chain, until(number, end)))))
    };
    // Chain 5, then chain 7 by the same shared planes, then chain 5 by new ones.
    let words: Vec<_> = own(5)
        .chain(shared([(5, one), (7, zero)]))
        .chain(own(7))
        .chain(own(5))
        .chain(shared([(5, zero), (7, one)]))
        .flatten()
        .collect();
    let mut words = Listed(&words);
    room.gibbs(model).sweep(&mut words);
    assert!(words.0.is_empty());
    let value = |site: usize, chain: usize| (room.blocks[site][chain / 32] >> (chain % 32)) & 1;
    assert_eq!([value(0, 5), value(1, 7), value(2, 5)], [rare, 1 - rare, 1 - rare]);
}

/// Couplings beyond every float's exponential, and none at all.
#[test]
fn extremes_are_certain() {
    let pairwise = graph(6, 1e20, 0.0, false, 4);
    let mut memory = pairwise.couplings();
    let model = sliced(&pairwise, &mut memory);
    let mut room = Room::new(&model);
    let gibbs = room.gibbs(model);
    assert_eq!(gibbs.conditional(5, 5), Some((0, 0)));
    assert_eq!(gibbs.conditional(4, 2).map(|(p, _)| p), Some(1 << 63));
    let tiny = [Entry { site: 1, coupling: 1 }, Entry { site: 0, coupling: 1 }];
    let form = bitmc::energy::Sparse::from_rows(&[1, 2], &tiny, &[0, -1], -100).unwrap();
    let model = SlicedIsing::new(bitmc::Ising::quadratic(form)).unwrap();
    let mut room = Room::new(&model);
    assert_eq!(room.gibbs(model).conditional(0, 1).map(|(p, _)| p), Some(1 << 63));
    // Sites without a neighbour, with a field and without.
    let alone =
        Pairwise { convention: Convention::SpinsEdgesOnce, edges: vec![], fields: vec![0.0, 0.5, -0.5] };
    let mut memory = alone.couplings();
    let model = sliced(&alone, &mut memory);
    let mut room = Room::new(&model);
    let mut rng = LaneRng::seed_from_u64(8);
    let mut naive = Sliced::new(&alone, &room.blocks, Defect::None);
    let (mut own, mut langevin) = (rng.clone(), room.langevin(model, 1.0));
    for _ in 0..4 {
        langevin.step(&mut own);
        naive.step(1.0, true, &mut rng);
        assert!(langevin.chains().blocks() == naive.blocks());
    }
}
