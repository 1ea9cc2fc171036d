//! Statistical tests: fixed seeds, a stated rate of false alarms, and a broken variant that the same test rejects.

mod adapt;
mod anneal;
mod baselines;
mod bonds;
mod clusters;
mod estimate;
mod exact_start;
mod many_values;
mod medium;
mod momentum;
mod noise;
mod observers;
mod paths;
mod physics;
mod potts_clusters;
mod precondition;
mod rbm16;
mod rbm500;
mod sliced;
mod temper;
mod transitions;
