"""A mapping of the reference interface, with everything beside it that a mapping can say, as comments."""

from __future__ import annotations

from typing import Any

import msgspec

from goldfish.keys import Key, keys_of, toml
from stress.targets.draft.settings import remark
from stress.targets.mapping.file import (
    PLACEHOLDERS,
    About,
    Append,
    Ids,
    Open,
    Paging,
    RecallStep,
    Step,
    Turn,
)

HEAD = """\
# How goldfish speaks to your memory: one table for each step, and in it the request that your service wants.
#
#   goldfish probe --target {name}      one user alone: shows requests and answers, and names the line that is wrong
#   goldfish run --target {name}
#
# What is set here fits the reference interface (docs/http-interface.md). Change paths, bodies and names to those of
# your service, and delete what it does not have. A # before a key: it is not set, and the line is its default or an
# example. docs/your-own-memory.md goes through it step by step.
"""
SET: dict[str, Any] = {
    "target.about": "What it is, in a sentence.",
    "target.base_url": "http://127.0.0.1:8000",
    "append.path": "/v1/users/{user}/sessions/{session}/messages",
    "append.body": {"messages": "{messages}"},
    "append.message": {"id": "{id}", "role": "{role}", "content": "{text}"},
    "append.ids": "stored[].id",
    "recall.path": "/v1/users/{user}/sessions/{session}/messages",
    "recall.query": {"limit": "{limit}"},
    "recall.items": "messages",
    "recall.text": "content",
    "recall.role": "role",
    "recall.id": "id",
    "recall_user.path": "/v1/users/{user}/messages",
    "recall_user.query": {"limit": "{limit}"},
    "recall_user.items": "messages",
    "recall_user.text": "content",
    "recall_user.role": "role",
    "recall_user.id": "id",
    "delete.path": "/v1/users/{user}/sessions/{session}",
}
"""What is not a comment: the reference interface."""
EXAMPLES: dict[str, Any] = {
    "target.headers": {"X-Api-Key": "${MEMORY_KEY}"},
    "target.auth": {"bearer": "${MEMORY_TOKEN}"},
    "target.tls": {"ca": "ca.pem"},
    "target.instance_header": "X-Node",
    "target.packages": ["my-memory"],
    "ids.length_max": 64,
    "open.path": "/v1/sessions",
    "open.body": {"owner": "{user}"},
    "open.save": {"thread": "id"},
    "turn.path": "/v1/chat",
    "turn.body": {"session": "{session}", "say": "{text}"},
    "turn.reply": "free",
    "recall.id": "metadata.id",
    "recall.paging.cursor": "next_cursor",
    "recall.paging.offset": 50,
    "recall.paging.more": "has_more",
}
"""Of keys that have no default worth showing."""
ELSEWHERE = {"target": {"adapter", "library", "needs"}, "recall": {"paging"}}
"""Keys of other kinds of targets, and tables of their own."""


def blank_mapping(name: str = "memory.toml") -> str:
    """The whole file."""
    return "\n".join(
        [
            HEAD.format(name=name),
            *_table("target", About),
            *_contract(),
            *_ids_and_roles(),
            *_steps(),
            *_say(),
            *_recall(),
            *_delete(),
        ]
    )


def _contract() -> list[str]:
    return [
        "[contract] # what the memory promises; `goldfish init` wrote all that can be said to goldfish.toml",
        '# scope = ["session"]  # without [recall_user]',
        '# unmarked = "allow"  # the service adds elements of its own, such as a system prompt',
        "# visibility_ms = 300  # it may take so long until what was acknowledged is seen",
        "# window = { messages = 20 }  # only so many of the newest messages are kept, or listed",
        "# page = { default = 20 }  # one answer has at most so many, if not asked for more",
        '# dedupe = "none"  # a message that is sent twice is stored twice',
        "",
    ]


def _ids_and_roles() -> list[str]:
    return [
        *_about(Ids),
        *_table("ids", Ids),
        "[roles] # our role = what the service calls it",
        '# user = "human"',
        '# assistant = "ai"',
        "",
    ]


def _steps() -> list[str]:
    lines = ["# Each step is a request:", "#"]
    width = max(len(key.name) for key in keys_of(Step))
    for key in keys_of(Step):
        default = ""
        if key.default is not None and key.default is not msgspec.NODEFAULT and key.default:
            default = f" Default: {toml(key.default)}."
        lines += _hanging(key.name, key.meaning + default, width)
    lines += ["#", "# In path, query, headers, body and message stand placeholders:", "#"]
    width = max(map(len, PLACEHOLDERS)) + 2
    for name, meaning in PLACEHOLDERS.items():
        lines += _hanging(f"{{{name}}}", meaning, width)
    lines += [
        "#",
        *remark(
            "A string that is nothing but a placeholder keeps its type: a limit stays a number. What has no value is "
            "left out. {{ and }} are braces. ${NAME} is an environment variable, and kept secret."
        ),
        *remark("A selector is a JMESPath: data.items, content[0].text, messages[].id"),
        "",
    ]
    return lines


def _say() -> list[str]:
    return [
        *_about(Open),
        "# [open]",
        *_keys("open", Open),
        "",
        *_about(Append),
        *_table("append", Append),
        *_about(Turn),
        "# [turn]",
        *_keys("turn", Turn),
        "",
    ]


def _recall() -> list[str]:
    return [
        *_about(RecallStep),
        *_table("recall", RecallStep),
        *_about(Paging),
        "# [recall.paging]",
        *_keys("recall.paging", Paging),
        "",
        "# Where asking without a limit is another request: [recall_default], with the keys of [recall].",
        "",
        "# Everything of a user. If the service cannot tell it, delete this table: then sessions are tested only.",
        *_table("recall_user", RecallStep, bare=True),
    ]


def _delete() -> list[str]:
    return [
        "# Forgets a session. Without it test sessions stay in the memory; their users are called gf-….",
        "[delete]",
        f"path = {toml(SET['delete.path'])}",
        "",
    ]


def _table(name: str, table: type[msgspec.Struct], *, bare: bool = False) -> list[str]:
    return [f"[{name}]", *_keys(name, table, bare=bare), ""]


def _keys(name: str, table: type[msgspec.Struct], *, bare: bool = False) -> list[str]:
    """The keys of a table: those that are set, and the others as comments, each below its meaning."""
    common = {key.name for key in keys_of(Step)} if issubclass(table, Step) else set()
    lines: list[str] = []
    for key in keys_of(table):
        full = f"{name}.{key.name}"
        if key.name in ELSEWHERE.get(name, ()) or (bare and full not in SET):
            continue
        if key.name in common and full not in SET and full not in EXAMPLES:
            continue
        is_set = full in SET
        if key.meaning and not bare and key.name not in common:
            lines += remark(key.meaning)
        lines.append(("" if is_set else "# ") + f"{key.name} = {toml(SET[full] if is_set else _shown(full, key))}")
    return lines


def _shown(full: str, key: Key) -> Any:
    return EXAMPLES.get(full, key.default)


def _about(table: type[msgspec.Struct]) -> list[str]:
    return remark(" ".join(str(table.__doc__).split()))


def _hanging(name: str, meaning: str, width: int) -> list[str]:
    first, *rest = remark(meaning, "#   " + " " * (width + 2))
    return [f"#   {name:<{width}}  {first[len('#   ') + width + 2 :]}", *rest]
