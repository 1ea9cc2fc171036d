//! Models that change at run time, without an allocator. New fields cost a fraction of a new model. A graph grows and shrinks, edge
//! by edge, in memory for the most sites.
#![no_std]
#![no_main]

use bitmc::chain::FixedMemory;
use bitmc::energy::{Edge, SparseBuffers, SparseError, SparseMemory};
use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, memory, torus};
use bitmc_chains::hash::Hash;
use bitmc_firmware::{changing, count::Counter, entry, report};
use core::hint::black_box;

/// The hash of the graph that changes: the same on every machine.
const HASH: u32 = 0x0397_1e6a;
/// What statics and stack may take together.
const RAM: usize = 16_384;

#[entry]
fn main() -> ! {
    report("frames", RAM, sample)
}

/// The most instructions of new fields, each site its own, and of a chain that goes on over them: on 8 sites and on 64.
const MOST: [u32; 2] = [650, 2190];
/// The same as a loop has it, by `Chain::frames`.
const MOST_IN_A_LOOP: [u32; 2] = [900, 2460];

#[inline(never)]
fn sample() -> Option<bool> {
    let complete = (1..8).flat_map(|b| (0..b).map(move |a| (a, b, 0.125)));
    let lattice = torus(8, 8, 0.25);
    const FEW: Layout = Layout::binary(8);
    const MANY: Layout = Layout::binary(64);
    let mut pass = true;
    for (name, build) in [("spins", Build::Spins), ("bits", Build::Bits)] {
        let few = frame::<8, 56, _, _, _>(build, complete.clone(), memory!(FEW, Ising::cache_len(8)))?;
        let many = frame::<64, 256, _, _, _>(build, lattice.clone(), memory!(MANY, Ising::cache_len(64)))?;
        for (frame, (most, in_a_loop)) in [few, many].into_iter().zip(MOST.into_iter().zip(MOST_IN_A_LOOP)) {
            let Frame { sites, anew, fields, rebound, next, step } = frame;
            defmt::info!("{=str}, {=usize} sites: a model built anew {=u32} instructions", name, sites, anew);
            defmt::info!("  new fields {=u32}, rebind {=u32}, the first step {=u32}", fields, rebound, step);
            defmt::info!("  in a loop: both {=u32}", next);
            pass &= fields + rebound <= most && next <= in_a_loop;
        }
    }
    let mut hash = Hash::new();
    let graph = changing::graph(black_box(1.0), &mut hash);
    defmt::info!("graph: {=bool}, hash {=u32:08x}", graph, hash.value());
    Some(graph && hash.value() == HASH && pass)
}

/// How fields and couplings are meant.
#[derive(Clone, Copy)]
enum Build {
    Spins,
    Bits,
}

/// Instructions.
struct Frame {
    sites: usize,
    /// Of a model built anew.
    anew: u32,
    /// Of the same model with other fields, each site its own.
    fields: u32,
    /// Of a chain that goes on over it.
    rebound: u32,
    /// Of both in a loop.
    next: u32,
    /// Of its first step.
    step: u32,
}

#[inline(never)]
fn frame<const SITES: usize, const ENTRIES: usize, const W: usize, const C: usize, const B: usize>(
    build: Build,
    edges: impl Iterator<Item = Edge> + Clone,
    memory: FixedMemory<W, C, B>,
) -> Option<Frame> {
    let mut couplings = SparseMemory::<SITES, ENTRIES>::new();
    let field = |site: usize| 0.05 * (site % 16) as f32 - 0.35;
    let now: [f32; SITES] = black_box(core::array::from_fn(field));
    let first: [f32; SITES] = black_box(now.map(|field| 2.0 * field));
    let (sampler, mut rng) = (Langevin::adjusted(0.5).ok()?, LaneRng::seed_from_u64(1));
    let counter = Counter::start();
    let model = black_box(compiled::<SITES>(build, edges, &first, couplings.borrow()).ok()?);
    let anew = counter.instructions();
    let mut chain = Chain::random(&model, memory, &mut rng).ok()?;
    chain.run(&sampler, &mut rng, 16, &mut ());
    let mut linear = [0; SITES];
    let counter = Counter::start();
    let next = black_box(model.with_linear(&now, &mut linear).ok()?);
    let fields = counter.instructions();
    let counter = Counter::start();
    chain.rebind(&next).ok()?;
    let rebound = counter.instructions();
    let counter = Counter::start();
    chain.step(&sampler, &mut rng);
    let step = counter.instructions();
    let mut frames = chain.frames([[0; SITES]; 2]).ok()?;
    let counter = Counter::start();
    frames.next(&first, |_| ()).ok()?;
    let next = counter.instructions();
    Some(Frame { sites: SITES, anew, fields, rebound, next, step })
}

fn compiled<'a, const SITES: usize>(
    build: Build,
    edges: impl Iterator<Item = Edge> + Clone,
    fields: &[f32; SITES],
    memory: SparseBuffers<'a>,
) -> Result<Ising<'a>, SparseError> {
    match build {
        Build::Spins => Ising::spins_edges_once(SITES, edges, fields, memory),
        Build::Bits => Ising::bits_edges_once(SITES, edges, fields, memory),
    }
}
