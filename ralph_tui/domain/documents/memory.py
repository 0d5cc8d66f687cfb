"""MEMORY.md and the iteration memories: what Python writes down for the next context."""

import re
from collections.abc import Sequence
from datetime import datetime

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.costs import Money
from ralph_tui.domain.documents.learning_selection import Chosen
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import Phase, RalphState

ACTIVE_MEMORY_LIMIT = 8_000
"""Characters of memory in a prompt (seeds, "Active Memory Construction")."""

LISTED_FILES = 5

COMPLETED = "Completed This Session"
DECISIONS = "Architectural Decisions"
BLOCKERS = "Blockers/Issues"
NOTES = "Notes for Next Session"
DEPENDENCIES = "Dependencies Added"
"""Titles of the sections of a memory file (seeds, "MEMORY.md")."""


class MemoryNote(Model):
    """What the model says of its session, through `ralph_update_memory`."""

    completed: tuple[str, ...] = ()
    progress: str = ""
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()

    def completed_by(self, later: "MemoryNote") -> "MemoryNote":
        """Merge two notes of one session: lists are joined, the later progress counts."""
        lists = {
            name: tuple(_distinct((*getattr(self, name), *getattr(later, name))))
            for name in ("completed", "decisions", "files", "blockers", "notes", "dependencies")
        }
        return MemoryNote(progress=later.progress or self.progress, **lists)


class SessionFacts(Model):
    """What Python knows of the session."""

    iteration: Count
    phase: Phase = Phase.BUILDING
    task_id: str = ""
    task_description: str = ""
    completed: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    """Commands that add what the project's manifests declare since the session began."""
    session_cost_usd: Money = 0.0
    session_tokens: Count = 0
    progress: float = 0.0
    """Share of the plan complete, 0 to 1."""


def render_memory(facts: SessionFacts, note: MemoryNote | None) -> str:
    """Render MEMORY.md in the seeds' form: the model's words, completed with what Python knows."""
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
            COMPLETED,
            [f"- [x] {t}" for t in _distinct((*facts.completed, *said.completed))],
        ),
        ("Current Task In Progress", current if facts.task_id else []),
        (DECISIONS, [f"- {line}" for line in said.decisions]),
        ("Files Modified", [f"{n}. {path}" for n, path in enumerate(files, 1)]),
        (BLOCKERS, [f"- {line}" for line in said.blockers]),
        (NOTES, [f"- {line}" for line in said.notes]),
        (DEPENDENCIES, _dependencies(facts.dependencies, said.dependencies)),
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


def said_sections(note: MemoryNote | None, dependencies: Sequence[str]) -> str:
    """Return what the model wrote down about an iteration that was not handed off."""
    said = note or MemoryNote()
    sections = (
        (COMPLETED, said.completed),
        ("Progress", (said.progress,) if said.progress else ()),
        (DECISIONS, said.decisions),
        (BLOCKERS, said.blockers),
        (NOTES, said.notes),
    )
    parts = [(title, [f"- {line}" for line in lines]) for title, lines in sections]
    parts.append((DEPENDENCIES, _dependencies(dependencies, said.dependencies)))
    return "".join(f"\n## {title}\n" + "\n".join(lines) + "\n" for title, lines in parts if lines)


def decisions_in(text: str) -> tuple[str, ...]:
    """Return the decisions that a memory file lists."""
    _, _, after = text.partition(f"## {DECISIONS}\n")
    lines = after.partition("\n\n")[0].splitlines()
    found = (line.removeprefix("- ").strip() for line in lines if line.startswith("- "))
    return tuple(line for line in found if line != "(none)")


_TASK_ID = re.compile(r"^Task ID: (.+)$", re.MULTILINE)


def handoff_now(
    text: str, written_at: datetime | None, plan: ImplementationPlan, task: Task | None
) -> str:
    """Return the part of a hand-off that still applies to a session about `task`.

    All of it while its task is still that one, or while nothing was completed since it was written.
    Otherwise only the decisions it lists, because the work it describes is over.

    Args:
        text: The hand-off, as Markdown.
        written_at: When it was written; None when that is unknown.
        plan: The plan as it is now.
        task: The task of the session, or None in a phase without tasks.
    """
    named = _TASK_ID.search(text)
    if task is not None and named is not None and named[1].strip() == task.id:
        return text
    completed = max((t.completed_at for t in plan.tasks if t.completed_at), default=None)
    if completed is None or written_at is None or written_at > completed:
        return text
    decisions = "\n".join(f"- {line}" for line in decisions_in(text))
    return f"# Decisions of an earlier session\n\n{decisions}" if decisions else ""


def _dependencies(facts: Sequence[str], said: Sequence[str]) -> list[str]:
    """List added dependencies: in the model's words, which say what for, and those it does not mention."""
    told = " ".join(said).casefold()
    silent = (f"`{command}`" for command in facts if command.split()[-1].casefold() not in told)
    return [f"- {line}" for line in _distinct((*said, *silent))]


def _distinct(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(line for line in lines if line.strip()))


class MemorySources(Model):
    """What the memory of a prompt is made of; each part as text, empty when there is none."""

    handoff: str = ""
    """MEMORY.md of the last hand-off."""
    phase: str = ""
    """What the phase before led to."""
    iterations: tuple[str, ...] = ()
    """The last iterations, oldest first."""
    state: str = ""
    """The plan and this run in figures."""
    learnings: Chosen = Chosen()


class ActiveMemory(Model):
    """The memory of one prompt: two of its sections."""

    text: str = ""
    learnings: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """Both as the model gets them."""
        lines = "\n".join(f"- {line}" for line in self.learnings)
        learned = f"## Learnings so far\n{lines}" if lines else ""
        remembered = f"## Memory of earlier sessions\n{self.text}" if self.text else ""
        return "\n\n".join(part for part in (remembered, learned) if part)


_HEADINGS = 80
"""Room for the titles of the two sections."""


def active_memory(sources: MemorySources) -> ActiveMemory:
    """Build the memory of the next prompt (seeds, "Active Memory Construction"), at most 8,000 characters.

    The figures and the learnings are bounded; of the rest the oldest is cut first, so the newest is
    never dropped.
    """
    learnings = sources.learnings.told
    room = ACTIVE_MEMORY_LIMIT - _HEADINGS - sum(len(line) + 3 for line in learnings)
    parts = (sources.state, sources.handoff, *reversed(sources.iterations), sources.phase)
    kept: list[str] = []
    for part in (part.strip() for part in parts):
        if not part or room <= 0:
            continue
        kept.append(part if len(part) <= room else part[: room - 1] + "…")
        room -= len(kept[-1]) + 2
    return ActiveMemory(text="\n\n".join(kept), learnings=learnings)


def figures(plan: ImplementationPlan, state: RalphState, task: Task | None) -> str:
    """Return the plan's state and the run's metrics, for the memory."""
    counts = plan.counts()
    done, blocked = counts[TaskStatus.COMPLETE], counts[TaskStatus.BLOCKED]
    unverified = sum(task.is_unverified for task in plan.tasks)
    said = f" ({unverified} unverified)" if unverified else ""
    lines = [f"- Plan: {done} of {len(plan.tasks)} tasks complete{said}, {blocked} blocked"]
    if task is not None:
        lines.append(f"- This task: attempt {task.retry_count + 1}, priority {task.priority}")
        needs = ", ".join(task.dependencies)
        lines += [f"- Built on: {needs[:300]}"] if needs else []
    lines.append(
        f"- This run: {state.tasks_completed_this_session} tasks completed, "
        f"${state.session_cost_usd:.2f}, {state.session_tokens_used:,} tokens"
    )
    return "# State of the plan\n\n" + "\n".join(lines)
