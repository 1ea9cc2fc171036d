//! Programs of open chains: energies and gradients from a table, told between the halves of a step.

use super::kernel::{Recipe, Room};
use super::memory;
use super::model::Model;
use super::run::Exact;
use super::table::Table;
use super::verdict::{ALARM, p_value};
use crate::fuzz::kernels::AnyKernel;
use crate::heap::HeapMemory;
use crate::models::Source;
use crate::snapshot::{load, save};
use crate::stat::replicas::reference_rng;
use bitmc::OpenError;
use bitmc::lane::LANES;
use bitmc::{LaneRng, Layout, Memory, Open, Packed};

/// An open chain in vectors.
type Chain<'a> = Open<'a, Vec<u32>, Vec<bitmc::lane::Bits>, Vec<bitmc::lane::Block>>;

/// Names of samplers whose step has two halves.
const TWO_HALVES: [&str; 11] = [
    "Langevin",
    "Langevin",
    "Langevin, preconditioned",
    "Langevin, windowed",
    "Langevin cycle",
    "AB, diagonal",
    "AB-edge",
    "AB, dense",
    "random walk",
    "GWG",
    "PAS",
];

/// What happens between the halves of some steps.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    /// Asked again: the same state.
    AskedAgain,
    /// A snapshot, loaded into another chain in used memory.
    Kept,
    /// Sites are held, which cancels the proposal.
    Held(u32),
    /// All are free, which cancels it too.
    Released,
    /// The energy at the state is told again, which cancels it.
    Rebound,
    /// A gradient of another length is refused, and the proposal stays.
    Refused,
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn ask<'c>(
    kernel: &AnyKernel<'_>,
    chain: &'c mut Chain<'_>,
    gradient: &[f32],
    rng: &mut LaneRng,
) -> Result<Packed<'c>, OpenError> {
    kernel.ask(chain, gradient, rng).expect("a sampler whose step has two halves")
}

/// A program: the name of its sampler, and what it found.
pub(super) fn play(seed: u64, source: &mut Source) -> (&'static str, Result<usize, String>) {
    let model = Model::tabulated(source);
    let table = model.the_table();
    let mut recipe = Recipe::random(&model, source);
    let second = !model.shape.layout.row_is_site();
    recipe.name = source.pick(&TWO_HALVES);
    if recipe.name.starts_with("AB-") || recipe.name == "AB, dense" {
        recipe.name = if second { recipe.name } else { "Langevin" };
    }
    let mut room = Room::default();
    let result = recipe
        .any(model.shape.layout, &mut room)
        .map_err(|error| format!("refused: {error}"))
        .and_then(|kernel| told(seed, source, (&model, table), &kernel));
    (recipe.name, result.map_err(|error| format!("{error}\n    ({}; {})", model.describe(), recipe.describe())))
}

fn told(
    seed: u64,
    source: &mut Source,
    (model, table): (&Model, &Table),
    kernel: &AnyKernel<'_>,
) -> Result<usize, String> {
    let shape = &model.shape;
    let exact = Exact::of(&model.energies);
    let (mut reference, mut rng) = (reference_rng(seed, 1), LaneRng::stream(seed, 0));
    let words: Vec<Vec<u32>> = (0..shape.states()).map(|state| shape.words(state)).collect();
    let state = |number: usize| Packed::new(shape.layout, &words[number]).expect("a state");
    let gradients: Vec<Vec<f32>> = (0..shape.states()).map(|state| table.gradient_of(state)).collect();
    let none: &[f32] = &[];
    // Where the chain keeps no gradient, or now and then all the same, it is told the one at the state again.
    let again = shape.layout.row_is_site() || source.one_in(3);
    let sites = Layout::binary(shape.layout.sites());
    let program: Vec<Between> = (0..3 + source.below(15))
        .map(|_| match source.below(12) {
            0 => Between::AskedAgain,
            1 => Between::Kept,
            2 => Between::Held(source.word() & source.word() & sites.last_word()),
            3 => Between::Released,
            4 => Between::Rebound,
            5 => Between::Refused,
            _ => Between::Nothing,
        })
        .collect();
    let worn = |source: &mut Source| {
        let (layout, cache) = (shape.layout, memory::bits(source.below(2), source));
        let mut memory = HeapMemory {
            words: vec![0; Memory::words(layout)],
            cache,
            weights: vec![[0.0; LANES]; Memory::weights_gradients_and_momentum(layout)],
        };
        memory::wear(&mut memory, source);
        memory
    };
    let arities = shape.given.as_deref();
    let mut counts = vec![0; shape.states()];
    for _ in 0..source.pick(&[300, 1000, 10_000]) {
        let open = |source: &mut Source, at: usize| -> Result<Chain<'_>, String> {
            let (energy, gradient) = (table.totals[at], &gradients[at]);
            Open::new(shape.layout, arities, worn(source), state(at), energy, gradient)
                .map_err(|error| format!("a start is refused: {error}"))
        };
        let start = exact.draw(&mut reference);
        let mut chain = open(source, start)?;
        let (mut held, mut here) = ((0, start), start);
        for &between in &program {
            let slope = if again { &gradients[here][..] } else { none };
            let mut asked = number(model, ask(kernel, &mut chain, slope, &mut rng).map_err(said)?)?;
            match between {
                Between::Nothing => {}
                Between::AskedAgain => {
                    let y = number(model, ask(kernel, &mut chain, slope, &mut rng).map_err(said)?)?;
                    if y != asked {
                        return Err(format!("asked again, {y} comes for {asked}"));
                    }
                }
                Between::Kept => {
                    let bytes = save(&[&chain]);
                    let other = exact.draw(&mut reference);
                    chain = open(source, other)?;
                    load(&bytes, &mut [&mut chain])
                        .map_err(|error| format!("a snapshot is refused: {error}"))?;
                }
                Between::Held(mask) => {
                    chain.clamp(Packed::new(sites, &[mask]).map_err(said)?).map_err(said)?;
                    held = (mask, here);
                    asked = number(model, ask(kernel, &mut chain, slope, &mut rng).map_err(said)?)?;
                }
                Between::Released => {
                    chain.release();
                    held = (0, here);
                    asked = number(model, ask(kernel, &mut chain, slope, &mut rng).map_err(said)?)?;
                }
                Between::Rebound => {
                    chain.rebind(table.totals[here], &gradients[here]).map_err(said)?;
                    asked = number(model, ask(kernel, &mut chain, slope, &mut rng).map_err(said)?)?;
                }
                Between::Refused => {
                    if chain.tell(table.totals[asked], &[0.0; 2048]).is_ok() {
                        return Err("a gradient of another length is taken".into());
                    }
                }
            }
            let info = chain.tell(table.totals[asked], &gradients[asked]).map_err(said)?;
            if info.log_ratio.is_nan() || (info.fault && !model.wild) {
                return Err(format!("a step says {info:?}"));
            }
            here = number(model, chain.state())?;
            if model.energies[here].is_infinite() {
                return Err(format!("a forbidden state, {:?}", shape.values(here)));
            }
            let moved = |site: &usize| {
                held.0 >> site & 1 != 0 && shape.value(held.1, *site) != shape.value(here, *site)
            };
            if let Some(site) = (0..shape.arities.len()).find(moved) {
                return Err(format!("site {site} is held and moved"));
            }
        }
        counts[here] += 1;
    }
    let p = p_value(&counts, &exact.distribution);
    if p.is_nan() || p < ALARM { Err(format!("the end has p = {p:.1e}")) } else { Ok(1) }
}

fn number(model: &Model, x: Packed<'_>) -> Result<usize, String> {
    model.shape.number(x).ok_or_else(|| format!("an illegal state: {:x?}", x.words()))
}
