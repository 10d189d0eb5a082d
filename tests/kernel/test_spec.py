"""Specifications: ``NAME[@PART][:KEY=VALUE,…]``."""

from __future__ import annotations

import pytest

from goldfish.errors import UsageError
from goldfish.spec import Spec, parse_spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("lost-update", Spec(name="lost-update")),
        ("id-scheme@m2", Spec(name="id-scheme", part="m2")),
        (
            "write-behind:flush_ms=200,on_term=drop",
            Spec(name="write-behind", values={"flush_ms": 200, "on_term": "drop"}),
        ),
        ("pause@m2:at=5,for=2.5", Spec(name="pause", part="m2", values={"at": 5, "for": 2.5})),
        ("x:on=true", Spec(name="x", values={"on": True})),
    ],
)
def test_a_specification_is_read_and_written_back(text: str, spec: Spec) -> None:
    assert parse_spec(text) == spec
    assert parse_spec(str(spec)) == spec or "true" in text


@pytest.mark.parametrize("text", ["", "@m2", "Lost Update", "x:y", "x:=3", "x@:y=1", "x:a=1,b"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        parse_spec(text)
