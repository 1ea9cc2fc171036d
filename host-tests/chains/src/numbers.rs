//! Hashes of the elementary functions and of the generator.

use crate::hash::Hash;
use crate::steps;
use bitmc::lane::{self, Block, F32s, PARTS, Product};
use bitmc::random::{LaneRng, bernoulli, normals, uniform, uniforms, words};
use bitmc::{Layout, Rng, SeedableRng};

/// Arguments at which the last bit of a coefficient of exp decides the result, a row a coefficient. Of the
/// first, one argument in a few hundred thousand shows it: a grid would miss them.
#[rustfmt::skip]
const DECISIVE: [u32; 16] = [
    0xC0D2_C384, 0xC0A6_66FE, 0xC12B_EC8B,
    0xC0E9_2188, 0xC0A8_136C, 0xC19D_BB63, 0xC193_2BC0,
    0xC120_10D0, 0xC160_B5E8, 0xC114_5917,
    0xC0A5_0804, 0xBEDF_5D80, 0xC188_41EB,
    0xC192_4F46, 0xC18C_35B5, 0xC0E6_4ED0,
];

/// Every function of `lane` on a grid over all floats: signs, subnormals, infinities and NaN among them.
pub(crate) fn functions() -> u32 {
    let mut hash = Hash::new();
    let decisive = DECISIVE.map(f32::from_bits);
    map(&mut hash, &decisive, F32s::exp);
    map(&mut hash, &decisive, F32s::exp_bounded);
    // An odd stride through the 2³² bit patterns.
    let mut bits = 0u32;
    for _ in 0..steps(1024) {
        let mut any = [0.0; 16];
        for value in &mut any {
            *value = f32::from_bits(bits);
            bits = bits.wrapping_add(0x0004_0F03);
        }
        // The same bits as numbers in [0, 1) and (−80, 80).
        let unit: Block = any.map(|x| (x.to_bits() >> 8) as f32 / 16_777_216.0);
        let bounded: Block = unit.map(|u| 160.0 * u - 80.0);
        map(&mut hash, &any, F32s::exp);
        map(&mut hash, &any, F32s::ln);
        map(&mut hash, &any, F32s::sigmoid);
        map(&mut hash, &any, F32s::ln_1p_exp);
        map(&mut hash, &any, F32s::sqrt);
        map(&mut hash, &bounded, F32s::exp);
        map(&mut hash, &bounded, F32s::exp_bounded);
        map(&mut hash, &bounded, F32s::exp2_bounded);
        map(&mut hash, &bounded, F32s::ln_1p_exp);
        map(&mut hash, &unit, F32s::ln_1p_unit);
        map(&mut hash, &unit, |u| (u * F32s::splat(0.5)).normal_quantile());
        map(&mut hash, &unit, |u| F32s::splat(1.0) / (F32s::splat(1.0) + u));
        hash.float(lane::sum(&bounded));
        let mut product = Product::one();
        product.next_block();
        for part in 0..PARTS {
            product.times(F32s::splat(1.0) + F32s::load(&unit, part), part);
        }
        let product = product.finish();
        hash.float(product.ln());
        hash.float(product.over(product.times(product)).ln());
    }
    hash.value()
}

fn map(hash: &mut Hash, block: &Block, function: impl Fn(F32s) -> F32s) {
    let mut out = [0.0; 16];
    for part in 0..PARTS {
        function(F32s::load(block, part)).store(&mut out, part);
    }
    hash.floats(&out);
}

/// Two generators, and everything that is made of their words.
pub(crate) fn generator() -> u32 {
    let mut hash = Hash::new();
    let mut lanes = LaneRng::stream(1, 2);
    let mut other = rand_xoshiro::Xoshiro128PlusPlus::seed_from_u64(1);
    for _ in 0..steps(256) {
        draws(&mut hash, &mut lanes);
        draws(&mut hash, &mut other);
    }
    let (state, held, used) = lanes.state();
    state.iter().for_each(|plane| hash.words(plane));
    hash.words(&held);
    hash.word(used);
    hash.value()
}

fn draws(hash: &mut Hash, rng: &mut dyn Rng) {
    hash.word(rng.next_u32());
    let long = rng.next_u64();
    hash.words(&[long as u32, (long >> 32) as u32]);
    hash.words(&words(rng));
    hash.float(uniform(rng));
    hash.floats(&uniforms(rng));
    hash.floats(&normals(rng));
    let mut state = [0; 2];
    bernoulli(Layout::binary(40), 0.3, rng, &mut state);
    hash.words(&state);
}
