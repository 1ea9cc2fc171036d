//! Random input to the constructors: a model that works, or an error with a name; never a panic.

use bitmc::energy::{Entry, Sparse, SparseError};
use bitmc::{Energy, Ising, LaneRng, Langevin, SeedableRng};
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::naive::{Convention, Machine, Pairwise};
use proptest::prelude::*;

/// Floats of every kind, legal ones most often.
fn float() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -10f32..10.0,
        1 => -1e31f32..1e31,
        1 => any::<f32>(),
    ]
}

fn pairwise() -> impl Strategy<Value = Pairwise> {
    let sites = 0..9usize;
    sites.prop_flat_map(|sites| {
        let end = 0..(sites as u32 + 1).max(2);
        let edges = prop::collection::vec((end.clone(), end, float()), 0..12);
        let fields = prop::collection::vec(float(), sites);
        (edges, fields, 0..3usize).prop_map(|(edges, fields, convention)| Pairwise {
            convention: Convention::ALL[convention],
            edges,
            fields,
        })
    })
}

/// Whether something is wrong with a model, by the plainest reading of the rules.
fn wrong(model: &Pairwise) -> bool {
    let sites = model.fields.len();
    let weight = if model.convention == Convention::BitsEdgesOnce { 1.0 } else { 2.0 };
    let twice = if model.convention == Convention::SpinsEdgesTwice { 2.0 } else { 1.0 };
    let mut sums: Vec<f64> = model.fields.iter().map(|w| f64::from(w.abs())).collect();
    let mut pairs = std::collections::HashSet::new();
    for &(a, b, coupling) in &model.edges {
        if a == b || a.max(b) as usize >= sites || !coupling.is_finite() || !pairs.insert((a.min(b), a.max(b)))
        {
            return true;
        }
        sums[a as usize] += twice * f64::from(coupling.abs());
        sums[b as usize] += twice * f64::from(coupling.abs());
    }
    sites == 0
        || model.fields.iter().any(|w| !w.is_finite())
        // Sums within a few roundings of the limit may go either way; none is that close in these tests.
        || sums.iter().any(|sum| weight * sum > 1e30)
}

/// Runs a chain over a model that was accepted.
fn works(energy: &dyn Energy) {
    let mut rng = LaneRng::seed_from_u64(1);
    let Ok(mut chain) = heap::random_chain(energy, &mut rng) else { return };
    let sampler = Langevin::adjusted(0.7).unwrap();
    for _ in 0..10 {
        let info = chain.step(&sampler, &mut rng);
        assert!(!info.log_ratio.is_nan() && !info.fault, "{info:?}");
    }
    assert!(chain.energy().is_finite());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edge_lists(model in pairwise(), short in 0..4usize) {
        let mut memory = model.couplings();
        let checked = memory.ising(&model).map(|_| ());
        let lost = matches!(checked, Err(SparseError::CouplingRounded { .. } | SparseError::FieldRounded { .. }));
        prop_assert_eq!(checked.is_err(), lost || wrong(&model), "{:?}", checked);
        let built = memory.rounded(&model);
        prop_assert_eq!(built.is_err(), wrong(&model), "{:?}", built);
        if let Ok(energy) = built {
            works(&energy);
            // In memory that is too short: an error that says so.
            if short > 0 && model.edges.len() >= short {
                let mut memory = Couplings::new(model.fields.len(), model.edges.len() - short);
                let need = 2 * model.edges.len();
                let said = memory.rounded(&model).unwrap_err();
                prop_assert_eq!(said, SparseError::Entries { need, got: need - 2 * short });
            }
        }
    }

    #[test]
    fn compiled_rows(
        ends in prop::collection::vec(0..6u32, 0..5),
        entries in prop::collection::vec((0..5u32, prop_oneof![-5..5i32, any::<i32>()]), 0..6),
        linear in prop::collection::vec(prop_oneof![-9..9i32, any::<i32>()], 0..5),
        exponent in prop_oneof![-20..20i32, any::<i32>()],
    ) {
        let entries: Vec<Entry> = entries.into_iter().map(|(site, coupling)| Entry { site, coupling }).collect();
        if let Ok(form) = Sparse::from_rows(&ends, &entries, &linear, exponent) {
            works(&Ising::quadratic(form));
        }
    }

    #[test]
    fn compiled_rows_with_one_fault(
        model in pairwise(),
        at in any::<prop::sample::Index>(),
        site in 0..10u32,
        coupling in any::<i32>(),
        kind in 0..3,
    ) {
        let mut memory = model.couplings();
        let Ok(energy) = memory.ising(&model) else { return Ok(()) };
        let form = energy.form();
        let mut end = 0;
        let mut ends: Vec<u32> = (0..form.sites()).map(|site| { end += form.row(site).len() as u32; end }).collect();
        let (mut entries, linear) = (form.entries().to_vec(), form.linear().to_vec());
        let exponent = form.unit().log2() as i32;
        prop_assert!(Sparse::from_rows(&ends, &entries, &linear, exponent).is_ok());
        let mut changed = false;
        if kind == 0 {
            let place = at.index(ends.len());
            changed = ends[place] != site;
            ends[place] = site;
        } else if !entries.is_empty() {
            let place = at.index(entries.len());
            let wrong = if kind == 1 { Entry { site, ..entries[place] } } else { Entry { coupling, ..entries[place] } };
            changed = entries[place] != wrong;
            entries[place] = wrong;
        }
        let built = Sparse::from_rows(&ends, &entries, &linear, exponent);
        prop_assert_eq!(built.is_err(), changed, "{:?}", built);
    }

    #[test]
    fn machines(
        (visible, hidden) in (0..5usize, 0..19usize),
        numbers in prop::collection::vec(float(), 120),
    ) {
        let mut numbers = numbers.into_iter().cycle();
        let mut take = |count: usize| -> Vec<f32> { numbers.by_ref().take(count).collect() };
        let machine = Machine { weights: take(visible * hidden), visible: take(visible), hidden: take(hidden) };
        let finite = [&machine.weights, &machine.visible, &machine.hidden]
            .iter().all(|values| values.iter().all(|value| value.is_finite()));
        match Weights::new(&machine) {
            Err(_) => prop_assert_eq!(hidden, 0),
            Ok(weights) => match weights.rbm() {
                Err(_) => {
                    let large = |values: &[f32]| values.iter().any(|value| value.abs() > 1e29);
                    let cause = large(&machine.weights) || large(&machine.visible) || large(&machine.hidden);
                    prop_assert!(visible == 0 || hidden == 0 || !finite || cause);
                }
                Ok(rbm) => {
                    prop_assert!(finite && visible > 0);
                    works(&rbm);
                }
            },
        }
    }
}
