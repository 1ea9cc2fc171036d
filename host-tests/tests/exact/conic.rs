//! D beside a conic solver: `cargo test --release -p bitmc-host-tests --features conic --test exact conic`.
//!
//! Interior points in float64 find the optima that the kernel's descent is measured against elsewhere by its dual
//! bound (`shift.rs`); here they are the truth. Four minutes, most of them for the graph of four hundred sites: where
//! few pairs couple the solver takes the cone apart, that of the torus into 236 of up to 74 sites, that of the graph into
//! 254 of up to 116. A full matrix of a hundred is one cone of 5,050 dimensions.
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, MinTrace, Noise};
use bitmc_host_tests::semidefinite::{Full, Instance, instances};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

// The solver's BLAS and LAPACK.
#[link(name = "openblas")]
unsafe extern "C" {}

/// The constraints `s = b − Ax ∈ cone`, row by row.
#[derive(Default)]
struct Problem {
    entries: (Vec<usize>, Vec<usize>, Vec<f64>),
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Problem {
    /// x ≥ 0 for the first variables.
    fn not_negative(&mut self, variables: usize) {
        for variable in 0..variables {
            self.row(0.0, &[(variable, -1.0)]);
        }
        self.cones.push(SupportedConeT::NonnegativeConeT(variables));
    }

    /// `sign · (W + diag(x)) + x[spare] I ⪰ 0`: the upper triangle column by column, √2 off the diagonal.
    fn positive(&mut self, w: &Full, sign: f64, spare: Option<usize>) {
        for column in 0..w.sites() {
            for row in 0..=column {
                let own = [(row, -sign), (spare.unwrap_or(0), -1.0)];
                let scale = if row == column { sign } else { sign * std::f64::consts::SQRT_2 };
                let count = if row != column { 0 } else { 1 + usize::from(spare.is_some()) };
                self.row(scale * w.get(row, column), &own[..count]);
            }
        }
        self.cones.push(SupportedConeT::PSDTriangleConeT(w.sites()));
    }

    fn row(&mut self, right: f64, entries: &[(usize, f64)]) {
        for &(variable, value) in entries {
            self.entries.0.push(self.right.len());
            self.entries.1.push(variable);
            self.entries.2.push(value);
        }
        self.right.push(right);
    }

    /// The x of the smallest cost.
    fn solve(self, cost: &[f64]) -> Vec<f64> {
        let (rows, columns, values) = self.entries;
        let matrix = CscMatrix::new_from_triplets(self.right.len(), cost.len(), rows, columns, values);
        let square = CscMatrix::zeros((cost.len(), cost.len()));
        // faer's factorisation works by dense blocks, which these cones are made of: the solver's own is 30 times slower.
        let settings = DefaultSettings {
            verbose: false,
            direct_solve_method: "faer".into(),
            ..DefaultSettings::default()
        };
        let mut solver =
            DefaultSolver::new(&square, cost, &matrix, &self.right, &self.cones, settings).unwrap();
        solver.solve();
        assert_eq!(solver.solution.status, SolverStatus::Solved);
        solver.solution.x
    }
}

/// The D of the smallest trace.
fn smallest_trace(w: &Full) -> Vec<f64> {
    let mut problem = Problem::default();
    problem.not_negative(w.sites());
    problem.positive(w, 1.0, None);
    problem.solve(&vec![1.0; w.sites()])
}

/// AB-max: the D with the smallest largest eigenvalue of W + D.
fn smallest_maximum(w: &Full) -> Vec<f64> {
    let sites = w.sites();
    let mut problem = Problem::default();
    problem.not_negative(sites);
    problem.positive(w, 1.0, None);
    problem.positive(w, -1.0, Some(sites));
    let cost: Vec<f64> = (0..=sites).map(|variable| f64::from(u8::from(variable == sites))).collect();
    problem.solve(&cost)
}

/// The trace of the D that the kernel's sampler would use.
fn kernel(w: &Full) -> f64 {
    let (sites, rows) = (w.sites(), w.blocks());
    let matrix = DenseMatrix::new(sites, &rows).unwrap();
    let zeros = |count: usize| -> Vec<Block> { vec![[0.0; LANES]; count] };
    let (mut d, mut scratch) = (zeros(sites.div_ceil(LANES)), zeros(3 * sites.div_ceil(LANES)));
    let mut vectors = zeros(MinTrace::blocks(sites));
    MinTrace::new(1e-3, 2000).solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
    let mut root = zeros(Dense::root_blocks(sites));
    let dense = Dense::new(matrix, &mut d, &mut root).unwrap();
    dense.d().unwrap().as_flattened()[..sites].iter().map(|&d| f64::from(d)).sum()
}

fn judge(Instance { name, w, trace }: &Instance) {
    let start = std::time::Instant::now();
    let truth: f64 = smallest_trace(w).iter().sum();
    let (found, bound) = (kernel(w), w.dual(3000));
    println!(
        "{name}: {found}, by the conic solver {truth} ({trace}), at least {bound}, {:.0?}",
        start.elapsed()
    );
    assert!(found <= 1.002 * truth && found >= (1.0 - 1e-6) * truth, "{name}: {found} for {truth}");
    // The solver stops at a relative gap of 1e-8; the bound's sweeps end within one part in a thousand.
    assert!(bound <= (1.0 + 1e-6) * truth && bound >= 0.999 * truth, "{name}: {bound} for {truth}");
    // What the everyday test compares with.
    assert!((trace / truth - 1.0).abs() < 1e-7, "{name}: {trace} is kept for {truth}");
}

#[test]
fn the_kernels_trace_is_the_solvers_within_two_parts_in_a_thousand() {
    instances().iter().for_each(judge);
}

#[test]
fn the_dense_noise_takes_the_d_of_the_smallest_maximum() {
    let w = Full::random(30, 5);
    let solution = smallest_maximum(&w);
    let (values, largest) = (&solution[..30], solution[30]);
    // λ is the largest eigenvalue of W + D: λI − (W + D) is positive with a little more, not with a little less.
    let beyond = |more: f64| {
        let mut rest = Full::zero(30);
        (0..30).for_each(|a| (0..=a).for_each(|b| rest.set(a, b, -w.get(a, b))));
        rest.plus(|site| largest * (1.0 + more) - values[site]).is_positive()
    };
    assert!(beyond(1e-4) && !beyond(-1e-4));
    let rows = w.blocks();
    let mut d = vec![[0.0; LANES]; 2];
    d.as_flattened_mut().iter_mut().zip(values).for_each(|(slot, &value)| *slot = value.max(0.0) as f32);
    let mut root = vec![[0.0; LANES]; Dense::root_blocks(30)];
    let noise = Dense::new(DenseMatrix::new(30, &rows).unwrap(), &mut d, &mut root).unwrap();
    // The optimum is singular: the factorisation may raise it a little.
    assert!(f64::from(noise.raised()) < 1e-3 * largest, "{}", noise.raised());
    // Its trace is not the smallest.
    let trace: f64 = values.iter().sum();
    println!("largest eigenvalue {largest}, trace {trace} against {}", kernel(&w));
    assert!(trace > 1.01 * kernel(&w));
}
