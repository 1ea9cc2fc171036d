//! Enumerated blocks, Hamming balls and swaps: their probabilities, composed to whole matrices, against distributions by
//! enumeration.

use bitmc::step::{EnumeratedGibbs, HammingBall, ParameterError, Swap};
use bitmc::{Energy, Kind, LaneRng, Layout, Packed, Plain, SeedableRng};
use bitmc_host_tests::failing;
use bitmc_host_tests::heap::Weights;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::Table;

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const HELD: u32 = 0b10_0110;

/// All sets of `number` of the sites, or the set of all where there are fewer.
fn sets(sites: usize, number: usize) -> Vec<Vec<usize>> {
    let members = |set: u32| (0..sites).filter(|site| (set >> site) & 1 == 1).collect();
    let number = number.min(sites) as u32;
    (0..1u32 << sites).filter(|set| set.count_ones() == number).map(members).collect()
}

/// The mean over all blocks of the matrix of a block.
fn blocks(space: &Space, energy: &dyn Energy, kernel: EnumeratedGibbs, size: usize, held: u32) -> Vec<Table> {
    let table = |sites: &Vec<usize>| {
        space.table(energy, held, |chain, _, row| {
            for (y, p) in row.iter_mut().enumerate() {
                *p = f64::from(kernel.log_probability(chain.ring(), sites, space.state(y)).unwrap()).exp();
            }
        })
    };
    sets(space.layout.sites(), size).iter().map(table).collect()
}

/// The same for balls: the sum over all centres. `odds` reweighs the centres by their distance.
fn balls(
    space: &Space,
    energy: &dyn Energy,
    kernel: HammingBall,
    size: usize,
    held: u32,
    odds: impl Fn(usize) -> f64,
) -> Table {
    let distance = |x: usize, u: usize| {
        let (x, u) = (space.state(x), space.state(u));
        x.values().zip(u.values()).filter(|(x, u)| x != u).count()
    };
    let table = |sites: &Vec<usize>| {
        space.table(energy, held, |chain, x, row| {
            let (mut total, mut sum) = (0.0, 0.0);
            for u in 0..space.states() {
                let centre = space.state(u);
                let mut at = |y: usize| kernel.transition(chain.ring(), sites, centre, space.state(y)).unwrap();
                let log_centre = f64::from(at(x).log_centre);
                if log_centre == f64::NEG_INFINITY {
                    continue;
                }
                let p = log_centre.exp() * odds(distance(x, u));
                (total, sum) = (total + p, sum + log_centre.exp());
                for (y, out) in row.iter_mut().enumerate() {
                    *out += p * f64::from(at(y).log_draw).exp();
                }
            }
            assert!((sum - 1.0).abs() < 1e-6, "the centres' probabilities add up to {sum}");
            row.iter_mut().for_each(|out| *out /= total);
        })
    };
    Table::mean(&sets(space.layout.sites(), size).iter().map(table).collect::<Vec<_>>())
}

/// Balls whose radius is drawn with the odds e^(number of states) instead of the number.
fn counts_as_logits(space: &Space, size: usize, radius: usize) -> impl Fn(usize) -> f64 {
    let others = space.layout.arity() as f64 - 1.0;
    let number = move |r: usize| {
        (0..r).map(|k| (size - k) as f64 / (k + 1) as f64).product::<f64>() * others.powi(r as i32)
    };
    move |r| if r <= radius { number(r).exp() / number(r) } else { 0.0 }
}

fn judge(name: &str, energy: &dyn Energy, space: &Space) {
    let sites = space.layout.sites();
    for held in [0, HELD] {
        let distribution = space.given(held, space.distribution.iter().rposition(|&p| p > 0.0).unwrap());
        for size in [1, 2, 3] {
            let Ok(kernel) = EnumeratedGibbs::new(space.layout, size) else { continue };
            let tables = blocks(space, energy, kernel, size, held);
            for table in &tables {
                let verdict = distribution.judge(table);
                assert!(verdict.passes(), "{name}, block of {size}, held {held:b}: {verdict:?}");
            }
        }
        for (size, radius) in [(2, 1), (3, 2), (sites.min(4), 1)] {
            let Ok(kernel) = HammingBall::new(space.layout, size, radius) else { continue };
            let verdict = distribution.judge(&balls(space, energy, kernel, size, held, |_| 1.0));
            assert!(verdict.passes(), "{name}, ball {size}-{radius}, held {held:b}: {verdict:?}");
        }
        let swaps = space.transitions(energy, held, |ring, to| Swap.transition(ring, to));
        let table = Table {
            rows: (0..space.states())
                .map(|x| {
                    let row: f64 = (0..space.states()).map(|y| swaps.log_q(x, y).exp()).sum();
                    let reached = distribution.distribution[x] > 0.0;
                    assert!(!reached || (row - 1.0).abs() < 1e-5, "{name}: swaps from {x} add up to {row}");
                    let mut row: Vec<f64> = (0..space.states()).map(|y| swaps.moves(x, y)).collect();
                    row[x] = 0.0;
                    row[x] = 1.0 - row.iter().sum::<f64>();
                    row
                })
                .collect(),
        };
        let verdict = distribution.judge(&table);
        assert!(verdict.passes(), "{name}, swaps, held {held:b}: {verdict:?}");
    }
}

#[test]
fn binary_models() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 5, 0.8, scale, seed as u64);
        let mut couplings = model.couplings();
        judge(&format!("Ising, sd {scale}"), &couplings.ising(&model).unwrap(), &Space::binary(&model));
        let model = models::machine(5, 4, scale, seed as u64);
        let weights = Weights::new(&model).unwrap();
        judge(&format!("RBM, sd {scale}"), &weights.rbm().unwrap(), &Space::binary(&model));
    }
}

#[test]
fn categorical_and_ordinal_models() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        for arities in [&[3, 3, 3][..], &[4, 4, 2], &[1, 5, 2, 3]] {
            for (seed, scale) in SCALES.into_iter().enumerate() {
                let tables = Tables::new(kind, arities, scale, seed as u64);
                let energy = Plain(Own(&tables));
                judge(&format!("{kind:?} {arities:?}"), &energy, &Space::tables(&tables, energy.layout()));
            }
        }
    }
}

#[test]
fn broken_variants_fail() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 5, 0.8, 0.4, 3);
    let (space, mut couplings) = (Space::binary(&model), model.couplings());
    let energy = couplings.ising(&model).unwrap();
    // Radii with the odds of e^count: a ball around u gives back another distance than it was drawn at.
    let ball = HammingBall::new(space.layout, 4, 2).unwrap();
    let wrong = balls(&space, &energy, ball, 4, 0, counts_as_logits(&space, 4, 2));
    let verdict = space.judge(&wrong);
    assert!(verdict.rows < 1e-6 && !verdict.stationary(), "counts as logits are not seen: {verdict:?}");
    // Swaps without their ratio.
    let swaps = space.transitions(&energy, 0, |ring, to| Swap.transition(ring, to));
    let always = Transitions::new(space.states(), |x, y| (swaps.log_q(x, y), 0.0));
    assert!(
        !space
            .judge(&Table {
                rows: (0..space.states())
                    .map(|x| (0..space.states()).map(|y| always.moves(x, y)).collect())
                    .collect(),
            })
            .stationary()
    );
    // A block that takes half of the energy.
    let block = EnumeratedGibbs::new(space.layout, 2).unwrap();
    let half = bitmc_host_tests::stat::models::HalfEnergy(energy);
    assert!(!space.judge(&Table::mean(&blocks(&space, &half, block, 2, 0))).stationary());
}

#[test]
fn steps_draw_what_is_said() {
    let tables = Tables::new(Kind::Ordinal, &[2, 3, 5, 4], 0.7, 5);
    let energy = Plain(Own(&tables));
    let space = Space::tables(&tables, energy.layout());
    let (mut rng, from, steps) = (LaneRng::seed_from_u64(26), 41, 100_000);
    for held in [0, 0b0100] {
        let mut chain = space.chain(&energy, held);
        let block = EnumeratedGibbs::new(space.layout, 2).unwrap();
        let said = Table::mean(&blocks(&space, &energy, block, 2, held));
        let counts = space.counts(&mut chain, &block, from, steps, &mut rng);
        chi_square("blocks of two", &counts, &said.rows[from]).must_pass();
        let ball = HammingBall::new(space.layout, 3, 1).unwrap();
        let right = balls(&space, &energy, ball, 3, held, |_| 1.0);
        let ends = space.counts(&mut chain, &ball, from, steps, &mut rng);
        chi_square("balls of one in three", &ends, &right.rows[from]).must_pass();
        chi_square("blocks for balls", &ends, &said.rows[from]).must_fail();
        let swaps = space.transitions(&energy, held, |ring, to| Swap.transition(ring, to));
        let mut row: Vec<f64> = (0..space.states()).map(|y| swaps.moves(from, y)).collect();
        row[from] = 0.0;
        row[from] = 1.0 - row.iter().sum::<f64>();
        let counts = space.counts(&mut chain, &Swap, from, steps, &mut rng);
        chi_square("swaps", &counts, &row).must_pass();
    }
}

#[test]
fn walls_and_faults_between_the_states_of_a_block() {
    // The distribution is flat over the four states that are left, and blocks of all three sites find each of them.
    let inf = f32::INFINITY;
    let totals = vec![0.0, f32::NAN, 0.0, inf, inf, f32::NEG_INFINITY, 0.0, 0.0];
    let energy = Plain(failing::Table { sites: 3, totals, gradient: vec![0.0] });
    let (block, layout) = (EnumeratedGibbs::new(Layout::binary(3), 3).unwrap(), Layout::binary(3));
    let mut chain = bitmc_host_tests::heap::chain(&energy, &[0]).unwrap();
    let mut rng = LaneRng::seed_from_u64(27);
    let mut counts = [0u64; 8];
    for _ in 0..20_000 {
        let info = chain.step(&block, &mut rng);
        assert!(info.accepted && info.fault);
        counts[chain.state().words()[0] as usize] += 1;
    }
    chi_square("flat", &counts, &[0.25, 0.0, 0.25, 0.0, 0.0, 0.0, 0.25, 0.25]).must_pass();
    for (state, &count) in (0u32..).zip(&counts) {
        let to = [state];
        let said = block.log_probability(chain.ring(), &[0, 1, 2], Packed::new(layout, &to).unwrap()).unwrap();
        assert_eq!(said > -1e9, count > 0, "state {state}: {said}");
    }
}

#[test]
fn swaps_keep_the_number_of_every_value() {
    let tables = Tables::new(Kind::Categorical, &[5; 40], 0.1, 9);
    let energy = Plain(Own(&tables));
    let mut rng = LaneRng::seed_from_u64(28);
    let mut chain = bitmc_host_tests::heap::random_chain(&energy, &mut rng).unwrap();
    let histogram = |state: Packed<'_>| {
        let mut counts = [0; 5];
        state.values().for_each(|value| counts[value as usize] += 1);
        counts
    };
    let (start, mut moved) = (histogram(chain.state()), 0);
    for _ in 0..2000 {
        let info = chain.step(&Swap, &mut rng);
        assert!(info.proposed == 2, "every proposal exchanges two values");
        moved += info.moved();
        assert_eq!(histogram(chain.state()), start);
    }
    assert!(moved > 400, "{moved}");
}

#[test]
fn parameters() {
    let (binary, five) = (Layout::binary(30), Layout::categorical(30, 5));
    for bad in [0, 13, usize::MAX] {
        assert_eq!(EnumeratedGibbs::new(binary, bad), Err(ParameterError::Block(bad)));
        assert_eq!(HammingBall::new(binary, bad, 2), Err(ParameterError::Block(bad)));
    }
    assert!(EnumeratedGibbs::new(binary, 12).is_ok() && HammingBall::new(binary, 12, 12).is_ok());
    assert!(EnumeratedGibbs::new(five, 5).is_ok() && HammingBall::new(five, 12, 2).is_ok());
    assert_eq!(EnumeratedGibbs::new(five, 6), Err(ParameterError::Block(6)));
    assert_eq!(HammingBall::new(five, 12, 4), Err(ParameterError::Block(12)));
    assert_eq!(HammingBall::new(binary, 4, 0), Err(ParameterError::Radius(0.0)));
    // A kernel for fewer values refuses.
    let tables = Tables::new(Kind::Categorical, &[5, 5], 1.0, 9);
    let energy = Plain(Own(&tables));
    let space = Space::tables(&tables, energy.layout());
    let mut chain = space.chain(&energy, 0);
    let mut rng = LaneRng::seed_from_u64(29);
    assert!(chain.step(&EnumeratedGibbs::new(binary, 2).unwrap(), &mut rng).fault);
    assert!(chain.step(&HammingBall::new(binary, 2, 1).unwrap(), &mut rng).fault);
}
