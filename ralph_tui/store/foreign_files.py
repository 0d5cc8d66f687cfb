"""Finds plans of other tools in the places where those tools keep them, by name alone."""

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ralph_tui.domain.features import is_name
from ralph_tui.domain.sanitize import one_line

PLACES = (
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
"""Files that are always in the same place."""

FOLDERS = (
    (".ralph-hybrid", "prd.json"),
    (".ralph", "prd.json"),
    ("specs", "tasks.md"),
    (".specify/specs", "tasks.md"),
    (".kiro/specs", "tasks.md"),
    ("openspec/changes", "tasks.md"),
)
"""A directory with one folder for each feature, and the file in each of them."""

STORIES = "docs/stories"
LAST = ("TODO.md", "tasks.md")
"""Files that may be anything, named only where nothing better was found."""

MOST_LISTED = 200
"""Entries of a directory that are looked at."""


def foreign_plans(root: Path) -> tuple[str, ...]:
    """Return plans of other tools in this project, relative to it, the likeliest first; reads none of them."""
    found = (*_fixed(root, PLACES), *_in_folders(root), *_stories(root))
    return found or tuple(_fixed(root, LAST))


def import_offer(found: tuple[str, ...]) -> str:
    """Return a sentence that names the first of these files and how to import it; empty when there is none."""
    if not found:
        return ""
    name = one_line(shlex.quote(found[0]), 200)
    parts = found[0].split("/")
    if parts[0] == ".ralph" and len(parts) == 3 and is_name(parts[1]):
        name += f" --into {parts[1]}"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{one_line(found[0], 200)} is a plan of another tool{more}. Import it: `ralph import {name}`"


def _fixed(root: Path, names: tuple[str, ...]) -> Iterator[str]:
    return (name for name in names if (root / name).is_file())


def _in_folders(root: Path) -> Iterator[str]:
    for folder, file in FOLDERS:
        for name in _names(root / folder):
            if name != "archive" and (root / folder / name / file).is_file():
                yield f"{folder}/{name}/{file}"


def _stories(root: Path) -> Iterator[str]:
    names = [name for name in _names(root / STORIES) if name.endswith(".md")]
    if names:
        yield STORIES if len(names) > 1 else f"{STORIES}/{names[0]}"


def _names(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in islice(entries, MOST_LISTED))
    except OSError:
        return []  # there is none, which is the usual case
