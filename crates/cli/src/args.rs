//! The command line: verbs and flags, and the help that goes with them.

use crate::examples;
use clap::{Args, Parser, Subcommand, ValueEnum};
use forebay_scenario::import::{FlowForm, SIX_COLUMNS};
use forebay_units::{Bytes, Span, Time};
use std::path::PathBuf;

/// Packet-level simulation of datacentre congestion control.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, about, after_help = AFTER, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

const AFTER: &str = "\
First steps:
  forebay new incast --out incast.toml    write a commented example
  forebay check incast.toml               find mistakes, forecast time and memory
  forebay run incast.toml                 simulate, print a summary, draw a report

Exit codes: 0 done, 1 the run failed, 2 bad input, 3 a band in [[expect]] was missed,
130 interrupted (what was written is valid and partial).";

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a commented example scenario
    #[command(after_help = examples::NEW)]
    New(New),
    /// Find mistakes in a scenario; forecast its time and memory
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Simulate a scenario and write a results directory
    #[command(after_help = examples::RUN)]
    Run(Run),
    /// Attach to a run at work, or simulate a scenario and show its queues, flows and rates
    #[command(after_help = examples::WATCH)]
    Watch(Watch),
    /// Simulate every combination of [sweep] and every seed; a stopped sweep continues
    #[command(after_help = examples::SWEEP)]
    Sweep(Sweep),
    /// Measure the speed of the simulator on this machine
    #[command(after_help = examples::BENCH)]
    Bench(Bench),
    /// Check the simulator against published numbers, row by row, each with a tolerance
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(Reproduce),
    /// Import topologies, flows and settings of another simulator, and report on every line
    #[command(after_help = examples::IMPORT)]
    Import(Import),
    /// Export tables (Parquet, Arrow), a Perfetto trace, or files for the public HPCC simulator
    #[command(after_help = examples::EXPORT)]
    Export(Export),
    /// Draw report.html of a results directory again
    #[command(after_help = examples::REPORT)]
    Report(Report),
    /// Compare runs on one page: pictures, every metric, differences with confidence intervals
    #[command(after_help = examples::COMPARE)]
    Compare(Compare),
    /// Play with the simulator in a browser; the page is served to this machine only
    #[command(after_help = examples::PLAY)]
    Play(Play),
    /// Explain completion times: queueing, pauses, windows, losses and hosts, in parts that add up exactly
    #[command(after_help = examples::WHY)]
    Why(WhyArgs),
    /// Follow one packet: times at each hop, queues, marks, losses and retransmissions
    #[command(after_help = examples::TRACE)]
    Trace(Trace),
    /// List control laws, or show one law with its parameters
    #[command(after_help = examples::LAWS)]
    Laws(Laws),
    /// List laws, workloads, presets, metrics, columns or benches
    #[command(after_help = examples::LIST)]
    List(List),
    /// Explain a scenario key, a column, a metric or a key of a JSON file
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Print the JSON Schema of scenario files, for editors
    #[command(after_help = examples::SCHEMA)]
    Schema,
    /// Check this machine: cores, memory, disk, and programs that some commands need
    #[command(after_help = examples::DOCTOR)]
    Doctor(Doctor),
    /// Print completions for a shell: forebay completions bash > ~/.local/share/bash-completion/completions/forebay
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Write manual pages
    #[command(after_help = examples::MAN)]
    Man(Man),
    /// Sense, record and control host congestion on this Linux machine (runs forebay-agent)
    #[command(disable_help_flag = true)]
    Agent(Agent),
    /// One run of a sweep, in a process of its own
    #[command(hide = true)]
    Worker(Worker),
}

/// Arguments that are passed on to the agent.
#[derive(Clone, Debug, Args)]
pub struct Agent {
    /// Command and options of forebay-agent
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<std::ffi::OsString>,
}

#[derive(Clone, Debug, Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

#[derive(Clone, Debug, Args)]
pub struct Man {
    /// Folder for the pages; forebay makes it if it is missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// A scenario, and settings on top of it.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// Scenario file; - reads standard input
    #[arg(required_unless_present = "preset")]
    pub file: Option<PathBuf>,
    /// Use a scenario that comes with forebay instead (see: forebay list presets)
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub preset: Option<String>,
    /// Override a key of the scenario: --set traffic[0].load=0.7
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
}

/// Which seeds.
#[derive(Clone, Debug, Default, Args)]
pub struct SeedArgs {
    /// Simulate this seed instead of the scenario's seeds; may be repeated
    #[arg(long, value_name = "N", value_parser = a_seed, allow_negative_numbers = true)]
    pub seed: Vec<u64>,
    /// Simulate these seeds instead of the scenario's seeds: --seeds 1,2,3
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', value_parser = a_seed, allow_negative_numbers = true)]
    pub seeds: Vec<u64>,
}

/// How much to show while at work.
#[derive(Clone, Copy, Debug, Args)]
pub struct Verbosity {
    /// Progress on stderr; auto: a bar on a terminal, elsewhere a line at the start and at the end
    #[arg(long, value_name = "MODE", default_value = "auto", hide_possible_values = false)]
    pub progress: Progress,
    /// Print nothing but warnings and errors
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    Auto,
    Bar,
    Jsonl,
    Off,
}

#[derive(Clone, Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub seeds: SeedArgs,
    /// Threads of each simulation; results do not depend on their number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one, allow_negative_numbers = true)]
    pub threads: usize,
    /// Seeds simulated at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Write the frames of a port to a pcapng file, instead of the scenario's captures; may be repeated:
    /// --capture "leaf[0]->spine[1]" or --capture "leaf[0].host[3]"
    #[arg(long, value_name = "PLACE")]
    pub capture: Vec<String>,
    /// Log the law of this flow (its number in flows.csv) as law-FLOW-seed-SEED.log in the results directory, like the
    /// key output.law_log; "forebay laws replay LOG" replays the log
    #[arg(long, value_name = "FLOW", value_parser = a_flow, allow_negative_numbers = true)]
    pub law_log: Option<u32>,
    /// Run the laws of hosts (host.memory.control) in a forebay-agent, in lockstep; results are the same
    #[arg(long)]
    pub agent: bool,
    /// Results directory [default: results/NAME, or results/NAME-2 and so on if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the run in the results directory
    #[arg(long)]
    pub force: bool,
    /// Start even if the run is expected to need more memory or disk than is free
    #[arg(long)]
    pub over_budget: bool,
    /// Print summary.json on stdout instead of the table
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub show: Verbosity,
}

#[derive(Clone, Debug, Args)]
pub struct Watch {
    #[command(flatten)]
    pub input: Input,
    /// Seed to watch [default: the scenario's first]
    #[arg(long, value_name = "N", value_parser = a_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Threads of the simulation; results do not depend on their number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one, allow_negative_numbers = true)]
    pub threads: usize,
    /// Simulated time per second of real time, for instance 100us [default: a thirtieth of the run]
    #[arg(long, value_name = "TIME", value_parser = a_span)]
    pub pace: Option<Span>,
    /// Print a line per interval of simulated time instead of the view [default without a terminal: a twentieth
    /// of the run]
    #[arg(long, value_name = "TIME", value_parser = a_span, conflicts_with = "pace")]
    pub every: Option<Span>,
    /// Print lines of JSON instead of the view
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Sweep {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub seeds: SeedArgs,
    /// Threads of each simulation; results do not depend on their number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one, allow_negative_numbers = true)]
    pub threads: usize,
    /// Simulations at the same time, each in a process [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Directory of the sweep; complete runs in it are kept [default: results/NAME-sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Start even if the sweep is expected to need more memory or disk than is free
    #[arg(long)]
    pub over_budget: bool,
    /// Print sweep.json on stdout instead of the table
    #[arg(long)]
    pub json: bool,
    /// Continue an earlier sweep, which is the default
    #[arg(long, hide = true)]
    pub resume: bool,
    #[command(flatten)]
    pub show: Verbosity,
}

#[derive(Clone, Debug, Args)]
pub struct Worker {
    #[arg(long)]
    pub out: PathBuf,
    /// Folder of the scenario's files
    #[arg(long)]
    pub base: PathBuf,
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

#[derive(Clone, Debug, Args)]
pub struct New {
    /// Name of the example (see: forebay list presets)
    #[arg(default_value = "websearch")]
    pub preset: String,
    /// File to write, as with --out. A folder if the example has several files
    #[arg(value_name = "PLACE", conflicts_with = "out")]
    pub to: Option<PathBuf>,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

impl New {
    /// File or folder to write.
    pub fn place(&self) -> Option<&PathBuf> {
        self.to.as_ref().or(self.out.as_ref())
    }
}

#[derive(Clone, Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub input: Input,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the scenario with every default spelled out
    #[arg(long, conflicts_with = "json")]
    pub resolved: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Bench {
    /// Names of benches (see: forebay list benches); without a name: the usual ones, which take some minutes
    pub names: Vec<String>,
    /// Threads of the simulation
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one, allow_negative_numbers = true)]
    pub threads: usize,
    /// Size of a full data packet in bytes, header included: 4096 or 1500
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Virtual time to measure after the warm-up, such as 2ms
    #[arg(long, value_name = "SPAN")]
    pub time: Option<String>,
    /// Print one JSON object (an array for several)
    #[arg(long)]
    pub json: bool,
    /// Print the scenario of the bench instead of running it
    #[arg(long, conflicts_with = "json")]
    pub scenario: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Reproduce {
    /// Suite: analytic, tcp-nv, linux, hostcc, hiercc, htsim, pcc-dilemma, rdma, expresspass, homa, ndp, aeolus, powertcp or carc; or
    /// one part, such as hostcc/fig10, of hostcc, hiercc, htsim, pcc-dilemma, rdma or carc. With --all there may be several
    #[arg(value_name = "SUITE", required_unless_present_any = ["stated", "all"])]
    pub suites: Vec<String>,
    /// Run nothing: show how many of the numbers of the five papers are in, by recorded verdicts
    #[arg(long, conflicts_with_all = ["suites", "json", "quick", "strict", "pictures", "sensitivity", "seeds", "all"])]
    pub stated: bool,
    /// Run all suites, or those that are named, and write the rows of each into a file as it ends. The same command again
    /// keeps finished suites of the same version, and runs the others
    #[arg(long, conflicts_with_all = ["json", "pictures", "sensitivity", "seeds"])]
    pub all: bool,
    /// Suites at the same time; each uses all cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one, allow_negative_numbers = true, requires = "all")]
    pub jobs: usize,
    /// Folder of the files of --all
    #[arg(long, value_name = "DIR", default_value = "reproduced", requires = "all")]
    pub out: PathBuf,
    /// Print the rows as a JSON array
    #[arg(long)]
    pub json: bool,
    /// Use shorter runs where a row allows that, with the same tolerances
    #[arg(long)]
    pub quick: bool,
    /// End with exit code 3 if a row is out of tolerance
    #[arg(long)]
    pub strict: bool,
    /// Write one HTML page: every number as published and measured, verdicts, causes and pictures. The file is SUITE.html
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["all", "stated"])]
    pub page: Option<Option<PathBuf>>,
    /// Write the suite's pictures into this folder
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Instead of the rows, show how open settings were chosen and how each changes the rows
    #[arg(long, conflicts_with_all = ["json", "strict", "pictures", "page"])]
    pub sensitivity: bool,
    /// Instead of the rows, run them with this number of seed sets, and show which verdicts change
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=100), conflicts_with_all = ["strict", "pictures", "page", "sensitivity"])]
    pub seeds: Option<u64>,
    #[command(flatten)]
    pub show: Verbosity,
}

#[derive(Clone, Debug, Args)]
pub struct Import {
    #[command(subcommand)]
    pub format: Format,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Format {
    /// Topology, flow and config files of the public HPCC simulator (ns-3) and its forks
    #[command(name = "ns3-hpcc")]
    Hpcc {
        /// Config file; it names topology and flow file unless the options below do
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Topology file
        #[arg(long, value_name = "FILE", required_unless_present = "config")]
        topology: Option<PathBuf>,
        /// Flow file
        #[arg(long, value_name = "FILE", required_unless_present = "config")]
        flows: Option<PathBuf>,
        /// Paths of single flows: lines of flow,switches of data,switches of ACKs, by number
        #[arg(long, value_name = "FILE")]
        paths: Option<PathBuf>,
        /// Move everything so that the first flow starts at this time, for instance 0s [default: as the file says, usually 2 s]
        #[arg(long, value_name = "TIME")]
        start_at: Option<Time>,
        /// What the last three of six columns of the flow file are, if that is not clear: port,bytes,start or packets,start,end
        #[arg(long, value_name = "COLUMNS", value_parser = flow_columns)]
        flow_columns: Option<FlowForm>,
        #[command(flatten)]
        into: ImportTarget,
    },
    /// Connection matrix (.cm), topology (.topo) and flags of csg-htsim
    Htsim {
        /// Connection matrix
        matrix: PathBuf,
        /// Topology [default: the fat tree that htsim makes of the number of nodes]
        #[arg(long, value_name = "FILE")]
        topology: Option<PathBuf>,
        #[command(flatten)]
        command: HtsimCommand,
        #[command(flatten)]
        into: ImportTarget,
    },
    /// Flow sizes: two columns, bytes and cumulative probability or per cent, in either order
    Cdf {
        /// CDF file
        file: PathBuf,
        /// How sizes are drawn: lin (straight lines between the points) or step [default: as the file's own mean says, else lin]
        #[arg(long, value_name = "MODE", value_parser = cdf_mode)]
        mode: Option<bool>,
        /// The file counts packets of this size instead of bytes, for instance 1460B
        #[arg(long, value_name = "SIZE")]
        packet: Option<Bytes>,
        #[command(flatten)]
        into: ImportTarget,
    },
}

/// The command line of csg-htsim, with its defaults.
#[derive(Clone, Debug, Args)]
pub struct HtsimCommand {
    /// Transport: ndp [default: DCTCP stands in]
    #[arg(long, value_name = "NAME")]
    pub transport: Option<String>,
    /// First window, in packets [default: 15]
    #[arg(long, value_name = "PACKETS", value_parser = a_whole_number, allow_negative_numbers = true)]
    pub cwnd: Option<u64>,
    /// Limit of a queue, in packets [default: 15]
    #[arg(short = 'q', value_name = "PACKETS", value_parser = a_whole_number, allow_negative_numbers = true)]
    pub queue: Option<u64>,
    /// Payload of a packet [default: 9000]
    #[arg(long, value_name = "BYTES", value_parser = a_whole_number, allow_negative_numbers = true)]
    pub mtu: Option<u64>,
    /// How packets find their paths: perm, rand, pull, ecmp or ecmp_host
    #[arg(long, value_name = "NAME")]
    pub strat: Option<String>,
    /// Number of paths of a flow [default: all]
    #[arg(long, value_name = "PATHS", value_parser = a_whole_number, allow_negative_numbers = true)]
    pub paths: Option<u64>,
    /// End of the run, in microseconds [default: when all flows are over]
    #[arg(long, value_name = "US", value_parser = a_whole_number, allow_negative_numbers = true)]
    pub end: Option<u64>,
    /// Rate of links in Mb/s, where no topology says it [default: 100000]
    #[arg(long, value_name = "MBPS", value_parser = a_whole_number, allow_negative_numbers = true)]
    pub linkspeed: Option<u64>,
    /// Delay of links in microseconds, where no topology says it [default: 1]
    #[arg(long, value_name = "US")]
    pub hop_latency: Option<f64>,
    /// Delay of switches in microseconds, where no topology says it [default: 0]
    #[arg(long, value_name = "US")]
    pub switch_latency: Option<f64>,
}

/// Where an import goes.
#[derive(Clone, Debug, Args)]
pub struct ImportTarget {
    /// Folder for scenario.toml, the files that it names, and import.txt
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace the import in the folder
    #[arg(long)]
    pub force: bool,
    /// Report only changes and omissions
    #[arg(long)]
    pub brief: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Export {
    /// What to write
    pub what: Exported,
    /// Scenario file or results directory; fct, perfetto, parquet and arrow need a results directory
    pub from: PathBuf,
    /// Flows of this seed [default: the first]
    #[arg(long, value_name = "N", value_parser = a_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Output file instead of stdout; perfetto: instead of DIR/trace.pftrace; parquet and arrow: output folder instead of DIR
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// paths: write numbers of switches instead of names, and number flows as "export flows" does
    #[arg(long)]
    pub numbers: bool,
    /// fct: time until the sender has the last ACK, or until the receiver has all data
    #[arg(long, value_name = "WHICH", default_value = "acked")]
    pub fct: Completion,
    /// fct: ideal time as the public HPCC simulator counts it, or as forebay does
    #[arg(long, value_name = "WHOSE", default_value = "hpcc")]
    pub ideal: Ideal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exported {
    /// Nodes and links
    Topology,
    /// Flows with their starts
    Flows,
    /// Switches that each flow takes, and its ACKs
    Paths,
    /// Completion times: sip dip sport dport size start fct standalone_fct, in ns
    Fct,
    /// Flows, RPCs, queues, windows and hosts over time, for https://ui.perfetto.dev
    Perfetto,
    /// All tables as Parquet files (polars, pandas, DuckDB, Spark): NAME.parquet for each NAME.csv with rows
    Parquet,
    /// All tables as Arrow IPC files (Feather): NAME.arrow for each NAME.csv with rows
    Arrow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Completion {
    Acked,
    Delivered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ideal {
    Hpcc,
    Forebay,
}

#[derive(Clone, Debug, Args)]
pub struct Compare {
    /// Results directories, sweep directories or scenario files; missing runs of a scenario are simulated into
    /// results/NAME-sweep; every run is compared with the first
    #[arg(required = true, value_name = "RUN")]
    pub places: Vec<PathBuf>,
    /// Override a key of the scenario files: --set traffic[0].load=0.7
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    pub seeds: SeedArgs,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", default_value = "compare.html")]
    pub out: PathBuf,
    /// Compare runs with different definitions; the page lists the differences
    #[arg(long)]
    pub force: bool,
    /// Start simulations even if they are expected to need more memory or disk than is free
    #[arg(long)]
    pub over_budget: bool,
    /// Print all numbers as JSON on stdout instead of the table
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub show: Verbosity,
}

#[derive(Clone, Debug, Args)]
pub struct Report {
    /// Results directory
    pub dir: PathBuf,
    /// Write the report to this file instead of DIR/report.html
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub struct Play {
    /// Port on 127.0.0.1; 0: any free port
    #[arg(long, value_name = "N", default_value_t = 8417)]
    pub port: u16,
    /// Open no browser
    #[arg(long)]
    pub no_open: bool,
    /// Folder of the page [default: next to this program]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub struct WhyArgs {
    /// Results directory
    #[arg(value_name = "RUN")]
    pub dir: PathBuf,
    /// Explain this flow (its number in flows.csv) [default: the slowest 1 % by slowdown]
    #[arg(long, value_name = "N", conflicts_with_all = ["p99", "size"], value_parser = a_flow, allow_negative_numbers = true)]
    pub flow: Option<u32>,
    /// Explain this RPC (its row in rpcs.csv, from 0): request, server and response
    #[arg(long, value_name = "N", conflicts_with_all = ["p99", "size", "flow"], value_parser = an_rpc, allow_negative_numbers = true)]
    pub rpc: Option<u32>,
    /// Explain the critical path of this collective (its row in collectives.csv of the seed, from 0) [default, if there are any: the slowest]
    #[arg(long, value_name = "N", conflicts_with_all = ["p99", "size", "flow", "rpc"], value_parser = a_collective, allow_negative_numbers = true)]
    pub collective: Option<u32>,
    /// Explain the slowest 1 % by slowdown
    #[arg(long)]
    pub p99: bool,
    /// Explain flows of these sizes, such as 1MB.. or 10KB..100KB; with --p99 the slowest of them
    #[arg(long, value_name = "FROM..TO", value_parser = sizes)]
    pub size: Option<(u64, u64)>,
    /// Seed to explain [default: the first]
    #[arg(long, value_parser = a_seed)]
    pub seed: Option<u64>,
    /// Print all parts as JSON on stdout instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Trace {
    #[command(flatten)]
    pub input: Input,
    /// Flow of the packet (its number in flows.csv, from 0)
    #[arg(long, value_name = "N", value_parser = a_flow, allow_negative_numbers = true)]
    pub flow: u32,
    /// Data packet of the flow, from 1 in the order of first transmission
    #[arg(long, value_name = "N", value_parser = a_packet, allow_negative_numbers = true)]
    pub packet: usize,
    /// Seed to run [default: the scenario's first]
    #[arg(long, value_name = "N", value_parser = a_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Print JSON, with all times in ps
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Args)]
pub struct Laws {
    /// Law to show; "replay LOG" replays a log of a law (key output.law_log)
    pub name: Option<String>,
    /// Log to replay
    #[arg(requires = "name")]
    pub log: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Args)]
pub struct List {
    /// What to list [default: what can be listed]
    pub what: Option<Kind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Laws,
    Workloads,
    Presets,
    Metrics,
    Columns,
    Benches,
}

#[derive(Clone, Debug, Args)]
pub struct Explain {
    /// Name of a scenario key, a column, a metric, or a key of a JSON file
    pub name: String,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().into(), value.trim().into()))
        }
        _ => Err("write KEY=VALUE, for instance traffic[0].load=0.7".into()),
    }
}

fn sizes(text: &str) -> Result<(u64, u64), String> {
    let end = |text: &str, open: u64| match text.trim() {
        "" => Ok(open),
        text => text.parse::<Bytes>().map(Bytes::get).map_err(|why| format!("{text:?} {why}")),
    };
    let (from, to) = text
        .split_once("..")
        .ok_or("write FROM..TO with units, for instance 10KB..100KB or 1MB..")?;
    match (end(from, 0)?, end(to, u64::MAX)?) {
        (from, to) if from < to => Ok((from, to)),
        _ => Err(format!("no size is in it; write the smaller end first, {to}..{from}")),
    }
}

fn flow_columns(text: &str) -> Result<FlowForm, String> {
    let known = SIX_COLUMNS.iter().find(|(columns, _)| *columns == text);
    let [(one, _), (other, _)] = SIX_COLUMNS;
    known.map(|(_, form)| *form).ok_or_else(|| format!("write {one} or {other}"))
}

/// Whether lines join the points.
fn cdf_mode(text: &str) -> Result<bool, String> {
    match text {
        "lin" => Ok(true),
        "step" => Ok(false),
        _ => Err("write lin or step".into()),
    }
}

fn a_span(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|why| format!("{text:?} {why}"))?;
    match span.as_ps() {
        0 => Err("write more than no time, for instance 100us".into()),
        _ => Ok(span),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("write a whole number from 1 to 1024".into()),
    }
}

fn a_flow(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| "flows are numbered 0, 1, 2, as in flows.csv".into())
}

fn a_collective(text: &str) -> Result<u32, String> {
    let numbers = "collectives are numbered 0, 1, 2, as the rows of collectives.csv";
    text.trim().parse().map_err(|_| numbers.into())
}

fn an_rpc(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| "RPCs are numbered 0, 1, 2, as the rows of rpcs.csv".into())
}

fn a_whole_number(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "write a whole number in digits".into())
}

fn a_packet(text: &str) -> Result<usize, String> {
    let packet = text.parse().ok().filter(|packet| *packet > 0);
    packet.ok_or_else(|| "packets are numbered 1, 2, 3, as they were first sent".into())
}

fn a_seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        "write whole numbers from 0 on, with commas between them: --seeds 1,2,3,4,5".into()
    })
}

/// A sentence about a word that is no command: of `forebay`, or of one of its verbs that have commands of their own.
pub fn no_command(typed: &[String], word: &str) -> Option<String> {
    use clap::CommandFactory;
    let cli = Cli::command();
    let near = |command: &clap::Command| {
        let known = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let near = known.map(|verb| (slips(word, verb.get_name()), verb.get_name().to_owned()));
        near.filter(|(slips, name)| *slips <= 2 && *slips < name.len()).min().map(|(_, name)| name)
    };
    if typed.first().is_some_and(|first| first == word) {
        let meant = near(&cli)?;
        return Some(format!(
            "there is no command \"{word}\"; did you mean \"{meant}\"? (forebay --help lists them)"
        ));
    }
    let verb = cli.find_subcommand(typed.first()?)?;
    let (name, meant) = (verb.get_name(), near(verb));
    let meant = meant.map_or(String::new(), |meant| format!("did you mean \"{meant}\"? "));
    let known: Vec<&str> = verb.get_subcommands().map(clap::Command::get_name).collect();
    let known = known.join(", ");
    Some(format!("forebay {name} has no command \"{word}\"; {meant}use one of {known}"))
}

/// A sentence about an option that stands where the value of the one before it is sought.
pub fn no_value(typed: &[String], word: &str) -> Option<String> {
    use clap::CommandFactory;
    let at = typed.iter().position(|arg| arg == word && arg.starts_with('-'))?;
    let before = at.checked_sub(1).map(|at| &typed[at])?;
    let cli = Cli::command();
    let verb = cli.find_subcommand(typed.first()?)?;
    let option = verb.get_arguments().find(|arg| {
        let long = arg.get_long().is_some_and(|long| *before == format!("--{long}"));
        long && arg.get_action().takes_values()
    })?;
    let name = option.get_long()?;
    Some(format!(
        "--{name} needs a value, and {word} looks like an option; if it is the value, write --{name}={word}"
    ))
}

/// Letters to change, leave out, put in, or swap with their neighbour.
fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
