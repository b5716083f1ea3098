"""A command that torchrun has begun in several processes: the first reads it, the others do their
parts of what is trained."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from gmpool.cli.console import INTERRUPTED, err, say
from gmpool.engine.executors.shared import follow
from gmpool.engine.group import (
    LOST,
    Group,
    is_of_connection,
    join_group,
    leave_group,
    on_termination,
)

ENDED = 1
_group: Group | None = None


def group() -> Group | None:
    """Of this command; None: it runs alone."""
    return _group


def by_all(command: Callable[[], None]) -> None:
    """Do it, in the first of all processes, and end as one."""
    global _group
    _group = this = join_group()
    on_termination(lambda: _end(this))
    try:
        if this.is_first:
            command()
        else:
            follow(this)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except BaseException as error:
        if isinstance(error, RuntimeError) and is_of_connection(error):
            _end(this)
        if this.is_training:  # the others wait for this process, and need not say that it is gone
            this.first_to_tell()
        raise
    finally:
        if this.is_first and not this.is_training:
            with suppress(RuntimeError):
                this.share(None)
        leave_group()


def _end(this: Group) -> None:
    """At once: whatever waits for another process would wait for ever."""
    err.show_cursor(True)
    if this.first_to_tell():
        say(LOST)
    os._exit(ENDED)
