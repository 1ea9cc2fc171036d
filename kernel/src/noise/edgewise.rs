//! Sparse W of any size: one normal an edge.

use super::matrix::{SparseMatrix, Symmetric, key};
use super::runs::{self, Normals, Run, Stream, Whole};
use super::{Noise, NoiseError, components, place, room};
use crate::energy::Sparse;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::packed::Move;
use crate::random::{DiscreteGaussian, normals};
use rand_core::Rng;

/// N(0, W+D) for sparse couplings of any size, in O(edges) time and one float a site (METHODS.md §3):
///
/// ```text
/// W + D = Σ_edges |Wᵢⱼ| (eᵢ + sign(Wᵢⱼ) eⱼ)(…)ᵀ + diag(rest)     so     η = Σ_edges √|Wᵢⱼ| ξₑ (eᵢ + sign(Wᵢⱼ) eⱼ) + …
/// ```
///
/// It brings its own D, the least that this sum allows: `Dᵢ = max(0, Σ_{j≠i}|Wᵢⱼ| − Wᵢᵢ)`. The sampler with it is
/// AB-edge. Let every `Wᵢᵢ = 0`, and let some labelling s of the sites by ±1 make every `Wᵢⱼsᵢsⱼ ≤ 0`. Then this D
/// has the smallest trace of all with W + D ⪰ 0. Examples are a ferromagnet on a lattice with even or open sides, and
/// an antiferromagnet on any graph. On frustrated graphs [`MinTrace`](super::MinTrace) finds a smaller one.
///
/// Cost: a draw is one normal an edge (and one a site where the rest is positive) for each plane. A product is
/// O(degree) a changed site. The sampler [`IsingBalanced::discrete`](crate::step::IsingBalanced::discrete) draws
/// whole numbers instead.
///
/// ```
/// use bitmc::noise::{Edgewise, SparseMatrix};
/// use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};
///
/// const L: Layout = Layout::binary(64);
/// let mut couplings = SparseMemory::<64, 256>::new();
/// let model = Ising::spins_edges_once(64, torus(8, 8, 0.44), &[], couplings.borrow())?;
/// let mut d = [[0.0; 16]; L.blocks()];
/// let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d)?;
/// let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0)?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(64)), &mut rng)?;
/// // At balance 1 and without a bound on the step every move is accepted, up to rounding.
/// let accepted = (0..100).filter(|_| chain.step(&sampler, &mut rng).accepted).count();
/// assert!(accepted >= 99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Edgewise<'a> {
    pub(super) matrix: SparseMatrix<'a>,
    d: &'a [Block],
    /// Whether a site has more on its diagonal than its edges take.
    rest: bool,
    /// The edges again, where they are given as runs.
    pub(super) runs: &'a [Run],
    /// The most couplings that a site has, those of 0 aside.
    most: usize,
}

impl<'a> Edgewise<'a> {
    /// Blocks of D for `sites` sites.
    #[must_use]
    pub const fn blocks(sites: usize) -> usize {
        sites.div_ceil(LANES)
    }

    /// The noise of W, with its D written to `d`.
    ///
    /// # Errors
    /// [`NoiseError::Memory`] where `d` has fewer than [`Edgewise::blocks`].
    pub fn new(matrix: SparseMatrix<'a>, d: &'a mut [Block]) -> Result<Self, NoiseError> {
        let d = room(d, Self::blocks(matrix.sites()))?;
        d.fill([0.0; LANES]);
        let mut rest = false;
        for (site, slot) in d.as_flattened_mut().iter_mut().enumerate().take(matrix.sites()) {
            let least = matrix.spread(site) - matrix.diagonal(site);
            rest |= least < 0.0;
            *slot = if least > 0.0 { least } else { 0.0 };
        }
        let degree = |site| matrix.form.row(site).iter().filter(|entry| entry.coupling != 0).count();
        let most = (0..matrix.sites()).map(degree).max().unwrap_or(0);
        Ok(Self { matrix, d, rest, runs: &[], most })
    }

    /// How many [`Run`]s the edges of W make. On a torus these are two for each row of sites and a few more, 34 on
    /// 16×16 and 133 on 64×64. O(edges).
    #[must_use]
    pub fn runs(matrix: SparseMatrix<'_>) -> usize {
        runs::compile(matrix.form, |_, _| ())
    }

    /// The same noise, its edges taken run by run ([`Edgewise::runs`] of them, kept in `memory`): other draws of the
    /// same distribution. Worth it where edges make long runs, as those of a lattice do with few different couplings.
    /// A draw then reads a run where it would read its entries, takes its normals in pairs and adds them site after
    /// site. The kernel [`IsingBalanced`](crate::step::IsingBalanced) moves the fields of a large model in the same
    /// way. For binary and ordinal sites; categorical ones are drawn as without.
    ///
    /// # Errors
    /// [`NoiseError::Memory`] where `memory` is short.
    pub fn by_runs(self, memory: &'a mut [Run]) -> Result<Self, NoiseError> {
        let memory = room(memory, Self::runs(self.matrix))?;
        runs::compile(self.matrix.form, |index, run| {
            if let Some(slot) = memory.get_mut(index) {
                *slot = run;
            }
        });
        Ok(Self { runs: memory, ..self })
    }

    /// Whether W has just these rows, in the same memory, and nothing on its diagonal.
    pub(crate) fn is_of(&self, form: Sparse<'_>) -> bool {
        self.matrix.is_of(form)
    }

    /// The edges as runs, where they cost less than the rows of so many flips. This needs vectors, and rows that are
    /// [far](Sparse::far). It also needs more flips than one for 64 sites and one for two runs together.
    pub(crate) fn runs_for(&self, flips: u32) -> Option<&'a [Run]> {
        let cost = self.d.len() / 4 + self.runs.len() / 2;
        let pays = PARTS == 1 && self.matrix.form.far() && flips as usize > cost;
        let pays = pays && self.most <= i16::MAX as usize;
        (pays && !self.runs.is_empty()).then_some(self.runs)
    }

    /// What makes W of the rows' couplings: a sign and a unit.
    pub(super) fn scales(&self) -> [f32; 2] {
        [self.matrix.sign as f32, self.matrix.form.unit()]
    }

    /// The most couplings that a site has, those of 0 aside.
    pub(crate) fn degree(&self) -> usize {
        self.most
    }

    /// The one magnitude |W| of all couplings but those of 0; `None` where magnitudes differ.
    pub(crate) fn magnitude(&self) -> Option<f32> {
        let form = self.matrix.form;
        let sizes =
            || form.entries().iter().map(|entry| entry.coupling.unsigned_abs()).filter(|&size| size != 0);
        let size = sizes().next().unwrap_or(0);
        sizes().all(|other| other == size).then_some(size as f32 * form.unit())
    }

    /// `Σ_edges kₑ (eᵢ + sign(Wᵢⱼ) eⱼ)` with whole numbers k of this distribution, for one sixteen-bit number a site.
    pub(crate) fn draw_whole<R: Rng + ?Sized>(
        &self,
        gaussian: &DiscreteGaussian,
        rng: &mut R,
        eta: &mut [i16],
    ) {
        eta.fill(0);
        if !self.runs.is_empty() {
            return runs::draw(self.runs, self.scales(), Whole(gaussian), rng, eta);
        }
        let (form, sign) = (self.matrix.form, self.matrix.sign);
        let mut stream = Stream::new(Whole(gaussian), form.entries().len() / 2);
        for (site, (_, row)) in (0..).zip(form.rows()) {
            let mut own = 0i16;
            // Neighbours ascend: those behind the site.
            let behind = row.iter().rev().take_while(|entry| entry.site > site);
            for entry in behind.filter(|entry| entry.coupling != 0) {
                let term = stream.one(rng);
                let of_other = if sign * entry.coupling < 0 { term.wrapping_neg() } else { term };
                own = own.wrapping_add(term);
                if let Some(slot) = eta.get_mut(entry.site as usize) {
                    *slot = slot.wrapping_add(of_other);
                }
            }
            if let Some(slot) = eta.get_mut(site as usize) {
                *slot = slot.wrapping_add(own);
            }
        }
    }

    /// `(W + D)[site, site]`.
    #[inline]
    fn variance(&self, site: usize) -> f32 {
        let diagonal = self.matrix.diagonal(site);
        if diagonal == 0.0 {
            // D is all there is, and the row need not be added up.
            return self.d.as_flattened().get(site).copied().unwrap_or(0.0);
        }
        let spread = self.matrix.spread(site);
        if spread < diagonal { diagonal } else { spread }
    }
}

/// Edges that wait until there is one for each lane.
struct Batch {
    ends: [(u32, u32); LANES],
    couplings: Bits,
    len: usize,
}

impl Batch {
    /// √|W| ξ to both ends of every edge, in every plane.
    #[inline]
    fn scatter<R: Rng + ?Sized>(&mut self, unit: f32, rng: &mut R, eta: &mut [f32], planes: usize) {
        let mut root = [0.0; LANES];
        for part in 0..PARTS {
            let size = F32s::from_i32(U32s::load(&self.couplings, part)).abs();
            (size * F32s::splat(unit)).sqrt().store(&mut root, part);
        }
        for plane in 0..planes {
            let mut terms = normals(rng);
            for part in 0..PARTS {
                (F32s::load(&terms, part) * F32s::load(&root, part)).store(&mut terms, part);
            }
            for ((&(a, b), &term), &coupling) in
                self.ends.iter().zip(&terms).zip(&self.couplings).take(self.len)
            {
                if let Some(slot) = eta.get_mut(place(a as usize, plane, planes)) {
                    *slot += term;
                }
                if let Some(slot) = eta.get_mut(place(b as usize, plane, planes)) {
                    *slot += f32::from_bits(term.to_bits() ^ (coupling & 0x8000_0000));
                }
            }
        }
        self.len = 0;
    }
}

impl Noise for Edgewise<'_> {
    const SOME: bool = true;

    fn d(&self) -> Option<&[Block]> {
        Some(self.d)
    }

    fn sites(&self) -> Option<usize> {
        Some(self.matrix.sites())
    }

    fn key(&self) -> u64 {
        key(&self.matrix)
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [Block], planes: usize) {
        eta.fill([0.0; LANES]);
        let eta = eta.as_flattened_mut();
        if planes == 1 && !self.runs.is_empty() {
            runs::draw(self.runs, self.scales(), Normals, rng, eta);
        } else {
            self.draw_edges(rng, eta, planes);
        }
        if self.rest {
            self.draw_rest(rng, eta, planes);
        }
    }

    fn follow(&self, step: &Move<'_>, eta: &mut [Block], planes: usize) {
        let eta = eta.as_flattened_mut();
        if planes == 1 {
            step.changes().for_each(|change| {
                let v = (change.to as i32 - change.from as i32) as f32;
                self.take_row((change.site, v), self.variance(change.site), eta, |site| site);
            });
            return;
        }
        for change in step.changes() {
            let variance = self.variance(change.site);
            for (plane, v) in components(change, planes) {
                self.take_row((change.site, v), variance, eta, |site| place(site, plane, planes));
            }
        }
    }
}

impl Edgewise<'_> {
    /// η less v times a row of W + D, whose diagonal is `variance`; `at` knows where in η a site is.
    #[inline(always)]
    fn take_row(&self, (site, v): (usize, f32), variance: f32, eta: &mut [f32], at: impl Fn(usize) -> usize) {
        let mut take = |site, term| {
            if let Some(slot) = eta.get_mut(at(site)) {
                *slot -= term;
            }
        };
        take(site, variance * v);
        self.matrix.row(site, |other, coupling| take(other, coupling * v));
    }

    /// One normal an edge, edge by edge in the order of the rows.
    fn draw_edges<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [f32], planes: usize) {
        let form = self.matrix.form;
        let mut batch = Batch { ends: [(0, 0); LANES], couplings: [0; LANES], len: 0 };
        for (site, (_, row)) in (0..).zip(form.rows()) {
            for entry in row.iter().filter(|entry| entry.site > site) {
                let slot = (batch.ends.get_mut(batch.len), batch.couplings.get_mut(batch.len));
                if let (Some(ends), Some(coupling)) = slot {
                    *ends = (site, entry.site);
                    *coupling = (self.matrix.sign * entry.coupling) as u32;
                }
                batch.len += 1;
                if batch.len == LANES {
                    batch.scatter(form.unit(), rng, eta, planes);
                }
            }
        }
        if batch.len > 0 {
            batch.scatter(form.unit(), rng, eta, planes);
        }
    }

    /// One normal a site for what the diagonal has beyond the edges.
    fn draw_rest<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [f32], planes: usize) {
        for block in 0..self.d.len() {
            let mut root = [0.0; LANES];
            for (site, slot) in (block * LANES..self.matrix.sites()).zip(&mut root) {
                let rest = self.matrix.diagonal(site) - self.matrix.spread(site);
                *slot = if rest > 0.0 { F32s::splat(rest).sqrt().first() } else { 0.0 };
            }
            for plane in 0..planes {
                let terms = normals(rng);
                let first = place(block * LANES, plane, planes);
                let lanes = eta.get_mut(first..first + LANES).unwrap_or_default();
                for ((slot, term), root) in lanes.iter_mut().zip(terms).zip(root) {
                    *slot += term * root;
                }
            }
        }
    }
}
