//! Soft MIMO detection, by formulas in f64: exact ratios, the most likely state, and MMSE.

use bitmc_mimo_detector::{Frame, Modulation};
use nalgebra::{DMatrix, DVector};

/// Two bits of every site: `ln P(1)/P(0)`.
pub type Soft = Vec<[f64; 2]>;

/// States whose energy is this much above the lowest are left out of exact sums: e^(−25) each.
const CUT: f64 = 25.0;

/// The channel and the received vector in f64, and the power of the noise.
fn parts<const N: usize>(frame: &Frame<N>) -> (DMatrix<f64>, DVector<f64>, f64) {
    let h = DMatrix::from_fn(N, N, |row, column| f64::from(frame.channel[row][column]));
    let y = DVector::from_fn(N, |row, _| f64::from(frame.received[row]));
    (h, y, f64::from(frame.noise))
}

fn amplitudes(modulation: Modulation) -> Vec<f64> {
    (0..modulation.arity() as u32).map(|value| f64::from(modulation.amplitude(value))).collect()
}

/// A search through the tree of states, from the last site to the first: `|y − Hx|² = |Qᵀy − Rx|²`.
struct Tree {
    r: DMatrix<f64>,
    z: DVector<f64>,
    noise: f64,
    amplitudes: Vec<f64>,
    k: Vec<usize>,
    /// The lowest energy of a state so far, and that state.
    best: f64,
    state: Vec<usize>,
}

impl Tree {
    fn new<const N: usize>(frame: &Frame<N>) -> Self {
        let (h, y, noise) = parts(frame);
        let qr = h.qr();
        let (r, z) = (qr.r(), qr.q().transpose() * y);
        let amplitudes = amplitudes(frame.modulation);
        Self { r, z, noise, amplitudes, k: vec![0; N], best: f64::INFINITY, state: vec![0; N] }
    }

    /// Visits the states whose energy is less than `above` over the lowest so far, nearer values first.
    fn visit(&mut self, level: usize, energy: f64, above: f64, see: &mut impl FnMut(&[usize], f64)) {
        let Some(row) = level.checked_sub(1) else {
            if energy < self.best {
                self.best = energy;
                self.state.clone_from(&self.k);
            }
            see(&self.k, energy);
            return;
        };
        let others =
            (level..self.k.len()).map(|column| self.r[(row, column)] * self.amplitudes[self.k[column]]);
        let rest = self.z[row] - others.sum::<f64>();
        let energy_of =
            |value: usize| (rest - self.r[(row, row)] * self.amplitudes[value]).powi(2) / self.noise;
        let mut values = [(f64::INFINITY, 0); 4];
        let arity = self.amplitudes.len();
        values.iter_mut().enumerate().take(arity).for_each(|(value, slot)| *slot = (energy_of(value), value));
        values[..arity].sort_by(|a, b| a.0.total_cmp(&b.0));
        for (more, value) in values.into_iter().take(arity) {
            if energy + more > self.best + above {
                break;
            }
            self.k[row] = value;
            self.visit(row, energy + more, above, see);
        }
    }

    /// The lowest energy.
    fn search(&mut self) {
        self.visit(self.k.len(), 0.0, 0.0, &mut |_, _| {});
    }
}

/// The most likely state: a sphere search.
#[must_use]
pub fn most_likely<const N: usize>(frame: &Frame<N>) -> Vec<usize> {
    let mut tree = Tree::new(frame);
    tree.search();
    tree.state
}

/// The exact ratios: sums over all states but those of no weight.
#[must_use]
pub fn exact<const N: usize>(frame: &Frame<N>) -> Soft {
    let mut tree = Tree::new(frame);
    tree.search();
    let lowest = tree.best;
    let mut sums = vec![[0.0; 4]; N];
    tree.visit(N, 0.0, CUT, &mut |k, energy| {
        let weight = (lowest - energy).exp();
        k.iter().zip(&mut sums).for_each(|(&value, sums)| sums[value] += weight);
    });
    sums.iter().map(|sums| ratios(frame.modulation, |value| sums[value])).collect()
}

/// The ratios of MMSE: a Gaussian about the estimate of every site by itself.
#[must_use]
pub fn mmse<const N: usize>(frame: &Frame<N>) -> Soft {
    let (h, y, noise) = parts(frame);
    let gram = h.transpose() * &h;
    let Some(inverse) = (&gram + DMatrix::identity(N, N) * noise).try_inverse() else {
        return vec![[0.0; 2]; N];
    };
    let estimate = &inverse * h.transpose() * y;
    let amplitudes = amplitudes(frame.modulation);
    let of = |site: usize| {
        let bias = (1.0 - noise * inverse[(site, site)]).clamp(1e-12, 1.0 - 1e-12);
        let variance = (1.0 - bias) / (2.0 * bias);
        let energies: Vec<f64> =
            amplitudes.iter().map(|x| (estimate[site] / bias - x).powi(2) / (2.0 * variance)).collect();
        let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
        ratios(frame.modulation, |value| (least - energies[value]).exp())
    };
    (0..N).map(of).collect()
}

/// The ratios of a site from the weights of its values.
fn ratios(modulation: Modulation, weight: impl Fn(usize) -> f64) -> [f64; 2] {
    std::array::from_fn(|bit| {
        let mut sums = [1e-30; 2];
        for value in 0..modulation.arity() {
            sums[modulation.bits(value as u32)[bit] as usize] += weight(value);
        }
        if bit < modulation.bits_a_site() { (sums[1] / sums[0]).ln() } else { 0.0 }
    })
}

/// The signal-to-noise ratio in decibels at which a curve falls to a rate, linear in its logarithm between points.
#[must_use]
pub fn crossing(curve: &[(f64, f64)], rate: f64) -> Option<f64> {
    curve.windows(2).find_map(|pair| {
        let [(x, y), (u, v)] = [pair[0], pair[1]].map(|(x, rate)| (x, rate.max(1e-9).ln()));
        (y >= rate.ln() && v < rate.ln()).then(|| x + (u - x) * (y - rate.ln()) / (y - v))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::{LaneRng, SeedableRng};

    /// Every state, each with its |y − Hx|².
    fn naive(frame: &Frame<4>) -> (Soft, usize) {
        let (h, y, noise) = parts(frame);
        let amplitudes = amplitudes(frame.modulation);
        let arity = amplitudes.len();
        let digit = |state: usize, site: usize| state / arity.pow(site as u32) % arity;
        let energy = |state: usize| {
            let x = DVector::from_fn(4, |site, _| amplitudes[digit(state, site)]);
            (&y - &h * x).norm_squared() / noise
        };
        let energies: Vec<f64> = (0..arity.pow(4)).map(energy).collect();
        let best = (0..energies.len()).min_by(|&a, &b| energies[a].total_cmp(&energies[b])).unwrap();
        let of = |site: usize| {
            ratios(frame.modulation, |value| {
                let states = (0..energies.len()).filter(|&state| digit(state, site) == value);
                states.map(|state| (energies[best] - energies[state]).exp()).sum()
            })
        };
        ((0..4).map(of).collect(), best)
    }

    #[test]
    fn the_tree_has_what_all_states_have() {
        for seed in 0..40 {
            let (modulation, noise) = [(Modulation::Qpsk, 1.0), (Modulation::Qam16, 0.2)][seed as usize % 2];
            let frame = Frame::<4>::draw(modulation, noise, 0.5, &mut LaneRng::seed_from_u64(seed)).0;
            let far = |frame: &Frame<4>, expected: &Soft| {
                let found = exact(frame);
                let pairs = found.iter().flatten().zip(expected.iter().flatten());
                // Ratios of states that were left out are bounded alone.
                pairs.filter(|(_, b)| b.abs() < 15.0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            let (expected, best) = naive(&frame);
            assert!(far(&frame, &expected) < 1e-4, "{seed}: {}", far(&frame, &expected));
            let state = most_likely(&frame);
            let word = state.iter().rev().fold(0, |word, k| word * modulation.arity() + k);
            assert_eq!(word, best);
            // Negative control: the power of the noise wrong by 2.
            assert!(far(&Frame { noise: 2.0 * noise, ..frame }, &expected) > 0.1);
        }
    }

    #[test]
    fn mmse_of_one_sender_is_exact() {
        for seed in 0..20 {
            let frame = Frame::<2>::draw(Modulation::Qam16, 0.3, 0.0, &mut LaneRng::seed_from_u64(seed)).0;
            for (a, b) in mmse(&frame).iter().flatten().zip(exact(&frame).iter().flatten()) {
                assert!((a - b).abs() < 1e-4 || a.abs() > 15.0, "{a} {b}");
            }
        }
    }

    #[test]
    fn curves_cross_where_they_should() {
        let curve = [(10.0, 0.1), (12.0, 0.01), (14.0, 0.001)];
        assert!((crossing(&curve, 0.01_f64.sqrt() * 0.1_f64.sqrt()).unwrap() - 11.0).abs() < 1e-9);
        assert_eq!(crossing(&curve, 1e-4), None);
    }
}
