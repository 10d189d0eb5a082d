"""The ledger of one conversation: what was said, by which device, when, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from goldfish.contract import Contract, Scope
from goldfish.errors import UsageError
from goldfish.oplog import TEXT_CHARS_MAX, Outcome
from goldfish.rule import NEVER, Delete, Expiry, Message, Touch, terms_of
from goldfish.rule.expiry import TouchKind
from goldfish.rule.size import token_bounds
from goldfish.token import Person, Series, mark
from stress.targets.outcome import Item

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
    def content(self) -> str:
        """Its text, token first."""
        return self.item.content


class Ledger:
    """All that was said in one conversation.

    A recall may be judged only when every append and delete that was in flight at its end has ended
    (``goldfish.rule.judge``): ``when_settled`` runs a function then, at once if none is in flight.
    """

    __slots__ = (
        "_batches",
        "_deletes",
        "_in_flight",
        "_index",
        "_indexed",
        "_series",
        "_touches",
        "_waiting",
        "contract",
        "devices",
        "entries",
        "expires",
        "items",
        "last_append_ns",
        "name",
        "person",
        "scope",
        "simple",
        "standing",
        "stored_ns",
        "terms",
        "unshown",
    )

    def __init__(
        self,
        person: Person,
        scope: Scope,
        session: int = 0,
        contract: Contract | None = None,
        touches: list[Touch] | None = None,
    ) -> None:
        """Begin a conversation.

        Args:
            person: who talks.
            scope: what a recall spans.
            session: the session's number, in a conversation that spans one.
            contract: what the memory promises.
            touches: what this person did to keep the memory alive, in any conversation; used where things expire.
        """
        self.person = person
        self.scope = scope
        self.name = person.conversation(scope, session)
        self.contract = contract or Contract()
        self.terms = terms_of(self.contract)
        self.expires = self.terms.ttl_ns is not None
        """Whether touches have to be noted."""
        self.simple = self.terms.plain and not self.expires
        """Whether a recall that shows the end of the ledger is sound without further ado."""
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
        self._deletes: list[Delete | None] = []
        self._touches = touches if touches is not None else []
        self._series: dict[tuple[str, int], tuple[str, Series]] = {}
        self._in_flight: set[int] = set()
        self._waiting: list[tuple[set[int], Callable[[], None]]] = []

    @property
    def next_turn(self) -> int:
        """The number of a turn that begins with the next append."""
        return self._batches

    def begin(
        self,
        device: str,
        session: int,
        messages: Sequence[tuple[str, str | None]],
        start_ns: int,
        turn: int | None = None,
    ) -> list[Entry]:
        """Enter the messages (role, text) of an append that starts now; its end must follow.

        Args:
            device: who says it.
            session: where.
            messages: role and text of each; no text: the service repeats what was said before it, word for word.
            start_ns: when.
            turn: the turn they belong to; not given, one of their own.

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
        turn = batch if turn is None else turn
        content = ""
        for place, (role, text) in enumerate(messages):
            token = series.token(seq)
            content = content if text is None else mark(token, text)
            item = Item(token, role, content)
            entry = Entry(device, seq, session_id, start_ns, batch, place, role, turn, item=item)
            said.append(entry)
            self.items.append(item)
            seq += 1
        if self.terms.sized:
            for entry in said:
                entry.tokens_min, entry.tokens_max = self._tokens(entry.content)
        self.entries += said
        self.standing += said
        self.unshown += len(said)
        self._in_flight.add(batch)
        return said

    def end(self, said: Sequence[Entry], outcome: Outcome, end_ns: int) -> None:
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

    def begin_delete(self, session_id: str, start_ns: int) -> int:
        """Note that a session is being deleted; the number is for ``end_delete``, which must follow."""
        number = len(self._deletes)
        self._deletes.append(Delete(session_id, start_ns, NEVER, False))
        self._in_flight.add(-1 - number)
        self.simple = False
        return number

    def end_delete(self, number: int, outcome: Outcome, end_ns: int) -> None:
        """Note the outcome of a delete."""
        begun = self._deletes[number]
        assert begun is not None
        self._deletes[number] = None if outcome == "fail" else begun._replace(end_ns=end_ns, ok=outcome == "ok")
        self._in_flight.discard(-1 - number)
        if self._waiting:
            self._settled(-1 - number)

    @property
    def deletes(self) -> list[Delete]:
        """Deletes that did not fail."""
        return [delete for delete in self._deletes if delete is not None]

    def touch(self, kind: TouchKind, session_id: str | None, start_ns: int) -> int:
        """Where something expires: note a request that may prolong its life; the number is for ``touched``."""
        self._touches.append(Touch(kind, start_ns, NEVER, session_id, None))
        return len(self._touches) - 1

    def touched(self, number: int, outcome: Outcome, end_ns: int, reached: Sequence[Entry]) -> None:
        """Note the outcome of such a request, and the messages whose sessions it certainly reached."""
        if outcome == "info":
            return
        reaches = frozenset([entry.session for entry in reached]) if outcome == "ok" else None
        self._touches[number] = self._touches[number]._replace(end_ns=end_ns, reaches=reaches)

    @property
    def expiry(self) -> Expiry | None:
        """The life of what was said, as known now; None if nothing expires."""
        return Expiry(self.terms, self._touches) if self.expires else None

    def young(self, end_ns: int) -> bool:
        """Whether all would be simple, and nothing that this person said can have expired by a stamp yet."""
        ttl_ns = self.terms.ttl_ns
        if ttl_ns is None or self._deletes or not self.terms.plain or not self._touches:
            return False
        return end_ns - self._touches[0].start_ns < ttl_ns

    def _tokens(self, text: str) -> tuple[int, int]:
        size_bytes = len(text.encode())
        return token_bounds(text[:TEXT_CHARS_MAX], size_bytes, self.contract.window.chars_per_token)

    def reinstate(self) -> None:
        """Find out anew which entries the memory may hold: rejected ones only if they were shown all the same."""
        self.standing = [entry for entry in self.entries if entry.maybe_stored()]
        self.items = [entry.item for entry in self.standing]

    def entry(self, device: str, seq: int) -> Entry | None:
        """The message that this device said as its ``seq``-th; None if it has not said so much."""
        for entry in self.entries[self._indexed :]:  # nobody asks while recalls are sound
            self._index[entry.device, entry.seq] = entry
        self._indexed = len(self.entries)
        return self._index.get((device, seq))

    @property
    def quiet(self) -> bool:
        """Whether no append or delete is in flight."""
        return not self._in_flight

    def when_settled(self, run: Callable[[], None]) -> None:
        """Call ``run`` as soon as every append and delete that is in flight now has ended."""
        if self.quiet:
            run()
        else:
            self._waiting.append((set(self._in_flight), run))

    def _settled(self, ended: int) -> None:
        for waiting, _ in self._waiting:
            waiting.discard(ended)
        ready = [run for waiting, run in self._waiting if not waiting]
        self._waiting = [(waiting, run) for waiting, run in self._waiting if waiting]
        for run in ready:
            run()
