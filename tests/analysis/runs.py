"""Run directories made by hand: a few operations in milliseconds, written as a load process would write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from analysis.check import Checked, check
from analysis.judged import Judged
from analysis.load import Loaded, load
from goldfish.contract import Budget, Contract, Ttl, Window
from goldfish.oplog import (
    Append,
    Delete,
    Footer,
    Header,
    Odd,
    Operation,
    Owner,
    Recall,
    Said,
    Sample,
    Touch,
    encode_runs,
)
from goldfish.run import TRANSCRIPT, Run, write_run

MS = 1_000_000
RUN = "a-run"
ENCODER = msgspec.json.Encoder()
Shown = tuple[str, int] | Odd
PHONE = [("phone", seq) for seq in range(10)]
LAPTOP = [("laptop", seq) for seq in range(10)]


def window(messages: int | None) -> Contract:
    """A contract that promises the newest messages."""
    return Contract(window=Window(messages=messages))


def expiring(**ttl: Any) -> Contract:
    """What expires after 10 ms."""
    return Contract(ttl=Ttl(seconds=0.010, **ttl))


def classes(checked: Checked) -> list[str]:
    """The classes of all findings, in their order."""
    return [finding.anomaly for finding in checked.findings]


def corrupted(device: str, seq: int, kind: Any = "truncated") -> Odd:
    return Odd(at=0, why="corrupted", kind=kind, device=device, seq=seq, text="cut")


def foreign(owner: Owner, device: str = "phone", seq: int = 0) -> Odd:
    return Odd(at=0, why="foreign", device=device, seq=seq, owner=owner, text="not yours")


UNMARKED = Odd(at=0, why="unmarked", text="a summary")
OTHER_RUN = Odd(at=0, why="other-run", text="left over")


@dataclass
class Process:
    """One load process and its log; operations of the conversation last named."""

    name: str = "0"
    operations: list[Operation] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    who: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.talk("0.0.s0")

    def talk(
        self,
        conversation: str,
        scenario: str = "rapid-switch",
        user: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        scope: str = "session",
    ) -> Process:
        """Go on with another conversation."""
        self.scope = scope
        self.who = {
            "scenario": scenario,
            "conversation": conversation,
            "user": user or f"user of {conversation}",
            "tenant": tenant,
        }
        self.session = session or f"session of {conversation}"
        return self

    def append(self, device: str, start: int, end: int, *seqs: int, outcome: str = "ok", **more: Any) -> Process:
        texts = more.pop("text", "hello")
        session = more.pop("session", self.session)
        role, turn, tokens = more.pop("role", "user"), more.pop("turn", None), more.pop("tokens", None)
        messages = [
            Said(seq=seq, turn=seq if turn is None else turn, role=role, text=texts, bytes=len(texts), tokens=tokens)
            for seq in seqs
        ]
        self._add(Append, device, start, end, outcome, more, session=session, messages=messages)
        return self

    def recall(
        self,
        device: str,
        start: int,
        end: int,
        *shown: Shown,
        limit: int | None = None,
        outcome: str = "ok",
        final: bool = False,
        **more: Any,
    ) -> Process:
        own = [element for element in shown if isinstance(element, tuple)]
        odd = [msgspec.structs.replace(element, at=at) for at, element in enumerate(shown) if isinstance(element, Odd)]
        session = more.pop("session", self.session if self.scope == "session" else None)
        fields: dict[str, Any] = {"view": self.scope, "limit": limit, "seen": encode_runs(own), "odd": odd} | more
        if final:
            fields["phase"] = "final"
        self._add(Recall, device, start, end, outcome, fields, session=session)
        return self

    def delete(self, device: str, start: int, end: int, outcome: str = "ok", **more: Any) -> Process:
        session = more.pop("session", self.session)
        self._add(Delete, device, start, end, outcome, more, session=session)
        return self

    def touch(self, device: str, start: int, end: int, outcome: str = "ok", **more: Any) -> Process:
        session = more.pop("session", self.session)
        self._add(Touch, device, start, end, outcome, more, session=session)
        return self

    def search(self, device: str, start: int, end: int, *shown: Shown, asked: Sequence[tuple[str, int]]) -> Process:
        return self.recall(device, start, end, *shown, view="search", session=None, asked=list(asked))

    def _add(
        self, kind: type[Operation], device: str, start: int, end: int, outcome: str, more: dict[str, Any], **own: Any
    ) -> None:
        fields = {"instance": "m1", "status": 200, "id": len(self.operations)} | self.who | own | more
        self.operations.append(
            kind(device=device, start_ns=start * MS, end_ns=end * MS, outcome=outcome, **fields)  # type: ignore[call-arg]
        )

    def rows(self) -> list[Any]:
        """The log as a sequence of rows, header and footer included."""
        counts = {"sample": len(self.samples)} if self.samples else {}
        for operation in self.operations:
            kind = type(operation).__name__.lower()
            counts[kind] = counts.get(kind, 0) + 1
        header = Header(run=RUN, process=self.name, worker=0, monotonic_ns=0, wall=0.0)
        rows = [*self.samples, *self.operations]
        return [header, *rows, Footer(lines=len(rows) + 2, counts=counts)]

    def lines(self) -> list[bytes]:
        """The log as lines of JSON."""
        return [ENCODER.encode(row) + b"\n" for row in self.rows()]


def write(
    directory: Path,
    *processes: Process,
    contract: Contract | None = None,
    budget: Budget | None = None,
    **run: Any,
) -> Path:
    """Write a run directory; ``run`` sets further fields of run.json."""
    names = [process.name for process in processes]
    scenarios = sorted({row.scenario for process in processes for row in process.operations})
    fields: dict[str, Any] = {"processes": names, "scenarios": scenarios} | run
    (directory / TRANSCRIPT).mkdir(parents=True, exist_ok=True)
    write_run(directory, Run(run=RUN, contract=contract or Contract(), budget=budget or Budget(), **fields))
    for process in processes:
        (directory / TRANSCRIPT / f"{process.name}.jsonl").write_bytes(b"".join(process.lines()))
    return directory


def judge(directory: Path, process: Process, contract: Contract | None = None) -> Checked:
    """Judge the only conversation of a process, through files."""
    record = load(write(directory, process, contract=contract))
    (conversation,) = record.conversations.values()
    return check(conversation, record.run.contract)


def sums(record: Loaded, contract: Contract | None = None) -> Judged:
    """What all conversations of a record come to."""
    judged = Judged(record.start_ns, record.cited)
    for conversation in record.conversations.values():
        judged.add(check(conversation, contract or record.run.contract))
    return judged


def found(checked: Checked) -> set[tuple[int, str, str | None, int | None]]:
    """(operation number, class, device, seq) of every finding."""
    return {(f.recall.id, f.anomaly, f.device, f.seq) for f in checked.findings}


def sound(process: Process, number: int, scenario: str = "rapid-switch", start: int = 0, turns: int = 3) -> Process:
    """One sound conversation of its own user, closed by a final recall."""
    process.talk(f"{process.name}.{number}.s0", scenario=scenario)
    for turn in range(turns):
        at = start + 10 * turn
        process.append("phone", at, at + 2, turn)
        process.recall("phone", at + 4, at + 6, *((("phone", seq)) for seq in range(turn + 1)))
    end = start + 10 * turns
    return process.recall("phone", end, end + 2, *(("phone", seq) for seq in range(turns)), final=True)


def many(number: int, scenario: str = "rapid-switch") -> Process:
    """A process with sound conversations."""
    process = Process()
    for at in range(number):
        sound(process, at, scenario=scenario)
    return process


def reasons(results: Any) -> list[str]:
    """The codes of all reasons."""
    return [reason.code for reason in results.reasons]


def pairs(*keys: str) -> Sequence[Shown]:
    """'phone 0' → ("phone", 0)."""
    return [(device, int(seq)) for device, seq in (key.split() for key in keys)]
