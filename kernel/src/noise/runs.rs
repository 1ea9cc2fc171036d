//! Edges that run side by side: sixteen of them at a time.

use crate::energy::Sparse;
use crate::lane::{Block, F32s, LANES, PARTS, U32s};
use crate::random::normal_pairs;
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

/// Blocks of normals, made in pairs, and single ones.
struct Normals {
    pair: [Block; 2],
    /// How many blocks of the pair have been given.
    given: usize,
    singles: Block,
    used: usize,
}

impl Normals {
    #[inline]
    fn block<R: Rng + ?Sized>(&mut self, rng: &mut R) -> &Block {
        if self.given >= 2 {
            self.pair = normal_pairs(rng);
            self.given = 0;
        }
        self.given += 1;
        let [first, second] = &self.pair;
        if self.given == 1 { first } else { second }
    }

    #[inline]
    fn single<R: Rng + ?Sized>(&mut self, rng: &mut R) -> f32 {
        if self.used >= LANES {
            self.singles = *self.block(rng);
            self.used = 0;
        }
        let normal = self.singles.get(self.used).copied().unwrap_or(0.0);
        self.used += 1;
        normal
    }
}

/// η += Σ √|W| ξ (eᵢ + sign(W) eⱼ) over the edges of all runs.
pub(super) fn draw<R: Rng + ?Sized>(runs: &[Run], sign: i32, unit: f32, rng: &mut R, eta: &mut [f32]) {
    let mut normals = Normals { pair: [[0.0; LANES]; 2], given: 2, singles: [0.0; LANES], used: LANES };
    for run in runs {
        let coupling = (sign * run.coupling) as f32 * unit;
        let root = F32s::splat(coupling.abs()).sqrt();
        let other = (root.to_bits() ^ U32s::splat(coupling.to_bits() & 0x8000_0000)).to_f32();
        let (first, offset, edges) = (run.first as usize, run.offset as usize, run.edges as usize);
        let whole = edges - edges % LANES;
        for start in (first..first + whole).step_by(LANES) {
            let normals = normals.block(rng);
            add(eta, start, normals, root);
            add(eta, start + offset, normals, other);
        }
        for site in first + whole..first + edges {
            let normal = normals.single(rng);
            if let Some(slot) = eta.get_mut(site) {
                *slot += normal * root.first();
            }
            if let Some(slot) = eta.get_mut(site + offset) {
                *slot += normal * other.first();
            }
        }
    }
}

/// Adds a multiple of the normals to sixteen sites from `start` on.
#[inline]
fn add(eta: &mut [f32], start: usize, normals: &Block, factor: F32s) {
    let Some(eta) = eta.get_mut(start..).and_then(<[f32]>::first_chunk_mut::<LANES>) else { return };
    for part in 0..PARTS {
        (F32s::load(eta, part) + F32s::load(normals, part) * factor).store(eta, part);
    }
}
