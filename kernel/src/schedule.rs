//! Parameters as pure functions of the step: constant, along a cosine, along a line, geometric.

use crate::lane::{exp, ln};
use core::f32::consts::PI;

/// sin(πu)/u in u² for |u| ≤ ½: with the rounding of f32, u times it is within 2·10⁻⁷ of sin(πu). A fit of
/// our own at Chebyshev nodes, highest power first.
const SINE: [f32; 5] = [7.765_766e-2, -0.598_291_3, 2.550_077_4, -5.167_710_3, PI];

/// How large the logarithm of a factor may be, up or down, that is a normal float and finite.
const MOST: f32 = 87.0;

/// A parameter as a pure function of the step: no state, the same bits on every processor, right for every
/// step of a `u64`.
///
/// ```
/// use bitmc::Schedule;
/// let step_size = Schedule::cyclical_step_size(5.0, 0.2, 20)?; // ACS Eq. 8
/// assert_eq!(step_size.at(0), 5.0);
/// assert_eq!(step_size.at(19), 0.2);
/// assert_eq!(step_size.at(20 * (1 << 40)), 5.0);
/// # Ok::<(), bitmc::schedule::ScheduleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Schedule {
    shape: Shape,
    first: f32,
    last: f32,
    steps: u64,
    floor: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Shape {
    Constant,
    Cosine,
    Linear,
    /// With ln(last/first).
    Geometric(f32),
}

crate::error::errors! {
    /// Why a schedule is none.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum ScheduleError {
        /// A value is not finite, or the span between first and last is not.
        NotFinite(value: f32) => "the schedule's value {value} is not finite";
        /// A value of a geometric schedule is not positive, or so small that its logarithm is not exact enough.
        NotPositive(value: f32) => "the geometric schedule's value {value} is not positive";
        /// A schedule takes at least one step.
        NoSteps => "a schedule takes at least one step";
    }
}

impl Schedule {
    /// The same at every step.
    ///
    /// # Errors
    /// [`ScheduleError::NotFinite`].
    pub fn constant(value: f32) -> Result<Self, ScheduleError> {
        Self::new(Shape::Constant, value, value, 1)
    }

    /// Half a cosine from `first` towards `last`, again and again with a period of `steps`. The value is
    /// `last + (first − last)/2 · (cos(πk/steps) + 1)`, with k the step within the period. The value `last` itself
    /// does not occur. From β_max to ½ it is the untuned balance in the program of the authors of ACS (METHODS.md
    /// §4). The paper's Algorithm 3 takes β from its Eq. 8 instead; its Eq. 9 defines the tuned balance.
    ///
    /// # Errors
    /// [`ScheduleError::NotFinite`] or [`ScheduleError::NoSteps`].
    pub fn cosine(first: f32, last: f32, steps: u64) -> Result<Self, ScheduleError> {
        Self::new(Shape::Cosine, first, last, steps)
    }

    /// The step size of the automatic cyclical sampler (Pynadath, Bhattacharya, Hariharan, Zhang 2024,
    /// Eq. 8; METHODS.md §4): `max(largest/2 · (cos(πk/steps) + 1), smallest)`.
    ///
    /// # Errors
    /// As [`Schedule::cosine`].
    pub fn cyclical_step_size(largest: f32, smallest: f32, steps: u64) -> Result<Self, ScheduleError> {
        finite(smallest)?;
        Ok(Self { floor: smallest, ..Self::cosine(largest, 0.0, steps)? })
    }

    /// A straight line from `first` at step 0 to `last` at step `steps`, and `last` ever after.
    ///
    /// # Errors
    /// [`ScheduleError::NotFinite`] or [`ScheduleError::NoSteps`].
    pub fn linear(first: f32, last: f32, steps: u64) -> Result<Self, ScheduleError> {
        Self::new(Shape::Linear, first, last, steps)
    }

    /// By one factor a step from `first` at step 0 to `last` at step `steps`, and `last` ever after.
    ///
    /// # Errors
    /// [`ScheduleError::NotPositive`] where a value is not a positive normal number,
    /// [`ScheduleError::NotFinite`], of `last / first` too, or [`ScheduleError::NoSteps`].
    pub fn geometric(first: f32, last: f32, steps: u64) -> Result<Self, ScheduleError> {
        for value in [first, last] {
            if value.is_finite() && value < f32::MIN_POSITIVE {
                return Err(ScheduleError::NotPositive(value));
            }
        }
        finite(last / first)?;
        Self::new(Shape::Geometric(ln(last) - ln(first)), first, last, steps)
    }

    fn new(shape: Shape, first: f32, last: f32, steps: u64) -> Result<Self, ScheduleError> {
        [first, last, last - first].into_iter().try_for_each(finite)?;
        if steps == 0 {
            return Err(ScheduleError::NoSteps);
        }
        Ok(Self { shape, first, last, steps, floor: f32::NEG_INFINITY })
    }

    /// The value at a step.
    #[must_use]
    pub fn at(&self, step: u64) -> f32 {
        let value = match self.shape {
            Shape::Constant => self.first,
            Shape::Cosine => {
                let position = step.checked_rem(self.steps).unwrap_or(0);
                let share = 0.5 * (half_turn_cosine(position, self.steps) + 1.0);
                between(self.last, self.first, share)
            }
            Shape::Linear | Shape::Geometric(_) if step >= self.steps => self.last,
            Shape::Linear => between(self.first, self.last, self.share(step)),
            Shape::Geometric(log) => {
                let log = log * self.share(step);
                // In halves where the factor could leave the floats, on either side.
                let half = || exp(0.5 * log);
                let value = if log.abs() > MOST { self.first * half() * half() } else { self.first * exp(log) };
                // Next to the largest float rounding leads past it.
                if value < f32::INFINITY { value } else { self.last }
            }
        };
        if value > self.floor { value } else { self.floor }
    }

    fn share(&self, step: u64) -> f32 {
        step as f32 / self.steps as f32
    }
}

fn finite(value: f32) -> Result<(), ScheduleError> {
    if value.is_finite() { Ok(()) } else { Err(ScheduleError::NotFinite(value)) }
}

/// From a at 0 to b at 1, and exactly that at both ends.
fn between(a: f32, b: f32, share: f32) -> f32 {
    if share >= 1.0 { b } else { a + (b - a) * share }
}

/// `cos(πk/n)` for k < n, as the sine of `π(n − 2k)/2n`: the numerator is exact.
fn half_turn_cosine(k: u64, n: u64) -> f32 {
    let (rest, sign) = if k <= n - k { (n - k - k, 1.0) } else { (k - (n - k), -1.0) };
    let u = 0.5 * (rest as f32 / n as f32);
    let square = u * u;
    let sine = u * SINE.iter().fold(0.0, |sum, c| sum * square + c);
    sign * if sine < 1.0 { sine } else { 1.0 }
}
