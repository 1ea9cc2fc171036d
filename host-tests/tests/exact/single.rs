//! Sites of one value in a binary layout: every sampler leaves them at 0, whatever the gradient there says, and asks for
//! nothing that they have not.

use bitmc::energy::BaseDistribution;
use bitmc::lane::Bits;
use bitmc::noise::{Diagonal, Edgewise, SparseMatrix};
use bitmc::step::{Curvature, EnumeratedGibbs, HammingBall, RandomWalk, Swap};
use bitmc::{
    Energy, Function, Gibbs, GibbsWithGradients, Info, Ising, Kernel, LaneRng, Langevin, Layout,
    LocallyBalanced, Packed, PathAuxiliary, Plain, Rng, SeedableRng,
};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::passes_on;
use bitmc_host_tests::snapshot::{load, save};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::{Verdict, chi_square};

const ARITIES: [u16; 7] = [2, 1, 2, 2, 1, 2, 1];
const LAYOUT: Layout = Layout::binary(ARITIES.len());

/// Four free sites and three of one value, at which the gradient points to the value that they have not.
struct Own {
    /// Whether it says that it has sites of one value.
    honest: bool,
}

fn energy(x: &[f64]) -> f64 {
    let free = [x[0], x[2], x[3], x[5]];
    let sum: f64 = free.iter().sum();
    0.4 * (sum - 1.5).powi(2) - 0.6 * free[0] * free[3] + 0.3 * free[1]
}

impl Function for Own {
    fn layout(&self) -> Layout {
        LAYOUT
    }

    fn arities(&self) -> Option<&[u16]> {
        self.honest.then_some(&ARITIES)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let missing = ARITIES.iter().zip(x.values()).any(|(&arity, value)| arity == 1 && value == 1);
        if missing && self.honest { f32::NAN } else { energy(&heap::unpack(x)) as f32 }
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        if ARITIES[site] == 1 && self.honest {
            return -20.0;
        }
        let mut x = heap::unpack(x);
        let mut at = |value| {
            x[site] = value;
            energy(&x)
        };
        (at(1.0) - at(0.0)) as f32
    }
}

/// The same with differences of NaN at values that a site has not.
struct Nan(Plain<Own>);

impl Energy for Nan {
    passes_on!(0: layout, cache_len, arities, init, gradient, shift);

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.0.differences(words, cache, site, out);
        if self.0.0.honest && ARITIES[site] == 1 {
            out.iter_mut().skip(1).for_each(|out| *out = f32::NAN);
        }
    }
}

fn model(honest: bool) -> Nan {
    Nan(Plain(Own { honest }))
}

fn legal(word: u32) -> bool {
    ARITIES.iter().enumerate().all(|(site, &arity)| arity == 2 || (word >> site) & 1 == 0)
}

fn space() -> Space {
    let states = 0..1u32 << ARITIES.len();
    let values = |word: u32| (0..ARITIES.len()).map(|site| f64::from((word >> site) & 1)).collect::<Vec<_>>();
    let energies = states.clone().map(|word| if legal(word) { energy(&values(word)) } else { f64::INFINITY });
    let distribution = Distribution::from_energies(ARITIES.len(), energies.collect());
    Space::new(LAYOUT, states.map(|word| vec![word]).collect(), distribution)
}

fn judge<K: Kernel<Nan> + Sync>(what: &str, energy: &Nan, kernel: &K) -> Verdict {
    let space = space();
    let plan = Plan { replicas: 12_800, steps: 12, ..Plan::usual(4) };
    chi_square(what, &space.ends(&plan, energy, kernel, 0), &space.distribution)
}

#[test]
fn no_sampler_gives_a_site_a_value_that_it_has_not() {
    let energy = model(true);
    let d = [[0.2; 16]];
    let mut couplings = Couplings::new(7, 2);
    let form = Ising::spins_edges_once(7, [(0, 1, 0.2), (2, 4, -0.1)], &[0.0; 7], couplings.borrow()).unwrap();
    let mut of = [[0.0; 16]];
    let edgewise = Edgewise::new(SparseMatrix::of(form.form()), &mut of).unwrap();
    judge("DMALA", &energy, &Langevin::adjusted(1.0).unwrap()).must_pass();
    judge("AB-1st", &energy, &Langevin::balanced(4.0, 0.8).unwrap()).must_pass();
    let diagonal = Diagonal::new(&d).unwrap();
    judge("AB, diagonal", &energy, &Langevin::second_order(diagonal, 4.0, 0.8).unwrap()).must_pass();
    judge("AB-edge", &energy, &Langevin::second_order(edgewise, 4.0, 0.8).unwrap()).must_pass();
    judge("Gibbs, sweeps", &energy, &Gibbs::systematic()).must_pass();
    judge("Gibbs, random", &energy, &Gibbs::random(5).unwrap()).must_pass();
    judge("GWG-1", &energy, &GibbsWithGradients::new(1).unwrap()).must_pass();
    judge("GWG-3", &energy, &GibbsWithGradients::new(3).unwrap()).must_pass();
    judge("PAS-3", &energy, &PathAuxiliary::new(3).unwrap()).must_pass();
    judge("LB-1", &energy, &LocallyBalanced).must_pass();
    judge("random walk", &energy, &RandomWalk::new(3.0).unwrap()).must_pass();
    judge("blocks of three", &energy, &EnumeratedGibbs::new(LAYOUT, 3).unwrap()).must_pass();
    judge("Hamming balls", &energy, &HammingBall::new(LAYOUT, 4, 2).unwrap()).must_pass();
    judge("swaps", &energy, &Swap).must_pass();
    // The same energy that does not say which sites have one value.
    let silent = model(false);
    judge("DMALA, not told", &silent, &Langevin::adjusted(1.0).unwrap()).must_fail();
    judge("Gibbs, not told", &silent, &Gibbs::systematic()).must_fail();
    judge("GWG-1, not told", &silent, &GibbsWithGradients::new(1).unwrap()).must_fail();
}

/// An unadjusted chain from a random start, with sites clamped and released on the way: how many states were illegal.
fn illegal(energy: &Nan, rng: &mut impl Rng) -> usize {
    let sampler = Langevin::new(0.5, Curvature::Same(1.0), false).unwrap();
    let mut chain = heap::random_chain(energy, rng).unwrap();
    let mut count = usize::from(!legal(chain.state().words()[0]));
    for step in 0..200 {
        match step % 20 {
            5 => chain.clamp(Packed::new(LAYOUT, &[0b10_0001]).unwrap()).unwrap(),
            15 => chain.release(),
            _ => (),
        }
        let info: Info = chain.step(&sampler, rng);
        assert!(!info.fault);
        count += usize::from(!legal(chain.state().words()[0]));
    }
    count
}

#[test]
fn random_starts_clamps_and_releases() {
    let mut rng = LaneRng::seed_from_u64(4);
    let mut total = |honest| (0..100).map(|_| illegal(&model(honest), &mut rng)).sum::<usize>();
    assert_eq!(total(true), 0);
    assert!(total(false) > 10_000, "energies that do not say so are not seen");
}

#[test]
fn a_snapshot_that_frees_them_does_not_move_them() {
    // The snapshot of a chain that does not know them has every site free.
    let (silent, honest) = (model(false), model(true));
    let bytes = save(&[&heap::chain(&silent, &[0b100]).unwrap()]);
    let mut chain = heap::chain(&honest, &[0]).unwrap();
    load(&bytes, &mut [&mut chain]).unwrap();
    assert_eq!(chain.state().words(), [0b100]);
    let mut rng = LaneRng::seed_from_u64(5);
    for _ in 0..300 {
        assert!(!chain.step(&Langevin::adjusted(1.0).unwrap(), &mut rng).fault);
        assert!(legal(chain.state().words()[0]));
    }
    // A snapshot of its own brings back what was clamped.
    chain.clamp(Packed::new(LAYOUT, &[1]).unwrap()).unwrap();
    let bytes = save(&[&chain]);
    let mut other = heap::chain(&honest, &[0]).unwrap();
    load(&bytes, &mut [&mut other]).unwrap();
    assert_eq!(save(&[&other]), bytes);
}

/// A constant over three sites.
struct Constant {
    arities: Option<[u16; 3]>,
    total: f32,
}

impl Function for Constant {
    fn layout(&self) -> Layout {
        Layout::binary(3)
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_ref().map(|arities| &arities[..])
    }

    fn total(&self, _x: Packed<'_>) -> f32 {
        self.total
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        0.0
    }
}

#[test]
fn another_model_may_have_two_values_there() {
    let narrow = Plain(Constant { arities: Some([1, 2, 2]), total: 0.0 });
    let wide = Plain(Constant { arities: None, total: 0.0 });
    let refused = Plain(Constant { arities: None, total: f32::NAN });
    let mut rng = LaneRng::seed_from_u64(6);
    let mut moved = |chain: &mut heap::HeapChain<'_, Plain<Constant>>| {
        let mut moved = 0;
        for _ in 0..50 {
            let before = chain.state().words()[0];
            chain.step(&Gibbs::systematic(), &mut rng);
            moved |= before ^ chain.state().words()[0];
        }
        moved
    };
    let start = |clamped: u32| {
        let mut chain = heap::chain(&narrow, &[0]).unwrap();
        chain.clamp(Packed::new(Layout::binary(3), &[clamped]).unwrap()).unwrap();
        chain
    };
    let mut chain = start(0b100);
    assert_eq!(moved(&mut chain), 0b010);
    assert!(chain.rebind(&refused).is_err());
    assert_eq!(moved(&mut chain), 0b010, "a refused model changes nothing");
    chain.rebind(&wide).unwrap();
    assert_eq!(moved(&mut chain), 0b011, "rebind; what was clamped stays so");
    let rest = start(0b010).unbind();
    let (_, rest) = rest.bind(&refused).err().unwrap();
    let mut chain = rest.bind(&wide).map_err(|(error, _)| error).unwrap();
    assert_eq!(moved(&mut chain), 0b101, "bind");
    let mut chain = start(0b010).unbind().bind(&narrow).map_err(|(error, _)| error).unwrap();
    assert_eq!(moved(&mut chain), 0b100, "the same model");
}

#[test]
fn gibbs_says_that_they_stay() {
    let energy = model(true);
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    let mut log_p = [f32::NAN; 2];
    assert!(!Gibbs::conditional(chain.ring(), 1, &mut log_p));
    assert_eq!(log_p, [0.0, f32::NEG_INFINITY]);
    // There is no move to the value that is missing.
    let to = [0b10];
    let to = Packed::new(LAYOUT, &to).unwrap();
    for found in [
        Langevin::adjusted(1.0).unwrap().transition(chain.ring(), to).unwrap(),
        RandomWalk::new(1.0).unwrap().transition(chain.ring(), to).unwrap(),
    ] {
        assert_eq!((found.log_forward, found.log_ratio), (f32::NEG_INFINITY, f32::NEG_INFINITY));
    }
}

#[test]
fn the_uniform_base_draws_none() {
    let mut rng = LaneRng::seed_from_u64(6);
    let counts = |honest, rng: &mut LaneRng| {
        let energy = model(honest);
        let base = BaseDistribution::new(&energy, &[]).unwrap();
        let mut counts = vec![0u64; 128];
        for _ in 0..20_000 {
            let mut words = [u32::MAX];
            base.draw(rng, &mut words);
            counts[words[0] as usize] += 1;
        }
        let z = (0..128).filter(|&word| legal(word)).count() as f64;
        assert!(!honest || (f64::from(base.log_z()) - z.ln()).abs() < 1e-6);
        let distribution: Vec<f64> = (0..128).map(|word| if legal(word) { 1.0 / z } else { 0.0 }).collect();
        chi_square("the uniform base", &counts, &distribution)
    };
    counts(true, &mut rng).must_pass();
    counts(false, &mut rng).must_fail();
}
