//! The automatic choice of a sampler against every sampler by hand, on twelve models of different classes.
//!
//! `cargo run --release --example choice` prints the processor time to 1,000 effective samples of the energy and of the slowest site,
//! warm-up and pilot runs included, and writes `choice.md`.

use bitmc::torus;
use bitmc_desktop::{Choice, Error, Model, Samples};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::Parser;
use cpu_time::ProcessTime;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// The automatic choice of a sampler against every sampler by hand
#[derive(Parser, Debug)]
#[command(name = "choice", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The models whose name contains this
    #[arg(long, value_name = "WORD", default_value = "")]
    model: String,
}

/// Effective samples.
const WANTED: f64 = 1000.0;
/// Seconds that a run by hand may take.
const PATIENCE: f64 = 6.0;
/// Samplers by hand.
const BY_HAND: [&str; 10] = [
    "gibbs",
    "block-gibbs",
    "langevin",
    "balanced",
    "gwg",
    "pas",
    "locally-balanced",
    "hamming-ball",
    "random-walk",
    "exchange",
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
    let triples: Vec<([u32; 3], f32)> =
        (0..600).map(|term| ([site(), site(), site()], if term % 2 == 0 { 0.4 } else { -0.4 })).collect();
    let terms: Vec<(&[u32], f32)> = triples.iter().map(|(sites, w)| (&sites[..], *w)).collect();
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

/// A sampler by hand: as many steps between draws as a short run asks for.
fn by_hand(model: &Model, name: &str, seed: u64) -> Result<Option<Time>, Failure> {
    let choice: Choice = name.parse()?;
    let sampler = || model.sampler().with(choice.clone()).seed(seed).seconds(PATIENCE);
    let Ok(first) = sampler().draws(400).run() else { return Ok(None) };
    if first.draws() < 400 {
        return Ok(Some(Time { seconds: None, r_hat: None }));
    }
    let ess = first.summary().ess.unwrap_or(1.0);
    let thin = (WANTED / (ess * 2.5)).clamp(1.0, 1000.0).ceil() as u64;
    Ok(Some(time(|| sampler().thin(thin).run())?.1))
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
    let progress = Progress::new(common.quiet, (models.len() * (BY_HAND.len() + 1)) as u64);
    let mut text = String::from(
        "| model | chosen | R̂ | seconds | best by hand | seconds | over the best | all by hand |\n|---|---|---:|---:|---|---:|---:|---|\n",
    );
    let show = |seconds: Option<f64>| seconds.map_or("–".into(), |seconds| format!("{seconds:.2}"));
    for (name, model) in &models {
        let (chosen, own) = time(|| model.sampler().seed(common.seed).run())?;
        progress.advance(1);
        let mut best: Option<(f64, &str)> = None;
        let mut all = Vec::new();
        for sampler in BY_HAND {
            progress.note(format!("{name}: {sampler}"));
            if let Some(Time { seconds: Some(seconds), .. }) = by_hand(model, sampler, common.seed)? {
                all.push(format!("{sampler} {seconds:.2}"));
                if best.is_none_or(|(least, _)| seconds < least) {
                    best = Some((seconds, sampler));
                }
            }
            progress.advance(1);
        }
        let ratio = own.seconds.zip(best).map_or("–".into(), |(own, (best, _))| format!("{:.2}", own / best));
        let r_hat = own.r_hat.map_or("–".into(), |r_hat| format!("{r_hat:.3}"));
        let line = format!(
            "| {name} | {} | {r_hat} | {} | {} | {} | {ratio} | {} |",
            chosen.report().sampler,
            show(own.seconds),
            best.map_or("none", |best| best.1),
            show(best.map(|best| best.0)),
            all.join(", ")
        );
        progress.say(&line);
        let _ = writeln!(text, "{line}");
    }
    drop(progress);
    report::write(&out.join("choice.md"), text.as_bytes())?;
    common.say(&format!("\n{text}"));
    Ok(())
}
