"""MEMORY.md, the iteration memories and the choice of learnings: what the next context remembers."""

import re
from collections.abc import Sequence
from datetime import datetime

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.costs import Money
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import Phase, RalphState
from ralph_tui.domain.verification.verification import criterion_text

SHOWN = 20
NEWEST = 5
"""How many of the newest learnings are always shown."""

CHARACTERS = 2_500
LONGEST = 400
"""Characters of one learning in a prompt."""

_WORD = re.compile(r"[^\W_]{3,}")
_STAMP = re.compile(r"^\[[^\]]*\]\s*\w+:\s*")
_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        "all and any are but can did does for from get had has have how into its just let more must new"
        " not now one only other our out over run same see set should some such than that the their them"
        " then there these they this too use used uses using was way were what when where which while who"
        " why will with work you your add file files make task tests test code passes exists",
    )
)


def words_of(*texts: str) -> frozenset[str]:
    found = (match.group().casefold() for text in texts for match in _WORD.finditer(text))
    return frozenset(found) - _COMMON_WORDS


def words_of_task(task: Task) -> frozenset[str]:
    criteria = (criterion_text(c) for c in task.verification_criteria)
    return words_of(task.id, task.description, *criteria)


def choose(learnings: Sequence[str], words: frozenset[str]) -> tuple[str, ...]:
    """Return the newest learnings, then those that share the most words with `words`, as many as fit, oldest first.

    A line above them counts those that are left out.
    """
    numbered = list(enumerate(learnings))
    newest = numbered[-NEWEST:]
    shared = {n: len(words & words_of(_STAMP.sub("", text))) for n, text in numbered}
    rest = sorted(numbered[:-NEWEST], key=lambda item: (-shared[item[0]], -item[0]))
    kept: dict[int, str] = {}
    room = CHARACTERS
    for number, text in [*reversed(newest), *rest]:
        line = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
        if len(kept) < SHOWN and len(line) <= room:
            kept[number] = line
            room -= len(line) + 3
    lines = tuple(kept[number] for number in sorted(kept))
    if not (left_out := len(learnings) - len(lines)):
        return lines
    return (f"({plural(left_out, 'older learning')} not shown: progress.txt)", *lines)


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
    """The model's notes about its session, given with `ralph_update_memory`."""

    completed: tuple[str, ...] = ()
    progress: str = ""
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()

    def completed_by(self, later: "MemoryNote") -> "MemoryNote":
        """Return the merged notes of one session: the lists joined, and the later progress."""
        lists = {
            name: tuple(_distinct((*getattr(self, name), *getattr(later, name))))
            for name in ("completed", "decisions", "files", "blockers", "notes", "dependencies")
        }
        return MemoryNote(progress=later.progress or self.progress, **lists)


class SessionFacts(Model):
    """What ralph itself knows about the session."""

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
    """The share of complete tasks in the plan, 0 to 1."""


def render_memory(facts: SessionFacts, note: MemoryNote | None) -> str:
    """Return MEMORY.md in the seeds' format: the model's notes, completed with ralph's facts."""
    note = note or MemoryNote()
    files = _distinct((*note.files, *facts.files))[:LISTED_FILES]
    progress = note.progress or "The model left no summary; see the files modified."
    current = [
        f"Task ID: {facts.task_id}",
        f"Description: {facts.task_description}",
        f"Progress: {progress}",
        *(f"Last check: {line}" for line in facts.receipts),
    ]
    sections = (
        (
            COMPLETED,
            [f"- [x] {t}" for t in _distinct((*facts.completed, *note.completed))],
        ),
        ("Current Task In Progress", current if facts.task_id else []),
        (DECISIONS, [f"- {line}" for line in note.decisions]),
        ("Files Modified", [f"{n}. {path}" for n, path in enumerate(files, 1)]),
        (BLOCKERS, [f"- {line}" for line in note.blockers]),
        (NOTES, [f"- {line}" for line in note.notes]),
        (DEPENDENCIES, [f"- {line}" for line in note.dependencies]),
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


def note_sections(note: MemoryNote | None) -> str:
    """Return the model's notes about an iteration that was not handed off, as Markdown sections."""
    note = note or MemoryNote()
    sections = (
        (COMPLETED, note.completed),
        ("Progress", (note.progress,) if note.progress else ()),
        (DECISIONS, note.decisions),
        (BLOCKERS, note.blockers),
        (NOTES, note.notes),
        (DEPENDENCIES, note.dependencies),
    )
    parts = ((title, "\n- ".join(("", *lines))) for title, lines in sections if lines)
    return "".join(f"\n## {title}{text}\n" for title, text in parts)


def decisions_in(text: str) -> tuple[str, ...]:
    _, _, after = text.partition(f"## {DECISIONS}\n")
    lines = after.partition("\n\n")[0].splitlines()
    found = (line.removeprefix("- ").strip() for line in lines if line.startswith("- "))
    return tuple(line for line in found if line != "(none)")


_TASK_ID = re.compile(r"^Task ID: (.+)$", re.MULTILINE)


def relevant_handoff(
    text: str, written_at: datetime | None, plan: ImplementationPlan, task: Task | None
) -> str:
    """Return the part of a hand-off that still applies to a session about `task`.

    The whole hand-off applies if it is about the same task, or if no task was completed since it was
    written. Otherwise the work that it describes is over, and only its decisions apply.

    Args:
        written_at: When the hand-off was written; None if unknown.
    """
    named = _TASK_ID.search(text)
    if task is not None and named is not None and named[1].strip() == task.id:
        return text
    completed = max((t.completed_at for t in plan.tasks if t.completed_at), default=None)
    if completed is None or written_at is None or written_at > completed:
        return text
    decisions = "\n".join(f"- {line}" for line in decisions_in(text))
    return f"# Decisions of an earlier session\n\n{decisions}" if decisions else ""


def _distinct(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(line for line in lines if line.strip()))


class ActiveMemory(Model):
    """The memory of one prompt: the memory text and the learnings."""

    text: str = ""
    learnings: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """Both sections as the model gets them."""
        lines = "\n".join(f"- {line}" for line in self.learnings)
        learned = f"## Learnings so far\n{lines}" if lines else ""
        remembered = f"## Memory of earlier sessions\n{self.text}" if self.text else ""
        return "\n\n".join(part for part in (remembered, learned) if part)


_HEADINGS = 80
"""Characters for the titles of the two sections."""


def active_memory(parts: Sequence[str], learnings: tuple[str, ...]) -> ActiveMemory:
    """Build the memory of the next prompt, at most 8,000 characters (seeds, "Active Memory Construction").

    Args:
        parts: The most important first, because the last ones are cut.
        learnings: Lines that are not cut, because they are bounded.
    """
    room = ACTIVE_MEMORY_LIMIT - _HEADINGS - sum(len(line) + 3 for line in learnings)
    kept: list[str] = []
    for part in (part.strip() for part in parts):
        if not part or room <= 0:
            continue
        kept.append(part if len(part) <= room else part[: room - 1] + "…")
        room -= len(kept[-1]) + 2
    return ActiveMemory(text="\n\n".join(kept), learnings=learnings)


def figures(plan: ImplementationPlan, state: RalphState, task: Task | None) -> str:
    counts = plan.counts()
    done, blocked = counts[TaskStatus.COMPLETE], counts[TaskStatus.BLOCKED]
    unverified = sum(task.is_unverified for task in plan.tasks)
    remark = f" ({unverified} unverified)" if unverified else ""
    lines = [f"- Plan: {done} of {len(plan.tasks)} tasks complete{remark}, {blocked} blocked"]
    if task is not None:
        lines.append(f"- This task: attempt {task.retry_count + 1}, priority {task.priority}")
        needs = ", ".join(task.dependencies)
        lines += [f"- Built on: {needs[:300]}"] if needs else []
    lines.append(
        f"- This run: {state.tasks_completed_this_session} tasks completed, "
        f"${state.session_cost_usd:.2f}, {state.session_tokens_used:,} tokens"
    )
    return "# State of the plan\n\n" + "\n".join(lines)
