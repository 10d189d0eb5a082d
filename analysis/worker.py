"""A share that judges; as a process, one that does what it is told and is never left behind.

``python -P -m analysis.worker`` is told steps over its standard input and answers over its standard output. When the
input ends it ends, in the midst of whatever it does, and the input ends with the process at its other end, however
that ended. It imports neither pandas nor pyarrow.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import IO, Any

from analysis.judged import Judged
from analysis.judging import Assignment, judge_share
from analysis.share import Share
from goldfish.errors import GoldfishError

_SIZE = struct.Struct("<Q")


class Worker(Share):
    """A share that judges what it holds."""

    def judge(self, assignment: Assignment) -> Judged:
        """The last step; see ``analysis.judging``."""
        return judge_share(self, assignment)


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads it.
    """
    content = pickle.dumps(message, protocol=5)
    stream.write(_SIZE.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message.

    Raises:
        EOFError: there is none, and there will be none.
    """
    size = stream.read(_SIZE.size)
    content = stream.read(_SIZE.unpack(size)[0]) if len(size) == _SIZE.size else b""
    return pickle.loads(content)


def main() -> None:
    """Take steps until the input ends."""
    # Ctrl-C reaches everybody at the terminal; whoever tells us what to do decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # rows are a heap without cycles
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints no answer
    steps: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, steps), daemon=True).start()
    share = Worker(lambda number: send(answers, ("progress", number)))
    while True:
        step, arguments = steps.get()
        try:
            answer = "answer", getattr(share, step)(*arguments)
        except GoldfishError as error:
            answer = "error", error
        except Exception:  # noqa: BLE001 - it is raised where it is waited for
            answer = "error", RuntimeError(traceback.format_exc())
        send(answers, answer)


def _listen(told: IO[bytes], steps: SimpleQueue[tuple[str, tuple[Any, ...]]]) -> None:
    try:
        while True:
            steps.put(receive(told))
    except EOFError:
        os._exit(1)


if __name__ == "__main__":
    main()
