//! Memory for the list of each site's factors.

/// Memory for [`Factors`](super::Factors): `SITES` sites, `MEMBERS` sites of all factors together.
/// 4 bytes each.
#[derive(Clone, Debug)]
pub struct FactorsMemory<const SITES: usize, const MEMBERS: usize> {
    ends: [u32; SITES],
    members: [u32; MEMBERS],
}

impl<const SITES: usize, const MEMBERS: usize> FactorsMemory<SITES, MEMBERS> {
    /// Empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { ends: [0; SITES], members: [0; MEMBERS] }
    }

    /// Its buffers, for the constructor.
    pub fn borrow(&mut self) -> FactorsBuffers<'_> {
        FactorsBuffers::new(&mut self.ends, &mut self.members)
    }
}

impl<const SITES: usize, const MEMBERS: usize> Default for FactorsMemory<SITES, MEMBERS> {
    fn default() -> Self {
        Self::new()
    }
}

/// The buffers of [`Factors`](super::Factors), provided by the caller.
#[derive(Debug)]
pub struct FactorsBuffers<'a> {
    /// One word a site.
    pub ends: &'a mut [u32],
    /// One word for each site of each factor.
    pub members: &'a mut [u32],
    pub(super) any_rounding: bool,
}

impl<'a> FactorsBuffers<'a> {
    /// One word a site, and one word for each site of each factor.
    pub const fn new(ends: &'a mut [u32], members: &'a mut [u32]) -> Self {
        Self { ends, members, any_rounding: false }
    }

    /// Lets the constructor round as coarsely as the largest field asks for: no
    /// [`FactorError::Rounding`](super::FactorError).
    #[must_use]
    pub const fn allow_rounding(self) -> Self {
        Self { any_rounding: true, ..self }
    }
}
