//! Random numbers and rotations in f64.

use bitmc::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// A source of numbers for one target.
pub(super) struct Numbers(Xoshiro256PlusPlus);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in [0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A uniformly random orthogonal matrix, row by row: normal rows, each freed of the rows before it, twice
    /// because of rounding (Gram and Schmidt).
    pub(super) fn rotation(&mut self, size: usize) -> Vec<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
        while rows.len() < size {
            let mut row: Vec<f64> = (0..size).map(|_| self.normal()).collect();
            for _ in 0..2 {
                for other in &rows {
                    let share = dot(&row, other);
                    row.iter_mut().zip(other).for_each(|(slot, o)| *slot -= share * o);
                }
            }
            let length = dot(&row, &row).sqrt();
            row.iter_mut().for_each(|slot| *slot /= length);
            rows.push(row);
        }
        rows
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A row-major matrix of f64 as the kernel's rows of whole blocks.
///
/// # Panics
/// Where `columns` is 0.
pub(super) fn blocks(matrix: impl Iterator<Item = f64>, columns: usize) -> Vec<bitmc::lane::Block> {
    let matrix: Vec<f32> = matrix.map(|value| value as f32).collect();
    let blocks = bitmc::Rbm::row_blocks(columns);
    let mut out = vec![[0.0; bitmc::lane::LANES]; matrix.len() / columns * blocks];
    bitmc::energy::pack_rows(&matrix, columns, &mut out).expect("whole rows");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_orthogonal() {
        let rows = Numbers::new(1).rotation(50);
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let want = f64::from(u8::from(i == j));
                assert!((dot(a, b) - want).abs() < 1e-13, "rows {i} and {j}");
            }
        }
    }
}
