//! What the desktop examples share: the command line, files, pictures, and chains on all cores.

pub mod adult;
pub mod balanced;
pub mod bars;
pub mod bits;
pub mod chains;
pub mod checkpoint;
pub mod cli;
pub mod exact;
pub mod flow;
pub mod formats;
pub mod harness;
pub mod heat;
pub mod maxcut;
pub mod mmd;
pub mod model;
pub mod npy;
pub mod picture;
pub mod plane;
pub mod plot;
pub mod progress;
pub mod report;
pub mod summary;
pub mod targets;
pub mod teach;
pub mod tempering;
pub mod trace;
