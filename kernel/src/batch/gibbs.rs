//! Sequential Gibbs for sixteen chains: what [`SequentialGibbs`] does in each.

use super::site::{Half, VALUE, field, free};
use super::sums::Change;
use super::{ALL, BatchInfo, BatchKernel, BatchRing, full, group};
use crate::lane::{F32s, LANES, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::SequentialGibbs;
use crate::step::fields::threshold;

/// At any β: a site becomes 1 where its field is above ⌊noise / (β · unit)⌋.
impl BatchKernel for SequentialGibbs {
    fn step(&self, mut ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        if ring.core.accepted != ALL {
            ring.arrive();
        }
        ring.core.weights_of = None;
        let form = ring.model.form();
        let per_unit = ring.core.betas.map(|beta| form.per_unit() / beta);
        let mut change = Change::none();
        let mut rows = form.rows();
        for start in (0..ring.sites.len()).step_by(LANES) {
            let noise = group::logistics(rng);
            for ((number, noise), row) in (start..ring.sites.len()).zip(&noise).zip(&mut rows) {
                change.units.next();
                for part in 0..PARTS {
                    let threshold = threshold(F32s::load(noise, part), F32s::load(&per_unit, part));
                    let field = field(row, ring.sites, part, Half::High);
                    let Some(site) = ring.sites.get_mut(number) else { break };
                    let cells = U32s::load(&site.cells, part);
                    let one = cells.negative();
                    let moved = free(cells) & (one ^ threshold.lt_i32(field));
                    // A one that goes gives its field back; a zero that comes takes it.
                    let zero = full(!one);
                    change.add(moved, (field ^ zero) - zero, part);
                    (cells ^ moved.keep(U32s::splat(VALUE << 16))).store(&mut site.cells, part);
                }
            }
        }
        let units = change.units.totals();
        let mut there = ring.core.level;
        there.twice.iter_mut().zip(units).for_each(|(twice, units)| *twice -= 2 * units);
        let plain = ring.plain(&there);
        ring.close(&there, &plain, change.count, [0.0; LANES])
    }
}

/// One for each chain, for replica exchange: all are the same.
impl BatchKernel for [SequentialGibbs; LANES] {
    fn step(&self, ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        SequentialGibbs.step(ring, rng)
    }
}
