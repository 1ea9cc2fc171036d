use super::*;
use crate::masked::Passes;
use crate::text::{Vocabulary, sentences};
use bitmc::Energy;
use bitmc::energy::check;
use bitmc_examples::told::Evaluator;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mlm")
}

fn golden(name: &str) -> Vec<f64> {
    let tensor = candle_core::Tensor::read_npy(folder().join(name)).unwrap();
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

fn numbers(value: &serde_json::Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn file() -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder().join("golden.json")).unwrap()).unwrap()
}

/// The largest difference, relative to numbers above 1.
fn gap(found: impl IntoIterator<Item = f32>, need: &[f64]) -> f64 {
    let of = |(a, b): (f32, &f64)| (f64::from(a) - b).abs() / b.abs().max(1.0);
    found.into_iter().zip(need).map(of).fold(0.0, f64::max)
}

/// Log probabilities of another program, in float64.
#[test]
fn log_probabilities_are_the_golden_ones() {
    let (model, file, need) = (Masked::read(&folder()).unwrap(), file(), golden("golden_logp.npy"));
    let mut rows = need.chunks(PIECES);
    for sentence in file["logp"].as_array().unwrap() {
        let ids = numbers(&sentence["input_ids"]);
        for at in numbers(&sentence["positions"]) {
            let passes = |ids: &[u32]| Passes { ids: ids.to_vec(), length: ids.len(), at: vec![at as usize] };
            let need = rows.next().unwrap();
            let logs = model.run(&passes(&ids)).unwrap().logs;
            assert!(gap(logs, need) < 1e-4);
            // Another word in the sentence gives others.
            let mut other = ids.clone();
            other[2] = 500;
            assert!(gap(model.run(&passes(&other)).unwrap().logs, need) > 0.01);
        }
    }
    assert!(rows.next().is_none());
}

/// Energies of the book's words, of random words and after changes of one; gradients at the random words.
#[test]
fn energies_and_gradients_are_the_golden_ones() {
    let (model, file, need) = (Masked::read(&folder()).unwrap(), file(), golden("golden_onehot_grad.npy"));
    let mut rows = need.chunks(PIECES);
    for case in file["E"].as_array().unwrap() {
        let masked: Vec<usize> = numbers(&case["masked"]).into_iter().map(|at| at as usize).collect();
        let line = Line { ids: numbers(&case["random_fill_ids"]), masked: masked.clone() };
        let sentence = Sentence::new(&model, &line);
        let close = |ids: &[u32], need: &serde_json::Value| {
            let (got, need) = (f64::from(sentence.energy(ids).unwrap()), need.as_f64().unwrap());
            (got - need).abs() < 1e-4 * need
        };
        assert!(close(&numbers(&case["true_ids"]), &case["E_true"]));
        assert!(close(&line.ids, &case["E_random_fill"]));
        for flip in case["E_flip"].as_array().unwrap() {
            let mut ids = line.ids.clone();
            ids[flip["position"].as_u64().unwrap() as usize] = flip["new_id"].as_u64().unwrap() as u32;
            assert!(close(&ids, &flip["E"]));
            assert!(!close(&line.ids, &flip["E"]));
        }
        // The negative control: a gap that is seen while its piece is read.
        let seen = Sentence::new(&model, &line).unmasked();
        let wrong = f64::from(seen.energy(&line.ids).unwrap());
        let right = case["E_random_fill"].as_f64().unwrap();
        assert!((wrong - right).abs() > 1.0, "{wrong}, {right}");

        let layout = Evaluator::layout(&sentence);
        let mut words = vec![0; layout.words()];
        for (site, value) in sentence.book().enumerate() {
            set(layout, &mut words, site, value).unwrap();
        }
        let state = Packed::new(layout, &words).unwrap();
        let (mut energy, mut gradient) = ([0.0], vec![0.0; layout.sites() * VALUES]);
        sentence.evaluate(&[state], &mut energy, &mut gradient).unwrap();
        assert!((f64::from(energy[0]) - right).abs() < 1e-4 * right);
        for at in numbers(&case["gradient_positions"]) {
            let site = masked.iter().position(|&gap| gap == at as usize).unwrap();
            let row = |site: usize| gradient[site * VALUES..][..VALUES].to_vec();
            let need = &rows.next().unwrap()[SPECIAL as usize..];
            assert!(gap(row(site), need) < 1e-4, "{}", gap(row(site), need));
            assert!(gap(row((site + 1) % masked.len()), need) > 0.1);
        }
    }
    assert!(rows.next().is_none());
}

fn line() -> Line {
    let vocabulary = Vocabulary::read(&folder().join("vocab.txt")).unwrap();
    let line = sentences(&folder().join("sentences_tokens.jsonl")).unwrap().remove(0);
    assert_eq!(vocabulary.words(&line.ids)[..3], ["how", "could", "it"]);
    let page = vocabulary.page(&line.ids, &line.masked);
    assert_eq!(page, "[how] could it be otherwise, with such [an] education [and] adviser [?]");
    line
}

/// Differences agree with totals, and the gradient predicts them.
#[test]
fn the_energy_agrees_with_itself() {
    let (model, line) = (Masked::read(&folder()).unwrap(), line());
    let sentence = Sentence::new(&model, &line).narrowed(30);
    let mut rngs: Vec<_> = streams(3).take(3).collect();
    let states = starts(&sentence, &mut rngs);
    let layout = Evaluator::layout(&sentence);
    let rows = || states.rows().map(|row| Packed::new(layout, row).unwrap());
    let checked = check(&sentence, &mut memory(&sentence), rows()).unwrap();
    assert!(checked.correlation > Some(0.9), "{checked:?}");
    // The negative control: its differences are those of an energy whose gaps are seen, its totals are not.
    struct Wrong<'m>(Sentence<'m>, Sentence<'m>);
    impl Energy for Wrong<'_> {
        fn layout(&self) -> bitmc::Layout {
            Energy::layout(&self.0)
        }
        fn arities(&self) -> Option<&[u16]> {
            Energy::arities(&self.0)
        }
        fn cache_len(&self) -> usize {
            1
        }
        fn init(
            &self,
            x: Packed<'_>,
            cache: &mut [bitmc::lane::Bits],
        ) -> Result<f32, bitmc::energy::EnergyError> {
            self.0.init(x, cache)
        }
        fn gradient(
            &self,
            x: Packed<'_>,
            cache: &[bitmc::lane::Bits],
            rows: std::ops::Range<usize>,
            out: &mut [bitmc::lane::Block],
        ) {
            Energy::gradient(&self.0, x, cache, rows, out);
        }
        fn shift(&self, step: &bitmc::Move<'_>, cache: &mut [bitmc::lane::Bits]) -> f32 {
            self.0.shift(step, cache)
        }
        fn differences(&self, words: &mut [u32], cache: &[bitmc::lane::Bits], site: usize, out: &mut [f32]) {
            self.1.differences(words, cache, site, out);
        }
    }
    let seen = Sentence::new(&model, &line).narrowed(30).unmasked();
    let wrong = Wrong(Sentence::new(&model, &line).narrowed(30), seen);
    assert!(check(&wrong, &mut memory(&wrong), rows()).is_err());
}

/// Energies and gradients of all states of two gaps of eight values.
struct Table<'m> {
    sentence: Sentence<'m>,
    energies: Vec<f32>,
    gradients: Vec<f32>,
}

const FEW: usize = 8;

impl<'m> Table<'m> {
    fn new(sentence: Sentence<'m>) -> Self {
        let (layout, states) = (Evaluator::layout(&sentence), FEW * FEW);
        let mut table =
            Self { energies: vec![0.0; states], gradients: vec![0.0; states * 2 * VALUES], sentence };
        for state in 0..states {
            let mut words = vec![0; layout.words()];
            set(layout, &mut words, 0, (state / FEW) as u32).unwrap();
            set(layout, &mut words, 1, (state % FEW) as u32).unwrap();
            let x = Packed::new(layout, &words).unwrap();
            let gradients = &mut table.gradients[state * 2 * VALUES..][..2 * VALUES];
            table.sentence.evaluate(&[x], &mut table.energies[state..][..1], gradients).unwrap();
        }
        table
    }

    fn probabilities(&self) -> Vec<f64> {
        let weights: Vec<f64> = self.energies.iter().map(|&e| (-f64::from(e)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }
}

impl Evaluator for Table<'_> {
    fn layout(&self) -> bitmc::Layout {
        Evaluator::layout(&self.sentence)
    }

    fn arities(&self) -> Option<&[u16]> {
        Evaluator::arities(&self.sentence)
    }

    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<(), Failure> {
        for ((x, energy), gradient) in states.iter().zip(energies).zip(gradients.chunks_mut(2 * VALUES)) {
            let state = x.get(0) as usize * FEW + x.get(1) as usize;
            *energy = self.energies[state];
            gradient.copy_from_slice(&self.gradients[state * 2 * VALUES..][..2 * VALUES]);
        }
        Ok(())
    }
}

/// The largest z of the share of a state, among those that are likely enough, over chains that are independent.
fn worst(table: &Table<'_>, kernel: &(impl Ask + Sync), need: &[f64]) -> f64 {
    let (chains, steps) = (64, 300);
    let mut rngs: Vec<_> = streams(11).take(chains).collect();
    let states = starts(&table.sentence, &mut rngs);
    let mut chains = Chains::new(table, &states, rngs).unwrap();
    let mut shares = vec![vec![0.0; need.len()]; states.len()];
    for step in 0..steps {
        chains.step(kernel).unwrap();
        if step >= steps / 3 {
            for (row, shares) in chains.states().rows().zip(&mut shares) {
                let x = Packed::new(Evaluator::layout(table), row).unwrap();
                shares[x.get(0) as usize * FEW + x.get(1) as usize] += 1.0 / f64::from(steps - steps / 3);
            }
        }
    }
    let z = |state: usize| {
        let of: Vec<f64> = shares.iter().map(|shares| shares[state]).collect();
        let (mean, error) = crate::metrics::mean(&of);
        (mean - need[state]).abs() / error.max(1e-9)
    };
    (0..need.len()).filter(|&state| need[state] > 0.01).map(z).fold(0.0, f64::max)
}

/// Two gaps of eight values: every state is counted. Chains told the energy sample it; those without the test, and those that
/// are told an energy whose gaps are seen, do not.
#[test]
fn chains_that_are_told_sample_the_energy() {
    let model = Masked::read(&folder()).unwrap();
    let mut line = line();
    line.masked.truncate(2);
    let table = Table::new(Sentence::new(&model, &line).narrowed(FEW as u16));
    let need = table.probabilities();
    let dmala = Langevin::adjusted(1.0).unwrap();
    assert!(worst(&table, &dmala, &need) < 4.5, "{}", worst(&table, &dmala, &need));
    let gwg = GibbsWithGradients::new(1).unwrap();
    assert!(worst(&table, &gwg, &need) < 4.5, "{}", worst(&table, &gwg, &need));
    assert!(worst(&table, &Langevin::unadjusted(1.0).unwrap(), &need) > 8.0);
    let seen = Table::new(Sentence::new(&model, &line).narrowed(FEW as u16).unmasked());
    assert!(worst(&seen, &dmala, &need) > 8.0);
}
