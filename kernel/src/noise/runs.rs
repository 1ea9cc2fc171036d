//! Edges that run side by side: sixteen of them at a time.

use crate::energy::Sparse;
use crate::lane::{Block, F32s, LANES, Line, PARTS, U32s};
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

/// Normals, made in pairs: block by block, and one by one.
struct Normals {
    /// The last block of those before, and those made last.
    made: Line<[Block; 1 + MADE]>,
    /// How many blocks of them have been given.
    given: usize,
    /// How many there are.
    count: usize,
    /// Edges that have no normal yet, at most.
    edges: usize,
    singles: Block,
    used: usize,
}

impl Normals {
    fn new(edges: usize) -> Self {
        let made = Line([[0.0; LANES]; 1 + MADE]);
        Self { made, given: 0, count: 0, edges, singles: [0.0; LANES], used: LANES }
    }

    /// A block, behind the one that was given before it.
    #[inline(always)]
    fn block<R: Rng + ?Sized>(&mut self, rng: &mut R) -> &[Block; 2] {
        if self.given == self.count {
            self.make(rng);
        }
        self.given += 1;
        self.made.get(self.given - 1..).and_then(<[Block]>::first_chunk).unwrap_or(&[[0.0; LANES]; 2])
    }

    #[inline(never)]
    fn make<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let before = self.latest();
        let [first, made @ ..] = &mut *self.made;
        *first = before;
        let (fours, _) = made.as_chunks_mut::<4>();
        let wanted = self.edges.div_ceil(4 * LANES).clamp(1, MADE / 4);
        fours.iter_mut().take(wanted).for_each(|four| normal_pairs_twice(rng, four));
        (self.given, self.count) = (0, 4 * wanted);
        self.edges = self.edges.saturating_sub(4 * LANES * wanted);
    }

    /// The block that was given last.
    fn latest(&self) -> Block {
        self.made.get(self.given).copied().unwrap_or([0.0; LANES])
    }

    #[inline]
    fn single<R: Rng + ?Sized>(&mut self, rng: &mut R) -> f32 {
        if self.used >= LANES {
            [_, self.singles] = *self.block(rng);
            self.used = 0;
        }
        let normal = self.singles.get(self.used).copied().unwrap_or(0.0);
        self.used += 1;
        normal
    }
}

/// η += Σ √|W| ξ (eᵢ + sign(W) eⱼ) over the edges of all runs.
pub(super) fn draw<R: Rng + ?Sized>(runs: &[Run], sign: i32, unit: f32, rng: &mut R, eta: &mut [f32]) {
    let mut normals = Normals::new(runs.iter().map(|run| run.edges as usize).sum());
    for run in runs {
        let coupling = (sign * run.coupling) as f32 * unit;
        let near = F32s::splat(coupling.abs()).sqrt();
        let far = (near.to_bits() ^ U32s::splat(coupling.to_bits() & 0x8000_0000)).to_f32();
        let (first, offset, edges) = (run.first as usize, run.offset as usize, run.edges as usize);
        let whole = edges - edges % LANES;
        let blocks = (first..first + whole).step_by(LANES);
        if offset < LANES {
            // Both ends of these edges fall on the same sites, which are read and written once.
            for start in blocks {
                let (pair, none_before);
                if start == first {
                    none_before = [[0.0; LANES], normals.block(rng)[1]];
                    pair = &none_before;
                } else {
                    pair = normals.block(rng);
                }
                let [_, block] = pair;
                let shifted = moved(pair, offset);
                add(eta, start, |part| F32s::load(block, part) * near + F32s::load(shifted, part) * far);
            }
            if whole > 0 {
                let latest = normals.latest();
                let beyond = eta.get_mut(first + whole..).unwrap_or_default().iter_mut();
                let over = latest.iter().skip(LANES - offset);
                beyond.zip(over).for_each(|(slot, normal)| *slot += normal * far.first());
            }
        } else {
            for start in blocks {
                let [_, block] = normals.block(rng);
                add(eta, start, |part| F32s::load(block, part) * near);
                add(eta, start + offset, |part| F32s::load(block, part) * far);
            }
        }
        for site in first + whole..first + edges {
            let normal = normals.single(rng);
            if let Some(slot) = eta.get_mut(site) {
                *slot += normal * near.first();
            }
            if let Some(slot) = eta.get_mut(site + offset) {
                *slot += normal * far.first();
            }
        }
    }
}

/// The sixteen numbers that end `offset` before the second block does.
#[inline]
fn moved(pair: &[Block; 2], offset: usize) -> &Block {
    let from = pair.as_flattened().get(LANES.saturating_sub(offset)..).and_then(<[f32]>::first_chunk);
    from.unwrap_or(&[0.0; LANES])
}

/// Adds terms to sixteen sites from `start` on.
#[inline]
fn add(eta: &mut [f32], start: usize, terms: impl Fn(usize) -> F32s) {
    let Some(eta) = eta.get_mut(start..).and_then(<[f32]>::first_chunk_mut::<LANES>) else { return };
    for part in 0..PARTS {
        (F32s::load(eta, part) + terms(part)).store(eta, part);
    }
}
