//! The readers of files: good ones, the same file back, and bad ones of each, each refused in one line.

use bitmc::{Energy, Packed};
use bitmc_desktop::formats::arrays::Arrays;
use bitmc_desktop::formats::bqm::Bqm;
use bitmc_desktop::formats::edges::Edges;
use bitmc_desktop::formats::poly::Poly;
use bitmc_desktop::formats::qubo::{Qubo, QuboError};
use bitmc_desktop::formats::rudy::{Graph, RudyError};
use bitmc_desktop::formats::uai::{Network, Preamble, Table, UaiError};
use bitmc_desktop::formats::{Found, Unexpected, any_bytes, any_text};
use bitmc_desktop::npy::Array;
use bitmc_desktop::npz::{Element, Kind, Npz, Reader};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Debug;
use std::io::{Cursor, ErrorKind, Write};

fn unexpected(line: usize, expected: &'static str, found: &str) -> Unexpected {
    let found = match found {
        "" => Found::EndOfLine,
        "EOF" => Found::EndOfFile,
        word => Found::Word(word.into()),
    };
    Unexpected { line, expected, found }
}

const RUDY: &str = "# a path\n4 3\n1 2 1\n\n  3 2\t-1\nc the last edge\n3 4 2.5e-1\n";

#[test]
fn rudy_good_files() {
    let edges = vec![(0, 1, 1.0), (2, 1, -1.0), (2, 3, 0.25)];
    let path = Graph { vertices: 4, fields: vec![0.0; 4], edges };
    assert_eq!(Graph::parse(RUDY), Ok(path.clone()));
    assert_eq!(Graph::parse(&RUDY.replace('\n', "\r\n")), Ok(path.clone()));
    assert_eq!(Graph::parse(&path.to_text()), Ok(path));
    assert_eq!(Graph::parse("1 0"), Ok(Graph { vertices: 1, fields: vec![0.0], edges: vec![] }));
    let pair = Graph { vertices: 2, fields: vec![0.0, -1.5], edges: vec![(1, 0, 1.0)] };
    assert_eq!(Graph::parse("2 2\n2 2 -1.5\n2 1"), Ok(pair.clone()));
    assert_eq!(Graph::parse(&pair.to_text()), Ok(pair));
}

#[test]
fn rudy_bad_files() {
    use RudyError::{Duplicate, Edges, Vertex, Vertices};
    let cases: [(&str, RudyError); 14] = [
        ("", unexpected(1, "the number of vertices", "EOF").into()),
        ("# only words\n\n", unexpected(3, "the number of vertices", "EOF").into()),
        ("four 3", unexpected(1, "the number of vertices", "four").into()),
        ("4", unexpected(1, "the number of edges", "").into()),
        ("4 0 1", unexpected(1, "the end of the line", "1").into()),
        ("0 0", Vertices { line: 1, vertices: 0 }),
        ("2 1\n1 x 1", unexpected(2, "another vertex", "x").into()),
        ("2 1\n1 2 inf", unexpected(2, "a finite weight", "inf").into()),
        ("2 1\n1 2 1 1", unexpected(2, "the end of the line", "1").into()),
        ("2 1\n\n1 3 1", Vertex { line: 3, vertex: 3, vertices: 2 }),
        ("2 1\n0 1 1", Vertex { line: 2, vertex: 0, vertices: 2 }),
        ("2 2\n2 2 1\n2 2 1", Duplicate { line: 3, before: 2 }),
        ("2 2\n1 2 1\n2 1 1", Duplicate { line: 3, before: 2 }),
        ("3 1\n1 2 1\n2 3 1", Edges { line: 3, need: 1, got: 2 }),
    ];
    for (text, error) in cases {
        assert_eq!(Graph::parse(text), Err(error), "{text:?}");
    }
    let error = Graph::parse("3 3\n1 2 1\n").unwrap_err();
    assert_eq!(error, Edges { line: 3, need: 3, got: 1 });
    assert_eq!(error.to_string(), "line 3: 3 edges expected in all, found 1");
    let error = Graph::parse("2 1\n1 -2").unwrap_err();
    assert_eq!(error.to_string(), "line 2: another vertex expected, found \"-2\"");
}

#[test]
fn a_file_that_is_not_text_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.txt");
    std::fs::write(&path, b"2 1\n1 \xFF 1\n").unwrap();
    assert!(Graph::read(&path).unwrap_err().to_string().ends_with("graph.txt: line 2: not text in UTF-8"));
    std::fs::write(&path, "2 1\n1 2 1\n").unwrap();
    assert_eq!(Graph::read(&path).unwrap().edges.len(), 1);
}

const QUBO: &str = "c four bits\np qubo 0 4 2 3\n0 0 3.5\n2 2 -2\nc couplings\n0 1 1.5\n0 3 -1\n2 3 2\n";

#[test]
fn qubo_good_files() {
    let form = Qubo { linear: vec![3.5, 0.0, -2.0, 0.0], edges: vec![(0, 1, 1.5), (0, 3, -1.0), (2, 3, 2.0)] };
    assert_eq!(Qubo::parse(QUBO), Ok(form.clone()));
    assert_eq!(Qubo::parse(&QUBO.replace("qubo 0", "qubo unconstrained")), Ok(form.clone()));
    assert_eq!(Qubo::parse(&form.to_text()), Ok(form.clone()));
    assert_eq!(form.value(|site| site != 1), 3.5 - 2.0 - 1.0 + 2.0);
    assert_eq!(Qubo::parse("p qubo 0 1 0 0"), Ok(Qubo { linear: vec![0.0], edges: vec![] }));
}

#[test]
fn qubo_bad_files() {
    use QuboError::{Couplings, Diagonals, Duplicate, Order, Site, Sites};
    let cases: [(&str, QuboError); 15] = [
        ("c nothing\n", unexpected(2, "a line p qubo", "EOF").into()),
        ("0 0 1", unexpected(1, "the letter p", "0").into()),
        ("p cnf 3 2", unexpected(1, "the word qubo", "cnf").into()),
        ("p qubo 1 3 0 0", unexpected(1, "0 or unconstrained", "1").into()),
        ("p qubo 0 3 0", unexpected(1, "the number of couplings", "").into()),
        ("p qubo 0 -3 0 0", unexpected(1, "the number of sites", "-3").into()),
        ("p qubo 0 0 0 0", Sites { line: 1, sites: 0 }),
        ("p qubo 0 2 1 0\n0 0 much", unexpected(2, "a finite weight", "much").into()),
        ("p qubo 0 2 1 0\n0 0", unexpected(2, "a finite weight", "").into()),
        ("p qubo 0 2 1 0\n2 2 1", Site { line: 2, site: 2, sites: 2 }),
        ("p qubo 0 2 0 1\n1 0 1", Order { line: 2, a: 1, b: 0 }),
        ("p qubo 0 2 2 0\n1 1 1\n1 1 1", Duplicate { line: 3, before: 2 }),
        ("p qubo 0 2 1 0\n1 1 1\n0 0 1", Diagonals { line: 3, need: 1, got: 2 }),
        ("p qubo 0 2 1 0\n0 1 1\n", Couplings { line: 2, need: 0, got: 1 }),
        ("p qubo 0 2 0 2\n0 1 1\n", Couplings { line: 3, need: 2, got: 1 }),
    ];
    for (text, error) in cases {
        assert_eq!(Qubo::parse(text), Err(error), "{text:?}");
    }
    let error = Qubo::parse("p qubo 0 2 2 0\n0 0 1\n").unwrap_err();
    assert_eq!(error.to_string(), "line 3: 2 diagonal lines expected in all, found 1");
}

const UAI: &str = "MARKOV\n3\n2 2 3\n2\n2 0 1\n2 1 2\n\n4\n .9 .1\n .5 .5\n\n6\n 1 2 0\n 0 1 1\n";

#[test]
fn uai_good_files() {
    let network = Network {
        preamble: Preamble::Markov,
        arities: vec![2, 2, 3],
        tables: vec![
            Table { sites: vec![0, 1], weights: vec![0.9, 0.1, 0.5, 0.5] },
            Table { sites: vec![1, 2], weights: vec![1.0, 2.0, 0.0, 0.0, 1.0, 1.0] },
        ],
    };
    assert_eq!(Network::parse(UAI), Ok(network.clone()));
    assert_eq!(Network::parse(&UAI.replace('\n', " ")), Ok(network.clone()));
    assert_eq!(Network::parse(&network.to_text()), Ok(network.clone()));
    let bayes = Network { preamble: Preamble::Bayes, ..network.clone() };
    assert_eq!(Network::parse(&bayes.to_text()), Ok(bayes));
    // A table over no site is a constant.
    let constant = Network::parse("MARKOV 1 2 2 0 1 0 1 .5 2 1 3").unwrap();
    assert_eq!(constant.logarithms(1.0, f32::NEG_INFINITY).model().unwrap().layout().sites(), 1);
    assert_eq!((constant.log_constant(), network.log_constant()), (0.5f64.ln(), 0.0));

    assert_eq!(network.evidence("0"), Ok(vec![]));
    assert_eq!(network.evidence("1\n0"), Ok(vec![]));
    assert_eq!(network.evidence("2 0 1 2 2\n"), Ok(vec![(0, 1), (2, 2)]));
    assert_eq!(network.evidence("1\n1 2 2\n"), Ok(vec![(2, 2)]));
}

#[test]
fn uai_tables_are_the_energy() {
    let network = Network::parse(UAI).unwrap();
    let mut tables = network.logarithms(2.0, f32::NEG_INFINITY);
    let model = tables.model().unwrap();
    let mut cache = vec![[0; 16]; model.cache_len()];
    for state in 0..12u32 {
        let values = [state % 2, state / 2 % 2, state / 4];
        let words = [values[0] | values[1] << 2 | values[2] << 4];
        let energy = model.init(Packed::new(model.layout(), &words).unwrap(), &mut cache).unwrap();
        let truth = -0.5 * network.log_weight(|site| values[site]);
        // Two entries, each rounded to f32 and to a grid 2⁻³⁰ of the largest.
        assert!(f64::from(energy) == truth || (f64::from(energy) - truth).abs() < 1e-6, "{values:?}");
        assert_eq!(energy == f32::INFINITY, values[1..] == [0, 2] || values[1..] == [1, 0]);
    }
}

#[test]
fn uai_bad_files() {
    use UaiError::{Arity, Entries, Impossible, Repeated, Scope, Site, Weight};
    let cases: [(&str, UaiError); 15] = [
        ("", unexpected(1, "MARKOV or BAYES", "EOF").into()),
        ("\nmarkov 1 2 0", unexpected(2, "MARKOV or BAYES", "markov").into()),
        ("BAYES\nmany", unexpected(2, "the number of sites", "many").into()),
        ("MARKOV\n2\n2", unexpected(4, "the number of a site's values", "EOF").into()),
        ("MARKOV\n2\n2 0\n0", Arity { line: 3, site: 1, arity: 0 }),
        ("MARKOV\n1\n65536\n0", Arity { line: 3, site: 0, arity: 65536 }),
        ("MARKOV 4 2 2 2 2 1\n4 0 1 2 3", Scope { line: 2, sites: 4 }),
        ("MARKOV 2 2 2 1\n2 0 2", Site { line: 2, site: 2, sites: 2 }),
        ("MARKOV 2 2 2 1\n2 1 1", Repeated { line: 2, site: 1 }),
        ("MARKOV 2 2 2 1 2 0 1\n3 1 1 1", Entries { line: 2, factor: 0, need: 4, got: 3 }),
        ("MARKOV 1 2 1 1 0 2\n1 -1", Weight { line: 2, weight: -1.0 }),
        ("MARKOV 1 2 1 1 0 2\n1 inf", Weight { line: 2, weight: f64::INFINITY }),
        ("MARKOV 1 2 1 1 0 2\n0 0", Impossible { line: 2, factor: 0 }),
        ("MARKOV 1 2 1 1 0 2\n1", unexpected(3, "a weight", "EOF").into()),
        ("MARKOV 1 2 1 1 0 2 1 1\n7", unexpected(2, "the end of the file", "7").into()),
    ];
    for (text, error) in cases {
        assert_eq!(Network::parse(text), Err(error), "{text:?}");
    }
    let network = Network::parse(UAI).unwrap();
    let cases: [(&str, UaiError); 10] = [
        ("", unexpected(1, "the number of samples, or of known sites", "EOF").into()),
        ("some", unexpected(1, "the number of known sites", "some").into()),
        ("2\n0", unexpected(1, "1 sample", "2").into()),
        ("1 0 1 1 1", unexpected(1, "the end of the file", "1").into()),
        ("2\n0 1", unexpected(3, "a site", "EOF").into()),
        ("1 2 0 1\n", unexpected(2, "a site", "EOF").into()),
        ("1\n3 0", Site { line: 2, site: 3, sites: 3 }),
        ("1\n2 3", UaiError::Value { line: 2, site: 2, value: 3, arity: 3 }),
        ("1\n0 -1", unexpected(2, "a value", "-1").into()),
        ("2\n0 1\n0 1", Repeated { line: 3, site: 0 }),
    ];
    for (text, error) in cases {
        assert_eq!(network.evidence(text), Err(error), "{text:?}");
    }
}

/// Each text or row of bytes is refused for its reason, in one line.
fn refused<F: Debug, T: Debug, E: ToString>(parse: impl Fn(F) -> Result<T, E>, cases: Vec<(F, &str)>) {
    for (file, why) in cases {
        let shown = format!("{file:?}");
        let error = parse(file).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(why), "{shown}");
        assert!(!why.contains('\n'));
    }
}

const EDGES: &str = "source,target,weight\n0,1,0.5\n# the second\n3, 1 ,-1\n\n2,2,.25\n1,2\n";

#[test]
fn edges_good_files() {
    let model =
        Edges { fields: vec![0.0, 0.0, 0.25, 0.0], edges: vec![(0, 1, 0.5), (3, 1, -1.0), (1, 2, 1.0)] };
    assert_eq!(Edges::parse(EDGES), Ok(model.clone()));
    assert_eq!(Edges::parse(&EDGES.replace(',', "\t")), Ok(model.clone()));
    assert_eq!(Edges::parse(&EDGES.replace('\n', "\r\n")), Ok(model.clone()));
    for head in ["i,j,J", "a b", "Source\tTarget\tWeight", "site,site,cost"] {
        let head = head.replace([',', '\t', ' '], " ");
        let edge = if head.split(' ').count() == 2 { "0 1" } else { "0 1 1" };
        let found = Edges::parse(&format!("{head}\n{edge}\n"));
        assert_eq!(found.map(|model| model.edges), Ok(vec![(0, 1, 1.0)]), "{head}");
    }
    assert_eq!(Edges::parse(&model.to_text()), Ok(model));
    let alone = Edges { fields: vec![0.0; 3], edges: vec![] };
    assert_eq!(Edges::parse("2 2 0\n0 0 0"), Ok(alone.clone()));
    assert_eq!(Edges::parse(&alone.to_text()), Ok(alone));
}

#[test]
fn edges_bad_files() {
    refused(
        Edges::parse,
        vec![
            ("", "line 1: an edge expected, the file ends"),
            ("from,to\n", "line 2: an edge expected, the file ends"),
            ("from to\nfrom to\n", "line 2: a site expected, found \"from\""),
            ("0 one 2", "line 1: another site expected, found \"one\""),
            ("0", "line 1: another site expected, the line ends"),
            ("0;1;0.5", "line 1: commas or spaces between sites and weights expected, found \"0;1;0.5\""),
            ("a;b;w\n", "line 1: commas or spaces between sites and weights expected, found \"a;b;w\""),
            (
                "0 1 1\n1;2;0,5",
                "line 2: commas or spaces between sites and weights expected, found \"1;2;0,5\"",
            ),
            ("i,j,w,\n0,1,1,", "line 1: a head without an empty cell expected, found \"i,j,w,\""),
            (",i,j,w\n0,0,1,1", "line 1: a head without an empty cell expected, found \",i,j,w\""),
            (",,\n", "line 1: a site expected, found \"\""),
            ("0,,1", "line 1: another site expected, found \"\""),
            ("0 1 1\n1 -2", "line 2: another site expected, found \"-2\""),
            ("1 2 NaN", "line 1: a finite weight expected, found \"NaN\""),
            ("1 2 1e39", "line 1: a finite weight expected, found \"1e39\""),
            ("1,2,1,", "line 1: the end of the line expected, found \"\""),
            ("0 1\n1 1000000000000000000", "line 2: a site below 67108864 expected, found 1000000000000000000"),
            ("0 1\n\n1 0 2", "line 3: new sites expected, found those of line 1"),
            // A graph in the format of rudy, a list that counts from 1, and columns in another order.
            ("3 3\n1 2 1\n2 3 1\n1 3 1\n", "line 1: the field of the site expected, the line ends"),
            (
                "1 2 0.5\n2 3 0.5",
                "a line with site 0 expected: sites are counted from 0 (the line 0 0 0 adds one without edges)",
            ),
            (
                "weight,source,target\n2,0,1\n",
                "line 1: a head of two sites and a weight, in this order, expected, found \"weight\"",
            ),
            (
                "from J to\n0 1 2",
                "line 1: a head of two sites and a weight, in this order, expected, found \"J\"",
            ),
            (
                "Id,Source,Target\n0,0,1\n",
                "line 1: a head of two sites and a weight, in this order, expected, found \"Id\"",
            ),
            (
                "row source target\n0 0 1\n",
                "line 1: a head of two sites and a weight, in this order, expected, found \"target\"",
            ),
            (
                "source,target,id\n0,1,0\n",
                "line 1: a head of two sites and a weight, in this order, expected, found \"id\"",
            ),
        ],
    );
}

const POLY: &str = "# cubic\nspins 4\n-1.5 0 1\n0.5 1 2 3\n0.25 2\n3\n";

#[test]
fn poly_good_files() {
    let terms = vec![(vec![0, 1], -1.5), (vec![1, 2, 3], 0.5), (vec![2], 0.25), (vec![], 3.0)];
    let form = Poly { spins: true, sites: 4, terms };
    assert_eq!(Poly::parse(POLY), Ok(form.clone()));
    assert_eq!(Poly::parse(&form.to_text()), Ok(form.clone()));
    assert_eq!(Poly::parse(&POLY.replace("spins", "bits")), Ok(Poly { spins: false, ..form }));
    let twice = Poly { spins: false, sites: 1, terms: vec![(vec![0, 0], 1.0), (vec![0], 2.0)] };
    assert_eq!(Poly::parse("bits 1\n1 0 0\n2 0"), Ok(twice));
}

#[test]
fn poly_bad_files() {
    refused(
        Poly::parse,
        vec![
            ("# nothing", "line 2: bits or spins expected, the file ends"),
            ("qubits 3", "line 1: bits or spins expected, found \"qubits\""),
            ("bits", "line 1: the number of variables expected, the line ends"),
            ("bits 3 4", "line 1: the end of the line expected, found \"4\""),
            ("bits 0", "line 1: 1 to 67108864 variables expected, found 0"),
            (
                "spins 1000000000000000000",
                "line 1: 1 to 67108864 variables expected, found 1000000000000000000",
            ),
            ("spins 2\n\nx0 1", "line 3: a finite weight expected, found \"x0\""),
            ("spins 2\n1e40 1", "line 2: a finite weight expected, found \"1e40\""),
            ("spins 2\n1 0 2", "line 2: a variable below 2 expected, found 2"),
            ("spins 2\n1 0 1.5", "line 2: a variable expected, found \"1.5\""),
        ],
    );
}

/// Written by dimod 0.12.
const MIXED: &str = include_str!("data/mixed.json");
const TRIANGLE: &str = include_str!("data/triangle.json");

#[test]
fn bqm_good_files() {
    let edges = vec![(0, 1, -1.5), (0, 2, 1.0), (1, 3, 3.0)];
    let names = ["a", "b", "[\"x\",0]", "7"].map(String::from).to_vec();
    let linear = vec![-1.0, 2.0, 0.5, 0.0];
    let mixed = Bqm { spins: false, names: Some(names), linear, edges, offset: 0.25 };
    assert_eq!(Bqm::parse(MIXED), Ok(mixed.clone()));
    assert_eq!(Bqm::parse(&mixed.to_text()), Ok(mixed));
    let edges = vec![(0, 1, -1.0), (0, 2, 0.5), (1, 2, 1.0)];
    let triangle = Bqm {
        spins: true,
        names: None,
        linear: vec![0.1f32.into(), 0.0, (-0.2f32).into()],
        edges,
        offset: -1.5,
    };
    assert_eq!(Bqm::parse(TRIANGLE), Ok(triangle.clone()));
    assert_eq!(Bqm::parse(&triangle.to_text()), Ok(triangle));
}

#[test]
fn bqm_bad_files() {
    let with = |old: &str, new: &str| {
        assert!(TRIANGLE.contains(old), "{old}");
        TRIANGLE.replacen(old, new, 1)
    };
    let biases = "\"quadratic_biases\": [-1.0, 0.5, 1.0]";
    refused(
        |text: String| Bqm::parse(&text),
        vec![
            (String::new(), "line 1: EOF while parsing a value"),
            ("{\n\"a\": 1,\n}".into(), "line 3: trailing comma"),
            ("{}\n".into(), "line 1: missing field `type`"),
            (with("\"offset\": -1.5, ", ""), "line 1: missing field `offset`"),
            (with("-1.5", "\n1e999"), "line 2: number out of range"),
            (with("-1.5", "\"\\n\""), "line 1: invalid type: string \"\\n\", expected f64"),
            (with("[0, 1, 2]", "7"), "line 1: invalid type: integer `7`, expected a sequence"),
            (
                with("\"Binary", "\"Discrete"),
                "type: \"BinaryQuadraticModel\" expected, found \"DiscreteQuadraticModel\"",
            ),
            (with("3.0.0", "2.0.0"), "bqm_schema: \"3.0.0\" expected, found \"2.0.0\""),
            (with("false", "true"), "use_bytes: false expected, found true"),
            (with("SPIN", "INTEGER"), "variable_type: \"SPIN\" or \"BINARY\" expected, found \"INTEGER\""),
            (with("[0, 1, 2]", "[0, 1]"), "variable_labels: 3 values expected, found 2"),
            (
                with("[0, 1, 2]", "[0, \"a\", \"a\"]"),
                "variable_labels: different labels expected, found \"a\" twice",
            ),
            (
                with("[0, 1, 2]", "[0, 1, \"1\"]"),
                "variable_labels: labels that read differently expected, found 1 and \"1\": rename one of them",
            ),
            (with("\"num_variables\": 3", "\"num_variables\": 4"), "linear_biases: 4 values expected, found 3"),
            (
                with("\"num_interactions\": 3", "\"num_interactions\": 2"),
                "quadratic_biases: 2 values expected, found 3",
            ),
            (with(biases, "\"quadratic_biases\": [1]"), "quadratic_head: 1 values expected, found 3"),
            (with("[0, 0, 1]", "[0, 0]"), "quadratic_head: 3 values expected, found 2"),
            (with("[0, 0, 1]", "[0, 0, 3]"), "quadratic_head[2]: a variable below 3 expected, found 3"),
            (with("[0, 0, 1]", "[0, 0, 2]"), "interaction 2: two different variables expected, found 2 twice"),
            (
                with("[0, 0, 1]", "[0, 2, 2]").replace("[1, 2, 2]", "[1, 1, 1]"),
                "interaction 2: new variables expected, found those of interaction 1",
            ),
            (
                with("-1.0, 0.5", "1e300, 0.5"),
                "quadratic_biases[0]: a bias up to 3.4028235e38 expected, found 1e300",
            ),
            (
                with("[0.10000000149011612, 0.0, -0.20000000298023224]", "[]"),
                "1 to 67108864 variables expected, found 0",
            ),
        ],
    );
}

/// The bytes of a `.npy` file.
fn npy<T: Element>(shape: &[usize], numbers: &[T]) -> Vec<u8> {
    // An entry of an archive that is not compressed is the file.
    let bytes = npz(|npz| npz.add("x", shape, numbers).unwrap());
    let start = bytes.windows(6).position(|six| six == b"\x93NUMPY").unwrap();
    let header = 10 + usize::from(u16::from_le_bytes([bytes[start + 8], bytes[start + 9]]));
    bytes[start..][..header + size_of_val(numbers)].to_vec()
}

fn npz(add: impl FnOnce(&mut Npz<Cursor<Vec<u8>>>)) -> Vec<u8> {
    let mut npz = Npz::new();
    add(&mut npz);
    npz.finish().unwrap().into_inner()
}

/// A `.npy` file with this header.
fn headed(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn described(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

#[test]
fn npy_good_files() {
    let array = |shape: &[usize], values: &[f64]| Array { shape: shape.to_vec(), values: values.to_vec() };
    let table = array(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(Array::parse(&npy(&[2, 3], &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0])), Ok(table.clone()));
    assert_eq!(Array::parse(&npy(&[2, 3], &[0u16, 1, 2, 3, 4, 5])), Ok(table.clone()));
    // Column by column.
    let columns = headed(&described("'|i1'", "True", "(2, 3)"), &[0, 3, 1, 4, 2, 5]);
    assert_eq!(Array::parse(&columns), Ok(table.clone()));
    let planes = headed(&described("'|u1'", "True", "(2, 1, 2)"), &[0, 2, 1, 3]);
    assert_eq!(Array::parse(&planes), Ok(array(&[2, 1, 2], &[0.0, 1.0, 2.0, 3.0])));
    // The highest byte first, from a header of version 2 in another order.
    let header = "{\"shape\":(2,),'fortran_order':False,'descr':'>f8'}";
    let start = [b"\x93NUMPY\x02\x00", &(header.len() as u32).to_le_bytes()[..], header.as_bytes()].concat();
    let data = [(-0.5f64).to_be_bytes(), 1e-3f64.to_be_bytes()].concat();
    assert_eq!(Array::parse(&[start, data].concat()), Ok(array(&[2], &[-0.5, 1e-3])));
    let whole = headed(&described("'>i4'", "False", "(2,)"), &[0, 0, 1, 2, 0xFF, 0xFF, 0xFF, 0xFE]);
    assert_eq!(Array::parse(&whole), Ok(array(&[2], &[258.0, -2.0])));
    let other = headed(&described("'<i4'", "False", "(1,)"), &[0, 0, 1, 2]);
    assert_ne!(Array::parse(&other), Ok(array(&[1], &[258.0])));
    assert_eq!(Array::parse(&headed(&described("'|b1'", "False", "()"), &[1])), Ok(array(&[], &[1.0])));
    let huge = "(0, 99999999999, 99999999999)";
    assert!(
        Array::parse(&headed(&described("'<f4'", "True", huge), &[]))
            .is_ok_and(|array| array.values.is_empty())
    );
}

/// All numbers of 2 bytes, beside 2^(e − 15)(1 + m/1024).
#[test]
fn npy_half_precision() {
    for order in ["<", ">"] {
        let data: Vec<u8> = (0..=u16::MAX)
            .flat_map(|bits| if order == "<" { bits.to_le_bytes() } else { bits.to_be_bytes() })
            .collect();
        let array = Array::parse(&headed(&described(&format!("'{order}f2'"), "False", "(65536,)"), &data));
        for (bits, value) in array.unwrap().values.into_iter().enumerate() {
            let (sign, e, m) = (bits >> 15, bits >> 10 & 31, (bits & 1023) as f64);
            let magnitude = match e {
                31 if m > 0.0 => f64::NAN,
                31 => f64::INFINITY,
                0 => m * 2f64.powi(-24),
                _ => (1.0 + m / 1024.0) * 2f64.powi(e as i32 - 15),
            };
            let expected = if sign == 1 { -magnitude } else { magnitude };
            assert!(
                value.is_nan() && expected.is_nan() || value.to_bits() == expected.to_bits(),
                "{bits:04x}: {value}"
            );
        }
    }
}

#[test]
fn npy_bad_files() {
    let with = |descr: &str, shape: &str, data: &[u8]| headed(&described(descr, "False", shape), data);
    let deep = format!("{}{}", "(".repeat(60_000), described("'<f4'", "False", "(1,)"));
    let no_header = "not a NumPy file: a header with descr, fortran_order and shape expected";
    refused(
        |bytes: Vec<u8>| Array::parse(&bytes),
        vec![
            (vec![], "not a NumPy file: \"\\x93NUMPY\" expected"),
            (b"\x93NUMPY\x09\x00".to_vec(), "not a NumPy file: version 1, 2 or 3 expected"),
            (b"\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF".to_vec(), "not a NumPy file: a whole header expected"),
            (headed("{'descr': '<f4'}", &[]), no_header),
            (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", &[]), no_header),
            (headed(&deep, &[]), no_header),
            (with("'|O'", "(1,)", &[1]), "not an array of numbers, but of \"|O\""),
            (with("'<c8'", "(1,)", &[1; 8]), "not an array of numbers, but of \"<c8\""),
            (with("''", "(1,)", &[1; 8]), "not an array of numbers, but of \"\""),
            (with("[('x', '<f4')]", "(1,)", &[0; 4]), "not an array of numbers, but of \"[('x', '<f4')]\""),
            (with("'<f4'", "(2, 3)", &[0; 20]), "too short: 20 bytes of data, where shape (2, 3) has 24"),
            (with("'<f8'", "(1,)", &[0; 9]), "too long: 9 bytes of data, where shape (1,) has 8"),
            (
                with("'<f4'", "(1000000000000000000,)", &[0; 4]),
                "too short: 4 bytes of data, where shape (1000000000000000000,) has 4000000000000000000",
            ),
            (
                with("'<f4'", "(4294967296, 4294967296)", &[0; 4]),
                "too short: 4 bytes of data, where shape (4294967296, 4294967296) has more than 2^64",
            ),
        ],
    );
    refused(
        |bytes: Vec<u8>| Arrays::matrix(&bytes),
        vec![
            (npy(&[2], &[1.0f32, 2.0]), "an array of shape (2,), where (any, any) is needed"),
            (npy(&[2, 1], &[1.0f32, 2.0]), "an array of shape (2, 1), where (2, 2) is needed"),
            (npy(&[0, 0], &[0.0f32; 0]), "an array of shape (0, 0), where (any, any) is needed"),
        ],
    );
}

/// Written by NumPy and scikit-learn.
const ISING: &[u8] = include_bytes!("data/ising.npz");
const SCIKIT: &[u8] = include_bytes!("data/scikit.npz");
const MATRIX: &[u8] = include_bytes!("data/matrix.npy");

#[test]
fn npz_bad_files() {
    let of = |arrays: &[(&str, &[usize], &[f32])]| {
        npz(|npz| arrays.iter().for_each(|(name, shape, numbers)| npz.add(name, shape, numbers).unwrap()))
    };
    let square: (&str, &[usize], &[f32]) = ("J", &[2, 2], &[0.0, 1.0, 1.0, 0.0]);
    let bias: (&str, &[usize], &[f32]) = ("a", &[1], &[1.0]);
    let mut damaged = ISING.to_vec();
    let place = damaged.windows(8).position(|bytes| bytes == 1f64.to_le_bytes()).unwrap();
    damaged[place] = 1;
    // No memory is set aside for what the directory claims, 4 GB of the first array.
    let mut claim = SCIKIT.to_vec();
    let place = claim.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    claim[place + 24..place + 28].copy_from_slice(&0xFFFF_FFF0u32.to_le_bytes());
    assert_eq!(Arrays::archive(Cursor::new(claim)), Arrays::archive(Cursor::new(SCIKIT)));
    refused(
        |bytes: Vec<u8>| Arrays::archive(Cursor::new(bytes)),
        vec![
            (ISING[..200].to_vec(), "not a .npz file: invalid Zip archive: Could not find EOCD"),
            (damaged, "not a .npz file: array \"J\": Invalid checksum"),
            (
                of(&[("states", &[1], &[1.0]), ("energies", &[1], &[1.0])]),
                "an array \"J\", \"Q\", \"W\" or \"components_\" expected, found \"energies\", \"states\" (a model is \
                 J and h, or Q, or W, a and b, or components_, intercept_visible_ and intercept_hidden_)",
            ),
            (of(&[square, ("H", &[2], &[1.0, 2.0])]), "no array but J, h expected, found \"H\""),
            (
                of(&[square, ("h", &[3], &[0.0; 3])]),
                "array \"h\": an array of shape (3,), where (2,) is needed",
            ),
            (
                of(&[("J", &[2, 2], &[0.0, 1.0, 2.0, 0.0])]),
                "array \"J\": a symmetric matrix expected, found J[0][1] = 1 and J[1][0] = 2",
            ),
            (
                of(&[("J", &[2, 2], &[0.0, 1.0, 1.0, 3.0])]),
                "array \"J\": 0 on the diagonal expected, found J[1][1] = 3",
            ),
            (of(&[("Q", &[1, 2], &[0.0; 2])]), "array \"Q\": an array of shape (1, 2), where (1, 1) is needed"),
            (of(&[("W", &[1, 1], &[0.0]), bias]), "array \"b\" expected, found \"W\", \"a\""),
            (
                of(&[("W", &[2, 1], &[0.0; 2]), bias, ("b", &[1], &[0.0])]),
                "array \"a\": an array of shape (1,), where (2,) is needed",
            ),
            (
                of(&[("components_", &[2, 1], &[0.0; 2]), ("intercept_visible_", &[2], &[0.0; 2])]),
                "array \"intercept_visible_\": an array of shape (2,), where (1,) is needed",
            ),
        ],
    );
}

#[test]
fn npz_of_one_s_own_comes_back_and_has_one_text() {
    let numbers = [1.5f64, -2.0, 1e300, 0.0];
    let add = |npz: &mut Npz<Cursor<Vec<u8>>>| {
        npz.add("energies", &[2, 2], &numbers).unwrap();
        npz.add("states", &[3], &[0u8, 1, 255]).unwrap();
        npz.add("empty", &[0, 4], &[0u32; 0]).unwrap();
        let rows = |out: &mut dyn Write| (0..1000i64).try_for_each(|row| out.write_all(&row.to_le_bytes()));
        npz.add_with("rows", &[1000], Kind::I64, rows).unwrap();
    };
    let bytes = npz(add);
    assert_eq!(bytes, npz(add));
    let mut reader = Reader::new(Cursor::new(&bytes)).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), ["energies", "states", "empty", "rows"]);
    let energies = Array { shape: vec![2, 2], values: vec![1.5, -2.0, 1e300, 0.0] };
    assert_eq!(reader.array("energies"), Ok(energies));
    assert_eq!(reader.array("states"), Ok(Array { shape: vec![3], values: vec![0.0, 1.0, 255.0] }));
    assert_eq!(reader.array("empty"), Ok(Array { shape: vec![0, 4], values: vec![] }));
    let rows = (0..1000).map(f64::from).collect();
    assert_eq!(reader.array("rows"), Ok(Array { shape: vec![1000], values: rows }));
    let missing = reader.array("none").unwrap_err().to_string();
    assert_eq!(missing, "array \"none\" expected, found \"empty\", \"energies\", \"rows\", \"states\"");
}

#[test]
fn npz_refuses_other_numbers_than_the_shape_has() {
    let mut npz = Npz::new();
    let error = npz.add("x", &[2, 2], &[1.0f32; 3]).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::InvalidInput, "x: 12 bytes: shape (2, 2) has 16")
    );
    let error = npz.add("y", &[usize::MAX, 2], &[1.0f32]).unwrap_err();
    let shape = format!("y: shape ({}, 2) is too large", usize::MAX);
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::InvalidInput, shape));
    assert!(npz.add("x", &[1], &[1.0f32]).is_err());
}

/// The command on files of every format that are wrong: one line on standard error, exit code 1.
#[test]
fn the_command_refuses_bad_files_in_one_line() {
    let Some(bitmc) = option_env!("CARGO_BIN_EXE_bitmc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let info = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (path.display().to_string(), std::process::Command::new(bitmc).arg("info").arg(&path).output().unwrap())
    };
    let cases: [(&str, &[u8], &str); 11] = [
        ("g.rudy", b"2 1\n1 3\n", "line 2: a vertex from 1 to 2 expected, found 3"),
        ("g", b"2 1\n\xFF\n", "line 2: not text in UTF-8"),
        ("g.csv", b"0,1\n0,,1\n", "line 2: another site expected, found \"\""),
        ("g.tsv", b"0\t1\tx\n", "line 1: a finite weight expected, found \"x\""),
        ("f.qubo", b"p qubo 0 2 0 1\n1 0 1\n", "line 2: the smaller site first expected, found 1 0"),
        ("f.json", b"{\n1}", "line 2: key must be a string"),
        ("f.poly", b"bits 2\n1 2\n", "line 2: a variable below 2 expected, found 2"),
        ("f.uai", b"MARKOV 1 2 1 1 0 2\n0 0\n", "line 2: a weight above 0 expected in factor 0, found none"),
        ("f.npy", b"NUMPY", "not a NumPy file: \"\\x93NUMPY\" expected"),
        ("f.npz", b"an array", "not a .npz file: invalid Zip archive: Could not find EOCD"),
        ("f.xyz", b"", "found \".xyz\""),
    ];
    for (name, bytes, why) in cases {
        let (path, output) = info(name, bytes);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with(&format!("error: {path}: ")) && told.ends_with(&format!("{why}\n")), "{told}");
        assert_eq!(
            (told.lines().count(), output.stdout.len(), output.status.code()),
            (1, 0, Some(1)),
            "{told}"
        );
    }
    let (_, output) = info("nan.npy", &npy(&[2, 2], &[1.0f32, f32::NAN, 0.0, 1.0]));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.ends_with("the weight NaN of edge 0 1 is no finite number of 32 bits\n"), "{told}");
    // The same files without their faults are told.
    let (_, output) = info("g.rudy", b"2 1\n1 2\n");
    assert_eq!((output.stderr.len(), output.status.code()), (0, Some(0)));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    /// Words of the formats in any order, and good files with some bytes altered.
    #[test]
    fn any_text_is_read_or_refused(
        words in prop::collection::vec(
            "MARKOV|BAYES|p qubo 0|bits|spins|c|#|,|\n|-?[0-9.]{1,3}|1e[0-9]{1,3}|nan|inf|\\PC", 0..40
        ),
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        file in prop::sample::select(&[RUDY, QUBO, UAI, EDGES, POLY, MIXED, TRIANGLE][..]),
    ) {
        any_text(&words.join(" "));
        any_text(&String::from_utf8_lossy(&altered(file.as_bytes(), &bytes)));
    }

    /// Bytes in any order, and good files with some bytes altered.
    #[test]
    fn any_bytes_are_read_or_refused(
        any in prop::collection::vec(any::<u8>(), 0..200),
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        file in prop::sample::select(&[ISING, SCIKIT, MATRIX][..]),
        length in any::<prop::sample::Index>(),
    ) {
        any_bytes(&any);
        any_bytes(&altered(file, &bytes));
        any_bytes(&file[..length.index(file.len())]);
    }

    #[test]
    fn edges_come_back(
        edges in prop::collection::btree_map((0u32..9, 0u32..9), any::<f64>(), 1..20),
    ) {
        let finite = edges.into_iter().filter(|&((a, b), w)| a < b && (w as f32).is_finite());
        let edges: Vec<_> = finite.map(|((a, b), w)| (a, b, w)).collect();
        let model = Edges { fields: vec![0.5, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], edges };
        prop_assert_eq!(Edges::parse(&model.to_text()), Ok(model));
    }

    #[test]
    fn graphs_come_back(weights in prop::collection::vec(-1e30f64..1e30, 10)) {
        let pairs = (0..4u32).flat_map(|a| (a + 1..4).map(move |b| (b, a)));
        let edges = pairs.zip(&weights).map(|((a, b), &w)| (a, b, w)).collect();
        let graph = Graph { vertices: 4, fields: weights[6..].to_vec(), edges };
        prop_assert_eq!(Graph::parse(&graph.to_text()), Ok(graph));
    }

    #[test]
    fn models_of_dimod_come_back(
        spins in any::<bool>(),
        names in prop::option::of(prop::collection::btree_set("\\PC{0,5}", 4)),
        linear in prop::collection::vec(-1e30f64..1e30, 4),
        offset in -1e300f64..1e300,
    ) {
        let edges = vec![(0, 1, linear[0]), (3, 2, linear[1])];
        let model = Bqm { spins, names: names.map(|names| names.into_iter().collect()), linear, edges, offset };
        prop_assert_eq!(Bqm::parse(&model.to_text()), Ok(model));
    }

    #[test]
    fn polynomials_come_back(
        spins in any::<bool>(),
        terms in prop::collection::vec((prop::collection::vec(0u32..9, 0..6), -1e30..1e30), 0..9),
    ) {
        let form = Poly { spins, sites: 9, terms };
        prop_assert_eq!(Poly::parse(&form.to_text()), Ok(form));
    }

    #[test]
    fn arrays_come_back(values in prop::collection::vec(any::<f32>(), 0..50)) {
        let bytes = npy(&[values.len()], &values);
        let back = Array::parse(&bytes).unwrap();
        prop_assert_eq!(&back.shape, &[values.len()]);
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&back.rounded()), bits(&values));
    }
}

/// A file with some bytes altered.
fn altered(file: &[u8], bytes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let mut altered = file.to_vec();
    bytes.iter().for_each(|(at, byte)| altered[at.index(file.len())] = *byte);
    altered
}
