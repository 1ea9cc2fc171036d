//! Detailed balance move by move, and conditionals value by value, in used memory.

use super::kernel::Sampler;
use super::memory;
use super::model::Model;
use crate::heap;
use crate::models::Source;
use crate::tolerance::{ASYMMETRY, LEAST_FLOW, ROUNDING};
use bitmc::{Chain, Energy, Gibbs, Layout, Packed};

/// The sum of a row of q may miss 1 by this: at most 128 probabilities, each of a few roundings of its logarithm.
const ROW: f64 = 1e-5;

/// Models of more states are left out.
pub(super) const MOST_STATES: usize = 100;

/// Checks every move of a sampler, with the sites of `mask` held; true where the sampler says its probabilities.
pub(super) fn moves<E: Energy + ?Sized, K: Sampler<E>>(
    model: &Model,
    energy: &E,
    (kernel, paths): (&K, bool),
    distribution: &[f64],
    mask: u32,
    source: &mut Source,
) -> Result<bool, String> {
    let (shape, states) = (&model.shape, model.shape.states());
    let words: Vec<Vec<u32>> = (0..states).map(|state| shape.words(state)).collect();
    let state = |number: usize| Packed::new(shape.layout, &words[number]).expect("a state");
    let likely: Vec<usize> = (0..states).filter(|&x| distribution[x] > LEAST_FLOW).collect();
    let mut memory = heap::memory(energy);
    memory::wear(&mut memory, source);
    let mut chain = Chain::new(energy, memory, state(likely[0])).map_err(|error| error.to_string())?;
    let sites = Layout::binary(shape.layout.sites());
    let mask = mask & sites.last_word();
    chain.clamp(Packed::new(sites, &[mask]).expect("a mask")).map_err(|error| error.to_string())?;
    let mut flows = vec![0.0; states * states];
    for &x in &likely {
        chain.restart(state(x)).map_err(|error| error.to_string())?;
        let (mut row, mut fault) = (0.0, false);
        for y in 0..states {
            let Some(found) = kernel.transition(chain.ring(), state(x), state(y)) else { return Ok(false) };
            let (q, a) = (f64::from(found.log_forward).exp(), f64::from(found.log_ratio).min(0.0).exp());
            let moved =
                (0..sites.sites()).any(|i| mask >> i & 1 != 0 && shape.value(x, i) != shape.value(y, i));
            if moved && q > 0.0 {
                return Err(format!("{:?} → {:?} moves a held site", shape.values(x), shape.values(y)));
            }
            if found.log_ratio.is_nan() || (found.fault && !model.wild) {
                return Err(format!("{:?} → {:?} says {found:?}", shape.values(x), shape.values(y)));
            }
            row += q;
            fault |= found.fault;
            flows[x * states + y] = distribution[x] * q * a;
        }
        // A path is one move; where there is none, a row is empty.
        let empty = paths && row == 0.0;
        if !(fault || empty || (row - 1.0).abs() <= ROW) {
            return Err(format!("q from {:?} adds up to {row}", shape.values(x)));
        }
    }
    // The energies of states with a probability, in f32.
    let largest = likely.iter().map(|&x| model.energies[x].abs()).fold(0.0, f64::max);
    let bound = ASYMMETRY + 4.0 * ROUNDING * largest;
    for &x in &likely {
        for &y in likely.iter().filter(|&&y| y < x) {
            let (there, back) = (flows[x * states + y], flows[y * states + x]);
            let larger = there.max(back);
            let balanced = (there - back).abs() <= bound * larger;
            if larger > LEAST_FLOW && !balanced {
                let (x, y) = (shape.values(x), shape.values(y));
                return Err(format!("{x:?} → {y:?} flows {there:.3e}, back {back:.3e}"));
            }
        }
    }
    Ok(true)
}

/// Checks the conditional of every site at every state.
pub(super) fn conditionals<E: Energy + ?Sized>(
    model: &Model,
    energy: &E,
    distribution: &[f64],
    source: &mut Source,
) -> Result<(), String> {
    let shape = &model.shape;
    let mut memory = heap::memory(energy);
    memory::wear(&mut memory, source);
    let start = distribution.iter().position(|&p| p > LEAST_FLOW).expect("a likely state");
    let words = shape.words(start);
    let start = Packed::new(shape.layout, &words).expect("a state");
    let mut chain = Chain::new(energy, memory, start).map_err(|error| error.to_string())?;
    for x in (0..shape.states()).filter(|&x| distribution[x] > LEAST_FLOW) {
        let words = shape.words(x);
        let state = Packed::new(shape.layout, &words).expect("a state");
        chain.restart(state).map_err(|error| error.to_string())?;
        for (site, &arity) in shape.arities.iter().enumerate() {
            let mut out = vec![f32::NAN; shape.layout.arity()];
            let fault = Gibbs::conditional(chain.ring(), site, &mut out);
            let exact: Vec<f64> = (0..arity).map(|value| distribution[shape.with(x, site, value)]).collect();
            let sum: f64 = exact.iter().sum();
            for (value, &found) in out.iter().enumerate() {
                let exact = exact.get(value).map_or(0.0, |p| p / sum);
                let found = f64::from(found).exp();
                let largest = model.energies[x].abs();
                // Probabilities below what a uniform resolves are cut.
                let bound = 1e-6 + (ASYMMETRY + 4.0 * ROUNDING * largest) * exact;
                let near = (found - exact).abs() <= bound;
                if fault || !near {
                    let values = shape.values(x);
                    return Err(format!(
                        "P(x_{site} = {value} | {values:?}) = {found}, fault {fault}, {exact} is right"
                    ));
                }
            }
        }
    }
    Ok(())
}
