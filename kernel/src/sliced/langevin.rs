//! The discrete Langevin sampler in all chains.

use super::compare::{Planes, draw};
use super::count::{block, count, laid_out, remake};
use super::model::{KINDS, Kind, Site};
use super::odds::LogOdds;
use super::table::{MAX_FEATURES, Outcomes, Table};
use super::{SlicedChains, SlicedError, SlicedIsing, tally};
use crate::energy::Entry;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::layout::Layout;
use crate::packed::{Packed, StateError};
use crate::random::uniforms;
use rand_core::Rng;

const TWO_POW_MINUS_32: f32 = 1.0 / 4_294_967_296.0;

/// The discrete Langevin sampler (DLP, Algorithms 1 and 2; METHODS.md §1) with balance ½ and one step size α, in 512 chains at
/// once. Every site of a chain is proposed to flip, with log odds `z = −J·a − w·s − 1/(2α)`. Here a is its neighbours that
/// agree with it less those that do not.
///
/// With zero diagonal and balance ½ the energies cancel against the flipped sites' terms. So the Metropolis ratio is
/// `ln A = Z(x) − Z(y)`, `Z = Σ ln(1 + e^z)`. It takes how many sites have each z, counted in bits too. Those
/// logarithms are whole multiples of 2⁻³². A flip's probability is within 2⁻⁶⁴, which is 2⁻²⁰ of the rarest. So far
/// is ln A that of what was drawn.
///
/// Cost a step: eight and a half blocks of random words a site, two counts of neighbours, and two additions in bits
/// for every neighbour. At degree 4 a site also takes thirteen comparisons of some fifteen operations each. Memory:
/// 128 bytes a site, a table, and counters.
#[derive(Debug)]
pub struct SlicedLangevin<'a> {
    pub(super) chains: SlicedChains<'a>,
    table: Table<'a>,
    proposal: &'a mut [Bits],
    /// Empty for a sampler without a test.
    counters: &'a mut [Bits],
    levels: usize,
    /// Where the counters of a kind of sites start.
    starts: [u32; KINDS],
}

impl<'a> SlicedLangevin<'a> {
    /// Words of the table for sites of one degree, with a field or without. A model needs the sum over the
    /// kinds of sites that it has: [`SlicedLangevin::words`].
    #[must_use]
    pub const fn kind_words(degree: usize, field: bool) -> usize {
        Table::words(features(Self::kind(degree, field)))
    }

    /// Words of the table for a model.
    #[must_use]
    pub fn words(model: &SlicedIsing<'_>) -> usize {
        model.kinds().map(|kind| Self::kind_words(kind.degree, kind.field)).sum()
    }

    /// Blocks of counters for sites of one kind in a model of so many sites.
    #[must_use]
    pub const fn kind_blocks(sites: usize, degree: usize, field: bool) -> usize {
        levels(sites).saturating_mul(2).saturating_mul(features(Self::kind(degree, field)))
    }

    /// A kind of no degree whose features cannot be counted.
    const fn kind(degree: usize, field: bool) -> Kind {
        Kind { degree: if degree < usize::MAX / 4 { degree } else { usize::MAX / 4 }, field }
    }

    /// Blocks of room for a model: one a site, and the counters of its kinds of sites. A sampler without a test does
    /// not need the counters.
    #[must_use]
    pub fn blocks(model: &SlicedIsing<'_>) -> usize {
        let sites = model.sites();
        sites + model.kinds().map(|kind| Self::kind_blocks(sites, kind.degree, kind.field)).sum::<usize>()
    }

    /// With the Metropolis test: DMALA. It goes on from where the chains are; `table` has at least
    /// [`SlicedLangevin::words`], `room` [`SlicedLangevin::blocks`]. Step sizes are on the {0,1} scale.
    ///
    /// # Errors
    /// [`SlicedError::StepSize`], [`SlicedError::Steep`] where a flip's log odds could be beyond ±30,
    /// [`SlicedError::Memory`].
    pub fn adjusted(
        chains: SlicedChains<'a>,
        step_size: f32,
        table: &'a mut [u32],
        room: &'a mut [Bits],
    ) -> Result<Self, SlicedError> {
        let (need, got) = (Self::blocks(chains.model()), room.len());
        let room = room.get_mut(..need).ok_or(SlicedError::Memory { need, got })?;
        Self::new(chains, step_size, table, room)
    }

    /// Without a test: DULA. It converges to a distribution of its own, which is the model's only for small steps. `room` is
    /// a block a site.
    ///
    /// # Errors
    /// As [`SlicedLangevin::adjusted`].
    pub fn unadjusted(
        chains: SlicedChains<'a>,
        step_size: f32,
        table: &'a mut [u32],
        room: &'a mut [Bits],
    ) -> Result<Self, SlicedError> {
        let (need, got) = (chains.model().sites(), room.len());
        let room = room.get_mut(..need).ok_or(SlicedError::Memory { need, got })?;
        Self::new(chains, step_size, table, room)
    }

    fn new(
        chains: SlicedChains<'a>,
        step_size: f32,
        table: &'a mut [u32],
        room: &'a mut [Bits],
    ) -> Result<Self, SlicedError> {
        let curvature = 1.0 / step_size;
        if !(step_size > 0.0 && step_size.is_finite() && curvature.is_finite() && curvature > 0.0) {
            return Err(SlicedError::StepSize(step_size));
        }
        let model = *chains.model();
        let half = LogOdds::of(0.5 * curvature);
        let of = |kind: Kind, agreeing: usize, along: bool| {
            let (a, s) = (2 * agreeing as i64 - kind.degree as i64, if along { 1 } else { -1 });
            model.local(a, if kind.field { s } else { 0 }).plus(half).minus()
        };
        let steep = |kind: Kind| {
            let ends = [of(kind, 0, false), of(kind, kind.degree, true)];
            ends.iter().any(|z| z.size() > LogOdds::LIMIT)
        };
        if model.kinds().any(steep) {
            return Err(SlicedError::Steep);
        }
        let table = Table::new(&model, table, features, |kind| {
            let threshold = |agreeing, along| of(kind, agreeing, along).probability();
            let weight = |agreeing, along| -of(kind, agreeing, along).softplus();
            (
                Outcomes::new(kind.degree, kind.field, threshold, |a, b| a ^ b),
                Outcomes::new(kind.degree, kind.field, weight, i64::wrapping_sub),
            )
        })?;
        let sites = model.sites();
        let (proposal, counters) = room.split_at_mut_checked(sites).unwrap_or_default();
        let (mut starts, mut start, levels) = ([0; KINDS], 0, levels(sites));
        for kind in model.kinds() {
            if let Some(slot) = starts.get_mut(kind.number()) {
                *slot = start;
            }
            start += tally::blocks(levels, features(kind)) as u32;
        }
        Ok(Self { chains, table, proposal, counters, levels, starts })
    }

    /// The probability of a flip, in units of 2⁻⁶⁴, as a step draws it. It is that of a site that agrees with `agreeing`
    /// neighbours, and with its field or not. Returns `None` where there is no such site or number.
    #[must_use]
    pub fn flip(&self, site: usize, agreeing: usize, along: bool) -> Option<u64> {
        let model = self.chains.model();
        let kind = (site < model.sites()).then(|| model.site(site).kind)?;
        let legal = agreeing <= kind.degree;
        legal.then(|| self.table.threshold(kind, features(kind), agreeing, along && kind.field))
    }

    /// ln A of a move as the Metropolis test of a step has it, from counts site by site.
    ///
    /// # Errors
    /// [`StateError::Layout`] where a state is no binary one of the model's sites.
    pub fn log_ratio(&self, from: Packed<'_>, to: Packed<'_>) -> Result<f32, StateError> {
        let model = self.chains.model();
        let layout = Layout::binary(model.sites());
        let (from, to) = (from.of(layout)?, to.of(layout)?);
        let weight = |index: usize, state: Packed<'_>| {
            let Site { row, kind, down } = model.site(index);
            let own = state.get(index);
            let agrees = |entry: &&Entry| (state.get(entry.site as usize) == own) == (entry.coupling >= 0);
            let along = kind.field && own != down & 1;
            self.table.weight(kind, features(kind), row.iter().filter(agrees).count(), along)
        };
        let terms = (0..model.sites()).map(|index| weight(index, to).wrapping_sub(weight(index, from)));
        Ok(terms.fold(0i64, i64::wrapping_add) as f32 * TWO_POW_MINUS_32)
    }

    /// A step of every chain; a bit for each chain that was moved to what was proposed.
    pub fn step<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Bits {
        let adjusted = !self.counters.is_empty();
        let mut counted = [0; KINDS];
        self.counters.fill([0; LANES]);
        self.propose(adjusted, &mut counted, rng);
        if !adjusted {
            let places = self.chains.blocks.iter_mut().zip(self.proposal.iter());
            places.for_each(|(block, proposal)| *block = *proposal);
            return [u32::MAX; LANES];
        }
        self.look_back(&mut counted);
        let accepted = self.accept(&counted, rng);
        for (block, proposal) in self.chains.blocks.iter_mut().zip(self.proposal.iter()) {
            remake(block, |x, part| x ^ ((x ^ U32s::load(proposal, part)) & U32s::load(&accepted, part)));
        }
        accepted
    }

    /// Draws the flips of every site, and counts, turned round, the features that they were drawn by.
    #[inline(never)] // its buffers must not stand beside those of the other parts of a step
    fn propose<R: Rng + ?Sized>(&mut self, adjusted: bool, counted: &mut [u32; KINDS], rng: &mut R) {
        let (model, mut planes) = (*self.chains.model(), Planes::new());
        for index in 0..model.sites() {
            let site = model.site(index);
            let (blocks, own) = (self.chains.blocks(), block(self.chains.blocks(), index));
            let Some(proposal) = self.proposal.get_mut(index) else { break };
            let start = self.starts.get(site.kind.number()).map_or(0, |&start| start as usize);
            let counters = self.counters.get_mut(start..).unwrap_or_default();
            let Some(counted) = counted.get_mut(site.kind.number()) else { break };
            let row = site.row;
            laid_out!(row, features(site.kind), |row, features| {
                fill(features, row, site, own, blocks);
                let flips = draw(features, self.table.planes(site.kind, features.len()), &mut planes, rng);
                remake(proposal, |_, part| U32s::load(&flips, part) ^ U32s::load(own, part));
                if adjusted {
                    for feature in features.iter_mut() {
                        remake(feature, |counted, _| counted ^ U32s::splat(u32::MAX));
                    }
                    tally::add(counters, features, *counted);
                    *counted += 1;
                }
            });
        }
    }

    /// Counts the features of the proposal.
    #[inline(never)] // its buffers must not stand beside those of the other parts of a step
    fn look_back(&mut self, counted: &mut [u32; KINDS]) {
        let model = *self.chains.model();
        for index in 0..model.sites() {
            let site = model.site(index);
            let start = self.starts.get(site.kind.number()).map_or(0, |&start| start as usize);
            let counters = self.counters.get_mut(start..).unwrap_or_default();
            let Some(counted) = counted.get_mut(site.kind.number()) else { break };
            let (row, own) = (site.row, block(self.proposal, index));
            laid_out!(row, features(site.kind), |row, features| {
                fill(features, row, site, own, self.proposal);
                tally::add(counters, features, *counted);
                *counted += 1;
            });
        }
    }

    /// The Metropolis test of every chain: a block of uniforms for the lowest bit of the words, and so on.
    #[inline(never)] // its buffers must not stand beside those of the other parts of a step
    fn accept<R: Rng + ?Sized>(&mut self, counted: &[u32; KINDS], rng: &mut R) -> Bits {
        let model = *self.chains.model();
        let counted = |kind: Kind| counted.get(kind.number()).copied().unwrap_or(0);
        let (starts, levels) = (self.starts, self.levels);
        let start = |kind: Kind| starts.get(kind.number()).map_or(0, |&start| start as usize);
        for kind in model.kinds() {
            let mut carries = [[0; LANES]; MAX_FEATURES];
            let carries = carries.get_mut(..features(kind)).unwrap_or_default();
            let counters = self.counters.get_mut(start(kind)..).unwrap_or_default();
            let counters = counters.get_mut(..tally::blocks(levels, features(kind))).unwrap_or_default();
            tally::settle(counters, carries, counted(kind));
        }
        let mut accepted = [0; LANES];
        for bit in 0..32 {
            let mut sums = [0i64; LANES];
            for kind in model.kinds() {
                let number = features(kind);
                let counters = self.counters.get_mut(start(kind)..).unwrap_or_default();
                // As many turned round as not.
                let half = i64::from(counted(kind) >> 1);
                for (counter, weight) in self.table.weights(kind, number).iter().take(number).enumerate() {
                    let counts = tally::take(counters, levels, number, counter);
                    for (sum, count) in sums.iter_mut().zip(counts) {
                        *sum = sum.wrapping_add(weight.wrapping_mul(i64::from(count) - half));
                    }
                }
            }
            let log_ratios: Block = sums.map(|sum| sum as f32 * TWO_POW_MINUS_32);
            let uniforms = uniforms(rng);
            for part in 0..PARTS {
                let log_ratio = F32s::load(&log_ratios, part);
                let takes = !log_ratio.lt(F32s::splat(0.0)) | F32s::load(&uniforms, part).lt(log_ratio.exp());
                (U32s::load(&accepted, part) | takes.keep(U32s::splat(1 << bit))).store(&mut accepted, part);
            }
        }
        accepted
    }
}

/// At least k neighbours agree, k = 1 …; with a field: it agrees; it and at least k neighbours do.
#[inline(always)]
const fn features(kind: Kind) -> usize {
    if kind.field { 2 * kind.degree + 1 } else { kind.degree }
}

/// Levels of a counter that takes two bits a site.
const fn levels(sites: usize) -> usize {
    (usize::BITS - sites.leading_zeros()) as usize + 1
}

/// Makes the features of a site of value `own` among `blocks`, in zeros.
#[inline(always)]
fn fill(features: &mut [Bits], row: &[Entry], site: Site<'_>, own: &Bits, blocks: &[Bits]) {
    let Some((levels, along)) = features.split_at_mut_checked(row.len()) else { return };
    count(row, blocks, u32::MAX, Some(own), levels);
    let all = [[u32::MAX; LANES]];
    for (feature, level) in along.iter_mut().zip(all.iter().chain(levels.iter())) {
        remake(feature, |_, part| (U32s::load(own, part) ^ U32s::splat(site.down)) & U32s::load(level, part));
    }
}
