//! Enumerated blocks, Hamming balls and swaps: their probabilities, composed to whole matrices, against distributions by
//! enumeration.

use bitmc::lane::Bits;
use bitmc::step::{EnumeratedGibbs, HammingBall, ParameterError, Swap};
use bitmc::{Bernoulli, Energy, Function, Kind, LaneRng, Layout, Move, Packed, Plain, SeedableRng};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::failing;
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::listed::{Listed, count};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::passes_on;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::tolerance::{ROUNDING, ROW_SUM};
use std::cell::RefCell;

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

/// A few states, in a moment.
#[test]
fn few_categorical_and_ordinal_states() {
    for (kind, arities) in [(Kind::Categorical, &[2, 3, 2][..]), (Kind::Ordinal, &[1, 3, 4])] {
        let tables = Tables::new(kind, arities, 1.0, 5);
        let energy = Plain(Own(&tables));
        judge(&format!("{kind:?} {arities:?}"), &energy, &Space::tables(&tables, energy.layout()));
    }
}

/// The first two sites are never both 1.
struct Fenced<'t>(Own<'t>);

impl Function for Fenced<'_> {
    fn layout(&self) -> Layout {
        self.0.layout()
    }

    fn arities(&self) -> Option<&[u16]> {
        self.0.arities()
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        if (x.get(0), x.get(1)) == (1, 1) { f32::INFINITY } else { self.0.total(x) }
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.0.gradient(x, site)
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        self.0.component(x, site, value)
    }
}

/// Where two draws lead from a state: a free site, and then a free site of another value.
fn two_draws(space: &Space, arities: &[u16], held: u32, x: usize) -> Vec<f64> {
    let values: Vec<u32> = space.state(x).values().collect();
    let free: Vec<usize> = (0..values.len()).filter(|site| (held >> site) & 1 == 0).collect();
    let mut row = vec![0.0; space.states()];
    for &a in &free {
        let others: Vec<usize> = free.iter().copied().filter(|&b| values[b] != values[a]).collect();
        for &b in &others {
            let mut y = values.clone();
            if values[b] < u32::from(arities[a]) && values[a] < u32::from(arities[b]) {
                y.swap(a, b);
            }
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            let words = heap::pack_in(space.layout, &y);
            let to = space.number(Packed::new(space.layout, &words).unwrap());
            row[to] += 1.0 / (free.len() * others.len()) as f64;
        }
        if others.is_empty() {
            row[x] += 1.0 / free.len() as f64;
        }
    }
    if free.is_empty() {
        row[x] = 1.0;
    }
    row
}

/// Fields of one, two, four and eight bits, of sites that have not all the same values. Of six sites and more the
/// probabilities of all exchanges add up, rounded, to less than 1: that is no probability to stay.
#[test]
fn swaps_have_the_probabilities_of_their_two_draws() {
    let cases = [(&[2, 3, 4][..], 1), (&[3, 3, 2, 3], 1), (&[2, 3, 5], 1), (&[2, 3, 17], 1), (&[2; 8], 5)];
    for (arities, stride) in cases {
        let tables = Tables::new(Kind::Categorical, arities, 1.0, 3);
        let energy = Plain(Fenced(Own(&tables)));
        let layout = energy.layout();
        let all = Space::tables(&tables, layout);
        let fenced = |x: usize| (all.state(x).get(0), all.state(x).get(1)) == (1, 1);
        let energies =
            (0..all.states()).map(|x| if fenced(x) { f64::INFINITY } else { all.exact().energies[x] });
        let distribution = Distribution::from_energies(arities.len(), energies.collect());
        let space = Space::new(layout, all.words.clone(), distribution);
        let energies = &space.exact().energies;
        for held in [0, 0b001, 0b110] {
            let rows: Vec<_> = (0..space.states()).map(|x| two_draws(&space, arities, held, x)).collect();
            let (mut chain, mut sums) = (space.chain(&energy, held), 0);
            for x in (0..space.states()).step_by(stride).filter(|&x| !fenced(x)) {
                chain.restart(space.state(x)).unwrap();
                for y in 0..space.states() {
                    let found = Swap.transition(chain.ring(), space.state(y)).unwrap();
                    let name = format!("{arities:?}, held {held:b}, {x} to {y}: {found:?}");
                    let (q, rise) = (rows[x][y], energies[y] - energies[x]);
                    assert!((f64::from(found.log_forward).exp() - q).abs() < ROW_SUM, "{name} for {q}");
                    assert_eq!(found.log_forward > f32::NEG_INFINITY, q > 0.0, "{name}");
                    let back = if fenced(y) { 0.0 } else { rows[y][x] };
                    assert!((f64::from(found.log_reverse).exp() - back).abs() < ROW_SUM, "{name} for {back}");
                    // What is never drawn, or is forbidden, is never made.
                    let ratio = if q > 0.0 && !fenced(y) { -rise } else { f64::NEG_INFINITY };
                    let same = f64::from(found.log_ratio) == ratio;
                    assert!(same || (f64::from(found.log_ratio) - ratio).abs() < 1e-5, "{name} for {ratio}");
                    assert!(!found.fault && f64::from(found.difference) == rise, "{name} for {rise}");
                    sums += usize::from(x == y && q == 0.0);
                }
            }
            assert!(held != 0 || sums > 0, "{arities:?}: no state that never stays");
        }
    }
}

/// Half of the bits are 1: each first site has a partner, however many of the 40,000 exchanges are added up.
#[test]
fn swaps_of_many_sites_stay_only_where_none_is_left() {
    let energy = Bernoulli::new(&[0.0; 400]).unwrap();
    let mut words = [0u32; 13];
    (0..200).for_each(|site| words[site / 32] |= 1 << (site % 32));
    let mut chain = heap::chain(&energy, &words).unwrap();
    let found = Swap.transition(chain.ring(), Packed::new(energy.layout(), &words).unwrap()).unwrap();
    assert_eq!(found.log_forward, f32::NEG_INFINITY, "{found:?}");
}

#[test]
fn sites_named_twice_or_that_do_not_exist_count_for_nothing() {
    let tables = Tables::new(Kind::Categorical, &[3, 3, 3], 1.0, 6);
    let energy = Plain(Own(&tables));
    let space = Space::tables(&tables, energy.layout());
    let (block, ball) =
        (EnumeratedGibbs::new(space.layout, 3).unwrap(), HammingBall::new(space.layout, 3, 2).unwrap());
    let mut chain = space.chain(&energy, 0);
    for x in 0..space.states() {
        chain.restart(space.state(x)).unwrap();
        for y in 0..space.states() {
            let to = space.state(y);
            let mut said = |sites: &[usize]| {
                let p = block.log_probability(chain.ring(), sites, to).unwrap();
                let around = ball.transition(chain.ring(), sites, space.state(x), to).unwrap();
                [p, around.log_centre, around.log_draw].map(f32::to_bits)
            };
            let plain = said(&[0, 1]);
            for sites in [[0, 0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 99]] {
                assert_eq!(said(&sites), plain, "{sites:?}, {x} to {y}");
            }
        }
    }
}

#[test]
fn a_ball_as_wide_as_its_block_is_the_block_bit_for_bit() {
    let tables = Tables::new(Kind::Categorical, &[3, 3, 3], 1.0, 6);
    let energy = Plain(Own(&tables));
    let space = Space::tables(&tables, energy.layout());
    let mut chain = space.chain(&energy, 0);
    for sites in [&[0, 1][..], &[0, 1, 2]] {
        let block = EnumeratedGibbs::new(space.layout, sites.len()).unwrap();
        let ball = HammingBall::new(space.layout, sites.len(), sites.len()).unwrap();
        for x in 0..space.states() {
            chain.restart(space.state(x)).unwrap();
            for y in 0..space.states() {
                let p = block.log_probability(chain.ring(), sites, space.state(y)).unwrap();
                let around = ball.transition(chain.ring(), sites, space.state(x), space.state(y)).unwrap();
                assert_eq!(around.log_draw.to_bits(), p.to_bits(), "{sites:?}, {x} to {y}");
            }
        }
    }
}

/// An energy that keeps how many sites each move changes that it is asked for.
struct Watched<'t>(Plain<Own<'t>>, RefCell<Vec<usize>>);

impl Energy for Watched<'_> {
    passes_on!(0: layout, cache_len, arities, init, gradient, differences);

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.1.borrow_mut().push(step.count());
        self.0.shift(step, cache)
    }
}

/// Gray order: twelve states are eleven moves.
#[test]
fn each_state_of_a_block_is_a_move_of_one_site_from_the_one_before() {
    let tables = Tables::new(Kind::Categorical, &[2, 3, 2], 1.0, 6);
    let energy = Watched(Plain(Own(&tables)), RefCell::default());
    let space = Space::tables(&tables, energy.layout());
    let block = EnumeratedGibbs::new(space.layout, 3).unwrap();
    let mut chain = space.chain(&energy, 0);
    energy.1.borrow_mut().clear();
    let p = block.log_probability(chain.ring(), &[0, 1, 2], space.state(5)).unwrap();
    assert!((f64::from(p).exp() - space.distribution[5]).abs() < ROW_SUM);
    assert_eq!(*energy.1.borrow(), [1; 11]);
}

/// The first table has steps up and down that e^x has no floats for. In the second a state at 4,096 is between two whose
/// energies have digits that a difference from it has lost.
#[test]
fn states_far_apart_in_energy_have_their_probabilities() {
    for (totals, starts) in [([0.0f32, 200.0, -200.0, 50.0], 0..4), ([0.0, 4096.0, 0.3, 0.1], 0..1)] {
        let energies: Vec<f64> = totals.iter().copied().map(f64::from).collect();
        let distribution = Distribution::from_energies(2, energies.clone());
        let energy = Plain(failing::Table { sites: 2, totals: totals.to_vec(), gradient: vec![0.0] });
        let block = EnumeratedGibbs::new(Layout::binary(2), 2).unwrap();
        for x in starts {
            let mut chain = heap::chain(&energy, &[x]).unwrap();
            for (y, of) in (0u32..).zip(&energies) {
                let to = [y];
                let to = Packed::new(Layout::binary(2), &to).unwrap();
                let found = f64::from(block.log_probability(chain.ring(), &[0, 1], to).unwrap());
                let truth = -of - distribution.log_z;
                let bound = 16.0 * ROUNDING * truth.abs().max(1.0);
                assert!((found - truth).abs() < bound, "{totals:?}, {x} to {y}: {found} for {truth}");
            }
        }
    }
}

/// Of states of one energy the second is drawn by the upper half of all words of its uniform, the fourth by the lowest
/// quarter. A uniform has 24 bits: the end of a share is off by half of its last one at most.
#[test]
fn a_state_is_drawn_by_its_share_of_words() {
    let drawn = |sites: usize, before: &[u32], half: u128| {
        let energy = Plain(failing::Table { sites, totals: vec![0.0], gradient: vec![0.0] });
        let mut chain = heap::chain(&energy, &[0]).unwrap();
        let block = EnumeratedGibbs::new(Layout::binary(sites), sites).unwrap();
        let words = [before, &[(half as u32) << 1, 0]].concat();
        chain.step(&block, &mut Listed(&words));
        chain.state().words()[0]
    };
    // A word for each site of the block, and then one for each state: the second and third of four are not drawn.
    let second = count(1 << 31, |half| drawn(1, &[0, 1 << 30], half) == 0);
    let fourth = count(1 << 31, |half| drawn(2, &[0, 0, 1 << 30, 1 << 29, 7 << 29], half) == 0b10);
    for (found, truth, step) in [(second, 1u128 << 30, 64), (fourth, 1 << 29, 32)] {
        assert!(found.abs_diff(truth) <= step / 2, "{found} words for {truth}");
    }
}
