"""A plan that cannot be meant is refused before anything starts, and the message says what can."""

from __future__ import annotations

from typing import Any

import pytest

from goldfish.errors import UsageError
from goldfish.spec import parse_spec
from stress.deployment import Plan


def test_the_default_is_three_sound_instances_of_journal_behind_round_robin() -> None:
    plan = Plan()
    assert (plan.store, plan.names, plan.balance, plan.defects, plan.port) == (
        "journal",
        ["m1", "m2", "m3"],
        "round-robin",
        (),
        0,
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"store": "memory"}, "unknown store 'memory': known are journal, user-profile"),
        ({"instances": 0}, "instances is 0, expected 1 to 32"),
        ({"instances": 33}, "instances is 33, expected 1 to 32"),
        ({"balance": "least-conn"}, "unknown balance 'least-conn': known are round-robin, sticky, random"),
        ({"port": -1}, "port is -1, expected 0"),
        ({"port": 65536}, "port is 65536, expected 0"),
        ({"defects": ("no-such",)}, "unknown defect 'no-such'"),
        ({"defects": ("lost-update",)}, "store 'journal' has no defect 'lost-update'"),
        ({"store": "user-profile", "defects": ("lost-update@m4",)}, "no instance 'm4', there are m1, m2, m3"),
        ({"store": "user-profile", "defects": ("lost-update@redis",)}, "no instance 'redis'"),
        ({"store": "user-profile", "defects": ("lost-update:ms=4",)}, "unknown parameter 'ms', known are gap_ms"),
    ],
)
def test_what_cannot_be_meant_is_refused(values: dict[str, Any], told: str) -> None:
    values["defects"] = tuple(map(parse_spec, values.get("defects", ())))
    with pytest.raises(UsageError, match=told):
        Plan(**values)


def test_each_instance_is_told_its_own_defects() -> None:
    plan = Plan(store="user-profile", defects=(parse_spec("lost-update@m2:gap_ms=5"), parse_spec("instance-cache")))
    assert plan.defects_of("m1") == {"instance-cache": {"ttl": 5.0}}
    assert plan.defects_of("m2") == {"instance-cache": {"ttl": 5.0}, "lost-update": {"gap_ms": 5.0}}
