//! Every call of the C face, once around and with what is refused: values are checked elsewhere (`examples/c`), here
//! Miri sees every access to borrowed memory and to structs, and every reference that is made of them.

use bitmc::energy::Tempered;
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::{Ising, LaneRng, Langevin, Layout, SparseMemory};
use bitmc_calls::bitmc_status::{
    Argument, Busy, Check, Choice, Count, Gradient, Halves, Index, Memory, NotAsked, NotFinite, NotReady, Null,
    Ok as Done, Overlap, Sampler, Scale, State,
};
use bitmc_calls::*;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};

/// A struct of the caller's, all bits zero. Its address can be taken again while a sampler or a chain has it.
struct Held<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Held<T> {
    fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    fn at(&self) -> *mut T {
        self.0.get().cast()
    }
}

/// Memory to borrow, which begins off every boundary.
struct Room(Vec<u8>);

impl Room {
    fn new(bytes: usize) -> Self {
        Self(vec![0xA5; bytes + 1])
    }

    fn at(&mut self) -> (*mut u8, usize) {
        (self.0.as_mut_ptr().wrapping_add(1), self.0.len() - 1)
    }
}

const SITES: usize = 37;

fn edges() -> Vec<bitmc_edge> {
    (0..SITES as u32).map(|a| bitmc_edge { a, b: (a + 1) % SITES as u32, coupling: 0.3 }).collect()
}

/// A ring of spins in the memory.
unsafe fn ring(model: *mut bitmc_model, memory: &mut Room) {
    let (edges, fields, (at, bytes)) = (edges(), [0.1; SITES], memory.at());
    let (edges, fields) = (edges.as_ptr(), fields.as_ptr());
    // SAFETY: edges and fields are copied; the memory outlives the model.
    let said =
        unsafe { bitmc_ising_init(model, BITMC_SPINS_EDGES_ONCE, edges, SITES, fields, SITES, at, bytes) };
    assert_eq!(said, Done);
}

unsafe extern "C" fn energy(user: *mut c_void, x: *const bitmc_state) -> f32 {
    let calls = user.cast::<u32>();
    // SAFETY: the counter that the model was given, and the state of the call.
    unsafe {
        *calls += 1;
        let state = &*x;
        let words = core::slice::from_raw_parts(state.words, state.word_count);
        words.iter().map(|word| word.count_ones()).sum::<u32>() as f32 * 0.25 + bitmc_state_get(x, 3) as f32
    }
}

unsafe extern "C" fn slope(_: *mut c_void, x: *const bitmc_state, site: usize, _: u32) -> f32 {
    // SAFETY: the state of the call.
    0.25 + if site == 3 { 1.0 } else { 0.0 * unsafe { bitmc_state_get(x, site) } as f32 }
}

unsafe extern "C" fn slopes(_: *mut c_void, x: *const bitmc_state, out: *mut f32, count: usize) {
    // SAFETY: room for so many.
    unsafe {
        for place in 0..count {
            out.add(place).write(slope(null_mut(), x, if count == 9 { place } else { place / 3 }, 0));
        }
    }
}

/// What the statistics say, bit for bit.
unsafe fn summary(stats: *mut bitmc_stats) -> (u64, u64, [u32; 5]) {
    let mut summary = MaybeUninit::<bitmc_summary>::uninit();
    // SAFETY: written where the call is done.
    unsafe {
        assert_eq!(bitmc_stats_summary(stats, summary.as_mut_ptr()), Done);
        let bitmc_summary { steps, faults, acceptance, jump_distance, energy, energy_error, energy_ess } =
            summary.assume_init();
        let floats = [acceptance, jump_distance, energy, energy_error, energy_ess];
        (steps, faults, floats.map(f32::to_bits))
    }
}

/// The mean of each site, bit for bit. The sums are not looked at: the library has borrowed them.
unsafe fn means(stats: *mut bitmc_stats, sites: usize) -> Vec<u32> {
    let mean = |site| {
        let mut mean = 0.0;
        // SAFETY: the statistics live, and the number too.
        unsafe { assert_eq!(bitmc_stats_mean(stats, site, &mut mean), Done) };
        mean.to_bits()
    };
    (0..sites).map(mean).collect()
}

/// A chain over a model that is stepped by several samplers, clamped, watched, saved and gone on with.
unsafe fn go_round(model: *mut bitmc_model, samplers: &mut [Held<bitmc_sampler>]) {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let need = bitmc_chain_bytes(model);
        assert!(need > 0);
        let (mut memory, mut copy_memory) = (Room::new(need), Room::new(need));
        let (rng, copy_rng) = (Held::<bitmc_rng>::new(), Held::<bitmc_rng>::new());
        assert_eq!(bitmc_rng_init(rng.at(), 1, 2), Done);
        assert_eq!(bitmc_rng_init(copy_rng.at(), 3, 0), Done);
        let (chain, copy) = (Held::<bitmc_chain>::new(), Held::<bitmc_chain>::new());
        let (at, bytes) = memory.at();
        assert_eq!(bitmc_chain_init(chain.at(), model, at, need / 2, rng.at()), Memory);
        assert_eq!(bitmc_chain_energy(chain.at(), &mut 0.0), NotReady);
        assert_eq!(bitmc_chain_init(chain.at(), model, at, bytes, rng.at()), Done);
        let mut state = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
        assert_eq!(bitmc_chain_state(chain.at(), &mut state), Done);
        let words = core::slice::from_raw_parts(state.words, state.word_count).to_vec();
        let (at, bytes) = copy_memory.at();
        let started = bitmc_chain_init_at(copy.at(), model, at, bytes, words.as_ptr(), words.len());
        assert_eq!(started, Done);
        // Words within the memory that is borrowed.
        let inside = at.wrapping_add(at.align_offset(64)).cast::<u32>();
        assert_eq!(bitmc_chain_init_at(copy.at(), model, at, bytes, inside, words.len()), Overlap);
        let (mut sums, mut copy_sums) = (vec![0; state.sites], vec![0; state.sites]);
        let (stats, copy_stats) = (Held::<bitmc_stats>::new(), Held::<bitmc_stats>::new());
        assert_eq!(bitmc_stats_init(stats.at(), sums.as_mut_ptr(), sums.len()), Done);
        assert_eq!(bitmc_stats_init(copy_stats.at(), copy_sums.as_mut_ptr(), copy_sums.len()), Done);
        for sampler in samplers {
            let mut info = MaybeUninit::<bitmc_info>::uninit();
            assert_eq!(bitmc_chain_step(chain.at(), sampler.at(), rng.at(), info.as_mut_ptr()), Done);
            assert_eq!(info.assume_init().fault, 0);
            assert_ne!(bitmc_chain_clamp(chain.at(), [5].as_ptr(), 0), Done);
            let held = vec![5; state.sites.div_ceil(32)];
            assert_eq!(bitmc_chain_clamp(chain.at(), held.as_ptr(), held.len()), Done);
            assert_eq!(bitmc_chain_run(chain.at(), sampler.at(), rng.at(), 2, stats.at()), Done);
            let mut written = 0;
            let said = bitmc_save(7, chain.at(), rng.at(), stats.at(), null_mut(), 0, &mut written);
            assert_eq!(said, Memory);
            let mut bytes = vec![0; written];
            let room = (bytes.as_mut_ptr(), bytes.len());
            assert_eq!(bitmc_save(7, chain.at(), rng.at(), stats.at(), room.0, room.1, &mut written), Done);
            let load = |bytes: &[u8]| {
                bitmc_load(7, copy.at(), copy_rng.at(), copy_stats.at(), bytes.as_ptr(), bytes.len())
            };
            assert_eq!(load(&bytes), Done);
            assert_eq!(means(copy_stats.at(), state.sites), means(stats.at(), state.sites));
            assert_eq!(summary(copy_stats.at()), summary(stats.at()));
            *bytes.last_mut().unwrap() ^= 1;
            assert_ne!(load(&bytes), Done);
            assert_eq!(bitmc_chain_run(chain.at(), sampler.at(), rng.at(), 1, null_mut()), Done);
            assert_eq!(bitmc_chain_run(copy.at(), sampler.at(), copy_rng.at(), 1, null_mut()), Done);
            let (mut one, mut other) = (0.0, 0.0);
            assert_eq!(bitmc_chain_energy(chain.at(), &mut one), Done);
            assert_eq!(bitmc_chain_energy(copy.at(), &mut other), Done);
            assert_eq!(one.to_bits(), other.to_bits());
        }
        assert!(summary(stats.at()).0 > 0 && means(stats.at(), state.sites).iter().any(|&mean| mean != 0));
        // A struct that is used again for another chain in other memory.
        let mut other_memory = Room::new(need);
        let (at, bytes) = other_memory.at();
        assert_eq!(bitmc_chain_init(chain.at(), model, at, bytes, rng.at()), Done);
        drop(memory);
        assert_eq!(bitmc_chain_energy(chain.at(), &mut 0.0), Done);
        assert_eq!(bitmc_chain_init(null_mut(), model, at, bytes, rng.at()), Null);
    }
}

fn samplers(some: &[&dyn Fn(*mut bitmc_sampler) -> bitmc_status]) -> Vec<Held<bitmc_sampler>> {
    some.iter()
        .map(|init| {
            let sampler = Held::new();
            assert_eq!(init(sampler.at()), Done);
            sampler
        })
        .collect()
}

#[test]
fn pairwise_models() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let (edges, fields) = (edges(), vec![0.1; 3 * SITES]);
        let mut memory = Room::new(bitmc_ising_bytes(SITES, SITES).max(bitmc_potts_bytes(SITES, 3, SITES)));
        let mut noise = Room::new(bitmc_second_order_bytes(SITES));
        let noise = noise.at();
        let mut cycle = Room::new(bitmc_cyclical_bytes(4));
        let cycle = cycle.at();
        let model = Held::<bitmc_model>::new();
        let model = model.at();
        for potts in [false, true] {
            // The struct and its memory are used again.
            if potts {
                let (edges, fields, (at, bytes)) = (edges.as_ptr(), fields.as_ptr(), memory.at());
                assert_eq!(bitmc_potts_init(model, edges, SITES, fields, SITES, 3, at, bytes), Done);
            } else {
                ring(model, &mut memory);
            }
            let mut samplers = samplers(&[
                &|at| bitmc_langevin_init(at, 0.4, 1),
                &|at| bitmc_langevin_init(at, 0.1, 0),
                &|at| bitmc_balanced_init(at, 0.8, 0.6),
                &|at| bitmc_gibbs_init(at, 0),
                &|at| bitmc_gibbs_init(at, 3),
                &|at| bitmc_second_order_init(at, model, 2.0, 0.8, 1.0, noise.0, noise.1),
                &|at| bitmc_cyclical_init(at, 4.0, 0.3, 0.9, 4, cycle.0, cycle.1),
            ]);
            go_round(model, &mut samplers);
        }
    }
}

#[test]
fn machines_and_energies_of_the_callers() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let (weights, biases) = (vec![0.1; 20 * 3], vec![0.2; 20]);
        let mut memory = Room::new(bitmc_rbm_bytes(20, 3));
        let (at, bytes) = memory.at();
        let model = Held::<bitmc_model>::new();
        let (rows, visible, hidden) = (weights.as_ptr(), biases.as_ptr(), biases.as_ptr());
        assert_eq!(bitmc_rbm_init(model.at(), rows, visible, 20, hidden, 3, at, bytes), Done);
        let mut some = samplers(&[&|at| bitmc_langevin_init(at, 0.4, 1), &|at| bitmc_gibbs_init(at, 2)]);
        go_round(model.at(), &mut some);
        type Told = (bitmc_gradient, bitmc_gradient_all);
        let by_site: Told = (Some(slope), None);
        let at_once: Told = (None, Some(slopes));
        for (arity, kind, (gradient, gradient_all)) in [
            (2, 0, (None, None)),
            (2, 0, at_once),
            (5, BITMC_ORDINAL, by_site),
            (5, BITMC_ORDINAL, at_once),
            (3, BITMC_CATEGORICAL, by_site),
            (3, BITMC_CATEGORICAL, at_once),
        ] {
            let mut calls = 0_u32;
            let user = (&raw mut calls).cast();
            let own = Held::<bitmc_model>::new();
            assert_eq!(
                bitmc_own_init(own.at(), 9, arity, kind, Some(energy), gradient, gradient_all, user),
                Done
            );
            go_round(own.at(), &mut some);
            assert!(user.cast::<u32>().read() > 10);
        }
    }
}

/// What a callback is given: the model and the chain that it is called for.
struct Within {
    model: *mut bitmc_model,
    chain: *mut bitmc_chain,
    said: [bitmc_status; 2],
}

unsafe extern "C" fn meddles(user: *mut c_void, _: *const bitmc_state) -> f32 {
    // SAFETY: what the model was given.
    unsafe {
        let within = user.cast::<Within>();
        let (model, chain) = ((*within).model, (*within).chain);
        (*within).said = [
            bitmc_own_init(model, 4, 2, 0, Some(meddles), None, None, user),
            bitmc_chain_energy(chain, &mut 0.0),
        ];
    }
    0.5
}

#[test]
fn a_callback_is_kept_from_its_own_chain() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let (model, chain) = (Held::<bitmc_model>::new(), Held::<bitmc_chain>::new());
        let mut within = Within { model: model.at(), chain: chain.at(), said: [Done; 2] };
        let user = &raw mut within;
        let (model, chain) = ((*user).model, (*user).chain);
        assert_eq!(bitmc_own_init(model, 4, 2, 0, Some(meddles), None, None, user.cast()), Done);
        let rng = Held::<bitmc_rng>::new();
        assert_eq!(bitmc_rng_init(rng.at(), 1, 0), Done);
        let mut memory = Room::new(bitmc_chain_bytes(model));
        let (at, bytes) = memory.at();
        assert_eq!(bitmc_chain_init(chain, model, at, bytes, rng.at()), Done);
        let gibbs = Held::<bitmc_sampler>::new();
        assert_eq!(bitmc_gibbs_init(gibbs.at(), 0), Done);
        assert_eq!(bitmc_chain_run(chain, gibbs.at(), rng.at(), 2, null_mut()), Done);
        assert_eq!((*user).said, [Busy, Busy]);
    }
}

/// Addresses of a model and a sampler, which threads may share.
#[derive(Clone, Copy)]
struct Shared(*mut bitmc_model, *mut bitmc_sampler);

// SAFETY: the C face says so.
unsafe impl Send for Shared {}

impl Shared {
    unsafe fn run_a_chain(self, stream: u32) {
        // SAFETY: model and sampler outlive the threads; the rest is this thread's.
        unsafe {
            let mut memory = Room::new(bitmc_chain_bytes(self.0));
            let (at, bytes) = memory.at();
            let (chain, rng) = (Held::<bitmc_chain>::new(), Held::<bitmc_rng>::new());
            assert_eq!(bitmc_rng_init(rng.at(), 1, stream), Done);
            assert_eq!(bitmc_chain_init(chain.at(), self.0, at, bytes, rng.at()), Done);
            assert_eq!(bitmc_chain_run(chain.at(), self.1, rng.at(), 4, null_mut()), Done);
        }
    }
}

#[test]
fn chains_on_threads_share_model_and_sampler() {
    // SAFETY: all structs and memory outlive the threads.
    unsafe {
        let mut memory = Room::new(bitmc_ising_bytes(SITES, SITES));
        let (model, sampler) = (Held::<bitmc_model>::new(), Held::<bitmc_sampler>::new());
        ring(model.at(), &mut memory);
        let mut noise = Room::new(bitmc_second_order_bytes(SITES));
        let (at, bytes) = noise.at();
        assert_eq!(bitmc_second_order_init(sampler.at(), model.at(), 2.0, 0.8, 1.0, at, bytes), Done);
        let shared = Shared(model.at(), sampler.at());
        let threads: Vec<_> =
            (0..3).map(|stream| std::thread::spawn(move || shared.run_a_chain(stream))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_sampler_of_second_order_sees_its_model() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let (model, other) = (Held::<bitmc_model>::new(), Held::<bitmc_model>::new());
        let (sampler, chain) = (Held::<bitmc_sampler>::new(), Held::<bitmc_chain>::new());
        let rng = Held::<bitmc_rng>::new();
        assert_eq!(bitmc_rng_init(rng.at(), 1, 0), Done);
        let mut memory = Room::new(bitmc_ising_bytes(SITES, SITES));
        let mut noise = Room::new(bitmc_second_order_bytes(SITES));
        let its = model.at();
        ring(its, &mut memory);
        let second =
            |sampler, (at, bytes)| bitmc_second_order_init(sampler, its, f32::INFINITY, 1.0, 1.0, at, bytes);
        assert_eq!(second(sampler.at(), memory.at()), Overlap, "in the memory of its model");
        assert_eq!(second(sampler.at(), noise.at()), Done);
        let mut chain_memory = Room::new(bitmc_chain_bytes(its));
        let (at, bytes) = chain_memory.at();
        assert_eq!(bitmc_chain_init(chain.at(), its, at, bytes, rng.at()), Done);
        let run = |sampler, chain| bitmc_chain_run(chain, sampler, rng.at(), 3, null_mut());
        assert_eq!(run(sampler.at(), chain.at()), Done);
        // The model made again, and a chain over another one.
        ring(its, &mut memory);
        let mut other_memory = Room::new(bitmc_ising_bytes(SITES, SITES));
        ring(other.at(), &mut other_memory);
        let seed = Held::<bitmc_rng>::new();
        assert_eq!(bitmc_rng_init(seed.at(), 2, 0), Done);
        for model in [its, other.at()] {
            assert_eq!(bitmc_chain_init(chain.at(), model, at, bytes, seed.at()), Done);
            assert_eq!(run(sampler.at(), chain.at()), NotReady);
        }
        assert_eq!(second(sampler.at(), noise.at()), Done);
        assert_eq!(run(sampler.at(), chain.at()), Done);
    }
}

/// A round has the bits of the kernel's steps, rung by rung, and of its swaps. Bytes that are saved and loaded change nothing.
#[test]
fn rounds_are_those_of_the_kernel() {
    const COUNT: usize = 4;
    const L: Layout = Layout::binary(SITES);
    let betas = [0.25, 0.5, 0.75, 1.0];
    let mut couplings = SparseMemory::<SITES, { 2 * SITES }>::new();
    let edges = edges().into_iter().map(|edge| (edge.a, edge.b, edge.coupling));
    let ising = Ising::spins_edges_once(SITES, edges, &[0.1; SITES], couplings.borrow()).unwrap();
    let mut numbers = LaneRng::stream(3, 1);
    let mut own: [_; COUNT] = core::array::from_fn(|_| {
        let memory = bitmc::memory!(L, Tempered::cache_len(Ising::cache_len(SITES)));
        Replica::random(Tempered::new(&ising, 1.0).unwrap(), memory, &mut numbers).unwrap()
    });
    let mut ours = Ladder::new([Rung::default(); COUNT], &betas).unwrap();
    let kernels = [Langevin::adjusted(0.5).unwrap(); COUNT];
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let mut memory = Room::new(bitmc_ising_bytes(SITES, SITES));
        let model = Held::<bitmc_model>::new();
        let model = model.at();
        ring(model, &mut memory);
        let rng = Held::<bitmc_rng>::new();
        assert_eq!(bitmc_rng_init(rng.at(), 3, 1), Done);
        let mut rungs = Room::new(bitmc_ladder_bytes(COUNT));
        let (at, bytes) = rungs.at();
        let ladder = Held::<bitmc_ladder>::new();
        assert_eq!(bitmc_ladder_init(ladder.at(), betas.as_ptr(), COUNT, at, bytes), Done);
        let mut rooms: [Room; COUNT] = core::array::from_fn(|_| Room::new(bitmc_replica_bytes(model)));
        let (replicas, samplers) =
            (Held::<[bitmc_replica; COUNT]>::new(), Held::<[bitmc_sampler; COUNT]>::new());
        let (replicas, samplers): (*mut bitmc_replica, *mut bitmc_sampler) =
            (replicas.at().cast(), samplers.at().cast());
        for (index, room) in rooms.iter_mut().enumerate() {
            let (at, bytes) = room.at();
            assert_eq!(bitmc_replica_init(replicas.add(index), model, at, bytes, rng.at()), Done);
            assert_eq!(bitmc_langevin_init(samplers.add(index), 0.5, 1), Done);
        }
        let mut all = 0;
        for _ in 0..if cfg!(miri) { 6 } else { 200 } {
            let mut swaps = 0;
            assert_eq!(bitmc_exchange(ladder.at(), replicas, COUNT, samplers, rng.at(), 2, &mut swaps), Done);
            for (rung, sampler) in ours.rungs().iter().zip(&kernels) {
                let replica = &mut own[rung.replica()];
                replica.set_beta(rung.beta()).unwrap();
                replica.run(sampler, &mut numbers, 2, &mut ());
            }
            assert_eq!(swaps, ours.exchange(|replica| own[replica].gap(), &mut numbers));
            all += swaps;
            let (mut bytes, mut written) = (vec![0; 16_384], 0);
            let room = (bytes.as_mut_ptr(), bytes.len());
            let save = bitmc_exchange_save;
            assert_eq!(save(1, ladder.at(), replicas, COUNT, rng.at(), room.0, room.1, &mut written), Done);
            assert_eq!(bitmc_exchange_load(1, ladder.at(), replicas, COUNT, rng.at(), room.0, written), Done);
            for (rung, place) in ours.rungs().iter().enumerate() {
                let (mut replica, mut energy) = (0, 0.0);
                assert_eq!(bitmc_ladder_replica(ladder.at(), rung, &mut replica), Done);
                assert_eq!(replica, place.replica());
                assert_eq!(bitmc_replica_energy(replicas.add(replica), &mut energy), Done);
                assert_eq!(energy.to_bits(), own[replica].energy().to_bits());
            }
        }
        assert!(all > 3);
    }
}

#[test]
fn whole_numbers() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let ends = [1, 3, 4];
        let entry = |site| bitmc_entry { site, coupling: 65_536 };
        let entries = [entry(1), entry(0), entry(2), entry(1)];
        let linear = [0, 65_536, -65_536];
        let (mut words, mut flips, mut fields) = ([0], [0], [0; 3]);
        let (words, flips, fields) = (words.as_mut_ptr(), flips.as_mut_ptr(), fields.as_mut_ptr());
        let rng = Held::<bitmc_rng>::new();
        assert_eq!(bitmc_rng_init(rng.at(), 1, 0), Done);
        let mut state = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
        let gibbs = Held::<bitmc_quantised>::new();
        let rows = (ends.as_ptr(), entries.as_ptr(), linear.as_ptr());
        let said = bitmc_quantised_init(gibbs.at(), rows.0, rows.1, 4, rows.2, 3, words, 1, fields, 3);
        assert_eq!(said, Done);
        for _ in 0..20 {
            assert_eq!(bitmc_quantised_sweep(gibbs.at(), rng.at(), 0, 3, null_mut()), Done);
        }
        assert_eq!(bitmc_quantised_state(gibbs.at(), &mut state), Done);
        assert!(bitmc_state_get(&state, 2) < 2);
        // Clamped sites keep their values.
        let (free, sweep_free) = ([0b101_u32], bitmc_quantised_sweep_free);
        let held = bitmc_state_get(&state, 1);
        for _ in 0..20 {
            assert_eq!(sweep_free(gibbs.at(), rng.at(), free.as_ptr(), 1, null_mut()), Done);
            assert_eq!(bitmc_quantised_state(gibbs.at(), &mut state), Done);
            assert_eq!(bitmc_state_get(&state, 1), held);
        }
        let mut flipped = 0;
        assert_eq!(sweep_free(gibbs.at(), rng.at(), null(), 0, &mut flipped), Done);
        assert_eq!(sweep_free(gibbs.at(), rng.at(), null(), 1, null_mut()), Null);
        assert_eq!(sweep_free(gibbs.at(), rng.at(), words, 1, &mut flipped), Overlap);
        assert_eq!(flipped, 0);
        // Another b, which is borrowed in place of the one before.
        let (sure, set) = ([i32::MIN >> 4, 1 << 27, 0], bitmc_quantised_set_linear);
        assert_eq!(set(gibbs.at(), sure.as_ptr(), 2), Count);
        assert_eq!(set(gibbs.at(), fields, 3), Overlap);
        assert_eq!(set(gibbs.at(), sure.as_ptr(), 3), Done);
        assert_eq!(bitmc_quantised_sweep(gibbs.at(), rng.at(), 0, 3, null_mut()), Done);
        assert_eq!(bitmc_quantised_state(gibbs.at(), &mut state), Done);
        assert_eq!((bitmc_state_get(&state, 0), bitmc_state_get(&state, 1)), (0, 1));
        // The memory goes on to another chain.
        let langevin = Held::<bitmc_quantised_langevin>::new();
        let said = bitmc_quantised_langevin_init(
            langevin.at(),
            rows.0,
            rows.1,
            4,
            rows.2,
            3,
            47_274,
            words,
            flips,
            1,
            fields,
            3,
        );
        assert_eq!(said, Done);
        let (mut accepted, mut proposed) = (0, 0);
        for _ in 0..20 {
            let step = bitmc_quantised_langevin_step(langevin.at(), rng.at(), &mut accepted, &mut proposed);
            assert_eq!(step, Done);
        }
        let step_free = bitmc_quantised_langevin_step_free;
        assert_eq!(bitmc_quantised_langevin_state(langevin.at(), &mut state), Done);
        let held = bitmc_state_get(&state, 1);
        for _ in 0..20 {
            let step = step_free(langevin.at(), rng.at(), free.as_ptr(), 1, &mut accepted, &mut proposed);
            assert_eq!(step, Done);
            assert_eq!(bitmc_quantised_langevin_state(langevin.at(), &mut state), Done);
            assert!(proposed <= 2 && bitmc_state_get(&state, 1) == held);
        }
        assert_eq!(step_free(langevin.at(), rng.at(), null(), 0, null_mut(), &mut proposed), Done);
        assert_eq!(proposed, 0);
        assert_eq!(step_free(langevin.at(), rng.at(), flips, 1, null_mut(), null_mut()), Overlap);
        assert_eq!(bitmc_quantised_langevin_set_linear(langevin.at(), flips.cast(), 3), Overlap);
        assert_eq!(bitmc_quantised_langevin_set_linear(langevin.at(), sure.as_ptr(), 3), Done);
        assert_eq!(bitmc_quantised_langevin_step(langevin.at(), rng.at(), null_mut(), null_mut()), Done);
        assert_eq!(bitmc_quantised_langevin_state(langevin.at(), &mut state), Done);
        assert!(!bitmc_status_text(Memory as u32).is_null() && bitmc_rng_next(null_mut()) == 0);
    }
}

#[test]
fn memory_is_lent_once() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let ends = [1, 2];
        let entries = [1, 0].map(|site| bitmc_entry { site, coupling: 5 });
        let mut numbers = [0i32; 8];
        let numbers = numbers.as_mut_ptr();
        let words = numbers.cast::<u32>();
        let at = |place: usize| (words.add(place), numbers.add(place));
        let (ends, entries) = (ends.as_ptr(), entries.as_ptr());
        // Where words, flips and fields begin, beside b at 6.
        for (state, flips, fields, said) in [
            (0, 1, 2, Done),
            (0, 0, 2, Overlap),
            (0, 2, 2, Overlap),
            (0, 3, 2, Overlap),
            (2, 4, 2, Overlap),
            (3, 4, 2, Overlap),
            (6, 0, 2, Overlap),
            (0, 7, 2, Overlap),
            (0, 1, 5, Overlap),
        ] {
            let (linear, state, flips, fields) = (at(6).1, at(state).0, at(flips).0, at(fields).1);
            let jumps = Held::<bitmc_quantised_langevin>::new();
            let made = bitmc_quantised_langevin_init(
                jumps.at(),
                ends,
                entries,
                2,
                linear,
                2,
                7,
                state,
                flips,
                1,
                fields,
                2,
            );
            assert_eq!(made, said);
        }
        let gibbs = Held::<bitmc_quantised>::new();
        for (state, fields, said) in
            [(0, 0, Overlap), (1, 0, Overlap), (2, 0, Done), (7, 0, Overlap), (0, 5, Overlap)]
        {
            let (linear, state, fields) = (at(6).1, at(state).0, at(fields).1);
            assert_eq!(
                bitmc_quantised_init(gibbs.at(), ends, entries, 2, linear, 2, state, 1, fields, 2),
                said
            );
        }
        // Addresses that are null are not in the same place.
        let none = null_mut();
        let fields = at(2).1;
        assert_eq!(bitmc_quantised_init(none, ends, entries, 2, at(6).1, 2, null_mut(), 1, fields, 2), Null);
        assert_eq!(
            bitmc_quantised_init(gibbs.at(), null(), entries, 2, at(6).1, 2, null_mut(), 1, fields, 2),
            Null
        );

        let (model, rng) = (Held::<bitmc_model>::new(), Held::<bitmc_rng>::new());
        assert_eq!(bitmc_rng_init(rng.at(), 1, 0), Done);
        let room_for_model = bitmc_ising_bytes(SITES, SITES);
        let mut room = Room::new(room_for_model + 4096);
        let (start, bytes) = room.at();
        let (list, fields) = (edges(), [0.1; SITES]);
        let build = |model, edges, memory| {
            bitmc_ising_init(model, 0, edges, SITES, fields.as_ptr(), SITES, memory, room_for_model)
        };
        let own = start.wrapping_add(start.align_offset(8)).cast::<bitmc_edge>();
        assert_eq!(build(model.at(), own.cast_const(), start), Overlap);
        assert_eq!(build(model.at(), list.as_ptr(), start), Done);
        let chain = Held::<bitmc_chain>::new();
        let (sampler, stats) = (Held::<bitmc_sampler>::new(), Held::<bitmc_stats>::new());
        assert_eq!(bitmc_gibbs_init(sampler.at(), 0), Done);
        let need = bitmc_chain_bytes(model.at());
        for (from, said) in [(0, Overlap), (room_for_model - 1, Overlap), (room_for_model, Done)] {
            let (memory, bytes) = (start.wrapping_add(from), bytes - from);
            assert!(bytes > need + 256);
            assert_eq!(bitmc_chain_init(chain.at(), model.at(), memory, need, rng.at()), said);
            let replica = Held::<bitmc_replica>::new();
            let tried = bitmc_replica_init(replica.at(), model.at(), memory, bytes, rng.at());
            assert_eq!(tried, said);
        }
        let memory = start.wrapping_add(room_for_model);
        assert_eq!(bitmc_chain_init(chain.at(), model.at(), memory, need, rng.at()), Done);
        let end = memory.wrapping_add(need);
        let behind = end.wrapping_add(end.align_offset(4)).cast::<u32>();
        for (sums, said) in [(behind, Done), (behind.wrapping_sub(4), Overlap)] {
            assert_eq!(bitmc_stats_init(stats.at(), sums, 3), Done);
            assert_eq!(bitmc_chain_run(chain.at(), sampler.at(), rng.at(), 2, stats.at()), said);
        }
        assert_eq!(bitmc_chain_run(chain.at(), sampler.at(), rng.at(), 2, null_mut()), Done);
        assert_eq!(bitmc_stats_init(stats.at(), stats.at().cast(), 3), Overlap);
        // A state that is shown stands in the memory of the chain.
        let mut state = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
        assert_eq!(bitmc_chain_state(chain.at(), &mut state), Done);
        assert_eq!(bitmc_chain_clamp(chain.at(), state.words, state.word_count), Overlap);
        let held = core::slice::from_raw_parts(state.words, state.word_count).to_vec();
        assert_eq!(bitmc_chain_clamp(chain.at(), held.as_ptr(), held.len()), Done);
        let (ladder, mut place) = (Held::<bitmc_ladder>::new(), [0.5f32; 64]);
        let place = place.as_mut_ptr();
        place.add(60).write(0.25);
        for (memory, said) in [(place.add(8), Overlap), (place, Done)] {
            let begun = bitmc_ladder_init(ladder.at(), place.add(60), 2, memory.cast(), 4 * 56);
            assert_eq!(begun, said);
        }
    }
}

/// A chain of 37 sites that is told a quarter a one.
struct Told {
    chain: Held<bitmc_open>,
    rng: Held<bitmc_rng>,
    memory: Room,
}

const TOLD: [f32; SITES] = [0.25; SITES];

impl Told {
    unsafe fn new() -> Self {
        let memory = Room::new(bitmc_open_bytes(SITES, 2, 0));
        let mut told = Self { chain: Held::new(), rng: Held::new(), memory };
        // SAFETY: what is told of outlives the calls.
        unsafe {
            assert_eq!(bitmc_rng_init(told.rng.at(), 1, 0), Done);
            assert_eq!(told.init(&[0, 0], &TOLD), Done);
        }
        told
    }

    unsafe fn init(&mut self, words: &[u32], told: &[f32]) -> bitmc_status {
        let (at, bytes) = self.memory.at();
        let (words, count, told, len) = (words.as_ptr(), words.len(), told.as_ptr(), told.len());
        // SAFETY: as above.
        unsafe {
            bitmc_open_init(self.chain.at(), SITES, 2, 0, null(), at, bytes, words, count, 0.0, told, len)
        }
    }

    unsafe fn ask(&self, sampler: *const bitmc_sampler) -> (bitmc_status, u32) {
        let mut x = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
        // SAFETY: as above; the state is looked at before the next call.
        unsafe {
            let said = bitmc_open_ask(self.chain.at(), sampler, null(), 0, self.rng.at(), &mut x);
            let words = if said == Done { core::slice::from_raw_parts(x.words, x.word_count) } else { &[] };
            (said, words.iter().map(|word| word.count_ones()).sum())
        }
    }

    unsafe fn tell(&self, energy: f32, told: &[f32]) -> bitmc_status {
        let mut info = MaybeUninit::<bitmc_info>::uninit();
        // SAFETY: as above.
        unsafe { bitmc_open_tell(self.chain.at(), energy, told.as_ptr(), told.len(), info.as_mut_ptr()) }
    }

    /// A whole step; the ones of the state behind it.
    unsafe fn step(&self, sampler: *const bitmc_sampler) -> u32 {
        let mut x = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
        // SAFETY: as above.
        unsafe {
            let (said, ones) = self.ask(sampler);
            assert_eq!(said, Done);
            assert_eq!(self.tell(0.25 * ones as f32, &TOLD), Done);
            assert_eq!(bitmc_open_state(self.chain.at(), &mut x), Done);
            let words = core::slice::from_raw_parts(x.words, x.word_count);
            let ones = words.iter().map(|word| word.count_ones()).sum();
            let mut energy = 0.0;
            assert_eq!(bitmc_open_energy(self.chain.at(), &mut energy), Done);
            assert!((energy - 0.25 * ones as f32).abs() < 1e-4);
            ones
        }
    }
}

#[test]
fn steps_in_halves() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let mut cycle = Room::new(bitmc_cyclical_bytes(4));
        let cycle = cycle.at();
        let (model, mut couplings) = (Held::new(), Room::new(bitmc_ising_bytes(SITES, SITES)));
        ring(model.at(), &mut couplings);
        let mut noise = Room::new(bitmc_second_order_bytes(SITES));
        let noise = noise.at();
        let samplers = samplers(&[
            &|at| bitmc_langevin_init(at, 0.4, 1),
            &|at| bitmc_langevin_init(at, 0.1, 0),
            &|at| bitmc_balanced_init(at, 0.8, 0.6),
            &|at| bitmc_second_order_init(at, model.at(), 2.0, 0.8, 1.0, noise.0, noise.1),
            &|at| bitmc_cyclical_init(at, 4.0, 0.3, 0.9, 4, cycle.0, cycle.1),
        ]);
        let (mut told, mut copy) = (Told::new(), Told::new());
        for sampler in &samplers {
            told.step(sampler.at());
            // A stop between the halves.
            let asked = told.ask(sampler.at());
            assert_eq!(told.ask(sampler.at()), asked);
            let (mut bytes, mut written) = (vec![0; 4096], 0);
            let room = (bytes.as_mut_ptr(), bytes.len());
            let saved = bitmc_open_save(7, told.chain.at(), told.rng.at(), room.0, room.1, &mut written);
            assert_eq!(saved, Done);
            let load = |number, bytes: &[u8]| {
                bitmc_open_load(number, copy.chain.at(), copy.rng.at(), bytes.as_ptr(), bytes.len())
            };
            assert_eq!(load(7, &bytes[..written]), Done);
            assert_ne!(load(8, &bytes[..written]), Done);
            assert_ne!(load(7, &bytes[..written - 1]), Done);
            assert_eq!(copy.ask(sampler.at()), asked);
            assert_eq!(told.step(sampler.at()), copy.step(sampler.at()));
            assert_eq!(told.step(sampler.at()), copy.step(sampler.at()));
        }
        // What is refused; a proposal stays.
        let (langevin, gibbs) = (samplers[0].at(), Held::<bitmc_sampler>::new());
        assert_eq!(told.tell(0.0, &TOLD), NotAsked);
        assert_eq!(bitmc_gibbs_init(gibbs.at(), 0), Done);
        assert_eq!(told.ask(gibbs.at()).0, Halves);
        let asked = told.ask(langevin);
        assert_eq!(told.tell(0.0, &TOLD[1..]), Gradient);
        assert_eq!(told.tell(0.0, &[]), Gradient);
        let (start, bytes) = told.memory.at();
        let inside = start.wrapping_add(start.align_offset(64)).cast::<u32>();
        let gradient = inside.cast::<f32>();
        let at = told.chain.at();
        assert_eq!(bitmc_open_tell(at, 0.0, gradient, SITES, null_mut()), Overlap);
        let (words, told_of) = ([5, 0], TOLD.as_ptr());
        let restart = |words, gradient| bitmc_open_restart(at, words, 2, 0.5, gradient, SITES);
        assert_eq!(restart(inside, told_of), Overlap);
        assert_eq!(restart(words.as_ptr(), gradient), Overlap);
        assert_eq!(bitmc_open_restart(at, words.as_ptr(), 1, 0.5, told_of, SITES), State);
        assert_eq!(bitmc_open_rebind(at, 0.5, gradient, SITES), Overlap);
        assert_eq!(bitmc_open_clamp(at, inside, 2), Overlap);
        assert_eq!(told.ask(langevin), asked);
        for cancel in 0..3 {
            let said = match cancel {
                0 => restart(words.as_ptr(), told_of),
                1 => bitmc_open_rebind(at, 0.5, told_of, SITES),
                _ => bitmc_open_clamp(at, words.as_ptr(), 2),
            };
            assert_eq!(said, Done);
            assert_eq!(told.tell(0.0, &TOLD), NotAsked);
            assert_eq!(told.ask(langevin).0, Done);
        }
        // Other lengths, and memory that goes on to another chain.
        assert_eq!(told.init(&[0], &TOLD), State);
        assert_eq!(told.init(&[0, 0], &TOLD[1..]), Gradient);
        let short =
            bitmc_open_init(at, SITES, 2, 0, null(), start, bytes / 2, words.as_ptr(), 2, 0.5, told_of, SITES);
        assert_eq!(short, Memory);
        assert_eq!(told.ask(langevin).0, Done);
        let other = Held::<bitmc_open>::new();
        let begun =
            bitmc_open_init(other.at(), SITES, 2, 0, null(), start, bytes, inside, 2, 0.5, told_of, SITES);
        assert_eq!(begun, Overlap);
        let arities = [3u16; 9];
        let begun = bitmc_open_init(
            other.at(),
            9,
            3,
            BITMC_ORDINAL,
            arities.as_ptr(),
            start,
            bytes,
            words.as_ptr(),
            1,
            0.5,
            told_of,
            9,
        );
        assert_eq!(begun, Done);
        assert_eq!(told.ask(langevin).0, NotReady);
        let mut x = bitmc_state { words: null(), word_count: 0, sites: 0, arity: 0 };
        assert_eq!(bitmc_open_ask(other.at(), langevin, null(), 0, told.rng.at(), &mut x), Done);
        assert_eq!(bitmc_open_ask(other.at(), langevin, null(), 0, told.rng.at(), null_mut()), Null);
        copy.step(langevin);
        assert_eq!(copy.init(&[0, 0], &TOLD), Done);
    }
}

#[test]
fn models_of_other_fields() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let (base, now, then) =
            (Held::<bitmc_model>::new(), Held::<bitmc_model>::new(), Held::<bitmc_model>::new());
        let (chain, rng) = (Held::<bitmc_chain>::new(), Held::<bitmc_rng>::new());
        assert_eq!(bitmc_rng_init(rng.at(), 1, 0), Done);
        let mut memory = Room::new(bitmc_ising_bytes(SITES, SITES).max(bitmc_potts_bytes(SITES, 3, SITES)));
        let samplers = samplers(&[&|at| bitmc_langevin_init(at, 0.4, 1), &|at| bitmc_gibbs_init(at, 0)]);
        for potts in [false, true] {
            let count = if potts { 3 * SITES } else { SITES };
            let (most, edges, (at, bytes)) = (vec![1.0; count], edges(), memory.at());
            let said = if potts {
                bitmc_potts_init(base.at(), edges.as_ptr(), SITES, most.as_ptr(), SITES, 3, at, bytes)
            } else {
                bitmc_ising_init(base.at(), 0, edges.as_ptr(), SITES, most.as_ptr(), SITES, at, bytes)
            };
            assert_eq!(said, Done);
            let mut chain_memory = Room::new(bitmc_chain_bytes(base.at()));
            let (at, bytes) = chain_memory.at();
            assert_eq!(bitmc_chain_init(chain.at(), base.at(), at, bytes, rng.at()), Done);
            let need = bitmc_model_linear_bytes(base.at());
            let (mut first, mut second) = (Room::new(need), Room::new(need));
            let fields: Vec<f32> = (0..count).map(|site| 0.01 * site as f32 - 0.3).collect();
            let with = |model: &Held<bitmc_model>, of: &Held<bitmc_model>, fields: &[f32], room: &mut Room| {
                let (at, bytes) = room.at();
                bitmc_model_with_linear(model.at(), of.at(), fields.as_ptr(), fields.len(), at, bytes)
            };
            let go_on = |model: &Held<bitmc_model>| {
                assert_eq!(bitmc_chain_rebind(chain.at(), model.at()), Done);
                for sampler in &samplers {
                    assert_eq!(bitmc_chain_run(chain.at(), sampler.at(), rng.at(), 2, null_mut()), Done);
                }
            };
            assert_eq!(with(&now, &base, &fields, &mut first), Done);
            go_on(&now);
            // Made again in its place, of the base and of one with other fields; none.
            assert_eq!(with(&now, &base, &fields, &mut first), Done);
            assert_eq!(bitmc_chain_energy(chain.at(), &mut 0.0), NotReady);
            go_on(&now);
            assert_eq!(with(&then, &now, &[], &mut second), Done);
            go_on(&then);
            assert_eq!(with(&now, &then, &fields, &mut first), Done);
            go_on(&now);
            go_on(&base);
            go_on(&now);
            // Refused: in the memory of the base or of the chain, of another number; a NaN, behind which it is not ready.
            assert_eq!(with(&then, &base, &fields, &mut memory), Overlap);
            assert_eq!(with(&then, &base, &fields[1..], &mut second), Count);
            assert_eq!(bitmc_chain_rebind(chain.at(), null()), Null);
            assert_eq!(with(&then, &base, &fields, &mut chain_memory), Done);
            assert_eq!(bitmc_chain_rebind(chain.at(), then.at()), Overlap);
            assert_eq!(bitmc_chain_init(chain.at(), base.at(), at, bytes, rng.at()), Done);
            assert_eq!(with(&then, &base, &vec![f32::NAN; count], &mut second), NotFinite);
            assert_eq!(bitmc_chain_rebind(chain.at(), then.at()), NotReady);
            go_on(&base);
            // The base made again.
            assert_eq!(with(&now, &base, &fields, &mut first), Done);
            go_on(&now);
            ring(base.at(), &mut memory);
            assert_eq!(bitmc_chain_energy(chain.at(), &mut 0.0), NotReady);
            assert_eq!(bitmc_chain_bytes(now.at()), 0);
            assert_eq!(with(&then, &now, &fields, &mut second), NotReady);
        }
        let (own, user) = (Held::<bitmc_model>::new(), null_mut());
        assert_eq!(bitmc_own_init(own.at(), 9, 2, 0, Some(meddles), None, None, user), Done);
        let (fields, (at, bytes)) = ([0.0; 9], memory.at());
        assert_eq!(bitmc_model_with_linear(now.at(), own.at(), fields.as_ptr(), 9, at, bytes), Sampler);
    }
}

unsafe extern "C" fn downhill(_: *mut c_void, _: *const bitmc_state, out: *mut f32, count: usize) {
    // SAFETY: room for so many.
    (0..count).for_each(|place| unsafe { out.add(place).write(-0.25) });
}

unsafe extern "C" fn far(_: *mut c_void, _: *const bitmc_state) -> f32 {
    1e6
}

#[test]
fn energies_compared_with_themselves() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let mut calls = 0_u32;
        let user = (&raw mut calls).cast();
        let model = Held::<bitmc_model>::new();
        let words = [0, 0x3_FFFF, 0x2_AAAA];
        let mut checked = MaybeUninit::<bitmc_checked>::uninit();
        let mut check = |gradient, gradient_all, user| {
            assert_eq!(bitmc_own_init(model.at(), 18, 2, 0, Some(energy), gradient, gradient_all, user), Done);
            let mut memory = Room::new(bitmc_check_bytes(model.at()));
            let (at, bytes) = memory.at();
            let short = bitmc_check(model.at(), words.as_ptr(), 3, at, bytes / 2, checked.as_mut_ptr());
            assert_eq!(short, Memory);
            let inside = at.wrapping_add(at.align_offset(4)).cast();
            let inside = bitmc_check(model.at(), inside, 3, at, bytes, checked.as_mut_ptr());
            assert_eq!(inside, Overlap);
            let said = bitmc_check(model.at(), words.as_ptr(), 3, at, bytes, checked.as_mut_ptr());
            (said, checked.assume_init())
        };
        let by_site = check(Some(slope), None, user);
        assert_eq!((by_site.0, by_site.1.moves), (Done, 54));
        let (said, saw) = check(None, Some(downhill), user);
        assert_eq!((said, saw.wrong), (Check, bitmc_wrong::Sign));
        let (said, saw) = check(Some(slope), Some(downhill), user);
        assert_eq!((said, saw.wrong, saw.site), (Check, bitmc_wrong::Gradient, 0));
        // A constant that hides the differences.
        assert_eq!(bitmc_own_init(model.at(), 18, 2, 0, Some(far), None, None, null_mut()), Done);
        let mut memory = Room::new(bitmc_check_bytes(model.at()));
        let (at, bytes) = memory.at();
        assert_eq!(bitmc_check(model.at(), words.as_ptr(), 3, at, bytes, checked.as_mut_ptr()), Check);
        let saw = checked.assume_init();
        assert_eq!((saw.wrong, saw.state, saw.got), (bitmc_wrong::Large, 0, 1e6));
        assert_eq!(bitmc_own_init(model.at(), 18, 2, 0, Some(energy), Some(slope), Some(downhill), user), Done);
        // In the memory of a chain.
        let (chain, rng) = (Held::<bitmc_chain>::new(), Held::<bitmc_rng>::new());
        let mut memory = Room::new(bitmc_check_bytes(model.at()).max(bitmc_chain_bytes(model.at())));
        let (at, bytes) = memory.at();
        assert_eq!(bitmc_rng_init(rng.at(), 1, 0), Done);
        assert_eq!(bitmc_chain_init(chain.at(), model.at(), at, bytes, rng.at()), Done);
        assert_eq!(bitmc_check(model.at(), words.as_ptr(), 0, at, bytes, null_mut()), Count);
        assert_eq!(bitmc_chain_energy(chain.at(), &mut 0.0), Done);
        assert_eq!(bitmc_check(model.at(), words.as_ptr(), 1, at, bytes, null_mut()), Check);
        assert_eq!(bitmc_chain_energy(chain.at(), &mut 0.0), NotReady);
    }
}

/// Numbers that stand for a choice, and one status for each thing that may be wrong with a number.
#[test]
fn wrong_numbers_are_told_apart() {
    // SAFETY: all structs and memory live as long as this function.
    unsafe {
        let (model, sampler) = (Held::<bitmc_model>::new(), Held::<bitmc_sampler>::new());
        for (adjusted, said) in [(0, Done), (1, Done), (2, Choice), (u32::MAX, Choice)] {
            assert_eq!(bitmc_langevin_init(sampler.at(), 0.5, adjusted), said);
        }
        assert_eq!(bitmc_langevin_init(sampler.at(), f32::NAN, 1), Argument);
        for arity in [2, 3] {
            for (kind, said) in
                [(BITMC_CATEGORICAL, Done), (BITMC_ORDINAL, Done), (2, Choice), (u32::MAX, Choice)]
            {
                let made = bitmc_own_init(model.at(), 9, arity, kind, Some(meddles), None, None, null_mut());
                assert_eq!(made, said);
                assert_eq!(bitmc_open_bytes(9, arity, kind) > 0, said == Done);
            }
        }
        for (sites, arity) in [(0, 2), (9, 0), (9, 1), (9, 65_537)] {
            let made = bitmc_own_init(model.at(), sites, arity, 0, Some(meddles), None, None, null_mut());
            assert_eq!(made, Count);
        }
        let mut memory = Room::new(bitmc_ising_bytes(SITES, SITES));
        let (edges, (at, bytes)) = (edges(), memory.at());
        for (convention, sites, first, said) in [
            (BITMC_BITS_EDGES_ONCE, SITES, 0.1, Done),
            (BITMC_BITS_EDGES_ONCE + 1, SITES, 0.1, Choice),
            (0, 0, 0.1, Count),
            (0, SITES, f32::NAN, NotFinite),
            (0, SITES, f32::INFINITY, NotFinite),
            (0, SITES, 1e30, Scale),
            (0, SITES, 1e12, Scale),
        ] {
            let mut fields = [0.1; SITES];
            fields[0] = first;
            let (edges, fields) = (edges.as_ptr(), fields.as_ptr());
            assert_eq!(bitmc_ising_init(model.at(), convention, edges, SITES, fields, sites, at, bytes), said);
        }
        let (stats, mut sums, mut mean) = (Held::<bitmc_stats>::new(), [0; 3], 0.0);
        assert_eq!(bitmc_stats_init(stats.at(), sums.as_mut_ptr(), 3), Done);
        assert_eq!(bitmc_stats_mean(stats.at(), 3, &mut mean), Index);
        let text = |status: u32| core::ffi::CStr::from_ptr(bitmc_status_text(status));
        let texts: std::collections::HashSet<_> = (0..=Scale as u32 + 1).map(text).collect();
        assert_eq!(texts.len(), Scale as usize + 2, "each its own, and none past the last");
    }
}
