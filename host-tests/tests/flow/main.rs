//! Samplers over real vectors: ESH, HMC and what they are compared with.

mod exact;
mod potentials;
mod stat;
