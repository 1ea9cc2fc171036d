//! Seven densities in the plane, and points as Gray-coded bits (RMwGGIS §5.1, after Dai et al. 2020).

mod shape;
mod study;

pub use shape::Shape;
pub use study::{Cell, Distances, Look, Subject};

use bitmc::{LaneRng, Layout, Rng};

/// Half the side of the square that is coded.
pub const REACH: f64 = 4.0;

/// Points of the square as bits: for each of the two coordinates a Gray code, the coarsest bit first.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    bits: usize,
}

impl Code {
    /// With so many bits in all; half of them for each coordinate.
    #[must_use]
    pub fn new(bits: usize) -> Self {
        Self { bits: bits / 2 }
    }

    /// The shape of a coded point.
    #[must_use]
    pub fn layout(self) -> Layout {
        Layout::binary(2 * self.bits)
    }

    /// The code of a point of the square. Bits past the 32nd of a coordinate are finer than the densities: they are
    /// fair coins.
    pub fn encode(self, point: [f64; 2], rng: &mut LaneRng, words: &mut [u32]) {
        words.fill(0);
        for (axis, value) in point.into_iter().enumerate() {
            let share = (value + REACH) / (2.0 * REACH);
            let level = (share * 4_294_967_296.0).clamp(0.0, 4_294_967_295.0) as u32;
            let (mut before, mut source) = (0, level);
            for bit in 0..self.bits {
                if bit % 32 == 0 && bit > 0 {
                    source = rng.next_u32();
                }
                let digit = source >> (31 - bit % 32) & 1;
                let site = axis * self.bits + bit;
                words[site / 32] |= (digit ^ before) << (site % 32);
                before = digit;
            }
        }
    }

    /// The point of a code, by its 32 coarsest bits: the middle of its cell.
    #[must_use]
    pub fn decode(self, words: &[u32]) -> [f64; 2] {
        [0, 1].map(|axis| {
            let (mut digit, mut share, mut size) = (0, 0.0, 0.5);
            for bit in 0..self.bits.min(32) {
                let site = axis * self.bits + bit;
                digit ^= words[site / 32] >> (site % 32) & 1;
                share += size * f64::from(digit);
                size *= 0.5;
            }
            (share + size) * 2.0 * REACH - REACH
        })
    }
}

/// Shares of a square's cells, `side` a side, the first coordinate slow.
#[must_use]
pub fn shares(points: impl Iterator<Item = ([f64; 2], f64)>, side: usize) -> Vec<f64> {
    let mut cells = vec![0.0; side * side];
    for (point, weight) in points {
        let [x, y] = point.map(|value| {
            let place = ((value + REACH) / (2.0 * REACH) * side as f64).max(0.0) as usize;
            place.min(side - 1)
        });
        cells[x * side + y] += weight;
    }
    let sum: f64 = cells.iter().sum();
    cells.into_iter().map(|cell| cell / sum).collect()
}

/// Total variation between shares: half the sum of their differences.
#[must_use]
pub fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    0.5 * a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::SeedableRng;

    #[test]
    fn codes_are_gray_and_go_back() {
        let mut rng = LaneRng::seed_from_u64(1);
        for bits in [8, 32, 256] {
            let code = Code::new(bits);
            let (mut words, mut before) = (vec![0; code.layout().words()], vec![0; code.layout().words()]);
            let cell = 2.0 * REACH / 2f64.powi((bits as i32 / 2).min(32));
            for step in 0..1000 {
                let point = [-REACH + (f64::from(step) + 0.5) * cell, 1.25];
                code.encode(point, &mut rng, &mut words);
                let found = code.decode(&words);
                let close = |a: f64, b: f64| (a - b).abs() <= cell;
                assert!(
                    point[0] >= REACH || (close(found[0], point[0]) && close(found[1], point[1])),
                    "{found:?}"
                );
                // Neighbouring cells differ in one bit; where there are finer bits, those are coins.
                if step > 0 && bits <= 32 && point[0] < REACH {
                    let different: u32 = words.iter().zip(&before).map(|(a, b)| (a ^ b).count_ones()).sum();
                    assert_eq!(different, 1, "{bits} bits, step {step}");
                }
                before.copy_from_slice(&words);
            }
        }
    }

    #[test]
    fn densities_stay_in_the_square_and_differ() {
        let mut rng = LaneRng::seed_from_u64(2);
        let drawn: Vec<Vec<f64>> =
            Shape::ALL.iter().map(|shape| shares((0..4000).map(|_| (shape.draw(&mut rng), 1.0)), 16)).collect();
        for (index, one) in drawn.iter().enumerate() {
            for other in &drawn[..index] {
                assert!(total_variation(one, other) > 0.3);
            }
        }
        // Half of the square is empty.
        let filled = drawn[6].iter().filter(|&&share| share > 0.0).count();
        assert_eq!((Shape::ALL[6], filled), (Shape::Checkerboard, 128));
    }
}
