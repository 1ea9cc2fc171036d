//! One site of sixteen chains.

use super::ALL;
use super::sums::Sums;
use crate::energy::Sparse;
use crate::lane::{Bits, LANES, Mask, PARTS, U32s};

/// One site of sixteen chains: what each knows there. 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct BatchSite {
    /// A word a chain: in its high half the state that the last step proposed, or came to; in its low half the one that
    /// it began at, where that was not accepted. Of a half, bit 15 is the site's value, and the rest the weight by which
    /// `IsingLangevin` draws it: where that is 0 the site is clamped, for all kernels. (While a step is under way the
    /// low half says so alone.)
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

    /// The values of the chains, one bit each.
    pub(super) fn values(&self, accepted: u32) -> u32 {
        let half = |part| self.half(Mask::from_bits(accepted, part), part);
        (0..PARTS).fold(0, |bits, part| bits | half(part).shl::<16>().signs(part))
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
    pub(super) fn set(&mut self, chains: u32, values: u32) {
        for (chain, cell) in self.cells.iter_mut().enumerate().filter(|(chain, _)| (chains >> chain) & 1 != 0) {
            *cell = (*cell & (WEIGHT * BOTH)) | (((values >> chain) & 1) * (VALUE * BOTH));
        }
    }

    /// Clamps the site in the chains of `held`, and frees it in the others.
    pub(super) fn hold(&mut self, held: u32) {
        for (chain, cell) in self.cells.iter_mut().enumerate() {
            *cell = (*cell & (VALUE * BOTH)) | ((!(held >> chain) & 1) * BOTH);
        }
    }

    /// The chains in which the site is free, one bit each.
    pub(super) fn free(&self) -> u32 {
        (0..PARTS).fold(0, |bits, part| bits | free(U32s::load(&self.cells, part)).bits(part))
    }
}

impl Default for BatchSite {
    fn default() -> Self {
        Self::new()
    }
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

/// The fields `b + Kx` of a site at either states, in units of the model's grid.
#[inline(always)]
pub(super) fn field(form: &Sparse<'_>, sites: &[BatchSite], number: usize, part: usize, half: Half) -> U32s {
    let linear = form.linear().get(number).copied().unwrap_or(0);
    let mut field = U32s::splat(linear as u32);
    for entry in form.row(number) {
        if let Some(site) = sites.get(entry.site as usize) {
            let cells = U32s::load(&site.cells, part);
            let one = match half {
                Half::Low => cells.shl::<16>(),
                Half::High => cells,
            };
            field = field + one.negative().keep(U32s::splat(entry.coupling as u32));
        }
    }
    field
}

/// Sites that are looked at together: as many as the registers hold what is computed of.
pub(super) const GROUP: usize = if cfg!(target_feature = "avx2") { 4 } else { 1 };

/// The fields of a group of sites, those behind the last one 0.
#[inline(always)]
pub(super) fn fields(
    form: &Sparse<'_>,
    sites: &[BatchSite],
    first: usize,
    part: usize,
    half: Half,
) -> [U32s; GROUP] {
    let mut fields = [U32s::splat(0); GROUP];
    fields.iter_mut().zip(first..).for_each(|(slot, number)| *slot = field(form, sites, number, part, half));
    fields
}

/// The sums over the sites of what `term` gives for the sites of a group, by the number of the first, and their
/// fields, and of `x(b + field)`, all at the proposed states; the latter is twice `b·x + ½ xᵀKx`, as the couplings come
/// from both ends. The last group is filled with clamped zeros.
#[inline(always)]
pub(super) fn pass(
    form: &Sparse<'_>,
    sites: &mut [BatchSite],
    mut term: impl FnMut(usize, &mut [BatchSite; GROUP], &[U32s; GROUP], usize) -> [U32s; GROUP],
) -> Level {
    let (mut own, mut twice) = (Sums::zero(), Sums::zero());
    let mut spare = [BatchSite::new(); GROUP];
    for first in (0..sites.len()).step_by(GROUP) {
        if first % Sums::MOST == 0 {
            own.carry();
            twice.carry();
        }
        for part in 0..PARTS {
            let fields = fields(form, sites, first, part, Half::High);
            let group = match sites.get_mut(first..).and_then(|sites| sites.first_chunk_mut()) {
                Some(group) => group,
                None => fill(&mut spare, sites.get(first..).unwrap_or_default()),
            };
            let linear = form.linear().get(first..).unwrap_or_default();
            for ((site, &field), &linear) in group.iter().zip(&fields).zip(linear) {
                twice.add_both(U32s::load(&site.cells, part).negative(), (field, linear as u32), part);
            }
            let terms = term(first, group, &fields, part);
            terms.into_iter().for_each(|term| own.add(term, part));
            if GROUP > 1 && first + GROUP > sites.len() {
                let rest = sites.get_mut(first..).unwrap_or_default();
                rest.iter_mut().zip(&spare).for_each(|(site, spare)| *site = *spare);
            }
        }
    }
    Level { own: own.totals(), twice: twice.totals() }
}

/// The last sites, and clamped zeros behind them.
#[cold]
fn fill<'a>(group: &'a mut [BatchSite; GROUP], rest: &[BatchSite]) -> &'a mut [BatchSite; GROUP] {
    let mut rest = rest.iter();
    for site in group.iter_mut() {
        *site = rest.next().copied().unwrap_or_else(|| {
            let mut clamped = BatchSite::new();
            clamped.hold(ALL);
            clamped
        });
    }
    group
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
        for (chain, (pair, twice)) in own.zip(self.twice.iter_mut().zip(&there.twice)).enumerate() {
            if (accepted >> chain) & 1 != 0 {
                (*pair.0, *twice.0) = (*pair.1, *twice.1);
            }
        }
    }
}
