"""Build the memory section of a prompt, the same for the model and the person, and record what a model learned."""

import asyncio

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.memory import (
    ActiveMemory,
    active_memory,
    choose,
    decisions_in,
    figures,
    relevant_handoff,
    words_of,
    words_of_task,
)
from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import KEPT_ITERATIONS


async def record_learning(run: RunContext, given: rt.Learning) -> ToolAnswer:
    category = given.category.upper()
    await asyncio.to_thread(run.project.append_learning, category, given.learning)
    run.emit(ev.LearningRecorded(category=category, text=given.learning))
    return rt.answer({"recorded": True, "category": category})


RECENT_ITERATIONS = 3
MAX_DECISIONS = 20
"""How many decisions of the building phase its phase memory keeps."""
ALL_LEARNINGS = 100_000


def memory_for(project: Project, docs: Documents, task: Task | None) -> ActiveMemory:
    words = words_of_task(task) if task else words_of(docs.state.request)
    earlier = tuple(Phase)[: tuple(Phase).index(docs.state.current_phase)]
    memories = (project.read_phase_memory(phase) for phase in reversed(earlier))
    parts = (
        figures(docs.plan, docs.state, task) if docs.plan.tasks else "",
        relevant_handoff(*project.handoff(), docs.plan, task),
        *reversed(project.recent_iteration_memories(limit=RECENT_ITERATIONS)),
        next((text for text in memories if text.strip()), ""),
    )
    return active_memory(parts, choose(project.read_learnings(ALL_LEARNINGS), words))


def learnings_for(project: Project, *texts: str) -> tuple[str, ...]:
    return choose(project.read_learnings(ALL_LEARNINGS), words_of(*texts))


def next_memory(project: Project, docs: Documents) -> ActiveMemory:
    return memory_for(project, docs, docs.plan.get_current_task() or docs.plan.get_next_task())


def phase_decisions(project: Project, docs: Documents, phase: Phase) -> str:
    asked = docs.questions.asked_in(phase)
    lines = [
        f"{one_line(q.question.question, 200)} {_describe_answer(q.answer)}"
        for q in asked
        if q.answer
    ]
    decision = docs.state.approval
    if decision is not None and decision.approved is not None:
        why = f": {one_line(decision.reason, 200)}" if decision.reason else ""
        verb = "Approved" if decision.approved else "Rejected"
        lines.append(f"{verb}: {DECISIONS[decision.kind]} ({decision.whom}){why}")
    if phase is Phase.BUILDING:
        memories = project.recent_iteration_memories(limit=KEPT_ITERATIONS)
        noted = [line for text in memories for line in decisions_in(text)]
        lines += list(dict.fromkeys(noted))[-MAX_DECISIONS:]
    body = "\n".join(f"- {line}" for line in lines or ["(none)"])
    return f"\n## Decisions\n{body}\n"


def _describe_answer(answer: Answer) -> str:
    if answer.declined:
        return "The person declined to say."
    who = "The model decided" if answer.by == "nobody" else "The person said"
    return f"{who}: {one_line(answer.text, 200)}"
