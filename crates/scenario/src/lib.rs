//! Scenarios: text to checked types, and the traffic they describe.
//!
//! Invariant: this is the only crate that parses user text; it runs nothing.

pub mod cdf;
mod check;
mod convert;
pub mod expect;
pub mod export;
mod fabric;
mod faults;
mod host;
pub mod identity;
pub mod import;
mod judge;
mod kernel;
mod load;
pub mod model;
mod moved;
mod names;
mod output;
mod params;
mod paths;
pub mod pause;
pub mod plan;
pub mod presets;
mod problem;
mod quantity;
mod raw;
pub mod reference;
mod resolved;
mod scenario;
mod schema;
mod stop;
mod topology;
mod traffic;
mod transport;
mod tree;
pub mod workload;

pub use expect::Expect;
pub use load::{Loaded, load, load_with, text, text_from, text_with};
pub use problem::{Error, Problem};
pub use resolved::{resolved, resolved_with};
pub use schema::schema;
