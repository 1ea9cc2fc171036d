//! Random-walk Metropolis: its transition matrices, from its own log q and ln A, against distributions by enumeration.

use bitmc::step::{ParameterError, RandomWalk};
use bitmc::{Energy, Kind, LaneRng, Plain, SeedableRng};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::heap::Weights;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::tolerance::{LOG_ROUNDINGS, ROUNDING};

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const RADII: [f32; 4] = [0.01, 1.0, 2.5, 1e9];
const HELD: u32 = 0b10_0110;

/// log q by the definition: each free site on its own.
fn formula(space: &Space, arity: impl Fn(usize) -> f64, radius: f32, held: u32, x: usize, y: usize) -> f64 {
    let sites = space.layout.sites();
    let rate = (f64::from(radius) / sites as f64).min(1.0);
    let site = |i: usize| match (space.state(x).get(i) != space.state(y).get(i), arity(i) - 1.0) {
        (changes, others) if others == 0.0 || (held >> i) & 1 == 1 => f64::from(u8::from(!changes)).ln(),
        (true, others) => (rate / others).ln(),
        (false, _) => (1.0 - rate).ln(),
    };
    (0..sites).map(site).sum()
}

fn judge(name: &str, energy: &dyn Energy, space: &Space, arity: impl Fn(usize) -> f64) {
    for radius in RADII {
        let walk = RandomWalk::new(radius).unwrap();
        for held in [0, HELD] {
            let found = space.transitions(energy, held, |ring, to| walk.transition(ring, to));
            let distribution = space.given(held, space.states() - 1);
            let table = Table {
                rows: (0..space.states())
                    .map(|x| {
                        let mut row: Vec<f64> = (0..space.states()).map(|y| found.moves(x, y)).collect();
                        row[x] = 0.0;
                        row[x] = 1.0 - row.iter().sum::<f64>();
                        row
                    })
                    .collect(),
            };
            // A radius of all sites changes every site: log q of staying is −∞, and so it must.
            let verdict = distribution.judge(&table);
            assert!(verdict.passes(), "{name}, radius {radius}, held {held:b}: {verdict:?}");
            for x in (0..space.states()).filter(|&x| space.distribution[x] > 0.0) {
                let row: f64 = (0..space.states()).map(|y| found.log_q(x, y).exp()).sum();
                assert!((row - 1.0).abs() <= 1e-6, "{name}, radius {radius}: row sum {row}");
                for y in 0..space.states() {
                    let (truth, said) = (formula(space, &arity, radius, held, x, y), found.log_q(x, y));
                    // The rounding of each logarithm and of the running sum, site by site.
                    let sites = space.layout.sites() as f64;
                    let bound = ROUNDING * LOG_ROUNDINGS * sites * (1.0 + truth.abs());
                    let same = truth == said || (truth - said).abs() <= bound;
                    assert!(same, "{name}, radius {radius}, {x} → {y}: {said}, not {truth}");
                }
            }
        }
    }
}

#[test]
fn binary_models() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, scale, seed as u64);
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        judge(&format!("Ising, sd {scale}"), &energy, &Space::binary(&model), |_| 2.0);
        let model = models::machine(6, 5, scale, seed as u64);
        let weights = Weights::new(&model).unwrap();
        judge(&format!("RBM, sd {scale}"), &weights.rbm().unwrap(), &Space::binary(&model), |_| 2.0);
    }
}

#[test]
fn categorical_and_ordinal_models() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        for arities in [&[3, 3, 3, 3][..], &[4, 4, 4], &[2, 3, 5, 4], &[1, 7, 2, 3]] {
            for (seed, scale) in SCALES.into_iter().enumerate() {
                let tables = Tables::new(kind, arities, scale, seed as u64);
                let energy = Plain(Own(&tables));
                let space = Space::tables(&tables, energy.layout());
                judge(&format!("{kind:?} {arities:?}"), &energy, &space, |i| f64::from(arities[i]));
            }
        }
    }
}

/// It cannot change, and so does not count as one that stays by chance.
#[test]
fn a_site_of_one_value_stays_for_sure() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[3, 1, 2], 0.4, 2);
        let energy = Plain(Own(&tables));
        let space = Space::tables(&tables, energy.layout());
        judge(&format!("{kind:?}"), &energy, &space, |i| f64::from(tables.arities[i]));
    }
}

/// From a forbidden state nothing leads back; from others the way back is as likely as the way there.
#[test]
fn the_way_back_has_the_probability_of_its_formula() {
    let model = Count { sites: 6, most: 3.0, weight: 0.5 };
    let (energy, space) = (Plain(model), Space::binary(&model));
    for radius in RADII {
        let walk = RandomWalk::new(radius).unwrap();
        let mut chain = space.chain(&energy, HELD);
        for x in (0..space.states()).filter(|&x| space.distribution[x] > 0.0) {
            chain.restart(space.state(x)).unwrap();
            for y in 0..space.states() {
                let said = f64::from(walk.transition(chain.ring(), space.state(y)).unwrap().log_reverse);
                let allowed = space.distribution[y] > 0.0;
                let truth =
                    if allowed { formula(&space, |_| 2.0, radius, HELD, y, x) } else { f64::NEG_INFINITY };
                let bound = ROUNDING * LOG_ROUNDINGS * 6.0 * (1.0 + truth.abs());
                let same = truth == said || (truth - said).abs() <= bound;
                assert!(same, "radius {radius}, {y} → {x}: {said}, not {truth}");
            }
        }
    }
}

#[test]
fn broken_variants_fail() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let tables = Tables::new(Kind::Categorical, &[4, 3, 5], scale, seed as u64);
        let (space, energy) =
            (Space::tables(&tables, Plain(Own(&tables)).layout()), |x: usize| tables.values(x));
        let distribution = tables.distribution();
        // One site at random, a new value with the odds `odds(from, to)`, and a share of the energy in the test.
        let variant = |share: f64, odds: fn(usize, usize) -> f64| {
            Transitions::new(space.states(), |x, y| {
                let (from, to) = (energy(x), energy(y));
                let changed: Vec<usize> = (0..3).filter(|&i| from[i] != to[i]).collect();
                let q = |i: usize| {
                    let all = (0..usize::from(tables.arities[i])).filter(|&k| k != from[i]);
                    odds(from[i], to[i]) / all.map(|k| odds(from[i], k)).sum::<f64>() / 3.0
                };
                let log_q = match changed[..] {
                    [i] => q(i).ln(),
                    _ => f64::NEG_INFINITY,
                };
                (log_q, share * (distribution.energies[x] - distribution.energies[y]))
            })
        };
        let keeps = |variant: Transitions| {
            let verdict = variant.judge(&distribution);
            verdict.asymmetry <= 5e-5 && verdict.stationarity <= 1e-6
        };
        assert!(keeps(variant(1.0, |_, _| 1.0)));
        assert!(!keeps(variant(0.5, |_, _| 1.0)), "half the energy is not seen");
        assert!(!keeps(variant(1.0, |from, to| if to > from { 2.0 } else { 1.0 })), "upwards is not seen");
    }
}

#[test]
fn steps_draw_and_report_what_transitions_say() {
    let tables = Tables::new(Kind::Categorical, &[2, 3, 5, 4], 0.7, 5);
    let energy = Plain(Own(&tables));
    let space = Space::tables(&tables, energy.layout());
    let (mut chain, mut other) = (space.chain(&energy, HELD), space.chain(&energy, HELD));
    let mut rng = LaneRng::seed_from_u64(21);
    for radius in [0.5, 2.0, 4.0] {
        let walk = RandomWalk::new(radius).unwrap();
        let from = 37;
        let mut row: Vec<f64> = (0..space.states())
            .map(|to| {
                chain.restart(space.state(from)).unwrap();
                let found = walk.transition(chain.ring(), space.state(to)).unwrap();
                f64::from(found.log_forward + found.log_ratio.min(0.0)).exp()
            })
            .collect();
        row[from] = 0.0;
        row[from] = 1.0 - row.iter().sum::<f64>();
        let counts = space.counts(&mut chain, &walk, from, 200_000, &mut rng);
        chi_square(&format!("moves of radius {radius}"), &counts, &row).must_pass();
        let next =
            (0..row.len()).filter(|&y| row[y] > 0.0 && y != from).max_by(|&a, &b| row[a].total_cmp(&row[b]));
        let (next, all) = (next.unwrap(), row.clone());
        (row[from], row[next]) = (all[from] + 0.1 * all[next], 0.9 * all[next]);
        chi_square("a tenth of the likeliest move is missing", &counts, &row).must_fail();
        let mut compared = 0;
        for _ in 0..2000 {
            other.restart(chain.state()).unwrap();
            let info = chain.step(&walk, &mut rng);
            if info.moved() > 0 {
                let said = walk.transition(other.ring(), chain.state()).unwrap();
                assert_eq!(info.log_ratio.to_bits(), said.log_ratio.to_bits());
                assert_eq!(info.difference.to_bits(), said.difference.to_bits());
                compared += 1;
            }
        }
        assert!(compared > 50, "only {compared} moves to compare");
    }
}

#[test]
fn parameters() {
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(RandomWalk::new(bad), Err(ParameterError::Radius(_))));
    }
    assert_eq!(RandomWalk::new(2.5).unwrap().radius(), 2.5);
}
