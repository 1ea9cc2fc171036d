//! One site of sixteen chains.

use super::core_state::{self, Sealed};
use super::sums::{Sums, add_both};
use super::{ALL, BatchCell, BatchRing, group};
use crate::energy::{Entry, Ising, Rows, Sparse};
use crate::lane::{Bits, Block, F32s, LANES, LaneSums, Line, Mask, PARTS, U32s};
use crate::layout::Layout;
use crate::random::LaneRng;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// One site of sixteen chains: what each knows there. 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct BatchSite {
    /// A word a chain. The high half is the state that the last step proposed, or came to. Where the proposal was not
    /// accepted, the low half is the state that the step began at. Bit 15 of a half is the site's value. The rest is
    /// the weight by which `IsingLangevin` draws it: where it is 0 the site is clamped, for all kernels. (While a
    /// step is under way the low half alone says so.)
    pub(super) cells: Bits,
}

/// The value, in the low half.
pub(super) const VALUE: u32 = 0x8000;
/// The weight, in the low half.
pub(super) const WEIGHT: u32 = 0x7FFF;
/// From the low half to both.
pub(super) const BOTH: u32 = 0x0001_0001;

impl BatchSite {
    /// Zeros, and free.
    #[must_use]
    pub const fn new() -> Self {
        Self { cells: [BOTH; LANES] }
    }

    /// The halves of the states in which the chains are, the accepted ones in the high halves: in the low halves.
    #[inline(always)]
    pub(super) fn half(&self, accepted: Mask, part: usize) -> U32s {
        let cells = U32s::load(&self.cells, part);
        accepted.choose(cells.shr::<16>(), cells) & U32s::splat(VALUE | WEIGHT)
    }

    /// Makes the states in which the chains are the proposed ones, too.
    #[inline]
    pub(super) fn arrive(&mut self, accepted: u32) {
        for part in 0..PARTS {
            let half = self.half(Mask::from_bits(accepted, part), part);
            (half | half.shl::<16>()).store(&mut self.cells, part);
        }
    }

    /// Takes the weights from the high halves.
    pub(super) fn unweigh(&mut self) {
        self.cells.iter_mut().for_each(|cell| *cell &= !(WEIGHT << 16));
    }

    /// Gives the chains of `chains` these values, in both halves.
    fn set(&mut self, chains: u32, values: u32) {
        for (chain, cell) in self.cells.iter_mut().enumerate().filter(|(chain, _)| (chains >> chain) & 1 != 0) {
            *cell = (*cell & (WEIGHT * BOTH)) | (((values >> chain) & 1) * (VALUE * BOTH));
        }
    }

    /// Whether the site is free in the chain of a cell.
    pub(super) fn is_free(cell: u32) -> bool {
        cell & WEIGHT != 0
    }

    /// Clamps the site in the chains of `held`, and frees it in the others.
    fn hold_in(&mut self, held: u32) {
        for (chain, cell) in self.cells.iter_mut().enumerate() {
            *cell = (*cell & (VALUE * BOTH)) | ((!(held >> chain) & 1) * BOTH);
        }
    }

    /// The chains in which the site is free, one bit each.
    fn free(&self) -> u32 {
        (0..PARTS).fold(0, |bits, part| bits | free(U32s::load(&self.cells, part)).bits(part))
    }
}

impl Sealed for BatchSite {}

impl BatchCell for BatchSite {
    type Model<'e> = Ising<'e>;
    type Values = u32;
    const NAME: [u8; 4] = *b"btch";

    fn randomise(sites: &mut [Self], rng: &mut LaneRng) {
        let half = F32s::splat(0.5);
        // As for one chain, whole words of 32 sites are drawn.
        for word in sites.chunks_mut(2 * LANES) {
            let draws = [group::uniforms(rng), group::uniforms(rng)];
            for (site, u) in word.iter_mut().zip(draws.as_flattened()) {
                site.set(ALL, (0..PARTS).fold(0, |bits, part| bits | F32s::load(u, part).lt(half).bits(part)));
            }
        }
    }

    fn values(&self, accepted: u32) -> u32 {
        let half = |part| self.half(Mask::from_bits(accepted, part), part);
        (0..PARTS).fold(0, |bits, part| bits | half(part).shl::<16>().signs(part))
    }

    fn value(&self, chain: usize, accepted: u32) -> u32 {
        self.values(accepted) >> chain.min(LANES) & 1
    }

    fn place(&mut self, chain: usize, value: u32) {
        let bit = core_state::chain_bit(chain).unwrap_or(0);
        self.set(bit, if value == 0 { 0 } else { bit });
    }

    fn hold(&mut self, held: bool) {
        self.hold_in(if held { ALL } else { 0 });
    }

    fn settle(ring: &mut BatchRing<'_, '_>) -> Block {
        ring.arrive();
        ring.core.level = pass(&ring.model.form(), ring.sites, &mut Nothing);
        Self::energies(ring)
    }

    fn energies(ring: &mut BatchRing<'_, '_>) -> Block {
        ring.core.level.twice.map(|twice| ring.model.quarters(ring.model.constant() - 2 * twice))
    }

    fn save_layout(layout: Layout, to: &mut Writer<'_>) {
        (layout.sites() as u32).save(to);
    }

    fn load_layout(from: &mut Reader<'_>) -> Result<Layout, SnapshotError> {
        Ok(Layout::binary(u32::from_le_bytes(from.array()?) as usize))
    }

    fn save(&self, accepted: u32, to: &mut Writer<'_>) {
        (self.values(accepted) | (self.free() << LANES)).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let word = u32::from_le_bytes(from.array()?);
        self.set(ALL, word & ALL);
        self.hold_in(!(word >> LANES));
        Ok(())
    }
}

impl Default for BatchSite {
    fn default() -> Self {
        Self::new()
    }
}

/// The cell of a chain at a site; 0 where there is none.
pub(super) fn cell(sites: &[BatchSite], site: usize, chain: usize) -> u32 {
    sites.get(site).and_then(|site| site.cells.get(chain)).copied().unwrap_or(0)
}

/// Where a site is free.
#[inline(always)]
pub(super) fn free(cells: U32s) -> Mask {
    !(cells & U32s::splat(WEIGHT)).eq(U32s::splat(0))
}

/// Which states: those that the step began at, or the proposed ones.
#[derive(Clone, Copy)]
pub(super) enum Half {
    Low,
    High,
}

impl Half {
    /// Cells, with the values in this half in the top bits.
    #[inline(always)]
    pub(super) fn of(self, cells: U32s) -> U32s {
        match self {
            Self::Low => cells.shl::<16>(),
            Self::High => cells,
        }
    }
}

/// The fields `b + Kx` of a site at either states, in units of the model's grid.
#[inline(always)]
pub(super) fn field((linear, row): (i32, &[Entry]), sites: &[BatchSite], part: usize, half: Half) -> U32s {
    let mut field = U32s::splat(linear as u32);
    let mut add = |entry: &Entry| {
        if let Some(site) = sites.get(entry.site as usize) {
            let one = half.of(U32s::load(&site.cells, part)).negative();
            field = field + one.keep(U32s::splat(entry.coupling as u32));
        }
    };
    let (fours, rest) = row.as_chunks::<4>();
    fours.iter().for_each(|four| four.iter().for_each(&mut add));
    rest.iter().for_each(add);
    field
}

/// Sites that are looked at together: the registers hold all that is computed of so many.
const GROUP: usize = match (PARTS, cfg!(target_feature = "avx512f"), cfg!(target_feature = "avx2")) {
    (1, true, _) => 8,
    (1, _, true) => 4,
    (1, ..) => 2,
    _ => 1,
};
const _: () = assert!(LANES.is_multiple_of(GROUP));

/// The fields of the next sixteen sites at either states; those behind the last one stay as they are.
#[inline(always)]
pub(super) fn fields(rows: &mut Rows<'_>, sites: &[BatchSite], half: Half, fields: &mut [Bits; LANES]) {
    for (slot, row) in fields.iter_mut().zip(rows) {
        (0..PARTS).for_each(|part| field(row, sites, part, half).store(slot, part));
    }
}

/// Sites in a row, with a part of their cells and fields to look at.
pub(super) struct Group<'a, const N: usize> {
    /// The number of the first.
    pub(super) first: usize,
    pub(super) sites: &'a mut [BatchSite; N],
    pub(super) fields: [U32s; N],
    pub(super) part: usize,
}

/// What a kernel makes of sites, and sums of them. It is called in the order of the sites, for one part of a register
/// after the other, and may change the sites.
pub(super) trait Terms {
    /// The terms of some sites.
    fn terms<const N: usize>(&mut self, group: Group<'_, N>) -> [U32s; N];
}

/// No terms: for the energies alone.
pub(super) struct Nothing;

impl Terms for Nothing {
    fn terms<const N: usize>(&mut self, _: Group<'_, N>) -> [U32s; N] {
        [U32s::splat(0); N]
    }
}

/// The sums over the sites of a kernel's terms, and of `x(b + field)`, all at the proposed states. The second sum is
/// twice `b·x + ½ xᵀKx`, as the couplings come from both ends.
#[inline(always)]
pub(super) fn pass(form: &Sparse<'_>, sites: &mut [BatchSite], kernel: &mut impl Terms) -> Level {
    let (mut own, mut twice) = (Sums::zero(), Sums::zero());
    let (mut rows, mut fields) = (form.rows(), Line([[0; LANES]; LANES]));
    for start in (0..sites.len()).step_by(LANES) {
        if start % Sums::MOST == 0 {
            own.carry();
            twice.carry();
        }
        let (mut sums, mut levels) = (own.recent, twice.recent);
        look(&mut rows, sites, start, &mut fields, &mut levels);
        in_groups(kernel, start, sites, &fields, &mut sums);
        (own.recent, twice.recent) = (sums, levels);
    }
    Level { own: own.totals(), twice: twice.totals() }
}

/// Adds a kernel's terms of the sixteen sites from `start` on. Whole groups come first, then what is left over, one
/// by one.
#[inline(always)]
pub(super) fn in_groups(
    kernel: &mut impl Terms,
    start: usize,
    sites: &mut [BatchSite],
    fields: &[Bits; LANES],
    sums: &mut LaneSums,
) {
    let end = sites.len().min(start + LANES);
    let (groups, rest) = sites.get_mut(start..end).unwrap_or_default().as_chunks_mut::<GROUP>();
    let behind = groups.as_flattened().len();
    for (number, sites) in (0..).step_by(GROUP).zip(groups) {
        add(kernel, start + number, sites, fields.get(number..), sums);
    }
    for (number, site) in (behind..).zip(rest.as_chunks_mut::<1>().0) {
        add(kernel, start + number, site, fields.get(number..), sums);
    }
}

/// Adds the terms of some sites.
#[inline(always)]
fn add<const N: usize>(
    kernel: &mut impl Terms,
    first: usize,
    sites: &mut [BatchSite; N],
    fields: Option<&[Bits]>,
    sums: &mut LaneSums,
) {
    let Some(fields) = fields.and_then(|fields| fields.first_chunk::<N>()) else { return };
    for part in 0..PARTS {
        let mut own = [U32s::splat(0); N];
        own.iter_mut().zip(fields).for_each(|(own, field)| *own = U32s::load(field, part));
        for term in kernel.terms(Group { first, sites, fields: own, part }) {
            sums.add(term, part);
        }
    }
}

/// The fields of the sixteen sites from `start` on at the proposed states, and what [`pass`] sums of them.
///
/// By itself, so that its sums have registers: where it is inlined the constants of what surrounds it take them all.
#[inline(never)]
fn look(
    rows: &mut Rows<'_>,
    sites: &[BatchSite],
    start: usize,
    fields: &mut [Bits; LANES],
    levels: &mut LaneSums,
) {
    let (mut sums, mut next) = (*levels, rows.clone());
    let own = sites.get(start..).unwrap_or_default();
    for ((slot, site), row) in fields.iter_mut().zip(own).zip(&mut next) {
        for part in 0..PARTS {
            let field = field(row, sites, part, Half::High);
            add_both(&mut sums, U32s::load(&site.cells, part).negative(), (field, row.0 as u32), part);
            field.store(slot, part);
        }
    }
    (*levels, *rows) = (sums, next);
}

/// Two sums over the sites, of each chain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// What a kernel sums.
    pub(super) own: [i64; LANES],
    /// Twice `b·x + ½ xᵀKx`, in units of the grid.
    pub(super) twice: [i64; LANES],
}

impl Level {
    /// `E(there) − E(here)` of each chain, in units.
    pub(super) fn differences(&self, here: &Self) -> [i64; LANES] {
        let mut out = here.twice;
        out.iter_mut().zip(self.twice).for_each(|(out, there)| *out = (*out - there) / 2);
        out
    }

    /// Those there in the chains of `accepted`.
    pub(super) fn take(&mut self, accepted: u32, there: &Self) {
        let own = self.own.iter_mut().zip(&there.own);
        for (chain, (own, twice)) in own.zip(self.twice.iter_mut().zip(&there.twice)).enumerate() {
            // Without a branch: none could be foreseen.
            let taken = -i64::from((accepted >> chain) & 1);
            *own.0 ^= (*own.0 ^ own.1) & taken;
            *twice.0 ^= (*twice.0 ^ twice.1) & taken;
        }
    }
}
