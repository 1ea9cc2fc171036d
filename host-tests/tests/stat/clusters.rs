//! Moves of clusters: rows of their transition matrices by enumeration of all bonds, clamped sites, a torus against its
//! exact solution, and how fast a critical one forgets its magnetisation.

use crate::bonds::{coins, each_set};
use bitmc::step::{SequentialGibbs, SwendsenWang, Wolff};
use bitmc::{Info, Ising, Kernel, LaneRng, Packed, torus};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap;
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::stat::models::complete;
use bitmc_host_tests::stat::replicas::{Plan, pieces};
use bitmc_host_tests::stat::{Batches, Verdict, chi_square};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// Bonds with 1 − e^(−|J|).
    WeakBonds,
    /// Fields forgotten.
    NoFields,
    /// Clusters with a clamped site move, but for that site.
    LooseClamp,
}

#[derive(Clone, Copy, Debug)]
enum Which {
    SwendsenWang,
    Wolff,
}

/// Couplings and fields over spins, in float64.
struct Spins {
    pairs: Vec<(usize, usize, f64)>,
    fields: Vec<f64>,
}

impl Spins {
    fn of(model: &Pairwise) -> Self {
        let (coupling, field) = match model.convention {
            Convention::SpinsEdgesOnce => (1.0, 1.0),
            Convention::SpinsEdgesTwice => (2.0, 1.0),
            Convention::BitsEdgesOnce => (0.25, 0.5),
        };
        let mut fields: Vec<f64> = model.fields.iter().map(|&b| field * f64::from(b)).collect();
        let pairs = model.edges.iter().map(|&(a, b, j)| (a as usize, b as usize, coupling * f64::from(j)));
        let pairs: Vec<_> = pairs.collect();
        if model.convention == Convention::BitsEdgesOnce {
            for &(a, b, j) in &pairs {
                fields[a] += j;
                fields[b] += j;
            }
        }
        Self { pairs, fields }
    }

    /// P(y|x) for all y: the sum over all sets of bonds.
    fn row(&self, which: Which, x: usize, held: usize, flaw: Flaw) -> Vec<f64> {
        let n = self.fields.len();
        let spin = |site: usize| if x >> site & 1 == 1 { 1.0 } else { -1.0 };
        let strength = if flaw == Flaw::WeakBonds { 1.0 } else { 2.0 };
        let mut favoured: Vec<_> = self.pairs.iter().map(|&(a, b, j)| (a, b, j * spin(a) * spin(b))).collect();
        let field = |site: usize| if flaw == Flaw::NoFields { 0.0 } else { self.fields[site] };
        if matches!(which, Which::SwendsenWang) {
            // The ghost is site n.
            favoured.extend((0..n).map(|site| (site, n, field(site) * spin(site))));
        }
        let mut row = vec![0.0; 1 << n];
        each_set(n + 1, favoured, strength, |probability, cluster| {
            let stays = |cluster: usize| cluster & (held | 1 << n) != 0 && flaw != Flaw::LooseClamp;
            match which {
                Which::SwendsenWang => {
                    let outcomes = coins((0..n).map(|site| cluster[site]).filter(|&c| !stays(c)));
                    let share = probability / outcomes.len() as f64;
                    outcomes.iter().for_each(|flips| row[x ^ (flips & !held & ((1 << n) - 1))] += share);
                }
                Which::Wolff => {
                    for &cluster in &cluster[..n] {
                        let probability = probability / n as f64;
                        if stays(cluster) {
                            row[x] += probability;
                            continue;
                        }
                        let inside = (0..n).filter(|site| cluster >> site & 1 == 1);
                        let accepted =
                            (-2.0 * inside.map(|site| field(site) * spin(site)).sum::<f64>()).exp().min(1.0);
                        row[x ^ (cluster & !held)] += probability * accepted;
                        row[x] += probability * (1.0 - accepted);
                    }
                }
            }
        });
        row
    }

    /// The largest |π(x)P(y|x) − π(y)P(x|y)| over all pairs.
    fn asymmetry(&self, which: Which, distribution: &[f64], flaw: Flaw) -> f64 {
        let rows: Vec<_> = (0..distribution.len()).map(|x| self.row(which, x, 0, flaw)).collect();
        let pairs = (0..distribution.len()).flat_map(|x| (0..x).map(move |y| (x, y)));
        pairs
            .map(|(x, y)| (distribution[x] * rows[x][y] - distribution[y] * rows[y][x]).abs())
            .fold(0.0, f64::max)
    }
}

fn five(convention: Convention) -> Pairwise {
    Pairwise { convention, ..complete(5, 0.6, 21) }
}

#[test]
fn all_bonds_enumerated_are_in_detailed_balance() {
    for convention in Convention::ALL {
        let model = five(convention);
        let distribution = Distribution::of(&model).probabilities;
        for which in [Which::SwendsenWang, Which::Wolff] {
            let off = |flaw| Spins::of(&model).asymmetry(which, &distribution, flaw);
            assert!(off(Flaw::None) < 1e-15, "{which:?} {convention:?}: {}", off(Flaw::None));
            for flaw in [Flaw::WeakBonds, Flaw::NoFields] {
                assert!(off(flaw) > 1e-4, "the check cannot see {flaw:?} of {which:?}: {}", off(flaw));
            }
        }
    }
}

/// The kernel's own steps from one state beside its row.
fn rows<K>(which: Which, kernel: &K, held: usize, flaws: &[Flaw])
where
    K: for<'a> Kernel<Ising<'a>> + Sync,
{
    for (number, convention) in (0..).zip(Convention::ALL) {
        let model = five(convention);
        let mut memory = model.couplings();
        let ising = memory.ising(&model).unwrap();
        for x in [0b00000, 0b10110, 0b01101, 0b11111] {
            let mut at = vec![0.0; 32];
            at[x] = 1.0;
            let plan = Plan { replicas: 256_000, steps: 1, seed: 500 + 32 * number + x as u64 };
            let ends = plan.ends(&ising, kernel, &at, held as u32);
            let check = |flaw| {
                let row = Spins::of(&model).row(which, x, held, flaw);
                let impossible = (0..32).any(|y| row[y] == 0.0 && ends[y] > 0);
                (
                    impossible,
                    chi_square(&format!("{which:?} {convention:?} from {x:05b}, {flaw:?}"), &ends, &row),
                )
            };
            let (impossible, verdict) = check(Flaw::None);
            assert!(!impossible, "{which:?} {convention:?}: an impossible end from {x:05b}");
            verdict.must_pass();
            for &flaw in flaws {
                let (impossible, verdict) = check(flaw);
                if !impossible {
                    verdict.must_fail();
                }
            }
        }
    }
}

#[test]
fn steps_are_those_of_the_enumerated_bonds() {
    rows(Which::SwendsenWang, &SwendsenWang, 0, &[Flaw::WeakBonds, Flaw::NoFields]);
    rows(Which::Wolff, &Wolff, 0, &[Flaw::WeakBonds]);
}

#[test]
fn clusters_with_a_clamped_site_stay() {
    rows(Which::SwendsenWang, &SwendsenWang, 0b00101, &[Flaw::WeakBonds, Flaw::LooseClamp]);
    rows(Which::Wolff, &Wolff, 0b00101, &[Flaw::WeakBonds, Flaw::LooseClamp]);
}

#[test]
fn chains_keep_the_distribution() {
    let model = complete(7, 1.0, 11);
    let distribution = Distribution::of(&model).probabilities;
    let (held, at) = (0b010_0101, 0b000_0100);
    let given = Distribution::of(&model).given(held, at).probabilities;
    let mut memory = model.couplings();
    let ising = memory.ising(&model).unwrap();
    let usual = Plan::usual(70);
    chi_square("Swendsen-Wang", &usual.ends(&ising, &SwendsenWang, &distribution, 0), &distribution)
        .must_pass();
    chi_square("Wolff", &usual.ends(&ising, &Wolff, &distribution, 0), &distribution).must_pass();
    let mut ends = usual.ends(&ising, &SwendsenWang, &given, held as u32);
    chi_square("Swendsen-Wang, clamped", &ends, &given).must_pass();
    ends = usual.ends(&ising, &Wolff, &given, held as u32);
    chi_square("Wolff, clamped", &ends, &given).must_pass();
    chi_square("clamped, taken for free", &ends, &distribution).must_fail();
}

/// Steps of 64 chains on a torus, and what is seen after each, from the second half on.
fn torus_chains<K>(side: u32, coupling: f32, kernel: &K, steps: u32, seed: u64) -> Vec<Vec<(f64, f64)>>
where
    K: for<'a> Kernel<Ising<'a>> + Sync,
{
    let sites = (side * side) as usize;
    let edges: Vec<_> = torus(side, side, coupling).collect();
    let model = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields: vec![0.0; sites] };
    let mut memory = model.couplings();
    let ising = memory.ising(&model).unwrap();
    pieces(|piece| {
        let mut rng = LaneRng::stream(seed, piece);
        let mut chain = heap::random_chain(&ising, &mut rng).unwrap();
        let mut seen = Vec::new();
        let look = bitmc::stats::Watch(|x: Packed<'_>, energy: f32, _: &Info| {
            let magnetisation = (2.0 * x.ones() as f64 / sites as f64 - 1.0).abs();
            seen.push((magnetisation, f64::from(energy) / (f64::from(coupling) * sites as f64)));
        });
        chain.run(kernel, &mut rng, u64::from(steps), &mut { look });
        seen.split_off(steps as usize / 2)
    })
}

#[test]
fn a_torus_against_its_exact_energy() {
    // K, energy a spin of 20×20 (Kaufman 1949).
    for (seed, coupling, energy) in [(80, 0.4, -1.117_833_875_768_002), (81, 0.5, -1.745_557_124_996_955_8)] {
        let check = |name: &str, chains: Vec<Vec<(f64, f64)>>, weaker: f64| {
            let means =
                chains.iter().map(|seen| seen.iter().map(|seen| seen.1).sum::<f64>() / seen.len() as f64);
            Batches(means.collect())
                .against(&format!("20x20 at {coupling}, {name}, weaker by {weaker}"), energy)
        };
        let all = |weaker: f32| {
            let coupling = coupling * (1.0 - weaker);
            let all = torus_chains(20, coupling, &SwendsenWang, 1000, seed);
            let one = torus_chains(20, coupling, &Wolff, 4000, seed + 10);
            [check("Swendsen-Wang", all, weaker.into()), check("Wolff", one, weaker.into())]
        };
        Verdict::worst(all(0.0)).must_pass();
        all(0.02).iter().for_each(Verdict::must_fail);
    }
}

/// Of |m|, over all chains.
fn autocorrelation(chains: &[Vec<(f64, f64)>], lag: usize) -> f64 {
    let values = || chains.iter().flatten().map(|seen| seen.0);
    let count = values().count() as f64;
    let mean = values().sum::<f64>() / count;
    let variance = values().map(|m| (m - mean).powi(2)).sum::<f64>() / count;
    let pairs = chains.iter().flat_map(|seen| seen.iter().zip(&seen[lag..]));
    let products: Vec<f64> = pairs.map(|(a, b)| (a.0 - mean) * (b.0 - mean)).collect();
    products.iter().sum::<f64>() / products.len() as f64 / variance
}

#[test]
fn a_critical_torus_forgets_its_magnetisation_in_few_steps() {
    let clusters = torus_chains(64, 0.440_7, &SwendsenWang, 600, 90);
    let sites = torus_chains(64, 0.440_7, &SequentialGibbs, 3000, 91);
    let (after, beside) = (autocorrelation(&clusters, 40), autocorrelation(&sites, 40));
    println!("|m| on 64x64, 40 steps later: Swendsen-Wang {after:.3}, Gibbs sweeps {beside:.3}");
    assert!(after < 0.1 && beside > 0.6);
}
