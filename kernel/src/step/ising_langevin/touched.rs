//! The step that weighs only sites whose field changed.
//!
//! It works in place, here, with there as room: there's words hold the flips, its weights a list of the touched
//! sites, its cache the fields that they had.

use super::law::{self, Law, Sum};
use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{Bits, F32s, LANES, Mask, PARTS, U32s};
use rand_core::Rng;

/// Set in the list where the site itself flips.
const FLIPS: u32 = 0x8000_0000;

/// Whether so few flips touch few enough sites.
pub(super) fn pays(model: &Ising<'_>, flips: u32) -> bool {
    let sites = model.form().sites() as u64;
    let reached = sites + model.form().entries().len() as u64;
    // A site that is looked up costs about six times one in line.
    6 * u64::from(flips) * reached < sites * sites
}

/// The touched sites, those that flip first, and the fields that they had.
struct Touched<'a> {
    sites: &'a mut [f32],
    fields: &'a mut [u32],
    len: usize,
}

impl Touched<'_> {
    /// Lists a site, unless its weight is 0: that of a clamped site is, and that of a listed one becomes so.
    #[inline(always)]
    fn push(&mut self, site: usize, flips: u32, field: u32, weights: &mut [f32]) {
        let (word, shift) = law::half(site);
        let Some(slot) = weights.get_mut(word) else { return };
        let rest = slot.to_bits() & !(0xFFFF << shift);
        if slot.to_bits() == rest {
            return;
        }
        *slot = f32::from_bits(rest);
        if let (Some(place), Some(before)) = (self.sites.get_mut(self.len), self.fields.get_mut(self.len)) {
            *place = f32::from_bits(site as u32 | flips);
            *before = field;
            self.len += 1;
        }
    }

    #[inline(always)]
    fn site(&self, place: usize) -> usize {
        self.sites.get(place).map_or(0, |site| (site.to_bits() & !FLIPS) as usize)
    }
}

#[inline(always)]
fn bit(words: &[u32], site: usize) -> u32 {
    words.get(site / 32).map_or(0, |word| (word >> (site % 32)) & 1)
}

/// The state that a step works in.
struct Place<'a> {
    model: &'a Ising<'a>,
    words: &'a mut [u32],
    flips: &'a [u32],
    fields: &'a mut [u32],
    weights: &'a mut [f32],
}

impl Place<'_> {
    /// Lists the sites that flip.
    fn list(&mut self, touched: &mut Touched<'_>) {
        for (index, &flips) in self.flips.iter().enumerate() {
            let mut rest = flips;
            while rest != 0 {
                let site = 32 * index + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if let Some(&field) = self.fields.get(site) {
                    touched.push(site, FLIPS, field, self.weights);
                }
            }
        }
    }

    /// Makes the first `flips` flips of the list and lists the neighbours, or unmakes them. `E(after) − E(before)`
    /// in units.
    #[inline]
    fn flip<const LIST: bool>(&mut self, touched: &mut Touched<'_>, flips: usize) -> i64 {
        let mut difference = 0;
        for place in 0..flips {
            let site = touched.site(place);
            let sign = 1 - 2 * bit(self.words, site) as i32;
            difference -= i64::from(sign) * self.fields.get(site).map_or(0, |&field| i64::from(field as i32));
            for entry in self.model.form().row(site) {
                let neighbour = entry.site as usize;
                if let Some(field) = self.fields.get_mut(neighbour) {
                    if LIST {
                        touched.push(neighbour, 0, *field, self.weights);
                    }
                    *field = field.wrapping_add((sign * entry.coupling) as u32);
                }
            }
        }
        self.words.iter_mut().zip(self.flips).for_each(|(word, flips)| *word ^= flips);
        difference
    }

    /// Weighs the listed sites; by how much Z grew since they had the fields of the list.
    #[inline]
    fn weigh(&mut self, law: Law, touched: &Touched<'_>) -> i64 {
        let mut growth = Sum::new();
        let lists = touched.sites.as_chunks::<LANES>().0.iter().zip(touched.fields.as_chunks::<LANES>().0);
        for (number, (sites, old)) in lists.enumerate().take(touched.len.div_ceil(LANES)) {
            let count = LANES.min(touched.len - LANES * number);
            let (mut now, mut x): (Bits, Bits) = ([0; LANES], [0; LANES]);
            for ((now, x), entry) in now.iter_mut().zip(&mut x).zip(sites).take(count) {
                let site = (entry.to_bits() & !FLIPS) as usize;
                *now = self.fields.get(site).copied().unwrap_or(0);
                *x = bit(self.words, site);
            }
            let listed = !(u32::MAX << count);
            for part in 0..PARTS {
                // FLIPS is the top bit.
                let (after, flipped) = (U32s::load(&x, part).shl::<31>(), F32s::load(sites, part).to_bits());
                let ([weights, _], [after, before]) =
                    law.weigh([U32s::load(&now, part), U32s::load(old, part)], [after, after ^ flipped]);
                weights.store(&mut now, part);
                growth.add(Mask::from_bits(listed, part).keep(after - before), part);
            }
            growth.next();
            for (entry, new) in sites.iter().zip(now).take(count) {
                let (word, shift) = law::half((entry.to_bits() & !FLIPS) as usize);
                if let Some(slot) = self.weights.get_mut(word) {
                    *slot = f32::from_bits((slot.to_bits() & !(0xFFFF << shift)) | new << shift);
                }
            }
        }
        growth.total()
    }
}

pub(super) fn step<R: Rng + ?Sized>(law: Law, ring: Ring<'_, Ising<'_>>, proposed: u32, rng: &mut R) -> Info {
    let mut touched = Touched {
        sites: ring.there.weights.as_flattened_mut(),
        fields: ring.there.cache.as_flattened_mut(),
        len: 0,
    };
    let mut place = Place {
        model: ring.energy,
        words: ring.here.words,
        flips: ring.there.words,
        fields: ring.here.cache.as_flattened_mut(),
        weights: ring.here.weights.as_flattened_mut(),
    };
    place.list(&mut touched);
    let flips = touched.len;
    let units = place.flip::<true>(&mut touched, flips);
    let growth = place.weigh(law, &touched);
    let log_ratio = law::value(-growth);
    let accepted = accept(log_ratio, rng);
    let difference = ring.energy.form().value(units);
    if accepted {
        ring.core.softplus += growth;
        ring.core.energy.add(difference);
    } else {
        place.flip::<false>(&mut touched, flips);
        place.weigh(law, &touched);
    }
    ring.core.steps = ring.core.steps.wrapping_add(1);
    Info { accepted, proposed, log_ratio, difference, fault: false }
}
