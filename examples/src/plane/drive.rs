//! Many chains of one sampler: where they were, and which modes they saw.

use super::Histogram;
use crate::chains::{add, memory, streams};
use crate::progress::Progress;
use bitmc::chain::ChainError;
use bitmc::packed::set;
use bitmc::stats::{Acceptance, Observer};
use bitmc::{Chain, Energy, Info, Kernel, LaneRng, Layout, Modes, Packed, Rng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What is told of every step.
pub(super) type Tell<'t> = &'t mut dyn FnMut(Packed<'_>, f32, &Info);

/// Moves one chain by so many steps from a start.
type Move = Box<dyn Fn(&Modes<'_>, &[u32], &mut LaneRng, u64, Tell<'_>) -> Result<(), ChainError> + Sync>;

/// A sampler under a name. A new one is a line: [`Sampler::kernel`] for parameters that stand still,
/// [`Sampler::new`] for anything else that can move a chain.
pub struct Sampler {
    /// For tables.
    pub name: String,
    /// What its parameters are.
    pub parameters: String,
    go: Move,
}

pub(super) struct Watch<'t>(pub(super) Tell<'t>);

impl Observer for Watch<'_> {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        (self.0)(x, energy, info);
    }
}

impl Sampler {
    /// Any function that moves a chain over modes: from the words of a state, by so many steps, telling each.
    pub fn new(
        name: &str,
        parameters: &str,
        go: impl Fn(&Modes<'_>, &[u32], &mut LaneRng, u64, Tell<'_>) -> Result<(), ChainError> + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), parameters: parameters.into(), go: Box::new(go) }
    }

    /// A kernel whose parameters stand still.
    pub fn kernel<K>(name: &str, parameters: &str, kernel: K) -> Self
    where
        K: for<'m> Kernel<Modes<'m>> + Sync + 'static,
    {
        Self::new(name, parameters, move |model, start, rng, steps, tell| {
            let mut chain = Chain::new(model, memory(model), Packed::new(model.layout(), start)?)?;
            chain.run(&kernel, rng, steps, &mut Watch(tell));
            Ok(())
        })
    }
}

/// What the chains of a sampler did, all together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tally {
    /// Visits.
    pub histogram: Histogram,
    /// Modes that each chain saw, in their order.
    pub modes: Vec<u32>,
    /// Acceptance and moves.
    pub acceptance: Acceptance,
}

/// Runs `chains` chains, each with its own generator; a mode is seen within `radius` of its mean (at most 32 modes).
/// `start` gives the words of a chain's first state.
///
/// # Errors
/// [`ChainError`] where a start is not a state of the model.
pub fn drive(
    sampler: &Sampler,
    (model, means): (&Modes<'_>, &[[f32; 2]]),
    (seed, chains, steps): (u64, usize, u64),
    radius: f32,
    start: impl Fn(&mut LaneRng) -> Vec<u32> + Sync,
    progress: &Progress,
) -> Result<Tally, ChainError> {
    let side = model.layout().arity();
    let rngs: Vec<LaneRng> = streams(seed).take(chains).collect();
    let one = |mut rng: LaneRng| -> Result<Tally, ChainError> {
        let from = start(&mut rng);
        let (mut histogram, mut acceptance, mut seen) = (Histogram::new(side), Acceptance::new(), 0u32);
        let mut tell = |x: Packed<'_>, energy: f32, info: &Info| {
            acceptance.observe(x, energy, info);
            let (a, b) = (x.get(0), x.get(1));
            histogram.count(a as usize, b as usize);
            let near = |mean: &[f32; 2]| (a as f32 - mean[0]).hypot(b as f32 - mean[1]) <= radius;
            seen |= means.iter().position(near).map_or(0, |mode| 1 << mode);
        };
        (sampler.go)(model, &from, &mut rng, steps, &mut tell)?;
        progress.advance(steps);
        Ok(Tally { histogram, modes: vec![seen.count_ones()], acceptance })
    };
    let nothing =
        || Tally { histogram: Histogram::new(side), modes: Vec::new(), acceptance: Acceptance::new() };
    let both = |a: Tally, b: Tally| Tally {
        histogram: a.histogram.and(&b.histogram),
        modes: [a.modes, b.modes].concat(),
        acceptance: add(a.acceptance, b.acceptance),
    };
    // Whole numbers all: the order in which threads add them up does not show.
    rngs.into_par_iter().map(one).try_reduce(nothing, |a, b| Ok(both(a, b)))
}

/// The words of a start: both sites uniform, or at (75, 75), the mode in the corner.
#[must_use]
pub fn start(name: &str, side: usize, rng: &mut LaneRng) -> Vec<u32> {
    let layout = Layout::ordinal(2, side);
    let mut words = vec![0; layout.words()];
    for site in 0..2 {
        let any = ((u64::from(rng.next_u32()) * side as u64) >> 32) as u32;
        let value = if name == "corner" { 75 } else { any };
        set(layout, &mut words, site, value).expect("a value below the arity");
    }
    words
}
