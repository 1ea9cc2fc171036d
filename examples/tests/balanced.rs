//! The driver of the example `balanced`.

use bitmc::noise::{Noise, SparseMatrix};
use bitmc::{Energy, Ising, SparseMemory, torus};
use bitmc_examples::balanced::{Curvature, Driver, Room, Which};
use bitmc_examples::progress::Progress;

#[test]
fn the_driver_freezes_what_flips_more_than_its_start() {
    let mut memory = Box::new(SparseMemory::<64, 256>::new());
    let model = Ising::spins_edges_once(torus(8, 8, 0.3), &[0.1; 64], memory.lend()).unwrap();
    let w = Curvature::of(&SparseMatrix::of(model.form())).unwrap();
    let driver = Driver { seed: 3, sweeps: 20, burn_in: 4000, adapt: 12_000, precision: false, far: false };
    let progress = Progress::new(true, 0);
    let mut jumps = Vec::new();
    for (which, given) in [
        (Which::Edges, true),
        (Which::Trace, true),
        (Which::Shift, true),
        (Which::Largest, true),
        (Which::Trace, false),
    ] {
        let (mut room, w) = (Room::default(), given.then_some(&w));
        let (kernel, chosen) = driver.second_order(&model, w, which, &mut room, &progress).unwrap();
        println!("{which:?}, given {given}: {chosen}");
        assert!(chosen.frozen && chosen.end.len() == model.layout().words());
        let trace: f32 = kernel.noise().d().unwrap().as_flattened().iter().sum();
        // The row sums of |W|, 16 J, are the optimum on an even torus; the estimated W has other entries,
        // each off by its ridge and its rounding.
        let optimum = 64.0 * 16.0 * 0.3;
        let within = if given { 0.003 } else { 0.05 };
        assert!((trace / optimum - 1.0).abs() < within, "{which:?}, given {given}: {trace} for {optimum}");
        jumps.push(chosen.jump);
    }
    // From the far end, α = 1 and σ without a bound, where nearly every move is accepted.
    let (far, mut room) = (Driver { far: true, ..driver }, Room::default());
    let (_, chosen) = far.second_order(&model, Some(&w), Which::Edges, &mut room, &progress).unwrap();
    println!("from the far end: {chosen}");
    assert!(chosen.jump > jumps[0] && chosen.step_size > 100.0, "{chosen}");
    let (_, first) = driver.first_order(&model, &progress).unwrap();
    // The published start, σ = .1 and α = ½, moves a tenth of what any of them does.
    let start = Driver { burn_in: 0, adapt: 5, ..driver }.first_order(&model, &progress).unwrap().1;
    println!("first order: {first}; at the start: {start}");
    assert_eq!((start.step_size, start.balance), (0.1, 0.5));
    assert!(jumps.iter().all(|&jump| jump > 2.0), "{jumps:?}");
}
