//! Energies, differences, gradients and caches against float64 (TESTING.md L0.3).

use bitmc::energy::Estimate;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Bernoulli, Energy, Function, Ising, LaneRng, Langevin, Layout, Move, Packed, Plain, SeedableRng};
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Machine, Pairwise, Target};
use bitmc_host_tests::npy;
use bitmc_host_tests::tolerance::{
    CENTRAL, CENTRAL_STEP, DOUBLE, ENERGY_ROUNDINGS, FACTOR_ROUNDINGS, ISING_GRID, RBM_GRID, ROUNDING,
};

/// Every length around one, two and four blocks of lanes.
const LENGTHS: std::ops::RangeInclusive<usize> = 1..=65;

/// A model under test: what the kernel may be off by.
struct Case<'a> {
    energy: &'a dyn Energy,
    target: &'a dyn Target,
    /// Of a total or a difference.
    total: &'a dyn Fn(&[f64]) -> f64,
    /// Of a component of the gradient.
    gradient: &'a dyn Fn(&[f64]) -> Vec<f64>,
    /// Whether a difference of one site is the gradient's component.
    multilinear: bool,
}

fn cache_of(energy: &dyn Energy, x: &[f64]) -> (f32, Vec<Bits>) {
    let mut cache = vec![[0xDEAD_BEEF; LANES]; energy.cache_len()];
    let words = heap::pack(x);
    let total = energy.init(Packed::new(energy.layout(), &words).unwrap(), &mut cache).unwrap();
    (total, cache)
}

fn gradient_of(energy: &dyn Energy, x: &[f64], cache: &[Bits]) -> Vec<Block> {
    let (layout, words) = (energy.layout(), heap::pack(x));
    let mut out = vec![[f32::NAN; LANES]; layout.blocks()];
    energy.gradient(Packed::new(layout, &words).unwrap(), cache, 0..layout.blocks(), &mut out);
    out
}

fn close(name: &str, found: f32, truth: f64, bound: f64) {
    let error = (f64::from(found) - truth).abs();
    assert!(error <= bound, "{name}: {found} for {truth}, error {error:e}, bound {bound:e}");
}

impl Case<'_> {
    /// Walks at random, and compares everything at every state.
    fn check(&self, name: &str, source: &mut Source, steps: usize) {
        let (layout, sites) = (self.energy.layout(), self.target.sites());
        assert_eq!(layout, Layout::binary(sites));
        let mut x = source.state(sites);
        let (total, mut cache) = cache_of(self.energy, &x);
        close(&format!("{name}: total"), total, self.target.energy(&x), (self.total)(&x));
        for step in 0..steps {
            self.check_gradient(name, &x, &cache);
            let mut y = x.clone();
            // From no site to all of them.
            let share = source.uniform().powi(2) * step as f64 / steps as f64;
            y.iter_mut().for_each(|value| {
                if source.uniform() < share {
                    *value = 1.0 - *value;
                }
            });
            let site = source.below(sites);
            self.check_differences(name, &x, &cache, site);
            y[site] = 1.0 - y[site];
            let (here, there) = (heap::pack(&x), heap::pack(&y));
            let step = Move::new(Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
            let found = self.energy.shift(&step.unwrap(), &mut cache);
            let truth = self.target.energy(&y) - self.target.energy(&x);
            close(&format!("{name}: shift"), found, truth, (self.total)(&x) + (self.total)(&y));
            x = y;
            // Free of history: the cache is that of the state, bit for bit.
            let (total, fresh) = cache_of(self.energy, &x);
            assert_eq!(cache, fresh, "{name}: the cache remembers the way here");
            close(&format!("{name}: total"), total, self.target.energy(&x), (self.total)(&x));
        }
    }

    fn check_gradient(&self, name: &str, x: &[f64], cache: &[Bits]) {
        let found = gradient_of(self.energy, x, cache);
        let (truth, bounds) = (self.target.gradient(x), (self.gradient)(x));
        for (site, (&truth, &bound)) in truth.iter().zip(&bounds).enumerate() {
            close(&format!("{name}: gradient"), found[site / LANES][site % LANES], truth, bound);
        }
        // Any range of blocks gives the same bits.
        let words = heap::pack(x);
        let state = Packed::new(self.energy.layout(), &words).unwrap();
        for first in 0..found.len() {
            for last in first..=found.len() {
                let mut part = vec![[f32::NAN; LANES]; last - first];
                self.energy.gradient(state, cache, first..last, &mut part);
                let sites = x.len().saturating_sub(first * LANES).min(part.len() * LANES);
                let bits = |blocks: &[Block]| -> Vec<u32> {
                    blocks.as_flattened()[..sites].iter().map(|value| value.to_bits()).collect()
                };
                assert_eq!(bits(&part), bits(&found[first..last]), "{name}: blocks {first}..{last}");
            }
        }
    }

    fn check_differences(&self, name: &str, x: &[f64], cache: &[Bits], site: usize) {
        let (mut words, before) = (heap::pack(x), heap::pack(x));
        let mut out = [f32::NAN; 2];
        self.energy.differences(&mut words, cache, site, &mut out);
        assert_eq!(words, before, "{name}: differences left the state changed");
        for (value, &found) in [0.0, 1.0].into_iter().zip(&out) {
            let mut y = x.to_vec();
            y[site] = value;
            let truth = self.target.energy(&y) - self.target.energy(x);
            close(&format!("{name}: difference"), found, truth, (self.total)(x) + (self.total)(&y));
            if value == x[site] {
                assert_eq!(found, 0.0, "{name}: the difference to itself");
            } else if self.multilinear {
                let step = (value - x[site]) * self.target.gradient(x)[site];
                // The bound holds a rounding of the sum of all terms, at least.
                let size = 1.0 + (self.total)(x) / ROUNDING;
                assert!((truth - step).abs() <= DOUBLE * size, "the reference disagrees with itself");
            }
        }
    }
}

/// A difference or total of a pairwise model is one rounding of an exact number on the grid.
fn ising_case(model: &Pairwise, steps: usize, exact: bool) {
    let mut couplings = model.couplings();
    let energy = couplings.ising(model).unwrap();
    let spins = if model.convention == Convention::BitsEdgesOnce { 1.0 } else { 2.0 };
    let twice = if model.convention == Convention::SpinsEdgesTwice { 2.0 } else { 1.0 };
    let mut reach: Vec<f64> = model.fields.iter().map(|w| spins * f64::from(w.abs())).collect();
    for &(a, b, coupling) in &model.edges {
        for site in [a, b] {
            reach[site as usize] += spins * twice * f64::from(coupling.abs());
        }
    }
    // The unit is 2^−30 of the power of two above the largest field, which is at most twice that field.
    let unit = if exact { 0.0 } else { 2.0 * reach.iter().copied().fold(0.0, f64::max) * ISING_GRID };
    let terms = (model.fields.len() + model.edges.len()) as f64;
    let degrees = |site: usize| {
        model.edges.iter().filter(|edge| edge.0 as usize == site || edge.1 as usize == site).count() as f64
    };
    let degrees: Vec<f64> = (0..model.fields.len()).map(degrees).collect();
    Case {
        energy: &energy,
        target: model,
        total: &|x| {
            // One rounding to f32, f64's own, and a unit for each term of the sum.
            ROUNDING * model.energy(x).abs() + terms * unit + DOUBLE * reach.iter().sum::<f64>()
                // A difference has the rounding of its own size, at most that of the two totals and of what
                // cancels in them.
                + ROUNDING * reach.iter().sum::<f64>()
        },
        gradient: &|x| {
            let sizes = model.gradient(x).into_iter().map(f64::abs).zip(&degrees).zip(&reach);
            // Two roundings: to f32, and none for the unit; a unit a term, two where K is even.
            sizes.map(|((size, d), r)| ROUNDING * size + 2.0 * (1.0 + d) * unit + DOUBLE * r).collect()
        },
        multilinear: true,
    }
    .check(&format!("{:?}, {} sites", model.convention, model.fields.len()), &mut Source::new(9), steps);
}

#[test]
fn ising() {
    for sites in LENGTHS {
        for (index, convention) in Convention::ALL.into_iter().enumerate() {
            let density = (8.0 / sites as f64).min(1.0);
            let seed = (sites * 3 + index) as u64;
            ising_case(&models::pairwise(convention, sites, density, 1.0, seed), 6, true);
            // Off the grid, and of sizes that differ by a factor of a million.
            let mut model = models::pairwise(convention, sites, density, 1.0, seed);
            let mut source = Source::new(seed);
            for edge in &mut model.edges {
                let decade = source.below(7) as i32 - 4;
                edge.2 = source.normal(10f64.powi(decade));
            }
            model.fields.iter_mut().for_each(|field| *field = source.normal(0.3));
            ising_case(&model, 6, false);
        }
    }
}

#[test]
fn ising_on_the_grid_is_exact() {
    // Multiples of 1/64: all sums are exact, so every answer is the truth rounded to f32 once.
    for convention in Convention::ALL {
        let model = models::pairwise(convention, 40, 0.3, 10.0, 4);
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        let mut source = Source::new(5);
        for _ in 0..50 {
            let (x, y) = (source.state(40), source.state(40));
            let (total, mut cache) = cache_of(&energy, &x);
            assert_eq!(total, model.energy(&x) as f32);
            let gradient = gradient_of(&energy, &x, &cache);
            for (found, truth) in gradient.as_flattened().iter().zip(model.gradient(&x)) {
                assert_eq!(*found, truth as f32);
            }
            let (here, there) = (heap::pack(&x), heap::pack(&y));
            let layout = energy.layout();
            let step = Move::new(Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
            let shift = energy.shift(&step.unwrap(), &mut cache);
            assert_eq!(shift, (model.energy(&y) - model.energy(&x)) as f32);
        }
    }
}

#[test]
fn bernoulli() {
    for sites in LENGTHS {
        let model = models::independent(sites, 2.0, sites as u64);
        let logits = model.logits.clone();
        let sum: f64 = logits.iter().map(|l| f64::from(l.abs())).sum();
        Case {
            energy: &Bernoulli::new(&logits).unwrap(),
            target: &model,
            // An addition a site, each with a rounding of at most the sum of all magnitudes.
            total: &|_| ROUNDING * sites as f64 * sum,
            gradient: &|_| vec![0.0; sites],
            multilinear: true,
        }
        .check(&format!("Bernoulli, {sites} sites"), &mut Source::new(10), 6);
    }
}

/// Checks the kernel's RBM; `rounded` where the weights are not on its grid.
fn rbm_case(name: &str, machine: &Machine, steps: usize, rounded: bool) {
    let weights = Weights::new(machine).unwrap();
    let hidden = machine.hidden.len();
    let sum = |values: &[f32]| values.iter().map(|w| f64::from(w.abs())).sum::<f64>();
    let largest = |values: &[f32]| f64::from(values.iter().fold(0.0f32, |most, w| most.max(w.abs())));
    let columns = (0..hidden).map(|unit| {
        f64::from(machine.hidden[unit].abs())
            + machine.weights.iter().skip(unit).step_by(hidden).map(|w| f64::from(w.abs())).sum::<f64>()
    });
    // The coarser of 2^−22 of the largest weight and 2^−30 of the largest pre-activation, both rounded up to
    // a power of two; a weight is off by half a unit.
    let reach = columns.fold(largest(&machine.visible), f64::max);
    let half_unit = 2.0 * (RBM_GRID * largest(&machine.weights)).max(0.5 * ISING_GRID * reach);
    let half_unit = if rounded { half_unit } else { 0.0 };
    // A pre-activation adds up one weight a visible unit that is on, and its bias.
    let activation = |x: &[f64]| half_unit * (1.0 + x.iter().sum::<f64>());
    Case {
        energy: &weights.rbm().unwrap(),
        target: machine,
        total: &|x| {
            let p = machine.activations(x);
            let terms: f64 = sum(&machine.visible) + p.iter().map(|p| p.abs() + 1.0).sum::<f64>();
            let units = hidden as f64;
            // p in f32 has a rounding of its size; it matters as e^(−|p|)·|p| ≤ 0.37.
            ROUNDING * (ENERGY_ROUNDINGS * terms + FACTOR_ROUNDINGS * units + 0.37 * units)
                + units * activation(x)
                + half_unit * x.iter().sum::<f64>()
        },
        gradient: &|x| {
            let rows = machine.weights.chunks_exact(hidden).zip(machine.gradient_reach(x));
            rows.map(|(row, reach)| ROUNDING * reach + 0.25 * sum(row) * activation(x)).collect()
        },
        multilinear: false,
    }
    .check(name, &mut Source::new(11), steps);
}

#[test]
fn rbm() {
    for sites in LENGTHS {
        for hidden in [1, 15, 16, 17, 33] {
            let name = format!("RBM {sites}×{hidden}");
            rbm_case(&name, &models::machine(sites, hidden, 1.0, sites as u64), 3, false);
        }
    }
    for hidden in LENGTHS {
        let mut machine = models::machine(37, hidden, 1.0, hidden as u64);
        let mut source = Source::new(hidden as u64);
        machine.weights.iter_mut().for_each(|w| *w = source.normal(0.7));
        machine.visible.iter_mut().chain(&mut machine.hidden).for_each(|w| *w = source.normal(3.0));
        rbm_case(&format!("RBM 37×{hidden}, off the grid"), &machine, 3, true);
    }
    rbm_case("rbm64", &npy::machine("rbm64"), 20, true);
    rbm_case("rbm16", &npy::machine("rbm16"), 3, true);
}

/// k · (ones − 3)², in f32.
struct Count(usize);

impl Function for Count {
    fn layout(&self) -> Layout {
        Layout::binary(self.0)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        0.5 * (x.ones() as f32 - 3.0).powi(2)
    }

    fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
        x.ones() as f32 - 3.0
    }
}

impl Target for Count {
    fn sites(&self) -> usize {
        self.0
    }

    fn energy(&self, x: &[f64]) -> f64 {
        0.5 * (x.iter().sum::<f64>() - 3.0).powi(2)
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        vec![x.iter().sum::<f64>() - 3.0; self.0]
    }
}

#[test]
fn plain() {
    for sites in LENGTHS {
        // Small integers and halves: nothing is rounded.
        Case {
            energy: &Plain(Count(sites)),
            target: &Count(sites),
            total: &|_| 0.0,
            gradient: &|_| vec![0.0; sites],
            multilinear: false,
        }
        .check(&format!("Plain, {sites} sites"), &mut Source::new(12), 6);
    }
}

#[test]
fn estimate() {
    let layout = Layout::binary(20);
    let energy = Estimate::new(layout, |x: Packed<'_>, blocks, out: &mut [Block]| {
        for (site, value) in out.as_flattened_mut().iter_mut().enumerate() {
            *value = (blocks.start * LANES + site) as f32 + x.ones() as f32;
        }
    });
    let x = Source::new(2).state(20);
    let (total, mut cache) = cache_of(&energy, &x);
    assert_eq!((total, energy.cache_len()), (0.0, 0));
    let ones: f64 = x.iter().sum();
    let gradient = gradient_of(&energy, &x, &cache);
    assert_eq!(gradient[1][3], 19.0 + ones as f32);
    let (here, there) = (heap::pack(&x), vec![0]);
    let step = Move::new(Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
    assert_eq!(energy.shift(&step.unwrap(), &mut cache), 0.0);
    let mut out = [f32::NAN; 2];
    energy.differences(&mut heap::pack(&x), &cache, 0, &mut out);
    assert_eq!(out, [0.0; 2]);
}

#[test]
fn references_agree_with_central_differences() {
    let check = |name: &str, target: &dyn Target, seed: u64| {
        let mut source = Source::new(seed);
        for _ in 0..5 {
            let x: Vec<f64> = (0..target.sites()).map(|_| source.uniform()).collect();
            let size = target.energy(&x).abs() + target.gradient_reach(&x).iter().sum::<f64>() + 1.0;
            let pairs = target.gradient(&x).into_iter().zip(target.central_differences(&x, CENTRAL_STEP));
            for (gradient, difference) in pairs {
                assert!((gradient - difference).abs() <= CENTRAL * size, "{name}: {gradient} {difference}");
            }
        }
    };
    for convention in Convention::ALL {
        check("pairwise", &models::pairwise(convention, 30, 0.3, 1.0, 3), 1);
    }
    check("RBM", &models::machine(30, 20, 1.0, 3), 2);
    check("Bernoulli", &models::independent(30, 1.0, 3), 3);
    check("count", &Count(12), 4);
}

#[test]
fn the_reference_has_its_own_checks() {
    // Two sites by hand. f = .5 s₀ − .25 s₁ + J s₀s₁ with J = 1 once, 2 twice; and over bits.
    let model = |convention| Pairwise { convention, edges: vec![(1, 0, 1.0)], fields: vec![0.5, -0.25] };
    let energies = |convention| -> Vec<f64> {
        let model = model(convention);
        [[0., 0.], [1., 0.], [0., 1.], [1., 1.]].iter().map(|x| model.energy(x)).collect()
    };
    assert_eq!(energies(Convention::SpinsEdgesOnce), [-0.75, 0.25, 1.75, -1.25]);
    assert_eq!(energies(Convention::SpinsEdgesTwice), [-1.75, 1.25, 2.75, -2.25]);
    assert_eq!(energies(Convention::BitsEdgesOnce), [0.0, -0.5, 0.25, -1.25]);
}

#[test]
#[should_panic(expected = "bound")]
fn a_coupling_that_is_slightly_off_is_seen() {
    let target = models::pairwise(Convention::SpinsEdgesOnce, 33, 0.3, 1.0, 21);
    let mut wrong = target.clone();
    wrong.edges[7].2 += 1.0 / 16384.0;
    let mut couplings = wrong.couplings();
    let reach: f64 = wrong.edges.iter().map(|edge| 4.0 * f64::from(edge.2.abs())).sum();
    Case {
        energy: &couplings.ising(&wrong).unwrap(),
        target: &target,
        total: &|_| ROUNDING * reach,
        gradient: &|_| vec![ROUNDING * reach; 33],
        multilinear: true,
    }
    .check("one coupling is off", &mut Source::new(22), 6);
}

#[test]
#[should_panic(expected = "bound")]
fn a_weight_that_is_slightly_off_is_seen() {
    let target = models::machine(33, 17, 1.0, 23);
    let mut wrong = target.clone();
    wrong.weights[100] += 1.0 / 1024.0;
    let weights = Weights::new(&wrong).unwrap();
    let terms = |x: &[f64]| 60.0 + target.activations(x).iter().map(|p| 1.0 + p.abs()).sum::<f64>();
    Case {
        energy: &weights.rbm().unwrap(),
        target: &target,
        total: &|x| ROUNDING * (ENERGY_ROUNDINGS * terms(x) + FACTOR_ROUNDINGS * 17.0),
        gradient: &|x| target.gradient_reach(x).into_iter().map(|reach| ROUNDING * reach).collect(),
        multilinear: false,
    }
    .check("one weight is off", &mut Source::new(24), 6);
}

/// The same calls through a reference to the type and through a trait object.
fn same_bits<E: Energy>(energy: &E, x: &[f64], y: &[f64]) {
    fn run<E: Energy + ?Sized>(energy: &E, x: &[f64], y: &[f64]) -> (Vec<u32>, Vec<Bits>) {
        let (layout, here, there) = (energy.layout(), heap::pack(x), heap::pack(y));
        let (here, there) = (Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
        let mut cache = vec![[0; LANES]; energy.cache_len()];
        let total = energy.init(here, &mut cache).unwrap();
        let mut words = here.words().to_vec();
        let mut pair = [0.0; 2];
        energy.differences(&mut words, &cache, 0, &mut pair);
        let shift = energy.shift(&Move::new(here, there).unwrap(), &mut cache);
        let mut gradient = vec![[0.0; LANES]; layout.blocks()];
        energy.gradient(there, &cache, 0..layout.blocks(), &mut gradient);
        let numbers = [total, shift].into_iter().chain(pair).chain(gradient.as_flattened().iter().copied());
        (numbers.map(f32::to_bits).collect(), cache)
    }
    assert_eq!(run(energy, x, y), run(energy as &dyn Energy, x, y));
}

#[test]
fn trait_objects_give_the_same_bits() {
    let mut source = Source::new(13);
    for sites in LENGTHS {
        let (x, y) = (source.state(sites), source.state(sites));
        let model = models::pairwise(Convention::SpinsEdgesTwice, sites, 0.2, 1.3, 1);
        let mut couplings = model.couplings();
        same_bits(&couplings.ising(&model).unwrap(), &x, &y);
        same_bits(&Weights::new(&models::machine(sites, 19, 0.8, 1)).unwrap().rbm().unwrap(), &x, &y);
        same_bits(&Bernoulli::new(&models::independent(sites, 1.0, 1).logits).unwrap(), &x, &y);
        same_bits(&Plain(Count(sites)), &x, &y);
    }
}

#[test]
fn rows_give_the_model_that_edges_give() {
    for sites in [1, 2, 17, 40] {
        let model = models::pairwise(Convention::BitsEdgesOnce, sites, 0.3, 1.0, sites as u64);
        let mut couplings = model.couplings();
        let compiled = couplings.ising(&model).unwrap();
        let form = compiled.form();
        let mut end = 0;
        let ends: Vec<u32> = (0..sites)
            .map(|site| {
                end += form.row(site).len() as u32;
                end
            })
            .collect();
        let exponent = form.unit().log2() as i32;
        let rows = bitmc::energy::Sparse::from_rows(&ends, form.entries(), form.linear(), exponent).unwrap();
        let again = Ising::quadratic(rows);
        let x = Source::new(3).state(sites);
        assert_eq!(cache_of(&compiled, &x), cache_of(&again, &x));
    }
}

#[test]
fn rbm500_has_its_golden_values() {
    // Float64 values that another program computed from the same weights.
    let (machine, digits) = (npy::machine("rbm500"), npy::states("mnist/mnist_test1000.bits"));
    let (weights, golden) = (Weights::new(&machine).unwrap(), npy::json("rbm500/golden_energy.json"));
    let rbm = weights.rbm().unwrap();
    let rows = golden["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for (row, words) in rows.iter().zip(&digits) {
        let state = Packed::new(rbm.layout(), words).unwrap();
        let x = heap::unpack(state);
        let number = |name: &str| row[name].as_f64().unwrap();
        let naive: Vec<f64> = machine.gradient(&x).into_iter().map(|g| -g).collect();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e3 * DOUBLE * (1.0 + b.abs());
        assert!(near(-machine.energy(&x), number("f")), "f is {}", machine.energy(&x));
        assert!(near(naive.iter().sum(), number("grad_sum")));
        assert!(near(naive.iter().map(|g| g * g).sum::<f64>().sqrt(), number("grad_l2")));
        for (found, truth) in naive[350..].iter().zip(row["grad_first8"].as_array().unwrap()) {
            assert!(near(*found, truth.as_f64().unwrap()));
        }
    }
    // And the kernel's, at those digits.
    for words in &digits[..8] {
        let x = heap::unpack(Packed::new(rbm.layout(), words).unwrap());
        rbm_at(&machine, &rbm, &x);
    }
    rbm_case("rbm500", &machine, 1, true);
}

/// The kernel's values at one state of rbm500. Here the largest weight and pre-activation put the grid at
/// 2⁻²², so the 500 pre-activations of a digit with about 100 pixels are within 100 half units.
fn rbm_at(machine: &Machine, rbm: &dyn Energy, x: &[f64]) {
    let (total, cache) = cache_of(rbm, x);
    let on: f64 = 1.0 + x.iter().sum::<f64>();
    let largest = machine.weights.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    // Half units of random sign add up as their square root: six deviations (1/√3 of the half unit each).
    let spread = 2.0 * RBM_GRID * f64::from(largest) * 6.0 * (on * 500.0 / 3.0).sqrt();
    let roundings = ROUNDING * (ENERGY_ROUNDINGS * machine.energy(x).abs() + FACTOR_ROUNDINGS * 500.0);
    close("rbm500: f", total, machine.energy(x), spread + roundings);
    let found = gradient_of(rbm, x, &cache);
    for ((found, truth), reach) in
        found.as_flattened().iter().zip(machine.gradient(x)).zip(machine.gradient_reach(x))
    {
        close("rbm500: gradient", *found, truth, ROUNDING * reach + spread);
    }
}

#[test]
fn a_chain_knows_its_energy() {
    // Multiples of 2^−20: differences below 16 are exact in f32, totals of about 1,000 are not. The chain's
    // running total is then off by the rounding of where it started and of where it is, after any number
    // of steps.
    let mut model = models::pairwise(Convention::SpinsEdgesOnce, 400, 0.01, 1.0, 15);
    let mut source = Source::new(15);
    model.edges.iter_mut().for_each(|edge| edge.2 += source.coarse(1.0) / 16384.0);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(15);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let sampler = Langevin::adjusted(0.3).unwrap();
    let start = model.energy(&heap::unpack(chain.state()));
    let (mut steps, mut roundings) = (0, 0.0);
    while steps < 50_000 {
        let info = chain.step(&sampler, &mut rng);
        steps += u32::from(info.moved() > 0);
        if info.accepted && info.difference.abs() >= 16.0 {
            roundings += ROUNDING * f64::from(info.difference.abs());
        }
    }
    let end = model.energy(&heap::unpack(chain.state()));
    close("running total", chain.energy(), end, ROUNDING * (start.abs() + end.abs()) + roundings);
    assert!(end < -500.0, "totals of {end} hide nothing");
}

#[test]
fn a_million_spins_differ_by_an_exact_energy() {
    const SIDE: u32 = 1000;
    let sites = (SIDE * SIDE) as usize;
    let mut source = Source::new(14);
    let edges: Vec<_> = bitmc::torus(SIDE, SIDE, 1.0).map(|(a, b, _)| (a, b, source.coarse(1.0))).collect();
    let fields = (0..sites).map(|_| source.coarse(0.5)).collect();
    let model = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields };
    let mut couplings = Couplings::new(sites, model.edges.len());
    let energy = couplings.ising(&model).unwrap();
    let x = source.state(sites);
    let (total, mut cache) = cache_of(&energy, &x);
    let here_energy = model.energy(&x);
    assert_eq!(total, here_energy as f32);
    for share in [1e-6, 1e-3, 0.5] {
        let mut y = x.clone();
        y[source.below(sites)] = 0.5;
        y.iter_mut().for_each(|value| {
            if *value == 0.5 || source.uniform() < share {
                *value = f64::from(*value == 0.0);
            }
        });
        let (here, there) = (heap::pack(&x), heap::pack(&y));
        let layout = energy.layout();
        let (here, there) = (Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
        let (out, back) = (Move::new(here, there).unwrap(), Move::new(there, here).unwrap());
        let before = cache.clone();
        let truth = model.energy(&y) - here_energy;
        assert_eq!(energy.shift(&out, &mut cache), truth as f32, "{share} of the sites");
        assert_eq!(energy.shift(&back, &mut cache), -truth as f32);
        assert!(cache == before, "there and back is not where it was");
    }
}
