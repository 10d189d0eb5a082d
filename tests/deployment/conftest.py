"""What several tests of deployments need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stress.deployment import Deployment, Plan, embedded


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    """Three sound instances behind round-robin, for tests that only look."""
    with Deployment.start(Plan(instances=3)) as running:
        yield running


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of all deployments that this test starts, even of those that fail."""
    made: list[Path] = []
    make = embedded.make_folder

    def remember() -> Path:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(embedded, "make_folder", remember)
    return made
