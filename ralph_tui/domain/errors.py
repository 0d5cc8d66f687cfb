"""Errors that end in one clear sentence for a person, and the exit statuses they map to."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the `ralph` process returns to its shell."""

    COMPLETE = 0
    STOPPED = 1
    USAGE_LIMIT = 2
    ERROR = 3
    WAITING_FOR_APPROVAL = 4
    INTERRUPTED = 130


class RalphError(Exception):
    """Something that a person must fix.

    Args:
        message: What is wrong and where, as one sentence.
        hint: What to do about it.
    """

    exit_code = ExitCode.ERROR

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the two sentences apart so that a screen can style them."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigError(RalphError):
    """A setting that is unknown, out of range or of the wrong type."""


class PlanError(RalphError):
    """A plan that the loop cannot work on: a cycle, an unknown dependency, a duplicate id."""


class StoreError(RalphError):
    """The `.ralph/` directory cannot be read or written."""


class LockedError(RalphError):
    """Another process owns the loop of this project."""


class SetupError(RalphError):
    """The machine lacks something the loop needs: uv, the CLI, a login, a terminal."""


class CliStartError(SetupError):
    """The CLI died or stayed silent while it started; another start may succeed."""
