"""However conversations are shared out, whatever the order in which shares are merged: the outputs are the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pytest

from analysis.check import check
from analysis.episodes import Episodes
from analysis.faults import costs
from analysis.findings import findings_table
from analysis.judged import Judged
from analysis.load import Loaded, load
from analysis.page import page
from analysis.power import power
from analysis.results import results
from analysis.tally import tally
from analysis.users import users_table
from analysis.verdict import decide
from goldfish.contract import Contract
from goldfish.faults import Fault
from goldfish.oplog import Owner

from .runs import MS, UNMARKED, Process, corrupted, foreign, sound, write


def eventful() -> list[Process]:
    """Two processes with every class of findings, stale and doubtful conversations, in two scenarios."""
    processes = []
    for name in ("0", "1"):
        process = Process(name)
        for number in range(4):
            sound(process, number, scenario=("rapid-switch", "shared")[number % 2], start=37 * number)
        owner = Owner(tenant=None, user="ben", session="s", conversation="0.1.s0")
        process.talk(f"bad {name}").append("phone", 0, 1, 0).append("phone", 2, 3, 1, 2, outcome="info")
        process.append("laptop", 4, 5, 0, outcome="fail").recall("laptop", 6, 7, ("phone", 0), ("laptop", 0))
        listed = (foreign(owner), corrupted("phone", 0), UNMARKED, ("phone", 2), ("phone", 1), ("phone", 1))
        process.recall("laptop", 8, 9, *listed).delete("phone", 10, 11).append("phone", 12, 13, 3)
        process.recall("phone", 14, 15, final=True)
        process.talk(f"late {name}", scenario="shared").append("phone", 0, 1, 0)
        process.recall("phone", 400, 401, instance="m3")
        process.recall("phone", 500, 501, ("phone", 0), final=True).recall("phone", 502, 503, outcome="fail")
        process.talk(f"hole {name}").append("phone", 0, 1, 1).recall("phone", 2, 3, ("phone", 1))
        process.talk(f"early {name}").append("phone", 9, 10, 0).recall("phone", 2, 3, ("phone", 0))
        processes.append(process)
    return processes


FAULTS = [
    Fault(kind="pause", part="redis", requested_ns=MS, effective_ns=2 * MS, healthy_ns=7 * MS),
    Fault(kind="kill", part="m1", requested_ns=300 * MS, effective_ns=300 * MS),
]


def outputs(record: Loaded, judged: Judged) -> tuple[bytes, bytes, pa.Table, pa.Table]:
    """Everything that is written, from the sums alone."""
    budget = record.run.budget
    tallies = tally(judged, record.run.scenarios, budget.confidence)
    suffered = costs(FAULTS, Episodes(FAULTS, {}), judged.exposure, record.start_ns)
    assert all(fault.lossy_recalls for fault in suffered)
    seen = power(judged.sampled.conversations(), Contract())
    assert seen.sampled
    verdict = decide(record, judged, tallies, budget, same_contract=True, power=seen, faults=suffered)
    judgement = results(record, Contract(), budget, tallies, verdict, power=seen, faults=suffered)
    return (
        msgspec.json.encode(judgement),
        msgspec.json.encode(page(record, judged, judgement)),
        findings_table(judged.found),
        users_table(judged.counts.scenarios),
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_outputs_do_not_depend_on_the_sharing(tmp_path: Path, seed: int) -> None:
    write(tmp_path, *eventful(), start_ns=0)
    record = load(tmp_path)
    whole = Judged(record.start_ns, record.cited, Episodes(FAULTS, {}))
    for conversation in record.conversations.values():
        whole.add(check(conversation, Contract()))
    assert whole.found.rows()

    record = load(tmp_path)
    rng = Random(seed)
    shares = [Judged(record.start_ns, record.cited, Episodes(FAULTS, {})) for _ in range(rng.randint(1, 6))]
    for conversation in record.conversations.values():
        rng.choice(shares).add(check(conversation, Contract()))
    rng.shuffle(shares)
    merged = Judged(record.start_ns, record.cited, Episodes(FAULTS, {}))
    for share in shares:
        merged.merge(pickle.loads(pickle.dumps(share)))
    assert outputs(record, merged) == outputs(record, whole)
