//! Contrastive divergence: data against the states of chains.

use super::minibatch::fits;
use super::moments::Moments;
use super::workspace::Workspace;
use super::{LearnError, Learnable, Replay, Report};
use crate::chain::{Chain, Memory};
use crate::flow::vector::scale;
use crate::lane::{Bits, Block, LANES, ln};
use crate::packed::Packed;
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, data_and_list, list_len};
use crate::step::Kernel;
use rand_core::Rng;

/// The gradient of the negative log likelihood, `⟨∂E/∂θ⟩_data − ⟨∂E/∂θ⟩_model`, with the model's mean over the ends
/// of Markov chains (METHODS.md §6). The loss is `⟨E⟩_data − ⟨E⟩_chains`.
///
/// * **CD-k** (Hinton 2002): [`Contrast::diverge`] starts a chain of k steps at each sample. Biased, less so as k
///   grows.
/// * **PCD** (Tieleman 2008): [`Contrast::data`] for the samples and [`Contrast::persist`] for states of a
///   [`Replay`] buffer, which go on where they stopped.
/// * **PCD with a cyclical sampler**: the same, with the kernel and steps of a
///   [`CyclicalLearning`](super::CyclicalLearning).
///
/// Sums are in f32: up to 10⁵ samples they lose at most a thousandth. Take the mean of several batches for more.
///
/// Any kernel will do. Cost: that of its steps, and one [`accumulate`](Learnable::accumulate) a state.
#[derive(Debug)]
pub struct Contrast<'g> {
    gradient: &'g mut [Block],
    data: Moments,
    chains: Moments,
    /// Samples for each chain.
    ratio: f32,
    evaluations: u64,
    faults: u64,
}

impl<'g> Contrast<'g> {
    /// Bytes in a snapshot, for so many blocks of parameters.
    #[must_use]
    pub const fn snapshot_len(parameters: usize) -> usize {
        list_len(parameters.saturating_mul(LANES), 4).saturating_add(24 + 2 * Moments::LEN)
    }

    /// For the numbers of samples and chains that are going to be added, of which only the ratio counts; `gradient` is set
    /// to 0.
    ///
    /// # Errors
    /// [`LearnError::Gradient`] where it is not as long as the parameters, [`LearnError::NoSamples`] where there
    /// are none of either.
    pub fn new<E: Learnable + ?Sized>(
        model: &E,
        samples: u32,
        chains: u32,
        gradient: &'g mut [Block],
    ) -> Result<Self, LearnError> {
        fits(model, gradient)?;
        if samples == 0 || chains == 0 {
            return Err(LearnError::NoSamples);
        }
        gradient.fill([0.0; LANES]);
        let ratio = samples as f32 / chains as f32;
        Ok(Self {
            gradient,
            data: Moments::default(),
            chains: Moments::default(),
            ratio,
            evaluations: 0,
            faults: 0,
        })
    }

    /// Adds a sample of the data.
    ///
    /// # Errors
    /// [`LearnError::Chain`]; [`LearnError::Gradient`] where the energy has other parameters than at the start.
    pub fn data<E: Learnable + ?Sized, W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
        &mut self,
        model: &E,
        x: Packed<'_>,
        memory: &mut Memory<W, C, B>,
    ) -> Result<(), LearnError> {
        fits(model, self.gradient)?;
        let workspace = Workspace::new(model, x, memory)?;
        self.sample(model, workspace.state(), workspace.cache, workspace.energy);
        Ok(())
    }

    fn sample<E: Learnable + ?Sized>(&mut self, model: &E, x: Packed<'_>, cache: &[Bits], energy: f32) {
        model.accumulate(x, cache, 1.0, self.gradient);
        self.data.add(energy);
        self.evaluations = self.evaluations.saturating_add(1);
    }

    /// Adds a sample of the data and the end of a chain of `steps` steps that starts there: CD-k.
    ///
    /// # Errors
    /// As [`Contrast::data`]; neither of them is added then.
    pub fn diverge<E, K, R, W, C, B>(
        &mut self,
        model: &E,
        x: Packed<'_>,
        (kernel, steps): (&K, u64),
        memory: &mut Memory<W, C, B>,
        rng: &mut R,
    ) -> Result<(), LearnError>
    where
        E: Learnable + ?Sized,
        K: Kernel<E>,
        R: Rng + ?Sized,
        W: AsMut<[u32]> + AsRef<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]>,
    {
        fits(model, self.gradient)?;
        let mut chain = Chain::new(model, memory.borrow(), x)?;
        let ring = chain.ring();
        self.sample(model, ring.here_state(), ring.here.cache, ring.core.energy.value());
        self.walk(&mut chain, (kernel, steps), rng);
        Ok(())
    }

    /// Takes a state of the buffer `steps` steps on, adds it, and puts it back: PCD.
    ///
    /// # Errors
    /// As [`Contrast::data`], and [`LearnError::State`] where `index` is past the buffer's last state. All stays as
    /// it was.
    pub fn persist<E, K, R, W, C, B>(
        &mut self,
        model: &E,
        (replay, index): (&mut Replay<'_>, usize),
        (kernel, steps): (&K, u64),
        memory: &mut Memory<W, C, B>,
        rng: &mut R,
    ) -> Result<(), LearnError>
    where
        E: Learnable + ?Sized,
        K: Kernel<E>,
        R: Rng + ?Sized,
        W: AsMut<[u32]> + AsRef<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]>,
    {
        fits(model, self.gradient)?;
        replay.check(index)?;
        let mut chain = Chain::new(model, memory.borrow(), replay.state(index))?;
        self.walk(&mut chain, (kernel, steps), rng);
        replay.put(index, chain.state());
        Ok(())
    }

    /// Takes a chain some steps on and adds where it ends.
    fn walk<E: Learnable + ?Sized, K: Kernel<E>, R: Rng + ?Sized>(
        &mut self,
        chain: &mut Chain<'_, E, &mut [u32], &mut [Bits], &mut [Block]>,
        (kernel, steps): (&K, u64),
        rng: &mut R,
    ) {
        chain.run(kernel, rng, steps, &mut ());
        self.chains.add(chain.energy());
        self.faults = self.faults.saturating_add(chain.faults().into());
        self.evaluations = self.evaluations.saturating_add(steps).saturating_add(1);
        let ring = chain.ring();
        ring.energy.accumulate(ring.here_state(), ring.here.cache, -self.ratio, self.gradient);
    }

    /// The mean of both sides: divides the gradient by the number of samples.
    #[must_use]
    pub fn finish(self) -> Report {
        if self.data.count() > 0 {
            scale(self.gradient, 1.0 / self.data.count() as f32);
        }
        let loss = self.data.mean() - self.chains.mean();
        Report {
            loss,
            log_loss: ln(loss),
            variance: self.data.variance() + self.chains.variance(),
            samples: self.data.count(),
            evaluations: self.evaluations,
            faults: self.faults,
            log_scale: 0.0,
        }
    }
}

/// Both sides so far, and what a chain counts for. Where it is refused it is as it was.
impl Snapshot for Contrast<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"cntr");
        ((self.ratio, self.evaluations, self.faults), (self.data, self.chains)).save(to);
        self.gradient.as_flattened().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut data = ((self.ratio, self.evaluations, self.faults), (self.data, self.chains));
        data_and_list(*b"cntr", (&mut data, self.gradient.as_flattened_mut()), |_, _| true, from)?;
        ((self.ratio, self.evaluations, self.faults), (self.data, self.chains)) = data;
        Ok(())
    }
}
