//! The methods of the table.

use crate::chains::VecMemory;
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::learn::{Batch, Importance, LearnError, Learnable, PseudoLikelihood, RatioMatching};
use bitmc::{Energy, Gibbs, GibbsWithGradients, Kernel, LaneRng, Langevin, Packed, Rng};

/// A way to learn.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// Persistent contrastive divergence with so many steps.
    Chains(Mover, u64),
    /// The same with the cyclical sampler.
    Cyclical(u64),
    /// An objective of the samples alone.
    Objective(Sampleless),
}

/// A sampler.
#[derive(Clone, Copy, Debug)]
pub enum Mover {
    /// One random site a step.
    Gibbs(Gibbs),
    /// One site by the gradient a step.
    Gradients(GibbsWithGradients),
    /// All sites by the gradient a step, with its name.
    Langevin(&'static str, Langevin<'static>),
}

impl<E: Energy + ?Sized> Kernel<E> for Mover {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self {
            Self::Gibbs(kernel) => kernel.step(ring, rng),
            Self::Gradients(kernel) => kernel.step(ring, rng),
            Self::Langevin(_, kernel) => kernel.step(ring, rng),
        }
    }
}

/// An objective that needs no sampler.
#[derive(Clone, Copy, Debug)]
pub enum Sampleless {
    /// Ratio matching.
    Ratio(RatioMatching),
    /// RMwGGIS with so many draws.
    Guided(Importance, u32),
    /// Pseudo-likelihood.
    Pseudo,
}

impl Sampleless {
    /// Adds a sample.
    ///
    /// # Errors
    /// [`LearnError`].
    pub fn add<E: Learnable + ?Sized>(
        &self,
        batch: &mut Batch<'_>,
        model: &E,
        x: Packed<'_>,
        room: &mut VecMemory,
        rng: &mut LaneRng,
    ) -> Result<(), LearnError> {
        match self {
            Self::Ratio(objective) => batch.add(objective, model, x, room, rng),
            Self::Guided(objective, _) => batch.add(objective, model, x, room, rng),
            Self::Pseudo => batch.add(&PseudoLikelihood, model, x, room, rng),
        }
    }
}

impl Method {
    /// What the table calls it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Chains(Mover::Gibbs(_), steps) => format!("PCD, Gibbs, {steps} steps"),
            Self::Chains(Mover::Gradients(_), steps) => format!("PCD, GWG, {steps} steps"),
            Self::Chains(Mover::Langevin(name, _), steps) => format!("PCD, {name}, {steps} steps"),
            Self::Cyclical(steps) => format!("PCD, ACS, {steps} steps"),
            Self::Objective(Sampleless::Ratio(form)) if *form == RatioMatching::RATIO => "Eq. 3".into(),
            Self::Objective(Sampleless::Ratio(_)) => "ratio matching".into(),
            Self::Objective(Sampleless::Guided(_, draws)) => format!("RMwGGIS, {draws} draws"),
            Self::Objective(Sampleless::Pseudo) => "pseudo-likelihood".into(),
        }
    }
}
