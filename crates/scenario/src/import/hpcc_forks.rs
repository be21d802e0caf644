//! Forms of the files of the public HPCC simulator and of its forks, told apart by the columns of their lines.
//!
//! Source: the reading code of each fork (`docs/import.md` has the table). A file whose columns fit no form is refused, with the
//! columns that are read.

use super::words::Line;

/// What the first line of a topology holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Nodes, switches, links: alibaba-edu/HPCC and most of its forks.
    Original,
    /// Nodes, switches, ToR switches, links: PowerTCP.
    Tors,
    /// Nodes, switches, ToR switches, links and two rates: Reverie.
    Rates,
    /// Nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU: SimAI.
    Servers,
}

/// A sentence about a line.
pub type Wrong = (usize, String);

impl Header {
    /// The form of a topology. Line breaks mean nothing to the original, so a file that fits no form by its lines is one of it.
    pub fn of(lines: &[Line<'_>]) -> Result<Self, Wrong> {
        let Some((first, head)) = lines.first() else { return Ok(Self::Original) };
        let flows =
            head.len() == 1 && lines.get(1).is_some_and(|(_, w)| (5..=7).contains(&w.len()));
        let flows = (flows && !has_rate(lines)).then_some("a flow file (--flows)");
        if let Some(what) = other_file(lines).or(flows) {
            return Err((*first, format!("this looks like {what}, not like a topology")));
        }
        let number = |i: usize| head.get(i).and_then(|word| word.parse::<usize>().ok());
        let second = lines.get(1).map_or(0, |(_, words)| words.len());
        let switches = number(1);
        match head.len() {
            4 if switches == Some(second) => Ok(Self::Tors),
            6 if switches == Some(second) && head.iter().all(|word| is_number(word)) => {
                Ok(Self::Rates)
            }
            6 | 7 if !is_number(head[5]) => {
                let all = number(2).zip(number(3)).and_then(|(a, b)| a.checked_add(b));
                if all == Some(second) {
                    return Ok(Self::Servers);
                }
                Err((
                    *first,
                    format!(
                        "the first line has the form of SimAI (nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU), and the second has {second} numbers, not one for each NVSwitch and switch"
                    ),
                ))
            }
            n if n > 3 && switches.is_none_or(|all| all == second || n < all.saturating_add(3)) => {
                Err((
                    *first,
                    format!(
                        "the first line has {n} words; write three (nodes, switches, links), four (PowerTCP: nodes, switches, ToR switches, links) or six (Reverie: the same and two rates; SimAI: nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU), and all switches on the second line"
                    ),
                ))
            }
            _ => Ok(Self::Original),
        }
    }
}

/// Checks that links with lines of their own have five columns.
pub(super) fn link_columns(lines: &[Line<'_>], count: usize) -> Result<(), Wrong> {
    let Some((line, first)) = lines.first() else { return Ok(()) };
    let columns = first.len();
    let alike = count > 0
        && lines.len() >= count
        && lines.iter().take(count).all(|(_, w)| w.len() == columns);
    if alike && columns > 2 && !columns.is_multiple_of(5) {
        let text = format!(
            "the line has {columns} columns; a link has five: its two ends, rate, delay and error rate"
        );
        return Err((*line, text));
    }
    Ok(())
}

/// What a line of a flow file holds, after sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowForm {
    /// Priority group, destination port, bytes, start: alibaba-edu/HPCC and most of its forks.
    Hpcc,
    /// Priority group, bytes, start: ConWeave and what is derived from it.
    ConWeave,
    /// Priority group, packets, start, end: bobzhuyb/ns3-rdma, the oldest of the family.
    Dcqcn,
    /// The number of the flow first, then as [`FlowForm::Hpcc`]: m3 and Parsimon.
    Numbered,
}

/// The words by which a command says which of two forms is meant.
pub const SIX_COLUMNS: [(&str, FlowForm); 2] =
    [("port,bytes,start", FlowForm::Hpcc), ("packets,start,end", FlowForm::Dcqcn)];

/// Columns of a flow in the form that has most.
const MOST_COLUMNS: usize = 7;
/// Largest port of the original, which has 16 bits.
const MOST_PORT: f64 = 65_535.0;
/// Seconds below which a fifth column may be a start.
const LATEST: f64 = 10_000.0;
/// Bytes below which a fifth column is hardly a size.
const LEAST_SIZE: f64 = 10.0;

impl FlowForm {
    /// The form of a flow file; `told`: what the user says of one with six columns.
    pub fn of(lines: &[Line<'_>], told: Option<Self>) -> Result<Self, Wrong> {
        let Some((first, head)) = lines.first() else { return Ok(Self::Hpcc) };
        let links = has_rate(lines).then_some("a topology (--topology)");
        if let Some(what) = other_file(lines).or(links) {
            return Err((*first, format!("this looks like {what}, not like a flow file")));
        }
        let count = head.first().and_then(|word| word.parse::<usize>().ok());
        let Some(count) = count.filter(|_| head.len() == 1) else { return Ok(Self::Hpcc) };
        let entries = &lines[1..];
        let entries = &entries[..count.min(entries.len())];
        let Some((line, columns)) = entries.first().map(|(line, words)| (*line, words.len()))
        else {
            return Ok(Self::Hpcc);
        };
        if listed_nodes(count, &lines[1..]) {
            return Err((*first, "this looks like a trace file (a count, then the nodes to trace), not like a flow file".into()));
        }
        // A last line that is cut off has its own sentence, word by word.
        let cut = entries.len() == lines.len() - 1
            && entries.len() > 1
            && entries.last().is_some_and(|(_, words)| words.len() < columns);
        let whole = &entries[..entries.len() - usize::from(cut)];
        let other = whole.iter().find(|(_, words)| words.len() != columns);
        match (columns, other) {
            (6, _) => six(entries, told).map_err(|text| (line, text)),
            (5 | 7, Some((other, words))) => Err((
                *other,
                format!(
                    "the line has {} columns, and line {line} has {columns}; write the same for all flows",
                    words.len()
                ),
            )),
            (5, None) => Ok(Self::ConWeave),
            (7, None) if numbered(entries) => Ok(Self::Numbered),
            (7.., None) if !columns.is_multiple_of(6) => Err((
                line,
                format!(
                    "the line has {columns} columns; a flow has six (sender, receiver, priority group, destination port, bytes, start), five (ConWeave: without the port), or {MOST_COLUMNS} (m3: its number first)"
                ),
            )),
            _ => Ok(Self::Hpcc),
        }
    }
}

/// Six columns are port, bytes and start, or packets, start and end.
fn six(entries: &[Line<'_>], told: Option<FlowForm>) -> Result<FlowForm, String> {
    if let Some(told) = told {
        return Ok(told);
    }
    let mut rows = entries.iter().filter(|(_, words)| words.len() == 6).map(|(_, words)| {
        let [fourth, fifth, sixth] = [3, 4, 5].map(|i| words[i].parse::<f64>().ok());
        Some((fourth?, fifth?, sixth?, is_decimal(words[4])))
    });
    // No size has decimals.
    if entries.iter().all(|(_, words)| words.get(4).is_some_and(|word| is_decimal(word))) {
        return Ok(FlowForm::Dcqcn);
    }
    let mut decimals = false;
    let (mut packets, mut tiny, mut any) = (false, true, false);
    let times = rows.all(|row| {
        let Some((fourth, fifth, sixth, decimal)) = row else { return false };
        any = true;
        decimals |= decimal;
        packets |= fourth > MOST_PORT;
        tiny &= fifth < LEAST_SIZE;
        fifth <= sixth && fifth < LATEST
    });
    match times && any {
        true if decimals || packets => Ok(FlowForm::Dcqcn),
        true if tiny => {
            let [(port, _), (packets, _)] = SIX_COLUMNS;
            Err(format!(
                "the last three columns may be a port, bytes and a start (HPCC) or packets, a start and an end (DCQCN, ns3-rdma); say which: --flow-columns {port} or --flow-columns {packets}"
            ))
        }
        _ => Ok(FlowForm::Hpcc),
    }
}

/// Whether the first column counts lines, from 0 or 1, and the fourth may be a priority group.
fn numbered(entries: &[Line<'_>]) -> bool {
    let number = |words: &[&str], i: usize| words.get(i).and_then(|word| word.parse::<u64>().ok());
    let Some(first) = number(&entries[0].1, 0).filter(|first| *first <= 1) else { return false };
    (first..).zip(entries).all(|(n, (_, words))| {
        words.len() != MOST_COLUMNS
            || number(words, 0) == Some(n) && number(words, 3).is_some_and(|pg| pg <= 7)
    })
}

/// Whether after the count there are so many numbers alone.
fn listed_nodes(count: usize, lines: &[Line<'_>]) -> bool {
    let words = || lines.iter().flat_map(|(_, words)| words);
    let some = words().take(count.saturating_add(1)).count();
    some == count && words().all(|word| word.parse::<u32>().is_ok()) && !count.is_multiple_of(6)
}

/// Whether one of the first lines has a rate where links have it.
fn has_rate(lines: &[Line<'_>]) -> bool {
    let unit = |word: &&str| word.ends_with("bps") || word.ends_with("b/s");
    lines.iter().take(4).any(|(_, words)| words.len() == 5 && words.get(2).is_some_and(unit))
}

fn is_decimal(word: &str) -> bool {
    word.contains('.') && is_number(word)
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

/// What a file is that is neither a topology nor flows.
fn other_file(lines: &[Line<'_>]) -> Option<&'static str> {
    let (_, head) = lines.first()?;
    let first = head.first()?;
    let key = |word: &str| {
        word.len() > 3
            && word.contains('_')
            && word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
    };
    if key(first) {
        return Some("a config file (--config)");
    }
    let address = |word: &str| word.len() == 8 && word.chars().all(|c| c.is_ascii_hexdigit());
    if head.len() >= 8 && address(head[0]) && address(head[1]) {
        return Some("an FCT file, a result of that simulator");
    }
    None
}
