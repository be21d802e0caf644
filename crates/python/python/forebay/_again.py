"""Another process of the ``forebay`` command, as sweeps start one for each run.

Started as a script, so that it loads the compiled half of the package and nothing else.
"""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _core  # type: ignore[import-not-found]  # beside this script

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = (sys.executable, [__file__])
    sys.exit(_core.command(["forebay", *sys.argv[1:]], again, ""))
