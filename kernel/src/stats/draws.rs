//! States kept as they are drawn.

use super::{StateObserver, look_at_states};
use crate::packed::Packed;
use heapless::{HistoryBuf, Vec};

/// The first `DRAWS` states that are drawn, in `WORDS` words each ([`Layout::words`](crate::Layout::words), or more: the
/// others are 0). [`Every`](super::Every) thins them. Where the last ones are wanted, a [`HistoryBuf`] of such arrays is an
/// observer too. 4 bytes a word.
///
/// ```
/// use bitmc::stats::{Draws, Every};
/// use bitmc::{Bernoulli, Chain, LaneRng, Langevin, Layout, Packed, SeedableRng, memory};
/// const L: Layout = Layout::binary(40);
/// let model = Bernoulli::new(&[0.3; 40]).ok_or("no sites")?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, 0), &mut rng)?;
/// let mut draws = Every::new(10, Draws::<{ L.words() }, 20>::new());
/// chain.run(&Langevin::adjusted(1.0)?, &mut rng, 200, &mut draws);
/// let kept = draws.observer.words()?;
/// assert_eq!(Packed::new(L, &kept[19])?, chain.state());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Draws<const WORDS: usize, const DRAWS: usize> {
    words: Vec<[u32; WORDS], DRAWS>,
    missed: u64,
}

/// So many states were not kept: the draws are full, or the states have more words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DrawsError {
    /// How many.
    pub missed: u64,
}

impl core::fmt::Display for DrawsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} draws were not kept: there is no room for them", self.missed)
    }
}

impl core::error::Error for DrawsError {}

impl<const WORDS: usize, const DRAWS: usize> Draws<WORDS, DRAWS> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new(), missed: 0 }
    }

    /// The words of the states that were drawn, in their order.
    ///
    /// # Errors
    /// [`DrawsError`] where some were not kept; [`Draws::first`] has the others.
    pub fn words(&self) -> Result<&[[u32; WORDS]], DrawsError> {
        if self.missed == 0 { Ok(&self.words) } else { Err(DrawsError { missed: self.missed }) }
    }

    /// The words of the first states, as many as were kept.
    #[must_use]
    pub fn first(&self) -> &[[u32; WORDS]] {
        &self.words
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.words.clear();
        self.missed = 0;
    }
}

impl<const WORDS: usize, const DRAWS: usize> StateObserver for Draws<WORDS, DRAWS> {
    fn see(&mut self, x: Packed<'_>) {
        let kept = words(x).is_some_and(|words| self.words.push(words).is_ok());
        self.missed = self.missed.saturating_add(u64::from(!kept));
    }
}

/// The last states; those of more than `WORDS` words are not kept.
impl<const WORDS: usize, const DRAWS: usize> StateObserver for HistoryBuf<[u32; WORDS], DRAWS> {
    fn see(&mut self, x: Packed<'_>) {
        if let Some(words) = words(x) {
            self.write(words);
        }
    }
}

look_at_states! {
    [const WORDS: usize, const DRAWS: usize] Draws<WORDS, DRAWS>;
    [const WORDS: usize, const DRAWS: usize] HistoryBuf<[u32; WORDS], DRAWS>;
}

/// The words of a state, and zeros behind them.
fn words<const WORDS: usize>(x: Packed<'_>) -> Option<[u32; WORDS]> {
    let mut words = [0; WORDS];
    let place = words.get_mut(..x.words().len())?;
    place.iter_mut().zip(x.words()).for_each(|(to, &from)| *to = from);
    Some(words)
}
