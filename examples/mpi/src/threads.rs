//! All replicas in one process.

use crate::Options;
use crate::outcome::{Outcome, digest};
use bitmc::energy::Tempered;
use bitmc::{Ising, Langevin};
use bitmc_desktop::Error;
use bitmc_desktop::chains::streams;
use bitmc_desktop::tempering::Tempering;

pub(crate) fn run(
    options: &Options,
    model: &Ising<'_>,
    kernel: Langevin<'static>,
    threads: u16,
) -> Result<Outcome, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build();
    let path = Tempered::new(model, 1.0).map_err(Error::option)?;
    let (betas, kernels) = (options.betas(), vec![kernel; options.replicas as usize]);
    let mut streams = streams(options.seed);
    let made = Tempering::new(path, (&betas, &kernels), options.local, None, &mut streams);
    let mut tempering = made.map_err(Error::option)?;
    pool.map_err(Error::option)?.install(|| (0..options.rounds).for_each(|_| tempering.round()));
    let digests = tempering.members().iter().map(digest).collect();
    Ok(Outcome { ladder: tempering.ladder().clone(), digests })
}
