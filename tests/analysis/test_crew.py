"""Shares in processes: the same results, errors that read the same, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from analysis.analyze import analyze
from analysis.crew import BYTES_EACH_MIN, Crew, processes_for
from goldfish.errors import RecordError
from tests.evidence.scale import scaled

from .recorded import of_any, record
from .runs import Process, write

SLOW = "import time, analysis.judging as j\nj.prove = lambda *_: time.sleep(60)\n"


def workers_of(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def test_processes_come_to_what_one_comes_to(tmp_path: Path) -> None:
    record(tmp_path, of_any(4_000_000, scaled(600)), processes=3)
    alone = analyze(tmp_path, processes=1)
    outputs = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert analyze(tmp_path, processes=3) == alone
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == outputs


def test_an_error_in_a_share_is_the_same_error(tmp_path: Path) -> None:
    process = Process()
    for number in range(50):
        process.talk(f"c{number}").append("phone", 0, 1, 0).recall("phone", 2, 3, ("phone", 0))
    process.append("phone", 4, 5, 0)
    write(tmp_path, process)
    messages = []
    for number in (1, 4):
        with pytest.raises(RecordError) as error:
            analyze(tmp_path, processes=number)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "0.jsonl:102: conversation 'c49': message 0 by 'phone' was sent before" in messages[0]


def test_an_operation_that_stands_in_two_shares_is_found(tmp_path: Path) -> None:
    process = Process()
    for number in range(50):
        process.talk(f"c{number}").append("phone", 0, 1, 0)
    process.append("phone", 4, 5, 1, id=3)
    with pytest.raises(RecordError, match=r"0\.jsonl:52: operation 3 stands twice"):
        analyze(write(tmp_path, process), processes=4)


def test_rows_of_a_conversation_in_two_shares_must_agree(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0)
    for number in range(50):
        process.talk(f"c{number}").append("phone", 0, 1, 0)
    process.talk("0.0.s0", user="somebody else").append("phone", 4, 5, 1)
    with pytest.raises(RecordError, match=r"0\.jsonl:53: conversation '0\.0\.s0' has user 'somebody else' here"):
        analyze(write(tmp_path, process), processes=4)


def test_what_follows_an_unreadable_line_counts_in_no_share(tmp_path: Path) -> None:
    record(tmp_path, of_any(4_100_000, 20))
    path = tmp_path / "transcript" / "w0.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[len(lines) // 3] = b"what is this\n"
    path.write_bytes(b"".join(lines))
    assert analyze(tmp_path, processes=5) == analyze(tmp_path, processes=1)


def test_a_fault_in_a_share_is_told_with_its_trace() -> None:
    with Crew(1, lambda _: None) as crew, pytest.raises(RuntimeError, match=r"(?s)Traceback.*no_such_step"):
        crew.call("no_such_step", [()])


def test_a_share_whose_process_is_killed_is_missed() -> None:
    with Crew(2, lambda _: None) as crew:
        for worker in crew._workers:
            worker.kill()
        with pytest.raises(RuntimeError, match="was ended by SIGKILL"):
            crew.call("read", [([],), ([],)])


def test_a_small_record_is_judged_by_one_process() -> None:
    assert processes_for(0) == processes_for(BYTES_EACH_MIN) == 1
    assert processes_for(1_000 * BYTES_EACH_MIN) == len(os.sched_getaffinity(0))


@pytest.fixture
def analyzer(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An analyzer whose two workers take forever."""
    record(tmp_path, of_any(4_200_000, 20))
    endless = tmp_path / "sitecustomize.py"
    endless.write_text(
        "import sys\n"
        "if 'analysis.worker' in sys.orig_argv:\n"
        "    import time\n"
        "    import analysis.judging\n"
        "    analysis.judging.prove = lambda *_: [None for _ in iter(lambda: sum(range(1000)), -1)]\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "analysis", str(tmp_path), "--processes", "2"]
    with subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 60
        while not (busy := workers_of(process.pid)) or min(worker.cpu_times().user for worker in busy) < 1:
            assert time.monotonic() < deadline, process.poll()
            time.sleep(0.05)
        yield process
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_analyzer_ends_its_workers_end(analyzer: subprocess.Popen[bytes], how: signal.Signals) -> None:
    workers = workers_of(analyzer.pid)
    assert len(workers) == 2
    analyzer.send_signal(how)
    _, told = analyzer.communicate(timeout=20)
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive
    assert b"Traceback" not in told
    if how is signal.SIGINT:
        assert analyzer.returncode == 4
        assert told.startswith(b"interrupted")
    elif how is signal.SIGTERM:
        assert analyzer.returncode == 4


def test_workers_load_what_they_need_and_no_more() -> None:
    program = (
        "import sys, analysis.worker; print([n for n in ('pandas', 'pyarrow', 'scipy', 'rich') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
