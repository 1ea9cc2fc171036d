//! The gradient of an objective over some samples.

use super::moments::Moments;
use super::workspace::Workspace;
use super::{LearnError, Learnable};
use crate::chain::Memory;
use crate::flow::vector::scale;
use crate::lane::{Bits, Block, LANES, exp, ln};
use crate::packed::Packed;
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, data_and_list, list_len};
use rand_core::Rng;

/// An objective that is a mean over samples, `J = ⟨J(x)⟩`.
pub trait Objective {
    /// Adds one sample that is in the workspace: its share of the gradient, of the loss and of the costs.
    ///
    /// # Errors
    /// [`LearnError`] where the objective is not defined for the energy.
    fn observe<E: Learnable + ?Sized, R: Rng + ?Sized>(
        &self,
        model: &E,
        workspace: &mut Workspace<'_>,
        rng: &mut R,
        batch: &mut Minibatch<'_>,
    ) -> Result<(), LearnError>;
}

/// Where the gradient of an objective is added up, sample by sample.
///
/// The forms that RMwGGIS prints have terms `e^{2Δ}` that no float holds. While they do not fit, the gradient and the
/// loss are kept divided by `e^{log_scale}` ([`Report::log_scale`]). For all other objectives, and wherever every
/// exponent is below 40, the divisor is 1.
#[derive(Debug)]
pub struct Minibatch<'g> {
    pub(crate) gradient: &'g mut [Block],
    losses: Moments,
    evaluations: u64,
    log_scale: f32,
}

/// What a batch has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// The mean of J(x), or of its estimate, over the samples; +∞ where it does not fit.
    pub loss: f32,
    /// The natural logarithm of the loss, which fits however large the loss is. It is −∞ where the loss is 0 or below
    /// every float (Eq. 3 where every e^{2Δ} is below e^(−103)). It is NaN where the loss is negative.
    pub log_loss: f32,
    /// The variance of J(x), or of its estimate, from sample to sample: divided by `samples` that of the loss.
    pub variance: f32,
    /// Samples.
    pub samples: u64,
    /// Energies evaluated: of samples, of neighbours, and of chains' proposals. A gradient by x comes with an
    /// energy and is not counted apart.
    pub evaluations: u64,
    /// Steps of chains that were faults: a NaN, or parameters that do not fit the model.
    pub faults: u64,
    /// The gradient is to be multiplied by e^`log_scale`; 0 where it is the gradient itself.
    pub log_scale: f32,
}

/// The largest exponent that is not scaled away.
const EXPONENT_LIMIT: f32 = 40.0;

impl<'g> Minibatch<'g> {
    /// Bytes in a snapshot, for so many blocks of parameters.
    #[must_use]
    pub const fn snapshot_len(parameters: usize) -> usize {
        list_len(parameters.saturating_mul(LANES), 4).saturating_add(16 + Moments::LEN)
    }

    /// An empty batch; `gradient` is set to 0.
    ///
    /// # Errors
    /// [`LearnError::Gradient`] where it is not as long as the parameters.
    pub fn new<E: Learnable + ?Sized>(model: &E, gradient: &'g mut [Block]) -> Result<Self, LearnError> {
        fits(model, gradient)?;
        gradient.fill([0.0; LANES]);
        Ok(Self { gradient, losses: Moments::default(), evaluations: 0, log_scale: 0.0 })
    }

    /// Adds a sample. `memory` is that of a chain over the energy; what is in it is overwritten.
    ///
    /// # Errors
    /// [`LearnError`] where the sample is no state of the energy or infinitely unlikely, or the memory is short. Also
    /// where the energy has other parameters than the batch began with, or the objective is not defined for it. The
    /// batch is as it was.
    pub fn add<O, E, R, W, C, B>(
        &mut self,
        objective: &O,
        model: &E,
        x: Packed<'_>,
        memory: &mut Memory<W, C, B>,
        rng: &mut R,
    ) -> Result<(), LearnError>
    where
        O: Objective + ?Sized,
        E: Learnable + ?Sized,
        R: Rng + ?Sized,
        W: AsMut<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]>,
    {
        fits(model, self.gradient)?;
        let mut workspace = Workspace::new(model, x, memory)?;
        objective.observe(model, &mut workspace, rng, self)
    }

    /// The mean over the samples: divides the gradient by their number.
    #[must_use]
    pub fn finish(self) -> Report {
        let samples = self.losses.count();
        if samples > 0 {
            scale(self.gradient, 1.0 / samples as f32);
        }
        let (loss, factor) = (self.losses.mean(), exp(self.log_scale));
        let scaled = |value: f32, factor: f32| if value == 0.0 { 0.0 } else { value * factor };
        Report {
            loss: scaled(loss, factor),
            log_loss: if loss == 0.0 { f32::NEG_INFINITY } else { ln(loss) + self.log_scale },
            variance: scaled(scaled(self.losses.variance(), factor), factor),
            samples,
            evaluations: self.evaluations,
            faults: 0,
            log_scale: self.log_scale,
        }
    }

    /// Adds the changes of a sample, with the weights in the second plane of its workspace, and counts it: its loss, in
    /// the batch's scale, and the energies that it took.
    pub(crate) fn add_changes<E: Learnable + ?Sized>(
        &mut self,
        model: &E,
        workspace: &mut Workspace<'_>,
        loss: f32,
        evaluations: usize,
    ) {
        let Workspace { words, cache, scratch, second, .. } = workspace;
        model.accumulate_changes(words, cache, scratch, second, self.gradient);
        self.losses.add(loss);
        self.evaluations = self.evaluations.saturating_add(evaluations as u64);
    }

    /// Makes room for terms up to `e^exponent`; returns the log of the scale that they are to be divided by.
    pub(crate) fn make_room(&mut self, exponent: f32) -> f32 {
        if exponent - self.log_scale > EXPONENT_LIMIT && exponent < f32::INFINITY {
            let factor = exp(self.log_scale - exponent);
            scale(self.gradient, factor);
            self.losses.scale(factor);
            self.log_scale = exponent;
        }
        self.log_scale
    }
}

/// Whether a gradient is as long as the parameters.
pub(super) fn fits<E: Learnable + ?Sized>(model: &E, gradient: &[Block]) -> Result<(), LearnError> {
    let (need, got) = (model.parameter_len(), gradient.len());
    if need == got { Ok(()) } else { Err(LearnError::Gradient { need, got }) }
}

/// The gradient and the losses so far. Where it is refused the batch is as it was.
impl Snapshot for Minibatch<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"grad");
        (self.evaluations, self.log_scale, self.losses).save(to);
        self.gradient.as_flattened().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut data = (self.evaluations, self.log_scale, self.losses);
        data_and_list(*b"grad", (&mut data, self.gradient.as_flattened_mut()), |_, _| true, from)?;
        (self.evaluations, self.log_scale, self.losses) = data;
        Ok(())
    }
}
