"""Every command in the documentation runs, and the generated page is the one the registries make.

``make demo`` and ``make test`` are the two commands that CI itself calls; they are not called from inside the tests.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from analysis.causes.known import KNOWN
from goldfish.contract import TABLES, load_settings
from goldfish.reference import reference
from stress.targets.load import Source, load
from stress.targets.mapping import file

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVERS = {
    "python docs/examples/tiny_memory.py 8090": "Running on",
    "python docs/examples/notebook.py 8091": "Running on",
    "goldfish up --port 8080": "memory at",
}
"""Commands that keep running, and what they print once they are up; the port in the text is replaced by a free one."""
MASTER_PORT = "5600"
CALLED_BY_CI = {"make demo", "make test"}
EXIT_CODES = {
    "goldfish run two-devices --store user-profile --defect lost-update -u 10 -t 10": 3,
    "goldfish run rapid-switch --store user-profile --defect instance-cache@m2:ttl=2 -u 10 -t 10": 3,
    "goldfish analyze runs/RUN --contract ./goldfish.toml": 3,  # the run of reading-the-report.md
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_contract_and_target_of_a_page_can_be_meant(page: Path, tmp_path: Path) -> None:
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        settings = tmp_path / "goldfish.toml"
        settings.write_text(block, encoding="utf-8")
        if tomllib.loads(block).keys() <= {"contract", "budget"}:
            assert load_settings(settings)
        else:
            source = Source("target", str(ROOT / "docs" / "examples" / "target.toml"), block)
            assert load(source, {"NOTEBOOK_KEY": "let-me-in", "MEMORY_TOKEN": "let-me-in"}).settings(None)


def test_every_example_on_a_page_is_the_one_in_its_file() -> None:
    shown = set()
    for page in PAGES:
        for name, block in re.findall(
            r"```(?:toml|python)\n# docs/examples/(\S+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
        ):
            example = (ROOT / "docs" / "examples" / name).read_text(encoding="utf-8")
            # A module's docstring is not shown.
            assert re.sub(r'\A""".*?"""\n\n', "", example, flags=re.DOTALL) == block, name
            shown.add(name)
    assert shown >= {"notebook.toml", "documents.py", "documents.toml", "lists.py", "lists.toml"}


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]


@contextmanager
def serving(command: str, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """A server of the documentation; yields the port it has in the text and the free one it has here."""
    documented = command.split()[-1]
    with subprocess.Popen(
        [*command.split()[:-1], "0"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if SERVERS[command] in line)
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            port = found[1] if found and found[1] != "0" else bound_port(process.pid)
            yield f"{documented} {port}"
        finally:
            process.terminate()
            process.stdout.read() if process.stdout else None


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def bound_port(pid: int) -> str:
    (connection,) = [c for c in psutil.Process(pid).net_connections("tcp") if c.status == "LISTEN"]
    return str(connection.laddr.port)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for name in ("docs", "locustfiles"):
        (tmp_path / name).symlink_to(ROOT / name)
    toml = re.search(r"```toml\n# goldfish.toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if toml:
        (tmp_path / "goldfish.toml").write_text(toml[1])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}
    servers = []
    ports: dict[str, str] = {}
    background: list[subprocess.Popen[bytes]] = []
    master_port = free_port()
    try:
        for command in commands(page):
            if command in CALLED_BY_CI:
                assert command in (ROOT / ".ci/run").read_text()
                continue
            if command in SERVERS:
                server = serving(command, tmp_path, environment)
                documented, port = server.__enter__().split()
                servers.append(server)
                ports[documented] = port
                continue
            actual = command
            for documented, port in ports.items():
                actual = actual.replace(f":{documented}", f":{port}")
            actual = fill_in(actual, tmp_path).replace(f"port {MASTER_PORT}", f"port {master_port}")
            if actual.endswith(" &"):
                background.append(subprocess.Popen(actual.removesuffix(" &").split(), cwd=tmp_path, env=environment))
                continue
            if actual == "wait":
                assert [process.wait(100) for process in background] == [0] * len(background)
                continue
            ended = subprocess.run(
                ["sh", "-c", actual],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
            # A run this short may find too little checked to pass; that is not what the page is about.
            judges = any(word in actual for word in (" run ", " analyze ", " compare ", "locust"))
            expected = {EXIT_CODES[command]} if command in EXIT_CODES else {0, 4} if judges else {0}
            assert ended.returncode in expected, f"{actual}\n{ended.stdout}\n{ended.stderr}"
    finally:
        for process in background:
            process.kill()
        for server in servers:
            server.__exit__(None, None, None)


def fill_in(command: str, folder: Path) -> str:
    """Replace RUN by the latest run of the folder it stands in, and CONVERSATION by one of that run."""
    for where in re.findall(r"(\S+)/RUN", command):
        run = max((folder / where).iterdir())
        command = command.replace(f"{where}/RUN", f"{where}/{run.name}")
        if "CONVERSATION" in command:
            conversation = re.search(r'"conversation":"([^"]+)"', (run / "transcript" / "w0.jsonl").read_text())
            assert conversation
            command = command.replace("CONVERSATION", conversation[1])
    return command


def test_the_reference_is_made_from_the_registries() -> None:
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == reference()


def test_every_known_cause_is_on_the_page_about_the_report() -> None:
    page = (ROOT / "docs" / "reading-the-report.md").read_text(encoding="utf-8")
    rows = [f"| `{known.code}` | {known.title} | {known.shows} | {known.remedy} |" for known in KNOWN.values()]
    assert "\n".join(rows) in page


def test_the_example_on_the_page_is_the_example_in_the_file() -> None:
    page = (ROOT / "docs" / "writing-a-scenario.md").read_text(encoding="utf-8")
    example = (ROOT / "docs" / "examples" / "short_visit.py").read_text(encoding="utf-8")
    shown = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert shown
    assert example.endswith(shown[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        there = page.parent / target if target else page
        assert there.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}, anchor


def test_what_a_page_says_to_write_in_a_target_file_can_be_written() -> None:
    page = (ROOT / "docs" / "your-own-memory.md").read_text(encoding="utf-8")
    tables = [*TABLES.values(), *file.TABLES.values()]
    known = {key for table in tables for key in table.__struct_fields__} | {"user", "assistant"}
    fragments = re.findall(r"`(\w+ = [^`]+)`", page)
    assert len(fragments) > 30
    for fragment in fragments:
        assert tomllib.loads(fragment).keys() <= known | {"replies"}, fragment


def test_every_reason_is_on_the_page_about_exit_codes() -> None:
    page = (ROOT / "docs" / "how-a-run-ends.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "analysis").glob("*.py"))
    codes = set(re.findall(r'code="([a-z-]+)"', sources))
    assert len(codes) > 15
    assert {code for code in codes if f"`{code}`" not in page} == set()
