//! The comparison harness: its estimators against known values, its bookkeeping, and that it can see.

use bitmc::{Energy, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, random, torus};
use bitmc_examples::chains::memory;
use bitmc_examples::harness::{
    Counted, Plan, Sampler, Target, compare, differ, effective_size, leaders, log_rmse, measure, split_r_hat,
    table, work,
};
use bitmc_examples::progress::Progress;
use std::cmp::Ordering;
use std::path::Path;

/// Chains of an autoregressive process of order one with unit variance, from its own distribution.
fn autoregressive(phi: f64, chains: usize, length: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut noise = std::iter::repeat_with(move || random::normals(&mut rng)).flatten().map(f64::from);
    let mut chain = || {
        let mut x = noise.next().unwrap();
        let step = |_| {
            let here = x;
            x = phi * x + (1.0 - phi * phi).sqrt() * noise.next().unwrap();
            here
        };
        (0..length).map(step).collect()
    };
    (0..chains).map(|_| chain()).collect()
}

/// `N/τ` of an autoregressive process, τ = (1+φ)/(1−φ), within 4.89 standard deviations: one false alarm in a
/// million. The variance of τ̂ is τ² 2(2M+1)/N with the sum cut at lag M (Sokal 1997, Eq. 3.19); it is cut
/// where |φ|^M meets the noise √(1/N).
#[test]
fn effective_size_of_autoregressive_chains() {
    let (chains, length) = (8, 20_000);
    let total = (chains * length) as f64;
    for (seed, phi) in [(1, 0.0), (2, 0.5), (3, 0.9), (4, 0.98), (5, -0.5), (6, -0.8)] {
        // Strongly alternating chains meet the limit.
        let truth = (total * (1.0 - phi) / (1.0 + phi)).min(total * total.log10());
        let cut = if phi == 0.0 { 1.0 } else { (-0.5 * total.ln() / f64::ln(f64::abs(phi))).max(1.0) };
        let bound = 4.89 * (2.0 * (2.0 * cut + 1.0) / total).sqrt();
        let got = effective_size(&autoregressive(phi, chains, length, seed)).unwrap();
        assert!((got / truth - 1.0).abs() < bound, "φ = {phi}: {got} for {truth}, bound {bound}");
        // The same without its sum, or with each term once instead of twice, would be caught.
        let variants = [total, total / (1.0 + phi / (1.0 - phi))];
        assert!(
            phi == 0.0 || variants.iter().all(|variant| (variant / truth - 1.0).abs() > bound),
            "φ = {phi}"
        );
    }
}

/// The autocovariances by transform are those by their definition: on 30 values the whole estimate, by hand.
#[test]
fn effective_size_is_its_definition() {
    let chains = autoregressive(0.6, 3, 30, 7);
    let (m, n) = (3.0, 30.0);
    let mean = |chain: &[f64]| chain.iter().sum::<f64>() / chain.len() as f64;
    let covariance = |lag: usize| {
        let one = |chain: &Vec<f64>| {
            let centre = mean(chain);
            chain[lag..].iter().zip(chain).map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() / n
        };
        chains.iter().map(one).sum::<f64>() / m
    };
    let centres: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let between = centres.iter().map(|c| (c - mean(&centres)).powi(2)).sum::<f64>() / (m - 1.0);
    let (within, variance) = (covariance(0) * n / (n - 1.0), covariance(0) + between);
    let rho = |lag| if lag == 0 { 1.0 } else { 1.0 - (within - covariance(lag)) / variance };
    let pairs: Vec<f64> = (0..14).map(|k| rho(2 * k) + rho(2 * k + 1)).take_while(|pair| *pair > 0.0).collect();
    let monotone = pairs.iter().scan(f64::INFINITY, |least, &pair| {
        *least = pair.min(*least);
        Some(*least)
    });
    let truth = m * n / (2.0 * monotone.sum::<f64>() - 1.0);
    let got = effective_size(&chains).unwrap();
    // Some thousand additions and products of numbers near 1 in float64, each within 1e-16; and cancellation
    // in the last pair that still counts.
    assert!((got / truth - 1.0).abs() < 1e-9, "{got} for {truth}");
}

#[test]
fn chains_that_disagree_are_seen() {
    let mut chains = autoregressive(0.5, 8, 5000, 8);
    // Under agreement R̂² − 1 is about the variance of half chains' means, τ/n; its 1e-6 quantile is below 5 of it.
    let agree = split_r_hat(&chains).unwrap();
    assert!((agree * agree - 1.0).abs() < 5.0 * 3.0 / 2500.0, "{agree}");
    let size = effective_size(&chains).unwrap();
    chains[3].iter_mut().for_each(|value| *value += 2.0);
    assert!(split_r_hat(&chains).unwrap() > 1.1);
    assert!(effective_size(&chains).unwrap() < 0.05 * size);
}

#[test]
fn values_that_never_change_have_no_size() {
    assert_eq!(effective_size(&[vec![1.0; 100], vec![1.0; 100]]), None);
    assert_eq!(split_r_hat(&[vec![1.0; 100], vec![1.0; 100]]), None);
    // None moves, and each is at another value: about as many values as chains.
    assert!(effective_size(&[vec![1.0; 100], vec![0.0; 100]]).unwrap() < 4.0);
    assert_eq!(split_r_hat(&[vec![1.0; 100], vec![0.0; 100]]), Some(f64::INFINITY));
    assert_eq!(effective_size(&[]), None);
    assert_eq!(effective_size(&[vec![1.0, 2.0, 1.0]]), None);
    assert_eq!(effective_size(&[vec![1.0; 10], vec![1.0; 9]]), None);
    // A chain that does not move, with one that does.
    let moving = autoregressive(0.5, 1, 100, 11).remove(0);
    assert_eq!(effective_size(&[vec![3.0; 100], vec![3.0; 100]]), None);
    assert!(effective_size(&[moving, vec![0.0; 100]]).is_some());
    let alternating: Vec<f64> = (0..1000).map(|step| f64::from(step % 2)).collect();
    assert_eq!(effective_size(&[alternating]), Some(3000.0));
}

#[test]
fn error_of_means() {
    assert!((log_rmse(&[1.0, 2.0], &[1.3, 1.6]) - 0.5 * f64::ln(0.125)).abs() < 1e-15);
    assert_eq!(log_rmse(&[1.0], &[1.0]), f64::NEG_INFINITY);
}

fn model(memory: &mut SparseMemory<25, 100>) -> Ising<'_> {
    Ising::spins_edges_twice(25, torus(5, 5, 0.1), &[0.2; 25], memory.borrow()).unwrap()
}

/// (1 + ⟨s⟩)/2 by transfer matrix (METHODS.md §8).
const MEAN: f64 = (1.0 + 0.482_970) / 2.0;

fn dmala<'s>(name: &str, step_size: f32) -> Sampler<'s, Ising<'s>> {
    Sampler::kernel(name, "α = 0.6", Langevin::adjusted(step_size).unwrap())
}

fn hidden() -> Progress {
    Progress::new(true, 0)
}

#[test]
fn queries_are_counted() {
    let mut lent = SparseMemory::<25, 100>::new();
    let model = model(&mut lent);
    let counted = Counted::new(&model);
    let layout = Layout::binary(25);
    let mut cache = memory(&counted).cache;
    let mut words = vec![0];
    let state = bitmc::Packed::new(layout, &[0]).unwrap();
    counted.init(state, &mut cache).unwrap();
    counted.gradient(state, &cache, 0..2, &mut [[0.0; 16]; 2]);
    counted.gradient(state, &cache, 0..1, &mut [[0.0; 16]; 1]);
    let queries = counted.take();
    assert_eq!((queries.log_density, queries.gradient, queries.total()), (1, 1.5, 2.5));

    // Two sites are asked for; the move of one of them is known, the next one is not.
    counted.differences(&mut words, &cache, 3, &mut [0.0; 2]);
    counted.differences(&mut words, &cache, 4, &mut [0.0; 2]);
    let (three, four) = ([1 << 3], [1 << 3 | 1 << 4]);
    let (three, four) =
        (bitmc::Packed::new(layout, &three).unwrap(), bitmc::Packed::new(layout, &four).unwrap());
    counted.shift(&bitmc::Move::new(state, three).unwrap(), &mut cache);
    assert_eq!(counted.take().log_density, 2);
    counted.shift(&bitmc::Move::new(three, four).unwrap(), &mut cache);
    counted.shift(&bitmc::Move::new(four, state).unwrap(), &mut cache);
    assert_eq!(counted.take().log_density, 2);
}

#[test]
fn a_cell_agrees_with_the_exact_answers() {
    let mut lent = SparseMemory::<25, 100>::new();
    let model = model(&mut lent);
    let target = Target::new("torus", &model).exact_means(vec![MEAN; 25]);
    let plan = Plan { seed: 3, chains: 16, burn_in: 200, steps: 4000 };
    let numbers = measure(&target, &dmala("DMALA", 0.6), plan, &hidden()).unwrap().numbers;
    // METHODS.md §8: 6.0347 sites proposed, acceptance .539, 3.17 moved. Steps are correlated for fewer than ten
    // steps, so 64,000 of them are at least 6,400 independent ones; 4.89 standard errors, and the rounding
    // of the published numbers.
    let near = |got: f64, truth: f64, deviation: f64| (got - truth).abs() < 4.89 * deviation / 80.0 + 0.005;
    assert!(near(numbers.acceptance, 0.539, 0.5), "{numbers:?}");
    assert!(near(numbers.proposed_sites_per_step, 6.0347, 2.2), "{numbers:?}");
    assert!(near(numbers.moved_sites_per_step, 3.169, 3.5), "{numbers:?}");
    // Some proposals change no site: their log density is known.
    assert!((63_500..64_000).contains(&numbers.queries.log_density) && numbers.queries.gradient == 64_000.0);
    // The means' errors are those that the effective sample size promises: a sum of squared normals, however they
    // are correlated, is above 24 times its expectation at most once in a million times (χ² of one degree).
    let promised = MEAN * (1.0 - MEAN) / numbers.ess_min.unwrap();
    assert!((2.0 * numbers.log_rmse.unwrap()).exp() < 24.0 * promised, "{numbers:?}");
    assert!(numbers.split_r_hat_max.unwrap() < 1.02 && numbers.faults == 0);
    // 1/√t: the error of a chain's means after 4,000 steps is a tenth of that after 40.
    let at = |step: u64| numbers.series.iter().find(|point| point.step == step).unwrap().log_rmse;
    let fall = at(40) - at(4000);
    assert!((1.5..3.0).contains(&fall), "{fall}");
}

/// The column "differs" of a table, row by row.
fn differs(table: &str) -> Vec<&str> {
    let split = |line| -> Vec<&str> { str::split(line, '|').map(str::trim).collect() };
    let mut lines = table.lines().map(split);
    let column = lines.next().unwrap().iter().position(|&name| name == "differs").unwrap();
    lines.skip(1).map(|row| row[column]).collect()
}

/// The table can see: its column "differs" tells a halved step from the others, and not one of two copies from the other.
#[test]
fn variants_do_not_differ_and_a_halved_step_does() {
    let mut lent = SparseMemory::<25, 100>::new();
    let model = model(&mut lent);
    let target = [Target::new("torus", &model).exact_means(vec![MEAN; 25])];
    let samplers =
        [dmala("one", 0.6), dmala("other", 0.6), dmala("halved in secret", 0.3), dmala("third", 0.6)];
    let plan = Plan { seed: 5, chains: 64, burn_in: 100, steps: 1500 };
    let folder = tempfile::tempdir().unwrap();
    let mut cells = compare(plan, &target, &samplers, folder.path(), false, &hidden()).unwrap();
    assert!(cells[0].numbers.series != cells[1].numbers.series, "two names, two streams of random numbers");
    assert_eq!(differs(&table(&cells)), ["reference", "no", "less", "no"], "{}", table(&cells));
    // No order of those that do not differ is told.
    let told = leaders(&cells);
    let first = told.lines().next().unwrap();
    let (most, level) =
        first.strip_prefix("most effective samples a query: ").unwrap().split_once("; ").unwrap();
    assert!(["one", "other", "third"].contains(&most) && level.split(", ").count() == 2, "{told}");
    assert!(!first.contains("halved"), "{told}");
    // From the halved step all others differ.
    cells.swap(0, 2);
    assert_eq!(differs(&table(&cells)), ["reference", "more", "more", "more"]);
    // Of a biased sampler, and of one chain, nothing is told.
    cells[1].numbers.exact = false;
    cells[2].numbers.ess_of_chains_per_10000_queries.truncate(1);
    assert_eq!(differs(&table(&cells)), ["reference", "not exact", "–", "more"]);
}

/// The quantile of Student's distribution with ten degrees of freedom is 3.16927 at 99.5 %, and 3.58141 at 99.75 %.
#[test]
fn differences_are_those_of_students_distribution() {
    let spread = [-2.0, -1.0, -1.0, 1.0, 1.0, 2.0];
    // Six values each, of one variance: ten degrees.
    let error = (2.0 * (12.0 / 5.0) / 6.0f64).sqrt();
    let apart = |t: f64, comparisons| {
        let other = spread.map(|value| value + t * error);
        assert_eq!(
            differ(&spread, &other, comparisons),
            differ(&other, &spread, comparisons).map(Ordering::reverse)
        );
        differ(&other, &spread, comparisons)
    };
    for (quantile, comparisons) in [(3.16927, 1), (3.58141, 2)] {
        assert_eq!(apart(quantile - 1e-4, comparisons), Some(Ordering::Equal));
        assert_eq!(apart(quantile + 1e-4, comparisons), Some(Ordering::Greater));
    }
    assert_eq!((differ(&[1.0; 5], &[1.0; 5], 1), differ(&[1.0; 5], &[2.0; 5], 1)), (None, None));
    assert_eq!((differ(&[], &[1.0, 2.0], 1), differ(&[1.0], &[1.0, 2.0], 1)), (None, None));
}

/// Of 40,000 pairs of equal samplers 1 % differ: 400, ± 20 by chance. With 40 comparisons each it is 10 ± 3.2.
#[test]
fn equal_samplers_differ_as_often_as_is_said() {
    let mut rng = LaneRng::seed_from_u64(8);
    let mut false_ones = |comparisons| {
        let mut set = || -> [[f32; 16]; 2] { std::array::from_fn(|_| bitmc::random::normals(&mut rng)) };
        let mut pair = || {
            let [a, b] =
                [set(), set()].map(|set| set.as_flattened().iter().map(|&x| x.into()).collect::<Vec<f64>>());
            differ(&a, &b, comparisons) != Some(Ordering::Equal)
        };
        (0..40_000).filter(|_| pair()).count() as f64
    };
    assert!((false_ones(1) - 400.0).abs() < 4.89 * 20.0);
    assert!((false_ones(40) - 10.0).abs() < 4.89 * 3.2);
}

fn bytes(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = std::fs::read_dir(folder.join("cells")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| !path.to_string_lossy().contains("timing")).collect();
    files.sort();
    files.iter().map(|path| (path.file_name().unwrap().to_owned(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn cells_are_kept_and_resumed_and_do_not_depend_on_threads() {
    let mut lent = SparseMemory::<25, 100>::new();
    let model = model(&mut lent);
    let targets = [Target::new("torus", &model).exact_means(vec![MEAN; 25])];
    let samplers = [dmala("one", 0.6), dmala("two/three", 0.5)];
    let plan = Plan { seed: 9, chains: 5, burn_in: 10, steps: 300 };
    let run = |threads: usize, folder: &Path, plan: Plan, resume: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| compare(plan, &targets, &samplers, folder, resume, &hidden()).unwrap())
    };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cells = run(1, one.path(), plan, false);
    assert_eq!(work(plan), 5 * 310);
    run(3, two.path(), plan, false);
    assert_eq!(bytes(one.path()).len(), 2);
    assert!(bytes(one.path()) == bytes(two.path()));

    // As after a kill: one cell is there, one is not, and a half-written one counts for nothing.
    let cell = |folder: &Path, name: &str| {
        let (name, _) =
            bytes(folder).into_iter().find(|(file, _)| file.to_string_lossy().starts_with(name)).unwrap();
        folder.join("cells").join(name)
    };
    std::fs::remove_file(cell(one.path(), "torus.two_three.")).unwrap();
    let again = run(2, one.path(), plan, true);
    assert!(again[0] == cells[0], "kept, the seconds too");
    assert!(again[1].numbers == cells[1].numbers);
    assert!(bytes(one.path()) == bytes(two.path()));
    let whole = std::fs::read(cell(one.path(), "torus.one.")).unwrap();
    std::fs::write(cell(one.path(), "torus.one."), &whole[..whole.len() / 2]).unwrap();
    assert!(run(2, one.path(), plan, true)[0].numbers == cells[0].numbers);
    assert!(bytes(one.path()) == bytes(two.path()));

    // Another question is answered anew.
    let other = run(2, one.path(), Plan { seed: 10, ..plan }, true);
    assert!(other[0].numbers != cells[0].numbers);
    assert_eq!(bytes(one.path()).len(), 4, "and those of the first are still there");

    // What is infinite is null in a file: the table is the same from there.
    let (still, plan) = ([dmala("still", 1e-3)], Plan { burn_in: 0, steps: 20, ..plan });
    let stand = |resume| compare(plan, &targets, &still, one.path(), resume, &hidden()).unwrap();
    let (made, kept) = (stand(false), stand(true));
    assert_eq!(made[0].numbers.split_r_hat_max, Some(f64::INFINITY));
    assert_eq!((table(&made), &made[0].clock), (table(&kept), &kept[0].clock));
}
