//! Structs in the caller's memory: a head, then a value that is copied out for a call and back after it.

use crate::status::{Outcome, bitmc_status};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// While a call is at work in a struct, or in memory.
pub(crate) const BUSY: u64 = u64::from_be_bytes(*b"bm busy.");

/// While calls look at a value. A number that nothing else leaves behind. A struct on the stack that was never initialised may
/// hold the words of an old one, with others in between.
const USED: u32 = u32::from_be_bytes(*b"used");

/// What every struct begins with.
#[repr(C)]
struct Head {
    /// What kind of struct it is.
    magic: u64,
    /// `USED` while calls look at the value in place: then it is not to be replaced.
    used: AtomicU32,
    /// Another one after every `_init`.
    stamp: u32,
}

/// What the opaque struct `O` holds.
pub(crate) trait Handle<O>: Sized {
    /// Tells initialised structs from others: eight letters.
    const MAGIC: u64;
    /// Does not compile where the struct is too small.
    const FITS: () = assert!(
        size_of::<Self>() + size_of::<Head>() <= size_of::<O>() && align_of::<Head>() <= align_of::<O>()
    );

    /// Whether what the value was made of is still there.
    unsafe fn lives(_: *const Self) -> Outcome {
        Ok(())
    }

    /// Whether there is a struct that may be initialised.
    unsafe fn room(at: *mut O) -> Outcome {
        // SAFETY: the caller's struct is as large as `O`.
        unsafe {
            let head = head(at)?;
            match (*head).magic {
                BUSY => Err(bitmc_status::Busy),
                word if word == Self::MAGIC && (*head).used.load(Relaxed) == USED => Err(bitmc_status::Busy),
                _ => Ok(()),
            }
        }
    }

    /// Puts the value into a struct.
    unsafe fn place(self, at: *mut O) -> Outcome {
        // SAFETY: the caller's struct is as large as `O`.
        unsafe { Self::make(at, || Ok(self)) }
    }

    /// Makes the value of a struct, which is busy for so long, and not ready where there comes none of it.
    unsafe fn make(at: *mut O, work: impl FnOnce() -> Outcome<Self>) -> Outcome {
        let () = Self::FITS;
        // SAFETY: the caller's struct is as large as `O`, which holds head and value.
        unsafe {
            Self::room(at)?;
            let head = head(at)?;
            (*head).magic = BUSY;
            let made = work();
            (*head).used = AtomicU32::new(0);
            (*head).stamp = (*head).stamp.wrapping_add(1);
            (*head).magic = if made.is_ok() { Self::MAGIC } else { 0 };
            made.map(|value| head.add(1).cast::<Self>().write_unaligned(value))
        }
    }

    /// Works with the value of a struct.
    unsafe fn with<T>(at: *mut O, work: impl FnOnce(&mut Self) -> T) -> Outcome<T> {
        // SAFETY: the struct is as large as `O`, and where the magic word is right it holds a value. That word
        // keeps everybody else away from it until the value is back; values have nothing to drop.
        unsafe {
            let place = Self::look(at)?.cast_mut();
            let head = head(at)?;
            (*head).magic = BUSY;
            // As bytes: a move would claim the memory that the value borrows, and with it the state that was shown.
            let mut value = MaybeUninit::<Self>::uninit();
            let bytes = size_of::<Self>();
            ptr::copy_nonoverlapping(place.cast::<u8>(), value.as_mut_ptr().cast(), bytes);
            let result = work(&mut *value.as_mut_ptr());
            ptr::copy_nonoverlapping(value.as_ptr().cast::<u8>(), place.cast(), bytes);
            (*head).magic = Self::MAGIC;
            Ok(result)
        }
    }

    /// Where the value of a struct is.
    unsafe fn look(at: *mut O) -> Outcome<*const Self> {
        // SAFETY: the caller's struct is as large as `O`.
        unsafe {
            let head = head(at)?;
            match (*head).magic {
                word if word == Self::MAGIC => {
                    let place = head.add(1).cast::<Self>();
                    Self::lives(place).map(|()| place.cast_const())
                }
                BUSY => Err(bitmc_status::Busy),
                _ => Err(bitmc_status::NotReady),
            }
        }
    }

    /// Changes with every `_init` of a struct.
    unsafe fn stamp(at: *mut O) -> Outcome<u32> {
        // SAFETY: the caller's struct is as large as `O`.
        unsafe { Self::look(at).and_then(|_| Ok((*head(at)?).stamp)) }
    }

    /// Whether the value of a struct is the one of a stamp.
    unsafe fn is(at: *mut O, stamp: u32) -> Outcome<bool> {
        // SAFETY: the caller's struct is as large as `O`.
        unsafe { head(at).map(|head| (*head).magic == Self::MAGIC && (*head).stamp == stamp) }
    }

    /// Works while the value of a struct stays as it is. Any number of threads may.
    unsafe fn hold<T>(at: *mut O, work: impl FnOnce() -> T) -> Outcome<T> {
        // SAFETY: the caller's struct is as large as `O`.
        unsafe {
            Self::look(at)?;
            let used = &(*head(at)?).used;
            // Who set it ends it: a call within the work does not, and after all threads are done it is 0.
            let first = used.load(Relaxed) != USED;
            if first {
                used.store(USED, Relaxed);
            }
            let result = work();
            if first {
                used.store(0, Relaxed);
            }
            Ok(result)
        }
    }
}

unsafe fn head<O>(at: *mut O) -> Outcome<*mut Head> {
    match at {
        at if at.is_null() => Err(bitmc_status::Null),
        at if !at.is_aligned() => Err(bitmc_status::Alignment),
        at => Ok(at.cast()),
    }
}

/// Caller-provided memory of a struct, piece by piece, each on a boundary of 64 bytes.
pub(crate) struct Borrowed {
    at: *mut u8,
    left: usize,
}

/// The boundary, and what is lost to reach it.
const STEP: usize = 64;

/// Bytes of pieces of so many bytes.
pub(crate) fn bytes_of(pieces: &[usize]) -> usize {
    pieces.iter().fold(STEP - 1, |sum, &piece| sum.saturating_add(whole(piece)))
}

/// A piece up to the next boundary.
fn whole(piece: usize) -> usize {
    piece.saturating_add(STEP - 1) & !(STEP - 1)
}

impl Borrowed {
    /// Memory for so many pieces; nothing is written yet.
    pub(crate) fn new(at: *mut u8, bytes: usize, pieces: &[usize]) -> Outcome<Self> {
        if at.is_null() {
            return Err(bitmc_status::Null);
        }
        let skip = at.addr().wrapping_neg() & (STEP - 1);
        let left = bytes.saturating_sub(skip);
        let mut rest = left;
        for &piece in pieces {
            rest = if piece > rest { return Err(bitmc_status::Memory) } else { rest - whole(piece).min(rest) };
        }
        Ok(Self { at: at.wrapping_add(skip), left })
    }

    /// Where the first piece is.
    pub(crate) fn first<T>(&self) -> *mut T {
        self.at.cast()
    }

    /// Room for so many values, all bits zero.
    pub(crate) unsafe fn take<T>(&mut self, count: usize) -> Outcome<*mut T> {
        let piece = count.checked_mul(size_of::<T>()).ok_or(bitmc_status::Memory)?;
        if piece > self.left {
            return Err(bitmc_status::Memory);
        }
        let at = self.at;
        // SAFETY: the caller has provided so many bytes.
        unsafe { ptr::write_bytes(at, 0, piece) };
        let whole = whole(piece).min(self.left);
        self.at = self.at.wrapping_add(whole);
        self.left -= whole;
        Ok(at.cast())
    }

    /// Zeros. `T` is a type of numbers.
    pub(crate) unsafe fn zeros<T: Copy>(&mut self, count: usize) -> Outcome<&'static mut [T]> {
        // SAFETY: the memory is the caller's, aligned, zero, and borrowed by this piece alone.
        unsafe { Ok(core::slice::from_raw_parts_mut(self.take(count)?, count)) }
    }
}

/// Where something of the caller's lies.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// Nothing.
    pub(crate) const NONE: Self = Self { start: 0, end: 0 };

    /// So many numbers; none at a null address, which is refused by its name.
    pub(crate) fn of<T>(at: *const T, count: usize) -> Self {
        let (start, bytes) = (at.addr(), count.saturating_mul(size_of::<T>()));
        if at.is_null() { Self::NONE } else { Self { start, end: start.saturating_add(bytes) } }
    }

    /// Refuses two with a byte in common: before they are looked at, since a chain may be at home there.
    pub(crate) fn apart(self, other: Self) -> Outcome {
        let empty = self.start >= self.end || other.start >= other.end;
        let apart = empty || self.end <= other.start || other.end <= self.start;
        if apart { Ok(()) } else { Err(bitmc_status::Overlap) }
    }

    /// Refuses what is written and has a byte in common with anything else.
    pub(crate) fn all_apart(written: &[Self], read: &[Self]) -> Outcome {
        let mut rest = written;
        while let Some((one, others)) = rest.split_first() {
            others.iter().chain(read).try_for_each(|&other| one.apart(other))?;
            rest = others;
        }
        Ok(())
    }
}

/// A slice of the caller's; a null address is one of no elements.
pub(crate) unsafe fn slice<'a, T>(at: *const T, count: usize) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if at.is_null() {
        return Err(bitmc_status::Null);
    }
    if !at.is_aligned() {
        return Err(bitmc_status::Alignment);
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(bitmc_status::Count);
    }
    // SAFETY: there are so many, the caller says.
    unsafe { Ok(core::slice::from_raw_parts(at, count)) }
}

/// Whether an answer is wanted; to be found out before a call does anything.
pub(crate) fn asked<T>(to: *mut T) -> Outcome<bool> {
    if to.is_aligned() { Ok(!to.is_null()) } else { Err(bitmc_status::Alignment) }
}

/// Writes an answer.
pub(crate) unsafe fn answer<T>(to: *mut T, value: T) -> Outcome {
    if !asked(to)? {
        return Err(bitmc_status::Null);
    }
    // SAFETY: it is the address of a `T`, the caller says.
    unsafe { to.write(value) };
    Ok(())
}
