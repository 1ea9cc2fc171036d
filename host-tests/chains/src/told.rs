//! Chains that are told their energies, from the functions of chains that have them: the same hashes. A snapshot is taken
//! between the halves of some steps.

use crate::hash::Hash;
use crate::models::{self, Circle, IndependentSet, Ladder};
use crate::run::{BROKEN, Sampler, end};
use crate::used::{fill, memory, open_memory};
use bitmc::chain::momentum_snapshot_len;
use bitmc::lane::{Bits, Block};
use bitmc::open::{Ask, gradient_len, open_snapshot_len};
use bitmc::snapshot::{Reader, SnapshotError, Writer};
use bitmc::{Chain, Function, LaneRng, Layout, Memory, Open, OpenError, Packed, Plain, SeedableRng};

/// The chain of `run::ladder`.
#[inline(never)] // stacks are small: no frame holds that of another chain
pub(crate) fn ladder<K: Ask>(kernel: &Sampler<K>) -> u32 {
    const L: Layout = models::LADDER;
    let mut rng = LaneRng::seed_from_u64(1);
    let words = ladder_start(&mut rng);
    let Ok(start) = Packed::new(L, &words) else { return BROKEN };
    let run = Run { function: &Ladder, start, rng, steps: crate::run::DENSE_STEPS };
    run.hash(
        kernel,
        open_memory!(L, momentum).borrow(),
        [&mut [0.0; gradient_len(L)], &mut [0.0; gradient_len(L)]],
    )
}

/// The chain of `run::independent_set`.
pub(crate) fn independent_set<K: Ask>(kernel: &Sampler<K>) -> u32 {
    const L: Layout = Layout::binary(40);
    let Ok(start) = Packed::new(L, &[0; L.words()]) else { return BROKEN };
    let (rng, steps) = (LaneRng::seed_from_u64(2), crate::run::STEPS);
    let run = Run { function: &IndependentSet, start, rng, steps };
    run.hash(kernel, open_memory!(L).borrow(), [&mut [0.0; gradient_len(L)], &mut [0.0; gradient_len(L)]])
}

/// The random start of a chain that evaluates for itself; no state where there is none.
macro_rules! start {
    ($name:ident, $function:expr, $layout:expr) => {
        #[inline(never)]
        fn $name(rng: &mut LaneRng) -> [u32; $layout.words()] {
            let mut words = [u32::MAX; $layout.words()];
            if let Ok(chain) = Chain::random(&Plain($function), memory!($layout, 1), rng) {
                words.iter_mut().zip(chain.state().words()).for_each(|(word, &drawn)| *word = drawn);
            }
            words
        }
    };
}
start!(ladder_start, Ladder, models::LADDER);
start!(circle_start, Circle, models::CIRCLE);

/// The chain of `run::circle`: the gradient at the state is told again at every step.
#[inline(never)]
pub(crate) fn circle<K: Ask>(kernel: &Sampler<K>) -> u32 {
    const L: Layout = models::CIRCLE;
    let mut rng = LaneRng::seed_from_u64(1);
    let words = circle_start(&mut rng);
    let Ok(start) = Packed::new(L, &words) else { return BROKEN };
    let run = Run { function: &Circle, start, rng, steps: crate::run::MANY_STEPS };
    run.hash(kernel, open_memory!(L).borrow(), [&mut [0.0; gradient_len(L)], &mut [0.0; gradient_len(L)]])
}

/// Nothing here but the kernel is generic: the 256 KB of the smallest board hold one copy for each.
struct Run<'f> {
    function: &'f dyn Function,
    start: Packed<'f>,
    rng: LaneRng,
    steps: u32,
}

type Buffers<'m> = Memory<&'m mut [u32], &'m mut [Bits], &'m mut [Block]>;
type Told<'m> = Open<'m, &'m mut [u32], &'m mut [Bits], &'m mut [Block]>;

impl Run<'_> {
    #[inline(never)]
    fn hash<K: Ask>(self, kernel: &Sampler<K>, memory: Buffers<'_>, gradients: [&mut [f32]; 2]) -> u32 {
        let mut hash = Hash::new();
        let Ok(kernel) = kernel else { return BROKEN };
        match self.walk(&mut hash, kernel, memory, gradients) {
            Ok(()) => hash.value(),
            Err(_) => BROKEN,
        }
    }

    fn walk<K: Ask>(
        mut self,
        hash: &mut Hash,
        kernel: &K,
        memory: Buffers<'_>,
        [mut here, mut there]: [&mut [f32]; 2],
    ) -> Result<(), OpenError> {
        let row_is_site = self.function.layout().row_is_site();
        let mut chain = self.begin(memory, here)?;
        for step in 0..self.steps {
            let gradient: &[f32] = if row_is_site { here } else { &[] };
            chain.ask_with(kernel, gradient, &mut self.rng)?;
            if step % 16 == 3 {
                chain = self.moved(hash, chain, there)?;
            }
            let Some(y) = chain.asked() else { return Err(OpenError::NotAsked) };
            let energy = self.function.total(y);
            self.function.gradient_all(y, there);
            let info = chain.tell(energy, there)?;
            if info.accepted {
                core::mem::swap(&mut here, &mut there);
            }
            hash.words(chain.state().words());
            hash.float(chain.energy());
            hash.info(&info);
        }
        end(hash, &Plain(self.function), chain.state());
        Ok(())
    }

    /// A chain at the start.
    fn begin<'m>(&self, memory: Buffers<'m>, gradient: &mut [f32]) -> Result<Told<'m>, OpenError> {
        let Self { function, start, .. } = *self;
        function.gradient_all(start, gradient);
        Open::new(function.layout(), None, memory, start, function.total(start), gradient)
    }

    /// A chain goes to bytes, and another comes back from them: its memory is overwritten in between.
    #[inline(never)]
    fn moved<'m>(&self, hash: &mut Hash, chain: Told<'m>, gradient: &mut [f32]) -> Result<Told<'m>, OpenError> {
        const ROOM: usize =
            16 + open_snapshot_len(models::LADDER) + momentum_snapshot_len(models::LADDER.blocks());
        let mut bytes = [0; ROOM];
        let written = Writer::new(&mut bytes).put(&chain).finish();
        let memory = chain.into_memory();
        fill(memory.words);
        fill(memory.weights);
        let mut chain = self.begin(memory, gradient)?;
        if written.is_err() || read(&bytes, &mut chain).is_err() {
            hash.word(0);
        }
        Ok(chain)
    }
}

fn read(bytes: &[u8], chain: &mut Told<'_>) -> Result<(), SnapshotError> {
    let mut reader = Reader::new(bytes)?;
    reader.get(chain)?;
    reader.finish()
}
