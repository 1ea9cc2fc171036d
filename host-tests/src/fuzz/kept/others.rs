//! Generators, tuners, statistics and learners.

use super::super::Source;
use super::{Kind, forged};
use crate::heap::{self, Couplings};
use crate::used;
use bitmc::energy::Boltzmann;
use bitmc::flow::{Reservoir, StepControl, StepSize};
use bitmc::lane::LANES;
use bitmc::learn::{Adam, Contrast, CyclicalLearning, Minibatch, RatioMatching, Replay, Sgd};
use bitmc::noise::{Adaptation, Parameters, Regression, SparseRegression};
use bitmc::snapshot::Snapshot;
use bitmc::stats::{Acceptance, Average, BatchMeans, Best, Every, Evidence, LogSum, Means, Observer, Pairs};
use bitmc::temper::{Ladder, Rung};
use bitmc::tune::{CycleSettings, CycleTuner, Rate, RateTuner, Trial};
use bitmc::{Bernoulli, Info, Ising, LaneRng, Langevin, Layout, Move, Packed, Rng, SeedableRng, random, torus};
use rand_xoshiro::{Xoshiro128PlusPlus, Xoshiro256PlusPlus};

/// One of them.
pub(super) fn run(source: &mut Source<'_>) {
    match source.below(24) {
        0 => only(LaneRng::seed_from_u64(1), source, |it, _| _ = it.next_u32()),
        1 => only(Xoshiro128PlusPlus::seed_from_u64(1), source, |it, _| _ = it.next_u32()),
        2 => only(Xoshiro256PlusPlus::seed_from_u64(1), source, |it, _| _ = it.next_u32()),
        3 => only(RateTuner::new(0.3, (0.01, 100.0), 0.574).unwrap(), source, |it, rng| {
            it.observe(&info(rng));
            assert!(Langevin::adjusted(it.parameter()).is_ok(), "{it:?}");
        }),
        4 => cycles(source),
        5 => only(Adaptation::new(Parameters::START).with_precision(), source, |it, rng| {
            it.observe(&info(rng));
        }),
        6 => only(Rate::new(50), source, |it, rng| it.observe(&info(rng))),
        7 => only(Ladder::new([Rung::default(); 3], &[0.2, 0.5, 1.0]).unwrap(), source, |it, rng| {
            it.exchange(|_| -0.7, rng);
            it.respaced(&mut [0.0; 3]);
            assert!(it.rungs().iter().all(|rung| rung.beta() >= 0.0) && it.coldest() < 3, "{it:?}");
        }),
        8 => regressions(source),
        9 => only(Acceptance::new(), source, observe),
        10 => only(Means::new([0; 9]), source, observe),
        11 => only(Pairs::new([(0, 1), (3, 8)]), source, |it, rng| {
            observe(it, rng);
            _ = it.correlations();
        }),
        12 => only(Every::new(2, BatchMeans::<8>::new()), source, observe),
        13 => only(BatchMeans::<8>::new(), source, |it, rng| {
            observe(it, rng);
            _ = (it.mean(), it.variance(), it.ess(), it.standard_error());
        }),
        14 => only(Best::new([0; 1]), source, observe),
        15 => only(Average::new(), source, |it, rng| it.add(random::uniform(rng), 1.0)),
        16 => only(Evidence::new(), source, |it, rng| it.add(random::uniform(rng))),
        17 => only(LogSum::new(), source, |it, rng| it.add(random::uniform(rng))),
        18 => only(Reservoir::new([[0.0; LANES]; 2]), source, |it, rng| {
            it.offer(&[[1.0; LANES]; 2], random::uniform(rng), rng);
        }),
        19 => only(StepControl::new(StepSize::new(0.2).unwrap(), 0.02).unwrap(), source, |it, rng| {
            let (error, energy) = (random::uniform(rng), 1.0);
            it.observe(&bitmc::flow::Leap { log_time: 0.0, energy, error, fault: rng.next_u32() & 7 == 0 });
        }),
        20 => optimisers(source),
        21 => schedule(source),
        22 => replays(source),
        _ => learners(source),
    }
}

fn only<T: Snapshot>(it: T, source: &mut Source<'_>, go: impl FnMut(&mut T, &mut LaneRng)) {
    forged(it, source, Kind::Whole, go);
}

/// What a step may have done.
fn info(rng: &mut LaneRng) -> Info {
    let bits = rng.next_u32();
    let (difference, log_ratio) = (random::uniform(rng) - 0.5, -random::uniform(rng));
    let mut info = Info::default();
    (info.accepted, info.proposed, info.fault) = (bits & 1 != 0, bits >> 30, bits & 62 == 0);
    (info.log_ratio, info.difference) = (log_ratio, difference);
    info
}

fn observe(it: &mut impl Observer, rng: &mut LaneRng) {
    let words = [rng.next_u32() & 0x1FF];
    it.observe(Packed::new(Layout::binary(9), &words).unwrap(), random::uniform(rng), &info(rng));
}

fn cycles(source: &mut Source<'_>) {
    let settings = CycleSettings { steps: 8, rounds: 6, ..CycleSettings::default() };
    only(CycleTuner::new([Trial::default(); 4], settings).unwrap(), source, |it, rng| {
        let model = Bernoulli::new(&[0.3; 9]).unwrap();
        let mut chain = heap::random_chain(&model, rng).unwrap();
        if let Some(kernel) = it.kernel() {
            it.observe(&chain.step(&kernel, rng));
        }
    });
}

fn regressions(source: &mut Source<'_>) {
    let (layout, slopes) = (Layout::binary(9), ([[1.0; LANES]], [[0.5; LANES]]));
    let step = |rng: &mut LaneRng| [[rng.next_u32() & 0x1FF], [rng.next_u32() & 0x1FF]];
    let moved = |words: &[[u32; 1]; 2], see: &mut dyn FnMut(&Move<'_>)| {
        let [from, to] = words.each_ref().map(|words| Packed::new(layout, words).unwrap());
        see(&Move::new(from, to).unwrap());
    };
    if source.one_in(2) {
        let mut memory = used::memory(Regression::blocks(9));
        only(Regression::new(9, &mut memory).unwrap(), source, |it, rng| {
            moved(&step(rng), &mut |step| _ = it.push(step, &slopes.0, &slopes.1));
        });
        return;
    }
    let mut couplings = Couplings::new(9, 18);
    let model = Ising::spins_edges_once(9, torus(3, 3, 0.3), &[0.1; 9], couplings.borrow()).unwrap();
    let mut memory = used::memory(SparseRegression::blocks(model.form()));
    only(SparseRegression::new(model.form(), &mut memory).unwrap(), source, |it, rng| {
        moved(&step(rng), &mut |step| _ = it.push(step, &slopes.0, &slopes.1));
    });
}

fn optimisers(source: &mut Source<'_>) {
    let (gradient, mut theta) = ([[0.25; LANES]; 2], [[0.5; LANES]; 2]);
    if source.one_in(2) {
        let mut moments = [[0.0; LANES]; 4];
        let adam = Adam::new(&mut moments, 0.01).unwrap();
        only(adam, source, |it, _| it.step(&gradient, &mut theta));
    } else {
        only(Sgd::new(1.0).unwrap(), source, |it, _| it.step(&gradient, &mut theta));
    }
}

fn schedule(source: &mut Source<'_>) {
    let schedule =
        CyclicalLearning { period: 3, large: (5.0, 0.9, 3), small: (0.1, 2), retune: 4, adjusted: false };
    only(schedule, source, |it, rng| {
        let iteration = u64::from(rng.next_u32());
        assert!(it.at(iteration).is_ok(), "{it:?}");
        _ = it.is_due(iteration);
    });
}

fn replays(source: &mut Source<'_>) {
    let layout = Layout::categorical(20, 3 + source.below(2));
    let mut words = [0; 6];
    only(Replay::new(layout, &mut words).unwrap(), source, |it, rng| {
        it.randomise(rng);
        let index = it.pick(rng);
        Packed::new(layout, it.state(index).words()).expect("a legal state");
    });
}

fn learners(source: &mut Source<'_>) {
    const SITES: usize = 5;
    const LENGTH: usize = Boltzmann::parameter_len(SITES);
    let layout = Layout::binary(SITES);
    let (mut couplings, mut gradient) = ([[0; LANES]; Boltzmann::memory_len(SITES)], [[0.0; LANES]; LENGTH]);
    // Zero past the last parameter, and no pair of sites is coupled with itself.
    let model = Boltzmann::bits(&[[0.0; LANES]; LENGTH], SITES, &mut couplings).unwrap();
    if source.one_in(2) {
        only(Minibatch::new(&model, &mut gradient).unwrap(), source, |it, rng| {
            let words = [rng.next_u32() & 31];
            let x = Packed::new(layout, &words).unwrap();
            _ = it.add(&RatioMatching::SIGMOID, &model, x, &mut heap::memory(&model), rng);
        });
        return;
    }
    only(Contrast::new(&model, 30, 30, &mut gradient).unwrap(), source, |it, rng| {
        let words = [rng.next_u32() & 31];
        let x = Packed::new(layout, &words).unwrap();
        let kernel = Langevin::adjusted(0.5).unwrap();
        _ = it.diverge(&model, x, (&kernel, 2), &mut heap::memory(&model), rng);
    });
}
