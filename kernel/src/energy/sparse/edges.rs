//! Edges that come one at a time.

use super::{Edge, SparseError};

/// Edges that are measured or made at run time, up to `EDGES` of them. They are pushed one at a time, then compiled
/// by a constructor, as often as they change. 12 bytes an edge.
///
/// Memory for the most sites and edges serves every smaller model too, in arrays or in vectors of
/// [`heapless`](https://docs.rs/heapless):
///
/// ```
/// use bitmc::energy::EdgeList;
/// use bitmc::{Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, step::SequentialGibbs};
///
/// const MOST: usize = 16; // sites
/// let mut edges = EdgeList::<32>::new();
/// let mut couplings = SparseMemory::<MOST, 64>::new();
/// let mut memory = memory!(Layout::binary(MOST), Ising::cache_len(MOST));
/// let mut rng = LaneRng::seed_from_u64(1);
/// for sites in [5, 12] {
///     edges.clear();
///     for site in 1..sites {
///         edges.push(site - 1, site, 0.5)?; // a chain, as it is found
///     }
///     let model = Ising::spins_edges_once(sites as usize, edges.iter(), &[], couplings.borrow())?;
///     let mut chain = Chain::random(&model, memory.borrow(), &mut rng)?;
///     chain.run(&SequentialGibbs, &mut rng, 100, &mut ());
///     assert_eq!(chain.state().layout().sites(), sites as usize);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EdgeList<const EDGES: usize>(heapless::Vec<Edge, EDGES>);

impl<const EDGES: usize> EdgeList<EDGES> {
    /// No edges.
    #[must_use]
    pub const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    /// Adds an edge; a model's constructor checks it.
    ///
    /// # Errors
    /// [`SparseError::Full`] where there are `EDGES` already.
    pub fn push(&mut self, a: u32, b: u32, coupling: f32) -> Result<(), SparseError> {
        self.0.push((a, b, coupling)).map_err(|_| SparseError::Full { capacity: EDGES })
    }

    /// Forgets all edges.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The edges, for a constructor.
    pub fn iter(&self) -> impl Iterator<Item = Edge> + Clone {
        self.0.iter().copied()
    }
}
