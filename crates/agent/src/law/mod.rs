//! Host laws on a live machine: their parameters, the loop that runs them, and how strongly each level throttles.

pub mod control;
pub mod ladder;
pub mod levels;
pub mod lockstep;
pub mod settings;
pub mod status;
