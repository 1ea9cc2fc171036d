//! Transition matrices from the kernel's own log q and ln A, against float64 distributions by enumeration.
//!
//! All parameters are multiples of 1/64, which the kernel's fixed point holds exactly: the float64 distribution is
//! then the distribution of the very same numbers.

use bitmc::energy::Estimate;
use bitmc::lane::{Block, LANES};
use bitmc::step::Curvature;
use bitmc::{Bernoulli, Energy, Function, LaneRng, Langevin, Layout, Packed, Plain, SeedableRng};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::dmala::{Defect, Proposal};
use bitmc_host_tests::enumerate::{Distribution, values};
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::tolerance;

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const STEP_SIZES: [f32; 5] = [0.1, 0.5, 2.0, 8.0, 1000.0];
const BALANCES: [f32; 4] = [0.5, 0.3, 0.8, 1.0];

/// The log odds are cut to what uniforms resolve.
const LIMIT: f64 = bitmc::draw::LOGIT_LIMIT as f64;

/// Parameters as the kernel takes them, and their float64 counterpart.
fn proposal(balance: f32, curvature: &[f32], held: usize) -> Proposal {
    let curvature = curvature.iter().copied().map(f64::from).collect();
    Proposal { balance: f64::from(balance), curvature, held, limit: LIMIT }
}

/// Checks one kernel over one model: the distribution if adjusted, and log q against its formula always.
fn judge(
    name: &str,
    (energy, target): (&dyn Energy, &dyn Target),
    distribution: &Distribution,
    (balance, curvature, same): (f32, &[f32], bool),
    held: usize,
) {
    let blocks: Vec<Block> = curvature
        .chunks(LANES)
        .map(|sites| std::array::from_fn(|lane| sites.get(lane).copied().unwrap_or(0.0)))
        .collect();
    let given = if same { Curvature::Same(curvature[0]) } else { Curvature::Each(&blocks) };
    let formula = proposal(balance, curvature, held);

    let adjusted = Transitions::of(energy, &Langevin::new(balance, given, true).unwrap(), held);
    let verdict = adjusted.judge(distribution);
    assert!(verdict.passes(), "{name}, β {balance}, c {curvature:?}, held {held:b}: {verdict:?}");
    let error = formula.error(target, distribution, &adjusted);
    assert!(error <= 1.0, "{name}, β {balance}, c {curvature:?}: log q is {error} bounds off");

    let unadjusted = Transitions::of(energy, &Langevin::new(balance, given, false).unwrap(), held);
    for x in (0..distribution.energies.len()).filter(|&x| distribution.probabilities[x] > 0.0) {
        for (y, &p) in distribution.probabilities.iter().enumerate() {
            assert_eq!(unadjusted.log_q(x, y).to_bits(), adjusted.log_q(x, y).to_bits());
            let possible = adjusted.log_q(x, y) > f64::NEG_INFINITY;
            let allowed = possible && (p > 0.0 || distribution.energies[y] < f64::INFINITY);
            assert_eq!(unadjusted.log_a(x, y), if allowed { 0.0 } else { f64::NEG_INFINITY });
        }
    }
}

/// Checks one model over the grid of step sizes and balances, and once with a curvature for each site.
fn judge_all(name: &str, energy: &dyn Energy, target: &dyn Target) {
    let (distribution, sites) = (Distribution::of(target), target.sites());
    let held = 0b10_0101 & ((1 << sites) - 1);
    for (index, step_size) in STEP_SIZES.into_iter().enumerate() {
        let same = vec![1.0 / step_size; sites];
        judge(name, (energy, target), &distribution, (0.5, &same, true), 0);
        judge(name, (energy, target), &distribution, (BALANCES[index % 4], &same, true), held);
    }
    for (index, balance) in BALANCES.into_iter().enumerate() {
        let mut source = Source::new(index as u64);
        let each: Vec<f32> = (0..sites).map(|_| 10f32.powf(3.0 * source.uniform() as f32 - 2.0)).collect();
        judge(name, (energy, target), &distribution, (balance, &each, false), 0);
        judge(name, (energy, target), &distribution, (balance, &each, false), held);
    }
}

#[test]
fn ising_in_every_convention() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        for convention in Convention::ALL {
            let model = models::pairwise(convention, 6, 0.8, scale, seed as u64);
            let mut couplings = model.couplings();
            let energy = couplings.ising(&model).unwrap();
            judge_all(&format!("Ising {convention:?}, sd {scale}"), &energy, &model);
        }
    }
}

#[test]
fn ising_with_256_states() {
    for scale in SCALES {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 8, 0.5, scale, 8);
        let (distribution, mut couplings) = (Distribution::of(&model), model.couplings());
        let energy = couplings.ising(&model).unwrap();
        for step_size in STEP_SIZES {
            let same = [1.0 / step_size; 8];
            judge("Ising of 8 sites", (&energy, &model), &distribution, (0.5, &same, true), 0);
        }
    }
}

#[test]
fn bernoulli() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::independent(5, scale, seed as u64);
        judge_all(&format!("Bernoulli, sd {scale}"), &Bernoulli::new(&model.logits).unwrap(), &model);
    }
}

#[test]
fn restricted_boltzmann_machine() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        for hidden in [3, 20] {
            // The energy's size is that of the sum over hidden units: keep it where sd says.
            let model = models::machine(6, hidden, scale, seed as u64);
            let weights = Weights::new(&model).unwrap();
            judge_all(&format!("RBM, {hidden} hidden, sd {scale}"), &weights.rbm().unwrap(), &model);
        }
    }
}

/// A pairwise model as a user would write it, in f32: exact on the grid of 1/64.
struct Own<'a>(&'a Pairwise);

impl Function for Own<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.0.sites())
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.0.energy(&heap::unpack(x)) as f32
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.0.gradient(&heap::unpack(x))[site] as f32
    }
}

#[test]
fn a_users_energy() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesTwice, 5, 0.8, scale, seed as u64);
        judge_all(&format!("Plain, sd {scale}"), &Plain(Own(&model)), &model);
    }
}

#[test]
fn a_hard_constraint() {
    for scale in [0.25, 2.0, 8.0] {
        let model = Count { sites: 6, most: 4.0, weight: scale };
        judge_all(&format!("count, {scale}"), &Plain(model), &model);
    }
}

#[test]
fn broken_variants_fail() {
    let mut clamps_caught = 0;
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, scale, seed as u64);
        let distribution = Distribution::of(&model);
        for step_size in STEP_SIZES {
            let proposal = proposal(0.5, &[1.0 / step_size; 6], 0);
            let passes = |defect| {
                let variant = proposal.variant(&model, &distribution, defect);
                variant.judge(&distribution).passes() && proposal.error(&model, &distribution, &variant) <= 1.0
            };
            assert!(passes(Defect::None), "sd {scale}, step size {step_size}");
            let broken = [
                Defect::NoReverse,
                Defect::HalfEnergy,
                Defect::StaleReverse,
                Defect::WrongSign,
                Defect::ClampedLog,
            ];
            for defect in broken {
                let pass = passes(defect);
                // Weak couplings hide what goes wrong with probabilities near 0 and 1; nothing hides the rest.
                assert!(!pass || defect == Defect::ClampedLog, "{defect:?}, sd {scale}, {step_size}");
                clamps_caught += u32::from(!pass && defect == Defect::ClampedLog);
            }
        }
    }
    // The clamp shows wherever p comes near 0 or 1: at sd 3 and 10, with every step size.
    assert!(clamps_caught >= 10, "{clamps_caught} of 15");
}

/// For a quadratic energy and β = ½ the unadjusted sampler is reversible, and its distribution is
/// `π_α(x) ∝ e^(−E(x)) Z_α(x)`, `Z_α(x) = Π (1 + e^{zᵢ(x)})`.
fn unadjusted_distribution(target: &dyn Target, distribution: &Distribution, proposal: &Proposal) -> Vec<f64> {
    let sums = |state| -> f64 {
        proposal.logits(target, state).into_iter().map(bitmc_host_tests::naive::softplus).sum()
    };
    let energies =
        distribution.energies.iter().enumerate().map(|(state, energy)| energy - sums(state)).collect();
    Distribution::from_energies(target.sites(), energies).probabilities
}

#[test]
fn unadjusted_sampler_has_its_own_distribution() {
    for (seed, scale) in [0.2, 0.4, 1.0].into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, scale, seed as u64);
        let (distribution, mut couplings) = (Distribution::of(&model), model.couplings());
        let energy = couplings.ising(&model).unwrap();
        for step_size in [0.1, 0.5, 2.0, 8.0] {
            let sampler = Langevin::unadjusted(step_size).unwrap();
            let found = Transitions::of(&energy, &sampler, 0).stationary();
            let truth =
                unadjusted_distribution(&model, &distribution, &proposal(0.5, &[1.0 / step_size; 6], 0));
            let worst = found.iter().zip(&truth).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max);
            assert!(worst <= tolerance::STATIONARY_LAW, "sd {scale}, step size {step_size}: {worst}");
            let broken =
                proposal(0.5, &[1.0 / step_size; 6], 0).variant(&model, &distribution, Defect::WrongSign);
            let wrong = Transitions::new(64, |x, y| (broken.log_q(x, y), 0.0)).stationary();
            let seen = wrong.iter().zip(&truth).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max);
            assert!(seen > 100.0 * tolerance::STATIONARY_LAW, "the wrong sign is not seen: {seen}");
        }
    }
}

#[test]
fn unadjusted_bias_falls_as_the_theorem_says() {
    // 2×2, open: DLP Theorem 5.1. To first order in e = e^(−1/(2α)),
    // π_α/π − 1 = e·(S − ⟨S⟩) with S(x) = Σ exp(½vᵢgᵢ), so TV = e·½⟨|S − ⟨S⟩|⟩; the next order is relative
    // at most 2·e·max S.
    let edges = models::open_lattice(2, 2, || 0.25);
    let model = Pairwise { convention: Convention::SpinsEdgesTwice, edges, fields: vec![0.125; 4] };
    let (distribution, mut couplings) = (Distribution::of(&model), model.couplings());
    let energy = couplings.ising(&model).unwrap();
    let flat = proposal(0.5, &[0.0; 4], 0);
    let sums: Vec<f64> =
        (0..16).map(|state| flat.logits(&model, state).into_iter().map(f64::exp).sum()).collect();
    let (mean, most) = (distribution.mean(|state| sums[state]), sums.iter().copied().fold(0.0, f64::max));
    let slope = 0.5 * distribution.mean(|state| (sums[state] - mean).abs());
    for step_size in [0.12f32, 0.1, 0.08, 0.07] {
        let found = Transitions::of(&energy, &Langevin::unadjusted(step_size).unwrap(), 0).stationary();
        let bias: f64 = found.iter().zip(&distribution.probabilities).map(|(a, b)| 0.5 * (a - b).abs()).sum();
        let small = (-0.5 / f64::from(step_size)).exp();
        let allowed = 2.0 * small * most + tolerance::STATIONARY_LAW / (small * slope);
        let relative = (bias / (small * slope) - 1.0).abs();
        assert!(relative <= allowed, "step size {step_size}: bias {bias}, {relative} > {allowed}");
        assert!(allowed < 0.5, "step size {step_size} shows nothing: {allowed}");
    }
}

#[test]
fn an_estimate_proposes_as_its_energy() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, 3.0, 5);
    let (distribution, mut couplings) = (Distribution::of(&model), model.couplings());
    let energy = couplings.ising(&model).unwrap();
    let estimate = Estimate::new(Layout::binary(6), |x: Packed<'_>, blocks, out: &mut [Block]| {
        let mut cache = vec![[0; LANES]; energy.cache_len()];
        energy.init(x, &mut cache).unwrap();
        energy.gradient(x, &cache, blocks, out);
    });
    for step_size in STEP_SIZES {
        let sampler = Langevin::unadjusted(step_size).unwrap();
        let (exact, estimated) =
            (Transitions::of(&energy, &sampler, 0), Transitions::of(&estimate, &sampler, 0));
        for cell in 0..distribution.energies.len().pow(2) {
            let (x, y) = (cell / 64, cell % 64);
            assert_eq!(exact.log_q(x, y).to_bits(), estimated.log_q(x, y).to_bits());
            assert_eq!(estimated.log_a(x, y), 0.0);
        }
    }
}

#[test]
fn equal_curvatures_are_one() {
    // The preconditioned sampler with the same curvature everywhere is DMALA, bit for bit.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 7);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let blocks = [[1.0 / 0.3f32; LANES]; 5];
    let run = |sampler: Langevin<'_>| {
        let mut rng = LaneRng::seed_from_u64(4);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        let steps: Vec<_> = (0..300).map(|_| chain.step(&sampler, &mut rng)).collect();
        (steps, chain.state().words().to_vec(), chain.energy().to_bits())
    };
    for adjusted in [true, false] {
        let each = run(Langevin::new(0.5, Curvature::Each(&blocks), adjusted).unwrap());
        let same = run(Langevin::new(0.5, Curvature::Same(1.0 / 0.3), adjusted).unwrap());
        assert!(same.0.iter().map(bitmc::Info::moved).sum::<u32>() > 300, "too few moves to compare");
        assert_eq!(each, same);
        let named = if adjusted { Langevin::adjusted(0.3) } else { Langevin::unadjusted(0.3) };
        assert_eq!(run(named.unwrap()), same);
    }
}

#[test]
fn steps_report_what_transitions_say() {
    // The matrices above come from `transition`; this ties them to what `step` does, bit for bit.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let mut other = heap::random_chain(&energy, &mut rng).unwrap();
    let held = heap::pack(&values(0b1011, 70));
    let held = Packed::new(energy.layout(), &held).unwrap();
    // The parameters change from step to step, and sites are clamped and released on the way: weights that
    // were kept past their time would show.
    let samplers = [0.2, 0.3, 0.4].map(|step_size| Langevin::adjusted(step_size).unwrap());
    let mut compared = 0;
    for step in 0..3000 {
        match step % 20 {
            5 => (chain.clamp(held).unwrap(), other.clamp(held).unwrap()),
            15 => (chain.release(), other.release()),
            _ => ((), ()),
        };
        let sampler = &samplers[step / 2 % 3];
        other.restart(chain.state()).unwrap();
        let info = chain.step(sampler, &mut rng);
        if info.moved() > 0 {
            let said = sampler.transition(other.ring(), chain.state()).unwrap();
            assert_eq!(info.log_ratio.to_bits(), said.log_ratio.to_bits(), "step {step}");
            assert_eq!(info.difference.to_bits(), said.difference.to_bits(), "step {step}");
            compared += 1;
        }
    }
    assert!(compared > 500, "only {compared} moves to compare");
}

/// The sums of weights of so many sites are no floats: 2⁴⁵⁰⁰.
#[test]
fn proposals_of_thousands_of_sites_have_their_probability() {
    const SITES: usize = 5000;
    let mut source = Source::new(16);
    let edges: Vec<_> =
        (0..SITES as u32 / 2).map(|pair| (2 * pair, 2 * pair + 1, source.coarse(0.5))).collect();
    let fields: Vec<f32> = (0..SITES).map(|_| source.coarse(0.3)).collect();
    let model = Pairwise { convention: Convention::BitsEdgesOnce, edges, fields };
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let sampler = Langevin::adjusted(1000.0).unwrap();
    // From one state to another, by formula.
    let log_q = |x: &[f64], y: &[f64]| -> f64 {
        let sites = x.iter().zip(y).zip(model.gradient(x));
        let site = |((x, y), gradient): ((&f64, &f64), f64)| {
            let z = -0.5 * (1.0 - 2.0 * x) * gradient - 0.5e-3;
            (if x == y { 0.0 } else { z }) - z.exp().ln_1p()
        };
        sites.map(site).sum()
    };
    for _ in 0..3 {
        let (x, y) = (source.state(SITES), source.state(SITES));
        let mut chain = heap::chain(&energy, &heap::pack(&x)).unwrap();
        let to = heap::pack(&y);
        let found = sampler.transition(chain.ring(), Packed::new(energy.layout(), &to).unwrap()).unwrap();
        let (forward, reverse) = (log_q(&x, &y), log_q(&y, &x));
        let ratio = model.energy(&x) - model.energy(&y) + reverse - forward;
        let pairs = [(found.log_forward, forward), (found.log_reverse, reverse), (found.log_ratio, ratio)];
        for (found, truth) in pairs {
            assert!((f64::from(found) - truth).abs() < 0.01, "{found} for {truth}");
        }
        assert!(forward < -2000.0 && (forward - reverse).abs() > 1.0, "{forward} {reverse}");
    }
}
