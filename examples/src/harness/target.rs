//! What the samplers of a comparison sample.

use crate::bits::BitRows;
use crate::mmd::Mmd;
use bitmc::layout::Kind;
use bitmc::packed::set;
use bitmc::{Energy, LaneRng, Layout, Rng};

/// The start of chain `n`, as the words of a state.
type Starts<'t> = Box<dyn Fn(usize, &mut LaneRng) -> Vec<u32> + Sync + 't>;

/// An energy under a name, with what is known about its distribution.
pub struct Target<'t, E: ?Sized> {
    pub(super) name: String,
    pub(super) energy: &'t E,
    pub(super) exact: Option<Vec<f64>>,
    pub(super) reference: Option<Mmd<'t>>,
    starts: Option<Starts<'t>>,
}

impl<'t, E: Energy + ?Sized> Target<'t, E> {
    /// Nothing known yet; chains start at independent uniform values.
    pub fn new(name: impl Into<String>, energy: &'t E) -> Self {
        Self { name: name.into(), energy, exact: None, reference: None, starts: None }
    }

    /// The exact mean of every [component](components).
    ///
    /// # Panics
    /// Where there are more or fewer means than components.
    #[must_use]
    pub fn exact_means(mut self, means: Vec<f64>) -> Self {
        assert_eq!(means.len(), components(self.energy), "one mean a component");
        self.exact = Some(means);
        self
    }

    /// Samples of the distribution, two or more, of binary sites: the squared MMD of the chains to them is told.
    #[must_use]
    pub fn reference(mut self, samples: &'t BitRows) -> Self {
        self.reference = Some(Mmd::new(samples));
        self
    }

    /// Where chain n starts: the words of a state of the energy's layout.
    #[must_use]
    pub fn starting(mut self, starts: impl Fn(usize, &mut LaneRng) -> Vec<u32> + Sync + 't) -> Self {
        self.starts = Some(Box::new(starts));
        self
    }

    pub(super) fn start(&self, chain: usize, rng: &mut LaneRng) -> Vec<u32> {
        if let Some(starts) = &self.starts {
            return starts(chain, rng);
        }
        let layout = self.energy.layout();
        let mut words = vec![0; layout.words()];
        for site in 0..layout.sites() {
            let arity = self.energy.arities().map_or(layout.arity() as u64, |arities| u64::from(arities[site]));
            let value = (u64::from(rng.next_u32()) * arity) >> 32;
            set(layout, &mut words, site, value as u32).expect("a value below the arity");
        }
        words
    }
}

/// How many scalars the samplers are judged by: the value of every binary or ordinal site; of a categorical
/// one, for each value, whether it has it.
#[must_use]
pub fn components<E: Energy + ?Sized>(energy: &E) -> usize {
    let layout = energy.layout();
    match layout.kind() {
        Kind::Categorical => layout.sites() * layout.arity(),
        Kind::Binary | Kind::Ordinal => layout.sites(),
    }
}

/// Where a component stands in the words of a state.
#[derive(Clone, Copy)]
pub(super) struct Component {
    word: usize,
    shift: u32,
    mask: u32,
    /// Of a categorical site, the value that it is about.
    value: Option<u32>,
}

impl Component {
    pub(super) fn new(layout: Layout, index: usize) -> Self {
        let (site, value) = match layout.kind() {
            Kind::Categorical => (index / layout.arity(), Some((index % layout.arity()) as u32)),
            Kind::Binary | Kind::Ordinal => (index, None),
        };
        let (fields, bits) = (layout.fields_per_word(), layout.field_bits());
        Self { word: site / fields, shift: (site % fields) as u32 * bits, mask: (1 << bits) - 1, value }
    }

    /// Its value at a state.
    pub(super) fn at(self, words: &[u32]) -> f64 {
        let field = (words[self.word] >> self.shift) & self.mask;
        f64::from(self.value.map_or(field, |value| u32::from(field == value)))
    }
}
