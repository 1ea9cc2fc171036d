//! Snapshots: a run to bytes and back.

use crate::chain::{bitmc_chain, with as with_chain};
use crate::exchange::{Rungs, all_of, bitmc_ladder, bitmc_replica, with as with_replica};
use crate::handle::{Handle, answer, asked, slice};
use crate::random::bitmc_rng;
use crate::statistics::{Statistics, bitmc_stats};
use crate::status::{Outcome, bitmc_status};
use bitmc::LaneRng;
use bitmc::snapshot::{Reader, Same, Writer};

/// Seals what `parts` puts. They are written twice, first for their length: where anything is refused, `out` is as it
/// was.
pub(crate) unsafe fn sealed(
    (out, bytes): (*mut u8, usize),
    written: *mut usize,
    parts: impl for<'w> Fn(Writer<'w>) -> Outcome<Writer<'w>>,
) -> Outcome {
    let asked = asked(written)?;
    if bytes > 0 && out.is_null() {
        return Err(bitmc_status::Null);
    }
    let need = parts(Writer::new(&mut []))?.need();
    // SAFETY: as the crate says; the bytes are made numbers before they are looked at.
    unsafe {
        if asked {
            answer(written, need)?;
        }
        if bytes < need {
            return Err(bitmc_status::Memory);
        }
        core::ptr::write_bytes(out, 0, need);
        parts(Writer::new(core::slice::from_raw_parts_mut(out, need)))?.finish()?;
    }
    Ok(())
}

/// A run as bytes: the chain, its generator and its statistics; those that are null are left out. The number `model`
/// is the caller's, such as a hash of the parameters. Without it the bytes cannot be loaded. The answer `written`
/// (unless it is null) is how many bytes there are, or, with BITMC_STATUS_MEMORY, how many are needed. A refusal
/// leaves `out` as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_save(
    model: u64,
    chain: *mut bitmc_chain,
    rng: *mut bitmc_rng,
    stats: *mut bitmc_stats,
    out: *mut u8,
    bytes: usize,
    written: *mut usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let save = unsafe {
        sealed((out, bytes), written, |writer| {
            let mut writer = writer.put(&Same(model));
            if !chain.is_null() {
                writer = with_chain(chain, |it| writer.put(it))?;
            }
            if !rng.is_null() {
                writer = LaneRng::with(rng, |it| writer.put(it))?;
            }
            if !stats.is_null() {
                writer =
                    Statistics::with(stats, |it| writer.put(&it.acceptance).put(&it.energy).put(&it.means))?;
            }
            Ok(writer)
        })
    };
    bitmc_status::of(save)
}

/// Goes on from the bytes of bitmc_save with the same parts, over the same model: bit for bit as if the run had never stopped.
/// What is torn, altered, of another version or of another model is refused before anything is changed. Where the parts are
/// others than those that were saved, BITMC_STATUS_OTHER, some may have been filled. Bytes after the snapshot are not looked
/// at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_load(
    model: u64,
    chain: *mut bitmc_chain,
    rng: *mut bitmc_rng,
    stats: *mut bitmc_stats,
    bytes: *const u8,
    count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let load = || unsafe {
        let mut reader = Reader::new(slice(bytes, count)?)?;
        reader.get(&mut Same(model))?;
        // All parts are there, or none is filled.
        if !rng.is_null() {
            LaneRng::look(rng)?;
        }
        if !stats.is_null() {
            Statistics::look(stats)?;
        }
        let mut sites = usize::MAX;
        if !chain.is_null() {
            sites = with_chain(chain, |it| reader.get(it).map(|_| it.state().layout().sites()))??;
        }
        if !rng.is_null() {
            LaneRng::with(rng, |it| reader.get(it).map(|_| ()))??;
        }
        if !stats.is_null() {
            Statistics::with(stats, |it| {
                reader.get(&mut it.acceptance)?.get(&mut it.energy)?.get(&mut it.means)?;
                it.loaded(sites);
                Ok::<(), bitmc_status>(())
            })??;
        }
        Ok(reader.finish()?)
    };
    bitmc_status::of(load())
}

/// Replica exchange as bytes: the ladder, all its replicas, the generator. As bitmc_save. BITMC_STATUS_COUNT where
/// `count` is not the number of its rungs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_exchange_save(
    model: u64,
    ladder: *mut bitmc_ladder,
    replicas: *mut bitmc_replica,
    count: usize,
    rng: *mut bitmc_rng,
    out: *mut u8,
    bytes: usize,
    written: *mut usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let save = unsafe {
        sealed((out, bytes), written, |writer| {
            all_of(ladder, count)?;
            let mut writer = Rungs::with(ladder, |it| writer.put(&Same(model)).put(it))?;
            writer = LaneRng::with(rng, |it| writer.put(it))?;
            for index in 0..count {
                writer = with_replica(replicas.wrapping_add(index), |it| writer.put(it))?;
            }
            Ok(writer)
        })
    };
    bitmc_status::of(save)
}

/// Goes on from the bytes of bitmc_exchange_save. As bitmc_load. BITMC_STATUS_COUNT where `count` is not the number of
/// rungs, BITMC_STATUS_ENERGY where an energy is not finite at a saved state. Then the parts before it have been filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_exchange_load(
    model: u64,
    ladder: *mut bitmc_ladder,
    replicas: *mut bitmc_replica,
    count: usize,
    rng: *mut bitmc_rng,
    bytes: *const u8,
    byte_count: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let load = || unsafe {
        all_of(ladder, count)?;
        let mut reader = Reader::new(slice(bytes, byte_count)?)?;
        reader.get(&mut Same(model))?;
        // All parts are there, or none is filled.
        LaneRng::look(rng)?;
        for index in 0..count {
            with_replica(replicas.wrapping_add(index), |_| ())?;
        }
        Rungs::with(ladder, |it| reader.get(it).map(|_| ()))??;
        LaneRng::with(rng, |it| reader.get(it).map(|_| ()))??;
        for index in 0..count {
            with_replica(replicas.wrapping_add(index), |it| reader.get(it).map(|_| ()))??;
        }
        Ok(reader.finish()?)
    };
    bitmc_status::of(load())
}
