//! Chains that are told their energies: a step in two halves, beside the chain that evaluates them itself.

use super::Source;
use super::energies::Wild;
use super::kernels::{AnyKernel, Room};
use super::ordinal::arity;
use super::trial::{legal, report};
use crate::heap::{self, HeapMemory};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::open::gradient_len;
use bitmc::{Function, Info, Layout, Memory, Open, OpenError, Packed, Plain};

type Told<'a> = Open<'a, Vec<u32>, Vec<Bits>, Vec<Block>>;

/// Samplers over a user's energy, asked and told. `None` where something is refused. The negative control tells the gradient at the
/// old state.
pub(super) fn run(source: &mut Source<'_>, wrong: bool) -> Option<()> {
    let (sites, kind) = (source.sites(), source.below(4));
    let layout = match kind {
        0 | 1 => Layout::binary(sites),
        2 => Layout::ordinal(sites, arity(source)),
        _ => Layout::categorical(sites.min(12), arity(source)),
    };
    let wild = Wild::new(layout, source);
    let own = Plain(&wild);
    let mut chain = heap::random_chain(&own, source).ok()?;
    let memory = HeapMemory {
        words: vec![source.word(); Memory::words(layout)],
        cache: vec![],
        weights: vec![[f32::NAN; LANES]; Memory::weights_and_gradients(layout)],
    };
    let mut told: Told<'_> = Open::new(
        layout,
        wild.arities(),
        memory,
        chain.state(),
        wild.total(chain.state()),
        &slope(&wild, chain.state()),
    )
    .ok()?;
    if source.one_in(4) {
        let sites = Layout::binary(layout.sites());
        let mut words: Vec<u32> = (0..sites.words()).map(|_| source.word()).collect();
        *words.last_mut()? &= sites.last_word();
        let held = Packed::new(sites, &words).ok()?;
        chain.clamp(held).ok()?;
        told.clamp(held).ok()?;
    }
    for _ in 0..1 + source.below(4) {
        let mut room = Room::default();
        let Some(kernel) = AnyKernel::choose(layout, &mut room, source) else { continue };
        for _ in 0..1 + source.below(8) {
            let mut rng = source.clone();
            let Some(info) = step(&mut told, &kernel, &wild, wrong, source) else { break };
            let same = chain.step(&kernel, &mut rng);
            report(&info);
            legal(&own, told.state());
            assert_eq!(info.accepted, same.accepted, "a told step of {kernel:?}: {info:?} and {same:?}");
            assert_eq!(
                told.state().words(),
                chain.state().words(),
                "a told step of {kernel:?}: {info:?} and {same:?}"
            );
            if info.accepted && info.difference.abs() >= 16_384.0 {
                // A chain that is told takes the energy anew.
                chain.refresh().ok()?;
            }
            assert_eq!(
                told.energy().to_bits(),
                chain.energy().to_bits(),
                "a told step of {kernel:?}: {info:?} and {same:?}"
            );
            assert_eq!(told.faults(), chain.faults(), "a told step of {kernel:?}: {info:?} and {same:?}");
        }
    }
    Some(())
}

/// All of a gradient.
fn slope(wild: &Wild, x: Packed<'_>) -> Vec<f32> {
    let mut gradient = vec![0.0; gradient_len(x.layout())];
    wild.gradient_all(x, &mut gradient);
    gradient
}

/// One step in two halves. `None` where the sampler has no halves.
fn step(
    told: &mut Told<'_>,
    kernel: &AnyKernel<'_>,
    wild: &Wild,
    wrong: bool,
    source: &mut Source<'_>,
) -> Option<Info> {
    let (layout, here) = (wild.layout(), slope(wild, told.state()));
    // From so many values on the chain keeps no gradient.
    let again = if layout.row_is_site() { &here[..] } else { &[] };
    let mut ask = |told: &mut Told<'_>| match kernel.ask(told, again, source)? {
        Ok(y) => Some(y.words().to_vec()),
        Err(error) => panic!("a step is not asked: {error}"),
    };
    let asked = ask(told)?;
    // Asked again it is the same, and nothing is drawn.
    assert_eq!(ask(told)?, asked);
    let y = Packed::new(layout, &asked).expect("an illegal proposal");
    let (energy, mut gradient) = (wild.total(y), if wrong { here.clone() } else { slope(wild, y) });
    gradient.push(0.0);
    assert!(
        matches!(told.tell(energy, &gradient), Err(OpenError::Gradient { .. })),
        "a longer gradient is taken"
    );
    gradient.pop();
    let info = told.tell(energy, &gradient).expect("a step is not told");
    assert!(matches!(told.tell(energy, &gradient), Err(OpenError::NotAsked)), "told twice");
    Some(info)
}
