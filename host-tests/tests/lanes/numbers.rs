//! Elementary functions, sums and products.

use bitmc::lane::{self, Block, F32s, LANES, LogProduct, Mask, NORMAL_LIMIT, PARTS, Product, Total};
use bitmc_host_tests::elementary::{FUNCTIONS, Found, Function, Order, float_at, index_of, ulps};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::tolerance::{PRODUCT_DEVIATIONS, ROUNDING};
use std::f32::consts::{FRAC_1_SQRT_2, LN_2, SQRT_2};

fn function(name: &str) -> &'static Function {
    FUNCTIONS.iter().find(|function| function.name == name).unwrap()
}

#[test]
fn every_thousandth_float() {
    for function in &FUNCTIONS {
        let found = function.sweep(1021);
        assert!(function.allows(&found), "{}: {found:?}, bound {}", function.name, function.bound);
    }
}

#[test]
fn every_float_where_formulas_meet() {
    // The pieces meet around ½, 1, 2, and where exp becomes subnormal, zero and infinite: 2¹⁵ floats each.
    let places =
        [-104.0, -87.336_55, -2.0, -0.5, -0.346_573_6, 0.346_573_6, 0.5, FRAC_1_SQRT_2, 1.0, 2.0, 88.722_84];
    for function in FUNCTIONS.iter().filter(|function| function.total && function.monotone) {
        for place in places {
            let centre = index_of(place);
            let mut previous = f32::NEG_INFINITY;
            for index in centre - (1 << 14)..centre + (1 << 14) {
                let x = float_at(index as u32);
                let y = function.at(x);
                assert!(y >= previous || y.is_nan(), "{} falls at {x:e}", function.name);
                previous = if y.is_nan() { previous } else { y };
            }
        }
    }
}

#[test]
fn the_judge_of_numbers_sees_faults() {
    assert_eq!(ulps(1.0, 1.0), 0.0);
    assert_eq!(ulps(1.0 + f32::EPSILON, 1.0), 1.0);
    assert_eq!(ulps(f32::from_bits(1), 0.0), 1.0);
    assert_eq!(ulps(f32::INFINITY, 1e300), 0.0);
    assert_eq!(ulps(f32::MAX, f64::INFINITY), 1.0);
    for x in [f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1e-40, 1.0, f32::INFINITY] {
        assert_eq!(float_at(index_of(x) as u32).to_bits(), x.to_bits());
    }
    assert!(index_of(-0.0) + 1 == index_of(0.0) && index_of(-1.0) < index_of(1.0));
    let sound = function("exp").sweep(1 << 20);
    assert!(function("exp").allows(&sound));
    assert!(!function("exp").allows(&Found { error: 1.01, ..sound }));
    assert!(!function("exp").allows(&Found { reversals: 1, ..sound }));
    assert!(!function("exp").allows(&Found { wrong_nan: 1, ..sound }));
    assert!(!function("exp").allows(&Found { inputs: 0, ..sound }));
    let mut falling = function("normal_quantile").clone();
    falling.order = Order::Rising;
    assert!(falling.sweep(1021).reversals > 100_000, "the sweep cannot see the way back");
}

#[test]
fn special_values() {
    const INF: f32 = f32::INFINITY;
    let tiny = f32::from_bits(1);
    let table: [(&str, &[(f32, f32)]); 5] = [
        (
            "exp",
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (INF, INF),
                (-INF, 0.0),
                (88.8, INF),
                (f32::MAX, INF),
                (f32::MIN, 0.0),
                (-103.98, 0.0),
                (-103.9, tiny),
            ],
        ),
        ("ln", &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF)]),
        ("ln_1p_unit", &[(0.0, 0.0), (tiny, tiny), (1e-39, 1e-39), (1e-20, 1e-20)]),
        ("sigmoid", &[(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)]),
        ("ln_1p_exp", &[(INF, INF), (-INF, 0.0), (f32::MAX, f32::MAX), (0.0, LN_2)]),
    ];
    for (name, pairs) in table {
        for &(x, y) in pairs {
            let found = function(name).at(x);
            assert_eq!(found.to_bits(), y.to_bits(), "{name}({x:e}) = {found:e}, not {y:e}");
        }
        for nan in [f32::NAN, -f32::NAN] {
            assert!(function(name).at(nan).is_nan(), "{name}(NaN)");
        }
    }
    assert!(lane::exp(88.722_83) < INF);
    for x in [-1.0, -INF, f32::MIN, -tiny] {
        assert!(lane::ln(x).is_nan(), "ln({x:e})");
    }
    for x in [-3.0, 0.1, 7.0, f32::NAN] {
        assert_eq!(lane::exp(x).to_bits(), function("exp").at(x).to_bits());
        assert_eq!(lane::ln_1p_exp(x).to_bits(), function("ln_1p_exp").at(x).to_bits());
        let (bounded, whole) = (function("exp_bounded").at(x), function("exp").at(x));
        assert_eq!(bounded.to_bits(), whole.to_bits());
    }
    let quantile = function("normal_quantile");
    assert_eq!(quantile.at(0.5), 0.0);
    assert!(quantile.at(0.0) <= NORMAL_LIMIT && quantile.at(0.0) > 9.1);
    assert_eq!(quantile.at(0.0).to_bits(), quantile.at(2f32.powi(-65)).to_bits());
}

#[test]
fn floors_of_floats_are_words() {
    let check = |x: f32| {
        let mut word = [0; LANES];
        (0..PARTS).for_each(|part| F32s::splat(x).floor_i32().store(&mut word, part));
        assert_eq!(word, [f64::from(x).floor() as i32 as u32; LANES], "{x}");
    };
    for size in
        [0.0, f32::from_bits(1), 0.5, 0.999_999_94, 1.0, 1.5, 2.0, 8_388_607.5, 16_777_216.0, 2_147_483_500.0]
    {
        [size, -size].into_iter().for_each(check);
    }
    (0..1 << 16).for_each(|index| check((index as f32 - 32_768.0) * 0.37));
}

#[test]
fn a_sum_follows_its_tree() {
    let mut source = Source::new(1);
    let mut other_orders = 0;
    for _ in 0..1000 {
        let block: Block = std::array::from_fn(|_| source.normal(1.0));
        let mut tree = block.to_vec();
        while tree.len() > 1 {
            let half = tree.len() / 2;
            tree = (0..half).map(|at| tree[at] + tree[at + half]).collect();
        }
        assert_eq!(lane::sum(&block).to_bits(), tree[0].to_bits());
        other_orders += u32::from(lane::sum(&block) != block.iter().sum::<f32>());
    }
    assert!(other_orders > 100, "the order cannot be seen");
}

/// ln of a product of a million factors, by the kernel and in float64.
fn million(mut factor: impl FnMut() -> f32, unit: bool) -> (LogProduct, f64) {
    let (mut product, mut truth) = (Product::one(), 0.0);
    for block in 0..62_500u32 {
        product.next_block();
        let factors: Block = std::array::from_fn(|_| factor());
        let chosen = if unit { 0xFFFF } else { block.wrapping_mul(0x9E37_79B9) >> 16 };
        for part in 0..PARTS {
            let loaded = F32s::load(&factors, part);
            if unit {
                product.times(loaded, part);
            } else {
                product.times_where(Mask::from_bits(chosen, part), loaded, part);
            }
        }
        let taken = factors.iter().enumerate().filter(|(lane, _)| (chosen >> lane) & 1 == 1);
        truth += taken.map(|(_, &factor)| f64::from(factor).ln()).sum::<f64>();
    }
    (product.finish(), truth)
}

#[test]
fn products_of_a_million_factors() {
    let mut source = Source::new(2);
    let deviation = PRODUCT_DEVIATIONS * 1e6f64.sqrt() * ROUNDING;
    let check = |name: &str, (product, truth): (LogProduct, f64)| {
        // The product's own error, then the logarithm's rounding: k·ln 2 in two parts, their sum, ln.
        let bound = deviation + 3.0 * ROUNDING * truth.abs();
        let found = f64::from(product.ln());
        assert!((found - truth).abs() <= bound, "{name}: {found} for {truth}, bound {bound}");
        assert!((1.0..2.0).contains(&product.mantissa()), "{name}");
        product
    };
    let near_one = check("1 to 2", million(|| 1.0 + source.uniform() as f32, true));
    let again = check("all 2", million(|| 2.0, true));
    assert_eq!((again.mantissa(), again.exponent()), (1.0, 1_000_000));
    check("near 1", million(|| 1.0 + (source.uniform() * 1e-3) as f32, true));
    check("odds", million(|| (-30.0 * source.uniform()).exp() as f32, false));
    let wild = check(
        "all normal numbers",
        million(|| f32::from_bits((1 << 23) + source.below(254 << 23) as u32), false),
    );
    // Quotients of large products keep the precision of small ones.
    let nudge = LogProduct::new(1.5, 0);
    for large in [near_one, wild] {
        let ratio = large.times(nudge).over(large);
        assert!((f64::from(ratio.ln()) - 1.5f64.ln()).abs() <= 6.0 * ROUNDING);
        assert_eq!(large.over(large).ln(), 0.0);
    }
    // A quotient and its reciprocal: exact negatives by `ln_over`, often not by two quotients.
    let mut draw = || LogProduct::new((20.0 * source.uniform() - 10.0).exp() as f32, 0);
    let pairs: Vec<_> = (0..10_000).map(|_| (draw(), draw())).collect();
    let odd = |ln_over: fn(LogProduct, LogProduct) -> f32| {
        pairs.iter().filter(|&&(a, b)| ln_over(a, b) != -ln_over(b, a)).count()
    };
    assert_eq!(odd(LogProduct::ln_over), 0);
    assert!(odd(|a, b| a.over(b).ln()) > 1_000);
    for &(a, b) in &pairs {
        assert!((a.ln_over(b) - a.over(b).ln()).abs() <= 2e-6);
    }
    assert_eq!(LogProduct::ONE.ln(), 0.0);
    assert_eq!(Product::one().finish(), LogProduct::ONE);
}

#[test]
fn the_logarithm_of_the_root_of_two_is_the_nearest_float() {
    let found = LogProduct::new(SQRT_2, 0).ln();
    assert_eq!(found, f64::from(SQRT_2).ln() as f32);
    assert_eq!(LogProduct::ONE.ln_over(LogProduct::ONE).to_bits(), 0);
}

/// Next to 2²⁴ ones are half digits.
#[test]
fn a_total_of_totals_has_what_rounding_dropped_of_both() {
    let mut totals = [Total::new(16_777_216.0); 2];
    for (total, ones) in totals.iter_mut().zip([3, 5]) {
        (0..ones).for_each(|_| total.add(1.0));
        assert_eq!(total.value(), (16_777_216.0 + f64::from(ones)) as f32);
    }
    let [mut one, other] = totals;
    one.add_total(other);
    assert_eq!(one.value(), 33_554_440.0);
}

#[test]
fn logarithms_of_subnormal_numbers_are_those_of_float64() {
    for bits in [1u32, 2, 3, 0x100, 0x1234, 0x7F_FFFF, 0x80_0000] {
        let x = f32::from_bits(bits);
        let (found, truth) = (f64::from(lane::ln(x)), f64::from(x).ln());
        assert!((found - truth).abs() <= 2e-7 * truth.abs(), "{x:e}: {found}, {truth}");
    }
}

#[test]
fn each_site_of_later_blocks_has_its_number() {
    let mut blocks = [[0.0; LANES]; 2];
    let sites: Vec<usize> = lane::each(3, &mut blocks).map(|(site, _)| site).collect();
    assert_eq!(sites, (48..80).collect::<Vec<_>>());
}
