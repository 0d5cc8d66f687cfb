"""Write the state of the plan into files of other tools, once or whenever the plan changes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.import_sources import load_file, name_in, place_of
from ralph_tui.interop.format_registry import formats, is_exporter
from ralph_tui.interop.formats import InteropError, Source, Writable
from ralph_tui.store.export_records import (
    FollowedFile,
    FollowedFiles,
    read_followed,
    write_followed,
)
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.io.files import content_digest as digest
from ralph_tui.store.io.files import read_regular, write_atomic
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import PROJECT_MODE

_RESERVED_DIRECTORIES = (".git", ".ralph")
"""Directories in which a file is written only if the plan was imported from it, or is the feature's prd.json."""

PRD = "prd.json"


class Exported(NamedTuple):
    """What was exported."""

    path: str
    format: str
    changed: bool
    created: bool


class _Target(NamedTuple):
    """A file to write, with its current content and its exporter."""

    place: Path
    source: Source
    data: bytes | None
    exporter: Writable
    whole: bool


def export_plan(project: Project, given: str, form: str = "", *, follow: bool = False) -> Exported:
    """Write the plan's state into a file, and keep it current with `follow`; a new file needs a format. Blocks."""
    plan = project.load().plan
    with write_lock(project.layout):
        followed = read_followed(project.layout)
        target = _target(project.root, plan, given, form, followed)
        data = _new_content(target, plan)
        path, name = target.source.name, target.exporter.name
        if follow or followed.at(path) is not None:
            file = FollowedFile(path=path, format=name, written="", whole=target.whole)
            _write_followed(project.layout, followed, file, target, data)
        elif data != target.data:
            write_atomic(target.place, data, mode=PROJECT_MODE)
    return Exported(path, name, data != target.data, target.data is None)


def unfollow(project: Project, given: str) -> str:
    name = name_in(project.root, _writable_path(project.root, given))
    with write_lock(project.layout):
        before = read_followed(project.layout)
        after = before.without(name)
        if after.files == before.files:
            followed = ", ".join(file.path for file in before.files) or "none"
            raise RalphError(f"{name} is not followed.", f"Followed files: {followed}.")
        write_followed(project.layout, after)
    return name


class FollowedExports:
    """Keeps the followed files of a project current."""

    def __init__(self, project: Project, tell: Callable[[str], None]) -> None:
        self._project = project
        self._tell = tell
        self._reported: set[str] = set()

    def sync(self, plan: ImplementationPlan) -> None:
        """Write the plan's state into every followed file; a failure is reported and stops nothing. Blocks."""
        if not self._project.layout.followed.exists():
            return
        try:
            with write_lock(self._project.layout):
                followed = read_followed(self._project.layout)
                for file in followed.files:
                    followed = self._update(followed, file, plan)
        except RalphError as error:
            self._report_once(str(error))

    def _update(
        self, followed: FollowedFiles, file: FollowedFile, plan: ImplementationPlan
    ) -> FollowedFiles:
        try:
            path = str(self._project.root / file.path)
            target = _target(self._project.root, plan, path, file.format, followed)
            if target.data is None or digest(target.data) not in (file.written, file.writing):
                return self._report_left_alone(followed, file, gone=target.data is None)
            data = _new_content(target, plan)
        except RalphError as error:
            self._report_once(f"{file.path} cannot be kept up to date: {error}")
            return followed
        return _write_followed(self._project.layout, followed, file, target, data)

    def _report_left_alone(
        self, followed: FollowedFiles, file: FollowedFile, *, gone: bool
    ) -> FollowedFiles:
        if file.told:
            return followed
        why = "was deleted" if gone else "was edited"
        reads = "" if file.whole else f"To import your changes, run `ralph import {file.path}`. "
        self._report_once(
            f"{file.path} {why}, so ralph no longer updates it. {reads}"
            f"To update it again, run `ralph export {file.path} --follow`."
        )
        followed = followed.with_file(file.model_copy(update={"told": True}))
        write_followed(self._project.layout, followed)
        return followed

    def _report_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._tell(text)


def _write_followed(
    layout: Layout, followed: FollowedFiles, file: FollowedFile, target: _Target, data: bytes
) -> FollowedFiles:
    """Write a followed file, and record it before and after, so that after a crash both texts count as ralph's own."""
    if data != target.data:
        begun = file.model_copy(update={"written": digest(target.data), "writing": digest(data)})
        write_followed(layout, followed.with_file(begun))
        write_atomic(target.place, data, mode=PROJECT_MODE)
    done = file.model_copy(update={"written": digest(data), "writing": "", "told": False})
    if done != followed.at(file.path) or data != target.data:
        followed = followed.with_file(done)
        write_followed(layout, followed)
    return followed


def _target(
    root: Path, plan: ImplementationPlan, given: str, form: str, followed: FollowedFiles
) -> _Target:
    place = _writable_path(root, given)
    name = name_in(root, place)
    origins = {
        task.origin.format for task in plan.tasks if task.origin and task.origin.path == name
    }
    if (
        name.split("/")[0] in _RESERVED_DIRECTORIES
        and not origins
        and place != layout_of(root).home / PRD
    ):
        raise InteropError(
            name, 0, "it is in a directory that belongs to ralph or git", "Choose another file."
        )
    data = None
    source = Source(name, "")
    if os.path.lexists(place):
        source = Source(name, load_file(root, name, root).source.text)
        data = read_regular(place)
    exporter = _exporter(source, data is None, form, origins)
    known = followed.at(name)
    whole = data is None or (known is not None and known.whole and known.format == exporter.name)
    if whole:
        source = Source(name, "")
    elif exporter.name not in origins:
        what = f"no task in the plan was imported from it as {exporter.name}"
        raise InteropError(name, 0, what, f"Run `ralph import {name}` first, or choose a new file.")
    return _Target(place, source, data, exporter, whole)


def _exporter(source: Source, is_new: bool, form: str, origins: set[str]) -> Writable:  # noqa: FBT001 - private
    exporters = [one for one in formats().importers if is_exporter(one)]
    if not form and is_new:
        writable = ", ".join(one.name for one in exporters if getattr(one, "new", True))
        hint = f"Choose a format with `--as`: {writable}."
        raise InteropError(source.name, 0, "the file does not exist yet", hint)
    named = form or (next(iter(origins)) if len(origins) == 1 else "")
    importer = formats().named(named) if named else formats().detect(source)
    if not is_exporter(importer):
        what = f"{importer.name} plans can be imported but not exported"
        raise InteropError(
            source.name, 0, what, f"Formats for export: {', '.join(one.name for one in exporters)}."
        )
    return importer


def _writable_path(root: Path, given: str) -> Path:
    name = one_line(given, 300)
    place = place_of(root, given)
    if not place.is_relative_to(root) or place == root:
        raise InteropError(name, 0, "it is not in the project", "Choose a file in the project.")
    if Path(os.path.expanduser(given)).is_symlink():  # noqa: PTH111 - as `place_of` does
        raise InteropError(name, 0, "it is a link", "Give the path of the file itself.")
    if not place.parent.is_dir():
        raise InteropError(name, 0, "its directory does not exist", "Create the directory first.")
    return place


def _new_content(target: _Target, plan: ImplementationPlan) -> bytes:
    text = target.exporter.write(plan, target.source)
    mark = b"\xef\xbb\xbf"
    return mark * (target.data or b"").startswith(mark) + text.encode("utf-8", "replace")
