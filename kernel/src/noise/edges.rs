//! Whole numbers that edges keep from step to step.

use super::Edgewise;
use super::runs::{add_whole, spread};
use crate::lane::{Block, LANES, bytes_mut, i16s_mut};
use crate::random::DiscreteGaussian;
use rand_core::Rng;

/// Draws that are made at a time, in pieces of 32.
const PIECES: usize = 16;

impl Edgewise<'_> {
    /// The numbers that edges can keep: one an edge, in the order in which they take draws.
    pub(crate) fn edges(&self) -> usize {
        self.matrix.form.entries().len() / 2
    }

    /// Whether edges are taken by runs: their order is another one then.
    pub(crate) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    /// `k ← −k` with a chance of `keep`/2¹⁶, else drawn again.
    pub(crate) fn refresh<R: Rng + ?Sized>(
        gaussian: &DiscreteGaussian,
        keep: u32,
        rng: &mut R,
        kept: &mut [i16],
    ) {
        let (mut fresh, mut coins) = ([[0; 2 * LANES]; PIECES], [[0; 2 * LANES]; PIECES]);
        for kept in kept.chunks_mut(2 * LANES * PIECES) {
            let pieces = kept.len().div_ceil(2 * LANES);
            gaussian.fill(rng, fresh.get_mut(..pieces).unwrap_or_default());
            if keep > 0 {
                rng.fill_bytes(bytes_mut(coins.get_mut(..pieces).unwrap_or_default().as_flattened_mut()));
            }
            let draws = fresh.as_flattened().iter().zip(coins.as_flattened());
            for (kept, (&fresh, &coin)) in kept.iter_mut().zip(draws) {
                let stays = u32::from(i16::from_le(coin) as u16) < keep;
                *kept = if stays { kept.wrapping_neg() } else { fresh };
            }
        }
    }

    /// `Σ_edges kₑ (eᵢ + sign(Wᵢⱼ) eⱼ)`, one sixteen-bit number a site.
    pub(crate) fn add_up(&self, kept: &[i16], eta: &mut [i16]) {
        eta.fill(0);
        let [sign, unit] = self.scales();
        let mut rest = kept;
        for run in self.runs {
            let (first, offset, edges) = run.place();
            let (some, behind) = rest.split_at_checked(edges).unwrap_or_default();
            let coupling = sign * run.coupling as f32 * unit;
            add_whole(coupling, offset, some, eta.get_mut(first..).unwrap_or_default());
            rest = behind;
        }
        if self.runs.is_empty() {
            let mut kept = kept.iter();
            self.each_edge(|a, b, positive| {
                let k = kept.next().copied().unwrap_or_default();
                let far = if positive { k } else { k.wrapping_neg() };
                for (site, term) in [(a, k), (b, far)] {
                    if let Some(slot) = eta.get_mut(site) {
                        *slot = slot.wrapping_add(term);
                    }
                }
            });
        }
    }

    /// `kₑ ← kₑ − (vᵢ + sign(Wᵢⱼ) vⱼ)`, v one a site; the largest |k| then.
    pub(crate) fn move_along(&self, v: &[i16], kept: &mut [i16]) -> u16 {
        let [sign, _] = self.scales();
        if self.runs.is_empty() {
            let mut kept = kept.iter_mut();
            let at = |site: usize| v.get(site).copied().unwrap_or_default();
            let mut most = 0;
            self.each_edge(|a, b, positive| {
                let far = if positive { at(b) } else { at(b).wrapping_neg() };
                if let Some(k) = kept.next() {
                    *k = k.wrapping_sub(at(a)).wrapping_sub(far);
                    most = most.max(k.unsigned_abs());
                }
            });
            return most;
        }
        let (mut rest, mut most) = (kept, 0);
        for run in self.runs {
            let (first, offset, edges) = run.place();
            let (some, behind) = core::mem::take(&mut rest).split_at_mut_checked(edges).unwrap_or_default();
            rest = behind;
            let near = v.get(first..).unwrap_or_default();
            let ends = near.iter().zip(near.get(offset..).unwrap_or_default());
            let moved = some.iter_mut().zip(ends);
            let coupling = sign * run.coupling as f32;
            let mut of_run = 0;
            if coupling > 0.0 {
                moved.for_each(|(k, (&a, &b))| {
                    *k = k.wrapping_sub(a.wrapping_add(b));
                    of_run = of_run.max(k.unsigned_abs());
                });
            } else if coupling < 0.0 {
                moved.for_each(|(k, (&a, &b))| {
                    *k = k.wrapping_sub(a.wrapping_sub(b));
                    of_run = of_run.max(k.unsigned_abs());
                });
            }
            most = most.max(of_run);
        }
        most
    }

    /// The edges by rows: both ends, and whether W is positive; those of 0 aside.
    fn each_edge(&self, mut edge: impl FnMut(usize, usize, bool)) {
        for (site, (_, row)) in (0..).zip(self.matrix.form.rows()) {
            for entry in row.iter().filter(|entry| entry.site > site && entry.coupling != 0) {
                edge(site as usize, entry.site as usize, self.matrix.sign * entry.coupling > 0);
            }
        }
    }
}

/// `times` v of the sites that flip, one a site, from words of what they are and of which flip.
pub(crate) fn changes<'r>(
    here: &[u32],
    flips: &[u32],
    times: i16,
    blocks: usize,
    room: &'r mut [Block],
) -> &'r [i16] {
    let out = i16s_mut(room).get_mut(..LANES * blocks).unwrap_or_default();
    spread(here.iter().zip(flips).map(|(here, flips)| (flips & !here, flips & here)), out);
    out.iter_mut().for_each(|v| *v = v.wrapping_mul(times));
    out
}
