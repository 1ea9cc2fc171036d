//! How filled sentences are compared: BLEU, and the share of n-grams that are found nowhere else.

use std::collections::HashMap;
use std::hash::Hash;

/// n-grams of BLEU-4.
const ORDERS: usize = 4;

/// The n-grams of sentences, each with the most often that it is in one of them.
pub struct References<'t, T> {
    most: [HashMap<&'t [T], u64>; ORDERS],
    lengths: Vec<usize>,
}

/// What BLEU adds up over sentences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    matched: [u64; ORDERS],
    all: [u64; ORDERS],
    length: usize,
    reference: usize,
}

fn grams<T: Eq + Hash>(sentence: &[T], order: usize) -> HashMap<&[T], u64> {
    let mut counts = HashMap::new();
    sentence.windows(order).for_each(|gram| *counts.entry(gram).or_default() += 1);
    counts
}

impl<'t, T: Eq + Hash> References<'t, T> {
    /// Of sentences.
    pub fn new(sentences: impl IntoIterator<Item = &'t [T]>) -> Self {
        let mut found = Self { most: std::array::from_fn(|_| HashMap::new()), lengths: Vec::new() };
        for sentence in sentences {
            found.lengths.push(sentence.len());
            for (order, most) in (1..).zip(&mut found.most) {
                for (gram, count) in grams(sentence, order) {
                    let most = most.entry(gram).or_default();
                    *most = count.max(*most);
                }
            }
        }
        found
    }

    /// The counts of a sentence.
    #[must_use]
    pub fn counts(&self, sentence: &[T]) -> Counts {
        let mut counts = Counts { length: sentence.len(), ..Counts::default() };
        let nearest = |&&length: &&usize| (length.abs_diff(sentence.len()), length);
        counts.reference = self.lengths.iter().min_by_key(nearest).copied().unwrap_or(0);
        for (order, most) in self.most.iter().enumerate() {
            for (gram, count) in grams(sentence, order + 1) {
                counts.all[order] += count;
                counts.matched[order] += count.min(most.get(gram).copied().unwrap_or(0));
            }
        }
        counts
    }

    /// The share of the n-grams of a sentence that these sentences do not have; 0 where it has none.
    #[must_use]
    pub fn unique(&self, sentence: &[T], order: usize) -> f64 {
        let all = sentence.windows(order).count();
        let new = sentence.windows(order).filter(|gram| !self.most[order - 1].contains_key(gram)).count();
        new as f64 / all.max(1) as f64
    }
}

impl Counts {
    /// Those of two texts together.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.matched.iter_mut().zip(other.matched).for_each(|(a, b)| *a += b);
        self.all.iter_mut().zip(other.all).for_each(|(a, b)| *a += b);
        self.length += other.length;
        self.reference += other.reference;
        self
    }

    /// BLEU-4: the geometric mean of the shares of n-grams that match, n = 1 … 4, smaller for a text that is too short. No
    /// smoothing: 0 where none of an order matches.
    #[must_use]
    pub fn bleu(&self) -> f64 {
        let shares = self.matched.iter().zip(self.all);
        let logs: f64 = shares.map(|(&matched, all)| (matched as f64 / all.max(1) as f64).ln()).sum();
        let short = (1.0 - self.reference as f64 / self.length.max(1) as f64).min(0.0);
        (logs / ORDERS as f64 + short).exp()
    }
}

/// The mean BLEU of each sentence against the others.
pub fn self_bleu<T: Eq + Hash>(sentences: &[Vec<T>]) -> f64 {
    let one = |(at, sentence): (usize, &Vec<T>)| others(sentences, at).counts(sentence).bleu();
    sentences.iter().enumerate().map(one).sum::<f64>() / sentences.len() as f64
}

/// The mean share of n-grams that none of the others has.
pub fn self_unique<T: Eq + Hash>(sentences: &[Vec<T>], order: usize) -> f64 {
    let one = |(at, sentence): (usize, &Vec<T>)| others(sentences, at).unique(sentence, order);
    sentences.iter().enumerate().map(one).sum::<f64>() / sentences.len() as f64
}

fn others<T: Eq + Hash>(sentences: &[Vec<T>], at: usize) -> References<'_, T> {
    References::new(sentences.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, s)| &s[..]))
}

/// The mean of numbers, and its standard error.
#[must_use]
pub fn mean(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

/// The BLEU of all texts together, and its standard error by leaving out one text after the other.
#[must_use]
pub fn corpus_bleu(texts: &[Counts]) -> (f64, f64) {
    let all = |skip: Option<usize>| {
        let kept = texts.iter().enumerate().filter(|(at, _)| Some(*at) != skip);
        kept.fold(Counts::default(), |sum, (_, counts)| sum.with(counts)).bleu()
    };
    let without: Vec<f64> = (0..texts.len()).map(|at| all(Some(at))).collect();
    let count = texts.len() as f64;
    (all(None), mean(&without).1 * (count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    /// Shares 5/6, 3/5, 2/4 and 1/3: (1/12)^¼ = .537285.
    #[test]
    fn bleu_is_the_one_by_hand() {
        let (a, b) = (words("the cat sat on the mat"), words("the cat sat on a mat"));
        let bleu = |text: &[&'static str], of: &[&'static str]| References::new([of]).counts(text).bleu();
        assert!((bleu(&a, &b) - 0.537_285).abs() < 1e-6);
        assert!((bleu(&a, &a) - 1.0).abs() < 1e-12);
        assert_eq!(bleu(&words("no word of it all"), &b), 0.0);
        // Four of the six words: all match, but the text is short by a factor e^(1 − 6/4).
        assert!((bleu(&words("the cat sat on"), &a) - (-0.5f64).exp()).abs() < 1e-12);
        // Clipped: "the" counts twice, as in the reference.
        let counts = References::new([&a[..]]).counts(&words("the the the"));
        assert_eq!((counts.matched[0], counts.all[0]), (2, 3));
    }

    #[test]
    fn a_text_of_two_sentences_adds_its_counts() {
        let (a, b) = (words("the cat sat on the mat"), words("the cat sat on a mat"));
        let reference = References::new([&b[..]]);
        let counts = [reference.counts(&a), reference.counts(&b)];
        // 11/12, 8/10, 6/8, 4/6.
        let by_hand = (11.0 / 12.0 * 0.8 * 0.75 * 2.0 / 3.0f64).powf(0.25);
        let (bleu, error) = corpus_bleu(&counts);
        assert!((bleu - by_hand).abs() < 1e-12);
        // Two texts left out in turn: half of their difference.
        assert!((error - (1.0 - 0.537_285) / 2.0).abs() < 1e-6, "{error}");
    }

    #[test]
    fn shares_of_new_grams_are_those_by_hand() {
        let texts = [words("a b c d"), words("a b c e"), words("x b c d")];
        // Of each text's three bigrams: none; "c e"; "x b".
        assert!((self_unique(&texts, 2) - 2.0 / 9.0).abs() < 1e-12);
        // Of two trigrams: none of the first ("a b c" in the second, "b c d" in the third); "b c e"; "x b c".
        assert!((self_unique(&texts, 3) - 1.0 / 3.0).abs() < 1e-12);
        let equal = [words("a b c d e"), words("a b c d e")];
        assert!((self_bleu(&equal) - 1.0).abs() < 1e-12);
        assert_eq!(self_unique(&equal, 2), 0.0);
    }
}
