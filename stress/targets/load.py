"""Finds a target by name or file, and makes it."""

from __future__ import annotations

import base64
import os
import ssl
import tomllib
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from goldfish import contract as promises
from goldfish.contract import Contract, Settings, load_settings
from goldfish.errors import UsageError
from goldfish.mistakes import explain, not_toml
from stress.swarm.http import Manner
from stress.targets.mapping.file import ALLOWED, TABLES, About, TargetFile
from stress.targets.mapping.mapped import MappedTarget, opens
from stress.targets.mapping.mistakes import Where
from stress.targets.mapping.select import SelectorError, selector
from stress.targets.mapping.template import TemplateError, placeholders
from stress.targets.reference import ReferenceTarget
from stress.targets.secrets import Secrets, resolve
from stress.targets.target import Target

SHIPPED = Path(__file__).with_name("shipped")
REFERENCE = "reference"

_TABLES = {**TABLES, **{name: table for name, table in promises.TABLES.items() if name}}
_ALLOWED = {**ALLOWED, **promises.ALLOWED}


class Source(msgspec.Struct, frozen=True):
    """A target as it is written, without secrets: what travels from a master to its workers."""

    name: str
    """For people."""
    path: str
    """Of the file, to name lines and to find what it refers to."""
    text: str


class Loaded(msgspec.Struct, frozen=True):
    """A target, ready to be used."""

    source: Source
    target: Target
    about: About
    """With secrets; ``mask`` what is shown of it."""
    manner: Manner
    promised: dict[str, Any]
    """[contract] and [budget] of the file."""

    def settings(self, path: Path | None) -> Settings:
        """What is promised and tolerated: by ``goldfish.toml``, else by the target's own file, else by default.

        Raises:
            UsageError: one of them holds what cannot be meant.
        """
        base = {table: dict(values) for table, values in self.promised.items()}
        if not self.target.by_user:
            base["contract"] = {"scope": ["session"], **base.get("contract", {})}
        settings = load_settings(path, base, self.source.path)
        self._fits(settings.contract, path)
        return settings

    def contract_at(self, path: Path | None) -> Callable[[str], str]:
        """Tells where a key of the contract is written, or would be: in ``goldfish.toml``, else in the target."""
        own = Where(_short(self.source.path), self.source.text)
        wheres = [Where(_short(str(path)), path.read_text("utf-8")), own] if path is not None else [own]

        def written(key: str) -> str:
            texts = [where for where in wheres if where.text]
            tables = {where: tomllib.loads(where.text).get("contract", {}) for where in texts}
            for where in texts:
                if key in tables[where]:
                    return where.at("contract", key)
            return next((where for where in texts if tables[where]), texts[0]).at("contract") if texts else ""

        return written

    def _fits(self, contract: Contract, path: Path | None) -> None:
        where = Where(_short(self.source.path), self.source.text)
        if "user" in contract.scope and not self.target.by_user:
            at = where.at("contract", "scope") if path is None else f"{path}: scope"
            raise UsageError(
                f'{at}: the target has no [recall_user]; say scope = ["session"], or say how everything of a user is '
                "listed"
            )
        if self.target.replies == "free" and contract.unmarked == "forbid":
            raise UsageError(
                f"{where.at('turn', 'reply')}: the service writes what it likes, so the contract has to say "
                'unmarked = "allow"; or reply = "echo" where it repeats what it was told'
            )

    @property
    def versions(self) -> dict[str, str]:
        """Of the packages that are tested."""
        found = {}
        for package in self.about.packages:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "not installed"
        return found


def names() -> list[str]:
    """The targets that are shipped."""
    return [REFERENCE, *sorted(path.stem for path in SHIPPED.glob("*.toml"))]


def find(wanted: str) -> Source:
    """A target by its name, its file, or ``file.py:Class``.

    Raises:
        UsageError: there is none.
    """
    if not wanted or wanted == REFERENCE:
        return Source(REFERENCE, REFERENCE, "")
    file, colon, name = wanted.rpartition(":")
    if colon and file.endswith(".py"):
        path = Path(file).absolute()
        if not path.is_file():
            raise UsageError(f"cannot read {file}: there is no such file")
        from stress.targets.plug import kind_of

        kind = kind_of(f"{path}:{name}")
        needs = 'needs = ["postgres", "redis"]\n' if kind == "library" else ""
        return Source(name, str(path), f"[target]\n{kind} = {f'{path}:{name}'!r}\n{needs}")
    path = Path(wanted)
    if wanted in names():
        path = SHIPPED / f"{wanted}.toml"
    elif path.suffix != ".toml":
        raise UsageError(
            f"unknown target '{wanted}': known are {', '.join(names())}; or give a mapping (memory.toml) or a class "
            "(memory.py:Memory). `goldfish init` writes a mapping"
        )
    try:
        return Source(path.stem, str(path.absolute()), path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the target {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def load(source: Source, environ: Mapping[str, str] = os.environ) -> Loaded:
    """Make a target.

    Raises:
        UsageError: the file says what cannot be meant, or refers to a variable, file or class that is not there.
    """
    if source.name == REFERENCE and not source.text:
        return Loaded(source, ReferenceTarget(), About(), Manner(), {})
    where = Where(_short(source.path), source.text)
    secrets = Secrets()
    try:
        raw = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(not_toml(where.name, source.text, error)) from error
    raw = resolve(raw, environ, secrets, where.name, source.text)
    try:
        return _made(source, where, raw, secrets)
    except UsageError as error:  # what is wrong may be what a variable holds
        raise UsageError(secrets.mask(str(error))) from error


def _made(source: Source, where: Where, raw: dict[str, Any], secrets: Secrets) -> Loaded:
    """Make a target of a file whose variables are known.

    Raises:
        UsageError: naming the line, and what the variables hold.
    """
    try:
        file = msgspec.convert(raw, TargetFile, strict=True)
    except msgspec.ValidationError as error:
        told = explain(Path(where.name), source.text, raw, str(error), tables=_TABLES, values=_ALLOWED)
        raise UsageError(told) from error
    promised: dict[str, Any] = {name: raw[name] for name in ("contract", "budget") if name in raw}
    load_settings(None, promised, where.name, source.text)
    about = file.target
    if about.adapter is not None or about.library is not None:
        _only_a_class(raw, where)
    if about.library is not None:
        target: Target = ReferenceTarget()
        target.by_user = "user" in promised.get("contract", {}).get("scope", ("session",))
    elif about.adapter is not None:
        from stress.targets.adapter import adapted

        target = adapted(about.adapter, Path(source.path).parent)
    else:
        _complete(file, where)
        target = MappedTarget(file, where)
    manner = Manner(_headers(about, secrets, where), _tls(about, where), about.timeout_s, secrets.mask)
    return Loaded(source, target, about, manner, promised)


def _only_a_class(raw: Mapping[str, Any], where: Where) -> None:
    """Refuse what a class has to do itself.

    Raises:
        UsageError: naming the line.
    """
    for table in raw:
        if table not in ("target", "contract", "budget"):
            raise UsageError(
                f"{where.at(table)}: [{table}] belongs to a mapping; beside adapter or library, the class does it. "
                "Allowed: [target], [contract], [budget]"
            )


def _complete(file: TargetFile, where: Where) -> None:
    """Find what is missing in a mapping, and what cannot be compiled.

    Raises:
        UsageError: naming the line.
    """
    if (file.append is None) == (file.turn is None):
        raise UsageError(
            f"{where.name}: expected one of [append] and [turn], to say something; found "
            f"{'both' if file.append else 'none'}"
        )
    if file.recall is None:
        raise UsageError(f"{where.name}: [recall] is missing: how is a session listed?")
    _roles(file, where)
    saved = {name for step in opens(file) for name in step.save}
    always = {"user", "session", "device"}
    said = {"id", "role", "text"}
    steps = {
        "open": (opens(file), always | saved),
        "append": ((file.append,), always | saved | said | {"messages"}),
        "turn": ((file.turn,), always | saved | said),
        "recall": ((file.recall,), always | saved | {"limit", "cursor", "offset", "page"}),
        "recall_default": ((file.recall_default,), always | saved | {"cursor", "offset", "page"}),
        "recall_user": ((file.recall_user,), {"user", "device", "limit", "cursor", "offset", "page"}),
        "delete": ((file.delete,), always | saved),
    }
    for table, (group, known) in steps.items():
        for step in group:
            if step is None:
                continue
            for key in ("path", "query", "headers", "body", "message"):
                # What is said has any characters; headers have few.
                without = {"body": set(), "headers": {"messages", "text"}}.get(key, {"messages"})
                _templates(where, table, key, getattr(step, key, None), known - without)
            if not step.path.startswith("/"):
                raise UsageError(f"{where.at(table, 'path')}: a path starts with /")
            for name in placeholders(step.path):
                if name in ("limit", "cursor") or (name in ("offset", "page") and not _counts(step)):
                    raise UsageError(
                        f"{where.at(table, 'path')}: {{{name}}} does not always have a value, and a path cannot leave "
                        "it out; a query can"
                    )
            for key in ("items", "text", "role", "id", "ids"):
                _selector(where, (table, key), getattr(step, key, None))
            for name, expression in getattr(step, "save", {}).items():
                _selector(where, (table, "save", name), expression)
            paging = getattr(step, "paging", None)
            for key in ("cursor", "more"):
                _selector(where, (table, "paging", key), getattr(paging, key, None))
            if paging is not None:
                _paging(where, table, step, paging)
    if file.append is not None:
        _messages(where, file.append)
    if file.turn is not None and "text" not in set(placeholders(file.turn.body)):
        raise UsageError(f"{where.at('turn', 'body')}: expected {{text}} in the body: what is said")


def _counts(step: Any) -> bool:
    """Whether a step counts offsets and pages."""
    paging = getattr(step, "paging", None)
    return paging is not None and paging.offset is not None


def _roles(file: TargetFile, where: Where) -> None:
    theirs = {role: file.roles.get(role, role) for role in {"user", "assistant", *file.roles}}
    for role, word in sorted(theirs.items()):
        others = [other for other, its in theirs.items() if its == word and other != role]
        if others:
            at = where.at("roles", role if role in file.roles else others[0])
            raise UsageError(f"{at}: {role} and {others[0]} would both be {word!r}, and nobody could tell them apart")


def _templates(where: Where, table: str, key: str, value: Any, known: set[str]) -> None:
    try:
        unknown = [name for name in placeholders(value) if name not in known]
    except TemplateError as error:
        raise UsageError(f"{where.at(table, key)}: {error}") from error
    if unknown:
        raise UsageError(
            f"{where.at(table, key)}: unknown placeholder {{{unknown[0]}}}; known here: "
            + ", ".join(f"{{{name}}}" for name in sorted(known))
        )


def _selector(where: Where, keys: tuple[str, ...], expression: str | None) -> None:
    if expression is None:
        return
    try:
        selector(expression)
    except SelectorError as error:
        at = where.at(keys[0], keys[-1])
        raise UsageError(
            f"{at}: {expression!r} is no JMESPath, such as data.items or content[0].text: {error}"
        ) from error


def _paging(where: Where, table: str, step: Any, paging: Any) -> None:
    if (paging.cursor is None) == (paging.offset is None):
        raise UsageError(
            f"{where.at(table, 'paging')}: expected one of cursor (a selector of the next {{cursor}}) and offset (how "
            "many elements a full page has, for {offset} or {page})"
        )
    used = {*placeholders(step.path), *placeholders(step.query), *placeholders(step.body)}
    wanted = {"cursor"} if paging.cursor is not None else {"offset", "page"}
    if not used & wanted:
        names_ = " or ".join(f"{{{name}}}" for name in sorted(wanted))
        raise UsageError(
            f"{where.at(table, 'paging')}: no {names_} in the request, so every page would be the first; "
            f'say where it goes, e.g. query = {{after = "{{cursor}}"}}'
        )


def _messages(where: Where, step: Any) -> None:
    used = set(placeholders(step.body))
    if "messages" in used:
        if step.message is None or "text" not in set(placeholders(step.message)):
            raise UsageError(
                f"{where.at('append', 'body')}: {{messages}} needs the form of one, e.g. "
                'message = {role = "{role}", content = "{text}"}'
            )
    elif "text" not in used:
        raise UsageError(f"{where.at('append', 'body')}: expected {{text}} or {{messages}} in the body: what is said")
    elif step.message is not None:
        raise UsageError(f"{where.at('append', 'message')}: message without {{messages}} in the body")


def _headers(about: About, secrets: Secrets, where: Where) -> str:
    headers = dict(about.headers)
    auth = about.auth
    if auth is not None:
        if (auth.bearer is None) == (auth.basic is None):
            raise UsageError(f"{where.at('target', 'auth')}: expected one of bearer and basic")
        if auth.bearer is not None:
            headers["Authorization"] = f"Bearer {auth.bearer}"
            secrets.add(auth.bearer)
        else:
            encoded = base64.b64encode(str(auth.basic).encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
            secrets.add(encoded)
            secrets.add(str(auth.basic).partition(":")[2])
    for name, value in headers.items():
        if any(ord(char) < 32 for char in name + value) or ":" in name:
            raise UsageError(f"{where.at('target', 'headers')}: {name!r} is no header of one line")
        if name.lower() in ("authorization", "cookie", "proxy-authorization") or "key" in name.lower():
            secrets.add(value)
            secrets.add(value.partition(" ")[2])
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _tls(about: About, where: Where) -> ssl.SSLContext | None:
    tls = about.tls
    if tls is None:
        return None
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.cert is not None:
            context.load_cert_chain(tls.cert, tls.key)
    except OSError as error:
        raise UsageError(f"{where.at('target', 'tls')}: {error}") from error
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _short(path: str) -> str:
    """A path as people would write it from here."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path
