"""Histories that failed once are kept: the rule must acquit them, and so must the product."""

from __future__ import annotations

import pytest

from .kept import KEPT, Kept
from .oracle import judge
from .product import analyzed, live


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_a_sound_history_that_was_accused_once_is_acquitted(kept: Kept) -> None:
    verdict, answer = judge(kept.history), analyzed(kept.history)
    assert not verdict.lossy, kept.why
    assert not verdict.other, kept.why
    assert not answer.lossy, kept.why
    assert not answer.other, kept.why
    assert answer.checked == verdict.checked
    assert live(kept.history) in (None, (answer.checked, set()))
