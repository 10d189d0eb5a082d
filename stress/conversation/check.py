"""The quick check: a recalled list read against the ledger the moment it arrives.

A sound recall of a quiet conversation is verified by one comparison with the end of the ledger. Whatever differs is
matched element by element and judged by ``goldfish.rule``, the same rule the analyzer uses, so that what is shown live
and what is reported at the end are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from goldfish import rule
from goldfish.contract import Contract
from goldfish.oplog import TEXT_CHARS_MAX, Kind, Odd, Owner, encode_runs
from goldfish.rule import NEVER
from goldfish.token import Token, read
from stress.conversation.ledger import Entry, Ledger
from stress.targets.reference import Item

_POSITIONS = ("blank", "head", "gap", "tail", "unplaced")


class Listing(msgspec.Struct, frozen=True, gc=False):
    """A recalled list, matched."""

    shown: list[Entry]
    """Own messages in list order, first copies only."""
    seen: list[tuple[str, int, int]]
    """Runs for the op log."""
    odd: list[Odd]
    duplicates: int
    exact: bool
    """The list is exactly the end of the ledger, and no append was in flight."""


def match(ledger: Ledger, items: list[Item], capacity: int | None) -> Listing:
    """Find out what each listed element is."""
    start = max(len(ledger.items) - capacity, 0) if capacity is not None else 0
    if items == ledger.items[start:]:
        tail = ledger.standing[start:]
        return Listing(tail, _runs(ledger, tail), [], 0, ledger.quiet)
    shown: dict[Entry, None] = {}
    intact: list[tuple[str, int]] = []
    odd: list[Odd] = []
    duplicates = 0
    for at, item in enumerate(items):
        token = read(item.id, item.content)
        entry = ledger.entry(token.device, token.seq) if token and _is_own(ledger, token) else None
        if entry is None:
            odd.append(_stranger(ledger, at, item, token))
            continue
        duplicates += entry in shown
        shown.setdefault(entry)
        kind = _damage(entry, item)
        if kind is None:
            intact.append((entry.device, entry.seq))
        else:
            odd.append(
                Odd(at=at, why="corrupted", kind=kind, device=entry.device, seq=entry.seq, text=_excerpt(item.content))
            )
    return Listing(list(shown), encode_runs(intact), odd, duplicates, exact=False)


def _runs(ledger: Ledger, tail: Sequence[Entry]) -> list[tuple[str, int, int]]:
    if len(ledger.devices) == 1 and tail and tail[-1].seq - tail[0].seq == len(tail) - 1:
        return [(tail[0].device, tail[0].seq, tail[-1].seq)]
    return encode_runs([(entry.device, entry.seq) for entry in tail])


class Finding(msgspec.Struct, frozen=True, gc=False):
    """What the quick check says of one recall."""

    checked: bool
    lossy: bool
    complaint: str | None
    """A message of few variants for Locust's failures; None if nothing is wrong."""


SOUND = Finding(checked=True, lossy=False, complaint=None)


def judge(
    ledger: Ledger, listing: Listing, start_ns: int, end_ns: int, capacity: int | None, contract: Contract
) -> Finding:
    """Judge a recall; every append in flight at its end must have ended."""
    if listing.exact and ledger.stored_ns < start_ns and not contract.visibility_ms and capacity != 0:
        return SOUND
    recall = rule.Recall(
        start_ns, end_ns, capacity, sum(b - a + 1 for _, a, b in listing.seen) + len(listing.odd), listing.shown
    )
    verdict = rule.judge(recall, ledger.entries, contract.visibility_ns)
    return Finding(verdict.checked, verdict.lossy, _complaint(verdict, listing, contract))


def note_shown(ledger: Ledger, listing: Listing, end_ns: int) -> None:
    """What an ok recall shows was stored by its end; recalls are noted in the order of their ends."""
    if not ledger.unshown:
        return
    for entry in reversed(listing.shown):  # what nobody has seen is mostly the newest
        if entry.shown_ns == NEVER:
            entry.shown_ns = end_ns
            ledger.stored_ns = min(ledger.stored_ns, end_ns)
            if entry.failed:
                ledger.reinstate()
            ledger.unshown -= 1
            if not ledger.unshown:
                return


def _complaint(verdict: rule.Judgement, listing: Listing, contract: Contract) -> str | None:
    why = {element.why for element in listing.odd}
    if contract.unmarked == "allow":
        why.discard("unmarked")
    if "foreign" in why:
        return "foreign message"
    if verdict.lossy:
        positions = {missing.position for missing in verdict.missing} or {"unplaced"}
        return f"context loss: {next(p for p in _POSITIONS if p in positions)}"
    if "corrupted" in why:
        return "corrupted message"
    if why or any(entry.failed for entry in listing.shown):
        return "phantom message"
    if listing.duplicates:
        return "duplicated message"
    return "reordered messages" if rule.reordered(listing.shown) else None


def _is_own(ledger: Ledger, token: Token) -> bool:
    return token.person == ledger.person and token.conversation == ledger.name


def _damage(entry: Entry, item: Item) -> Kind | None:
    if item.content != entry.content:
        return "truncated" if entry.content.startswith(item.content) else "altered"
    return None if item.role == entry.role else "role"


def _stranger(ledger: Ledger, at: int, item: Item, token: Token | None) -> Odd:
    text = _excerpt(item.content)
    if token is None or _is_own(ledger, token):
        return Odd(at=at, why="unmarked", text=text)
    if token.person.tag != ledger.person.tag:
        return Odd(at=at, why="other-run", text=text)
    owner = Owner(
        tenant=None,
        user=token.person.id,
        session=token.person.session(token.session),
        conversation=token.conversation,
    )
    return Odd(at=at, why="foreign", device=token.device, seq=token.seq, owner=owner, text=text)


def _excerpt(text: str) -> str:
    """The start of a recalled text in a form that every JSON encoder takes."""
    return text[:TEXT_CHARS_MAX].encode("utf-8", "backslashreplace").decode("utf-8")
