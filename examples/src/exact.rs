//! Exact answers for a small Ising torus, by transfer matrix in float64.

/// What is known of the torus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Torus {
    /// `log Σ e^f` over all states.
    pub log_z: f64,
    /// ⟨s⟩, the same for every spin.
    pub spin: f64,
    /// ⟨ss'⟩ of two neighbours.
    pub pair: f64,
}

/// The `side` × `side` torus with `f = a sᵀAs + b Σs` (DLP §7.1: every edge counts twice), `side` from 3 to 8:
/// `Z = tr Tⁿ` over the states of a row, and means with a diagonal matrix before the product.
///
/// Cost: 8^side multiplications, side times.
#[must_use]
pub fn torus(side: u32, a: f64, b: f64) -> Torus {
    let rows = 1usize << side;
    let spin = |row: usize, site: u32| if row >> (site % side) & 1 == 1 { 1.0 } else { -1.0 };
    let sum = |row: usize| (0..side).map(|site| spin(row, site)).sum::<f64>();
    let along = |row: usize| (0..side).map(|site| spin(row, site) * spin(row, site + 1)).sum::<f64>();
    let across =
        |row: usize, other: usize| (0..side).map(|site| spin(row, site) * spin(other, site)).sum::<f64>();
    let inside = |row: usize| b * sum(row) + 2.0 * a * along(row);
    let log_entry = |row, other| 0.5 * (inside(row) + inside(other)) + 2.0 * a * across(row, other);
    let pairs = || (0..rows).flat_map(|row| (0..rows).map(move |other| (row, other)));
    let largest = pairs().map(|(row, other)| log_entry(row, other)).fold(f64::NEG_INFINITY, f64::max);
    let transfer: Vec<f64> = pairs().map(|(row, other)| (log_entry(row, other) - largest).exp()).collect();
    let mut power = transfer.clone();
    for _ in 1..side {
        let entry = |(row, other)| (0..rows).map(|k| power[row * rows + k] * transfer[k * rows + other]).sum();
        power = pairs().map(entry).collect();
    }
    let trace = |of: &dyn Fn(usize) -> f64| (0..rows).map(|row| of(row) * power[row * rows + row]).sum::<f64>();
    let z = trace(&|_| 1.0);
    let each = f64::from(side) * z;
    Torus { log_z: z.ln() + f64::from(side) * largest, spin: trace(&sum) / each, pair: trace(&along) / each }
}
