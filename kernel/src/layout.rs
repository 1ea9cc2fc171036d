//! The shape of a state, and the length of every buffer that follows from it.

use crate::lane::LANES;

/// What the values of a site are to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// 0 and 1.
    Binary,
    /// Values without an order, one-hot: two different ones are at squared distance 2.
    Categorical,
    /// Whole numbers 0 … arity − 1, at the distance of their difference.
    Ordinal,
}

impl core::fmt::Display for Layout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sites = if self.sites == 1 { "site" } else { "sites" };
        match self.kind {
            Kind::Binary => write!(f, "{} binary {sites}", self.sites),
            Kind::Categorical => write!(f, "{} categorical {sites} of {} values", self.sites, self.arity),
            Kind::Ordinal => write!(f, "{} ordinal {sites} of {} values", self.sites, self.arity),
        }
    }
}

/// How many sites a state has, how many values each may take, and what those are.
///
/// A site is a field of 1, 2, 4, 8 or 16 bits in `u32` words, the narrowest that holds `arity` values. No field
/// crosses a word. All lengths are `const fn`, so arrays can be sized by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Stored"))]
pub struct Layout {
    sites: u32,
    arity: u32,
    kind: Kind,
}

/// What was read of a layout: any numbers.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(rename = "Layout")]
struct Stored {
    sites: u32,
    arity: u32,
    kind: Kind,
}

#[cfg(feature = "serde")]
impl TryFrom<Stored> for Layout {
    type Error = &'static str;

    fn try_from(Stored { sites, arity, kind }: Stored) -> Result<Self, &'static str> {
        let layout = match kind {
            Kind::Binary => Self::binary(sites as usize),
            Kind::Categorical | Kind::Ordinal => Self::new(sites as usize, arity as usize, kind),
        };
        let is_one = (layout.sites, layout.arity) == (sites, arity);
        if is_one {
            Ok(layout)
        } else {
            Err("a layout with too many sites, or with too few or too many values")
        }
    }
}

impl Layout {
    /// The largest arity.
    pub const MAX_ARITY: usize = 65_536;

    /// `sites` sites of two values; more than 2³¹ − 1 sites count as that many.
    #[must_use]
    pub const fn binary(sites: usize) -> Self {
        Self::new(sites, 2, Kind::Binary)
    }

    /// `sites` sites of `arity` values without an order; an arity below 2 counts as 2, one above
    /// [`Layout::MAX_ARITY`] as that. (Single sites may have arity 1: [`Energy::arities`](crate::Energy::arities).)
    #[must_use]
    pub const fn categorical(sites: usize, arity: usize) -> Self {
        Self::new(sites, arity, Kind::Categorical)
    }

    /// `sites` sites with the values 0 … `arity` − 1, in order; the arity is cut as for
    /// [`Layout::categorical`].
    #[must_use]
    pub const fn ordinal(sites: usize, arity: usize) -> Self {
        Self::new(sites, arity, Kind::Ordinal)
    }

    /// `sites` is cut to 2³¹−1, `arity` to 2 ..= [`Self::MAX_ARITY`].
    const fn new(sites: usize, arity: usize, kind: Kind) -> Self {
        let sites = if sites > i32::MAX as usize { i32::MAX as usize } else { sites };
        let arity = if arity > Self::MAX_ARITY { Self::MAX_ARITY } else { arity };
        let arity = if arity < 2 { 2 } else { arity };
        Self { sites: sites as u32, arity: arity as u32, kind }
    }

    /// What the values are.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// Sites.
    #[must_use]
    pub const fn sites(self) -> usize {
        self.sites as usize
    }

    /// Values a site may take.
    #[must_use]
    pub const fn arity(self) -> usize {
        // Never below 2 by construction; said again so that no division or chunk by it can panic.
        if self.arity < 2 { 2 } else { self.arity as usize }
    }

    /// Values that one site may take, given those of every site where they differ.
    #[inline]
    pub(crate) fn arity_at(self, arities: Option<&[u16]>, site: usize) -> usize {
        arities.and_then(|arities| arities.get(site)).map_or(self.arity(), |&arity| usize::from(arity))
    }

    /// log₂ of the bits of a site's field. A sum, because a `match` would branch at every site that is read.
    pub(crate) const fn log_field_bits(self) -> u32 {
        let arity = self.arity;
        (arity > 2) as u32 + (arity > 4) as u32 + (arity > 16) as u32 + (arity > 256) as u32
    }

    /// Bits of a site's field: 1, 2, 4, 8 or 16.
    #[must_use]
    pub const fn field_bits(self) -> u32 {
        1 << self.log_field_bits()
    }

    /// Fields in a word.
    #[must_use]
    pub const fn fields_per_word(self) -> usize {
        32 >> self.log_field_bits()
    }

    /// Words of a packed state.
    #[must_use]
    pub const fn words(self) -> usize {
        // A shift, not a division: division by a run-time value is a panic path and slow on small cores.
        (self.sites() + self.fields_per_word() - 1) >> self.fields_per_word().trailing_zeros()
    }

    /// Blocks of one float a site.
    #[must_use]
    pub const fn blocks(self) -> usize {
        self.sites().div_ceil(LANES)
    }

    /// From this arity on sites have many values. A site is worked on alone, its values along the lanes, and what was
    /// computed for it is not kept. Below, sixteen sites are worked on together, one per lane, with a block for each
    /// value.
    pub const MANY: usize = 65;

    /// Whether a site has so many values that they run along the lanes: [`Layout::MANY`].
    #[must_use]
    pub const fn many_values(self) -> bool {
        self.arity() >= Self::MANY
    }

    /// Whether a [row](Layout::rows) is a single site: a categorical one of many values.
    #[must_use]
    pub const fn row_is_site(self) -> bool {
        self.many_values() && matches!(self.kind, Kind::Categorical)
    }

    /// Rows of a gradient, as [`Energy::gradient`](crate::Energy::gradient) takes them. A row is a block of sixteen
    /// sites, or [one site](Layout::row_is_site).
    #[must_use]
    pub const fn rows(self) -> usize {
        if self.row_is_site() { self.sites() } else { self.blocks() }
    }

    /// Blocks of a row of a gradient. Binary and ordinal: 1, a lane a site. Categorical: one for every value, a lane
    /// a site. Categorical with many values: the blocks that hold all values, a lane a value.
    #[must_use]
    pub const fn row_blocks(self) -> usize {
        if self.row_is_site() { self.arity().div_ceil(LANES) } else { self.slopes() }
    }

    /// The site, and for categorical sites the value, whose slope is in a lane of a block of a row. The result is
    /// `None` past the last one.
    #[must_use]
    pub const fn component(self, row: usize, block: usize, lane: usize) -> Option<(usize, usize)> {
        let (sixteen, other) = if self.row_is_site() { (block, row) } else { (row, block) };
        let along = sixteen.saturating_mul(LANES).saturating_add(lane);
        let (site, value) = if self.row_is_site() { (other, along) } else { (along, other) };
        if site < self.sites() && value < self.arity() { Some((site, value)) } else { None }
    }

    /// Slopes of a site: one, or one a value where sites are categorical.
    #[must_use]
    pub const fn slopes(self) -> usize {
        if matches!(self.kind, Kind::Categorical) { self.arity() } else { 1 }
    }

    /// Blocks of gradient of a whole state.
    #[must_use]
    pub const fn gradient_blocks(self) -> usize {
        self.rows() * self.row_blocks()
    }

    /// Blocks of weights that one point of a chain keeps. Binary: one for sixteen sites. Otherwise one for
    /// every value of sixteen sites. With many values, room for those of a single site, and for the gradient
    /// of all sites where they are ordinal.
    #[must_use]
    pub const fn weight_blocks(self) -> usize {
        match self.kind {
            Kind::Binary => self.blocks(),
            Kind::Categorical if self.many_values() => self.row_blocks(),
            Kind::Ordinal if self.many_values() => {
                let values = self.arity().div_ceil(LANES);
                if values > self.blocks() { values } else { self.blocks() }
            }
            Kind::Categorical | Kind::Ordinal => self.blocks() * self.arity(),
        }
    }

    /// Blocks of a plane for what a point keeps with its weights: its gradient, or one float a site where a [row is a
    /// site](Layout::row_is_site).
    pub(crate) const fn plane_blocks(self) -> usize {
        if self.row_is_site() { self.blocks() } else { self.gradient_blocks() }
    }

    /// The bits of the last word that belong to sites; the others are always zero.
    #[must_use]
    pub const fn last_word(self) -> u32 {
        let fields = self.sites() & (self.fields_per_word() - 1);
        if fields == 0 { u32::MAX } else { (1 << (fields as u32 * self.field_bits())) - 1 }
    }
}
