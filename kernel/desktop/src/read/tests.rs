//! Every format gives the energy that its page says.

use super::*;
use crate::npz::{Element, Npz};
use bitmc::Packed;
use std::fs;
use std::io::{Cursor, Read};

/// The energies of all states of a model of bits, site 0 running fastest, as they are told.
fn energies(model: &Model) -> Vec<f64> {
    let mut parts = Parts::new(model, 1.0).unwrap();
    let ready = parts.ready().unwrap();
    let energy = ready.energy();
    let mut cache = vec![[0; LANES]; energy.cache_len()];
    let all = 0..1u32 << model.sites();
    let told = all.map(|state| {
        let words = [state];
        let state = Packed::new(energy.layout(), &words).unwrap();
        f64::from(energy.init(state, &mut cache).unwrap()) + model.constant
    });
    told.collect()
}

/// The largest difference of two tables of energies.
fn apart(some: &[f64], others: &[f64]) -> f64 {
    assert_eq!(some.len(), others.len());
    some.iter().zip(others).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() }).fold(0.0, f64::max)
}

/// A file gives an energy over bits; with other signs or bits for their opposites it would not.
fn is(path: &Path, sites: usize, energy: impl Fn(&[f64]) -> f64) -> Model {
    let model = Model::read(path).unwrap();
    assert_eq!(model.sites(), sites);
    let (got, states) = (energies(&model), 0..1usize << sites);
    let bits = |state: usize| (0..sites).map(|site| (state >> site & 1) as f64).collect::<Vec<f64>>();
    let table = |of: &dyn Fn(&[f64]) -> f64| states.clone().map(|state| of(&bits(state))).collect::<Vec<f64>>();
    assert!(apart(&got, &table(&energy)) < 1e-5, "{got:?}, {:?}", table(&energy));
    assert!(apart(&got, &table(&|x| -energy(x))) > 0.01);
    assert!(apart(&got, &table(&|x| energy(&x.iter().map(|x| 1.0 - x).collect::<Vec<_>>()))) > 0.01);
    model
}

/// The same over spins.
fn is_of_spins(path: &Path, sites: usize, energy: impl Fn(&[f64]) -> f64) -> Model {
    is(path, sites, |x| energy(&x.iter().map(|x| 2.0 * x - 1.0).collect::<Vec<_>>()))
}

fn file(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The bytes of a `.npy` file.
fn npy<T: Element>(shape: &[usize], numbers: &[T]) -> Vec<u8> {
    let mut npz = Npz::new();
    npz.add("x", shape, numbers).unwrap();
    let mut zip = zip::ZipArchive::new(npz.finish().unwrap()).unwrap();
    let mut bytes = Vec::new();
    zip.by_name("x.npy").unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn texts_are_the_energies_of_their_pages() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["g.rudy", "g.mc", "g.TXT", "G"] {
        let path = file(&folder, name, "3 4\n1 2 1\n2 3 -0.5\n1 3 2\n2 2 0.25\n");
        let model =
            is_of_spins(&path, 3, |s| s[0] * s[1] - 0.5 * s[1] * s[2] + 2.0 * s[0] * s[2] + 0.25 * s[1]);
        assert_eq!((model.labels.word, model.labels.of(0)), ("vertex", "1".into()));
    }
    for (name, text) in [
        ("g.csv", "source,target,weight\n0,1,0.5\n\n1, 2,-1\n2,2,0.25\n"),
        ("g.tsv", "0\t1\t0.5\n1\t2\t-1\n2\t2\t0.25\n"),
        ("g.edges", "# a path\n0 1 0.5\n% its end\n2 1 -1\n2 2 .25"),
    ] {
        let path = file(&folder, name, text);
        is_of_spins(&path, 3, |s| -(0.5 * s[0] * s[1] - s[1] * s[2] + 0.25 * s[2]));
    }
    let path = file(&folder, "f.qubo", "p qubo 0 3 2 2\n0 0 3.5\n2 2 -2\n0 1 1.5\n0 2 -1\n");
    is(&path, 3, |x| 3.5 * x[0] - 2.0 * x[2] + 1.5 * x[0] * x[1] - x[0] * x[2]);
}

#[test]
fn dimod_s_models_are_its_energies() {
    let model = is(&data("mixed.json"), 4, |x| {
        -x[0] + 2.0 * x[1] + 0.5 * x[2] - 1.5 * x[0] * x[1] + x[0] * x[2] + 3.0 * x[1] * x[3] + 0.25
    });
    let names: Vec<String> = (0..4).map(|site| model.labels.of(site)).collect();
    assert_eq!(names, ["a", "b", "[\"x\",0]", "7"]);
    let model = is_of_spins(&data("triangle.json"), 3, |s| {
        0.1 * s[0] - 0.2 * s[2] - s[0] * s[1] + s[1] * s[2] + 0.5 * s[0] * s[2] - 1.5
    });
    assert_eq!(model.labels, Labels { word: "variable", first: 0, names: None });
}

/// `−a·v − Σ ln(1 + e^(b + vᵀW))`
fn rbm_energy(weights: &[&[f64]], visible: &[f64], hidden: &[f64], v: &[f64]) -> f64 {
    let own: f64 = visible.iter().zip(v).map(|(a, v)| a * v).sum();
    let unit = |unit: usize| hidden[unit] + (0..v.len()).map(|i| v[i] * weights[i][unit]).sum::<f64>();
    -own - (0..hidden.len()).map(|j| unit(j).exp().ln_1p()).sum::<f64>()
}

#[test]
fn arrays_are_the_energies_of_their_page() {
    // Written by NumPy: J in Fortran order and doubles, h in singles.
    is_of_spins(&data("ising.npz"), 3, |s| {
        -(s[0] * s[1] - 0.5 * s[0] * s[2] + 0.25 * s[1] * s[2] + 0.1 * s[0] - 0.2 * s[2])
    });
    // In Fortran order, not symmetric.
    is(&data("matrix.npy"), 3, |x| {
        -x[0] - 2.0 * x[1] + 0.5 * x[2] + 2.0 * x[0] * x[1] + x[0] * x[2] + 3.0 * x[1] * x[2]
    });
    // A machine that scikit-learn has learnt, compressed.
    let (one, two) = ([-0.09209974, 0.01573753, 0.10769826], [-0.08728336, 0.02985029, 0.08743858]);
    let weights: Vec<[f64; 2]> = one.into_iter().zip(two).map(|(a, b)| [a, b]).collect();
    let weights: Vec<&[f64]> = weights.iter().map(|row| &row[..]).collect();
    let scikit = |v: &[f64]| rbm_energy(&weights, &[-0.22, 0.02, 0.19], &[0.00363072, 0.00249506], v);
    is(&data("scikit.npz"), 3, scikit);

    let folder = tempfile::tempdir().unwrap();
    let (w, a, b) = ([1.0f32, -2.0, 0.5, 0.25], [0.5f64, -1.0], [0.75f32, -0.25]);
    let plain = |v: &[f64]| rbm_energy(&[&[1.0, -2.0], &[0.5, 0.25]], &a, &[0.75, -0.25], v);
    let mut npz = Npz::new();
    npz.add("W", &[2, 2], &w).unwrap();
    npz.add("a", &[2], &a).unwrap();
    npz.add("b", &[2], &b).unwrap();
    is(&file(&folder, "rbm.npz", npz.finish().unwrap().into_inner()), 2, plain);
    file(&folder, "W.npy", npy(&[2, 2], &w));
    file(&folder, "a_vis.npy", npy(&[2], &a));
    file(&folder, "b_hid.npy", npy(&[2], &b));
    is(folder.path(), 2, plain);

    // Without fields, and of whole numbers.
    let mut npz = Npz::new();
    npz.add("J", &[2, 2], &[0i64, -3, -3, 0]).unwrap();
    let model = Model::read(file(&folder, "j.npz", npz.finish().unwrap().into_inner())).unwrap();
    assert_eq!(energies(&model), [3.0, -3.0, -3.0, 3.0]);
    let mut npz = Npz::new();
    npz.add("Q", &[2, 2], &[0u8, 3, 2, 7]).unwrap();
    is(&file(&folder, "q.npz", npz.finish().unwrap().into_inner()), 2, |x| 5.0 * x[0] * x[1] + 7.0 * x[1]);
    // Two entries of a pair that nearly cancel: what is left is not lost.
    let matrix = npy(&[2, 2], &[0.0, 1e9 + 0.5, -1e9, 7.0]);
    is(&file(&folder, "cancel.npy", matrix), 2, |x| 0.5 * x[0] * x[1] + 7.0 * x[1]);
}

/// Numbers of 25 bits lose 1 each, those of 24 bits nothing, whichever format they are in.
#[test]
fn what_numbers_lose_in_rounding_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let bqm = fs::read_to_string(data("triangle.json")).unwrap().replace("0.10000000149011612", "0");
    let bqm = bqm.replace("-0.20000000298023224", "0");
    for (name, text) in [
        ("g.rudy", "3 3\n1 2 20000001\n2 3 -20000003\n2 2 20000002\n"),
        ("g.edges", "0 1 20000001\n1 2 -20000003\n2 2 20000002\n"),
        ("f.qubo", "p qubo 0 3 2 1\n0 0 20000001\n2 2 -20000003\n0 1 20000002\n"),
        ("f.poly", "spins 3\n20000001 0 1\n-20000003 0\n20000002 2\n20000001\n"),
        ("f.json", &bqm.replace("[-1.0, 0.5, 1.0]", "[20000001, 20000002, -20000003]")),
    ] {
        let rounding = Model::read(file(&folder, name, text)).unwrap().rounding();
        assert!((rounding - 2.0).abs() < 1e-8, "{name}: {rounding}");
    }
    let matrix = npy(&[2, 2], &[20_000_001.0, 10_000_001.0, 10_000_000.0, 0.5]);
    assert_eq!(Model::read(file(&folder, "q.npy", matrix)).unwrap().rounding(), 2.0);
    let mut npz = Npz::new();
    npz.add("J", &[2, 2], &[0.0, 20_000_001.0, 20_000_001.0, 0.0]).unwrap();
    npz.add("h", &[2], &[0.25, -20_000_003.0]).unwrap();
    let path = file(&folder, "j.npz", npz.finish().unwrap().into_inner());
    assert_eq!(Model::read(path).unwrap().rounding(), 2.0);
    let mut npz = Npz::new();
    npz.add("W", &[1, 1], &[20_000_001.0]).unwrap();
    npz.add("a", &[1], &[20_000_002.0]).unwrap();
    npz.add("b", &[1], &[20_000_003.0]).unwrap();
    let path = file(&folder, "w.npz", npz.finish().unwrap().into_inner());
    assert_eq!(Model::read(path).unwrap().rounding(), 2.0);
}

#[test]
fn networks_have_evidence_beside_them_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = "MARKOV 2 2 2 3 2 0 1 0 1 1\n4 1 2 3 0\n1 0.5\n2 4 1\n";
    let path = file(&folder, "pair.uai", text);
    let weights: [f64; 4] = [1.0, 3.0, 2.0, 0.0];
    let table = |x: &[f64]| weights[(x[0] + 2.0 * x[1]) as usize];
    let energy = |x: &[f64]| -(0.5 * table(x) * (4.0 - 3.0 * x[1])).ln();
    assert_eq!(is(&path, 2, energy).known, []);

    let named = file(&folder, "other.evid", "1 0 1");
    assert_eq!(Model::read_given(&path, &named).unwrap().known, [(0, 1)]);
    file(&folder, "pair.evid", "1 1 0");
    assert_eq!(Model::read(&path).unwrap().known, [(1, 0)]);
    file(&folder, "pair.uai.evid", "1\n1 1 1");
    let model = Model::read(&path).unwrap();
    assert_eq!(model.known, [(1, 1)]);
    assert_eq!(Model::evidence_beside(&path), Some(folder.path().join("pair.uai.evid")));
    assert_eq!(model.given(&[]).unwrap().known, []);
    assert_eq!(Model::read_given(&path, &named).unwrap().known, [(0, 1)]);
}

#[test]
fn polynomials_are_their_terms() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "cubic.poly", "spins 3\n-1.5 0 1\n2\n0.5 0 1 2\n0.25 2\n1\n");
    is_of_spins(&path, 3, |s| 3.0 - 1.5 * s[0] * s[1] + 0.5 * s[0] * s[1] * s[2] + 0.25 * s[2]);
    let path = file(&folder, "cubic.poly", "bits 3\n-1.5 0 1\n2 0 1 2\n0.25 2 2\n1 2\n");
    is(&path, 3, |x| -1.5 * x[0] * x[1] + 2.0 * x[0] * x[1] * x[2] + 1.25 * x[2]);
    let path = file(&folder, "lost.poly", "bits 3\n5\n1e20 0 1\n0.5 0 2\n");
    let lost = "the term 0.5 0 2 would be lost in rounding: another weight is far larger";
    refused(&path, lost);

    let weights = Model::read(file(&folder, "sum.poly", "bits 2\n20000000.5 0\n0.5 0\n0.5 1\n")).unwrap();
    assert_eq!(weights.rounding(), 1.0, "what is rounded is the sum");

    let poly = Poly::parse("spins 3\n-1.5 0 1\n2\n0.5 0 1 2\n0.25 2\n1").unwrap();
    let said = Said::from(poly);
    assert_eq!(said.constant, 3.0);
    let Form::Polynomial { scale: Scale::Spins, sites: 3, terms } = said.form else {
        panic!("{:?}", said.form)
    };
    assert_eq!(terms, [(vec![0, 1], -1.5), (vec![0, 1, 2], 0.5), (vec![2], 0.25)]);
}

/// A file is refused for this reason, which is one line.
fn refused(path: &Path, why: &str) {
    let error = Model::read(path).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("{}: {why}", path.display()));
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn what_the_kernel_refuses_is_told_in_the_words_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let large = "3 2\n1 2 2\n2 3 3e38\n";
    refused(&file(&folder, "large.rudy", large), "the weights of vertex 2 add up to too much");
    let rounded = "3 2\n1 2 1e20\n3 2 1\n";
    let lost = "the weight 1e0 of edge 3 2 would be lost in rounding: another weight is far larger";
    refused(&file(&folder, "lost.rudy", rounded), lost);
    refused(&file(&folder, "lost.csv", "0 1 1e20\n2 1 1\n"), &lost.replace("3 2", "2 1"));
    let field = "3 2\n1 2 1e20\n3 3 -1\n";
    let lost = "the weight of vertex 3 would be lost in rounding: another weight is far larger";
    refused(&file(&folder, "field.rudy", field), lost);
    let bqm = fs::read_to_string(data("mixed.json")).unwrap();
    let lost = "the weight 1e0 of edge a [\"x\",0] would be lost in rounding: another weight is far larger";
    refused(&file(&folder, "lost.json", bqm.replace("[-1.5, 1.0, 3.0]", "[0.0, 1.0, 1e20]")), lost);
    // The table over no site counts.
    let (scopes, tables) = ("1 0\n".repeat(60), "2 1 1e-300\n".repeat(60));
    let network = format!("MARKOV 2 2 2 62\n0\n{scopes}2 0 1\n1 2\n{tables}4 1 1 1 1.0001\n");
    let lost = "entry 3 of factor 61 is lost in rounding: another entry is too large";
    refused(&file(&folder, "lost.uai", network), lost);

    let mut npz = Npz::new();
    npz.add("W", &[1, 2], &[1.0f32, 1.0]).unwrap();
    npz.add("a", &[1], &[f32::NAN]).unwrap();
    npz.add("b", &[2], &[0.0f32, 1.0]).unwrap();
    let path = file(&folder, "nan.npz", npz.finish().unwrap().into_inner());
    refused(&path, "array \"a\": the bias of visible unit 0 is not finite");
    file(&folder, "W.npy", npy(&[1, 2], &[1.0f32, f32::INFINITY]));
    file(&folder, "a_vis.npy", npy(&[1], &[1.0f32]));
    file(&folder, "b_hid.npy", npy(&[2], &[1.0f32, 2.0]));
    let error = Model::read(folder.path()).unwrap_err().to_string();
    let why = "the weight of visible unit 0 and hidden unit 1 is not finite";
    assert_eq!(error, format!("{}: {why}", folder.path().join("W.npy").display()));
}

#[test]
fn files_that_are_no_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let endings =
        "a model named .rudy, .mc, .txt, .edges, .csv, .tsv, .qubo, .json, .uai, .poly, .npy or .npz expected";
    refused(&file(&folder, "model.xml", "<x/>"), &format!("{endings}, found \".xml\""));
    refused(&folder.path().join("model.evid"), &format!("{endings}, found \".evid\""));
    let nowhere = Model::read(folder.path().join("nowhere.uai")).unwrap_err();
    assert!(matches!(nowhere, Error::File { .. }) && nowhere.to_string().contains("nowhere.uai: "));
    let empty = Model::read(folder.path()).unwrap_err().to_string();
    assert!(empty.contains("W.npy: "), "{empty}");
    let graph = file(&folder, "g.rudy", "2 1\n1 2");
    let error = Model::read_given(&graph, folder.path().join("g.evid")).unwrap_err().to_string();
    assert!(error.ends_with("g.evid: evidence is about a network, a .uai file"), "{error}");
    refused(&file(&folder, "none.rudy", ""), "line 1: the number of vertices expected, the file ends");
    // The archive is in memory in one test, on disk in the other.
    assert!(Arrays::archive(Cursor::new(fs::read(data("ising.npz")).unwrap())).is_ok());
}
