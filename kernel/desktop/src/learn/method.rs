//! What is learned by: chains of any sampler, or an objective of the samples alone.

use super::{Family, Part};
use crate::Error;
use crate::chains::{VecChain, VecMemory, keeping_memory};
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::learn::{
    CyclicalLearning, Importance, LearnError, Learnable, Minibatch, PseudoLikelihood, RatioMatching,
};
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{Chain, Energy, Gibbs, GibbsWithGradients, Kernel, LaneRng, Langevin, Packed, Rng};
use std::fmt;

/// A way to learn.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// Persistent contrastive divergence (Tieleman 2008): each chain takes so many steps for one change of θ.
    Chains(Mover, u64),
    /// The same by automatic cyclical scheduling (ACS's Algorithm 6), tuned as often as it says.
    Cyclical(CyclicalLearning),
    /// An objective that needs no chains.
    Objective(Objective),
}

/// What moves persistent chains.
#[derive(Clone, Copy, Debug)]
pub enum Mover {
    /// [`Family::sweep`]: block Gibbs of an RBM, a Gibbs sweep of others.
    Sweeps,
    /// Gibbs at some sites.
    Gibbs(Gibbs),
    /// Some sites by the gradient.
    Gradients(GibbsWithGradients),
    /// All sites by the gradient.
    Langevin(Langevin<'static>),
}

/// On any energy, a sweep is one of Gibbs.
impl<E: Energy + ?Sized> Kernel<E> for Mover {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self {
            Self::Sweeps => Gibbs::systematic().step(ring, rng),
            Self::Gibbs(kernel) => kernel.step(ring, rng),
            Self::Gradients(kernel) => kernel.step(ring, rng),
            Self::Langevin(kernel) => kernel.step(ring, rng),
        }
    }
}

/// A mover with the sweeps of a family.
pub(super) struct By<'f, F>(pub(super) &'f F, pub(super) Mover);

impl<'t, F: Family + 't> Kernel<F::Energy<'t>> for By<'_, F> {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, F::Energy<'t>>, rng: &mut R) -> Info {
        match self.1 {
            Mover::Sweeps => self.0.sweep(ring, rng),
            mover => mover.step(ring, rng),
        }
    }
}

/// A mean over samples that is least at the distribution of the data, and needs no chains: for binary sites. The equations are
/// those of the RMwGGIS paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Ratio matching, Eq. 2: every neighbour of a sample.
    RatioMatching,
    /// What RMwGGIS calls the same, Eq. 3. It is least at another distribution.
    Equation3,
    /// Pseudo-likelihood.
    PseudoLikelihood,
    /// RMwGGIS on Eq. 2: so many neighbours, drawn by the gradient. As of all forms that draw: 1 to 64, or an even number up
    /// to 128, which are two halves.
    Guided(usize),
    /// RMwRAND: so many uniform draws for Eq. 3.
    Uniform(usize),
    /// The paper's basic form, for Eq. 3.
    Basic(usize),
    /// The paper's advanced form. Of two halves it is the mean of their sums.
    Advanced(usize),
}

/// What tables call it.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, draws) = match self {
            Self::RatioMatching => return f.pad("ratio matching"),
            Self::Equation3 => return f.pad("Eq. 3"),
            Self::PseudoLikelihood => return f.pad("pseudo-likelihood"),
            Self::Guided(draws) => ("RMwGGIS", draws),
            Self::Uniform(draws) => ("RMwRAND", draws),
            Self::Basic(draws) => ("basic", draws),
            Self::Advanced(draws) => ("advanced", draws),
        };
        f.pad(&format!("{name}, {draws} draws"))
    }
}

impl Objective {
    /// Adds a sample.
    pub(super) fn add<E: Learnable + ?Sized>(
        self,
        batch: &mut Minibatch<'_>,
        model: &E,
        x: Packed<'_>,
        room: &mut VecMemory,
        rng: &mut LaneRng,
    ) -> Result<(), LearnError> {
        let (form, draws): (fn(usize) -> _, usize) = match self {
            Self::RatioMatching => return batch.add(&RatioMatching::SIGMOID, model, x, room, rng),
            Self::Equation3 => return batch.add(&RatioMatching::RATIO, model, x, room, rng),
            Self::PseudoLikelihood => return batch.add(&PseudoLikelihood, model, x, room, rng),
            Self::Guided(draws) => (Importance::ratio_matching, draws),
            Self::Uniform(draws) => (Importance::uniform, draws),
            Self::Basic(draws) => (Importance::basic, draws),
            Self::Advanced(draws) => (Importance::advanced, draws),
        };
        // More than the kernel draws at once: the mean of two halves.
        let (drawn, times) = match form(draws) {
            Err(error) if draws.is_multiple_of(2) => (form(draws / 2).map_err(|_| error)?, 2),
            other => (other?, 1),
        };
        (0..times).try_for_each(|_| batch.add(&drawn, model, x, room, rng))
    }
}

/// Persistent chains that tune a cycle together, a step each for a candidate.
const TUNERS: usize = 20;

/// Tunes a cycle on an energy by persistent chains, which go on from where tuning leaves them, as in ACS's Algorithm 6. Others are
/// taken each time. Returns their steps.
pub(super) fn retune<E: Energy + ?Sized>(
    cycle: &mut CyclicalLearning,
    floor: &mut RunningFloor,
    model: &E,
    parts: &mut [Part],
) -> Result<u64, Error> {
    let width = model.layout().words();
    let states = |part: &Part| part.words.len() / width;
    let of_part = |(number, part): (usize, &Part)| (0..states(part)).map(move |state| (number, state));
    let mut places: Vec<(usize, usize)> = parts.iter().enumerate().flat_map(of_part).collect();
    let count = places.len().min(TUNERS);
    let first = (floor.searches() * count).checked_rem(places.len()).unwrap_or(0);
    places.rotate_left(first);
    places.truncate(count);
    let words = |state: usize| state * width..(state + 1) * width;
    let chain = |&(part, state): &(usize, usize)| -> Result<VecChain<'_, E>, Error> {
        let start = Packed::new(model.layout(), &parts[part].words[words(state)])?;
        Ok(Chain::new(model, keeping_memory(model), start)?)
    };
    let mut chains = places.iter().map(chain).collect::<Result<Vec<_>, _>>()?;
    // The rounds are the paper's budget, and reach any step size from either end.
    let settings = CycleSettings { chains: count as u32, steps: 1, burn_in: 0, ..CycleSettings::default() };
    let steps = floor.tune(cycle, settings, &mut chains, &mut parts[0].rng)?;
    for ((part, state), chain) in places.into_iter().zip(&chains) {
        parts[part].words[words(state)].copy_from_slice(chain.state().words());
    }
    Ok(steps)
}

/// Where the search for the smallest step size of a cycle begins (ACS, appendix D.4): one standard deviation below the mean of
/// those found so far. It is not below [`RunningFloor::LOWEST`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunningFloor {
    found: Vec<f32>,
}

impl RunningFloor {
    /// The smallest step size that is searched.
    pub const LOWEST: f32 = 0.05;
    /// The largest one, from which the search for the other end falls, as in the sampler's paper.
    const HIGHEST: f32 = 5.0;

    /// The floor of the next search.
    #[must_use]
    pub fn value(&self) -> f32 {
        let count = self.found.len().max(1) as f32;
        let mean = self.found.iter().sum::<f32>() / count;
        let variance = self.found.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
        (mean - variance.sqrt()).max(Self::LOWEST)
    }

    /// Searches since it began.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.found.len()
    }

    /// Tunes both ends of a cycle at its own largest balance, with chains that go on from where they are. Balance and step sizes
    /// of the settings are not looked at. Where too few proposals are accepted at the floor, the energy has become rougher: it
    /// begins again at the lowest. Returns the steps of all chains.
    ///
    /// # Errors
    /// [`Error::Model`] where a setting is illegal.
    pub fn tune<E: Energy + ?Sized>(
        &mut self,
        cycle: &mut CyclicalLearning,
        settings: CycleSettings,
        chains: &mut [VecChain<'_, E>],
        rng: &mut LaneRng,
    ) -> Result<u64, Error> {
        let from = |floor| CycleSettings {
            balance: (0.5, cycle.large.1),
            step_size: (floor, Self::HIGHEST),
            ..settings
        };
        let mut tuner = tuned_cycle(from(self.value()), chains, rng)?;
        let mut steps = tuner.steps();
        if tuner.ends().0.rate < 0.5 * settings.target {
            self.found.clear();
            tuner = tuned_cycle(from(Self::LOWEST), chains, rng)?;
            steps += tuner.steps();
        }
        cycle.set_ends(tuner.ends());
        self.found.push(tuner.ends().0.step_size);
        Ok(steps)
    }
}

impl Snapshot for RunningFloor {
    fn save(&self, to: &mut Writer<'_>) {
        self.found.len().save(to);
        self.found[..].save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut count = 0usize;
        count.load(from)?;
        // No number of a damaged file is to take memory that is not there.
        if count > 1 << 24 {
            return Err(SnapshotError::Value);
        }
        self.found = vec![0.0; count];
        self.found[..].load(from)
    }
}

/// A tuner of both ends of a cycle that has finished, with chains that go on from where they are.
fn tuned_cycle<E: Energy + ?Sized>(
    settings: CycleSettings,
    chains: &mut [VecChain<'_, E>],
    rng: &mut LaneRng,
) -> Result<CycleTuner<[Trial; 2]>, Error> {
    let mut tuner = CycleTuner::new([Trial::default(); 2], settings)?;
    while let Some(kernel) = tuner.kernel() {
        for chain in &mut *chains {
            tuner.observe(&chain.step(&kernel, rng));
        }
    }
    Ok(tuner)
}
