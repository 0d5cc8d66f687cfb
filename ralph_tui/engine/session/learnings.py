"""Record what a model learned; what recurs is offered to AGENTS.md, which every prompt has."""

import asyncio

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.agents_md import LEARNED, MAX_LINES
from ralph_tui.domain.documents.learning_selection import RECURS, times_learned
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.prompts import tool_schemas as rt

LOOKED_AT = 2_000
"""The latest learnings, among which the same is looked for."""

OFFER = (
    f"This has been learned before. If it holds for the whole project, add it to AGENTS.md under "
    f"`{LEARNED}` in one line (at most {MAX_LINES} lines in all)."
)


async def record_learning(run: RunContext, given: rt.Learning, *, may_edit: bool) -> ToolAnswer:
    """Append a learning to progress.txt; tell the person, and a model that `may_edit`, when it recurs."""
    category = given.category.upper()
    project = run.project
    known = await asyncio.to_thread(project.read_learnings, LOOKED_AT)
    times = times_learned(known, given.learning) + 1
    await run.project_state.learn(category, given.learning)
    run.emit(ev.LearningRecorded(category=category, text=given.learning))
    answered: dict[str, object] = {"recorded": True, "category": category}
    if times == RECURS:
        told = f"Learned {times} times: {one_line(given.learning, 200)}"
        hint = "`ralph memory --recurring` lists what may go into AGENTS.md."
        run.emit(ev.Notice(text=f"{told} {hint}"))
    if times >= RECURS:
        answered |= {"times": times, **({"next": OFFER} if may_edit else {})}
    return rt.answer(answered)
