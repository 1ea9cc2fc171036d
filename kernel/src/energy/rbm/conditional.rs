//! The conditional distributions of an RBM: what block Gibbs draws from.

use super::cache::Parts;
use super::{Rbm, RbmError, TILE, run_down};
use crate::energy::{Grid, floats};
use crate::lane::{Bits, Block, F32s, LANES, PARTS, Product, U32s};
use crate::packed::Move;
use crate::random::uniforms;
use rand_core::Rng;

impl<'a> Rbm<'a> {
    /// Blocks of room that [`Rbm::with_columns`] needs.
    #[must_use]
    pub const fn columns_len(visible: usize, hidden: usize) -> usize {
        visible.div_ceil(LANES).saturating_mul(hidden)
    }

    /// Blocks of cache that a model [with columns](Rbm::with_columns) needs.
    #[must_use]
    pub const fn cache_len_with_columns(visible: usize, hidden: usize) -> usize {
        Self::cache_len(hidden)
            .saturating_add(visible.div_ceil(LANES))
            .saturating_add(hidden.div_ceil(32 * LANES))
    }

    /// The same model with its weights stored by column too, as integers, so that [`BlockGibbs`](crate::BlockGibbs)
    /// takes less time: the same draws, bit for bit. All other answers are as before.
    ///
    /// A chain then keeps the pre-activations of the visible units too, `t = a + Wh`. A sweep adds or subtracts the
    /// column of each hidden unit that changed; without columns it computes the whole product `Wh`. All sums are
    /// integers on one grid, so they equal a computation from nothing after any number of sweeps.
    ///
    /// The columns are written to `room`, of [`Rbm::columns_len`] blocks; with vectors it is read faster where it
    /// begins a cache line. A chain needs [`Rbm::cache_len_with_columns`] blocks of cache. Weights that change need new
    /// columns. O(visible × hidden).
    ///
    /// ```
    /// use bitmc::energy::pack_rows;
    /// use bitmc::{BlockGibbs, Chain, LaneRng, Layout, Rbm, SeedableRng, memory};
    ///
    /// let (mut weights, mut hidden) = ([[0.0; 16]; 3], [[0.0; 16]]);
    /// pack_rows(&[0.5, -1.0, 0.25, 0.0, 1.5, -0.5], 2, &mut weights)?;
    /// pack_rows(&[0.1, -0.2], 2, &mut hidden)?;
    /// let mut room = [[0; 16]; Rbm::columns_len(3, 2)];
    /// let model = Rbm::new(&weights, &[0.3, -0.4, 0.0], &hidden, 2)?.with_columns(&mut room)?;
    ///
    /// const L: Layout = Layout::binary(3);
    /// let mut rng = LaneRng::seed_from_u64(1);
    /// let mut chain = Chain::random(&model, memory!(L, Rbm::cache_len_with_columns(3, 2)), &mut rng)?;
    /// chain.step(&BlockGibbs, &mut rng);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RbmError::Length`] where the room has another length.
    pub fn with_columns(self, room: &'a mut [Bits]) -> Result<Self, RbmError> {
        let (need, got) = (Self::columns_len(self.visible.len(), self.units), room.len());
        if got != need {
            return Err(RbmError::Length { need, got });
        }
        room.fill([0; LANES]);
        for visible in 0..self.visible.len() {
            for (unit, &weight) in self.row(visible).as_flattened().iter().take(self.units).enumerate() {
                let column = room.get_mut(self.column_at(visible / LANES, unit));
                if let Some(slot) = column.and_then(|block| block.get_mut(visible % LANES)) {
                    *slot = self.grid.round_small(weight) as u32;
                }
            }
        }
        Ok(Self { columns: room, ..self })
    }

    /// Draws the hidden units given the visible ones, `hⱼ ~ Bernoulli(σ(βpⱼ))`, into a cache, which loses its σ.
    pub(crate) fn draw_hidden<R: Rng + ?Sized>(&self, beta: f32, cache: &mut [Bits], rng: &mut R) {
        let Some(cache) = self.split(cache) else { return };
        if beta != 1.0 {
            let (one, unit, beta) = (F32s::splat(1.0), F32s::splat(self.grid.unit), F32s::splat(-beta));
            for (pre, sigma) in cache.pre.iter().zip(cache.sigma.iter_mut()) {
                for part in 0..PARTS {
                    let p = F32s::from_i32(U32s::load(pre, part)) * unit;
                    (one / (one + (beta * p).exp())).to_bits().store(sigma, part);
                }
            }
            // Lanes past the last unit are no units.
            let rest = cache.sigma.as_flattened_mut().get_mut(self.units..).unwrap_or_default();
            rest.fill(0);
        }
        let mut words = cache.on.as_flattened_mut().iter_mut();
        for pair in cache.sigma.chunks_mut(2) {
            let mut drawn = 0;
            for (half, sigma) in pair.iter_mut().enumerate() {
                let u = uniforms(rng);
                for part in 0..PARTS {
                    let on = F32s::load(&u, part).lt(U32s::load(sigma, part).to_f32());
                    drawn |= on.bits(part) << (16 * half);
                    on.keep(U32s::splat(u32::MAX)).store(sigma, part);
                }
            }
            words.next().into_iter().for_each(|word| *word = drawn);
        }
    }

    /// Moves what is kept of the visible units along with the hidden ones, at several points: each the cache before
    /// [`Rbm::draw_hidden`], and that after.
    pub(crate) fn follow_hidden<const N: usize>(&self, points: [(&[Bits], &mut [Bits]); N]) {
        if self.columns.is_empty() {
            return;
        }
        self.add_columns(points.map(|(before, cache)| {
            let (fields, on): (&mut [Bits], &[Bits]) = match self.split(cache) {
                Some(cache) => (cache.fields, cache.on),
                None => (&mut [], &[]),
            };
            let words = self.on(before).as_flattened().iter().zip(on.as_flattened()).enumerate();
            (fields, words.map(|(number, (&before, &after))| (number, before, after)))
        }));
    }

    /// Writes the log odds `a + Wh` of every visible unit, for the hidden units that were drawn.
    pub(crate) fn write_odds(&self, cache: &[Bits], out: &mut [Block]) {
        if self.columns.is_empty() {
            return self.odds_by_rows(self.activities(cache), out);
        }
        let fields = cache.get(Self::cache_len(self.units)..).unwrap_or_default();
        floats(fields, self.grid.unit, out);
    }

    /// Moves what is kept of the hidden units along with the visible ones, at several points. [`Rbm::arrive`] is next.
    pub(crate) fn follow_visible<const N: usize>(&self, points: [(Move<'_>, &mut [Bits]); N]) {
        self.add_rows(points.map(|(step, cache)| {
            let pre = self.split(cache).map_or(&mut [][..], |cache| cache.pre);
            (pre, step.by_words())
        }));
    }

    /// The log of the ratio with which states u at β and v at β′ change places:
    /// `F_β(u) + F_β′(v) − F_β(v) − F_β′(u)`, `F_β(v) = −β a·v − Σⱼ ln(1 + e^{βpⱼ})`.
    pub(crate) fn log_swap_ratio(&self, betas: (f32, f32), u: &[Bits], v: &[Bits]) -> f32 {
        let linear = |cache: &[Bits]| cache.first().map_or(0, |words| Parts::load(words).linear);
        let rest = |cache: &[Bits]| {
            let (mut first, mut second) = (Product::one(), Product::one());
            let (one, unit) = (F32s::splat(1.0), F32s::splat(self.grid.unit));
            for pre in cache.iter().skip(1).take(self.hidden.len()) {
                first.next_block();
                second.next_block();
                for part in 0..PARTS {
                    let p = (F32s::from_i32(U32s::load(pre, part)) * unit).abs();
                    first.times(one + (F32s::splat(-betas.0) * p).exp(), part);
                    second.times(one + (F32s::splat(-betas.1) * p).exp(), part);
                }
            }
            first.finish().over(second.finish()).ln()
        };
        // max(βp, 0) is β max(p, 0), whose sums are whole numbers: they are subtracted before anything is rounded.
        (betas.1 - betas.0) * self.grid.value(linear(u) - linear(v)) + (rest(v) - rest(u))
    }

    /// `a + Wh` from nothing, for hidden units that are all ones where they are 1.
    fn odds_by_rows(&self, on: &[Bits], out: &mut [Block]) {
        let ones = on.as_flattened().iter().fold(0u32, |ones, &on| ones + (on & 1));
        let magic = Grid::MAGIC * self.grid.unit;
        // Every weight of a unit that is 1 brings the magic number's bits along.
        let extra = magic.to_bits().wrapping_mul(ones);
        for (tile, out) in out.as_flattened_mut().chunks_mut(TILE).enumerate() {
            let unit = tile * TILE;
            let rows = core::array::from_fn(|row| self.row(unit + row));
            let sums = run_down([0; LANES], &rows, on, |sum, w, on, part| {
                let bits = (F32s::load(w, part) + F32s::splat(magic)).to_bits() & on;
                (U32s::load(sum, part) + bits).store(sum, part);
            });
            for ((offset, out), lanes) in out.iter_mut().enumerate().zip(sums) {
                let inside = unit + offset < self.visible.len();
                let sum = lanes.iter().fold(0u32, |total, &lane| total.wrapping_add(lane));
                let sum = if inside { sum.wrapping_sub(extra) } else { 0 };
                let field = sum.wrapping_add(self.grid.round(self.bias(unit + offset)) as u32);
                *out = field as i32 as f32 * self.grid.unit;
            }
        }
    }

    /// The hidden units that were drawn last, in words, from a cache.
    fn on<'c>(&self, cache: &'c [Bits]) -> &'c [Bits] {
        cache.get(Self::cache_len(self.units) + self.visible.len().div_ceil(LANES)..).unwrap_or_default()
    }
}
