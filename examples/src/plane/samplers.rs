//! The samplers that the plane compares.
//!
//! One gradient a step each: this model keeps its gradient, so that a step with other parameters than the one
//! before asks for no more of them. The random walk needs none, but one log density.

use super::Sampler;
use super::drive::Watch;
use crate::chains::memory;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Diagonal, NoiseError};
use bitmc::schedule::ScheduleError;
use bitmc::step::{Cycle, ParameterError, langevin_cycle};
use bitmc::{Chain, Energy, Langevin, Packed, RandomWalk, Schedule};

/// Steps of the cycle of ACS, its largest and smallest step size and its largest balance: as in its paper.
const CYCLE: usize = 20;
const LARGEST: f32 = 1575.0;
const SMALLEST: f32 = 3.0;
const BALANCE: f32 = 0.95;

/// Why a sampler is none.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum SamplerError {
    /// Of a kernel.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Of a schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Of a curvature.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

/// D = −W of the normal modes' own curvature, 1/s² = .01.
const CURVATURE: &[Block] = &[[0.01; LANES]];

/// All samplers, `step_size` that of DMALA. A new one is a line.
///
/// The step size 600 is the one that brought the nearest histogram in a scan of σ from 100 to 2,500 and α from
/// ½ to 1 at the corner start, with α = ½; the second-order sampler has the limit in which a normal mode is drawn
/// from exactly.
///
/// # Errors
/// [`SamplerError`] where a parameter is illegal.
pub fn samplers(step_size: f32) -> Result<Vec<Sampler>, SamplerError> {
    let second = Langevin::second_order(Diagonal::new(CURVATURE)?, f32::INFINITY, 1.0)?;
    Ok(vec![
        langevin(step_size)?,
        Sampler::kernel("DMALA, one bold step", "α = 600", Langevin::adjusted(600.0)?),
        acs()?,
        Sampler::kernel("AB, first order", "σ = 600, α = 0.7", Langevin::balanced(600.0, 0.7)?),
        Sampler::kernel("AB, second order", "σ = ∞, α = 1, W = −0.01", second),
        Sampler::kernel("random walk", "r = 2", RandomWalk::new(2.0)?),
    ])
}

/// DMALA.
///
/// # Errors
/// [`SamplerError`] where the step size is illegal.
pub fn langevin(step_size: f32) -> Result<Sampler, SamplerError> {
    Ok(Sampler::kernel("DMALA", &format!("α = {step_size}"), Langevin::adjusted(step_size)?))
}

/// ACS with the parameters of its paper.
///
/// # Errors
/// None: its parameters are legal.
pub fn acs() -> Result<Sampler, SamplerError> {
    let step_size = Schedule::cyclical_step_size(LARGEST, SMALLEST, CYCLE as u64)?;
    let kernels = langevin_cycle::<CYCLE>(&step_size, &Schedule::cosine(BALANCE, 0.5, CYCLE as u64)?)?;
    let parameters = format!("α = {LARGEST} … {SMALLEST} in {CYCLE} steps, β ≤ {BALANCE}");
    Ok(Sampler::new("ACS", &parameters, move |model, start, rng, steps, tell| {
        let mut chain = Chain::new(model, memory(model), Packed::new(model.layout(), start)?)?;
        let cycle = Cycle::new(&kernels).expect("a cycle has kernels");
        chain.run(&cycle, rng, steps, &mut Watch(tell));
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::{Density, Shape, drive, start};
    use crate::progress::Progress;
    use bitmc::Modes;

    const MEANS: &[[f32; 2]] = &Modes::FIVE_BY_FIVE;

    /// From the corner mode, 64 chains of 6,000 steps: modes a chain and the histogram's distance in TV.
    fn found(sampler: &Sampler, model: &Modes<'_>, density: &Density) -> (f64, f64) {
        let progress = Progress::new(true, 1);
        let corner = |rng: &mut _| start("corner", 450, rng);
        let tally = drive(sampler, (model, MEANS), (1, 64, 6000), 30.0, corner, &progress).unwrap();
        let modes = tally.modes.iter().sum::<u32>();
        (f64::from(modes) / 64.0, density.distance(&tally.histogram).total_variation)
    }

    #[test]
    fn cycles_leave_the_corner_mode() {
        // The bounds are given. A float64 trial has 12.8 and 19.5 modes a chain for ACS against 1.4 and 1.9,
        // and quotients .45 and .56; the standard error of a mean over 64 chains is some tenths.
        let normal = Modes::normal(MEANS, 450, 100.0).unwrap();
        let pointed = Modes::exponential(MEANS, 450, 3.75, 1e-10).unwrap();
        let shapes = [Shape::Normal(100.0), Shape::Exponential(3.75, f64::from(1e-10f32))];
        for (model, shape) in [normal, pointed].iter().zip(shapes) {
            let density = Density::new(MEANS, 450, shape);
            let (cycles, far) = found(&acs().unwrap(), model, &density);
            let (stays, beside) = found(&langevin(53.0).unwrap(), model, &density);
            println!("{shape:?}: {cycles:.1} modes and {far:.3}, against {stays:.1} and {beside:.3}");
            assert!(cycles >= 10.0 && stays <= 2.0, "{shape:?}: {cycles} and {stays} modes a chain");
            assert!(far <= 0.6 * beside, "{shape:?}: TV {far} and {beside}");
        }
    }
}
