"""What a contract lets happen to a text: cut to a length, rid of NUL characters, lone surrogates replaced.

What exactly was done is found out where both texts are at hand, in the swarm, and kept in the op log; whether the
contract declares it is asked wherever a list is judged. Only the declared change excuses: a text that lacks one letter
more is corrupted.
"""

from __future__ import annotations

import re
from itertools import product

from goldfish.contract import Content
from goldfish.oplog import Change, Odd

REPLACEMENTS = ("\ufffd", "?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UTF8_BYTES_MAX = 4


def utf8_bytes(text: str) -> int:
    """Length in UTF-8; a lone surrogate counts as the three bytes it is often written in."""
    return len(text.encode("utf-8", "surrogatepass"))


def changes(sent: str, listed: str) -> list[Change]:
    """All that was done to a text, if cutting, stripping and replacing explain it wholly; else nothing."""
    for stripped, replacement, cut in product((False, True), (None, *REPLACEMENTS), (False, True)):
        text = sent.replace("\0", "") if stripped else sent
        text = text if replacement is None else _SURROGATE.sub(replacement, text)
        if text.startswith(listed) if cut else text == listed:
            done: dict[Change, bool] = {
                "cut": cut,
                "nul-stripped": stripped,
                "surrogate-replaced": replacement is not None,
            }
            return [change for change, was_done in done.items() if was_done]
    return []


def declared(odd: Odd, sent_bytes: int, content: Content) -> bool:
    """Whether a contract declares what a corrupted element suffered.

    Args:
        odd: the element.
        sent_bytes: length of the text as sent.
        content: what the contract says of texts.
    """
    if odd.kind == "role" or not odd.changes:
        return False
    allowed = {
        "nul-stripped": content.nul == "strip",
        "surrogate-replaced": content.surrogate == "replace",
        "cut": content.max_bytes is not None
        and odd.bytes is not None
        and content.max_bytes - _UTF8_BYTES_MAX < odd.bytes <= content.max_bytes < sent_bytes,
    }
    return all(allowed[change] for change in odd.changes)
