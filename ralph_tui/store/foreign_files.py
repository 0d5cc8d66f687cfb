"""Find other tools' plans at their usual paths, without reading them."""

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ralph_tui.domain.features import is_name
from ralph_tui.domain.sanitize import one_line

FIXED_PATHS = (
    "prd.json",
    "scripts/ralph/prd.json",
    "tasks/prd.json",
    ".ralph/prd.json",
    ".ralph/fix_plan.md",
    "@fix_plan.md",
    "fix_plan.md",
    ".taskmaster/tasks/tasks.json",
    "tasks/tasks.json",
    ".beads/issues.jsonl",
    ".beads/beads.jsonl",
)

FEATURE_FOLDERS = (
    (".ralph-hybrid", "prd.json"),
    (".ralph", "prd.json"),
    ("specs", "tasks.md"),
    (".specify/specs", "tasks.md"),
    (".kiro/specs", "tasks.md"),
    ("openspec/changes", "tasks.md"),
)
"""Directories with one folder for each feature, and the plan's name in each folder."""

STORIES = "docs/stories"
GENERIC = ("TODO.md", "tasks.md")
"""Files that may be anything, returned only when there is no other plan."""

MAX_ENTRIES = 200
"""The maximum number of directory entries to check."""


def foreign_plans(root: Path) -> tuple[str, ...]:
    found = (*_existing(root, FIXED_PATHS), *_feature_plans(root), *_stories(root))
    return found or tuple(_existing(root, GENERIC))


def import_offer(found: tuple[str, ...]) -> str:
    """Return a sentence that says how to import the first plan, or an empty string when there is none."""
    if not found:
        return ""
    name = one_line(shlex.quote(found[0]), 200)
    parts = found[0].split("/")
    if parts[0] == ".ralph" and len(parts) == 3 and is_name(parts[1]):
        name += f" --into {parts[1]}"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{one_line(found[0], 200)} is a plan of another tool{more}. Import it with `ralph import {name}`"


def _existing(root: Path, names: tuple[str, ...]) -> Iterator[str]:
    return (name for name in names if (root / name).is_file())


def _feature_plans(root: Path) -> Iterator[str]:
    for folder, file in FEATURE_FOLDERS:
        for name in _names(root / folder):
            if name != "archive" and (root / folder / name / file).is_file():
                yield f"{folder}/{name}/{file}"


def _stories(root: Path) -> Iterator[str]:
    return (f"{STORIES}/{name}" for name in _names(root / STORIES) if name.endswith(".md"))


def _names(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in islice(entries, MAX_ENTRIES))
    except OSError:
        return []  # usually there is no such directory
