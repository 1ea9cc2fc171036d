//! The no-U-turn sampler of `nuts-rs` on the kernel's potentials.

use super::run::Path;
use bitmc::flow::{Potential, blocks};
use bitmc::lane::{Block, LANES};
use bitmc::{LaneRng, Rng};
use nuts_rs::{
    Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings,
    StepSizeAdaptMethod,
};
use rand::SeedableRng;
use std::cell::Cell;
use std::collections::HashMap;

/// A potential as `nuts-rs` wants it, with a count of its gradients.
struct Density<'p> {
    potential: &'p dyn Potential,
    x: Vec<Block>,
    gradient: Vec<Block>,
    scratch: Vec<Block>,
    gradients: &'p Cell<u64>,
    tuned: bool,
}

/// E is not finite there: the trajectory ends.
#[derive(Debug, thiserror::Error)]
#[error("the energy is not finite")]
struct NotFinite;

impl LogpError for NotFinite {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl HasDims for Density<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".into(), self.dim() as u64)])
    }
}

impl CpuLogpFunc for Density<'_> {
    type LogpError = NotFinite;
    type ExpandedVector = Vec<f64>;
    type FlowParameters = ();

    fn dim(&self) -> usize {
        self.potential.dim()
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, NotFinite> {
        self.gradients.set(self.gradients.get() + 1);
        let slots = self.x.as_flattened_mut().iter_mut().zip(position);
        slots.for_each(|(slot, &x)| *slot = x as f32);
        let energy = self.potential.gradient(&self.x, &mut self.scratch, &mut self.gradient);
        let slopes = gradient.iter_mut().zip(self.gradient.as_flattened());
        slopes.for_each(|(slot, &slope)| *slot = -f64::from(slope));
        // The first gradient is asked for to set masses, which are 1 where it is.
        if !self.tuned && self.gradients.get() == 1 {
            gradient.fill(1.0);
        }
        if energy.is_finite() { Ok(-f64::from(energy)) } else { Err(NotFinite) }
    }

    fn expand_vector<R: rand::Rng + ?Sized>(
        &mut self,
        _rng: &mut R,
        position: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}

/// Draws until the gradients are spent. The state after n gradients is the last draw that was finished by then, and each
/// gradient has one. Tuned, step size and masses adapt over the first 100 draws, and every gradient counts. Untuned, it
/// is what the authors ran: a step of `.25 d^(−1/4)` and masses of 1, the defaults of `littlemcmc`; a draw counts as its
/// tree and one.
pub(super) fn run(
    potential: &dyn Potential,
    start: &[f32],
    tuned: bool,
    looks: &[u64],
    rng: &mut LaneRng,
) -> Path {
    let width = vec![[0.0; LANES]; blocks(start.len())];
    let gradients = Cell::new(0);
    let density = Density {
        potential,
        x: width.clone(),
        gradient: width,
        scratch: vec![[0.0; LANES]; potential.scratch_len()],
        gradients: &gradients,
        tuned,
    };
    let mut generator = rand::rngs::SmallRng::seed_from_u64(rng.next_u64());
    let mut settings = DiagNutsSettings { num_tune: 100, ..DiagNutsSettings::default() };
    if !tuned {
        settings.num_tune = 0;
        let step = &mut settings.adapt_options.step_size_settings;
        step.adapt_options.method = StepSizeAdaptMethod::Fixed(0.25 * (start.len() as f64).powf(-0.25));
        step.jitter = None;
    }
    let start64: Vec<f64> = start.iter().copied().map(f64::from).collect();
    let last = looks.last().copied().unwrap_or(0) as usize;
    let (mut states, mut held): (Vec<Vec<f32>>, _) = (Vec::new(), start.to_vec());
    if let Ok(mut chain) = settings.new_chain(0, CpuMath::new(density), &mut generator)
        && chain.set_position(&start64).is_ok()
    {
        let (free, extra) = if tuned { (0, 0) } else { (gradients.get(), 1) };
        let mut draws = 0;
        while states.len() < last {
            let Ok((draw, _)) = chain.draw() else { break };
            draws += extra;
            let spent = (gradients.get() - free + draws) as usize;
            states.resize(spent.saturating_sub(1).min(last), held);
            held = draw.iter().map(|&x| x as f32).collect();
        }
    }
    states.resize(last, held);
    let samples = looks.iter().map(|&look| states[look as usize - 1].clone()).collect();
    Path { states, samples, trace: Vec::new() }
}
