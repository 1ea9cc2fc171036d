//! What the machine can do in this build, for `.ci/roofline`: operations on registers, and bytes that are read, a
//! nanosecond, and its clock.

use bitmc::lane::{Block, F32s};
use std::hint::black_box;
use std::time::Instant;

/// Chains of multiplications, and as many of additions: what the registers hold, a [`F32s`] being one, two or four.
const CHAINS: usize = if cfg!(target_feature = "avx512f") {
    12
} else if cfg!(target_feature = "avx2") {
    6
} else {
    3
};

/// Registers of a [`F32s`].
const REGISTERS: usize = 12 / CHAINS;

/// The least nanoseconds of nine runs.
fn least(mut run: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64
    };
    (0..9).map(once).fold(f64::INFINITY, f64::min)
}

/// Operations on a register, half of them multiplications: none waits for another chain's.
fn operations() -> f64 {
    const TIMES: usize = 1_000_000;
    let by = black_box([F32s::splat(1.000_000_1), F32s::splat(1e-7)]);
    let nanoseconds = least(|| {
        let mut chains = black_box([F32s::splat(1.0); CHAINS]);
        for _ in 0..TIMES {
            for (k, chain) in chains.iter_mut().enumerate() {
                *chain = if k % 2 == 0 { *chain * by[0] } else { *chain + by[1] };
            }
        }
        _ = black_box(chains);
    });
    (TIMES * CHAINS * REGISTERS) as f64 / nanoseconds
}

/// Bytes that are read of a buffer again and again, and added up.
fn bytes(buffer: usize) -> f64 {
    let (blocks, times) = (buffer / size_of::<Block>(), (1 << 26) / buffer);
    let room = vec![[1.0f32; 16]; blocks];
    let nanoseconds = least(|| {
        for _ in 0..times {
            let mut sums = [F32s::splat(0.0); CHAINS];
            for blocks in black_box(&room).chunks_exact(CHAINS) {
                for (sum, block) in sums.iter_mut().zip(blocks) {
                    *sum = *sum + F32s::load(block, 0);
                }
            }
            _ = black_box(sums);
        }
    });
    (times * buffer) as f64 / nanoseconds
}

/// Cycles a nanosecond: a multiplication of whole numbers and an `or` that wait for each other take four.
fn clock() -> f64 {
    const TIMES: u64 = 4_000_000;
    let nanoseconds = least(|| {
        let end = (0..TIMES).fold(black_box(3u64), |x, _| x.wrapping_mul(x) | 4);
        black_box(end);
    });
    4.0 * TIMES as f64 / nanoseconds
}

fn main() {
    println!("clock {:.3}", clock());
    println!("operations {:.3}", operations());
    for (name, buffer) in [("L1", 1 << 14), ("L2", 1 << 18), ("L3", 1 << 23)] {
        println!("{name} {:.2}", bytes(buffer));
    }
}
