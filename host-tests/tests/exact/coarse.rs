//! The RBM whose proposals have a gradient of 16-bit integers: its integers, and that it keeps the exact distribution.

use bitmc::energy::{CoarseRbm, EnergyError, RbmError, pack_rows};
use bitmc::lane::{Bits, Block, LANES, PARTS, U32s};
use bitmc::{Energy, Langevin, Layout, Move, Packed, Rbm};
use bitmc_host_tests::coarse::Coarse;
use bitmc_host_tests::comparison::{cache_of, gradient_of, same_bits};
use bitmc_host_tests::dmala::Proposal;
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Machine, Target};
use bitmc_host_tests::npy;
use bitmc_host_tests::passes_on;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The kernel's model of a machine, and what it borrows.
struct Owner(Weights, Vec<Bits>);

impl Owner {
    fn new(machine: &Machine) -> Self {
        let room = CoarseRbm::room_len(machine.visible.len(), machine.hidden.len());
        Self(Weights::new(machine).unwrap(), vec![[0; LANES]; room])
    }

    fn model(&mut self) -> CoarseRbm<'_> {
        CoarseRbm::new(self.0.rbm().unwrap(), &mut self.1).unwrap()
    }
}

#[test]
fn halves_are_multiplied_and_added() {
    let mut source = Source::new(1);
    let extremes = [i16::MIN, -32_767, -1, 0, 1, 4096, i16::MAX];
    let mut half = || match source.below(3) {
        0 => extremes[source.below(extremes.len())],
        _ => (source.below(65_536) as u16) as i16,
    };
    let word = |low: i16, high: i16| u32::from(low as u16) | (u32::from(high as u16) << 16);
    for _ in 0..2_000 {
        let halves: [[i16; 4]; LANES] = std::array::from_fn(|_| std::array::from_fn(|_| half()));
        let (a, b) = (halves.map(|[a, b, ..]| word(a, b)), halves.map(|[.., c, d]| word(c, d)));
        let (mut found, mut total) = ([0; LANES], 0u32);
        for part in 0..PARTS {
            let product = U32s::load(&a, part).dot(U32s::load(&b, part));
            product.store(&mut found, part);
            total = total.wrapping_add(product.total());
        }
        let truth = halves.map(|[a, b, c, d]| i64::from(a) * i64::from(c) + i64::from(b) * i64::from(d));
        assert_eq!(found, truth.map(|product| product as u32));
        assert_eq!(total, truth.iter().sum::<i64>() as u32);
    }
}

/// Checks the gradient at some states; the number of components that were compared bit for bit.
fn judge_integers(machine: Machine, grid: f64, states: usize) -> usize {
    let (mut owner, naive) = (Owner::new(&machine), Coarse::new(machine, grid));
    let (model, mut source) = (owner.model(), Source::new(states as u64));
    let mut compared = 0;
    for _ in 0..states {
        let x = source.state(naive.sites());
        let (total, cache) = cache_of(&model, &x);
        let (exact, _) = cache_of(&model.exact(), &x);
        assert_eq!(total.to_bits(), exact.to_bits());
        // Where an activity is near a tie the sum may be another one, for every visible unit alike.
        if naive.ties(&x).iter().any(|&tie| tie) {
            continue;
        }
        let found = gradient_of(&model, &x, &cache).into_flattened();
        for ((found, sum), a) in found.into_iter().zip(naive.sums(&x)).zip(&naive.machine.visible) {
            assert!(sum.abs() < 1 << 31);
            let truth = -(a + sum as f32 * (naive.unit / 4096.0) as f32);
            assert_eq!(found, truth);
            compared += 1;
        }
    }
    compared
}

#[test]
fn the_product_is_that_of_whole_numbers() {
    let mut compared = 0;
    for visible in 1..=35 {
        for hidden in [1, 2, 15, 16, 17, 31, 32, 33, 48, 70] {
            let machine = models::machine(visible, hidden, 1.0, (visible * hidden) as u64);
            compared += judge_integers(machine, 1.0 / 64.0, 6) / visible;
        }
    }
    assert!(compared > 35 * 10 * 5, "{compared} of 2100 states");
    // Weights on fine grids, so that bits must be dropped, by rows and by single weights.
    for (hidden, sd) in [(3, 500.0), (40, 500.0), (40, 10_000.0), (500, 30.0), (500, 1000.0)] {
        let machine = models::machine(20, hidden, sd, hidden as u64);
        assert!(judge_integers(machine, 1.0 / 64.0, 40) > 0, "{hidden} hidden units, sd {sd}");
    }
}

#[test]
fn sums_reach_their_bound() {
    // All weights alike and all hidden units on: the largest sum that the rounding allows.
    for hidden in [1, 16, 17, 500, 4096] {
        for sign in [1.0, -1.0] {
            let weights = vec![sign * (1.0 - 1.0 / 64.0); 3 * hidden];
            let machine = Machine { weights, visible: vec![0.0; 3], hidden: vec![40.0; hidden] };
            let naive = Coarse::new(machine.clone(), 2f64.powi(-22));
            let reach = naive.sums(&[0.0; 3]).iter().map(|sum| sum.abs()).max().unwrap();
            // Single weights are within 2^14 units, a row within 2^18.
            let bound = (hidden as f64 * 2f64.powi(26)).min(2f64.powi(30));
            assert!(reach as f64 > 0.49 * bound && (reach as f64) < bound * 1.01, "{hidden}: {reach}");
            let mut owner = Owner::new(&machine);
            let model = owner.model();
            let (_, cache) = cache_of(&model, &[0.0; 3]);
            // The weights are whole numbers of units, and so is the sum.
            let truth = -sign * hidden as f32 * (1.0 - 1.0 / 64.0);
            for &found in gradient_of(&model, &[0.0; 3], &cache).as_flattened().iter().take(3) {
                assert_eq!(found, truth, "{hidden} hidden units");
            }
        }
    }
}

#[test]
fn caches_do_not_know_the_way() {
    let machine = npy::machine("rbm64");
    let mut owner = Owner::new(&machine);
    let (model, mut source) = (owner.model(), Source::new(5));
    let mut x = source.state(machine.visible.len());
    let (_, mut cache) = cache_of(&model, &x);
    let (_, mut exact) = cache_of(&model.exact(), &x);
    for _ in 0..200 {
        let y: Vec<f64> = x.iter().map(|&v| if source.uniform() < 0.1 { 1.0 - v } else { v }).collect();
        let (from, to) = (heap::pack(&x), heap::pack(&y));
        let layout = model.layout();
        let step = Move::new(Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap()).unwrap();
        let difference = model.shift(&step, &mut cache);
        assert_eq!(difference.to_bits(), model.exact().shift(&step, &mut exact).to_bits());
        x = y;
        let site = source.below(x.len());
        let differences = |energy: &dyn Energy, cache: &[Bits]| {
            let mut out = [f32::NAN; 2];
            energy.differences(&mut heap::pack(&x), cache, site, &mut out);
            out.map(f32::to_bits)
        };
        assert_eq!(differences(&model, &cache), differences(&model.exact(), &exact));
        let (_, fresh) = cache_of(&model, &x);
        assert_eq!(gradient_of(&model, &x, &cache), gradient_of(&model, &x, &fresh));
    }
    same_bits(&model, &x, &source.state(x.len()));
}

const STEP_SIZES: [f32; 5] = [0.1, 0.5, 2.0, 8.0, 1000.0];

/// Machines of six visible units with their distributions.
fn machines() -> impl Iterator<Item = (f64, Machine)> {
    let of = |(seed, sd)| [3, 20].map(|hidden| (sd, models::machine(6, hidden, sd, seed as u64)));
    [0.4, 3.0, 10.0].into_iter().enumerate().flat_map(of)
}

#[test]
fn the_distribution_is_that_of_the_exact_model() {
    for (sd, machine) in machines() {
        let (distribution, mut owner) = (Distribution::of(&machine), Owner::new(&machine));
        let (model, naive) = (owner.model(), Coarse::new(machine, 1.0 / 64.0));
        for (index, step_size) in STEP_SIZES.into_iter().enumerate() {
            let held = if index % 2 == 0 { 0 } else { 0b10_0101 };
            let found = Transitions::of(&model, &Langevin::adjusted(step_size).unwrap(), held);
            let verdict = found.judge(&distribution);
            assert!(verdict.passes(), "sd {sd}, step size {step_size}: {verdict:?}");
            let curvature = vec![f64::from(1.0 / step_size); 6];
            let limit = f64::from(bitmc::draw::LOGIT_LIMIT);
            let formula = Proposal { balance: 0.5, curvature, held, limit };
            let error = formula.error(&naive, &distribution, &found);
            assert!(error <= 1.0, "sd {sd}, step size {step_size}: log q is {error} bounds off");
        }
    }
}

/// A model that takes the coarse gradient and the exact one in turn: not a function of the state.
struct InTurn<'a>(CoarseRbm<'a>, Cell<bool>);

impl Energy for InTurn<'_> {
    passes_on!(0: layout, cache_len, init, shift, differences);

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        if self.1.replace(!self.1.get()) {
            self.0.gradient(x, cache, blocks, out);
        } else {
            let exact = self.0.exact();
            exact.gradient(x, &cache[..exact.cache_len()], blocks, out);
        }
    }
}

#[test]
fn broken_variants_fail() {
    for (sd, machine) in machines().filter(|(_, machine)| machine.hidden.len() > 3) {
        let (distribution, mut owner) = (Distribution::of(&machine), Owner::new(&machine));
        let model = owner.model();
        for step_size in STEP_SIZES {
            let sampler = Langevin::adjusted(step_size).unwrap();
            let coarse = Transitions::of(&model, &sampler, 0);
            let exact = Transitions::of(&model.exact(), &sampler, 0);
            // There by the coarse gradient, back by the exact one.
            let ratio = |x: usize, y: usize, back: &Transitions| {
                distribution.energies[x] - distribution.energies[y] + back.log_q(y, x) - coarse.log_q(x, y)
            };
            let variant = |back| Transitions::new(64, |x, y| (coarse.log_q(x, y), ratio(x, y, back)));
            assert!(variant(&coarse).judge(&distribution).passes(), "sd {sd}, step size {step_size}");
            let verdict = variant(&exact).judge(&distribution);
            assert!(!verdict.passes(), "sd {sd}, step size {step_size}: {verdict:?}");
            // Both by turns: log q(y|x) on the way there is not the one on the way back.
            let in_turn = InTurn(model, Cell::new(false));
            let judged = catch_unwind(AssertUnwindSafe(|| Transitions::of(&in_turn, &sampler, 0)));
            assert!(judged.is_err(), "sd {sd}, step size {step_size}");
        }
    }
}

#[test]
fn a_room_of_another_length_is_refused() {
    let (mut weights, mut hidden) = ([[0.0; LANES]; 6], [[0.0; LANES]; 2]);
    pack_rows(&[0.5; 60], 20, &mut weights).unwrap();
    pack_rows(&[0.25; 20], 20, &mut hidden).unwrap();
    let model = Rbm::new(&weights, &[0.0; 3], &hidden, 20).unwrap();
    let need = CoarseRbm::room_len(3, 20);
    for got in [0, need - 1, need + 1] {
        let refused = CoarseRbm::new(model, &mut vec![[0; LANES]; got]).map(|_| ());
        assert_eq!(refused, Err(RbmError::Length { need, got }));
    }
    let mut room = vec![[u32::MAX; LANES]; need];
    let model = CoarseRbm::new(model, &mut room).unwrap();
    let x = Packed::new(Layout::binary(3), &[0b101]).unwrap();
    let need = CoarseRbm::cache_len(20);
    for got in [0, 1, need - 1] {
        let refused = model.init(x, &mut vec![[0; LANES]; got]);
        assert_eq!(refused, Err(EnergyError::Cache { need, got }));
    }
}
