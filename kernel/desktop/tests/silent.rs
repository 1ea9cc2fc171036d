//! Answers that would be wrong without a word: each is refused, warned of, or right.

use bitmc_desktop::diagnose::diagnose;
use bitmc_desktop::{Choice, Model, Samples};

/// Two modes of four spins that no single flip connects: site 0 is 1 with probability 1/(1 + 1/e).
fn two_modes() -> Model {
    let edges = [(0, 1, -1.0), (0, 2, 6.0), (0, 3, 6.0), (1, 2, 6.0), (1, 3, 6.0), (2, 3, 6.0)];
    Model::ising(4, &edges, &[0.5, 0.0, 0.0, 0.0]).unwrap()
}

/// The same in nine chains of spins, too many states to enumerate: the first site's field decides.
fn two_large_modes() -> Model {
    let ring = (0..18).map(|site| (site, (site + 1) % 18, 6.0));
    let edges: Vec<(u32, u32, f32)> = ring.chain([(0, 9, -1.0), (3, 12, 6.0), (6, 15, 6.0)]).collect();
    let mut fields = [0.0; 18];
    fields[0] = 0.5;
    Model::ising(18, &edges, &fields).unwrap()
}

/// How far the mean of site 0 is from the truth, in errors; none where the run says that it is not to be trusted.
fn off(samples: &Samples, truth: f64) -> Option<f64> {
    let summary = samples.summary();
    let site = summary.sites[0].value;
    summary.warning().is_none().then(|| (site.mean - truth).abs() / site.mcse.unwrap_or(1e-9))
}

#[test]
fn modes_that_no_flip_connects_are_found_or_warned_of() {
    // E = ∓½ in the two modes.
    let truth = 1.0 / (1.0 + (-1f64).exp());
    for (model, seeds) in [(two_modes(), 40), (two_large_modes(), 20)] {
        let seeds = 0..seeds;
        let told: Vec<f64> =
            seeds.clone().filter_map(|seed| off(&model.sampler().seed(seed).run().unwrap(), truth)).collect();
        assert!(told.len() > seeds.count() / 2, "{told:?}");
        assert!(told.iter().all(|&off| off < 5.0), "{told:?}");
    }
    // Negative control: a ladder whose bottom is as stuck as its top is seen by the errors, if by nothing else.
    let stuck: Choice = "exchange:.7:.75:.8:.88:.94:1".parse().unwrap();
    let runs = (0..20).map(|seed| two_modes().sampler().with(stuck.clone()).seed(seed).run().unwrap());
    let errors: Vec<f64> = runs.filter_map(|run| run.summary().sites[0].value.mcse).collect();
    assert!(errors.iter().filter(|&&error| error > 0.015).count() > 15, "{errors:?}");
}

#[test]
fn samplers_that_reach_a_part_of_the_states_are_refused() {
    let model = |sites: u32| {
        let edges: Vec<_> = (1..sites).map(|site| (site - 1, site, 0.05)).collect();
        Model::ising(sites as usize, &edges, &vec![0.6; sites as usize]).unwrap()
    };
    let run = |sites, sampler: &str| {
        let choice: Choice = sampler.parse().unwrap();
        model(sites).sampler().with(choice).draws(50).run()
    };
    for (sites, sampler, because) in [
        (8, "pas:2", "the number of ones would stay even or odd"),
        (8, "pas:4", "the number of ones would stay even or odd"),
        (3, "pas", "all 3 sites would change at each step"),
        (2, "pas:5", "all 2 sites would change at each step"),
        (5, "random-walk:5", "a radius below 5 is needed"),
    ] {
        let error = run(sites, sampler).unwrap_err().to_string();
        assert!(error.contains(because), "{sampler} on {sites}: {error}");
    }
    for (sites, sampler) in [(8, "pas"), (1, "pas:1"), (4, "pas"), (5, "random-walk:4")] {
        run(sites, sampler).unwrap();
    }
    // With three values an even number is no parity.
    let edges = [(0, 1, 0.4), (1, 2, 0.4)];
    let three = Model::potts(3, 3, &edges, &[]).unwrap();
    three.sampler().with("pas:2".parse().unwrap()).draws(50).run().unwrap();
}

#[test]
fn permutations_are_sampled_by_the_automatic_choice() {
    let table: Vec<f64> = (0..16).map(|entry| f64::from(u8::from(entry / 4 != entry % 4))).collect();
    let pairs: Vec<[u32; 2]> = (0..4).flat_map(|a| (0..a).map(move |b| [a, b])).collect();
    let tables: Vec<(&[u32], &[f64])> = pairs.iter().map(|pair| (&pair[..], &table[..])).collect();
    let samples = Model::factors(&[4; 4], &tables).unwrap().sampler().run().unwrap();
    let summary = samples.summary();
    assert!(summary.warning().is_none(), "{summary:?}");
    assert!(summary.sites.iter().all(|site| (site.value.mean - 1.5).abs() < 0.1));
}

/// The radius of a walk is over all sites: where it is more than there are free ones, not all of these change at each step.
#[test]
fn random_walks_move_the_few_sites_that_are_not_known() {
    let edges: Vec<_> = (0..39).map(|site| (site, site + 1, 0.5)).collect();
    let model = Model::ising(40, &edges, &[]).unwrap();
    for free in [0, 1, 2] {
        let known: Vec<_> = (free..40).map(|site| (site, 1)).collect();
        let model = model.clone().given(&known).unwrap();
        for sampler in ["random-walk", "random-walk:8"] {
            let samples = model.sampler().with(sampler.parse().unwrap()).run().unwrap();
            let sites = samples.summary().sites;
            // A free end of the chain of spins agrees with its neighbour as often as two spins do that have no others.
            let mean = |site: usize| 0.5 + 0.5 * 0.5_f64.tanh().powi(free as i32 - site as i32);
            assert!(
                (0..free).all(|site| (sites[site].value.mean - mean(site)).abs() < 0.02),
                "{free} {sampler}"
            );
            assert!((free..40).all(|site| sites[site].value.mean == 1.0), "{free} {sampler}");
        }
    }
}

/// Blocks of four sites have more states than are enumerated from 27 values on, blocks of two from 65 on.
#[test]
fn hard_constraints_over_many_values_are_sampled_by_the_automatic_choice() {
    for values in [27_usize, 40, 70] {
        let table: Vec<f64> =
            (0..values * values).map(|entry| f64::from(u8::from(entry / values != entry % values))).collect();
        let pairs: Vec<[u32; 2]> = (0..5).map(|site| [site, (site + 1) % 5]).collect();
        let tables: Vec<(&[u32], &[f64])> = pairs.iter().map(|pair| (&pair[..], &table[..])).collect();
        let samples = Model::factors(&[values as u16; 5], &tables).unwrap().sampler().run().unwrap();
        let (summary, half) = (samples.summary(), (values as f64 - 1.0) / 2.0);
        assert!(summary.warning().is_none(), "{values}: {summary:?}");
        let near = |mean: f64| (mean / half - 1.0).abs() < 0.05;
        assert!(summary.sites.iter().all(|site| near(site.value.mean)), "{values}: {summary:?}");
    }
}

#[test]
fn ln_z_knows_what_it_has_not_met() {
    // One state of 200 is forbidden: runs that never begin there all have one weight.
    let mut weights = vec![1.0; 200];
    weights[0] = 0.0;
    let model = Model::factors(&[5, 5, 8], &[(&[0, 1, 2], &weights)]).unwrap();
    for seed in 1..9 {
        let found = model.log_z().seed(seed).run().unwrap();
        assert!((found.log_z - 199f64.ln()).abs() < 3.0 * found.error && found.error < 0.05, "{found:?}");
    }
    // One state of 4,096 has nearly all of Z.
    let all: Vec<u32> = (0..12).collect();
    let rare = Model::polynomial_bits(12, &[(&all, -20.0)]).unwrap();
    for found in [rare.log_z().run().unwrap(), rare.log_z().population(1000).seed(2).run().unwrap()] {
        let silent = found.warning.is_none();
        assert!(!silent || (found.log_z - 20f64.exp().ln_1p()).abs() < 5.0 * found.error, "{found:?}");
    }
    // Nothing to meet: exact.
    let flat = Model::ising(6, &[(0, 1, 0.0)], &[]).unwrap().log_z().run().unwrap();
    assert!(
        flat.warning.is_none() && (flat.log_z - 6.0 * 2f64.ln()).abs() < 1e-5 && flat.error < 1e-5,
        "{flat:?}"
    );
}

/// Weights of 32 bits hold neither of these numbers: terms over the same sites add up first, and a constant is no weight.
#[test]
fn terms_of_a_polynomial_add_up_before_they_are_rounded() {
    type Terms<'a> = &'a [(&'a [u32], f64)];
    let cases: [(bool, Terms<'_>, [f64; 4]); 5] = [
        (false, &[(&[0], 16_777_217.0), (&[0], -16_777_216.0), (&[1], 0.5)], [0.0, 1.0, 0.5, 1.5]),
        (false, &[(&[0, 1], 100_000.003), (&[1, 0], -1e5)], [0.0, 0.0, 0.0, 0.003]),
        (false, &[(&[0, 0, 1], 30_000_001.0), (&[1, 0, 1], -3e7)], [0.0, 0.0, 0.0, 1.0]),
        (
            false,
            &[(&[], -29_999_999.5), (&[0], 1.0), (&[], 0.25)],
            [-29_999_999.25, -29_999_998.25, -29_999_999.25, -29_999_998.25],
        ),
        (
            true,
            &[(&[0, 0], 1_000_000.3), (&[1, 0, 1], 0.5), (&[0], 0.25)],
            [999_999.55, 1_000_001.05, 999_999.55, 1_000_001.05],
        ),
    ];
    for (spins, terms, energies) in cases {
        let made = if spins { Model::polynomial_spins(2, terms) } else { Model::polynomial_bits(2, terms) };
        let folder = tempfile::tempdir().unwrap();
        let (path, bare) = (folder.path().join("terms.poly"), |sites: &[u32]| {
            sites.iter().map(|s| format!(" {s}")).collect::<String>()
        });
        let lines = terms.iter().map(|(sites, weight)| format!("{weight}{}\n", bare(sites)));
        let text = format!("{} 2\n{}", if spins { "spins" } else { "bits" }, lines.collect::<String>());
        std::fs::write(&path, text).unwrap();
        for model in [made.unwrap(), Model::read(&path).unwrap()] {
            let samples = model.sampler().draws(500).seed(1).run().unwrap();
            for draw in 0..500 {
                let state = samples
                    .state(0, draw)
                    .enumerate()
                    .map(|(site, value)| (value as usize) << site)
                    .sum::<usize>();
                let energy = samples.energies(0)[draw];
                assert!((energy - energies[state]).abs() < 1e-6, "{terms:?}: {energy} at {state}");
            }
            // 0.7 in 32 bits is another number: the constant over it would be off by tenths.
            for t in [1.0, 0.7] {
                let z: f64 = energies.iter().map(|energy| ((energies[0] - energy) / t).exp()).sum();
                let found = model.log_z().temperature(t).run().unwrap();
                let truth = z.ln() - energies[0] / t;
                assert!(
                    (found.log_z - truth).abs() < 5.0 * found.error + 1e-6,
                    "{terms:?}, T = {t}: {found:?}, not {truth}"
                );
            }
        }
    }
    let wrong = |terms: Terms<'_>| Model::polynomial_bits(2, terms).unwrap_err().to_string();
    assert_eq!(wrong(&[(&[0], 1.0), (&[1, 2], 1.0)]), "term 1 names site 2: the model has 2 sites");
    assert_eq!(wrong(&[(&[0], 1.0), (&[0], f64::NAN)]), "the weight of term 1 is not finite");
    assert!(wrong(&[(&[0], 3e38), (&[0], 3e38)]).contains("is not finite"));
}

#[test]
fn walls_are_higher_than_all_that_a_start_gains() {
    // Site 0 must be 0, and 1 weighs more by far.
    for (weight, temperature) in [(1e8, 1.0), (1e300, 1.0), (100.0, 0.05), (100.0, 0.2)] {
        let model = Model::factors(&[2], &[(&[0], &[1.0, 0.0]), (&[0], &[1.0, weight])]).unwrap();
        let samples = model.sampler().temperature(temperature).draws(20).run().unwrap();
        assert_eq!(samples.summary().sites[0].value.mean, 0.0);
        assert!(model.log_z().temperature(temperature.into()).run().is_ok());
    }
    // The negative control: there is no start.
    let model = Model::factors(&[2, 2], &[(&[0, 1], &[1.0, 0.0, 0.0, 1.0]), (&[0, 1], &[0.0, 1.0, 1.0, 0.0])]);
    let error = model.unwrap().sampler().run().unwrap_err().to_string();
    assert!(error.contains("no possible state"), "{error}");
}

#[test]
fn temperatures_below_the_rounding_are_refused() {
    let tiny = 1e-12;
    let weights: Vec<f32> = [1.0, -1.0, 0.5, 2.0, 0.0, 1.0].map(|w: f32| tiny * w).into();
    let model = Model::rbm(&weights, &[0.3 * tiny, -0.2 * tiny, 0.5 * tiny], &[0.0, 0.0]).unwrap();
    let error = model.sampler().temperature(tiny).run().unwrap_err().to_string();
    assert!(error.contains("energies are rounded by"), "{error}");
    // Of its own size, and frozen by a low temperature, a machine is sampled.
    model.sampler().draws(20).run().unwrap();
    let weights = [1.0, -1.0, 0.5, 2.0, 0.0, 1.0];
    let model = Model::rbm(&weights, &[0.3, -0.2, 0.5], &[0.0, 0.0]).unwrap();
    model.sampler().temperature(1e-6).draws(20).run().unwrap();
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let model = two_modes();
    let error = model.sampler().draws(usize::MAX / 4096).run().unwrap_err().to_string();
    assert!(error.starts_with("draws: ") && error.contains("GB of memory"), "{error}");
    let error = model.log_z().runs(1 << 50).run().unwrap_err().to_string();
    assert!(error.starts_with("runs: ") && error.contains("GB of memory"), "{error}");
    let error = model.annealer().reads(1 << 50, 1, None).run().unwrap_err().to_string();
    assert!(error.starts_with("reads: ") && error.contains("GB of memory"), "{error}");
    for made in [
        Model::ising(usize::MAX, &[], &[]),
        Model::qubo(usize::MAX, &[], &[]),
        Model::potts(usize::MAX, 3, &[], &[]),
        Model::polynomial_bits(usize::MAX, &[(&[0], 1.0)]),
    ] {
        assert_eq!(made.unwrap_err().to_string(), "a model has 1 to 2^31 - 1 sites");
    }
}

#[test]
fn gaussians_that_rounding_makes_wider_are_refused() {
    let pair = |own: f32, other: f32, centre: f32, arity: usize| {
        let model = Model::gaussian(arity, &[(0, 1, other)], &[own, own], &[centre; 2]);
        model.and_then(|model| model.log_z().run())
    };
    for (own, other, centre, arity) in [(50.000_01, -50.0, 0.0, 500), (50.0002, -50.0, 200.0, 400)] {
        let error = pair(own, other, centre, arity).unwrap_err().to_string();
        assert!(error.contains("lost in rounding along its softest direction"), "{error}");
    }
    // As correlated, on a lattice that the soft direction crosses: .999, and the other diagonal.
    for (own, other, centre, arity) in
        [(50.05, -50.0, 30.0, 64), (50.05, 50.0, 30.0, 64), (1.0, 0.4, 3.0, 8), (0.0, 0.0, 1.0, 3)]
    {
        pair(own, other, centre, arity).unwrap();
    }
}

#[test]
fn starts_are_found_where_a_sweep_ends_in_a_trap() {
    // Nine parity checks of fourteen bits: 32 states in 16,384.
    let even: Vec<f64> =
        (0..8u32).map(|entry| f64::from(u8::from(entry.count_ones().is_multiple_of(2)))).collect();
    let checks: Vec<[u32; 3]> = (0..9).map(|site| [site, site + 1, (site + 3) % 14]).collect();
    let tables: Vec<(&[u32], &[f64])> = checks.iter().map(|check| (&check[..], &even[..])).collect();
    let model = Model::factors(&[2; 14], &tables).unwrap();
    for seed in 1..6 {
        model.sampler().seed(seed).draws(20).seconds(0.5).run().unwrap();
    }
}

/// An energy of one's own over 12 bits.
struct Own {
    constant: f32,
    broken: bool,
    forbids: bool,
}

impl bitmc::Function for Own {
    fn layout(&self) -> bitmc::Layout {
        bitmc::Layout::binary(12)
    }

    fn total(&self, x: bitmc::Packed<'_>) -> f32 {
        let ones = x.ones() as f32;
        // No two neighbours are 1: about one random state in eleven.
        let forbidden = self.forbids && (0..12).any(|site| x.get(site) + x.get((site + 1) % 12) == 2);
        match (self.broken && ones == 12.0, forbidden) {
            (true, _) => f32::NAN,
            (_, true) => f32::INFINITY,
            _ => self.constant - 2.0 * ones,
        }
    }

    fn gradient(&self, _: bitmc::Packed<'_>, _: usize) -> f32 {
        -2.0
    }
}

#[test]
fn an_energy_of_ones_own_that_fails_or_is_too_large_is_warned_of() {
    let warning = |constant, broken| {
        let own = Own { constant, broken, forbids: false };
        let samples = Model::own(bitmc::Plain(own)).sampler().draws(200).run().unwrap();
        samples.summary().warning().unwrap_or_default()
    };
    assert_eq!(warning(0.0, false), "");
    assert_eq!(warning(1e5, false), "");
    assert!(warning(0.0, true).contains("NaN or −∞, or a gradient NaN, at"), "{}", warning(0.0, true));
    assert!(
        warning(1e7, false).ends_with("1 apart: subtract a constant from yours"),
        "{}",
        warning(1e7, false)
    );
    // Differences of built-in models are exact whatever their energies are.
    let large = Model::ising(3, &[(0, 1, 1e6), (1, 2, 1e6)], &[]).unwrap();
    assert_eq!(large.sampler().with("gibbs".parse().unwrap()).chains(1).run().unwrap().summary().spacing, None);
}

/// What a built-in model says of three sites of some values, as an energy of one's own.
struct Triple(usize);

impl bitmc::Function for Triple {
    fn layout(&self) -> bitmc::Layout {
        bitmc::Layout::categorical(3, self.0)
    }

    fn total(&self, x: bitmc::Packed<'_>) -> f32 {
        let equal = |a: usize, b: usize| f32::from(u8::from(x.get(a) == x.get(b)));
        -0.7 * equal(0, 1) - 0.4 * equal(1, 2)
    }

    fn gradient(&self, _: bitmc::Packed<'_>, _: usize) -> f32 {
        0.0
    }
}

#[test]
fn few_states_of_an_energy_of_ones_own_are_enumerated_too() {
    for (arity, is_few) in [(2, true), (6, true), (7, false)] {
        let built_in = Model::potts(3, arity, &[(0, 1, 0.7), (1, 2, 0.4)], &[]).unwrap();
        let own = Model::own(bitmc::Plain(Triple(arity)));
        let run = |model: &Model| model.sampler().draws(500).run().unwrap();
        let (built_in, own) = (run(&built_in), run(&own));
        let said = format!("all {} states are enumerated", arity.pow(3));
        assert_eq!(own.report().why.contains(&said), is_few, "{}", own.report().why);
        assert_eq!(built_in.report().why.contains(&said), is_few, "{}", built_in.report().why);
        // P(x₀ = x₁) = e^.7 / (e^.7 + arity − 1).
        let (mut equal, draws) = (0, own.chains() * own.draws());
        for (chain, draw) in (0..own.chains()).flat_map(|chain| (0..own.draws()).map(move |draw| (chain, draw)))
        {
            let x: Vec<u32> = own.state(chain, draw).collect();
            equal += u32::from(x[0] == x[1]);
        }
        let truth = 0.7f64.exp() / (0.7f64.exp() + arity as f64 - 1.0);
        let error = (truth * (1.0 - truth) / draws as f64).sqrt();
        assert!((f64::from(equal) / draws as f64 - truth).abs() < if is_few { 5.0 } else { 20.0 } * error);
    }
}

/// The root of the mean square of distances from the truth, in stated errors: about 1 where errors are honest.
fn ratio(told: impl Iterator<Item = (f64, Option<f64>)>) -> f64 {
    let squares: Vec<f64> = told.map(|(off, error)| (off / error.unwrap()).powi(2)).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn shares_of_values_have_honest_errors() {
    // Without fields all values of a site are equally likely.
    let ring: Vec<(u32, u32, f32)> = (0..8).map(|site| (site, (site + 1) % 8, 1.0)).collect();
    let model = Model::potts(8, 3, &ring, &[]).unwrap();
    let sampler = model.sampler().with("gibbs".parse().unwrap()).chains(4).draws(400);
    let summaries: Vec<_> = (0..60).map(|seed| sampler.clone().seed(seed).run().unwrap().summary()).collect();
    let sites = summaries.iter().flat_map(|summary| &summary.sites);
    let told =
        sites.flat_map(|site| site.shares.iter().map(|share| share - 1.0 / 3.0).zip(site.share_errors.clone()));
    let ratio = ratio(told);
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    // Of a bit that of its mean; none of a value that was never or always there.
    let bit = two_modes().sampler().run().unwrap().summary().sites[0].clone();
    assert_eq!(bit.share_errors, [bit.value.mcse; 2]);
    let never = Model::factors(&[3, 3], &[(&[0], &[1.0, 1.0, 0.0]), (&[1], &[0.0, 1.0, 0.0])]).unwrap();
    let sites = never.sampler().run().unwrap().summary().sites;
    assert!(sites[0].share_errors[0].is_some() && sites[0].share_errors[2].is_none());
    assert_eq!((&sites[1].shares[..], &sites[1].share_errors[..]), (&[0.0, 1.0, 0.0][..], &[None; 3][..]));
}

#[test]
fn isoenergetic_moves_have_honest_errors() {
    // A glass on a torus of 4×4 spins in a field. Autocorrelations come back at every eighth step.
    let site = |x: u32, y: u32| x % 4 + 4 * (y % 4);
    let sign = |site: u32, down: u32| if (site * 7 + down * 3) % 11 < 5 { -1.0 } else { 1.0 };
    let bonds = (0..16u32).flat_map(|at| {
        let (x, y) = (at % 4, at / 4);
        [(at, site(x + 1, y), sign(at, 0)), (at, site(x, y + 1), sign(at, 1))]
    });
    let (bonds, field, temperature) = (bonds.collect::<Vec<_>>(), 0.2, 1.0);
    let mut sums = [0.0f64; 17];
    for state in 0..1u32 << 16 {
        let spin = |site: u32| f64::from((state >> site & 1) * 2) - 1.0;
        let bound: f64 = bonds.iter().map(|&(a, b, j)| f64::from(j) * spin(a) * spin(b)).sum();
        let weight = ((bound + field * (0..16).map(spin).sum::<f64>()) / temperature).exp();
        sums[16] += weight;
        (0..16).filter(|site| state >> site & 1 == 1).for_each(|site| sums[site] += weight);
    }
    let model = Model::ising(16, &bonds, &[field as f32; 16]).unwrap();
    let choice: Choice = "isoenergetic:0.5:0.7:1".parse().unwrap();
    let sampler = model.sampler().with(choice).temperature(temperature as f32).chains(8);
    let (mut told, mut blind) = (Vec::new(), Vec::new());
    for seed in 0..150 {
        let samples = sampler.clone().seed(seed).run().unwrap();
        for (site, summary) in samples.summary().sites.iter().enumerate() {
            let off = summary.value.mean - sums[site] / sums[16];
            told.push((off, summary.value.mcse));
            blind.push((off, diagnose(&samples.site(site)).mcse));
        }
    }
    let [told, blind] = [told, blind].map(|told| ratio(told.into_iter()));
    assert!((0.85..1.15).contains(&told), "{told}");
    // Negative control: what does not know of the turns.
    assert!(blind > 1.15, "{blind}");
}

#[test]
fn annealing_looks_for_a_start_that_hard_constraints_allow() {
    let own = Own { constant: 0.0, broken: false, forbids: true };
    let model = Model::own(bitmc::Plain(own));
    for seed in 0..5 {
        let found = model.annealer().sweeps(1000).seed(seed).run().unwrap();
        assert_eq!(found.states[0].energy, -12.0, "{seed}");
    }
}

#[test]
fn a_site_that_is_known_twice_is_refused() {
    let model = || Model::ising(3, &[(0, 1, 0.5)], &[]).unwrap();
    let error = model().given(&[(0, 1), (1, 0), (0, 0)]).unwrap_err();
    assert_eq!(error.to_string(), "site 0 is known to be 1 and 0");
    assert!(model().given(&[(0, 1), (0, 1)]).is_ok());
}
