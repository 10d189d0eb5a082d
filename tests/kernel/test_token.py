"""Tokens name one message wherever it turns up, and a damaged one names nobody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goldfish.token import Person, Token, mark, parse, read

people = st.builds(
    Person,
    st.text("0123456789abcdefghijklmnopqrstuvwxyz", min_size=6, max_size=6),
    st.integers(0, 999),
    st.integers(0, 10**9 - 1),
)
tokens = st.builds(
    Token,
    people,
    st.sampled_from(["session", "user"]),
    st.integers(0, 10**6 - 1),
    st.from_regex(r"[a-z][a-z0-9]{0,15}", fullmatch=True),
    st.integers(0, 10**9 - 1),
)
EXAMPLE = Token(Person("k3v9x2", 0, 17), "session", 3, "phone", 4)


@given(tokens)
def test_a_token_is_read_back_whole(token: Token) -> None:
    assert parse(str(token)) == token
    assert read(str(token), "whatever") == token
    assert read(None, mark(str(token), "hello")) == token


@given(tokens)
def test_a_token_is_a_short_id_that_needs_no_escaping(token: Token) -> None:
    text = str(token)
    assert len(text) <= 80
    assert text.replace("-", "").isalnum()
    assert text.isascii()
    assert text == text.lower()


@given(tokens, st.data())
def test_a_damaged_token_is_hardly_ever_read_as_another(token: Token, data: st.DataObject) -> None:
    text = str(token)
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.sampled_from("0123456789abcdefghijklmnopqrstuvwxyz-"))
    damaged = text[:at] + new + text[at + 1 :]
    if damaged != text and (found := parse(damaged)) is not None:
        # The check has 46,656 values: a single changed character is a CRC's easiest prey and never slips through.
        raise AssertionError(f"{damaged} was read as {found}")


def test_a_text_that_was_cut_keeps_its_name() -> None:
    text = mark(str(EXAMPLE), "a long message that somebody shortens")
    assert read("made-by-the-server", text[:45]) == EXAMPLE


def test_a_cut_token_names_nobody() -> None:
    text = mark(str(EXAMPLE), "hello")
    assert read("made-by-the-server", text[:20]) is None


def test_a_token_in_mid_text_is_a_quotation() -> None:
    assert read("other", "you said: " + mark(str(EXAMPLE), "hello")) is None


def test_conversations_are_named_by_what_a_recall_spans() -> None:
    person = Person("k3v9x2", 0, 17)
    assert EXAMPLE.conversation == person.conversation("session", 3) == "0.17.s3"
    assert person.conversation("user", 3) == person.conversation("user", 9) == "0.17.u"
