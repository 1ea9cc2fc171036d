//! Energies over sites of several values.

use super::energies::{Wild, size_of, size_of_edges};
use super::trial::COMPARED;
use super::{Source, Trial, replicas};
use crate::heap::Couplings;
use crate::used;
use bitmc::energy::FactorsBuffers;
use bitmc::lane::LANES;
use bitmc::step::{ChromaticGibbs, Colouring, SwendsenWang, Wolff};
use bitmc::{Factor, Factors, LatticeGaussian, Layout, Modes, Plain, Potts, Quartic};

/// One of them, and its samplers.
pub(super) fn run(source: &mut Source<'_>) {
    let kind = source.below(8);
    // `None` where something is refused.
    let _ = match kind {
        0 | 1 => potts(source),
        2 => factors(source),
        3 => sparse_gaussian(source),
        4 => dense_gaussian(source),
        5 => quartic(source),
        6 => modes(source),
        _ => plain(source),
    };
}

/// A number of values: few, or so many that a site is worked on alone.
pub(super) fn arity(source: &mut Source<'_>) -> usize {
    match source.below(16) {
        15 => Layout::MANY - 1 + source.below(3),
        14 => 100 + usize::from(source.byte()),
        few => 2 + few % 7,
    }
}

fn potts(source: &mut Source<'_>) -> Option<()> {
    let (sites, arity) = (source.sites(), arity(source));
    let edges = source.edges(sites);
    let few = source.some_floats(32);
    let fields: Vec<f32> = few.iter().cycle().take(sites * arity * source.below(2)).copied().collect();
    let mut couplings = Couplings::new(sites, edges.len());
    let size = size_of_edges(&edges) + size_of(&fields);
    let model = Potts::new(sites, arity, edges, &fields, couplings.borrow().allow_rounding()).ok()?;
    if source.one_in(4) {
        let mut classes = used::memory(Colouring::words(sites, 1 + source.below(sites.min(8))));
        let classes = Colouring::greedy(model.form(), &mut classes).ok()?;
        let mut trial = Trial::start(&model, size, source)?;
        trial.steps(&ChromaticGibbs::new(classes), source);
        trial.run(source);
        return Some(());
    }
    if source.one_in(4) {
        let mut trial = Trial::start(&model, size, source)?;
        trial.steps(&SwendsenWang, source);
        trial.steps(&Wolff, source);
        trial.run(source);
        return Some(());
    }
    replicas::run(&model, size, source)
}

/// Tables over one to three sites, some entries forbidden.
fn factors(source: &mut Source<'_>) -> Option<()> {
    let sites = source.sites().min(20);
    let arities: Vec<u16> = (0..sites).map(|_| 1 + source.below(5) as u16).collect();
    let (mut factors, mut tables) = (Vec::new(), Vec::new());
    for _ in 0..source.below(2 * sites) {
        let start = tables.len() as u32;
        let of: Vec<u32> = (0..1 + source.below(3)).map(|_| source.below(sites) as u32).collect();
        let entries: usize = of.iter().map(|&site| usize::from(arities[site as usize])).product();
        for _ in 0..entries {
            tables.push(if source.one_in(16) { f32::NEG_INFINITY } else { source.float() });
        }
        factors.push(match of[..] {
            [a] => Factor::one(a, start),
            [a, b] if a != b => Factor::two(a, b, start),
            [a, b, c] if a != b && b != c && a != c => Factor::three(a, b, c, start),
            _ => continue,
        });
    }
    let (mut ends, mut members) = (used::memory(sites), used::memory(3 * factors.len()));
    let memory = FactorsBuffers::new(&mut ends, &mut members).allow_rounding();
    let finite: Vec<f32> = tables.iter().copied().filter(|entry| entry.is_finite()).collect();
    replicas::run(&Factors::new(&arities, &factors, &tables, memory).ok()?, size_of(&finite), source)
}

/// How far a site may be from its centre.
fn reach(centre: &[f32], arity: usize) -> f64 {
    centre.iter().fold(arity as f64, |most, value| most.max(arity as f64 + f64::from(value.abs())))
}

fn sparse_gaussian(source: &mut Source<'_>) -> Option<()> {
    let (sites, arity) = (source.sites(), arity(source));
    let (edges, diagonal, centre) = (source.edges(sites), source.floats(sites), source.floats(sites));
    let mut couplings = Couplings::new(sites, edges.len());
    let entries = size_of_edges(&edges) + size_of(&diagonal);
    let size = 4.0 * entries * reach(&centre, arity).powi(2);
    let model = LatticeGaussian::sparse(
        centre.len(),
        arity,
        edges,
        &diagonal,
        &centre,
        couplings.borrow().allow_rounding(),
    )
    .ok()?;
    replicas::run(&model, size, source)
}

fn dense_gaussian(source: &mut Source<'_>) -> Option<()> {
    let (sites, arity) = (source.sites().min(20), arity(source));
    let mut rows = vec![[0.0; LANES]; sites * sites.div_ceil(LANES)];
    let mut numbers = source.some_floats(64).into_iter().cycle();
    for a in 0..sites {
        for b in 0..=a {
            let entry = numbers.next()?;
            for (row, column) in [(a, b), (b, a)] {
                rows[row * sites.div_ceil(LANES) + column / LANES][column % LANES] = entry;
            }
        }
    }
    let centre = source.floats(sites);
    let size = 4.0 * size_of(rows.as_flattened()) * reach(&centre, arity).powi(2);
    replicas::run(&LatticeGaussian::dense(&rows, &centre, arity).ok()?, size, source)
}

fn quartic(source: &mut Source<'_>) -> Option<()> {
    let (sites, arity) = (source.sites().min(20), arity(source));
    let (coordinates, components) = (1 + source.below(18), 1 + source.below(18));
    let mut numbers = source.some_floats(64).into_iter().cycle();
    let blocks = Quartic::row_blocks(coordinates);
    let mut matrix = |rows: usize| {
        let mut matrix = vec![[0.0; LANES]; rows * blocks];
        for row in matrix.chunks_mut(blocks) {
            let used = row.as_flattened_mut()[..coordinates].iter_mut();
            used.zip(numbers.by_ref()).for_each(|(slot, number)| *slot = number);
        }
        matrix
    };
    let (rows, centres) = (matrix(sites), matrix(components));
    let reach = size_of(rows.as_flattened()) * arity as f64 + size_of(centres.as_flattened());
    let model = Quartic::new(&rows, &centres, coordinates, arity).ok()?;
    replicas::run(&model, coordinates as f64 * reach.powi(4) + components as f64, source)
}

fn modes(source: &mut Source<'_>) -> Option<()> {
    let arity = arity(source);
    let means: Vec<[f32; 2]> = (0..1 + source.below(8)).map(|_| [source.float(), source.float()]).collect();
    let width = source.parameter();
    let far = 2.0 * reach(means.as_flattened(), arity);
    // The distance in widths, and the logarithms of the number of modes and of the smallest floor.
    let (model, distance) = if source.one_in(2) {
        let size = if far * far < COMPARED { far * far / f64::from(width) } else { far * far };
        (Modes::normal(&means, arity, width), size)
    } else {
        let floor = [0.0, 1e-3, source.parameter()][source.below(3)];
        (Modes::exponential(&means, arity, width, floor), far / f64::from(width))
    };
    replicas::run(&model.ok()?, distance + 80.0, source)
}

fn plain(source: &mut Source<'_>) -> Option<()> {
    let (sites, arity) = (source.sites(), arity(source));
    let layout =
        if source.one_in(2) { Layout::ordinal(sites, arity) } else { Layout::categorical(sites, arity) };
    let wild = Wild::new(layout, source);
    replicas::run(&Plain(&wild), wild.size(), source)
}
