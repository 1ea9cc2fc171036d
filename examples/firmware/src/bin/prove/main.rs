//! The image of `.ci/proofs`: every chain of `bitmc-chains` and every kernel function that a firmware calls, and no way to
//! report a panic. It links only if no panic path is reachable: the panic handler calls a function that does not exist.
//! Run, it says which chains have their committed hashes. The hash of a part of the chains goes on from the committed
//! hashes of those before it, so that the last part ends with the hash of all.
#![no_std]
#![no_main]

mod learning;

use bitmc::energy::{CoarseRbm, Edge, Energy, Entry, Sparse, pack_rows};
use bitmc::lane::{Bits, Block, each};
use bitmc::noise::{
    Adaptation, Dense, DenseMatrix, Edgewise, MinTrace, Parameters, Regression, Run, SparseMatrix,
    SparseRegression, constant, guided_balance,
};
use bitmc::quantised::{QuantisedGibbs, QuantisedIsing};
use bitmc::sliced::{SlicedChains, SlicedGibbs, SlicedIsing};
use bitmc::snapshot::{Reader, Same, Snapshot, Writer};
use bitmc::stats::{Acceptance, BatchMeans, Best, Every, Means, Pairs, Watch};
use bitmc::step::Kernel;
use bitmc::temper::{Ladder, Rung};
use bitmc::tune::{CycleSettings, CycleTuner, RateTuner, Trial};
use bitmc::{
    Chain, Info, Ising, LaneRng, Langevin, Layout, Move, Packed, Plain, Potts, Rbm, Rng, SeedableRng,
    SparseMemory, State, memory, torus,
};
use bitmc_chains::before;
use bitmc_chains::hash::Hash;
use bitmc_chains::models::{self, IndependentSet, with_ising};
use bitmc_firmware::chains::{FIRST, LAST, RUN};
use bitmc_firmware::changing::graph;
use bitmc_firmware::torus::MODEL;
use bitmc_firmware::{entry, exit, say, stack};
use core::hint::black_box;
use learning::{learned, taught};

#[cfg(not(feature = "report"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn a_panic_path_is_reachable() -> !;
    }
    // SAFETY: never linked.
    unsafe { a_panic_path_is_reachable() }
}

#[entry]
fn main() -> ! {
    stack::paint();
    let hashes = chains();
    // Each part has a frame of its own: together they would not fit the 16 KB of the micro:bit.
    // Whatever the numbers are that come in: none of them is known when this is compiled.
    let number = || f32::from_bits(black_box(0x3DCC_CCCD));
    let size = || black_box(25usize);
    // Learning is linked here; the image `learn` runs it, and a move of a network needs more than 16 KB.
    let learning = || black_box(false) && learned(number(), size()) && taught(number(), size());
    let rest = || {
        right("compiled", compiled(number(), size()))
            && right("changed", changed(number(), size()))
            && right("observed", observed(number(), size()))
            && right("planes", planes(number(), size()))
            && right("curved", curved(number(), size()))
            && right("adapted", adapted(number(), size()))
            && right("kept", kept(size()))
            && right("states", states(size()))
            && right("generators", generators(size()))
            && right("snapshots", snapshots(size()))
            && right("bits", bits(number(), size()))
    };
    // Where the chains need several images, the last has learning, and the first the rest.
    exit(hashes && (FIRST != 0 || rest()) && !(LAST && learning()))
}

/// Says which check fails.
fn right(name: &str, pass: bool) -> bool {
    if !pass {
        say::number("fails: ", 0);
        say::number(name, 0);
        say::end();
    }
    pass
}

/// All chains of this image, and what they left of the stack.
#[inline(never)]
fn chains() -> bool {
    let (mut total, mut wrong) = (const { before(FIRST) }, 0);
    for (place, chain) in RUN.iter().enumerate() {
        let hash = (chain.run)();
        total.word(hash);
        if hash != chain.hash {
            wrong += 1;
            say::number("differs: chain ", FIRST + place);
            say::end();
        }
    }
    say::hash("hash ", total.value());
    say::number(", chains ", RUN.len());
    say::number(", differ ", wrong);
    say::number(", statics and stack ", stack::statics() + stack::used());
    say::end();
    wrong == 0
}

/// Ising and RBM tables, right and wrong ones.
#[inline(never)]
fn compiled(number: f32, size: usize) -> bool {
    let mut memory = SparseMemory::<25, 100>::new();
    let (rows, columns) = (size as u32 / 5, black_box(5));
    let fields = [number; 25];
    let Some(fields) = fields.get(..size) else { return false };
    let spins = Ising::spins_edges_once(size, torus(rows, columns, number), fields, memory.borrow()).is_ok();
    let bits = Ising::bits_edges_once(size, torus(columns, rows, number), fields, memory.borrow()).is_ok();
    let edges: [Edge; 3] = black_box([(0, 1, number), (1, 90, number), (1, 1, number)]);
    let wrong = Ising::spins_edges_twice(size, edges, fields, memory.borrow()).is_err();
    let lent = memory.borrow();
    let left = Sparse::from_rows(lent.ends, lent.entries, lent.linear, black_box(-3)).is_err();
    let pair = black_box([Entry { site: 1, coupling: 5 }, Entry { site: 0, coupling: 5 }]);
    let quadratic = Sparse::from_rows(&[1, 2], &pair, &[3, 4], black_box(-3)).map(Ising::quadratic);
    let mut blocks = [[0.0; 16]; 4];
    let packed = blocks.get_mut(..size & 3).is_some_and(|out| pack_rows(&fields[..0], size, out).is_err());
    let rbm = Rbm::new(&blocks, fields, blocks.get(..size & 1).unwrap_or_default(), size);
    let mut room = [[0; 16]; 4];
    let coarse = rbm.map(|rbm| CoarseRbm::new(rbm, room.get_mut(..size & 3).unwrap_or_default()).is_err());
    spins & bits & wrong & left & quadratic.is_ok() & packed & coarse.is_err()
}

/// Models with new fields, right and wrong ones, and a graph that changes its number of sites and edges.
#[inline(never)]
fn changed(number: f32, size: usize) -> bool {
    let (mut memory, mut linear) = (SparseMemory::<9, 36>::new(), [0; 9]);
    let fields = [number; 27];
    let few = fields.get(..size & 7).unwrap_or_default();
    let Ok(spins) = Ising::spins_edges_once(9, torus(3, 3, number), &[number; 9], memory.borrow()) else {
        return false;
    };
    let new = spins.with_linear(&[0.5 * number; 9], &mut linear).is_ok()
        & spins.with_linear(few, &mut linear).is_err();
    let buffers = memory.borrow().allow_rounding();
    let potts =
        Potts::new(9, 3, torus(3, 3, number), &fields, buffers).and_then(|potts| potts.with_linear(&fields));
    let whole = MODEL.with_linear(&black_box([-1; bitmc_firmware::torus::SITES])).is_ok();
    new & whole & potts.is_ok() & graph(number, &mut Hash::new())
}

/// Every observer over every kernel, each by a direct call and through a trait object.
#[inline(never)]
fn observed(number: f32, size: usize) -> bool {
    let seen = with_ising(number, |ising| {
        let (rbm, adjusted) = (models::digits()?, Langevin::adjusted(6.0 * number).ok()?);
        let unadjusted = Langevin::unadjusted(number).ok()?;
        let ising_memory = || memory!(models::ISING, Ising::cache_len(25));
        let rbm_memory = || memory!(models::RBM, Rbm::cache_len(models::RBM_HIDDEN));
        let set = Plain(IndependentSet);
        let pass = watched(ising, ising_memory(), &adjusted, size)
            && watched(ising, ising_memory(), &unadjusted, size)
            && watched(&rbm, rbm_memory(), &adjusted, size)
            && watched(&rbm, rbm_memory(), &bitmc::BlockGibbs, size)
            && watched::<dyn Energy, _, _, _, _>(&set, memory!(Layout::binary(40), 1), &adjusted, size);
        Some(pass)
    });
    seen == Some(true)
}

/// The same for sites of four values.
#[inline(never)]
fn planes(number: f32, size: usize) -> bool {
    let mut couplings = SparseMemory::<25, 100>::new();
    let potts = Potts::new(size, 4, torus(5, 5, number), &models::POTTS_FIELDS, couplings.borrow());
    let (Ok(potts), Ok(sampler)) = (potts, Langevin::adjusted(6.0 * number)) else { return false };
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    watched(&potts, memory, &sampler.within(size as u32), size)
}

/// Noises with each way to their D, and a step with one.
#[inline(never)]
fn curved(number: f32, size: usize) -> bool {
    let mut couplings = SparseMemory::<9, 36>::new();
    let (side, fields) = (black_box(3), [number; 9]);
    let Ok(model) = Ising::spins_edges_once(9, torus(side, side, number), &fields, couplings.borrow()) else {
        return false;
    };
    let sparse = SparseMatrix::of(model.form());
    let (mut rows, mut d, mut scratch) = ([[0.0; 16]; 9], [[0.0; 16]; 1], [[0.0; 16]; 3]);
    let Ok(matrix) = DenseMatrix::of(&sparse, &mut rows) else { return false };
    let shifted = constant(&matrix, number, &mut d, &mut scratch).is_ok();
    let mut vectors = [[0.0; 16]; MinTrace::blocks(9)];
    let solver = MinTrace::new(number, size as u32);
    let solved = solver.solve(&matrix, &mut d, &mut vectors, &mut scratch).is_ok();
    let mut root = [[0.0; 16]; Dense::root_blocks(9)];
    let Ok(dense) = Dense::new(matrix, &mut d, &mut root) else { return false };
    let (mut own, mut runs) = ([[0.0; 16]; 1], [Run::default(); 18]);
    let edgewise = Edgewise::new(sparse, &mut own).and_then(|noise| noise.by_runs(&mut runs));
    let Ok(edgewise) = edgewise else { return false };
    let wrong = SparseMatrix::with_diagonal(model.form(), fields.get(..size).unwrap_or_default()).is_err();
    let (first, second) =
        (Langevin::second_order(dense, number, number), Langevin::second_order(edgewise, number, number));
    let (Ok(first), Ok(second)) = (first, second.and_then(|kernel| kernel.precision(number))) else {
        return false;
    };
    let memory = memory!(Layout::binary(9), Ising::cache_len(9));
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let Ok(mut chain) = Chain::random(&model, memory, &mut rng) else { return false };
    let (here, there) = (chain.step(&first, &mut rng), chain.step(&second, &mut rng));
    shifted && solved && wrong && !here.fault && !there.fault
}

/// W by least squares, and parameters that adapt.
#[inline(never)]
fn adapted(number: f32, size: usize) -> bool {
    let sites = black_box(9usize);
    let layout = Layout::binary(sites);
    let (mut memory, mut rows) = ([[0.0; 16]; Regression::blocks(9)], [[0.0; 16]; DenseMatrix::blocks(9)]);
    let (from, to) = ([black_box(0u32)], [black_box(0b1011u32)]);
    let (Ok(from), Ok(to)) = (Packed::new(layout, &from), Packed::new(layout, &to)) else { return false };
    let (Ok(step), Ok(mut regression)) = (Move::new(from, to), Regression::new(sites, &mut memory)) else {
        return false;
    };
    let pushed = regression.push(&step, &[[0.0; 16]; 1], &[[number; 16]; 1]).is_ok();
    let mut scratch = [[0.0; 16]; 3 * DenseMatrix::blocks(9)];
    let solved = regression.solve(number, size as u32, &mut rows, &mut scratch).is_ok();
    let mut couplings = SparseMemory::<9, 16>::new();
    let path = (0..8u32).map(|site| (site, site + 1, number));
    let Ok(model) = Ising::bits_edges_once(9, path, &[number; 9], couplings.borrow()) else { return false };
    let (mut room, mut diagonal) = ([[0.0; 16]; 7], [0.0; 9]);
    let Ok(mut regression) = SparseRegression::new(model.form(), &mut room) else { return false };
    let pushed = pushed && regression.push(&step, &[[0.0; 16]; 1], &[[number; 16]; 1]).is_ok();
    let solved = pushed && solved && regression.solve(number, size as u32, &mut rows, &mut scratch).is_ok();
    regression.diagonal(&rows, &mut diagonal);
    let solved = solved && returns(&mut regression);
    let sum: f32 = regression.edges(&rows).map(|(_, _, value)| value).chain(diagonal).sum();
    let mut jumps = Adaptation::new(Parameters::START).with_precision();
    let mut info = Info::default();
    (info.accepted, info.proposed, info.log_ratio, info.difference) = (size > 3, size as u32, number, number);
    (0..4 * size).for_each(|_| _ = jumps.observe(&info));
    jumps.freeze();
    solved && sum < number && jumps.is_frozen() && guided_balance(number, number) >= 0.5
}

#[inline(never)]
fn watched<E, K, W, C, B>(model: &E, memory: bitmc::Memory<W, C, B>, kernel: &K, size: usize) -> bool
where
    E: Energy + ?Sized,
    K: Kernel<E>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    let mut rng = LaneRng::stream(size as u64, size.saturating_sub(1) as u32);
    rng.long_jump();
    let Ok(zeros) =
        Packed::new(model.layout(), black_box(&[0; 2]).get(..model.layout().words()).unwrap_or_default())
    else {
        return false;
    };
    let Ok(mut chain) = Chain::new(model, memory, zeros) else { return false };
    let mut steps = Acceptance::new();
    let mut energy = BatchMeans::<32>::new();
    let mut means = Means::new([0; 64]);
    let mut pairs = Pairs::new([(0, 1), (size as u32, 70)]);
    let (mut room, length) = ([0; 2], model.layout().words());
    let mut best = Best::new(room.get_mut(..length).unwrap_or_default());
    let mut sum = 0;
    let mut thinned = Every::new(size as u64, Watch(|x: Packed<'_>, _: f32, _: &Info| sum += x.ones()));
    let observers = &mut ((&mut steps, &mut energy), (&mut means, (&mut pairs, (&mut best, &mut thinned))));
    chain.run(kernel, &mut rng, 500, observers);
    let [near, far] = pairs.correlations();
    let rates = steps.rate() + steps.proposed() + steps.jump_distance();
    let error = energy.ess().unwrap_or(1.0) + energy.standard_error().unwrap_or(1.0) + energy.variance();
    let numbers = rates + error + energy.mean();
    let layout = model.layout();
    let answers = [means.mean(size >> 1), best.energy()];
    // There is no site 70, and a pair of spins is of binary sites.
    let none = far.is_none()
        && means.mean(63).is_some() == (layout.sites() > 63)
        && near.is_some() == (layout.arity() == 2);
    numbers.is_finite()
        && answers.iter().all(Option::is_some)
        && none
        && steps.steps == 500
        && chain.faults() == 0
        && best.words().is_some_and(|words| words.len() == model.layout().words())
        && sum < 1 << 20
}

/// Clamping, restarting, resuming and going on.
#[inline(never)]
fn kept(size: usize) -> bool {
    with_ising(0.1, |model| went_on(model, size)) == Some(true)
}

fn went_on(model: &Ising<'_>, size: usize) -> Option<bool> {
    let room = memory!(models::ISING, Ising::cache_len(25));
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let sampler = Langevin::adjusted(0.6).ok()?;
    let mut chain = Chain::random(model, room, &mut rng).ok()?;
    let mut held = State::<1>::zeros(models::ISING).ok()?;
    let set = held.set(size >> 1, 1).is_ok() && held.set(size, 1).is_err();
    let clamped = chain.clamp(held.view()).is_ok();
    let before = chain.state().get(size >> 1);
    let info = chain.step(&sampler, &mut rng);
    let stayed = chain.state().get(size >> 1) == before;
    let probe = sampler.transition(chain.ring(), held.view()).is_ok_and(|t| !t.fault);
    chain.release();

    let (state, blocks, used) = rng.state();
    let mut same = LaneRng::from_state(state, blocks, used)?;
    let mut second = Chain::resume(model, room, chain.state(), chain.core()).ok()?;
    let equal = (0..size).all(|_| chain.step(&sampler, &mut rng) == second.step(&sampler, &mut same))
        && chain.state() == second.state()
        && chain.energy() == second.energy();
    let restarted = chain.restart(held.view()).is_ok() && second.model().form().sites() == 25;
    let again = Chain::new(second.model(), chain.into_memory(), held.view()).is_ok();
    Some(set && clamped && stayed && probe && equal && restarted && again && info.moved() <= 25)
}

/// States of every field width, and the moves between them.
#[inline(never)]
fn states(size: usize) -> bool {
    let mut right = true;
    for arity in [2, 3, 5, 17, 300] {
        let layout = Layout::categorical(size, black_box(arity));
        let (mut from, mut to) = ([0u32; 16], [0u32; 16]);
        let words = layout.words();
        let (Some(from), Some(to)) = (from.get_mut(..words), to.get_mut(..words)) else { return false };
        right &= bitmc::packed::set(layout, to, size >> 1, 1).is_ok();
        right &= bitmc::packed::set(layout, to, size, 1).is_err();
        let (Ok(from), Ok(to)) = (Packed::new(layout, from), Packed::new(layout, to)) else { return false };
        let Ok(step) = Move::new(from, to) else { return false };
        right &= step.count() == 1 && step.changes().all(|c| c.to == 1) && to.ones() == 1;
        right &= to.values().sum::<u32>() == 1 && to.bits(size) == 0;
    }
    let mut blocks = [[0.0; 16]; 2];
    each(0, &mut blocks).for_each(|(site, value)| *value = site as f32);
    right && bitmc::lane::sum(&blocks[1]) > bitmc::lane::sum(&blocks[0])
}

/// Bytes of any number, and draws from any generator.
#[inline(never)]
fn generators(size: usize) -> bool {
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let mut bytes = [0; 150];
    rng.fill_bytes(bytes.get_mut(..size * 3 + 2).unwrap_or_default());
    let mut fork = LaneRng::from_seed([size as u8; 16]);
    let draws: f32 = bitmc::random::normals(&mut fork).iter().sum::<f32>() + bitmc::random::uniform(&mut rng);
    draws.is_finite() && bytes.iter().any(|&byte| byte != 0)
}

/// Tuners, a ladder and statistics to bytes and back, whole and altered.
#[inline(never)]
fn snapshots(size: usize) -> bool {
    let start = |seed: usize| {
        let rng = LaneRng::seed_from_u64(seed as u64);
        let rate = RateTuner::new(1.0, (0.1, 10.0), 0.5).ok()?;
        let cycle = CycleTuner::new([Trial::default(); 4], CycleSettings::default()).ok()?;
        let ladder = Ladder::new([Rung::default(); 3], &[0.25, 0.5, 1.0]).ok()?;
        Some((rng, rate, cycle, ladder, (Means::new([seed as u32; 4]), BatchMeans::<8>::new())))
    };
    let (Some(one), Some(mut two)) = (start(size), start(size + 1)) else { return false };
    let mut bytes = [0; 1200];
    let writer = Writer::new(&mut bytes).put(&Same(7)).put(&one.0).put(&one.1).put(&one.2).put(&one.3);
    let Ok(length) = writer.put(&one.4).finish() else { return false };
    let mut load = |bytes: &[u8]| {
        let mut reader = Reader::new(bytes)?;
        let reader = reader.get(&mut Same(7))?.get(&mut two.0)?.get(&mut two.1)?.get(&mut two.2)?;
        reader.get(&mut two.3)?.get(&mut two.4)?.finish()
    };
    let whole = load(&bytes).is_ok();
    let torn = load(bytes.get(..length - 1).unwrap_or_default()).is_err();
    if let Some(byte) = bytes.get_mut(size) {
        *byte ^= 1;
    }
    whole && torn && load(&bytes).is_err() && (one.0, one.1, one.2, one.3) == (two.0, two.1, two.2, two.3)
}

/// A part to bytes and back.
#[inline(never)]
fn returns<S: Snapshot + ?Sized>(part: &mut S) -> bool {
    let mut bytes = [0; 1024];
    let saved = Writer::new(&mut bytes).put(part).finish().is_ok();
    saved && Reader::new(&bytes).is_ok_and(|mut reader| reader.get(part).is_ok() && reader.finish().is_ok())
}

/// Chains without floats, and chains side by side, a bit each.
#[inline(never)]
fn bits(number: f32, size: usize) -> bool {
    let pair = black_box([Entry { site: 1, coupling: 65_536 }, Entry { site: 0, coupling: 65_536 }]);
    let (mut words, mut fields) = ([size as u32 & 3], [0; 2]);
    let Ok(model) = QuantisedIsing::from_rows(&[1, 2], &pair, &[-32_768; 2]) else { return false };
    let Ok(mut whole) = QuantisedGibbs::new(model, &mut words, &mut fields) else { return false };
    let mut couplings = SparseMemory::<2, 2>::new();
    let model = Ising::spins_edges_once(2, [(0, 1, number)], &[], couplings.borrow());
    let Ok(Ok(model)) = model.map(SlicedIsing::new) else { return false };
    let (mut blocks, mut table) = ([[0; 16]; 2], [0; SlicedGibbs::kind_words(1, false)]);
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let chains = SlicedChains::random(model, &mut blocks, &mut rng);
    let Ok(Ok(mut sliced)) = chains.map(|chains| SlicedGibbs::new(chains, &mut table)) else { return false };
    sliced.sweep(&mut rng);
    let clamped = whole.sweep_free(&[size as u32], &mut rng) <= 2 && whole.units().abs() <= 65_536;
    clamped && whole.sweep(&mut rng) <= 2 && returns(&mut whole) && returns(&mut sliced)
}
