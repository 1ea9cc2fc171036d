//! Energy-sampling Hamiltonian dynamics on the targets of its paper (Ver Steeg and Galstyan 2021): how fast
//! chains that start together get to the target, and a neural energy trained with them.
//!
//! `cargo run --release --example esh`; every sampler on a target is a cell of its own, and `--resume` goes on where a
//! run was stopped. With `--features nuts` the no-U-turn sampler joins in.

use bitmc::LaneRng;
use bitmc::flow::Mlp;
use bitmc_examples::cells::Cells;
use bitmc_examples::chains::streams;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::flow::measure::{Mmd, effective_size};
use bitmc_examples::flow::picture::{Marks, Panel, SIDE, draw};
use bitmc_examples::flow::run::{Path, Sampler, run};
use bitmc_examples::flow::targets::Target;
use bitmc_examples::flow::train::{GRADIENTS, Method, Toy, WIDTHS, divergence, normalise, surface, train};
use bitmc_examples::harness::{deviation, differ, mean};
use bitmc_examples::progress::Progress;
use bitmc_examples::{picture, plot, report};
use clap::Parser;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::process::ExitCode;
use std::time::Instant;

/// Energy-sampling Hamiltonian dynamics beside Langevin, Hamiltonian and thermostat samplers
#[derive(Parser, Debug)]
#[command(name = "esh", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Independent chains [default: 500, with --quick 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    chains: Option<u32>,

    /// Gradients of each chain
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    gradients: u64,

    /// Iterations of training a neural energy; 0 leaves it out [default: 3000, with --quick 60]
    #[arg(long, value_name = "N", conflicts_with = "integrators")]
    iterations: Option<u64>,

    /// Integrators of the same dynamics in place of samplers: leapfrog and Runge-Kutta, in the scaled and the original
    /// time. The two by Runge-Kutta need --features runge-kutta
    #[arg(long)]
    integrators: bool,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// The paper's Table 1 (ESS a gradient, its standard deviation), in the order of [`Target::ALL`] and
/// [`Sampler::ALL`], whose last it lacks.
const PAPER: [[(f64, f64); 6]; 6] = [
    [
        (2.1e-2, 1.6e-2),
        (2.5e-3, 1.6e-3),
        (4.1e-3, 1.3e-3),
        (3.6e-3, 1.3e-3),
        (2.2e-3, 2.8e-3),
        (8.8e-3, 4.6e-3),
    ],
    [
        (2.6e-2, 1.8e-2),
        (3.0e-3, 8.4e-4),
        (4.2e-3, 1.5e-3),
        (2.7e-3, 3.8e-4),
        (4.6e-3, 2.0e-3),
        (8.5e-3, 4.5e-3),
    ],
    [
        (2.4e-2, 1.4e-2),
        (7.6e-3, 4.8e-3),
        (1.3e-2, 8.0e-3),
        (1.0e-2, 5.7e-3),
        (1.2e-2, 1.1e-2),
        (1.3e-2, 8.1e-3),
    ],
    [
        (8.9e-3, 1.2e-2),
        (9.6e-4, 2.1e-3),
        (2.9e-3, 5.1e-3),
        (1.8e-3, 3.5e-3),
        (2.5e-3, 4.9e-3),
        (3.7e-3, 6.0e-3),
    ],
    [
        (1.6e-4, 2.6e-4),
        (2.8e-5, 4.0e-5),
        (7.4e-4, 5.0e-4),
        (1.8e-4, 2.2e-4),
        (1.2e-4, 1.4e-4),
        (7.8e-4, 5.1e-4),
    ],
    [
        (1.0e-3, 3.0e-4),
        (9.6e-4, 1.6e-4),
        (8.8e-4, 1.1e-4),
        (9.4e-4, 1.5e-4),
        (1.0e-3, 1.8e-4),
        (8.8e-4, 1.1e-4),
    ],
];

/// One sampler on one target.
#[derive(Debug, Serialize)]
struct Cell {
    target: &'static str,
    sampler: &'static str,
    ess_per_gradient: f64,
    /// Of a chain, as in the paper.
    ess_per_gradient_sd: f64,
    /// By the test of the harness over the chains, all comparisons of the table together.
    ess_differs_from_esh: bool,
    paper_ess_per_gradient: Option<f64>,
    paper_ess_per_gradient_sd: Option<f64>,
    gradients: Vec<u64>,
    mmd2: Vec<f64>,
    /// The part of the chains whose Hamiltonian was ever more than 1 nat off, where the dynamics conserve one.
    off: Option<f64>,
    /// Where the size of a step adapts: its correlation with |v|, of their logarithms, over all steps of all chains.
    step_with_speed: Option<f64>,
    /// MMD² of as many exact draws, for comparison.
    mmd2_of_exact_draws: f64,
}

#[derive(Debug, Serialize)]
struct Trained {
    density: &'static str,
    method: &'static str,
    iterations: u64,
    gradients_per_chain: u64,
    kl_from_truth_nats: f64,
    kl_to_truth_nats: f64,
}

#[derive(Debug, Serialize)]
struct Results {
    seed: u64,
    chains: u32,
    gradients: u64,
    cells: Vec<Cell>,
    training: Vec<Trained>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let pool = options.common.pool()?;
        pool.install(|| compare(&options))
    })
}

fn compare(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let folder = common.folder(if options.integrators { "esh-integrators" } else { "esh" });
    report::make_folder(&folder)?;
    let chains = options.chains.unwrap_or(if common.quick { 100 } else { 500 });
    let usual = if common.quick { 60 } else { 3_000 };
    let iterations = options.iterations.unwrap_or(if options.integrators { 0 } else { usual });
    let all = if options.integrators { &Sampler::INTEGRATORS[..] } else { &Sampler::ALL };
    let samplers: Vec<(usize, Sampler)> =
        all.iter().copied().enumerate().filter(|(_, sampler)| sampler.is_built()).collect();
    // The paper compares integrators on all targets but the funnel.
    let targets = if options.integrators { &Target::ALL[..5] } else { &Target::ALL };
    let work = (targets.len() * samplers.len()) as u64 * u64::from(chains);
    let comparisons = targets.len() * (samplers.len() - 1);
    let begin = Instant::now();

    let kept = Cells::new(&folder, options.resume)?;
    let progress = Progress::new(common.quiet, work);
    let looks = looks(options.gradients);
    let (mut cells, mut panels, mut funnel) = (Vec::new(), Vec::new(), Vec::new());
    let mut traces: Vec<(&str, Vec<[f64; 3]>)> = Vec::new();
    for (row, &target) in targets.iter().enumerate() {
        let mut draws: Vec<LaneRng> = streams(common.seed ^ 0xE5).take(2).collect();
        let mut exact = |which: usize, count: u32| -> Vec<Vec<f32>> {
            (0..count).map(|_| target.draw(&mut draws[which])).collect()
        };
        let whitened = |x: &Vec<f32>| target.whitened(x.clone());
        let (exact, other) = (exact(0, 4 * chains), exact(1, chains));
        let reference: Vec<_> = exact.iter().map(whitened).collect();
        let mmd = Mmd::new(&reference);
        let floor = mmd.squared(&other.iter().map(whitened).collect::<Vec<_>>());
        let mut first: Vec<f64> = Vec::new();
        for &(column, sampler) in &samplers {
            progress.note(format!("{}, {}", target.name(), sampler.name()));
            let question = format!("seed {}, {chains} chains, {} gradients", common.seed, options.gradients);
            let seen = kept.answer(&format!("{} {}", target.name(), sampler.name()), &question, || {
                Ok(measure((sampler, target), (common.seed, chains), &looks, &mmd, &progress))
            })?;
            let paper = if options.integrators { None } else { PAPER[row].get(column).copied() };
            if column == 0 {
                first.clone_from(&seen.ess);
            }
            if target == Target::Mog && !seen.trace.is_empty() {
                traces.push((sampler.name(), seen.trace.clone()));
            }
            match target {
                Target::MogPrior | Target::ScgBias => panels.push(over_density(target, sampler, &seen.points)),
                Target::Funnel => funnel.push(cloud(sampler.name(), seen.points.concat(), picture::BLUE)),
                _ => {}
            }
            cells.push(Cell {
                target: target.name(),
                sampler: sampler.name(),
                ess_per_gradient: mean(&seen.ess) / options.gradients as f64,
                ess_per_gradient_sd: deviation(&seen.ess) / options.gradients as f64,
                ess_differs_from_esh: matches!(
                    differ(&seen.ess, &first, comparisons),
                    Some(Ordering::Less | Ordering::Greater)
                ),
                paper_ess_per_gradient: paper.map(|(mean, _)| mean),
                paper_ess_per_gradient_sd: paper.map(|(_, deviation)| deviation),
                mmd2: seen.mmd2,
                off: seen.off,
                step_with_speed: seen.step_with_speed,
                gradients: looks.clone(),
                mmd2_of_exact_draws: floor,
            });
        }
        if target == Target::Funnel {
            funnel.push(cloud("exact draws", plane(&other), picture::INK));
        }
    }
    drop(progress);
    let sampled = begin.elapsed().as_secs_f64();

    let columns = samplers.len() as u32;
    picture::save(&folder.join("esh.chains.png"), &draw(&panels, columns))?;
    if options.integrators {
        plot::save(&folder.join("esh.energy.svg"), &conserved(&traces))?;
    } else {
        picture::save(&folder.join("esh.funnel.png"), &draw(&funnel, columns + 1))?;
    }
    for (part, targets) in [("a", &targets[..3]), ("b", &targets[3..])] {
        let panels: Vec<plot::Panel> = targets.iter().map(|&target| curves(target, &cells)).collect();
        plot::save(&folder.join(format!("esh.mmd-{part}.svg")), &panels)?;
    }
    let begin = Instant::now();
    let training = if iterations > 0 { learn(options, &folder, &kept, iterations)? } else { Vec::new() };

    let table = table(targets, &cells, &samplers, &training);
    report::write(&folder.join("esh.md"), table.as_bytes())?;
    let results = Results { seed: common.seed, chains, gradients: options.gradients, cells, training };
    report::json(&folder.join("esh.json"), &results)?;
    let clock = [("sampling_seconds", sampled), ("training_seconds", begin.elapsed().as_secs_f64())];
    report::json(&folder.join("esh.timing.json"), &std::collections::BTreeMap::from(clock))?;
    common.say(&format!("{table}\nResults: {}", folder.display()));
    Ok(())
}

/// Where to look: 1, 2, 5, 10, … gradients and the last.
fn looks(gradients: u64) -> Vec<u64> {
    let scales = std::iter::successors(Some(1u64), |scale| Some(scale * 10));
    let all = scales.flat_map(|scale| [scale, 2 * scale, 5 * scale]);
    all.take_while(|&look| look < gradients).chain([gradients]).collect()
}

/// What the chains of one sampler did on one target.
#[derive(Serialize, Deserialize)]
struct Seen {
    /// Of each chain.
    ess: Vec<f64>,
    mmd2: Vec<f64>,
    /// For the pictures: the states of three chains, or where all of them ended on the funnel.
    points: Vec<Vec<[f32; 2]>>,
    off: Option<f64>,
    step_with_speed: Option<f64>,
    /// Where the dynamics conserve something, after so many gradients: the mean change of E + d ln|v| in size, and the mean
    /// of d ln|v|.
    trace: Vec<[f64; 3]>,
}

fn measure(
    (sampler, target): (Sampler, Target),
    (seed, chains): (u64, u32),
    looks: &[u64],
    mmd: &Mmd,
    progress: &Progress,
) -> Seen {
    let generators: Vec<LaneRng> = streams(seed).take(chains as usize).collect();
    let paths = generators.into_par_iter().map(|mut rng| {
        let path = run(sampler, target, looks, &mut rng);
        progress.advance(1);
        path
    });
    let paths: Vec<Path> = paths.collect();
    let moments = target.moments();
    let at = |look: usize| paths.iter().map(|path| path.samples[look].clone()).collect::<Vec<_>>();
    let points = match target {
        Target::MogPrior | Target::ScgBias => paths.iter().take(3).map(|path| plane(&path.states)).collect(),
        Target::Funnel => vec![plane(&at(looks.len() - 1))],
        _ => Vec::new(),
    };
    let trace = |look: &u64| {
        let last = |path: &Path| path.trace.iter().rev().find(|at| at.gradients <= *look).copied();
        let of = |path: &Path| last(path).map(|at| [(at.total - path.trace[0].total).abs(), at.kinetic]);
        let all: Vec<[f64; 2]> = paths.iter().filter_map(of).collect();
        let mean = |which: usize| all.iter().map(|of| of[which]).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| [*look as f64, mean(0), mean(1)])
    };
    let trace = looks.iter().filter_map(trace).collect();
    let is_off = |path: &&Path| {
        let mut away = path.trace.iter().map(|at| (at.total - path.trace[0].total).abs());
        away.any(|away| away > 1.0 || away.is_nan())
    };
    let conserves = paths.iter().any(|path| !path.trace.is_empty());
    let off = conserves.then(|| paths.iter().filter(is_off).count() as f64 / paths.len() as f64);
    let steps = paths.iter().flat_map(|path| path.trace.iter().skip(1).map(|at| (at.step.ln(), at.kinetic)));
    let whitened = |look| at(look).into_iter().map(|x| target.whitened(x)).collect::<Vec<_>>();
    Seen {
        ess: paths.par_iter().map(|path| effective_size(&path.states, &moments)).collect(),
        mmd2: (0..looks.len()).map(|look| mmd.squared(&whitened(look))).collect(),
        off,
        step_with_speed: matches!(sampler, Sampler::RungeKutta(_))
            .then(|| correlation(&steps.collect::<Vec<_>>())),
        points,
        trace,
    }
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (at, bt) = (mean(&a), mean(&b));
    let product: f64 = pairs.iter().map(|(x, y)| (x - at) * (y - bt)).sum();
    product / ((a.len() as f64 - 1.0) * deviation(&a) * deviation(&b))
}

/// The first two coordinates.
fn plane(samples: &[Vec<f32>]) -> Vec<[f32; 2]> {
    samples.iter().map(|x| [x[0], x[1]]).collect()
}

/// The first three chains over the density.
fn over_density(target: Target, sampler: Sampler, chains: &[Vec<[f32; 2]>]) -> Panel {
    let colours = [[20, 82, 168], [208, 92, 20], [40, 130, 70]];
    let marks = chains.iter().zip(colours);
    let marks = marks.map(|(points, colour)| Marks { points: points.clone(), joined: true, colour });
    let density = target.with(|potential| normalise(&surface(potential, target.span(), SIDE)));
    let (title, span) = (format!("{}, {}", target.name(), sampler.name()), target.span());
    Panel { title, density, edges: [-span, span, -span, span], marks: marks.collect() }
}

/// Samples of the funnel.
fn cloud(name: &str, points: Vec<[f32; 2]>, colour: picture::Colour) -> Panel {
    let span = Target::Funnel.span();
    let marks = vec![Marks { points, joined: false, colour }];
    Panel { title: format!("funnel, {name}"), density: Vec::new(), edges: [-span, span, -span, span], marks }
}

fn curves(target: Target, cells: &[Cell]) -> plot::Panel {
    let mine = cells.iter().filter(|cell| cell.target == target.name());
    let shown: Vec<&Cell> = mine.filter(|cell| cell.sampler != Sampler::NoseHoover.name()).collect();
    plot::Panel {
        title: target.name().into(),
        x: "gradients of each chain".into(),
        y: "squared MMD to exact samples".into(),
        log_from: Some(1e-4),
        level: shown.first().map(|cell| (cell.mmd2_of_exact_draws.max(1e-4), "exact draws".into())),
        curves: shown
            .iter()
            .map(|cell| plot::Curve {
                label: cell.sampler.into(),
                points: cell.gradients.iter().zip(&cell.mmd2).map(|(&x, &y)| (x as f64, y)).collect(),
            })
            .collect(),
    }
}

/// What the dynamics conserve, and its kinetic part: means over the chains on the mixture.
fn conserved(traces: &[(&'static str, Vec<[f64; 3]>)]) -> Vec<plot::Panel> {
    let panel = |title: &str, y: &str, of: usize, log_from| plot::Panel {
        title: title.into(),
        x: "gradients".into(),
        y: y.into(),
        log_from,
        level: None,
        curves: traces
            .iter()
            .map(|(name, trace)| plot::Curve {
                label: (*name).into(),
                points: trace.iter().map(|at| (at[0], at[of])).collect(),
            })
            .collect(),
    };
    let drift =
        panel("How far the Hamiltonian is off", "mean change of E + d ln|v|, in size, nats", 1, Some(1e-6));
    vec![drift, panel("Its kinetic part", "mean of d ln|v|, nats", 2, None)]
}

/// Trains the same network on each density with each method.
fn learn(
    options: &Options,
    folder: &std::path::Path,
    kept: &Cells,
    iterations: u64,
) -> Result<Vec<Trained>, Failure> {
    let common = &options.common;
    let progress = Progress::new(common.quiet, (Toy::ALL.len() * Method::ALL.len()) as u64 * iterations);
    let (mut panels, mut results) = (Vec::new(), Vec::new());
    for toy in Toy::ALL {
        let (truth, span) = (toy.truth(SIDE), toy.span());
        let edges = [-span, span, -span, span];
        let panel = |title: &str, density: Vec<f64>| Panel {
            title: format!("{}, {title}", toy.name()),
            density,
            edges,
            marks: Vec::new(),
        };
        panels.push(panel("truth", truth.clone()));
        for method in Method::ALL {
            let name = method.name();
            progress.note(format!("training on the {} with {name}", toy.name()));
            let question = format!("seed {}, {iterations} iterations", common.seed);
            let parameters = kept.answer(&format!("training {} {name}", toy.name()), &question, || {
                Ok(train(toy, method, iterations, common.seed, &|| progress.advance(1)))
            })?;
            let density = match Mlp::new(&WIDTHS, &parameters) {
                Ok(model) => normalise(&surface(&model, span, SIDE)),
                // Training ran away.
                Err(_) => vec![f64::NAN; SIDE * SIDE],
            };
            results.push(Trained {
                density: toy.name(),
                method: name,
                iterations,
                gradients_per_chain: GRADIENTS,
                kl_from_truth_nats: divergence(&truth, &density),
                kl_to_truth_nats: divergence(&density, &truth),
            });
            panels.push(panel(name, density));
        }
    }
    picture::save(&folder.join("esh.training.png"), &draw(&panels, 1 + Method::ALL.len() as u32))?;
    Ok(results)
}

/// What stands in a cell of a table.
type Write = fn(&Cell) -> String;

fn table(targets: &[Target], cells: &[Cell], samplers: &[(usize, Sampler)], training: &[Trained]) -> String {
    // One row a target, one column a sampler, and one more where it has a name.
    let grid = |title: &str, last: Option<(&str, Write)>, of: Write| {
        let mut text = format!("{title}\n\n| target |");
        samplers.iter().for_each(|(_, sampler)| text += &format!(" {} |", sampler.name()));
        last.iter().for_each(|(name, _)| text += &format!(" {name} |"));
        text += "\n|---|";
        text += &"---|".repeat(samplers.len() + usize::from(last.is_some()));
        for &target in targets {
            text += &format!("\n| {} |", target.name());
            let row: Vec<&Cell> = cells.iter().filter(|cell| cell.target == target.name()).collect();
            row.iter().for_each(|cell| text += &format!(" {} |", of(cell)));
            last.iter().zip(&row).for_each(|((_, of), cell)| text += &format!(" {} |", of(cell)));
        }
        text
    };
    let has_paper = cells.iter().any(|cell| cell.paper_ess_per_gradient.is_some());
    let mut text = String::new();
    if has_paper {
        let title = "ESS a gradient, ours / the paper's (Table 1); ~ where it does not differ from that of ESH";
        text += &grid(title, None, |cell| {
            let paper = cell.paper_ess_per_gradient.map_or("none".into(), |paper| format!("{paper:.1e}"));
            let same = if cell.ess_differs_from_esh || cell.sampler == Sampler::Esh.name() { "" } else { "~" };
            format!("{same}{:.1e} / {paper}", cell.ess_per_gradient)
        });
        text += "\n\n";
    }
    let exact: (&str, Write) = ("exact", |cell| format!("{:.4}", cell.mmd2_of_exact_draws));
    let title = "Squared MMD to exact samples after the last gradient (as many exact draws: last column)";
    text += &grid(title, Some(exact), |cell| format!("{:.4}", cell.mmd2.last().copied().unwrap_or(f64::NAN)));
    if !training.is_empty() {
        text += "\n\nA neural energy trained with equal gradients\n\n";
        text += "| density | sampler | iterations | KL(truth, model), nats | KL(model, truth), nats |\n\
                 |---|---|---|---|---|";
        for line in training {
            let (from, to) = (line.kl_from_truth_nats, line.kl_to_truth_nats);
            let (density, method) = (line.density, line.method);
            text += &format!("\n| {density} | {method} | {} | {from:.3} | {to:.3} |", line.iterations);
        }
    }
    if has_paper {
        return text + NOTES;
    }
    text += "\n\n";
    text += &grid("Chains whose Hamiltonian was ever more than 1 nat off, in percent", None, |cell| {
        format!("{:.1}", 100.0 * cell.off.unwrap_or(f64::NAN))
    });
    text += "\n\n";
    text += &grid("Correlation of ln step with ln |v|, where steps adapt", None, |cell| {
        cell.step_with_speed.map_or("none".into(), |value| format!("{value:.2}"))
    });
    text + "\n"
}

/// What to know when the two halves of the table are compared.
const NOTES: &str = "

* Targets, starts and the ESS of a chain are those of the authors' program; the paper prints no sizes.
* ESS: of the worst coordinate, or the worst square of one. It counts from the start on, with exact variances.
  A sampler that stands still far away has much less than 1.
* MMD: Gaussians and the funnel are compared after they are brought to a standard normal, as the authors do.
* Correlated, from noise: on a Gaussian in the plane the trajectories of ESH are regular, not ergodic. New directions
  now and then cure it (`Esh::refresh`); the paper has none.
* Funnel: every sampler fails. The ESS there is made by the authors' scales: see docs/examples/esh.md.
";
