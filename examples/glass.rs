//! A planar ±J spin glass at a low temperature: replica exchange with and without isoenergetic moves, from two kinds of start.
//!
//! `cargo run --release --example glass` follows the energy of the coldest replicas from random states and from an annealed one. That one's
//! energy may lie above the equilibrium's: two runs that agree and still fall are not there.
//! No sampler is in equilibrium before both agree and stay. It writes `glass.json`, and against processor seconds
//! `glass.timing.json` and `glass.timing.svg`.

use bitmc::batch::{Batch, BatchSite};
use bitmc::lane::LANES;
use bitmc::step::SequentialGibbs;
use bitmc::temper::{Isoenergetic, Ladder, Rung};
use bitmc::{Ising, LaneRng, Layout, Packed, torus};
use bitmc_desktop::Model;
use bitmc_desktop::chains::streams;
use bitmc_examples::cli::{self, Common, Failure, within};
use bitmc_examples::plot::{self, Curve, Panel};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::Parser;
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::Serialize;
use std::process::ExitCode;

/// Replica exchange with and without isoenergetic moves on a planar ±J spin glass
#[derive(Parser, Debug)]
#[command(name = "glass", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Side of the torus
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(4..=1000))]
    side: u16,

    /// Sites in the third direction: 1 is planar
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    depth: u16,

    /// The lowest temperature, in units of |J|
    #[arg(long, default_value_t = 0.2, value_parser = within(0.05, 10.0))]
    temperature: f32,

    /// The highest temperature
    #[arg(long, default_value_t = 1.6, value_parser = within(0.1, 100.0))]
    hottest: f32,

    /// Replicas of a ladder, in batches of sixteen
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    batches: u16,

    /// Rounds with isoenergetic moves; without them so many more that both take about the same time
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u64).range(16..))]
    rounds: u64,

    /// Rounds of replica exchange in the time of one with isoenergetic moves
    #[arg(long, default_value_t = 2.0, value_parser = within(1.0, 100.0))]
    ratio: f32,

    /// Glasses
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    glasses: u16,
}

/// A round exchanges a cluster at every fourth rung.
const TURNS: u64 = 4;

/// A ladder of replicas in batches.
struct Replicas<'e> {
    ladder: Ladder<Vec<Rung>>,
    batches: Vec<Batch<'e, Vec<BatchSite>>>,
    rngs: Vec<LaneRng>,
    swaps: LaneRng,
}

impl<'e> Replicas<'e> {
    /// All at a state, or at random ones.
    fn new(
        model: &'e Ising<'e>,
        betas: &[f32],
        start: Option<Packed<'_>>,
        streams: &mut impl Iterator<Item = LaneRng>,
    ) -> Result<Self, Failure> {
        let ladder = Ladder::new(vec![Rung::default(); betas.len()], betas).map_err(Failure::option)?;
        let swaps = streams.next().ok_or_else(|| Failure::option("no generator"))?;
        let mut rngs: Vec<LaneRng> = streams.take(betas.len() / LANES).collect();
        let memory = || vec![BatchSite::new(); model.form().sites()];
        let batch = |rng: &mut LaneRng| match start {
            Some(start) => Batch::new(model, memory(), start),
            None => Batch::random(model, memory(), rng),
        };
        let batches = rngs.iter_mut().map(batch).collect::<Result<_, _>>().map_err(Failure::model)?;
        Ok(Self { ladder, batches, rngs, swaps })
    }

    /// Gives every replica the β of its rung.
    fn set_betas(&mut self) {
        let mut betas = vec![[1.0; LANES]; self.batches.len()];
        for rung in self.ladder.rungs() {
            betas[rung.replica() / LANES][rung.replica() % LANES] = rung.beta();
        }
        for (batch, betas) in self.batches.iter_mut().zip(betas) {
            batch.set_betas(betas).expect("a ladder's betas are legal");
        }
    }

    /// A sweep of every replica, and swaps.
    fn round(&mut self) {
        self.set_betas();
        for (batch, rng) in self.batches.iter_mut().zip(&mut self.rngs) {
            batch.step(&SequentialGibbs, rng);
        }
        if self.ladder.rounds().is_multiple_of(256) {
            // Errors of rounding would add up.
            self.batches.iter_mut().for_each(|batch| _ = batch.refresh());
        }
        let batches = &self.batches;
        self.ladder.exchange(|replica| batches[replica / LANES].energy(replica % LANES), &mut self.swaps);
    }

    fn coldest(&self) -> f64 {
        let replica = self.ladder.coldest();
        self.batches[replica / LANES].energy(replica % LANES).into()
    }
}

/// Clusters between two ladders at every fourth rung.
fn exchange_clusters<'e>(
    (one, other): (&mut Replicas<'e>, &mut Replicas<'e>),
    round: u64,
    clusters: &Isoenergetic<'_, Ising<'_>>,
    memory: &mut [u32],
    rng: &mut LaneRng,
) -> Result<(), Failure> {
    one.set_betas();
    other.set_betas();
    for rung in ((round % TURNS) as usize..one.ladder.rungs().len()).step_by(TURNS as usize) {
        let (a, b) = (one.ladder.rungs()[rung].replica(), other.ladder.rungs()[rung].replica());
        let to = (&mut other.batches[b / LANES], b % LANES);
        let moved = one.batches[a / LANES].exchange_cluster(a % LANES, to, clusters, memory, rng);
        moved.map_err(Failure::model)?;
    }
    Ok(())
}

/// What a run is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Case {
    glass: u16,
    isoenergetic: bool,
    from_annealed: bool,
}

/// The mean energy a site of the two coldest replicas over windows of rounds, each twice as long as the one before.
#[derive(Debug, Serialize)]
struct Course {
    case: Case,
    /// The round at which each window ends.
    rounds: Vec<u64>,
    energies_per_site: Vec<f64>,
    /// The standard error of the last one, from its eight parts.
    last_error: f64,
    round_trips: u64,
    least_swap_rate: f32,
    #[serde(skip)]
    seconds: Vec<f64>,
}

/// A glass, its temperatures and an annealed state.
struct Glass {
    edges: Vec<(u32, u32, f32)>,
    sites: usize,
    betas: Vec<f32>,
    low: Vec<u32>,
}

/// Two random signs a time from a small generator that any machine has.
fn signs(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 { 1.0 } else { -1.0 }
    }
}

fn edges(options: &Options, seed: u64) -> Vec<(u32, u32, f32)> {
    let (side, depth) = (u32::from(options.side), u32::from(options.depth));
    let (layer, mut sign) = (side * side, signs(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let flat =
        (0..depth).flat_map(|z| torus(side, side, 1.0).map(move |(a, b, j)| (z * layer + a, z * layer + b, j)));
    let up = |(z, a): (u32, u32)| (z * layer + a, (z + 1) % depth * layer + a, 1.0);
    let upward = (0..depth).filter(|_| depth > 2).flat_map(|z| (0..layer).map(move |a| (z, a))).map(up);
    flat.chain(upward).map(|(a, b, _)| (a, b, sign())).collect()
}

/// Memory of couplings.
struct Rows(Vec<u32>, Vec<i32>, Vec<bitmc::energy::Entry>);

impl Rows {
    fn new(glass: &[(u32, u32, f32)], sites: usize) -> Self {
        Self(vec![0; sites], vec![0; sites], vec![Default::default(); 2 * glass.len()])
    }

    fn model(&mut self, edges: &[(u32, u32, f32)], sites: usize) -> Result<Ising<'_>, Failure> {
        let buffers = bitmc::energy::SparseBuffers::new(&mut self.0, &mut self.1, &mut self.2);
        Ising::spins_edges_once(sites, edges.iter().copied(), &vec![0.0; sites], buffers)
            .map_err(Failure::model)
    }
}

impl Glass {
    /// Temperatures so that neighbours swap equally often, and the best state of an annealing.
    fn new(options: &Options, number: u16) -> Result<Self, Failure> {
        let seed = options.common.seed + u64::from(number);
        let sites = usize::from(options.side).pow(2) * usize::from(options.depth);
        let edges = edges(options, seed);
        let count = usize::from(options.batches) * LANES;
        let (cold, hot) = (1.0 / options.temperature, 1.0 / options.hottest);
        let step = (cold / hot).powf(1.0 / (count as f32 - 1.0));
        let mut betas: Vec<f32> = (0..count).map(|rung| hot * step.powi(rung as i32)).collect();
        let mut rows = Rows::new(&edges, sites);
        let model = rows.model(&edges, sites)?;
        for _ in 0..4 {
            let mut replicas = Replicas::new(&model, &betas, None, &mut streams(seed))?;
            (0..256).for_each(|_| replicas.round());
            replicas.ladder.respaced(&mut betas);
        }
        let found = Model::ising(sites, &edges, &[])?.annealer().seed(seed).sweeps(256_000).run()?;
        let mut low = vec![0; Layout::binary(sites).words()];
        found.states[0]
            .state
            .iter()
            .enumerate()
            .for_each(|(site, &value)| low[site / 32] |= value << (site % 32));
        Ok(Self { edges, sites, betas, low })
    }

    fn run(&self, options: &Options, case: Case, progress: &Progress) -> Result<Course, Failure> {
        let mut rows = Rows::new(&self.edges, self.sites);
        let model = rows.model(&self.edges, self.sites)?;
        let layout = Layout::binary(self.sites);
        let start = if case.from_annealed {
            Some(Packed::new(layout, &self.low).map_err(Failure::model)?)
        } else {
            None
        };
        let mut streams = streams(options.common.seed + 1000 * (1 + u64::from(case.glass)));
        let mut one = Replicas::new(&model, &self.betas, start, &mut streams)?;
        let mut other = Replicas::new(&model, &self.betas, start, &mut streams)?;
        let mut rng = streams.next().ok_or_else(|| Failure::option("no generator"))?;
        let clusters = Isoenergetic::new(&model);
        let mut memory = vec![0; Isoenergetic::memory_len(self.sites)];
        let all = if options.common.quick { options.rounds / 64 } else { options.rounds }.max(16);
        let all = if case.isoenergetic { all } else { (all as f32 * options.ratio) as u64 };
        let since = ThreadTime::now();
        let (mut rounds, mut energies, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sums, mut begin, mut end) = ([0.0; 8], 0, all.next_power_of_two() >> 9);
        end = end.max(8);
        let mut last_error = 0.0;
        for round in 0..all {
            one.round();
            other.round();
            if case.isoenergetic {
                exchange_clusters((&mut one, &mut other), round, &clusters, &mut memory, &mut rng)?;
            }
            sums[((round - begin) * 8 / (end - begin)) as usize] += one.coldest() + other.coldest();
            if round + 1 == end {
                let length = 2.0 * (end - begin) as f64 * self.sites as f64;
                let mean = sums.iter().sum::<f64>() / length;
                let parts = sums.iter().map(|sum| (8.0 * sum / length - mean).powi(2)).sum::<f64>();
                last_error = (parts / 56.0).sqrt();
                rounds.push(end);
                energies.push(mean);
                seconds.push(since.elapsed().as_secs_f64());
                (sums, begin, end) = ([0.0; 8], end, (2 * end).min(all));
            }
            progress.advance(1);
        }
        let rates = one.ladder.rungs().iter().filter_map(Rung::rate);
        Ok(Course {
            case,
            rounds,
            energies_per_site: energies,
            last_error,
            round_trips: one.ladder.round_trips() + other.ladder.round_trips(),
            least_swap_rate: rates.fold(1.0, f32::min),
            seconds,
        })
    }
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    if options.depth == 2 {
        return Err(Failure::option("--depth: 1 is planar, and a torus has at least 3"));
    }
    if options.hottest <= options.temperature {
        return Err(Failure::option("--hottest: it is above --temperature"));
    }
    let out = common.folder("glass");
    report::make_folder(&out)?;
    let count = if common.quick { 1 } else { options.glasses };
    let glasses: Vec<Glass> =
        (0..count).into_par_iter().map(|number| Glass::new(options, number)).collect::<Result<_, _>>()?;
    let cases: Vec<Case> = (0..count)
        .flat_map(|glass| {
            [(true, false), (true, true), (false, false), (false, true)]
                .map(|(isoenergetic, from_annealed)| Case { glass, isoenergetic, from_annealed })
        })
        .collect();
    let rounds = if common.quick { options.rounds / 64 } else { options.rounds }.max(16) as f32;
    let work = f32::from(count) * 2.0 * rounds * (1.0 + options.ratio);
    let progress = Progress::new(common.quiet, work as u64);
    let one = |&case: &Case| glasses[usize::from(case.glass)].run(options, case, &progress);
    let courses: Vec<Course> = cases.par_iter().map(one).collect::<Result<_, _>>()?;
    drop(progress);
    report::json(&out.join("glass.json"), &courses)?;
    let seconds: Vec<_> = courses.iter().map(|course| (course.case, &course.seconds)).collect();
    report::json(&out.join("glass.timing.json"), &seconds)?;
    plot::save(&out.join("glass.timing.svg"), &panels(&courses, options))?;
    let mut text = String::from(
        "| glass | sampler | E a site, from random | from annealed | apart | error | processor s |\n|---:|---|---:|---:|---:|---:|---:|\n",
    );
    for pair in courses.chunks(2) {
        let [above, below] = pair else { continue };
        let last = |course: &Course| course.energies_per_site.last().copied().unwrap_or(f64::NAN);
        let spent: f64 = pair.iter().filter_map(|course| course.seconds.last()).sum();
        text += &format!(
            "| {} | {} | {:.5} | {:.5} | {:.5} | {:.5} | {:.1} |\n",
            above.case.glass,
            name(above.case.isoenergetic),
            last(above),
            last(below),
            last(above) - last(below),
            above.last_error.hypot(below.last_error),
            spent / 2.0
        );
    }
    common.say(&text);
    Ok(())
}

fn name(isoenergetic: bool) -> &'static str {
    if isoenergetic { "exchange, isoenergetic" } else { "exchange" }
}

/// A panel a glass: energies above the lowest one seen, against seconds.
fn panels(courses: &[Course], options: &Options) -> Vec<Panel> {
    let panel = |courses: &[Course]| {
        let all = courses.iter().flat_map(|course| &course.energies_per_site);
        let least = all.copied().fold(f64::INFINITY, f64::min);
        let curve = |course: &Course| Curve {
            label: format!(
                "{}, {}",
                name(course.case.isoenergetic),
                if course.case.from_annealed { "from annealed" } else { "from random" }
            ),
            points: course
                .seconds
                .iter()
                .zip(&course.energies_per_site)
                .map(|(&seconds, &energy)| (seconds, energy - least))
                .collect(),
        };
        let case = courses.first().map_or(0, |course| course.case.glass);
        Panel {
            title: format!("±J glass {case}, side {}, T = {}", options.side, options.temperature),
            x: "processor seconds".into(),
            y: "E a site above the lowest".into(),
            log_from: Some(1e-5),
            level: None,
            curves: courses.iter().map(curve).collect(),
        }
    };
    courses.chunks(4).map(panel).collect()
}
