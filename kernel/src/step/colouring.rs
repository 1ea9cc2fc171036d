//! Classes of sites that are not coupled with one another.

use crate::energy::Sparse;
use crate::layout::Layout;
use crate::packed::Packed;

/// Sites in classes without a coupling inside, checked against the couplings of one model: given all others,
/// the sites of a class are independent. For [`ChromaticGibbs`](super::ChromaticGibbs).
///
/// A class is a binary state of all sites, 1 for its own; `classes` holds one behind the other, and every site
/// is in exactly one.
#[derive(Clone, Copy, Debug)]
pub struct Colouring<'a> {
    form: Sparse<'a>,
    classes: &'a [u32],
}

/// Why classes are not a colouring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ColouringError {
    /// A class has `class` words, and `got` is not a whole number of them.
    Length {
        /// Words of a class.
        class: usize,
        /// Words given.
        got: usize,
    },
    /// A bit past the last site is set.
    Padding,
    /// A site is in no class.
    Uncoloured {
        /// The site.
        site: usize,
    },
    /// A site is in two classes.
    Twice {
        /// The site.
        site: usize,
    },
    /// Two sites of one class are coupled.
    Coupled {
        /// The one.
        a: usize,
        /// The other.
        b: usize,
    },
    /// The memory holds too few classes; this site found no room.
    Classes {
        /// The site.
        site: usize,
    },
}

impl core::fmt::Display for ColouringError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length { class, got } => write!(f, "{got} words are not classes of {class} words"),
            Self::Padding => write!(f, "a bit past the last site is set"),
            Self::Uncoloured { site } => write!(f, "site {site} is in no class"),
            Self::Twice { site } => write!(f, "site {site} is in two classes"),
            Self::Coupled { a, b } => write!(f, "sites {a} and {b} of one class are coupled"),
            Self::Classes { site } => write!(f, "no class is left for site {site}"),
        }
    }
}

impl core::error::Error for ColouringError {}

impl<'a> Colouring<'a> {
    /// Words of `classes` classes of `sites` sites.
    #[must_use]
    pub const fn words(sites: usize, classes: usize) -> usize {
        classes.saturating_mul(Layout::binary(sites).words())
    }

    /// Checks a colouring that was computed elsewhere. O(edges + sites × classes).
    ///
    /// # Errors
    /// [`ColouringError`] names the site or the coupling that is wrong.
    pub fn new(form: Sparse<'a>, classes: &'a [u32]) -> Result<Self, ColouringError> {
        let layout = Layout::binary(form.sites());
        let colouring = Self { form, classes };
        if colouring.words_of_all().remainder() != [0u32; 0] {
            return Err(ColouringError::Length { class: layout.words(), got: classes.len() });
        }
        for class in colouring.classes() {
            if class.words().last().is_some_and(|&last| last & !layout.last_word() != 0) {
                return Err(ColouringError::Padding);
            }
        }
        for site in 0..form.sites() {
            let mut of = colouring.classes().filter(|class| class.get(site) != 0);
            let Some(class) = of.next() else { return Err(ColouringError::Uncoloured { site }) };
            if of.next().is_some() {
                return Err(ColouringError::Twice { site });
            }
            if let Some(twin) = form.row(site).iter().find(|entry| class.get(entry.site as usize) != 0) {
                return Err(ColouringError::Coupled { a: site, b: twin.site as usize });
            }
        }
        Ok(colouring)
    }

    /// Colours greedily into lent memory ([`Colouring::words`]): each site, in order, joins the first class that
    /// has none of its neighbours. At most one class more than the largest degree is needed; an even torus gets
    /// its two, and classes that stay empty are left out. O(edges × classes).
    ///
    /// # Errors
    /// [`ColouringError::Length`], or [`ColouringError::Classes`] where the classes are too few.
    pub fn greedy(form: Sparse<'a>, memory: &'a mut [u32]) -> Result<Self, ColouringError> {
        let layout = Layout::binary(form.sites());
        let words = layout.words().max(1);
        memory.fill(0);
        let mut used = 0;
        for site in 0..form.sites() {
            let fits = |class: &[u32]| {
                let class = Packed::trusted(layout, class);
                form.row(site).iter().all(|entry| class.get(entry.site as usize) == 0)
            };
            let mut classes = memory.chunks_exact_mut(words).enumerate();
            let Some((number, class)) = classes.find(|(_, class)| fits(class)) else {
                return Err(ColouringError::Classes { site });
            };
            used = used.max(number + 1);
            if let Some(word) = class.get_mut(site >> 5) {
                *word |= 1 << (site & 31);
            }
        }
        let got = memory.len();
        match memory.get(..used * words) {
            Some(classes) if got.is_multiple_of(words) => Self::new(form, classes),
            _ => Err(ColouringError::Length { class: layout.words(), got }),
        }
    }

    fn words_of_all(&self) -> core::slice::ChunksExact<'a, u32> {
        self.classes.chunks_exact(Layout::binary(self.form.sites()).words().max(1))
    }

    /// The classes, as binary states.
    pub fn classes(&self) -> impl Iterator<Item = Packed<'a>> {
        let layout = Layout::binary(self.form.sites());
        self.words_of_all().map(move |words| Packed::trusted(layout, words))
    }

    /// Whether these are the very couplings that the classes were checked against.
    pub(super) fn fits(&self, form: Sparse<'_>) -> bool {
        self.form.is(form)
    }
}
