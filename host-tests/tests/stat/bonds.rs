//! The sets of bonds of a cluster move, all of them, in float64.

/// Calls `each` for every set of bonds between `sites` sites: its probability, and for each site the bits of the sites in its cluster.
/// A pair `(a, b, gain)` is joined with probability `1 − e^(−strength · gain)`, and never where nothing is gained.
pub(crate) fn each_set(
    sites: usize,
    pairs: impl IntoIterator<Item = (usize, usize, f64)>,
    strength: f64,
    mut each: impl FnMut(f64, &[usize]),
) {
    let favoured: Vec<_> = pairs.into_iter().filter(|&(.., gain)| gain > 0.0).collect();
    for set in 0..1_usize << favoured.len() {
        let mut probability = 1.0;
        let mut cluster: Vec<usize> = (0..sites).map(|site| 1 << site).collect();
        for (place, &(a, b, gain)) in favoured.iter().enumerate() {
            let absent = (-strength * gain).exp();
            if set >> place & 1 == 0 {
                probability *= absent;
                continue;
            }
            probability *= 1.0 - absent;
            let joined = cluster[a] | cluster[b];
            (0..sites).filter(|site| joined >> site & 1 == 1).for_each(|site| cluster[site] = joined);
        }
        each(probability, &cluster);
    }
}

/// The sites that flip where every cluster has a coin of its own: all outcomes, equally likely.
pub(crate) fn coins(clusters: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut clusters: Vec<usize> = clusters.collect();
    clusters.sort_unstable();
    clusters.dedup();
    let outcome = |coins: usize| {
        let chosen = (0..clusters.len()).filter(|coin| coins >> coin & 1 == 1);
        chosen.fold(0, |flips, coin| flips | clusters[coin])
    };
    (0..1_usize << clusters.len()).map(outcome).collect()
}
