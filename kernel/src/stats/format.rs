//! Statistics over defmt: what they say, not what they hold.

use super::{BatchMeans, Best, Draws, Means, Pairs};
use defmt::{Format, Formatter, write};

impl<T: AsMut<[u32]> + AsRef<[u32]>> Format for Means<T> {
    fn format(&self, f: Formatter<'_>) {
        write!(f, "means of {=u32} states:", self.count());
        (0..self.sums.as_ref().len()).for_each(|site| write!(f, " {}", self.mean(site)));
    }
}

impl<const N: usize> Format for Pairs<N> {
    fn format(&self, f: Formatter<'_>) {
        write!(f, "spins over {=u32} states:", self.count);
        for ((a, b), mean) in self.pairs.iter().zip(self.correlations()) {
            write!(f, " {=u32}-{=u32} {}", a, b, mean);
        }
    }
}

impl<T: AsMut<[u32]> + AsRef<[u32]>> Format for Best<T> {
    fn format(&self, f: Formatter<'_>) {
        write!(f, "lowest energy {} at", self.energy());
        self.words().unwrap_or_default().iter().for_each(|word| write!(f, " {=u32:08x}", word));
    }
}

impl<const BATCHES: usize> Format for BatchMeans<BATCHES> {
    fn format(&self, f: Formatter<'_>) {
        let (error, ess) = (self.standard_error(), self.ess());
        write!(f, "mean {=f32}, standard error {}, effective samples {}", self.mean(), error, ess);
    }
}

impl<const WORDS: usize, const DRAWS: usize> Format for Draws<WORDS, DRAWS> {
    fn format(&self, f: Formatter<'_>) {
        write!(f, "{=usize} draws", self.first().len());
        if let Err(error) = self.words() {
            write!(f, ", {=u64} more were not kept", error.missed);
        }
    }
}
