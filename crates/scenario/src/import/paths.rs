//! Explicit paths by number: `flow,data,ack` with switches parted by spaces, as `fabric.paths` reads them by name.

use super::draft::{Draft, node_name};
use super::words::without_mark;
use super::{Fate, Source, Topology};
use crate::Error;
use crate::tree::shorten;

/// Writes `paths.csv` with our numbers of flows and names of switches.
pub(super) fn import(
    draft: &mut Draft,
    source: Source<'_>,
    topology: &Topology,
    numbers: &[Option<u32>],
) -> Result<(), Error> {
    let mut rows: Vec<(u32, String)> = Vec::new();
    for (line, text) in (1..).zip(without_mark(source.text).lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') || text.starts_with("flow,") {
            continue;
        }
        let wrong = |what: String| Error::one(format!("{}:{line}", source.name), what);
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let (flow, data, ack) = match cells[..] {
            [flow, data] => (flow, data, ""),
            [flow, data, ack] => (flow, data, ack),
            _ => {
                return Err(wrong(format!(
                    "{:?} is not a path; write flow,switches of the data,switches of the ACKs with spaces between switches",
                    shorten(text)
                )));
            }
        };
        let index: usize = flow.parse().map_err(|_| {
            wrong(format!(
                "{:?} is not the number of a flow; write a whole number from 0",
                shorten(flow)
            ))
        })?;
        let Some(number) = numbers.get(index) else {
            return Err(wrong(format!(
                "flow {index} does not exist; the flow file has {} flows, so write 0 to {}",
                numbers.len(),
                numbers.len().saturating_sub(1)
            )));
        };
        let mut names = [String::new(), String::new()];
        for (names, cell) in names.iter_mut().zip([data, ack]) {
            for word in cell.split_whitespace() {
                let switch: Option<u32> = word.parse().ok();
                let known = switch.filter(|n| topology.switches.binary_search(n).is_ok());
                let Some(switch) = known else {
                    return Err(wrong(format!(
                        "{:?} is not the number of a switch; write one of the second line of the topology",
                        shorten(word)
                    )));
                };
                names.push_str(if names.is_empty() { "" } else { " " });
                names.push_str(&node_name("switch", switch, topology.nodes));
            }
        }
        if let Some(number) = number {
            rows.push((*number, format!("{number},{},{}\n", names[0], names[1])));
        }
    }
    rows.sort();
    let text: String = std::iter::once("flow,data,ack\n".to_string())
        .chain(rows.iter().map(|row| row.1.clone()))
        .collect();
    if !rows.is_empty() {
        draft.fabric.push("paths = \"paths.csv\"".into());
        draft.files.push(("paths.csv".into(), text));
    }
    let text =
        format!("{} flows take their own paths: fabric.paths; all others as hashed", rows.len());
    draft.note(format!("{}:1", source.name), Fate::Carried, text);
    Ok(())
}
