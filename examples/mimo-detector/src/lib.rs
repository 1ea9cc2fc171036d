//! Soft detection for several antennas, without std and without an allocator: log-likelihood ratios of the bits that
//! were sent, from the channel, the received vector and the power of the noise.
//!
//! `y = Hx + n` in real form, `N` = twice the antennas. Site i is `xᵢ = δ(2kᵢ − S + 1)`, so the posterior is a lattice
//! Gaussian over k: [`bitmc::LatticeGaussian`]. Gibbs updates walk over it at a temperature at which they do not stall.
//! Each evaluates S states; the ratios are sums of e^(−E) over the distinct states of all updates. The temperature
//! decides which states are visited. It does not enter the sums.
//!
//! ```
//! use bitmc::{LaneRng, SeedableRng};
//! use bitmc_mimo_detector::{Detector, Effort, Frame, Modulation};
//!
//! let (noise, mut rng) = (0.02, LaneRng::seed_from_u64(1));
//! let (frame, sent) = Frame::<8>::draw(Modulation::Qam16, noise, 0.0, &mut rng);
//! let mut detector = Detector::<8, 8192>::new(); // 8 sites, room for 6,144 states
//! let effort = Effort::new(Modulation::Qam16, noise); // 4 chains of 40 sweeps
//! let ratios = detector.detect(&frame, &effort, &mut rng).unwrap();
//! for (ratios, value) in ratios.iter().zip(sent) {
//!     assert_eq!(ratios.map(|ratio| u32::from(ratio > 0.0)), Modulation::Qam16.bits(value));
//! }
//! ```
#![no_std]

mod frame;
mod numbers;
mod seen;
mod solve;
mod sums;
pub mod trial;

pub use frame::{Frame, Modulation};
pub use seen::Seen;

use bitmc::energy::{EnergyError, GaussianError};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Energy, LatticeGaussian, Layout, Move, Packed, Rng, random};
use numbers::exponentials;
use sums::Sums;

/// The log-likelihood ratios of a frame: `ln P(1)/P(0)` of the one or two bits of every site.
pub type Ratios<const N: usize> = [[f32; 2]; N];

/// What the ratios are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// e^(−E) of every distinct state that an update evaluated.
    Distinct,
    /// The conditional probabilities of the updates, averaged from the second quarter of the sweeps on: what a plain
    /// chain gives. Right at temperature 1 only.
    Conditionals,
}

/// How much is computed for a frame, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Chains, one after the other.
    pub chains: u32,
    /// Sweeps of each.
    pub sweeps: u32,
    /// Whether the first chain starts at the MMSE estimate. All others start at random states.
    pub from_mmse: bool,
    /// The temperature of the walk, at least 1.
    pub temperature: f32,
    /// What the ratios are made of.
    pub rule: Rule,
}

impl Effort {
    /// The temperature is this times δ²/N₀, where that is above 1: .5/N₀ of 16-QAM, 2.5/N₀ of QPSK.
    pub const HEAT: f32 = 5.0;

    /// Four chains of forty sweeps, the first from the MMSE estimate.
    #[must_use]
    pub fn new(modulation: Modulation, noise: f32) -> Self {
        Self { chains: 4, sweeps: 40, from_mmse: true, temperature: 1.0, rule: Rule::Distinct }.heated(
            Self::HEAT,
            modulation,
            noise,
        )
    }

    /// With another factor of the temperature.
    #[must_use]
    pub fn heated(self, heat: f32, modulation: Modulation, noise: f32) -> Self {
        let delta = modulation.half_distance();
        Self { temperature: heat * delta * delta / noise, ..self }
    }
}

/// Why a frame has no ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DetectError {
    /// More than 16 sites, or none.
    Sites,
    /// The channel is zero or not finite, or the power of the noise is not positive.
    Channel,
    /// The model was refused.
    Model(GaussianError),
    /// The energy failed at a start.
    Energy(EnergyError),
}

/// The memory of a detector of `N` sites: a table of `TABLE` states, a power of two, and the model of the frame.
/// Nothing else is kept from frame to frame.
#[derive(Clone, Debug)]
pub struct Detector<const N: usize, const TABLE: usize> {
    rows: [Block; N],
    centre: [f32; N],
    mmse: [f32; N],
    seen: Seen<TABLE>,
    sums: Sums<N>,
}

impl<const N: usize, const TABLE: usize> Detector<N, TABLE> {
    /// Empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: [[0.0; LANES]; N], centre: [0.0; N], mmse: [0.0; N], seen: Seen::new(), sums: Sums::new() }
    }

    /// The states that the last frame's sums have.
    #[must_use]
    pub fn distinct(&self) -> u32 {
        self.seen.len()
    }

    /// The states of the last frame that found no room in the table. They are not in the sums.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.seen.lost()
    }

    /// The log-likelihood ratios of a frame. The model is built anew in the memory of the one before.
    ///
    /// # Errors
    /// [`DetectError`] where the frame is no model.
    pub fn detect<R: Rng + ?Sized>(
        &mut self,
        frame: &Frame<N>,
        effort: &Effort,
        rng: &mut R,
    ) -> Result<Ratios<N>, DetectError> {
        if N == 0 || N > LANES {
            return Err(DetectError::Sites);
        }
        solve::model(frame, &mut self.rows, &mut self.centre, &mut self.mmse).ok_or(DetectError::Channel)?;
        self.seen.clear();
        self.sums = Sums::new();
        let arity = frame.modulation.arity();
        let model =
            LatticeGaussian::dense_rounded(&self.rows, &self.centre, arity).map_err(DetectError::Model)?;
        let cold = if effort.temperature > 1.0 { 1.0 / effort.temperature } else { 1.0 };
        for chain in 0..effort.chains {
            let start = if chain == 0 && effort.from_mmse {
                frame.modulation.nearest(&self.mmse)
            } else {
                frame.modulation.random(N, rng)
            };
            let mut walk = Walk::new(&model, start).map_err(DetectError::Energy)?;
            for sweep in 0..effort.sweeps {
                let uniforms = random::uniforms(rng);
                for (site, uniform) in (0..N).zip(uniforms) {
                    let found = walk.update(site, cold, uniform);
                    match effort.rule {
                        Rule::Distinct => self.sums.add_new(&found, &mut self.seen),
                        Rule::Conditionals if 4 * sweep >= effort.sweeps => self.sums.add_shares(&found),
                        Rule::Conditionals => {}
                    }
                }
            }
        }
        Ok(self.sums.ratios(frame.modulation))
    }
}

impl<const N: usize, const TABLE: usize> Default for Detector<N, TABLE> {
    fn default() -> Self {
        Self::new()
    }
}

/// What an update evaluated.
pub(crate) struct Line {
    pub(crate) layout: Layout,
    /// The state before it.
    pub(crate) word: u32,
    pub(crate) site: usize,
    /// Of every value of the site: the energy, and the probability of being drawn.
    pub(crate) energies: [f32; 4],
    pub(crate) shares: [f32; 4],
}

impl Line {
    /// Bits of a site, and its first one.
    pub(crate) fn field(&self) -> (u32, u32) {
        (self.layout.field_bits(), self.layout.field_bits() * self.site as u32)
    }

    /// The state with this value at the site.
    pub(crate) fn with(&self, value: u32) -> u32 {
        let (bits, shift) = self.field();
        self.word & !(((1 << bits) - 1) << shift) | value << shift
    }
}

/// A chain over the states of a frame: sixteen sites of two bits are one word.
struct Walk<'m, 'a> {
    model: &'m LatticeGaussian<'a>,
    word: u32,
    cache: [Bits; 1],
    energy: f32,
}

impl<'m, 'a> Walk<'m, 'a> {
    fn new(model: &'m LatticeGaussian<'a>, word: u32) -> Result<Self, EnergyError> {
        let (mut cache, words) = ([[0; LANES]; 1], [word]);
        // A start is made of legal values.
        let start = Packed::new(model.layout(), &words).map_err(|_| EnergyError::Nan)?;
        let energy = model.init(start, &mut cache)?;
        Ok(Self { model, word, cache, energy })
    }

    /// A Gibbs update of one site at the temperature 1/`cold`.
    fn update(&mut self, site: usize, cold: f32, uniform: f32) -> Line {
        let layout = self.model.layout();
        let mut line = Line { layout, word: self.word, site, energies: [f32::INFINITY; 4], shares: [0.0; 4] };
        let arity = layout.arity().min(4);
        let mut differences = [f32::INFINITY; 4];
        let out = differences.get_mut(..arity).unwrap_or_default();
        self.model.differences(&mut [self.word], &self.cache, site, out);
        let least = differences.iter().fold(0.0, |least, &d| if d < least { d } else { least });
        line.energies = differences.map(|difference| self.energy + difference);
        let weights = exponentials(differences.map(|difference| (least - difference) * cold));
        let total = weights.iter().sum::<f32>();
        line.shares = weights.map(|weight| weight / total);
        let (mut left, mut value) = (uniform * total, 0);
        for (candidate, weight) in (0..arity as u32).zip(weights) {
            if weight > 0.0 {
                value = candidate;
                if left < weight {
                    break;
                }
                left -= weight;
            }
        }
        self.go(&line, value);
        line
    }

    /// To another value of the site.
    fn go(&mut self, line: &Line, value: u32) {
        let (from, to) = ([self.word], [line.with(value)]);
        let packed = |words| Packed::new(line.layout, words);
        if from != to
            && let (Ok(before), Ok(after)) = (packed(&from), packed(&to))
            && let Ok(step) = Move::new(before, after)
        {
            self.energy += self.model.shift(&step, &mut self.cache);
            self.word = line.with(value);
        }
    }
}
