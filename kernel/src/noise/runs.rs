//! Edges that run side by side: noise and fields of all of them in one loop.

use crate::energy::Sparse;
use crate::lane::{Bits, Block, F32s, LANES, LaneSums, Line, PARTS, U32s};
use crate::random::normal_pairs_twice;
use rand_core::Rng;

/// Edges `(i, i + offset)` of one coupling for `edges` sites i in a row, for
/// [`Edgewise::by_runs`](super::Edgewise::by_runs). A lattice of any size has a few for every row of sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    first: u32,
    offset: u32,
    edges: u32,
    coupling: i32,
}

/// Runs that may be under way at a time.
const OPEN: usize = 8;
/// The most edges of a run: so that runs that belong to one part of a lattice stand together.
const LONGEST: u32 = 1024;

/// Tells `write` every run with its number, as often as it grows; returns how many there are.
pub(super) fn compile(form: Sparse<'_>, mut write: impl FnMut(usize, Run)) -> usize {
    let mut open = [(0, Run::default()); OPEN];
    let mut count = 0;
    for site in 0..form.sites() as u32 {
        for entry in form.row(site as usize).iter().filter(|entry| entry.site > site) {
            let new = Run { first: site, offset: entry.site - site, edges: 1, coupling: entry.coupling };
            let goes_on = |run: &Run| {
                run.offset == new.offset
                    && run.coupling == new.coupling
                    && run.edges < LONGEST
                    && run.first + run.edges == site
            };
            if let Some((index, run)) = open.iter_mut().find(|(_, run)| goes_on(run)) {
                run.edges += 1;
                write(*index, *run);
            } else {
                // In place of the one that stopped first.
                let oldest = open.iter_mut().min_by_key(|(_, run)| run.first + run.edges);
                if let Some(slot) = oldest {
                    *slot = (count, new);
                }
                write(count, new);
                count += 1;
            }
        }
    }
    count
}

/// The most blocks of normals that are made at a time: so many that they have reached memory when they are read again.
const MADE: usize = 16;

/// Normals, made in pairs.
struct Normals {
    made: Line<[Block; MADE]>,
    /// How many of them have been given.
    given: usize,
    /// How many there are.
    count: usize,
    /// Edges for which none has been made.
    edges: usize,
}

impl Normals {
    fn new(edges: usize) -> Self {
        Self { made: Line([[0.0; LANES]; MADE]), given: 0, count: 0, edges }
    }

    /// The next ones, at least one and at most so many.
    #[inline]
    fn next<R: Rng + ?Sized>(&mut self, most: usize, rng: &mut R) -> &[f32] {
        if self.given >= self.count {
            self.make(rng);
        }
        let first = self.given;
        self.given = self.count.min(first + most);
        self.made.as_flattened().get(first..self.given).unwrap_or_default()
    }

    #[inline(never)]
    fn make<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let (fours, _) = self.made.as_chunks_mut::<4>();
        let wanted = self.edges.div_ceil(4 * LANES).clamp(1, MADE / 4);
        fours.iter_mut().take(wanted).for_each(|four| normal_pairs_twice(rng, four));
        (self.given, self.count) = (0, 4 * LANES * wanted);
        self.edges = self.edges.saturating_sub(self.count);
    }
}

/// η += Σ √|W| ξ (eᵢ + sign(W) eⱼ) over the edges of all runs.
pub(super) fn draw<R: Rng + ?Sized>(runs: &[Run], sign: i32, unit: f32, rng: &mut R, eta: &mut [f32]) {
    let mut normals = Normals::new(runs.iter().map(|run| run.edges as usize).sum());
    for run in runs {
        let coupling = (sign * run.coupling) as f32 * unit;
        let near = F32s::splat(coupling.abs()).sqrt().first();
        let far = if coupling < 0.0 { -near } else { near };
        let (mut first, offset, mut edges) = (run.first as usize, run.offset as usize, run.edges as usize);
        while edges > 0 {
            let some = normals.next(edges, rng);
            add_to_ends(eta.get_mut(first..).unwrap_or_default(), offset, [near, far], some);
            first += some.len();
            edges -= some.len();
        }
    }
}

/// Adds normals times `near` to sites from the first on, and times `far` to those from `offset` on. Sites to which both
/// are added are written once: a second time would wait for the first.
#[inline]
fn add_to_ends(eta: &mut [f32], offset: usize, [near, far]: [f32; 2], normals: &[f32]) {
    let alone = offset.min(normals.len());
    let both = normals.len() - alone;
    let (Some((own, of_near)), Some((of_far, rest))) =
        (normals.split_at_checked(alone), normals.split_at_checked(both))
    else {
        return;
    };
    add(eta, near, own);
    let shared = eta.get_mut(alone..).unwrap_or_default().iter_mut();
    shared.zip(of_near.iter().zip(of_far)).for_each(|(slot, (a, b))| *slot += a * near + b * far);
    add(eta.get_mut(offset + both..).unwrap_or_default(), far, rest);
}

#[inline]
fn add(eta: &mut [f32], factor: f32, terms: &[f32]) {
    eta.iter_mut().zip(terms).for_each(|(slot, term)| *slot += factor * term);
}

/// The coupling of the first run that has one, on a lattice that of most: for [`follow`].
pub(crate) fn common(runs: &[Run]) -> i32 {
    runs.iter().map(|run| run.coupling).find(|&coupling| coupling != 0).unwrap_or(0)
}

/// `h ← h + Kv` for the couplings K of all runs, in their units, and v of −1, 0 and 1, given as `changes` cv, c the
/// [`common`] coupling: `v·h + ½ v·Kv` of before.
///
/// That is `v·h` while each field has what comes from lower sites and not yet what comes from higher ones. The sites
/// before a run's first one have all that comes from lower ones, since runs stand in the order of their first sites.
pub(crate) fn follow(runs: &[Run], c: i32, changes: &[Bits], fields: &mut [Bits]) -> i64 {
    let (mut sum, mut behind) = (Along { total: 0, blocks: 0 }, runs.iter().peekable());
    for run in runs {
        let whole = run.first as usize / LANES;
        if whole >= sum.blocks + AT_ONCE {
            sum.go_on(whole, changes, fields);
            while let Some(run) = behind.next_if(|run| (run.first + run.edges) as usize <= LANES * whole) {
                run.carry(run.offset as usize, 0, c, changes, fields);
            }
        }
        run.carry(0, run.offset as usize, c, changes, fields);
    }
    sum.go_on(changes.len(), changes, fields);
    behind.for_each(|run| run.carry(run.offset as usize, 0, c, changes, fields));
    i64::from(c.signum()) * sum.total
}

impl Run {
    /// Adds what changes at one of its ends to the fields at the other one.
    #[inline]
    fn carry(&self, from: usize, to: usize, c: i32, changes: &[Bits], fields: &mut [Bits]) {
        let (first, edges) = (self.first as usize, self.edges as usize);
        let (from, to) = (first + from..first + from + edges, first + to..first + to + edges);
        let changes = changes.as_flattened().get(from).unwrap_or_default();
        let fields = fields.as_flattened_mut().get_mut(to).unwrap_or_default();
        if self.coupling == c {
            let ((changes, last_changes), (fields, last)) = (changes.as_chunks(), fields.as_chunks_mut());
            for (change, field) in changes.iter().zip(fields) {
                for part in 0..PARTS {
                    (U32s::load(field, part) + U32s::load(change, part)).store(field, part);
                }
            }
            add_words(last, last_changes.iter().copied());
        } else {
            let coupling = c.signum() * self.coupling;
            let changes = changes.iter().map(|&change| (change as i32).signum() * coupling);
            add_words(fields, changes.map(|change| change as u32));
        }
    }
}

fn add_words(slots: &mut [u32], terms: impl Iterator<Item = u32>) {
    slots.iter_mut().zip(terms).for_each(|(slot, term)| *slot = slot.wrapping_add(term));
}

/// `sign(change) · field`, added up over blocks.
struct Along {
    total: i64,
    /// So many, from the first on.
    blocks: usize,
}

/// Blocks that are added up at once, at least: a sum over lanes ends each time.
const AT_ONCE: usize = 64;
/// The most whose sum [`LaneSums`] holds.
const MOST: usize = 1 << 15;

impl Along {
    /// Goes on up to a block.
    fn go_on(&mut self, end: usize, changes: &[Bits], fields: &[Bits]) {
        let blocks = changes.iter().zip(fields).take(end);
        let mut rest = blocks.skip(self.blocks);
        while self.blocks < end {
            let count = MOST.min(end - self.blocks);
            self.blocks += count;
            let mut sums = LaneSums::ZERO;
            for (change, field) in rest.by_ref().take(count) {
                for part in 0..PARTS {
                    let (change, field) = (U32s::load(change, part), U32s::load(field, part));
                    let sign = change.sar::<31>();
                    sums.add((!change.eq(U32s::splat(0))).keep((field ^ sign) - sign), part);
                }
            }
            self.total += sums.values().sum::<i64>();
        }
    }
}
