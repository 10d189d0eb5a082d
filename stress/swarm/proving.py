"""What is known of users whose stories are over, for runs that end as soon as something is proven.

A user counts once all conversations of the story are closed: until then the settled end, which tells lost from late,
is not known, and half a story says less of how much a user loses than a whole one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from goldfish.contract import Budget
from goldfish.sequential import Evidence, of_user
from stress.swarm.device import Conversation


@dataclass(slots=True)
class _Story:
    open: int = 0
    """Conversations that are not closed."""
    closed: list[Conversation] = field(default_factory=list)


class Stories:
    """The stories of one load process."""

    def __init__(self, budget: Budget) -> None:
        self.evidence: dict[str, Evidence] = {}
        """By scenario."""
        self._budget = budget
        self._told: dict[str, _Story] = {}
        """By user."""

    def opened(self, conversation: Conversation) -> None:
        """A conversation has begun."""
        self._told.setdefault(conversation.user_id, _Story()).open += 1

    def closed(self, conversation: Conversation) -> None:
        """A conversation is closed; the last one of a user makes the user count."""
        story = self._told[conversation.user_id]
        story.open -= 1
        story.closed.append(conversation)
        if story.open:
            return
        del self._told[conversation.user_id]
        own = [each for each in story.closed if each.checked or each.wrong]
        user = of_user(
            self._budget,
            checked=sum(each.checked for each in own),
            lossy=sum(each.lossy for each in own),
            conversations=len(own),
            harmed=sum(bool(each.lossy or each.wrong) for each in own),
            wrong=sum(bool(each.wrong) for each in own),
        )
        self.evidence.setdefault(conversation.scenario, Evidence()).add(user)
