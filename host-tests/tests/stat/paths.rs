//! Samplers that draw indices, by what their steps do: exact start, ten steps, a chi-square on all
//! states; and counts of single steps against the float64 transition probabilities.

use bitmc::{
    Energy, GibbsWithGradients, Kernel, Kind, LaneRng, LocallyBalanced, Packed, PathAuxiliary, Plain,
    SeedableRng,
};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::paths::{Defect, Model, Rule};
use bitmc_host_tests::planes::{Own, Tables, Wide};
use bitmc_host_tests::stat::models::{Well, complete, machine};
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::{Verdict, chi_square};

fn gradients(indices: usize, replace: bool) -> Rule {
    Rule { indices, replace, backwards: false, exact: false }
}

fn path(indices: usize) -> Rule {
    Rule { indices, replace: false, backwards: true, exact: false }
}

const BALANCED: Rule = Rule { indices: 1, replace: false, backwards: false, exact: true };

fn gwg(indices: u32) -> GibbsWithGradients {
    GibbsWithGradients::new(indices).unwrap()
}

fn pas(indices: u32) -> PathAuxiliary {
    PathAuxiliary::new(indices).unwrap()
}

/// 64,000 replicas of ten steps.
fn plan(seed: u64) -> Plan {
    Plan { steps: 10, ..Plan::control(seed) }
}

/// Ten steps from the distribution leave the distribution; one step from the likeliest state and one from the least likely
/// one go where the formulas say.
fn check<E: Energy + Sync, K: Kernel<E> + Sync>(
    what: &str,
    energy: &E,
    sampler: &K,
    model: &Model,
    rule: Rule,
    seed: u64,
) {
    let distribution = &model.distribution.probabilities;
    chi_square(what, &plan(seed).ends(energy, sampler, distribution, 0), distribution).must_pass();
    let table = model.table(rule, Defect::None);
    let order = |a: &usize, b: &usize| distribution[*a].total_cmp(&distribution[*b]);
    let states = (0..distribution.len()).filter(|&x| distribution[x] > 0.0);
    for from in [states.clone().max_by(order).unwrap(), states.min_by(order).unwrap()] {
        let mut start = vec![0.0; distribution.len()];
        start[from] = 1.0;
        let ends = Plan { steps: 1, ..plan(seed) }.ends(energy, sampler, &start, 0);
        chi_square(&format!("{what}, one step from {from:b}"), &ends, &table.rows[from]).must_pass();
    }
}

/// The same check must see a defect.
fn blind(model: &Model, rule: Rule, defect: Defect) {
    let distribution = &model.distribution.probabilities;
    let ends = model.table(rule, defect).ends(&plan(90), distribution);
    chi_square(&format!("{rule:?}, {defect:?}"), &ends, distribution).must_fail();
}

#[test]
fn an_ising_model() {
    let spins = complete(6, 0.7, 11);
    let mut memory = spins.couplings();
    let (energy, model) = (memory.ising(&spins).unwrap(), Model::binary(&spins));
    check("Ising, GWG-1", &energy, &gwg(1), &model, gradients(1, true), 41);
    check("Ising, GWG-3", &energy, &gwg(3), &model, gradients(3, true), 42);
    check("Ising, LB-1", &energy, &LocallyBalanced, &model, BALANCED, 43);
    check("Ising, PAS-3", &energy, &pas(3), &model, path(3), 44);
    for defect in [Defect::NoReverse, Defect::HalfEnergy, Defect::NoRatio] {
        for rule in [gradients(1, true), gradients(3, true), BALANCED, path(3)] {
            blind(&model, rule, defect);
        }
    }
    blind(&model, gradients(3, true), Defect::OneIndexBack);
    blind(&model, path(3), Defect::OneIndexBack);
    blind(&model, path(3), Defect::FullSumBack);
}

#[test]
fn clamped_sites_leave_the_conditional_distribution() {
    const HELD: usize = 0b10_0101;
    let spins = complete(6, 0.7, 11);
    let distribution = Distribution::of(&spins).given(HELD, 0b100).probabilities;
    let mut memory = spins.couplings();
    let energy = memory.ising(&spins).unwrap();
    let held = HELD as u32;
    chi_square("held, GWG-2", &plan(45).ends(&energy, &gwg(2), &distribution, held), &distribution).must_pass();
    chi_square("held, LB-1", &plan(46).ends(&energy, &LocallyBalanced, &distribution, held), &distribution)
        .must_pass();
    chi_square("held, PAS-2", &plan(47).ends(&energy, &pas(2), &distribution, held), &distribution).must_pass();
}

#[test]
fn energies_that_are_not_linear() {
    let well = Well { sites: 6, depth: 0.05, centre: 3.4 };
    let model = Model::binary(&well);
    check("well, GWG-1", &Plain(well), &gwg(1), &model, gradients(1, true), 51);
    check("well, LB-1", &Plain(well), &LocallyBalanced, &model, BALANCED, 52);
    check("well, PAS-2", &Plain(well), &pas(2), &model, path(2), 53);
    let machine = machine(6, 5, 1.0, 12);
    let (weights, model) = (Weights::new(&machine).unwrap(), Model::binary(&machine));
    let rbm = weights.rbm().unwrap();
    check("RBM, GWG-2", &rbm, &gwg(2), &model, gradients(2, true), 54);
    check("RBM, LB-1", &rbm, &LocallyBalanced, &model, BALANCED, 55);
    check("RBM, PAS-4", &rbm, &pas(4), &model, path(4), 56);
}

#[test]
fn categorical_sites() {
    // Four values in two bits each: a state's word is its number.
    let tables = Tables::new(Kind::Categorical, &[4, 4, 4], 0.8, 3);
    let (energy, model) = (Plain(Own(&tables)), Model::tables(&tables));
    check("categorical, GWG-1", &energy, &gwg(1), &model, gradients(1, false), 61);
    check("categorical, GWG-2", &energy, &gwg(2), &model, gradients(2, false), 62);
    check("categorical, LB-1", &energy, &LocallyBalanced, &model, BALANCED, 63);
    check("categorical, PAS-2", &energy, &pas(2), &model, path(2), 64);
    for rule in [gradients(1, false), gradients(2, false), BALANCED, path(2)] {
        blind(&model, rule, Defect::NoRatio);
    }
    blind(&model, path(2), Defect::FullSumBack);
}

/// Counts of single steps from a state against the float64 transition probabilities.
fn steps_from<E: Energy, K: Kernel<E>>(
    energy: &E,
    kernel: &K,
    model: &Model,
    from: usize,
    seed: u64,
) -> Vec<u64> {
    let layout = energy.layout();
    let start =
        heap::pack_in(layout, &model.values(from).iter().map(|&value| value as f64).collect::<Vec<_>>());
    let start = Packed::new(layout, &start).unwrap();
    let mut chain = heap::chain(energy, start.words()).unwrap();
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut counts = vec![0; model.states()];
    for _ in 0..50_000 {
        chain.restart(start).unwrap();
        let info = chain.step(kernel, &mut rng);
        assert!(!info.fault);
        let values = chain.state().values().zip(&model.arities).collect::<Vec<_>>();
        let number = values.iter().rev().fold(0, |sum, (value, arity)| sum * **arity + *value as usize);
        counts[number] += 1;
    }
    counts
}

/// Sites of a layout of 70 values, drawn one after the other: three states each.
#[test]
fn sites_of_many_values() {
    fn judge<K: for<'t> Kernel<Plain<Wide<'t>>>>(
        what: &str,
        tables: &Tables,
        kernel: &K,
        rule: Rule,
        seed: u64,
    ) {
        let (energy, mut model) = (Plain(Wide(Own(tables))), Model::tables(tables));
        model.many = true;
        let found = [0, 17, 59].map(|from| (from, steps_from(&energy, kernel, &model, from, seed)));
        let verdict = |defect| {
            let table = model.table(rule, defect);
            let what = |from| format!("{what}, {defect:?}, from {from}");
            Verdict::worst(
                found.iter().map(|(from, counts)| chi_square(&what(*from), counts, &table.rows[*from])),
            )
        };
        verdict(Defect::None).must_pass();
        for defect in [Defect::NoReverse, Defect::HalfEnergy, Defect::NoRatio] {
            verdict(defect).must_fail();
        }
    }
    for (kind, seed) in [(Kind::Categorical, 71), (Kind::Ordinal, 72)] {
        let tables = &Tables::new(kind, &[4, 1, 3, 5], 0.8, 3);
        judge(&format!("{kind:?}, GWG-1"), tables, &gwg(1), gradients(1, false), seed);
        judge(&format!("{kind:?}, GWG-2"), tables, &gwg(2), gradients(2, false), seed);
        judge(&format!("{kind:?}, LB-1"), tables, &LocallyBalanced, BALANCED, seed);
        judge(&format!("{kind:?}, PAS-2"), tables, &pas(2), path(2), seed);
        // More than there are: all of them.
        judge(&format!("{kind:?}, PAS-5"), tables, &pas(5), path(5), seed);
    }
}
