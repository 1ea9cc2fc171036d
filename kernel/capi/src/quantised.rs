//! Gibbs sampling without floats: what kernel code and small cores call.

use crate::handle::{Handle, Span, answer, asked, slice};
use crate::model::{bitmc_state, view};
use crate::random::bitmc_rng;
use crate::status::{Outcome, bitmc_status};
use bitmc::LaneRng;
use bitmc::energy::Entry;
use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
use core::mem::{align_of, offset_of, size_of};

/// One neighbour of a site.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bitmc_entry {
    /// The neighbour.
    pub site: u32,
    /// The coupling: 65,536 is a factor of two.
    pub coupling: i32,
}

const _: () = assert!(
    size_of::<bitmc_entry>() == size_of::<Entry>()
        && align_of::<bitmc_entry>() == align_of::<Entry>()
        && offset_of!(bitmc_entry, site) == offset_of!(Entry, site)
        && offset_of!(bitmc_entry, coupling) == offset_of!(Entry, coupling)
);

/// A chain over bits with p(x) proportional to 2^((b.x + x.Kx / 2) / 65536), b and K whole numbers. It has its
/// own model, and touches no floating-point register.
#[repr(C)]
pub struct bitmc_quantised {
    opaque: [u64; 20],
}

struct Own {
    chain: QuantisedGibbs<'static>,
    /// Where its words and fields lie.
    written: [Span; 2],
}

impl Handle<bitmc_quantised> for Own {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm whole");
}

/// The caller's numbers, to be written to.
pub(crate) unsafe fn slice_mut<'a, T>(at: *mut T, count: usize) -> Outcome<&'a mut [T]> {
    // SAFETY: as the crate says; the same checks as for a slice to be read.
    unsafe {
        slice(at.cast_const(), count)?;
        Ok(if count == 0 { &mut [] } else { core::slice::from_raw_parts_mut(at, count) })
    }
}

/// Where the caller's rows lie.
pub(crate) fn tables(
    ends: *const u32,
    entries: *const bitmc_entry,
    entry_count: usize,
    linear: *const i32,
    sites: usize,
) -> [Span; 3] {
    [Span::of(ends, sites), Span::of(entries, entry_count), Span::of(linear, sites)]
}

/// The caller's rows.
pub(crate) unsafe fn rows(
    ends: *const u32,
    entries: *const bitmc_entry,
    entry_count: usize,
    linear: *const i32,
    sites: usize,
) -> Outcome<QuantisedIsing<'static>> {
    // SAFETY: as the crate says; an entry of the header is one of the kernel.
    unsafe {
        let entries = slice(entries.cast::<Entry>(), entry_count)?;
        Ok(QuantisedIsing::from_rows(slice(ends, sites)?, entries, slice(linear, sites)?)?)
    }
}

/// A chain that starts at the state in `words`, bit i of word j being site 32 j + i. Row i of K is
/// `entries[ends[i - 1]] .. entries[ends[i] - 1]`, neighbours ascending, each edge in the rows of both its sites. The
/// array `linear` is b. The array `fields` is room for a number a site. All five are borrowed, without a byte in
/// common of `words` and `fields` with another; the tables may be in flash.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_init(
    chain: *mut bitmc_quantised,
    ends: *const u32,
    entries: *const bitmc_entry,
    entry_count: usize,
    linear: *const i32,
    sites: usize,
    words: *mut u32,
    word_count: usize,
    fields: *mut i32,
    field_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let written = [Span::of(chain, 1), Span::of(words, word_count), Span::of(fields, field_count)];
        Span::all_apart(&written, &tables(ends, entries, entry_count, linear, sites))?;
        let model = rows(ends, entries, entry_count, linear, sites)?;
        let (words, fields) = (slice_mut(words, word_count)?, slice_mut(fields, field_count)?);
        if field_count < sites {
            return Err(bitmc_status::Memory);
        }
        let [_, state, room] = written;
        Own::room(chain)?;
        // Made first: a chain that is in the struct stays where the words are no state.
        Own { chain: QuantisedGibbs::new(model, words, fields)?, written: [state, room] }.place(chain)
    };
    bitmc_status::of(build())
}

/// Goes on at its state over the same couplings with another b, one number a site, borrowed in place of the one before. No row
/// is checked again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_set_linear(
    chain: *mut bitmc_quantised,
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

/// Draws `count` sites in order, from `first` on: a whole sweep from 0, or a part of one that fits the time there
/// is. Adds the sites that changed to `flips`, unless it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_sweep(
    chain: *mut bitmc_quantised,
    rng: *mut bitmc_rng,
    first: usize,
    count: usize,
    flips: *mut u64,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let sweep = || unsafe {
        let asked = asked(flips)?;
        let flipped = Own::with(chain, |Own { chain, .. }| {
            let end = first.checked_add(count).filter(|&end| end <= chain.state().layout().sites());
            let end = end.ok_or(bitmc_status::Index)?;
            LaneRng::with(rng, |rng| chain.sweep_sites(first..end, rng))
        })??;
        if asked { answer(flips, (*flips).wrapping_add(u64::from(flipped))) } else { Ok(()) }
    };
    bitmc_status::of(sweep())
}

/// A sweep over the sites whose bit in `free` is 1. All others are clamped, also those beyond its `word_count` words.
/// The rest is drawn from p given them. Adds the sites that changed to `flips`, unless it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_sweep_free(
    chain: *mut bitmc_quantised,
    rng: *mut bitmc_rng,
    free: *const u32,
    word_count: usize,
    flips: *mut u64,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let sweep = || unsafe {
        let asked = asked(flips)?;
        let span = Span::of(free, word_count);
        Span::all_apart(&[Span::of(chain, 1), Span::of(rng, 1)], &[span])?;
        let flipped = Own::with(chain, |Own { chain, written, .. }| {
            Span::all_apart(&[span], written)?;
            let free = slice(free, word_count)?;
            LaneRng::with(rng, |rng| chain.sweep_free(free, rng))
        })??;
        if asked { answer(flips, (*flips).wrapping_add(u64::from(flipped))) } else { Ok(()) }
    };
    bitmc_status::of(sweep())
}

/// The state, to look at until the next call with this chain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_quantised_state(
    chain: *mut bitmc_quantised,
    state: *mut bitmc_state,
) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        Own::with(chain, |it| view(it.chain.state())).and_then(|value| answer(state, value))
    })
}
