"""The one family of errors that is meant for people.

Every message says what was expected, what was found and what to do; the command prints it without a traceback and
exits with the error's code.
"""

from __future__ import annotations


class GoldfishError(Exception):
    """Base of all errors with a message for the person at the terminal."""

    exit_code = 2


class UsageError(GoldfishError):
    """A command line, a configuration or a specification that cannot be meant."""


class TargetError(GoldfishError):
    """The memory under test does not answer as its interface says."""


class DeploymentError(GoldfishError):
    """A part of a deployment of ours did not start or ended; the message carries the tail of its log."""


class RecordError(GoldfishError):
    """A run directory that cannot be judged: missing, damaged, or of an unknown schema."""
