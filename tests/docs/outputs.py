#!/usr/bin/env python3
"""Which lines of output on the pages the program no longer prints.

    outputs.py [PAGE...]

Needs target/release/forebay, or the program that FOREBAY names, and takes some minutes: unlike commands.py it runs every command to its end. The ```text block next
after a ```sh block has to consist of lines that its commands print; a line of `...` and spaces count for nothing. What depends on
the machine (the agent, benches) and blocks with `commands: skip` are left out.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import commands

BLOCK = re.compile(r"(?:<!-- commands: (\w+)[^\n]*-->\n)?```(\w*)\n(.*?)```|^#+ ", re.DOTALL | re.MULTILINE)
MACHINE = re.compile(r"forebay (agent|bench|watch|doctor|check)\b|cargo run -p forebay-carc-bench")


def pages():
    """All but those of papers, whose suites take hours."""
    return [page for page in commands.pages() if "papers" not in page.parts]


def plain(text):
    return " ".join(text.split())


def printed(line, where):
    """What a command says, both ways."""
    line = line.replace("cargo run --release --", "forebay").replace("forebay", str(commands.FOREBAY), 1)
    return subprocess.run(line, shell=True, cwd=where, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def gone(text, where):
    """Lines of the page's outputs that are not printed."""
    said = None
    for mode, kind, body in BLOCK.findall(text):
        if kind == "sh":
            lines = [line.split(" #")[0].strip() for line in body.replace("\\\n", " ").splitlines()]
            lines = [line for line in lines if line]
            ours = all(line.startswith(("forebay ", "cargo run ")) and not MACHINE.match(line) for line in lines)
            said = plain(" ".join(printed(line, where) for line in lines)) if ours and mode != "skip" else None
        elif kind == "text":
            for line in body.splitlines() if said else ():
                shown = plain(line.replace("[...]", ""))
                if shown not in ("", "...") and shown not in said:
                    yield line
            said = None
        else:
            said = None  # an example or another section


def main(words):
    wrong = 0
    for page in [pathlib.Path(word).resolve() for word in words] or pages():
        with tempfile.TemporaryDirectory() as name:
            where = pathlib.Path(name)
            commands.folder_for(where)
            for line in gone(page.read_text(), where):
                wrong += 1
                print(f"{page.relative_to(commands.ROOT)}: not printed: {line}")
    print(f"{wrong} lines that the program does not print")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
