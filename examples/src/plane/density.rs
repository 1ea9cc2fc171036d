//! The exact distribution over all pairs of values, histograms, and how far they are apart.

use bitmc::LaneRng;
use bitmc::random::uniform;
use serde::{Deserialize, Serialize};

/// How the modes look: the target's formula, in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// `log Σ exp(−d²/(2s²))`, by its variance s².
    Normal(f64),
    /// `log(Σ exp(−d/length) + floor)`.
    Exponential(f64, f64),
}

/// The exact distribution, summed over every state.
#[derive(Clone, Debug)]
pub struct Density {
    side: usize,
    cells: Vec<f64>,
}

/// How far a histogram is from the distribution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Distance {
    /// Total variation, ½ Σ |h − p|.
    pub total_variation: f64,
    /// Kullback and Leibler's divergence of the histogram from the distribution, Σ h ln(h/p).
    pub kl_nats: f64,
}

/// Visits of every state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histogram {
    side: usize,
    counts: Vec<u64>,
}

impl Density {
    /// The distribution of modes at `means` over {0 … side − 1}².
    #[must_use]
    pub fn new(means: &[[f32; 2]], side: usize, shape: Shape) -> Self {
        let weight = |cell: usize| -> f64 {
            let (x, y) = ((cell / side) as f64, (cell % side) as f64);
            let kernel = |mean: &[f32; 2]| {
                let square = (x - f64::from(mean[0])).powi(2) + (y - f64::from(mean[1])).powi(2);
                match shape {
                    Shape::Normal(variance) => (-0.5 * square / variance).exp(),
                    Shape::Exponential(length, _) => (-square.sqrt() / length).exp(),
                }
            };
            let floor = if let Shape::Exponential(_, floor) = shape { floor } else { 0.0 };
            means.iter().map(kernel).sum::<f64>() + floor
        };
        let weights: Vec<f64> = (0..side * side).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Self { side, cells: weights.into_iter().map(|w| w / sum).collect() }
    }

    /// Values a site.
    #[must_use]
    pub fn side(&self) -> usize {
        self.side
    }

    /// p of every state, the first site slow.
    #[must_use]
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// The distance of a histogram.
    #[must_use]
    pub fn distance(&self, histogram: &Histogram) -> Distance {
        let count: u64 = histogram.counts.iter().sum();
        let shares = histogram.counts.iter().map(|&n| n as f64 / count as f64);
        let (mut variation, mut kl) = (0.0, 0.0);
        for (h, &p) in shares.zip(&self.cells) {
            variation += (h - p).abs();
            // A normal mode may underflow to 0 between modes, where the kernel's logarithm does not.
            kl += if h > 0.0 { h * (h / p.max(f64::MIN_POSITIVE)).ln() } else { 0.0 };
        }
        Distance { total_variation: 0.5 * variation, kl_nats: kl }
    }

    /// So many independent draws: what a perfect sampler would show.
    #[must_use]
    pub fn draw(&self, count: u64, rng: &mut LaneRng) -> Histogram {
        let mut sum = 0.0;
        let below = self.cells.iter().map(|p| {
            sum += p;
            sum - p
        });
        let below: Vec<f64> = below.collect();
        let mut histogram = Histogram::new(self.side);
        for _ in 0..count {
            // Two uniforms of 24 bits: one would not reach every cell.
            let u = f64::from(uniform(rng)) + f64::from(uniform(rng)) / 16_777_216.0;
            let cell = below.partition_point(|&b| b <= u * sum).saturating_sub(1);
            histogram.counts[cell] += 1;
        }
        histogram
    }
}

impl Histogram {
    /// No visits.
    #[must_use]
    pub fn new(side: usize) -> Self {
        Self { side, counts: vec![0; side * side] }
    }

    /// One visit more.
    pub fn count(&mut self, x: usize, y: usize) {
        self.counts[x * self.side + y] += 1;
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self
    }

    /// Shares of all visits.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let count: u64 = self.counts.iter().sum();
        self.counts.iter().map(|&n| n as f64 / count.max(1) as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::SeedableRng;

    #[test]
    fn exact_draws_are_near_and_others_far() {
        let means = [[10.0, 10.0], [30.0, 20.0]];
        let density = Density::new(&means, 40, Shape::Normal(4.0));
        assert!((density.cells().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let n = 1_000_000;
        let mut rng = LaneRng::seed_from_u64(1);
        let drawn = density.distance(&density.draw(n, &mut rng));
        // E|h − p| ≤ √(p/n) a cell; by Cauchy and Schwarz ½√(cells/n) in all, and n·TV moves by at most
        // one with a draw, so that .003 more has a probability below e^(−2·.003²·n) = 10⁻⁷.
        assert!(drawn.total_variation < 0.5 * (1600.0 / n as f64).sqrt() + 0.003, "{drawn:?}");
        let half = Density::new(&means[..1], 40, Shape::Normal(4.0));
        let far = density.distance(&half.draw(n, &mut rng));
        assert!((far.total_variation - 0.5).abs() < 0.01, "one mode of two: {far:?}");
        assert!((far.kl_nats - std::f64::consts::LN_2).abs() < 0.01, "one mode of two: {far:?}");
    }
}
