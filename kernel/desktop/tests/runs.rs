//! What a run promises: the same bytes for any number of threads, prefixes, and runs that are taken up again.

use bitmc::{Function, Layout, Packed, Plain};
use bitmc_desktop::{Cancel, Choice, Model, Plan, Samples};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn glass(side: u32) -> Model {
    let at = |x: u32, y: u32| (x % side) * side + y % side;
    let mut random = 1u64;
    let mut sign = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if random >> 63 == 0 { 0.4f32 } else { -0.4 }
    };
    let cells = (0..side * side).map(|cell| (cell / side, cell % side));
    let edges: Vec<_> = cells.flat_map(|(x, y)| [(at(x, y), at(x + 1, y)), (at(x, y), at(x, y + 1))]).collect();
    let edges: Vec<_> = edges.into_iter().map(|(a, b)| (a, b, sign())).collect();
    Model::ising((side * side) as usize, &edges, &[]).unwrap()
}

/// All that a run gives, but the clock.
fn bytes(samples: &Samples) -> (Vec<u8>, Vec<u64>, String) {
    let energies = (0..samples.chains()).flat_map(|chain| samples.energies(chain)).map(f64::to_bits).collect();
    (samples.values().unwrap(), energies, format!("{:?}", samples.report()))
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let model = glass(8);
    for sampler in ["auto", "gibbs", "langevin", "pas", "exchange", "isoenergetic"] {
        let choice: Choice = sampler.parse().unwrap();
        let run = |threads| {
            model.sampler().with(choice.clone()).chains(20).draws(100).threads(threads).run().unwrap()
        };
        assert_eq!(bytes(&run(1)), bytes(&run(3)), "{sampler}");
        let other = model.sampler().with(choice.clone()).chains(20).draws(100).seed(2).run().unwrap();
        assert_ne!(bytes(&run(1)).0, bytes(&other).0, "{sampler}: the seed says nothing");
    }
}

#[test]
fn a_run_that_is_stopped_is_a_prefix_of_the_longer_one() {
    let model = glass(8);
    let sampler = model.sampler().draws(20_000).thin(5);
    let whole = sampler.clone().run().unwrap();
    let since = Instant::now();
    let early = sampler
        .clone()
        .draws(20_000)
        .seconds(whole.seconds().choice + whole.seconds().draws / 4.0)
        .run()
        .unwrap();
    let took = since.elapsed();
    let draws = early.draws();
    assert!(draws > 0 && draws < 20_000, "{draws} draws in {took:?}");
    assert!(early.report().stopped.as_deref().unwrap().contains("its time was over"));
    for chain in 0..early.chains() {
        assert_eq!(early.energies(chain), whole.energies(chain)[..draws]);
        assert!((0..draws).all(|draw| early.words(chain, draw) == whole.words(chain, draw)));
    }
}

#[test]
fn a_run_ends_soon_after_its_time() {
    let model = glass(60);
    for seconds in [0.0, 0.5] {
        let since = Instant::now();
        let samples = model.sampler().draws(100_000_000).seconds(seconds).run().unwrap();
        let took = since.elapsed();
        assert!(took < Duration::from_secs_f64(seconds + 3.0), "{took:?} for {seconds} s");
        assert!(samples.report().stopped.is_some());
    }
}

#[test]
fn a_run_that_is_cancelled_gives_what_there_is() {
    let model = glass(16);
    let cancel = Cancel::new();
    let samples = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let sampler =
                model.sampler().with(Choice::Exactly(bitmc_desktop::Plan::Gibbs)).draws(100_000_000).warmup(10);
            sampler.cancel(&cancel).run().unwrap()
        });
        std::thread::sleep(Duration::from_millis(400));
        cancel.cancel();
        run.join().unwrap()
    });
    assert!(samples.draws() > 0 && samples.draws() < 100_000_000);
    assert!(samples.report().stopped.as_deref().unwrap().contains("cancelled"));
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (glass, weights) =
        (glass(8), (0..12 * 40).map(|k| ((k * 37 % 19) as f32 - 9.0) / 20.0).collect::<Vec<_>>());
    let rbm = Model::rbm(&weights, &[0.1; 12], &[-0.2; 40]).unwrap();
    let samplers = ["auto", "gibbs", "langevin", "gwg", "exchange", "isoenergetic"].map(|name| (&glass, name));
    for (number, (model, sampler)) in samplers.into_iter().chain([(&rbm, "cyclical")]).enumerate() {
        let path = folder.path().join(format!("run {number}"));
        let choice: Choice = sampler.parse().unwrap();
        let settings = model.sampler().with(choice).chains(5).draws(3000);
        let whole = settings.clone().run().unwrap();
        // The first part ends by its time, and is kept.
        let clock = whole.seconds();
        let part = settings
            .clone()
            .checkpoint(&path)
            .seconds(clock.choice + clock.warmup + clock.draws / 3.0)
            .run()
            .unwrap();
        if part.draws() == 0 || part.draws() == 3000 {
            continue; // The machine was too busy to stop in between.
        }
        let rest = settings.clone().checkpoint(&path).run().unwrap();
        assert_eq!(bytes(&whole).0, bytes(&rest).0, "{sampler}");
        assert_eq!(bytes(&whole).1, bytes(&rest).1, "{sampler}");
        let other = settings.clone().seed(9).checkpoint(&path).run().unwrap_err().to_string();
        assert!(other.contains("the run had other settings: seed 1, not seed 9"), "{other}");
        let mut damaged = std::fs::read(&path).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let error = settings.clone().checkpoint(&path).run().unwrap_err().to_string();
        assert!(error.contains("it is damaged"), "{error}");
    }
}

#[test]
fn a_checkpoint_that_was_edited_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, model) = (folder.path().join("run"), glass(8));
    let settings = model.sampler().with("gibbs".parse().unwrap()).chains(5).draws(50).checkpoint(&path);
    let whole = settings.run().unwrap();
    let kept = std::fs::read(&path).unwrap();
    assert_eq!(bytes(&settings.run().unwrap()), bytes(&whole));
    let refused = |bytes: &[u8], why: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = settings.run().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let end = |bytes: &[u8]| bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let first = end(&kept);
    let second = first + end(&kept[first..]);
    let head = String::from_utf8(kept[first..second].to_vec()).unwrap();
    for (field, values) in [
        (
            "\"draws\":50",
            &["\"draws\":18446744073709551615", "\"draws\":99", "\"draws\":49", "\"draws\":0"][..],
        ),
        ("\"chains\":5", &["\"chains\":200", "\"chains\":1", "\"chains\":0"]),
        ("\"snapshots\":", &["\"snapshots\":1", "\"snapshots\":9999999999"]),
        ("\"past\":0", &["\"past\":2"]),
        ("\"faults\":0", &["\"faults\":7"]),
    ] {
        assert!(head.contains(field), "{head}");
        for value in values {
            let rest = [head.replace(field, value).as_bytes(), &kept[second..]].concat();
            refused(&[&kept[..first], &rest[..]].concat(), "it is damaged");
            // Edited with its hash (FNV-1a), sizes are still to fit.
            let hash = rest.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
            });
            if field != "\"faults\":0" {
                let first = format!("bitmc checkpoint 3 {hash:016x}\n");
                refused(&[first.as_bytes(), &rest[..]].concat(), "it is damaged");
            }
        }
    }
    refused(&kept[first..], "the format of an older version");
    refused(b"bitmc checkpoint 2 0", "the format of an older version");
    refused(b"", "its first line is not a checkpoint's");
    refused(&kept[..kept.len() - 4], "it is damaged");
}

#[test]
fn a_run_with_an_infinite_step_size_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let model = glass(4);
    for (name, plan) in [
        ("balanced", Plan::Balanced { step_size: f32::INFINITY, balance: 0.5 }),
        ("cyclical", Plan::Cyclical { positions: vec![(f32::INFINITY, 0.5), (0.2, 0.6)] }),
    ] {
        let settings = model.sampler().with(Choice::Exactly(plan.clone())).chains(2).draws(20);
        let settings = settings.checkpoint(folder.path().join(name));
        let whole = settings.run().unwrap();
        let again = settings.run().unwrap();
        assert_eq!(again.report().sampler, plan);
        assert_eq!(bytes(&whole), bytes(&again));
    }
    let json = serde_json::to_string(&Plan::Balanced { step_size: 0.2, balance: 0.5 }).unwrap();
    assert_eq!(json, r#"{"balanced":{"step_size":0.2,"balance":0.5}}"#);
}

#[test]
fn illegal_settings_are_named() {
    let model = glass(4);
    let said = |sampler: bitmc_desktop::Sampler<'_>| sampler.run().unwrap_err().to_string();
    assert_eq!(said(model.sampler().chains(0)), "chains, draws and thin: at least 1 of each is needed");
    assert_eq!(said(model.sampler().temperature(0.0)), "temperature 0: a finite number above 0 is needed");
    assert_eq!(said(model.sampler().seconds(f64::NAN)), "seconds: a number from 0 is needed");
    let block = model.sampler().with("block-gibbs".parse().unwrap());
    assert_eq!(said(block), "block Gibbs: only an RBM at temperature 1 has it");
    assert!("gibs".parse::<Choice>().unwrap_err().to_string().starts_with("sampler \"gibs\": auto, gibbs,"));
    assert!("langevin:x".parse::<Choice>().is_err());
    let error = model.annealer().sweeps(0).run().unwrap_err().to_string();
    assert_eq!(error, "sweeps: at least 1 is needed");
}

/// Chains that begin far away keep the rounding of large energies in the small ones that follow: draws must not, without a
/// warm-up, or where it ends far away.
#[test]
fn energies_after_a_short_warm_up_are_those_of_the_states() {
    // One site a step: the warm-up ends where energies are 10⁷ times as large as later.
    let (sites, centre) = (100, 6000.3);
    let model = Model::gaussian(8192, &[], &vec![1.0; sites], &vec![centre as f32; sites]).unwrap();
    let sampler = model.sampler().with("locally-balanced".parse().unwrap()).warmup(1).chains(2).draws(300);
    let samples = sampler.run().unwrap();
    let exact = |words: &[u32]| -> f64 {
        let values = (0..sites).map(|site| f64::from(words[site / 2] >> (16 * (site % 2)) & 0xffff));
        values.map(|value| 0.5 * (value - centre).powi(2)).sum()
    };
    for chain in 0..2 {
        for (draw, &energy) in samples.energies(chain).iter().enumerate().skip(256) {
            let right = exact(samples.words(chain, draw));
            assert!((energy - right).abs() < 0.01 * right, "chain {chain}, draw {draw}: {energy}, not {right}");
        }
    }
}

#[test]
fn energies_without_a_warm_up_are_those_of_the_states() {
    let centre = [30_000.0f32, 40_000.0, 20_000.0];
    let edges = [(0, 1, 0.5f32), (1, 2, -0.25)];
    let diagonal = [1.0f32, 1.5, 2.0];
    let model = Model::gaussian(65_536, &edges, &diagonal, &centre).unwrap();
    let samples = model.sampler().with("gibbs".parse().unwrap()).warmup(0).chains(8).draws(300).run().unwrap();
    let exact = |words: &[u32]| -> f64 {
        let x: Vec<f64> = (0..3)
            .map(|site| {
                let value = words[site / 2] >> (16 * (site % 2)) & 0xffff;
                f64::from(value) - f64::from(centre[site])
            })
            .collect();
        let squares: f64 = (0..3).map(|site| 0.5 * f64::from(diagonal[site]) * x[site] * x[site]).sum();
        squares + edges.iter().map(|&(a, b, w)| f64::from(w) * x[a as usize] * x[b as usize]).sum::<f64>()
    };
    for chain in 0..8 {
        for (draw, &energy) in samples.energies(chain).iter().enumerate().skip(128) {
            let right = exact(samples.words(chain, draw));
            assert!(
                (energy - right).abs() <= 0.05 * (1.0 + right),
                "chain {chain}, draw {draw}: {energy}, not {right}"
            );
        }
    }
}

#[test]
fn a_run_of_long_draws_goes_on_from_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (path, model) = (folder.path().join("run"), glass(8));
    // 200,000 steps of 64 sites: a draw is stopped within.
    let settings =
        model.sampler().with("gibbs".parse().unwrap()).chains(3).thin(200_000).draws(4).warmup(300_000);
    let whole = settings.run().unwrap();
    let (mut in_warmup, mut between) = (0, 0);
    let rest =
        (0..1000).map(|_| settings.clone().checkpoint(&path).seconds(0.03).run().unwrap()).find(|part| {
            let stopped = part.report().stopped.as_deref().unwrap_or_default();
            in_warmup += usize::from(stopped.contains("in the warm-up, which is kept"));
            between += usize::from(part.draws() > 0 && part.draws() < 4);
            stopped.is_empty()
        });
    assert_eq!(bytes(&whole), bytes(&rest.expect("the run ends")));
    assert!(in_warmup > 0 && between > 3, "it was stopped {in_warmup} times and {between} times");
}

/// `E = strength · Σx`; more ones than `most` are forbidden.
struct Field {
    strength: f32,
    most: usize,
}

impl Function for Field {
    fn layout(&self) -> Layout {
        Layout::binary(12)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        if x.ones() > self.most { f32::INFINITY } else { self.strength * x.ones() as f32 }
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        self.strength
    }
}

#[test]
fn a_checkpoint_of_another_energy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = |strength, most| Model::own(Plain(Field { strength, most }));
    let (first, same) = (model(0.3, 12), model(0.3 * (1.0 + 1e-6), 12));
    for (name, warmup, draws, stopped) in
        [("finished", 10, 50, false), ("warming", 1 << 40, 50, true), ("drawing", 10, 1 << 30, true)]
    {
        let path = folder.path().join(name);
        let run = |model: &Model| {
            let sampler = model.sampler().with("gibbs".parse().unwrap()).chains(4).warmup(warmup).draws(draws);
            let sampler = sampler.checkpoint(&path);
            if stopped { sampler.seconds(0.1) } else { sampler }.run()
        };
        let drawn = run(&first).unwrap().draws();
        // Rounding is no other energy.
        assert!(run(&same).unwrap().draws() >= drawn, "{name}");
        for other in [model(0.6, 12), model(0.301, 12)] {
            let error = run(&other).unwrap_err().to_string();
            assert!(error.contains("the run had another energy"), "{name}: {error}");
        }
        // Where a chain is at a forbidden state, the chain itself says so.
        assert!(run(&model(0.3, 5)).unwrap_err().to_string().contains("energy"), "{name}");
        assert!(run(&first).unwrap().draws() >= drawn, "{name}");
    }
}

/// An energy of one's own that counts its whole gradients.
struct Counted(Arc<AtomicU64>);

impl Function for Counted {
    fn layout(&self) -> Layout {
        Layout::binary(12)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        0.3 * x.ones() as f32
    }

    fn gradient(&self, _: Packed<'_>, site: usize) -> f32 {
        if site == 0 {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        0.3
    }
}

/// Steps whose parameters change take one gradient each. Energies are computed anew at draws 128, 256, 512 and 1,024, and the
/// gradient behind it too.
#[test]
fn a_step_takes_one_gradient() {
    let count = |plan: Plan, draws| {
        let gradients = Arc::new(AtomicU64::new(0));
        let model = Model::own(Plain(Counted(gradients.clone())));
        model.sampler().with(Choice::Exactly(plan)).chains(2).warmup(1).draws(draws).run().unwrap();
        gradients.load(Ordering::Relaxed)
    };
    let positions = vec![(1.0, 0.6), (0.5, 0.55), (0.2, 0.5)];
    let second = |momentum| Plan::SecondOrder { momentum };
    for plan in [Plan::Cyclical { positions }, second(0.0), second(0.5)] {
        let more = count(plan.clone(), 1100) - count(plan.clone(), 100);
        assert_eq!(more, 2 * (1000 + 4), "{plan}");
    }
}
