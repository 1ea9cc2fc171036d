//! Chains.

use crate::handle::{Handle, Span, answer, asked, slice};
use crate::model::{Model, bitmc_model, bitmc_state, view};
use crate::random::{bitmc_rng, drawing};
use crate::sampler::{Sampler, bitmc_sampler};
use crate::seat::{Cache, Seated, Weights, Words, bytes, seated};
use crate::statistics::{Statistics, bitmc_stats};
use crate::status::{Outcome, bitmc_status};
use bitmc::{Chain, Energy, Info, LaneRng, Layout, Packed};

/// A chain.
#[repr(C)]
pub struct bitmc_chain {
    opaque: [u64; 36],
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
        let Info { accepted, proposed, log_ratio, difference, fault, .. } = info;
        Self { accepted: u32::from(accepted), proposed, log_ratio, difference, fault: u32::from(fault) }
    }
}

type Own = Chain<'static, Model, Words, Cache, Weights>;

impl Handle<bitmc_chain> for Seated<Own> {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm chain");
}

/// The chain in a struct, if its model and memory are still its own.
pub(crate) unsafe fn with<T>(chain: *mut bitmc_chain, work: impl FnOnce(&mut Own) -> T) -> Outcome<T> {
    // SAFETY: as the crate says.
    unsafe { Seated::with(chain, |it: &mut Seated<Own>| it.seat.hold(|| work(&mut it.value)))? }
}

/// Refuses what lies in the memory of a chain.
unsafe fn elsewhere(chain: *mut bitmc_chain, what: Span) -> Outcome {
    // SAFETY: as the crate says.
    unsafe { Seated::with(chain, |it: &mut Seated<Own>| what.apart(it.seat.memory()))? }
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
    borrowed: *mut u8,
    bytes: usize,
    rng: *mut bitmc_rng,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        Span::of(rng, 1).apart(Span::of(borrowed, bytes))?;
        drawing(rng, |rng| {
            let cache = Model::borrow(model)?.cache_len();
            seated(chain, model, cache, (borrowed, bytes), |model, memory| {
                Ok(Chain::random(model, memory, rng)?)
            })
        })
    };
    bitmc_status::of(build())
}

/// A chain that starts at a state, given by its words, exactly as many as it has, outside of the caller-provided memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_init_at(
    chain: *mut bitmc_chain,
    model: *const bitmc_model,
    borrowed: *mut u8,
    bytes: usize,
    words: *const u32,
    word_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        Span::of(words, word_count).apart(Span::of(borrowed, bytes))?;
        let (it, words) = (Model::borrow(model)?, slice(words, word_count)?);
        let start = Packed::new(it.layout(), words)?;
        seated(chain, model, it.cache_len(), (borrowed, bytes), |model, memory| {
            Ok(Chain::new(model, memory, start)?)
        })
    };
    bitmc_status::of(build())
}

/// Holds the sites whose bit in `words` is 1 at their present values; the others are free. Bit i of word j is
/// site 32 j + i, whatever the values of a site are. BITMC_STATUS_OVERLAP where they lie in the memory of the chain, as a
/// state does that it shows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_clamp(
    chain: *mut bitmc_chain,
    words: *const u32,
    word_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let clamp = || unsafe {
        elsewhere(chain, Span::of(words, word_count))?;
        let words = slice(words, word_count)?;
        with(chain, |chain| {
            let held = Packed::new(Layout::binary(chain.state().layout().sites()), words)?;
            Ok(chain.clamp(held)?)
        })?
    };
    bitmc_status::of(clamp())
}

/// Goes on at the state over another model of the same sites and values, as bitmc_model_with_linear makes them. Energy and
/// gradient are computed again, and clamped sites stay clamped. The model that the chain had is ready still, or it is the same
/// struct, made again. BITMC_STATUS_MEMORY where a model of another kind needs other memory than the chain has. Where it is
/// refused the chain is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_chain_rebind(
    chain: *mut bitmc_chain,
    model: *const bitmc_model,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let rebind = || unsafe {
        Span::of(chain, 1).apart(Span::of(model, 1))?;
        Seated::with(chain, |it: &mut Seated<Own>| {
            let Seated { value, seat } = it;
            seat.rebind(model, |model| Ok(value.rebind(model)?))
        })?
    };
    bitmc_status::of(rebind())
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
        let asked = asked(info)?;
        let did = Sampler::apply(sampler, |sampler| {
            with(chain, |chain| LaneRng::with(rng, |rng| chain.step(sampler, rng)))
        })???;
        if asked { answer(info, did.into()) } else { Ok(()) }
    };
    bitmc_status::of(step())
}

/// `steps` steps, each shown to `stats` unless it is null. BITMC_STATUS_OVERLAP where its sums lie in the memory of the
/// chain.
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
        if !stats.is_null() {
            elsewhere(chain, Statistics::with(stats, |stats| stats.sums)?)?;
        }
        Sampler::apply(sampler, |sampler| {
            with(chain, |chain| {
                LaneRng::with(rng, |rng| {
                    if stats.is_null() {
                        chain.run(sampler, rng, steps, &mut ());
                        return Ok(());
                    }
                    Statistics::with(stats, |stats| {
                        stats.see(chain.state().layout().sites());
                        chain.run(sampler, rng, steps, stats);
                    })
                })
            })
        })???
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
