"""Two deployments for all tests of the memory service; every test uses users of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from goldfish.spec import parse_spec
from stress.deployment import Deployment, Plan

from .client import Memory, instance


@pytest.fixture(scope="session")
def journal() -> Iterator[Deployment]:
    with Deployment.start(Plan(store="journal", instances=3)) as deployment:
        yield deployment


@pytest.fixture(scope="session")
def user_profile() -> Iterator[Deployment]:
    """m1 and m2 are sound; the others have one defect each, so that a test sees both on the same rows."""
    defects = ["lost-update@m3:gap_ms=40", "instance-cache@m4:ttl=600", "instance-cache@m5:ttl=0.05"]
    with Deployment.start(
        Plan(store="user-profile", instances=5, defects=tuple(map(parse_spec, defects)))
    ) as deployment:
        yield deployment


@pytest.fixture(params=["journal", "user-profile"])
def memory(request: pytest.FixtureRequest) -> Memory:
    """A sound memory of each store: journal through the balancer, user-profile through its first instance."""
    if request.param == "journal":
        return Memory(request.getfixturevalue("journal").url)
    return instance(request.getfixturevalue("user_profile").status(), "m1")
