"""Which library is meant is settled before anything starts; one that is not here is told with what installs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldfish.errors import UsageError
from goldfish.spec import parse_spec
from stress.deployment import Plan
from stress.targets.host.hosted import hosted

PLUGS = Path(__file__).parent / "plugs"


def test_a_file_is_found_from_the_folder_that_names_it_and_kept_with_its_whole_path() -> None:
    assert hosted("keeping.py:Keeping", folder=PLUGS).library == f"{PLUGS / 'keeping.py'}:Keeping"
    assert hosted("../plugs/keeping.py:Keeping", folder=PLUGS).library == f"{PLUGS / 'keeping.py'}:Keeping"


def test_without_a_folder_it_is_found_from_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PLUGS)
    assert hosted("keeping.py:Keeping").library == f"{PLUGS / 'keeping.py'}:Keeping"


def test_a_module_is_found_and_not_imported() -> None:
    name = "stress.targets.shipped.openai_agents:RedisSessions"
    assert hosted(name, ["redis"], ["msgspec"]).library == name
    assert list(hosted(name, ["redis"], ["msgspec"]).versions) == ["msgspec"]


@pytest.mark.parametrize(
    ("library", "needs", "packages", "told"),
    [
        ("keeping.py", [], [], "expected 'file.py:Class' or 'module:Class'"),
        ("keeping.py:", [], [], "expected 'file.py:Class' or 'module:Class'"),
        ("keeping.py:two words", [], [], "expected 'file.py:Class' or 'module:Class'"),
        ("absent.py:Keeping", [], [], "there is no file /.*/absent.py"),
        ("no_such_package.memory:Keeping", [], [], "there is no module 'no_such_package.memory' in this Python"),
        ("json.no_such:Keeping", [], [], "there is no module 'json.no_such' in this Python"),
        ("a/b:Keeping", [], [], "'a/b' is neither a module nor a file"),
        ("keeping.py:Keeping", ["mysql"], [], "there is no 'mysql'; known are postgres, redis"),
        (
            "no_such_package:Keeping",
            [],
            ["no-such-package", "msgspec"],
            "'no_such_package:Keeping' is not installed: pip install no-such-package msgspec",
        ),
    ],
)
def test_what_cannot_be_hosted_is_refused(library: str, needs: list[str], packages: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        hosted(library, needs, packages, folder=PLUGS)


def test_a_library_has_no_defects_and_the_plan_tells_no_store() -> None:
    library = hosted("keeping.py:Keeping", folder=PLUGS)
    with pytest.raises(UsageError, match="a hosted library has no defects"):
        Plan(library=library, defects=(parse_spec("lost-update"),))
    assert set(Plan(library=library).told()) == {"library", "instances", "balance", "port"}
    assert set(Plan().told()) == {"store", "defects", "instances", "balance", "port"}
