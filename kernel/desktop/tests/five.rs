//! Five models, at most six lines each from nothing to an archive, and means beside enumeration or a float64 reference run.

use bitmc_desktop::{Model, npz};
use std::path::Path;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The states of an archive, `(chains · draws) × sites`.
fn states(path: &Path, sites: usize) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let states = npz::Reader::new(std::fs::File::open(path)?)?.array("states")?;
    assert_eq!(states.shape, [16, 1000, sites]);
    Ok(states.rounded())
}

/// The means over all states of an archive are those of a distribution: within five errors, the error by the chains' means.
fn means_are(path: &Path, truth: &[f64]) -> Outcome {
    let (states, sites) = (states(path, truth.len())?, truth.len());
    for (site, truth) in truth.iter().enumerate() {
        let chain =
            |chain: &[f32]| chain.iter().skip(site).step_by(sites).map(|&x| f64::from(x)).sum::<f64>() / 1000.0;
        let means: Vec<f64> = states.chunks_exact(1000 * sites).map(chain).collect();
        let mean = means.iter().sum::<f64>() / 16.0;
        let error = (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 15.0 / 16.0).sqrt();
        assert!((mean - truth).abs() < 6.0 * error.max(1e-4), "site {site}: {mean} ± {error}, not {truth}");
        assert!(error < 0.1);
    }
    Ok(())
}

/// The means by enumeration of an energy over sites of some values.
fn enumerated(arity: usize, sites: usize, energy: impl Fn(&[usize]) -> f64) -> Vec<f64> {
    let (mut z, mut means) = (0.0, vec![0.0; sites]);
    let mut x = vec![0; sites];
    for state in 0..arity.pow(sites as u32) {
        (0..sites).fold(state, |rest, site| {
            x[site] = rest % arity;
            rest / arity
        });
        let weight = (-energy(&x)).exp();
        z += weight;
        means.iter_mut().zip(&x).for_each(|(mean, &x)| *mean += weight * x as f64);
    }
    means.iter().map(|mean| mean / z).collect()
}

/// Numbers that any machine makes.
struct Numbers(u64);

impl Numbers {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn sign(&mut self) -> f64 {
        if self.unit() < 0.5 { 1.0 } else { -1.0 }
    }
}

/// The mean energy of an Ising model and its error, by naive float64 Gibbs sweeps in twenty parts.
fn reference(sites: usize, edges: &[(u32, u32, f32)], sweeps: usize) -> (f64, f64) {
    let mut rows = vec![Vec::new(); sites];
    for &(a, b, j) in edges {
        rows[a as usize].push((b as usize, f64::from(j)));
        rows[b as usize].push((a as usize, f64::from(j)));
    }
    let mut random = Numbers(99);
    let mut spins: Vec<f64> = (0..sites).map(|_| random.sign()).collect();
    let mut parts = Vec::new();
    for part in 0..21 {
        let mut sum = 0.0;
        for _ in 0..sweeps {
            for site in 0..sites {
                let field: f64 = rows[site].iter().map(|&(other, j)| j * spins[other]).sum();
                spins[site] = if random.unit() < 1.0 / (1.0 + (-2.0 * field).exp()) { 1.0 } else { -1.0 };
            }
            let site =
                |site: usize| spins[site] * rows[site].iter().map(|&(other, j)| j * spins[other]).sum::<f64>();
            sum -= 0.5 * (0..sites).map(site).sum::<f64>();
        }
        // The first part is warm-up.
        if part > 0 {
            parts.push(sum / sweeps as f64);
        }
    }
    let mean = parts.iter().sum::<f64>() / 20.0;
    (mean, (parts.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 19.0 / 20.0).sqrt())
}

#[test]
fn a_spin_glass_with_all_couplings() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sk.npz");
    let mut random = Numbers(1);
    let edges: Vec<(u32, u32, f32)> = (0..200u32)
        .flat_map(|a| (a + 1..200).map(move |b| (a, b)))
        .map(|(a, b)| (a, b, (0.7 * random.sign() / 200f64.sqrt()) as f32))
        .collect();

    let model = Model::ising(200, &edges, &[])?;
    let samples = model.sampler().run()?;
    samples.save(&path)?;

    means_are(&path, &[0.5; 200])?;
    let (exact, error) = reference(200, &edges, 500);
    let energy = samples.summary().energy;
    let off = (energy.mean - exact).abs() / error.hypot(energy.mcse.ok_or("no error")?);
    assert!(off < 5.0 && (energy.mean + 3.0 - exact).abs() > 5.0 * error, "{energy:?}, {exact} ± {error}");
    Ok(())
}

#[test]
fn a_spin_glass_in_a_cube() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, path) = (folder.path().join("cube.edges"), folder.path().join("cube.npz"));
    let (at, mut random) = (|x: u32, y: u32, z: u32| (x % 8 * 8 + y % 8) * 8 + z % 8, Numbers(2));
    let cells = (0..512).map(|cell| (cell / 64, cell / 8 % 8, cell % 8));
    let edges: Vec<(u32, u32, f32)> = cells
        .flat_map(|(x, y, z)| [at(x + 1, y, z), at(x, y + 1, z), at(x, y, z + 1)].map(|b| (at(x, y, z), b)))
        .map(|(a, b)| (a, b, (0.45 * random.sign()) as f32))
        .collect();
    let lines: String = edges.iter().map(|(a, b, j)| format!("{a} {b} {j}\n")).collect();
    std::fs::write(&file, lines)?;

    let samples = Model::read(&file)?.sampler().run()?;
    samples.save(&path)?;

    means_are(&path, &[0.5; 512])?;
    let (exact, error) = reference(512, &edges, 500);
    let energy = samples.summary().energy;
    let off = (energy.mean - exact).abs() / error.hypot(energy.mcse.ok_or("no error")?);
    assert!(off < 5.0, "{energy:?}, {exact} ± {error}");
    Ok(())
}

#[test]
fn a_machine_of_scikit_learn() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rbm.npz");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scikit.npz");

    Model::read(&file)?.sampler().run()?.save(&path)?;

    let mut arrays = npz::Reader::new(std::fs::File::open(&file)?)?;
    let mut of = |name| arrays.array(name).map(|array| array.rounded());
    let (w, a, b) = (of("components_")?, of("intercept_visible_")?, of("intercept_hidden_")?);
    let energy = |v: &[usize]| {
        let linear: f64 = v.iter().zip(&a).map(|(&v, &a)| v as f64 * f64::from(a)).sum();
        let unit =
            |j: usize| f64::from(b[j]) + (0..3).map(|i| v[i] as f64 * f64::from(w[3 * j + i])).sum::<f64>();
        -linear - (0..2).map(|j| unit(j).exp().ln_1p()).sum::<f64>()
    };
    means_are(&path, &enumerated(2, 3, energy))
}

#[test]
fn a_potts_model_of_the_uai_format() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (file, path) = (folder.path().join("potts.uai"), folder.path().join("potts.npz"));
    // A ring of nine sites of three values; agreement weighs e^.8, and the first site prefers 2.
    let scopes: String = (0..9).map(|a| format!("2 {a} {}\n", (a + 1) % 9)).collect();
    let table = "9\n2.2255 1 1 1 2.2255 1 1 1 2.2255\n".repeat(9);
    std::fs::write(&file, format!("MARKOV\n9\n{}\n10\n{scopes}1 0\n{table}3\n1 1 4\n", "3 ".repeat(9)))?;

    Model::read(&file)?.sampler().run()?.save(&path)?;

    let energy = |x: &[usize]| {
        let same = (0..9).filter(|&a| x[a] == x[(a + 1) % 9]).count();
        -(same as f64) * 2.2255f64.ln() - if x[0] == 2 { 4f64.ln() } else { 0.0 }
    };
    means_are(&path, &enumerated(3, 9, energy))
}

#[test]
fn a_cubic_polynomial() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cubic.npz");

    let terms: [(&[u32], f64); 5] =
        [(&[0, 1, 2], 1.0), (&[2, 3, 4], -1.5), (&[4, 5, 6], 0.7), (&[1, 7], -1.0), (&[3], 0.4)];
    Model::polynomial_spins(8, &terms)?.sampler().run()?.save(&path)?;

    let spin = |x: &[usize], i: u32| 2.0 * x[i as usize] as f64 - 1.0;
    let energy = |x: &[usize]| {
        terms.iter().map(|(sites, w)| w * sites.iter().map(|&i| spin(x, i)).product::<f64>()).sum()
    };
    means_are(&path, &enumerated(2, 8, energy))
}
