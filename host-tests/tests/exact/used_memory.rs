//! Every constructor that is given memory does the same in memory of zeros and in memory that was used before: all words
//! random, NaN among them. One row of the table for each.

use bitmc::batch::{Batch, BatchSite, PottsBatch, PottsSite};
use bitmc::chain::Memory;
use bitmc::energy::{Boltzmann, CoarseRbm, FactorsBuffers, SparseBuffers, Tempered};
use bitmc::flow::{DiagonalGaussian, Esh, Hmc, HmcChain, NoseHoover, Reservoir, StepSize, Unscaled};
use bitmc::lane::Block;
use bitmc::learn::{Adam, Contrast, Importance, Minibatch, Objective, PseudoLikelihood, RatioMatching, Replay};
use bitmc::noise::{
    Dense, DenseMatrix, Edgewise, MinTrace, Noise, Regression, Run, SparseMatrix, SparseRegression, constant,
    least_eigenvalue,
};
use bitmc::quantised::{Penalty, QuantisedGibbs, QuantisedIsing, QuantisedLangevin};
use bitmc::sliced::{SlicedChains, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::snapshot::Snapshot;
use bitmc::stats::{Best, Means, Observer};
use bitmc::step::{
    ChromaticGibbs, Colouring, EnumeratedGibbs, Gibbs, HammingBall, IsingBalanced, IsingLangevin, RandomWalk,
    SequentialGibbs, Swap,
};
use bitmc::temper::{Ladder, Replica, Rung};
use bitmc::tune::{CycleSettings, CycleTuner, Trial};
use bitmc::{
    BlockGibbs, Chain, Energy, Factor, Factors, GibbsWithGradients, Info, Ising, Kernel, Kind, LaneRng,
    Langevin, Layout, LocallyBalanced, Move, Packed, PathAuxiliary, Plain, Potts, SeedableRng,
};
use bitmc_host_tests::heap::{HeapMemory, Weights};
use bitmc_host_tests::learning::Lesson;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::polynomial::{self, Terms, Weights::Fine};
use bitmc_host_tests::sliced::graph;
use bitmc_host_tests::snapshot::save;
use bitmc_host_tests::used::{self, Content};

/// Where a row of the table gets its memory from.
struct Ground {
    used: bool,
}

impl Ground {
    fn get<T: Content + Default>(&self, len: usize) -> Vec<T> {
        if self.used { used::memory(len) } else { vec![T::default(); len] }
    }

    fn chain<E: Energy + ?Sized>(&self, energy: &E) -> HeapMemory {
        let layout = energy.layout();
        Memory {
            words: self.get(Memory::words(layout)),
            cache: self.get(Memory::cache(energy.cache_len())),
            weights: self.get(Memory::weights(layout)),
        }
    }
}

/// What a row of the table saw.
#[derive(Debug, Default, PartialEq)]
struct Seen(Vec<u32>);

impl Seen {
    fn words(&mut self, words: &[u32]) {
        self.0.extend(words);
    }

    fn floats(&mut self, floats: &[f32]) {
        self.0.extend(floats.iter().map(|float| float.to_bits()));
    }

    fn info(&mut self, info: &Info) {
        self.words(&[u32::from(info.accepted), info.proposed, u32::from(info.fault)]);
        self.floats(&[info.log_ratio, info.difference]);
    }

    fn kept(&mut self, it: &dyn Snapshot) {
        self.0.extend(save(&[it]).iter().map(|&byte| u32::from(byte)));
    }
}

/// Steps of a chain from a random state, after which it is moved, held and moved again.
fn chain<E: Energy + ?Sized, K: Kernel<E>>(ground: &Ground, energy: &E, kernel: &K, seen: &mut Seen) {
    let mut rng = LaneRng::seed_from_u64(5);
    let Ok(chain) = Chain::random(energy, ground.chain(energy), &mut rng) else { return seen.words(&[!0]) };
    let start = chain.state().words().to_vec();
    let start = Packed::new(energy.layout(), &start).unwrap();
    let mut random = chain;
    let mut given = Chain::new(energy, ground.chain(energy), start).unwrap();
    let held = vec![0x5555_5555 & Layout::binary(energy.layout().sites()).last_word(); 1];
    for (number, chain) in [&mut random, &mut given].into_iter().enumerate() {
        for step in 0..12 {
            if step == 8 && energy.layout().sites() <= 32 {
                chain.clamp(Packed::new(Layout::binary(energy.layout().sites()), &held).unwrap()).unwrap();
            }
            let info = chain.step(kernel, &mut rng);
            seen.info(&info);
            seen.words(chain.state().words());
            seen.floats(&[chain.energy()]);
        }
        seen.kept(chain);
        chain.restart(start).unwrap();
        seen.words(&[number as u32]);
        seen.info(&chain.step(kernel, &mut rng));
        seen.words(chain.state().words());
    }
}

/// Chains of every sampler that any energy has.
fn samplers<E: Energy + ?Sized>(ground: &Ground, energy: &E, seen: &mut Seen) {
    let layout = energy.layout();
    chain(ground, energy, &Langevin::adjusted(0.7).unwrap(), seen);
    chain(ground, energy, &Langevin::unadjusted(0.2).unwrap(), seen);
    chain(ground, energy, &Langevin::balanced(2.0, 0.8).unwrap().within(2), seen);
    chain(ground, energy, &Gibbs::systematic(), seen);
    chain(ground, energy, &RandomWalk::new(1.5).unwrap(), seen);
    chain(ground, energy, &Swap, seen);
    if !layout.many_values() {
        chain(ground, energy, &GibbsWithGradients::new(2).unwrap(), seen);
        chain(ground, energy, &PathAuxiliary::new(3).unwrap(), seen);
        chain(ground, energy, &LocallyBalanced, seen);
        chain(ground, energy, &EnumeratedGibbs::new(layout, 2).unwrap(), seen);
        chain(ground, energy, &HammingBall::new(layout, 3, 1).unwrap(), seen);
    }
}

/// Memory for couplings, and what is made of it.
fn with_ising(ground: &Ground, sites: usize, see: impl FnOnce(&Ising<'_>)) {
    let pairwise = models::pairwise(Convention::SpinsEdgesOnce, sites, 0.3, 0.3, 8);
    let edges = pairwise.edges.iter().copied();
    let (mut ends, mut linear) = (ground.get(sites + 2), ground.get(sites + 2));
    let mut entries = ground.get(2 * pairwise.edges.len() + 2);
    let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    see(&Ising::spins_edges_once(pairwise.fields.len(), edges, &pairwise.fields, borrowed).unwrap());
}

fn with_potts(ground: &Ground, sites: u32, arity: usize, see: impl FnOnce(&Potts<'_>)) {
    let sites_len = sites as usize;
    let (mut ends, mut linear) = (ground.get(sites_len), ground.get(sites_len));
    let mut entries = ground.get(2 * sites_len);
    let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let ring = (0..sites).map(|site| (site, (site + 1) % sites, 0.5));
    let fields: Vec<f32> = (0..sites_len * arity).map(|at| (at % 5) as f32 * 0.2).collect();
    see(&Potts::new(sites_len, arity, ring, &fields, borrowed).unwrap());
}

type Row = (&'static str, fn(&Ground, &mut Seen));

const TABLE: &[Row] = &[
    ("chains over Ising models", |ground, seen| {
        for sites in [3, 17, 40, 70] {
            with_ising(ground, sites, |model| {
                samplers(ground, model, seen);
                chain(ground, model, &IsingLangevin::adjusted(0.5).unwrap(), seen);
                chain(ground, model, &SequentialGibbs, seen);
                let mut classes = ground.get(Colouring::words(sites, sites));
                let colouring = Colouring::greedy(model.form(), &mut classes).unwrap();
                chain(ground, model, &ChromaticGibbs::new(colouring), seen);
                let mut numbers = ground.get(sites);
                colouring.numbers(&mut numbers).unwrap();
                seen.words(&numbers);
            });
        }
    }),
    ("chains over Potts models", |ground, seen| {
        for arity in [2, 3, 4, 5, 7, 20, 70] {
            with_potts(ground, 5, arity, |model| samplers(ground, model, seen));
        }
    }),
    ("chains over tables of several arities", |ground, seen| {
        for kind in [Kind::Categorical, Kind::Ordinal] {
            for arities in [&[2, 3, 5, 4][..], &[3, 3, 3], &[17, 5], &[80, 70]] {
                let tables = Tables::new(kind, arities, 0.5, 3);
                samplers(ground, &Plain(Own(&tables)), seen);
            }
        }
    }),
    ("factors", |ground, seen| {
        let tables = [0.0, 1.0, f32::NEG_INFINITY, 0.2, 0.1, 0.0, 0.3, 0.7];
        let factors = [Factor::one(0, 0), Factor::two(0, 1, 2)];
        let (mut ends, mut members) = (ground.get(4), ground.get(5));
        let borrowed = FactorsBuffers::new(&mut ends, &mut members);
        let model = Factors::new(&[2, 3], &factors, &tables, borrowed).unwrap();
        samplers(ground, &model, seen);
    }),
    ("polynomials", |ground, seen| {
        for spins in [false, true] {
            for sites in [3, 17, 40] {
                let shape = (sites, 2 * sites, 4);
                let terms = Terms::random(spins, shape, Fine, 0.5, &mut models::Source::new(4));
                let memory = terms.memory();
                let mut memory = polynomial::Memory {
                    sites: ground.get(memory.sites.len() + 1),
                    terms: ground.get(memory.terms.len() + 1),
                    members: ground.get(memory.members.len() + 1),
                };
                samplers(ground, &terms.model(memory.borrow()).unwrap(), seen);
            }
        }
    }),
    ("restricted Boltzmann machines", |ground, seen| {
        for (visible, hidden) in [(5, 3), (20, 17), (33, 40)] {
            let machine = models::machine(visible, hidden, 0.4, 2);
            let weights = Weights::new(&machine).unwrap();
            let model = weights.rbm().unwrap();
            samplers(ground, &model, seen);
            chain(ground, &model, &BlockGibbs, seen);
            let mut room = ground.get(CoarseRbm::room_len(visible, hidden));
            samplers(ground, &CoarseRbm::new(model, &mut room).unwrap(), seen);
        }
    }),
    ("a Boltzmann machine", |ground, seen| {
        let mut theta = vec![[0.0; 16]; Boltzmann::parameter_len(19)];
        theta.as_flattened_mut().iter_mut().enumerate().for_each(|(at, slot)| *slot = (at % 7) as f32 * 0.05);
        let mut memory = ground.get(Boltzmann::memory_len(19) + 1);
        samplers(ground, &Boltzmann::spins(&theta, 19, &mut memory).unwrap(), seen);
    }),
    ("replicas and a ladder", |ground, seen| {
        with_potts(ground, 5, 3, |model| {
            let path = Tempered::from_base(model, &[0.25; 15], 0.5).unwrap();
            let (mut rng, kernel) = (LaneRng::seed_from_u64(4), Langevin::adjusted(0.6).unwrap());
            let mut replica = || Replica::random(path, ground.chain(&path), &mut rng).unwrap();
            let mut replicas = [replica(), replica(), replica()];
            let start = replicas[0].state().words().to_vec();
            let start = Packed::new(model.layout(), &start).unwrap();
            replicas[2] = Replica::new(path, ground.chain(&path), start).unwrap();
            let mut rungs: Vec<Rung> = ground.get(3);
            let mut ladder = Ladder::new(rungs.as_mut_slice(), &[0.2, 0.6, 1.0]).unwrap();
            for _ in 0..20 {
                bitmc::temper::round(&mut ladder, &mut replicas, &[kernel; 3], 2, &mut rng);
            }
            replicas.iter().for_each(|replica| seen.kept(replica));
            seen.kept(&ladder);
            let kept = replicas[1].kept();
            let state = replicas[1].state().words().to_vec();
            let state = Packed::new(model.layout(), &state).unwrap();
            let mut resumed = Replica::resume(path, ground.chain(&path), state, kept).unwrap();
            (0..5).for_each(|_| seen.info(&resumed.step(&kernel, &mut rng)));
            let weight = bitmc::temper::forward(&mut resumed, [0.3, 0.7, 1.0], 2, |_| kernel, &mut rng);
            seen.floats(&[weight.unwrap()]);
        });
    }),
    ("batches", |ground, seen| {
        with_ising(ground, 21, |model| {
            let (mut rng, adjusted) = (LaneRng::seed_from_u64(3), Langevin::adjusted(0.5).unwrap());
            let mut sites = vec![BatchSite::new(); 21];
            if ground.used {
                // Whatever another batch leaves.
                let mut other = Batch::random(model, sites, &mut LaneRng::seed_from_u64(9)).unwrap();
                other.clamp(Packed::new(model.layout(), &[0x15_5555]).unwrap()).unwrap();
                (0..3).for_each(|_| _ = other.step(&IsingLangevin::adjusted(0.3).unwrap(), &mut rng.clone()));
                sites = other.into_memory();
            }
            let mut batch = Batch::random(model, sites.clone(), &mut rng).unwrap();
            let start = Packed::new(model.layout(), &[0x0F_0F0F]).unwrap();
            let mut given = Batch::new(model, sites, start).unwrap();
            for batch in [&mut batch, &mut given] {
                for _ in 0..6 {
                    let infos = [
                        batch.step(&adjusted, &mut rng),
                        batch.step(&IsingLangevin::adjusted(0.5).unwrap(), &mut rng),
                        batch.step(&SequentialGibbs, &mut rng),
                    ];
                    infos.iter().for_each(|info| (0..16).for_each(|chain| seen.info(&info.of(chain).unwrap())));
                }
                seen.kept(batch);
            }
        });
    }),
    ("batches of Potts chains", |ground, seen| {
        with_potts(ground, 5, 3, |model| {
            let (mut rng, adjusted) = (LaneRng::seed_from_u64(3), Langevin::adjusted(0.5).unwrap());
            let mut sites = vec![PottsSite::<3>::new(); 5];
            if ground.used {
                let mut other = PottsBatch::random(model, sites, &mut LaneRng::seed_from_u64(9)).unwrap();
                other.clamp(Packed::new(Layout::binary(5), &[0x15]).unwrap()).unwrap();
                (0..3).for_each(|_| _ = other.step(&adjusted, &mut rng.clone()));
                sites = other.into_memory();
            }
            let mut batch = PottsBatch::random(model, sites.clone(), &mut rng).unwrap();
            let start = Packed::new(model.layout(), &[0x16]).unwrap();
            let mut given = PottsBatch::new(model, sites, start).unwrap();
            for batch in [&mut batch, &mut given] {
                for _ in 0..6 {
                    let infos = [batch.step(&adjusted, &mut rng), batch.step(&Gibbs::systematic(), &mut rng)];
                    infos.iter().for_each(|info| (0..16).for_each(|chain| seen.info(&info.of(chain).unwrap())));
                }
                seen.kept(batch);
            }
        });
    }),
    ("sliced chains", |ground, seen| {
        let (pairwise, sites) = (graph(7, 0.4, 0.3, false, 1), 7);
        let (mut ends, mut linear) = (ground.get(sites), ground.get(sites));
        let mut entries = ground.get(2 * pairwise.edges.len());
        let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let model = Ising::spins_edges_once(
            pairwise.fields.len(),
            pairwise.edges.iter().copied(),
            &pairwise.fields,
            borrowed,
        )
        .unwrap();
        let model = SlicedIsing::new(model).unwrap();
        let mut rng = LaneRng::seed_from_u64(2);
        let mut blocks = ground.get(sites + 1);
        let mut table = ground.get(SlicedGibbs::words(&model));
        let chains = SlicedChains::random(model, &mut blocks, &mut rng).unwrap();
        let mut gibbs = SlicedGibbs::new(chains, &mut table).unwrap();
        (0..5).for_each(|_| gibbs.sweep(&mut rng));
        let mut table = ground.get(SlicedLangevin::words(&model));
        let mut room = ground.get(SlicedLangevin::blocks(&model));
        let mut langevin = SlicedLangevin::adjusted(gibbs.into_chains(), 0.5, &mut table, &mut room).unwrap();
        (0..5).for_each(|_| seen.words(&langevin.step(&mut rng)));
        let mut table = ground.get(SlicedLangevin::words(&model));
        let mut room = ground.get(SlicedLangevin::blocks(&model));
        let chains = langevin.into_chains();
        let mut langevin = SlicedLangevin::unadjusted(chains, 0.5, &mut table, &mut room).unwrap();
        (0..5).for_each(|_| seen.words(&langevin.step(&mut rng)));
        let mut words = ground.get(3);
        seen.words(langevin.chains().state(77, &mut words).unwrap().words());
        seen.kept(&langevin);
    }),
    ("chains without floats", |ground, seen| {
        with_ising(ground, 40, |model| {
            let form = model.form();
            let (mut ends, mut linear) = (ground.get(40), ground.get(41));
            let mut entries = ground.get(form.entries().len());
            let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
            let model = QuantisedIsing::round(form, borrowed).unwrap();
            let (mut words, mut fields, mut rng) =
                ([0x1234_5678, 0x9A], ground.get(40), LaneRng::seed_from_u64(2));
            let mut gibbs = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
            (0..5).for_each(|_| seen.words(&[gibbs.sweep(&mut rng)]));
            seen.kept(&gibbs);
            let (mut fields, mut flips) = (ground.get(42), ground.get(3));
            let penalty = Penalty::from_step_size(0.5).unwrap();
            let mut langevin =
                QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips).unwrap();
            for _ in 0..20 {
                let info = langevin.step(&mut rng);
                seen.words(&[u32::from(info.accepted), info.proposed]);
            }
            seen.kept(&langevin);
        });
    }),
    ("noise", |ground, seen| {
        with_ising(ground, 21, |model| {
            let matrix = SparseMatrix::of(model.form());
            fn second<N: Noise>(ground: &Ground, model: &Ising<'_>, noise: N, seen: &mut Seen) {
                seen.floats(&noise.d().unwrap().as_flattened()[..21]);
                chain(ground, model, &Langevin::second_order(noise, 2.0, 0.8).unwrap(), seen);
            }
            let mut d = ground.get(2);
            let noise = Edgewise::new(matrix, &mut d).unwrap();
            second(ground, model, noise, seen);
            chain(ground, model, &IsingBalanced::new(noise, 2.0, 0.8).unwrap(), seen);
            let mut runs: Vec<Run> = ground.get(Edgewise::runs(matrix));
            second(ground, model, noise.by_runs(&mut runs).unwrap(), seen);

            let mut rows = ground.get(DenseMatrix::blocks(21));
            let dense = DenseMatrix::of(&matrix, &mut rows).unwrap();
            let (mut d, mut scratch, mut root) =
                (ground.get(2), ground.get(6), ground.get(Dense::root_blocks(21)));
            seen.floats(&[least_eigenvalue(&matrix, &[], &mut scratch).unwrap().value]);
            used::fill(&mut scratch);
            seen.floats(&[constant(&dense, 1e-3, &mut d, &mut scratch).unwrap()]);
            second(ground, model, Dense::new(dense, &mut d, &mut root).unwrap(), seen);

            let (mut d, mut vectors) = (ground.get(2), ground.get(MinTrace::blocks(21)));
            let solved = MinTrace::new(1e-3, 100).solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
            seen.floats(&[solved.trace, solved.bound, solved.least.value, solved.least.residual]);
            seen.words(&[solved.sweeps]);
            let mut root = ground.get(Dense::root_blocks(21));
            second(ground, model, Dense::new(dense, &mut d, &mut root).unwrap(), seen);

            // A D of the caller's own: what is past the last site is not looked at.
            let mut d: Vec<Block> = ground.get(2);
            d.as_flattened_mut()[..21].fill(20.0);
            let mut root = ground.get(Dense::root_blocks(21));
            second(ground, model, Dense::new(dense, &mut d, &mut root).unwrap(), seen);
        });
    }),
    ("regressions", |ground, seen| {
        with_ising(ground, 21, |model| {
            let (mut full, mut sparse) =
                (ground.get(Regression::blocks(21)), ground.get(SparseRegression::blocks(model.form())));
            let mut full = Regression::new(21, &mut full).unwrap();
            let mut sparse = SparseRegression::new(model.form(), &mut sparse).unwrap();
            let mut rng = LaneRng::seed_from_u64(6);
            let mut chain = Chain::random(model, ground.chain(model), &mut rng).unwrap();
            for _ in 0..50 {
                let before = chain.state().words().to_vec();
                chain.step(&Langevin::adjusted(0.7).unwrap(), &mut rng);
                let step = Move::new(Packed::new(model.layout(), &before).unwrap(), chain.state()).unwrap();
                let gradient = |x: Packed<'_>| {
                    let (mut cache, mut out) = (ground.get(Ising::cache_len(21)), ground.get(2));
                    model.init(x, &mut cache).unwrap();
                    model.gradient(x, &cache, 0..2, &mut out);
                    out
                };
                let gradients = [gradient(Packed::new(model.layout(), &before).unwrap()), gradient(step.to())];
                full.push(&step, &gradients[0], &gradients[1]).unwrap();
                sparse.push(&step, &gradients[0], &gradients[1]).unwrap();
            }
            let size = DenseMatrix::blocks(21);
            let (mut rows, mut scratch) = (ground.get(size), ground.get(3 * size));
            seen.floats(&[full.solve(1e-3, 30, &mut rows, &mut scratch).unwrap().residual]);
            seen.floats(rows.as_flattened());
            let size = SparseRegression::w_blocks(model.form());
            let (mut w, mut scratch) = (ground.get(size), ground.get(3 * size));
            seen.floats(&[sparse.solve(1e-3, 30, &mut w, &mut scratch).unwrap().residual]);
            seen.floats(w.as_flattened());
            seen.kept(&full);
            seen.kept(&sparse);
        });
    }),
    ("learners", |ground, seen| {
        let lessons = [
            Lesson::rbm(20, 17, 0.5, 2),
            Lesson::sparse_ising(17, true, 0.5, 4),
            Lesson::sparse_potts(18, 3, 0.7, 6),
            Lesson::perceptron(&[20, 17, 9], 0.4, 2),
            Lesson::boltzmann(17, true, 0.3, 1),
            Lesson::own(17, true, 0.3, 1, false),
        ];
        fn batch(ground: &Ground, lesson: &Lesson, objective: &impl Objective, seen: &mut Seen) {
            let mut source = models::Source::new(6);
            lesson.with(&lesson.theta, |model| {
                let (mut gradient, mut rng) = (ground.get(lesson.blocks), LaneRng::seed_from_u64(1));
                let mut batch = Minibatch::new(model, &mut gradient).unwrap();
                for _ in 0..3 {
                    let words = lesson.pack(&lesson.state(&mut source));
                    let x = Packed::new(lesson.layout, &words).unwrap();
                    batch.add(objective, model, x, &mut ground.chain(model), &mut rng).unwrap();
                }
                seen.floats(&[batch.finish().loss]);
                seen.floats(gradient.as_flattened());
            });
        }
        for lesson in &lessons {
            batch(ground, lesson, &PseudoLikelihood, seen);
            if lesson.layout.arity() == 2 {
                batch(ground, lesson, &RatioMatching::SIGMOID, seen);
                batch(ground, lesson, &RatioMatching::RATIO, seen);
                batch(ground, lesson, &Importance::ratio_matching(5).unwrap(), seen);
                batch(ground, lesson, &Importance::uniform(5).unwrap(), seen);
            }
            lesson.with(&lesson.theta, |model| {
                let mut rng = LaneRng::seed_from_u64(1);
                // A buffer of zeros, which are states, made random; then words that were used before are none.
                let mut states = vec![0; 4 * lesson.layout.words()];
                let mut replay = Replay::new(lesson.layout, &mut states).unwrap();
                replay.randomise(&mut rng);
                let (mut gradient, kernel) = (ground.get(lesson.blocks), Langevin::adjusted(0.5).unwrap());
                let mut contrast = Contrast::new(model, 4, 4, &mut gradient).unwrap();
                for index in 0..4 {
                    let words = replay.state(index).words().to_vec();
                    let x = Packed::new(lesson.layout, &words).unwrap();
                    contrast.data(model, x, &mut ground.chain(model)).unwrap();
                    let (memory, kernel) = (&mut ground.chain(model), (&kernel, 3));
                    contrast.persist(model, (&mut replay, index), kernel, memory, &mut rng).unwrap();
                    let memory = &mut ground.chain(model);
                    contrast.diverge(model, x, kernel, memory, &mut rng).unwrap();
                }
                seen.floats(&[contrast.finish().loss]);
                seen.floats(gradient.as_flattened());
                seen.kept(&replay);
                let mut moments = ground.get(2 * lesson.blocks);
                let mut adam = Adam::new(&mut moments, 0.01).unwrap();
                let mut theta = lesson.blocks_of(&lesson.theta);
                (0..3).for_each(|_| adam.step(&gradient, &mut theta));
                seen.floats(theta.as_flattened());
                seen.kept(&adam);
            });
        }
    }),
    ("statistics and tuners", |ground, seen| {
        with_ising(ground, 40, |model| {
            let mut rng = LaneRng::seed_from_u64(1);
            let (mut means, mut best) = (Means::new(ground.get(40)), Best::new(ground.get::<u32>(2)));
            seen.kept(&means);
            seen.kept(&best);
            let settings = CycleSettings { steps: 8, rounds: 3, ..CycleSettings::default() };
            let mut tuner = CycleTuner::new(ground.get::<Trial>(5), settings).unwrap();
            let mut chain = Chain::random(model, ground.chain(model), &mut rng).unwrap();
            while let Some(kernel) = tuner.kernel() {
                let info = chain.step(&kernel, &mut rng);
                tuner.observe(&info);
                means.observe(chain.state(), chain.energy(), &info);
                best.observe(chain.state(), chain.energy(), &info);
            }
            seen.kept(&means);
            seen.kept(&best);
            seen.kept(&tuner);
        });
    }),
    ("samplers over reals", |ground, seen| {
        let model = DiagonalGaussian::new(20, &[[0.0; 16]; 2], &[[1.5; 16]; 2]).unwrap();
        let (size, mut rng) = (StepSize::new(0.2).unwrap(), LaneRng::seed_from_u64(1));
        let mut esh = Esh::random(&model, ground.get::<Block>(7), &[0.5; 20], &mut rng).unwrap();
        let mut kept = Reservoir::new(ground.get::<Block>(2));
        for _ in 0..10 {
            let leap = esh.step(size);
            kept.offer(esh.position_blocks(), leap.log_time, &mut rng);
        }
        seen.floats(esh.position());
        seen.kept(&kept);
        let mut hmc = HmcChain::new(&model, ground.get::<Block>(10), &[0.5; 20]).unwrap();
        (0..10).for_each(|_| _ = hmc.step(&Hmc::new(size, 2).unwrap(), &mut rng));
        let mut nose = NoseHoover::new(&model, ground.get::<Block>(6), &[0.5; 20], 20.0, &mut rng).unwrap();
        (0..10).for_each(|_| _ = nose.step(size));
        let mut plain = Unscaled::new(&model, ground.get::<Block>(6), &[0.5; 20], &[1.0; 20]).unwrap();
        (0..10).for_each(|_| _ = plain.step(StepSize::new(1e-3).unwrap()));
        [hmc.position(), nose.position(), plain.position()].into_iter().for_each(|x| seen.floats(x));
    }),
];

#[test]
fn memory_may_hold_anything() {
    let different = |(name, row): &&Row| {
        let see = |used| {
            let mut seen = Seen::default();
            row(&Ground { used }, &mut seen);
            seen
        };
        let (zeros, used) = (see(false), see(true));
        assert!(zeros.0.len() > 100, "{name} shows little");
        zeros != used
    };
    let different: Vec<_> = TABLE.iter().filter(different).map(|row| row.0).collect();
    assert!(different.is_empty(), "these are others in used memory: {different:?}");
}

/// A buffer that is taken over as it is says so: it is read, and what is no state is refused.
#[test]
fn what_is_taken_over_is_checked() {
    let layout = Layout::binary(40);
    let mut words = used::memory(8);
    assert!(Replay::new(layout, &mut words).is_err());
    words.iter_mut().skip(1).step_by(2).for_each(|word| *word &= 0xFF);
    let before = words.clone();
    assert_eq!(Replay::new(layout, &mut words).unwrap().words(), before);
    let mut moments: Vec<Block> = used::memory(4);
    assert!(Adam::resume(&mut moments, (0.9, 0.99), 0.1).is_err());
}
