//! Chains side by side, and chains without floats.

use super::Source;
use super::energies::{size_of, size_of_edges, size_of_pairwise};
use super::kernels::{Room, langevin};
use super::trial::{compare, legal, report};
use crate::heap::Couplings;
use crate::used;
use bitmc::batch::{Batch, BatchInfo, BatchSite, PottsBatch, PottsSite};
use bitmc::lane::LANES;
use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedIsing, QuantisedLangevin};
use bitmc::random::words;
use bitmc::sliced::{CHAINS, SlicedChains, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::step::{IsingLangevin, SequentialGibbs};
use bitmc::{Gibbs, LaneRng, Layout, Packed, Potts, SeedableRng};

/// One kind of them.
pub(super) fn run(source: &mut Source<'_>) {
    // `None` where something is refused.
    let _ = match source.below(4) {
        0 => ising(source),
        1 => potts::<3>(source),
        2 => one_size(source),
        _ => whole(source),
    };
}

/// The generator that batches take, from words of the source; a seed where a lane would be dead.
pub(super) fn lanes(source: &mut Source<'_>) -> LaneRng {
    let state = [(); 4].map(|()| words(source));
    LaneRng::from_state(state, words(source), 16)
        .unwrap_or_else(|| LaneRng::seed_from_u64(source.word().into()))
}

/// β of sixteen chains: one for all, or one each.
fn betas(source: &mut Source<'_>) -> [f32; LANES] {
    let (beta, each) = (source.parameter(), source.one_in(2));
    [(); LANES].map(|()| if each { source.float().abs() } else { beta })
}

fn reports(info: &BatchInfo) {
    (0..LANES).filter_map(|chain| info.of(chain)).for_each(|info| report(&info));
}

fn ising(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites();
    let (pairwise, mut couplings) = source.pairwise(sites);
    let model = couplings.rounded(&pairwise).ok()?;
    let size = size_of_pairwise(&pairwise);
    let mut rng = lanes(source);
    let mut batch = Batch::random(&model, vec![BatchSite::new(); sites], &mut rng).ok()?;
    batch.set_betas(betas(source)).ok()?;
    let mut moves = 0.0;
    for _ in 0..1 + source.below(3) {
        let (kind, mut room) = (source.below(4), Room::default());
        let own = IsingLangevin::adjusted(source.parameter()).ok()?;
        let any = langevin(Layout::binary(sites), &mut room, source)?;
        for _ in 0..1 + source.below(4) {
            reports(&match kind {
                0 => batch.step(&SequentialGibbs, &mut rng),
                1 => batch.step(&own, &mut rng),
                2 => batch.step(&[own; LANES], &mut rng),
                _ => batch.step(&any, &mut rng),
            });
            moves += sites as f64;
        }
        for chain in 0..LANES {
            let mut words = vec![0; Layout::binary(sites).words()];
            let state = batch.state(chain, &mut words).expect("a legal state");
            compare(&model, state, batch.energy(chain), size, moves);
        }
    }
    Some(())
}

fn potts<const Q: usize>(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites();
    let edges = source.edges(sites);
    let fields = if source.one_in(2) { source.floats(sites * Q) } else { vec![] };
    let mut couplings = Couplings::new(sites, edges.len());
    let size = size_of_edges(&edges) + size_of(&fields);
    let model = Potts::new(sites, Q, edges, &fields, couplings.borrow().allow_rounding()).ok()?;
    let mut rng = lanes(source);
    let mut batch = PottsBatch::random(&model, vec![PottsSite::<Q>::new(); sites], &mut rng).ok()?;
    batch.set_betas(betas(source)).ok()?;
    let (layout, mut moves) = (Layout::categorical(sites, Q), 0.0);
    for _ in 0..1 + source.below(3) {
        let (kind, mut room) = (source.below(3), Room::default());
        let kernel = langevin(layout, &mut room, source)?;
        for _ in 0..1 + source.below(4) {
            reports(&match kind {
                0 => batch.step(&Gibbs::systematic(), &mut rng),
                1 => batch.step(&kernel, &mut rng),
                _ => batch.step(&[kernel; LANES], &mut rng),
            });
            moves += sites as f64;
        }
        for chain in 0..LANES {
            let mut words = vec![0; layout.words()];
            let state = batch.state(chain, &mut words).expect("a legal state");
            legal(&model, state);
            compare(&model, state, batch.energy(chain), size, moves);
        }
    }
    Some(())
}

/// Couplings of one magnitude: 512 chains in bits.
fn one_size(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites().min(24);
    let (mut pairwise, mut couplings) = source.pairwise(sites);
    let (coupling, field) = (source.float(), source.float());
    pairwise.edges.iter_mut().for_each(|edge| edge.2 = coupling.copysign(edge.2));
    pairwise
        .fields
        .iter_mut()
        .for_each(|value| *value = if *value > 4.0 { 0.0 } else { field.copysign(*value) });
    let ising = couplings.rounded(&pairwise).ok()?;
    let model = SlicedIsing::new(ising).ok()?;
    let size = size_of_pairwise(&pairwise);
    let watch = |chains: &SlicedChains<'_>| {
        for chain in [0, 31, 32, CHAINS - 1] {
            let mut words = vec![0; Layout::binary(sites).words()];
            let state = chains.state(chain, &mut words).expect("a legal state");
            compare(&ising, state, chains.energy(chain), size, 0.0);
        }
    };
    let mut blocks = used::memory(sites);
    blocks.fill_with(|| words(source));
    let chains = SlicedChains::new(model, &mut blocks).ok()?;
    if source.one_in(2) {
        let mut table = used::memory(SlicedGibbs::words(&model));
        let mut chains = SlicedGibbs::new(chains, &mut table).ok()?;
        (0..1 + source.below(3)).for_each(|_| chains.sweep(source));
        watch(chains.chains());
    } else {
        let mut table = used::memory(SlicedLangevin::words(&model));
        let mut room = used::memory(SlicedLangevin::blocks(&model));
        let make = if source.one_in(2) { SlicedLangevin::adjusted } else { SlicedLangevin::unadjusted };
        let mut chains = make(chains, source.parameter(), &mut table, &mut room).ok()?;
        (0..1 + source.below(3)).for_each(|_| _ = chains.step(source));
        watch(chains.chains());
    }
    Some(())
}

/// Without floats, from a rounded model.
fn whole(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites();
    let (pairwise, mut couplings) = source.pairwise(sites);
    let model = couplings.rounded(&pairwise).ok()?;
    let mut rounded = Couplings::new(sites, pairwise.edges.len());
    let model = QuantisedIsing::round(model.form(), rounded.borrow()).ok()?;
    let layout = Layout::binary(sites);
    let mut words: Vec<u32> = (0..layout.words()).map(|_| source.word()).collect();
    *words.last_mut()? &= layout.last_word();
    let (mut fields, mut flips) = (used::memory(sites), used::memory(layout.words()));
    if source.one_in(2) {
        let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).ok()?;
        for _ in 0..1 + source.below(8) {
            let (first, last) = (source.below(80), source.below(80));
            chain.sweep_sites(first..last, source);
            chain.sweep(source);
            Packed::new(layout, chain.state().words()).expect("a legal state");
        }
    } else {
        let penalty = if source.one_in(2) {
            Penalty::from_units(source.word() >> source.below(32)).ok()?
        } else {
            Penalty::from_step_size(source.parameter()).ok()?
        };
        let mut chain = QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips).ok()?;
        for _ in 0..1 + source.below(8) {
            let before = chain.state().words().to_vec();
            let info = chain.step(source);
            assert!(info.accepted || chain.state().words() == before, "{info:?}");
            Packed::new(layout, chain.state().words()).expect("a legal state");
        }
    }
    Some(())
}
