//! Paths among sites of many values: one site after another, no weights kept.
//!
//! A site's weight S is the sum of those of its new values. Sites are drawn without replacement as in a race: each has
//! an exponential time over S, and the first R are the path, in that order. So one pass over the sites draws it, in the
//! room of one. `left` is what sites that are not yet taken have:
//! ```text
//! log q = Σ_k [ln S_k − ln left_k + ln(weight of the value / S_k)],   left_k = Σ_others S + Σ_{j≥k} S_j
//! ```

use super::{Asked, Choice, Forward, Paths};
use crate::accept::{Info, accepts};
use crate::chain::{Point, Ring};
use crate::draw::index::{MAX_INDICES, Order};
use crate::draw::{Domain, Logits, Row, Shape};
use crate::energy::Energy;
use crate::lane::{Total, ln, ln_1p};
use crate::packed::{Packed, set};
use crate::random::uniform;
use crate::stats::LogSum;
use crate::step::{Transition, shift};
use rand_core::Rng;

/// Logits −½ Δ.
const SHAPE: Shape = Shape { balance: 0.5, window: i32::MAX as u32 - 1 };

/// A site of a path.
#[derive(Clone, Copy)]
struct Stop {
    site: usize,
    value: u32,
    /// Minus the logarithm of its time, relative to the largest S so far.
    order: f32,
    /// ln S.
    log_sum: f32,
    /// ln(weight of the value / S).
    log_value: f32,
}

/// A path, and the sites that are not on it.
struct Route {
    stops: [Stop; MAX_INDICES],
    len: usize,
    most: f32,
    others: LogSum,
    any_other: bool,
}

impl Route {
    fn new() -> Self {
        let stop = Stop { site: 0, value: 0, order: 0.0, log_sum: 0.0, log_value: f32::NEG_INFINITY };
        let others = LogSum::new();
        Self { stops: [stop; MAX_INDICES], len: 0, most: f32::NEG_INFINITY, others, any_other: false }
    }

    fn stops(&mut self) -> &mut [Stop] {
        self.stops.get_mut(..self.len).unwrap_or_default()
    }

    fn leave(&mut self, log_sum: f32) {
        self.others.add(log_sum);
        self.any_other = true;
    }

    /// Takes a site that has drawn its time, if it is among the first `indices`.
    fn race(&mut self, mut stop: Stop, time: f32, indices: usize) {
        if stop.log_sum > self.most {
            let lift = stop.log_sum - self.most;
            self.stops().iter_mut().for_each(|stop| stop.order -= lift);
            self.most = stop.log_sum;
        }
        stop.order = (stop.log_sum - self.most) - ln(time);
        let place = self.stops().iter().position(|other| other.order < stop.order).unwrap_or(self.len);
        if place >= indices {
            return self.leave(stop.log_sum);
        }
        if self.len == indices {
            let last = self.stops().last().map_or(0.0, |last| last.log_sum);
            self.leave(last);
        } else {
            self.len += 1;
        }
        if let Some(later) = self.stops().get_mut(place..) {
            later.rotate_right(1);
            later.iter_mut().take(1).for_each(|slot| *slot = stop);
        }
    }

    /// log q.
    fn log_probability(&self) -> Total {
        let (mut left, mut q) = (self.others, Total::new(0.0));
        for stop in self.stops.get(..self.len).unwrap_or_default().iter().rev() {
            left.add(stop.log_sum);
            q.add(left.log_share(stop.log_sum));
            q.add(stop.log_value);
        }
        q
    }
}

impl Paths {
    /// The first half of a step: draws a path and the uniform of its test. `None` where there is a fault.
    pub(crate) fn ask_by_sites<E, R>(
        &self,
        ring: &mut Ring<'_, E>,
        rng: &mut R,
    ) -> Option<Asked<impl DoubleEndedIterator<Item = usize> + use<E, R>>>
    where
        E: Energy + ?Sized,
        R: Rng + ?Sized,
    {
        let mut route = Route::new();
        if self.order == Order::Planes && !ring.layout.row_is_site() {
            ring.gradient_here();
        }
        ring.core.weights_of = None;
        let fine = self.rows(ring.energy, &mut ring.here, ring.free, |site, log_sum, row| {
            // Of 64 bits: small times, which let rare sites win, keep their relative precision.
            let time = -ln_1p(-(rng.next_u64() as f32 * (1.0 / 18_446_744_073_709_551_616.0)));
            let value = row.draw(rng);
            let stop = Stop { site, value, order: 0.0, log_sum, log_value: ln(row.weight(value) / row.sum()) };
            route.race(stop, time, self.indices as usize);
        });
        if !fine {
            return None;
        }
        let forward = Forward::Log(route.log_probability());
        go(ring, &mut route);
        let (stops, len) = (route.stops, route.len);
        // The uniform is drawn whatever happened.
        let uniform = uniform(rng);
        let sites = stops.into_iter().take(len).map(|stop| stop.site);
        Some(Asked { sites, forward, proposed: ring.distance(), uniform })
    }

    /// The second half of a step.
    pub(crate) fn tell_by_sites<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        asked: Asked<impl Iterator<Item = usize>>,
        difference: f32,
    ) -> Info {
        let Asked { sites, forward, proposed, uniform } = asked;
        let mut route = Route::new();
        for (stop, site) in route.stops.iter_mut().zip(sites) {
            (stop.site, route.len) = (site, route.len + 1);
        }
        let forward = forward.log();
        let Transition { log_ratio, fault, .. } =
            self.arrive_by_sites(&mut ring, &mut route, forward, difference);
        let accepted = accepts(log_ratio, uniform);
        ring.close(Info { accepted, proposed, log_ratio, difference, fault })
    }

    /// The probabilities of a path of the chain's choice, of sites that exist.
    pub(super) fn transition_by_sites<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        choices: &[Choice],
        mut possible: bool,
    ) -> Transition {
        let mut route = Route::new();
        possible &= choices.len() <= self.indices as usize;
        for (stop, choice) in route.stops.iter_mut().zip(choices) {
            (stop.site, stop.value) = (choice.site, choice.value);
        }
        route.len = choices.len().min(MAX_INDICES);
        for (index, stop) in choices.iter().enumerate() {
            possible &= choices.iter().take(index).all(|other| other.site != stop.site);
        }
        let never = f32::NEG_INFINITY;
        let nowhere = Transition {
            log_forward: never,
            log_reverse: never,
            difference: 0.0,
            log_ratio: never,
            fault: false,
        };
        if self.order == Order::Planes && !ring.layout.row_is_site() {
            ring.gradient_here();
        }
        ring.core.weights_of = None;
        if !self.retrace(ring.energy, &mut ring.here, ring.free, &mut route, None) {
            return Transition { fault: true, ..nowhere };
        }
        // A shorter path ends because no site is left.
        possible &= choices.len() == self.indices as usize || !route.any_other;
        if !possible || route.log_probability().value() == never {
            return nowhere;
        }
        let forward = route.log_probability();
        go(&mut ring, &mut route);
        let difference = shift(&mut ring);
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
        let mut fault = difference.is_nan() || difference == f32::NEG_INFINITY;
        let (mut log_reverse, mut log_ratio) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        if !fault && difference < f32::INFINITY {
            if self.order == Order::Planes && !ring.layout.row_is_site() {
                ring.gradient_there(false);
            }
            let back = Some(Packed::trusted(ring.layout, ring.here.words));
            fault = !self.retrace(ring.energy, &mut ring.there, ring.free, route, back);
            if self.backwards {
                route.stops().reverse();
            }
            if !fault {
                let mut reverse = route.log_probability();
                log_reverse = reverse.value();
                let (sum, rest) = forward.parts();
                reverse.add_total(Total::from_parts(-sum, -rest));
                log_ratio = reverse.value() - difference;
            }
        }
        Transition { log_forward: forward.value(), log_reverse, difference, log_ratio, fault }
    }

    /// Weighs a path from another point: to its own values, or to those of a state. False where there is a fault.
    fn retrace<E: Energy + ?Sized>(
        &self,
        energy: &E,
        at: &mut Point<'_>,
        free: &[u32],
        route: &mut Route,
        to: Option<Packed<'_>>,
    ) -> bool {
        (route.others, route.any_other) = (LogSum::new(), false);
        route.stops().iter_mut().for_each(|stop| stop.log_value = f32::NEG_INFINITY);
        self.rows(energy, at, free, |site, log_sum, row| {
            let Some(stop) = route.stops().iter_mut().find(|stop| stop.site == site) else {
                return route.leave(log_sum);
            };
            let value = to.map_or(stop.value, |to| to.get(site));
            (stop.log_sum, stop.log_value) = (log_sum, ln(row.weight(value) / row.sum()));
        })
    }

    /// Shows every site that can move: ln S, and the weights of its values. The gradient of ordinal sites stands in the
    /// place of the weights. False where there is a fault.
    fn rows<E: Energy + ?Sized>(
        &self,
        energy: &E,
        at: &mut Point<'_>,
        free: &[u32],
        mut see: impl FnMut(usize, f32, &Row<'_>),
    ) -> bool {
        let (layout, exact) = (energy.layout(), self.order == Order::Sites);
        let domain = Domain { free: Packed::trusted(layout, free), arities: energy.arities() };
        for site in (0..layout.sites()).filter(|&site| domain.free.get(site) != 0) {
            let (here, arity) = (Packed::trusted(layout, at.words).get(site), domain.arity(layout, site));
            let logits = if exact {
                let found = at.weights.as_flattened_mut().get_mut(..arity as usize).unwrap_or_default();
                energy.differences(at.words, at.cache, site, found);
                if found.contains(&f32::NEG_INFINITY) {
                    return false;
                }
                Logits::categorical(at.weights, here, arity, SHAPE, 0.0)
            } else if layout.row_is_site() {
                let x = Packed::trusted(layout, at.words);
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
