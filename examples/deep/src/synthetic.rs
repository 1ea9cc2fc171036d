//! An energy of the size of a large vocabulary: a row of sites, each of 30,522 values with an embedding at random.
//!
//! `E(x) = −Σᵢ ⟨e(xᵢ), hᵢ + J (e(xᵢ₋₁) + e(xᵢ₊₁))⟩` with J symmetric: neighbours are coupled through their embeddings.

use crate::product::{Matrix, add, dot};
use bitmc::random::normals;
use bitmc::{LaneRng, Layout, Packed, SeedableRng};
use bitmc_examples::cli::Failure;
use bitmc_examples::told::Evaluator;
use candle_core::{Device, Result, Tensor};

/// Sites.
pub const SITES: usize = 24;
/// Values of a site.
pub const VALUES: usize = 30_522;
/// Numbers of an embedding.
pub const WIDTH: usize = 64;

/// The energy.
pub struct Synthetic {
    embeddings: Vec<f32>,
    fields: Vec<f32>,
    coupling: Matrix,
    values: Matrix,
}

impl Synthetic {
    /// At random, from a seed.
    ///
    /// # Errors
    /// Where the tensor library fails.
    pub fn new(seed: u64) -> Result<Self> {
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut numbers = |count: usize, scale: f32| -> Vec<f32> {
            let blocks = (0..count.div_ceil(16)).flat_map(|_| normals(&mut rng));
            blocks.take(count).map(|x| scale * x).collect()
        };
        let embeddings = numbers(VALUES * WIDTH, 1.0 / (WIDTH as f32).sqrt());
        let fields = numbers(SITES * WIDTH, 2.0);
        let half = Tensor::from_vec(numbers(WIDTH * WIDTH, 1.0), (WIDTH, WIDTH), &Device::Cpu)?;
        let values = Tensor::from_slice(&embeddings, (VALUES, WIDTH), &Device::Cpu)?.t()?;
        Ok(Self {
            coupling: Matrix::new((&half + half.t()?)?, Vec::new())?,
            values: Matrix::new(values.contiguous()?, Vec::new())?,
            embeddings,
            fields,
        })
    }
}

impl Evaluator for Synthetic {
    fn layout(&self) -> Layout {
        Layout::categorical(SITES, VALUES)
    }

    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> std::result::Result<(), Failure> {
        self.find(states, energies, gradients).map_err(Failure::model)
    }
}

impl Synthetic {
    fn find(&self, states: &[Packed<'_>], energies: &mut [f32], gradients: &mut [f32]) -> Result<()> {
        let embedding = |value: u32| &self.embeddings[value as usize * WIDTH..][..WIDTH];
        let chosen: Vec<f32> =
            states.iter().flat_map(|state| state.values()).flat_map(embedding).copied().collect();
        let coupled = self.coupling.forward(chosen.clone())?;
        let mut pulls: Vec<f32> = self.fields.iter().copied().cycle().take(chosen.len()).collect();
        let of_a_state = SITES * WIDTH;
        for ((pulls, coupled), (energy, chosen)) in pulls
            .chunks_mut(of_a_state)
            .zip(coupled.chunks(of_a_state))
            .zip(energies.iter_mut().zip(chosen.chunks(of_a_state)))
        {
            let own = dot(chosen, &self.fields);
            let pairs = dot(&chosen[WIDTH..], &coupled[..of_a_state - WIDTH]);
            *energy = -(own + pairs);
            add(&mut pulls[WIDTH..], &coupled[..of_a_state - WIDTH]);
            add(&mut pulls[..of_a_state - WIDTH], &coupled[WIDTH..]);
        }
        let slopes = self.values.forward(pulls)?;
        gradients.iter_mut().zip(slopes).for_each(|(out, slope)| *out = -slope);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::packed::set;

    /// The energy is linear in each site, so the gradient has the differences of all moves of one site.
    #[test]
    fn gradients_are_differences() {
        let model = Synthetic::new(5).unwrap();
        let layout = model.layout();
        let mut words = vec![0; layout.words()];
        (0..SITES).for_each(|site| set(layout, &mut words, site, (site * 1_237 % VALUES) as u32).unwrap());
        let mut gradient = vec![0.0; SITES * VALUES];
        let mut here = [0.0];
        model.evaluate(&[Packed::new(layout, &words).unwrap()], &mut here, &mut gradient).unwrap();
        let mut room = vec![0.0; SITES * VALUES];
        for (site, to) in [(0, 30_521), (7, 1), (23, 17_000)] {
            let from = (site * 1_237 % VALUES) as u32;
            let mut moved = words.clone();
            set(layout, &mut moved, site, to).unwrap();
            let mut there = [0.0];
            model.evaluate(&[Packed::new(layout, &moved).unwrap()], &mut there, &mut room).unwrap();
            let slope = |value: u32| gradient[site * VALUES + value as usize];
            let (p, d) = (slope(to) - slope(from), there[0] - here[0]);
            assert!((p - d).abs() < 1e-3 * (1.0 + d.abs()), "{p}, {d}");
            // The neighbour's slopes are others.
            let other = (site + 1) % SITES * VALUES;
            let wrong = gradient[other + to as usize] - gradient[other + from as usize];
            assert!((wrong - d).abs() > 0.1, "{wrong}, {d}");
        }
    }
}
