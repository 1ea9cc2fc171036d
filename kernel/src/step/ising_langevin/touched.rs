//! The step that weighs only sites whose log odds changed.
//!
//! It works in place, here, with there as room: there's words hold the flips, its weights and its cache a list of
//! events. An event is one change of a site's signed field, `(1−2x) · field`, by a flip of the site or of a neighbour.
//! What a site adds to Z changes from event to event. So Z grows by a sum over all events, however often a site is
//! among them. A site's last event says its weight, and on the way back its first.

use super::odds::{self, Odds, Sum};
use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use core::iter::zip;
use rand_core::Rng;

/// Set in the entry of a site that is 1.
const ONE: u32 = 0x8000_0000;

/// Whether so few flips touch few enough sites.
pub(super) fn pays(model: &Ising<'_>, flips: u32) -> bool {
    let sites = model.form().sites() as u64;
    let reached = sites + model.form().entries().len() as u64;
    // An event costs about five times a site in line.
    5 * u64::from(flips) * reached < sites * sites
}

/// Where an event is written: its entry, its fields before and after.
type Event<'a> = (&'a mut f32, (&'a mut u32, &'a mut u32));

#[inline(always)]
fn write((slot, (from, to)): Event<'_>, entry: u32, before: u32, after: u32) {
    (*slot, *from, *to) = (f32::from_bits(entry), before, after);
}

/// The site of an entry, and 1 − 2x.
#[inline(always)]
fn read(entry: &f32) -> (usize, i32) {
    ((entry.to_bits() & !ONE) as usize, (entry.to_bits() as i32 >> 31) | 1)
}

#[inline(always)]
fn bit(words: &[u32], site: usize) -> Option<u32> {
    Some(words.get(site / 32)?.wrapping_shr(site as u32) & 1)
}

/// Events, first the flips and then what they change. An entry is the site, with its value after all flips in the top
/// bit. Both fields count by that value, so the event of a flip itself goes from −field to field.
struct Events<'a> {
    entries: &'a mut [f32],
    before: &'a mut [u32],
    after: &'a mut [u32],
    len: usize,
}

impl<'a> Events<'a> {
    fn new(weights: &'a mut [Block], cache: &'a mut [Bits]) -> Self {
        let (before, after) = cache.split_at_mut(cache.len() / 2);
        let (before, after) = (before.as_flattened_mut(), after.as_flattened_mut());
        Self { entries: weights.as_flattened_mut(), before, after, len: 0 }
    }

    /// Room for as many events, which must be written; none where there is not enough.
    #[inline(always)]
    fn room(&mut self, events: usize) -> Option<impl Iterator<Item = Event<'_>>> {
        let range = self.len..self.len + events;
        let entries = self.entries.get_mut(range.clone())?;
        let (before, after) = (self.before.get_mut(range.clone())?, self.after.get_mut(range.clone())?);
        self.len = range.end;
        Some(zip(entries, zip(before, after)))
    }

    /// The entries of the events so far, and the room behind them.
    fn split(&mut self) -> Option<(&[f32], Events<'_>)> {
        let (entries, rest) = self.entries.split_at_mut_checked(self.len)?;
        let (before, after) = (self.before.get_mut(self.len..)?, self.after.get_mut(self.len..)?);
        Some((entries, Events { entries: rest, before, after, len: 0 }))
    }

    /// Fills the last block up with events that change nothing.
    fn fill(&mut self) {
        let Some(last) = self.len.checked_sub(1) else { return };
        let (entry, field) = (self.entries.get(last).copied(), self.after.get(last).copied());
        let (entry, field) = (entry.unwrap_or(0.0).to_bits(), field.unwrap_or(0));
        if let Some(room) = self.room(self.len.next_multiple_of(LANES) - self.len) {
            room.for_each(|event| write(event, entry, field, field));
        }
    }
}

/// The state that a step works in.
struct Place<'a> {
    model: &'a Ising<'a>,
    words: &'a mut [u32],
    free: &'a [u32],
    fields: &'a mut [u32],
    weights: &'a mut [f32],
}

// Loops of their own functions: together they are short of registers.
impl Place<'_> {
    /// Lists the sites that are to flip, as far as there is room.
    #[inline(never)]
    fn list(&self, flips: &[u32], events: &mut Events<'_>) {
        let mut count = 0;
        let mut room = zip(events.entries.iter_mut(), zip(events.before.iter_mut(), events.after.iter_mut()));
        // Two words at a time, most of which are 0.
        let (pairs, last) = flips.as_chunks::<2>();
        let pairs = pairs.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32);
        pairs.chain(last.iter().map(|&last| u64::from(last))).enumerate().for_each(|(pair, mut flips)| {
            while flips != 0 {
                let site = 64 * pair + flips.trailing_zeros() as usize;
                flips &= flips - 1;
                let (Some(&field), Some(x)) = (self.fields.get(site), bit(self.words, site)) else { return };
                let Some(event) = room.next() else { return };
                write(event, site as u32 | (1 ^ x) << 31, field.wrapping_neg(), field);
                count += 1;
            }
        });
        events.len = count;
    }

    fn toggle(&mut self, flips: &[u32]) {
        zip(self.words.iter_mut(), flips).for_each(|(word, flips)| *word ^= flips);
    }

    /// Moves fields along with the flips that are listed, and lists the neighbours. Returns `E(after) − E(before)` in
    /// units. Where there is no room, the error is the number of flips that were followed.
    #[inline(never)]
    fn follow<const CLAMPED: bool>(&mut self, events: &mut Events<'_>) -> Result<i64, usize> {
        let Some((flips, mut rest)) = events.split() else { return Err(0) };
        let (form, mut difference) = (self.model.form(), 0);
        for (followed, flip) in flips.iter().enumerate() {
            let (site, sign) = read(flip);
            let (Some((row, length)), Some(&own)) = (form.row_on(site), self.fields.get(site)) else { break };
            difference += i64::from(sign * own as i32);
            let Some(room) = rest.room(length) else { return Err(followed) };
            for (entry, event) in zip(row, room) {
                let neighbour = entry.site as usize;
                let (Some(field), Some(x)) = (self.fields.get_mut(neighbour), bit(self.words, neighbour))
                else {
                    break;
                };
                let before = *field;
                *field = before.wrapping_sub((sign * entry.coupling) as u32);
                if CLAMPED && bit(self.free, neighbour) == Some(0) {
                    // It is not weighed: nothing happens, to the site that flipped.
                    write(event, flip.to_bits(), own, own);
                } else {
                    write(event, entry.site | x << 31, before, *field);
                }
            }
        }
        events.len += rest.len;
        events.fill();
        Ok(difference)
    }

    /// Takes back the toggled flips, and what fields moved for those that were followed.
    #[inline(never)]
    fn undo(&mut self, flips: &[u32], events: &Events<'_>, followed: usize) {
        self.toggle(flips);
        for flip in events.entries.iter().take(followed) {
            let (site, sign) = read(flip);
            for entry in self.model.form().row(site) {
                if let Some(field) = self.fields.get_mut(entry.site as usize) {
                    *field = field.wrapping_add((sign * entry.coupling) as u32);
                }
            }
        }
    }

    /// Weighs the sites of events as they are after them, or on the way back before; by how much Z grows.
    #[inline(never)]
    fn weigh<const BACK: bool>(&mut self, odds: Odds, events: &Events<'_>) -> i64 {
        let mut growth = Sum::new();
        let mut each = |entries: &Block, from: &Bits, to: &Bits| {
            let mut halves = Halves::default();
            for part in 0..PARTS {
                let entries = F32s::load(entries, part).to_bits();
                // The top bits of entries are values.
                let fields = [U32s::load(to, part), U32s::load(from, part)];
                let ([weights, _], [new, old]) = odds.weigh(fields, [entries; 2]);
                growth.add(new - old, part);
                halves.set(entries & U32s::splat(!ONE), weights, part);
            }
            growth.next();
            halves.put::<BACK>(self.weights);
        };
        let [before, after] = [&*events.before, &*events.after].map(|fields| fields.as_chunks::<LANES>().0);
        let entries = events.entries.as_chunks::<LANES>().0;
        let blocks = zip(entries, zip(before, after)).take(events.len / LANES);
        if BACK {
            blocks.rev().for_each(|(entries, (before, after))| each(entries, after, before));
        } else {
            blocks.for_each(|(entries, (before, after))| each(entries, before, after));
        }
        growth.total()
    }
}

/// Sixteen weights and where they go: words, and the halves of them that are kept.
#[derive(Default)]
struct Halves {
    words: Bits,
    kept: Bits,
    weights: Bits,
}

impl Halves {
    #[inline(always)]
    fn set(&mut self, sites: U32s, weights: U32s, part: usize) {
        let (words, high) = odds::halves(sites);
        words.store(&mut self.words, part);
        high.choose(U32s::splat(0xFFFF), U32s::splat(0xFFFF_0000)).store(&mut self.kept, part);
        high.choose(weights.shl::<16>(), weights).store(&mut self.weights, part);
    }

    /// Puts them in their places, one after another or from the last to the first. Not in line: from memory, since taken out
    /// of registers one by one they cost four times as much.
    #[inline(never)]
    fn put<const BACK: bool>(&self, slots: &mut [f32]) {
        let mut put = |(&word, (&kept, &weight)): (&u32, (&u32, &u32))| {
            if let Some(slot) = slots.get_mut(word as usize) {
                *slot = f32::from_bits(slot.to_bits() & kept | weight);
            }
        };
        let halves = zip(&self.words, zip(&self.kept, &self.weights));
        if BACK {
            halves.rev().for_each(&mut put);
        } else {
            halves.for_each(&mut put);
        }
    }
}

/// The step; none where the sites that flip have more neighbours than there is room for: then nothing but there's room
/// has changed.
pub(super) fn step<R: Rng + ?Sized>(
    odds: Odds,
    ring: &mut Ring<'_, Ising<'_>>,
    proposed: u32,
    rng: &mut R,
) -> Option<Info> {
    let (flips, all_free) = (&*ring.there.words, ring.all_free());
    let mut events = Events::new(ring.there.weights, ring.there.cache);
    let mut place = Place {
        model: ring.energy,
        words: ring.here.words,
        free: ring.free,
        fields: ring.here.cache.as_flattened_mut(),
        weights: ring.here.weights.as_flattened_mut(),
    };
    place.list(flips, &mut events);
    let count = events.len;
    if count < proposed as usize {
        return None;
    }
    place.toggle(flips);
    let followed =
        if all_free { place.follow::<false>(&mut events) } else { place.follow::<true>(&mut events) };
    let units = match followed {
        Ok(units) => units,
        Err(followed) => {
            place.undo(flips, &events, followed);
            return None;
        }
    };
    let growth = place.weigh::<false>(odds, &events);
    let log_ratio = odds::value(-growth);
    let accepted = accept(log_ratio, rng);
    let difference = ring.energy.form().value(units);
    if accepted {
        ring.core.softplus += growth;
        ring.core.energy.add(difference);
        // A gradient that another kernel kept is of the state before.
        ring.core.slope = false;
    } else {
        place.undo(flips, &events, count);
        place.weigh::<true>(odds, &events);
    }
    ring.core.steps = ring.core.steps.wrapping_add(1);
    Some(Info { accepted, proposed, log_ratio, difference, fault: false })
}
