//! Elementary functions of a few numbers, with the same bits on every processor.

use bitmc::lane::{Block, F32s, LANES, PARTS};

/// e^x of four numbers, none above 80.
pub(crate) fn exponentials(x: [f32; 4]) -> [f32; 4] {
    if PARTS == 1 {
        return map(x, F32s::exp);
    }
    // The same bits, and where registers have one lane less work.
    let mut out = [0.0; LANES];
    for (part, x) in x.into_iter().enumerate() {
        if x >= -80.0 {
            F32s::splat(x).exp_bounded().store(&mut out, part);
        } else if x > -104.0 {
            F32s::splat(x).exp().store(&mut out, part);
        }
    }
    [out[0], out[1], out[2], out[3]]
}

/// ln x of four numbers.
pub(crate) fn logarithms(x: [f32; 4]) -> [f32; 4] {
    map(x, F32s::ln)
}

/// The square root.
pub(crate) fn root(x: f32) -> f32 {
    map([x, 0.0, 0.0, 0.0], F32s::sqrt)[0]
}

fn map(x: [f32; 4], f: impl Fn(F32s) -> F32s) -> [f32; 4] {
    let mut block: Block = [0.0; LANES];
    let [a, b, c, d] = x;
    (block[0], block[1], block[2], block[3]) = (a, b, c, d);
    // A part has sixteen lanes or one.
    for part in 0..PARTS.min(4) {
        f(F32s::load(&block, part)).store(&mut block, part);
    }
    [block[0], block[1], block[2], block[3]]
}
