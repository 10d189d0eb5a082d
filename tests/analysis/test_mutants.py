"""Wrong versions of the proof, one decision each: the comparison with the slow path must convict every one of them.

All of them err towards "sound". A version that errs the other way is slower and says the same.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import analysis.proof
from analysis import judging
from analysis.publish import Outputs
from analysis.sums.sampled import KEPT_MAX, digest
from goldfish.contract import Contract, Window
from goldfish.errors import RecordError
from tests.evidence import histories

from .recorded import judged, of_any, of_contract, record
from .runs import UNMARKED, Process, many, write

MODULES = ("features", "messages", "lists", "owed", "prove", "proven")
"""In the order of their imports."""
CONTRACTS = [
    (Contract(), histories.Contract()),
    (Contract(window=Window(messages=4)), histories.Contract(window=4)),
    (Contract(visibility_ms=30, scope=("user",)), histories.Contract(visibility_ns=30_000_000)),
    (Contract(window=Window(messages=7), unmarked="allow"), histories.Contract()),
]
"""What runs are judged by, and what the stores promise."""


class Mutant(NamedTuple):
    """A wrong version."""

    name: str
    module: str
    right: str
    wrong: str


MUTANTS = [
    Mutant(*words)
    for words in (
        ("takes elements of others for plain", "features", '["odd"] == SUSPECT', '["odd"] == 7'),
        ("takes forbidden elements for plain", "features", '["odd"] > 0', '["odd"] > 99'),
        ("takes any scope for promised", "features", " and view in contract.scope", ""),
        ("takes two scopes for one", "features", "][1:][differs & ", "][1:][differs & False & "),
        ("takes two sessions for one", "features", "by_session & (low < high)", "by_session & (low > high)"),
        ("overlooks a delete before a recall", "features", "<= latest[where]", "< 0"),
        ("takes a later attempt for a first one", "features", '| (appends["attempt"] != 1)', ""),
        ("takes an unanswered append for acknowledged", "messages", '(outcome == "ok")', '(outcome != "fail")'),
        ("takes a hole in the numbers for none", "messages", "wrong = seq != np", "wrong = seq < np"),
        ("takes what was sent later for earlier", "messages", "(np.diff(start) < 0)", "(np.diff(start) < -never)"),
        ("knows what nobody sent", "lists", "] == code[known]", "] >= 0"),
        ("believes lists from the future", "lists", "[last] > end", "[last] > end + messages.never"),
        ("believes recalls that got no answer", "lists", 'manner.outcome == "ok"', "True"),
        ("does not compare the runs of a list", "lists", "<= rank[lists.last[:-1]]", "< -1"),
        ("lets a list show a run twice", "lists", "<= rank[lists.last[:-1]]", "< rank[lists.first[:-1]]"),
        ("does not hold the order against the stamps", "lists", "< latest[:-1]", "< 0"),
        (
            "sees half of a long run",
            "lists",
            "handed[: number - half], out=smallest[half:]",
            "nobody, out=smallest[half:]",
        ),
        ("takes a refused message for a good one", "prove", "(shown < messages.never)", "(shown < 0)"),
        ("forgets that what is shown is stored", "prove", "np.minimum(messages.acked, shown)", "messages.acked"),
        ("proves conversations with a lossy recall", "prove", "[~verdicts.sound]", "[:0]"),
        ("takes a list with room for a full one", "owed", "room = length < bound", "room = length < 0"),
        ("lets a list be longer than its window", "owed", "length > np.maximum(bound, 0)", "length < 0"),
        ("lets a recall read before its list was sent", "owed", "messages.sent[lists.last])", "0)"),
        ("waits twice for the visibility", "owed", "lists.start - visibility_ns", "lists.start - 2 * visibility_ns"),
        ("lets a full list skip what came soon after", "owed", "oldest[recall])", "oldest[recall] + 30_000_000)"),
        ("lets an author's list have holes", "owed", "after_oldest), first_shown)", "after_oldest), past_shown)"),
        ("owes nothing before the last that is shown", "owed", "np.maximum(high, past_shown)", "np.minimum(high, 0)"),
        ("excuses what was stored late", "owed", "(stored == never)", "(stored > messages.sent)"),
        ("overlooks that one is missing", "owed", "[given != owed]", "[given < owed - 1]"),
        ("takes every recall for checked", "owed", "] < read_at", "] <= never"),
        ("checks recalls that ask for nothing", "owed", "checked & asked", "checked"),
        ("does not know the window", "owed", "(contract.window.messages, contract.page.max)", "(contract.page.max,)"),
    )
]


def mutated(mutant: Mutant) -> dict[str, ModuleType]:
    """Fresh copies of the modules of the proof, one of them changed."""
    folder = Path(analysis.proof.__file__).parent
    kept = {f"analysis.proof.{name}": sys.modules[f"analysis.proof.{name}"] for name in MODULES}
    fresh: dict[str, ModuleType] = {}
    try:
        for name in MODULES:
            source = (folder / f"{name}.py").read_text(encoding="utf-8")
            if name == mutant.module:
                assert source.count(mutant.right) == 1, f"{mutant.right!r} stands {source.count(mutant.right)} times"
                source = source.replace(mutant.right, mutant.wrong)
            spec = importlib.util.spec_from_loader(f"analysis.proof.{name}", loader=None)
            assert spec is not None
            sys.modules[spec.name] = fresh[name] = importlib.util.module_from_spec(spec)
            exec(compile(source, f"{name}.py", "exec"), fresh[name].__dict__)
    finally:
        sys.modules.update(kept)
    return fresh


def by_hand() -> Process:
    """What simulated histories hold too seldom, or never."""
    phone = [("phone", seq) for seq in range(6)]
    process = Process().talk("resent").append("phone", 0, 1, 0, attempt=2).recall("phone", 7, 8, phone[0])
    process.talk("hole").append("phone", 0, 1, 0).append("phone", 2, 3, 2).recall("phone", 4, 5, phone[0])
    process.talk("unknown").append("phone", 0, 1, 0).append("tablet", 0, 1, 0)
    process.recall("phone", 4, 5, phone[0], ("laptop", 0))
    process.talk("prompt").append("phone", 0, 1, *range(6)).recall("phone", 4, 5, UNMARKED, *phone)
    process.talk("future").append("phone", 10, 11, 0).recall("phone", 2, 3, phone[0])
    # Overlapping: whoever shows the phone's message has read after the tablet's was acknowledged.
    process.talk("late reader").append("laptop", 0, 1, 0).append("tablet", 4, 5, 0).append("phone", 10, 11, 0)
    process.recall("laptop", 3, 30, ("laptop", 0), phone[0])
    process.talk("late reader of a full list").append("phone", 0, 1, 0).append("laptop", 2, 3, 0)
    process.append("phone", 4, 5, 1, 2, 3).recall("phone", 60, 61, *phone[:4])
    process.talk("hole in a full list").append("phone", 0, 1, 0, 1, 2).append("phone", 2, 3, 3).append("phone", 4, 5, 4)
    process.recall("phone", 6, 7, phone[0], *phone[2:5])
    process.talk("against the stamps").append("phone", 0, 1, 0).append("laptop", 2, 3, 0)
    process.recall("phone", 4, 5, ("laptop", 0), phone[0])
    process.talk("refused").append("phone", 0, 1, 0, outcome="fail").append("phone", 2, 3, 1)
    process.recall("phone", 4, 5, phone[0], phone[1])
    return process


def refused() -> Iterator[Process]:
    """What cannot be judged at all, in conversations that are not looked at for being in the sample."""
    unsampled = max((f"number {number}" for number in range(1_000)), key=digest)
    shown = ("phone", 0)
    for spoil in (
        lambda process: process.recall("phone", 4, 5, shown, view="user"),
        lambda process: process.recall("phone", 4, 5, shown, session="another"),
        lambda process: process.append("phone", 8, 9, 1).append("phone", 6, 7, 2),
    ):
        process = many(KEPT_MAX).talk(unsampled).append("phone", 0, 1, 0).recall("phone", 2, 3, shown)
        yield spoil(process)


def outcome(directory: Path, contract: Contract) -> Outputs | str:
    try:
        return judged(directory, contract)
    except RecordError as error:
        return str(error)


Trials = Sequence[tuple[Path, Contract, Outputs | str]]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """Runs, and what the slow path says of them."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "prove", lambda *_: None)
        for contract, promised in CONTRACTS:
            simulated, handmade = tmp_path_factory.mktemp("simulated"), tmp_path_factory.mktemp("by-hand")
            record(simulated, [*of_contract(promised, 6_000_000, 120), *of_any(6_500_000, 30)])
            runs = [write(handmade, by_hand()), simulated]
            runs += [write(tmp_path_factory.mktemp("refused"), process) for process in refused()]
            found += [(directory, contract, outcome(directory, contract)) for directory in runs]
    return found


def convicted(trials: Trials) -> bool:
    for directory, contract, expected in trials:
        try:
            if outcome(directory, contract) != expected:
                return True
        except Exception:  # noqa: BLE001 - whatever it is, it is noticed
            return True
    return False


def test_the_right_version_is_acquitted(trials: Trials) -> None:
    assert not convicted(trials)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_version_is_convicted(mutant: Mutant, trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = mutated(mutant)
    monkeypatch.setattr(judging, "prove", fresh["prove"].prove)
    monkeypatch.setattr(judging, "Proven", fresh["proven"].Proven)
    if not convicted(trials):
        pytest.fail(f"acquitted: it {mutant.name}")
