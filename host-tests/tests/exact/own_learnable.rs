//! What a user writes to learn: an energy of their own, over sites of any kind.

use bitmc::energy::EnergyError;
use bitmc::lane::LANES;
use bitmc::learn::{
    Contrast, LearnError, Learnable, LearnableFunction, Minibatch, PseudoLikelihood, RatioMatching,
};
use bitmc::{ChainError, Energy, Function, LaneRng, Langevin, Layout, Packed, Plain, SeedableRng, StateError};
use bitmc_host_tests::heap;
use bitmc_host_tests::learning::deviation;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::tolerance::PARAMETER_GRADIENT;

/// What the parameters multiply: `E = −Σ θᵢ xᵢ² / 8 − Σ θ'ᵢ xᵢ xᵢ₊₁ / 8`.
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
    /// A state at which the slope is NaN.
    hole: Option<Vec<u32>>,
}

impl Squares {
    fn new(layout: Layout, arities: Option<&[u16]>) -> Self {
        let mut source = Source::new(3);
        let theta = (1..2 * layout.sites()).map(|_| f64::from(source.coarse(0.7))).collect();
        Self { layout, arities: arities.map(<[u16]>::to_vec), theta, hole: None }
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

impl Function for Squares {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        energy(&self.theta, &x.values().collect::<Vec<_>>()) as f32
    }

    fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
        if self.hole.as_ref().is_some_and(|hole| x.values().eq(hole.iter().copied())) { f32::NAN } else { 0.0 }
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_deref()
    }
}

impl LearnableFunction for Squares {
    fn parameters(&self) -> usize {
        self.theta.len()
    }

    fn accumulate(&self, x: Packed<'_>, weight: f32, into: &mut [f32]) {
        let x: Vec<u32> = x.values().collect();
        into.iter_mut().zip(terms(&x)).for_each(|(slot, term)| *slot -= weight * term as f32);
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
        let (lesson, words) = (Plain(&model), model.pack(&x));
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

#[test]
fn samples_that_are_no_state_are_refused() {
    let layout = Layout::categorical(3, 5);
    let value = LearnError::Chain(ChainError::State(StateError::Value { site: 1, value: 4 }));
    for (arities, error) in [
        (&[5, 3, 2][..], value),
        (&[5, 3], ChainError::Arities.into()),
        (&[5, 0, 2], ChainError::Arities.into()),
    ] {
        let model = Squares::new(layout, Some(arities));
        let lesson = Plain(&model);
        let words = model.pack(&[4, 4, 1]);
        let x = Packed::new(layout, &words).unwrap();
        let mut gradient = vec![[0.0; LANES]; lesson.parameter_len()];
        let (mut memory, mut rng) = (heap::memory(&lesson), LaneRng::seed_from_u64(1));
        let mut batch = Minibatch::new(&lesson, &mut gradient).unwrap();
        assert_eq!(batch.add(&PseudoLikelihood, &lesson, x, &mut memory, &mut rng), Err(error));
        assert_eq!(batch.finish().samples, 0);
        let mut contrast = Contrast::new(&lesson, 1, 1, &mut gradient).unwrap();
        assert_eq!(contrast.data(&lesson, x, &mut memory), Err(error));
    }
}

#[test]
fn a_sample_without_its_chain_is_not_counted() {
    let mut model = Squares::new(Layout::binary(5), None);
    model.hole = Some(vec![1, 1, 0, 1, 0]);
    let lesson = Plain(&model);
    let (words, kernel) = ([0b01011], Langevin::adjusted(0.5).unwrap());
    let x = Packed::new(model.layout, &words).unwrap();
    let mut gradient = vec![[0.0; LANES]; lesson.parameter_len()];
    let (mut memory, mut rng) = (heap::memory(&lesson), LaneRng::seed_from_u64(1));
    let mut contrast = Contrast::new(&lesson, 2, 2, &mut gradient).unwrap();
    let refused = contrast.diverge(&lesson, x, (&kernel, 3), &mut memory, &mut rng);
    assert_eq!(refused, Err(LearnError::Chain(EnergyError::NanGradient.into())));
    let report = contrast.finish();
    assert_eq!((report.samples, report.evaluations), (0, 0));
    assert!(gradient.as_flattened().iter().all(|&g| g == 0.0));
}

#[test]
fn energies_of_other_parameters_are_refused() {
    let (model, other) = (Squares::new(Layout::binary(5), None), Squares::new(Layout::binary(20), None));
    let (lesson, other) = (Plain(&model), Plain(&other));
    let (need, got) = (other.parameter_len(), lesson.parameter_len());
    let error = Err(LearnError::Gradient { need, got });
    let words = [0b1001];
    let x = Packed::new(other.layout(), &words).unwrap();
    let mut gradient = vec![[0.0; LANES]; got];
    let (mut memory, mut rng) = (heap::memory(&other), LaneRng::seed_from_u64(1));
    let mut batch = Minibatch::new(&lesson, &mut gradient).unwrap();
    assert_eq!(batch.add(&RatioMatching::SIGMOID, &other, x, &mut memory, &mut rng), error);
    let mut contrast = Contrast::new(&lesson, 1, 1, &mut gradient).unwrap();
    assert_eq!(contrast.data(&other, x, &mut memory), error);
    let kernel = Langevin::adjusted(0.5).unwrap();
    assert_eq!(contrast.diverge(&other, x, (&kernel, 1), &mut memory, &mut rng), error);
}
