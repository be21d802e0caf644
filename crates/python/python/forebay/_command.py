"""The ``forebay`` command: the program's own code, in this process."""

import signal
import sys
from pathlib import Path

from . import _core


def main() -> int:
    """Run the command with the words that this process has, and give its exit code."""
    # Ctrl-C is the command's, as it is where the command is a program of its own.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = (sys.executable, [str(Path(__file__).with_name("_again.py"))])
    return _core.command(["forebay", *sys.argv[1:]], again, str(Path(sys.argv[0]).parent))


if __name__ == "__main__":
    sys.exit(main())
