//! The channel plan that every processor makes: its hashes, and small offices beside enumeration.

use bitmc::energy::{Factor, Factors, FactorsBuffers, Tempered};
use bitmc::{Energy, Layout, Memory, Packed, State};
use bitmc_chains::plan::{CASES, CHANNELS, Heard, LEVELS, OVERLAP, SEARCH, Search, TABLES};
use bitmc_chains::plan::{case, measure, search, tables};

const SITES: usize = 4;
const LAYOUT: Layout = Layout::categorical(SITES, CHANNELS);
type Tables = [f32; LEVELS * CHANNELS * CHANNELS];

/// Measurements of four access points that all hear one another.
fn heard(place: u32) -> Vec<Heard> {
    let mut heard = Vec::new();
    // Those that are out of reach of each other are heard at level 2, so that the least harm is not 0.
    measure(SITES as u32, place, |one| heard.push(one));
    for (a, b) in (1..SITES as u32).flat_map(|b| (0..b).map(move |a| (a, b))) {
        if !heard.iter().any(|one| matches!(*one, Heard::Pair(c, d, _) if (c, d) == (a, b))) {
            heard.push(Heard::Pair(a, b, 2));
        }
    }
    heard.push(Heard::Other(1, 7 + place % 3, 3));
    heard
}

/// The harm of a plan: signals of 20 MHz, 5 MHz apart, share what is left of 20 MHz; in quarters.
fn harm(heard: &[Heard], plan: &[u32]) -> f64 {
    let shared = |a: u32, b: u32| (20.0 - 5.0 * (f64::from(a) - f64::from(b)).abs()).max(0.0) / 5.0;
    let each = heard.iter().map(|&one| match one {
        Heard::Pair(a, b, level) => f64::from(level) * shared(plan[a as usize], plan[b as usize]),
        Heard::Other(site, channel, level) => f64::from(level) * shared(plan[site as usize], channel),
    });
    each.sum()
}

fn plans() -> impl Iterator<Item = [u32; SITES]> {
    let channels = CHANNELS as u32;
    (0..channels.pow(SITES as u32)).map(move |mut number| {
        core::array::from_fn(|_| {
            let channel = number % channels;
            number /= channels;
            channel
        })
    })
}

/// Does something with the model of measurements.
fn with<T>(heard: &[Heard], tables: &Tables, act: impl FnOnce(&Factors<'_>) -> T) -> T {
    let factors: Vec<Factor> = heard.iter().map(|one| one.factor()).collect();
    let (mut ends, mut members) = ([0; SITES], vec![0; 2 * factors.len()]);
    let buffers = FactorsBuffers::new(&mut ends, &mut members);
    act(&Factors::new(&[CHANNELS as u16; SITES], &factors, tables, buffers).unwrap())
}

/// The best plan of a search, its harm, and the share of samples that have each access point there.
fn found(heard: &[Heard], tables: &Tables, how: &Search, seed: u64) -> (Vec<u32>, f64, Vec<f64>) {
    with(heard, tables, |model| {
        let memory = Memory {
            words: vec![0; Memory::words(LAYOUT)],
            cache: vec![[0; 16]; Memory::cache(Tempered::cache_len(model.cache_len()))],
            weights: vec![[0.0; 16]; Memory::weights(LAYOUT)],
        };
        let (mut words, mut counts) = ([0; LAYOUT.words()], [0; SITES * CHANNELS]);
        let plan = search(model, memory, (&mut words, &mut counts), how, seed, || ()).unwrap();
        let state = Packed::new(LAYOUT, plan.words).unwrap();
        let best = (0..SITES).map(|site| state.get(site)).collect();
        let shares = plan.counts.iter().map(|&count| f64::from(count) / f64::from(how.samples)).collect();
        (best, f64::from(plan.harm), shares)
    })
}

#[test]
fn every_case_has_its_hash_and_no_two_are_alike() {
    let hashes = CASES.map(|each| case(each, || (), |plan| plan.hash).unwrap());
    let wrong: Vec<_> = CASES.iter().zip(hashes).filter(|(each, hash)| each.3 != *hash).collect();
    assert!(wrong.is_empty(), "{wrong:x?}");
    // Negative controls: one measurement changed, and another seed.
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
    // The changed measurement makes the same difference each time.
    assert_eq!(case(CASES[1], || (), |plan| plan.hash), Some(hashes[1]));
}

/// Whether energies of the model, and the harm of the plan found by any of some seeds, are those of the enumeration.
fn optimal(heard: &[Heard], tables: &Tables) -> bool {
    let least = plans().map(|plan| harm(heard, &plan)).fold(f64::INFINITY, f64::min);
    let energies = with(heard, tables, |model| {
        let mut cache = vec![[0; 16]; model.cache_len()];
        plans().step_by(97).all(|plan| {
            let mut state = State::<{ LAYOUT.words() }>::zeros(LAYOUT).unwrap();
            (0..).zip(plan).for_each(|(site, channel)| state.set(site, channel).unwrap());
            f64::from(model.init(state.view(), &mut cache).unwrap()) == harm(heard, &plan)
        })
    });
    let how = Search { samples: 4, ..SEARCH };
    let best = (1..=4).map(|seed| found(heard, tables, &how, seed));
    let best = best.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    energies && best.1 == least && harm(heard, &best.0) == least
}

#[test]
fn annealing_finds_the_optimum_of_small_offices() {
    for place in 1..=6 {
        assert!(optimal(&heard(place), &TABLES), "place {place}");
    }
}

#[test]
fn a_wrong_overlap_is_seen() {
    for wrong in [&[4, 3, 2][..], &[4, 3, 2, 1, 1], &[4, 2, 2, 1], &[4, 3, 1, 1]] {
        for place in 1..=6 {
            assert!(!optimal(&heard(place), &tables(wrong)), "{wrong:?}, place {place}");
        }
    }
    assert!(optimal(&heard(1), &tables(&OVERLAP)));
}

/// The largest difference between the shares of samples and the marginals at a temperature.
fn off(heard: &[Heard], shares: &[f64], temperature: f64) -> f64 {
    let (mut marginals, mut z) = (vec![0.0; SITES * CHANNELS], 0.0);
    for plan in plans() {
        let weight = (-harm(heard, &plan) / temperature).exp();
        z += weight;
        for (site, &channel) in plan.iter().enumerate() {
            marginals[site * CHANNELS + channel as usize] += weight;
        }
    }
    marginals.iter().zip(shares).map(|(marginal, share)| (marginal / z - share).abs()).fold(0.0, f64::max)
}

#[test]
fn the_confidence_is_the_marginal_at_its_temperature() {
    let how = Search { samples: 40_000, ..SEARCH };
    let (mut worst, mut control) = (0.0f64, f64::INFINITY);
    for place in 1..=3 {
        let heard = heard(place);
        let (_, _, shares) = found(&heard, &TABLES, &how, 1);
        worst = worst.max(off(&heard, &shares, f64::from(how.at)));
        // Negative control: another temperature.
        control = control.min(off(&heard, &shares, 1.5 * f64::from(how.at)));
    }
    assert!(worst < 0.015 && control > 0.03, "off by {worst}, at another temperature {control}");
}
