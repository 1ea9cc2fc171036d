//! A factor: the sites that it sees, and where its table is.

/// A factor over one, two or three sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    sites: [u32; 3],
    count: u8,
    start: u32,
}

impl Factor {
    /// A factor over one site; its table of log values starts at `start` of all tables, value by value.
    #[must_use]
    pub const fn one(site: u32, start: u32) -> Self {
        Self { sites: [site, 0, 0], count: 1, start }
    }

    /// A factor over two sites: the value of b runs fastest in its table.
    #[must_use]
    pub const fn two(a: u32, b: u32, start: u32) -> Self {
        Self { sites: [a, b, 0], count: 2, start }
    }

    /// A factor over three sites: the value of c runs fastest in its table, then that of b.
    #[must_use]
    pub const fn three(a: u32, b: u32, c: u32, start: u32) -> Self {
        Self { sites: [a, b, c], count: 3, start }
    }

    /// The sites, slowest first.
    #[must_use]
    pub fn sites(&self) -> &[u32] {
        self.sites.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Where its table starts.
    #[must_use]
    pub const fn start(&self) -> usize {
        self.start as usize
    }
}
