"""``python -P -m analysis RUN``: judge a run directory, write the outputs, print the table.

The exit code is the verdict's: 0 pass, 1 pass with too many failed requests, 2 a record or contract that cannot be
read, 3 fail, 4 inconclusive, interrupted (by Ctrl-C or SIGTERM), or a fault of the analyzer.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from goldfish.interrupt import leave_at_once, take_interrupts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    import msgspec

    from goldfish.errors import GoldfishError
    from goldfish.terminal import console, emit
    from goldfish.words import visible

    parser = argparse.ArgumentParser(
        prog="python -P -m analysis", description="Judge a recorded run.", allow_abbrev=False
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the run directory, e.g. runs/<run id>")
    parser.add_argument(
        "--contract",
        type=Path,
        metavar="FILE",
        help="judge by the contract and budget of this file instead of the run's",
    )
    parser.add_argument("--json", action="store_true", help="print results.json instead of the table")
    parser.add_argument(
        "--processes",
        type=_count,
        metavar="N",
        help="how many processes share the work; by default as many as there are processors, for large records",
    )
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names in any script, terminals in any encoding
    # A run is a heap of records without cycles; looking for some takes a third of the time.
    gc.disable()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        take_interrupts()
        # Only now: --help and usage errors need no pandas.
        from analysis.analyze import analyze
        from goldfish.table import render

        results = analyze(options.run, options.contract, console(stderr=True), options.processes)
    except KeyboardInterrupt:
        print("interrupted; nothing was judged", file=sys.stderr)
        return 4
    except GoldfishError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return error.exit_code
    except Exception:  # noqa: BLE001 - Python would exit with 1, which is a pass here
        traceback.print_exc()
        print("error: the analyzer failed; nothing was judged. Report it with the run directory.", file=sys.stderr)
        return 4
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more must not change what is said or the exit code
    if options.json:
        emit(msgspec.json.format(msgspec.json.encode(results), indent=2).decode())
    else:
        console().print(render(msgspec.to_builtins(results)))
    return results.exit_code


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, 1 or more")
    return int(text)


def _exit(code: int) -> NoReturn:
    """End at once: a run is a large heap, and whatever another thread imports just now is not waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    leave_at_once()  # importing takes a moment
    _exit(main())
