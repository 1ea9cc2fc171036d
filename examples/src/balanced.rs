//! The balanced samplers of AB's tables, tuned by the library's driver, with those that the paper does not have.

mod largest;
pub mod momentum;
mod samplers;
pub mod scale;
mod scan;
pub mod tunings;

pub use bitmc_desktop::second_order::{Chosen, Curvature, Driver, Known, Room, Which, settled};
pub use largest::by_largest;
pub use samplers::{Extent, Rooms, Tuned, Tuning};
pub use scan::{Scan, scan};
