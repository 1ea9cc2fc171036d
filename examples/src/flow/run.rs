//! One chain of a sampler on a budget of gradients.

use super::integrate::{self, Kept, Time};
use super::targets::{Target, normal_vector};
use bitmc::LaneRng;
use bitmc::flow::{Esh, Hmc, HmcChain, NoseHoover, Potential, StepSize, blocks};
use bitmc::lane::LANES;

/// A sampler of the paper's comparison, with its step size there (App. D.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// The scaled leapfrog, ε = .1.
    Esh,
    /// Hamiltonian Monte Carlo, five steps of .01.
    Hmc,
    /// The adjusted Langevin sampler, ε = .1.
    Mala,
    /// The Nosé–Hoover thermostat, ε = .01.
    NoseHoover,
    /// The no-U-turn sampler of `nuts-rs` without tuning, ε = .25 over the fourth root of the dimension.
    Nuts,
    /// The unadjusted Langevin sampler, ε = .1.
    Ula,
    /// The no-U-turn sampler, adapting from its first gradient on. The paper has no such row.
    NutsTuned,
    /// Energy-sampling dynamics by the leapfrog in the original time, ε = 1 over so much.
    Original(u16),
    /// The same by Runge–Kutta, in either time.
    RungeKutta(Time),
}

/// Leapfrog steps of an HMC proposal.
const HMC_STEPS: u32 = 5;

impl Sampler {
    /// In the order of the paper's Table 1, and one more.
    pub const ALL: [Self; 7] =
        [Self::Esh, Self::Hmc, Self::Mala, Self::NoseHoover, Self::Nuts, Self::Ula, Self::NutsTuned];

    /// Integrators of the same dynamics, as in the paper's Figures 3, 13, 15 and 16.
    pub const INTEGRATORS: [Self; 6] = [
        Self::Esh,
        Self::Original(10),
        Self::Original(100),
        Self::Original(1000),
        Self::RungeKutta(Time::Scaled),
        Self::RungeKutta(Time::Original),
    ];

    /// Whether this build has it: NUTS needs the feature `nuts`, Runge–Kutta `runge-kutta`.
    #[must_use]
    pub fn is_built(self) -> bool {
        (!matches!(self, Self::Nuts | Self::NutsTuned) || cfg!(feature = "nuts"))
            && (!matches!(self, Self::RungeKutta(_)) || cfg!(feature = "runge-kutta"))
    }

    /// The paper's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Esh => "ESH .1",
            Self::Hmc => "HMC .01, k = 5",
            Self::Mala => "MALA .1",
            Self::NoseHoover => "NH .01",
            Self::Nuts => "NUTS",
            Self::Ula => "ULA .1",
            Self::NutsTuned => "NUTS, tuned",
            Self::Original(10) => "original time .1",
            Self::Original(100) => "original time .01",
            Self::Original(_) => "original time .001",
            Self::RungeKutta(Time::Scaled) => "RK",
            Self::RungeKutta(Time::Original) => "RK, original time",
        }
    }
}

/// What one chain did.
#[derive(Clone, Debug)]
pub struct Path {
    /// The states in order, the start and one a step or proposal. NUTS has one a gradient: it holds its last draw.
    pub states: Vec<Vec<f32>>,
    /// The chain's sample after so many gradients: for ESH the one that a reservoir keeps, by time; for the
    /// others the last state.
    pub samples: Vec<Vec<f32>>,
    /// Of energy-sampling dynamics: what it conserves, from the start on.
    pub trace: Vec<Trace>,
}

/// The Hamiltonian `E + d ln|v|` after so many gradients.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// Gradients so far.
    pub gradients: u64,
    /// E(x) + d ln|v|.
    pub total: f64,
    /// d ln|v|.
    pub kinetic: f64,
    /// The time of the step that led there; 0 at the start.
    pub step: f64,
}

/// Runs a chain for the last of `looks` gradients, and takes its sample after each of them. The gradient at
/// the start is not counted, but for tuned NUTS, which asks for it again in its own ways.
///
/// # Panics
/// Never: the starts are legal.
#[must_use]
pub fn run(sampler: Sampler, target: Target, looks: &[u64], rng: &mut LaneRng) -> Path {
    let start = target.start(rng);
    let mut path = target.with(|potential| match sampler {
        Sampler::Esh => esh(potential, &start, looks, rng),
        #[cfg(feature = "nuts")]
        Sampler::Nuts | Sampler::NutsTuned => {
            super::nuts::run(potential, &start, sampler == Sampler::NutsTuned, looks, rng)
        }
        #[cfg(not(feature = "nuts"))]
        Sampler::Nuts | Sampler::NutsTuned => record(&start, &[], 1, || start.clone()),
        Sampler::Original(steps) => {
            let direction = normal_vector(start.len(), rng);
            integrate::unscaled(potential, &start, &direction, size(1.0 / f32::from(steps)), looks, rng)
        }
        #[cfg(feature = "runge-kutta")]
        Sampler::RungeKutta(time) => {
            let direction = normal_vector(start.len(), rng);
            integrate::runge_kutta(potential, &start, &direction, time, looks, rng)
        }
        #[cfg(not(feature = "runge-kutta"))]
        Sampler::RungeKutta(_) => record(&start, &[], 1, || start.clone()),
        Sampler::NoseHoover => {
            let room = vec![[0.0; LANES]; 3 * blocks(start.len()) + potential.scratch_len()];
            // The mass of the thermostat in the authors' program.
            let mut chain = NoseHoover::new(potential, room, &start, 1.0, rng).expect("a legal start");
            record(&start, looks, 1, || {
                chain.step(size(0.01));
                chain.position().to_vec()
            })
        }
        Sampler::Hmc | Sampler::Mala | Sampler::Ula => {
            let (kernel, cost) = match sampler {
                Sampler::Hmc => (Hmc::new(size(0.01), HMC_STEPS).expect("some steps"), HMC_STEPS),
                Sampler::Mala => (Hmc::langevin(size(0.1)), 1),
                _ => (Hmc::unadjusted_langevin(size(0.1)), 1),
            };
            let room = vec![[0.0; LANES]; 5 * blocks(start.len()) + potential.scratch_len()];
            let mut chain = HmcChain::new(potential, room, &start).expect("a legal start");
            record(&start, looks, u64::from(cost), || {
                chain.step(&kernel, rng);
                chain.position().to_vec()
            })
        }
    });
    path.states.insert(0, start);
    path
}

fn esh(potential: &dyn Potential, start: &[f32], looks: &[u64], rng: &mut LaneRng) -> Path {
    let room = vec![[0.0; LANES]; 3 * blocks(start.len()) + potential.scratch_len()];
    let mut chain = Esh::random(potential, room, start, rng).expect("a legal start");
    let begin = Trace { gradients: 0, total: chain.hamiltonian().into(), kinetic: 0.0, step: 0.0 };
    let (mut kept, mut states, mut trace) = (Kept::new(start), Vec::new(), vec![begin]);
    let samples = looks.iter().map(|&look| {
        while (states.len() as u64) < look {
            let leap = chain.step(size(0.1));
            kept.offer(chain.position(), leap.log_time, rng);
            states.push(chain.position().to_vec());
            let (total, kinetic) =
                (chain.hamiltonian().into(), start.len() as f64 * f64::from(chain.log_speed()));
            trace.push(Trace { gradients: states.len() as u64, total, kinetic, step: 0.1 });
        }
        kept.sample()
    });
    let samples = samples.collect();
    Path { states, samples, trace }
}

/// Steps at so many gradients each; the last state is the sample.
fn record(start: &[f32], looks: &[u64], cost: u64, mut step: impl FnMut() -> Vec<f32>) -> Path {
    let mut states: Vec<Vec<f32>> = Vec::new();
    let samples = looks.iter().map(|&look| {
        while (states.len() as u64 + 1) * cost <= look {
            states.push(step());
        }
        states.last().map_or(start.to_vec(), Clone::clone)
    });
    let samples = samples.collect();
    Path { states, samples, trace: Vec::new() }
}

/// A step size that is known to be legal.
fn size(value: f32) -> StepSize {
    StepSize::new(value).expect("a legal step size")
}
