//! The kernel's elementary functions against float64, over every float or every n-th one.

use bitmc::lane::{Block, F32s, LANES, PARTS};
use rayon::prelude::*;
use std::f64::consts::{FRAC_PI_2, SQRT_2};
use std::ops::RangeInclusive;

/// A function under test.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name in [`F32s`].
    pub name: &'static str,
    /// The largest error allowed.
    pub bound: f64,
    /// How the error is counted.
    pub measure: Measure,
    /// The inputs for which the bound holds.
    pub domain: RangeInclusive<f32>,
    /// Whether every float is an input: then NaN must stay NaN.
    pub total: bool,
    /// Which way the function goes over its domain.
    pub order: Order,
    /// Whether no result may go the other way; else it may, within the bound.
    pub monotone: bool,
    apply: fn(F32s) -> F32s,
    reference: fn(f64) -> f64,
}

/// How an error is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// In units of the last place of the true value.
    Ulp,
    /// Relative to the true value.
    Relative,
}

/// Which way a function goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Up.
    Rising,
    /// Down.
    Falling,
    /// Up and down.
    Both,
}

impl Order {
    fn reversed(self, before: f32, now: f32) -> bool {
        match self {
            Self::Rising => now < before,
            Self::Falling => now > before,
            Self::Both => false,
        }
    }
}

const EVERYTHING: RangeInclusive<f32> = f32::NEG_INFINITY..=f32::INFINITY;

/// All of them, with the bounds that the kernel's documentation states.
pub const FUNCTIONS: [Function; 13] = [
    Function {
        name: "exp",
        bound: 1.0,
        measure: Measure::Ulp,
        domain: EVERYTHING,
        total: true,
        order: Order::Rising,
        monotone: true,
        apply: F32s::exp,
        reference: f64::exp,
    },
    Function {
        name: "exp_bounded",
        bound: 1.0,
        measure: Measure::Ulp,
        domain: -80.0..=80.0,
        total: false,
        order: Order::Rising,
        monotone: true,
        apply: F32s::exp_bounded,
        reference: f64::exp,
    },
    Function {
        name: "exp2_bounded",
        bound: 2.5,
        measure: Measure::Ulp,
        domain: -120.0..=120.0,
        total: false,
        order: Order::Rising,
        monotone: false,
        apply: F32s::exp2_bounded,
        reference: f64::exp2,
    },
    Function {
        name: "ln",
        bound: 1.2,
        measure: Measure::Ulp,
        domain: EVERYTHING,
        total: true,
        order: Order::Rising,
        monotone: true,
        apply: F32s::ln,
        reference: f64::ln,
    },
    Function {
        name: "ln_1p_unit",
        bound: 1.5,
        measure: Measure::Ulp,
        domain: 0.0..=1.0,
        total: false,
        order: Order::Rising,
        monotone: true,
        apply: F32s::ln_1p_unit,
        reference: f64::ln_1p,
    },
    Function {
        name: "exp_m1",
        bound: 1.6,
        measure: Measure::Ulp,
        domain: f32::NEG_INFINITY..=80.0,
        total: false,
        order: Order::Rising,
        monotone: true,
        apply: F32s::exp_m1,
        reference: f64::exp_m1,
    },
    Function {
        name: "ln_1p",
        bound: 3.0,
        measure: Measure::Ulp,
        domain: EVERYTHING,
        total: true,
        order: Order::Rising,
        monotone: true,
        apply: F32s::ln_1p,
        reference: f64::ln_1p,
    },
    Function {
        name: "sigmoid",
        bound: 2.5,
        measure: Measure::Ulp,
        domain: EVERYTHING,
        total: true,
        order: Order::Rising,
        monotone: true,
        apply: F32s::sigmoid,
        reference: crate::naive::sigmoid,
    },
    Function {
        name: "ln_1p_exp",
        bound: 3.0,
        measure: Measure::Ulp,
        domain: EVERYTHING,
        total: true,
        order: Order::Rising,
        monotone: true,
        apply: F32s::ln_1p_exp,
        reference: softplus,
    },
    Function {
        name: "normal_quantile",
        bound: 2e-6,
        measure: Measure::Relative,
        domain: 2.710_505_4e-20..=0.5, // from 2^-65
        total: false,
        order: Order::Falling,
        monotone: true,
        apply: F32s::normal_quantile,
        reference: normal_quantile,
    },
    Function {
        name: "normal_radius",
        bound: 4e-7,
        measure: Measure::Relative,
        domain: 2.710_505_4e-20..=1.0, // from 2^-65
        total: false,
        order: Order::Falling,
        monotone: true,
        apply: F32s::normal_radius,
        reference: |u| (-2.0 * u.ln()).sqrt(),
    },
    Function {
        name: "quarter_turns, sine",
        bound: 4e-7,
        measure: Measure::Relative,
        domain: 4.656_613e-10..=1.0, // from 2^-31; it is odd
        total: false,
        order: Order::Rising,
        monotone: false,
        apply: |f| f.quarter_turns().0,
        reference: |f| (FRAC_PI_2 * f).sin(),
    },
    Function {
        name: "quarter_turns, cosine",
        bound: 4e-7,
        measure: Measure::Relative,
        domain: -1.0..=1.0,
        total: false,
        order: Order::Both,
        monotone: false,
        apply: |f| f.quarter_turns().1,
        // Of the angle that is left to a right one: no cancellation at the ends.
        reference: |f| (FRAC_PI_2 * (1.0 - f.abs())).sin(),
    },
];

fn softplus(x: f64) -> f64 {
    if x.is_nan() { x } else { crate::naive::softplus(x) }
}

fn normal_quantile(p: f64) -> f64 {
    SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p)
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Inputs.
    pub inputs: u64,
    /// The largest error.
    pub error: f64,
    /// Where it is.
    pub at: f32,
    /// Results that go the other way than the function, from the input before.
    pub reversals: u64,
    /// Results that are NaN where they should not be, or the other way round.
    pub wrong_nan: u64,
}

impl Found {
    fn with(self, other: Self) -> Self {
        let larger = if other.error > self.error { other } else { self };
        Self {
            inputs: self.inputs + other.inputs,
            error: larger.error,
            at: larger.at,
            reversals: self.reversals + other.reversals,
            wrong_nan: self.wrong_nan + other.wrong_nan,
        }
    }
}

impl Function {
    /// The kernel's result for one number.
    #[must_use]
    pub fn at(&self, x: f32) -> f32 {
        (self.apply)(F32s::splat(x)).first()
    }

    /// Compares every `stride`-th float of the domain, and NaNs where the function is total, in as many
    /// threads as rayon has.
    #[must_use]
    pub fn sweep(&self, stride: u64) -> Found {
        const PIECE: u64 = 1 << 22;
        let (first, last) = if self.total {
            (0, u64::from(u32::MAX))
        } else {
            (index_of(*self.domain.start()), index_of(*self.domain.end()))
        };
        let pieces = (last - first) / PIECE + 1;
        let piece = |number: u64| {
            let start = first + (number * PIECE).next_multiple_of(stride);
            let before = if start > first { self.at(float_at((start - stride) as u32)) } else { f32::NAN };
            self.piece(start, last.min(first + (number + 1) * PIECE - 1), stride, before)
        };
        (0..pieces).into_par_iter().map(piece).reduce(Found::default, Found::with)
    }

    /// Whether what a sweep found is within the bounds.
    #[must_use]
    pub fn allows(&self, found: &Found) -> bool {
        let ordered = !self.monotone || found.reversals == 0;
        found.inputs > 0 && found.error <= self.bound && ordered && found.wrong_nan == 0
    }

    /// From index `start` to `last`, both inclusive; `before` is the result of the input before `start`.
    fn piece(&self, start: u64, last: u64, stride: u64, before: f32) -> Found {
        let mut found = Found::default();
        let mut previous = before;
        let mut next = start;
        while next <= last {
            let indices: [u64; LANES] = std::array::from_fn(|lane| (next + lane as u64 * stride).min(last));
            let inputs: Block = indices.map(|index| float_at(index as u32));
            let mut results = [0.0; LANES];
            for part in 0..PARTS {
                (self.apply)(F32s::load(&inputs, part)).store(&mut results, part);
            }
            let left = ((last - next) / stride + 1) as usize;
            for (x, y) in inputs.into_iter().zip(results).take(left) {
                let truth = (self.reference)(f64::from(x));
                found.inputs += 1;
                if truth.is_nan() || y.is_nan() {
                    found.wrong_nan += u64::from(truth.is_nan() != y.is_nan());
                    continue;
                }
                found.reversals += u64::from(self.order.reversed(previous, y));
                previous = y;
                let error = match self.measure {
                    Measure::Ulp => ulps(y, truth),
                    Measure::Relative if truth == 0.0 => f64::from(y.abs()),
                    Measure::Relative => ((f64::from(y) - truth) / truth).abs(),
                };
                if error > found.error {
                    (found.error, found.at) = (error, x);
                }
            }
            next += LANES as u64 * stride;
        }
        found
    }
}

/// Floats in ascending order: −NaN, −∞ … −0, +0 … +∞, NaN.
#[must_use]
pub fn float_at(index: u32) -> f32 {
    f32::from_bits(if index >> 31 == 0 { !index } else { index ^ 0x8000_0000 })
}

/// The place of a float in that order.
#[must_use]
pub fn index_of(x: f32) -> u64 {
    let bits = x.to_bits();
    u64::from(if bits >> 31 == 0 { bits ^ 0x8000_0000 } else { !bits })
}

/// The distance of an f32 from the truth in units of the last place of the truth, where 2^128 stands for
/// infinity and the unit of subnormal numbers is 2^−149.
#[must_use]
pub fn ulps(y: f32, truth: f64) -> f64 {
    const TOP: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0; // 2^128
    let (y, truth) = (f64::from(y).clamp(-TOP, TOP), truth.clamp(-TOP, TOP));
    let exponent = (((truth.to_bits() >> 52) & 0x7FF) as i32 - 1023).clamp(-126, 127);
    (y - truth).abs() / 2f64.powi(exponent - 23)
}
