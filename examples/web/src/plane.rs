//! The plane of the page: chains of two samplers on twenty-five modes that are far apart, all started in one corner.

use bitmc::lane::{Bits, Block};
use bitmc::step::{Cycle, Kernel, langevin_cycle};
use bitmc::{Chain, Energy, LaneRng, Langevin, Memory, Modes, Packed, Schedule, packed};
use std::sync::OnceLock;

/// Values of a site.
const SIDE: usize = 450;
/// Bins of a side.
pub(crate) const BINS: usize = 150;
/// A mode is found within this distance of its mean: three standard deviations.
const RADIUS: f32 = 30.0;
/// The step size of DMALA, that of the example `multimodal`.
const STEP_SIZE: f32 = 53.0;
/// Steps of the cycle of ACS, its largest and smallest step size and its largest balance, as in its paper.
const CYCLE: usize = 20;
const STEP_SIZES: (f32, f32) = (1575.0, 3.0);
const BALANCE: f32 = 0.95;
/// The most chains of a sampler.
const MOST: u32 = 64;

static MEANS: [[f32; 2]; 25] = Modes::FIVE_BY_FIVE;
static MODEL: OnceLock<Modes<'static>> = OnceLock::new();

struct PlaneChain {
    chain: Chain<'static, Modes<'static>, Vec<u32>, Vec<Bits>, Vec<Block>>,
    rng: LaneRng,
    /// A bit for each mode that it has found.
    found: u32,
}

/// The chains of one sampler, and how often they were in each bin.
struct Panel {
    chains: Vec<PlaneChain>,
    counts: Vec<u32>,
}

/// DMALA and ACS, in this order.
pub(crate) struct Plane {
    panels: [Panel; 2],
    langevin: Langevin<'static>,
    cycle: [Langevin<'static>; CYCLE],
}

fn says(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Panel {
    fn new(model: &'static Modes<'static>, count: u32, seed: u32) -> Result<Self, String> {
        let layout = model.layout();
        let mut start = vec![0; layout.words()];
        for site in 0..layout.sites() {
            packed::set(layout, &mut start, site, 75).map_err(says)?;
        }
        let one = |number| {
            let memory = Memory {
                words: vec![0; Memory::words(layout)],
                cache: vec![Bits::default(); Memory::cache(model.cache_len())],
                weights: vec![Block::default(); Memory::weights_and_gradients(layout)],
            };
            let chain = Chain::new(model, memory, Packed::new(layout, &start).map_err(says)?).map_err(says)?;
            Ok(PlaneChain { chain, rng: LaneRng::stream(u64::from(seed), number), found: 0 })
        };
        let chains = (0..count).map(one).collect::<Result<_, String>>()?;
        Ok(Self { chains, counts: vec![0; BINS * BINS] })
    }

    fn run(&mut self, steps: u32, kernel: &impl Kernel<Modes<'static>>) {
        for one in &mut self.chains {
            for _ in 0..steps {
                one.chain.step(kernel, &mut one.rng);
                let (x, y) = (one.chain.state().get(0), one.chain.state().get(1));
                let bin = |value: u32| value as usize * BINS / SIDE;
                self.counts[BINS * bin(y) + bin(x)] += 1;
                let near = |[a, b]: &[f32; 2]| (x as f32 - a).hypot(y as f32 - b) <= RADIUS;
                one.found |= MEANS.iter().position(near).map_or(0, |mode| 1 << mode);
            }
        }
    }
}

impl Plane {
    pub(crate) fn new(count: u32, seed: u32) -> Result<Self, String> {
        if !(1..=MOST).contains(&count) {
            return Err(format!("{count} chains: it must be 1 to {MOST}"));
        }
        let normal = Modes::normal(&MEANS, SIDE, 100.0).map_err(says)?;
        let model = MODEL.get_or_init(|| normal);
        let (steps, (largest, smallest)) = (CYCLE as u64, STEP_SIZES);
        let sizes = Schedule::cyclical_step_size(largest, smallest, steps).map_err(says)?;
        let balances = Schedule::cosine(BALANCE, 0.5, steps).map_err(says)?;
        Ok(Self {
            panels: [Panel::new(model, count, seed)?, Panel::new(model, count, seed)?],
            langevin: Langevin::adjusted(STEP_SIZE).map_err(says)?,
            cycle: langevin_cycle(&sizes, &balances).map_err(says)?,
        })
    }

    /// Some steps of every chain.
    pub(crate) fn run(&mut self, steps: u32) {
        let Self { panels: [first, second], langevin, cycle } = self;
        first.run(steps, langevin);
        if let Some(cycle) = Cycle::new(cycle) {
            second.run(steps, &cycle);
        }
    }

    /// How often the chains of a sampler were in each bin, row by row.
    pub(crate) fn counts(&self, panel: u32) -> Option<&[u32]> {
        self.panels.get(panel as usize).map(|panel| panel.counts.as_slice())
    }

    /// Modes that a chain of a sampler has found, the mean over its chains.
    pub(crate) fn found(&self, panel: u32) -> f64 {
        let Some(panel) = self.panels.get(panel as usize) else { return f64::NAN };
        let found: u32 = panel.chains.iter().map(|one| one.found.count_ones()).sum();
        f64::from(found) / panel.chains.len() as f64
    }
}
