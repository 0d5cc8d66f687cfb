"""Remembers which files of other tools are kept current, and what ralph wrote into them last."""

import hashlib
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.io.files import DamagedError, explained, read_regular, write_atomic
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.layout import Layout


class FollowedFile(Record):
    """A file that is kept current.

    Attributes:
        path: Relative to the project, with slashes.
        format: The name of the exporter.
        written: SHA-256 of what ralph wrote last.
        writing: SHA-256 of what ralph is about to write; a killed run may have written it.
        whole: Whether ralph made the file, and so writes all of it each time.
        told: Whether the person was told that ralph leaves the file alone.
        by_setting: Whether the setting `exports` asked for it, so that it ends with the setting.
    """

    path: str
    format: str
    written: str
    writing: str = ""
    whole: bool = False
    told: bool = False
    by_setting: bool = False


class FollowedFiles(Record):
    """The files that are kept current, `.ralph/followed_exports.json`."""

    schema_version: int = 1
    files: tuple[FollowedFile, ...] = ()

    def at(self, path: str) -> FollowedFile | None:
        """Return the file at this path, or None."""
        return next((file for file in self.files if file.path == path), None)

    def with_file(self, file: FollowedFile) -> "FollowedFiles":
        """Return a copy with this file in the place of the one of the same path."""
        others = tuple(other for other in self.files if other.path != file.path)
        return self.model_copy(update={"files": (*others, file)})

    def without(self, path: str) -> "FollowedFiles":
        """Return a copy that does not follow a path."""
        return self.model_copy(update={"files": tuple(f for f in self.files if f.path != path)})


def read_followed(layout: Layout) -> FollowedFiles:
    """Return what is followed.

    Raises:
        StoreError: The record is damaged.
    """
    try:
        data = read_regular(layout.followed)
        followed = FollowedFiles.model_validate_json(data) if data else FollowedFiles()
        return followed.model_copy(
            update={"files": tuple(_at_home(layout, f) for f in followed.files)}
        )
    except (DamagedError, ValidationError) as error:
        raise StoreError(
            f"{layout.followed} cannot be read, so no file is kept current.",
            "Remove it, then run `ralph export FILE --follow` again.",
        ) from error


def _at_home(layout: Layout, file: FollowedFile) -> FollowedFile:
    """Return a file with the path that it has now: what a setting asked for moves with a renamed feature."""
    if not file.by_setting:
        return file
    now = (layout.home / PurePosixPath(file.path).name).relative_to(layout.root)
    return file.model_copy(update={"path": now.as_posix()})


def write_followed(layout: Layout, followed: FollowedFiles) -> None:
    """Remember what is followed; without any file there is no record. Hold the write lock."""
    if followed.files:
        write_atomic(layout.followed, json_text(followed, indent=2).encode() + b"\n")
        return
    with explained("remove", layout.followed):
        layout.followed.unlink(missing_ok=True)


def followed_names(root: Path) -> frozenset[str]:
    """Return the files that ralph itself keeps current, whose changes are nobody's work."""
    layout = layout_of(root)
    if not layout.followed.exists():
        return frozenset()
    try:
        return frozenset(file.path for file in read_followed(layout).files)
    except StoreError:
        return frozenset()  # the loop tells about the damage


def current_names(root: Path) -> frozenset[str]:
    """Return the files that are kept current and hold exactly what ralph wrote last."""
    layout = layout_of(root)
    if not layout.followed.exists():
        return frozenset()
    try:
        followed = read_followed(layout).files
    except StoreError:
        return frozenset()  # the loop tells about the damage
    return frozenset(file.path for file in followed if _is_own(root, file))


def _is_own(root: Path, file: FollowedFile) -> bool:
    try:
        data = read_regular(root / file.path)
    except (DamagedError, StoreError):
        return False
    return data is not None and digest(data) in (file.written, file.writing)


def digest(data: bytes | None) -> str:
    """Return the SHA-256 by which ralph knows what it wrote."""
    return hashlib.sha256(data or b"").hexdigest()
