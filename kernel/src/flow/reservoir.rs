//! One sample of a trajectory in fixed memory.

use super::vector::copy;
use crate::lane::Block;
use crate::random::uniform;
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, data_and_list, list_len};
use crate::stats::LogSum;
use rand_core::Rng;

/// Keeps one of the points it is offered, each with probability in proportion to its weight. That is Algorithm 3 of
/// Ver Steeg and Galstyan 2021, with the exact time of a step for its weight. Offer it the point after every step of
/// a trajectory; the start has no weight.
///
/// After the point with weight w has been offered, it is the one kept with probability w/W, W the sum of
/// all weights so far. Cost an offer: one uniform, one exponential, and a copy where the point is taken.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reservoir<B> {
    kept: B,
    weights: LogSum,
}

impl<B: AsMut<[Block]> + AsRef<[Block]>> Reservoir<B> {
    /// Nothing yet. The memory has the blocks of one point; what does not fit is dropped.
    pub const fn new(memory: B) -> Self {
        Self { kept: memory, weights: LogSum::new() }
    }

    /// Offers a point; true where it is taken. Draws one uniform whatever the weight is; a weight that is not
    /// finite is 0.
    pub fn offer<R: Rng + ?Sized>(&mut self, x: &[Block], log_weight: f32, rng: &mut R) -> bool {
        let u = uniform(rng);
        self.weights.add(log_weight);
        let share = self.weights.share(log_weight);
        // A uniform may be 1, and the first point is taken always.
        let taken = log_weight.is_finite() && (u < share || share >= 1.0);
        if taken {
            copy(self.kept.as_mut(), x);
        }
        taken
    }

    /// The point that is kept; what the memory held before the first offer.
    #[must_use]
    pub fn sample(&self) -> &[Block] {
        self.kept.as_ref()
    }

    /// The weights of all points offered.
    #[must_use]
    pub fn weights(&self) -> LogSum {
        self.weights
    }
}

impl<const BLOCKS: usize> BoundedSnapshot for Reservoir<[Block; BLOCKS]> {
    const LEN: usize = 4 + LogSum::LEN + list_len(BLOCKS, list_len(16, 4));
}

/// The point that is kept, and the weights. Where it is refused the reservoir is as it was.
impl<B: AsMut<[Block]> + AsRef<[Block]>> Snapshot for Reservoir<B> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"resv");
        self.weights.save(to);
        self.kept.as_ref().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        data_and_list(*b"resv", (&mut self.weights, self.kept.as_mut()), |_, _| true, from)
    }
}
