//! Replica exchange on all cores: the same bits for any number of threads, and wherever the ladder stands.

use bitmc::energy::Tempered;
use bitmc::temper::{Ladder, Rung};
use bitmc::{Ising, LaneRng, Langevin, SparseMemory, torus};
use bitmc_examples::chains::{Moving, streams};
use bitmc_examples::tempering::{Member, Tempering};

const BETAS: [f32; 6] = [0.3, 0.36, 0.42, 0.48, 0.54, 0.6];
const ROUNDS: usize = 200;

/// The words, energy and gap of every replica, and the ladder.
type Seen = (Vec<(Vec<u32>, u32, u32)>, Ladder<Vec<Rung>>);

fn seen(members: &[Member<'_, Ising<'_>>], ladder: &Ladder<Vec<Rung>>) -> Seen {
    let see = |member: &Member<'_, Ising<'_>>| {
        let replica = member.replica();
        (replica.state().words().to_vec(), replica.energy().to_bits(), replica.gap().to_bits())
    };
    (members.iter().map(see).collect(), ladder.clone())
}

fn with_model<T>(run: impl FnOnce(&Ising<'_>) -> T) -> T {
    let mut couplings = SparseMemory::<64, 256>::new();
    run(&Ising::spins_edges_once(64, torus(8, 8, 1.0), &[], couplings.borrow()).unwrap())
}

fn kernels() -> [Langevin<'static>; 6] {
    [0.9, 0.8, 0.7, 0.6, 0.5, 0.4].map(|step_size| Langevin::adjusted(step_size).unwrap())
}

fn threaded(threads: usize) -> Seen {
    with_model(|model| {
        let path = Tempered::new(model, 1.0).unwrap();
        let kernels = kernels();
        let mut tempering = Tempering::new(path, (&BETAS, &kernels), 3, None, &mut streams(9)).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| tempering.advance(ROUNDS as u64));
        // Of the coldest rung alone: three transitions a round.
        assert_eq!(tempering.acceptance().steps, 3 * ROUNDS as u64);
        assert_eq!(
            tempering.state().words(),
            tempering.members()[tempering.ladder().coldest()].replica().state().words()
        );
        seen(tempering.members(), tempering.ladder())
    })
}

/// The same with nothing but its parts, one after another; `late` decides swaps by energies of the round before.
fn by_hand(late: bool) -> Seen {
    with_model(|model| {
        let path = Tempered::new(model, 1.0).unwrap();
        let kernels = kernels();
        let generators: Vec<LaneRng> = streams(9).take(7).collect();
        let member = |rng: &LaneRng| Member::new(path, None, rng.clone()).unwrap();
        let mut members: Vec<_> = generators[..6].iter().map(member).collect();
        let mut ladder = Ladder::new(vec![Rung::default(); 6], &BETAS).unwrap();
        let mut swaps = generators[6].clone();
        for _ in 0..ROUNDS {
            let before: Vec<f32> = members.iter().map(|member| member.replica().gap()).collect();
            for (rung, kernel) in ladder.rungs().iter().zip(&kernels) {
                members[rung.replica()].advance(rung.beta(), kernel, 3);
            }
            let gap = |index: usize| if late { before[index] } else { members[index].replica().gap() };
            ladder.exchange(gap, &mut swaps);
        }
        seen(&members, &ladder)
    })
}

#[test]
fn the_number_of_threads_does_not_show() {
    let one = threaded(1);
    assert!(one.1.round_trips() > 0 && one.1.rounds() == ROUNDS as u64, "{} trips", one.1.round_trips());
    for threads in [2, 3, 8] {
        assert!(threaded(threads) == one, "{threads} threads");
    }
    assert!(by_hand(false) == one, "the parts by hand");
    // Negative control: swaps that do not wait for the energies of the round.
    assert!(by_hand(true) != one, "the check cannot see stale energies");
}
