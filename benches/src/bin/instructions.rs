//! Runs one workload for a number of steps, for `valgrind --tool=callgrind` to count:
//! `instructions WORKLOAD STEPS`. The instructions of a step are the difference of two runs over the
//! difference of their steps, so setting up and burning in cancel. `.ci/bench --gate` does that.

use bitmc::{Energy, LaneRng, Langevin, SeedableRng};
use bitmc_benches::models::{HeapRbm, HeapSparse, burnt_in, floats, random_torus};
use bitmc_benches::naive;
use rand_xoshiro::Xoshiro128PlusPlus;

fn run<T: naive::Target>(energy: &dyn Energy, twin: &T, step_size: f32, naive: bool, steps: u64) {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = burnt_in(energy, step_size, 200, &mut rng);
    if naive {
        let mut chain = naive::Chain::new(twin, floats(&chain), Xoshiro128PlusPlus::seed_from_u64(1));
        let accepted = (0..steps).filter(|_| chain.step(step_size)).count();
        println!("{accepted} of {steps} accepted");
    } else {
        let sampler = Langevin::adjusted(step_size).expect("a legal step size");
        let accepted = (0..steps).filter(|_| chain.step(&sampler, &mut rng).accepted).count();
        println!("{accepted} of {steps} accepted");
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(workload), Some(Ok(steps))) = (words.next(), words.next().map(|w| w.parse())) else {
        eprintln!("usage: instructions [naive-]5x5|64x64|rbm STEPS");
        std::process::exit(2);
    };
    let naive = workload.starts_with("naive-");
    let mut memory = HeapSparse::default();
    match workload.trim_start_matches("naive-") {
        "5x5" => {
            let edges: Vec<_> = bitmc::torus(5, 5, 0.2).collect();
            let (model, twin) = memory.ising(&edges, &[0.2; 25]);
            run(&model, &twin, 0.6, naive, steps);
        }
        "64x64" => {
            let (model, twin) = memory.ising(&random_torus(64, 0.5, 64), &[0.0; 4096]);
            run(&model, &twin, 0.115, naive, steps);
        }
        "rbm" => {
            let memory = HeapRbm::load();
            run(&memory.model(), &memory.naive, 0.2, naive, steps);
        }
        other => {
            eprintln!("there is no workload {other}");
            std::process::exit(2);
        }
    }
}
