//! Runs every chain and compares its hash: `cargo run --release -p bitmc-chains --example hash`. With a name it runs the
//! chain of that name alone, or none: for counting its instructions.

use bitmc_chains::{CHAINS, hash::Hash};
use std::hint::black_box;
use std::process::ExitCode;

/// Bytes of stack that are painted.
const ROOM: usize = 1 << 18;
const PAINT: u32 = 0x5AFE_5AFE;
/// Bytes below the painter's frame that stay unpainted: its own.
const MARGIN: usize = 1024;

fn main() -> ExitCode {
    if cfg!(any(miri, bitmc_short)) {
        // Few steps: hashes to be compared with those of another processor. With two numbers every so many-th chain
        // alone: `0 2`, `1 2`.
        let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
        let &[first, every] = numbers.as_slice() else { return short(0, 1) };
        return short(first, every);
    }
    if let Some(name) = std::env::args().nth(1) {
        let right = CHAINS.iter().filter(|chain| chain.name == name).all(|chain| (chain.run)() == chain.hash);
        return ExitCode::from(u8::from(!right));
    }
    let run = || {
        let mut hashes = vec![0; CHAINS.len()];
        let stack = painted(|| hashes.iter_mut().zip(CHAINS).for_each(|(hash, chain)| *hash = (chain.run)()));
        (hashes, stack)
    };
    let thread = std::thread::Builder::new().stack_size(4 * ROOM).spawn(run);
    let (hashes, stack) = thread.expect("a thread").join().expect("no chain panics");
    let (mut total, mut wrong) = (Hash::new(), 0);
    for (chain, hash) in CHAINS.iter().zip(hashes) {
        total.word(hash);
        let verdict = if hash == chain.hash { "equal" } else { "DIFFERS" };
        wrong += u32::from(hash != chain.hash);
        println!("{hash:08x}  {verdict:7}  {}", chain.name);
    }
    println!("hash {:08x}, {} chains, {wrong} differ, stack {stack}", total.value(), CHAINS.len());
    ExitCode::from(u8::from(wrong != 0))
}

fn short(first: usize, every: usize) -> ExitCode {
    for chain in CHAINS.iter().skip(first).step_by(every.max(1)) {
        println!("{:08x}  {}", (chain.run)(), chain.name);
    }
    ExitCode::SUCCESS
}

/// The bytes of stack that a run used: paints what is free, runs, and looks how far the paint is gone.
#[allow(unsafe_code)]
#[inline(never)]
fn painted(run: impl FnOnce()) -> usize {
    let here = 0u32;
    let top = black_box(&raw const here) as usize;
    let lowest = ((top - MARGIN - ROOM) & !3) as *mut u32;
    for word in 0..ROOM / 4 {
        // SAFETY: the thread's stack is four times as large, and nothing lies below this frame.
        unsafe { lowest.add(word).write_volatile(PAINT) };
    }
    run();
    // SAFETY: as above.
    let clean = (0..ROOM / 4).take_while(|&word| unsafe { lowest.add(word).read_volatile() } == PAINT).count();
    top - lowest as usize - 4 * clean
}
