//! What a chain is built on: a model that may not change, and memory that is its alone.

use crate::handle::{BUSY, Handle, Lent, Span, bytes_of};
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
    /// The first word of the memory: the number of its chain, or `BUSY` while that is at work.
    tag: *mut u64,
    number: u64,
    memory: Span,
}

impl Seat {
    /// Where the memory lies.
    pub(crate) fn memory(&self) -> Span {
        self.memory
    }

    /// Works while the model stays as it is, and nobody else uses the memory.
    pub(crate) unsafe fn hold<T>(&self, work: impl FnOnce() -> T) -> Outcome<T> {
        // SAFETY: model and memory are where they were, the caller says; the model is looked at after its stamp.
        unsafe {
            if Model::stamp(self.model)? != self.stamp || Model::borrow(self.model)?.layout() != self.layout {
                return Err(bitmc_status::NotReady);
            }
            match self.tag.read() {
                number if number == self.number => {}
                BUSY => return Err(bitmc_status::Busy),
                _ => return Err(bitmc_status::NotReady),
            }
            self.work(work)
        }
    }

    unsafe fn work<T>(&self, work: impl FnOnce() -> T) -> Outcome<T> {
        // SAFETY: as above.
        unsafe {
            self.tag.write(BUSY);
            let result = Model::hold(self.model, work);
            self.tag.write(self.number);
            result
        }
    }
}

/// Words of the tag, before those of the chain.
const TAG: usize = size_of::<u64>() / size_of::<u32>();

fn pieces(layout: Layout, cache: usize) -> [usize; 3] {
    let block = size_of::<Block>();
    [
        Memory::words(layout).saturating_add(TAG).saturating_mul(size_of::<u32>()),
        Memory::cache(cache).saturating_mul(block),
        Memory::weights(layout).saturating_mul(block),
    ]
}

/// Bytes of memory.
pub(crate) fn bytes(layout: Layout, cache: usize) -> usize {
    bytes_of(&pieces(layout, cache))
}

/// Makes a chain over a model in lent memory, in which nothing of both lies. What can be checked is checked before the
/// memory is touched; from then on the chain that was there is not ready any more.
pub(crate) unsafe fn seated<O, C>(
    at: *mut O,
    model: *const bitmc_model,
    cache: usize,
    (lent, bytes): (*mut u8, usize),
    work: impl FnOnce(&'static Model, Memory<Words, Cache, Weights>) -> Outcome<C>,
) -> Outcome
where
    Seated<C>: Handle<O>,
{
    // SAFETY: as the crate says; all of the memory is numbers.
    unsafe {
        Seated::<C>::room(at)?;
        let it = Model::borrow(model)?;
        let memory = Span::of(lent, bytes);
        Span::all_apart(&[memory], &[Span::of(at, 1), Span::of(model, 1), it.memory()])?;
        let (model, layout) = (model.cast_mut(), it.layout());
        let mut lent = Lent::new(lent, bytes, &pieces(layout, cache))?;
        let tag: *mut u64 = lent.first();
        let before = tag.read();
        if before == BUSY {
            return Err(bitmc_status::Busy);
        }
        // Never the number of the chain before, nor `BUSY`.
        let number = before.wrapping_add(1) & (u64::MAX >> 8);
        let seat = Seat { model, stamp: Model::stamp(model)?, layout, tag, number, memory };
        Seated::make(at, || {
            let words = lent.zeros(TAG.saturating_add(Memory::words(layout)))?;
            let (_, words) = words.split_at_mut_checked(TAG).ok_or(bitmc_status::Memory)?;
            let (cache, weights) = (lent.zeros(Memory::cache(cache))?, lent.zeros(Memory::weights(layout))?);
            let value = seat.work(|| work(it, Memory { words, cache, weights }))??;
            Ok(Seated { value, seat })
        })
    }
}
