//! The C face of `bitmc` (`kernel/capi`), its modules taken as they stand into a crate that has a standard library and
//! tests. Miri goes through the calls: `.ci/long miri`.
#![allow(non_camel_case_types, clippy::missing_safety_doc, clippy::too_many_arguments, missing_docs)]

#[path = "../../../kernel/capi/src/chain.rs"]
mod chain;
#[path = "../../../kernel/capi/src/exchange.rs"]
mod exchange;
#[path = "../../../kernel/capi/src/handle.rs"]
mod handle;
#[path = "../../../kernel/capi/src/model.rs"]
mod model;
#[path = "../../../kernel/capi/src/quantised.rs"]
mod quantised;
#[path = "../../../kernel/capi/src/quantised_langevin.rs"]
mod quantised_langevin;
#[path = "../../../kernel/capi/src/random.rs"]
mod random;
#[path = "../../../kernel/capi/src/sampler.rs"]
mod sampler;
#[path = "../../../kernel/capi/src/seat.rs"]
mod seat;
#[path = "../../../kernel/capi/src/snapshot.rs"]
mod snapshot;
#[path = "../../../kernel/capi/src/statistics.rs"]
mod statistics;
#[path = "../../../kernel/capi/src/status.rs"]
mod status;

pub use chain::*;
pub use exchange::*;
pub use model::*;
pub use quantised::*;
pub use quantised_langevin::*;
pub use random::*;
pub use sampler::*;
pub use snapshot::*;
pub use statistics::*;
pub use status::*;
