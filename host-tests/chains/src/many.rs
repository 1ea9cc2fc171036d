//! Chains for distributions with many modes: cycles, replica exchange, annealing, populations, tuning, and hashes of what they do.

use crate::hash::Hash;
use crate::models::{self, IsingMemory};
use crate::steps;
use crate::used::{borrowed, memory};
use bitmc::energy::Tempered;
use bitmc::step::{Cycle, ParameterError, langevin_cycle};
use bitmc::temper::{
    Families, Isoenergetic, Ladder, Replica, Rung, begin, forward, next_beta, resample, reverse, round,
};
use bitmc::tune::{CycleSettings, CycleTuner, RateTuner, Trial};
use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, Potts, Schedule, torus};

/// The hash of a chain that could not be built: no committed hash is 0.
const BROKEN: u32 = 0;

/// The kernels of ACS over eight steps, from a bold one to a local one.
pub(crate) fn acs(largest: f32) -> Result<[Langevin<'static>; 8], ParameterError> {
    let step_size = Schedule::cyclical_step_size(largest, 0.3, 8);
    let balance = Schedule::cosine(0.9, 0.5, 8);
    let (Ok(step_size), Ok(balance)) = (step_size, balance) else {
        return Err(ParameterError::StepSize(largest));
    };
    langevin_cycle(&step_size, &balance)
}

/// Kernels in turn.
pub(crate) fn cycle<K>(kernels: &Result<[K; 8], ParameterError>) -> Result<Cycle<'_, K>, ParameterError> {
    let kernels = kernels.as_ref().map_err(|&error| error)?;
    Cycle::new(kernels).ok_or(ParameterError::StepSize(0.0))
}

/// Three replicas of the 5×5 torus, taken apart half-way; then the ladder is spaced anew.
pub(crate) fn exchange() -> u32 {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, 4.0 * models::ISING_COUPLING);
    let Ok(model) = Ising::spins_edges_once(25, edges, &models::ISING_FIELDS, borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let (Ok(path), Ok(kernel), Ok(mut ladder)) = (
        Tempered::new(&model, 1.0),
        Langevin::adjusted(0.6),
        Ladder::new([Rung::default(); 3], &[0.2, 0.6, 1.0]),
    ) else {
        return BROKEN;
    };
    let room = || memory!(models::ISING, Tempered::cache_len(Ising::cache_len(25)));
    let mut rng = LaneRng::stream(9, 2);
    let mut replica = || Replica::random(path, room(), &mut rng);
    let (Ok(a), Ok(b), Ok(c)) = (replica(), replica(), replica()) else { return BROKEN };
    let mut replicas = [a, b, c];
    let mut hash = Hash::new();
    for number in 0..steps(600) {
        if number == steps(600) / 2 {
            for replica in &mut replicas {
                let again = Replica::resume(path, room(), replica.state(), replica.kept());
                let Ok(again) = again else { return BROKEN };
                *replica = again;
            }
            let mut betas = [0.0; 3];
            ladder.respaced(&mut betas);
            hash.floats(&betas);
        }
        hash.word(round(&mut ladder, &mut replicas, &[kernel; 3], 2, &mut rng));
        for (replica, rung) in replicas.iter().zip(ladder.rungs()) {
            hash.words(replica.state().words());
            hash.floats(&[replica.energy(), replica.gap(), rung.rate().unwrap_or(-1.0)]);
            hash.word(rung.replica() as u32);
        }
    }
    hash.word(ladder.round_trips() as u32);
    hash.value()
}

/// Walks there and back between independent sites and a Potts model.
pub(crate) fn annealing() -> u32 {
    let mut couplings = IsingMemory::new();
    let Ok(model) = Potts::new(25, 4, torus(5, 5, 0.8), &models::POTTS_FIELDS, borrowed(&mut couplings)) else {
        return BROKEN;
    };
    // The base: the model's fields, turned round.
    let mut fields = models::POTTS_FIELDS;
    fields.reverse();
    let Ok(path) = Tempered::from_base(&model, &fields, 1.0) else { return BROKEN };
    let mut rng = LaneRng::stream(9, 3);
    let room = memory!(Layout::categorical(25, 4), Tempered::cache_len(Potts::cache_len(25, 4)));
    let Ok(mut replica) = Replica::random(path, room, &mut rng) else { return BROKEN };
    let Ok(betas) = Schedule::linear(0.0, 1.0, 64) else { return BROKEN };
    let mut hash = Hash::new();
    let Ok(kernel) = Langevin::adjusted(1.0) else { return BROKEN };
    for _ in 0..10 {
        let walk = || (1..65).map(|step| betas.at(step));
        hash.float(forward(&mut replica, walk(), 1, |_| kernel, &mut rng).unwrap_or(f32::NAN));
        hash.words(replica.state().words());
        hash.float(reverse(&mut replica, walk(), 1, |_| kernel, &mut rng).unwrap_or(f32::NAN));
        hash.words(replica.state().words());
    }
    hash.float(path.base().log_z());
    hash.value()
}

/// Six replicas of the 5×5 torus, annealed as a population that chooses its β.
pub(crate) fn population() -> u32 {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, 4.0 * models::ISING_COUPLING);
    let Ok(model) = Ising::spins_edges_once(25, edges, &models::ISING_FIELDS, borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let (Ok(path), Ok(kernel)) = (Tempered::new(&model, 0.0), Langevin::adjusted(0.6)) else { return BROKEN };
    let room = || memory!(models::ISING, Tempered::cache_len(Ising::cache_len(25)));
    let mut rng = LaneRng::stream(9, 6);
    let mut replica = || Replica::random(path, room(), &mut rng).ok();
    // More of them do not fit the 16 KB of a Cortex-M0.
    let (Some(a), Some(b), Some(c)) = (replica(), replica(), replica()) else { return BROKEN };
    let (mut replicas, mut hash) = ([a, b, c], Hash::new());
    for _ in 0..4 {
        let (mut beta, mut gaps, mut families) = (0.0, [0.0; 3], [0, 1, 2]);
        for (replica, gap) in replicas.iter_mut().zip(&mut gaps) {
            *gap = begin(replica, &mut rng).unwrap_or(f32::NAN);
        }
        while beta < 1.0 {
            let Ok(next) = next_beta(beta, 1.0, &gaps, 0.9) else { return BROKEN };
            let Ok(done) = resample(&mut replicas, &gaps, &mut families, next, &mut rng) else { return BROKEN };
            hash.floats(&[next, done.log_mean, done.equal_weights]);
            for (replica, gap) in replicas.iter_mut().zip(&mut gaps) {
                replica.run(&kernel, &mut rng, 2, &mut ());
                *gap = replica.gap();
                hash.words(replica.state().words());
            }
            beta = next;
        }
        hash.words(&families);
        let Ok(families) = Families::of(&families, &mut [0; 3]) else { return BROKEN };
        hash.floats(&[families.mean_size(), families.relative_error()]);
    }
    hash.value()
}

/// Two replicas of the 5×5 torus that exchange clusters, without fields and with fields.
pub(crate) fn isoenergetic() -> u32 {
    let mut hash = Hash::new();
    for fields in [&[][..], &models::ISING_FIELDS[..]] {
        let mut couplings = IsingMemory::new();
        let signs = (0..).map(|edge| if edge % 3 == 0 { -0.5 } else { 0.5 });
        let edges = torus(5, 5, 1.0).zip(signs).map(|((a, b, _), sign)| (a, b, sign));
        let Ok(model) = Ising::spins_edges_once(25, edges, fields, borrowed(&mut couplings)) else {
            return BROKEN;
        };
        let (Ok(path), Ok(kernel)) = (Tempered::new(&model, 1.5), Langevin::adjusted(0.6)) else {
            return BROKEN;
        };
        let room = || memory!(models::ISING, Tempered::cache_len(Ising::cache_len(25)));
        let mut rng = LaneRng::stream(9, 7);
        let mut replica = || Replica::random(path, room(), &mut rng).ok();
        let (Some(mut one), Some(mut other)) = (replica(), replica()) else { return BROKEN };
        let (clusters, mut memory) = (Isoenergetic::new(&model), [0; Isoenergetic::memory_len(25)]);
        for _ in 0..steps(300) {
            let Ok(size) = clusters.step(&mut one, &mut other, &mut memory, &mut rng) else { return BROKEN };
            hash.word(size);
            for replica in [&mut one, &mut other] {
                hash.words(replica.state().words());
                hash.float(replica.energy());
                replica.run(&kernel, &mut rng, 1, &mut ());
            }
        }
    }
    hash.value()
}

/// A chain that is tuned to a rate, then to a cycle.
pub(crate) fn tuning() -> u32 {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, models::ISING_COUPLING);
    let Ok(model) = Ising::spins_edges_twice(25, edges, &models::ISING_FIELDS, borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let mut rng = LaneRng::stream(9, 4);
    let settings = CycleSettings { steps: 8, rounds: 6, ..CycleSettings::default() };
    let (Ok(mut chain), Ok(mut rate), Ok(mut tuner)) = (
        Chain::random(&model, memory!(models::ISING, Ising::cache_len(25)), &mut rng),
        RateTuner::new(5.0, (0.01, 100.0), RateTuner::LOCALLY_BALANCED),
        CycleTuner::new([Trial::default(); 8], settings),
    ) else {
        return BROKEN;
    };
    let mut hash = Hash::new();
    for _ in 0..steps(500) {
        let Ok(kernel) = Langevin::adjusted(rate.parameter()) else { return BROKEN };
        rate.observe(&chain.step(&kernel, &mut rng));
        hash.float(rate.parameter());
    }
    rate.freeze();
    hash.float(rate.parameter());
    while let Some(kernel) = tuner.kernel() {
        if let Some(trial) = tuner.observe(&chain.step(&kernel, &mut rng)) {
            hash.floats(&[trial.step_size, trial.balance, trial.rate, trial.error]);
        }
    }
    for trial in tuner.positions() {
        hash.floats(&[trial.step_size, trial.balance, trial.rate, trial.error]);
    }
    hash.words(chain.state().words());
    hash.value()
}
