//! Block Gibbs by changes: integer sums that equal a computation from nothing, with columns and without them, alone and
//! together.

use bitmc::energy::{CoarseRbm, EnergyError, PathError, RbmError};
use bitmc::lane::{Bits, LANES};
use bitmc::step::TemperedBlockGibbs;
use bitmc::{BlockGibbs, Energy, Gibbs, Info, LaneRng, Langevin, Layout, Packed, Rbm, SeedableRng};
use bitmc_host_tests::heap::{self, HeapChain, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Machine;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::block_gibbs;

/// Visible and hidden units around blocks, words and tiles of blocks.
const SHAPES: [(usize, usize); 8] =
    [(1, 1), (3, 40), (16, 16), (17, 33), (33, 5), (70, 100), (300, 20), (145, 530)];

fn room(model: &Rbm<'_>) -> Vec<Bits> {
    // What stood there before must not matter.
    vec![[0xDEAD_BEEF; LANES]; Rbm::columns_len(model.visible_units(), model.hidden_units())]
}

/// Every third site is held where that is asked for.
fn start<'e, 'm>(model: &'e Rbm<'m>, held: bool) -> HeapChain<'e, Rbm<'m>> {
    let sites = model.visible_units();
    let mut chain = heap::chain(model, &vec![0; model.layout().words()]).unwrap();
    if held {
        let mask: Vec<f64> = (0..sites).map(|site| f64::from(site % 3 == 1)).collect();
        chain.clamp(Packed::new(Layout::binary(sites), &heap::pack(&mask)).unwrap()).unwrap();
    }
    chain
}

fn bits(info: Info) -> (Info, u32, u32) {
    (info, info.log_ratio.to_bits(), info.difference.to_bits())
}

/// Steps of two chains that differ in their state, their energy or what they tell.
fn differences(one: &Rbm<'_>, other: &Rbm<'_>, held: bool, steps: usize) -> (usize, u32) {
    let mut rngs = [LaneRng::seed_from_u64(5), LaneRng::seed_from_u64(5)];
    let (mut one, mut other) = (start(one, held), start(other, held));
    let (mut different, mut moved) = (0, 0);
    let langevin = Langevin::adjusted(0.3).unwrap();
    for step in 0..steps {
        // Other samplers move the state between two sweeps, and a chain may be set back.
        let [a, b] = &mut rngs;
        let infos = match step % 10 {
            3 => (one.step(&langevin, a), other.step(&langevin, b)),
            6 => (one.step(&Gibbs::systematic(), a), other.step(&Gibbs::systematic(), b)),
            _ => (one.step(&BlockGibbs, a), other.step(&BlockGibbs, b)),
        };
        if step % 25 == 24 {
            // One of them alone: a cache from nothing answers as one that came a long way.
            one.refresh().unwrap();
        }
        let same = bits(infos.0) == bits(infos.1) && one.state().words() == other.state().words();
        different += usize::from(!same);
        moved += infos.0.moved();
    }
    (different, moved)
}

#[test]
fn columns_change_no_draw() {
    for (number, (visible, hidden)) in SHAPES.into_iter().enumerate() {
        let weights = Weights::new(&models::machine(visible, hidden, 0.4, number as u64)).unwrap();
        let rows = weights.rbm().unwrap();
        let mut room = room(&rows);
        let columns = rows.with_columns(&mut room).unwrap();
        for held in [false, true] {
            let (different, moved) = differences(&rows, &columns, held, 120);
            assert_eq!(different, 0, "{visible} x {hidden}");
            assert!(moved > 20, "{visible} x {hidden}: {moved} moves to compare");
        }
    }
    // What the comparison must see: one weight of another sign.
    let machine = models::machine(17, 33, 0.4, 3);
    let mut broken = machine.clone();
    broken.weights[5] = -broken.weights[5];
    let [machine, broken] = [machine, broken].map(|machine| Weights::new(&machine).unwrap());
    assert!(differences(&machine.rbm().unwrap(), &broken.rbm().unwrap(), false, 120).0 > 50);
}

/// Pre-activations of hidden and of visible units in units of the grid, from nothing, in whole numbers of the reference.
fn sums(machine: &Machine, unit: f64, v: &[u32], h: &[u32]) -> (Vec<i64>, Vec<i64>) {
    let round = |x: f32| (f64::from(x) / unit).round_ties_even() as i64;
    let weight = |i: usize, j: usize| round(machine.weights[i * machine.hidden.len() + j]);
    let on = |of: &[u32], i: usize| i64::from((of[i / 32] >> (i % 32)) & 1);
    let (visible, hidden) = (machine.visible.len(), machine.hidden.len());
    let s = |j: usize| round(machine.hidden[j]) + (0..visible).map(|i| weight(i, j) * on(v, i)).sum::<i64>();
    let t = |i: usize| round(machine.visible[i]) + (0..hidden).map(|j| weight(i, j) * on(h, j)).sum::<i64>();
    ((0..hidden).map(s).collect(), (0..visible).map(t).collect())
}

/// The unit of the grid: weights of at most 22 bits, sums of at most 30.
fn unit(machine: &Machine) -> f64 {
    let hidden = machine.hidden.len();
    let size = |of: &mut dyn Iterator<Item = &f32>| of.map(|x| f64::from(x.abs())).sum::<f64>();
    let columns = (0..hidden).map(|j| {
        f64::from(machine.hidden[j].abs()) + size(&mut machine.weights.iter().skip(j).step_by(hidden))
    });
    let rows = machine.weights.chunks(hidden).zip(&machine.visible);
    let rows = rows.map(|(row, a)| f64::from(a.abs()) + size(&mut row.iter()));
    let reach = columns.chain(rows).fold(0.0, f64::max);
    let largest = machine.weights.iter().fold(0.0, |most: f64, w| most.max(f64::from(w.abs())));
    let power = |x: f64, bits: i32| (x.log2().floor() as i32 + 1 - bits).max(-100);
    f64::from(power(largest, 22).max(power(reach, 30))).exp2()
}

/// Sums of a chain's caches that are those of neither reference, after so many sweeps. A cache is one block, the
/// pre-activations of the hidden units, as many blocks of σ, the pre-activations of the visible units, and the hidden units.
fn wrong_sums(machine: &Machine, sweeps: usize, reference: &Machine) -> usize {
    let weights = Weights::new(machine).unwrap();
    let rows = weights.rbm().unwrap();
    let mut room = room(&rows);
    let model = rows.with_columns(&mut room).unwrap();
    let (mut chain, mut rng) = (start(&model, false), LaneRng::seed_from_u64(9));
    (0..sweeps).for_each(|_| _ = chain.step(&BlockGibbs, &mut rng));
    let v = chain.state().words().to_vec();
    let (visible, hidden) = (machine.visible.len(), machine.hidden.len());
    let caches = chain.into_memory().cache;
    let wrong = caches.chunks(model.cache_len()).map(|cache| {
        let pre = &cache[1..][..hidden.div_ceil(LANES)];
        let fields = &cache[Rbm::cache_len(hidden)..][..visible.div_ceil(LANES)];
        let on = cache[Rbm::cache_len(hidden) + visible.div_ceil(LANES)..].as_flattened();
        let (s, t) = sums(reference, unit(machine), &v, on);
        let differ = |sums: &[i64], words: &[Bits]| {
            sums.iter().zip(words.as_flattened()).filter(|&(&sum, &word)| sum != i64::from(word as i32)).count()
        };
        differ(&s, pre) + differ(&t, fields)
    });
    // One of the two caches is that of the state.
    wrong.min().unwrap()
}

#[test]
fn sums_equal_a_computation_from_nothing() {
    for (number, (visible, hidden)) in SHAPES.into_iter().enumerate() {
        let machine = models::machine(visible, hidden, 0.5, 20 + number as u64);
        assert_eq!(wrong_sums(&machine, 2_000, &machine), 0, "{visible} x {hidden}");
    }
    // A column that was forgotten, and one of the wrong sign.
    let machine = models::machine(40, 30, 0.5, 31);
    assert_eq!(wrong_sums(&machine, 500, &machine), 0);
    for factor in [0.0, -1.0] {
        let mut broken = machine.clone();
        broken.weights.iter_mut().skip(4).step_by(30).for_each(|w| *w *= factor);
        let wrong = wrong_sums(&machine, 500, &broken);
        assert!(wrong > 0, "a column times {factor}");
    }
}

/// Whether no partial sum, of positive or of negative terms, passes 31 bits on the model's grid.
fn fits(machine: &Machine, unit: f64) -> bool {
    let hidden = machine.hidden.len();
    let side = |bias: f32, terms: &mut dyn Iterator<Item = &f32>| {
        let (mut up, mut down) = (0f64, 0f64);
        for x in terms.copied().chain([bias]) {
            let term = (f64::from(x) / unit).round();
            if term > 0.0 { up += term } else { down -= term }
        }
        up.max(down)
    };
    let columns =
        (0..hidden).map(|j| side(machine.hidden[j], &mut machine.weights.iter().skip(j).step_by(hidden)));
    let rows = machine.weights.chunks(hidden).zip(&machine.visible).map(|(row, &a)| side(a, &mut row.iter()));
    columns.chain(rows).fold(0.0, f64::max) < f64::from(1u32 << 31)
}

/// Few visible and many hidden units: the sums over a row, which only the visible units see, take digits of the grid.
#[test]
fn sums_over_rows_cannot_overflow() {
    let (visible, hidden) = (2, 3_000);
    let weights = vec![0.999; visible * hidden];
    let machine = Machine { weights, visible: vec![0.25; visible], hidden: vec![-0.5; hidden] };
    assert!(fits(&machine, unit(&machine)));
    assert_eq!(wrong_sums(&machine, 200, &machine), 0);
    // A grid for the sums over columns alone would overflow.
    let largest = 0.999f64;
    assert!(!fits(&machine, (largest.log2().floor() + 1.0 - 22.0).exp2()));
}

#[test]
fn sums_that_are_too_large_are_refused() {
    let build = |visible: usize, hidden: usize, weight: &dyn Fn(usize) -> f32| {
        let weights = (0..visible * hidden).map(weight).collect();
        let machine = Machine { weights, visible: vec![0.0; visible], hidden: vec![0.0; hidden] };
        let packed = bitmc::energy::pack_rows;
        let mut rows = vec![[0.0; LANES]; visible * Rbm::row_blocks(hidden)];
        packed(&machine.weights, hidden, &mut rows).unwrap();
        let biases = vec![[0.0; LANES]; Rbm::row_blocks(hidden)];
        Rbm::new(&rows, &machine.visible, &biases, hidden).map(|_| ())
    };
    let error = build(1, 5, &|_| 3e29).unwrap_err();
    assert_eq!(error, RbmError::VisibleTooLarge { unit: 0 });
    assert_eq!(error.to_string(), "the pre-activation of visible unit 0 could pass 1e30");
    // 70,000 weights of about 1 leave no digits for one of 10⁻⁵.
    let small = |at: usize| if at == 70_007 { 1e-5 } else { 1.0 };
    let error = build(2, 70_000, &small).unwrap_err();
    assert_eq!(error, RbmError::WeightRounded { visible: 1, hidden: 7 });
    assert_eq!(build(2, 500, &|at| if at == 507 { 1e-5 } else { 1.0 }), Ok(()));
}

#[test]
fn room_is_checked() {
    let weights = Weights::new(&models::machine(17, 33, 0.4, 3)).unwrap();
    let model = weights.rbm().unwrap();
    assert_eq!(Rbm::columns_len(17, 33), 66);
    for got in [0, 65, 67] {
        let refused = model.with_columns(&mut vec![[0; LANES]; got]).map(|_| ());
        assert_eq!(refused, Err(RbmError::Length { need: 66, got }));
    }
    let mut room = room(&model);
    let columns = model.with_columns(&mut room).unwrap();
    assert_eq!(columns.cache_len(), Rbm::cache_len_with_columns(17, 33));
    assert_eq!(Rbm::cache_len_with_columns(17, 33), Rbm::cache_len(33) + 2 + 1);
    assert_eq!(Rbm::cache_len_with_columns(784, 513), Rbm::cache_len(513) + 49 + 2);
    assert_eq!(Rbm::cache_len_with_columns(784, 500), Rbm::cache_len(500) + 49 + 1);
    let mut short = vec![[0; LANES]; columns.cache_len() - 1];
    let start = Packed::new(columns.layout(), &[0]).unwrap();
    let need = columns.cache_len();
    assert_eq!(columns.init(start, &mut short), Err(EnergyError::Cache { need, got: need - 1 }));
    // An RBM of 16-bit products has no use for them.
    let mut coarse = vec![[0; LANES]; CoarseRbm::room_len(17, 33)];
    let coarse = CoarseRbm::new(columns, &mut coarse).unwrap();
    assert_eq!(coarse.cache_len(), CoarseRbm::cache_len(33));
    heap::chain(&coarse, &[5]).unwrap().step(&Langevin::adjusted(0.3).unwrap(), &mut LaneRng::seed_from_u64(1));
}

/// Steps in which one of `count` chains that step together differs from the chain that runs alone.
fn apart(models: &[&Rbm<'_>], count: usize, late: usize) -> (usize, u32) {
    let chains = || -> Vec<_> { (0..count).map(|n| start(models[n % models.len()], n % 2 == 1)).collect() };
    let rngs = || -> Vec<_> { (0..count).map(|stream| LaneRng::stream(7, stream as u32)).collect() };
    let (mut ones, mut ones_rngs, mut others, mut others_rngs) = (chains(), rngs(), chains(), rngs());
    let mut infos = vec![Info::default(); count];
    let (mut different, mut moved) = (0, 0);
    others_rngs.iter_mut().take(late).for_each(|rng| _ = bitmc::Rng::next_u32(rng));
    for _ in 0..20 {
        BlockGibbs.step_together(&mut ones, &mut ones_rngs, &mut infos).unwrap();
        for (number, (chain, rng)) in others.iter_mut().zip(&mut others_rngs).enumerate() {
            let info = chain.step(&BlockGibbs, rng);
            let same = bits(info) == bits(infos[number])
                && ones[number].state().words() == chain.state().words()
                && ones[number].core() == chain.core();
            different += usize::from(!same);
            moved += info.moved();
        }
    }
    (different, moved)
}

#[test]
fn chains_together_are_those_that_run_alone() {
    for (visible, hidden) in [(1, 3), (17, 33), (70, 100), (145, 530)] {
        let weights = Weights::new(&models::machine(visible, hidden, 0.3, 3)).unwrap();
        let rows = weights.rbm().unwrap();
        let mut room = room(&rows);
        let columns = rows.with_columns(&mut room).unwrap();
        for count in [0, 1, 3, 4, 5, 21, 64, 85] {
            for models in [&[&rows][..], &[&columns], &[&columns, &rows]] {
                let (different, moved) = apart(models, count, 0);
                assert_eq!(different, 0, "{visible} x {hidden}, {count} chains");
                assert!(count == 0 || moved > 0);
            }
        }
        assert!(apart(&[&columns], 5, 1).0 > 0);
    }
    let weights = Weights::new(&models::machine(17, 33, 0.3, 3)).unwrap();
    let rows = weights.rbm().unwrap();
    let (mut chains, mut rngs) =
        ([start(&rows, false)], [LaneRng::seed_from_u64(1), LaneRng::seed_from_u64(2)]);
    assert!(BlockGibbs.step_together(&mut chains, &mut rngs, &mut [Info::default()]).is_err());
}

#[test]
fn at_a_temperature_draws_are_those_of_scaled_weights() {
    let (machine, from) = (models::machine(3, 2, 1.0, 4), 0b101);
    let weights = Weights::new(&machine).unwrap();
    let model = weights.rbm().unwrap();
    let truth = |beta: f32| {
        let scaled = |of: &[f32]| of.iter().map(|x| beta * x).collect();
        let (weights, visible) = (scaled(&machine.weights), scaled(&machine.visible));
        let machine = Machine { weights, visible, hidden: scaled(&machine.hidden) };
        block_gibbs(&machine, &machine).rows[from].clone()
    };
    for beta in [0.0, 0.5, 2.0] {
        let kernel = TemperedBlockGibbs::new(beta).unwrap();
        assert_eq!(kernel.beta().to_bits(), beta.to_bits());
        let (mut rng, mut chain) = (LaneRng::seed_from_u64(13), start(&model, false));
        let (words, mut counts) = ([from as u32], [0; 8]);
        for _ in 0..20_000 {
            chain.restart(Packed::new(model.layout(), &words).unwrap()).unwrap();
            let info = chain.step(&kernel, &mut rng);
            assert!(info.accepted && !info.fault, "β {beta}: {info:?}");
            counts[chain.state().words()[0] as usize] += 1;
        }
        chi_square(&format!("β {beta}"), &counts, &truth(beta)).must_pass();
        chi_square(&format!("β {beta} for 1"), &counts, &truth(1.0)).must_fail();
    }
    for beta in [-1e-3, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(matches!(TemperedBlockGibbs::new(beta), Err(PathError::Beta(_))), "β {beta}");
    }
}
