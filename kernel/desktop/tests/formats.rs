//! The readers of text formats: good files, the same file back, and ten bad ones each.

use bitmc::{Energy, Packed};
use bitmc_desktop::formats::qubo::{Qubo, QuboError};
use bitmc_desktop::formats::rudy::{Graph, RudyError};
use bitmc_desktop::formats::uai::{Network, Preamble, Table, UaiError};
use bitmc_desktop::formats::{Found, Unexpected, any_text};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

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
        words in prop::collection::vec("MARKOV|BAYES|p qubo 0|c|#|\n|-?[0-9.]{1,3}|1e[0-9]{1,3}|nan|inf|\\PC", 0..40),
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        file in prop::sample::select(&[RUDY, QUBO, UAI][..]),
    ) {
        any_text(&words.join(" "));
        let mut altered = file.as_bytes().to_vec();
        bytes.iter().for_each(|(at, byte)| altered[at.index(file.len())] = *byte);
        any_text(&String::from_utf8_lossy(&altered));
    }
}
