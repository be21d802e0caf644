"""Waiting for a program on a machine where others work too: limits are seconds of CPU, never of the clock."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
# Seconds by the clock, where /proc does not say what a process does.
BLIND = 600.0


def children(pid):
    """Processes that a process has started: as the kernel lists them, or else by their parent."""
    found = []
    if os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # the thread has ended
                found += [int(child) for child in path.read_text().split()]
        return found
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rsplit(") ", 1)[1].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


class Family:
    """A process and all that it has started."""

    def __init__(self, root):
        self.root, self.taken = root, {}

    def members(self):
        """Fields of /proc/PID/stat after the name, by process."""
        family, stats = [self.root], {}
        for pid in family:
            try:
                stats[pid] = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
                family += children(pid)
            except OSError:
                pass  # has ended
        return stats

    def look(self):
        """Seconds of CPU so far, and whether any thread runs, could run, or waits for a disk."""
        at_work = False
        for pid, fields in self.members().items():
            self.taken[pid] = (int(fields[11]) + int(fields[12])) / TICK
            for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
                try:
                    at_work |= path.read_text().rsplit(") ", 1)[1][0] in "RD"
                except OSError:
                    at_work = True  # has ended just now
        return sum(self.taken.values()), at_work


def kill(process):
    """Ends a process and all that it has started."""
    for pid in Family(process.pid).members():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def wait(process, cpu_s, idle_s):
    """Waits for a process: "ended", or "busy" if it and its children have used so much CPU, or "idle" if for so long none of them used any
    or could have. The process goes on in the last two cases."""
    family, began = Family(process.pid), time.monotonic()
    last, since = 0.0, began
    pause = 0.01
    while True:
        try:
            process.wait(timeout=pause)
            return "ended"
        except subprocess.TimeoutExpired:
            pause = min(2 * pause, 0.2)
        now = time.monotonic()
        if not os.path.exists("/proc/self/stat"):
            if now - began > BLIND:
                return "busy"
            continue
        used, at_work = family.look()
        if used > cpu_s:
            return "busy"
        if at_work or used > last:
            last, since = used, now
        elif now - since > idle_s:
            return "idle"
