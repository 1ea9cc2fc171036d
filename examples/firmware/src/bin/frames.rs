//! Models that change at run time, without an allocator. A frame that brings new fields costs a fraction of a model built anew;
//! and a graph grows and shrinks, edge by edge as it is found, in memory for the most sites.
#![no_std]
#![no_main]

use bitmc::Ising;
use bitmc::energy::{Edge, SparseError, SparseMemory};
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

#[inline(never)]
fn sample() -> Option<bool> {
    let complete = (1..8).flat_map(|b| (0..b).map(move |a| (a, b, 0.125)));
    let small = frame::<8, 56>(complete).ok()?;
    let large = frame::<64, 256>(bitmc::torus(8, 8, 0.25)).ok()?;
    let mut hash = Hash::new();
    let graph = changing::graph(black_box(1.0), &mut hash);
    defmt::info!("8 sites, 28 edges: {=u32} instructions anew, {=u32} with new fields", small.0, small.1);
    defmt::info!("64 sites, 128 edges: {=u32} instructions anew, {=u32} with new fields", large.0, large.1);
    defmt::info!("graph: {=bool}, hash {=u32:08x}", graph, hash.value());
    Some(graph && hash.value() == HASH && 10 * small.1 <= small.0 && 10 * large.1 <= large.0)
}

/// Instructions of a model built anew, and of one with new fields.
#[inline(never)]
fn frame<const SITES: usize, const ENTRIES: usize>(
    edges: impl Iterator<Item = Edge> + Clone,
) -> Result<(u32, u32), SparseError> {
    let mut memory = SparseMemory::<SITES, ENTRIES>::new();
    let (most, now, mut linear) = (black_box([1.0; SITES]), black_box([0.3; SITES]), [0; SITES]);
    let counter = Counter::start();
    let model = black_box(Ising::spins_edges_once(SITES, edges, &most, memory.borrow())?);
    let anew = counter.instructions();
    let counter = Counter::start();
    let _model = black_box(model.with_linear(&now, &mut linear)?);
    Ok((anew, counter.instructions()))
}
