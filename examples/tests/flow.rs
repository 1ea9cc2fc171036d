//! The continuous targets of `esh`, their measures, and the toy densities of its training.

use bitmc::flow::blocks;
use bitmc::lane::LANES;
use bitmc::{LaneRng, SeedableRng};
use bitmc_examples::flow::measure::effective_size;
use bitmc_examples::flow::targets::Target;
use bitmc_examples::flow::train::Toy;

/// The number is that of the authors' formula in another language. The first coordinate drifts slowly, so that lags from
/// the first on count.
#[test]
fn the_effective_size_is_that_of_the_authors() {
    let states: Vec<Vec<f32>> =
        (0..41).map(|t: i32| vec![1.0 - t as f32 / 25.0, (t * t % 11) as f32 / 5.0 - 1.0]).collect();
    let got = effective_size(&states, &[[0.5, 0.3], [0.4, 0.6]]);
    assert!((got - 4.226_143_964_588_362).abs() < 1e-4, "{got}");
}

/// Exact draws have the moments of their targets, are standard normal where they are whitened, and are those of the
/// potential: ⟨x·∇E⟩ = d.
#[test]
fn exact_draws_are_those_of_the_target() {
    const DRAWS: usize = 20_000;
    for target in Target::ALL {
        let mut rng = LaneRng::seed_from_u64(7);
        let draws: Vec<Vec<f32>> = (0..DRAWS).map(|_| target.draw(&mut rng)).collect();
        let is_near = |values: &[f64], truth: f64, what: &str| {
            let mean = values.iter().sum::<f64>() / DRAWS as f64;
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64;
            let error = (square / DRAWS as f64).sqrt();
            // 5.5 standard errors: below one false alarm in a hundred thousand over some 300 means.
            assert!((mean - truth).abs() < 5.5 * error, "{}, {what}: {mean} for {truth}", target.name());
        };
        let axis = |draws: &[Vec<f32>], axis: usize| draws.iter().map(|x| x[axis].into()).collect::<Vec<f64>>();
        // The authors' moments of the funnel are not its own.
        if target != Target::Funnel {
            for (index, [variance, of_square]) in target.moments().into_iter().enumerate() {
                let values = axis(&draws, index);
                is_near(&values, 0.0, "mean");
                is_near(&values.iter().map(|x| x * x).collect::<Vec<_>>(), variance, "variance");
                let squares: Vec<f64> = values.iter().map(|x| (x * x - variance).powi(2)).collect();
                is_near(&squares, of_square, "variance of the square");
            }
        }
        if !matches!(target, Target::Mog | Target::MogPrior) {
            let white: Vec<Vec<f32>> = draws.iter().map(|x| target.whitened(x.clone())).collect();
            for one in 0..target.dim() {
                let (a, b) = (axis(&white, one), axis(&white, (one + 1) % target.dim()));
                is_near(&a.iter().map(|x| x * x).collect::<Vec<_>>(), 1.0, "white variance");
                is_near(&a.iter().zip(&b).map(|(a, b)| a * b).collect::<Vec<_>>(), 0.0, "white covariance");
            }
        }
        let along: Vec<f64> = target.with(|potential| {
            let width = blocks(target.dim());
            let mut scratch = vec![[0.0; LANES]; potential.scratch_len()];
            let of = |x: &Vec<f32>| {
                let (mut at, mut slope) = (vec![[0.0; LANES]; width], vec![[0.0; LANES]; width]);
                at.as_flattened_mut()[..x.len()].copy_from_slice(x);
                potential.gradient(&at, &mut scratch, &mut slope);
                x.iter().zip(slope.as_flattened()).map(|(x, g)| f64::from(x * g)).sum()
            };
            draws.iter().map(of).collect()
        });
        is_near(&along, target.dim() as f64, "x·∇E");
    }
}

/// The data of training fall into the cells of the density that it is compared with.
#[test]
fn toy_data_are_those_of_the_density() {
    const SIDE: usize = 20;
    const DRAWS: usize = 40_000;
    for toy in Toy::ALL {
        // Fine cells, added up: the density varies within the coarse ones.
        let mut truth = vec![0.0; SIDE * SIDE];
        for (index, share) in toy.truth(10 * SIDE).into_iter().enumerate() {
            truth[index / (10 * SIDE) / 10 * SIDE + index % (10 * SIDE) / 10] += share;
        }
        let (mut rng, mut found) = (LaneRng::seed_from_u64(8), vec![0.0; SIDE * SIDE]);
        for _ in 0..DRAWS {
            let [column, row] = toy.draw(&mut rng).map(|value| (value / toy.span() + 1.0) * SIDE as f32 / 2.0);
            found[(SIDE - 1 - row as usize) * SIDE + column as usize] += 1.0;
        }
        // Pearson's χ² over cells of 5 and more.
        let cells = truth.iter().map(|share| share * DRAWS as f64).zip(&found).filter(|(mean, _)| *mean >= 5.0);
        let (mut square, mut count) = (0.0, 0.0);
        for (mean, found) in cells {
            square += (found - mean).powi(2) / mean;
            count += 1.0;
        }
        // Mean `count`, deviation √(2·count).
        assert!((square - count).abs() < 5.5 * f64::sqrt(2.0 * count), "{}: {square} of {count}", toy.name());
    }
}
