"""``faults.jsonl``: what was done to the deployment while a run was under way, one JSON object a line.

    kind              what was done: kill, pause, …
    part              to which part: m2, redis, postgres, balancer
    requested_ns      when it was asked for
    effective_ns      when it was seen to have an effect; null if never
    heal_requested_ns when its end was asked for; null if it was not, as of a kill that nobody undoes
    healthy_ns        when the part was seen to be well again; null if never
    proof             how the effect was seen, in words: "pid 4711 is gone, m2 refuses connections"
    ok                whether everything that was asked for happened

Stamps are those of ``time.monotonic_ns()`` in the process that conducts the run, whose clock ``run.json`` ties to the
wall clock by ``started`` and ``start_ns``. A line is written when the fault is over, or at the end of the run; a file
that breaks off may hide faults, so a run with one cannot pass.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

FILE = "faults.jsonl"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One line."""

    kind: str
    part: str
    requested_ns: int
    effective_ns: int | None = None
    heal_requested_ns: int | None = None
    healthy_ns: int | None = None
    proof: str = ""
    ok: bool = True

    def __post_init__(self) -> None:
        stamps = [self.requested_ns, self.effective_ns, self.heal_requested_ns, self.healthy_ns]
        told = [stamp for stamp in stamps if stamp is not None]
        if told != sorted(told):
            raise ValueError(f"its stamps run backwards: {told}")

    @property
    def name(self) -> str:
        """As on the command line: kill@m1."""
        return f"{self.kind}@{self.part}"


def read_faults(directory: Path) -> tuple[list[Fault], str | None]:
    """The faults of a run in the order they were asked for, none if there is no such file; and what is wrong with it.

    What stands in lines that can be read is a fault that happened, whatever became of the others.
    """
    path = directory / FILE
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return [], None
    except OSError as error:
        return [], f"{path} cannot be read: {error.strerror}"
    faults: list[Fault] = []
    flaw = None
    for number, line in enumerate(lines, 1):
        try:
            faults.append(msgspec.json.decode(line, type=Fault))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            flaw = flaw or f"{path}:{number} is not a fault: {error}"
    return sorted(faults, key=lambda fault: fault.requested_ns), flaw
