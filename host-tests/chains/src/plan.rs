//! A channel plan without a coordinator: access points that share their measurements, and a seed, anneal the same model
//! and arrive at the same plan, bit for bit, whatever their processors are.
//!
//! The energy of a plan is its harm: over all pairs that hear each other, level × overlap of their channels; and the same
//! for each network of others that an access point hears. Levels and overlaps are whole numbers, so that sums are exact.

use crate::hash::Hash;
use bitmc::energy::{Factor, Factors, FactorsMemory, Tempered};
use bitmc::lane::{Bits, Block};
use bitmc::stats::{Best, Watch};
use bitmc::temper::Replica;
use bitmc::{Gibbs, LaneRng, Layout, Memory, Packed, Schedule, SeedableRng, memory};

/// Channels 1 … 13 of the 2.4 GHz band, 5 MHz apart, are the values 0 … 12.
pub const CHANNELS: usize = 13;
/// Overlap of two signals of 20 MHz whose channels are 0, 1, 2 … apart, in quarters.
pub const OVERLAP: [u32; 4] = [4, 3, 2, 1];
/// How strongly one hears another: 1 … 8.
pub const LEVELS: usize = 8;
const ENTRIES: usize = CHANNELS * CHANNELS;

/// The log values of all levels, for every pair of channels.
pub static TABLES: [f32; LEVELS * ENTRIES] = tables(&OVERLAP);

/// The tables of an overlap by distance.
#[must_use]
pub const fn tables(overlap: &[u32]) -> [f32; LEVELS * ENTRIES] {
    let (mut tables, mut place) = ([0.0; LEVELS * ENTRIES], 0);
    while place < tables.len() {
        let (level, pair) = (place / ENTRIES + 1, place % ENTRIES);
        let apart = (pair / CHANNELS).abs_diff(pair % CHANNELS);
        if apart < overlap.len() {
            tables[place] = -((level as u32 * overlap[apart]) as f32);
        }
        place += 1;
    }
    tables
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Two access points hear each other at this level.
    Pair(u32, u32, u32),
    /// An access point hears a network of others: on this channel, at this level.
    Other(u32, u32, u32),
}

impl Heard {
    /// Its factor over [`TABLES`]. A row of a table is that of one channel held.
    #[must_use]
    pub fn factor(self) -> Factor {
        let table = |level: u32| level.clamp(1, LEVELS as u32).saturating_sub(1) * ENTRIES as u32;
        match self {
            Self::Pair(a, b, level) => Factor::two(a, b, table(level)),
            Self::Other(site, channel, level) => {
                let channel = channel.min(CHANNELS as u32 - 1);
                Factor::one(site, table(level) + channel * CHANNELS as u32)
            }
        }
    }

    /// One level more or, from the highest, one less.
    #[must_use]
    pub fn changed(self) -> Self {
        let other = |level| if level < LEVELS as u32 { level + 1 } else { level - 1 };
        match self {
            Self::Pair(a, b, level) => Self::Pair(a, b, other(level)),
            Self::Other(site, channel, level) => Self::Other(site, channel, other(level)),
        }
    }
}

/// Distances in metres up to which level 8, 7 … 1 is heard: each a factor of 1.3 over the one before.
const REACH: [u32; LEVELS] = [5, 6, 8, 11, 14, 18, 24, 31];

/// Measurements of access points in a square, 225 m² for each: what they hear falls with the distance, off by at
/// most one level. Every second one hears a network of others.
pub fn measure(sites: u32, place: u32, mut see: impl FnMut(Heard)) {
    let side = (225 * sites).isqrt();
    let word = |a: u32, b: u32| Hash::new().with(place).with(a).with(b).with(a ^ 0x55).value() >> 8;
    let at = |site: u32| (word(site, 1 << 20) % side, word(site, 1 << 21) % side);
    for b in 0..sites {
        for a in 0..b {
            let ((x, y), (u, v)) = (at(a), at(b));
            let square = x.abs_diff(u).pow(2) + y.abs_diff(v).pow(2);
            let within = REACH.iter().filter(|&&reach| square <= reach * reach).count() as u32;
            let level = (within + word(a, b) % 3).saturating_sub(1).min(LEVELS as u32);
            if within > 0 && level > 0 {
                see(Heard::Pair(a, b, level));
            }
        }
        if b % 2 == 0 {
            see(Heard::Other(b, word(b, 1 << 22) % CHANNELS as u32, 1 + word(b, 1 << 23) % 4));
        }
    }
}

/// How a plan is searched, and at which temperature its confidence is sampled, in the units of the harm.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Sweeps of annealing.
    pub sweeps: u64,
    /// The first temperature and the last.
    pub temperatures: (f32, f32),
    /// Sweeps that are counted for the confidence, after a quarter as many.
    pub samples: u16,
    /// The temperature of the confidence.
    pub at: f32,
}

/// What all access points do.
pub const SEARCH: Search = Search { sweeps: 768, temperatures: (3.0, 0.5), samples: 256, at: 2.0 };

/// A plan, and how much it can be relied on.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The best plan seen, packed.
    pub words: &'a [u32],
    /// Its harm.
    pub harm: f32,
    /// Of each access point and channel, how many samples have it there.
    pub counts: &'a [u16],
    /// Of every state on the way, the plan and the counts.
    pub hash: u32,
}

/// Anneals from the seed, and samples around what was found. `words` has room for a state, `counts` a place for each
/// access point and channel; the memory is that of a chain over [`Tempered`].
/// `swept` is called after each sweep of annealing.
pub fn search<'a, W, C, B>(
    model: &Factors<'_>,
    memory: Memory<W, C, B>,
    (words, counts): (&'a mut [u32], &'a mut [u16]),
    search: &Search,
    seed: u64,
    mut swept: impl FnMut(),
) -> Option<Plan<'a>>
where
    W: AsMut<[u32]> + AsRef<[u32]>,
    C: AsMut<[Bits]>,
    B: AsMut<[Block]>,
{
    let (layout, gibbs) = (bitmc::Energy::layout(model), Gibbs::systematic());
    let mut rng = LaneRng::seed_from_u64(seed);
    let (first, last) = search.temperatures;
    let betas = Schedule::geometric(1.0 / first, 1.0 / last, search.sweeps).ok()?;
    let path = Tempered::new(model, betas.at(0)).ok()?;
    let mut replica = Replica::random(path, memory, &mut rng).ok()?;
    let (mut hash, mut best) = (Hash::new(), Best::new(&mut *words));
    for sweep in 0..search.sweeps {
        replica.set_beta(betas.at(sweep)).ok()?;
        replica.run(&gibbs, &mut rng, 1, &mut best);
        hash.words(replica.state().words());
        swept();
    }
    let harm = best.energy()?;
    replica.restart(Packed::new(layout, words).ok()?).ok()?;
    replica.set_beta(1.0 / search.at).ok()?;
    replica.run(&gibbs, &mut rng, u64::from(search.samples / 4), &mut ());
    counts.fill(0);
    let mut count = Watch(|state: Packed<'_>, _: f32, _: &bitmc::Info| {
        for (site, counts) in counts.chunks_exact_mut(CHANNELS).enumerate() {
            if let Some(count) = counts.get_mut(state.get(site) as usize) {
                *count += 1;
            }
        }
    });
    replica.run(&gibbs, &mut rng, u64::from(search.samples), &mut count);
    hash.words(words);
    hash.float(harm);
    counts.iter().for_each(|&count| hash.word(u32::from(count)));
    Some(Plan { words, harm, counts, hash: hash.value() })
}

/// Access points of the plan that every processor makes.
pub const SITES: usize = 24;
/// Their layout.
pub const LAYOUT: Layout = Layout::categorical(SITES, CHANNELS);
/// Most measurements.
const MOST: usize = 96;
const CACHE: usize = Tempered::cache_len(Factors::cache_len(SITES, CHANNELS, false));

/// A case: its name, seed, measurement that changed, committed hash.
pub type Case = (&'static str, u64, Option<usize>, u32);
/// The plan, and the controls whose hashes must be others.
pub const CASES: [Case; 3] = [
    ("as measured", 1, None, 0xcc85_f977),
    ("one measurement changed", 1, Some(17), 0x6cc6_3a99),
    ("another seed", 2, None, 0x4e52_0125),
];

/// Makes the plan of a case in memory of a fixed size, and shows it.
#[inline(never)]
pub fn case<T>(
    (_, seed, changed, _): Case,
    swept: impl FnMut(),
    show: impl FnOnce(&Plan<'_>) -> T,
) -> Option<T> {
    let mut factors = [Factor::one(0, 0); MOST];
    let mut count = 0;
    measure(SITES as u32, 1, |heard| {
        let heard = if changed == Some(count) { heard.changed() } else { heard };
        if let Some(factor) = factors.get_mut(count) {
            *factor = heard.factor();
        }
        count += 1;
    });
    let mut members = FactorsMemory::<SITES, { 2 * MOST }>::new();
    let model =
        Factors::new(&[CHANNELS as u16; SITES], factors.get(..count)?, &TABLES, members.borrow()).ok()?;
    let mut memory = memory!(LAYOUT, CACHE);
    let (mut words, mut counts) = ([0; LAYOUT.words()], [0; SITES * CHANNELS]);
    search(&model, memory.borrow(), (&mut words, &mut counts), &SEARCH, seed, swept).map(|plan| show(&plan))
}
