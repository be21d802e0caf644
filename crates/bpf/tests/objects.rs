//! The objects are what their sources say, as far as the clang that is here makes the same of them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Each object, and whether it has type information.
const OBJECTS: [(&str, bool); 1] = [("echo", false)];

/// Sections of code, by which two objects are compared: others name folders and compilers.
const CODE: [&str; 2] = ["tc", "cgroup"];

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn objects_are_what_their_sources_say() {
    let version = Command::new("clang").arg("--version").output();
    let Ok(version) = version.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()) else {
        println!("skipped: clang is not installed");
        return;
    };
    let same = version.contains("version 14.");
    for (name, types) in OBJECTS {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.bpf.o"));
        let mut clang = Command::new("clang");
        clang
            .current_dir(folder("c"))
            .args(["-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"]);
        clang
            .args(types.then_some("-g"))
            .arg("-c")
            .arg(format!("{name}.bpf.c"))
            .arg("-o")
            .arg(&made);
        let out = clang.output().expect("it runs");
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        if types {
            let strip = Command::new("llvm-strip").arg("-g").arg(&made).status();
            assert!(strip.is_ok_and(|status| status.success()), "llvm-strip comes with llvm");
        }
        let kept = folder("obj").join(format!("{name}.bpf.o"));
        if std::env::var_os("FOREBAY_WRITE").is_some() {
            fs::copy(&made, &kept).expect("written");
        }
        let (made, kept) = (fs::read(&made).expect("made"), fs::read(&kept).expect("kept"));
        let [made, kept] = [&made, &kept].map(|bytes| {
            let object = forebay_linux::bpf::Object::of(bytes).expect("an object");
            CODE.map(|name| object.program(name, |_| Some(7)))
        });
        let there = |of: &[Option<Vec<u64>>; 2]| of.each_ref().map(Option::is_some);
        assert_eq!(there(&made), there(&kept), "{name}");
        if same {
            assert!(
                made == kept,
                "{name}.bpf.o is not what its source says: FOREBAY_WRITE=1 writes it"
            );
        } else {
            println!(
                "{name}: made by another clang than 14, so only its programs' names are compared"
            );
        }
    }
}
