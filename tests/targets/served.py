"""Starts a stand-in or a service as a process of its own, as people do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.targets.standins.serving import KEY

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SHIPPED = ROOT / "stress" / "targets" / "shipped"


class Product(NamedTuple):
    """A server, and how it is spoken to."""

    script: Path
    target: Path
    environment: dict[str, str]
    """What the target file wants to know."""
    headers: dict[str, str]
    """What lets a request in."""
    prefix: str = ""
    """Of every path."""


PRODUCTS = {
    "openai-conversations": Product(
        HERE / "standins/openai_conversations.py",
        SHIPPED / "openai-conversations.toml",
        {"OPENAI_API_KEY": KEY},
        {"Authorization": f"Bearer {KEY}"},
    ),
    "langgraph-server": Product(
        HERE / "standins/langgraph_server.py",
        SHIPPED / "langgraph-server.toml",
        {"LANGGRAPH_API_KEY": KEY, "LANGGRAPH_GRAPH": "echo"},
        {"X-Api-Key": KEY},
    ),
    "mem0": Product(HERE / "standins/mem0_rest.py", SHIPPED / "mem0.toml", {"MEM0_API_KEY": KEY}, {"X-API-Key": KEY}),
    "zep": Product(
        HERE / "standins/zep.py",
        SHIPPED / "zep.toml",
        {"ZEP_API_KEY": KEY},
        {"Authorization": f"Api-Key {KEY}"},
        "/api/v4",
    ),
}
"""Stand-ins, by the name of their target."""

SERVICES = {
    "support-history": Product(
        HERE / "services/support_history.py",
        HERE / "mappings/support_history.toml",
        {"SUPPORT_TOKEN": "support-token"},
        {"Authorization": "Bearer support-token"},
    ),
    "chat-log": Product(
        HERE / "services/chat_log.py",
        HERE / "mappings/chat_log.toml",
        {"CHAT_LOG_KEY": "chat-log-key"},
        {"X-Api-Key": "chat-log-key"},
    ),
    "companion": Product(HERE / "services/companion.py", HERE / "mappings/companion.toml", {}, {}),
}
"""Services that teams might write for themselves."""


@contextmanager
def serve(product: Product) -> Iterator[str]:
    """A process that serves it on a free port, until the end; its URL, without the prefix."""
    process = subprocess.Popen(
        [sys.executable, "-P", str(product.script), "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), f"{product.script.name} did not start: {line}"
        yield line.split()[-1]
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def ask(method: str, url: str, headers: dict[str, str], body: object = None) -> tuple[int, Any]:
    """One request; the status and, if there is any, the JSON of the answer."""
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={**headers, **({} if body is None else {"Content-Type": "application/json"})},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text
