//! Energies as functions of their parameters, and objectives over them, in float64 from their formulas.

use crate::heap;
use crate::models::Source;
use crate::used;
use bitmc::energy::{Boltzmann, Perceptron};
use bitmc::lane::{Block, LANES};
use bitmc::learn::{Learnable, LearnableFunction, SparseIsing, SparsePotts};
use bitmc::{Function, Layout, Packed, Plain, Rbm};

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
            let mut memory = used::memory(Boltzmann::memory_len(sites));
            let made = if spins { Boltzmann::spins } else { Boltzmann::bits };
            see(&made(blocks, sites, &mut memory).unwrap());
        };
        let name = format!("Boltzmann machine of {sites} {}", if spins { "spins" } else { "bits" });
        let (layout, blocks) = (Layout::binary(sites), Boltzmann::parameter_len(sites));
        Self { name, layout, theta, places, blocks, energy: Box::new(energy), build: Box::new(build) }
    }

    /// The Boltzmann machine of [`Lesson::boltzmann`], written as a user would: [`Own`].
    #[must_use]
    pub fn own(sites: usize, spins: bool, sd: f64, seed: u64, broken: bool) -> Self {
        let machine = Self::boltzmann(sites, spins, sd, seed);
        let count = machine.theta.len();
        let build = move |blocks: &[Block], see: &mut dyn FnMut(&dyn Learnable)| {
            see(&Plain(Own { sites, spins, theta: &blocks.as_flattened()[..count], broken }));
        };
        let (places, blocks) = ((0..count).collect(), count.div_ceil(LANES));
        Self { name: format!("own {}", machine.name), places, blocks, build: Box::new(build), ..machine }
    }

    /// An Ising model on the edges of a ring with some chords.
    #[must_use]
    pub fn sparse_ising(sites: usize, spins: bool, sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let edges = chords(sites);
        let first = sites.div_ceil(LANES) * LANES;
        let places: Vec<usize> = (0..sites).chain((0..edges.len()).map(|e| first + e)).collect();
        let theta = places.iter().map(|_| f64::from(source.coarse(sd))).collect();
        let blocks = SparseIsing::parameter_len(sites, edges.len());
        let ends = edges.clone();
        let energy = move |theta: &[f64], x: &[usize]| {
            let v: Vec<f64> = x.iter().map(|&x| if spins { 2.0 * x as f64 - 1.0 } else { x as f64 }).collect();
            let field: f64 = theta[..sites].iter().zip(&v).map(|(w, v)| w * v).sum();
            let pair = |((a, b), j): (&(u32, u32), &f64)| j * v[*a as usize] * v[*b as usize];
            -field - ends.iter().zip(&theta[sites..]).map(pair).sum::<f64>()
        };
        let build = move |blocks: &[Block], see: &mut dyn FnMut(&dyn Learnable)| {
            let mut couplings = heap::Couplings::new(sites, edges.len());
            let made = if spins { SparseIsing::spins } else { SparseIsing::bits };
            see(&made(blocks, sites, &edges, couplings.borrow()).unwrap());
        };
        let name = format!("sparse Ising model of {sites} {}", if spins { "spins" } else { "bits" });
        let layout = Layout::binary(sites);
        Self { name, layout, theta, places, blocks, energy: Box::new(energy), build: Box::new(build) }
    }

    /// A Potts model on the edges of a ring with some chords.
    #[must_use]
    pub fn sparse_potts(sites: usize, arity: usize, sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let (edges, fields) = (chords(sites), sites * arity);
        let first = fields.div_ceil(LANES) * LANES;
        let places: Vec<usize> = (0..fields).chain((0..edges.len()).map(|e| first + e)).collect();
        let theta = places.iter().map(|_| f64::from(source.coarse(sd))).collect();
        let blocks = SparsePotts::parameter_len(sites, arity, edges.len());
        let ends = edges.clone();
        let energy = move |theta: &[f64], x: &[usize]| {
            let field: f64 = x.iter().enumerate().map(|(i, &k)| theta[i * arity + k]).sum();
            let agree = |&(a, b): &(u32, u32)| f64::from(x[a as usize] == x[b as usize]);
            -field - ends.iter().zip(&theta[fields..]).map(|(pair, j)| j * agree(pair)).sum::<f64>()
        };
        let build = move |blocks: &[Block], see: &mut dyn FnMut(&dyn Learnable)| {
            let mut couplings = heap::Couplings::new(sites, edges.len());
            see(&SparsePotts::new(blocks, (sites, arity), &edges, couplings.borrow()).unwrap());
        };
        let (name, layout) = (format!("Potts model of {sites}"), Layout::categorical(sites, arity));
        Self { name, layout, theta, places, blocks, energy: Box::new(energy), build: Box::new(build) }
    }

    /// A network of swish units; `widths` are the sites and the hidden layers.
    #[must_use]
    pub fn perceptron(widths: &'static [usize], sd: f64, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let (mut places, mut start) = (Vec::new(), 0);
        let outputs = || widths.iter().copied().skip(1).chain([1]);
        for (inputs, outputs) in widths.iter().copied().zip(outputs()) {
            let row = outputs.div_ceil(LANES) * LANES;
            places.extend((0..(1 + inputs) * outputs).map(|k| start + k / outputs * row + k % outputs));
            start += row * (1 + inputs);
        }
        let theta = places.iter().map(|_| f64::from(source.coarse(sd))).collect();
        let energy = move |theta: &[f64], x: &[usize]| {
            let mut below: Vec<f64> = x.iter().map(|&x| x as f64).collect();
            let mut rest = theta;
            for (layer, outputs) in outputs().enumerate() {
                let (biases, after) = rest.split_at(outputs);
                let (weights, after) = after.split_at(below.len() * outputs);
                rest = after;
                let sum = |k: usize| {
                    biases[k] + below.iter().enumerate().map(|(i, a)| a * weights[i * outputs + k]).sum::<f64>()
                };
                let swish = |s: f64| if layer + 1 == widths.len() { s } else { s / (1.0 + (-s).exp()) };
                below = (0..outputs).map(|k| swish(sum(k))).collect();
            }
            below[0]
        };
        let build = move |blocks: &[Block], see: &mut dyn FnMut(&dyn Learnable)| {
            see(&Perceptron::new(widths, blocks).unwrap());
        };
        let (layout, blocks) = (Layout::binary(widths[0]), Perceptron::parameter_len(widths));
        let name = format!("network {widths:?}");
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
    pub fn distribution(&self, theta: &[f64]) -> Vec<f64> {
        let energies: Vec<f64> = self.states().iter().map(|x| self.energy(theta, x)).collect();
        let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = energies.iter().map(|e| (least - e).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    }

    /// E at values between the states', for models of bits: its derivative by one site.
    #[must_use]
    pub fn differences(&self, x: &[usize], site: usize) -> f64 {
        let at = |value: usize| {
            let mut y = x.to_vec();
            y[site] = value;
            self.energy(&self.theta, &y)
        };
        at(1 - x[site]) - at(x[site])
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

/// A Boltzmann machine by its formula, site by site: fields, then the pairs of each site with those before it.
#[derive(Clone, Copy, Debug)]
pub struct Own<'t> {
    sites: usize,
    spins: bool,
    theta: &'t [f32],
    /// Whether `∂E/∂θ` forgets the last site's value in its pairs.
    broken: bool,
}

impl Own<'_> {
    fn value(&self, x: Packed<'_>, site: usize) -> f32 {
        if self.spins { 2.0 * x.get(site) as f32 - 1.0 } else { x.get(site) as f32 }
    }

    fn terms(&self, x: Packed<'_>) -> impl Iterator<Item = f32> {
        let pairs = (0..self.sites).flat_map(|b| (0..b).map(move |a| (a, b)));
        (0..self.sites)
            .map(move |site| self.value(x, site))
            .chain(pairs.map(move |(a, b)| self.value(x, a) * self.value(x, b)))
    }
}

impl Function for Own<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        -self.theta.iter().zip(self.terms(x)).map(|(theta, term)| theta * term).sum::<f32>()
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let pair = |a: usize, b: usize| self.theta[self.sites + a.max(b) * (a.max(b) - 1) / 2 + a.min(b)];
        let others = (0..self.sites).filter(|&other| other != site);
        let slope =
            self.theta[site] + others.map(|other| pair(site, other) * self.value(x, other)).sum::<f32>();
        if self.spins { -2.0 * slope } else { -slope }
    }
}

impl LearnableFunction for Own<'_> {
    fn parameters(&self) -> usize {
        self.theta.len()
    }

    fn accumulate(&self, x: Packed<'_>, weight: f32, into: &mut [f32]) {
        assert_eq!(into.len(), self.theta.len());
        let last = if self.broken { self.theta.len() + 1 - self.sites } else { self.theta.len() };
        for (index, (slot, term)) in into.iter_mut().zip(self.terms(x)).enumerate() {
            *slot -= weight * if index < last { term } else { self.value(x, index - last) };
        }
    }
}

/// A ring and every third chord over five sites, in order.
fn chords(sites: usize) -> Vec<(u32, u32)> {
    let next = |i: usize, by: usize| (i.min((i + by) % sites) as u32, i.max((i + by) % sites) as u32);
    let ring = (0..sites).map(|i| next(i, 1));
    let mut edges: Vec<_> = ring.chain((0..sites).step_by(3).map(|i| next(i, 5))).collect();
    edges.retain(|(a, b)| a != b);
    edges.sort_unstable();
    edges.dedup();
    edges
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
