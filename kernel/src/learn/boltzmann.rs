//! Dense Boltzmann machines.

use super::{Learnable, each_change, subtract};
use crate::energy::Boltzmann;
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS};
use crate::packed::Packed;

/// With values vᵢ (spins or bits) and `E = −Σ wᵢvᵢ − Σ_{i<j} Jᵢⱼvᵢvⱼ`: `∂E/∂wᵢ = −vᵢ`, `∂E/∂Jᵢⱼ = −vᵢvⱼ`.
///
/// Cost: d²/2 multiply-adds in lanes a state; the same for all neighbours at once, d for each of a few.
impl Learnable for Boltzmann<'_> {
    fn parameter_len(&self) -> usize {
        self.triangle().len()
    }

    fn accumulate(&self, x: Packed<'_>, _cache: &[Bits], weight: f32, into: &mut [Block]) {
        let zero = self.off();
        for (block, slots) in into.iter_mut().enumerate().take(self.triangle().width()) {
            for part in 0..PARTS {
                let inside = Mask::from_bits(self.sites_in(block), part);
                let term = inside.pick(F32s::splat(weight) * values(x, block, part, zero), F32s::splat(0.0));
                (F32s::load(slots, part) - term).store(slots, part);
            }
        }
        for (site, value) in x.values().enumerate() {
            let v = if value == 0 { zero } else { 1.0 };
            if v != 0.0 {
                self.subtract_row(site, into, |block, part| {
                    F32s::splat(weight * v) * values(x, block, part, zero)
                });
            }
        }
    }

    fn accumulate_changes(
        &self,
        words: &mut [u32],
        _cache: &[Bits],
        _scratch: &mut [Bits],
        weights: &[Block],
        into: &mut [Block],
    ) {
        // With u = weight · change of v: −Σᵢ uᵢ on the fields, −(uᵢvⱼ + vᵢuⱼ) on the couplings.
        let zero = self.off();
        let changed = weights.as_flattened().iter().filter(|&&weight| weight != 0.0).count();
        let one_by_one = changed * LANES < self.triangle().sites();
        each_change(self, words, weights, |words, site, value, weight| {
            let x = Packed::trusted(crate::Layout::binary(self.triangle().sites()), words);
            let u = if value == 0 { weight * (zero - 1.0) } else { weight * (1.0 - zero) };
            subtract(into, site, u);
            if !one_by_one {
                return;
            }
            self.subtract_row(site, into, |block, part| F32s::splat(u) * values(x, block, part, zero));
            for (before, value) in x.values().enumerate().take(site) {
                if let Some(place) = self.triangle().place(before, site) {
                    subtract(into, place, u * if value == 0 { zero } else { 1.0 });
                }
            }
        });
        if one_by_one {
            return;
        }
        let x = Packed::trusted(crate::Layout::binary(self.triangle().sites()), words);
        let change = |block: usize, part| {
            let weight = weights.get(block).map_or(F32s::splat(0.0), |weights| F32s::load(weights, part));
            let (up, down) = (F32s::splat(1.0 - zero), F32s::splat(zero - 1.0));
            weight * Mask::from_bits(x.bits(block), part).pick(down, up)
        };
        let own = |site: usize, value: u32| {
            let weight = weights.as_flattened().get(site).copied().unwrap_or(0.0);
            weight * if value == 0 { 1.0 - zero } else { zero - 1.0 }
        };
        for (site, value) in x.values().enumerate() {
            let (u, v) = (own(site, value), if value == 0 { zero } else { 1.0 });
            if u == 0.0 && v == 0.0 {
                continue;
            }
            let (u, v) = (F32s::splat(u), F32s::splat(v));
            self.subtract_row(site, into, |block, part| {
                u * values(x, block, part, zero) + v * change(block, part)
            });
        }
    }
}

impl Boltzmann<'_> {
    /// v where x is 0.
    fn off(&self) -> f32 {
        if self.is_spins() { -1.0 } else { 0.0 }
    }

    /// The lanes of a block that are sites.
    fn sites_in(&self, block: usize) -> u32 {
        let inside = self.triangle().sites().saturating_sub(block * LANES).min(LANES);
        (1 << inside) - 1
    }

    /// Subtracts terms from a row of couplings: `term(block, part)` for the columns of a block.
    #[inline]
    fn subtract_row(&self, site: usize, into: &mut [Block], term: impl Fn(usize, usize) -> F32s) {
        let first = site / LANES;
        let row = into.get_mut(self.triangle().range(site)).unwrap_or_default();
        let last = self.triangle().width().saturating_sub(1);
        for (block, slots) in (first..).zip(row) {
            // Columns after the site itself, and no padding.
            let after = if block == first { !((2 << (site % LANES)) - 1) } else { u32::MAX };
            let inside = if block == last { after & self.sites_in(block) } else { after };
            for part in 0..PARTS {
                let mask = Mask::from_bits(inside, part);
                let term = mask.pick(term(block, part), F32s::splat(0.0));
                (F32s::load(slots, part) - term).store(slots, part);
            }
        }
    }
}

/// The values v of a block of sites: 1, or `zero` where x is 0.
#[inline]
fn values(x: Packed<'_>, block: usize, part: usize, zero: f32) -> F32s {
    Mask::from_bits(x.bits(block), part).pick(F32s::splat(1.0), F32s::splat(zero))
}
