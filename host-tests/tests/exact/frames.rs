//! Chains over Ising models that take new fields in every frame.

use bitmc::chain::FrameError;
use bitmc::energy::SparseError;
use bitmc::step::SequentialGibbs;
use bitmc::{Energy, Ising, Kernel, LaneRng, Langevin, Layout, Packed, SeedableRng};
use bitmc_host_tests::heap::{self, pack};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SITES: usize = 40;

/// A model, and fields of frames, which are smaller.
fn model(convention: Convention, seed: u64) -> (Pairwise, Vec<Vec<f32>>) {
    let mut largest = models::pairwise(convention, SITES, 0.1, 1.0, seed);
    largest.fields = vec![16.0; SITES];
    let mut source = Source::new(seed);
    let frames = (0..12).map(|_| (0..SITES).map(|_| source.coarse(1.0)).collect()).collect();
    (largest, frames)
}

/// Whether an energy is that of the state, in float64.
fn is_energy_of(energy: f32, model: &Pairwise, fields: &[f32], state: Packed<'_>) -> bool {
    let now = Pairwise { fields: fields.to_vec(), ..model.clone() };
    let x: Vec<f64> = state.values().map(f64::from).collect();
    (f64::from(energy) - now.energy(&x)).abs() < 1e-3
}

/// Each frame is that of a chain that is bound to the frame's model, bit for bit.
fn compare<K: for<'a> Kernel<Ising<'a>>>(convention: Convention, seed: u64, kernel: &K) {
    let (largest, fields) = model(convention, seed);
    let mut memory = largest.couplings();
    let base = memory.ising(&largest).unwrap();
    let zeros = vec![0; base.layout().words()];
    let held = pack(&(0..SITES).map(|site| f64::from(u8::from(site % 7 == 0))).collect::<Vec<_>>());
    let held = Packed::new(Layout::binary(SITES), &held).unwrap();
    let [mut chain, mut own] = [(); 2].map(|()| heap::chain(&base, &zeros).unwrap());
    chain.clamp(held).unwrap();
    own.clamp(held).unwrap();
    let mut rest = own.unbind();
    let mut frames = chain.frames([vec![7; SITES], vec![9; SITES + 30]]).unwrap();
    let [mut rng, mut other] = [(); 2].map(|()| LaneRng::seed_from_u64(seed));
    for (number, fields) in fields.iter().enumerate() {
        if number % 4 == 3 {
            // What is refused leaves the chain.
            let ran = frames.next(&[1e9; SITES], |_| ());
            assert!(matches!(ran, Err(FrameError::Fields(SparseError::FieldScale { .. }))), "{ran:?}");
            let ran = frames.next(&fields[1..], |_| ());
            assert!(matches!(ran, Err(FrameError::Fields(SparseError::Fields { .. }))), "{ran:?}");
        }
        let mut linear = vec![0; SITES];
        let now = base.with_linear(fields, &mut linear).unwrap();
        let mut own = rest.bind(&now).map_err(|(error, _)| error).unwrap();
        let found = frames.next(fields, |chain| {
            assert!(is_energy_of(chain.energy(), &largest, fields, chain.state()), "frame {number}");
            (0..20).map(|_| chain.step(kernel, &mut rng)).last()
        });
        let alone = (0..20).map(|_| own.step(kernel, &mut other)).last();
        assert_eq!(found.unwrap(), alone);
        assert_eq!(frames.state(), own.state());
        let same = frames.next(fields, |chain| {
            assert!(is_energy_of(chain.energy(), &largest, fields, chain.state()), "after frame {number}");
            (chain.energy().to_bits(), chain.steps(), chain.faults())
        });
        // Fields that are taken again change nothing but a rounding of the sum.
        let again = own.refresh().map(|_| (own.energy().to_bits(), own.steps(), own.faults()));
        assert_eq!(same.unwrap(), again.unwrap());
        rest = own.unbind();
    }
}

#[test]
fn frames_are_those_of_a_chain_that_is_bound_again() {
    for seed in 0..12 {
        let convention = Convention::ALL[seed as usize % 3];
        compare(convention, seed, &SequentialGibbs);
        compare(convention, seed, &Langevin::adjusted(0.7).unwrap());
    }
}

/// A frame that panics leaves a state, and the next frame computes what belongs to it.
#[test]
fn a_frame_may_panic() {
    let (largest, fields) = model(Convention::SpinsEdgesOnce, 3);
    let mut memory = largest.couplings();
    let base = memory.ising(&largest).unwrap();
    let zeros = vec![0; base.layout().words()];
    let mut frames = heap::chain(&base, &zeros).unwrap().frames([[0; SITES]; 2]).unwrap();
    let mut rng = LaneRng::seed_from_u64(4);
    let sampler = Langevin::adjusted(0.7).unwrap();
    for (steps, fields) in fields.iter().enumerate() {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            frames.next(fields, |chain| {
                (0..steps).for_each(|_| _ = chain.step(&sampler, &mut rng));
                assert!(steps.is_multiple_of(2));
            })
        }));
        assert_eq!(ran.is_err(), !steps.is_multiple_of(2));
        let near = frames.next(fields, |chain| {
            let before = is_energy_of(chain.energy(), &largest, fields, chain.state());
            chain.step(&sampler, &mut rng);
            before && is_energy_of(chain.energy(), &largest, fields, chain.state())
        });
        assert!(near.unwrap(), "{steps} steps");
    }
}

#[test]
fn short_memory_of_fields_is_refused() {
    let (largest, _) = model(Convention::BitsEdgesOnce, 1);
    let mut memory = largest.couplings();
    let base = memory.ising(&largest).unwrap();
    let chain = heap::chain(&base, &vec![0; base.layout().words()]).unwrap();
    let refused = chain.frames([vec![0; SITES], vec![0; SITES - 1]]).map(drop);
    assert_eq!(refused, Err(SparseError::Memory { need: SITES, got: SITES - 1 }));
}
