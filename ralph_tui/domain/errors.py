"""Errors with a clear sentence for the person, and the exit statuses that they map to."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit statuses of the `ralph` process."""

    COMPLETE = 0
    STOPPED = 1
    USAGE_LIMIT = 2
    ERROR = 3
    WAITING_FOR_APPROVAL = 4
    INTERRUPTED = 130


class RalphError(Exception):
    """A problem that a person must fix.

    Args:
        message: What is wrong and where, as one sentence.
        hint: What to do about it.
    """

    exit_code = ExitCode.ERROR

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep message and hint apart, so that a screen can style them differently."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigError(RalphError):
    """A setting that is unknown, out of range or of the wrong type."""


class PlanError(RalphError):
    """A plan that cannot be built, for example because of a dependency cycle or a duplicate id."""


class StoreError(RalphError):
    """The `.ralph/` directory cannot be read or written."""


class LockedError(RalphError):
    """Another process owns the loop of this project."""


class SetupError(RalphError):
    """Something that the loop needs is missing: uv, the CLI, a login or a terminal."""


class CliStartError(SetupError):
    """The CLI exited or did not respond during startup. Another attempt may succeed."""
