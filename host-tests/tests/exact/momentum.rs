//! Second order with momentum. Over whole numbers all states (x, k) of small models are enumerated: every step is taken by
//! words that are given, and its flows are those of generalised detailed balance,
//! `π(a)K(a→c) = π(Sc)K(Sc→Sa)` with S the negation of k. That a step draws as it says is in `stat/momentum.rs`.

use bitmc::lane::LANES;
use bitmc::noise::{Dense, DenseMatrix, Edgewise, Noise, Run, SparseMatrix};
use bitmc::random::DiscreteGaussian;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use bitmc::step::IsingBalanced;
use bitmc::{
    Bernoulli, Chain, Energy, Ising, Kernel, LaneRng, Langevin, Memory, Packed, Rng, SeedableRng, torus,
};
use bitmc_host_tests::enumerate;
use bitmc_host_tests::heap::{self, HeapChain};
use bitmc_host_tests::listed::Listed;
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::snapshot::{load, save};
use bitmc_host_tests::tolerance;
use core::convert::Infallible;
use rand_core::{TryRng, utils};
use rand_xoshiro::SplitMix64;
use std::collections::BTreeMap;

/// The part of a snapshot with x and k in the places where a chain has its own.
struct With<'a> {
    of: &'a [u8],
    x: u32,
    k: &'a [i16],
}

/// Bytes before the state: name, layout, energy, faults, steps. Behind it: the mask, a key and a length.
const STATE: usize = 4 + 9 + 8 + 4 + 8;
const HEAD: usize = 12;
const KEPT: usize = STATE + 4 + 4 + 12;

impl Snapshot for With<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        let mut bytes = self.of.to_vec();
        bytes[STATE..STATE + 4].copy_from_slice(&self.x.to_le_bytes());
        for (slot, k) in bytes[KEPT..].chunks_mut(2).zip(self.k) {
            slot.copy_from_slice(&k.to_le_bytes());
        }
        to.bytes(&bytes);
    }

    fn load(&mut self, _: &mut Reader<'_>) -> Result<(), SnapshotError> {
        unreachable!()
    }
}

/// The part of a chain in a snapshot.
fn part<E: Energy>(chain: &HeapChain<'_, E>) -> Vec<u8> {
    let bytes = save(&[chain]);
    bytes[HEAD..bytes.len() - 4].to_vec()
}

/// The whole numbers that a chain keeps.
fn kept<E: Energy>(chain: &HeapChain<'_, E>, edges: usize) -> Vec<i16> {
    part(chain)[KEPT..].chunks(2).take(edges).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// What ends a step: as it should be, and broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Negated {
    Always,
    OnRejectionOnly,
    Never,
}

/// How far the flows of all states are from what they should be.
#[derive(Debug)]
struct Found {
    asymmetry: f64,
    invariance: f64,
    /// The largest |ln A| of a flow.
    log_ratio: f64,
    flows: usize,
}

/// All flows of one model of three sites, coupled by `edges`. A state is (x, k); k is what a step begins with, after a
/// refresh that keeps all of it.
struct Flows {
    states: usize,
    most: i16,
    edges: usize,
    pi: Vec<f64>,
    /// From, to, probability, ln A.
    flows: Vec<(usize, usize, f64, f64)>,
}

impl Flows {
    fn number(&self, x: usize, k: &[i16]) -> Option<usize> {
        let base = 2 * self.most as usize + 1;
        k.iter()
            .rev()
            .try_fold(0, |number, &k| {
                (-self.most..=self.most).contains(&k).then(|| number * base + (k + self.most) as usize)
            })
            .map(|number| number * 8 + x)
    }

    fn state(&self, number: usize) -> (usize, Vec<i16>) {
        let base = 2 * self.most as usize + 1;
        let (x, mut rest) = (number % 8, number / 8);
        let k = (0..self.edges).map(|_| {
            let k = (rest % base) as i16 - self.most;
            rest /= base;
            k
        });
        (x, k.collect())
    }

    fn of(
        target: &Pairwise,
        sampler: &IsingBalanced<'_, true>,
        energy: &Ising<'_>,
        parts: f64,
        distribution: f64,
    ) -> Self {
        let edges = target.edges.len();
        let most = (40.0 / distribution).sqrt() as i16 + parts as i16;
        let states = 8 * (2 * most as usize + 1).pow(edges as u32);
        let mut found = Self { states, most, edges, pi: vec![0.0; states], flows: Vec::new() };
        let log_pi: Vec<f64> = (0..8).map(|x| -target.energy(&enumerate::values(x, 3))).collect();
        for number in 0..states {
            let (x, k) = found.state(number);
            let squares: f64 = k.iter().map(|&k| f64::from(k).powi(2)).sum();
            found.pi[number] = (log_pi[x] - 0.5 * distribution * squares).exp();
        }
        let total: f64 = found.pi.iter().sum();
        found.pi.iter_mut().for_each(|p| *p /= total);

        let mut rng = LaneRng::seed_from_u64(1);
        let mut chain = heap::moving_chain(energy, sampler.momentum_blocks(), &mut rng).unwrap();
        chain.step(sampler, &mut rng);
        let of = part(&chain);
        let step = 4.0 * f64::from(target.edges[0].2.abs()) / parts;
        for number in 0..states {
            let (x, k) = found.state(number);
            let mut eta = [[0.0; LANES]];
            for (&k, &(a, b, coupling)) in k.iter().zip(&target.edges) {
                eta[0][a as usize] += (step * f64::from(k)) as f32;
                eta[0][b as usize] += (step * f64::from(k) * f64::from(coupling.signum())) as f32;
            }
            // Each step of eight: every site by the lowest or the highest of its sixteen bits.
            let minus: Vec<i16> = k.iter().map(|k| -k).collect();
            let mut ends = BTreeMap::new();
            for bits in 0..8u32 {
                // Draws that nobody takes, coins that keep all, the sites; then a uniform that accepts, or does not.
                let mut words = vec![0x7FFF_7FFF; LANES];
                words.extend([0; LANES]);
                words.extend(
                    (0..LANES as u32).map(|site| if bits >> site & 1 == 1 { 0xFFFF_FFFF } else { 0xFFFF_0000 }),
                );
                for accepts in [true, false] {
                    let mut words = words.clone();
                    // Words that decide ties come before it: such a site does what is rare, or does not.
                    words.extend(if accepts { [0; 80] } else { [u32::MAX; 80] });
                    let bytes = save(&[&With { of: &of, x: x as u32, k: &minus }]);
                    load(&bytes, &mut [&mut chain]).unwrap();
                    chain.refresh().unwrap();
                    let info = Kernel::step(sampler, chain.ring(), &mut Listed(&words));
                    assert!(!info.fault);
                    let y = chain.state().words()[0] as usize;
                    if info.accepted {
                        ends.insert(y, (kept(&chain, edges), f64::from(info.log_ratio)));
                    } else {
                        assert_eq!((y, kept(&chain, edges)), (x, k.clone()));
                    }
                }
            }
            let mut stays = 0.0;
            let mut all = 0.0;
            for y in 0..8 {
                let word = [y as u32];
                let mut there = heap::chain(energy, &[x as u32]).unwrap();
                let to = Packed::new(energy.layout(), &word).unwrap();
                let given = sampler.transition_given(there.ring(), to, &eta).unwrap();
                let q = f64::from(given.log_forward).exp();
                all += q;
                let Some((after, log_ratio)) = ends.get(&y) else {
                    // Never proposed, or never accepted.
                    stays += q;
                    continue;
                };
                let a = log_ratio.min(0.0).exp();
                stays += q * (1.0 - a);
                if let Some(end) = found.number(y, after) {
                    found.flows.push((number, end, q * a, *log_ratio));
                }
            }
            assert!((all - 1.0).abs() < tolerance::ROW_SUM, "{all}");
            found.flows.push((number, number, stays, 0.0));
        }
        found
    }

    /// The state with −k.
    fn reversed(&self, number: usize) -> usize {
        let (x, k) = self.state(number);
        self.number(x, &k.iter().map(|k| -k).collect::<Vec<_>>()).unwrap()
    }

    /// With what ends a step: a move to c ends at Sc.
    fn judge(&self, negated: Negated) -> Found {
        let mut flow = BTreeMap::new();
        let mut after = vec![0.0; self.states];
        let mut log_ratio = 0.0f64;
        for &(from, to, p, ratio) in &self.flows {
            let rejected = from == to;
            let end = match negated {
                Negated::Always => self.reversed(to),
                Negated::OnRejectionOnly if rejected => self.reversed(to),
                Negated::OnRejectionOnly | Negated::Never => to,
            };
            let p = self.pi[from] * p;
            if p > tolerance::LEAST_FLOW {
                *flow.entry((from, end)).or_insert(0.0) += p;
                log_ratio = log_ratio.max(ratio.abs());
            }
            after[end] += p;
        }
        let mut asymmetry = 0.0f64;
        for (&(from, end), &there) in &flow {
            let back = flow.get(&(self.reversed(end), self.reversed(from))).copied().unwrap_or(0.0);
            asymmetry = asymmetry.max((there - back).abs() / f64::max(there, back));
        }
        // The outermost states have flows from others that are not enumerated.
        let invariance = after.iter().zip(&self.pi).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        Found { asymmetry, invariance, log_ratio, flows: flow.len() }
    }
}

fn target(coupling: f32, edges: &[(u32, u32, f32)]) -> Pairwise {
    Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: edges.iter().map(|&(a, b, sign)| (a, b, sign * coupling)).collect(),
        fields: vec![0.3, -0.7, 0.1],
    }
}

#[test]
fn flows_over_whole_numbers_balance_up_to_negation() {
    let path = [(0, 1, 1.0), (1, 2, -1.0)];
    // |W| = 4J: a grid of one part and of two; the parts and the precision of whole numbers.
    let cases = [
        (0.3, 1.0, f32::INFINITY, 1.0, 1.0),
        (0.3, 1.0, 0.9, 0.7, 1.0),
        (0.4, 1.2, 1.5, 0.8, 1.0),
        (0.6, 1.0, f32::INFINITY, 1.0, 2.0),
    ];
    for (coupling, precision, step_size, balance, parts) in cases {
        let target = target(coupling, &path);
        let mut memory = target.couplings();
        let energy = memory.ising(&target).unwrap();
        let matrix = SparseMatrix::of(energy.form());
        let (mut d, mut runs) = ([[0.0; LANES]], [Run::default(); 4]);
        let noise = Edgewise::new(matrix, &mut d).unwrap();
        let by_runs = noise.by_runs(&mut runs).unwrap();
        let distribution = f64::from(precision) * 4.0 * f64::from(coupling) / parts / parts;
        for (noise, metropolis) in [(noise, false), (noise, true), (by_runs, true)] {
            let sampler = IsingBalanced::discrete(noise, step_size, balance).unwrap();
            let sampler = sampler.precision(precision).unwrap().momentum(0.5).unwrap();
            let sampler = if metropolis { sampler.metropolis_flips().unwrap() } else { sampler };
            let flows = Flows::of(&target, &sampler, &energy, parts, distribution);
            let right = flows.judge(Negated::Always);
            println!("J {coupling}, σ {step_size}, α {balance}, {metropolis}: {right:?}");
            assert!(right.flows > 1000);
            assert!(right.asymmetry <= tolerance::ASYMMETRY, "{right:?}");
            assert!(right.invariance <= tolerance::STATIONARITY, "{right:?}");
            if step_size == f32::INFINITY {
                assert_eq!(right.log_ratio, 0.0);
                continue;
            }
            // Negative controls. Without a rejection the first is as the second.
            let broken = flows.judge(Negated::OnRejectionOnly);
            println!("negated on rejection only: {broken:?}");
            assert!(broken.invariance > 100.0 * tolerance::STATIONARITY, "{broken:?}");
            let never = flows.judge(Negated::Never);
            assert!(never.asymmetry > 0.1 && never.invariance <= tolerance::STATIONARITY, "{never:?}");
        }
    }
}

/// A generator all of whose draws of whole numbers are decided by their first word.
#[derive(Clone)]
struct Clear(LaneRng);

impl TryRng for Clear {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32() | 0x0040_0040)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        bytes.iter_mut().step_by(2).for_each(|byte| *byte |= 0x40);
        Ok(())
    }
}

/// Of a path of couplings W, 0 and −W, edge by edge: what is drawn, kept, added up and moved along. By rows edges of 0 have no
/// number, by runs they have one that nothing changes.
#[test]
fn whole_numbers_are_those_of_their_edges() {
    const SITES: usize = 700;
    let coupling = |edge: u32| [0.25, 0.0, -0.25][usize::from(edge >= 300) + usize::from(edge >= 340)];
    let edges: Vec<_> = (0..SITES as u32 - 1).map(|a| (a, a + 1, coupling(a))).collect();
    let target = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields: vec![0.1; SITES] };
    let mut memory = target.couplings();
    let energy = memory.ising(&target).unwrap();
    let matrix = SparseMatrix::of(energy.form());
    let mut d = vec![[0.0; LANES]; Edgewise::blocks(SITES)];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    assert_eq!(runs.len(), 3);
    let by_rows = Edgewise::new(matrix, &mut d).unwrap();
    let samplers = [by_rows, by_rows.by_runs(&mut runs).unwrap()]
        .map(|noise| IsingBalanced::discrete(noise, f32::INFINITY, 0.99).unwrap().momentum(0.5).unwrap());
    // |W| = 1 on a grid of one part.
    let gaussian = DiscreteGaussian::new(1.0).unwrap();
    let mut rng = Clear(LaneRng::seed_from_u64(14));
    let mut chain = heap::moving_chain(&energy, samplers[0].momentum_blocks(), &mut rng).unwrap();
    let from = STATE + 8 * energy.layout().words() + 12;
    let (mut k, mut before) = (vec![0i16; SITES - 1], None);
    let mut accepted = 0;
    for step in 0..20 {
        // Runs and rows have other orders: with the other one the numbers begin anew.
        let by_runs = step / 4 % 2 == 1;
        let mut words = rng.clone();
        for k in k.chunks_mut(512) {
            let pieces = k.len().div_ceil(32);
            let fresh: Vec<i16> = (0..pieces).flat_map(|_| gaussian.draw(&mut words)).collect();
            let mut coins = vec![0; 64 * pieces];
            if before == Some(by_runs) {
                words.fill_bytes(&mut coins);
            }
            for ((k, fresh), coin) in k.iter_mut().zip(fresh).zip(coins.chunks(2)) {
                let stays = before == Some(by_runs) && u16::from_le_bytes([coin[0], coin[1]]) < 1 << 15;
                *k = if stays { -*k } else { fresh };
            }
        }
        before = Some(by_runs);
        let state = chain.state().words().to_vec();
        let info = chain.step(&samplers[usize::from(by_runs)], &mut rng);
        assert!(!info.fault);
        if info.accepted {
            let mut eta = vec![[0.0; LANES]; SITES.div_ceil(LANES)];
            let after = heap::unpack(chain.state());
            let old = heap::unpack(Packed::new(energy.layout(), &state).unwrap());
            let v = |site: u32| (after[site as usize] - old[site as usize]) as i16;
            let mut numbers = k.iter_mut();
            for &(a, b, coupling) in target.edges.iter().filter(|edge| by_runs || edge.2 != 0.0) {
                let k = numbers.next().unwrap();
                if coupling != 0.0 {
                    let sign = if coupling > 0.0 { 1 } else { -1 };
                    eta.as_flattened_mut()[a as usize] += f32::from(*k);
                    eta.as_flattened_mut()[b as usize] += f32::from(sign * *k);
                    *k -= v(a) + sign * v(b);
                }
            }
            let mut other = heap::chain(&energy, &state).unwrap();
            let said = samplers[0].transition_given(other.ring(), chain.state(), &eta).unwrap();
            assert!((said.log_ratio - info.log_ratio).abs() < 1e-3, "step {step}: {said:?} {info:?}");
            accepted += 1;
        }
        let bytes = part(&chain);
        let found = bytes[from..].chunks(2).take(SITES - 1).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
        assert_eq!(found.collect::<Vec<_>>(), k, "step {step}");
    }
    assert!(accepted >= 10, "{accepted}");
}

/// The finaliser of SplitMix64, as another crate has it, of a key and a number.
fn mixed(key: u64, number: u64) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let before = (key.wrapping_add(STEP) ^ number).wrapping_sub(STEP);
    SplitMix64::from_seed(before.to_le_bytes()).next_u64()
}

/// What is kept has a name in a snapshot, which goes on under every build: of W, D, κ and the grid.
#[test]
fn the_key_in_a_snapshot_is_a_hash_of_the_parameters() {
    // |W| = 1 on a path.
    let target = target(0.25, &[(0, 1, 1.0), (1, 2, -1.0)]);
    let mut memory = target.couplings();
    let energy = memory.ising(&target).unwrap();
    let mut d = [[0.0; LANES]];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let bits = |number: f32| u64::from(number.to_bits());
    // The diagonal of each row, and its entries with the number of the other site before them.
    let rows = [vec![bits(0.0), 1 << 32 | bits(1.0)], vec![bits(0.0), bits(1.0), 2 << 32 | bits(-1.0)]];
    let rows = rows.into_iter().chain([vec![bits(0.0), 1 << 32 | bits(-1.0)]]).flatten();
    let d = (0..LANES).map(|site| bits([1.0, 2.0, 1.0].get(site).copied().unwrap_or(0.0)));
    let of_d = rows.chain(d).fold(0, mixed);
    for precision in [1.0f32, 0.4, 1.7] {
        let floats = IsingBalanced::new(noise, 0.9, 0.7).unwrap();
        let whole = IsingBalanced::discrete(noise, 0.9, 0.7).unwrap();
        let of_floats = mixed(of_d, bits(precision)) & !1;
        // λ, the unit of the grid, and no runs.
        let of_whole = [bits(precision), bits(1.0), 0].into_iter().fold(of_d, mixed) | 1;
        for (sampler, key) in [(floats, of_floats), (whole, of_whole)] {
            let sampler = sampler.precision(precision).unwrap().momentum(0.5).unwrap();
            let mut rng = LaneRng::seed_from_u64(1);
            let mut chain = heap::moving_chain(&energy, sampler.momentum_blocks(), &mut rng).unwrap();
            assert!(!chain.step(&sampler, &mut rng).fault);
            assert_eq!(part(&chain)[KEPT - 12..KEPT - 4], key.to_le_bytes(), "κ {precision}");
        }
    }
}

/// Of couplings of two signs D is the same, and what one draws says nothing of what the other would have drawn.
#[test]
fn what_another_matrix_drew_is_not_kept() {
    const SITES: usize = 8;
    let ring = |coupling: f32| Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: (0..SITES as u32).map(|a| (a, (a + 1) % SITES as u32, coupling)).collect(),
        fields: vec![0.0; SITES],
    };
    let (plus, minus) = (ring(0.6), ring(-0.6));
    let (mut of_plus, mut of_minus) = (plus.couplings(), minus.couplings());
    let (plus, minus) = (of_plus.ising(&plus).unwrap(), of_minus.ising(&minus).unwrap());
    let matrices = [&plus, &minus, &plus].map(|energy| SparseMatrix::of(energy.form()));
    let mut d = [[[0.0; LANES]; Edgewise::blocks(SITES)]; 3];
    let mut noises = matrices.into_iter().zip(&mut d).map(|(matrix, d)| Edgewise::new(matrix, d).unwrap());
    kept_of_the_same_noise_only(core::array::from_fn(|_| noises.next().unwrap()));
    let mut memory = [[[[0.0; LANES]; Dense::root_blocks(SITES)]; 2]; 3];
    let mut d = [[[5.0; LANES]]; 3];
    let mut noises = matrices.into_iter().zip(&mut d).zip(&mut memory).map(|((matrix, d), [rows, root])| {
        Dense::new(DenseMatrix::of(&matrix, rows).unwrap(), d, root).unwrap()
    });
    kept_of_the_same_noise_only(core::array::from_fn(|_| noises.next().unwrap()));
}

/// Of two noises, and the first again.
fn kept_of_the_same_noise_only<N: Noise + Copy>([noise, another, same]: [N; 3]) {
    let target = Bernoulli::new(&[0.3; 8]).unwrap();
    let sampler = |noise| Langevin::second_order(noise, 2.0, 1.0).unwrap().momentum(0.9).unwrap();
    for (next, goes_on) in [(another, false), (same, true)] {
        let mut differ = 0;
        for seed in 0..50 {
            let mut rng = LaneRng::seed_from_u64(seed);
            let mut chain = heap::moving_chain(&target, 1, &mut rng).unwrap();
            chain.step(&sampler(noise), &mut rng);
            let words = chain.state().words().to_vec();
            let state = Packed::new(target.layout(), &words).unwrap();
            let memory = heap::moving_memory(&target, 1);
            let mut without = Chain::resume(&target, memory, state, chain.core()).unwrap();
            let step = chain.step(&sampler(next), &mut rng.clone());
            differ += u32::from(without.step(&sampler(next), &mut rng) != step);
        }
        assert_eq!(differ > 10, goes_on, "{differ}");
        assert!(goes_on || differ == 0, "{differ}");
    }
}

/// Of whole numbers all would stay for ever.
#[test]
fn a_share_of_whole_numbers_is_drawn_again_however_many_are_kept() {
    let target = Pairwise { edges: torus(10, 10, 0.25).collect(), fields: vec![0.1; 100], ..target(0.0, &[]) };
    let mut memory = target.couplings();
    let energy = memory.ising(&target).unwrap();
    let mut d = [[0.0; LANES]; Edgewise::blocks(100)];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let states = |keep: f32| {
        let sampler = IsingBalanced::discrete(noise, f32::INFINITY, 1.0).unwrap().momentum(keep).unwrap();
        let mut rng = LaneRng::seed_from_u64(1);
        let mut chain = heap::moving_chain(&energy, sampler.momentum_blocks(), &mut rng).unwrap();
        (0..2000).map(|_| (chain.step(&sampler, &mut rng), chain.state().words().to_vec())).collect::<Vec<_>>()
    };
    let most = states(1.0 - 2f32.powi(-16));
    assert!(most == states(1f32.next_down()));
    assert!(most != states(1.0 - 2f32.powi(-15)));
}

/// Of fewer blocks than gradients have, of as many, and of more: with one block less there is no room.
#[test]
fn the_blocks_for_whole_numbers_are_the_least_with_room() {
    let pairs = (0..16).flat_map(|a| (0..a).map(move |b| (b, a, 0.25)));
    for edges in [20, 32, 33, 64, 65, 96, 120] {
        let mut memory = heap::Couplings::new(16, edges);
        let energy = Ising::spins_edges_once(16, pairs.clone().take(edges), &[], memory.borrow()).unwrap();
        let mut d = [[0.0; LANES]];
        let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
        let sampler = IsingBalanced::discrete(noise, 1.0, 0.9).unwrap().momentum(0.5).unwrap();
        let need = sampler.weights_and_momentum(energy.layout()) - Memory::weights(energy.layout());
        for (blocks, fault) in [(need, false), (need - 1, true)] {
            let mut rng = LaneRng::seed_from_u64(1);
            let mut chain = heap::moving_chain(&energy, blocks, &mut rng).unwrap();
            assert_eq!(chain.step(&sampler, &mut rng).fault, fault, "{edges} edges, {blocks} blocks");
        }
    }
}

/// No whole number above 32 is ever drawn: a move to one is rejected, one to 32 itself is not.
#[test]
fn whole_numbers_move_up_to_the_largest_that_is_drawn() {
    // |W| = 1/16, the weakest there is.
    let mut memory = heap::Couplings::new(2, 1);
    let energy = Ising::spins_edges_once(2, [(0, 1, 1.0 / 64.0)], &[], memory.borrow()).unwrap();
    let mut d = [[0.0; LANES]];
    let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
    let sampler = IsingBalanced::discrete(noise, f32::INFINITY, 1.0).unwrap().momentum(0.5).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = heap::moving_chain(&energy, sampler.momentum_blocks(), &mut rng).unwrap();
    chain.step(&sampler, &mut rng);
    let of = part(&chain);
    // Draws that nobody takes and coins that keep all; site 0 goes down and site 1 stays up; what decides a tie and accepts.
    let mut words = vec![0x7FFF_7FFF; LANES];
    words.extend([0; LANES]);
    words.extend((0..LANES).map(|site| if site == 0 { 0xFFFF_0000 } else { u32::MAX }));
    words.extend([0; 80]);
    for (k, legal) in [(30, true), (31, true), (32, false)] {
        load(&save(&[&With { of: &of, x: 3, k: &[-k] }]), &mut [&mut chain]).unwrap();
        chain.refresh().unwrap();
        let info = Kernel::step(&sampler, chain.ring(), &mut Listed(&words));
        assert_eq!((info.proposed, info.accepted), (1, legal), "{k}");
        assert_eq!(info.log_ratio, if legal { 0.0 } else { f32::NEG_INFINITY }, "{k}");
        assert_eq!(kept(&chain, 1), [if legal { k + 1 } else { k }]);
    }
}
