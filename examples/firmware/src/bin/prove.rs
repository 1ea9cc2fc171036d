//! The image of `.ci/proofs`: every chain of `bitmc-chains` and every kernel function that a firmware calls, and no way to
//! report a panic. It links only if no panic path is reachable: the panic handler calls a function that does not exist.
//! Run, it says which chains have their committed hashes. The hash of a part of the chains goes on from the committed
//! hashes of those before it, so that the last part ends with the hash of all.
#![no_std]
#![no_main]

use bitmc::energy::{Boltzmann, CoarseRbm, Edge, Energy, Entry, Perceptron, Sparse, pack_rows};
use bitmc::lane::{Bits, Block, each};
use bitmc::learn::{
    Adam, Batch, Contrast, CyclicalLearning, Importance, Learnable, PseudoLikelihood, RatioMatching, Replay,
    Sgd, SparseIsing, SparsePotts, clip, decay, lasso,
};
use bitmc::noise::{
    Adaptation, Dense, DenseMatrix, Edgewise, MinTrace, Parameters, Regression, Run, SparseMatrix,
    SparseRegression, constant, guided_balance,
};
use bitmc::snapshot::{Reader, Same, Writer};
use bitmc::stats::{Acceptance, BatchMeans, Best, Every, Means, Pairs, Watch};
use bitmc::step::Kernel;
use bitmc::temper::{Ladder, Rung};
use bitmc::tune::{CycleSettings, CycleTuner, RateTuner, Trial};
use bitmc::{
    Chain, Info, Ising, LaneRng, Langevin, Layout, Move, Packed, Plain, Potts, Rbm, Rng, SeedableRng,
    SparseMemory, State, memory, torus,
};
use bitmc_chains::before;
use bitmc_chains::models::{self, IndependentSet};
use bitmc_firmware::chains::{FIRST, RUN};
use bitmc_firmware::{entry, exit, say, stack};
use core::hint::black_box;

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
        !learning()
            && compiled(number(), size())
            && observed(number(), size())
            && planes(number(), size())
            && curved(number(), size())
            && adapted(number(), size())
            && kept(size())
            && states(size())
            && generators(size())
            && snapshots(size())
    };
    // Where the chains need several images, the first has the rest.
    exit(hashes && (FIRST != 0 || rest()))
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
    let spins = Ising::spins_edges_once(torus(rows, columns, number), fields, memory.lend()).is_ok();
    let bits = Ising::bits_edges_once(torus(columns, rows, number), fields, memory.lend()).is_ok();
    let edges: [Edge; 3] = black_box([(0, 1, number), (1, 90, number), (1, 1, number)]);
    let wrong = Ising::spins_edges_twice(edges, fields, memory.lend()).is_err();
    let lent = memory.lend();
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

/// Every observer over every kernel, each by a direct call and through a trait object.
#[inline(never)]
fn observed(number: f32, size: usize) -> bool {
    let mut memory = SparseMemory::<25, 100>::new();
    let edges = torus(5, 5, number);
    let Ok(ising) = Ising::spins_edges_twice(edges, &models::ISING_FIELDS, memory.lend()) else {
        return false;
    };
    let Some(rbm) = models::digits() else { return false };
    let (Ok(adjusted), Ok(unadjusted)) = (Langevin::adjusted(6.0 * number), Langevin::unadjusted(number))
    else {
        return false;
    };
    let ising_memory = || memory!(models::ISING, Ising::cache_len(25));
    let rbm_memory = || memory!(models::RBM, Rbm::cache_len(models::RBM_HIDDEN));
    watched(&ising, ising_memory(), &adjusted, size)
        && watched(&ising, ising_memory(), &unadjusted, size)
        && watched(&rbm, rbm_memory(), &adjusted, size)
        && watched(&rbm, rbm_memory(), &bitmc::BlockGibbs, size)
        && watched::<dyn Energy, _, _, _, _>(
            &Plain(IndependentSet),
            memory!(Layout::binary(40), 1),
            &adjusted,
            size,
        )
}

/// The same for sites of four values.
#[inline(never)]
fn planes(number: f32, size: usize) -> bool {
    let mut couplings = SparseMemory::<25, 100>::new();
    let potts = Potts::new(torus(5, 5, number), size, 4, &models::POTTS_FIELDS, couplings.lend());
    let (Ok(potts), Ok(sampler)) = (potts, Langevin::adjusted(6.0 * number)) else { return false };
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    watched(&potts, memory, &sampler.within(size as u32), size)
}

/// Noises with each way to their D, and a step with one.
#[inline(never)]
fn curved(number: f32, size: usize) -> bool {
    let mut couplings = SparseMemory::<9, 36>::new();
    let (side, fields) = (black_box(3), [number; 9]);
    let Ok(model) = Ising::spins_edges_once(torus(side, side, number), &fields, couplings.lend()) else {
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
    regression.push(&step, &[[0.0; 16]; 1], &[[number; 16]; 1]);
    let mut scratch = [[0.0; 16]; 3 * DenseMatrix::blocks(9)];
    let solved = regression.solve(number, size as u32, &mut rows, &mut scratch).is_ok();
    let mut couplings = SparseMemory::<9, 16>::new();
    let path = (0..8u32).map(|site| (site, site + 1, number));
    let Ok(model) = Ising::bits_edges_once(path, &[number; 9], couplings.lend()) else { return false };
    let (mut room, mut diagonal) = ([[0.0; 16]; 7], [0.0; 9]);
    let Ok(mut regression) = SparseRegression::new(model.form(), &mut room) else { return false };
    regression.push(&step, &[[0.0; 16]; 1], &[[number; 16]; 1]);
    let solved = solved && regression.solve(number, size as u32, &mut rows, &mut scratch).is_ok();
    regression.diagonal(&rows, &mut diagonal);
    let sum: f32 = regression.edges(&rows).map(|(_, _, value)| value).chain(diagonal).sum();
    let mut jumps = Adaptation::new(Parameters::START).with_precision();
    let info =
        Info { accepted: size > 3, proposed: size as u32, log_ratio: number, difference: number, fault: false };
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
    let mut rng = LaneRng::stream(size as u64, size as u32);
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
    let mut best = Best::new([0; 2]);
    let mut sum = 0;
    let mut thinned = Every::new(size as u64, Watch(|x: Packed<'_>, _: f32, _: &Info| sum += x.ones()));
    let observers = &mut ((&mut steps, &mut energy), (&mut means, (&mut pairs, (&mut best, &mut thinned))));
    chain.run(kernel, &mut rng, 500, observers);
    let [near, far] = pairs.correlations();
    let rates = steps.rate() + steps.proposed() + steps.jump_distance();
    let error = energy.ess().unwrap_or(1.0) + energy.standard_error().unwrap_or(1.0) + energy.variance();
    let numbers = rates + error + near + far + means.mean(size) + best.energy() + energy.mean();
    numbers.is_finite() && steps.steps == 500 && chain.faults() == 0 && best.words().len() == 2 && sum < 1 << 20
}

/// Clamping, restarting, resuming and going on.
#[inline(never)]
fn kept(size: usize) -> bool {
    let mut memory = SparseMemory::<25, 100>::new();
    let edges = torus(5, 5, 0.1);
    let Ok(model) = Ising::spins_edges_twice(edges, &models::ISING_FIELDS, memory.lend()) else {
        return false;
    };
    let room = memory!(models::ISING, Ising::cache_len(25));
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let (Ok(sampler), Ok(mut chain), Ok(mut held)) =
        (Langevin::adjusted(0.6), Chain::random(&model, room, &mut rng), State::<1>::zeros(models::ISING))
    else {
        return false;
    };
    let set = held.set(size >> 1, 1).is_ok() && held.set(size, 1).is_err();
    let clamped = chain.clamp(held.view()).is_ok();
    let before = chain.state().get(size >> 1);
    let info = chain.step(&sampler, &mut rng);
    let stayed = chain.state().get(size >> 1) == before;
    let probe = sampler.transition(chain.ring(), held.view()).is_ok_and(|t| !t.fault);
    chain.release();

    let (state, blocks, used) = rng.state();
    let Some(mut same) = LaneRng::from_state(state, blocks, used) else { return false };
    let Ok(mut second) = Chain::resume(&model, room, chain.state(), chain.core()) else { return false };
    let equal = (0..size).all(|_| chain.step(&sampler, &mut rng) == second.step(&sampler, &mut same))
        && chain.state() == second.state()
        && chain.energy() == second.energy();
    let restarted = chain.restart(held.view()).is_ok() && second.model().form().sites() == 25;
    let again = Chain::new(second.model(), chain.into_memory(), held.view()).is_ok();
    set && clamped && stayed && probe && equal && restarted && again && info.moved() <= 25
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

/// Every objective over the models that can be learned, by direct calls.
#[inline(never)]
fn learned(number: f32, size: usize) -> bool {
    const SITES: usize = 5;
    let mut theta = [[0.0; 16]; Boltzmann::parameter_len(SITES)];
    if let Some(slot) = theta.first_mut().and_then(|block| block.get_mut(size)) {
        *slot = number;
    }
    let (mut couplings, sites) = ([[0; 16]; Boltzmann::memory_len(SITES)], size / 5);
    let Ok(model) = Boltzmann::spins(&theta, sites, &mut couplings) else { return false };
    let pass = objectives(&model, number, size);
    let mut couplings = [[0; 16]; Boltzmann::memory_len(SITES)];
    pass & Boltzmann::bits(&theta, sites, &mut couplings).is_ok()
}

/// The same through a trait object, over models of a given sparsity, an RBM and a network.
#[inline(never)]
fn taught(number: f32, size: usize) -> bool {
    let theta = [[number; 16]; 12];
    let part = |blocks: usize| theta.get(..blocks).unwrap_or_default();
    let edges = [(0, 1), (1, size as u32 / 5 - 3), (3, 4)];
    let mut memory = SparseMemory::<5, 6>::new();
    let mut pass = SparseIsing::bits(part(2), 5, &edges, memory.lend()).is_ok();
    if let Ok(model) = SparseIsing::spins(part(2), 5, &edges, memory.lend()) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    if let Ok(model) = SparsePotts::new(part(2), (5, size / 8), &edges, memory.lend()) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    if let Ok(model) = Rbm::from_parameters(part(7), size / 5, black_box(4)) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    if let Ok(model) = Perceptron::new(&[5, black_box(3), 2], part(11)) {
        pass &= objectives(&model as &dyn Learnable, number, size);
    }
    pass
}

#[inline(never)]
fn objectives<E: Learnable + ?Sized>(model: &E, number: f32, size: usize) -> bool {
    let mut rng = LaneRng::seed_from_u64(size as u64);
    let mut room = memory!(Layout::categorical(5, 3), 8);
    let (mut gradient, mut moments, mut theta) = ([[0.0; 16]; 12], [[0.0; 16]; 24], [[number; 16]; 12]);
    let length = model.parameter_len();
    let Some(gradient) = gradient.get_mut(..length) else { return false };
    let words = [size as u32 & 1];
    let Ok(x) = Packed::new(model.layout(), &words) else { return false };
    let Ok(mut batch) = Batch::new(model, gradient) else { return false };
    let mut pass = batch.add(&PseudoLikelihood, model, x, &mut room, &mut rng).is_ok();
    pass &= batch.add(&RatioMatching::SIGMOID, model, x, &mut room, &mut rng).is_ok();
    pass &= batch.add(&RatioMatching::RATIO, model, x, &mut room, &mut rng).is_ok();
    for form in [Importance::ratio_matching(size), Importance::basic(size), Importance::uniform(size)] {
        let Ok(form) = form else { return false };
        pass &= batch.add(&form, model, x, &mut room, &mut rng).is_ok();
        pass &= form.observe_given(model, x, &[size], &mut room, &mut batch).is_ok();
        pass &= form.proposal(model, x, &mut room, &mut [0.0; 5]).is_ok();
    }
    pass &= batch.finish().loss.is_finite();
    let mut states = [0; 3];
    let Ok(mut replay) = Replay::new(model.layout(), &mut states) else { return false };
    replay.randomise(&mut rng);
    let slot = replay.pick(&mut rng);
    pass &= replay.set(slot, size, 1).is_ok();
    let schedule = CyclicalLearning { period: 4, large: (number, 0.9, 2), small: (number, 3), retune: 2 };
    let Ok((kernel, steps)) = schedule.at(size as u64) else { return false };
    pass &= schedule.is_due(size as u64);
    let Ok(mut contrast) = Contrast::new(model, 2, size as u32, gradient) else { return false };
    pass &= contrast.data(model, x, &mut room).is_ok();
    pass &= contrast.diverge(model, x, (&kernel, steps), &mut room, &mut rng).is_ok();
    pass &= contrast.persist(model, (&mut replay, size), (&kernel, steps), &mut room, &mut rng).is_ok();
    pass &= contrast.finish().loss.is_finite();
    let (Ok(sgd), Ok(mut adam)) = (Sgd::new(number), Adam::new(&mut moments, number)) else { return false };
    let penalty = lasso(number, &theta, gradient) + decay(number, &theta, gradient) + clip(number, gradient);
    sgd.step(gradient, &mut theta);
    adam.step(gradient, &mut theta);
    pass & penalty.is_finite() & (adam.skipped() == 0)
}
