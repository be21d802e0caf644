//! Every test of this crate that is outside its source, in one program.

mod bad_input;
mod captures;
mod common;
mod compare;
mod examples;
mod import;
mod objects;
mod reproduce;
mod run;
mod signals;
mod sweep;
mod terminal;
mod verbs;
mod watch;
mod why;
