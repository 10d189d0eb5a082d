"""The short cut for plain answers makes what the strict parser makes of the same bytes, or passes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stress.swarm import answer as reading
from stress.swarm.answer import Answer, AttemptError, plain, read

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

starts = st.sampled_from(
    [
        *[b"HTTP/1.1 %d X" % status for status in (100, 101, 200, 201, 204, 299, 301, 304, 404, 503, 600, 999)],
        *[b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1  200 OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK"],
        *[b"HTTP/1.0 200 OK", b"HTTP/2.0 200 OK", b"http/1.1 200 OK", b"HTTP/1.1 200 O\xc3\xa4\tK", b"HTTP/1.1 +20 OK"],
    ]
)
lines = st.sampled_from(
    [
        *[b"Content-Type: application/json", b"content-type:text/html ", b"Content-Type: " + b"x" * 200],
        *[b"X-Memory-Instance: m1", b"X-MEMORY-INSTANCE: \tm2\t", b"X-Memory-Instance: \xe9", b"X-Memory-Instance:"],
        *[b"Set-Cookie: a=b", b"set-cookie: c=d; Path=/"],
        *[
            b"Content-Length: 2",
            b"content-length:2",
            b"Content-Length: 02",
            b"Content-Length: 2 ",
            b"Content-Length: +2",
        ],
        *[b"Content-Length:", b"Content-Length: 3", b"Content-Length: 0", b"Content-Length", b"Content-Length : 2"],
        *[b"Content-Length: 2, 2", b"Content-Length: 0x2", b"Content-Length: " + b"9" * 30, b"Content-Length: -2"],
        *[b"Transfer-Encoding: chunked", b"transfer-encoding: identity", b"Content-Encoding: gzip"],
        *[b"Connection: close", b"Connection: keep-alive", b"connection: Keep-Alive", b"Connection: keep-alive, X"],
        *[b"Proxy-Connection: close", b"Connection: upgrade", b"Upgrade: websocket", b"Keep-Alive: timeout=5"],
        *[
            b"Date: Thu, 01 Jan 1970 00:00:00 GMT",
            b"X-Empty:",
            b"Bad Name: x",
            b": x",
            b" folded",
            b"\tfolded",
            b"nothing",
        ],
        *[
            b"X-Control: a\x01b",
            b"X-Delete: a\x7fb",
            b"X-Null: a\0b",
            b"X-Bare: a\rb",
            b"X-Bare: a\nb",
            b"X(: 1",
            b"\xe9: 1",
        ],
    ]
)
bodies = st.sampled_from([b"{}", b"", b"{", b"{}{", b"2\r\n{}\r\n0\r\n\r\n", b"\r\n", PLAIN])


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Mostly what a server may say, with some of the ways to say it wrong."""
    head = [draw(starts), *draw(st.lists(lines, max_size=5))]
    data = b"\r\n".join(head) + b"\r\n\r\n" + draw(bodies)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(max_size=1)) + data[at + draw(st.integers(0, 1)) :]
    return data


def strictly(*pieces: bytes) -> Answer | str:
    """What the strict parser makes of an answer that arrives in these pieces."""
    arriving, answer = iter(pieces), Answer()
    parser = reading._Parser(answer)
    return outcome(answer, lambda: parser.read(next(arriving), lambda: next(arriving, b"")))


def outcome(answer: Answer, reading: Callable[[], None]) -> Answer | str:
    try:
        reading()
    except AttemptError as error:
        return f"{error.reason} {error.status}"
    return answer


@settings(max_examples=2000, deadline=None)
@given(answers())
@example(PLAIN)
def test_the_short_cut_is_as_strict_as_the_parser(data: bytes) -> None:
    short = Answer()
    if plain(short, data):
        assert short == strictly(data)
    else:
        assert short == Answer()


@settings(max_examples=500, deadline=None)
@given(answers(), st.lists(st.integers(0, 200), max_size=4))
@example(PLAIN, [17])
def test_it_does_not_matter_where_an_answer_is_split(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    pieces = [piece for a, b in pairwise(places) if (piece := data[a:b])]
    arriving, answer = iter(pieces), Answer()
    assert outcome(answer, lambda: read(answer, lambda: next(arriving, b""))) == strictly(*pieces)


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        PLAIN.replace(
            b"Content-Type",
            b"Connection: keep-alive\r\nDate: now\r\nX-Memory-Instance: m3\r\ncontent-type",
        ),
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_plain_answers_take_the_short_cut(data: bytes) -> None:
    answer = Answer()
    assert plain(answer, data)
    assert answer == strictly(data)


def test_lines_of_heads_are_remembered_up_to_a_bound() -> None:
    lines = reading._lines
    for number in range(2 * lines.LINES_MAX):
        assert plain(Answer(), b"HTTP/1.1 200 OK\r\nX-Number: %d\r\nContent-Length: 0\r\n\r\n" % number)
        assert len(lines) <= lines.LINES_MAX
    assert plain(Answer(), b"HTTP/1.1 200 OK\r\nX-Long: %b\r\nContent-Length: 0\r\n\r\n" % (b"x" * 5000))
    assert max(map(len, lines)) <= lines.LINE_BYTES_MAX
