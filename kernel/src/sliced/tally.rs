//! Counting in bits over all sites: some numbers for each chain.
//!
//! For each power of two a counter has a plane of sums, and one that waits for a second of its kind. Two bits and the
//! sum make a new sum and a carry. So a bit costs one full adder on average, however long the counter is. Counters
//! that count together are kept together: the sums of all of them for 1, what waits there, then those for 2.

use crate::lane::{Bits, LANES, PARTS, U32s};

/// Blocks of `number` counters of numbers below 2^`levels`.
pub(super) const fn blocks(levels: usize, number: usize) -> usize {
    2 * levels * number
}

/// Adds a bit a chain to each of the counters, after `before` others. Leaves the bits changed.
#[inline(always)]
pub(super) fn add(counters: &mut [Bits], bits: &mut [Bits], before: u32) {
    let (mut rest, mut full) = (counters, before);
    while let Some((level, tail)) = rest.split_at_mut_checked(2 * bits.len()) {
        let Some((sums, waiting)) = level.split_at_mut_checked(bits.len()) else { break };
        if full & 1 == 0 {
            waiting.iter_mut().zip(bits.iter()).for_each(|(waiting, bit)| *waiting = *bit);
            break;
        }
        for ((sum, waiting), carry) in sums.iter_mut().zip(waiting).zip(bits.iter_mut()) {
            for part in 0..PARTS {
                full_adder(sum, U32s::load(waiting, part), carry, part);
            }
        }
        (full, rest) = (full >> 1, tail);
    }
}

/// Adds what waits to the sums, after `before` bits; `carries` is as many zeros as there are counters.
pub(super) fn settle(counters: &mut [Bits], carries: &mut [Bits], before: u32) {
    let (mut rest, mut full) = (counters, before);
    while !rest.is_empty() {
        let Some((level, tail)) = rest.split_at_mut_checked(2 * carries.len()) else { break };
        let Some((sums, waiting)) = level.split_at_mut_checked(carries.len()) else { break };
        let here = U32s::splat(0u32.wrapping_sub(full & 1));
        for ((sum, waiting), carry) in sums.iter_mut().zip(waiting).zip(carries.iter_mut()) {
            for part in 0..PARTS {
                full_adder(sum, U32s::load(waiting, part) & here, carry, part);
            }
        }
        (full, rest) = (full >> 1, tail);
    }
}

#[inline(always)]
fn full_adder(sum: &mut Bits, b: U32s, carry: &mut Bits, part: usize) {
    let (a, c) = (U32s::load(sum, part), U32s::load(carry, part));
    let either = a ^ b;
    (either ^ c).store(sum, part);
    ((a & b) | (either & c)).store(carry, part);
}

/// The numbers of one of the counters for the sixteen chains whose bits are lowest in their words; the next call gives
/// the next ones.
pub(super) fn take(counters: &mut [Bits], levels: usize, number: usize, counter: usize) -> Bits {
    let mut numbers = [0; LANES];
    for level in (0..levels).rev() {
        let Some(sum) = counters.get_mut(blocks(level, number) + counter) else { continue };
        for part in 0..PARTS {
            let bits = U32s::load(sum, part);
            let number = U32s::load(&numbers, part).shl::<1>() + (bits & U32s::splat(1));
            number.store(&mut numbers, part);
            bits.shr::<1>().store(sum, part);
        }
    }
    numbers
}
