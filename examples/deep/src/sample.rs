//! One run: a sampler, a start and a seed, with what it was found to do.

use crate::network::Network;
use crate::tune::{TUNERS, adapted, cycle};
use bitmc::lane::{Block, LANES};
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
}

/// Where the chains begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Start {
    /// Fair bits
    Noise,
    /// All chains at one state
    One,
}

/// What a run was found to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Those that were tuned, in words.
    pub parameters: String,
    /// Gradients that tuning took.
    pub tuning_gradients: u64,
    /// (step, mean E, squared MMD to the reference states).
    pub curve: Vec<(u32, f64, f64)>,
    /// Rate.
    pub acceptance: f64,
    /// Sites that changed in a step.
    pub flips: f64,
    /// Of each chain.
    pub gradients_a_step: f64,
    /// Of processor time, without tuning.
    pub seconds: f64,
    /// The last ones.
    pub states: Vec<u8>,
}

/// What a run is asked for.
pub struct Case<'d> {
    /// Candidates that tuning looks at.
    pub candidates: u32,
    /// Step size and balance, where nothing is to be tuned; ACS is tuned always.
    pub by_hand: Option<Parameters>,
    /// The energy.
    pub network: &'d Network,
    /// States of long chains.
    pub reference: &'d BitRows,
    /// Independent chains.
    pub chains: u32,
    /// Steps of each.
    pub steps: u32,
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
                self.drawn(&kernel, "one index".into(), 0)
            }
            Sampler::Dmala => {
                let at = |now: Parameters| Langevin::adjusted(now.step_size);
                let (now, asked) = self.parameters(at)?;
                self.drawn(&at(now).map_err(Failure::model)?, format!("α = {:.3}", now.step_size), asked)
            }
            Sampler::Ab => {
                let at = |now: Parameters| Langevin::balanced(now.step_size, now.balance);
                let (now, asked) = self.parameters(at)?;
                let words = format!("σ = {:.3}, α = {:.2}", now.step_size, now.balance);
                self.drawn(&at(now).map_err(Failure::model)?, words, asked)
            }
            Sampler::AbDiagonal => {
                let d = diagonal(&self.reference.means());
                let noise = Diagonal::new(&d).map_err(Failure::model)?;
                let at = |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance);
                let (now, asked) = self.parameters(at)?;
                let words = format!("σ = {:.3}, α = {:.2}, W = 1/(1 + var)", now.step_size, now.balance);
                self.drawn(&at(now).map_err(Failure::model)?, words, asked)
            }
            Sampler::Acs => {
                let mut tuning = self.chains(!self.seed, TUNERS)?;
                let (kernels, words) = cycle(&mut tuning, self.candidates, 5.0)?;
                let cycle = Cycle::new(&kernels).ok_or_else(|| Failure::model("a cycle without kernels"))?;
                self.drawn(&cycle, words, tuning.gradients_asked)
            }
        }
    }

    /// The run itself, with parameters that stand still.
    fn drawn(
        &self,
        kernel: &(impl Ask + Sync),
        parameters: String,
        tuning_gradients: u64,
    ) -> Result<Run, Failure> {
        let clock = ProcessTime::now();
        let mut chains = self.chains(self.seed, self.chains)?;
        let before = chains.gradients_asked;
        let mmd = Mmd::new(self.reference);
        let mut curve = Vec::new();
        let mut next = 1;
        for step in 1..=self.steps {
            chains.step(kernel)?;
            self.progress.advance(1);
            if step == next || step == self.steps {
                let distance = mmd.squared(&chains.states()).unwrap_or(f64::NAN);
                curve.push((step, chains.mean_energy(), distance));
                next = step + (step / 4).max(1);
            }
        }
        let steps = f64::from(self.steps) * f64::from(self.chains);
        Ok(Run {
            parameters,
            tuning_gradients,
            curve,
            acceptance: f64::from(chains.acceptance.rate()),
            flips: f64::from(chains.acceptance.jump_distance()),
            gradients_a_step: (chains.gradients_asked - before) as f64 / steps,
            seconds: clock.elapsed().as_secs_f64(),
            states: chains.states().to_bytes(),
        })
    }
}

/// D = −W of the diagonal variant for deep energies, `W = 1/(1 + variance)` (AB §5.4).
fn diagonal(means: &[f32]) -> Vec<Block> {
    let mut d = vec![[0.0; LANES]; DIGIT.blocks()];
    for (slot, mean) in d.as_flattened_mut().iter_mut().zip(means) {
        *slot = -1.0 / (1.0 + mean * (1.0 - mean));
    }
    d
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
            network: &network,
            reference: &states,
            chains: 20,
            steps: 3,
            start: Start::Noise,
            seed: 1,
            progress: &progress,
        };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let kernel = Langevin::adjusted(0.2).unwrap();
            pool.install(|| case.drawn(&kernel, String::new(), 0)).unwrap()
        };
        let (one, two) = (with(1), with(2));
        assert_eq!(one.states, two.states);
        assert_eq!(one.curve, two.curve);
        assert_eq!(one.gradients_a_step, 1.0);
        let other =
            Case { seed: 2, ..case }.drawn(&Langevin::adjusted(0.2).unwrap(), String::new(), 0).unwrap();
        assert_ne!(one.states, other.states);
    }
}
