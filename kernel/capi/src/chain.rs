//! Chains.

use crate::handle::{Handle, Lent, answer, bytes_of, slice};
use crate::model::{Model, bitmc_model, bitmc_state, view};
use crate::random::bitmc_rng;
use crate::sampler::{Sampler, bitmc_sampler};
use crate::statistics::{Statistics, bitmc_stats};
use crate::status::{Outcome, bitmc_status};
use bitmc::chain::Memory;
use bitmc::lane::{Bits, Block};
use bitmc::{Chain, Energy, Info, LaneRng, Layout, Packed};

/// A chain.
#[repr(C)]
pub struct bitmc_chain {
    opaque: [u64; 32],
}

/// What a step did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bitmc_info {
    /// 1 where the chain moved to what was proposed.
    pub accepted: u32,
    /// Sites that the proposal changed.
    pub proposed: u32,
    /// The log of the acceptance ratio.
    pub log_ratio: f32,
    /// The difference of the energies.
    pub difference: f32,
    /// 1 where the energy gave NaN or minus infinity, or its gradient NaN.
    pub fault: u32,
}

impl From<Info> for bitmc_info {
    fn from(info: Info) -> Self {
        let Info { accepted, proposed, log_ratio, difference, fault } = info;
        Self { accepted: u32::from(accepted), proposed, log_ratio, difference, fault: u32::from(fault) }
    }
}

pub(crate) type Words = &'static mut [u32];
pub(crate) type Cache = &'static mut [Bits];
pub(crate) type Weights = &'static mut [Block];
type Own = Chain<'static, Model, Words, Cache, Weights>;

impl Handle<bitmc_chain> for Own {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm chain");
}

/// The chain in a struct, for the snapshots.
pub(crate) unsafe fn with<T>(chain: *mut bitmc_chain, work: impl FnOnce(&mut Own) -> T) -> Outcome<T> {
    // SAFETY: as the crate says.
    unsafe { Own::with(chain, work) }
}

pub(crate) fn bytes(layout: Layout, cache: usize) -> usize {
    let block = size_of::<Block>();
    let (weights, words) = (Memory::weights(layout), Memory::words(layout));
    bytes_of(&[
        weights.saturating_mul(block),
        Memory::cache(cache).saturating_mul(block),
        words.saturating_mul(4),
    ])
}

pub(crate) unsafe fn memory(
    layout: Layout,
    cache: usize,
    memory: *mut u8,
    bytes: usize,
) -> Outcome<Memory<Words, Cache, Weights>> {
    // SAFETY: as the crate says; all of it is numbers.
    unsafe {
        let mut lent = Lent::new(memory, bytes)?;
        Ok(Memory {
            weights: lent.zeros(Memory::weights(layout))?,
            cache: lent.zeros(Memory::cache(cache))?,
            words: lent.zeros(Memory::words(layout))?,
        })
    }
}

/// Bytes of memory for a chain over a model; 0 where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_bytes(model: *const bitmc_model) -> usize {
    // SAFETY: as the crate says.
    unsafe { Model::borrow(model) }.map_or(0, |model| bytes(model.layout(), model.cache_len()))
}

/// A chain that starts at independent uniform values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_init(
    chain: *mut bitmc_chain,
    model: *const bitmc_model,
    lent: *mut u8,
    bytes: usize,
    rng: *mut bitmc_rng,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let model = Model::borrow(model)?;
        let memory = memory(model.layout(), model.cache_len(), lent, bytes)?;
        LaneRng::with(rng, |rng| Chain::random(model, memory, rng))??.place(chain)
    };
    bitmc_status::of(build())
}

/// A chain that starts at a state, given by its words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_init_at(
    chain: *mut bitmc_chain,
    model: *const bitmc_model,
    lent: *mut u8,
    bytes: usize,
    words: *const u32,
    word_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let model = Model::borrow(model)?;
        let memory = memory(model.layout(), model.cache_len(), lent, bytes)?;
        Chain::new(model, memory, Packed::new(model.layout(), slice(words, word_count)?)?)?.place(chain)
    };
    bitmc_status::of(build())
}

/// Holds the sites whose bit in `words` is 1 at their present values; the others are free. Bit i of word j is
/// site 32 j + i, whatever the values of a site are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_clamp(
    chain: *mut bitmc_chain,
    words: *const u32,
    word_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let clamp = || unsafe {
        let words = slice(words, word_count)?;
        with(chain, |chain| {
            let held = Packed::new(Layout::binary(chain.state().layout().sites()), words)?;
            Ok(chain.clamp(held)?)
        })?
    };
    bitmc_status::of(clamp())
}

/// One step; what it did, unless `info` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_step(
    chain: *mut bitmc_chain,
    sampler: *const bitmc_sampler,
    rng: *mut bitmc_rng,
    info: *mut bitmc_info,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let step = || unsafe {
        let sampler = Sampler::copy(sampler)?;
        let did = with(chain, |chain| LaneRng::with(rng, |rng| chain.step(&sampler, rng)))??;
        if info.is_null() { Ok(()) } else { answer(info, did.into()) }
    };
    bitmc_status::of(step())
}

/// `steps` steps, each shown to `stats` unless it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_run(
    chain: *mut bitmc_chain,
    sampler: *const bitmc_sampler,
    rng: *mut bitmc_rng,
    steps: u64,
    stats: *mut bitmc_stats,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let run = || unsafe {
        let sampler = Sampler::copy(sampler)?;
        with(chain, |chain| {
            LaneRng::with(rng, |rng| {
                if stats.is_null() {
                    chain.run(&sampler, rng, steps, &mut ());
                    Ok(())
                } else {
                    Statistics::with(stats, |stats| chain.run(&sampler, rng, steps, stats))
                }
            })
        })??
    };
    bitmc_status::of(run())
}

/// The state, to look at until the next call with this chain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_state(chain: *mut bitmc_chain, state: *mut bitmc_state) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { with(chain, |chain| view(chain.state())).and_then(|value| answer(state, value)) })
}

/// The energy of the state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_energy(chain: *mut bitmc_chain, energy: *mut f32) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { with(chain, |chain| chain.energy()).and_then(|value| answer(energy, value)) })
}
