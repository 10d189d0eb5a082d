"""Where a conversation begins in the record: an order of conversations that no sharing out of work can change."""

from __future__ import annotations

from analysis.record import Conversation

Place = tuple[str, int]
"""Process, and line of the conversation's first row."""


def place(conversation: Conversation) -> Place:
    """Where the conversation begins."""
    # Rows are in the order of their lines.
    first = [rows[0][0] for rows in (conversation.appends, conversation.recalls, conversation.deletes) if rows]
    return conversation.process, min(first, default=0)
