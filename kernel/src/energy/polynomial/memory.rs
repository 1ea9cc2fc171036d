//! Memory for the terms of a polynomial.

/// Memory for a [`Polynomial`](super::Polynomial): `SITES` sites, `TERMS` terms that list two sites or more, and
/// `MEMBERS` sites of all these terms together. 8 bytes each.
#[derive(Clone, Debug)]
pub struct PolynomialMemory<const SITES: usize, const TERMS: usize, const MEMBERS: usize> {
    sites: [[u32; 2]; SITES],
    terms: [[u32; 2]; TERMS],
    members: [[u32; 2]; MEMBERS],
}

impl<const SITES: usize, const TERMS: usize, const MEMBERS: usize> PolynomialMemory<SITES, TERMS, MEMBERS> {
    /// Empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { sites: [[0; 2]; SITES], terms: [[0; 2]; TERMS], members: [[0; 2]; MEMBERS] }
    }

    /// Its buffers, for the constructors.
    pub fn borrow(&mut self) -> PolynomialBuffers<'_> {
        PolynomialBuffers::new(&mut self.sites, &mut self.terms, &mut self.members)
    }
}

impl<const SITES: usize, const TERMS: usize, const MEMBERS: usize> Default
    for PolynomialMemory<SITES, TERMS, MEMBERS>
{
    fn default() -> Self {
        Self::new()
    }
}

/// The buffers of a [`Polynomial`](super::Polynomial), provided by the caller: slices of any length, of vectors where
/// sizes are known at run time only. Buffers longer than the model needs are legal.
#[derive(Debug)]
pub struct PolynomialBuffers<'a> {
    /// One pair of words a site.
    pub sites: &'a mut [[u32; 2]],
    /// One pair of words for each term that lists two sites or more.
    pub terms: &'a mut [[u32; 2]],
    /// One pair of words for each site that these terms list.
    pub members: &'a mut [[u32; 2]],
    pub(super) any_rounding: bool,
}

impl<'a> PolynomialBuffers<'a> {
    /// A pair of words for each site, for each term that lists two sites or more, and for each site that these terms
    /// list.
    pub const fn new(
        sites: &'a mut [[u32; 2]],
        terms: &'a mut [[u32; 2]],
        members: &'a mut [[u32; 2]],
    ) -> Self {
        Self { sites, terms, members, any_rounding: false }
    }

    /// Lets the constructor round as coarsely as the largest weights ask for: no
    /// [`PolynomialError::Rounded`](super::PolynomialError).
    #[must_use]
    pub const fn allow_rounding(self) -> Self {
        Self { any_rounding: true, ..self }
    }
}
