//! Random small models: their energies in float64, and the kernel's.

use super::memory;
use super::table::{ByHand, Table};
use crate::factors::Graph;
use crate::heap::{self, Couplings, Weights};
use crate::lattice::Quadratic;
use crate::learning::Lesson;
use crate::models::{Source, pairwise};
use crate::naive::{Convention, Independent, Machine, Pairwise, Target, softplus};
use crate::network::Network;
use crate::polynomial::{Terms, Weights as Draw};
use bitmc::energy::{Boltzmann, CoarseRbm, Entry, Sparse, SparseError, Tempered, pack_rows};
use bitmc::lane::{Block, LANES};
use bitmc::{
    Bernoulli, Energy, Ising, Kind, LatticeGaussian, Layout, Logistic, Modes, Packed, Plain, Potts, Quartic,
    Rbm,
};

/// States that a model has at most.
const MOST_STATES: usize = 256;

/// Sites, their arities, and the numbers of states: site 0 fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The layout.
    pub(crate) layout: Layout,
    /// Values of every site.
    pub(crate) arities: Vec<usize>,
    /// What an energy says of them: nothing where all have the layout's.
    pub(crate) given: Option<Vec<u16>>,
}

impl Shape {
    fn same(layout: Layout) -> Self {
        Self { layout, arities: vec![layout.arity(); layout.sites()], given: None }
    }

    fn mixed(layout: Layout, arities: &[u16]) -> Self {
        let values = arities.iter().map(|&arity| arity.into()).collect();
        Self { layout, arities: values, given: Some(arities.to_vec()) }
    }

    /// 1 to 8 sites of 1 to 5 values. One in twelve has one or two sites of at least [`Layout::MANY`] values.
    fn random(source: &mut Source) -> Self {
        if source.one_in(12) {
            let arity = Layout::MANY + source.below(30);
            let sites = 1 + source.below(2);
            let layout = if source.one_in(2) {
                Layout::ordinal(sites, arity)
            } else {
                Layout::categorical(sites, arity)
            };
            return if sites == 1 { Self::same(layout) } else { Self::mixed(layout, &[arity as u16, 2]) };
        }
        let most = source.pick(&[2, 2, 3, 3, 4, 5]);
        let mixed = source.one_in(2);
        let kind = source.below(if most == 2 { 4 } else { 2 });
        let mut arities: Vec<u16> = vec![];
        let mut states = 1;
        for _ in 0..1 + source.below(8) {
            let arity = if mixed { 1 + source.below(most) } else { most };
            if states * arity > MOST_STATES {
                break;
            }
            states *= arity;
            arities.push(arity as u16);
        }
        let sites = arities.len();
        let layout = match kind {
            0 => Layout::categorical(sites, most),
            1 => Layout::ordinal(sites, most),
            _ => Layout::binary(sites),
        };
        if mixed { Self::mixed(layout, &arities) } else { Self::same(layout) }
    }

    /// States.
    #[must_use]
    pub(crate) fn states(&self) -> usize {
        self.arities.iter().product()
    }

    /// The value of a site.
    #[must_use]
    pub(crate) fn value(&self, state: usize, site: usize) -> usize {
        state / self.arities[..site].iter().product::<usize>() % self.arities[site]
    }

    /// The values of all sites.
    #[must_use]
    pub(crate) fn values(&self, state: usize) -> Vec<usize> {
        (0..self.arities.len()).map(|site| self.value(state, site)).collect()
    }

    /// The state with another value of a site.
    #[must_use]
    pub(crate) fn with(&self, state: usize, site: usize, value: usize) -> usize {
        let stride: usize = self.arities[..site].iter().product();
        let value = value.min(self.arities[site] - 1);
        state - self.value(state, site) * stride + value * stride
    }

    /// The words of a state.
    ///
    /// # Panics
    /// Where there is no such state.
    #[must_use]
    pub(crate) fn words(&self, state: usize) -> Vec<u32> {
        let values: Vec<f64> = self.values(state).iter().map(|&value| value as f64).collect();
        heap::pack_in(self.layout, &values)
    }

    /// The number of a state; `None` where its words, bits past the last site included, are those of no state.
    #[must_use]
    pub(crate) fn number(&self, x: Packed<'_>) -> Option<usize> {
        let x = Packed::new(self.layout, x.words()).ok()?;
        let (mut number, mut stride) = (0, 1);
        for (value, &arity) in x.values().zip(&self.arities) {
            let value = value as usize;
            if value >= arity {
                return None;
            }
            number += stride * value;
            stride *= arity;
        }
        Some(number)
    }
}

/// A path from a base to the model: `βE + (1 − β)E₀`.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// θ of the base.
    pub(crate) fields: Vec<f32>,
    /// β.
    pub(crate) beta: f32,
}

/// A model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// What it is, for reports.
    pub(crate) kind: &'static str,
    /// Its states.
    pub(crate) shape: Shape,
    /// `E` of every state in float64.
    pub(crate) energies: Vec<f64>,
    /// The sum of the sizes of its terms.
    pub(crate) size: f64,
    /// Whether samplers may count faults: gradients that are infinite, or whose products are.
    pub(crate) wild: bool,
    /// Where it is tempered.
    pub(crate) path: Option<Path>,
    form: Form,
}

/// What it is made of.
#[derive(Clone, Debug)]
enum Form {
    Function(Table),
    ByHand(Table),
    Ising(Pairwise),
    Rows(Rows),
    Boltzmann(Pairwise),
    Bernoulli(Independent),
    Rbm(Machine),
    Coarse(Machine),
    Logistic(Machine, Vec<bool>),
    Potts { edges: Vec<(u32, u32, f32)>, fields: Vec<f32> },
    Factors(Graph),
    Polynomial(Terms),
    Sparse(Quadratic),
    Dense(Quadratic),
    Quartic(Mixture),
    Network(Network),
    Perceptron(usize, f64, u64),
    Modes { means: Vec<[f32; 2]>, width: f32, floor: Option<f32> },
}

/// Couplings and fields in whole numbers of 2^exponent.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// Ends of the rows.
    pub(crate) ends: Vec<u32>,
    /// Their entries.
    pub(crate) entries: Vec<Entry>,
    /// The fields.
    pub(crate) linear: Vec<i32>,
    /// Of the unit.
    pub(crate) exponent: i32,
}

#[derive(Clone, Debug)]
struct Mixture {
    map: Vec<f32>,
    centres: Vec<f32>,
    coordinates: usize,
}

/// The kernel's model.
#[derive(Clone, Copy)]
pub(crate) enum Built<'a> {
    /// Of any kind.
    Any(&'a dyn Energy),
    /// With samplers of its own.
    Ising(&'a Ising<'a>),
    /// With samplers of its own.
    Potts(&'a Potts<'a>),
    /// With a sampler of its own.
    Rbm(&'a Rbm<'a>),
}

impl Model {
    /// Any model.
    pub(crate) fn random(source: &mut Source) -> Self {
        let mut model = match source.below(25) {
            0..=4 => Self::table(source, false),
            5..=7 => Self::table(source, true),
            8..=10 => Self::ising(source),
            11 | 12 => Self::rows(source),
            13 => Self::boltzmann(source),
            14 => Self::bernoulli(source),
            15 | 16 => Self::machine(source),
            17 | 18 => Self::potts(source),
            19 => Self::factors(source),
            20 => Self::gaussian(source),
            21 => Self::quartic(source),
            22 => Self::network(source),
            23 => Self::polynomial(source),
            _ => Self::modes(source),
        };
        if source.one_in(8) {
            model.temper(source);
        }
        model
    }

    fn new(kind: &'static str, shape: Shape, size: f64, form: Form, energy: impl Fn(&[usize]) -> f64) -> Self {
        let energies = (0..shape.states()).map(|state| energy(&shape.values(state))).collect();
        Self { kind, shape, energies, size, wild: false, path: None, form }
    }

    fn binary(kind: &'static str, size: f64, target: &dyn Target, form: Form) -> Self {
        let shape = Shape::same(Layout::binary(target.sites()));
        Self::new(kind, shape, size, form, |x| target.energy(&floats(x)))
    }

    fn table(source: &mut Source, by_hand: bool) -> Self {
        let table = Table::random(&Shape::random(source), source);
        let energies: Vec<f64> = table.totals.iter().map(|&total| total.into()).collect();
        let size = energies.iter().filter(|e| e.is_finite()).fold(0.0, |most: f64, e| most.max(e.abs()));
        let (shape, wild) = (table.shape.clone(), table.wild());
        let (kind, form) =
            if by_hand { ("energy by hand", Form::ByHand(table)) } else { ("function", Form::Function(table)) };
        Self { kind, shape, energies, size, wild, path: None, form }
    }

    /// One of a table, for chains that are told their energies.
    pub(crate) fn tabulated(source: &mut Source) -> Self {
        Self::table(source, true)
    }

    /// Its table.
    ///
    /// # Panics
    /// Where it has none.
    pub(crate) fn the_table(&self) -> &Table {
        match &self.form {
            Form::Function(table) | Form::ByHand(table) => table,
            _ => panic!("a model of a table"),
        }
    }

    fn ising(source: &mut Source) -> Self {
        let convention = source.pick(&Convention::ALL);
        let mut target = couplings(convention, source);
        if source.one_in(4) {
            // One size of couplings and one of fields, as sliced and discrete samplers want.
            let (coupling, field) = (source.pick(&[0.25, 0.5, 1.0]), source.pick(&[0.0, 0.25, 0.5]));
            target.edges.iter_mut().for_each(|edge| edge.2 = f32::copysign(coupling, edge.2));
            target.fields.iter_mut().for_each(|w| *w = f32::copysign(field, *w));
        }
        if source.one_in(6) {
            far_bias(&mut target, source);
        }
        Self::binary("Ising", size_of(&target), &target, Form::Ising(target.clone()))
    }

    fn boltzmann(source: &mut Source) -> Self {
        let convention = source.pick(&[Convention::SpinsEdgesOnce, Convention::BitsEdgesOnce]);
        let target = couplings(convention, source);
        Self::binary("Boltzmann", size_of(&target), &target, Form::Boltzmann(target.clone()))
    }

    fn rows(source: &mut Source) -> Self {
        let rows = Rows::random(source);
        let shape = Shape::same(Layout::binary(rows.linear.len()));
        let sizes = rows.entries.iter().map(|e| f64::from(e.coupling).abs());
        let sizes = sizes.chain(rows.linear.iter().map(|&b| f64::from(b).abs()));
        let size = sizes.sum::<f64>() * f64::from(rows.exponent).exp2();
        let form = Form::Rows(rows.clone());
        Self::new("rows of whole numbers", shape, size, form, |x| rows.energy(x))
    }

    fn bernoulli(source: &mut Source) -> Self {
        let sd = source.pick(&[0.5, 3.0]);
        let mut logits: Vec<f32> = (0..1 + source.below(8)).map(|_| source.normal(sd)).collect();
        if source.one_in(4) {
            logits[0] = source.pick(&[1e9, -1e9, 80.0, -100.0]);
        }
        let target = Independent { logits };
        let size = target.logits.iter().map(|&l| f64::from(l.abs())).sum();
        Self::binary("Bernoulli", size, &target, Form::Bernoulli(target.clone()))
    }

    fn machine(source: &mut Source) -> Self {
        let most = source.pick(&[2, 6, 20]);
        let (visible, hidden) = (1 + source.below(6), 1 + source.below(most));
        let sd = source.pick(&[0.3, 1.0, 3.0]);
        let fine = source.one_in(2);
        let mut draw = |count: usize| -> Vec<f32> {
            (0..count).map(|_| if fine { source.normal(sd) } else { source.coarse(sd) }).collect()
        };
        let mut machine =
            Machine { weights: draw(visible * hidden), visible: draw(visible), hidden: draw(hidden) };
        let kind = source.below(6);
        if kind < 4 && source.one_in(3) {
            // The weights lose digits to a far bias.
            let bias = source.pick(&[1e9, 1e9, -1e9, 5e8, 1e8, 1e6]);
            match source.below(3) {
                0 => machine.visible[source.below(visible)] = bias,
                _ => machine.hidden[source.below(hidden)] = bias,
            }
        }
        let rounded = Rounded::new(&machine);
        let sizes = [&machine.weights, &machine.visible, &machine.hidden].into_iter().flatten();
        let size = sizes.map(|&w| f64::from(w.abs())).sum::<f64>() + hidden as f64;
        match kind {
            0..=2 => Self::new("RBM", rounded.shape(), size, Form::Rbm(machine), |x| rounded.energy(x)),
            3 => Self::new("RBM, coarse", rounded.shape(), size, Form::Coarse(machine), |x| rounded.energy(x)),
            _ => {
                // The signs of a row are its outcome's; the energy is the machine's with the other sign.
                let outcomes: Vec<bool> = (0..hidden).map(|_| source.one_in(2)).collect();
                let mut signed = machine.clone();
                for (row, &outcome) in outcomes.iter().enumerate().filter(|(_, outcome)| **outcome) {
                    assert!(outcome);
                    (0..visible).for_each(|site| signed.weights[site * hidden + row] *= -1.0);
                }
                let rounded = Rounded::new(&signed);
                let form = Form::Logistic(machine, outcomes);
                Self::new("logistic regression", rounded.shape(), size, form, |x| 0.0 - rounded.energy(x))
            }
        }
    }

    fn potts(source: &mut Source) -> Self {
        let arity = 2 + source.below(4);
        let sites = 1 + source.below([7, 5, 4, 3][arity - 2]);
        let target = sized(Convention::BitsEdgesOnce, sites, source);
        let mut fields: Vec<f32> =
            if source.one_in(3) { vec![] } else { (0..sites * arity).map(|_| source.coarse(1.0)).collect() };
        let mut edges = target.edges;
        if source.one_in(6) && !fields.is_empty() {
            let (at, bias) = (source.below(fields.len()), source.pick(&[1e9, -1e9, 1e6]));
            edges.iter_mut().for_each(|edge| edge.2 = edge.2.round());
            fields.iter_mut().for_each(|w| *w = w.round());
            fields[at] = bias;
        }
        let energy = |x: &[usize]| {
            let agree = edges.iter().filter(|edge| x[edge.0 as usize] == x[edge.1 as usize]);
            let own = x.iter().enumerate().filter_map(|(site, &value)| fields.get(site * arity + value));
            -agree.map(|edge| f64::from(edge.2)).sum::<f64>() - own.map(|&w| f64::from(w)).sum::<f64>()
        };
        let sizes = edges.iter().map(|edge| edge.2).chain(fields.iter().copied());
        let size = sizes.map(|w| f64::from(w.abs())).sum();
        let shape = Shape::same(Layout::categorical(sites, arity));
        let form = Form::Potts { edges: edges.clone(), fields: fields.clone() };
        Self::new("Potts", shape, size, form, energy)
    }

    fn factors(source: &mut Source) -> Self {
        let mut arities: Vec<u16> = vec![];
        for _ in 0..1 + source.below(6) {
            let arity = 1 + source.below(5) as u16;
            if arities.iter().chain([&arity]).map(|&arity| usize::from(arity)).product::<usize>() <= MOST_STATES
            {
                arities.push(arity);
            }
        }
        let (sd, walls) = (source.pick(&[0.3, 1.0, 3.0]), source.pick(&[0.0, 0.0, 0.1, 0.3]));
        let graph = Graph::random(&arities, sd, walls, source.one_in(2), source.word().into());
        let most = arities.iter().copied().max().unwrap_or(2);
        let shape = Shape::mixed(Layout::categorical(arities.len(), most.into()), &arities);
        let size = graph.reach() * arities.len() as f64;
        let form = Form::Factors(graph.clone());
        Self::new("factors", shape, size, form, |x| graph.energy(x))
    }

    /// Weights on the grid of 1/64, or one far away and whole numbers beside it.
    fn polynomial(source: &mut Source) -> Self {
        let (sites, order) = (1 + source.below(8), 1 + source.below(5));
        let shape = (sites, source.below(4 * sites), order);
        let (spins, sd) = (source.one_in(2), source.pick(&[0.3, 1.0, 3.0]));
        let far = source.one_in(6);
        let weights = if far { Draw::Whole } else { Draw::Coarse };
        let mut terms = Terms::random(spins, shape, weights, sd, source);
        if far && let Some(term) = terms.terms.first_mut() {
            term.1 = source.pick(&[1e9, -1e9, 1e6]);
        }
        Self::binary("polynomial", terms.size(), &terms, Form::Polynomial(terms.clone()))
    }

    fn gaussian(source: &mut Source) -> Self {
        let arity = 2 + source.below(4);
        let sites = 1 + source.below([7, 5, 4, 3][arity - 2]);
        let sd = source.pick(&[0.1, 0.5, 2.0]);
        let target = Quadratic::random(sites, arity, 0.7, sd, true, source.word().into());
        let reach = arity as f64 * 1.5;
        let size = target.matrix.iter().map(|a| f64::from(a.abs())).sum::<f64>() * reach * reach;
        let shape = Shape::same(Layout::ordinal(sites, arity));
        let dense = source.one_in(2);
        let form = if dense { Form::Dense(target.clone()) } else { Form::Sparse(target.clone()) };
        let kind = if dense { "Gaussian, dense" } else { "Gaussian, sparse" };
        Self::new(kind, shape, size, form, |x| target.energy(&floats(x)))
    }

    fn quartic(source: &mut Source) -> Self {
        let arity = 2 + source.below(4);
        let sites = 1 + source.below([7, 5, 4, 3][arity - 2]);
        let (coordinates, components) = (1 + source.below(3), 1 + source.below(3));
        let map: Vec<f32> = (0..sites * coordinates).map(|_| source.coarse(0.3)).collect();
        let centres: Vec<f32> = (0..components * coordinates).map(|_| source.coarse(0.7)).collect();
        let mixture = Mixture { map, centres, coordinates };
        let shape = Shape::same(Layout::ordinal(sites, arity));
        let form = Form::Quartic(mixture.clone());
        let mut model = Self::new("quartic", shape, 0.0, form, |x| mixture.energy(x));
        model.size = model.energies.iter().fold(1.0, |most: f64, e| most.max(e.abs()));
        model
    }

    fn network(source: &mut Source) -> Self {
        if source.one_in(2) {
            let (sites, seed) = (1 + source.below(7), source.word().into());
            let lesson = Lesson::perceptron(widths(sites), 1.0, seed);
            let shape = Shape::same(Layout::binary(sites));
            let form = Form::Perceptron(sites, 1.0, seed);
            let mut model = Self::new("perceptron", shape, 0.0, form, |x| lesson.energy(&lesson.theta, x));
            model.size = 4.0 * model.energies.iter().fold(1.0, |most: f64, e| most.max(e.abs()));
            return model;
        }
        let (units, columns) = source.pick(&[(1, 1), (2, 1), (2, 2), (1, 4)]);
        let network = Network::random(1 + source.below(6), columns, units, 0.5, source.word().into());
        let mut model = Self::binary("binary network", 0.0, &network, Form::Network(network.clone()));
        model.size = 4.0 * model.energies.iter().fold(1.0, |most: f64, e| most.max(e.abs()));
        model
    }

    fn modes(source: &mut Source) -> Self {
        let arity = 2 + source.below(14);
        let means: Vec<[f32; 2]> = (0..1 + source.below(4))
            .map(|_| [(); 2].map(|()| source.uniform() as f32 * arity as f32))
            .collect();
        let width = source.pick(&[0.5, 2.0, 10.0]);
        let floor = if source.one_in(2) { None } else { Some(source.pick(&[0.0, 1e-3])) };
        let energy = |x: &[usize]| {
            let distance = |mean: &[f32; 2]| {
                mean.iter().zip(x).map(|(&m, &x)| (x as f64 - f64::from(m)).powi(2)).sum::<f64>()
            };
            let width = f64::from(width);
            let heights = means.iter().map(|mean| match floor {
                None => (-distance(mean) / (2.0 * width)).exp(),
                Some(_) => (-distance(mean).sqrt() / width).exp(),
            });
            -(f64::from(floor.unwrap_or(0.0)) + heights.sum::<f64>()).ln()
        };
        let shape = Shape::same(Layout::ordinal(2, arity));
        let form = Form::Modes { means: means.clone(), width, floor };
        let mut model = Self::new("modes", shape, 0.0, form, energy);
        model.size = 8.0 * model.energies.iter().fold(1.0, |most: f64, e| most.max(e.abs()));
        model
    }

    fn temper(&mut self, source: &mut Source) {
        let (layout, values) = (self.shape.layout, self.shape.layout.kind() == Kind::Categorical);
        let row = if values { layout.arity() } else { 1 };
        let count = if source.one_in(2) { 0 } else { layout.sites() * row };
        let fields: Vec<f32> = (0..count).map(|_| source.coarse(1.0)).collect();
        let beta = source.pick(&[0.0, 0.25, 0.5, 0.9, 1.0, 1.5]);
        let theta = |site: usize, value: usize| {
            let at = |index: usize| fields.get(index).map_or(0.0, |&w| f64::from(w));
            if values { at(site * row + value) } else { at(site) * value as f64 }
        };
        for (state, energy) in self.energies.iter_mut().enumerate().filter(|(_, energy)| energy.is_finite()) {
            let base: f64 = self.shape.values(state).iter().enumerate().map(|(site, &x)| -theta(site, x)).sum();
            *energy = f64::from(beta) * *energy + (1.0 - f64::from(beta)) * base;
        }
        self.size += fields.iter().map(|w| f64::from(w.abs())).sum::<f64>();
        // 0 · ∞ and ∞ − ∞ come before a sampler sees them.
        self.path = Some(Path { fields, beta });
    }

    /// What the kernel makes of it, in memory that was used before; an error where it is refused.
    ///
    /// # Errors
    /// The kernel's, in words.
    pub(crate) fn with<T>(&self, source: &mut Source, see: impl FnOnce(Built<'_>) -> T) -> Result<T, String> {
        let Some(path) = &self.path else { return self.form.with(&self.shape, source, see) };
        self.form.with(&self.shape, source, |built| {
            let energy = built.any();
            let tempered =
                Tempered::from_base(energy, &path.fields, path.beta).map_err(|error| error.to_string())?;
            Ok(see(Built::Any(&tempered)))
        })?
    }

    /// In words, for reports.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        let path = self.path.as_ref().map_or(String::new(), |path| format!(", tempered β {}", path.beta));
        let slope = match &self.form {
            Form::Function(table) | Form::ByHand(table) => format!(", {:?} slopes", table.slope),
            _ => String::new(),
        };
        let kind = self.shape.layout.kind();
        let allowed = || self.energies.iter().copied().filter(|energy| energy.is_finite());
        let (least, most) =
            (allowed().fold(f64::INFINITY, f64::min), allowed().fold(f64::NEG_INFINITY, f64::max));
        let forbidden = self.energies.len() - allowed().count();
        format!(
            "{}{slope}{path}, {kind:?} sites of {:?} values, energies {least:.4} to {most:.4}, {forbidden} forbidden",
            self.kind, self.shape.arities
        )
    }
}

impl Built<'_> {
    /// As any energy.
    #[must_use]
    pub(crate) fn any(&self) -> &dyn Energy {
        match *self {
            Self::Any(energy) => energy,
            Self::Ising(energy) => energy,
            Self::Potts(energy) => energy,
            Self::Rbm(energy) => energy,
        }
    }
}

impl Form {
    fn with<T>(
        &self,
        shape: &Shape,
        source: &mut Source,
        see: impl FnOnce(Built<'_>) -> T,
    ) -> Result<T, String> {
        fn said(error: impl std::fmt::Display) -> String {
            error.to_string()
        }
        match self {
            Self::Function(table) => Ok(see(Built::Any(&Plain(table)))),
            Self::ByHand(table) => Ok(see(Built::Any(&ByHand(table)))),
            Self::Ising(target) => {
                let mut couplings = Couplings::new(target.fields.len(), target.edges.len());
                let model = couplings.ising(target).map_err(said)?;
                Ok(see(Built::Ising(&model)))
            }
            Self::Rows(rows) => {
                let spare = rows.spare();
                Ok(see(Built::Ising(&Ising::quadratic(rows.form(&spare).map_err(said)?))))
            }
            Self::Boltzmann(target) => {
                let sites = target.fields.len();
                let mut parameters = vec![[0.0; LANES]; Boltzmann::parameter_len(sites)];
                let slots = parameters.as_flattened_mut();
                slots[..sites].copy_from_slice(&target.fields);
                for &(a, b, coupling) in &target.edges {
                    let at = Boltzmann::coupling(sites, a as usize, b as usize).expect("a pair has a place");
                    slots[at] = coupling;
                }
                let mut rows = memory::bits(Boltzmann::memory_len(sites), source);
                let make = match target.convention {
                    Convention::BitsEdgesOnce => Boltzmann::bits,
                    _ => Boltzmann::spins,
                };
                Ok(see(Built::Any(&make(&parameters, sites, &mut rows).map_err(said)?)))
            }
            Self::Bernoulli(target) => {
                let model = Bernoulli::new(&target.logits).ok_or("logits are refused")?;
                Ok(see(Built::Any(&model)))
            }
            Self::Rbm(machine) => {
                let weights = Weights::new(machine).map_err(said)?;
                let model = weights.rbm().map_err(said)?;
                if source.one_in(2) {
                    return Ok(see(Built::Rbm(&model)));
                }
                let length = Rbm::columns_len(model.visible_units(), model.hidden_units());
                let mut room = memory::bits(length, source);
                Ok(see(Built::Rbm(&model.with_columns(&mut room).map_err(said)?)))
            }
            Self::Coarse(machine) => {
                let weights = Weights::new(machine).map_err(said)?;
                let exact = weights.rbm().map_err(said)?;
                let length = CoarseRbm::room_len(exact.visible_units(), exact.hidden_units());
                let mut room = memory::bits(length, source);
                Ok(see(Built::Any(&CoarseRbm::new(exact, &mut room).map_err(said)?)))
            }
            Self::Logistic(machine, outcomes) => {
                let (sites, rows) = (machine.visible.len(), outcomes.len());
                let design: Vec<f32> =
                    (0..rows * sites).map(|at| machine.weights[at % sites * rows + at / sites]).collect();
                let mut blocks = memory::blocks(sites * Logistic::row_blocks(rows), source);
                Logistic::pack(&design, outcomes, &mut blocks).map_err(said)?;
                let mut offsets = vec![[0.0; LANES]; Logistic::row_blocks(rows)];
                offsets.as_flattened_mut()[..rows].copy_from_slice(&machine.hidden);
                let model = Logistic::rounded(&blocks, &machine.visible, &offsets, rows).map_err(said)?;
                Ok(see(Built::Any(&model)))
            }
            Self::Potts { edges, fields } => {
                let (sites, arity) = (shape.layout.sites(), shape.layout.arity());
                let mut couplings = Couplings::new(sites, edges.len());
                let edges = edges.iter().copied();
                let model = Potts::new(sites, arity, edges, fields, couplings.borrow()).map_err(said)?;
                Ok(see(Built::Potts(&model)))
            }
            Self::Factors(graph) => {
                let mut compiled = graph.compiled();
                Ok(see(Built::Any(&compiled.model().map_err(said)?)))
            }
            Self::Polynomial(terms) => {
                let mut memory = terms.memory();
                Ok(see(Built::Any(&terms.model(memory.borrow()).map_err(said)?)))
            }
            Self::Sparse(target) => {
                let mut couplings = Couplings::new(target.centre.len(), target.edges().len());
                Ok(see(Built::Any(&target.sparse(&mut couplings).map_err(said)?)))
            }
            Self::Dense(target) => {
                let rows = target.rows();
                let model: LatticeGaussian<'_> = target.dense(&rows).map_err(said)?;
                Ok(see(Built::Any(&model)))
            }
            Self::Quartic(mixture) => {
                let blocks = |numbers: &[f32]| -> Vec<Block> {
                    let rows = numbers.len() / mixture.coordinates;
                    let mut blocks = memory::blocks(rows * Quartic::row_blocks(mixture.coordinates), source);
                    pack_rows(numbers, mixture.coordinates, &mut blocks).expect("the lengths fit");
                    blocks
                };
                let mut blocks = blocks;
                let (map, centres) = (blocks(&mixture.map), blocks(&mixture.centres));
                let model =
                    Quartic::new(&map, &centres, mixture.coordinates, shape.layout.arity()).map_err(said)?;
                Ok(see(Built::Any(&model)))
            }
            Self::Network(network) => Ok(see(Built::Any(&network.model().map_err(said)?))),
            &Self::Perceptron(sites, sd, seed) => {
                let lesson = Lesson::perceptron(widths(sites), sd, seed);
                Ok(lesson.with(&lesson.theta, |model| see(Built::Any(model))))
            }
            Self::Modes { means, width, floor } => {
                let arity = shape.layout.arity();
                let model = match floor {
                    None => Modes::normal(means, arity, *width),
                    Some(floor) => Modes::exponential(means, arity, *width, *floor),
                };
                Ok(see(Built::Any(&model.map_err(said)?)))
            }
        }
    }
}

/// Sites and one hidden layer.
fn widths(sites: usize) -> &'static [usize] {
    const ALL: [[usize; 2]; 7] = [[1, 5], [2, 4], [3, 3], [4, 17], [5, 2], [6, 3], [7, 4]];
    &ALL[sites - 1]
}

fn floats(x: &[usize]) -> Vec<f64> {
    x.iter().map(|&x| x as f64).collect()
}

fn couplings(convention: Convention, source: &mut Source) -> Pairwise {
    let sites = 1 + source.below(8);
    sized(convention, sites, source)
}

/// Couplings on the grid of 1/64, which fixed point holds exactly; some are 0.
fn sized(convention: Convention, sites: usize, source: &mut Source) -> Pairwise {
    let (density, sd) = (source.pick(&[0.0, 0.3, 0.7, 1.0]), source.pick(&[0.1, 0.4, 1.0, 3.0]));
    let mut model = pairwise(convention, sites, density, sd, source.word().into());
    if source.one_in(4) {
        model.edges.iter_mut().step_by(2).for_each(|edge| edge.2 = 0.0);
    }
    model
}

/// A bias far away on the grid: everything else is whole numbers, which the grid still holds.
pub(crate) fn far_bias(target: &mut Pairwise, source: &mut Source) {
    let (site, bias) = (source.below(target.fields.len()), source.pick(&[1e9, -1e9, 5e8, -1e6]));
    target.edges.iter_mut().for_each(|edge| edge.2 = edge.2.round());
    target.fields.iter_mut().for_each(|w| *w = w.round());
    target.fields[site] = bias;
}

/// What energies of a pairwise model do not pass.
fn size_of(model: &Pairwise) -> f64 {
    let edges = model.edges.iter().map(|edge| 16.0 * f64::from(edge.2.abs()));
    edges.chain(model.fields.iter().map(|w| 2.0 * f64::from(w.abs()))).sum()
}

impl Rows {
    /// Whole numbers of all sizes, in some models one coupling of `i32::MIN` a site.
    pub(crate) fn random(source: &mut Source) -> Self {
        let sites = 1 + source.below(7);
        let exponent = source.pick(&[-28, -26, -20, -10]);
        let sd = source.pick(&[0.3, 1.0, 3.0]) * f64::from(-exponent).exp2();
        let limit = (1i64 << 30) / (2 * sites as i64);
        let mut number = || ((f64::from(source.normal(1.0)) * sd) as i64).clamp(-limit, limit) as i32;
        let mut linear: Vec<i32> = (0..sites).map(|_| number()).collect();
        let mut matrix = vec![0; sites * sites];
        for (a, b) in (0..sites).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let coupling = number();
            (matrix[a * sites + b], matrix[b * sites + a]) = (coupling, coupling);
        }
        if source.one_in(3) {
            // The fields of such a pair are 2³⁰ and −2³⁰: the bound leaves no room for other couplings.
            for (a, b) in (0..sites / 2).map(|pair| (2 * pair, 2 * pair + 1)) {
                for other in 0..sites {
                    for site in [a, b] {
                        (matrix[site * sites + other], matrix[other * sites + site]) = (0, 0);
                    }
                }
                (matrix[a * sites + b], matrix[b * sites + a]) = (i32::MIN, i32::MIN);
                (linear[a], linear[b]) = (1 << 30, 1 << 30);
                if source.one_in(2) {
                    break;
                }
            }
        }
        let (mut ends, mut entries) = (vec![], vec![]);
        for row in matrix.chunks(sites) {
            let some = row.iter().enumerate().filter(|(_, coupling)| **coupling != 0);
            entries.extend(some.map(|(site, &coupling)| Entry { site: site as u32, coupling }));
            ends.push(entries.len() as u32);
        }
        Self { ends, entries, linear, exponent }
    }

    /// The entries without `i32::MIN`, which a constructor may refuse: two units less make no difference that is seen.
    pub(crate) fn spare(&self) -> Vec<Entry> {
        let least = |entry: &Entry| Entry { coupling: entry.coupling.max(i32::MIN + 2), ..*entry };
        self.entries.iter().map(least).collect()
    }

    /// The kernel's form: of the spare entries where the others are refused.
    ///
    /// # Errors
    /// As [`Sparse::from_rows`].
    pub(crate) fn form<'a>(&'a self, spare: &'a [Entry]) -> Result<Sparse<'a>, SparseError> {
        let of = |entries| Sparse::from_rows(&self.ends, entries, &self.linear, self.exponent);
        of(&self.entries).or_else(|_| of(spare))
    }

    /// `−(b·x + ½ xᵀKx)` in units of 2^exponent.
    #[must_use]
    pub(crate) fn energy(&self, x: &[usize]) -> f64 {
        let (mut twice, mut start) = (0, 0);
        for (site, &end) in self.ends.iter().enumerate() {
            let row = &self.entries[start..end as usize];
            start = end as usize;
            let pairs: i64 = row.iter().map(|e| i64::from(e.coupling) * x[e.site as usize] as i64).sum();
            twice += x[site] as i64 * (2 * i64::from(self.linear[site]) + pairs);
        }
        -0.5 * twice as f64 * f64::from(self.exponent).exp2()
    }
}

/// An RBM whose parameters are rounded as the documentation says: to 2⁻²² of the largest weight, or 2⁻³⁰ of the largest
/// pre-activation or visible bias.
struct Rounded {
    weights: Vec<f64>,
    visible: Vec<f64>,
    hidden: Vec<f64>,
}

impl Rounded {
    fn new(machine: &Machine) -> Self {
        let units = machine.hidden.len();
        let largest = machine.weights.iter().fold(0.0, |most: f32, w| most.max(w.abs()));
        let column = |unit: usize| {
            let column = machine.weights.iter().skip(unit).step_by(units);
            column.fold(machine.hidden[unit].abs(), |sum, w| sum + w.abs())
        };
        let reach = (0..units).map(column).chain(machine.visible.iter().map(|a| a.abs())).fold(0.0, f32::max);
        // The power of two above, or 2⁻¹²⁶ where there is nothing.
        let above = |value: f32| if value > 0.0 { f64::from(value).log2().floor() as i32 + 1 } else { -126 };
        let exponent = (above(largest) - 22).max(above(reach) - 30).max(-100);
        let unit = f64::from(exponent).exp2();
        let round = |&value: &f32| {
            let units = f64::from(value) / unit;
            // A float of more than 22 bits has one behind the point at most, which is cut.
            unit * if units.abs() < 4_194_304.0 { units.round_ties_even() } else { units.trunc() }
        };
        let all = |values: &[f32]| values.iter().map(round).collect();
        Self { weights: all(&machine.weights), visible: all(&machine.visible), hidden: all(&machine.hidden) }
    }

    fn shape(&self) -> Shape {
        Shape::same(Layout::binary(self.visible.len()))
    }

    fn energy(&self, x: &[usize]) -> f64 {
        let units = self.hidden.len();
        let linear: f64 = self.visible.iter().zip(x).map(|(a, &x)| a * x as f64).sum();
        let unit = |unit: usize| {
            let weights = self.weights.iter().skip(unit).step_by(units);
            softplus(self.hidden[unit] + weights.zip(x).map(|(w, &x)| w * x as f64).sum::<f64>())
        };
        -linear - (0..units).map(unit).sum::<f64>()
    }
}

impl Mixture {
    /// `−ln Σₖ exp(−Σᵢ (Qx − cₖ)ᵢ⁴)`.
    fn energy(&self, x: &[usize]) -> f64 {
        let place = |coordinate: usize| -> f64 {
            let column = self.map.iter().skip(coordinate).step_by(self.coordinates);
            column.zip(x).map(|(&q, &x)| f64::from(q) * x as f64).sum()
        };
        let places: Vec<f64> = (0..self.coordinates).map(place).collect();
        let powers = self
            .centres
            .chunks(self.coordinates)
            .map(|centre| centre.iter().zip(&places).map(|(&c, z)| (z - f64::from(c)).powi(4)).sum::<f64>());
        let powers: Vec<f64> = powers.collect();
        let least = powers.iter().copied().fold(f64::INFINITY, f64::min);
        least - powers.iter().map(|power| (least - power).exp()).sum::<f64>().ln()
    }
}
