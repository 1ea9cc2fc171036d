//! Chains of every form.

use super::super::Source;
use super::super::trial::{legal, report};
use super::{Kind, forged};
use crate::heap::{self, Couplings};
use crate::sliced::{Room, graph, sliced};
use bitmc::batch::{Batch, BatchSite, PottsBatch, PottsSite};
use bitmc::energy::{FactorsBuffers, Tempered};
use bitmc::flow::{DiagonalGaussian, Esh, Hmc, HmcChain, NoseHoover, StepSize, Unscaled};
use bitmc::lane::LANES;
use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedIsing, QuantisedLangevin};
use bitmc::step::IsingLangevin;
use bitmc::temper::Replica;
use bitmc::{
    Energy, Factor, Factors, Gibbs, Ising, LaneRng, Langevin, Layout, Packed, Potts, SeedableRng, torus,
};

/// One of them.
pub(super) fn run(source: &mut Source<'_>) {
    let mut couplings = Couplings::new(9, 18);
    let ising = Ising::spins_edges_once(9, torus(3, 3, 0.3), &[0.1; 9], couplings.borrow()).unwrap();
    let mut couplings = Couplings::new(9, 18);
    let potts = Potts::new(9, 3, torus(3, 3, 0.4), &[0.0; 27], couplings.borrow()).unwrap();
    match source.below(10) {
        0 => chain(&ising, source),
        1 => chain(&potts, source),
        2 => walls(source),
        3 => replica(&potts, source),
        4 => batch(&ising, source),
        5 => potts_batch(&potts, source),
        6 => in_bits(source),
        7 => whole(source),
        _ => continuous(source),
    }
}

fn adjusted() -> Langevin<'static> {
    Langevin::adjusted(0.5).unwrap()
}

fn chain(energy: &dyn Energy, source: &mut Source<'_>) {
    let Ok(chain) = heap::random_chain(energy, &mut LaneRng::seed_from_u64(1)) else { return };
    forged(chain, source, Kind::Whole, |it, rng| {
        report(&it.step(&adjusted(), rng));
        report(&it.step(&Gibbs::systematic(), rng));
        legal(energy, it.state());
        assert!(!it.energy().is_nan(), "the energy is NaN");
    });
}

/// Three sites of two, three and four values of which the states 0 and 1 of neighbours exclude each other.
fn walls(source: &mut Source<'_>) {
    let table = |rows: usize, columns: usize| {
        (0..rows * columns).map(move |entry| if entry == 1 { f32::NEG_INFINITY } else { entry as f32 / 8.0 })
    };
    let tables: Vec<f32> = table(2, 3).chain(table(3, 4)).collect();
    let (factors, arities) = ([Factor::two(0, 1, 0), Factor::two(1, 2, 6)], [2, 3, 4]);
    let (mut ends, mut members) = ([0; 3], [0; 4]);
    let memory = FactorsBuffers::new(&mut ends, &mut members);
    chain(&Factors::new(&arities, &factors, &tables, memory).unwrap(), source);
}

fn replica(energy: &dyn Energy, source: &mut Source<'_>) {
    let path = Tempered::new(energy, 0.5).unwrap();
    let replica = Replica::random(path, heap::memory(&path), &mut LaneRng::seed_from_u64(1)).unwrap();
    forged(replica, source, Kind::Whole, |it, rng| {
        // Forged: at such a β the energies are not finite.
        if it.beta() > 1e30 {
            it.set_beta(0.5).unwrap();
        }
        report(&it.step(&adjusted(), rng));
        legal(energy, it.state());
        assert!(!it.energy().is_nan() && !it.gap().is_nan(), "the energy is NaN");
    });
}

fn batch(model: &Ising<'_>, source: &mut Source<'_>) {
    let batch = Batch::random(model, vec![BatchSite::new(); 9], &mut LaneRng::seed_from_u64(1)).unwrap();
    forged(batch, source, Kind::Whole, |it, rng| {
        let infos = [it.step(&IsingLangevin::adjusted(0.5).unwrap(), rng), it.step(&adjusted(), rng)];
        for chain in 0..LANES {
            infos.iter().filter_map(|info| info.of(chain)).for_each(|info| report(&info));
            it.state(chain, &mut [0]).expect("a legal state");
            assert!(!it.energy(chain).is_nan(), "the energy is NaN");
        }
    });
}

fn potts_batch(model: &Potts<'_>, source: &mut Source<'_>) {
    let mut rng = LaneRng::seed_from_u64(1);
    let batch = PottsBatch::random(model, vec![PottsSite::<3>::new(); 9], &mut rng).unwrap();
    forged(batch, source, Kind::Whole, |it, rng| {
        let infos = [it.step(&adjusted(), rng), it.step(&Gibbs::systematic(), rng)];
        for chain in 0..LANES {
            infos.iter().filter_map(|info| info.of(chain)).for_each(|info| report(&info));
            it.state(chain, &mut [0]).expect("a legal state");
            assert!(!it.energy(chain).is_nan(), "the energy is NaN");
        }
    });
}

fn in_bits(source: &mut Source<'_>) {
    let (pairwise, mut memory) = (graph(4, 0.4, 0.4, false, 1), Couplings::new(4, 6));
    let model = sliced(&pairwise, &mut memory);
    let mut room = Room::new(&model);
    if source.one_in(2) {
        forged(room.gibbs(model), source, Kind::Whole, |it, rng| it.sweep(rng));
    } else {
        forged(room.langevin(model, 0.5), source, Kind::Whole, |it, rng| _ = it.step(rng));
    }
}

/// Forty sites: their last word is not full.
fn whole(source: &mut Source<'_>) {
    let layout = Layout::binary(40);
    let mut couplings = Couplings::new(40, 80);
    let ising = Ising::spins_edges_once(40, torus(5, 8, 0.3), &[0.1; 40], couplings.borrow()).unwrap();
    let mut rounded = Couplings::new(40, 80);
    let model = QuantisedIsing::round(ising.form(), rounded.borrow()).unwrap();
    let (mut words, mut fields, mut flips) = ([!0, 0xF], [0; 40], [0; 2]);
    let legal = |state: Packed<'_>| _ = Packed::new(layout, state.words()).expect("a legal state");
    if source.one_in(2) {
        let chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
        forged(chain, source, Kind::Whole, |it, rng| {
            it.sweep(rng);
            legal(it.state());
        });
    } else {
        let penalty = Penalty::from_units(100_000).unwrap();
        let chain = QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips).unwrap();
        forged(chain, source, Kind::Whole, |it, rng| {
            it.step(rng);
            legal(it.state());
        });
    }
}

fn continuous(source: &mut Source<'_>) {
    let model = DiagonalGaussian::new(20, &[[0.0; LANES]; 2], &[[1.5; LANES]; 2]).unwrap();
    let (size, start, memory) = (StepSize::new(0.2).unwrap(), [0.5; 20], [[0.0; LANES]; 10]);
    match source.below(4) {
        0 => {
            let chain = Esh::new(&model, memory, &start, &[1.0; 20]).unwrap();
            forged(chain, source, Kind::Continuous, |it, _| _ = it.step(size));
        }
        1 => {
            let (hmc, chain) = (Hmc::new(size, 2).unwrap(), HmcChain::new(&model, memory, &start).unwrap());
            forged(chain, source, Kind::Continuous, |it, rng| {
                assert!(!it.step(&hmc, rng).log_ratio.is_nan());
            });
        }
        2 => {
            let rng = &mut LaneRng::seed_from_u64(1);
            let chain = NoseHoover::new(&model, memory, &start, 20.0, rng).unwrap();
            forged(chain, source, Kind::Continuous, |it, _| _ = it.step(size));
        }
        _ => {
            let chain = Unscaled::new(&model, memory, &start, &[1.0; 20]).unwrap();
            forged(chain, source, Kind::Continuous, |it, _| _ = it.step(size));
        }
    }
}
