//! The references themselves: by hand, by differences, and that they see small faults.

use bitmc_host_tests::comparison::Case;
use bitmc_host_tests::heap::Weights;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::tolerance::{CENTRAL, CENTRAL_STEP, ENERGY_ROUNDINGS, FACTOR_ROUNDINGS, ROUNDING};

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
#[should_panic(expected = "bound")] // a negative control: the comparison above must reject it
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
#[should_panic(expected = "bound")] // a negative control: the comparison above must reject it
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
