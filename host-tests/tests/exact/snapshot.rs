//! Snapshots: what goes on bit for bit. Every chain of the list of hashes
//! is stopped half-way besides, on every target.

use bitmc::energy::Tempered;
use bitmc::flow::{
    DiagonalGaussian, Esh, Hmc, HmcChain, NoseHoover, Reservoir, StepControl, StepSize, Unscaled,
};
use bitmc::noise::{Adaptation, Parameters, Regression};
use bitmc::snapshot::{FRAME, Snapshot};
use bitmc::stats::{Acceptance, Average, BatchMeans, Best, Every, Evidence, Means, Observer, Pairs};
use bitmc::temper::{Ladder, Replica, Rung, round};
use bitmc::tune::{CycleSettings, CycleTuner, RateTuner, Trial};
use bitmc::{
    Chain, Energy, Ising, Kernel, LaneRng, Langevin, Layout, Packed, Plain, Potts, Rng, SeedableRng, torus,
};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::snapshot::{load, save};
use rand_xoshiro::{Xoshiro128PlusPlus, Xoshiro256PlusPlus};

fn pairwise() -> (bitmc_host_tests::naive::Pairwise, Couplings) {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 11);
    let couplings = model.couplings();
    (model, couplings)
}

fn held(sites: usize) -> Vec<u32> {
    let mut words = vec![0; Layout::binary(sites).words()];
    words[0] = 0b1_0110;
    words
}

/// Stops a chain at every step, and goes on in a chain that stands elsewhere and clamps nothing.
fn goes_on<E: Energy, K: Kernel<E>>(name: &str, energy: &E, kernel: &K) {
    let mut rng = LaneRng::seed_from_u64(20);
    let mut whole = heap::random_chain(energy, &mut rng).unwrap();
    let layout = energy.layout();
    let sites = held(layout.sites());
    whole.clamp(Packed::new(Layout::binary(layout.sites()), &sites).unwrap()).unwrap();
    let (mut again, mut moved) = (heap::random_chain(energy, &mut rng).unwrap(), 0);
    for step in 0..300 {
        let bytes = save(&[&whole, &rng]);
        assert_eq!(bytes.len(), FRAME + bitmc::chain::snapshot_len(layout) + LaneRng::SNAPSHOT_LEN);
        let mut other = LaneRng::seed_from_u64(step);
        load(&bytes, &mut [&mut again, &mut other]).unwrap();
        assert_eq!((again.steps(), again.faults()), (whole.steps(), whole.faults()), "{name}, step {step}");
        let info = whole.step(kernel, &mut rng);
        moved += info.moved();
        assert_eq!(again.step(kernel, &mut other), info, "{name}, step {step}");
        assert_eq!(again.state(), whole.state(), "{name}, step {step}");
        assert_eq!(again.energy().to_bits(), whole.energy().to_bits(), "{name}, step {step}");
        assert_eq!(other, rng, "{name}, step {step}");
        // What comes after a loaded step is not needed.
        for _ in 0..step % 3 {
            again.step(kernel, &mut other);
        }
    }
    assert!(moved > 50, "{name}: {moved} moves show little");
}

#[test]
fn chains_go_on_with_their_clamped_sites() {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut more = Couplings::new(25, 50);
    let potts = Potts::new(25, 3, torus(5, 5, 0.8), &[0.0; 75], more.borrow()).unwrap();
    goes_on("Ising", &ising, &Langevin::adjusted(0.3).unwrap());
    goes_on("Potts", &potts, &Langevin::unadjusted(0.3).unwrap());
    let own = Plain(bitmc_chains::models::Ladder);
    goes_on("ordinal", &own, &Langevin::adjusted(1.0).unwrap());
}

#[test]
fn replica_exchange_goes_on() {
    let mut couplings = Couplings::new(25, 50);
    let model = Ising::spins_edges_once(25, torus(5, 5, 0.5), &[0.1; 25], couplings.borrow()).unwrap();
    let path = Tempered::new(&model, 1.0).unwrap();
    let kernels = [Langevin::adjusted(0.6).unwrap(); 3];
    let start = |seed| {
        let mut rng = LaneRng::seed_from_u64(seed);
        let ladder = Ladder::new([Rung::default(); 3], &[0.2, 0.5, 1.0]).unwrap();
        let replicas = [0; 3].map(|_| Replica::random(path, heap::memory(&path), &mut rng).unwrap());
        (ladder, replicas, rng)
    };
    let (mut ladder, mut replicas, mut rng) = start(1);
    let mut exchanged = 0;
    for _ in 0..400 {
        let [a, b, c] = &replicas;
        let bytes = save(&[&ladder, a, b, c, &rng]);
        let (mut again, [mut a, mut b, mut c], mut other) = start(2);
        load(&bytes, &mut [&mut again, &mut a, &mut b, &mut c, &mut other]).unwrap();
        let mut others = [a, b, c];
        let swaps = round(&mut ladder, &mut replicas, &kernels, 2, &mut rng);
        assert_eq!(round(&mut again, &mut others, &kernels, 2, &mut other), swaps);
        assert_eq!((&again, &other), (&ladder, &rng));
        exchanged += swaps;
        for (one, two) in replicas.iter().zip(&others) {
            assert_eq!(save(&[one]), save(&[two]));
        }
    }
    assert!(exchanged > 50);
}

#[test]
fn tuners_go_on() {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let settings = CycleSettings { steps: 8, rounds: 6, ..CycleSettings::default() };
    let start = |seed| {
        let mut rng = LaneRng::seed_from_u64(seed);
        let chain = heap::random_chain(&ising, &mut rng).unwrap();
        let rate = RateTuner::new(0.3, (0.01, 100.0), 0.574).unwrap();
        let cycle = CycleTuner::new([Trial::default(); 8], settings).unwrap();
        let jump = Adaptation::new(Parameters::START).with_precision();
        let regression = vec![[0.0; 16]; Regression::blocks(70)];
        (chain, rng, rate, cycle, jump, regression)
    };
    let (mut chain, mut rng, mut rate, mut cycle, mut jump, mut memory) = start(1);
    let mut regression = Regression::new(70, &mut memory).unwrap();
    let mut tried = 0;
    for step in 0..2000 {
        let kernel = cycle.kernel();
        let kernel = kernel.unwrap_or(Langevin::adjusted(rate.parameter()).unwrap());
        let before = chain.state().words().to_vec();
        let look = step % 50 == 0;
        let bytes = if look { save(&[&chain, &rng, &rate, &cycle, &jump, &regression]) } else { Vec::new() };
        let info = chain.step(&kernel, &mut rng);
        let trial = cycle.observe(&info);
        tried += u32::from(trial.is_some());
        rate.observe(&info);
        jump.observe(&info);
        let gradient = vec![[step as f32; 16]; 5];
        let from = Packed::new(ising.layout(), &before).unwrap();
        regression.push(&bitmc::Move::new(from, chain.state()).unwrap(), &gradient, &gradient).unwrap();
        if look {
            let (mut chain2, mut rng2, mut rate2, mut cycle2, mut jump2, mut memory2) = start(2);
            let mut regression2 = Regression::new(70, &mut memory2).unwrap();
            let parts: &mut [&mut dyn Snapshot] =
                &mut [&mut chain2, &mut rng2, &mut rate2, &mut cycle2, &mut jump2, &mut regression2];
            load(&bytes, parts).unwrap();
            let kernel = cycle2.kernel();
            let kernel = kernel.unwrap_or(Langevin::adjusted(rate2.parameter()).unwrap());
            let again = chain2.step(&kernel, &mut rng2);
            assert_eq!(again, info, "step {step}");
            assert_eq!(cycle2.observe(&again), trial);
            rate2.observe(&again);
            jump2.observe(&again);
            regression2.push(&bitmc::Move::new(from, chain2.state()).unwrap(), &gradient, &gradient).unwrap();
            assert_eq!((rate2, cycle2, jump2), (rate, cycle, jump), "step {step}");
            assert_eq!(save(&[&regression2]), save(&[&regression]), "step {step}");
        }
    }
    assert!(tried > 100 && cycle.is_frozen());
}

#[test]
fn statistics_go_on() {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&ising, &mut rng).unwrap();
    let start = || {
        (
            (Acceptance::new(), Means::new([0; 70])),
            (Pairs::new([(0, 1), (3, 60)]), Best::new([0; 3])),
            Every::new(7, BatchMeans::<8>::new()),
            (Average::new(), Evidence::new()),
        )
    };
    let (mut a, mut b, mut c, mut d) = start();
    let kernel = Langevin::adjusted(0.3).unwrap();
    for _ in 0..500 {
        let bytes = save(&[&a, &b, &c, &d]);
        let (mut a2, mut b2, mut c2, mut d2) = start();
        load(&bytes, &mut [&mut a2, &mut b2, &mut c2, &mut d2]).unwrap();
        let info = chain.step(&kernel, &mut rng);
        let (x, energy) = (chain.state(), chain.energy());
        for (a, b, c, d) in [(&mut a, &mut b, &mut c, &mut d), (&mut a2, &mut b2, &mut c2, &mut d2)] {
            a.observe(x, energy, &info);
            b.observe(x, energy, &info);
            c.observe(x, energy, &info);
            d.0.add(energy, 1.0);
            d.1.add(energy);
        }
        assert_eq!(save(&[&a, &b, &c, &d]), save(&[&a2, &b2, &c2, &d2]));
        assert_eq!((a.1.mean(5), c.observer.mean()), (a2.1.mean(5), c2.observer.mean()));
    }
}

#[test]
fn generators_go_on() {
    let mut lanes = LaneRng::seed_from_u64(4);
    let (mut small, mut large) = (Xoshiro128PlusPlus::seed_from_u64(4), Xoshiro256PlusPlus::seed_from_u64(4));
    for words in 0..50 {
        let bytes = save(&[&lanes, &small, &large]);
        let mut lanes2 = LaneRng::seed_from_u64(5);
        let (mut small2, mut large2) =
            (Xoshiro128PlusPlus::seed_from_u64(5), Xoshiro256PlusPlus::seed_from_u64(5));
        // What is behind a reference is loaded too.
        let mut borrowed = &mut small2;
        load(&bytes, &mut [&mut lanes2, &mut borrowed, &mut large2]).unwrap();
        for _ in 0..words % 20 + 1 {
            assert_eq!(lanes2.next_u32(), lanes.next_u32());
            assert_eq!((small2.next_u32(), large2.next_u64()), (small.next_u32(), large.next_u64()));
        }
    }
}

type Planes<const N: usize> = [[f32; 16]; N];
type Continuous<'e> = (
    Esh<'e, DiagonalGaussian<'e>, Planes<6>>,
    HmcChain<'e, DiagonalGaussian<'e>, Planes<10>>,
    NoseHoover<'e, DiagonalGaussian<'e>, Planes<6>>,
    Unscaled<'e, DiagonalGaussian<'e>, Planes<6>>,
    (Reservoir<Planes<2>>, StepControl),
    LaneRng,
);

#[test]
fn continuous_chains_go_on() {
    let precision: Vec<_> = (1..=2).map(|block| [block as f32 * 0.75; 16]).collect();
    let model = DiagonalGaussian::new(20, &[[0.0; 16]; 2], &precision).unwrap();
    let size = StepSize::new(0.2).unwrap();
    let start = |seed| {
        let mut rng = LaneRng::seed_from_u64(seed);
        let from = [0.125 * seed as f32; 20];
        let esh = Esh::random(&model, [[0.0; 16]; 6], &from, &mut rng).unwrap();
        let hmc = HmcChain::new(&model, [[0.0; 16]; 10], &from).unwrap();
        let nose = NoseHoover::new(&model, [[0.0; 16]; 6], &from, 20.0, &mut rng).unwrap();
        let unscaled = Unscaled::new(&model, [[0.0; 16]; 6], &from, &[1.0; 20]).unwrap();
        let rest = (Reservoir::new([[0.0; 16]; 2]), StepControl::new(size, 0.02).unwrap());
        (esh, hmc, nose, unscaled, rest, rng)
    };
    let mut one = start(1);
    let mut bytes = Vec::new();
    let hmc = Hmc::new(size, 3).unwrap();
    for step in 0..120 {
        let mut two = start(2);
        if !bytes.is_empty() {
            let (a, b, c, d, (e, f), g) = &mut two;
            load(&bytes, &mut [a, b, c, d, e, f, g]).unwrap();
        }
        let go = |(a, b, c, d, (e, f), g): &mut Continuous<'_>| {
            let leap = a.step(f.step_size());
            f.observe(&leap);
            e.offer(a.position_blocks(), leap.log_time, g);
            b.step(&hmc, g);
            let leaps = (leap, c.step(size), d.step(StepSize::new(1e-3).unwrap()));
            (leaps, save(&[a, b, c, d, e, f, g]))
        };
        let result = go(&mut one);
        if !bytes.is_empty() {
            assert_eq!(go(&mut two), result, "step {step}");
        }
        bytes = result.1;
    }
}

/// Under the feature `serde` the same data goes through any format; here postcard.
#[test]
fn serde_goes_on() {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(11);
    let mut chain = heap::random_chain(&ising, &mut rng).unwrap();
    let mut tuner = RateTuner::new(0.3, (0.01, 100.0), 0.574).unwrap();
    for _ in 0..200 {
        let kept = (chain.state().words().to_vec(), chain.core(), &rng, tuner);
        let bytes = postcard::to_allocvec(&kept).unwrap();
        let (words, core, mut rng2, mut tuner2): (Vec<u32>, _, LaneRng, RateTuner) =
            postcard::from_bytes(&bytes).unwrap();
        let state = Packed::new(ising.layout(), &words).unwrap();
        let mut again = Chain::resume(&ising, heap::memory(&ising), state, core).unwrap();
        let kernel = Langevin::adjusted(tuner.parameter()).unwrap();
        let info = chain.step(&kernel, &mut rng);
        assert_eq!(again.step(&kernel, &mut rng2), info);
        tuner.observe(&info);
        tuner2.observe(&info);
        assert_eq!((again.state(), tuner2, rng2), (chain.state(), tuner, rng.clone()));
    }
}
