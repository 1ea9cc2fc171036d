//! A first run.
use bitmc_desktop::*;
#[test]
fn smoke() {
    let mut edges = vec![];
    let l = 32u32;
    for r in 0..l {
        for c in 0..l {
            edges.push((r * l + c, r * l + (c + 1) % l, 0.3));
            edges.push((r * l + c, (r + 1) % l * l + c, 0.3));
        }
    }
    let m = Model::ising((l * l) as usize, &edges, &[]).unwrap();
    let t = std::time::Instant::now();
    let s = m.sampler().run().unwrap();
    println!("{:?}", t.elapsed());
    let t = std::time::Instant::now();
    let u = s.summary();
    println!("{:?}", t.elapsed());
    println!("{:#?}\n{}", s.report(), u.table(3));
    println!("{:?} {:?} {:?}", u.ess, u.r_hat, u.warning());
    // spin glass
    let mut x = 12345u64;
    let mut rnd = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if x >> 40 & 1 == 1 { 1.0f32 } else { -1.0 }
    };
    let l = 8u32;
    let mut edges = vec![];
    let at = |x: u32, y: u32, z: u32| (x % l * l + y % l) * l + z % l;
    for x in 0..l {
        for y in 0..l {
            for z in 0..l {
                for b in [at(x + 1, y, z), at(x, y + 1, z), at(x, y, z + 1)] {
                    edges.push((at(x, y, z), b, rnd()));
                }
            }
        }
    }
    let m = Model::ising(512, &edges, &[]).unwrap();
    for temp in [2.0, 1.1, 0.8] {
        let t = std::time::Instant::now();
        let s = m.sampler().temperature(temp).run().unwrap();
        println!("T {temp} {:?}", t.elapsed());
        let u = s.summary();
        println!("{:#?}\n{}", s.report(), u.table(3));
        println!("{:?} {:?} {:?}", u.ess, u.r_hat, u.warning());
    }
}
