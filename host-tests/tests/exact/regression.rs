//! W at the entries of a pattern by least squares: the equations of the constrained minimum hold in float64, the
//! couplings of a quadratic energy come back, and a balanced sampler can stand on them.

use bitmc::lane::{Block, LANES};
use bitmc::noise::{DenseMatrix, Edgewise, NoiseError, Regression, SparseMatrix, SparseRegression, Symmetric};
use bitmc::snapshot::{Reader, Snapshot, Writer};
use bitmc::{Energy, Ising, LaneRng, Langevin, Layout, Move, Packed, SeedableRng, torus};
use bitmc_host_tests::heap::{self, Couplings, pack_in};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::snapshot::{load, save, sealed};
use bitmc_host_tests::tolerance;

/// A move and the gradients at its ends.
struct Sample {
    from: Vec<f64>,
    to: Vec<f64>,
    before: Vec<f32>,
    after: Vec<f32>,
}

/// Moves of seven sites of five values, and gradients that no W explains.
fn samples(count: usize) -> Vec<Sample> {
    let mut source = Source::new(12);
    let mut draw = || {
        let from: Vec<f64> = (0..7).map(|_| (source.uniform() * 5.0).floor()).collect();
        // About half of the sites stay.
        let to = from.iter().map(|&x| if source.uniform() < 0.5 { x } else { (x + 2.0) % 5.0 }).collect();
        let [before, after] = [0, 1].map(|_| (0..7).map(|_| source.normal(3.0)).collect());
        Sample { from, to, before, after }
    };
    (0..count).map(|_| draw()).collect()
}

fn blocks(values: &[f32]) -> Vec<Block> {
    let mut blocks = vec![[0.0; LANES]; values.len().div_ceil(LANES)];
    blocks.as_flattened_mut()[..values.len()].copy_from_slice(values);
    blocks
}

fn push(regression: &mut SparseRegression<'_>, layout: Layout, sample: &Sample) {
    let (from, to) = (pack_in(layout, &sample.from), pack_in(layout, &sample.to));
    let (from, to) = (Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap());
    regression.push(&Move::new(from, to).unwrap(), &blocks(&sample.before), &blocks(&sample.after)).unwrap();
}

/// W in full, from a solution.
fn full(regression: &SparseRegression<'_>, w: &[Block], sites: usize) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; sites]; sites];
    let mut diagonal = vec![0.0; sites];
    regression.diagonal(w, &mut diagonal);
    for (a, b, value) in regression.edges(w) {
        rows[a as usize][b as usize] = f64::from(value);
        rows[b as usize][a as usize] = f64::from(value);
    }
    (0..sites).for_each(|site| rows[site][site] = f64::from(diagonal[site]));
    rows
}

/// The norm of `(A+ρ)W + W(A+ρ) − B − Bᵀ` over the pattern, relative to that of B + Bᵀ there.
fn residual(samples: &[Sample], w: &[Vec<f64>], ridge: f64, pattern: &dyn Fn(usize, usize) -> bool) -> f64 {
    let sites = w.len();
    let (mut a, mut b) = (vec![vec![0.0; sites]; sites], vec![vec![0.0; sites]; sites]);
    for sample in samples {
        let v: Vec<f64> = sample.to.iter().zip(&sample.from).map(|(y, x)| y - x).collect();
        for i in 0..sites {
            for j in 0..sites {
                a[i][j] += v[i] * v[j];
                b[i][j] += v[i] * f64::from(sample.before[j] - sample.after[j]);
            }
        }
    }
    let mean = (0..sites).map(|site| a[site][site]).sum::<f64>() / sites as f64;
    (0..sites).for_each(|site| a[site][site] += ridge * mean);
    let (mut left, mut right) = (0.0, 0.0);
    for i in 0..sites {
        for j in (0..sites).filter(|&j| pattern(i, j)) {
            let product: f64 = (0..sites).map(|k| a[i][k] * w[k][j] + w[i][k] * a[k][j]).sum();
            left += (product - b[i][j] - b[j][i]).powi(2);
            right += (b[i][j] + b[j][i]).powi(2);
        }
    }
    (left / right).sqrt()
}

#[test]
fn the_equations_of_the_constrained_minimum_hold() {
    // A ring of seven with two chords.
    let edges: Vec<_> = (0..7).map(|i| (i, (i + 1) % 7, 1.0)).chain([(0, 3, 1.0), (2, 5, 1.0)]).collect();
    let mut memory = Couplings::new(7, 9);
    let pattern = Ising::bits_edges_once(7, edges.iter().copied(), &[], memory.borrow()).unwrap();
    let layout = Layout::ordinal(7, 5);
    let samples = samples(60);
    let mut room = vec![[7.0; LANES]; SparseRegression::blocks(pattern.form())];
    let mut regression = SparseRegression::new(pattern.form(), &mut room).unwrap();
    samples.iter().for_each(|sample| push(&mut regression, layout, sample));
    assert_eq!(regression.moves(), 60);
    let size = SparseRegression::w_blocks(pattern.form());
    let (mut w, mut scratch) = (vec![[7.0; LANES]; size], vec![[7.0; LANES]; 3 * size]);
    let ridge = 1e-3;
    assert_eq!(regression.solve(ridge, 2, &mut w, &mut scratch).unwrap().iterations, 2);
    let fit = regression.solve(ridge, 200, &mut w, &mut scratch).unwrap();
    assert!((3..200).contains(&fit.iterations), "{fit:?}");
    let found = full(&regression, &w, 7);
    let inside = |i: usize, j: usize| {
        i == j || edges.iter().any(|&(a, b, _)| [(a, b), (b, a)].contains(&(i as u32, j as u32)))
    };
    // What the solution stops at, and as much for the roundings of its running residual.
    let bound = 2.0 * tolerance::REGRESSION_RESIDUAL;
    let right = residual(&samples, &found, f64::from(ridge), &inside);
    println!("{fit:?}, in float64 {right:.1e}");
    assert!(right <= bound, "{right}");
    // Negative controls: a move that was not seen, another ridge, and the equations of other entries.
    assert!(residual(&samples[1..], &found, f64::from(ridge), &inside) > 10.0 * bound);
    assert!(residual(&samples, &found, 0.1, &inside) > 10.0 * bound);
    assert!(residual(&samples, &found, f64::from(ridge), &|_, _| true) > 10.0 * bound);

    // Saved and loaded in the middle, it goes on bit for bit.
    let mut room = vec![[7.0; LANES]; SparseRegression::blocks(pattern.form())];
    let mut again = SparseRegression::new(pattern.form(), &mut room).unwrap();
    samples[..20].iter().for_each(|sample| push(&mut again, layout, sample));
    let mut saved = vec![0; Writer::new(&mut []).put(&again).need()];
    Writer::new(&mut saved).put(&again).finish().unwrap();
    let mut room = vec![[7.0; LANES]; SparseRegression::blocks(pattern.form())];
    let mut resumed = SparseRegression::new(pattern.form(), &mut room).unwrap();
    let mut reader = Reader::new(&saved).unwrap();
    reader.get(&mut resumed).unwrap();
    reader.finish().unwrap();
    samples[20..].iter().for_each(|sample| push(&mut resumed, layout, sample));
    let mut same = vec![[0.0; LANES]; size];
    resumed.solve(ridge, 200, &mut same, &mut scratch).unwrap();
    assert_eq!((w, resumed.moves()), (same, 60));
}

/// W of a torus of 1,600 spins, more than a full matrix may have, over the moves of a burn-in; the largest error
/// of a coupling relative to the couplings, and the acceptance of AB-edge with what was found, at α = 1, σ = ∞.
fn torus_again(steps: u32, ridge: f32, coupled: impl Fn(u32, u32) -> bool) -> (f32, f32) {
    let sites = 1600;
    let mut memory = Couplings::new(sites, 2 * sites);
    let model = Ising::spins_edges_once(sites, torus(40, 40, 0.3), &vec![0.1; sites], memory.borrow()).unwrap();
    let mut memory = Couplings::new(sites, 2 * sites);
    let edges = torus(40, 40, 1.0).filter(|&(a, b, _)| coupled(a, b));
    let pattern = Ising::bits_edges_once(sites, edges, &[], memory.borrow()).unwrap();
    let mut room = vec![[0.0; LANES]; SparseRegression::blocks(pattern.form())];
    let mut regression = SparseRegression::new(pattern.form(), &mut room).unwrap();
    let mut rng = LaneRng::seed_from_u64(8);
    let mut chain = heap::random_chain(&model, &mut rng).unwrap();
    for _ in 0..steps {
        let before = chain.state().words().to_vec();
        let before = Packed::new(model.layout(), &before).unwrap();
        chain.step(&Langevin::adjusted(0.2).unwrap(), &mut rng);
        let step = Move::new(before, chain.state()).unwrap();
        regression
            .push(&step, &heap::gradient(&model, before), &heap::gradient(&model, chain.state()))
            .unwrap();
    }
    let size = SparseRegression::w_blocks(pattern.form());
    let (mut w, mut scratch) = (vec![[0.0; LANES]; size], vec![[0.0; LANES]; 3 * size]);
    let fit = regression.solve(ridge, 400, &mut w, &mut scratch).unwrap();
    let mut diagonal = vec![0.0; sites];
    regression.diagonal(&w, &mut diagonal);
    let mut memory = Couplings::new(sites, 2 * sites);
    let found = Ising::bits_edges_once(sites, regression.edges(&w), &[], memory.borrow()).unwrap();
    let matrix = SparseMatrix::with_diagonal(found.form(), &diagonal).unwrap();
    let (truth, mut error) = (SparseMatrix::of(model.form()), 0.0f32);
    for (site, &own) in diagonal.iter().enumerate() {
        let mut row = vec![0.0; sites];
        truth.row(site, |other, value| row[other] += value);
        matrix.row(site, |other, value| row[other] -= value);
        error = row.iter().fold(error.max(own.abs()), |error, off| error.max(off.abs()));
    }
    let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap();
    let accepted = (0..100).filter(|_| chain.step(&sampler, &mut rng).accepted).count();
    println!("{steps} steps: {fit:?}, error {}, accepted {accepted} of 100", error / 1.2);
    (error / 1.2, accepted as f32 / 100.0)
}

#[test]
fn the_couplings_of_a_quadratic_energy_come_back() {
    // Moves explain the gradients exactly: what is left is the ridge's bias and the residual of the solution,
    // times the largest moment over the smallest one.
    let (error, accepted) = torus_again(1000, 1e-4, |_, _| true);
    assert!(error < 1e-2 && accepted > 0.9, "{error} {accepted}");
    // Negative controls: too few moves, with which the ridge holds W near 0; and a pattern that lacks a row of edges.
    assert!(torus_again(5, 1e-4, |_, _| true).0 > 0.1);
    assert!(torus_again(1000, 1e-4, |a, b| (a < 40) == (b < 40)).0 > 0.1);
}

#[test]
fn short_memory_is_refused_and_nothing_seen_is_zero() {
    let mut memory = Couplings::new(3, 2);
    let edges = [(0, 1, 1.0), (1, 2, 1.0)];
    let pattern = Ising::bits_edges_once(3, edges, &[], memory.borrow()).unwrap().form();
    let need = SparseRegression::blocks(pattern);
    assert!(SparseRegression::new(pattern, &mut vec![[0.0; LANES]; need - 1]).is_err());
    let mut room = vec![[7.0; LANES]; need];
    let mut regression = SparseRegression::new(pattern, &mut room).unwrap();
    // A move of another model is left out.
    let layout = Layout::binary(4);
    let (from, to) = (Packed::new(layout, &[0]).unwrap(), Packed::new(layout, &[1]).unwrap());
    regression.push(&Move::new(from, to).unwrap(), &[[1.0; LANES]], &[[2.0; LANES]]).unwrap();
    assert_eq!(regression.moves(), 0);
    let (mut w, mut scratch) = ([[7.0; LANES]; 1], [[7.0; LANES]; 3]);
    let fit = regression.solve(1e-3, 10, &mut w, &mut scratch).unwrap();
    assert_eq!((fit.residual, fit.iterations, w), (0.0, 0, [[0.0; LANES]; 1]));
    assert!(regression.solve(1e-3, 10, &mut [], &mut scratch).is_err());
    assert!(regression.solve(1e-3, 10, &mut w, &mut scratch[..2]).is_err());
}

#[test]
fn categorical_moves_are_refused() {
    let mut memory = Couplings::new(3, 2);
    let pattern = Ising::bits_edges_once(3, [(0, 1, 1.0)], &[], memory.borrow()).unwrap().form();
    let mut room = vec![[0.0; LANES]; SparseRegression::blocks(pattern)];
    let mut sparse = SparseRegression::new(pattern, &mut room).unwrap();
    let mut room = vec![[0.0; LANES]; Regression::blocks(3)];
    let mut dense = Regression::new(3, &mut room).unwrap();
    let (from, to) = ([0b00_01_00], [0b10_01_01]);
    for (layout, refused) in [(Layout::categorical(3, 3), true), (Layout::ordinal(3, 3), false)] {
        let step = Move::new(Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap()).unwrap();
        let gradient = [[1.0; LANES]; 3];
        for pushed in [sparse.push(&step, &gradient, &gradient), dense.push(&step, &gradient, &gradient)] {
            assert_eq!(pushed, if refused { Err(NoiseError::Categorical) } else { Ok(()) });
        }
        assert_eq!((sparse.moves(), dense.moves()), if refused { (0, 0) } else { (1, 1) });
    }
}

/// One site that moves 2²⁴ times over gradients of W = −1 and then 2²³ times of 1. Halved at every 2²² moves the sums are
/// ½ + ¼ of the second and (½ + ¼ + ⅛ + ¹⁄₁₆)/4 of the first; those that stop at 2²⁴ do not know of the second.
#[test]
fn sums_do_not_stop_growing() {
    let mut memory = Couplings::new(1, 0);
    let pattern = Ising::bits_edges_once(1, [], &[], memory.borrow()).unwrap().form();
    let mut room = vec![[0.0; LANES]; SparseRegression::blocks(pattern)];
    let mut sparse = SparseRegression::new(pattern, &mut room).unwrap();
    let mut room = vec![[0.0; LANES]; Regression::blocks(1)];
    let mut dense = Regression::new(1, &mut room).unwrap();
    let layout = Layout::binary(1);
    let step = Move::new(Packed::new(layout, &[0]).unwrap(), Packed::new(layout, &[1]).unwrap()).unwrap();
    for (count, w) in [(1 << 24, -1.0), (1 << 23, 1.0)] {
        let (before, after) = ([[0.0; LANES]], [[-w; LANES]]);
        for _ in 0..count {
            sparse.push(&step, &before, &after).unwrap();
            dense.push(&step, &before, &after).unwrap();
        }
    }
    let (first, second) = (15.0 / 64.0, 0.75);
    let expected = (second - first) / (second + first);
    let (mut w, mut scratch) = ([[0.0; LANES]], [[0.0; LANES]; 3]);
    dense.solve(1e-4, 50, &mut w, &mut scratch).unwrap();
    assert!((w[0][0] - expected).abs() < 1e-3, "{}", w[0][0]);
    sparse.solve(1e-4, 50, &mut w, &mut scratch).unwrap();
    assert!((w[0][0] - expected).abs() < 1e-3, "{}", w[0][0]);
}

/// W of a full regression, row by row.
fn dense(samples: &[Sample], ridge: f32) -> Vec<Vec<f64>> {
    let layout = Layout::ordinal(7, 5);
    let mut room = vec![[7.0; LANES]; Regression::blocks(7)];
    let mut regression = Regression::new(7, &mut room).unwrap();
    // A move of another model is left out.
    let other = Layout::binary(8);
    let (from, to) = (Packed::new(other, &[0]).unwrap(), Packed::new(other, &[1]).unwrap());
    regression.push(&Move::new(from, to).unwrap(), &[[1.0; LANES]], &[[2.0; LANES]]).unwrap();
    assert_eq!(regression.moves(), 0);
    for sample in samples {
        let (from, to) = (pack_in(layout, &sample.from), pack_in(layout, &sample.to));
        let step = Move::new(Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap()).unwrap();
        regression.push(&step, &blocks(&sample.before), &blocks(&sample.after)).unwrap();
    }
    let size = DenseMatrix::blocks(7);
    let (mut rows, mut scratch) = (vec![[7.0; LANES]; size], vec![[7.0; LANES]; 3 * size]);
    let fit = regression.solve(ridge, 200, &mut rows, &mut scratch).unwrap();
    assert!((3..200).contains(&fit.iterations), "{fit:?}");
    let matrix = DenseMatrix::new(7, &rows).unwrap();
    (0..7).map(|a| (0..7).map(|b| f64::from(matrix.get(a, b))).collect()).collect()
}

#[test]
fn a_full_regression_solves_its_equations_with_its_ridge() {
    let samples = samples(60);
    let bound = 2.0 * tolerance::REGRESSION_RESIDUAL;
    for ridge in [1e-3, 0.1] {
        let found = dense(&samples, ridge);
        let right = residual(&samples, &found, f64::from(ridge), &|_, _| true);
        assert!(right <= bound, "{ridge}: {right}");
        // Negative control.
        assert!(residual(&samples, &found, 1.2 * f64::from(ridge), &|_, _| true) > 2.0 * bound, "{ridge}");
    }
}

/// However small gradients are; and the residual is what it is said to be. Each edge comes once, in the order of its sites.
#[test]
fn small_gradients_are_solved_as_well() {
    let edges: Vec<_> = (0..7).map(|i| (i, (i + 1) % 7, 1.0)).collect();
    let mut memory = Couplings::new(7, 7);
    let pattern = Ising::bits_edges_once(7, edges.iter().copied(), &[], memory.borrow()).unwrap().form();
    let mut small = samples(60);
    for sample in &mut small {
        sample.before.iter_mut().chain(&mut sample.after).for_each(|g| *g /= 1_073_741_824.0);
    }
    let mut room = vec![[7.0; LANES]; SparseRegression::blocks(pattern)];
    let mut regression = SparseRegression::new(pattern, &mut room).unwrap();
    small.iter().for_each(|sample| push(&mut regression, Layout::ordinal(7, 5), sample));
    let size = SparseRegression::w_blocks(pattern);
    let (mut w, mut scratch) = (vec![[7.0; LANES]; size], vec![[7.0; LANES]; 3 * size]);
    let inside = |i: usize, j: usize| [0, 1, 6].contains(&((i + 7 - j) % 7));
    for (iterations, bound) in [(2, f64::INFINITY), (200, 2.0 * tolerance::REGRESSION_RESIDUAL)] {
        let fit = regression.solve(1e-3, iterations, &mut w, &mut scratch).unwrap();
        let exact = residual(&small, &full(&regression, &w, 7), f64::from(1e-3f32), &inside);
        assert!(exact <= bound && fit.iterations >= 2, "{fit:?}: {exact}");
        let off = (f64::from(fit.residual) - exact).abs();
        assert!(off <= 1e-3 * exact + tolerance::REGRESSION_RESIDUAL, "{fit:?}: {exact}");
    }
    let found: Vec<_> = regression.edges(&w).map(|(a, b, _)| (a, b)).collect();
    assert_eq!(found, [(0, 1), (0, 6), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]);
}

/// Gradients whose squares are lost in f32 are refused no more than others, and W stays a number as small as they are. Of many
/// moves of one site the products with moments are not lost; of two moves that have a combination of few moments they are, and
/// the largest square is not.
#[test]
fn gradients_whose_squares_are_lost_are_not_refused() {
    let layout = Layout::binary(2);
    let solve = |moves: &[(u32, [f32; 2])]| {
        let mut room = vec![[0.0; LANES]; Regression::blocks(2)];
        let mut regression = Regression::new(2, &mut room).unwrap();
        for &(to, g) in moves {
            let (from, to) = ([0], [to]);
            let step =
                Move::new(Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap()).unwrap();
            regression.push(&step, &blocks(&g), &[[0.0; LANES]]).unwrap();
        }
        let (mut w, mut scratch) = ([[7.0; LANES]; 2], [[7.0; LANES]; 6]);
        let fit = regression.solve(0.0, 50, &mut w, &mut scratch);
        assert!(fit.is_ok(), "{fit:?}");
        assert!(w.as_flattened().iter().all(|w| w.abs() < 1e-20), "{w:?}");
    };
    solve(&[(0b01, [1e-25, 0.0]); 100]);
    // A = [2 1; 1 1], whose smaller eigenvalue is 0.38; B + Bᵀ is of its vector (−0.526, 0.851).
    let half = 0.5 * 3.9e-23;
    solve(&[(0b01, [0.723 * half, -1.171 * half]), (0b11, [-0.447 * half, 0.724 * half])]);
}

/// Two moves over a gradient of W = −1, then one of 1. Halved after the second, which is the 2²²nd, both weigh the same.
#[test]
fn sums_are_halved_when_they_are_large() {
    let mut memory = Couplings::new(1, 0);
    let pattern = Ising::bits_edges_once(1, [], &[], memory.borrow()).unwrap().form();
    let mut room = vec![[0.0; LANES]; SparseRegression::blocks(pattern)];
    let mut sparse = SparseRegression::new(pattern, &mut room).unwrap();
    let mut room = vec![[0.0; LANES]; Regression::blocks(1)];
    let mut dense = Regression::new(1, &mut room).unwrap();
    let layout = Layout::binary(1);
    let step = Move::new(Packed::new(layout, &[0]).unwrap(), Packed::new(layout, &[1]).unwrap()).unwrap();
    for (number, w) in [-1.0, -1.0, 1.0].into_iter().enumerate() {
        if number == 1 {
            // The number of moves is behind the frame and the names.
            for (part, at) in [(&mut sparse as &mut dyn Snapshot, 28), (&mut dense as &mut dyn Snapshot, 16)] {
                let mut bytes = save(&[&*part]);
                assert_eq!(bytes[at..at + 4], 1u32.to_le_bytes());
                bytes[at..at + 4].copy_from_slice(&((1u32 << 22) - 1).to_le_bytes());
                load(&sealed(bytes), &mut [part]).unwrap();
            }
        }
        sparse.push(&step, &[[0.0; LANES]], &[[-w; LANES]]).unwrap();
        dense.push(&step, &[[0.0; LANES]], &[[-w; LANES]]).unwrap();
    }
    assert_eq!((sparse.moves(), dense.moves()), ((1 << 22) + 1, (1 << 22) + 1));
    let (mut w, mut scratch) = ([[7.0; LANES]], [[0.0; LANES]; 3]);
    dense.solve(1e-4, 50, &mut w, &mut scratch).unwrap();
    assert_eq!(w[0][0], 0.0);
    w[0][0] = 7.0;
    sparse.solve(1e-4, 50, &mut w, &mut scratch).unwrap();
    assert_eq!(w[0][0], 0.0);
}
