//! Moves of clusters of Potts models: rows of their transition matrices by enumeration of all mirrors and bonds, clamped sites,
//! and tori against their transfer matrices.

use crate::bonds::{coins, each_set};
use bitmc::step::{SwendsenWang, Wolff};
use bitmc::{Info, Kernel, LaneRng, Layout, Packed, Potts, torus};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::planes::Tables;
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::replicas::{Plan, pieces};
use bitmc_host_tests::stat::{Batches, Verdict, chi_square};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// Bonds with 1 − e^(−|J|/2).
    WeakBonds,
    /// Pairs of negative couplings are never bound.
    OneSign,
    /// Fields forgotten.
    NoFields,
    /// The value k becomes c + k, not c − k.
    Shift,
    /// Clusters with a clamped site move, but for that site.
    LooseClamp,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    SwendsenWang,
    Wolff,
}

/// Four sites, all pairs coupled but one, with couplings of both signs and fields.
struct Model {
    arity: usize,
    edges: Vec<(u32, u32, f32)>,
    fields: Vec<f32>,
}

const SITES: usize = 4;

impl Model {
    fn new(arity: usize) -> Self {
        let edges = vec![(0, 1, 0.75), (0, 2, -0.5), (1, 2, 0.5), (1, 3, -1.0), (2, 3, 0.625)];
        let fields = (0..SITES * arity).map(|place| [0.5, 0.0, -0.25, 0.125, 0.75][(place * 7) % 5]).collect();
        Self { arity, edges, fields }
    }

    fn space(&self) -> Space {
        let tables = Tables::potts(&self.edges, self.arity, &self.fields);
        Space::tables(&tables, Layout::categorical(SITES, self.arity))
    }

    fn field(&self, site: usize, value: usize) -> f64 {
        self.fields[site * self.arity + value].into()
    }

    fn number(&self, x: &[usize]) -> usize {
        x.iter().rev().fold(0, |number, &value| number * self.arity + value)
    }

    fn values(&self, state: usize) -> Vec<usize> {
        (0..SITES).map(|site| state / self.arity.pow(site as u32) % self.arity).collect()
    }

    /// Adds a share of P(y|x, c) to the row of x: all sets of bonds of the mirror c. Clusters of Wolff moves grow from a site.
    fn add(
        &self,
        row: &mut [f64],
        x: &[usize],
        (c, from): (usize, Option<usize>),
        share: f64,
        held: usize,
        flaw: Flaw,
    ) {
        let image = |k: usize| {
            if flaw == Flaw::Shift { (c + k) % self.arity } else { (c + self.arity - k) % self.arity }
        };
        let moves = |site: usize| image(x[site]) != x[site];
        let strength = if flaw == Flaw::WeakBonds { 0.5 } else { 1.0 };
        let gain = |&(a, b, j): &(u32, u32, f32)| {
            let (a, b, j) = (a as usize, b as usize, f64::from(j));
            let gain = match () {
                () if !moves(a) || !moves(b) => 0.0,
                () if x[a] == x[b] => j,
                () if (x[b] == image(x[a]) || x[a] == image(x[b])) && flaw != Flaw::OneSign => -j,
                () => 0.0,
            };
            (a, b, gain)
        };
        let mut favoured: Vec<_> = self.edges.iter().map(gain).collect();
        let pull = |site: usize| match flaw {
            Flaw::NoFields => 0.0,
            _ => self.field(site, x[site]) - self.field(site, image(x[site])),
        };
        if from.is_none() {
            // The ghost is the last site.
            favoured.extend((0..SITES).map(|site| (site, SITES, pull(site))));
        }
        each_set(SITES + 1, favoured, strength, |probability, cluster| {
            let probability = share * probability;
            let after = |flips: usize| {
                let value = |site: usize| if flips & !held & 1 << site != 0 { image(x[site]) } else { x[site] };
                self.number(&(0..SITES).map(value).collect::<Vec<_>>())
            };
            let stays = |cluster: usize| cluster & (held | 1 << SITES) != 0 && flaw != Flaw::LooseClamp;
            if let Some(from) = from {
                let cluster = cluster[from];
                let inside = (0..SITES).filter(|site| cluster >> site & 1 == 1);
                let accepted =
                    if stays(cluster) { 0.0 } else { (-inside.map(pull).sum::<f64>()).exp().min(1.0) };
                row[after(cluster)] += probability * accepted;
                row[after(0)] += probability * (1.0 - accepted);
                return;
            }
            let outcomes = coins((0..SITES).map(|site| cluster[site]).filter(|&c| !stays(c)));
            let share = probability / outcomes.len() as f64;
            outcomes.iter().for_each(|&flips| row[after(flips)] += share);
        });
    }

    /// P(y|x) for all y.
    fn row(&self, which: Which, state: usize, held: usize, flaw: Flaw) -> Vec<f64> {
        let (q, x) = (self.arity, self.values(state));
        let mut row = vec![0.0; q.pow(SITES as u32)];
        match which {
            Which::SwendsenWang => {
                let mirrors = if q == 2 { 1..2 } else { 0..q };
                let share = 1.0 / mirrors.len() as f64;
                mirrors.for_each(|c| self.add(&mut row, &x, (c, None), share, held, flaw));
            }
            Which::Wolff => {
                for (site, other) in (0..SITES).flat_map(|site| (0..q).map(move |other| (site, other))) {
                    if other != x[site] {
                        let c = if flaw == Flaw::Shift { q + other - x[site] } else { other + x[site] } % q;
                        self.add(&mut row, &x, (c, Some(site)), 1.0 / (SITES * (q - 1)) as f64, held, flaw);
                    }
                }
            }
        }
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

#[test]
fn all_mirrors_and_bonds_enumerated_are_in_detailed_balance() {
    for arity in 2..=4 {
        let model = Model::new(arity);
        let distribution = model.space().distribution;
        for which in [Which::SwendsenWang, Which::Wolff] {
            let off = |flaw| model.asymmetry(which, &distribution, flaw);
            assert!(off(Flaw::None) < 1e-15, "{which:?} of {arity}: {}", off(Flaw::None));
            for flaw in [Flaw::WeakBonds, Flaw::OneSign, Flaw::NoFields, Flaw::Shift] {
                // Of two values a shift by 1 is the mirror. `Wolff` shifts by c and back by −c equally often.
                if flaw != Flaw::Shift || (arity > 2 && which == Which::SwendsenWang) {
                    assert!(off(flaw) > 1e-4, "the check cannot see {flaw:?} of {which:?}: {}", off(flaw));
                }
            }
        }
    }
}

/// The kernel's own steps from some states beside their rows.
fn rows<K>(which: Which, kernel: &K, arity: usize, held: usize, flaws: &[Flaw])
where
    K: for<'a> Kernel<Potts<'a>> + Sync,
{
    let model = Model::new(arity);
    let mut memory = Couplings::new(SITES, model.edges.len());
    let edges = model.edges.iter().copied();
    let potts = Potts::new(SITES, arity, edges, &model.fields, memory.borrow()).unwrap();
    let (space, mut seen) = (model.space(), vec![false; flaws.len()]);
    for x in [vec![0; SITES], vec![0, 1, 1, 0], vec![1, 0, arity - 1, 1], vec![arity - 1; SITES]] {
        let from = model.number(&x);
        let plan = Plan { replicas: 256_000, steps: 1, seed: 600 + 256 * arity as u64 + from as u64 };
        let ends = space.given(0b1111, from).ends(&plan, &potts, kernel, held as u32);
        let check = |flaw| {
            let row = model.row(which, from, held, flaw);
            let impossible = (0..row.len()).any(|y| row[y] == 0.0 && ends[y] > 0);
            (impossible, chi_square(&format!("{which:?} of {arity} from {x:?}, {flaw:?}"), &ends, &row))
        };
        let (impossible, verdict) = check(Flaw::None);
        assert!(!impossible, "{which:?} of {arity}: an impossible end from {x:?}");
        verdict.must_pass();
        for (&flaw, seen) in flaws.iter().zip(&mut seen) {
            let (impossible, verdict) = check(flaw);
            *seen |= impossible || !verdict.passes();
        }
    }
    // From a state without clusters a flaw may have no effect.
    assert!(seen.iter().all(|&seen| seen), "{which:?} of {arity}: of {flaws:?} are seen: {seen:?}");
}

#[test]
fn steps_are_those_of_the_enumerated_bonds() {
    for arity in 2..=4 {
        rows(Which::SwendsenWang, &SwendsenWang, arity, 0, &[Flaw::WeakBonds, Flaw::NoFields]);
        rows(Which::Wolff, &Wolff, arity, 0, &[Flaw::WeakBonds, Flaw::NoFields]);
    }
}

#[test]
fn clusters_with_a_clamped_site_stay() {
    rows(Which::SwendsenWang, &SwendsenWang, 3, 0b0101, &[Flaw::WeakBonds, Flaw::LooseClamp]);
    rows(Which::Wolff, &Wolff, 3, 0b0101, &[Flaw::WeakBonds, Flaw::LooseClamp]);
}

#[test]
fn chains_keep_the_distribution() {
    let model = Model::new(3);
    let mut memory = Couplings::new(SITES, model.edges.len());
    let edges = model.edges.iter().copied();
    let potts = Potts::new(SITES, 3, edges, &model.fields, memory.borrow()).unwrap();
    let space = model.space();
    let (held, at) = (0b1001, model.number(&[2, 0, 0, 1]));
    let given = space.given(held, at);
    let usual = Plan::usual(71);
    chi_square("Swendsen-Wang", &space.ends(&usual, &potts, &SwendsenWang, 0), &space.distribution).must_pass();
    chi_square("Wolff", &space.ends(&usual, &potts, &Wolff, 0), &space.distribution).must_pass();
    let mut ends = given.ends(&usual, &potts, &SwendsenWang, held);
    chi_square("Swendsen-Wang, clamped", &ends, &given.distribution).must_pass();
    ends = given.ends(&usual, &potts, &Wolff, held);
    chi_square("Wolff, clamped", &ends, &given.distribution).must_pass();
    chi_square("clamped, taken for free", &ends, &space.distribution).must_fail();
}

/// ⟨number of pairs that agree⟩ on a torus of `side` by `side` sites: the derivative of ln Z by K, of the transfer matrix.
fn agreeing(side: u32, arity: usize, coupling: f64) -> f64 {
    let states = arity.pow(side);
    let digit = |state: usize, site: u32| state / arity.pow(site) % arity;
    let along =
        |state: usize| (0..side).filter(|&i| digit(state, i) == digit(state, (i + 1) % side)).count() as f64;
    let along: Vec<f64> = (0..states).map(along).collect();
    let weight = coupling.exp();
    let (mut z, mut slope) = (0.0, 0.0);
    for start in 0..states {
        let mut row = vec![(0.0, 0.0); states];
        row[start] = (1.0, 0.0);
        for _ in 0..side {
            for ((value, change), along) in row.iter_mut().zip(&along) {
                let factor = (coupling * along).exp();
                (*value, *change) = (*value * factor, (*change + along * *value) * factor);
            }
            for site in 0..side {
                let power = arity.pow(site);
                let next = |state: usize| {
                    let own = digit(state, site);
                    let others =
                        (0..arity).map(|other| (other == own, row[state - own * power + other * power]));
                    others.fold((0.0, 0.0), |(value, change), (agree, (v, c))| match agree {
                        true => (value + weight * v, change + weight * (c + v)),
                        false => (value + v, change + c),
                    })
                };
                row = (0..states).map(next).collect();
            }
        }
        (z, slope) = (z + row[start].0, slope + row[start].1);
    }
    slope / z
}

#[test]
fn the_transfer_matrix_is_that_of_an_enumeration() {
    let (side, arity, coupling) = (3, 3, 0.7_f32);
    let edges: Vec<_> = torus(side, side, coupling).collect();
    let tables = Tables::potts(&edges, arity, &[0.0; 27]);
    let found = -f64::from(coupling) * agreeing(side, arity, coupling.into());
    assert!((tables.distribution().mean_energy() - found).abs() < 1e-9);
}

/// Means of the energy of 64 chains on a torus, from the second half on.
fn torus_means<K>(side: u32, arity: usize, coupling: f32, kernel: &K, steps: u32, seed: u64) -> Batches
where
    K: for<'a> Kernel<Potts<'a>> + Sync,
{
    let sites = (side * side) as usize;
    let mut memory = Couplings::new(sites, 2 * sites);
    let potts = Potts::new(sites, arity, torus(side, side, coupling), &[], memory.borrow()).unwrap();
    Batches(pieces(|piece| {
        let mut rng = LaneRng::stream(seed, piece);
        let mut chain = heap::random_chain(&potts, &mut rng).unwrap();
        chain.run(kernel, &mut rng, u64::from(steps) / 2, &mut ());
        let (mut sum, mut count) = (0.0, 0.0);
        let look = bitmc::stats::Watch(|_: Packed<'_>, energy: f32, _: &Info| {
            (sum, count) = (sum + f64::from(energy), count + 1.0);
        });
        chain.run(kernel, &mut rng, u64::from(steps) / 2, &mut { look });
        sum / count
    }))
}

/// The critical point of three values, ln(1 + √3), one of four values, and an antiferromagnet.
#[test]
fn tori_against_their_transfer_matrices() {
    let critical = (1.0 + 3.0_f32.sqrt()).ln();
    for (seed, side, arity, coupling) in [(82, 5, 3, critical), (83, 4, 4, 1.0), (84, 4, 3, -1.5)] {
        let energy = -f64::from(coupling) * agreeing(side, arity, coupling.into());
        let all = |weaker: f32| {
            let coupling = coupling * (1.0 - weaker);
            let name = |kernel: &str| format!("{side}x{side} of {arity} at {coupling}, {kernel}");
            // The energy is in units of its own coupling.
            let energy = energy * f64::from(1.0 - weaker);
            let means = |kernel: &str, batches: Batches| batches.against(&name(kernel), energy);
            [
                means("Swendsen-Wang", torus_means(side, arity, coupling, &SwendsenWang, 8000, seed)),
                means("Wolff", torus_means(side, arity, coupling, &Wolff, 24_000, seed + 10)),
            ]
        };
        Verdict::worst(all(0.0)).must_pass();
        all(0.04).iter().for_each(Verdict::must_fail);
    }
}
