"""Make the memory of a prompt from what is on disk, the same for the model and the person."""

from ralph_tui.domain.documents.learning_selection import choose, words_of, words_of_task
from ralph_tui.domain.documents.memory import (
    ActiveMemory,
    MemorySources,
    active_memory,
    decisions_in,
    figures,
    handoff_now,
)
from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import KEPT_ITERATIONS

RECENT_ITERATIONS = 3
MOST_DECISIONS = 20
"""Decisions of building that its phase memory keeps."""
ALL_LEARNINGS = 100_000


def memory_for(project: Project, docs: Documents, task: Task | None) -> ActiveMemory:
    """Return the memory of a prompt about `task`."""
    words = words_of_task(task) if task else words_of(docs.state.request)
    return active_memory(
        MemorySources(
            handoff=handoff_now(*project.handoff(), docs.plan, task),
            phase=_phase_before(project, docs.state.current_phase),
            iterations=project.recent_iteration_memories(limit=RECENT_ITERATIONS),
            state=figures(docs.plan, docs.state, task) if docs.plan.tasks else "",
            learnings=choose(project.read_learnings(ALL_LEARNINGS), words),
        )
    )


def learnings_for(project: Project, *texts: str) -> tuple[str, ...]:
    """Return the learnings for a prompt about these texts."""
    return choose(project.read_learnings(ALL_LEARNINGS), words_of(*texts)).told


def next_memory(project: Project, docs: Documents) -> ActiveMemory:
    """Return the memory of the next prompt, for a person to look at."""
    return memory_for(project, docs, docs.plan.get_current_task() or docs.plan.get_next_task())


def phase_decisions(project: Project, docs: Documents, phase: Phase) -> str:
    """Return the decisions of a phase as a section of its memory: the person's, and those the model wrote down."""
    asked = docs.questions.asked_in(phase)
    lines = [
        f"{one_line(q.question.question, 200)} {_answered(q.answer)}" for q in asked if q.answer
    ]
    made = docs.state.approval
    if made is not None and made.approved is not None:
        why = f": {one_line(made.reason, 200)}" if made.reason else ""
        verb = "Approved" if made.approved else "Rejected"
        lines.append(f"{verb}: {DECISIONS[made.kind]} ({made.whom}){why}")
    if phase is Phase.BUILDING:
        memories = project.recent_iteration_memories(limit=KEPT_ITERATIONS)
        noted = [line for text in memories for line in decisions_in(text)]
        lines += list(dict.fromkeys(noted))[-MOST_DECISIONS:]
    body = "\n".join(f"- {line}" for line in lines or ["(none)"])
    return f"\n## Decisions\n{body}\n"


def _answered(answer: Answer) -> str:
    if answer.declined:
        return "The person declined to say."
    who = "The model decided" if answer.by == "nobody" else "The person said"
    return f"{who}: {one_line(answer.text, 200)}"


def _phase_before(project: Project, phase: Phase) -> str:
    before = tuple(Phase)[: tuple(Phase).index(phase)]
    found = (project.read_phase_memory(one) for one in reversed(before))
    return next((text for text in found if text.strip()), "")
