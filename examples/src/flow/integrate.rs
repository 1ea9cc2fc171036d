//! Energy-sampling dynamics by other integrators (Ver Steeg and Galstyan 2021, Sec. 3.1): the leapfrog in the original
//! time, and the adaptive Runge–Kutta method of Dormand and Prince in both times.

use super::run::{Path, Trace};
use bitmc::LaneRng;
use bitmc::flow::{Potential, Reservoir, StepSize, Unscaled, blocks};
use bitmc::lane::{Block, LANES, ln};

/// The sample of a trajectory: each point with a probability that goes with its time.
pub(super) struct Kept {
    sample: Reservoir<Vec<Block>>,
    room: Vec<Block>,
    dim: usize,
}

impl Kept {
    pub(super) fn new(start: &[f32]) -> Self {
        let mut first: Vec<Block> = vec![[0.0; LANES]; blocks(start.len())];
        first.as_flattened_mut()[..start.len()].copy_from_slice(start);
        Self { room: first.clone(), sample: Reservoir::new(first), dim: start.len() }
    }

    pub(super) fn offer(&mut self, x: &[f32], log_time: f32, rng: &mut LaneRng) {
        self.room.as_flattened_mut()[..self.dim].copy_from_slice(x);
        self.sample.offer(&self.room, log_time, rng);
    }

    pub(super) fn sample(&self) -> Vec<f32> {
        self.sample.sample().as_flattened()[..self.dim].to_vec()
    }
}

/// The leapfrog in the original time.
pub(super) fn unscaled(
    potential: &dyn Potential,
    start: &[f32],
    direction: &[f32],
    step_size: StepSize,
    looks: &[u64],
    rng: &mut LaneRng,
) -> Path {
    let room = vec![[0.0; LANES]; 3 * blocks(start.len()) + potential.scratch_len()];
    let mut chain = Unscaled::new(potential, room, start, direction).expect("a legal start");
    // It begins at |v| = 1.
    let begin = Trace { gradients: 0, total: chain.energy().into(), kinetic: 0.0, step: 0.0 };
    let (mut kept, mut states, mut trace) = (Kept::new(start), Vec::new(), vec![begin]);
    let dim = start.len() as f32;
    let samples = looks.iter().map(|&look| {
        while (states.len() as u64) < look {
            let leap = chain.step(step_size);
            kept.offer(chain.position(), leap.log_time, rng);
            states.push(chain.position().to_vec());
            let square: f32 = chain.velocity().iter().map(|v| v * v).sum();
            let kinetic = 0.5 * dim * ln(square);
            trace.push(Trace {
                gradients: states.len() as u64,
                total: f64::from(chain.energy()) + f64::from(kinetic),
                kinetic: kinetic.into(),
                step: step_size.get().into(),
            });
        }
        kept.sample()
    });
    let samples = samples.collect();
    Path { samples, states, trace }
}

/// The time that a trajectory is integrated in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Eq. 2: ẋ = d·v/v², v̇ = −g.
    Original,
    /// Eq. 6: ẋ = u, u̇ = −(g − u(u·g))/d, ṙ = −u·g/d, where |v| = eʳ.
    Scaled,
}

/// Runge–Kutta, with the paper's tolerances: 1e-5 relative and 1e-6 absolute. A trajectory ends where the method finds no
/// step.
#[cfg(feature = "runge-kutta")]
pub(super) fn runge_kutta(
    potential: &dyn Potential,
    start: &[f32],
    direction: &[f32],
    time: Time,
    looks: &[u64],
    rng: &mut LaneRng,
) -> Path {
    use ode_solvers::dop_shared::OutputType;
    use ode_solvers::{DVector, Dopri5};
    let dim = start.len();
    let length = direction.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let begin: Vec<f64> = start.iter().map(|&x| x.into()).collect();
    let mut y = begin.clone();
    y.extend(direction.iter().map(|&v| f64::from(v) / length));
    if time == Time::Scaled {
        y.push(0.0);
    }
    let (gradients, steps) = (std::cell::Cell::new(0), std::cell::RefCell::new(Vec::new()));
    let most = looks.last().copied().unwrap_or(0);
    let flow = ode::Flow { potential, dim, time, most, before: 0.0, gradients: &gradients, steps: &steps };
    let mut solver = Dopri5::new(flow, 0.0, 1e9, 1e9, DVector::from_vec(y), 1e-5, 1e-6);
    solver.set_output(OutputType::Sparse);
    let _ended = solver.integrate();

    let (energy, _) = ode::evaluate(potential, &begin);
    let begin = Trace { gradients: 0, total: energy, kinetic: 0.0, step: 0.0 };
    let (mut kept, mut states, mut trace) = (Kept::new(start), Vec::new(), vec![begin]);
    let mut steps = steps.into_inner().into_iter().peekable();
    let samples = looks.iter().map(|&look| {
        while let Some((gradients, length, y)) = steps.next_if(|(gradients, _, _)| *gradients <= look) {
            let x: Vec<f32> = y.iter().take(dim).map(|&x| x as f32).collect();
            let log_speed = match time {
                Time::Original => 0.5 * y[dim..].iter().map(|v| v * v).sum::<f64>().ln(),
                Time::Scaled => y[2 * dim],
            };
            let (energy, _) = ode::evaluate(potential, &y[..dim]);
            let kinetic = dim as f64 * log_speed;
            let log_time = f64::ln(length) + if time == Time::Scaled { log_speed } else { 0.0 };
            kept.offer(&x, log_time as f32, rng);
            trace.push(Trace { gradients, total: energy + kinetic, kinetic, step: length });
            states.push(x);
        }
        kept.sample()
    });
    let samples = samples.collect();
    Path { states, samples, trace }
}

#[cfg(feature = "runge-kutta")]
mod ode {
    use super::Time;
    use bitmc::flow::{Potential, blocks};
    use bitmc::lane::LANES;
    use ode_solvers::{DVector, System};
    use std::cell::{Cell, RefCell};

    /// The gradients until then, the length of a step, and where it leads.
    pub(super) type Step = (u64, f64, Vec<f64>);

    /// The equations, and what is kept of each accepted step.
    pub(super) struct Flow<'a> {
        pub(super) potential: &'a dyn Potential,
        pub(super) dim: usize,
        pub(super) time: Time,
        pub(super) most: u64,
        pub(super) before: f64,
        pub(super) gradients: &'a Cell<u64>,
        pub(super) steps: &'a RefCell<Vec<Step>>,
    }

    /// E and its gradient at x, of the kernel's own potential.
    pub(super) fn evaluate(potential: &dyn Potential, x: &[f64]) -> (f64, Vec<f64>) {
        let width = blocks(x.len());
        let (mut at, mut gradient) = (vec![[0.0; LANES]; width], vec![[0.0; LANES]; width]);
        at.as_flattened_mut().iter_mut().zip(x).for_each(|(slot, &x)| *slot = x as f32);
        let mut scratch = vec![[0.0; LANES]; potential.scratch_len()];
        let energy = potential.gradient(&at, &mut scratch, &mut gradient);
        (energy.into(), gradient.as_flattened()[..x.len()].iter().map(|&g| g.into()).collect())
    }

    impl System<f64, DVector<f64>> for Flow<'_> {
        fn system(&self, _: f64, y: &DVector<f64>, dy: &mut DVector<f64>) {
            self.gradients.set(self.gradients.get() + 1);
            let (x, v) = y.as_slice().split_at(self.dim);
            let (_, g) = evaluate(self.potential, x);
            let (moved, turned) = dy.as_mut_slice().split_at_mut(self.dim);
            let d = self.dim as f64;
            match self.time {
                Time::Original => {
                    let square: f64 = v.iter().map(|v| v * v).sum();
                    moved.iter_mut().zip(v).for_each(|(moved, v)| *moved = d * v / square);
                    turned.iter_mut().zip(&g).for_each(|(turned, g)| *turned = -g);
                }
                Time::Scaled => {
                    let (u, _) = v.split_at(self.dim);
                    let along: f64 = u.iter().zip(&g).map(|(u, g)| u * g).sum();
                    moved.copy_from_slice(u);
                    let pairs = u.iter().zip(&g);
                    turned.iter_mut().zip(pairs).for_each(|(turned, (u, g))| *turned = (u * along - g) / d);
                    turned[self.dim] = -along / d;
                }
            }
        }

        fn solout(&mut self, t: f64, y: &DVector<f64>, _: &DVector<f64>) -> bool {
            let gradients = self.gradients.get();
            self.steps.borrow_mut().push((gradients, t - self.before, y.as_slice().to_vec()));
            self.before = t;
            gradients >= self.most
        }
    }
}
