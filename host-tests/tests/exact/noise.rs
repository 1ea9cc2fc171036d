//! The Gaussian integral without randomness: factors, products, the auxiliary
//! step point by point and integrated, and the cases where it must be something else.

use bitmc::Potts;
use bitmc::energy::Precision;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{
    Adaptation, Dense, DenseMatrix, Diagonal, Edgewise, Noise, NoiseError, Parameters, SparseMatrix, Symmetric,
};
use bitmc::random::normals;
use bitmc::step::{Curvature, ParameterError};
use bitmc::{Energy, Ising, Kernel, Kind, LaneRng, Langevin, Layout, Move, Packed, Plain, SeedableRng, torus};
use bitmc_host_tests::enumerate;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::lattice::Quadratic;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::noise::{Auxiliary, covariance, draw, factor, pack};
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance::{self, ROUNDING};

/// Couplings alone: W is K, on the grid of 1/64.
fn couplings(sites: usize, density: f64, sd: f64, seed: u64) -> Pairwise {
    let fields = vec![0.0; sites];
    Pairwise { fields, ..models::pairwise(Convention::BitsEdgesOnce, sites, density, sd, seed) }
}

/// A diagonal of W with entries of both signs, some larger than the row beside them.
fn diagonal(sites: usize, sd: f64, seed: u64) -> Vec<f32> {
    let mut source = Source::new(seed);
    (0..sites).map(|site| source.coarse(sd) + if site % 3 == 0 { 4.0 * sd as f32 } else { 0.0 }).collect()
}

/// W + D in float64.
fn sum(matrix: &impl Symmetric, d: &[Block]) -> Vec<Vec<f64>> {
    let sites = matrix.sites();
    let mut rows = vec![vec![0.0; sites]; sites];
    for (site, row) in rows.iter_mut().enumerate() {
        row[site] = f64::from(matrix.diagonal(site)) + f64::from(d.as_flattened()[site]);
        matrix.row(site, |other, value| row[other] = f64::from(value));
    }
    rows
}

/// Memory of a dense noise.
struct Room {
    rows: Vec<Block>,
    d: Vec<Block>,
    root: Vec<Block>,
}

impl Room {
    fn new(sites: usize, d: impl Fn(usize) -> f32) -> Self {
        let mut blocks = vec![[0.0; LANES]; DenseMatrix::row_blocks(sites)];
        blocks.as_flattened_mut()[..sites].iter_mut().enumerate().for_each(|(site, slot)| *slot = d(site));
        Self {
            rows: vec![[0.0; LANES]; DenseMatrix::blocks(sites)],
            d: blocks,
            root: vec![[7.0; LANES]; Dense::root_blocks(sites)],
        }
    }

    fn noise(&mut self, matrix: &impl Symmetric) -> Result<Dense<'_>, NoiseError> {
        Dense::new(DenseMatrix::of(matrix, &mut self.rows)?, &mut self.d, &mut self.root)
    }
}

/// The largest distance of two matrices, relative to the root of the product of `b`'s diagonal entries.
fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let mut worst = 0.0f64;
    for (i, (left, right)) in a.iter().zip(b).enumerate() {
        for (j, (x, y)) in left.iter().zip(right).enumerate() {
            let scale = (b[i][i] * b[j][j]).sqrt();
            worst = worst.max(if x == y { 0.0 } else { (x - y).abs() / scale });
        }
    }
    worst
}

/// What a noise subtracts from η for a move of single sites, in every plane, is a column of `truth`.
fn follows(noise: &impl Noise, truth: &[Vec<f64>], sites: usize) {
    for planes in [1, 3] {
        let layout = if planes == 1 { Layout::ordinal(sites, 5) } else { Layout::categorical(sites, 3) };
        let at = |site: usize, plane: usize| ((site / LANES) * planes + plane) * LANES + site % LANES;
        let from = vec![1; sites];
        for site in 0..sites {
            let mut to = from.clone();
            to[site] = if planes == 1 { 4 } else { 2 };
            let (from, to) = (pack(layout, &from), pack(layout, &to));
            let (from, to) = (Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap());
            let mut eta = vec![[0.0; LANES]; sites.div_ceil(LANES) * planes];
            noise.follow(&Move::new(from, to).unwrap(), &mut eta, planes);
            for (other, column) in truth[site].iter().enumerate() {
                let said = |plane| f64::from(eta.as_flattened()[at(other, plane)]);
                let check = |plane, truth: f64| {
                    assert!((said(plane) - truth).abs() <= 4.0 * ROUNDING * truth.abs(), "{site} {other}");
                };
                if planes == 1 {
                    check(0, -3.0 * column);
                } else {
                    check(0, 0.0);
                    check(1, *column);
                    check(2, -column);
                }
            }
        }
    }
}

#[test]
fn draws_have_the_covariance_of_the_product() {
    for (sites, density, seed) in
        [(1, 0.0, 1), (2, 1.0, 2), (7, 0.7, 3), (16, 0.3, 4), (17, 0.5, 5), (40, 0.2, 6)]
    {
        let model = couplings(sites, density, 1.0, seed);
        let mut memory = model.couplings();
        let form = memory.ising(&model).unwrap().form();
        let diagonal = diagonal(sites, 1.0, seed);
        for matrix in [SparseMatrix::of(form), SparseMatrix::with_diagonal(form, &diagonal).unwrap()] {
            let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
            let edgewise = Edgewise::new(matrix, &mut d).unwrap();
            let truth = sum(&matrix, edgewise.d().unwrap());
            let edges = factor(&edgewise, sites, model.edges.len() + 2 * sites + 2 * LANES);
            // A root, a product with a normal and its division here: three roundings of each of two factors.
            let bound = 8.0 * ROUNDING * sites as f64;
            assert!(distance(&covariance(&edges, sites), &truth) <= bound);
            follows(&edgewise, &truth, sites);

            // The dense noise of the same W, with more than enough D: the same D would be singular.
            let more = |site: usize| edgewise.d().unwrap().as_flattened()[site] + 0.5;
            let mut room = Room::new(sites, more);
            let dense = room.noise(&matrix).unwrap();
            assert_eq!(dense.raised(), 0.0);
            let truth = sum(&matrix, dense.d().unwrap());
            let root = factor(&dense, sites, sites.next_multiple_of(LANES));
            assert_eq!(root.len(), sites);
            // A factor by f32 has a backward error of at most 2(sites + 1) roundings.
            let bound = 4.0 * (sites + 1) as f64 * ROUNDING;
            assert!(distance(&covariance(&root, sites), &truth) <= bound);
            follows(&dense, &truth, sites);
            // And without that surplus the two are one covariance.
            let shared: Vec<Vec<f64>> = covariance(&root, sites)
                .iter()
                .enumerate()
                .map(|(i, row)| {
                    row.iter().enumerate().map(|(j, x)| x - f64::from(u8::from(i == j)) * 0.5).collect()
                })
                .collect();
            assert!(
                distance(&shared, &covariance(&edges, sites)) <= 40.0 * sites as f64 * ROUNDING
                    || density == 0.0
            );
        }
    }
}

#[test]
fn planes_are_independent_and_alike() {
    // Three planes from one stream: the normals come plane by plane within a batch of edges.
    let model = couplings(20, 0.4, 1.0, 8);
    let mut memory = model.couplings();
    let matrix = SparseMatrix::of(memory.ising(&model).unwrap().form());
    let mut d = vec![[0.0; LANES]; 2];
    let edgewise = Edgewise::new(matrix, &mut d).unwrap();
    let mut room = Room::new(20, |_| 20.0);
    let dense = room.noise(&matrix).unwrap();
    check_planes(&edgewise);
    check_planes(&dense);
    // With more on the diagonal than the edges take.
    let diagonal = [30.0; 20];
    let form = memory.ising(&model).unwrap().form();
    let matrix = SparseMatrix::with_diagonal(form, &diagonal).unwrap();
    check_planes(&Edgewise::new(matrix, &mut d).unwrap());
}

/// Sums over many draws: each plane has the variances of the noise, and no two planes have a covariance.
fn check_planes(noise: &impl Noise) {
    let mut rng = LaneRng::seed_from_u64(5);
    let (n, planes) = (4000, 3);
    let mut products = [[0.0f64; 3]; 3];
    for _ in 0..n {
        let eta = draw(noise, 2, planes, &mut rng);
        for (a, row) in products.iter_mut().enumerate() {
            for (b, slot) in row.iter_mut().enumerate() {
                *slot += f64::from(eta[a][3]) * f64::from(eta[b][3]);
            }
        }
    }
    let one = factor(noise, 20, 400);
    let variance = covariance(&one, 20)[3][3];
    for (a, row) in products.iter().enumerate() {
        for (b, sum) in row.iter().enumerate() {
            let (expected, sd) = if a == b { (variance, 2f64.sqrt()) } else { (0.0, 1.0) };
            // Nine sums: 5.4 standard errors are 10⁻⁶ in all, with room for the tails of a product.
            let error = (sum / f64::from(n) - expected).abs();
            assert!(error <= 5.8 * sd * variance / f64::from(n).sqrt(), "planes {a}, {b}: {error}");
        }
    }
}

/// All states of some arities, site 0 fastest.
fn states(arities: &[u16]) -> Vec<Vec<usize>> {
    in_order(&Tables::new(Kind::Ordinal, arities, 0.1, 0))
}

fn in_order(tables: &Tables) -> Vec<Vec<usize>> {
    (0..tables.states()).map(|state| tables.values(state)).collect()
}

/// Points u: a few, about as far from the means as u itself goes.
fn points(components: usize, reach: f64, count: usize) -> Vec<Vec<f64>> {
    let mut source = Source::new(77);
    (0..count).map(|_| (0..components).map(|_| f64::from(source.normal(reach))).collect()).collect()
}

/// An energy over sites of given kinds with its naive log π.
struct Model<'a> {
    energy: &'a dyn Energy,
    states: Vec<Vec<usize>>,
    log_pi: Vec<f64>,
}

/// Point by point and, where u has few components, integrated; with the negative control without the auxiliary share. Returns how
/// often it was integrated.
fn judge<N: Noise + Copy>(
    what: &str,
    model: &Model<'_>,
    noise: N,
    normals: usize,
    window: Option<u32>,
) -> usize {
    let sites = model.states[0].len();
    let mut integrated = 0;
    let factor = factor(&noise, sites, normals);
    for (precision, step_size, balance) in
        [(1.0, f32::INFINITY, 1.0), (1.0, 0.7, 0.6), (0.75, 1.5, 0.8), (0.4, 0.3, 0.5), (2.0, 4.0, 1.0)]
    {
        let sampler = Langevin::second_order(noise, step_size, balance).unwrap();
        let sampler = sampler.precision(precision).unwrap();
        let sampler = window.map_or(sampler, |window| sampler.within(window));
        let transition = |from: &[u32], to: Packed<'_>, eta: &[Block]| {
            let mut chain = heap::chain(model.energy, from).unwrap();
            sampler.transition_given(chain.ring(), to, eta).unwrap()
        };
        let auxiliary = |without_auxiliary| Auxiliary {
            layout: model.energy.layout(),
            states: model.states.clone(),
            log_pi: model.log_pi.clone(),
            transition: &transition,
            factor: factor.clone(),
            precision: f64::from(precision),
            without_auxiliary,
        };
        let (right, broken) = (auxiliary(false), auxiliary(true));
        let reach = factor.iter().flatten().fold(0.0f64, |most, l| most.max(l.abs()));
        let points = points(right.components(), 1.0 + 2.0 * reach, 6);
        let asymmetry = right.asymmetry(&points);
        let name = format!("{what}, κ {precision}, σ {step_size}, α {balance}");
        assert!(asymmetry <= tolerance::ASYMMETRY, "{name}: {asymmetry}");
        assert!(broken.asymmetry(&points) > 100.0 * tolerance::ASYMMETRY, "{name}: the broken variant passes");
        if right.few_components() {
            let (found, variant) = (right.integrate(), broken.integrate());
            assert!(found.passes(), "{name}, integrated: {found:?}");
            assert!(!variant.passes(), "{name}, integrated: the broken variant passes {variant:?}");
            integrated += 1;
        }
    }
    integrated
}

/// Checks the edge-wise noise of W and the dense one.
fn judge_both(what: &str, model: &Model<'_>, matrix: SparseMatrix<'_>, window: Option<u32>) -> [usize; 2] {
    let sites = matrix.sites();
    let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
    let edgewise = Edgewise::new(matrix, &mut d).unwrap();
    let by_edges = judge(&format!("{what}, edge-wise"), model, edgewise, 100, window);
    let more = |site: usize| edgewise.d().unwrap().as_flattened()[site] + 0.25;
    let mut room = Room::new(sites, more);
    [by_edges, judge(&format!("{what}, dense"), model, room.noise(&matrix).unwrap(), LANES, window)]
}

#[test]
fn binary_sites_point_by_point() {
    let mut integrated = [0; 2];
    for (sites, sd, seed) in [(2, 1.0, 1), (4, 0.4, 2), (4, 2.0, 3)] {
        let target = models::pairwise(Convention::SpinsEdgesOnce, sites, 1.0, sd, seed);
        let mut memory = target.couplings();
        let energy = memory.ising(&target).unwrap();
        let log_pi: Vec<f64> =
            (0..1 << sites).map(|state| -target.energy(&enumerate::values(state, sites))).collect();
        let model = Model { energy: &energy, states: states(&vec![2; sites]), log_pi };
        let own = judge_both(&format!("its own W, sd {sd}"), &model, SparseMatrix::of(energy.form()), None);
        // Any W serves.
        let other = couplings(sites, 0.6, 0.7, seed + 10);
        let mut memory = other.couplings();
        let diagonal = diagonal(sites, 0.5, seed);
        let form = memory.ising(&other).unwrap().form();
        let matrix = SparseMatrix::with_diagonal(form, &diagonal).unwrap();
        let another = judge_both(&format!("another W, sd {sd}"), &model, matrix, None);
        for (sum, (own, another)) in integrated.iter_mut().zip(own.into_iter().zip(another)) {
            *sum += own + another;
        }
    }
    // Two sites: both W, five parameters.
    assert_eq!(integrated, [10, 10]);
}

#[test]
fn ordinal_and_categorical_sites_point_by_point() {
    for (kind, expected) in [(Kind::Ordinal, [30, 30]), (Kind::Categorical, [10, 0])] {
        let mut integrated = [0; 2];
        let mut add = |some: [usize; 2]| integrated.iter_mut().zip(some).for_each(|(sum, some)| *sum += some);
        for (arities, seed) in [(&[3, 3][..], 1), (&[3, 4, 2], 2), (&[2, 2], 3), (&[3, 2], 4)] {
            let tables = Tables::new(kind, arities, 0.6, seed);
            let energy = Plain(Own(&tables));
            let states = in_order(&tables);
            let log_pi = states.iter().map(|x| -tables.energy(x)).collect();
            let model = Model { energy: &energy, states, log_pi };
            let other = couplings(arities.len(), 1.0, 0.3, seed + 20);
            let mut memory = other.couplings();
            let form = memory.ising(&other).unwrap().form();
            add(judge_both(&format!("{kind:?} {arities:?}"), &model, SparseMatrix::of(form), None));
            if kind == Kind::Ordinal {
                add(judge_both("ordinal, within 1", &model, SparseMatrix::of(form), Some(1)));
            }
        }
        // Two sites, five parameters. Categorical ones have a plane of u for each value: two and three of them by edges
        // (nine states are too many there), four and more of the dense noise.
        assert_eq!(integrated, expected, "{kind:?}");
    }
}

/// |ln A| at α = κ = 1, σ = ∞ on a quadratic energy with its own W: 0 up to rounding. Every site has two
/// logits, each of a few numbers of the size of its field, its noise and D, and a share in two products;
/// the noise is rounded once a neighbour. The sites' errors add up as the root of their squares
/// ([`tolerance::PRODUCT_DEVIATIONS`]): the bound grows as the root of the number of sites.
fn rounding_bound(matrix: &impl Symmetric, d: &[Block], field: f64, values: f64, degree: f64) -> f64 {
    let site = |site: usize| {
        let mut spread = f64::from(matrix.diagonal(site)).abs() + f64::from(d.as_flattened()[site]);
        let noise = 2.0 * f64::from(bitmc::lane::NORMAL_LIMIT) * spread.sqrt();
        matrix.row(site, |_, value| spread += f64::from(value).abs());
        let logit = values * (spread * values + noise + field);
        2.0 * (tolerance::SITE_ROUNDINGS + values + (tolerance::LOGIT_ROUNDINGS + degree) * logit)
    };
    let squares: f64 = (0..matrix.sites()).map(|index| site(index).powi(2)).sum();
    tolerance::PRODUCT_DEVIATIONS * ROUNDING * squares.sqrt()
}

#[test]
fn quadratic_energies_accept_everything() {
    for (rows, coupling) in [(4, 0.2), (20, 0.4407), (20, -0.8), (100, 0.4407)] {
        let sites = (rows * rows) as usize;
        let fields = vec![0.1; sites];
        let mut memory = Couplings::new(sites, 2 * sites);
        let energy =
            Ising::spins_edges_once(fields.len(), torus(rows, rows, coupling), &fields, memory.borrow())
                .unwrap();
        let matrix = SparseMatrix::of(energy.form());
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
        let noise = Edgewise::new(matrix, &mut d).unwrap();
        let bound = rounding_bound(&matrix, noise.d().unwrap(), 4.0, 1.0, 4.0);
        let worst = worst_ratio(&energy, &Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap(), 200);
        assert!(worst <= bound, "torus of {sites}, J = {coupling}: {worst} > {bound}");
        println!("torus of {sites}, J = {coupling}: {worst} of {bound}");
        // A κ, an α or a σ next to it is seen.
        for broken in [
            Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap().precision(0.95).unwrap(),
            Langevin::second_order(noise, f32::INFINITY, 0.95).unwrap(),
            Langevin::second_order(noise, 20.0, 1.0).unwrap(),
        ] {
            assert!(worst_ratio(&energy, &broken, 200) > bound, "torus of {sites}: the broken variant passes");
        }
        if sites <= 400 {
            let more = |site: usize| noise.d().unwrap().as_flattened()[site] + 0.5;
            let mut room = Room::new(sites, more);
            let dense = room.noise(&matrix).unwrap();
            let bound = rounding_bound(&matrix, dense.d().unwrap(), 4.0, 1.0, sites as f64);
            let sampler = Langevin::second_order(dense, f32::INFINITY, 1.0).unwrap();
            let worst = worst_ratio(&energy, &sampler, 200);
            assert!(worst <= bound, "dense, torus of {sites}, J = {coupling}: {worst} > {bound}");
        }
    }
}

#[test]
fn potts_models_accept_everything() {
    let fields: Vec<f32> = (0..64 * 3).map(|index| (index % 5) as f32 / 8.0).collect();
    let mut memory = Couplings::new(64, 128);
    let energy = Potts::new(64, 3, torus(8, 8, 0.75), &fields, memory.borrow()).unwrap();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = vec![[0.0; LANES]; 4];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let bound = rounding_bound(&matrix, noise.d().unwrap(), 4.0, 2.0, 4.0);
    let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap();
    let worst = worst_ratio(&energy, &sampler, 500);
    assert!(worst <= bound, "{worst} > {bound}");
    assert!(worst_ratio(&energy, &sampler.precision(0.95).unwrap(), 500) > bound);
}

#[test]
fn lattice_gaussians_accept_everything() {
    let model = Quadratic::random(30, 21, 0.15, 0.2, true, 5);
    let mut memory = Couplings::new(30, 30 * 29 / 2);
    let energy = model.sparse(&mut memory).unwrap();
    let Precision::Sparse(rows) = energy.precision() else { panic!("a sparse model has sparse rows") };
    let matrix = SparseMatrix::minus(rows);
    let mut d = vec![[0.0; LANES]; 2];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let truth: Vec<Vec<f64>> = model
        .matrix
        .chunks(30)
        .enumerate()
        .map(|(i, row)| {
            let own = f64::from(noise.d().unwrap().as_flattened()[i]);
            row.iter().enumerate().map(|(j, &a)| if i == j { own } else { 0.0 } - f64::from(a)).collect()
        })
        .collect();
    assert!(distance(&covariance(&factor(&noise, 30, 600), 30), &truth) <= 8.0 * 30.0 * ROUNDING);
    let field = 30.0 * 21.0 * 1.0;
    let bound = rounding_bound(&matrix, noise.d().unwrap(), field, 21.0, 30.0);
    let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap();
    let worst = worst_ratio(&energy, &sampler, 500);
    assert!(worst <= bound, "{worst} > {bound}");
    assert!(worst_ratio(&energy, &sampler.precision(0.5).unwrap(), 500) > bound);
    // In full, with any D.
    let more = |site: usize| noise.d().unwrap().as_flattened()[site] + 0.25;
    let mut room = Room::new(30, more);
    let dense = room.noise(&energy.precision()).unwrap();
    let worst = worst_ratio(&energy, &Langevin::second_order(dense, f32::INFINITY, 1.0).unwrap(), 500);
    assert!(worst <= bound, "dense: {worst} > {bound}");
}

/// The largest |ln A| over a chain, after a hundred steps: far from where it belongs the way back may be so
/// unlikely that its logits are cut ([`bitmc::draw::LOGIT_LIMIT`]).
fn worst_ratio<E: Energy, K: Kernel<E>>(energy: &E, kernel: &K, steps: u32) -> f64 {
    let mut rng = LaneRng::seed_from_u64(9);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    (0..100).for_each(|_| _ = chain.step(kernel, &mut rng));
    let mut worst = 0.0f64;
    for _ in 0..steps {
        let info = chain.step(kernel, &mut rng);
        assert!(!info.fault && info.accepted == (info.moved() > 0) || info.proposed == 0);
        worst = worst.max(f64::from(info.log_ratio).abs());
    }
    worst
}

/// What a chain does in a few hundred steps.
fn run<E: Energy, K: Kernel<E>>(energy: &E, sampler: &K) -> (Vec<bitmc::Info>, Vec<u32>, u32) {
    let mut rng = LaneRng::seed_from_u64(4);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    let steps: Vec<_> = (0..300).map(|_| chain.step(sampler, &mut rng)).collect();
    assert!(steps.iter().map(bitmc::Info::moved).sum::<u32>() > 300, "too few moves to compare");
    (steps, chain.state().words().to_vec(), chain.energy().to_bits())
}

#[test]
fn without_w_and_d_it_is_the_first_order_sampler_bit_for_bit() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 7);
    let mut memory = model.couplings();
    let energy = memory.ising(&model).unwrap();
    // W without edges: the noise is drawn, added and followed, and is 0.
    let none = couplings(70, 0.0, 1.0, 1);
    let mut memory = none.couplings();
    let form = memory.ising(&none).unwrap().form();
    let (mut d, zeros) = ([[1.0; LANES]; 5], [[0.0; LANES]; 5]);
    let still = Edgewise::new(SparseMatrix::of(form), &mut d).unwrap();
    for step_size in [0.2, 0.5] {
        let adjusted = run(&energy, &Langevin::adjusted(step_size).unwrap());
        assert_eq!(adjusted, run(&energy, &Langevin::balanced(step_size, 0.5).unwrap()));
        assert_eq!(adjusted, run(&energy, &Langevin::second_order(still, step_size, 0.5).unwrap()));
        let diagonal = Diagonal::new(&zeros).unwrap();
        assert_eq!(adjusted, run(&energy, &Langevin::second_order(diagonal, step_size, 0.5).unwrap()));
        assert_ne!(adjusted, run(&energy, &Langevin::balanced(step_size, 0.6).unwrap()));
    }
    // A diagonal W is a curvature: αD + 1/σ; and DLP-trace one of 2D/σ.
    let d: Vec<Block> = (0..5).map(|block| [0.25 + block as f32; LANES]).collect();
    let curvature: Vec<Block> = d.iter().map(|d| d.map(|d| 2.0 + 0.5 * d)).collect();
    let diagonal = Langevin::second_order(Diagonal::new(&d).unwrap(), 0.5, 0.5).unwrap();
    let each = Langevin::new(0.5, Curvature::Each(&curvature), true).unwrap();
    assert_eq!(run(&energy, &diagonal), run(&energy, &each));
    let curvature: Vec<Block> = d.iter().map(|d| d.map(|d| 4.0 * d)).collect();
    let each = Langevin::new(0.5, Curvature::Each(&curvature), true).unwrap();
    assert_eq!(run(&energy, &Langevin::preconditioned(0.5, &d).unwrap()), run(&energy, &each));
}

#[test]
fn steps_report_what_transitions_say() {
    // The tests above come from `transition_given`; this ties them to what `step` does, bit for bit, on a
    // chain whose samplers change from step to step.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.1, 0.3, 6);
    let mut memory = model.couplings();
    let energy = memory.ising(&model).unwrap();
    let mut d = vec![[0.0; LANES]; 3];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let first = Langevin::balanced(0.4, 0.6).unwrap();
    let second = Langevin::second_order(noise, 1.0, 0.8).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let mut other = heap::random_chain(&energy, &mut rng).unwrap();
    let mut compared = 0;
    for step in 0..2000 {
        let before = chain.state().words().to_vec();
        let eta = draw(&noise, 3, 1, &mut rng.clone());
        let info = if step % 3 == 0 { chain.step(&first, &mut rng) } else { chain.step(&second, &mut rng) };
        if !info.accepted || info.proposed == 0 {
            continue;
        }
        other.restart(Packed::new(energy.layout(), &before).unwrap()).unwrap();
        let said = if step % 3 == 0 {
            first.transition(other.ring(), chain.state()).unwrap()
        } else {
            second.transition_given(other.ring(), chain.state(), &eta).unwrap()
        };
        assert_eq!(said.log_ratio.to_bits(), info.log_ratio.to_bits());
        assert_eq!(said.difference.to_bits(), info.difference.to_bits());
        compared += 1;
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn broken_generators_end_every_step() {
    let mut memory = Couplings::new(36, 72);
    let energy = Ising::spins_edges_once(36, torus(6, 6, 0.5), &[0.2; 36], memory.borrow()).unwrap();
    let mut d = vec![[0.0; LANES]; 3];
    let matrix = SparseMatrix::of(energy.form());
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let mut room = Room::new(36, |_| 9.0);
    let dense = room.noise(&matrix).unwrap();
    for (name, mut stuck) in Stuck::all() {
        let mut chain = heap::chain(&energy, &[0b1011, 0]).unwrap();
        for _ in 0..50 {
            let info = chain.step(&Langevin::second_order(noise, 2.0, 0.9).unwrap(), &mut stuck);
            assert!(!info.fault && !info.log_ratio.is_nan(), "{name}");
            let info = chain.step(&Langevin::second_order(dense, 2.0, 0.9).unwrap(), &mut stuck);
            assert!(!info.fault && !info.log_ratio.is_nan(), "{name}");
            Packed::new(Layout::binary(36), chain.state().words()).unwrap();
        }
    }
}

#[test]
fn bad_input_has_a_name() {
    let mut memory = Couplings::new(20, 20);
    let edges = (0..19).map(|site| (site, site + 1, 0.5));
    let energy = Ising::bits_edges_once(20, edges, &[], memory.borrow()).unwrap();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = [[0.0; LANES]; 2];
    let short = Edgewise::new(matrix, &mut d[..1]).unwrap_err();
    assert_eq!(short, NoiseError::Memory { need: 2, got: 1 });
    let form = energy.form();
    let diagonal = SparseMatrix::with_diagonal(form, &[0.0; 19]).unwrap_err();
    assert_eq!(diagonal, NoiseError::Memory { need: 20, got: 19 });
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = [0.0; 20];
        values[7] = bad;
        let error = SparseMatrix::with_diagonal(form, &values).unwrap_err();
        assert_eq!(error, NoiseError::NotFinite { site: 7 });
        let error = Room::new(20, |site| values[site]).noise(&matrix).unwrap_err();
        assert!(matches!(error, NoiseError::D { site: 7, .. }));
        let blocks = [[0.0; LANES], [bad; LANES]];
        assert!(matches!(Diagonal::new(&blocks), Err(NoiseError::D { site: 16, .. })));
        let mut room = [[0.0; LANES]; 2];
        let error = Diagonal::from_variances(&values, &mut room).unwrap_err();
        assert!(matches!(error, NoiseError::Variance { site: 7, .. }));
        let mut rows = vec![[0.0; LANES]; 3];
        rows[2][2] = bad;
        assert!(matches!(DenseMatrix::new(3, &rows), Err(NoiseError::NotFinite { site: 2 })));
    }
    assert!(matches!(Room::new(20, |_| -1.0).noise(&matrix), Err(NoiseError::D { site: 0, value: -1.0 })));
    let mut room = [[9.0; LANES]; 2];
    let error = Diagonal::from_variances(&[0.1, -0.5], &mut room[..1]).unwrap_err();
    assert_eq!(error, NoiseError::Variance { site: 1, value: -0.5 });
    let error = Diagonal::from_variances(&[0.25; 16], &mut room).unwrap_err();
    assert_eq!(error, NoiseError::Memory { need: 1, got: 2 });
    let noise = Diagonal::from_variances(&[0.25; 17], &mut room).unwrap();
    let found = noise.d().unwrap().as_flattened();
    assert!(found.iter().enumerate().all(|(site, &d)| d == if site < 17 { -0.8 } else { 0.0 }));
    // W + D is far from positive: the smallest eigenvalue of W is nearly −1.
    assert!(matches!(Room::new(20, |_| 0.5).noise(&matrix), Err(NoiseError::NotPositive { .. })));
    let mut rows = vec![[0.0; LANES]; 3];
    rows[1][2] = 1.0;
    assert_eq!(DenseMatrix::new(3, &rows).unwrap_err(), NoiseError::Asymmetric { a: 1, b: 2 });
    rows[1][2] = 0.0;
    rows[1][5] = 1.0;
    assert_eq!(DenseMatrix::new(3, &rows).unwrap_err(), NoiseError::Asymmetric { a: 1, b: 5 });
    assert_eq!(DenseMatrix::new(17, &rows).unwrap_err(), NoiseError::Memory { need: 34, got: 3 });
    for sites in [0, 1025, usize::MAX] {
        let error = DenseMatrix::new(sites, &rows).unwrap_err();
        assert_eq!(error, NoiseError::Sites { got: sites, most: 1024 });
    }

    let noise = Edgewise::new(matrix, &mut d).unwrap();
    for bad in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY, 1e-45] {
        assert!(matches!(Langevin::second_order(noise, bad, 1.0), Err(ParameterError::StepSize(_))));
        assert!(matches!(Langevin::balanced(bad, 0.5), Err(ParameterError::StepSize(_))));
        assert!(matches!(Langevin::preconditioned(bad, &[]), Err(ParameterError::StepSize(_))));
        let sampler = Langevin::second_order(noise, 1.0, 1.0).unwrap();
        assert!(matches!(sampler.precision(bad), Err(ParameterError::Precision(_))));
    }
    for (precision, good) in [(1e-6, true), (1e6, true), (0.9e-6, false), (1.1e6, false), (1e30, false)] {
        let sampler = Langevin::second_order(noise, 1.0, 1.0).unwrap();
        assert_eq!(sampler.precision(precision).is_ok(), good, "{precision}");
    }
    for bad in [0.0, 1.5, f32::NAN] {
        assert!(matches!(Langevin::second_order(noise, 1.0, bad), Err(ParameterError::Balance(_))));
    }
    // A noise of fewer sites than the chain refuses every step.
    let mut memory = Couplings::new(64, 128);
    let larger = Ising::spins_edges_once(64, torus(8, 8, 0.2), &[], memory.borrow()).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = heap::random_chain(&larger, &mut rng).unwrap();
    assert!(chain.step(&Langevin::second_order(noise, 1.0, 1.0).unwrap(), &mut rng).fault);
    assert!(chain.step(&Langevin::preconditioned(1.0, &d).unwrap(), &mut rng).fault);
    assert_eq!(chain.faults(), 2);
}

/// L of a symmetric matrix, by its formula.
fn cholesky(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut l = vec![vec![0.0; matrix.len()]; matrix.len()];
    for i in 0..matrix.len() {
        for j in 0..=i {
            let rest = matrix[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    l
}

/// The normals of a draw, plane by plane: its blocks take them in their order.
fn planes_of_normals(sites: usize, planes: usize, rng: &LaneRng) -> Vec<Vec<f64>> {
    let mut rng = rng.clone();
    let mut of = vec![Vec::new(); planes];
    for _ in 0..sites.div_ceil(LANES) {
        of.iter_mut().for_each(|plane| plane.extend(normals(&mut rng).map(f64::from)));
    }
    of
}

#[test]
fn dense_draws_are_the_factor_times_normals() {
    let sites = 40;
    let model = couplings(sites, 0.3, 1.0, 11);
    let mut memory = model.couplings();
    let matrix = SparseMatrix::of(memory.ising(&model).unwrap().form());
    let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
    let least = Edgewise::new(matrix, &mut d).unwrap();
    let mut room = Room::new(sites, |site| least.d().unwrap().as_flattened()[site] + 0.5);
    let noise = room.noise(&matrix).unwrap();
    let truth = sum(&matrix, noise.d().unwrap());
    let l = cholesky(&truth);
    let mut rng = LaneRng::seed_from_u64(2);
    for planes in [1, 2, 3] {
        let xi = planes_of_normals(sites, planes, &rng);
        let eta = draw(&noise, 3, planes, &mut rng);
        for (plane, xi) in xi.iter().enumerate() {
            for (site, l) in l.iter().enumerate() {
                let exact: f64 = l.iter().zip(xi).map(|(l, xi)| l * xi).sum();
                let found = f64::from(eta[site / LANES * planes + plane][site % LANES]);
                let bound = 1e-4 * truth[site][site].sqrt();
                assert!((found - exact).abs() <= bound, "{planes}: {plane}, {site}: {found} {exact}");
            }
        }
    }
}

#[test]
fn what_a_diagonal_has_beyond_its_edges_is_a_normal_a_site() {
    let sites = 20;
    let none = couplings(sites, 0.0, 1.0, 1);
    let mut memory = none.couplings();
    let form = memory.ising(&none).unwrap().form();
    let diagonal: Vec<f32> = (0..sites).map(|site| [2.0, -1.5, 0.0, 0.3][site % 4]).collect();
    let mut d = [[0.0; LANES]; 2];
    let noise = Edgewise::new(SparseMatrix::with_diagonal(form, &diagonal).unwrap(), &mut d).unwrap();
    let mut rng = LaneRng::seed_from_u64(4);
    for planes in [1, 3] {
        let xi = planes_of_normals(sites, planes, &rng);
        let eta = draw(&noise, 2, planes, &mut rng);
        for (plane, xi) in xi.iter().enumerate() {
            for (site, &own) in diagonal.iter().enumerate() {
                let exact = f64::from(own.max(0.0)).sqrt() * xi[site];
                let found = f64::from(eta[site / LANES * planes + plane][site % LANES]);
                assert!((found - exact).abs() <= 4.0 * ROUNDING * exact.abs(), "{found} {exact}");
            }
        }
    }
}

/// Singular, less than that by a little, nothing at all, and by far too little.
#[test]
fn a_diagonal_is_raised_by_as_much_as_it_is_said_to_be() {
    let pair = |own: f32, other: f32, d: f32| {
        let mut rows = [[0.0; LANES]; 2];
        (rows[0][0], rows[0][1], rows[1][0], rows[1][1]) = (own, other, other, own);
        let (mut d, mut root) = ([[d; LANES]], vec![[7.0; LANES]; Dense::root_blocks(2)]);
        let raised =
            Dense::new(DenseMatrix::new(2, &rows).unwrap(), &mut d, &mut root).map(|noise| noise.raised());
        (raised, d[0][1])
    };
    let first = 1.0 / 1_048_576.0;
    assert_eq!(pair(-1.0, 1.0, 2.0), (Ok(3.0 * first), 2.0 + 3.0 * first));
    let near = 1.0 - 2.0 * first;
    assert_eq!(pair(0.0, 1.0, near), (Ok(4.0 * first * near), near + 4.0 * first * near));
    assert_eq!(pair(0.0, 0.0, 0.0), (Ok(f32::MIN_POSITIVE), f32::MIN_POSITIVE));
    // Only the last pivot is negative.
    assert_eq!(pair(0.0, 2.0, 1.0), (Err(NoiseError::NotPositive { site: 1 }), 1.0));
    let most = DenseMatrix::new(1024, &[[0.0; LANES]]).unwrap_err();
    assert_eq!(most, NoiseError::Memory { need: 65_536, got: 1 });
}

#[test]
fn an_adaptation_stays_at_ties_and_ends_where_it_was() {
    let alike = |adaptation: &mut Adaptation, blocks: u32| {
        (0..100 * blocks).for_each(|_| _ = adaptation.observe_distance(7));
    };
    let mut adaptation = Adaptation::new(Parameters::START);
    assert!(!adaptation.is_frozen());
    alike(&mut adaptation, 3);
    assert_eq!(adaptation.parameters(), Parameters::START);
    let mut printed = Adaptation::new(Parameters::START).as_printed();
    alike(&mut printed, 6);
    assert_eq!(printed.parameters().step_size, 0.1f32 * 1.2);
    // In the middle of a candidate.
    alike(&mut adaptation, 1);
    assert_eq!(adaptation.parameters().balance, 0.5 * 1.2);
    adaptation.freeze();
    assert_eq!((adaptation.parameters(), adaptation.is_frozen()), (Parameters::START, true));
}
