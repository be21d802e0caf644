//! The program from outside.

#![allow(clippy::disallowed_methods, reason = "processes are waited for")]

mod cache;
mod commands;
mod faults;
