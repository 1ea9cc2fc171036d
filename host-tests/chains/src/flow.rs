//! Continuous chains, and hashes of what they do.

use crate::hash::Hash;
use crate::steps;
use crate::used::used;
use bitmc::flow::{
    DenseGaussian, DiagonalGaussian, Esh, Funnel, Hmc, HmcChain, Leap, Mixture, Mlp, NoseHoover, Potential,
    Replay, Reservoir, StepControl, StepSize, Unscaled, log_weight,
};
use bitmc::lane::{Block, F32s, LANES, PARTS};
use bitmc::random::normals;
use bitmc::stats::Average;
use bitmc::{LaneRng, SeedableRng};

/// Steps of a chain.
const STEPS: u32 = steps(1000);

/// The hash of a chain that could not be built: no committed hash is 0.
const BROKEN: u32 = 0;

/// The precisions of the 16-d Gaussian: standard deviations from ½ to 1⅘.
const PRECISIONS: [Block; 1] =
    [[4.0, 3.5, 3.0, 2.75, 2.5, 2.25, 2.0, 1.75, 1.5, 1.25, 1.0, 0.875, 0.75, 0.5, 0.375, 0.3125]];
const ZERO: [Block; 1] = [[0.0; LANES]];

/// Layers of the small network, inputs first.
const WIDTHS: [usize; 2] = [3, 18];

/// Energy-sampling dynamics on a 16-d Gaussian: no random number but in the start.
pub(crate) fn gaussian() -> u32 {
    let mut rng = LaneRng::seed_from_u64(11);
    let start = normals(&mut rng);
    let Ok(model) = DiagonalGaussian::new(16, &ZERO, &PRECISIONS) else { return BROKEN };
    let (Ok(size), Ok(mut chain)) =
        (StepSize::new(0.1), Esh::random(&model as &dyn Potential, used::<Block, 3>(), &start, &mut rng))
    else {
        return BROKEN;
    };
    let mut hash = Hash::new();
    let mut square = Average::new();
    for _ in 0..STEPS {
        let step = chain.step(size);
        leap(&mut hash, &step);
        hash.floats(chain.position());
        hash.floats(chain.direction());
        square.add(step.log_time, chain.energy());
    }
    hash.float(chain.log_speed());
    hash.float(log_weight(0.5, &chain));
    hash.float(square.mean());
    hash.value()
}

/// A mixture in 20 dimensions, with new directions, a changing step size, a reservoir and a replay.
pub(crate) fn mixture() -> u32 {
    let mut rng = LaneRng::seed_from_u64(12);
    let mut means = [[0.0; LANES]; 6];
    for pair in means.chunks_mut(2) {
        for (slot, value) in pair.as_flattened_mut().iter_mut().take(20).zip(normals(&mut rng).iter().cycle()) {
            *slot = *value;
        }
    }
    let Ok(model) = Mixture::new(20, &means, &[0.0, -0.5, 0.25], 0.75) else { return BROKEN };
    let chain = |rng: &mut LaneRng| Esh::random(&model, used::<Block, 6>(), &[0.125; 20], rng);
    let (Ok(size), Ok(mut first), Ok(mut second)) =
        (StepSize::new(0.2), chain(&mut LaneRng::stream(12, 1)), chain(&mut LaneRng::stream(12, 1)))
    else {
        return BROKEN;
    };
    let Ok(mut control) = StepControl::new(size, 0.02) else { return BROKEN };
    let mut hash = Hash::new();
    let mut kept = Reservoir::new(used::<Block, 2>());
    for number in 0..STEPS {
        // The first steps are those that are replayed.
        if number == STEPS / 5 {
            let mut found = used::<_, 2>();
            let reached =
                Replay::new(kept.weights(), 0.5).run(&mut second, size, u64::from(2 * STEPS / 5), &mut found);
            hash.word(u32::from(reached));
            hash.floats(found.as_flattened());
        }
        if number >= STEPS / 5 && number & 63 == 0 {
            first.refresh(&mut rng);
        }
        let step = first.step(if number < STEPS / 5 { size } else { control.step_size() });
        control.observe(&step);
        leap(&mut hash, &step);
        hash.floats(first.position());
        kept.offer(first.position_blocks(), step.log_time, &mut rng);
    }
    hash.float(control.step_size().get());
    hash.floats(kept.sample().as_flattened());
    hash.value()
}

/// MALA, ULA and HMC on a correlated Gaussian, the thermostat on a funnel, the unscaled leapfrog on a network.
pub(crate) fn comparators() -> u32 {
    let mut rng = LaneRng::seed_from_u64(13);
    let mut rows = [[0.0; LANES]; 2];
    let [[a, b, ..], [c, d, ..]] = &mut rows;
    (*a, *b, *c, *d) = (5.0, -4.5, -4.5, 5.0);
    let mut parameters = [[0.0; LANES]; Mlp::parameter_len(&WIDTHS)];
    // 18 outputs in two blocks: a bias row and three rows of weights; then one output: a bias, 18 weights.
    for (index, block) in parameters.iter_mut().enumerate() {
        let used = if index >= 8 {
            1
        } else if index & 1 == 0 {
            16
        } else {
            2
        };
        for (slot, value) in block.iter_mut().zip(normals(&mut rng)).take(used) {
            *slot = 0.5 * value;
        }
    }
    let (Ok(gaussian), Ok(funnel), Ok(network)) =
        (DenseGaussian::new(2, &ZERO, &rows), Funnel::new(5, 1.5), Mlp::new(&WIDTHS, &parameters))
    else {
        return BROKEN;
    };
    let (Ok(small), Ok(large)) = (StepSize::new(0.02), StepSize::new(0.3)) else { return BROKEN };
    let (Ok(hmc), Ok(mut chain), Ok(mut hot), Ok(mut unscaled)) = (
        Hmc::new(large, 5),
        HmcChain::new(&gaussian, used::<Block, 6>(), &[0.5, -0.25]),
        NoseHoover::new(&funnel, used::<Block, 3>(), &[0.5; 5], 5.0, &mut rng),
        Unscaled::new(&network, used::<Block, 6>(), &[0.5, 0.25, -1.0], &[1.0, 0.5, 0.0]),
    ) else {
        return BROKEN;
    };
    let mut hash = Hash::new();
    for _ in 0..STEPS / 2 {
        for kernel in [hmc, Hmc::langevin(large), Hmc::unadjusted_langevin(large)] {
            let proposal = chain.step(&kernel, &mut rng);
            hash.word(u32::from(proposal.accepted));
            hash.float(proposal.log_ratio);
            hash.floats(chain.position());
        }
        leap(&mut hash, &hot.step(small));
        hash.floats(hot.position());
        leap(&mut hash, &unscaled.step(small));
        hash.floats(unscaled.position());
    }
    hash.value()
}

/// `exp_m1` and `ln_1p` on a grid over all floats.
pub(crate) fn functions() -> u32 {
    let mut hash = Hash::new();
    let mut bits = 0u32;
    for _ in 0..steps(1024) {
        let mut any = [0.0; LANES];
        for value in &mut any {
            *value = f32::from_bits(bits);
            bits = bits.wrapping_add(0x0004_0F03);
        }
        // The same bits as numbers in (−40, 40) and (−1, 3).
        let wide = any.map(|x| (x.to_bits() >> 8) as f32 / 209_715.2 - 40.0);
        let near = any.map(|x| (x.to_bits() >> 8) as f32 / 4_194_304.0 - 1.0);
        let mut out = [0.0; LANES];
        for (input, function) in [
            (&wide, F32s::exp_m1 as fn(F32s) -> F32s),
            (&near, F32s::exp_m1),
            (&near, F32s::ln_1p),
            (&any, F32s::ln_1p),
        ] {
            for part in 0..PARTS {
                function(F32s::load(input, part)).store(&mut out, part);
            }
            hash.floats(&out);
        }
    }
    hash.value()
}

fn leap(hash: &mut Hash, leap: &Leap) {
    hash.floats(&[leap.log_time, leap.energy, leap.error]);
    hash.word(u32::from(leap.fault));
}
