//! The 12×12 Ising torus in whole numbers, compiled into flash: K = 4J and b = −2ΣJ at J = .3 on spins.

use bitmc::energy::Entry;
use bitmc::quantised::QuantisedIsing;

/// Sites of a side.
pub const SIDE: u32 = 12;
/// Sites.
pub const SITES: usize = 144;
/// Words of a state.
pub const WORDS: usize = SITES.div_ceil(32);
/// In units of ln 2/65,536.
const COUPLING: i32 = 113_459;
const FIELD: i32 = -2 * COUPLING;
/// The hash of the states of the first 512 sweeps from zeros: the same on every machine.
pub const HASH: u32 = 0x076c_0f80;

static ENDS: [u32; SITES] = {
    let (mut ends, mut site) = ([0; SITES], 0);
    while site < SITES {
        ends[site] = 4 * (site as u32 + 1);
        site += 1;
    }
    ends
};

static ENTRIES: [Entry; 4 * SITES] = entries(COUPLING);

const fn entries(coupling: i32) -> [Entry; 4 * SITES] {
    let mut entries = [Entry { site: 0, coupling }; 4 * SITES];
    let mut site = 0;
    while site < SITES as u32 {
        let (row, column) = (site / SIDE, site % SIDE);
        let (up, down) = ((row + SIDE - 1) % SIDE * SIDE + column, (row + 1) % SIDE * SIDE + column);
        let (left, right) = (row * SIDE + (column + SIDE - 1) % SIDE, row * SIDE + (column + 1) % SIDE);
        let sites = [up, down, left, right];
        let mut place = 0;
        while place < 4 {
            // Ascending: a neighbour stands behind those that are smaller.
            let (mut smaller, mut other) = (0, 0);
            while other < 4 {
                smaller += (sites[other] < sites[place]) as usize;
                other += 1;
            }
            entries[4 * site as usize + smaller].site = sites[place];
            place += 1;
        }
        site += 1;
    }
    entries
}

/// The model: its rows are checked when the image is built.
pub const MODEL: QuantisedIsing<'static> = match QuantisedIsing::from_rows(&ENDS, &ENTRIES, &[FIELD; SITES]) {
    Ok(model) => model,
    Err(_) => panic!("the rows are those of a torus"),
};

/// The same model with couplings of 1, for a table: `UNIT` is what they are in units of ln 2/65,536.
pub const EQUAL: QuantisedIsing<'static> = match QuantisedIsing::from_rows(&ENDS, &ONES, &[-2; SITES]) {
    Ok(model) => model,
    Err(_) => panic!("the rows are those of a torus"),
};

static ONES: [Entry; 4 * SITES] = entries(1);

/// The inverse temperature of [`EQUAL`].
pub const UNIT: u32 = COUPLING as u32;
