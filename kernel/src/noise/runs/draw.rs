//! η: terms in a stream, of which each edge takes the next one, added to its two ends.

use super::Run;
use crate::lane::{F32s, LANES, Line};
use crate::random::{DiscreteGaussian, normal_pairs_twice};
use rand_core::Rng;

/// Terms that are made at a time, at most: so many that few runs go over an end of them. Whole numbers ask for second
/// words behind those of a piece, so that their draws depend on it.
const MADE: usize = 512;

/// Where terms come from.
pub(crate) trait Source {
    type Term: Copy + Default;
    /// How many are made at once.
    const AT_ONCE: usize;

    /// Fills whole pieces of [`Source::AT_ONCE`].
    fn make<R: Rng + ?Sized>(&self, rng: &mut R, terms: &mut [Self::Term]);

    /// Adds terms to sites from the first on, and to those from `offset` on, by an edge of coupling W between each two.
    fn add(&self, coupling: f32, offset: usize, terms: &[Self::Term], eta: &mut [Self::Term]);
}

/// Standard normals, made in pairs; times √|W|.
pub(crate) struct Normals;

impl Source for Normals {
    type Term = f32;
    const AT_ONCE: usize = 4 * LANES;

    fn make<R: Rng + ?Sized>(&self, rng: &mut R, terms: &mut [f32]) {
        let (blocks, _) = terms.as_chunks_mut::<LANES>();
        let (fours, _) = blocks.as_chunks_mut::<4>();
        fours.iter_mut().for_each(|four| normal_pairs_twice(rng, four));
    }

    fn add(&self, coupling: f32, offset: usize, terms: &[f32], eta: &mut [f32]) {
        let near = F32s::splat(coupling.abs()).sqrt().first();
        let far = if coupling < 0.0 { -near } else { near };
        add_to_ends(eta, offset, terms, |a, b| a + b, |a| a * near, |b| b * far);
    }
}

/// Whole numbers; of the couplings only their signs.
pub(crate) struct Whole<'a>(pub(crate) &'a DiscreteGaussian);

impl Source for Whole<'_> {
    type Term = i16;
    const AT_ONCE: usize = 2 * LANES;

    fn make<R: Rng + ?Sized>(&self, rng: &mut R, terms: &mut [i16]) {
        self.0.fill(rng, terms.as_chunks_mut().0);
    }

    fn add(&self, coupling: f32, offset: usize, terms: &[i16], eta: &mut [i16]) {
        add_whole(coupling, offset, terms, eta);
    }
}

/// Adds whole numbers to sites from the first on, and by the sign of the coupling to those from `offset` on.
pub(crate) fn add_whole(coupling: f32, offset: usize, terms: &[i16], eta: &mut [i16]) {
    if coupling > 0.0 {
        add_to_ends(eta, offset, terms, i16::wrapping_add, |a| a, |b| b);
    } else if coupling < 0.0 {
        add_to_ends(eta, offset, terms, i16::wrapping_add, |a| a, i16::wrapping_neg);
    }
}

/// Terms for so many edges.
pub(crate) struct Stream<S: Source> {
    source: S,
    made: Line<[S::Term; MADE]>,
    /// How many of them have been given.
    given: usize,
    /// How many there are.
    count: usize,
    /// Edges for which none has been made.
    edges: usize,
}

impl<S: Source> Stream<S> {
    pub(crate) fn new(source: S, edges: usize) -> Self {
        Self { source, made: Line([S::Term::default(); MADE]), given: 0, count: 0, edges }
    }

    /// The next ones, at least one and at most so many.
    #[inline]
    pub(crate) fn next<R: Rng + ?Sized>(&mut self, most: usize, rng: &mut R) -> (&S, &[S::Term]) {
        if self.given >= self.count {
            self.make(rng);
        }
        let first = self.given;
        self.given = self.count.min(first + most);
        (&self.source, self.made.get(first..self.given).unwrap_or_default())
    }

    /// The next one.
    #[inline]
    pub(crate) fn one<R: Rng + ?Sized>(&mut self, rng: &mut R) -> S::Term {
        if self.given >= self.count {
            self.make(rng);
        }
        let term = self.made.get(self.given).copied().unwrap_or_default();
        self.given += 1;
        term
    }

    #[inline(never)]
    fn make<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        self.count = self.edges.clamp(1, MADE).next_multiple_of(S::AT_ONCE);
        self.source.make(rng, self.made.get_mut(..self.count).unwrap_or_default());
        self.given = 0;
        self.edges = self.edges.saturating_sub(self.count);
    }
}

/// Adds a term to both ends of the edges of all runs; `sign` and `unit` make W of their couplings.
pub(crate) fn draw<S: Source, R: Rng + ?Sized>(
    runs: &[Run],
    [sign, unit]: [f32; 2],
    source: S,
    rng: &mut R,
    eta: &mut [S::Term],
) {
    let mut stream = Stream::new(source, runs.iter().map(|run| run.edges as usize).sum());
    for run in runs {
        let coupling = sign * run.coupling as f32 * unit;
        let (mut first, offset, mut edges) = run.place();
        while edges > 0 {
            let (source, some) = stream.next(edges, rng);
            source.add(coupling, offset, some, eta.get_mut(first..).unwrap_or_default());
            first += some.len();
            edges -= some.len();
        }
    }
}

/// Adds `near` of terms to sites from the first on, and `far` of them to those from `offset` on. Sites to which both
/// are added are written once: a second time would wait for the first.
#[inline]
fn add_to_ends<T: Copy>(
    eta: &mut [T],
    offset: usize,
    terms: &[T],
    plus: impl Fn(T, T) -> T,
    near: impl Fn(T) -> T,
    far: impl Fn(T) -> T,
) {
    let alone = offset.min(terms.len());
    let both = terms.len() - alone;
    let (Some((own, of_near)), Some((of_far, rest))) =
        (terms.split_at_checked(alone), terms.split_at_checked(both))
    else {
        return;
    };
    eta.iter_mut().zip(own).for_each(|(slot, &a)| *slot = plus(*slot, near(a)));
    let shared = eta.get_mut(alone..).unwrap_or_default().iter_mut();
    for (slot, (&a, &b)) in shared.zip(of_near.iter().zip(of_far)) {
        *slot = plus(*slot, plus(near(a), far(b)));
    }
    let behind = eta.get_mut(offset + both..).unwrap_or_default().iter_mut();
    behind.zip(rest).for_each(|(slot, &b)| *slot = plus(*slot, far(b)));
}
