//! A model at a temperature, in the memory that the kernel's energies borrow.

use crate::Error;
use crate::formats::uai::{LogTables, Network, Preamble, Table};
use crate::model::{Form, Model, Own, Scale};
use aligned_vec::{AVec, avec};
use bitmc::energy::{CoarseRbm, Edge, Entry, PolynomialBuffers, SparseBuffers, pack_rows};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::temper::Neighbours;
use bitmc::{Energy, Factors, Ising, LatticeGaussian, Logistic, Polynomial, Potts, Rbm};

/// Any energy.
pub(crate) type Dyn<'e> = dyn Energy + Sync + 'e;

/// What a forbidden combination costs where a start is looked for.
const SOFT: f32 = -12.0;

/// The numbers of a model at a temperature, and the memory of its energy.
pub(crate) struct Parts {
    numbers: Numbers,
    /// β of what `numbers` could not take up: 1 but for energies that no other numbers of the same model express.
    beta: f32,
}

enum Numbers {
    Ising {
        spins: bool,
        sparse: Rows,
    },
    Potts {
        arity: usize,
        sparse: Rows,
    },
    Gaussian {
        arity: usize,
        centre: Vec<f32>,
        sparse: Rows,
    },
    Rbm {
        weights: AVec<Block>,
        visible: Vec<f32>,
        hidden: Vec<Block>,
        units: usize,
        /// Memory of the gradients of 16-bit weights.
        room: AVec<Bits>,
        /// Memory of the columns of the weights, which block Gibbs reads.
        columns: AVec<Bits>,
    },
    Factors(LogTables),
    Logistic {
        rows: AVec<Block>,
        prior: Vec<f32>,
        offsets: Vec<Block>,
        observations: usize,
    },
    Polynomial(Terms),
    Own(Own),
}

/// The terms of a polynomial, and what they are compiled to.
struct Terms {
    scale: Scale,
    terms: Vec<(Vec<u32>, f32)>,
    sites: Vec<[u32; 2]>,
    long: Vec<[u32; 2]>,
    members: Vec<[u32; 2]>,
}

/// Edges and fields, and the rows that they are compiled to.
struct Rows {
    sites: usize,
    edges: Vec<Edge>,
    fields: Vec<f32>,
    ends: Vec<u32>,
    linear: Vec<i32>,
    entries: Vec<Entry>,
}

impl Rows {
    fn new(sites: usize, edges: &[Edge], fields: &[f32], by: f32) -> Self {
        Self {
            sites,
            edges: edges.iter().map(|&(a, b, w)| (a, b, w * by)).collect(),
            fields: fields.iter().map(|w| w * by).collect(),
            ends: vec![0; sites],
            linear: vec![0; sites],
            entries: vec![Entry::default(); 2 * edges.len()],
        }
    }
}

/// An energy of the kernel, for samplers that are made for it.
#[derive(Clone, Copy)]
pub(crate) enum Ready<'e> {
    Ising(Ising<'e>),
    Potts(Potts<'e>),
    /// The model, and the same with proposals from rounded weights.
    Rbm(Rbm<'e>, CoarseRbm<'e>),
    Factors(Factors<'e>),
    Gaussian(LatticeGaussian<'e>),
    Logistic(Logistic<'e>),
    Polynomial(Polynomial<'e>),
    Own(&'e (dyn Energy + Send + Sync)),
}

impl<'e> Ready<'e> {
    /// The energy, whichever it is.
    pub(crate) fn energy(&self) -> &Dyn<'e> {
        match self {
            Self::Ising(model) => model,
            Self::Potts(model) => model,
            Self::Rbm(model, _) => model,
            Self::Factors(model) => model,
            Self::Gaussian(model) => model,
            Self::Logistic(model) => model,
            Self::Polynomial(model) => model,
            Self::Own(model) => *model,
        }
    }
}

impl<'e> Ready<'e> {
    /// Which sites share a term; none where no one knows, or all of them do.
    pub(crate) fn neighbours(&self) -> Option<&(dyn Neighbours + Sync + 'e)> {
        match self {
            Self::Ising(model) => Some(model),
            Self::Potts(model) => Some(model),
            Self::Factors(model) => Some(model),
            Self::Gaussian(model) => Some(model),
            Self::Polynomial(model) => Some(model),
            Self::Rbm(..) | Self::Logistic(_) | Self::Own(_) => None,
        }
    }
}

/// Tables whose largest weight is 1, and a temperature. All that a site gains there by its soft weights is 2 at most: what is
/// forbidden costs more.
fn softened(sites: usize, tables: &[Table], temperature: f64) -> (Vec<Table>, f64) {
    let (mut tables, mut gains) = (tables.to_vec(), vec![0.0; sites]);
    for Table { sites, weights } in &mut tables {
        let most = weights.iter().copied().fold(0.0, f64::max);
        let least = weights.iter().copied().filter(|&weight| weight > 0.0).fold(most, f64::min);
        if most > 0.0 {
            sites.iter().for_each(|&site| gains[site as usize] += most.ln() - least.ln());
            let scaled = |weight: f64| (weight / most).max(f64::MIN_POSITIVE);
            weights.iter_mut().filter(|weight| **weight > 0.0).for_each(|weight| *weight = scaled(*weight));
        }
    }
    (tables, gains.into_iter().fold(2.0 * temperature, f64::max) / 2.0)
}

/// Refuses a Gaussian whose rounded precision matrix is another one along its softest direction, where the distribution is
/// widest. That direction is found by power iteration. What a lattice of `arity` values is too small for does not count.
fn keeps_its_softest(
    model: &LatticeGaussian<'_>,
    edges: impl Iterator<Item = Edge> + Clone,
    diagonal: &[f32],
) -> Result<(), Error> {
    const ITERATIONS: usize = 100;
    const SHARE: f64 = 0.01;
    let (sites, precision) = (diagonal.len(), model.precision());
    let times = |v: &[f64]| -> Vec<f64> {
        let mut out: Vec<f64> = diagonal.iter().zip(v).map(|(&own, v)| f64::from(own) * v).collect();
        for (a, b, entry) in edges.clone() {
            out[a as usize] += f64::from(entry) * v[b as usize];
            out[b as usize] += f64::from(entry) * v[a as usize];
        }
        out
    };
    let mut reach: Vec<f64> = diagonal.iter().map(|&own| f64::from(own.abs())).collect();
    for (a, b, entry) in edges.clone() {
        reach[a as usize] += f64::from(entry.abs());
        reach[b as usize] += f64::from(entry.abs());
    }
    let shift = reach.into_iter().fold(0.0, f64::max);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    // Any start that is not orthogonal to it.
    let mut v: Vec<f64> = (0..sites).map(|site| 1.0 + 0.1 * ((site * 7 % 13) as f64 - 6.0) / 6.0).collect();
    for _ in 0..ITERATIONS {
        let image = times(&v);
        v.iter_mut().zip(image).for_each(|(v, image)| *v = shift * *v - image);
        let length = dot(&v, &v).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            return Ok(());
        }
        v.iter_mut().for_each(|v| *v /= length);
    }
    let mut rounded = vec![0.0; sites];
    for (site, out) in rounded.iter_mut().enumerate() {
        precision.each(site, |other, units| *out += f64::from(units) * f64::from(precision.unit()) * v[other]);
    }
    let (soft, found) = (dot(&v, &times(&v)), dot(&v, &rounded));
    let last = model.layout().arity() as f64 - 1.0;
    let counts = soft.abs().max(1.0 / (last * last * sites as f64));
    if (found - soft).abs() > SHARE * counts {
        return Err(Error::model(format!(
            "the precision matrix is lost in rounding along its softest direction, where it is {soft:.1e}: an entry or a \
             distance to the mean is too large"
        )));
    }
    Ok(())
}

impl Parts {
    /// A model at a temperature.
    pub(crate) fn new(model: &Model, temperature: f32) -> Result<Self, Error> {
        Self::made(model, temperature, f32::NEG_INFINITY)
    }

    /// The same without hard constraints, where a start is looked for.
    pub(crate) fn soft(model: &Model, temperature: f32) -> Result<Self, Error> {
        Self::made(model, temperature, SOFT)
    }

    fn made(model: &Model, temperature: f32, never: f32) -> Result<Self, Error> {
        if !(temperature > 0.0 && temperature.is_finite()) {
            return Err(Error::option(format!("temperature {temperature}: a finite number above 0 is needed")));
        }
        let beta = 1.0 / temperature;
        let mut rest = 1.0;
        let numbers = match &model.form {
            Form::Spins { edges, fields } => Self::ising(true, edges, fields, beta),
            Form::Bits { edges, fields } => Self::ising(false, edges, fields, beta),
            Form::Potts { sites, arity, edges, fields } => {
                Numbers::Potts { arity: *arity, sparse: Rows::new(*sites, edges, fields, beta) }
            }
            Form::Gaussian { arity, edges, diagonal, centre } => Numbers::Gaussian {
                arity: *arity,
                centre: centre.clone(),
                sparse: Rows::new(centre.len(), edges, diagonal, beta),
            },
            Form::Factors { arities, tables } => {
                let (tables, temperature) = if never == f32::NEG_INFINITY {
                    (tables.clone(), temperature.into())
                } else {
                    softened(arities.len(), tables, temperature.into())
                };
                let network = Network { preamble: Preamble::Markov, arities: arities.clone(), tables };
                Numbers::Factors(network.logarithms(temperature, never))
            }
            Form::Rbm { weights, visible, hidden } => {
                rest = beta;
                let units = hidden.len();
                let flips = weights.chunks(units.max(1)).zip(visible);
                let most = flips.map(|(row, own)| row.iter().map(|w| w.abs()).sum::<f32>() + own.abs());
                Self::fine(temperature, units, most.fold(0.0, f32::max))?;
                let blocks = Rbm::row_blocks(units);
                let mut rows = avec![[0.0; LANES]; blocks * visible.len()];
                let mut biases = vec![[0.0; LANES]; blocks];
                let packed =
                    pack_rows(weights, units, &mut rows).and_then(|()| pack_rows(hidden, units, &mut biases));
                packed.map_err(Error::model)?;
                let room = avec![[0; LANES]; CoarseRbm::room_len(visible.len(), units)];
                // Block Gibbs has no other temperature.
                let columns = if beta == 1.0 { Rbm::columns_len(visible.len(), units) } else { 0 };
                let columns = avec![[0; LANES]; columns];
                Numbers::Rbm { weights: rows, visible: visible.clone(), hidden: biases, units, room, columns }
            }
            Form::Logistic { design, outcomes, prior } => {
                rest = beta;
                let flip = |site: usize| {
                    let column = design.iter().skip(site).step_by(prior.len().max(1));
                    column.map(|x| x.abs()).sum::<f32>() + prior[site].abs()
                };
                Self::fine(temperature, outcomes.len(), (0..prior.len()).map(flip).fold(0.0, f32::max))?;
                let blocks = Logistic::row_blocks(outcomes.len());
                let mut rows = avec![[0.0; LANES]; blocks * prior.len()];
                Logistic::pack(design, outcomes, &mut rows).map_err(Error::model)?;
                let offsets = vec![[0.0; LANES]; blocks];
                Numbers::Logistic { rows, prior: prior.clone(), offsets, observations: outcomes.len() }
            }
            Form::Polynomial { scale, sites, terms } => {
                let long = terms.iter().map(|(sites, _)| sites.len()).filter(|&length| length > 1);
                let (count, members) = long.fold((0, 0), |(count, all), length| (count + 1, all + length));
                Numbers::Polynomial(Terms {
                    scale: *scale,
                    terms: terms.iter().map(|(sites, w)| (sites.clone(), w * beta)).collect(),
                    sites: vec![[0; 2]; *sites],
                    long: vec![[0; 2]; count],
                    members: vec![[0; 2]; members],
                })
            }
            Form::Own(own) => {
                rest = beta;
                Numbers::Own(own.clone())
            }
        };
        Ok(Self { numbers, beta: rest })
    }

    /// Refuses a temperature at which the rounding of so many logarithms is no longer small against T, nor against the
    /// most that a flip changes.
    fn fine(temperature: f32, logarithms: usize, most: f32) -> Result<(), Error> {
        let rounding = f32::EPSILON * (logarithms as f32).sqrt();
        if rounding > 1e-3 * temperature && rounding > 1e-4 * most {
            return Err(Error::model(format!(
                "temperature {temperature}: energies are rounded by {rounding:.0e}, and a flip changes them by {most:.0e} at most"
            )));
        }
        Ok(())
    }

    fn ising(spins: bool, edges: &[Edge], fields: &[f32], beta: f32) -> Numbers {
        Numbers::Ising { spins, sparse: Rows::new(fields.len(), edges, fields, beta) }
    }

    /// β that is still to be applied.
    pub(crate) fn beta(&self) -> f32 {
        self.beta
    }

    /// The energy; what the kernel refuses is told in its own words.
    pub(crate) fn ready(&mut self) -> Result<Ready<'_>, Error> {
        Ok(match &mut self.numbers {
            Numbers::Ising { spins, sparse } => {
                let Rows { sites, edges, fields, ends, linear, entries } = sparse;
                let (edges, buffers) = (edges.iter().copied(), SparseBuffers::new(ends, linear, entries));
                let made = if *spins {
                    Ising::spins_edges_once(*sites, edges, fields, buffers)
                } else {
                    Ising::bits_edges_once(*sites, edges, fields, buffers)
                };
                Ready::Ising(made.map_err(Error::model)?)
            }
            Numbers::Potts { arity, sparse } => {
                let Rows { sites, edges, fields, ends, linear, entries } = sparse;
                let buffers = SparseBuffers::new(ends, linear, entries);
                let made = Potts::new(*sites, *arity, edges.iter().copied(), fields, buffers);
                Ready::Potts(made.map_err(Error::model)?)
            }
            Numbers::Gaussian { arity, centre, sparse } => {
                let Rows { sites, edges, fields, ends, linear, entries } = sparse;
                let buffers = SparseBuffers::new(ends, linear, entries);
                let edges = edges.iter().copied();
                let made = LatticeGaussian::sparse(*sites, *arity, edges.clone(), fields, centre, buffers);
                let made = made.map_err(Error::model)?;
                keeps_its_softest(&made, edges, fields)?;
                Ready::Gaussian(made)
            }
            Numbers::Rbm { weights, visible, hidden, units, room, columns } => {
                let mut model = Rbm::new(weights, visible, hidden, *units).map_err(Error::model)?;
                if !columns.is_empty() {
                    model = model.with_columns(columns).map_err(Error::model)?;
                }
                Ready::Rbm(model, CoarseRbm::new(model, room).map_err(Error::model)?)
            }
            Numbers::Factors(tables) => Ready::Factors(tables.model().map_err(Error::model)?),
            Numbers::Logistic { rows, prior, offsets, observations } => {
                Ready::Logistic(Logistic::new(rows, prior, offsets, *observations).map_err(Error::model)?)
            }
            Numbers::Polynomial(Terms { scale, terms, sites, long, members }) => {
                let count = sites.len();
                let terms = terms.iter().map(|(sites, w)| (sites, *w));
                let buffers = PolynomialBuffers::new(sites, long, members);
                let made = match scale {
                    Scale::Bits => Polynomial::bits(count, terms, buffers),
                    Scale::Spins => Polynomial::spins(count, terms, buffers),
                };
                Ready::Polynomial(made.map_err(Error::model)?)
            }
            Numbers::Own(own) => Ready::Own(&*own.0),
        })
    }
}
