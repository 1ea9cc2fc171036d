//! The potentials against float64: E by its formula, the gradient by central differences of that.

use bitmc::flow::{
    DenseGaussian, DiagonalGaussian, Esh, Funnel, Hmc, HmcChain, Mixture, Mlp, NoseHoover, PlainPotential,
    Potential, PotentialError, StepSize, Unscaled, blocks,
};
use bitmc::lane::{Block, LANES};
use bitmc::random::normals;
use bitmc::{LaneRng, SeedableRng};

fn vector(dim: usize, rng: &mut LaneRng) -> Vec<Block> {
    let mut out: Vec<Block> = (0..blocks(dim)).map(|_| normals(rng)).collect();
    out.as_flattened_mut()[dim..].fill(0.0);
    out
}

fn numbers(blocks: &[Block], dim: usize) -> Vec<f64> {
    blocks.as_flattened()[..dim].iter().copied().map(f64::from).collect()
}

/// E and gradient of a potential against a formula, relative to the sizes met on the way.
fn check(what: &str, model: &dyn Potential, x: &[Block], energy: impl Fn(&[f64]) -> f64, tolerance: f64) {
    let dim = model.dim();
    let mut scratch = vec![[7.0; 16]; model.scratch_len()];
    let mut gradient = vec![[0.0; 16]; blocks(dim)];
    let found = f64::from(model.gradient(x, &mut scratch, &mut gradient));
    let mut at = numbers(x, dim);
    let exact = energy(&at);
    assert!((found - exact).abs() <= tolerance * exact.abs().max(1.0), "{what}: E = {found}, not {exact}");
    let slopes: Vec<f64> = (0..dim)
        .map(|axis| {
            let (here, step) = (at[axis], 1e-5);
            let mut side = |x: f64| {
                at[axis] = x;
                energy(&at)
            };
            let slope = (side(here + step) - side(here - step)) / (2.0 * step);
            at[axis] = here;
            slope
        })
        .collect();
    let size = slopes.iter().fold(1f64, |most, slope| most.max(slope.abs()));
    for (axis, slope) in slopes.iter().enumerate() {
        let found = f64::from(gradient.as_flattened()[axis]);
        assert!((found - slope).abs() <= tolerance * size, "{what}: ∂{axis} = {found}, not {slope}");
    }
}

/// Sums of up to 40 terms in f32: a few dozen roundings of 6·10⁻⁸. Central differences add 10⁻⁹.
const SUMS: f64 = 4e-6;

#[test]
fn every_potential_is_its_formula() {
    let mut rng = LaneRng::seed_from_u64(90);
    for dim in [1, 2, 3, 15, 16, 17, 31, 32, 33, 40] {
        let (x, mean) = (vector(dim, &mut rng), vector(dim, &mut rng));
        let mut precision = vector(dim, &mut rng);
        precision.as_flattened_mut()[..dim].iter_mut().for_each(|p| *p = p.abs() + 0.1);
        let (m, p) = (numbers(&mean, dim), numbers(&precision, dim));
        let model = DiagonalGaussian::new(dim, &mean, &precision).unwrap();
        let energy = |x: &[f64]| (0..dim).map(|i| 0.5 * p[i] * (x[i] - m[i]).powi(2)).sum();
        check("diagonal", &model, &x, energy, SUMS);

        let mut rows = vec![[0.0; 16]; dim * blocks(dim)];
        let width = blocks(dim) * LANES;
        for row in 0..dim {
            let draw = vector(dim, &mut rng);
            for column in 0..=row {
                let value = if row == column { 8.0 } else { 0.3 * draw.as_flattened()[column] };
                rows.as_flattened_mut()[row * width + column] = value;
                rows.as_flattened_mut()[column * width + row] = value;
            }
        }
        let model = DenseGaussian::new(dim, &mean, &rows).unwrap();
        let flat = rows.as_flattened();
        let energy = |x: &[f64]| {
            let terms = (0..dim * dim).map(|at| (at / dim, at % dim));
            let pair = |(i, j)| f64::from(flat[i * width + j]) * (x[i] - m[i]) * (x[j] - m[j]);
            0.5 * terms.map(pair).sum::<f64>()
        };
        check("dense", &model, &x, energy, SUMS);

        let means: Vec<Block> = (0..5).flat_map(|_| vector(dim, &mut rng)).collect();
        let logs = [0.0, -1.0, 0.5, -3.0, 2.0];
        let model = Mixture::new(dim, &means, &logs, 0.8).unwrap();
        let energy = |x: &[f64]| {
            let terms = logs.iter().zip(means.chunks(blocks(dim))).map(|(&log, mean)| {
                let square: f64 = numbers(mean, dim).iter().zip(x).map(|(m, x)| (x - m).powi(2)).sum();
                f64::from(log) - square / (2.0 * f64::from(0.8f32).powi(2))
            });
            let terms: Vec<f64> = terms.collect();
            let most = terms.iter().copied().fold(f64::MIN, f64::max);
            -(most + terms.iter().map(|term| (term - most).exp()).sum::<f64>().ln())
        };
        // The exponent of a share is a difference of logits of size 50: e^± 50 roundings.
        check("mixture", &model, &x, energy, 10.0 * SUMS);

        if dim > 1 {
            let model = Funnel::new(dim, 3.0).unwrap();
            let energy = |x: &[f64]| {
                let square: f64 = x[1..].iter().map(|x| x * x).sum();
                x[0] * x[0] / 18.0 + 0.5 * (dim - 1) as f64 * x[0] + 0.5 * (-x[0]).exp() * square
            };
            check("funnel", &model, &x, energy, SUMS);
        }
    }
}

/// Down the neck the other coordinates are e^(x₀/2) wide: at x₀ = −15 their squares are a ten-millionth of x₀², and E
/// weighs them with three millions.
#[test]
fn the_funnel_is_its_formula_deep_in_its_neck() {
    let mut rng = LaneRng::seed_from_u64(92);
    for (dim, neck) in
        [2, 16, 17, 20].into_iter().flat_map(|dim| [-6.0f32, -9.0, -12.0, -15.0].map(|x| (dim, x)))
    {
        let model = Funnel::new(dim, 3.0).unwrap();
        let mut x = vector(dim, &mut rng);
        x.as_flattened_mut().iter_mut().for_each(|x| *x *= (0.5 * neck).exp());
        x[0][0] = neck;
        let at = numbers(&x, dim);
        let spread = 0.5 * (-at[0]).exp() * at[1..].iter().map(|x| x * x).sum::<f64>();
        let others = (dim - 1) as f64;
        let mut gradient = vec![[0.0; 16]; blocks(dim)];
        let energy = f64::from(model.gradient(&x, &mut [], &mut gradient));
        let (exact, slope) =
            (at[0].powi(2) / 18.0 + 0.5 * others * at[0] + spread, at[0] / 9.0 + 0.5 * others - spread);
        let size = at[0].powi(2) / 18.0 + 0.5 * others * at[0].abs() + spread;
        assert!((energy - exact).abs() < SUMS * size, "d = {dim}, {neck}: E = {energy}, not {exact}");
        let found = f64::from(gradient[0][0]);
        assert!((found - slope).abs() < SUMS * size, "d = {dim}, {neck}: ∂0 = {found}, not {slope}");
    }
}

/// So far away that every square is infinite, E is too: a hard constraint, and no fault.
#[test]
fn a_mixture_ends_where_the_floats_do() {
    let means = [[1.0; 16], [-1.0; 16]];
    let model = Mixture::new(16, &means, &[0.0, -1.0], 0.5).unwrap();
    let mut gradient = [[0.0; 16]];
    for far in [1e17f32, 1e18, 1e19, 1e25, 3e38] {
        let energy = model.gradient(&[[far; 16]], &mut [], &mut gradient);
        let exact = 2.0 * 16.0 * f64::from(far).powi(2);
        assert_eq!(energy.is_finite(), exact < f64::from(f32::MAX), "{far}: {energy}");
        assert!(energy == f32::INFINITY || (f64::from(energy) / exact - 1.0).abs() < SUMS, "{far}: {energy}");
        assert!(gradient[0].iter().all(|slope| slope.is_finite()));
    }
}

#[test]
fn padding_is_no_part_of_a_gaussian() {
    let mut rng = LaneRng::seed_from_u64(93);
    for dim in [1, 3, 15, 16, 17, 31, 32] {
        let (x, mean) = (vector(dim, &mut rng), vector(dim, &mut rng));
        let precision = vec![[1.5; 16]; blocks(dim)];
        let mut rows = vec![[0.0; 16]; dim * blocks(dim)];
        (0..dim).for_each(|i| rows[i * blocks(dim) + i / LANES][i % LANES] = 1.5);
        for dirt in [0.5, 3e38, f32::INFINITY, f32::NAN] {
            let (mut dirty_mean, mut dirty_precision) = (mean.clone(), precision.clone());
            dirty_mean.as_flattened_mut()[dim..].fill(dirt);
            dirty_precision.as_flattened_mut()[dim..].fill(dirt);
            let m = numbers(&mean, dim);
            let energy = |x: &[f64]| x.iter().zip(&m).map(|(x, m)| 0.75 * (x - m).powi(2)).sum();
            let model = DiagonalGaussian::new(dim, &dirty_mean, &dirty_precision).unwrap();
            check("diagonal", &model, &x, energy, SUMS);
            let model = DenseGaussian::new(dim, &dirty_mean, &rows).unwrap();
            check("dense", &model, &x, energy, SUMS);
        }
    }
}

/// A network in float64: parameters as the kernel lays them out.
fn network(widths: &[usize], parameters: &[f64], x: &[f64]) -> f64 {
    let (mut below, mut at) = (x.to_vec(), 0);
    for (layer, &inputs) in widths.iter().enumerate() {
        let outputs = widths.get(layer + 1).copied().unwrap_or(1);
        let width = blocks(outputs) * LANES;
        let sum = |o: usize| {
            let terms = (0..inputs).map(|i| parameters[at + width * (1 + i) + o] * below[i]);
            parameters[at + o] + terms.sum::<f64>()
        };
        let mut above: Vec<f64> = (0..outputs).map(sum).collect();
        if layer + 1 < widths.len() {
            above.iter_mut().filter(|s| **s < 0.0).for_each(|s| *s *= f64::from(0.05f32));
        }
        (below, at) = (above, at + width * (1 + inputs));
    }
    below[0]
}

#[test]
fn a_network_is_its_formula_and_so_are_its_parameter_slopes() {
    let mut rng = LaneRng::seed_from_u64(91);
    for widths in [&[2usize, 5][..], &[2, 32, 64, 64, 64], &[3], &[17, 20, 3], &[1, 16, 33]] {
        let mut parameters = vec![[0.0; 16]; Mlp::parameter_len(widths)];
        let mut places = Vec::new();
        let mut at = 0;
        for (layer, &inputs) in widths.iter().enumerate() {
            let outputs = widths.get(layer + 1).copied().unwrap_or(1);
            for _ in 0..=inputs {
                places.extend((at..at + outputs).map(|place| (place, (inputs as f32).sqrt())));
                at += blocks(outputs) * LANES;
            }
        }
        let draw = vector(places.len(), &mut rng);
        for (&(place, scale), value) in places.iter().zip(draw.as_flattened()) {
            parameters.as_flattened_mut()[place] = 1.4 * value / scale;
        }
        let model = Mlp::new(widths, &parameters).unwrap();
        let theta: Vec<f64> = parameters.as_flattened().iter().copied().map(f64::from).collect();
        let x = vector(widths[0], &mut rng);
        check("network", &model, &x, |x| network(widths, &theta, x), 10.0 * SUMS);
        // More room than it needs changes nothing, and with less there is no energy.
        let [just, more] = [0, 3].map(|more| {
            let (mut room, mut out) = (vec![[5.0; 16]; model.scratch_len() + more], vec![[0.0; 16]; x.len()]);
            (model.gradient(&x, &mut room, &mut out), out)
        });
        assert_eq!(just, more);
        assert!(model.gradient(&x, &mut vec![[5.0; 16]; model.scratch_len() - 1], &mut [[0.0; 16]]).is_nan());

        let mut slopes = vec![[0.0; 16]; parameters.len()];
        let mut scratch = vec![[3.0; 16]; model.scratch_len()];
        model.accumulate(&x, 2.0, &mut scratch, &mut slopes);
        model.accumulate(&x, -0.5, &mut scratch, &mut slopes);
        let (mut moved, at) = (theta.clone(), numbers(&x, widths[0]));
        for &(place, _) in places.iter().step_by(1 + places.len() / 300) {
            let mut side = |step: f64| {
                moved[place] = theta[place] + step;
                network(widths, &moved, &at)
            };
            let slope = 1.5 * (side(1e-6) - side(-1e-6)) / 2e-6;
            moved[place] = theta[place];
            let found = f64::from(slopes.as_flattened()[place]);
            assert!((found - slope).abs() < 40.0 * SUMS * slope.abs().max(1.0), "{place}: {found} {slope}");
        }
        // What is no parameter has no slope.
        let used: std::collections::BTreeSet<usize> = places.iter().map(|place| place.0).collect();
        let flat = slopes.as_flattened();
        assert!((0..flat.len()).all(|place| used.contains(&place) || flat[place] == 0.0));
    }
}

/// Where every sampler is after each of 40 steps, and E there, as bits.
fn paths(potential: &dyn Potential, start: &[f32]) -> Vec<u32> {
    let (dim, size) = (potential.dim(), StepSize::new(0.2).unwrap());
    let memory = || vec![[f32::NAN; 16]; 5 * blocks(dim) + potential.scratch_len()];
    let mut rng = LaneRng::seed_from_u64(94);
    let mut esh = Esh::random(potential, memory(), start, &mut rng).unwrap();
    let mut unscaled = Unscaled::new(potential, memory(), start, esh.direction()).unwrap();
    let mut thermostat = NoseHoover::new(potential, memory(), start, 2.0, &mut rng).unwrap();
    let mut chains: Vec<_> = [Hmc::new(size, 3).unwrap(), Hmc::langevin(size), Hmc::unadjusted_langevin(size)]
        .map(|kernel| (kernel, HmcChain::new(potential, memory(), start).unwrap()))
        .into();
    let mut seen = Vec::new();
    let mut see = |x: &[f32], energy: f32| seen.extend(x.iter().chain([&energy]).map(|value| value.to_bits()));
    for number in 0..40 {
        if number == 20 {
            esh.refresh(&mut rng);
        }
        esh.step(size);
        see(esh.position(), esh.energy());
        unscaled.step(size);
        see(unscaled.position(), unscaled.energy());
        thermostat.step(size);
        see(thermostat.position(), thermostat.energy());
        for (kernel, chain) in &mut chains {
            chain.step(kernel, &mut rng);
            see(chain.position(), chain.energy());
        }
    }
    seen
}

/// The same operations in plain slices: products one by one, sums lane by lane and then by halves.
fn diagonal(mean: &[f32], precision: &[f32], x: &[f32], gradient: &mut [f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (i, &x) in x.iter().enumerate() {
        let away = x - mean[i];
        // Adds: what was there at the call is 0.
        gradient[i] += precision[i] * away;
        sums[i % LANES] += gradient[i] * away;
    }
    for half in [8, 4, 2, 1] {
        (0..half).for_each(|i| sums[i] += sums[i + half]);
    }
    0.5 * sums[0]
}

#[test]
fn a_function_over_slices_is_the_built_in_potential_bit_for_bit() {
    let mut rng = LaneRng::seed_from_u64(95);
    for dim in [2, 3, 15, 16, 17, 31, 32, 33, 40] {
        let (start, mean) = (vector(dim, &mut rng), vector(dim, &mut rng));
        let mut precision = vector(dim, &mut rng);
        precision.as_flattened_mut()[..dim].iter_mut().for_each(|p| *p = p.abs() + 0.1);
        let built_in = DiagonalGaussian::new(dim, &mean, &precision).unwrap();
        let (mean, precision) = (&mean.as_flattened()[..dim], &precision.as_flattened()[..dim]);
        let own = PlainPotential::new(dim, |x, gradient| {
            assert_eq!((x.len(), gradient.len()), (dim, dim));
            assert!(gradient.iter().all(|slope| slope.to_bits() == 0));
            diagonal(mean, precision, x, gradient)
        });
        // One slope of d, off by one rounding.
        let broken = PlainPotential::new(dim, |x, gradient| {
            let energy = diagonal(mean, precision, x, gradient);
            gradient[dim - 1] *= 1.0 + f32::EPSILON;
            energy
        });
        let start = &start.as_flattened()[..dim];
        let truth = paths(&built_in, start);
        assert_eq!(paths(&own, start), truth, "{dim} dimensions");
        assert_ne!(paths(&broken, start), truth, "{dim} dimensions");
        assert_eq!((Potential::dim(&own), own.scratch_len()), (dim, 0));
    }
    // Buffers that are short reach no function.
    let none = PlainPotential::new(17, |_, _| unreachable!());
    assert!(none.gradient(&[[0.0; 16]; 1], &mut [], &mut [[0.0; 16]; 2]).is_nan());
    assert!(none.gradient(&[[0.0; 16]; 2], &mut [], &mut [[0.0; 16]; 1]).is_nan());
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let (one, nan) = ([[1.0; 16]], [[f32::NAN; 16]]);
    let zero = [[0.0; 16]];
    assert_eq!(DiagonalGaussian::new(0, &[], &[]).err(), Some(PotentialError::Empty));
    let long = DiagonalGaussian::new(17, &one, &one).err();
    assert_eq!(long, Some(PotentialError::Length { need: 2, got: 1 }));
    let flat = DiagonalGaussian::new(3, &zero, &zero).err();
    assert_eq!(flat, Some(PotentialError::Value { index: 0, value: 0.0 }));
    assert!(matches!(DiagonalGaussian::new(3, &nan, &one), Err(PotentialError::Value { index: 0, .. })));

    let mut rows = [[0.0; 16]; 2];
    (rows[0][0], rows[1][1], rows[0][1], rows[1][0]) = (1.0, 1.0, 0.5, 0.4);
    let skew = DenseGaussian::new(2, &zero, &rows).err();
    assert_eq!(skew, Some(PotentialError::NotSymmetric { row: 0, column: 1 }));
    rows[1][0] = 0.5;
    assert!(DenseGaussian::new(2, &zero, &rows).is_ok());
    rows[1][2] = 0.1;
    let dirty = DenseGaussian::new(2, &zero, &rows).err();
    assert_eq!(dirty, Some(PotentialError::Value { index: 18, value: 0.1 }));
    assert_eq!(DenseGaussian::new(2, &zero, &one).err(), Some(PotentialError::Length { need: 2, got: 1 }));

    assert_eq!(Mixture::new(2, &[], &[], 1.0).err(), Some(PotentialError::Empty));
    assert!(matches!(Mixture::new(2, &zero, &[f32::INFINITY], 1.0), Err(PotentialError::Value { .. })));
    for sigma in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-30] {
        assert!(Mixture::new(2, &zero, &[0.0], sigma).is_err());
        assert!(Funnel::new(2, sigma).is_err());
    }
    assert_eq!(Funnel::new(1, 3.0).err(), Some(PotentialError::Empty));

    assert_eq!(Mlp::new(&[], &[]).err(), Some(PotentialError::Empty));
    assert_eq!(Mlp::new(&[2, 0], &[]).err(), Some(PotentialError::Empty));
    assert_eq!(Mlp::new(&[2, 3], &one).err(), Some(PotentialError::Length { need: 7, got: 1 }));
    assert!(Mlp::new(&[2, 3], &[[0.0; 16]; 7]).is_ok());
    assert!(matches!(Mlp::new(&[2, 3], &[[1.0; 16]; 7]), Err(PotentialError::Value { index: 3, .. })));
    // The place is that in all parameters: here the second weight row of the last layer.
    let mut parameters = [[0.0; 16]; 7];
    parameters[5][0] = f32::INFINITY;
    let infinite = Mlp::new(&[2, 3], &parameters).err();
    assert_eq!(infinite, Some(PotentialError::Value { index: 80, value: f32::INFINITY }));
}
