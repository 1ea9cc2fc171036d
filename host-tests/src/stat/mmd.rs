//! The squared maximum mean discrepancy of two sets of packed states.

use rayon::prelude::*;

/// MMD² of two sets under the kernel `exp(−hamming/sites)`, unbiased: pairs of a state with itself are left
/// out, so it is 0 on average where both sets have one distribution, and may be negative (Gretton and others 2012,
/// Lemma 6).
///
/// # Panics
/// Where a set has fewer than two states.
#[must_use]
pub fn mmd2(sites: usize, a: &[Vec<u32>], b: &[Vec<u32>]) -> f64 {
    assert!(a.len() > 1 && b.len() > 1, "a set of two states at least");
    let kernel: Vec<f64> = (0..=sites).map(|distance| (-(distance as f64) / sites as f64).exp()).collect();
    let within = |set: &[Vec<u32>]| {
        let pairs = (set.len() * (set.len() - 1)) as f64;
        (sum(&kernel, set, set) - set.len() as f64) / pairs // the kernel of a state with itself is 1
    };
    within(a) + within(b) - 2.0 * sum(&kernel, a, b) / (a.len() * b.len()) as f64
}

fn sum(kernel: &[f64], a: &[Vec<u32>], b: &[Vec<u32>]) -> f64 {
    // One sum a row, added up in the order of the rows: the same bits on any number of threads.
    let row = |x: &Vec<u32>| b.iter().map(|y| kernel[hamming(x, y)]).sum::<f64>();
    a.par_iter().map(row).collect::<Vec<f64>>().into_iter().sum()
}

fn hamming(x: &[u32], y: &[u32]) -> usize {
    x.iter().zip(y).map(|(x, y)| (x ^ y).count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Two sites, sets {00, 01} and {11, 11}: within a e^(−½), within b 1, between (e^(−1) + e^(−½))/2.
        let (a, b) = ([vec![0b00], vec![0b01]], [vec![0b11], vec![0b11]]);
        let by_hand = (-0.5f64).exp() + 1.0 - ((-1.0f64).exp() + (-0.5f64).exp());
        assert!((mmd2(2, &a, &b) - by_hand).abs() < 1e-15);
    }
}
