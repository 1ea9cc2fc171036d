//! Transition counts: from one state, a million single steps, against the float64 distribution P(x, ·).

use bitmc::batch::{BatchKernel, PottsBatch, PottsSite};
use bitmc::lane::Block;
use bitmc::step::Curvature;
use bitmc::{BlockGibbs, Energy, Gibbs, Kernel, LaneRng, Langevin, Packed, Plain, Potts, Rbm, SeedableRng};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::planes::{Defect as PottsDefect, Proposal, Tables};
use bitmc_host_tests::stat::models::{Well, complete, machine};
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::table::{Defect, Langevin as Naive, Table, block_gibbs, total_variation};
use bitmc_host_tests::stat::{Verdict, chi_square};

/// A million steps from a state, against one row of a table.
fn check<E, K>(what: &str, model: &E, sampler: &K, from: usize, table: &Table, seed: u64) -> Verdict
where
    E: Energy + Sync,
    K: Kernel<E> + Sync,
{
    let mut start = vec![0.0; table.rows.len()];
    start[from] = 1.0;
    let plan = Plan { steps: 1, ..Plan::million(seed) };
    let ends = plan.ends(model, sampler, &start, 0);
    chi_square(&format!("{what}, from {from:07b}"), &ends, &table.rows[from])
}

/// The likeliest state and the least likely one: steps from there are mostly rejected, and mostly accepted.
fn extremes(distribution: &[f64]) -> [usize; 2] {
    let order = |a: &usize, b: &usize| distribution[*a].total_cmp(&distribution[*b]);
    [(0..distribution.len()).max_by(order).unwrap(), (0..distribution.len()).min_by(order).unwrap()]
}

#[test]
fn block_gibbs_on_an_rbm() {
    let machine = machine(4, 3, 1.2, 41);
    let distribution = Distribution::of(&machine).probabilities;
    let weights = Weights::new(&machine).unwrap();
    let mut room = vec![[0; 16]; Rbm::columns_len(4, 3)];
    let rows = weights.rbm().unwrap();
    let model = rows.with_columns(&mut room).unwrap();
    let table = block_gibbs(&machine, &machine);
    assert!(total_variation(&table.after(&distribution), &distribution) < 1e-12);
    for from in 0..16 {
        check("block Gibbs", &model, &BlockGibbs, from, &table, 42).must_pass();
    }
    // The way back without the column of a hidden unit, and with its wrong sign.
    for factor in [0.0, -1.0] {
        let mut back = machine.clone();
        back.weights.iter_mut().skip(1).step_by(3).for_each(|w| *w *= factor);
        let broken = block_gibbs(&machine, &back);
        assert!(total_variation(&broken.after(&distribution), &distribution) > 1e-3);
        let from = extremes(&distribution)[0];
        check(&format!("a column times {factor}"), &model, &BlockGibbs, from, &broken, 42).must_fail();
    }
}

#[test]
fn langevin_on_an_ising_model() {
    let spins = complete(7, 1.0, 11);
    let distribution = Distribution::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    for (seed, step_size) in [(21, 0.4), (22, 2.0)] {
        let naive = Naive::with_step_size(&spins, f64::from(step_size));
        let free = naive.broken(Defect::Unadjusted).table();
        let table = naive.table();
        let adjusted = Langevin::adjusted(step_size).unwrap();
        let unadjusted = Langevin::unadjusted(step_size).unwrap();
        for from in extremes(&distribution) {
            check(&format!("adjusted {step_size}"), &model, &adjusted, from, &table, seed).must_pass();
            check(&format!("unadjusted {step_size}"), &model, &unadjusted, from, &free, seed).must_pass();
        }
        // From the least likely state nearly every move is accepted: the test is seen from the likeliest.
        let from = extremes(&distribution)[0];
        check("unadjusted for adjusted", &model, &unadjusted, from, &table, seed).must_fail();
        for defect in [Defect::StaleReverse, Defect::NoReverse, Defect::HalfEnergy] {
            let broken = naive.broken(defect).table();
            check(&format!("against {defect:?}"), &model, &adjusted, from, &broken, seed).must_fail();
        }
    }
}

#[test]
fn one_curvature_a_site() {
    let spins = complete(7, 1.0, 11);
    let distribution = Distribution::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let mut block: Block = [0.0; 16];
    block[..7].copy_from_slice(&[0.25, 4.0, 1.0, 2.0, 0.5, 1.5, 3.0]);
    let curvature: Vec<f64> = block[..7].iter().map(|&c| f64::from(c)).collect();
    let blocks = [block];
    let sampler = Langevin::new(0.5, Curvature::Each(&blocks), true).unwrap();
    let table = Naive::new(&spins, curvature.clone()).table();
    let shifted = Naive::new(&spins, curvature.iter().cycle().skip(1).take(7).copied().collect()).table();
    for from in extremes(&distribution) {
        check("one curvature a site", &model, &sampler, from, &table, 23).must_pass();
        check("curvatures one site off", &model, &sampler, from, &shifted, 23).must_fail();
    }
}

#[test]
fn langevin_on_a_well() {
    let well = Well { sites: 6, depth: 0.05, centre: 3.4 };
    let distribution = Distribution::of(&well).probabilities;
    let sampler = Langevin::adjusted(1.0).unwrap();
    let naive = Naive::with_step_size(&well, 1.0);
    for from in extremes(&distribution) {
        check("well", &Plain(well), &sampler, from, &naive.table(), 24).must_pass();
    }
    let broken = naive.broken(Defect::StaleReverse).table();
    check("well, stale", &Plain(well), &sampler, 0b000_0001, &broken, 24).must_fail();
}

/// Where chains 0–7 and 8–15 of a batch are after one step from a state, at β = 1 and ½.
fn batch_ends<K: BatchKernel<PottsSite<3>>>(
    model: &Potts<'_>,
    kernel: &K,
    start: &[u32],
    rng: &mut LaneRng,
) -> [Vec<u64>; 2] {
    let start = Packed::new(model.layout(), start).unwrap();
    let mut ends = [vec![0; 27], vec![0; 27]];
    for _ in 0..30_000 {
        let mut batch = PottsBatch::new(model, [PottsSite::<3>::new(); 3], start).unwrap();
        batch.set_betas(core::array::from_fn(|chain| if chain < 8 { 1.0 } else { 0.5 })).unwrap();
        batch.step(kernel, rng);
        let values = [0, 1, 2].map(|site| batch.values(site));
        for chain in 0..16 {
            let end = values.iter().rev().fold(0, |end, values| 3 * end + usize::from(values[chain]));
            ends[chain / 8][end] += 1;
        }
    }
    ends
}

#[test]
fn sixteen_potts_chains() {
    let edges = [(0, 1, 0.75), (1, 2, -0.5), (0, 2, 0.25)];
    let fields = [0.5, 0.0, -0.25, 0.0, 0.25, 0.75, -0.5, 0.5, 0.0];
    let mut memory = Couplings::new(3, 3);
    let model = Potts::new(3, 3, edges, &fields, memory.borrow()).unwrap();
    let sampler = Langevin::adjusted(1.0).unwrap();
    let proposal = Proposal { balance: 0.5, curvature: 1.0, window: 0 };
    let mut rng = LaneRng::seed_from_u64(31);
    // From the likeliest state of all and the least likely.
    let distribution = Tables::potts(&edges, 3, &fields).distribution().probabilities;
    for (which, from) in extremes(&distribution).into_iter().enumerate() {
        let values = Tables::potts(&edges, 3, &fields).values(from);
        let start =
            heap::pack_in(model.layout(), &values.iter().map(|&value| value as f64).collect::<Vec<_>>());
        let steps = batch_ends(&model, &sampler, &start, &mut rng);
        let sweeps = batch_ends(&model, &Gibbs::systematic(), &start, &mut rng);
        for (beta, (steps, sweeps)) in [1.0, 0.5].into_iter().zip(steps.into_iter().zip(sweeps)) {
            let tables = Tables::potts(&edges.map(|(a, b, j)| (a, b, beta * j)), 3, &fields.map(|w| beta * w));
            let row = |defect| {
                let variant = proposal.variant(&tables, defect);
                let mut row: Vec<f64> =
                    (0..27).map(|to| if to == from { 0.0 } else { variant.moves(from, to) }).collect();
                row[from] = 1.0 - row.iter().sum::<f64>();
                row
            };
            let what = format!("Langevin at β {beta} from {values:?}");
            chi_square(&what, &steps, &row(PottsDefect::None)).must_pass();
            if which == 0 {
                for defect in [PottsDefect::NoReverse, PottsDefect::HalfEnergy, PottsDefect::StaleReverse] {
                    chi_square(&format!("{what}, {defect:?}"), &steps, &row(defect)).must_fail();
                }
            }
            let sweep = |order: [usize; 3]| {
                let mut row = vec![0.0; 27];
                for (to, p) in row.iter_mut().enumerate() {
                    let (mut x, to) = (values.clone(), tables.values(to));
                    *p = order.into_iter().fold(1.0, |p, site| {
                        let weights: Vec<f64> = (0..3)
                            .map(|k| {
                                x[site] = k;
                                (-tables.energy(&x)).exp()
                            })
                            .collect();
                        x[site] = to[site];
                        p * weights[to[site]] / weights.iter().sum::<f64>()
                    });
                }
                row
            };
            let what = format!("Gibbs at β {beta} from {values:?}");
            chi_square(&what, &sweeps, &sweep([0, 1, 2])).must_pass();
            chi_square(&format!("{what}, backwards"), &sweeps, &sweep([2, 1, 0])).must_fail();
        }
    }
}
