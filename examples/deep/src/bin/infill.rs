//! Gaps of sentences filled by samplers over a masked language model, told its energies in batches.
//!
//! `--synthetic` runs samplers over 24 sites of 30,522 values instead, and says what a step takes.

use bitmc::chain::Memory;
use bitmc::open::{Ask, gradient_len};
use bitmc::packed::set;
use bitmc::{GibbsWithGradients, Langevin, Packed};
use bitmc_deep::fill::{BEST, Case, Filled, Found, Method};
use bitmc_deep::infill::Sentence;
use bitmc_deep::masked::Masked;
use bitmc_deep::metrics::{Counts, References, corpus_bleu, mean, self_bleu, self_unique};
use bitmc_deep::synthetic::{SITES, Synthetic, VALUES};
use bitmc_deep::text::{Line, Vocabulary, sentences};
use bitmc_deep::tune::CANDIDATES;
use bitmc_examples::bits::BitRows;
use bitmc_examples::cells::Cells;
use bitmc_examples::chains::streams;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use bitmc_examples::told::{Chains, Evaluator};
use clap::{Parser, ValueEnum};
use cpu_time::ProcessTime;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Gaps of sentences filled by samplers over a masked language model
#[derive(Parser)]
#[command(name = "infill", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The methods, all of them if none is named
    #[arg(long, value_enum)]
    method: Vec<Method>,

    /// Sentences [default: 300, with --quick 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=300))]
    sentences: Option<u16>,

    /// Chains of a sentence [default: 25, with --quick 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 100, with --quick 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: Option<u32>,

    /// Candidates that tuning looks at, 100 gradients each [default: 120, with --quick 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    candidates: Option<u32>,

    /// Sentences that Gibbs site by site fills [default: 3, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=300))]
    gibbs_sentences: Option<u16>,

    /// 24 sites of 30,522 values with embeddings at random instead: what a step takes
    #[arg(long)]
    synthetic: bool,

    /// Take the methods that an earlier call of the same command has finished
    #[arg(long)]
    resume: bool,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    bitmc_deep::one_thread_a_product();
    let common = &options.common;
    let out = common.folder("infill");
    report::make_folder(&out)?;
    if options.synthetic {
        let text = synthetic(common)?;
        report::write(&out.join("synthetic.md"), text.as_bytes())?;
        common.say(&text);
        return Ok(());
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mlm");
    let model = Masked::read(&data)?;
    let vocabulary = Vocabulary::read(&data.join("vocab.txt"))?;
    let all = sentences(&data.join("sentences_tokens.jsonl"))?;
    let by = |full, quick| if common.quick { quick } else { full };
    let number = options.sentences.map_or(by(300, 4) as usize, usize::from);
    let methods = if options.method.is_empty() { Method::value_variants() } else { &options.method };
    let progress = Progress::new(common.quiet, (methods.len() * number) as u64);
    let bar = progress.clone();
    let case = Case {
        model: &model,
        lines: &all[..number.min(all.len())],
        tuning: &all[all.len() - 1],
        chains: options.chains.unwrap_or(by(25, 8)),
        steps: options.steps.unwrap_or(by(100, 20)),
        candidates: options.candidates.unwrap_or(by(CANDIDATES, 6)),
        gibbs: (options.gibbs_sentences.map_or(by(3, 1) as usize, usize::from), by(5, 2), by(2, 1)),
        seed: common.seed,
        progress: &bar,
    };
    let cells = Cells::new(&out, options.resume)?;
    let mut found = Vec::new();
    for &method in methods {
        progress.note(name(method));
        let question = format!(
            "{number} sentences, {} chains, {} steps, {} candidates, Gibbs {:?}, seed {}",
            case.chains, case.steps, case.candidates, case.gibbs, case.seed
        );
        found.push((method, cells.answer(&name(method), &question, || case.run(method))?));
    }
    drop(progress);
    let text = table(&found, &case, &vocabulary, &all)?;
    report::write(&out.join("infill.md"), text.as_bytes())?;
    report::write(&out.join("filled.md"), page(&found, &case, &vocabulary).as_bytes())?;
    report::json(&out.join("infill.json"), &found)?;
    common.say(&format!("{text}\nA page of filled sentences and all numbers are in {}.", out.display()));
    Ok(())
}

fn name(method: Method) -> String {
    method.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}

fn with_error((mean, error): (f64, f64)) -> String {
    format!("{mean:.3} ± {error:.3}")
}

type All = [(Method, Found)];

/// How the samplers ran, what the sentences are like, and what a pass buys.
fn table(found: &All, case: &Case<'_>, vocabulary: &Vocabulary, all: &[Line]) -> Result<String, Failure> {
    let book = case.lines.iter().map(|line| Sentence::new(case.model, line).energy(&line.ids));
    let book =
        book.map(|energy| energy.map(f64::from)).collect::<Result<Vec<_>, _>>().map_err(Failure::model)?;
    let mut text = format!(
        "{} sentences, {} chains of {} steps each; mean E of the book's words {}\n\n\
         | method | parameters | acceptance | gaps changed a step | mean E | mean E, best {BEST} | passes a chain | gradients to tune | ms a chain |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        case.lines.len(),
        case.chains,
        case.steps,
        with_error(mean(&book))
    );
    let over =
        |found: &Found, of: &dyn Fn(&Filled) -> f64| mean(&found.sentences.iter().map(of).collect::<Vec<_>>());
    for (method, found) in found {
        let least = |filled: &Filled| {
            let mut energies = filled.energies.clone();
            energies.sort_by(f32::total_cmp);
            energies.truncate(BEST);
            mean_of(&energies)
        };
        let passes = |filled: &Filled| filled.curve.last().map_or(0.0, |point| point.0);
        let chains: usize = found.sentences.iter().map(|filled| filled.energies.len()).sum();
        let _ = writeln!(
            text,
            "| {} | {} | {:.3} | {:.2} | {} | {} | {:.0} | {} | {:.1} |",
            name(*method),
            found.parameters,
            over(found, &|filled| filled.acceptance).0,
            over(found, &|filled| filled.changed).0,
            with_error(over(found, &|filled| mean_of(&filled.energies))),
            with_error(over(found, &least)),
            over(found, &passes).0,
            found.tuning_gradients,
            1000.0 * found.seconds / chains as f64
        );
    }
    let corpus: Vec<Vec<String>> = all.iter().map(|line| vocabulary.words(&line.ids)).collect();
    let corpus = References::new(corpus.iter().map(|words| &words[..]));
    let _ = write!(
        text,
        "\n| method | self-BLEU | unique pairs, own | unique triples, own | unique pairs, corpus | unique triples, corpus | corpus BLEU |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    for (method, found) in found {
        let words = |filled: &Filled| -> Vec<Vec<String>> {
            filled.best.iter().map(|ids| vocabulary.words(ids)).collect()
        };
        let corpus_unique = |order| {
            over(found, &|filled| {
                let words = words(filled);
                words.iter().map(|words| corpus.unique(words, order)).sum::<f64>() / words.len() as f64
            })
        };
        let counts = |filled: &Filled| {
            let counts = words(filled).iter().map(|words| corpus.counts(words)).collect::<Vec<_>>();
            counts.iter().fold(Counts::default(), |sum, counts| sum.with(counts))
        };
        let counts: Vec<Counts> = found.sentences.iter().map(counts).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            name(*method),
            with_error(over(found, &|filled| self_bleu(&words(filled)))),
            with_error(over(found, &|filled| self_unique(&words(filled), 2))),
            with_error(over(found, &|filled| self_unique(&words(filled), 3))),
            with_error(corpus_unique(2)),
            with_error(corpus_unique(3)),
            with_error(corpus_bleu(&counts))
        );
    }
    text.push_str(&a_pass(found));
    Ok(text)
}

fn mean_of(energies: &[f32]) -> f64 {
    energies.iter().map(|&energy| f64::from(energy)).sum::<f64>() / energies.len() as f64
}

/// Mean E of the sentences that Gibbs filled, against passes of the network.
fn a_pass(found: &All) -> String {
    let Some((_, gibbs)) = found.iter().find(|(method, _)| *method == Method::Gibbs) else {
        return String::new();
    };
    let number = gibbs.sentences.len();
    let mut text = format!(
        "\nThe first {number} sentences: mean E after so many passes of a chain, forward and back\n\n\
         | method | passes: mean E |\n|---|---|\n"
    );
    for (method, found) in found.iter().filter(|(_, found)| !found.sentences[0].curve.is_empty()) {
        let point = |index: usize| {
            let points = found.sentences[..number].iter().map(|filled| filled.curve[index]);
            let (passes, energy) = points.fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
            format!("{:.0}: {:.1}", passes / number as f64, energy / number as f64)
        };
        let points: Vec<_> = (0..found.sentences[0].curve.len()).map(point).collect();
        let _ = writeln!(text, "| {} | {} |", name(*method), points.join(", "));
    }
    text
}

/// Some sentences, each with the least energy that every method found.
fn page(found: &All, case: &Case<'_>, vocabulary: &Vocabulary) -> String {
    let mut text = String::from(
        "# Filled sentences\n\nOf each method the sentence of least energy. Gaps are in brackets.\n",
    );
    for (at, line) in case.lines.iter().enumerate().take(20) {
        let _ = write!(text, "\n* book: {}\n", vocabulary.page(&line.ids, &line.masked));
        for (method, found) in found {
            if let Some(filled) = found.sentences.get(at) {
                let least = filled.energies.iter().fold(f32::INFINITY, |a, &b| a.min(b));
                let sentence = vocabulary.page(&filled.best[0], &line.masked);
                let _ = writeln!(text, "  * {}, E = {least:.1}: {sentence}", name(*method));
            }
        }
    }
    text
}

/// 24 sites of 30,522 values: what a step takes.
fn synthetic(common: &Common) -> Result<String, Failure> {
    let model = Synthetic::new(common.seed).map_err(Failure::model)?;
    let (layout, chains, steps) = (model.layout(), 4, if common.quick { 5 } else { 50 });
    let own = 64 * Memory::weights_and_gradients(layout) + 4 * Memory::words(layout);
    let gradient = 4 * gradient_len(layout);
    let mut text = format!(
        "{SITES} sites of {VALUES} values, {chains} chains. A chain has {:.1} kB of its own; a gradient has {:.1} MB, and\n\
         the caller keeps one of the state and one of the proposal.\n\n\
         | sampler | steps | mean E | acceptance | ms of processor time a step and chain | of it the energy |\n\
         |---|---:|---:|---:|---:|---:|\n",
        own as f64 / 1e3,
        gradient as f64 / 1e6
    );
    let mut row = |name: &str, kernel: &dyn Fn(&mut Chains<'_, Synthetic>) -> Result<(), Failure>| {
        let mut states = BitRows::new(layout);
        let mut words = vec![0; layout.words()];
        for chain in 0..chains {
            for site in 0..SITES {
                let value = (chain * SITES + site) * 7_919 % VALUES;
                set(layout, &mut words, site, value as u32).map_err(Failure::model)?;
            }
            states.push(Packed::new(layout, &words).map_err(Failure::model)?);
        }
        let mut told = Chains::new(&model, &states, streams(common.seed).take(chains).collect())?;
        let clock = ProcessTime::now();
        for _ in 0..steps {
            kernel(&mut told)?;
        }
        let whole = clock.elapsed().as_secs_f64();
        let clock = ProcessTime::now();
        for _ in 0..steps {
            told.evaluate_again()?;
        }
        let energy = clock.elapsed().as_secs_f64();
        let ms = |seconds: f64| 1000.0 * seconds / f64::from(steps) / chains as f64;
        let _ = writeln!(
            text,
            "| {name} | {steps} | {:.1} | {:.3} | {:.1} | {:.1} |",
            told.mean_energy(),
            told.acceptance.rate(),
            ms(whole),
            ms(energy)
        );
        Ok::<_, Failure>(())
    };
    let dmala = Langevin::adjusted(0.2).map_err(Failure::model)?;
    let dula = Langevin::unadjusted(0.2).map_err(Failure::model)?;
    let gwg = GibbsWithGradients::new(1).map_err(Failure::model)?;
    fn by<K: Ask + Sync>(kernel: &K) -> impl Fn(&mut Chains<'_, Synthetic>) -> Result<(), Failure> {
        move |chains| chains.step(kernel)
    }
    row("DMALA, α = 0.2", &by(&dmala))?;
    row("DULA, α = 0.2", &by(&dula))?;
    row("Gibbs with gradients", &by(&gwg))?;
    Ok(text)
}
