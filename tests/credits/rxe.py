#!/usr/bin/env python3
"""Credits over verbs in a guest: Debian's 6.1 kernel in QEMU, soft-RoCE over a pair of virtual Ethernet devices, then two guests.

    rxe.py [one] [two]      one guest, and two that QEMU connects; both without a word

The kernel and libibverbs come by `apt-get download` into target/kernels. What is missing is skipped by name. `rxe_guest.py` runs there.
"""
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/agent"))
import kernels  # noqa: E402

GUEST = HERE / "rxe_guest.py"
KEPT = kernels.KEPT
MODULES = ["crc32_generic", "crc32c_generic", "veth", "virtio_pci", "virtio_net", "ib_uverbs", "rdma_rxe"]
IMPORTS = "ctypes json os socket subprocess sys time traceback pathlib selectors encodings.idna"
LIBRARIES = {"libibverbs1": "usr/lib/*/libibverbs.so.1", "ibverbs-providers": "usr/lib/*/libibverbs/librxe-*.so", "ibverbs-utils": "usr/bin/ibv_rc_pingpong", "libnl-3-200": "**/libnl-3.so.200", "libnl-route-3-200": "**/libnl-route-3.so.200"}


def kernel():
    """Folder of the newest plain kernel 6.1: that for clouds has no soft-RoCE."""
    found = [line.split()[0] for line in kernels.lines_of("apt-cache", "search", r"^linux-image-6\.1\.[0-9].*-amd64$")]
    plain = [name for name in found if re.fullmatch(r"linux-image-6\.1\.[0-9-]+-amd64", name)]
    if not plain:
        kernels.skip("qemu", "apt-cache knows no linux-image-6.1.*-amd64; try apt-get update")
    newest = max(plain, key=lambda name: [int(n) for n in re.findall("[0-9]+", name)])
    return kernels.package("qemu", newest, "boot/vmlinuz-*")


def image(bench, modules):
    """The guest's root: Python, ip, rdma, libibverbs with the provider, ibv_rc_pingpong, carc-bench."""
    root = kernels.Image()
    for folder in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "etc/libibverbs.d"):
        root.entry(folder, stat.S_IFDIR | 0o755)
    root.entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    show = f"import {', '.join(IMPORTS.split())}, sys; print(sys.executable); [print(m.__file__) for m in list(sys.modules.values()) if getattr(m, '__file__', None)]"
    python, *files = kernels.lines_of(sys.executable, "-S", "-c", show)
    root.program(python)
    home = Path(os.__file__).parent
    for path in [*files, *(str(path) for path in (home / "encodings").glob("*.py"))]:
        (root.program if path.endswith(".so") else root.file)(path)
    for name in ("ip", "rdma"):
        root.program(shutil.which(name), f"bin/{name}")
    for package, wanted in LIBRARIES.items():
        folder = kernels.package("qemu", package, wanted)
        for path in folder.rglob("*"):
            at = "/" + str(path.relative_to(folder))
            at = at.replace("/usr/bin/", "/bin/") if at.startswith("/usr/bin/") else at
            library = re.search(r"/lib(ibverbs|nl-3|nl-route-3|rxe-rdmav34|rxe-rdmav\d+)\.so|/librxe-", at)
            if path.is_file() and (library or at in ("/bin/ibv_rc_pingpong", "/etc/libibverbs.d/rxe.driver")):
                # Libraries lie where the loader looks without a cache.
                if re.search(r"/lib(ibverbs|nl)[^/]*$", at):
                    at = "/lib/x86_64-linux-gnu/" + re.sub(r"(\.so\.\d+)\..*", r"\1", path.name)
                root.file(path, at)
    root.program(shutil.which("true"), "bin/true")
    root.program(bench, "bin/carc-bench")
    root.file(GUEST)
    for path in modules:
        root.file(path)
    names = [str(path) for path in modules]
    text = f"#!{python} -SB\nimport sys\nsys.path.insert(0, {str(HERE)!r})\nimport rxe_guest\nrxe_guest.main({names!r})\n"
    root.entry("init", stat.S_IFREG | 0o755, text.encode())
    at = KEPT / "image-rxe"
    root.write(at)
    return at


def words(at, disk, role, *more):
    """The command of a guest."""
    fast = os.environ.get("FOREBAY_KVM") == "1"
    found = ["qemu-system-x86_64", "-accel", "kvm" if fast else "tcg", "-cpu", "host" if fast else "max", "-smp", "1", "-m", "512", "-nographic", "-no-reboot"]
    return [*found, *(more or ["-net", "none"]), "-kernel", next(at.glob("boot/vmlinuz-*")), "-initrd", disk, "-append", f"console=ttyS0 quiet panic=-1 mitigations=off role={role}"]


def main():
    wanted = sys.argv[1:] or ["one", "two"]
    if not shutil.which("qemu-system-x86_64"):
        if os.geteuid() == 0 and shutil.which("apt-get"):
            install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "qemu-system-x86"]
            subprocess.run(install, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, capture_output=True)
        if not shutil.which("qemu-system-x86_64"):
            kernels.skip("qemu", "qemu-system-x86_64 is not installed, and cannot be")
    for name in ("ip", "rdma"):
        if not shutil.which(name):
            kernels.skip("qemu", f"{name} is not installed (iproute2)")
    KEPT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--locked", "--release", "--quiet", "-p", "forebay-carc-bench"], cwd=ROOT, check=True)
    at = kernel()
    modules = kernels.modules(at, MODULES, KEPT / "modules-rxe")
    disk = image(ROOT / "target/release/carc-bench", modules)
    if "one" in wanted:
        kernels.boot("one guest", words(at, disk, "one"), 1200)
    if "two" in wanted:
        nic = ["-device", "virtio-net-pci,netdev=n,mac=52:54:00:00:00:0{}"]
        listens = [word.format(1) for word in nic] + ["-netdev", "socket,id=n,listen=127.0.0.1:14791"]
        connects = [word.format(2) for word in nic] + ["-netdev", "socket,id=n,connect=127.0.0.1:14791"]
        failures = []

        def read():
            try:
                kernels.boot("guest that reads", words(at, disk, "reads", *listens), 1200)
            except SystemExit as failure:
                failures.append(failure)

        first = threading.Thread(target=read)
        first.start()
        # QEMU does not try again: port 14791 of the loopback listens first.
        while first.is_alive() and not re.search(r"0100007F:39C7 \S+ 0A", Path("/proc/net/tcp").read_text()):
            time.sleep(0.05)
        kernels.boot("guest that sends", words(at, disk, "sends", *connects), 1200)
        first.join()
        if failures:
            raise failures[0]


if __name__ == "__main__":
    main()
