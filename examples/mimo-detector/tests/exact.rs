//! The ratios against enumeration in f64. Deliberately broken variants must be refused.

use bitmc::{LaneRng, SeedableRng};
use bitmc_mimo_detector::{Detector, Effort, Frame, Modulation, Ratios, Rule, Seen, trial, trial::Trial};

/// Beyond it a ratio is as good as certain, and single precision has no more.
const CLIP: f64 = 20.0;

/// The ratios by the formula: a sum over all states, each with its |y − Hx|².
fn exact<const N: usize>(frame: &Frame<N>, noise: f64) -> [[f64; 2]; N] {
    let modulation = frame.modulation;
    let arity = modulation.arity() as u64;
    let mut energies = Vec::new();
    for state in 0..arity.pow(N as u32) {
        let k: [u32; N] = std::array::from_fn(|site| (state / arity.pow(site as u32) % arity) as u32);
        let distance = |(row, y): (&[f32; N], &f32)| {
            let x = |value| f64::from(modulation.amplitude(value));
            let clean: f64 = row.iter().zip(k).map(|(&h, k)| f64::from(h) * x(k)).sum();
            (f64::from(*y) - clean).powi(2)
        };
        energies.push((k, frame.channel.iter().zip(&frame.received).map(distance).sum::<f64>() / noise));
    }
    let least = energies.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    std::array::from_fn(|site| {
        std::array::from_fn(|bit| {
            let mut sums = [0.0; 2];
            for (k, energy) in &energies {
                sums[modulation.bits(k[site])[bit] as usize] += (least - energy).exp();
            }
            if bit < modulation.bits_a_site() { (sums[1].max(1e-300) / sums[0].max(1e-300)).ln() } else { 0.0 }
        })
    })
}

/// The root mean square of the differences of clipped ratios.
fn apart<const N: usize>(pairs: &[(Ratios<N>, [[f64; 2]; N])], bits: usize) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for (ours, exact) in pairs {
        for (ours, exact) in ours.iter().zip(exact).flat_map(|(a, b)| a.iter().zip(b).take(bits)) {
            sum += (f64::from(*ours).clamp(-CLIP, CLIP) - exact.clamp(-CLIP, CLIP)).powi(2);
            number += 1.0;
        }
    }
    f64::sqrt(sum / number)
}

/// So many random frames at a signal-to-noise ratio: the distance from the exact ratios, those with `wrong` times the
/// power of the noise told to the detector.
fn distance<const N: usize>(
    modulation: Modulation,
    decibels: f64,
    frames: u32,
    effort: &dyn Fn(Effort) -> Effort,
    wrong: f32,
) -> f64 {
    let noise = (N as f64 / 2.0 / 10f64.powf(decibels / 10.0)) as f32;
    let mut detector = Box::new(Detector::<N, 8192>::new());
    let pairs: Vec<_> = (0..frames)
        .map(|index| {
            let mut rng = LaneRng::stream(7, index);
            let (mut frame, _) = Frame::<N>::draw(modulation, noise, 0.0, &mut rng);
            let exact = exact(&frame, f64::from(noise));
            frame.noise *= wrong;
            let ours = detector.detect(&frame, &effort(Effort::new(modulation, noise)), &mut rng).unwrap();
            assert_eq!(detector.lost(), 0);
            (ours, exact)
        })
        .collect();
    apart(&pairs, modulation.bits_a_site())
}

#[test]
fn four_antennas_of_qpsk_have_the_exact_ratios() {
    let far = |decibels, wrong| distance::<8>(Modulation::Qpsk, decibels, 60, &|effort| effort, wrong);
    for decibels in [4.0, 10.0, 16.0] {
        let (right, wrong) = (far(decibels, 1.0), far(decibels, 2.0));
        println!("{decibels} dB: {right:.4}, with twice the noise {wrong:.4}");
        assert!(right < 0.05, "{decibels} dB: {right}");
        // The negative control: sigma squared wrong by 2.
        assert!(wrong > 0.5, "{decibels} dB: {wrong}");
    }
}

#[test]
fn four_antennas_of_16_qam_are_near_and_a_plain_chain_is_not() {
    let far = |effort: &dyn Fn(Effort) -> Effort| distance::<8>(Modulation::Qam16, 18.0, 40, effort, 1.0);
    let ours = far(&|effort| effort);
    let plain = |effort| Effort { temperature: 1.0, rule: Rule::Conditionals, from_mmse: false, ..effort };
    let stalled = far(&plain);
    println!("{ours:.3}, a plain chain {stalled:.3}");
    assert!(ours < 2.5, "{ours}");
    assert!(stalled > 5.0, "{stalled}");
}

#[test]
fn conditionals_agree_where_chains_mix() {
    let plain = |effort| Effort { sweeps: 400, temperature: 1.0, rule: Rule::Conditionals, ..effort };
    let right = distance::<8>(Modulation::Qpsk, 0.0, 20, &plain, 1.0);
    // The negative control: averaged at another temperature than 1.
    let hot =
        distance::<8>(Modulation::Qpsk, 0.0, 20, &|effort| Effort { temperature: 2.0, ..plain(effort) }, 1.0);
    println!("{right:.3}, hot {hot:.3}");
    assert!(right < 0.2, "{right}");
    assert!(hot > 0.5, "{hot}");
}

#[test]
fn a_detector_keeps_nothing_from_frame_to_frame() {
    let frame = |seed| Frame::<8>::draw(Modulation::Qam16, 0.1, 0.5, &mut LaneRng::seed_from_u64(seed)).0;
    let ratios = |detector: &mut Detector<8, 8192>, seed| {
        detector
            .detect(&frame(seed), &Effort::new(Modulation::Qam16, 0.1), &mut LaneRng::seed_from_u64(9))
            .unwrap()
    };
    let mut used = Box::new(Detector::new());
    let first = ratios(&mut used, 1);
    assert_ne!(first, ratios(&mut used, 2));
    assert_eq!(first, ratios(&mut used, 1));
}

#[test]
fn frames_that_are_no_model_are_refused() {
    let good = Frame::<8>::draw(Modulation::Qpsk, 0.1, 0.0, &mut LaneRng::seed_from_u64(1)).0;
    let mut detector = Box::new(Detector::<8, 512>::new());
    let mut fails = |frame: &Frame<8>| {
        detector.detect(frame, &Effort::new(Modulation::Qam16, 0.1), &mut LaneRng::seed_from_u64(1)).is_err()
    };
    assert!(!fails(&good));
    assert!(fails(&Frame { channel: [[0.0; 8]; 8], ..good }));
    assert!(fails(&Frame { channel: [[f32::NAN; 8]; 8], ..good }));
    assert!(fails(&Frame { received: [f32::INFINITY; 8], ..good }));
    assert!(fails(&Frame { noise: 0.0, ..good }) && fails(&Frame { noise: -1.0, ..good }));
    // A channel without an inverse is a model: nothing is known of the symbols but their sum.
    let mut same = good;
    same.channel.iter_mut().for_each(|row| row[1] = row[0]);
    assert!(!fails(&same));
}

#[test]
fn a_set_of_words_is_that_of_the_standard_library() {
    let mut rng = LaneRng::seed_from_u64(3);
    let (mut ours, mut naive) = (Seen::<256>::new(), std::collections::HashSet::new());
    for _ in 0..2000 {
        let word = bitmc::Rng::next_u32(&mut rng) % 180;
        assert_eq!(ours.insert(word), naive.insert(word));
    }
    assert_eq!((ours.len() as usize, ours.lost()), (naive.len(), 0));
    let new = (1000..2000).filter(|&word| ours.insert(word)).count();
    assert!(new == 192 - 180 && ours.lost() == 1000 - new as u32, "{new}");
    ours.clear();
    assert!(ours.is_empty() && ours.insert(5));
}

fn hash<const N: usize, const TABLE: usize>(index: usize, wrong: f32) -> u32 {
    let setup = trial::Setup { noise: wrong * trial::SETUPS[index].noise, ..trial::SETUPS[index] };
    let mut trial = Box::new(Trial::<N, TABLE>::new(setup));
    for frame in 0..trial::FRAMES {
        trial.arrive(frame);
        trial.detect().unwrap();
        assert_eq!(trial.lost(), 0);
    }
    println!("{}: {} of {} bits wrong, {:08x}", setup.name, trial.errors(), trial.bits(), trial.hash());
    trial.hash()
}

#[test]
fn ratios_have_the_committed_bits() {
    let hashes = |wrong| {
        [
            hash::<8, 512>(0, wrong),
            hash::<8, 8192>(1, wrong),
            hash::<16, 8192>(2, wrong),
            hash::<16, 16_384>(3, wrong),
        ]
    };
    // Another power of noise, other bits.
    hashes(1.000_001)
        .into_iter()
        .zip(trial::HASHES)
        .for_each(|(other, committed)| assert_ne!(other, committed));
    assert_eq!(hashes(1.0).map(|hash| format!("{hash:08x}")), trial::HASHES.map(|hash| format!("{hash:08x}")));
}
