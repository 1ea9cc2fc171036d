//! A generator with the traits of another rand_core.

use bitmc::stats::Means;
use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};

const L: Layout = Layout::binary(25);

/// What rand_core 0.9 calls a generator.
trait RngCore {
    fn next_u32(&mut self) -> u32;
}

struct Old(u32);

impl RngCore for Old {
    fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(747_796_405).wrapping_add(1);
        self.0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut couplings = SparseMemory::<25, 100>::new();
    let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow())?;
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
    let mut means = Means::new([0; 25]);
    chain.step(&Langevin::adjusted(0.6)?, &mut Old(1));
    chain.run(&Langevin::adjusted(0.6)?, &mut rng, 100, &mut means);
    println!("{:?}", means.mean(0));
    Ok(())
}
