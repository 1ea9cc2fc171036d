//! Programs of chains in lanes, in bits, in whole numbers, and of replicas that exchange.

use super::kernel::{Recipe, Room};
use super::memory;
use super::model::{Model, Rows, Shape, far_bias};
use super::run::Exact;
use super::verdict::{ALARM, p_value};
use crate::fuzz::kernels::AnyKernel;
use crate::heap::{self, Couplings, HeapMemory};
use crate::models::Source;
use crate::naive::{Convention, Pairwise, Target};
use crate::snapshot::{load, save, sealed};
use crate::stat::replicas::reference_rng;
use bitmc::batch::{Batch, BatchKernel, BatchSite, PottsBatch, PottsSite};
use bitmc::energy::Tempered;
use bitmc::lane::{Bits, LANES};
use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedIsing, QuantisedLangevin, TableGibbs};
use bitmc::sliced::{CHAINS, SlicedChains, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::snapshot::{FRAME, Snapshot, SnapshotError};
use bitmc::step::{IsingLangevin, SequentialGibbs};
use bitmc::temper::{Ladder, Replica, Rung, round};
use bitmc::{Energy, Gibbs, Ising, LaneRng, Langevin, Layout, Memory, Packed, Potts};
use std::f64::consts::LN_2;

/// What a program of this kind found: which samplers and models, and what is wrong, or the number of comparisons.
pub(super) struct Outcome {
    pub(super) sampler: &'static str,
    pub(super) model: &'static str,
    pub(super) result: Result<usize, String>,
}

/// A program of one of the kinds.
pub(super) fn play(seed: u64) -> Outcome {
    let source = &mut Source::new(seed ^ 0x1A4E5);
    let outcome = |sampler, model, result| Outcome { sampler, model, result };
    match source.below(14) {
        0 => outcome("quantised Gibbs", "whole numbers", quantised(seed, source, Whole::Gibbs)),
        1 => outcome("quantised Langevin", "whole numbers", quantised(seed, source, Whole::Langevin)),
        10 => outcome("Gibbs by a table", "whole numbers", quantised(seed, source, Whole::Table)),
        11..=13 => super::landscape::play(seed, source, false),
        2 => outcome("sliced Gibbs", "Ising", sliced(seed, source, false)),
        3 => outcome("sliced Langevin", "Ising", sliced(seed, source, true)),
        4 => outcome("batch", "Ising", batch(seed, source)),
        5 => outcome(
            "Potts batch",
            "Potts",
            match source.below(4) {
                0 => potts::<2>(seed, source),
                1 => potts::<3>(seed, source),
                2 => potts::<4>(seed, source),
                _ => potts::<5>(seed, source),
            },
        ),
        7 | 8 => {
            let (sampler, result) = super::open::play(seed, source);
            outcome(sampler, "told energies", result)
        }
        6 => outcome("exchange in a batch", "Ising", batch_exchange(seed, source)),
        _ => exchange(seed, source),
    }
}

/// Memory with room for a momentum.
fn moving<E: Energy + ?Sized>(energy: &E) -> HeapMemory {
    let layout = energy.layout();
    heap::moving_memory(energy, Memory::weights_and_momentum(layout) - Memory::weights(layout))
}

pub(super) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Compares counts with a distribution.
pub(super) fn fits(what: &str, counts: &[u64], distribution: &[f64]) -> Result<(), String> {
    let p = p_value(counts, distribution);
    if p >= ALARM {
        return Ok(());
    }
    let total = counts.iter().sum::<u64>() as f64;
    let state = (0..counts.len()).find(|&state| {
        let expected = distribution[state] * total;
        (counts[state] as f64 - expected).abs() > 5.0 * expected.sqrt()
    });
    let which = state.map(|state| {
        format!(": state {state} comes {} times, expected {:.2}", counts[state], distribution[state] * total)
    });
    Err(format!("{what} has p = {p:.1e}{}", which.unwrap_or_default()))
}

/// An altered snapshot: refused, and then nothing has changed; or taken.
fn forged(it: &mut impl Snapshot, source: &mut Source) -> Result<bool, String> {
    let before = save(&[it]);
    let mut bytes = before.clone();
    for _ in 0..1 + source.below(3) {
        let at = FRAME - 4 + source.below(bytes.len() - FRAME);
        let byte = source.word() as u8;
        bytes[at] = source.pick(&[0, 255, 128, byte, byte]);
    }
    // A shorter list, of which the rest is left behind: the part itself is loaded.
    if matches!(load(&sealed(bytes), &mut [it]), Ok(_) | Err(SnapshotError::Rest { .. })) {
        return Ok(true);
    }
    if save(&[it]) == before { Ok(false) } else { Err("a refused snapshot has changed the chains".into()) }
}

pub(super) fn number(shape: &Shape, x: Packed<'_>) -> Result<usize, String> {
    shape.number(x).ok_or_else(|| format!("an illegal state: {:x?}", x.words()))
}

/// Samplers of models of whole numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Gibbs,
    Langevin,
    Table,
}

fn by_table<'a>(
    model: QuantisedIsing<'a>,
    unit: u32,
    words: &'a mut [u32],
    fields: &'a mut [i32],
    table: &'a mut [u64],
) -> Result<TableGibbs<'a>, String> {
    TableGibbs::with_table(model, unit, words, fields, table).map_err(said)
}

fn quantised(seed: u64, source: &mut Source, sampler: Whole) -> Result<usize, String> {
    let mut rows = Rows::random(source);
    // The same numbers as log odds of ln 2 / 65,536.
    let shift = source.pick(&[0, 30 - 20, 30 - 17, 30 - 16]);
    if !rows.entries.iter().any(|entry| entry.coupling == i32::MIN) {
        rows.entries.iter_mut().for_each(|entry| entry.coupling >>= shift);
        rows.linear.iter_mut().for_each(|linear| *linear >>= shift);
    }
    // A table has an entry for every whole number that a field can be.
    let unit = if sampler == Whole::Table {
        let small = |number: i32| number % 16;
        rows.entries.iter_mut().for_each(|entry| entry.coupling = small(entry.coupling));
        rows.linear.iter_mut().for_each(|linear| *linear = small(*linear));
        source.pick(&[1 << 10, 20_000, 94_548, 1 << 19])
    } else {
        1
    };
    rows.exponent = 0;
    let layout = Layout::binary(rows.linear.len());
    let shape = Shape { layout, arities: vec![2; layout.sites()], given: None };
    let energies: Vec<f64> = (0..shape.states())
        .map(|state| rows.energy(&shape.values(state)) * f64::from(unit) * LN_2 / 65_536.0)
        .collect();
    let exact = Exact::of(&energies);
    let whole = |entries| QuantisedIsing::from_rows(&rows.ends, entries, &rows.linear);
    let spare = rows.spare();
    let model = whole(&rows.entries).or_else(|_| whole(&spare)).map_err(|e| format!("refused: {e}"))?;
    let penalty = Penalty::from_step_size(10f64.powf(3.0 * source.uniform() - 1.5) as f32).map_err(said)?;
    let (steps, kept) = (1 + source.below(20), source.below(4));
    let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
    let mut counts = vec![0; shape.states()];
    let len = if sampler == Whole::Table { TableGibbs::table_len(&model) } else { 0 };
    let mut tables = [vec![u64::MAX; len], vec![u64::MAX; len]];
    for _ in 0..source.pick(&[1000, 10_000]) {
        let [table, other_table] = tables.each_mut().map(Vec::as_mut_slice);
        let mut words = shape.words(exact.draw(&mut reference));
        let mut spare = shape.words(exact.draw(&mut reference));
        let mut room: Vec<i32> = (0..2 * layout.sites() + 2).map(|_| source.word() as i32).collect();
        let (fields, more) = room.split_at_mut(layout.sites());
        let mut flips = [source.word(), source.word()];
        let (flips, other) = flips.split_at_mut(1);
        macro_rules! run {
            ($make:expr, $step:ident) => {{
                let mut chain = $make(&mut words, fields, flips, table)?;
                for _ in 0..steps / 2 {
                    _ = chain.$step(&mut rng);
                }
                let mut taken = false;
                match kept {
                    0 => {
                        let bytes = save(&[&chain]);
                        _ = chain.$step(&mut rng);
                        load(&bytes, &mut [&mut chain]).map_err(said)?;
                    }
                    1 => {
                        let bytes = save(&[&chain]);
                        chain = $make(&mut spare, &mut more[..layout.sites()], other, other_table)?;
                        load(&bytes, &mut [&mut chain]).map_err(said)?;
                    }
                    2 => taken = forged(&mut chain, source)?,
                    _ => {}
                }
                for _ in steps / 2..steps {
                    _ = chain.$step(&mut rng);
                }
                let state = number(&shape, chain.state())?;
                if !taken {
                    counts[state] += 1;
                }
            }};
        }
        match sampler {
            Whole::Langevin => run!(
                |words, fields, flips, _| QuantisedLangevin::new(model, penalty, words, fields, flips)
                    .map_err(said),
                step
            ),
            Whole::Gibbs => {
                run!(|words, fields, _, _| QuantisedGibbs::new(model, words, fields).map_err(said), sweep);
            }
            Whole::Table => {
                run!(|words, fields, _, table| by_table(model, unit, words, fields, table), sweep);
            }
        }
    }
    fits("the end", &counts, &exact.distribution).map(|()| 1)
}

/// A small model whose couplings have one size and whose fields have one.
fn one_size(source: &mut Source) -> Pairwise {
    let sites = 1 + source.below(8);
    let (coupling, field) = (source.pick(&[0.0625, 0.25, 0.5, 1.0, 3.0]), source.pick(&[0.0, 0.25, 0.5, 2.0]));
    let mut target = crate::models::pairwise(Convention::SpinsEdgesOnce, sites, 0.4, 1.0, source.word().into());
    target.edges.iter_mut().for_each(|edge| edge.2 = f32::copysign(coupling, edge.2));
    target.fields.iter_mut().for_each(|w| *w = if *w > 1.0 { 0.0 } else { f32::copysign(field, *w) });
    target
}

fn binary(target: &dyn Target) -> (Shape, Vec<f64>) {
    let shape = Shape { layout: Layout::binary(target.sites()), arities: vec![2; target.sites()], given: None };
    let floats = |state| shape.values(state).into_iter().map(|x| x as f64).collect::<Vec<_>>();
    let energies = (0..shape.states()).map(|state| target.energy(&floats(state))).collect();
    (shape, energies)
}

fn sliced(seed: u64, source: &mut Source, langevin: bool) -> Result<usize, String> {
    let target = one_size(source);
    let (shape, energies) = binary(&target);
    let exact = Exact::of(&energies);
    let mut couplings = Couplings::new(target.fields.len(), target.edges.len());
    let model =
        SlicedIsing::new(couplings.ising(&target).map_err(said)?).map_err(|e| format!("refused: {e}"))?;
    let step_size = 10f64.powf(3.0 * source.uniform() - 1.5) as f32;
    let (steps, kept) = (1 + source.below(12), source.below(4));
    let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
    let mut counts = vec![0; shape.states()];
    let words = SlicedGibbs::words(&model).max(SlicedLangevin::words(&model));
    for _ in 0..source.pick(&[2, 10, 30]) {
        let mut blocks = memory::bits(model.sites(), source);
        let mut spare = memory::bits(model.sites(), source);
        let mut rooms = [(); 2].map(|()| {
            let table: Vec<u32> = (0..words).map(|_| source.word()).collect();
            (table, memory::bits(SlicedLangevin::blocks(&model), source))
        });
        let [first, second] = &mut rooms;
        let mut chains = SlicedChains::new(model, &mut blocks).map_err(said)?;
        for chain in 0..CHAINS {
            let words = shape.words(exact.draw(&mut reference));
            chains.set(chain, Packed::new(shape.layout, &words).map_err(said)?).map_err(said)?;
        }
        chains = slices(chains, first, langevin.then_some(step_size), &mut rng, steps / 2)?;
        let mut taken = false;
        match kept {
            0 => {
                let bytes = save(&[&chains]);
                chains = SlicedChains::random(model, &mut spare, &mut rng).map_err(said)?;
                load(&bytes, &mut [&mut chains]).map_err(said)?;
            }
            1 => taken = forged(&mut chains, source)?,
            _ => {}
        }
        chains = slices(chains, second, langevin.then_some(step_size), &mut rng, steps - steps / 2)?;
        for chain in (0..CHAINS).filter(|_| !taken) {
            let mut words = [source.word()];
            counts[number(&shape, chains.state(chain, &mut words).map_err(said)?)?] += 1;
        }
    }
    fits("the end", &counts, &exact.distribution).map(|()| 1)
}

/// Some steps or sweeps of 512 chains.
fn slices<'a>(
    chains: SlicedChains<'a>,
    (table, room): &'a mut (Vec<u32>, Vec<Bits>),
    step_size: Option<f32>,
    rng: &mut LaneRng,
    steps: usize,
) -> Result<SlicedChains<'a>, String> {
    Ok(if let Some(step_size) = step_size {
        let mut sampler = SlicedLangevin::adjusted(chains, step_size, table, room).map_err(said)?;
        (0..steps).for_each(|_| _ = sampler.step(rng));
        sampler.into_chains()
    } else {
        let mut sampler = SlicedGibbs::new(chains, table).map_err(said)?;
        (0..steps).for_each(|_| sampler.sweep(rng));
        sampler.into_chains()
    })
}

/// Two inverse temperatures for the chains of a batch, and the distributions at them.
pub(super) fn temperatures(energies: &[f64], source: &mut Source) -> ([f32; 2], [Exact; 2]) {
    let betas = [source.pick(&[1.0, 1.0, 0.5]), source.pick(&[0.0, 0.25, 1.5])];
    let at = |beta: f32| Exact::of(&energies.iter().map(|energy| f64::from(beta) * energy).collect::<Vec<_>>());
    (betas, betas.map(at))
}

pub(super) fn mask(layout: Layout, source: &mut Source) -> [u32; 1] {
    [source.word() & source.word() & Layout::binary(layout.sites()).last_word()]
}

/// Whether the sites of a mask kept the values of a state.
pub(super) fn kept(shape: &Shape, mask: u32, (before, after): (usize, usize)) -> Result<(), String> {
    let moved = |site: &usize| mask >> site & 1 != 0 && shape.value(before, *site) != shape.value(after, *site);
    match (0..shape.arities.len()).find(moved) {
        Some(site) => Err(format!("site {site} is held and moved")),
        None => Ok(()),
    }
}

/// What two kinds of batches have in common.
trait Abreast: Snapshot {
    fn set_betas(&mut self, betas: [f32; LANES]) -> Result<(), String>;
    fn restart(&mut self, chain: usize, start: Packed<'_>) -> Result<(), String>;
    fn clamp(&mut self, sites: Packed<'_>) -> Result<(), String>;
    fn release(&mut self);
    fn state<'w>(&self, chain: usize, words: &'w mut [u32]) -> Result<Packed<'w>, String>;
    fn energy(&self, chain: usize) -> f32;
}

macro_rules! abreast {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Abreast for $type {
            fn set_betas(&mut self, betas: [f32; LANES]) -> Result<(), String> {
                <$type>::set_betas(self, betas).map_err(said)
            }

            fn restart(&mut self, chain: usize, start: Packed<'_>) -> Result<(), String> {
                <$type>::restart(self, chain, start).map_err(said)
            }

            fn clamp(&mut self, sites: Packed<'_>) -> Result<(), String> {
                <$type>::clamp(self, sites).map_err(said)
            }

            fn release(&mut self) {
                <$type>::release(self);
            }

            fn state<'w>(&self, chain: usize, words: &'w mut [u32]) -> Result<Packed<'w>, String> {
                <$type>::state(self, chain, words).map_err(said)
            }

            fn energy(&self, chain: usize) -> f32 {
                <$type>::energy(self, chain)
            }
        }
    };
}

abreast!([] Batch<'_, Vec<BatchSite>>);
abreast!([const Q: usize] PottsBatch<'_, Vec<PottsSite<Q>>, Q>);

/// Programs of sixteen chains, again and again in the memory of the ones before.
fn abreast<B: Abreast, M>(
    (shape, energies, size): (&Shape, &[f64], f64),
    (seed, source): (u64, &mut Source),
    (memory, make, back): (M, impl Fn(M, &mut LaneRng) -> Result<B, String>, impl Fn(B) -> M),
    mut step: impl FnMut(&mut B, &mut LaneRng),
) -> Result<usize, String> {
    let (betas, exact) = temperatures(energies, source);
    let of = |chain: usize| chain / 3 % 2;
    let (steps, held, kind) = (1 + source.below(8), source.one_in(2), source.below(4));
    let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
    let (mut counts, mut fair) = ([vec![0; shape.states()], vec![0; shape.states()]], vec![0; shape.states()]);
    let mut memory = Some(memory);
    let spare = &mut vec![source.word(); shape.layout.words()];
    for _ in 0..source.pick(&[30, 100, 500]) {
        let mut batch = make(memory.take().expect("one memory"), &mut rng)?;
        for chain in 0..LANES {
            fair[number(shape, batch.state(chain, spare)?)?] += 1;
        }
        batch.set_betas(std::array::from_fn(|chain| betas[of(chain)]))?;
        let mut starts = [0; LANES];
        let mut restart = |batch: &mut B, starts: &mut [usize; LANES]| {
            for (chain, start) in starts.iter_mut().enumerate() {
                *start = exact[of(chain)].draw(&mut reference);
                let words = shape.words(*start);
                batch.restart(chain, Packed::new(shape.layout, &words).map_err(said)?)?;
            }
            Ok::<(), String>(())
        };
        restart(&mut batch, &mut starts)?;
        let mask = if held { mask(shape.layout, source) } else { [0] };
        if held {
            batch.clamp(Packed::new(Layout::binary(shape.layout.sites()), &mask).map_err(said)?)?;
        }
        (0..steps).for_each(|_| step(&mut batch, &mut rng));
        let mut taken = false;
        match kind {
            0 => {
                let bytes = save(&[&batch]);
                step(&mut batch, &mut rng);
                load(&bytes, &mut [&mut batch]).map_err(said)?;
                (0..steps).for_each(|_| step(&mut batch, &mut rng));
            }
            1 => {
                let bytes = save(&[&batch]);
                batch = make(back(batch), &mut rng)?;
                step(&mut batch, &mut rng);
                load(&bytes, &mut [&mut batch]).map_err(said)?;
                (0..steps).for_each(|_| step(&mut batch, &mut rng));
            }
            2 => {
                taken = forged(&mut batch, source)?;
                (0..steps).for_each(|_| step(&mut batch, &mut rng));
            }
            _ => {}
        }
        for chain in (0..LANES).filter(|_| !taken) {
            let state = number(shape, batch.state(chain, spare)?)?;
            kept(shape, mask[0], (starts[chain], state))?;
            counts[of(chain)][state] += 1;
            let (carried, truth) = (f64::from(batch.energy(chain)), energies[state]);
            let bound = crate::tolerance::ROUNDING * (size + 1.0) * 2000.0;
            let near = (carried - truth).abs() <= bound;
            if !near {
                return Err(format!("the energy is {carried}, {truth} is right"));
            }
        }
        if !taken && held && kind == 3 {
            batch.release();
            restart(&mut batch, &mut starts)?;
            step(&mut batch, &mut rng);
            for chain in 0..LANES {
                counts[of(chain)][number(shape, batch.state(chain, spare)?)?] += 1;
            }
        }
        memory = Some(back(batch));
    }
    let uniform = vec![1.0 / shape.states() as f64; shape.states()];
    fits("random starts", &fair, &uniform)?;
    for (counts, (exact, beta)) in counts.iter().zip(exact.iter().zip(betas)) {
        fits(&format!("the end at β = {beta}"), counts, &exact.distribution)?;
    }
    Ok(3)
}

/// One first-order sampler, or sixteen with parameters of their own.
pub(super) fn langevins(source: &mut Source) -> [Langevin<'static>; LANES] {
    let step_size = 10f64.powf(3.0 * source.uniform() - 1.5) as f32;
    let balance = source.pick(&[0.5, 0.5, 0.8]);
    let each = source.one_in(2);
    std::array::from_fn(|chain| {
        let factor = if each { 1.0 + chain as f32 / 8.0 } else { 1.0 };
        Langevin::balanced(factor * step_size, balance).expect("legal parameters")
    })
}

/// An Ising model of a batch or of replicas: couplings on the grid, or whole numbers.
pub(super) fn with_ising<T>(
    source: &mut Source,
    see: impl FnOnce(&Ising<'_>, Shape, Vec<f64>, f64, &mut Source) -> Result<T, String>,
) -> Result<T, String> {
    if source.one_in(3) {
        let rows = Rows::random(source);
        let layout = Layout::binary(rows.linear.len());
        let shape = Shape { layout, arities: vec![2; layout.sites()], given: None };
        let energies: Vec<f64> = (0..shape.states()).map(|state| rows.energy(&shape.values(state))).collect();
        let size = energies.iter().fold(1.0, |most: f64, e| most.max(e.abs()));
        let spare = rows.spare();
        let form = rows.form(&spare).map_err(|e| format!("refused: {e}"))?;
        return see(&Ising::quadratic(form), shape, energies, 4.0 * size, source);
    }
    let sites = 1 + source.below(8);
    let mut target = if source.one_in(3) {
        one_size(source)
    } else {
        let sd = source.pick(&[0.3, 1.0, 3.0]);
        crate::models::pairwise(source.pick(&Convention::ALL), sites, 0.5, sd, source.word().into())
    };
    if source.one_in(6) {
        far_bias(&mut target, source);
    }
    let (shape, energies) = binary(&target);
    let size = target.edges.iter().map(|edge| 16.0 * f64::from(edge.2.abs())).sum::<f64>()
        + target.fields.iter().map(|w| 2.0 * f64::from(w.abs())).sum::<f64>();
    let mut couplings = Couplings::new(target.fields.len(), target.edges.len());
    see(&couplings.ising(&target).map_err(said)?, shape, energies, size, source)
}

fn batch(seed: u64, source: &mut Source) -> Result<usize, String> {
    with_ising(source, |model, shape, energies, size, source| {
        let (kind, langevins) = (source.below(5), langevins(source));
        let own = IsingLangevin::adjusted(10f64.powf(3.0 * source.uniform() - 1.5) as f32).map_err(said)?;
        let memory = vec![BatchSite::new(); shape.layout.sites()];
        let make = |memory, rng: &mut LaneRng| Batch::random(model, memory, rng).map_err(said);
        abreast((&shape, &energies, size), (seed, source), (memory, make, Batch::into_memory), |batch, rng| {
            _ = match kind {
                0 => batch.step(&SequentialGibbs, rng),
                1 => batch.step(&own, rng),
                2 => batch.step(&[own; LANES], rng),
                3 => batch.step(&langevins[0], rng),
                _ => batch.step(&langevins, rng),
            };
        })
    })
}

fn potts<const Q: usize>(seed: u64, source: &mut Source) -> Result<usize, String> {
    let sites = 1 + source.below([7, 5, 4, 3][Q - 2]);
    let sd = source.pick(&[0.3, 1.0, 3.0]);
    let target = crate::models::pairwise(Convention::BitsEdgesOnce, sites, 0.6, sd, source.word().into());
    let fields: Vec<f32> =
        if source.one_in(3) { vec![] } else { (0..sites * Q).map(|_| source.coarse(1.0)).collect() };
    let shape = Shape { layout: Layout::categorical(sites, Q), arities: vec![Q; sites], given: None };
    let energy = |state: usize| {
        let x = shape.values(state);
        let agree = target.edges.iter().filter(|edge| x[edge.0 as usize] == x[edge.1 as usize]);
        let own = x.iter().enumerate().filter_map(|(site, &value)| fields.get(site * Q + value));
        -agree.map(|edge| f64::from(edge.2)).sum::<f64>() - own.map(|&w| f64::from(w)).sum::<f64>()
    };
    let energies: Vec<f64> = (0..shape.states()).map(energy).collect();
    let sizes = target.edges.iter().map(|edge| edge.2).chain(fields.iter().copied());
    let size: f64 = sizes.map(|w| f64::from(w.abs())).sum();
    let mut couplings = Couplings::new(sites, target.edges.len());
    let model =
        Potts::new(sites, Q, target.edges.iter().copied(), &fields, couplings.borrow()).map_err(said)?;
    let (kind, langevins) = (source.below(3), langevins(source));
    let memory = vec![PottsSite::<Q>::new(); sites];
    let make = |memory, rng: &mut LaneRng| PottsBatch::<_, Q>::random(&model, memory, rng).map_err(said);
    abreast((&shape, &energies, size), (seed, source), (memory, make, PottsBatch::into_memory), |batch, rng| {
        _ = match kind {
            0 => BatchKernel::step(&Gibbs::systematic(), batch.ring(), rng),
            1 => BatchKernel::step(&langevins[0], batch.ring(), rng),
            _ => BatchKernel::step(&langevins, batch.ring(), rng),
        };
    })
}

/// β of two to four rungs, ascending.
pub(super) fn ladder(source: &mut Source) -> Vec<f32> {
    let mut betas = vec![source.pick(&[0.0, 0.2, 0.5])];
    for _ in 0..1 + source.below(3) {
        betas.push(betas[betas.len() - 1] + source.pick(&[0.1, 0.25, 0.5]));
    }
    betas
}

fn batch_exchange(seed: u64, source: &mut Source) -> Result<usize, String> {
    with_ising(source, |model, shape, energies, _, source| {
        let betas = ladder(source);
        let at = |beta: &f32| {
            Exact::of(&energies.iter().map(|energy| f64::from(*beta) * energy).collect::<Vec<_>>())
        };
        let exact: Vec<Exact> = betas.iter().map(at).collect();
        let (kernels, rounds, steps) = (langevins(source), 1 + source.below(5), source.below(4) as u64);
        let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
        let mut swaps = LaneRng::stream(seed, 1);
        let mut counts = vec![vec![0; shape.states()]; betas.len()];
        let mut memory = Some(vec![BatchSite::new(); shape.layout.sites()]);
        let mut ladder = Ladder::new(vec![Rung::default(); betas.len()], &betas).map_err(said)?;
        let mut room = vec![source.word(); shape.layout.words()];
        for _ in 0..source.pick(&[100, 1000]) {
            let mut batch = Batch::random(model, memory.take().expect("one memory"), &mut rng).map_err(said)?;
            for (rung, exact) in ladder.rungs().iter().zip(&exact) {
                let words = shape.words(exact.draw(&mut reference));
                batch
                    .restart(rung.replica(), Packed::new(shape.layout, &words).map_err(said)?)
                    .map_err(said)?;
            }
            for _ in 0..rounds {
                bitmc::batch::round(&mut ladder, &mut batch, &kernels, steps, &mut rng, &mut swaps);
            }
            for (rung, counts) in ladder.rungs().iter().zip(&mut counts) {
                counts[number(&shape, batch.state(rung.replica(), &mut room).map_err(said)?)?] += 1;
            }
            memory = Some(batch.into_memory());
        }
        for (counts, (exact, beta)) in counts.iter().zip(exact.iter().zip(&betas)) {
            fits(&format!("the rung β = {beta}"), counts, &exact.distribution)?;
        }
        Ok(betas.len())
    })
}

fn exchange(seed: u64, source: &mut Source) -> Outcome {
    let mut model = Model::random(source);
    while model.path.is_some() {
        model = Model::random(source);
    }
    let recipe = Recipe::random(&model, source);
    let result = model.with(source, |built| {
        let mut room = Room::default();
        let energy = built.any();
        exchanges(&model, energy, &recipe.any(energy.layout(), &mut room)?, seed)
    });
    let result = result.map_err(|error| format!("refused: {error}")).and_then(|result| result);
    Outcome { sampler: "exchange", model: model.kind, result }
}

fn exchanges(model: &Model, energy: &dyn Energy, kernel: &AnyKernel<'_>, seed: u64) -> Result<usize, String> {
    let source = &mut Source::new(seed ^ 0xE4);
    let betas = ladder(source);
    let shape = &model.shape;
    let at = |beta: &f32| {
        let energies = model.energies.iter();
        // A forbidden state is forbidden at β = 0 too.
        let energies =
            energies.map(|energy| if energy.is_finite() { f64::from(*beta) * energy } else { *energy });
        Exact::of(&energies.collect::<Vec<_>>())
    };
    let exact: Vec<Exact> = betas.iter().map(at).collect();
    let (rounds, steps) = (1 + source.below(5), 1 + source.below(4) as u64);
    let kernels = vec![*kernel; betas.len()];
    let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
    let mut counts = vec![vec![0; shape.states()]; betas.len()];
    let mut ladder = Ladder::new(vec![Rung::default(); betas.len()], &betas).map_err(said)?;
    let path = Tempered::new(energy, 1.0).map_err(said)?;
    let kind = source.below(4);
    for _ in 0..source.pick(&[100, 1000, 3000]) {
        let mut replicas = Vec::new();
        for replica in 0..betas.len() {
            let rung = ladder.rung_of(replica).ok_or("a rung for every replica")?;
            let path = path.at(betas[rung]).map_err(said)?;
            let mut memory = moving(&path);
            memory::wear(&mut memory, source);
            let words = shape.words(exact[rung].draw(&mut reference));
            let start = Packed::new(shape.layout, &words).map_err(said)?;
            replicas.push(
                Replica::new(path, memory, start).map_err(|error| format!("a start is refused: {error}"))?,
            );
        }
        for number in 0..rounds {
            round(&mut ladder, &mut replicas, &kernels, steps, &mut rng);
            if number == 0 && kind == 0 {
                let replica = replicas.swap_remove(0);
                let (words, kept) = (replica.state().words().to_vec(), replica.kept());
                let mut memory = moving(&path);
                memory::wear(&mut memory, source);
                let state = Packed::new(shape.layout, &words).map_err(said)?;
                let last = replicas.len();
                replicas.push(Replica::resume(path, memory, state, kept).map_err(said)?);
                replicas.swap(0, last);
            }
            if number == 0 && kind == 1 {
                let bytes = save(&[&replicas[0], &ladder]);
                replicas[0].step(kernel, &mut rng);
                load(&bytes, &mut [&mut replicas[0], &mut ladder]).map_err(said)?;
            }
            if number == 0 && kind == 2 {
                let before = save(&[&replicas[0]]);
                if forged(&mut replicas[0], source)? {
                    load(&before, &mut [&mut replicas[0]]).map_err(said)?;
                }
            }
        }
        for (rung, counts) in ladder.rungs().iter().zip(&mut counts) {
            let replica = &replicas[rung.replica()];
            if replica.faults() > 0 && !model.wild {
                return Err(format!("{} faults", replica.faults()));
            }
            counts[number(shape, replica.state())?] += 1;
        }
    }
    for (counts, (exact, beta)) in counts.iter().zip(exact.iter().zip(&betas)) {
        fits(&format!("the rung β = {beta}"), counts, &exact.distribution)?;
    }
    Ok(betas.len())
}
