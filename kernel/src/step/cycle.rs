//! One kernel a step, in turn: cyclical sampling.

use super::{Kernel, Langevin, ParameterError};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use crate::schedule::Schedule;
use rand_core::Rng;

/// Kernels in turn: step t of a chain is made by kernel `t mod s` of s.
///
/// Each kernel keeps the distribution, and so do each position of the cycle and the whole cycle. The cycle is not
/// reversible, though its parts may be. The position is the chain's step count
/// ([`Chain::steps`](crate::Chain::steps)), which its [`Core`](crate::chain::Core) carries: a chain that was kept
/// goes on at the right position.
///
/// Over Langevin kernels it is the cyclical sampler ACS (Pynadath, Bhattacharya, Hariharan, Zhang 2024,
/// Algorithm 1; METHODS.md §4), for binary, categorical and ordinal sites: [`langevin_cycle`] makes the
/// kernels of two schedules, [`tune`](crate::tune) finds them.
///
/// ```
/// use bitmc::step::{Cycle, langevin_cycle};
/// use bitmc::{Bernoulli, Chain, LaneRng, Layout, Schedule, SeedableRng, memory};
///
/// let model = Bernoulli::new(&[0.3; 40]).ok_or("no sites")?;
/// let step_size = Schedule::cyclical_step_size(5.0, 0.2, 20)?;
/// let balance = Schedule::cosine(0.95, 0.5, 20)?;
/// let kernels = langevin_cycle::<20>(&step_size, &balance)?;
/// let sampler = Cycle::new(&kernels).ok_or("no kernel")?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(Layout::binary(40), 0), &mut rng)?;
/// chain.run(&sampler, &mut rng, 1000, &mut ());
/// assert_eq!(chain.steps(), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cost: that of the kernels. A Langevin kernel whose parameters are not those of the step before makes its
/// weights anew, with one gradient more.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'k, K> {
    kernels: &'k [K],
}

impl<'k, K> Cycle<'k, K> {
    /// A cycle of kernels; `None` where there is none.
    #[must_use]
    pub fn new(kernels: &'k [K]) -> Option<Self> {
        (!kernels.is_empty()).then_some(Self { kernels })
    }

    /// The kernel of a step.
    #[must_use]
    pub fn at(&self, step: u64) -> Option<&'k K> {
        let position = step.checked_rem(self.kernels.len() as u64)?;
        self.kernels.get(position as usize)
    }
}

impl<E: Energy + ?Sized, K: Kernel<E>> Kernel<E> for Cycle<'_, K> {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self.at(ring.core.steps) {
            Some(kernel) => kernel.step(ring, rng),
            None => ring.failed(),
        }
    }
}

/// The Langevin kernels of S steps, with the Metropolis test, at scheduled step sizes and balances. If both schedules
/// have the period S, this is the cycle of ACS.
///
/// # Errors
/// [`ParameterError`] where a step size or balance is illegal.
pub fn langevin_cycle<const S: usize>(
    step_size: &Schedule,
    balance: &Schedule,
) -> Result<[Langevin<'static>; S], ParameterError> {
    let mut kernels = [Langevin::adjusted(1.0)?; S];
    for (step, kernel) in (0..).zip(&mut kernels) {
        *kernel = Langevin::balanced(step_size.at(step), balance.at(step))?;
    }
    Ok(kernels)
}
