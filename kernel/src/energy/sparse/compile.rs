//! From an edge list to rows in fixed point.

use super::sort::sort;
use super::{Edge, Embedding, Entry, Sparse, SparseBuffers, SparseError, level};
use crate::energy::grid::Grid;

impl<'a> Sparse<'a> {
    /// Compiles an edge list: O(sites + edges), and edges × log of the largest degree for the sorting.
    /// Fields up to `reach` times a site's couplings and field must fit: 1 where x is 0 or 1.
    pub(in crate::energy) fn compile(
        edges: impl Iterator<Item = Edge> + Clone,
        sites: usize,
        field: impl Fn(usize) -> f32,
        scale: f32,
        embedding: Embedding,
        reach: f32,
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        let SparseBuffers { ends, linear, entries, any_rounding } = memory;
        if sites == 0 || sites > i32::MAX as usize {
            return Err(SparseError::Sites);
        }
        let (have_ends, have_linear, have_entries) = (ends.len(), linear.len(), entries.len());
        let short = SparseError::Memory { need: sites, got: have_ends.min(have_linear) };
        let ends = ends.get_mut(..sites).ok_or(short)?;
        let (linear, rest) = linear.split_at_mut_checked(sites).ok_or(short)?;
        let shares = rest.get_mut(..sites).unwrap_or_default();

        // First pass: check, count neighbours, and add up |J| a site (kept as bits in `linear`).
        ends.fill(0);
        linear.fill(0);
        let mut count = 0;
        for (edge, (a, b, coupling)) in edges.clone().enumerate() {
            if a == b {
                return Err(SparseError::Diagonal { edge });
            }
            if !coupling.is_finite() {
                return Err(SparseError::CouplingNotFinite { edge });
            }
            for site in [a, b] {
                *ends.get_mut(site as usize).ok_or(SparseError::OutOfRange { edge })? += 1;
                let sum = linear.get_mut(site as usize).ok_or(SparseError::OutOfRange { edge })?;
                let total = f32::from_bits(*sum as u32) + (coupling * scale).abs();
                *sum = total.to_bits() as i32;
            }
            count += 2;
        }
        let short = SparseError::Entries { need: count, got: have_entries };
        let entries = entries.get_mut(..count).ok_or(short)?;
        let weight = if embedding == Embedding::Spins { 2.0 } else { 1.0 };
        let (times, mut largest, mut least, mut most_edges) = (weight * reach, 0.0, f32::INFINITY, 0);
        for (site, (&sum, &degree)) in linear.iter().zip(ends.iter()).enumerate() {
            let field = field(site);
            if !field.is_finite() {
                return Err(SparseError::FieldNotFinite { site });
            }
            let bound = times * (field.abs() + f32::from_bits(sum as u32));
            if bound > 1e30 {
                return Err(SparseError::TooLarge { site });
            }
            // The sum has a rounding a term, and so has each term on the grid.
            let bound = bound * (1.0 + (degree as f32 + 2.0) * f32::EPSILON);
            largest = if bound > largest { bound } else { largest };
            least = if bound < least { bound } else { least };
            most_edges = if degree > most_edges { degree } else { most_edges };
        }
        let grid = Grid::covering(largest, 30);
        let (fine, most) = Grid::fine(reach, least / times);
        // What one coupling may lose, and all of a site together.
        let together = Grid::TOGETHER * fine;
        let check = !any_rounding && (grid.coarse(fine) || grid.coarse(together / most_edges as f32));

        // Second pass: `ends` walks from the start of each row to its end as the row fills. `linear` adds up what the couplings
        // of a site lose.
        ends.iter_mut().fold(0, |start, end| start + core::mem::replace(end, start));
        linear.fill(0);
        for (edge, (a, b, coupling)) in edges.enumerate() {
            // Spins: K = 2 · (2J), even, so that b = 2w − ½ΣK stays on the grid and E(s) = E(−s) exactly.
            let half = grid.round(weight * scale * coupling);
            let lost = if check { grid.lost(weight * scale * coupling, most) } else { 0.0 };
            if lost > fine {
                return Err(SparseError::CouplingRounded { edge });
            }
            let coupling = if embedding == Embedding::Spins { 2 * half } else { half };
            for (site, neighbour) in [(a, b), (b, a)] {
                let Some(end) = ends.get_mut(site as usize) else { continue };
                if let Some(entry) = entries.get_mut(*end as usize) {
                    *entry = Entry { site: neighbour, coupling };
                }
                *end += 1;
                let Some(sum) = linear.get_mut(site as usize) else { continue };
                let sums = f32::from_bits(*sum as u32) + lost;
                if sums > together {
                    return Err(SparseError::CouplingRounded { edge });
                }
                *sum = sums.to_bits() as i32;
            }
        }

        let (mut start, mut reach) = (0, 0);
        for (site, (&end, linear)) in ends.iter().zip(linear.iter_mut()).enumerate() {
            let row = entries.get_mut(start..end as usize).unwrap_or_default();
            start = end as usize;
            sort(row);
            if let Some((double, _)) = row.iter().zip(row.iter().skip(1)).find(|(a, b)| a.site == b.site) {
                return Err(SparseError::Duplicate { a: site as u32, b: double.site });
            }
            let sum: i64 = row.iter().map(|entry| i64::from(entry.coupling)).sum();
            let offset = if embedding == Embedding::Spins { (sum / 2) as i32 } else { 0 };
            if check && !grid.keeps(weight * field(site), fine, most) {
                return Err(SparseError::FieldRounded { site });
            }
            *linear = grid.round(weight * field(site)).wrapping_sub(offset);
            if let Some(share) = shares.get_mut(site) {
                *share = offset;
            }
            let own = row.iter().map(|entry| entry.coupling.unsigned_abs()).fold(0, u32::saturating_add);
            reach = if own > reach { own } else { reach };
        }
        Ok(Self { ends, entries, linear, shares, grid, reach, level: level(ends) })
    }
}
