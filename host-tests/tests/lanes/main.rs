//! What registers compute and what runs along their lanes, bit for bit or within a bound.

mod batch;
mod numbers;
mod potts_batch;
mod random;
mod sliced;
mod totals;
