//! Energies, differences, gradients and caches against float64.

use bitmc::energy::{BaseDistribution, Boltzmann, Estimate, SparseError};
use bitmc::lane::{Block, LANES};
use bitmc::step::{EnumeratedGibbs, Gibbs, HammingBall, LocallyBalanced, RandomWalk, Swap};
use bitmc::{Bernoulli, Energy, Function, LaneRng, Langevin, Layout, Move, Packed, Plain, Potts, SeedableRng};
use bitmc_host_tests::comparison::{Case, cache_of, gradient_of, same_bits};
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Machine, Pairwise, Target};
use bitmc_host_tests::npy;
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance::{DOUBLE, ENERGY_ROUNDINGS, FACTOR_ROUNDINGS, ISING_GRID, RBM_GRID, ROUNDING};
use std::cell::Cell;

/// Every length around one, two and four blocks of lanes.
const LENGTHS: std::ops::RangeInclusive<usize> = 1..=65;

fn ising_case(model: &Pairwise, steps: usize, exact: bool) {
    let mut couplings = model.couplings();
    pairwise_case(model, &couplings.ising(model).unwrap(), steps, exact);
}

/// A difference or total of a pairwise model is one rounding of an exact number on the grid.
fn pairwise_case(model: &Pairwise, energy: &dyn Energy, steps: usize, exact: bool) {
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
        energy,
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
fn boltzmann_machines() {
    for sites in LENGTHS {
        for convention in [Convention::SpinsEdgesOnce, Convention::BitsEdgesOnce] {
            for off_grid in [0.0, 0.001] {
                let mut model = models::pairwise(convention, sites, 1.0, 1.0, sites as u64);
                let mut theta = vec![[0.0; LANES]; Boltzmann::parameter_len(sites)];
                let slots = theta.as_flattened_mut();
                for edge in &mut model.edges {
                    edge.2 += off_grid;
                    slots[Boltzmann::coupling(sites, edge.0 as usize, edge.1 as usize).unwrap()] = edge.2;
                }
                slots[..sites].copy_from_slice(&model.fields);
                let mut memory = vec![[0; LANES]; Boltzmann::memory_len(sites)];
                let energy = match convention {
                    Convention::BitsEdgesOnce => Boltzmann::bits(&theta, sites, &mut memory),
                    _ => Boltzmann::spins(&theta, sites, &mut memory),
                };
                pairwise_case(&model, &energy.unwrap(), 6, off_grid == 0.0);
            }
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
    rbm_case("rbm500", &npy::machine("rbm500"), 1, true);
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

/// One number a value, of sites that have one to four.
struct Own(Vec<Vec<f32>>, Vec<u16>);

impl Function for Own {
    fn layout(&self) -> Layout {
        Layout::categorical(self.0.len(), 4)
    }

    fn arities(&self) -> Option<&[u16]> {
        Some(&self.1)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        x.values().zip(&self.0).map(|(value, own)| own[value as usize]).sum()
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        unreachable!("categories are asked by component")
    }

    fn component(&self, _x: Packed<'_>, site: usize, value: usize) -> f32 {
        self.0[site][value]
    }
}

#[test]
fn a_function_is_asked_for_values_that_its_sites_have() {
    let arities: Vec<u16> = (0..19).map(|site| 1 + site % 4).collect();
    let tables = arities.iter().map(|&arity| (0..arity).map(|k| f32::from(k) * 0.5).collect()).collect();
    let energy = Plain(Own(tables, arities));
    let (layout, mut words) = (energy.layout(), vec![0; energy.layout().words()]);
    let mut cache = vec![[0; LANES]; energy.cache_len()];
    energy.init(Packed::new(layout, &words).unwrap(), &mut cache).unwrap();
    let mut slopes = vec![[7.0; LANES]; layout.gradient_blocks()];
    energy.gradient(Packed::new(layout, &words).unwrap(), &cache, 0..layout.rows(), &mut slopes);
    let column = |site: usize| [0, 1, 2, 3].map(|value| slopes[site / LANES * 4 + value][site % LANES]);
    assert_eq!((column(3), column(17)), ([0.0, 0.5, 1.0, 1.5], [0.0, 0.5, 0.0, 0.0]));
    let mut out = [f32::NAN; 4];
    energy.differences(&mut words, &cache, 18, &mut out);
    assert_eq!(out, [0.0, 0.5, 1.0, f32::INFINITY]);
    energy.differences(&mut words, &cache, 18, &mut out[..2]);
    assert_eq!((out[1], words.iter().all(|&word| word == 0)), (0.5, true));
    let (mut rng, kernel) = (LaneRng::seed_from_u64(1), Langevin::adjusted(0.5).unwrap());
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    chain.run(&kernel, &mut rng, 100, &mut ());
    chain.run(&Gibbs::systematic(), &mut rng, 10, &mut ());
    assert!(chain.state().values().zip(&energy.0.1).all(|(value, &arity)| value < arity.into()));
}

#[test]
fn a_function_and_a_reference_to_it_are_one() {
    fn all(function: impl Function, x: Packed<'_>) -> [f32; 3] {
        assert!(function.arities().is_none() && function.offsets().is_none());
        [function.total(x), function.gradient(x, 1), function.component(x, 1, 1)]
    }
    let (function, words) = (Count(9), [0b1_1011_0101]);
    let x = Packed::new(function.layout(), &words).unwrap();
    assert_eq!((all(&function, x), all(function, x)), ([4.5, 3.0, 3.0], [4.5, 3.0, 3.0]));
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
fn an_estimate_is_called_as_often_as_it_says() {
    let calls = Cell::new((0, 0)); // and rows
    let layouts = [
        (Layout::binary(40), (1, 3)),
        (Layout::categorical(40, 64), (1, 3)),
        (Layout::ordinal(40, 64), (1, 3)),
        (Layout::ordinal(40, 65), (1, 3)),
        (Layout::categorical(40, 65), (39, 39)), // one site is clamped
    ];
    for (layout, each) in layouts {
        let energy = Estimate::new(layout, |_, rows, out: &mut [Block]| {
            calls.set((calls.get().0 + 1, calls.get().1 + rows.len()));
            assert_eq!(out.len().min(rows.len() * layout.row_blocks()), rows.len() * layout.row_blocks());
            out.as_flattened_mut().fill(0.1);
        });
        let mut rng = LaneRng::seed_from_u64(1);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        chain.clamp(Packed::new(Layout::binary(40), &[1, 0]).unwrap()).unwrap();
        let sampler = Langevin::unadjusted(1.0).unwrap();
        chain.step(&sampler, &mut rng);
        calls.set((0, 0));
        chain.run(&sampler, &mut rng, 10, &mut ());
        assert_eq!((calls.get(), chain.faults()), ((10 * each.0, 10 * each.1), 0), "{layout}");
    }
}

#[test]
fn no_test_means_anything_over_an_estimate() {
    let energy = Estimate::new(Layout::binary(40), |_, _, out: &mut [Block]| out.fill([0.1; LANES]));
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let before = chain.state().words().to_vec();
    let mut faults = 0;
    let mut refuses = |info: bitmc::Info| {
        faults += 1;
        assert!(info.fault && !info.accepted);
    };
    refuses(chain.step(&Langevin::adjusted(1.0).unwrap(), &mut rng));
    refuses(chain.step(&Langevin::balanced(1.0, 0.8).unwrap(), &mut rng));
    refuses(chain.step(&bitmc::GibbsWithGradients::new(1).unwrap(), &mut rng));
    refuses(chain.step(&bitmc::PathAuxiliary::new(2).unwrap(), &mut rng));
    refuses(chain.step(&LocallyBalanced, &mut rng));
    // Those would draw uniform values.
    refuses(chain.step(&Gibbs::systematic(), &mut rng));
    refuses(chain.step(&Gibbs::random(3).unwrap(), &mut rng));
    refuses(chain.step(&RandomWalk::new(2.0).unwrap(), &mut rng));
    refuses(chain.step(&Swap, &mut rng));
    refuses(chain.step(&EnumeratedGibbs::new(energy.layout(), 3).unwrap(), &mut rng));
    refuses(chain.step(&HammingBall::new(energy.layout(), 5, 1).unwrap(), &mut rng));
    assert_eq!((chain.state().words(), chain.faults()), (&before[..], faults));
    // Without a test there is nothing to be wrong.
    assert!(!chain.step(&Langevin::unadjusted(1.0).unwrap(), &mut rng).fault);
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
fn the_parameters_of_a_boltzmann_machine_are_row_by_row() {
    for sites in [1, 2, 16, 17, 33, 50, 70] {
        let width = usize::div_ceil(sites, LANES);
        let mut next = width;
        for a in 0..sites {
            for b in a + 1..sites {
                let place = Some((next + b / LANES - a / LANES) * LANES + b % LANES);
                assert_eq!(Boltzmann::coupling(sites, a, b), place, "{a} and {b} of {sites}");
                assert_eq!(Boltzmann::coupling(sites, b, a), place, "{a} and {b} of {sites}");
            }
            assert_eq!(Boltzmann::coupling(sites, a, a), None);
            next += width - a / LANES;
        }
        assert_eq!(Boltzmann::parameter_len(sites), next, "{sites}");
    }
}

#[test]
fn a_boltzmann_machine_out_of_range_is_refused() {
    let error = |sites: usize| Boltzmann::bits(&[], sites, &mut []).err();
    let most = i32::MAX as usize;
    assert_eq!((error(0), error(most + 1)), (Some(SparseError::Sites), Some(SparseError::Sites)));
    assert!(matches!(error(most), Some(SparseError::Parameters { got: 0, .. })));
    let of_field = |field: f32| {
        let mut theta = [[0.0; LANES]; Boltzmann::parameter_len(1)];
        theta[0][0] = field;
        Boltzmann::bits(&theta, 1, &mut [[0; LANES]; Boltzmann::memory_len(1)]).err()
    };
    assert_eq!((of_field(1e30), of_field(1e30f32.next_up())), (None, Some(SparseError::TooLarge { site: 0 })));
}

#[test]
fn small_couplings_of_a_boltzmann_machine_keep_their_digits() {
    let mut model = models::pairwise(Convention::SpinsEdgesOnce, 30, 1.0, 1.0, 5);
    let mut theta = vec![[0.0; LANES]; Boltzmann::parameter_len(30)];
    model.fields.iter_mut().for_each(|field| *field /= 4096.0);
    for edge in &mut model.edges {
        edge.2 = (edge.2 + 0.001) / 4096.0;
        let place = Boltzmann::coupling(30, edge.0 as usize, edge.1 as usize).unwrap();
        theta.as_flattened_mut()[place] = edge.2;
    }
    theta.as_flattened_mut()[..30].copy_from_slice(&model.fields);
    let mut memory = vec![[0; LANES]; Boltzmann::memory_len(30)];
    let energy = Boltzmann::spins(&theta, 30, &mut memory).unwrap();
    pairwise_case(&model, &energy, 6, false);
}

/// The largest field of a site and its couplings choose the unit, whatever other sites have.
#[test]
fn potts_models_have_the_finest_unit_that_every_site_fits() {
    let mut source = Source::new(23);
    for trial in 0..200 {
        let (sites, arity) = (2 + source.below(6), 2 + source.below(4));
        let fields: Vec<f32> = (0..sites * arity).map(|_| source.normal(2.0)).collect();
        let edges: Vec<_> = (1..sites as u32).map(|b| (b - 1, b, source.normal(2.0))).collect();
        let mut reach: Vec<f64> = fields
            .chunks(arity)
            .map(|row| row.iter().fold(0.0, |most, &w| f64::from(w.abs()).max(most)))
            .collect();
        for &(a, b, coupling) in &edges {
            [a, b].into_iter().for_each(|site| reach[site as usize] += f64::from(coupling.abs()));
        }
        let bits = reach.iter().copied().fold(0.0, f64::max).log2().floor() as i32 + 1;
        let mut memory = Couplings::new(sites, edges.len());
        let model = Potts::new(sites, arity, edges, &fields, memory.borrow()).unwrap();
        assert_eq!(model.form().exponent(), bits - 30, "{trial}");
    }
}

/// Rows of blocks of sites, and rows that are sites of many values. Multiples of 1/64: all sums are exact.
#[test]
fn a_part_of_the_gradient_of_a_potts_model_has_its_own_rows() {
    let mut source = Source::new(29);
    for (sites, arity) in [(40, 3), (3, 70)] {
        let fields: Vec<f32> = (0..sites * arity).map(|_| source.coarse(1.0)).collect();
        let edges: Vec<_> = (1..sites as u32).map(|b| (b - 1, b, source.coarse(1.0))).collect();
        let mut memory = Couplings::new(sites, edges.len());
        let model = Potts::new(sites, arity, edges.clone(), &fields, memory.borrow()).unwrap();
        let (layout, x) = (model.layout(), (0..sites).map(|_| source.below(arity) as f64).collect::<Vec<_>>());
        let slope = |site: usize, value: usize| {
            let alike = |other: u32| x[other as usize] == value as f64;
            let couplings = edges
                .iter()
                .filter(|&&(a, b, _)| (a as usize == site && alike(b)) || (b as usize == site && alike(a)));
            -f64::from(fields[site * arity + value]) - couplings.map(|edge| f64::from(edge.2)).sum::<f64>()
        };
        let (_, cache) = cache_of(&model, &x);
        let words = heap::pack_in(layout, &x);
        for rows in (0..layout.rows()).flat_map(|from| (from + 1..=layout.rows()).map(move |to| from..to)) {
            let mut part = vec![[f32::NAN; LANES]; rows.len() * layout.row_blocks()];
            model.gradient(Packed::new(layout, &words).unwrap(), &cache, rows.clone(), &mut part);
            let blocks = rows.flat_map(|row| (0..layout.row_blocks()).map(move |block| (row, block)));
            for ((row, block), found) in blocks.zip(&part) {
                for (lane, &found) in found.iter().enumerate() {
                    if let Some((site, value)) = layout.component(row, block, lane) {
                        assert_eq!(f64::from(found), slope(site, value), "{site} {value}");
                    }
                }
            }
        }
    }
}

/// A bias far above the weights is on the grid as well, on either side.
#[test]
fn a_machine_has_room_for_a_bias_far_above_its_weights() {
    for (visible, hidden) in [([0.0, 0.25, -0.5], [1_000.0, 0.125]), ([1_000.0, 0.25, -0.5], [0.25, 0.125])] {
        let weights = (0..6).map(|at| (at as f32 - 2.5) / 1_024.0).collect();
        let machine = Machine { weights, visible: visible.to_vec(), hidden: hidden.to_vec() };
        let packed = Weights::new(&machine).unwrap();
        let energy = packed.rbm().unwrap();
        for state in 0..8 {
            let x = [0, 1, 2].map(|site| f64::from(state >> site & 1));
            let (found, exact) = (f64::from(cache_of(&energy, &x).0), machine.energy(&x));
            // Eleven numbers within half a unit of 2⁻²⁰, and a rounding or two of the result.
            let bound = 11.0 * 2.0f64.powi(-21) + 2.0 * ROUNDING * exact.abs() + ROUNDING;
            assert!((found - exact).abs() <= bound, "{state}: {found} {exact}");
        }
    }
}

/// A layout without an energy.
fn blank(layout: Layout) -> impl Energy {
    Estimate::new(layout, |_: Packed<'_>, _, _: &mut [Block]| {})
}

#[test]
fn a_base_has_its_normaliser_however_large_its_fields_are() {
    let mut source = Source::new(17);
    for arity in [3, 64, 65, 200] {
        for shift in [0.0, 300.0, -300.0] {
            let energy = blank(Layout::categorical(2, arity));
            let fields: Vec<f32> = (0..2 * arity).map(|_| shift + source.normal(2.0)).collect();
            let base = BaseDistribution::new(&energy, &fields).unwrap();
            let of_site = |fields: &[f32]| fields.iter().map(|&f| f64::from(f - shift).exp()).sum::<f64>().ln();
            let exact: f64 = fields.chunks(arity).map(|fields| f64::from(shift) + of_site(fields)).sum();
            let off = (f64::from(base.log_z()) - exact).abs();
            // Sums of up to 200 weights, and the result itself.
            let bound = ROUNDING * (300.0 + 4.0 * exact.abs());
            assert!(off <= bound, "{arity} values about {shift}: {off} > {bound}");
        }
    }
    // From 65 values on small ones are not lost beside a large one.
    let energy = blank(Layout::categorical(1, 65));
    let mut fields = [-17.5; 65];
    fields[0] = 0.0;
    let found = f64::from(BaseDistribution::new(&energy, &fields).unwrap().log_z());
    assert!((found - (64.0 * f64::exp(-17.5)).ln_1p()).abs() < 5e-7, "{found}");
}

#[test]
fn a_base_draws_no_value_without_weight() {
    let energy = blank(Layout::categorical(1, 3));
    for likely in 0..3 {
        let mut fields = [-200.0; 3];
        fields[likely] = 0.0;
        let base = BaseDistribution::new(&energy, &fields).unwrap();
        for word in [0, u32::MAX] {
            let mut words = [u32::MAX];
            base.draw(&mut Stuck::At(word), &mut words);
            assert_eq!(words, [likely as u32], "{word}");
        }
    }
}
