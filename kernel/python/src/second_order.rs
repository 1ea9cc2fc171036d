//! The balanced sampler of second order over energies that are told: couplings first, then step size and balance.

use crate::{raised, wrong};
use bitmc::lane::{Block, LANES};
use bitmc::layout::Kind;
use bitmc::noise::{Adaptation, Dense, DenseMatrix, Diagonal, NoiseError, Parameters, Regression};
use bitmc::step::ParameterError;
use bitmc::tune::RateTuner;
use bitmc::{Info, LaneRng, Langevin, Layout, Move, Open, OpenError, Packed};
use bitmc_desktop::chains::VecOpen;
use bitmc_desktop::second_order::{MOST, START, SecondOrder};
use pyo3::prelude::*;

/// First steps of every chain, of first order: where couplings are given, and where they are to be found.
const FIRST: u64 = 100;
const BURN_IN: u64 = 400;
/// Moves from which couplings are found: so many, or so many a site.
const MOVES: usize = 4800;
const MOVES_A_SITE: usize = 8;
/// Where the adaptation may begin, from a careful first order to what is exact where W is the Hessian. It climbs
/// slowly, so the start with the largest jump distance over some steps of chains is taken.
const STARTS: [(f32, f32); 4] = [(0.25, 0.6), (1.0, 0.8), (4.0, 0.95), (1e6, 1.0)];
const PROBED: u64 = 400;
/// Steps of chains that adapt σ and α: a dozen rounds of six candidates of 100 steps each.
const ADAPTED: u64 = 7200;

/// A noise with the memory that it borrows.
struct Held {
    noise: Dense<'static>,
    _memory: SecondOrder,
}

impl Held {
    fn new(mut memory: SecondOrder) -> Result<Self, NoiseError> {
        let noise = memory.noise()?;
        // SAFETY: the noise borrows from the heap memory of the vectors of `memory`. That memory neither moves nor
        // changes nor ends before `self` does: nothing touches the field again. The noise leaves only with the
        // lifetime of `self`.
        #[expect(unsafe_code, reason = "a factorised noise and its memory belong together")]
        let noise = unsafe { std::mem::transmute::<Dense<'_>, Dense<'static>>(noise) };
        Ok(Self { noise, _memory: memory })
    }

    fn noise(&self) -> Dense<'_> {
        self.noise
    }
}

/// W + D.
enum Noise {
    Dense(Box<Held>),
    Diagonal(Vec<Block>),
}

/// A move of a chain, with its gradients before and after.
struct Taken {
    from: Vec<u32>,
    to: Vec<u32>,
    before: Vec<Block>,
    after: Vec<Block>,
}

enum Stage {
    /// First order, its step size tuned.
    First {
        rate: RateTuner,
        left: u64,
    },
    /// First order, whose moves are taken.
    Moves {
        step_size: f32,
        taken: Vec<Taken>,
    },
    /// The starts of the adaptation, one after the other: which one, steps that are left, and the distances of all.
    Probing {
        start: usize,
        left: u64,
        distances: [u64; STARTS.len()],
    },
    Adapting {
        adaptation: Adaptation,
        left: u64,
    },
    Frozen(Parameters),
}

pub(crate) struct SecondOrderSampler {
    layout: Layout,
    /// None until couplings are found.
    noise: Option<Noise>,
    by_hand: Option<Parameters>,
    stage: Stage,
}

/// One number a site, in blocks.
fn blocks(values: &[f32]) -> Vec<Block> {
    let block = |chunk: &[f32]| {
        let mut block = [0.0; LANES];
        block.iter_mut().zip(chunk).for_each(|(slot, &value)| *slot = value);
        block
    };
    values.chunks(LANES).map(block).collect()
}

impl SecondOrderSampler {
    /// With the Hessian of E, dense or diagonal, or with couplings that are found from the first moves. Step size and
    /// balance are given, or adapted.
    pub(crate) fn new(
        py: Python<'_>,
        layout: Layout,
        hessian: Option<&[f32]>,
        by_hand: Option<(f32, f32)>,
    ) -> PyResult<Self> {
        let sites = layout.sites();
        let categorical = layout.kind() == Kind::Categorical;
        if categorical && layout.many_values() {
            let most = Layout::MANY - 1;
            return Err(wrong(format!(
                "arity: second order takes at most {most} categories, got {}",
                layout.arity()
            )));
        }
        if hessian.is_none() && categorical {
            return Err(wrong("hessian: that of categories cannot be estimated, it is needed"));
        }
        if hessian.is_none_or(|hessian| hessian.len() != sites) && sites > MOST {
            return Err(wrong(format!(
                "sites: second order takes at most {MOST}, got {sites}; a diagonal hessian any number"
            )));
        }
        let noise = match hessian {
            None => None,
            Some(diagonal) if diagonal.len() == sites && sites > 1 => Some(Noise::Diagonal(blocks(diagonal))),
            Some(dense) => {
                let minus: Vec<f32> = dense.iter().map(|value| -value).collect();
                let rows = minus.chunks(sites).flat_map(blocks).collect();
                let found = py
                    .detach(|| SecondOrder::of(layout, rows))
                    .map_err(|error| wrong(format!("hessian: {error}")))?;
                Some(held(py, found)?)
            }
        };
        let by_hand = by_hand.map(|(step_size, balance)| Parameters { step_size, balance, precision: 1.0 });
        if let Some(Parameters { step_size, balance, .. }) = by_hand {
            let checked = Langevin::balanced(step_size, balance).map(|_| ());
            checked.map_err(|error| wrong(format!("sampler: {error}")))?;
        }
        let rate = RateTuner::new(0.2, (1e-3, 1e3), RateTuner::LOCALLY_BALANCED).map_err(wrong)?;
        let left = if noise.is_some() { FIRST } else { BURN_IN };
        Ok(Self { layout, noise, by_hand, stage: Stage::First { rate, left } })
    }

    /// Asks each chain.
    pub(crate) fn ask_each(
        &self,
        chains: &mut [VecOpen<'static>],
        rngs: &mut [LaneRng],
        window: Option<u32>,
    ) -> Result<(), Failure> {
        let near = window.unwrap_or(u32::MAX);
        match (&self.stage, &self.noise) {
            (Stage::Probing { .. } | Stage::Adapting { .. } | Stage::Frozen(_), Some(noise)) => {
                let Parameters { step_size, balance, .. } = self.parameters();
                match noise {
                    Noise::Dense(held) => {
                        let kernel = Langevin::second_order(held.noise(), step_size, balance)?.within(near);
                        Open::ask_each(chains, &kernel, &[], rngs)?;
                    }
                    Noise::Diagonal(d) => {
                        let kernel =
                            Langevin::second_order(Diagonal::new(d)?, step_size, balance)?.within(near);
                        Open::ask_each(chains, &kernel, &[], rngs)?;
                    }
                }
            }
            _ => {
                let Parameters { step_size, balance, .. } = self.parameters();
                Open::ask_each(chains, &Langevin::balanced(step_size, balance)?.within(near), &[], rngs)?;
            }
        }
        Ok(())
    }

    /// What the next step is made with.
    pub(crate) fn parameters(&self) -> Parameters {
        let first = |step_size| Parameters { step_size, balance: 0.5, precision: 1.0 };
        match &self.stage {
            Stage::First { rate, .. } => first(rate.parameter()),
            Stage::Moves { step_size, .. } => first(*step_size),
            Stage::Probing { start, .. } => begin(*start),
            Stage::Adapting { adaptation, .. } => adaptation.parameters(),
            Stage::Frozen(parameters) => *parameters,
        }
    }

    /// Whether parameters still change.
    pub(crate) fn tuning(&self) -> bool {
        !matches!(self.stage, Stage::Frozen(_))
    }

    /// Looks at a step of all chains: what it did, from which states to which, and the gradients there.
    pub(crate) fn observe(
        &mut self,
        py: Python<'_>,
        infos: &[Info],
        seen: &Seen,
        gradients: &[f32],
    ) -> PyResult<()> {
        match &mut self.stage {
            Stage::First { rate, left } => {
                infos.iter().for_each(|info| rate.observe(info));
                *left -= 1;
                if *left == 0 {
                    rate.freeze();
                    let step_size = rate.parameter();
                    self.stage = Stage::Moves { step_size, taken: Vec::new() };
                    if self.noise.is_some() {
                        self.adapt();
                    }
                }
            }
            Stage::Moves { taken, .. } => {
                let length = self.layout.sites();
                let gradients = seen.gradients.chunks(length).zip(gradients.chunks(length));
                for ((info, (from, to)), (before, after)) in infos.iter().zip(&seen.states).zip(gradients) {
                    let finite = before.iter().chain(after).all(|slope| slope.is_finite());
                    if info.moved() > 0 && finite {
                        let (from, to) = (from.clone(), to.clone());
                        taken.push(Taken { from, to, before: blocks(before), after: blocks(after) });
                    }
                }
                if taken.len() >= MOVES.max(MOVES_A_SITE * length) {
                    self.find(py)?;
                    self.adapt();
                }
            }
            Stage::Probing { start, left, distances } => {
                for (info, states) in infos.iter().zip(&seen.states) {
                    if let (true, Some(sum)) = (info.accepted, distances.get_mut(*start)) {
                        *sum += u64::from(distance(self.layout, states)?);
                    }
                }
                *left = left.saturating_sub(infos.len() as u64);
                if *left > 0 {
                    return Ok(());
                }
                (*start, *left) = (*start + 1, PROBED);
                if *start == STARTS.len() {
                    // Of equal ones the first, the most careful.
                    let farthest = distances.iter().enumerate().rev().max_by_key(|&(_, &distance)| distance);
                    let adaptation = Adaptation::new(begin(farthest.map_or(0, |(start, _)| start)));
                    self.stage = Stage::Adapting { adaptation, left: ADAPTED };
                }
            }
            Stage::Adapting { adaptation, left } => {
                for (info, states) in infos.iter().zip(&seen.states) {
                    let distance = if info.accepted { distance(self.layout, states)? } else { 0 };
                    *left = left.saturating_sub(1);
                    // The rest of these steps was made with the parameters of before.
                    if adaptation.observe_distance(distance) {
                        break;
                    }
                }
                if *left == 0 {
                    self.freeze(py)?;
                }
            }
            Stage::Frozen(_) => {}
        }
        Ok(())
    }

    /// Ends the tuning: couplings are found from the moves that there are.
    pub(crate) fn freeze(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.noise.is_none() {
            self.find(py)?;
        }
        let parameters = match &mut self.stage {
            Stage::Adapting { adaptation, .. } => {
                adaptation.freeze();
                adaptation.parameters()
            }
            Stage::Frozen(parameters) => *parameters,
            _ => self.by_hand.unwrap_or(START),
        };
        self.stage = Stage::Frozen(parameters);
        Ok(())
    }

    fn adapt(&mut self) {
        self.stage = match self.by_hand {
            Some(parameters) => Stage::Frozen(parameters),
            None => Stage::Probing { start: 0, left: PROBED, distances: [0; STARTS.len()] },
        };
    }

    /// W by least squares over the moves.
    fn find(&mut self, py: Python<'_>) -> PyResult<()> {
        let Stage::Moves { taken, .. } = &mut self.stage else {
            let none =
                SecondOrder::of(self.layout, vec![[0.0; LANES]; DenseMatrix::blocks(self.layout.sites())]);
            self.noise = Some(held(py, none.map_err(raised)?)?);
            return Ok(());
        };
        let (taken, layout) = (std::mem::take(taken), self.layout);
        let found = py.detach(|| -> Result<SecondOrder, bitmc_desktop::Error> {
            let model = |error: &dyn std::fmt::Display| bitmc_desktop::Error::model(error.to_string());
            let mut room = vec![[0.0; LANES]; Regression::blocks(layout.sites())];
            let mut regression = Regression::new(layout.sites(), &mut room).map_err(|error| model(&error))?;
            for Taken { from, to, before, after } in &taken {
                let from = Packed::new(layout, from).map_err(|error| model(&error))?;
                let to = Packed::new(layout, to).map_err(|error| model(&error))?;
                let step = Move::new(from, to).map_err(|error| model(&error))?;
                regression.push(&step, before, after).map_err(|error| model(&error))?;
            }
            SecondOrder::estimated(layout, &regression)
        });
        self.noise = Some(held(py, found.map_err(raised)?)?);
        Ok(())
    }
}

/// Parameters from which the adaptation may begin.
fn begin(start: usize) -> Parameters {
    let (step_size, balance) = STARTS.get(start).copied().unwrap_or((START.step_size, START.balance));
    Parameters { step_size, balance, precision: 1.0 }
}

fn held(py: Python<'_>, memory: SecondOrder) -> PyResult<Noise> {
    let held = py.detach(|| Held::new(memory)).map_err(|error| wrong(format!("hessian: {error}")))?;
    Ok(Noise::Dense(Box::new(held)))
}

/// ‖y − x‖₁, for categories the number of sites that differ.
fn distance(layout: Layout, (from, to): &(Vec<u32>, Vec<u32>)) -> PyResult<u32> {
    let (from, to) = (Packed::new(layout, from).map_err(wrong)?, Packed::new(layout, to).map_err(wrong)?);
    let ordinal = layout.kind() != Kind::Categorical;
    let each = |change: bitmc::packed::Change| if ordinal { change.to.abs_diff(change.from) } else { 1 };
    Ok(Move::new(from, to).map_err(wrong)?.changes().map(each).fold(0, u32::saturating_add))
}

/// Where a step of all chains began: states and proposals, and the gradients at the states.
#[derive(Default)]
pub(crate) struct Seen {
    states: Vec<(Vec<u32>, Vec<u32>)>,
    gradients: Vec<f32>,
}

impl Seen {
    pub(crate) fn of(chains: &[VecOpen<'static>], gradients: &[f32]) -> Self {
        let words = |state: Packed<'_>| state.words().to_vec();
        let both =
            |chain: &VecOpen<'static>| (words(chain.state()), chain.asked().map(words).unwrap_or_default());
        Self { states: chains.iter().map(both).collect(), gradients: gradients.to_vec() }
    }
}

/// Why nothing was asked.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

macro_rules! failures {
    ($($error:ty)+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        }
    )+};
}

failures!(OpenError NoiseError ParameterError);
