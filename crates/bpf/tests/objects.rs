//! The objects are what their sources say, as far as the clang that is here makes the same of them.

use forebay_bpf_law::elf::Elf;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each object, and whether it has type information.
const OBJECTS: [(&str, bool); 8] = [
    ("echo", false),
    ("nv", true),
    ("reno", true),
    ("cubic", true),
    ("dctcp", true),
    ("halve", true),
    ("parts", true),
    ("wrong", true),
];

/// Sections of code and data, by which two objects are compared: others name folders and compilers. Calls of kernel functions and numbers are
/// filled in later, so that the bytes of these sections say all.
fn parts(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let elf = Elf::read(bytes).expect("an object");
    let kinds = [".rodata", ".data", ".struct_ops.link", "license"];
    let wanted = elf.sections.iter().filter(|of| of.code || kinds.contains(&of.name));
    wanted.map(|of| (of.name.to_string(), of.data.to_vec())).collect()
}

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
            .args(["-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"])
            .arg("-ffile-compilation-dir=."); // no folder of the machine that compiles
        // One of the faults that `wrong` has.
        clang.args((name == "wrong").then_some("-Wno-infinite-recursion"));
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
        let [made, kept] = [&made, &kept].map(|bytes| parts(bytes));
        let names = |of: &[(String, Vec<u8>)]| -> Vec<_> {
            of.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&made), names(&kept), "{name}");
        assert!(made.iter().any(|(_, bytes)| bytes.len() > 8), "{name} has code");
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

/// The folder of whoever compiles an object says nothing about the object, and would change its bytes and their SHA-256.
#[test]
fn types_of_objects_name_no_folder_of_a_machine() {
    for (name, types) in OBJECTS {
        let bytes = fs::read(folder("obj").join(format!("{name}.bpf.o"))).expect("kept");
        let object = Elf::read(&bytes).expect("an object");
        let Some(btf) = object.section(".BTF").map(|of| of.data) else {
            assert!(!types, "{name}");
            continue;
        };
        let word = |at: usize| u32::from_le_bytes(*btf[at..].first_chunk().expect("a header"));
        let from = (word(4) + word(16)) as usize;
        let strings = btf[from..from + word(20) as usize].split(|byte| *byte == 0);
        let strings: Vec<_> = strings.map(String::from_utf8_lossy).collect();
        let source = format!("./{name}.bpf.c");
        assert!(strings.iter().any(|of| *of == source), "{name}: {source} is not in .BTF");
        assert_eq!(strings.iter().find(|of| of.starts_with('/')), None, "{name}");
    }
}

/// No cut and no wrong byte of an object makes its reader panic, and a cut one never has a program more.
#[test]
fn a_cut_or_broken_object_is_read_without_harm() {
    let programs = |bytes: &[u8]| {
        let object = Elf::read(bytes).ok()?;
        Some(["tc", "cgroup"].iter().filter(|name| object.program(name).is_some()).count())
    };
    let bytes = forebay_bpf::ECHO;
    assert_eq!(programs(bytes), Some(2));
    for cut in (0..bytes.len()).step_by(41) {
        assert!(programs(&bytes[..cut]).is_none_or(|left| left <= 2), "{cut}");
        let mut other = bytes.to_vec();
        other[cut] ^= 0xff;
        let _ = programs(&other);
    }
    for at in 0..64 {
        let mut other = bytes.to_vec();
        other[at] ^= 0xff;
        let _ = programs(&other);
    }
}

/// Two maps, each named by a number of 64 bits whose source register says that it is a map's descriptor.
#[test]
fn the_program_of_a_section_names_its_maps() {
    let elf = Elf::read(forebay_bpf::ECHO).expect("an object");
    let (code, names) = elf.program("tc").expect("it has this program");
    let known: std::collections::BTreeSet<_> = names.iter().map(|(_, name)| *name).collect();
    assert_eq!(known.into_iter().collect::<Vec<_>>(), ["counts", "lease"]);
    assert!(names.iter().all(|(at, _)| code[*at] & 0xf0ff == 0x1018), "{names:?}");
    assert!(elf.program("xdp").is_none());
}
