//! Tuning: from what steps report to parameters, in fixed memory.
//!
//! Tuners see [`Info`](crate::Info) and parameters, never a chain's insides, and are plain data: copying one
//! is a snapshot. While parameters follow the chain its distribution is not kept: `freeze` before samples are
//! collected, and say so beside them.
//!
//! * [`RateTuner`] moves one parameter until a wished share of proposals is accepted.
//! * [`CycleTuner`] finds the schedule of the cyclical sampler ACS.
//!
//! ```
//! use bitmc::step::Cycle;
//! use bitmc::tune::{CycleSettings, CycleTuner, Trial};
//! use bitmc::{Bernoulli, Chain, LaneRng, Layout, SeedableRng, memory};
//!
//! let logits: [f32; 64] = core::array::from_fn(|site| site as f32 / 16.0 - 2.0);
//! let model = Bernoulli::new(&logits).ok_or("no sites")?;
//! let mut rng = LaneRng::seed_from_u64(1);
//! let mut chain = Chain::random(&model, memory!(Layout::binary(64), 0), &mut rng)?;
//! let mut tuner = CycleTuner::new([Trial::default(); 8], CycleSettings::default())?;
//! while let Some(kernel) = tuner.kernel() {
//!     let info = chain.step(&kernel, &mut rng);
//!     tuner.observe(&info); // says what was tried
//! }
//! let kernels = tuner.kernels::<8>()?;
//! let sampler = Cycle::new(&kernels).ok_or("no kernel")?;
//! chain.run(&sampler, &mut rng, 1000, &mut ());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cycle;
mod rate;
mod target;

pub use cycle::{CycleSettings, CycleTuner, Trial};
pub use rate::Rate;
pub use target::RateTuner;

crate::error::errors! {
    /// Why a tuner's setting is illegal.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum TuneError {
        /// A wished rate, a learning rate or a balance is outside its range: (0, 1), and for balances ½ to 1.
        Share(value: f32) => "the share {value} is out of range";
        /// A bound, or its inverse, is not positive and finite.
        Bound(value: f32) => "the bound {value}, or its inverse, is not positive and finite";
        /// The lower bound is above the upper one.
        Order {
            /// The lower bound.
            lower: f32,
            /// The upper bound.
            upper: f32,
        } => "the lower bound {lower} is above the upper one, {upper}";
        /// The first value of a parameter is not within its bounds.
        First(value: f32) => "the first value {value} is not within the bounds";
        /// A count is 0, or there are fewer than two candidates to choose from or two steps in a cycle.
        Count => "a count of the tuner's settings is too small";
    }
}

/// Bounds that can be step sizes.
fn bounds((lower, upper): (f32, f32)) -> Result<(), TuneError> {
    for value in [lower, upper] {
        if !(value > 0.0 && value.is_finite() && (1.0 / value).is_finite()) {
            return Err(TuneError::Bound(value));
        }
    }
    if lower > upper { Err(TuneError::Order { lower, upper }) } else { Ok(()) }
}

/// A share strictly between 0 and 1.
fn share(value: f32) -> Result<(), TuneError> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(TuneError::Share(value)) }
}
