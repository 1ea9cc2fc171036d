//! An RBM whose gradient is a product of 16-bit integers.

use super::{Rbm, RbmError};
use crate::energy::{Energy, EnergyError, Slope};
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// Blocks of visible units whose rows of W are interleaved: their sums fit in registers. One block of rows fits in a
/// first-level cache, which all points then read. The bits do not depend on it.
const TILE: usize = if cfg!(any(target_feature = "avx512bw", target_feature = "neon")) { 4 } else { 1 };

/// Whether four points share the weights in registers: their sums take eight or sixteen.
const FOURS: bool = cfg!(target_feature = "avx2");

/// σ = 1 in units of the activities.
const ONE: f32 = 4096.0;

/// An [`Rbm`] for the proposals of adjusted samplers. Energies and differences are the same. The gradient is made
/// from weights and activities that are rounded to 16-bit integers,
/// ```text
/// ∂E/∂vᵢ ≈ −aᵢ − (u/4096) Σⱼ qᵢⱼ sⱼ,   qᵢⱼ = round(Wᵢⱼ/u),   sⱼ = round(4096 σ(pⱼ))
/// ```
/// with the smallest unit u, a power of two, for which no |qᵢⱼ| passes 2¹⁴ and no row of W passes 2¹⁸ u in all.
/// Then no sum passes 2³¹ (|q| ≤ 2|W|/u, so Σ|q|s < 2·2¹⁸·2¹²), and the product is exact in 32 bits, in any order.
///
/// # What keeps its distribution
/// * Every kernel with a Metropolis test, exactly. This gradient is a function of the state alone, so it is the same
///   on the way back. The test takes the energies of the [`Rbm`]. Every kernel of local differences keeps its
///   distribution too.
/// * [`Langevin::unadjusted`](crate::Langevin::unadjusted) accepts whatever the gradient says. It converges to
///   another distribution than over the [`Rbm`]. Flip log odds differ by β times the gradient's error, which is at
///   most `u·hidden/2 + Σⱼ|Wᵢⱼ|/8192`. Take the [`Rbm`] there.
///
/// # When
/// Wherever the product Wσ is most of a step: from some tens of hidden units on. A product is half the bytes and half
/// the multiplications of the [`Rbm`]'s. On 784 × 500 units a step of [`Langevin`](crate::Langevin) over the [`Rbm`]
/// takes 2.8 times as long (AVX-512, an EPYC). With sixteen chains and
/// [`Langevin::step_together`](crate::Langevin::step_together) it takes 3.4 times as long. Of 10⁵ steps .476 were
/// accepted, and .478 over the [`Rbm`]: the difference is no more than chance.
///
/// The cache is the [`Rbm`]'s and the activities in 16 bits: 32 bytes for every 16 hidden units more.
///
/// ```
/// use bitmc::energy::{CoarseRbm, pack_rows};
/// use bitmc::{Chain, LaneRng, Langevin, Layout, Rbm, SeedableRng, memory};
///
/// let (mut weights, mut hidden) = ([[0.0; 16]; 3], [[0.0; 16]]);
/// pack_rows(&[0.5, -1.0, 0.25, 0.0, 1.5, -0.5], 2, &mut weights)?;
/// pack_rows(&[0.1, -0.2], 2, &mut hidden)?;
/// let exact = Rbm::new(&weights, &[0.3, -0.4, 0.0], &hidden, 2)?;
/// let mut room = [[0; 16]; CoarseRbm::room_len(3, 2)];
/// let model = CoarseRbm::new(exact, &mut room)?;
///
/// let mut rng = LaneRng::seed_from_u64(1);
/// const L: Layout = Layout::binary(3);
/// let mut chain = Chain::random(&model, memory!(L, CoarseRbm::cache_len(2)), &mut rng)?;
/// chain.step(&Langevin::adjusted(0.5)?, &mut rng);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CoarseRbm<'a> {
    model: Rbm<'a>,
    /// q: visible units along the lanes, two hidden ones in the halves of a word, [`CoarseRbm::place`].
    weights: &'a [Bits],
    /// u/4096.
    scale: f32,
}

impl<'a> CoarseRbm<'a> {
    /// Blocks of room that [`CoarseRbm::new`] needs.
    #[must_use]
    pub const fn room_len(visible: usize, hidden: usize) -> usize {
        visible.div_ceil(LANES).saturating_mul(LANES).saturating_mul(pairs(hidden))
    }

    /// Blocks of cache that a model with `hidden` hidden units needs.
    #[must_use]
    pub const fn cache_len(hidden: usize) -> usize {
        Rbm::cache_len(hidden) + pairs(hidden)
    }

    /// The rounded weights are written to `room`, of [`CoarseRbm::room_len`] blocks; with vectors it is read faster
    /// where it begins a cache line. Weights that change need a new one. O(visible × hidden).
    ///
    /// # Errors
    /// [`RbmError::Length`] where the room has another length.
    pub fn new(model: Rbm<'a>, room: &'a mut [Bits]) -> Result<Self, RbmError> {
        let (need, got) = (Self::room_len(model.visible_units(), model.hidden_units()), room.len());
        if got != need {
            return Err(RbmError::Length { need, got });
        }
        let units = |row: &'a [Block]| row.as_flattened().iter().map(|&w| model.grid.round_small(w));
        let (mut largest, mut reach) = (0, 0);
        for unit in 0..model.visible_units() {
            let sizes = || units(model.row(unit)).map(|w| u64::from(w.unsigned_abs()));
            largest = sizes().fold(largest, u64::max);
            reach = reach.max(sizes().sum());
        }
        let bits = |number: u64| u64::BITS - number.leading_zeros();
        let dropped = bits(largest).saturating_sub(14).max(bits(reach).saturating_sub(18));
        let round = |w: i32| ((i64::from(w) + ((1 << dropped) >> 1)) >> dropped) as u16;

        room.as_flattened_mut().fill(0);
        let model = Rbm { columns: &[], ..model }; // its caches have no room for what belongs to columns
        for unit in 0..model.visible_units() {
            for (pair, blocks) in model.row(unit).chunks(2).enumerate() {
                for (half, block) in blocks.iter().enumerate() {
                    for (lane, w) in units(core::slice::from_ref(block)).enumerate() {
                        let place = place(&model, unit / LANES, pair * LANES + lane);
                        let word = room.get_mut(place).and_then(|words| words.get_mut(unit % LANES));
                        word.into_iter().for_each(|word| *word |= u32::from(round(w)) << (16 * half));
                    }
                }
            }
        }
        let scale = (0..dropped).fold(model.grid.unit, |unit, _| 2.0 * unit) / ONE;
        Ok(Self { model, weights: room, scale })
    }

    /// The model.
    #[must_use]
    pub fn exact(&self) -> Rbm<'a> {
        self.model
    }

    /// The part of a cache that is the model's.
    fn own<'c>(&self, cache: &'c [Bits]) -> &'c [Bits] {
        cache.get(..Rbm::cache_len(self.model.units)).unwrap_or_default()
    }

    /// Does something with the model's part of a cache; then rounds the activities, `None` where there is no room.
    fn with_own<T>(&self, cache: &mut [Bits], change: impl FnOnce(&Rbm<'a>, &mut [Bits]) -> T) -> Option<T> {
        let (own, rest) = cache.split_at_mut_checked(Rbm::cache_len(self.model.units))?;
        let halves = rest.get_mut(..pairs(self.model.units))?;
        let result = change(&self.model, own);
        let none = [0; LANES];
        for (pair, out) in self.model.activities(own).chunks(2).zip(halves) {
            let [low, high] = [pair.first(), pair.get(1)].map(|block| block.unwrap_or(&none));
            for part in 0..PARTS {
                let round = |sigma| {
                    let sigma = U32s::load(sigma, part).to_f32();
                    (sigma * F32s::splat(ONE) + F32s::splat(0.5)).trunc_i32()
                };
                (round(low) | round(high).shl::<16>()).store(out, part);
            }
        }
        Some(result)
    }

    /// The activities in 16 bits, from a cache: two in a word.
    fn halves<'c>(&self, cache: &'c [Bits]) -> &'c [u32] {
        let first = Rbm::cache_len(self.model.units);
        cache.get(first..first + pairs(self.model.units)).unwrap_or_default().as_flattened()
    }

    /// Blocks of the gradients at `C` points, whose activities `s` are.
    #[inline(always)]
    fn product<'s, const C: usize>(
        &self,
        s: impl Iterator<Item = [&'s u32; C]> + Clone,
        blocks: Range<usize>,
        mut write: impl FnMut(usize, [Block; C]),
    ) {
        let wide = self.layout().blocks() / TILE * TILE;
        let mut next = blocks.start;
        while next < blocks.end {
            let first = if next < wide { next / TILE * TILE } else { next };
            if next < wide {
                // Of a tile that is asked for in part the rest is dropped.
                let tile = (first..).zip(self.sums::<TILE, C>(s.clone(), first));
                tile.filter(|(block, _)| blocks.contains(block))
                    .for_each(|(block, sums)| write(block, self.slopes(block, sums)));
                next = first + TILE;
            } else {
                let [sums] = self.sums::<1, C>(s.clone(), first);
                write(first, self.slopes(first, sums));
                next += 1;
            }
        }
    }

    /// `−aᵢ − (u/4096) Σⱼ qᵢⱼ sⱼ` of a block, from its sums.
    #[inline(always)]
    fn slopes<const C: usize>(&self, block: usize, sums: [[U32s; C]; PARTS]) -> [Block; C] {
        let mut biases = [0.0; LANES];
        let visible = self.model.visible.iter().skip(block * LANES);
        biases.iter_mut().zip(visible).for_each(|(bias, &a)| *bias = a);
        let (scale, mut slopes) = (F32s::splat(self.scale), [[0.0; LANES]; C]);
        for (part, sums) in sums.into_iter().enumerate() {
            for (out, sum) in slopes.iter_mut().zip(sums) {
                (-(F32s::load(&biases, part) + F32s::from_i32(sum) * scale)).store(out, part);
            }
        }
        slopes
    }

    /// Σⱼ qᵢⱼ sⱼ for `B` interleaved blocks of visible units, at `C` points.
    #[inline(always)]
    fn sums<'s, const B: usize, const C: usize>(
        &self,
        s: impl Iterator<Item = [&'s u32; C]>,
        first: usize,
    ) -> [[[U32s; C]; PARTS]; B] {
        let mut sums = [[[U32s::splat(0); C]; PARTS]; B];
        let rows = self.weights.get(place(&self.model, first, 0)..).unwrap_or_default();
        for (rows, s) in rows.as_chunks::<B>().0.iter().zip(s) {
            let s = s.map(|&s| U32s::splat(s));
            for (sums, row) in sums.iter_mut().zip(rows) {
                for (part, sums) in sums.iter_mut().enumerate() {
                    let row = U32s::load(row, part);
                    sums.iter_mut().zip(s).for_each(|(sum, s)| *sum = *sum + row.dot(s));
                }
            }
        }
        sums
    }
}

/// Where the weights of a block of visible units and a word of hidden ones are. Whole tiles come first, word by word.
fn place(model: &Rbm<'_>, block: usize, word: usize) -> usize {
    let wide = model.layout().blocks() / TILE * TILE;
    let (first, width) = if block < wide { (block / TILE * TILE, TILE) } else { (block, 1) };
    first * LANES * pairs(model.units) + word * width + (block - first)
}

/// Pairs of blocks of hidden units.
const fn pairs(hidden: usize) -> usize {
    hidden.div_ceil(2 * LANES)
}

impl Energy for CoarseRbm<'_> {
    fn layout(&self) -> Layout {
        self.model.layout()
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.model.units)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let (need, got) = (Self::cache_len(self.model.units), cache.len());
        self.with_own(cache, |model, own| model.init(x, own)).ok_or(EnergyError::Cache { need, got })?
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        let first = blocks.start;
        self.product(self.halves(cache).iter().map(|s| [s]), blocks, |block, [found]| {
            out.iter_mut().skip(block - first).take(1).for_each(|out| *out = found);
        });
    }

    fn gradients(&self, points: &mut [Slope<'_>]) {
        let blocks = self.layout().blocks();
        for first in (0..blocks).step_by(TILE) {
            // All points take a tile of rows while it is in a near cache.
            let tile = first..blocks.min(first + TILE);
            let (fours, rest) = if FOURS { points.as_chunks_mut() } else { (&mut [][..], &mut *points) };
            for four in fours {
                let [a, b, c, d] = four.each_ref().map(|point| self.halves(point.cache));
                let s = a.iter().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d]);
                self.product(s, tile.clone(), |block, found| {
                    for (point, found) in four.iter_mut().zip(found) {
                        point.out.iter_mut().skip(block).take(1).for_each(|out| *out = found);
                    }
                });
            }
            for point in rest {
                let out = point.out.get_mut(first..).unwrap_or_default();
                self.gradient(point.x, point.cache, tile.clone(), out);
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.with_own(cache, |model, own| model.shift(step, own)).unwrap_or(f32::NAN)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.model.differences(words, self.own(cache), site, out);
    }
}
