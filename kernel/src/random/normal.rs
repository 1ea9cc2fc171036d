//! Standard normals, by inversion and in pairs.

use super::{TWO_POW_MINUS_31, uniform_registers, uniforms, words};
use crate::lane::{Block, F32s, Interleaved, LANES, PARTS, U32s};
use rand_core::Rng;

/// Sixteen standard normals by inversion, one uniform and one sign each: no rejection, no loop.
///
/// The tail probability is uniform in (0, ½] with full relative precision; its quantile is accurate to
/// 2·10⁻⁶, and no value is beyond [`NORMAL_LIMIT`](crate::lane::NORMAL_LIMIT).
#[inline]
pub fn normals<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let signs = words(rng);
    let mut out = uniforms(rng);
    for part in 0..PARTS {
        let tail = F32s::load(&out, part) * F32s::splat(0.5);
        let sign = U32s::load(&signs, part) & U32s::splat(0x8000_0000);
        (tail.normal_quantile().to_bits() ^ sign).to_f32().store(&mut out, part);
    }
    out
}

/// Thirty-two standard normals, sixteen pairs from one uniform and one angle each (Box and Muller 1958). That is half the work
/// of [`normals`]. Use [`normals`] where few are needed.
///
/// A pair's length is `√(−2 ln u)`, u with full relative precision near 0, and at most 9.5; its angle has 32 bits.
#[inline]
pub fn normal_pairs<R: Rng + ?Sized>(rng: &mut R) -> [Block; 2] {
    let (angles, uniforms) = (words(rng), uniform_registers(rng));
    let mut pair = [[0.0; LANES]; 2];
    let [first, second] = &mut pair;
    for (part, u) in uniforms.into_iter().enumerate() {
        let (Interleaved([cos]), Interleaved([sin])) =
            polar(Interleaved([U32s::load(&angles, part)]), Interleaved([u]));
        cos.store(first, part);
        sin.store(second, part);
    }
    pair
}

/// [`normal_pairs`] twice, at less than twice the time.
#[inline]
pub(crate) fn normal_pairs_twice<R: Rng + ?Sized>(rng: &mut R, out: &mut [Block; 4]) {
    if PARTS > 1 {
        let (pairs, _) = out.as_chunks_mut::<2>();
        return pairs.iter_mut().for_each(|pair| *pair = normal_pairs(rng));
    }
    let (angles, uniforms) = (words(rng), uniform_registers(rng));
    let (more_angles, more_uniforms) = (words(rng), uniform_registers(rng));
    let [first, second, third, fourth] = out;
    for (part, (u, v)) in uniforms.into_iter().zip(more_uniforms).enumerate() {
        let angles = Interleaved([U32s::load(&angles, part), U32s::load(&more_angles, part)]);
        let (Interleaved([cos, more_cos]), Interleaved([sin, more_sin])) = polar(angles, Interleaved([u, v]));
        cos.store(first, part);
        sin.store(second, part);
        more_cos.store(third, part);
        more_sin.store(fourth, part);
    }
}

/// Pairs of normals from words and uniforms.
#[inline(always)]
fn polar<const N: usize>(
    angles: Interleaved<U32s, N>,
    uniforms: Interleaved<F32s, N>,
) -> (Interleaved<F32s, N>, Interleaved<F32s, N>) {
    let radius = uniforms.normal_radius();
    // A right angle to both sides by all bits, the side of the cosine by the last one, which it hardly feels.
    let (sin, cos) = (angles.i32_to_f32() * F32s::splat(TWO_POW_MINUS_31)).quarter_turns();
    (((radius * cos).to_bits() ^ angles.shl::<31>()).to_f32(), radius * sin)
}
