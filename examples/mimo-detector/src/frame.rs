//! Frames: what arrives, and random ones to try a detector with.

use crate::numbers::root;
use bitmc::lane::LANES;
use bitmc::random::normals;
use bitmc::{Layout, Rng};

/// What an antenna sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// Two bits: a site of two values for each of the real and the imaginary part.
    Qpsk,
    /// Four bits: two sites of four values, Gray coded.
    Qam16,
}

impl Modulation {
    /// S, the values of a site.
    #[must_use]
    pub const fn arity(self) -> usize {
        match self {
            Self::Qpsk => 2,
            Self::Qam16 => 4,
        }
    }

    /// The bits of a site.
    #[must_use]
    pub const fn bits_a_site(self) -> usize {
        match self {
            Self::Qpsk => 1,
            Self::Qam16 => 2,
        }
    }

    /// δ: half the distance of two neighbours, for a mean power of 1 an antenna.
    #[must_use]
    pub const fn half_distance(self) -> f32 {
        match self {
            Self::Qpsk => core::f32::consts::FRAC_1_SQRT_2,
            Self::Qam16 => 0.316_227_77,
        }
    }

    /// The bits of a value.
    #[must_use]
    pub const fn bits(self, value: u32) -> [u32; 2] {
        match self {
            Self::Qpsk => [value & 1, 0],
            Self::Qam16 => [value >> 1 & 1, (value ^ value >> 1) & 1],
        }
    }

    /// x of a value.
    #[must_use]
    pub const fn amplitude(self, value: u32) -> f32 {
        self.half_distance() * (2 * value as i32 - self.arity() as i32 + 1) as f32
    }

    const fn layout(self, sites: usize) -> Layout {
        Layout::ordinal(sites, self.arity())
    }

    /// The state nearest to real values, as a word.
    pub(crate) fn nearest(self, k: &[f32]) -> u32 {
        let last = self.arity() as f32 - 1.0;
        let bits = self.layout(k.len()).field_bits();
        let of = |k: f32| if k > 0.0 { (if k < last { k } else { last } + 0.5) as u32 } else { 0 };
        (0..).zip(k).fold(0, |word, (site, &k)| word | of(k) << (bits * site))
    }

    /// A state drawn uniformly, as a word.
    pub(crate) fn random<R: Rng + ?Sized>(self, sites: usize, rng: &mut R) -> u32 {
        let bits = self.layout(sites).field_bits() * sites as u32;
        rng.next_u32() >> (32 - bits)
    }
}

/// What arrives: the channel in real form, the received vector, the power of the noise.
#[derive(Clone, Copy, Debug)]
pub struct Frame<const N: usize> {
    /// What was sent is drawn from it.
    pub modulation: Modulation,
    /// H = [Re −Im; Im Re], row by row.
    pub channel: [[f32; N]; N],
    /// y.
    pub received: [f32; N],
    /// N₀, the mean power of the noise at an antenna.
    pub noise: f32,
}

impl<const N: usize> Frame<N> {
    /// A random frame, and the values that were sent. Paths have mean power 1; those of neighbouring antennas, on both
    /// sides, have this correlation.
    #[expect(clippy::needless_range_loop, reason = "rows and columns, as in the formulas")]
    pub fn draw<R: Rng + ?Sized>(
        modulation: Modulation,
        noise: f32,
        correlation: f32,
        rng: &mut R,
    ) -> (Self, [u32; N]) {
        let mut numbers = Normals { block: [0.0; LANES], used: LANES };
        let half = N / 2;
        let mut channel = [[0.0; N]; N];
        let rest = root(1.0 - correlation * correlation);
        for row in 0..half {
            for column in 0..half {
                let scale = core::f32::consts::FRAC_1_SQRT_2;
                let (re, im) = (scale * numbers.next(rng), scale * numbers.next(rng));
                (channel[row][column], channel[row + half][column]) = (re, im);
            }
        }
        // An autoregression along the receivers, then along the senders.
        for row in 1..half {
            for column in 0..half {
                for part in [0, half] {
                    let before = channel[row - 1 + part][column];
                    channel[row + part][column] = correlation * before + rest * channel[row + part][column];
                }
            }
        }
        for row in 0..N {
            for column in 1..half {
                channel[row][column] = correlation * channel[row][column - 1] + rest * channel[row][column];
            }
        }
        for row in 0..half {
            for column in 0..half {
                channel[row][column + half] = -channel[row + half][column];
                channel[row + half][column + half] = channel[row][column];
            }
        }
        let word = rng.next_u32();
        let bits = modulation.bits_a_site() as u32;
        let sent: [u32; N] = core::array::from_fn(|site| word >> (bits * site as u32) & ((1 << bits) - 1));
        let deviation = root(0.5 * noise);
        let received = channel.map(|row| {
            let clean = row.iter().zip(&sent).map(|(h, &value)| h * modulation.amplitude(value)).sum::<f32>();
            clean + deviation * numbers.next(rng)
        });
        (Self { modulation, channel, received, noise }, sent)
    }
}

/// Normal numbers one by one.
struct Normals {
    block: [f32; LANES],
    used: usize,
}

impl Normals {
    fn next<R: Rng + ?Sized>(&mut self, rng: &mut R) -> f32 {
        if self.used == LANES {
            (self.block, self.used) = (normals(rng), 0);
        }
        self.used += 1;
        self.block[self.used - 1]
    }
}
