//! Strips of neighbouring edges with equal couplings: noise and fields of a whole strip in one loop.

mod draw;
mod follow;

pub(super) use draw::{Normals, Stream, Whole, add_whole, draw};
pub(crate) use follow::follow;
pub(super) use follow::spread;

use crate::energy::Sparse;

/// A strip of edges with equal couplings: `(i, i + offset)` for `edges` sites i in a row. For
/// [`Edgewise::by_runs`](super::Edgewise::by_runs). A lattice of any size has a few for every row of sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    first: u32,
    offset: u32,
    edges: u32,
    pub(super) coupling: i32,
}

impl Run {
    /// Its first site, its offset and its edges.
    pub(super) fn place(&self) -> (usize, usize, usize) {
        (self.first as usize, self.offset as usize, self.edges as usize)
    }
}

/// Runs that may be under way at a time.
const OPEN: usize = 8;
/// The most edges of a run: so that runs that belong to one part of a lattice are next to each other.
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
