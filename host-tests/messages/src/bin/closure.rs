//! A closure as an observer.

use bitmc::stats::Means;
use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};

const L: Layout = Layout::binary(25);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut couplings = SparseMemory::<25, 100>::new();
    let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow())?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
    let mut means = Means::new([0; 25]);
    chain.run(&Langevin::adjusted(0.6)?, &mut rng, 100, &mut means);
    chain.run(
        &Langevin::adjusted(0.6)?,
        &mut rng,
        100,
        &mut |_: bitmc::Packed<'_>, energy: f32, _: &bitmc::Info| println!("{energy}"),
    );
    println!("{:?}", means.mean(0));
    Ok(())
}
