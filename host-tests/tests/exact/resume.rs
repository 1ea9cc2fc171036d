//! A chain that is stopped and resumed goes on bit for bit.

use bitmc::{BlockGibbs, Chain, Energy, Info, Kernel, LaneRng, Langevin, Packed, Plain, SeedableRng};
use bitmc_host_tests::failing::Table;
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;

/// What a step reported, NaN for NaN.
fn bits(info: Info) -> (bool, u32, u32, u32, bool) {
    let Info { accepted, proposed, log_ratio, difference, fault, .. } = info;
    (accepted, proposed, log_ratio.to_bits(), difference.to_bits(), fault)
}

/// Runs a chain without a stop, and another that is stopped and resumed after every step.
fn resume<E: Energy, K: Kernel<E>>(name: &str, energy: &E, kernel: &K, held: Option<&[u32]>) {
    let mut rng = LaneRng::seed_from_u64(10);
    let mut whole = heap::chain(energy, &vec![0; energy.layout().words()]).unwrap();
    let clamp = |chain: &mut heap::HeapChain<'_, E>| {
        if let Some(held) = held {
            chain.clamp(Packed::new(energy.layout(), held).unwrap()).unwrap();
        }
    };
    clamp(&mut whole);
    let mut moved = 0;
    for step in 0..300 {
        let (words, core) = (whole.state().words().to_vec(), whole.core());
        let (lanes, held_words, used) = rng.state();
        // Everything else is lost: new memory, a new generator.
        let mut rng_again = LaneRng::from_state(lanes, held_words, used).unwrap();
        let state = Packed::new(energy.layout(), &words).unwrap();
        let mut again = Chain::resume(energy, heap::memory(energy), state, core).unwrap();
        clamp(&mut again);
        assert_eq!(again.energy().to_bits(), whole.energy().to_bits(), "{name}, step {step}");
        for after in 0..3 {
            let info = again.step(kernel, &mut rng_again);
            if after == 0 {
                let expected = whole.step(kernel, &mut rng);
                moved += info.moved();
                assert_eq!(bits(info), bits(expected), "{name}, step {step}");
                assert_eq!(rng_again, rng, "{name}, step {step}");
                assert_eq!(again.state().words(), whole.state().words(), "{name}, step {step}");
                assert_eq!(again.energy().to_bits(), whole.energy().to_bits(), "{name}, step {step}");
                assert_eq!(again.faults(), whole.faults());
            }
        }
    }
    assert!(moved > 50, "{name}: {moved} moves show little");
}

#[test]
fn chains_go_on_bit_for_bit() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 11);
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let weights = Weights::new(&models::machine(50, 21, 0.5, 11)).unwrap();
    let rbm = weights.rbm().unwrap();
    let totals = vec![0.1, 0.7, f32::NAN, 1.3, f32::INFINITY, 0.2, 0.9];
    let own = Plain(Table { sites: 3, totals, gradient: vec![0.3, -0.4] });
    let held = [0b1011, 0, 0];
    for sampler in [Langevin::adjusted(0.3).unwrap(), Langevin::unadjusted(0.3).unwrap()] {
        resume("Ising", &ising, &sampler, None);
        resume("Ising, clamped", &ising, &sampler, Some(&held));
        resume("RBM", &rbm, &sampler, None);
        resume("RBM, clamped", &rbm, &sampler, Some(&held[..2]));
        resume("Plain, with faults", &own, &sampler, None);
    }
    resume("block Gibbs", &rbm, &BlockGibbs, None);
    resume("block Gibbs, clamped", &rbm, &BlockGibbs, Some(&held[..2]));
}
