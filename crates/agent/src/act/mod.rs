//! What the agent may change on a machine, and how each change is undone.

pub mod actuators;
pub mod claims;
pub mod controls;
pub mod inside;
pub mod journal;
pub mod marks;
pub mod plan;
pub mod undoings;
pub mod unmark;
