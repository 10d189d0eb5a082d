"""What met an episode of faults: recalls, conversations and messages, so that they are not taken for independent.

See ``analysis.episodes`` for what meeting means. A conversation, with its messages, meets the last episode that one of
its checked recalls meets. Without faults nothing is counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from analysis.check import Checked
from analysis.episodes import Episodes
from analysis.fates import LOST, UNCHECKED
from analysis.listed import Listed
from analysis.proof.proven import Proven
from analysis.sums.counts import User, UserCounts
from goldfish.rule import Message


class Exposure:
    """Counts of what met an episode, and of recalls before, during and after faults."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self.users: dict[tuple[str, User], UserCounts] = {}
        """By scenario and user: the part of their counts that met an episode."""
        self.episodes: dict[tuple[str, int], UserCounts] = {}
        """The same by scenario and episode."""
        self.quiet: Counter[tuple[str, int]] = Counter()
        """Checked recalls that were under way in no episode, by scenario and number of episodes begun before."""
        self.quiet_lossy: Counter[tuple[str, int]] = Counter()
        self.during: Counter[tuple[str, int]] = Counter()
        """Checked recalls under way in a fault, by scenario and fault."""
        self.during_lossy: Counter[tuple[str, int]] = Counter()
        self.requests = 0
        """Requests under way in an episode, those that were cut off by the end left out."""
        self.failed = 0
        """Of them, those that failed or got no answer."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if not self._episodes.windows:
            return
        conversation = checked.conversation
        process, scenario = conversation.process, conversation.scenario
        user = conversation.tenant or "", conversation.user
        for _, row in conversation.operations():
            if row.reason != "killed" and self._episodes.met(process, row.start_ns, row.end_ns) is not None:
                self.requests += 1
                self.failed += row.outcome != "ok"
        last: int | None = None
        for entry, lost_in in zip(checked.listed, self._onsets(checked), strict=True):
            if not entry.judgement.checked:
                continue
            under_way = self._time(scenario, process, entry)
            episode = under_way if lost_in is None else lost_in
            if episode is not None:
                last = episode if last is None else max(last, episode)
                self._count(scenario, user, episode, UserCounts(1, int(entry.judgement.lossy)))
        if last is not None:
            fates = [fate.name for fate in checked.fates.values() if fate.name not in UNCHECKED]
            lost = sum(fate in LOST for fate in fates)
            whole = UserCounts(seen=1, harmed=int(bool(checked.findings)), messages=len(fates), lost=lost)
            self._count(scenario, user, last, whole)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        if not self._episodes.windows:
            return
        ahead_ns = np.array([self._episodes.ahead_ns(process) for process in proven.processes], np.int64)
        killed = np.array([manner.reason == "killed" for manner in proven.manners], bool)
        ok = np.array([manner.outcome == "ok" for manner in proven.manners], bool)
        for table in proven.operations.values():
            met = self._episodes.met_by(ahead_ns[table["conversation"]], table["start"], table["end"]) >= 0
            met &= ~killed[table["manner"]]
            self.requests += int(met.sum())
            self.failed += int((met & ~ok[table["manner"]]).sum())

        conversation, start, end = (
            column[proven.checked] for column in (proven.recall_conversation, proven.start, proven.end)
        )
        scenario, stretch = proven.scenario[conversation], (ahead_ns[conversation], start, end)
        episode = self._episodes.met_by(*stretch)
        begun = self._episodes.since_all(stretch[0], end)
        for number, name in enumerate(proven.scenarios):
            own = scenario == number
            for at, recalls in enumerate(np.bincount(begun[own & (episode < 0)]).tolist()):
                self.quiet[name, at] += recalls
            for fault, met in enumerate(self._episodes.faults_met_by(*stretch)):
                self.during[name, fault] += int((met & own).sum())

        last = np.full(proven.size, -1)
        np.maximum.at(last, conversation, episode)
        messages = np.bincount(proven.message_conversation[proven.shown], minlength=proven.size)
        inside = episode >= 0
        pairs, recalls = np.unique(np.stack([conversation[inside], episode[inside]]), axis=1, return_counts=True)
        for (where, at), checked in zip(pairs.T.tolist(), recalls.tolist(), strict=True):
            counts = UserCounts(checked)
            if at == last[where]:
                counts.seen, counts.messages = 1, int(messages[where])
            self._count(proven.scenarios[proven.scenario[where]], proven.users[where], at, counts)

    def merge(self, other: Exposure) -> None:
        """Take in another share."""
        for user, theirs in other.users.items():
            _plus(self.users.setdefault(user, UserCounts()), theirs)
        for episode, theirs in other.episodes.items():
            _plus(self.episodes.setdefault(episode, UserCounts()), theirs)
        self.quiet += other.quiet
        self.quiet_lossy += other.quiet_lossy
        self.during += other.during
        self.during_lossy += other.during_lossy
        self.requests += other.requests
        self.failed += other.failed

    def _time(self, scenario: str, process: str, entry: Listed) -> int | None:
        """Count a checked recall by when it was under way; tells the episode."""
        episode = self._episodes.met(process, entry.row.start_ns, entry.row.end_ns)
        if episode is not None:
            for fault in self._episodes.faults_met(episode, process, entry.row.start_ns, entry.row.end_ns):
                self.during[scenario, fault] += 1
                self.during_lossy[scenario, fault] += entry.judgement.lossy
        else:
            begun = self._episodes.since(process, entry.row.end_ns)
            self.quiet[scenario, begun] += 1
            self.quiet_lossy[scenario, begun] += entry.judgement.lossy
        return episode

    def _onsets(self, checked: Checked) -> Iterator[int | None]:
        """For each recall, the last episode in which a message that it lacks may have been lost."""
        if not any(entry.judgement.missing for entry in checked.listed):
            yield from (None for _ in checked.listed)
            return
        process = checked.conversation.process
        there_ns: dict[Message, int] = {}
        gone: dict[Message, int | None] = {}
        for entry in checked.listed:  # in the order of their ends
            for message in entry.shown:
                there_ns[message] = max(entry.row.start_ns, there_ns.get(message, 0))
                gone.pop(message, None)
            for lost in entry.judgement.missing:
                if lost.message not in gone:
                    since_ns = there_ns.get(lost.message, lost.message.sent_ns)
                    gone[lost.message] = self._episodes.met(process, since_ns, max(since_ns, entry.row.end_ns))
            met = [at for lost in entry.judgement.missing if (at := gone[lost.message]) is not None]
            yield max(met, default=None)

    def _count(self, scenario: str, user: User, episode: int, counts: UserCounts) -> None:
        _plus(self.users.setdefault((scenario, user), UserCounts()), counts)
        _plus(self.episodes.setdefault((scenario, episode), UserCounts()), counts)


def _plus(ours: UserCounts, theirs: UserCounts) -> None:
    for each in fields(UserCounts):
        setattr(ours, each.name, getattr(ours, each.name) + getattr(theirs, each.name))
