"""Decide which feature of a project a command works on.

What the command line names comes first, then the feature whose loop runs, the feature whose branch is checked
out, and the feature that `ralph feature use` chose. Branch and choice that disagree are refused: a guess
would work on the wrong plan.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.features import UNNAMED, is_name
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.io.strict_json import parse_object
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock

_HEADS = "ref: refs/heads/"

_named: list[str] = []
"""What this command line names, the latest last."""


@contextmanager
def working_on(feature: str) -> Iterator[None]:
    """Make this process work on a feature, whatever else would decide."""
    _named.append(feature)
    try:
        yield
    finally:
        _named.pop()


def is_feature_named() -> bool:
    """Return whether the command line names a feature."""
    return bool(_named)


def keep_to(feature: str) -> None:
    """Make this process work on another feature, where it works on one whatever else would decide."""
    if _named:
        _named[-1] = feature


def named_feature(text: str) -> str:
    """Return the feature that a person names; `.` is the plan without a name.

    Raises:
        StoreError: No feature can be called this.
    """
    if text == UNNAMED:
        return ""
    if not is_name(text):
        raise StoreError(
            f"{text!r} cannot be the name of a feature.", "`ralph feature` lists the features."
        )
    return text


def layout_of(root: Path) -> Layout:
    """Return the paths of the feature that this process works on.

    Raises:
        StoreError: There is no such feature, or it cannot be decided.
    """
    plain = Layout(root)
    feature = _named[-1] if _named else _decided(plain)
    if feature and not Layout(root, feature).home.is_dir():
        raise StoreError(
            f"There is no feature {feature} in {root}.",
            f"`ralph feature` lists the features; `ralph feature new {feature}` makes it.",
        )
    return Layout(root, feature)


def feature_names(layout: Layout) -> tuple[str, ...]:
    """Return the names of the features that have a folder, in order."""
    try:
        with os.scandir(layout.features) as entries:
            return tuple(sorted(e.name for e in entries if _is_feature(e)))
    except OSError:
        return ()


def _is_feature(entry: "os.DirEntry[str]") -> bool:
    return is_name(entry.name) and entry.is_dir(follow_symlinks=False)


def checked_out(root: Path) -> str:
    """Return the branch that is checked out around a directory; empty without one."""
    for directory in (root, *root.parents):
        git = directory / ".git"
        try:
            if git.is_file():  # a worktree or a submodule
                said = git.read_text(encoding="utf-8").strip()
                git = directory / said.removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError):
            return ""
        return head.removeprefix(_HEADS) if head.startswith(_HEADS) else ""
    return ""


def _decided(layout: Layout) -> str:
    """Return the feature that the running loop, the branch or the person's last choice names."""
    active, branches = _known(layout)
    if not branches:
        return ""
    owner = LoopLock(layout).owner()
    if owner is not None:
        return owner.feature
    branch = checked_out(layout.root)
    at_branch = branches.get(branch, "") if branch else ""
    if active and at_branch and active != at_branch:
        back = next(name for name, feature in branches.items() if feature == active)
        raise StoreError(
            f"It is not clear which feature is meant: the branch {branch} belongs to {at_branch}, "
            f"but {active} was chosen with `ralph feature use`.",
            f"Run `ralph feature use {at_branch}`, or go back with `git switch {back}`; "
            "`-f NAME` decides for one command.",
        )
    return at_branch or active


def _listed(layout: Layout) -> dict[str, JsonValue] | None:
    """Return the list of features or its last good copy; None when there is neither."""
    for path in (layout.project, layout.project.with_name(f"{layout.project.name}.bak")):
        try:
            data = read_regular(path)
            found = parse_object(data) if data else {}
        except (DamagedError, StoreError):  # a transaction repairs it and says so
            continue
        if isinstance(found.get("features"), dict):
            return found
    return None


def _known(layout: Layout) -> tuple[str, dict[str, str]]:
    """Return the chosen feature, and the feature of each branch; read without models, as every start pays for it."""
    names = feature_names(layout)
    if not names:
        return "", {}
    raw = _listed(layout)
    if raw is None:
        raise StoreError(
            f"{layout.project} cannot be read, so it is not clear which feature is meant.",
            f"`ralph feature use {names[0]}` writes it again; `-f NAME` decides for one command.",
        )
    features, active = raw["features"], raw.get("active")
    branches = {
        str(record.get("branch") or name): name
        for name, record in (features.items() if isinstance(features, dict) else ())
        if isinstance(record, dict) and name in names
    }
    return (active if isinstance(active, str) and active in names else ""), branches
