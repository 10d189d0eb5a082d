"""Causes of what is listed and should not be: copies, inversions, changed contents, messages of others, phantoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analysis.causes.cause import Cause, suspect
from analysis.causes.harm import Harm
from analysis.symptoms.scale import ends, told
from goldfish.words import count, share

CHANGES = {"truncated": "length-limit", "altered": "altered-content", "role": "altered-role"}
PHANTOMS = {"rejected": "stored-before-validated", "other-run": "left-over", "unmarked": "own-elements"}

AGAIN = 2
"""So many lists of a conversation, on average, tell whether it is mixed up every time or now and then."""
ALWAYS, SELDOM = 0.9, 0.5
"""Shares of these lists from which on it is every time, and up to which it is now and then."""


def disorderly(harm: Harm) -> Iterator[Cause]:
    """All causes of findings that are not losses."""
    yield from _copies(harm)
    yield from _inversions(harm)
    yield from _changes(harm)
    yield from _leaks(harm)
    yield from _phantoms(harm)
    yield from _overruns(harm)


def _copies(harm: Harm) -> Iterator[Cause]:
    total = harm.symptoms.disorder.copies.total()
    resent = sum(number for copy, number in harm.symptoms.disorder.copies.items() if copy.resent)
    of = f"of {count(total, 'duplicate')} are of messages that were sent"
    again, once = f"{resent:,} {of} in several attempts.", f"{total - resent:,} {of} only once."
    if resent:
        yield suspect("no-idempotency", resent / total, [again], [once] if resent < total else [])
    if resent < total:
        yield suspect("merged-copies", (total - resent) / total, [once], [again] if resent else [])


def _inversions(harm: Harm) -> Iterator[Cause]:
    inversions, unordered = harm.symptoms.disorder.inversions, harm.symptoms.disorder.unordered.total()
    total = inversions.total() + unordered
    if not total:
        return
    batch = sum(number for pair, number in inversions.items() if pair.one_append)
    alone = sum(n for pair, n in inversions.items() if pair.one_device and pair.one_instance and not pair.one_append)
    across = inversions.total() - batch - alone
    of = f"of {count(total, 'inversion')} are"
    if batch:
        yield suspect("batch-order", batch / total, [f"{batch:,} {of} inside one append."])
    if across or unordered:
        evidence = []
        if across:
            since, until = ends(max(pair.apart for pair in inversions if not pair.one_append))
            evidence.append(
                f"{across:,} {of} between messages of different devices or instances, acknowledged up to "
                f"{told(until or since)} apart."
            )
        if unordered:
            lists = count(unordered, "list")
            evidence.append(f"{lists} contradict another list: the order is made anew when it is read.")
        yield suspect("order-by-timestamp", (across + unordered) / total, evidence)
    if alone:
        one = "between messages that one device sent through one instance, one after the other"
        yield suspect("no-order", alone / total, [f"{alone:,} {of} {one}."])


def _changes(harm: Harm) -> Iterator[Cause]:
    changes = harm.symptoms.disorder.changes
    for how, code in CHANGES.items():
        those = {change: number for change, number in changes.items() if change.how == how}
        number = sum(those.values())
        if not number:
            continue
        evidence = [f"{number:,} of {count(changes.total(), 'changed message')}: {how}."]
        least = min((change.size for change in those if change.size), default=0)
        if how == "truncated" and least:
            evidence.append(f"The shortest of them has {1 << (least - 1):,} bytes or more.")
        if how == "altered":
            wide = sum(n for change, n in those.items() if not change.ascii)
            evidence.append(f"{share(wide / number)} of them hold other characters than ASCII.")
        if how == "role":
            roles = sorted({change.role for change in those if change.role})
            evidence.append(f"They were sent as {', '.join(roles)}.")
        yield suspect(code, number / changes.total(), evidence)


def _leaks(harm: Harm) -> Iterator[Cause]:
    levels: Counter[str] = Counter()
    readers: Counter[str | None] = Counter()
    for leak, number in harm.symptoms.disorder.leaks.items():
        levels[leak.level] += number
        readers[leak.read_by] += number
    if not levels:
        return
    came = ", ".join(f"{number:,} of another {level}" for level, number in levels.most_common())
    others = len({traits.read_by for traits in harm.losses.traits.asked} - {None, *readers})
    (reader, listed), *more = readers.most_common()
    if reader is not None and not more and others:
        evidence = [
            f"All {count(listed, 'foreign message')} were listed by {reader}, none by the other {others:,}.",
            f"Whose they are: {came}.",
        ]
        yield suspect(
            "shared-state", 1.0, evidence, title=f"{reader} keeps state between requests and mixes up whose it is"
        )
        return
    yield _leak_everywhere(harm, levels, readers, came)


def _leak_everywhere(harm: Harm, levels: Counter[str], readers: Counter[str | None], came: str) -> Cause:
    """A key that is too short mixes up histories every time; state between requests does so now and then."""
    leaky = harm.symptoms.disorder.leaky
    talks = leaky.total()
    since, holding = (sum(getattr(talk, part) * n for talk, n in leaky.items()) for part in ("since", "holding"))
    alike = sum(n for talk, n in leaky.items() if talk.alike)
    found = count(readers.total(), "foreign message")
    found = found if len(levels) > 1 else f"{count(readers.total(), 'message')} of another {next(iter(levels))}"
    whose = f": {came}" if len(levels) > 1 else ""
    evidence = [f"{found} in {count(talks, 'conversation')}{whose}."]
    against = []
    if len(readers) > 1:
        evidence.append(f"They were listed by {len(readers)} instances.")
    elif None in readers:
        against.append("Answers do not name their instance, so nobody can say whether one of several does it.")
    farthest = next(level for level in ("tenant", "user", "session") if levels[level])
    course = f"From the first such list of each conversation on, {holding:,} of {since:,} lists held foreign messages"
    same_id = f"In {count(alike, 'conversation')} a foreign session has the id of one of its own."
    if since >= AGAIN * talks and holding <= SELDOM * since:
        evidence.append(f"{course}: now and then, and a key that is too short would mix them up every time.")
        if alike:
            against.append(same_id)
        elif farthest != "session":
            evidence.append(
                "None is of a session with the id of one of the reader's own, so a key that leaves out only the "
                f"{farthest} could not mix them up."
            )
        return suspect(
            "shared-state", 1.0, evidence, against, "State is shared between requests, and mixes up whose it is"
        )
    if since >= AGAIN * talks and holding >= ALWAYS * since:
        evidence.append(f"{course}: every time, and not now and then.")
        if alike:
            evidence.append(same_id)
        return suspect("key-too-short", 1.0, evidence, against, f"A key leaves out the {farthest}")
    against.append(f"{course}: that does not tell a short key, which does so every time, from shared state.")
    (evidence if alike else against).append(same_id)
    title = f"A key leaves out the {farthest}, or state is shared between requests"
    return suspect("key-too-short", 1.0, evidence, against, title)


def _phantoms(harm: Harm) -> Iterator[Cause]:
    kinds: Counter[str] = Counter()
    for (_, kind), number in harm.symptoms.disorder.phantoms.items():
        kinds[kind] += number
    for kind, code in PHANTOMS.items():
        if kinds[kind]:
            evidence = f"{kinds[kind]:,} of {count(kinds.total(), 'element')} that nobody stored."
            yield suspect(code, kinds[kind] / kinds.total(), [evidence])


def _overruns(harm: Harm) -> Iterator[Cause]:
    overruns = harm.symptoms.disorder.overruns
    total = overruns.total()
    for asked, code, than in ((False, "wider-window", "the contract allows"), (True, "limit-ignored", "was asked for")):
        those = [overrun for overrun in overruns if overrun.asked is asked]
        number = sum(overruns[overrun] for overrun in those)
        if number:
            longest = max(overrun.length for overrun in those)
            lists = f"{number:,} of {count(total, 'overlong list')} had more than {than}"
            yield suspect(code, number / total, [f"{lists}, up to {count(longest, 'message')}."])
