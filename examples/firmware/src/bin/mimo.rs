//! Soft MIMO detection with a deadline: a channel, a received vector and noise arrive each frame, the model is built in the
//! memory of the one before, and the ratios are there after at most so many instructions. The detector is that of the desktop.
#![no_std]
#![no_main]

use bitmc_chains::hash::Hash;
use bitmc_firmware::{count::Counter, entry, report};
use bitmc_mimo_detector::trial::{self, HASHES, Trial};
use core::hint::black_box;

/// What statics and stack may take together: the largest table takes half of it.
const RAM: usize = 131_072;
/// The most instructions of a frame: 4×4 QPSK, 4×4 16-QAM, 8×8 QPSK, 8×8 16-QAM.
const MOST: [u32; 4] = [1_600_000, 2_600_000, 3_300_000, 4_900_000];

#[entry]
fn main() -> ! {
    report("mimo", RAM, sample)
}

#[inline(never)]
fn sample() -> Option<bool> {
    let mut all = Hash::new();
    let worst = [
        run::<8, 512>(0, &mut all)?,
        run::<8, 8192>(1, &mut all)?,
        run::<16, 8192>(2, &mut all)?,
        run::<16, 16_384>(3, &mut all)?,
    ];
    defmt::info!("most instructions of a frame: {=u32}", worst.into_iter().fold(0, u32::max));
    defmt::info!("hash {=u32:08x}", all.value());
    Some(worst.iter().zip(MOST).all(|(&worst, most)| worst <= most))
}

#[inline(never)]
fn run<const N: usize, const TABLE: usize>(index: usize, all: &mut Hash) -> Option<u32> {
    let mut trial = Trial::<N, TABLE>::new(*trial::SETUPS.get(index)?);
    let (mut worst, mut sum) = (0, 0);
    for frame in 0..trial::FRAMES {
        trial.arrive(black_box(frame));
        // A product decodes with the ratios here.
        let counter = Counter::start();
        let found = black_box(trial.detect());
        let instructions = counter.checked_instructions()?;
        found.ok()?;
        worst = instructions.max(worst);
        sum += instructions;
    }
    let (hash, most) = (trial.hash(), *MOST.get(index)?);
    all.word(hash);
    let name = trial.setup().name;
    let mean = sum / trial::FRAMES;
    defmt::info!("{=str}: worst frame {=u32} instructions of {=u32}, mean {=u32}", name, worst, most, mean);
    defmt::info!(
        "  bits wrong {=u32} of {=u32}, hash of ratios {=u32:08x}",
        trial.errors(),
        trial.bits(),
        hash
    );
    (HASHES.get(index) == Some(&hash)).then_some(worst)
}
