"""What people and assistants say to each other: plausible chat in several languages.

Loss shows most easily where people refer back, so a conversation here is about something: an order, a trip, an
allergy. Facts (numbers, names, dates) are planted and asked for again many turns later, and small talk lies between
them, with the short repeats ("ok") that a memory must not mistake for duplicates.

The words live in ``speech/<language>.toml``, one file a language, written by topic:

- ``[slots]``: what a ``{slot}`` of a text may become. A list is chosen from, ``"3..14"`` is a whole number of that
  range, and a run of ``#`` becomes a number of as many digits.
- ``joint``: what stands between two sentences, a blank if not given.
- ``lasting``: slots that belong to the person and keep their value for the whole script.
- ``chatter``: pairs of user and assistant that fit anywhere.
- ``asides``, ``advice``: what a user, and an assistant, may add to a pair of a topic.
- ``[[topic]]``: ``beats`` are played in order, each by one of its pairs. All slots of a topic keep their value until it
  ends. ``recalls`` ask back, once everything they mention has been said, also when the talk has long moved on.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")

LANGUAGES: tuple[str, ...] = ("zh", "en", "ar", "emoji")
"""Languages a script can be written in; ``emoji`` is chat that consists of emoji for a good part."""

CHATTER_SHARE = 0.12
"""Share of turns that are small talk."""

RECALL_SHARE = 0.2
"""Share of turns that try to ask back for a fact."""

ASIDE_SHARE = 0.35
"""Share of a topic's texts, on either side, that are longer by an aside or a piece of advice."""


class Turn(NamedTuple):
    """What the user says, and what the assistant answers."""

    user: str
    assistant: str


class Script:
    """What one person and an assistant say to each other, turn after turn, in one language.

    Args:
        random: The only source of chance, numbers from 0 to below 1: equal ones write equal scripts.
        language: One of ``LANGUAGES``; without it, any.
    """

    __slots__ = ("_beats", "_person", "_random", "_speech", "_threads", "language")

    def __init__(self, random: Callable[[], float], language: str | None = None) -> None:
        self._random = random
        self.language = language if language is not None else _choose(self._random, LANGUAGES)
        self._speech = _speech(self.language)
        self._person = self._speech.draw(self._speech.lasting, self._random)
        self._threads: list[_Thread] = []
        self._beats: Iterator[tuple[_Pair, ...]] = iter(())

    def turn(self) -> Turn:
        """The next thing said, and its answer."""
        chance = self._random()
        if chance < CHATTER_SHARE:
            return Turn(*_choose(self._random, self._speech.chatter).say(self._person))
        if chance < CHATTER_SHARE + RECALL_SHARE and self._threads:
            thread = _choose(self._random, self._threads)
            question = _choose(self._random, thread.topic.recalls)
            if question.slots <= thread.mentioned:
                return Turn(*question.say(thread.facts))
        pair = _choose(self._random, self._next_beat())
        thread = self._threads[-1]
        thread.mentioned |= pair.slots
        user, assistant = pair.say(thread.facts)
        return Turn(self._add(user, self._speech.asides), self._add(assistant, self._speech.advice))

    def _add(self, text: str, more: Sequence[str]) -> str:
        if self._random() >= ASIDE_SHARE or text.endswith("```"):
            return text
        joint = "\n" if text[-1].isalnum() else self._speech.joint
        return f"{text}{joint}{_choose(self._random, more)}"

    def _next_beat(self) -> tuple[_Pair, ...]:
        for beat in self._beats:
            return beat
        topics = [topic for topic in self._speech.topics if not self._threads or topic is not self._threads[-1].topic]
        topic = _choose(self._random, topics)
        facts = self._person | self._speech.draw(topic.slots, self._random)
        # The last trip is the one that is asked about: two of a kind would make the question ambiguous.
        self._threads = [thread for thread in self._threads if thread.topic is not topic]
        self._threads.append(_Thread(topic, facts))
        self._beats = iter(topic.beats)
        return self._next_beat()


class _Pair:
    """A turn whose facts are still open."""

    def __init__(self, user: str, assistant: str) -> None:
        self._user = _pattern(user)
        self._assistant = _pattern(assistant)
        self.slots = frozenset(name for _, name, _, _ in Formatter().parse(user + assistant) if name)

    def say(self, facts: dict[str, str]) -> tuple[str, str]:
        return self._user % facts, self._assistant % facts


class _Topic(NamedTuple):
    beats: tuple[tuple[_Pair, ...], ...]
    recalls: tuple[_Pair, ...]
    slots: tuple[str, ...]


class _Thread:
    """A topic that came up, with its facts and which of them have been mentioned."""

    __slots__ = ("facts", "mentioned", "topic")

    def __init__(self, topic: _Topic, facts: dict[str, str]) -> None:
        self.topic = topic
        self.facts = facts
        self.mentioned: frozenset[str] = frozenset()


class _TopicFile(msgspec.Struct, forbid_unknown_fields=True):
    beats: list[list[tuple[str, str]]]
    recalls: list[tuple[str, str]]


class _SpeechFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    lasting: list[str]
    chatter: list[tuple[str, str]]
    asides: list[str]
    advice: list[str]
    joint: str = " "
    slots: dict[str, str | list[str]]
    topic: list[_TopicFile]


class _Speech:
    """One language, ready to be spoken."""

    def __init__(self, file: _SpeechFile) -> None:
        self.lasting = tuple(file.lasting)
        self.chatter = tuple(_Pair(*pair) for pair in file.chatter)
        self.asides = tuple(file.asides)
        self.advice = tuple(file.advice)
        self.joint = file.joint
        self.topics = tuple(self._topic(topic) for topic in file.topic)
        self._slots = {name: _Slot(values) for name, values in file.slots.items()}

    def draw(self, names: Iterable[str], random: Callable[[], float]) -> dict[str, str]:
        """New values for these slots."""
        return {name: self._slots[name].draw(random) for name in names}

    def _topic(self, file: _TopicFile) -> _Topic:
        beats = tuple(tuple(_Pair(*pair) for pair in beat) for beat in file.beats)
        recalls = tuple(_Pair(*pair) for pair in file.recalls)
        # Sorted, so that the order of draws does not hang on the hash seed of the process.
        slots = sorted({name for beat in (*beats, recalls) for pair in beat for name in pair.slots} - set(self.lasting))
        return _Topic(beats, recalls, tuple(slots))


class _Slot:
    """The values one slot may take."""

    def __init__(self, values: str | list[str]) -> None:
        if isinstance(values, str):
            low, high = map(int, values.split(".."))
            values = [str(number) for number in range(low, high + 1)]
        self._values = [_digits(value) for value in values]

    def draw(self, random: Callable[[], float]) -> str:
        pattern, spans = _choose(random, self._values)
        # The first digit of a run is no zero: numbers read aloud and typed again keep their length.
        return pattern % tuple([low + int(random() * 9 * low) for low in spans]) if spans else pattern


def _pattern(text: str) -> str:
    """A text with ``{slots}`` as a ``%`` pattern, which is filled in twice as fast."""
    return "".join(
        before.replace("%", "%%") + (f"%({name})s" if name else "") for before, name, _, _ in Formatter().parse(text)
    )


def _digits(value: str) -> tuple[str, tuple[int, ...]]:
    """A ``%`` pattern, and for each of its numbers the smallest one of that length."""
    runs = re.findall("#+(?!\ufe0f)", value)
    if not runs:
        return value, ()
    # A keycap hash sign is an emoji (# and a variation selector), not a digit to fill in.
    return re.sub("#+(?!\ufe0f)", "%d", value.replace("%", "%%")), tuple(10 ** (len(run) - 1) for run in runs)


def _choose(random: Callable[[], float], options: Sequence[T]) -> T:
    """Three times as fast as ``Random.choice``."""
    return options[int(random() * len(options))]


@cache
def _speech(language: str) -> _Speech:
    if language not in LANGUAGES:
        raise ValueError(f"no texts in '{language}': expected one of {', '.join(LANGUAGES)}")
    path = Path(__file__).with_name("speech") / f"{language}.toml"
    return _Speech(msgspec.toml.decode(path.read_bytes(), type=_SpeechFile))
