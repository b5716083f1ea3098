"""Workers without the script that asks for them.

A new process of Python's runs the main module again, which a script that does its work at the top
level does not survive, and which a notebook has none of. Ours need nothing of it, but for what the
script itself has added to the package, or has made for the work.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from gmpool.registry import registered_by

MAIN = "__main__"
GUARD = (
    "a script whose own classes are used in workers does its work below "
    '`if __name__ == "__main__":`'
)
_turn = threading.RLock()


def needs_main(work: bytes) -> bool:
    """Whether work, as pickle has it, can be done only where the main module was run."""
    return MAIN.encode() in work or registered_by(MAIN)


@contextmanager
def main_left_out(work: bytes) -> Iterator[None]:
    """While workers are started: they do not run the main module, unless their work needs it.
    Threads take turns, or one would take the empty module of another for the real one."""
    with _turn:
        real = sys.modules[MAIN]
        if not needs_main(work):
            sys.modules[MAIN] = ModuleType(MAIN)
        try:
            yield
        finally:
            sys.modules[MAIN] = real
