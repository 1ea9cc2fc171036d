//! The probabilities of a step.

/// A step that might be taken, with its probabilities: for tests, and for kernels built from this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition {
    /// `log q(y|x)`; −∞ where a clamped site would move, or an ordinal one past its window.
    pub log_forward: f32,
    /// `log q(x|y)`; −∞ also where y is forbidden, so that no chain comes from there.
    pub log_reverse: f32,
    /// `E(y) − E(x)`.
    pub difference: f32,
    /// ln A, before it is cut at 0; 0 for an unadjusted sampler; −∞ for a move that is never made.
    pub log_ratio: f32,
    /// Whether the energy failed at y.
    pub fault: bool,
}

impl Transition {
    /// One that is never drawn.
    pub(super) const NEVER: Self = Self {
        log_forward: f32::NEG_INFINITY,
        log_reverse: f32::NEG_INFINITY,
        difference: 0.0,
        log_ratio: f32::NEG_INFINITY,
        fault: false,
    };
}
