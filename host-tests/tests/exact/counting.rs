//! The probabilities with which values are drawn, counted over every word that the generator can give, beside those with
//! which they are scored.
//!
//! A draw is a monotone function of the words: where its value changes is found by bisection, and the words between two
//! changes are counted.

use bitmc::step::Curvature;
use bitmc::{Energy, Function, Gibbs, Kernel, Langevin, Layout, Packed, Plain};
use bitmc_host_tests::heap::{self, HeapChain};
use bitmc_host_tests::models::Source;
use core::convert::Infallible;
use rand_core::{TryRng, utils};

/// One site, `E(x) = −ln w(x)`.
struct Site {
    log_weights: Vec<f32>,
}

impl Function for Site {
    fn layout(&self) -> Layout {
        Layout::categorical(1, self.log_weights.len())
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        -self.log_weights[x.get(0) as usize]
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        0.0
    }

    fn component(&self, _x: Packed<'_>, _site: usize, value: usize) -> f32 {
        -self.log_weights[value]
    }
}

/// Words that are given, and after them the same one for ever.
struct Script {
    words: Vec<u32>,
    next: usize,
}

impl Script {
    fn word(&mut self) -> u32 {
        self.next += 1;
        self.words.get(self.next - 1).copied().unwrap_or(1 << 31)
    }
}

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for piece in bytes.chunks_mut(4) {
            piece.copy_from_slice(&self.word().to_le_bytes()[..piece.len()]);
        }
        Ok(())
    }
}

/// How a sampler draws the only site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draws {
    Langevin,
    Gibbs,
}

const BOTH: [Draws; 2] = [Draws::Langevin, Draws::Gibbs];

struct Trial<'e> {
    chain: HeapChain<'e, Plain<Site>>,
    start: Vec<u32>,
    values: usize,
    likeliest: usize,
    draws: Draws,
}

/// With β = 1 and c = 0 the proposal is the distribution itself.
fn langevin() -> Langevin<'static> {
    Langevin::new(1.0, Curvature::Same(0.0), false).unwrap()
}

impl<'e> Trial<'e> {
    fn new(energy: &'e Plain<Site>, draws: Draws) -> Self {
        let weights = &energy.0.log_weights;
        let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let likeliest = weights.iter().position(|&w| w == most).unwrap();
        let start = heap::pack_in(energy.layout(), &[likeliest as f64]);
        Self { chain: heap::chain(energy, &start).unwrap(), start, values: weights.len(), likeliest, draws }
    }

    fn draw(&mut self, words: Vec<u32>) -> usize {
        self.chain.restart(Packed::new(self.chain.model().layout(), &self.start).unwrap()).unwrap();
        let mut script = Script { words, next: 0 };
        fn step<K: Kernel<Plain<Site>>>(chain: &mut HeapChain<'_, Plain<Site>>, kernel: &K, rng: &mut Script) {
            assert!(!chain.step(kernel, rng).fault);
        }
        match self.draws {
            Draws::Langevin => step(&mut self.chain, &langevin(), &mut script),
            Draws::Gibbs => step(&mut self.chain, &Gibbs::systematic(), &mut script),
        }
        self.chain.state().get(0) as usize
    }

    /// The probabilities as they are scored.
    fn scored(&mut self) -> Vec<f64> {
        self.chain.restart(Packed::new(self.chain.model().layout(), &self.start).unwrap()).unwrap();
        let layout = self.chain.model().layout();
        if self.draws == Draws::Gibbs {
            let mut log_p = vec![f32::NAN; self.values];
            assert!(!Gibbs::conditional(self.chain.ring(), 0, &mut log_p));
            return log_p.into_iter().map(|log_p| f64::from(log_p).exp()).collect();
        }
        let mut of = |value: usize| {
            let to = heap::pack_in(layout, &[value as f64]);
            let to = Packed::new(layout, &to).unwrap();
            f64::from(langevin().transition(self.chain.ring(), to).unwrap().log_forward).exp()
        };
        (0..self.values).map(&mut of).collect()
    }

    /// The probabilities as they are drawn, by one uniform: 64 bits, of which `kept` are looked at. First come the
    /// values other than the likeliest.
    fn drawn_by_one(&mut self, kept: u32) -> Vec<f64> {
        let (likeliest, last) = (self.likeliest, self.values - 1);
        let rank = |value: usize| match value {
            value if value == likeliest => last,
            value => value - usize::from(value > likeliest),
        };
        let mask = u64::MAX << (64 - kept);
        let of = |trial: &mut Self, word: u64| {
            let word = word & mask;
            let mut words = vec![1 << 31; 17];
            (words[0], words[16]) = ((word >> 32) as u32, word as u32);
            rank(trial.draw(words))
        };
        let mut by_rank = vec![0.0; self.values];
        for (rank, _, measure) in intervals(|word| of(self, word)) {
            by_rank[rank] = measure;
        }
        (0..self.values).map(|value| by_rank[rank(value)]).collect()
    }

    /// The same by three levels of 64 bits: 1,024 values, sixteen values, one value.
    fn drawn_by_levels(&mut self) -> Vec<f64> {
        // Gibbs takes a uniform for each of sixteen sites before.
        let before = if self.draws == Draws::Gibbs { 16 } else { 0 };
        let mut drawn = vec![0.0; self.values];
        let mut draw = |shares: [u64; 3]| {
            let mut words = vec![1 << 31; before];
            words.extend(shares.iter().flat_map(|share| [*share as u32, (share >> 32) as u32]));
            self.draw(words)
        };
        for (_, first, chunk) in intervals(|share| draw([share, 0, 0]) / 1024) {
            for (_, second, block) in intervals(|share| draw([first, share, 0]) / 16) {
                for (value, _, lane) in intervals(|share| draw([first, second, share])) {
                    drawn[value] = chunk * block * lane;
                }
            }
        }
        drawn
    }
}

/// The values of a monotone function of a word, each with its first word and its share of all words.
fn intervals(mut of: impl FnMut(u64) -> usize) -> Vec<(usize, u64, f64)> {
    let mut found = Vec::new();
    let (mut first, end) = (0u128, 1u128 << 64);
    while first < end {
        let value = of(first as u64);
        let (mut inside, mut outside) = (first, end);
        while outside - inside > 1 {
            let middle = (inside + outside) / 2;
            if of(middle as u64) == value { inside = middle } else { outside = middle }
        }
        found.push((value, first as u64, (outside - first) as f64 / end as f64));
        first = outside;
    }
    let mut seen: Vec<usize> = found.iter().map(|&(value, ..)| value).collect();
    assert!(seen.is_sorted(), "not monotone: {seen:?}");
    seen.dedup();
    assert_eq!(seen.len(), found.len());
    found
}

fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| 0.5 * (a - b).abs()).sum()
}

/// The largest relative difference.
fn worst(drawn: &[f64], scored: &[f64]) -> f64 {
    drawn.iter().zip(scored).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
}

/// Log weights: over a few orders of magnitude, over many, all alike, and a likely pair over a long tail.
fn weights(values: usize, number: usize, source: &mut Source) -> Vec<f32> {
    let mut weights: Vec<f32> = match number {
        0 => vec![0.0; values],
        1 => vec![2.5e-8f32.ln(); values],
        2 => vec![2.9e-8f32.ln(); values],
        _ => (0..values).map(|_| source.normal([0.1, 1.0, 3.0, 8.0][number % 4])).collect(),
    };
    if number == 1 || number == 2 {
        (weights[0], weights[1]) = (0.0, 0.9f32.ln());
    }
    weights
}

/// Up to 64 values are drawn by one uniform of about 24 bits.
#[test]
fn few_values_are_drawn_within_two_millionths_of_the_mass() {
    let mut source = Source::new(8);
    let mut most = [0.0f64; 2];
    for values in [2, 3, 5, 16, 33, 64] {
        for number in 0..20 {
            let energy = Plain(Site { log_weights: weights(values, number, &mut source) });
            for (draws, most) in BOTH.into_iter().zip(&mut most) {
                let mut trial = Trial::new(&energy, draws);
                let off = total_variation(&trial.drawn_by_one(64), &trial.scored());
                *most = most.max(off);
                assert!(off <= 2e-6, "{draws:?}, {values} values, weights {number}: {off}");
                // A generator of sixteen bits.
                let coarse = total_variation(&trial.drawn_by_one(16), &trial.scored());
                assert!(values < 16 || number == 0 || coarse > 2e-6, "{draws:?}, {values}, {number}: {coarse}");
            }
        }
    }
    println!("the largest total variation, Langevin and Gibbs: {most:?}");
}

/// From 65 values on every value has its probability, however small.
#[test]
fn each_of_many_values_is_drawn_as_it_is_scored() {
    let mut source = Source::new(9);
    let mut most = 0.0f64;
    for values in [65, 200, 1_100] {
        for number in if values > 1_000 { vec![1] } else { vec![0, 1, 2, 5, 6] } {
            let energy = Plain(Site { log_weights: weights(values, number, &mut source) });
            for draws in BOTH {
                let mut trial = Trial::new(&energy, draws);
                let (drawn, scored) = (trial.drawn_by_levels(), trial.scored());
                let off = worst(&drawn, &scored);
                most = most.max(off);
                let bad: Vec<_> = (0..values).filter(|&k| (drawn[k] / scored[k] - 1.0).abs() > 1e-5).collect();
                assert!(off <= 1e-5, "{draws:?}, {values} values, weights {number}: {off} at {bad:?}");
                // And both are the distribution.
                let sum: f64 = energy.0.log_weights.iter().map(|&w| f64::from(w).exp()).sum();
                let exact: Vec<f64> = energy.0.log_weights.iter().map(|&w| f64::from(w).exp() / sum).collect();
                assert!(worst(&drawn, &exact) <= 1.5e-5, "{draws:?}, {values}, {number}");
                // A weight that is a hundred-thousandth larger is seen.
                let mut other = scored.clone();
                other[values / 2] *= 1.0 + 3e-5;
                assert!(worst(&drawn, &other) > 1e-5);
            }
        }
    }
    println!("the largest relative difference: {most}");
}

/// Rows of a window, and the whole range of arities, draw legal values under any words.
#[test]
fn extreme_words_draw_legal_values() {
    for values in [65, 1_024, 1_025, 65_536] {
        let energy = Plain(Site { log_weights: (0..values).map(|k| -((k % 97) as f32)).collect() });
        for draws in BOTH {
            let mut trial = Trial::new(&energy, draws);
            for word in [0, 1, u32::MAX, 1 << 31] {
                assert!(trial.draw(vec![word; 40]) < values);
            }
        }
    }
}
