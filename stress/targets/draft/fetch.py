"""Gets an OpenAPI document: from a file, or once from a URL, within a bound on size and time."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from goldfish.errors import UsageError

BYTES_MAX = 16 * 1024 * 1024
PATIENCE_S = 15.0


def shown(place: str) -> str:
    """A place for people: of a URL, what holds no secrets."""
    if not is_url(place):
        return place
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def is_url(place: str) -> bool:
    """Whether it is to be fetched."""
    return place.startswith(("http://", "https://"))


def document(place: str) -> Any:
    """What a file or a URL holds, as JSON or YAML has it.

    Raises:
        UsageError: it cannot be had, is too large or too slow, or is neither.
    """
    if is_url(place):
        if "@" in urlsplit(place).netloc:
            raise UsageError(f"{shown(place)}: no user name or password in an address; save the document to a file")
        body = _fetched(place)
        place = shown(place)
    else:
        try:
            with Path(place).open("rb") as file:
                body = file.read(BYTES_MAX + 1)
        except OSError as error:
            raise UsageError(f"cannot read {place}: {error.strerror}") from error
    if len(body) > BYTES_MAX:
        raise UsageError(f"{place} is larger than {BYTES_MAX >> 20} MiB; expected an OpenAPI document")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is neither JSON nor YAML: {error}") from error
    return parsed(text, place)


def parsed(text: str, place: str) -> Any:
    """A text as JSON, or else as YAML.

    Raises:
        UsageError: it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as json_error:
        if text.lstrip().startswith(("{", "[")):
            raise UsageError(f"{place} is no JSON: {json_error}") from json_error
        if text.lstrip().startswith("<"):
            raise UsageError(
                f"{place} is a web page, not an OpenAPI document; where is that? often at /openapi.json, "
                "/swagger.json or /v3/api-docs"
            ) from json_error
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{place} is neither JSON nor YAML: {' '.join(str(error).split())}") from error


def _fetched(url: str) -> bytes:
    """The body of one answer. A server that drips may hold a socket for ever, so a thread waits for it."""
    found: list[bytes | Exception] = []

    def fetch() -> None:
        try:
            request = urllib.request.Request(
                url, headers={"Accept": "application/json, application/yaml;q=0.9, */*;q=0.1"}
            )
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                found.append(answer.read(BYTES_MAX + 1))
        except Exception as error:  # noqa: BLE001 - told by the thread that waits
            found.append(error)

    worker = threading.Thread(target=fetch, daemon=True)
    worker.start()
    worker.join(PATIENCE_S)
    if not found or isinstance(getattr(found[0], "reason", found[0]), TimeoutError):
        raise UsageError(f"{shown(url)}: no whole answer in {PATIENCE_S:g} s; is it the right address?")
    (got,) = found
    if isinstance(got, urllib.error.HTTPError):
        hint = "; if it needs a token, save the document to a file and name that" if got.code in (401, 403) else ""
        raise UsageError(f"{shown(url)}: expected an OpenAPI document, found status {got.code}{hint}") from got
    if isinstance(got, Exception):
        raise UsageError(
            f"cannot fetch {shown(url)}: {got}; is the service running, and is the address right?"
        ) from got
    return got
