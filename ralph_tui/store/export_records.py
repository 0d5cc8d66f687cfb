"""Record which files ralph exports continuously for other tools, and what it last wrote to them."""

from pathlib import Path

from pydantic import ValidationError

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.io.files import (
    DamagedError,
    content_digest,
    explained,
    read_regular,
    write_atomic,
)
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.layout import Layout


class FollowedFile(Record):
    """A file that is kept up to date.

    Attributes:
        path: The path relative to the project, with slashes.
        format: The name of the exporter.
        written: SHA-256 of the content that ralph wrote last.
        writing: SHA-256 of the content that ralph is about to write. A killed run may have written it.
        whole: Whether ralph created the file, and so rewrites all of it each time.
        told: Whether ralph has reported that it no longer updates the file.
    """

    path: str
    format: str
    written: str
    writing: str = ""
    whole: bool = False
    told: bool = False


class FollowedFiles(Record):
    """The files that are kept up to date: `.ralph/followed_exports.json`."""

    schema_version: int = 1
    files: tuple[FollowedFile, ...] = ()

    def at(self, path: str) -> FollowedFile | None:
        return next((file for file in self.files if file.path == path), None)

    def with_file(self, file: FollowedFile) -> "FollowedFiles":
        others = tuple(other for other in self.files if other.path != file.path)
        return self.model_copy(update={"files": (*others, file)})

    def without(self, path: str) -> "FollowedFiles":
        return self.model_copy(update={"files": tuple(f for f in self.files if f.path != path)})


def read_followed(layout: Layout) -> FollowedFiles:
    try:
        data = read_regular(layout.followed)
        return FollowedFiles.model_validate_json(data) if data else FollowedFiles()
    except (DamagedError, ValidationError) as error:
        raise StoreError(
            f"{layout.followed} cannot be read, so ralph updates no exported file.",
            "Delete this file, then run `ralph export FILE --follow` again.",
        ) from error


def write_followed(layout: Layout, followed: FollowedFiles) -> None:
    """Write the record, or remove it when there are no files. Hold the write lock."""
    if followed.files:
        write_atomic(layout.followed, json_text(followed, indent=2).encode() + b"\n")
        return
    with explained("remove", layout.followed):
        layout.followed.unlink(missing_ok=True)


def followed_names(root: Path) -> frozenset[str]:
    """Return the files that ralph itself keeps up to date, whose changes belong to no task."""
    return frozenset(file.path for file in _followed(root))


def current_names(root: Path) -> frozenset[str]:
    """Return the exported files whose content is exactly what ralph wrote last."""
    return frozenset(file.path for file in _followed(root) if _is_own(root, file))


def _followed(root: Path) -> tuple[FollowedFile, ...]:
    layout = layout_of(root)
    if not layout.followed.exists():
        return ()
    try:
        return read_followed(layout).files
    except StoreError:
        return ()  # the loop reports the damage


def _is_own(root: Path, file: FollowedFile) -> bool:
    try:
        data = read_regular(root / file.path)
    except (DamagedError, StoreError):
        return False
    return data is not None and content_digest(data) in (file.written, file.writing)
