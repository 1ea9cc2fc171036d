//! Runs one workload for a number of steps, for `valgrind --tool=callgrind` to count:
//! `instructions WORKLOAD STEPS`. The instructions of a step are the difference of two runs over the
//! difference of their steps, so setting up and burning in cancel. `.ci/bench --gate` does that.

use bitmc::batch::{Batch, BatchSite, PottsBatch, PottsSite};
use bitmc::lane::Bits;
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::sliced::SlicedIsing;
use bitmc::step::{ChromaticGibbs, Colouring, IsingBalanced, IsingLangevin, SequentialGibbs};
use bitmc::{
    BlockGibbs, Chain, Energy, Gibbs, GibbsWithGradients, Info, Ising, LaneRng, Langevin, PathAuxiliary, Potts,
    Rbm, SeedableRng,
};
use bitmc_benches::models::{
    HeapChain, HeapRbm, HeapSliced, HeapSparse, Words, burnt_in, floats, heap_memory, lines, numbered,
    random_graph, random_torus, signed_torus,
};
use bitmc_benches::naive;
use rand_xoshiro::Xoshiro128PlusPlus;

/// The sampler of a workload, from equilibrium by the Langevin sampler, or its scalar baseline.
fn run<T: naive::Target>(energy: &dyn Energy, baseline: &T, step_size: f32, workload: &str, steps: u64) {
    let rng = &mut LaneRng::seed_from_u64(1);
    let mut chain = burnt_in(energy, step_size, 200, rng);
    let mut of = |kernel: &dyn Fn(&mut HeapChain<'_>, &mut LaneRng) -> bool| {
        (0..steps).filter(|_| kernel(&mut chain, rng)).count()
    };
    let accepted = if workload.starts_with("naive-") {
        let start = floats(&chain);
        let mut chain = naive::Chain::new(baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
        (0..steps).filter(|_| chain.step(step_size)).count()
    } else if workload.starts_with("gwg-") {
        let sampler = GibbsWithGradients::new(1).expect("a legal number");
        of(&|chain, rng| chain.step(&sampler, rng).accepted)
    } else if workload.starts_with("pas-") {
        let sampler = PathAuxiliary::new(5).expect("a legal number");
        of(&|chain, rng| chain.step(&sampler, rng).accepted)
    } else {
        let sampler = Langevin::adjusted(step_size).expect("a legal step size");
        of(&|chain, rng| chain.step(&sampler, rng).accepted)
    };
    println!("{accepted} of {steps} accepted");
}

/// Sixteen chains that step together.
fn together(energy: &dyn Energy, step_size: f32, steps: u64) {
    let mut rngs: [_; 16] = std::array::from_fn(|stream| LaneRng::stream(1, stream as u32));
    let mut chains = rngs.each_mut().map(|rng| burnt_in(energy, step_size, 20, rng));
    let sampler = Langevin::adjusted(step_size).expect("a legal step size");
    let (mut accepted, mut infos) = (0, [Info::default(); 16]);
    for _ in 0..steps {
        sampler.step_together(&mut chains, &mut rngs, &mut infos).expect("sixteen of each");
        accepted += infos.iter().filter(|info| info.accepted).count();
    }
    println!("{accepted} of {} accepted", 16 * steps);
}

/// Sweeps of block Gibbs, from equilibrium: one chain, or sixteen together; or their scalar baseline.
fn block_gibbs(model: &Rbm<'_>, baseline: &naive::Rbm, workload: &str, steps: u64) {
    let count = if workload.starts_with("together") { 16 } else { 1 };
    let mut rngs: Vec<_> = (0..count).map(|stream| LaneRng::stream(1, stream)).collect();
    let start = |rng| Chain::random(model, heap_memory(model), rng).expect("a start");
    let mut chains: Vec<_> = rngs.iter_mut().map(start).collect();
    let mut infos = vec![Info::default(); chains.len()];
    let mut moved = 0;
    let naive = workload.starts_with("naive_");
    for _ in 0..if naive { 200 } else { 200 + steps } {
        BlockGibbs.step_together(&mut chains, &mut rngs, &mut infos).expect("one of each");
        moved += infos.iter().map(|info| u64::from(info.moved())).sum::<u64>();
    }
    if naive {
        let start = chains[0].state().values().map(|x| x as f32).collect();
        let mut chain = naive::BlockGibbs::new(baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
        (0..steps).for_each(|_| chain.sweep());
        moved = chain.x.iter().map(|&x| x as u64).sum();
    }
    println!("{moved} visible units moved in all");
}

/// Steps of the adjusted Langevin sampler of one site of very many values.
fn softmax(steps: u64) {
    let (model, rng) = (Words::new(30_522), &mut LaneRng::seed_from_u64(1));
    let mut chain = burnt_in(&model, 1.0, 20, rng);
    let sampler = Langevin::adjusted(1.0).expect("a legal step size");
    let accepted = (0..steps).filter(|_| chain.step(&sampler, rng).accepted).count();
    println!("{accepted} of {steps} accepted");
}

/// Steps of a kernel of Ising models: in a chain, or in a batch of sixteen.
fn ising(model: &Ising<'_>, step_size: f32, workload: &str, steps: u64) {
    let rng = &mut LaneRng::seed_from_u64(1);
    let sampler = IsingLangevin::adjusted(step_size).expect("a legal step size");
    if workload.starts_with("batch-") {
        let room = vec![BatchSite::new(); model.form().sites()];
        let mut batch = Batch::random(model, room, rng).expect("memory for every site");
        (0..200).for_each(|_| _ = batch.step(&sampler, rng));
        let accepted: u32 = (0..steps).map(|_| batch.step(&sampler, rng).accepted.count_ones()).sum();
        println!("{accepted} of {} accepted", 16 * steps);
    } else {
        let mut chain = Chain::random(model, heap_memory(model), rng).expect("a start");
        (0..200).for_each(|_| _ = chain.step(&sampler, rng));
        let accepted = (0..steps).filter(|_| chain.step(&sampler, rng).accepted).count();
        println!("{accepted} of {steps} accepted");
    }
}

/// Steps of the adjusted Langevin sampler of a Potts model of four values, or sweeps of Gibbs sampling: in a chain, or
/// in a batch of sixteen.
fn potts(model: &Potts<'_>, workload: &str, steps: u64) {
    let rng = &mut LaneRng::seed_from_u64(1);
    let (langevin, gibbs) = (Langevin::adjusted(0.35).expect("a legal step size"), Gibbs::systematic());
    if workload.starts_with("batch") {
        let room = vec![PottsSite::<4>::new(); model.layout().sites()];
        let mut batch = PottsBatch::random(model, room, rng).expect("memory for every site");
        let mut step = || match workload {
            "batch-potts" => batch.step(&langevin, rng),
            _ => batch.step(&gibbs, rng),
        };
        (0..100).for_each(|_| _ = step());
        let infos = (0..steps).map(|_| step());
        let (accepted, proposed) = infos.fold((0, 0), |(accepted, proposed), info| {
            (accepted + info.accepted.count_ones(), proposed + info.proposed.iter().sum::<u32>())
        });
        println!("{accepted} of {} accepted, {proposed} sites proposed", 16 * steps);
    } else {
        let mut chain = Chain::random(model, heap_memory(model), rng).expect("a start");
        let mut step =
            || if workload == "potts" { chain.step(&langevin, rng) } else { chain.step(&gibbs, rng) };
        (0..100).for_each(|_| _ = step());
        println!("{} of {steps} accepted", (0..steps).filter(|_| step().accepted).count());
    }
}

/// Sweeps of Gibbs sampling, or steps of the adjusted Langevin sampler, in 512 chains of bits.
fn run_sliced(model: &Ising<'_>, step_size: f32, workload: &str, steps: u64) {
    let model = SlicedIsing::new(*model).expect("couplings of one size");
    let (mut memory, mut rng) = (HeapSliced::new(&model), LaneRng::seed_from_u64(1));
    if workload.starts_with("sliced_gibbs-") {
        let mut gibbs = memory.gibbs(model, 50, &mut rng);
        (0..steps).for_each(|_| gibbs.sweep(&mut rng));
        println!("{} of 512 chains have site 0 at 1", gibbs.chains().site_ones(0));
    } else {
        let mut langevin = memory.langevin(model, step_size, 50, &mut rng);
        let ones = |block: Bits| block.iter().map(|word| word.count_ones()).sum::<u32>();
        let accepted: u32 = (0..steps).map(|_| ones(langevin.step(&mut rng))).sum();
        println!("{accepted} of {} accepted", 512 * steps);
    }
}

/// AB-edge on a torus, over normals or whole numbers, from 200 steps after fair bits.
fn balanced(model: &Ising<'_>, discrete: bool, steps: u64) {
    let rng = &mut LaneRng::seed_from_u64(1);
    let matrix = SparseMatrix::of(model.form());
    let mut d = vec![[0.0; 16]; Edgewise::blocks(model.form().sites())];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let noise =
        Edgewise::new(matrix, &mut d).and_then(|noise| noise.by_runs(&mut runs)).expect("room for all runs");
    let make = if discrete { IsingBalanced::discrete } else { IsingBalanced::new };
    let sampler = make(noise, f32::INFINITY, 1.0).expect("legal parameters");
    let mut chain = Chain::random(model, heap_memory(model), rng).expect("a start");
    let moved: u64 = (0..200 + steps).map(|_| u64::from(chain.step(&sampler, rng).moved())).sum();
    println!("{:.1} sites a step", moved as f64 / (200 + steps) as f64);
}

/// Sweeps of Gibbs sampling, from 200 sweeps after fair bits.
fn gibbs(model: &Ising<'_>, workload: &str, steps: u64) {
    let rng = &mut LaneRng::seed_from_u64(1);
    let mut classes = vec![0; Colouring::words(model.form().sites(), 32)];
    let colouring = Colouring::greedy(model.form(), &mut classes).expect("32 colours for a degree of some ten");
    if workload.starts_with("batch-") {
        let room = vec![BatchSite::new(); model.form().sites()];
        let mut batch = Batch::random(model, room, rng).expect("room for every site");
        (0..200 + steps).for_each(|_| _ = batch.step(&SequentialGibbs, rng));
        return;
    }
    let mut chain = Chain::random(model, heap_memory(model), rng).expect("a start");
    let mut flips = 0;
    for _ in 0..200 + steps {
        flips += if workload.starts_with("chromatic-") {
            chain.step(&ChromaticGibbs::new(colouring), rng).moved()
        } else {
            chain.step(&SequentialGibbs, rng).moved()
        };
    }
    println!(
        "{:.3} flips a site and sweep",
        f64::from(flips) / (200 + steps) as f64 / model.form().sites() as f64
    );
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(workload), Some(Ok(steps))) = (words.next(), words.next().map(|w| w.parse())) else {
        eprintln!("usage: instructions [naive-|ising-|batch-|gwg-|pas-]5x5|64x64|64x64b|rbm STEPS");
        eprintln!("       instructions coarse-|together-|together_coarse-rbm STEPS");
        eprintln!("       instructions [together_|rows_|naive_]block_gibbs-rbm STEPS");
        eprintln!(
            "       instructions [sequential-|chromatic-|batch-]gibbs-64x64|gibbs-irregular|gibbs-numbered STEPS"
        );
        eprintln!("       instructions [batch-]potts|gibbs_potts STEPS");
        eprintln!("       instructions balanced-torus|discrete-torus|softmax STEPS");
        eprintln!("       instructions sliced_gibbs-|sliced_dmala-signs STEPS");
        std::process::exit(2);
    };
    let mut memory = HeapSparse::default();
    match workload.split_once('-').map_or(workload.as_str(), |(_, model)| model) {
        "5x5" => {
            let edges: Vec<_> = bitmc::torus(5, 5, 0.2).collect();
            let (model, baseline) = memory.ising(&edges, &[0.2; 25]);
            match workload.as_str() {
                "ising-5x5" | "batch-5x5" => ising(&model, 0.6, &workload, steps),
                _ => run(&model, &baseline, 0.6, &workload, steps),
            }
        }
        "signs" => {
            let edges = signed_torus(64, 0.5, 64);
            let (model, _) = memory.ising(&edges, &[0.0; 4096]);
            run_sliced(&model, 0.115, &workload, steps);
        }
        // At acceptances of .91 and .57.
        size @ ("64x64" | "64x64b") => {
            let (model, baseline) = memory.ising(&random_torus(64, 0.5, 64), &[0.0; 4096]);
            let step_size = if size == "64x64" { 0.115 } else { 0.16 };
            match workload.split_once('-') {
                Some(("ising" | "batch", _)) => ising(&model, step_size, &workload, steps),
                _ => run(&model, &baseline, step_size, &workload, steps),
            }
        }
        // At its critical point.
        "torus" => {
            let edges: Vec<_> = bitmc::torus(64, 64, 0.4407).collect();
            balanced(&memory.ising(&edges, &[0.0; 4096]).0, workload == "discrete-torus", steps);
        }
        "potts" | "gibbs_potts" => {
            let edges: Vec<_> = bitmc::torus(30, 30, 0.8).collect();
            potts(&memory.potts(&edges, 900, 4), &workload, steps);
        }
        "gibbs-64x64" => gibbs(&memory.ising(&random_torus(64, 0.5, 64), &[0.0; 4096]).0, &workload, steps),
        "gibbs-irregular" => {
            gibbs(&memory.ising(&random_graph(4096, 0.5, 65), &[0.0; 4096]).0, &workload, steps)
        }
        "gibbs-numbered" => {
            let edges = numbered(&random_graph(4096, 0.5, 65), 4096);
            gibbs(&memory.ising(&edges, &[0.0; 4096]).0, &workload, steps)
        }
        "softmax" => softmax(steps),
        "rbm" => {
            let (memory, mut room) = (HeapRbm::load(), lines(0));
            let coarse = memory.coarse(&mut room);
            match workload.as_str() {
                "block_gibbs-rbm" | "together_block_gibbs-rbm" | "naive_block_gibbs-rbm" => {
                    let mut room = lines(0);
                    block_gibbs(&memory.columns(&mut room), &memory.naive, &workload, steps);
                }
                "rows_block_gibbs-rbm" => block_gibbs(&memory.model(), &memory.naive, &workload, steps),
                "together-rbm" => together(&memory.model(), 0.2, steps),
                "together_coarse-rbm" => together(&coarse, 0.2, steps),
                "coarse-rbm" => run(&coarse, &memory.naive, 0.2, &workload, steps),
                _ => run(&memory.model(), &memory.naive, 0.2, &workload, steps),
            }
        }
        other => {
            eprintln!("there is no workload {other}");
            std::process::exit(2);
        }
    }
}
