//! The driver of the example `balanced`.

use bitmc::energy::{Entry, SparseBuffers};
use bitmc::noise::{Noise, SparseMatrix};
use bitmc::{Bernoulli, Energy, Ising, SparseMemory, torus};
use bitmc_examples::balanced::{Curvature, Driver, Known, Room, Which, by_largest};
use bitmc_examples::cli::Failure;
use bitmc_examples::progress::Progress;

#[test]
fn the_driver_freezes_what_flips_more_than_its_start() {
    let mut memory = Box::new(SparseMemory::<64, 256>::new());
    let model = Ising::spins_edges_once(64, torus(8, 8, 0.3), &[0.1; 64], memory.borrow()).unwrap();
    let w = Curvature::of(&SparseMatrix::of(model.form()));
    let driver = Driver {
        seed: 3,
        sweeps: 20,
        burn_in: 4000,
        adapt: 12_000,
        precision: false,
        far: false,
        as_printed: false,
    };
    let progress = Progress::new(true, 0);
    let mut jumps = Vec::new();
    for (which, known) in [
        (Which::Edges, Known::Whole(&w)),
        (Which::Trace, Known::Whole(&w)),
        (Which::Shift, Known::Whole(&w)),
        (Which::By(by_largest), Known::Whole(&w)),
        (Which::Trace, Known::Nothing),
        (Which::Trace, Known::Pattern(model.form())),
        (Which::Edges, Known::Pattern(model.form())),
    ] {
        let mut room = Room::default();
        let (kernel, chosen) = driver.second_order(&model, known, which, &mut room, &progress).unwrap();
        println!("{which:?}: {chosen}");
        assert!(chosen.frozen && chosen.end.len() == model.layout().words());
        let trace: f32 = kernel.noise().d().unwrap().as_flattened().iter().sum();
        // The row sums of |W|, 16 J, are the optimum on an even torus; the estimated W has other entries,
        // each off by its ridge and its rounding.
        let optimum = 64.0 * 16.0 * 0.3;
        let within = if matches!(known, Known::Whole(_)) { 0.003 } else { 0.05 };
        assert!((trace / optimum - 1.0).abs() < within, "{which:?}: {trace} for {optimum}");
        jumps.push(chosen.jump);
    }
    // From the far end, α = 1 and σ without a bound, where nearly every move is accepted.
    let (far, mut room) = (Driver { far: true, ..driver }, Room::default());
    let (_, chosen) = far.second_order(&model, Known::Whole(&w), Which::Edges, &mut room, &progress).unwrap();
    println!("from the far end: {chosen}");
    assert!(chosen.jump > jumps[0] && chosen.step_size > 100.0, "{chosen}");
    let (_, first) = driver.first_order(&model, &progress).unwrap();
    // The published start, σ = .1 and α = ½, moves a tenth of what any of them does.
    let start = Driver { burn_in: 0, adapt: 5, ..driver }.first_order(&model, &progress).unwrap().1;
    println!("first order: {first}; at the start: {start}");
    assert_eq!((start.step_size, start.balance), (0.1, 0.5));
    assert!(jumps.iter().all(|&jump| jump > 2.0), "{jumps:?}");
}

#[test]
fn a_pattern_takes_the_driver_beyond_the_sites_of_a_full_matrix() {
    // As an energy of which nothing is known but where its couplings are.
    let side = 40;
    let sites = (side * side) as usize;
    let lent = |sites| {
        let sites = sites as usize;
        let entries = vec![Entry::default(); 4 * sites].leak();
        SparseBuffers::new(vec![0; sites].leak(), vec![0; sites].leak(), entries)
    };
    let model = Ising::spins_edges_once(sites, torus(side, side, 0.3), &[], lent(side * side)).unwrap();
    let driver = Driver {
        seed: 5,
        sweeps: 20,
        burn_in: 2000,
        adapt: 3000,
        precision: false,
        far: false,
        as_printed: false,
    };
    let progress = Progress::new(true, 0);
    let drive = |known, which| {
        let mut room = Room::default();
        let (kernel, chosen) = driver.second_order(&model, known, which, &mut room, &progress)?;
        println!("{chosen}");
        let trace: f32 = kernel.noise().d().unwrap().as_flattened().iter().sum();
        Ok::<_, Failure>((trace / (sites as f32 * 16.0 * 0.3), chosen))
    };
    let (trace, chosen) = drive(Known::Pattern(model.form()), Which::Edges).unwrap();
    assert!((trace - 1.0).abs() < 0.05, "{trace}");
    assert!(chosen.acceptance > 0.3 && chosen.jump > 10.0, "{chosen}");
    // Negative control: a torus that lacks the couplings down has their part of W nowhere.
    let other = |rows, columns| {
        let sites = rows * columns;
        Ising::spins_edges_once(sites as usize, torus(rows, columns, 1.0), &[], lent(sites))
    };
    let (wide, small) = (other(20, 80).unwrap(), other(8, 8).unwrap());
    let (trace, _) = drive(Known::Pattern(wide.form()), Which::Edges).unwrap();
    assert!(trace < 0.8, "{trace}");

    let refused = |known, which| drive(known, which).unwrap_err().to_string();
    assert!(refused(Known::Nothing, Which::Edges).contains("at most 1024"));
    assert!(refused(Known::Pattern(model.form()), Which::Trace).contains("take that of the edges"));
    assert!(refused(Known::Pattern(small.form()), Which::Edges).contains("64 sites, the energy of 1600"));
    let curvature = Curvature::of(&SparseMatrix::of(small.form()));
    assert!(refused(Known::Whole(&curvature), Which::Edges).contains("64 sites, the energy of 1600"));

    // A W without a diagonal, whoever found it, makes no diagonal variant.
    let (flat, mut d) = (Bernoulli::new(&[0.3; 20]).unwrap(), Vec::new());
    assert!(driver.diagonal(&flat, Known::Nothing, &mut d, &progress).unwrap().is_none());
    let hasty = Driver { burn_in: 0, ..driver };
    let (pattern, mut room) = (Known::Pattern(model.form()), Room::default());
    let nothing = hasty.second_order(&model, pattern, Which::Edges, &mut room, &progress);
    assert!(nothing.unwrap_err().to_string().contains("no step of the burn-in moved"));
}

#[test]
fn a_sampler_without_noise_has_no_precision_to_adapt() {
    let flat = Bernoulli::new(&[0.3; 20]).unwrap();
    let mut memory = SparseMemory::<20, 0>::new();
    let form = Ising::bits_edges_once(20, [], &[], memory.borrow()).unwrap().form();
    let w = Curvature::of(&SparseMatrix::with_diagonal(form, &[-0.5; 20]).unwrap());
    let progress = Progress::new(true, 0);
    let driven = |precision| {
        let driver =
            Driver { seed: 7, sweeps: 5, burn_in: 1000, adapt: 6000, precision, far: false, as_printed: false };
        let first = driver.first_order(&flat, &progress).unwrap().1;
        let mut d = Vec::new();
        let diagonal = driver.diagonal(&flat, Known::Whole(&w), &mut d, &progress).unwrap().unwrap().1;
        [first, diagonal].map(|chosen| chosen.parameters())
    };
    assert_eq!(driven(true), driven(false));
}
