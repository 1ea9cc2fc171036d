//! Digits that appear from noise: a moving picture of chains over the RBM of 784 visible and 500 hidden units.
//!
//! `cargo run --release --example appearing` writes an animated PNG, the one at the top of the README.

use bitmc::random::bernoulli;
use bitmc::stats::Acceptance;
use bitmc::{Chain, Langevin, Packed};
use bitmc_examples::chains::{Moving, Walker, advance, memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::model::{DIGIT, DigitData, SIDE};
use bitmc_examples::picture::{self, BLUE, Frame, Panel, Tile};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

/// Digits that appear from noise, as an animated PNG
#[derive(Parser)]
#[command(name = "appearing", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Steps of each chain [default: 4000, with --quick 400]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: Option<u64>,

    /// Step size of the discrete Langevin proposal, on the {0,1} scale
    #[arg(long, default_value_t = 0.2, value_name = "ALPHA")]
    step_size: f32,
}

const COLUMNS: u32 = 12;
const CHAINS: usize = 3 * COLUMNS as usize;

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let last = options.steps.unwrap_or(if common.quick { 400 } else { 4000 });
    let data = DigitData::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data"))?;
    let sampler = Langevin::adjusted(options.step_size).map_err(Failure::option)?;
    let energy = data.model.rbm();
    let progress = Progress::new(common.quiet, CHAINS as u64 * last);
    let walker = |mut rng| -> Result<_, Failure> {
        let mut start = vec![0; DIGIT.words()];
        bernoulli(DIGIT, 0.5, &mut rng, &mut start);
        let start = Packed::new(DIGIT, &start).map_err(Failure::option)?;
        let chain = Chain::new(&energy, memory(&energy), start).map_err(Failure::option)?;
        Ok(Walker { chain, kernel: &sampler, rng, acceptance: Acceptance::new() })
    };
    let mut walkers = streams(common.seed).take(CHAINS).map(walker).collect::<Result<Vec<_>, _>>()?;
    let mut frames = Vec::new();
    let mut step = 0;
    for at in shown(last) {
        advance(&mut walkers, at - step, &progress);
        step = at;
        let tiles = walkers.iter().map(|walker| Tile::of(walker.state().words(), SIDE, BLUE)).collect();
        let title = format!("{CHAINS} chains from noise, DMALA, step {step}");
        let picture = picture::draw(&[Panel { title, apart: false, columns: COLUMNS, tiles }]);
        frames.push(Frame { picture, milliseconds: if step == last { 3000 } else { 150 } });
    }
    drop(progress);
    let out = common.folder("appearing");
    report::make_folder(&out)?;
    let file = out.join("appearing.png");
    picture::save_film(&file, &frames)?;
    common.say(&format!("the film is {}", file.display()));
    Ok(())
}

/// Steps that are shown: each a quarter more than the one before, for chains move much at first and less later.
fn shown(last: u64) -> Vec<u64> {
    let mut steps: Vec<u64> = vec![0];
    while let Some(&step) = steps.last().filter(|&&step| step < last) {
        steps.push((step + (step / 4).max(2)).min(last));
    }
    steps
}
