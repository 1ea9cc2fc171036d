//! 512 chains in bits on a 64×64 torus of ±J, in equilibrium, beside one naive chain: nanoseconds a site and chain.
//!
//! `cargo bench -p bitmc-benches --bench sliced` for this build; `.ci/bench` for three builds in one table.

use bitmc::lane::Bits;
use bitmc::sliced::SlicedIsing;
use bitmc::{LaneRng, SeedableRng};
use bitmc_benches::models::{HeapSliced, HeapSparse, signed_torus};
use bitmc_benches::naive;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_xoshiro::Xoshiro128PlusPlus;

const SITES: u64 = 4096;
const CHAINS: u64 = 512;
const STEP_SIZE: f32 = 0.115;

/// How many chains a step moved.
fn moved(accepted: Bits) -> u64 {
    accepted.iter().map(|word| u64::from(word.count_ones())).sum()
}

fn sliced(criterion: &mut Criterion) {
    let edges = signed_torus(64, 0.5, 64);
    let mut memory = HeapSparse::default();
    let (model, baseline) = memory.ising(&edges, &[0.0; SITES as usize]);
    let model = SlicedIsing::new(model).expect("couplings of one magnitude");
    let mut rng = LaneRng::seed_from_u64(1);

    let mut group = criterion.benchmark_group("gibbs 64x64 of signs");
    group.throughput(Throughput::Elements(SITES * CHAINS));
    let mut room = HeapSliced::new(&model);
    let mut gibbs = room.gibbs(model, 200, &mut rng);
    let start: Vec<f32> = (0..SITES as usize).map(|site| gibbs.chains().get(0, site) as f32).collect();
    let before = gibbs.chains().blocks().to_vec();
    gibbs.sweep(&mut rng);
    let flips: u32 = before
        .iter()
        .flatten()
        .zip(gibbs.chains().blocks().iter().flatten())
        .map(|(a, b)| (a ^ b).count_ones())
        .sum();
    println!("flips a site and sweep\tsliced\t{:.3}", f64::from(flips) / (SITES * CHAINS) as f64);
    group.bench_function("bitmc", |bencher| bencher.iter(|| gibbs.sweep(&mut rng)));
    group.throughput(Throughput::Elements(SITES));
    let mut chain = naive::GibbsChain::new(&baseline, start.clone(), Xoshiro128PlusPlus::seed_from_u64(1));
    let (mut sweeps, mut flips) = (0u64, 0u64);
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            sweeps += 1;
            flips += u64::from(chain.sweep());
        });
    });
    println!("flips a site and sweep\tnaive\t{:.3}", flips as f64 / (sweeps * SITES) as f64);
    group.finish();

    let name = "dmala 64x64 of signs";
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(SITES * CHAINS));
    let mut room = HeapSliced::new(&model);
    let mut langevin = room.langevin(model, STEP_SIZE, 200, &mut rng);
    let (mut steps, mut accepted) = (0, 0);
    group.bench_function("bitmc", |bencher| {
        bencher.iter(|| {
            steps += CHAINS;
            accepted += moved(langevin.step(&mut rng));
        });
    });
    println!("acceptance\t{name}\tbitmc\t{:.3}", accepted as f64 / steps as f64);
    group.throughput(Throughput::Elements(SITES));
    let mut chain = naive::Chain::new(&baseline, start, Xoshiro128PlusPlus::seed_from_u64(1));
    let (mut steps, mut accepted) = (0u64, 0u64);
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            steps += 1;
            accepted += u64::from(chain.step(STEP_SIZE));
        });
    });
    println!("acceptance\t{name}\tnaive\t{:.3}", accepted as f64 / steps as f64);
    group.finish();
}

criterion_group!(benches, sliced);
criterion_main!(benches);
