"""Restore a project's state from the copy outside it."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.features import is_name
from ralph_tui.store import project_dir
from ralph_tui.store.backup.mirror import (
    has_work,
    is_copy,
    link_file,
    mirror_of,
    previous_of,
    restore_previous_copy,
)
from ralph_tui.store.io.files import (
    DamagedError,
    explained,
    read_regular,
    sync_directory,
    write_atomic,
)
from ralph_tui.store.io.strict_json import parse_object
from ralph_tui.store.layout import FEATURES, Layout, specs_folder

_PREFIX = ".ralph--"


class _Copy(NamedTuple):
    """A copied document: the copy, its feature, and its path in `.ralph`."""

    source: Path
    feature: str
    path: str


def restore_from_mirror(root: Path) -> tuple[str, ...]:
    """Restore the missing parts of a project's state; return the names of the restored files.

    Existing files are kept. A missing `.ralph` is restored in one step or not at all. After a reset, the
    documents are restored unless new ones were created since. The same applies to each feature.
    """
    layout = Layout(root.resolve())
    directory = mirror_of(layout.root)
    with explained("restore", layout.dot):
        if _is_bare(layout) and not has_work(layout.root):
            restore_previous_copy(layout.root)
        if not has_work(layout.root):
            raise StoreError(
                f"There is no copy of the state of {layout.root}.", "Run `ralph init`."
            )
        features = _feature_names(layout, directory)
        inside = _copies_inside(directory, features)
        names: list[str] = []
        if not os.path.lexists(layout.dot):
            _restore_dot(layout, directory, inside)
            names += [f".ralph/{copy.path}" for copy in inside]
        else:
            for feature in ("", *features):
                names += _restore_into(Layout(layout.root, feature), directory, inside)
        for copy, path in _copies_outside(directory, features):
            target = layout.root / path
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(copy, target)
                names.append(path)
    if not names:
        raise StoreError(
            f"The state of {layout.root} is complete, so there is nothing to restore.",
            _nothing_done_hint(root),
        )
    return tuple(names)


def _is_bare(layout: Layout) -> bool:
    own = (layout.plan, layout.state)
    shared = () if layout.feature or os.path.lexists(layout.project) else (layout.events,)
    return not any(os.path.lexists(path) for path in (*own, *shared))


def _nothing_done_hint(root: Path) -> str:
    previous = previous_of(root.resolve())
    kept = f" The copy from before the last reset is in {previous}." if previous.is_dir() else ""
    return f"Nothing was changed.{kept}"


def _feature_names(layout: Layout, directory: Path) -> tuple[str, ...]:
    for path in (layout.project, directory / f"{_PREFIX}{layout.project.name}"):
        try:
            features = parse_object(read_regular(path) or b"{}").get("features")
        except (DamagedError, StoreError):
            continue
        if isinstance(features, dict):
            return tuple(sorted(name for name in features if is_name(name)))
    return ()


def _restore_into(layout: Layout, directory: Path, inside: list[_Copy]) -> list[str]:
    """Restore the missing documents of a feature. The plan is last, because it marks the restore as done."""
    if not _is_bare(layout):
        return []
    own = [copy for copy in inside if copy.feature == layout.feature]
    if not any(Path(copy.path).name in (layout.plan.name, layout.state.name) for copy in own):
        before = _copies_inside(previous_of(layout.root), (layout.feature,))
        own = [copy for copy in before if copy.feature == layout.feature] or own
    if not own:
        return []
    missing = [copy for copy in own if not os.path.lexists(layout.dot / copy.path)]
    for directory_of in (layout.features, layout.home) if layout.feature else ():
        directory_of.mkdir(mode=project_dir.PRIVATE, exist_ok=True)
    project_dir.make(layout)
    for copy in sorted(missing, key=lambda copy: copy.path.endswith(layout.plan.name)):
        write_atomic(layout.dot / copy.path, copy.source.read_bytes())
    if not layout.feature:
        _restore_journal(layout, directory, layout.dot)
    return [f".ralph/{copy.path}" for copy in missing]


def _restore_journal(layout: Layout, directory: Path, target: Path) -> None:
    journal, made = directory / layout.events.name, target / layout.events.name
    if journal.is_file() and not made.exists():
        link_file(journal, made)
        if not made.exists():
            shutil.copyfile(journal, made)


def _copies(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(p for p in directory.iterdir() if p.is_file() and not p.name.endswith(".tmp"))


def _copies_inside(directory: Path, features: tuple[str, ...]) -> list[_Copy]:
    found: list[_Copy] = []
    for source in _copies(directory):
        name = source.name.removeprefix(_PREFIX)
        if name == source.name:
            continue
        feature, dashes, file = name.removeprefix(f"{FEATURES}--").rpartition("--")
        if not name.startswith(f"{FEATURES}--"):
            found.append(_Copy(source, "", name))
        elif dashes and feature in features:
            found.append(_Copy(source, feature, f"{FEATURES}/{feature}/{file}"))
    return found


def _copies_outside(directory: Path, features: tuple[str, ...]) -> list[tuple[Path, str]]:
    found = []
    specs = specs_folder(directory / f"{_PREFIX}config.yaml")
    all_specs = f"{specs.replace('/', '--')}--"
    for source in _copies(directory):
        if source.name.startswith(_PREFIX) or not is_copy(source.name):
            continue
        folders = (all_specs, *(f"{all_specs}{feature}--" for feature in features))
        folder = max(filter(source.name.startswith, folders), key=len, default="")
        below = folder.replace(all_specs, f"{specs}/", 1).removesuffix("--")
        path = f"{below.rstrip('/')}/" if folder else ""
        found.append((source, f"{path}{source.name.removeprefix(folder)}"))
    return found


def _restore_dot(layout: Layout, directory: Path, inside: list[_Copy]) -> None:
    made = Path(tempfile.mkdtemp(prefix=".ralph-restoring-", dir=layout.root))
    try:
        for copy in inside:
            target = made / copy.path
            for part in reversed(target.relative_to(made).parents[:-1]):
                (made / part).mkdir(mode=project_dir.PRIVATE, exist_ok=True)
            target.write_bytes(copy.source.read_bytes())
            target.chmod(0o600)
        _restore_journal(layout, directory, made)
        made.rename(layout.dot)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    sync_directory(layout.root)
    for feature in {copy.feature for copy in inside}:
        project_dir.make(Layout(layout.root, feature))
