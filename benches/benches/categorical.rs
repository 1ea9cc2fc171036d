//! Sites of several and of very many values, each beside its scalar baseline, from equilibrium.

use bitmc::batch::{BatchKernel, PottsBatch, PottsSite};
use bitmc::{Energy, Gibbs, LaneRng, Langevin, Potts, SeedableRng};
use bitmc_benches::models::{HeapChain, HeapSparse, Words, burnt_in};
use bitmc_benches::naive_categorical::{self as naive, Target};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_xoshiro::Xoshiro128PlusPlus;

/// The state of a chain as the scalar baseline keeps it.
fn values(chain: &HeapChain<'_>) -> Vec<usize> {
    chain.state().values().map(|value| value as usize).collect()
}

fn pair<T: Target>(
    criterion: &mut Criterion,
    name: &str,
    energy: &dyn Energy,
    baseline: &T,
    (step_size, burn_in): (f32, u64),
) {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = burnt_in(energy, step_size, burn_in, &mut rng);
    let sampler = Langevin::adjusted(step_size).expect("a legal step size");
    let mut group = criterion.benchmark_group(name);
    let layout = energy.layout();
    group.throughput(Throughput::Elements((layout.sites() * layout.arity()) as u64));

    let start = values(&chain);
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("bitmc", |bencher| {
        bencher.iter(|| {
            steps += 1;
            accepted += u64::from(chain.step(&sampler, &mut rng).accepted);
        });
    });
    println!("acceptance\t{name}\tbitmc\t{:.3}", accepted as f64 / steps as f64);

    let mut chain = naive::Chain::new(baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            steps += 1;
            accepted += u64::from(chain.step(step_size));
        });
    });
    println!("acceptance\t{name}\tnaive\t{:.3}", accepted as f64 / steps as f64);
    group.finish();
}

/// A lattice of sites of four values: one chain, its baseline, and sixteen chains side by side.
fn potts(criterion: &mut Criterion) {
    let edges: Vec<_> = bitmc::torus(30, 30, 0.8).collect();
    let mut memory = HeapSparse::default();
    let model = memory.potts(&edges, 900, 4);
    let name = "dmala potts 30x30 of 4";
    pair(criterion, name, &model, &naive::Potts::new(&edges, 900, 4), (0.35, 5_000));
    let sampler = Langevin::adjusted(0.35).expect("a legal step size");
    sixteen(criterion, name, &model, &sampler);

    let name = "gibbs potts 30x30 of 4";
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = burnt_in(&model, 0.35, 5_000, &mut rng);
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(900 * 4));
    group.bench_function("bitmc", |bencher| bencher.iter(|| chain.step(&Gibbs::systematic(), &mut rng)));
    let (baseline, start) = (naive::Potts::new(&edges, 900, 4), values(&chain));
    let mut chain = naive::GibbsChain::new(&baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
    group.bench_function("naive", |bencher| bencher.iter(|| chain.sweep()));
    group.finish();
    sixteen(criterion, name, &model, &Gibbs::systematic());
}

/// A kernel in sixteen chains of four values side by side.
fn sixteen<K: BatchKernel<PottsSite<4>>>(criterion: &mut Criterion, name: &str, model: &Potts<'_>, kernel: &K) {
    let mut rng = LaneRng::seed_from_u64(1);
    let room = vec![PottsSite::<4>::new(); model.layout().sites()];
    let mut batch = PottsBatch::random(model, room, &mut rng).expect("memory for every site");
    (0..1_000).for_each(|_| _ = batch.step(kernel, &mut rng));
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements((16 * model.layout().sites() * 4) as u64));
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("sixteen chains", |bencher| {
        bencher.iter(|| {
            steps += 16;
            accepted += u64::from(batch.step(kernel, &mut rng).accepted.count_ones());
        });
    });
    println!("acceptance\t{name}\tsixteen chains\t{:.3}", accepted as f64 / steps as f64);
    group.finish();
}

fn vocabulary(criterion: &mut Criterion) {
    let model = Words::new(30_522);
    let baseline = naive::Table(model.0.clone());
    pair(criterion, "softmax of 30522", &model, &baseline, (1.0, 100));
}

criterion_group!(benches, potts, vocabulary);
criterion_main!(benches);
