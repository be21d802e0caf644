#!/usr/bin/env python3
"""Every command that a page shows is understood, and runs.

    commands.py [PAGE...]

Needs target/release/forebay, or the program that FOREBAY names. Commands are the lines of ```sh blocks, and code in the cells of tables
that begins with `forebay`, `cargo` or `./`. Each page has a temporary folder with the repository's scenarios and samples, in which its
commands run in their order, as a reader would paste them.

A command that takes more than LIMIT seconds of CPU (STARTED, if it simulates), or that waits for somebody, is ended by SIGTERM; it has then started,
which is what is asked of it. A comment on the line before a block says otherwise:

    <!-- commands: whole -->          runs to its end, because a later command needs what it leaves; once, where pages have it alike
    <!-- commands: check -->          too long even to start: its scenario is checked, with its --set
    <!-- commands: skip (why) -->     cannot run here

Of a third of the pages, which the commit chooses, and of those that changed since origin/main, commands run like this; of the others what
simulates is only checked, and what reads its results is not run. All run with PAGEs named, and in ./test --all.

A word in capitals (FILE, SUITE) or an [option] stands for something to fill in; of such a command only the verb is held.
"""

import functools
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import changed  # noqa: E402
import patience  # noqa: E402

FOREBAY = pathlib.Path(os.environ.get("FOREBAY", ROOT / "target/release/forebay"))
# Seconds of CPU; less where a simulation that has started shows nothing more by going on.
LIMIT = 6.0
STARTED = {"run": 0.5, "sweep": 0.5, "reproduce": 0.25, "bench": 1.0}
WHOLE = 120.0
# Seconds without any, after which a command waits for somebody; and that it may take to end, on the busiest machine.
IDLE = 5.0
END = 600.0
# Pages about work in progress or in the past; their commands belong to their day.
PAST = ("docs/notes/", "docs/adr/")
MODE = re.compile(r"<!-- commands: (whole|check|skip)\b.*-->")
PLACEHOLDER = re.compile(r"(^|[ =/.])([A-Z]{2,}|N)\b|\[--|…|\.\.\.")
STARTS = ("forebay ", "cargo ", "./")


def pages():
    found = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "validation/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if not str(page.relative_to(ROOT)).startswith(PAST)]


def commands(text):
    """Line number, command and mode, in the order of the page."""
    mode, inside, pending, lines = None, None, "", text.splitlines()
    for number, line in enumerate(lines, 1):
        if inside is not None:
            if line.strip().startswith("```"):
                inside = None
                continue
            if inside not in ("sh", "bash", "console"):
                continue
            pending += line.split(" #")[0].strip().removeprefix("$ ")
            if pending.endswith("\\"):
                pending = pending[:-1]
                continue
            if pending and not pending.startswith("#"):
                yield number, pending, mode
            pending = ""
            continue
        if line.strip().startswith("```"):
            inside = line.strip()[3:].strip()
            mode = None
            above = lines[number - 2].strip() if number > 1 else ""
            if MODE.fullmatch(above):
                mode = MODE.fullmatch(above).group(1)
            continue
        if line.lstrip().startswith("|"):
            said = MODE.search(line)
            for code in re.findall(r"`([^`]+)`", line):
                if code.startswith(STARTS):
                    yield number, code.replace("\\|", "|"), said.group(1) if said else None


@functools.cache
def changed_files():
    return set(changed.files(changed.base()))


def sampled(index, page):
    """Whether commands of a page run, as far as time goes."""
    sample = os.environ.get("FOREBAY_SAMPLE")
    return sample is None or "FOREBAY_WHOLE" in os.environ or index % 3 == int(sample) % 3 or str(page.relative_to(ROOT)) in changed_files()


def folder_for(temporary):
    """What a reader has in front of them."""
    for name in ("scenarios", "validation", "docs", "tests", "crates", "packaging", "test"):
        (temporary / name).symlink_to(ROOT / name)


def run(words, where, limit):
    """None if it went well or was still running at the limit, else what it said."""
    with tempfile.TemporaryFile("w+") as said_to:
        process = subprocess.Popen([str(FOREBAY), *words], cwd=where, text=True, stdout=subprocess.DEVNULL, stderr=said_to)
        how = patience.wait(process, limit, IDLE)
        if how != "ended":
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return "goes on after SIGTERM"
            if limit < WHOLE:
                return None
            return f"takes more than {limit:.0f} s of CPU" if how == "busy" else "waits for somebody"
        said_to.seek(0)
        said = said_to.read()
    if process.returncode == 0:
        return None
    lines = [line for line in said.splitlines() if line.strip()]
    return f"ends with {process.returncode}: {lines[-1] if lines else 'nothing said'}"


def once(words, where, kept):
    """Runs a command whole. A run of what ships with the product gives the same folder on every page, and is made on the first one."""
    at = words.index("--out") + 1 if words[0] == "run" and "--preset" in words and "--out" in words else None
    if at is None or "--agent" in words:
        return run(words, where, WHOLE)
    made = kept / hashlib.sha256(repr(words[: at - 1] + words[at + 1 :]).encode()).hexdigest()
    if made.exists():
        shutil.copytree(made, where / words[at])
        return None
    wrong = run(words, where, WHOLE)
    if wrong is None:
        shutil.copytree(where / words[at], made)
    return wrong


def results(words):
    """Folder in which a command leaves results."""
    return words[words.index("--out") + 1].split("/")[0] if "--out" in words else "results"


def checked(words):
    """The `forebay check` of a command that runs a scenario."""
    keep, i = ["check"], 1
    while i < len(words):
        if words[i] in ("--set", "--preset", "--seed", "--seeds"):
            if words[i] in ("--set", "--preset"):
                keep += words[i : i + 2]
            i += 2
        elif words[i].endswith(".toml"):
            keep.append(words[i])
            i += 1
        else:
            i += 1
    return keep


def hold(command, mode, where, kept, verbs, missing=None):
    """None if the command is as it should be, else one clause. With a set of `missing` folders no run is made, and what needs them does not run."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"is no shell command: {error}"
    if words[:3] == ["cargo", "run", "--release"] and "--" in words:
        words = ["forebay", *words[words.index("--") + 1 :]]
    if words[0] == "cargo":
        crate = words[words.index("-p") + 1] if "-p" in words else None
        known = crate is None or any(f'name = "{crate}"' in (ROOT / path).read_text() for path in ROOT.glob("crates/*/Cargo.toml"))
        return None if known else f"there is no crate {crate}"
    if missing and any(word.split("/")[0] in missing for word in words[1:]) and (words[0] != "forebay" or words[1] in verbs):
        return None
    if words[0] in ("wireshark", "tshark"):
        files = [word for word in words[1:] if word.endswith(".pcapng")]
        lost = [name for name in files if not (where / name).exists()]
        return f"{lost[0]} was not written by the commands above" if lost else None
    if "/" in words[0]:
        return None if (ROOT / words[0]).exists() else "there is no such file"
    if words[0] in ("python3", "bash"):
        return None if (ROOT / words[1]).exists() else f"there is no {words[1]}"
    if words[0] in ("cd", "ls", "cat", "cmp", "git") or words[0] != "forebay" and mode == "skip":
        return None
    if words[0] != "forebay":
        return "is no command that this test knows"
    if len(words) > 1 and words[1] not in verbs:
        return f"there is no verb {words[1]}"
    if mode == "skip" or PLACEHOLDER.search(command):
        return None
    words = words[1:]
    if missing is not None and words[0] in ("run", "sweep"):
        missing.add(results(words))
    if mode == "check" or missing is not None and words[0] in ("run", "sweep"):
        words = checked(words)
    if words[0] in ("run", "sweep", "reproduce", "bench") and "--progress" not in words and words[0] != "bench":
        words += ["--progress", "off"]
    if mode == "whole":
        return once(words, where, kept)
    return run(words, where, WHOLE if words[0] == "check" else STARTED.get(words[0], LIMIT))


def main(arguments):
    if not FOREBAY.exists():
        print(f"{FOREBAY} is missing: cargo build --release makes it")
        return 1
    said = subprocess.run([FOREBAY, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = set(re.findall(r"^  ([a-z]+) ", said, re.MULTILINE))
    chosen = [pathlib.Path(name).resolve() for name in arguments] or pages()
    wrong = total = run_pages = 0
    with tempfile.TemporaryDirectory() as results:
        kept = pathlib.Path(results)
        for index, page in enumerate(chosen):
            name = page.relative_to(ROOT)
            missing = None if arguments or sampled(index, page) else set()
            run_pages += missing is None
            with tempfile.TemporaryDirectory() as folder:
                where = pathlib.Path(folder)
                folder_for(where)
                for line, command, mode in commands(page.read_text()):
                    total += 1
                    problem = hold(command, mode, where, kept, verbs, missing)
                    if problem:
                        wrong += 1
                        print(f"{name}:{line}: {command}\n    {problem}")
    if not arguments and total < 30:
        print(f"only {total} commands were found: the pages are read wrongly")
        return 1
    print(f"{total} commands on {len(chosen)} pages, {wrong} wrong; what simulates ran on {run_pages} pages, and was checked on the others")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
