"""Templates and selectors: what they make, what they leave out, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from stress.targets.mapping.mapped import joined
from stress.targets.mapping.select import SelectorError, selector
from stress.targets.mapping.template import MISSING, TemplateError, compiled, headers, path, placeholders, query


@pytest.mark.parametrize(
    ("template", "values", "made"),
    [
        ("plain", {}, "plain"),
        ("{limit}", {"limit": 20}, 20),
        ("{limit}", {}, MISSING),
        ("n={limit}", {"limit": 20}, "n=20"),
        ("n={limit}", {}, MISSING),
        ("{{{user}}}", {"user": "ada"}, "{ada}"),
        ({"a": 1, "b": "{limit}"}, {}, {"a": 1}),
        ({"b": "{limit}", "a": 1}, {"limit": 2}, {"b": 2, "a": 1}),
        ({"a": ["{user}", "{limit}"]}, {"user": "ada"}, {"a": ["ada"]}),
        ({"a": {"b": [{"c": "{user}"}]}}, {"user": "a\"b"}, {"a": {"b": [{"c": "a\"b"}]}}),
        ([True, None, 1.5], {}, [True, None, 1.5]),
    ],
)  # fmt: skip
def test_a_body(template: Any, values: dict[str, Any], made: Any) -> None:
    assert compiled(template)(values) == made or compiled(template)(values) is made


def test_the_order_of_keys_is_that_of_the_file() -> None:
    assert list(compiled({"z": "{a}", "b": 1, "c": "{a}"})({"a": 1})) == ["z", "b", "c"]


def test_values_are_one_segment_of_a_path() -> None:
    assert path("/u/{user}/s")({"user": "a/b c?é"}) == "/u/a%2Fb%20c%3F%C3%A9/s"


def test_a_query_leaves_out_what_has_no_value() -> None:
    build = query({"limit": "{limit}", "after": "{cursor}", "asc": True, "n": 3})
    assert build({}) == "?asc=true&n=3"
    assert build({"limit": 0, "cursor": "a&b"}) == "?limit=0&after=a%26b&asc=true&n=3"
    assert query({"limit": "{limit}"})({}) == ""


def test_a_header_has_one_line() -> None:
    build = headers({"X-Id": "{id}", "X-Limit": "{limit}"})
    assert build({"id": "a"}) == "X-Id: a\r\n"
    with pytest.raises(ValueError, match="two lines"):
        build({"id": "a\r\nX-Evil: 1"})


@pytest.mark.parametrize("text", ["{", "}", "a {b", "{a b}", "{1}"])
def test_a_brace_alone_is_a_mistake(text: str) -> None:
    with pytest.raises(TemplateError, match="written twice"):
        compiled(text)


def test_placeholders_are_found_everywhere() -> None:
    assert set(placeholders({"a": ["{b}", {"c": "x{d}y"}], "e": "{{f}}"})) == {"b", "d"}


DATA = {"a": {"b": [{"c": 1}, {"c": 2}]}, "list": [1, 2], "x-y": "z"}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("a.b[0].c", 1),
        ("a.b[-1].c", 2),
        ("a.b[5].c", None),
        ("a.none.c", None),
        ("list[0]", 1),
        ("@", DATA),
        ('"x-y"', "z"),
        ("a.b[].c", [1, 2]),
        ("a.b[?c > `1`] | [0].c", 2),
        ("length(list)", 2),
        ("list.a", None),
        ("length(none)", None),
    ],
)
def test_a_selector_finds_what_jmespath_finds(expression: str, found: Any) -> None:
    assert selector(expression)(DATA) == found


def test_what_is_no_jmespath_is_refused() -> None:
    for wrong in ("a[", "a..b", ""):
        with pytest.raises(SelectorError):
            selector(wrong)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (["a", {"text": "b"}, {"image": 1}, {"text": None}, 3], "ab"),
        ([], ""),
        (None, ""),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_parts_are_joined(content: Any, text: str) -> None:
    assert joined(content) == text
