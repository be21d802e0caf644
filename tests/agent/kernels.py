#!/usr/bin/env python3
"""The agent under other kernels, in guests without a disk: `guest.py` runs there.

    kernels.py uml               Debian's user-mode Linux (6.1): no privilege, boots in a second, its root is this machine's, read only
    kernels.py qemu [6.1 6.12]   Debian's kernels for clouds, in QEMU: interpreted, which takes minutes of CPU; FOREBAY_KVM=1 by KVM

Kernels come by `apt-get download` into target/kernels. What is missing is skipped by name; FOREBAY_REQUIRE=uml or qemu makes that a failure.
"""
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import programs as test_programs  # noqa: E402

KEPT = ROOT / "target/kernels"
GUEST = Path(__file__).with_name("guest.py")
PASSED = "guest: passed"
# What guest.py and marks.py import.
IMPORTS = "ctypes json os re shutil signal socket statistics subprocess sys tempfile threading time traceback pathlib selectors encodings.idna"
# What they want of a kernel that has it as a module.
MODULES = ["ipv6", "veth", "sch_ingress", "cls_bpf", "act_bpf", "tcp_nv", "sch_netem", "sch_tbf"]


def skip(kind, why):
    if kind in os.environ.get("FOREBAY_REQUIRE", "").split(","):
        sys.exit(f"FOREBAY_REQUIRE={kind}, but {why}")
    print(f"skipped: {kind}: {why}")
    sys.exit(0)


def tries():
    """How often each fault is tried."""
    return int(os.environ.get("FOREBAY_FAULTS", "2"))


def lines_of(*words, **how):
    done = subprocess.run(words, capture_output=True, text=True, **how)
    return done.stdout.splitlines() if done.returncode == 0 else []


def package(kind, name, wanted):
    """The folder with the files of a Debian package; `wanted` is one of them."""
    folder = KEPT / name
    if any(folder.glob(wanted)):
        return folder
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        skip(kind, f"the package {name} comes by apt-get and dpkg-deb, which are not here")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = subprocess.run(["apt-get", "download", "-q", name], cwd=folder, capture_output=True, text=True)
    files = list(folder.glob("*.deb"))
    if not files:
        last = (done.stderr.strip().splitlines() or ["no package"])[-1]
        skip(kind, f"apt-get download {name}: {last}")
    subprocess.run(["dpkg-deb", "-x", files[0], folder], check=True)
    files[0].unlink()
    return folder


def newest(kind, version):
    """Name of the newest kernel package for clouds of such a version."""
    if not shutil.which("apt-cache"):
        skip(kind, "kernels are found by apt-cache, which is not here")
    found = [line.split()[0] for line in lines_of("apt-cache", "search", f"^linux-image-{version}\\.[0-9].*-cloud-amd64$")]
    if not found:
        skip(kind, f"apt-cache knows no linux-image-{version}.*-cloud-amd64; try apt-get update")
    return max(found, key=lambda name: [int(n) for n in re.findall("[0-9]+", name)])


def programs():
    """The agent, its test of faults and the commands of the guest, built here."""
    # Of all packages, as `./test tests` compiles them: by itself the agent would have other features of what it depends on.
    messages = test_programs.compiled(["test", "--no-run"], ["--workspace", "--test", "faults"])
    if messages is None:
        sys.exit("the agent's test of faults cannot be built")
    found = {of["target"]["name"]: Path(of["executable"]) for of in messages}
    return found["forebay-agent"] if "forebay-agent" in found else ROOT / "target/debug/forebay-agent", found["faults"]


def modules(folder, names, plain=None):
    """Modules and what they need, in the order in which they load. `plain`: a folder for those that are packed here."""
    folder = next(folder.glob("**/modules/*/kernel"))
    known = {path.name.split(".ko")[0].replace("-", "_"): path for path in folder.rglob("*.ko*")}
    order = []

    def add(name):
        path = known.get(name.replace("-", "_"))
        if path is None or path in order:
            return
        code = path.read_bytes()
        if path.suffix == ".xz":
            code = lzma.decompress(code)
        needs = re.search(rb"\0depends=([^\0]*)\0", code)
        for need in (needs[1].decode().split(",") if needs else []):
            add(need)
        order.append(path)

    for name in names:
        add(name)
    if plain is None:
        return order
    plain.mkdir(parents=True, exist_ok=True)
    unpacked = []
    for path in order:
        code = path.read_bytes()
        to = plain / path.name.removesuffix(".xz")
        to.write_bytes(lzma.decompress(code) if path.suffix == ".xz" else code)
        unpacked.append(to)
    return unpacked


def boot(kind, words, limit):
    """Boots a guest, prints what it says, and whether it passed."""
    guest = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    late = threading.Event()

    def end():
        late.set()
        os.killpg(guest.pid, 9)

    timer = threading.Timer(limit, end)
    timer.start()
    said, passed = [], False
    for line in guest.stdout:
        line = re.sub(r"\x1b(c|\[[?0-9;]*[A-Za-z])|\r", "", line.decode(errors="replace")).rstrip()
        said.append(line)
        passed |= line == PASSED
        if line.startswith("guest: "):
            print(f"{kind}: {line.removeprefix('guest: ')}", flush=True)
    guest.wait()
    timer.cancel()
    if not passed:
        print("\n".join(said[-60:]))
        sys.exit(f"{kind}: the guest {f'had not ended after {limit} s' if late.is_set() else 'did not pass'}")


def uml():
    agent, faults = programs()
    linux = shutil.which("linux.uml")
    if linux is None or not Path("/usr/lib/uml/modules").is_dir():
        at = package("uml", "user-mode-linux", "usr/bin/linux.uml")
        linux, modules_at = at / "usr/bin/linux.uml", at / "usr/lib/uml"
    else:
        modules_at = Path("/usr/lib/uml")
    of = [str(path) for path in modules(modules_at, MODULES)]
    init = KEPT / "uml-init"
    orders = {"agent": str(agent), "faults": str(faults), "modules": of, "checkout": str(ROOT), "scratch": [str(ROOT / "target/tmp")]}
    # Faults of marks take half of the CPU time, and are tried on the machine itself and in QEMU: here where FOREBAY_FAULTS asks for them.
    orders |= {"brief": True, "path": os.environ["PATH"], "faults_tries": os.environ.get("FOREBAY_FAULTS")}
    init.write_text(f"#!{sys.executable} -B\nimport sys\nsys.path.insert(0, {str(GUEST.parent)!r})\nimport guest\nguest.main({orders!r})\n")
    init.chmod(0o755)
    (ROOT / "target/tmp").mkdir(exist_ok=True)
    boot(
        "uml",
        [linux, "mem=512M", "rootfstype=hostfs", "root=/dev/root", "rootflags=/", "ro", f"init={init}", "con=null", "con0=null,fd:1", "quiet", "panic=1"],
        1200 + 120 * tries(),  # a guest that hangs; a busy machine is slow
    )


class Image:
    """An archive of files, in the format that the kernel unpacks (cpio, newc)."""

    def __init__(self):
        self.names, self.bytes = set(), bytearray()

    def entry(self, name, mode, data=b"", device=(0, 0)):
        name = name.strip("/")
        if name in self.names:
            return
        self.names.add(name)
        if "/" in name:
            self.entry(name.rsplit("/", 1)[0], stat.S_IFDIR | 0o755)
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
        self.bytes += b"070701" + b"".join(b"%08X" % of for of in fields) + name.encode() + b"\0"
        self.bytes += bytes(-len(self.bytes) % 4) + data
        self.bytes += bytes(-len(self.bytes) % 4)

    def file(self, path, to=None):
        path = Path(path)
        self.entry(str(to or path), stat.S_IFREG | (path.stat().st_mode & 0o777), path.read_bytes())

    def program(self, path, to=None):
        """A program with the libraries that it is linked with."""
        self.file(path, to)
        for line in lines_of("ldd", path):
            found = re.search(r"(/\S+) \(0x", line)
            if found:
                self.file(found[1])

    def write(self, path):
        self.entry("TRAILER!!!", 0)
        path.write_bytes(self.bytes)


def image(at, orders):
    """The guest's whole root: Python with what the tests import, `ip`, `tc`, the agent."""
    root = Image()
    for folder in ("proc", "sys", "dev", "tmp", "run", "root", "etc"):
        root.entry(folder, stat.S_IFDIR | 0o755)
    root.entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    show = f"import {', '.join(IMPORTS.split())}, sys; print(sys.executable); [print(m.__file__) for m in list(sys.modules.values()) if getattr(m, '__file__', None)]"
    python, *files = lines_of(sys.executable, "-S", "-c", show)
    root.program(python)
    home = Path(os.__file__).parent
    for path in [*files, *(str(path) for path in (home / "encodings").glob("*.py"))]:
        if path.endswith(".so"):
            root.program(path)
        else:
            root.file(path)
    for name in ("ip", "tc", "sleep"):
        root.program(shutil.which(name), f"bin/{name}")
    for path in (orders["agent"], orders["faults"]):
        root.program(path)
    for path in (GUEST, GUEST.with_name("marks.py"), *orders["modules"]):
        root.file(path)
    text = f"#!{python} -SB\nimport sys\nsys.path.insert(0, {str(GUEST.parent)!r})\nimport guest\nguest.main({orders!r})\n"
    root.entry("init", stat.S_IFREG | 0o755, text.encode())
    root.write(at)
    return at


def qemu(version):
    kind = f"qemu {version}"
    if not shutil.which("qemu-system-x86_64"):
        if os.geteuid() == 0 and shutil.which("apt-get"):
            words = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "qemu-system-x86"]
            subprocess.run(words, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, capture_output=True)
        if not shutil.which("qemu-system-x86_64"):
            skip("qemu", "qemu-system-x86_64 is not installed, and cannot be")
    agent, faults = programs()
    at = package("qemu", newest("qemu", version), "boot/vmlinuz-*")
    of = modules(at, MODULES, KEPT / f"modules-{version}")
    orders = {"agent": str(agent), "faults": str(faults), "modules": [str(path) for path in of], "checkout": str(ROOT), "scratch": [str(ROOT / "target/tmp")]}
    fast = os.environ.get("FOREBAY_KVM") == "1"  # not every /dev/kvm boots a kernel
    # Interpreted, a loop of 1 ms is late now and then by more than 50 ms.
    orders |= {"path": "/bin", "faults_tries": os.environ.get("FOREBAY_FAULTS"), "deadline": None if fast else "1s"}
    disk = image(KEPT / f"image-{version}", orders)
    kernel = next(at.glob("boot/vmlinuz-*"))
    words = ["qemu-system-x86_64", "-accel", "kvm" if fast else "tcg", "-cpu", "host" if fast else "max", "-smp", "2" if fast else "1", "-m", "768", "-nographic", "-no-reboot"]
    words += ["-net", "none", "-kernel", kernel, "-initrd", disk, "-append", "console=ttyS0 quiet panic=-1 mitigations=off"]
    boot(kind, words, 2400 + 120 * tries())


def main():
    kind, *versions = sys.argv[1:] or ["uml"]
    KEPT.mkdir(parents=True, exist_ok=True)
    if kind == "uml":
        uml()
    elif kind == "qemu":
        for version in versions or ["6.1", "6.12"]:
            qemu(version)
    else:
        sys.exit(f"{kind!r} is no kind of guest; write uml or qemu")


if __name__ == "__main__":
    main()
