//! Gibbs sampling in all chains.

use super::compare::{Planes, draw};
use super::count::{count, laid_out, remake};
use super::model::{KINDS, Kind, Site};
use super::odds::LogOdds;
use super::table::{MAX_FEATURES, Outcomes, Table};
use super::{MAX_DEGREE, SlicedChains, SlicedError, SlicedIsing};
use crate::energy::Entry;
use crate::lane::{Bits, LANES, PARTS, U32s};
use rand_core::Rng;

/// Gibbs sampling by sweeps over the sites in their order (METHODS.md §2), in 512 chains at once.
///
/// A site becomes 1 with probability `1/(1+e^(−z))`, `z = 2(J·m + w)`, where m is the neighbours that push up less those that
/// push down. It is within 2⁻⁶⁴, and exactly ½ where z = 0.
///
/// Cost a sweep: eight and a half blocks of random words a site (twelve where there is only one site). At degree 4
/// a site also takes thirteen comparisons of some ten operations each. Memory: 64 bytes a site, and a table of
/// [`SlicedGibbs::kind_words`] for each kind of site.
#[derive(Debug)]
pub struct SlicedGibbs<'a> {
    pub(super) chains: SlicedChains<'a>,
    table: Table<'a>,
    /// For each kind: how many neighbours must push up for 1 to be the likelier value.
    likely: [u8; KINDS],
}

impl<'a> SlicedGibbs<'a> {
    /// Words of the table for sites of one degree, with a field or without. A model needs the sum over the
    /// kinds of sites that it has: [`SlicedGibbs::words`].
    #[must_use]
    pub const fn kind_words(degree: usize, field: bool) -> usize {
        Table::words(if field { degree } else { degree >> 1 })
    }

    /// Words of the table for a model.
    #[must_use]
    pub fn words(model: &SlicedIsing<'_>) -> usize {
        model.kinds().map(|kind| Self::kind_words(kind.degree, kind.field)).sum()
    }

    /// A sampler that goes on from where the chains are.
    ///
    /// # Errors
    /// [`SlicedError::Memory`] where the table has fewer than [`SlicedGibbs::words`].
    pub fn new(chains: SlicedChains<'a>, table: &'a mut [u32]) -> Result<Self, SlicedError> {
        let model = *chains.model();
        let table = Table::new(&model, table, features, |kind| {
            // Without a field the odds depend on how far the count is from half the neighbours.
            let count = |level: usize| if kind.field { level } else { kind.degree.div_ceil(2) + level };
            let rare = |level| log_odds(&model, kind, count(level)).size().minus().probability();
            let thresholds = Outcomes::new(features(kind), false, |level, _| rare(level), |a, b| a ^ b);
            (thresholds, Outcomes::new(0, false, |_, _| 0, |_, _| 0))
        })?;
        let mut likely = [0; KINDS];
        for kind in model.kinds() {
            let first = (0..=kind.degree).find(|&up| log_odds(&model, kind, up).positive());
            if let Some(slot) = likely.get_mut(kind.number()) {
                *slot = first.unwrap_or(kind.degree + 1) as u8;
            }
        }
        Ok(Self { chains, table, likely })
    }

    /// The probability, in units of 2⁻⁶⁴, of the less likely value of a site when `up` of its neighbours push it
    /// towards 1. And which value that is, as a sweep draws it. `None` where there is no such site or number.
    #[must_use]
    pub fn conditional(&self, site: usize, up: usize) -> Option<(u64, u32)> {
        let model = self.chains.model();
        if site >= model.sites() || up > model.site(site).kind.degree {
            return None;
        }
        let Site { row, kind, down } = model.site(site);
        let up = if down == 0 { up } else { row.len() - up };
        let level = if kind.field { up } else { (2 * up).abs_diff(row.len()) >> 1 };
        let likely = self.likely.get(kind.number()).is_some_and(|&least| up >= usize::from(least));
        Some((self.table.threshold(kind, features(kind), level, false), u32::from(!likely) ^ (down & 1)))
    }

    /// Draws every site once, in order, in every chain.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let (model, mut planes) = (*self.chains.model(), Planes::new());
        for index in 0..model.sites() {
            let site = model.site(index);
            let row = site.row;
            let value =
                laid_out!(row, row.len(), |row, levels| self.value(row, site, levels, &mut planes, rng));
            if let Some(block) = self.chains.blocks.get_mut(index) {
                *block = value;
            }
        }
    }

    #[inline(always)]
    fn value<R: Rng + ?Sized>(
        &self,
        row: &[Entry],
        site: Site<'_>,
        levels: &mut [Bits],
        planes: &mut Planes,
        rng: &mut R,
    ) -> Bits {
        let Site { kind, down, .. } = site;
        count(row, self.chains.blocks(), down, None, levels);
        // More than k − 1 neighbours push up.
        let at_least = |k: usize| match k.checked_sub(1) {
            None => [u32::MAX; LANES],
            Some(level) => levels.get(level).copied().unwrap_or([0; LANES]),
        };
        let half = row.len() >> 1;
        let (mut value, likely) = if kind.field {
            let least = self.likely.get(kind.number()).map_or(0, |&k| usize::from(k));
            (draw(levels, self.table.planes(kind, row.len()), planes, rng), at_least(least))
        } else {
            // As many more than half push up, or as many fewer.
            let mut distances = [[0; LANES]; MAX_DEGREE / 2];
            for (place, distance) in (1..).zip(distances.iter_mut().take(half)) {
                let (many, few) = (at_least(row.len() - half + place), at_least(half + 1 - place));
                let fewer = |part| U32s::load(&few, part) ^ U32s::splat(u32::MAX);
                remake(distance, |_, part| U32s::load(&many, part) | fewer(part));
            }
            let distances = distances.get(..half).unwrap_or_default();
            (draw(distances, self.table.planes(kind, half), planes, rng), at_least(half + 1))
        };
        remake(&mut value, |value, part| value ^ (U32s::load(&likely, part) ^ U32s::splat(down)));
        value
    }
}

/// With a field: at least k neighbours push along it. Without: at least k more than half push one way.
#[inline(always)]
fn features(kind: Kind) -> usize {
    if kind.field { kind.degree } else { kind.degree >> 1 }
}

/// Of a site whose field, if it has one, points up.
fn log_odds(model: &SlicedIsing<'_>, kind: Kind, up: usize) -> LogOdds {
    let m = 2 * up as i64 - kind.degree as i64;
    model.local(2 * m, 2 * i64::from(kind.field))
}
