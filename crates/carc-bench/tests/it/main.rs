//! The program from outside.

mod cache;
mod commands;
mod faults;
