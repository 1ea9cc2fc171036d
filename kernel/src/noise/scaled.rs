//! W + D in units in which squares of its entries are floats.

use super::{NoiseError, Symmetric};
use crate::lane::Block;

/// W + D in other units, a power of two apart. The largest entry is about 1, and no square of an entry overflows or
/// is lost. What comes of it has the same digits.
pub(super) struct Scaled<'a, M> {
    pub(super) matrix: &'a M,
    pub(super) d: &'a [Block],
    pub(super) factor: f32,
}

impl<'a, M: Symmetric> Scaled<'a, M> {
    pub(super) fn new(matrix: &'a M, d: &'a [Block]) -> Result<Self, NoiseError> {
        let whole = Self { matrix, d, factor: 1.0 };
        let mut largest = 0.0f32;
        for site in 0..matrix.sites() {
            let mut finite = whole.diagonal(site).is_finite();
            largest = largest.max(whole.diagonal(site).abs());
            matrix.row(site, |_, value| {
                (finite, largest) = (finite && value.is_finite(), largest.max(value.abs()))
            });
            if !finite {
                return Err(NoiseError::NotFinite { site });
            }
        }
        let exponent = (largest.to_bits() >> 23).clamp(1, 253);
        Ok(Self { factor: f32::from_bits((254 - exponent) << 23), ..whole })
    }
}

impl<M: Symmetric> Symmetric for Scaled<'_, M> {
    fn sites(&self) -> usize {
        self.matrix.sites()
    }

    fn diagonal(&self, site: usize) -> f32 {
        let d = self.d.as_flattened().get(site).copied().unwrap_or(0.0);
        (self.matrix.diagonal(site) + d) * self.factor
    }

    fn row(&self, site: usize, mut entry: impl FnMut(usize, f32)) {
        self.matrix.row(site, |other, value| entry(other, value * self.factor));
    }
}
