//! D by the smallest eigenvalue and by the smallest trace: feasible and near the optimum, both certified in
//! float64.

use bitmc::lane::{Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, Edgewise, MinTrace, Noise, NoiseError, SparseMatrix, Symmetric};
use bitmc::noise::{constant, least_eigenvalue};
use bitmc::torus;
use bitmc_host_tests::heap::Couplings;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::semidefinite::{Full, Instance, barabasi_albert, instances};
use bitmc_host_tests::used;

type Edges = Vec<(u32, u32, f32)>;

/// The models of METHODS.md §3, by name, with the traces measured there where there are some, on spins.
fn models() -> Vec<(String, Full)> {
    let mut models = Vec::new();
    for coupling in [0.3, 0.4407, core::f32::consts::FRAC_1_SQRT_2] {
        models.push((format!("torus, J = {coupling}"), Full::on_spins(400, torus(20, 20, coupling))));
    }
    models.push(("BA-400-4".into(), Full::on_spins(400, barabasi_albert(400, 4, 0.4407, 1))));
    models.push(("cycle Gaussian, L = 10".into(), Full::cycle(100, 10.0, 2)));
    models.push(("dense, d = 100".into(), Full::random(100, 3)));
    let mut far = Full::zero(10);
    (0..10).for_each(|site| far.set(site, site, if site == 0 { -100.0 } else { -1.0 }));
    models.push(("diag(−100, −1, …)".into(), far));
    models
}

fn blocks(sites: usize) -> usize {
    sites.div_ceil(LANES)
}

#[test]
fn the_smallest_eigenvalue() {
    for (name, full) in models() {
        let rows = full.blocks();
        let matrix = DenseMatrix::new(full.sites(), &rows).unwrap();
        let mut scratch = vec![[f32::NAN; LANES]; 3 * blocks(full.sites())];
        let found = least_eigenvalue(&matrix, &[], &mut scratch).unwrap();
        // Shifted by a little less it is not positive, by a little more it is: the value is that of the matrix.
        let (value, residual) = (f64::from(found.value), f64::from(found.residual));
        println!("{name}: {found:?}");
        assert!(residual <= 2e-3 * value.abs(), "{name}: {found:?}");
        assert!(full.plus(|_| residual - value).is_positive(), "{name}: {found:?} is not below");
        assert!(!full.plus(|_| -value - residual).is_positive(), "{name}: {found:?} is too low");

        let mut d = vec![[0.0; LANES]; blocks(full.sites())];
        let shift = constant(&matrix, 1e-3, &mut d, &mut scratch).unwrap();
        assert_eq!(shift, found.residual - found.value);
        assert!(d.as_flattened()[..full.sites()].iter().all(|&d| d == shift));
        assert!(d.as_flattened()[full.sites()..].iter().all(|&d| d == 0.0));
    }
    // A positive W needs no shift but ε.
    let mut positive = Full::zero(3);
    (0..3).for_each(|site| positive.set(site, site, 2.0));
    let rows = positive.blocks();
    let matrix = DenseMatrix::new(3, &rows).unwrap();
    let (mut d, mut scratch) = (vec![[0.0; LANES]; 1], vec![[0.0; LANES]; 3]);
    assert_eq!(constant(&matrix, 0.25, &mut d, &mut scratch), Ok(0.25));
}

/// Solves, factorises, and returns the trace of the D that a sampler would use.
fn solve(name: &str, full: &Full, matrix: &impl Symmetric) -> f64 {
    let sites = full.sites();
    let (mut d, mut scratch) = (used::memory(blocks(sites)), used::memory(3 * blocks(sites)));
    let mut vectors = used::memory(MinTrace::blocks(sites));
    let found = MinTrace::new(1e-3, 2000).solve(matrix, &mut d, &mut vectors, &mut scratch).unwrap();
    let mut rows = used::memory(DenseMatrix::blocks(sites));
    let mut root = used::memory(Dense::root_blocks(sites));
    let dense = Dense::new(DenseMatrix::of(matrix, &mut rows).unwrap(), &mut d, &mut root).unwrap();
    let raised = dense.raised();
    let used: Vec<f64> = dense.d().unwrap().as_flattened()[..sites].iter().map(|&d| f64::from(d)).collect();
    let trace: f64 = used.iter().sum();
    println!("{name}: {found:?}, raised by {raised}, trace {trace}");
    assert!(used.iter().all(|&d| d >= 0.0));
    assert!(full.plus(|site| used[site]).is_positive(), "{name}: W + D is not positive");
    // Negative control: a D that is a hundredth smaller is not feasible.
    assert!(!full.plus(|site| 0.99 * used[site]).is_positive(), "{name}: a smaller D would do");
    assert!(found.bound <= found.trace * (1.0 + 1e-5), "{name}: {found:?}");
    trace
}

#[test]
fn the_smallest_trace_is_within_two_parts_in_a_thousand() {
    for (name, full) in models() {
        let rows = full.blocks();
        let trace = solve(&name, &full, &DenseMatrix::new(full.sites(), &rows).unwrap());
        // No feasible D has a smaller trace than the dual value of any unit vectors.
        let bound = full.dual(3000);
        assert!(trace <= 1.002 * bound, "{name}: {trace} against at least {bound}");
        assert!(trace >= bound, "{name}: {trace} is below the bound {bound}");
    }
}

#[test]
fn the_smallest_trace_is_that_of_a_conic_solver() {
    for Instance { name, w, trace } in instances() {
        let rows = w.blocks();
        let found = solve(name, &w, &DenseMatrix::new(w.sites(), &rows).unwrap());
        assert!(found <= 1.002 * trace && found >= (1.0 - 1e-6) * trace, "{name}: {found} for {trace}");
    }
}

/// Few sites take more steps of the Lanczos iteration than there are: it has found the value only when it has found it
/// again.
#[test]
fn the_smallest_trace_of_small_graphs() {
    for sites in [5, 8, 12, 16, 17, 24, 40] {
        for seed in 0..60 {
            let mut source = Source::new(100 * sites as u64 + seed);
            let mut full = Full::zero(sites);
            for b in 1..sites {
                for a in 0..b {
                    let coupled = seed % 2 == 0 || source.below(sites) < 3;
                    let coupling = [-2.0, -0.5, 0.5, 1.0, 2.0][source.below(5)];
                    if coupled {
                        full.set(a, b, coupling);
                    }
                }
            }
            let (rows, name) = (full.blocks(), format!("{sites} sites, seed {seed}"));
            let matrix = DenseMatrix::new(sites, &rows).unwrap();
            let mut d = vec![[0.0; LANES]; blocks(sites)];
            let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
            let mut scratch = vec![[0.0; LANES]; 3 * blocks(sites)];
            let found = MinTrace::new(2e-3, 2000).solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
            let flat = d.as_flattened();
            let trace: f64 = flat[..sites].iter().map(|&d| f64::from(d)).sum();
            assert!((f64::from(found.trace) - trace).abs() <= 1e-5 * trace, "{name}: {found:?} {trace}");
            // Positive but for the roundings of the products, and no more than the gap above what any D has.
            let slack = 1e-5 * trace / sites as f64;
            assert!(full.plus(|site| f64::from(flat[site]) + slack).is_positive(), "{name}: {found:?}");
            let bound = full.dual(3000);
            assert!(trace <= 1.0025 * bound, "{name}: {found:?} for at least {bound}");
        }
    }
}

#[test]
fn edges_take_the_optimum_on_even_lattices_and_more_on_frustrated_graphs() {
    let traces = |edges: &Edges, sites: usize| {
        let full = Full::on_spins(sites, edges.iter().copied());
        let mut memory = Couplings::new(sites, edges.len());
        let model = bitmc::Ising::spins_edges_once(sites, edges.iter().copied(), &[], memory.borrow()).unwrap();
        let matrix = SparseMatrix::of(model.form());
        let mut d = vec![[0.0; LANES]; blocks(sites)];
        let noise = Edgewise::new(matrix, &mut d).unwrap();
        let edgewise: f64 = noise.d().unwrap().as_flattened().iter().map(|&d: &f32| f64::from(d)).sum();
        (edgewise, solve("by edges", &full, &matrix), full.dual(3000))
    };
    let (edgewise, solved, bound) = traces(&torus(20, 20, 0.4407).collect(), 400);
    assert!(edgewise <= bound * (1.0 + 1e-6) && edgewise >= bound * (1.0 - 1e-6), "{edgewise} {bound}");
    assert!(solved <= 1.002 * edgewise);
    let (edgewise, solved, _) = traces(&barabasi_albert(400, 4, 0.4407, 1), 400);
    assert!(edgewise > 1.5 * solved, "{edgewise} {solved}");
}

/// What is found of a W that is `2^power` times another, in units of that: it must not depend on the power.
fn in_units(full: &Full, power: i32) -> (f32, f32, f32, f32, Vec<f32>) {
    let unit = 2f32.powi(power);
    let sites = full.sites();
    let mut rows = full.blocks();
    rows.as_flattened_mut().iter_mut().for_each(|entry| *entry *= unit);
    let matrix = DenseMatrix::new(sites, &rows).unwrap();
    let (mut d, mut scratch) = (vec![[0.0; LANES]; blocks(sites)], vec![[0.0; LANES]; 3 * blocks(sites)]);
    let least = least_eigenvalue(&matrix, &[], &mut scratch).unwrap();
    let shift = constant(&matrix, 0.0, &mut d, &mut scratch).unwrap();
    let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
    let solved = MinTrace::new(1e-3, 100).solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
    let d = d.as_flattened().iter().map(|d| d / unit).collect();
    (least.value / unit, shift / unit, solved.trace / unit, solved.bound / unit, d)
}

#[test]
fn units_do_not_matter() {
    // Squares of entries of 2^−80 are lost in f32, and those of 2^70 overflow.
    for full in [Full::random(18, 3), Full::on_spins(25, torus(5, 5, 0.3)), Full::cycle(40, 2.0, 2)] {
        let one = in_units(&full, 0);
        for power in [-90, -80, -40, 30, 70, 100] {
            assert_eq!(in_units(&full, power), one, "2^{power}");
        }
    }
}

#[test]
fn a_positive_w_needs_no_more_than_ten_sweeps() {
    let mut one = Full::zero(50);
    (0..50).for_each(|a| (0..=a).for_each(|b| one.set(a, b, 1.0)));
    let mut torus = Full::on_spins(64, torus(8, 8, 0.0625));
    (0..64).for_each(|site| torus.set(site, site, 1.0));
    for (name, full) in [("zero", Full::zero(20)), ("ones", one), ("torus", torus)] {
        let sites = full.sites();
        let rows = full.blocks();
        let matrix = DenseMatrix::new(sites, &rows).unwrap();
        let (mut d, mut scratch) = (vec![[0.0; LANES]; blocks(sites)], vec![[0.0; LANES]; 3 * blocks(sites)]);
        let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
        let found = MinTrace::new(1e-3, 1000).solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
        assert!(found.sweeps <= 30 && found.trace < 1e-3 * sites as f32, "{name}: {found:?}");
        let d = |site: usize| f64::from(d.as_flattened()[site]) + 1e-6;
        assert!(full.plus(d).is_positive(), "{name}: {found:?}");
    }
}

/// A matrix that is none.
struct Broken(f32);

impl Symmetric for Broken {
    fn sites(&self) -> usize {
        3
    }

    fn diagonal(&self, _: usize) -> f32 {
        1.0
    }

    fn row(&self, site: usize, mut entry: impl FnMut(usize, f32)) {
        entry((site + 1) % 3, if site == 1 { self.0 } else { 0.5 });
    }
}

#[test]
fn what_is_not_finite_is_refused() {
    for wrong in [f32::NAN, f32::INFINITY] {
        let matrix = Broken(wrong);
        let (mut d, mut scratch) = (vec![[0.0; LANES]; 1], vec![[0.0; LANES]; 3]);
        let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(3)];
        let refused = Err(NoiseError::NotFinite { site: 1 });
        assert_eq!(least_eigenvalue(&matrix, &[], &mut scratch).map(|_| ()), refused);
        assert_eq!(constant(&matrix, 0.1, &mut d, &mut scratch).map(|_| ()), refused);
        let solved = MinTrace::new(1e-3, 10).solve(&matrix, &mut d, &mut vectors, &mut scratch);
        assert_eq!(solved.map(|_| ()), refused);
    }
}

#[test]
fn short_buffers_are_refused() {
    let rows = Full::random(20, 1).blocks();
    let matrix = DenseMatrix::new(20, &rows).unwrap();
    let zeros = |count: usize| -> Vec<Block> { vec![[0.0; LANES]; count] };
    let vectors = MinTrace::blocks(20);
    assert!(least_eigenvalue(&matrix, &[], &mut zeros(5)).is_err());
    assert!(least_eigenvalue(&matrix, &[], &mut zeros(6)).is_ok());
    assert!(constant(&matrix, 0.0, &mut zeros(1), &mut zeros(6)).is_err());
    for (d, v, s) in [(1, vectors, 6), (2, vectors - 1, 6), (2, vectors, 5)] {
        let solver = MinTrace::new(0.01, 10);
        assert!(solver.solve(&matrix, &mut zeros(d), &mut zeros(v), &mut zeros(s)).is_err());
    }
}
