"""The reference page, made from the registries: ``python -m goldfish.reference > docs/reference.md``."""

from __future__ import annotations

from pathlib import Path

import jinja2
import msgspec

from goldfish.anomalies import ANOMALIES, FLAGS, POSITIONS
from goldfish.contract import TABLES
from goldfish.keys import keys_of, toml

TEMPLATE = Path(__file__).with_name("reference.md.jinja")


def reference() -> str:
    """The whole page in Markdown."""
    from stress.memory.registry import DEFECTS, STORES
    from stress.scenarios.registry import scenarios
    from stress.targets.catalog import shipped
    from stress.targets.mapping import file

    target_tables: dict[str, type[msgspec.Struct]] = {
        "target": file.About,
        "target.auth": file.Auth,
        "target.tls": file.Tls,
        "ids": file.Ids,
        "": file.Step,
        "open": file.Open,
        "append": file.Append,
        "turn": file.Turn,
        "recall": file.RecallStep,
        "recall.paging": file.Paging,
    }

    page = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return page.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        scenarios=scenarios().values(),
        stores=STORES.values(),
        defects=DEFECTS.values(),
        anomalies=ANOMALIES.values(),
        flags=FLAGS.values(),
        positions=POSITIONS,
        tables={name: _keys(settings) for name, settings in TABLES.items() if name},
        target_tables=[
            (
                name,
                _line(table.__doc__),
                _keys(table, inherited=not (issubclass(table, file.Step) and table is not file.Step)),
            )
            for name, table in target_tables.items()
        ],
        placeholders=file.PLACEHOLDERS,
        targets=shipped(),
    )


def _keys(table: type[msgspec.Struct], *, inherited: bool = True) -> list[tuple[str, str, str]]:
    """Key, default as TOML, and meaning of each key of a table."""
    return [(key.name, _default(key.default), key.meaning) for key in keys_of(table, inherited=inherited)]


def _line(text: str | None) -> str:
    return " ".join(str(text).split())


def _default(value: object) -> str:
    if value is None:
        return "not set"
    return "must be set" if value is msgspec.NODEFAULT else toml(value)


if __name__ == "__main__":
    print(reference(), end="")
