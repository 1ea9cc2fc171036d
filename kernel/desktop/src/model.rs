//! Models that own their numbers.

use crate::Error;
use crate::formats::uai::Table;
use crate::parts::Parts;
use bitmc::energy::{Edge, PolynomialError};
use bitmc::{Energy, Layout};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// What is sampled: `p(x) ∝ e^(−E(x)/T)` over sites of a few values each. It owns its numbers, and has been checked.
///
/// | constructor | energy |
/// |---|---|
/// | [`ising`](Model::ising) | `E = −Σ J s s′ − Σ h s`, spins `s = 2x − 1` |
/// | [`qubo`](Model::qubo) | `E = Σ q x x′ + Σ c x`, bits |
/// | [`potts`](Model::potts) | `E = −Σ J [x = x′] − Σ w(x)` |
/// | [`rbm`](Model::rbm) | `E = −a·v − Σ ln(1 + e^(b + vᵀW))`, hidden units summed out |
/// | [`factors`](Model::factors) | `E = −Σ ln t(x, x′, x″)`, tables of weights |
/// | [`gaussian`](Model::gaussian) | `E = ½ (x − μ)ᵀA(x − μ)`, whole numbers |
/// | [`logistic`](Model::logistic) | `E = Σ a β + Σ ln(1 + e^(−m))`, which coefficients of a regression are there |
/// | [`polynomial_bits`](Model::polynomial_bits), [`polynomial_spins`](Model::polynomial_spins) | `E = Σ w Π x` or `Σ w Π s`, any order |
/// | [`own`](Model::own) | any [`Energy`] of yours |
/// | [`read`](Model::read) | a file |
///
/// ```
/// use bitmc_desktop::Model;
///
/// let model = Model::ising(3, &[(0, 1, 0.5), (1, 2, -0.5)], &[0.1, 0.0, 0.0])?;
/// assert_eq!(model.sites(), 3);
/// # Ok::<(), bitmc_desktop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) form: Form,
    /// What is added to every energy that is told.
    pub(crate) constant: f64,
    pub(crate) labels: Labels,
    /// Sites that are known, with their values.
    pub(crate) known: Vec<(usize, u32)>,
    pub(crate) rounding: Rounding,
}

/// From here on numbers of 32 bits are a sixty-fourth or more apart.
pub(crate) const COARSE: f32 = 131_072.0;

/// Rounds numbers to 32 bits, and adds up by how much.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounding(f64);

impl Rounding {
    pub(crate) fn of(&mut self, number: f64) -> f32 {
        let rounded = number as f32;
        self.0 += (number - f64::from(rounded)).abs();
        rounded
    }
}

/// A sentence that tells of rounding.
pub(crate) fn rounded(rounding: f64, and: &str) -> String {
    let digits = format!("{rounding:.2e}").parse().unwrap_or(rounding);
    format!("numbers of the model are rounded to 32 bits: energies may be off by up to {digits}{and}")
}

/// The numbers of a model.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// `E = −Σ J s s′ − Σ h s` over spins.
    Spins {
        edges: Vec<Edge>,
        fields: Vec<f32>,
    },
    /// `E = −Σ J x x′ − Σ h x` over bits.
    Bits {
        edges: Vec<Edge>,
        fields: Vec<f32>,
    },
    Potts {
        sites: usize,
        arity: usize,
        edges: Vec<Edge>,
        fields: Vec<f32>,
    },
    /// Weights row by row, a row for each visible unit.
    Rbm {
        weights: Vec<f32>,
        visible: Vec<f32>,
        hidden: Vec<f32>,
    },
    Factors {
        arities: Vec<u16>,
        tables: Vec<Table>,
    },
    Gaussian {
        arity: usize,
        edges: Vec<Edge>,
        diagonal: Vec<f32>,
        centre: Vec<f32>,
    },
    Logistic {
        design: Vec<f32>,
        outcomes: Vec<bool>,
        prior: Vec<f32>,
    },
    Polynomial {
        scale: Scale,
        sites: usize,
        terms: Vec<(Vec<u32>, f32)>,
    },
    Own(Own),
}

impl Model {
    /// Whether a table forbids states.
    pub(crate) fn forbids(&self) -> bool {
        matches!(&self.form, Form::Factors { tables, .. } if tables.iter().any(|table| table.weights.contains(&0.0)))
    }

    /// Whether all states have one energy, as the numbers say.
    pub(crate) fn is_flat(&self) -> bool {
        let none = |numbers: &[f32]| numbers.iter().all(|&number| number == 0.0);
        let uncoupled = |edges: &[Edge]| edges.iter().all(|&(.., coupling)| coupling == 0.0);
        match &self.form {
            Form::Spins { edges, fields }
            | Form::Bits { edges, fields }
            | Form::Potts { edges, fields, .. } => uncoupled(edges) && none(fields),
            Form::Rbm { weights, visible, .. } => none(weights) && none(visible),
            Form::Factors { tables, .. } => {
                tables.iter().all(|table| table.weights.iter().all(|weight| *weight == table.weights[0]))
            }
            Form::Gaussian { edges, diagonal, .. } => uncoupled(edges) && none(diagonal),
            Form::Logistic { design, prior, .. } => none(design) && none(prior),
            Form::Polynomial { terms, .. } => {
                terms.iter().all(|(sites, weight)| sites.is_empty() || *weight == 0.0)
            }
            Form::Own(_) => false,
        }
    }
}

/// What the variables of a polynomial are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// 0 and 1.
    Bits,
    /// −1 and 1.
    Spins,
}

/// An energy of the user.
#[derive(Clone)]
pub(crate) struct Own(pub(crate) Arc<dyn Energy + Send + Sync>);

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an energy of {:?}", self.0.layout())
    }
}

/// What sites are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labels {
    /// `site`, `vertex` or `variable`.
    pub(crate) word: &'static str,
    /// The number of the first one.
    pub(crate) first: usize,
    /// Their names, where a file has names.
    pub(crate) names: Option<Vec<String>>,
}

impl Labels {
    /// What a site is called.
    pub(crate) fn of(&self, site: usize) -> String {
        let name = self.names.as_ref().and_then(|names| names.get(site));
        name.cloned().unwrap_or_else(|| (site + self.first).to_string())
    }
}

impl Model {
    /// An Ising model, `E = −Σ J s s′ − Σ h s` over spins `s = 2x − 1`, from edges `(site, site, J)`, each counted once,
    /// and one field a site, or none. No two edges may join the same sites.
    ///
    /// # Errors
    /// [`Error::Model`] names the edge or the site that is wrong.
    pub fn ising(sites: usize, edges: &[Edge], fields: &[f32]) -> Result<Self, Error> {
        let fields = per_site(sites, fields, "fields")?;
        Self::checked(Form::Spins { edges: edges.to_vec(), fields })
    }

    /// An Ising model from a dense matrix of couplings, row by row: `E = −½ sᵀJs − h·s`. The matrix is symmetric, and its
    /// diagonal, a constant, must be 0.
    ///
    /// # Errors
    /// As [`Model::ising`]; [`Error::Model`] where the matrix is not square, not symmetric, or has a diagonal.
    pub fn ising_dense(couplings: &[f32], fields: &[f32]) -> Result<Self, Error> {
        let sites = side(couplings, "couplings")?;
        if let Some(site) = (0..sites).find(|&site| couplings[site * sites + site] != 0.0) {
            return Err(Error::model(format!(
                "couplings[{site}][{site}] is not 0: a spin has no coupling to itself"
            )));
        }
        for (a, b) in pairs(sites) {
            if couplings[a * sites + b] != couplings[b * sites + a] {
                return Err(Error::model(format!(
                    "couplings[{a}][{b}] and couplings[{b}][{a}] differ: the matrix must be symmetric"
                )));
            }
        }
        let edges = pairs(sites).map(|(a, b)| (a as u32, b as u32, couplings[a * sites + b]));
        Self::ising(sites, &edges.filter(|edge| edge.2 != 0.0).collect::<Vec<_>>(), fields)
    }

    /// A quadratic form over bits, `E = Σ q x x′ + Σ c x`, from edges `(site, site, q)`, each counted once, and one
    /// linear coefficient a site, or none.
    ///
    /// # Errors
    /// As [`Model::ising`].
    pub fn qubo(sites: usize, edges: &[Edge], linear: &[f32]) -> Result<Self, Error> {
        let fields = per_site(sites, linear, "linear")?.iter().map(|c| 0.0 - c).collect();
        Self::checked(Form::Bits { edges: edges.iter().map(|&(a, b, q)| (a, b, -q)).collect(), fields })
    }

    /// A quadratic form over bits from a dense matrix, row by row: `E = xᵀQx`. Q need not be symmetric; its diagonal is the
    /// linear part.
    ///
    /// # Errors
    /// As [`Model::qubo`]; [`Error::Model`] where the matrix is not square.
    pub fn qubo_dense(matrix: &[f32]) -> Result<Self, Error> {
        let sites = side(matrix, "matrix")?;
        let edges =
            pairs(sites).map(|(a, b)| (a as u32, b as u32, matrix[a * sites + b] + matrix[b * sites + a]));
        let linear: Vec<f32> = (0..sites).map(|site| matrix[site * sites + site]).collect();
        Self::qubo(sites, &edges.filter(|edge| edge.2 != 0.0).collect::<Vec<_>>(), &linear)
    }

    /// A Potts model, `E = −Σ J [x = x′] − Σ w(x)`, of `arity` values a site. `fields` are w, `arity` numbers a site, or
    /// none.
    ///
    /// # Errors
    /// [`Error::Model`] names the edge or the site that is wrong.
    pub fn potts(sites: usize, arity: usize, edges: &[Edge], fields: &[f32]) -> Result<Self, Error> {
        countable(sites)?;
        Self::checked(Form::Potts { sites, arity, edges: edges.to_vec(), fields: fields.to_vec() })
    }

    /// A restricted Boltzmann machine whose hidden units are summed out, `E(v) = −a·v − Σ ln(1 + e^(b + vᵀW))`. The
    /// slice `weights` is W row by row, a row for each visible unit; `visible` is a, `hidden` is b.
    ///
    /// # Errors
    /// [`Error::Model`] names the unit or the length that is wrong.
    pub fn rbm(weights: &[f32], visible: &[f32], hidden: &[f32]) -> Result<Self, Error> {
        if visible.len().checked_mul(hidden.len()) != Some(weights.len()) {
            let (rows, columns) = (visible.len(), hidden.len());
            return Err(Error::model(format!(
                "weights has {} numbers: {rows} visible and {columns} hidden units need {rows} × {columns}",
                weights.len()
            )));
        }
        Self::checked(Form::Rbm {
            weights: weights.to_vec(),
            visible: visible.to_vec(),
            hidden: hidden.to_vec(),
        })
    }

    /// A graphical model, `p(x) ∝ Π t(x)`: tables of weights over at most three sites each, of which the last one runs fastest.
    /// A weight of 0 forbids a combination. `arities` has the number of values of each site.
    ///
    /// # Errors
    /// [`Error::Model`] names the table or the site that is wrong.
    pub fn factors(arities: &[u16], tables: &[(&[u32], &[f64])]) -> Result<Self, Error> {
        let table = |(number, &(sites, weights)): (usize, &(&[u32], &[f64]))| {
            let bad = |reason: String| Error::model(format!("table {number}: {reason}"));
            if sites.is_empty() || sites.len() > 3 {
                return Err(bad(format!("{} sites: one, two or three are possible", sites.len())));
            }
            if let Some(site) = sites.iter().find(|&&site| site as usize >= arities.len()) {
                return Err(bad(format!("site {site}: the model has {} sites", arities.len())));
            }
            let need: usize = sites.iter().map(|&site| usize::from(arities[site as usize])).product();
            if weights.len() != need {
                return Err(bad(format!("{} weights: its sites need {need}", weights.len())));
            }
            if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
                return Err(bad(format!("weight {weight}: weights are finite and not below 0")));
            }
            Ok(Table { sites: sites.to_vec(), weights: weights.to_vec() })
        };
        let tables = tables.iter().enumerate().map(table).collect::<Result<_, _>>()?;
        Self::checked(Form::Factors { arities: arities.to_vec(), tables })
    }

    /// A Gaussian over whole numbers 0 … `arity` − 1, `E = ½ (x − μ)ᵀA(x − μ)`. It is made from the pairs
    /// `(site, site, A)` off the diagonal, each counted once, the diagonal and the centre μ.
    ///
    /// # Errors
    /// [`Error::Model`] names the edge or the site that is wrong.
    pub fn gaussian(arity: usize, edges: &[Edge], diagonal: &[f32], centre: &[f32]) -> Result<Self, Error> {
        let (edges, diagonal, centre) = (edges.to_vec(), diagonal.to_vec(), centre.to_vec());
        Self::checked(Form::Gaussian { arity, edges, diagonal, centre })
    }

    /// The posterior of a logistic regression over binary coefficients β: `E = Σ aⱼβⱼ + Σ ln(1 + e^(−m))` with the margins
    /// `m = (2y − 1) X·β`. The slice `design` is X row by row, a row for each outcome y; `prior` is a, or none.
    ///
    /// # Errors
    /// [`Error::Model`] names the coefficient or the length that is wrong.
    pub fn logistic(design: &[f32], outcomes: &[bool], prior: &[f32]) -> Result<Self, Error> {
        if outcomes.is_empty() {
            return Err(Error::model("outcomes: at least one is needed"));
        }
        let coefficients = design.len().checked_div(outcomes.len()).unwrap_or(0);
        let prior = per_site(coefficients, prior, "prior")?;
        Self::checked(Form::Logistic { design: design.to_vec(), outcomes: outcomes.to_vec(), prior })
    }

    /// A polynomial over bits, `E = Σ w Π x`, from terms `(sites, w)` of any order. Those over the same sites add up, before they are
    /// rounded to 32 bits.
    ///
    /// # Errors
    /// [`Error::Model`] names the term that is wrong.
    pub fn polynomial_bits(sites: usize, terms: &[(&[u32], f64)]) -> Result<Self, Error> {
        Self::polynomial(Scale::Bits, sites, terms)
    }

    /// A polynomial over spins, `E = Σ w Π s` with `s = 2x − 1`, from terms `(sites, w)` of any order.
    ///
    /// # Errors
    /// As [`Model::polynomial_bits`].
    pub fn polynomial_spins(sites: usize, terms: &[(&[u32], f64)]) -> Result<Self, Error> {
        Self::polynomial(Scale::Spins, sites, terms)
    }

    fn polynomial(scale: Scale, sites: usize, terms: &[(&[u32], f64)]) -> Result<Self, Error> {
        countable(sites)?;
        for (term, &(of, weight)) in terms.iter().enumerate() {
            if let Some(&site) = of.iter().find(|&&site| site as usize >= sites) {
                return Err(Error::model(PolynomialError::OutOfRange { term, site, sites }));
            }
            if !weight.is_finite() {
                return Err(Error::model(PolynomialError::NotFinite { term }));
            }
        }
        let terms = terms.iter().map(|&(sites, weight)| (sites.to_vec(), weight));
        let (constant, terms, rounding) = gathered(scale, terms);
        if !constant.is_finite() {
            return Err(Error::model(format!("the terms without sites add up to {constant}")));
        }
        Ok(Self { constant, rounding, ..Self::checked(Form::Polynomial { scale, sites, terms })? })
    }

    /// Any energy of yours: see [`bitmc::Function`] for the shortest way to write one, and [`bitmc::energy::check`] to check
    /// it.
    pub fn own(energy: impl Energy + Send + Sync + 'static) -> Self {
        Self::of(Form::Own(Own(Arc::new(energy))))
    }

    /// The same model with sites that are known: they hold these values. What was known before, by `given` or from a file, is not
    /// any more.
    ///
    /// # Errors
    /// [`Error::Model`] where there is no such site or no such value, or a site is known to have two values.
    pub fn given(mut self, known: &[(usize, u32)]) -> Result<Self, Error> {
        let mut values = HashMap::new();
        for &(site, value) in known {
            if let Some(other) = values.insert(site, value).filter(|other| *other != value) {
                return Err(Error::model(format!("site {site} is known to be {other} and {value}")));
            }
            let arity = if site < self.sites() { self.arity_of(site) } else { 0 };
            if arity == 0 {
                return Err(Error::model(format!(
                    "site {site} is known: the model has {} sites",
                    self.sites()
                )));
            }
            if value as usize >= arity {
                return Err(Error::model(format!("site {site} is known to be {value}: it has {arity} values")));
            }
        }
        self.known = known.to_vec();
        // A site may be named twice.
        self.known.sort_unstable();
        self.known.dedup();
        Ok(self)
    }

    /// Whether the energy is the caller's.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.form, Form::Own(_))
    }

    /// How many sites there are.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.layout().sites()
    }

    /// The shape of a state.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match &self.form {
            Form::Spins { fields, .. } | Form::Bits { fields, .. } => Layout::binary(fields.len()),
            Form::Potts { sites, arity, .. } => Layout::categorical(*sites, *arity),
            Form::Rbm { visible, .. } => Layout::binary(visible.len()),
            Form::Factors { arities, .. } => {
                Layout::categorical(arities.len(), arities.iter().copied().max().unwrap_or(1).max(2).into())
            }
            Form::Gaussian { arity, centre, .. } => Layout::ordinal(centre.len(), *arity),
            Form::Logistic { prior, .. } => Layout::binary(prior.len()),
            Form::Polynomial { sites, .. } => Layout::binary(*sites),
            Form::Own(own) => own.0.layout(),
        }
    }

    /// How many values a site has; 0 where there is no such site.
    #[must_use]
    pub fn arity_of(&self, site: usize) -> usize {
        match &self.form {
            Form::Factors { arities, .. } => arities.get(site).map_or(0, |&arity| arity.into()),
            Form::Own(Own(energy)) if energy.arities().is_some() => {
                energy.arities().and_then(|all| all.get(site)).map_or(0, |&arity| arity.into())
            }
            _ if site < self.sites() => self.layout().arity(),
            _ => 0,
        }
    }

    /// How far the energy of a state may be off, because a file's numbers, or weights of 64 bits of a polynomial, are rounded
    /// to 32 bits. It is the sum over all numbers, so that no state has a larger error. It is 0 where numbers were of 32 bits
    /// from the start, and of tables of weights.
    ///
    /// ```
    /// use bitmc_desktop::Model;
    ///
    /// let model = Model::polynomial_bits(2, &[(&[0], 20_000_001.0), (&[0, 1], 0.5)])?;
    /// assert_eq!(model.rounding(), 1.0);
    /// # Ok::<(), bitmc_desktop::Error>(())
    /// ```
    #[must_use]
    pub fn rounding(&self) -> f64 {
        self.rounding.0
    }

    /// The same model, of numbers that were rounded before it was made: energies may be off by so much more.
    #[must_use]
    pub fn with_rounding(self, lost: f64) -> Self {
        Self { rounding: Rounding(self.rounding.0 + lost), ..self }
    }

    /// [`Model::rounding`] at a temperature, by which weights are divided in 32 bits. Those below 2¹⁷ T are left out: they lose little, and
    /// often the same share.
    pub(crate) fn rounding_at(&self, temperature: f32) -> f64 {
        let by = 1.0 / temperature;
        let lost = |&weight: &f32| {
            let exact = f64::from(weight) * f64::from(by);
            if exact.abs() < COARSE.into() { 0.0 } else { (exact - f64::from(weight * by)).abs() }
        };
        let lost: f64 = match &self.form {
            Form::Spins { edges, fields }
            | Form::Bits { edges, fields }
            | Form::Potts { edges, fields, .. } => {
                edges.iter().map(|(.., weight)| weight).chain(fields).map(lost).sum()
            }
            Form::Polynomial { terms, .. } => terms.iter().map(|(_, weight)| lost(weight)).sum(),
            _ => 0.0,
        };
        self.rounding() + lost * f64::from(temperature)
    }

    /// What kind of model it is, in a word or two.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.form {
            Form::Spins { .. } => "Ising model",
            Form::Bits { .. } => "QUBO",
            Form::Potts { .. } => "Potts model",
            Form::Rbm { .. } => "RBM",
            Form::Factors { .. } => "graphical model",
            Form::Gaussian { .. } => "Gaussian over whole numbers",
            Form::Logistic { .. } => "logistic regression",
            Form::Polynomial { .. } => "polynomial",
            Form::Own(_) => "energy of yours",
        }
    }

    /// What there is to know of it.
    #[must_use]
    pub fn info(&self) -> Info {
        let (what, interactions) = match &self.form {
            Form::Spins { edges, .. } | Form::Bits { edges, .. } => ("edges", edges.len()),
            Form::Potts { edges, .. } | Form::Gaussian { edges, .. } => ("edges", edges.len()),
            Form::Rbm { hidden, .. } => ("hidden units", hidden.len()),
            Form::Factors { tables, .. } => ("tables", tables.len()),
            Form::Logistic { outcomes, .. } => ("outcomes", outcomes.len()),
            Form::Polynomial { terms, .. } => ("terms", terms.len()),
            Form::Own(_) => ("interactions known", 0),
        };
        let arities = (0..self.sites()).map(|site| self.arity_of(site));
        let (least, most) =
            arities.fold((usize::MAX, 0), |(least, most), arity| (least.min(arity), most.max(arity)));
        Info {
            kind: self.kind(),
            sites: self.sites(),
            arities: (least, most),
            interactions,
            what,
            known: self.known.len(),
            constant: self.constant,
            rounding: self.rounding(),
        }
    }

    /// A model whose sites are numbered from 0, if the kernel takes it.
    pub(crate) fn checked(form: Form) -> Result<Self, Error> {
        let model = Self::of(form);
        Parts::new(&model, 1.0)?.ready()?;
        Ok(model)
    }

    pub(crate) fn of(form: Form) -> Self {
        let labels = Labels { word: "site", first: 0, names: None };
        Self { form, constant: 0.0, labels, known: Vec::new(), rounding: Rounding::default() }
    }
}

/// What there is to know of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Info {
    /// What kind of model it is.
    pub kind: &'static str,
    /// Sites.
    pub sites: usize,
    /// The fewest and the most values of a site.
    pub arities: (usize, usize),
    /// How many edges, hidden units, tables, outcomes or terms there are.
    pub interactions: usize,
    /// Which of these.
    pub what: &'static str,
    /// Sites that are known.
    pub known: usize,
    /// What is added to every energy.
    pub constant: f64,
    /// How far energies may be off: see [`Model::rounding`].
    pub rounding: f64,
}

/// Rounding that is not worth a word.
const NEGLIGIBLE: f64 = 1e-4;

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, sites, arities: (least, most), interactions, what, known, constant, rounding } = self;
        write!(f, "{kind}: {sites} sites of ")?;
        if least == most {
            write!(f, "{most} values")?
        } else {
            write!(f, "{least} to {most} values")?
        }
        write!(f, ", {interactions} {what}")?;
        if *known > 0 {
            write!(f, ", {known} sites known")?;
        }
        if *constant != 0.0 {
            write!(f, ", a constant of {constant}")?;
        }
        if *rounding > NEGLIGIBLE {
            write!(f, "\n{}", rounded(*rounding, ""))?;
        }
        Ok(())
    }
}

/// Refuses more sites than the kernel takes, before there is memory for them.
fn countable(sites: usize) -> Result<(), Error> {
    if sites > i32::MAX as usize { Err(Error::model("a model has 1 to 2^31 - 1 sites")) } else { Ok(()) }
}

/// One number a site, or zeros where there are none.
fn per_site(sites: usize, numbers: &[f32], name: &str) -> Result<Vec<f32>, Error> {
    countable(sites)?;
    match numbers.len() {
        0 => Ok(vec![0.0; sites]),
        got if got == sites => Ok(numbers.to_vec()),
        got => Err(Error::model(format!("{name} has {got} values: the model has {sites} sites"))),
    }
}

/// The side of a square matrix.
fn side(matrix: &[f32], name: &str) -> Result<usize, Error> {
    let side = matrix.len().isqrt();
    if side > 0 && side * side == matrix.len() {
        return Ok(side);
    }
    Err(Error::model(format!("{name} has {} numbers: a square matrix is needed", matrix.len())))
}

/// All pairs of sites, the first one smaller.
fn pairs(sites: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..sites).flat_map(move |a| (a + 1..sites).map(move |b| (a, b)))
}

/// Terms of a polynomial: the sum of those without sites, the others, each product once, and their rounding. Sums are in f64:
/// energies of 32 bits cannot be beside a large constant, and terms may cancel.
pub(crate) fn gathered(
    scale: Scale,
    terms: impl Iterator<Item = (Vec<u32>, f64)>,
) -> (f64, Vec<(Vec<u32>, f32)>, Rounding) {
    let (mut constant, mut sums, mut places) = (0.0, Vec::<(Vec<u32>, f64)>::new(), HashMap::new());
    for (sites, weight) in terms {
        let product = product(scale, &sites);
        if product.is_empty() {
            constant += weight;
        } else {
            let place = *places.entry(product).or_insert(sums.len());
            match sums.get_mut(place) {
                Some((_, sum)) => *sum += weight,
                None => sums.push((sites, weight)),
            }
        }
    }
    let mut rounding = Rounding::default();
    let terms = sums.into_iter().map(|(sites, sum)| (sites, rounding.of(sum))).collect();
    (constant, terms, rounding)
}

/// The sites of a product in their order, each once: x x is x, and s s is 1.
fn product(scale: Scale, sites: &[u32]) -> Vec<u32> {
    let mut sites = sites.to_vec();
    sites.sort_unstable();
    let of_one = sites.chunk_by(|a, b| a == b);
    let left = of_one.filter(|same| matches!(scale, Scale::Bits) || same.len() % 2 == 1);
    left.map(|same| same[0]).collect()
}
