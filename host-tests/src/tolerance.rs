//! Every tolerance of the exact tests, each with its reason. None was chosen because a test passes.

/// The relative rounding error of one f32 operation.
pub const ROUNDING: f64 = 1.0 / 16_777_216.0; // 2^-24

/// Rows of q sum to 1: each of at most 2⁸ probabilities has a relative error of a few roundings of its
/// logarithm, and they average out: 16 roundings of numbers near 1.
pub const ROW_SUM: f64 = 1e-6;

/// The same of paths of up to three sites that are scored by logarithms: for each site two logarithms of 1.2 units in the
/// last place, and five sums and quotients, of numbers near 1.
pub const ROW_SUM_OF_LOGARITHMS: f64 = 3.0 * 8.0 * ROUNDING;

/// max|πP − π|: a flow is at most 1, with the same relative error as a row's.
pub const STATIONARITY: f64 = 1e-6;

/// Relative asymmetry of π(x)P(x,y): the logarithms of flows above [`LEAST_FLOW`] are at most 70 in size, a
/// rounding there is 4·10⁻⁶, and ln A, ln q and E(y) − E(x) each take a few: 12 roundings.
pub const ASYMMETRY: f64 = 5e-5;

/// Flows below this are not compared: their logarithms' roundings exceed [`ASYMMETRY`].
pub const LEAST_FLOW: f64 = 1e-30;

/// Roundings of a log odd: the gradient to f32, times β, minus c/2, each of the size of β·∂E.
pub const LOGIT_ROUNDINGS: f64 = 3.0;

/// Roundings of a site's share in log q: e^(−|z|) within an ulp (two), 1+e, and two running products.
pub const SITE_ROUNDINGS: f64 = 5.0;

/// Roundings of log q itself, of its own size: the logarithm within 1.2 ulp (three) and two sums.
pub const LOG_ROUNDINGS: f64 = 5.0;

/// Roundings of an RBM's gradient, of the size of Σ|W|: σ within 2.5 ulp (five), the product, one addition a
/// block of sixteen hidden units (at most 32), four in the tree, the bias.
pub const RBM_GRADIENT_ROUNDINGS: f64 = 43.0;

/// How far f32 can put 4096 σ: σ within 2.5 ulp (five roundings) of numbers up to 1, and half a rounding in adding ½.
pub const ACTIVITY_TIE: f64 = 4096.0 * 6.0 * ROUNDING;

/// Roundings of an energy, of the size of the sum of its terms' magnitudes: its value, the logarithm within
/// 1.2 ulp (three), their sum.
pub const ENERGY_ROUNDINGS: f64 = 5.0;

/// Roundings a step of a Potts chain's energy, of the size of Σ|J| + Σ|w|: the differences of all flips of a sweep
/// (together at most four times as large as that), their sum (twice). As many at the start and where it is read.
pub const POTTS_ENERGY_ROUNDINGS: f64 = 6.0;

/// Roundings of a hidden unit's factor 1+e in a running product: e within an ulp (two), the sum, the product.
pub const FACTOR_ROUNDINGS: f64 = 4.0;

/// An RBM's weights are rounded to 2⁻²² of the largest (or 2⁻³⁰ of the largest pre-activation): at most half
/// of that.
pub const RBM_GRID: f64 = 1.0 / 8_388_608.0; // 2^-23

/// A model's couplings are rounded to 2⁻³⁰ of the largest field, K to twice that.
pub const ISING_GRID: f64 = 1.0 / 1_073_741_824.0; // 2^-30

/// Central differences in f64 with step 2⁻¹⁷: truncation h²/6 = 10⁻¹¹ and rounding 2⁻⁵³/h = 2·10⁻¹¹, both
/// relative to the sum of the energy's terms.
pub const CENTRAL: f64 = 1e-10;

/// The step of central differences: truncation and rounding balance.
pub const CENTRAL_STEP: f64 = 1.0 / 131_072.0; // 2^-17

/// float64 against float64 with a few thousand terms.
pub const DOUBLE: f64 = 1e-12;

/// A stationary distribution solved without subtractions from entries with the relative error of log q: at most twice
/// the number of states times the largest error (O'Cinneide 1993), which for 64 states and the roundings
/// above of logarithms up to 20 is 2·64·10⁻⁶.
pub const STATIONARY_LAW: f64 = 1.3e-4;

/// A product of n factors: n errors, uniform within a rounding, add up as √n, and six deviations of that are
/// 4√n roundings (a uniform error has the deviation 1/√3).
pub const PRODUCT_DEVIATIONS: f64 = 4.0;

/// Two-sided quantile of a standard normal at 10⁻⁶: the false-alarm rate of a count with a fixed seed.
pub const SIGMA: f64 = 4.89;

/// Roundings of (cos πk/s + 1)/2: the sine of u, within 2·10⁻⁷ (three), and of u itself, two integers and a
/// quotient of at most ½, times π (five); half of that, and two sums.
pub const COSINE_ROUNDINGS: f64 = 6.0;

/// Roundings of a point on a line, of the size of its larger end: the share (three), the span, the product,
/// the sum.
pub const LINE_ROUNDINGS: f64 = 6.0;

/// Roundings of `first·(last/first)^share`, ends between .2 and 5: two logarithms within 1.2 ulp and their
/// difference, of size 3.3, times a share with three roundings (together 25), e^x (two), the product.
pub const POWER_ROUNDINGS: f64 = 28.0;

/// Roundings of a hyperbolic tangent −m/(m + 2), m = e^(−2|x|) − 1 within 1.6 ulp (3.2 roundings, which the
/// quotient at most doubles), the sum and the quotient.
pub const TANGENT_ROUNDINGS: f64 = 8.4;

/// Gradients by parameters against central differences in f64, relative to the largest component: f32 sums of a
/// few hundred terms, each of a few roundings of energies up to 10², are within 10⁻⁵; the differences
/// themselves within 10⁻⁸.
pub const PARAMETER_GRADIENT: f64 = 1e-4;

/// The relative residual of normal equations at which a regression stops.
pub const REGRESSION_RESIDUAL: f64 = 1e-5;
