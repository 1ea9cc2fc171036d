//! One run over several ranks gives every rank the bytes of the run on one machine. Here ranks are threads.

use bitmc_desktop::{Cancel, Choice, Error, Model, Ranks, Sampler, Samples};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

/// Ranks that are threads of one process.
struct Threads<'a> {
    rank: usize,
    bytes: &'a [Mutex<Vec<u8>>],
    barrier: &'a Barrier,
    /// What a broken way to send does to the bytes that come.
    fault: fn(&mut [Vec<u8>]),
}

impl Ranks for Threads<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        *self.bytes[self.rank].lock().unwrap() = own.to_vec();
        self.barrier.wait();
        let mut all: Vec<_> = self.bytes.iter().map(|bytes| bytes.lock().unwrap().clone()).collect();
        self.barrier.wait();
        (self.fault)(&mut all);
        Ok(all)
    }
}

/// What a run gives on each of so many ranks.
fn over<T: Send>(
    size: usize,
    fault: fn(&mut [Vec<u8>]),
    run: impl Fn(&Threads<'_>) -> T + Sync,
) -> Vec<std::thread::Result<T>> {
    let bytes: Vec<_> = (0..size).map(|_| Mutex::new(Vec::new())).collect();
    let barrier = Barrier::new(size);
    std::thread::scope(|scope| {
        let (bytes, barrier, run) = (&bytes[..], &barrier, &run);
        let rank = |rank| scope.spawn(move || run(&Threads { rank, bytes, barrier, fault }));
        let ranks: Vec<_> = (0..size).map(rank).collect();
        ranks.into_iter().map(|rank| rank.join()).collect()
    })
}

fn well(_: &mut [Vec<u8>]) {}

/// A glass of which the chains are slow, or not.
fn glass(sites: u32, coupling: f32) -> Model {
    let mut random = 1u64;
    let edges = (0..sites).flat_map(|a| [1, 5, 11].map(|step| (a, (a + step) % sites)));
    let edges: Vec<_> = edges
        .map(|(a, b)| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (a, b, if random >> 63 == 0 { coupling } else { -coupling })
        })
        .collect();
    Model::ising(sites as usize, &edges, &[]).unwrap()
}

/// All that a run gives, but the clock.
fn bytes(samples: &Samples) -> (Vec<u8>, Vec<u64>, String) {
    let energies = (0..samples.chains()).flat_map(|chain| samples.energies(chain)).map(f64::to_bits).collect();
    (samples.values().unwrap(), energies, format!("{:?}", samples.report()))
}

/// Ranks whose samples are those of one machine, of those that have samples.
fn equal(sampler: &Sampler<'_>, size: usize, fault: fn(&mut [Vec<u8>])) -> (usize, usize) {
    let alone = bytes(&sampler.run().unwrap());
    let all = over(size, fault, |ranks| sampler.clone().threads(1).run_over(ranks));
    let given: Vec<_> = all.into_iter().filter_map(|outcome| outcome.unwrap().ok()).collect();
    (given.iter().filter(|samples| bytes(samples) == alone).count(), given.len())
}

#[test]
fn any_number_of_ranks_gives_the_same_bytes() {
    let easy = glass(48, 0.3);
    for sampler in ["auto", "gibbs", "langevin", "cyclical", "pas", "exchange", "isoenergetic"] {
        let choice: Choice = sampler.parse().unwrap();
        // Of batches of sixteen chains there are two and a bit.
        let run = easy.sampler().with(choice).chains(35).draws(60).seed(3);
        for size in [1, 2, 3, 8] {
            assert_eq!(equal(&run, size, well), (size, size), "{sampler} over {size} ranks");
        }
    }
    // More ranks than chains.
    let run = easy.sampler().with("langevin:0.4".parse().unwrap()).chains(3).draws(60);
    assert_eq!(equal(&run, 8, well), (8, 8));
}

/// ln Z of a population, whose states travel where they are copied to another rank. Also with hard constraints, which forbid
/// draws of the base, and from a base at another temperature.
#[test]
fn a_population_over_ranks_gives_the_same_bits() {
    let forbidden: Vec<_> = (0..12).map(|a| (a, (a + 1) % 12, -20.0)).collect();
    let weights: Vec<f32> = (0..6 * 9).map(|k| ((k * 37 % 19) as f32 - 9.0) / 10.0).collect();
    let rbm = Model::rbm(&weights, &[0.1; 6], &[-0.2; 9]).unwrap();
    let models = [glass(48, 0.5), Model::potts(12, 3, &forbidden, &[]).unwrap(), rbm];
    for (number, model) in models.iter().enumerate() {
        let base = if number == 2 { vec![0.5; 6] } else { vec![] };
        let log_z = || model.log_z().population(301).base(&base).temperature(1.5).seed(4);
        let alone = log_z().run().unwrap();
        for size in [1, 2, 5] {
            for outcome in over(size, well, |ranks| log_z().threads(1).run_over(ranks)) {
                assert_eq!(outcome.unwrap().unwrap(), alone, "model {number} over {size} ranks");
            }
        }
        // Negative control: another seed.
        assert_ne!(log_z().seed(5).run().unwrap(), alone);
    }
    // More ranks than replicas; settings that differ; no population.
    let log_z = || models[0].log_z().population(3);
    let alone = log_z().run().unwrap();
    let all = over(5, well, |ranks| log_z().threads(1).run_over(ranks));
    assert!(all.into_iter().all(|outcome| outcome.unwrap().unwrap() == alone));
    let all = over(2, well, |ranks| log_z().seed(ranks.rank() as u64).run_over(ranks));
    for outcome in all {
        let said = outcome.unwrap().unwrap_err().to_string();
        assert!(said.contains("rank 1 has other settings than rank 0: seed 1, not seed 0"), "{said}");
    }
    let all = over(2, well, |ranks| models[0].log_z().run_over(ranks));
    assert!(all.into_iter().all(|outcome| outcome.unwrap().unwrap_err().to_string().contains("population")));
}

#[test]
fn the_automatic_choice_is_the_same_where_chains_are_slow() {
    let model = glass(96, 1.1);
    let run = model.sampler().chains(5).draws(100);
    assert!(run.run().unwrap().report().sampler.to_string().starts_with("replica exchange"));
    assert_eq!(equal(&run, 3, well), (3, 3));
}

#[test]
fn a_potts_model_and_an_rbm_are_dealt_out() {
    let edges: Vec<_> = (0..40).map(|a| (a, (a + 1) % 40, 0.5)).collect();
    let potts = Model::potts(40, 3, &edges, &[]).unwrap();
    let weights: Vec<f32> = (0..20 * 40).map(|k| ((k * 37 % 19) as f32 - 9.0) / 20.0).collect();
    let rbm = Model::rbm(&weights, &[0.1; 20], &[-0.2; 40]).unwrap();
    for (model, sampler) in [(&potts, "auto"), (&rbm, "auto"), (&rbm, "langevin"), (&rbm, "cyclical")] {
        let run = model.sampler().with(sampler.parse().unwrap()).chains(36).draws(50);
        assert_eq!(equal(&run, 3, well), (3, 3), "{sampler}");
    }
}

/// Deliberately broken ways to send. The first three are errors; the last one is seen by the comparison of bytes alone.
#[test]
fn broken_ranks_are_seen() {
    let model = glass(48, 0.3);
    let run = model.sampler().with("langevin:0.4".parse().unwrap()).chains(8).draws(60);
    assert_eq!(equal(&run, 3, |all| all.rotate_left(1)), (0, 0));
    assert_eq!(equal(&run, 3, |all| all[1] = all[0].clone()), (0, 0));
    assert_eq!(equal(&run, 3, |all| all[2].clear()), (0, 0));
    let flip = |all: &mut [Vec<u8>]| {
        // The energy of the last draw of rank 1.
        let length = all[1].len();
        if length > 1000 {
            all[1][length - 4] ^= 1;
        }
    };
    let (same, given) = equal(&run, 3, flip);
    assert!(same < given && given == 3, "{same} of {given}");
}

#[test]
fn a_failure_of_one_rank_reaches_all() {
    let (model, other) = (glass(48, 0.3), glass(48, 0.4));
    let said = |run: &(dyn Fn(&Threads<'_>) -> Result<Samples, Error> + Sync)| -> Vec<String> {
        over(3, well, run).into_iter().map(|outcome| outcome.unwrap().unwrap_err().to_string()).collect()
    };
    let reason = "chains, draws and thin: at least 1 of each is needed";
    let failed = said(&|ranks| model.sampler().draws(if ranks.rank() == 1 { 0 } else { 9 }).run_over(ranks));
    assert_eq!(failed, [format!("rank 1: {reason}"), reason.into(), format!("rank 1: {reason}")]);
    let failed = said(&|ranks| model.sampler().seed(if ranks.rank() == 2 { 7 } else { 1 }).run_over(ranks));
    assert_eq!(failed[0], "rank 2 has other settings than rank 0: seed 7, not seed 1");
    assert!(failed.iter().all(|reason| *reason == failed[0]), "{failed:?}");
    let failed = said(&|ranks| [&model, &other][ranks.rank() % 2].sampler().run_over(ranks));
    assert!(failed[2].contains("rank 1 has other settings than rank 0: model "), "{failed:?}");
    let failed = said(&|ranks| {
        let model = if ranks.rank() == 1 { Model::read("nowhere.qubo") } else { Ok(glass(48, 0.3)) };
        ranks.all_well(model)?.sampler().run_over(ranks)
    });
    assert!(failed[1].starts_with("nowhere.qubo: "), "{failed:?}");
    assert_eq!([&failed[0], &failed[2]], [&format!("rank 1: {}", failed[1]); 2]);
    let failed = said(&|ranks| model.sampler().checkpoint("nowhere").run_over(ranks));
    assert!(failed[0].starts_with("checkpoint: "), "{failed:?}");
}

#[test]
fn a_panic_of_one_rank_reaches_all() {
    /// An energy that panics on one rank, after some steps.
    struct Panics(usize, std::sync::atomic::AtomicUsize);
    impl bitmc::Energy for Panics {
        fn layout(&self) -> bitmc::Layout {
            bitmc::Layout::binary(4)
        }
        fn cache_len(&self) -> usize {
            0
        }
        fn init(&self, _: bitmc::Packed<'_>, _: &mut [[u32; 16]]) -> Result<f32, bitmc::energy::EnergyError> {
            Ok(0.0)
        }
        fn gradient(
            &self,
            _: bitmc::Packed<'_>,
            _: &[[u32; 16]],
            _: std::ops::Range<usize>,
            out: &mut [[f32; 16]],
        ) {
            let asked = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert!(self.0 != 1 || asked < 50, "as planned");
            out.fill([0.0; 16]);
        }
        fn shift(&self, _: &bitmc::packed::Move<'_>, _: &mut [[u32; 16]]) -> f32 {
            0.0
        }
        fn differences(&self, _: &mut [u32], _: &[[u32; 16]], _: usize, out: &mut [f32]) {
            out.fill(0.0);
        }
    }
    let all = over(3, well, |ranks| {
        let model = Model::own(Panics(ranks.rank(), 0.into()));
        model.sampler().with("langevin:0.4".parse().unwrap()).chains(3).run_over(ranks).map(|_| ())
    });
    let said = |rank: usize| all[rank].as_ref().unwrap().as_ref().unwrap_err().to_string();
    assert_eq!(said(0), "rank 1: it panicked");
    assert_eq!(said(2), "rank 1: it panicked");
    assert!(all[1].is_err());
}

#[test]
fn ranks_stop_together_at_a_prefix() {
    let model = glass(48, 0.3);
    let run = model.sampler().with("langevin:0.4".parse().unwrap()).chains(6).draws(2_000_000).warmup(10);
    let cancels = [const { std::sync::OnceLock::new() }; 3];
    let all = over(3, well, |ranks| {
        let cancel: &Cancel = cancels[ranks.rank()].get_or_init(Cancel::new);
        std::thread::scope(|scope| {
            // One rank is told to stop, by its user or by its clock.
            if ranks.rank() == 2 {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(500));
                    cancel.cancel();
                });
            }
            run.clone().cancel(cancel).threads(1).run_over(ranks).unwrap()
        })
    });
    let all: Vec<_> = all.into_iter().map(|outcome| outcome.unwrap()).collect();
    let draws = all[0].draws();
    assert!(draws > 0 && draws < 2_000_000, "{draws} draws");
    assert!(all[0].report().stopped.as_deref().unwrap().contains("cancelled"));
    assert!(all.iter().all(|samples| bytes(samples) == bytes(&all[0])));
    let whole = run.clone().draws(draws).run().unwrap();
    assert_eq!(bytes(&whole).1, bytes(&all[0]).1);
    // In the pilot runs, where nothing is drawn.
    let slow = glass(400, 1.1);
    let all = over(2, well, |ranks| slow.sampler().seconds(0.2).threads(1).run_over(ranks).unwrap());
    let all: Vec<_> = all.into_iter().map(|outcome| bytes(&outcome.unwrap())).collect();
    assert!(all[0] == all[1] && all[0].0.is_empty(), "{}", all[0].2);
}
