//! What the examples over neural networks share: chains that are told their energies, networks, and tuning.

pub mod convolution;
pub mod exchange;
pub mod fill;
pub mod infill;
pub mod learn;
pub mod masked;
pub mod metrics;
pub mod network;
pub mod product;
pub mod sample;
pub mod synthetic;
pub mod text;
pub mod tune;

/// Makes every product of the tensor library take one thread, since the batches share the threads already.
///
/// Without it the library counts the processors for every product, in files of the system. That takes longer than a small product.
pub fn one_thread_a_product() {
    // SAFETY: Rust's functions lock the environment, and no other code reads it here.
    unsafe { std::env::set_var("RAYON_NUM_THREADS", "1") };
}
