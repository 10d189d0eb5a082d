"""The ledger of one conversation: what was said, by which device, when, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from goldfish.contract import Scope
from goldfish.errors import UsageError
from goldfish.rule import Message
from goldfish.token import Person, Series, mark
from stress.targets.reference import Item

MESSAGES_MAX = 10_000
"""Messages in one conversation: no person says so much, and every recall would be held against all of them."""


class Entry(Message):
    """A message as it was said: what the rule knows of it, and its content."""

    __slots__ = ("content", "item", "role", "token", "turn")

    def __init__(
        self,
        device: str,
        seq: int,
        session: str,
        sent_ns: int,
        batch: int,
        place: int,
        *,
        token: str,
        turn: int,
        role: str,
        text: str,
    ) -> None:
        super().__init__(device, seq, session, sent_ns, batch, place)
        self.token = token
        self.turn = turn
        self.role = role
        self.content = mark(token, text)
        self.item = Item(token, role, self.content)
        """The message as it is sent, and as a sound list shows it."""


class Ledger:
    """All that was said in one conversation.

    A recall may be judged only when every append that was in flight at its end has ended (``goldfish.rule.judge``):
    ``when_settled`` runs a function then, at once if none is in flight.
    """

    __slots__ = (
        "_batches",
        "_in_flight",
        "_said",
        "_series",
        "_turns",
        "_waiting",
        "entries",
        "last_append_ns",
        "name",
        "person",
        "scope",
        "standing",
    )

    def __init__(self, person: Person, scope: Scope, session: int = 0) -> None:
        self.person = person
        self.scope = scope
        self.name = person.conversation(scope, session)
        self.entries: list[Entry] = []
        """In the order of sending; rejected ones included."""
        self.standing: list[Entry] = []
        """The entries that the memory may hold, in the order of sending: what a sound recall ends with."""
        self.last_append_ns = 0
        self._batches = 0
        self._turns = 0
        self._said: dict[str, list[Entry]] = {}
        """Device → what it said; a message's place in the list is its ``seq``."""
        self._series: dict[tuple[str, int], tuple[Series, str]] = {}
        """Device and session → how its tokens are made, and the session's id."""
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
        turn, self._turns = self._turns, self._turns + 1
        before = self._said.setdefault(device, [])
        seq = len(before)
        if (device, session) not in self._series:
            series = Series(self.person, self.scope, session, device)
            self._series[device, session] = series, self.person.session(session)
        series, session_id = self._series[device, session]
        said = [
            Entry(
                device,
                seq + place,
                session_id,
                start_ns,
                batch,
                place,
                token=series.token(seq + place),
                turn=turn,
                role=role,
                text=text,
            )
            for place, (role, text) in enumerate(messages)
        ]
        self.entries += said
        self.standing += said
        before += said
        self._in_flight.add(batch)
        return said

    def entry(self, device: str, seq: int) -> Entry | None:
        """The message that this device said as its ``seq``-th; None if it has not said so much."""
        said = self._said.get(device, ())
        return said[seq] if seq < len(said) else None

    def end(self, said: Sequence[Entry], outcome: str, end_ns: int) -> None:
        """Note the outcome of an append: ok, fail or info."""
        for entry in said:
            if outcome == "ok":
                entry.acked_ns = end_ns
            elif outcome == "fail":
                entry.failed = True
        if outcome == "fail":
            self.reinstate()
        self.last_append_ns = max(self.last_append_ns, end_ns)
        batch = said[0].batch
        self._in_flight.discard(batch)
        for waiting, _ in self._waiting:
            waiting.discard(batch)
        ready = [run for waiting, run in self._waiting if not waiting]
        self._waiting = [(waiting, run) for waiting, run in self._waiting if waiting]
        for run in ready:
            run()

    def reinstate(self) -> None:
        """Find out anew which entries the memory may hold: rejected ones only if they were shown all the same."""
        self.standing = [entry for entry in self.entries if entry.maybe_stored]

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
