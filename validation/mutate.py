#!/usr/bin/env python3
"""Tests that cannot fail are found: each entry of mutations.toml breaks one thing in a copy of the tree, and the test it
names has to turn red.

    mutate.py [PATTERN]        the mutations whose description matches; all without one
    mutate.py --bind           only look whether each still applies: seconds
    mutate.py --compile        whether each still compiles, many in one build: minutes
    mutate.py --sample N       N of those that cost at most CHEAP seconds of CPU, chosen by the commit; run the tests of crates first
    mutate.py --costs          what each costs in a sample
    mutate.py --all            all; goes on where it was stopped: what a test has caught is not tried again on the same code

A test that runs on for SLOWEST seconds of CPU, or stops without an end, is red. The clock decides nothing.

A mutation is bound to an item: `fn NAME` (or const, struct, enum, impl, a macro) of a crate, and lines in it, compared
without their indentation. It follows the item into another file of the crate. One whose item or lines are gone is stale,
and that is red, as one that survives or does not compile.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import patience  # noqa: E402
import programs  # noqa: E402

TREE = ROOT / "target/mutate/tree"
# Of its own: cargo takes the same crate in another folder for the same, so that what is built here would stand in for the real one.
BUILD = ROOT / "target/mutate/build"
# The same for a sample. It begins with what the tests of crates have compiled.
SAMPLE = ROOT / "target/mutate/sample"
# Fingerprints of those that a test has caught.
KILLED = ROOT / "target/mutate/killed"
# Seconds of CPU, several times what the slowest test takes.
SLOWEST = 250
# Seconds in which no thread of a test runs or could: each waits for another.
STUCK = 60
# Each mutation builds what it touches and all above, and runs one test: what simulates compiles faster than it would run slower.
OPTIMISED = [name for name, one in tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["dev"]["package"].items() if one["opt-level"] > 1]
UNOPTIMISED = [word for name in OPTIMISED for word in ("--config", f"profile.dev.package.{name}.opt-level=1")]
# Seconds of CPU that a mutation of a sample may cost; and what it takes to compile a library, and to compile and run tests. Others take one.
CHEAP = 40
LIBRARY = {"sim": 56, "scenario": 22, "record": 20, "agent": 12, "host": 11, "validate": 10, "laws": 9, "net": 8, "study": 8, "linux": 6, "transport": 6}
LIBRARY |= {"chaos": 5, "engine": 4, "cli": 4}
TESTS = {("laws", "--lib"): 21, ("record", "--lib"): 17, ("host", "--lib"): 12, ("validate", "--lib"): 12, ("agent", "--bins"): 12, ("study", "--lib"): 10}
TESTS |= {("transport", "--lib"): 3, ("net", "--lib"): 3, ("sim", "it"): 10, ("laws", "it"): 3, ("scenario", "it"): 11}
TESTS |= {("transport", "it"): 6, ("net", "it"): 5, ("host", "it"): 10, ("record", "it"): 5, ("cli", "it"): 6, ("agent", "faults"): 7, ("carc-bench", "it"): 12}
TESTS |= {("chaos", "forecast"): 8}
HEAD = re.compile(
    r"^(?P<indent>\s*)(?:pub(?:\([^)]*\))? )?(?:(?P<macro>[a-z_]+!) \{|(?:const )?(?P<kind>fn|const|static|struct|enum|impl|trait|type)\b(?:<[^>]*>)? (?P<name>[A-Za-z_][\w:]*))"
)


def items(lines, wanted):
    """First and last line of each item of this name."""
    for start, line in enumerate(lines):
        head = HEAD.match(line)
        if not head:
            continue
        name = head["macro"] or f"{head['kind']} {head['name']}"
        if name != wanted:
            continue
        end = start
        closed = re.compile(rf"^{head['indent']}[\])}}]")
        if not line.rstrip().endswith((";", "}")):
            end = next((i for i in range(start + 1, len(lines)) if closed.match(lines[i]) and not lines[i].rstrip().endswith("{")), len(lines) - 1)
        yield start, end


def places(path, edit):
    """Where an edit applies in a file: the first line of each match within the item."""
    lines = path.read_text().split("\n")
    find = edit["find"].split("\n")
    stripped = [line.strip() for line in lines]
    for start, end in items(lines, edit["item"]):
        for at in range(start, end + 2 - len(find)):
            if stripped[at : at + len(find)] == find:
                yield at
                break


def bind(mutation, root):
    """File and line of each edit, or why one is stale."""
    bound = []
    for edit in mutation["edits"]:
        home = root / mutation["file"]
        crate = root / pathlib.Path(*pathlib.Path(mutation["file"]).parts[:2]) / "src"
        files = [home] if home.exists() and list(places(home, edit)) else []
        if not files:
            files = [path for path in sorted(crate.rglob("*.rs")) if list(places(path, edit))]
        if len(files) != 1:
            where = "nowhere" if not files else "in " + ", ".join(str(path.relative_to(root)) for path in files)
            return None, f"{edit['item']} with {edit['find']!r} is {where}"
        bound.append((files[0], next(places(files[0], edit)), edit))
    return bound, None


def apply(bound):
    """Makes the edits, the last line of each file first so that the others keep their place; gives the files as they were."""
    before = {}
    for path, at, edit in sorted(bound, key=lambda one: -one[1]):
        text = path.read_text()
        before.setdefault(path, text)
        lines = text.split("\n")
        lines[at : at + height(edit["find"])] = replacement(lines[at], edit)
        path.write_text("\n".join(lines))
    return before


def height(text):
    """Number of lines of a text; an empty replacement has none."""
    return len(text.split("\n")) if text else 0


def replacement(first, edit):
    """Lines of an edit's replacement, indented as the first line that they replace."""
    indent = first[: len(first) - len(first.lstrip())]
    return [indent + line if line else line for line in edit["replace"].split("\n")] if edit["replace"] else []


def restore(before):
    for path, text in before.items():
        path.write_text(text)


def files():
    """Names of all files of the tree, those that git does not know yet among them; none that it ignores."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}


def copy():
    """Brings the copy of the tree up to date; files that are the same keep their times, so that builds stay warm."""
    names = files()
    for name in names:
        target, content = TREE / name, (ROOT / name).read_bytes()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in names:
            path.unlink()


class Place:
    """A copy of the tree, what is built of it, and how."""

    def __init__(self, tree, build, options, variables):
        self.tree, self.build, self.options, self.variables = tree, build, options, variables


def warm():
    """The place of all mutations, up to date."""
    copy()
    return Place(TREE, BUILD, UNOPTIMISED, None)


def seeded():
    """The place of a sample. Files keep their times, and cargo takes a crate of this tree for the same in the copy: it compiles only what a
    mutation changes."""
    tree, build = SAMPLE / "tree", SAMPLE / "build"
    shutil.rmtree(SAMPLE, ignore_errors=True)
    (build / "debug").mkdir(parents=True)
    for name in files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    # Compilers write new files. What cargo itself notes it writes into the old ones.
    for folder, how in (("deps", "-al"), ("build", "-a"), (".fingerprint", "-a")):
        if (ROOT / "target/debug" / folder).is_dir():
            subprocess.run(["cp", how, ROOT / "target/debug" / folder, build / "debug"], check=True)
    return Place(tree, build, [], programs.with_clippy())


def cargo(place, mutation, *more):
    package = "forebay" if mutation["package"] == "forebay" else "forebay-" + mutation["package"]
    which = {"--lib": ["--lib"], "--bins": ["--bin", package]}.get(mutation["target"], ["--test", mutation["target"]])
    command = ["cargo", "test", "--locked", "--offline", "-q", *place.options, "--target-dir", place.build, *programs.unified(["-p", package]), *which, *more]
    with tempfile.TemporaryFile("w+") as said:
        ran = subprocess.Popen(command, cwd=place.tree, stdout=said, stderr=subprocess.STDOUT, env=place.variables)
        how = patience.wait(ran, SLOWEST, STUCK) if "--no-run" not in more else "ended"
        if how != "ended":
            patience.kill(ran)
        ran.wait()
        said.seek(0)
        return how, ran.returncode, said.read()


def outcome(mutation, place):
    """Whether the test turned red, and what to say."""
    bound, stale = bind(mutation, place.tree)
    if stale:
        return False, f"STALE     {mutation['breaks']}: {stale}"
    before = apply(bound)
    test = f"{mutation['package']} {mutation['target']} {mutation['test']}"
    try:
        _, code, said = cargo(place, mutation, "--no-run")
        if code != 0:
            error = next((line for line in said.splitlines() if line.startswith("error")), "")
            return False, f"BROKEN    {mutation['breaks']}: does not compile: {error}"
        how, code, said = cargo(place, mutation, *([mutation["test"]] if mutation["test"] else []))
        red = how != "ended" or (code != 0 and "FAILED" in said)
        end = {"ended": "", "busy": f" (runs on after {SLOWEST} s of CPU)", "idle": " (all its threads wait)"}[how]
        return red, f"{'killed   ' if red else 'SURVIVED '} {mutation['breaks']}: {test}{end}"
    finally:
        restore(before)


def uses(crate, tests=False):
    """Crates of this workspace that a crate uses."""
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    named = {**manifest.get("dependencies", {}), **(manifest.get("dev-dependencies", {}) if tests else {})}
    return {"cli" if name == "forebay" else name.removeprefix("forebay-") for name in named if name.startswith("forebay")} - {crate}


def cost(mutation):
    """Seconds of CPU that a mutation takes in a sample: what lies between the broken crate and the test is compiled again."""
    broken, tested = mutation["file"].split("/")[1], "cli" if mutation["package"] == "forebay" else mutation["package"]
    again = {broken: True}  # whether a library is

    def is_new(crate):
        if crate not in again:
            again[crate] = any([is_new(used) for used in uses(crate)])
        return again[crate]

    for used in uses(tested, tests=True):
        is_new(used)
    # Tests of a library are within it.
    libraries = {crate for crate, new in again.items() if new} | {tested}
    if mutation["target"] == "--lib":
        libraries.discard(tested)
    return sum(LIBRARY.get(crate, 1) for crate in libraries) + TESTS.get((tested, mutation["target"]), 1)


def content(package, seen=None):
    """Hash of the files of a package and of those of this workspace that it uses."""
    seen = set() if seen is None else seen
    folder = ROOT / "crates" / ("cli" if package == "forebay" else package)
    if package in seen or not folder.is_dir():
        return b""
    seen.add(package)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    found = hashlib.sha256(b"".join(str(path.relative_to(ROOT)).encode() + path.read_bytes() for path in paths)).digest()
    used = re.findall(r"^forebay-([\w-]+)", (folder / "Cargo.toml").read_text(), re.M)
    return found + b"".join(content(name, seen) for name in sorted(used))


def fingerprint(mutation):
    """What a result is about: a mutation, and the code that it breaks and that tests it."""
    return hashlib.sha256(repr(sorted(mutation.items())).encode() + content(mutation["package"])).hexdigest()


ERROR = re.compile(r"^(?P<file>[^:\s]+):(?P<line>\d+):\d+: error")


def check(bounds):
    """Errors of one build with all these mutations in it, as (mutation or None, text): the mutation whose lines the error names."""
    ours = [one for bound in bounds.values() for one in bound]
    spans = []
    for index, bound in bounds.items():
        for path, at, edit in bound:
            moved = sum(height(e["replace"]) - height(e["find"]) for p, line, e in ours if p == path and line < at)
            spans.append((str(path.relative_to(TREE)), at + moved + 1, at + moved + max(1, height(edit["replace"])), index))
    before = apply(ours)
    try:
        command = ["cargo", "check", "--locked", "--offline", "-q", "--keep-going", "--message-format", "short", "--target-dir", str(BUILD), "--workspace", "--lib", "--bins"]
        built = subprocess.run(command, cwd=TREE, capture_output=True, text=True)
    finally:
        restore(before)
    errors = []
    for text in built.stderr.splitlines():
        at = ERROR.match(text)
        if at:
            owner = next((i for file, first, last, i in spans if file == at["file"] and first <= int(at["line"]) <= last), None)
            errors.append((owner, text))
    if built.returncode != 0 and not errors:
        errors.append((None, (built.stderr.strip().splitlines() or ["the build failed without a word"])[-1]))
    return errors


def broken(bounds):
    """Mutations that do not compile, by index, with the first error of each.

    One error may hide others (of a later phase, of crates that depend on this one): what is found is taken out and the
    rest built again, until the rest compiles. Where no error names a mutation's own lines, halves are built apart.
    """
    found, left = {}, dict(bounds)
    while left and (errors := check(left)):
        named = {owner: text for owner, text in reversed(errors) if owner is not None}
        if not named and len(left) == 1:
            named = {index: errors[0][1] for index in left}
        if not named:
            keys = list(left)
            for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
                named |= broken({key: left[key] for key in half})
            if not named:
                named = {index: "does not compile beside the others: " + errors[0][1] for index in left}
        found |= named
        left = {index: bound for index, bound in left.items() if index not in named}
    return found


def compile_all(mutations):
    """Builds all mutations, in as few rounds as there are mutations of one item; gives the number of those that do not compile."""
    rounds = []
    for index, mutation in enumerate(mutations):
        bound, _ = bind(mutation, TREE)
        items_of = {(path, edit["item"]) for path, _, edit in bound}
        fits = next((one for one in rounds if not items_of & one["items"]), None)
        if fits is None:
            fits = {"items": set(), "bounds": {}}
            rounds.append(fits)
        fits["items"] |= items_of
        fits["bounds"][index] = bound
    count = 0
    for one in rounds:
        for index, error in sorted(broken(one["bounds"]).items()):
            count += 1
            print(f"BROKEN    {mutations[index]['breaks']}: {error}", flush=True)
        print(f"{len(one['bounds'])} built", flush=True)
    return count


def main(arguments):
    # The random cases with which each was tried when it was written.
    os.environ["PROPTEST_RNG_SEED"] = "1"
    mutations = tomllib.loads((ROOT / "validation/mutations.toml").read_text())["mutation"]
    stale = [(m, why) for m in mutations for _, why in [bind(m, ROOT)] if why]
    for mutation, why in stale:
        print(f"STALE     {mutation['breaks']}: {why}")
    print(f"{len(mutations) - len(stale)} of {len(mutations)} mutations apply", flush=True)
    if arguments[:1] == ["--bind"]:
        return int(bool(stale))
    if arguments[:1] == ["--costs"]:
        for mutation in sorted(mutations, key=cost):
            print(f"{cost(mutation):4} s  {mutation['package']} {mutation['target']}: {mutation['breaks']}")
        print(f"{sum(cost(mutation) <= CHEAP for mutation in mutations)} of {len(mutations)} may be in a sample")
        return 0
    chosen = [m for m in mutations if m not in [s[0] for s in stale]]
    if arguments[:1] == ["--sample"]:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        chosen = [m for m in chosen if cost(m) <= CHEAP]
        chosen.sort(key=lambda m: hashlib.sha256((commit + m["breaks"]).encode()).digest())
        chosen = chosen[: int(arguments[1])]
    elif arguments and arguments[0] not in ("--compile", "--all"):
        chosen = [m for m in chosen if re.search(arguments[0], m["breaks"])]
    place = seeded() if arguments[:1] == ["--sample"] else warm()
    if arguments[:1] == ["--compile"]:
        count = compile_all(chosen)
        print(f"{len(chosen)} built, {count} do not compile")
        return int(count + len(stale) > 0)
    bad, tried = len(stale), 0
    known = set(KILLED.read_text().split()) if arguments[:1] == ["--all"] and KILLED.exists() else set()
    for mutation in chosen:
        mark = fingerprint(mutation)
        if mark in known:
            continue
        red, text = outcome(mutation, place)
        tried, bad = tried + 1, bad + (not red)
        print(text, flush=True)
        if red:
            with KILLED.open("a") as killed:
                killed.write(mark + "\n")
    print(f"{tried} tried, {len(chosen) - tried} known from before, {bad} not killed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
