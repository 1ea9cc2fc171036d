//! Bit-sliced spins that start at their distribution stay there, in 512 chains at once; broken variants do not.

use bitmc::lane::Bits;
use bitmc::{LaneRng, SeedableRng};
use bitmc_host_tests::sliced::{Defect, Room, Sliced, graph, sliced};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::replicas::{Dice, reference_rng};

/// Counts of the states in which chains end that start from the distribution.
fn ends(
    space: &Space,
    words: u64,
    seed: u64,
    mut run: impl FnMut(&[Bits], &mut LaneRng) -> Vec<Bits>,
) -> Vec<u64> {
    let (dice, mut start, mut rng) =
        (Dice::new(&space.distribution), reference_rng(seed, 0), LaneRng::seed_from_u64(seed));
    let mut counts = vec![0; space.states()];
    let sites = space.layout.sites();
    for _ in 0..words {
        let mut blocks = vec![[0; 16]; sites];
        for chain in 0..512 {
            let state = dice.roll(&mut start);
            (0..sites)
                .for_each(|site| blocks[site][chain / 32] |= ((state as u32 >> site) & 1) << (chain % 32));
        }
        let blocks = run(&blocks, &mut rng);
        for chain in 0..512 {
            let bit = |site: usize| ((blocks[site][chain / 32] >> (chain % 32)) & 1) as usize;
            counts[(0..sites).fold(0, |state, site| state | bit(site) << site)] += 1;
        }
    }
    counts
}

#[test]
fn an_exact_start_stays_exact() {
    let pairwise = graph(8, 0.4, 0.3, false, 2);
    let space = Space::binary(&pairwise);
    let mut memory = pairwise.couplings();
    let model = sliced(&pairwise, &mut memory);
    let found = ends(&space, 500, 71, |blocks, rng| {
        let mut room = Room::new(&model);
        room.blocks.copy_from_slice(blocks);
        let mut gibbs = room.gibbs(model);
        (0..4).for_each(|_| gibbs.sweep(rng));
        room.blocks
    });
    chi_square("sliced Gibbs", &found, &space.distribution).must_pass();
    let found = ends(&space, 500, 72, |blocks, rng| {
        let mut room = Room::new(&model);
        room.blocks.copy_from_slice(blocks);
        let mut langevin = room.langevin(model, 0.6);
        (0..20).for_each(|_| _ = langevin.step(rng));
        room.blocks
    });
    chi_square("sliced Langevin", &found, &space.distribution).must_pass();

    let variant = |seed: u64, defect: Defect| {
        let gibbs = ends(&space, 30, seed, |blocks, rng| {
            let mut variant = Sliced::new(&pairwise, blocks, defect);
            (0..4).for_each(|_| variant.sweep(rng));
            variant.blocks()
        });
        let langevin = ends(&space, 30, seed, |blocks, rng| {
            let mut variant = Sliced::new(&pairwise, blocks, defect);
            (0..6).for_each(|_| _ = variant.step(0.6, true, rng));
            variant.blocks()
        });
        (
            chi_square(&format!("Gibbs, {defect:?}"), &gibbs, &space.distribution),
            chi_square(&format!("Langevin, {defect:?}"), &langevin, &space.distribution),
        )
    };
    let (gibbs, langevin) = variant(73, Defect::None);
    gibbs.must_pass();
    langevin.must_pass();
    for defect in [Defect::WrongCount, Defect::LeastFirst, Defect::TakenAgain] {
        let (gibbs, langevin) = variant(74, defect);
        gibbs.must_fail();
        langevin.must_fail();
    }
    variant(75, Defect::NoRatio).1.must_fail();
}
