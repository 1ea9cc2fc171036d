//! The hot loops, each beside its scalar baseline, from equilibrium.
//!
//! `cargo bench -p bitmc-benches` for this build; `.ci/bench` for three builds in one table.

use bitmc::batch::{Batch, BatchSite};
use bitmc::energy::Edge;
use bitmc::lane::{Block, F32s, PARTS};
use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
use bitmc::step::{ChromaticGibbs, Colouring, Gibbs, IsingLangevin, SequentialGibbs};
use bitmc::{
    BlockGibbs, Chain, Energy, GibbsWithGradients, Info, Ising, Kernel, LaneRng, Langevin, PathAuxiliary,
    SeedableRng,
};
use bitmc_benches::models::{
    HeapRbm, HeapSparse, burnt_in, floats, heap_memory, lines, numbered, random_graph, random_torus,
};
use bitmc_benches::naive;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use rand_core::Rng;
use rand_xoshiro::Xoshiro128PlusPlus;
use std::hint::black_box;

/// The adjusted Langevin sampler and its baseline on one model, at one step size.
fn pair<T: naive::Target>(
    criterion: &mut Criterion,
    name: &str,
    energy: &dyn Energy,
    baseline: &T,
    step_size: f32,
    burn_in: u64,
) {
    let sampler = Langevin::adjusted(step_size).expect("a legal step size");
    beside(criterion, name, energy, (step_size, burn_in), &sampler, baseline, |chain| chain.step(step_size));
}

/// A sampler and its baseline on one model, from equilibrium: after `burn_in` steps of the Langevin sampler.
fn beside<T: naive::Target, K: for<'e> Kernel<dyn Energy + 'e>>(
    criterion: &mut Criterion,
    name: &str,
    energy: &dyn Energy,
    (step_size, burn_in): (f32, u64),
    sampler: &K,
    baseline: &T,
    baseline_step: impl Fn(&mut naive::Chain<'_, T>) -> bool,
) {
    let rng = &mut LaneRng::seed_from_u64(1);
    let mut chain = burnt_in(energy, step_size, burn_in, rng);
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(energy.layout().sites() as u64));

    let start = floats(&chain);
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("bitmc", |bencher| {
        bencher.iter(|| {
            steps += 1;
            accepted += u64::from(chain.step(sampler, rng).accepted);
        });
    });
    println!("acceptance\t{name}\tbitmc\t{:.3}", accepted as f64 / steps as f64);

    let mut chain = naive::Chain::new(baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            steps += 1;
            accepted += u64::from(baseline_step(&mut chain));
        });
    });
    println!("acceptance\t{name}\tnaive\t{:.3}", accepted as f64 / steps as f64);
    group.finish();
}

/// Gibbs with gradients and the path auxiliary sampler beside their baselines, on the lattice and on the RBM.
fn paths(criterion: &mut Criterion) {
    let edges = random_torus(64, 0.5, 64);
    let (mut memory, machine) = (HeapSparse::default(), HeapRbm::load());
    let (lattice, baseline) = memory.ising(&edges, &[0.0; 4096]);
    let rbm = machine.model();
    let gwg = GibbsWithGradients::new(1).expect("a legal number");
    let pas = |indices| PathAuxiliary::new(indices).expect("a legal number");
    beside(criterion, "gwg 64x64", &lattice, (0.115, 5_000), &gwg, &baseline, |chain| chain.path_step(1));
    beside(criterion, "pas 64x64, 20", &lattice, (0.115, 5_000), &pas(20), &baseline, |chain| {
        chain.path_step(20)
    });
    let start = (0.2, 3_000);
    beside(criterion, "gwg rbm 784x500", &rbm, start, &gwg, &machine.naive, |chain| chain.path_step(1));
    beside(criterion, "pas rbm 784x500, 5", &rbm, start, &pas(5), &machine.naive, |chain| chain.path_step(5));
}

/// An Ising model by its own kernel, in one chain and in sixteen, beside the same baseline in the same group.
fn ising(criterion: &mut Criterion, name: &str, model: &Ising<'_>, step_size: f32, burn_in: u64) {
    let sampler = IsingLangevin::adjusted(step_size).expect("a legal step size");
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(model.form().sites() as u64));
    let rng = &mut LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(model, heap_memory(model), rng).expect("a start");
    (0..burn_in).for_each(|_| _ = chain.step(&sampler, rng));
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("ising kernel", |bencher| {
        bencher.iter(|| {
            steps += 1;
            accepted += u64::from(chain.step(&sampler, rng).accepted);
        });
    });
    println!("acceptance\t{name}\tising kernel\t{:.3}", accepted as f64 / steps as f64);

    group.throughput(Throughput::Elements(16 * model.form().sites() as u64));
    let room = vec![BatchSite::new(); model.form().sites()];
    let mut batch = Batch::random(model, room, rng).expect("room for every site");
    (0..burn_in).for_each(|_| _ = batch.step(&sampler, rng));
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("sixteen chains", |bencher| {
        bencher.iter(|| {
            steps += 16;
            accepted += u64::from(batch.step(&sampler, rng).accepted.count_ones());
        });
    });
    println!("acceptance\t{name}\tsixteen chains\t{:.3}", accepted as f64 / steps as f64);
    group.finish();
}

fn lattice_5x5(criterion: &mut Criterion) {
    let edges: Vec<_> = bitmc::torus(5, 5, 0.2).collect();
    let mut memory = HeapSparse::default();
    let (model, baseline) = memory.ising(&edges, &[0.2; 25]);
    pair(criterion, "dmala 5x5", &model, &baseline, 0.6, 1_000);
    ising(criterion, "dmala 5x5", &model, 0.6, 1_000);
}

fn lattice_64x64(criterion: &mut Criterion) {
    let edges = random_torus(64, 0.5, 64);
    let mut memory = HeapSparse::default();
    let (model, baseline) = memory.ising(&edges, &[0.0; 4096]);
    for (name, step_size) in [("dmala 64x64 at .91", 0.115), ("dmala 64x64 at .57", 0.16)] {
        pair(criterion, name, &model, &baseline, step_size, 5_000);
        ising(criterion, name, &model, step_size, 2_000);
    }
}

/// Sweeps of Gibbs sampling by several kernels, and the baseline's, on one model after 200 sweeps.
fn gibbs(criterion: &mut Criterion, name: &str, edges: &[Edge], sites: usize) {
    let (mut memory, fields) = (HeapSparse::default(), vec![0.0; sites]);
    let (model, baseline) = memory.ising(edges, &fields);
    let mut classes = vec![0; Colouring::words(sites, 32)];
    let colouring = Colouring::greedy(model.form(), &mut classes).expect("32 colours for a degree of some ten");
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(sites as u64));

    fn run<'m, K: Kernel<Ising<'m>>>(
        group: &mut BenchmarkGroup<'_, WallTime>,
        name: &str,
        model: &Ising<'m>,
        kernel: &K,
    ) -> Vec<f32> {
        let rng = &mut LaneRng::seed_from_u64(1);
        let mut chain = Chain::random(model, heap_memory(model), rng).expect("a start");
        (0..200).for_each(|_| _ = chain.step(kernel, rng));
        let (mut sweeps, mut moved) = (0u64, 0u64);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                sweeps += 1;
                moved += u64::from(chain.step(kernel, rng).moved());
            });
        });
        println!(
            "flips a site and sweep\t{name}\t{:.3}",
            moved as f64 / (sweeps * chain.state().layout().sites() as u64) as f64
        );
        chain.state().values().map(|value| value as f32).collect()
    }
    run(&mut group, "any energy", &model, &Gibbs::systematic());
    run(&mut group, "chromatic", &model, &ChromaticGibbs::new(colouring));
    let start = run(&mut group, "sequential", &model, &SequentialGibbs);
    let (mut classes, edges_anew) = (vec![0; Colouring::words(sites, 32)], numbered(edges, sites));
    let mut memory = HeapSparse::default();
    let (model_anew, baseline_anew) = memory.ising(&edges_anew, &fields);
    let colouring = Colouring::greedy(model_anew.form(), &mut classes).expect("as many as before");
    let kernel = ChromaticGibbs::new(colouring);
    let start_anew = run(&mut group, "chromatic, sites numbered by class", &model_anew, &kernel);
    run(&mut group, "sequential, sites numbered by class", &model_anew, &SequentialGibbs);

    let mut memory = HeapSparse::default();
    let whole =
        QuantisedIsing::round(model.form(), memory.borrow(sites, edges.len())).expect("moderate couplings");
    let (mut words, mut room) = (vec![0; sites.div_ceil(32)], vec![0; sites]);
    let mut chain = QuantisedGibbs::new(whole, &mut words, &mut room).expect("a start");
    let mut rng = Xoshiro128PlusPlus::seed_from_u64(1);
    (0..200).for_each(|_| _ = chain.sweep(&mut rng));
    group.bench_function("without floats", |bencher| bencher.iter(|| chain.sweep(&mut rng)));

    group.throughput(Throughput::Elements(16 * sites as u64));
    let rng = &mut LaneRng::seed_from_u64(1);
    let mut batch = Batch::random(&model, vec![BatchSite::new(); sites], rng).expect("room for every site");
    (0..200).for_each(|_| _ = batch.step(&SequentialGibbs, rng));
    group.bench_function("sixteen chains", |bencher| bencher.iter(|| batch.step(&SequentialGibbs, rng)));
    group.throughput(Throughput::Elements(sites as u64));

    for (name, baseline, start) in
        [("naive", &baseline, start), ("naive, sites numbered by class", &baseline_anew, start_anew)]
    {
        let mut chain = naive::GibbsChain::new(baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
        let (mut sweeps, mut moved) = (0u64, 0u64);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                sweeps += 1;
                moved += u64::from(chain.sweep());
            });
        });
        println!("flips a site and sweep\t{name}\t{:.3}", moved as f64 / (sweeps * sites as u64) as f64);
    }
    group.finish();
}

fn gibbs_sweeps(criterion: &mut Criterion) {
    gibbs(criterion, "gibbs 64x64", &random_torus(64, 0.5, 64), 4096);
    gibbs(criterion, "gibbs irregular", &random_graph(4096, 0.5, 65), 4096);
}

fn rbm(criterion: &mut Criterion) {
    let (memory, mut room) = (HeapRbm::load(), lines(0));
    pair(criterion, "dmala rbm 784x500", &memory.model(), &memory.naive, 0.2, 3_000);
    let coarse = memory.coarse(&mut room);
    pair(criterion, "dmala rbm 784x500, 16 bits", &coarse, &memory.naive, 0.2, 3_000);
    together(criterion, "dmala rbm 784x500", &memory.model(), 0.2);
    together(criterion, "dmala rbm 784x500, 16 bits", &coarse, 0.2);
}

/// Sweeps of block Gibbs beside the scalar baseline: one chain, and sixteen together.
fn block_gibbs(criterion: &mut Criterion) {
    let (memory, mut room) = (HeapRbm::load(), lines(0));
    let model = memory.columns(&mut room);
    let mut group = criterion.benchmark_group("block gibbs rbm 784x500");
    let mut rngs: [_; 16] = std::array::from_fn(|stream| LaneRng::stream(1, stream as u32));
    let mut chains =
        rngs.each_mut().map(|rng| Chain::random(&model, heap_memory(&model), rng).expect("a start"));
    let mut infos = [Info::default(); 16];
    let mut sweep = |count: usize| {
        let (chains, rngs) = (&mut chains[..count], &mut rngs[..count]);
        BlockGibbs.step_together(chains, rngs, &mut infos[..count]).expect("one of each");
    };
    (0..300).for_each(|_| sweep(16));
    for (name, count) in [("bitmc", 1), ("sixteen chains", 16)] {
        group.throughput(Throughput::Elements(count as u64 * 784));
        group.bench_function(name, |bencher| bencher.iter(|| sweep(count)));
    }
    let start = chains[0].state().values().map(|x| x as f32).collect();
    let mut baseline = naive::BlockGibbs::new(&memory.naive, start, Xoshiro128PlusPlus::seed_from_u64(1));
    group.throughput(Throughput::Elements(784));
    group.bench_function("naive", |bencher| bencher.iter(|| baseline.sweep()));
    group.finish();
}

/// Sixteen chains that step together, in the group of one chain and its baseline.
fn together(criterion: &mut Criterion, name: &str, energy: &dyn Energy, step_size: f32) {
    let sampler = Langevin::adjusted(step_size).expect("a legal step size");
    let mut rngs: [_; 16] = std::array::from_fn(|stream| LaneRng::stream(1, stream as u32));
    let mut chains = rngs.each_mut().map(|rng| burnt_in(energy, step_size, 500, rng));
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(16 * energy.layout().sites() as u64));
    let (mut steps, mut accepted, mut infos) = (0u64, 0u64, [Info::default(); 16]);
    group.bench_function("sixteen chains", |bencher| {
        bencher.iter(|| {
            steps += 16;
            sampler.step_together(&mut chains, &mut rngs, &mut infos).expect("sixteen of each");
            accepted += infos.iter().map(|info| u64::from(info.accepted)).sum::<u64>();
        });
    });
    println!("acceptance\t{name}\tsixteen chains\t{:.3}", accepted as f64 / steps as f64);
    group.finish();
}

fn exponential(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exp");
    group.throughput(Throughput::Elements(1024));
    let input: Vec<Block> = (0..64).map(|i| [(i as f32) * 0.3 - 10.0; 16]).collect();
    let mut output = input.clone();
    group.bench_function("bitmc", |bencher| {
        bencher.iter(|| {
            for (x, y) in black_box(&input).iter().zip(&mut output) {
                for part in 0..PARTS {
                    F32s::load(x, part).exp_bounded().store(y, part);
                }
            }
        });
    });
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            for (x, y) in black_box(&input).iter().flatten().zip(output.iter_mut().flatten()) {
                *y = x.exp();
            }
        });
    });
    black_box(&output);
    group.finish();
}

fn generator(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generator");
    group.throughput(Throughput::Elements(1024));
    let mut lanes = LaneRng::seed_from_u64(1);
    group.bench_function("bitmc", |bencher| {
        bencher.iter(|| {
            for _ in 0..64 {
                black_box(lanes.block());
            }
        });
    });
    let mut scalar = Xoshiro128PlusPlus::seed_from_u64(1);
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            for _ in 0..1024 {
                black_box(scalar.next_u32());
            }
        });
    });
    group.finish();
}

criterion_group!(
    benches,
    exponential,
    generator,
    lattice_5x5,
    lattice_64x64,
    gibbs_sweeps,
    rbm,
    block_gibbs,
    paths
);
criterion_main!(benches);
