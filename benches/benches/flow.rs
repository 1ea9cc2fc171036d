//! One step of energy-sampling dynamics at d = 784, beside its parts and its scalar baseline.
//!
//! The yardstick of the criterion: two passes over the vectors (`u ← a·u + b·g, x ← x + ε·u`) and one
//! gradient. A step should take at most twice that.

use bitmc::flow::{DiagonalGaussian, Esh, Potential, StepSize, blocks};
use bitmc::lane::{Block, F32s, LANES, PARTS};
use bitmc::{LaneRng, SeedableRng};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const DIM: usize = 784;
const EPSILON: f32 = 0.1;

fn vector(value: impl Fn(usize) -> f32) -> Vec<Block> {
    let mut out = vec![[0.0; LANES]; blocks(DIM)];
    out.as_flattened_mut().iter_mut().take(DIM).enumerate().for_each(|(i, slot)| *slot = value(i));
    out
}

/// One pass: u ← a·u + b·g, x ← x + c·u.
fn pass(u: &mut [Block], g: &[Block], x: &mut [Block], [a, b, c]: [f32; 3]) {
    let [a, b, c] = [a, b, c].map(F32s::splat);
    for ((u, g), x) in u.iter_mut().zip(g).zip(x) {
        for part in 0..PARTS {
            let mixed = a * F32s::load(u, part) + b * F32s::load(g, part);
            mixed.store(u, part);
            (F32s::load(x, part) + c * mixed).store(x, part);
        }
    }
}

/// The scaled leapfrog as it is printed, in plain scalar code.
struct Naive {
    x: Vec<f32>,
    u: Vec<f32>,
    g: Vec<f32>,
    r: f32,
}

impl Naive {
    fn step(&mut self, epsilon: f32, precision: &[f32]) -> f32 {
        let first = self.turn(0.5 * epsilon);
        for (x, u) in self.x.iter_mut().zip(&self.u) {
            *x += epsilon * u;
        }
        for ((g, x), p) in self.g.iter_mut().zip(&self.x).zip(precision) {
            *g = p * x;
        }
        first + self.turn(0.5 * epsilon)
    }

    fn turn(&mut self, h: f32) -> f32 {
        let steepness = self.g.iter().map(|g| g * g).sum::<f32>().sqrt();
        let e: Vec<f32> = self.g.iter().map(|g| -g / steepness).collect();
        let w: f32 = self.u.iter().zip(&e).map(|(u, e)| u * e).sum();
        let a = h * steepness / self.u.len() as f32;
        let (sinh, cosh) = (a.sinh(), a.cosh());
        let below = cosh + w * sinh;
        for (u, e) in self.u.iter_mut().zip(&e) {
            *u = (*u + e * (sinh + w * cosh - w)) / below;
        }
        let time = self.r.exp() / steepness * (sinh + w * (cosh - 1.0));
        self.r += below.ln();
        time
    }
}

fn leapfrog(criterion: &mut Criterion) {
    let mean = vector(|_| 0.0);
    let precision = vector(|i| 0.5 + i as f32 / DIM as f32);
    let model = DiagonalGaussian::new(DIM, &mean, &precision).expect("a legal Gaussian");
    let mut rng = LaneRng::seed_from_u64(1);
    let start: Vec<f32> = (0..DIM).map(|i| ((i * 37 % 101) as f32 - 50.0) / 30.0).collect();
    let size = StepSize::new(EPSILON).expect("a legal step size");

    let mut group = criterion.benchmark_group("esh 784");
    group.throughput(Throughput::Elements(DIM as u64));

    let memory = vec![[0.0; LANES]; 3 * blocks(DIM)];
    let mut chain = Esh::random(&model as &dyn Potential, memory, &start, &mut rng).expect("a legal start");
    group.bench_function("bitmc", |bencher| bencher.iter(|| chain.step(size)));

    let (mut u, mut x) = (vector(|i| (i as f32).sin()), vector(|i| (i as f32).cos()));
    let mut g = vector(|_| 0.0);
    group.bench_function("two passes and a gradient", |bencher| {
        bencher.iter(|| {
            pass(black_box(&mut u), &g, black_box(&mut x), [0.999, -0.001, 0.001]);
            (&model as &dyn Potential).gradient(&x, &mut [], &mut g);
            pass(black_box(&mut u), &g, black_box(&mut x), [0.999, -0.001, 0.001]);
        });
    });

    let flat = precision.as_flattened()[..DIM].to_vec();
    let mut naive =
        Naive { x: start.clone(), u: vec![1.0 / (DIM as f32).sqrt(); DIM], g: vec![0.1; DIM], r: 0.0 };
    group.bench_function("naive", |bencher| bencher.iter(|| naive.step(EPSILON, black_box(&flat))));
    group.finish();
}

criterion_group!(benches, leapfrog);
criterion_main!(benches);
