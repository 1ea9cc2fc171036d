//! [`IsingLangevin`]: its transition matrices against float64 distributions by enumeration, what its steps
//! report, and what failed generators do to it. That it gives the same bits whether it weighs touched sites or all
//! is in `lanes/batch.rs`; that it draws as it says, in `stat/exact_start.rs`.

use bitmc::step::{Curvature, IsingLangevin, ParameterError};
use bitmc::{Chain, Energy, Ising, Kernel, LaneRng, Langevin, Layout, Packed, SeedableRng};
use bitmc_host_tests::dmala::{Defect, Proposal};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap;
use bitmc_host_tests::listed::{Listed, count};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance::{ISING_GRID, LOGIT_ROUNDINGS, ROUNDING, SITE_ROUNDINGS};

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const STEP_SIZES: [f32; 5] = [0.1, 0.5, 2.0, 8.0, 1000.0];
const HELD: usize = 0b10_0101;

/// The float64 counterpart; log odds are cut to ±80.
fn proposal(step_size: f32, held: usize) -> Proposal {
    Proposal { balance: 0.5, curvature: vec![f64::from(1.0 / step_size); 6], held, limit: 80.0 }
}

fn matrix(energy: &Ising<'_>, step_size: f32, held: usize) -> Transitions {
    let sampler = IsingLangevin::adjusted(step_size).unwrap();
    Transitions::by(energy, held, |ring, to| sampler.transition(ring, to).unwrap())
}

#[test]
fn transition_matrices_keep_the_distribution() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        for convention in Convention::ALL {
            let model = models::pairwise(convention, 6, 0.8, scale, seed as u64);
            let (distribution, mut couplings) = (Distribution::of(&model), model.couplings());
            let energy = couplings.ising(&model).unwrap();
            for (step_size, held) in STEP_SIZES.into_iter().flat_map(|a| [(a, 0), (a, HELD)]) {
                let name = format!("{convention:?}, sd {scale}, step size {step_size}, held {held:b}");
                let found = matrix(&energy, step_size, held);
                let verdict = found.judge(&distribution);
                assert!(verdict.passes(), "{name}: {verdict:?}");
                let error = proposal(step_size, held).error(&model, &distribution, &found);
                assert!(error <= 1.0, "{name}: log q is {error} bounds off");
            }
        }
    }
}

/// Z of one site, whose log odds go through [−4, 4], in float64: as near as its sum in units of 2⁻²⁴ and the rounding of
/// ln(1 + e) allow. A matrix of six sites does not see an error of 10⁻⁵.
#[test]
fn z_is_near_the_truth_site_by_site() {
    let softplus = |z: f64| z.exp().ln_1p();
    let (mut largest, mut variant) = (0.0f64, 0.0f64);
    for field in (-128i16..=128).map(|field| f64::from(field) / 32.0) {
        for step_size in [0.25f32, 0.5, 1.0, 4.0] {
            let model =
                Pairwise { convention: Convention::BitsEdgesOnce, edges: vec![], fields: vec![field as f32] };
            let mut couplings = model.couplings();
            let energy = couplings.ising(&model).unwrap();
            let sampler = IsingLangevin::adjusted(step_size).unwrap();
            let found = Transitions::by(&energy, 0, |ring, to| sampler.transition(ring, to).unwrap());
            let curvature = 0.5 / f64::from(step_size);
            let z = [0.5 * field - curvature, -0.5 * field - curvature];
            // The curvature of the reference is off by one part in ten thousand.
            let off = z.map(|z| z - 1e-4 * curvature);
            let truth = |z: [f64; 2]| softplus(z[0]) - softplus(z[1]);
            let ratio = found.log_a(0, 1);
            largest = largest.max((ratio - truth(z)).abs());
            variant = variant.max((ratio - truth(off)).abs());
        }
    }
    println!("{largest:e}, broken {variant:e}");
    assert!(largest < 3e-7 && variant > 1e-5);
}

#[test]
fn broken_variants_fail() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, scale, seed as u64);
        let (distribution, mut couplings) = (Distribution::of(&model), model.couplings());
        let energy = couplings.ising(&model).unwrap();
        for step_size in STEP_SIZES {
            let found = matrix(&energy, step_size, 0);
            // Z of the wrong sign, and no test at all.
            let swapped = Transitions::new(64, |x, y| (found.log_q(x, y), -found.log_a(x, y)));
            let untested = Transitions::new(64, |x, y| (found.log_q(x, y), 0.0));
            assert!(
                !swapped.judge(&distribution).passes(),
                "sd {scale}, step size {step_size}: Z with the wrong sign"
            );
            assert!(!untested.judge(&distribution).passes(), "sd {scale}, step size {step_size}: no test");
            let other = proposal(step_size * 1.001, 0);
            // At step size 1,000 a curvature of .001 is next to none.
            let seen = other.error(&model, &distribution, &found) > 1.0;
            assert!(seen || step_size > 100.0, "a step size .1 % larger, {step_size}");
            let stale = proposal(step_size, 0).variant(&model, &distribution, Defect::StaleReverse);
            assert!(!stale.judge(&distribution).passes());
        }
    }
}

/// Models on which few sites are touched and on which all are; one of ten hubs, which flip often and of which seven
/// have more neighbours than the list of events has room for, and one so small that it has none.
fn targets() -> [(Pairwise, f32); 5] {
    let torus = |coupling| Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: bitmc::torus(30, 30, coupling).collect(),
        fields: vec![0.1; 900],
    };
    let dense = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6);
    let hubs = Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: (10..510).map(|site| (site % 10, site, 0.01)).collect(),
        fields: (0..640).map(|site| if site < 10 { 0.0 } else { 12.0 }).collect(),
    };
    let small =
        Pairwise { convention: Convention::SpinsEdgesOnce, edges: vec![(0, 1, 0.5)], fields: vec![0.3; 12] };
    [(torus(0.4), 0.1), (torus(0.2), 0.2), (dense, 0.3), (hubs, 1.0), (small, 0.5)]
}

#[test]
fn steps_report_what_transitions_say() {
    for (model, step_size) in targets() {
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        let layout = energy.layout();
        let mut rng = LaneRng::seed_from_u64(3);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        let mut other = heap::random_chain(&energy, &mut rng).unwrap();
        let held = heap::pack(&(0..layout.sites()).map(|i| f64::from(i % 5 == 2)).collect::<Vec<_>>());
        let held = Packed::new(layout, &held).unwrap();
        // The parameters change, other kernels run between, sites are clamped and released: weights that were kept
        // past their time would show.
        let samplers = [0.8, 1.0].map(|times| IsingLangevin::adjusted(times * step_size).unwrap());
        let between = Langevin::adjusted(step_size).unwrap();
        let (mut compared, mut rejected) = (0, 0);
        let ends = [0, layout.sites() - 1]
            .map(|end| heap::pack(&(0..layout.sites()).map(|site| f64::from(site == end)).collect::<Vec<_>>()));
        for step in 0..2000 {
            match step % 40 {
                // The first and the last site alone: one word of many says so.
                0 | 5 => {
                    let end = Packed::new(layout, &ends[usize::from(step % 40 == 5)]).unwrap();
                    (chain.clamp(end).unwrap(), other.clamp(end).unwrap())
                }
                10 => (chain.clamp(held).unwrap(), other.clamp(held).unwrap()),
                30 => (chain.release(), other.release()),
                _ => ((), ()),
            };
            if step % 9 == 8 {
                chain.step(&between, &mut rng);
            }
            let sampler = &samplers[step / 7 % 2];
            other.restart(chain.state()).unwrap();
            let mut same = rng.clone();
            let info = chain.step(sampler, &mut rng);
            let said = sampler.transition(other.ring(), chain.state()).unwrap();
            // Weights that were kept and those that are made anew give the same step.
            let anew = other.step(sampler, &mut same);
            assert_eq!((anew, other.state(), &same), (info, chain.state(), &rng), "step {step}");
            if info.moved() > 0 {
                assert_eq!(info.log_ratio.to_bits(), said.log_ratio.to_bits(), "step {step}");
                assert_eq!(info.difference.to_bits(), said.difference.to_bits(), "step {step}");
                compared += 1;
            } else {
                rejected += 1;
            }
            let exact = model.energy(&heap::unpack(chain.state()));
            assert!((f64::from(chain.energy()) - exact).abs() < 1e-3, "step {step}");
        }
        // With the 222 of the kernel between.
        assert_eq!(chain.steps(), 2222);
        assert!(compared > 500 && rejected > 20, "{compared} moves, {rejected} rejected");
    }
}

/// Z of so many sites that its halves of words would overflow if they were not carried: from all zeros to all ones, which
/// have log odds 0 and −1 at α = b = 1.
#[test]
fn z_of_millions_of_sites_is_carried() {
    const SITES: usize = 2_500_000;
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges: vec![], fields: vec![1.0; SITES] };
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let (layout, zeros) = (energy.layout(), vec![0; SITES / 32]);
    let mut chain = Chain::new(&energy, heap::memory(&energy), Packed::new(layout, &zeros).unwrap()).unwrap();
    let ones = vec![u32::MAX; SITES / 32];
    let said = IsingLangevin::adjusted(1.0).unwrap();
    let said = said.transition(chain.ring(), Packed::new(layout, &ones).unwrap()).unwrap();
    let exact = SITES as f64 * (2f64.ln() - (-1f64).exp().ln_1p());
    // 2·10⁻⁷ a site; what is not carried is off by 256.
    assert!((f64::from(said.log_ratio) - exact).abs() < 2.0, "{} for {exact}", said.log_ratio);
}

/// How many sites flip of a few in one word of the state, each with its fourteen bits of the generator, all others being
/// clamped; `decides` are the words that their ties ask for.
fn proposed(energy: &Ising<'_>, sampler: &IsingLangevin, draws: &[(usize, u128)], decides: &[u32]) -> u32 {
    let sites = energy.layout().sites();
    let held: Vec<f64> =
        (0..sites).map(|i| f64::from(u8::from(draws.iter().all(|&(site, _)| i != site)))).collect();
    let held = heap::pack(&held);
    let mut chain = heap::chain(energy, &vec![0; sites.div_ceil(32)]).unwrap();
    chain.clamp(Packed::new(energy.layout(), &held).unwrap()).unwrap();
    // A block of sixteen words for 32 sites, and what its ties ask for. The other half of a site's word, and the
    // two bits of its own that are not looked at, are set somehow.
    let mut words = vec![0x5A5A_5A5A; draws[0].0 / 32 * 16 + 16];
    for &(site, draw) in draws {
        let shift = site & 16;
        let word = &mut words[site / 32 * 16 + site % 16];
        *word = *word & !(0x3FFF << shift) | (draw as u32) << shift;
    }
    words.extend(decides);
    words.extend([0; 64]);
    Kernel::step(sampler, chain.ring(), &mut Listed(&words)).proposed
}

/// The probability that a site flips and that it stays, all others being clamped: counted over the words of the
/// generator, fourteen bits of one, 31 of a second and of a third.
fn counted(energy: &Ising<'_>, sampler: &IsingLangevin, site: usize) -> [f64; 2] {
    let flips = |draw: u128, second: u128, third: u128| {
        let decides = [(second << 1) as u32, (third << 1) as u32];
        proposed(energy, sampler, &[(site, draw)], &decides) == 1
    };
    const LAST: u128 = (1 << 31) - 1;
    let (least, most) = (count(1 << 14, |n| flips(n, 0, 0)), count(1 << 14, |n| flips(n, LAST, LAST)));
    assert_eq!(least.abs_diff(most), 1, "site {site}: one value of the fourteen bits is a tie");
    let tied = least.min(most);
    // What the second word decides is the rarer outcome: to flip where that is below ½.
    let likely = most > least;
    let rare = |second, third| flips(tied, second, third) != likely;
    let second = count(1 << 31, |word| rare(word, LAST));
    let third = if second > LAST { 0 } else { count(1 << 31, |word| rare(second, word)) };
    let part = (second as f64 + third as f64 * 2f64.powi(-31)) * 2f64.powi(-31);
    let whole = if likely { (1 << 14) - 1 - tied } else { tied };
    let p = (whole as f64 + part) * 2f64.powi(-14);
    if likely { [1.0 - p, p] } else { [p, 1.0 - p] }
}

#[test]
fn draws_have_the_probabilities_of_the_distribution() {
    // Fields from −40 to 40 a site of 70, in every half and lane of a register.
    let sites = 70;
    let fields: Vec<f32> = (0..sites).map(|i| ((i * 37 % sites) as f32 - 34.7) * 1.17).collect();
    let mut couplings = heap::Couplings::new(sites, 0);
    let energy = Ising::bits_edges_once(fields.len(), [], &fields, couplings.borrow()).unwrap();
    for step_size in [0.2, 3.0, 1000.0] {
        let sampler = IsingLangevin::adjusted(step_size).unwrap();
        let mut refused = 0;
        for (site, &field) in fields.iter().enumerate() {
            let found = counted(&energy, &sampler, site);
            let off = |step_size: f64| {
                let (half, curvature) = (0.5 * f64::from(field), 0.5 / step_size);
                let e = (-(half - curvature).abs()).exp();
                let rare = e / (1.0 + e);
                let truth = if half > curvature { [1.0 - rare, rare] } else { [rare, 1.0 - rare] };
                let size = 40.0 * ISING_GRID + LOGIT_ROUNDINGS * ROUNDING * (half.abs() + curvature);
                let bound = size + SITE_ROUNDINGS * ROUNDING;
                (0..2).map(|way| (found[way] / truth[way] - 1.0).abs() / bound).fold(0.0, f64::max)
            };
            assert!(off(f64::from(step_size)) <= 1.0, "site {site}, step size {step_size}: {found:?}");
            refused += u32::from(off(1.001 * f64::from(step_size)) > 1.0);
        }
        // At step size 1,000 a curvature of .0005 is next to none.
        assert!(refused > 60 || step_size > 100.0, "a step size .1 % larger is seen at {refused} sites");
    }
}

/// Each of two ties in a word is decided by a word of its own, in whatever halves and lanes they are.
#[test]
fn two_ties_of_a_word_are_both_decided() {
    let fields: Vec<f32> = (0..40).map(|i| 0.3 - 0.01 * i as f32).collect();
    let mut couplings = heap::Couplings::new(40, 0);
    let energy = Ising::bits_edges_once(40, [], &fields, couplings.borrow()).unwrap();
    // Log odds below 0: to flip is rarer, and what a small word decides.
    let sampler = IsingLangevin::adjusted(1.0).unwrap();
    let tied = |site| count(1 << 14, |n| proposed(&energy, &sampler, &[(site, n)], &[u32::MAX; 2]) == 1);
    for (first, second) in [(3, 9), (0, 15), (17, 30), (4, 20), (5, 18), (33, 39)] {
        let draws = [first, second].map(|site| (site, tied(site)));
        for decides in [[0, 0], [0, u32::MAX], [u32::MAX, 0], [u32::MAX, u32::MAX]] {
            let flips = decides.iter().filter(|&&word| word == 0).count();
            let found = proposed(&energy, &sampler, &draws, &decides);
            assert_eq!(found as usize, flips, "sites {first} and {second}, {decides:?}");
        }
    }
}

/// At log odds of 0 half of all draws flip a site: the words that decide a tie must add none.
#[test]
fn an_even_chance_is_even_to_the_last_bit() {
    let mut couplings = heap::Couplings::new(40, 0);
    let energy = Ising::bits_edges_once(40, [], &[1.0; 40], couplings.borrow()).unwrap();
    let sampler = IsingLangevin::adjusted(1.0).unwrap();
    for site in [0, 5, 21, 39] {
        for decides in [[0; 2], [u32::MAX; 2]] {
            let flips = count(1 << 14, |n| proposed(&energy, &sampler, &[(site, n)], &decides) == 1);
            assert_eq!(flips, 1 << 13, "site {site}, {decides:?}");
        }
    }
}

/// Few flips, none of which has a neighbour, and most words without one: what is listed are the flips alone. Energies and
/// ln A beside float64.
#[test]
fn few_flips_without_neighbours_are_those_of_float64() {
    let fields = (0..640).map(|i| ((i * 37 % 101) as f32 - 50.0) / 8.0).collect();
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges: vec![], fields };
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let held = heap::pack(&(0..640).map(|i| f64::from(i % 5 == 2)).collect::<Vec<_>>());
    let mut rejected = 0;
    for step_size in [0.1f32, 0.2, 0.3] {
        let sampler = IsingLangevin::adjusted(step_size).unwrap();
        let half_curvature = 0.5 / f64::from(step_size);
        let z = |x: &[f64]| -> f64 {
            let log_odds =
                model.gradient(x).into_iter().zip(x).map(|(slope, x)| (x - 0.5) * slope - half_curvature);
            log_odds.map(|z| z.exp().ln_1p()).sum()
        };
        let mut rng = LaneRng::seed_from_u64(11);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        let (mut proposed, mut worst) = (0, 0.0f64);
        for step in 0..400 {
            if step == 200 {
                chain.clamp(Packed::new(energy.layout(), &held).unwrap()).unwrap();
            }
            let before = heap::unpack(chain.state());
            let info = chain.step(&sampler, &mut rng);
            let after = heap::unpack(chain.state());
            let off = f64::from(chain.energy()) - model.energy(&after);
            assert!(off.abs() < 1e-3, "step size {step_size}, step {step}: E is off by {off}");
            if info.accepted {
                let off = f64::from(info.log_ratio) - (z(&before) - z(&after));
                worst = worst.max(off.abs() / f64::from(info.proposed + 1));
            }
            proposed += info.proposed;
            rejected += u32::from(!info.accepted);
        }
        println!(
            "step size {step_size}: {proposed} proposed, {rejected} rejected, ln A within {worst:e} a flip"
        );
        assert!(worst < 1e-6, "step size {step_size}: ln A is off by {worst} a flip");
        assert!(proposed > 400, "{proposed} proposed");
    }
    assert!(rejected > 20, "{rejected} rejected");
}

#[test]
fn stuck_generators_end_and_stay_legal() {
    for (model, step_size) in targets() {
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        let layout = energy.layout();
        let held: Vec<f64> = (0..layout.sites()).map(|i| f64::from(i % 5 == 2)).collect();
        let held = heap::pack(&held);
        for (name, mut stuck) in Stuck::all() {
            let mut chain = heap::random_chain(&energy, &mut LaneRng::seed_from_u64(5)).unwrap();
            chain.clamp(Packed::new(layout, &held).unwrap()).unwrap();
            let before = chain.state().words().to_vec();
            let sampler = IsingLangevin::adjusted(step_size).unwrap();
            for _ in 0..30 {
                let info = Kernel::step(&sampler, chain.ring(), &mut stuck);
                assert!(!info.fault, "{name}");
            }
            assert!(Packed::new(layout, chain.state().words()).is_ok(), "{name}");
            for ((now, before), held) in chain.state().words().iter().zip(&before).zip(&held) {
                assert_eq!((now ^ before) & held, 0, "{name}: a clamped site moved");
            }
        }
    }
}

#[test]
fn bad_step_sizes_are_refused() {
    for step_size in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-39] {
        let refused = IsingLangevin::adjusted(step_size).unwrap_err();
        assert!(matches!(refused, ParameterError::StepSize(_)), "{step_size}");
    }
    let mut couplings = heap::Couplings::new(4, 1);
    let energy = Ising::spins_edges_once(4, [(0, 1, 0.5)], &[], couplings.borrow()).unwrap();
    let mut chain = heap::random_chain(&energy, &mut LaneRng::seed_from_u64(5)).unwrap();
    let sampler = IsingLangevin::adjusted(1.0).unwrap();
    assert!(sampler.transition(chain.ring(), Packed::new(Layout::binary(5), &[0]).unwrap()).is_err());
}

#[test]
fn a_move_of_a_clamped_site_is_impossible() {
    let mut couplings = heap::Couplings::new(4, 1);
    let energy = Ising::spins_edges_once(4, [(0, 1, 0.5)], &[0.1; 4], couplings.borrow()).unwrap();
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    chain.clamp(Packed::new(energy.layout(), &[4]).unwrap()).unwrap();
    let sampler = IsingLangevin::adjusted(1.0).unwrap();
    for (to, possible) in [(6, false), (2, true)] {
        let said = sampler.transition(chain.ring(), Packed::new(energy.layout(), &[to]).unwrap()).unwrap();
        for log in [said.log_forward, said.log_ratio] {
            assert!(if possible { log.is_finite() } else { log == f32::NEG_INFINITY }, "to {to}: {said:?}");
        }
    }
}

/// The other kernel's parameters have a hash that is the bits of this one's ½/α, found by search: what it kept of its weights is
/// not taken for this one's.
#[test]
fn weights_of_a_kernel_whose_hash_is_like_a_float_are_made_anew() {
    let curvature = Curvature::Same(f32::from_bits(0x38B2_D8EF));
    let between = Langevin::new(0.242_187_5, curvature, true).unwrap();
    let sampler = IsingLangevin::adjusted(f32::from_bits(0x589E_2DCB)).unwrap();
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let mut other = heap::random_chain(&energy, &mut rng).unwrap();
    for step in 0..20 {
        chain.step(&between, &mut rng);
        other.restart(chain.state()).unwrap();
        let mut same = rng.clone();
        let (info, anew) = (chain.step(&sampler, &mut rng), other.step(&sampler, &mut same));
        assert_eq!((info, chain.state(), &rng), (anew, other.state(), &same), "step {step}");
    }
}
