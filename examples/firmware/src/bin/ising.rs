//! DMALA on the 5×5 Ising torus with a field, against its exact means.
#![no_std]
#![no_main]

use bitmc::stats::{Acceptance, BatchMeans, Watch};
use bitmc::{Chain, FixedChain, Info, Ising, LaneRng, Langevin, Packed, SeedableRng, memory, torus};
use bitmc_chains::hash::Hash;
use bitmc_chains::models::{ISING, ISING_COUPLING, ISING_EDGE, ISING_FIELDS, ISING_MEAN_SPIN, IsingMemory};
use bitmc_firmware::{count::Counter, entry, exit, stack};

/// 48 batches of 256 steps.
const STEPS: u64 = 12_288;
/// |z| below this: Student's t with 47 degrees of freedom, 10⁻⁶ two-sided for two means together.
const Z: f32 = 5.82;
/// The hash of every state and energy: the same on every machine.
const HASH: u32 = 0x9198_BD89;
/// What statics and stack may take together, on a microbit with 16 KB of RAM.
const RAM: usize = 8192;

#[entry]
fn main() -> ! {
    stack::paint();
    let counted = with_chain(count);
    let chain = stack::statics() + stack::used();
    let passed = with_chain(judge);
    let all = stack::statics() + stack::used();
    defmt::info!("RAM, statics and stack: chain {=usize}, with its statistics {=usize} bytes", chain, all);
    let pass = counted == Some(()) && passed == Some(true);
    defmt::info!("ising: {=str}", if pass && all < RAM { "pass" } else { "FAIL" });
    exit(pass && all < RAM)
}

type IsingChain<'e, 'm> = FixedChain<'e, Ising<'m>, 3, 4, 4>;

/// Builds the model and a chain on it, and leaves the rest to `run`.
#[inline(never)]
fn with_chain<T>(run: impl FnOnce(&mut IsingChain<'_, '_>, &Langevin<'_>, &mut LaneRng) -> T) -> Option<T> {
    let mut memory = IsingMemory::new();
    let edges = torus(5, 5, ISING_COUPLING);
    let model = Ising::spins_edges_twice(25, edges, &ISING_FIELDS, memory.borrow()).ok()?;
    let sampler = Langevin::adjusted(0.6).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(ISING, Ising::cache_len(25)), &mut rng).ok()?;
    chain.run(&sampler, &mut rng, 500, &mut Acceptance::new());
    Some(run(&mut chain, &sampler, &mut rng))
}

fn count(chain: &mut IsingChain<'_, '_>, sampler: &Langevin<'_>, rng: &mut LaneRng) {
    let mut instructions = 0;
    for _ in 0..64 {
        let counter = Counter::start();
        for _ in 0..16 {
            chain.step(sampler, rng);
        }
        instructions += counter.instructions();
    }
    defmt::info!("instructions a site and step: {=u32}", instructions / (64 * 16 * 25));
}

fn judge(chain: &mut IsingChain<'_, '_>, sampler: &Langevin<'_>, rng: &mut LaneRng) -> bool {
    let (mut spin, mut edge) = (BatchMeans::<64>::new(), BatchMeans::<64>::new());
    let (mut steps, mut hash) = (Acceptance::new(), Hash::new());
    let watch = Watch(|x: Packed<'_>, energy: f32, _: &Info| {
        let sum = 2.0 * x.ones() as f32 - 25.0;
        spin.push(sum * (1.0 / 25.0));
        // −E = 2a Σ ss′ + b Σ s, with 50 edges.
        edge.push((-energy - 0.2 * sum) * (1.0 / (50.0 * 2.0 * ISING_COUPLING)));
        hash.words(x.words());
        hash.float(energy);
    });
    chain.run(sampler, rng, STEPS, &mut (watch, &mut steps));

    let mut pass = hash.value() == HASH;
    for (name, mean, exact) in [("<s>", &spin, ISING_MEAN_SPIN), ("<ss'>", &edge, ISING_EDGE)] {
        let error = mean.standard_error().unwrap_or(0.0);
        let z = (mean.mean() - exact) / error;
        pass &= z > -Z && z < Z;
        defmt::info!(
            "{=str} {=f32}, exact {=f32}, standard error {=f32}, z {=f32}",
            name,
            mean.mean(),
            exact,
            error,
            z
        );
    }
    let (rate, proposed, moved) = (steps.rate(), steps.proposed(), steps.jump_distance());
    defmt::info!("acceptance {=f32}, {=f32} sites proposed and {=f32} moved a step", rate, proposed, moved);
    defmt::info!("hash {=u32:08x}", hash.value());
    pass
}
