"""Shares on the command line."""

from __future__ import annotations

import click


class Share(click.ParamType[float]):
    """A share above 0 and below 1: 0.001 or 0.1%."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"{text!r} is no share; expected e.g. 0.001 or 0.1%", param, ctx)
        if not 0 < number < 1:
            self.fail(f"{text} is not between 0 and 1; expected e.g. 0.001 or 0.1%", param, ctx)
        return number
