//! What several chains of one scalar say: effective sample size, R̂, the error of the mean, and whether two samplers
//! differ.

use crate::unit::Track;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlannerScalar};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use std::sync::Arc;

/// Effective sample sizes of chains of one length: the Fourier transforms are planned once.
pub struct Sizes {
    length: usize,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Sizes {
    /// For chains of so many values.
    #[must_use]
    pub fn new(length: usize) -> Self {
        let mut planner = FftPlannerScalar::new(); // not compiled for every width of vectors
        let size = smooth(2 * length);
        Self { length, forward: planner.plan_fft_forward(size), inverse: planner.plan_fft_inverse(size) }
    }

    /// The effective sample size of all chains together, and of each alone: see [`effective_size`].
    ///
    /// # Panics
    /// Where a chain has another length.
    #[must_use]
    pub fn of(&self, chains: &[Vec<f64>]) -> (Option<f64>, Vec<Option<f64>>) {
        let covariances = self.autocovariances(chains);
        let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
        let alone = covariances.iter().zip(&means).map(|(one, mean)| size(&[one], &[*mean]));
        let alone = alone.collect();
        let all: Vec<&Vec<f64>> = covariances.iter().collect();
        (size(&all, &means), alone)
    }

    /// The autocovariances of every chain at every lag, 1/n in front. They are made by Fourier transforms of
    /// sequences padded to twice their length, two chains at a time as real and imaginary part.
    fn autocovariances(&self, chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let zero = Complex::new(0.0, 0.0);
        let size = self.forward.len();
        let room = self.forward.get_inplace_scratch_len().max(self.inverse.get_inplace_scratch_len());
        let (mut wave, mut power, mut scratch) = (vec![zero; size], vec![zero; size], vec![zero; room]);
        let mut covariances = Vec::with_capacity(chains.len());
        for pair in chains.chunks(2) {
            wave.fill(zero);
            for (index, chain) in pair.iter().enumerate() {
                assert_eq!(chain.len(), self.length, "chains of one length");
                let mean = mean(chain);
                for (slot, value) in wave.iter_mut().zip(chain) {
                    let part = if index == 0 { &mut slot.re } else { &mut slot.im };
                    *part = value - mean;
                }
            }
            self.forward.process_with_scratch(&mut wave, &mut scratch);
            // Of a + ib: F(a)ₖ = ½(Fₖ + F̄₋ₖ), F(b)ₖ = (Fₖ − F̄₋ₖ)/2i; the powers of both go back as one, too.
            for (k, slot) in power.iter_mut().enumerate() {
                let (here, mirror) = (wave[k], wave[(size - k) % size].conj());
                *slot = Complex::new(0.25 * (here + mirror).norm_sqr(), 0.25 * (here - mirror).norm_sqr());
            }
            self.inverse.process_with_scratch(&mut power, &mut scratch);
            let scale = 1.0 / (size as f64 * self.length as f64);
            let lags = || power.iter().take(self.length);
            let parts: [Vec<f64>; 2] =
                [lags().map(|c| c.re * scale).collect(), lags().map(|c| c.im * scale).collect()];
            for (chain, part) in pair.iter().zip(parts) {
                // A chain that never changes has no variance at all, not the rounding of its neighbour's.
                let still = chain.iter().all(|value| *value == chain[0]);
                covariances.push(if still { vec![0.0; self.length] } else { part });
            }
        }
        covariances
    }
}

/// The effective sample size of all chains together, `mn / τ` (Geyer 1992, initial monotone sequence; the chains
/// combined as in Vehtari et al. 2021, Eqs. 10–13). Here `τ = −1 + 2 Σ P_k` over the pairs `P_k = ρ_2k + ρ_2k+1`
/// while they are positive, none larger than the one before. Chains that disagree with each other lower it. At most
/// `mn log₁₀(mn)`, for chains whose values alternate.
///
/// Autocorrelations may dip and come back. So where the sum over a window of lags has a larger τ, by two of its standard
/// errors, that one counts.
///
/// Chains may alternate and still disagree, as replicas do that only change places. So where the means of the chains are
/// farther apart than this says, by a χ² test at 10⁻⁴, the size is that by the means alone.
///
/// `None` for fewer than four values a chain, chains of unequal length, or a scalar that never changes.
#[must_use]
pub fn effective_size(chains: &[Vec<f64>]) -> Option<f64> {
    Sizes::new(length(chains)?).of(chains).0
}

/// The same from the autocovariances and the means of the chains.
fn size(covariances: &[&Vec<f64>], means: &[f64]) -> Option<f64> {
    let n = covariances.first()?.len();
    let covariance = |lag: usize| covariances.iter().map(|one| one[lag]).sum::<f64>() / means.len() as f64;
    size_by(n, means, covariance, n).flatten()
}

/// The same from the mean autocovariance at a lag, of chains of n values; none where more than `most` lags are needed.
fn size_by(n: usize, means: &[f64], covariance: impl Fn(usize) -> f64, most: usize) -> Option<Option<f64>> {
    if n < 4 {
        return Some(None);
    }
    let m = means.len();
    let (count, total) = (n as f64, (m * n) as f64);
    let within = covariance(0) * count / (count - 1.0);
    let variance = covariance(0) + if m > 1 { deviation(means).powi(2) } else { 0.0 };
    if variance <= 0.0 || variance.is_nan() {
        return Some(None);
    }
    let rho = |lag: usize| if lag == 0 { 1.0 } else { 1.0 - (within - covariance(lag)) / variance };
    let (mut sum, mut before) = (0.0, f64::INFINITY);
    for first in (0..n - 1).step_by(2) {
        if first >= most {
            return None;
        }
        let pair = rho(first) + rho(first + 1);
        if pair <= 0.0 || pair.is_nan() {
            break;
        }
        before = pair.min(before);
        sum += before;
    }
    let tau = (2.0 * sum - 1.0).max(1.0 / total.log10());
    let tau = windows(n, m, rho).fold(
        tau,
        |tau, (other, noise)| {
            if other > tau * (1.0 + 2.0 * noise) { other } else { tau }
        },
    );
    Some(Some((total / tau).min(by_means(variance, means, total / tau))))
}

/// The first window, in lags.
const WINDOW: usize = 16;
/// Products of lags and draws of a chain that a window is made of, and the lags of one of long chains.
const WIDE: (usize, usize) = (1_000_000, 64);

/// τ by sums over windows of lags, and their relative standard errors by chance (Sokal 1997, Eq. 3.19). Each window is twice as
/// wide as the one before, and they end at a quarter of a chain. Sums to two neighbouring lags are averaged, for chains that
/// alternate. A sum that ends where autocorrelations dip misses what comes behind: sites that follow slow ones a little, and
/// replicas that change places in turns.
fn windows(n: usize, m: usize, rho: impl Fn(usize) -> f64) -> impl Iterator<Item = (f64, f64)> {
    let widest = (n / 4).min((WIDE.0 / n).max(WIDE.1));
    let mut sums = vec![0.0; widest];
    let mut sum = 0.5;
    for (lag, slot) in sums.iter_mut().enumerate().skip(1) {
        sum += rho(lag);
        *slot = 2.0 * sum;
    }
    let widths = std::iter::successors(Some(WINDOW), |width| Some(2 * width));
    widths
        .take_while(move |&width| width < widest)
        .map(move |width| (0.5 * (sums[width - 1] + sums[width]), (4.0 * width as f64 / (m * n) as f64).sqrt()))
}

/// The level of the test of the means.
const APART: f64 = 1e-4;

/// The effective size by the means of the chains, where a test says that they are farther apart than `size` has it; else
/// without a bound.
fn by_means(variance: f64, means: &[f64], size: f64) -> f64 {
    let freedom = means.len() as f64 - 1.0;
    if freedom < 1.0 {
        return f64::INFINITY;
    }
    let own = variance * means.len() as f64 / deviation(means).powi(2);
    let apart = ChiSquared::new(freedom).is_ok_and(|law| 1.0 - law.cdf(freedom * size / own) < APART);
    if apart { own } else { f64::INFINITY }
}

/// The potential scale reduction of half chains (Gelman et al. 2013, §11.4): `√(1 + (B/W − 1)/n)`. Near 1 where
/// all halves of all chains tell the same; 1.01 is a usual limit.
///
/// `None` as for [`effective_size`]; infinite where every half stays at one value, but not all at the same.
#[must_use]
pub fn split_r_hat(chains: &[Vec<f64>]) -> Option<f64> {
    let half = length(chains)? / 2;
    if half < 2 {
        return None;
    }
    let halves = chains.iter().flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]]);
    let (means, variances): (Vec<f64>, Vec<f64>) =
        halves.map(|part| (mean(part), deviation(part).powi(2))).unzip();
    r_hat(half as f64, &means, &variances)
}

/// The same from the means and the variances of the halves, of so many values each.
#[must_use]
pub fn r_hat(count: f64, means: &[f64], variances: &[f64]) -> Option<f64> {
    let (within, between) = (mean(variances), deviation(means).powi(2));
    if within + between == 0.0 {
        return None;
    }
    // What chains that stay differ by within themselves is rounding.
    if within < 1e-20 * between {
        return Some(f64::INFINITY);
    }
    Some(((count - 1.0) / count + between / within).sqrt())
}

/// What chains of one scalar say (Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    /// The mean over all chains.
    pub mean: f64,
    /// The standard deviation over all chains. NaN where energies differ, but by no more than their rounding; as JSON that is
    /// null.
    #[serde(deserialize_with = "or_nan")]
    pub sd: f64,
    /// The Monte-Carlo standard error of the mean, `sd / √ESS`, with the effective sample size of the mean; none where the
    /// scalar never changes.
    pub mcse: Option<f64>,
    /// The effective sample size of the rank-normalised split chains.
    pub ess_bulk: Option<f64>,
    /// The smaller one of the effective sample sizes of the 5 % and the 95 % quantile.
    pub ess_tail: Option<f64>,
    /// The larger one of the rank-normalised split R̂ of the scalar and of its distance from the median. Near 1 where all
    /// halves of all chains agree; above 1.05 they do not. Infinite where each half stays at one value, but not all
    /// at the same; as JSON that is 1e308.
    #[serde(with = "infinite")]
    pub r_hat: Option<f64>,
}

/// How far apart equal energies of these draws may be told: a few steps of f32 at the largest of them.
pub(crate) fn rounding(tracks: &[Track]) -> f64 {
    let energies = tracks.iter().flat_map(|track| &track.energies);
    f64::from(4.0 * f32::EPSILON * energies.fold(0.0, |most: f32, energy| most.max(energy.abs())))
}

/// A number that may be NaN, from JSON, where it is null.
fn or_nan<'d, D: serde::Deserializer<'d>>(from: D) -> Result<f64, D::Error> {
    Option::deserialize(from).map(|value| value.unwrap_or(f64::NAN))
}

/// A number that may be infinite, as JSON.
pub(crate) fn bounded<S: serde::Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(value.min(infinite::INFINITE))
}

/// Numbers that may be infinite, as JSON: it has no infinity, and null is none.
pub(crate) mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) const INFINITE: f64 = 1e308;

    pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.min(INFINITE)).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<f64>, D::Error> {
        let read: Option<f64> = Option::deserialize(from)?;
        Ok(read.map(|value| if value >= INFINITE / 2.0 { f64::INFINITY } else { value }))
    }
}

/// Diagnoses chains of one length: transforms are planned once.
pub(crate) struct Diagnosis {
    halves: Sizes,
    normal: Normal,
    /// Draws after which a sampler does the same again.
    turn: usize,
}

impl Diagnosis {
    /// For chains of so many values.
    pub(crate) fn new(length: usize) -> Self {
        Self { halves: Sizes::new(length / 2), normal: Normal::standard(), turn: 1 }
    }

    /// For a sampler that does the same again after so many draws. Autocorrelations may rise within a turn, as those of
    /// replicas do that exchange clusters now and then. Sums over pairs of lags that must fall miss what comes after that. So
    /// means of blocks of whole turns are looked at.
    pub(crate) fn turns(self, turn: usize) -> Self {
        Self { turn, ..self }
    }

    /// Draws of the blocks that a half is cut into.
    fn block(&self) -> usize {
        (self.halves.length / BLOCKS).max(1).next_multiple_of(self.turn)
    }

    /// Whether blocks are to be looked at.
    fn is_cut(&self) -> bool {
        self.turn > 1 && self.halves.length >= 4 * self.block()
    }

    /// The effective sample size of halves of chains.
    fn size(&self, halves: &[Vec<f64>]) -> Option<f64> {
        if self.halves.length < 4 {
            return None;
        }
        if !self.is_cut() {
            return self.halves.of(halves).0;
        }
        let means = |half: &Vec<f64>| half.chunks_exact(self.block()).map(mean).collect();
        let blocks: Vec<Vec<f64>> = halves.iter().map(means).collect();
        by_blocks(spread(halves), &blocks)
    }

    /// What chains say.
    pub(crate) fn of(&self, chains: &[Vec<f64>]) -> Scalar {
        let count: usize = chains.iter().map(Vec::len).sum();
        let mean = chains.iter().flatten().sum::<f64>() / count as f64;
        let squares: f64 = chains.iter().flatten().map(|value| (value - mean).powi(2)).sum();
        let sd = (squares / (count as f64 - 1.0).max(1.0)).sqrt();
        let half = self.halves.length;
        let split = |chains: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let parts = chains.iter().flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]]);
            parts.map(<[f64]>::to_vec).collect()
        };
        let size = |chains: &[Vec<f64>]| self.size(chains);
        let plain = split(chains);
        let first = chains.iter().flatten().next().copied().unwrap_or(0.0);
        let other = chains.iter().flatten().copied().find(|&value| value != first);
        let Some(other) = other else {
            // Not by sums: those of equal numbers differ by rounding.
            return Scalar { mean: first, sd: 0.0, mcse: None, ess_bulk: None, ess_tail: None, r_hat: None };
        };
        if chains.iter().flatten().all(|&value| value == first || value == other) {
            // Ranks of two values are those values on another scale.
            let ess = size(&plain);
            let mcse = ess.map(|ess| sd / ess.sqrt());
            return Scalar { mean, sd, mcse, ess_bulk: ess, ess_tail: ess, r_hat: split_r_hat(chains) };
        }
        let ranked = self.ranked(chains);
        let mut sorted: Vec<f64> = chains.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[count / 2];
        let folded: Vec<Vec<f64>> =
            chains.iter().map(|chain| chain.iter().map(|value| (value - median).abs()).collect()).collect();
        let r_hats = [split_r_hat(&ranked), split_r_hat(&self.ranked(&folded))];
        let tail = |share: f64| {
            let level = sorted[((count as f64 * share) as usize).min(count - 1)];
            let below = |value: &f64| f64::from(u8::from(*value <= level));
            size(&split(&chains.iter().map(|chain| chain.iter().map(below).collect()).collect::<Vec<_>>()))
        };
        let least = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::min);
        Scalar {
            mean,
            sd,
            mcse: size(&plain).map(|ess| sd / ess.sqrt()),
            ess_bulk: size(&split(&ranked)),
            ess_tail: least(tail(0.05), tail(0.95)),
            r_hat: r_hats.into_iter().flatten().reduce(f64::max),
        }
    }

    /// What chains say of a site of two values, a bit a draw: autocovariances are counts of bits, as many as are needed.
    pub(crate) fn of_bits(&self, chains: &[&[u32]], draws: usize) -> Scalar {
        let half = self.halves.length;
        let halves =
            chains.iter().flat_map(|chain| [Half::new(chain, 0, half), Half::new(chain, draws - half, half)]);
        let halves: Vec<Half> = halves.collect();
        let ones: u64 = chains.iter().map(|chain| Half::new(chain, 0, draws).ones()).sum();
        let count = (chains.len() * draws) as f64;
        let share = ones as f64 / count;
        let sd = (count * share * (1.0 - share) / (count - 1.0).max(1.0)).sqrt();
        let means: Vec<f64> = halves.iter().map(|part| part.ones() as f64 / half as f64).collect();
        let covariance =
            |lag| halves.iter().map(|part| part.covariance(lag)).sum::<f64>() / halves.len() as f64;
        let lags = (COUNTED / half.div_ceil(64).max(1)).max(LAGS);
        let counted = if self.is_cut() { None } else { size_by(half, &means, covariance, lags) };
        let ess = counted.unwrap_or_else(|| {
            // Slow chains, too: the means of blocks of draws have the same error, and fewer lags.
            let blocks: Vec<Vec<f64>> = halves.iter().map(|part| part.blocks(self.block())).collect();
            by_blocks(covariance(0) + deviation(&means).powi(2), &blocks)
        });
        let variance = |p: &f64| half as f64 * p * (1.0 - p) / (half as f64 - 1.0);
        let r_hat = || r_hat(half as f64, &means, &means.iter().map(variance).collect::<Vec<f64>>());
        let mcse = ess.map(|ess| sd / ess.sqrt());
        let r_hat = if half < 2 { None } else { r_hat() };
        Scalar { mean: share, sd, mcse, ess_bulk: ess, ess_tail: ess, r_hat }
    }

    /// What chains say of an energy. Energies are running sums: those of equal states differ by rounding, chain by
    /// chain, and ranks would take that for an order. Energies within a thousandth of the standard deviation, or
    /// within `rounding` of each other, count as equal in ranks. Where all of them count as equal, the deviation is not
    /// known, unless they are the same number.
    pub(crate) fn of_energy(&self, chains: &[Vec<f64>], rounding: f64) -> Scalar {
        let mut order: Vec<(f64, usize, usize)> = Vec::new();
        for (chain, values) in chains.iter().enumerate() {
            order.extend(values.iter().enumerate().map(|(draw, &value)| (value, chain, draw)));
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: Vec<f64> = chains.concat();
        let (mean, sd) = (mean(&all), deviation(&all));
        let (mut steady, mut least) = (chains.to_vec(), f64::NEG_INFINITY);
        for (value, chain, draw) in order {
            if value - least > rounding.max(sd / 1000.0) {
                least = value;
            }
            steady[chain][draw] = least;
        }
        let steady = self.of(&steady);
        let is_constant = all.iter().all(|&value| value == all[0]);
        let sd = match steady.sd == 0.0 {
            true if is_constant => 0.0,
            true => f64::NAN,
            false => sd,
        };
        Scalar { mean, sd, ..steady }
    }

    /// Normal scores of the ranks over all chains; equal values share the mean of their ranks.
    fn ranked(&self, chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut order: Vec<(f64, usize, usize)> = Vec::new();
        for (chain, values) in chains.iter().enumerate() {
            order.extend(values.iter().enumerate().map(|(draw, &value)| (value, chain, draw)));
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut scores: Vec<Vec<f64>> = chains.iter().map(|chain| vec![0.0; chain.len()]).collect();
        let (count, mut from) = (order.len() as f64, 0);
        for equal in order.chunk_by(|a, b| a.0 == b.0) {
            let rank = from as f64 + (equal.len() as f64 + 1.0) / 2.0;
            let score = self.normal.inverse_cdf((rank - 0.375) / (count + 0.25));
            equal.iter().for_each(|&(_, chain, draw)| scores[chain][draw] = score);
            from += equal.len();
        }
        scores
    }
}

/// The effective sample size of values of this variance, by the means of blocks of them, a vector a chain.
fn by_blocks(variance: f64, blocks: &[Vec<f64>]) -> Option<f64> {
    Sizes::new(blocks[0].len()).of(blocks).0.map(|ess| ess * variance / spread(blocks))
}

/// The variance within chains of one length, 1/n in front, and that of their means.
fn spread(chains: &[Vec<f64>]) -> f64 {
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let squares = |(chain, mean): (&Vec<f64>, &f64)| chain.iter().map(|z| (z - mean).powi(2)).sum::<f64>();
    let within = chains.iter().zip(&means).map(squares).sum::<f64>();
    within / (chains.len() * chains[0].len()) as f64 + deviation(&means).powi(2)
}

/// Lags up to which autocovariances are counted one by one, at least.
const LAGS: usize = 16;

/// Words of each half in which bits are counted for that, at least.
const COUNTED: usize = 1280;

/// Blocks that a slow half of a chain is cut into, at least, where it has as many draws.
const BLOCKS: usize = 128;

/// A part of a chain of bits.
struct Half {
    words: Vec<u64>,
    /// Ones before each word, and in all.
    before: Vec<u64>,
    length: usize,
}

impl Half {
    fn new(chain: &[u32], first: usize, length: usize) -> Self {
        let word = |index: usize| u64::from(chain.get(index).copied().unwrap_or(0));
        let at = |bit: usize| {
            let (index, shift) = (bit / 32, bit % 32);
            let wide = word(index) | word(index + 1) << 32;
            let rest = if shift == 0 { 0 } else { word(index + 2) << (64 - shift) };
            wide >> shift | rest
        };
        let mut words: Vec<u64> = (0..length.div_ceil(64)).map(|index| at(first + 64 * index)).collect();
        if let Some(last) = words.last_mut().filter(|_| !length.is_multiple_of(64)) {
            *last &= (1 << (length % 64)) - 1;
        }
        let mut sum = 0;
        let mut before = vec![0];
        before.extend(words.iter().map(|word| {
            sum += u64::from(word.count_ones());
            sum
        }));
        Self { words, before, length }
    }

    fn ones(&self) -> u64 {
        self.before[self.words.len()]
    }

    /// Ones among the first bits.
    fn head(&self, bits: usize) -> u64 {
        let (index, rest) = (bits / 64, bits % 64);
        let part = self.words.get(index).map_or(0, |word| (word & ((1 << rest) - 1)).count_ones());
        self.before[index] + u64::from(part)
    }

    /// The means of whole blocks of so many draws.
    fn blocks(&self, draws: usize) -> Vec<f64> {
        let ones = |block: usize| self.head((block + 1) * draws) - self.head(block * draws);
        (0..self.length / draws).map(|block| ones(block) as f64 / draws as f64).collect()
    }

    /// The autocovariance at a lag, 1/n in front.
    fn covariance(&self, lag: usize) -> f64 {
        let (skip, shift) = (lag / 64, lag % 64);
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        let later = |index: usize| {
            let rest = if shift == 0 { 0 } else { word(index + skip + 1) << (64 - shift) };
            word(index + skip) >> shift | rest
        };
        let both =
            self.words.iter().enumerate().map(|(index, here)| u64::from((here & later(index)).count_ones()));
        let (both, left) = (both.sum::<u64>() as f64, self.length - lag);
        let ends = (self.head(left) + self.ones() - self.head(lag)) as f64;
        let p = self.ones() as f64 / self.length as f64;
        (both - p * ends + left as f64 * p * p) / self.length as f64
    }
}

/// What chains of one scalar, of one length, say.
///
/// # Panics
/// Where a chain has another length than the first, or there is no value.
#[must_use]
pub fn diagnose(chains: &[Vec<f64>]) -> Scalar {
    Diagnosis::new(chains[0].len()).of(chains)
}

/// The natural logarithm of the root of the mean square difference; −∞ for equal means.
#[must_use]
pub fn log_rmse(means: &[f64], exact: &[f64]) -> f64 {
    let squares: f64 = means.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    0.5 * (squares / means.len() as f64).ln()
}

/// Welch's t between two sets of independent values, with its degrees of freedom: whether their means differ.
///
/// ```
/// let (t, _) = bitmc_desktop::diagnose::welch(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]);
/// assert_eq!(t, 0.0);
/// ```
#[must_use]
pub fn welch(a: &[f64], b: &[f64]) -> (f64, f64) {
    let spread = |values: &[f64]| deviation(values).powi(2) / values.len() as f64;
    let (va, vb) = (spread(a), spread(b));
    let share = |v: f64, values: &[f64]| v * v / (values.len() as f64 - 1.0);
    let degrees = (va + vb).powi(2) / (share(va, a) + share(vb, b));
    ((mean(a) - mean(b)) / (va + vb).sqrt(), degrees)
}

/// The mean; NaN of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation, n − 1 in the denominator; 0 of a single value.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

/// The standard error of the mean of some independent values.
#[must_use]
pub fn standard_error(values: &[f64]) -> f64 {
    deviation(values) / (values.len() as f64).sqrt()
}

/// The middle value, of an even number the mean of the two; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get((sorted.len().max(1) - 1) / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) / 2.0)
}

/// The least size from this one on without a prime factor above 5. Transforms of these sizes are fast, and the next
/// power of two can be nearly twice as far.
fn smooth(least: usize) -> usize {
    let rest = |size: usize| [2, 3, 5].iter().fold(size, |rest, prime| divided(rest, *prime));
    (least.max(1)..).find(|&size| rest(size) == 1).unwrap_or(least)
}

/// Without the factor.
fn divided(mut number: usize, factor: usize) -> usize {
    while number.is_multiple_of(factor) {
        number /= factor;
    }
    number
}

/// The common length of the chains.
fn length(chains: &[Vec<f64>]) -> Option<usize> {
    let n = chains.first()?.len();
    chains.iter().all(|chain| chain.len() == n).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::{Diagnosis, Scalar, effective_size};

    /// Bits that stay as they are for about so many draws.
    fn chain(seed: u64, draws: usize, stays: u64) -> Vec<f64> {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut bit = 0.0;
        let mut next = || {
            if random() % stays == 0 {
                bit = f64::from(u8::from(random() % 3 == 0));
            }
            bit
        };
        (0..draws).map(|_| next()).collect()
    }

    fn same(a: &Scalar, b: &Scalar, within: f64) -> bool {
        let near = |a: Option<f64>, b: Option<f64>, within: f64| {
            a.zip(b).map_or(a.is_none() && b.is_none(), |(a, b)| (a - b).abs() <= within * b.abs())
        };
        near(Some(a.mean), Some(b.mean), 1e-9)
            && near(Some(a.sd), Some(b.sd), 1e-9)
            && near(a.mcse, b.mcse, within)
            && near(a.ess_bulk, b.ess_bulk, within)
            && near(a.r_hat, b.r_hat, 1e-9)
    }

    /// Chains that alternate look as if each draw said more than an independent one. Where their means are far apart, they do
    /// not.
    #[test]
    fn means_that_are_apart_bound_the_size() {
        let draws = 4000;
        let alternating = |shift: f64| -> Vec<Vec<f64>> {
            let chain = |seed: u64| {
                let noise = chain(seed, draws, 1);
                let value = |draw: usize| f64::from(u8::from(draw.is_multiple_of(2))) + 0.1 * noise[draw];
                (0..draws).map(|draw| value(draw) + shift * (seed % 4) as f64).collect()
            };
            (0..16).map(chain).collect()
        };
        let size = |chains: &[Vec<f64>]| effective_size(chains).unwrap();
        let (alike, apart) = (size(&alternating(0.0)), size(&alternating(0.03)));
        assert!(alike > 16.0 * draws as f64, "{alike}");
        // Means of standard deviation .034 beside values of .5.
        assert!((1_000.0..10_000.0).contains(&apart), "{apart}");
    }

    /// Chains of eight interleaved processes: autocorrelations are 0 but at every eighth lag. A sum that ends where they first
    /// are not positive has τ = 1 for 1.86.
    #[test]
    fn autocorrelations_that_dip_and_come_back_are_counted() {
        let (draws, phi) = (4000, 0.3);
        let all: Vec<Vec<f64>> = (1..17)
            .map(|seed| {
                let (coins, mut values) = (chain(seed, draws * 12, 1), vec![0.0; 8]);
                // Sums of twelve coins, nearly normal.
                let noise = |draw: usize| coins[12 * draw..12 * draw + 12].iter().sum::<f64>() - 4.0;
                let next = |draw: usize| {
                    values[draw % 8] = phi * values[draw % 8] + noise(draw);
                    values[draw % 8]
                };
                (0..draws).map(next).collect()
            })
            .collect();
        let truth = (16 * draws) as f64 * (1.0 - phi) / (1.0 + phi);
        let size = effective_size(&all).unwrap();
        assert!((size / truth - 1.0).abs() < 0.2, "{size} for {truth}");
    }

    #[test]
    fn a_spread_within_the_rounding_is_not_known() {
        let diagnosis = Diagnosis::new(8);
        let of = |other: f64| {
            let chain = |seed| chain(seed, 8, 1).iter().map(|bit| 1e6 + other * bit).collect();
            diagnosis.of_energy(&(1..5).map(chain).collect::<Vec<_>>(), 0.25)
        };
        assert_eq!(of(0.0).sd, 0.0);
        assert!(of(0.125).sd.is_nan() && of(0.125).r_hat.is_none());
        assert!((0.4..0.6).contains(&of(1.0).sd) && of(1.0).r_hat.is_some());
        let json = serde_json::to_string(&of(0.125)).unwrap();
        assert!(json.contains("\"sd\":null"), "{json}");
        assert!(serde_json::from_str::<Scalar>(&json).unwrap().sd.is_nan());
    }

    #[test]
    fn bits_say_what_their_values_say() {
        // Slow chains are cut into blocks of draws, where there are as many: nearly the same.
        for (draws, stays, within) in [
            (8, 1, 1e-9),
            (9, 2, 1e-9),
            (63, 3, 1e-9),
            (129, 1, 1e-9),
            (130, 7, 1e-9),
            (250, 30, 1e-9),
            (250, u64::MAX, 1e-9),
            (4001, 100, 0.05),
            (20_000, 1000, 0.05),
        ] {
            let chains: Vec<Vec<f64>> = (1..5).map(|seed| chain(seed, draws, stays)).collect();
            let packed = |chain: &Vec<f64>| -> Vec<u32> {
                let word = |bits: &[f64]| bits.iter().rev().fold(0, |word, &bit| word << 1 | bit as u32);
                chain.chunks(32).map(word).collect()
            };
            let packed: Vec<Vec<u32>> = chains.iter().map(packed).collect();
            let packed: Vec<&[u32]> = packed.iter().map(|words| &words[..]).collect();
            let diagnosis = Diagnosis::new(draws);
            let (values, bits) = (diagnosis.of(&chains), diagnosis.of_bits(&packed, draws));
            assert!(same(&bits, &values, within), "{draws} draws, {stays}: {bits:?} for {values:?}");
            // One draw more of a half is seen, where the bits change.
            let mut other = chains.clone();
            other[0].rotate_left(1);
            other[0][draws / 2] = 1.0 - other[0][draws / 2];
            assert!(!same(&bits, &diagnosis.of(&other), within), "{draws} draws, {stays}");
        }
    }
}
