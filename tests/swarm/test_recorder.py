"""An op log that cannot be written is given up, and held in memory neither."""

from __future__ import annotations

from pathlib import Path

from goldfish.oplog import Delete
from stress.swarm.recorder import BUFFER_BYTES, Recorder

ROW = Delete(
    id=1,
    scenario="s",
    user="u",
    session="s",
    conversation="c",
    device="phone",
    phase="final",
    start_ns=1,
    end_ns=2,
    outcome="ok",
)


def test_a_log_on_a_full_disk_keeps_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "w0.jsonl", "run", "w0", 0)
    recorder._file = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 - the recorder closes it
    for _ in range(3 * BUFFER_BYTES // 100):
        recorder.write(ROW)
    assert recorder.failure is not None
    assert recorder._buffered < BUFFER_BYTES
    recorder.close()
