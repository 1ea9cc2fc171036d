//! Potts models with sparse couplings.

use super::sparse::{Edge, Embedding, SparseBuffers, check_fields};
use super::{Energy, EnergyError, Sparse, SparseError, add, field, floats, places, room};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Change, Move, Packed};
use core::ops::Range;

/// A Potts model: sites of q values that couple where they agree,
/// `E(x) = −Σ_edges Jᵢⱼ [xᵢ = xⱼ] − Σᵢ wᵢ(xᵢ)` (METHODS.md §1 has its proposal).
///
/// The cache is the field of every value at every site, `wᵢ(k) + Σⱼ Jᵢⱼ [xⱼ = k]`, as 32-bit integers. It is the
/// gradient, and differences of energies are exact. It takes 4q bytes a site.
///
/// Cost: a gradient is one conversion a site and value, a move O(degree) a changed site.
///
/// ```
/// use bitmc::{Energy, Potts, SparseMemory, torus};
/// let mut memory = SparseMemory::<9, 36>::new();
/// let model = Potts::new(9, 4, torus(3, 3, 0.8), &[], memory.borrow())?;
/// assert_eq!(model.layout().arity(), 4);
/// # Ok::<(), bitmc::energy::SparseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Potts<'a> {
    form: Sparse<'a>,
    fields: &'a [f32],
    arity: usize,
}

impl<'a> Potts<'a> {
    /// Blocks of cache that a model of `sites` sites of `arity` values needs.
    #[must_use]
    pub const fn cache_len(sites: usize, arity: usize) -> usize {
        Layout::categorical(sites, arity).gradient_blocks()
    }

    /// A model of `sites` sites of `arity` values. `fields` is `wᵢ(k)`, site by site, or empty for none.
    ///
    /// # Errors
    /// * [`SparseError`] names the edge or site that is wrong.
    /// * [`SparseError::Shape`] where there are fewer than two values.
    /// * [`SparseError::Fields`] where `fields` is neither empty nor `sites · arity` long.
    pub fn new(
        sites: usize,
        arity: usize,
        edges: impl IntoIterator<Item = Edge, IntoIter: Clone>,
        fields: &'a [f32],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        if !(2..=Layout::MAX_ARITY).contains(&arity) {
            return Err(SparseError::Shape);
        }
        check_fields(sites, arity, fields)?;
        // The largest field of a site decides the grid; a NaN must not hide behind a comparison.
        let largest = |site: usize| {
            let row = fields.get(site * arity..(site + 1) * arity).unwrap_or_default();
            row.iter().fold(0.0f32, |most, w| if w.abs() <= most || most.is_nan() { most } else { w.abs() })
        };
        let any = memory.any_rounding;
        let form = Sparse::compile(edges.into_iter(), sites, largest, 1.0, Embedding::Bits, 1.0, memory)?;
        let lost = |row: &[f32]| row.iter().any(|&w| !form.keeps(w));
        match fields.chunks(arity.max(1)).position(lost).filter(|_| !any) {
            Some(site) => Err(SparseError::FieldRounded { site }),
            None => Ok(Self { form, fields, arity }),
        }
    }

    /// The same couplings with other fields `wᵢ(k)`, in the fixed point that the constructor chose: build the model
    /// with the largest fields that will come. O(sites · arity), and no coupling is looked at.
    ///
    /// # Errors
    /// [`SparseError::Fields`] and [`SparseError::FieldNotFinite`] as [`Potts::new`], [`SparseError::FieldScale`]
    /// where a field does not fit the fixed point.
    pub fn with_linear(self, fields: &'a [f32]) -> Result<Self, SparseError> {
        let (sites, arity) = (self.form.sites(), self.arity);
        check_fields(sites, arity, fields)?;
        let near = self.form.near(0) as f32 * self.form.unit() * (1.0 - f32::EPSILON);
        for (site, row) in fields.chunks(arity.max(1)).enumerate() {
            for &field in row {
                let is_near = field.abs() <= near; // not where it is NaN
                if !is_near {
                    // In a batch the difference of two fields must have 31 bits too.
                    self.form.check_field(site, (field, 1.0), (0, (1 << 30) - 1))?;
                }
            }
        }
        Ok(Self { fields, ..self })
    }

    /// The couplings.
    #[must_use]
    pub fn form(&self) -> Sparse<'a> {
        self.form
    }

    /// Values of a site.
    #[inline]
    pub(crate) fn values(&self) -> u32 {
        self.arity as u32
    }

    /// The place in the cache of the field of a value at a site.
    #[inline]
    fn place(&self, site: usize, value: usize) -> usize {
        let (first, stride) = places(self.layout(), site);
        first + value * stride
    }

    /// wᵢ(k), in units of the grid.
    pub(crate) fn field(&self, site: usize, value: usize) -> i32 {
        self.fields.get(site * self.arity + value).map_or(0, |&w| self.form.grid.round(w))
    }

    fn cached(&self, cache: &[Bits], site: usize, value: u32) -> i64 {
        let field = cache.as_flattened().get(self.place(site, value as usize));
        i64::from(field.copied().unwrap_or(0) as i32)
    }

    /// Bits below the point of the noise of [`Potts::draw`].
    pub(crate) const NOISE_BITS: u32 = 24;

    /// How far [`Potts::draw`] shifts a field right, from the upper half of 64 bits, to count in units of the noise. A unit of the
    /// grid of 2⁸ or more counts as 2⁸, which no noise makes up for. With units of 2⁻⁵⁵ or less every field is below a unit of
    /// the noise, and counts as none.
    pub(crate) fn noise_shift(&self) -> u32 {
        (32 - Self::NOISE_BITS as i32 - self.form.exponent()).clamp(0, 63) as u32
    }

    /// The change of a site, in one lane of a block, to the value whose field and noise add up to most. The noise is whole
    /// numbers below 2³¹, kept as the bits of floats. For values along planes: not for [many](Layout::many_values).
    #[inline(always)]
    pub(crate) fn draw(
        &self,
        cache: &[Bits],
        (block, lane): (usize, usize),
        here: u32,
        noise: &[Block],
        shift: u32,
    ) -> Change {
        let planes =
            cache.get(block * self.arity..).and_then(|planes| planes.get(..self.arity)).unwrap_or_default();
        let (mut k, mut value, mut most) = (0, here, i64::MIN);
        for (plane, noise) in planes.iter().zip(noise) {
            let field = (i64::from(field(plane, lane)) << 32) >> shift;
            let sum = field + noise.get(lane).map_or(0, |noise| i64::from(noise.to_bits()));
            // Two choices rather than a branch, which no processor can foresee.
            value = if most < sum { k } else { value };
            most = if most < sum { sum } else { most };
            k += 1;
        }
        Change { site: block * LANES + lane, from: here, to: value }
    }

    /// Changes a site: moves the fields, and says how the energy changes, in units.
    #[inline]
    pub(crate) fn change(&self, change: Change, cache: &mut [Bits]) -> i64 {
        let (layout, fields) = (self.layout(), cache.as_flattened_mut());
        let (first, stride) = places(layout, change.site);
        let (from, to) = (change.from as usize * stride, change.to as usize * stride);
        // The couplings go from the fields of one value to those of another. What the next site waits for comes first.
        for entry in self.form.row(change.site) {
            let (first, _) = places(layout, entry.site as usize);
            add(fields, first + from, (entry.coupling as u32).wrapping_neg());
            add(fields, first + to, entry.coupling as u32);
        }
        i64::from(field(fields, first + from)) - i64::from(field(fields, first + to))
    }
}

impl Energy for Potts<'_> {
    fn layout(&self) -> Layout {
        Layout::categorical(self.form.sites(), self.arity)
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.form.sites(), self.arity)
    }

    fn potts(&self) -> Option<&Potts<'_>> {
        Some(self)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let cache = room(cache, self.cache_len())?;
        let fields = cache.as_flattened_mut();
        fields.fill(0);
        for site in 0..self.form.sites() {
            for value in 0..self.arity {
                add(fields, self.place(site, value), self.field(site, value) as u32);
            }
        }
        for (site, value) in x.values().enumerate() {
            for entry in self.form.row(site) {
                add(fields, self.place(entry.site as usize, value as usize), entry.coupling as u32);
            }
        }
        // Every edge is in two fields: −½ Σ (w + field) at the values of x.
        let terms = x
            .values()
            .enumerate()
            .map(|(site, value)| i64::from(self.field(site, value as usize)) + self.cached(cache, site, value));
        Ok(-0.5 * self.form.value(terms.sum()))
    }

    #[inline]
    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let blocks = self.layout().row_blocks();
        let fields = cache.get(rows.start * blocks..rows.end * blocks).unwrap_or_default();
        floats(fields, -self.form.unit(), out);
    }

    #[inline]
    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let difference = match step.one() {
            Some(change) => self.change(change, cache),
            None => step.changes().map(|change| self.change(change, cache)).sum(),
        };
        self.form.value(difference)
    }

    #[inline]
    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let here = Packed::trusted(self.layout(), words).get(site) as usize;
        let (first, stride) = places(self.layout(), site);
        let present = i64::from(field(cache.as_flattened(), first + here * stride));
        let difference = |units: i32| -self.form.value(i64::from(units) - present);
        let row = cache.get(first / LANES..).unwrap_or_default();
        if stride == 1 {
            let fields = row.as_flattened().iter().take(self.arity);
            out.iter_mut().zip(fields).for_each(|(out, &units)| *out = difference(units as i32));
        } else {
            let blocks = row.get(..self.arity).unwrap_or_default();
            out.iter_mut().zip(blocks).for_each(|(out, block)| *out = difference(field(block, first % LANES)));
        }
    }
}
