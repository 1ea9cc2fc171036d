//! All that a batch of any model knows, without its sites.

use super::log_product::LogProducts;
use super::site::Level;
use super::{ALL, BatchError, BatchInfo, group};
use crate::lane::{Block, F32s, LANES, Mask, PARTS, Total};
use crate::random::LaneRng;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};

/// All that a batch knows, without its sites.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    /// E of each chain at β = 1.
    pub(super) energies: [Total; LANES],
    pub(super) betas: Block,
    /// Π (sum of weights) of each chain: in Potts models kept where `weights_of` is set.
    pub(super) normalisers: LogProducts,
    pub(super) weights_of: Option<u64>,
    /// Of Ising models: sums over the sites at the states.
    pub(super) level: Level,
    /// The chains that accepted the last proposal: their weights are those there, and in Ising models their states too.
    pub(super) accepted: u32,
    /// Whether an energy has moved so far that the difference's own rounding may show.
    pub(super) coarse: bool,
    pub(super) steps: u64,
}

impl Core {
    /// Bytes in a snapshot.
    pub(super) const LEN: usize = 12 + 12 * LANES;

    pub(super) fn new() -> Self {
        Self {
            energies: [Total::default(); LANES],
            betas: [1.0; LANES],
            normalisers: LogProducts::ONE,
            weights_of: None,
            level: Level::default(),
            accepted: 0,
            coarse: false,
            steps: 0,
        }
    }

    pub(super) fn energy(&self, chain: usize) -> f32 {
        self.energies.get(chain).map_or(f32::NAN, |energy| energy.value())
    }

    /// The Metropolis test of proposals in the chains of `adjusted`. The others accept. Takes the products of weights
    /// there and back, and of the weights at the proposed states, `normalisers`. Returns ln A of each chain. Where a
    /// proposal is accepted its normaliser is taken over.
    pub(super) fn test(
        &mut self,
        (forward, backward): (LogProducts, LogProducts),
        normalisers: LogProducts,
        differences: &Block,
        adjusted: u32,
        rng: &mut LaneRng,
    ) -> Block {
        let reverse = backward.times(self.normalisers);
        let mut log_ratios = reverse.over(forward.times(normalisers)).ln();
        for part in 0..PARTS {
            let log_ratio = F32s::load(&log_ratios, part) - F32s::load(differences, part);
            Mask::from_bits(adjusted, part).pick(log_ratio, F32s::splat(0.0)).store(&mut log_ratios, part);
        }
        self.accepted = accept(&log_ratios, adjusted, rng);
        self.normalisers = normalisers.where_set(self.accepted, self.normalisers);
        log_ratios
    }

    /// What a unit of a field is in log odds of each chain: βu, and finite, as is a field of it. Far below the limit
    /// every field but 0 is beyond the log odds of a draw.
    pub(super) fn scales(&self, unit: f32) -> Block {
        const MOST: f32 = (1u128 << 96) as f32;
        self.betas.map(|beta| (unit * beta).min(MOST))
    }

    /// Differences of energies, times the chains' β: of β = 0 they are 0 of either sign, and to be 0 as in a replica.
    pub(super) fn tempered(&self, mut differences: Block) -> Block {
        for (difference, beta) in differences.iter_mut().zip(self.betas) {
            *difference = *difference * beta + 0.0;
        }
        differences
    }

    /// Ends a step: moves the energies along by `differences`, those at β = 1, and counts it.
    pub(super) fn close(&mut self, info: BatchInfo, differences: &Block) -> BatchInfo {
        for (chain, (energy, &difference)) in self.energies.iter_mut().zip(differences).enumerate() {
            let mut moved = *energy;
            moved.add(difference);
            *energy = if (info.accepted >> chain) & 1 != 0 { moved } else { *energy };
        }
        self.coarse |= (0..PARTS).any(|part| {
            let size = F32s::load(differences, part).abs();
            let coarse = !size.lt(F32s::splat(Total::COARSE)) & size.lt(F32s::splat(f32::INFINITY));
            (coarse & Mask::from_bits(info.accepted, part)).any()
        });
        self.steps = self.steps.wrapping_add(1);
        info
    }

    /// Ends a step whose kernel does not fit the model.
    pub(super) fn failed(&mut self) -> BatchInfo {
        self.steps = self.steps.wrapping_add(1);
        let log_ratios = [f32::NEG_INFINITY; LANES];
        let (proposed, differences) = ([0; LANES], [0.0; LANES]);
        BatchInfo { accepted: 0, proposed, log_ratios, differences, fault: true }
    }

    pub(super) fn save(&self, to: &mut Writer<'_>) {
        self.steps.save(to);
        self.betas.save(to);
        self.energies.iter().for_each(|energy| energy.save(to));
    }

    /// Weights are to be made again.
    pub(super) fn loaded(from: &mut Reader<'_>, legal: impl Fn(f32) -> bool) -> Result<Self, SnapshotError> {
        let mut core = Self::new();
        core.steps.load(from)?;
        core.betas.load(from)?;
        if !core.betas.iter().all(|&beta| legal(beta)) {
            return Err(SnapshotError::Value);
        }
        core.energies.iter_mut().try_for_each(|energy| energy.load(from))?;
        if !core.energies.iter().all(|energy| energy.value().is_finite()) {
            return Err(SnapshotError::Value);
        }
        Ok(core)
    }
}

/// [`accept`](crate::accept::accept) in the chains of `tested`; the others accept without a draw.
pub(super) fn accept(log_ratios: &Block, tested: u32, rng: &mut LaneRng) -> u32 {
    let u = group::one_uniform(rng, tested);
    let mut accepted = !tested & ALL;
    for part in 0..PARTS {
        let (zero, ratio) = (F32s::splat(0.0), F32s::load(log_ratios, part));
        let better = zero.lt(ratio) | ratio.eq(zero);
        let lucky = F32s::load(&u, part).lt(ratio.exp());
        accepted |= (Mask::from_bits(tested, part) & (better | lucky)).bits(part);
    }
    accepted
}

/// The bit of a chain.
pub(super) fn chain_bit(chain: usize) -> Result<u32, BatchError> {
    let bit = u32::try_from(chain).ok().and_then(|chain| 1u32.checked_shl(chain)).unwrap_or(0) & ALL;
    if bit == 0 { Err(BatchError::Chain { chain }) } else { Ok(bit) }
}

/// Whether a β is legal whatever the model.
pub(super) fn legal(beta: f32) -> bool {
    beta >= 0.0 && beta.is_finite()
}

/// What only the cells of this crate are.
pub trait Sealed {}
