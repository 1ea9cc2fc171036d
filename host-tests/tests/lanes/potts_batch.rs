//! Batches of sixteen Potts chains: each is the chain or the replica that runs alone, bit for bit, whatever runs beside it. What
//! is known of the distribution of a [`Chain`] or a [`Replica`] is known of them.

use bitmc::batch::{BatchError, BatchKernel, PottsBatch, PottsSite};
use bitmc::energy::{PathError, Tempered};
use bitmc::snapshot::{FRAME, SnapshotError};
use bitmc::step::Curvature;
use bitmc::temper::Replica;
use bitmc::{Chain, Energy, Gibbs, Info, Kernel, LaneRng, Langevin, Layout, Packed, Potts, SeedableRng};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::Tables;
use bitmc_host_tests::side_by_side::{Alone, bits, generator};
use bitmc_host_tests::snapshot::{load, save, sealed};
use bitmc_host_tests::tolerance;

const SEED: u64 = 20;

/// A Potts model of random couplings and fields: not on a coarse grid, so that every rounding is seen.
struct Target {
    edges: Vec<(u32, u32, f32)>,
    fields: Vec<f32>,
    sites: usize,
    arity: usize,
}

impl Target {
    fn new(sites: usize, arity: usize, density: f64, sd: f64) -> Self {
        let seed = (100 * sites + arity) as u64;
        let mut edges = models::pairwise(Convention::BitsEdgesOnce, sites, density, 1.0, seed).edges;
        let mut source = Source::new(seed + 1);
        edges.iter_mut().for_each(|edge| edge.2 = source.normal(sd));
        let fields = (0..sites * arity).map(|_| source.normal(sd)).collect();
        Self { edges, fields, sites, arity }
    }

    fn couplings(&self) -> Couplings {
        Couplings::new(self.sites, self.edges.len())
    }

    fn model<'a>(&'a self, memory: &'a mut Couplings) -> Potts<'a> {
        Potts::new(self.sites, self.arity, self.edges.iter().copied(), &self.fields, memory.borrow()).unwrap()
    }

    /// How far an energy may be from the formula's after some steps.
    fn energy_bound(&self, steps: usize) -> f64 {
        let terms = self.edges.iter().map(|edge| edge.2).chain(self.fields.iter().copied());
        let reach: f64 = terms.map(|term| f64::from(term.abs())).sum();
        (steps + 1) as f64 * tolerance::POTTS_ENERGY_ROUNDINGS * tolerance::ROUNDING * reach
    }

    fn naive(&self) -> Tables {
        Tables::potts(&self.edges, self.arity, &self.fields)
    }
}

/// Models of one site, of fewer than a block, of a block and more, dense and sparse, weak and strong.
fn targets(arity: usize) -> Vec<Target> {
    [(1, 0.0, 1.0), (3, 0.9, 0.7), (16, 0.4, 0.6), (25, 0.3, 0.4), (70, 0.1, 0.9), (40, 0.5, 20.0)]
        .into_iter()
        .map(|(sites, density, sd)| Target::new(sites, arity, density, sd))
        .collect()
}

type HeapBatch<'e, const Q: usize> = PottsBatch<'e, Vec<PottsSite<Q>>, Q>;

fn random<'e, const Q: usize>(model: &'e Potts<'e>, rng: &mut LaneRng) -> HeapBatch<'e, Q> {
    PottsBatch::random(model, vec![PottsSite::new(); model.layout().sites() + 2], rng).unwrap()
}

fn words<const Q: usize>(batch: &HeapBatch<'_, Q>, chain: usize) -> Vec<u32> {
    let mut words = vec![0; batch.model().layout().words()];
    batch.state(chain, &mut words).unwrap();
    words
}

/// Every third site.
fn mask(sites: usize) -> Vec<u32> {
    heap::pack(&(0..sites).map(|i| f64::from(i % 3 == 1)).collect::<Vec<_>>())
}

/// Runs a batch beside sixteen chains; the number of steps at which they differ.
fn differences<const Q: usize, B, K>(
    target: &Target,
    batch_kernel: &B,
    kernels: &[K; 16],
    steps: usize,
    mut rng: LaneRng,
    clamped: bool,
) -> usize
where
    B: BatchKernel<PottsSite<Q>>,
    K: for<'m> Kernel<Potts<'m>>,
{
    let mut memory = target.couplings();
    let model = target.model(&mut memory);
    let mut batch = random::<Q>(&model, &mut rng);
    let mut alone = Alone::new(&model, SEED);
    if clamped {
        let mask = mask(target.sites);
        let mask = Packed::new(Layout::binary(target.sites), &mask).unwrap();
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

fn chains_are_those_that_run_alone<const Q: usize>() {
    for target in targets(Q) {
        let lanes = || LaneRng::seed_from_u64(SEED);
        let check = |kernel: Langevin<'_>, steps, clamped, what| {
            let found = differences::<Q, _, _>(&target, &kernel, &[kernel; 16], steps, lanes(), clamped);
            assert_eq!(found, 0, "{what}, {} sites of {Q}", target.sites);
        };
        check(Langevin::adjusted(0.4).unwrap(), 60, false, "adjusted");
        check(Langevin::adjusted(30.0).unwrap(), 30, false, "adjusted, long steps");
        check(Langevin::adjusted(0.4).unwrap(), 30, true, "clamped");
        check(Langevin::unadjusted(0.3).unwrap(), 30, false, "unadjusted");
        // A kernel a chain: several balances and step sizes, with and without the test; a curvature a site.
        let blocks: Vec<[f32; 16]> = (0..target.sites.div_ceil(16))
            .map(|block| core::array::from_fn(|lane| 1.0 + ((block * 16 + lane) % 7) as f32))
            .collect();
        let kernels: [_; 16] = core::array::from_fn(|chain| {
            let curvature = Curvature::Same(1.0 + chain as f32 / 4.0);
            Langevin::new(0.3 + chain as f32 / 30.0, curvature, chain % 3 != 0).unwrap()
        });
        assert_eq!(differences::<Q, _, _>(&target, &kernels, &kernels, 30, lanes(), false), 0, "each its own");
        let each: [_; 16] = core::array::from_fn(|chain| {
            let times = Curvature::Times(0.5 + chain as f32, &blocks);
            Langevin::new(0.5, if chain % 2 == 0 { Curvature::Each(&blocks) } else { times }, true).unwrap()
        });
        assert_eq!(differences::<Q, _, _>(&target, &each, &each, 20, lanes(), false), 0, "preconditioned");
        let gibbs = Gibbs::systematic();
        assert_eq!(tempered::<Q, _>(&target, gibbs, (60, false), 1.875, false), 0, "Gibbs");
        assert_eq!(tempered::<Q, _>(&target, gibbs, (30, true), 1.875, false), 0, "Gibbs, clamped");
    }
}

#[test]
fn chains_of_two_three_and_five_values_are_those_that_run_alone() {
    chains_are_those_that_run_alone::<2>();
    chains_are_those_that_run_alone::<3>();
    chains_are_those_that_run_alone::<5>();
}

#[test]
fn chains_of_more_values_are_those_that_run_alone() {
    chains_are_those_that_run_alone::<8>();
    chains_are_those_that_run_alone::<11>();
    chains_are_those_that_run_alone::<64>();
}

/// What the comparison must see: another stream in one chain, another step size in one chain.
#[test]
fn other_chains_are_told_apart() {
    let target = &targets(3)[3];
    let kernels = [Langevin::adjusted(0.4).unwrap(); 16];
    let mut one_word_on = LaneRng::seed_from_u64(SEED);
    one_word_on.block();
    assert!(differences::<3, _, _>(target, &kernels, &kernels, 50, one_word_on, false) > 40);
    let mut other = kernels;
    other[11] = Langevin::adjusted(0.41).unwrap();
    let lanes = LaneRng::seed_from_u64(SEED);
    assert!(differences::<3, _, _>(target, &kernels, &other, 300, lanes, false) > 200);
}

/// Words below 2²⁰ in single chains take the way of refined uniforms: one in 4,096, so some 300 of them here.
#[test]
fn refined_words_are_those_of_a_chain_alone() {
    let target = &targets(3)[4];
    let kernel = Langevin::adjusted(0.4).unwrap();
    let lanes = LaneRng::seed_from_u64(SEED);
    assert_eq!(differences::<3, _, _>(target, &kernel, &[kernel; 16], 1000, lanes, false), 0);
    assert_eq!(tempered::<3, _>(target, Gibbs::systematic(), (1000, false), 1.875, false), 0);
}

/// Steps at which a batch at sixteen β, the last `wrong`, differs from replicas; a Gibbs sweep's energies, which
/// replicas add up flip by flip, may differ by rounding.
fn tempered<const Q: usize, K>(
    target: &Target,
    kernel: K,
    (steps, clamped): (usize, bool),
    wrong: f32,
    exact: bool,
) -> usize
where
    K: BatchKernel<PottsSite<Q>> + for<'e, 'm> Kernel<Tempered<'e, Potts<'m>>>,
{
    let mut memory = target.couplings();
    let model = target.model(&mut memory);
    // 0, and two so cold and so hot that logits are cut and products would be subnormal.
    let mut betas: [f32; 16] = core::array::from_fn(|chain| chain as f32 / 8.0);
    (betas[1], betas[2]) = (900.0, 1e-33);
    let mut rng = LaneRng::seed_from_u64(SEED);
    let mut batch = random::<Q>(&model, &mut rng);
    let path = Tempered::new(&model, 1.0).unwrap();
    let mut generators: Vec<_> = (0..16).map(|chain| generator(SEED, chain)).collect();
    let mut replicas: Vec<_> =
        generators.iter_mut().map(|rng| Replica::random(path, heap::memory(&path), rng).unwrap()).collect();
    replicas.iter_mut().zip(betas).for_each(|(replica, beta)| replica.set_beta(beta).unwrap());
    betas[15] = wrong;
    batch.set_betas(betas).unwrap();
    if clamped {
        let mask = mask(target.sites);
        let mask = Packed::new(Layout::binary(target.sites), &mask).unwrap();
        batch.clamp(mask).unwrap();
        replicas.iter_mut().for_each(|replica| replica.clamp(mask).unwrap());
    }
    let mut different = 0;
    for _ in 0..steps {
        let info = batch.step(&kernel, &mut rng);
        let same = replicas.iter_mut().zip(&mut generators).enumerate().all(|(number, (replica, rng))| {
            let alone = replica.step(&kernel, rng);
            let (energy, other) = (batch.energy(number), replica.energy());
            let close = (f64::from(energy) - f64::from(other)).abs() <= target.energy_bound(steps);
            info.of(number).map(bits) == Some(bits(alone))
                && words(&batch, number) == replica.state().words()
                && if exact { energy.to_bits() == other.to_bits() } else { close }
        });
        different += usize::from(!same);
    }
    different
}

#[test]
fn every_chain_has_its_own_temperature() {
    for target in targets(3) {
        assert_eq!(tempered::<3, _>(&target, Langevin::adjusted(0.4).unwrap(), (60, false), 1.875, true), 0);
        assert_eq!(tempered::<3, _>(&target, Langevin::unadjusted(0.4).unwrap(), (60, false), 1.875, true), 0);
    }
    let target = &targets(8)[3];
    assert_eq!(tempered::<8, _>(target, Langevin::adjusted(0.4).unwrap(), (60, false), 1.875, true), 0);
    assert!(tempered::<8, _>(target, Langevin::adjusted(0.4).unwrap(), (60, false), 1.8, true) > 40);
}

/// The energies are those of the float64 formula, after any number of moves.
#[test]
fn energies_are_those_of_the_formula() {
    for target in targets(5) {
        let mut memory = target.couplings();
        let model = target.model(&mut memory);
        let (mut rng, naive) = (LaneRng::seed_from_u64(3), target.naive());
        let mut batch = random::<5>(&model, &mut rng);
        let bound = target.energy_bound(200);
        let mut worst = 0.0f64;
        for step in 0..200 {
            let info = if step % 2 == 0 {
                batch.step(&Langevin::adjusted(0.4).unwrap(), &mut rng)
            } else {
                batch.step(&Gibbs::systematic(), &mut rng)
            };
            assert!(!info.fault);
            for chain in 0..16 {
                let x: Vec<_> = (0..target.sites).map(|site| usize::from(batch.values(site)[chain])).collect();
                worst = worst.max((f64::from(batch.energy(chain)) - naive.energy(&x)).abs());
            }
        }
        assert!(worst <= bound, "{} sites: {worst} of {bound}", target.sites);
        // A variant whose couplings are others.
        let mut other = target.edges.clone();
        if !other.is_empty() {
            other.iter_mut().for_each(|edge| edge.2 += 0.5);
            let other = Tables::potts(&other, 5, &target.fields);
            let x = |chain: usize| -> Vec<_> {
                (0..target.sites).map(|site| usize::from(batch.values(site)[chain])).collect()
            };
            let far = (0..16).map(|chain| (f64::from(batch.energy(chain)) - other.energy(&x(chain))).abs());
            assert!(far.fold(0.0, f64::max) > bound, "{} sites: a wrong coupling passes", target.sites);
        }
    }
}

/// A restart of one chain leaves the others their energies, with what rounding has added up in them.
#[test]
fn a_restart_is_of_one_chain() {
    let target = &targets(5)[4];
    let mut memory = target.couplings();
    let model = target.model(&mut memory);
    let mut rng = LaneRng::seed_from_u64(4);
    let mut batch = random::<5>(&model, &mut rng);
    let start = vec![0; model.layout().words()];
    let energies =
        |batch: &HeapBatch<'_, 5>| -> Vec<u32> { (0..16).map(|chain| batch.energy(chain).to_bits()).collect() };
    let mut rounded = 0;
    for step in 0..200 {
        batch.step(&Langevin::adjusted(0.4).unwrap(), &mut rng);
        let before = energies(&batch);
        let other = step % 16;
        batch.restart(other, Packed::new(model.layout(), &start).unwrap()).unwrap();
        let after = energies(&batch);
        assert!((0..16).all(|chain| chain == other || after[chain] == before[chain]), "step {step}");
        // What starts anew has rounded nothing.
        let fresh = PottsBatch::new(
            &model,
            vec![PottsSite::<5>::new(); 70],
            Packed::new(model.layout(), &words(&batch, (other + 1) % 16)).unwrap(),
        );
        rounded += u32::from(energies(&fresh.unwrap())[0] != before[(other + 1) % 16]);
    }
    assert!(rounded > 20, "{rounded} energies would have changed");
}

/// As with bits: what a large coupling has lost on the way down does not stay.
#[test]
fn a_step_from_an_energy_far_off_leaves_no_error() {
    let edges: Vec<_> = (0..20).map(|pair| (2 * pair, 2 * pair + 1, -8e6)).collect();
    let fields: Vec<f32> = (0..200).map(|place| (place % 7) as f32).collect();
    let mut memory = Couplings::new(40, 20);
    let model = Potts::new(40, 5, edges.iter().copied(), &fields, memory.borrow()).unwrap();
    let naive = Tables::potts(&edges, 5, &fields);
    let mut rng = LaneRng::seed_from_u64(SEED);
    let mut batch = random::<5>(&model, &mut rng);
    let far = (0..16).filter(|&chain| batch.energy(chain) > 1e6).count();
    for _ in 0..10 {
        batch.step(&Gibbs::systematic(), &mut rng);
        for chain in 0..16 {
            let words = words(&batch, chain);
            let x: Vec<usize> =
                Packed::new(model.layout(), &words).unwrap().values().map(|value| value as usize).collect();
            let energy = naive.energy(&x);
            assert!((f64::from(batch.energy(chain)) - energy).abs() < 1e-3, "{chain}: {energy}");
        }
    }
    assert!(far > 10, "{far}");
}

/// At a β that no chain has as 1 a sweep changes E_β by β times what E changes by.
#[test]
fn sweeps_at_one_temperature_say_what_they_changed() {
    let target = &targets(5)[4];
    let mut memory = target.couplings();
    let model = target.model(&mut memory);
    let mut rng = LaneRng::seed_from_u64(SEED);
    let mut batch = random::<5>(&model, &mut rng);
    let betas = [0.5; 16];
    batch.set_betas(betas).unwrap();
    assert_eq!(batch.betas(), betas);
    let bound = target.energy_bound(1);
    for _ in 0..20 {
        let before: [f32; 16] = core::array::from_fn(|chain| batch.energy(chain));
        let info = batch.step(&Gibbs::systematic(), &mut rng);
        for (chain, before) in before.into_iter().enumerate() {
            let change = f64::from(batch.energy(chain)) - f64::from(before);
            let said = f64::from(info.of(chain).unwrap().difference);
            assert!((said - 0.5 * change).abs() <= bound, "{said} {change}");
        }
    }
}

#[test]
fn snapshots_go_on_bit_for_bit() {
    let target = &targets(5)[4];
    let mut memory = target.couplings();
    let model = target.model(&mut memory);
    let mut rng = LaneRng::seed_from_u64(SEED);
    let mut batch = random::<5>(&model, &mut rng);
    let held = mask(70);
    batch.clamp(Packed::new(Layout::binary(70), &held).unwrap()).unwrap();
    batch.set_betas(core::array::from_fn(|chain| 0.5 + chain as f32 / 20.0)).unwrap();
    let (langevin, gibbs) = (Langevin::adjusted(0.3).unwrap(), Gibbs::systematic());
    (0..50).for_each(|_| _ = batch.step(&langevin, &mut rng));
    let bytes = save(&[&batch, &rng]);
    let own = HeapBatch::<'_, 5>::snapshot_len(70);
    assert_eq!(bytes.len(), FRAME + own + LaneRng::SNAPSHOT_LEN);

    let mut other_rng = LaneRng::seed_from_u64(1);
    let mut other = random::<5>(&model, &mut other_rng);
    (0..7).for_each(|_| _ = other.step(&gibbs, &mut other_rng));
    load(&bytes, &mut [&mut other, &mut other_rng]).unwrap();
    assert_eq!((other.steps(), other.betas()), (50, batch.betas()));
    for step in 0..60 {
        let (one, two) = if step % 3 == 0 {
            (batch.step(&gibbs, &mut rng), other.step(&gibbs, &mut other_rng))
        } else {
            (batch.step(&langevin, &mut rng), other.step(&langevin, &mut other_rng))
        };
        assert_eq!(one, two);
        assert!((0..16).all(|chain| batch.energy(chain).to_bits() == other.energy(chain).to_bits()));
        assert!((0..70).all(|site| batch.values(site) == other.values(site)));
    }
    // Of another model or arity, or with a value or a β that is none, it is refused, and nothing changes.
    let small = &targets(5)[3];
    let mut memory = small.couplings();
    let small = small.model(&mut memory);
    let mut batch = random::<5>(&small, &mut rng);
    let before = save(&[&batch]);
    let (need, got) = (Layout::categorical(25, 5), Layout::categorical(70, 5));
    assert_eq!(load(&bytes, &mut [&mut batch]), Err(SnapshotError::Layout { need, got }));
    assert_eq!(save(&[&batch]), before);
    let at = FRAME - 4 + 4;
    for (place, word, error) in [
        (at + 4, 4u32.to_le_bytes(), SnapshotError::Layout { need, got: Layout::categorical(25, 4) }),
        (at + 20, f32::INFINITY.to_le_bytes(), SnapshotError::Value),
        (before.len() - 12, [5; 4], SnapshotError::Value),
    ] {
        let mut forged = before.clone();
        forged[place..place + 4].copy_from_slice(&word);
        (0..3).for_each(|_| _ = batch.step(&gibbs, &mut rng));
        let stands = save(&[&batch]);
        assert_eq!(load(&sealed(forged), &mut [&mut batch]), Err(error), "at {place}");
        assert_eq!(save(&[&batch]), stands);
    }
}

#[test]
fn bad_input_is_refused() {
    let target = &targets(3)[3];
    let mut memory = target.couplings();
    let model = target.model(&mut memory);
    let mut rng = LaneRng::seed_from_u64(1);
    let short = PottsBatch::random(&model, vec![PottsSite::<3>::new(); 24], &mut rng).unwrap_err();
    assert_eq!(short, BatchError::Sites { need: 25, got: 24 });
    let other = PottsBatch::random(&model, vec![PottsSite::<4>::new(); 25], &mut rng).unwrap_err();
    assert_eq!(other, BatchError::Arity { need: 3, got: 4 });
    let wide = Target::new(3, 65, 0.5, 1.0);
    let mut room = wide.couplings();
    let many = wide.model(&mut room);
    let many = PottsBatch::random(&many, vec![PottsSite::<65>::new(); 3], &mut rng).unwrap_err();
    assert_eq!(many, BatchError::ManyValues { arity: 65 });

    let mut batch = random::<3>(&model, &mut rng);
    let (layout, two) = (model.layout(), heap::pack_in(model.layout(), &[2.0; 25]));
    let start = Packed::new(layout, &two).unwrap();
    for chain in [16, 17, 32, usize::MAX] {
        assert_eq!(batch.restart(chain, start), Err(BatchError::Chain { chain }));
        assert!(batch.energy(chain).is_nan() && words(&batch, chain) == [0; 2]);
    }
    let binary = Packed::new(Layout::binary(25), &[5]).unwrap();
    assert!(matches!(batch.restart(0, binary), Err(BatchError::State(_))));
    assert!(matches!(batch.clamp(start), Err(BatchError::State(_))));
    for beta in [f32::NAN, -1.0, f32::INFINITY, 3e38] {
        assert!(batch.set_betas([beta; 16]).is_err(), "{beta}");
    }
    // One chain moves, the others stay.
    let before: Vec<_> = (0..16).map(|chain| words(&batch, chain)).collect();
    batch.restart(9, start).unwrap();
    let moved =
        |chain: usize| words(&batch, chain) == if chain == 9 { two.clone() } else { before[chain].clone() };
    assert!((0..16).all(moved));
    assert_eq!((batch.values(3)[9], batch.values(25)), (2, [0; 16]));
    let alone = Chain::new(&model, heap::memory(&model), start).unwrap();
    assert_eq!(batch.energy(9).to_bits(), alone.energy().to_bits());
    // Kernels that do not fit: nothing moves.
    let blocks = [[1.0; 16]];
    let short = Langevin::new(0.5, Curvature::Each(&blocks), true).unwrap();
    let endless = Langevin::new(0.5, Curvature::Same(f32::MAX), true).unwrap();
    assert_eq!(batch.set_betas([f32::MAX; 16]), Err(PathError::BetaTooLarge(f32::MAX)));
    let mut mixed = [f32::MAX; 16];
    mixed[7] = -1.0;
    assert_eq!(batch.set_betas(mixed), Err(PathError::Beta(-1.0)));
    batch.set_betas([1e30; 16]).unwrap();
    let stands = save(&[&batch])[40..].to_vec();
    for info in [
        batch.step(&short, &mut rng),
        batch.step(&endless, &mut rng),
        batch.step(&Gibbs::random(3).unwrap(), &mut rng),
    ] {
        assert!(info.fault && info.accepted == 0);
        assert!(matches!(info.of(3), Some(Info { accepted: false, fault: true, .. })));
        assert_eq!(info.of(16), None);
    }
    assert_eq!(save(&[&batch])[40..save(&[&batch]).len() - 4], stands[..stands.len() - 4]);
    assert_eq!(batch.steps(), 3);
    assert_eq!(batch.into_memory().len(), 27);
}
