//! Stands in a copy of the kernel, beside its mutants: which of them is switched on, and which places a test reaches.

extern crate std;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::io::Write;
use std::string::String;

const RECORD: u32 = u32::MAX;
static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX - 1);
static SEEN: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];

/// Before `main`: `BITMC_MUTANT` is a number, or the path of a file for the places that are reached.
extern "C" fn choose() {
    if let Ok(text) = std::env::var("BITMC_MUTANT") {
        CHOSEN.store(text.parse().unwrap_or(RECORD), Relaxed);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CHOOSE: extern "C" fn() = choose;

#[cold]
#[inline(never)]
fn seen(first: u32) {
    if !SEEN[first as usize].swap(true, Relaxed) {
        let path = std::env::var("BITMC_MUTANT").unwrap_or_default();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let line: String = std::format!("{first}\n");
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of places is written");
    }
}

fn now(first: u32) -> u32 {
    let chosen = CHOSEN.load(Relaxed);
    if chosen == RECORD {
        seen(first);
    }
    chosen.wrapping_sub(first)
}

const fn none(_: u32) -> u32 {
    u32::MAX
}

/// Which mutant of a place is on, counted from its first one; a number past them where none is. At compile time none is.
#[inline]
pub(crate) const fn at(first: u32) -> u32 {
    core::intrinsics::const_eval_select((first,), none, now)
}
