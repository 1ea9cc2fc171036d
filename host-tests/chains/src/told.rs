//! Chains that are told their energies, from the functions of chains that have them: the same hashes. A snapshot is taken
//! between the halves of some steps.

use crate::hash::Hash;
use crate::models::{self, Circle, IndependentSet, Ladder};
use crate::run::{BROKEN, Sampler, end};
use crate::used::{memory, open_memory};
use bitmc::chain::{Ask, gradient_len, open_snapshot_len};
use bitmc::lane::{Bits, Block};
use bitmc::snapshot::{Reader, SnapshotError, Writer};
use bitmc::{Chain, Function, LaneRng, Layout, Memory, Open, OpenError, Packed, Plain, SeedableRng};

const BITS: Layout = Layout::binary(40);

/// The chain of `run::ladder`.
pub(crate) fn ladder<K: Ask>(kernel: &Sampler<K>) -> u32 {
    const L: Layout = models::LADDER;
    let mut rng = LaneRng::seed_from_u64(1);
    let Ok(start) = Chain::random(&Plain(Ladder), memory!(L, 1), &mut rng) else { return BROKEN };
    let run = Run { function: &Ladder, rng, steps: crate::run::DENSE_STEPS };
    run.hash::<_, _, _, { gradient_len(L) }>(kernel, start.state(), [open_memory!(L), open_memory!(L)])
}

/// The chain of `run::independent_set`.
pub(crate) fn independent_set<K: Ask>(kernel: &Sampler<K>) -> u32 {
    let Ok(start) = Packed::new(BITS, &[0; BITS.words()]) else { return BROKEN };
    let run = Run { function: &IndependentSet, rng: LaneRng::seed_from_u64(2), steps: crate::run::STEPS };
    run.hash::<_, _, _, { gradient_len(BITS) }>(kernel, start, [open_memory!(BITS), open_memory!(BITS)])
}

/// The chain of `run::circle`: the gradient at the state is told again at every step.
pub(crate) fn circle<K: Ask>(kernel: &Sampler<K>) -> u32 {
    const L: Layout = models::CIRCLE;
    let mut rng = LaneRng::seed_from_u64(1);
    let Ok(start) = Chain::random(&Plain(Circle), memory!(L, 1), &mut rng) else { return BROKEN };
    let run = Run { function: &Circle, rng, steps: crate::run::MANY_STEPS };
    run.hash::<_, _, _, { gradient_len(L) }>(kernel, start.state(), [open_memory!(L), open_memory!(L)])
}

struct Run<'f, F> {
    function: &'f F,
    rng: LaneRng,
    steps: u32,
}

impl<F: Function> Run<'_, F> {
    fn hash<K: Ask, W, B, const N: usize>(
        self,
        kernel: &Sampler<K>,
        start: Packed<'_>,
        memories: [Memory<W, [Bits; 0], B>; 2],
    ) -> u32
    where
        W: AsMut<[u32]> + AsRef<[u32]>,
        B: AsMut<[Block]> + AsRef<[Block]>,
    {
        let mut hash = Hash::new();
        let Ok(kernel) = kernel else { return BROKEN };
        match self.walk::<_, _, _, N>(&mut hash, kernel, start, memories) {
            Ok(()) => hash.value(),
            Err(_) => BROKEN,
        }
    }

    fn walk<K: Ask, W, B, const N: usize>(
        self,
        hash: &mut Hash,
        kernel: &K,
        start: Packed<'_>,
        [memory, other]: [Memory<W, [Bits; 0], B>; 2],
    ) -> Result<(), OpenError>
    where
        W: AsMut<[u32]> + AsRef<[u32]>,
        B: AsMut<[Block]> + AsRef<[Block]>,
    {
        let Self { function, mut rng, steps } = self;
        let layout = function.layout();
        let (mut here, mut there) = ([0.0; N], [0.0; N]);
        function.gradient_all(start, &mut here);
        let energy = function.total(start);
        let mut chain = Open::new(layout, function.arities(), memory, start, energy, &here)?;
        let mut second = Open::new(layout, function.arities(), other, start, energy, &here)?;
        for step in 0..steps {
            let gradient: &[f32] = if layout.row_is_site() { &here } else { &[] };
            let y = chain.ask_with(kernel, gradient, &mut rng)?;
            let energy = function.total(y);
            function.gradient_all(y, &mut there);
            if step % 16 == 3 {
                // It goes on in other memory.
                if kept(&chain, &mut second).is_err() {
                    hash.word(0);
                }
                core::mem::swap(&mut chain, &mut second);
            }
            let info = chain.tell(energy, &there)?;
            if info.accepted {
                here = there;
            }
            hash.words(chain.state().words());
            hash.float(chain.energy());
            hash.info(&info);
        }
        end(hash, &Plain(function), chain.state());
        Ok(())
    }
}

/// A chain goes to bytes, and another comes back from them.
#[inline(never)]
fn kept<W, B>(
    chain: &Open<'_, W, [Bits; 0], B>,
    other: &mut Open<'_, W, [Bits; 0], B>,
) -> Result<(), SnapshotError>
where
    W: AsMut<[u32]> + AsRef<[u32]>,
    B: AsMut<[Block]> + AsRef<[Block]>,
{
    const ROOM: usize = 16 + open_snapshot_len(models::LADDER);
    let mut bytes = [0; ROOM];
    Writer::new(&mut bytes).put(chain).finish()?;
    let mut reader = Reader::new(&bytes)?;
    reader.get(other)?;
    reader.finish()
}
