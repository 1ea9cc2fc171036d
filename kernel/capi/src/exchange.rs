//! Replica exchange.

use crate::handle::{Borrowed, Handle, Span, answer, asked, bytes_of, slice};
use crate::model::{Model, bitmc_model, bitmc_state, view};
use crate::random::{bitmc_rng, drawing};
use crate::sampler::{Sampler, bitmc_sampler};
use crate::seat::{Cache, Seated, Weights, Words, bytes, seated};
use crate::status::{Outcome, bitmc_status};
use bitmc::energy::Tempered;
use bitmc::temper::{Ladder, LadderError, Replica, Rung};
use bitmc::{Energy, LaneRng};

/// A chain whose temperature can be changed.
#[repr(C)]
pub struct bitmc_replica {
    opaque: [u64; 48],
}

/// Which replica is at which inverse temperature.
#[repr(C)]
pub struct bitmc_ladder {
    opaque: [u64; 8],
}

type Own = Replica<'static, Model, Words, Cache, Weights>;
pub(crate) type Rungs = Ladder<&'static mut [Rung]>;

impl Handle<bitmc_replica> for Seated<Own> {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm repli");
}

/// The replica in a struct, if its model and memory are still its own.
pub(crate) unsafe fn with<T>(replica: *mut bitmc_replica, work: impl FnOnce(&mut Own) -> T) -> Outcome<T> {
    // SAFETY: as the crate says.
    unsafe { Seated::with(replica, |it: &mut Seated<Own>| it.seat.hold(|| work(&mut it.value)))? }
}

impl Handle<bitmc_ladder> for Rungs {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm laddr");
}

/// Bytes of memory for a replica over a model; 0 where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_replica_bytes(model: *const bitmc_model) -> usize {
    // SAFETY: as the crate says.
    unsafe { Model::borrow(model) }
        .map_or(0, |model| bytes(model.layout(), Tempered::cache_len(model.cache_len())))
}

/// A replica that starts at independent uniform values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_replica_init(
    replica: *mut bitmc_replica,
    model: *const bitmc_model,
    borrowed: *mut u8,
    bytes: usize,
    rng: *mut bitmc_rng,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        Span::of(rng, 1).apart(Span::of(borrowed, bytes))?;
        drawing(rng, |rng| {
            let cache = Tempered::cache_len(Model::borrow(model)?.cache_len());
            seated(replica, model, cache, (borrowed, bytes), |model, memory| {
                Ok(Replica::random(Tempered::new(model, 1.0)?, memory, rng)?)
            })
        })
    };
    bitmc_status::of(build())
}

/// The state of a replica, to look at until the next call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_replica_state(
    replica: *mut bitmc_replica,
    state: *mut bitmc_state,
) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { with(replica, |it| view(it.state())).and_then(|value| answer(state, value)) })
}

/// The energy of the state of a replica, at temperature 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_replica_energy(replica: *mut bitmc_replica, energy: *mut f32) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe { with(replica, |it| it.energy()).and_then(|value| answer(energy, value)) })
}

/// Bytes of memory for bitmc_ladder_init.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_ladder_bytes(rungs: usize) -> usize {
    bytes_of(&[rungs.saturating_mul(size_of::<Rung>())])
}

/// A ladder with replica i at the inverse temperature `betas[i]`, which rise from 0 or above; two or more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_ladder_init(
    ladder: *mut bitmc_ladder,
    betas: *const f32,
    rungs: usize,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says; every rung is written before it is looked at.
    let build = || unsafe {
        Span::all_apart(&[Span::of(memory, bytes), Span::of(ladder, 1)], &[Span::of(betas, rungs)])?;
        let betas = slice(betas, rungs)?;
        let mut borrowed = Borrowed::new(memory, bytes, &[rungs.saturating_mul(size_of::<Rung>())])?;
        // Before the rungs of a ladder that is there are written.
        LadderError::check(betas, rungs)?;
        Rungs::make(ladder, || {
            let at: *mut Rung = borrowed.take(rungs)?;
            (0..rungs).for_each(|index| at.add(index).write(Rung::default()));
            Ok(Ladder::new(core::slice::from_raw_parts_mut(at, rungs), betas)?)
        })
    };
    bitmc_status::of(build())
}

/// Refuses another number of replicas than the ladder has rungs.
pub(crate) unsafe fn all_of(ladder: *mut bitmc_ladder, count: usize) -> Outcome {
    // SAFETY: as the crate says.
    let rungs = unsafe { Rungs::with(ladder, |it| it.rungs().len())? };
    if rungs == count { Ok(()) } else { Err(bitmc_status::Count) }
}

/// The replica at a rung.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_ladder_replica(
    ladder: *mut bitmc_ladder,
    rung: usize,
    replica: *mut usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    bitmc_status::of(unsafe {
        let found = Rungs::with(ladder, |ladder| ladder.rungs().get(rung).map(Rung::replica));
        found.and_then(|found| answer(replica, found.ok_or(bitmc_status::Index)?))
    })
}

/// One round of replica exchange over `count` replicas in one array. Each makes `steps` steps by the sampler of its
/// rung (`samplers` has one a rung). One round of swaps between neighbours follows. The number of swaps, unless
/// `swaps` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_exchange(
    ladder: *mut bitmc_ladder,
    replicas: *mut bitmc_replica,
    count: usize,
    samplers: *const bitmc_sampler,
    rng: *mut bitmc_rng,
    steps: u64,
    swaps: *mut u32,
) -> bitmc_status {
    if replicas.is_null() || samplers.is_null() {
        return bitmc_status::Null;
    }
    // SAFETY: as the crate says.
    let at = |index: usize| unsafe { replicas.add(index) };
    let round = |ladder: &mut Rungs, rng: &mut LaneRng| -> Outcome<u32> {
        if ladder.rungs().len() != count {
            return Err(bitmc_status::Count);
        }
        // All of them are there, or none moves.
        for index in 0..count {
            // SAFETY: as the crate says.
            unsafe {
                Sampler::apply(samplers.add(index), |_| ())?;
                with(at(index), |_| ())?;
            }
        }
        for (rung, place) in ladder.rungs().iter().enumerate() {
            // SAFETY: as the crate says.
            unsafe {
                Sampler::apply(samplers.add(rung), |sampler| {
                    with(at(place.replica()), |replica| {
                        replica.set_beta(place.beta())?;
                        replica.run(sampler, rng, steps, &mut ());
                        Ok::<(), bitmc_status>(())
                    })
                })???;
            }
        }
        // SAFETY: as the crate says.
        let gap = |index| unsafe { with(at(index), |replica| replica.gap()) }.unwrap_or(f32::NAN);
        Ok(ladder.exchange(gap, rng))
    };
    // SAFETY: as the crate says.
    let made = || unsafe {
        let asked = asked(swaps)?;
        let made = Rungs::with(ladder, |ladder| LaneRng::with(rng, |rng| round(ladder, rng)))???;
        if asked { answer(swaps, made) } else { Ok(()) }
    };
    bitmc_status::of(made())
}
