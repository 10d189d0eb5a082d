"""Run one instance: ``python -P -m stress.memory --config FILE``."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import signal
import sys
from pathlib import Path

import msgspec
import uvloop
from aiohttp import web

from stress.memory.config import InstanceConfig, read_config
from stress.memory.registry import store_named
from stress.memory.service import Service
from stress.memory.store import Store

LIBRARY_STORE = "stress.targets.host.store:LibraryStore"
SHUTDOWN_S = 1.0
"""How long requests in flight may take after SIGTERM."""


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="stress.memory", description="One instance of the reference memory service.")
    parser.add_argument("--config", type=Path, required=True, help="JSON file, see stress.memory.config")
    uvloop.run(serve(read_config(parser.parse_args().config)))


async def serve(config: InstanceConfig) -> None:
    """Open the store, listen, announce the address, and serve until told to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    store = await _open(config)
    application = Service(config.name, store).application()
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, config.host, config.port).start()
        _announce(config, *runner.addresses[0][:2])
        await stopped.wait()
    finally:
        await runner.cleanup()
        await store.close()


async def _open(config: InstanceConfig) -> Store:
    code = store_named(config.store).code if config.library is None else LIBRARY_STORE
    module, _, name = code.partition(":")
    store: Store = await getattr(importlib.import_module(module), name).open(config)
    return store


def _announce(config: InstanceConfig, host: str, port: int) -> None:
    line = msgspec.json.encode({"name": config.name, "pid": os.getpid(), "address": f"{host}:{port}"})
    if config.ready_file is None:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.flush()
        return
    # By rename, so that whoever waits for the file never reads half of it.
    ready = Path(config.ready_file)
    draft = ready.with_suffix(".draft")
    draft.write_bytes(line)
    draft.replace(ready)


if __name__ == "__main__":
    main()
