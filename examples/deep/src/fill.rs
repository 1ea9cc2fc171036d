//! Gaps filled by a method: several chains a sentence, from random pieces.

#[cfg(test)]
mod tests;

use crate::infill::{Sentence, VALUES};
use crate::masked::{Masked, PIECES, SPECIAL};
use crate::text::Line;
use crate::tune::{TUNERS, adapted, cycle};
use bitmc::noise::Parameters;
use bitmc::open::Ask;
use bitmc::packed::set;
use bitmc::random::uniform;
use bitmc::stats::Acceptance;
use bitmc::step::Cycle;
use bitmc::{Gibbs, GibbsWithGradients, LaneRng, Langevin, Packed};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{VecChain, add, memory, streams};
use bitmc_examples::cli::Failure;
use bitmc_examples::progress::Progress;
use bitmc_examples::told::{Chains, Evaluator};
use clap::ValueEnum;
use cpu_time::ProcessTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Of the samples of a sentence, those of the least energy that are looked at.
pub const BEST: usize = 5;

/// How gaps are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Method {
    /// Every gap uniformly: where the chains begin
    Random,
    /// The piece of which the model is most certain, gap by gap
    Greedy,
    /// Gap by gap from the model's own conditionals, which belong to no common distribution
    Conditionals,
    /// Gibbs site by site, from exact differences of the energy; of a few sentences
    Gibbs,
    /// Gibbs with gradients, one index a step
    Gwg,
    /// The discrete Langevin proposal without the Metropolis test, at the step size of DMALA
    Dula,
    /// The discrete Langevin proposal with the Metropolis test
    Dmala,
    /// Any-scale balanced, first order
    Ab,
    /// Automatic cyclical scheduling, its cycle found by its tuner
    Acs,
}

/// A sentence, filled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Filled {
    /// Of every chain.
    pub energies: Vec<f32>,
    /// The sentences of least energy.
    pub best: Vec<Vec<u32>>,
    /// (passes of each chain forward and back, mean E).
    pub curve: Vec<(f64, f64)>,
    /// Rate.
    pub acceptance: f64,
    /// Gaps that changed in a step.
    pub changed: f64,
}

/// What a method was found to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Those that were tuned, in words.
    pub parameters: String,
    /// Gradients that tuning took.
    pub tuning_gradients: u64,
    /// In the order of the sentences.
    pub sentences: Vec<Filled>,
    /// Of processor time, without tuning.
    pub seconds: f64,
}

/// What is asked for.
pub struct Case<'d> {
    /// The model.
    pub model: &'d Masked,
    /// The sentences.
    pub lines: &'d [Line],
    /// The sentence that tuning looks at.
    pub tuning: &'d Line,
    /// Chains of a sentence.
    pub chains: u32,
    /// Steps of each.
    pub steps: u32,
    /// Candidates that tuning looks at.
    pub candidates: u32,
    /// Sentences, chains and sweeps of Gibbs, of which a sweep takes ten thousands of passes.
    pub gibbs: (usize, u32, u32),
    /// Of all random numbers.
    pub seed: u64,
    /// Advanced by one a method and sentence.
    pub progress: &'d Progress,
}

/// Random pieces in the gaps, one state a generator.
fn starts(sentence: &Sentence<'_>, rngs: &mut [LaneRng]) -> BitRows {
    let layout = Evaluator::layout(sentence);
    let mut rows = BitRows::new(layout);
    for rng in rngs {
        let mut words = vec![0; layout.words()];
        for site in 0..layout.sites() {
            let arity = Evaluator::arities(sentence).map_or(VALUES, |arities| usize::from(arities[site]));
            let value = (uniform(rng) * arity as f32) as u32;
            let _ = set(layout, &mut words, site, value.min(arity as u32 - 1));
        }
        rows.push(Packed::new(layout, &words).expect("values below the arity"));
    }
    rows
}

impl<'d> Case<'d> {
    /// Generators of the chains of a sentence.
    fn rngs(&self, sentence: usize, chains: u32) -> Vec<LaneRng> {
        streams(self.seed ^ ((sentence as u64 + 1) << 32)).take(chains as usize).collect()
    }

    /// Tunes the method, and fills all sentences.
    ///
    /// # Errors
    /// [`Failure`] where a kernel does not fit.
    pub fn run(&self, method: Method) -> Result<Found, Failure> {
        let line = Sentence::new(self.model, self.tuning);
        let mut rngs: Vec<_> = streams(!self.seed).take(TUNERS as usize).collect();
        let states = starts(&line, &mut rngs);
        let mut tuners = Chains::new(&line, &states, rngs)?;
        let tuners = &mut tuners;
        let all = self.lines.len();
        match method {
            Method::Random => self.found(all, String::new(), 0, |line, at| self.random(line, at)),
            Method::Greedy => self.found(all, String::new(), 0, |line, _| Self::greedy(line)),
            Method::Conditionals => self.found(all, String::new(), 0, |line, at| self.conditionals(line, at)),
            Method::Gibbs => {
                let (sentences, chains, sweeps) = self.gibbs;
                let words = format!("{} sentences, {chains} chains, {sweeps} sweeps", sentences.min(all));
                self.found(sentences.min(all), words, 0, |line, at| self.gibbs(line, at))
            }
            Method::Gwg => {
                let kernel = GibbsWithGradients::new(1).map_err(Failure::model)?;
                self.told(&kernel, "one index".into(), 0)
            }
            Method::Dmala | Method::Dula => {
                let now = adapted(tuners, self.candidates, |now| Langevin::adjusted(now.step_size))?;
                let step = now.step_size;
                let kernel =
                    if method == Method::Dula { Langevin::unadjusted(step) } else { Langevin::adjusted(step) };
                self.told(&kernel.map_err(Failure::model)?, format!("α = {step:.3}"), tuners.gradients_asked)
            }
            Method::Ab => {
                let at = |now: Parameters| Langevin::balanced(now.step_size, now.balance);
                let now = adapted(tuners, self.candidates, at)?;
                let words = format!("σ = {:.3}, α = {:.2}", now.step_size, now.balance);
                self.told(&at(now).map_err(Failure::model)?, words, tuners.gradients_asked)
            }
            Method::Acs => {
                let (kernels, words) = cycle(tuners, self.candidates, (5.0, 0.95))?;
                let cycle = Cycle::new(&kernels).ok_or_else(|| Failure::model("a cycle without kernels"))?;
                self.told(&cycle, words, tuners.gradients_asked)
            }
        }
    }

    fn found(
        &self,
        sentences: usize,
        parameters: String,
        tuning_gradients: u64,
        fill: impl Fn(&Sentence<'d>, usize) -> Result<Filled, Failure> + Sync,
    ) -> Result<Found, Failure> {
        let clock = ProcessTime::now();
        let lines = self.lines[..sentences].par_iter().enumerate();
        let filled = lines.map(|(at, line)| {
            let filled = fill(&Sentence::new(self.model, line), at);
            self.progress.advance(1);
            filled
        });
        let sentences = filled.collect::<Result<Vec<_>, _>>()?;
        let seconds = clock.elapsed().as_secs_f64();
        Ok(Found { parameters, tuning_gradients, sentences, seconds })
    }

    /// By a kernel that can be asked.
    fn told(
        &self,
        kernel: &(impl Ask + Sync),
        parameters: String,
        tuning_gradients: u64,
    ) -> Result<Found, Failure> {
        self.found(self.lines.len(), parameters, tuning_gradients, |sentence, at| {
            let mut rngs = self.rngs(at, self.chains);
            let states = starts(sentence, &mut rngs);
            let mut chains = Chains::new(sentence, &states, rngs)?;
            let mut curve = Curve::new(sentence, self.chains, chains.mean_energy());
            for step in 1..=self.steps {
                chains.step(kernel)?;
                curve.look(step, self.steps, || chains.mean_energy());
            }
            let states = chains.states();
            Ok(filled(sentence, &states, chains.energies().collect(), curve.points, &chains.acceptance))
        })
    }

    fn random(&self, sentence: &Sentence<'_>, at: usize) -> Result<Filled, Failure> {
        let states = starts(sentence, &mut self.rngs(at, self.chains));
        let layout = Evaluator::layout(sentence);
        let energy = |row| sentence.energy(&sentence.filled(Packed::new(layout, row).expect("a state")));
        let energies = states.rows().map(energy).collect::<Result<_, _>>().map_err(Failure::model)?;
        Ok(filled(sentence, &states, energies, Vec::new(), &Acceptance::new()))
    }

    fn greedy(sentence: &Sentence<'_>) -> Result<Filled, Failure> {
        let ids = sentence.greedy().map_err(Failure::model)?;
        let energies = vec![sentence.energy(&ids).map_err(Failure::model)?];
        Ok(Filled { energies, best: vec![ids; BEST], curve: Vec::new(), acceptance: 0.0, changed: 0.0 })
    }

    /// Gap by gap from P(piece | all others), one pass each.
    fn conditionals(&self, sentence: &Sentence<'_>, at: usize) -> Result<Filled, Failure> {
        let layout = Evaluator::layout(sentence);
        let mut rngs = self.rngs(at, self.chains);
        let mut states = BitRows::new(layout);
        for (row, rng) in starts(sentence, &mut rngs).rows().zip(&mut rngs) {
            let mut words = row.to_vec();
            for site in (0..self.steps).flat_map(|_| 0..layout.sites()) {
                let ids = sentence.filled(Packed::new(layout, &words).expect("a state"));
                let logs = sentence.conditional(&ids, site).map_err(Failure::model)?;
                let all: f32 = logs.iter().map(|log| log.exp()).sum();
                let mut left = uniform(rng) * all;
                let value = logs.iter().position(|log| {
                    left -= log.exp();
                    left < 0.0
                });
                let value = value.unwrap_or(PIECES - SPECIAL as usize - 1);
                set(layout, &mut words, site, value as u32).map_err(Failure::model)?;
            }
            states.push(Packed::new(layout, &words).map_err(Failure::model)?);
        }
        let passes = sentence.passes()[0] as f64 / f64::from(self.chains);
        let energy = |row| sentence.energy(&sentence.filled(Packed::new(layout, row).expect("a state")));
        let energies: Vec<f32> = states.rows().map(energy).collect::<Result<_, _>>().map_err(Failure::model)?;
        let mean = energies.iter().map(|&e| f64::from(e)).sum::<f64>() / energies.len() as f64;
        Ok(filled(sentence, &states, energies, vec![(passes, mean)], &Acceptance::new()))
    }

    fn gibbs(&self, sentence: &Sentence<'_>, at: usize) -> Result<Filled, Failure> {
        let (_, count, sweeps) = self.gibbs;
        let mut rngs = self.rngs(at, count);
        let states = starts(sentence, &mut rngs);
        let layout = Evaluator::layout(sentence);
        let open = |row| VecChain::new(sentence, memory(sentence), Packed::new(layout, row).expect("a state"));
        let mut chains = states.rows().map(open).collect::<Result<Vec<_>, _>>().map_err(Failure::model)?;
        let mean = |chains: &[VecChain<'_, Sentence<'_>>]| {
            chains.iter().map(|chain| f64::from(chain.energy())).sum::<f64>() / f64::from(count)
        };
        let mut curve = Curve::new(sentence, count, mean(&chains));
        let mut total = Acceptance::new();
        for sweep in 1..=sweeps {
            let moved = chains.par_iter_mut().zip(&mut rngs).map(|(chain, rng)| {
                let mut seen = Acceptance::new();
                chain.run(&Gibbs::systematic(), rng, 1, &mut seen);
                seen
            });
            total = moved.collect::<Vec<_>>().into_iter().fold(total, add);
            curve.look(sweep, sweeps, || mean(&chains));
        }
        let mut rows = BitRows::new(layout);
        chains.iter().for_each(|chain| rows.push(chain.state()));
        Ok(filled(sentence, &rows, chains.iter().map(|chain| chain.energy()).collect(), curve.points, &total))
    }
}

/// The mean energy at some steps.
struct Curve<'s, 'm> {
    sentence: &'s Sentence<'m>,
    chains: u32,
    next: u32,
    points: Vec<(f64, f64)>,
}

impl<'s, 'm> Curve<'s, 'm> {
    fn new(sentence: &'s Sentence<'m>, chains: u32, energy: f64) -> Self {
        let mut curve = Self { sentence, chains, next: 1, points: Vec::new() };
        curve.push(energy);
        curve
    }

    fn push(&mut self, energy: f64) {
        let [forward, back] = self.sentence.passes();
        self.points.push(((forward + back) as f64 / f64::from(self.chains), energy));
    }

    fn look(&mut self, step: u32, last: u32, energy: impl FnOnce() -> f64) {
        if step == self.next || step == last {
            self.push(energy());
            self.next = step + (step / 2).max(1);
        }
    }
}

/// What is kept of the states of a sentence.
fn filled(
    sentence: &Sentence<'_>,
    states: &BitRows,
    energies: Vec<f32>,
    curve: Vec<(f64, f64)>,
    acceptance: &Acceptance,
) -> Filled {
    let layout = Evaluator::layout(sentence);
    let mut order: Vec<usize> = (0..energies.len()).collect();
    order.sort_by(|&a, &b| energies[a].total_cmp(&energies[b]));
    let ids = |&at: &usize| sentence.filled(Packed::new(layout, states.row(at)).expect("a state"));
    Filled {
        best: order.iter().take(BEST).map(ids).collect(),
        energies,
        curve,
        acceptance: f64::from(acceptance.rate()),
        changed: f64::from(acceptance.jump_distance()),
    }
}
