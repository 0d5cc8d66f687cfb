"""MEMORY.md and the iteration memories: what Python writes down so that a fresh context can go on."""

from collections.abc import Sequence

from ralph_tui.domain.model import Count, Model, Money
from ralph_tui.domain.state import Phase

ACTIVE_MEMORY_LIMIT = 8_000
"""Characters of memory in a prompt (seeds, "Active Memory Construction")."""

LISTED_FILES = 5


class MemoryNote(Model):
    """What the model says of its session, through `ralph_update_memory`."""

    completed: tuple[str, ...] = ()
    progress: str = ""
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SessionFacts(Model):
    """What Python knows of the session."""

    iteration: Count
    phase: Phase = Phase.BUILDING
    task_id: str = ""
    task_description: str = ""
    completed: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    session_cost_usd: Money = 0.0
    session_tokens: Count = 0
    progress: float = 0.0
    """Share of the plan complete, 0 to 1."""


def render_memory(facts: SessionFacts, note: MemoryNote | None) -> str:
    """MEMORY.md in the seeds' form: the model's words completed with what Python knows."""
    said = note or MemoryNote()
    files = _distinct((*said.files, *facts.files))[:LISTED_FILES]
    progress = said.progress or "The model left no summary; see the files modified."
    current = [
        f"Task ID: {facts.task_id}",
        f"Description: {facts.task_description}",
        f"Progress: {progress}",
        *(f"Last check: {line}" for line in facts.receipts),
    ]
    sections = (
        (
            "Completed This Session",
            [f"- [x] {t}" for t in _distinct((*facts.completed, *said.completed))],
        ),
        ("Current Task In Progress", current if facts.task_id else []),
        ("Architectural Decisions", [f"- {line}" for line in said.decisions]),
        ("Files Modified", [f"{n}. {path}" for n, path in enumerate(files, 1)]),
        ("Blockers/Issues", [f"- {line}" for line in said.blockers]),
        ("Notes for Next Session", [f"- {line}" for line in said.notes]),
        (
            "Session Metadata",
            [
                f"- Phase: {facts.phase}",
                f"- Iteration: {facts.iteration}",
                f"- Session Cost: ${facts.session_cost_usd:.4f}",
                f"- Session Tokens: {facts.session_tokens:,}",
                f"- Total Progress: {facts.progress:.0%}",
            ],
        ),
    )
    body = "\n\n".join(
        f"## {title}\n" + "\n".join(lines or ["- (none)"]) for title, lines in sections
    )
    return f"# Session Memory - Iteration {facts.iteration}\n\n{body}\n"


def _distinct(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(line for line in lines if line.strip()))


def active_memory(memory: str, recent: Sequence[str]) -> str:
    """What goes into the next prompt: MEMORY.md, then the last iterations, newest first.

    Cut at the limit from the oldest end, so the newest is never dropped.
    """
    parts = [memory.strip(), *(text.strip() for text in reversed(recent))]
    kept: list[str] = []
    room = ACTIVE_MEMORY_LIMIT
    for part in parts:
        if not part or room <= 0:
            continue
        kept.append(part if len(part) <= room else part[: room - 1] + "…")
        room -= len(kept[-1]) + 2
    return "\n\n".join(kept)
