//! The `forebay` command with one more law.

mod halve;

use forebay_cli::OwnCommand;
use forebay_laws::{Laws, NameTaken};
use halve::Halve;
use std::process::ExitCode;

/// The built-in laws and ours.
fn laws() -> Result<Laws, NameTaken> {
    Laws::built_in().with_flow::<Halve>(include_str!("halve.rs"))
}

fn main() -> ExitCode {
    let laws = laws().expect("no built-in law is called halve");
    ExitCode::from(forebay_cli::command(OwnCommand::of_this_process().with_laws(laws)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn scenarios_may_name_the_law_and_set_its_parameter() {
        let laws = super::laws().expect("its name is free");
        let mut halve = laws.flow("halve").expect("it was added");
        assert_eq!(halve.set("growth", "2"), Ok(()));
        let error = halve.set("growth", "none").expect_err("not a number").to_string();
        assert_eq!(error, "halve.growth takes a whole number of packets from 1 to 65535");
    }
}
