"""The command `gmpool`. It answers --version before anything heavy is imported."""

import os
import sys
from importlib import import_module

import gmpool

_INTERRUPTED = 130


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        print(gmpool.__version__)
        return
    # Threads that wait shall leave their core to others: spinning, they hold up the very threads
    # that they wait for when the machine has more to do. Read once, when OpenMP is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        command_line = import_module("gmpool.cli")
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped\n")
        sys.exit(_INTERRUPTED)
    command_line.main()


if __name__ == "__main__":
    main()
