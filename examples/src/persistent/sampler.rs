//! The samplers that move persistent chains of restricted Boltzmann machines.

use crate::teach::{TeachError, retune};
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::learn::CyclicalLearning;
use bitmc::step::ParameterError;
use bitmc::{BlockGibbs, GibbsWithGradients, Kernel, LaneRng, Langevin, Packed, Rbm, Rng};

/// A sampler under a name.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// For tables.
    pub name: &'static str,
    /// For tables.
    pub parameters: String,
    motion: Motion,
}

#[derive(Clone, Copy, Debug)]
enum Motion {
    Same(Mover),
    Cyclical(CyclicalLearning),
}

/// A kernel of a restricted Boltzmann machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mover {
    BlockGibbs,
    Langevin(Langevin<'static>),
    Gradients(GibbsWithGradients),
}

impl Kernel<Rbm<'_>> for Mover {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Rbm<'_>>, rng: &mut R) -> Info {
        match self {
            Self::BlockGibbs => BlockGibbs.step(ring, rng),
            Self::Langevin(kernel) => kernel.step(ring, rng),
            Self::Gradients(kernel) => kernel.step(ring, rng),
        }
    }
}

impl Sampler {
    /// All hidden units given the visible ones, then the other way round.
    #[must_use]
    pub fn block_gibbs() -> Self {
        Self { name: "block Gibbs", parameters: String::new(), motion: Motion::Same(Mover::BlockGibbs) }
    }

    /// One site by the gradient.
    ///
    /// # Errors
    /// None: one index is legal.
    pub fn gradients() -> Result<Self, ParameterError> {
        let motion = Motion::Same(Mover::Gradients(GibbsWithGradients::new(1)?));
        Ok(Self { name: "GWG", parameters: "one site".into(), motion })
    }

    /// All sites by the gradient.
    ///
    /// # Errors
    /// [`ParameterError`] where the step size is illegal.
    pub fn langevin(step_size: f32) -> Result<Self, ParameterError> {
        let motion = Motion::Same(Mover::Langevin(Langevin::adjusted(step_size)?));
        Ok(Self { name: "DMALA", parameters: format!("α = {step_size}"), motion })
    }

    /// The cyclical sampler with eight iterations a cycle and β ≤ .9, as in its paper; tuned after every eight cycles.
    #[must_use]
    pub fn cyclical() -> Self {
        let cycle = CyclicalLearning { period: 8, large: (2.0, 0.9, 1), small: (0.2, 1), retune: 8 };
        Self { name: "ACS", parameters: "period 8, β ≤ 0.9".into(), motion: Motion::Cyclical(cycle) }
    }

    /// What moves the chains in an iteration, tuned from a state where that is due, and the steps that tuning took.
    pub(super) fn at(
        &mut self,
        iteration: u64,
        (model, state): (&Rbm<'_>, Packed<'_>),
        rng: &mut LaneRng,
    ) -> Result<(Mover, u64), TeachError> {
        match &mut self.motion {
            Motion::Same(mover) => Ok((*mover, 0)),
            Motion::Cyclical(cycle) => {
                let steps = if cycle.is_due(iteration) { retune(cycle, model, state, rng)? } else { 0 };
                Ok((Mover::Langevin(cycle.at(iteration)?.0), steps))
            }
        }
    }
}
