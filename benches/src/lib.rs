//! What the benches share: the models, in equilibrium, and the scalar baseline that they are compared with.

pub mod models;
pub mod naive;
pub mod naive_categorical;
