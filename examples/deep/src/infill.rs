//! The energy of a sentence with gaps: minus the sum, over the gaps, of the log probability that a masked language model gives
//! to the piece there, when this gap alone is hidden and the others are filled.

use crate::masked::{Answer, MASK, Masked, PIECES, Passes, SPECIAL, WIDTH};
use crate::product::add;
use crate::text::Line;
use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::packed::Move;
use bitmc::{Energy, Layout, Packed};
use bitmc_examples::cli::Failure;
use bitmc_examples::told::Evaluator;
use candle_core::Result;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Values of a site: all pieces but the special ones.
pub const VALUES: usize = PIECES - SPECIAL as usize;
/// Passes that are run at once.
const TOGETHER: usize = 256;

/// A sentence with gaps, as an energy over categorical sites.
pub struct Sentence<'m> {
    model: &'m Masked,
    line: &'m Line,
    /// Values that each site may have, where they are fewer.
    arities: Option<Vec<u16>>,
    /// Whether a gap is hidden while its piece is read. Always, but for a negative control.
    hidden: bool,
    /// Passes that were run: forward, and back.
    passes: [AtomicU64; 2],
}

impl<'m> Sentence<'m> {
    /// A sentence over a model.
    #[must_use]
    pub fn new(model: &'m Masked, line: &'m Line) -> Self {
        Self { model, line, arities: None, hidden: true, passes: Default::default() }
    }

    /// With the first `values` pieces alone, so that all states can be listed.
    #[must_use]
    pub fn narrowed(mut self, values: u16) -> Self {
        self.arities = Some(vec![values; self.line.masked.len()]);
        self
    }

    /// A negative control: every gap is read while its piece is seen.
    #[must_use]
    pub fn unmasked(mut self) -> Self {
        self.hidden = false;
        self
    }

    /// Passes that were run: forward, and back.
    #[must_use]
    pub fn passes(&self) -> [u64; 2] {
        [0, 1].map(|way: usize| self.passes[way].load(Ordering::Relaxed))
    }

    /// The whole sentence of a state.
    #[must_use]
    pub fn filled(&self, state: Packed<'_>) -> Vec<u32> {
        let mut ids = self.line.ids.clone();
        self.line.masked.iter().zip(state.values()).for_each(|(&at, value)| ids[at] = value + SPECIAL);
        ids
    }

    /// The values of the book.
    pub fn book(&self) -> impl Iterator<Item = u32> {
        self.line.masked.iter().map(|&at| self.line.ids[at] - SPECIAL)
    }

    /// Passes over sentences, each with some gaps read in turn.
    fn run(&self, sentences: &[Vec<u32>], gaps: &[usize]) -> Result<Answer> {
        let mut passes = Passes { ids: Vec::new(), length: self.line.ids.len(), at: Vec::new() };
        for ids in sentences {
            for &at in gaps {
                let first = passes.ids.len();
                passes.ids.extend(ids);
                if self.hidden {
                    passes.ids[first + at] = MASK;
                }
                passes.at.push(at);
            }
        }
        self.passes[0].fetch_add(passes.at.len() as u64, Ordering::Relaxed);
        self.model.run(&passes)
    }

    /// The pieces that the passes of [`Sentence::run`] are about.
    fn pieces<'x>(sentences: &'x [Vec<u32>], gaps: &'x [usize]) -> impl Iterator<Item = u32> + Clone + 'x {
        sentences.iter().flat_map(|ids| gaps.iter().map(|&at| ids[at]))
    }

    /// The energies of whole sentences, of some gaps alone.
    fn energies(&self, sentences: &[Vec<u32>], gaps: &[usize]) -> Result<Vec<f32>> {
        let answer = self.run(sentences, gaps)?;
        let pieces = Self::pieces(sentences, gaps);
        let logs: Vec<f32> =
            answer.logs.chunks(PIECES).zip(pieces).map(|(row, piece)| row[piece as usize]).collect();
        Ok(logs.chunks(gaps.len().max(1)).map(|logs| -logs.iter().sum::<f32>()).collect())
    }

    /// The log probability of each value at a site, given the others.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn conditional(&self, ids: &[u32], site: usize) -> Result<Vec<f32>> {
        let answer = self.run(&[ids.to_vec()], &[self.line.masked[site]])?;
        Ok(answer.logs[SPECIAL as usize..].to_vec())
    }

    /// The sentence that takes, gap by gap, the piece of which the model is most certain while the rest is hidden.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn greedy(&self) -> Result<Vec<u32>> {
        let mut ids = self.line.ids.clone();
        let mut left = self.line.masked.clone();
        left.iter().for_each(|&at| ids[at] = MASK);
        while !left.is_empty() {
            let answer = self.run(&[ids.clone()], &left)?;
            let all = answer.logs.chunks(PIECES).enumerate().flat_map(|(gap, row)| {
                row.iter().enumerate().skip(SPECIAL as usize).map(move |(piece, &log)| (log, gap, piece))
            });
            let Some((_, gap, piece)) = all.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            ids[left.remove(gap)] = piece as u32;
        }
        Ok(ids)
    }

    /// `E` of a whole sentence.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn energy(&self, ids: &[u32]) -> Result<f32> {
        Ok(self.energies(&[ids.to_vec()], &self.line.masked)?[0])
    }
}

impl Evaluator for Sentence<'_> {
    fn layout(&self) -> Layout {
        Layout::categorical(self.line.masked.len(), VALUES)
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_deref()
    }

    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> std::result::Result<(), Failure> {
        self.find(states, energies, gradients).map_err(Failure::model)
    }
}

impl Sentence<'_> {
    fn find(&self, states: &[Packed<'_>], energies: &mut [f32], gradients: &mut [f32]) -> Result<()> {
        let gaps = &self.line.masked;
        let sentences: Vec<_> = states.iter().map(|&state| self.filled(state)).collect();
        let answer = self.run(&sentences, gaps)?;
        let pieces = Self::pieces(&sentences, gaps);
        let logs = answer.logs.chunks(PIECES).zip(pieces.clone()).map(|(row, piece)| row[piece as usize]);
        let logs: Vec<f32> = logs.collect();
        let sums = logs.chunks(gaps.len()).map(|logs| -logs.iter().sum::<f32>());
        energies.iter_mut().zip(sums).for_each(|(energy, sum)| *energy = sum);

        let back = self.model.back(&answer, pieces)?;
        self.passes[1].fetch_add(logs.len() as u64, Ordering::Relaxed);
        // What the embedding at a gap does to the other gaps.
        let mut vectors = vec![0.0; logs.len() * WIDTH];
        let of_a_sentence = back.chunks(gaps.len() * self.line.ids.len() * WIDTH);
        for (vectors, back) in vectors.chunks_mut(gaps.len() * WIDTH).zip(of_a_sentence) {
            for (read, back) in back.chunks(self.line.ids.len() * WIDTH).enumerate() {
                for (site, vector) in vectors.chunks_mut(WIDTH).enumerate() {
                    if site != read || !self.hidden {
                        add(vector, &back[gaps[site] * WIDTH..][..WIDTH]);
                    }
                }
            }
        }
        let along = self.model.along_pieces(vectors)?;
        let rows = along.chunks(PIECES).zip(answer.logs.chunks(PIECES));
        for (out, (along, logs)) in gradients.chunks_mut(VALUES).zip(rows) {
            let values = along.iter().zip(logs).skip(SPECIAL as usize);
            out.iter_mut().zip(values).for_each(|(out, (along, log))| *out = along - log);
        }
        Ok(())
    }
}

/// The same energy, asked for differences: for Gibbs site by site. The cache has `E`.
impl Energy for Sentence<'_> {
    fn layout(&self) -> Layout {
        Evaluator::layout(self)
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_deref()
    }

    fn cache_len(&self) -> usize {
        1
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> std::result::Result<f32, EnergyError> {
        let energy = self.energy(&self.filled(x)).unwrap_or(f32::NAN);
        let word = cache.first_mut().ok_or(EnergyError::Cache { need: 1, got: 0 })?;
        word[0] = energy.to_bits();
        if energy.is_nan() { Err(EnergyError::Nan) } else { Ok(energy) }
    }

    fn gradient(&self, x: Packed<'_>, _: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let mut all = vec![0.0; x.layout().sites() * VALUES];
        if self.evaluate(&[x], &mut [0.0], &mut all).is_err() {
            all.fill(f32::NAN);
        }
        let wanted = all.chunks(VALUES).skip(rows.start);
        let blocks = out.chunks_mut(VALUES.div_ceil(LANES));
        wanted.zip(blocks).for_each(|(row, out)| out.as_flattened_mut()[..VALUES].copy_from_slice(row));
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let before = f32::from_bits(cache[0][0]);
        self.init(step.to(), cache).map_or(f32::NAN, |after| after - before)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let Ok(x) = Packed::new(Energy::layout(self), words) else { return out.fill(f32::NAN) };
        let (ids, at) = (self.filled(x), self.line.masked[site]);
        let here = ids[at];
        // At the site itself one pass has all values; at the others every value takes passes of its own.
        let others: Vec<usize> = self.line.masked.iter().copied().filter(|&gap| gap != at).collect();
        let all: Vec<u32> = (SPECIAL..SPECIAL + out.len() as u32).collect();
        let with = |&piece: &u32| {
            let mut ids = ids.clone();
            ids[at] = piece;
            ids
        };
        let found = || -> Result<Vec<f32>> {
            let own = if self.hidden {
                self.conditional(&ids, site)?.iter().map(|log| -log).collect()
            } else {
                self.energies(&all.iter().map(with).collect::<Vec<_>>(), &[at])?
            };
            let mut sums: Vec<f32> = own.into_iter().take(all.len()).collect();
            for (pieces, sums) in all.chunks(TOGETHER).zip(sums.chunks_mut(TOGETHER)) {
                add(sums, &self.energies(&pieces.iter().map(with).collect::<Vec<_>>(), &others)?);
            }
            Ok(sums)
        };
        match found() {
            Err(_) => out.fill(f32::NAN),
            Ok(sums) => {
                let energy = f32::from_bits(cache[0][0]);
                for ((sum, out), piece) in sums.iter().zip(out).zip(SPECIAL..) {
                    *out = if piece == here { 0.0 } else { sum - energy };
                }
            }
        }
    }
}
