//! The Gaussian integral in float64: the factor of a noise read off its draws, and the auxiliary step by its
//! definition (METHODS.md §3).

use crate::matrix::Verdict;
use crate::tolerance;
use crate::used;
use bitmc::lane::{Block, LANES};
use bitmc::noise::Noise;
use bitmc::random::{normal_pairs, normals};
use bitmc::step::Transition;
use bitmc::{Layout, Packed, Rng};
use core::convert::Infallible;
use rand_core::{TryRng, utils};

/// A generator all of whose normals are 0 but one, which is [`Single::VALUE`].
#[derive(Clone, Debug)]
struct Single {
    /// The number of the normal that is not 0.
    which: usize,
    words: usize,
    /// Whether normals come in pairs of blocks.
    pairs: bool,
}

impl Single {
    /// The normal of the tail probability ¼, or the length of a pair whose uniform is ½, read off the kernel's own
    /// normals.
    fn value(pairs: bool) -> f64 {
        let mut source = Self { which: 0, words: 0, pairs };
        let block = if pairs { normal_pairs(&mut source)[0] } else { normals(&mut source) };
        f64::from(block[0])
    }

    /// Sixteen words of signs or angles, sixteen of uniforms: all ones is the uniform 1, whose normal is 0. The
    /// angle 0 has no sine, a right one no cosine.
    fn word(&mut self) -> u32 {
        let (block, place) = (self.words / (2 * LANES), self.words % (2 * LANES));
        self.words += 1;
        let (chosen, second) = match self.pairs {
            false => (self.which, false),
            true => (self.which / (2 * LANES) * LANES + self.which % LANES, self.which / LANES % 2 == 1),
        };
        match place.checked_sub(LANES) {
            None if second => i32::MAX as u32,
            None => 0,
            Some(lane) if block * LANES + lane == chosen => 1 << 31,
            Some(_) => u32::MAX,
        }
    }
}

impl TryRng for Single {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for piece in bytes.chunks_mut(4) {
            piece.copy_from_slice(&self.word().to_le_bytes()[..piece.len()]);
        }
        Ok(())
    }
}

/// The factor L of a noise, `η = Lξ`, as its columns that are not 0: what it draws where one normal is 1 and
/// all others 0. `normals` is at least as many as one draw takes.
///
/// # Panics
/// Where a lane past the last site has a number that is not 0.
#[must_use]
pub fn factor(noise: &impl Noise, sites: usize, normals: usize) -> Vec<Vec<f64>> {
    columns(noise, sites, normals, false)
}

/// [`factor`] of a noise that takes its normals in pairs.
///
/// # Panics
/// As [`factor`].
#[must_use]
pub fn factor_of_pairs(noise: &impl Noise, sites: usize, normals: usize) -> Vec<Vec<f64>> {
    columns(noise, sites, normals, true)
}

fn columns(noise: &impl Noise, sites: usize, normals: usize, pairs: bool) -> Vec<Vec<f64>> {
    let scale = Single::value(pairs);
    let column = |which| {
        let mut eta = vec![[f32::NAN; LANES]; sites.div_ceil(LANES)];
        noise.draw(&mut Single { which, words: 0, pairs }, &mut eta, 1);
        let flat = eta.as_flattened();
        assert!(flat[sites..].iter().all(|&x| x == 0.0), "noise past the last site");
        flat[..sites].iter().map(|&x| f64::from(x) / scale).collect::<Vec<_>>()
    };
    (0..normals).map(column).filter(|column| column.iter().any(|&x| x != 0.0)).collect()
}

/// LLᵀ.
#[must_use]
pub fn covariance(factor: &[Vec<f64>], sites: usize) -> Vec<Vec<f64>> {
    let entry = |a: usize, b: usize| factor.iter().map(|column| column[a] * column[b]).sum();
    (0..sites).map(|a| (0..sites).map(|b| entry(a, b)).collect()).collect()
}

/// The transition from words to a state, given η.
pub type GivenNoise<'a> = &'a dyn Fn(&[u32], Packed<'_>, &[Block]) -> Transition;

/// A sampler of second order over all states of a small energy, with what METHODS.md §3 says of it.
pub struct Auxiliary<'a> {
    /// The layout of the states.
    pub layout: Layout,
    /// The values of every state.
    pub states: Vec<Vec<usize>>,
    /// log π of every state, up to a constant.
    pub log_pi: Vec<f64>,
    /// The sampler: the transition from words to a state, given η.
    pub transition: GivenNoise<'a>,
    /// L.
    pub factor: Vec<Vec<f64>>,
    /// κ.
    pub precision: f64,
    /// A broken variant: the acceptance ratio without the auxiliary variable's share.
    pub without_auxiliary: bool,
}

/// One transition given u.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// log π(x) Q(u|x) q(y|x,u) min(1, A(x,u,y)), up to a constant.
    pub log_flow: f64,
    /// log q(y|x,u).
    pub log_forward: f64,
    /// log q(x|y,u).
    pub log_reverse: f64,
}

impl Auxiliary<'_> {
    /// Planes of η, and whether a state's vector is one-hot.
    fn planes(&self) -> usize {
        self.layout.row_blocks()
    }

    /// Components of u: one a column of L and plane.
    #[must_use]
    pub fn components(&self) -> usize {
        self.factor.len() * self.planes()
    }

    /// x in a plane: its values, or where it has the value of the plane.
    fn vector(&self, state: usize, plane: usize) -> Vec<f64> {
        let one_hot = self.planes() > 1;
        let values = self.states[state].iter();
        values.map(|&v| if one_hot { f64::from(u8::from(v == plane)) } else { v as f64 }).collect()
    }

    /// u − Lᵀx, plane by plane.
    fn residual(&self, state: usize, u: &[f64]) -> Vec<f64> {
        let mut residual = Vec::new();
        for (plane, u) in u.chunks(self.factor.len()).enumerate() {
            let x = self.vector(state, plane);
            let dot = |column: &[f64]| column.iter().zip(&x).map(|(l, x)| l * x).sum::<f64>();
            residual.extend(self.factor.iter().zip(u).map(|(column, u)| u - dot(column)));
        }
        residual
    }

    /// η(x, u) = L(u − Lᵀx).
    fn eta(&self, residual: &[f64]) -> Vec<Block> {
        let eta = residual.chunks(self.factor.len()).map(|residual| {
            let mut block = [0.0; LANES];
            for site in 0..self.states[0].len() {
                let sum: f64 = self.factor.iter().zip(residual).map(|(column, r)| column[site] * r).sum();
                block[site] = sum as f32;
            }
            block
        });
        eta.collect()
    }

    /// x → y given u.
    ///
    /// # Panics
    /// Where the step is a fault.
    #[must_use]
    pub fn given(&self, x: usize, y: usize, u: &[f64]) -> Given {
        let (from, to) = (pack(self.layout, &self.states[x]), pack(self.layout, &self.states[y]));
        let residual = self.residual(x, u);
        let eta = self.eta(&residual);
        let found = (self.transition)(&from, Packed::new(self.layout, &to).unwrap(), &eta);
        assert!(!found.fault);
        let square = |residual: &[f64]| residual.iter().map(|r| r * r).sum::<f64>();
        let log_q_u = -0.5 * self.precision * square(&residual);
        let mut log_ratio = f64::from(found.log_ratio);
        if self.without_auxiliary {
            // log Q(u|y) − log Q(u|x) = κ(v·η − ½vᵀ(W+D)v)
            log_ratio -= -0.5 * self.precision * square(&self.residual(y, u)) - log_q_u;
        }
        let log_forward = f64::from(found.log_forward);
        Given {
            log_flow: self.log_pi[x] + log_q_u + log_forward + log_ratio.min(0.0),
            log_forward,
            log_reverse: f64::from(found.log_reverse),
        }
    }

    /// The largest |flow(x→y) / flow(y→x) − 1| over all pairs and the given u.
    #[must_use]
    pub fn asymmetry(&self, points: &[Vec<f64>]) -> f64 {
        let mut worst = 0.0f64;
        for u in points {
            for x in 0..self.states.len() {
                for y in 0..x {
                    let (there, back) = (self.given(x, y, u), self.given(y, x, u));
                    let largest = there.log_flow.max(back.log_flow);
                    // Pairs without flow for this u, relative to its likeliest state.
                    if there.log_forward.min(back.log_forward) < tolerance::LEAST_FLOW.ln() {
                        continue;
                    }
                    let asymmetry = 1.0 - (there.log_flow.min(back.log_flow) - largest).exp();
                    let asymmetry = if asymmetry.is_nan() { f64::INFINITY } else { asymmetry };
                    worst = worst.max(asymmetry);
                }
            }
        }
        worst
    }

    /// Whether u has so few components, for so many states, that [`Auxiliary::integrate`] ends within seconds.
    #[must_use]
    pub fn few_components(&self) -> bool {
        self.components() <= 2 || self.components() == 3 && self.states.len() <= 6
    }

    /// Both directions of every flow, summed over u on one grid of 401 points in one dimension, 1,681 in two and 4,913 in
    /// three, seven standard deviations to both sides of the means of all states.
    ///
    /// # Panics
    /// Where u has more than three components.
    #[must_use]
    pub fn integrate(&self) -> Verdict {
        let components = self.components();
        let steps = [401, 41, 17][components - 1];
        let n = self.states.len();
        let sd = 1.0 / self.precision.sqrt();
        let means: Vec<Vec<f64>> = (0..n).map(|x| self.residual(x, &vec![0.0; components])).collect();
        let axes: Vec<(f64, f64)> = (0..components)
            .map(|component| {
                let values = means.iter().map(|mean| -mean[component]);
                let (least, most) = values.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
                let (first, last) = (least - 7.0 * sd, most + 7.0 * sd);
                (first, (last - first) / (steps - 1) as f64)
            })
            .collect();
        let cell: f64 = axes.iter().map(|(_, width)| width).product();
        let density = (self.precision / std::f64::consts::TAU).powf(0.5 * components as f64) * cell;
        let total: f64 = self.log_pi.iter().map(|p| p.exp()).sum();
        let (mut flow, mut rows) = (vec![0.0; n * n], vec![0.0; n]);
        for point in 0..usize::pow(steps, components as u32) {
            let place = |axis: u32| (point / usize::pow(steps, axis) % steps) as f64;
            let u: Vec<f64> =
                (0..).zip(&axes).map(|(axis, (first, width))| first + place(axis) * width).collect();
            for x in 0..n {
                for y in 0..n {
                    let given = self.given(x, y, &u);
                    flow[x * n + y] += density / total * given.log_flow.exp();
                    let squares: f64 = self.residual(x, &u).iter().map(|r| r * r).sum();
                    rows[x] += density * (given.log_forward - 0.5 * self.precision * squares).exp();
                }
            }
        }
        Verdict::of(&flow, &rows)
    }
}

/// Words of a state from its values.
///
/// # Panics
/// Where a value is not below the arity.
#[must_use]
pub fn pack(layout: Layout, values: &[usize]) -> Vec<u32> {
    let mut words = vec![0; layout.words()];
    for (site, &value) in values.iter().enumerate() {
        bitmc::packed::set(layout, &mut words, site, value as u32).unwrap();
    }
    words
}

/// η of a fresh draw.
pub fn draw(noise: &impl Noise, blocks: usize, planes: usize, rng: &mut impl Rng) -> Vec<Block> {
    let mut eta = used::memory(blocks * planes);
    noise.draw(rng, &mut eta, planes);
    eta
}
