"""Of a long conversation only the end matters to one recall of the newest K messages.

What was stored before the K newest were sent is due, and was pushed out: it can be neither missing by name nor stand
behind what is. So a recall is judged beside the messages from some point on, and what came before counts as one fact:
something is due. The answer is exactly that of judging beside all of them.

A point will do if

* everything that is shown was sent from there on, and so were K messages that may have been stored;
* whatever was sent before it was certainly stored, or never will be, before the first of them was sent, and before the
  recall began. (Messages of which nobody knows whether they were stored come along, wherever they were sent.)
* of several sessions, at least two are seen from there on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from analysis.certain import in_certain_order, judge_by_places
from goldfish.rule import NEVER, Judgement, Message, Recall, Terms, judge


class Tail:
    """The messages of one conversation, for recalls to be judged beside as few of them as will do."""

    def __init__(self, messages: Sequence[Message], terms: Terms) -> None:
        """Prepare.

        Args:
            messages: all of the conversation, in the order of their sending; what is known of them is final.
            terms: what is promised. If that is more than a window, recalls are judged beside all messages.
        """
        self._messages = messages
        self._terms = terms
        self._stamps = [m.sent_ns for m in messages]
        self._place = {m: at for at, m in enumerate(messages)}
        self._simple = (
            terms.plain
            and not terms.shared
            and terms.slack_ns == 0
            and terms.ttl_ns is None
            and not terms.stores_resends
            and not any(m.loose or (m.failed and m.shown_ns < NEVER) for m in messages)
        )
        self._certain = self._simple and in_certain_order(messages)
        self._settled_by: list[int] = []
        """By place: the latest moment at which something before it was stored, of what certainly was; -1: nothing."""
        self._possible = [0]
        """By place: how many before it may be stored."""
        self._other_session: list[int] = []
        """By place: the last one so far where another session goes on."""
        self._open: list[int] = []
        """Places of messages that may yet be stored."""
        self._prepared = False

    def _prepare(self) -> None:
        """Find out what is wanted of the messages in front of a point."""
        self._prepared = True
        latest, possible, session, other = -1, 0, None, 0
        for at, m in enumerate(self._messages):
            self._settled_by.append(latest)
            if not m.failed:
                possible += 1
                if session is not None and m.session != session:
                    other = at
                session = m.session
                stored_ns = m.stored_ns
                if stored_ns == NEVER:
                    self._open.append(at)
                elif stored_ns > latest:
                    latest = stored_ns
            self._possible.append(possible)
            self._other_session.append(other)

    def judge(self, recall: Recall) -> Judgement:
        """Judge one recall; nothing of the conversation may have been deleted by its end."""
        end = bisect_right(self._stamps, recall.end_ns)
        if self._certain:
            counted = judge_by_places(recall, self._messages[:end], self._place)
            if counted is not None:
                return counted
        begin = self._begin(recall, end)
        if not begin or self._settled_by[begin] < 0:
            return judge(recall, self._messages[:end], self._terms)
        waiting = [self._messages[at] for at in self._open if at < begin]
        judgement = judge(recall, [*waiting, *self._messages[begin:end]], self._terms)
        room = recall.capacity is not None and recall.length < recall.capacity
        return Judgement(True, judgement.lossy or room, judgement.missing)

    def _begin(self, recall: Recall, end: int) -> int:
        """The latest point that will do; 0 if there is none but the beginning."""
        if not self._prepared:
            self._prepare()
        if not self._simple or not recall.capacity or recall.capacity < 1:
            return 0
        begin = min((self._place[m] for m in recall.shown), default=end)
        if end and self._other_session[end - 1]:
            begin = min(begin, self._other_session[end - 1] - 1)
        while begin and self._possible[end] - self._possible[begin] < recall.capacity:
            begin -= 1
        while begin and self._settled_by[begin] >= min(self._stamps[begin], recall.start_ns):
            begin -= 1
        return begin
