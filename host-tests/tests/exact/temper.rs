//! Many temperatures: the tempered energy is what it says, swaps are in detailed balance, a ladder is plain
//! data that counts right, and a replica that was stopped goes on bit for bit.

use bitmc::accept::accept;
use bitmc::batch::{self, Batch, BatchSite};
use bitmc::energy::{BaseDistribution, Ends, EnergyError, PathError, Tempered};
use bitmc::lane::{Bits, Block, Total};
use bitmc::stats::Evidence;
use bitmc::step::SequentialGibbs;
use bitmc::temper::{AnnealError, Ladder, LadderError, Replica, Rung, forward, log_swap_ratio, reverse, round};
use bitmc::{
    Energy, Function, Gibbs, Kind, LaneRng, Langevin, Layout, Memory, Move, Packed, Plain, SeedableRng,
};
use bitmc_host_tests::compose::transitions;
use bitmc_host_tests::enumerate::{Distribution, values};
use bitmc_host_tests::heap::{self, HeapMemory};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance;
use std::cell::Cell;
use std::ops::Range;

type HeapReplica<'e, E> = Replica<'e, E, Vec<u32>, Vec<[u32; 16]>, Vec<[f32; 16]>>;

/// Kinds and arities of four sites.
const SITES: [(Kind, [u16; 4]); 3] =
    [(Kind::Ordinal, [2, 2, 2, 2]), (Kind::Categorical, [3, 5, 2, 4]), (Kind::Ordinal, [3, 5, 2, 4])];
const BETAS: [f32; 5] = [0.0, 0.25, 0.7, 1.0, 1.6];

fn fields(count: usize, seed: u64) -> Vec<f32> {
    let mut source = Source::new(seed);
    (0..count).map(|_| source.coarse(0.8)).collect()
}

/// Fields of a base over four sites.
fn base_fields(kind: Kind, arities: [u16; 4]) -> Vec<f32> {
    let most = usize::from(arities.into_iter().max().unwrap());
    fields(if kind == Kind::Categorical { 4 * most } else { 4 }, 6)
}

fn memory(energy: &dyn Energy, beta: f32) -> HeapMemory {
    heap::memory(&Tempered::new(energy, beta).unwrap())
}

/// The states of tables, and E₀ of each in float64.
fn states_of(tables: &Tables, energy: &dyn Energy, theta: &[f32]) -> (Vec<Vec<u32>>, Vec<f64>) {
    let layout = energy.layout();
    let field = |site: usize, value: usize| match layout.kind() {
        _ if theta.is_empty() => 0.0,
        Kind::Categorical => f64::from(theta[site * layout.arity() + value]),
        Kind::Binary | Kind::Ordinal => f64::from(theta[site]) * value as f64,
    };
    let state = |number| {
        let mut words = vec![0; layout.words()];
        let values = tables.values(number);
        for (site, &value) in values.iter().enumerate() {
            bitmc::packed::set(layout, &mut words, site, value as u32).unwrap();
        }
        (words, -values.iter().enumerate().map(|(site, &value)| field(site, value)).sum::<f64>())
    };
    (0..tables.states()).map(state).unzip()
}

/// Paths of all kinds of sites from bases with and without fields, at several β, and their distributions.
fn on_paths(judge: impl Fn(&str, &Tempered<'_, dyn Energy + '_>, &Tables, &[f32], &[Vec<u32>], &Distribution)) {
    for (kind, arities) in SITES {
        let tables = Tables::new(kind, &arities, 1.0, 5);
        let target = Plain(Own(&tables));
        let theta = base_fields(kind, arities);
        for theta in [&theta[..], &[]] {
            let (states, base) = states_of(&tables, &target, theta);
            for beta in BETAS {
                let path = Tempered::from_base(&target as &dyn Energy, theta, beta).unwrap();
                let mix = |number: usize| {
                    let beta = f64::from(beta);
                    beta * tables.energy(&tables.values(number)) + (1.0 - beta) * base[number]
                };
                let distribution = Distribution::from_energies(4, (0..states.len()).map(mix).collect());
                let name = format!("{kind:?} {arities:?}, β {beta}");
                judge(&name, &path, &tables, theta, &states, &distribution);
            }
            let sums = base.iter().map(|e| (-e).exp()).sum::<f64>();
            let found = f64::from(BaseDistribution::new(&target, theta).unwrap().log_z());
            assert!((found - sums.ln()).abs() < 16.0 * tolerance::ROUNDING * 8.0, "{found} {}", sums.ln());
        }
    }
}

#[test]
fn a_tempered_energy_is_what_it_says() {
    on_paths(|_, path, tables, theta, states, distribution| {
        check_parts(path, tables, theta, states, distribution)
    });
}

#[test]
fn chains_keep_the_distributions_on_the_path() {
    on_paths(|name, path, _, _, states, distribution| {
        let verdict = transitions(path, &Langevin::adjusted(0.7).unwrap(), states).judge(distribution);
        assert!(verdict.passes(), "{name}: {verdict:?}");
    });
}

/// How many draws of a base, over even uniforms that are the same at all sites, are off the distribution of `times` its fields:
/// an interval of uniforms is counted within one, what is left of five of them within four.
fn off(base: &BaseDistribution<'_>, arities: &[u16], layout: Layout, times: f64) -> f64 {
    const DRAWS: u32 = 1 << 14;
    let mut counts = vec![[0u32; 5]; arities.len()];
    let mut words = vec![0; layout.words()];
    for draw in 0..DRAWS {
        base.draw(&mut Stuck::At((2 * draw + 1) << 17), &mut words);
        let state = Packed::new(layout, &words).unwrap();
        counts.iter_mut().enumerate().for_each(|(site, counts)| counts[state.get(site) as usize] += 1);
    }
    let mut far = 0.0f64;
    for (site, (counts, &arity)) in counts.iter().zip(arities).enumerate() {
        let weights = (0..u32::from(arity)).map(|value| (times * f64::from(base.field(site, value))).exp());
        let sum: f64 = weights.clone().sum();
        let shares = weights.map(|weight| weight / sum).chain(core::iter::repeat(0.0));
        for (&count, share) in counts.iter().zip(shares) {
            far = far.max((f64::from(count) - share * f64::from(DRAWS)).abs());
        }
    }
    far
}

#[test]
fn a_base_draws_its_distribution() {
    for (kind, arities) in SITES {
        let tables = Tables::new(kind, &arities, 1.0, 5);
        let target = Plain(Own(&tables));
        let theta = base_fields(kind, arities);
        for theta in [&theta[..], &[]] {
            let base = BaseDistribution::new(&target, theta).unwrap();
            let layout = (&target as &dyn Energy).layout();
            let found = off(&base, &arities, layout, 1.0);
            assert!(found <= 4.0, "{kind:?} {arities:?}: {found} draws");
            let variant = off(&base, &arities, layout, 1.01);
            assert!(
                theta.is_empty() || variant > 4.0,
                "{kind:?} {arities:?}: the broken variant passes, {variant} draws"
            );
        }
    }
}

/// Totals, differences and gradients, against float64.
fn check_parts(
    path: &Tempered<'_, dyn Energy + '_>,
    tables: &Tables,
    theta: &[f32],
    states: &[Vec<u32>],
    distribution: &Distribution,
) {
    let layout = path.layout();
    let close = |found: f32, exact: f64| (f64::from(found) - exact).abs() < 32.0 * tolerance::ROUNDING * 40.0;
    let mut cache = vec![[0; 16]; path.cache_len()];
    for (number, words) in states.iter().enumerate().step_by(3) {
        let state = Packed::new(layout, words).unwrap();
        let total = path.init(state, &mut cache).unwrap();
        assert!(close(total, distribution.energies[number]), "{total} {}", distribution.energies[number]);
        let mut gradient = vec![[0.0; 16]; layout.gradient_blocks()];
        path.gradient(state, &cache, 0..1, &mut gradient);
        let values = tables.values(number);
        for site in 0..4 {
            let arity = usize::from(tables.arities[site]);
            let mut differences = vec![0.0; arity];
            path.differences(&mut words.clone(), &cache, site, &mut differences);
            for (value, &found) in differences.iter().enumerate() {
                let mut other = values.clone();
                other[site] = value;
                let to = (0..states.len()).find(|&state| tables.values(state) == other).unwrap();
                assert!(close(found, distribution.energies[to] - distribution.energies[number]));
            }
            let beta = f64::from(path.beta());
            for (value, plane) in gradient.iter().enumerate().take(arity) {
                let slope = match (theta.is_empty(), layout.kind()) {
                    (true, _) => 0.0,
                    (_, Kind::Categorical) => theta[site * layout.arity() + value],
                    _ => theta[site],
                };
                let exact = beta * tables.gradient(&values, site, value) - (1.0 - beta) * f64::from(slope);
                assert!(close(plane[site], exact), "site {site}, value {value}: {} {exact}", plane[site]);
            }
        }
    }
}

fn spins(seed: u64) -> Pairwise {
    models::pairwise(Convention::SpinsEdgesOnce, 4, 0.8, 1.0, seed)
}

/// The largest relative asymmetry of the flow of swaps between all pairs of states, for a log ratio made of
/// (β, β′), (U, U′) and (E, E′).
fn asymmetry(ratio: impl Fn((f32, f32), (f32, f32), (f32, f32)) -> f32) -> f64 {
    let model = spins(9);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let theta = fields(4, 10);
    let path = Tempered::from_base(&energy, &theta, 0.5).unwrap();
    let exact = Distribution::of(&model).energies;
    let base = |state: usize| -> f64 {
        -values(state, 4).iter().zip(&theta).map(|(x, &t)| x * f64::from(t)).sum::<f64>()
    };
    let replicas: Vec<_> = (0..16u32)
        .map(|state| {
            Replica::new(path, heap::memory(&path), Packed::new(path.layout(), &[state]).unwrap()).unwrap()
        })
        .collect();
    let mut worst = 0.0f64;
    for (low, high) in [(0.0f32, 0.3f32), (0.25, 1.0), (0.9, 1.6)] {
        let log_p = |beta: f32, state: usize| {
            let beta = f64::from(beta);
            -beta * exact[state] - (1.0 - beta) * base(state)
        };
        for x in 0..16 {
            for y in 0..16 {
                let log_a = |x: usize, y: usize| {
                    let (a, b) = (&replicas[x], &replicas[y]);
                    f64::from(ratio((low, high), (a.gap(), b.gap()), (a.energy(), b.energy())).min(0.0))
                };
                let out = log_p(low, x) + log_p(high, y) + log_a(x, y);
                let back = log_p(low, y) + log_p(high, x) + log_a(y, x);
                worst = worst.max(1.0 - (-(out - back).abs()).exp());
            }
        }
    }
    worst
}

#[test]
fn swaps_are_in_detailed_balance() {
    let right = asymmetry(|betas, gaps, _| log_swap_ratio(betas, gaps));
    assert!(right <= tolerance::ASYMMETRY, "{right}");
    // Negative controls: the ratio upside down, and one that forgets the base.
    assert!(asymmetry(|betas, gaps, _| -log_swap_ratio(betas, gaps)) > 0.1);
    assert!(asymmetry(|betas, _, energies| log_swap_ratio(betas, energies)) > 0.1);
}

/// Bits with one field of 10⁹ among small whole numbers: where the first bit is set, floats do not tell energies apart.
fn far() -> Pairwise {
    let edges = vec![(0, 1, 3.0), (1, 2, -2.0), (0, 2, 1.0)];
    Pairwise { convention: Convention::BitsEdgesOnce, fields: vec![1e9, -1.0, 2.0], edges }
}

/// Where the memory keeps gradients, a step at a new β is that of a replica that has always been there. Left as it is, the β of the
/// gradient would be the old one.
#[test]
fn a_kept_gradient_follows_beta() {
    for (kind, arities) in SITES {
        let tables = Tables::new(kind, &arities, 1.0, 5);
        let target = Plain(Own(&tables));
        let path = Tempered::new(&target as &dyn Energy, 0.5).unwrap();
        let layout = path.layout();
        let planes = Memory::weights_and_gradients(layout) - Memory::weights(layout);
        let langevin = Langevin::adjusted(0.7).unwrap();
        let mut rng = LaneRng::seed_from_u64(12);
        let mut replica = Replica::random(path, heap::moving_memory(&path, planes), &mut rng).unwrap();
        let mut differ = 0;
        for number in 0..200 {
            let beta = [1.5, 0.25, 1.0][number % 3];
            let (words, old) = (replica.state().words().to_vec(), replica.beta());
            let start = Packed::new(layout, &words).unwrap();
            let at = |beta| {
                let path = path.at(beta).unwrap();
                let mut anew = Replica::new(path, heap::memory(&path), start).unwrap();
                let info = anew.step(&langevin, &mut rng.clone());
                (info, anew.state().words().to_vec())
            };
            let (right, wrong) = (at(beta), at(old));
            replica.set_beta(beta).unwrap();
            let info = replica.step(&langevin, &mut rng);
            assert_eq!((info, replica.state().words().to_vec()), right, "{kind:?} {arities:?}, β {beta}");
            differ += u32::from(right != wrong);
        }
        assert!(differ > 100, "{differ}");
    }
}

#[test]
fn swaps_that_rounding_decides_are_refused() {
    const SWAPS: usize = 20_000;
    let model = far();
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let path = Tempered::new(&energy as &dyn Energy, 0.0).unwrap();
    let statistic = |ratio: fn((f32, f32), (f32, f32)) -> f32| {
        let mut rng = LaneRng::seed_from_u64(8);
        let (mut counts, betas) = ([0u32; 8], (0.0, 0.25));
        let mut replica = || Replica::random(path, heap::memory(&path), &mut rng).unwrap();
        let (mut hot, mut cold) = (replica(), replica());
        for _ in 0..SWAPS {
            for (replica, beta) in [(&mut hot, betas.0), (&mut cold, betas.1)] {
                replica.set_beta(beta).unwrap();
                replica.run(&Gibbs::systematic(), &mut rng, 1, &mut ());
            }
            if accept(ratio(betas, (hot.gap(), cold.gap())), &mut rng) {
                std::mem::swap(&mut hot, &mut cold);
            }
            counts[hot.state().words()[0] as usize] += 1;
        }
        let expected = SWAPS as f64 / 8.0;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum::<f64>()
    };
    // At β = 0 all eight states are equally likely: χ² with seven degrees of freedom is above 50 with probability 10⁻⁸.
    let right = statistic(log_swap_ratio);
    assert!(right < 50.0, "{right}");
    // Negative control: the ratio of the rounded energies.
    let rounded = statistic(|betas, gaps| (betas.0 - betas.1) * (gaps.0 - gaps.1));
    assert!(rounded > 500.0, "{rounded}");
    // What rounding cannot turn goes on, and so do energies that floats tell apart.
    for (gaps, ratio) in [((-1e9, 0.0), 2.5e8), ((0.0, -1e9), -2.5e8), ((1e6, 1e6 - 4.0), -1.0)] {
        assert_eq!(log_swap_ratio((0.0, 0.25), gaps), ratio);
    }
    for gaps in [(-1e9, -1e9), (-1e9, -1e9 - 64.0), (2e6, 2e6 + 1.0), (f32::INFINITY, f32::INFINITY)] {
        assert!(log_swap_ratio((0.0, 0.25), gaps).is_nan(), "{gaps:?}");
    }
    assert_eq!(log_swap_ratio((0.0, 0.25), (f32::INFINITY, 0.0)), f32::NEG_INFINITY);
}

#[test]
fn steps_between_energies_far_apart_leave_no_error() {
    let model = far();
    let exact = Distribution::of(&model).energies;
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let path = Tempered::new(&energy as &dyn Energy, 0.0).unwrap();
    let mut rng = LaneRng::seed_from_u64(9);
    let mut replica = Replica::random(path, heap::memory(&path), &mut rng).unwrap();
    let mut batch = Batch::random(&energy, vec![BatchSite::new(); 3], &mut rng).unwrap();
    batch.set_betas([0.0; 16]).unwrap();
    let mut ladder = Ladder::new([Rung::default(); 2], &[0.0, 1e-10]).unwrap();
    let mut swaps = LaneRng::seed_from_u64(10);
    let (mut here, mut rounded) = (replica.state().words()[0] as usize, f64::from(replica.energy()));
    let (mut worst, mut control) = (0.0f64, 0.0f64);
    for _ in 0..10_000 {
        replica.step(&Gibbs::systematic(), &mut rng);
        batch::round(&mut ladder, &mut batch, &[SequentialGibbs; 16], 1, &mut rng, &mut swaps);
        let there = replica.state().words()[0] as usize;
        // Negative control: the sum of the differences, each as a float.
        rounded += f64::from((exact[there] - exact[here]) as f32);
        here = there;
        let of_batch = |chain| (batch.state(chain, &mut [0]).unwrap().words()[0] as usize, batch.energy(chain));
        let batch = (0..16).map(|chain| (of_batch(chain), 1e-5));
        for ((state, energy), bound) in batch.chain([((here, replica.energy()), 0.0625)]) {
            // Errors of twice the distance of floats may stay, which is 64 at 10⁹; of a replica also those of 1/16.
            let bound = if state & 1 == 1 { 128.0 } else { bound };
            worst = worst.max((f64::from(energy) - exact[state]).abs() / bound);
        }
        if here & 1 == 0 {
            control = control.max((rounded - exact[here]).abs());
        }
    }
    assert!(worst <= 1.0, "{worst} bounds");
    assert!(control > 10.0, "{control}");
}

/// After one round of three rungs the first pair was tried once and not rejected, the second never. With half a rejection more
/// the parts are ½/2 and ½/1 long, and half of both is a quarter of the second part on.
#[test]
fn a_pair_that_was_never_tried_takes_part_in_the_spacing() {
    let mut ladder = Ladder::new([Rung::default(); 3], &[0.0, 0.5, 1.0]).unwrap();
    ladder.exchange_by(|_, _| 0.0, &mut LaneRng::seed_from_u64(1));
    let mut betas = [0.0; 3];
    ladder.respaced(&mut betas);
    assert_eq!(betas, [0.0, 0.625, 1.0]);
}

#[test]
fn exchange_takes_turns_counts_trips_and_measures_rates() {
    const R: usize = 5;
    let mut ladder = Ladder::new([Rung::default(); R], &BETAS).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let mut source = Source::new(2);
    // A naive history: who is where, where each was last, and the sums of probabilities.
    let mut at: Vec<usize> = (0..R).collect();
    let mut last = [None; R];
    last[R - 1] = Some(true);
    let (mut trips, mut sums, mut tries) = (0, [0.0; R], [0u32; R]);
    for number in 0..20_000 {
        let gaps: Vec<f32> = (0..R).map(|_| source.normal(1.5)).collect();
        let mut told = rng.clone();
        let mut swaps = 0;
        for low in (number % 2..R - 1).step_by(2) {
            let log = log_swap_ratio((BETAS[low], BETAS[low + 1]), (gaps[at[low]], gaps[at[low + 1]]));
            sums[low] += f64::from(log.min(0.0)).exp();
            tries[low] += 1;
            if accept(log, &mut told) {
                at.swap(low, low + 1);
                swaps += 1;
            }
        }
        for (rung, cold) in [(0, false), (R - 1, true)] {
            let replica = at[rung];
            trips += u64::from(cold && last[replica] == Some(false));
            if cold || last[replica].is_some() {
                last[replica] = Some(cold);
            }
        }
        assert_eq!(ladder.exchange(|replica| gaps[replica], &mut rng), swaps);
        assert_eq!(rng, told, "a uniform a pair, whatever happens");
        assert_eq!(ladder.rungs().iter().map(Rung::replica).collect::<Vec<_>>(), at);
        assert_eq!(ladder.round_trips(), trips);
    }
    assert!(trips > 500, "{trips} trips show little");
    assert_eq!((ladder.rounds(), ladder.coldest()), (20_000, at[R - 1]));
    for (rung, (sum, tries)) in sums.iter().zip(tries).enumerate().take(R - 1) {
        let rate = f64::from(ladder.rungs()[rung].rate().unwrap());
        assert!((rate - sum / f64::from(tries)).abs() < 4.0 * tolerance::ROUNDING, "rung {rung}: {rate}");
        assert_eq!(ladder.rung_of(at[rung]), Some(rung));
    }
    assert_eq!((ladder.rungs()[R - 1].rate(), ladder.rung_of(R)), (None, None));
    // Nothing moves on NaN.
    let before = ladder;
    assert_eq!(ladder.exchange(|_| f32::NAN, &mut rng), 0);
    assert_eq!(ladder.rungs().iter().map(Rung::replica).collect::<Vec<_>>(), at);
    assert_eq!(ladder.round_trips(), before.round_trips());
}

/// A run of days: every swap is sure, and after a hundred million of them the ladder still says so.
#[test]
fn a_swap_rate_stays_true_over_many_rounds() {
    let mut ladder = Ladder::new([Rung::default(); 2], &[0.0, 1.0]).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    for _ in 0..100_000_000 {
        ladder.exchange(|_| 0.5, &mut rng);
    }
    assert_eq!(ladder.rungs()[0].rate(), Some(1.0));
}

#[test]
fn a_short_run_spaces_the_ladder_evenly() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 60, 0.1, 0.8, 3);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(4);
    let mut betas = [0.0, 0.02, 0.04, 0.06, 0.4, 1.0];
    let path = Tempered::new(&energy as &dyn Energy, 0.0).unwrap();
    let kernels = [Langevin::adjusted(0.4).unwrap(); 6];
    let mut spread = |betas: &[f32]| {
        let mut ladder = Ladder::new(vec![Rung::default(); 6], betas).unwrap();
        let mut replicas: Vec<_> =
            (0..6).map(|_| Replica::random(path, memory(&energy, 0.0), &mut rng).unwrap()).collect();
        for _ in 0..3000 {
            round(&mut ladder, &mut replicas, &kernels, 2, &mut rng);
        }
        let rates: Vec<f32> = ladder.rungs().iter().filter_map(Rung::rate).collect();
        let most = rates.iter().copied().fold(0.0f32, f32::max);
        (ladder, most - rates.iter().copied().fold(1.0f32, f32::min))
    };
    let mut spreads = Vec::new();
    for _ in 0..4 {
        let (ladder, found) = spread(&betas);
        spreads.push(found);
        ladder.respaced(&mut betas);
        assert!(betas.windows(2).all(|pair| pair[0] < pair[1]), "{betas:?}");
        assert_eq!((betas[0], betas[5]), (0.0, 1.0));
    }
    assert!(spreads[0] > 0.5 && spreads[3] < 0.1, "{spreads:?}");
    // Nothing measured: nothing is known of the rates, and the ends stay.
    let mut out = [0.0; 3];
    Ladder::new([Rung::default(); 3], &[0.1, 0.2, 0.9]).unwrap().respaced(&mut out);
    assert_eq!((out[0], out[2]), (0.1, 0.9));
}

#[test]
fn a_replica_goes_on_bit_for_bit() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.1, 0.6, 11);
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let theta = fields(40, 12);
    let path = Tempered::from_base(&ising as &dyn Energy, &theta, 0.0).unwrap();
    let mut rng = LaneRng::seed_from_u64(13);
    let kernels = [0.8, 0.6, 0.5, 0.4].map(|step_size| Langevin::adjusted(step_size).unwrap());
    let mut ladder = Ladder::new([Rung::default(); 4], &[0.1, 0.4, 0.7, 1.0]).unwrap();
    let mut replicas: Vec<_> =
        (0..4).map(|_| Replica::random(path, heap::memory(&path), &mut rng).unwrap()).collect();
    for number in 0..300 {
        // Everything but plain data is lost: other memory, another path at another β.
        let resume = |replica: &HeapReplica<'_, dyn Energy>| {
            let path = Tempered::from_base(&ising as &dyn Energy, &theta, 0.3).unwrap();
            Replica::resume(path, heap::memory(&path), replica.state(), replica.kept()).unwrap()
        };
        let mut again: Vec<_> = replicas.iter().map(resume).collect();
        let (mut ladder_again, mut rng_again) = (ladder, rng.clone());
        let swaps = round(&mut ladder, &mut replicas, &kernels, 3, &mut rng);
        assert_eq!(swaps, round(&mut ladder_again, &mut again, &kernels, 3, &mut rng_again));
        assert_eq!((ladder, &rng), (ladder_again, &rng_again), "round {number}");
        for (one, two) in replicas.iter().zip(&again) {
            assert_eq!((one.state(), one.beta()), (two.state(), two.beta()), "round {number}");
            let bits =
                |replica: &HeapReplica<'_, dyn Energy>| (replica.energy().to_bits(), replica.gap().to_bits());
            assert_eq!(bits(one), bits(two), "round {number}");
        }
    }
    assert!(ladder.round_trips() > 3, "{}", ladder.round_trips());
    // The running totals are those of the states.
    for replica in &replicas {
        let mut fresh = Replica::new(replica.path(), heap::memory(&replica.path()), replica.state()).unwrap();
        assert!((fresh.energy() - replica.energy()).abs() < 1e-4, "{} {}", fresh.energy(), replica.energy());
        assert!((fresh.gap() - replica.gap()).abs() < 1e-4);
        fresh.clamp(Packed::new(path.layout(), &[u32::MAX, 0xFF]).unwrap()).unwrap();
        let before = fresh.state().words().to_vec();
        fresh.run(&kernels[0], &mut rng, 20, &mut ());
        assert_eq!(fresh.state().words(), before, "every site is held");
    }
}

#[test]
fn illegal_ladders_and_paths_are_refused() {
    let model = spins(1);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    for beta in [-0.1, f32::NAN, f32::INFINITY] {
        assert!(matches!(Tempered::new(&energy, beta), Err(PathError::Beta(_))));
        let mut replica = Replica::random(
            Tempered::new(&energy, 1.0).unwrap(),
            memory(&energy, 1.0),
            &mut LaneRng::seed_from_u64(1),
        )
        .unwrap();
        assert!(matches!(replica.set_beta(beta), Err(PathError::Beta(_))));
        assert_eq!(replica.beta(), 1.0);
        // A walk over it has no weight, and ends where it is.
        let (kernel, mut rng) = (Langevin::adjusted(0.6).unwrap(), LaneRng::seed_from_u64(2));
        let there = forward(&mut replica, [0.5, beta, 1.0], 1, |_| kernel, &mut rng);
        assert!(matches!(there, Err(AnnealError::Path(PathError::Beta(_)))), "{there:?}");
        assert_eq!(replica.beta(), 0.5);
        let back = reverse(&mut replica, [0.25, beta, 1.0], 1, |_| kernel, &mut rng);
        assert!(matches!(back, Err(PathError::Beta(_))), "{back:?}");
        assert_eq!(replica.beta(), 1.0);
    }
    let refused = Tempered::from_base(&energy, &[0.0; 5], 1.0).unwrap_err();
    assert_eq!(refused, PathError::Fields { need: 4, got: 5 });
    let refused = Tempered::from_base(&energy, &[0.0, f32::NAN, 0.0, 0.0], 1.0).unwrap_err();
    assert_eq!(refused, PathError::FieldNotFinite { index: 1 });
    let rungs = [Rung::default(); 3];
    for betas in [&[0.0, 1.0][..], &[1.0], &[]] {
        assert!(matches!(Ladder::new(rungs, betas), Err(LadderError::Rungs { rungs: 3, .. })));
    }
    assert!(matches!(Ladder::new([Rung::default(); 1], &[1.0]), Err(LadderError::Rungs { .. })));
    for (betas, wrong) in [
        ([0.5, 0.2, 1.0], 1),
        ([-0.5, 0.2, 1.0], 0),
        ([0.1, 0.2, 0.2], 2),
        ([0.1, f32::NAN, 0.2], 1),
        ([0.1, 0.2, f32::INFINITY], 2),
    ] {
        let refused = Ladder::new(rungs, &betas).unwrap_err();
        assert!(matches!(refused, LadderError::Beta { rung, .. } if rung == wrong), "{refused}");
    }
}

#[test]
fn stuck_generators_end_and_stay_legal() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.1, 3.0, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let theta = fields(40, 1);
    let path = Tempered::from_base(&energy, &theta, 0.0).unwrap();
    let kernel = [Langevin::adjusted(0.6).unwrap(); 3];
    for (name, mut rng) in Stuck::all() {
        let mut ladder = Ladder::new([Rung::default(); 3], &[0.0, 0.5, 1.0]).unwrap();
        let mut replicas = [0, 1, 2].map(|_| Replica::random(path, heap::memory(&path), &mut rng).unwrap());
        for _ in 0..100 {
            round(&mut ladder, &mut replicas, &kernel, 2, &mut rng);
        }
        for replica in &replicas {
            assert!(Packed::new(path.layout(), replica.state().words()).is_ok(), "{name}");
            assert_eq!(replica.faults(), 0, "{name}");
        }
        let mut standing: Vec<_> = ladder.rungs().iter().map(Rung::replica).collect();
        standing.sort_unstable();
        assert_eq!(standing, [0, 1, 2], "{name}");
        let betas = (1..=20).map(|k| k as f32 / 20.0);
        let log_weight = forward(&mut replicas[0], betas, 1, |_| kernel[0], &mut rng).unwrap();
        assert!(log_weight.is_finite(), "{name}: {log_weight}");
    }
}

/// ln Z over the states that agree with a clamped one, by annealing against float64.
#[test]
fn annealing_keeps_what_is_clamped() {
    let model = spins(4);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let theta = fields(4, 3);
    let kernel = Langevin::adjusted(0.6).unwrap();
    let energies = Distribution::of(&model).energies;
    for (held, value) in [(0b0101u32, 0b0001u32), (0b1000, 0b1000), (0b1111, 0b0110), (0, 0)] {
        let path = Tempered::from_base(&energy, &theta, 1.0).unwrap();
        let start = [value];
        let mut replica =
            Replica::new(path, heap::memory(&path), Packed::new(path.layout(), &start).unwrap()).unwrap();
        replica.clamp(Packed::new(path.layout(), &[held]).unwrap()).unwrap();
        let agree = || (0..16u32).filter(|state| state & held == value & held);
        let base =
            |state: u32| (0..4).map(|site| f64::from(state >> site & 1) * f64::from(theta[site])).sum::<f64>();
        let log_z0 = agree().map(|state| base(state).exp()).sum::<f64>().ln();
        assert!((f64::from(replica.base_log_z()) - log_z0).abs() < 32.0 * tolerance::ROUNDING);
        let log_z = agree().map(|state| (-energies[state as usize]).exp()).sum::<f64>().ln();
        let (mut evidence, mut rng) = (Evidence::new(), LaneRng::seed_from_u64(11));
        for _ in 0..4000 {
            let betas = (1..=10).map(|k| k as f32 / 10.0);
            evidence.add(forward(&mut replica, betas, 1, |_| kernel, &mut rng).unwrap());
            assert_eq!(replica.state().words()[0] & held, value & held);
        }
        let off = f64::from(replica.base_log_z() + evidence.log_z()) - log_z;
        let bound = tolerance::SIGMA * f64::from(evidence.relative_error()) + 64.0 * tolerance::ROUNDING;
        assert!(off.abs() <= bound, "{held:04b}: {off}, {bound}");
    }
}

#[test]
fn the_energy_on_the_path_is_linear_in_beta() {
    let ends = Ends { target: Total::new(6.0), base: Total::new(-2.0) };
    let betas = [0.0, 0.25, 0.5, 1.0, 1.5];
    assert_eq!(betas.map(|beta| ends.at(beta)), [-2.0, 0.0, 2.0, 6.0, 10.0]);
    assert_eq!(ends.gap(), 8.0);
}

/// A bit with two energies, and how often a total is asked for.
struct Two {
    totals: [f32; 2],
    asked: Cell<u32>,
}

impl Function for Two {
    fn layout(&self) -> Layout {
        Layout::binary(1)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.asked.set(self.asked.get() + 1);
        self.totals[x.get(0) as usize]
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        self.totals[1] - self.totals[0]
    }
}

/// Beside 2²¹ a thirty-second is far below a digit, and comes back with the step back.
#[test]
fn a_step_to_an_energy_far_off_and_back_loses_nothing() {
    let totals = [0.03125, 2_097_152.0];
    let target = Plain(Two { totals, asked: Cell::new(0) });
    let path = Tempered::new(&target, 0.0).unwrap();
    let start = [0];
    let start = Packed::new(Layout::binary(1), &start).unwrap();
    let mut replica = Replica::new(path, heap::memory(&path), start).unwrap();
    let (mut rng, mut visits) = (LaneRng::seed_from_u64(12), [0; 2]);
    for _ in 0..100 {
        replica.step(&Gibbs::systematic(), &mut rng);
        let state = replica.state().get(0) as usize;
        visits[state] += 1;
        assert_eq!(replica.energy(), totals[state]);
    }
    assert!(visits.iter().all(|&visits| visits > 20), "{visits:?}");
}

/// A bit. Its energy at 0 is small; the total there has lost that beside larger terms, and differences have not.
struct Rounded(f32);

impl Rounded {
    const HIGH: f32 = 32_768.0;
}

impl Energy for Rounded {
    fn layout(&self) -> Layout {
        Layout::binary(1)
    }

    fn cache_len(&self) -> usize {
        0
    }

    fn init(&self, x: Packed<'_>, _: &mut [Bits]) -> Result<f32, EnergyError> {
        let term = 2_097_152.0;
        Ok(if x.get(0) == 1 { Self::HIGH } else { (term + self.0) - term })
    }

    fn gradient(&self, _: Packed<'_>, _: &[Bits], _: Range<usize>, out: &mut [Block]) {
        out.as_flattened_mut().fill(Self::HIGH - self.0);
    }

    fn shift(&self, step: &Move<'_>, _: &mut [Bits]) -> f32 {
        step.changes().map(|c| (c.to as f32 - c.from as f32) * (Self::HIGH - self.0)).sum()
    }

    fn differences(&self, words: &mut [u32], _: &[Bits], _: usize, out: &mut [f32]) {
        let here = words[0] as f32;
        (0..).zip(out).for_each(|(value, out)| *out = (value as f32 - here) * (Self::HIGH - self.0));
    }
}

/// A sixteenth may be the rounding of the total, and more than that is taken for an error of the steps.
#[test]
fn a_total_from_nothing_does_not_take_a_sixteenth_from_the_running_one() {
    let zero = [0];
    let zero = Packed::new(Layout::binary(1), &zero).unwrap();
    for (rest, kept) in [(0.0625, 0.0625), (0.0625 + 1.0 / 512.0, 0.0)] {
        let target = Rounded(rest);
        assert_eq!(target.init(zero, &mut []), Ok(0.0));
        let one = [1];
        let start = Packed::new(Layout::binary(1), &one).unwrap();
        let path = Tempered::new(&target, 0.0).unwrap();
        let mut replica = Replica::new(path, heap::memory(&path), start).unwrap();
        let (mut rng, mut visits) = (LaneRng::seed_from_u64(13), 0);
        for _ in 0..100 {
            replica.step(&Gibbs::systematic(), &mut rng);
            if replica.state().get(0) == 0 {
                visits += 1;
                assert_eq!(replica.energy(), kept, "{rest}");
            }
        }
        assert!(visits > 20, "{visits}");
    }
}

/// Only where a difference is 2¹⁴ or more a total is computed again; not on the way up to an energy that is never taken.
#[test]
fn a_small_move_costs_one_total() {
    for (high, up, down) in [(1.0, 1, 1), (16_383.0, 1, 1), (16_384.0, 2, 2), (65_536.0, 1, 2), (1e6, 1, 2)] {
        let target = Plain(Two { totals: [0.0, high], asked: Cell::new(0) });
        let path = Tempered::new(&target, 0.25).unwrap();
        let (layout, mut cache) = (Layout::binary(1), vec![[0; 16]; path.cache_len()]);
        let [zero, one] = [&[0], &[1]].map(|words| Packed::new(layout, words).unwrap());
        for (from, to, totals) in [(zero, one, up), (one, zero, down)] {
            path.init(from, &mut cache).unwrap();
            target.0.asked.set(0);
            path.shift(&Move::new(from, to).unwrap(), &mut cache);
            assert_eq!(target.0.asked.get(), totals, "{high}");
        }
    }
}
