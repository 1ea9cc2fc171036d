//! Factor graphs: tables over one, two or three sites.

mod error;
mod memory;
mod scope;

pub use error::FactorError;
pub use memory::{FactorsBuffers, FactorsMemory};
pub use scope::Factor;

use super::sparse::FINE;
use super::{Energy, EnergyError, Grid, add, floats, places, room};
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::layout::Layout;
use crate::packed::{Change, Move, Packed};
use core::ops::Range;

/// A discrete graphical model, `E(x) = −Σ_f t_f(x_f)`. Each factor f looks a log value up in a table, by the values
/// of at most three sites. These may have different arities. A log value of −∞ forbids a combination.
///
/// Tables and factors are borrowed, and factors may share a table. The last site of a factor runs fastest in
/// its table.
///
/// The cache is the field of every value at every site, `Σ_f t_f(x with xᵢ = k)` over the factors that see the site,
/// as 32-bit integers. It gives exact local differences, and the gradient of the multilinear extension over one-hot
/// vectors (METHODS.md §1). Forbidden combinations are counted too. The cache takes 4 bytes a site and value, or 8
/// where a table has −∞.
///
/// Cost: a gradient is one conversion a site and value. A move touches the factors of the changed sites alone, one
/// table entry for each value of their other sites.
///
/// ```
/// use bitmc::{Energy, Factor, Factors, FactorsMemory};
/// // A site of 2 values and one of 3, which must not both be 0.
/// const NEVER: f32 = f32::NEG_INFINITY;
/// let tables = [0.0, 1.0, /**/ NEVER, 0.2, 0.1, 0.0, 0.3, 0.7];
/// let factors = [Factor::one(0, 0), Factor::two(0, 1, 2)];
/// let mut memory = FactorsMemory::<2, 3>::new();
/// let model = Factors::new(&[2, 3], &factors, &tables, memory.borrow())?;
/// assert_eq!(model.layout().arity(), 3);
/// # Ok::<(), bitmc::energy::FactorError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a> {
    arities: &'a [u16],
    factors: &'a [Factor],
    tables: &'a [f32],
    /// Where the factors of each site end in `members`.
    ends: &'a [u32],
    members: &'a [u32],
    arity: usize,
    forbidden: bool,
    grid: Grid,
}

/// An entry of a table: a finite log value in units of the grid, or a hard constraint.
#[derive(Clone, Copy, Default)]
struct Term {
    units: i32,
    forbidden: u32,
}

impl<'a> Factors<'a> {
    /// What a forbidden combination counts in the gradient, in nats. A value that would break one constraint by
    /// itself is proposed more rarely by e^(−4β). Moves that do break one are rejected. It is finite because sites
    /// that move together may keep the constraint. It changes the speed of an adjusted chain, not its distribution.
    pub const WALL: f32 = 4.0;

    /// Blocks of cache for `sites` sites of at most `arity` values; `forbidden` says whether a table has −∞.
    #[must_use]
    pub const fn cache_len(sites: usize, arity: usize, forbidden: bool) -> usize {
        Layout::categorical(sites, arity).gradient_blocks().saturating_mul(if forbidden { 2 } else { 1 })
    }

    /// A model of sites with these arities. A factor's table starts in `tables` where the factor says.
    /// O(entries of all tables).
    ///
    /// Log values are used as rounded to 2⁻³⁰ of the largest possible field of a site. One that would lose much by it
    /// is refused, as [`Sparse`](super::Sparse) says, unless the memory says
    /// [`allow_rounding`](FactorsBuffers::allow_rounding).
    ///
    /// # Errors
    /// [`FactorError`] names the site, factor or entry that is wrong, or the memory that is missing.
    pub fn new(
        arities: &'a [u16],
        factors: &'a [Factor],
        tables: &'a [f32],
        memory: FactorsBuffers<'a>,
    ) -> Result<Self, FactorError> {
        let sites = arities.len();
        if sites == 0 || sites > i32::MAX as usize || factors.len() > i32::MAX as usize {
            return Err(FactorError::Sites);
        }
        if let Some(site) = arities.iter().position(|&arity| arity == 0) {
            return Err(FactorError::Arity { site });
        }
        let FactorsBuffers { ends, members, any_rounding } = memory;
        let (have_ends, have_members) = (ends.len(), members.len());
        let ends = ends.get_mut(..sites).ok_or(FactorError::Memory { need: sites, got: have_ends })?;

        // Count the factors of each site; then `ends` walks from the start of each row to its end.
        ends.fill(0);
        let mut count = 0;
        for (factor, scope) in factors.iter().enumerate() {
            for (place, &site) in scope.sites().iter().enumerate() {
                if scope.sites().get(..place).is_some_and(|before| before.contains(&site)) {
                    return Err(FactorError::Repeated { factor });
                }
                *ends.get_mut(site as usize).ok_or(FactorError::OutOfRange { factor })? += 1;
                count += 1;
            }
        }
        let short = FactorError::Members { need: count, got: have_members };
        let members = members.get_mut(..count).ok_or(short)?;
        ends.iter_mut().fold(0, |start, end| start + core::mem::replace(end, start));
        for (factor, scope) in factors.iter().enumerate() {
            for &site in scope.sites() {
                let Some(end) = ends.get_mut(site as usize) else { continue };
                if let Some(member) = members.get_mut(*end as usize) {
                    *member = factor as u32;
                }
                *end += 1;
            }
        }

        let arity = arities.iter().copied().max().map_or(1, usize::from);
        let grid = Grid::covering(0.0, 30);
        let mut model = Self { arities, factors, tables, ends, members, arity, forbidden: false, grid };
        model.arity = model.layout().arity();
        model.check_tables(any_rounding)?;
        Ok(model)
    }

    /// Looks at every entry of every factor, and chooses the grid.
    fn check_tables(&mut self, any_rounding: bool) -> Result<(), FactorError> {
        for (factor, scope) in self.factors.iter().enumerate() {
            let table = self.table(scope).map_err(|(need, got)| FactorError::Table { factor, need, got })?;
            for (entry, &value) in table.iter().enumerate() {
                if value.is_nan() || value == f32::INFINITY {
                    return Err(FactorError::Entry { factor, entry });
                }
                self.forbidden |= value == f32::NEG_INFINITY;
            }
            if table.iter().all(|&value| value == f32::NEG_INFINITY) {
                return Err(FactorError::Impossible { factor });
            }
        }
        let mut reach = 0.0;
        for site in 0..self.arities.len() {
            let largest = |factor: &Factor| {
                let table = self.table(factor).unwrap_or_default();
                let finite = table.iter().filter(|value| value.is_finite());
                finite.fold(0.0f32, |most, value| if value.abs() > most { value.abs() } else { most })
            };
            let bound: f32 = self.factors_of(site).map(largest).sum();
            if bound > 1e30 {
                return Err(FactorError::TooLarge { site });
            }
            reach = if bound > reach { bound } else { reach };
        }
        self.grid = Grid::covering(reach, 30);
        if any_rounding {
            return Ok(());
        }
        let lost = |scope| self.grid.loses(self.table(scope).unwrap_or_default(), Grid::NATS);
        match self.factors.iter().enumerate().find_map(|(factor, scope)| Some((factor, lost(scope)?))) {
            Some((factor, entry)) => Err(FactorError::Rounded { factor, entry }),
            None => self.check_together(),
        }
    }

    /// Looks at what the factors of each site lose together.
    fn check_together(&self) -> Result<(), FactorError> {
        let sites = || (0..self.arities.len()).map(|site| self.members_of(site));
        let (together, most) = (Grid::TOGETHER * FINE, sites().map(<[u32]>::len).max().unwrap_or(0));
        if !self.grid.coarse(together / most as f32) {
            return Ok(());
        }
        for members in sites() {
            let mut sum = 0.0;
            for &factor in members {
                let scope = self.factors.get(factor as usize);
                let table = scope.and_then(|scope| self.table(scope).ok()).unwrap_or_default();
                let losses = table.iter().map(|&value| self.grid.lost(value, 1.0)).enumerate();
                let (entry, lost) = losses.fold((0, 0.0), |most, own| if own.1 > most.1 { own } else { most });
                sum += lost;
                if sum > together {
                    return Err(FactorError::Rounded { factor: factor as usize, entry });
                }
            }
        }
        Ok(())
    }

    /// The table of a factor, or how many entries it needs and has.
    fn table(&self, factor: &Factor) -> Result<&'a [f32], (usize, usize)> {
        let arities = factor.sites().iter().map(|&site| self.arity_of(site));
        let need = arities.fold(1usize, usize::saturating_mul);
        let rest = self.tables.get(factor.start()..).unwrap_or_default();
        rest.get(..need).ok_or((need, rest.len()))
    }

    fn arity_of(&self, site: u32) -> usize {
        self.arities.get(site as usize).map_or(1, |&arity| usize::from(arity))
    }

    /// The numbers of the factors that see a site.
    fn members_of(&self, site: usize) -> &'a [u32] {
        let end = |site: usize| self.ends.get(site).map_or(0, |&end| end as usize);
        let start = site.checked_sub(1).map_or(0, end);
        self.members.get(start..end(site)).unwrap_or_default()
    }

    fn factors_of(&self, site: usize) -> impl Iterator<Item = &'a Factor> {
        let factors = self.factors;
        self.members_of(site).iter().filter_map(move |&factor| factors.get(factor as usize))
    }

    /// Shows all sites that share a factor with a site, itself too.
    pub(crate) fn neighbours(&self, site: usize, see: &mut dyn FnMut(usize)) {
        self.factors_of(site).for_each(|factor| factor.sites().iter().for_each(|&other| see(other as usize)));
    }

    /// The entries of a factor as the value of one of its sites varies, the other sites being as `value` says.
    /// Returns the first entry's place in `tables`, and the stride.
    #[inline]
    fn line(&self, factor: &Factor, along: usize, value: impl Fn(usize) -> u32) -> (usize, usize) {
        let (mut first, mut stride, mut step) = (factor.start(), 1, 1);
        for &site in factor.sites().iter().rev() {
            if site as usize == along {
                stride = step;
            } else {
                first += step * value(site as usize) as usize;
            }
            step *= self.arity_of(site);
        }
        (first, stride)
    }

    #[inline]
    fn term(&self, entry: usize) -> Term {
        match self.tables.get(entry) {
            Some(&value) if value > f32::NEG_INFINITY => Term { units: self.grid.round(value), forbidden: 0 },
            Some(_) => Term { units: 0, forbidden: 1 },
            None => Term::default(),
        }
    }

    /// The place in the cache of the field of a value at a site.
    #[inline]
    fn place(&self, site: usize, value: usize) -> usize {
        let (first, stride) = places(self.layout(), site);
        first + value * stride
    }

    /// Blocks of fields; the counts of broken hard constraints begin behind them.
    fn fields_len(&self) -> usize {
        Self::cache_len(self.arities.len(), self.arity, false)
    }

    fn cached(&self, cache: &[Bits], site: usize, value: u32) -> (i64, i64) {
        let place = self.place(site, value as usize);
        let word = |place: usize| cache.as_flattened().get(place).copied().unwrap_or(0);
        let forbidden = if self.forbidden { word(place + self.fields_len() * LANES) } else { 0 };
        (i64::from(word(place) as i32), i64::from(forbidden))
    }

    /// Adds `sign` times a term to a field.
    #[inline]
    fn add(&self, cache: &mut [Bits], site: usize, value: usize, term: Term, sign: i32) {
        let place = self.place(site, value);
        let words = cache.as_flattened_mut();
        add(words, place, sign.wrapping_mul(term.units) as u32);
        if self.forbidden {
            add(words, place + self.fields_len() * LANES, (sign * term.forbidden as i32) as u32);
        }
    }

    /// Moves the fields of the neighbours of one site; `value` tells the values of the others.
    fn move_fields(&self, change: Change, value: impl Fn(usize) -> u32, cache: &mut [Bits]) {
        for factor in self.factors_of(change.site) {
            let others = factor.sites().iter().map(|&site| site as usize);
            for other in others.filter(|&site| site != change.site) {
                let at = |own: u32| {
                    self.line(factor, other, |site| if site == change.site { own } else { value(site) })
                };
                let ((before, stride), (after, _)) = (at(change.from), at(change.to));
                for k in 0..self.arity_of(other as u32) {
                    self.add(cache, other, k, self.term(before + k * stride), -1);
                    self.add(cache, other, k, self.term(after + k * stride), 1);
                }
            }
        }
    }

    /// E of a sum of log values and a number of broken hard constraints.
    fn value(&self, units: i64, forbidden: i64) -> f32 {
        match forbidden {
            0 => -self.grid.value(units),
            1.. => f32::INFINITY,
            _ => f32::NEG_INFINITY,
        }
    }
}

impl Energy for Factors<'_> {
    fn layout(&self) -> Layout {
        Layout::categorical(self.arities.len(), self.arity)
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.arities.len(), self.arity, self.forbidden)
    }

    fn arities(&self) -> Option<&[u16]> {
        Some(self.arities)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let cache = room(cache, Energy::cache_len(self))?;
        cache.as_flattened_mut().fill(0);
        let (mut units, mut forbidden) = (0, 0);
        for factor in self.factors {
            for (place, &site) in factor.sites().iter().enumerate() {
                let site = site as usize;
                let (first, stride) = self.line(factor, site, |site| x.get(site));
                for k in 0..self.arity_of(site as u32) {
                    self.add(cache, site, k, self.term(first + k * stride), 1);
                }
                if place == 0 {
                    let term = self.term(first + x.get(site) as usize * stride);
                    units += i64::from(term.units);
                    forbidden += i64::from(term.forbidden);
                }
            }
        }
        Ok(self.value(units, forbidden))
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let wall = F32s::splat(Self::WALL);
        let blocks = self.layout().row_blocks();
        let planes = rows.start * blocks..rows.end * blocks;
        floats(cache.get(planes.clone()).unwrap_or_default(), -self.grid.unit, out);
        let counts = cache.get(self.fields_len()..).and_then(|counts| counts.get(planes));
        for (out, counts) in out.iter_mut().zip(counts.unwrap_or_default()) {
            for part in 0..PARTS {
                let forbidden = F32s::from_i32(U32s::load(counts, part)) * wall;
                (F32s::load(out, part) + forbidden).store(out, part);
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let (mut units, mut forbidden) = (0, 0);
        for change in step.changes() {
            // One site at a time: those before it have moved, those behind it have not.
            let value = |site: usize| {
                if site < change.site { step.to().get(site) } else { step.before(site) }
            };
            let before = self.cached(cache, change.site, change.from);
            let after = self.cached(cache, change.site, change.to);
            units += after.0 - before.0;
            forbidden += after.1 - before.1;
            self.move_fields(change, value, cache);
        }
        self.value(units, forbidden)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let here = Packed::trusted(self.layout(), words).get(site);
        let from = self.cached(cache, site, here);
        let arity = self.arity_of(site as u32) as u32;
        for (value, out) in (0..self.arity as u32).zip(out) {
            let to = self.cached(cache, site, value);
            let legal = value < arity;
            *out = if legal { self.value(to.0 - from.0, to.1 - from.1) } else { f32::INFINITY };
        }
    }
}
