"""MemoryUser: a person with devices, whose story is told turn by turn."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from typing import ClassVar, NoReturn

import gevent
from gevent.event import Event
from locust import User, between, task
from locust.exception import InterruptTaskSet, RescheduleTask, StopTest, StopUser

from goldfish.contract import Scope
from goldfish.rule import Touch
from goldfish.token import Person
from stress.conversation.chance import chance
from stress.conversation.ledger import Ledger
from stress.conversation.texts import Script
from stress.scenarios.registry import first_sentence, name_of
from stress.swarm import hooks, lifecycle, load_process
from stress.swarm.device import Chat, Conversation, Device

hooks.install()
load_process.prepare()

HOLD_BACK_S = 0.1
"""How long a user with no story waits for those that have ended to be closed."""

log = logging.getLogger("goldfish")


_CUT_SHORT: set[type[MemoryUser]] = set()
"""Whose stories were; it is told once."""


class MemoryUser(User):  # type: ignore[misc]
    """A person who talks to an assistant that should remember.

    Write ``story`` as a generator: what the person does, with a bare ``yield`` after each turn, where the swarm may
    pause or stop. A story is told again and again, each time by a new person, so that no story meets another's memory.

        class ShortVisit(MemoryUser):
            '''Someone who says two things and looks back.'''

            def story(self):
                phone = self.device("phone")
                chat = self.session()
                for _ in range(2):
                    phone.say(chat)
                    phone.recall(chat)
                    yield
    """

    abstract = True
    wait_time = between(0.02, 0.2)

    scope: ClassVar[Scope] = "session"
    """What a recall of this scenario spans: one session, or all sessions of the person."""

    cancels: ClassVar[bool] = False
    """Whether the story cancels requests on purpose: then nobody wonders that some messages stay unsettled."""

    turns_max: ClassVar[int] = 200
    """A story that has had so many turns is closed, and told anew by a new person: what is said is kept until then."""

    person: Person
    """Who tells the current story."""

    _run: lifecycle.Run
    _story: Iterator[None] | None = None
    _turns: int = 0
    _sessions: int = 0
    _conversations: list[Conversation]
    _touches: list[Touch]
    """What the person did to keep the memory alive, in any conversation."""
    _devices: list[Device]

    @classmethod
    def scenario(cls) -> str:
        """The scenario's name: the class's, in lower case with dashes."""
        return name_of(cls.__name__)

    @classmethod
    def meaning(cls) -> str:
        """Who the user is, in a sentence: the first of the class docstring."""
        return first_sentence(cls.__doc__ or "")

    def story(self) -> Iterator[None]:
        """What the person does; ``yield`` after each turn."""
        raise NotImplementedError(f"{type(self).__name__} needs a story")

    def device(self, name: str) -> Device:
        """One of the person's devices, by a name of lower-case letters and digits."""
        device = Device(self._run, self.person, name)
        self._devices.append(device)
        return device

    def session(self) -> Chat:
        """A new session of this person."""
        number = self._sessions
        self._sessions += 1
        if self.scope == "session" or not self._conversations:
            ledger = Ledger(self.person, self.scope, number, self._run.settings.contract, self._touches)
            script = Script(chance(f"{self._run.seed}/{self.person.process}/{self.person.number}/{number}"))
            conversation = Conversation(self.scenario(), self.person, ledger, script)
            self._conversations.append(conversation)
            self._run.opened(conversation)
        return Chat(self._run.target, self._conversations[-1], number)

    def together(self, *actions: Callable[[], object]) -> None:
        """Do several things in the same instant, and go on when all are done."""
        start = Event()

        def act(action: Callable[[], object]) -> None:
            start.wait()
            action()

        crew = [gevent.spawn(act, action) for action in actions]
        start.set()
        try:
            gevent.joinall(crew, raise_error=True)
        finally:
            gevent.killall(crew)

    @task  # type: ignore[untyped-decorator]
    def turn(self) -> None:
        """Take the story one turn further; a story that has ended is closed and a new one begins."""
        run = lifecycle.current()
        if run is None and not hooks.initialised():
            gevent.sleep(HOLD_BACK_S)
            return
        if run is None or not run.accepts_turns:
            raise StopUser
        if self._story is None and run.closing.behind:
            gevent.sleep(HOLD_BACK_S)
            return
        if run.pacer is not None:
            self.wait_time = _at_once  # the pace is the arrivals'
            if not run.pacer.take():
                raise StopUser
        run.turn_begins()
        try:
            if self._story is None:
                self._begin_story(run)
            next(self._story)  # type: ignore[arg-type]
            self._turns += 1
            if self._turns >= self.turns_max:
                self._cut_short()
        except StopIteration:
            self._close_story()
        except (StopUser, StopTest, RescheduleTask, InterruptTaskSet):
            self._close_story()
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a story raises is told, and bars a pass
            self._close_story()
            self._give_up(error)
        finally:
            run.turn_ended()

    def _begin_story(self, run: lifecycle.Run) -> None:
        if self.scenario() not in run.plan.scenarios:
            raise StopUser
        self._run = run
        self.person = run.next_person()
        self._turns, self._sessions, self._conversations, self._devices, self._touches = 0, 0, [], [], []
        self._story = self.story()

    def _give_up(self, error: BaseException) -> NoReturn:
        """A story that raises is the scenario's fault: this user stops, and the run cannot pass."""
        what = f"{type(error).__name__}: {error}"
        if not inspect.isgeneratorfunction(self.story):
            what = "story() is no generator: put a bare `yield` after each turn"
        if self._run.problem(f"The story of {self.scenario()} ended with {what}."):
            log.error("the story of %s ended", self.scenario(), exc_info=error)
        self.environment.events.user_error.fire(user_instance=self, exception=error, tb=error.__traceback__)
        raise StopUser

    def _cut_short(self) -> None:
        """An endless story would hold ever more: it ends here, as well as any other."""
        if type(self) not in _CUT_SHORT:
            _CUT_SHORT.add(type(self))
            log.warning("stories of %s are told anew after %d turns (turns_max)", self.scenario(), self.turns_max)
        self._close_story()

    def _close_story(self) -> None:
        if self._story is None:
            return
        self._story = None
        for device in self._devices:
            device.drop_connection()
        for conversation in self._conversations:
            self._run.ended(conversation)


def _at_once() -> float:
    return 0
