//! Soft MIMO detection: bit error rates over the signal-to-noise ratio, beside exact soft detection and MMSE.
//!
//! `cargo run --release --example mimo` draws channels, symbols and noise, a frame at a time. The detector is the one of
//! the firmware: its model is built in the same memory for every frame. `--resume` goes on where a run was stopped.

use bitmc::{LaneRng, SeedableRng};
use bitmc_examples::cells::Cells;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::mimo::{Soft, crossing, exact, mmse, most_likely};
use bitmc_examples::plot::{self, Curve, Panel};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use bitmc_mimo_detector::{DetectError, Detector, Effort, Frame, Modulation, Ratios, Rule};
use clap::Parser;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::process::ExitCode;

/// Soft MIMO detection beside exact detection and MMSE
#[derive(Parser, Debug)]
#[command(name = "mimo", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Frames of every point: a channel, a vector of symbols and noise each [default: 4000, with --quick 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    frames: Option<u32>,

    /// Sweeps of each of the four chains
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=400))]
    sweeps: u32,

    /// The temperature is max(1, HEAT d^2/N0), d half the distance of two neighbouring symbols
    #[arg(long, value_name = "HEAT", default_value_t = Effort::HEAT, value_parser = cli::within(0.0, 100.0))]
    heat: f32,

    /// Go on with the points that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// Antennas, what they send and through which channel.
struct Setup {
    name: &'static str,
    antennas: u8,
    modulation: Modulation,
    correlation: f32,
    decibels: &'static [u8],
}

const SETUPS: [Setup; 5] = [
    Setup { name: "4x4 16-QAM", antennas: 4, modulation: Modulation::Qam16, correlation: 0.0, decibels: &HIGH },
    Setup {
        name: "4x4 16-QAM, correlated",
        antennas: 4,
        modulation: Modulation::Qam16,
        correlation: 0.5,
        decibels: &HIGH,
    },
    Setup { name: "8x8 16-QAM", antennas: 8, modulation: Modulation::Qam16, correlation: 0.0, decibels: &HIGH },
    Setup { name: "4x4 QPSK", antennas: 4, modulation: Modulation::Qpsk, correlation: 0.0, decibels: &LOW },
    Setup { name: "8x8 QPSK", antennas: 8, modulation: Modulation::Qpsk, correlation: 0.0, decibels: &LOW },
];
const HIGH: [u8; 10] = [12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const LOW: [u8; 10] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20];

/// What is compared. Where there are too many states for exact ratios, the most likely state is shown in their place.
const METHODS: [&str; 6] = [
    "exact",
    "MMSE",
    "distinct states",
    "the same, N0 wrong by 2",
    "plain Gibbs, random starts",
    "plain Gibbs, one from MMSE",
];
/// The bit error rate at which methods are compared.
const RATE: f64 = 0.01;
/// Ratios are cut there before their information is counted.
const CLIP: f64 = 20.0;

/// One method at one point.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Score {
    bit_error_rate: f64,
    /// Bits of information a bit sent that the ratios miss: the mean of log2(1 + e^(−sL)). None for hard decisions.
    missing_bits: Option<f64>,
}

/// One signal-to-noise ratio.
#[derive(Clone, Serialize, Deserialize)]
struct Point {
    decibels: u8,
    scores: Vec<Score>,
    mean_distinct_states: f64,
}

#[derive(Serialize)]
struct Row {
    setup: &'static str,
    points: Vec<Point>,
    /// Of every method, the ratio in decibels at which the rate is 0.01.
    decibels_at_rate: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Report<'r> {
    example: &'static str,
    seed: u64,
    frames: u32,
    sweeps: u32,
    heat: f32,
    methods: [&'static str; 6],
    rows: &'r [Row],
}

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let out = options.common.folder("mimo");
        report::make_folder(&out)?;
        let kept = Cells::new(&out, options.resume)?;
        let frames = options.frames.unwrap_or(if options.common.quick { 200 } else { 4000 });
        let rows = options.common.pool()?.install(|| run(&options, frames, &kept))?;
        let table = table(&rows);
        let Options { sweeps, heat, .. } = options;
        let seed = options.common.seed;
        let report = Report { example: "mimo", seed, frames, sweeps, heat, methods: METHODS, rows: &rows };
        report::json(&out.join("mimo.json"), &report)?;
        report::write(&out.join("mimo.md"), table.as_bytes())?;
        plot::save(&out.join("mimo.svg"), &panels(&rows, frames))?;
        options.common.say(&format!("{table}\npictures and numbers are in {}", out.display()));
        Ok(())
    })
}

fn run(options: &Options, frames: u32, kept: &Cells) -> Result<Vec<Row>, Failure> {
    let points: usize = SETUPS.iter().map(|setup| setup.decibels.len()).sum();
    let progress = Progress::new(options.common.quiet, points as u64 * u64::from(frames));
    let mut rows = Vec::new();
    for setup in &SETUPS {
        let mut points = Vec::new();
        for &decibels in setup.decibels {
            progress.note(format!("{}, {decibels} dB", setup.name));
            let name = format!("{} {decibels}", setup.name);
            let question = format!("{:?}", (options.common.seed, frames, options.sweeps, options.heat));
            points.push(kept.answer(&name, &question, || {
                match (setup.antennas, setup.modulation) {
                    (4, Modulation::Qpsk) => point::<8, 512>(options, setup, decibels, frames, &progress),
                    (4, Modulation::Qam16) => point::<8, 65_536>(options, setup, decibels, frames, &progress),
                    _ => point::<16, 131_072>(options, setup, decibels, frames, &progress),
                }
                .map_err(|error| Failure::Option(format!("a frame has no ratios: {error:?}")))
            })?);
        }
        let of = |method: usize| points.iter().map(move |p: &Point| (f64::from(p.decibels), rate(p, method)));
        let at = |method| crossing(&of(method).collect::<Vec<_>>(), RATE);
        let decibels_at_rate = (0..METHODS.len()).map(at).collect();
        rows.push(Row { setup: setup.name, points, decibels_at_rate });
    }
    Ok(rows)
}

fn rate(point: &Point, method: usize) -> f64 {
    point.scores.get(method).map_or(f64::NAN, |score| score.bit_error_rate)
}

/// What all frames of a part found.
#[derive(Clone, Default)]
struct Tally {
    errors: [u64; 6],
    missing: [f64; 6],
    distinct: u64,
}

/// Frames that a thread takes at once, with a detector of its own. The sums of parts are added in order.
const PART: u32 = 50;

fn point<const N: usize, const TABLE: usize>(
    options: &Options,
    setup: &Setup,
    decibels: u8,
    frames: u32,
    progress: &Progress,
) -> Result<Point, DetectError> {
    let noise = (f64::from(setup.antennas) / 10f64.powf(f64::from(decibels) / 10.0)) as f32;
    let parts = (0..frames.div_ceil(PART)).into_par_iter().map(|part| {
        let (mut detector, mut tally) = (Box::new(Detector::<N, TABLE>::new()), Tally::default());
        let part = part * PART..frames.min((part + 1) * PART);
        let number = u64::from(part.end - part.start);
        for index in part {
            let mut rng = LaneRng::seed_from_u64(options.common.seed << 32 ^ u64::from(index));
            let (frame, sent) = Frame::<N>::draw(setup.modulation, noise, setup.correlation, &mut rng);
            tally.frame(options, (&frame, &sent), &mut detector, &rng)?;
        }
        progress.advance(number);
        Ok(tally)
    });
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let mut all = Tally::default();
    for part in &parts {
        all.errors.iter_mut().zip(part.errors).for_each(|(sum, errors)| *sum += errors);
        all.missing.iter_mut().zip(part.missing).for_each(|(sum, missing)| *sum += missing);
        all.distinct += part.distinct;
    }
    let bits = f64::from(frames) * (N * setup.modulation.bits_a_site()) as f64;
    let scores = all.errors.iter().zip(all.missing).map(|(&errors, missing)| Score {
        bit_error_rate: errors as f64 / bits,
        missing_bits: missing.is_finite().then_some(missing / bits),
    });
    let mean_distinct_states = all.distinct as f64 / f64::from(frames);
    Ok(Point { decibels, scores: scores.collect(), mean_distinct_states })
}

impl Tally {
    fn frame<const N: usize, const TABLE: usize>(
        &mut self,
        options: &Options,
        (frame, sent): (&Frame<N>, &[u32; N]),
        detector: &mut Detector<N, TABLE>,
        rng: &LaneRng,
    ) -> Result<(), DetectError> {
        let effort = |noise| {
            let effort = Effort { sweeps: options.sweeps, ..Effort::new(frame.modulation, noise) };
            effort.heated(options.heat, frame.modulation, noise)
        };
        let (effort, wrongly) = (effort(frame.noise), effort(2.0 * frame.noise));
        let plain = Effort { temperature: 1.0, rule: Rule::Conditionals, ..effort };
        let wide = |ratios: Ratios<N>| -> Soft { ratios.iter().map(|site| site.map(f64::from)).collect() };
        let mut detect = |frame: &Frame<N>, effort: &Effort| {
            let ratios = detector.detect(frame, effort, &mut rng.clone())?;
            Ok((wide(ratios), detector.distinct()))
        };
        let (ours, distinct) = detect(frame, &effort)?;
        self.distinct += u64::from(distinct);
        // All that depends on the power of the noise takes the wrong one.
        let told = Frame { noise: 2.0 * frame.noise, ..*frame };
        let (wrong, _) = detect(&told, &wrongly)?;
        let (random, _) = detect(frame, &Effort { from_mmse: false, ..plain })?;
        let (from_mmse, _) = detect(frame, &plain)?;
        // Beyond 65,536 states the most likely one stands for all: a hard decision.
        let many = N == 16 && frame.modulation == Modulation::Qam16;
        let best = if many { hard(frame.modulation, &most_likely(frame)) } else { exact(frame) };
        for (method, soft) in [best, mmse(frame), ours, wrong, random, from_mmse].iter().enumerate() {
            for (site, &value) in soft.iter().zip(sent) {
                let bits = frame.modulation.bits(value);
                for (ratio, bit) in site.iter().zip(bits).take(frame.modulation.bits_a_site()) {
                    let towards = if bit == 1 { *ratio } else { -*ratio };
                    self.errors[method] += u64::from(towards <= 0.0);
                    self.missing[method] +=
                        (-towards.clamp(-CLIP, CLIP)).exp().ln_1p() / std::f64::consts::LN_2;
                }
            }
            if many && method == 0 {
                self.missing[0] = f64::NAN;
            }
        }
        Ok(())
    }
}

/// A decision as ratios.
fn hard(modulation: Modulation, state: &[usize]) -> Soft {
    let sign = |bit: u32| if bit == 1 { CLIP } else { -CLIP };
    state.iter().map(|&value| modulation.bits(value as u32).map(sign)).collect()
}

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        // Writing to a string cannot fail.
        let _ = write!(text, "### {}\n\n| bit error rate |", row.setup);
        row.points.iter().for_each(|point| text.push_str(&format!(" {} dB |", point.decibels)));
        let _ = writeln!(text, " dB at {RATE} |\n|---|{}---:|", "---:|".repeat(row.points.len()));
        for (method, name) in METHODS.iter().enumerate() {
            let _ = write!(text, "| {name} |");
            row.points.iter().for_each(|point| text.push_str(&format!(" {:.4} |", rate(point, method))));
            let at = row.decibels_at_rate[method].map_or("–".into(), |at| format!("{at:.2}"));
            let _ = writeln!(text, " {at} |");
        }
        let _ = writeln!(
            text,
            "\n| missing bits |{}",
            row.points.iter().map(|p| format!(" {} dB |", p.decibels)).collect::<String>()
        );
        let _ = writeln!(text, "|---|{}", "---:|".repeat(row.points.len()));
        for (method, name) in METHODS.iter().enumerate() {
            let _ = write!(text, "| {name} |");
            for point in &row.points {
                let missing = point.scores.get(method).and_then(|score| score.missing_bits);
                text.push_str(&missing.map_or(" – |".into(), |missing| format!(" {missing:.4} |")));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// Bit error rates of every setup, and what the ratios miss of the first.
fn panels(rows: &[Row], frames: u32) -> Vec<Panel> {
    let x = "signal-to-noise ratio, antennas/N₀ (10 is 10 dB, 100 is 20 dB)";
    let panel = |row: &Row, title: String, y: &str, of: &dyn Fn(&Score) -> Option<f64>| {
        let curve = |(method, name): (usize, &&str)| {
            let value = |point: &Point| {
                let score = point.scores.get(method).and_then(of)?;
                Some((10f64.powf(f64::from(point.decibels) / 10.0), score))
            };
            Curve { label: (*name).to_string(), points: row.points.iter().filter_map(value).collect() }
        };
        let curves = METHODS.iter().enumerate().map(curve).filter(|curve| !curve.points.is_empty()).collect();
        Panel { title, x: x.into(), y: y.into(), log_from: Some(1e-4), level: None, curves }
    };
    let rates = rows.iter().map(|row| {
        panel(row, format!("{}, {frames} channels a point", row.setup), "bit error rate", &|score| {
            Some(score.bit_error_rate)
        })
    });
    let missing = rows.first().map(|row| {
        panel(row, format!("{}: what the ratios miss", row.setup), "bits a bit sent", &|score| {
            score.missing_bits
        })
    });
    rates.chain(missing).collect()
}
