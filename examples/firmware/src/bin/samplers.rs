//! Which sampler takes how many instructions for a sweep or a step. Ising models are the 12×12 torus at J = .3, with Gibbs
//! sampling as one writes it oneself to compare with. Three samplers are for a Potts model.
#![no_std]
#![no_main]

use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedLangevin, TableGibbs};
use bitmc::step::{ChromaticGibbs, Colouring, Gibbs, IsingLangevin, SequentialGibbs};
use bitmc::{
    Chain, Ising, Kernel, LaneRng, Langevin, Layout, Potts, Rng, SeedableRng, SparseMemory, Xoshiro128PlusPlus,
    memory, torus,
};
use bitmc_firmware::torus::{EQUAL, MODEL, SITES, UNIT, WORDS};
use bitmc_firmware::{count::Counter, entry, report};

const L: Layout = Layout::binary(SITES);
const SIDE: usize = 12;
const J: f32 = 0.3;
/// A Potts model: 4×4 sites of 4 values.
const POTTS: Layout = Layout::categorical(16, 4);
/// 1/(2α) at α = ¼, in units of ln 2/65,536.
const PENALTY: u32 = 189_096;
const STEPS: u32 = 64;
/// Most instructions a site of a step of `IsingLangevin`; a build for size once took 700 on a core with floats.
const MOST: u32 = match (cfg!(target_abi = "eabihf"), env!("OPTIMISATION").as_bytes()) {
    (true, b"z") => 330,
    (true, _) => 180,
    (false, _) => 2_900,
};
/// What statics and stack may take together.
const RAM: usize = if MICROBIT { 16_384 } else { 24_576 };
/// A board without room for a chain over floats of this size, beside the memory that its making takes.
const MICROBIT: bool = cfg!(machine = "microbit");

#[entry]
fn main() -> ! {
    report("samplers", RAM, compare)
}

fn compare() -> Option<bool> {
    own();
    table();
    quantised(["QuantisedGibbs", "TableGibbs", "QuantisedLangevin (DMALA)"], &mut LaneRng::seed_from_u64(1))?;
    let mut one_lane = Xoshiro128PlusPlus::seed_from_u64(1);
    let names = ["QuantisedGibbs, one lane", "TableGibbs, one lane", "QuantisedLangevin (DMALA), one lane"];
    quantised(names, &mut one_lane)?;
    potts()?;
    Some(MICROBIT || floats()? <= MOST)
}

/// Instructions a site of the torus and call, the mean of many calls.
fn count(name: &str, call: impl FnMut()) -> u32 {
    count_over(SITES, name, call)
}

fn count_over(sites: usize, name: &str, mut call: impl FnMut()) -> u32 {
    (0..STEPS).for_each(|_| call());
    let mut instructions = 0;
    for _ in 0..STEPS {
        let counter = Counter::start();
        call();
        instructions += counter.instructions();
    }
    let each = instructions / (STEPS * sites as u32);
    defmt::info!("{=str}: {=u32}", name, each);
    each
}

#[inline(never)]
fn floats() -> Option<u32> {
    let mut memory = SparseMemory::<SITES, { 4 * SITES }>::new();
    let model = Ising::spins_edges_once(SITES, torus(12, 12, J), &[], memory.borrow()).ok()?;
    chain(&model, "Gibbs", &Gibbs::systematic())?;
    chain(&model, "SequentialGibbs", &SequentialGibbs)?;
    chain(&model, "Langevin (DMALA)", &Langevin::adjusted(0.25).ok()?)?;
    chain(&model, "IsingLangevin (DMALA)", &IsingLangevin::adjusted(0.25).ok()?)
}

fn chain<'m, K: Kernel<Ising<'m>>>(model: &Ising<'m>, name: &str, kernel: &K) -> Option<u32> {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(model, memory!(L, Ising::cache_len(SITES)), &mut rng).ok()?;
    Some(count(name, || {
        chain.step(kernel, &mut rng);
    }))
}

#[inline(never)]
fn potts() -> Option<()> {
    let (mut memory, mut classes) = (SparseMemory::<16, 64>::new(), [0; Colouring::words(16, 2)]);
    let model = Potts::new(16, 4, torus(4, 4, 0.5), &[], memory.borrow()).ok()?;
    let chromatic = ChromaticGibbs::new(Colouring::greedy(model.form(), &mut classes).ok()?);
    potts_chain(&model, "Potts, Gibbs", &Gibbs::systematic())?;
    potts_chain(&model, "Potts, ChromaticGibbs", &chromatic)?;
    potts_chain(&model, "Potts, Langevin (DMALA)", &Langevin::adjusted(0.5).ok()?)
}

fn potts_chain<'m, K: Kernel<Potts<'m>>>(model: &Potts<'m>, name: &str, kernel: &K) -> Option<()> {
    let mut rng = Xoshiro128PlusPlus::seed_from_u64(1);
    let mut chain = Chain::random(model, memory!(POTTS, Potts::cache_len(16, 4)), &mut rng).ok()?;
    count_over(POTTS.sites(), name, || {
        chain.step(kernel, &mut rng);
    });
    Some(())
}

#[inline(never)]
fn quantised([sweep, by_table, step]: [&str; 3], rng: &mut impl Rng) -> Option<()> {
    let (mut words, mut fields, mut flips) = ([0; WORDS], [0; SITES], [0; WORDS]);
    let mut chain = QuantisedGibbs::new(MODEL, &mut words, &mut fields).ok()?;
    count(sweep, || {
        chain.sweep(rng);
    });
    let mut table = [0; TableGibbs::table_len(&EQUAL)];
    let mut chain = TableGibbs::with_table(EQUAL, UNIT, &mut words, &mut fields, &mut table).ok()?;
    count(by_table, || {
        chain.sweep(rng);
    });
    let penalty = Penalty::from_units(PENALTY).ok()?;
    let mut chain = QuantisedLangevin::new(MODEL, penalty, &mut words, &mut fields, &mut flips).ok()?;
    count(step, || {
        chain.step(rng);
    });
    Some(())
}

/// Gibbs sampling by a loop over neighbours, with an exponential a site and a generator of one lane.
#[inline(never)]
fn own() {
    by_hand("25 lines of Gibbs", |sum| {
        let up = 1.0 / (1.0 + libm::expf(-2.0 * J * f32::from(sum)));
        move |word| ((word >> 8) as f32 * (1.0 / 16_777_216.0)) < up
    });
}

/// The same with a table, for a model whose couplings are all alike and which has no fields: a site has five neighbourhoods.
#[inline(never)]
fn table() {
    let up = [-4, -2, 0, 2, 4].map(|sum| (4_294_967_295.0 / (1.0 + libm::expf(-2.0 * J * sum as f32))) as u32);
    by_hand("25 lines of Gibbs, a table", |sum| {
        let up = up[((sum + 4) / 2) as usize];
        move |word| word < up
    });
}

#[inline(always)]
fn by_hand<T: Fn(u32) -> bool>(name: &str, update: impl Fn(i8) -> T) {
    let mut spins = [1_i8; SITES];
    let mut neighbours = [[0_u16; 4]; SITES];
    for (site, around) in neighbours.iter_mut().enumerate() {
        let (row, column) = (site / SIDE, site % SIDE);
        let at = |row: usize, column: usize| (row % SIDE * SIDE + column % SIDE) as u16;
        *around =
            [at(row + SIDE - 1, column), at(row + 1, column), at(row, column + SIDE - 1), at(row, column + 1)];
    }
    let mut rng = Xoshiro128PlusPlus::seed_from_u64(1);
    count(name, || {
        for (site, around) in neighbours.iter().enumerate() {
            let sum: i8 = around.iter().map(|&other| spins[usize::from(other)]).sum();
            spins[site] = if update(sum)(rng.next_u32()) { 1 } else { -1 };
        }
    });
}
