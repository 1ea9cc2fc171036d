//! What the page calls. Numbers go in and out as they are. Words and texts are read from the module's memory: a call
//! gives their address. Calls that can fail give 1, or 0 and leave the reason in [`text_at`].
//!
//! Names without a prefix are what the loader of a page sees; no other symbol of this module has them.

mod committed;
mod digits;
mod lattice;
mod loan;
mod plane;

use bitmc::Rbm;
use committed::COMMITTED;
use digits::Digits;
use lattice::{Lattice, Settings};
use plane::Plane;
use std::cell::RefCell;

#[derive(Default)]
struct Page {
    lattice: Option<Lattice>,
    rbm: Option<&'static Rbm<'static>>,
    digits: Option<Digits>,
    plane: Option<Plane>,
    /// Bytes that the page writes before a call.
    bytes: Vec<u8>,
    /// The mask of held pixels and what is drawn, which the page writes.
    held: [[u32; digits::WORDS]; 2],
    text: String,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

fn with<T>(call: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(call)
}

/// 1, or 0 with a reason.
fn done(call: impl FnOnce(&mut Page) -> Result<(), String>) -> u32 {
    with(|page| match call(page) {
        Ok(()) => 1,
        Err(reason) => {
            page.text = reason;
            0
        }
    })
}

fn of_lattice(value: impl FnOnce(&Lattice) -> f64) -> f64 {
    with(|page| page.lattice.as_ref().map_or(f64::NAN, value))
}

/// Where the last text is: the reason of a refusal, or a name.
#[unsafe(no_mangle)]
pub extern "C" fn text_at() -> *const u8 {
    with(|page| page.text.as_ptr())
}

/// Bytes of the last text, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    with(|page| page.text.len())
}

/// A lattice of `side` × `side` fair coins, or of spins that are all up where `aligned` is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_start(
    side: u32,
    seed: u32,
    aligned: u32,
    temperature: f32,
    field: f32,
    sampler: u32,
) -> u32 {
    done(|page| {
        // The old one goes first: a phone has not the memory for two.
        page.lattice = None;
        page.lattice = Some(Lattice::new(side, seed, aligned != 0, Settings { temperature, field, sampler })?);
        Ok(())
    })
}

/// Other settings for the same spins.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_set(temperature: f32, field: f32, sampler: u32) -> u32 {
    done(|page| match &mut page.lattice {
        Some(lattice) => lattice.set(Settings { temperature, field, sampler }),
        None => Err("no lattice has been started".into()),
    })
}

/// Some steps of the lattice.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_run(steps: u32) {
    with(|page| {
        if let Some(lattice) = &mut page.lattice {
            lattice.run(steps);
        }
    });
}

/// Where the spins are, 32 a word, row by row.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_words() -> *const u32 {
    with(|page| page.lattice.as_ref().map_or(std::ptr::null(), |lattice| lattice.state().words().as_ptr()))
}

/// The energy a site.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_energy() -> f64 {
    of_lattice(Lattice::energy)
}

/// The magnetisation a site.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_magnetisation() -> f64 {
    of_lattice(Lattice::magnetisation)
}

/// Sites that moved since the last change of settings.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_moved() -> f64 {
    of_lattice(|lattice| lattice.since.1)
}

/// The share of steps that were accepted since the last change of settings.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_acceptance() -> f64 {
    of_lattice(|lattice| lattice.since.2 / lattice.since.0)
}

/// The step size of DMALA; 0 of other samplers.
#[unsafe(no_mangle)]
pub extern "C" fn lattice_step_size() -> f64 {
    of_lattice(Lattice::step_size)
}

/// Room for `length` bytes, which [`digits_model`] reads.
#[unsafe(no_mangle)]
pub extern "C" fn bytes(length: usize) -> *mut u8 {
    with(|page| {
        page.bytes = vec![0; length];
        page.bytes.as_mut_ptr()
    })
}

/// Makes the model of the three NumPy files in [`bytes`], and frees these.
#[unsafe(no_mangle)]
pub extern "C" fn digits_model() -> u32 {
    done(|page| {
        page.rbm = Some(digits::model(&std::mem::take(&mut page.bytes))?);
        Ok(())
    })
}

/// Where the page writes the mask of held pixels, and behind it what is drawn, 25 words each.
#[unsafe(no_mangle)]
pub extern "C" fn digits_held() -> *mut u32 {
    with(|page| page.held.as_flattened_mut().as_mut_ptr())
}

/// Chains from noise, with the pixels of [`digits_held`] held.
#[unsafe(no_mangle)]
pub extern "C" fn digits_start(count: u32, seed: u32, sampler: u32) -> u32 {
    done(|page| {
        let rbm = page.rbm.ok_or("there is no model of digits")?;
        let [mask, drawn] = &page.held;
        page.digits = Some(Digits::new(rbm, count, seed, sampler, (mask, drawn))?);
        Ok(())
    })
}

/// Some steps of every chain of digits.
#[unsafe(no_mangle)]
pub extern "C" fn digits_run(steps: u32) {
    with(|page| {
        if let Some(digits) = &mut page.digits {
            digits.run(steps);
        }
    });
}

/// Where the pixels of a chain are, 32 a word, row by row. 0 where the chain does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn digits_words(chain: u32) -> *const u32 {
    with(|page| {
        let state = page.digits.as_ref().and_then(|digits| digits.state(chain));
        state.map_or(std::ptr::null(), |state| state.words().as_ptr())
    })
}

/// Chains of two samplers, DMALA and ACS, in one corner of a plane with twenty-five modes.
#[unsafe(no_mangle)]
pub extern "C" fn plane_start(count: u32, seed: u32) -> u32 {
    done(|page| {
        page.plane = Some(Plane::new(count, seed)?);
        Ok(())
    })
}

/// Some steps of every chain in the plane.
#[unsafe(no_mangle)]
pub extern "C" fn plane_run(steps: u32) {
    with(|page| {
        if let Some(plane) = &mut page.plane {
            plane.run(steps);
        }
    });
}

/// Where the counts of a sampler are, 150 rows of 150 bins. 0 where the sampler does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn plane_counts(sampler: u32) -> *const u32 {
    with(|page| {
        let counts = page.plane.as_ref().and_then(|plane| plane.counts(sampler));
        counts.map_or(std::ptr::null(), <[u32]>::as_ptr)
    })
}

/// Modes that a chain of a sampler has found, the mean over its chains.
#[unsafe(no_mangle)]
pub extern "C" fn plane_found(sampler: u32) -> f64 {
    with(|page| page.plane.as_ref().map_or(f64::NAN, |plane| plane.found(sampler)))
}

/// How many committed chains there are here. Leaves the name of one in [`text_at`].
#[unsafe(no_mangle)]
pub extern "C" fn committed_count(index: u32) -> usize {
    with(|page| page.text = COMMITTED.get(index as usize).map_or(String::new(), |chain| chain.name.into()));
    COMMITTED.len()
}

/// The committed hash of a chain.
#[unsafe(no_mangle)]
pub extern "C" fn committed_hash(index: u32) -> u32 {
    COMMITTED.get(index as usize).map_or(0, |chain| chain.hash)
}

/// Runs a committed chain; its hash.
#[unsafe(no_mangle)]
pub extern "C" fn committed_run(index: u32) -> u32 {
    COMMITTED.get(index as usize).map_or(0, |chain| (chain.run)())
}
