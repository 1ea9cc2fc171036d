//! Small figures of four of the papers, drawn again: what each says is a curve of a few seconds.
//!
//! `cargo run --release --example figures` writes `dula.svg` (DLP Figure 1), `bernoulli.svg` (AB Figure 1), `acceptance.svg`
//! (ACS Figure 3), `neighbours.svg` (RMwGGIS: how much less the guided draws of neighbours vary than uniform ones), and a
//! table of all. Expectations that can be summed are summed: the first and the last have no random error but that of the
//! samples they look at.

use bitmc::lane::{Block, LANES};
use bitmc::{
    Bernoulli, Chain, Energy, Function, LaneRng, Langevin, Layout, Packed, Plain, SeedableRng, random,
};
use bitmc_desktop::diagnose::effective_size;
use bitmc_desktop::learn::{Family, Method, NetworkFamily, Objective, Plan};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::model::DigitData;
use bitmc_examples::neighbours::{Spread, mean_spread};
use bitmc_examples::plot::{self, Curve, Panel};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use bitmc_examples::teach;
use bitmc_examples::toy::{Code, Shape};
use clap::Parser;
use rayon::prelude::*;
use std::f64::consts::PI;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Small figures of the papers, drawn again
#[derive(Parser, Debug)]
#[command(name = "figures", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Folder of the data
    #[arg(long, value_name = "DIR", default_value = "examples/data")]
    data: PathBuf,

    /// Only figures with this in the names of their files, such as neighbours
    #[arg(long, value_name = "WORD", default_value = "")]
    only: String,
}

/// A picture with its numbers as a table.
struct Figure {
    file: &'static str,
    panels: Vec<Panel>,
    table: String,
}

/// Panels of a picture, and their numbers as a table.
type Drawn = (Vec<Panel>, String);

/// What draws one.
type Draw<'d> = &'d dyn Fn() -> Result<Drawn, Failure>;

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let out = common.folder("figures");
    report::make_folder(&out)?;
    let digits = DigitData::read(&options.data)?;
    let all: [(&'static str, Draw<'_>); 4] = [
        ("dula.svg", &unadjusted),
        ("bernoulli.svg", &|| bernoulli(common)),
        ("acceptance.svg", &|| acceptance(common, &digits)),
        ("neighbours.svg", &|| neighbours(common, &digits)),
    ];
    let progress = Progress::new(common.quiet, all.len() as u64);
    let mut figures = Vec::new();
    for (file, draw) in all {
        if file.contains(&options.only) {
            let (panels, table) = draw()?;
            figures.push(Figure { file, panels, table });
        }
        progress.advance(1);
    }
    drop(progress);
    if figures.is_empty() {
        return Err(Failure::Option(format!("--only: no figure has {:?} in its name", options.only)));
    }
    let mut text = format!("Seed {}{}.\n", common.seed, if common.quick { ", --quick" } else { "" });
    for figure in &figures {
        plot::save(&out.join(figure.file), &figure.panels)?;
        let _ = write!(text, "\n{}", figure.table);
    }
    report::write(&out.join("figures.md"), text.as_bytes())?;
    common.say(&format!("{text}\nResults: {}", out.display()));
    Ok(())
}

/// A table: the x of all curves, then a column a curve.
fn table(panel: &Panel, digits: usize) -> String {
    let mut text = format!("{}. {}:\n\n| {} |", panel.title, panel.y, panel.x);
    panel.curves.iter().for_each(|curve| text += &format!(" {} |", curve.label));
    text += &format!("\n|---:|{}\n", "---:|".repeat(panel.curves.len()));
    for (row, &(x, _)) in panel.curves[0].points.iter().enumerate() {
        let _ = write!(text, "| {x} |");
        panel.curves.iter().for_each(|curve| text += &format!(" {:.digits$} |", curve.points[row].1));
        text += "\n";
    }
    text
}

fn curve(label: impl Into<String>, points: Vec<(f64, f64)>) -> Curve {
    Curve { label: label.into(), points }
}

fn panel(title: &str, x: &str, y: &str, curves: Vec<Curve>) -> Panel {
    Panel { title: title.into(), x: x.into(), y: y.into(), log_from: None, level: None, curves }
}

/// The paper's two (DLP §5.2 and appendix I.1), as bits. One is four spins on a square, `f = .1 sᵀWs + .2 Σs`. The other
/// is one spin, `f = as² + bs + 2ε sin(πs/2)`, of which the sine has the slope 0 at both values.
enum Toy {
    Square,
    Sine { epsilon: f64, a: f64, b: f64 },
}

impl Toy {
    /// The paper's a and b.
    fn near_quadratic(epsilon: f64) -> Self {
        Self::Sine { epsilon, a: 1.0, b: 0.1 }
    }

    /// Its counterexample: no slope tells of ε.
    fn without_slope(epsilon: f64) -> Self {
        Self::Sine { epsilon, a: 0.0, b: 0.0 }
    }
}

impl Function for Toy {
    fn layout(&self) -> Layout {
        Layout::binary(if matches!(self, Self::Square) { 4 } else { 1 })
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let spin = |site: usize| f64::from(x.get(site % 4)) * 2.0 - 1.0;
        match self {
            Self::Square => (0..4).map(|site| -0.2 * spin(site) * (spin(site + 1) + 1.0)).sum::<f64>() as f32,
            Self::Sine { epsilon, a, b } => {
                (-a - b * spin(0) - 2.0 * epsilon * (PI / 2.0 * spin(0)).sin()) as f32
            }
        }
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let spin = |site: usize| f64::from(x.get(site % 4)) * 2.0 - 1.0;
        match self {
            // A bit is half a spin: twice the slope over s.
            Self::Square => (-0.4 * (spin(site + 1) + spin(site + 3) + 1.0)) as f32,
            Self::Sine { epsilon, a, b } => {
                (-2.0 * (2.0 * a * spin(0) + b + epsilon * PI * (PI / 2.0 * spin(0)).cos())) as f32
            }
        }
    }
}

/// Σ|p_α − p| of DULA's stationary distribution p_α, from its transition matrix.
fn bias(toy: &Toy, step_size: f32) -> Result<f64, Failure> {
    let (energy, layout) = (Plain(toy), toy.layout());
    let words: Vec<[u32; 1]> = (0..1 << layout.sites()).map(|state| [state]).collect();
    let state = |number: usize| Packed::new(layout, &words[number]).map_err(Failure::option);
    let sampler = Langevin::unadjusted(step_size).map_err(Failure::option)?;
    let mut chain = Chain::new(&energy, memory(&energy), state(0)?).map_err(Failure::option)?;
    let (mut matrix, mut weights) = (Vec::new(), Vec::new());
    for x in 0..words.len() {
        chain.restart(state(x)?).map_err(Failure::option)?;
        weights.push(f64::from(-toy.total(state(x)?)).exp());
        for y in 0..words.len() {
            let found = sampler.transition(chain.ring(), state(y)?).map_err(Failure::option)?;
            matrix.push(f64::from(found.log_forward).exp());
        }
    }
    let sum: f64 = weights.iter().sum();
    let own = stationary(&matrix, words.len());
    Ok(own.iter().zip(&weights).map(|(own, weight)| (own - weight / sum).abs()).sum())
}

/// The stationary distribution of a transition matrix: state after state is left out (Grassmann, Taksar, Heyman 1985).
fn stationary(matrix: &[f64], states: usize) -> Vec<f64> {
    let mut p = matrix.to_vec();
    for last in (1..states).rev() {
        let leave: f64 = (0..last).map(|y| p[last * states + y]).sum();
        for x in 0..last {
            p[x * states + last] /= leave;
            for y in 0..last {
                p[x * states + y] += p[x * states + last] * p[last * states + y];
            }
        }
    }
    let mut weights = vec![1.0; states];
    for y in 1..states {
        weights[y] = (0..y).map(|x| weights[x] * p[x * states + y]).sum();
    }
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// DLP Figure 1: DULA's bias over the step size, and over the distance ε from a log-quadratic density.
fn unadjusted() -> Result<Drawn, Failure> {
    let over = |values: &[f64], of: &dyn Fn(f64) -> Result<f64, Failure>| -> Result<Vec<(f64, f64)>, Failure> {
        values.iter().map(|&value| Ok((value, of(value)?))).collect()
    };
    let sizes = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0];
    let left = panel(
        "DULA, bias over the step size",
        "step size α",
        "Σ|p_α − p|",
        vec![
            curve("Ising, 2×2", over(&sizes, &|alpha| bias(&Toy::Square, alpha as f32))?),
            curve(
                "counterexample, ε = .25",
                over(&sizes, &|alpha| bias(&Toy::without_slope(0.25), alpha as f32))?,
            ),
            curve(
                "counterexample, ε = .5",
                over(&sizes, &|alpha| bias(&Toy::without_slope(0.5), alpha as f32))?,
            ),
        ],
    );
    let distances = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];
    let right = panel(
        "DULA, bias over the distance from log-quadratic",
        "ε",
        "Σ|p_α − p|",
        [0.05, 0.1, 1.0]
            .into_iter()
            .map(|alpha| {
                let points = over(&distances, &|epsilon| bias(&Toy::near_quadratic(epsilon), alpha))?;
                Ok(curve(format!("α = {alpha}"), points))
            })
            .collect::<Result<_, Failure>>()?,
    );
    let text = format!("{}\n{}", table(&left, 4), table(&right, 4));
    Ok((vec![left, right], text))
}

/// AB Figure 1: effective sample size of the energy over the balance α, for several step sizes σ, on 100 independent bits
/// with standard normal log odds.
fn bernoulli(common: &Common) -> Result<Drawn, Failure> {
    const SITES: usize = 100;
    let (chains, steps) = if common.quick { (4, 2_000) } else { (16, 20_000) };
    let mut rng = LaneRng::seed_from_u64(common.seed);
    let blocks: [Block; SITES.div_ceil(LANES)] = std::array::from_fn(|_| random::normals(&mut rng));
    let energy =
        &Bernoulli::new(&blocks.as_flattened()[..SITES]).ok_or(Failure::Option("no log odds".into()))?;
    let sizes: [f32; 6] = [0.2, 0.5, 1.0, 2.0, 5.0, 20.0];
    let balances: [f32; 9] = [0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0];
    let cell = |size: f32, balance: f32| -> Result<f64, Failure> {
        let sampler = Langevin::balanced(size, balance).map_err(Failure::option)?;
        let streams: Vec<LaneRng> = streams(common.seed).take(chains).collect();
        let series = streams.into_par_iter().map(|mut rng| {
            let mut chain = Chain::random(energy, memory(energy), &mut rng).map_err(Failure::option)?;
            chain.run(&sampler, &mut rng, steps / 10, &mut ());
            let draw = |_| {
                chain.step(&sampler, &mut rng);
                f64::from(chain.energy())
            };
            Ok((0..steps).map(draw).collect())
        });
        let series: Vec<Vec<f64>> = series.collect::<Result<_, Failure>>()?;
        Ok(effective_size(&series).unwrap_or(0.0) / (chains * steps as usize) as f64 * 1000.0)
    };
    let row = |&size: &f32| -> Result<Curve, Failure> {
        let points = balances
            .iter()
            .map(|&balance| Ok((f64::from(balance * 1000.0).round() / 1000.0, cell(size, balance)?)));
        Ok(curve(format!("σ = {size}"), points.collect::<Result<_, Failure>>()?))
    };
    let curves = sizes.iter().map(row).collect::<Result<_, Failure>>()?;
    let panel = panel("100 independent bits", "balance α", "effective draws of 1,000", curves);
    let text = table(&panel, 1);
    Ok((vec![panel], text))
}

/// ACS Figure 3: acceptance over the step size, one step from each of 1,000 reference samples of the RBM over digits.
fn acceptance(common: &Common, digits: &DigitData) -> Result<Drawn, Failure> {
    let energy = &digits.model.rbm();
    let repeats = if common.quick { 1 } else { 8 };
    let sizes: [f32; 16] =
        [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 8.0, 20.0, 60.0];
    let cell = |size: f32, balance: f32| -> Result<f64, Failure> {
        let sampler = &Langevin::balanced(size, balance).map_err(Failure::option)?;
        let streams: Vec<LaneRng> = streams(common.seed).take(repeats).collect();
        let sums = streams.into_par_iter().map(|mut rng| {
            let mut chain = Chain::random(energy, memory(energy), &mut rng).map_err(Failure::option)?;
            let mut sum = 0.0;
            for row in digits.reference.rows() {
                let start = Packed::new(energy.layout(), row).map_err(Failure::option)?;
                chain.restart(start).map_err(Failure::option)?;
                // The probability of acceptance: less noise than whether it was.
                sum += f64::from(chain.step(sampler, &mut rng).log_ratio).min(0.0).exp();
            }
            Ok(sum / digits.reference.len() as f64)
        });
        let sums: Vec<f64> = sums.collect::<Result<_, Failure>>()?;
        Ok(sums.iter().sum::<f64>() / repeats as f64)
    };
    let row = |balance: f32| -> Result<Curve, Failure> {
        let points =
            sizes.iter().map(|&size| Ok((f64::from(size * 1000.0).round() / 1000.0, cell(size, balance)?)));
        Ok(curve(format!("balance β = {balance}"), points.collect::<Result<_, Failure>>()?))
    };
    let curves = [0.5, 0.6, 0.7, 0.8, 0.95].into_iter().map(row).collect::<Result<_, Failure>>()?;
    let panel = panel("RBM over digits, one step from reference samples", "step size α", "acceptance", curves);
    let text = table(&panel, 4);
    Ok((vec![panel], text))
}

/// RMwGGIS: the variance of the gradient of Eq. 2 from s neighbours, drawn by the gradient and uniformly, while a network
/// learns the spirals of 32 bits; and at the trained RBM over digits.
fn neighbours(common: &Common, digits: &DigitData) -> Result<Drawn, Failure> {
    let (looks, each, samples) = if common.quick { (3, 60, 8) } else { (8, 250, 64) };
    let code = Code::new(32);
    let mut rng = LaneRng::seed_from_u64(common.seed);
    let family = NetworkFamily::new(32, &[64; 3]);
    let mut theta = family.start(&[], &mut rng);
    let draw = |rng: &mut LaneRng, words: &mut [u32]| code.encode(Shape::TwoSpirals.draw(rng), rng, words);
    let mut held = BitRows::new(code.layout());
    for _ in 0..samples {
        let mut words = [0];
        draw(&mut rng, &mut words);
        held.push(Packed::new(code.layout(), &words).map_err(Failure::option)?);
    }
    let (mut guided, mut least) = (Vec::new(), Vec::new());
    let mut note = |iterations: u64, found: Spread| {
        guided.push((iterations as f64, found.uniform / found.guided));
        least.push((iterations as f64, found.uniform / found.least));
    };
    let method = Method::Objective(Objective::RatioMatching);
    for look in 0..looks {
        let plan = Plan { seed: common.seed + look, iterations: each, rate: 0.001, ..teach::NETWORK };
        theta = teach::learn(&family, Some(theta), draw, (method, plan), |_| ())?.0;
        note((look + 1) * each, mean_spread(&family.energy(&theta, &mut [])?, &held)?);
    }
    let panel = panel(
        "2spirals, 32 bits, a network of 3 × 64",
        "iterations of ratio matching",
        "variance of uniform draws, as a multiple",
        vec![curve("of draws by the gradient", guided), curve("of the best draws there are", least)],
    );
    let mut text = table(&panel, 2);
    let mut few = BitRows::new(digits.test.layout());
    for row in digits.test.rows().take(if common.quick { 2 } else { 16 }) {
        few.push(Packed::new(few.layout(), row).map_err(Failure::option)?);
    }
    let found = mean_spread(&digits.model.rbm(), &few)?;
    let _ = writeln!(
        text,
        "\nThe trained RBM of 784 × 500, {} test digits: uniform draws have {:.1} times the variance of draws by the \
         gradient, and {:.1} times that of the best ones. With ten draws the standard deviation of the estimate is {:.2} \
         times the gradient's length by the gradient, {:.2} times uniformly.",
        few.len(),
        found.uniform / found.guided,
        found.uniform / found.least,
        (found.guided / 10.0 / found.whole).sqrt(),
        (found.uniform / 10.0 / found.whole).sqrt(),
    );
    Ok((vec![panel], text))
}
