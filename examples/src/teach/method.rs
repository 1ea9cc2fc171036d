//! The methods of the table.

use crate::chains::VecMemory;
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::learn::{Importance, LearnError, Learnable, Minibatch, PseudoLikelihood, RatioMatching};
use bitmc::{Energy, Gibbs, GibbsWithGradients, Kernel, LaneRng, Langevin, Packed, Rng};

/// A way to learn.
#[derive(Clone, Debug)]
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

/// An objective that needs no sampler, with its name.
#[derive(Clone, Debug)]
pub struct Sampleless {
    name: String,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Ratio(RatioMatching),
    Importance(Importance),
    Pseudo,
}

impl Sampleless {
    /// Ratio matching, RMwGGIS Eq. 2.
    #[must_use]
    pub fn ratio_matching() -> Self {
        Self { name: "ratio matching".into(), form: Form::Ratio(RatioMatching::SIGMOID) }
    }

    /// What RMwGGIS calls the same, Eq. 3.
    #[must_use]
    pub fn equation_3() -> Self {
        Self { name: "Eq. 3".into(), form: Form::Ratio(RatioMatching::RATIO) }
    }

    /// Pseudo-likelihood.
    #[must_use]
    pub fn pseudo_likelihood() -> Self {
        Self { name: "pseudo-likelihood".into(), form: Form::Pseudo }
    }

    /// RMwGGIS on Eq. 2 with so many draws.
    ///
    /// # Errors
    /// [`LearnError::Draws`] where they are not 1 to 64; so the next three.
    pub fn guided(draws: usize) -> Result<Self, LearnError> {
        Ok(Self::drawing("RMwGGIS", draws, Importance::ratio_matching(draws)?))
    }

    /// RMwRAND: Eq. 3 from uniform draws.
    ///
    /// # Errors
    /// As [`Sampleless::guided`].
    pub fn uniform(draws: usize) -> Result<Self, LearnError> {
        Ok(Self::drawing("RMwRAND", draws, Importance::uniform(draws)?))
    }

    /// The paper's basic form, on Eq. 3.
    ///
    /// # Errors
    /// As [`Sampleless::guided`].
    pub fn basic(draws: usize) -> Result<Self, LearnError> {
        Ok(Self::drawing("basic", draws, Importance::basic(draws)?))
    }

    /// The paper's advanced form.
    ///
    /// # Errors
    /// As [`Sampleless::guided`].
    pub fn advanced(draws: usize) -> Result<Self, LearnError> {
        Ok(Self::drawing("advanced", draws, Importance::advanced(draws)?))
    }

    fn drawing(name: &str, draws: usize, form: Importance) -> Self {
        Self { name: format!("{name}, {draws} draws"), form: Form::Importance(form) }
    }

    /// What tables call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// [`LearnError`].
    pub fn add<E: Learnable + ?Sized>(
        &self,
        batch: &mut Minibatch<'_>,
        model: &E,
        x: Packed<'_>,
        room: &mut VecMemory,
        rng: &mut LaneRng,
    ) -> Result<(), LearnError> {
        match &self.form {
            Form::Ratio(objective) => batch.add(objective, model, x, room, rng),
            Form::Importance(objective) => batch.add(objective, model, x, room, rng),
            Form::Pseudo => batch.add(&PseudoLikelihood, model, x, room, rng),
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
            Self::Objective(objective) => objective.name().into(),
        }
    }
}
