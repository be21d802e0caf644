#!/usr/bin/env python3
"""Builds the documentation as a site, target/site/html/index.html.

    python3 packaging/site/build.py

Pages are those of docs/, README.md and two others of the repository, and reference pages made of what the program prints of itself, so
it needs target/release/forebay, or the program that FOREBAY names. They are laid in target/site/pages with links that fit there; Zensical makes the site of them. It is
installed into target/site-tools on the first run; where it cannot be had, this says `skipped:` and ends well.
"""

import os
import posixpath
import re
import shutil
import subprocess
import sys
import venv
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / "target"
FOREBAY = Path(os.environ.get("FOREBAY", TARGET / "release/forebay"))
SITE = TARGET / "site"
SOURCE = SITE / "pages"
INDEX = SITE / "html/index.html"
TOOLS = TARGET / "site-tools"
NEEDS = HERE / "requirements.txt"
ITEM = re.compile(r"([-*+]|\d+\.) ")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
# A picture with one for the dark, as GitHub shows it; the site has both by its own means.
BOTH = re.compile(r'<picture><source [^>]*><img src="([^"]*)" alt="([^"]*)"></picture>')
# Pages of the repository that lie elsewhere on the site.
MOVED = {
    "README.md": "index.md",
    "docs/README.md": "questions.md",
    "ARCHITECTURE.md": "reference/architecture.md",
    "validation/README.md": "reference/validation.md",
}
PICTURES = (".png", ".svg")


def forebay(*words):
    """What the program prints."""
    return subprocess.run([FOREBAY, *words], capture_output=True, text=True, check=True).stdout


def fenced(text):
    return f"```text\n{text.rstrip()}\n```\n"


def commands():
    """The help of every command."""
    top = forebay("--help")
    listed = top.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    verbs = [verb for verb in re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE) if verb not in ("agent", "help")]
    parts = ["# Commands\n", fenced(top)]
    for verb in verbs:
        parts += [f"## forebay {verb}\n", fenced(forebay(verb, "--help"))]
    return "\n".join(parts)


def laws():
    """The page of every law."""
    parts = ["# Laws\n", "What keys such as `transport.law` and `host.memory.control.law` may be. `forebay laws NAME` prints the same.\n"]
    for line in forebay("laws").splitlines():
        name = line.split()[0]
        parts += [f"## {name}\n", fenced(forebay("laws", name))]
    return "\n".join(parts)


def columns():
    """Metrics, and columns of the tables of a results directory."""
    return "\n".join(
        ["# Metrics and columns\n", "## Metrics\n", "What `[[expect]]` may hold a run to, and what `forebay compare` compares.\n"]
        + table(forebay("list", "metrics"))
        + ["\n## Columns and keys\n", "In the tables of a results directory, and in its JSON files; `forebay explain NAME` says the same.\n"]
        + table(forebay("list", "columns"))
    )


def table(listing):
    """A listing of names and meanings, as Markdown."""
    rows = ["| name | meaning |", "|---|---|"]
    for line in filter(str.strip, listing.splitlines()):
        name, _, meaning = line.strip().partition(" ")
        rows.append(f"| `{name}` | {meaning.strip().replace('|', chr(92) + '|').replace('<', '&lt;')} |")
    return rows


def on_site(path):
    """Where the site has a file of the repository."""
    return MOVED.get(path) or (posixpath.relpath(path, "docs") if path.startswith("docs/") else None)


def placed(page, text):
    """The text of a page with links that fit the site. A link to a file that the site does not have becomes the file's path."""
    here = posixpath.dirname(on_site(page))

    def link(found):
        mark, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found.group(0)
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        to = on_site(path)
        dark = path.removesuffix(".png") + "-dark.png"
        if mark and to and (ROOT / dark).exists():
            light, dark = posixpath.relpath(to, here), posixpath.relpath(on_site(dark), here)
            return f"![{words}]({light}#only-light) ![{words}]({dark}#only-dark)"
        if to and (path.endswith(".md") or path.endswith(PICTURES)):
            return f"{mark}[{words}]({posixpath.relpath(to, here)}{'#' + anchor if anchor else ''})"
        return words if words.strip("`") == path else f"{words} (`{path}`)"

    return LINK.sub(link, BOTH.sub(r"![\2](\1)", text))


def nested(text):
    """A page whose nested lists have four spaces per level, without which Python-Markdown makes one list of them."""
    lines, levels, fenced = [], [], None
    for line in text.splitlines():
        indent, rest = len(line) - len(line.lstrip(" ")), line.lstrip(" ")
        fence = rest.startswith("```")
        if fenced is None and not fence and ITEM.match(rest) and (levels or indent == 0):
            levels = [level for level in levels if level < indent]
            line = "    " * len(levels) + rest
            levels.append(indent)
        elif fenced is None and rest and indent == 0:
            levels = []
        elif rest and levels:
            begun = indent if fenced is None else fenced
            line = "    " * sum(level < begun for level in levels) + " " * max(0, indent - begun) + rest
        if fence:
            fenced = indent if fenced is None else None
        lines.append(line)
    return "\n".join([*lines, ""])


class Depths(HTMLParser):
    """How deep the items of the lists in an article are."""

    def __init__(self, html):
        super().__init__()
        self.article, self.lists, self.items = False, 0, []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "article":
            self.article = True
        elif tag in ("ul", "ol"):
            self.lists += 1
        elif tag == "li" and self.article:
            self.items.append(self.lists)

    def handle_endtag(self, tag):
        if tag == "article":
            self.article = False
        elif tag in ("ul", "ol"):
            self.lists -= 1


def flattened():
    """Pages with a nested list that their HTML has not."""
    found = []
    for page in sorted(SOURCE.rglob("*.md")):
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        wanted = sum(bool(ITEM.match(line.lstrip(" "))) for line in text.splitlines() if line.startswith(" "))
        html = INDEX.parent / page.relative_to(SOURCE).with_suffix(".html")
        html = html.with_name(html.name.replace("README", "index"))
        depths = Depths(html.read_text()).items
        # The theme's own list around the article, if any, is the least depth.
        shown = sum(depth > min(depths) for depth in depths)
        if shown != wanted:
            found.append(f"{page.relative_to(SOURCE)}: {shown} nested items of lists, {wanted} written")
    return found


def lay():
    """Every page where the site wants it, beside the configuration, which may name nothing above itself."""
    shutil.rmtree(SITE, ignore_errors=True)
    pages = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
    made = {"reference/commands.md": commands(), "reference/laws.md": laws(), "reference/columns.md": columns()}
    made |= {on_site(page): nested(placed(page, (ROOT / page).read_text())) for page in {*pages, *MOVED}}
    for page, text in made.items():
        (SOURCE / page).parent.mkdir(parents=True, exist_ok=True)
        (SOURCE / page).write_text(text)
    for picture in (ROOT / "docs").rglob("*"):
        if picture.suffix in PICTURES:
            to = SOURCE / picture.relative_to(ROOT / "docs")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, to)
    shutil.copyfile(HERE / "zensical.toml", SITE / "zensical.toml")
    return len(made)


def installed():
    """Whether Zensical is there, after an attempt to get it."""
    mark = TOOLS / "installed"
    if mark.exists() and mark.read_text() == NEEDS.read_text():
        return True
    venv.create(TOOLS, with_pip=True, clear=True)
    pip = [TOOLS / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", NEEDS]
    if subprocess.run(pip).returncode != 0:
        return False
    mark.write_text(NEEDS.read_text())
    return True


def main():
    if not FOREBAY.exists():
        sys.exit(f"{FOREBAY} is missing: cargo build --release")
    if not installed():
        print("skipped: the documentation as a site: Zensical cannot be installed here")
        return 0
    pages = lay()
    done = subprocess.run([TOOLS / "bin/zensical", "build", "--strict", "--clean", "--config-file", SITE / "zensical.toml"], text=True, capture_output=True)
    if done.returncode != 0 or not INDEX.exists():
        print(done.stdout, done.stderr, sep="\n")
        return 1
    if found := flattened():
        print(*found, sep="\n")
        return 1
    print(f"{INDEX}: {pages} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
