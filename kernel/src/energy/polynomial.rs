//! Polynomials of any order over bits or spins.

mod error;
mod memory;

pub use error::PolynomialError;
pub use memory::{PolynomialBuffers, PolynomialMemory};

use super::sparse::FINE;
use super::{Energy, EnergyError, Grid, add, checked, field, flip_or_stay, floats, room};
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// A polynomial of any order, `E = Σ_T w_T Π_{i∈T} xᵢ` over bits or `E = Σ_T w_T Π_{i∈T} sᵢ` over spins `s = 2x − 1`:
/// pseudo-Boolean functions, p-spin glasses, weighted clauses. The sum is the energy itself, not its negative.
///
/// A term is a list of sites and a weight. A list without sites is a constant, one site alone is a field. A list may
/// have a site several times: `x² = x`, and `s² = 1`, so that pairs of a spin cancel. Terms with equal sites add up.
///
/// Weights are used as rounded to 2⁻³⁰ of the largest sum of |w| over the terms of one site; constants are not rounded.
/// A weight that would lose much by it is refused, as [`Sparse`](super::Sparse) says, unless the memory says
/// [`allow_rounding`](PolynomialBuffers::allow_rounding).
///
/// The cache is whole numbers, free of history:
///
/// | | over bits | over spins |
/// |---|---|---|
/// | a site | `∂E/∂xᵢ`, 4 bytes | `Lᵢ = Σ_{T∋i} w_T Π s`, with `∂E/∂xᵢ = 2Lᵢsᵢ`, 4 bytes |
/// | a term | its zeros, and the sum of their numbers, 8 bytes | the sign of its product, 1 bit |
///
/// Where a term has one zero left, the sum of the numbers is the number of that site.
///
/// Cost: a gradient is one conversion a site. A flip visits the terms of its site alone. Over bits it then goes to a
/// term's other sites only where all of them were or become 1; over spins always.
///
/// ```
/// use bitmc::{Energy, Polynomial, PolynomialMemory};
/// // E = 3 − x₀ + 2x₁x₂ − 4x₀x₁x₃ over four bits
/// const TERMS: [(&[u32], f32); 4] = [(&[], 3.0), (&[0], -1.0), (&[1, 2], 2.0), (&[0, 1, 3], -4.0)];
/// let mut memory = PolynomialMemory::<4, 2, 5>::new();
/// let model = Polynomial::bits(4, TERMS, memory.borrow())?;
/// assert_eq!(model.layout().sites(), 4);
///
/// // The same from flat vectors: the end of each term's sites, all sites, one weight a term.
/// let (ends, sites, weights) = ([0, 1, 3, 6], [0, 1, 2, 0, 1, 3], [3.0, -1.0, 2.0, -4.0]);
/// let starts = [0].into_iter().chain(ends);
/// let lists = starts.zip(ends).map(|(start, end)| &sites[start..end]);
/// let model = Polynomial::bits(4, lists.zip(weights), memory.borrow())?;
/// assert_eq!(model.layout().sites(), 4);
/// # Ok::<(), bitmc::energy::PolynomialError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Polynomial<'a> {
    /// Of each site, where its terms end in `touching`, and its field.
    sites: &'a [[u32; 2]],
    /// Of each term of two sites or more, where its sites end in `members`, and its weight.
    terms: &'a [[u32; 2]],
    members: &'a [u32],
    touching: &'a [u32],
    constant: f32,
    spins: bool,
    grid: Grid,
}

/// In the first word of a row: the site is among those of the term.
const MARK: u32 = 0x8000_0000;

/// Shows every site that the product of a term depends on, once, with its row, and says how many there are. The
/// highest bit of the row's first word, 0 before and after, is a mark.
fn distinct(
    list: &[u32],
    spins: bool,
    rows: &mut [[u32; 2]],
    mut see: impl FnMut(u32, &mut [u32; 2]),
) -> usize {
    for &site in list {
        if let Some([first, _]) = rows.get_mut(site as usize) {
            *first = if spins { *first ^ MARK } else { *first | MARK };
        }
    }
    let mut order = 0;
    for &site in list {
        let Some(row) = rows.get_mut(site as usize) else { continue };
        let [first, _] = row;
        if *first & MARK != 0 {
            *first ^= MARK;
            order += 1;
            see(site, row);
        }
    }
    order
}

/// `units` with the other sign where `negative`.
#[inline]
fn signed(units: u32, negative: bool) -> u32 {
    if negative { units.wrapping_neg() } else { units }
}

impl<'a> Polynomial<'a> {
    /// Blocks of cache over bits, for `terms` terms that list two sites or more.
    #[must_use]
    pub const fn bits_cache_len(sites: usize, terms: usize) -> usize {
        sites.div_ceil(LANES).saturating_add(terms.div_ceil(LANES / 2))
    }

    /// Blocks of cache over spins, for `terms` terms that list two sites or more.
    #[must_use]
    pub const fn spins_cache_len(sites: usize, terms: usize) -> usize {
        sites.div_ceil(LANES).saturating_add(terms.div_ceil(32 * LANES))
    }

    /// `E = Σ_T w_T Π_{i∈T} xᵢ` over {0,1}. `terms` are pairs of sites and weight; the sites are a slice, an array or a
    /// vector of `u32`. Read twice; O(sites + sites of all terms).
    ///
    /// # Errors
    /// [`PolynomialError`] names the term or site that is wrong, or the memory that is missing.
    pub fn bits<S: AsRef<[u32]>>(
        sites: usize,
        terms: impl IntoIterator<Item = (S, f32), IntoIter: Clone>,
        memory: PolynomialBuffers<'a>,
    ) -> Result<Self, PolynomialError> {
        Self::compile(false, sites, terms.into_iter(), memory)
    }

    /// `E = Σ_T w_T Π_{i∈T} sᵢ` over spins, `s = 2x − 1`; all else as [`Polynomial::bits`].
    ///
    /// # Errors
    /// As [`Polynomial::bits`].
    pub fn spins<S: AsRef<[u32]>>(
        sites: usize,
        terms: impl IntoIterator<Item = (S, f32), IntoIter: Clone>,
        memory: PolynomialBuffers<'a>,
    ) -> Result<Self, PolynomialError> {
        Self::compile(true, sites, terms.into_iter(), memory)
    }

    fn compile<S: AsRef<[u32]>>(
        spins: bool,
        sites: usize,
        terms: impl Iterator<Item = (S, f32)> + Clone,
        memory: PolynomialBuffers<'a>,
    ) -> Result<Self, PolynomialError> {
        let PolynomialBuffers { sites: rows, terms: kept, members, any_rounding } = memory;
        if sites == 0 || sites > i32::MAX as usize {
            return Err(PolynomialError::Sites);
        }
        let got = rows.len();
        let rows = rows.get_mut(..sites).ok_or(PolynomialError::Memory { need: sites, got })?;

        // First pass: check, count terms a site, and add up |w| a site (kept as bits).
        rows.fill([0; 2]);
        let (mut count, mut listed, mut constant) = (0, 0usize, 0.0f32);
        for (term, (list, weight)) in terms.clone().enumerate() {
            let list = list.as_ref();
            if !weight.is_finite() {
                return Err(PolynomialError::NotFinite { term });
            }
            if let Some(&site) = list.iter().find(|&&site| site as usize >= sites) {
                return Err(PolynomialError::OutOfRange { term, site, sites });
            }
            let size = |_, [count, sum]: &mut [u32; 2]| {
                (*count, *sum) = (*count + 1, (f32::from_bits(*sum) + weight.abs()).to_bits());
            };
            if distinct(list, spins, rows, size) == 0 {
                constant += weight;
            }
            if list.len() > 1 {
                (count, listed) = (count + 1, listed.saturating_add(list.len()));
            }
            if term >= i32::MAX as usize || listed > i32::MAX as usize {
                return Err(PolynomialError::Sites);
            }
        }
        if !constant.is_finite() || constant.abs() > 1e30 {
            return Err(PolynomialError::Constant);
        }
        let (mut reach, mut most_terms) = (0.0, 0);
        for (site, &[count, sum]) in rows.iter().enumerate() {
            let sum = f32::from_bits(sum);
            if sum > 1e30 {
                return Err(PolynomialError::TooLarge { site });
            }
            // The sum has a rounding a term, and so has each term on the grid.
            let bound = sum * (1.0 + (count as f32 + 2.0) * f32::EPSILON);
            reach = if bound > reach { bound } else { reach };
            most_terms = if count > most_terms { count } else { most_terms };
        }
        let grid = Grid::covering(reach, 30);
        // What all terms of a site may lose together.
        let together = Grid::TOGETHER * FINE;
        let check = !any_rounding && (grid.coarse(FINE) || grid.coarse(together / most_terms as f32));
        let (have_terms, have_members) = (kept.len(), members.len());
        let kept = kept.get_mut(..count).ok_or(PolynomialError::Terms { need: count, got: have_terms })?;
        let halves = members.get_mut(..listed).and_then(|m| m.as_flattened_mut().split_at_mut_checked(listed));
        let short = PolynomialError::Members { need: listed, got: have_members };
        let (members, touching) = halves.ok_or(short)?;

        // Second pass: fields, and terms of two sites or more. The first word of a row adds up what its terms lose.
        rows.fill([0; 2]);
        let (mut count, mut end) = (0, 0);
        for (term, (list, weight)) in terms.enumerate() {
            let (start, mut last) = (end, 0);
            let lost = if check { grid.lost(weight, 1.0) } else { 0.0 };
            let mut keeps = lost <= FINE;
            let order = distinct(list.as_ref(), spins, rows, |site, [losses, _]| {
                if let Some(member) = members.get_mut(end) {
                    *member = site;
                }
                (last, end) = (site, end + 1);
                let sum = f32::from_bits(*losses) + lost;
                keeps &= sum <= together;
                *losses = sum.to_bits();
            });
            if order > 0 && !keeps {
                return Err(PolynomialError::Rounded { term });
            }
            let units = grid.round(weight) as u32;
            if order > 1 {
                if let Some(term) = kept.get_mut(count) {
                    *term = [end as u32, units];
                }
                count += 1;
                continue;
            }
            end = start;
            if let (1, Some([_, field])) = (order, rows.get_mut(last as usize)) {
                *field = field.wrapping_add(units);
            }
        }
        let (members, kept) = (members.get(..end).unwrap_or_default(), kept.get(..count).unwrap_or_default());

        // The terms of each site: the ends walk from the start of each row to its end.
        rows.iter_mut().for_each(|[end, _]| *end = 0);
        members.iter().for_each(|&site| rows.get_mut(site as usize).into_iter().for_each(|[end, _]| *end += 1));
        rows.iter_mut().fold(0, |start, [end, _]| start + core::mem::replace(end, start));
        let mut model = Self { sites: &[], terms: kept, members, touching: &[], constant, spins, grid };
        for term in 0..count {
            for &site in model.term(term).0 {
                let Some([end, _]) = rows.get_mut(site as usize) else { continue };
                if let Some(slot) = touching.get_mut(*end as usize) {
                    *slot = term as u32;
                }
                *end += 1;
            }
        }
        (model.sites, model.touching) = (rows, touching);
        Ok(model)
    }

    /// The sites of a term, and its weight in units.
    #[inline]
    fn term(&self, term: usize) -> (&'a [u32], u32) {
        let Some(&[end, weight]) = self.terms.get(term) else { return (&[], 0) };
        let before = term.checked_sub(1).and_then(|before| self.terms.get(before));
        let start = before.map_or(0, |&[end, _]| end as usize);
        (self.members.get(start..end as usize).unwrap_or_default(), weight)
    }

    /// The terms of a site.
    #[inline]
    fn touching(&self, site: usize) -> &'a [u32] {
        let end = |site: usize| self.sites.get(site).map_or(0, |&[end, _]| end as usize);
        let start = site.checked_sub(1).map_or(0, end);
        self.touching.get(start..end(site)).unwrap_or_default()
    }

    /// Shows all sites that share a term with a site, itself too.
    pub(crate) fn neighbours(&self, site: usize, see: &mut dyn FnMut(usize)) {
        for &term in self.touching(site) {
            self.term(term as usize).0.iter().for_each(|&other| see(other as usize));
        }
    }

    /// What a flip of a site changes the energy by, in units.
    #[inline]
    fn difference(&self, site: usize, before: u32, sums: &[u32]) -> i64 {
        let sum = i64::from(field(sums, site));
        match (self.spins, before) {
            (true, _) => -2 * sum,
            (false, 0) => sum,
            (false, _) => -sum,
        }
    }

    /// Flips a site that is `before`: sums and terms move along. What `difference` said is returned.
    fn flip(&self, site: usize, before: u32, sums: &mut [u32], records: &mut [u32]) -> i64 {
        let difference = self.difference(site, before, sums);
        let own = sums.get(site).copied().unwrap_or(0);
        if self.spins {
            for &term in self.touching(site) {
                let (members, weight) = self.term(term as usize);
                let Some(word) = records.get_mut(term as usize >> 5) else { continue };
                let negative = (*word >> (term & 31)) & 1 == 1;
                *word ^= 1 << (term & 31);
                let change = signed(weight << 1, !negative);
                members.iter().for_each(|&other| add(sums, other as usize, change));
            }
        } else {
            let (records, _) = records.as_chunks_mut::<2>();
            for &term in self.touching(site) {
                let Some([zeros, numbers]) = records.get_mut(term as usize) else { continue };
                // Before a site becomes 0 and after it became 1 there is one zero less.
                if before == 0 {
                    (*zeros, *numbers) = (zeros.wrapping_sub(1), numbers.wrapping_sub(site as u32));
                }
                let (fewer, last) = (*zeros, *numbers);
                if before != 0 {
                    (*zeros, *numbers) = (zeros.wrapping_add(1), numbers.wrapping_add(site as u32));
                }
                if fewer < 2 {
                    let (members, weight) = self.term(term as usize);
                    let change = signed(weight, before != 0);
                    let reached = if fewer == 0 { members } else { &[last] };
                    reached.iter().for_each(|&other| add(sums, other as usize, change));
                }
            }
        }
        // All terms of the site changed their signs, or none has it in its own sum.
        if let Some(sum) = sums.get_mut(site) {
            *sum = signed(own, self.spins);
        }
        difference
    }
}

impl Energy for Polynomial<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites.len())
    }

    fn cache_len(&self) -> usize {
        let len = if self.spins { Self::spins_cache_len } else { Self::bits_cache_len };
        len(self.sites.len(), self.terms.len())
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let words = room(cache, self.cache_len())?.as_flattened_mut();
        words.fill(0);
        let (sums, records) = words.split_at_mut_checked(self.layout().blocks() * LANES).unwrap_or_default();
        let mut units = 0;
        for ((sum, &[_, field]), x) in sums.iter_mut().zip(self.sites).zip(x.values()) {
            *sum = signed(field, self.spins && x == 0);
            units += if self.spins || x != 0 { i64::from(*sum as i32) } else { 0 };
        }
        for term in 0..self.terms.len() {
            let (members, weight) = self.term(term);
            let zeros = members.iter().filter(|&&site| x.get(site as usize) == 0);
            let count = zeros.clone().count();
            let numbers = zeros.fold(0, |sum: u32, &site| sum.wrapping_add(site));
            let weight = signed(weight, self.spins && count & 1 == 1);
            let reached = if self.spins || count == 0 { members } else { &[numbers] };
            if self.spins || count < 2 {
                reached.iter().for_each(|&site| add(sums, site as usize, weight));
            }
            if self.spins || count == 0 {
                units += i64::from(weight as i32);
            }
            if !self.spins {
                let (records, _) = records.as_chunks_mut::<2>();
                if let Some(record) = records.get_mut(term) {
                    *record = [count as u32, numbers];
                }
            } else if let Some(word) = records.get_mut(term >> 5) {
                *word |= (count as u32 & 1) << (term & 31);
            }
        }
        checked(self.grid.value(units) + self.constant)
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        let sums = cache.get(blocks.clone()).unwrap_or_default();
        if !self.spins {
            return floats(sums, self.grid.unit, out);
        }
        let two = F32s::splat(2.0 * self.grid.unit);
        for ((out, sums), block) in out.iter_mut().zip(sums).zip(blocks) {
            for part in 0..PARTS {
                let scale = Mask::from_bits(x.bits(block), part).pick(two, F32s::splat(0.0) - two);
                (F32s::from_i32(U32s::load(sums, part)) * scale).store(out, part);
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let parts = cache.as_flattened_mut().split_at_mut_checked(self.layout().blocks() * LANES);
        let Some((sums, records)) = parts else { return f32::NAN };
        let changes = step.changes();
        self.grid.value(changes.map(|change| self.flip(change.site, change.from, sums, records)).sum())
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let here = Packed::trusted(self.layout(), words).get(site);
        let difference = self.grid.value(self.difference(site, here, cache.as_flattened()));
        flip_or_stay(here, difference, out);
    }
}
