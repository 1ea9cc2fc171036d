//! Chains whose energy is evaluated elsewhere: a step in two halves, ask and tell.

use crate::chain::bitmc_info;
use crate::handle::{Borrowed, Handle, Span, answer, asked, bytes_of, slice};
use crate::model::{bitmc_state, layout_of, view};
use crate::random::bitmc_rng;
use crate::sampler::{Sampler, bitmc_sampler};
use crate::seat::{Cache, Place, Weights, Words, parts, pieces};
use crate::snapshot::sealed;
use crate::status::{Outcome, bitmc_status};
use bitmc::chain::Memory;
use bitmc::open::gradient_len;
use bitmc::snapshot::{Reader, Same};
use bitmc::{LaneRng, Layout, Open, Packed};

/// A chain that is told its energies: by a network, another processor, the next tick.
#[repr(C)]
pub struct bitmc_open {
    opaque: [u64; 88],
}

pub(crate) type Own = Open<'static, Words, Cache, Weights>;

struct Placed {
    chain: Own,
    place: Place,
}

impl Handle<bitmc_open> for Placed {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm open ");
}

/// The chain in a struct, if its memory is still its own and nothing of `read` lies there: that is looked at within the work.
unsafe fn with<T>(
    open: *mut bitmc_open,
    read: &[Span],
    work: impl FnOnce(&mut Own) -> Outcome<T>,
) -> Outcome<T> {
    // SAFETY: as the crate says.
    unsafe {
        Placed::with(open, |it| {
            Span::all_apart(&[it.place.memory], read)?;
            it.place.ready()?;
            work(&mut it.chain)
        })?
    }
}

/// The words of a state of a chain.
fn state(layout: Layout, words: &[u32]) -> Outcome<Packed<'_>> {
    Ok(Packed::new(layout, words)?)
}

/// Bytes of memory for bitmc_open_init; 0 where there are no such sites.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_open_bytes(sites: usize, arity: usize, kind: u32) -> usize {
    let bytes = |layout| bytes_of(&pieces(layout, 0, Memory::weights_and_gradients(layout)));
    layout_of(sites, arity, kind).map_or(0, bytes)
}

/// A chain over `sites` sites of `arity` values. It starts at the state in `words`, exactly as many as it has, and is told
/// the energy and the gradient there. The number `kind` is BITMC_CATEGORICAL or BITMC_ORDINAL (either, for two
/// values). The array `arities` has the number of values of every site where they differ, 1 to `arity`, and is
/// borrowed; otherwise it is null.
///
/// A gradient has one number a site: on the scale of 0 and 1 for two values, by value for whole numbers. Categories of
/// more than two values have `arity` numbers a site, `[site][value]`. Null and 0 say that there is no gradient: a state of energy
/// +inf needs none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_init(
    open: *mut bitmc_open,
    sites: usize,
    arity: usize,
    kind: u32,
    arities: *const u16,
    memory: *mut u8,
    bytes: usize,
    words: *const u32,
    word_count: usize,
    energy: f32,
    gradient: *const f32,
    gradient_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let layout = layout_of(sites, arity, kind)?;
        let span = Span::of(memory, bytes);
        let of = [Span::of(arities, sites), Span::of(words, word_count), Span::of(gradient, gradient_count)];
        Placed::room(open)?;
        Span::all_apart(&[span, Span::of(open, 1)], &of)?;
        let arities = if arities.is_null() { None } else { Some(slice(arities, sites)?) };
        let (words, gradient) = (slice(words, word_count)?, slice(gradient, gradient_count)?);
        let start = state(layout, words)?;
        if gradient_count != 0 && gradient_count != gradient_len(layout) {
            return Err(bitmc_status::Gradient);
        }
        let blocks = Memory::weights_and_gradients(layout);
        let mut borrowed = Borrowed::new(memory, bytes, &pieces(layout, 0, blocks))?;
        let place = Place::next(&borrowed, span)?;
        Placed::make(open, || {
            let memory = parts(&mut borrowed, layout, 0, blocks)?;
            let chain = place.work(|| Own::new(layout, arities, memory, start, energy, gradient))?;
            Ok(Placed { chain, place })
        })
    };
    bitmc_status::of(build())
}

/// The first half of a step: draws the proposed state, to look at until the next call with this chain. Evaluate its energy and
/// gradient, and tell them by bitmc_open_tell. Until then, to ask again gives the same state. BITMC_STATUS_HALVES for Gibbs
/// sampling.
///
/// `gradient` is null, and its count 0: the chain keeps the gradient of its state. For categories of 65 values or more it keeps
/// none, and it is given here. BITMC_STATUS_GRADIENT where it is missing; then nothing is drawn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_ask(
    open: *mut bitmc_open,
    sampler: *const bitmc_sampler,
    gradient: *const f32,
    gradient_count: usize,
    rng: *mut bitmc_rng,
    proposed: *mut bitmc_state,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let ask = || unsafe {
        if !asked(proposed)? {
            return Err(bitmc_status::Null);
        }
        let drawn = Sampler::apply(sampler, |sampler| {
            with(open, &[Span::of(gradient, gradient_count)], |chain| {
                let slopes = slice(gradient, gradient_count)?;
                LaneRng::with(rng, |rng| sampler.ask(chain, slopes, rng).map(view))?
            })
        })??;
        answer(proposed, drawn)
    };
    bitmc_status::of(ask())
}

/// The second half of a step: takes the energy and the gradient at the proposed state, and accepts or rejects it. An energy of
/// +inf forbids the state. What the step did, unless `info` is null. Draws nothing. Where the call is refused the proposal stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_tell(
    open: *mut bitmc_open,
    energy: f32,
    gradient: *const f32,
    gradient_count: usize,
    info: *mut bitmc_info,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let tell = || unsafe {
        let asked = asked(info)?;
        let did = with(open, &[Span::of(gradient, gradient_count)], |chain| {
            Ok(chain.tell(energy, slice(gradient, gradient_count)?)?)
        })?;
        if asked { answer(info, did.into()) } else { Ok(()) }
    };
    bitmc_status::of(tell())
}

/// The state, to look at until the next call with this chain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_state(open: *mut bitmc_open, state: *mut bitmc_state) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        with(open, &[], |chain| Ok(view(chain.state()))).and_then(|value| answer(state, value))
    })
}

/// The energy of the state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_energy(open: *mut bitmc_open, energy: *mut f32) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        with(open, &[], |chain| Ok(chain.energy())).and_then(|value| answer(energy, value))
    })
}

/// Moves the chain to a state, clamped sites too, with its energy and gradient, and cancels a proposal. Where it is refused the
/// chain is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_restart(
    open: *mut bitmc_open,
    words: *const u32,
    word_count: usize,
    energy: f32,
    gradient: *const f32,
    gradient_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let restart = || unsafe {
        let of = [Span::of(words, word_count), Span::of(gradient, gradient_count)];
        with(open, &of, |chain| {
            let start = state(chain.state().layout(), slice(words, word_count)?)?;
            Ok(chain.restart(start, energy, slice(gradient, gradient_count)?)?)
        })
    };
    bitmc_status::of(restart())
}

/// Tells the energy and the gradient at the chain's state again, after the model has changed, and cancels a proposal. Where it
/// is refused the chain is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_rebind(
    open: *mut bitmc_open,
    energy: f32,
    gradient: *const f32,
    gradient_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let rebind = || unsafe {
        with(open, &[Span::of(gradient, gradient_count)], |chain| {
            Ok(chain.rebind(energy, slice(gradient, gradient_count)?)?)
        })
    };
    bitmc_status::of(rebind())
}

/// As bitmc_chain_clamp; cancels a proposal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_clamp(
    open: *mut bitmc_open,
    words: *const u32,
    word_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let clamp = || unsafe {
        with(open, &[Span::of(words, word_count)], |chain| {
            let layout = Layout::binary(chain.state().layout().sites());
            let held = state(layout, slice(words, word_count)?)?;
            Ok(chain.clamp(held)?)
        })
    };
    bitmc_status::of(clamp())
}

/// An open chain and its generator (unless that is null) as bytes, between the halves of a step too. As bitmc_save.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_save(
    model: u64,
    open: *mut bitmc_open,
    rng: *mut bitmc_rng,
    out: *mut u8,
    bytes: usize,
    written: *mut usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let save = unsafe {
        sealed((out, bytes), written, |writer| {
            let writer = with(open, &[], |it| Ok(writer.put(&Same(model)).put(it)))?;
            if rng.is_null() { Ok(writer) } else { LaneRng::with(rng, |it| writer.put(it)) }
        })
    };
    bitmc_status::of(save)
}

/// Goes on from the bytes of bitmc_open_save: a proposal that was not told yet is asked again, the same state. As bitmc_load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_open_load(
    model: u64,
    open: *mut bitmc_open,
    rng: *mut bitmc_rng,
    bytes: *const u8,
    count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let load = || unsafe {
        // Both parts are there, or none is filled.
        if !rng.is_null() {
            LaneRng::look(rng)?;
        }
        let mut reader = with(open, &[Span::of(bytes, count)], |it| {
            let mut reader = Reader::new(slice(bytes, count)?)?;
            reader.get(&mut Same(model))?.get(it)?;
            Ok(reader)
        })?;
        if !rng.is_null() {
            LaneRng::with(rng, |it| reader.get(it).map(|_| ()))??;
        }
        Ok(reader.finish()?)
    };
    bitmc_status::of(load())
}
