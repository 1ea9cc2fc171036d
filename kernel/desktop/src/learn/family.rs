//! The families of energies that are learned.

use crate::npz::Npz;
use crate::{Error, Model, files};
use bitmc::accept::Info;
use bitmc::chain::Ring;
use bitmc::energy::{Boltzmann, Perceptron};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::learn::Learnable;
use bitmc::random::{normals, uniform};
use bitmc::{BlockGibbs, Gibbs, Kernel, LaneRng, Layout, Rbm, Rng};
use std::path::Path;

/// Energies with parameters θ: blocks of sixteen floats, laid out as the kernel's energy says. Lanes that are no parameter
/// are 0.
pub trait Family: Sync {
    /// The energy at some θ.
    type Energy<'t>: Learnable + Sync
    where
        Self: 't;

    /// Its name and its sizes: a [checkpoint](super::Learner::checkpoint) of one family is not taken for another's. By default
    /// the name of the type.
    fn name(&self) -> String {
        std::any::type_name::<Self>().into()
    }

    /// The shape of a state.
    fn layout(&self) -> Layout;

    /// Where learning begins, where no θ is given. `base` has logits of independent sites, or is empty.
    fn start(&self, base: &[f32], rng: &mut LaneRng) -> Vec<Block>;

    /// Blocks at the beginning of θ that no penalty is for: the biases.
    fn biases(&self) -> usize;

    /// Memory that the energy is compiled into.
    fn room_len(&self) -> usize {
        0
    }

    /// The energy of θ.
    ///
    /// # Errors
    /// [`Error::Model`] where θ is not finite or of another length, or the room is short.
    fn energy<'t>(&'t self, theta: &'t [Block], room: &'t mut [Bits]) -> Result<Self::Energy<'t>, Error>;

    /// Draws every site once: the sampler [`Mover::Sweeps`](super::Mover::Sweeps). One Gibbs sweep, if the family has no
    /// faster way.
    fn sweep<'t, R: Rng + ?Sized>(&self, ring: Ring<'_, Self::Energy<'t>>, rng: &mut R) -> Info
    where
        Self: 't,
    {
        Gibbs::systematic().step(ring, rng)
    }
}

/// Restricted Boltzmann machines, [`bitmc::Rbm`]. θ is a, b, and W row by row, each row in whole blocks. Learning begins at
/// weights of deviation .01; a is `base`. A sweep is block Gibbs.
#[derive(Clone, Copy, Debug)]
pub struct RbmFamily {
    /// Visible units: sites.
    pub visible: usize,
    /// Hidden units.
    pub hidden: usize,
}

impl RbmFamily {
    /// The machine, to be sampled.
    ///
    /// # Errors
    /// [`Error::Model`] where θ has another length, or numbers that are no parameters of a model.
    pub fn model(&self, theta: &[Block]) -> Result<Model, Error> {
        let [weights, visible, hidden] = self.arrays(theta)?;
        Model::rbm(&weights, &visible, &hidden)
    }

    /// Writes the machine to a `.npz` file of W, a and b, which [`Model::read`] and `bitmc sample` read.
    ///
    /// # Errors
    /// As [`RbmFamily::model`], and [`Error::File`] where it cannot be written.
    pub fn save(&self, theta: &[Block], path: &Path) -> Result<(), Error> {
        let [weights, visible, hidden] = self.arrays(theta)?;
        files::write_with(path, |file| {
            let mut npz = Npz::to(file);
            npz.add("W", &[visible.len(), hidden.len()], &weights)?;
            npz.add("a", &[visible.len()], &visible)?;
            npz.add("b", &[hidden.len()], &hidden)?;
            npz.finish().map(|_| ())
        })
    }

    /// W, a and b without padding.
    fn arrays(&self, theta: &[Block]) -> Result<[Vec<f32>; 3], Error> {
        self.energy(theta, &mut [])?;
        let (visible, rest) = theta.split_at(self.visible.div_ceil(LANES));
        let mut rows = rest.chunks(Rbm::row_blocks(self.hidden)).map(|row| &row.as_flattened()[..self.hidden]);
        let hidden = rows.next().unwrap_or_default().to_vec();
        Ok([rows.collect::<Vec<_>>().concat(), visible.as_flattened()[..self.visible].to_vec(), hidden])
    }
}

impl Family for RbmFamily {
    type Energy<'t> = Rbm<'t>;

    fn name(&self) -> String {
        format!("{self:?}")
    }

    fn layout(&self) -> Layout {
        Layout::binary(self.visible)
    }

    fn start(&self, base: &[f32], rng: &mut LaneRng) -> Vec<Block> {
        let row = Rbm::row_blocks(self.hidden);
        let mut theta = vec![[0.0; LANES]; Rbm::parameter_len(self.visible, self.hidden)];
        theta.as_flattened_mut()[..base.len()].copy_from_slice(base);
        // Without hidden units there are no rows: the energy refuses it.
        for blocks in theta[self.biases()..].chunks_exact_mut(row.max(1)) {
            for block in blocks.iter_mut() {
                *block = normals(rng).map(|normal| 0.01 * normal);
            }
            blocks.as_flattened_mut()[self.hidden..].fill(0.0);
        }
        theta
    }

    fn biases(&self) -> usize {
        self.visible.div_ceil(LANES) + Rbm::row_blocks(self.hidden)
    }

    fn energy<'t>(&'t self, theta: &'t [Block], _room: &'t mut [Bits]) -> Result<Rbm<'t>, Error> {
        Ok(Rbm::from_parameters(theta, self.visible, self.hidden)?)
    }

    fn sweep<'t, R: Rng + ?Sized>(&self, ring: Ring<'_, Rbm<'t>>, rng: &mut R) -> Info
    where
        Self: 't,
    {
        BlockGibbs.step(ring, rng)
    }
}

/// Ising models with a coupling between every two spins, [`Boltzmann::spins`]. θ is the fields, then the couplings
/// ([`Boltzmann::coupling`]). Learning begins at fields of half of `base` and no couplings.
#[derive(Clone, Copy, Debug)]
pub struct IsingFamily {
    /// Spins.
    pub sites: usize,
}

impl IsingFamily {
    /// The model, to be sampled: couplings of exactly 0 are left out.
    ///
    /// # Errors
    /// [`Error::Model`] where θ has another length, or numbers that are no parameters of a model.
    pub fn model(&self, theta: &[Block]) -> Result<Model, Error> {
        self.energy(theta, &mut vec![[0; LANES]; self.room_len()])?;
        let numbers = theta.as_flattened();
        let pairs = (0..self.sites).flat_map(|b| (0..b).map(move |a| (a, b)));
        let edges = pairs.filter_map(|(a, b)| {
            let coupling = numbers[Boltzmann::coupling(self.sites, a, b)?];
            (coupling != 0.0).then_some((a as u32, b as u32, coupling))
        });
        Model::ising(self.sites, &edges.collect::<Vec<_>>(), &numbers[..self.sites])
    }
}

impl Family for IsingFamily {
    type Energy<'t> = Boltzmann<'t>;

    fn name(&self) -> String {
        format!("{self:?}")
    }

    fn layout(&self) -> Layout {
        Layout::binary(self.sites)
    }

    fn start(&self, base: &[f32], _rng: &mut LaneRng) -> Vec<Block> {
        let mut theta = vec![[0.0; LANES]; Boltzmann::parameter_len(self.sites)];
        theta.as_flattened_mut().iter_mut().zip(base).for_each(|(field, logit)| *field = 0.5 * logit);
        theta
    }

    fn biases(&self) -> usize {
        Boltzmann::cache_len(self.sites)
    }

    fn room_len(&self) -> usize {
        Boltzmann::memory_len(self.sites)
    }

    fn energy<'t>(&'t self, theta: &'t [Block], room: &'t mut [Bits]) -> Result<Boltzmann<'t>, Error> {
        Ok(Boltzmann::spins_rounded(theta, self.sites, room)?)
    }
}

/// Fully connected networks, [`Perceptron`]. Learning begins at weights uniform within ±√(6/(inputs + outputs)) (Glorot and
/// Bengio 2010) and biases 0, whatever `base` is. Penalties are for all of θ.
#[derive(Clone, Debug)]
pub struct NetworkFamily {
    /// Sites, then the units of each hidden layer.
    pub widths: Vec<usize>,
}

impl NetworkFamily {
    /// Hidden layers over some bits.
    #[must_use]
    pub fn new(bits: usize, hidden: &[usize]) -> Self {
        Self { widths: [&[bits], hidden].concat() }
    }
}

impl Family for NetworkFamily {
    type Energy<'t> = Perceptron<'t>;

    fn name(&self) -> String {
        format!("{self:?}")
    }

    fn layout(&self) -> Layout {
        Layout::binary(self.widths.first().copied().unwrap_or(0))
    }

    fn start(&self, _base: &[f32], rng: &mut LaneRng) -> Vec<Block> {
        let mut theta = Vec::with_capacity(Perceptron::parameter_len(&self.widths));
        let outputs = self.widths.iter().copied().skip(1).chain([1]);
        for (&inputs, outputs) in self.widths.iter().zip(outputs) {
            let (row, reach) = (outputs.div_ceil(LANES), (6.0 / (inputs + outputs) as f32).sqrt());
            theta.resize(theta.len() + row, [0.0; LANES]);
            for _ in 0..inputs {
                let mut blocks = vec![[0.0; LANES]; row];
                let weights = blocks.as_flattened_mut().iter_mut().take(outputs);
                weights.for_each(|weight| *weight = (2.0 * uniform(rng) - 1.0) * reach);
                theta.append(&mut blocks);
            }
        }
        theta
    }

    fn biases(&self) -> usize {
        0
    }

    fn energy<'t>(&'t self, theta: &'t [Block], _room: &'t mut [Bits]) -> Result<Perceptron<'t>, Error> {
        Ok(Perceptron::new(&self.widths, theta)?)
    }
}
