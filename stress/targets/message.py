"""A message as adapters and hosted libraries see it."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """What is said, or listed."""

    role: str
    """user, assistant, system or tool; what a memory calls them otherwise is translated both ways."""
    text: str
    id: str = ""
    """Listed: empty if the memory keeps no ids; the start of the text tells it then."""
