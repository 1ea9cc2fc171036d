//! Streaming statistics in fixed memory: what to watch instead of storing a trace.

mod batch_means;
mod draws;
#[cfg(feature = "defmt")]
mod format;
mod snapshot;
mod weights;

pub use batch_means::BatchMeans;
pub use draws::{Draws, DrawsError};
pub use weights::{Average, Evidence, LogSum};

use crate::accept::Info;
use crate::layout::Layout;
use crate::packed::Packed;

/// Sees every step of [`Chain::run`](crate::Chain::run). A pair of observers is one too; [`Watch`] makes one of a
/// closure, [`Every`] thins one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no observer",
    label = "this cannot watch a chain",
    note = "a closure is one inside of `Watch`: `&mut Watch(|x, energy, info| …)`; its arguments are `Packed<'_>`, `f32` and `&Info`"
)]
pub trait Observer {
    /// After a step: the state, its energy, and what the step did.
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info);
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        (**self).observe(x, energy, info);
    }
}

/// An [`Observer`] that looks at states alone, in whole numbers: for [`quantised`](crate::quantised) chains too.
pub trait StateObserver {
    /// After a step.
    fn see(&mut self, x: Packed<'_>);
}

impl<O: StateObserver + ?Sized> StateObserver for &mut O {
    fn see(&mut self, x: Packed<'_>) {
        (**self).see(x);
    }
}

/// Nobody watches.
impl StateObserver for () {
    fn see(&mut self, _x: Packed<'_>) {}
}

/// Two, one after the other.
impl<A: StateObserver, B: StateObserver> StateObserver for (A, B) {
    fn see(&mut self, x: Packed<'_>) {
        self.0.see(x);
        self.1.see(x);
    }
}

/// Observers that look at states alone.
macro_rules! look_at_states {
    ($([$($bounds:tt)*] $name:ty;)*) => {$(
        impl<$($bounds)*> $crate::stats::Observer for $name {
            fn observe(&mut self, x: $crate::packed::Packed<'_>, _energy: f32, _info: &$crate::accept::Info) {
                $crate::stats::StateObserver::see(self, x);
            }
        }
    )*};
}
use look_at_states;

look_at_states! {
    [T: AsMut<[u32]> + AsRef<[u32]>] Means<T>;
    [const N: usize] Pairs<N>;
}

/// A closure as an observer.
#[derive(Clone, Copy, Debug)]
pub struct Watch<F>(pub F);

impl<F: FnMut(Packed<'_>, f32, &Info)> Observer for Watch<F> {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        (self.0)(x, energy, info);
    }
}

/// Nobody watches: for burn-in.
impl Observer for () {
    fn observe(&mut self, _x: Packed<'_>, _energy: f32, _info: &Info) {}
}

/// Two observers, one after the other.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        self.0.observe(x, energy, info);
        self.1.observe(x, energy, info);
    }
}

/// Thinning: shows an observer every `period`-th step only.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Every<O> {
    period: u64,
    left: u64,
    /// The observer.
    pub observer: O,
}

impl<O> Every<O> {
    /// Every `period`-th step; 0 counts as 1.
    pub const fn new(period: u64, observer: O) -> Self {
        let period = if period == 0 { 1 } else { period };
        Self { period, left: period, observer }
    }

    /// Whether it is this step's turn.
    fn due(&mut self) -> bool {
        // None left is what only serde can have read: this step's turn, too.
        let due = self.left <= 1;
        self.left = if due { self.period } else { self.left - 1 };
        due
    }
}

impl<O: Observer> Observer for Every<O> {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        if self.due() {
            self.observer.observe(x, energy, info);
        }
    }
}

impl<O: StateObserver> StateObserver for Every<O> {
    fn see(&mut self, x: Packed<'_>) {
        if self.due() {
            self.observer.see(x);
        }
    }
}

/// Acceptance, flips and faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Acceptance {
    /// Steps.
    pub steps: u64,
    /// Steps that were accepted.
    pub accepted: u64,
    /// Sites that proposals changed.
    pub proposed_flips: u64,
    /// Sites that accepted proposals changed: the jump distance, added up.
    pub accepted_flips: u64,
    /// Steps that met NaN or −∞.
    pub faults: u64,
}

impl Acceptance {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { steps: 0, accepted: 0, proposed_flips: 0, accepted_flips: 0, faults: 0 }
    }

    /// The share of accepted steps; 0 before the first.
    #[must_use]
    pub fn rate(&self) -> f32 {
        self.per_step(self.accepted)
    }

    /// Sites that change a step, on average.
    #[must_use]
    pub fn jump_distance(&self) -> f32 {
        self.per_step(self.accepted_flips)
    }

    /// Sites that a proposal changes, on average.
    #[must_use]
    pub fn proposed(&self) -> f32 {
        self.per_step(self.proposed_flips)
    }

    fn per_step(&self, count: u64) -> f32 {
        if self.steps == 0 { 0.0 } else { count as f32 / self.steps as f32 }
    }
}

impl Observer for Acceptance {
    fn observe(&mut self, _x: Packed<'_>, _energy: f32, info: &Info) {
        self.steps += 1;
        self.accepted += u64::from(info.accepted);
        self.proposed_flips += u64::from(info.proposed);
        self.accepted_flips += u64::from(info.moved());
        self.faults += u64::from(info.fault);
    }
}

/// The mean value of every site. `T` is any buffer of one `u32` a site, such as `[u32; 25]`. Where a sum is full, all
/// means and [`Means::count`] stop changing. For bits that is after 4·10⁹ states, for values up to a after a part 1/a
/// of that.
///
/// A buffer that is shorter than the state watches its first sites. One that is longer has no mean for the rest.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Means<T> {
    sums: T,
    count: u32,
}

/// The sum of a site that a state did not have: no other sum is as large.
const NO_SITE: u32 = u32::MAX;

/// States between two looks at the sums, and up to where a sum has room for as many values.
const LOOK: u32 = 256;
const ROOM: u32 = u32::MAX - LOOK * Layout::MAX_ARITY as u32;

impl<T: AsMut<[u32]> + AsRef<[u32]>> Means<T> {
    /// Starts from a buffer, which it clears.
    pub fn new(mut sums: T) -> Self {
        sums.as_mut().fill(0);
        Self { sums, count: 0 }
    }

    /// States of which the means are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The sum of a site's values, of [`Means::count`] states, without floats. `None` as for [`Means::mean`].
    #[must_use]
    pub fn sum(&self, site: usize) -> Option<u32> {
        self.sums.as_ref().get(site).copied().filter(|&sum| self.count > 0 && sum != NO_SITE)
    }

    /// The mean of a site's value. `None` before the first state, and where the buffer or a state that was seen has no
    /// such site.
    #[must_use]
    pub fn mean(&self, site: usize) -> Option<f32> {
        self.sum(site).map(|sum| sum as f32 / self.count as f32)
    }
}

impl<T: AsMut<[u32]> + AsRef<[u32]>> StateObserver for Means<T> {
    fn see(&mut self, x: Packed<'_>) {
        let full = |sums: &[u32]| sums.iter().any(|&sum| sum > ROOM && sum != NO_SITE);
        if self.count == u32::MAX || (self.count.is_multiple_of(LOOK) && full(self.sums.as_ref())) {
            return;
        }
        self.count += 1;
        let values = x.values().chain(core::iter::repeat(NO_SITE));
        for (sum, value) in self.sums.as_mut().iter_mut().zip(values) {
            *sum = sum.saturating_add(value);
        }
    }
}

/// The mean product of spins `s = 2x − 1` for chosen pairs of binary sites.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<const N: usize> {
    pairs: [(u32, u32); N],
    equal: [u32; N],
    count: u32,
}

impl<const N: usize> Pairs<N> {
    /// The pairs to watch.
    #[must_use]
    pub const fn new(pairs: [(u32, u32); N]) -> Self {
        Self { pairs, equal: [0; N], count: 0 }
    }

    /// States so far, and in how many of them the two of each pair were alike, without floats. `None` as for
    /// [`Pairs::correlations`].
    #[must_use]
    pub fn alike(&self) -> (u32, [Option<u32>; N]) {
        (self.count, self.equal.map(|equal| (self.count > 0 && equal <= self.count).then_some(equal)))
    }

    /// `⟨s_a s_b⟩` of every pair. It is `None` before the first state, and where a state that was seen has no such
    /// sites, or sites of more than two values.
    #[must_use]
    pub fn correlations(&self) -> [Option<f32>; N] {
        let mean = |equal| (2.0 * equal as f32 - self.count as f32) / self.count as f32;
        self.alike().1.map(|equal| equal.map(mean))
    }
}

impl<const N: usize> StateObserver for Pairs<N> {
    fn see(&mut self, x: Packed<'_>) {
        if self.count < NO_SITE - 1 {
            self.count += 1;
            let sites = if x.layout().arity() == 2 { x.layout().sites() } else { 0 };
            for (&(a, b), equal) in self.pairs.iter().zip(&mut self.equal) {
                let (a, b) = (a as usize, b as usize);
                let same = if a.max(b) < sites { u32::from(x.get(a) == x.get(b)) } else { NO_SITE };
                *equal = equal.saturating_add(same);
            }
        }
    }
}

/// The state of lowest energy so far. `T` is any buffer of [`Layout::words`](crate::Layout::words) words. States of
/// another number of words are not looked at.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Best<T> {
    words: T,
    energy: f32,
}

impl<T: AsMut<[u32]> + AsRef<[u32]>> Best<T> {
    /// Nothing yet: infinite energy, and a buffer that it clears.
    pub fn new(mut words: T) -> Self {
        words.as_mut().fill(0);
        Self { words, energy: f32::INFINITY }
    }

    /// The lowest energy. `None` before the first state of as many words as the buffer has.
    #[must_use]
    pub fn energy(&self) -> Option<f32> {
        (self.energy < f32::INFINITY).then_some(self.energy)
    }

    /// The words of the state that has it; `None` as for [`Best::energy`].
    #[must_use]
    pub fn words(&self) -> Option<&[u32]> {
        self.energy().map(|_| self.words.as_ref())
    }
}

impl<T: AsMut<[u32]> + AsRef<[u32]>> Observer for Best<T> {
    fn observe(&mut self, x: Packed<'_>, energy: f32, _info: &Info) {
        let kept = self.words.as_mut();
        if energy < self.energy && kept.len() == x.words().len() {
            self.energy = energy;
            kept.iter_mut().zip(x.words()).for_each(|(kept, &word)| *kept = word);
        }
    }
}
