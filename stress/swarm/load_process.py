"""Three settings of a process that makes load, which decide whether thousands of users fit in one."""

from __future__ import annotations

import gc
import resource
from contextlib import suppress

import gevent

CALLBACKS_S = 0.3
"""How long gevent may run what is ready before it looks at its sockets and clocks again.

Ready in this sense are users who begin, users whose devices acted ``together``, and closers. With gevent's own 5 ms
only 50 of them run in one round of a busy hub, and a round lasts as long as all users who got an answer need: of 3,000
users in three scenarios those of two-devices had 2 turns while those of rapid-switch had 24.
"""

COLLECT_AFTER = (10_000, 20, 100)
"""When the garbage collector looks for cycles: seldom, for the swarm makes none.

What users hold is freed by counting references. With Python's own (700, 10, 10) the collector took a third of the time
of 5,000 users and found nothing; a story of someone else's that makes cycles still gets them collected.
"""


def prepare() -> None:
    """Apply them to this process and to those it forks."""
    gevent.setswitchinterval(CALLBACKS_S)
    gc.set_threshold(*COLLECT_AFTER)
    # Each device has a connection, which is an open file; Locust itself asks for 10,000.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems call more than they give
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
