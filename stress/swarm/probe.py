"""One user alone: does the mapping work, and does the memory keep its promises as long as nobody else is there?

What a memory does not do for one user alone, it will not do under load: it would look like a loss there. So each
promise that one user can test is tested once, and what was seen is set beside what the contract declares.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from goldfish.contract import Contract
from goldfish.errors import TargetError
from goldfish.token import Person
from goldfish.words import count
from stress.swarm.alone import Alone, Step, explain
from stress.swarm.http import Endpoint
from stress.swarm.preflight import ANSWER, QUESTION, look_back
from stress.targets.outcome import Item
from stress.targets.target import Advice, Target

MANY_TURNS = 65
"""More than a page of any memory we know of: 130 messages."""
LIMIT = 3
NOTHING = "nothing of it"
HUGE_CHARS = 64 * 1024
PROBED = {
    "tabs, quotes, emoji": 'tab\t "quoted" \\ \N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL} e\u0301 \u05e9\u05dc\u05d5\u05dd',
    "NUL": "before\0after",
    "64 KB": "x" * HUGE_CHARS,
}


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One promise, as one user sees it."""

    promise: str
    seen: str
    declared: str
    fits: bool | None
    """None: the contract says nothing of it, or it could not be tested."""
    advice: str = ""
    """What to change where it does not fit."""
    at: str = ""
    """The line of the file that declares it, or where it would stand."""


class Probe:
    """What one user found; every step it took is in ``alone.steps``."""

    def __init__(
        self,
        endpoint: Endpoint,
        target: Target,
        person: Person,
        contract: Contract,
        written: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Take no step yet.

        Args:
            endpoint: where the memory listens.
            target: how it is asked.
            person: the test user; nobody else may be this one.
            contract: what the memory promises.
            written: the line that says so, for a key of the contract.
        """
        self.alone = Alone(endpoint, target, person, endpoint.timeout_s)
        self.observations: list[Observation] = []
        self.problem: str | None = None
        """The step that failed, in words; nothing else was tried then."""
        self._endpoint, self._target, self._contract, self._written = endpoint, target, contract, written

    @property
    def fits(self) -> bool:
        """Whether a load makes sense."""
        return self.problem is None and all(seen.fits is not False for seen in self.observations)

    def run(self, told: Callable[[str], None]) -> None:
        """Take all steps; ``told`` hears what is tried next."""
        try:
            told("one turn")
            first = self._one_turn()
            told("several turns")
            several = self._several()
            told(f"a limit of {LIMIT}")
            self._limited(several)
            told("two sessions")
            self._apart(first)
            told(f"{2 * MANY_TURNS} messages")
            self._many()
            for name, text in PROBED.items():
                told(name)
                self._content(name, text)
        except TargetError as error:
            self.problem = str(error)
        finally:
            told("deleting what was said")
            self._clean()

    # What is tried -----------------------------------------------------------------------------------------------

    def _one_turn(self) -> list[Item]:
        """Session 0: is it readable, and how soon?"""
        said = self.alone.say(0, [(QUESTION, ANSWER)])
        began_s = time.monotonic()
        listed = look_back(self.alone, said, max(self._contract.settle_s, 2.0))
        late_ms = (time.monotonic() - began_s) * 1e3
        at_once = next(step for step in self.alone.steps if step.name == "recall").items == listed
        declared_ms = self._contract.visibility_ms
        self._saw(
            "visible at once",
            "yes" if at_once else f"after about {late_ms:.0f} ms",
            "at once" if not declared_ms else f"after {declared_ms:g} ms",
            fits=at_once or late_ms <= declared_ms + 200,
            key="visibility_ms",
            advice=f"[contract] visibility_ms = {2 * late_ms:.0f}",
        )
        unmarked = sum(not any(item.content == message.content for message in said) for item in listed)
        replies = "" if self._target.replies != "free" else ", the replies among them"
        self._saw(
            "elements of its own",
            f"{unmarked}{replies}" if unmarked else "none",
            "allowed" if self._contract.unmarked == "allow" else "forbidden (unmarked)",
            fits=not unmarked or self._contract.unmarked == "allow",
            key="unmarked",
            advice='[contract] unmarked = "allow", if the service adds system prompts, summaries or replies',
        )
        return said

    def _several(self) -> list[Item]:
        """Session 1: order, roles, ids, completeness of a short history."""
        said = self.alone.say(1, [(f"{QUESTION} ({number})", f"{ANSWER} ({number})") for number in range(4)])
        step = self._settled(1, said)
        listed = [item for item in step.items or () if any(item.content == message.content for message in said)]
        advice = self._misread(said, step)
        if advice is not None:
            raise self.alone.failure(step, advice)
        texts = [message.content for message in said]
        order = [item.content for item in listed]
        kept = sorted(order, key=texts.index) == order
        self._saw(
            "order of saying",
            "yes" if kept else "no",
            "in this order" if self._contract.order == "append" else "any order",
            fits=kept or self._contract.order != "append",
            key="order",
            advice='[contract] order = "unspecified", if lists have no order',
        )
        promised = self._promised(said)
        shown = {(item.role, item.content) for item in listed}
        missing = [message for message in promised if (message.role, message.content) not in shown]
        roles = sorted({message.role for message in missing})
        whole = [role for role in roles if not any(item.role == role for item in listed)]
        self._saw(
            "all roles stored",
            f"no message of the role {' and '.join(whole)} is listed" if whole else "yes",
            "all" if self._contract.roles is None else " and ".join(self._contract.roles),
            fits=not whole,
            key="roles",
            advice=f"[contract] roles = {[role for role in ('user', 'assistant') if role not in whole]}, "
            "if others are not stored",
        )
        short = self._window_of(len(said))
        if missing and not whole and short >= len(said):
            self._saw("short history whole", f"{len(missing)} of {len(said)} messages are missing", "yes", fits=False)
        told = "not asked for; the texts name the messages"
        if self._target.tells_ids:
            pages = [exchange.answer for exchange in step.exchanges if exchange.answer is not None]
            kept = all(any(self._target.tells_id(message, page) for page in pages) for message in said)
            told = "kept" if kept else "not those that were sent; the texts name the messages"
        self._saw("ids", told, NOTHING, fits=None)
        return said

    def _limited(self, said: list[Item]) -> None:
        """Session 1 again: is a limit heard?"""
        promise = f"the newest {LIMIT} on request"
        if self._target.asked(LIMIT, by_user=False) is None:
            self._saw(promise, "not asked for: the whole list, always", NOTHING, fits=None)
            return
        step = self.alone.recall(1, LIMIT)
        if step.outcome != "ok" or step.items is None:
            raise self.alone.failure(step)
        asked = [message.content for message in said]
        # Elements of its own may come on top of a limit, and replies are counted in it.
        ours = [item.content for item in step.items if item.content in asked]
        seen, fits = ("yes", True) if ours == asked[-LIMIT:] else (f"lists {len(step.items)}", None)
        if ours == asked[:LIMIT]:
            seen, fits = f"lists the oldest {LIMIT}", False
        elif len(ours) > LIMIT:
            seen, fits = f"lists {len(ours)}: a limit is not heard", False
        elif len(step.items) < min(LIMIT, self._window_of(len(said))):
            fits = False
        self._saw(
            promise,
            seen,
            "asked for",
            fits=fits,
            advice="has the parameter with {limit} the name that the service knows? leave {limit} out if it has no "
            "limit, or counts from the oldest; then the whole list is asked for, always",
        )

    def _apart(self, first: list[Item]) -> None:
        """Session 2: does it show what was said in session 0? And does a recall by user show both?"""
        said = self.alone.say(2, [(f"{QUESTION} (elsewhere)", ANSWER)])
        items = self._settled(2, said).items or []
        leaked = sum(item.content == message.content for item in items for message in first)
        self._saw(
            "sessions apart",
            f"{count(leaked, 'message')} of another session" if leaked else "yes",
            "isolated" if self._contract.isolates("session") else "not isolated",
            fits=not leaked or not self._contract.isolates("session"),
            key="isolation",
            advice="is the session in both requests, as {session} or as what [open] saved? only if sessions are shared "
            'on purpose: [contract] isolation = ["tenant", "user"]',
        )
        if not self._target.by_user or "user" not in self._contract.scope:
            self._saw("recall by user", "not asked for", "not promised", fits=None)
            return
        step = self.alone.recall(2, by_user=True)
        if step.outcome != "ok" or step.status == 404:
            raise self.alone.failure(step)
        texts = {item.content for item in step.items or ()}
        both = all(message.content in texts for message in (*first[:1], *said[:1]))
        self._saw(
            "recall by user",
            "shows all sessions" if both else "lacks what was said in another session",
            "all sessions",
            fits=both,
            key="scope",
            advice='[contract] scope = ["session"], if the memory has no recall over sessions',
        )

    def _many(self) -> None:
        """Session 3: is there a window, or a page?"""
        said = self.alone.say(3, [(f"{QUESTION} ({number})", f"{ANSWER} ({number})") for number in range(MANY_TURNS)])
        step = self._settled(3, said)
        asked = [message.content for message in self._promised(said)]
        ours = [item.content for item in self._promised(list(step.items or ())) if item.content in set(asked)]
        limit = self._window_of(len(asked))
        declared = self._declared()
        advice = self._target.misread_pages(len(asked), len(ours), len(step.exchanges))
        if sorted(ours, key=asked.index) == asked:
            seen, fits = f"the whole history ({len(asked)} messages)", True
        elif set(ours) == set(asked[len(asked) - len(ours) :]):
            seen, fits = f"the newest {len(ours)} of {len(asked)}", len(ours) >= limit
        elif set(ours) == set(asked[: len(ours)]):
            seen, fits = f"the oldest {len(ours)} of {len(asked)}", False
        else:
            seen, fits = f"{len(ours)} of {len(asked)}, with holes", False
        if not fits and advice is not None:
            raise self.alone.failure(step, advice)
        window = self._contract.window
        # A turn has two messages here; how many a number of tokens has is not known.
        most = 2 * window.turns if window.turns is not None else len(asked) if window.tokens is not None else limit
        if len(ours) > most:
            self._saw(
                "long history",
                f"{len(ours)} messages",
                declared,
                fits=False,
                key="window",
                advice="leave out [contract] window or page: to list more than is promised is a finding under load",
            )
            return
        self._saw(
            "long history",
            seen,
            declared,
            fits=fits,
            key="window",
            advice="if the service lists page by page, have all pages read: [recall] paging = {…}; if it lists no more "
            f"than so many, whatever is asked: [contract] window = {{messages = {len(ours)}}} (or turns, or tokens); "
            f"if more must be asked for: page = {{default = {len(ours)}}}",
        )

    def _content(self, name: str, text: str) -> None:
        """A session of its own: does this text come back as it was sent?"""
        session = 4 + list(PROBED).index(name)
        nul, most = self._contract.content.nul, self._contract.content.max_bytes
        self.alone.open(session)
        series = self.alone.messages(session, [("user", text)])
        sent = (
            series if self._target.replies == "ours" else [*series, *self.alone.messages(session, [("assistant", "")])]
        )
        step = self.alone.append(session, sent)
        allowed = True if name == "NUL" and nul == "reject" else most is not None and len(text) > most
        declared = f"NUL characters: {nul}" if name == "NUL" else f"up to {most} bytes" if most else "kept"
        if step.outcome != "ok":
            # What is refused loudly is not lost; the contract may say so all the same.
            fits = True if allowed else None if step.outcome == "fail" else False
            self._saw(
                name, f"refused ({step.detail})", declared, fits=fits, key="content", advice=_content_advice(name)
            )
            return
        items = self._settled(session, series).items or []
        texts = [item.content for item in items]
        sent_text = series[0].content
        if sent_text in texts:
            seen, fits = "kept", True
        elif sent_text.replace("\0", "") in texts:
            seen, fits = "NUL characters are taken out", nul == "strip"
        elif any(listed and sent_text.startswith(listed) for listed in texts):
            longest = max((len(listed.encode()) for listed in texts if sent_text.startswith(listed)), default=0)
            seen, fits = f"cut to {longest} bytes", most is not None and longest >= most - 4
        else:
            seen, fits = "changed, or not listed", False
        self._saw(name, seen, declared, fits=fits, key="content", advice=_content_advice(name))

    # How it is done ----------------------------------------------------------------------------------------------

    def _settled(self, session: int, said: list[Item]) -> Step:
        """A recall that had the time it may take to show what was said."""
        until_s = time.monotonic() + max(self._contract.settle_s, self._contract.visibility_ms / 1e3)
        newest = said[-1].content
        while True:
            step = self.alone.need(self.alone.recall(session))
            shown = any(item.content == newest for item in step.items or ())
            if shown or time.monotonic() > until_s:
                return step
            time.sleep(0.1)

    def _misread(self, said: list[Item], step: Step) -> Advice | None:
        answer = step.exchanges[-1].answer
        if answer is None:
            return None
        return self._target.misread(said, step.items or [], answer)

    def _promised(self, said: list[Item]) -> list[Item]:
        """Those that the memory says it stores."""
        return [message for message in said if self._contract.roles is None or message.role in self._contract.roles]

    def _declared(self) -> str:
        """How much of a history the contract promises."""
        window, page = self._contract.window, self._contract.page
        for unit in ("messages", "turns", "tokens"):
            if (bound := getattr(window, unit)) is not None:
                return f"the newest {bound} {unit}"
        return f"a page of {page.default}" if page.default is not None else "the whole history"

    def _window_of(self, total: int) -> int:
        """How many of so many messages a recall shows at least, by the contract."""
        window, page = self._contract.window, self._contract.page
        bounds = [total, page.default, page.max, window.messages]
        if window.turns is not None:
            bounds.append(window.turns)
        if window.tokens is not None:
            bounds.append(1)
        return min(bound for bound in bounds if bound is not None)

    def _saw(
        self, promise: str, seen: str, declared: str, *, fits: bool | None, advice: str = "", key: str = ""
    ) -> None:
        told = Observation(promise=promise, seen=seen, declared=declared, fits=fits)
        if fits is False:
            told = msgspec.structs.replace(told, advice=advice, at=self._written(key) if key else "")
        self.observations.append(told)

    def _clean(self) -> None:
        if not self._target.deletes:
            self._saw("deletes", "no way is known; test users' sessions stay", NOTHING, fits=None)
            return
        last: Step | None = None
        sessions = self.alone.sessions
        for session in sessions:
            last = self.alone.delete(session)
        if last is None or self.problem is not None:
            return
        if last.outcome != "ok":
            self._saw(
                "deletes",
                f"no: {last.detail}",
                NOTHING,
                fits=False,
                advice=explain(self._endpoint, self._target, last).replace("\n", "\n  "),
            )
            return
        step = self.alone.recall(sessions[-1])
        left = len(step.items) if step.outcome == "ok" and step.items is not None else 0
        self._saw(
            "deletes",
            f"{count(left, 'message')} still listed" if left else "yes",
            NOTHING,
            fits=not left,
            advice="is the path of [delete] right? Without [delete] the sessions of test users stay",
        )


def _content_advice(name: str) -> str:
    if name == "NUL":
        return '[contract] content = {nul = "strip"} or "reject", if the memory does that'
    return "[contract] content = {max_bytes = N}, if longer texts are cut or refused"
