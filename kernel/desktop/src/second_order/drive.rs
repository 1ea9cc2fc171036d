//! Burn in, estimate, adapt, freeze.

use super::curvature::{Curvature, Drawn, Known, Room, Which, alike};
use crate::Error;
use crate::chains::{VecChain, keeping_memory};
use crate::progress::Progress;
use bitmc::energy::Sparse;
use bitmc::lane::{Block, LANES};
use bitmc::noise::{Adaptation, DenseMatrix, Diagonal, Fit, Parameters, Regression, SparseRegression};
use bitmc::step::ParameterError;
use bitmc::{Chain, Energy, Gibbs, Kernel, Kind, LaneRng, Langevin, Move, Packed, SeedableRng};
use serde::Serialize;

/// How long, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    /// Seed of its chain.
    pub seed: u64,
    /// Gibbs sweeps before everything else, from a random state: see [`settled`].
    pub sweeps: u32,
    /// Steps of first order, which adapt from the published start; W is estimated from their second half.
    pub burn_in: u64,
    /// Steps that adapt the sampler itself; the last fifth of them, and at least one step, is frozen, and measured.
    pub adapt: u64,
    /// Whether κ is adapted too, which goes beyond the paper; where nothing is drawn, which has no κ, it stays 1.
    pub precision: bool,
    /// Whether the other end of the balanced line, α = 1 and a step size without a bound, is tried too. This goes
    /// beyond the paper. Adaptation then begins at the end with the longer jumps, and not always at the near one.
    pub far: bool,
    /// Whether adaptation is as the paper prints it ([`Adaptation::as_printed`]).
    pub as_printed: bool,
}

/// The far end.
const FAR: Parameters = Parameters { step_size: 1e4, balance: 1.0, precision: 1.0 };

/// Of the least squares: the ridge, as a part of the mean moment, and the most iterations.
const RIDGE: f32 = 1e-3;
const ITERATIONS: u32 = 200;

/// What a driver chose.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    /// σ, on the {0,1} scale.
    pub step_size: f32,
    /// α.
    pub balance: f32,
    /// κ.
    pub precision: f32,
    /// What is known of W and D, in words; empty for a sampler of first order.
    pub curvature: String,
    /// The acceptance rate of the frozen sampler.
    pub acceptance: f64,
    /// Its mean jump distance, Σ|yᵢ − xᵢ|.
    pub jump: f64,
    /// Whether it was frozen before that: always.
    pub frozen: bool,
    /// Where its chain ended, in words of the state.
    #[serde(skip)]
    pub end: Vec<u32>,
}

impl std::fmt::Display for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.curvature.is_empty() {
            write!(f, "{}; ", self.curvature)?;
        }
        let Self { step_size, balance, precision, acceptance, jump, .. } = self;
        write!(f, "σ = {step_size:.3}, α = {balance:.3}, κ = {precision:.2}, frozen; ")?;
        write!(f, "acceptance {acceptance:.3}, jump {jump:.2}")
    }
}

impl Driver {
    /// AB-1st with its (σ, α).
    ///
    /// # Errors
    /// [`Error::Model`] where the energy has no legal start.
    pub fn first_order<E: Energy + ?Sized>(
        self,
        energy: &E,
        progress: &Progress,
    ) -> Result<(Langevin<'static>, Chosen), Error> {
        let mut drive = Drive::new(Self { precision: false, ..self }, energy, progress)?;
        drive.burn_in(&mut |_, _| ())?;
        let chosen = drive.finish(first, String::new())?;
        Ok((first(chosen.parameters())?, chosen))
    }

    /// A sampler of second order, in the memory of a room. It takes what is known of W, and the rest of W estimated
    /// from the burn-in. Its D is of the kind `which`.
    ///
    /// # Errors
    /// [`Error::Model`] where the energy has no legal start, W cannot be estimated, or no D is found.
    pub fn second_order<'r, E: Energy + ?Sized>(
        self,
        energy: &E,
        w: Known<'_>,
        which: Which,
        room: &'r mut Room,
        progress: &Progress,
    ) -> Result<(Langevin<'r, Drawn<'r>>, Chosen), Error> {
        let (mut drive, w, told) = self.curved(energy, w, progress)?;
        let (noise, how) = room.noise(&w, which)?;
        let second = |now: Parameters| {
            let kernel = Langevin::second_order(noise, now.step_size, now.balance)?;
            kernel.precision(now.precision)
        };
        let chosen = drive.finish(second, format!("{told}, {how}"))?;
        Ok((second(chosen.parameters())?, chosen))
    }

    /// The diagonal variant, with D = −W of the sites themselves, in memory that the caller provides. What is not known of W
    /// is estimated from the burn-in. `None` where W's diagonal is zero, so that it is of first order.
    ///
    /// # Errors
    /// [`Error::Model`] where the energy has no legal start, or W cannot be estimated.
    pub fn diagonal<'r, E: Energy + ?Sized>(
        self,
        energy: &E,
        w: Known<'_>,
        d: &'r mut Vec<Block>,
        progress: &Progress,
    ) -> Result<Option<(Langevin<'r, Diagonal<'r>>, Chosen)>, Error> {
        if let Known::Whole(w) = w
            && w.negated_diagonal().is_none()
        {
            progress.advance(self.burn_in + self.adapt);
            return Ok(None);
        }
        let driver = Self { precision: false, ..self };
        let (mut drive, w, told) = driver.curved(energy, w, progress)?;
        let Some(negated) = w.negated_diagonal() else {
            progress.advance(self.adapt);
            return Ok(None);
        };
        *d = negated;
        let noise = Diagonal::new(d)?;
        let second = |now: Parameters| Langevin::second_order(noise, now.step_size, now.balance);
        let chosen = drive.finish(second, format!("{told}, its diagonal"))?;
        Ok(Some((second(chosen.parameters())?, chosen)))
    }

    /// Adaptation from a start.
    fn adaptation(self, start: Parameters) -> Adaptation {
        let new = Adaptation::new(start);
        let new = if self.precision { new.with_precision() } else { new };
        if self.as_printed { new.as_printed() } else { new }
    }

    /// Behind the burn-in, with all of W, and what to tell of it.
    fn curved<'e, E: Energy + ?Sized>(
        self,
        energy: &'e E,
        w: Known<'_>,
        progress: &'e Progress,
    ) -> Result<(Drive<'e, E>, Curvature, String), Error> {
        let mut drive = Drive::new(self, energy, progress)?;
        let (w, told) = match w {
            Known::Whole(w) => {
                alike("W", w.sites(), energy.layout().sites())?;
                drive.burn_in(&mut |_, _| ())?;
                (w.clone(), String::from("W of the energy"))
            }
            Known::Pattern(pattern) => drive.estimate_on(pattern)?,
            Known::Nothing => drive.estimate()?,
        };
        Ok((drive, w, told))
    }
}

impl Chosen {
    /// σ, α and κ.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        Parameters { step_size: self.step_size, balance: self.balance, precision: self.precision }
    }
}

fn first(now: Parameters) -> Result<Langevin<'static>, ParameterError> {
    Langevin::balanced(now.step_size, now.balance)
}

/// What to tell of an estimated W.
fn told(moves: u32, fit: Fit) -> Result<String, Error> {
    if moves == 0 {
        return Err(Error::model("W is not estimated: no step of the burn-in moved"));
    }
    Ok(format!("W of {moves} moves, solved to {:.0e} in {} iterations", fit.residual, fit.iterations))
}

/// A chain behind so many Gibbs sweeps from a random state. They need no gradient and no tuning. Far from
/// the likely states gradients are steep, and a sampler that is tuned for those states can reject every move there.
///
/// # Errors
/// [`Error::Model`] where the energy has no legal start.
pub fn settled<'e, E: Energy + ?Sized>(
    energy: &'e E,
    sweeps: u32,
    rng: &mut LaneRng,
) -> Result<VecChain<'e, E>, Error> {
    let mut chain = Chain::random(energy, keeping_memory(energy), rng)?;
    chain.run(&Gibbs::systematic(), rng, u64::from(sweeps), &mut ());
    Ok(chain)
}

/// One chain on its way.
struct Drive<'e, E: ?Sized> {
    driver: Driver,
    energy: &'e E,
    chain: VecChain<'e, E>,
    rng: LaneRng,
    adaptation: Adaptation,
    progress: &'e Progress,
    before: Vec<u32>,
    faults: u64,
}

/// What is told of a step: the states before and after it.
type Tell<'t> = &'t mut dyn FnMut(Packed<'_>, Packed<'_>);

impl<'e, E: Energy + ?Sized> Drive<'e, E> {
    fn new(driver: Driver, energy: &'e E, progress: &'e Progress) -> Result<Self, Error> {
        let mut rng = LaneRng::seed_from_u64(driver.seed);
        let chain = settled(energy, driver.sweeps, &mut rng)?;
        let adaptation = driver.adaptation(Parameters::START);
        let before = chain.state().words().to_vec();
        Ok(Self { driver, energy, chain, rng, adaptation, progress, before, faults: 0 })
    }

    /// Steps of first order, which have no κ, from the published start.
    fn burn_in(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        let half = self.driver.burn_in / 2;
        self.adaptation = Driver { precision: false, ..self.driver }.adaptation(Parameters::START);
        self.adapt(half, first, &mut |_, _| ())?;
        self.adapt(self.driver.burn_in - half, first, tell)?;
        self.adaptation = self.driver.adaptation(self.adaptation.parameters());
        Ok(())
    }

    /// Burn-in, and all of W from its moves.
    fn estimate(&mut self) -> Result<(Curvature, String), Error> {
        let (sites, most) = (self.energy.layout().sites(), DenseMatrix::MAX_SITES);
        if sites > most {
            return Err(Error::model(format!(
                "W is estimated in full for at most {most} sites, not {sites}: say where it has entries"
            )));
        }
        let mut room = vec![[0.0; LANES]; Regression::blocks(sites)];
        let mut regression = Regression::new(sites, &mut room)?;
        self.moves(|step, here, there| _ = regression.push(step, here, there))?;
        let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(sites)];
        let mut scratch = vec![[0.0; LANES]; 3 * rows.len()];
        let fit = regression.solve(RIDGE, ITERATIONS, &mut rows, &mut scratch)?;
        let w = DenseMatrix::new(sites, &rows)?;
        Ok((Curvature::of(&w), told(regression.moves(), fit)?))
    }

    /// Burn-in, and from its moves W where this pattern has entries.
    fn estimate_on(&mut self, pattern: Sparse<'_>) -> Result<(Curvature, String), Error> {
        alike("the pattern of W", pattern.sites(), self.energy.layout().sites())?;
        let sites = pattern.sites();
        let mut room = vec![[0.0; LANES]; SparseRegression::blocks(pattern)];
        let mut regression = SparseRegression::new(pattern, &mut room)?;
        self.moves(|step, here, there| _ = regression.push(step, here, there))?;
        let mut w = vec![[0.0; LANES]; SparseRegression::w_blocks(pattern)];
        let mut scratch = vec![[0.0; LANES]; 3 * w.len()];
        let fit = regression.solve(RIDGE, ITERATIONS, &mut w, &mut scratch)?;
        Ok((Curvature::found(&regression, &w, sites), told(regression.moves(), fit)?))
    }

    /// Burn-in, and its moves with the gradients at both ends: of sites whose values are numbers, which a regression asks for.
    fn moves(&mut self, mut take: impl FnMut(&Move<'_>, &[Block], &[Block])) -> Result<(), Error> {
        let (energy, layout) = (self.energy, self.energy.layout());
        if layout.kind() == Kind::Categorical {
            return Err(Error::model("W of a categorical energy is not estimated: it must be given"));
        }
        let mut cache = vec![[0; LANES]; energy.cache_len()];
        let mut gradient = |x: Packed<'_>, out: &mut [Block]| {
            // A chain's state has an energy.
            let _ = energy.init(x, &mut cache);
            energy.gradient(x, &cache, 0..layout.rows(), out);
        };
        let zeros = vec![[0.0; LANES]; layout.gradient_blocks()];
        let (mut here, mut there) = (zeros.clone(), zeros);
        self.burn_in(&mut |before, after| {
            let Ok(step) = Move::new(before, after) else { return };
            if step.count() > 0 {
                gradient(before, &mut here);
                gradient(after, &mut there);
                take(&step, &here, &there);
            }
        })
    }

    /// Steps that adapt.
    fn adapt<K: Kernel<E>>(
        &mut self,
        steps: u64,
        kernel: impl Fn(Parameters) -> Result<K, ParameterError>,
        tell: Tell<'_>,
    ) -> Result<(), Error> {
        let make = |adaptation: &Adaptation| kernel(adaptation.parameters()).map_err(Error::model);
        let mut now = make(&self.adaptation)?;
        for _ in 0..steps {
            let (distance, _) = self.step(&now, tell);
            if self.adaptation.observe_distance(distance) {
                now = make(&self.adaptation)?;
            }
        }
        self.progress.advance(steps);
        Ok(())
    }

    /// Adapts from the near end of the balanced line, or with `far` from the end with the longer jumps. Freezes, and
    /// measures what was chosen.
    fn finish<K: Kernel<E>>(
        &mut self,
        kernel: impl Fn(Parameters) -> Result<K, ParameterError>,
        curvature: String,
    ) -> Result<Chosen, Error> {
        let Driver { far, adapt, .. } = self.driver;
        let ends = [self.adaptation.parameters(), FAR];
        let trial = if far { adapt / 10 } else { 0 };
        if far {
            let [near, distant] = ends.map(|end| kernel(end).map_err(Error::model));
            let (short, _) = self.measure(trial / 2, &near?);
            let (long, _) = self.measure(trial - trial / 2, &distant?);
            if long > short {
                self.adaptation = self.driver.adaptation(FAR);
            }
        }
        self.adapt(adapt - adapt / 5 - trial, &kernel, &mut |_, _| ())?;
        self.freeze((adapt / 5).max(1), kernel, curvature)
    }

    /// Freezes, and measures what was chosen.
    fn freeze<K: Kernel<E>>(
        &mut self,
        steps: u64,
        kernel: impl Fn(Parameters) -> Result<K, ParameterError>,
        curvature: String,
    ) -> Result<Chosen, Error> {
        self.adaptation.freeze();
        let Parameters { step_size, balance, precision } = self.adaptation.parameters();
        let kernel = kernel(self.adaptation.parameters())?;
        self.faults = 0;
        let (jump, acceptance) = self.measure(steps, &kernel);
        if self.faults > 0 {
            return Err(Error::model(format!(
                "{} of {steps} steps were faults ({curvature}): a gradient or an energy is not a number, or the noise is of \
                 another number of sites",
                self.faults
            )));
        }
        let (frozen, end) = (self.adaptation.is_frozen(), self.chain.state().words().to_vec());
        Ok(Chosen { step_size, balance, precision, curvature, acceptance, jump, frozen, end })
    }

    /// Mean jump distance and acceptance of steps that adapt nothing.
    fn measure<K: Kernel<E>>(&mut self, steps: u64, kernel: &K) -> (f64, f64) {
        let (mut jump, mut accepted) = (0.0, 0.0);
        for _ in 0..steps {
            let (distance, yes) = self.step(kernel, &mut |_, _| ());
            jump += f64::from(distance);
            accepted += f64::from(u8::from(yes));
        }
        self.progress.advance(steps);
        let all = steps.max(1) as f64;
        (jump / all, accepted / all)
    }

    /// A step: its jump distance, and whether it was accepted.
    fn step<K: Kernel<E>>(&mut self, kernel: &K, tell: Tell<'_>) -> (u32, bool) {
        let info = self.chain.step(kernel, &mut self.rng);
        self.faults += u64::from(info.fault);
        let (mut distance, after) = (0, self.chain.state());
        // Both are states of the chain.
        if let Ok(before) = Packed::new(after.layout(), &self.before) {
            let step = Move::new(before, after);
            // ‖x − y‖₁; categories have no distance, and count one each.
            let most = if after.layout().kind() == Kind::Categorical { 1 } else { u32::MAX };
            distance = step.map_or(0, |step| step.changes().map(|c| c.to.abs_diff(c.from).min(most)).sum());
            tell(before, after);
        }
        self.before.copy_from_slice(self.chain.state().words());
        (distance, info.accepted)
    }
}
