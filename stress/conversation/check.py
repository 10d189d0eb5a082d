"""The quick check: a recalled list read against the ledger the moment it arrives.

A sound recall of a quiet conversation is verified by one comparison with the end of the ledger. Whatever differs is
matched element by element and judged by ``goldfish.rule``, the same rule the analyzer uses, so that what is shown live
and what is reported at the end are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from goldfish import rule
from goldfish.content import changes, declared, utf8_bytes
from goldfish.contract import Contract, Level
from goldfish.oplog import TEXT_CHARS_MAX, Kind, Odd, Owner, encode_runs
from goldfish.rule import NEVER
from goldfish.rule.size import tokens_max
from goldfish.token import Token, read
from stress.conversation.ledger import Entry, Ledger
from stress.targets.outcome import Item

_POSITIONS = ("blank", "head", "gap", "tail", "unplaced")


class Listing(msgspec.Struct, frozen=True, gc=False):
    """A recalled list, matched."""

    shown: list[Entry]
    """Own messages in list order, first copies only."""
    seen: list[tuple[str, int, int]]
    """Runs for the op log."""
    odd: list[Odd]
    again: list[Entry]
    """Second copies of them."""
    exact: bool
    """The list is exactly the end of the ledger, and no append was in flight."""


def match(ledger: Ledger, items: list[Item], capacity: int | None) -> Listing:
    """Find out what each listed element is."""
    start = max(len(ledger.items) - capacity, 0) if capacity is not None else 0
    if items == ledger.items[start:]:
        tail = ledger.standing[start:]
        return Listing(tail, _runs(ledger, tail), [], [], ledger.quiet)
    shown: dict[Entry, None] = {}
    intact: list[tuple[str, int]] = []
    odd: list[Odd] = []
    again: list[Entry] = []
    for at, item in enumerate(items):
        token = read(item.id, item.content)
        entry = ledger.entry(token.device, token.seq) if token and _is_own(ledger, token) else None
        if entry is None:
            odd.append(_stranger(ledger, at, item, token))
            continue
        if entry in shown:
            again.append(entry)
        shown.setdefault(entry)
        kind = _damage(entry, item)
        if kind is None:
            intact.append((entry.device, entry.seq))
        else:
            odd.append(_damaged(at, kind, entry, item))
    return Listing(list(shown), encode_runs(intact), odd, again, exact=False)


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


def judge(ledger: Ledger, listing: Listing, start_ns: int, end_ns: int, capacity: int | None) -> Finding:
    """Judge a recall; every append and delete in flight at its end must have ended."""
    if listing.exact and ledger.stored_ns < start_ns and capacity != 0 and (ledger.simple or ledger.young(end_ns)):
        return SOUND
    terms, expiry, deletes = ledger.terms, ledger.expiry, ledger.deletes
    recall = rule.Recall(
        start_ns,
        end_ns,
        capacity,
        sum(b - a + 1 for _, a, b in listing.seen) + len(listing.odd),
        listing.shown,
        *(_sizes(ledger, listing) if terms.tokens is not None else ()),
    )
    verdict = rule.judge(recall, ledger.entries, terms, deletes, expiry)
    excess = rule.excess(recall, ledger.entries, terms, deletes, expiry)
    return Finding(verdict.checked, verdict.lossy, _complaint(ledger, verdict, listing, excess))


def _sizes(ledger: Ledger, listing: Listing) -> tuple[set[Entry], int | None]:
    """What is not listed as it was sent, and the most tokens of all that is listed beside intact first copies."""
    most = [tokens_max(odd, ledger.contract.window.chars_per_token) for odd in listing.odd]
    most += [entry.tokens_max for entry in listing.again]
    damaged = {
        entry
        for odd in listing.odd
        if odd.why == "corrupted" and (entry := ledger.entry(odd.device or "", odd.seq or 0)) is not None
    }
    known = [tokens for tokens in most if tokens is not None]
    return damaged, sum(known) if len(known) == len(most) else None


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


_EXCESS: dict[rule.Wrong, str] = {
    "window overrun": "window overrun",
    "over-retained": "expired message",
    "resurrected": "deleted message",
}


def _complaint(ledger: Ledger, verdict: rule.Judgement, listing: Listing, excess: Sequence[rule.Excess]) -> str | None:
    contract = ledger.contract
    why = {element.why for element in listing.odd if not _promised(ledger, element, contract)}
    if "foreign" in why:
        return "foreign message"
    if verdict.lossy:
        positions = {missing.position for missing in verdict.missing} or {"unplaced"}
        return f"context loss: {next(p for p in _POSITIONS if p in positions)}"
    if "corrupted" in why:
        return "corrupted message"
    if why or any(entry.failed for entry in listing.shown):
        return "phantom message"
    if excess:
        return _EXCESS[excess[0].anomaly]
    if any(ledger.terms.copies(entry) == 1 for entry in listing.again):
        return "duplicated message"
    return "reordered messages" if rule.reordered(listing.shown, ledger.terms) else None


def _promised(ledger: Ledger, odd: Odd, contract: Contract) -> bool:
    """Whether the contract lets an element be listed that is not simply the next own message."""
    if odd.why == "unmarked":
        return contract.unmarked == "allow"
    if odd.why == "foreign" and odd.owner is not None:
        level: Level = "session" if odd.owner.user == ledger.person.id else "user"
        return not contract.isolates(level)
    if odd.why == "corrupted":
        entry = ledger.entry(odd.device or "", odd.seq or 0)
        return entry is not None and declared(odd, utf8_bytes(entry.content), contract.content)
    return False


def _is_own(ledger: Ledger, token: Token) -> bool:
    return token.person == ledger.person and token.conversation == ledger.name


def _damage(entry: Entry, item: Item) -> Kind | None:
    if item.content != entry.content:
        return "truncated" if entry.content.startswith(item.content) else "altered"
    return None if item.role == entry.role else "role"


def _damaged(at: int, kind: Kind, entry: Entry, item: Item) -> Odd:
    return Odd(
        at=at,
        why="corrupted",
        kind=kind,
        device=entry.device,
        seq=entry.seq,
        text=_excerpt(item.content),
        changes=changes(entry.content, item.content) if item.role == entry.role else [],
        bytes=utf8_bytes(item.content),
    )


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
