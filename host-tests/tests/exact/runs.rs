//! Edges taken run by run: the factor of the noise, read off its draws, is that of W + D; quadratic energies accept
//! everything; and pairs of normals are independent.

use bitmc::lane::{Block, LANES};
use bitmc::noise::{Edgewise, Noise, NoiseError, Run, SparseMatrix, Symmetric};
use bitmc::random::normal_pairs;
use bitmc::{Ising, LaneRng, Langevin, SeedableRng, torus};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::noise::{covariance, draw, factor_of_pairs};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance::{ROUNDING, SIGMA};

/// The largest difference between LLᵀ, of a noise's draws by runs, and `times` W + D, relative to the largest entry;
/// and how many runs there are. `rows` are those of the model that the runs are compiled from.
fn off(model: &Pairwise, times: f64) -> (f64, usize) {
    let sites = model.fields.len();
    let mut memory = model.couplings();
    let matrix = SparseMatrix::of(memory.ising(model).unwrap().form());
    let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let number = runs.len();
    let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
    let columns = factor_of_pairs(&noise, sites, model.edges.len().next_multiple_of(LANES) + 2 * LANES);
    let coupled = model.edges.iter().filter(|edge| edge.2 != 0.0).count();
    assert_eq!(columns.len(), coupled, "a column an edge");
    let found = covariance(&columns, sites);
    let (mut worst, mut largest) = (0.0f64, 0.0f64);
    for (site, row) in found.iter().enumerate() {
        let mut truth = vec![0.0; sites];
        truth[site] = f64::from(noise.d().unwrap().as_flattened()[site]);
        matrix.row(site, |other, value| truth[other] = f64::from(value));
        for (found, truth) in row.iter().zip(&truth) {
            worst = worst.max((found - times * truth).abs());
            largest = largest.max(truth.abs());
        }
    }
    (worst / largest, number)
}

fn lattice(rows: u32, columns: u32, coupling: impl Fn(usize) -> f32) -> Pairwise {
    let edges = torus(rows, columns, 1.0).enumerate().map(|(edge, (a, b, _))| (a, b, coupling(edge)));
    let fields = vec![0.1; (rows * columns) as usize];
    Pairwise { convention: Convention::SpinsEdgesOnce, edges: edges.collect(), fields }
}

#[test]
fn draws_have_the_covariance_of_the_product() {
    let sign = |edge: usize| if (edge / 7).is_multiple_of(3) { -0.5 } else { 0.5 };
    let mut source = Source::new(3);
    let loose: Vec<f32> = (0..240).map(|_| source.coarse(1.0) + 0.007).collect();
    // Both ends of an edge on the same sixteen sites, or just not.
    let offsets =
        [1, 2, 15, 16, 17].into_iter().flat_map(|offset| (0..100 - offset).map(move |a| (a, a + offset, 0.2)));
    let near =
        Pairwise { convention: Convention::SpinsEdgesOnce, edges: offsets.collect(), fields: vec![0.1; 100] };
    let cases = [
        ("near", near, 5),
        ("one coupling", lattice(6, 33, |_| 0.44), 6 * 2 + 2),
        ("narrow", lattice(40, 3, |_| -0.3), 40 * 2 + 2),
        ("signs in stretches", lattice(6, 40, sign), 240),
        ("all different", lattice(10, 12, |edge| loose[edge]), 240),
        ("no lattice", models::pairwise(Convention::SpinsEdgesOnce, 40, 0.3, 1.0, 5), 780),
    ];
    for (name, model, most) in cases {
        let (worst, runs) = off(&model, 1.0);
        println!("{name}: {} edges in {runs} runs, off by {worst:.1e}", model.edges.len());
        assert!(runs <= most, "{name}: {runs} runs");
        // A root, a product with a normal and its division here: three roundings of each of two factors, at a site's
        // edges.
        let degree = 2.0 * model.edges.len() as f64 / model.fields.len() as f64 + 1.0;
        let bound = 16.0 * ROUNDING * degree;
        assert!(worst <= bound, "{name}: {worst} > {bound}");
        // Negative control: a hundredth of a per cent more.
        assert!(off(&model, 1.0001).0 > bound, "{name}: the broken variant passes");
    }
}

/// More edges in a run than are drawn at once: each normal comes to the two ends of one edge, with |W| = ¼ and a root of ½.
#[test]
fn a_long_run_draws_for_its_edges_one_after_another() {
    const SITES: usize = 700;
    let edges = (0..SITES as u32 - 1).map(|a| (a, a + 1, -0.25)).collect();
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges, fields: vec![0.0; SITES] };
    let mut memory = model.couplings();
    let matrix = SparseMatrix::of(memory.ising(&model).unwrap().form());
    let mut d = vec![[0.0; LANES]; Edgewise::blocks(SITES)];
    let mut runs = [Run::default()];
    let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
    let mut seen = vec![0; SITES - 1];
    for column in factor_of_pairs(&noise, SITES, SITES.next_multiple_of(4 * LANES)) {
        let ends: Vec<_> = (0..SITES).filter(|&site| column[site] != 0.0).collect();
        let [a, b] = ends[..] else { panic!("{ends:?}") };
        assert_eq!(b, a + 1);
        assert!((column[a].abs() - 0.5).abs() < 8.0 * ROUNDING, "{}", column[a]);
        assert_eq!(column[b], -column[a]);
        seen[a] += 1;
    }
    assert!(seen.iter().all(|&normals| normals == 1), "{seen:?}");
}

/// The largest z of the covariances of draws beside a matrix that is said to be theirs.
fn sampled_off(noise: &impl Noise, truth: &[Vec<f64>]) -> f64 {
    const DRAWS: u32 = 20_000;
    let sites = truth.len();
    let (mut rng, mut sums) = (LaneRng::seed_from_u64(12), vec![0.0; sites * sites]);
    for _ in 0..DRAWS {
        let eta = draw(noise, sites.div_ceil(LANES), 1, &mut rng);
        let eta: Vec<f64> = eta.as_flattened()[..sites].iter().map(|&x| f64::from(x)).collect();
        for (row, x) in sums.chunks_mut(sites).zip(&eta) {
            row.iter_mut().zip(&eta).for_each(|(sum, y)| *sum += x * y);
        }
    }
    let n = f64::from(DRAWS);
    let pairs = (0..sites).flat_map(|i| (0..sites).map(move |j| (i, j)));
    let z = |(i, j): (usize, usize)| {
        let variance = truth[i][i] * truth[j][j] + truth[i][j] * truth[i][j];
        ((sums[i * sites + j] / n - truth[i][j]) / (variance / n).sqrt()).abs()
    };
    pairs.map(z).fold(0.0, f64::max)
}

#[test]
fn draws_with_a_diagonal_and_of_negated_rows_have_the_covariance_of_the_product() {
    let sites = 45;
    let edges: Vec<_> =
        torus(5, 9, 1.0).map(|(a, b, _)| (a, b, if a / 9 == 2 { -0.4f32 } else { 0.25 })).collect();
    let own: Vec<f32> = (0..sites).map(|site| [3.0, -0.5, 0.2][site % 3]).collect();
    let mut memory = Couplings::new(sites, 2 * sites);
    let form = Ising::bits_edges_once(own.len(), edges.iter().copied(), &own, memory.borrow()).unwrap().form();
    // By the edges and numbers themselves: off the diagonal W, on it the larger of Wᵢᵢ and Σ|W|.
    let truth = |sign: f64, rest: bool| {
        let mut rows = vec![vec![0.0; sites]; sites];
        for &(a, b, coupling) in &edges {
            let (a, b, coupling) = (a as usize, b as usize, f64::from(coupling));
            rows[a][b] += sign * coupling;
            rows[b][a] += sign * coupling;
            rows[a][a] += coupling.abs();
            rows[b][b] += coupling.abs();
        }
        for (site, row) in rows.iter_mut().enumerate().filter(|_| rest) {
            row[site] = row[site].max(sign * f64::from(own[site]));
        }
        rows
    };
    for (sign, matrix) in
        [(1.0, SparseMatrix::with_diagonal(form, &own).unwrap()), (-1.0, SparseMatrix::minus(form))]
    {
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
        let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
        for by_runs in [true, false] {
            let plain = Edgewise::new(matrix, &mut d).unwrap();
            let noise = if by_runs { plain.by_runs(&mut runs).unwrap() } else { plain };
            let worst = sampled_off(&noise, &truth(sign, true));
            println!("sign {sign}, by runs {by_runs}: largest z of 1035: {worst:.2}");
            // 10⁻⁶ for all together, with room for the tails of a product.
            assert!(worst <= 6.5, "sign {sign}, by runs {by_runs}: {worst}");
            // Negative controls: couplings of the other sign, and, where it is larger, without the rest of the diagonal.
            assert!(sampled_off(&noise, &truth(-sign, true)) > 6.5, "the sign is not seen");
            assert!(sign < 0.0 || sampled_off(&noise, &truth(sign, false)) > 6.5, "the rest is not seen");
        }
    }
}

#[test]
fn quadratic_energies_accept_everything() {
    for side in [7, 40] {
        let model = lattice(side, side, |_| 0.4407);
        let mut memory = model.couplings();
        let energy = memory.ising(&model).unwrap();
        let matrix = SparseMatrix::of(energy.form());
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(model.fields.len())];
        let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
        let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
        let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap();
        let mut rng = LaneRng::seed_from_u64(9);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        let mut moved = 0;
        for _ in 0..200 {
            let info = chain.step(&sampler, &mut rng);
            assert!(info.accepted && !info.fault);
            moved += info.moved();
        }
        assert!(moved > 200, "{moved}");
        for (name, mut stuck) in Stuck::all() {
            let info = chain.step(&Langevin::second_order(noise, 2.0, 0.9).unwrap(), &mut stuck);
            assert!(!info.fault && !info.log_ratio.is_nan(), "{name}");
        }
    }
}

#[test]
fn a_run_has_1024_edges_at_most() {
    for edges in [1, 1023, 1024, 1025, 2048, 2049] {
        let path = (0..edges).map(|a| (a, a + 1, 0.5)).collect();
        let fields = vec![0.0; edges as usize + 1];
        let model = Pairwise { convention: Convention::BitsEdgesOnce, edges: path, fields };
        let mut memory = model.couplings();
        let matrix = SparseMatrix::of(memory.ising(&model).unwrap().form());
        assert_eq!(Edgewise::runs(matrix), (edges as usize).div_ceil(1024), "{edges}");
    }
}

#[test]
fn short_memory_is_refused() {
    let mut memory = Couplings::new(25, 50);
    let model = Ising::spins_edges_once(25, torus(5, 5, 0.3), &[], memory.borrow()).unwrap();
    let matrix = SparseMatrix::of(model.form());
    let need = Edgewise::runs(matrix);
    let (mut d, mut runs) = ([[0.0; LANES]; 2], vec![Run::default(); need - 1]);
    let refused = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap_err();
    assert_eq!(refused, NoiseError::Memory { need, got: need - 1 });
}

/// The largest z over the means of xʲyᵏ, j + k ≤ 6, of many pairs, and over P(|x| > 3), P(|y| > 3).
fn moments(mut draw: impl FnMut() -> [Block; 2]) -> f64 {
    const BLOCKS: u32 = 250_000;
    let count = f64::from(BLOCKS) * LANES as f64;
    let (mut sums, mut tails) = ([[0.0f64; 7]; 7], [0u32; 2]);
    for _ in 0..BLOCKS {
        let [first, second] = draw();
        for (x, y) in first.into_iter().zip(second).map(|(x, y)| (f64::from(x), f64::from(y))) {
            let mut power = 1.0;
            for row in &mut sums {
                let mut product = power;
                for sum in row {
                    *sum += product;
                    product *= y;
                }
                power *= x;
            }
            tails[0] += u32::from(x.abs() > 3.0);
            tails[1] += u32::from(y.abs() > 3.0);
        }
    }
    // ⟨x^k⟩ = (k−1)!! for even k.
    let moment = |k: usize| if k.is_multiple_of(2) { (1..k).step_by(2).product::<usize>() as f64 } else { 0.0 };
    let mut worst = 0.0f64;
    for (j, row) in sums.iter().enumerate() {
        for (k, sum) in row.iter().enumerate().filter(|(k, _)| (1..7).contains(&(j + k))) {
            let mean = moment(j) * moment(k);
            let variance = moment(2 * j) * moment(2 * k) - mean * mean;
            worst = worst.max(((sum / count - mean) / (variance / count).sqrt()).abs());
        }
    }
    let p = statrs::function::erf::erfc(3.0 / std::f64::consts::SQRT_2);
    let tail = |count_of: u32| ((f64::from(count_of) / count - p) / (p * (1.0 - p) / count).sqrt()).abs();
    tails.into_iter().map(tail).fold(worst, f64::max)
}

#[test]
fn pairs_are_independent_normals() {
    let mut rng = LaneRng::seed_from_u64(18);
    let right = moments(|| normal_pairs(&mut rng));
    println!("largest z of 29: {right:.2}");
    assert!(right <= SIGMA, "{right}");
    // Negative controls: one number twice, and a scale that is off by a hundredth.
    assert!(moments(|| [normal_pairs(&mut rng)[0]; 2]) > SIGMA);
    let scaled = || normal_pairs(&mut rng).map(|block| block.map(|x| 1.01 * x));
    assert!(moments(scaled) > SIGMA);
    for (name, mut stuck) in Stuck::all() {
        let pairs = normal_pairs(&mut stuck);
        assert!(pairs.as_flattened().iter().all(|z| z.abs() <= 9.5), "{name}");
    }
}
