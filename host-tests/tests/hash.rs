//! One hash (L0.8): every chain of `bitmc-chains` has its committed hash on this processor and build.

use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::IsingBalanced;
use bitmc::{Ising, LaneRng, SeedableRng, torus};
use bitmc_chains::hash::Hash;
use bitmc_chains::{CHAINS, Chain, total};
use bitmc_host_tests::heap::{self, Couplings};

#[test]
fn every_chain_has_its_committed_hash() {
    let got: Vec<u32> = CHAINS.iter().map(|chain| (chain.run)()).collect();
    let wrong: Vec<_> = CHAINS.iter().zip(&got).filter(|(chain, got)| chain.hash != **got).collect();
    for (chain, got) in &wrong {
        // To be pasted into the line of `CHAINS` with this name.
        println!("name: \"{}\" … hash: 0x{got:08x} }},", chain.name);
    }
    assert!(wrong.is_empty(), "{} of {} chains differ; total {:08x}", wrong.len(), CHAINS.len(), total());
}

/// Two chains with one hash would be one chain listed twice, or one that ignores its sampler; 0 is what a
/// chain returns that could not be built. A chain that is told its energies has the hash of the one that has them.
#[test]
fn the_committed_hashes_differ_and_none_is_zero() {
    let (told, others): (Vec<&Chain>, Vec<&Chain>) =
        CHAINS.iter().partition(|chain| chain.name.contains(", told:"));
    let hashes: std::collections::BTreeSet<u32> = others.iter().map(|chain| chain.hash).collect();
    assert_eq!(hashes.len(), others.len());
    assert!(!hashes.contains(&0));
    assert!(told.len() > 6);
    for chain in told {
        let name = chain.name.replace(", told:", ":");
        let own = others.iter().find(|own| own.name == name).expect("a chain that has its energies");
        assert_eq!(chain.hash, own.hash, "{}", chain.name);
    }
}

/// Models larger than those of the list, which the smallest board has room for: the one of the firmware's image `edges`,
/// with that image's hash (the second one: over whole numbers), and one whose rows of sites are shorter than a block and end within one.
#[test]
fn edges_taken_by_runs_have_their_hash() {
    for (rows, columns, committed) in
        [(16, 16, [0x3518_da3f, 0xfc8a_a9b8]), (12, 11, [0xf45e_294d, 0x3172_c8eb])]
    {
        let sites = (rows * columns) as usize;
        let mut memory = Couplings::new(sites, 2 * sites);
        let fields = vec![0.0; sites];
        let model =
            Ising::spins_edges_once(fields.len(), torus(rows, columns, 0.4407), &fields, memory.borrow())
                .unwrap();
        let matrix = SparseMatrix::of(model.form());
        let (mut d, mut runs) =
            (vec![[0.0; 16]; Edgewise::blocks(sites)], vec![Run::default(); Edgewise::runs(matrix)]);
        let noise = Edgewise::new(matrix, &mut d).unwrap().by_runs(&mut runs).unwrap();
        let samplers =
            [IsingBalanced::new, IsingBalanced::discrete].map(|by| by(noise, f32::INFINITY, 1.0).unwrap());
        let got = samplers.map(|sampler| {
            let mut rng = LaneRng::seed_from_u64(1);
            let mut chain = heap::random_chain(&model, &mut rng).unwrap();
            let mut hash = Hash::new();
            for _ in 0..512 {
                let info = chain.step(&sampler, &mut rng);
                hash.words(chain.state().words());
                hash.info(&info);
            }
            hash.value()
        });
        assert_eq!(got, committed, "{rows} by {columns}: {got:08x?}");
    }
}
