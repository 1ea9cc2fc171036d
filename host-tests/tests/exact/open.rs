//! Chains that are told their energies: the bits of chains that have them, and what they refuse.

use bitmc::lane::{Bits, Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, Diagonal, Edgewise, SparseMatrix};
use bitmc::open::{Ask, OpenError, gradient_len, open_snapshot_len};
use bitmc::snapshot::{FRAME, Reader, SnapshotError, Writer};
use bitmc::step::{Curvature, Cycle, langevin_cycle};
use bitmc::{
    ChainError, Energy, Function, GibbsWithGradients, Info, Ising, Kernel, Kind, LaneRng, Langevin, Layout,
    Memory, Open, Packed, PathAuxiliary, Plain, RandomWalk, Schedule, SeedableRng,
};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::heap::{self, Couplings, HeapChain};
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::used;

pub(crate) type HeapOpen<'a> = Open<'a, Vec<u32>, Vec<Bits>, Vec<Block>>;

fn memory(layout: Layout) -> Memory<Vec<u32>, Vec<Bits>, Vec<Block>> {
    Memory {
        words: used::memory(Memory::words(layout)),
        cache: Vec::new(),
        weights: used::memory(Memory::weights_and_gradients(layout)),
    }
}

pub(crate) fn evaluate(function: &dyn Function, x: Packed<'_>) -> (f32, Vec<f32>) {
    let mut gradient = vec![f32::NAN; gradient_len(function.layout())];
    function.gradient_all(x, &mut gradient);
    (function.total(x), gradient)
}

pub(crate) fn open<'f>(function: &'f dyn Function, start: Packed<'_>) -> HeapOpen<'f> {
    let layout = function.layout();
    let (energy, gradient) = evaluate(function, start);
    Open::new(layout, function.arities(), memory(layout), start, energy, &gradient).unwrap()
}

/// What a kernel is asked with: the gradient at the state where the chain keeps none.
pub(crate) fn here(chain: &HeapOpen<'_>, function: &dyn Function) -> Vec<f32> {
    if function.layout().row_is_site() { evaluate(function, chain.state()).1 } else { Vec::new() }
}

fn bits(info: Info) -> (bool, u32, u32, u32, bool) {
    (info.accepted, info.proposed, info.log_ratio.to_bits(), info.difference.to_bits(), info.fault)
}

/// A snapshot of `chain` into `other`.
fn keep(chain: &HeapOpen<'_>, other: &mut HeapOpen<'_>) {
    let mut bytes = vec![0; FRAME + open_snapshot_len(chain.state().layout())];
    Writer::new(&mut bytes).put(chain).finish().unwrap();
    let mut reader = Reader::new(&bytes).unwrap();
    reader.get(other).unwrap();
    reader.finish().unwrap();
}

/// Runs a chain over the function and three that are told, one of them among `others`, one kept between the halves of
/// every third step: steps in which one differs, and how many moved.
fn compare<K>(function: &dyn Function, kernel: &K, told: &K, held: bool, steps: usize) -> (usize, usize)
where
    K: for<'e> Kernel<Plain<&'e dyn Function>> + Ask,
{
    let plain = Plain(function);
    let layout = plain.layout();
    let start = used_start(function);
    let start = Packed::new(layout, &start).unwrap();
    let mut chain: HeapChain<'_, _> = heap::chain(&plain, start.words()).unwrap();
    let mut ones = [(); 3].map(|()| open(function, start));
    let mut spare = open(function, start);
    if held {
        let mask: Vec<f64> = (0..layout.sites()).map(|site| f64::from(site % 3 == 1)).collect();
        let mask = heap::pack(&mask);
        let mask = Packed::new(Layout::binary(layout.sites()), &mask).unwrap();
        chain.clamp(mask).unwrap();
        ones.iter_mut().for_each(|one| one.clamp(mask).unwrap());
        spare.clamp(mask).unwrap();
    }
    let mut rng = LaneRng::stream(5, 0);
    let mut rngs = [0, 1, 2].map(|stream| LaneRng::stream(5, stream));
    let mut alone = LaneRng::stream(5, 0);
    let (mut different, mut moved) = (0, 0);
    for step in 0..steps {
        let info = chain.step(kernel, &mut rng);
        moved += usize::from(info.moved() > 0);
        // All three at once, from one list of energies and gradients; the second and third have draws of their own.
        let gradients: Vec<f32> = ones.iter().flat_map(|one| here(one, function)).collect();
        Open::ask_each(&mut ones, told, &gradients, &mut rngs).unwrap();
        let answers = ones.each_ref().map(|one| evaluate(function, one.asked().unwrap()));
        let energies = answers.each_ref().map(|(energy, _)| *energy);
        let gradients: Vec<f32> = answers.iter().flat_map(|(_, gradient)| gradient.iter().copied()).collect();
        let mut infos = [Info::default(); 3];
        Open::tell_each(&mut ones, &energies, &gradients, &mut infos).unwrap();
        // One alone, kept between the halves.
        let gradient = here(&spare, function);
        spare.ask_with(told, &gradient, &mut alone).unwrap();
        if step % 3 == 0 {
            let mut again = open(function, start);
            keep(&spare, &mut again);
            spare = again;
        }
        // Another kernel and another draw: the proposal is the one that was asked.
        let y = spare.asked().unwrap().words().to_vec();
        let again = spare.ask_with(&RandomWalk::new(2.0).unwrap(), &[], &mut LaneRng::stream(9, 9)).unwrap();
        assert_eq!(again.words(), y);
        let (energy, gradient) = evaluate(function, again);
        let single = spare.tell(energy, &gradient).unwrap();
        let same = |one: &HeapOpen<'_>, found: Info| {
            bits(found) == bits(info)
                && one.state().words() == chain.state().words()
                && one.energy().to_bits() == chain.energy().to_bits()
                && (one.steps(), one.faults()) == (chain.steps(), chain.faults())
        };
        different += usize::from(!(same(&ones[0], infos[0]) && same(&spare, single)));
    }
    (different, moved)
}

/// A state that the function allows.
fn used_start(function: &dyn Function) -> Vec<u32> {
    vec![0; function.layout().words()]
}

fn judge<K>(name: &str, function: &dyn Function, kernel: &K)
where
    K: for<'e> Kernel<Plain<&'e dyn Function>> + Ask,
{
    for held in [false, true] {
        let (different, moved) = compare(function, kernel, kernel, held, 150);
        assert_eq!(different, 0, "{name}, held {held}");
        assert!(moved > 3, "{name}, held {held}: {moved} moves to compare");
    }
}

/// Every kernel that can be asked, over one function.
fn judge_all(name: &str, function: &dyn Function, scale: f32) {
    let layout = function.layout();
    let blocks = layout.blocks();
    let each: Vec<Block> =
        (0..blocks).map(|b| std::array::from_fn(|l| 1.0 + ((b * LANES + l) % 5) as f32 * 0.5)).collect();
    judge(name, function, &Langevin::adjusted(scale).unwrap());
    judge(name, function, &Langevin::unadjusted(scale).unwrap());
    judge(name, function, &Langevin::balanced(scale, 0.8).unwrap());
    judge(name, function, &Langevin::adjusted(scale).unwrap().within(1));
    judge(name, function, &Langevin::new(0.5, Curvature::Each(&each), true).unwrap());
    judge(name, function, &Langevin::new(0.6, Curvature::Times(0.7, &each), false).unwrap());
    judge(name, function, &RandomWalk::new(1.5).unwrap());
    let step_size = Schedule::cyclical_step_size(4.0 * scale, 0.5 * scale, 4).unwrap();
    let kernels = langevin_cycle::<4>(&step_size, &Schedule::cosine(0.9, 0.5, 4).unwrap()).unwrap();
    judge(name, function, &Cycle::new(&kernels).unwrap());
    let diagonal = Diagonal::new(&each).unwrap();
    judge(name, function, &Langevin::second_order(diagonal, 4.0 * scale, 0.7).unwrap());
    judge(name, function, &GibbsWithGradients::new(1).unwrap());
    judge(name, function, &GibbsWithGradients::new(3).unwrap());
    judge(name, function, &PathAuxiliary::new(2).unwrap());
    if layout.row_is_site() {
        return;
    }
    // W with couplings of .3 between neighbours, and D that makes W + D positive.
    let sites = layout.sites();
    let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(sites)];
    let width = DenseMatrix::blocks(sites) / sites;
    for site in 0..sites {
        for other in [site.wrapping_sub(1), site + 1] {
            if other < sites {
                rows[site * width..(site + 1) * width].as_flattened_mut()[other] = 0.3;
            }
        }
    }
    let w = DenseMatrix::new(sites, &rows).unwrap();
    let mut d = vec![[0.0; LANES]; blocks];
    d.as_flattened_mut()[..sites].fill(1.0);
    let mut root = vec![[0.0; LANES]; Dense::root_blocks(sites)];
    let noise = Dense::new(w, &mut d, &mut root).unwrap();
    let second = Langevin::second_order(noise, 4.0 * scale, 0.8).unwrap();
    judge(name, function, &second);
    judge(name, function, &second.precision(0.75).unwrap());
}

/// The functions of the tests, of every kind.
fn functions() -> Vec<(&'static str, Tables, Layout, f32)> {
    let tables = |kind, arities: &[u16], sd, seed| Tables::new(kind, arities, sd, seed);
    let ordinal = |sites, arity| Layout::ordinal(sites, arity);
    vec![
        (
            "categorical, mixed",
            tables(Kind::Categorical, &[3, 1, 4, 2], 0.7, 1),
            Layout::categorical(4, 4),
            1.0,
        ),
        ("categorical, 18 sites", tables(Kind::Categorical, &[3; 18], 0.2, 2), Layout::categorical(18, 3), 1.0),
        ("ordinal, mixed", tables(Kind::Ordinal, &[5, 3, 7, 1], 0.5, 3), ordinal(4, 7), 2.0),
        (
            "categorical, 70 values",
            tables(Kind::Categorical, &[70, 66, 3, 70], 0.5, 4),
            Layout::categorical(4, 70),
            2.0,
        ),
        ("ordinal, 90 values", tables(Kind::Ordinal, &[90, 80, 90], 0.02, 5), ordinal(3, 90), 30.0),
    ]
}

#[test]
fn told_chains_are_those_that_ask_bit_for_bit() {
    for (name, tables, _, scale) in functions() {
        judge_all(name, &Own(&tables), scale);
    }
    // Binary, with a hard constraint, at a length that is no multiple of sixteen.
    judge_all("binary with a hard constraint", &Count { sites: 21, most: 12.0, weight: 0.1 }, 0.5);
    // A kernel of another step size is told apart.
    let count = Count { sites: 21, most: 12.0, weight: 0.1 };
    let [one, other] = [0.5, 0.51].map(|step_size| Langevin::adjusted(step_size).unwrap());
    assert!(compare(&count, &one, &other, false, 150).0 > 100);
}

#[test]
fn what_is_out_of_turn_or_of_another_length_is_refused() {
    let count = Count { sites: 5, most: 3.0, weight: 0.5 };
    let layout = Function::layout(&count);
    let zeros = [0];
    let start = Packed::new(layout, &zeros).unwrap();
    let mut chain = open(&count, start);
    let sampler = Langevin::adjusted(1.0).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    assert_eq!(chain.tell(0.0, &[0.0; 5]), Err(OpenError::NotAsked));
    let y = chain.ask(&sampler, &mut rng).unwrap().words().to_vec();
    let y = Packed::new(layout, &y).unwrap();
    for wrong in [4, 6, 1] {
        assert_eq!(chain.tell(0.0, &vec![0.0; wrong]), Err(OpenError::Gradient { need: 5, got: wrong }));
    }
    assert_eq!(chain.tell(0.0, &[]), Err(OpenError::Gradient { need: 5, got: 0 }));
    assert_eq!(chain.asked(), Some(y), "what is refused leaves the proposal");
    let (energy, gradient) = evaluate(&count, y);
    chain.tell(energy, &gradient).unwrap();
    assert_eq!(chain.tell(energy, &gradient), Err(OpenError::NotAsked), "told once");
    let text = OpenError::Gradient { need: 5, got: 4 }.to_string();
    assert_eq!(text, "the gradient has 4 numbers: the layout needs 5");

    // NaN and −∞ are faults, +∞ a rejection that needs no gradient.
    for (energy, fault) in [(f32::NAN, true), (f32::NEG_INFINITY, true), (f32::INFINITY, false)] {
        chain.ask(&sampler, &mut rng).unwrap();
        let (before, faults) = (chain.state().words().to_vec(), chain.faults());
        let info = if fault { chain.tell(energy, &[0.0; 5]) } else { chain.tell(energy, &[]) }.unwrap();
        assert!(!info.accepted && info.fault == fault && info.log_ratio == f32::NEG_INFINITY);
        assert_eq!((chain.state().words(), chain.faults()), (&before[..], faults + u32::from(fault)));
    }
    chain.ask(&sampler, &mut rng).unwrap();
    assert!(chain.tell(0.0, &[f32::NAN; 5]).unwrap().fault);

    // What cannot start.
    let new =
        |energy, gradient: &[f32]| Open::new(layout, None, memory(layout), start, energy, gradient).map(drop);
    let refused = |error: bitmc::energy::EnergyError| Err(OpenError::Chain(ChainError::Energy(error)));
    assert_eq!(new(f32::NAN, &[0.0; 5]), refused(bitmc::energy::EnergyError::Nan));
    assert_eq!(new(f32::INFINITY, &[0.0; 5]), refused(bitmc::energy::EnergyError::Forbidden));
    assert_eq!(new(f32::NEG_INFINITY, &[0.0; 5]), refused(bitmc::energy::EnergyError::MinusInfinity));
    assert_eq!(new(0.0, &[f32::NAN; 5]), refused(bitmc::energy::EnergyError::NanGradient));
    assert_eq!(new(0.0, &[0.0; 4]), Err(OpenError::Gradient { need: 5, got: 4 }));
    let mut short = memory(layout);
    short.weights.pop();
    assert!(matches!(
        Open::new(layout, None, short, start, 0.0, &[0.0; 5]),
        Err(OpenError::Chain(ChainError::Memory { .. }))
    ));

    // Without a gradient only a random walk goes on.
    let mut blind = Open::new(layout, None, memory(layout), start, 0.0, &[]).unwrap();
    assert_eq!(blind.ask(&sampler, &mut rng).map(drop), Err(OpenError::NoGradient));
    blind.ask(&RandomWalk::new(1.0).unwrap(), &mut rng).unwrap();
    blind.tell(0.0, &[]).unwrap();
    assert!(blind.ask_with(&sampler, &[0.5; 5], &mut rng).is_ok());

    // Lists of another length ask nobody and tell nobody.
    let mut both = [open(&count, start), open(&count, start)];
    let mut rngs = [LaneRng::stream(1, 0), LaneRng::stream(1, 1)];
    assert!(matches!(Open::ask_each(&mut both, &sampler, &[], &mut rngs[..1]), Err(OpenError::Count(_))));
    assert!(both.iter().all(|one| one.asked().is_none()));
    Open::ask_each(&mut both, &sampler, &[], &mut rngs).unwrap();
    let mut infos = [Info::default(); 2];
    let wrong = Open::tell_each(&mut both, &[0.0; 2], &[0.0; 9], &mut infos);
    assert_eq!(wrong, Err(OpenError::Gradient { need: 10, got: 9 }));
    assert!(both.iter().all(|one| one.asked().is_some()));
}

#[test]
fn what_changes_the_chain_cancels_a_proposal() {
    let count = Count { sites: 9, most: 5.0, weight: 0.5 };
    let zeros = [0];
    let layout = Function::layout(&count);
    let start = Packed::new(layout, &zeros).unwrap();
    let sampler = Langevin::adjusted(1.0).unwrap();
    let mask = [0b1_0000_0011];
    let mask = Packed::new(layout, &mask).unwrap();
    let (energy, gradient) = evaluate(&count, start);
    let cancel: [&dyn Fn(&mut HeapOpen<'_>); 4] = [
        &|chain| chain.restart(start, energy, &gradient).unwrap(),
        &|chain| chain.clamp(mask).unwrap(),
        &|chain| chain.release(),
        &|chain| {
            let (energy, gradient) = evaluate(&Count { weight: 0.2, ..count }, chain.state());
            chain.rebind(energy, &gradient).unwrap();
        },
    ];
    for cancel in cancel {
        let mut rng = LaneRng::seed_from_u64(2);
        let mut chain = open(&count, start);
        chain.ask(&sampler, &mut rng).unwrap();
        cancel(&mut chain);
        assert_eq!(chain.asked(), None);
        assert_eq!(chain.tell(0.0, &[0.0; 9]), Err(OpenError::NotAsked));
    }
    // What is refused leaves it.
    let mut chain = open(&count, start);
    chain.ask(&sampler, &mut LaneRng::seed_from_u64(2)).unwrap();
    assert!(
        chain.rebind(f32::NAN, &gradient).is_err() && chain.restart(start, f32::INFINITY, &gradient).is_err()
    );
    assert!(chain.asked().is_some());
    // A model that has changed: from there on the bits of a chain over the new one.
    let new = Count { weight: 0.2, ..count };
    let plain = Plain(new);
    let (mut told, mut own) = (open(&count, start), heap::chain(&plain, &zeros).unwrap());
    let (energy, gradient) = evaluate(&new, start);
    told.rebind(energy, &gradient).unwrap();
    let (mut rng, mut other) = (LaneRng::seed_from_u64(4), LaneRng::seed_from_u64(4));
    for _ in 0..50 {
        let y = told.ask(&sampler, &mut rng).unwrap();
        let (energy, gradient) = evaluate(&new, y);
        told.tell(energy, &gradient).unwrap();
        own.step(&sampler, &mut other);
        assert_eq!((told.state(), told.energy()), (own.state(), own.energy()));
    }
}

/// A gradient, curvatures and a noise are kept beside a proposal: nearly all that the length has room for.
#[test]
fn the_longest_snapshot_nearly_fills_its_length() {
    let mut couplings = Couplings::new(400, 1);
    let form = Ising::spins_edges_once(400, [(0, 1, 0.5)], &[], couplings.borrow()).unwrap();
    let (layout, mut d) = (form.layout(), [[0.0; LANES]; 25]);
    let noise = Edgewise::new(SparseMatrix::of(form.form()), &mut d).unwrap();
    let kernel = Langevin::second_order(noise, 2.0, 0.7).unwrap();
    let start = vec![0; layout.words()];
    let start = Packed::new(layout, &start).unwrap();
    let mut chain = Open::new(layout, None, memory(layout), start, 0.0, &[0.25; 400]).unwrap();
    chain.ask(&kernel, &mut LaneRng::seed_from_u64(1)).unwrap();
    let most = FRAME + open_snapshot_len(layout);
    let mut bytes = vec![0; most];
    let len = Writer::new(&mut bytes).put(&chain).finish().unwrap();
    assert!(len + 300 > most, "{len} of {most}");
}

#[test]
fn a_refused_snapshot_leaves_an_open_chain_as_it_was() {
    let tables = Tables::new(Kind::Categorical, &[3, 2, 3], 0.6, 11);
    let layout = Layout::categorical(3, 3);
    let own = Own(&tables);
    let function: &dyn Function = &own;
    let zeros = vec![0; layout.words()];
    let start = Packed::new(layout, &zeros).unwrap();
    let d = [[0.5; LANES]];
    let kernel = Langevin::second_order(Diagonal::new(&d).unwrap(), 2.0, 0.7).unwrap();
    let mut rng = LaneRng::seed_from_u64(6);
    let mut chain = open(function, start);
    chain.ask(&kernel, &mut rng).unwrap();
    let bytes_of = |chain: &HeapOpen<'_>| {
        let mut bytes = vec![0; FRAME + open_snapshot_len(layout)];
        let len = Writer::new(&mut bytes).put(chain).finish().unwrap();
        bytes.truncate(len);
        bytes
    };
    let whole = bytes_of(&chain);
    let mut other = open(function, start);
    other.ask(&GibbsWithGradients::new(2).unwrap(), &mut rng).unwrap();
    let before = bytes_of(&other);
    let (mut refused, mut taken) = (0, 0);
    for at in 12..whole.len() - 4 {
        // Also a value that a site does not have, of two or of three, with nothing past the last site.
        for flip in [0x01, 0x03, 0x08, 0x80, 0xFF] {
            let mut forged = whole.clone();
            forged[at] ^= flip;
            seal(&mut forged);
            let mut target = other.clone();
            let loaded = Reader::new(&forged).and_then(|mut reader| reader.get(&mut target).map(drop));
            if loaded.is_err() {
                refused += 1;
                assert_eq!(bytes_of(&target), before, "byte {at}");
            } else {
                taken += 1;
                // Whatever it is, it ends legally.
                let (energy, gradient) = evaluate(function, target.asked().unwrap_or(target.state()));
                _ = target.tell(energy, &gradient);
                assert!(target.state().values().zip([3, 2, 3]).all(|(value, arity)| value < arity));
            }
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} {taken}");
    let mut reader = Reader::new(&whole).unwrap();
    let count = Count { sites: 9, most: 5.0, weight: 0.5 };
    let zeros = [0];
    let mut binary = open(&count, Packed::new(Function::layout(&count), &zeros).unwrap());
    let other = SnapshotError::Layout { need: Function::layout(&count), got: layout };
    assert_eq!(reader.get(&mut binary).map(drop), Err(other));
}

/// A snapshot of a chain that asks nothing ends what another one asks.
#[test]
fn a_snapshot_at_rest_asks_nothing() {
    let count = Count { sites: 5, most: 3.0, weight: 0.5 };
    let zeros = [0];
    let start = Packed::new(Function::layout(&count), &zeros).unwrap();
    let sampler = GibbsWithGradients::new(1).unwrap();
    let mut rng = LaneRng::seed_from_u64(9);
    let chain = open(&count, start);
    let mut other = open(&count, start);
    other.ask(&sampler, &mut rng).unwrap();
    keep(&chain, &mut other);
    assert_eq!((other.asked(), other.state()), (None, start));
    assert_eq!(other.tell(0.0, &[0.0; 5]), Err(OpenError::NotAsked));
}

/// A step that failed when it was asked stays one over a stop: at a gradient that is NaN.
#[test]
fn a_snapshot_of_a_failed_half_is_told_as_a_fault() {
    let count = Count { sites: 5, most: 3.0, weight: 0.5 };
    let layout = Function::layout(&count);
    let zeros = [0];
    let start = Packed::new(layout, &zeros).unwrap();
    let sampler = GibbsWithGradients::new(1).unwrap();
    let mut rng = LaneRng::seed_from_u64(9);
    let mut chain = open(&count, start);
    let mut other = open(&count, start);
    chain.ask_with(&sampler, &[f32::NAN; 5], &mut rng).unwrap();
    other.ask(&sampler, &mut rng).unwrap();
    keep(&chain, &mut other);
    for chain in [&mut chain, &mut other] {
        assert_eq!(chain.asked(), Some(start), "nothing is proposed");
        let info = chain.tell(0.0, &[]).unwrap();
        assert!(info.fault && !info.accepted && info.proposed == 0);
        assert_eq!((chain.faults(), chain.steps(), chain.asked(), chain.state()), (1, 1, None, start));
    }
}

/// The energy of a chain is that of its state, however far apart energies were on the way.
#[test]
fn the_energy_is_that_of_the_state() {
    let layout = Layout::binary(20);
    let energy = |x: Packed<'_>| 12.3 + 0.37 * x.ones() as f32 + 1e6 * x.ones().saturating_sub(3) as f32;
    let gradient = |x: Packed<'_>| [0.37 + if x.ones() >= 3 { 1e6 } else { 0.0 }; 20];
    let words = [(1 << 10) - 1];
    let start = Packed::new(layout, &words).unwrap();
    let mut chain = Open::new(layout, None, memory(layout), start, energy(start), &gradient(start)).unwrap();
    let (walk, mut rng) = (RandomWalk::new(3.0).unwrap(), LaneRng::seed_from_u64(5));
    let mut far = 0;
    for _ in 0..200 {
        let y = chain.ask(&walk, &mut rng).unwrap();
        let (there, slopes) = (energy(y), gradient(y));
        let info = chain.tell(there, &slopes).unwrap();
        far += u32::from(info.accepted && info.difference < -1e5);
        assert!((chain.energy() - energy(chain.state())).abs() <= 4.0 * f32::EPSILON * chain.energy());
    }
    assert!(far > 1 && chain.energy() < 20.0);
}

/// The checksum of altered bytes, made right.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = !bytes[..end].iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(sum & 1)))
    });
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

/// A function whose whole gradient comes at once.
struct AtOnce<F>(F);

impl<F: Function> Function for AtOnce<F> {
    fn layout(&self) -> Layout {
        self.0.layout()
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        self.0.total(x)
    }
    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        panic!("asked site by site")
    }
    fn component(&self, _: Packed<'_>, _: usize, _: usize) -> f32 {
        panic!("asked value by value")
    }
    fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
        assert_eq!(out.len(), gradient_len(self.layout()));
        self.0.gradient_all(x, out);
    }
    fn arities(&self) -> Option<&[u16]> {
        self.0.arities()
    }
}

#[test]
fn a_function_may_give_its_gradient_at_once() {
    for (name, tables, layout, _) in functions().into_iter().filter(|(_, _, layout, _)| !layout.row_is_site()) {
        let (one, other) = (Plain(Own(&tables)), Plain(AtOnce(Own(&tables))));
        let zeros = vec![0; layout.words()];
        let mut chain = heap::chain(&one, &zeros).unwrap();
        let mut rng = LaneRng::seed_from_u64(8);
        let walk = RandomWalk::new(2.0).unwrap();
        for _ in 0..20 {
            chain.step(&walk, &mut rng);
            // Naively, slope by slope.
            let (found, also) = (heap::gradient(&other, chain.state()), heap::gradient(&one, chain.state()));
            assert_eq!(found, also, "{name}");
            for (row, blocks) in found.chunks(layout.row_blocks()).enumerate() {
                for (number, block) in blocks.iter().enumerate() {
                    for (lane, &slope) in block.iter().enumerate() {
                        let naive = layout.component(row, number, lane).map_or(0.0, |(site, value)| {
                            let x: Vec<usize> = chain.state().values().map(|value| value as usize).collect();
                            let has = value < usize::from(tables.arities[site]);
                            if has { tables.gradient(&x, site, value) as f32 } else { 0.0 }
                        });
                        assert_eq!(slope, naive, "{name}, row {row}, block {number}, lane {lane}");
                    }
                }
            }
        }
    }
}

/// With nothing past the last site, and a value of the layout: but not one of its own.
#[test]
fn a_snapshot_gives_a_site_no_value_that_it_has_not() {
    const ARITIES: [u32; 3] = [3, 2, 3];
    let tables = Tables::new(Kind::Categorical, &ARITIES.map(|arity| arity as u16), 0.6, 11);
    let layout = Layout::categorical(3, 3);
    let own = Own(&tables);
    let function: &dyn Function = &own;
    let start = used_start(function);
    let start = Packed::new(layout, &start).unwrap();
    let mut chain = open(function, start);
    let (mut refused, mut taken) = (0, 0);
    for asked in [false, true] {
        if asked {
            chain.ask(&RandomWalk::new(2.0).unwrap(), &mut LaneRng::seed_from_u64(7)).unwrap();
        }
        let mut whole = vec![0; FRAME + open_snapshot_len(layout)];
        let len = Writer::new(&mut whole).put(&chain).finish().unwrap();
        whole.truncate(len);
        for (at, flip) in
            (12..len - 4).flat_map(|at| [0x01, 0x02, 0x04, 0x08, 0x10, 0x20].map(|flip| (at, flip)))
        {
            let mut forged = whole.clone();
            forged[at] ^= flip;
            seal(&mut forged);
            let mut target = open(function, start);
            if Reader::new(&forged).and_then(|mut reader| reader.get(&mut target).map(drop)).is_err() {
                refused += 1;
                continue;
            }
            taken += 1;
            for state in [Some(target.state()), target.asked()].into_iter().flatten() {
                let legal = state.values().zip(ARITIES).all(|(value, arity)| value < arity);
                assert!(legal, "byte {at}, {flip:#x}, asked {asked}");
            }
        }
    }
    assert!(refused > 10 && taken > 10, "{refused} {taken}");
}
