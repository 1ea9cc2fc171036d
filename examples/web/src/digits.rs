//! The digits of the page: chains of the RBM of 784 visible and 500 hidden units, some pixels held.

use bitmc::energy::pack_rows;
use bitmc::lane::{Bits, Block};
use bitmc::{BlockGibbs, Chain, Energy, LaneRng, Langevin, Layout, Memory, Packed, Rbm};

/// Pixels of a digit.
pub(crate) const DIGIT: Layout = Layout::binary(28 * 28);
/// Words of a digit.
pub(crate) const WORDS: usize = DIGIT.words();
const HIDDEN: usize = 500;
/// The step size of DMALA, that of the example `digits`.
const STEP_SIZE: f32 = 0.2;
/// The most chains.
const MOST: u32 = 64;

/// The numbers of a NumPy file (version 1, f32 in C order) at the start of some bytes, and the bytes behind it.
fn numbers<'b>(bytes: &'b [u8], count: usize, name: &str) -> Result<(Vec<f32>, &'b [u8]), String> {
    let wrong = || format!("{name}: not a NumPy file of {count} f32 numbers");
    let (head, rest) = bytes.split_at_checked(10).ok_or_else(wrong)?;
    if !head.starts_with(b"\x93NUMPY\x01") {
        return Err(wrong());
    }
    let length = usize::from(u16::from_le_bytes([head[8], head[9]]));
    let (said, rest) = rest.split_at_checked(length).ok_or_else(wrong)?;
    if !String::from_utf8_lossy(said).contains("'descr': '<f4', 'fortran_order': False") {
        return Err(wrong());
    }
    let (data, rest) = rest.split_at_checked(4 * count).ok_or_else(wrong)?;
    let number = |four: &[u8]| four.try_into().map_or(f32::NAN, f32::from_le_bytes);
    Ok((data.chunks_exact(4).map(number).collect(), rest))
}

/// The model of `W.npy`, `a_vis.npy` and `b_hid.npy`, one behind the other. It is made once and stays.
pub(crate) fn model(bytes: &[u8]) -> Result<&'static Rbm<'static>, String> {
    let (matrix, rest) = numbers(bytes, DIGIT.sites() * HIDDEN, "W.npy")?;
    let (visible, rest) = numbers(rest, DIGIT.sites(), "a_vis.npy")?;
    let (biases, _) = numbers(rest, HIDDEN, "b_hid.npy")?;
    let blocks = Rbm::row_blocks(HIDDEN);
    let mut weights = vec![Block::default(); blocks * DIGIT.sites()];
    let mut hidden = vec![Block::default(); blocks];
    pack_rows(&matrix, HIDDEN, &mut weights).map_err(|error| error.to_string())?;
    pack_rows(&biases, HIDDEN, &mut hidden).map_err(|error| error.to_string())?;
    let rbm = Rbm::new(weights.leak(), visible.leak(), hidden.leak(), HIDDEN);
    rbm.map(|rbm| &*Box::leak(Box::new(rbm))).map_err(|error| error.to_string())
}

type DigitChain = Chain<'static, Rbm<'static>, Vec<u32>, Vec<Bits>, Vec<Block>>;

/// Chains of one model.
pub(crate) struct Digits {
    chains: Vec<(DigitChain, LaneRng)>,
    langevin: Option<Langevin<'static>>,
}

impl Digits {
    /// Chains from noise, where the pixels of `mask` are held at those of `drawn`. Chain i has stream i of the seed.
    /// Sampler 0 is block Gibbs, 1 is DMALA.
    pub(crate) fn new(
        rbm: &'static Rbm<'static>,
        count: u32,
        seed: u32,
        sampler: u32,
        (mask, drawn): (&[u32], &[u32]),
    ) -> Result<Self, String> {
        if !(1..=MOST).contains(&count) {
            return Err(format!("{count} chains: it must be 1 to {MOST}"));
        }
        let langevin = match sampler {
            0 => None,
            1 => Some(Langevin::adjusted(STEP_SIZE).map_err(|error| error.to_string())?),
            other => {
                return Err(format!("there is no sampler {other} of digits: 0 is block Gibbs, 1 is DMALA"));
            }
        };
        let one = |number| -> Result<_, bitmc::ChainError> {
            let memory = Memory {
                words: vec![0; Memory::words(DIGIT)],
                cache: vec![Bits::default(); Memory::cache(rbm.cache_len())],
                weights: vec![Block::default(); Memory::weights(DIGIT)],
            };
            let mut rng = LaneRng::stream(u64::from(seed), number);
            let mut chain = Chain::random(rbm, memory, &mut rng)?;
            let words = chain.state().words().iter().zip(mask.iter().zip(drawn));
            let start: Vec<u32> = words.map(|(x, (mask, drawn))| (x & !mask) | (drawn & mask)).collect();
            chain.restart(Packed::new(DIGIT, &start)?)?;
            chain.clamp(Packed::new(DIGIT, mask)?)?;
            Ok((chain, rng))
        };
        let chains = (0..count).map(one).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Self { chains, langevin })
    }

    /// Some steps of every chain.
    pub(crate) fn run(&mut self, steps: u32) {
        for (chain, rng) in &mut self.chains {
            for _ in 0..steps {
                match &self.langevin {
                    Some(langevin) => chain.step(langevin, rng),
                    None => chain.step(&BlockGibbs, rng),
                };
            }
        }
    }

    /// The pixels of a chain.
    pub(crate) fn state(&self, chain: u32) -> Option<Packed<'_>> {
        self.chains.get(chain as usize).map(|(chain, _)| chain.state())
    }
}
