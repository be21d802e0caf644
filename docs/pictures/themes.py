"""Colours of pictures that scripts draw: those of the program's own pictures, light and dark."""

import re
from pathlib import Path

STYLES = Path(__file__).resolve().parents[2] / "crates/record/src/svg"

# What scripts write, and the name of the colour in the program's style sheets.
COLOURS = {
    "#fff": "panel", "#e3e3e3": "grid", "#ddd": "grid", "#888888": "axis",
    "#666666": "s6", "#1b6ca8": "s0", "#c4561b": "s1", "#2a8a4a": "s2",
}


def themed(svg):
    """The picture with a style sheet that gives its colours their values in both themes. A viewer without one shows those written."""
    light, dark = ((STYLES / f"{name}.css").read_text().strip() for name in ("light", "dark"))
    of = "".join(f'[{way}="{colour}"]{{{way}:var(--{name})}}' for colour, name in COLOURS.items() for way in ("fill", "stroke"))
    style = f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\ntext:not([fill]){{fill:var(--ink)}}{of}"
    svg = re.sub(r"<style>.*?</style>\n", "", svg, flags=re.S)
    return re.sub(r"(<svg[^>]*>\n)", lambda head: f"{head[1]}<style>\n{style}\n</style>\n", svg, count=1)
