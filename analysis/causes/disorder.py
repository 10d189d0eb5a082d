"""Causes of what is listed and should not be: copies, inversions, changed contents, messages of others, phantoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analysis.causes.cause import Cause
from analysis.causes.harm import Harm
from analysis.symptoms.scale import ends, told
from goldfish.anomalies import ANOMALIES
from goldfish.table import count, share


def disorderly(harm: Harm) -> Iterator[Cause]:
    """All causes of findings that are not losses."""
    yield from _copies(harm)
    yield from _inversions(harm)
    yield from _changes(harm)
    yield from _leaks(harm)
    yield from _phantoms(harm)


def _copies(harm: Harm) -> Iterator[Cause]:
    total = harm.symptoms.disorder.copies.total()
    resent = sum(number for copy, number in harm.symptoms.disorder.copies.items() if copy.resent)
    if resent:
        yield Cause(
            code="no-idempotency",
            title="A message that is sent again is stored again",
            anomaly="duplicated",
            explains=resent / total,
            evidence_for=[
                f"{resent:,} of {count(total, 'duplicate')} are of messages that were sent in several attempts."
            ],
            evidence_against=_others(total - resent, "duplicate", "sent once"),
            remedy=ANOMALIES["duplicated"].remedies[0][0].upper() + ANOMALIES["duplicated"].remedies[0][1:] + ".",
        )
    if total - resent:
        yield Cause(
            code="merged-copies",
            title="Several copies of a history are put together without comparing ids",
            anomaly="duplicated",
            explains=(total - resent) / total,
            evidence_for=[
                f"{total - resent:,} of {count(total, 'duplicate')} are of messages that were sent only once."
            ],
            evidence_against=_others(resent, "duplicate", "sent in several attempts"),
            remedy="Look at caches, shards and retries inside the service that are merged or replayed.",
        )


def _inversions(harm: Harm) -> Iterator[Cause]:
    inversions, unordered = harm.symptoms.disorder.inversions, harm.symptoms.disorder.unordered.total()
    total = inversions.total() + unordered
    if not total:
        return
    batch = sum(number for pair, number in inversions.items() if pair.one_append)
    across = sum(
        number
        for pair, number in inversions.items()
        if not pair.one_append and not (pair.one_device and pair.one_instance)
    )
    alone = inversions.total() - batch - across
    if batch:
        yield _order(
            "batch-order",
            "Messages of one append do not keep their order",
            batch,
            total,
            [f"{batch:,} of {count(total, 'inversion')} are inside one append."],
            "Number the messages of a batch before they are stored, and order by that number.",
        )
    if across or unordered:
        evidence = []
        if across:
            apart = max(pair.apart for pair in inversions if not pair.one_append)
            evidence.append(
                f"{across:,} of {count(total, 'inversion')} are between messages of different devices or instances, "
                f"acknowledged up to {told(ends(apart)[1] or ends(apart)[0])} apart."
            )
        if unordered:
            evidence.append(
                f"{count(unordered, 'list')} contradict another list: the order is made anew when it is read."
            )
        yield _order(
            "order-by-timestamp",
            "The order is that of timestamps, which are coarse or of several clocks",
            across + unordered,
            total,
            evidence,
            "Order by a sequence that the store assigns, not by a clock.",
        )
    if alone:
        yield _order(
            "no-order",
            "Nothing keeps the order in which messages were stored",
            alone,
            total,
            [
                f"{alone:,} of {count(total, 'inversion')} are between messages that one device sent one after the other."
            ],
            "Order by a sequence that the store assigns; look for queries without an order and for coarse timestamps.",
        )


def _order(code: str, title: str, number: int, total: int, evidence: list[str], remedy: str) -> Cause:
    return Cause(
        code=code,
        title=title,
        anomaly="reordered",
        explains=number / total,
        evidence_for=evidence,
        evidence_against=[],
        remedy=remedy,
    )


def _changes(harm: Harm) -> Iterator[Cause]:
    changes = harm.symptoms.disorder.changes
    total = changes.total()
    kinds: Counter[str] = Counter()
    for change, number in changes.items():
        kinds[change.how] += number
    words = {
        "truncated": ("length-limit", "Contents are cut at a length", "Reject what is too long to be stored, or store it whole."),
        "altered": ("altered-content", "Contents are rewritten on the way: encoding, escaping or cleaning", "Store what was said byte for byte, in UTF-8; clean up when it is shown."),
        "role": ("altered-role", "Roles are mapped to others", "Store the role as it was sent; reject roles that are not supported."),
    }  # fmt: skip
    for how, number in kinds.items():
        code, title, remedy = words.get(how, words["altered"])
        those = {change: n for change, n in changes.items() if change.how == how}
        evidence = [f"{number:,} of {count(total, 'changed message')}: {how}."]
        if how == "truncated":
            least = min((change.size for change in those if change.size), default=0)
            if least:
                evidence.append(f"The shortest that was cut has {1 << (least - 1):,} bytes or more.")
        elif how == "altered":
            wide = sum(n for change, n in those.items() if not change.ascii)
            evidence.append(f"{share(wide / number)} of them hold other characters than ASCII.")
        else:
            roles = sorted({change.role for change in those if change.role})
            evidence.append(f"They were sent as {', '.join(roles)}.")
        yield Cause(
            code=code,
            title=title,
            anomaly="corrupted",
            explains=number / total,
            evidence_for=evidence,
            evidence_against=[],
            remedy=remedy,
        )


def _leaks(harm: Harm) -> Iterator[Cause]:
    leaks = harm.symptoms.disorder.leaks
    total = leaks.total()
    if not total:
        return
    levels: Counter[str] = Counter()
    readers: Counter[str] = Counter()
    for leak, number in leaks.items():
        levels[leak.level] += number
        readers[leak.read_by or "?"] += number
    level = max(levels, key=lambda name: (levels[name], name))
    known = {traits.read_by for traits in harm.symptoms.traits.asked if traits.read_by}
    one = next(iter(readers)) if len(readers) == 1 and len(known) > 1 else None
    came = ", ".join(f"{number:,} of another {name}" for name, number in levels.most_common())
    if one and one != "?":
        yield Cause(
            code="shared-state",
            title=f"{one} keeps state between requests and mixes up whose it is",
            anomaly="foreign",
            explains=1.0,
            evidence_for=[
                f"All {count(total, 'foreign message')} were listed by {one}, none by the other {len(known) - 1}.",
                f"They came from elsewhere: {came}.",
            ],
            evidence_against=[],
            remedy="Keep nothing in a process between requests: no module variables, no reused buffers, no cached client "
            "with a user in it.",
        )
        return
    keys = {"session": "session", "user": "user", "tenant": "tenant"}
    yield Cause(
        code="key-too-short",
        title=f"A key leaves out the {keys.get(level, level)}, or state is shared between requests",
        anomaly="foreign",
        explains=1.0,
        evidence_for=[f"{count(total, 'foreign message')} listed by {count(len(readers), 'instance')}: {came}."],
        evidence_against=[],
        remedy="Put tenant, user and session into every key and every query; keep nothing in a process between requests.",
    )


def _phantoms(harm: Harm) -> Iterator[Cause]:
    kinds: Counter[str] = Counter()
    for (_, kind), number in harm.symptoms.disorder.phantoms.items():
        kinds[kind] += number
    words = {
        "rejected": ("stored-before-validated", "What is refused is stored all the same", "Validate before storing, in one transaction with the answer."),
        "other-run": ("left-over", "Data of earlier runs turns up under reused ids", "Never reuse ids; delete by the whole key."),
        "unmarked": ("own-elements", "The memory lists elements of its own", "If system prompts or summaries are meant to be listed, promise it: unmarked = 'allow'."),
    }  # fmt: skip
    for kind, number in kinds.items():
        code, title, remedy = words.get(kind, words["unmarked"])
        yield Cause(
            code=code,
            title=title,
            anomaly="phantom",
            explains=number / kinds.total(),
            evidence_for=[f"{number:,} of {count(kinds.total(), 'element')} that nobody stored."],
            evidence_against=[],
            remedy=remedy,
        )


def _others(number: int, noun: str, rest: str) -> list[str]:
    return [f"{count(number, noun)} {'is' if number == 1 else 'are'} of messages {rest}."] if number else []
