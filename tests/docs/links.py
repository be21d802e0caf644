#!/usr/bin/env python3
"""No relative link of a page is dead: neither its file nor the heading after its `#`."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r"\bsrc(?:set)?=\"([^\"]+)\"")


def anchors(page):
    """Names of headings as GitHub makes them."""
    found, inside = set(), False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = not inside
        if not inside and re.match(r"#+ ", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found.add(name)
    return found


def main():
    pages = [p for p in ROOT.rglob("*.md") if not {"target", ".git"} & set(p.relative_to(ROOT).parts)]
    dead = total = 0
    for page in sorted(pages):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for link in LINK.findall(line) + PICTURE.findall(line):
                if re.match(r"[a-z]+:", link):
                    continue
                total += 1
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                gone = not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
                if gone:
                    dead += 1
                    print(f"{page.relative_to(ROOT)}:{number}: {link} leads nowhere")
    print(f"{total} relative links on {len(pages)} pages, {dead} dead")
    return int(dead > 0 or total < 50)


if __name__ == "__main__":
    sys.exit(main())
