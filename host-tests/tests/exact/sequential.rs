//! Sweeps of Gibbs sampling over Ising models: in parts, and at other temperatures.

use bitmc::energy::{Entry, Sparse, Tempered};
use bitmc::step::{Gibbs, SequentialGibbs};
use bitmc::temper::Replica;
use bitmc::{Energy, Ising, LaneRng, Layout, Packed, Rng, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::listed::Listed;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::passes_on;
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stuck::Stuck;

/// Parts of whole words, one after the other, draw what the sweep draws, and reach its energy.
#[test]
fn the_parts_of_a_sweep_are_the_sweep() {
    for (sites, parts) in [(100, vec![0..1, 1..3, 3..9]), (64, vec![0..2, 2..2, 5..7]), (5, vec![0..1, 1..2])] {
        let model = models::pairwise(Convention::SpinsEdgesOnce, sites, 0.1, 0.6, 4);
        let mut couplings = model.couplings();
        let ising = couplings.ising(&model).unwrap();
        let start = vec![0; sites.div_ceil(32)];
        let (mut whole, mut cut) = (heap::chain(&ising, &start).unwrap(), heap::chain(&ising, &start).unwrap());
        let (mut rng, mut same) = (LaneRng::seed_from_u64(7), LaneRng::seed_from_u64(7));
        let mut moved = 0;
        for sweep in 0..200 {
            let info = whole.step(&SequentialGibbs, &mut rng);
            let found =
                parts.iter().map(|words| cut.step(&SequentialGibbs::part(words.clone()), &mut same).moved());
            assert_eq!(found.sum::<u32>(), info.moved(), "{sites} sites, sweep {sweep}");
            assert_eq!(cut.state().words(), whole.state().words(), "{sites} sites, sweep {sweep}");
            moved += info.moved();
        }
        assert!(moved > 200 && (whole.energy() - cut.energy()).abs() < 1e-4 * sites as f32);
        // Without a word, the state is another one.
        let before = cut.state().words().to_vec();
        cut.step(&SequentialGibbs::part(0..1), &mut same);
        assert_eq!(cut.state().words()[1..], before[1..]);
    }
}

/// An Ising model that does not say that it is one, or says that it is another.
struct Hidden<'a>(Ising<'a>, Option<Ising<'a>>);

impl Energy for Hidden<'_> {
    passes_on!(0: layout, cache_len, init, gradient, shift, differences);

    fn ising(&self) -> Option<&Ising<'_>> {
        self.1.as_ref()
    }
}

/// `Gibbs` over an Ising model takes its fields at once. It draws what it draws where it asks at each site, and its
/// energy, its differences and what it leaves of the generator are the same, bit for bit.
#[test]
fn a_sweep_over_fields_is_the_one_that_asks_at_each_site() {
    for (sites, coupling, seed) in [(1, 0.0, 1), (5, 0.7, 2), (33, 0.4, 3), (100, 0.2, 4), (513, 0.6, 5)] {
        let model = models::pairwise(Convention::SpinsEdgesOnce, sites, 0.3, coupling, seed);
        let mut other = model.clone();
        other.edges.iter_mut().for_each(|edge| edge.2 = -edge.2);
        let (mut couplings, mut others) = (model.couplings(), other.couplings());
        let (ising, another) = (couplings.ising(&model).unwrap(), others.ising(&other).unwrap());
        let (asked, wrong) = (Hidden(ising, None), Hidden(ising, Some(another)));
        let start = vec![0; sites.div_ceil(32)];
        let mut held = start.clone();
        if sites > 32 {
            held[0] = 0b1010_0110;
        }
        let mut chains =
            [&ising as &dyn Energy, &asked, &wrong].map(|energy| heap::chain(energy, &start).unwrap());
        let mut rngs = [(); 3].map(|()| LaneRng::seed_from_u64(seed));
        let (mut moved, mut differ) = (0, false);
        for sweep in 0..100 {
            if sweep == 50 {
                let mask = Packed::new(Layout::binary(sites), &held).unwrap();
                chains.iter_mut().for_each(|chain| chain.clamp(mask).unwrap());
            }
            let [one, asked, wrong] = [0, 1, 2].map(|at| {
                let info = chains[at].step(&Gibbs::systematic(), &mut rngs[at]);
                let words = chains[at].state().words().to_vec();
                (
                    words,
                    chains[at].energy().to_bits(),
                    info.difference.to_bits(),
                    info.moved(),
                    rngs[at].next_u64(),
                )
            });
            moved += one.3;
            differ |= one != wrong;
            assert_eq!(one, asked, "{sites} sites, sweep {sweep}");
        }
        assert!(moved > 10 && (differ || sites == 1), "{sites} sites");
    }
}

/// At β = 1 the bits are those over the model itself, at a power of two those over a model with so many times the couplings.
#[test]
fn at_a_power_of_two_it_is_the_model_with_other_couplings() {
    let model = models::pairwise(Convention::BitsEdgesOnce, 70, 0.1, 0.9, 3);
    for beta in [1.0, 0.5, 0.125, 2.0] {
        let mut scaled = model.clone();
        scaled.fields.iter_mut().for_each(|field| *field *= beta);
        scaled.edges.iter_mut().for_each(|edge| edge.2 *= beta);
        let (mut couplings, mut others) = (model.couplings(), scaled.couplings());
        let (ising, other) = (couplings.ising(&model).unwrap(), others.ising(&scaled).unwrap());
        let path = Tempered::new(&ising, beta).unwrap();
        let start = [0; 3];
        let mut tempered = heap::chain(&path, &start).unwrap();
        let mut plain = heap::chain(&other, &start).unwrap();
        let (mut rng, mut same) = (LaneRng::seed_from_u64(7), LaneRng::seed_from_u64(7));
        let mut moved = 0;
        for sweep in 0..300 {
            moved += tempered.step(&SequentialGibbs, &mut rng).moved();
            plain.step(&SequentialGibbs, &mut same);
            assert_eq!(tempered.state().words(), plain.state().words(), "β {beta}, sweep {sweep}");
            assert!((tempered.energy() - plain.energy()).abs() < 1e-3, "β {beta}, sweep {sweep}");
        }
        assert!(moved > 1000, "β {beta}: {moved}");
        let before = tempered.energy();
        let drift = tempered.refresh().unwrap();
        assert!(drift.abs() < 1e-3 && (tempered.energy() - before).abs() < 1e-3, "β {beta}: {drift}");
    }
}

/// βE + (1 − β)E₀ in float64.
struct Path<'m> {
    model: &'m Pairwise,
    theta: &'m [f32],
    beta: f64,
}

impl Target for Path<'_> {
    fn sites(&self) -> usize {
        self.theta.len()
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let base: f64 = -self.theta.iter().zip(x).map(|(&theta, x)| f64::from(theta) * x).sum::<f64>();
        self.beta * self.model.energy(x) + (1.0 - self.beta) * base
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let own = self.model.gradient(x).into_iter().zip(self.theta);
        own.map(|(g, &theta)| self.beta * g - (1.0 - self.beta) * f64::from(theta)).collect()
    }
}

/// Replicas on the path from a base reach its distribution; those at a β that is a quarter off do not.
#[test]
fn replicas_reach_the_distribution_on_the_path_from_a_base() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.5, 1.0, 8);
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let mut source = Source::new(6);
    let theta: Vec<f32> = (0..6).map(|_| source.coarse(0.8)).collect();
    let counts = |beta: f32| {
        let path = Tempered::from_base(&ising, &theta, beta).unwrap();
        let mut rng = LaneRng::seed_from_u64(12);
        let mut replica = Replica::random(path, heap::memory(&path), &mut rng).unwrap();
        let mut counts = vec![0; 64];
        for _ in 0..20_000 {
            (0..8).for_each(|_| _ = replica.step(&SequentialGibbs, &mut rng));
            counts[replica.state().words()[0] as usize] += 1;
        }
        let ends = (replica.energy(), replica.gap());
        let state = replica.state().words().to_vec();
        let fresh = Replica::new(path, heap::memory(&path), path_state(&ising, &state)).unwrap();
        assert!((fresh.energy() - ends.0).abs() < 1e-3 && (fresh.gap() - ends.1).abs() < 1e-3, "β {beta}");
        counts
    };
    for beta in [0.0, 0.3, 0.8, 1.0, 1.5] {
        let truth = Path { model: &model, theta: &theta, beta: f64::from(beta) };
        let space = Space::binary(&truth);
        chi_square(&format!("β {beta}"), &counts(beta), &space.distribution).must_pass();
        chi_square(&format!("β {beta} and .25"), &counts(beta + 0.25), &space.distribution).must_fail();
    }
}

fn path_state<'s>(ising: &Ising<'_>, words: &'s [u32]) -> bitmc::Packed<'s> {
    bitmc::Packed::new(bitmc::Energy::layout(ising), words).unwrap()
}

/// A noise of 0 is not below even odds, whatever its sign: a sweep over a general energy draws what this one does.
#[test]
fn noise_of_nothing_leaves_sites_of_even_odds_at_0() {
    let mut couplings = heap::Couplings::new(3, 0);
    let ising = Ising::bits_edges_once(3, [], &[0.0; 3], couplings.borrow()).unwrap();
    for (start, word) in [(0, u32::MAX), (7, u32::MAX), (0, u32::MAX - 1), (7, u32::MAX - 1)] {
        let mut chain = heap::chain(&ising, &[start]).unwrap();
        chain.step(&SequentialGibbs, &mut Stuck::At(word));
        assert_eq!(chain.state().words(), [0], "from {start}");
        let mut chain = heap::chain(&ising, &[start]).unwrap();
        chain.step(&Gibbs::systematic(), &mut Stuck::At(word));
        assert_eq!(chain.state().words(), [0], "in general, from {start}");
    }
}

/// Fields in units of 1, so that thresholds meet them often. Site 0 goes up and moves the field of site 1, whose draws are
/// counted over an even grid of words.
#[test]
fn a_site_beside_one_that_flipped_has_its_logistic_probability() {
    let entries = [1, 0].map(|site| Entry { site, coupling: 1 });
    for field in -4..4 {
        let linear = [40, field];
        let ising = Ising::quadratic(Sparse::from_rows(&[1, 2], &entries, &linear, 0).unwrap());
        let mut ones = 0;
        for number in 0..4096u32 {
            for sign in [0, 1] {
                // The second sixteen are asked for where a word is small.
                let mut words = [1 << 31; 32];
                words[1] = number << 20 | 1 << 19 | sign;
                let mut chain = heap::chain(&ising, &[0]).unwrap();
                chain.step(&SequentialGibbs, &mut Listed(&words));
                assert_eq!(chain.state().get(0), 1);
                ones += chain.state().get(1);
            }
        }
        let (found, truth) = (f64::from(ones) / 8192.0, 1.0 / (1.0 + f64::from(-(field + 1)).exp()));
        assert!((found - truth).abs() <= 1.0 / 4096.0, "log odds {}: {found} for {truth}", field + 1);
    }
}
