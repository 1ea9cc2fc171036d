//! The most instructions that one step takes when the generator has failed: stuck at zeros, at ones, at alternating bits,
//! or between zeros and ones; beside the most of as many steps with a sound one. No loop of a step waits for the
//! generator, and this counts it. A loop that does wait must be seen.
#![no_std]
#![no_main]

use bitmc::energy::SparseBuffers;
use bitmc::lane::{Bits, Block};
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
use bitmc::step::{ParameterError, SequentialGibbs};
use bitmc::{
    BlockGibbs, Chain, Energy, Gibbs, GibbsWithGradients, HammingBall, Ising, Kernel, LaneRng, Langevin,
    Layout, LocallyBalanced, Memory, PathAuxiliary, Potts, RandomWalk, Rbm, SeedableRng, Swap, memory, torus,
};
use bitmc_chains::models::{
    ISING, ISING_COUPLING, IsingMemory, POTTS_FIELDS, RBM, RBM_HIDDEN, digits, with_ising,
};
use bitmc_firmware::source::{FAILURES, Source};
use bitmc_firmware::{count::Counter, entry, exit, stack};

/// Steps counted with each generator.
const STEPS: u32 = 24;
/// A step with a stuck generator may take this many times the most of the sound steps: it can propose all sites at
/// once, where a sound one proposes a few.
const TIMES: u32 = 4;

/// The most instructions of a step.
type Most = fn(&mut Source) -> Option<u32>;

const SAMPLERS: [(&str, Most); 15] = [
    ("Ising 5x5: DMALA", |rng| ising(Langevin::adjusted(0.6), rng)),
    ("Ising 5x5: DULA", |rng| ising(Langevin::unadjusted(0.2), rng)),
    ("Ising 5x5: second order", second_order),
    ("Ising 5x5: random walk", |rng| ising(RandomWalk::new(1.5), rng)),
    ("Ising 5x5: Gibbs", |rng| ising(Ok(Gibbs::systematic()), rng)),
    ("Ising 5x5: Gibbs, random sites", |rng| ising(Gibbs::random(8), rng)),
    ("Ising 5x5: Gibbs from fields", sequential),
    ("Ising 5x5: Gibbs with gradients", |rng| ising(GibbsWithGradients::new(3), rng)),
    ("Ising 5x5: path auxiliary", |rng| ising(PathAuxiliary::new(4), rng)),
    ("Ising 5x5: locally balanced", |rng| ising(Ok(LocallyBalanced), rng)),
    ("Ising 5x5: Hamming ball", |rng| ising(HammingBall::new(ISING, 5, 1), rng)),
    ("Ising 5x5: swaps", |rng| ising(Ok(Swap), rng)),
    ("Potts 5x5 of 4 values: DMALA", potts),
    ("RBM 64x16: block Gibbs", rbm),
    ("Ising 5x5 in whole numbers: Gibbs", quantised),
];

#[entry]
fn main() -> ! {
    stack::paint();
    let (mut pass, mut most) = (true, 0);
    for (name, sampler) in SAMPLERS {
        let (sound, stuck) = under_all(sampler);
        let ends = within(sound, stuck);
        let text = if ends { "" } else { "FAIL" };
        defmt::info!("{=str}: {=u32}, stuck {=u32} {=str}", name, sound.unwrap_or(0), stuck.unwrap_or(0), text);
        most = most.max(stuck.unwrap_or(0));
        pass &= ends;
    }
    let (sound, stuck) = under_all(waits);
    let caught = !within(sound, stuck);
    defmt::info!("one that waits for the generator: {=str}", if caught { "caught" } else { "NOT SEEN, FAIL" });
    defmt::info!("most instructions of a step, stuck: {=u32}", most);
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", stack::statics() + stack::used());
    pass &= caught;
    defmt::info!("stuck: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

/// The most with a sound generator, and with any of those that failed.
#[inline(never)]
fn under_all(sampler: Most) -> (Option<u32>, Option<u32>) {
    let sound = sampler(&mut Source::Sound(LaneRng::seed_from_u64(1)));
    let stuck = FAILURES.into_iter().try_fold(0, |most, (this, other)| {
        sampler(&mut Source::Stuck(this, other)).map(|counted| counted.max(most))
    });
    (sound, stuck)
}

fn within(sound: Option<u32>, stuck: Option<u32>) -> bool {
    matches!((sound, stuck), (Some(sound), Some(stuck)) if sound > 0 && stuck <= TIMES * sound)
}

/// Counts a chain's steps; it starts as chains do, from independent values.
fn counted<E, K, W, C, B>(
    model: &E,
    memory: Memory<W, C, B>,
    kernel: Result<K, ParameterError>,
    rng: &mut Source,
) -> Option<u32>
where
    E: Energy + ?Sized,
    K: Kernel<E>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    let (kernel, mut most) = (kernel.ok()?, 0);
    let mut chain = Chain::random(model, memory, &mut LaneRng::seed_from_u64(2)).ok()?;
    for _ in 0..STEPS {
        let counter = Counter::start();
        chain.step(&kernel, rng);
        most = most.max(counter.instructions());
    }
    (chain.faults() == 0).then_some(most)
}

fn ising<K: for<'e> Kernel<dyn Energy + 'e>>(
    kernel: Result<K, ParameterError>,
    rng: &mut Source,
) -> Option<u32> {
    with_ising(ISING_COUPLING, |model| {
        counted(model as &dyn Energy, memory!(ISING, Ising::cache_len(25)), kernel, rng)
    })
}

fn sequential(rng: &mut Source) -> Option<u32> {
    with_ising(ISING_COUPLING, |model| {
        counted(model, memory!(ISING, Ising::cache_len(25)), Ok(SequentialGibbs), rng)
    })
}

fn second_order(rng: &mut Source) -> Option<u32> {
    with_ising(ISING_COUPLING, |model| {
        let mut d = [[0.0; 16]; 2];
        let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).ok()?;
        let kernel = Langevin::second_order(noise, 2.0, 0.8);
        counted(model as &dyn Energy, memory!(ISING, Ising::cache_len(25)), kernel, rng)
    })
}

fn potts(rng: &mut Source) -> Option<u32> {
    let mut couplings = IsingMemory::new();
    let model = Potts::new(25, 4, torus(5, 5, 0.8), &POTTS_FIELDS, couplings.borrow()).ok()?;
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    counted(&model as &dyn Energy, memory, Langevin::adjusted(1.0), rng)
}

fn rbm(rng: &mut Source) -> Option<u32> {
    counted(&digits()?, memory!(RBM, Rbm::cache_len(RBM_HIDDEN)), Ok(BlockGibbs), rng)
}

fn quantised(rng: &mut Source) -> Option<u32> {
    let (mut ends, mut linear, mut entries) = ([0; 25], [0; 25], [Default::default(); 100]);
    let (mut words, mut fields, mut most) = ([0], [0; 25], 0);
    with_ising(ISING_COUPLING, |model| {
        let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let model = QuantisedIsing::round(model.form(), lent).ok()?;
        let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).ok()?;
        for _ in 0..STEPS {
            let counter = Counter::start();
            chain.sweep(rng);
            most = most.max(counter.instructions());
        }
        Some(most)
    })
}

/// What no sampler may do: it draws until two bits differ, a thousand times at most.
fn waits(rng: &mut Source) -> Option<u32> {
    let mut most = 0;
    for _ in 0..STEPS {
        let (counter, mut tries) = (Counter::start(), 0);
        while tries < 1000 && matches!(rng.word() & 3, 0 | 3) {
            tries += 1;
        }
        most = most.max(counter.instructions());
    }
    Some(most)
}
