//! What moves the chains of a comparison.

use super::Counted;
use crate::chains::{VecChain, memory, moving_memory};
use bitmc::chain::ChainError;
use bitmc::{Chain, Energy, Info, Kernel, LaneRng, Packed};

/// One chain, as the harness sees it.
pub trait Walk {
    /// One transition.
    fn step(&mut self, rng: &mut LaneRng) -> Info;

    /// The state.
    fn state(&self) -> Packed<'_>;

    /// `E` at the state.
    fn energy(&self) -> f32;
}

/// How a sampler starts a chain. [`Sampler::kernel`] makes one of any [`Kernel`] that moves every energy; write one
/// for a sampler with parameters that change, with scratch memory, or of one model only.
pub trait Start<E: ?Sized>: Sync {
    /// A chain at a state.
    ///
    /// # Errors
    /// As [`Chain::new`].
    fn start<'e>(
        &'e self,
        energy: &'e Counted<'e, E>,
        from: Packed<'_>,
    ) -> Result<Box<dyn Walk + 'e>, ChainError>;
}

/// A sampler under a name.
pub struct Sampler<'s, E: ?Sized> {
    pub(super) name: String,
    pub(super) parameters: String,
    pub(super) exact: bool,
    pub(super) start: Box<dyn Start<E> + 's>,
}

impl<'s, E: Energy + ?Sized + 's> Sampler<'s, E> {
    /// A kernel that moves any energy. The name is for tables and file names; the parameters are told next to it,
    /// and a saved cell whose parameters are others is made again.
    pub fn kernel<K>(name: impl Into<String>, parameters: impl Into<String>, kernel: K) -> Self
    where
        K: for<'e> Kernel<Counted<'e, E>> + Sync + 's,
    {
        Self::new(name, parameters, Fixed(kernel))
    }

    /// A kernel of one model, which does not ask through [`Energy`]: a step costs so many log densities.
    pub fn of_model<K>(
        name: impl Into<String>,
        parameters: impl Into<String>,
        kernel: K,
        log_densities_per_step: usize,
    ) -> Self
    where
        E: Sized,
        K: Kernel<E> + Sync + 's,
    {
        Self::new(name, parameters, OfModel { kernel, log_densities: log_densities_per_step })
    }

    /// Anything that can start a chain.
    pub fn new(name: impl Into<String>, parameters: impl Into<String>, start: impl Start<E> + 's) -> Self {
        Self { name: name.into(), parameters: parameters.into(), exact: true, start: Box::new(start) }
    }

    /// The same, known to converge to another distribution than the target's: kept out where only exact samplers compare.
    #[must_use]
    pub fn biased(mut self) -> Self {
        self.exact = false;
        self
    }
}

/// A kernel whose parameters stand still.
struct Fixed<K>(K);

struct FixedWalk<'e, E: ?Sized, K> {
    chain: VecChain<'e, E>,
    kernel: &'e K,
}

impl<E, K> Start<E> for Fixed<K>
where
    E: Energy + ?Sized,
    K: for<'e> Kernel<Counted<'e, E>> + Sync,
{
    fn start<'e>(
        &'e self,
        energy: &'e Counted<'e, E>,
        from: Packed<'_>,
    ) -> Result<Box<dyn Walk + 'e>, ChainError> {
        // Kernels without a momentum leave its room alone.
        let chain = Chain::new(energy, moving_memory(energy), from)?;
        Ok(Box::new(FixedWalk { chain, kernel: &self.0 }))
    }
}

impl<E, K> Walk for FixedWalk<'_, E, K>
where
    E: Energy + ?Sized,
    K: Kernel<E>,
{
    fn step(&mut self, rng: &mut LaneRng) -> Info {
        self.chain.step(self.kernel, rng)
    }

    fn state(&self) -> Packed<'_> {
        self.chain.state()
    }

    fn energy(&self) -> f32 {
        self.chain.energy()
    }
}

/// A kernel of one model.
struct OfModel<K> {
    kernel: K,
    log_densities: usize,
}

struct ModelWalk<'e, E, K> {
    walk: FixedWalk<'e, E, K>,
    counted: &'e Counted<'e, E>,
    log_densities: usize,
}

impl<E: Energy, K: Kernel<E> + Sync> Start<E> for OfModel<K> {
    fn start<'e>(
        &'e self,
        counted: &'e Counted<'e, E>,
        from: Packed<'_>,
    ) -> Result<Box<dyn Walk + 'e>, ChainError> {
        let chain = Chain::new(counted.energy(), memory(counted), from)?;
        let walk = FixedWalk { chain, kernel: &self.kernel };
        Ok(Box::new(ModelWalk { walk, counted, log_densities: self.log_densities }))
    }
}

impl<E: Energy, K: Kernel<E>> Walk for ModelWalk<'_, E, K> {
    fn step(&mut self, rng: &mut LaneRng) -> Info {
        self.counted.add(self.log_densities);
        self.walk.step(rng)
    }

    fn state(&self) -> Packed<'_> {
        self.walk.state()
    }

    fn energy(&self) -> f32 {
        self.walk.energy()
    }
}
