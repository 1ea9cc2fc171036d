//! The samplers whose steps are one proposal and one test, and what a step keeps between its halves.

use super::Told;
use crate::accept::Info;
use crate::chain::{Ring, plane};
use crate::draw::index::{MAX_INDICES, Order};
use crate::lane::{Block, LogProduct, Total};
use crate::layout::Layout;
use crate::noise::{Noise, Still};
use crate::packed::Move;
use crate::step::langevin;
use crate::step::path::{Asked, Paths};
use crate::step::{Curvature, Cycle, GibbsWithGradients, Langevin, PathAuxiliary, RandomWalk, symmetric};
use rand_core::Rng;

/// A kernel whose step is one proposal and one test, so that an [`Open`](super::Open) chain can take it in halves.
/// These are [`Langevin`] in all its forms, [`GibbsWithGradients`], [`PathAuxiliary`], [`RandomWalk`], and a
/// [`Cycle`] of one of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked: its step is not one proposal and one test",
    note = "`Langevin`, `GibbsWithGradients`, `PathAuxiliary`, `RandomWalk` and a `Cycle` of one of these can"
)]
pub trait Ask: Sealed {
    /// Whether it needs gradients.
    const GRADIENT: bool;

    /// Draws a proposal: what its test needs. `None` where there are no weights to be had.
    #[doc(hidden)]
    fn ask<R: Rng + ?Sized>(&self, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half>;
}

pub trait Sealed {}

/// A step between its halves: plain data.
#[allow(clippy::large_enum_variant)] // there is no heap for the larger one
#[derive(Clone, Copy, Debug)]
pub enum Half {
    /// There were no weights to be had: a fault.
    Failed,
    Langevin(LangevinHalf, langevin::Rule),
    Path(PathHalf),
    Walk {
        uniform: f32,
    },
}

/// Of [`Langevin`]. One curvature a site is in the plane of there, η in its weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct LangevinHalf {
    pub(super) asked: langevin::Asked,
    pub(super) balance: f32,
    pub(super) window: u32,
    pub(super) adjusted: bool,
    pub(super) noise: bool,
    /// The same at every site.
    pub(super) curvature: Option<f32>,
}

/// Of the samplers that draw indices.
#[derive(Clone, Copy, Debug)]
pub struct PathHalf {
    /// The probability of the path, or, among sites of many values, its logarithm.
    pub(super) product: Option<LogProduct>,
    pub(super) log: Total,
    pub(super) uniform: f32,
    pub(super) sites: [u32; MAX_INDICES],
    pub(super) len: u32,
    pub(super) indices: u32,
    pub(super) replace: bool,
    pub(super) backwards: bool,
}

impl PathHalf {
    pub(super) const EMPTY: Self = Self {
        product: None,
        log: Total::new(0.0),
        uniform: 0.0,
        sites: [0; MAX_INDICES],
        len: 0,
        indices: 0,
        replace: false,
        backwards: false,
    };

    /// Keeps what was asked but for the probability of its path, which it returns.
    fn keep<F>(&mut self, asked: Asked<impl Iterator<Item = usize>, F>) -> F {
        self.uniform = asked.uniform;
        for (slot, site) in self.sites.iter_mut().zip(asked.sites) {
            (*slot, self.len) = (site as u32, self.len + 1);
        }
        asked.forward
    }
}

/// The noise of a proposal that was drawn and followed before.
#[derive(Clone, Copy)]
struct Followed;

impl Noise for Followed {
    const SOME: bool = true;

    fn d(&self) -> Option<&[Block]> {
        None
    }

    fn draw<R: Rng + ?Sized>(&self, _: &mut R, _: &mut [Block], _: usize) {}

    fn follow(&self, _: &Move<'_>, _: &mut [Block], _: usize) {}
}

impl Half {
    /// Whether its test needs the gradient at y.
    pub(super) fn needs_gradient(&self, layout: Layout) -> bool {
        match self {
            Self::Langevin(half, _) => half.adjusted || !layout.row_is_site(),
            Self::Path(_) => true,
            Self::Walk { .. } | Self::Failed => false,
        }
    }

    /// The test. `plane` is that of there.
    pub(super) fn tell(self, ring: Ring<'_, Told<'_>>, plane: &[Block], difference: f32) -> Info {
        match self {
            Self::Failed => ring.failed(),
            Self::Langevin(half, rule) => {
                let curvature = half.curvature.map_or(Curvature::Each(plane), Curvature::Same);
                let LangevinHalf { asked, balance, window, adjusted, .. } = half;
                if half.noise {
                    Langevin::trusted(Followed, balance, curvature, window, adjusted, rule)
                        .tell(ring, asked, difference)
                } else {
                    Langevin::trusted(Still, balance, curvature, window, adjusted, rule)
                        .tell(ring, asked, difference)
                }
            }
            Self::Path(half) => {
                let proposed = ring.distance();
                let sites = half.sites.into_iter().take(half.len as usize).map(|site| site as usize);
                let PathHalf { product, log, uniform, indices, replace, backwards, .. } = half;
                let paths = Paths { indices, order: Order::Planes, replace, backwards };
                if ring.layout.many_values() {
                    let asked = Asked { sites, forward: log, proposed, uniform };
                    return paths.tell_by_sites(ring, asked, difference);
                }
                let asked = Asked { sites, forward: product, proposed, uniform };
                paths.tell(ring, asked, difference)
            }
            Self::Walk { uniform } => symmetric::test(ring, difference, uniform),
        }
    }
}

impl<N: Noise> Sealed for Langevin<'_, N> {}

impl<N: Noise> Ask for Langevin<'_, N> {
    const GRADIENT: bool = true;

    fn ask<R: Rng + ?Sized>(&self, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half> {
        let asked = Langevin::ask(self, ring, rng)?;
        let &Self { balance, curvature, window, adjusted, .. } = self;
        let curvature = match curvature {
            Curvature::Same(c) if self.noise().d().is_none() => Some(c),
            _ => {
                let plane = plane(ring.layout, ring.planes, !ring.core.there_first);
                self.curvatures(plane, ring.layout.sites());
                None
            }
        };
        let half = LangevinHalf { asked, balance, window, adjusted, noise: N::SOME, curvature };
        Some(Half::Langevin(half, self.rule()))
    }
}

fn ask_path<R: Rng + ?Sized>(paths: Paths, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half> {
    let Paths { indices, order: _, replace, backwards } = paths;
    let mut half = PathHalf { indices, replace, backwards, ..PathHalf::EMPTY };
    if ring.layout.many_values() {
        half.log = half.keep(paths.ask_by_sites(ring, rng)?);
    } else {
        half.product = half.keep(paths.ask(ring, rng)?);
    }
    Some(Half::Path(half))
}

impl Sealed for GibbsWithGradients {}

impl Ask for GibbsWithGradients {
    const GRADIENT: bool = true;

    fn ask<R: Rng + ?Sized>(&self, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half> {
        ask_path(self.paths, ring, rng)
    }
}

impl Sealed for PathAuxiliary {}

impl Ask for PathAuxiliary {
    const GRADIENT: bool = true;

    fn ask<R: Rng + ?Sized>(&self, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half> {
        ask_path(self.paths, ring, rng)
    }
}

impl Sealed for RandomWalk {}

impl Ask for RandomWalk {
    const GRADIENT: bool = false;

    fn ask<R: Rng + ?Sized>(&self, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half> {
        Some(Half::Walk { uniform: RandomWalk::ask(self, ring, rng) })
    }
}

impl<K: Ask> Sealed for Cycle<'_, K> {}

impl<K: Ask> Ask for Cycle<'_, K> {
    const GRADIENT: bool = K::GRADIENT;

    fn ask<R: Rng + ?Sized>(&self, ring: &mut Ring<'_, Told<'_>>, rng: &mut R) -> Option<Half> {
        self.at(ring.core.steps)?.ask(ring, rng)
    }
}
