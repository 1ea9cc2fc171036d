//! Edges that run side by side: noise and fields of all of them in one loop.

use crate::energy::Sparse;
use crate::lane::{Block, F32s, LANES, Line};
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

/// `h ← h + Kv` for the couplings K of all runs, in their units, and v of −1, 0 and 1: `v·h + ½ v·Kv` of before.
pub(crate) fn follow(runs: &[Run], v: &[u32], fields: &mut [u32]) -> i64 {
    let product = |(field, v): (&u32, &u32)| i64::from(field.wrapping_mul(*v) as i32);
    let mut sum: i64 = fields.iter().zip(v).map(product).sum();
    for run in runs {
        let (first, offset, edges) = (run.first as usize, run.offset as usize, run.edges as usize);
        let (from_near, from_far) = (first..first + edges, first + offset..first + offset + edges);
        let near = v.get(from_near.clone()).unwrap_or_default();
        let far = v.get(from_far.clone()).unwrap_or_default();
        let (mut both, coupling) = (0_u32, run.coupling as u32);
        let fields_near = fields.get_mut(from_near).unwrap_or_default();
        for (field, (near, far)) in fields_near.iter_mut().zip(near.iter().zip(far)) {
            *field = field.wrapping_add(coupling.wrapping_mul(*far));
            both = both.wrapping_add(near.wrapping_mul(*far));
        }
        sum += i64::from(run.coupling) * i64::from(both as i32);
        let fields_far = fields.get_mut(from_far).unwrap_or_default();
        for (field, near) in fields_far.iter_mut().zip(near) {
            *field = field.wrapping_add(coupling.wrapping_mul(*near));
        }
    }
    sum
}
