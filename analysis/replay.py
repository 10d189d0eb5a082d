"""A recorded conversation as a script of curl commands against the reference HTTP interface.

Everything recorded may be hostile: bodies are ASCII JSON in single quotes, ids are percent-encoded, and comments are
one line of visible characters.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from urllib.parse import quote

from analysis.record import Conversation
from goldfish.oplog import Append, Delete, Operation, Recall, Said, Touch
from goldfish.token import read
from goldfish.words import plain


def curl_script(conversation: Conversation, start_ns: int) -> str:
    """A bash script that does the conversation's operations again, one after the other, in the order they started."""
    devices: dict[str, int] = {}
    lines = [
        "#!/usr/bin/env bash",
        f"# Conversation {plain(conversation.name)} of scenario {plain(conversation.scenario)}.",
        "# Its operations in the order they started, one after the other.",
        "# Each device keeps its cookies, so a balancer that sticks by cookie sees the same clients.",
        "set -u",
        ': "${HOST:?set HOST to the address of the memory, e.g. HOST=http://127.0.0.1:8080}"',
        "jars=$(mktemp -d)",
        """trap 'rm -r "$jars"' EXIT""",
    ]
    for _, row in conversation.operations():
        jar = devices.setdefault(row.device, len(devices))
        lines += ["", *_command(conversation, row, jar, start_ns)]
    return "\n".join(lines) + "\n"


def _command(conversation: Conversation, row: Operation, jar: int, start_ns: int) -> Iterator[str]:
    at = (row.start_ns - start_ns) / 1e9
    met = row.outcome if row.reason is None else f"{row.outcome} ({row.reason})"
    by = f" by {plain(row.instance)}" if row.instance else ""
    yield f"# {at:.3f} s, {plain(row.device)}: {_verb(row)}, then {met}{by}"
    if isinstance(row, Touch):
        yield "# The record does not keep what else was asked."
        return
    options = [f'--cookie "$jars/{jar}" --cookie-jar "$jars/{jar}"']
    options.append(f"--header {shlex.quote(f'X-Request-Id: {_header(conversation.process)}-{row.id}')}")
    if row.tenant is not None:
        options.append(f"--header {shlex.quote(f'X-Tenant: {_header(row.tenant)}')}")
    user = f"$HOST/v1/users/{_segment(row.user)}"
    session = f"{user}/sessions/{_segment(row.session or '')}"
    if isinstance(row, Append):
        if any(said.bytes > len(said.text.encode(errors="replace")) for said in row.messages):
            yield "# The record keeps the beginning of long texts only."
        body = {"messages": [_message(conversation, row, said) for said in row.messages]}
        options += ["--header 'Content-Type: application/json'", f"--data-binary {shlex.quote(json.dumps(body))}"]
        url = f"{session}/messages"
    elif isinstance(row, Recall):
        limit = "" if row.limit is None else f"?limit={row.limit}"
        url = f"{session if row.view == 'session' else user}/messages{limit}"
    else:
        options.append("--request DELETE")
        url = session
    yield f'curl --silent --show-error --path-as-is {" ".join(options)} "{url}"; echo'


def _verb(row: Operation) -> str:
    if isinstance(row, Append):
        return "append " + ", ".join(str(said.seq) for said in row.messages)
    return "delete" if isinstance(row, Delete) else "recall" if isinstance(row, Recall) else "another request"


def _message(conversation: Conversation, row: Append, said: Said) -> dict[str, str]:
    """The message as it was sent; its id is its token, or made up where the text carries none."""
    token = read(None, said.text)
    name = str(token) if token else f"{conversation.name}-{row.device}-{said.seq}"
    return {"id": name, "role": said.role, "content": said.text}


def _segment(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _header(text: str) -> str:
    """Header values hold no line breaks; what else is not visible ASCII is percent-encoded as well."""
    return quote(text, safe=" !#$&'()*+,/:;=?@[]", errors="replace")
