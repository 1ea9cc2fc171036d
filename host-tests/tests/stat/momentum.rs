//! Second order with momentum: exact start, and deliberately broken variants.

use bitmc::lane::LANES;
use bitmc::noise::{Dense, DenseMatrix, Edgewise, Run, SparseMatrix};
use bitmc::step::IsingBalanced;
use bitmc::{Langevin, Plain};
use bitmc_host_tests::enumerate::{self, Distribution};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::models::{Well, complete};
use bitmc_host_tests::stat::replicas::{Dice, Plan, pieces, reference_rng, total, uniform};

#[test]
fn momentum_over_normals_keeps_an_ising_model() {
    let spins = complete(7, 1.0, 11);
    let distribution = Distribution::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let matrix = SparseMatrix::of(model.form());
    let mut d = vec![[0.0; LANES]; 1];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let parameters = [
        (201, f32::INFINITY, 1.0, 1.0, 0.5, false),
        (202, f32::INFINITY, 1.0, 1.0, 0.8, true),
        (203, 2.0, 0.8, 0.75, 0.5, true),
        (204, 0.5, 0.6, 1.0, 0.9, false),
    ];
    for (seed, step_size, balance, precision, keep, metropolis) in parameters {
        let what = format!("σ {step_size}, α {balance}, κ {precision}, a {keep}, {metropolis}");
        let general = Langevin::second_order(noise, step_size, balance).unwrap().momentum(keep).unwrap();
        let general = general.precision(precision).unwrap();
        let general = if metropolis { general.metropolis_flips().unwrap() } else { general };
        let ends = Plan::usual(seed).ends_moving(&model, &general, &distribution, 1);
        chi_square(&what, &ends, &distribution).must_pass();
        let itself = IsingBalanced::new(noise, step_size, balance).unwrap().momentum(keep).unwrap();
        let itself = itself.precision(precision).unwrap();
        let itself = if metropolis { itself.metropolis_flips().unwrap() } else { itself };
        let ends = Plan::usual(seed + 10).ends_moving(&model, &itself, &distribution, 1);
        chi_square(&format!("its own kernel, {what}"), &ends, &distribution).must_pass();
    }
}

/// W of a quadratic energy for one that is not: the sites of a well, whose second differences are all alike.
#[test]
fn momentum_keeps_an_energy_that_is_not_quadratic() {
    let well = Well { sites: 6, depth: 0.05, centre: 3.4 };
    let distribution = Distribution::of(&well).probabilities;
    let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(6)];
    rows.iter_mut().take(6).for_each(|row| row[..6].fill(-0.3));
    let (mut d, mut root) = (vec![[0.4; LANES]; 1], vec![[0.0; LANES]; Dense::root_blocks(6)]);
    d[0].fill(2.0);
    let noise = Dense::new(DenseMatrix::new(6, &rows).unwrap(), &mut d, &mut root).unwrap();
    for (seed, keep, metropolis) in [(221, 0.5, false), (222, 0.8, true)] {
        let kernel = Langevin::second_order(noise, 3.0, 0.8).unwrap().momentum(keep).unwrap();
        let kernel = if metropolis { kernel.metropolis_flips().unwrap() } else { kernel };
        let ends = Plan::usual(seed).ends_moving(&Plain(well), &kernel, &distribution, 1);
        chi_square(&format!("well, a {keep}, {metropolis}"), &ends, &distribution).must_pass();
    }
}

fn signs(coupling: f32) -> Pairwise {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (0, 3), (1, 4), (2, 5)];
    let sign = |edge: usize| if edge % 4 == 3 { -coupling } else { coupling };
    let edges = edges.iter().enumerate().map(|(edge, &(a, b))| (a, b, sign(edge)));
    Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: edges.collect(),
        fields: vec![0.2, -0.1, 0.0, 0.3, -0.4, 0.1],
    }
}

/// What ends a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Negated {
    Always,
    OnRejectionOnly,
    Never,
}

/// Another implementation, in float64: κ = 1, and a grid of `parts` of |W|.
struct Naive<'a> {
    spins: &'a Pairwise,
    parts: f64,
    step_size: f64,
    balance: f64,
    keep: f64,
    negated: Negated,
    metropolis: bool,
}

impl Naive<'_> {
    fn magnitude(&self) -> f64 {
        4.0 * f64::from(self.spins.edges[0].2.abs())
    }

    /// Log odds of flipping.
    fn odds(&self, x: usize, k: &[f64]) -> Vec<f64> {
        let sites = self.spins.fields.len();
        let spin = |site: u32| if x >> site & 1 == 1 { 1.0 } else { -1.0 };
        let mut field: Vec<f64> = self.spins.fields.iter().map(|&h| 2.0 * f64::from(h)).collect();
        let mut d = vec![0.0; sites];
        for (&(a, b, coupling), k) in self.spins.edges.iter().zip(k) {
            let coupling = f64::from(coupling);
            let term = self.magnitude() / self.parts * k;
            field[a as usize] += 2.0 * coupling * spin(b) + term;
            field[b as usize] += 2.0 * coupling * spin(a) + term * coupling.signum();
            d[a as usize] += self.magnitude();
            d[b as usize] += self.magnitude();
        }
        let odds = |site: usize| {
            self.balance * (-spin(site as u32) * field[site] - 0.5 * d[site]) - 0.5 / self.step_size
        };
        (0..sites).map(odds).collect()
    }

    /// Of a flip.
    fn probability(&self, odds: f64) -> f64 {
        if self.metropolis { odds.exp().min(1.0) } else { 1.0 / (1.0 + (-odds).exp()) }
    }

    fn log_q(&self, odds: &[f64], flips: usize) -> f64 {
        let of = |(site, &odds): (usize, &f64)| {
            let p = self.probability(odds);
            if flips >> site & 1 == 1 { p.ln() } else { (1.0 - p).ln() }
        };
        odds.iter().enumerate().map(of).sum()
    }

    fn ends(&self, plan: &Plan, start: &[f64]) -> Vec<u64> {
        let distribution = self.magnitude() / self.parts.powi(2);
        let weights: Vec<f64> = (-20..=20).map(|k| (-0.5 * distribution * f64::from(k * k)).exp()).collect();
        let (numbers, dice) = (Dice::new(&weights), Dice::new(start));
        total(pieces(|piece| {
            let mut rng = reference_rng(plan.seed, piece);
            let mut counts = vec![0; start.len()];
            for _ in 0..plan.share() {
                let mut x = dice.roll(&mut rng);
                let mut k: Vec<f64> =
                    self.spins.edges.iter().map(|_| numbers.roll(&mut rng) as f64 - 20.0).collect();
                for _ in 0..plan.steps {
                    for k in &mut k {
                        if uniform(&mut rng) >= self.keep {
                            *k = numbers.roll(&mut rng) as f64 - 20.0;
                        }
                    }
                    self.step(&mut x, &mut k, distribution, &mut rng);
                }
                counts[x] += 1;
            }
            counts
        }))
    }

    fn step(&self, x: &mut usize, k: &mut Vec<f64>, distribution: f64, rng: &mut impl bitmc::Rng) {
        let here = self.odds(*x, k);
        let sites = here.iter().enumerate();
        let flips: usize =
            sites.map(|(site, &odds)| usize::from(uniform(rng) < self.probability(odds)) << site).sum();
        let y = *x ^ flips;
        let v = |site: u32| ((y >> site & 1) as f64) - ((*x >> site & 1) as f64);
        let after: Vec<f64> = (self.spins.edges.iter().zip(&*k))
            .map(|(&(a, b, w), k)| k - self.parts * (v(a) + f64::from(w.signum()) * v(b)))
            .collect();
        let squares = |k: &[f64]| k.iter().map(|k| k * k).sum::<f64>();
        let energy = |x: usize| self.spins.energy(&enumerate::values(x, here.len()));
        let back = self.log_q(&self.odds(y, &after), flips) - self.log_q(&here, flips);
        let log_ratio = energy(*x) - energy(y) - 0.5 * distribution * (squares(&after) - squares(k)) + back;
        let accepted = uniform(rng).ln() < log_ratio;
        if accepted {
            (*x, *k) = (y, after);
        }
        let negates = match self.negated {
            Negated::Always => true,
            Negated::OnRejectionOnly => !accepted,
            Negated::Never => false,
        };
        if negates {
            k.iter_mut().for_each(|k| *k = -*k);
        }
    }
}

#[test]
fn momentum_over_whole_numbers_keeps_an_ising_model() {
    // |W| = 4J: a grid of one part of it, and of two.
    for (seed, coupling, parts) in [(230, 0.35, 1.0), (240, 0.6, 2.0)] {
        let spins = signs(coupling);
        let distribution = Distribution::of(&spins).probabilities;
        let mut memory = spins.couplings();
        let model = memory.ising(&spins).unwrap();
        let matrix = SparseMatrix::of(model.form());
        let (mut d, mut runs) = ([[0.0; LANES]], [Run::default(); 10]);
        let noise = Edgewise::new(matrix, &mut d).unwrap();
        let by_runs = noise.by_runs(&mut runs[..Edgewise::runs(matrix)]).unwrap();
        let parameters = [
            (noise, f32::INFINITY, 1.0, 1.0, 0.8, true),
            (noise, 1.0, 0.8, 0.9, 0.5, false),
            (by_runs, 2.0, 0.9, 1.3, 0.5, true),
        ];
        for (seed, (noise, step_size, balance, precision, keep, metropolis)) in (seed..).zip(parameters) {
            let sampler = IsingBalanced::discrete(noise, step_size, balance).unwrap();
            let sampler = sampler.precision(precision).unwrap().momentum(keep).unwrap();
            let sampler = if metropolis { sampler.metropolis_flips().unwrap() } else { sampler };
            let ends = Plan::usual(seed).ends_moving(&model, &sampler, &distribution, 1);
            chi_square(&format!("J {coupling}, σ {step_size}, a {keep}"), &ends, &distribution).must_pass();
        }
        // Another implementation, and broken variants of it.
        let naive = |negated| {
            let (step_size, balance, keep, metropolis) = (1.0, 0.8, 0.8, true);
            Naive { spins: &spins, parts, step_size, balance, keep, negated, metropolis }
                .ends(&Plan { replicas: 128_000, ..Plan::usual(seed + 5) }, &distribution)
        };
        chi_square("another implementation", &naive(Negated::Always), &distribution).must_pass();
        if parts == 1.0 {
            chi_square("never negated", &naive(Negated::Never), &distribution).must_pass();
            chi_square("negated on rejection only", &naive(Negated::OnRejectionOnly), &distribution)
                .must_fail();
        }
    }
}
