//! Sites of very many values: 64 sites of 30,522 in less than a megabyte, drawn from their exact distribution; and
//! windows on the whole numbers.

use bitmc::energy::{BaseDistribution, EnergyError};
use bitmc::lane::{Bits, Block};
use bitmc::step::Curvature;
use bitmc::{
    Energy, Function, Gibbs, Kernel, LaneRng, Langevin, Layout, Memory, Move, Packed, Plain, SeedableRng,
};
use bitmc_host_tests::heap;
use bitmc_host_tests::stat::{Verdict, chi_square};
use bitmc_host_tests::tolerance::ROUNDING;

const VALUES: usize = 30_522;

/// Independent sites, `E(x) = −Σ w(xᵢ)`.
struct Words {
    sites: usize,
    log_weights: Vec<f32>,
}

impl Words {
    /// Weights over nine orders of magnitude, all at `level`.
    fn new(sites: usize, level: f32) -> Self {
        let weight = |k: usize| level + ((k * 7919) % 2048) as f32 / 100.0;
        Self { sites, log_weights: (0..VALUES).map(weight).collect() }
    }
}

impl Function for Words {
    fn layout(&self) -> Layout {
        Layout::categorical(self.sites, VALUES)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        -x.values().map(|value| self.log_weights[value as usize]).sum::<f32>()
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        0.0
    }

    fn component(&self, _x: Packed<'_>, _site: usize, value: usize) -> f32 {
        -self.log_weights[value]
    }
}

/// With β = 1 and c = 0 the proposal of independent sites is their distribution itself: every step is an exact draw.
fn draws(words: &Words, steps: usize, adjusted: bool) -> Vec<usize> {
    let energy = Plain(words);
    let sampler = Langevin::new(1.0, Curvature::Same(0.0), adjusted).unwrap();
    let mut rng = LaneRng::seed_from_u64(41);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let mut seen = Vec::new();
    for _ in 0..steps {
        let info = chain.step(&sampler, &mut rng);
        assert!(info.accepted && !info.fault, "{info:?}");
        // Two float64-exact distributions cancel: what is left is the rounding of sums of 64 terms.
        assert!(!adjusted || info.log_ratio.abs() < 1e-3, "{info:?}");
        seen.extend(chain.state().values().map(|value| value as usize));
    }
    seen
}

/// Chi-square by weight, and by where a value stands.
fn judge(what: &str, words: &Words, seen: &[usize], temperature: f64) -> Verdict {
    let level = words.log_weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weight = |k: usize| (f64::from(words.log_weights[k] - level) / temperature).exp();
    let total: f64 = (0..VALUES).map(weight).sum();
    let cells = |of: &dyn Fn(usize) -> usize, count: usize| {
        let (mut distribution, mut counts) = (vec![0.0; count], vec![0; count]);
        (0..VALUES).for_each(|k| distribution[of(k)] += weight(k) / total);
        seen.iter().for_each(|&k| counts[of(k)] += 1);
        chi_square(what, &counts, &distribution)
    };
    Verdict::worst([cells(&|k| (k * 7919) % 2048, 2048), cells(&|k| k / 509, 60)])
}

#[test]
fn sixty_four_sites_of_thirty_thousand_values() {
    let words = Words::new(64, 0.0);
    let layout = words.layout();
    let bytes = 64 * Memory::weights(layout) + 4 * Memory::words(layout) + 64 * Memory::cache(1);
    assert!(bytes < 1 << 20, "{bytes} bytes");
    let seen = draws(&words, 100, true);
    judge("64 sites of 30,522 values", &words, &seen, 1.0).must_pass();
    judge("a distribution 25 % too warm", &words, &seen, 1.25).must_fail();
}

#[test]
fn logits_of_ten_thousand() {
    for level in [-1e4, 1e4] {
        let words = Words::new(16, level);
        judge(&format!("logits near {level}"), &words, &draws(&words, 400, false), 1.0).must_pass();
    }
}

/// Independent Poisson counts less their means, `E = Σ ln (x+m)! − (x+m) ln λ`, on windows that start at −m; the
/// gradient is that of `ln Γ`, `ψ(n+1) ≈ ln(n + ½)`.
struct Counts {
    means: [i32; 3],
    offsets: [i32; 3],
    arity: usize,
}

impl Counts {
    fn new(means: [i32; 3], arity: usize) -> Self {
        Self { means, offsets: means.map(|mean| -mean), arity }
    }

    /// `E` of one count: its surprise, up to a constant.
    fn surprise(mean: i32, count: u32) -> f64 {
        (1..=count).map(|k| f64::from(k).ln()).sum::<f64>() - f64::from(count) * f64::from(mean).ln()
    }
}

impl Function for Counts {
    fn layout(&self) -> Layout {
        Layout::ordinal(3, self.arity)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        x.values().zip(self.means).map(|(count, mean)| Self::surprise(mean, count)).sum::<f64>() as f32
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        ((f64::from(x.get(site)) + 0.5) / f64::from(self.means[site])).ln() as f32
    }

    fn offsets(&self) -> Option<&[i32]> {
        Some(&self.offsets)
    }
}

/// A long chain's histogram of each site, thinned until its values are as good as independent, against the
/// exact distribution. `taken` is the distribution that it is taken for.
fn counts(what: &str, (target, taken): (&Counts, &Counts), window: u32, adjusted: bool) -> Verdict {
    let energy = Plain(target);
    let curvature = Curvature::Same(if window > 4 { 0.02 } else { 0.1 });
    let sampler = Langevin::new(0.5, curvature, adjusted).unwrap().within(window);
    let mut rng = LaneRng::seed_from_u64(43);
    let words: Vec<u32> = {
        let mut words = vec![0; energy.0.layout().words()];
        for (site, &mean) in target.means.iter().enumerate() {
            bitmc::packed::set(energy.0.layout(), &mut words, site, mean as u32).unwrap();
        }
        words
    };
    let mut chain = heap::chain(&energy, &words).unwrap();
    let mut histograms = [[0u64; 400]; 3];
    let mut farthest = 0;
    for _ in 0..4_000 {
        for _ in 0..if window > 4 { 60 } else { 150 } {
            let before: Vec<i64> = chain.integers().collect();
            chain.step(&sampler, &mut rng);
            let moves = chain.integers().zip(before).map(|(after, before)| (after - before).unsigned_abs());
            farthest = farthest.max(moves.max().unwrap());
        }
        for ((site, value), mean) in chain.integers().enumerate().zip(target.means) {
            histograms[site][(value + i64::from(mean)) as usize] += 1;
        }
    }
    assert!(farthest <= u64::from(window) && farthest >= u64::from(window.min(3)), "{farthest}");
    Verdict::worst(histograms.iter().zip(taken.means).map(|(histogram, mean)| {
        let distribution: Vec<f64> = (0..400).map(|k| -Counts::surprise(mean, k)).collect();
        let most = distribution.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = distribution.iter().map(|l| (l - most).exp()).sum();
        let distribution: Vec<f64> = distribution.iter().map(|l| (l - most).exp() / total).collect();
        chi_square(what, histogram, &distribution)
    }))
}

#[test]
fn windows_on_the_whole_numbers() {
    let target = Counts::new([3, 20, 90], 60_000);
    counts("Poisson, moves of at most 3", (&target, &target), 3, true).must_pass();
    counts("Poisson, moves of at most 20", (&target, &target), 20, true).must_pass();
    let other = Counts::new([3, 20, 92], 60_000);
    counts("a mean of 90 taken for 92", (&target, &other), 20, true).must_fail();
    counts("without its test", (&target, &target), 20, false).must_fail();
    let narrow = Counts::new([3, 20, 90], 256);
    counts("Poisson, 256 values", (&narrow, &narrow), 20, true).must_pass();
}

/// One site, `E(x) = −ln w(x)`: two likely values, and a tail of values each too rare for the last digit of a float.
struct Tail {
    log_weights: Vec<f32>,
}

impl Tail {
    fn new(values: usize) -> Self {
        let weight = |k: usize| [1.0f32, 0.9].get(k).copied().unwrap_or(2.5e-8).ln();
        Self { log_weights: (0..values).map(weight).collect() }
    }

    /// Probabilities of the two likely values and of the tail.
    fn distribution(&self) -> Vec<f64> {
        let weights: Vec<f64> = self.log_weights.iter().map(|&w| f64::from(w).exp()).collect();
        let sum: f64 = weights.iter().sum();
        vec![weights[0] / sum, weights[1] / sum, weights[2..].iter().sum::<f64>() / sum]
    }

    fn cell(value: u32) -> usize {
        value.min(2) as usize
    }
}

impl Energy for Tail {
    fn layout(&self) -> Layout {
        Layout::categorical(1, self.log_weights.len())
    }

    fn cache_len(&self) -> usize {
        0
    }

    fn init(&self, x: Packed<'_>, _cache: &mut [Bits]) -> Result<f32, EnergyError> {
        Ok(-self.log_weights[x.get(0) as usize])
    }

    fn gradient(&self, _: Packed<'_>, _: &[Bits], _: std::ops::Range<usize>, out: &mut [Block]) {
        out.as_flattened_mut().iter_mut().zip(&self.log_weights).for_each(|(out, &w)| *out = -w);
    }

    fn shift(&self, step: &Move<'_>, _cache: &mut [Bits]) -> f32 {
        step.changes().map(|c| self.log_weights[c.from as usize] - self.log_weights[c.to as usize]).sum()
    }

    fn differences(&self, words: &mut [u32], _cache: &[Bits], _site: usize, out: &mut [f32]) {
        let here = self.log_weights[Packed::new(self.layout(), words).unwrap().get(0) as usize];
        out.iter_mut().zip(&self.log_weights).for_each(|(out, &w)| *out = here - w);
    }
}

/// Steps that are each a draw of the only site.
fn tail<K: Kernel<Tail>>(what: &str, energy: &Tail, kernel: &K, steps: usize) -> Verdict {
    let mut rng = LaneRng::seed_from_u64(44);
    let mut chain = heap::chain(energy, &[0]).unwrap();
    let mut counts = [0u64; 3];
    for _ in 0..steps {
        let info = chain.step(kernel, &mut rng);
        assert!(info.accepted && !info.fault);
        counts[Tail::cell(chain.state().get(0))] += 1;
    }
    chi_square(what, &counts, &energy.distribution())
}

#[test]
fn a_long_tail_is_drawn() {
    let energy = Tail::new(65_536);
    let langevin = Langevin::new(1.0, Curvature::Same(0.0), false).unwrap();
    tail("a tail by Gibbs", &energy, &Gibbs::systematic(), 40_000).must_pass();
    tail("a tail by Langevin", &energy, &langevin, 40_000).must_pass();
    // A sum in one float: the tail is lost.
    let sum = energy.log_weights.iter().fold(0.0f32, |sum, w| sum + w.exp());
    assert_eq!(sum, 1.9);
    let lost = [40_000.0 / 1.9, 40_000.0 * 0.9 / 1.9, 0.0].map(|count: f64| count.round() as u64);
    chi_square("a tail that is lost", &lost, &energy.distribution()).must_fail();
}

#[test]
fn conditionals_of_long_tails() {
    for values in [65, 30_522, 65_536] {
        let energy = Tail::new(values);
        let mut chain = heap::chain(&energy, &[1]).unwrap();
        let mut log_p = vec![f32::NAN; values];
        assert!(!Gibbs::conditional(chain.ring(), 0, &mut log_p));
        let distribution = energy.distribution();
        let exact = |value: usize| {
            (distribution[value.min(2)] / if value < 2 { 1.0 } else { values as f64 - 2.0 }).ln()
        };
        let off = |value: usize| (f64::from(log_p[value]) - exact(value)).abs();
        let most = (0..values).map(off).fold(0.0, f64::max);
        // Logarithms up to 18 are rounded to 10⁻⁶; the tail is 8·10⁻⁴ of the mass of 65,536 values.
        assert!(most <= 4e-6, "{values}: {most}");
    }
}

#[test]
fn a_base_of_many_values() {
    for (values, exact) in
        [(30_522, (1.9f64 + 30_520.0 * 2.5e-8).ln()), (65_536, (1.9f64 + 65_534.0 * 2.5e-8).ln())]
    {
        let energy = Tail::new(values);
        let found = BaseDistribution::new(&energy, &energy.log_weights).unwrap().log_z();
        // A sum of many values is right within 67 roundings.
        assert!((f64::from(found) - exact).abs() <= 67.0 * ROUNDING, "{found} {exact}");
        // A sum in one float.
        assert!((1.9f64.ln() - exact).abs() > 1e-4);
    }
    // Draws of every value; `warm` is the temperature of the distribution that they are taken for.
    let mut rng = LaneRng::seed_from_u64(45);
    let mut source = bitmc_host_tests::models::Source::new(45);
    let energy = Tail { log_weights: (0..300).map(|_| source.normal(1.5)).collect() };
    let base = BaseDistribution::new(&energy, &energy.log_weights).unwrap();
    let mut counts = vec![0u64; 300];
    for _ in 0..200_000 {
        let mut words = [0];
        base.draw(&mut rng, &mut words);
        counts[words[0] as usize] += 1;
    }
    let distribution = |warm: f64| {
        let weights: Vec<f64> = energy.log_weights.iter().map(|&w| (f64::from(w) / warm).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect::<Vec<_>>()
    };
    chi_square("a base of 300 values", &counts, &distribution(1.0)).must_pass();
    chi_square("a base 2 % too warm", &counts, &distribution(1.02)).must_fail();
}
