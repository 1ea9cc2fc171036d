//! Noises, matrices and estimates that are given what does not fit: each says so, and no chain has another distribution for it.

use bitmc::lane::{Block, LANES};
use bitmc::noise::{
    Dense, DenseMatrix, Diagonal, Edgewise, MinTrace, Noise, NoiseError, Regression, Run, SparseMatrix,
    SparseRegression, constant, least_eigenvalue,
};
use bitmc::{Function, Ising, LaneRng, Langevin, Layout, Move, Packed, Plain, Rng, SeedableRng};
use bitmc_host_tests::heap::{self, Couplings};

/// A path of some sites.
fn path(sites: usize, coupling: f32, memory: &mut Couplings) -> Ising<'_> {
    let edges = (1..sites as u32).map(|site| (site - 1, site, coupling));
    Ising::spins_edges_once(sites, edges, &[], memory.borrow()).unwrap()
}

/// Faults of fifty steps on a path.
fn faults<N: Noise>(noise: N, sites: usize) -> u32 {
    let mut memory = Couplings::new(sites, sites);
    let model = path(sites, 0.5, &mut memory);
    let mut chain = heap::chain(&model, &vec![0; sites.div_ceil(32)]).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    chain.run(&Langevin::second_order(noise, 2.0, 0.9).unwrap(), &mut rng, 50, &mut ());
    chain.faults()
}

#[test]
fn a_noise_for_another_number_of_sites_is_refused() {
    // As many blocks as the chain has, more of them, or fewer.
    for (of, chain) in [(12, 12), (12, 11), (12, 40), (40, 12), (64, 12)] {
        let expected = if of == chain { 0 } else { 50 };
        let mut memory = Couplings::new(of, of);
        let model = path(of, 0.5, &mut memory);
        let matrix = SparseMatrix::of(model.form());

        let blocks = of.max(chain).div_ceil(LANES);
        let mut d = vec![[0.0; LANES]; blocks];
        let edges = Edgewise::new(matrix, &mut d).unwrap();
        assert_eq!(faults(edges, chain), expected, "edges of {of} on {chain}");
        let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
        assert_eq!(faults(edges.by_runs(&mut runs).unwrap(), chain), expected, "runs of {of} on {chain}");

        let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(of)];
        let mut root = vec![[0.0; LANES]; Dense::root_blocks(of)];
        // More than one each: W + D has a positive diagonal whatever W is; and no block too few for the chain.
        let mut d = vec![[8.0; LANES]; blocks];
        let dense = Dense::new(DenseMatrix::of(&matrix, &mut rows).unwrap(), &mut d, &mut root).unwrap();
        assert_eq!(faults(dense, chain), expected, "dense of {of} on {chain}");
    }
    // That of no matrix fits every model that is not larger.
    let d = [[1.0; LANES]; 2];
    assert_eq!([12, 32, 33].map(|sites| faults(Diagonal::new(&d).unwrap(), sites)), [0, 0, 50]);
}

/// D alone, and nothing that may be called.
struct Silent([Block; 1]);

impl Noise for Silent {
    const SOME: bool = false;

    fn d(&self) -> Option<&[Block]> {
        Some(&self.0)
    }

    fn draw<R: Rng + ?Sized>(&self, _: &mut R, _: &mut [Block], _: usize) {
        panic!("there is nothing to draw");
    }

    fn follow(&self, _: &Move<'_>, _: &mut [Block], _: usize) {
        panic!("there is nothing to follow");
    }
}

#[test]
fn a_noise_that_draws_nothing_is_not_called() {
    assert_eq!(faults(Silent([[1.0; LANES]]), 12), 0);
}

/// Flat, and over long windows.
struct Flat;

impl Function for Flat {
    fn layout(&self) -> Layout {
        Layout::ordinal(20, 60)
    }

    fn total(&self, _: Packed<'_>) -> f32 {
        0.0
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        0.0
    }
}

#[test]
fn a_ratio_that_is_not_a_number_is_a_fault() {
    // v·η and vᵀ(W+D)v overflow together.
    for (size, faulty) in [(1e30, false), (1e36, true)] {
        let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(20)];
        let of = |a: usize, b: usize| if a == b { 30.0 } else { [1.0, -1.0][(a + b) % 2] };
        let at = |a: usize, b: usize| 2 * LANES * a + b;
        (0..20).for_each(|a| (0..20).for_each(|b| rows.as_flattened_mut()[at(a, b)] = size * of(a, b)));
        let matrix = DenseMatrix::new(20, &rows).unwrap();
        let (mut d, mut root) = ([[0.0; LANES]; 2], vec![[0.0; LANES]; Dense::root_blocks(20)]);
        let noise = Dense::new(matrix, &mut d, &mut root).unwrap();
        let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap();
        let mut rng = LaneRng::seed_from_u64(1);
        let mut chain = heap::random_chain(&Plain(Flat), &mut rng).unwrap();
        let infos: Vec<_> = (0..3000).map(|_| chain.step(&sampler, &mut rng)).collect();
        assert!(infos.iter().all(|info| !info.log_ratio.is_nan()), "{size}");
        let mut faults = infos.iter().filter(|info| info.fault);
        assert!(faults.clone().all(|info| info.log_ratio == f32::NEG_INFINITY && !info.accepted));
        assert_eq!(faults.next().is_some(), faulty, "{size}");
        // The same of a transition with a given η.
        let to = chain.state().words().to_vec();
        let eta = vec![[f32::MAX; LANES]; 2];
        let flat = vec![0; Layout::ordinal(20, 60).words()];
        let there = Packed::new(Layout::ordinal(20, 60), &to).unwrap();
        chain.restart(Packed::new(Layout::ordinal(20, 60), &flat).unwrap()).unwrap();
        let found = sampler.transition_given(chain.ring(), there, &eta).unwrap();
        assert!(
            !found.log_ratio.is_nan() && (!found.fault || found.log_ratio == f32::NEG_INFINITY),
            "{found:?}"
        );
    }
}

#[test]
fn without_couplings_there_is_nothing_to_draw() {
    let mut memory = Couplings::new(5, 0);
    let model = Ising::spins_edges_once(5, [], &[0.1; 5], memory.borrow()).unwrap();
    let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(5)];
    let matrix = DenseMatrix::of(&SparseMatrix::of(model.form()), &mut rows).unwrap();
    let (mut d, mut root) = ([[0.0; LANES]; 1], vec![[0.0; LANES]; Dense::root_blocks(5)]);
    let noise = Dense::new(matrix, &mut d, &mut root).unwrap();
    assert!(noise.raised() < 1e-30);
    let mut eta = [[1.0; LANES]; 1];
    noise.draw(&mut LaneRng::seed_from_u64(1), &mut eta, 1);
    assert!(eta[0].iter().all(|eta| eta.abs() < 1e-15), "{eta:?}");
}

#[test]
fn numbers_past_the_largest_are_named() {
    // λ_min = −3 · 2·10³⁸ has no float; at 10³⁰ it has.
    let (mut d, mut scratch) = ([[0.0; LANES]; 1], [[0.0; LANES]; 3]);
    let of = |coupling: f32, a: usize, b: usize| if a < 4 && b < 4 && a != b { -coupling } else { 0.0 };
    let full = |coupling: f32| -> [Block; 4] {
        core::array::from_fn(|a| core::array::from_fn(|b| of(coupling, a, b)))
    };
    let rows = full(1e30);
    let shift = constant(&DenseMatrix::new(4, &rows).unwrap(), 1e-3, &mut d, &mut scratch).unwrap();
    assert!((shift / 3e30 - 1.0).abs() < 1e-5, "{shift}");
    let rows = full(2e38);
    let matrix = DenseMatrix::new(4, &rows).unwrap();
    assert!(matches!(constant(&matrix, 1e-3, &mut d, &mut scratch), Err(NoiseError::D { .. })));
    let mut vectors = [[0.0; LANES]; MinTrace::blocks(4)];
    let found = MinTrace::new(1e-3, 100).solve(&matrix, &mut d, &mut vectors, &mut scratch);
    assert!(matches!(found, Err(NoiseError::D { .. })), "{found:?}");

    let mut memory = Couplings::new(4, 3);
    let model = path(4, 1.0, &mut memory);
    let matrix = SparseMatrix::of(model.form());
    assert!(constant(&matrix, 1e-3, &mut d, &mut scratch).is_ok());
    for epsilon in [f32::NAN, f32::INFINITY] {
        assert!(constant(&matrix, epsilon, &mut d, &mut scratch).is_err());
    }
}

/// A move of both of the first sites of five, with gradients that have `value` in one lane.
fn with_move<T>(value: f32, lane: usize, told: impl FnOnce(&Move<'_>, &[Block], &[Block]) -> T) -> T {
    let layout = Layout::binary(5);
    let (from, to) = ([0b00u32], [0b11u32]);
    let (from, to) = (Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap());
    let mut before = [[0.0; LANES]];
    before[0][..5].copy_from_slice(&[1.0, -0.5, 0.25, 0.0, 0.5]);
    before[0][lane] = value;
    told(&Move::new(from, to).unwrap(), &before, &[[0.0; LANES]])
}

/// W of one move, in full and over a pattern.
fn estimates(value: f32, lane: usize) -> [Result<Vec<Block>, NoiseError>; 2] {
    estimates_with(1e-3, value, lane)
}

fn estimates_with(ridge: f32, value: f32, lane: usize) -> [Result<Vec<Block>, NoiseError>; 2] {
    let mut room = vec![[0.0; LANES]; Regression::blocks(5)];
    let mut regression = Regression::new(5, &mut room).unwrap();
    with_move(value, lane, |step, before, after| {
        let short = Err(NoiseError::Memory { need: 1, got: 0 });
        assert_eq!([regression.push(step, &[], after), regression.push(step, before, &[])], [short, short]);
        regression.push(step, before, after).unwrap();
        assert_eq!(regression.moves(), 1);
    });
    let mut w = vec![[0.0; LANES]; DenseMatrix::blocks(5)];
    let mut scratch = vec![[0.0; LANES]; 3 * DenseMatrix::blocks(5)];
    let full = regression.solve(ridge, 50, &mut w, &mut scratch).map(|_| w);

    let mut memory = Couplings::new(5, 4);
    let model = path(5, 1.0, &mut memory);
    let mut room = vec![[0.0; LANES]; SparseRegression::blocks(model.form())];
    let mut regression = SparseRegression::new(model.form(), &mut room).unwrap();
    with_move(value, lane, |step, before, after| {
        let short = Err(NoiseError::Memory { need: 1, got: 0 });
        assert_eq!([regression.push(step, &[], after), regression.push(step, before, &[])], [short, short]);
        regression.push(step, before, after).unwrap();
        assert_eq!(regression.moves(), 1);
    });
    let mut w = vec![[0.0; LANES]; SparseRegression::w_blocks(model.form())];
    let mut scratch = vec![[0.0; LANES]; 3 * w.len()];
    let sparse = regression.solve(ridge, 50, &mut w, &mut scratch).map(|_| w);
    [full, sparse]
}

#[test]
fn gradients_that_are_not_numbers_give_no_w() {
    for value in [f32::NAN, f32::INFINITY, 1e25] {
        for found in estimates(value, 0) {
            assert_eq!(found.unwrap_err(), NoiseError::Gradient, "{value}");
        }
    }
    assert!(estimates(1.0, 0).into_iter().all(|found| found.unwrap().as_flattened().iter().any(|&w| w != 0.0)));
}

#[test]
fn a_ridge_is_a_number_from_0() {
    for ridge in [f32::NAN, f32::INFINITY, -1.0] {
        for found in estimates_with(ridge, 1.0, 0) {
            assert!(matches!(found, Err(NoiseError::Ridge(_))), "{ridge}: {found:?}");
        }
    }
    assert!(estimates_with(0.0, 1.0, 0).iter().all(Result::is_ok));
}

#[test]
fn lanes_past_the_last_site_are_not_read() {
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits();
    for value in [7.0, f32::NAN] {
        for (found, expected) in estimates(value, 14).into_iter().zip(estimates(0.0, 14)) {
            let (found, expected) = (found.unwrap(), expected.unwrap());
            assert!(found.as_flattened().iter().zip(expected.as_flattened()).all(|(&a, &b)| same(a, b)));
        }
    }
}

/// diag(−1, …) of twenty sites.
fn minus_one() -> Vec<Block> {
    let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(20)];
    (0..20).for_each(|site| rows.as_flattened_mut()[2 * LANES * site + site] = -1.0);
    rows
}

#[test]
fn a_d_of_too_few_sites_has_no_eigenvalue() {
    let rows = minus_one();
    let matrix = DenseMatrix::new(20, &rows).unwrap();
    let (d, mut scratch) = ([[1.0; LANES]; 2], [[0.0; LANES]; 6]);
    let mut least = |blocks: usize| least_eigenvalue(&matrix, &d[..blocks], &mut scratch);
    for (blocks, value) in [(0, -1.0), (2, 0.0)] {
        let found = least(blocks).unwrap();
        assert!((found.value - value).abs() <= found.residual, "{blocks}: {found:?}");
    }
    assert_eq!(least(1), Err(NoiseError::Memory { need: 2, got: 1 }));
}

#[test]
fn a_d_that_is_refused_stays_as_it_was() {
    let rows = minus_one();
    let matrix = DenseMatrix::new(20, &rows).unwrap();
    let mut root = vec![[0.0; LANES]; Dense::root_blocks(20)];
    let mut d = [[0.5; LANES]; 2];
    assert!(matches!(Dense::new(matrix, &mut d, &mut root), Err(NoiseError::NotPositive { .. })));
    assert_eq!(d, [[0.5; LANES]; 2]);
    // One that is raised is.
    let mut d = [[1.0; LANES]; 2];
    let raised = Dense::new(matrix, &mut d, &mut root).unwrap().raised();
    assert!(raised > 0.0 && d.as_flattened()[..20].iter().all(|&d| d == 1.0 + raised));
}

#[test]
fn a_short_scratch_leaves_d_as_it_was() {
    let rows = minus_one();
    let matrix = DenseMatrix::new(20, &rows).unwrap();
    let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(20)];
    let (mut d, mut scratch) = ([[7.0; LANES]; 2], [[0.0; LANES]; 5]);
    let short = Err(NoiseError::Memory { need: 6, got: 5 });
    assert_eq!(MinTrace::new(1e-3, 100).solve(&matrix, &mut d, &mut vectors, &mut scratch), short);
    assert_eq!(constant(&matrix, 1e-3, &mut d, &mut scratch).map(|_| ()), short.map(|_| ()));
    assert_eq!(d, [[7.0; LANES]; 2]);
}

/// Moves of 255, whose moments are large, with gradients whose squares are floats and whose products with moments
/// are not.
#[test]
fn products_past_the_largest_give_no_w() {
    let layout = Layout::ordinal(5, 256);
    let word = |value: f64| heap::pack_in(layout, &[value; 5]);
    let (from, to) = (word(0.0), word(255.0));
    let step = Move::new(Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap()).unwrap();
    let mut memory = Couplings::new(5, 4);
    let model = path(5, 1.0, &mut memory);
    for (gradient, fits) in [(1e8, true), (1e12, false)] {
        let mut room = vec![[0.0; LANES]; Regression::blocks(5)];
        let mut dense = Regression::new(5, &mut room).unwrap();
        let mut room = vec![[0.0; LANES]; SparseRegression::blocks(model.form())];
        let mut sparse = SparseRegression::new(model.form(), &mut room).unwrap();
        for _ in 0..100 {
            dense.push(&step, &[[gradient; LANES]], &[[0.0; LANES]]).unwrap();
            sparse.push(&step, &[[gradient; LANES]], &[[0.0; LANES]]).unwrap();
        }
        let mut w = vec![[0.0; LANES]; DenseMatrix::blocks(5)];
        let mut scratch = vec![[0.0; LANES]; 3 * w.len()];
        let found = [dense.solve(1e-3, 50, &mut w, &mut scratch), sparse.solve(1e-3, 50, &mut w, &mut scratch)];
        for found in found {
            let refused = found == Err(NoiseError::Gradient);
            assert!(
                if fits { found.is_ok_and(|fit| fit.residual < 1e-4) } else { refused },
                "{gradient}: {found:?}"
            );
        }
    }
}
