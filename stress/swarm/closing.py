"""Closing conversations: when a story has ended and the memory had time to settle, every device looks back once more.

The final recall tells what is lost from what was merely late. It goes over a fresh connection without cookies, so that
it may land on another instance than the one that was written to. On a deployment that is not ours the sessions are
deleted afterwards. Then the ledger is dropped; so memory stays bounded however long a run lasts.

Closing takes a few round trips, which are long where the memory is slow or this process is busy. So the more
conversations wait, the more are closed at the same time; and while very many wait, no user begins another story.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import gevent
from gevent.event import Event

from stress.swarm.device import Chat, Conversation, Device

if TYPE_CHECKING:
    from stress.swarm.lifecycle import Run

CLOSERS = 8
"""Conversations that are closed at the same time, while few wait."""
CLOSERS_MAX = 500
AGAIN_S = (0.5, 1.0, 2.0)
"""Pauses between final recalls that got no answer."""
WAITING_PER_CLOSER = 4
WAITING_MAX = 2_000
"""Conversations that may wait to be closed before users hold back; those users have open come on top."""


class Closing:
    """The queue of conversations whose story has ended."""

    def __init__(self, run: Run, settle_s: float) -> None:
        self._run = run
        self._settle_s = settle_s
        self._queue: deque[Conversation] = deque()
        self._news = Event()
        self._busy = 0
        self._empty = Event()
        self._empty.set()
        self._closers = [gevent.spawn(self._work) for _ in range(CLOSERS)]

    def __len__(self) -> int:
        return len(self._queue) + self._busy

    @property
    def busy(self) -> int:
        """Conversations that are being closed just now."""
        return self._busy

    @property
    def behind(self) -> bool:
        """Whether so many conversations wait that no story should begin."""
        return len(self._queue) >= WAITING_MAX

    def add(self, conversation: Conversation) -> None:
        """Hand over a conversation in which nothing more will be said."""
        if not conversation.ledger.entries:
            self._run.closed(conversation)
        else:
            self._queue.append(conversation)
            if len(self._closers) < min(CLOSERS + len(self._queue) // WAITING_PER_CLOSER, CLOSERS_MAX):
                self._closers.append(gevent.spawn(self._work))
            self._empty.clear()
            self._news.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait until every conversation is closed; False if time ran out."""
        return bool(self._empty.wait(timeout_s))

    def stop(self) -> None:
        """End the closers; what they had open is recorded as killed."""
        gevent.killall(self._closers)
        self._empty.set()

    def _work(self) -> None:
        while True:
            while not self._queue:
                self._news.clear()
                self._news.wait()
            conversation = self._queue.popleft()
            self._busy += 1
            try:
                since_s = (time.monotonic_ns() - conversation.ledger.last_append_ns) / 1e9
                gevent.sleep(max(self._settle_s - since_s, 0))
                self._close(conversation)
                self._run.closed(conversation)
            finally:
                self._busy -= 1
                if not self._queue and not self._busy:
                    self._empty.set()

    def _look_back(self, device: Device, chat: Chat) -> None:
        """The final recall; one that falls into an outage is repeated, or nobody knew what became of the messages."""
        for pause_s in (*AGAIN_S, None):
            answered = device.recall(chat)
            device.drop_connection()
            if answered or pause_s is None:
                return
            gevent.sleep(pause_s)

    def _close(self, conversation: Conversation) -> None:
        chats = [Chat(self._run.target, conversation, session) for session in sorted(conversation.sessions)]
        for name in sorted({entry.device for entry in conversation.ledger.entries}):
            device = Device(self._run, conversation.person, name, phase="final")
            self._look_back(device, chats[-1])
        if not self._run.owned and self._run.target.deletes:
            device = Device(self._run, conversation.person, name, phase="final")
            for chat in chats:
                device.forget(chat)
            device.drop_connection()
