"""Errors of the HTTP interface: a status, a code for programs, a message for people."""

from __future__ import annotations


class ProblemError(Exception):
    """An answer that is not a success; nothing was stored or changed unless the message says otherwise."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
