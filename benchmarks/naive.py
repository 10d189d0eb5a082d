"""The script one would write without this project: is everything acknowledged before a recall in its list?"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd


def main(directory: Path) -> None:
    logs = sorted((directory / "transcript").glob("*.jsonl"))
    rows = pd.concat([pd.read_json(log, lines=True) for log in logs])
    appends = rows[rows["kind"] == "append"].explode("messages")
    appends = appends.assign(seq=[message["seq"] for message in appends["messages"]])
    lossy = 0
    recalls = rows[rows["kind"] == "recall"]
    told = dict(list(appends.groupby("conversation")))
    for recall in recalls.itertuples():
        shown = {(device, seq) for device, first, last in recall.seen for seq in range(first, last + 1)}
        before = told[recall.conversation]
        owed = before[before["end_ns"] < recall.start_ns]
        lossy += not set(zip(owed["device"], owed["seq"], strict=True)) <= shown
    print(f"{lossy} of {len(recalls)} recalls are lossy")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
