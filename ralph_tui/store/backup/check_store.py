"""Store the originals of a project's check files outside the project, where no agent can write."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind
from ralph_tui.store import project_dir
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.io.files import replace_file


class FileMark(Model):
    """A file's identity: the digest of its content, its mode, and whether it is a symbolic link."""

    digest: str
    mode: int = 0o644
    link: bool = False


class CheckRecord(Model):
    """The trusted content of each check file."""

    begun: bool = False
    trusted: dict[str, FileMark] = Field(default_factory=dict)
    tasks: dict[str, dict[str, FileMark]] = Field(default_factory=dict)
    """By started task, the files that differed from the trusted ones before it started."""
    left: dict[str, FileMark] | None = None
    """The files at the end of the last agent session; None while a session runs, or if it never ended."""
    since: int = 0
    """When the last agent session began, in nanoseconds."""
    modules: tuple[str, ...] | None = None
    """The names of the project's own modules before the first session; None in a record of an older version."""
    started: int | None = None
    """When the first agent session began, in nanoseconds; None in a record of an older version."""
    environment: dict[str, str] = Field(default_factory=dict)
    """The digests of what affects every run of Python, from before the first session."""
    watched: tuple[str, ...] = ()
    """Files that were watched in that session because a command names them."""


class RequiredChecks(Model):
    """The checks that the project has had. A later run requires them even if an agent removed them."""

    commands: tuple[CheckCommand, ...] = ()
    lost: tuple[CheckKind, ...] = ()
    """Kinds that were missing from the project when the last run ended."""
    replaced: tuple[str, ...] = ()
    """Commands that run the tests, and that others had replaced when the last run ended."""
    running: bool = False
    """Whether a run began and never ended, so that an agent may have removed the missing checks."""

    def still(self, found: Sequence[CheckCommand]) -> tuple[CheckCommand, ...]:
        """Return the commands missing from `found`, unless the person removed them between runs."""
        kinds = {command.kind for command in found}
        return tuple(
            command
            for command in missing(self.commands, found)
            if self.running
            or command.kind in self.lost
            or (command.kind in kinds and command.command in self.replaced)
        )


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
    """Stores the original check files and their records for one project. Every method blocks on the disk."""

    def __init__(self, root: Path) -> None:
        """Store the files beside the copy of the project's state."""
        self._root = root
        self._in_memory: dict[str, bytes] = {}
        self.trouble = ""
        """Why a write failed. The content is then kept in memory, for this run only."""

    @property
    def _home(self) -> Path:
        """The directory of all stored files.

        Raises:
            StoreError: This user has no home directory.
        """
        return mirror_of(self._root) / "checks"

    def load(self) -> CheckRecord:
        """Return the record, or an empty one before the first task."""
        try:
            return CheckRecord.model_validate_json((self._home / "record.json").read_bytes())
        except (OSError, StoreError, ValidationError):
            return CheckRecord()

    def save(self, record: CheckRecord) -> None:
        self._write("record.json", record.model_dump_json().encode())

    def has(self, digest: str) -> bool:
        """Return whether the content with this digest is stored."""
        try:
            return digest in self._in_memory or self._object(digest).is_file()
        except StoreError:
            return False

    def get(self, digest: str) -> bytes | None:
        """Return the content with this digest, or None when it is missing or damaged."""
        if digest in self._in_memory:
            return self._in_memory[digest]
        try:
            data = self._object(digest).read_bytes()
        except (OSError, StoreError):
            return None
        return data if sha256(data).hexdigest() == digest else None

    def put(self, digest: str, data: bytes) -> None:
        """Store a content under its digest, unless the file changed after the digest was computed."""
        if sha256(data).hexdigest() == digest and not self._write(
            f"objects/{digest[:2]}/{digest[2:]}", data
        ):
            self._in_memory[digest] = data

    def outcomes(self, command: str) -> dict[str, str] | None:
        """Return each test's outcome from the last accepted run of a command, or None before the first."""
        try:
            value = json.loads((self._home / _outcomes_name(command)).read_bytes())
        except (OSError, StoreError, ValueError):
            return None
        return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else None

    def save_outcomes(self, command: str, outcomes: Mapping[str, str]) -> None:
        self._write(_outcomes_name(command), json.dumps(dict(outcomes)).encode())

    def baseline(self) -> bytes | None:
        """Return the stored baseline of the run, or None before the first."""
        try:
            return (self._home / "baseline.json").read_bytes()
        except (OSError, StoreError):
            return None

    def save_baseline(self, data: bytes) -> None:
        self._write("baseline.json", data)

    def required(self) -> RequiredChecks:
        """Return the checks of earlier runs, or none before the first."""
        try:
            return RequiredChecks.model_validate_json((self._home / "required.json").read_bytes())
        except (OSError, StoreError, ValidationError):
            return RequiredChecks()

    def save_required(self, required: RequiredChecks) -> None:
        self._write("required.json", required.model_dump_json().encode())

    def marks(self) -> dict[str, tuple[tuple[int, ...], FileMark]]:
        """Return the known file marks, with the size and times that show whether a file has changed."""
        try:
            value = json.loads((self._home / "stat.json").read_bytes())
            return {
                path: (tuple(seen), FileMark(digest=digest, mode=mode, link=link))
                for path, (seen, digest, mode, link) in value.items()
            }
        except (OSError, StoreError, ValueError, AttributeError, TypeError):
            return {}

    def save_marks(self, marks: Mapping[str, tuple[tuple[int, ...], FileMark]]) -> None:
        value = {path: (seen, m.digest, m.mode, m.link) for path, (seen, m) in marks.items()}
        self._write("stat.json", json.dumps(value).encode())

    def _object(self, digest: str) -> Path:
        return self._home / "objects" / digest[:2] / digest[2:]

    def _write(self, name: str, data: bytes) -> bool:
        try:
            target = self._home / name
            _make_private(target.parent, self._home.parent)
            replace_file(target, data)
        except (OSError, StoreError) as error:
            self.trouble = error.message if isinstance(error, StoreError) else str(error)
            return False
        return True


def _make_private(directory: Path, above: Path) -> None:
    """Create a directory and its parents up to `above`, because `parents=True` would let others read them."""
    above.mkdir(mode=project_dir.PRIVATE, parents=True, exist_ok=True)
    for part in reversed((directory, *directory.parents)):
        if part.is_relative_to(above) and part != above:
            part.mkdir(mode=project_dir.PRIVATE, exist_ok=True)


def _outcomes_name(command: str) -> str:
    return f"outcomes/{sha256(command.encode()).hexdigest()[:32]}.json"
