//! W by least squares where it is known which of its entries are not zero: in memory that grows with the edges.

use super::least_squares::{Fit, add_up, forget, long, numbers, ridge_value, solve};
use super::{NoiseError, room};
use crate::energy::{Edge, Sparse};
use crate::lane::{Block, LANES};
use crate::packed::Move;
use crate::step::fingerprint::mix;

/// The symmetric W that explains differences of gradients best, with entries only on the diagonal and at the edges of
/// a pattern. It is the W of `min Σ‖W v_t − Δg_t‖²` over the moves v of a chain, with g = −∂E/∂x (AB, Eq. 10;
/// METHODS.md §3).
///
/// It streams. The equations are `[(A + ρ)W + W(A + ρ)]ᵢⱼ = [B + Bᵀ]ᵢⱼ`, (i, j) in the pattern. Only two sums are
/// kept of each site i with its neighbours N: `A = Σ v vᵀ` over N × N and `B = Σ v Δgᵢ` over N. The method
/// [`SparseRegression::solve`] solves all equations together by conjugate gradients. W is the exact constrained
/// minimum, not a row-wise one made symmetric. The ridge ρ is small. It is needed because A is singular where a site
/// never moved. For binary and ordinal sites, of any number. A and B are halved as those of a
/// [`Regression`](super::Regression).
///
/// Memory: 4 bytes for every pair of a site's neighbourhood, `Σ (degree+1)(degree+2)` (on a square lattice 120 a
/// site). Cost: a move O(edges), and degree² for every site that has a changed neighbour; an iteration `Σ degree²`.
///
/// ```
/// use bitmc::noise::{SparseMatrix, SparseRegression, Symmetric};
/// use bitmc::{Energy, Ising, Layout, Move, Packed, SparseMemory};
///
/// let mut couplings = SparseMemory::<3, 4>::new();
/// let model = Ising::bits_edges_once(3, [(0, 1, 0.75), (1, 2, -0.5)], &[0.1; 3], couplings.borrow())?;
/// let pattern = model.form();
/// let mut memory = vec![[0.0; 16]; SparseRegression::blocks(pattern)];
/// let mut regression = SparseRegression::new(pattern, &mut memory)?;
/// let gradient = |x: Packed<'_>| {
///     let (mut cache, mut out) = ([[0; 16]; Ising::cache_len(3)], [[0.0; 16]]);
///     model.init(x, &mut cache).map(|_| model.gradient(x, &cache, 0..1, &mut out)).map(|()| out)
/// };
/// for (from, to) in [(0b000, 0b001), (0b001, 0b011), (0b011, 0b110), (0b110, 0b000)] {
///     let (from, to) = ([from], [to]);
///     let (from, to) = (Packed::new(Layout::binary(3), &from)?, Packed::new(Layout::binary(3), &to)?);
///     regression.push(&Move::new(from, to)?, &gradient(from)?, &gradient(to)?)?;
/// }
/// let (mut w, mut scratch) = ([[0.0; 16]; 1], [[0.0; 16]; 3]);
/// regression.solve(1e-6, 100, &mut w, &mut scratch)?;
///
/// let mut couplings = SparseMemory::<3, 4>::new();
/// let (edges, mut diagonal) = (regression.edges(&w), [0.0; 3]);
/// regression.diagonal(&w, &mut diagonal);
/// let found = Ising::bits_edges_once(3, edges, &[], couplings.borrow())?;
/// let matrix = SparseMatrix::with_diagonal(found.form(), &diagonal)?; // for `Edgewise`
/// matrix.row(1, |other, value| assert!((value - [0.75, 0.0, -0.5][other]).abs() < 1e-3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SparseRegression<'a> {
    pattern: Sparse<'a>,
    /// B, one a slot: a row is its diagonal and then its neighbours.
    pub(super) products: &'a mut [Block],
    /// A of each row's neighbourhood, row by row.
    pub(super) moments: &'a mut [Block],
    pub(super) moves: u32,
}

/// The slots of a row, the first of them that of its diagonal.
fn width(pattern: Sparse<'_>, site: usize) -> usize {
    pattern.row(site).len().saturating_add(1)
}

/// The sites of a row's slots.
fn members(pattern: Sparse<'_>, site: usize) -> impl Iterator<Item = usize> + Clone {
    core::iter::once(site).chain(pattern.row(site).iter().map(|entry| entry.site as usize))
}

/// The first slot of a row.
fn first(pattern: Sparse<'_>, site: usize) -> usize {
    let before = site.checked_sub(1).and_then(|before| pattern.ends().get(before));
    before.map_or(0, |&end| end as usize).saturating_add(site)
}

impl<'a> SparseRegression<'a> {
    /// Blocks of W, one number a slot: a site, or an edge seen from one of its ends.
    #[must_use]
    pub fn w_blocks(pattern: Sparse<'_>) -> usize {
        pattern.entries().len().saturating_add(pattern.sites()).div_ceil(LANES)
    }

    /// Blocks of memory.
    #[must_use]
    pub fn blocks(pattern: Sparse<'_>) -> usize {
        let pairs = (0..pattern.sites()).map(|site| width(pattern, site).saturating_pow(2));
        let pairs = pairs.fold(0, usize::saturating_add);
        Self::w_blocks(pattern).saturating_add(pairs.div_ceil(LANES))
    }

    /// An estimate that has seen nothing, in [`SparseRegression::blocks`] of memory. Of the pattern only the edges
    /// count, not their couplings.
    ///
    /// # Errors
    /// [`NoiseError::Memory`] where there are too few blocks.
    pub fn new(pattern: Sparse<'a>, memory: &'a mut [Block]) -> Result<Self, NoiseError> {
        let memory = room(memory, Self::blocks(pattern))?;
        memory.fill([0.0; LANES]);
        let (products, moments) = memory.split_at_mut_checked(Self::w_blocks(pattern)).unwrap_or_default();
        Ok(Self { pattern, products, moments, moves: 0 })
    }

    /// Takes a move from x to y with the gradients ∂E/∂x at both, one block for sixteen sites. Moves of other numbers
    /// of sites are left out, and so are the 2³²nd and later.
    ///
    /// # Errors
    /// [`NoiseError::Categorical`] where the sites are, [`NoiseError::Memory`] where a gradient has too few blocks.
    pub fn push(&mut self, step: &Move<'_>, before: &[Block], after: &[Block]) -> Result<(), NoiseError> {
        numbers(step.to().layout())?;
        if step.to().layout().sites() != self.pattern.sites() || self.moves == u32::MAX {
            return Ok(());
        }
        long(self.pattern.sites(), [before, after])?;
        self.moves += 1;
        let component = |site| step.to().get(site) as i32 - step.before(site) as i32;
        let at = |of: &[Block], site| of.as_flattened().get(site).copied().unwrap_or(0.0);
        let mut moments = &mut *self.moments.as_flattened_mut();
        let mut products = &mut *self.products.as_flattened_mut();
        for site in 0..self.pattern.sites() {
            let width = width(self.pattern, site).max(1);
            let square = core::mem::take(&mut moments).split_at_mut_checked(width.saturating_pow(2));
            let row = core::mem::take(&mut products).split_at_mut_checked(width);
            let (Some((square, rest)), Some((row, others))) = (square, row) else { break };
            (moments, products) = (rest, others);
            // Δg = −(after − before)
            let difference = at(before, site) - at(after, site);
            let members = members(self.pattern, site);
            for ((a, slot), moments) in members.clone().zip(row).zip(square.chunks_exact_mut(width)) {
                let v = component(a) as f32;
                if v != 0.0 {
                    *slot += v * difference;
                    moments.iter_mut().zip(members.clone()).for_each(|(m, b)| *m += v * component(b) as f32);
                }
            }
        }
        forget(self.moves, [self.moments, self.products]);
        Ok(())
    }

    /// What tells its pattern from others.
    pub(super) fn key(&self) -> u64 {
        let sites = self.pattern.entries().iter().map(|entry| entry.site);
        self.pattern.ends().iter().copied().chain(sites).fold(0, |key, number| mix(key, u64::from(number)))
    }

    /// Moves that were taken.
    #[must_use]
    pub fn moves(&self) -> u32 {
        self.moves
    }

    /// W, written to `w` ([`SparseRegression::w_blocks`]). The `ridge` is ρ relative to the mean of A's diagonal,
    /// 10⁻³ for example. The `scratch` is working memory of three times the blocks of `w`. It stops where the
    /// residual is below 10⁻⁵, or after `iterations`. Without any move W is 0, and so is the residual.
    ///
    /// # Errors
    /// * [`NoiseError::Memory`] where a buffer is short.
    /// * [`NoiseError::Ridge`] where ρ is negative or not finite.
    /// * [`NoiseError::Gradient`] where gradients were not finite or too large for their products.
    pub fn solve(
        &self,
        ridge: f32,
        iterations: u32,
        w: &mut [Block],
        scratch: &mut [Block],
    ) -> Result<Fit, NoiseError> {
        let ridge = ridge_value(ridge)?;
        let mut start = 0usize;
        let mut sum = 0.0;
        for site in 0..self.pattern.sites() {
            sum += self.moments.as_flattened().get(start).copied().unwrap_or(0.0);
            start = start.saturating_add(width(self.pattern, site).saturating_pow(2));
        }
        let ridge = ridge * sum / self.pattern.sites() as f32;
        let size = Self::w_blocks(self.pattern);
        let apply = |p: &[Block], out: &mut [Block]| self.apply(ridge, p, out);
        solve(iterations, size, (w, scratch), self.products, |out| self.symmetrise(out), apply)
    }

    /// The edges of a solution: for [`Ising::bits_edges_once`](crate::Ising::bits_edges_once), whose
    /// [`form`](crate::Ising::form) a [`SparseMatrix`](super::SparseMatrix) takes.
    pub fn edges<'w>(&self, w: &'w [Block]) -> impl Iterator<Item = Edge> + Clone + use<'w, 'a> {
        let pattern = self.pattern;
        (0..pattern.sites()).flat_map(move |site| {
            let slots = w.as_flattened().get(first(pattern, site)..).unwrap_or_default();
            let upper = pattern.row(site).iter().zip(slots.iter().skip(1));
            let upper = upper.filter(move |(entry, _)| entry.site as usize > site);
            upper.map(move |(entry, &value)| (site as u32, entry.site, value))
        })
    }

    /// The diagonal of a solution, one a site.
    pub fn diagonal(&self, w: &[Block], out: &mut [f32]) {
        for (site, out) in (0..self.pattern.sites()).zip(out) {
            *out = w.as_flattened().get(first(self.pattern, site)).copied().unwrap_or(0.0);
        }
    }

    /// out ← (A + ρ)P at the pattern.
    fn apply(&self, ridge: f32, p: &[Block], out: &mut [Block]) {
        let mut moments = self.moments.as_flattened();
        let (mut p, mut rows) = (p.as_flattened(), &mut *out.as_flattened_mut());
        for site in 0..self.pattern.sites() {
            let width = width(self.pattern, site).max(1);
            let row = core::mem::take(&mut rows).split_at_mut_checked(width);
            let square = moments.split_at_checked(width.saturating_pow(2));
            let own = p.split_at_checked(width);
            let (Some((row, others)), Some((square, rest)), Some((own, next))) = (row, square, own) else {
                return;
            };
            (moments, p, rows) = (rest, next, others);
            for ((out, &own_value), moments) in row.iter_mut().zip(own).zip(square.chunks_exact(width)) {
                let sum: f32 = moments.iter().zip(own).map(|(m, p)| m * p).sum();
                *out = sum + ridge * own_value;
            }
        }
    }

    /// M ← M + Mᵀ.
    fn symmetrise(&self, matrix: &mut [Block]) {
        let flat = matrix.as_flattened_mut();
        for a in 0..self.pattern.sites() {
            let here = first(self.pattern, a);
            add_up(flat, here, here);
            for (offset, entry) in self.pattern.row(a).iter().enumerate() {
                let b = entry.site as usize;
                let back = self.pattern.row(b).binary_search_by_key(&(a as u32), |entry| entry.site);
                let (true, Ok(back)) = (b < a, back) else { continue };
                add_up(flat, here + 1 + offset, first(self.pattern, b) + 1 + back);
            }
        }
    }
}
