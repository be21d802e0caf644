//! Examples that end the help of each verb. A test runs them as they stand (tests/examples.rs).

pub const NEW: &str = r#"Example:
  forebay new incast --out incast.toml
  forebay check incast.toml"#;

pub const CHECK: &str = r#"Example:
  forebay check --preset websearch --set traffic[0].load=0.9"#;

pub const RUN: &str = r#"Example:
  forebay run --preset incast --set transport.law=cubic --seeds 1,2 --out cubic"#;

pub const WATCH: &str = r#"Example:
  forebay run --preset incast --out a
  forebay watch a                               how far that run is, on another terminal
  forebay watch --preset incast                 simulates it, with a view on a terminal
  forebay watch --preset incast --every 100us   a line for each 100 us of simulated time

Of a scenario, watch starts a simulation of its own. The digest is the same as with forebay run. No results are written.
Of a run, watch reads what that writes into its folder. The results are the same with and without."#;

pub const SWEEP: &str = r#"Example:
  forebay sweep --preset incast --seeds 1,2 --set 'sweep={"transport.law"=["dctcp","cubic"]}'

Write the keys to vary and their values under [sweep] of the scenario. A sweep that is started again continues where it stopped."#;

pub const BENCH: &str = r#"Example:
  forebay bench dctcp-perm-128 --time 200us

Columns: hops is packet-hops. ns/hop is CPU time per packet-hop. hops/s is packet-hops per second of wall-clock time.
cpu/s is CPU seconds per simulated second. peak is the largest memory of the process. B/host is memory per host."#;

pub const REPRODUCE: &str = r#"Example:
  forebay reproduce analytic --quick
  forebay reproduce --all --jobs 2        all suites, in some hours; started again it goes on"#;

pub const IMPORT: &str = r#"Example:
  forebay new permutation --out p.toml
  forebay export topology p.toml --out topology.txt
  forebay export flows p.toml --out flows.txt
  forebay import ns3-hpcc --topology topology.txt --flows flows.txt --out imported"#;

pub const EXPORT: &str = r#"Example:
  forebay run --preset incast --out a
  forebay export perfetto a               a/trace.pftrace, for https://ui.perfetto.dev
  forebay export parquet a                a/flows.parquet and so on, for polars, pandas, DuckDB"#;

pub const REPORT: &str = r#"Example:
  forebay run --preset incast --out a
  forebay report a --out again.html"#;

pub const COMPARE: &str = r#"Example:
  forebay run --preset incast --out a
  forebay run --preset incast --set transport.law=cubic --out b
  forebay compare a b

Of a sweep, the first key with numbers becomes the x axis. The other keys become the runs that are compared.
Runs need the same topology, traffic, headers, clock and measured time, and at least one common seed."#;

pub const PLAY: &str = r#"Example:
  packaging/playground/build.sh           build the page, once
  forebay play --port 0                   take a free port, print the address, open a browser"#;

pub const WHY: &str = r#"Example:
  forebay run --preset incast --out a
  forebay why a

why simulates the seed again and traces the slowest flows. The digest is the same. The parts of each flow add up exactly to its
completion time. RUN/why.csv has them too."#;

pub const TRACE: &str = r#"Example:
  forebay trace --preset incast --flow 3 --packet 17

trace simulates the scenario and follows each copy of the packet. For each node it prints arrival, queue and waiting time.
It also prints marks, trims, drops, losses and retransmissions."#;

pub const LAWS: &str = r#"Example:
  forebay laws dctcp"#;

pub const LIST: &str = r#"Example:
  forebay list presets"#;

pub const EXPLAIN: &str = r#"Example:
  forebay explain slowdown
  forebay explain fabric.switch.buffer"#;

pub const SCHEMA: &str = r#"Example:
  forebay schema > forebay.schema.json"#;

pub const DOCTOR: &str = r#"Example:
  forebay doctor --json"#;

pub const COMPLETIONS: &str = r#"Example:
  forebay completions bash > forebay.bash   for ~/.local/share/bash-completion/completions"#;

pub const MAN: &str = r#"Example:
  forebay man --out man"#;
