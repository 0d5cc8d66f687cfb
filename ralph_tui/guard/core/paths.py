"""Defines the paths an agent may not write, and detects them in paths, patterns and commands."""

import fnmatch
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType

from ralph_tui.domain.phase import Phase
from ralph_tui.domain.tool_calls import ALLOW, Verdict
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import denial

WRITE_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
GUARDED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        ".ralph": ("ralph-files", "Change the plan and the state through the ralph_* tools."),
        ".git": ("git-files", "Do not change git's files. Reading them is fine."),
        ".claude": ("cli-files", "Do not change the CLI's settings."),
    }
)
"""Directories of the project that only ralph, the person and the CLI write."""

# HFS+ ignores these, so `.g\u200cit` is `.git` there (CVE-2014-9390).
_IGNORED_BY_HFS = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def guarded_part(parts: tuple[str, ...]) -> str | None:
    """Return the guarded directory among these path components, in any spelling a file system accepts."""
    for part in parts:
        plain = unicodedata.normalize("NFKC", part.translate(_IGNORED_BY_HFS)).casefold()
        name = plain.rstrip(". ") or plain
        if name.startswith("git~"):  # the short name of .git on Windows
            return ".git"
        if name in GUARDED:
            return name
    return None


def judge_path(tool: str, raw: str, policy: Policy) -> Verdict:
    """Decide whether `tool` may use the path `raw`; tools that only read always may."""
    if tool not in WRITE_TOOLS:
        return ALLOW
    if not raw or "\0" in raw:
        return denial("bad-path", raw, "The path is empty or contains a NUL", "Give a plain path.")
    try:
        root = Path(os.path.realpath(policy.root))
        spelled = Path(os.path.normpath(absolute(raw, policy)))
        target = Path(os.path.realpath(absolute(raw, policy)))
        for base, path in ((policy.root, spelled), (root, spelled), (root, target)):
            parts = path.relative_to(base).parts if path.is_relative_to(base) else ()
            if (guarded := guarded_part(parts)) is not None:
                return _guarded(guarded, raw)
        if any(target.is_relative_to(os.path.realpath(own)) for own in policy.own_directories):
            return denial(
                "ralph-files", raw, "The file is ralph's own data", "Do not change ralph's data."
            )
        if not target.is_relative_to(root) or target == root:
            return denial(
                "outside-project", raw, "The file is outside the project", f"Write below {root}."
            )
        if (linked := _hard_linked_directory(target, root)) is not None:
            return _guarded(linked, raw)
        return _judge_phase(target.relative_to(root), raw, policy)
    except (OSError, ValueError, RuntimeError) as error:
        return denial(
            "bad-path", raw, f"The path cannot be resolved ({error})", "Use another path."
        )


def absolute(raw: str, policy: Policy) -> str:
    """Return the absolute path that the tool would open; a leading `~` always means a home directory."""
    if raw.startswith("~"):
        rest = raw[1:].lstrip("/")
        return os.path.join(policy.home, rest) if policy.home else "/~" + rest  # noqa: PTH118 - must not normalize
    return os.path.join(policy.root, raw)  # noqa: PTH118 - pathlib would fold what realpath must see


def _judge_phase(relative: PurePath, raw: str, policy: Policy) -> Verdict:
    phase = policy.phase
    if phase is Phase.BUILDING:
        return ALLOW
    if phase is Phase.DISCOVERY:
        is_spec = relative.is_relative_to(policy.specs) and relative.suffix == ".md"
        if is_spec and relative.as_posix() not in policy.own_specs:
            return ALLOW
        why = "This file is the person's" if is_spec else "Discovery may write only specifications"
        return denial("phase-files", raw, why, f"Write a new {policy.specs}/NAME.md.")
    return denial(
        "phase-files",
        raw,
        f"The {phase} phase does not allow writing files",
        "Use the ralph_* tools to record what you found.",
    )


def _hard_linked_directory(target: Path, root: Path) -> str | None:
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
        return None
    identity = (found.st_dev, found.st_ino)
    for guarded in sorted(GUARDED):
        if any(identity == (s.st_dev, s.st_ino) for s in _files_below(root / guarded)):
            return guarded
    return None


def _files_below(directory: Path) -> Iterator[os.stat_result]:
    for folder, _, files in os.walk(directory):
        for name in files:
            yield os.lstat(os.path.join(folder, name))  # noqa: PTH118 - a hot loop over many files


def _guarded(name: str, raw: str) -> Verdict:
    rule, instead = GUARDED[name]
    return denial(rule, raw, f"Writing to {name}/ is not allowed", instead)


_ASKS_FOR_GIT = re.compile(r"git rev-parse --(?:absolute-git-dir|git-)")
GUARDED_NAME = re.compile(r"\.(?:ralph|git|claude)(?![\w-])", re.IGNORECASE)
EXCLUDES = ("exclude", "ignore", "omit", "skip", "not", "prune", "filter")


def names_guarded(text: str) -> bool:
    return bool(GUARDED_NAME.search(text))


def asks_for_git(text: str) -> bool:
    return bool(_ASKS_FOR_GIT.search(text))


def matched_guarded(parts: tuple[str, ...], *, hidden: bool) -> str | None:
    """Return the guarded name that a pattern such as `.g*` matches; `*` counts only with `hidden`."""
    for at, part in enumerate(parts):
        if (part.startswith(".") or (hidden and at == 0)) and any(char in part for char in "*?["):
            for name in sorted(GUARDED):
                if fnmatch.fnmatchcase(name, part):
                    return name
    return None
