"""`python -m iglu_gnn` is the command line: `python -m iglu_gnn train graph.npz`."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the command line on the words after the program's name, and gives its exit code."""
    # The command line ends on Ctrl-C by itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
