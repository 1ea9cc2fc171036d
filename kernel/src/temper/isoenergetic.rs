//! Isoenergetic moves: two replicas at one temperature exchange a cluster, and the sum of their energies stays.

use super::Replica;
use crate::accept::Info;
use crate::energy::{Energy, Factors, Ising, LatticeGaussian, Polynomial, Potts, Precision, Sparse};
use crate::lane::{Bits, Block};
use crate::packed::set;
use crate::random::below;
use rand_core::Rng;

/// Which sites share a term of an energy: what a cluster grows along.
pub trait Neighbours {
    /// How many sites there are.
    fn sites(&self) -> usize;

    /// Shows all sites that share a term with a site. One may come more than once, and so may the site itself.
    fn visit(&self, site: usize, see: &mut dyn FnMut(usize));

    /// Whether all sites are bits, and the energy stays where all of them flip.
    fn symmetric(&self) -> bool {
        false
    }
}

fn along(form: &Sparse<'_>, site: usize, see: &mut dyn FnMut(usize)) {
    form.row(site).iter().for_each(|entry| see(entry.site as usize));
}

impl Neighbours for Ising<'_> {
    fn sites(&self) -> usize {
        self.form().sites()
    }

    fn visit(&self, site: usize, see: &mut dyn FnMut(usize)) {
        along(&self.form(), site, see);
    }

    /// No field over spins: 2b + ΣK = 0 at every site.
    fn symmetric(&self) -> bool {
        let field = |(linear, row): (i32, &[crate::energy::Entry])| {
            row.iter().fold(2 * i64::from(linear), |sum, entry| sum + i64::from(entry.coupling))
        };
        self.form().rows().all(|row| field(row) == 0)
    }
}

impl Neighbours for Potts<'_> {
    fn sites(&self) -> usize {
        self.form().sites()
    }

    fn visit(&self, site: usize, see: &mut dyn FnMut(usize)) {
        along(&self.form(), site, see);
    }
}

/// Of a dense one all sites are neighbours.
impl Neighbours for LatticeGaussian<'_> {
    fn sites(&self) -> usize {
        self.layout().sites()
    }

    fn visit(&self, site: usize, see: &mut dyn FnMut(usize)) {
        match self.precision() {
            Precision::Sparse(form) => along(&form, site, see),
            Precision::Dense(_) => (0..self.layout().sites()).for_each(see),
        }
    }
}

impl Neighbours for Factors<'_> {
    fn sites(&self) -> usize {
        self.layout().sites()
    }

    fn visit(&self, site: usize, see: &mut dyn FnMut(usize)) {
        self.neighbours(site, see);
    }
}

impl Neighbours for Polynomial<'_> {
    fn sites(&self) -> usize {
        self.layout().sites()
    }

    fn visit(&self, site: usize, see: &mut dyn FnMut(usize)) {
        self.neighbours(site, see);
    }
}

crate::error::errors! {
    /// Why two replicas exchange nothing.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum IsoenergeticError {
        /// The memory has `got` words, `need` are needed.
        Memory {
            /// Words needed.
            need: usize,
            /// Words given.
            got: usize,
        } => "{need} words of memory are needed, {got} were given";
        /// The replicas have `got` sites, the neighbours are of `need`.
        Sites {
            /// Sites of the neighbours.
            need: usize,
            /// Sites of a replica.
            got: usize,
        } => "replicas of {got} sites, neighbours of {need}";
        /// The replicas are on two energies, or on paths from two bases.
        Energies => "two replicas of one energy and one base are needed";
        /// The replicas are at two β.
        Betas(one: f32, other: f32) => "the replicas are at beta {one} and {other}: one beta is needed";
        /// There is no such chain in a batch.
        Chain(chain: usize) => "there is no chain {chain}: a batch has sixteen";
        /// The exchange changed the sum of the two energies by so much: the neighbours are not those of the energy.
        Neighbours(change: f32) =>
            "the sum of two energies changed by {change}: the neighbours are of another energy";
        /// The neighbours are those of another model than the batches have.
        Model => "the neighbours must be those of the model of both batches";
    }
}

/// Isoenergetic moves (Houdayer 2001; with replica exchange Zhu, Ochoa, Katzgraber 2015; METHODS.md §4). Of the sites at
/// which two replicas differ one is picked. Its cluster is what connects to it along shared terms, through sites that
/// differ too. The replicas exchange their values there.
///
/// Terms within the cluster change places, terms outside stay, and at its border the other sites agree. So `E(x) + E(y)` stays,
/// with fields, any arity and any order of the terms, and every move is accepted. Alone it does not reach all states:
/// take sweeps in between.
///
/// Where an energy is [symmetric](Neighbours::symmetric) and more than half of the sites differ, the cluster is one
/// of sites that agree. It flips in both replicas: the same move after one replica was flipped as a whole.
///
/// It pays at low temperatures on graphs where clusters are small parts: planar spin glasses above all. In three
/// dimensions most clusters are nearly everything. A cluster with a clamped site stays, which is exact: its way back
/// would be the same cluster.
///
/// Cost: a look at every site of both replicas, a copy of both caches, and O(degree) a site of the cluster.
///
/// ```
/// use bitmc::energy::Tempered;
/// use bitmc::temper::{Isoenergetic, Replica};
/// use bitmc::{Gibbs, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, torus};
///
/// const L: Layout = Layout::binary(25);
/// let mut couplings = SparseMemory::<25, 100>::new();
/// let signs = (0..).map(|edge| if edge % 3 == 0 { -1.0 } else { 1.0 });
/// let edges = torus(5, 5, 1.0).zip(signs).map(|((a, b, j), sign)| (a, b, sign * j));
/// let model = Ising::spins_edges_once(25, edges, &[], couplings.borrow())?;
/// let (path, mut rng) = (Tempered::new(&model, 2.0)?, LaneRng::seed_from_u64(1));
/// let room = || memory!(L, Tempered::cache_len(Ising::cache_len(25)));
/// let mut one = Replica::random(path, room(), &mut rng)?;
/// let mut other = Replica::random(path, room(), &mut rng)?;
/// let clusters = Isoenergetic::new(&model);
/// let mut memory = [0; Isoenergetic::memory_len(25)];
/// let sum = one.energy() + other.energy();
/// let moved = clusters.step(&mut one, &mut other, &mut memory, &mut rng)?;
/// assert!(moved > 0 && one.energy() + other.energy() == sum);
/// one.run(&Gibbs::systematic(), &mut rng, 1, &mut ()); // and so on
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Isoenergetic<'g, G: ?Sized> {
    graph: &'g G,
    symmetric: bool,
}

impl<G: ?Sized> Clone for Isoenergetic<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: ?Sized> Copy for Isoenergetic<'_, G> {}

impl Isoenergetic<'_, ()> {
    /// Words of memory for a move: the sites of a cluster, and a bit a site.
    #[must_use]
    pub const fn memory_len(sites: usize) -> usize {
        sites.saturating_add(sites.div_ceil(32))
    }
}

/// The largest change of a sum of two βE that a move may make, besides rounding.
const LARGEST_CHANGE: f32 = 1e-3;
/// Rounding of differences and sums, relative to their sizes.
const ROUNDING: f32 = 1e-5;

/// A cluster: its sites, and a bit for each site that is in it.
pub(crate) struct Cluster<'l> {
    pub(crate) sites: &'l [u32],
    members: &'l [u32],
}

impl Cluster<'_> {
    pub(crate) fn holds(&self, site: usize) -> bool {
        self.members.get(site / 32).is_some_and(|word| word.wrapping_shr(site as u32) & 1 == 1)
    }
}

impl<'g, G: Neighbours + ?Sized> Isoenergetic<'g, G> {
    /// Moves along these neighbours, those of the energy that the replicas have. A list that lacks neighbours is
    /// found by the first move that it makes wrong, and that move is refused. One with too many makes larger clusters
    /// and is right.
    pub fn new(graph: &'g G) -> Self {
        Self { graph, symmetric: graph.symmetric() }
    }

    /// Whether the neighbours are of this model itself.
    pub(crate) fn is_of(&self, model: &G) -> bool {
        core::ptr::addr_eq(self.graph, model)
    }

    /// The cluster of a uniform site; no sites where nothing differs, or one of them is not free. Takes one word of the
    /// generator where something differs.
    pub(crate) fn cluster<'l, R: Rng + ?Sized>(
        &self,
        differ: impl Fn(usize) -> bool,
        free: impl Fn(usize) -> bool,
        memory: &'l mut [u32],
        rng: &mut R,
    ) -> Result<Cluster<'l>, IsoenergeticError> {
        let sites = self.graph.sites();
        let (need, got) = (Isoenergetic::memory_len(sites), memory.len());
        let parts = memory.get_mut(..need).and_then(|memory| memory.split_at_mut_checked(sites));
        let (list, members) = parts.ok_or(IsoenergeticError::Memory { need, got })?;
        members.fill(0);
        let count = (0..sites).filter(|&site| differ(site)).count();
        // The number of sites that differ does not change: the way back looks among the same ones.
        let agree = self.symmetric && count > sites / 2;
        let among = |site: usize| differ(site) != agree;
        let count = if agree { sites - count } else { count };
        let mut found = 0;
        if count > 0 {
            let chosen = below(count as u32, rng) as usize;
            let mut add = |site: usize, found: &mut usize, list: &mut [u32]| {
                let Some(word) = members.get_mut(site / 32) else { return };
                let bit = 1u32.wrapping_shl(site as u32);
                if *word & bit == 0 {
                    *word |= bit;
                    list.get_mut(*found).into_iter().for_each(|slot| *slot = site as u32);
                    *found += 1;
                }
            };
            let first = (0..sites).filter(|&site| among(site)).nth(chosen);
            first.into_iter().for_each(|site| add(site, &mut found, list));
            let mut next = 0;
            while next < found {
                let site = list.get(next).map_or(0, |&site| site as usize);
                next += 1;
                if !free(site) {
                    found = 0;
                    break;
                }
                self.graph.visit(site, &mut |other| {
                    if other < sites && among(other) {
                        add(other, &mut found, list);
                    }
                });
            }
        }
        Ok(Cluster { sites: list.get(..found).unwrap_or_default(), members })
    }

    /// One move of two replicas at one β. Returns the size of the cluster. It is 0 where the replicas are equal, and
    /// where a site of the cluster is clamped. It is 0 too where rounding made an energy infinite, which counts as a
    /// fault in both.
    ///
    /// Every move is checked. One that changes the sum of the two βE by more than 0.001, and more than rounding can, is
    /// refused. Refused moves keep the distribution, so wrong neighbours cost moves, not exactness.
    ///
    /// # Errors
    /// [`IsoenergeticError`]; nothing has moved then.
    pub fn step<'e, E, W, C, B, R>(
        &self,
        one: &mut Replica<'e, E, W, C, B>,
        other: &mut Replica<'e, E, W, C, B>,
        memory: &mut [u32],
        rng: &mut R,
    ) -> Result<u32, IsoenergeticError>
    where
        E: Energy + ?Sized,
        W: AsMut<[u32]> + AsRef<[u32]>,
        C: AsMut<[Bits]>,
        B: AsMut<[Block]>,
        R: Rng + ?Sized,
    {
        let (paths, need) = ((one.path(), other.path()), self.graph.sites());
        if !core::ptr::addr_eq(paths.0.target(), paths.1.target()) || !paths.0.base().same(&paths.1.base()) {
            return Err(IsoenergeticError::Energies);
        }
        if paths.0.beta() != paths.1.beta() {
            return Err(IsoenergeticError::Betas(paths.0.beta(), paths.1.beta()));
        }
        let got = one.state().layout().sites();
        if got != need {
            return Err(IsoenergeticError::Sites { need, got });
        }
        // A base with fields is not symmetric.
        let clusters = Self { symmetric: self.symmetric && paths.0.base().is_uniform(), ..*self };
        one.with(|one| {
            other.with(|other| {
                let (mut one, mut other) = (one.ring(), other.ring());
                let cluster = {
                    let (x, y) = (one.here_state(), other.here_state());
                    let free = |site| one.free(site) && other.free(site);
                    clusters.cluster(|site| x.get(site) != y.get(site), free, memory, rng)?
                };
                if cluster.sites.is_empty() {
                    return Ok(0);
                }
                for ring in [&mut one, &mut other] {
                    ring.copy_words();
                    ring.core.weights_of = None;
                }
                for &site in cluster.sites {
                    let site = site as usize;
                    let (a, b) = (one.here_state().get(site), other.here_state().get(site));
                    // Sites that agree are bits.
                    let (a, b) = if a == b { (1 - a, 1 - b) } else { (b, a) };
                    let _ = set(one.layout, one.there.words, site, a);
                    let _ = set(other.layout, other.there.words, site, b);
                }
                let (rise, fall) = (one.arrive(), other.arrive());
                let finite = rise.is_finite() && fall.is_finite();
                let energies = one.core.energy.value().abs() + other.core.energy.value().abs();
                let rounding = ROUNDING * (rise.abs() + fall.abs() + energies);
                let wrong = finite && (rise + fall).abs() > LARGEST_CHANGE + rounding;
                let accepted = finite && !wrong;
                let proposed = cluster.sites.len() as u32;
                let info =
                    |difference| Info { accepted, proposed, log_ratio: 0.0, difference, fault: !accepted };
                one.close(info(rise));
                other.close(info(fall));
                if wrong {
                    return Err(IsoenergeticError::Neighbours(rise + fall));
                }
                Ok(if accepted { proposed } else { 0 })
            })
        })
    }
}
