//! Batches of sixteen chains: each is the chain that runs alone, bit for bit, whatever runs beside it. What is known
//! of the distribution of a [`Chain`] is known of them.

use bitmc::batch::{Batch, BatchError, BatchKernel, BatchSite, round, snapshot_len};
use bitmc::energy::Tempered;
use bitmc::snapshot::{FRAME, Reader, SnapshotError, Writer};
use bitmc::step::{Curvature, IsingLangevin, SequentialGibbs};
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::{Chain, Info, Ising, Kernel, LaneRng, Langevin, Layout, Packed, Rng, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::side_by_side::{Alone, generator};
use rand_xoshiro::Xoshiro128PlusPlus;

const SEED: u64 = 20;

/// Models of one site, of fewer than a block, of a block and more, with fields, dense and sparse.
fn targets() -> Vec<Pairwise> {
    let mut models: Vec<_> = [(1, 0.0, 1.0), (3, 0.9, 0.7), (16, 0.4, 0.6), (25, 0.3, 0.4), (70, 0.1, 0.9)]
        .into_iter()
        .map(|(sites, density, sd)| {
            models::pairwise(Convention::SpinsEdgesOnce, sites, density, sd, sites as u64)
        })
        .collect();
    models.push(models::pairwise(Convention::BitsEdgesOnce, 40, 0.5, 0.5, 7));
    models
}

fn words(batch: &Batch<'_, Vec<BatchSite>>, chain: usize) -> Vec<u32> {
    let mut words = vec![0; Layout::binary(batch.model().form().sites()).words()];
    batch.state(chain, &mut words).unwrap();
    words
}

/// Runs a batch beside sixteen chains, and `change`s both between steps; the number of steps at which they differ.
fn differences<B, K>(
    model: &Pairwise,
    batch_kernel: &B,
    kernels: &[K; 16],
    steps: usize,
    mut rng: LaneRng,
    clamped: bool,
) -> usize
where
    B: BatchKernel,
    K: for<'m> Kernel<Ising<'m>>,
{
    let mut memory = model.couplings();
    let ising = memory.ising(model).unwrap();
    let sites = vec![BatchSite::new(); model.fields.len() + 3];
    let mut batch = Batch::random(&ising, sites, &mut rng).unwrap();
    let mut alone = Alone::new(&ising, SEED);
    if clamped {
        let layout = Layout::binary(model.fields.len());
        let mask = heap::pack(&(0..layout.sites()).map(|i| f64::from(i % 3 == 1)).collect::<Vec<_>>());
        let mask = Packed::new(layout, &mask).unwrap();
        batch.clamp(mask).unwrap();
        alone.clamp(mask);
    }
    let mut different = 0;
    for _ in 0..steps {
        let info = batch.step(batch_kernel, &mut rng);
        let same = alone.step(kernels, |chain| (info.of(chain), words(&batch, chain), batch.energy(chain)));
        different += usize::from(!same);
    }
    different
}

fn langevin() -> [Langevin<'static>; 16] {
    [Langevin::adjusted(0.4).unwrap(); 16]
}

#[test]
fn chains_are_those_that_run_alone() {
    for model in targets() {
        let lanes = || LaneRng::seed_from_u64(SEED);
        let [kernel, ..] = langevin();
        assert_eq!(differences(&model, &kernel, &langevin(), 300, lanes(), false), 0, "adjusted");
        assert_eq!(differences(&model, &kernel, &langevin(), 100, lanes(), true), 0, "clamped");
        let free = Langevin::unadjusted(0.3).unwrap();
        assert_eq!(differences(&model, &free, &[free; 16], 100, lanes(), false), 0, "unadjusted");
        // A kernel a chain: several balances and step sizes, with and without the test.
        let kernels: [_; 16] = core::array::from_fn(|chain| {
            let curvature = Curvature::Same(1.0 + chain as f32 / 4.0);
            Langevin::new(0.3 + chain as f32 / 30.0, curvature, chain % 3 != 0).unwrap()
        });
        assert_eq!(differences(&model, &kernels, &kernels, 100, lanes(), false), 0, "each its own");
        // A curvature a site, and a multiple of it.
        let blocks: Vec<[f32; 16]> = (0..model.fields.len().div_ceil(16))
            .map(|block| core::array::from_fn(|lane| 1.0 + ((block * 16 + lane) % 7) as f32))
            .collect();
        let each: [_; 16] = core::array::from_fn(|chain| {
            let curvature = match chain % 2 {
                0 => Curvature::Each(&blocks),
                _ => Curvature::Times(0.5 + chain as f32, &blocks),
            };
            Langevin::new(0.5, curvature, true).unwrap()
        });
        assert_eq!(differences(&model, &each, &each, 100, lanes(), false), 0, "preconditioned");
        let ising = IsingLangevin::adjusted(0.4).unwrap();
        assert_eq!(differences(&model, &ising, &[ising; 16], 300, lanes(), false), 0, "Ising");
        assert_eq!(differences(&model, &ising, &[ising; 16], 100, lanes(), true), 0, "clamped Ising");
        let each: [_; 16] =
            core::array::from_fn(|chain| IsingLangevin::adjusted(0.1 + chain as f32 / 10.0).unwrap());
        assert_eq!(differences(&model, &each, &each, 100, lanes(), false), 0, "Ising, each its own");
        let gibbs = [SequentialGibbs; 16];
        assert_eq!(differences(&model, &SequentialGibbs, &gibbs, 300, lanes(), false), 0, "Gibbs");
        assert_eq!(differences(&model, &SequentialGibbs, &gibbs, 100, lanes(), true), 0, "clamped Gibbs");
    }
}

/// The batch that its snapshot gives, which knows no weights.
fn again<'e>(batch: &Batch<'e, Vec<BatchSite>>, room: Vec<BatchSite>) -> Batch<'e, Vec<BatchSite>> {
    let mut bytes = vec![0; FRAME + snapshot_len(room.len())];
    Writer::new(&mut bytes).put(batch).finish().unwrap();
    let mut other = Batch::random(batch.model(), room, &mut LaneRng::seed_from_u64(9)).unwrap();
    let mut reader = Reader::new(&bytes).unwrap();
    reader.get(&mut other).unwrap();
    reader.finish().unwrap();
    other
}

/// Each kernel finds the states where the one before it left them, accepted in some chains and refused in others, and
/// whatever happens to a batch between steps: every kernel after every kernel, and after every event.
#[test]
fn kernels_take_turns() {
    for model in targets() {
        let mut memory = model.couplings();
        let ising = memory.ising(&model).unwrap();
        let mut rng = LaneRng::seed_from_u64(SEED);
        let room = || vec![BatchSite::new(); model.fields.len()];
        let mut batch = Batch::random(&ising, room(), &mut rng).unwrap();
        let mut alone = Alone::new(&ising, SEED);
        let (own, other) = (IsingLangevin::adjusted(0.5).unwrap(), IsingLangevin::adjusted(0.3).unwrap());
        let [general, ..] = langevin();
        let layout = Layout::binary(model.fields.len());
        let mut held = vec![0; layout.words()];
        held[0] = 0b101 & layout.last_word();
        let held = Packed::new(layout, &held).unwrap();
        let short = Langevin::new(0.5, Curvature::Each(&[]), true).unwrap();
        // From every kernel to every one: 0 0 1 1 0 2 2 1 2 0 3 3 1 3 2 3.
        let order = [0, 0, 1, 1, 0, 2, 2, 1, 2, 0, 3, 3, 1, 3, 2, 3];
        let mut pairs = [[false; 4]; 4];
        for turn in 0..9 * order.len() {
            let (pick, before) = (order[turn % 16], order[(turn + 15) % 16]);
            pairs[before][pick] = true;
            // An event every five steps: in time between any two kernels.
            match turn % 25 {
                4 => {
                    batch.clamp(held).unwrap();
                    alone.clamp(held);
                }
                9 => {
                    batch.release();
                    alone.release();
                }
                14 => {
                    alone.restart(7, held);
                    batch.restart(7, held).unwrap();
                }
                19 => batch = again(&batch, room()),
                24 => assert!(batch.step(&short, &mut rng).fault),
                _ => {}
            }
            let info = match pick {
                0 => batch.step(&own, &mut rng),
                1 => batch.step(&SequentialGibbs, &mut rng),
                2 => batch.step(&general, &mut rng),
                _ => batch.step(&other, &mut rng),
            };
            let seen = |chain| (info.of(chain), words(&batch, chain), batch.energy(chain));
            let same = match pick {
                0 => alone.step(&[own; 16], seen),
                1 => alone.step(&[SequentialGibbs; 16], seen),
                2 => alone.step(&langevin(), seen),
                _ => alone.step(&[other; 16], seen),
            };
            assert!(same, "{} sites, turn {turn}, kernel {pick}", model.fields.len());
        }
        assert!(pairs.as_flattened().iter().all(|&seen| seen));
    }
}

/// What the comparison must see: another stream in one chain, another step size in one chain.
#[test]
fn other_chains_are_told_apart() {
    let model = &targets()[3];
    let [kernel, ..] = langevin();
    let mut one_word_on = LaneRng::seed_from_u64(SEED);
    one_word_on.block();
    assert!(differences(model, &kernel, &langevin(), 50, one_word_on, false) > 40);
    let mut kernels = langevin();
    kernels[11] = Langevin::adjusted(0.41).unwrap();
    assert!(differences(model, &kernel, &kernels, 300, LaneRng::seed_from_u64(SEED), false) > 200);
}

/// Words below 2²⁰ in single chains take the way of refined uniforms: one generator in which they are frequent.
#[test]
fn refined_words_are_those_of_a_chain_alone() {
    let model = &targets()[4];
    let [kernel, ..] = langevin();
    // 16 × 80 words a step: a word in 4,096 is small, 1,500 steps meet some 450 of them.
    assert_eq!(differences(model, &kernel, &langevin(), 1500, LaneRng::seed_from_u64(SEED), false), 0);
    let gibbs = [SequentialGibbs; 16];
    assert_eq!(differences(model, &SequentialGibbs, &gibbs, 1500, LaneRng::seed_from_u64(SEED), false), 0);
}

/// On a large sparse model a chain alone weighs only what a few flips touch, or everything: a batch does neither.
#[test]
fn few_flips_and_many_give_the_same_bits() {
    let edges: Vec<_> = bitmc::torus(30, 30, 0.4).collect();
    let model = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields: vec![0.1; 900] };
    for step_size in [0.08, 0.15, 0.2, 0.3] {
        let kernel = IsingLangevin::adjusted(step_size).unwrap();
        let lanes = LaneRng::seed_from_u64(SEED);
        assert_eq!(differences(&model, &kernel, &[kernel; 16], 400, lanes, false), 0, "{step_size}");
    }
}

/// Sums over so many sites that halves of 32 bits would overflow.
#[test]
fn large_models_have_the_energies_of_a_chain_alone() {
    let edges = bitmc::torus(320, 320, 0.4).collect();
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges, fields: vec![0.9; 320 * 320] };
    let lanes = || LaneRng::seed_from_u64(SEED);
    assert_eq!(differences(&model, &SequentialGibbs, &[SequentialGibbs; 16], 2, lanes(), false), 0);
    let kernel = IsingLangevin::adjusted(0.07).unwrap();
    assert_eq!(differences(&model, &kernel, &[kernel; 16], 2, lanes(), false), 0);
}

/// Sites without couplings, whose field is that of `of`.
fn free(sites: usize, of: impl Fn(usize) -> f32) -> Pairwise {
    Pairwise { convention: Convention::BitsEdgesOnce, edges: vec![], fields: (0..sites).map(of).collect() }
}

/// Numbers of which the low halves alone add up past 32 bits.
#[test]
fn low_halves_of_many_numbers_are_carried() {
    let model = free(200_000, |site| 3.0 + (site % 1009) as f32 / 1009.0);
    let kernel = IsingLangevin::adjusted(1.0).unwrap();
    assert_eq!(differences(&model, &kernel, &[kernel; 16], 1, LaneRng::seed_from_u64(SEED), false), 0);
}

/// Products of so many factors near 2 that a float would overflow.
#[test]
fn products_over_many_sites_do_not_overflow() {
    let (model, kernel) = (free(4096, |_| 0.01), Langevin::adjusted(1000.0).unwrap());
    assert_eq!(differences(&model, &kernel, &[kernel; 16], 3, LaneRng::seed_from_u64(SEED), false), 0);
}

/// Pairs that must not both be 1: their weight is so large that a float beside it loses a field. No chain that began at such a state
/// keeps what was lost.
#[test]
fn a_step_from_an_energy_far_off_leaves_no_error() {
    let edges = (0..20).map(|pair| (2 * pair, 2 * pair + 1, -8e6)).collect();
    let fields = (0..40).map(|site| -1.0 - (site % 3) as f32).collect();
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges, fields };
    let mut memory = model.couplings();
    let ising = memory.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(SEED);
    let mut batch = Batch::random(&ising, vec![BatchSite::new(); 40], &mut rng).unwrap();
    let far = (0..16).filter(|&chain| batch.energy(chain) > 1e6).count();
    let mut lost = 0;
    for _ in 0..10 {
        let info = batch.step(&SequentialGibbs, &mut rng);
        for chain in 0..16 {
            let energy = model.energy(&heap::unpack(batch.state(chain, &mut [0; 2]).unwrap()));
            assert!((f64::from(batch.energy(chain)) - energy).abs() < 1e-3, "{chain}: {energy}");
            lost += u32::from(info.of(chain).unwrap().difference < -1e6);
        }
    }
    assert!(far > 10 && lost > 10, "{far} {lost}");
}

/// What `README.md` and the pages say of its size.
#[test]
fn a_site_is_a_cache_line() {
    assert_eq!(size_of::<BatchSite>(), 64);
}

#[test]
fn replica_exchange_is_that_of_replicas_alone() {
    let model = &targets()[3];
    let mut memory = model.couplings();
    let ising = memory.ising(model).unwrap();
    let betas: [f32; 14] = core::array::from_fn(|rung| 0.1 + 0.07 * rung as f32);
    let kernels: [Langevin<'_>; 16] =
        core::array::from_fn(|rung| Langevin::adjusted(0.7 - rung as f32 / 40.0).unwrap());

    let mut rng = LaneRng::seed_from_u64(SEED);
    let mut ladder = Ladder::new([Rung::default(); 14], &betas).unwrap();
    let mut batch = Batch::random(&ising, vec![BatchSite::new(); 25], &mut rng).unwrap();
    let mut swaps = Xoshiro128PlusPlus::seed_from_u64(3);

    let path = Tempered::new(&ising, 1.0).unwrap();
    let mut generators: Vec<_> = (0..14).map(|chain| generator(SEED, chain)).collect();
    let mut replicas: Vec<_> =
        generators.iter_mut().map(|rng| Replica::random(path, heap::memory(&path), rng).unwrap()).collect();
    let mut other = Ladder::new([Rung::default(); 14], &betas).unwrap();
    let mut other_swaps = Xoshiro128PlusPlus::seed_from_u64(3);

    for _ in 0..400 {
        let swapped = round(&mut ladder, &mut batch, &kernels, 2, &mut rng, &mut swaps);
        for (index, (replica, rng)) in replicas.iter_mut().zip(&mut generators).enumerate() {
            let rung = other.rung_of(index).unwrap();
            replica.set_beta(other.rungs()[rung].beta()).unwrap();
            replica.run(&kernels[rung], rng, 2, &mut ());
        }
        assert_eq!(other.exchange(|index| replicas[index].gap(), &mut other_swaps), swapped);
        assert_eq!(ladder, other);
        for (number, replica) in replicas.iter().enumerate() {
            assert_eq!(words(&batch, number), replica.state().words());
            assert_eq!(batch.energy(number).to_bits(), replica.energy().to_bits());
        }
    }
    assert!(ladder.round_trips() > 20, "{} round trips", ladder.round_trips());
}

/// Gibbs sampling has no parameters: rounds with sixteen of it are its steps at the ladder's β, and exchanges.
#[test]
fn replica_exchange_takes_gibbs_sweeps() {
    let model = &targets()[3];
    let mut memory = model.couplings();
    let ising = memory.ising(model).unwrap();
    let betas: [f32; 16] = core::array::from_fn(|rung| 0.1 + 0.06 * rung as f32);
    let begin = || {
        let mut rng = LaneRng::seed_from_u64(SEED);
        let batch = Batch::random(&ising, vec![BatchSite::new(); 25], &mut rng).unwrap();
        let ladder = Ladder::new([Rung::default(); 16], &betas).unwrap();
        (batch, ladder, rng, Xoshiro128PlusPlus::seed_from_u64(3))
    };
    let (mut batch, mut ladder, mut rng, mut swaps) = begin();
    let (mut other, mut other_ladder, mut other_rng, mut other_swaps) = begin();
    for _ in 0..400 {
        let swapped = round(&mut ladder, &mut batch, &[SequentialGibbs; 16], 1, &mut rng, &mut swaps);
        let of = |chain| other_ladder.rungs()[other_ladder.rung_of(chain).unwrap()].beta();
        other.set_betas(core::array::from_fn(of)).unwrap();
        other.step(&SequentialGibbs, &mut other_rng);
        assert_eq!(other_ladder.exchange(|chain| other.energy(chain), &mut other_swaps), swapped);
        assert!((0..16).all(|chain| words(&batch, chain) == words(&other, chain)));
    }
    assert!(ladder.round_trips() > 20, "{} round trips", ladder.round_trips());
}

/// There are sixteen chains: what stands at more rungs is none, and never leaves its rung.
#[test]
fn a_ladder_of_more_rungs_moves_sixteen_chains() {
    let model = &targets()[3];
    let mut memory = model.couplings();
    let ising = memory.ising(model).unwrap();
    let betas: [f32; 18] = core::array::from_fn(|rung| 0.05 + 0.05 * rung as f32);
    let mut ladder = Ladder::new([Rung::default(); 18], &betas).unwrap();
    let (mut rng, mut swaps) = (LaneRng::seed_from_u64(SEED), Xoshiro128PlusPlus::seed_from_u64(3));
    let mut batch = Batch::random(&ising, vec![BatchSite::new(); 25], &mut rng).unwrap();
    let mut swapped = 0;
    for _ in 0..50 {
        swapped += round(
            &mut ladder,
            &mut batch,
            &[IsingLangevin::adjusted(0.5).unwrap(); 16],
            1,
            &mut rng,
            &mut swaps,
        );
        assert!((16..18).all(|rung| ladder.rungs()[rung].replica() == rung));
        assert!((0..16).all(|chain| batch.energy(chain).is_finite()));
    }
    assert!(swapped > 100, "{swapped} swaps");
}

#[test]
fn snapshots_go_on_bit_for_bit() {
    let model = &targets()[4];
    let mut memory = model.couplings();
    let ising = memory.ising(model).unwrap();
    let mut rng = LaneRng::seed_from_u64(SEED);
    let sites = || vec![BatchSite::new(); model.fields.len()];
    let mut batch = Batch::random(&ising, sites(), &mut rng).unwrap();
    let held = heap::pack(&(0..70).map(|i| f64::from(i % 9 == 1)).collect::<Vec<_>>());
    batch.clamp(Packed::new(Layout::binary(70), &held).unwrap()).unwrap();
    batch.set_betas(core::array::from_fn(|chain| 0.5 + chain as f32 / 20.0)).unwrap();
    let sampler = IsingLangevin::adjusted(0.3).unwrap();
    (0..100).for_each(|_| _ = batch.step(&sampler, &mut rng));

    let mut bytes = vec![0; FRAME + snapshot_len(70) + LaneRng::SNAPSHOT_LEN];
    let length = Writer::new(&mut bytes).put(&batch).put(&rng).finish().unwrap();
    assert_eq!(length, bytes.len());
    let mut other_rng = LaneRng::seed_from_u64(1);
    let mut other = Batch::random(&ising, sites(), &mut other_rng).unwrap();
    let mut reader = Reader::new(&bytes).unwrap();
    reader.get(&mut other).unwrap();
    reader.get(&mut other_rng).unwrap();
    reader.finish().unwrap();
    assert_eq!(other.steps(), 100);
    for _ in 0..100 {
        assert_eq!(batch.step(&sampler, &mut rng), other.step(&sampler, &mut other_rng));
        assert!((0..16).all(|chain| batch.energy(chain).to_bits() == other.energy(chain).to_bits()));
    }
    // At other temperatures weights are made anew, as a batch must that never had any.
    batch.set_betas(core::array::from_fn(|chain| 1.4 - chain as f32 / 20.0)).unwrap();
    let mut fresh = again(&batch, sites());
    for _ in 0..20 {
        assert_eq!(batch.step(&sampler, &mut rng), fresh.step(&sampler, &mut other_rng));
    }
    // Of another model it is refused, and nothing changes.
    let small = &targets()[3];
    let mut memory = small.couplings();
    let ising = memory.ising(small).unwrap();
    let mut batch = Batch::random(&ising, vec![BatchSite::new(); 25], &mut rng).unwrap();
    let before: Vec<_> = (0..16).map(|chain| words(&batch, chain)).collect();
    let mut reader = Reader::new(&bytes).unwrap();
    let refused = reader.get(&mut batch);
    assert!(matches!(refused, Err(SnapshotError::Layout { .. })));
    assert!((0..16).all(|chain| words(&batch, chain) == before[chain]));
}

#[test]
fn bad_input_is_refused() {
    let model = &targets()[3];
    let mut memory = model.couplings();
    let ising = memory.ising(model).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let short = Batch::random(&ising, vec![BatchSite::new(); 24], &mut rng).unwrap_err();
    assert_eq!(short, BatchError::Sites { need: 25, got: 24 });
    let mut batch = Batch::random(&ising, vec![BatchSite::new(); 25], &mut rng).unwrap();
    let layout = Layout::binary(25);
    let start = Packed::new(layout, &[5]).unwrap();
    for chain in [16, 17, 32, usize::MAX] {
        assert_eq!(batch.restart(chain, start), Err(BatchError::Chain { chain }));
    }
    let other = Packed::new(Layout::binary(24), &[5]).unwrap();
    assert!(matches!(batch.restart(0, other), Err(BatchError::State(_))));
    assert!(matches!(batch.clamp(other), Err(BatchError::State(_))));
    assert!(batch.set_betas([f32::NAN; 16]).is_err() && batch.set_betas([-1.0; 16]).is_err());
    // One chain moves, the others stay.
    let before: Vec<_> = (0..16).map(|chain| words(&batch, chain)).collect();
    batch.restart(9, start).unwrap();
    assert!(
        (0..16).all(|chain| words(&batch, chain) == if chain == 9 { vec![5] } else { before[chain].clone() })
    );
    let alone = Chain::new(&ising, heap::memory(&ising), start).unwrap();
    assert_eq!(batch.energy(9).to_bits(), alone.energy().to_bits());
    // A kernel that does not reach the last site.
    let blocks = [[1.0; 16]];
    let short = Langevin::new(0.5, Curvature::Each(&blocks), true).unwrap();
    let info = batch.step(&short, &mut rng);
    assert!(info.fault && info.accepted == 0);
    assert!(matches!(info.of(3), Some(Info { accepted: false, fault: true, .. })));
    // Where there is no chain there is no state of another one.
    batch.restart(0, start).unwrap();
    for chain in [16, 31, 32, 41, 64, usize::MAX] {
        assert_eq!(info.of(chain), None);
        assert!(batch.energy(chain).is_nan() && words(&batch, chain) == [0], "{chain}");
    }
    let _ = rng.next_u32();
}

/// Where β times a unit is beyond every float a field of 0 is still one of 0.
#[test]
fn a_site_without_a_field_moves_at_any_inverse_temperature() {
    let model = Pairwise {
        convention: Convention::BitsEdgesOnce,
        edges: vec![(1, 2, 1e20)],
        fields: vec![0.0, 1e28, -1e28],
    };
    let mut memory = model.couplings();
    let ising = memory.rounded(&model).unwrap();
    fn run<K: BatchKernel>(ising: &Ising<'_>, kernel: &K) {
        let mut rng = LaneRng::seed_from_u64(1);
        let mut batch = Batch::random(ising, vec![BatchSite::new(); 3], &mut rng).unwrap();
        batch.set_betas([1e30; 16]).unwrap();
        let mut moves = 0;
        for _ in 0..100 {
            let before = batch.values(0);
            let info = batch.step(kernel, &mut rng);
            assert!(info.log_ratios.iter().all(|ratio| !ratio.is_nan()));
            moves += (batch.values(0) ^ before).count_ones();
        }
        assert_eq!((batch.values(1), batch.values(2)), (0xFFFF, 0));
        assert!(moves > 100, "{moves}");
    }
    run(&ising, &IsingLangevin::adjusted(0.6).unwrap());
    run(&ising, &Langevin::adjusted(0.6).unwrap());
}
