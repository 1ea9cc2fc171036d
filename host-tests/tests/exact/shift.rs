//! D by the smallest eigenvalue and by the smallest trace: feasible and near the optimum, both certified in
//! float64.

use bitmc::lane::{Block, LANES};
use bitmc::noise::{
    Dense, DenseMatrix, Edgewise, MinTrace, Noise, NoiseError, Solved, SparseMatrix, Symmetric,
};
use bitmc::noise::{constant, least_eigenvalue};
use bitmc::torus;
use bitmc_host_tests::heap::Couplings;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::semidefinite::{Full, Instance, barabasi_albert, instances};
use bitmc_host_tests::used;

type Edges = Vec<(u32, u32, f32)>;

/// Models by name, on spins: the any-scale paper's tori and graph, and three more.
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

/// What a solver finds, and its D.
fn found(full: &Full, solver: MinTrace) -> (Solved, Vec<f64>) {
    let sites = full.sites();
    let rows = full.blocks();
    let matrix = DenseMatrix::new(sites, &rows).unwrap();
    let (mut d, mut scratch) = (vec![[0.0; LANES]; blocks(sites)], vec![[0.0; LANES]; 3 * blocks(sites)]);
    let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
    let solved = solver.solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
    (solved, d.as_flattened()[..sites].iter().map(|&d| f64::from(d)).collect())
}

/// A ring of 3.5 with ⅛ beside it has the eigenvalues 3.5 + ¼ cos(2πk/n), the smallest of them 3.25.
#[test]
fn a_positive_definite_w_has_its_smallest_eigenvalue_and_a_d_of_0() {
    for sites in [4, 20, 50] {
        let mut ring = Full::zero(sites);
        for site in 0..sites {
            ring.set(site, site, 3.5);
            ring.set(site, (site + 1) % sites, 0.125);
        }
        let rows = ring.blocks();
        let matrix = DenseMatrix::new(sites, &rows).unwrap();
        let least = least_eigenvalue(&matrix, &[], &mut vec![[0.0; LANES]; 3 * blocks(sites)]).unwrap();
        assert!((least.value - 3.25).abs() <= least.residual && least.residual < 1e-4, "{least:?}");
        let (solved, d) = found(&ring, MinTrace::new(1e-3, 100));
        assert_eq!((solved.trace, solved.sweeps), (0.0, 10));
        assert!(d.iter().all(|&d| d == 0.0), "{d:?}");
    }
}

/// Bounds come as near to the optimum as they have to: of vectors of more than sixteen components, of sites on their own, and of
/// those whose Wᵢᵢ is more than their couplings.
#[test]
fn the_bound_is_near_the_smallest_trace() {
    let mut far = Full::zero(10);
    (0..10).for_each(|site| far.set(site, site, if site == 0 { -100.0 } else { -1.0 }));
    // With even sides the optimum is Σ|W|, 4J at both ends of 256 edges.
    let even = Full::on_spins(128, torus(8, 16, 0.5));
    let mut mixed = Full::on_spins(18, torus(4, 4, 0.25));
    mixed.set(16, 16, 3.0);
    mixed.set(0, 16, 0.5);
    let dual = mixed.dual(3000);
    for (name, full, optimum) in [("far", far, 109.0), ("even", even, 1024.0), ("mixed", mixed, dual)] {
        let (solved, _) = found(&full, MinTrace::new(1e-3, 2000));
        println!("{name}: {solved:?} for {optimum}");
        let bound = f64::from(solved.bound);
        assert!(solved.sweeps < 2000, "{name}: {solved:?}");
        assert!(bound >= optimum / 1.0011 && bound <= optimum * (1.0 + 1e-5), "{name}: {solved:?}");
    }
}

/// A path whose smallest eigenvalue is −0.01, so that sweeps take long to feel it: until then D is nothing but what it was raised
/// by. There that is a half more than the optimum, whose D is large in the middle.
#[test]
fn an_even_shift_is_not_taken_for_the_smallest_trace() {
    let sites = 64;
    let mut path = Full::zero(sites);
    let beside = -1.01 / (2.0 * (core::f64::consts::PI / (sites as f64 + 1.0)).cos());
    for site in 0..sites {
        path.set(site, site, 1.0);
        if site > 0 {
            path.set(site - 1, site, beside);
        }
    }
    let even = 0.01 * sites as f64;
    let bound = path.dual(2000);
    let (solved, d) = found(&path, MinTrace::new(2e-3, 4000));
    let trace: f64 = d.iter().sum();
    println!("{solved:?} for {bound}, even {even}");
    assert!(even > 1.1 * bound);
    assert!(trace <= 1.0025 * bound, "{solved:?} for at least {bound}");
    assert!(path.plus(|site| d[site] + 1e-5).is_positive(), "{solved:?}");
}

/// W = Σ s g gᵀ with s = 1, 0.1 and 0.01: it is positive, but vectors take more than ten sweeps to show it. Then D is what it was
/// raised by and no more than a millionth a site.
#[test]
fn a_positive_w_is_swept_until_d_is_nothing() {
    let mut slow = 0;
    for seed in 0..5 {
        let (sites, mut source) = (20, Source::new(seed));
        let mut rows = vec![vec![0.0; sites]; sites];
        for s in [1.0, 0.1, 0.01] {
            let g: Vec<f64> = (0..sites).map(|_| f64::from(source.normal(1.0))).collect();
            rows.iter_mut()
                .zip(&g)
                .for_each(|(row, a)| row.iter_mut().zip(&g).for_each(|(w, b)| *w += s * a * b));
        }
        let mut full = Full::zero(sites);
        (0..sites).for_each(|a| (0..=a).for_each(|b| full.set(a, b, rows[a][b])));
        let largest = (0..sites).map(|site| full.get(site, site)).fold(0.0, f64::max);
        // What D is beyond what it was raised by, a site, relative to the largest entry.
        let beyond = |most: u32| {
            let (solved, d) = found(&full, MinTrace::new(1e-3, most));
            let raised = f64::from(solved.least.residual - solved.least.value).max(0.0);
            (d.iter().map(|d| d - raised).sum::<f64>() / (sites as f64 * largest), solved.sweeps)
        };
        slow += u32::from(beyond(10).0 > 1e-5);
        let (beyond, sweeps) = beyond(2000);
        assert!(beyond <= 1.1e-6 && sweeps < 2000, "{beyond} after {sweeps}");
    }
    assert!(slow >= 3, "{slow}");
}

/// Sweeps are rounded up to ten, and the trace is that of D, however much D was raised.
#[test]
fn sweeps_end_where_they_are_told_to() {
    for full in [Full::random(18, 3), Full::random(40, 4)] {
        for (most, made) in [(25, 30), (11, 20), (10, 10), (1, 10), (0, 10)] {
            let (solved, d) = found(&full, MinTrace::new(0.0, most));
            assert_eq!(solved.sweeps, made, "{most}");
            let trace: f64 = d.iter().sum();
            assert!((f64::from(solved.trace) - trace).abs() <= 1e-5 * trace, "{solved:?} {trace}");
        }
    }
}

#[test]
fn a_gap_that_is_just_reached_is_reached() {
    let mut seen = 0;
    for seed in 0..20 {
        let full = Full::random(18, seed);
        let (first, _) = found(&full, MinTrace::new(0.0, 10));
        let near = first.trace / first.bound;
        // 1 + gap in f32, whose product with the bound is the trace.
        let just =
            [near.next_down(), near, near.next_up()].into_iter().find(|f| first.bound * f == first.trace);
        let Some(factor) = just.filter(|factor| (1.0..2.0).contains(factor)) else { continue };
        let sweeps = |gap| found(&full, MinTrace::new(gap, 1000)).0.sweeps;
        let mut less = factor.next_down();
        while first.bound * less == first.trace {
            less = less.next_down();
        }
        assert_eq!(sweeps(factor - 1.0), 10, "{first:?}");
        assert!(sweeps(less - 1.0) > 10, "{first:?}");
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");
}

/// Three sites, of which one has −c on its diagonal and no couplings, so that its D is c: with up to 10⁻⁶ a site W is positive as
/// far as can be told, and more sweeps cannot help.
#[test]
fn a_millionth_a_site_is_nothing() {
    for (part, sweeps) in [(0.5f32, 10), (1.0, 10), (10.0, 100)] {
        let mut full = Full::zero(3);
        full.set(0, 0, 1.0);
        full.set(1, 1, 1.0);
        full.set(0, 1, 0.5);
        full.set(2, 2, -f64::from(part * (1e-6 * 3.0)));
        let (solved, _) = found(&full, MinTrace::new(1e-3, 100));
        assert_eq!(solved.sweeps, sweeps, "{part}: {solved:?}");
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

/// D would be as ε is, at every site.
#[test]
fn an_epsilon_that_is_not_finite_is_the_d_that_is_refused() {
    for own in [2.0, -2.0] {
        let mut full = Full::zero(3);
        (0..3).for_each(|site| full.set(site, site, own));
        let rows = full.blocks();
        let matrix = DenseMatrix::new(3, &rows).unwrap();
        for epsilon in [f32::INFINITY, f32::NEG_INFINITY] {
            let (mut d, mut scratch) = ([[0.0; LANES]; 1], [[0.0; LANES]; 3]);
            let refused = Err(NoiseError::D { site: 0, value: epsilon });
            assert_eq!(constant(&matrix, epsilon, &mut d, &mut scratch), refused, "{own}");
        }
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
