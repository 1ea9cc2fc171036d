//! Bytes as numbers, and as a generator.

use crate::heap::Couplings;
use crate::naive::{Convention, Pairwise};
use bitmc::energy::Edge;
use core::convert::Infallible;
use rand_core::{TryRng, utils};

/// Floats that have done harm somewhere.
const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    f32::EPSILON,
    1e-45,
    -1e-45,
    1e-39,
    1e30,
    -1e30,
    1e19,
    -1e19,
];

/// Takes numbers from bytes, one after the other. As a generator of random numbers it gives the next bytes.
///
/// The first byte says what follows the last one, zeros or all bytes again, and whether floats are tame.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
    again: bool,
    wild: bool,
}

impl<'a> Source<'a> {
    /// From the first byte on.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut source = Self { bytes, at: 0, again: false, wild: false };
        let first = source.byte();
        (source.again, source.wild) = (first & 1 != 0, first & 6 == 6);
        source
    }

    /// Whether no float is out of the ordinary.
    #[must_use]
    pub fn is_tame(&self) -> bool {
        !self.wild
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        if self.again && self.at >= self.bytes.len() {
            self.at = 0;
        }
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// The next word, little-endian.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes([(); 4].map(|()| self.byte()))
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// True once in `end` times.
    pub fn one_in(&mut self, end: usize) -> bool {
        self.below(end) == end - 1
    }

    /// A number of sites from 1 to 70, often a small one.
    pub fn sites(&mut self) -> usize {
        let byte = usize::from(self.byte());
        1 + if byte < 128 { byte % 8 } else { byte % 70 }
    }

    /// A float between −8 and 8; in wild bytes now and then one of any size, or none at all.
    pub fn float(&mut self) -> f32 {
        let bits = u16::from_le_bytes([self.byte(), self.byte()]);
        match if self.wild { self.below(32) } else { 0 } {
            31 => SPECIAL[self.below(SPECIAL.len())],
            30 => f32::from_bits(self.word()),
            29 => (f32::from(bits as i16) * 0.0012).exp().copysign(f32::from(self.byte() as i8)),
            _ => f32::from(bits as i16) / 4096.0,
        }
    }

    /// Floats as [`Source::float`].
    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    /// From 1 to so many of them.
    pub fn some_floats(&mut self, most: usize) -> Vec<f32> {
        let count = 1 + self.below(most);
        self.floats(count)
    }

    /// A positive parameter such as a step size, from 10⁻⁵ to 10⁵; in wild bytes now and then another float.
    pub fn parameter(&mut self) -> f32 {
        let byte = self.byte();
        if byte >= 224 && self.wild { self.float() } else { 10f32.powf((f32::from(byte) - 112.0) / 22.4) }
    }

    /// Edges between so many sites; only in wild bytes some that are illegal.
    pub fn edges(&mut self, sites: usize) -> Vec<Edge> {
        let (mut edges, mut seen) = (Vec::new(), std::collections::HashSet::new());
        for _ in 0..self.below(2 * sites) {
            let (a, b) = (self.below(sites) as u32, self.below(sites) as u32);
            let coupling = self.float();
            let fresh = a != b && seen.insert((a.min(b), a.max(b)));
            if fresh || (self.wild && self.one_in(64)) {
                edges.push((a, b, coupling));
            }
        }
        edges
    }

    /// A binary model of pairs, with memory for it.
    pub fn pairwise(&mut self, sites: usize) -> (Pairwise, Couplings) {
        let convention = Convention::ALL[self.below(3)];
        let model = Pairwise { convention, edges: self.edges(sites), fields: self.floats(sites) };
        let memory = model.couplings();
        (model, memory)
    }
}

impl TryRng for Source<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill_with(|| self.byte());
        Ok(())
    }
}
