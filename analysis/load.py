"""Single conversations of a record with all their rows, for whoever looks at them one by one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.batches import Conversations
from analysis.crew import Alone
from analysis.reading import read
from analysis.record import Cited, Conversation, Record
from analysis.rows import read_conversations
from goldfish.run import read_run


@dataclass(slots=True)
class Loaded(Record):
    """A record, and its conversations in memory."""

    conversations: dict[str, Conversation]
    start_ns: int
    """The stamp all times of the run are told relative to."""
    cited: frozenset[Cited]
    """The messages that foreign elements name."""

    def company(self, conversation: Conversation) -> list[Conversation]:
        """All conversations of the same user, this one included."""
        return [
            other
            for other in self.conversations.values()
            if (other.process, other.tenant, other.user)
            == (conversation.process, conversation.tenant, conversation.user)
        ]


def load(directory: Path, only: str | None = None) -> Loaded:
    """Read ``run.json`` and every op log that it names.

    Args:
        directory: the run directory.
        only: keep the rows of this conversation alone.

    Raises:
        RecordError: the record is missing or contradicts itself; file and line are named.
    """
    alone = Alone(lambda _: None)
    run = read_run(directory)
    outline = read(directory, alone, run, run.contract)
    conversations = Conversations(alone.share)
    which = [number for number, name in enumerate(conversations.names) if only is None or name == only]
    rows = read_conversations(which, conversations, alone.share.paths, outline.flaws)
    return Loaded(
        outline.record.directory,
        outline.record.run,
        outline.record.logs,
        outline.record.strays,
        {conversation.name: conversation for conversation in rows},
        outline.start_ns,
        outline.cited,
    )
