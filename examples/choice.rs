//! The automatic choice of a sampler against every sampler by hand, on twelve models of different classes.
//!
//! `cargo run --release --example choice` prints the processor time to 1,000 effective samples of the energy and of the slowest site,
//! warm-up and pilot runs included, and writes `choice.md`.

use bitmc::torus;
use bitmc_desktop::{Cancel, Choice, Error, Model, Sampler, Samples};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::Parser;
use cpu_time::ProcessTime;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The automatic choice of a sampler against every sampler by hand
#[derive(Parser, Debug)]
#[command(name = "choice", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The models whose name contains this
    #[arg(long, value_name = "WORD", default_value = "")]
    model: String,

    /// Runs of each sampler, with one seed after the other
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    seeds: u16,
}

/// Effective samples.
const WANTED: f64 = 1000.0;
/// Processor time that a run by hand may take.
const PATIENCE: Duration = Duration::from_secs(12);
/// A sampler by hand is no more looked at where a short run says that it takes so many times as long as the best.
const HOPELESS: f64 = 4.0;
/// Most sites of a model for the sampler of second order, which finds a coupling for each two of them.
const MOST_SITES: usize = 1100;
/// Samplers by hand, the likeliest first.
const BY_HAND: [&str; 15] = [
    "gibbs",
    "swendsen-wang",
    "block-gibbs",
    "exchange",
    "isoenergetic",
    "wolff",
    "langevin",
    "balanced",
    "gwg",
    "pas",
    "locally-balanced",
    "hamming-ball",
    "random-walk",
    "cyclical",
    "second-order",
];

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

/// Numbers that any machine makes.
struct Numbers(u64);

impl Numbers {
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }

    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.unit()).sum::<f32>() - 6.0
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.unit() * bound as f32) as u32 % bound
    }
}

fn models(data: &Path) -> Result<Vec<(&'static str, Model)>, Failure> {
    let mut random = Numbers(1);
    let mut all = Vec::new();
    let sparse: Vec<_> =
        (0..2000u32).flat_map(|a| [1, 37, 411].map(|step| (a, (a + step) % 2000, 0.15))).collect();
    all.push(("ferromagnet, 2,000 sites of degree 6", Model::ising(2000, &sparse, &[0.05; 2000])?));
    let edges: Vec<_> = torus(32, 32, 0.440_687).collect();
    all.push(("critical torus 32×32", Model::ising(1024, &edges, &[])?));
    let at = |x: u32, y: u32, z: u32| (x % 8 * 8 + y % 8) * 8 + z % 8;
    let cells = (0..512).map(|cell| (cell / 64, cell / 8 % 8, cell % 8));
    let glass: Vec<_> = cells
        .flat_map(|(x, y, z)| [at(x + 1, y, z), at(x, y + 1, z), at(x, y, z + 1)].map(|b| (at(x, y, z), b)))
        .map(|(a, b)| (a, b, if random.unit() < 0.5 { 0.625 } else { -0.625 }))
        .collect();
    all.push(("±J glass 8×8×8 at T = 1.6", Model::ising(512, &glass, &[])?));
    let dense: Vec<_> = (0..200u32)
        .flat_map(|a| (a + 1..200).map(move |b| (a, b)))
        .map(|(a, b)| (a, b, 0.9 * random.normal() / 200f32.sqrt()))
        .collect();
    all.push(("SK, 200 sites, β = 0.9", Model::ising(200, &dense, &[])?));
    all.push(("RBM 784×500", Model::read(data.join("rbm500"))?));
    let edges: Vec<_> = torus(24, 24, 0.95).collect();
    all.push(("Potts 24×24, 4 values", Model::potts(576, 4, &edges, &[])?));
    // A chain of sites that differ from their neighbours, with random weights.
    let pairs: Vec<([u32; 2], Vec<f64>)> = (0..199u32)
        .map(|a| {
            let weight = |k: usize| if k / 4 == k % 4 { 0.0 } else { f64::from(0.2 + random.unit()) };
            ([a, a + 1], (0..16).map(weight).collect())
        })
        .collect();
    let tables: Vec<(&[u32], &[f64])> =
        pairs.iter().map(|(sites, weights)| (&sites[..], &weights[..])).collect();
    all.push(("factors with hard constraints, 200 sites", Model::factors(&[4; 200], &tables)?));
    let edges: Vec<_> = torus(10, 10, -0.11).collect();
    all.push(("Gaussian over 0 … 20, 100 sites", Model::gaussian(21, &edges, &[0.5; 100], &[10.0; 100])?));
    let design: Vec<f32> = (0..100 * 400).map(|_| random.normal() / 4.0).collect();
    let outcomes: Vec<bool> = (0..400).map(|row| design[100 * row..][..8].iter().sum::<f32>() > 0.0).collect();
    all.push(("logistic, 100 coefficients, 400 rows", Model::logistic(&design, &outcomes, &[1.0; 100])?));
    let mut site = || random.below(200);
    let triples: Vec<([u32; 3], f64)> =
        (0..600).map(|term| ([site(), site(), site()], if term % 2 == 0 { 0.4 } else { -0.4 })).collect();
    let terms: Vec<(&[u32], f64)> = triples.iter().map(|(sites, w)| (&sites[..], *w)).collect();
    all.push(("cubic polynomial, 200 spins", Model::polynomial_spins(200, &terms)?));
    let all_pairs: Vec<_> = (0..64u32).flat_map(|a| (a + 1..64).map(move |b| (a, b, 1.35 / 64.0))).collect();
    all.push(("two far modes, 64 sites", Model::ising(64, &all_pairs, &[0.01; 64])?));
    let edges: Vec<_> = torus(320, 320, 0.3).collect();
    all.push(("torus of 102,400 sites", Model::ising(102_400, &edges, &[])?));
    Ok(all)
}

/// Seconds to [`WANTED`] effective samples, and the R̂; none where the chains disagree too much to say.
struct Time {
    seconds: Option<f64>,
    r_hat: Option<f64>,
}

/// Runs, and says how long it took: processor time, cut by the clock into the parts of the run.
fn time(run: impl FnOnce() -> Result<Samples, Error>) -> Result<(Samples, Time), Error> {
    let start = ProcessTime::now();
    let samples = run()?;
    let spent = start.elapsed().as_secs_f64();
    let summary = samples.summary();
    let clock = samples.seconds();
    let all = clock.choice + clock.warmup + clock.draws;
    let agree = summary.r_hat.is_none_or(|r_hat| r_hat < 1.05);
    let until = |ess: f64| spent * (clock.choice + clock.warmup + clock.draws * WANTED / ess) / all;
    let seconds = summary.ess.filter(|_| agree).map(until);
    Ok((samples, Time { seconds, r_hat: summary.r_hat }))
}

/// Runs for so much processor time at most: a busy machine takes nothing from it.
fn patiently(sampler: &Sampler<'_>, patience: Duration) -> Result<Samples, Error> {
    let (cancel, done, start) = (Cancel::new(), AtomicBool::new(false), ProcessTime::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
                if start.elapsed() > patience {
                    cancel.cancel();
                }
            }
        });
        let samples = sampler.clone().cancel(&cancel).run();
        done.store(true, Ordering::Relaxed);
        samples
    })
}

/// A sampler by hand: as many steps between draws as a short run asks for. None where it is not for this model, or cannot beat the best.
fn by_hand(model: &Model, name: &str, seed: u64, best: f64) -> Result<Option<f64>, Failure> {
    let choice: Choice = name.parse()?;
    let sampler = model.sampler().with(choice).seed(seed);
    let start = ProcessTime::now();
    // A warm-up alone that takes longer than this is no use.
    let patience = Duration::try_from_secs_f64(0.2 + HOPELESS * best).unwrap_or(PATIENCE).min(PATIENCE);
    let Ok(first) = patiently(&sampler.clone().draws(400), patience) else { return Ok(None) };
    let spent = start.elapsed().as_secs_f64();
    let ess = first.summary().ess.unwrap_or(1.0);
    if first.draws() < 400 || spent * WANTED / ess > HOPELESS * best {
        return Ok(None);
    }
    let thin = (WANTED / (ess * 2.5)).clamp(1.0, 1000.0).ceil() as u64;
    Ok(time(|| patiently(&sampler.thin(thin), PATIENCE))?.1.seconds)
}

/// The median of some seconds, and the least and the most.
fn middle(all: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (sorted.first()?, sorted.last()?);
    Some(((sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0, *least, *most))
}

/// Seconds as the table has them.
fn show(all: &[f64]) -> String {
    middle(all).map_or("–".into(), |(middle, least, most)| format!("{middle:.2} ({least:.2} to {most:.2})"))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut models = models(&data)?;
    models.retain(|(name, _)| name.contains(&options.model));
    if common.quick {
        models.truncate(2);
    }
    let out = common.folder("choice");
    report::make_folder(&out)?;
    let seeds = common.seed..common.seed + u64::from(options.seeds);
    let work = models.len() as u64 * (BY_HAND.len() as u64 + 1) * u64::from(options.seeds);
    let progress = Progress::new(common.quiet, work);
    let mut text = String::from(
        "| model | chosen | R̂ | seconds | best by hand | seconds | ratio | all by hand |\n|---|---|---:|---:|---|---:|---:|---|\n",
    );
    for (name, model) in &models {
        let (mut chosen, mut own, mut worst) = (Vec::new(), Vec::new(), 0.0f64);
        let mut hands = vec![Vec::new(); BY_HAND.len()];
        for seed in seeds.clone() {
            progress.note(format!("{name}, seed {seed}"));
            let (samples, time) = time(|| model.sampler().seed(seed).run())?;
            let name = samples.report().sampler.to_string();
            let name = name.split(',').next().unwrap_or_default().to_owned();
            if !chosen.contains(&name) {
                chosen.push(name);
            }
            own.extend(time.seconds);
            worst = worst.max(time.r_hat.unwrap_or(1.0));
            progress.advance(1);
            let mut best = f64::INFINITY;
            for (sampler, hand) in BY_HAND.iter().zip(&mut hands) {
                if *sampler != "second-order" || model.sites() <= MOST_SITES {
                    let seconds = by_hand(model, sampler, seed, best)?;
                    best = best.min(seconds.unwrap_or(f64::INFINITY));
                    hand.extend(seconds);
                }
                progress.advance(1);
            }
        }
        // One that failed with some seed is none to compare with.
        let all = |times: &&Vec<f64>| times.len() == options.seeds as usize;
        let whole = hands.iter().zip(BY_HAND).filter(|(times, _)| all(times));
        let medians = whole.filter_map(|(times, sampler)| Some((middle(times)?.0, times, sampler)));
        let best = medians.min_by(|a, b| a.0.total_cmp(&b.0));
        let ratio = middle(&own).filter(|_| all(&&own)).zip(best);
        let line = format!(
            "| {name} | {} | {worst:.3} | {} | {} | {} | {} | {} |",
            chosen.join(", "),
            show(&own),
            best.map_or("none", |best| best.2),
            best.map_or("–".into(), |best| show(best.1)),
            ratio.map_or("–".into(), |(own, best)| format!("{:.2}", own.0 / best.0)),
            hands
                .iter()
                .zip(BY_HAND)
                .filter(|(times, _)| !times.is_empty())
                .map(|(times, sampler)| format!("{sampler} {}", show(times)))
                .collect::<Vec<_>>()
                .join(", ")
        );
        progress.say(&line);
        let _ = writeln!(text, "{line}");
        report::write(&out.join("choice.md"), text.as_bytes())?;
    }
    drop(progress);
    common.say(&format!("\n{text}"));
    Ok(())
}
