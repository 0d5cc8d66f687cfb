"""Record a model's learnings, and suggest recurring ones for AGENTS.md, which is part of every prompt."""

import asyncio

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.agents_md import LEARNED, MAX_LINES
from ralph_tui.domain.documents.memory import RECURS, times_learned
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.prompts import tool_schemas as rt

MAX_COMPARED = 2_000
"""How many recent learnings are searched for the same one."""

OFFER = (
    f"This has been learned before. If it holds for the whole project, add it to AGENTS.md under "
    f"`{LEARNED}` in one line (at most {MAX_LINES} lines in all)."
)


async def record_learning(run: RunContext, given: rt.Learning, *, may_edit: bool) -> ToolAnswer:
    """Append a learning to progress.txt; if it recurs, tell the person and, with `may_edit`, the model."""
    category = given.category.upper()
    project = run.project
    known = await asyncio.to_thread(project.read_learnings, MAX_COMPARED)
    times = times_learned(known, given.learning) + 1
    await asyncio.to_thread(project.append_learning, category, given.learning)
    run.emit(ev.LearningRecorded(category=category, text=given.learning))
    answer: dict[str, object] = {"recorded": True, "category": category}
    if times == RECURS:
        notice = f"Learned {times} times: {one_line(given.learning, 200)}"
        hint = "To list candidates for AGENTS.md, run `ralph memory --recurring`."
        run.emit(ev.Notice(text=f"{notice} {hint}"))
    if times >= RECURS:
        answer |= {"times": times, **({"next": OFFER} if may_edit else {})}
    return rt.answer(answer)
