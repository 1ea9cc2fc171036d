//! New fields over the same couplings.

use crate::energy::sparse::{Embedding, SMALL};
use crate::energy::{Sparse, SparseError};

/// Changes eight sites, one after the other: in a loop they take a Cortex-M4F a fifth more instructions.
#[inline(always)]
pub(super) fn eight<A, B, C, E>(
    a: &mut [A; 8],
    b: &[B; 8],
    c: &[C; 8],
    mut each: impl FnMut(usize, &mut A, &B, &C) -> Result<(), E>,
) -> Result<(), E> {
    each(0, &mut a[0], &b[0], &c[0])?;
    each(1, &mut a[1], &b[1], &c[1])?;
    each(2, &mut a[2], &b[2], &c[2])?;
    each(3, &mut a[3], &b[3], &c[3])?;
    each(4, &mut a[4], &b[4], &c[4])?;
    each(5, &mut a[5], &b[5], &c[5])?;
    each(6, &mut a[6], &b[6], &c[6])?;
    each(7, &mut a[7], &b[7], &c[7])
}

/// Rounds new fields to the fixed point of a model.
pub(super) struct Rounding<'m> {
    form: &'m Sparse<'m>,
    /// What a field counts in b, and how often the couplings that count with it are halved.
    weight: f32,
    halvings: u32,
    /// Fields below so many units fit. Values below `small` are rounded by an addition.
    near: u32,
    small: f32,
    scale: f32,
}

impl<'m> Rounding<'m> {
    pub(super) fn new(form: &'m Sparse<'_>, embedding: Embedding) -> Self {
        let (weight, halvings) = if embedding == Embedding::Bits { (1.0, 0) } else { (2.0, 1) };
        let near = form.near(halvings);
        let (scale, small) = (weight * form.per_unit(), form.unit() * near.min(SMALL) as f32);
        Self { form, weight, halvings, near, small, scale }
    }

    /// Writes the b of a site, its field less the couplings' share, and adds the field to `sum`.
    #[inline(always)]
    fn put(
        &self,
        site: usize,
        slot: &mut i32,
        (field, share): (f32, i32),
        sum: &mut i64,
    ) -> Result<(), SparseError> {
        let mut units = (self.scale * field) as i32;
        // One comparison for both ends: a negative number counts as one unit less, and NaN is 0.
        if ((units ^ (units >> 31)) as u32).wrapping_sub(SMALL) >= self.near.saturating_sub(SMALL) {
            let value = self.weight * field;
            let is_small = value.abs() < self.small; // not where it is NaN
            units = if is_small {
                self.form.grid.round_small(value)
            } else {
                self.form.check_field(site, (field, self.weight), (self.halvings, 1 << 30))?
            };
        }
        *slot = units.wrapping_sub(share);
        *sum += i64::from(units);
        Ok(())
    }

    /// The b of all sites, where their shares are kept; the sum of the fields. In a function of its own it has the registers.
    #[inline(never)]
    pub(super) fn put_all(
        &self,
        fields: &[f32],
        shares: &[i32],
        slots: &mut [i32],
    ) -> Result<i64, SparseError> {
        let (slots, last_slots) = slots.as_chunks_mut();
        let (fields, last_fields) = fields.as_chunks();
        let (shares, last_shares) = shares.as_chunks();
        let (mut sum, mut first) = (0, 0);
        for ((slots, fields), shares) in slots.iter_mut().zip(fields).zip(shares) {
            eight(slots, fields, shares, |site, slot, &field, &share| {
                self.put(first + site, slot, (field, share), &mut sum)
            })?;
            first += 8;
        }
        for (site, ((slot, &field), &share)) in
            last_slots.iter_mut().zip(last_fields).zip(last_shares).enumerate()
        {
            self.put(first + site, slot, (field, share), &mut sum)?;
        }
        Ok(sum)
    }

    /// The b of all sites from their couplings, where there are no shares or no fields; the sum of the fields.
    #[cold]
    pub(super) fn put_anew(&self, fields: &[f32], slots: &mut [i32]) -> Result<i64, SparseError> {
        let mut sum = 0;
        for (site, slot) in slots.iter_mut().enumerate() {
            let mut share = 0i32;
            if self.halvings == 1 {
                // Halves of even numbers: their sum fits where that of the couplings might not.
                share = self.form.row(site).iter().fold(0, |sum, entry| sum.wrapping_add(entry.coupling >> 1));
            }
            *slot = share.wrapping_neg();
            if let Some(&field) = fields.get(site) {
                self.put(site, slot, (field, share), &mut sum)?;
            }
        }
        Ok(sum)
    }
}
