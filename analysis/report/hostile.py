"""Text that others wrote, made harmless to look at.

Escaping keeps a text from becoming markup. It does not keep it from turning the line around (bidirectional controls),
from hiding in characters without a shape, from burying its neighbours under hundreds of accents, or from being a
megabyte long. Here such characters get a visible name. Joiners, variation selectors, and the tags that spell a flag
stay as they are: people write them.
"""

from __future__ import annotations

import json
import re
from typing import Any

TEXT_CHARS_MAX = 2_000
"""No text is shown longer than this."""

_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20df\ufe20-\ufe2f"
_HIDDEN = re.compile(
    "(?P<flag>\U0001f3f4[\U000e0030-\U000e007a]{2,6}\U000e007f)"
    f"|(?<=[{_MARKS}]{{4}})(?P<marks>[{_MARKS}]+)"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
# What would break a grapheme if the text ended before it.
_EXTENDS = re.compile(f"[{_MARKS}\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
# Inside a script element nothing may look like markup; line separators end a JavaScript string.
_SCRIPT_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def visible(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """The text with its invisible characters named, cut after ``chars_max`` characters.

    The answer is text, still to be escaped; it can be encoded and says how much was cut.
    """
    cut = min(len(text), chars_max)
    while 0 < cut < len(text) and chars_max - cut < 20 and (_EXTENDS.match(text[cut]) or text[cut - 1] == "\u200d"):
        cut -= 1
    shown = _HIDDEN.sub(_name, text[:cut])
    return shown if cut == len(text) else f"{shown}… [{len(text) - cut:,} more characters]"


def script_json(value: Any) -> str:
    """JSON that may stand inside a ``script`` element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_SCRIPT_ESCAPES)


def _name(found: re.Match[str]) -> str:
    if found["flag"]:
        return found[0]
    if found["marks"]:
        return f"⟨{len(found[0])} more accents⟩"
    return f"⟨U+{ord(found[0]):04X}⟩"
