//! The parts that examples share, against slow and plain versions of themselves.

use bitmc::energy::{Energy, check};
use bitmc::random::normals;
use bitmc::{Function, LaneRng, Layout, Packed, Plain, Rng};
use bitmc_examples::bits::{BitRows, BitsError};
use bitmc_examples::chains::{memory, streams};
use bitmc_examples::exact;
use bitmc_examples::mmd::Mmd;
use bitmc_examples::model::RbmFolder;
use bitmc_examples::own_network::{Network, Theta};
use bitmc_examples::trace::checkpoints;
use std::path::{Path, PathBuf};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(path)
}

/// Rows of random bits.
fn random_rows(sites: usize, rows: usize, seed: u64) -> BitRows {
    let layout = Layout::binary(sites);
    let mut rng = LaneRng::stream(seed, 0);
    let mut table = BitRows::new(layout);
    for _ in 0..rows {
        let mut words: Vec<u32> = (0..layout.words()).map(|_| rng.next_u32()).collect();
        *words.last_mut().unwrap() &= layout.last_word();
        table.push(Packed::new(layout, &words).unwrap());
    }
    table
}

#[test]
fn bits_round_trip() {
    for sites in [1, 7, 8, 9, 31, 32, 33, 64, 784] {
        let rows = random_rows(sites, 5, 1);
        let bytes = rows.to_bytes();
        assert_eq!(bytes.len(), 16 + 5 * sites.div_ceil(8));
        assert_eq!(BitRows::from_bytes(&bytes), Ok(rows));
    }
    let file = std::fs::read(data("mnist/mnist_test1000.bits")).unwrap();
    assert_eq!(BitRows::from_bytes(&file).unwrap().to_bytes(), file);
}

#[test]
fn bits_of_a_row_are_where_the_format_says() {
    let bytes = [&b"DSBT"[..], &[1, 0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0], &[0b1000_0010, 0b01]].concat();
    let rows = BitRows::from_bytes(&bytes).unwrap();
    let on: Vec<usize> = (0..10).filter(|&i| rows.row(0)[0] >> i & 1 == 1).collect();
    assert_eq!(on, [1, 7, 8]);
}

#[test]
fn damaged_bits_have_a_name() {
    let good = random_rows(10, 3, 2).to_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        BitRows::from_bytes(&bytes)
    };
    assert_eq!(with(0, b'X'), Err(BitsError::Magic));
    assert_eq!(with(4, 2), Err(BitsError::Version(2)));
    assert_eq!(with(12, 0), Err(BitsError::NoBits));
    assert_eq!(with(8, 4), Err(BitsError::Length { need: 24, got: 22 }));
    assert_eq!(with(11, 255), Err(BitsError::Length { need: 16 + 2 * ((255 << 24) + 3), got: 22 }));
    assert_eq!(with(19, 0b100), Err(BitsError::Padding { row: 1 }));
    for length in 0..good.len() {
        let need = if length < 16 { 16 } else { 22 };
        let error = BitsError::Length { need, got: length as u64 };
        assert_eq!(BitRows::from_bytes(&good[..length]), Err(error));
    }
    assert!(BitRows::from_bytes(&[&good[..], &[0]].concat()).is_err());
}

#[test]
fn mmd_is_the_mean_over_pairs() {
    let (x, y) = (random_rows(50, 6, 3), random_rows(50, 9, 4));
    let kernel = |a: &[u32], b: &[u32]| {
        let differ = (0..50).filter(|i| (a[i / 32] ^ b[i / 32]) >> (i % 32) & 1 == 1).count();
        (-(differ as f64) / 50.0).exp()
    };
    let inside = |rows: &BitRows| {
        let n = rows.len();
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j);
        pairs.map(|(i, j)| kernel(rows.row(i), rows.row(j))).sum::<f64>() / (n * (n - 1)) as f64
    };
    let across: f64 = x.rows().flat_map(|a| y.rows().map(move |b| kernel(a, b))).sum::<f64>() / 54.0;
    let got = Mmd::new(&y).squared(&x).unwrap();
    // 117 terms below 1, each within an ulp of exp.
    assert!((got - (inside(&x) + inside(&y) - 2.0 * across)).abs() < 117.0 * 4.0 * f64::EPSILON);
    assert_eq!(Mmd::new(&y).squared(&random_rows(50, 1, 5)), None);
}

#[test]
fn streams_are_those_of_the_kernel() {
    for (chain, stream) in streams(42).take(20).enumerate() {
        assert_eq!(stream, LaneRng::stream(42, chain as u32));
    }
}

#[test]
fn checkpoints_rise_to_the_last_step() {
    for steps in [1, 2, 9, 10, 11, 1000, 4321, u64::MAX] {
        let points = checkpoints(steps);
        assert!(points.is_sorted_by(|a, b| a < b) && points[0] == 1.min(steps), "{points:?}");
        assert_eq!(points.last(), Some(&steps));
    }
}

/// The files, their reading and the energy together, against float64 values of the same weights.
#[test]
fn the_model_has_its_golden_energies() {
    let folder = RbmFolder::read(&data("rbm500"), 784).unwrap();
    let rbm = folder.rbm();
    let digits = BitRows::read(&data("mnist/mnist_test1000.bits"), 784).unwrap();
    let golden = std::fs::read(data("rbm500/golden_energy.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_slice(&golden).unwrap();
    let rows = golden["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for (index, row) in rows.iter().enumerate() {
        let state = Packed::new(rbm.layout(), digits.row(index)).unwrap();
        let energy = rbm.init(state, &mut memory(&rbm).cache).unwrap();
        // At most 150 × 500 weights of a digit, each below 2 and rounded to 22 bits: off by 2⁻²² or less.
        let bound = 150.0 * 500.0 / f64::from(1 << 22);
        assert!((f64::from(energy) + row["f"].as_f64().unwrap()).abs() < bound, "row {index}: {energy}");
    }
}

/// METHODS.md §8, all printed digits.
#[test]
fn small_tori_are_exact() {
    for (a, b, log_z, spin, pair) in [
        (0.1, 0.2, 19.674_086, 0.482_970, 0.368_767),
        (0.05, 0.2, 18.347_103, 0.299_886, 0.175_434),
        (0.2, 0.2, 25.896_014, 0.898_773, 0.839_777),
        (0.1, 0.0, 18.369_204, 0.0, 0.217_711),
    ] {
        let got = exact::torus(5, a, b);
        for (got, truth) in [(got.log_z, log_z), (got.spin, spin), (got.pair, pair)] {
            assert!((got - truth).abs() < 0.5001e-6, "a = {a}, b = {b}: {got} for {truth}");
        }
    }
}

/// A random network whose every part counts.
fn some_theta() -> Theta {
    let mut rng = LaneRng::stream(5, 0);
    let mut theta = Theta::start(&[0.3; 784], &mut rng);
    theta.0.iter_mut().for_each(|block| {
        block.iter_mut().zip(normals(&mut rng)).for_each(|(slot, noise)| *slot += 0.05 * noise);
    });
    theta
}

#[test]
fn the_network_of_own_network_is_an_energy() {
    /// Its gradient times a factor.
    struct Scaled<'n>(&'n Network, f32);
    impl Function for Scaled<'_> {
        fn layout(&self) -> Layout {
            self.0.layout()
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            self.0.total(x)
        }
        fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
            self.1 * self.0.gradient(x, site)
        }
        fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
            self.0.gradient_all(x, out);
            out.iter_mut().for_each(|slope| *slope *= self.1);
        }
    }
    let network = Network::new(&some_theta());
    let rows = random_rows(784, 1, 6);
    let slope = |factor| {
        let energy = Plain(Scaled(&network, factor));
        let x = Packed::new(rows.layout(), rows.row(0)).unwrap();
        let checked = check(&energy, &mut memory(&energy), [x]).unwrap();
        assert!(checked.correlation > Some(0.99), "{checked:?}");
        checked.slope.unwrap()
    };
    assert!((slope(1.0) - 1.0).abs() < 0.02);
    // The negative control: a forgotten factor.
    assert!((slope(2.0) - 0.5).abs() < 0.02);
}

#[test]
fn the_gradient_of_parameters_is_that_of_the_energy() {
    let (theta, rows) = (some_theta(), random_rows(784, 7, 8));
    let states = || rows.rows().map(|row| Packed::new(rows.layout(), row).unwrap());
    let network = Network::new(&theta);
    let gradient = network.mean_gradient(states());
    let mut rng = LaneRng::stream(9, 0);
    for part in 0..6 {
        // A direction in one part at a time: the second layer is much smaller than the first.
        let bounds = [0, 401_408, 401_920, 434_688, 434_752, 434_816, 435_600];
        let direction: Vec<f32> = (0..gradient.0.len()).flat_map(|_| normals(&mut rng)).collect();
        let inside = |index: usize| (bounds[part]..bounds[part + 1]).contains(&index);
        let mean = |h: f32| {
            let mut moved = theta.clone();
            let numbers = moved.0.as_flattened_mut().iter_mut().zip(&direction).enumerate();
            numbers.filter(|(index, _)| inside(*index)).for_each(|(_, (slot, step))| *slot += h * step);
            let network = Network::new(&moved);
            states().map(|x| f64::from(network.total(x))).sum::<f64>() / rows.len() as f64
        };
        let h = 1e-3;
        let slope = (mean(h) - mean(-h)) / f64::from(2.0 * h);
        let terms = gradient.0.as_flattened().iter().zip(&direction).enumerate();
        let terms = terms.filter(|(index, _)| inside(*index)).map(|(_, (a, b))| f64::from(a * b));
        let (sum, square) = terms.fold((0.0, 0.0), |(sum, square), term| (sum + term, square + term * term));
        // Of a sum whose terms cancel, a hundredth of its typical size; a gradient of zeros is off by all of it.
        assert!((slope - sum).abs() < 0.02 * square.sqrt(), "part {part}: {slope}, {sum}, {square}");
    }
}

/// Every picture of a film is decoded again, and its time with it.
#[test]
fn a_film_holds_its_pictures() {
    use bitmc_examples::picture::{BLUE, Frame, INK, Picture, save_film};
    let frames: Vec<Frame> = (0..3)
        .map(|number| {
            let mut picture = Picture::new(5, 4, INK);
            picture.set(number, 1, BLUE);
            Frame { picture, milliseconds: 40 + number as u16 }
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("film.png");
    save_film(&file, &frames).unwrap();
    let mut decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file).unwrap()));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
    for (number, frame) in frames.iter().enumerate() {
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        assert_eq!(reader.info().frame_control().unwrap().delay_num, frame.milliseconds);
        for (site, pixel) in bytes.chunks(3).take(20).enumerate() {
            assert_eq!(pixel, if site == 5 + number { BLUE } else { INK }, "frame {number}, pixel {site}");
        }
    }
}
