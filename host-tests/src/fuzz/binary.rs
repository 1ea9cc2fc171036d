//! Energies over bits.

use super::energies::{Wild, size_of, size_of_pairwise};
use super::kernels::AnyKernel;
use super::trial::COMPARED;
use super::{Source, Trial, replicas};
use crate::heap::Weights;
use crate::naive::Machine;
use crate::network::Network;
use crate::polynomial::Terms;
use crate::used;
use bitmc::energy::{Boltzmann, CoarseRbm, Estimate, Perceptron};
use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::step::{
    ChromaticGibbs, Colouring, IsingBalanced, IsingLangevin, SequentialGibbs, SwendsenWang, Wolff,
};
use bitmc::{Bernoulli, BlockGibbs, Ising, Langevin, Layout, Logistic, Plain};

/// One of them, and its samplers.
pub(super) fn run(source: &mut Source<'_>) {
    let kind = source.below(12);
    // `None` where something is refused.
    let _ = match kind {
        0..=2 => ising(source),
        3 => bernoulli(source),
        4 => boltzmann(source),
        5 => rbm(source),
        6 => logistic(source),
        7 => perceptron(source),
        8 => network(source),
        9 | 10 => polynomial(source),
        _ => plain(source),
    };
}

fn bernoulli(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites();
    let logits = source.floats(sites);
    replicas::run(&Bernoulli::new(&logits)?, size_of(&logits), source)
}

fn ising(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites();
    let (pairwise, mut couplings) = source.pairwise(sites);
    let model = couplings.rounded(&pairwise).ok()?;
    let size = size_of_pairwise(&pairwise);
    if source.one_in(2) {
        return replicas::run(&model, size, source);
    }
    let mut trial = Trial::start(&model, size, source)?;
    for _ in 0..1 + source.below(4) {
        own(&model, &mut trial, source);
    }
    Some(())
}

/// One of the samplers that take nothing but an Ising model.
fn own(model: &Ising<'_>, trial: &mut Trial<'_, Ising<'_>>, source: &mut Source<'_>) -> Option<()> {
    let sites = model.form().sites();
    match source.below(6) {
        0 => trial.steps(&SequentialGibbs, source),
        1 => trial.steps(&IsingLangevin::adjusted(source.parameter()).ok()?, source),
        2 => {
            let mut classes = used::memory(Colouring::words(sites, 1 + source.below(sites.min(8))));
            let classes = Colouring::greedy(model.form(), &mut classes).ok()?;
            trial.steps(&ChromaticGibbs::new(classes), source);
        }
        3 => trial.steps(&SwendsenWang, source),
        4 => trial.steps(&Wolff, source),
        _ => {
            let mut d = used::memory(Edgewise::blocks(sites));
            let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).ok()?;
            let step_size = [f32::INFINITY, source.parameter()][source.below(2)];
            let make = [IsingBalanced::new, IsingBalanced::discrete][source.below(2)];
            let kernel = make(noise, step_size, [1.0, source.float().abs() / 8.0][source.below(2)]);
            trial.steps(&kernel.ok()?.precision(source.parameter()).ok()?, source);
        }
    }
    Some(())
}

fn boltzmann(source: &mut Source<'_>) -> Option<()> {
    let sites = 1 + source.below(20);
    let mut parameters = vec![[0.0; LANES]; Boltzmann::parameter_len(sites)];
    let numbers = source.some_floats(64);
    parameters.as_flattened_mut().iter_mut().zip(numbers).for_each(|(slot, number)| *slot = number);
    let mut memory = used::memory(Boltzmann::memory_len(sites));
    let size = 16.0 * size_of(parameters.as_flattened());
    let make = if source.one_in(2) { Boltzmann::spins } else { Boltzmann::bits };
    let model = make(&parameters, sites, &mut memory).ok()?;
    replicas::run(&model, size, source)
}

fn machine(source: &mut Source<'_>) -> (Machine, f64) {
    let (visible, hidden) = (source.sites().min(40), 1 + source.below(33));
    let mut numbers = source.some_floats(64).into_iter().cycle();
    let mut take = |count: usize| numbers.by_ref().take(count).collect::<Vec<_>>();
    let machine = Machine { weights: take(visible * hidden), visible: take(visible), hidden: take(hidden) };
    let numbers = [&machine.weights, &machine.visible, &machine.hidden];
    // ln(1 + e^p) is at most |p| + ln 2.
    let size = numbers.iter().map(|numbers| size_of(numbers)).sum::<f64>() + hidden as f64;
    (machine, size)
}

fn rbm(source: &mut Source<'_>) -> Option<()> {
    let (machine, size) = machine(source);
    let weights = Weights::new(&machine).ok()?;
    let model = weights.rbm().ok()?;
    match source.below(4) {
        0 => {
            let mut trial = Trial::start(&model, size, source)?;
            trial.steps(&BlockGibbs, source);
            trial.run(source);
            Some(())
        }
        1 => {
            let length = CoarseRbm::room_len(model.visible_units(), model.hidden_units());
            let mut room = used::memory(length);
            replicas::run(&CoarseRbm::new(model, &mut room).ok()?, size, source)
        }
        _ => replicas::run(&model, size, source),
    }
}

fn logistic(source: &mut Source<'_>) -> Option<()> {
    let (machine, size) = machine(source);
    let observations = machine.hidden.len();
    let outcomes: Vec<bool> = (0..observations).map(|_| source.one_in(2)).collect();
    let mut rows = vec![[0.0; LANES]; machine.visible.len() * Logistic::row_blocks(observations)];
    Logistic::pack(&machine.weights, &outcomes, &mut rows).ok()?;
    let mut offsets = vec![[0.0; LANES]; Logistic::row_blocks(observations)];
    offsets.as_flattened_mut()[..observations].copy_from_slice(&machine.hidden);
    let model = Logistic::new(&rows, &machine.visible, &offsets, observations).ok()?;
    replicas::run(&model, size, source)
}

fn perceptron(source: &mut Source<'_>) -> Option<()> {
    let widths: Vec<usize> = (0..2 + source.below(3)).map(|_| 1 + source.below(20)).collect();
    let mut parameters = vec![[0.0; LANES]; Perceptron::parameter_len(&widths)];
    let numbers = source.some_floats(64);
    let (mut rest, mut numbers) = (parameters.as_mut_slice(), numbers.iter().cycle());
    // What a layer gives is at most the sum of its parameters times what it takes.
    let (mut size, mut reach) = (0.0, 1.0f64);
    for (layer, &inputs) in widths.iter().enumerate() {
        let outputs = widths.get(layer + 1).copied().unwrap_or(1);
        let (rows, after) = rest.split_at_mut(outputs.div_ceil(LANES) * (1 + inputs));
        for row in rows.chunks_mut(outputs.div_ceil(LANES)) {
            let used = row.as_flattened_mut().iter_mut().take(outputs);
            used.for_each(|slot| *slot = *numbers.next().unwrap());
        }
        reach = 1.0 + reach * size_of(rows.as_flattened());
        (size, rest) = (size + reach, after);
    }
    replicas::run(&Perceptron::new(&widths, &parameters).ok()?, size, source)
}

fn network(source: &mut Source<'_>) -> Option<()> {
    let (rows, columns) = (1 + source.below(20), 1 + source.below(4));
    let (inputs, targets) = (source.floats(rows * columns), source.floats(rows));
    let (units, scale, precision) = (1 + source.below(6), source.float(), source.parameter());
    let network = Network { inputs, targets, units, scale, precision };
    let each = |target: &f32| (f64::from(scale.abs()) * units as f64 + f64::from(target.abs())).powi(2);
    let squares = network.targets.iter().map(each).sum::<f64>();
    // Squares that overflow do so at any precision.
    let size = if squares < COMPARED { f64::from(precision) * squares } else { squares };
    replicas::run(&network.model().ok()?, size, source)
}

/// Terms of up to five sites, of which some are listed several times; only in wild bytes some that are no site.
fn polynomial(source: &mut Source<'_>) -> Option<()> {
    let (sites, count) = (source.sites(), source.below(40));
    let spins = source.one_in(2);
    let mut term = || {
        let wrong = !source.is_tame() && source.one_in(64);
        let below = if wrong { 256 } else { sites };
        let list = (0..source.below(6)).map(|_| source.below(below) as u32).collect();
        (list, source.float())
    };
    let terms = Terms { spins, sites, terms: (0..count).map(|_| term()).collect() };
    let mut memory = terms.memory();
    let model = terms.model(memory.borrow()).ok()?;
    replicas::run(&model, 16.0 * terms.size(), source)
}

/// A user's own energy, or one of which only the gradient is known.
fn plain(source: &mut Source<'_>) -> Option<()> {
    let wild = Wild::new(Layout::binary(source.sites()), source);
    if source.one_in(4) {
        let layout = Layout::binary(source.sites());
        let energy = Estimate::new(layout, |x, _rows, out| out.fill([wild.slope(x); LANES]));
        let mut trial = Trial::start(&energy, 0.0, source)?;
        trial.steps(&AnyKernel::Langevin(Langevin::unadjusted(source.parameter()).ok()?), source);
        trial.run(source);
        return Some(());
    }
    replicas::run(&Plain(&wild), wild.size(), source)
}
