//! Lattice Gaussians, dense and sparse, against float64.

use bitmc::energy::{Dense, Entry, GaussianError, LatticeGaussian, Precision, Sparse, SparseError};
use bitmc::step::Curvature;
use bitmc::{Energy, Langevin};
use bitmc_host_tests::comparison::{Case, cache_of, gradient_of, same_bits};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::Couplings;
use bitmc_host_tests::lattice::Quadratic;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::naive::Target;
use bitmc_host_tests::tolerance::{CENTRAL, CENTRAL_STEP, DOUBLE, ISING_GRID, RBM_GRID, ROUNDING};

/// The numbers of a model in the kernel's fixed point, compared at states on a random walk.
fn compare(name: &str, target: &Quadratic, energy: &dyn Energy, exact: bool, steps: usize) {
    let (sites, last) = (target.centre.len(), (target.arity - 1) as f64);
    let sum = |row: &[f32]| row.iter().map(|a| f64::from(a.abs())).sum::<f64>();
    let row = target.matrix.chunks_exact(sites).map(sum).fold(0.0, f64::max);
    let far = target.centre.iter().map(|&mu| f64::from(mu).abs().max((last - f64::from(mu)).abs()));
    let far = far.fold(1.0, f64::max);
    let largest = target.matrix.iter().fold(0.0f64, |most, a| most.max(f64::from(a.abs())));
    // 2^−30 of the largest field or 2^−22 of the largest entry, both up to a power of two.
    let unit = if exact { 0.0 } else { 2.0 * (ISING_GRID * far * row).max(2.0 * RBM_GRID * largest) };
    let double = DOUBLE * sites as f64 * row * far * far;
    let away = |x: &[f64]| target.away(x).iter().map(|v| v.abs()).sum::<f64>();
    Case {
        energy,
        target,
        total: &|x| {
            // One rounding to f32. Every entry is off by half a unit; b = Aμ by another half, its constant
            // by one a site.
            let own: f64 = x.iter().zip(&target.centre).map(|(x, &mu)| x + f64::from(mu.abs()) + 1.0).sum();
            ROUNDING * target.energy(x).abs() + unit * (0.25 * away(x).powi(2) + own) + double
        },
        gradient: &|x| {
            let fields = target.gradient(x).into_iter();
            fields.map(|h| ROUNDING * h.abs() + unit * (0.5 * away(x) + 1.0) + double).collect()
        },
        multilinear: false,
    }
    .check(name, &mut Source::new(31), steps);
}

#[test]
fn totals_differences_gradients_and_caches() {
    for sites in 1..=65 {
        let arity = [2, 3, 5, 16, 21, 300][sites % 6];
        for coarse in [true, false] {
            let density = if coarse { 1.0 } else { (6.0 / sites as f64).min(1.0) };
            let model = Quadratic::random(sites, arity, density, 0.5, coarse, sites as u64);
            let (rows, mut memory) = (model.rows(), Couplings::new(sites, model.edges().len()));
            let name = format!("{sites} sites of {arity}, coarse {coarse}");
            // Numbers on a grid of 1/64 are held exactly only while a field has few enough bits.
            let exact = coarse && arity <= 21;
            compare(&format!("dense, {name}"), &model, &model.dense(&rows).unwrap(), exact, 5);
            compare(&format!("sparse, {name}"), &model, &model.sparse(&mut memory).unwrap(), exact, 5);
        }
    }
}

/// Steep in one site: what a centre loses is multiplied by A. One that is 2⁻¹⁵ off must be seen.
#[test]
fn a_centre_keeps_its_bits() {
    for (own, mu, arity) in [(2e4, 2.500_01, 6), (2e5, 2.500_003, 6), (50.0, 40_000.3, 7), (1e3, -0.000_123, 3)]
    {
        let model = Quadratic { matrix: vec![own], centre: vec![mu], arity };
        let (rows, mut memory) = (model.rows(), Couplings::new(1, 0));
        let name = format!("A = {own}, μ = {mu}");
        compare(&format!("dense, {name}"), &model, &model.dense(&rows).unwrap(), false, 5);
        compare(&format!("sparse, {name}"), &model, &model.sparse(&mut memory).unwrap(), false, 5);
    }
    let steep = Quadratic { matrix: vec![2e4], centre: vec![2.500_01], arity: 6 };
    let off = Quadratic { centre: vec![2.5 + 2f32.powi(-15)], ..steep.clone() };
    let mut memory = Couplings::new(1, 0);
    let off = off.sparse(&mut memory).unwrap();
    assert!(std::panic::catch_unwind(|| compare("off", &steep, &off, false, 5)).is_err());
}

/// Where the largest |μ| is a power of two, or all are below 1, 2⁻³⁰ of that is held exactly.
#[test]
fn a_centre_has_thirty_bits() {
    for largest in [0.0, 1.0, -2.0, 4096.0, -65_536.0f32] {
        let mu = 3.0 * largest.abs().max(1.0) * 2f32.powi(-30);
        let model = Quadratic { matrix: vec![1.75, 0.0, 0.0, 1.75], centre: vec![largest, mu], arity: 2 };
        let mut memory = Couplings::new(2, 0);
        let energy = model.sparse(&mut memory).unwrap();
        let (_, cache) = cache_of(&energy, &[0.0; 2]);
        let field = f64::from(gradient_of(&energy, &[0.0; 2], &cache)[0][1]);
        // A is on its grid too, so that Aμ is rounded once.
        let off = (field - model.gradient(&[0.0; 2])[1]).abs();
        assert!(off <= 0.5 * f64::from(energy.precision().unit()), "beside {largest}: {off}");
    }
}

/// The last value is three times as far from a centre below 0 as 0 is.
#[test]
fn fields_far_from_a_centre_below_zero_fit() {
    let mut model = Quadratic { matrix: vec![0.0; 9], centre: vec![-10.0; 3], arity: 21 };
    (0..3).for_each(|site| model.matrix[4 * site] = 1.5);
    let mut memory = Couplings::new(3, 0);
    compare("below 0", &model, &model.sparse(&mut memory).unwrap(), false, 6);
}

/// As many sites as are allowed at the largest distance; one more is refused.
#[test]
fn totals_of_many_sites_fit() {
    let (centre, diagonal) = ([65_536.0; 8193], [1.0; 8193]);
    let total = |sites: usize| {
        let mut memory = Couplings::new(sites, 0);
        let (own, centre) = (&diagonal[..sites], &centre[..sites]);
        let model = LatticeGaussian::sparse(sites, 2, [], own, centre, memory.borrow());
        model.map(|model| cache_of(&model, &vec![0.0; sites]).0)
    };
    assert_eq!(total(8192), Ok(0.5 * 8192.0 * 65_536.0 * 65_536.0));
    assert_eq!(total(8193), Err(GaussianError::Sites));
}

#[test]
fn the_reference_agrees_with_central_differences() {
    let model = Quadratic::random(30, 21, 0.4, 1.0, false, 2);
    let mut source = Source::new(1);
    for _ in 0..5 {
        let x: Vec<f64> = (0..30).map(|_| 20.0 * source.uniform()).collect();
        let away = model.away(&x);
        let size: f64 = model.matrix.iter().map(|a| f64::from(a.abs())).sum::<f64>()
            * away.iter().fold(1.0f64, |most, v| most.max(v.abs())).powi(2);
        for (h, found) in model.gradient(&x).iter().zip(model.central_differences(&x, CENTRAL_STEP)) {
            assert!((h - found).abs() <= CENTRAL * size);
        }
    }
}

#[test]
#[should_panic(expected = "bound")] // a negative control: the comparison above must reject it
fn an_entry_that_is_slightly_off_is_seen() {
    let target = Quadratic::random(33, 5, 0.3, 1.0, true, 21);
    let mut wrong = target.clone();
    wrong.matrix[7 * 34] += 1.0 / 16384.0;
    let mut memory = Couplings::new(33, wrong.edges().len());
    compare("off", &target, &wrong.sparse(&mut memory).unwrap(), true, 6);
}

#[test]
fn dense_and_sparse_are_one_model() {
    // On a grid that both hold, every number is the same, bit for bit.
    let model = Quadratic::random(37, 21, 0.2, 0.5, true, 5);
    let (rows, mut memory) = (model.rows(), Couplings::new(37, model.edges().len()));
    let (dense, sparse) = (model.dense(&rows).unwrap(), model.sparse(&mut memory).unwrap());
    for a in 0..37 {
        for b in 0..37 {
            let entry = |p: Precision<'_>| p.units(a, b) as f32 * p.unit();
            assert_eq!(entry(dense.precision()), model.matrix[37 * a + b]);
            assert_eq!(entry(sparse.precision()), model.matrix[37 * a + b]);
        }
    }
    let Precision::Sparse(form) = sparse.precision() else { panic!("a sparse model") };
    let again = Sparse::from_rows(form.ends(), form.entries(), form.linear(), form.exponent()).unwrap();
    let again = LatticeGaussian::from_rows(again, &model.centre, 21).unwrap();
    let mut source = Source::new(6);
    let mut draw = || (0..37).map(|_| source.below(21) as f64).collect::<Vec<_>>();
    for _ in 0..10 {
        let (x, y) = (draw(), draw());
        same_bits(&dense, &x, &y);
        same_bits(&sparse, &x, &y);
        let total = |energy: &dyn Energy| cache_of(energy, &x).0;
        assert_eq!(total(&dense), total(&sparse));
        assert_eq!(total(&again), total(&sparse));
    }
}

#[test]
fn transition_matrices() {
    for (seed, sd) in [0.4, 3.0, 10.0].into_iter().enumerate() {
        for (sites, arity) in [(4, 3), (3, 5), (2, 16)] {
            let model = Quadratic::random(sites, arity, 1.0, sd / arity as f64, true, seed as u64);
            let (rows, distribution) = (model.rows(), model.distribution());
            let energy = model.dense(&rows).unwrap();
            for (step_size, balance) in [(0.1, 0.5), (0.5, 0.5), (2.0, 0.8), (8.0, 1.0), (1000.0, 0.5)] {
                let sampler = Langevin::new(balance, Curvature::Same(1.0 / step_size), true).unwrap();
                let verdict = Transitions::between(&energy, &sampler, &model.states(), 0).judge(&distribution);
                assert!(verdict.passes(), "{sites} of {arity}, sd {sd}, step {step_size}: {verdict:?}");
            }
        }
    }
    // The same check rejects the distribution of a model with one entry changed by a hundredth.
    let model = Quadratic::random(3, 5, 1.0, 0.5, true, 9);
    let mut other = model.clone();
    other.matrix[0] += 0.01;
    let rows = model.rows();
    let sampler = Langevin::adjusted(1.0).unwrap();
    let found = Transitions::between(&model.dense(&rows).unwrap(), &sampler, &model.states(), 0);
    assert!(found.judge(&model.distribution()).passes() && !found.judge(&other.distribution()).passes());
    let half = Distribution::from_energies(3, model.distribution().energies.iter().map(|e| 0.5 * e).collect());
    assert!(!found.judge(&half).passes());
}

#[test]
fn bad_input_is_an_error_with_a_name() {
    use GaussianError::*;
    let model = Quadratic::random(17, 5, 1.0, 1.0, true, 3);
    let rows = model.rows();
    let dense = |rows: &[_], centre: &[f32], arity| LatticeGaussian::dense(rows, centre, arity).map(|_| ());
    assert_eq!(dense(&rows, &model.centre, 5), Ok(()));
    assert_eq!(dense(&[], &[], 5), Err(Sites));
    for arity in [0, 1, 65_537] {
        assert_eq!(dense(&rows, &model.centre, arity), Err(Arity));
    }
    assert_eq!(dense(&rows[1..], &model.centre, 5), Err(Length { need: 34, got: 33 }));
    assert_eq!(dense(&rows, &[1.0; 1025], 5), Err(Sites));
    let with = |at: (usize, usize), value: f32| {
        let mut rows = rows.clone();
        rows[at.0][at.1] = value;
        dense(&rows, &model.centre, 5)
    };
    assert_eq!(with((7, 1), 1e-9), Err(Padding { row: 3 }));
    assert_eq!(with((4, 0), 99.0), Err(Asymmetric { row: 0, column: 2 }));
    assert_eq!(with((4, 2), 3e30), Err(TooLarge { site: 2 }));
    assert_eq!(with((4, 2), f32::MAX), Err(TooLarge { site: 2 }));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(with((4, 2), bad), Err(NotFinite { row: 2, column: 2 }));
        let mut centre = model.centre.clone();
        centre[3] = bad;
        assert_eq!(dense(&rows, &centre, 5), Err(Centre { site: 3 }));
        let sparse = |diagonal: &[f32], coupling| {
            let mut memory = Couplings::new(2, 1);
            LatticeGaussian::sparse(2, 5, [(0, 1, coupling)], diagonal, &[1.0; 2], memory.borrow()).map(|_| ())
        };
        assert_eq!(sparse(&[1.0, bad], 0.5), Err(NotFinite { row: 1, column: 1 }));
        assert_eq!(sparse(&[1.0; 2], bad), Err(Sparse(SparseError::CouplingNotFinite { edge: 0 })));
        assert_eq!(sparse(&[1.0; 3], 0.5), Err(Length { need: 2, got: 3 }));
        assert_eq!(sparse(&[1.0; 2], 1e30), Err(TooLarge { site: 0 }));
        assert_eq!(sparse(&[1.0; 2], 0.5), Ok(()));
    }
    assert_eq!(
        Sparse(SparseError::Memory { need: 2, got: 1 }).to_string(),
        "precision matrix: memory for 2 sites is needed, for 1 it was given"
    );
    let mut centre = model.centre.clone();
    centre[16] = 65_537.0;
    assert_eq!(dense(&rows, &centre, 5), Err(Centre { site: 16 }));
    assert_eq!(Dense::MAX_SITES, 1024);
    assert_eq!(dense(&[], &[1.0; 1024], 5), Err(Length { need: 65_536, got: 0 }));
    let single = |own: f32| {
        let mut row = [0.0; 16];
        row[0] = own;
        dense(&[row], &[0.0], 2)
    };
    assert_eq!((single(1e30), single(1e30f32.next_up())), (Ok(()), Err(TooLarge { site: 0 })));
    // Rows that were compiled for bits are too large for more values.
    let huge = [Entry { site: 1, coupling: 1 << 28 }, Entry { site: 0, coupling: 1 << 28 }];
    let form = bitmc::energy::Sparse::from_rows(&[1, 2], &huge, &[0; 2], 0).unwrap();
    let rows = |centre: &[f32], arity| LatticeGaussian::from_rows(form, centre, arity).map(|_| ());
    assert_eq!(rows(&[0.0; 2], 5), Ok(()));
    assert_eq!(rows(&[0.0; 2], 6), Err(TooLarge { site: 0 }));
    assert_eq!(rows(&[0.0; 3], 5), Err(Length { need: 2, got: 3 }));
    // The diagonal counts, whatever its sign.
    for own in [1 << 28, -(1 << 28)] {
        let linear = [own; 2];
        let form = bitmc::energy::Sparse::from_rows(&[1, 2], &huge, &linear, 0).unwrap();
        let rows = |arity| LatticeGaussian::from_rows(form, &[0.0; 2], arity).map(|_| ());
        assert_eq!((rows(3), rows(4)), (Ok(()), Err(TooLarge { site: 0 })));
    }
}
