//! What the desktop examples share: the command line, files, pictures, and chains on all cores.

pub mod adult;
pub mod balanced;
pub mod bars;
pub mod cli;
pub mod digits;
pub mod elsewhere;
pub mod exact;
pub mod flow;
pub mod graphs;
pub mod harness;
pub mod heat;
pub mod maxcut;
pub mod mimo;
pub mod mmd;
pub mod model;
pub mod neighbours;
pub mod own_network;
pub mod picture;
pub mod plane;
pub mod plot;
pub mod sigmoid_network;
pub mod summary;
pub mod targets;
pub mod teach;
pub mod told;
pub mod toy;
pub mod trace;

pub use bitmc_desktop::{bits, cells, chains, checkpoint, files as report, formats, npy, progress, tempering};
