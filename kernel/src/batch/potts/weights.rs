//! The weights of a site's values in sixteen chains, from their logits: what [`draw::planes`](crate::draw) and
//! [`draw::conditional`](crate::draw) make for one chain, operation by operation.

use super::super::full;
use crate::lane::{F32s, U32s};

/// The weights of the values of one site, the largest being 1.
pub(super) struct Weights<const Q: usize>(pub(super) [F32s; Q]);

impl<const Q: usize> Weights<Q> {
    /// `exponential(z − largest)`, the largest at least 0: staying has logit 0.
    #[inline(always)]
    pub(super) fn new(mut logits: [F32s; Q], exponential: impl Fn(F32s) -> F32s) -> Self {
        let largest = logits.iter().fold(F32s::splat(0.0), |largest, &z| z.max(largest));
        logits.iter_mut().for_each(|z| *z = exponential(*z - largest));
        Self(logits)
    }

    /// Their sum.
    #[inline(always)]
    pub(super) fn sum(&self) -> F32s {
        self.0.iter().fold(F32s::splat(0.0), |sum, &weight| sum + weight)
    }

    /// The value that a uniform chooses, first whether it is another than the likeliest and then which; and its
    /// weight.
    #[inline(always)]
    pub(super) fn draw(&self, u: F32s) -> (U32s, F32s) {
        let (zero, one, past) = (F32s::splat(0.0), F32s::splat(1.0), U32s::splat(Q as u32));
        // The likeliest value is the first of weight 1: it is counted to.
        let (mut found, mut likeliest) = (zero.lt(zero), past);
        let (mut sums, mut others) = ([zero; Q], zero);
        for (sum, &weight) in sums.iter_mut().zip(&self.0) {
            let first = weight.eq(one) & !found;
            found = found | first;
            likeliest = likeliest + full(found);
            others = others + (!first).keep(weight.to_bits()).to_f32();
            *sum = others;
        }
        // The first value at which the running sum passes v. At the likeliest value the sum does not grow: none stops
        // there.
        let v = u * (one + others);
        let (mut value, mut chosen) = (past, self.0.first().copied().unwrap_or(one));
        let next = self.0.iter().skip(1).chain(core::iter::once(&one));
        for (sum, &next) in sums.iter().zip(next) {
            let passed = v.lt(*sum);
            value = value + full(passed);
            chosen = passed.pick(chosen, next);
        }
        let walks = v.lt(others);
        (walks.keep(value) | (!walks).keep(likeliest), chosen)
    }
}

/// In every lane the number at that lane's value.
#[inline(always)]
pub(super) fn at<const Q: usize>(of: &[F32s; Q], value: U32s) -> F32s {
    (0..).zip(of).fold(F32s::splat(0.0), |found, (k, &number)| U32s::splat(k).eq(value).pick(number, found))
}
