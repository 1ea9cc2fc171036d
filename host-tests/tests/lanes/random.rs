//! Random words, uniforms and normals.

use bitmc::lane::{self, Bits, LANES, NORMAL_LIMIT};
use bitmc::random::{self, gumbels, logistics, normal_pairs, normals, uniform, uniforms};
use bitmc::{LaneRng, Layout, Rng, SeedableRng};
use bitmc_host_tests::listed::{Listed, count};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance::{ROUNDING, SIGMA};
use rand_xoshiro::{Xoshiro128PlusPlus, Xoshiro256PlusPlus};

#[test]
fn lanes_are_jumped_streams() {
    for seed in [0, 7, u64::MAX] {
        let mut lanes = LaneRng::seed_from_u64(seed);
        let mut jumped = Xoshiro128PlusPlus::seed_from_u64(seed);
        let mut streams: Vec<_> = (0..LANES)
            .map(|_| {
                let stream = jumped.clone();
                jumped.jump();
                stream
            })
            .collect();
        for _ in 0..100 {
            let words: Bits = std::array::from_fn(|lane| streams[lane].next_u32());
            assert_eq!(lanes.block(), words);
        }
    }
    let bytes: [u8; 16] = std::array::from_fn(|index| index as u8 + 1);
    let (mut lanes, mut first) = (LaneRng::from_seed(bytes), Xoshiro128PlusPlus::from_seed(bytes));
    assert_eq!(lanes.next_u32(), first.next_u32());
}

#[test]
fn chains_are_long_jumps() {
    let mut start = Xoshiro128PlusPlus::seed_from_u64(5);
    for chain in 0..5 {
        let mut lanes = LaneRng::stream(5, chain);
        assert_eq!(lanes.next_u32(), start.clone().next_u32(), "chain {chain}");
        start.long_jump();
    }
    assert_eq!(LaneRng::stream(5, 0), LaneRng::seed_from_u64(5));
}

#[test]
fn a_long_jump_is_the_next_chain() {
    let mut next = LaneRng::stream(5, 0);
    for chain in 1..5 {
        next.long_jump();
        assert_eq!(next, LaneRng::stream(5, chain), "chain {chain}");
    }
    // In the middle of a block too, whose other words are dropped.
    let mut ahead = LaneRng::stream(5, 5);
    ahead.block();
    next.next_u32();
    next.long_jump();
    assert_eq!(next, ahead);
}

#[test]
fn a_generator_goes_on_from_its_state() {
    let mut rng = LaneRng::seed_from_u64(11);
    for used in 0..40 {
        let (state, held, count) = rng.state();
        let mut copy = LaneRng::from_state(state, held, count).unwrap();
        assert_eq!(copy, rng);
        let next: Vec<u32> = (0..50).map(|_| copy.next_u32()).collect();
        let mut whole = rng.clone();
        assert_eq!(next, (0..50).map(|_| whole.next_u32()).collect::<Vec<_>>(), "{used} words used");
        rng.next_u32();
    }
    let (mut state, held, _) = rng.state();
    assert!(LaneRng::from_state(state, held, 17).is_none());
    state.iter_mut().for_each(|plane| plane[9] = 0);
    assert!(LaneRng::from_state(state, held, 0).is_none(), "a dead lane");
}

#[test]
fn a_lane_is_dead_where_all_of_its_words_are_zero() {
    for alive in 0..16 {
        let (mut state, held, _) = LaneRng::seed_from_u64(11).state();
        for (word, plane) in state.iter_mut().enumerate() {
            plane[9] = alive >> word & 1;
        }
        assert_eq!(LaneRng::from_state(state, held, 16).is_some(), alive != 0, "{alive:b}");
    }
}

#[test]
fn bytes_are_words_in_little_endian_order() {
    for length in 0..200 {
        let mut lanes = LaneRng::seed_from_u64(12);
        lanes.next_u32();
        let mut model = lanes.clone();
        let mut bytes = vec![0; length];
        lanes.fill_bytes(&mut bytes);
        // Whole 64-byte pieces come from the lanes, past the held words; the rest from the held words.
        let mut expected: Vec<u8> = Vec::new();
        while expected.len() + 64 <= length {
            expected.extend(model.block().iter().flat_map(|word| word.to_le_bytes()));
        }
        while expected.len() < length {
            expected.extend(model.next_u32().to_le_bytes());
        }
        expected.truncate(length);
        assert_eq!(bytes, expected, "{length} bytes");
        assert_eq!(lanes, model, "after {length} bytes");
    }
    let (mut a, mut b) = (LaneRng::seed_from_u64(13), LaneRng::seed_from_u64(13));
    let (low, high) = (u64::from(b.next_u32()), u64::from(b.next_u32()));
    assert_eq!(a.next_u64(), low | (high << 32));
}

#[test]
fn a_uniform_is_a_step_function_of_its_words() {
    // u rises with its words and each value of the first word has the same weight, so P(u < p) is the
    // share of words below the first with u ≥ p: found by bisection, for p from ½ to 2⁻⁴⁴.
    let at = |word: u64| -> f64 {
        let (high, low) = ((word >> 32) as u32, word as u32);
        f64::from(uniform(&mut Listed(&[high, low])))
    };
    let share = |p: f64| -> f64 { count(1 << 64, |word| at(word as u64) < p) as f64 / 2f64.powi(64) };
    let mut source = Source::new(14);
    for exponent in 1..=43 {
        for _ in 0..20 {
            let p = f64::from(((1.0 + source.uniform()) * 2f64.powi(-exponent - 1)) as f32);
            let relative = (share(p) / p - 1.0).abs();
            assert!(relative <= 2f64.powi(-19), "P(u < {p:e}) is off by a relative {relative:e}");
        }
    }
    // Monotone, as the bisection takes for granted: around the seam, and at random.
    for _ in 0..20_000 {
        let word = ((source.uniform() * 2f64.powi(64)) as u64) >> source.below(40);
        let next = word.saturating_add(1 + ((source.uniform() * word as f64) as u64 >> source.below(40)));
        assert!(at(word) <= at(next), "{word:x} {next:x}");
    }
    assert!(at((1 << 52) - 1) <= at(1 << 52));
    assert_eq!((at(0), at(u64::MAX)), (0.0, 1.0));
    assert!(at(2) > 0.0);
}

#[test]
fn sixteen_uniforms_are_one_uniform_each() {
    let mut source = Source::new(15);
    for round in 0..2000 {
        let word = |source: &mut Source| ((source.uniform() * 2f64.powi(32)) as u32) >> source.below(16);
        let high: Vec<u32> = (0..LANES).map(|_| word(&mut source)).collect();
        let low: Vec<u32> = (0..LANES).map(|_| word(&mut source)).collect();
        let block = uniforms(&mut Listed(&[&high[..], &low].concat()));
        for lane in 0..LANES {
            let one = uniform(&mut Listed(&[high[lane], low[lane]]));
            assert_eq!(block[lane].to_bits(), one.to_bits(), "round {round}, lane {lane}");
        }
    }
}

/// The first word that is not refined takes no second one, nor its sign from there.
#[test]
fn a_word_at_the_seam_is_not_refined() {
    const SEAM: u32 = 1 << 20;
    assert_eq!(uniform(&mut Listed(&[SEAM])), 1.0 / 4096.0);
    let mut words = [1 << 31; 2 * LANES];
    (words[0], words[1]) = (0, SEAM);
    words[LANES..].fill(u32::MAX);
    assert_eq!(uniforms(&mut Listed(&words))[1], 1.0 / 4096.0);
    let noise = logistics(&mut Listed(&words));
    let size = 8191f64.ln();
    assert!(noise[0] < 0.0 && (f64::from(noise[1]) / size - 1.0).abs() < 1e-5, "{noise:?}");
}

#[test]
fn small_uniforms_are_as_frequent_as_they_should_be() {
    const DRAWS: f64 = 16.0 * 2_000_000.0;
    let mut rng = LaneRng::seed_from_u64(16);
    let limits: Vec<f32> = (1..=20).map(|k| 2f32.powi(-k)).collect();
    let mut counts = vec![0u32; limits.len()];
    for _ in 0..2_000_000 {
        for u in uniforms(&mut rng) {
            assert!((0.0..=1.0).contains(&u));
            for (count, &limit) in counts.iter_mut().zip(&limits).take_while(|(_, limit)| u < **limit) {
                *count += u32::from(u < limit);
            }
        }
    }
    for (count, limit) in counts.iter().zip(limits) {
        let p = f64::from(limit);
        let z = (f64::from(*count) - DRAWS * p) / (DRAWS * p * (1.0 - p)).sqrt();
        assert!(z.abs() <= SIGMA, "P(u < {p:e}): z = {z}");
    }
}

#[test]
fn normals_have_their_moments() {
    const DRAWS: f64 = 16.0 * 500_000.0;
    let mut rng = LaneRng::seed_from_u64(17);
    let mut sums = [0.0; 6];
    let mut tail = 0u32;
    for _ in 0..500_000 {
        for z in normals(&mut rng).map(f64::from) {
            assert!(z.abs() <= f64::from(NORMAL_LIMIT));
            let mut power = 1.0;
            for sum in &mut sums {
                power *= z;
                *sum += power;
            }
            tail += u32::from(z.abs() > 3.0);
        }
    }
    // ⟨z^k⟩ = (k−1)!! for even k, and the variance of z^k is (2k−1)!! less the square of that.
    let moments = [0.0, 1.0, 0.0, 3.0, 0.0, 15.0];
    let squares: [f64; 6] = [1.0, 3.0, 15.0, 105.0, 945.0, 10395.0];
    for (index, ((sum, moment), square)) in sums.iter().zip(moments).zip(squares).enumerate() {
        let z = (sum / DRAWS - moment) / ((square - moment * moment) / DRAWS).sqrt();
        assert!(z.abs() <= SIGMA, "moment {}: {} for {moment}, z = {z}", index + 1, sum / DRAWS);
    }
    let p = statrs::function::erf::erfc(3.0 / std::f64::consts::SQRT_2);
    let z = (f64::from(tail) - DRAWS * p) / (DRAWS * p * (1.0 - p)).sqrt();
    assert!(z.abs() <= SIGMA, "P(|z| > 3): z = {z}");
}

/// A uniform of 1 is a pair without a length: its zeros have signs as all others have.
#[test]
fn the_last_bit_of_an_angle_turns_the_first_of_a_pair_around() {
    // Next to each of these angles is one that is the same float.
    for angle in [0x4000_0000u32, 0x2345_6788, 0x8000_0000, 0xC765_4344] {
        for word in [u32::MAX, 0x8000_0000, 1 << 20] {
            let pair = |angle: u32| {
                let words = [[angle; LANES], [word; LANES]];
                normal_pairs(&mut Listed(words.as_flattened())).map(|block| block.map(f32::to_bits))
            };
            let ([first, second], [turned, same]) = (pair(angle), pair(angle | 1));
            assert_eq!(first.map(|bits| bits ^ 1 << 31), turned, "{angle:x} {word:x}");
            assert_eq!(second, same, "{angle:x} {word:x}");
        }
    }
}

#[test]
fn any_generator_gives_numbers() {
    fn numbers<R: Rng + ?Sized>(rng: &mut R) {
        let sum: f32 = (0..1000).map(|_| lane::sum(&uniforms(rng)) + uniform(rng)).sum();
        let z = (f64::from(sum) - 8500.0) / (17_000.0f64 / 12.0).sqrt();
        assert!(z.abs() <= SIGMA, "z = {z}");
    }
    numbers(&mut Xoshiro256PlusPlus::seed_from_u64(1));
    numbers(&mut Xoshiro128PlusPlus::seed_from_u64(1));
    let object: &mut dyn Rng = &mut LaneRng::seed_from_u64(1);
    numbers(object);
}

#[test]
fn failed_generators_give_legal_numbers() {
    for (name, mut rng) in Stuck::all() {
        for _ in 0..200 {
            assert!(uniforms(&mut rng).iter().all(|u| (0.0..=1.0).contains(u)), "{name}");
            assert!((0.0..=1.0).contains(&uniform(&mut rng)), "{name}");
            assert!(normals(&mut rng).iter().all(|z| z.abs() <= NORMAL_LIMIT), "{name}");
        }
    }
}

#[test]
fn random_bits_have_their_probability() {
    let (layout, mut rng) = (Layout::binary(45), LaneRng::seed_from_u64(18));
    let mut words = [0; 2];
    for p in [0.0f32, 0.01, 0.5, 0.93] {
        let mut ones = 0;
        for _ in 0..20_000 {
            random::bernoulli(layout, p, &mut rng, &mut words);
            assert_eq!(words[1] & !layout.last_word(), 0, "padding is set");
            ones += words[0].count_ones() + words[1].count_ones();
        }
        let (draws, p) = (45.0 * 20_000.0, f64::from(p));
        let deviation = (draws * p * (1.0 - p)).sqrt();
        assert!((f64::from(ones) - draws * p).abs() <= SIGMA * deviation, "p = {p}: {ones} of {draws}");
    }
}

#[test]
fn logistics_are_the_quantiles_of_their_uniforms() {
    let mut rng = LaneRng::seed_from_u64(31);
    let (mut counts, thresholds) = ([0u64; 9], [-12.0, -6.0, -2.0, -0.5, 0.0, 0.5, 2.0, 6.0, 12.0f32]);
    let blocks = 200_000;
    for _ in 0..blocks {
        let mut copy = rng.clone();
        let noise = logistics(&mut rng);
        let u = uniforms(&mut copy.clone());
        let high = random::words(&mut copy);
        let small = high.iter().any(|&r| r < 1 << 20);
        let low = if small { random::words(&mut copy) } else { high };
        assert_eq!(rng, copy);
        for lane in 0..LANES {
            let tail = 0.5 * f64::from(u[lane]);
            let sign = if high[lane] < 1 << 20 { low[lane] } else { high[lane] };
            let size = ((1.0 - tail) / tail).ln() * if sign & 1 == 1 { -1.0 } else { 1.0 };
            // 1 − v by half an ulp, through 2 atanh of at most 9/8 slope; the sum, the quotient, the product and four
            // of the polynomial, each of at most ln 2; then k ln 2 and the last sum, of the whole.
            let bound = ROUNDING * (2.0 + 7.0 * std::f64::consts::LN_2 + 2.0 * size.abs());
            assert!((f64::from(noise[lane]) - size).abs() <= bound, "{size} {}", noise[lane]);
        }
        for (count, threshold) in counts.iter_mut().zip(thresholds) {
            *count += noise.iter().filter(|&&noise| noise < threshold).count() as u64;
        }
    }
    let n = (blocks * LANES) as f64;
    for (count, threshold) in counts.iter().zip(thresholds) {
        let p = 1.0 / (1.0 + f64::from(-threshold).exp());
        let z = (*count as f64 - n * p) / (n * p * (1.0 - p)).sqrt();
        assert!(z.abs() < SIGMA, "{threshold}: z = {z}");
    }
    for (name, mut stuck) in Stuck::all() {
        assert!((0..100).all(|_| !logistics(&mut stuck).iter().any(|noise| noise.is_nan())), "{name}");
    }
}

/// Each against the quantile of its uniform, and the counts below thresholds in both tails.
#[test]
fn gumbels_are_the_quantiles_of_their_uniforms() {
    let mut rng = LaneRng::seed_from_u64(32);
    let (mut counts, thresholds) = ([0u64; 8], [-2.5, -1.5, -0.5, 0.0, 1.0, 4.0, 8.0, 12.0f32]);
    let (blocks, mut worst) = (200_000, 0.0f64);
    for _ in 0..blocks {
        let uniforms = uniforms(&mut rng.clone());
        let noise = gumbels(&mut rng);
        for (noise, u) in noise.iter().zip(uniforms) {
            let exact = -(-(-f64::from(u)).ln_1p()).ln();
            // 1 − v is rounded where v is not small: the more, the further down.
            let bound = 6.0 * ROUNDING * (1.0 + exact.abs() + (-exact).exp().exp().min(1e9));
            worst = worst.max((f64::from(*noise) - exact).abs() / bound);
        }
        for (count, threshold) in counts.iter_mut().zip(thresholds) {
            *count += noise.iter().filter(|&&noise| noise < threshold).count() as u64;
        }
    }
    assert!(worst <= 1.0, "{worst} times the bound");
    let n = (blocks * LANES) as f64;
    let z = |count: u64, p: f64| (count as f64 - n * p) / (n * p * (1.0 - p)).sqrt();
    for (count, threshold) in counts.into_iter().zip(thresholds) {
        let z = z(count, (-f64::from(-threshold).exp()).exp());
        assert!(z.abs() < SIGMA, "{threshold}: z = {z}");
    }
    // A logistic number is told apart.
    assert!(z(counts[3], 1.0 / 2.0).abs() > SIGMA);
    for (name, mut stuck) in Stuck::all() {
        let noise = || gumbels(&mut stuck);
        assert!(
            std::iter::repeat_with(noise).take(100).flatten().all(|noise| (-3.9..=45.1).contains(&noise)),
            "{name}"
        );
    }
}
