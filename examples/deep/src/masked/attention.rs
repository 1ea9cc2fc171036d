//! Attention of some rows of each pass to all rows of it.

use super::WIDTH;
use crate::product::{add_times, dot};

/// Heads, and the numbers of each.
const HEADS: usize = 4;
const HEAD: usize = WIDTH / HEADS;

/// What the way back needs: queries, keys, values, and the shares of attention.
pub struct Kept {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    shares: Vec<f32>,
    length: usize,
}

/// The part of a head in a row.
fn part(row: usize, head: usize) -> std::ops::Range<usize> {
    let first = row * WIDTH + head * HEAD;
    first..first + HEAD
}

/// The mean of the values, each head with its own shares.
pub fn attend(queries: Vec<f32>, keys: Vec<f32>, values: Vec<f32>, length: usize) -> (Vec<f32>, Kept) {
    let mut out = vec![0.0; queries.len()];
    let mut kept = Kept { shares: Vec::new(), queries, keys, values, length };
    let mut shares = vec![0.0; queries_of(&kept) * HEADS * length];
    for ((row, head, first), shares) in kept.each().zip(shares.chunks_mut(length)) {
        let query = &kept.queries[part(row, head)];
        let scale = 1.0 / (HEAD as f32).sqrt();
        for (at, share) in shares.iter_mut().enumerate() {
            *share = scale * dot(query, &kept.keys[part(first + at, head)]);
        }
        let most = shares.iter().fold(f32::NEG_INFINITY, |most, &x| most.max(x));
        shares.iter_mut().for_each(|x| *x = (*x - most).exp());
        let sum: f32 = shares.iter().sum();
        for (at, share) in shares.iter_mut().enumerate() {
            *share /= sum;
            add_times(&mut out[part(row, head)], *share, &kept.values[part(first + at, head)]);
        }
    }
    kept.shares = shares;
    (out, kept)
}

fn queries_of(kept: &Kept) -> usize {
    kept.queries.len() / WIDTH
}

impl Kept {
    /// Each row of the queries and head, with the first row of its pass among the keys.
    fn each(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let passes = self.keys.len() / WIDTH / self.length;
        let (rows, length) = (queries_of(self) / passes, self.length);
        let all = (0..passes * rows).flat_map(|row| (0..HEADS).map(move |head| (row, head)));
        all.map(move |(row, head)| (row, head, row / rows * length))
    }

    /// The gradients at queries, keys and values.
    pub fn backward(&self, gradient: &[f32]) -> [Vec<f32>; 3] {
        let mut to = [&self.queries, &self.keys, &self.values].map(|of| vec![0.0; of.len()]);
        let [queries, keys, values] = &mut to;
        let scale = 1.0 / (HEAD as f32).sqrt();
        let mut slopes = vec![0.0; self.length];
        for ((row, head, first), shares) in self.each().zip(self.shares.chunks(self.length)) {
            let gradient = &gradient[part(row, head)];
            for ((at, slope), &share) in slopes.iter_mut().enumerate().zip(shares) {
                *slope = dot(gradient, &self.values[part(first + at, head)]);
                add_times(&mut values[part(first + at, head)], share, gradient);
            }
            let mean: f32 = slopes.iter().zip(shares).map(|(slope, share)| slope * share).sum();
            for ((at, slope), share) in slopes.iter().enumerate().zip(shares) {
                let slope = scale * share * (slope - mean);
                add_times(&mut queries[part(row, head)], slope, &self.keys[part(first + at, head)]);
                add_times(&mut keys[part(first + at, head)], slope, &self.queries[part(row, head)]);
            }
        }
        to
    }
}
