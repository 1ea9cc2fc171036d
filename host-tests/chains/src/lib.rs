//! One hash: the list of long chains whose bits must be equal on every processor.
//!
//! Each chain hashes the state, the energy and the whole `Info` of every step. The list stands in
//! [`CHAINS`], with the hash that each must have; [`total`] is the hash of them all.
//!
//! **A new sampler** is one line in [`CHAINS`]: write 0 as its hash, run
//! `cargo test --release -p bitmc-host-tests --test hash`, and paste the line that the test prints.
//! **A changed hash** means that a fixed seed gives other draws than before: a breaking change, with a line
//! in the CHANGELOG.
#![no_std]

mod coarse;
mod estimated;
mod flow;
pub mod hash;
mod lattice;
mod learn;
mod many;
pub mod models;
mod numbers;
pub mod plan;
mod run;
mod second_order;
mod side_by_side;
mod sliced;
mod told;
mod used;

use bitmc::step::{Curvature, SwendsenWang, Wolff};
use bitmc::{BlockGibbs, GibbsWithGradients, Langevin, LocallyBalanced, PathAuxiliary};
use bitmc::{EnumeratedGibbs, Gibbs, HammingBall, Layout, RandomWalk, Swap};
use run::{
    bernoulli, cubic_bits, cubic_spins, factors, held_and_resumed, independent_set, ising, ladder, minibatches,
    potts, rbm,
};
use run::{
    chromatic, chromatic_potts, clusters, potts_clusters, quantised, quantised_exchange, quantised_langevin,
    sequential, table,
};
use run::{circle, heights};
use run::{network, network_minibatches};

/// So many steps; a few under Miri or `--cfg bitmc_short`, where the chains have other hashes than the committed ones.
const fn steps(all: u32) -> u32 {
    if cfg!(not(any(miri, bitmc_short))) {
        all
    } else if all > 1000 {
        all / 200
    } else {
        5
    }
}

/// A chain and the hash that it has everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// The model and the sampler.
    pub name: &'static str,
    /// Runs it, from its own seed, and hashes what it does.
    pub run: fn() -> u32,
    /// The committed hash.
    pub hash: u32,
}

/// All of them. A new sampler is one line.
#[rustfmt::skip]
pub const CHAINS: &[Chain] = &[
    Chain { name: "functions: exp, ln and their relatives", run: numbers::functions, hash: 0x57f8_c4e9 },
    Chain { name: "generator: words, uniforms, normals", run: numbers::generator, hash: 0x05e9_bd40 },
    Chain { name: "Ising 5x5: Langevin, adjusted", run: || ising(&Langevin::adjusted(0.6)), hash: 0x2575_5b05 },
    Chain { name: "Ising 5x5: Langevin, unadjusted", run: || ising(&Langevin::unadjusted(0.2)), hash: 0x40e6_4850 },
    Chain { name: "Ising 5x5: Langevin, a curvature a site", run: || ising(&Langevin::new(0.5, Curvature::Each(&models::CURVATURES), true)), hash: 0x2c24_3645 },
    Chain { name: "Ising 5x5: Langevin, balance 0.8", run: || ising(&Langevin::new(0.8, Curvature::Same(2.5), true)), hash: 0xdee0_a56b },
    Chain { name: "Ising 5x5: Langevin, sites held, resumed", run: held_and_resumed, hash: 0x87ff_165b },
    Chain { name: "RBM 64x16: Langevin, adjusted", run: || rbm(&Langevin::adjusted(0.2)), hash: 0x6e5f_f8a9 },
    Chain { name: "RBM 64x16: Langevin, unadjusted", run: || rbm(&Langevin::unadjusted(0.1)), hash: 0x4ad6_7b11 },
    Chain { name: "RBM 64x16: block Gibbs", run: || rbm(&Ok(BlockGibbs)), hash: 0x44cc_d87b },
    Chain { name: "RBM 16x40, a gradient of 16-bit integers: Langevin, adjusted", run: coarse::alone, hash: 0x85fe_a03b },
    Chain { name: "RBM 16x20, a gradient of 16-bit integers: Langevin, four chains together", run: coarse::together, hash: 0xfc22_d7c8 },
    Chain { name: "Ising 5x5: blocks of 4 enumerated", run: || ising(&EnumeratedGibbs::new(models::ISING, 4)), hash: 0xf60b_c4bd },
    Chain { name: "ordinal 20 of 5 values: blocks of 2 enumerated", run: || ladder(&EnumeratedGibbs::new(models::LADDER, 2)), hash: 0x2f70_fb0b },
    Chain { name: "hard constraint: Hamming balls of 2 in 6", run: || independent_set(&HammingBall::new(Layout::binary(40), 6, 2)), hash: 0xe543_8280 },
    Chain { name: "ordinal 20 of 5 values: Hamming balls of 1 in 5", run: || ladder(&HammingBall::new(models::LADDER, 5, 1)), hash: 0x6955_1744 },
    Chain { name: "Ising 5x5: swaps", run: || ising(&Ok(Swap)), hash: 0x73b8_28a6 },
    Chain { name: "Potts 5x5 of 4 values: swaps", run: || potts(&Ok(Swap)), hash: 0x99ea_77c1 },
    Chain { name: "Bernoulli 40: Langevin, adjusted", run: || bernoulli(&Langevin::adjusted(0.5)), hash: 0x9262_5c89 },
    Chain { name: "hard constraint: Langevin, adjusted", run: || independent_set(&Langevin::adjusted(0.15)), hash: 0xa19a_330f },
    Chain { name: "Potts 5x5 of 4 values: Langevin, adjusted", run: || potts(&Langevin::adjusted(1.0)), hash: 0xc87f_1cf3 },
    Chain { name: "Potts 5x5 of 4 values: Langevin, unadjusted", run: || potts(&Langevin::unadjusted(0.4)), hash: 0x3c1f_d7a9 },
    Chain { name: "ordinal 20 of 5 values: Langevin, moves of at most 2", run: || ladder(&Langevin::adjusted(1.0).map(|kernel| kernel.within(2))), hash: 0xf17a_e8da },
    Chain { name: "Ising 5x5: second order, edge-wise", run: || second_order::ising(2.0, 0.8, 1.0), hash: 0x9b62_1d36 },
    Chain { name: "Ising 5x5: second order, edge-wise, precision 0.75", run: || second_order::ising(f32::INFINITY, 0.9, 0.75), hash: 0xfb78_7046 },
    Chain { name: "Ising 5x5: second order, edges in runs", run: || second_order::ising_by_runs(2.0, 0.8), hash: 0x2a71_3906 },
    Chain { name: "Ising 5x5: second order, its own kernel", run: || second_order::ising_itself(2.0, 0.8, 0.75), hash: 0xd34c_4a10 },
    Chain { name: "Ising 5x5: second order, over whole numbers", run: || second_order::ising_discrete(f32::INFINITY, 1.0, 1.0), hash: 0xd4a1_99b3 },
    Chain { name: "Ising 5x5: second order, over whole numbers, precision 0.75", run: || second_order::ising_discrete(2.0, 0.8, 0.75), hash: 0xb5f6_3023 },
    Chain { name: "Ising 4x4: second order, dense", run: || second_order::dense(2.0, 0.8, false), hash: 0xf845_0f5c },
    Chain { name: "Ising 4x4: second order, dense, the same D everywhere", run: || second_order::dense(4.0, 0.9, true), hash: 0xd192_00f5 },
    Chain { name: "Potts 5x5 of 4 values: second order, edge-wise", run: || second_order::potts(4.0, 0.9), hash: 0xa9f8_11ec },
    Chain { name: "ordinal 20 of 5 values: second order, edge-wise", run: || second_order::ladder(4.0, 0.8), hash: 0x2f57_571b },
    Chain { name: "ordinal 20 of 5 values: second order, diagonal", run: || second_order::diagonal(4.0, 0.8), hash: 0x5d93_2d2f },
    Chain { name: "Ising 3x3: second order, W, D and parameters from its burn-in", run: estimated::full, hash: 0x626d_3120 },
    Chain { name: "ordinal 20 of 5 values: second order, W at a pattern and parameters from its burn-in", run: estimated::on_a_pattern, hash: 0xdd9b_a05e },
    Chain { name: "categorical 3 of 70 values: Langevin, adjusted", run: || circle(&Langevin::adjusted(1.0)), hash: 0x5318_46df },
    Chain { name: "ordinal 3 of 300 values: Langevin, moves of at most 20", run: || heights(&Langevin::adjusted(100.0).map(|kernel| kernel.within(20))), hash: 0x278b_2178 },
    Chain { name: "minibatches: Langevin, unadjusted", run: || minibatches(&Langevin::unadjusted(0.1)), hash: 0x004d_01b7 },
    Chain { name: "factors of 2 to 4 values, with walls: Langevin, adjusted", run: || factors(&Langevin::adjusted(1.0)), hash: 0x58bb_4588 },
    Chain { name: "cubic terms over 24 bits: Langevin, adjusted", run: || cubic_bits(&Langevin::adjusted(0.5)), hash: 0xd65c_c28e },
    Chain { name: "cubic terms over 24 spins: Langevin, adjusted", run: || cubic_spins(&Langevin::adjusted(0.1)), hash: 0xddba_c79f },
    Chain { name: "network of 60 weights: Langevin, adjusted", run: || network(&Langevin::adjusted(0.5)), hash: 0x2531_6671 },
    Chain { name: "network of 60 weights, minibatches: Langevin, unadjusted", run: || network_minibatches(&Langevin::unadjusted(0.3)), hash: 0xcaf4_2d83 },
    Chain { name: "lattice Gaussian 12 of 11 values, dense: Langevin, adjusted", run: || lattice::dense(&Langevin::adjusted(2.0)), hash: 0x6bc3_f52a },
    Chain { name: "lattice Gaussian 12 of 11 values, a cycle: Langevin, unadjusted", run: || lattice::sparse(&Langevin::unadjusted(1.0)), hash: 0x4dc9_f047 },
    Chain { name: "Ising 5x5: random walk", run: || ising(&RandomWalk::new(1.5)), hash: 0x5092_1a38 },
    Chain { name: "ordinal 20 of 5 values: random walk", run: || ladder(&RandomWalk::new(2.0)), hash: 0xdd3e_847c },
    Chain { name: "Ising 5x5: Gibbs, systematic", run: || ising(&Ok(Gibbs::systematic())), hash: 0x2d2c_13a1 },
    Chain { name: "hard constraint: Gibbs, random", run: || independent_set(&Gibbs::random(10)), hash: 0x74a5_35fa },
    Chain { name: "Potts 5x5 of 4 values: Gibbs, systematic", run: || potts(&Ok(Gibbs::systematic())), hash: 0x63f2_2d21 },
    Chain { name: "Ising 5x5: Gibbs, sequential from fields", run: sequential, hash: 0xde38_3d12 },
    Chain { name: "Ising 5x5: its own Langevin", run: side_by_side::many_flips, hash: 0xd612_cfa6 },
    Chain { name: "Ising ring of 96: its own Langevin, few flips", run: side_by_side::few_flips, hash: 0x6bd8_774c },
    Chain { name: "Ising 3x3: its own Langevin and any one's, sixteen chains", run: side_by_side::batch, hash: 0x3899_582c },
    Chain { name: "Potts ring of 4 of 3 values: Langevin and Gibbs, sixteen chains", run: side_by_side::potts_batch, hash: 0x0072_30b9 },
    Chain { name: "Ising 5x5: Gibbs, chromatic", run: chromatic, hash: 0x5026_7ee0 },
    Chain { name: "Potts 5x5 of 4 values: Gibbs, chromatic", run: chromatic_potts, hash: 0xae0a_86b5 },
    Chain { name: "Ising 5x5 in whole numbers: Gibbs without floats", run: quantised, hash: 0xb892_1eca },
    Chain { name: "Ising ring of 40 in whole numbers: Gibbs by a table", run: table, hash: 0xc210_c583 },
    Chain { name: "Ising 5x5 in whole numbers: DMALA without floats", run: quantised_langevin, hash: 0xe471_d97e },
    Chain { name: "Ising of six, 512 chains in bits: Gibbs", run: sliced::gibbs, hash: 0x2cf6_3068 },
    Chain { name: "Ising of six, 512 chains in bits: Langevin, adjusted", run: sliced::langevin, hash: 0x3998_d169 },
    Chain { name: "logistic regression 10x20: Langevin, adjusted", run: || lattice::logistic(&Langevin::adjusted(0.5)), hash: 0x76c5_2239 },
    Chain { name: "quartic mixture 6 of 11 values: Langevin, adjusted", run: || lattice::quartic(&Langevin::adjusted(20.0)), hash: 0xb45d_28c4 },
    Chain { name: "modes 2 of 16 values: Langevin, adjusted", run: || lattice::modes(&Langevin::adjusted(30.0)), hash: 0xb583_330a },
    Chain { name: "functions: exp_m1, ln_1p", run: flow::functions, hash: 0x4fab_bee1 },
    Chain { name: "Gaussian 16: energy-sampling dynamics", run: flow::gaussian, hash: 0x6637_b408 },
    Chain { name: "mixture 20: energy-sampling dynamics, step size control, reservoir, replay", run: flow::mixture, hash: 0x3122_f9f2 },
    Chain { name: "dense, funnel, network: HMC, MALA, ULA, thermostat, unscaled", run: flow::comparators, hash: 0x6a4f_2c63 },
    Chain { name: "Ising 5x5: Gibbs with gradients", run: || ising(&GibbsWithGradients::new(1)), hash: 0xa2ad_b626 },
    Chain { name: "Ising 5x5: Gibbs with gradients, 3 indices", run: || ising(&GibbsWithGradients::new(3)), hash: 0x62e3_caa4 },
    Chain { name: "Ising 5x5: path auxiliary, 4 sites", run: || ising(&PathAuxiliary::new(4)), hash: 0xf3a4_83e8 },
    Chain { name: "RBM 64x16: path auxiliary, 5 sites", run: || rbm(&PathAuxiliary::new(5)), hash: 0xce20_2725 },
    Chain { name: "RBM 64x16: locally balanced", run: || rbm(&Ok(LocallyBalanced)), hash: 0xb7c1_ea82 },
    Chain { name: "hard constraint: Gibbs with gradients", run: || independent_set(&GibbsWithGradients::new(2)), hash: 0xd8e5_d000 },
    Chain { name: "hard constraint: locally balanced", run: || independent_set(&Ok(LocallyBalanced)), hash: 0xeec8_9a74 },
    Chain { name: "Potts 5x5 of 4 values: Gibbs with gradients, 2 sites", run: || potts(&GibbsWithGradients::new(2)), hash: 0x1ddc_ac7b },
    Chain { name: "Potts 5x5 of 4 values: path auxiliary, 3 sites", run: || potts(&PathAuxiliary::new(3)), hash: 0xf2b6_310d },
    Chain { name: "Potts 5x5 of 4 values: locally balanced", run: || potts(&Ok(LocallyBalanced)), hash: 0x7c8e_4f4b },
    Chain { name: "ordinal 20 of 5 values: path auxiliary, 3 sites", run: || ladder(&PathAuxiliary::new(3)), hash: 0xb311_5529 },
    Chain { name: "Ising 5x5: ACS", run: || ising(&many::cycle(&many::acs(4.0))), hash: 0xcfae_5b16 },
    Chain { name: "Potts 5x5 of 4 values: ACS", run: || potts(&many::cycle(&many::acs(6.0))), hash: 0x0a67_3535 },
    Chain { name: "ordinal 20 of 5 values: ACS", run: || ladder(&many::cycle(&many::acs(8.0))), hash: 0xc893_2377 },
    Chain { name: "Ising 5x5: replica exchange, resumed", run: many::exchange, hash: 0xbccf_303c },
    Chain { name: "Potts 5x5 of 4 values: annealed importance sampling", run: many::annealing, hash: 0x8042_9a5b },
    Chain { name: "Ising 5x5: tuned to a rate, tuned to a cycle", run: many::tuning, hash: 0x9b22_ef22 },
    Chain { name: "Boltzmann machine of 8: learned by every objective", run: learn::boltzmann, hash: 0xebf0_a3cd },
    Chain { name: "RBM 8x5: learned by PCD with a cyclical sampler", run: learn::rbm, hash: 0x7e4e_4e98 },
    Chain { name: "categorical 3 of 70 values: Gibbs with gradients, 2 indices", run: || circle(&GibbsWithGradients::new(2)), hash: 0x679a_9f0b },
    Chain { name: "ordinal 3 of 300 values: path auxiliary, 2 sites", run: || heights(&PathAuxiliary::new(2)), hash: 0x696a_1ee5 },
    Chain { name: "ordinal 3 of 300 values: locally balanced", run: || heights(&Ok(LocallyBalanced)), hash: 0x52a0_3c0b },
    Chain { name: "hard constraint, told: Langevin, adjusted", run: || told::independent_set(&Langevin::adjusted(0.15)), hash: 0xa19a_330f },
    Chain { name: "hard constraint, told: Gibbs with gradients", run: || told::independent_set(&GibbsWithGradients::new(2)), hash: 0xd8e5_d000 },
    Chain { name: "ordinal 20 of 5 values, told: Langevin, moves of at most 2", run: || told::ladder(&Langevin::adjusted(1.0).map(|kernel| kernel.within(2))), hash: 0xf17a_e8da },
    Chain { name: "ordinal 20 of 5 values, told: ACS", run: || told::ladder(&many::cycle(&many::acs(8.0))), hash: 0xc893_2377 },
    Chain { name: "ordinal 20 of 5 values, told: path auxiliary, 3 sites", run: || told::ladder(&PathAuxiliary::new(3)), hash: 0xb311_5529 },
    Chain { name: "ordinal 20 of 5 values, told: random walk", run: || told::ladder(&RandomWalk::new(2.0)), hash: 0xdd3e_847c },
    Chain { name: "categorical 3 of 70 values, told: Gibbs with gradients, 2 indices", run: || told::circle(&GibbsWithGradients::new(2)), hash: 0x679a_9f0b },
    Chain { name: "categorical 3 of 70 values, told: Langevin, adjusted", run: || told::circle(&Langevin::adjusted(1.0)), hash: 0x5318_46df },
    Chain { name: "Ising 5x5: Swendsen-Wang", run: || clusters(&Ok(SwendsenWang)), hash: 0xc829_80a7 },
    Chain { name: "Ising 5x5: Wolff", run: || clusters(&Ok(Wolff)), hash: 0x2247_9ef3 },
    Chain { name: "Ising 5x5: population annealing", run: many::population, hash: 0xfc38_e196 },
    Chain { name: "Ising 5x5: isoenergetic moves", run: many::isoenergetic, hash: 0xc709_10b8 },
    Chain { name: "Ising 5x5: second order with momentum", run: || second_order::moving_ising(4.0, 0.9, 0.5), hash: 0x6043_1d4e },
    Chain { name: "Ising 5x5: second order with momentum, its own kernel", run: || second_order::moving_itself(2.0, 0.9, 0.8), hash: 0x3038_891a },
    Chain { name: "Ising 5x5: second order with momentum, over whole numbers", run: || second_order::moving_discrete(f32::INFINITY, 1.0, 1.0), hash: 0x92fb_31a6 },
    Chain { name: "Ising 5x5: second order with momentum, over whole numbers, precision 0.75", run: || second_order::moving_discrete(2.0, 0.8, 0.75), hash: 0xde63_547a },
    Chain { name: "Potts 4x4 of 4 values: second order with momentum", run: || second_order::moving_potts(4.0, 0.9, 0.5), hash: 0x38fd_daab },
    Chain { name: "ordinal 20 of 5 values: second order with momentum", run: || second_order::moving_ladder(0.5, false), hash: 0x98dd_0f75 },
    Chain { name: "ordinal 20 of 5 values, told: second order with momentum", run: || second_order::moving_ladder(0.5, true), hash: 0x98dd_0f75 },
    Chain { name: "Potts 5x5 of 4 values: Swendsen-Wang", run: || potts_clusters(&Ok(SwendsenWang)), hash: 0x8e5c_6af5 },
    Chain { name: "Potts 5x5 of 4 values: Wolff", run: || potts_clusters(&Ok(Wolff)), hash: 0xc79e_0c9f },
    Chain { name: "Ising 5x5 in whole numbers: replica exchange without floats", run: quantised_exchange, hash: 0x044a_a119 },
];

/// The hash of all committed hashes: one number to compare.
#[must_use]
pub const fn total() -> u32 {
    before(CHAINS.len()).value()
}

/// The running hash of the first `count` committed hashes: what an image that runs a part of the list starts from.
#[must_use]
pub const fn before(count: usize) -> hash::Hash {
    let mut hash = hash::Hash::new();
    let mut index = 0;
    while index < count {
        hash = hash.with(CHAINS[index].hash);
        index += 1;
    }
    hash
}

/// The `N` chains from `first` on, and nothing of the others: an image that runs a part links no more than that.
#[must_use]
pub const fn part<const N: usize>(first: usize) -> [Chain; N] {
    let mut part = [CHAINS[0]; N];
    let mut index = 0;
    while index < N {
        part[index] = CHAINS[first + index];
        index += 1;
    }
    part
}
