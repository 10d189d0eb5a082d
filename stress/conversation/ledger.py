"""The ledger of one conversation: what was said, by which device, when, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from goldfish.contract import Scope
from goldfish.errors import UsageError
from goldfish.rule import NEVER, Message
from goldfish.token import Person, Series, mark
from stress.targets.reference import Item

MESSAGES_MAX = 10_000
"""Messages in one conversation: no person says so much, and every recall would be held against all of them."""


class Entry(Message, kw_only=True):
    """A message as it was said: what the rule knows of it, and what was sent."""

    item: Item
    """The message as it is sent, and as a sound list shows it."""

    @property
    def token(self) -> str:
        """Its name."""
        return self.item.id

    @property
    def role(self) -> str:
        """Who speaks."""
        return self.item.role

    @property
    def content(self) -> str:
        """Its text, token first."""
        return self.item.content


class Ledger:
    """All that was said in one conversation.

    A recall may be judged only when every append that was in flight at its end has ended (``goldfish.rule.judge``):
    ``when_settled`` runs a function then, at once if none is in flight.
    """

    __slots__ = (
        "_batches",
        "_in_flight",
        "_index",
        "_indexed",
        "_series",
        "_waiting",
        "devices",
        "entries",
        "items",
        "last_append_ns",
        "name",
        "person",
        "scope",
        "standing",
        "stored_ns",
        "unshown",
    )

    def __init__(self, person: Person, scope: Scope, session: int = 0) -> None:
        self.person = person
        self.scope = scope
        self.name = person.conversation(scope, session)
        self.entries: list[Entry] = []
        """In the order of sending; rejected ones included."""
        self.standing: list[Entry] = []
        """The entries that the memory may hold, in the order of sending: what a sound recall ends with."""
        self.items: list[Item] = []
        """Those entries as a sound list shows them."""
        self.devices: dict[str, int] = {}
        """Every device that said something, and the number of its next message."""
        self.unshown = 0
        """How many entries no recall has shown yet."""
        self.stored_ns = NEVER
        """The earliest stamp by which anything certainly was stored."""
        self.last_append_ns = 0
        self._index: dict[tuple[str, int], Entry] = {}
        self._indexed = 0
        self._batches = 0
        self._series: dict[tuple[str, int], tuple[str, Series]] = {}
        self._in_flight: set[int] = set()
        self._waiting: list[tuple[set[int], Callable[[], None]]] = []

    def begin(self, device: str, session: int, messages: Sequence[tuple[str, str]], start_ns: int) -> list[Entry]:
        """Enter the messages (role, text) of an append that starts now; its end must follow.

        Raises:
            UsageError: the conversation would not end.
        """
        if len(self.entries) >= MESSAGES_MAX:
            raise UsageError(f"{MESSAGES_MAX:,} messages in one conversation: put a bare `yield` after each turn")
        batch, self._batches = self._batches, self._batches + 1
        seq = self.devices.get(device, 0)
        self.devices[device] = seq + len(messages)
        known = self._series.get((device, session))
        if known is None:
            known = self.person.session(session), Series(self.person, self.scope, session, device)
            self._series[device, session] = known
        session_id, series = known
        said = []
        for place, (role, text) in enumerate(messages):
            token = series.token(seq)
            item = Item(token, role, mark(token, text))
            entry = Entry(device, seq, session_id, start_ns, batch, place, item=item)
            said.append(entry)
            self.items.append(item)
            seq += 1
        self.entries += said
        self.standing += said
        self.unshown += len(said)
        self._in_flight.add(batch)
        return said

    def end(self, said: Sequence[Entry], outcome: str, end_ns: int) -> None:
        """Note the outcome of an append: ok, fail or info."""
        if outcome == "ok":
            for entry in said:
                entry.acked_ns = end_ns
            self.stored_ns = min(self.stored_ns, end_ns)
        elif outcome == "fail":
            for entry in said:
                entry.failed = True
            self.reinstate()
        self.last_append_ns = max(self.last_append_ns, end_ns)
        batch = said[0].batch
        self._in_flight.discard(batch)
        if self._waiting:
            self._settled(batch)

    def reinstate(self) -> None:
        """Find out anew which entries the memory may hold: rejected ones only if they were shown all the same."""
        self.standing = [entry for entry in self.entries if entry.maybe_stored]
        self.items = [entry.item for entry in self.standing]

    def entry(self, device: str, seq: int) -> Entry | None:
        """The message that this device said as its ``seq``-th; None if it has not said so much."""
        for entry in self.entries[self._indexed :]:  # nobody asks while recalls are sound
            self._index[entry.device, entry.seq] = entry
        self._indexed = len(self.entries)
        return self._index.get((device, seq))

    @property
    def quiet(self) -> bool:
        """Whether no append is in flight."""
        return not self._in_flight

    def when_settled(self, run: Callable[[], None]) -> None:
        """Call ``run`` as soon as every append that is in flight now has ended."""
        if self.quiet:
            run()
        else:
            self._waiting.append((set(self._in_flight), run))

    def _settled(self, batch: int) -> None:
        for waiting, _ in self._waiting:
            waiting.discard(batch)
        ready = [run for waiting, run in self._waiting if not waiting]
        self._waiting = [(waiting, run) for waiting, run in self._waiting if waiting]
        for run in ready:
            run()
