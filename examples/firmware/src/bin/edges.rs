//! Second order on a critical 16×16 Ising torus, one whole number an edge: every move is accepted.
#![no_std]
#![no_main]

use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::IsingBalanced;
use bitmc::{Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, torus};
use bitmc_chains::hash::Hash;
use bitmc_firmware::{count::Counter, entry, report};

const L: Layout = Layout::binary(256);
const STEPS: u32 = 512;
/// Rows of neighbours that the edges of the torus fall into.
const RUNS: usize = 34;
/// The hash of every state and `Info`: the same on every machine.
const HASH: u32 = 0xfc8a_a9b8;
/// What statics and stack may take together.
const RAM: usize = 65_536;

#[entry]
fn main() -> ! {
    report("edges", RAM, sample)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let mut couplings = SparseMemory::<256, 1024>::new();
    let model = Ising::spins_edges_once(256, torus(16, 16, 0.4407), &[], couplings.borrow()).ok()?;
    let matrix = SparseMatrix::of(model.form());
    let (mut d, mut runs) = ([[0.0; 16]; Edgewise::blocks(256)], [Run::default(); RUNS]);
    let noise = Edgewise::new(matrix, &mut d).ok()?.by_runs(&mut runs).ok()?;
    let sampler = IsingBalanced::discrete(noise, f32::INFINITY, 1.0).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(256)), &mut rng).ok()?;
    let (mut hash, mut moved, mut instructions, mut exact) = (Hash::new(), 0, 0u32, true);
    for step in 0..STEPS {
        let counter = Counter::start();
        let info = chain.step(&sampler, &mut rng);
        if step >= STEPS - 16 {
            instructions = instructions.wrapping_add(counter.instructions());
        }
        hash.words(chain.state().words());
        hash.info(&info);
        moved += info.moved();
        exact &= info.accepted && info.log_ratio == 0.0;
    }
    defmt::info!("instructions a site and step: {=u32}", instructions / (16 * 256));
    defmt::info!("{=f32} sites moved a step, hash {=u32:08x}", moved as f32 / STEPS as f32, hash.value());
    defmt::info!("every move accepted: {=bool}", exact);
    Some(exact && hash.value() == HASH)
}
