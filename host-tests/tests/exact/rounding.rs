//! Tables with one number far above the others: their constructors refuse what fixed point would lose. Rounded all the same,
//! the frequencies are wrong.

use bitmc::energy::{
    Boltzmann, GaussianError, LogisticError, NetworkError, QuarticError, RbmError, SparseError, pack_rows,
};
use bitmc::lane::Block;
use bitmc::{BinaryNetwork, Energy, Ising, LatticeGaussian, Logistic, Packed, Quartic, Rbm};
use bitmc_host_tests::heap::Couplings;

/// The distribution of one site given the values of the others, by the differences of an energy.
fn conditional(energy: &dyn Energy, values: &[u32], site: usize) -> Vec<f64> {
    let layout = energy.layout();
    let mut words = vec![0; layout.words()];
    for (site, &value) in values.iter().enumerate() {
        bitmc::packed::set(layout, &mut words, site, value).unwrap();
    }
    let mut cache = vec![[0; 16]; energy.cache_len()];
    energy.init(Packed::new(layout, &words).unwrap(), &mut cache).unwrap();
    let mut out = vec![0.0; layout.arity()];
    energy.differences(&mut words, &cache, site, &mut out);
    distribution(out.into_iter().map(f64::from))
}

/// e^(−E), normalised.
fn distribution(energies: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let energies: Vec<f64> = energies.into_iter().collect();
    let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = energies.iter().map(|energy| (least - energy).exp()).collect();
    let all: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / all).collect()
}

/// The total variation of two distributions.
fn off(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

/// A model by one large number: `new` and `rounded` build it, `right` is the distribution in float64. `new` takes it right or
/// refuses it; `rounded` takes all of them, some wrongly.
fn judge<M: Energy, X: PartialEq + std::fmt::Debug + std::fmt::Display>(
    sizes: impl IntoIterator<Item = f32>,
    with: impl Fn(f32, &dyn Fn(Result<M, X>, Result<M, X>, Vec<f64>)),
    (values, site): (&[u32], usize),
    refusal: &X,
) {
    let (kept, refused, wrong) = (std::cell::Cell::new(0), std::cell::Cell::new(0), std::cell::Cell::new(0));
    let more = |count: &std::cell::Cell<u32>| count.set(count.get() + 1);
    for size in sizes {
        with(size, &|new, rounded, right| {
            let rounded = off(&conditional(&rounded.unwrap(), values, site), &right);
            match new {
                Ok(model) => {
                    let off = off(&conditional(&model, values, site), &right);
                    assert!(off < 2e-3, "{size}: {off}");
                    more(&kept);
                }
                Err(error) => {
                    assert_eq!(error, *refusal, "{size}");
                    assert!(error.to_string().contains("lost in rounding"), "{error}");
                    more(&refused);
                    wrong.set(wrong.get() + u32::from(rounded > 0.05));
                }
            }
        });
    }
    let counts = [kept, refused, wrong].map(std::cell::Cell::into_inner);
    assert!(counts.iter().all(|&count| count > 0), "{refusal:?}: {counts:?}");
}

/// A model lives as long as its numbers.
fn leaked<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

fn powers(most: i32) -> impl Iterator<Item = f32> {
    (0..2 * most).map(|half| 2f32.powf(0.5 * half as f32))
}

#[test]
fn machines_refuse_what_rounding_loses() {
    // A bias of any size beside weights of about 1.
    let mut weights = [[0.0; 16]; 3];
    pack_rows(&[0.0, 0.0, 1.25, -0.75, 0.5, 0.25], 2, &mut weights).unwrap();
    let mut hidden = [[0.0; 16]];
    hidden[0][..2].copy_from_slice(&[0.25, 0.5]);
    judge(
        powers(33),
        |bias, see| {
            let visible: &'static [f32] = leaked([bias, 0.55, 0.0]);
            let on = |p: f64| p.exp().ln_1p();
            let energy = |v: f64| {
                let [p, q] = [f64::from(hidden[0][0]), f64::from(hidden[0][1])];
                let rows = [f64::from(weights[1][0]), f64::from(weights[1][1])];
                -f64::from(visible[1]) * v - on(p + rows[0] * v) - on(q + rows[1] * v)
            };
            let right = distribution([energy(0.0), energy(1.0)]);
            see(Rbm::new(&weights, visible, &hidden, 2), Rbm::rounded(&weights, visible, &hidden, 2), right);
        },
        (&[1, 0, 0], 1),
        &RbmError::VisibleRounded { unit: 1 },
    );
    // What else can be lost.
    let visible = [0.0; 3];
    let mut large = weights;
    large[0][1] = 1e9;
    let error = Rbm::new(&large, &visible, &hidden, 2).unwrap_err();
    assert_eq!(error, RbmError::HiddenRounded { unit: 0 });
    let error = Rbm::new(&large, &visible, &[[0.0; 16]], 2).unwrap_err();
    assert_eq!(error, RbmError::WeightRounded { visible: 1, hidden: 0 });
    assert!(Rbm::rounded(&large, &visible, &hidden, 2).is_ok());
    let error = Logistic::new(&large, &visible, &[[0.0; 16]], 2).unwrap_err();
    assert_eq!(error, LogisticError::Rounded { coefficient: 1, observation: 0 });
    assert!(Logistic::rounded(&large, &visible, &[[0.0; 16]], 2).is_ok());
}

/// By edges that count twice: what is on the grid of even numbers is taken, what is between its points refused.
#[test]
fn spins_refuse_what_rounding_loses_in_any_convention() {
    let mut memory = Couplings::new(4, 2);
    let large = 2f32.powi(28);
    for (small, fits) in [(1.5, true), (1.0, true), (1.25, false), (0.75, false)] {
        let edges = [(0, 1, large), (2, 3, small)];
        let twice = Ising::spins_edges_twice(4, edges, &[], memory.borrow()).map(|_| ());
        let once = edges.map(|(a, b, coupling)| (a, b, 2.0 * coupling));
        assert_eq!(Ising::spins_edges_once(4, once, &[], memory.borrow()).map(|_| ()), twice);
        assert_eq!(twice, if fits { Ok(()) } else { Err(SparseError::CouplingRounded { edge: 1 }) }, "{small}");
    }
}

/// Where the diagonal says what is little, a coupling far below it may be lost; beside a diagonal as small it may not.
#[test]
fn couplings_of_a_lattice_are_little_beside_the_smallest_row() {
    let mut memory = Couplings::new(4, 2);
    let mut of = |least: f32| {
        let edges = [(0, 1, 0.25), (2, 3, 1.5e-9)];
        let diagonal = [1.0, 1.0, least, least];
        LatticeGaussian::sparse(4, 5, edges, &diagonal, &[2.0; 4], memory.borrow()).map(|_| ())
    };
    assert_eq!((of(1.0), of(2e-9).is_err()), (Ok(()), true));
}

#[test]
fn dense_gaussians_refuse_what_rounding_loses() {
    let centre = [100.0; 2];
    let own = 2e-5f32;
    judge(
        powers(20).map(|size| own * size * size),
        |other, see| {
            let mut rows: [Block; 2] = [[0.0; 16]; 2];
            (rows[0][0], rows[1][1]) = (other, own);
            let right = distribution((0..1000).map(|x| 0.5 * f64::from(own) * (f64::from(x) - 100.0).powi(2)));
            let rows: &'static [Block] = leaked(rows);
            let centre: &'static [f32] = leaked(centre);
            let rounded = LatticeGaussian::dense_rounded(rows, centre, 1000);
            see(LatticeGaussian::dense(rows, centre, 1000), rounded, right);
        },
        (&[100, 100], 1),
        &GaussianError::Rounded { row: 1, column: 1 },
    );
}

#[test]
fn quartic_mixtures_refuse_what_rounding_loses() {
    let own = 0.0075f32;
    judge(
        powers(15).map(|size| 1.5 * size).chain([5e4]),
        |other, see| {
            let mut rows = [[0.0; 16]; 2];
            (rows[0][0], rows[1][1]) = (other, own);
            let mut centres = [[0.0; 16]];
            centres[0][1] = 1.5;
            let right = distribution((0..20).map(|x| (f64::from(own) * f64::from(x) - 1.5).powi(4)));
            let (rows, centres): (&'static [Block], &'static [Block]) = (leaked(rows), leaked(centres));
            see(Quartic::new(rows, centres, 2, 20), Quartic::rounded(rows, centres, 2, 20), right);
        },
        (&[0, 3], 1),
        &QuarticError::Rounded { site: 1, coordinate: 1 },
    );
}

#[test]
fn networks_refuse_what_rounding_loses() {
    judge(
        powers(33),
        |large, see| {
            // Two columns of two rows, one hidden unit: sites are W₀, W₁, b, v.
            let inputs: &'static [f32] = leaked([large, 0.0, 0.0, 0.3]);
            let targets: &'static [f32] = &[0.1, 0.2];
            let energy = |w: f64| 20.0 * ((1.0 + f64::from(0.3f32) * w).tanh() - f64::from(0.2f32)).powi(2);
            let right = distribution([energy(-1.0), energy(1.0)]);
            let rounded = BinaryNetwork::rounded(inputs, targets, 1, 1.0, 20.0);
            see(BinaryNetwork::new(inputs, targets, 1, 1.0, 20.0), rounded, right);
        },
        (&[0, 0, 1, 1], 1),
        &NetworkError::InputRounded { column: 1, row: 1 },
    );
}

#[test]
fn boltzmann_machines_refuse_what_rounding_loses() {
    let place = Boltzmann::coupling(3, 1, 2).unwrap();
    judge(
        powers(33),
        |field, see| {
            let mut theta = [[0.0; 16]; Boltzmann::parameter_len(3)];
            (theta[0][0], theta.as_flattened_mut()[place]) = (field, 0.7);
            let room = || leaked([[0; 16]; Boltzmann::memory_len(3)]);
            let right = distribution([0.0, -f64::from(0.7f32)]);
            see(Boltzmann::bits(&theta, 3, room()), Boltzmann::bits_rounded(&theta, 3, room()), right);
        },
        (&[1, 0, 1], 1),
        &SparseError::PairRounded { a: 1, b: 2 },
    );
    let theta = [[0.0; 16]; Boltzmann::parameter_len(3)];
    let mut room = [[0; 16]; Boltzmann::memory_len(3)];
    assert!(Boltzmann::spins_rounded(&theta, 3, &mut room).is_ok());
}
