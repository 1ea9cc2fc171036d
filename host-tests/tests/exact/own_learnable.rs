//! What a user writes to learn: an energy of their own, over sites of any kind.

use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::learn::{Learnable, Minibatch, PseudoLikelihood};
use bitmc::{Energy, Function, LaneRng, Layout, Move, Packed, Plain, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::learning::deviation;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::tolerance::PARAMETER_GRADIENT;
use core::ops::Range;

/// `E = −Σ θᵢ xᵢ² / 8 − Σ θ'ᵢ xᵢ xᵢ₊₁ / 8`, in the type that it is asked in.
fn terms(x: &[u32]) -> impl Iterator<Item = f64> {
    let squares = x.iter().map(|&x| f64::from(x * x) / 8.0);
    squares.chain(x.windows(2).map(|pair| f64::from(pair[0] * pair[1]) / 8.0))
}

fn energy(theta: &[f64], x: &[u32]) -> f64 {
    -theta.iter().zip(terms(x)).map(|(theta, term)| theta * term).sum::<f64>()
}

struct Squares {
    layout: Layout,
    arities: Option<Vec<u16>>,
    theta: Vec<f64>,
}

impl Squares {
    fn new(layout: Layout, arities: Option<&[u16]>) -> Self {
        let mut source = Source::new(3);
        let theta = (1..2 * layout.sites()).map(|_| f64::from(source.coarse(0.7))).collect();
        Self { layout, arities: arities.map(<[u16]>::to_vec), theta }
    }

    fn arity(&self, site: usize) -> u32 {
        self.arities.as_ref().map_or(self.layout.arity() as u32, |arities| arities[site].into())
    }

    fn pack(&self, x: &[u32]) -> Vec<u32> {
        heap::pack_in(self.layout, &x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())
    }

    /// −ln of the pseudo-likelihood.
    fn loss(&self, theta: &[f64], x: &[u32]) -> f64 {
        let here = energy(theta, x);
        let weight = |site: usize, value: u32| {
            let mut y = x.to_vec();
            y[site] = value;
            (here - energy(theta, &y)).exp()
        };
        (0..x.len()).map(|site| (0..self.arity(site)).map(|k| weight(site, k)).sum::<f64>().ln()).sum()
    }
}

impl Function for &Squares {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        energy(&self.theta, &x.values().collect::<Vec<_>>()) as f32
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        0.0
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_deref()
    }
}

struct Lesson<'s>(Plain<&'s Squares>);

impl Energy for Lesson<'_> {
    fn layout(&self) -> Layout {
        self.0.layout()
    }

    fn cache_len(&self) -> usize {
        self.0.cache_len()
    }

    fn arities(&self) -> Option<&[u16]> {
        self.0.arities()
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        self.0.init(x, cache)
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        self.0.gradient(x, cache, rows, out);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        self.0.shift(step, cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.0.differences(words, cache, site, out);
    }
}

impl Learnable for Lesson<'_> {
    fn parameter_len(&self) -> usize {
        self.0.0.theta.len().div_ceil(LANES)
    }

    fn accumulate(&self, x: Packed<'_>, _cache: &[Bits], weight: f32, into: &mut [Block]) {
        let x: Vec<u32> = x.values().collect();
        into.as_flattened_mut()
            .iter_mut()
            .zip(terms(&x))
            .for_each(|(slot, term)| *slot -= weight * term as f32);
    }
}

#[test]
fn pseudo_likelihood_of_sites_of_any_kind() {
    let mixed: Vec<u16> = (0..18).map(|site| [5, 2, 3, 1][site % 4]).collect();
    for (layout, arities) in [
        (Layout::binary(18), None),
        (Layout::categorical(18, 5), None),
        (Layout::ordinal(18, 5), None),
        (Layout::ordinal(3, 64), None),
        (Layout::ordinal(17, 2), None),
        (Layout::categorical(18, 5), Some(&mixed[..])),
        (Layout::ordinal(18, 5), Some(&mixed[..])),
    ] {
        let mut model = Squares::new(layout, arities);
        let shrink = 16.0 / (layout.arity() * layout.arity()) as f64;
        model.theta.iter_mut().for_each(|theta| *theta *= shrink.min(1.0));
        let (mut source, theta) = (Source::new(1), &model.theta);
        let x: Vec<u32> =
            (0..layout.sites()).map(|site| source.below(model.arity(site) as usize) as u32).collect();
        let (lesson, words) = (Lesson(Plain(&model)), model.pack(&x));
        let mut gradient = vec![[0.0; LANES]; lesson.parameter_len()];
        let (mut memory, mut rng) = (heap::memory(&lesson), LaneRng::seed_from_u64(1));
        let mut batch = Minibatch::new(&lesson, &mut gradient).unwrap();
        let state = Packed::new(layout, &words).unwrap();
        batch.add(&PseudoLikelihood, &lesson, state, &mut memory, &mut rng).unwrap();
        let loss = model.loss(theta, &x);
        assert!((f64::from(batch.finish().loss) / loss - 1.0).abs() <= PARAMETER_GRADIENT, "{layout:?}");
        let slope = |k: usize| {
            let at = |shift: f64| {
                let mut moved = theta.clone();
                moved[k] += shift;
                model.loss(&moved, &x)
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        let truth: Vec<f64> = (0..theta.len()).map(slope).collect();
        let found: Vec<f64> = gradient.as_flattened().iter().map(|&g| f64::from(g)).take(theta.len()).collect();
        let off = deviation(&found, &truth);
        assert!(off <= PARAMETER_GRADIENT, "{layout:?}, {arities:?}: off by {off}");
    }
}
