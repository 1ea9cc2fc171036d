//! Structs in the caller's memory: a magic word, then a value that is copied out for a call and back after it.

use crate::status::{Outcome, bitmc_status};
use core::ptr;

/// While a call is at work in a struct.
const BUSY: u64 = u64::from_be_bytes(*b"bm busy.");

/// What the opaque struct `O` holds.
pub(crate) trait Handle<O>: Sized {
    /// Tells initialised structs from others: eight letters.
    const MAGIC: u64;
    /// Does not compile where the struct is too small.
    const FITS: () = assert!(size_of::<Self>() + size_of::<u64>() <= size_of::<O>());

    /// Puts the value into a struct.
    unsafe fn place(self, at: *mut O) -> Outcome {
        let () = Self::FITS;
        if at.is_null() {
            return Err(bitmc_status::Null);
        }
        // SAFETY: the caller's struct is as large as `O`, which holds both; nothing needs to be aligned.
        unsafe {
            at.cast::<u64>().add(1).cast::<Self>().write_unaligned(self);
            at.cast::<u64>().write_unaligned(Self::MAGIC);
        }
        Ok(())
    }

    /// Works with the value of a struct.
    unsafe fn with<T>(at: *mut O, work: impl FnOnce(&mut Self) -> T) -> Outcome<T> {
        if at.is_null() {
            return Err(bitmc_status::Null);
        }
        let (magic, place) = (at.cast::<u64>(), at.cast::<u64>().wrapping_add(1).cast::<Self>());
        // SAFETY: the struct is as large as `O`, and where the magic word is right it holds a value. That word
        // keeps everybody else away from it until the value is back; values have nothing to drop.
        unsafe {
            match magic.read_unaligned() {
                word if word == Self::MAGIC => {}
                BUSY => return Err(bitmc_status::Busy),
                _ => return Err(bitmc_status::NotReady),
            }
            magic.write_unaligned(BUSY);
            let mut value = place.read_unaligned();
            let result = work(&mut value);
            place.write_unaligned(value);
            magic.write_unaligned(Self::MAGIC);
            Ok(result)
        }
    }
}

/// Memory that is lent to a struct, piece by piece, each on a boundary of 64 bytes.
pub(crate) struct Lent {
    at: *mut u8,
    left: usize,
}

/// The boundary, and what is lost to reach it.
const STEP: usize = 64;

/// Bytes of pieces of so many bytes.
pub(crate) fn bytes_of(pieces: &[usize]) -> usize {
    pieces.iter().fold(STEP - 1, |sum, &piece| sum.saturating_add(piece.saturating_add(STEP - 1) & !(STEP - 1)))
}

impl Lent {
    pub(crate) fn new(at: *mut u8, bytes: usize) -> Outcome<Self> {
        if at.is_null() && bytes > 0 {
            return Err(bitmc_status::Null);
        }
        let skip = at.addr().wrapping_neg() & (STEP - 1);
        Ok(Self { at: at.wrapping_add(skip), left: bytes.saturating_sub(skip) })
    }

    /// Room for so many values, all bits zero.
    pub(crate) unsafe fn take<T>(&mut self, count: usize) -> Outcome<*mut T> {
        let piece = count.checked_mul(size_of::<T>()).ok_or(bitmc_status::Memory)?;
        if piece > self.left {
            return Err(bitmc_status::Memory);
        }
        let at = self.at;
        // SAFETY: the caller has lent so many bytes.
        unsafe { ptr::write_bytes(at, 0, piece) };
        let whole = (piece.saturating_add(STEP - 1) & !(STEP - 1)).min(self.left);
        self.at = self.at.wrapping_add(whole);
        self.left -= whole;
        Ok(at.cast())
    }

    /// Zeros. `T` is a type of numbers.
    pub(crate) unsafe fn zeros<T: Copy>(&mut self, count: usize) -> Outcome<&'static mut [T]> {
        // SAFETY: the memory is the caller's, aligned, zero, and lent to this piece alone.
        unsafe { Ok(core::slice::from_raw_parts_mut(self.take(count)?, count)) }
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
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(bitmc_status::Argument);
    }
    // SAFETY: there are so many, the caller says.
    unsafe { Ok(core::slice::from_raw_parts(at, count)) }
}

/// Writes an answer.
pub(crate) unsafe fn answer<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(bitmc_status::Null);
    }
    // SAFETY: it is the address of a `T`, the caller says.
    unsafe { to.write(value) };
    Ok(())
}
