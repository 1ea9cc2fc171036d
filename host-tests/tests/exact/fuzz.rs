//! Random bytes as models, samplers, generators and snapshots: no rule of [`bitmc_host_tests::fuzz`] is broken. libFuzzer
//! calls the same functions (`.ci/long fuzz`).

use bitmc::chain::Ring;
use bitmc::lane::Bits;
use bitmc::{Bernoulli, Energy, Gibbs, Info, Kernel, LaneRng, Langevin, Move, Rng, SeedableRng};
use bitmc_host_tests::fuzz::{self, Source, Trial};
use bitmc_host_tests::passes_on;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Bytes of which some are small.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![3 => any::<u8>(), 1 => 0..16u8], 0..500)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn steps(data in bytes()) {
        fuzz::steps(&data);
    }

    #[test]
    fn snapshots(data in bytes()) {
        fuzz::bytes(&data);
    }
}

/// What is wrong with an energy.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    None,
    /// Differences are a hundredth too small.
    Shift,
    /// A bit past the last site is set and left so.
    Padding,
}

/// Independent bits with a defect.
struct Broken<'a>(Bernoulli<'a>, Defect);

impl Energy for Broken<'_> {
    passes_on!(0: layout, cache_len, init, gradient);

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.0.shift(step, cache) * if self.1 == Defect::Shift { 0.99 } else { 1.0 }
    }
    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.0.differences(words, cache, site, out);
        words[0] |= if self.1 == Defect::Padding { 1 << 31 } else { 0 };
    }
}

/// A sampler that says something else of its steps.
struct Says<K>(K, fn(&mut Info));

impl<E: Energy + ?Sized, K: Kernel<E>> Kernel<E> for Says<K> {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        let mut info = self.0.step(ring, rng);
        self.1(&mut info);
        info
    }
}

/// Steps under watch, with a good generator.
fn watch(defect: Defect, kernel: &impl Kernel<Broken<'static>>) {
    const LOGITS: [f32; 5] = [0.5, -0.25, 1.0, 0.125, -0.5];
    let energy = Broken(Bernoulli::new(&LOGITS).unwrap(), defect);
    let mut rng = LaneRng::seed_from_u64(1);
    let mut trial = Trial::start(&energy, 2.375, &mut Source::new(&[0])).unwrap();
    (0..20).for_each(|_| _ = trial.step(kernel, &mut rng));
    trial.compare();
}

#[test]
fn what_is_right_passes() {
    watch(Defect::None, &Gibbs::systematic());
    watch(Defect::None, &Says(Langevin::adjusted(0.5).unwrap(), |_| ()));
}

#[test]
#[should_panic(expected = "is carried along")] // a negative control: the checks must reject it
fn an_energy_with_wrong_differences_is_caught() {
    watch(Defect::Shift, &Langevin::adjusted(0.5).unwrap());
}

#[test]
#[should_panic(expected = "an illegal state")] // a negative control: the checks must reject it
fn a_bit_past_the_last_site_is_caught() {
    watch(Defect::Padding, &Gibbs::systematic());
}

#[test]
#[should_panic(expected = "log_ratio: NaN")] // a negative control: the checks must reject it
fn a_ratio_that_is_no_number_is_caught() {
    watch(Defect::None, &Says(Langevin::adjusted(0.5).unwrap(), |info| info.log_ratio = f32::NAN));
}

#[test]
#[should_panic(expected = "moved by a step that was rejected")] // a negative control: the checks must reject it
fn a_move_that_was_rejected_is_caught() {
    watch(Defect::None, &Says(Langevin::unadjusted(0.5).unwrap(), |info| info.accepted = false));
}

#[test]
#[should_panic(expected = "a told step of")] // a negative control: the chain that evaluates takes another step
fn a_gradient_of_another_state_is_caught() {
    let mut numbers = LaneRng::seed_from_u64(1);
    for _ in 0..200 {
        let data: Vec<u8> = (0..400).map(|_| numbers.next_u32() as u8).collect();
        fuzz::wrongly_told(&data);
    }
}
