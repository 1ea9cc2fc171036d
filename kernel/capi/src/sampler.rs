//! Samplers: how a chain moves.

use crate::handle::{Borrowed, Handle, Span, bytes_of};
use crate::model::{Built, Model, bitmc_model};
use crate::open::Own;
use crate::status::{Outcome, bitmc_status};
use bitmc::chain::Ring;
use bitmc::lane::Block;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::step::Cycle;
use bitmc::{Energy, Gibbs, Info, Kernel, LaneRng, Langevin, Packed, Rng, Schedule};
use core::ptr::null_mut;

/// A sampler. It has no state: any number of chains may use one, on several threads too.
#[repr(C)]
pub struct bitmc_sampler {
    opaque: [u64; 36],
}

#[derive(Clone, Copy)]
pub(crate) enum Sampler {
    Langevin(Langevin<'static>),
    Gibbs(Gibbs),
    SecondOrder(Langevin<'static, Edgewise<'static>>),
    Cycle(&'static [Langevin<'static>]),
}

/// A sampler, behind the model whose couplings its noise follows and the model's stamp. Where there is a model, it is checked
/// first.
#[derive(Clone, Copy)]
#[repr(C)]
struct Placed {
    model: *mut bitmc_model,
    stamp: u32,
    sampler: Sampler,
}

impl Handle<bitmc_sampler> for Placed {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm sampl");
}

impl Sampler {
    /// Works with a sampler, which is not to be replaced meanwhile, and whose model was not.
    pub(crate) unsafe fn apply<T>(at: *const bitmc_sampler, work: impl FnOnce(&Self) -> T) -> Outcome<T> {
        let at = at.cast_mut();
        // SAFETY: as the crate says; where a sampler is, there is a value.
        unsafe {
            let place = Placed::look(at)?;
            let model = (&raw const (*place).model).read_unaligned();
            if !model.is_null() && Model::stamp(model)? != (&raw const (*place).stamp).read_unaligned() {
                return Err(bitmc_status::NotReady);
            }
            let sampler = (&raw const (*place).sampler).read_unaligned();
            Placed::hold(at, || work(&sampler))
        }
    }

    /// Asks an open chain for a proposal.
    pub(crate) fn ask<'c>(
        &self,
        chain: &'c mut Own,
        gradient: &[f32],
        rng: &mut LaneRng,
    ) -> Outcome<Packed<'c>> {
        Ok(match self {
            Self::Langevin(kernel) => chain.ask_with(kernel, gradient, rng)?,
            Self::SecondOrder(kernel) => chain.ask_with(kernel, gradient, rng)?,
            Self::Cycle(kernels) => {
                chain.ask_with(&Cycle::new(kernels).ok_or(bitmc_status::Halves)?, gradient, rng)?
            }
            Self::Gibbs(_) => return Err(bitmc_status::Halves),
        })
    }

    /// Without a model.
    unsafe fn place(self, at: *mut bitmc_sampler) -> Outcome {
        // SAFETY: as the crate says.
        unsafe { Placed { model: null_mut(), stamp: 0, sampler: self }.place(at) }
    }
}

impl<E: Energy + ?Sized> Kernel<E> for Sampler {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        match self {
            Self::Langevin(kernel) => kernel.step(ring, rng),
            Self::Gibbs(kernel) => kernel.step(ring, rng),
            Self::SecondOrder(kernel) => kernel.step(ring, rng),
            // There is at least one, or the sampler would not be.
            Self::Cycle(kernels) => match Cycle::new(kernels) {
                Some(kernel) => kernel.step(ring, rng),
                None => Gibbs::systematic().step(ring, rng),
            },
        }
    }
}

/// Discrete Langevin at a step size on the scale of 0 and 1. With the Metropolis test (`adjusted` 1, DMALA) it keeps the
/// distribution; without (0, DULA) it has a bias.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_langevin_init(
    sampler: *mut bitmc_sampler,
    step_size: f32,
    adjusted: u32,
) -> bitmc_status {
    let build = || {
        let kernel = match adjusted {
            0 => Langevin::unadjusted(step_size)?,
            1 => Langevin::adjusted(step_size)?,
            _ => return Err(bitmc_status::Choice),
        };
        // SAFETY: as the crate says.
        unsafe { Sampler::Langevin(kernel).place(sampler) }
    };
    bitmc_status::of(build())
}

/// The balanced sampler of first order (AB-1st): step size sigma, balance from above 0 to 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_balanced_init(
    sampler: *mut bitmc_sampler,
    step_size: f32,
    balance: f32,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe { Sampler::Langevin(Langevin::balanced(step_size, balance)?).place(sampler) };
    bitmc_status::of(build())
}

/// Gibbs sampling: a step is a sweep over all sites (`updates` 0), or so many updates of random sites.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_gibbs_init(sampler: *mut bitmc_sampler, updates: u32) -> bitmc_status {
    let build = || {
        let kernel = if updates == 0 { Gibbs::systematic() } else { Gibbs::random(updates)? };
        // SAFETY: as the crate says.
        unsafe { Sampler::Gibbs(kernel).place(sampler) }
    };
    bitmc_status::of(build())
}

/// Bytes of memory for bitmc_second_order_init.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_second_order_bytes(sites: usize) -> usize {
    bytes_of(&[Edgewise::blocks(sites).saturating_mul(size_of::<Block>())])
}

/// The balanced sampler of second order (AB-edge) for the couplings of an Ising or Potts model. Its parameters are the step
/// size sigma (INFINITY is allowed), the balance alpha, and the precision kappa of its auxiliary variable (1 is usual). Where
/// the model is made again, the sampler is not ready any more. BITMC_STATUS_COUNT for a Potts model of 65 values or more. A
/// chain over another number of sites refuses every step as a fault.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_second_order_init(
    sampler: *mut bitmc_sampler,
    model: *const bitmc_model,
    step_size: f32,
    balance: f32,
    precision: f32,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let it = Model::borrow(model)?;
        let form = match it.built() {
            Built::Ising(ising, _) => ising.form(),
            // Every step would be a fault.
            Built::Potts(potts, _) if potts.layout().row_is_site() => return Err(bitmc_status::Count),
            Built::Potts(potts, _) => potts.form(),
            Built::Rbm(..) | Built::Own(_) => return Err(bitmc_status::Sampler),
        };
        let [own, base] = it.memory();
        let used = [Span::of(sampler, 1), Span::of(model, 1), own, base];
        Span::all_apart(&[Span::of(memory, bytes)], &used)?;
        let (model, stamp) = (model.cast_mut(), Model::stamp(model.cast_mut())?);
        let blocks = Edgewise::blocks(form.sites());
        let mut borrowed = Borrowed::new(memory, bytes, &[blocks.saturating_mul(size_of::<Block>())])?;
        // Its parameters, before the sampler that is there is written.
        Langevin::balanced(step_size, balance)?.precision(precision)?;
        Placed::make(sampler, || {
            let noise = Edgewise::new(SparseMatrix::of(form), borrowed.zeros(blocks)?)?;
            let kernel = Langevin::second_order(noise, step_size, balance)?.precision(precision)?;
            Ok(Placed { model, stamp, sampler: Sampler::SecondOrder(kernel) })
        })
    };
    bitmc_status::of(build())
}

/// Bytes of memory for bitmc_cyclical_init.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_cyclical_bytes(steps: usize) -> usize {
    bytes_of(&[steps.saturating_mul(size_of::<Langevin<'static>>())])
}

/// The cyclical sampler (ACS): cycles of `steps` steps, 1 or more. A cycle falls from the largest step size and balance to the
/// smallest step size and a balance of one half. Legal are 0 < smallest <= largest, .5 <= balance <= 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_cyclical_init(
    sampler: *mut bitmc_sampler,
    largest: f32,
    smallest: f32,
    balance: f32,
    steps: usize,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says; every kernel is written before it is looked at.
    let build = || unsafe {
        if !(smallest > 0.0 && smallest <= largest && (0.5..=1.0).contains(&balance)) {
            return Err(bitmc_status::Argument);
        }
        let step_size = Schedule::cyclical_step_size(largest, smallest, steps as u64)?;
        let balance = Schedule::cosine(balance, 0.5, steps as u64)?;
        Span::of(memory, bytes).apart(Span::of(sampler, 1))?;
        let piece = steps.saturating_mul(size_of::<Langevin<'static>>());
        let mut borrowed = Borrowed::new(memory, bytes, &[piece])?;
        Placed::make(sampler, || {
            let kernels: *mut Langevin<'static> = borrowed.take(steps)?;
            for step in 0..steps {
                let at = step as u64;
                kernels.add(step).write(Langevin::balanced(step_size.at(at), balance.at(at))?);
            }
            let sampler = Sampler::Cycle(core::slice::from_raw_parts(kernels, steps));
            Ok(Placed { model: null_mut(), stamp: 0, sampler })
        })
    };
    bitmc_status::of(build())
}
