"""``goldfish init``: a first mapping and settings, for a person to correct."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rich.text import Text

from goldfish.errors import UsageError
from goldfish.terminal import console
from goldfish.words import count, visible

MAPPING = "memory.toml"
SETTINGS = "goldfish.toml"


def write_files(template: str | None, out: Path, *, force: bool) -> int:
    """Write both files; nothing is written if one cannot be.

    Raises:
        UsageError: a file is there already, the template is unknown, or its document cannot be read.
    """
    from stress.targets.draft.settings import commented_settings

    mapping, told = _mapping(template)
    files = {out / MAPPING: mapping, out / SETTINGS: commented_settings(MAPPING)}
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise UsageError(f"{' and '.join(there)}: already there; choose another folder with --out, or say --force")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write to {out}: {error.strerror}") from error
    _tell([f"wrote {path}" for path in files], told, out, mapping)
    return 0


def _mapping(template: str | None) -> tuple[str, list[str]]:
    """The mapping, and what there is to say of it."""
    if template is None:
        from stress.targets.draft.blank import blank_mapping

        return blank_mapping(MAPPING), ["it fits the reference interface: change it to fit your memory"]
    from stress.targets.draft.fetch import is_url
    from stress.targets.load import REFERENCE, SHIPPED, names

    if template == REFERENCE:
        return _mapping(None)
    if template in names():
        text = (SHIPPED / f"{template}.toml").read_text(encoding="utf-8")
        return text, [f"a copy of the shipped target {template}"]
    if not is_url(template) and not Path(template).exists():
        raise UsageError(
            f"--from {template}: neither a shipped target ({', '.join(names())}) nor a file or URL of an OpenAPI "
            "document"
        )
    return _from_document(template)


def _from_document(place: str) -> tuple[str, list[str]]:
    from stress.targets.draft.document import understood
    from stress.targets.draft.fetch import document, shown
    from stress.targets.draft.mapping import drafted

    draft = drafted(understood(document(place), place), shown(place), MAPPING)
    told = [
        f"{step:14} {operation or 'not found: write it, or leave it out'}" for step, operation in draft.chosen.items()
    ]
    doubts = [
        f"{MAPPING}:{number}: {line.strip()}"
        for number, line in enumerate(draft.text.splitlines(), 1)
        if re.search(r"# \?", line)
    ]
    if doubts:
        told += ["", f"{count(len(doubts), 'guess is', 'guesses are')} unsure:", *doubts]
    return draft.text, told


def _tell(written: list[str], told: list[str], out: Path, mapping: str) -> None:
    target = (out / MAPPING).as_posix()
    settings = (out / SETTINGS).as_posix()
    lines = [line for line in mapping.splitlines() if not line.lstrip().startswith("#")]
    variables = list(dict.fromkeys(re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", "\n".join(lines))))
    out_lines = [*written, *told, "", "next:"]
    out_lines += [f"  export {variable}=…" for variable in variables]
    hosted = re.search(r"^library\s*=", mapping, re.MULTILINE)
    addressed = hosted or re.search(r"^base_url\s*=", mapping, re.MULTILINE)
    host = "" if addressed else " --host URL"
    out_lines += [
        f"  goldfish probe --target {target}{host}",
        f"  goldfish run --target {target}{host} --contract {settings}",
    ]
    console(file=sys.stdout).print(Text(visible("\n".join(out_lines))), soft_wrap=True)
