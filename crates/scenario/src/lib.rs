//! Scenarios: text to checked types, and the traffic they describe.
//!
//! Invariant: this is the only crate that parses user text; it runs nothing.

pub mod cdf;
mod check;
mod credit_class;
pub mod edit;
pub mod expect;
pub mod export;
mod fabric;
mod faults;
mod host;
pub mod identity;
pub mod import;
mod judge;
mod load;
pub mod model;
mod moved;
mod names;
pub mod objects;
mod output;
mod paths;
pub mod pause;
pub mod pitfalls;
pub mod plan;
pub mod presets;
mod problem;
pub mod program;
mod quantity;
pub mod reference;
mod scenario;
mod schema;
mod shapers;
mod stamps;
mod stop;
mod topology;
mod traffic;
mod transport;
mod tree;
mod whole;
pub mod workload;
mod written;

pub use expect::Expect;
pub use load::{
    LoadedScenario, Loader, around, load, load_with, read_as, read_object, text, text_from,
    text_with,
};
#[doc(hidden)]
pub use problem::or_list; // for tests
pub use problem::{Error, Problem, nearest};

pub use schema::{schema, schema_of};
pub use written::{resolved, resolved_with};
