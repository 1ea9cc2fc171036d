//! The readers of text formats: good files, the same file back, and ten bad ones each.

use bitmc_examples::formats::rudy::{Graph, RudyError};
use bitmc_examples::formats::{Found, Unexpected};

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
    let path = Graph { vertices: 4, edges: vec![(0, 1, 1.0), (2, 1, -1.0), (2, 3, 0.25)] };
    assert_eq!(Graph::parse(RUDY), Ok(path.clone()));
    assert_eq!(Graph::parse(&RUDY.replace('\n', "\r\n")), Ok(path.clone()));
    assert_eq!(Graph::parse(&path.to_text()), Ok(path));
    assert_eq!(Graph::parse("1 0"), Ok(Graph { vertices: 1, edges: vec![] }));
    assert_eq!(Graph::parse("2 1\n2 1"), Ok(Graph { vertices: 2, edges: vec![(1, 0, 1.0)] }));
}

#[test]
fn rudy_bad_files() {
    use RudyError::{Duplicate, Edges, Loop, Vertex, Vertices};
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
        ("2 1\n2 2 1", Loop { line: 2, vertex: 2 }),
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
    assert!(Graph::read(&path).unwrap_err().to_string().ends_with("graph.txt: line 2: not text"));
    std::fs::write(&path, "2 1\n1 2 1\n").unwrap();
    assert_eq!(Graph::read(&path).unwrap().edges.len(), 1);
}
