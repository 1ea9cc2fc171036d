//! Isoenergetic moves between chains of two batches.

use super::site::{BOTH, VALUE, cell};
use super::{ALL, Batch, BatchSite, core_state};
use crate::energy::Ising;
use crate::temper::{Isoenergetic, IsoenergeticError};
use rand_core::Rng;

impl<S: AsMut<[BatchSite]> + AsRef<[BatchSite]>> Batch<'_, S> {
    /// An isoenergetic move between a chain of this batch and one of another, as [`Isoenergetic::step`]. Both batches
    /// are of one model, and the chains at one β. Returns the size of the cluster. No other chain is touched. In
    /// whole units of the model what one chain gains the other loses.
    ///
    /// Cost: a look at every site, and O(degree) a site of the cluster.
    ///
    /// # Errors
    /// [`IsoenergeticError`]; nothing has moved then.
    pub fn exchange_cluster<R: Rng + ?Sized>(
        &mut self,
        chain: usize,
        (other, other_chain): (&mut Self, usize),
        clusters: &Isoenergetic<'_, Ising<'_>>,
        memory: &mut [u32],
        rng: &mut R,
    ) -> Result<u32, IsoenergeticError> {
        for chain in [chain, other_chain] {
            core_state::chain_bit(chain).map_err(|_| IsoenergeticError::Chain(chain))?;
        }
        let form = self.model.form();
        if !core::ptr::eq(self.model, other.model) {
            return Err(IsoenergeticError::Energies);
        }
        if !clusters.is_of(self.model) {
            return Err(IsoenergeticError::Model);
        }
        let beta = |core: &core_state::Core, chain: usize| core.betas.get(chain).copied().unwrap_or(f32::NAN);
        let betas = (beta(&self.core, chain), beta(&other.core, other_chain));
        if betas.0 != betas.1 {
            return Err(IsoenergeticError::Betas(betas.0, betas.1));
        }
        let (mut one, mut two) = (self.ring(), other.ring());
        for ring in [&mut one, &mut two] {
            if ring.core.accepted != ALL {
                ring.arrive();
            }
        }
        let cluster = {
            let cells = |site| (cell(one.sites, site, chain), cell(two.sites, site, other_chain));
            let differ = |site: usize| (cells(site).0 ^ cells(site).1) & (VALUE << 16) != 0;
            let free = |site: usize| BatchSite::is_free(cells(site).0) && BatchSite::is_free(cells(site).1);
            clusters.cluster(differ, free, memory, rng)?
        };
        // What x(2b + Kx) changes by: v(2b + Kx + Kx') at each site of the cluster, v = ±1.
        let value = |site: usize| i64::from(cell(one.sites, site, chain) & (VALUE << 16) != 0);
        let mut change = 0;
        for &site in cluster.sites {
            let site = site as usize;
            let mut field = 2 * i64::from(form.linear().get(site).copied().unwrap_or(0));
            for entry in form.row(site) {
                let other = entry.site as usize;
                field += i64::from(entry.coupling) * if cluster.holds(other) { 1 } else { 2 * value(other) };
            }
            change += (1 - 2 * value(site)) * field;
        }
        for (ring, chain, change) in [(one, chain, change), (two, other_chain, -change)] {
            for &site in cluster.sites {
                let cell = ring.sites.get_mut(site as usize).and_then(|site| site.cells.get_mut(chain));
                cell.into_iter().for_each(|cell| *cell ^= VALUE * BOTH);
            }
            ring.core.weights_of = None;
            ring.core.level.twice.get_mut(chain).into_iter().for_each(|twice| *twice += change);
            let difference = form.value(-change / 2);
            ring.core.energies.get_mut(chain).into_iter().for_each(|energy| energy.add(difference));
        }
        Ok(cluster.sites.len() as u32)
    }
}
