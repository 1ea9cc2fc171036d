//! Toruses against their exact solutions (METHODS.md §8), by long chains of the adjusted
//! Langevin sampler: 64 independent ones, a batch each.

use bitmc::stats::{Acceptance, Every, Watch};
use bitmc::{Info, LaneRng, Langevin, Packed, torus};
use bitmc_host_tests::heap;
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::stat::replicas::pieces;
use bitmc_host_tests::stat::{Batches, Verdict};

/// A torus and how it is sampled.
#[derive(Clone, Copy)]
struct Run {
    side: u32,
    convention: Convention,
    coupling: f32,
    field: f32,
    step_size: f32,
    burn_in: u64,
    steps: u64,
    /// Starts with all spins up, else at fair bits.
    ordered: bool,
    seed: u64,
}

/// What 64 chains saw: a batch each, and what all their steps did.
struct Seen {
    /// ⟨s⟩.
    spin: Batches,
    /// ⟨s s'⟩ on an edge.
    edge: Batches,
    /// Proposed flips a step, acceptance, accepted flips a step.
    steps: [Batches; 3],
}

impl Run {
    fn go(self) -> Seen {
        let edges: Vec<_> = torus(self.side, self.side, self.coupling).collect();
        let sites = (self.side * self.side) as usize;
        let model = Pairwise { convention: self.convention, edges, fields: vec![self.field; sites] };
        let mut memory = model.couplings();
        let ising = memory.ising(&model).unwrap();
        let sampler = Langevin::adjusted(self.step_size).unwrap();
        let chains = pieces(|piece| {
            let mut rng = LaneRng::stream(self.seed, piece);
            let mut chain = if self.ordered {
                heap::chain(&ising, &heap::pack(&vec![1.0; sites])).unwrap()
            } else {
                heap::random_chain(&ising, &mut rng).unwrap()
            };
            chain.run(&sampler, &mut rng, self.burn_in, &mut Watch(|_: Packed<'_>, _: f32, _: &Info| {}));
            let (mut spin, mut edge, mut states) = (0i64, 0i64, 0i64);
            let look = Watch(|x: Packed<'_>, _: f32, _: &Info| {
                let side = self.side as usize;
                let s: Vec<i64> = x.values().map(|x| 2 * i64::from(x) - 1).collect();
                spin += s.iter().sum::<i64>();
                let below = s.iter().zip(s[side..].iter().chain(&s));
                edge += below.map(|(a, b)| a * b).sum::<i64>();
                let rows = s.chunks_exact(side);
                edge += rows
                    .map(|row| row.iter().zip(row.iter().cycle().skip(1)).map(|(a, b)| a * b).sum::<i64>())
                    .sum::<i64>();
                states += 1;
            });
            let mut acceptance = Acceptance::new();
            chain.run(&sampler, &mut rng, self.steps, &mut (Every::new(4, look), &mut acceptance));
            let states = (states * sites as i64) as f64;
            let flips = [acceptance.proposed_flips, acceptance.accepted, acceptance.accepted_flips];
            (spin as f64 / states, edge as f64 / (2.0 * states), flips.map(|f| f as f64 / self.steps as f64))
        });
        Seen {
            spin: Batches(chains.iter().map(|chain| chain.0).collect()),
            edge: Batches(chains.iter().map(|chain| chain.1).collect()),
            steps: [0, 1, 2].map(|index| Batches(chains.iter().map(|chain| chain.2[index]).collect())),
        }
    }

    /// The negative control: every coupling 2 % weaker.
    fn weaker(self) -> Self {
        Self { coupling: 0.98 * self.coupling, ..self }
    }
}

/// `f = a sᵀAs + b Σs` on 5 × 5.
fn five(coupling: f32, field: f32, seed: u64) -> Run {
    let convention = Convention::SpinsEdgesTwice;
    let (burn_in, steps) = (1000, 20_000);
    Run { side: 5, convention, coupling, field, step_size: 0.6, burn_in, steps, ordered: false, seed }
}

#[test]
fn five_by_five_in_a_field() {
    // (a, b), ⟨s⟩, ⟨ss'⟩ by transfer matrix.
    let oracles = [
        (0.1, 0.2, 0.482970, 0.368767),
        (0.05, 0.2, 0.299886, 0.175434),
        (0.2, 0.2, 0.898773, 0.839777),
        (0.1, 0.0, 0.0, 0.217711),
    ];
    for (seed, (a, b, spin, edge)) in (61..).zip(oracles) {
        let check = |run: Run| {
            let seen = run.go();
            let spin = seen.spin.against(&format!("5x5 ({a}, {b}): spin"), spin);
            Verdict::worst([spin, seen.edge.against(&format!("5x5 ({a}, {b}): edge"), edge)])
        };
        check(five(a, b, seed)).must_pass();
        check(five(a, b, seed).weaker()).must_fail();
    }
}

/// DLP's Figure 2 at α = .6: a step proposes 6 flips and is accepted half of the time (in print 52 %).
#[test]
fn figure_two() {
    // The proposed flips summed over all 2²⁵ states in float64, Σᵢ ⟨σ(zᵢ)⟩; the others are of a simulation in float64. The bands
    // are far wider than the errors here.
    const PROPOSED: f64 = 6.034710;
    const TRIAL: [(&str, f64, f64); 3] =
        [("proposed flips", PROPOSED, 0.03), ("acceptance", 0.541, 0.005), ("accepted flips", 3.19, 0.03)];
    let outside = |run: Run| {
        let seen = run.go();
        TRIAL
            .iter()
            .zip(&seen.steps)
            .filter(|((what, centre, band), batches)| {
                let (mean, error) = (batches.moments().mean(), batches.moments().standard_error());
                println!("step size {}: {what} {mean:.4} ± {error:.4}, trial {centre} ± {band}", run.step_size);
                assert!(*band > 4.89 * error, "too short a run");
                (mean - centre).abs() > *band
            })
            .count()
    };
    let run = five(0.1, 0.2, 65);
    assert_eq!(outside(run), 0);
    let proposed = |run: Run| run.go().steps[0].against("5x5: proposed flips", PROPOSED);
    proposed(run).must_pass();
    proposed(run.weaker()).must_fail();
    // Negative control: the step size taken for one on the ±1 scale.
    assert_eq!(outside(Run { step_size: 0.6 / 4.0, ..run }), 3);
}

#[test]
fn twenty_by_twenty() {
    // K, energy a spin (Kaufman 1949), step size, burn-in, steps, ordered start.
    let oracles = [
        (0.2, -0.428_228_833_277_090_7, 0.25, 500, 4_000, false),
        (0.4, -1.117_833_875_768_002, 0.2, 5_000, 16_000, false),
        (0.5, -1.745_557_124_996_955_8, 0.2, 2_000, 8_000, true),
    ];
    for (seed, (coupling, energy, step_size, burn_in, steps, ordered)) in (66..).zip(oracles) {
        let convention = Convention::SpinsEdgesOnce;
        let run = Run { side: 20, convention, coupling, field: 0.0, step_size, burn_in, steps, ordered, seed };
        // Two edges a spin: E/N = −2⟨ss'⟩.
        let check = |run: Run| {
            let seen = run.go();
            let [proposed, acceptance, _] = seen.steps.map(|batches| batches.moments().mean());
            println!("20x20 at {}: {proposed:.2} flips proposed, acceptance {acceptance:.3}", run.coupling);
            seen.edge.against(&format!("20x20 at {coupling}: edge"), -energy / 2.0)
        };
        check(run).must_pass();
        check(run.weaker()).must_fail();
    }
}
