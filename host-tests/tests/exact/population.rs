//! Population annealing: copies are right on average and never a whole one off, Z has no bias and ln Z its error, β is
//! what its share says, families are counted, and wrong populations are refused.

use bitmc::energy::Tempered;
use bitmc::temper::{Families, PopulationError, Replica, Resampling, begin, next_beta, resample};
use bitmc::{Energy, Function, Gibbs, Kind, LaneRng, Layout, Packed, Plain, SeedableRng};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance;

/// Even first words of a uniform number.
const GRID: u32 = 1 << 12;

fn even(index: u32) -> Stuck {
    Stuck::At((2 * index + 1) << 19)
}

/// The shares of replicas after a step, in float64.
fn shares(step: f32, gaps: &[f32]) -> Vec<f64> {
    let least = gaps.iter().copied().fold(f32::INFINITY, f32::min);
    let weights = gaps.iter().map(|&gap| (-f64::from(step) * (f64::from(gap) - f64::from(least))).exp());
    let weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// How far copies are, on average over even uniform numbers, from R times the shares; and whether all are within one of it.
fn far(step: f32, gaps: &[f32], copies: impl Fn(u32) -> Vec<u32>) -> (f64, bool) {
    let exact: Vec<f64> = shares(step, gaps).iter().map(|share| share * gaps.len() as f64).collect();
    let (mut sums, mut within) = (vec![0.0; gaps.len()], true);
    for index in 0..GRID {
        for ((sum, copies), exact) in sums.iter_mut().zip(copies(index)).zip(&exact) {
            *sum += f64::from(copies) / f64::from(GRID);
            within &= (f64::from(copies) - exact).abs() < 1.0 + 1e-5;
        }
    }
    (sums.iter().zip(&exact).map(|(sum, exact)| (sum - exact).abs()).fold(0.0, f64::max), within)
}

#[test]
fn copies_are_right_on_average_and_within_one() {
    let mut source = Source::new(3);
    // A count changes at so many uniform numbers as it has values: two. Weights are rounded to 2⁻³² of the largest, and e^x is
    // within an ulp of arguments up to 30.
    let bound = |size: usize| 2.0 / f64::from(GRID) + size as f64 * 64.0 * tolerance::ROUNDING;
    let mut seen = (0, 0);
    for size in [1, 2, 3, 7, 20] {
        for step in [0.01f32, 0.3, 2.0] {
            let mut gaps: Vec<f32> = (0..size).map(|_| source.normal(4.0)).collect();
            if size > 2 {
                gaps[1] = f32::INFINITY;
            }
            let copies = |step: f32, index: u32| -> Vec<u32> {
                let resampling = Resampling::new(step, &gaps, &mut even(index)).unwrap();
                let copies: Vec<u32> = resampling.copies().collect();
                assert_eq!(copies.iter().sum::<u32>() as usize, size);
                // The moves make them.
                let mut made = vec![1u32; size];
                for (from, to) in resampling.moves() {
                    assert!(copies[from] > 1 && copies[to] == 0, "{from} to {to} of {copies:?}");
                    (made[from], made[to]) = (made[from] + 1, made[to] - 1);
                }
                assert_eq!(made, copies);
                copies
            };
            let (off, within) = far(step, &gaps, |index| copies(step, index));
            assert!(off <= bound(size) && within, "{size} replicas, step {step}: {off}, {within}");
            // Negative controls: half the step, and a resampling that is not random.
            let (half, _) = far(step, &gaps, |index| copies(0.5 * step, index));
            let (rounded, _) = far(step, &gaps, |_| copies(step, GRID / 2));
            seen.0 += usize::from(half > 4.0 * bound(size));
            seen.1 += usize::from(rounded > 4.0 * bound(size));
        }
    }
    // Of fifteen; one replica has one copy, and of two or three one has them all where the step is large.
    assert!(seen.0 >= 8 && seen.1 >= 8, "the check cannot see wrong copies: {seen:?}");
}

#[test]
fn weights_are_sums_in_any_order() {
    let mut source = Source::new(5);
    let mut gaps: Vec<f32> = (0..1000).map(|_| source.normal(300.0)).collect();
    gaps[17] = f32::INFINITY;
    let of = |gaps: &[f32]| {
        let resampling = Resampling::new(0.01, gaps, &mut even(5)).unwrap();
        (resampling.log_mean().to_bits(), resampling.equal_weights().to_bits())
    };
    let found = of(&gaps);
    let weights: Vec<f64> = gaps.iter().map(|&gap| (-0.01 * f64::from(gap)).exp()).collect();
    let (sum, squares) = (weights.iter().sum::<f64>(), weights.iter().map(|w| w * w).sum::<f64>());
    assert!((f64::from(f32::from_bits(found.0)) - (sum / 1000.0).ln()).abs() < 1e-5);
    assert!((f64::from(f32::from_bits(found.1)) / (sum * sum / squares) - 1.0).abs() < 1e-3);
    gaps.reverse();
    assert_eq!(of(&gaps), found);
    gaps.sort_by(f32::total_cmp);
    assert_eq!(of(&gaps), found);
}

#[test]
fn the_next_beta_has_its_share() {
    let mut source = Source::new(7);
    for size in [5, 100, 1000] {
        for sd in [0.01, 1.0, 50.0, 1e4] {
            let mut gaps: Vec<f32> = (0..size).map(|_| source.normal(sd)).collect();
            gaps[2] = f32::INFINITY;
            for share in [0.5f32, 0.9, 0.99] {
                let of = |beta: f32| {
                    let shares = shares(beta - 0.25, &gaps);
                    1.0 / (shares.iter().map(|share| share * share).sum::<f64>() * f64::from(size - 1))
                };
                let found = next_beta(0.25, 1.0, &gaps, share).unwrap();
                assert!(found > 0.25 && found <= 1.0);
                let slack = 2f32.powi(-22);
                assert!(
                    of(found) > f64::from(share) - 2e-3 || found <= 0.25 + slack,
                    "{size}, {sd}: {}",
                    of(found)
                );
                assert!(found == 1.0 || of(found + slack) < f64::from(share) + 2e-3, "{size}, {sd}: {found}");
            }
        }
    }
    // All alike: at once.
    assert_eq!(next_beta(0.25, 7.0, &[3.0; 4], 0.9), Ok(7.0));
    // A step is taken even where the next number is too far.
    let found = next_beta(1.0, 2.0, &[0.0, 1e30], 0.9).unwrap();
    assert!(found > 1.0 && found < 1.000_001);
}

/// Fields over a ring of bits of which no neighbours are both 1.
struct Apart([f32; 8]);

impl Apart {
    fn energy(&self, x: &[usize]) -> f64 {
        let near = (0..8).any(|site| x[site] + x[(site + 1) % 8] == 2);
        let sum = x.iter().zip(&self.0).map(|(&x, &w)| x as f64 * -f64::from(w)).sum();
        if near { f64::INFINITY } else { sum }
    }
}

impl Function for Apart {
    fn layout(&self) -> Layout {
        Layout::binary(8)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.energy(&x.values().map(|value| value as usize).collect::<Vec<_>>()) as f32
    }

    fn gradient(&self, _x: Packed<'_>, site: usize) -> f32 {
        -self.0[site]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// Weights are counted, and nothing is resampled.
    NoResampling,
    /// Resampled as for half the step.
    HalfTheStep,
    /// The replica of the least energy takes the place of the one of the largest too.
    Greedy,
}

/// One run of population annealing with so many Gibbs updates of single sites a step: ln Z, its error and ρ_t.
fn anneal(
    energy: &dyn Energy,
    size: usize,
    betas: Option<&[f32]>,
    updates: u64,
    flaw: Flaw,
    rng: &mut LaneRng,
) -> (f64, f64, f64) {
    let path = Tempered::new(energy, 0.0).unwrap();
    let mut replica = || Replica::random(path, heap::memory(&path), rng);
    // Until one starts in a possible state.
    let mut replicas: Vec<_> = (0..size)
        .map(|_| {
            loop {
                if let Ok(replica) = replica() {
                    break replica;
                }
            }
        })
        .collect();
    let mut gaps: Vec<f32> = replicas.iter_mut().map(|replica| begin(replica, rng).unwrap()).collect();
    let mut families: Vec<u32> = (0..size as u32).collect();
    let (mut log_z, mut beta, mut step) = (f64::from(path.base().log_z()), 0.0, 0);
    let kernel = Gibbs::random(1).unwrap();
    let mut spread = 0.0;
    while beta < 1.0 {
        let to = betas.map_or_else(|| next_beta(beta, 1.0, &gaps, 0.9).unwrap(), |betas| betas[step]);
        let (mean, equal) = match flaw {
            Flaw::NoResampling => {
                let resampling = Resampling::new(to - beta, &gaps, rng).unwrap();
                replicas.iter_mut().for_each(|replica| replica.set_beta(to).unwrap());
                (resampling.log_mean(), resampling.equal_weights())
            }
            Flaw::HalfTheStep => {
                let whole = Resampling::new(to - beta, &gaps, rng).unwrap().log_mean();
                let half =
                    resample(&mut replicas, &gaps, &mut families, beta + 0.5 * (to - beta), rng).unwrap();
                replicas.iter_mut().for_each(|replica| replica.set_beta(to).unwrap());
                (whole, half.equal_weights)
            }
            Flaw::None | Flaw::Greedy => {
                let done = resample(&mut replicas, &gaps, &mut families, to, rng).unwrap();
                if flaw == Flaw::Greedy {
                    let by = |a: &usize, b: &usize| replicas[*a].gap().total_cmp(&replicas[*b].gap());
                    let least = (0..size).min_by(by).unwrap();
                    let most = (0..size).max_by(by).unwrap();
                    let words = replicas[least].state().words().to_vec();
                    replicas[most].restart(Packed::new(path.layout(), &words).unwrap()).unwrap();
                }
                (done.log_mean, done.equal_weights)
            }
        };
        log_z += f64::from(mean);
        spread += (size as f64 / f64::from(equal) - 1.0) / (size as f64 - 1.0);
        replicas.iter_mut().for_each(|replica| replica.run(&kernel, rng, updates, &mut ()));
        gaps = replicas.iter().map(Replica::gap).collect();
        (beta, step) = (to, step + 1);
    }
    let found = Families::of(&families, &mut vec![0; size]).unwrap();
    let error = f64::from(found.relative_error()).max(spread.sqrt());
    (log_z, error, found.mean_size().into())
}

/// Does something with twenty models: Ising models and QUBOs of 8 sites, tables over sites of many values, a hard constraint.
fn twenty(mut with: impl FnMut(usize, &dyn Energy, f64)) {
    for number in 0..20 {
        let (seed, sd) = (number as u64 + 40, [0.3, 0.6, 1.2][number % 3]);
        if number < 12 {
            let model = models::pairwise(Convention::ALL[number % 3], 8, 0.6, sd, seed);
            let mut couplings = model.couplings();
            with(number, &couplings.ising(&model).unwrap(), Distribution::of(&model).log_z);
        } else if number < 18 {
            let kind = if number % 2 == 0 { Kind::Categorical } else { Kind::Ordinal };
            let tables = Tables::new(kind, &[3, 5, 2, 4], sd, seed);
            with(number, &Plain(Own(&tables)), tables.distribution().log_z);
        } else {
            let mut source = Source::new(seed);
            let apart = Apart(core::array::from_fn(|_| source.coarse(1.0)));
            let values = |state: usize| (0..8).map(|site| state >> site & 1).collect::<Vec<_>>();
            let energies = (0..256).map(|state| apart.energy(&values(state))).collect();
            with(number, &Plain(&apart), Distribution::from_energies(8, energies).log_z);
        }
    }
}

#[test]
fn ln_z_is_within_its_error_on_twenty_models() {
    let (mut off, mut squares, mut blind) = (Vec::new(), 0.0, 0.0f64);
    twenty(|number, energy, exact| {
        let mut rng = LaneRng::seed_from_u64(number as u64);
        let (log_z, error, size) = anneal(energy, 1000, None, 4, Flaw::None, &mut rng);
        println!("{number}: ln Z {log_z:.4} ± {error:.4}, exactly {exact:.4}; mean size of families {size:.1}");
        assert!(error < 0.3, "{number}: no estimate, ± {error}");
        off.push(((log_z - exact) / error).abs());
        squares += ((log_z - exact) / error).powi(2);
        // Negative control: nothing resampled, hardly anything moved.
        let (log_z, error, _) = anneal(energy, 1000, None, 1, Flaw::NoResampling, &mut rng);
        blind = blind.max(((log_z - exact) / error).abs());
    });
    assert!(off.iter().all(|off| *off < tolerance::SIGMA), "{off:?}");
    // Errors are those of the estimates, not far larger: the sum of twenty squares of normal numbers is above 2.8 but in one
    // case of 10⁶. Errors are up to twice too cautious.
    assert!(squares > 2.8 / 4.0 && squares < 69.0, "{squares}");
    assert!(blind > 2.0 * tolerance::SIGMA, "{blind}");
}

/// ⟨Z⟩/Z of small populations on fixed β, with its standard error.
fn mean_of_z(flaw: Flaw, updates: u64) -> (f64, f64) {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 3, 1.0, 1.0, 2);
    let mut couplings = model.couplings();
    let (energy, exact) = (couplings.ising(&model).unwrap(), Distribution::of(&model).log_z);
    let mut rng = LaneRng::seed_from_u64(9);
    let runs = 20_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..runs {
        let (log_z, ..) = anneal(&energy, 5, Some(&[0.3, 0.6, 1.0]), updates, flaw, &mut rng);
        let z = (log_z - exact).exp();
        (sum, squares) = (sum + z, squares + z * z);
    }
    let mean = sum / f64::from(runs);
    (mean, ((squares / f64::from(runs) - mean * mean) / f64::from(runs)).sqrt())
}

#[test]
fn z_has_no_bias_on_a_fixed_schedule() {
    // A kernel that does nothing is one too.
    for updates in [0, 2] {
        let (mean, error) = mean_of_z(Flaw::None, updates);
        assert!((mean - 1.0).abs() < tolerance::SIGMA * error, "{updates} updates: {mean} ± {error}");
        for flaw in [Flaw::NoResampling, Flaw::HalfTheStep, Flaw::Greedy] {
            let (mean, error) = mean_of_z(flaw, updates);
            println!("{flaw:?}, {updates} updates: {mean} ± {error}");
            assert!((mean - 1.0).abs() > 2.0 * tolerance::SIGMA * error, "{flaw:?} passes: {mean} ± {error}");
        }
    }
}

#[test]
fn families_are_counted() {
    let mut sizes = [9; 6];
    let families = Families::of(&[2, 2, 0, 2, 5, 0], &mut sizes).unwrap();
    assert_eq!(sizes, [2, 0, 3, 0, 0, 1]);
    assert_eq!((families.families(), families.mean_size()), (3, 14.0 / 6.0));
    assert!((families.relative_error() - (8.0f32 / 30.0).sqrt()).abs() < 1e-6);
    let alone = Families::of(&[0], &mut [0]).unwrap();
    assert_eq!((alone.families(), alone.mean_size(), alone.relative_error()), (1, 1.0, 0.0));
    let start = Families::of(&[0, 1, 2], &mut [0; 3]).unwrap();
    assert_eq!((start.mean_size(), start.relative_error()), (1.0, 0.0));
    let one = Families::of(&[1, 1, 1], &mut [0; 3]).unwrap();
    assert_eq!((one.families(), one.mean_size(), one.relative_error()), (1, 3.0, 1.0));
}

#[test]
fn clamped_sites_stay_in_every_copy() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 8, 0.6, 0.6, 3);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let distribution = Distribution::of(&model).given(0b0100_0010, 0b0000_0010);
    let path = Tempered::new(&energy, 0.0).unwrap();
    let mut rng = LaneRng::seed_from_u64(4);
    let start = [0b0000_0010];
    let mut replicas: Vec<_> = (0..2000)
        .map(|_| {
            let start = Packed::new(path.layout(), &start).unwrap();
            let mut replica = Replica::new(path, heap::memory(&path), start).unwrap();
            replica.clamp(Packed::new(path.layout(), &[0b0100_0010]).unwrap()).unwrap();
            replica
        })
        .collect();
    let mut log_z = f64::from(replicas[0].base_log_z());
    let mut gaps: Vec<f32> = replicas.iter_mut().map(|replica| begin(replica, &mut rng).unwrap()).collect();
    let mut families: Vec<u32> = (0..2000).collect();
    for step in 1..=10 {
        log_z += f64::from(
            resample(&mut replicas, &gaps, &mut families, step as f32 / 10.0, &mut rng).unwrap().log_mean,
        );
        replicas.iter_mut().for_each(|replica| replica.run(&Gibbs::systematic(), &mut rng, 2, &mut ()));
        gaps = replicas.iter().map(Replica::gap).collect();
    }
    assert!(replicas.iter().all(|replica| replica.state().words()[0] & 0b0100_0010 == 0b0000_0010));
    assert!(replicas.iter().all(|replica| replica.beta() == 1.0));
    let error = f64::from(Families::of(&families, &mut [0; 2000]).unwrap().relative_error());
    assert!(
        (log_z - distribution.log_z).abs() < tolerance::SIGMA * error,
        "{log_z} ± {error}, exactly {}",
        distribution.log_z
    );
    // The replicas end in the distribution.
    let mean = replicas.iter().map(|replica| f64::from(replica.energy())).sum::<f64>() / 2000.0;
    let square = distribution.mean(|state| distribution.energies[state].min(1e9).powi(2))
        - distribution.mean_energy().powi(2);
    let error = (square / 2000.0).sqrt() * 3.0;
    assert!(
        (mean - distribution.mean_energy()).abs() < tolerance::SIGMA * error,
        "{mean}, exactly {}",
        distribution.mean_energy()
    );
}

#[test]
fn wrong_populations_are_refused() {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut refused = |step, gaps: &[f32]| Resampling::new(step, gaps, &mut rng).unwrap_err();
    assert_eq!(refused(0.1, &[]), PopulationError::Size(0));
    assert!(matches!(refused(0.1, &[0.0, f32::NAN]), PopulationError::Gap { replica: 1, .. }));
    assert!(matches!(refused(0.1, &[f32::NEG_INFINITY]), PopulationError::Gap { replica: 0, .. }));
    assert_eq!(refused(0.1, &[f32::INFINITY; 3]), PopulationError::Extinct);
    for step in [0.0, -0.1, f32::NAN, f32::INFINITY] {
        assert!(matches!(refused(step, &[0.0, 1.0]), PopulationError::Beta { .. }));
        assert!(matches!(next_beta(1.0, 1.0 + step, &[0.0, 1.0], 0.9), Err(PopulationError::Beta { .. })));
    }
    for share in [0.0, 1.0, -1.0, f32::NAN] {
        assert!(matches!(next_beta(0.0, 1.0, &[0.0, 1.0], share), Err(PopulationError::Share(_))));
    }
    assert_eq!(Families::of(&[], &mut []), Err(PopulationError::Size(0)));
    assert_eq!(Families::of(&[0, 0], &mut [0]), Err(PopulationError::Length { need: 2, got: 1 }));
    assert_eq!(Families::of(&[0, 2], &mut [0; 2]), Err(PopulationError::Family { replica: 1, value: 2 }));

    let model = models::pairwise(Convention::SpinsEdgesOnce, 8, 0.6, 0.6, 3);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let path = Tempered::new(&energy, 0.5).unwrap();
    let mut replicas = [0, 1].map(|_| Replica::random(path, heap::memory(&path), &mut rng).unwrap());
    let mut families = [0, 1];
    let mut refused = |gaps: &[f32], families: &mut [u32], beta| {
        resample(&mut replicas, gaps, families, beta, &mut rng).unwrap_err()
    };
    assert_eq!(refused(&[0.0], &mut families, 1.0), PopulationError::Length { need: 2, got: 1 });
    assert_eq!(refused(&[0.0; 2], &mut [0; 3], 1.0), PopulationError::Length { need: 2, got: 3 });
    for beta in [0.5, 0.2, f32::NAN, f32::INFINITY] {
        assert!(matches!(refused(&[0.0; 2], &mut families, beta), PopulationError::Beta { from: 0.5, .. }));
    }
    replicas[1].set_beta(0.7).unwrap();
    assert!(matches!(
        resample(&mut replicas, &[0.0; 2], &mut families, 1.0, &mut rng),
        Err(PopulationError::Uneven { replica: 1, value: 0.7 })
    ));
    assert_eq!(resample(&mut replicas[..0], &[], &mut [], 1.0, &mut rng), Err(PopulationError::Size(0)));
    // A generator that is stuck copies no state that is not there.
    for (name, mut stuck) in Stuck::all() {
        replicas.iter_mut().for_each(|replica| replica.set_beta(0.1).unwrap());
        let gaps = [replicas[0].gap(), replicas[1].gap()];
        let done = resample(&mut replicas, &gaps, &mut families, 2.0, &mut stuck).unwrap();
        assert!(done.log_mean.is_finite() && done.replaced < 2, "{name}: {done:?}");
    }
}
