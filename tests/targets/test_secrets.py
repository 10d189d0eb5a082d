"""What is secret of a target is in nothing that people read: neither in what is printed nor in what is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from goldfish.errors import UsageError
from stress.swarm.http import Endpoint
from stress.targets.load import Source, load
from stress.targets.secrets import Secrets
from tests.cli.command import goldfish, only_run, small_contract

from .served import SERVICES, serve

TOKEN = "support-token"
IN_URL = "s3cret/in the+url"


def planted() -> str:
    """The mapping of the support history with secrets in headers and in every query."""
    text = SERVICES["support-history"].target.read_text(encoding="utf-8")
    text = text.replace('cursor = "{cursor}"', 'cursor = "{cursor}", trace = "${IN_URL}"')
    assert "trace" in text
    return text.replace("[target]", '[target]\nheaders = { X-Trace-Key = "literal-secret" }', 1)


@pytest.mark.parametrize("broken", [False, True])
def test_no_artefact_holds_a_secret(tmp_path: Path, broken: bool) -> None:
    text = planted()
    if broken:
        text = text.replace('/entries"\nquery', '/${IN_URL}"\nquery')
    (tmp_path / "memory.toml").write_text(text, encoding="utf-8")
    environment = {"SUPPORT_TOKEN": TOKEN, "IN_URL": IN_URL}
    where = ("--target", "memory.toml", "--contract", small_contract(tmp_path))
    with serve(SERVICES["support-history"]) as url:
        probed = goldfish("probe", *where, "--all", "--host", url, cwd=tmp_path, environment=environment)
        ran = goldfish("run", *where, "-u", 4, "-t", 3, "--host", url, cwd=tmp_path, environment=environment)
    told = probed.stdout + probed.stderr + ran.stdout + ran.stderr
    assert "***" in told
    assert (probed.returncode, ran.returncode) == ((2, 2) if broken else (0, 0)), told
    kept = [] if broken else [path for path in only_run(tmp_path).rglob("*") if path.is_file()]
    for part in [told.encode(), *(path.read_bytes() for path in kept)]:
        for secret in (TOKEN, IN_URL, "s3cret%2Fin", "literal-secret"):
            assert secret.encode() not in part
    assert broken or any(path.name == "report.html" for path in kept)


def test_a_secret_in_the_address_is_masked() -> None:
    text = '[target]\nbase_url = "http://127.0.0.1:1/${IN_URL}"\n' + re.sub(
        r"\[target\][^[]*", "", SERVICES["companion"].target.read_text(encoding="utf-8")
    )
    loaded = load(Source("memory", "memory.toml", text), {"IN_URL": "tenant-secret"})
    assert str(Endpoint(str(loaded.about.base_url), loaded.manner)) == "http://127.0.0.1:1/***"
    with pytest.raises(UsageError) as error:
        Endpoint(str(loaded.about.base_url).replace("http", "ftp"), loaded.manner)
    assert "tenant-secret" not in str(error.value)


@pytest.mark.parametrize("secret", ["plain-secret", 's3cr/et é+"x"', "日本語の秘密\\", "a b&c=d"])
def test_it_is_masked_however_it_is_written(secret: str) -> None:
    secrets = Secrets()
    secrets.add(secret)
    for written in (
        secret,
        quote(secret),
        quote(secret, safe=""),
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        msgspec.json.encode(secret).decode(),
    ):
        assert secrets.mask(f"before {written} after").strip('"').replace('"', "") == "before *** after"


@pytest.mark.parametrize("line", ['timeout_s = "${IN_URL}"', 'auth = { bearer = "${IN_URL}", basic = "${IN_URL}" }'])
def test_a_mistake_does_not_show_what_a_variable_holds(line: str) -> None:
    text = SERVICES["companion"].target.read_text(encoding="utf-8").replace("[target]", f"[target]\n{line}", 1)
    with pytest.raises(UsageError, match=r"memory\.toml:\d+: ") as error:
        load(Source("memory", "memory.toml", text), {"IN_URL": "tenant-secret"})
    assert "tenant-secret" not in str(error.value)


@pytest.mark.parametrize(("value", "told"), [("", "is empty"), ("a\nb", "holds control characters")])
def test_a_variable_that_cannot_be_meant_is_named_with_its_line(value: str, told: str) -> None:
    with pytest.raises(UsageError, match=rf"memory\.toml:2: .* IN_URL {told}"):
        load(Source("memory", "memory.toml", '[target]\nbase_url = "http://h/${IN_URL}"\n'), {"IN_URL": value})
