//! The ways to run an energy: one chain, tempered, several together, replicas that exchange, annealed.

use super::kernels::{AnyKernel, Room, langevin};
use super::trial::{COMPARED, compare, legal, report};
use super::{Source, Trial};
use crate::heap;
use bitmc::energy::Tempered;
use bitmc::temper::{Ladder, Replica, Rung, forward, reverse, round};
use bitmc::{Energy, Info};

/// One of them. `size` is the sum of the magnitudes of the energy's terms. `None` where something is refused.
pub(super) fn run(energy: &dyn Energy, size: f64, source: &mut Source<'_>) -> Option<()> {
    match source.below(8) {
        0 => tempered(energy, size, source),
        1 => together(energy, size, source),
        2 => exchange(energy, size, source),
        3 => annealed(energy, size, source),
        _ => {
            Trial::start(energy, size, source)?.run(source);
            Some(())
        }
    }
}

/// β: 0, 1 or something else.
fn beta(source: &mut Source<'_>) -> f32 {
    [0.0, 1.0, source.parameter(), source.float().abs()][source.below(4)]
}

/// Fields of a base, one a component of the gradient, or none.
fn fields(energy: &dyn Energy, source: &mut Source<'_>) -> Vec<f32> {
    let layout = energy.layout();
    let values = if layout.kind() == bitmc::Kind::Categorical { layout.arity() } else { 1 };
    let count = source.below(2) * layout.sites() * values;
    if count > 1024 { vec![] } else { source.floats(count) }
}

fn tempered(energy: &dyn Energy, size: f64, source: &mut Source<'_>) -> Option<()> {
    let fields = fields(energy, source);
    let path = Tempered::from_base(energy, &fields, beta(source)).ok()?;
    let (beta, values) = (f64::from(path.beta()), energy.layout().arity() as f64);
    let base = values * super::energies::size_of(&fields);
    let path_size = beta * size + (1.0 - beta).abs() * base;
    // An energy that is not finite is none at any β, and so is a base.
    let size = if size.max(base) < COMPARED { path_size } else { size.max(base) };
    Trial::start(&path, size, source)?.run(source);
    Some(())
}

fn together(energy: &dyn Energy, size: f64, source: &mut Source<'_>) -> Option<()> {
    let mut chain = || heap::random_chain(energy, source).ok();
    let mut chains = [chain()?, chain()?, chain()?];
    let mut rngs = [source.clone(), source.clone(), source.clone()];
    let (steps, mut room) = (1 + source.below(8), Room::default());
    let kernel = langevin(energy.layout(), &mut room, source)?;
    for step in 1..=steps {
        let mut infos = [Info::default(); 3];
        kernel.step_together(&mut chains, &mut rngs, &mut infos).unwrap();
        infos.iter().for_each(report);
        for chain in &chains {
            legal(energy, chain.state());
            compare(energy, chain.state(), chain.energy(), size, (step * energy.layout().sites()) as f64);
        }
    }
    Some(())
}

fn exchange(energy: &dyn Energy, size: f64, source: &mut Source<'_>) -> Option<()> {
    let count = 2 + source.below(3);
    let mut betas: Vec<f32> = (0..count).map(|_| beta(source)).collect();
    betas.sort_by(f32::total_cmp);
    let mut ladder = Ladder::new(vec![Rung::default(); count], &betas).ok()?;
    let fields = fields(energy, source);
    let mut replicas = Vec::new();
    for _ in 0..count {
        let path = Tempered::from_base(energy, &fields, beta(source)).ok()?;
        replicas.push(Replica::random(path, heap::memory(&path), source).ok()?);
    }
    let mut room = Room::default();
    let kernels = vec![AnyKernel::choose(energy.layout(), &mut room, source)?; count];
    let (rounds, steps) = (1 + source.below(4), source.below(4));
    for number in 1..=rounds {
        round(&mut ladder, &mut replicas, &kernels, steps as u64, source);
        let mut replaced: Vec<usize> = ladder.rungs().iter().map(Rung::replica).collect();
        replaced.sort_unstable();
        assert_eq!(replaced, (0..count).collect::<Vec<_>>(), "every replica on one rung");
        for replica in &replicas {
            legal(energy, replica.state());
            let moves = number * steps * energy.layout().sites();
            compare(energy, replica.state(), replica.energy(), size, moves as f64);
        }
    }
    let mut spaced = vec![0.0; count];
    ladder.respaced(&mut spaced);
    assert!(size > COMPARED || spaced.iter().all(|beta| !beta.is_nan()), "{spaced:?} from {ladder:?}");
    Some(())
}

fn annealed(energy: &dyn Energy, size: f64, source: &mut Source<'_>) -> Option<()> {
    let (fields, mut room) = (fields(energy, source), Room::default());
    let path = Tempered::from_base(energy, &fields, 1.0).ok()?;
    let kernel = AnyKernel::choose(energy.layout(), &mut room, source)?;
    let mut replica = Replica::random(path, heap::memory(&path), source).ok()?;
    let betas = [0.25, source.parameter(), 0.75, 1.0];
    // A β so large that its terms overflow both ways leaves no number.
    let base = energy.layout().arity() as f64 * super::energies::size_of(&fields);
    let size = (size + base) * f64::from(betas[1]).max(1.0);
    let weight = forward(&mut replica, betas, 2, |_| kernel, source);
    assert!(!weight.is_ok_and(f32::is_nan) || size > COMPARED, "{weight:?}");
    legal(energy, replica.state());
    let weight = reverse(&mut replica, betas, 2, |_| kernel, source);
    assert!(!weight.is_ok_and(f32::is_nan) || size > COMPARED, "{weight:?}");
    legal(energy, replica.state());
    compare(energy, replica.state(), replica.energy(), size, (16 * energy.layout().sites()) as f64);
    Some(())
}
