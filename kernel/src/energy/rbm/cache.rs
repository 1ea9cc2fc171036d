//! What an RBM keeps of a state.

use crate::lane::{Bits, LogProduct};

/// An RBM's cache, taken apart: pre-activations of the hidden units, σ of them, and the parts of the energy. With
/// columns, also hidden units and the pre-activations of the visible units that belong to them. These are those of
/// the last sweep of block Gibbs: no draw depends on them.
pub(super) struct Cache<'c> {
    pub(super) pre: &'c mut [Bits],
    pub(super) sigma: &'c mut [Bits],
    pub(super) energy: &'c mut Bits,
    pub(super) fields: &'c mut [Bits],
    pub(super) on: &'c mut [Bits],
}

/// `E` in parts that can be subtracted without cancelling: `−linear·unit − ln(product)`.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// a·v and Σ max(p, 0).
    pub(super) linear: i64,
    /// a·v alone.
    pub(super) biases: i64,
    pub(super) product: LogProduct,
}

impl Parts {
    pub(super) fn load(words: &Bits) -> Self {
        let &[low, high, mantissa, exponent, a_low, a_high, ..] = words;
        let join = |low, high| (i64::from(high as i32) << 32) | i64::from(low);
        let product = LogProduct::new(f32::from_bits(mantissa), exponent as i32);
        Self { linear: join(low, high), biases: join(a_low, a_high), product }
    }

    pub(super) fn store(self, words: &mut Bits) {
        let (mantissa, exponent) = (self.product.mantissa(), self.product.exponent());
        let [low, high, m, e, a_low, a_high, ..] = words;
        (*low, *high) = (self.linear as u32, (self.linear >> 32) as u32);
        (*m, *e) = (mantissa.to_bits(), exponent as u32);
        (*a_low, *a_high) = (self.biases as u32, (self.biases >> 32) as u32);
    }
}
