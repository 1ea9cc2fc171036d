//! Paths among sites of many values: one site after another, no weights kept.
//!
//! A site's weight S is the sum of those of its new values. Sites are drawn without replacement as in a race. Each site
//! has an exponential time divided by S, and the first R are the path, in that order. So one pass over the sites draws
//! the path, in the room of one site. Here `left` is the weight of all sites that are not yet taken:
//! ```text
//! log q = Σ_k [ln S_k − ln left_k + ln(weight of the value / S_k)],   left_k = Σ_others S + Σ_{j≥k} S_j
//! ```

use super::{Asked, Choice, Paths};
use crate::accept::{Info, accepts};
use crate::chain::{Point, Ring};
use crate::draw::index::{MAX_INDICES, Order};
use crate::draw::{Domain, Logits, Row, Shape};
use crate::energy::Energy;
use crate::lane::{Total, exp, ln, ln_1p};
use crate::packed::{Packed, set};
use crate::random::uniform;
use crate::step::Transition;
use rand_core::Rng;

/// Logits −½ Δ.
const SHAPE: Shape = Shape { balance: 0.5, window: i32::MAX as u32 - 1 };

/// A site of a path.
#[derive(Clone, Copy)]
struct Stop {
    site: usize,
    value: u32,
    /// Minus the logarithm of its time, in units of 1/S.
    order: f32,
    /// ln S, and ln(weight of the value / S).
    logs: (f32, f32),
}

impl Stop {
    const NONE: Self = Self { site: 0, value: 0, order: 0.0, logs: (0.0, 0.0) };
}

/// A sum of S, relative to the largest.
#[derive(Clone, Copy)]
struct Left {
    most: f32,
    sum: Total,
}

impl Left {
    const NOTHING: Self = Self { most: f32::NEG_INFINITY, sum: Total::new(0.0) };

    fn add(&mut self, log_sum: f32) {
        let ratio = exp(-(log_sum - self.most).abs());
        if log_sum > self.most {
            *self = Self { most: log_sum, sum: Total::new(self.sum.value() * ratio) };
            self.sum.add_one_of_many(1.0);
        } else {
            self.sum.add_one_of_many(ratio);
        }
    }
}

/// A path, and the sites that are not on it.
struct Route {
    stops: [Stop; MAX_INDICES],
    len: usize,
    others: Left,
}

impl Route {
    /// Not a constant, whose zeros would be in the image.
    #[inline]
    fn new() -> Self {
        Self { stops: [Stop::NONE; MAX_INDICES], len: 0, others: Left::NOTHING }
    }

    fn stops(&mut self) -> &mut [Stop] {
        self.stops.get_mut(..self.len).unwrap_or_default()
    }

    fn push(&mut self, stop: Stop, room: usize) {
        match self.stops.get_mut(..room).and_then(|stops| stops.get_mut(self.len)) {
            Some(slot) => (*slot, self.len) = (stop, self.len + 1),
            None => self.others.add(stop.logs.0),
        }
    }

    /// Takes a site with its time in units of 1/S. The first `indices` are kept in order, of the others only the sum.
    fn race(&mut self, mut stop: Stop, time: f32, indices: usize) {
        stop.order = -ln(time);
        // Differences first: far below the largest S, times would be lost in its logarithm.
        let order = |other: &Stop| (other.logs.0 - stop.logs.0) + (other.order - stop.order);
        let place = self.stops().partition_point(|other| order(other) >= 0.0);
        let later = self.stops().iter_mut().skip(place);
        later.for_each(|other| core::mem::swap(other, &mut stop));
        self.push(stop, indices);
    }

    /// log q; −∞ where a path of so many indices would go on.
    fn log_probability(&mut self, indices: u32) -> Total {
        let goes_on = self.len < indices as usize && self.others.most > f32::NEG_INFINITY;
        let (mut left, mut q) = (self.others, Total::new(if goes_on { f32::NEG_INFINITY } else { 0.0 }));
        for &mut Stop { logs: (log_sum, log_value), .. } in self.stops().iter_mut().rev() {
            left.add(log_sum);
            q.add((log_sum - left.most) - ln(left.sum.value()));
            q.add(log_value);
        }
        q
    }
}

impl Paths {
    /// The first half of a step: draws a path and the uniform of its test. `None` where there is a fault.
    #[inline(never)] // its path must not weigh on the stack of binary chains
    pub(crate) fn ask_by_sites<E: Energy + ?Sized, R: Rng + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        rng: &mut R,
    ) -> Option<Asked<impl Iterator<Item = usize> + use<E, R>, Total>> {
        let mut route = Route::new();
        if self.slopes(ring) {
            ring.gradient_here();
        }
        ring.core.weights_of = None;
        let fine = self.rows((ring.energy, ring.free), &mut ring.here, &mut |site, log_sum, row| {
            // Of 64 bits: small times, which let rare sites win, keep their relative precision.
            let time = -ln_1p(-(rng.next_u64() as f32 * (1.0 / 18_446_744_073_709_551_616.0)));
            let value = row.draw(rng);
            let logs = (log_sum, ln(row.weight(value) / row.sum()));
            route.race(Stop { site, value, order: 0.0, logs }, time, self.indices as usize);
        });
        if !fine {
            return None;
        }
        let forward = route.log_probability(self.indices);
        go(ring, &mut route);
        // The uniform is drawn whatever happened.
        let uniform = uniform(rng);
        let sites = route.stops.into_iter().take(route.len).map(|stop| stop.site);
        Some(Asked { sites, forward, proposed: ring.distance(), uniform })
    }

    /// The second half of a step.
    #[inline(never)]
    pub(crate) fn tell_by_sites<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        asked: Asked<impl Iterator<Item = usize>, Total>,
        difference: f32,
    ) -> Info {
        let Asked { sites, forward, proposed, uniform } = asked;
        let mut route = Route::new();
        sites.for_each(|site| route.push(Stop { site, ..Stop::NONE }, MAX_INDICES));
        let Transition { log_ratio, fault, .. } =
            self.arrive_by_sites(&mut ring, &mut route, forward, difference);
        let accepted = accepts(log_ratio, uniform);
        ring.close(Info { accepted, proposed, log_ratio, difference, fault })
    }

    /// Whether the weights are made of one slope a site.
    fn slopes<E: ?Sized>(&self, ring: &Ring<'_, E>) -> bool {
        self.order == Order::Planes && !ring.layout.row_is_site()
    }

    /// The probabilities of a path of sites that exist, if it is possible.
    #[inline(never)]
    pub(super) fn transition_by_sites<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        choices: &[Choice],
        mut possible: bool,
    ) -> Transition {
        let mut route = Route::new();
        for &Choice { site, value } in choices {
            possible &= route.stops().iter().all(|stop| stop.site != site);
            route.push(Stop { site, value, ..Stop::NONE }, MAX_INDICES);
        }
        if self.slopes(&ring) {
            ring.gradient_here();
        }
        ring.core.weights_of = None;
        if !self.retrace((ring.energy, ring.free), &mut ring.here, &mut route, None) {
            return Transition { fault: true, ..Transition::NEVER };
        }
        let forward = route.log_probability(self.indices);
        possible &= choices.len() <= self.indices as usize && forward.value() > f32::NEG_INFINITY;
        if !possible {
            return Transition::NEVER;
        }
        go(&mut ring, &mut route);
        let difference = ring.shift();
        self.arrive_by_sites(&mut ring, &mut route, forward, difference)
    }

    /// The probabilities of a path, from its end.
    fn arrive_by_sites<E: Energy + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        route: &mut Route,
        forward: Total,
        difference: f32,
    ) -> Transition {
        let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
        let there = Transition { log_forward: forward.value(), difference, fault, ..Transition::NEVER };
        if fault || difference == f32::INFINITY {
            return there;
        }
        if self.slopes(ring) {
            ring.gradient_there(false);
        }
        let back = Packed::trusted(ring.layout, ring.here.words);
        if !self.retrace((ring.energy, ring.free), &mut ring.there, route, Some(back)) {
            return Transition { fault: true, ..there };
        }
        if self.backwards {
            route.stops().reverse();
        }
        let reverse = route.log_probability(self.indices);
        let ((sum, rest), mut log_ratio) = (forward.parts(), reverse);
        log_ratio.add_total(Total::from_parts(-sum, -rest));
        Transition { log_reverse: reverse.value(), log_ratio: log_ratio.value() - difference, ..there }
    }

    /// Weighs a path from another point: to its own values, or to those of a state. False where there is a fault.
    fn retrace<E: Energy + ?Sized>(
        &self,
        over: (&E, &[u32]),
        at: &mut Point<'_>,
        route: &mut Route,
        to: Option<Packed<'_>>,
    ) -> bool {
        route.others = Left::NOTHING;
        route.stops().iter_mut().for_each(|stop| stop.logs = (0.0, f32::NEG_INFINITY));
        let mut see = |site, log_sum, row: &Row<'_>| {
            let Some(stop) = route.stops().iter_mut().find(|stop| stop.site == site) else {
                return route.others.add(log_sum);
            };
            let value = to.map_or(stop.value, |to| to.get(site));
            stop.logs = (log_sum, ln(row.weight(value) / row.sum()));
        };
        self.rows(over, at, &mut see)
    }

    /// Shows every site that can move: ln S, and the weights of its values. The slopes of ordinal sites are in the
    /// place of the weights. False where there is a fault.
    #[inline(never)] // one copy for all that look
    fn rows<E: Energy + ?Sized>(
        &self,
        (energy, free): (&E, &[u32]),
        at: &mut Point<'_>,
        see: &mut dyn FnMut(usize, f32, &Row<'_>),
    ) -> bool {
        let (layout, exact) = (energy.layout(), self.order == Order::Sites);
        let domain = Domain { free: Packed::trusted(layout, free), arities: energy.arities() };
        for site in (0..layout.sites()).filter(|&site| domain.free.get(site) != 0) {
            let x = Packed::trusted(layout, at.words);
            let (here, arity) = (x.get(site), domain.arity(layout, site));
            let logits = if exact {
                let found = at.weights.as_flattened_mut().get_mut(..arity as usize).unwrap_or_default();
                energy.differences(at.words, at.cache, site, found);
                if found.contains(&f32::NEG_INFINITY) {
                    return false;
                }
                Logits::categorical(at.weights, here, arity, SHAPE, 0.0)
            } else if layout.row_is_site() {
                energy.gradient(x, at.cache, site..site + 1, at.weights);
                Logits::categorical(at.weights, here, arity, SHAPE, 0.0)
            } else {
                let gradient = at.weights.as_flattened().get(site).copied().unwrap_or(f32::NAN);
                Logits::ordinal(gradient, here, arity, SHAPE, 0.0)
            };
            let row = Row::new(logits.leaving());
            if row.nan {
                return false;
            }
            if let Some(log_sum) = row.log_sum() {
                see(site, log_sum, &row);
            }
        }
        true
    }
}

/// Makes the state at the end of a path.
fn go<E: ?Sized>(ring: &mut Ring<'_, E>, route: &mut Route) {
    ring.copy_words();
    for stop in route.stops() {
        // Sites and values of the layout: there is nothing to refuse.
        let _ = set(ring.layout, ring.there.words, stop.site, stop.value);
    }
}
