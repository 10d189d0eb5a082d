"""What a path names, for spellings that a balancer would not let through."""

from __future__ import annotations

import pytest

from stress.memory.problems import ProblemError
from stress.memory.routes import Route, find_route


def test_a_path_names_a_resource_and_decoded_ids() -> None:
    assert find_route("/v1/users/a%2Fb/sessions/%20/messages") == Route("session-messages", "a/b", " ")
    assert find_route("/v1/users/%F0%9F%90%9F/messages") == Route("user-messages", "🐟")
    assert find_route("/readyz") == Route("readyz")


@pytest.mark.parametrize("spelling", ["a%zz", "a%", "a%2", "%%41"])
def test_an_escape_that_is_none_is_refused_rather_than_taken_for_another_id(spelling: str) -> None:
    with pytest.raises(ProblemError, match="without two hexadecimal digits") as caught:
        find_route(f"/v1/users/{spelling}/messages")
    assert (caught.value.status, caught.value.code) == (400, "bad-id")


@pytest.mark.parametrize(
    "path", ["", "/", "//", "/v1/users/u/sessions", "/v1/users/u/sessions/s/messages/m", "/healthz/"]
)
def test_other_paths_name_nothing(path: str) -> None:
    with pytest.raises(ProblemError) as caught:
        find_route(path)
    assert (caught.value.status, caught.value.code) == (404, "unknown-route")
