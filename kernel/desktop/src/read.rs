//! Models from files.

use crate::formats;
use crate::formats::arrays::Arrays;
use crate::formats::bqm::Bqm;
use crate::formats::edges::Edges;
use crate::formats::poly::Poly;
use crate::formats::qubo::Qubo;
use crate::formats::rudy::Graph;
use crate::formats::uai::{Evidence, Network};
use crate::model::{Form, Labels, Rounding, Scale, gathered};
use crate::parts::Parts;
use crate::{Error, Model};
use bitmc::energy::{Edge, Entry, FactorError, PolynomialBuffers, PolynomialError, RbmError};
use bitmc::energy::{SparseBuffers, SparseError, pack_rows};
use bitmc::lane::LANES;
use bitmc::{Ising, Polynomial, Rbm};
use std::path::{Path, PathBuf};

impl Model {
    /// Reads a model. The end of the file's name says what it is; a file of any other name is refused.
    ///
    /// | file | what it is | energy of a state |
    /// |---|---|---|
    /// | `.rudy`, `.mc`, `.txt`, or no ending | a [weighted graph](crate::formats::rudy), vertices counted from 1 | `E = Σ w s s′ + Σ w s` |
    /// | `.edges`, `.csv`, `.tsv` | a [list of edges](crate::formats::edges), sites counted from 0 | `E = −Σ J s s′ − Σ h s` |
    /// | `.qubo` | a [quadratic form](crate::formats::qubo) over bits | `E = Σ q x x′ + Σ c x` |
    /// | `.json` | a [binary quadratic model](crate::formats::bqm) of dimod | `E = Σ b x x′ + Σ a x + offset` |
    /// | `.uai` | a [network](crate::formats::uai) | `E = −Σ ln t(x, x′, x″)` |
    /// | `.poly` | a [polynomial](crate::formats::poly) over bits or spins | `E = Σ w Π x` |
    /// | `.npy` | a [matrix](crate::formats::arrays) Q | `E = xᵀQx` |
    /// | `.npz` | [arrays](crate::formats::arrays) of an Ising model, a QUBO or an RBM | as their names say |
    /// | a folder | [`W.npy`, `a_vis.npy`, `b_hid.npy`](crate::formats::arrays) of an RBM | `E = −a·v − Σ ln(1 + e^(b + vᵀW))` |
    ///
    /// A network `model.uai` is read with the evidence in `model.uai.evid` or, without such a file, in `model.evid`.
    /// For evidence of any other name there is [`read_given`](Model::read_given). To forget the evidence, take
    /// `model.given(&[])`.
    ///
    /// ```
    /// use bitmc_desktop::Model;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("triangle.rudy");
    /// std::fs::write(&path, "3 3\n1 2 1\n2 3 1\n1 3 1\n")?;
    /// let model = Model::read(&path)?;
    /// assert_eq!((model.kind(), model.sites()), ("Ising model", 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] names the file, where in it something is wrong, and what is expected there.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        match Self::evidence_beside(path) {
            Some(evidence) => Self::read_given(path, evidence),
            None => Said::read(path)?.model(path),
        }
    }

    /// Reads a network whose sites are partly known, and what is known of them: a `.uai` and a `.evid` file.
    ///
    /// # Errors
    /// As [`Model::read`], for either file, or where the model is not a network.
    pub fn read_given(path: impl AsRef<Path>, evidence: impl AsRef<Path>) -> Result<Self, Error> {
        let (path, evidence) = (path.as_ref(), evidence.as_ref());
        if Format::of(path)? != Format::Uai {
            return Err(Error::file(evidence, "evidence is about a network, a .uai file"));
        }
        let network = Network::read(path)?;
        let known = network.read_evidence(evidence)?;
        Said { known, ..network.into() }.model(path)
    }

    /// The evidence that [`read`](Model::read) takes with a network: the file `model.uai.evid` or `model.evid` beside
    /// `model.uai`, where there is one.
    #[must_use]
    pub fn evidence_beside(path: impl AsRef<Path>) -> Option<PathBuf> {
        let path = path.as_ref();
        (Format::of(path).ok()? == Format::Uai).then_some(())?;
        let mut longer = path.as_os_str().to_os_string();
        longer.push(".evid");
        [PathBuf::from(longer), path.with_extension("evid")].into_iter().find(|evidence| evidence.is_file())
    }
}

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Rudy,
    Edges,
    Qubo,
    Bqm,
    Uai,
    Poly,
    Arrays,
    Folder,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Error> {
        if path.is_dir() {
            return Ok(Self::Folder);
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(match ending.as_str() {
            "" | "rudy" | "mc" | "txt" => Self::Rudy,
            "edges" | "csv" | "tsv" => Self::Edges,
            "qubo" => Self::Qubo,
            "json" => Self::Bqm,
            "uai" => Self::Uai,
            "poly" => Self::Poly,
            "npy" | "npz" => Self::Arrays,
            _ => {
                let ending = crate::formats::cut(&ending);
                return Err(Error::file(
                    path,
                    format!(
                        "a model named .rudy, .mc, .txt, .edges, .csv, .tsv, .qubo, .json, .uai, .poly, .npy or .npz \
                         expected, found \".{ending}\""
                    ),
                ));
            }
        })
    }
}

/// What a file says.
pub(crate) struct Said {
    form: Form,
    constant: f64,
    labels: Labels,
    known: Evidence,
    /// −1 where weights of the file have the other sign than those of the form.
    sign: f32,
    /// What the file calls the weights and biases of an RBM.
    arrays: [&'static str; 3],
    rounding: Rounding,
}

impl From<Form> for Said {
    fn from(form: Form) -> Self {
        let labels = Labels { word: "site", first: 0, names: None };
        let rounding = Rounding::default();
        Self { form, constant: 0.0, labels, known: Vec::new(), sign: 1.0, arrays: ["", "", ""], rounding }
    }
}

impl From<Graph> for Said {
    fn from(graph: Graph) -> Self {
        let labels = Labels { word: "vertex", first: 1, names: None };
        Self { labels, ..Self::of_edges(true, &graph.edges, &graph.fields, -1.0) }
    }
}

impl From<Edges> for Said {
    fn from(Edges { fields, edges }: Edges) -> Self {
        Self::of_edges(true, &edges, &fields, 1.0)
    }
}

impl From<Qubo> for Said {
    fn from(qubo: Qubo) -> Self {
        Self::of_edges(false, &qubo.edges, &qubo.linear, -1.0)
    }
}

impl From<Bqm> for Said {
    fn from(bqm: Bqm) -> Self {
        let labels = Labels { word: "variable", first: 0, names: bqm.names };
        let said = Self::of_edges(bqm.spins, &bqm.edges, &bqm.linear, -1.0);
        Self { constant: bqm.offset, labels, ..said }
    }
}

impl From<Network> for Said {
    fn from(network: Network) -> Self {
        let constant = 0.0 - network.log_constant();
        Self { constant, ..Form::Factors { arities: network.arities, tables: network.tables }.into() }
    }
}

impl From<Poly> for Said {
    fn from(poly: Poly) -> Self {
        let scale = if poly.spins { Scale::Spins } else { Scale::Bits };
        let (constant, terms, rounding) = gathered(scale, poly.terms.into_iter());
        Self { constant, rounding, ..Form::Polynomial { scale, sites: poly.sites, terms }.into() }
    }
}

impl From<Arrays> for Said {
    fn from(arrays: Arrays) -> Self {
        match arrays {
            Arrays::Ising { couplings, fields } => {
                let sites = fields.len();
                let pair = |a, b| 0.5 * (couplings[a * sites + b] + couplings[b * sites + a]);
                Self::of_edges(true, &upper(sites, pair), &fields, 1.0)
            }
            Arrays::Qubo { sites, matrix } => {
                let edges = upper(sites, |a, b| matrix[a * sites + b] + matrix[b * sites + a]);
                let linear: Vec<f64> = (0..sites).map(|site| matrix[site * sites + site]).collect();
                Self::of_edges(false, &edges, &linear, -1.0)
            }
            Arrays::Rbm { weights, visible, hidden, names } => {
                // ln(1 + e^z) changes by no more than z.
                let mut rounding = Rounding::default();
                let [weights, visible, hidden] =
                    [weights, visible, hidden].map(|array| array.iter().map(|&w| rounding.of(w)).collect());
                Self { arrays: names, rounding, ..Form::Rbm { weights, visible, hidden }.into() }
            }
        }
    }
}

impl Said {
    /// Weights of this sign, rounded.
    fn of_edges(spins: bool, edges: &[formats::Edge], fields: &[f64], sign: f32) -> Self {
        let mut rounding = Rounding::default();
        // No zero has a sign.
        let mut rounded = |weight: f64| sign * rounding.of(weight) + 0.0;
        let edges = edges.iter().map(|&(a, b, weight)| (a, b, rounded(weight))).collect();
        let fields = fields.iter().map(|&field| rounded(field)).collect();
        let form = if spins { Form::Spins { edges, fields } } else { Form::Bits { edges, fields } };
        Self { sign, rounding, ..form.into() }
    }

    fn read(path: &Path) -> Result<Self, Error> {
        Ok(match Format::of(path)? {
            Format::Rudy => Graph::read(path)?.into(),
            Format::Edges => Edges::read(path)?.into(),
            Format::Qubo => Qubo::read(path)?.into(),
            Format::Bqm => Bqm::read(path)?.into(),
            Format::Uai => Network::read(path)?.into(),
            Format::Poly => Poly::read(path)?.into(),
            Format::Arrays => Arrays::read(path)?.into(),
            Format::Folder => Arrays::read_folder(path)?.into(),
        })
    }

    /// The model, if the kernel takes it.
    fn model(self, path: &Path) -> Result<Model, Error> {
        self.built().map_err(|refused| match refused.array {
            Some(array) if path.is_dir() => Error::file(&path.join(array), refused.reason),
            Some(array) => Error::file(path, format!("array \"{array}\": {}", refused.reason)),
            None => Error::file(path, refused.reason),
        })
    }

    /// The model, or what the kernel refuses in the words of the file.
    pub(crate) fn built(self) -> Result<Model, Refused> {
        let Self { form, constant, labels, known, sign, arrays, rounding } = self;
        let model = Model { constant, labels, known, rounding, ..Model::of(form) };
        if let Err(error) = Parts::new(&model, 1.0).and_then(|mut parts| parts.ready().map(|_| ())) {
            return Err(
                refused(&model, sign, arrays).unwrap_or(Refused { array: None, reason: error.to_string() })
            );
        }
        Ok(model)
    }
}

/// What the kernel refuses.
pub(crate) struct Refused {
    /// The array of an RBM.
    array: Option<&'static str>,
    reason: String,
}

/// The kernel's reason in the words of the file, where they differ.
fn refused(model: &Model, sign: f32, [weights, visible, hidden]: [&'static str; 3]) -> Option<Refused> {
    let plain = |reason| Some(Refused { array: None, reason });
    match &model.form {
        Form::Spins { edges, fields } => plain(named(sparse(true, edges, fields)?, edges, &model.labels, sign)),
        Form::Bits { edges, fields } => plain(named(sparse(false, edges, fields)?, edges, &model.labels, sign)),
        Form::Rbm { weights: w, visible: a, hidden: b } => {
            let error = rbm(w, a, b)?;
            let array = match error {
                RbmError::VisibleNotFinite { .. } | RbmError::VisibleTooLarge { .. } => visible,
                RbmError::HiddenNotFinite { .. } => hidden,
                _ => weights,
            };
            Some(Refused { array: Some(array), reason: error.to_string() })
        }
        Form::Factors { arities, tables } => {
            // The kernel does not count tables over no site.
            let places: Vec<usize> =
                (0..tables.len()).filter(|&table| !tables[table].sites.is_empty()).collect();
            let network = Network {
                preamble: crate::formats::uai::Preamble::Markov,
                arities: arities.clone(),
                tables: tables.clone(),
            };
            let error = network.logarithms(1.0, f32::NEG_INFINITY).model().err()?;
            plain(match error {
                FactorError::Rounded { factor, entry } => {
                    FactorError::Rounded { factor: places.get(factor).copied().unwrap_or(factor), entry }
                        .to_string()
                }
                other => other.to_string(),
            })
        }
        Form::Polynomial { scale, sites, terms } => match polynomial(*scale, *sites, terms)? {
            PolynomialError::Rounded { term } => {
                let (sites, weight) = &terms[term];
                let sites: String = sites.iter().map(|site| format!(" {site}")).collect();
                plain(format!(
                    "the term {weight}{sites} would be lost in rounding: another weight is far larger"
                ))
            }
            other => plain(other.to_string()),
        },
        _ => None,
    }
}

/// What the kernel says against a polynomial.
fn polynomial(scale: Scale, sites: usize, terms: &[(Vec<u32>, f32)]) -> Option<PolynomialError> {
    let long = || terms.iter().map(|(sites, _)| sites.len()).filter(|&length| length > 1);
    let (mut own, mut each, mut members) =
        (vec![[0; 2]; sites], vec![[0; 2]; long().count()], vec![[0; 2]; long().sum()]);
    let buffers = PolynomialBuffers::new(&mut own, &mut each, &mut members);
    let terms = terms.iter().map(|(sites, weight)| (sites, *weight));
    let made = match scale {
        Scale::Bits => Polynomial::bits(sites, terms, buffers),
        Scale::Spins => Polynomial::spins(sites, terms, buffers),
    };
    made.err()
}

/// What the kernel says against an Ising model.
fn sparse(spins: bool, edges: &[Edge], fields: &[f32]) -> Option<SparseError> {
    let sites = fields.len();
    let (mut ends, mut linear, mut entries) =
        (vec![0; sites], vec![0; sites], vec![Entry::default(); 2 * edges.len()]);
    let buffers = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let edges = edges.iter().copied();
    let made = if spins {
        Ising::spins_edges_once(sites, edges, fields, buffers)
    } else {
        Ising::bits_edges_once(sites, edges, fields, buffers)
    };
    made.err()
}

/// What the kernel says against an RBM.
fn rbm(weights: &[f32], visible: &[f32], hidden: &[f32]) -> Option<RbmError> {
    let blocks = Rbm::row_blocks(hidden.len());
    let (mut rows, mut biases) = (vec![[0.0; LANES]; blocks * visible.len()], vec![[0.0; LANES]; blocks]);
    let packed =
        pack_rows(weights, hidden.len(), &mut rows).and_then(|()| pack_rows(hidden, hidden.len(), &mut biases));
    packed.and_then(|()| Rbm::new(&rows, visible, &biases, hidden.len()).map(|_| ())).err()
}

/// What a model of edges refuses, in the words of its file.
fn named(error: SparseError, edges: &[Edge], labels: &Labels, sign: f32) -> String {
    let word = labels.word;
    let of_edge = |edge: usize| {
        let (a, b, weight) = edges[edge];
        format!("the weight {:e} of edge {} {}", sign * weight, labels.of(a as usize), labels.of(b as usize))
    };
    match error {
        SparseError::CouplingNotFinite { edge } => format!("{} is no finite number of 32 bits", of_edge(edge)),
        SparseError::FieldNotFinite { site } => {
            format!("the weight of {word} {} is no finite number of 32 bits", labels.of(site))
        }
        SparseError::TooLarge { site } => {
            format!("the weights of {word} {} add up to too much", labels.of(site))
        }
        SparseError::CouplingRounded { edge } => {
            format!("{} would be lost in rounding: another weight is far larger", of_edge(edge))
        }
        SparseError::FieldRounded { site } => {
            let site = labels.of(site);
            format!("the weight of {word} {site} would be lost in rounding: another weight is far larger")
        }
        other => other.to_string(),
    }
}

/// The edges of a matrix, without those of weight 0.
fn upper(sites: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<formats::Edge> {
    let mut edges = Vec::new();
    for a in 0..sites {
        edges.extend((a + 1..sites).map(|b| (a as u32, b as u32, weight(a, b))).filter(|edge| edge.2 != 0.0));
    }
    edges
}

#[cfg(test)]
mod tests;
