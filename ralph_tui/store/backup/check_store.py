"""Store what ralph trusts about a project's checks outside the project, where no agent can write."""

import contextlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.io.files import make_private, replace_file

M = TypeVar("M", bound=Model)


BASE, BASELINE, REQUIRED, TRIED = "base", "baseline", "required", "tried"
"""What is stored beside the outcomes: the trusted base, the failures before a run, the checks, and the last trial."""


class BaseRecord(Model):
    """The trusted base of a project: trees of the snapshot store, and what the gate knew when they were made."""

    base: str = ""
    left: str | None = None
    """The project at the end of the last agent session; None while a session runs, or if it never ended."""
    tasks: dict[str, str] = Field(default_factory=dict)
    """The project before each started task."""
    ended: dict[str, str] = Field(default_factory=dict)
    """The project at the end of the last session on each of them."""
    added: tuple[str, ...] = ()
    """New tests of accepted tasks in the base."""
    bound: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Existing test files as accepted tasks left them: mode and object. They are not in the base, but bind later tasks."""
    inputs: tuple[str, ...] = ()
    """Files that the check commands ran or read before an agent worked."""
    since: int = 0
    packages: dict[str, str] | None = None
    """What identifies each installed package that somebody trusts."""
    packages_left: dict[str, str] = Field(default_factory=dict)
    """The same of all packages at the end of the last agent session."""


class RequiredChecks(Model):
    """The checks that the project has had. A later run requires them even if an agent removed them."""

    commands: tuple[CheckCommand, ...] = ()
    left: tuple[CheckCommand, ...] = ()
    """Those that the project still had when the last run ended; none while a run is under way, or if it never ended."""

    def still(self, found: Sequence[CheckCommand]) -> tuple[CheckCommand, ...]:
        """Return the commands missing from `found`, unless the person removed them between runs."""
        return tuple(one for one in missing(self.commands, found) if one not in self.left)


def missing(
    required: Iterable[CheckCommand], found: Sequence[CheckCommand]
) -> Iterator[CheckCommand]:
    """Yield the required commands that nothing in `found` replaces.

    Any other command of a kind will do, except for tests: another runner may run other tests.
    """
    kinds = {command.kind for command in found}
    for command in required:
        replaced = any(one.takes_place_of(command) for one in found)
        if command.kind not in kinds or (command.kind is CheckKind.TESTS and not replaced):
            yield command


class CheckStore:
    """Stores the records of the gate for one project. Every method blocks on the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.trouble = ""
        """Why the last write failed."""

    @property
    def _home(self) -> Path:
        return mirror_of(self._root) / "checks"

    def load(self, name: str, model: type[M]) -> M | None:
        """Return what is stored under a name, or None if it is missing or damaged."""
        try:
            return model.model_validate_json(self._read(f"{name}.json") or b"")
        except ValidationError:
            return None

    def save(self, name: str, record: Model) -> None:
        self._write(f"{name}.json", record.model_dump_json().encode())

    def outcomes(self, command: str) -> dict[str, str] | None:
        """Return each test's outcome from the last accepted run of a command, or None before the first."""
        try:
            value = json.loads(self._read(_outcomes_name(command)) or b"null")
        except ValueError:
            return None
        return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else None

    def save_outcomes(self, command: str, outcomes: Mapping[str, str]) -> None:
        self._write(_outcomes_name(command), json.dumps(dict(outcomes)).encode())

    def forget_outcomes(self) -> None:
        """Forget the accepted tests, because the person changed files that may hold them."""
        with contextlib.suppress(OSError, StoreError):
            shutil.rmtree(self._home / "outcomes")

    def _read(self, name: str) -> bytes | None:
        try:
            return (self._home / name).read_bytes()
        except (OSError, StoreError):
            return None

    def _write(self, name: str, data: bytes) -> None:
        try:
            target = self._home / name
            make_private(target.parent, self._home.parent)
            replace_file(target, data)
        except (OSError, StoreError) as error:
            self.trouble = error.message if isinstance(error, StoreError) else str(error)


def _outcomes_name(command: str) -> str:
    return f"outcomes/{sha256(command.encode()).hexdigest()[:32]}.json"
