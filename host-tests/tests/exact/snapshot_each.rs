//! Everything that changes in a run, one after the other: it goes on bit for bit from its bytes;
//! altered, torn and of another version they are refused; and where bytes with a right checksum are refused, nothing
//! has changed.

use bitmc::batch::{self, Batch, BatchSite, PottsBatch, PottsSite};
use bitmc::energy::{Boltzmann, Entry, Tempered};
use bitmc::flow::{
    DiagonalGaussian, Esh, Hmc, HmcChain, NoseHoover, Potential, Reservoir, StepControl, StepSize, Unscaled,
};
use bitmc::lane::Block;
use bitmc::learn::{self, Adam, Contrast, CyclicalLearning, Learnable, RatioMatching, Replay, Sgd};
use bitmc::noise::{Adaptation, Parameters, Regression, SparseRegression};
use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedIsing, QuantisedLangevin};
use bitmc::sliced::SlicedChains;
use bitmc::snapshot::{BoundedSnapshot, FRAME, Snapshot, SnapshotError, VERSION};
use bitmc::stats::{Acceptance, Average, BatchMeans, Best, Every, Evidence, Means, Observer, Pairs};
use bitmc::step::IsingLangevin;
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::tune::{CycleSettings, CycleTuner, Rate, RateTuner, Trial};
use bitmc::{
    Energy, Info, Ising, LaneRng, Langevin, Layout, Move, Packed, Potts, Rng, SeedableRng, chain, random, torus,
};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::sliced::{Room, graph, sliced};
use bitmc_host_tests::snapshot::{flipped, load, save, sealed};

/// Memory that is borrowed for ever.
fn borrowed<T>(of: T) -> &'static mut T {
    Box::leak(Box::new(of))
}

/// These say so themselves: refused because the energy at x is not finite, they stand at x.
const AT_X: [&str; 4] = ["energy-sampling dynamics", "HMC", "Nosé–Hoover", "unscaled dynamics"];

/// Makes two with different seeds, and lets both take the same ways; then alters their bytes, which are as many as is said.
fn kept<T: Snapshot, O: PartialEq>(
    (name, len): (&str, usize),
    make: impl Fn(&mut LaneRng) -> T,
    go: impl Fn(&mut T, &mut LaneRng) -> O,
) {
    let start = |seed| {
        let mut rng = LaneRng::seed_from_u64(seed);
        (make(&mut rng), rng)
    };
    let ((mut one, mut rng), mut changed) = (start(1), 0);
    for step in 0..40 {
        let bytes = save(&[&one, &rng]);
        let (mut two, mut again) = start(2 + step);
        // It has been elsewhere.
        (0..step % 3).for_each(|_| _ = go(&mut two, &mut again));
        load(&bytes, &mut [&mut two, &mut again]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(save(&[&two, &again]) == bytes, "{name} has other bytes after step {step}");
        let before = save(&[&one]);
        assert!(
            go(&mut one, &mut rng) == go(&mut two, &mut again),
            "{name} does something else in step {step}"
        );
        assert!(save(&[&one, &rng]) == save(&[&two, &again]), "{name} goes on differently after step {step}");
        changed += u32::from(save(&[&one]) != before);
    }
    assert!(changed > 20, "{name}: {changed} changes show little");

    let bytes = save(&[&one]);
    // A tuner of cycles keeps its best trial once it has one.
    let most = name == "a tuner of cycles" && bytes.len() < FRAME + len;
    assert!(bytes.len() == FRAME + len || most, "{name} has {} bytes, not {len}", bytes.len());
    let (mut other, mut rng) = start(3);
    let before = save(&[&other]);
    for bit in 0..8 * bytes.len() {
        assert!(load(&flipped(&bytes, bit), &mut [&mut other]).is_err(), "{name}: bit {bit} passes");
    }
    for end in 0..bytes.len() {
        let torn = load(&bytes[..end], &mut [&mut other]);
        assert!(matches!(torn, Err(SnapshotError::Torn { .. })), "{name}: {end} bytes pass");
    }
    let mut newer = bytes.clone();
    newer[4..8].copy_from_slice(&(VERSION + 1).to_le_bytes());
    assert_eq!(load(&sealed(newer), &mut [&mut other]), Err(SnapshotError::Version { got: VERSION + 1 }));
    assert!(save(&[&other]) == before, "{name} is changed by what is refused");

    // The broken variant: a checksum that goes along with what was altered, a bit or a whole word. What then passes does no harm.
    let words = (12..bytes.len() - 7).step_by(4).flat_map(|at| {
        [0u32, !0, 0x8000_0000, 0x7FC0_0000, 0xFF80_0000].map(|word| {
            let mut altered = bytes.clone();
            altered[at..at + 4].copy_from_slice(&word.to_le_bytes());
            altered
        })
    });
    let bits = (96..8 * (bytes.len() - 4)).map(|bit| flipped(&bytes, bit));
    let mut refused = vec![];
    for forged in bits.chain(words).map(sealed) {
        match load(&forged, &mut [&mut other]) {
            Ok(()) => {
                go(&mut other, &mut rng);
                load(&before, &mut [&mut other]).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            Err(_) if AT_X.contains(&name) => _ = load(&before, &mut [&mut other]),
            Err(_) => {
                assert!(save(&[&other]) == before, "{name} is half loaded");
                refused.push(forged);
            }
        }
    }

    // Neither do the steps that follow know of what was refused.
    for forged in &refused {
        let ((mut here, mut rng), (mut there, mut again)) = (start(3), start(3));
        assert!(load(forged, &mut [&mut here]).is_err());
        for step in 0..3 {
            let same = go(&mut here, &mut rng) == go(&mut there, &mut again);
            assert!(
                same && save(&[&here, &rng]) == save(&[&there, &again]),
                "{name}: step {step} after a refusal"
            );
        }
    }
}

fn ising() -> &'static Ising<'static> {
    let memory = borrowed(Couplings::new(9, 18));
    borrowed(Ising::spins_edges_once(9, torus(3, 3, 0.3), &[0.1; 9], memory.borrow()).unwrap())
}

/// Steps of a chain to look at, the same for the same generator.
fn watched(rng: &mut LaneRng, mut see: impl FnMut(Packed<'_>, f32, &Info)) {
    let mut chain = heap::random_chain(ising(), rng).unwrap();
    for _ in 0..3 {
        let info = chain.step(&Langevin::adjusted(0.5).unwrap(), rng);
        see(chain.state(), chain.energy(), &info);
    }
}

/// A move to look at, the same for the same generator.
fn moved(rng: &mut LaneRng, see: impl FnOnce(&Move<'_>)) {
    let mut chain = heap::random_chain(ising(), rng).unwrap();
    let before = chain.state().words().to_vec();
    while chain.state().words() == before {
        chain.step(&Langevin::adjusted(0.5).unwrap(), rng);
    }
    let from = Packed::new(chain.state().layout(), &before).unwrap();
    see(&Move::new(from, chain.state()).unwrap());
}

#[test]
fn chains_of_every_form() {
    let model = ising();
    let adjusted = Langevin::adjusted(0.5).unwrap();
    let chain = |rng: &mut LaneRng| heap::random_chain(model, rng).unwrap();
    kept(("a chain", chain::snapshot_len(Layout::binary(9))), chain, |it, rng| it.step(&adjusted, rng));
    kept(("its kernel for Ising models", chain::snapshot_len(Layout::binary(9))), chain, |it, rng| {
        it.step(&IsingLangevin::adjusted(0.5).unwrap(), rng);
    });
    let potts = Potts::new(9, 3, torus(3, 3, 0.4), &[0.0; 27], borrowed(Couplings::new(9, 18)).borrow());
    let potts = borrowed(potts.unwrap());
    let chain = |rng: &mut LaneRng| heap::random_chain(potts, rng).unwrap();
    kept(("a chain of three values", chain::snapshot_len(Layout::categorical(9, 3))), chain, |it, rng| {
        it.step(&adjusted, rng)
    });
    let path = Tempered::new(model, 0.5).unwrap();
    let replica = |rng: &mut LaneRng| Replica::random(path, heap::memory(&path), rng).unwrap();
    kept(
        ("a replica", Replica::<dyn Energy, (), (), ()>::snapshot_len(Layout::binary(9))),
        replica,
        |it, rng| it.step(&adjusted, rng),
    );
    let batch = |rng: &mut LaneRng| Batch::random(model, vec![BatchSite::new(); 9], rng).unwrap();
    kept(("a batch", batch::snapshot_len(9)), batch, |it, rng| {
        it.step(&IsingLangevin::adjusted(0.5).unwrap(), rng)
    });
    let batch = |rng: &mut LaneRng| PottsBatch::random(potts, vec![PottsSite::<3>::new(); 9], rng).unwrap();
    kept(("a batch of Potts chains", PottsBatch::<[PottsSite<3>; 9], 3>::snapshot_len(9)), batch, |it, rng| {
        it.step(&adjusted, rng)
    });

    let (pairwise, memory) = (graph(4, 0.4, 0.4, false, 1), borrowed(Couplings::new(4, 6)));
    let model = sliced(&pairwise, memory);
    let random = |rng: &mut LaneRng| {
        let room = borrowed(Room::new(&model));
        SlicedChains::random(model, &mut room.blocks, rng).unwrap();
        room
    };
    kept(
        ("sliced Gibbs", SlicedChains::snapshot_len(4)),
        |rng| random(rng).gibbs(model),
        |it, rng| it.sweep(rng),
    );
    kept(
        ("sliced Langevin", SlicedChains::snapshot_len(4)),
        |rng| random(rng).langevin(model, 0.5),
        |it, rng| it.step(rng),
    );
    kept(
        ("sliced Langevin without a test", SlicedChains::snapshot_len(4)),
        |rng| random(rng).unadjusted(model, 0.5),
        |it, rng| it.step(rng),
    );

    // A ring of forty sites: their last word is not full.
    let row = |site: u32| {
        let mut ends = [(site + 39) % 40, (site + 1) % 40];
        ends.sort_unstable();
        ends.map(|site| Entry { site, coupling: 40_000 })
    };
    let entries = borrowed((0..40).flat_map(row).collect::<Vec<_>>());
    let ends = borrowed((1..=40).map(|site| 2 * site).collect::<Vec<u32>>());
    let model = QuantisedIsing::from_rows(ends, entries, &[-40_000; 40]).unwrap();
    let chain = |rng: &mut LaneRng| {
        let words = borrowed([rng.next_u32(), rng.next_u32() & 0xFF]);
        QuantisedGibbs::new(model, words, borrowed([0; 40])).unwrap()
    };
    kept(("Gibbs without floats", QuantisedGibbs::snapshot_len(40)), chain, |it, rng| {
        it.sweep_sites(0..33, rng)
    });
    let chain = |rng: &mut LaneRng| {
        let words = borrowed([rng.next_u32(), rng.next_u32() & 0xFF]);
        let penalty = Penalty::from_units(100_000).unwrap();
        QuantisedLangevin::new(model, penalty, words, borrowed([0; 40]), borrowed([0; 2])).unwrap()
    };
    kept(("DMALA without floats", QuantisedLangevin::snapshot_len(40)), chain, |it, rng| it.step(rng));
}

#[test]
fn continuous_chains() {
    let model = borrowed(DiagonalGaussian::new(20, &[[0.0; 16]; 2], &[[1.5; 16]; 2]).unwrap());
    let size = StepSize::new(0.2).unwrap();
    let from = |rng: &mut LaneRng| [(rng.next_u32() % 100) as f32 / 100.0; 20];
    kept(
        ("energy-sampling dynamics", Esh::<dyn Potential, ()>::snapshot_len(20)),
        |rng| Esh::random(model, [[0.0; 16]; 6], &from(rng), rng).unwrap(),
        |it, _| it.step(size),
    );
    let hmc = Hmc::new(size, 2).unwrap();
    let chain = |rng: &mut LaneRng| HmcChain::new(model, [[0.0; 16]; 10], &from(rng)).unwrap();
    kept(("HMC", HmcChain::<dyn Potential, ()>::snapshot_len(20)), chain, |it, rng| it.step(&hmc, rng));
    let chain = |rng: &mut LaneRng| NoseHoover::new(model, [[0.0; 16]; 6], &from(rng), 20.0, rng).unwrap();
    kept(("Nosé–Hoover", NoseHoover::<dyn Potential, ()>::snapshot_len(20)), chain, |it, _| it.step(size));
    let chain = |rng: &mut LaneRng| Unscaled::new(model, [[0.0; 16]; 6], &from(rng), &[1.0; 20]).unwrap();
    kept(("unscaled dynamics", Unscaled::<dyn Potential, ()>::snapshot_len(20)), chain, |it, _| {
        it.step(StepSize::new(1e-3).unwrap())
    });
    kept(
        ("a reservoir", Reservoir::<[Block; 2]>::LEN),
        |_| Reservoir::new([[0.0; 16]; 2]),
        |it, rng| {
            let x = rng.next_u32() as f32;
            it.offer(&[[x; 16]; 2], x / 1e9, rng);
        },
    );
    let control = |_: &mut LaneRng| StepControl::new(size, 0.02).unwrap();
    kept(("step control", StepControl::LEN), control, |it, rng| {
        let start = from(rng);
        let mut chain = Esh::random(model, [[0.0; 16]; 6], &start, rng).unwrap();
        it.observe(&chain.step(it.step_size()));
    });
}

#[test]
fn tuners_and_regressions() {
    let model = ising();
    let rate = |_: &mut LaneRng| RateTuner::new(0.3, (0.01, 100.0), 0.574).unwrap();
    kept(("a tuner", RateTuner::LEN), rate, |it, rng| watched(rng, |_, _, info| it.observe(info)));
    let settings = CycleSettings { steps: 8, rounds: 6, ..CycleSettings::default() };
    let cycle = |_: &mut LaneRng| CycleTuner::new([Trial::default(); 4], settings).unwrap();
    kept(("a tuner of cycles", CycleTuner::<[Trial; 4]>::LEN), cycle, |it, rng| {
        watched(rng, |_, _, info| _ = it.observe(info))
    });
    let jump = |_: &mut LaneRng| Adaptation::new(Parameters::START).with_precision();
    kept(("adaptation by jumps", Adaptation::LEN), jump, |it, rng| {
        watched(rng, |_, _, info| _ = it.observe(info))
    });
    kept(("a rate", Rate::LEN), |_| Rate::new(50), |it, rng| watched(rng, |_, _, info| it.observe(info)));

    let ladder = |_: &mut LaneRng| Ladder::new([Rung::default(); 3], &[0.2, 0.5, 1.0]).unwrap();
    kept(("a ladder", Ladder::<[Rung; 3]>::LEN), ladder, |it, rng| it.exchange(|_| -0.7, rng));

    let dense = |_: &mut LaneRng| Regression::new(9, borrowed(vec![[0.0; 16]; Regression::blocks(9)])).unwrap();
    kept(("a regression", Regression::snapshot_len(9)), dense, |it, rng| {
        moved(rng, |step| it.push(step, &[[1.0; 16]], &[[0.5; 16]]).unwrap())
    });
    let pattern = model.form();
    let memory = || borrowed(vec![[0.0; 16]; SparseRegression::blocks(pattern)]);
    let sparse = |_: &mut LaneRng| SparseRegression::new(pattern, memory()).unwrap();
    kept(("a sparse regression", SparseRegression::snapshot_len(pattern)), sparse, |it, rng| {
        moved(rng, |step| it.push(step, &[[1.0; 16]], &[[0.5; 16]]).unwrap())
    });
    // Of as many sites and edges, which are others.
    let of = |edges: [(u32, u32, f32); 2]| {
        let mut memory = Couplings::new(4, 2);
        let model = Ising::bits_edges_once(4, edges, &[], memory.borrow()).unwrap();
        let mut room = vec![[0.0; 16]; SparseRegression::blocks(model.form())];
        let mut regression = SparseRegression::new(model.form(), &mut room).unwrap();
        let bytes = save(&[&regression]);
        (load(&bytes, &mut [&mut regression]), bytes)
    };
    let (same, bytes) = of([(0, 1, 1.0), (1, 2, 1.0)]);
    assert_eq!(same, Ok(()));
    let mut memory = Couplings::new(4, 2);
    let model = Ising::bits_edges_once(4, [(1, 2, 1.0), (2, 3, 1.0)], &[], memory.borrow()).unwrap();
    let mut room = vec![[0.0; 16]; SparseRegression::blocks(model.form())];
    let mut other = SparseRegression::new(model.form(), &mut room).unwrap();
    assert_eq!(load(&bytes, &mut [&mut other]), Err(SnapshotError::Other));
}

/// What a user chose, and no adaptation reaches.
#[test]
fn parameters() {
    for step_size in [f32::INFINITY, 1e-9] {
        let chosen = Parameters { step_size, balance: 1e-3, precision: 1e-5 };
        let mut there = Parameters::START;
        load(&save(&[&chosen]), &mut [&mut there]).unwrap();
        assert_eq!(there, chosen);
    }
    for broken in [f32::NAN, 0.0, -1.0] {
        for place in 0..3 {
            let of = |at, value| if at == place { broken } else { value };
            let chosen = Parameters { step_size: of(0, 1.0), balance: of(1, 1.0), precision: of(2, 1.0) };
            assert!(load(&save(&[&chosen]), &mut [&mut Parameters::START.clone()]).is_err());
        }
    }
    let start = Parameters { step_size: f32::NAN, balance: 7.0, precision: f32::INFINITY };
    assert_eq!(
        Adaptation::new(start).parameters(),
        Parameters { step_size: 0.1, balance: 1.0, precision: 5.0 }
    );
}

#[test]
fn statistics() {
    kept(
        ("acceptance", Acceptance::LEN),
        |_| Acceptance::new(),
        |it, rng| watched(rng, |x, e, info| it.observe(x, e, info)),
    );
    kept(
        ("means", Means::<[u32; 9]>::LEN),
        |_| Means::new([0; 9]),
        |it, rng| watched(rng, |x, e, info| it.observe(x, e, info)),
    );
    let pairs = |_: &mut LaneRng| Pairs::new([(0, 1), (3, 8)]);
    kept(("pairs", Pairs::<2>::LEN), pairs, |it, rng| watched(rng, |x, e, info| it.observe(x, e, info)));
    let batches = |_: &mut LaneRng| Every::new(2, BatchMeans::<8>::new());
    kept(("batch means", Every::<BatchMeans<8>>::LEN), batches, |it, rng| {
        watched(rng, |x, e, info| it.observe(x, e, info))
    });
    kept(
        ("the best state", Best::<[u32; 1]>::LEN),
        |_| Best::new([0; 1]),
        |it, rng| {
            *it = Best::new([0; 1]);
            watched(rng, |x, e, info| it.observe(x, e, info));
        },
    );
    let weight = |rng: &mut LaneRng| rng.next_u32() as f32 / 1e9;
    kept(("an average", Average::LEN), |_| Average::new(), |it, rng| it.add(weight(rng), 1.0));
    kept(("evidence", Evidence::LEN), |_| Evidence::new(), |it, rng| it.add(weight(rng)));
}

#[test]
fn learning() {
    const SITES: usize = 5;
    const N: usize = Boltzmann::parameter_len(SITES);
    let layout = Layout::binary(SITES);
    let couplings = borrowed([[0; 16]; Boltzmann::memory_len(SITES)]);
    let model = borrowed(Boltzmann::bits(borrowed([[0.1; 16]; N]), SITES, couplings).unwrap());
    assert_eq!(model.parameter_len(), N);
    let gradient = |rng: &mut LaneRng| [[rng.next_u32() as f32 / 1e9 - 2.0; 16]; 2];
    let adam =
        |_: &mut LaneRng| Adam::new(borrowed([[0.0; 16]; 4]), 0.01).unwrap().with(0.8, 0.99, 1e-6).unwrap();
    kept(("Adam", Adam::snapshot_len(2)), adam, |it, rng| {
        let (mut gradient, mut theta) = (gradient(rng), [[0.5; 16]; 2]);
        gradient[1][0] = f32::NAN;
        it.step(&gradient, &mut theta);
        theta
    });
    kept(
        ("gradient descent", Sgd::LEN),
        |_| Sgd::new(1.0).unwrap(),
        |it, rng| {
            let mut theta = [[0.5; 16]; 2];
            it.step(&gradient(rng), &mut theta);
            it.set_rate(1.0 + random::uniform(rng)).unwrap();
            theta
        },
    );
    let schedule = |_: &mut LaneRng| CyclicalLearning {
        period: 3,
        large: (5.0, 0.9, 3),
        small: (0.1, 2),
        retune: 4,
        adjusted: false,
    };
    kept(("a cyclical schedule", CyclicalLearning::LEN), schedule, |it, rng| {
        let ends = [0.1, 5.0].map(|step_size| Trial {
            step_size: step_size + random::uniform(rng),
            balance: 0.9,
            ..Trial::default()
        });
        it.set_ends((ends[0], ends[1]));
        [0, 1].map(|iteration| it.at(iteration).unwrap().1)
    });

    let x = |rng: &mut LaneRng| [rng.next_u32() % 32];
    let batch = |_: &mut LaneRng| learn::Minibatch::new(model, borrowed([[0.0; 16]; N])).unwrap();
    kept(("a batch of samples", learn::Minibatch::snapshot_len(N)), batch, |it, rng| {
        let words = x(rng);
        let x = Packed::new(layout, &words).unwrap();
        it.add(&RatioMatching::SIGMOID, model, x, &mut heap::memory(model), rng).unwrap();
    });
    let contrast = |_: &mut LaneRng| Contrast::new(model, 30, 30, borrowed([[0.0; 16]; N])).unwrap();
    kept(("contrastive divergence", Contrast::snapshot_len(N)), contrast, |it, rng| {
        let words = x(rng);
        let x = Packed::new(layout, &words).unwrap();
        let kernel = Langevin::adjusted(0.5).unwrap();
        it.diverge(model, x, (&kernel, 2), &mut heap::memory(model), rng).unwrap();
    });

    // Three values and four: in two bits a site, of which one layout takes all words.
    for arity in [3, 4] {
        let layout = Layout::categorical(20, arity);
        let replay = |rng: &mut LaneRng| {
            let mut replay = Replay::new(layout, borrowed([0; 6])).unwrap();
            replay.randomise(rng);
            replay
        };
        kept(("a replay buffer", Replay::snapshot_len(layout, 3)), replay, |it, rng| {
            let index = it.pick(rng);
            let site = rng.next_u32() as usize % 20;
            let value = it.state(index).get(site);
            it.set(index, site, (value + 1) % 3).unwrap();
            let words = it.state(index).words().to_vec();
            it.put(index, Packed::new(layout, &words).expect("a legal state"));
        });
    }
}
