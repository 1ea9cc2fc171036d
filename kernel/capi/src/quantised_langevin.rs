//! DMALA without floats.

use crate::handle::{Handle, Span, answer, asked, slice};
use crate::model::{bitmc_state, view};
use crate::quantised::{bitmc_entry, rows, slice_mut, tables};
use crate::random::bitmc_rng;
use crate::status::bitmc_status;
use bitmc::LaneRng;
use bitmc::quantised::{Penalty, QuantisedInfo, QuantisedLangevin};

/// A chain of DMALA over bits with p(x) proportional to 2^((b.x + x.Kx / 2) / 65536), b and K whole numbers. It has
/// its own model, and touches no floating-point register.
#[repr(C)]
pub struct bitmc_quantised_langevin {
    opaque: [u64; 30],
}

struct Own {
    chain: QuantisedLangevin<'static>,
    /// Where its words, flips and fields lie.
    written: [Span; 3],
}

impl Handle<bitmc_quantised_langevin> for Own {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm jumps");
}

/// A chain that starts at the state in `words`, over the rows that `bitmc_quantised_init` takes. The number `penalty`
/// is the log odds against a flip that changes nothing, 65,536 a factor of two, at most 2^30. It is 47,274 divided by
/// the step size. The array `fields` is room for a number a site, `flips` for as many words as the state has. All six
/// are borrowed, without a byte in common of `words`, `fields` and `flips` with another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_langevin_init(
    chain: *mut bitmc_quantised_langevin,
    ends: *const u32,
    entries: *const bitmc_entry,
    entry_count: usize,
    linear: *const i32,
    sites: usize,
    penalty: u32,
    words: *mut u32,
    flips: *mut u32,
    word_count: usize,
    fields: *mut i32,
    field_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let state = Span::of(words, word_count);
        let room = (Span::of(flips, word_count), Span::of(fields, field_count));
        let written = [Span::of(chain, 1), state, room.0, room.1];
        Span::all_apart(&written, &tables(ends, entries, entry_count, linear, sites))?;
        let model = rows(ends, entries, entry_count, linear, sites)?;
        let penalty = Penalty::from_units(penalty)?;
        let (words, flips) = (slice_mut(words, word_count)?, slice_mut(flips, word_count)?);
        let fields = slice_mut(fields, field_count)?;
        if field_count < sites {
            return Err(bitmc_status::Memory);
        }
        Own::room(chain)?;
        // Made first: a chain that is in the struct stays where the words are no state.
        let made = QuantisedLangevin::new(model, penalty, words, fields, flips)?;
        Own { chain: made, written: [state, room.0, room.1] }.place(chain)
    };
    bitmc_status::of(build())
}

/// As bitmc_quantised_set_linear.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_langevin_set_linear(
    chain: *mut bitmc_quantised_langevin,
    linear: *const i32,
    sites: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let set = || unsafe {
        let span = Span::of(linear, sites);
        Span::of(chain, 1).apart(span)?;
        Own::with(chain, |it| {
            Span::all_apart(&[span], &it.written)?;
            Ok(it.chain.set_linear(slice(linear, sites)?)?)
        })?
    };
    bitmc_status::of(set())
}

/// A step: whether it was accepted (1 or 0), and how many sites the proposal changed, each unless null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_langevin_step(
    chain: *mut bitmc_quantised_langevin,
    rng: *mut bitmc_rng,
    accepted: *mut u32,
    proposed: *mut u32,
) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        stepped(chain, accepted, proposed, |it| LaneRng::with(rng, |rng| it.chain.step(rng)))
    })
}

/// A step that moves only the sites whose bit in `free` is 1. All others are clamped, also those beyond its
/// `word_count` words. The rest is drawn from p given them. Answers as bitmc_quantised_langevin_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_langevin_step_free(
    chain: *mut bitmc_quantised_langevin,
    rng: *mut bitmc_rng,
    free: *const u32,
    word_count: usize,
    accepted: *mut u32,
    proposed: *mut u32,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let step = || unsafe {
        let span = Span::of(free, word_count);
        Span::all_apart(&[Span::of(chain, 1), Span::of(rng, 1)], &[span])?;
        stepped(chain, accepted, proposed, |it| {
            Span::all_apart(&[span], &it.written)?;
            let free = slice(free, word_count)?;
            LaneRng::with(rng, |rng| it.chain.step_free(free, rng))
        })
    };
    bitmc_status::of(step())
}

/// Answers what a step did.
unsafe fn stepped(
    chain: *mut bitmc_quantised_langevin,
    accepted: *mut u32,
    proposed: *mut u32,
    step: impl FnOnce(&mut Own) -> Result<QuantisedInfo, bitmc_status>,
) -> Result<(), bitmc_status> {
    // SAFETY: as the crate says.
    unsafe {
        let (accepted_asked, proposed_asked) = (asked(accepted)?, asked(proposed)?);
        let step = Own::with(chain, step)??;
        if accepted_asked {
            answer(accepted, u32::from(step.accepted))?;
        }
        if proposed_asked { answer(proposed, step.proposed) } else { Ok(()) }
    }
}

/// The state, to look at until the next call with this chain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_langevin_state(
    chain: *mut bitmc_quantised_langevin,
    state: *mut bitmc_state,
) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        Own::with(chain, |it| view(it.chain.state())).and_then(|value| answer(state, value))
    })
}
