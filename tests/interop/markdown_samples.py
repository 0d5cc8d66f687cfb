"""A file of each format made of boxes, in the form that its tool writes, under the name that it has there."""

from pathlib import Path
from typing import NamedTuple

FILES = Path(__file__).with_name("files")


class Sample(NamedTuple):
    format: str
    path: str
    text: str


def _sample(format_: str, path: str, file: str) -> Sample:
    return Sample(format_, path, (FILES / file).read_bytes().decode())


FIX_PLAN = _sample("frankbria", ".ralph/fix_plan.md", "fix_plan.md")
SPEC_KIT = _sample("spec-kit", "specs/001-ledger/tasks.md", "spec_kit.md")
KIRO = _sample("kiro", ".kiro/specs/ledger/tasks.md", "kiro.md")
OPENSPEC = _sample("openspec", "openspec/changes/add-ledger/tasks.md", "openspec.md")
STORY = _sample("bmad", "docs/stories/1.2.story.md", "story.md")
EPICS = _sample("bmad", "docs/epics.md", "epics.md")
TODO = _sample("todo", "TODO.md", "todo.md")
ALL = (FIX_PLAN, SPEC_KIT, KIRO, OPENSPEC, STORY, EPICS, TODO)
