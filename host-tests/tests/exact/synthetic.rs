//! Logistic regression, quartic mixtures and modes in the plane against float64.

use bitmc::energy::{LogisticError, ModesError, QuarticError};
use bitmc::lane::Block;
use bitmc::{Energy, Langevin, Logistic, Modes, Quartic};
use bitmc_host_tests::comparison::{Case, same_bits};
use bitmc_host_tests::enumerate::{Distribution, values};
use bitmc_host_tests::lattice::states;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::naive::Target;
use bitmc_host_tests::synthetic::{Plane, Powers, Regression};
use bitmc_host_tests::tolerance::{
    CENTRAL, CENTRAL_STEP, DOUBLE, ENERGY_ROUNDINGS, FACTOR_ROUNDINGS, ISING_GRID, LOG_ROUNDINGS,
    RBM_GRADIENT_ROUNDINGS, RBM_GRID, ROUNDING,
};

const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn size(values: &[f32]) -> f64 {
    values.iter().map(|w| f64::from(w.abs())).sum()
}

/// The bounds of an RBM (energies.rs), whose numbers these are; the data are on its grid.
fn regression_case(name: &str, target: &Regression, energy: &dyn Energy, steps: usize) {
    let coefficients = target.prior.len();
    Case {
        energy,
        target,
        total: &|x| {
            let margins = target.margins(x);
            let terms = size(&target.prior) + margins.iter().map(|m| m.abs() + 1.0).sum::<f64>();
            let units = margins.len() as f64;
            ROUNDING * (ENERGY_ROUNDINGS * terms + FACTOR_ROUNDINGS * units + 0.37 * units)
        },
        gradient: &|_| {
            let column = |site: usize| target.design.iter().skip(site).step_by(coefficients);
            let reach = |site: usize| column(site).map(|d| f64::from(d.abs())).sum::<f64>();
            let prior = target.prior.iter().enumerate();
            prior
                .map(|(site, a)| ROUNDING * RBM_GRADIENT_ROUNDINGS * (reach(site) + f64::from(a.abs())))
                .collect()
        },
        multilinear: false,
    }
    .check(name, &mut Source::new(41), steps);
}

#[test]
fn logistic() {
    for sites in 1..=65 {
        for observations in [1, 15, 16, 17, 33] {
            let target = Regression::random(sites, observations, 1.0, (sites * 100 + observations) as u64);
            let (rows, offsets) = target.packed();
            let energy = Logistic::new(&rows, &target.prior, &offsets, observations).unwrap();
            regression_case(&format!("{sites} × {observations}"), &target, &energy, 3);
            assert_eq!(energy.cache_len(), Logistic::cache_len(observations));
            let mut source = Source::new(3);
            same_bits(&energy, &source.state(sites), &source.state(sites));
        }
    }
}

#[test]
#[should_panic(expected = "bound")] // a broken variant: the comparison above must reject it
fn an_outcome_that_is_wrong_is_seen() {
    let target = Regression::random(20, 17, 1.0, 3);
    let mut wrong = target.clone();
    wrong.outcomes[16] = !wrong.outcomes[16];
    let (rows, offsets) = wrong.packed();
    regression_case("wrong", &target, &Logistic::new(&rows, &target.prior, &offsets, 17).unwrap(), 3);
}

#[test]
fn logistic_transitions() {
    for (seed, sd) in [0.4, 3.0, 10.0].into_iter().enumerate() {
        let target = Regression::random(7, 19, sd, seed as u64);
        let (rows, offsets) = target.packed();
        let energy = Logistic::new(&rows, &target.prior, &offsets, 19).unwrap();
        let distribution = Distribution::of(&target);
        let states: Vec<_> = (0..1 << 7).map(|state| values(state, 7)).collect();
        for step_size in [0.1, 0.5, 2.0, 8.0, 1000.0] {
            let sampler = Langevin::adjusted(step_size).unwrap();
            let found = Transitions::between(&energy, &sampler, &states, 0);
            let verdict = found.judge(&distribution);
            assert!(verdict.passes(), "sd {sd}, step {step_size}: {verdict:?}");
            // With one outcome turned it is another distribution.
            let mut other = target.clone();
            other.outcomes[0] = !other.outcomes[0];
            assert!(!found.judge(&Distribution::of(&other)).passes());
        }
    }
}

/// What f32 and the grid do to one component's Σz⁴, the largest of all, with what they do to a z.
fn power_error(target: &Powers, x: &[f64], arity: usize) -> (f64, Vec<f64>) {
    let reach =
        |i: usize| size(&target.map.iter().skip(i).step_by(target.coordinates).copied().collect::<Vec<_>>());
    let largest = target.map.iter().fold(0.0f64, |most, q| most.max(f64::from(q.abs())));
    let most = (0..target.coordinates).map(reach).fold(0.0, f64::max) * (arity - 1) as f64;
    // A row is off by half a unit for each value: 2^−22 of the largest entry or 2^−30 of the largest Qx.
    let unit = 2.0 * (2.0 * RBM_GRID * largest).max(ISING_GRID * most);
    let blocks = target.coordinates.div_ceil(16) as f64;
    let mut errors = Vec::new();
    let mut worst = 0.0f64;
    for (z, centre) in target.away(x).iter().zip(target.centres.chunks_exact(target.coordinates)) {
        let mut own = 0.0;
        for (z, &c) in z.iter().zip(centre) {
            // Qx to f32, the difference.
            let error = 0.5 * unit * sum(x) + ROUNDING * ((z + f64::from(c)).abs() + z.abs());
            // Two squarings of relative errors 1 and 3, an addition a block and four in the tree.
            own += 4.0 * z.abs().powi(3) * error
                + 6.0 * error * error * z * z
                + ROUNDING * (3.0 + blocks + 4.0) * z.powi(4);
            errors.push(error);
        }
        worst = worst.max(own);
    }
    (worst, errors)
}

fn quartic_case(name: &str, target: &Powers, energy: &dyn Energy, arity: usize, steps: usize) {
    let components = target.centres.len() / target.coordinates;
    // A weight: the difference of two powers and its rounding, exp within an ulp (two); their sum: one a block
    // and four; the quotient.
    let weight = |x: &[f64]| {
        let powers = target.away(x).into_iter().map(|z| z.iter().map(|z| z.powi(4)).sum::<f64>());
        let largest = powers.fold(0.0, f64::max);
        2.0 * power_error(target, x, arity).0 + ROUNDING * (largest + 8.0 + components.div_ceil(16) as f64)
    };
    Case {
        energy,
        target,
        // Growing sums (differences) take a rounding and an exponential for each component.
        total: &|x| {
            let log = (components as f64).ln() + target.energy(x).abs();
            weight(x) + ROUNDING * (LOG_ROUNDINGS * log + 4.0 * components as f64) + DOUBLE
        },
        gradient: &|x| {
            let (weights, errors) = (target.weights(x), power_error(target, x, arity).1);
            let (mut slopes, mut slips) = (vec![0.0; target.coordinates], vec![0.0; target.coordinates]);
            for ((z, w), errors) in target.away(x).iter().zip(weights).zip(errors.chunks(target.coordinates)) {
                for (i, (z, error)) in z.iter().zip(errors).enumerate() {
                    let term = 4.0 * w * z.abs().powi(3);
                    slopes[i] += term;
                    // Its weight twice (also in the sum), z cubed, the product, an addition a component.
                    slips[i] += term * (2.0 * weight(x) + ROUNDING * (6.0 + components as f64))
                        + 12.0 * w * (z.abs() + error).powi(2) * error;
                }
            }
            let blocks = target.coordinates.div_ceil(16) as f64;
            let rows = target.map.chunks_exact(target.coordinates);
            rows.map(|row| {
                let terms = row.iter().zip(&slopes).zip(&slips);
                terms.map(|((q, s), e)| f64::from(q.abs()) * (e + ROUNDING * (5.0 + blocks) * s)).sum::<f64>()
                    + DOUBLE
            })
            .collect()
        },
        multilinear: false,
    }
    .check(name, &mut Source::new(42), steps);
}

#[test]
fn quartic() {
    for sites in (1..=65).step_by(2) {
        for (coordinates, components) in [(1, 3), (15, 16), (16, 1), (17, 17), (33, 50)] {
            let arity = [2, 5, 21][(sites + components) % 3];
            let target = Powers::random(sites, coordinates, components, arity, (sites + coordinates) as u64);
            let (rows, centres) = target.packed();
            let energy = Quartic::new(&rows, &centres, coordinates, arity).unwrap();
            assert_eq!(energy.cache_len(), Quartic::cache_len(coordinates, components));
            quartic_case(&format!("{sites} → {coordinates}, {components}"), &target, &energy, arity, 3);
            let mut source = Source::new(3);
            let mut draw = || (0..sites).map(|_| source.below(arity) as f64).collect::<Vec<_>>();
            same_bits(&energy, &draw(), &draw());
        }
    }
}

#[test]
fn quartics_of_few_sites() {
    for (sites, coordinates, components) in [(2, 1, 2), (3, 17, 1), (3, 33, 50), (2, 49, 3)] {
        let target = Powers::random(sites, coordinates, components, 5, 7);
        let (rows, centres) = target.packed();
        let energy = Quartic::new(&rows, &centres, coordinates, 5).unwrap();
        // The energy, Qx and what it is multiplied by, a number for each component.
        let blocks = 1 + coordinates.div_ceil(16) + coordinates.div_ceil(16) + components.div_ceil(16);
        assert_eq!((energy.cache_len(), Quartic::cache_len(coordinates, components)), (blocks, blocks));
        quartic_case(&format!("{sites} → {coordinates}, {components}"), &target, &energy, 5, 2);
    }
    // Many values: a coordinate goes two thousand times as far as the largest entry.
    let target = Powers { map: vec![1.9, -0.7], centres: vec![2500.0], coordinates: 1, sites: 2 };
    let (rows, centres) = target.packed();
    quartic_case("many values", &target, &Quartic::new(&rows, &centres, 1, 2000).unwrap(), 2000, 6);
}

#[test]
fn what_moves_a_coordinate_by_less_than_a_4096th_may_be_lost() {
    for arity in [2, 3, 9, 300] {
        // Beside 3000 an entry below 2⁻¹¹ is rounded to 0.
        let build = |share: f32| {
            let mut rows = [[0.0; 16]; 2];
            (rows[0][0], rows[1][1]) = (3000.0, share / 4096.0 / (arity - 1) as f32);
            Quartic::new(&rows, &[[0.0; 16]], 2, arity).map(|_| ())
        };
        let lost = Err(QuarticError::Rounded { site: 1, coordinate: 1 });
        assert_eq!((build(0.9), build(1.1)), (Ok(()), lost), "{arity} values");
    }
}

#[test]
#[should_panic(expected = "bound")] // a broken variant: the comparison above must reject it
fn a_centre_that_is_slightly_off_is_seen() {
    let target = Powers::random(9, 17, 5, 5, 3);
    let mut wrong = target.clone();
    wrong.centres[40] += 0.01;
    let (rows, centres) = wrong.packed();
    quartic_case("off", &target, &Quartic::new(&rows, &centres, 17, 5).unwrap(), 5, 6);
}

fn plane_case(name: &str, target: &Plane, energy: &dyn Energy, steps: usize) {
    // An exponent: the width's inverse (two), the square (three), the root and product (two), relative to
    // the largest (one); exp within an ulp (two); one addition a block and four in the tree.
    let blocks = target.means.len().div_ceil(16) as f64;
    let slip = |x: &[f64]| {
        let exponents = target.exponents(x);
        let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max).abs();
        let weights = target.weights(x);
        let own =
            exponents.iter().map(|e| ROUNDING * (9.0 * e.abs() + largest + 6.0 + blocks)).collect::<Vec<_>>();
        let mean: f64 = own.iter().zip(&weights).map(|(e, w)| 2.0 * e * w).sum();
        // The largest exponent enters whole.
        (mean + ROUNDING * 9.0 * largest, own, weights)
    };
    Case {
        energy,
        target,
        total: &|x| slip(x).0 + ROUNDING * LOG_ROUNDINGS * (target.energy(x).abs() + 4.0) + DOUBLE,
        gradient: &|x| {
            let (mean, own, weights) = slip(x);
            let mut bounds = vec![DOUBLE; 2];
            for ((mu, own), w) in target.means.iter().zip(own).zip(weights) {
                let away = [x[0] - f64::from(mu[0]), x[1] - f64::from(mu[1])];
                let per = match target.floor {
                    None => 1.0 / target.width,
                    Some(_) => 1.0 / (target.width * away[0].hypot(away[1]).max(1e-9)),
                };
                for (bound, v) in bounds.iter_mut().zip(away) {
                    *bound += w * v.abs() * per * (2.0 * own + mean + ROUNDING * 12.0);
                }
            }
            bounds
        },
        multilinear: false,
    }
    .check(name, &mut Source::new(43), steps);
}

#[test]
fn modes() {
    let mut source = Source::new(1);
    for count in [1, 2, 15, 16, 17, 33, 65] {
        let mut place = || (source.below(900) as f32 - 100.0) / 2.0;
        let means: Vec<[f32; 2]> = (0..count).map(|_| [place(), place()]).collect();
        for width in [3.75, 100.0, 1e4] {
            let normal = Modes::normal(&means, 450, width).unwrap();
            let target = Plane { means: means.clone(), width: f64::from(width), floor: None };
            plane_case(&format!("{count} normal modes"), &target, &normal, 40);
            for floor in [0.0, 1e-10, 0.5] {
                let energy = Modes::exponential(&means, 450, width, floor).unwrap();
                let target = Plane { floor: Some(f64::from(floor)), ..target.clone() };
                plane_case(&format!("{count} pointed modes over {floor}"), &target, &energy, 40);
                same_bits(&energy, &[3.0, 449.0], &[448.0, 75.0]);
            }
            same_bits(&normal, &[3.0, 449.0], &[448.0, 75.0]);
        }
    }
    // At a mean itself, and nowhere near any.
    let target = Plane { means: Modes::FIVE_BY_FIVE.to_vec(), width: 100.0, floor: None };
    let distribution = |energy: &dyn Energy, x: &[f64]| bitmc_host_tests::comparison::cache_of(energy, x).0;
    let normal = Modes::normal(&Modes::FIVE_BY_FIVE, 450, 100.0).unwrap();
    assert!(distribution(&normal, &[75.0, 75.0]).abs() < 1e-6);
    assert!((f64::from(distribution(&normal, &[0.0, 449.0])) - target.energy(&[0.0, 449.0])).abs() < 1e-4);
}

#[test]
#[should_panic(expected = "bound")] // a broken variant: the comparison above must reject it
fn a_width_that_is_slightly_off_is_seen() {
    let target = Plane { means: Modes::FIVE_BY_FIVE.to_vec(), width: 100.0, floor: None };
    plane_case("off", &target, &Modes::normal(&Modes::FIVE_BY_FIVE, 450, 100.1).unwrap(), 40);
}

#[test]
fn transitions_over_whole_numbers() {
    let powers = Powers::random(3, 5, 4, 5, 2);
    let (rows, centres) = powers.packed();
    let quartic = Quartic::new(&rows, &centres, 5, 5).unwrap();
    let means = [[1.0, 1.0], [8.0, 3.0], [4.0, 9.0]];
    let plane = Plane { means: means.to_vec(), width: 2.0, floor: None };
    let modes = Modes::normal(&means, 11, 2.0).unwrap();
    let cases: [(&dyn Energy, &dyn Target, usize); 2] = [(&quartic, &powers, 5), (&modes, &plane, 11)];
    for (energy, target, arity) in cases {
        let states = states(target.sites(), arity);
        let distribution = |scale: f64| {
            let energies = states.iter().map(|x| scale * target.energy(x)).collect();
            Distribution::from_energies(target.sites(), energies)
        };
        for step_size in [0.5, 8.0, 1000.0] {
            let sampler = Langevin::adjusted(step_size).unwrap();
            let found = Transitions::between(energy, &sampler, &states, 0);
            let verdict = found.judge(&distribution(1.0));
            assert!(verdict.passes(), "step {step_size}: {verdict:?}");
            assert!(!found.judge(&distribution(0.5)).passes());
        }
    }
}

#[test]
fn the_references_agree_with_central_differences() {
    let check = |target: &dyn Target, span: f64| {
        let mut source = Source::new(5);
        for _ in 0..5 {
            let x: Vec<f64> = (0..target.sites()).map(|_| span * source.uniform()).collect();
            let gradient = target.gradient(&x);
            let size = target.energy(&x).abs() + gradient.iter().map(|g| g.abs()).sum::<f64>() + 1.0;
            for (slope, found) in gradient.iter().zip(target.central_differences(&x, CENTRAL_STEP)) {
                assert!((slope - found).abs() <= CENTRAL * size, "{slope} {found}");
            }
        }
    };
    check(&Regression::random(30, 20, 1.0, 1), 1.0);
    check(&Powers::random(20, 17, 5, 21, 1), 20.0);
    for floor in [None, Some(1e-10)] {
        check(&Plane { means: Modes::FIVE_BY_FIVE.to_vec(), width: 100.0, floor }, 449.0);
    }
}

#[test]
fn bad_data_are_an_error_with_a_name() {
    use LogisticError::*;
    let target = Regression::random(3, 17, 1.0, 1);
    let (rows, offsets) = target.packed();
    let build = |rows: &[Block], prior: &[f32], offsets: &[Block], n| {
        Logistic::new(rows, prior, offsets, n).map(|_| ())
    };
    assert_eq!(build(&rows, &target.prior, &offsets, 17), Ok(()));
    assert_eq!(build(&rows, &[], &offsets, 17), Err(Empty));
    assert_eq!(build(&rows, &target.prior, &[], 0), Err(Empty));
    assert_eq!(build(&rows[1..], &target.prior, &offsets, 17), Err(Length { need: 6, got: 5 }));
    let with = |block: usize, lane: usize, value| {
        let mut rows = rows.clone();
        rows[block][lane] = value;
        build(&rows, &target.prior, &offsets, 17)
    };
    let with_offset = |block: usize, lane: usize, value| {
        let mut offsets = offsets.clone();
        offsets[block][lane] = value;
        build(&rows, &target.prior, &offsets, 17)
    };
    for bad in NOT_FINITE {
        assert_eq!(with(3, 0, bad), Err(NotFinite { coefficient: 1, observation: 16 }));
        assert_eq!(with_offset(0, 4, bad), Err(Offset { observation: 4 }));
        assert_eq!(build(&rows, &[0.0, bad, 0.0], &offsets, 17), Err(Prior { coefficient: 1 }));
    }
    assert_eq!(with(5, 1, 1e-9), Err(Padding { coefficient: 2 }));
    assert_eq!(with_offset(1, 1, 1.0), Err(OffsetPadding));
    assert_eq!(with(0, 2, 2e30), Err(TooLarge { observation: 2 }));
    assert_eq!(build(&rows, &[0.0, 0.0, 2e30], &offsets, 17), Err(Prior { coefficient: 2 }));
    let mut out = rows.clone();
    assert_eq!(Logistic::pack(&target.design, &[], &mut out), Err(Empty));
    assert_eq!(
        Logistic::pack(&target.design[1..], &target.outcomes, &mut out),
        Err(Length { need: 34, got: 50 })
    );
    assert_eq!(
        Logistic::pack(&target.design, &target.outcomes, &mut out[1..]),
        Err(Length { need: 6, got: 5 })
    );
}

#[test]
fn bad_mixtures_are_an_error_with_a_name() {
    use QuarticError::*;
    let target = Powers::random(3, 17, 2, 5, 1);
    let (rows, centres) = target.packed();
    let build = |rows: &[Block], centres: &[Block], d, arity| Quartic::new(rows, centres, d, arity).map(|_| ());
    assert_eq!(build(&rows, &centres, 17, 5), Ok(()));
    for (r, c, d) in [
        (&rows[..], &centres[..], 0),
        (&rows[1..], &centres, 17),
        (&rows, &centres[1..], 17),
        (&[], &centres, 17),
        (&rows, &[], 17),
    ] {
        assert_eq!(build(r, c, d, 5), Err(Shape));
    }
    for arity in [0, 1, 65_537] {
        assert_eq!(build(&rows, &centres, 17, arity), Err(Arity));
    }
    let with = |block: usize, lane: usize, value: f32| {
        let mut rows = rows.clone();
        rows[block][lane] = value;
        build(&rows, &centres, 17, 5)
    };
    let with_centre = |block: usize, lane: usize, value: f32| {
        let mut centres = centres.clone();
        centres[block][lane] = value;
        build(&rows, &centres, 17, 5)
    };
    for bad in NOT_FINITE {
        assert_eq!(with(3, 0, bad), Err(Map { site: 1, coordinate: 16 }));
        assert_eq!(with_centre(2, 7, bad), Err(Centre { component: 1, coordinate: 7 }));
    }
    assert_eq!(with(5, 1, 1e-9), Err(Map { site: 2, coordinate: 17 }));
    assert_eq!(with_centre(1, 1, 1e-9), Err(Centre { component: 0, coordinate: 17 }));
    assert_eq!(with(0, 2, 3e5), Err(TooLarge { coordinate: 2 }));
    assert_eq!(with_centre(0, 2, 2e6), Err(TooLarge { coordinate: 2 }));
    // Up to a million, that included.
    let of_two_values = |q: f32, c: f32| {
        let mut blocks = [[0.0; 16]; 2];
        (blocks[0][3], blocks[1][3]) = (q, c);
        build(&blocks[..1], &blocks[1..], 16, 2)
    };
    assert_eq!((of_two_values(1e6, 0.0), of_two_values(6e5, -4e5)), (Ok(()), Ok(())));
    assert_eq!(of_two_values(1e6f32.next_up(), 0.0), Err(TooLarge { coordinate: 3 }));
}

#[test]
fn bad_modes_are_an_error_with_a_name() {
    let means = Modes::FIVE_BY_FIVE;
    let normal = |means: &[[f32; 2]], arity, variance| Modes::normal(means, arity, variance).map(|_| ());
    assert_eq!(normal(&means, 450, 100.0), Ok(()));
    assert_eq!(normal(&[], 450, 100.0), Err(ModesError::Empty));
    assert_eq!(normal(&means, 1, 100.0), Err(ModesError::Arity));
    for bad in [f32::NAN, f32::INFINITY, 2e6, 1e6f32.next_up()] {
        let mut wrong = means;
        wrong[7][1] = bad;
        assert_eq!(normal(&wrong, 450, 100.0), Err(ModesError::Mean { mode: 7 }));
    }
    assert_eq!(normal(&[[1e6, -1e6]], 450, 100.0), Ok(()));
    for bad in [f32::INFINITY, 0.0, -1.0, 1e-7] {
        assert_eq!(normal(&means, 450, bad), Err(ModesError::Width(bad)));
        assert_eq!(Modes::exponential(&means, 450, bad, 0.0).map(|_| ()), Err(ModesError::Width(bad)));
    }
    assert!(matches!(normal(&means, 450, f32::NAN), Err(ModesError::Width(_))));
    for bad in [-1.0, 2.0, 1e-31] {
        assert_eq!(Modes::exponential(&means, 450, 3.75, bad).map(|_| ()), Err(ModesError::Floor(bad)));
    }
    assert!(matches!(Modes::exponential(&means, 450, 3.75, f32::NAN), Err(ModesError::Floor(_))));
}
