"""The end of a long conversation: the answer is that of judging beside all of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

import pytest

from analysis.certain import judge_by_places
from analysis.check import check
from analysis.record import Conversation
from analysis.tail import Tail
from goldfish.contract import Contract, Window
from goldfish.rule import Message, Recall, judge, terms_of
from tests.evidence import histories
from tests.evidence.product import conversation_of
from tests.evidence.scale import rare, scaled

from .recorded import of_any, of_contract


def recalls_of(conversation: Conversation, contract: Contract) -> tuple[list[Message], list[Recall]]:
    """All that the rule is told, with everything known that will ever be; nothing if the stamps are not believed."""
    checked = check(conversation, contract)
    if checked.doubt is not None:
        return [], []
    terms = terms_of(contract)
    messages = sorted((sent.message for sent in checked.sent.values()), key=lambda message: message.sent_ns)
    recalls = [
        Recall(entry.row.start_ns, entry.row.end_ns, terms.capacity(entry.row.limit), entry.row.length, entry.shown)
        for entry in checked.listed
    ]
    return messages, recalls


@pytest.mark.parametrize("window", [None, 1, 2, 4, 7])
def test_it_says_what_the_whole_conversation_says(window: int | None) -> None:
    contract, promised = Contract(window=Window(messages=window)), histories.Contract(window=window)
    counts: Counter[str] = Counter()
    terms = terms_of(contract)
    for history in [*of_contract(promised, 5_000_000, scaled(3_000)), *of_any(5_500_000, scaled(1_000))]:
        messages, recalls = recalls_of(conversation_of(history), contract)
        stamps = [message.sent_ns for message in messages]
        tail = Tail(messages, terms)
        for recall in recalls:
            end = bisect_right(stamps, recall.end_ns)
            told = tail.judge(recall)
            assert told == judge(recall, messages[:end], terms), history
            counted = tail._certain and judge_by_places(recall, messages[:end], tail._place)
            if counted:
                counts["counted, lossy" if counted.lossy else "counted, sound"] += 1
            if window is not None and tail._begin(recall, end):
                counts["cut, lossy" if told.lossy else "cut, sound"] += 1
    wanted = frozenset({"cut, lossy", "cut, sound", "counted, lossy", "counted, sound"})
    assert window is None or not rare(counts, wanted), counts


def test_where_other_sessions_share_the_window_all_of_it_is_looked_at() -> None:
    messages = [Message("phone", seq, "s", 10 * seq, seq, 0, acked_ns=10 * seq + 5) for seq in range(9)]
    recall = Recall(100, 101, 3, 1, messages[-1:])
    for isolation, lossy in (((), False), (("session",), True)):
        terms = terms_of(Contract(window=Window(messages=3), isolation=isolation))
        assert Tail(messages, terms).judge(recall).lossy == lossy


def test_of_a_long_conversation_only_the_end_is_looked_at() -> None:
    messages = [Message("phone", seq, "s", 10 * seq, seq, 0, acked_ns=10 * seq + 5) for seq in range(10_000)]
    tail = Tail(messages, terms_of(Contract(window=Window(messages=20))))
    shown = [message for message in messages[-21:] if message.seq != 9_990]
    recall = Recall(100_000, 100_001, 20, 20, shown)
    assert tail._begin(recall, len(messages)) > 9_970
    (missing,) = tail.judge(recall).missing
    assert (missing.message.seq, missing.position) == (9_990, "gap")
