//! Programs of operations on chains, from exact starts.

use super::kernel::{Recipe, Sampler};
use super::memory;
use super::model::{Model, Shape};
use super::verdict::{ALARM, p_value};
use crate::heap::{self, HeapChain, HeapMemory};
use crate::models::Source;
use crate::snapshot::{load, save, sealed};
use crate::stat::replicas::{Dice, reference_rng};
use crate::tolerance::ROUNDING;
use bitmc::chain::snapshot_len;
use bitmc::snapshot::FRAME;
use bitmc::stats::Means;
use bitmc::{Bernoulli, Chain, Energy, Info, LaneRng, Langevin, Layout, Memory, Packed};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Something that is done with one of two chains over a model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Some transitions by one of the samplers, one by one.
    Step(usize, u32),
    /// The same by `Chain::run`.
    Run(usize, u32),
    /// Of both chains at once, where the sampler can.
    Together(usize, u32),
    /// Holds the sites of a mask.
    Clamp(u32),
    /// Frees all.
    Release,
    /// Another exact draw.
    Restart,
    /// State and core, taken out and put into other memory.
    Resume,
    /// A snapshot, some transitions, and back.
    Back(usize, u32),
    /// A snapshot that the other chain loads: both go on from one state.
    Copy,
    /// A snapshot loaded into a new chain in used memory.
    Fresh,
    /// A forged snapshot, which must be refused and change nothing.
    Forge(Forgery),
    /// The memory given back, used by another chain, and taken again.
    Recycle,
    /// The same, from a random start, which must be fair.
    Random,
    /// Energy and cache computed anew.
    Refresh,
    /// Let go of the model, and bound to it again.
    Rebind,
}

/// What is wrong with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forgery {
    /// A bit past the last site of the state.
    Padding,
    /// A value that a site has not.
    Value,
    /// A bit past the last site of the mask of free sites.
    Mask,
    /// An energy of NaN.
    Energy,
    /// Another layout.
    Sites,
    /// An altered byte, without a new checksum.
    Torn,
    /// A state that the energy forbids.
    Forbidden,
}

const FORGERIES: [Forgery; 9] = [
    Forgery::Padding,
    Forgery::Padding,
    Forgery::Value,
    Forgery::Value,
    Forgery::Mask,
    Forgery::Energy,
    Forgery::Sites,
    Forgery::Torn,
    Forgery::Forbidden,
];

/// What is done wrong on purpose, so that the lane must say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    None,
    /// Samplers without their Metropolis test.
    Unadjusted,
    /// Differences of energies are half of what they are.
    HalfEnergy,
    /// A gradient is that of the state before.
    StaleGradient,
    /// Sites are not held.
    ForgottenClamp,
    /// A chain's state keeps bits of its memory.
    KeptBits,
    /// A snapshot that is right counts as forged.
    NotForged,
}

/// A program of operations.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Which chain does what, in order.
    pub(crate) ops: Vec<(usize, Op)>,
    /// The samplers.
    pub(crate) recipes: Vec<Recipe>,
    /// Replicas of the whole.
    pub(crate) replicas: u64,
    /// Whether chains have room for gradients, and for a momentum.
    pub(crate) room: [bool; 2],
    /// What is wrong.
    pub(crate) defect: Defect,
}

impl Plan {
    /// A program for a model.
    pub(crate) fn random(model: &Model, source: &mut Source, defect: Defect) -> Self {
        let count = 1 + source.below(3);
        let mut recipes: Vec<Recipe> = (0..count).map(|_| Recipe::random(model, source)).collect();
        if source.one_in(3) && count > 1 {
            // The same sampler with other parameters.
            let first = recipes[0].clone();
            recipes[1] = Recipe { step_size: 1.5 * first.step_size, ..first };
        }
        if recipes.iter().any(Recipe::own) {
            recipes.iter_mut().for_each(Recipe::fit);
        }
        let mask = |source: &mut Source| source.word() & source.word();
        let two = source.one_in(2);
        let mut ops = vec![];
        let mut steps = 0;
        let goal = 5 + source.below(36) as u32;
        while steps < goal {
            let chain = if two { source.below(2) } else { 0 };
            let kernel = source.below(count);
            let number = 1 + source.below(6) as u32;
            let op = match source.below(26) {
                0..=6 => Op::Step(kernel, number),
                7 | 8 => Op::Run(kernel, number),
                9 | 10 if two => Op::Together(kernel, number),
                11 | 12 => Op::Clamp(mask(source)),
                13 => Op::Release,
                14 => Op::Restart,
                15 => Op::Resume,
                16 => Op::Back(kernel, number),
                17 if two => Op::Copy,
                18 => Op::Fresh,
                19 | 20 => Op::Forge(source.pick(&FORGERIES)),
                21 => Op::Recycle,
                22 => Op::Random,
                23 => Op::Refresh,
                24 => Op::Rebind,
                _ => Op::Step(kernel, number),
            };
            steps += match op {
                Op::Step(_, n) | Op::Run(_, n) | Op::Together(_, n) | Op::Back(_, n) => n,
                _ => 0,
            };
            ops.push((chain, op));
        }
        if defect == Defect::Unadjusted {
            recipes.iter_mut().for_each(|recipe| recipe.unadjusted = true);
        }
        // Few replicas see what is grossly wrong, many what is a little wrong.
        let replicas = source.pick(&[300, 300, 1000, 3000, 10_000]);
        let moves = recipes.iter().any(|recipe| recipe.keeps() && recipe.momentum > 0.0);
        let room = [source.one_in(2), moves || source.one_in(4)];
        Self { ops, recipes, replicas, room, defect }
    }

    /// In words.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        let recipes: Vec<String> = self.recipes.iter().map(Recipe::describe).collect();
        format!("{}; {:?}; {} replicas; room {:?}", recipes.join(" / "), self.ops, self.replicas, self.room)
    }
}

/// The exact distribution of a model.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    /// `p` of every state.
    pub(crate) distribution: Vec<f64>,
    dice: Dice,
}

impl Exact {
    /// By enumeration in float64.
    #[must_use]
    pub(crate) fn of(energies: &[f64]) -> Self {
        let distribution = crate::enumerate::Distribution::from_energies(0, energies.to_vec()).probabilities;
        Self { dice: Dice::new(&distribution), distribution }
    }

    /// One draw.
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> usize {
        self.dice.roll(rng)
    }
}

/// A chain with what must hold of it.
struct Watched<'e, E: Energy + ?Sized> {
    chain: HeapChain<'e, E>,
    /// Which sites are held, and the state that says at which values.
    held: (u32, usize),
    /// Moves of single sites since the energy was computed.
    moves: f64,
    rng: LaneRng,
}

/// A program under way.
pub(super) struct Player<'p, 'e, E: Energy + ?Sized, K> {
    pub(super) model: &'p Model,
    pub(super) energy: &'e E,
    pub(super) kernels: &'p [K],
    pub(super) plan: &'p Plan,
    pub(super) exact: &'p Exact,
    words: Vec<Vec<u32>>,
    source: Source,
    reference: Xoshiro256PlusPlus,
    /// Of chains that use the memory in between.
    stranger: LaneRng,
    /// States of random starts.
    fair: Vec<u64>,
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl<'p, 'e, E: Energy + ?Sized, K: Sampler<E>> Player<'p, 'e, E, K> {
    pub(super) fn new(
        (model, energy): (&'p Model, &'e E),
        kernels: &'p [K],
        (plan, exact): (&'p Plan, &'p Exact),
        seed: u64,
    ) -> Self {
        let words = (0..model.shape.states()).map(|state| model.shape.words(state)).collect();
        let (source, reference) = (Source::new(seed ^ 0x5EED), reference_rng(seed, 1));
        let fair = vec![0; model.shape.states()];
        let stranger = LaneRng::stream(seed, 3);
        Self { model, energy, kernels, plan, exact, words, source, reference, stranger, fair }
    }

    /// All replicas, or the first thing that is wrong; the number of comparisons.
    pub(super) fn play(&mut self, seed: u64) -> Result<usize, String> {
        let states = self.model.shape.states();
        let mut ends = [vec![0; states], vec![0; states]];
        let mut memories = [self.memory(), self.memory()];
        let second =
            self.plan.ops.iter().any(|&(chain, op)| chain == 1 || matches!(op, Op::Copy | Op::Together(..)));
        let mut rngs = [0, 1].map(|chain| LaneRng::stream(seed, chain));
        for replica in 0..self.plan.replicas {
            let mut chains = vec![];
            for (memory, rng) in memories.into_iter().zip(rngs) {
                let state = self.exact.draw(&mut self.reference);
                chains.push(Watched { chain: self.start(memory, state)?, held: (0, 0), moves: 0.0, rng });
            }
            let mut chains: [Watched<'_, E>; 2] = chains.try_into().map_err(|_| "two chains")?;
            for (at, &(chain, op)) in self.plan.ops.iter().enumerate() {
                chains = self.operate(chains, chain, op).map_err(|error| {
                    format!("replica {replica}, operation {at}, {op:?} of chain {chain}: {error}")
                })?;
            }
            for (chain, ends) in chains.iter().zip(&mut ends) {
                ends[self.look(chain)?] += 1;
                self.compare(chain)?;
            }
            let [first, second] = chains;
            (memories, rngs) =
                ([first.chain.into_memory(), second.chain.into_memory()], [first.rng, second.rng]);
        }
        let fair = self.fair.iter().sum::<u64>() > 0;
        let allowed = self.model.energies.iter().filter(|energy| energy.is_finite()).count() as f64;
        let uniform: Vec<f64> = self
            .model
            .energies
            .iter()
            .map(|energy| if energy.is_finite() { 1.0 / allowed } else { 0.0 })
            .collect();
        let what = [
            ("the end", &ends[0], &self.exact.distribution),
            ("the second chain's end", &ends[1], &self.exact.distribution),
        ];
        let what = what.into_iter().take(1 + usize::from(second));
        let what = what.chain(fair.then_some(("random starts", &self.fair, &uniform)));
        let mut comparisons = 0;
        for (what, counts, distribution) in what {
            comparisons += 1;
            let p = p_value(counts, distribution);
            if p.is_nan() || p < ALARM {
                return Err(format!("{what} has p = {p:.1e}: {}", worst(counts, distribution)));
            }
        }
        Ok(comparisons)
    }

    fn state(&self, number: usize) -> Packed<'_> {
        Packed::new(self.model.shape.layout, &self.words[number]).expect("a state")
    }

    fn memory(&self) -> HeapMemory {
        let layout = self.model.shape.layout;
        let length = match self.plan.room {
            [false, false] => Memory::weights(layout),
            [false, true] => Memory::weights_and_momentum(layout),
            [true, false] => Memory::weights_and_gradients(layout),
            [true, true] => Memory::weights_gradients_and_momentum(layout),
        };
        heap::moving_memory(self.energy, length - Memory::weights(layout))
    }

    fn start(&mut self, mut memory: HeapMemory, state: usize) -> Result<HeapChain<'e, E>, String> {
        memory::wear(&mut memory, &mut self.source);
        let start = Packed::new(self.model.shape.layout, &self.words[state]).expect("a state");
        Chain::new(self.energy, memory, start).map_err(|error| format!("a start is refused: {error}"))
    }

    /// The number of a chain's state, and whether it is what it may be.
    fn look(&self, of: &Watched<'_, E>) -> Result<usize, String> {
        let x = of.chain.state();
        let number = self.model.shape.number(x).ok_or_else(|| format!("an illegal state: {:x?}", x.words()))?;
        if self.model.energies[number].is_infinite() {
            return Err(format!("a forbidden state, {:?}", self.model.shape.values(number)));
        }
        let (mask, at) = of.held;
        for site in (0..x.layout().sites()).filter(|site| mask >> site & 1 != 0) {
            if x.get(site) as usize != self.model.shape.value(at, site) {
                return Err(format!("site {site} is held and moved"));
            }
        }
        if of.chain.faults() > 0 && !self.model.wild {
            return Err(format!("{} faults", of.chain.faults()));
        }
        Ok(number)
    }

    /// The energy that is carried along against the reference.
    fn compare(&self, of: &Watched<'_, E>) -> Result<(), String> {
        let truth = self.model.energies[self.look(of)?];
        let bound = ROUNDING * (self.model.size + 1.0) * (75.0 + 12.0 * of.moves);
        let carried = f64::from(of.chain.energy());
        if (carried - truth).abs() <= bound {
            Ok(())
        } else {
            Err(format!("the energy is {carried}, and {truth} within {bound:.1e} is right"))
        }
    }

    fn said(&self, info: &Info) -> Result<(), String> {
        if info.log_ratio.is_nan() || (info.fault && !self.model.wild) {
            return Err(format!("a step says {info:?}"));
        }
        Ok(())
    }

    fn step(&self, of: &mut Watched<'e, E>, kernel: usize, steps: u32) -> Result<(), String> {
        for _ in 0..steps {
            let info = of.chain.step(&self.kernels[kernel], &mut of.rng);
            self.said(&info)?;
            of.moves += f64::from(info.moved());
            self.look(of)?;
        }
        Ok(())
    }

    fn hold(&self, of: &mut Watched<'e, E>, mask: u32) -> Result<(), String> {
        let layout = Layout::binary(self.model.shape.layout.sites());
        let words = [mask & layout.last_word()];
        of.held = (words[0], self.look(of)?);
        if self.plan.defect != Defect::ForgottenClamp {
            of.chain.clamp(Packed::new(layout, &words).map_err(said)?).map_err(said)?;
        }
        Ok(())
    }

    /// Does one thing.
    fn operate(
        &mut self,
        chains: [Watched<'e, E>; 2],
        which: usize,
        op: Op,
    ) -> Result<[Watched<'e, E>; 2], String> {
        let [first, second] = chains;
        let (mut this, mut other) = if which == 0 { (first, second) } else { (second, first) };
        match op {
            Op::Step(kernel, steps) => self.step(&mut this, kernel, steps)?,
            Op::Run(kernel, steps) => {
                let sites = self.model.shape.layout.sites();
                let binary = self.model.shape.layout.kind() == bitmc::Kind::Binary;
                let (kernel, before) = (&self.kernels[kernel], this.chain.steps());
                if binary {
                    let mut means = Means::new(vec![self.source.word(); sites]);
                    this.chain.run(kernel, &mut this.rng, steps.into(), &mut means);
                } else {
                    this.chain.run(kernel, &mut this.rng, steps.into(), &mut ());
                }
                if this.chain.steps() != before + u64::from(steps) {
                    return Err(format!("{} steps are counted", this.chain.steps() - before));
                }
                this.moves += f64::from(steps) * sites as f64;
            }
            Op::Together(kernel, steps) => match self.kernels[kernel].langevin() {
                Some(kernel) => (this, other) = self.together(kernel, this, other, steps)?,
                None => self.step(&mut this, kernel, steps)?,
            },
            Op::Clamp(mask) => self.hold(&mut this, mask)?,
            Op::Release => {
                this.chain.release();
                this.held = (0, 0);
            }
            Op::Restart => {
                let state = self.exact.draw(&mut self.reference);
                this.chain.restart(self.state(state)).map_err(said)?;
                (this.held.1, this.moves) = (state, 0.0);
            }
            Op::Resume => {
                let (words, core) = (this.chain.state().words().to_vec(), this.chain.core());
                let mut memory = this.chain.into_memory();
                memory::wear(&mut memory, &mut self.source);
                let state = Packed::new(self.model.shape.layout, &words).map_err(said)?;
                this.chain = Chain::resume(self.energy, memory, state, core).map_err(said)?;
                this.held = (0, 0);
            }
            Op::Back(kernel, steps) => {
                let (bytes, held, moves) = (save(&[&this.chain]), this.held, this.moves);
                self.step(&mut this, kernel, steps)?;
                load(&bytes, &mut [&mut this.chain]).map_err(|error| format!("refused: {error}"))?;
                (this.held, this.moves) = (held, moves);
                if save(&[&this.chain]) != bytes {
                    return Err("the snapshot of what was loaded is another one".into());
                }
            }
            Op::Copy => {
                load(&save(&[&this.chain]), &mut [&mut other.chain])
                    .map_err(|error| format!("refused: {error}"))?;
                (other.held, other.moves) = (this.held, this.moves);
            }
            Op::Fresh => {
                let bytes = save(&[&this.chain]);
                let memory = this.chain.into_memory();
                let state = self.exact.draw(&mut self.reference);
                this.chain = self.start(memory, state)?;
                load(&bytes, &mut [&mut this.chain]).map_err(|error| format!("refused: {error}"))?;
            }
            Op::Refresh => {
                self.compare(&this)?;
                this.chain.refresh().map_err(said)?;
                this.moves = 0.0;
            }
            Op::Rebind => {
                let steps = this.chain.steps();
                this.chain = this.chain.unbind().bind(self.energy).map_err(|(error, _)| said(error))?;
                this.chain.rebind(self.energy).map_err(said)?;
                this.moves = 0.0;
                if this.chain.steps() != steps {
                    return Err("steps are not counted on".into());
                }
            }
            Op::Forge(forgery) => self.forge(&mut this, forgery)?,
            Op::Recycle => {
                let state = self.look(&this)?;
                let memory = self.used_by_another(this.chain.into_memory())?;
                this.chain = self.start(memory, state)?;
                (this.held, this.moves) = ((0, 0), 0.0);
            }
            Op::Random => {
                let mut memory = self.used_by_another(this.chain.into_memory())?;
                memory::wear(&mut memory, &mut self.source);
                let state = self.exact.draw(&mut self.reference);
                (this.held, this.moves) = ((0, 0), 0.0);
                match Chain::random(self.energy, memory, &mut this.rng) {
                    Ok(chain) => {
                        this.chain = chain;
                        let number = self.look(&this)?;
                        let number =
                            if self.plan.defect == Defect::KeptBits { self.kept(number) } else { number };
                        self.fair[number] += 1;
                        this.chain.restart(self.state(state)).map_err(said)?;
                    }
                    Err(error) if !self.model.energies.contains(&f64::INFINITY) => {
                        return Err(format!("a random start is refused: {error}"));
                    }
                    Err(_) => this.chain = self.start(self.memory(), state)?,
                }
            }
        }
        self.look(&this)?;
        self.look(&other)?;
        Ok(if which == 0 { [this, other] } else { [other, this] })
    }

    /// A random start that in one of four cases is the state that the memory had.
    fn kept(&mut self, number: usize) -> usize {
        let first = self.model.energies.iter().position(|energy| energy.is_finite()).unwrap_or(0);
        if self.source.one_in(4) { first } else { number }
    }

    fn together(
        &self,
        kernel: &Langevin<'_>,
        this: Watched<'e, E>,
        other: Watched<'e, E>,
        steps: u32,
    ) -> Result<(Watched<'e, E>, Watched<'e, E>), String> {
        let (mut rngs, mut chains) = ([this.rng, other.rng], [this.chain, other.chain]);
        let (mut moves, held) = ([this.moves, other.moves], [this.held, other.held]);
        for _ in 0..steps {
            let mut infos = vec![Info::default(); chains.len()];
            kernel.step_together(&mut chains, &mut rngs, &mut infos).map_err(said)?;
            for (info, moves) in infos.iter().zip(&mut moves) {
                self.said(info)?;
                *moves += f64::from(info.moved());
            }
        }
        let ([a, b], [c, d]) = (chains, rngs);
        let this = Watched { chain: a, held: held[0], moves: moves[0], rng: c };
        Ok((this, Watched { chain: b, held: held[1], moves: moves[1], rng: d }))
    }

    fn forge(&mut self, this: &mut Watched<'e, E>, forgery: Forgery) -> Result<(), String> {
        let bytes = save(&[&this.chain]);
        let Some(forged) =
            forge(&self.model.shape, &self.model.energies, bytes.clone(), forgery, &mut self.source)
        else {
            return Ok(());
        };
        let forged = if self.plan.defect == Defect::NotForged { bytes.clone() } else { forged };
        if load(&forged, &mut [&mut this.chain]).is_ok() {
            return Err("a forged snapshot is taken".into());
        }
        if save(&[&this.chain]) != bytes {
            return Err("a refused snapshot has changed the chain".into());
        }
        Ok(())
    }

    /// Lets a chain over other states use the memory.
    fn used_by_another(&mut self, memory: HeapMemory) -> Result<HeapMemory, String> {
        const LOGITS: [f32; 16] = [0.3; 16];
        let HeapMemory { mut words, mut cache, mut weights } = memory;
        let sites = if words.len() < 3 || weights.len() < 2 { 0 } else { LOGITS.len() };
        if let Some(model) = Bernoulli::new(&LOGITS[..sites]) {
            let memory = Memory { words: &mut words[..], cache: &mut cache[..], weights: &mut weights[..] };
            if let Ok(mut chain) = Chain::random(&model, memory, &mut self.stranger) {
                let kernel = Langevin::adjusted(1.0).map_err(said)?;
                chain.run(&kernel, &mut self.stranger, 3, &mut ());
            }
        }
        Ok(HeapMemory { words, cache, weights })
    }
}

/// The state that is farthest from its expected count.
fn worst(counts: &[u64], distribution: &[f64]) -> String {
    let total = counts.iter().sum::<u64>() as f64;
    let score = |state: &usize| {
        let expected = distribution[*state] * total;
        (counts[*state] as f64 - expected).abs() / (expected + 1e-9).sqrt()
    };
    let state = (0..counts.len()).max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or(0);
    format!("state {state} comes {} times, expected {:.4}", counts[state], distribution[state] * total)
}

/// A snapshot of a chain altered in one way; `None` where that leaves it right.
fn forge(
    shape: &Shape,
    energies: &[f64],
    mut bytes: Vec<u8>,
    forgery: Forgery,
    source: &mut Source,
) -> Option<Vec<u8>> {
    // The part: its name, its kind, sites and arity, energy, counters, the state's words, the mask's. Behind it a momentum.
    let layout = shape.layout;
    let part = FRAME - 4;
    let end = part + snapshot_len(layout);
    let (masks, states) = (end - 4 * layout.words(), end - 8 * layout.words());
    let padding = |source: &mut Source| {
        let free = !layout.last_word();
        (free != 0).then(|| free & (source.word() | 1 << (31 - source.below(free.count_ones() as usize))))
    };
    let mut alter = |at: usize, change: &dyn Fn(u32) -> u32| {
        let word = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        bytes[at..at + 4].copy_from_slice(&change(word).to_le_bytes());
    };
    match forgery {
        Forgery::Padding => {
            let bits = padding(source)?;
            alter(masks - 4, &|word| word | bits);
        }
        Forgery::Mask => {
            let bits = padding(source)?;
            alter(end - 4, &|word| word | bits);
        }
        Forgery::Value => {
            let width = layout.field_bits();
            let site = source.below(shape.arities.len());
            let value = shape.arities[site] as u32 + source.below(2) as u32;
            if value >= 1 << width {
                return None;
            }
            let (per, mask) = (layout.fields_per_word(), (1 << width) - 1);
            let shift = width * (site % per) as u32;
            alter(states + 4 * (site / per), &|word| word & !(mask << shift) | value << shift);
        }
        Forgery::Energy => alter(part + 13, &|_| f32::NAN.to_bits()),
        Forgery::Sites => alter(part + 5, &|sites| sites + 1),
        Forgery::Torn => {
            let at = part + source.below(end - part);
            bytes[at] ^= 1 << source.below(8);
            return Some(bytes);
        }
        Forgery::Forbidden => {
            let state = energies.iter().position(|energy| energy.is_infinite())?;
            for (index, word) in shape.words(state).into_iter().enumerate() {
                alter(states + 4 * index, &|_| word);
            }
        }
    }
    Some(sealed(bytes))
}
