//! Sixteen lanes of `f32` and `u32`: the unit in which everything here is computed.
//!
//! *Lane = site.* A [`Block`] is sixteen floats, a [`Bits`] sixteen words. Every buffer is a slice of them, so there
//! is no tail and no remainder loop. The lanes past the last site are zero.
//!
//! # The rules of numbers
//! Only `+ − × ÷`, `sqrt`, compare, select and integer operations are used, in a written order, and
//! [`F32s::exp`], [`F32s::ln`] and their relatives are made of those alone. IEEE 754 rounds each of them
//! the same way everywhere, so the same seed gives the same bits on every processor. Fused
//! multiply-adds, vendor approximations and horizontal reductions of unspecified order never appear.
//!
//! # Two backends, one set of bits
//! Where the target has vectors, a register ([`F32s`], [`U32s`], [`Mask`]) holds all sixteen lanes of a block. Where
//! it has none (Cortex-M, bare riscv32) a register holds one lane and a pass runs sixteen times. A core of this kind
//! would do so anyway. The program has a sixteenth of the size.
//!
//! A pass over a block is always written
//! ```
//! use bitmc::lane::{Block, F32s, PARTS};
//! fn double(block: &mut Block) {
//!     for part in 0..PARTS {
//!         let x = F32s::load(block, part);
//!         (x + x).store(block, part);
//!     }
//! }
//! # let mut b = [1.5; 16]; double(&mut b); assert_eq!(b, [3.0; 16]);
//! ```
//! `--cfg bitmc_scalar` in `RUSTFLAGS` chooses the one-lane registers anywhere; the tests run both.

#[cfg_attr(
    all(not(bitmc_scalar), any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128")),
    path = "lane/simd.rs"
)]
#[cfg_attr(
    any(bitmc_scalar, not(any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128"))),
    path = "lane/scalar.rs"
)]
mod backend;
mod elementary;
mod halves;
mod interleaved;
pub(crate) mod product;
mod registers;
mod sums;
mod total;

pub use elementary::NORMAL_LIMIT;
pub(crate) use halves::{bytes_mut, i16s, i16s_mut};
pub(crate) use interleaved::Interleaved;
pub use product::{LogProduct, Product};
pub use registers::{F32s, Mask, U32s};
pub(crate) use sums::LaneSums;
pub use total::Total;

/// Lanes in a block: sites that are computed together.
pub const LANES: usize = 16;

/// Registers that make up a block: 1 with vectors, 16 without.
pub const PARTS: usize = LANES / F32s::WIDTH;

/// Sixteen floats, one a site: the unit of every float buffer.
pub type Block = [f32; LANES];

/// Sixteen words: the unit of every energy's cache.
pub type Bits = [u32; LANES];

/// Something that begins on a cache line. A register of sixteen lanes that lies across two lines is loaded in two
/// halves. [`LaneRng`](crate::LaneRng) begins on one by itself where there are registers. For memory of a chain on
/// the heap use an `AVec` of the crate `aligned-vec`, as in the examples. With AVX-512 a step then takes up to a
/// tenth less time than in a `Vec`.
///
/// ```
/// use bitmc::lane::{Block, Line};
/// let buffer = Line([[0.0f32; 16]; 4]);
/// assert!((&raw const buffer).addr().is_multiple_of(64));
/// let blocks: &[Block] = &*buffer;
/// assert_eq!(blocks.len(), 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line<T>(pub T);

impl<T> core::ops::Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> core::ops::DerefMut for Line<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// The sum of a block along one fixed tree: halves, quarters, eighths, pairs.
///
/// The order is part of the rules of numbers: `((b₀+b₈)+(b₄+b₁₂)) + ((b₂+b₁₀)+(b₆+b₁₄)) + …`.
#[inline]
#[must_use]
pub fn sum(block: &Block) -> f32 {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *block;
    let [a, b, c, d, e, f, g, h] = [a + i, b + j, c + k, d + l, e + m, f + n, g + o, h + p];
    let [a, b, c, d] = [a + e, b + f, c + g, d + h];
    (a + c) + (b + d)
}

/// Pairs of (site, value) for the sites of some blocks, for code that works site by site.
///
/// `first_block` is the number of the first block in `blocks`.
#[inline]
pub fn each(first_block: usize, blocks: &mut [Block]) -> impl Iterator<Item = (usize, &mut f32)> {
    let flat = blocks.as_flattened_mut();
    flat.iter_mut().enumerate().map(move |(offset, value)| (first_block * LANES + offset, value))
}

/// [`F32s::exp`] of one number.
#[inline]
#[must_use]
pub fn exp(x: f32) -> f32 {
    F32s::splat(x).exp().first()
}

/// [`F32s::ln`] of one number.
#[inline]
#[must_use]
pub fn ln(x: f32) -> f32 {
    F32s::splat(x).ln().first()
}

/// [`F32s::exp_m1`] of one number.
#[inline]
#[must_use]
pub fn exp_m1(x: f32) -> f32 {
    F32s::splat(x).exp_m1().first()
}

/// [`F32s::ln_1p`] of one number.
#[inline]
#[must_use]
pub fn ln_1p(x: f32) -> f32 {
    F32s::splat(x).ln_1p().first()
}

/// [`F32s::ln_1p_exp`] of one number.
#[inline]
#[must_use]
pub fn ln_1p_exp(x: f32) -> f32 {
    F32s::splat(x).ln_1p_exp().first()
}
