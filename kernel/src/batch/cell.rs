//! What a batch asks of the memory of a site.

use super::core_state::Sealed;
use super::{BatchError, BatchRing};
use crate::energy::Energy;
use crate::lane::Block;
use crate::layout::Layout;
use crate::random::LaneRng;
use crate::snapshot::{Reader, SnapshotError, Writer};

/// What sixteen chains know at one site: [`BatchSite`](super::BatchSite) of an Ising model,
/// [`PottsSite`](super::PottsSite) of a Potts model. It chooses the model of a [`Batch`](super::Batch). No other type
/// can implement it.
pub trait BatchCell: Copy + Default + core::fmt::Debug + Sealed {
    /// The model.
    type Model<'e>: Energy + core::fmt::Debug;
    /// The values of a site, one a chain.
    type Values: Default;
    /// The name in a snapshot.
    #[doc(hidden)]
    const NAME: [u8; 4];

    /// Whether a model of this layout fits.
    #[doc(hidden)]
    fn fits(_layout: Layout) -> Result<(), BatchError> {
        Ok(())
    }

    /// Whether differences of βE stay finite.
    #[doc(hidden)]
    fn in_reach(_model: &Self::Model<'_>, _beta: f32) -> bool {
        true
    }

    /// Draws uniform values.
    #[doc(hidden)]
    fn randomise(sites: &mut [Self], rng: &mut LaneRng);

    /// The values, given the chains that accepted their last proposal.
    #[doc(hidden)]
    fn values(&self, accepted: u32) -> Self::Values;

    /// The value in one chain; 0 for a chain past the last one.
    #[doc(hidden)]
    fn value(&self, chain: usize, accepted: u32) -> u32;

    /// Sets the value in one chain.
    #[doc(hidden)]
    fn place(&mut self, chain: usize, value: u32);

    /// Clamps the site in every chain, or frees it.
    #[doc(hidden)]
    fn hold(&mut self, held: bool);

    /// Makes all that follows from the values; the energies.
    #[doc(hidden)]
    fn settle(ring: &mut BatchRing<'_, '_, Self>) -> Block;

    /// The energies between two steps, without the roundings of the steps before.
    #[doc(hidden)]
    fn energies(ring: &mut BatchRing<'_, '_, Self>) -> Block {
        Self::settle(ring)
    }

    #[doc(hidden)]
    fn save_layout(layout: Layout, to: &mut Writer<'_>);

    #[doc(hidden)]
    fn load_layout(from: &mut Reader<'_>) -> Result<Layout, SnapshotError>;

    #[doc(hidden)]
    fn save(&self, accepted: u32, to: &mut Writer<'_>);

    #[doc(hidden)]
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError>;
}
