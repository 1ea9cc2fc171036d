//! Snapshots that are refused: torn, altered, forged, of another version or of something else.

use bitmc::batch::{Batch, BatchSite};
use bitmc::energy::Tempered;
use bitmc::learn::Replay;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
use bitmc::snapshot::{FRAME, Reader, Same, Snapshot, SnapshotError, VERSION};
use bitmc::stats::{Acceptance, BatchMeans, Every, Means, Observer};
use bitmc::step::{
    EnumeratedGibbs, Gibbs, HammingBall, IsingBalanced, IsingLangevin, RandomWalk, SequentialGibbs, Swap,
};
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{
    BlockGibbs, Chain, ChainError, Energy, GibbsWithGradients, Kernel, Kind, LaneRng, Langevin, Layout,
    LocallyBalanced, Packed, PathAuxiliary, Plain, Rng, SeedableRng, StateError,
};
use bitmc_host_tests::heap::{self, Couplings, HeapChain, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::snapshot::{crc32, flipped, load, save, sealed};
use bitmc_host_tests::used;
use rand_xoshiro::Xoshiro128PlusPlus;

fn pairwise() -> (bitmc_host_tests::naive::Pairwise, Couplings) {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 11);
    let couplings = model.couplings();
    (model, couplings)
}

/// A chain, its generator, a tuner, a ladder and statistics: over 10,000 bits.
fn many() -> (Vec<u8>, Vec<u8>) {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(6);
    let mut chain = heap::random_chain(&ising, &mut rng).unwrap();
    let mut tuner = CycleTuner::new([Trial::default(); 8], CycleSettings::default()).unwrap();
    let mut means = (Means::new([0; 70]), BatchMeans::<32>::new());
    for _ in 0..200 {
        let info = chain.step(&tuner.kernel().unwrap(), &mut rng);
        tuner.observe(&info);
        means.observe(chain.state(), chain.energy(), &info);
    }
    let ladder = Ladder::new([Rung::default(); 4], &[0.1, 0.2, 0.5, 1.0]).unwrap();
    (
        save(&[&chain, &rng, &tuner, &ladder, &means]),
        chain.state().words().iter().flat_map(|w| w.to_le_bytes()).collect(),
    )
}

/// Loads everything of [`many`], and shows that what was loaded works.
fn load_many(bytes: &[u8]) -> Result<Vec<u8>, SnapshotError> {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(7);
    let mut chain: HeapChain<'_, _> = heap::random_chain(&ising, &mut rng).unwrap();
    let mut tuner = CycleTuner::new([Trial::default(); 8], CycleSettings::default()).unwrap();
    let mut means = (Means::new([0; 70]), BatchMeans::<32>::new());
    let mut ladder = Ladder::new([Rung::default(); 4], &[0.1, 0.2, 0.5, 1.0]).unwrap();
    let loaded = load(bytes, &mut [&mut chain, &mut rng, &mut tuner, &mut ladder, &mut means]);
    let state = chain.state().words().iter().flat_map(|word| word.to_le_bytes()).collect();
    // Whatever happened: no step panics, and every state is one.
    for _ in 0..3 {
        let info = chain.step(&tuner.kernel().unwrap_or(Langevin::adjusted(0.3).unwrap()), &mut rng);
        tuner.observe(&info);
        means.observe(chain.state(), chain.energy(), &info);
        ladder.exchange(|_| 0.5, &mut rng);
        assert!(Packed::new(ising.layout(), chain.state().words()).is_ok());
    }
    loaded.map(|()| state)
}

#[test]
fn every_flipped_bit_is_refused() {
    let (bytes, state) = many();
    assert_eq!(load_many(&bytes), Ok(state.clone()));
    let bits = 8 * bytes.len();
    assert!(bits > 10_000, "{bits}");
    let refused = (0..bits).filter(|&bit| load_many(&flipped(&bytes, bit)).is_err()).count();
    assert_eq!(refused, bits);
    // Two bits at once, anywhere.
    let mut rng = LaneRng::seed_from_u64(8);
    for _ in 0..10_000 {
        let (a, b) = (rng.next_u32() as usize % bits, rng.next_u32() as usize % bits);
        assert!(a == b || load_many(&flipped(&flipped(&bytes, a), b)).is_err());
    }
    // The broken variant: a checksum that goes along with the flip. Nothing panics, and hundreds of flips pass.
    let passed = (96..bits - 32).filter(|&bit| load_many(&sealed(flipped(&bytes, bit))).is_ok()).count();
    assert!(passed > 5_000, "{passed} of {bits} flips pass without a checksum");
}

#[test]
fn torn_and_foreign_bytes_are_refused() {
    let (bytes, _) = many();
    for end in 0..bytes.len() {
        let error = load_many(&bytes[..end]).unwrap_err();
        assert!(matches!(error, SnapshotError::Torn { got, .. } if got == end), "{end}: {error}");
    }
    // More bytes after the end, as on a page of flash, are not looked at.
    assert!(load_many(&[&bytes[..], &[0xFF; 100]].concat()).is_ok());
    assert_eq!(load_many(&[0xFF; 64]), Err(SnapshotError::NoSnapshot));
    assert_eq!(load_many(&[0; 64]), Err(SnapshotError::NoSnapshot));
    for version in [0, VERSION + 1, u32::MAX] {
        let mut other = bytes.clone();
        other[4..8].copy_from_slice(&version.to_le_bytes());
        assert_eq!(load_many(&sealed(other)), Err(SnapshotError::Version { got: version }));
    }
    assert_eq!(sealed(bytes.clone()), bytes, "the checksum is CRC-32");
}

#[test]
fn forged_bytes_do_no_harm() {
    // Right checksums over random contents, and over real ones with random bytes in them.
    let (bytes, _) = many();
    let mut rng = LaneRng::seed_from_u64(9);
    for round in 0..4000 {
        let mut forged = bytes.clone();
        for _ in 0..=round % 40 {
            let at = 12 + rng.next_u32() as usize % (bytes.len() - FRAME);
            forged[at] = [rng.next_u32() as u8, 0, 0xFF][rng.next_u32() as usize % 3];
        }
        let _ = load_many(&sealed(forged));
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(10);
    let mut chain = heap::random_chain(&ising, &mut rng).unwrap();
    let (small, mut memory) = (models::pairwise(Convention::SpinsEdgesOnce, 69, 0.1, 0.3, 11), pairwise().1);
    let other = memory.ising(&small).unwrap();
    let other = heap::random_chain(&other, &mut rng).unwrap();
    let before = save(&[&chain]);
    let (need, got) = (chain.model().layout(), other.model().layout());
    let error = load(&save(&[&other]), &mut [&mut chain]).unwrap_err();
    assert_eq!(error, SnapshotError::Layout { need, got });
    assert_eq!(error.to_string(), "the snapshot has 69 binary sites: 70 binary sites are needed");
    let wrong = load(&save(&[&rng]), &mut [&mut chain]);
    assert_eq!(wrong, Err(SnapshotError::Part { need: *b"chai", got: *b"lane" }));
    assert_eq!(wrong.unwrap_err().to_string(), "the next part is lane where chai is needed");
    assert_eq!(load(&save(&[]), &mut [&mut chain]), Err(SnapshotError::Part { need: *b"chai", got: [0; 4] }));
    assert!(matches!(load(&save(&[&chain, &rng]), &mut [&mut chain]), Err(SnapshotError::Rest { bytes: 352 })));
    assert_eq!(load(&save(&[&Same(1)]), &mut [&mut Same(2)]), Err(SnapshotError::Other));
    let mut means = Means::new([0; 70]);
    let short = load(&save(&[&Means::new([0; 69])]), &mut [&mut means]);
    assert_eq!(short, Err(SnapshotError::Length { need: 70, got: 69 }));
    // A state with a bit past its last site: the chain stays where it was.
    let mut bytes = save(&[&chain]);
    let last = FRAME - 4 + 33 + 11;
    bytes[last] |= 0x80;
    let padded = load(&sealed(bytes), &mut [&mut chain]);
    assert_eq!(padded, Err(SnapshotError::Chain(ChainError::State(StateError::Padding))));
    assert_eq!(save(&[&chain]), before);
    // A dead generator.
    let mut bytes = save(&[&Xoshiro128PlusPlus::seed_from_u64(1)]);
    bytes[16..32].fill(0);
    let mut generator = Xoshiro128PlusPlus::seed_from_u64(2);
    assert_eq!(load(&sealed(bytes), &mut [&mut generator]), Err(SnapshotError::Value));
    assert_eq!(generator, Xoshiro128PlusPlus::seed_from_u64(2));
}

/// As many words are not yet the same sites.
#[test]
fn states_of_another_layout_in_as_many_words_are_refused() {
    let layouts = [Layout::binary(20), Layout::binary(25), Layout::ordinal(8, 16), Layout::categorical(8, 16)];
    for need in layouts {
        for got in layouts {
            let (mut words, mut other) = ([0b1010], [0]);
            let bytes = save(&[&Replay::new(got, &mut words).unwrap()]);
            let mut replay = Replay::new(need, &mut other).unwrap();
            let right = if need == got { Ok(()) } else { Err(SnapshotError::Layout { need, got }) };
            assert_eq!(load(&bytes, &mut [&mut replay]), right);
            assert_eq!(replay.words(), if need == got { [0b1010] } else { [0] });
        }
    }
    let model = |sites| QuantisedIsing::from_rows(&[0; 25][..sites], &[], &[7; 25][..sites]).unwrap();
    let (mut words, mut fields, mut other, mut room) = ([0b1010], [0; 25], [0], [0; 25]);
    let bytes = save(&[&QuantisedGibbs::new(model(20), &mut words, &mut fields).unwrap()]);
    let mut chain = QuantisedGibbs::new(model(25), &mut other, &mut room).unwrap();
    let [got, need, ..] = layouts;
    assert_eq!(load(&bytes, &mut [&mut chain]), Err(SnapshotError::Layout { need, got }));
    assert_eq!(chain.state().words(), [0]);
}

/// Energies that are no numbers would stay so for ever; an inverse temperature below 0 stands on no ladder.
#[test]
fn numbers_that_no_run_reaches_are_refused() {
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(12);
    fn refuses<T: Snapshot>(mut it: T, floats: impl IntoIterator<Item = usize>, bad: &[f32]) {
        let bytes = save(&[&it]);
        for at in floats {
            for value in bad {
                let mut forged = bytes.clone();
                forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
                assert_eq!(load(&sealed(forged), &mut [&mut it]), Err(SnapshotError::Value), "{value} at {at}");
                assert!(save(&[&it]) == bytes);
            }
        }
    }
    let no_numbers = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let head = FRAME - 4 + 4;
    let chain = heap::random_chain(&ising, &mut rng).unwrap();
    refuses(chain, [head + 9, head + 13], &no_numbers);
    let path = Tempered::new(&ising, 0.5).unwrap();
    let replica = Replica::random(path, heap::memory(&path), &mut rng).unwrap();
    refuses(replica, (0..5).map(|number| head + 4 * number), &no_numbers);
    let batch = Batch::random(&ising, vec![BatchSite::new(); 70], &mut rng).unwrap();
    refuses(batch, (0..48).map(|number| head + 16 + 4 * number), &no_numbers);
    let ladder = Ladder::new([Rung::default(); 2], &[0.5, 1.0]).unwrap();
    refuses(ladder, [head + 24], &[-0.5, f32::NAN, f32::NEG_INFINITY]);
}

/// A ladder has each replica once, and more round trips than fit half a counter come from no ladder. As many swaps as a counter
/// holds are kept: the next changes no rate.
#[test]
fn counts_of_a_ladder_are_looked_at() {
    let new = || Ladder::new([Rung::default(); 3], &[0.0, 0.5, 1.0]).unwrap();
    let bytes = save(&[&new()]);
    let ladder = bytes.windows(4).position(|name| name == b"ladd").unwrap();
    let first = bytes.windows(8).position(|start| start == [0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(first, ladder + 4, "rounds, then round trips");
    let trips = |trips: u64| {
        let mut bytes = bytes.clone();
        bytes[ladder + 12..ladder + 20].copy_from_slice(&trips.to_le_bytes());
        load(&sealed(bytes), &mut [&mut new()])
    };
    assert_eq!((trips(u64::MAX / 2), trips(u64::MAX / 2 + 1)), (Ok(()), Err(SnapshotError::Value)));
    // Behind the last β is the last rung's replica.
    let last = bytes.windows(4).rposition(|number| number == 1f32.to_le_bytes()).unwrap() + 4;
    let replica = |number: u32| {
        let mut bytes = bytes.clone();
        assert_eq!(bytes[last..last + 4], 2u32.to_le_bytes());
        bytes[last..last + 4].copy_from_slice(&number.to_le_bytes());
        load(&sealed(bytes), &mut [&mut new()])
    };
    assert_eq!(
        [2, 1, 3, 4].map(replica),
        [Ok(()), Err(SnapshotError::Value), Err(SnapshotError::Value), Err(SnapshotError::Value)]
    );
    // The first rung's counter of swaps, behind its replica and where that came from.
    let mut bytes = bytes.clone();
    let second = bytes.windows(4).position(|number| number == 0.5f32.to_le_bytes()).unwrap();
    let rung = last - 4 - second;
    let tried = second - rung + 9;
    bytes[tried..tried + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut full = new();
    load(&sealed(bytes), &mut [&mut full]).unwrap();
    assert_eq!(full.rungs()[0].rate(), Some(0.0));
    full.exchange_by(|_, _| 0.0, &mut LaneRng::seed_from_u64(1));
    assert_eq!(full.rungs()[0].rate(), Some(0.0));
}

/// No tuner tries a step size that is negative, none or out of its bounds, nor finds a rate that is none; and no sum of
/// probabilities is negative or above their number.
#[test]
fn what_no_tuner_tries_is_refused() {
    let settings = CycleSettings { steps: 8, rounds: 6, ..CycleSettings::default() };
    let mut tuner = CycleTuner::new([Trial::default(); 4], settings).unwrap();
    let (model, mut couplings) = pairwise();
    let ising = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(12);
    let mut chain = heap::random_chain(&ising, &mut rng).unwrap();
    let mut checked = 0;
    for step in 0..400 {
        tuner.observe(&chain.step(&tuner.kernel().unwrap(), &mut rng));
        if step % 37 != 0 {
            continue;
        }
        let bytes = save(&[&tuner]);
        assert_eq!(load(&bytes, &mut [&mut tuner]), Ok(()));
        let places = |name: &[u8; 4]| -> Vec<usize> {
            bytes.windows(4).enumerate().filter(|(_, window)| window == name).map(|(at, _)| at + 4).collect()
        };
        let trials = places(b"tria");
        assert!(trials.len() >= 6, "four positions and two ends");
        let bad = [
            (0, [-9e-39, 0.0, -1.0, f32::NAN, f32::INFINITY, 0.04, 60.5]),
            (4, [-9e-39, 0.0, -1.0, f32::NAN, f32::INFINITY, 1.25, -0.5]),
            (8, [-9e-39, -0.25, -1.0, f32::NAN, f32::INFINITY, 1.25, -0.5]),
            (12, [-9e-39, -0.25, -1.0, f32::NAN, f32::INFINITY, 1.25, -0.5]),
        ];
        let forged = trials.iter().flat_map(|&at| bad.map(|(place, values)| (at + place, values)));
        let sums = [8, 20, 32, 36].map(|place| {
            (places(b"rate")[0] + place, [f32::NAN, -1.0, -1e-9, -9e-39, f32::INFINITY, 3e7, f32::MIN])
        });
        // What is behind the last digit of a sum may have either sign.
        let rests = [12, 24].map(|place| {
            (
                places(b"rate")[0] + place,
                [f32::NAN, -1e6, -9e9, f32::NEG_INFINITY, f32::INFINITY, 3e7, f32::MIN],
            )
        });
        for (at, values) in forged.chain(sums).chain(rests) {
            for value in values {
                let mut forged = bytes.clone();
                forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
                assert_eq!(
                    load(&sealed(forged), &mut [&mut tuner]),
                    Err(SnapshotError::Value),
                    "{value} at {at}"
                );
                assert!(save(&[&tuner]) == bytes);
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

/// A number that may be missing: it stays where what should follow is torn or illegal.
#[test]
fn what_may_be_missing_is_kept_where_it_is_refused() {
    for bytes in [save(&[&true, &7u8]), save(&[&true]), save(&[&2u8])] {
        let mut number = Some(5u32);
        assert!(load(&bytes, &mut [&mut number]).is_err());
        assert_eq!(number, Some(5));
    }
    for there in [None, Some(9u32)] {
        let mut number = Some(5u32);
        assert_eq!(load(&save(&[&there]), &mut [&mut number]), Ok(()));
        assert_eq!(number, there);
    }
}

/// Version 1 stays what it is: bytes that were written once are read for ever.
#[test]
fn the_layout_is_pinned() {
    let seen = Acceptance { steps: 5, accepted: 4, proposed_flips: 300, accepted_flips: 7, faults: 1 };
    let bytes = save(&[&seen]);
    let expected = [
        &b"bmcs"[..],
        &[1, 0, 0, 0, 44, 0, 0, 0],
        b"acce",
        &[5, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0, 0, 0, 0, 0],
        &[7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        &crc32(&bytes[..56]).to_le_bytes(),
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926); // the check value of CRC-32
    let (bytes, _) = many();
    assert_eq!((bytes.len(), crc32(&bytes[..bytes.len() - 4])), (1511, 2359147091));
}

/// Chains of other energies start elsewhere, so a snapshot is refused where its state is forbidden.
#[test]
fn a_forbidden_state_is_refused() {
    let walls = Plain(bitmc_chains::models::IndependentSet);
    let free = models::pairwise(Convention::BitsEdgesOnce, 40, 0.1, 0.3, 11);
    let mut couplings = free.couplings();
    let ising = couplings.ising(&free).unwrap();
    let full =
        Chain::new(&ising, heap::memory(&ising), Packed::new(ising.layout(), &[!0, 0xFF]).unwrap()).unwrap();
    let mut chain = heap::chain(&walls, &[0, 0]).unwrap();
    let refused = load(&save(&[&full]), &mut [&mut chain]).unwrap_err();
    assert!(matches!(refused, SnapshotError::Chain(ChainError::Energy(_))), "{refused}");
    assert_eq!(chain.state().words(), [0, 0]);
}

/// Steps of every kernel after a refusal are those of a chain that was shown nothing.
#[test]
fn a_refused_state_leaves_no_trace() {
    fn compare<E: Energy, K: Kernel<E>>(energy: &E, kernel: &K, what: &str) -> u32 {
        let layout = energy.layout();
        let start = |seed| {
            let mut rng = LaneRng::seed_from_u64(seed);
            (heap::random_chain(energy, &mut rng).unwrap(), rng)
        };
        let ((mut here, mut rng), (mut there, mut again)) = (start(1), start(1));
        let bytes = save(&[&start(2).0]);
        let first = FRAME - 4 + 33;
        let mut refused = 0;
        for step in 0..40 {
            let mut forged = bytes.clone();
            let last = first + 4 * layout.words() - 4;
            match step % 3 {
                // All bits past the last site, a mask that is none, an energy that is none.
                0 => forged[last..last + 4].copy_from_slice(&(!0u32 << (31 - step % 8)).to_le_bytes()),
                1 => forged[last + 4..last + 8].copy_from_slice(&0xFFFF_FFFEu32.to_le_bytes()),
                _ => forged[first - 20..first - 16].fill(0xFF),
            }
            let forged = sealed(forged);
            match load(&forged, &mut [&mut here]) {
                Ok(()) => load(&forged, &mut [&mut there]).unwrap(),
                Err(_) => refused += 1,
            }
            let infos = (here.step(kernel, &mut rng), there.step(kernel, &mut again));
            assert_eq!(infos.0, infos.1, "{what}: step {step}");
            assert!(Packed::new(layout, here.state().words()).is_ok(), "{what}: step {step}");
            assert!(save(&[&here, &rng]) == save(&[&there, &again]), "{what}: step {step}");
        }
        refused
    }
    fn each<E: Energy>(energy: &E, what: &str) {
        let layout = energy.layout();
        let mut refused = compare(energy, &Langevin::adjusted(0.7).unwrap(), what);
        refused += compare(energy, &Langevin::unadjusted(0.3).unwrap(), what);
        refused += compare(energy, &Gibbs::systematic(), what);
        refused += compare(energy, &Gibbs::random(2).unwrap(), what);
        refused += compare(energy, &RandomWalk::new(1.5).unwrap(), what);
        refused += compare(energy, &Swap, what);
        if !layout.many_values() {
            refused += compare(energy, &GibbsWithGradients::new(2).unwrap(), what);
            refused += compare(energy, &PathAuxiliary::new(2).unwrap(), what);
            refused += compare(energy, &LocallyBalanced, what);
            refused += compare(energy, &EnumeratedGibbs::new(layout, 2).unwrap(), what);
            refused += compare(energy, &HammingBall::new(layout, 2, 1).unwrap(), what);
        }
        assert!(refused > 60, "{what}: {refused} were refused");
    }
    for sites in [3, 9, 17, 33, 40] {
        let (model, what) =
            (models::pairwise(Convention::SpinsEdgesOnce, sites, 0.4, 0.3, 11), format!("{sites} bits"));
        let mut couplings = model.couplings();
        let ising = couplings.ising(&model).unwrap();
        each(&ising, &what);
        compare(&ising, &IsingLangevin::adjusted(0.5).unwrap(), &what);
        compare(&ising, &SequentialGibbs, &what);
        let mut d = used::memory(Edgewise::blocks(sites));
        let noise = Edgewise::new(SparseMatrix::of(ising.form()), &mut d).unwrap();
        compare(&ising, &IsingBalanced::new(noise, 2.0, 0.8).unwrap(), &what);
        compare(&ising, &Langevin::second_order(noise, 2.0, 0.8).unwrap(), &what);
        let machine = models::machine(sites, 5, 0.5, 3);
        let weights = Weights::new(&machine).unwrap();
        compare(&weights.rbm().unwrap(), &BlockGibbs, &what);
    }
    for arities in [&[3u16, 3, 3, 2, 3][..], &[5, 5, 2], &[17, 20], &[70, 66, 70], &[300, 280, 300]] {
        for kind in [Kind::Categorical, Kind::Ordinal] {
            let tables = Tables::new(kind, arities, 0.5, 3);
            each(&Plain(Own(&tables)), &format!("{kind:?} {arities:?}"));
        }
    }
}

#[test]
fn torn_bytes_say_how_many_there_should_be() {
    let bytes = save(&[&Same(7), &Same(8)]);
    for got in 0..bytes.len() {
        // The length is known behind the header alone.
        let need = if got < 12 { FRAME } else { bytes.len() };
        assert_eq!(Reader::new(&bytes[..got]).err(), Some(SnapshotError::Torn { need, got }));
    }
    for got in 0..FRAME {
        assert_eq!(Reader::new(&vec![0; got]).err(), Some(SnapshotError::Torn { need: FRAME, got }));
    }
    assert_eq!(Reader::new(&[0; FRAME]).err(), Some(SnapshotError::NoSnapshot));
}

#[test]
fn thinning_that_waits_for_nothing_is_refused() {
    let kept = Every::new(3, Acceptance::new());
    let mut bytes = save(&[&kept]);
    for (left, legal) in [(0, false), (1, true), (3, true), (4, false), (u64::MAX, false)] {
        // Behind the frame, the name and the period.
        bytes[24..32].copy_from_slice(&u64::to_le_bytes(left));
        let loaded = load(&sealed(bytes.clone()), &mut [&mut Every::new(3, Acceptance::new())]);
        assert_eq!(loaded, if legal { Ok(()) } else { Err(SnapshotError::Value) }, "{left}");
    }
}
