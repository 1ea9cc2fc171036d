//! Chains of the committed list that use what the page uses.

use bitmc_chains::{CHAINS, Chain};

/// The chain of a name. A name that the list has not does not compile.
const fn chain(name: &str) -> Chain {
    let mut index = 0;
    while index < CHAINS.len() {
        if equal(CHAINS[index].name.as_bytes(), name.as_bytes()) {
            return CHAINS[index];
        }
        index += 1;
    }
    panic!("no chain of this name is committed");
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let (mut index, same) = (0, a.len() == b.len());
    while same && index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    same
}

/// The chains.
pub(crate) const COMMITTED: [Chain; 10] = [
    chain("functions: exp, ln and their relatives"),
    chain("generator: words, uniforms, normals"),
    chain("Ising 5x5: Gibbs, sequential from fields"),
    chain("Ising 5x5: its own Langevin"),
    chain("Ising 5x5: second order, over whole numbers"),
    chain("Ising 5x5: Wolff"),
    chain("Ising 5x5: Swendsen-Wang"),
    chain("Ising 5x5: Langevin, adjusted"),
    chain("RBM 64x16: block Gibbs"),
    chain("RBM 64x16: Langevin, adjusted"),
];
