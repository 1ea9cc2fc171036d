//! Programs of isoenergetic moves, population annealing, and replica exchange by block Gibbs.

use super::many::{Outcome, fits, kept, ladder, langevins, mask, number, said, temperatures, with_ising};
use super::model::Shape;
use super::run::Exact;
use crate::heap::{self, Weights};
use crate::models::{self, Source};
use crate::naive::{Machine, softplus};
use crate::snapshot::{load, save};
use crate::stat::replicas::reference_rng;
use bitmc::batch::{Batch, BatchSite};
use bitmc::energy::Tempered;
use bitmc::lane::LANES;
use bitmc::temper::{Isoenergetic, Ladder, Replica, Rung, block_gibbs_round, resample};
use bitmc::{Chain, Gibbs, LaneRng, Layout, Packed, Rbm};

/// A program of one of the kinds. `wrong`: its moves lack what keeps the distribution, and it must say so.
pub(super) fn play(seed: u64, source: &mut Source, wrong: bool) -> Outcome {
    let outcome = |sampler, model, result| Outcome { sampler, model, result };
    match source.below(if wrong { 3 } else { 4 }) {
        0 => outcome("isoenergetic moves", "Ising", isoenergetic(seed, source, wrong)),
        1 => outcome("population annealing", "Ising", population(seed, source, wrong)),
        2 => outcome("block Gibbs exchange", "RBM", block_gibbs(seed, source, wrong)),
        _ => outcome("isoenergetic moves in batches", "Ising", batch_isoenergetic(seed, source)),
    }
}

fn at(energies: &[f64], beta: f32) -> Exact {
    Exact::of(&energies.iter().map(|energy| f64::from(beta) * energy).collect::<Vec<_>>())
}

/// Pairs of replicas that start at exact draws. Wrong: a site that differs changes places without its cluster.
fn isoenergetic(seed: u64, source: &mut Source, wrong: bool) -> Result<usize, String> {
    with_ising(source, |model, shape, energies, _, source| {
        let beta = source.pick(&[0.25, 0.5, 1.0, 2.0]);
        let exact = at(&energies, beta);
        let path = Tempered::new(model, beta).map_err(said)?;
        let clusters = Isoenergetic::new(model);
        let mut memory = vec![source.word(); Isoenergetic::memory_len(shape.layout.sites())];
        let (moves, held, sweeps) = (1 + source.below(4), source.one_in(3), source.one_in(2));
        let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
        let mut counts = vec![0; shape.states()];
        let mut pairs = vec![0; counts.len() * counts.len()];
        for _ in 0..source.pick(&[300, 1000, 3000]) {
            let starts = [0; 2].map(|_| exact.draw(&mut reference));
            let replica = |start: usize| {
                let words = shape.words(start);
                let start = Packed::new(shape.layout, &words).map_err(said)?;
                Replica::new(path, heap::memory(&path), start).map_err(said)
            };
            let (mut one, mut other) = (replica(starts[0])?, replica(starts[1])?);
            let mask = if held { mask(shape.layout, source) } else { [0] };
            one.clamp(Packed::new(shape.layout, &mask).map_err(said)?).map_err(said)?;
            for _ in 0..moves {
                let before = [number(&shape, one.state())?, number(&shape, other.state())?];
                if wrong {
                    let differ = (before[0] ^ before[1]) & !mask[0] as usize;
                    let sites: Vec<usize> =
                        (0..shape.arities.len()).filter(|site| differ >> site & 1 != 0).collect();
                    let swapped = if sites.is_empty() { 0 } else { 1 << source.pick(&sites) };
                    for (replica, state) in [(&mut one, before[0]), (&mut other, before[1])] {
                        let words = shape.words(state ^ swapped);
                        replica.restart(Packed::new(shape.layout, &words).map_err(said)?).map_err(said)?;
                    }
                } else {
                    clusters.step(&mut one, &mut other, &mut memory, &mut rng).map_err(said)?;
                    let after = [number(&shape, one.state())?, number(&shape, other.state())?];
                    let sum = |states: [usize; 2]| energies[states[0]] + energies[states[1]];
                    let (a, b) = (sum(before), sum(after));
                    if (a - b).abs() > 1e-9 * (1.0 + a.abs()) {
                        return Err(format!("the sum of energies was {a} and is {b}"));
                    }
                }
                if sweeps {
                    one.step(&Gibbs::systematic(), &mut rng);
                    other.step(&Gibbs::systematic(), &mut rng);
                }
            }
            let ends = [number(&shape, one.state())?, number(&shape, other.state())?];
            kept(&shape, mask[0], (starts[0], ends[0]))?;
            ends.iter().for_each(|&end| counts[end] += 1);
            pairs[ends[0] * shape.states() + ends[1]] += 1;
        }
        fits("a replica", &counts, &exact.distribution)?;
        let both: Vec<f64> =
            exact.distribution.iter().flat_map(|p| exact.distribution.iter().map(move |q| p * q)).collect();
        fits("the pair", &pairs, &both).map(|()| 2)
    })
}

/// Chains of two batches. Those at one β change clusters, between steps of all.
fn batch_isoenergetic(seed: u64, source: &mut Source) -> Result<usize, String> {
    with_ising(source, |model, shape, energies, _, source| {
        let (betas, exact) = temperatures(&energies, source);
        let of = |chain: usize| chain / 3 % 2;
        let kernels = langevins(source);
        let clusters = Isoenergetic::new(model);
        let mut memory = vec![source.word(); Isoenergetic::memory_len(shape.layout.sites())];
        let (steps, held) = (1 + source.below(3), source.one_in(3));
        let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
        let mut counts = [vec![0; shape.states()], vec![0; shape.states()]];
        let mut batches: Vec<Batch<'_, _>> = Vec::new();
        for _ in 0..2 {
            let sites = vec![BatchSite::new(); shape.layout.sites()];
            let mut batch = Batch::random(model, sites, &mut rng).map_err(said)?;
            batch.set_betas(std::array::from_fn(|chain| betas[of(chain)])).map_err(said)?;
            batches.push(batch);
        }
        let mut room = vec![source.word(); shape.layout.words()];
        for _ in 0..source.pick(&[10, 30, 100]) {
            let mask = if held { mask(shape.layout, source) } else { [0] };
            let mut starts = Vec::new();
            for batch in &mut batches {
                batch.release();
                for chain in 0..LANES {
                    let start = exact[of(chain)].draw(&mut reference);
                    let words = shape.words(start);
                    batch.restart(chain, Packed::new(shape.layout, &words).map_err(said)?).map_err(said)?;
                    starts.push(start);
                }
                batch.clamp(Packed::new(shape.layout, &mask).map_err(said)?).map_err(said)?;
            }
            let (one, other) = batches.split_at_mut(1);
            let (one, other) = (&mut one[0], &mut other[0]);
            for _ in 0..steps {
                for chain in 0..LANES {
                    let alike: Vec<usize> = (0..LANES).filter(|&other| of(other) == of(chain)).collect();
                    let partner = (&mut *other, source.pick(&alike));
                    one.exchange_cluster(chain, partner, &clusters, &mut memory, &mut rng).map_err(said)?;
                }
                one.step(&kernels, &mut rng);
                other.step(&kernels, &mut rng);
            }
            for (batch, starts) in [&*one, other].into_iter().zip(starts.chunks(LANES)) {
                for (chain, start) in starts.iter().enumerate() {
                    let end = number(&shape, batch.state(chain, &mut room).map_err(said)?)?;
                    kept(&shape, mask[0], (*start, end))?;
                    counts[of(chain)][end] += 1;
                }
            }
        }
        for (counts, (exact, beta)) in counts.iter().zip(exact.iter().zip(betas)) {
            fits(&format!("the end at β = {beta}"), counts, &exact.distribution)?;
        }
        Ok(2)
    })
}

/// Populations that start at exact draws and are resampled for another β. Over populations, the mean of the weight times the share of a
/// state is `Z′/Z p′(x)` exactly, whatever their size. So a replica of each, kept with a probability in proportion to the
/// population's weight, is an exact draw. Wrong: kept whatever its weight.
fn population(seed: u64, source: &mut Source, wrong: bool) -> Result<usize, String> {
    with_ising(source, |model, shape, energies, _, source| {
        let beta = source.pick(&[0.0, 0.25, 0.5]);
        let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
        let spread = energies.iter().map(|energy| energy - least).fold(0.0, f64::max);
        // A step at which one population in e⁴ is kept at the least.
        let next = beta + (source.pick(&[1.0, 2.0, 4.0]) / spread.max(1.0)) as f32;
        if next <= beta {
            return Ok(0); // energies so far apart leave no such step
        }
        let (before, after) = (at(&energies, beta), at(&energies, next));
        let step = f64::from(next - beta);
        let sweeps = source.below(3) as u64;
        let path = Tempered::new(model, beta).map_err(said)?;
        let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
        let mut counts = vec![0; shape.states()];
        let size = 2 + source.below(3);
        let mut families: Vec<u32> = (0..size as u32).collect();
        for _ in 0..source.pick(&[3000, 10_000]) {
            let mut replicas = Vec::new();
            for _ in 0..size {
                let words = shape.words(before.draw(&mut reference));
                let start = Packed::new(shape.layout, &words).map_err(said)?;
                replicas.push(Replica::new(path, heap::memory(&path), start).map_err(said)?);
            }
            let gaps: Vec<f32> = replicas.iter().map(Replica::gap).collect();
            let done = resample(&mut replicas, &gaps, &mut families, next, &mut rng).map_err(said)?;
            // Gaps are E less a constant, which the base has.
            let constant = energies[number(&shape, replicas[0].state())?] - f64::from(replicas[0].gap());
            let weight = (f64::from(done.log_mean) + step * (least - constant)).exp();
            if weight > 1.0 + 1e-4 {
                return Err(format!("a mean weight {weight} above the largest"));
            }
            if wrong || source.uniform() < weight {
                let chosen = &mut replicas[source.below(size)];
                chosen.run(&Gibbs::systematic(), &mut rng, sweeps, &mut ());
                counts[number(&shape, chosen.state())?] += 1;
            }
        }
        fits("a replica after resampling", &counts, &after.distribution).map(|()| 1)
    })
}

/// Energies of an RBM with all its weights and biases times β, the hidden units summed out.
fn free_energies(machine: &Machine, shape: &Shape, beta: f64) -> Vec<f64> {
    let units = machine.hidden.len();
    let energy = |state: usize| {
        let on: Vec<usize> =
            shape.values(state).iter().enumerate().filter(|(_, v)| **v == 1).map(|(site, _)| site).collect();
        let field = |unit: usize| {
            let sum: f64 = on.iter().map(|site| f64::from(machine.weights[site * units + unit])).sum();
            f64::from(machine.hidden[unit]) + sum
        };
        let biases: f64 = on.iter().map(|&site| f64::from(machine.visible[site])).sum();
        -beta * biases - (0..units).map(|unit| softplus(beta * field(unit))).sum::<f64>()
    };
    (0..shape.states()).map(energy).collect()
}

/// Rungs of an RBM whose weights are scaled. Wrong: neighbours change places always.
fn block_gibbs(seed: u64, source: &mut Source, wrong: bool) -> Result<usize, String> {
    let (visible, hidden) = (1 + source.below(6), 1 + source.below(20));
    let machine = models::machine(visible, hidden, source.pick(&[0.3, 1.0, 3.0]), source.word().into());
    let weights = Weights::new(&machine).map_err(said)?;
    let mut columns = vec![[source.word(); LANES]; Rbm::columns_len(visible, hidden)];
    let model = weights.rbm().map_err(|error| format!("refused: {error}"))?;
    let model = if source.one_in(2) { model.with_columns(&mut columns).map_err(said)? } else { model };
    let shape = Shape { layout: Layout::binary(visible), arities: vec![2; visible], given: None };
    let betas = ladder(source);
    let exact: Vec<Exact> =
        betas.iter().map(|&beta| Exact::of(&free_energies(&machine, &shape, beta.into()))).collect();
    let (rounds, sweeps, kind) = (1 + source.below(5), source.below(3) as u64, source.below(3));
    let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
    let mut counts = vec![vec![0; shape.states()]; betas.len()];
    let mut ladder = Ladder::new(vec![Rung::default(); betas.len()], &betas).map_err(said)?;
    for _ in 0..source.pick(&[300, 1000, 3000]) {
        let mut chains = Vec::new();
        for chain in 0..betas.len() {
            let rung = ladder.rung_of(chain).ok_or("a rung for every chain")?;
            let words = shape.words(exact[rung].draw(&mut reference));
            let start = Packed::new(shape.layout, &words).map_err(said)?;
            chains.push(Chain::new(&model, heap::memory(&model), start).map_err(said)?);
        }
        for number in 0..rounds {
            if wrong {
                ladder.exchange(|_| 0.0, &mut rng);
            }
            block_gibbs_round(&mut ladder, &mut chains, sweeps, &mut rng);
            if number == 0 && kind == 0 {
                let bytes = save(&[&chains[0], &ladder]);
                block_gibbs_round(&mut ladder, &mut chains[..1], 1, &mut rng);
                load(&bytes, &mut [&mut chains[0], &mut ladder]).map_err(said)?;
            }
        }
        for (rung, counts) in ladder.rungs().iter().zip(&mut counts) {
            counts[number(&shape, chains[rung.replica()].state())?] += 1;
        }
    }
    for (counts, (exact, beta)) in counts.iter().zip(exact.iter().zip(&betas)) {
        fits(&format!("the rung β = {beta}"), counts, &exact.distribution)?;
    }
    Ok(betas.len())
}
