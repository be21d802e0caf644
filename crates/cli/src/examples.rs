//! Examples that end the help of each verb. A test runs them as they stand (tests/examples.rs).

pub const NEW: &str = r#"Example:
  forebay new incast --out incast.toml
  forebay check incast.toml"#;

pub const CHECK: &str = r#"Example:
  forebay check --preset websearch --set traffic[0].load=0.9"#;

pub const RUN: &str = r#"Example:
  forebay run --preset incast --set transport.law=cubic --seeds 1,2 --out cubic"#;

pub const WATCH: &str = r#"Example:
  forebay watch --preset incast                 a view of it, on a terminal
  forebay watch --preset incast --every 100us   a line for each 100 us of simulated time

Watching changes nothing: the run ends with the digest that forebay run gives it. It writes no results."#;

pub const SWEEP: &str = r#"Example:
  forebay sweep --preset incast --seeds 1,2 --set 'sweep={"transport.law"=["dctcp","cubic"]}'

What is varied usually stands under [sweep] of the scenario. Started again, a sweep goes on where it was stopped."#;

pub const BENCH: &str = r#"Example:
  forebay bench dctcp-perm-128 --time 200us"#;

pub const REPRODUCE: &str = r#"Example:
  forebay reproduce analytic --quick"#;

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

A sweep is compared with itself: what it varies stands beside each other, along its first key with numbers.
Runs have to be defined alike: the same topology, traffic, headers, clock and measured window, and seeds in common."#;

pub const PLAY: &str = r#"Example:
  packaging/playground/build.sh           build the page, once
  forebay play --port 0                   any free port; prints the address, opens a browser"#;

pub const WHY: &str = r#"Example:
  forebay run --preset incast --out a
  forebay why a

The seed is run once more, with the slowest flows followed. It ends with the same digest, and the parts of each flow add up to its
completion time exactly. They are in RUN/why.csv too."#;

pub const TRACE: &str = r#"Example:
  forebay trace --preset incast --flow 3 --packet 17

The scenario is run, and each copy of that packet followed: when it came to each node, the queue it found there, how long it
waited, where it was marked, trimmed, dropped or lost, and when its sender sent it again."#;

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
  forebay completions bash > forebay.bash   put it into ~/.local/share/bash-completion/completions"#;

pub const MAN: &str = r#"Example:
  forebay man --out man"#;
