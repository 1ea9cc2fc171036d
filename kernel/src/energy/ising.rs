//! Ising models with sparse couplings.

mod fields;
mod flips;

use super::sparse::{Edge, Embedding, SparseBuffers, check_fields};
use super::{Energy, EnergyError, Pending, Sparse, SparseError, field, flip_or_stay, floats, ones, room};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::convert::Infallible;
use core::ops::Range;
use fields::{Rounding, eight};

/// A binary pairwise model, `E(x) = c − b·x − ½ xᵀKx`, whatever words it was given in.
///
/// Published Ising energies differ by a factor of two on every edge and in what a site's values are. So each
/// constructor's name says both. The log density is `f = −E`:
///
/// | constructor | log density f | values |
/// |---|---|---|
/// | [`Ising::spins_edges_once`] | `Σ wᵢsᵢ + Σ_edges Jᵢⱼsᵢsⱼ` (AB, Ising section) | s ∈ {−1,+1} |
/// | [`Ising::spins_edges_twice`] | `Σ wᵢsᵢ + sᵀJs = Σ wᵢsᵢ + 2 Σ_edges Jᵢⱼsᵢsⱼ` (DLP §7.1: `a sᵀAs + bΣs`) | s ∈ {−1,+1} |
/// | [`Ising::bits_edges_once`] | `Σ wᵢxᵢ + Σ_edges Jᵢⱼxᵢxⱼ` (QUBO, Boltzmann machine) | x ∈ {0,1} |
///
/// A spin is `s = 2x − 1`; states, gradients and step sizes are on the {0,1} scale always. The cache is
/// the field `b + Kx` of every site as 32-bit integers, so differences of energies are exact, whatever
/// the number of sites.
///
/// Cost: a gradient is one conversion a site, a move O(degree) a changed site.
///
/// ```
/// use bitmc::{Energy, Ising, SparseMemory};
/// let mut memory = SparseMemory::<3, 4>::new();
/// let chain = [(0, 1, 0.5), (1, 2, 0.5)];
/// let model = Ising::spins_edges_once(3, chain, &[0.1; 3], memory.borrow())?;
/// assert_eq!(model.layout().sites(), 3);
/// # Ok::<(), bitmc::energy::SparseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ising<'a> {
    form: Sparse<'a>,
    /// The constant c in quarter units.
    constant: i64,
    /// c without fields.
    bare: i64,
    embedding: Embedding,
}

/// Adds the b of a site to its field, less that of another model; where the site is 1, b + field to `sum`.
#[inline(always)]
fn add(is_one: bool, field: &mut u32, (new, old): (i32, i32), sum: &mut i64) {
    *field = field.wrapping_add(new.wrapping_sub(old) as u32);
    if is_one {
        *sum += i64::from(new) + i64::from(*field as i32);
    }
}

impl<'a> Ising<'a> {
    /// Blocks of cache that a model of `sites` sites needs.
    #[must_use]
    pub const fn cache_len(sites: usize) -> usize {
        sites.div_ceil(LANES)
    }

    /// `f = Σ wᵢsᵢ + Σ_edges Jᵢⱼsᵢsⱼ` over spins, each edge counted once. `fields` are the w, one a site,
    /// or empty for none.
    ///
    /// # Errors
    /// [`SparseError`] names the edge or site that is wrong, or the memory that is missing.
    pub fn spins_edges_once(
        sites: usize,
        edges: impl IntoIterator<Item = Edge, IntoIter: Clone>,
        fields: &[f32],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        Self::compile(sites, edges, fields, 1.0, Embedding::Spins, memory)
    }

    /// `f = Σ wᵢsᵢ + sᵀJs` over spins with symmetric J: each edge counts twice.
    ///
    /// # Errors
    /// As [`Ising::spins_edges_once`].
    pub fn spins_edges_twice(
        sites: usize,
        edges: impl IntoIterator<Item = Edge, IntoIter: Clone>,
        fields: &[f32],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        Self::compile(sites, edges, fields, 2.0, Embedding::Spins, memory)
    }

    /// `f = Σ wᵢxᵢ + Σ_edges Jᵢⱼxᵢxⱼ` over {0,1}, each edge counted once.
    ///
    /// # Errors
    /// As [`Ising::spins_edges_once`].
    pub fn bits_edges_once(
        sites: usize,
        edges: impl IntoIterator<Item = Edge, IntoIter: Clone>,
        fields: &[f32],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        Self::compile(sites, edges, fields, 1.0, Embedding::Bits, memory)
    }

    fn compile(
        sites: usize,
        edges: impl IntoIterator<Item = Edge, IntoIter: Clone>,
        fields: &[f32],
        scale: f32,
        embedding: Embedding,
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        check_fields(sites, 1, fields)?;
        let field = |site: usize| fields.get(site).copied().unwrap_or(0.0);
        let form = Sparse::compile(edges.into_iter(), sites, field, scale, embedding, 1.0, memory)?;
        if embedding == Embedding::Bits {
            return Ok(Self { form, constant: 0, bare: 0, embedding });
        }
        // c = Σw − Σ_edges J = ½Σb + ¼Σ_edges K, and without fields −¼Σ_edges K.
        let linear: i64 = form.linear().iter().map(|&b| i64::from(b)).sum();
        let couplings: i64 = form.entries().iter().map(|entry| i64::from(entry.coupling)).sum();
        Ok(Self { form, constant: 2 * linear + couplings / 2, bare: -(couplings / 2), embedding })
    }

    /// `f = b·x + ½ xᵀKx` over {0,1} from compiled rows.
    #[must_use]
    pub const fn quadratic(mut form: Sparse<'a>) -> Self {
        // Over bits a coupling has no share in b.
        form.shares = &[];
        Self { form, constant: 0, bare: 0, embedding: Embedding::Bits }
    }

    /// The same couplings with new fields w, which mean what they mean in the constructor. `linear` is memory of one
    /// word a site.
    ///
    /// The fixed point stays that of the first fields: build the model with the largest fields that will come. Larger
    /// ones are refused, and smaller ones are rounded to half of [`Sparse::unit`].
    ///
    /// Cost: O(sites); over spins also an addition for each entry of [`Sparse::entries`], unless
    /// [`SparseBuffers::linear`] had two words a site, as those of [`SparseMemory`](super::SparseMemory) have.
    /// Nothing is sorted, and no coupling is checked again.
    ///
    /// ```
    /// use bitmc::{Ising, SparseMemory, torus};
    /// let (mut memory, mut linear) = (SparseMemory::<25, 100>::new(), [0; 25]);
    /// let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[4.0; 25], memory.borrow())?;
    /// for frame in 0..10 {
    ///     let measured = [0.1 * frame as f32; 25];
    ///     let model = model.with_linear(&measured, &mut linear)?;
    ///     assert_eq!(model.form().sites(), 25);
    /// }
    /// # Ok::<(), bitmc::energy::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// [`SparseError::Fields`], [`SparseError::FieldNotFinite`] and [`SparseError::Memory`] as the constructor,
    /// [`SparseError::FieldScale`] where a field does not fit the fixed point.
    pub fn with_linear(&self, fields: &[f32], linear: &'a mut [i32]) -> Result<Self, SparseError> {
        let (sites, got) = (self.form.sites(), linear.len());
        check_fields(sites, 1, fields)?;
        let linear = linear.get_mut(..sites).ok_or(SparseError::Memory { need: sites, got })?;
        let rounding = Rounding::new(&self.form, self.embedding);
        let sum = if !fields.is_empty() && self.form.shares.len() == sites {
            rounding.put_all(fields, self.form.shares, linear)?
        } else {
            rounding.put_anew(fields, linear)?
        };
        let constant = if self.embedding == Embedding::Bits { 0 } else { self.bare + 2 * sum };
        let mut form = self.form;
        form.linear = linear;
        Ok(Self { form, constant, ..*self })
    }

    /// Flips a site that is `before`: how the energy changes, in units. The fields of the sites behind it and before
    /// `end` move at once, and are shown to `moved`. Those of others wait in `pending`, or move now where there is
    /// none.
    #[inline(always)]
    pub(crate) fn flip(
        &self,
        (site, end): (usize, usize),
        before: u32,
        fields: &mut [u32],
        pending: Option<&mut Pending>,
        mut moved: impl FnMut(usize, i32),
    ) -> i64 {
        let sign = 1 - 2 * before as i32;
        let difference = -i64::from(sign * field(fields, site));
        if let Some(pending) = pending {
            pending.push(&self.form, (site, end), before, fields, moved);
            return difference;
        }
        scatter(self.form.row(site), sign, fields, |other, field| {
            if site < other && other < end {
                moved(other, field);
            }
        });
        difference
    }

    /// Whether another model has the same couplings, in the same memory.
    pub(crate) fn couples_as(&self, other: &Self) -> bool {
        self.form.is(other.form)
    }

    /// `E(x)`, and the cache of x from the one over the same couplings with another b; nothing where an energy may be infinite.
    pub(crate) fn init_from(&self, other: &[i32], x: &[u32], cache: &mut [Bits]) -> Option<f32> {
        let other = other.get(..self.form.sites()).filter(|_| self.form.exponent() < 60)?;
        Some(self.add_linear::<false>(other, x, cache.as_flattened_mut()))
    }

    /// Adds b to the field of every site, less another b, or less none: `E(x) = c − ½ Σ x(b + field)`.
    fn add_linear<const ANEW: bool>(&self, other: &[i32], words: &[u32], fields: &mut [u32]) -> f32 {
        let (fields, rest) = fields.get_mut(..self.form.sites()).unwrap_or_default().as_chunks_mut::<32>();
        let (new, new_rest) = self.form.linear.as_chunks::<32>();
        let (old, old_rest) = other.as_chunks::<32>();
        let (mut sum, mut words) = (0, words.iter());
        for (((fields, new), old), &word) in fields.iter_mut().zip(new).zip(old).zip(words.by_ref()) {
            if ANEW {
                for (site, (field, &new)) in fields.iter_mut().zip(new).enumerate() {
                    add(word >> site & 1 != 0, field, (new, 0), &mut sum);
                }
                continue;
            }
            let (mut word, (fields, _)) = (word, fields.as_chunks_mut());
            for ((fields, new), old) in fields.iter_mut().zip(new.as_chunks().0).zip(old.as_chunks().0) {
                let Ok(()) = eight(fields, new, old, |site, field, &new, &old| {
                    add(word & 1 << site != 0, field, (new, old), &mut sum);
                    Ok::<_, Infallible>(())
                });
                word >>= 8;
            }
        }
        if let Some(&word) = words.next() {
            for (site, ((field, &new), &old)) in rest.iter_mut().zip(new_rest).zip(old_rest).enumerate() {
                add(word >> site & 1 != 0, field, (new, if ANEW { 0 } else { old }), &mut sum);
            }
        }
        self.quarters(self.constant - 2 * sum)
    }

    /// c, in quarters of a unit.
    pub(crate) fn constant(&self) -> i64 {
        self.constant
    }

    /// The value of a number of quarters of a unit.
    pub(crate) fn quarters(&self, quarters: i64) -> f32 {
        self.form.value(quarters) * 0.25
    }

    /// b and K.
    #[must_use]
    pub fn form(&self) -> Sparse<'a> {
        self.form
    }
}

/// The edges of a `rows` × `columns` torus, all with one coupling; both at least 3. The site of row r and
/// column c is `r · columns + c`; sites past 2³² − 1 count as that one, which no model has.
pub fn torus(rows: u32, columns: u32, coupling: f32) -> impl Iterator<Item = Edge> + Clone {
    (0..rows).flat_map(move |row| {
        (0..columns).flat_map(move |column| {
            let right = if column + 1 == columns { 0 } else { column + 1 };
            let below = if row + 1 == rows { 0 } else { row + 1 };
            let site = |row: u32, column| row.saturating_mul(columns).saturating_add(column);
            let here = site(row, column);
            [(here, site(row, right), coupling), (here, site(below, column), coupling)]
        })
    })
}

impl Energy for Ising<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.form.sites())
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.form.sites())
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let cache = room(cache, self.cache_len())?;
        let fields = cache.as_flattened_mut();
        fields.fill(0);
        for site in x.words().iter().zip((0..).step_by(32)).flat_map(|(&word, first)| ones(word, first)) {
            scatter(self.form.row(site), 1, fields, |_, _| ());
        }
        Ok(self.add_linear::<true>(self.form.linear, x.words(), fields))
    }

    fn ising(&self) -> Option<&Ising<'_>> {
        Some(self)
    }

    #[inline]
    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        floats(cache.get(blocks).unwrap_or_default(), -self.form.unit(), out);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let fields = cache.as_flattened_mut();
        self.form.value(self.follow(fields, step.by_words().map(|(word, from, to)| (word, from, from ^ to))))
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let field = i64::from(field(cache.as_flattened(), site));
        let here = Packed::trusted(self.layout(), words).get(site);
        flip_or_stay(here, self.form.value(if here == 0 { -field } else { field }), out);
    }
}

#[inline]
fn scatter(row: &[super::Entry], sign: i32, fields: &mut [u32], mut moved: impl FnMut(usize, i32)) {
    for entry in row {
        if let Some(field) = fields.get_mut(entry.site as usize) {
            *field = field.wrapping_add((sign * entry.coupling) as u32);
            moved(entry.site as usize, *field as i32);
        }
    }
}
