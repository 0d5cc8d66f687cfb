"""Compares two snapshots of a repository: what changed, who did it, and how to restore it. Pure.

Times and names in a repository can be forged, so they do not show who made a change. Instead the author
follows from when the snapshots were taken. A change while no agent process ran is the person's, unless it has
the mark that agent processes leave in the reflog. The author of any other change is unknown.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line

STAGE = " (stage "


@dataclass(frozen=True)
class Snapshot:
    """A repository at one moment."""

    head: str
    """The branch that HEAD points to, or a commit if HEAD is detached."""
    above: str = ""
    """The top of the work tree if the project is below it; all paths are relative to it."""
    refs: Mapping[str, str] = field(default_factory=dict)
    index: Mapping[str, str] = field(default_factory=dict)
    """`TAG MODE,OBJECT` of each path; a lower-case tag marks a path whose changes git ignores."""
    stash: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    info: Mapping[str, str] = field(default_factory=dict)
    """The files in git's `info` directories, such as attributes, which can name programs."""
    worktrees: tuple[str, ...] = ()
    submodules: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For each one checked out: the branch of its HEAD, empty if detached, and the commit."""
    marked: frozenset[str] = frozenset()
    """Commits that an agent's process moved HEAD to, according to the reflog."""


@dataclass(frozen=True)
class OwnCommit:
    """A commit that ralph itself made on the checked-out branch.

    Attributes:
        branch: The branch's name, without `refs/heads/`.
        entries: `MODE,OBJECT` of each changed path, relative to the top of the work tree; empty if deleted.
    """

    branch: str
    commit: str
    entries: Mapping[str, str]


def with_commit(before: Snapshot, made: OwnCommit) -> Snapshot:
    index = dict(before.index)
    for path, entry in made.entries.items():
        if entry:
            tag = index.get(path, "H").partition(" ")[0]
            index[path] = f"{tag} {entry}"
        else:
            index.pop(path, None)
    refs = {**before.refs, f"refs/heads/{made.branch}": made.commit}
    return replace(before, refs=refs, index=index)


_RUNS_CODE = re.compile(
    r"(alias|core|credential|extensions|filter|gpg|guitool|hook|http|include|includeif|pager|protocol|safe"
    r"|sendemail|sequence|submodule|trailer|url)\..*"
    r"|.*\.(cmd|command|difffilter|driver|external|packobjectshook|path|program|proxy|pushurl|receivepack"
    r"|templatedir|textconv|tunnel|uploadpack|url|vcs)"
)
"""Settings that name a program, or that change which files and repositories git uses."""

_MAX_LISTED_PATHS = 20


class Author(StrEnum):
    """Who made a change, as far as it is known."""

    AGENT = "agent"
    PERSON = "person"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Item:
    """A single change, its author, and the command that undoes it."""

    text: str
    restore: str = ""
    part: str = ""
    """HEAD, the full name of a reference, index, stash, config, hooks, info, worktrees or submodule."""
    old: str = ""
    new: str = ""
    """The values before and after, for HEAD, references and the stash."""
    author: Author = Author.UNKNOWN
    matters: bool = True
    """Whether it touches what this work tree builds on, or code that git runs."""


@dataclass(frozen=True)
class Change:
    """The changes between two snapshots."""

    items: tuple[Item, ...]

    @property
    def by_person(self) -> bool:
        return all(item.author is Author.PERSON for item in self.items)

    @property
    def by_agent(self) -> bool:
        return any(item.author is Author.AGENT for item in self.items)

    @property
    def summary(self) -> str:
        texts = [item.text for item in self.items]
        more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
        return "; ".join(texts[:3]) + more

    @property
    def restore(self) -> str:
        return " && ".join(item.restore for item in self.items if item.restore)


def compare(
    before: Snapshot | None, after: Snapshot | None, *, quiet: bool = False
) -> Change | None:
    if before is None or after is None:
        if before is after:
            return None
        text = "the repository was deleted" if before else "a repository was created"
        return Change((Item(text),))
    found = [
        *_head(before, after),
        *_refs(before, after),
        *_index(before, after),
        *_stash(before, after),
        *_config(before, after),
        *_hooks(before, after),
        *_info(before, after),
        *_worktrees(before, after),
        *_submodules(before, after),
    ]
    items = tuple(replace(item, author=_author(item, after, quiet=quiet)) for item in found)
    return Change(items) if items else None


def ends_run(item: Item, before: Snapshot, follows: Callable[[str, str], bool]) -> bool:
    """Return whether a change ends the run.

    A change by the agent always does, and a change elsewhere in the repository never: a fetch, a tag, another
    work tree. If the author is unknown, it ends the run if it matters. The person may change everything except
    what a running agent builds on.

    Args:
        follows: Returns whether the second commit descends from the first.
    """
    if item.author is Author.AGENT:
        return True
    if item.author is Author.UNKNOWN or not item.matters:
        return item.matters
    match item.part:
        case "HEAD":
            detached = not item.old.startswith("refs/") and not item.new.startswith("refs/")
            return not (detached and follows(item.old, item.new))
        case "stash":
            return bool(item.new)  # only making a stash changes the files
        case "submodule" | "":
            return True
        case part if part == before.head:
            return bool(item.old) and not (item.new and follows(item.old, item.new))
        case _:
            return False


def _author(item: Item, after: Snapshot, *, quiet: bool) -> Author:
    if item.new in after.marked or (
        item.part == "HEAD" and after.refs.get(item.new) in after.marked
    ):
        return Author.AGENT
    return Author.PERSON if quiet else Author.UNKNOWN


_T = TypeVar("_T")


def _changed(
    before: Mapping[str, _T], after: Mapping[str, _T]
) -> Iterator[tuple[str, _T | None, _T | None]]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield key, old, new


def _head(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    if before.head == after.head:
        return
    text = f"HEAD was moved from {_short(before.head)} to {_short(after.head)}"
    if before.head.startswith("refs/"):
        restore = f"git symbolic-ref HEAD {shlex.quote(before.head)}"
    else:
        restore = f"git update-ref --no-deref HEAD {before.head}"
    yield Item(text, restore, "HEAD", before.head, after.head)


def _refs(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for ref, old, new in _changed(before.refs, after.refs):
        if ref == "refs/stash":
            continue
        name = shlex.quote(ref)
        if old is None:
            text, restore = f"{_short(ref)} was created", f"git update-ref -d {name} {new}"
        elif new is None:
            text = f"{_short(ref)} was deleted (it was {_short(old)})"
            restore = f"git update-ref {name} {old}"
        else:
            text = f"{_short(ref)} was moved from {_short(old)} to {_short(new)}"
            restore = f"git update-ref {name} {old} {new}"
        matters = ref == before.head or ref.startswith("refs/replace/")
        yield Item(text, restore, ref, old or "", new or "", matters=matters)


def _index(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    changed = [path for path, _, _ in _changed(before.index, after.index)]
    if not changed:
        return
    names = shortlist([one_line(path, 60) for path in changed], 3)
    git = f"git -C {shlex.quote(before.above)}" if before.above else "git"
    restore = f"{git} read-tree HEAD"
    if len(changed) <= _MAX_LISTED_PATHS and not any(STAGE in path for path in changed):
        restore = f"{git} update-index" + "".join(
            _restore_option(p, before.index.get(p)) for p in changed
        )
    # Files that were only staged can be unstaged. Removed entries and flags hide changes.
    matters = any(not (after.index.get(p) or "").startswith("H ") for p in changed)
    yield Item(f"the index was changed ({names})", restore, "index", matters=matters)


def _restore_option(path: str, entry: str | None) -> str:
    if entry is None:
        return f" --force-remove {shlex.quote(path)}"
    mode_and_object = entry.partition(" ")[2]
    return f" --add --cacheinfo {shlex.quote(f'{mode_and_object},{path}')}"


def _stash(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for commit in before.stash:
        if commit not in after.stash:
            text = f"the stash {_short(commit)} was dropped"
            yield Item(text, f"git stash store {commit}", "stash", old=commit, matters=False)
    branch = re.escape(before.head.removeprefix("refs/heads/"))
    own = re.compile(rf"(WIP on|On) ({branch}|\(no branch\)):")
    for number, (commit, message) in enumerate(reversed(list(after.stash.items()))):
        if commit not in before.stash:
            restore = f"git stash drop 'stash@{{{number}}}'"
            text = f"a stash {_short(commit)} was created"
            matters = bool(own.match(message))  # work trees share the stash
            yield Item(text, restore, "stash", new=commit, matters=matters)


def _config(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for key, old, new in _changed(before.config, after.config):
        name = shlex.quote(key)
        restore = f"git config --local --unset-all {name}" if new else ""
        for value in old or ():
            add = f"git config --local --add {name} {shlex.quote(value)}"
            restore = f"{restore} && {add}" if restore else add
        matters = bool(_RUNS_CODE.fullmatch(key.lower()))
        yield Item(
            f"the setting {one_line(key, 80)} was changed", restore, "config", matters=matters
        )


def _hooks(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for name, old, new in _changed(before.hooks, after.hooks):
        path = f'"$(git rev-parse --git-path hooks)"/{shlex.quote(name)}'
        done = "created" if old is None else "deleted" if new is None else "changed"
        restore = f"rm {path}" if old is None else ""
        yield Item(f"the hook {one_line(name, 60)} was {done}", restore, "hooks")


def _info(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for name, _, _ in _changed(before.info, after.info):
        yield Item(f"git's file info/{one_line(name, 60)} was changed", part="info")


def _worktrees(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for path in sorted(set(before.worktrees) ^ set(after.worktrees)):
        made = path in after.worktrees
        verb = "remove --force" if made else "repair"
        restore = f"git worktree {verb} {shlex.quote(path)}"
        text = f"the worktree {one_line(path)} was {'created' if made else 'removed'}"
        yield Item(text, restore, "worktrees", matters=False)


def _submodules(before: Snapshot, after: Snapshot) -> Iterator[Item]:
    for path, old, new in _changed(before.submodules, after.submodules):
        place = f"{before.above}/{path}" if before.above else path
        shown, git = one_line(path, 60), f"git -C {shlex.quote(place)}"
        if old is None or new is None:
            text, restore = f"the submodule {shown} was {'created' if new else 'removed'}", ""
        else:
            text = f"the submodule {shown} was moved from {_short(old[1])} to {_short(new[1])}"
            restore = f"{git} update-ref --no-deref HEAD {old[1]}"
            if old[0]:
                name = shlex.quote(old[0])
                restore = f"{git} symbolic-ref HEAD {name} && {git} update-ref {name} {old[1]}"
        yield Item(text, restore, "submodule")


def _short(name: str) -> str:
    if name.startswith("refs/"):
        kind, _, rest = name.removeprefix("refs/").partition("/")
        kinds = {"heads": "branch", "tags": "tag", "remotes": "remote branch"}
        return f"{kinds.get(kind, kind)} {one_line(rest, 80)}"
    return name[:10]
