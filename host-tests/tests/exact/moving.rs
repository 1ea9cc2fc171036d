//! Second order with momentum, step by step: what becomes of η, quadratic energies, snapshots, what is refused.

use bitmc::chain::{momentum_snapshot_len, snapshot_len};
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, Diagonal, Edgewise, Noise, Run, SparseMatrix, Symmetric};
use bitmc::snapshot::{FRAME, SnapshotError};
use bitmc::step::{IsingBalanced, ParameterError, Transition};
use bitmc::{Chain, Energy, Gibbs, Ising, Kernel, LaneRng, Langevin, Packed, Plain, Potts, SeedableRng, torus};
use bitmc_chains::models::Ladder;
use bitmc_host_tests::enumerate;
use bitmc_host_tests::heap::{self, Couplings, HeapChain};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Target};
use bitmc_host_tests::noise::{Auxiliary, draw, factor};
use bitmc_host_tests::snapshot::{load, save, sealed};
use bitmc_host_tests::tolerance::{self, ROUNDING};

/// What a chain keeps of η, in `blocks`.
fn kept<E: Energy>(chain: &HeapChain<'_, E>, blocks: usize) -> Vec<f64> {
    let bytes = save(&[chain]);
    let end = bytes.len() - 4;
    let floats = bytes[end - 64 * blocks..end].chunks(4);
    floats.map(|four| f64::from(f32::from_le_bytes(four.try_into().unwrap()))).collect()
}

/// W + D, from rows and a D.
fn sum(matrix: &impl Symmetric, d: &[Block], sites: usize) -> Vec<Vec<f64>> {
    let mut full = vec![vec![0.0; sites]; sites];
    for (site, row) in full.iter_mut().enumerate() {
        matrix.row(site, |other, value| row[other] = f64::from(value));
        row[site] = f64::from(matrix.diagonal(site)) + f64::from(d.as_flattened()[site]);
    }
    full
}

/// Steps of a chain: η after each is `−aη + √(1−a²)ζ`, ζ the draw, less (W+D)v where the step moved.
fn follows<E: Energy, K: Kernel<E>, N: Noise>(
    energy: &E,
    kernel: &K,
    noise: &N,
    full: &[Vec<f64>],
    [keep, precision]: [f32; 2],
) {
    let layout = energy.layout();
    let planes = layout.row_blocks();
    let blocks = layout.gradient_blocks();
    let mut rng = LaneRng::seed_from_u64(4);
    let mut chain = heap::moving_chain(energy, blocks, &mut rng).unwrap();
    let mut eta = Vec::new();
    let (mut moved, mut stayed, mut worst) = (0, 0, 0.0f64);
    let a = f64::from(keep);
    for step in 0..200 {
        // Another kernel between leaves η alone.
        if step % 20 == 7 {
            chain.step(&Gibbs::systematic(), &mut rng);
        }
        let zeta = draw(noise, layout.blocks(), planes, &mut rng.clone());
        let zeta: Vec<f64> =
            zeta.as_flattened().iter().map(|&z| f64::from(z) / f64::from(precision).sqrt()).collect();
        let from = chain.state().words().to_vec();
        let info = chain.step(kernel, &mut rng);
        assert!(!info.fault);
        let mut next: Vec<f64> = match step {
            0 => zeta.clone(),
            _ => eta.iter().zip(&zeta).map(|(eta, zeta)| -a * eta + (1.0 - a * a).sqrt() * zeta).collect(),
        };
        let before = next.clone();
        let from = Packed::new(layout, &from).unwrap();
        let place = |site: usize, plane: usize| ((site / LANES) * planes + plane) * LANES + site % LANES;
        for (site, column) in full.iter().enumerate() {
            let (x, y) = (from.get(site), chain.state().get(site));
            for plane in 0..planes {
                let at = |value: u32| {
                    if planes == 1 { f64::from(value) } else { f64::from(u8::from(value as usize == plane)) }
                };
                let v = at(y) - at(x);
                column.iter().enumerate().for_each(|(other, w)| next[place(other, plane)] -= w * v);
            }
        }
        if info.moved() > 0 {
            moved += 1
        } else {
            stayed += 1
        }
        let found = kept(&chain, blocks);
        for (site, row) in full.iter().enumerate() {
            for plane in 0..planes {
                let at = place(site, plane);
                let size = before[at].abs() + row.iter().map(|w| w.abs()).sum::<f64>() * layout.arity() as f64;
                // The slopes of `IsingBalanced` are added and taken away: as large as a row, each rounded.
                let off = (found[at] - next[at]).abs();
                worst = worst.max(off / (64.0 * ROUNDING * (1.0 + 4.0 * size)));
            }
        }
        eta = found;
    }
    println!("{moved} moved, {stayed} stayed, {worst:.2} of the bound");
    assert!(moved > 20 && worst <= 1.0, "{moved} {stayed} {worst}");
}

#[test]
fn eta_is_refreshed_negated_and_moved_along() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 37, 0.15, 0.5, 3);
    let mut memory = model.couplings();
    let energy = memory.ising(&model).unwrap();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = vec![[0.0; LANES]; 3];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let full = sum(&matrix, noise.d().unwrap(), 37);
    let general = |keep, precision| {
        let kernel = Langevin::second_order(noise, 1.0, 0.8).unwrap();
        kernel.momentum(keep).unwrap().precision(precision).unwrap()
    };
    for (keep, precision) in [(0.5, 1.0), (0.9, 0.7)] {
        follows(&energy, &general(keep, precision), &noise, &full, [keep, precision]);
        let flips = general(keep, precision).metropolis_flips().unwrap();
        follows(&energy, &flips, &noise, &full, [keep, precision]);
        let itself = IsingBalanced::new(noise, 1.0, 0.8).unwrap().precision(precision).unwrap();
        follows(&energy, &itself.momentum(keep).unwrap(), &noise, &full, [keep, precision]);
    }
    let (mut rows, mut root) =
        (vec![[0.0; LANES]; DenseMatrix::blocks(37)], vec![[0.0; LANES]; Dense::root_blocks(37)]);
    let mut d = vec![[0.0; LANES]; 3];
    let more = noise.d().unwrap().as_flattened().iter().map(|d| d + 0.5);
    d.as_flattened_mut().iter_mut().zip(more).for_each(|(slot, d)| *slot = d);
    let dense = Dense::new(DenseMatrix::of(&matrix, &mut rows).unwrap(), &mut d, &mut root).unwrap();
    let full = sum(&matrix, dense.d().unwrap(), 37);
    let kernel = Langevin::second_order(dense, 1.0, 0.8).unwrap().momentum(0.5).unwrap();
    follows(&energy, &kernel, &dense, &full, [0.5, 1.0]);

    let mut memory = Couplings::new(25, 50);
    let potts = Potts::new(25, 3, torus(5, 5, 0.8), &[0.0; 75], memory.borrow()).unwrap();
    let matrix = SparseMatrix::of(potts.form());
    let mut d = vec![[0.0; LANES]; 2];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let full = sum(&matrix, noise.d().unwrap(), 25);
    let kernel = Langevin::second_order(noise, 4.0, 0.9).unwrap().momentum(0.5).unwrap();
    follows(&potts, &kernel, &noise, &full, [0.5, 1.0]);

    let mut memory = Couplings::new(20, 19);
    let edges = (0..19).map(|site| (site, site + 1, 1.0));
    let rows = Ising::bits_edges_once(20, edges, &[], memory.borrow()).unwrap();
    let mut diagonal = [-2.5; 20];
    [diagonal[0], diagonal[19]] = [-1.5; 2];
    let matrix = SparseMatrix::with_diagonal(rows.form(), &diagonal).unwrap();
    let mut d = vec![[0.0; LANES]; 2];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let full = sum(&matrix, noise.d().unwrap(), 20);
    let kernel = Langevin::second_order(noise, 4.0, 0.8).unwrap().momentum(0.5).unwrap();
    follows(&Plain(Ladder), &kernel, &noise, &full, [0.5, 1.0]);
}

/// The move at fixed u, which has the flips with min(1, e^z) in it.
#[test]
fn flows_of_metropolis_flips_balance_point_by_point() {
    for (sites, sd, seed) in [(2, 1.0, 1), (4, 0.4, 2), (4, 2.0, 3)] {
        let target = models::pairwise(Convention::SpinsEdgesOnce, sites, 1.0, sd, seed);
        let mut memory = target.couplings();
        let energy = memory.ising(&target).unwrap();
        let mut d = [[0.0; LANES]];
        let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
        let factor = factor(&noise, sites, 100);
        let reach = factor.iter().flatten().fold(0.0f64, |most, l| most.max(l.abs()));
        for (precision, step_size, balance) in
            [(1.0, f32::INFINITY, 1.0), (1.0, 0.7, 0.6), (0.75, 1.5, 0.8), (2.0, 4.0, 1.0)]
        {
            let general = Langevin::second_order(noise, step_size, balance).unwrap();
            let general = general.precision(precision).unwrap().metropolis_flips().unwrap();
            let itself = IsingBalanced::new(noise, step_size, balance).unwrap();
            let itself = itself.precision(precision).unwrap().metropolis_flips().unwrap();
            let by_general = |from: &[u32], to: Packed<'_>, eta: &[Block]| -> Transition {
                general.transition_given(heap::chain(&energy, from).unwrap().ring(), to, eta).unwrap()
            };
            let by_itself = |from: &[u32], to: Packed<'_>, eta: &[Block]| -> Transition {
                itself.transition_given(heap::chain(&energy, from).unwrap().ring(), to, eta).unwrap()
            };
            let transitions: [bitmc_host_tests::noise::GivenNoise<'_>; 2] = [&by_general, &by_itself];
            for (kernel, transition) in transitions.into_iter().enumerate() {
                let auxiliary = |without_auxiliary| Auxiliary {
                    layout: energy.layout(),
                    states: (0..1 << sites).map(|x| (0..sites).map(|i| (x >> i) & 1).collect()).collect(),
                    log_pi: (0..1 << sites).map(|x| -target.energy(&enumerate::values(x, sites))).collect(),
                    transition,
                    factor: factor.clone(),
                    precision: f64::from(precision),
                    without_auxiliary,
                };
                let (right, broken) = (auxiliary(false), auxiliary(true));
                let mut source = Source::new(78);
                let mut points = || -> Vec<f64> {
                    (0..right.components()).map(|_| f64::from(source.normal(1.0 + 2.0 * reach))).collect()
                };
                let points: Vec<_> = (0..6).map(|_| points()).collect();
                let name = format!("kernel {kernel}, sd {sd}, κ {precision}, σ {step_size}, α {balance}");
                let asymmetry = right.asymmetry(&points);
                assert!(asymmetry <= tolerance::ASYMMETRY, "{name}: {asymmetry}");
                assert!(
                    broken.asymmetry(&points) > 100.0 * tolerance::ASYMMETRY,
                    "{name}: the broken variant passes"
                );
                if right.few_components() {
                    let (found, variant) = (right.integrate(), broken.integrate());
                    assert!(found.passes(), "{name}, integrated: {found:?}");
                    assert!(!variant.passes(), "{name}, integrated: the broken variant passes {variant:?}");
                }
            }
        }
    }
}

#[test]
fn every_move_is_accepted_on_quadratic_energies() {
    let mut memory = Couplings::new(130, 260);
    let model = Ising::spins_edges_once(130, torus(10, 13, 0.44), &vec![0.1; 130], memory.borrow()).unwrap();
    let matrix = SparseMatrix::of(model.form());
    let (mut d, mut runs) = ([[0.0; LANES]; 9], vec![Run::default(); Edgewise::runs(matrix)]);
    let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
    for metropolis in [false, true] {
        let general = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap().momentum(0.8).unwrap();
        let general = if metropolis { general.metropolis_flips().unwrap() } else { general };
        let mut rng = LaneRng::seed_from_u64(9);
        let mut chain = heap::moving_chain(&model, 9, &mut rng).unwrap();
        let worst =
            (0..1000).fold(0.0f32, |worst, _| worst.max(chain.step(&general, &mut rng).log_ratio.abs()));
        println!("{metropolis}: ln A up to {worst:e}");
        // A site's log odds have a dozen roundings of numbers up to 16. A site that stays with 1 − e^z has them divided by
        // that: of 1.3·10⁵ such sites the least is about 1/300.
        let of_site = 12.0 * 16.0 * ROUNDING as f32;
        let bound = 130f32.sqrt() * of_site + if metropolis { 300.0 * of_site } else { 0.0 };
        assert!(worst <= bound, "{worst} above {bound}");
        for make in [IsingBalanced::new, IsingBalanced::discrete] {
            let itself = make(noise, f32::INFINITY, 1.0).unwrap().momentum(0.8).unwrap();
            let itself = if metropolis { itself.metropolis_flips().unwrap() } else { itself };
            let mut chain = heap::moving_chain(&model, itself.momentum_blocks(), &mut rng).unwrap();
            for _ in 0..1000 {
                let info = chain.step(&itself, &mut rng);
                assert!(info.accepted && info.log_ratio == 0.0, "{info:?}");
            }
        }
    }
}

/// Stops a chain at every step, and goes on in another one.
fn goes_on<E: Energy, K: Kernel<E>>(energy: &E, kernel: &K, blocks: usize) {
    let mut rng = LaneRng::seed_from_u64(20);
    let mut whole = heap::moving_chain(energy, blocks, &mut rng).unwrap();
    let mut again = heap::moving_chain(energy, blocks, &mut rng).unwrap();
    let mut moved = 0;
    for step in 0..200 {
        let bytes = save(&[&whole, &rng]);
        let momentum = if step == 0 { 0 } else { momentum_snapshot_len(blocks) };
        let chain = FRAME + snapshot_len(energy.layout()) + LaneRng::SNAPSHOT_LEN;
        assert_eq!(bytes.len(), chain + momentum);
        let mut other = LaneRng::seed_from_u64(step);
        load(&bytes, &mut [&mut again, &mut other]).unwrap();
        let info = whole.step(kernel, &mut rng);
        moved += info.moved();
        assert_eq!(again.step(kernel, &mut other), info, "step {step}");
        assert_eq!(save(&[&again, &other]), save(&[&whole, &rng]), "step {step}");
        (0..step % 3).for_each(|_| _ = again.step(kernel, &mut other));
    }
    assert!(moved > 50);
    // Into a chain without the room, and of a torn number: refused, and the chain is as it was.
    let bytes = save(&[&whole]);
    let mut small = heap::random_chain(energy, &mut rng).unwrap();
    let before = save(&[&small]);
    let refused = load(&bytes, &mut [&mut small]);
    assert!(matches!(refused, Err(SnapshotError::Chain(_))), "{refused:?}");
    assert_eq!(save(&[&small]), before);
}

#[test]
fn snapshots_keep_the_momentum() {
    let mut memory = Couplings::new(130, 260);
    let model = Ising::spins_edges_once(130, torus(10, 13, 0.3), &vec![0.1; 130], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 9];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let general = Langevin::second_order(noise, 1.0, 0.8).unwrap().momentum(0.5).unwrap();
    goes_on(&model, &general, 9);
    for make in [IsingBalanced::new, IsingBalanced::discrete] {
        let itself = make(noise, 1.0, 0.8).unwrap().momentum(0.5).unwrap().metropolis_flips().unwrap();
        goes_on(&model, &itself, itself.momentum_blocks());
    }
    // η of no number.
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::moving_chain(&model, 9, &mut rng).unwrap();
    chain.step(&general, &mut rng);
    let mut bytes = save(&[&chain]);
    let end = bytes.len() - 4;
    bytes[end - 4..end].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(load(&sealed(bytes), &mut [&mut chain]), Err(SnapshotError::Value));
}

#[test]
fn what_draws_eta_anew_and_what_does_not() {
    let mut memory = Couplings::new(64, 128);
    let model = Ising::spins_edges_once(64, torus(8, 8, 0.3), &[0.0; 64], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 4];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let kernel = Langevin::second_order(noise, 1.0, 0.8).unwrap().momentum(0.9).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = heap::moving_chain(&model, 4, &mut rng).unwrap();
    chain.run(&kernel, &mut rng, 20, &mut ());
    // Whether the next step's η is the draw alone.
    let anew = |chain: &mut HeapChain<'_, Ising<'_>>, kernel: &Langevin<'_, Edgewise<'_>>, precision: f32| {
        let mut eta = draw(&noise, 4, 1, &mut rng.clone());
        eta.as_flattened_mut().iter_mut().for_each(|eta| *eta *= (1.0f32 / precision).sqrt());
        let before = chain.state().words().to_vec();
        if chain.step(kernel, &mut rng.clone()).moved() > 0 {
            let from = Packed::new(model.layout(), &before).unwrap();
            noise.follow(&bitmc::Move::new(from, chain.state()).unwrap(), &mut eta, 1);
        }
        let found = kept(chain, 4);
        eta.as_flattened().iter().zip(&found).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4)
    };
    assert!(!anew(&mut chain, &kernel, 1.0), "it goes on");
    let other = Langevin::second_order(noise, 2.0, 0.9).unwrap().momentum(0.5).unwrap();
    assert!(!anew(&mut chain, &other, 1.0), "of another σ, α and a it goes on");
    let mask = [0b1011, 0];
    chain.clamp(Packed::new(model.layout(), &mask).unwrap()).unwrap();
    assert!(!anew(&mut chain, &kernel, 1.0), "clamped sites leave it");
    assert!(anew(&mut chain, &kernel.precision(0.5).unwrap(), 0.5), "of another κ it is another one");
    chain.release();
    assert!(anew(&mut chain, &kernel, 1.0), "and back");
    let state = chain.state().words().to_vec();
    chain.restart(Packed::new(model.layout(), &state).unwrap()).unwrap();
    assert!(anew(&mut chain, &kernel, 1.0), "after a restart");
    chain.rebind(&model).unwrap();
    assert!(anew(&mut chain, &kernel, 1.0), "after a change of the model");
    let (state, core) = (chain.state().words().to_vec(), chain.core());
    let memory = heap::moving_memory(&model, 4);
    let mut chain = Chain::resume(&model, memory, Packed::new(model.layout(), &state).unwrap(), core).unwrap();
    assert!(anew(&mut chain, &kernel, 1.0), "after a resume");
}

/// One of the same noise, whose own η ends with its step.
#[test]
fn a_kernel_without_momentum_leaves_eta_alone() {
    let mut memory = Couplings::new(64, 128);
    let model = Ising::spins_edges_once(64, torus(8, 8, 0.3), &[0.0; 64], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 4];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let kernel = Langevin::second_order(noise, 1.0, 0.8).unwrap();
    let mut rng = LaneRng::seed_from_u64(17);
    let mut chain = heap::moving_chain(&model, 4, &mut rng).unwrap();
    chain.run(&kernel.momentum(0.9).unwrap(), &mut rng, 20, &mut ());
    let before = kept(&chain, 4);
    let moved: u32 = (0..20).map(|_| chain.step(&kernel, &mut rng).moved()).sum();
    assert!(moved > 20, "{moved}");
    assert_eq!(kept(&chain, 4), before);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut memory = Couplings::new(64, 128);
    let model = Ising::spins_edges_once(64, torus(8, 8, 0.3), &[0.0; 64], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 4];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let general = Langevin::second_order(noise, 1.0, 0.8).unwrap();
    let itself = IsingBalanced::new(noise, 1.0, 0.8).unwrap();
    for bad in [1.0, -0.1, f32::NAN, f32::INFINITY, 2.0] {
        assert!(matches!(general.momentum(bad), Err(ParameterError::Momentum(_))), "{bad}");
        assert!(matches!(itself.momentum(bad), Err(ParameterError::Momentum(_))), "{bad}");
    }
    let still = Langevin::adjusted(0.5).unwrap();
    assert!(matches!(still.metropolis_flips(), Err(ParameterError::MetropolisFlips)));
    let small = IsingBalanced::new(noise, 0.012, 0.8).unwrap();
    assert!(matches!(small.metropolis_flips(), Err(ParameterError::MetropolisFlips)));

    // A block less than is needed: a fault. Without momentum, and with a = 0, none is needed.
    let mut rng = LaneRng::seed_from_u64(5);
    let discrete = IsingBalanced::discrete(noise, 1.0, 0.8).unwrap().momentum(0.5).unwrap();
    assert_eq!(discrete.momentum_blocks(), 4);
    assert_eq!(
        discrete.weights_and_momentum(model.layout()),
        bitmc::Memory::weights_and_momentum(model.layout())
    );
    for blocks in [3, 4] {
        let mut chain = heap::moving_chain(&model, blocks, &mut rng).unwrap();
        let before = chain.state().words().to_vec();
        assert_eq!(chain.step(&general.momentum(0.5).unwrap(), &mut rng).fault, blocks == 3);
        assert_eq!(chain.step(&itself.momentum(0.5).unwrap(), &mut rng).fault, blocks == 3);
        assert_eq!(chain.step(&discrete, &mut rng).fault, blocks == 3);
        assert!(blocks == 4 || chain.state().words() == before);
    }
    let mut chain = heap::random_chain(&model, &mut rng).unwrap();
    assert!(!chain.step(&general.momentum(0.0).unwrap(), &mut rng).fault);

    // Sites of more values do not flip.
    let d = [[0.5; LANES]; 2];
    let (rows, mut of_dense) = (vec![[0.0; LANES]; DenseMatrix::blocks(20)], d);
    let mut root = vec![[0.0; LANES]; Dense::root_blocks(20)];
    let dense = Dense::new(DenseMatrix::new(20, &rows).unwrap(), &mut of_dense, &mut root).unwrap();
    let flips = Langevin::second_order(dense, 1.0, 0.8).unwrap().metropolis_flips().unwrap();
    let mut ladder = heap::random_chain(&Plain(Ladder), &mut rng).unwrap();
    assert!(ladder.step(&flips, &mut rng).fault);

    // A noise that draws nothing has nothing to keep, and needs no room.
    let kernel = Langevin::second_order(Diagonal::new(&d).unwrap(), 1.0, 0.8).unwrap().momentum(0.5).unwrap();
    let without = Langevin::second_order(Diagonal::new(&d).unwrap(), 1.0, 0.8).unwrap();
    let mut other = heap::chain(&Plain(Ladder), ladder.state().words()).unwrap();
    let mut same = rng.clone();
    for _ in 0..50 {
        assert_eq!(ladder.step(&kernel, &mut rng).moved(), other.step(&without, &mut same).moved());
    }
}

/// Room for gradients comes first: what is left of it is the room for a momentum.
#[test]
fn room_for_gradients_alone_is_none_for_a_momentum() {
    let mut memory = Couplings::new(64, 128);
    let model = Ising::spins_edges_once(64, torus(8, 8, 0.3), &[0.0; 64], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 4];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let kernel = Langevin::second_order(noise, 1.0, 0.8).unwrap().momentum(0.5).unwrap();
    let mut rng = LaneRng::seed_from_u64(6);
    for (blocks, fault) in [(8, true), (11, true), (12, false)] {
        let mut chain = heap::moving_chain(&model, blocks, &mut rng).unwrap();
        assert_eq!(chain.step(&kernel, &mut rng).fault, fault, "{blocks}");
    }
}

#[test]
fn snapshots_find_the_momentum_behind_gradients() {
    let mut memory = Couplings::new(130, 260);
    let model = Ising::spins_edges_once(130, torus(10, 13, 0.3), &vec![0.1; 130], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]; 9];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let kernel = Langevin::second_order(noise, 1.0, 0.8).unwrap().momentum(0.5).unwrap();
    let mut rng = LaneRng::seed_from_u64(21);
    let mut whole = heap::moving_chain(&model, 27, &mut rng).unwrap();
    let mut again = heap::moving_chain(&model, 27, &mut rng).unwrap();
    let mut moved = 0;
    for step in 0..50 {
        let bytes = save(&[&whole, &rng]);
        let mut other = LaneRng::seed_from_u64(step);
        load(&bytes, &mut [&mut again, &mut other]).unwrap();
        let info = whole.step(&kernel, &mut rng);
        moved += info.moved();
        assert!(!info.fault);
        assert_eq!(again.step(&kernel, &mut other), info, "step {step}");
        assert_eq!(save(&[&again, &other]), save(&[&whole, &rng]), "step {step}");
        // Elsewhere, with another momentum.
        (0..step % 3).for_each(|_| _ = again.step(&kernel, &mut other));
    }
    assert!(moved > 50, "{moved}");
}

/// Site 1 stays, and at the other end it would flip: there is no way back.
#[test]
fn a_flip_that_is_sure_at_the_other_end_shuts_the_move_off() {
    /// The slope of site 1 is 40 where site 0 is 0, and −40 where it is 1.
    struct Turns;
    impl bitmc::Function for Turns {
        fn layout(&self) -> bitmc::Layout {
            bitmc::Layout::binary(3)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            x.get(1) as f32 * (40.0 - 80.0 * x.get(0) as f32)
        }
        fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
            match site {
                0 => -80.0 * x.get(1) as f32,
                1 => 40.0 - 80.0 * x.get(0) as f32,
                _ => 0.0,
            }
        }
    }
    let mut memory = Couplings::new(3, 2);
    let model = Ising::spins_edges_once(3, [(0, 1, 0.125), (1, 2, 0.125)], &[], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let kernel = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap().metropolis_flips().unwrap();
    let energy = Plain(Turns);
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    let mut given = |to: u32| {
        let to = [to];
        let to = Packed::new(energy.layout(), &to).unwrap();
        kernel.transition_given(chain.ring(), to, &[[0.0; LANES]]).unwrap()
    };
    let off = given(1);
    assert!(off.log_forward.is_finite() && !off.fault, "{off:?}");
    assert_eq!((off.log_reverse, off.log_ratio), (f32::NEG_INFINITY, f32::NEG_INFINITY));
    // To stay, and the flip of a site that nothing depends on.
    for to in [0, 4] {
        let found = given(to);
        assert!(found.log_reverse.is_finite() && found.log_ratio.is_finite(), "{to}: {found:?}");
    }
}

/// Where log odds are so near above 0 that e^(−z) is 1, a site flips as surely as anywhere above.
#[test]
fn a_site_with_log_odds_just_above_zero_does_not_stay() {
    struct Slope(f32);
    impl bitmc::Function for Slope {
        fn layout(&self) -> bitmc::Layout {
            bitmc::Layout::binary(3)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            x.get(1) as f32 * self.0
        }
        fn gradient(&self, _: Packed<'_>, site: usize) -> f32 {
            if site == 1 { self.0 } else { 0.0 }
        }
    }
    let mut memory = Couplings::new(3, 2);
    let model =
        Ising::spins_edges_once(3, [(0, 1, 1.0 / 4096.0), (1, 2, 1.0 / 4096.0)], &[], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let half = 0.5 * noise.d().unwrap()[0][1];
    let kernel = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap().metropolis_flips().unwrap();
    // z = slope − D/2: below 0, and last digits above.
    for (digits, stays) in [(-(1 << 20), true), (1, false), (2, false)] {
        let slope = f32::from_bits(half.to_bits().wrapping_add_signed(digits));
        let energy = Plain(Slope(-slope));
        let mut chain = heap::chain(&energy, &[0]).unwrap();
        let to = [0];
        let to = Packed::new(energy.layout(), &to).unwrap();
        let found = kernel.transition_given(chain.ring(), to, &[[0.0; LANES]]).unwrap();
        assert_eq!(found.log_forward > f32::NEG_INFINITY, stays, "{digits}: {found:?}");
    }
}
