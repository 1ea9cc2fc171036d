//! What bitmc needs of MPI: the ranks of a run, and replica exchange over them.
//!
//! ```no_run
//! use bitmc_desktop::Model;
//! use bitmc_mpi::World;
//!
//! // Every rank does this; each is given all samples.
//! let world = World::new().ok_or("MPI cannot be initialised")?;
//! let model = Model::ising(3, &[(0, 1, 0.5), (1, 2, -0.5)], &[0.1, 0.0, 0.0])?;
//! let samples = model.sampler().chains(64).run_over(&world)?;
//! if world.is_first() {
//!     samples.save("samples.npz")?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bitmc_desktop::{Error, Model, Ranks};
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use mpi::{Count, Threading};
use std::path::Path;

/// All ranks, none for a run that is `alone`, and the model of a file that each of them reads.
///
/// # Errors
/// MPI cannot be initialised, or a rank cannot read the file: then no rank goes on.
pub fn begin(alone: bool, file: &Path) -> Result<(Option<World>, Model), Error> {
    if alone {
        return Ok((None, Model::read(file)?));
    }
    let world = World::new().ok_or_else(|| Error::option("MPI cannot be initialised"))?;
    let model = world.all_well(Model::read(file))?;
    Ok((Some(world), model))
}

/// All ranks of an MPI job.
pub struct World {
    // Dropped before MPI ends.
    world: SimpleCommunicator,
    _universe: Universe,
}

impl World {
    /// Begins to use MPI, once in a process. None where MPI is in use, or its library cannot bear that a rank has threads.
    #[must_use]
    pub fn new() -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)?;
        (threading >= Threading::Funneled).then(|| Self { world: universe.world(), _universe: universe })
    }

    /// Whether this is the rank that prints and writes files.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.world.rank() == 0
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let size = self.size();
        let mut lengths = vec![0u64; size];
        self.world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let mut all = vec![Vec::new(); size];
        // MPI counts in 31 bits, all ranks together.
        let piece = Count::MAX as usize / size;
        let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
        for from in (0..longest).step_by(piece) {
            let part = |length: usize| from.min(length)..(from + piece).min(length);
            let counts: Vec<Count> =
                lengths.iter().map(|&length| part(length as usize).len() as Count).collect();
            let places: Vec<Count> = counts
                .iter()
                .scan(0, |at, count| {
                    *at += count;
                    Some(*at - count)
                })
                .collect();
            let mut bytes = vec![0u8; counts.iter().map(|&count| count as usize).sum()];
            let mut parted = PartitionMut::new(&mut bytes[..], &counts[..], &places[..]);
            self.world.all_gather_varcount_into(&own[part(own.len())], &mut parted);
            let mut rest = &bytes[..];
            for (whole, count) in all.iter_mut().zip(counts) {
                let (part, others) = rest.split_at(count as usize);
                whole.extend_from_slice(part);
                rest = others;
            }
        }
        Ok(all)
    }
}
