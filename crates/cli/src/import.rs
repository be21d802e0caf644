//! `forebay import`: files of other simulators in, a folder with a scenario out.

use crate::args::{Format, HtsimCommand, ImportTarget};
use crate::failure::{self, Failure};
use crate::say;
use forebay_record::{partial_of, write_whole};
use forebay_scenario::import::{self, Fate, FlowForm, Hpcc, HpccConfig, Htsim, Import, Source};
use forebay_units::Time;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What became of each line of the sources.
const EXPLANATION: &str = "import.txt";

/// How a gzip file begins (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// More text than this is taken for a mistake.
const MOST_TEXT: u64 = 1 << 30;

/// The verb.
pub fn import(format: &Format) -> Result<(), Failure> {
    let (made, into) = match format {
        Format::Hpcc { config, topology, flows, paths, start_at, flow_columns, into } => {
            let files = [config, topology, flows, paths].map(Option::as_deref);
            (hpcc(files, (*start_at, *flow_columns), &name_of(&into.out))?, into)
        }
        Format::Htsim { matrix, topology, command, into } => {
            let (matrix, topology) =
                (Text::read(matrix)?, topology.as_deref().map(Text::read).transpose()?);
            let topology = topology.as_ref().map(Text::source);
            let files = Htsim { matrix: matrix.source(), topology, command: flags(command) };
            (import::htsim(&name_of(&into.out), &files)?, into)
        }
        Format::Cdf { file, mode, packet, into } => {
            let told = import::CdfForm { lines: *mode, packet: *packet };
            (import::cdf(&name_of(&into.out), Text::read(file)?.source(), told)?, into)
        }
    };
    write(&made, into)?;
    let shown = made.notes.iter().filter(|note| !into.brief || note.fate != Fate::Carried);
    let lines: String = shown.map(|note| format!("{note}\n")).collect();
    say::data(&lines)?;
    let scenario = into.out.join("scenario.toml");
    say::note(&format!("wrote {}; next: forebay run {}", into.out.display(), scenario.display()));
    Ok(())
}

fn flags(given: &HtsimCommand) -> import::Command<'_> {
    import::Command {
        transport: given.transport.as_deref(),
        cwnd: given.cwnd,
        queue: given.queue,
        mtu: given.mtu,
        strategy: given.strat.as_deref(),
        paths: given.paths,
        end: given.end,
        linkspeed: given.linkspeed,
        hop_latency: given.hop_latency,
        switch_latency: given.switch_latency,
    }
}

fn hpcc(
    [config, topology, flows, paths]: [Option<&Path>; 4],
    (start_at, flow_form): (Option<Time>, Option<FlowForm>),
    name: &str,
) -> Result<Import, Failure> {
    let parsed = |path| Ok::<_, Failure>(HpccConfig::parse(Text::read(path)?.source())?);
    let read_config = config.map(parsed).transpose()?;
    let config_name = config.map_or(String::new(), |path| path.display().to_string());
    let named = read_config.as_ref().map_or([None, None], HpccConfig::files);
    let named = named.map(|file| Some(beside(config?, file?)));
    let read = |given: Option<&Path>, named: Option<PathBuf>, what: &str, flag: &str, key: &str| {
        if let Some(path) = given {
            return Text::read(path);
        }
        let Some(path) = named else {
            return Err(Failure::Input(format!("{config_name} has no {key}; write {flag} FILE")));
        };
        if !path.exists() {
            return Err(Failure::Input(format!(
                "{config_name}: {key} names {}, which is not there; write {flag} FILE with the {what}",
                path.display()
            )));
        }
        Text::read(&path)
    };
    let [named_topology, named_flows] = named;
    let topology = read(topology, named_topology, "topology", "--topology", "TOPOLOGY_FILE")?;
    let flows = read(flows, named_flows, "flows", "--flows", "FLOW_FILE")?;
    let paths = paths.map(Text::read).transpose()?;
    let files = Hpcc {
        topology: topology.source(),
        flows: flows.source(),
        config: read_config.as_ref(),
        paths: paths.as_ref().map(Text::source),
        start_at,
        flow_form,
    };
    Ok(import::hpcc(name, &files)?)
}

/// A file that a config names is sought from its folder, and from the folder above, where that simulator is started.
fn beside(config: &Path, file: &str) -> PathBuf {
    let folder = config.parent().unwrap_or(Path::new(""));
    let above = folder.parent().unwrap_or(Path::new("")).join(file);
    let here = folder.join(file);
    if !here.exists() && above.exists() { above } else { here }
}

/// The folder's name is the scenario's.
fn name_of(out: &Path) -> String {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "imported".into())
}

/// A file and its name for sentences.
struct Text {
    name: String,
    text: String,
}

impl Text {
    fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let bytes = fs::read(path).map_err(|error| {
            Failure::Input(format!(
                "{name} cannot be read: {}; check the path",
                failure::plain(&error)
            ))
        })?;
        let bytes = plain(&name, bytes)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::Input(format!("{name} is not UTF-8 text (byte {}); save it as UTF-8", at + 1))
        })?;
        Ok(Self { name, text })
    }

    fn source(&self) -> Source<'_> {
        Source { name: &self.name, text: &self.text }
    }
}

/// What is in a gzip file, or the file itself.
fn plain(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..])
        .take(MOST_TEXT + 1)
        .read_to_end(&mut text)
        .map_err(|error| {
            Failure::Input(format!("{name} is a damaged gzip file: {error}; create it again"))
        })?;
    if text.len() as u64 > MOST_TEXT {
        return Err(Failure::Input(format!(
            "{name} holds more than {} MiB of text; cut it down",
            MOST_TEXT >> 20
        )));
    }
    Ok(text)
}

fn write(made: &Import, into: &ImportTarget) -> Result<(), Failure> {
    let out = &into.out;
    let written = partial_of(out);
    if written.join("manifest.json").exists() {
        return Err(Failure::Input(format!(
            "{} is of a run that is at work or died; name another folder",
            written.display()
        )));
    }
    for (file, what) in [("manifest.json", "run"), ("sweep.json", "sweep")] {
        if out.join(file).exists() {
            return Err(Failure::Input(format!(
                "{} holds the results of a {what}; name another folder",
                out.display()
            )));
        }
    }
    if !into.force && out.join("scenario.toml").exists() {
        return Err(Failure::Input(format!(
            "{} holds a scenario.toml already; name another folder, or add --force to replace it",
            out.display()
        )));
    }
    fs::create_dir_all(out)
        .map_err(|error| Failure::io(format!("create {}", out.display()), &error))?;
    let explained: String = made.notes.iter().map(|note| format!("{note}\n")).collect();
    let explanation = (EXPLANATION.to_string(), explained);
    for (name, text) in made.files.iter().chain([&explanation]) {
        let path = out.join(name);
        write_whole(&path, text)?;
    }
    Ok(())
}
