"""The progress log, progress.txt: learnings, one line each, and one block per iteration.

Blocks have the format of Ralph Hybrid (krazyuniks/ralph-hybrid, "progress.txt Format").
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import Enum

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.sanitize import one_line

_BLOCK_START = "---"
_LEARNINGS_FIELD = "Learnings:"
_FIELD = re.compile(
    r"(Iteration|Date|Story|Status|Files Changed|Tests Added|Learnings|Commit|Output):"
)
_ITEM = re.compile(r"\s+- ")
WRITTEN = "# Written by ralph"
"""Distinguishes this log from one that another tool wrote."""

_HEADER = re.compile(rf"# (Progress Log|Started): |{WRITTEN}$")
_STAMPED = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [^:]+: (.*)")
_MOST_ITEMS = 50
_SHORT_HASH = 10
_NONE = "  - (none)"


class Progress(Model):
    """The result of one iteration."""

    iteration: Count
    at: datetime
    story: str
    status: str
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """The test files that changed."""


def header(name: str, now: datetime) -> str:
    return f"# Progress Log: {one_line(name, 120)}\n# Started: {_stamp(now)}\n{WRITTEN}\n"


def block(progress: Progress, learnings: Sequence[str]) -> str:
    """Return the block of an iteration; `learnings` are the lines of the log since the previous block."""
    learned = [match[1] for line in learnings if (match := _STAMPED.fullmatch(line))]
    return "\n".join(
        [
            "",
            _BLOCK_START,
            f"Iteration: {progress.iteration}",
            f"Date: {_stamp(progress.at)}",
            f"Story: {one_line(progress.story, 200)}",
            f"Status: {one_line(progress.status, 200)}",
            *_listed("Files Changed:", progress.files),
            *_listed("Tests Added:", progress.tests),
            *_listed(_LEARNINGS_FIELD, learned),
            "",
        ]
    )


def pending_commit_line(plan: ImplementationPlan, log: str) -> str:
    """Return the line about the latest commit, or an empty string if there is none or the log has it.

    A commit cannot contain its own hash, so its line is written later, with the next entry.
    """
    made = [
        (t.commit.iteration, t.commit.hash) for t in plan.tasks if t.commit and not t.commit.pending
    ]
    commit = max(made, default=(0, ""))[1][:_SHORT_HASH]
    return f"Commit: {commit}\n" if commit and f"Commit: {commit}" not in log else ""


def learnings_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the learnings in the lines of a log.

    Every line outside of the blocks is a learning, including those that a person wrote. In a block, only the
    items under `Learnings:` are, unless they repeat a line outside.
    """
    found = [(what, place) for _, what, place in _classified(lines) if place is not _Place.OTHER]
    outside = {_without_stamp(what) for what, place in found if place is _Place.OUTSIDE}
    return tuple(what for what, place in found if place is _Place.OUTSIDE or what not in outside)


def compacted(lines: Sequence[str], taken: Iterable[str], instead: Sequence[str]) -> str:
    """Return the log with some learnings replaced by others; blocks keep everything else.

    The new learnings go above all blocks, so that no later block counts them as its own.

    Args:
        taken: The learnings to replace, as `learnings_in` returns them.
    """
    gone = set(taken)
    gone |= {_without_stamp(line) for line in gone}
    kept: list[str] = []
    for line, what, place in _classified(lines):
        if place is _Place.OTHER or what not in gone:
            kept.append(line)
        elif place is _Place.BLOCK and kept and kept[-1].startswith(_LEARNINGS_FIELD):
            kept.append(_NONE)
    at = next((n for n, line in enumerate(kept) if not _HEADER.match(line)), len(kept))
    return "\n".join([*kept[:at], *instead, *kept[at:], ""])


class _Place(Enum):
    """The kind of a line: a learning outside of blocks, a learning in a block, or anything else."""

    OUTSIDE = "outside"
    BLOCK = "block"
    OTHER = "other"


def _classified(lines: Iterable[str]) -> Iterator[tuple[str, str, _Place]]:
    begun = inside = in_learnings = False
    for line in lines:
        place, what = _Place.OTHER, ""
        if line.strip() == _BLOCK_START:
            begun, inside, in_learnings = True, False, False
        elif _HEADER.match(line):
            begun = inside = False
        elif (inside or begun) and _FIELD.match(line):
            begun, inside, in_learnings = False, True, line.startswith(_LEARNINGS_FIELD)
        elif inside and _ITEM.match(line):
            if in_learnings and line != _NONE:
                place, what = _Place.BLOCK, line.split("- ", 1)[1]
        elif line.strip():
            begun = inside = False
            place, what = _Place.OUTSIDE, line
        yield line, what, place


def _without_stamp(line: str) -> str:
    return match[1] if (match := _STAMPED.fullmatch(line)) else line


def since_last_block(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the learnings outside of blocks after the last block."""
    starts = (at for at in reversed(range(len(lines))) if lines[at].strip() == _BLOCK_START)
    found = _classified(lines[next(starts, 0) :])
    return tuple(line for line, _, place in found if place is _Place.OUTSIDE)


def _listed(title: str, items: Sequence[str]) -> list[str]:
    shown = [f"  - {one_line(item, 300)}" for item in items[:_MOST_ITEMS]]
    left = len(items) - len(shown)
    return [title, *(shown or [_NONE]), *([f"  - … and {left} more"] if left > 0 else [])]


def _stamp(now: datetime) -> str:
    return f"{now:%Y-%m-%dT%H:%M:%SZ}"
