use bitmc::*;
use bitmc::stats::{Acceptance, Watch};
#[test]
fn five() {
    const L: Layout = Layout::binary(25);
    let mut mem = SparseMemory::<25, 100>::new();
    let model = Ising::spins_edges_twice(torus(5, 5, 0.1), &[0.2; 25], mem.lend()).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(&model as &dyn Energy, memory!(L, Ising::cache_len(25)), &mut rng).unwrap();
    let sampler = Langevin::adjusted(0.6).unwrap();
    let mut acc = Acceptance::new();
    let mut sum = 0f64; let mut e = 0f64;
    chain.run(&sampler, &mut rng, 1000, &mut Watch(|_: Packed<'_>, _: f32, _: &Info| {}));
    let t = std::time::Instant::now();
    chain.run(&sampler, &mut rng, 1000000, &mut (Watch(|x: Packed<'_>, en: f32, _: &Info| { sum += x.ones() as f64; e += en as f64; }), &mut acc));
    println!("{:?}", t.elapsed() / 1000000);
    println!("{} {} {} {} {}", acc.proposed(), acc.rate(), acc.jump_distance(), 2.0 * sum / 25e6 - 1.0, e/1e6);
}
