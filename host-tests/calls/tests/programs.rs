//! Random programs through the C face, as `host-tests/src/programs.rs` runs them through the kernel's own: exact starts in
//! used memory, random sequences of calls, counts against enumeration. Whole replicas are too slow for Miri, which sees
//! the same calls in `calls.rs`.
#![cfg(not(miri))]

use bitmc_calls::bitmc_status::Ok as Done;
use bitmc_calls::*;
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::programs::{ALARM, p_value};
use bitmc_host_tests::stat::replicas::{Dice, reference_rng};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};

/// A struct of the caller's, full of the bytes of an earlier use where it may be, else zeros.
struct Held<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Held<T> {
    fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    fn at(&self) -> *mut T {
        self.0.get().cast()
    }
}

/// Bytes of an earlier use.
fn used(bytes: usize, source: &mut Source) -> Vec<u8> {
    (0..bytes).map(|_| source.word() as u8).collect()
}

/// A model by its numbers.
struct Model {
    sites: usize,
    arity: usize,
    edges: Vec<bitmc_edge>,
    fields: Vec<f32>,
    /// Of a callback's energy, else empty.
    table: Vec<f32>,
    kind: u32,
}

unsafe extern "C" fn tabulated(user: *mut c_void, x: *const bitmc_state) -> f32 {
    // SAFETY: the model that the callback was given, and the state of the call.
    unsafe {
        let model = &*user.cast::<Model>();
        let value = |site| bitmc_state_get(x, site) as usize;
        model.table[(0..model.sites).rev().fold(0, |number, site| number * model.arity + value(site))]
    }
}

/// A slope that says nothing of the energy.
unsafe extern "C" fn misleading(_: *mut c_void, x: *const bitmc_state, site: usize, value: u32) -> f32 {
    // SAFETY: the state of the call.
    unsafe { ((7 * site as u32 + 3 * value + 5 * bitmc_state_get(x, 0)) % 4) as f32 - 1.5 }
}

impl Model {
    fn random(source: &mut Source) -> Self {
        let own = source.one_in(3);
        let arity = 2 + source.below(3);
        let sites = 1 + source.below([7, 4, 3][arity - 2]);
        let mut edges = vec![];
        for a in 0..sites as u32 {
            for b in 0..a {
                if !own && source.one_in(2) {
                    edges.push(bitmc_edge { a, b, coupling: source.coarse(1.0) });
                }
            }
        }
        let values = if arity == 2 { 1 } else { arity };
        let fields = (0..sites * values).map(|_| source.coarse(0.7)).collect();
        let table =
            if own { (0..arity.pow(sites as u32)).map(|_| source.normal(1.5)).collect() } else { vec![] };
        let kind = if source.one_in(2) { BITMC_ORDINAL } else { BITMC_CATEGORICAL };
        Self { sites, arity, edges, fields, table, kind: if arity == 2 { 0 } else { kind } }
    }

    fn value(&self, state: usize, site: usize) -> usize {
        state / self.arity.pow(site as u32) % self.arity
    }

    fn energy(&self, state: usize) -> f64 {
        if let Some(&energy) = self.table.get(state) {
            return energy.into();
        }
        let x = |site: u32| self.value(state, site as usize);
        let (spins, agree) = (self.arity == 2, |a: usize, b: usize| f64::from(u8::from(a == b)));
        let spin = |value: usize| 2.0 * value as f64 - 1.0;
        let pair = |edge: &bitmc_edge| {
            let (a, b) = (x(edge.a), x(edge.b));
            f64::from(edge.coupling) * if spins { spin(a) * spin(b) } else { agree(a, b) }
        };
        let own = |site: usize| match spins {
            true => f64::from(self.fields[site]) * spin(self.value(state, site)),
            false => f64::from(self.fields[site * self.arity + self.value(state, site)]),
        };
        -self.edges.iter().map(pair).sum::<f64>() - (0..self.sites).map(own).sum::<f64>()
    }

    /// The words of a state, by the widths of the layout.
    fn words(&self, state: usize) -> [u32; 1] {
        let width = if self.arity == 2 { 1 } else { 2 };
        [(0..self.sites).map(|site| (self.value(state, site) as u32) << (width * site)).sum()]
    }

    fn number(&self, words: u32) -> Option<usize> {
        (0..self.arity.pow(self.sites as u32)).find(|&state| self.words(state) == [words])
    }

    unsafe fn init(&self, model: *mut bitmc_model, memory: &mut Vec<u8>, source: &mut Source) {
        let (edges, fields) = ((self.edges.as_ptr(), self.edges.len()), self.fields.as_ptr());
        let need = if self.arity == 2 {
            bitmc_ising_bytes(self.sites, edges.1)
        } else {
            bitmc_potts_bytes(self.sites, self.arity, edges.1)
        };
        *memory = used(need, source);
        let (at, bytes) = (memory.as_mut_ptr(), memory.len());
        // SAFETY: the numbers are copied or live as long as the model, and so does the memory.
        let said = unsafe {
            if !self.table.is_empty() {
                let user = core::ptr::from_ref(self).cast_mut().cast();
                let slope = if source.one_in(2) { Some(misleading as _) } else { None };
                bitmc_own_init(model, self.sites, self.arity, self.kind, Some(tabulated), slope, None, user)
            } else if self.arity == 2 {
                bitmc_ising_init(model, BITMC_SPINS_EDGES_ONCE, edges.0, edges.1, fields, self.sites, at, bytes)
            } else {
                bitmc_potts_init(model, edges.0, edges.1, fields, self.sites, self.arity, at, bytes)
            }
        };
        assert_eq!(said, Done);
    }
}

/// One program; the p-value of its end. A negative control samples without the Metropolis test.
fn program(seed: u64, adjusted: u32) -> f64 {
    let source = &mut Source::new(seed);
    let it = Model::random(source);
    let states = it.arity.pow(it.sites as u32);
    let distribution =
        Distribution::from_energies(it.sites, (0..states).map(|state| it.energy(state)).collect())
            .probabilities;
    let (dice, mut reference) = (Dice::new(&distribution), reference_rng(seed, 1));
    let mut counts = vec![0; states];
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let model = Held::<bitmc_model>::new();
        let mut memory = vec![];
        it.init(model.at(), &mut memory, source);
        let mut noise = used(bitmc_second_order_bytes(it.sites), source);
        let samplers = [(); 4].map(|()| Held::<bitmc_sampler>::new());
        let step_size = source.uniform() as f32 + 0.3;
        assert_eq!(bitmc_langevin_init(samplers[0].at(), step_size, adjusted), Done);
        assert_eq!(bitmc_gibbs_init(samplers[1].at(), source.below(3) as u32), Done);
        assert_eq!(bitmc_balanced_init(samplers[2].at(), step_size, 0.7), Done);
        let (at, bytes) = (noise.as_mut_ptr(), noise.len());
        let second = bitmc_second_order_init(samplers[3].at(), model.at(), 2.0, 0.8, 1.0, at, bytes);
        let samplers = &samplers[..if adjusted == 0 {
            1
        } else if second == Done {
            4
        } else {
            3
        }];
        let rng = Held::<bitmc_rng>::new();
        assert_eq!(bitmc_rng_init(rng.at(), seed, 0), Done);
        let program: Vec<(usize, usize, u32)> = (0..4 + source.below(8))
            .map(|_| (source.below(6), source.below(samplers.len()), source.word() & source.word()))
            .collect();
        let mut rooms = [(); 2].map(|()| used(bitmc_chain_bytes(model.at()), source));
        for _ in 0..3000 {
            let chains = [(); 2].map(|()| Held::<bitmc_chain>::new());
            for (chain, room) in chains.iter().zip(&mut rooms) {
                let words = it.words(dice.roll(&mut reference));
                room.fill_with(|| source.word() as u8);
                let (at, bytes) = (room.as_mut_ptr(), room.len());
                assert_eq!(bitmc_chain_init_at(chain.at(), model.at(), at, bytes, words.as_ptr(), 1), Done);
            }
            let (mut this, mut other) = (chains[0].at(), chains[1].at());
            for &(op, sampler, mask) in &program {
                let sampler = samplers[sampler].at();
                match op {
                    0..=2 => {
                        let mut info = MaybeUninit::<bitmc_info>::uninit();
                        assert_eq!(bitmc_chain_step(this, sampler, rng.at(), info.as_mut_ptr()), Done);
                        assert_eq!(info.assume_init().fault, 0);
                    }
                    3 => assert_eq!(bitmc_chain_run(this, sampler, rng.at(), 3, null_mut()), Done),
                    4 => {
                        let held = [mask & ((1 << it.sites) - 1)];
                        assert_eq!(bitmc_chain_clamp(this, held.as_ptr(), 1), Done);
                    }
                    _ => {
                        // The other chain goes on from a snapshot of this one.
                        let (mut bytes, mut written) = ([0; 512], 0);
                        let room = (bytes.as_mut_ptr(), bytes.len());
                        assert_eq!(
                            bitmc_save(7, this, rng.at(), null_mut(), room.0, room.1, &mut written),
                            Done
                        );
                        assert_eq!(bitmc_load(7, other, rng.at(), null_mut(), room.0, written), Done);
                        (this, other) = (other, this);
                    }
                }
            }
            let mut state = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
            assert_eq!(bitmc_chain_state(this, &mut state), Done);
            counts[it.number(*state.words).expect("a legal state")] += 1;
        }
    }
    p_value(&counts, &distribution)
}

#[test]
fn programs_of_calls() {
    let found: Vec<(u64, f64)> =
        (0..40).map(|seed| (seed, program(seed, 1))).filter(|&(_, p)| p.is_nan() || p < ALARM).collect();
    assert!(found.is_empty(), "{found:?}");
    let controls = (0..10).filter(|&seed| program(seed, 0) < ALARM).count();
    assert!(controls >= 3, "{controls} of 10 samplers without a test are found");
}
