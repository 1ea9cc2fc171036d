//! What a chain is built on: a model that may not change, and memory that is its alone.

use crate::handle::{BUSY, Borrowed, Handle, Span, bytes_of};
use crate::model::{Model, bitmc_model};
use crate::status::{Outcome, bitmc_status};
use bitmc::chain::Memory;
use bitmc::lane::{Bits, Block};
use bitmc::{Energy, Layout};

pub(crate) type Words = &'static mut [u32];
pub(crate) type Cache = &'static mut [Bits];
pub(crate) type Weights = &'static mut [Block];

/// A chain or replica, and what it is built on.
pub(crate) struct Seated<C> {
    pub(crate) value: C,
    pub(crate) seat: Seat,
}

/// The model and the memory, and how to tell that they are still the same.
pub(crate) struct Seat {
    model: *mut bitmc_model,
    stamp: u32,
    layout: Layout,
    place: Place,
}

/// Memory of a chain, and how to tell that it is still its own.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The first word of the memory: the number of its chain, or `BUSY` while that is at work.
    tag: *mut u64,
    number: u64,
    pub(crate) memory: Span,
}

impl Place {
    /// The next chain in some memory, where none is at work. Nothing is written yet.
    pub(crate) unsafe fn next(borrowed: &Borrowed, memory: Span) -> Outcome<Self> {
        let tag: *mut u64 = borrowed.first();
        // SAFETY: the caller has provided it.
        match unsafe { tag.read() } {
            BUSY => Err(bitmc_status::Busy),
            // Never the number of the chain before, nor `BUSY`.
            before => Ok(Self { tag, number: before.wrapping_add(1) & (u64::MAX >> 8), memory }),
        }
    }

    /// Refuses memory that is in use, or another chain's now.
    pub(crate) unsafe fn ready(&self) -> Outcome {
        // SAFETY: the memory is where it was, the caller says.
        match unsafe { self.tag.read() } {
            number if number == self.number => Ok(()),
            BUSY => Err(bitmc_status::Busy),
            _ => Err(bitmc_status::NotReady),
        }
    }

    /// Works while nobody else uses the memory.
    pub(crate) unsafe fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: as above.
        unsafe {
            self.tag.write(BUSY);
            let result = work();
            self.tag.write(self.number);
            result
        }
    }
}

impl Seat {
    /// Where the memory lies.
    pub(crate) fn memory(&self) -> Span {
        self.place.memory
    }

    /// Works while the model stays as it is, and nobody else uses the memory.
    pub(crate) unsafe fn hold<T>(&self, work: impl FnOnce() -> T) -> Outcome<T> {
        // SAFETY: model and memory are where they were, the caller says; the model is looked at after its stamp.
        unsafe {
            if Model::stamp(self.model)? != self.stamp || Model::borrow(self.model)?.layout() != self.layout {
                return Err(bitmc_status::NotReady);
            }
            self.place.ready()?;
            self.work(work)
        }
    }

    unsafe fn work<T>(&self, work: impl FnOnce() -> T) -> Outcome<T> {
        // SAFETY: as above.
        unsafe { self.place.work(|| Model::hold(self.model, work)) }
    }

    /// Goes on over another model of the layout, if the work can. The old one is looked at: it is ready, or the same struct.
    pub(crate) unsafe fn rebind(
        &mut self,
        model: *const bitmc_model,
        work: impl FnOnce(&'static Model) -> Outcome,
    ) -> Outcome {
        // SAFETY: as above.
        unsafe {
            let it = Model::borrow(model)?;
            if it.layout() != self.layout {
                return Err(bitmc_status::Count);
            }
            if Model::borrow(self.model)?.layout() != self.layout {
                return Err(bitmc_status::NotReady);
            }
            let [own, base] = it.memory();
            Span::all_apart(&[self.memory()], &[Span::of(model, 1), own, base])?;
            self.place.ready()?;
            let model = model.cast_mut();
            let next = Self { model, stamp: Model::stamp(model)?, ..*self };
            next.work(|| work(it))??;
            *self = next;
            Ok(())
        }
    }
}

/// Words of the tag, before those of the chain.
const TAG: usize = size_of::<u64>() / size_of::<u32>();

/// Memory of a chain: the state, `cache` blocks a point and `weights` blocks.
pub(crate) fn pieces(layout: Layout, cache: usize, weights: usize) -> [usize; 3] {
    let block = size_of::<Block>();
    [
        Memory::words(layout).saturating_add(TAG).saturating_mul(size_of::<u32>()),
        Memory::cache(cache).saturating_mul(block),
        weights.saturating_mul(block),
    ]
}

/// Bytes of memory.
pub(crate) fn bytes(layout: Layout, cache: usize) -> usize {
    bytes_of(&pieces(layout, cache, Memory::weights(layout)))
}

/// The memory of such pieces.
pub(crate) unsafe fn parts(
    borrowed: &mut Borrowed,
    layout: Layout,
    cache: usize,
    weights: usize,
) -> Outcome<Memory<Words, Cache, Weights>> {
    // SAFETY: as the crate says; all of the memory is numbers.
    unsafe {
        let words = borrowed.zeros(TAG.saturating_add(Memory::words(layout)))?;
        let (_, words) = words.split_at_mut_checked(TAG).ok_or(bitmc_status::Memory)?;
        Ok(Memory { words, cache: borrowed.zeros(Memory::cache(cache))?, weights: borrowed.zeros(weights)? })
    }
}

/// Makes a chain over a model in caller-provided memory, in which nothing of both lies. What can be checked is checked before the
/// memory is touched; from then on the chain that was there is not ready any more.
pub(crate) unsafe fn seated<O, C>(
    at: *mut O,
    model: *const bitmc_model,
    cache: usize,
    (borrowed, bytes): (*mut u8, usize),
    work: impl FnOnce(&'static Model, Memory<Words, Cache, Weights>) -> Outcome<C>,
) -> Outcome
where
    Seated<C>: Handle<O>,
{
    // SAFETY: as the crate says.
    unsafe {
        Seated::<C>::room(at)?;
        let it = Model::borrow(model)?;
        let (memory, [own, base]) = (Span::of(borrowed, bytes), it.memory());
        Span::all_apart(&[memory], &[Span::of(at, 1), Span::of(model, 1), own, base])?;
        let (model, layout) = (model.cast_mut(), it.layout());
        let weights = Memory::weights(layout);
        let mut borrowed = Borrowed::new(borrowed, bytes, &pieces(layout, cache, weights))?;
        let place = Place::next(&borrowed, memory)?;
        let seat = Seat { model, stamp: Model::stamp(model)?, layout, place };
        Seated::make(at, || {
            let memory = parts(&mut borrowed, layout, cache, weights)?;
            let value = seat.work(|| work(it, memory))??;
            Ok(Seated { value, seat })
        })
    }
}
