"""Decide which feature of a project a command works on.

The command line has precedence, then the feature whose loop runs, the feature whose branch is checked out, and
the feature that `ralph feature use` chose. If branch and choice disagree, the command is refused, because a guess
could change the wrong plan.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.features import UNNAMED, is_name
from ralph_tui.store.backup.mirror import copy_of
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.io.strict_json import parse_object
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock

_HEAD_PREFIX = "ref: refs/heads/"

_overrides: list[str] = []
"""The features that this process was told to work on, the latest last."""


@contextmanager
def pinned_feature(feature: str) -> Iterator[None]:
    _overrides.append(feature)
    try:
        yield
    finally:
        _overrides.pop()


def is_feature_named() -> bool:
    return bool(_overrides)


def pin_feature(feature: str) -> None:
    if _overrides:
        _overrides[-1] = feature


def named_feature(text: str) -> str:
    """Return the feature that a person names. `.` is the plan without a name."""
    if text == UNNAMED:
        return ""
    if not is_name(text):
        raise StoreError(
            f"{text!r} is not a valid feature name.", "List the features with `ralph feature`."
        )
    return text


def layout_of(root: Path) -> Layout:
    plain = Layout(root)
    feature = _overrides[-1] if _overrides else _decide(plain)
    if feature and not Layout(root, feature).home.is_dir():
        raise StoreError(
            f"There is no feature {feature} in {root}.",
            f"List the features with `ralph feature`, or create it with `ralph feature new {feature}`.",
        )
    return Layout(root, feature)


def feature_names(layout: Layout) -> tuple[str, ...]:
    try:
        with os.scandir(layout.features) as entries:
            folders = [one for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return ()
    return tuple(sorted(folder.name for folder in folders if is_name(folder.name)))


def checked_out(root: Path) -> str:
    """Return the branch that is checked out in a directory or above it, or an empty string."""
    for directory in (root, *root.parents):
        git = directory / ".git"
        try:
            if git.is_file():  # a worktree or a submodule
                link = git.read_text(encoding="utf-8").strip()
                git = directory / link.removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError):
            return ""
        return head.removeprefix(_HEAD_PREFIX) if head.startswith(_HEAD_PREFIX) else ""
    return ""


def _decide(layout: Layout) -> str:
    active, branches = _choice_and_branches(layout)
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
            f"The feature is ambiguous. The branch {branch} belongs to {at_branch}, "
            f"but {active} was chosen with `ralph feature use`.",
            f"Run `ralph feature use {at_branch}`, or return with `git switch {back}`. "
            "To choose for one command, use `-f NAME`.",
        )
    return at_branch or active


def read_list(layout: Layout) -> dict[str, JsonValue] | None:
    """Return the list of features or its copy, whichever is valid, as JSON."""
    for is_copy in (False, True):
        try:
            data = read_regular(copy_of(layout, layout.project) if is_copy else layout.project)
            found = parse_object(data) if data else {}
        except (DamagedError, StoreError):  # a transaction reports it
            continue
        if isinstance(found.get("features"), dict):
            return found
    return None


def _choice_and_branches(layout: Layout) -> tuple[str, dict[str, str]]:
    """Return the chosen feature, and the feature of each branch.

    Parses without models, because every start pays for it.
    """
    names = feature_names(layout)
    if not names:
        return "", {}
    raw = read_list(layout)
    if raw is None:
        raise StoreError(
            f"{layout.project} cannot be read, so the current feature is unknown.",
            f"Write it again with `ralph feature use {names[0]}`. To choose for one command, use `-f NAME`.",
        )
    features, active = raw["features"], raw.get("active")
    branches = {
        str(record.get("branch") or name): name
        for name, record in (features.items() if isinstance(features, dict) else ())
        if isinstance(record, dict) and name in names
    }
    return (active if isinstance(active, str) and active in names else ""), branches
