//! The frames that a desktop and a microcontroller both detect, for a comparison bit for bit.

use crate::{DetectError, Detector, Effort, Frame, Modulation};
use bitmc::{LaneRng, SeedableRng};

/// What arrives.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// For a report.
    pub name: &'static str,
    /// What an antenna sends.
    pub modulation: Modulation,
    /// The power of the noise, N₀.
    pub noise: f32,
}

/// 4×4 QPSK at 10 dB, 4×4 16-QAM at 19 dB, 8×8 QPSK at 10 dB, 8×8 16-QAM at 19 dB.
pub const SETUPS: [Setup; 4] = [
    Setup { name: "4x4 QPSK", modulation: Modulation::Qpsk, noise: 0.4 },
    Setup { name: "4x4 16-QAM", modulation: Modulation::Qam16, noise: 0.05 },
    Setup { name: "8x8 QPSK", modulation: Modulation::Qpsk, noise: 0.8 },
    Setup { name: "8x8 16-QAM", modulation: Modulation::Qam16, noise: 0.1 },
];

/// Frames of each.
pub const FRAMES: u32 = 64;

/// The hashes of all ratios of a setup's frames, the same on every processor.
pub const HASHES: [u32; 4] = [0xc6d5_af27, 0xe8ab_d9ab, 0x2939_bb73, 0x5fed_2e4c];

/// A detector, the frame that has arrived, and what it was.
#[derive(Clone, Debug)]
pub struct Trial<const N: usize, const TABLE: usize> {
    setup: Setup,
    detector: Detector<N, TABLE>,
    frame: Frame<N>,
    sent: [u32; N],
    rng: LaneRng,
    hash: u32,
    errors: u32,
    bits: u32,
}

impl<const N: usize, const TABLE: usize> Trial<N, TABLE> {
    /// Nothing has arrived.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let mut rng = LaneRng::seed_from_u64(0);
        let (frame, sent) = Frame::draw(setup.modulation, setup.noise, 0.0, &mut rng);
        Self { setup, detector: Detector::new(), frame, sent, rng, hash: 0x811C_9DC5, errors: 0, bits: 0 }
    }

    /// What arrives.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// A frame arrives.
    pub fn arrive(&mut self, index: u32) {
        self.rng = LaneRng::seed_from_u64(1 << 32 | u64::from(index));
        (self.frame, self.sent) = Frame::draw(self.setup.modulation, self.setup.noise, 0.0, &mut self.rng);
    }

    /// Detects the frame that has arrived.
    ///
    /// # Errors
    /// [`DetectError`] where it is no model.
    pub fn detect(&mut self) -> Result<(), DetectError> {
        let effort = Effort::new(self.setup.modulation, self.setup.noise);
        let ratios = self.detector.detect(&self.frame, &effort, &mut self.rng)?;
        for (site, &value) in ratios.iter().zip(&self.sent) {
            let bits = self.setup.modulation.bits(value);
            for (ratio, bit) in site.iter().zip(bits).take(self.setup.modulation.bits_a_site()) {
                self.hash = (self.hash.rotate_left(5) ^ ratio.to_bits()).wrapping_mul(0x9E37_79B1);
                self.errors += u32::from((*ratio > 0.0) != (bit == 1));
                self.bits += 1;
            }
        }
        Ok(())
    }

    /// The hash of all ratios.
    #[must_use]
    pub fn hash(&self) -> u32 {
        self.hash
    }

    /// Wrong decisions.
    #[must_use]
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// Bits that were sent.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// States that found no room in the table, of the last frame.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.detector.lost()
    }
}
