//! Population annealing: many replicas at one β, reweighted and resampled from β to β.

use super::{AnnealError, Replica};
use crate::chain::ChainError;
use crate::energy::{Energy, EnergyError, PathError};
use crate::lane::{Bits, Block, F32s, exp, ln};
use rand_core::Rng;

/// 2³²: the weight of the likeliest replica.
const ONE: f32 = 4_294_967_296.0;

/// The most replicas of a population: sums of weights have 64 bits.
const MOST: usize = 1 << 30;

crate::error::errors! {
    /// Why a population cannot go on.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum PopulationError {
        /// There are none, or more than 2³⁰.
        Size(size: usize) => "a population of {size} replicas: it has from 1 to 2^30";
        /// A buffer has not one number a replica.
        Length {
            /// Replicas.
            need: usize,
            /// Numbers in the buffer.
            got: usize,
        } => "{got} numbers for {need} replicas: there is one each";
        /// A gap is NaN or −∞.
        Gap {
            /// The replica.
            replica: usize,
            /// Its `E − E₀`.
            value: f32,
        } => "E - E0 of replica {replica} is {value}: it is finite or +inf";
        /// A replica has another β than the first one.
        Uneven {
            /// The replica.
            replica: usize,
            /// Its β.
            value: f32,
        } => "replica {replica} is at beta {value}: all replicas of a population have one beta";
        /// A family's number is not below the number of replicas.
        Family {
            /// The replica.
            replica: usize,
            /// The number of its family.
            value: u32,
        } => "replica {replica} is of family {value}: families are numbered as the replicas";
        /// Every replica is in a state that the energy forbids.
        Extinct => "every replica is in a forbidden state: a larger population is needed";
        /// The next β is not above the present one, or not finite.
        Beta {
            /// The present β.
            from: f32,
            /// The next one.
            to: f32,
        } => "the next beta {to} is not finite and above {from}";
        /// The share of equal weights is not between 0 and 1.
        Share(share: f32) => "a share of {share}: it is above 0 and below 1";
        /// A β is none.
        Path(error: PathError) from PathError => "{error}";
        /// A state could not be copied: the replicas are on different energies.
        Chain(error: ChainError) from ChainError => "{error}";
    }
}

/// Weights of replicas on a step of β, `e^(−step (U − least))`, as whole multiples of 2⁻³²: their sums are exact in any order.
#[derive(Clone, Copy, Debug)]
struct Weigh {
    step: f32,
    least: f32,
}

impl Weigh {
    fn of(self, gap: f32) -> u64 {
        // Rounded down; NaN, of two infinities, is 0.
        (exp(-(self.step * (gap - self.least))) * ONE) as u64
    }

    /// Σ w, and Σ w² in units of 2³².
    fn sums(self, gaps: &[f32]) -> (u64, u64) {
        gaps.iter().fold((0, 0), |(sum, squares), &gap| {
            let weight = self.of(gap);
            let coarse = weight >> 16;
            (sum + weight, squares + coarse * coarse)
        })
    }
}

/// (Σ w)² / Σ w².
fn equal_weights((sum, squares): (u64, u64)) -> f32 {
    let sum = sum as f32 / 65_536.0;
    sum * sum / squares as f32
}

/// The least gap, and how many are finite.
fn survey(gaps: &[f32]) -> Result<(f32, usize), PopulationError> {
    check_size(gaps.len())?;
    let illegal = |(_, gap): &(usize, &f32)| gap.is_nan() || **gap == f32::NEG_INFINITY;
    if let Some((replica, &value)) = gaps.iter().enumerate().find(illegal) {
        return Err(PopulationError::Gap { replica, value });
    }
    let least = gaps.iter().fold(f32::INFINITY, |least, &gap| if gap < least { gap } else { least });
    let possible = gaps.iter().filter(|gap| **gap < f32::INFINITY).count();
    if possible == 0 { Err(PopulationError::Extinct) } else { Ok((least, possible)) }
}

fn check_size(size: usize) -> Result<(), PopulationError> {
    if (1..=MOST).contains(&size) { Ok(()) } else { Err(PopulationError::Size(size)) }
}

/// The systematic resampling of a population from β to β + step (METHODS.md §4). Replica i has weight
/// `τᵢ = e^(−step·Uᵢ)`, where `Uᵢ = E − E₀` is its gap, and R τᵢ/Στ copies on average. One uniform number serves all.
/// The count is never a whole copy off. There are R copies in all.
///
/// It sees gaps only, never a state: replicas may live anywhere. Weights are whole multiples of 2⁻³² of the largest
/// one, and sums of them are exact. So no order of the replicas, number of threads or machine changes a copy.
///
/// ```
/// use bitmc::temper::Resampling;
/// use bitmc::{LaneRng, SeedableRng};
///
/// let gaps = [0.0, 2.0, 9.0, f32::INFINITY]; // the last one is forbidden
/// let resampling = Resampling::new(0.5, &gaps, &mut LaneRng::seed_from_u64(1))?;
/// assert_eq!(resampling.copies().sum::<u32>(), 4);
/// // (1 + e^−1 + e^−4.5) / 4
/// assert!((resampling.log_mean() - (1.378_988f32 / 4.0).ln()).abs() < 1e-5);
/// # Ok::<(), bitmc::temper::PopulationError>(())
/// ```
///
/// Cost: an exponential a replica at the start, and one for each time that the copies are told.
#[derive(Clone, Copy, Debug)]
pub struct Resampling<'a> {
    gaps: &'a [f32],
    weigh: Weigh,
    sums: (u64, u64),
    /// Uniform below Σ w.
    start: u64,
}

impl<'a> Resampling<'a> {
    /// The resampling for replicas of these gaps, on a step of β. +∞ is a forbidden state, of weight 0. Takes two words of
    /// the generator.
    ///
    /// # Errors
    /// [`PopulationError::Size`], [`PopulationError::Gap`], [`PopulationError::Extinct`], and
    /// [`PopulationError::Beta`] where the step is not finite and above 0.
    pub fn new<R: Rng + ?Sized>(step: f32, gaps: &'a [f32], rng: &mut R) -> Result<Self, PopulationError> {
        let (least, _) = survey(gaps)?;
        if !(step > 0.0 && step.is_finite()) {
            return Err(PopulationError::Beta { from: 0.0, to: step });
        }
        let weigh = Weigh { step, least };
        let sums = weigh.sums(gaps);
        let start = ((u128::from(rng.next_u64()) * u128::from(sums.0)) >> 64) as u64;
        Ok(Self { gaps, weigh, sums, start })
    }

    /// `ln (1/R) Σ τᵢ`: the sum of these over all steps of β is an estimate of `ln Z − ln Z₀`. Of Z itself the estimate is
    /// without bias where the steps do not depend on the population.
    #[must_use]
    pub fn log_mean(&self) -> f32 {
        ln(self.sums.0 as f32 / ONE / self.gaps.len() as f32) - self.weigh.step * self.weigh.least
    }

    /// (Σ τ)² / Σ τ²: how many replicas of equal weight would say as much.
    #[must_use]
    pub fn equal_weights(&self) -> f32 {
        equal_weights(self.sums)
    }

    /// The copies of each replica in turn.
    pub fn copies(&self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        let Self { gaps, weigh, sums: (all, _), mut start } = *self;
        let size = gaps.len() as u64;
        gaps.iter().map(move |&gap| {
            // Below Σ w before and after; R Σ w of all replicas together.
            start += size * weigh.of(gap);
            let mut copies = 0;
            while start >= all {
                start -= all;
                copies += 1;
            }
            copies
        })
    }

    /// What makes the copies in place: pairs of a replica that has more than one, and one that has none and takes its state. No
    /// replica is both, so that the order of the pairs does not matter.
    pub fn moves(&self) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let spare = |(from, copies): (usize, u32)| (1..copies).map(move |_| from);
        let none = |(to, copies): (usize, u32)| (copies == 0).then_some(to);
        self.copies().enumerate().flat_map(spare).zip(self.copies().enumerate().filter_map(none))
    }
}

/// The largest β up to `end` at which the weights of the step from `beta` are still even:
/// `(Σ τ)² / (n Σ τ²) ≥ share`. Here n counts the replicas in possible states. A good share is .9. It is found by
/// halving, to a part 2⁻²⁴ of the way to `end`, and is above `beta` always.
///
/// Where β is chosen by the population that takes the step, the estimate of Z is a little biased. Choose in a pilot run.
///
/// Cost: 26 exponentials a replica at most.
///
/// # Errors
/// [`PopulationError::Beta`] where `end` is not finite and above `beta`, [`PopulationError::Share`] where the share is not
/// between 0 and 1, and as [`Resampling::new`] for the gaps.
pub fn next_beta(beta: f32, end: f32, gaps: &[f32], share: f32) -> Result<f32, PopulationError> {
    let (least, possible) = survey(gaps)?;
    if !(share > 0.0 && share < 1.0) {
        return Err(PopulationError::Share(share));
    }
    if !(beta.is_finite() && end > beta && end.is_finite()) {
        return Err(PopulationError::Beta { from: beta, to: end });
    }
    let enough =
        |to: f32| equal_weights(Weigh { step: to - beta, least }.sums(gaps)) >= share * possible as f32;
    if enough(end) {
        return Ok(end);
    }
    let (mut low, mut high) = (beta, end);
    for _ in 0..24 {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            break;
        }
        if enough(middle) { low = middle } else { high = middle }
    }
    Ok(if low > beta { low } else { high })
}

/// What a step of β did to a population.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reweighted {
    /// As [`Resampling::log_mean`].
    pub log_mean: f32,
    /// As [`Resampling::equal_weights`].
    pub equal_weights: f32,
    /// Replicas that took the state of another.
    pub replaced: usize,
}

/// Moves a replica to β = 0 and an exact draw from the base. Returns its gap, +∞ where the energy forbids the draw:
/// the state is then an older one, for [`resample`] to replace. Clamped sites keep their values.
///
/// # Errors
/// [`AnnealError::Chain`] where the energy is faulty at the draw.
pub fn begin<E, W, C, B, R>(replica: &mut Replica<'_, E, W, C, B>, rng: &mut R) -> Result<f32, AnnealError>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    R: Rng + ?Sized,
{
    replica.set_beta(0.0)?;
    match replica.draw_base(rng) {
        Err(ChainError::Energy(EnergyError::Forbidden)) => Ok(f32::INFINITY),
        other => Ok(other.map(|()| replica.gap())?),
    }
}

/// One step of population annealing (Hukushima, Iba 2003; Machta 2010) for replicas in one slice. They are resampled
/// for `beta` by their gaps, and take that β. Then move each by any kernel that samples exactly at β, in any order.
///
/// `gaps` has what [`begin`] returned, later [`Replica::gap`], one a replica. `families` are copied with the states. For
/// [`Families`] number them 0, 1, 2, … before the first step.
///
/// Cost: that of [`Resampling`], and an energy from nothing for each replaced replica.
///
/// # Errors
/// [`PopulationError`]. Nothing has changed then, but after [`PopulationError::Chain`].
pub fn resample<E, W, C, B, R>(
    replicas: &mut [Replica<'_, E, W, C, B>],
    gaps: &[f32],
    families: &mut [u32],
    beta: f32,
    rng: &mut R,
) -> Result<Reweighted, PopulationError>
where
    E: Energy + ?Sized,
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
    R: Rng + ?Sized,
{
    let need = replicas.len();
    if let Some(got) = [gaps.len(), families.len()].into_iter().find(|&got| got != need) {
        return Err(PopulationError::Length { need, got });
    }
    let from = replicas.first().map_or(0.0, Replica::beta);
    if let Some((replica, uneven)) = replicas.iter().enumerate().find(|(_, replica)| replica.beta() != from) {
        return Err(PopulationError::Uneven { replica, value: uneven.beta() });
    }
    if !(beta > from && beta.is_finite()) {
        return Err(PopulationError::Beta { from, to: beta });
    }
    let resampling = Resampling::new(beta - from, gaps, rng)?;
    let mut replaced = 0;
    for pair in resampling.moves().map(<[usize; 2]>::from) {
        if let (Ok([source, target]), Ok([kept, taken])) =
            (replicas.get_disjoint_mut(pair), families.get_disjoint_mut(pair))
        {
            target.restart(source.state())?;
            *taken = *kept;
            replaced += 1;
        }
    }
    replicas.iter_mut().try_for_each(|replica| replica.set_beta(beta))?;
    Ok(Reweighted { log_mean: resampling.log_mean(), equal_weights: resampling.equal_weights(), replaced })
}

/// How much of a population descends from how few of its first replicas (Wang, Machta, Katzgraber 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Families {
    size: u32,
    families: u32,
    squares: u64,
}

impl Families {
    /// Of the families' numbers, one a replica, as [`resample`] leaves them. `sizes` is as long. It ends as the size of each
    /// family.
    ///
    /// # Errors
    /// [`PopulationError::Size`], [`PopulationError::Length`], [`PopulationError::Family`].
    pub fn of(members: &[u32], sizes: &mut [u32]) -> Result<Self, PopulationError> {
        check_size(members.len())?;
        if sizes.len() != members.len() {
            return Err(PopulationError::Length { need: members.len(), got: sizes.len() });
        }
        sizes.fill(0);
        for (replica, &value) in members.iter().enumerate() {
            let size = sizes.get_mut(value as usize).ok_or(PopulationError::Family { replica, value })?;
            *size += 1;
        }
        let families = sizes.iter().filter(|&&size| size > 0).count() as u32;
        let squares = sizes.iter().map(|&size| u64::from(size) * u64::from(size)).sum();
        Ok(Self { size: members.len() as u32, families, squares })
    }

    /// Families that are left.
    #[must_use]
    pub fn families(&self) -> u32 {
        self.families
    }

    /// ρ_t, the mean size of the family of a replica: `R Σ nⱼ²`, nⱼ the share of family j. It is 1 at the start and R where all
    /// descend from one. The population is too small where it is above R/100.
    #[must_use]
    pub fn mean_size(&self) -> f32 {
        self.squares as f32 / self.size as f32
    }

    /// √((ρ_t − 1)/(R − 1)): a standard error of ln Z that knows how badly replicas mix. 0 for one replica.
    #[must_use]
    pub fn relative_error(&self) -> f32 {
        if self.size > 1 {
            F32s::splat((self.mean_size() - 1.0).max(0.0) / (self.size - 1) as f32).sqrt().first()
        } else {
            0.0
        }
    }
}
