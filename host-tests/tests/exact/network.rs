//! The regression network of ±1 weights: energy, gradients and transitions against float64, and bad input.

use bitmc::energy::{EnergyError, NetworkError};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{BinaryNetwork, Energy, Langevin, Move, Packed};
use bitmc_host_tests::comparison::{Case, cache_of, gradient_of};
use bitmc_host_tests::dmala::{Defect, Proposal};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::naive::Target;
use bitmc_host_tests::network::Network;
use bitmc_host_tests::passes_on;
use bitmc_host_tests::tolerance::{CENTRAL, CENTRAL_STEP};
use core::ops::Range;

#[test]
fn energies_and_gradients() {
    for (index, units) in [1, 2, 15, 16, 17, 33].into_iter().enumerate() {
        for (rows, columns) in [(1, 1), (7, 2), (16, 3), (17, 1), (40, 5)] {
            let network = Network::random(rows, columns, units, 3.0, index as u64);
            Case {
                energy: &network.model().unwrap(),
                target: &network,
                total: &|x| network.total_error(x),
                gradient: &|x| network.gradient_error(x),
                multilinear: false,
            }
            .check(&format!("{rows}×{columns}, {units} units"), &mut Source::new(14), 4);
        }
    }
    // Off the grid, and saturated: pre-activations up to 100.
    let mut network = Network::random(20, 4, 9, 0.5, 3);
    let mut source = Source::new(8);
    network.inputs.iter_mut().for_each(|z| *z = source.normal(20.0));
    Case {
        energy: &network.model().unwrap(),
        target: &network,
        total: &|x| network.total_error(x),
        gradient: &|x| network.gradient_error(x),
        multilinear: false,
    }
    .check("large inputs", &mut Source::new(15), 10);
}

#[test]
fn the_reference_agrees_with_itself() {
    let network = Network::random(6, 2, 3, 1.0, 4);
    let x = Source::new(1).state(network.sites());
    let terms = network.energy(&x) + 1.0;
    for (a, b) in network.gradient(&x).into_iter().zip(network.central_differences(&x, CENTRAL_STEP)) {
        // Third derivatives of a squared network are below 100 of its terms here.
        assert!((a - b).abs() <= 100.0 * CENTRAL * terms, "{a} {b}");
    }
}

#[test]
fn residuals_are_those_of_the_rows() {
    let network = Network::random(19, 3, 20, 1.0, 5);
    let model = network.model().unwrap();
    let x = Source::new(2).state(network.sites());
    let (_, cache) = cache_of(&model, &x);
    let found: Vec<f32> = model.residuals(&cache).collect();
    assert_eq!((found.len(), model.rows(), model.units()), (19, 19, 20));
    for (row, &found) in found.iter().enumerate() {
        // An output of at most 1 from 20 units: 30 roundings.
        assert!((f64::from(found) - network.forward(&x, row).1).abs() < 2e-6);
    }
}

#[test]
fn minibatches_add_up_to_the_gradient() {
    let network = Network::random(40, 3, 18, 2.0, 6);
    let model = network.model().unwrap();
    let x = Source::new(3).state(network.sites());
    let words = heap::pack(&x);
    let state = Packed::new(model.layout(), &words).unwrap();
    let (_, cache) = cache_of(&model, &x);
    let (full, bounds) = (gradient_of(&model, &x, &cache), network.gradient_error(&x));
    let blocks = model.layout().blocks();
    let estimate = |rows: Range<usize>, blocks: Range<usize>| {
        let mut out = vec![[f32::NAN; LANES]; blocks.len()];
        model.estimate(state, rows, blocks, &mut out);
        out
    };
    for size in [1, 8, 20, 40] {
        let batches: Vec<Vec<Block>> =
            (0..40 / size).map(|batch| estimate(batch * size..(batch + 1) * size, 0..blocks)).collect();
        for site in 0..network.sites() {
            let value = |out: &[Block]| f64::from(out[site / LANES][site % LANES]);
            let mean = batches.iter().map(|batch| value(batch)).sum::<f64>() / batches.len() as f64;
            assert!((mean - value(&full)).abs() <= 2.0 * bounds[site], "batches of {size}, site {site}");
        }
    }
    let all = estimate(3..30, 0..blocks);
    assert_eq!(estimate(3..30, 1..3), all[1..3]);
    // Rows that are not there count for nothing.
    assert_eq!(estimate(20..50, 0..blocks), estimate(20..40, 0..blocks));
    assert_eq!(estimate(40..50, 0..2), [[0.0; LANES]; 2]);
}

const STEP_SIZES: [f32; 5] = [0.1, 0.5, 2.0, 8.0, 1000.0];

#[test]
fn transitions_keep_the_distribution() {
    // Eight weights, and seven.
    for (columns, units) in [(2, 2), (5, 1)] {
        for (seed, precision) in [0.2, 3.0, 20.0].into_iter().enumerate() {
            let network = Network::random(9, columns, units, precision, seed as u64);
            let (model, distribution) = (network.model().unwrap(), Distribution::of(&network));
            for step_size in STEP_SIZES {
                let sampler = Langevin::adjusted(step_size).unwrap();
                let verdict = Transitions::of(&model, &sampler, 0).judge(&distribution);
                assert!(verdict.passes(), "{units} units, τ {precision}, α {step_size}: {verdict:?}");
                let held =
                    Transitions::of(&model, &sampler, 0b0100_1001).judge(&distribution.given(0b0100_1001, 5));
                assert!(held.passes(), "{units} units, τ {precision}, α {step_size}, held: {held:?}");
            }
        }
    }
}

/// Tangents that do not follow the weights: the gradient is that of the start.
struct Stale<'a>(BinaryNetwork<'a>);

impl Energy for Stale<'_> {
    passes_on!(0: layout, cache_len, init, gradient, differences);

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let mut moved = cache.to_vec();
        self.0.shift(step, &mut moved)
    }
}

#[test]
fn broken_variants_fail() {
    let network = Network::random(9, 2, 2, 3.0, 1);
    let (model, distribution) = (network.model().unwrap(), Distribution::of(&network));
    let proposal =
        Proposal { balance: 0.5, curvature: vec![0.5; 8], held: 0, limit: f64::from(bitmc::draw::LOGIT_LIMIT) };
    assert!(proposal.variant(&network, &distribution, Defect::None).judge(&distribution).passes());
    for defect in [Defect::NoReverse, Defect::HalfEnergy, Defect::StaleReverse] {
        assert!(!proposal.variant(&network, &distribution, defect).judge(&distribution).passes(), "{defect:?}");
    }
    let sampler = Langevin::adjusted(2.0).unwrap();
    assert!(Transitions::of(&model, &sampler, 0).judge(&distribution).passes());
    // Whose way back is computed with another gradient than the way there: even the bits say so.
    let stale =
        std::panic::catch_unwind(|| Transitions::of(&Stale(model), &sampler, 0).judge(&distribution).passes());
    assert!(!stale.unwrap_or(false));
    // Residuals half as heavy are another distribution.
    let half = Network { precision: 1.5, ..network.clone() };
    assert!(!Transitions::of(&half.model().unwrap(), &sampler, 0).judge(&distribution).passes());
}

#[test]
fn bad_input_has_a_name() {
    use NetworkError::*;
    let build = |inputs: &[f32], targets: &[f32], units: usize, scale: f32, precision: f32| {
        BinaryNetwork::new(inputs, targets, units, scale, precision).map(|_| ())
    };
    let (inputs, targets) = ([0.5; 6], [1.0; 3]);
    assert_eq!(build(&inputs, &targets, 4, 0.25, 1.0), Ok(()));
    assert_eq!(build(&inputs, &targets, 1, -0.25, 1e-30), Ok(()));
    assert_eq!(build(&inputs, &targets, 0, 0.25, 1.0), Err(Units));
    assert_eq!(build(&inputs, &targets, usize::MAX, 0.25, 1.0), Err(Units));
    assert_eq!(build(&inputs, &targets, 1 << 30, 0.25, 1.0), Err(Units));
    assert_eq!(build(&[], &targets, 4, 0.25, 1.0), Err(Length { rows: 3, got: 0 }));
    assert_eq!(build(&inputs, &[], 4, 0.25, 1.0), Err(Length { rows: 0, got: 6 }));
    assert_eq!(build(&inputs[..5], &targets, 4, 0.25, 1.0), Err(Length { rows: 3, got: 5 }));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(matches!(build(&inputs, &targets, 4, bad, 1.0), Err(Scale(_))));
        assert!(matches!(build(&inputs, &targets, 4, 0.25, bad), Err(Precision(_))));
        let error = build(&[0.5, 0.5, 0.5, 0.5, bad, 0.5], &targets, 4, 0.25, 1.0);
        assert_eq!(error, Err(InputNotFinite { column: 1, row: 1 }));
        assert_eq!(build(&inputs, &[1.0, 1.0, bad], 4, 0.25, 1.0), Err(TargetNotFinite { row: 2 }));
    }
    assert_eq!(build(&inputs, &targets, 4, 0.0, 1.0), Err(Scale(0.0)));
    assert_eq!(build(&inputs, &targets, 4, 0.25, 0.0), Err(Precision(0.0)));
    assert_eq!(build(&inputs, &targets, 4, 0.25, -1.0), Err(Precision(-1.0)));
    assert_eq!(build(&[f32::MAX; 6], &targets, 4, 0.25, 1.0), Err(TooLarge { row: 0 }));
    assert_eq!(build(&inputs, &[1.0, 1e15f32.next_up(), 1.0], 4, 0.25, 1.0), Err(TooLarge { row: 1 }));
    // Up to 10³⁰, beside which the bias does not show.
    assert_eq!(build(&[1e30], &[1.0], 4, 0.25, 1.0), Ok(()));
    assert_eq!(build(&[1e30f32.next_up()], &[1.0], 4, 0.25, 1.0), Err(TooLarge { row: 0 }));

    let model = BinaryNetwork::new(&inputs, &targets, 4, 0.25, 1.0).unwrap();
    let short = model.init(Packed::new(model.layout(), &[0]).unwrap(), &mut [[0; LANES]; 6]);
    assert_eq!(short, Err(EnergyError::Cache { need: 7, got: 6 }));
    // An energy past the largest float forbids every state.
    let model = BinaryNetwork::new(&inputs, &[1e15; 3], 4, 0.25, 1e30).unwrap();
    assert!(heap::chain(&model, &[0]).is_err());
}
