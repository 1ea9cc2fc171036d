//! Passes over vectors in blocks, each sum along one fixed tree.

use crate::lane::{Block, F32s, LANES, PARTS, sum};

/// Σ aᵢbᵢ.
#[inline]
pub(crate) fn dot(a: &[Block], b: &[Block]) -> f32 {
    let mut total = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for part in 0..PARTS {
            let product = F32s::load(a, part) * F32s::load(b, part);
            (F32s::load(&total, part) + product).store(&mut total, part);
        }
    }
    sum(&total)
}

/// (Σ aᵢ², Σ aᵢbᵢ) in one pass.
#[inline]
pub(crate) fn square_and_dot(a: &[Block], b: &[Block]) -> (f32, f32) {
    let (mut square, mut product) = ([0.0; LANES], [0.0; LANES]);
    for (a, b) in a.iter().zip(b) {
        for part in 0..PARTS {
            let (a, b) = (F32s::load(a, part), F32s::load(b, part));
            (F32s::load(&square, part) + a * a).store(&mut square, part);
            (F32s::load(&product, part) + a * b).store(&mut product, part);
        }
    }
    (sum(&square), sum(&product))
}

/// y ← y + c·x.
#[inline]
pub(crate) fn add(y: &mut [Block], c: f32, x: &[Block]) {
    let c = F32s::splat(c);
    for (y, x) in y.iter_mut().zip(x) {
        for part in 0..PARTS {
            (F32s::load(y, part) + c * F32s::load(x, part)).store(y, part);
        }
    }
}

/// y ← c·y.
#[inline]
pub(crate) fn scale(y: &mut [Block], c: f32) {
    let c = F32s::splat(c);
    for y in y {
        for part in 0..PARTS {
            (c * F32s::load(y, part)).store(y, part);
        }
    }
}

/// u ← a·u + b·g; returns Σ uᵢ².
#[inline]
pub(crate) fn mix(u: &mut [Block], a: f32, b: f32, g: &[Block]) -> f32 {
    let (a, b) = (F32s::splat(a), F32s::splat(b));
    let mut square = [0.0; LANES];
    for (u, g) in u.iter_mut().zip(g) {
        for part in 0..PARTS {
            let mixed = a * F32s::load(u, part) + b * F32s::load(g, part);
            mixed.store(u, part);
            (F32s::load(&square, part) + mixed * mixed).store(&mut square, part);
        }
    }
    sum(&square)
}

/// u ← a·u + b·g, then x ← x + c·u; returns Σ uᵢ².
#[inline]
pub(crate) fn mix_and_move(u: &mut [Block], a: f32, b: f32, g: &[Block], x: &mut [Block], c: f32) -> f32 {
    let (a, b, c) = (F32s::splat(a), F32s::splat(b), F32s::splat(c));
    let mut square = [0.0; LANES];
    for ((u, g), x) in u.iter_mut().zip(g).zip(x) {
        for part in 0..PARTS {
            let mixed = a * F32s::load(u, part) + b * F32s::load(g, part);
            mixed.store(u, part);
            (F32s::load(x, part) + c * mixed).store(x, part);
            (F32s::load(&square, part) + mixed * mixed).store(&mut square, part);
        }
    }
    sum(&square)
}

/// to ← from, as far as both go.
#[inline]
pub(crate) fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// The largest magnitude; NaN where there is one.
pub(crate) fn largest(x: &[Block]) -> f32 {
    x.as_flattened().iter().fold(0.0, |most: f32, &value| {
        let size = value.abs();
        if size > most || size.is_nan() { size } else { most }
    })
}

/// Whether y + c·x, and the square of its length, stay within the floats, from y² and x² alone.
#[inline]
pub(crate) fn fits(y: f32, c: f32, x: f32) -> bool {
    let length = sqrt(y) + c.abs() * sqrt(x);
    (length * length).is_finite()
}

/// Puts numbers that have left the floats at the end of them. They come of a leap so long that it cannot be undone.
#[cold]
pub(crate) fn hold(x: &mut [Block]) {
    for value in x.as_flattened_mut() {
        *value = value.clamp(f32::MIN, f32::MAX);
    }
}

/// Clears all lanes past the first `dim` numbers.
#[inline]
pub(crate) fn clear_padding(x: &mut [Block], dim: usize) {
    x.as_flattened_mut().get_mut(dim..).unwrap_or_default().fill(0.0);
}

/// The square root of one number.
#[inline]
pub(crate) fn sqrt(x: f32) -> f32 {
    F32s::splat(x).sqrt().first()
}

/// 1/√s for s near 1 by one step of Newton's rule; by division elsewhere.
#[inline]
pub(crate) fn inverse_norm(square: f32) -> f32 {
    let away = square - 1.0;
    if away.abs() < 1e-4 { 1.0 - 0.5 * away } else { 1.0 / sqrt(if square < 1e-37 { 1e-37 } else { square }) }
}
