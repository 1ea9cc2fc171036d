//! A lattice, and samples of it.

use crate::bits::BitRows;
use crate::chains::{memory, streams};
use bitmc::energy::{Boltzmann, Entry, SparseBuffers, SparseError};
use bitmc::lane::Block;
use bitmc::step::{ChromaticGibbs, Colouring};
use bitmc::{Chain, Ising, LaneRng, Layout, Packed, torus};
use rayon::prelude::*;

/// A square torus with one coupling, in the convention that counts every edge twice, and samples of it.
#[derive(Clone, Debug)]
pub struct Truth {
    side: u32,
    coupling: f32,
    data: BitRows,
}

impl Truth {
    /// Samples, each the end of `sweeps` sweeps of chromatic Gibbs from independent spins.
    ///
    /// # Errors
    /// [`SparseError`] where the side is below 3 or the coupling not finite.
    pub fn sample_torus(
        side: u32,
        coupling: f32,
        (samples, sweeps): (usize, u64),
        seed: u64,
    ) -> Result<Self, SparseError> {
        let sites = (side * side) as usize;
        let (mut ends, mut linear) = (vec![0; sites], vec![0; sites]);
        let mut entries = vec![Entry::default(); 4 * sites];
        let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let model = Ising::spins_edges_twice(sites, torus(side, side, coupling), &[], lent)?;
        // An odd torus needs three classes; a greedy colouring at most one more than a site has neighbours.
        let mut classes = vec![0; Colouring::words(sites, 5)];
        let colouring = Colouring::greedy(model.form(), &mut classes);
        let colouring = colouring.expect("five classes are enough for four neighbours");
        let kernel = ChromaticGibbs::new(colouring);
        let streams: Vec<LaneRng> = streams(seed).take(samples).collect();
        let states: Vec<Vec<u32>> = streams
            .into_par_iter()
            .map(|mut rng| {
                let chain = Chain::random(&model, memory(&model), &mut rng);
                let mut chain = chain.expect("a model of finite couplings starts anywhere");
                chain.run(&kernel, &mut rng, sweeps, &mut ());
                chain.state().words().to_vec()
            })
            .collect();
        let layout = Layout::binary(sites);
        let mut data = BitRows::new(layout);
        states.iter().for_each(|words| data.push(Packed::new(layout, words).expect("a chain's state")));
        Ok(Self { side, coupling, data })
    }

    /// Sites.
    #[must_use]
    pub fn sites(&self) -> usize {
        (self.side * self.side) as usize
    }

    /// The samples.
    #[must_use]
    pub fn data(&self) -> &BitRows {
        &self.data
    }

    /// ln of the root mean square error of the coupling matrix, over all pairs and the diagonal, where `theta` are
    /// the parameters of a dense model that counts every edge once.
    #[must_use]
    pub fn log_rmse(&self, theta: &[Block]) -> f64 {
        let sites = self.sites();
        let theta = theta.as_flattened();
        let learned = |a, b| f64::from(theta[Boltzmann::coupling(sites, a, b).expect("two sites")]) / 2.0;
        let mut sum = 0.0;
        for b in 0..sites {
            for a in 0..b {
                sum += 2.0 * learned(a, b).powi(2);
            }
        }
        for (a, b, _) in torus(self.side, self.side, 0.0) {
            let (found, truth) = (learned(a as usize, b as usize), f64::from(self.coupling));
            sum += 2.0 * ((found - truth).powi(2) - found.powi(2));
        }
        (sum / (sites * sites) as f64).sqrt().ln()
    }
}
