//! Second order on a critical 16×16 Ising torus, one normal an edge: every move is accepted.
#![no_std]
#![no_main]

use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::{
    Chain, FixedChain, Info, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus,
};
use bitmc_chains::hash::Hash;
use bitmc_firmware::{count::Counter, entry, exit, stack};

const L: Layout = Layout::binary(256);
const STEPS: u32 = 512;
/// |ln A| below this: METHODS.md §3 gives 0, and 256 sites with logits of 30 or so round to that.
const ROUNDING: f32 = 4e-3;
/// The hash of every state and `Info`: the same on every machine.
const HASH: u32 = 0xe10e_fcb4;
/// What statics and stack may take together.
const RAM: usize = 65_536;

#[entry]
fn main() -> ! {
    stack::paint();
    let passed = with_chain(judge);
    let all = stack::statics() + stack::used();
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", all);
    let pass = passed == Some(true) && all < RAM;
    defmt::info!("edges: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

type Torus<'e, 'm> = FixedChain<'e, Ising<'m>, 24, 32, 32>;
type Sampler<'n> = Langevin<'n, Edgewise<'n>>;

#[inline(never)]
fn with_chain<T>(run: impl FnOnce(&mut Torus<'_, '_>, &Sampler<'_>, &mut LaneRng) -> T) -> Option<T> {
    let mut couplings = SparseMemory::<256, 1024>::new();
    let model = Ising::spins_edges_once(torus(16, 16, 0.4407), &[0.0; 256], couplings.lend()).ok()?;
    let mut d = [[0.0; 16]; Edgewise::blocks(256)];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).ok()?;
    let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(256)), &mut rng).ok()?;
    Some(run(&mut chain, &sampler, &mut rng))
}

fn judge(chain: &mut Torus<'_, '_>, sampler: &Sampler<'_>, rng: &mut LaneRng) -> bool {
    let (mut hash, mut moved, mut instructions, mut exact) = (Hash::new(), 0, 0u32, true);
    for step in 0..STEPS {
        let counter = Counter::start();
        let info: Info = chain.step(sampler, rng);
        if step >= STEPS - 16 {
            instructions = instructions.wrapping_add(counter.instructions());
        }
        hash.words(chain.state().words());
        hash.info(&info);
        moved += info.moved();
        exact &= info.log_ratio.abs() < ROUNDING;
    }
    defmt::info!("instructions a site and step: {=u32}", instructions / (16 * 256));
    defmt::info!("{=f32} sites moved a step, hash {=u32:08x}", moved as f32 / STEPS as f32, hash.value());
    defmt::info!("every move accepted: {=bool}", exact);
    exact && hash.value() == HASH
}
