//! Energies as functions of their parameters, and objectives over them, in float64 from their formulas.

use crate::heap;
use crate::models::Source;
use bitmc::energy::Boltzmann;
use bitmc::lane::{Block, LANES};
use bitmc::learn::Learnable;
use bitmc::{Layout, Rbm};

/// A model to learn: its energy by parameters in their natural order, and where the kernel has them.
pub struct Lesson {
    /// What it is.
    pub name: String,
    /// Sites and arity.
    pub layout: Layout,
    /// The parameters.
    pub theta: Vec<f64>,
    /// Where each stands among the kernel's, in floats.
    pub places: Vec<usize>,
    /// Blocks of the kernel's parameters.
    pub blocks: usize,
    energy: Box<Total>,
    /// Builds the kernel's model and shows it.
    build: Box<Build>,
}

type Total = dyn Fn(&[f64], &[usize]) -> f64 + Sync;
type Build = dyn Fn(&[Block], &mut dyn FnMut(&dyn Learnable)) + Sync;

/// An objective of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// E itself.
    Energy,
    /// `−Σ ln p(xᵢ | rest)`.
    PseudoLikelihood,
    /// `Σ σ(Δ)²`.
    Sigmoid,
    /// `Σ e^{2Δ}`.
    Ratio,
}

/// The step of central differences by θ: truncation h² and rounding 10⁻¹⁶/h balance.
const STEP: f64 = 1e-5;

impl Lesson {
    /// A Boltzmann machine over spins or bits, parameters of deviation `sd` on the grid of 1/64.
    #[must_use]
    pub fn boltzmann(sites: usize, spins: bool, sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let mut places: Vec<usize> = (0..sites).collect();
        for b in 0..sites {
            places.extend((0..b).map(|a| Boltzmann::coupling(sites, a, b).unwrap()));
        }
        let theta = places.iter().map(|_| f64::from(source.coarse(sd))).collect();
        let energy = move |theta: &[f64], x: &[usize]| {
            let v: Vec<f64> = x.iter().map(|&x| if spins { 2.0 * x as f64 - 1.0 } else { x as f64 }).collect();
            let mut pairs = theta[sites..].iter();
            let mut f: f64 = theta[..sites].iter().zip(&v).map(|(w, v)| w * v).sum();
            for b in 0..sites {
                for a in 0..b {
                    f += pairs.next().unwrap() * v[a] * v[b];
                }
            }
            -f
        };
        let build = move |blocks: &[Block], see: &mut dyn FnMut(&dyn Learnable)| {
            let mut memory = vec![[0; LANES]; Boltzmann::memory_len(sites)];
            let made = if spins { Boltzmann::spins } else { Boltzmann::bits };
            see(&made(blocks, sites, &mut memory).unwrap());
        };
        let name = format!("Boltzmann machine of {sites} {}", if spins { "spins" } else { "bits" });
        let (layout, blocks) = (Layout::binary(sites), Boltzmann::parameter_len(sites));
        Self { name, layout, theta, places, blocks, energy: Box::new(energy), build: Box::new(build) }
    }

    /// A restricted Boltzmann machine.
    #[must_use]
    pub fn rbm(visible: usize, hidden: usize, sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let (row, first) = (Rbm::row_blocks(hidden) * LANES, visible.div_ceil(LANES) * LANES);
        let mut places: Vec<usize> = (0..visible).collect();
        places.extend((0..hidden).map(|j| first + j));
        places.extend((0..visible * hidden).map(|k| first + row * (1 + k / hidden) + k % hidden));
        let theta = places.iter().map(|_| f64::from(source.coarse(sd))).collect();
        let energy = move |theta: &[f64], x: &[usize]| {
            let (a, rest) = theta.split_at(visible);
            let (b, w) = rest.split_at(hidden);
            let mut f: f64 = a.iter().zip(x).map(|(a, &x)| a * x as f64).sum();
            for j in 0..hidden {
                let p: f64 = b[j] + (0..visible).map(|i| w[i * hidden + j] * x[i] as f64).sum::<f64>();
                f += p.max(0.0) + (-p.abs()).exp().ln_1p();
            }
            -f
        };
        let build = move |blocks: &[Block], see: &mut dyn FnMut(&dyn Learnable)| {
            see(&Rbm::from_parameters(blocks, visible, hidden).unwrap());
        };
        let (layout, blocks) = (Layout::binary(visible), Rbm::parameter_len(visible, hidden));
        let name = format!("RBM {visible}x{hidden}");
        Self { name, layout, theta, places, blocks, energy: Box::new(energy), build: Box::new(build) }
    }

    /// Shows the kernel's model with some parameters.
    pub fn with<T>(&self, theta: &[f64], see: impl FnOnce(&dyn Learnable) -> T) -> T {
        let (mut see, mut out) = (Some(see), None);
        (self.build)(&self.blocks_of(theta), &mut |model| out = see.take().map(|see| see(model)));
        out.unwrap()
    }

    /// Parameters as the kernel has them.
    #[must_use]
    pub fn blocks_of(&self, theta: &[f64]) -> Vec<Block> {
        let mut blocks = vec![[0.0; LANES]; self.blocks];
        for (&place, &value) in self.places.iter().zip(theta) {
            blocks.as_flattened_mut()[place] = value as f32;
        }
        blocks
    }

    /// The kernel's numbers in natural order.
    ///
    /// # Panics
    /// Where a number that is no parameter is not 0.
    #[must_use]
    pub fn natural(&self, blocks: &[Block]) -> Vec<f64> {
        let mut rest = blocks.as_flattened().to_vec();
        let natural = self.places.iter().map(|&place| f64::from(std::mem::take(&mut rest[place]))).collect();
        assert!(rest.iter().all(|&value| value == 0.0), "{}: padding has a number", self.name);
        natural
    }

    /// E.
    #[must_use]
    pub fn energy(&self, theta: &[f64], x: &[usize]) -> f64 {
        (self.energy)(theta, x)
    }

    /// Words of a state.
    #[must_use]
    pub fn pack(&self, x: &[usize]) -> Vec<u32> {
        heap::pack_in(self.layout, &x.iter().map(|&x| x as f64).collect::<Vec<_>>())
    }

    /// A random state.
    pub fn state(&self, source: &mut Source) -> Vec<usize> {
        (0..self.layout.sites()).map(|_| source.below(self.layout.arity())).collect()
    }

    /// Every state.
    #[must_use]
    pub fn states(&self) -> Vec<Vec<usize>> {
        let (sites, arity) = (self.layout.sites(), self.layout.arity());
        let digit = |state: usize, site: usize| state / arity.pow(site as u32) % arity;
        (0..arity.pow(sites as u32)).map(|s| (0..sites).map(|i| digit(s, i)).collect()).collect()
    }

    /// p of every state.
    #[must_use]
    pub fn law(&self, theta: &[f64]) -> Vec<f64> {
        let energies: Vec<f64> = self.states().iter().map(|x| self.energy(theta, x)).collect();
        let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = energies.iter().map(|e| (least - e).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    }

    /// An objective at a sample.
    #[must_use]
    pub fn goal(&self, goal: Goal, theta: &[f64], x: &[usize]) -> f64 {
        let here = self.energy(theta, x);
        let change = |site: usize, value: usize| {
            let mut y = x.to_vec();
            y[site] = value;
            here - self.energy(theta, &y)
        };
        let sites = 0..self.layout.sites();
        match goal {
            Goal::Energy => here,
            Goal::PseudoLikelihood => {
                let values = || 0..self.layout.arity();
                sites.map(|i| values().map(|k| change(i, k).exp()).sum::<f64>().ln()).sum()
            }
            Goal::Sigmoid => sites.map(|i| (1.0 + (-change(i, 1 - x[i])).exp()).powi(-2)).sum(),
            Goal::Ratio => sites.map(|i| (2.0 * change(i, 1 - x[i])).exp()).sum(),
        }
    }

    /// An objective's derivative by θ, by central differences.
    #[must_use]
    pub fn derivative(&self, goal: Goal, theta: &[f64], x: &[usize]) -> Vec<f64> {
        let at = |index: usize, shift: f64| {
            let mut moved = theta.to_vec();
            moved[index] += shift;
            self.goal(goal, &moved, x)
        };
        (0..theta.len()).map(|k| (at(k, STEP) - at(k, -STEP)) / (2.0 * STEP)).collect()
    }
}

/// The largest deviation of numbers from what they should be, relative to the largest of those.
///
/// # Panics
/// Where there are not as many.
#[must_use]
pub fn deviation(found: &[f64], truth: &[f64]) -> f64 {
    assert_eq!(found.len(), truth.len());
    let largest = truth.iter().fold(0.0f64, |most, t| most.max(t.abs()));
    let worst = found
        .iter()
        .zip(truth)
        .map(|(f, t)| (f - t).abs())
        .fold(0.0, |most: f64, d| if d.is_nan() { f64::INFINITY } else { most.max(d) });
    if worst == 0.0 { 0.0 } else { worst / largest }
}
