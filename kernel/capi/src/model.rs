//! Models: whose energy is sampled.

use crate::handle::{Borrowed, Handle, Span, bytes_of, slice};
use crate::status::{Outcome, bitmc_status};
use bitmc::energy::{EnergyError, Entry, SparseBuffers, pack_rows};
use bitmc::lane::{Bits, Block};
use bitmc::{Energy, Function, Ising, Layout, Move, Packed, Plain, Potts, Rbm};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ops::Range;
use core::ptr::null_mut;

/// A model. It must stay where it is as long as a chain uses it; chains on several threads may.
#[repr(C)]
pub struct bitmc_model {
    opaque: [u64; 22],
}

/// An edge between two sites.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bitmc_edge {
    /// A site.
    pub a: u32,
    /// Another one.
    pub b: u32,
    /// What couples them.
    pub coupling: f32,
}

/// A state: fields of 1, 2, 4, 8 or 16 bits, the narrowest that holds `arity` values, the first site lowest.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bitmc_state {
    /// The fields, exactly so many words; what is behind the last site is zero.
    pub words: *const u32,
    /// How many words there are.
    pub word_count: usize,
    /// Sites.
    pub sites: usize,
    /// Values of a site.
    pub arity: u32,
}

/// E(x) for x: +inf forbids it. `user` is what bitmc_own_init was given.
pub type bitmc_energy = Option<unsafe extern "C" fn(user: *mut c_void, x: *const bitmc_state) -> f32>;

/// dE/dx of one site. For two values it is on the scale of 0 and 1, for whole numbers by value. For categories it is the slope
/// for `value` alone.
pub type bitmc_gradient =
    Option<unsafe extern "C" fn(user: *mut c_void, x: *const bitmc_state, site: usize, value: u32) -> f32>;

/// dE/dx of all sites at once, into `out`, which is zeros: one number a site, or for categories `[site][value]`, `count` in all.
pub type bitmc_gradient_all =
    Option<unsafe extern "C" fn(user: *mut c_void, x: *const bitmc_state, out: *mut f32, count: usize)>;

/// Spins -1 and +1, every edge once: log p = sum w s + sum over edges J s s'.
pub const BITMC_SPINS_EDGES_ONCE: u32 = 0;
/// Spins -1 and +1, every edge twice: log p = sum w s + 2 sum over edges J s s'.
pub const BITMC_SPINS_EDGES_TWICE: u32 = 1;
/// Bits 0 and 1, every edge once: log p = sum w x + sum over edges J x x'.
pub const BITMC_BITS_EDGES_ONCE: u32 = 2;

/// Values without an order.
pub const BITMC_CATEGORICAL: u32 = 0;
/// Whole numbers.
pub const BITMC_ORDINAL: u32 = 1;

pub(crate) struct Own {
    layout: Layout,
    energy: unsafe extern "C" fn(*mut c_void, *const bitmc_state) -> f32,
    gradient: bitmc_gradient,
    gradient_all: bitmc_gradient_all,
    user: *mut c_void,
}

/// A layout of a kind, BITMC_CATEGORICAL or BITMC_ORDINAL.
pub(crate) fn layout_of(sites: usize, arity: usize, kind: u32) -> Outcome<Layout> {
    if sites == 0 || sites > i32::MAX as usize || !(2..=Layout::MAX_ARITY).contains(&arity) {
        return Err(bitmc_status::Count);
    }
    match (arity, kind) {
        (2, BITMC_CATEGORICAL | BITMC_ORDINAL) => Ok(Layout::binary(sites)),
        (_, BITMC_CATEGORICAL) => Ok(Layout::categorical(sites, arity)),
        (_, BITMC_ORDINAL) => Ok(Layout::ordinal(sites, arity)),
        _ => Err(bitmc_status::Choice),
    }
}

pub(crate) fn view(x: Packed<'_>) -> bitmc_state {
    let (words, layout) = (x.words(), x.layout());
    bitmc_state {
        words: words.as_ptr(),
        word_count: words.len(),
        sites: layout.sites(),
        arity: layout.arity() as u32,
    }
}

impl Function for Own {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        // SAFETY: the caller's function, with the caller's data.
        unsafe { (self.energy)(self.user, &view(x)) }
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.component(x, site, 0)
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        // SAFETY: as above.
        self.gradient.map_or(0.0, |gradient| unsafe { gradient(self.user, &view(x), site, value as u32) })
    }

    fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
        if let Some(all) = self.gradient_all {
            // SAFETY: as above.
            return unsafe { all(self.user, &view(x), out.as_mut_ptr(), out.len()) };
        }
        for (site, slopes) in out.chunks_mut(self.layout.slopes()).enumerate() {
            slopes.iter_mut().enumerate().for_each(|(value, slope)| *slope = self.component(x, site, value));
        }
    }
}

/// What a struct holds now. Chains look at it in place, and it may be replaced between their calls.
pub(crate) struct Model(UnsafeCell<Built>);

pub(crate) enum Built {
    Ising(Ising<'static>, Loan),
    Potts(Potts<'static>, Loan),
    Rbm(Rbm<'static>, Loan),
    Own(Plain<Own>),
}

/// The memory that the caller provides for a model, and another model that its couplings are of, or null, with the stamp of that.
#[derive(Clone, Copy)]
pub(crate) struct Loan {
    memory: Span,
    base: *mut bitmc_model,
    stamp: u32,
}

impl Handle<bitmc_model> for Model {
    const MAGIC: u64 = u64::from_be_bytes(*b"bm model");

    unsafe fn lives(place: *const Self) -> Outcome {
        // SAFETY: there is a model, aligned as `borrow` asserts; what its couplings are of is looked at by its head alone.
        unsafe {
            match (*place).loan() {
                Some(loan) if !loan.base.is_null() && !Self::is(loan.base, loan.stamp)? => {
                    Err(bitmc_status::NotReady)
                }
                _ => Ok(()),
            }
        }
    }
}

impl Model {
    /// The model itself, for chains that stay with it.
    pub(crate) unsafe fn borrow(at: *const bitmc_model) -> Outcome<&'static Self> {
        const { assert!(align_of::<Self>() <= align_of::<bitmc_model>()) };
        // SAFETY: the magic word says that there is a model, which stays where it is. Chains look at it, and see
        // whether it is still the same before they do.
        unsafe { Self::look(at.cast_mut()).map(|place| &*place) }
    }

    pub(crate) fn built(&self) -> &Built {
        // SAFETY: it is replaced between calls only: within one it is held.
        unsafe { &*self.0.get() }
    }

    fn loan(&self) -> Option<Loan> {
        match *self.built() {
            Built::Ising(_, loan) | Built::Potts(_, loan) | Built::Rbm(_, loan) => Some(loan),
            Built::Own(_) => None,
        }
    }

    /// Where its memory lies, and that of the model that its couplings are of, which is ready.
    pub(crate) fn memory(&self) -> [Span; 2] {
        let Some(Loan { memory, base, .. }) = self.loan() else { return [Span::NONE; 2] };
        // SAFETY: as the crate says.
        let its = unsafe { Self::borrow(base) }.ok().and_then(Self::loan);
        [memory, its.map_or(Span::NONE, |loan| loan.memory)]
    }

    /// Whether the gradient can be told as a whole alone.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.built(), Built::Own(Plain(own)) if own.gradient.is_none() && own.gradient_all.is_some())
    }

    /// A model in memory of so many pieces, outside of which is what it is made `of`.
    unsafe fn build(
        at: *mut bitmc_model,
        (memory, bytes): (*mut u8, usize),
        pieces: &[usize],
        of: &[Span],
        (base, stamp): (*mut bitmc_model, u32),
        work: impl FnOnce(&mut Borrowed, Loan) -> Outcome<Built>,
    ) -> Outcome {
        // SAFETY: as the crate says.
        unsafe {
            Self::room(at)?;
            let loan = Loan { memory: Span::of(memory, bytes), base, stamp };
            Span::all_apart(&[loan.memory, Span::of(at, 1)], of)?;
            let mut borrowed = Borrowed::new(memory, bytes, pieces)?;
            Self::make(at, || Ok(Self(UnsafeCell::new(work(&mut borrowed, loan)?))))
        }
    }
}

macro_rules! each {
    ($model:expr, $it:ident => $call:expr) => {
        match $model.built() {
            Built::Ising($it, _) => $call,
            Built::Potts($it, _) => $call,
            Built::Rbm($it, _) => $call,
            Built::Own($it) => $call,
        }
    };
}

// It has no `Energy::ising`: the model that a chain had may have been made again in its place.
impl Energy for Model {
    fn layout(&self) -> Layout {
        each!(self, it => it.layout())
    }

    fn cache_len(&self) -> usize {
        each!(self, it => it.cache_len())
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        each!(self, it => it.init(x, cache))
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        each!(self, it => it.gradient(x, cache, rows, out));
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        each!(self, it => it.shift(step, cache))
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        each!(self, it => it.differences(words, cache, site, out));
    }
}

/// Of a model whose couplings are its own.
const NO_BASE: (*mut bitmc_model, u32) = (null_mut(), 0);

fn copy(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(slot, &number)| *slot = number);
}

fn pieces(sites: usize, edges: usize, fields: usize) -> [usize; 4] {
    let entries = edges.saturating_mul(2 * size_of::<Entry>());
    [sites.saturating_mul(4), sites.saturating_mul(4), entries, fields.saturating_mul(4)]
}

unsafe fn couplings(borrowed: &mut Borrowed, sites: usize, edges: usize) -> Outcome<SparseBuffers<'static>> {
    // SAFETY: as the crate says; all of it is numbers.
    unsafe {
        let (ends, linear) = (borrowed.zeros(sites)?, borrowed.zeros(sites)?);
        Ok(SparseBuffers::new(ends, linear, borrowed.zeros(edges.saturating_mul(2))?))
    }
}

/// Bytes of memory for bitmc_ising_init.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_ising_bytes(sites: usize, edges: usize) -> usize {
    bytes_of(&pieces(sites, edges, 0))
}

/// An Ising model, or any binary pairwise one, from its edges and one field a site; `convention` is one of
/// BITMC_SPINS_EDGES_ONCE, ... Edges and fields are copied into the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_ising_init(
    model: *mut bitmc_model,
    convention: u32,
    edges: *const bitmc_edge,
    edge_count: usize,
    fields: *const f32,
    sites: usize,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let of = [Span::of(edges, edge_count), Span::of(fields, sites)];
        let (edges, fields) = (slice(edges, edge_count)?, slice(fields, sites)?);
        let edges = edges.iter().map(|edge| (edge.a, edge.b, edge.coupling));
        if sites == 0 {
            return Err(bitmc_status::Count);
        }
        if convention > BITMC_BITS_EDGES_ONCE {
            return Err(bitmc_status::Choice);
        }
        Model::build(model, (memory, bytes), &pieces(sites, edge_count, 0), &of, NO_BASE, |borrowed, loan| {
            let borrowed = couplings(borrowed, sites, edge_count)?;
            let ising = match convention {
                BITMC_SPINS_EDGES_ONCE => Ising::spins_edges_once(sites, edges, fields, borrowed)?,
                BITMC_SPINS_EDGES_TWICE => Ising::spins_edges_twice(sites, edges, fields, borrowed)?,
                _ => Ising::bits_edges_once(sites, edges, fields, borrowed)?,
            };
            Ok(Built::Ising(ising, loan))
        })
    };
    bitmc_status::of(build())
}

/// Bytes of memory for bitmc_potts_init.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_potts_bytes(sites: usize, arity: usize, edges: usize) -> usize {
    bytes_of(&pieces(sites, edges, sites.saturating_mul(arity)))
}

/// A Potts model: log p = sum w[site][value] + sum over edges of J where both have the same value. The array `fields`
/// has sites x arity numbers, or is null. Edges and fields are copied into the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_potts_init(
    model: *mut bitmc_model,
    edges: *const bitmc_edge,
    edge_count: usize,
    fields: *const f32,
    sites: usize,
    arity: usize,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let count = if fields.is_null() { 0 } else { sites.saturating_mul(arity) };
        let of = [Span::of(edges, edge_count), Span::of(fields, count)];
        let (edges, fields) = (slice(edges, edge_count)?, slice(fields, count)?);
        let edges = edges.iter().map(|edge| (edge.a, edge.b, edge.coupling));
        if sites == 0 || arity < 2 {
            return Err(bitmc_status::Count);
        }
        Model::build(
            model,
            (memory, bytes),
            &pieces(sites, edge_count, count),
            &of,
            NO_BASE,
            |borrowed, loan| {
                let sparse = couplings(borrowed, sites, edge_count)?;
                let kept: &'static mut [f32] = borrowed.zeros(count)?;
                copy(kept, fields);
                Ok(Built::Potts(Potts::new(sites, arity, edges, kept, sparse)?, loan))
            },
        )
    };
    bitmc_status::of(build())
}

/// Fields of a model that can have others: one a site, or one for every value of every site.
fn linear(model: &Model) -> Outcome<usize> {
    match model.built() {
        Built::Ising(ising, _) => Ok(ising.form().sites()),
        Built::Potts(potts, _) => Ok(potts.form().sites().saturating_mul(potts.layout().arity())),
        Built::Rbm(..) | Built::Own(_) => Err(bitmc_status::Sampler),
    }
}

/// Bytes of memory for bitmc_model_with_linear over an Ising or Potts model; 0 for others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_model_linear_bytes(base: *const bitmc_model) -> usize {
    // SAFETY: as the crate says.
    unsafe { Model::borrow(base) }.and_then(linear).map_or(0, |count| bytes_of(&[count.saturating_mul(4)]))
}

/// The couplings of the base, an Ising or Potts model, with other fields: no coupling is sorted or checked again. The
/// `fields` are as in its `_init`; null and 0 are none. They must fit the fixed point of the base
/// (BITMC_STATUS_SCALE), so make that with the largest fields that will come. The base is not made again as long
/// as this model is used. bitmc_chain_rebind lets a chain go on over it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_model_with_linear(
    model: *mut bitmc_model,
    base: *const bitmc_model,
    fields: *const f32,
    field_count: usize,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let it = Model::borrow(base)?;
        let (fields, count) = (slice(fields, field_count)?, linear(it)?);
        if field_count != 0 && field_count != count {
            return Err(bitmc_status::Count);
        }
        // Who has its couplings from another has them from one that has its own.
        let root = match it.loan() {
            Some(Loan { base, stamp, .. }) if !base.is_null() => (base, stamp),
            _ => (base.cast_mut(), Model::stamp(base.cast_mut())?),
        };
        let [own, its] = it.memory();
        let of = [Span::of(fields.as_ptr(), field_count), Span::of(base, 1), Span::of(root.0, 1), own, its];
        Model::build(model, (memory, bytes), &[count.saturating_mul(4)], &of, root, |borrowed, loan| {
            Ok(match it.built() {
                Built::Ising(ising, _) => {
                    Built::Ising(ising.with_linear(fields, borrowed.zeros(count)?)?, loan)
                }
                Built::Potts(potts, _) => {
                    let kept: &'static mut [f32] = borrowed.zeros(field_count)?;
                    copy(kept, fields);
                    Built::Potts(potts.with_linear(kept)?, loan)
                }
                Built::Rbm(..) | Built::Own(_) => return Err(bitmc_status::Sampler),
            })
        })
    };
    bitmc_status::of(build())
}

/// Bytes of memory for bitmc_rbm_init.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_rbm_bytes(visible: usize, hidden: usize) -> usize {
    bytes_of(&rbm_pieces(visible, Rbm::row_blocks(hidden)))
}

fn rbm_pieces(visible: usize, row_blocks: usize) -> [usize; 3] {
    let row = row_blocks.saturating_mul(size_of::<Block>());
    [row.saturating_mul(visible), visible.saturating_mul(4), row]
}

/// A restricted Boltzmann machine over its visible units: `weights` is visible x hidden, row by row. All of it is
/// copied into the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_rbm_init(
    model: *mut bitmc_model,
    weights: *const f32,
    visible_biases: *const f32,
    visible: usize,
    hidden_biases: *const f32,
    hidden: usize,
    memory: *mut u8,
    bytes: usize,
) -> bitmc_status {
    // SAFETY: as the crate says.
    let build = || unsafe {
        let count = visible.checked_mul(hidden).ok_or(bitmc_status::Count)?;
        let of = [Span::of(weights, count), Span::of(visible_biases, visible), Span::of(hidden_biases, hidden)];
        let weights = slice(weights, count)?;
        let (visible_biases, hidden_biases) = (slice(visible_biases, visible)?, slice(hidden_biases, hidden)?);
        if visible == 0 || hidden == 0 {
            return Err(bitmc_status::Count);
        }
        let row = Rbm::row_blocks(hidden);
        Model::build(model, (memory, bytes), &rbm_pieces(visible, row), &of, NO_BASE, |borrowed, loan| {
            let table: &'static mut [Block] = borrowed.zeros(row.saturating_mul(visible))?;
            pack_rows(weights, hidden, table)?;
            let first: &'static mut [f32] = borrowed.zeros(visible)?;
            copy(first, visible_biases);
            let second: &'static mut [Block] = borrowed.zeros(row)?;
            pack_rows(hidden_biases, hidden, second)?;
            Ok(Built::Rbm(Rbm::new(table, first, second, hidden)?, loan))
        })
    };
    bitmc_status::of(build())
}

/// An energy of the caller's, over `sites` sites of `arity` values; `kind` is BITMC_CATEGORICAL or BITMC_ORDINAL
/// (either, for two values). Its gradient is told site by site by `gradient`, or as a whole by `gradient_all`, which
/// is preferred; either may be null. Categories of 65 values or more are asked site by site: BITMC_STATUS_GRADIENT
/// where there is `gradient_all` alone. Without a gradient samplers by
/// gradients propose blindly: right, and slow. A step of Gibbs sampling asks for none; the start of a chain does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_own_init(
    model: *mut bitmc_model,
    sites: usize,
    arity: usize,
    kind: u32,
    energy: bitmc_energy,
    gradient: bitmc_gradient,
    gradient_all: bitmc_gradient_all,
    user: *mut c_void,
) -> bitmc_status {
    let build = || {
        let energy = energy.ok_or(bitmc_status::Null)?;
        let layout = layout_of(sites, arity, kind)?;
        if layout.row_is_site() && gradient.is_none() && gradient_all.is_some() {
            return Err(bitmc_status::Gradient);
        }
        let own = Built::Own(Plain(Own { layout, energy, gradient, gradient_all, user }));
        // SAFETY: as the crate says.
        unsafe { Model(UnsafeCell::new(own)).place(model) }
    };
    bitmc_status::of(build())
}

/// The value of a site; 0 where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmc_state_get(state: *const bitmc_state, site: usize) -> u32 {
    if state.is_null() || !state.is_aligned() {
        return 0;
    }
    // SAFETY: as the crate says.
    let (state, words) = unsafe { (&*state, slice((*state).words, (*state).word_count).unwrap_or_default()) };
    // All kinds of sites are packed alike.
    let layout = if state.arity == 2 {
        Layout::binary(state.sites)
    } else {
        Layout::categorical(state.sites, state.arity as usize)
    };
    let (fields, bits) = (layout.fields_per_word(), layout.field_bits());
    let word = words.get(site >> fields.trailing_zeros()).copied().unwrap_or(0);
    let shift = ((site & (fields - 1)) as u32 * bits) & 31;
    if site < state.sites { (word >> shift) & (u32::MAX >> (32 - bits)) } else { 0 }
}
