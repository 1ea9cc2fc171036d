//! What the page must show, computed by the kernel alone on the host:   reference FOLDER
//!
//! Writes a picture of each case (PBM) to the folder, and a line for each: its name, the canvas, and the address.

use bitmc::energy::{SparseBuffers, pack_rows};
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::{
    Cycle, IsingBalanced, IsingLangevin, Kernel, SequentialGibbs, SwendsenWang, Wolff, langevin_cycle,
};
use bitmc::tune::RateTuner;
use bitmc::{
    BlockGibbs, Chain, Energy, Ising, LaneRng, Langevin, Layout, Memory, Modes, Packed, Rbm, Schedule,
    SeedableRng, torus,
};
use std::error::Error;
use std::path::Path;

type Answer<T> = Result<T, Box<dyn Error>>;
type Lattice<'m> = Chain<'m, Ising<'m>, Vec<u32>, Vec<[u32; 16]>, Vec<[f32; 16]>>;

fn memory(energy: &impl Energy) -> Memory<Vec<u32>, Vec<[u32; 16]>, Vec<[f32; 16]>> {
    let layout = energy.layout();
    Memory {
        words: vec![0; Memory::words(layout)],
        cache: vec![[0; 16]; Memory::cache(energy.cache_len())],
        weights: vec![[0.0; 16]; Memory::weights(layout)],
    }
}

/// A bitmap of the sites in rows.
fn write(path: &Path, x: Packed<'_>, width: usize) -> Answer<()> {
    let mut bytes = format!("P4\n{width} {}\n", x.layout().sites() / width).into_bytes();
    for row in x.values().collect::<Vec<_>>().chunks(width) {
        bytes.extend(
            row.chunks(8)
                .map(|bits| (0..).zip(bits).fold(0, |byte, (at, &bit)| byte | (bit as u8) << (7 - at))),
        );
    }
    Ok(std::fs::write(path, bytes)?)
}

/// A lattice of one sampler after some steps.
struct Case {
    name: &'static str,
    side: u32,
    temperature: f32,
    field: f32,
    aligned: bool,
    seed: u64,
    steps: u32,
}

impl Case {
    fn draw(&self, folder: &Path) -> Answer<()> {
        let Self { name, side, temperature, field, aligned, seed, steps } = *self;
        let sites = (side * side) as usize;
        let (mut ends, mut linear) = (vec![0; sites], vec![0; sites]);
        let mut entries = vec![Default::default(); 4 * sites];
        let buffers = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let fields = vec![field / temperature; sites];
        let model = Ising::spins_edges_once(sites, torus(side, side, 1.0 / temperature), &fields, buffers)?;
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chain: Lattice<'_> = Chain::random(&model, memory(&model), &mut rng)?;
        if aligned {
            chain.restart(Packed::new(model.layout(), &vec![u32::MAX; sites / 32])?)?;
        }
        match name {
            "gibbs" => run(&mut chain, &SequentialGibbs, &mut rng, steps),
            "wolff" => run(&mut chain, &Wolff, &mut rng, steps),
            "swendsen-wang" => run(&mut chain, &SwendsenWang, &mut rng, steps),
            "ab-edge" => {
                let matrix = SparseMatrix::of(model.form());
                let mut d = vec![[0.0; 16]; Edgewise::blocks(sites)];
                let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
                let noise = Edgewise::new(matrix, &mut d)?.by_runs(&mut runs)?;
                run(&mut chain, &IsingBalanced::discrete(noise, f32::INFINITY, 1.0)?, &mut rng, steps);
            }
            _ => {
                let mut tuner = RateTuner::new(0.5, (1e-3, 10.0), RateTuner::LOCALLY_BALANCED)?;
                for step in 1..=steps {
                    let info = chain.step(&IsingLangevin::adjusted(tuner.parameter())?, &mut rng);
                    tuner.observe(&info);
                    if step == 200 {
                        tuner.freeze();
                    }
                }
            }
        }
        write(&folder.join(format!("{name}.pbm")), chain.state(), side as usize)?;
        let start = if aligned { "aligned" } else { "random" };
        let address = format!(
            "side={side}&T={temperature}&h={field}&sampler={name}&start={start}&seed={seed}&at={steps}"
        );
        println!("{name}\tlattice\t0\t{address}");
        Ok(())
    }
}

fn run<'m>(chain: &mut Lattice<'m>, kernel: &impl Kernel<Ising<'m>>, rng: &mut LaneRng, steps: u32) {
    for _ in 0..steps {
        chain.step(kernel, rng);
    }
}

/// The numbers of a NumPy file of f32 in C order.
fn numbers(name: &str) -> Answer<Vec<f32>> {
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/rbm500").join(name))?;
    let head = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    Ok(bytes[head..]
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect())
}

/// Digits of one chain, with or without a held upper half.
fn digits(folder: &Path) -> Answer<()> {
    const DIGIT: Layout = Layout::binary(784);
    let (matrix, visible, biases) = (numbers("W.npy")?, numbers("a_vis.npy")?, numbers("b_hid.npy")?);
    let units = biases.len();
    let (mut weights, mut hidden) =
        (vec![[0.0; 16]; 784 * units.div_ceil(16)], vec![[0.0; 16]; units.div_ceil(16)]);
    pack_rows(&matrix, units, &mut weights)?;
    pack_rows(&biases, units, &mut hidden)?;
    let rbm = Rbm::new(&weights, &visible, &hidden, units)?;
    // A thick bar over the upper half: the top of a 7.
    let drawn = |site: usize| (6..9).contains(&(site / 28)) && (7..21).contains(&(site % 28));
    let bytes: Vec<u8> =
        (0..98).map(|byte| (0..8).fold(0, |sum, bit| sum | u8::from(drawn(8 * byte + bit)) << bit)).collect();
    let cases = [
        ("digits-gibbs", "gibbs", 3, false),
        ("digits-dmala", "dmala", 0, false),
        ("digits-held", "gibbs", 8, true),
    ];
    for (name, sampler, number, held) in cases {
        let mut rng = LaneRng::stream(9, number);
        let mut chain = Chain::random(&rbm, memory(&rbm), &mut rng)?;
        if held {
            let (mut start, mut mask) = (chain.state().words().to_vec(), vec![0; DIGIT.words()]);
            for site in 0..392 {
                bitmc::packed::set(DIGIT, &mut start, site, u32::from(drawn(site)))?;
                bitmc::packed::set(DIGIT, &mut mask, site, 1)?;
            }
            chain.restart(Packed::new(DIGIT, &start)?)?;
            chain.clamp(Packed::new(DIGIT, &mask)?)?;
        }
        for _ in 0..60 {
            if sampler == "gibbs" {
                chain.step(&BlockGibbs, &mut rng)
            } else {
                chain.step(&Langevin::adjusted(0.2)?, &mut rng)
            };
        }
        write(&folder.join(format!("{name}.pbm")), chain.state(), 28)?;
        let drawn = if held { format!("&half=upper&drawn={}", base64url(&bytes)) } else { String::new() };
        println!(
            "{name}\tdigits\t{number}\tdigit-sampler={sampler}&digit-seed=9&digit-at=60{drawn}&side=64&at=1"
        );
    }
    Ok(())
}

/// Where sixteen chains in the plane have been, in bins of 3 × 3.
fn plane(folder: &Path) -> Answer<()> {
    let model = Modes::normal(&Modes::FIVE_BY_FIVE, 450, 100.0)?;
    let (bold, small) = (Schedule::cyclical_step_size(1575.0, 3.0, 20)?, Schedule::cosine(0.95, 0.5, 20)?);
    let cycle = langevin_cycle::<20>(&bold, &small)?;
    let acs = Cycle::new(&cycle).ok_or("no kernel")?;
    for (number, name) in [(1, "plane-dmala"), (2, "plane-acs")] {
        let mut start = vec![0; model.layout().words()];
        bitmc::packed::set(model.layout(), &mut start, 0, 75)?;
        bitmc::packed::set(model.layout(), &mut start, 1, 75)?;
        let mut seen = vec![0; Layout::binary(150 * 150).words()];
        for stream in 0..16 {
            let mut rng = LaneRng::stream(5, stream);
            let mut chain = Chain::new(&model, memory(&model), Packed::new(model.layout(), &start)?)?;
            for _ in 0..240 {
                if number == 1 {
                    chain.step(&Langevin::adjusted(53.0)?, &mut rng);
                } else {
                    chain.step(&acs, &mut rng);
                }
                let (x, y) = (chain.state().get(0) / 3, chain.state().get(1) / 3);
                bitmc::packed::set(Layout::binary(150 * 150), &mut seen, (150 * y + x) as usize, 1)?;
            }
        }
        let seen = Packed::new(Layout::binary(150 * 150), &seen)?;
        write(&folder.join(format!("{name}.pbm")), seen, 150)?;
        println!("{name}\tplane\t{number}\tplane-seed=5&plane-at=240&side=64&at=1");
    }
    Ok(())
}

fn base64url(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let of_three = |three: &[u8]| {
        let word = (0..3).fold(0u32, |word, at| word << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        (0..=three.len())
            .map(|at| char::from(letters[(word >> (18 - 6 * at)) as usize & 63]))
            .collect::<String>()
    };
    bytes.chunks(3).map(of_three).collect()
}

fn main() -> Answer<()> {
    let folder = std::env::args().nth(1).ok_or("reference FOLDER: where do the pictures go?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for case in [
        Case { name: "gibbs", side: 512, temperature: 2.269, field: 0.0, aligned: false, seed: 1, steps: 100 },
        Case { name: "dmala", side: 64, temperature: 2.0, field: 0.05, aligned: false, seed: 2, steps: 300 },
        Case { name: "ab-edge", side: 128, temperature: 2.4, field: 0.0, aligned: false, seed: 3, steps: 200 },
        Case { name: "wolff", side: 128, temperature: 2.269, field: 0.0, aligned: true, seed: 4, steps: 100 },
        Case {
            name: "swendsen-wang",
            side: 256,
            temperature: 2.3,
            field: -0.01,
            aligned: false,
            seed: 4294967295,
            steps: 20,
        },
    ] {
        case.draw(folder)?;
    }
    digits(folder)?;
    plane(folder)
}
