//! Running a chain and hashing what it does.

use crate::hash::Hash;
use crate::models::{self, Circle, DATA, Heights, IndependentSet, IsingMemory, LOGITS, Ladder};
use crate::steps;
use crate::used::{self, borrowed, memory, used};
use bitmc::energy::{Entry, Estimate};
use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedIsing, QuantisedLangevin, TableGibbs, TemperedGibbs};
use bitmc::snapshot::{Reader, SnapshotError, Writer};
use bitmc::step::{ChromaticGibbs, Colouring, ParameterError, SequentialGibbs};
use bitmc::{
    Bernoulli, BinaryNetwork, Chain, Energy, Factors, Ising, Kernel, LaneRng, Langevin, Layout, Memory, Packed,
    Plain, Polynomial, Potts, Rbm, SeedableRng, State, torus,
};
use core::cell::Cell;

/// Steps of a chain on a sparse or independent model.
pub(crate) const STEPS: u32 = steps(4000);
/// Steps of a chain on the RBM.
pub(crate) const DENSE_STEPS: u32 = steps(2000);

/// Steps of a chain on sites of many values.
pub(crate) const MANY_STEPS: u32 = steps(300);

/// The hash of a chain that could not be built: no committed hash is 0.
pub(crate) const BROKEN: u32 = 0;

/// A kernel, or why there is none.
pub(crate) type Sampler<K> = Result<K, ParameterError>;

pub(crate) fn ising<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    with_ising(|model| {
        let memory = memory!(models::ISING, Ising::cache_len(25));
        from_noise(model, memory, kernel, STEPS)
    })
}

/// A quarter of the sites held; half-way the chain is taken apart and goes on in other memory.
pub(crate) fn held_and_resumed() -> u32 {
    with_ising(|model| {
        let mut hash = Hash::new();
        let mut rng = LaneRng::stream(7, 1);
        let memory = memory!(models::ISING, Ising::cache_len(25));
        let held = [0x0042_1085];
        let (Ok(kernel), Ok(mut first), Ok(held)) = (
            Langevin::adjusted(0.5),
            Chain::random(model, memory, &mut rng),
            Packed::new(models::ISING, &held),
        ) else {
            return BROKEN;
        };
        if first.clamp(held).is_err() {
            return BROKEN;
        }
        walk(&mut hash, &mut first, &kernel, &mut rng, STEPS / 2, None);
        let (words, blocks, used) = rng.state();
        let (Ok(mut second), Some(mut rng)) = (
            Chain::resume(model, memory, first.state(), first.core()),
            LaneRng::from_state(words, blocks, used),
        ) else {
            return BROKEN;
        };
        if second.clamp(held).is_err() {
            return BROKEN;
        }
        walk(&mut hash, &mut second, &kernel, &mut rng, STEPS / 2, None);
        hash.value()
    })
}

/// Sweeps of single sites from an Ising model's own fields.
pub(crate) fn sequential() -> u32 {
    with_ising_itself(|model| {
        let memory = memory!(models::ISING, Ising::cache_len(25));
        from_noise(model, memory, &Ok(SequentialGibbs), STEPS)
    })
}

/// Clusters of an Ising model in a field.
pub(crate) fn clusters<K: for<'e> Kernel<Ising<'e>>>(kernel: &Sampler<K>) -> u32 {
    with_ising_itself(|model| {
        let memory = memory!(models::ISING, Ising::cache_len(25));
        from_noise(model, memory, kernel, STEPS)
    })
}

/// Clusters of a Potts model in a field, with couplings of both signs.
pub(crate) fn potts_clusters<K: for<'e> Kernel<Potts<'e>>>(kernel: &Sampler<K>) -> u32 {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, 0.8).map(|(a, b, j)| (a, b, if a % 3 == 0 { -j } else { j }));
    let Ok(model) = Potts::new(25, 4, edges, &models::POTTS_FIELDS, borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    from_noise(&model, memory, kernel, DENSE_STEPS)
}

/// Sweeps over the classes of a greedy colouring: an odd torus needs more than two.
pub(crate) fn chromatic() -> u32 {
    with_ising_itself(|model| {
        let mut classes = used::<_, { Colouring::words(25, 4) }>();
        let Ok(colouring) = Colouring::greedy(model.form(), &mut classes) else { return BROKEN };
        let memory = memory!(models::ISING, Ising::cache_len(25));
        from_noise(model, memory, &Ok(ChromaticGibbs::new(colouring)), STEPS)
    })
}

/// The 5×5 torus in whole numbers.
fn whole<'a>(floats: &mut IsingMemory, whole: &'a mut IsingMemory) -> Option<QuantisedIsing<'a>> {
    let edges = torus(5, 5, models::ISING_COUPLING);
    let model = Ising::spins_edges_twice(25, edges, &models::ISING_FIELDS, borrowed(floats)).ok()?;
    QuantisedIsing::round(model.form(), borrowed(whole)).ok()
}

/// Sweeps without floats over the model in whole numbers.
pub(crate) fn quantised() -> u32 {
    let (mut floats, mut memory) = (IsingMemory::new(), IsingMemory::new());
    let Some(model) = whole(&mut floats, &mut memory) else { return BROKEN };
    let (mut words, mut fields) = ([0], used::<_, 25>());
    let Ok(mut chain) = QuantisedGibbs::new(model, &mut words, &mut fields) else { return BROKEN };
    let (mut hash, mut rng) = (Hash::new(), LaneRng::seed_from_u64(1));
    for _ in 0..STEPS {
        hash.word(chain.sweep(&mut rng));
        hash.words(chain.state().words());
    }
    hash.value()
}

/// Sweeps by a table over a ring of small numbers, at two temperatures.
pub(crate) fn table() -> u32 {
    const SITES: u32 = 40;
    let mut entries = [Entry { site: 0, coupling: 2 }; 2 * SITES as usize];
    let (mut ends, mut linear) = ([0; SITES as usize], [-2; SITES as usize]);
    for ((site, row), (end, b)) in
        (0..).zip(entries.chunks_exact_mut(2)).zip(ends.iter_mut().zip(linear.iter_mut()))
    {
        let (before, after) = ((site + SITES - 1) % SITES, (site + 1) % SITES);
        let sorted = [before.min(after), before.max(after)];
        row.iter_mut().zip(sorted).for_each(|(entry, site)| entry.site = site);
        *end = 2 * (site + 1);
        *b += (site % 3) as i32 - 1;
    }
    let Ok(model) = QuantisedIsing::from_rows(&ends, &entries, &linear) else { return BROKEN };
    let (mut words, mut fields, mut entries) = ([0; 2], used::<_, { SITES as usize }>(), used::<_, 7>());
    let Ok(mut chain) = TableGibbs::with_table(model, 50_000, &mut words, &mut fields, &mut entries) else {
        return BROKEN;
    };
    let (mut hash, mut rng) = (Hash::new(), LaneRng::seed_from_u64(1));
    for step in 0..STEPS {
        if step == STEPS / 2 {
            chain.set_unit(80_000);
        }
        hash.word(chain.sweep(&mut rng));
        hash.words(chain.state().words());
    }
    hash.value()
}

/// Sweeps at two temperatures without floats, which change places.
pub(crate) fn quantised_exchange() -> u32 {
    let (mut floats, mut memory) = (IsingMemory::new(), IsingMemory::new());
    let Some(model) = whole(&mut floats, &mut memory) else { return BROKEN };
    let (mut cold, mut hot, mut fields, mut others) = ([0], [0], used::<_, 25>(), used::<_, 25>());
    let Ok(mut cold) = TemperedGibbs::at_unit(model, 3, &mut cold, &mut fields) else { return BROKEN };
    let Ok(mut hot) = TemperedGibbs::at_unit(model, 2, &mut hot, &mut others) else { return BROKEN };
    let (mut hash, mut rng) = (Hash::new(), LaneRng::seed_from_u64(1));
    for _ in 0..STEPS {
        hash.word(cold.sweep(&mut rng));
        hash.word(hot.sweep(&mut rng));
        let Ok(swapped) = cold.exchange(&mut hot, &mut rng) else { return BROKEN };
        hash.word(u32::from(swapped));
        hash.words(cold.state().words());
    }
    hash.value()
}

/// Steps of DMALA without floats over the 5×5 torus.
pub(crate) fn quantised_langevin() -> u32 {
    let (mut floats, mut memory) = (IsingMemory::new(), IsingMemory::new());
    let Some(model) = whole(&mut floats, &mut memory) else { return BROKEN };
    let Ok(penalty) = Penalty::from_units(80_000) else { return BROKEN };
    let (mut words, mut fields, mut flips) = ([0], used::<_, 25>(), used::<_, 1>());
    let Ok(mut chain) = QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips) else {
        return BROKEN;
    };
    let (mut hash, mut rng) = (Hash::new(), LaneRng::seed_from_u64(1));
    for _ in 0..STEPS {
        let step = chain.step(&mut rng);
        hash.word(step.proposed << 1 | u32::from(step.accepted));
        hash.words(chain.state().words());
    }
    hash.value()
}

/// The same over four values a site.
pub(crate) fn chromatic_potts() -> u32 {
    let (mut couplings, mut classes) = (IsingMemory::new(), used::<_, { Colouring::words(25, 4) }>());
    let Ok(model) = Potts::new(25, 4, torus(5, 5, 0.8), &models::POTTS_FIELDS, borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let Ok(colouring) = Colouring::greedy(model.form(), &mut classes) else { return BROKEN };
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    from_noise(&model, memory, &Ok(ChromaticGibbs::new(colouring)), DENSE_STEPS)
}

fn with_ising(run: impl FnOnce(&dyn Energy) -> u32) -> u32 {
    with_ising_itself(|model| run(model))
}

pub(crate) fn with_ising_itself(run: impl FnOnce(&Ising<'_>) -> u32) -> u32 {
    models::with_ising(models::ISING_COUPLING, |model| Some(run(model))).unwrap_or(BROKEN)
}

pub(crate) fn rbm<K: for<'e> Kernel<Rbm<'e>>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(models::RBM, Rbm::cache_len(models::RBM_HIDDEN));
    models::digits().map_or(BROKEN, |model| from_noise(&model, memory, kernel, DENSE_STEPS))
}

pub(crate) fn bernoulli<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(Layout::binary(40), 0);
    Bernoulli::new(&LOGITS).map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}

/// Starts at the empty set: from noise a hard constraint would be broken.
pub(crate) fn independent_set<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(Layout::binary(40), 1);
    from_zeros::<2, _, _, _, _>(&Plain(IndependentSet), memory, kernel, STEPS)
}

/// Tables over one to three sites of two to four values, some combinations forbidden.
pub(crate) fn factors<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut members = models::GraphMemory::new();
    let (factors, tables) = (&models::GRAPH_FACTORS, &models::GRAPH_TABLES);
    let memory = memory!(models::GRAPH, Factors::cache_len(16, 4, true));
    match Factors::new(&models::GRAPH_ARITIES, factors, tables, members.borrow()) {
        Ok(model) => from_zeros::<1, _, _, _, _>(&model, memory, kernel, DENSE_STEPS),
        Err(_) => BROKEN,
    }
}

/// Cubic terms over bits.
pub(crate) fn cubic_bits<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut memory = models::CubicMemory::new();
    let model = Polynomial::bits(24, models::CUBIC_TERMS.iter().copied(), used::terms(&mut memory));
    let memory = memory!(models::CUBIC, Polynomial::bits_cache_len(24, 40));
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, DENSE_STEPS))
}

/// The same over spins.
pub(crate) fn cubic_spins<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut memory = models::CubicMemory::new();
    let model = Polynomial::spins(24, models::CUBIC_TERMS.iter().copied(), used::terms(&mut memory));
    let memory = memory!(models::CUBIC, Polynomial::spins_cache_len(24, 40));
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, DENSE_STEPS))
}

/// A regression network, on all rows.
pub(crate) fn network<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(models::NETWORK, BinaryNetwork::cache_len(3, models::NETWORK_UNITS));
    with_network(|model| from_noise(model as &dyn Energy, memory, kernel, DENSE_STEPS))
}

/// The same, on one row a step, in turn.
pub(crate) fn network_minibatches<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let turn = Cell::new(0usize);
    with_network(|network| {
        let model = Estimate::new(models::NETWORK, |x: Packed<'_>, blocks, out| {
            let row = turn.replace(if turn.get() == 2 { 0 } else { turn.get() + 1 });
            network.estimate(x, row..row + 1, blocks, out);
        });
        stopped(&model as &dyn Energy, memory!(models::NETWORK, 0), kernel, DENSE_STEPS, None)
    })
}

fn with_network(run: impl FnOnce(&BinaryNetwork<'_>) -> u32) -> u32 {
    let (inputs, targets) = (&models::NETWORK_INPUTS, &models::NETWORK_TARGETS);
    let units = models::NETWORK_UNITS;
    BinaryNetwork::new(inputs, targets, units, 0.25, 8.0).map_or(BROKEN, |model| run(&model))
}

fn from_zeros<const WORDS: usize, K: for<'e> Kernel<dyn Energy + 'e>, W, C, B>(
    model: &dyn Energy,
    memory: Memory<W, C, B>,
    kernel: &Sampler<K>,
    steps: u32,
) -> u32
where
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[bitmc::lane::Bits]>,
    B: AsMut<[bitmc::lane::Block]> + AsRef<[bitmc::lane::Block]>,
{
    let Ok(zeros) = State::<WORDS>::zeros(model.layout()) else { return BROKEN };
    match (kernel, Chain::new(model, memory, zeros.view())) {
        (Ok(kernel), Ok(mut chain)) => {
            let mut hash = Hash::new();
            walk(&mut hash, &mut chain, kernel, &mut LaneRng::seed_from_u64(2), steps, Some(steps / 2));
            hash.value()
        }
        _ => BROKEN,
    }
}

/// Four values a site on a 5×5 torus, with a field.
pub(crate) fn potts<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut couplings = IsingMemory::new();
    let model = Potts::new(25, 4, torus(5, 5, 0.8), &models::POTTS_FIELDS, borrowed(&mut couplings));
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, DENSE_STEPS))
}

/// Whole numbers 0 to 4 on a chain of 20 sites.
pub(crate) fn ladder<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(models::LADDER, 1);
    from_noise(&Plain(Ladder) as &dyn Energy, memory, kernel, DENSE_STEPS)
}

/// Categorical sites of 70 values, which run along the lanes.
pub(crate) fn circle<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    from_noise(&Plain(Circle) as &dyn Energy, memory!(models::CIRCLE, 1), kernel, MANY_STEPS)
}

/// Whole numbers of which a step looks at a few dozen, from near 150.
pub(crate) fn heights<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(models::HEIGHTS, 1);
    let start = [160 | (140 << 16), 150];
    let model = Plain(Heights);
    let Ok(start) = Packed::new(models::HEIGHTS, &start) else { return BROKEN };
    match (kernel, Chain::new(&model as &dyn Energy, memory, start)) {
        (Ok(kernel), Ok(mut chain)) => {
            let mut hash = Hash::new();
            walk(&mut hash, &mut chain, kernel, &mut LaneRng::seed_from_u64(3), MANY_STEPS, Some(9));
            hash.value()
        }
        _ => BROKEN,
    }
}

/// Stochastic gradients: one row of the data a step, in turn.
pub(crate) fn minibatches<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let turn = Cell::new(0usize);
    let model = Estimate::new(Layout::binary(20), |x: Packed<'_>, blocks, out| {
        let row = DATA.get(turn.get() & 7).unwrap_or(&DATA[0]);
        turn.set(turn.get() + 1);
        let product: f32 = row.iter().zip(x.values()).filter(|&(_, x)| x != 0).map(|(d, _)| d).sum();
        // All rows add up: one stands for eight.
        for (site, slot) in bitmc::lane::each(blocks.start, out) {
            *slot = row.get(site).map_or(0.0, |d| 8.0 * (product - 1.0) * d);
        }
    });
    let memory = memory!(Layout::binary(20), 0);
    stopped(&model as &dyn Energy, memory, kernel, STEPS, None)
}

/// A chain from independent uniform values, stopped half-way.
pub(crate) fn from_noise<E, K, W, C, B>(
    model: &E,
    memory: Memory<W, C, B>,
    kernel: &Sampler<K>,
    steps: u32,
) -> u32
where
    E: Energy + ?Sized,
    K: Kernel<E>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[bitmc::lane::Bits]>,
    B: AsMut<[bitmc::lane::Block]> + AsRef<[bitmc::lane::Block]>,
{
    stopped(model, memory, kernel, steps, Some(steps / 2))
}

/// A chain from independent uniform values; one whose gradients are no function of the state cannot be stopped.
fn stopped<E, K, W, C, B>(
    model: &E,
    memory: Memory<W, C, B>,
    kernel: &Sampler<K>,
    steps: u32,
    stop: Option<u32>,
) -> u32
where
    E: Energy + ?Sized,
    K: Kernel<E>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[bitmc::lane::Bits]>,
    B: AsMut<[bitmc::lane::Block]> + AsRef<[bitmc::lane::Block]>,
{
    let mut rng = LaneRng::seed_from_u64(1);
    match (kernel, Chain::random(model, memory, &mut rng)) {
        (Ok(kernel), Ok(mut chain)) => {
            let mut hash = Hash::new();
            walk(&mut hash, &mut chain, kernel, &mut rng, steps, stop);
            hash.value()
        }
        _ => BROKEN,
    }
}

/// A chain and its generator go to bytes and come back, caches and weights from nothing.
#[inline(never)]
fn stop_and_go_on<E, W, C, B>(chain: &mut Chain<'_, E, W, C, B>, rng: &mut LaneRng) -> Result<(), SnapshotError>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[bitmc::lane::Bits]>,
    B: AsMut<[bitmc::lane::Block]> + AsRef<[bitmc::lane::Block]>,
{
    let mut bytes = [0; 704];
    Writer::new(&mut bytes).put(chain).put(rng).finish()?;
    *rng = LaneRng::seed_from_u64(0);
    let mut reader = Reader::new(&bytes)?;
    reader.get(chain)?.get(rng)?;
    reader.finish()
}

/// Every step: the state, the energy and all that the step reports. At the end: the local differences,
/// and the energy computed from nothing. Before step `stop` the chain is stopped and goes on.
fn walk<E, K, W, C, B>(
    hash: &mut Hash,
    chain: &mut Chain<'_, E, W, C, B>,
    kernel: &K,
    rng: &mut LaneRng,
    steps: u32,
    stop: Option<u32>,
) where
    E: Energy + ?Sized,
    K: Kernel<E>,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[bitmc::lane::Bits]>,
    B: AsMut<[bitmc::lane::Block]> + AsRef<[bitmc::lane::Block]>,
{
    for step in 0..steps {
        if stop == Some(step) && stop_and_go_on(chain, rng).is_err() {
            hash.word(0);
        }
        let info = chain.step(kernel, rng);
        hash.words(chain.state().words());
        hash.float(chain.energy());
        hash.info(&info);
    }
    end(hash, chain.model(), chain.state());
}

/// The local differences at the end of a chain, and the energy computed from nothing.
pub(crate) fn end<E: Energy + ?Sized>(hash: &mut Hash, model: &E, state: Packed<'_>) {
    let mut words = [0; 3];
    for (slot, &word) in words.iter_mut().zip(state.words()) {
        *slot = word;
    }
    let layout = model.layout();
    let Some(words) = words.get_mut(..layout.words()) else { return };
    let mut cache = [[0; 16]; 8];
    let Some(cache) = cache.get_mut(..model.cache_len()) else { return };
    if let Ok(state) = Packed::new(layout, words)
        && let Ok(total) = model.init(state, cache)
    {
        hash.float(total);
    }
    for site in 0..layout.sites() {
        let mut differences = [0.0; 32];
        let Some(differences) = differences.get_mut(..layout.arity()) else { return };
        model.differences(words, cache, site, differences);
        hash.floats(differences);
    }
}
