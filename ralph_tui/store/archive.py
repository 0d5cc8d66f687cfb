"""Write and read archives of finished plans: `.ralph/archive/DATE-NAME/`, each complete or absent."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ralph_tui.domain.documents.archive import ArchiveSummary, archive_text
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.store.io.files import (
    DamagedError,
    explained,
    free_path,
    read_regular,
    remove_stale_temps,
    stage,
    sync_directory,
    temp_path,
)
from ralph_tui.store.io.strict_json import json_text, parse_object
from ralph_tui.store.layout import Layout

SUMMARY = "summary.json"
PLAN = "plan.json"
PROGRESS = "progress.txt"
_SUMMARY_BYTES = 1024 * 1024
_PROGRESS_BYTES = 32 * 1024 * 1024


class StagedArchive(NamedTuple):
    """An archive under a temporary name: its summary, its current path and its final path."""

    summary: ArchiveSummary
    source: Path
    target: Path


@contextmanager
def staged_archive(
    layout: Layout, name: str, summary: ArchiveSummary, files: Mapping[str, bytes]
) -> Iterator[StagedArchive]:
    """Write an archive under a temporary name, and remove it at the end unless it was moved.

    Args:
        name: The wanted name of the folder. A number is added if the name is taken.

    Raises:
        StoreError: The disk refuses; nothing was archived.
    """
    temp = temp_path(layout.archive / name)
    try:
        with explained("write to", layout.archive):
            layout.archive.mkdir(mode=0o700, exist_ok=True)
            if not layout.commit.exists():  # otherwise a rename is committed
                remove_stale_temps(layout.archive)
            final = free_path(layout.archive, name).name
            named = summary.model_copy(update={"name": final})
            _write_all(temp, {**files, SUMMARY: json_text(named).encode() + b"\n"})
        yield StagedArchive(named, temp, layout.archive / final)
    finally:
        if not layout.commit.exists():  # otherwise the move is committed and still pending
            shutil.rmtree(temp, ignore_errors=True)


def write_archive(
    layout: Layout, name: str, summary: ArchiveSummary, files: Mapping[str, bytes]
) -> ArchiveSummary:
    with staged_archive(layout, name, summary, files) as staged:
        with explained("write to", layout.archive):
            staged.source.rename(staged.target)
            sync_directory(layout.archive)
        return staged.summary


def read_archives(layout: Layout) -> tuple[tuple[ArchiveSummary, ...], tuple[str, ...]]:
    """Return the summaries of the archives, newest first, and the names of folders without a valid one."""
    good: list[ArchiveSummary] = []
    bad: list[str] = []
    with explained("read", layout.archive):
        inside = sorted(layout.archive.iterdir()) if layout.archive.is_dir() else []
        folders = [path for path in inside if not path.name.startswith(".") and path.is_dir()]
    for folder in folders:
        try:
            data = read_regular(folder / SUMMARY, limit=_SUMMARY_BYTES)
            read = ArchiveSummary.model_validate(parse_object(data or b""))
        except (DamagedError, StoreError, ValidationError):
            bad.append(folder.name)
        else:
            # A person may have renamed the folder.
            good.append(read.model_copy(update={"name": folder.name}))
    good.sort(key=lambda one: (one.archived_at, one.name), reverse=True)
    return tuple(good), tuple(bad)


def read_archived_text(layout: Layout, summary: ArchiveSummary) -> str:
    folder = layout.archive / summary.name
    try:
        plan = ImplementationPlan.model_validate(parse_object(read_regular(folder / PLAN) or b""))
        progress = read_regular(folder / PROGRESS, limit=_PROGRESS_BYTES) or b""
    except (DamagedError, ValidationError) as error:
        return f"{folder / PLAN} cannot be read: {error}"
    except StoreError as error:
        return str(error)
    return archive_text(summary, plan, progress.decode("utf-8", "replace"))


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    directories = {folder}
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        directories.add(target.parent)
        stage(target, data).rename(target)
    for directory in directories:
        sync_directory(directory)
