//! DMALA on an RBM of 64 pixels, against the exact mean of every pixel.
#![no_std]
#![no_main]

use bitmc::stats::{Acceptance, BatchMeans, Watch};
use bitmc::{Chain, FixedChain, Info, LaneRng, Langevin, Packed, Rbm, SeedableRng, memory};
use bitmc_chains::hash::Hash;
use bitmc_chains::models::{RBM, RBM_HIDDEN, RBM_MARGINALS, digits};
use bitmc_firmware::{count::Counter, entry, exit, stack};

/// 48 batches of 1,024 steps.
const STEPS: u64 = 49_152;
/// |z| below this: Student's t with 47 degrees of freedom, 10⁻⁶ two-sided over up to 66 means together.
const Z: f32 = 6.82;
/// Pixels that are on more rarely are tested together: their own counts are too small for a normal distribution.
const RARE: f32 = 0.05;
/// The hash of every state and energy: the same on every machine.
const HASH: u32 = 0x76A0_3AF2;

#[entry]
fn main() -> ! {
    stack::paint();
    let counted = with_chain(count);
    let chain = stack::statics() + stack::used();
    let passed = with_chain(judge);
    let all = stack::statics() + stack::used();
    defmt::info!("RAM, statics and stack: chain {=usize}, with its statistics {=usize} bytes", chain, all);
    let pass = counted == Some(()) && passed == Some(true);
    defmt::info!("rbm: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}

type RbmChain<'e> = FixedChain<'e, Rbm<'static>, 6, 6, 8>;

/// Builds a chain on the model in flash, and leaves the rest to `run`.
#[inline(never)]
fn with_chain<T>(run: impl FnOnce(&mut RbmChain<'_>, &Langevin<'_>, &mut LaneRng) -> T) -> Option<T> {
    let model = digits()?;
    let sampler = Langevin::adjusted(0.2).ok()?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(RBM, Rbm::cache_len(RBM_HIDDEN)), &mut rng).ok()?;
    chain.run(&sampler, &mut rng, 1000, &mut Acceptance::new());
    Some(run(&mut chain, &sampler, &mut rng))
}

fn count(chain: &mut RbmChain<'_>, sampler: &Langevin<'_>, rng: &mut LaneRng) {
    let mut instructions = 0;
    for _ in 0..64 {
        let counter = Counter::start();
        for _ in 0..16 {
            chain.step(sampler, rng);
        }
        instructions += counter.instructions();
    }
    defmt::info!("instructions a site and step: {=u32}", instructions / (64 * 16 * 64));
}

#[inline(never)]
fn judge(chain: &mut RbmChain<'_>, sampler: &Langevin<'_>, rng: &mut LaneRng) -> bool {
    let mut pixels = [const { BatchMeans::<64>::new() }; 64];
    let (mut rare, mut sum) = (BatchMeans::<64>::new(), BatchMeans::<64>::new());
    let (mut steps, mut hash) = (Acceptance::new(), Hash::new());
    let watch = Watch(|x: Packed<'_>, energy: f32, _: &Info| {
        let mut rarely = 0;
        for ((pixel, value), &exact) in pixels.iter_mut().zip(x.values()).zip(&RBM_MARGINALS) {
            if exact >= RARE {
                pixel.push(value as f32);
            } else {
                rarely += value;
            }
        }
        rare.push(rarely as f32);
        sum.push(x.ones() as f32);
        hash.words(x.words());
        hash.float(energy);
    });
    chain.run(sampler, rng, STEPS, &mut (watch, &mut steps));

    let z = |mean: &BatchMeans<64>, exact: f32| (mean.mean() - exact) / mean.standard_error().unwrap_or(0.0);
    let mut pass = hash.value() == HASH;
    let (mut tested, mut worst) = (0u32, (0, 0.0));
    for (pixel, (mean, &exact)) in pixels.iter().zip(&RBM_MARGINALS).enumerate() {
        if exact >= RARE {
            let z = z(mean, exact);
            tested += 1;
            pass &= z > -Z && z < Z;
            worst = if z.abs() > f32::abs(worst.1) { (pixel, z) } else { worst };
        }
    }
    if let (Some(mean), Some(exact)) = (pixels.get(worst.0), RBM_MARGINALS.get(worst.0)) {
        defmt::info!(
            "worst of {=u32} pixels: {=usize}, mean {=f32}, exact {=f32}, z {=f32}",
            tested,
            worst.0,
            mean.mean(),
            exact,
            worst.1
        );
    }
    let exact = |rare: bool| RBM_MARGINALS.iter().filter(|&&p| !rare || p < RARE).sum::<f32>();
    for (name, mean, exact) in [("all pixels", &sum, exact(false)), ("rare pixels", &rare, exact(true))] {
        let z = z(mean, exact);
        pass &= z > -Z && z < Z;
        defmt::info!("{=str}: {=f32} on, exact {=f32}, z {=f32}", name, mean.mean(), exact, z);
    }
    defmt::info!("acceptance {=f32}, {=f32} sites moved a step", steps.rate(), steps.jump_distance());
    defmt::info!("hash {=u32:08x}", hash.value());
    pass
}
