//! A Boltzmann machine of 16 spins learns its couplings from packed samples, by RMwGGIS and by persistent
//! contrastive divergence.
#![no_std]
#![no_main]

use bitmc::chain::FixedMemory;
use bitmc::energy::Boltzmann;
use bitmc::lane::Block;
use bitmc::learn::{Adam, Contrast, Importance, Minibatch, Replay};
use bitmc::{Gibbs, LaneRng, Langevin, Layout, Packed, Rng, SeedableRng, memory};
use bitmc_chains::hash::Hash;
use bitmc_firmware::{count::Counter, entry, exit, stack};

const SITES: usize = 16;
const L: Layout = Layout::binary(SITES);
const BLOCKS: usize = Boltzmann::parameter_len(SITES);
/// Samples, a word each.
const SAMPLES: usize = 1024;
const ITERATIONS: u32 = 400;
const BATCH: u32 = 16;
/// The coupling of neighbours on the ring that the samples come from.
const COUPLING: f32 = 0.5;
/// The root mean square error that is left must be below this share of the one before.
const SHARE: f32 = 0.5;
/// The hash of the parameters learned in both ways: the same on every machine.
const HASH: u32 = 0xA70C_AB30;

type Parameters = [Block; BLOCKS];
type Couplings = [[u32; 16]; Boltzmann::memory_len(SITES)];

#[entry]
fn main() -> ! {
    stack::paint();
    let mut samples = [0; SAMPLES];
    let drawn = draw(&mut samples).is_some();
    let mut hash = Hash::new();
    let by_draws = drawn && learn("RMwGGIS", guided, &samples, &mut hash) == Some(true);
    let by_chains = drawn && learn("PCD", persistent, &samples, &mut hash) == Some(true);
    let all = stack::statics() + stack::used();
    defmt::info!("hash {=u32:08x}", hash.value());
    defmt::info!("RAM, statics and stack: {=usize} bytes, {=usize} of them samples", all, 4 * SAMPLES);
    let pass = by_draws && by_chains && hash.value() == HASH;
    defmt::info!("learn: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

/// The true parameters: a ring.
fn truth() -> Parameters {
    let mut theta = [[0.0; 16]; BLOCKS];
    for site in 0..SITES {
        let place = Boltzmann::coupling(SITES, site, (site + 1) % SITES);
        if let Some(slot) = place.and_then(|place| theta.as_flattened_mut().get_mut(place)) {
            *slot = COUPLING;
        }
    }
    theta
}

/// Samples of the ring, eight sweeps of Gibbs apart.
#[inline(never)]
fn draw(samples: &mut [u32; SAMPLES]) -> Option<()> {
    let mut couplings: Couplings = [[0; 16]; _];
    let model = Boltzmann::spins(&truth(), SITES, &mut couplings).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = bitmc::Chain::random(&model, memory!(L, Boltzmann::cache_len(SITES)), &mut rng).ok()?;
    for sample in samples {
        chain.run(&Gibbs::systematic(), &mut rng, 8, &mut ());
        *sample = chain.state().words().first().copied()?;
    }
    Some(())
}

/// What a method works with.
struct Desk<'d> {
    model: Boltzmann<'d>,
    samples: &'d [u32; SAMPLES],
    replay: &'d mut [u32; BATCH as usize],
    room: FixedMemory<3, 2, 2>,
    gradient: &'d mut Parameters,
    rng: &'d mut LaneRng,
}

/// One gradient.
type Method = fn(Desk<'_>) -> Option<()>;

fn guided(desk: Desk<'_>) -> Option<()> {
    let Desk { model, samples, mut room, gradient, rng, .. } = desk;
    let objective = Importance::ratio_matching(4).ok()?;
    let mut batch = Minibatch::new(&model, gradient).ok()?;
    for _ in 0..BATCH {
        let x = sample(samples, rng)?;
        batch.add(&objective, &model, Packed::new(L, &x).ok()?, &mut room, rng).ok()?;
    }
    batch.finish().loss.is_finite().then_some(())
}

fn persistent(desk: Desk<'_>) -> Option<()> {
    let Desk { model, samples, replay, mut room, gradient, rng } = desk;
    let kernel = Langevin::adjusted(0.4).ok()?;
    let mut replay = Replay::new(L, replay).ok()?;
    let mut contrast = Contrast::new(&model, BATCH, BATCH, gradient).ok()?;
    for chain in 0..BATCH as usize {
        let x = sample(samples, rng)?;
        contrast.data(&model, Packed::new(L, &x).ok()?, &mut room).ok()?;
        contrast.persist(&model, (&mut replay, chain), (&kernel, 4), &mut room, rng).ok()?;
    }
    contrast.finish().loss.is_finite().then_some(())
}

fn sample(samples: &[u32; SAMPLES], rng: &mut LaneRng) -> Option<[u32; 1]> {
    samples.get(rng.next_u32() as usize % SAMPLES).map(|&word| [word])
}

/// Learns from nothing; whether the error fell as it must.
#[inline(never)]
fn learn(name: &str, method: Method, samples: &[u32; SAMPLES], hash: &mut Hash) -> Option<bool> {
    let (mut theta, mut gradient): (Parameters, Parameters) = ([[0.0; 16]; BLOCKS], [[0.0; 16]; BLOCKS]);
    let mut moments = [[0.0; 16]; 2 * BLOCKS];
    let mut adam = Adam::new(&mut moments, 0.02).ok()?;
    let mut couplings: Couplings = [[0; 16]; _];
    let mut rng = LaneRng::seed_from_u64(2);
    let mut replay = [0; BATCH as usize];
    let (before, mut instructions) = (error(&theta), 0u32);
    for iteration in 0..ITERATIONS {
        let counter = Counter::start();
        let model = Boltzmann::spins(&theta, SITES, &mut couplings).ok()?;
        let room = memory!(L, Boltzmann::cache_len(SITES));
        let gradient_of = &mut gradient;
        method(Desk { model, samples, replay: &mut replay, room, gradient: gradient_of, rng: &mut rng })?;
        adam.step(&gradient, &mut theta);
        if iteration >= ITERATIONS - 8 {
            instructions = instructions.wrapping_add(counter.instructions());
        }
        // The rate falls to a tenth.
        adam.set_rate(0.02 / (1.0 + 9.0 * iteration as f32 / ITERATIONS as f32)).ok()?;
    }
    let after = error(&theta);
    hash.floats(theta.as_flattened());
    defmt::info!("{=str}: RMSE of the couplings {=f32} before, {=f32} after", name, before, after);
    defmt::info!("{=str}: {=u32} instructions a sample", name, instructions / (8 * BATCH));
    Some(after < SHARE * before)
}

/// The root mean square error over all pairs, on the scale of a coupling.
fn error(theta: &Parameters) -> f32 {
    let truth = truth();
    let (mut sum, mut pairs) = (0.0, 0.0f32);
    for b in 0..SITES {
        for a in 0..b {
            let at = |theta: &Parameters| {
                let place = Boltzmann::coupling(SITES, a, b);
                place.and_then(|place| theta.as_flattened().get(place)).copied().unwrap_or(0.0)
            };
            let off = at(theta) - at(&truth);
            sum += off * off;
            pairs += 1.0;
        }
    }
    bitmc::lane::F32s::splat(sum / pairs).sqrt().first()
}
