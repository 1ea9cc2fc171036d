//! The balanced samplers: any balance, and the Gaussian integral.

use super::super::momentum::{Momentum, over_precision};
use super::{Curvature, Langevin, per_step_size};
use crate::chain::Momenta;
use crate::lane::Block;
use crate::noise::Noise;
use crate::step::ParameterError;
use rand_core::Rng;

impl<'a> Langevin<'a> {
    /// The any-scale balanced sampler of first order (AB-1st; METHODS.md §1) at step size σ and balance α,
    /// with the Metropolis test. The balance α = ½ is [`Langevin::adjusted`], bit for bit. Larger σ want larger α, up
    /// to 1.
    ///
    /// # Errors
    /// [`ParameterError`] where σ is not positive (+∞ is allowed) or α is outside (0, 1].
    pub fn balanced(step_size: f32, balance: f32) -> Result<Self, ParameterError> {
        Self::new(balance, Curvature::Same(inverse(step_size)?), true)
    }

    /// The preconditioned sampler with the D of a second-order one: balance ½ and `cᵢ = 2Dᵢ/σ` (AB's ablation
    /// DLP-trace; METHODS.md §1), with the Metropolis test.
    ///
    /// # Errors
    /// [`ParameterError`] where σ or 2/σ is not positive and finite, or a curvature negative or not finite.
    pub fn preconditioned(step_size: f32, d: &'a [Block]) -> Result<Self, ParameterError> {
        Self::new(0.5, Curvature::Times(per_step_size(2.0, step_size)?, d), true)
    }
}

impl<N: Noise> Langevin<'_, N> {
    /// The any-scale balanced sampler of second order (AB; METHODS.md §3) at step size σ and balance α, with
    /// the Metropolis test: `h = −∂E + η`, η ~ N(0, W+D), and curvature `αDᵢ + 1/σ`.
    ///
    /// The noise says which one it is: with [`Edgewise`](crate::noise::Edgewise) AB-edge, with
    /// [`Dense`](crate::noise::Dense) AB-shift, AB-trace or AB-max after its D, with
    /// [`Diagonal`](crate::noise::Diagonal) the diagonal variant. At α = 1 and σ = ∞ on an energy whose
    /// negative Hessian is W every move is accepted, up to rounding. W and D are on the {0,1} scale, as σ is.
    ///
    /// A chain of another number of sites than the noise is for refuses every step as a fault. So does one with
    /// categorical sites of [`Layout::MANY`](crate::Layout::MANY) values or more.
    ///
    /// For Ising models with a noise of their own edges [`IsingBalanced`](crate::step::IsingBalanced) costs about half.
    ///
    /// Cost a step: two gradients, a draw of the noise and its product with the move, two exponentials a site.
    /// No memory beside the chain's own.
    ///
    /// # Errors
    /// [`ParameterError`] where σ is not positive (+∞ is allowed) or α is outside (0, 1].
    pub fn second_order(noise: N, step_size: f32, balance: f32) -> Result<Self, ParameterError> {
        Self::with_noise(noise, balance, Curvature::Same(inverse(step_size)?), true)
    }

    /// The precision κ of the auxiliary variable of which η is made: η ~ N(0, (W+D)/κ). The default is 1, which is
    /// right at both ends of the balanced line (METHODS.md §3). Between them
    /// [`Adaptation::with_precision`](crate::noise::Adaptation::with_precision) finds one by jump distance.
    ///
    /// # Errors
    /// [`ParameterError::Precision`] where κ is not from 10⁻⁶ to 10⁶.
    pub fn precision(mut self, precision: f32) -> Result<Self, ParameterError> {
        self.precision = precision_value(precision)?;
        Ok(self)
    }

    /// Keeps the share a of η from step to step, 0 ≤ a < 1: second order with momentum (METHODS.md §3). Without
    /// it a is 0. Begin with .5.
    ///
    /// ```text
    /// refresh   η ← aη + √(1−a²) ζ,  ζ ~ N(0, (W+D)/κ)
    /// move      y, η' = η − (W+D)v and ln A as without
    /// accept    (x, η) ← (y, −η')            reject   (x, η) ← (x, −η)
    /// ```
    ///
    /// A chain goes on in the direction of its last steps where they were accepted. It keeps p, and is not reversible. Where
    /// the energy is quadratic it keeps every move accepted, at α = κ = 1 and σ = ∞.
    ///
    /// η is in the chain's memory: 4 bytes a site more, [`Memory::weights_and_momentum`](crate::Memory::weights_and_momentum),
    /// and for categorical sites a value. A chain without this room refuses every step as a fault.
    /// [`Snapshot`](crate::snapshot::Snapshot)s keep it. Other kernels between leave it alone, and so do clamped sites. It is
    /// drawn anew at the start, after [`restart`](crate::Chain::restart), `rebind` and
    /// [`resume`](crate::Chain::resume), and after a fault. It is also drawn anew where the kernel has another W, D or κ
    /// ([`Noise::key`]). A noise that draws nothing has nothing to keep.
    ///
    /// ```
    /// use bitmc::noise::{Edgewise, SparseMatrix};
    /// use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};
    /// const L: Layout = Layout::binary(64);
    /// let mut couplings = SparseMemory::<64, 256>::new();
    /// let model = Ising::spins_edges_once(64, torus(8, 8, 0.44), &[], couplings.borrow())?;
    /// let mut d = [[0.0; 16]; L.blocks()];
    /// let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d)?;
    /// let sampler = Langevin::second_order(noise, f32::INFINITY, 1.0)?.momentum(0.5)?.metropolis_flips()?;
    /// let mut rng = LaneRng::seed_from_u64(1);
    /// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(64), momentum), &mut rng)?;
    /// let accepted = (0..100).filter(|_| chain.step(&sampler, &mut rng).accepted).count();
    /// assert!(accepted >= 99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost beside a step without: a multiplication and an addition a site.
    ///
    /// # Errors
    /// [`ParameterError::Momentum`] where a is not in [0, 1).
    pub fn momentum(mut self, keep: f32) -> Result<Self, ParameterError> {
        self.momentum = Momentum::new(keep, &self.noise)?;
        Ok(self)
    }

    /// A site of two values flips with probability min(1, e^z), z its log odds, in place of 1/(1 + e^(−z)). So it
    /// flips as often as it can. A site that stays has no way back where its log odds at the other end are not below
    /// 0: the move is rejected.
    ///
    /// Where the energy is quadratic that does not happen, at α = κ = 1 and σ = ∞. Elsewhere fewer moves are accepted, and on
    /// energies with strong terms of third degree it may lose: measure it (`docs/second-order.md`).
    ///
    /// Sites of more values make every step a fault.
    ///
    /// # Errors
    /// [`ParameterError::MetropolisFlips`] where the noise draws nothing.
    pub fn metropolis_flips(mut self) -> Result<Self, ParameterError> {
        if !N::SOME {
            return Err(ParameterError::MetropolisFlips);
        }
        self.metropolis = true;
        Ok(self)
    }

    /// η ~ N(0, (W+D)/κ), with momentum the one that follows the `kept` one.
    #[inline]
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        eta: &mut [Block],
        (known, kept): Momenta<'_>,
        planes: usize,
    ) {
        self.noise.draw(rng, eta, planes);
        over_precision(eta, self.precision);
        if let Some(momentum) = &self.momentum {
            momentum.refresh(momentum.floats(self.precision, eta.len()), known, kept, eta);
        }
    }
}

/// κ, where it is legal: far beyond what moves, and so near 1 that ln A does not overflow by κ alone.
pub(in crate::step) fn precision_value(precision: f32) -> Result<f32, ParameterError> {
    if (1e-6..=1e6).contains(&precision) { Ok(precision) } else { Err(ParameterError::Precision(precision)) }
}

/// 1/σ, 0 for σ = ∞.
pub(in crate::step) fn inverse(step_size: f32) -> Result<f32, ParameterError> {
    let inverse = 1.0 / step_size;
    let legal = step_size > 0.0 && inverse.is_finite();
    if legal { Ok(inverse) } else { Err(ParameterError::StepSize(step_size)) }
}
