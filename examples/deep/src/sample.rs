//! One run: a sampler, a start and a seed, with what it was found to do.

use crate::exchange::{Ladders, geometric};
use crate::network::Network;
use crate::tune::{TUNERS, adapted, cycle};
use bitmc::lane::LANES;
use bitmc::noise::{Diagonal, Parameters};
use bitmc::open::Ask;
use bitmc::random::bernoulli;
use bitmc::step::Cycle;
use bitmc::{GibbsWithGradients, Langevin, Packed};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::streams;
use bitmc_examples::cli::Failure;
use bitmc_examples::mmd::Mmd;
use bitmc_examples::model::DIGIT;
use bitmc_examples::progress::Progress;
use bitmc_examples::told::Chains;
use clap::ValueEnum;
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};

/// A sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Sampler {
    /// Gibbs with gradients, one index a step
    Gwg,
    /// The discrete Langevin proposal with the Metropolis test
    Dmala,
    /// Any-scale balanced, first order
    Ab,
    /// Any-scale balanced, second order, with a diagonal W from the variances of the pixels
    AbDiagonal,
    /// Automatic cyclical scheduling, its cycle found by its tuner
    Acs,
    /// Replica exchange, each replica by DMALA
    Exchange,
}

/// Where the chains begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Start {
    /// Fair bits
    Noise,
    /// All chains at one state
    One,
}

/// The chains after some steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Of each chain.
    pub steps: u32,
    /// Of each chain; of replica exchange, of all replicas of a chain together.
    pub gradients: f64,
    /// Of processor time, a chain.
    pub seconds: f64,
    /// The mean over the chains.
    pub energy: f64,
    /// Squared MMD to the reference states.
    pub distance: f64,
}

/// What a run was found to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Those that were tuned, in words.
    pub parameters: String,
    /// Gradients that tuning took.
    pub tuning_gradients: u64,
    /// What was seen on the way.
    pub curve: Vec<Point>,
    /// Rate.
    pub acceptance: f64,
    /// Sites that changed in a step.
    pub flips: f64,
    /// Of each position of a cycle: share of proposals that are accepted, and sites that change in a step.
    pub positions: Vec<(f64, f64)>,
    /// The last ones.
    pub states: Vec<u8>,
}

/// What a run is asked for.
pub struct Case<'d> {
    /// Candidates that tuning looks at.
    pub candidates: u32,
    /// Step size and balance, where nothing is to be tuned; ACS is tuned always.
    pub by_hand: Option<Parameters>,
    /// The largest step size and balance that a cycle of ACS may have.
    pub largest: (f32, f32),
    /// The energy.
    pub network: &'d Network,
    /// States of long chains.
    pub reference: &'d BitRows,
    /// Independent chains.
    pub chains: u32,
    /// Gradients of each; replica exchange shares them among its replicas.
    pub steps: u32,
    /// Replicas of a chain of replica exchange, and the smallest β.
    pub ladder: (usize, f32),
    /// Where they begin.
    pub start: Start,
    /// Of all random numbers.
    pub seed: u64,
    /// Advanced by one a step.
    pub progress: &'d Progress,
}

impl Case<'_> {
    /// Chains from the start, with generators that no other run has: those that tune have the other half of the seeds.
    fn chains(&self, seed: u64, count: u32) -> Result<Chains<'_, Network>, Failure> {
        let mut rngs: Vec<_> = streams(seed).take(count as usize).collect();
        let mut states = BitRows::new(DIGIT);
        for rng in &mut rngs {
            let mut words = vec![0; DIGIT.words()];
            match self.start {
                Start::Noise => bernoulli(DIGIT, 0.5, rng, &mut words),
                Start::One => words.copy_from_slice(self.reference.row(0)),
            }
            states.push(Packed::new(DIGIT, &words).map_err(Failure::option)?);
        }
        Chains::new(self.network, &states, rngs)
    }

    /// Those by hand, or those that the adaptation finds, and the gradients that this took.
    fn parameters<K: Ask + Sync, X: ToString>(
        &self,
        kernel: impl Fn(Parameters) -> Result<K, X>,
    ) -> Result<(Parameters, u64), Failure> {
        if let Some(now) = self.by_hand {
            return Ok((now, 0));
        }
        let mut tuning = self.chains(!self.seed, TUNERS)?;
        let now = adapted(&mut tuning, self.candidates, kernel)?;
        Ok((now, tuning.gradients_asked))
    }

    /// Tunes the sampler, and runs it.
    ///
    /// # Errors
    /// [`Failure`] where a kernel does not fit.
    pub fn run(&self, sampler: Sampler) -> Result<Run, Failure> {
        match sampler {
            Sampler::Gwg => {
                let kernel = GibbsWithGradients::new(1).map_err(Failure::model)?;
                self.drawn(&kernel, 1, "one index".into(), 0)
            }
            Sampler::Dmala => {
                let at = |now: Parameters| Langevin::adjusted(now.step_size);
                let (now, asked) = self.parameters(at)?;
                self.drawn(&at(now).map_err(Failure::model)?, 1, format!("α = {:.3}", now.step_size), asked)
            }
            Sampler::Ab => {
                let at = |now: Parameters| Langevin::balanced(now.step_size, now.balance);
                let (now, asked) = self.parameters(at)?;
                let words = format!("σ = {:.3}, α = {:.2}", now.step_size, now.balance);
                self.drawn(&at(now).map_err(Failure::model)?, 1, words, asked)
            }
            Sampler::AbDiagonal => {
                let variances: Vec<_> = self.reference.means().iter().map(|mean| mean * (1.0 - mean)).collect();
                let mut d = vec![[0.0; LANES]; DIGIT.blocks()];
                let noise = Diagonal::from_variances(&variances, &mut d).map_err(Failure::model)?;
                let at = |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance);
                let (now, asked) = self.parameters(at)?;
                let words = format!("σ = {:.3}, α = {:.2}, W = 1/(1 + var)", now.step_size, now.balance);
                self.drawn(&at(now).map_err(Failure::model)?, 1, words, asked)
            }
            Sampler::Acs => {
                let mut tuning = self.chains(!self.seed, TUNERS)?;
                let (kernels, words) = cycle(&mut tuning, self.candidates, self.largest)?;
                let cycle = Cycle::new(&kernels).ok_or_else(|| Failure::model("a cycle without kernels"))?;
                self.drawn(&cycle, kernels.len(), words, tuning.gradients_asked)
            }
            Sampler::Exchange => self.exchanged(),
        }
    }

    /// The run itself, with parameters that stand still and come again after `length` steps.
    fn drawn(
        &self,
        kernel: &(impl Ask + Sync),
        length: usize,
        parameters: String,
        tuning_gradients: u64,
    ) -> Result<Run, Failure> {
        let mut chains = self.chains(self.seed, self.chains)?;
        let mut positions = vec![(0u64, 0u64, 0u64); length];
        let all: Vec<_> = (0..self.chains as usize).collect();
        let mut seen = Seen::new(self, &chains);
        for step in 1..=self.steps {
            chains.step(kernel)?;
            self.progress.advance(1);
            let (steps, accepted, moved) = &mut positions[(step as usize - 1) % length];
            *steps += chains.infos.len() as u64;
            *accepted += chains.infos.iter().filter(|info| info.accepted).count() as u64;
            *moved += chains.infos.iter().map(|info| u64::from(info.moved())).sum::<u64>();
            seen.look(step, self.steps, &chains, &all);
        }
        let share = |part: u64, steps: u64| part as f64 / steps as f64;
        let positions =
            positions.iter().map(|&(steps, accepted, moved)| (share(accepted, steps), share(moved, steps)));
        Ok(Run { positions: positions.collect(), ..seen.run(&chains, &all, parameters, tuning_gradients) })
    }

    /// Replica exchange. The spacing of β is found by other ladders.
    fn exchanged(&self) -> Result<Run, Failure> {
        let at = |now: Parameters| Langevin::adjusted(now.step_size);
        let (now, asked) = self.parameters(at)?;
        let kernel = at(now).map_err(Failure::model)?;
        let (replicas, hottest) = self.ladder;
        let mut betas = geometric(replicas, hottest);
        let count = TUNERS.div_ceil(replicas as u32);
        let mut tuning = Ladders::new(self.chains(!self.seed, count * replicas as u32)?, &betas, !self.seed)?;
        for _ in 0..ROUNDS {
            for _ in 0..self.candidates {
                tuning.step(&kernel)?;
            }
            betas = tuning.respaced();
            tuning.begin(&betas)?;
        }
        let asked = asked + tuning.chains.gradients_asked;
        let mut ladders =
            Ladders::new(self.chains(self.seed, self.chains * replicas as u32)?, &betas, self.seed)?;
        let steps = self.steps.div_ceil(replicas as u32);
        let mut seen = Seen::new(self, &ladders.chains);
        for step in 1..=steps {
            ladders.step(&kernel)?;
            self.progress.advance(replicas as u64);
            seen.look(step, steps, &ladders.chains, &ladders.coldest());
        }
        let words = format!(
            "α = {:.3}, {replicas} β from {hottest}, swaps {:.2}, {} round trips",
            now.step_size,
            ladders.rate(),
            ladders.round_trips()
        );
        Ok(seen.run(&ladders.chains, &ladders.coldest(), words, asked))
    }
}

/// Parts of the search for the spacing of β.
const ROUNDS: u32 = 3;

/// What is looked at on the way.
struct Seen<'d> {
    clock: ProcessTime,
    before: u64,
    count: f64,
    mmd: Mmd<'d>,
    curve: Vec<Point>,
    next: u32,
}

impl<'d> Seen<'d> {
    fn new(case: &Case<'d>, chains: &Chains<'_, Network>) -> Self {
        Self {
            clock: ProcessTime::now(),
            before: chains.gradients_asked,
            count: f64::from(case.chains),
            mmd: Mmd::new(case.reference),
            curve: Vec::new(),
            next: 1,
        }
    }

    /// Looks at some of the chains after step `step` of `steps`, where it is time to.
    fn look(&mut self, step: u32, steps: u32, chains: &Chains<'_, Network>, shown: &[usize]) {
        if step != self.next && step != steps {
            return;
        }
        self.next = step + (step / 4).max(1);
        let energies: Vec<_> = chains.energies().collect();
        self.curve.push(Point {
            steps: step,
            gradients: (chains.gradients_asked - self.before) as f64 / self.count,
            seconds: self.clock.elapsed().as_secs_f64() / self.count,
            energy: shown.iter().map(|&chain| f64::from(energies[chain])).sum::<f64>() / shown.len() as f64,
            distance: self.mmd.squared(&chains.states_of(shown)).unwrap_or(f64::NAN),
        });
    }

    fn run(
        self,
        chains: &Chains<'_, Network>,
        shown: &[usize],
        parameters: String,
        tuning_gradients: u64,
    ) -> Run {
        Run {
            parameters,
            tuning_gradients,
            acceptance: f64::from(chains.acceptance.rate()),
            flips: f64::from(chains.acceptance.jump_distance()),
            positions: Vec::new(),
            states: chains.states_of(shown).to_bytes(),
            curve: self.curve,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::BITS;
    use std::path::Path;

    fn golden() -> (Network, BitRows, Vec<f64>, Vec<f64>) {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        let numbers = |name: &str| {
            let tensor = candle_core::Tensor::read_npy(data.join(name)).unwrap();
            tensor.flatten_all().unwrap().to_vec1::<f64>().unwrap()
        };
        let states = BitRows::read(&data.join("golden_x.bits"), BITS).unwrap();
        (Network::read(&data).unwrap(), states, numbers("golden_f.npy"), numbers("golden_grad.npy"))
    }

    fn bits(states: &BitRows) -> Vec<f32> {
        let of = |row| Packed::new(DIGIT, row).unwrap().values().map(|value| value as f32).collect::<Vec<_>>();
        states.rows().flat_map(of).collect()
    }

    /// Energies and gradients of another program, in float64, to 1e-4.
    #[test]
    fn energies_and_gradients_are_the_golden_ones() {
        let (network, states, f, gradient) = golden();
        let count = states.len();
        let (mut energies, mut gradients) = (vec![0.0; count], vec![0.0; count * BITS]);
        network.evaluate(&bits(&states), &mut energies, &mut gradients).unwrap();
        for (energy, f) in energies.iter().zip(f) {
            assert!((f64::from(*energy) + f).abs() < 1e-4 * f.abs(), "{energy}, {f}");
        }
        let worst = |gradients: &[f32]| {
            let pairs = gradients.iter().zip(&gradient);
            pairs.map(|(a, b)| (f64::from(*a) + b).abs()).fold(0.0, f64::max)
        };
        assert!(worst(&gradients) < 1e-4, "{}", worst(&gradients));
        // The gradient of another state is far from it.
        gradients.rotate_left(BITS);
        assert!(worst(&gradients) > 0.1);
    }

    /// Rows do not depend on how many chains there are, since blocks have a fixed size.
    #[test]
    fn a_run_is_the_same_again_and_with_one_thread() {
        let (network, states, ..) = golden();
        let progress = Progress::new(true, 1);
        let case = Case {
            candidates: 12,
            by_hand: None,
            largest: (5.0, 0.95),
            network: &network,
            reference: &states,
            chains: 20,
            steps: 3,
            ladder: (4, 0.5),
            start: Start::Noise,
            seed: 1,
            progress: &progress,
        };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let kernel = Langevin::adjusted(0.2).unwrap();
            pool.install(|| case.drawn(&kernel, 1, String::new(), 0)).unwrap()
        };
        let (one, two) = (with(1), with(2));
        assert_eq!(one.states, two.states);
        let seen = |run: &Run| run.curve.iter().map(|point| (point.energy, point.distance)).collect::<Vec<_>>();
        assert_eq!(seen(&one), seen(&two));
        assert_eq!(one.curve[0].gradients, 1.0);
        let other =
            Case { seed: 2, ..case }.drawn(&Langevin::adjusted(0.2).unwrap(), 1, String::new(), 0).unwrap();
        assert_ne!(one.states, other.states);
    }
}
