//! Replica exchange over chains that are told their energies.

use bitmc::LaneRng;
use bitmc::open::Ask;
use bitmc::temper::{Ladder, Rung};
use bitmc_examples::chains::streams;
use bitmc_examples::cli::Failure;
use bitmc_examples::told::{Chains, Evaluator};

/// Ladders of replicas. Those of a ladder stand side by side, and change places after every step.
#[derive(Debug)]
pub struct Ladders<'n, N> {
    /// The replicas.
    pub chains: Chains<'n, N>,
    ladders: Vec<Ladder<Vec<Rung>>>,
    rng: LaneRng,
}

impl<'n, N: Evaluator> Ladders<'n, N> {
    /// As many ladders of replicas at `betas` as there are chains for. Swaps have a stream of `seed` that no chain has.
    ///
    /// # Errors
    /// [`Failure`] where chains are left over, or `betas` do not rise.
    pub fn new(chains: Chains<'n, N>, betas: &[f32], seed: u64) -> Result<Self, Failure> {
        let count = chains.infos.len();
        let rng = streams(seed).nth(count).ok_or_else(|| Failure::option("no stream for swaps"))?;
        let mut own = Self { chains, ladders: vec![ladder(betas)?; count / betas.len().max(1)], rng };
        own.chains.set_betas(&own.betas())?;
        Ok(own)
    }

    /// Begins anew at other β, from the states that are there.
    ///
    /// # Errors
    /// As [`Ladders::new`].
    pub fn begin(&mut self, betas: &[f32]) -> Result<(), Failure> {
        self.ladders.fill(ladder(betas)?);
        self.chains.set_betas(&self.betas())
    }

    /// One step of every replica, and one round of swaps.
    ///
    /// # Errors
    /// [`Failure`] where the kernel does not fit.
    pub fn step(&mut self, kernel: &(impl Ask + Sync)) -> Result<(), Failure> {
        self.chains.step(kernel)?;
        let energies: Vec<_> = self.chains.energies().collect();
        let rows = energies.chunks(energies.len() / self.ladders.len());
        for (ladder, energies) in self.ladders.iter_mut().zip(rows) {
            ladder.exchange(|replica| energies[replica], &mut self.rng);
        }
        self.chains.set_betas(&self.betas())
    }

    /// The β of every replica, ladder by ladder.
    fn betas(&self) -> Vec<f32> {
        let of = |ladder: &Ladder<Vec<Rung>>| {
            let mut betas = vec![0.0; ladder.rungs().len()];
            ladder.rungs().iter().for_each(|rung| betas[rung.replica()] = rung.beta());
            betas
        };
        self.ladders.iter().flat_map(of).collect()
    }

    /// The replicas at the largest β, one of each ladder.
    #[must_use]
    pub fn coldest(&self) -> Vec<usize> {
        let replica =
            |(number, ladder): (usize, &Ladder<Vec<Rung>>)| number * ladder.rungs().len() + ladder.coldest();
        self.ladders.iter().enumerate().map(replica).collect()
    }

    /// The mean probability of a swap.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let rates = self.ladders.iter().flat_map(Ladder::rungs).filter_map(Rung::rate).map(f64::from);
        let (sum, count) = rates.fold((0.0, 0.0), |(sum, count), rate| (sum + rate, count + 1.0));
        sum / count
    }

    /// Ways from the largest β to the smallest and back, all ladders together.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.ladders.iter().map(Ladder::round_trips).sum()
    }

    /// β at which swaps would be equally likely: the mean of what the ladders say.
    #[must_use]
    pub fn respaced(&self) -> Vec<f32> {
        let count = self.ladders.len() as f32;
        let mut own: Vec<_> = self.ladders[0].rungs().iter().map(Rung::beta).collect();
        let mut betas = vec![0.0; own.len()];
        for ladder in &self.ladders {
            ladder.respaced(&mut own);
            betas.iter_mut().zip(&own).for_each(|(beta, own)| *beta += own / count);
        }
        betas
    }
}

fn ladder(betas: &[f32]) -> Result<Ladder<Vec<Rung>>, Failure> {
    Ladder::new(vec![Rung::default(); betas.len()], betas).map_err(Failure::option)
}

/// So many β from the smallest to 1, each the same factor above the one before.
#[must_use]
pub fn geometric(count: usize, smallest: f32) -> Vec<f32> {
    (0..count).map(|rung| smallest.powf(1.0 - rung as f32 / (count - 1) as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::{Langevin, Layout, Packed};
    use bitmc_examples::bits::BitRows;

    /// −3.5 of four bits where all are equal, and 1.7 where the first two differ: two modes that single flips leave rarely.
    struct Modes;

    fn energy(bits: [f32; 4]) -> f32 {
        let [a, b, c, d] = bits;
        let equal = a * b * c * d + (1.0 - a) * (1.0 - b) * (1.0 - c) * (1.0 - d);
        1.7 * (a + b - 2.0 * a * b) - 3.5 * equal + 0.4 * c
    }

    impl Evaluator for Modes {
        fn layout(&self) -> Layout {
            Layout::binary(4)
        }

        fn evaluate(
            &self,
            states: &[Packed<'_>],
            energies: &mut [f32],
            gradients: &mut [f32],
        ) -> Result<(), Failure> {
            for ((state, energy_at), gradient) in states.iter().zip(energies).zip(gradients.chunks_mut(4)) {
                let bits: [f32; 4] = std::array::from_fn(|site| state.get(site) as f32);
                *energy_at = energy(bits);
                for (site, slot) in gradient.iter_mut().enumerate() {
                    let at = |value| std::array::from_fn(|i| if i == site { value } else { bits[i] });
                    *slot = energy(at(1.0)) - energy(at(0.0));
                }
            }
            Ok(())
        }
    }

    /// The largest difference of a state's share at the largest β from e^(−E)/Z, in standard errors over the ladders.
    fn worst(tell: bool) -> f64 {
        const LADDERS: usize = 8;
        let betas = geometric(4, 0.1);
        let layout = Layout::binary(4);
        let mut starts = BitRows::new(layout);
        (0..LADDERS * 4).for_each(|_| starts.push(Packed::new(layout, &[0]).unwrap()));
        let chains = Chains::new(&Modes, &starts, streams(1).take(LADDERS * 4).collect()).unwrap();
        let mut ladders = Ladders::new(chains, &betas, 1).unwrap();
        let kernel = Langevin::adjusted(1.0).unwrap();
        let mut counts = vec![[0.0; 16]; LADDERS];
        const STEPS: usize = 20_000;
        for _ in 0..STEPS {
            if tell {
                ladders.step(&kernel).unwrap();
            } else {
                // Replicas change places and keep their old β.
                ladders.chains.step(&kernel).unwrap();
                let energies: Vec<_> = ladders.chains.energies().collect();
                for (ladder, energies) in ladders.ladders.iter_mut().zip(energies.chunks(4)) {
                    ladder.exchange(|replica| energies[replica], &mut ladders.rng);
                }
            }
            for (counts, state) in counts.iter_mut().zip(ladders.chains.states_of(&ladders.coldest()).rows()) {
                counts[state[0] as usize] += 1.0 / STEPS as f64;
            }
        }
        let weight =
            |state: u32| f64::from(-energy(std::array::from_fn(|bit| (state >> bit & 1) as f32))).exp();
        let all: f64 = (0..16).map(weight).sum();
        let off = |state: u32| {
            let shares = || counts.iter().map(|counts| counts[state as usize]);
            let mean = shares().sum::<f64>() / LADDERS as f64;
            let variance = shares().map(|share| (share - mean).powi(2)).sum::<f64>() / (LADDERS - 1) as f64;
            ((mean - weight(state) / all) / (variance / LADDERS as f64).sqrt()).abs()
        };
        (0..16).map(off).fold(0.0, f64::max)
    }

    /// The coldest replicas have the distribution of the sums over all states; those that keep their old β do not.
    #[test]
    fn coldest_replicas_draw_from_the_energy() {
        let (right, wrong) = (worst(true), worst(false));
        assert!(right < 6.0, "{right} standard errors");
        assert!(wrong > 20.0, "{wrong} standard errors");
    }

    #[test]
    fn spacing_keeps_its_ends_and_more_chains_than_places_are_refused() {
        assert_eq!(geometric(3, 0.25), [0.25, 0.5, 1.0]);
        let layout = Layout::binary(4);
        let mut starts = BitRows::new(layout);
        (0..5).for_each(|_| starts.push(Packed::new(layout, &[0]).unwrap()));
        let chains = || Chains::new(&Modes, &starts, streams(1).take(5).collect()).unwrap();
        assert!(Ladders::new(chains(), &[0.5, 1.0], 1).is_err());
        assert!(Ladders::new(chains(), &[1.0, 0.5, 0.2, 0.1, 0.05], 1).is_err());
        let mut ladders = Ladders::new(chains(), &geometric(5, 0.1), 1).unwrap();
        let kernel = Langevin::adjusted(1.0).unwrap();
        (0..50).for_each(|_| ladders.step(&kernel).unwrap());
        let betas = ladders.respaced();
        assert_eq!((betas[0], betas[4]), (0.1, 1.0));
        assert!(betas.is_sorted() && ladders.rate() > 0.3 && ladders.round_trips() > 0);
    }
}
