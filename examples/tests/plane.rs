//! Far modes in the plane: what the example `multimodal` finds, from one corner.

use bitmc::Modes;
use bitmc_examples::plane::{Density, Shape, drive, samplers, start};
use bitmc_examples::progress::Progress;

/// Modes a chain and the total variation to the distribution of 64 chains of 6,000 steps, all from one corner, by the samplers
/// that are named.
fn from_the_corner<const N: usize>(names: [&str; N], shape: Shape, model: &Modes<'_>) -> [(f64, f64); N] {
    let (side, radius, means) = (450, 30.0, &Modes::FIVE_BY_FIVE);
    let density = Density::new(means, side, shape);
    let samplers = samplers(53.0).unwrap();
    names.map(|name| {
        let sampler = samplers.iter().find(|sampler| sampler.name == name).unwrap();
        let corner = |rng: &mut _| start("corner", side, rng);
        let work = (1, 64, 6000);
        let found = drive(sampler, (model, means), work, radius, corner, &Progress::new(true, 0)).unwrap();
        let modes = found.modes.iter().map(|&n| f64::from(n)).sum::<f64>() / 64.0;
        let far = density.distance(&found.histogram).total_variation;
        println!("{name}: {modes:.1} modes a chain, total variation {far:.3}");
        (modes, far)
    })
}

#[test]
fn cycles_leave_the_corner_of_both_targets() {
    let means = &Modes::FIVE_BY_FIVE;
    let targets = [
        (Shape::Normal(100.0), Modes::normal(means, 450, 100.0).unwrap()),
        (Shape::Exponential(3.75, 1e-10), Modes::exponential(means, 450, 3.75, 1e-10).unwrap()),
    ];
    for (shape, model) in &targets {
        let names = ["DMALA", "ACS", "DMALA, one bold step"];
        let [local, cycle, bold] = from_the_corner(names, *shape, model);
        let leaves = |(modes, far): (f64, f64)| modes >= 10.0 && far <= 0.6 * local.1;
        assert!(local.0 <= 2.0 && leaves(cycle), "{local:?}, {cycle:?}");
        // Negative control: the boldest part of a cycle alone finds modes, but not their distribution.
        assert!(!leaves(bold), "{local:?}, {bold:?}");
    }
}
