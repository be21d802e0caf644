//! What `probe` says of servers that no test runs on: `tests/fixtures/`.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// A tree as a folder; a text is unpacked below a temporary one.
fn tree(name: &str) -> PathBuf {
    let folder = fixtures().join(name);
    if folder.is_dir() {
        return folder;
    }
    let text = fs::read_to_string(folder.with_extension("tree")).expect("a fixture");
    static TREES: AtomicU32 = AtomicU32::new(0); // tests run side by side
    let nth = TREES.fetch_add(1, Ordering::Relaxed);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{nth}"));
    let _ = fs::remove_dir_all(&out);
    for file in text.split("== ").skip(1) {
        let (path, content) = file.split_once('\n').expect("a path and a text");
        let path = out.join(path);
        fs::create_dir_all(path.parent().expect("below the tree")).expect("a folder");
        fs::write(path, content).expect("written");
    }
    out
}

fn probe(root: &Path) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
        .args(["probe", "--json", "--root"])
        .arg(root)
        .output()
        .expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// `yes` or `no`, and why.
fn of(probe: &Value, name: &str) -> (bool, String) {
    let all = probe["findings"].as_array().expect("a list");
    let found = all.iter().find(|of| of["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let can = found["can"].as_bool().expect("yes or no");
    assert!(can || found["why"].as_str().is_some_and(|why| !why.is_empty()), "{name}: no cause");
    (can, format!("{}; try: {}", found["why"], found["remedy"]))
}

#[test]
fn intel_machines_have_both_signals_of_hostcc() {
    for (name, inserts, memory) in [
        ("skx-2s", "0x701000000183", "0x304 and 0xc04"),
        ("icx-2s", "0x7001000000183", "0xf04 and 0x3004"),
        ("spr-2s", "0x7001000000183", "0xcf05 and 0xf005"),
        ("gnr-2s", "0x7001000000183", "0xcf05 and 0xf005"),
    ] {
        let found = probe(&tree(name));
        for (signal, code) in [
            ("I_S", "config 0x40f and 0x1 "),
            ("B_S", &format!("config {inserts} ")),
            ("memory bandwidth", &format!("config {memory} ")),
        ] {
            let (can, why) = of(&found, signal);
            assert!(can && why.contains(code), "{name} {signal}: {why}");
        }
        let (can, why) = of(&found, "NIC eth0");
        assert!(can && why.contains("mlx5_core") && why.contains("behind uncore_iio_1"), "{why}");
    }
}

#[test]
fn a_missing_right_is_named_with_its_remedy() {
    let found = probe(&tree("clx-2s"));
    for signal in ["I_S", "B_S", "memory bandwidth"] {
        let (can, why) = of(&found, signal);
        assert!(!can && why.contains("setcap cap_perfmon+ep"), "{signal}: {why}");
    }
    let (can, why) = of(&found, "clsact");
    assert!(!can && why.contains("lacks cap_bpf,cap_net_admin,cap_perfmon"), "{why}");
    let (can, why) = of(&found, "tcx");
    assert!(!can && why.contains("needs Linux 6.6"), "{why}");
}

#[test]
fn amd_machines_have_no_occupancy_and_say_so() {
    for name in ["zen4-2s", "zen5-2s"] {
        let found = probe(&tree(name));
        let (can, why) = of(&found, "I_S");
        assert!(!can && why.contains("no counter of the lines that wait"), "{name}: {why}");
        let (can, why) = of(&found, "B_S");
        assert!(can && why.contains("0x80700ff1f") && why.contains("amd_df"), "{name}: {why}");
        let (can, why) = of(&found, "memory bandwidth");
        assert!(can && why.contains("2 units amd_umc, config 0x10a and 0x20a"), "{name}: {why}");
        let (can, why) = of(&found, "MBE");
        assert!(can && why.contains("0 to 2048/8 GB/s in steps of 1"), "{name}: {why}");
    }
}

#[test]
fn resctrl_is_there_or_can_be_mounted() {
    let (can, why) = of(&probe(&tree("icx-2s")), "MBA");
    assert!(can && why.contains("10 to 100% in steps of 10, L3 0, 1, 8 groups"), "{why}");
    let (can, why) = of(&probe(&tree("gnr-2s")), "MBA");
    assert!(!can && why.contains("mount -t resctrl resctrl /sys/fs/resctrl"), "{why}");
}

/// Xeon Silver 4309Y: 12 MiB in 12 ways for each socket, by its data sheet. The RDMA device is at the second socket.
#[test]
fn the_limit_of_unread_data_is_three_quarters_of_the_cache_next_to_the_rdma_device() {
    let found = probe(&tree("icx-2s"));
    let (can, why) = of(&found, "last-level cache");
    assert!(can && why.contains("L3, 2 of 12 MiB, 12 ways, lines of 64 B"), "{why}");
    let (can, why) = of(&found, "limit");
    assert!(
        can && why.contains("9 MiB, 147456 lines: the L3 of 12 MiB of the RDMA device's node 1"),
        "{why}"
    );
    let (can, why) = of(&found, "RDMA mlx5_0");
    assert!(can && why.contains("4: ACTIVE, memory node 1"), "{why}");
    let (can, why) = of(&found, "DDIO");
    assert!(!can && why.contains("modprobe msr"), "{why}");
    let (can, why) = of(&probe(&tree("zen4-2s")), "DDIO");
    assert!(!can && why.contains("only Intel processors"), "{why}");
    let (can, why) = of(&probe(&tree("zen4-2s")), "limit");
    assert!(!can && why.contains("names no data cache"), "{why}");
}

/// Every machine gives an answer to everything. Prints how fast; no time fails it.
#[test]
fn the_machine_at_hand_is_probed() {
    let found = probe(Path::new("/"));
    let took = (0..10).map(|_| {
        let clock = forebay_linux::Clock::start();
        probe(Path::new("/"));
        clock.now()
    });
    let best = took.min().expect("ten tries");
    println!("a probe of this machine takes {best:?}");
    for name in
        ["I_S", "B_S", "memory bandwidth", "softnet", "cgroup.freeze", "tcx", "limit", "DDIO"]
    {
        of(&found, name);
    }
}

#[test]
fn a_folder_without_proc_and_sys_is_refused() {
    let out = Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
        .args(["probe", "--root", env!("CARGO_MANIFEST_DIR")])
        .output()
        .expect("it runs");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("no proc and no sys") && said.lines().count() == 1, "{said}");
}
