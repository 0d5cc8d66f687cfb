"""Have the planning model shorten the learnings in progress.txt; a copy of the old log is kept."""

import asyncio
from collections.abc import Sequence
from copy import copy

from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.outcome import End, complete_end
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import bullets, fenced
from ralph_tui.engine.session.spec import compaction_spec
from ralph_tui.engine.session.supervisor import SessionWork, Submission
from ralph_tui.engine.session.turns import run_session
from ralph_tui.store.project import Project

MAX_UNCOMPACTED = 60
"""The number of learnings up to which there is nothing to shorten."""

MAX_INPUT_CHARS = 36_000
"""Characters of learnings that one session shortens, beginning with the oldest."""

MAX_LEARNING_CHARS = 400

_TOO_LONG = f"a learning of more than {MAX_LEARNING_CHARS} characters; shorten it or split it"


def learnings_to_shorten(project: Project) -> tuple[str, ...]:
    """Return the oldest learnings, as many as one session can read. Blocks."""
    taken: list[str] = []
    left = MAX_INPUT_CHARS
    for line in project.all_learnings():
        left -= len(line) + 3
        if left < 0:
            break
        taken.append(line)
    return tuple(taken)


def require_learnings(project: Project) -> None:
    known = len(project.all_learnings())
    if known <= MAX_UNCOMPACTED:
        count = plural(known, "learning")
        message = (
            f"There is nothing to compact: {count}. Compaction starts at {MAX_UNCOMPACTED + 1}."
        )
        raise PlanError(message, "See how many there are with `ralph memory --stats`.")


async def compact(run: RunContext) -> End:
    own, project, summary, hint = copy(run), run.project, "", ""
    own.spec_for = lambda usd: compaction_spec(run.spec_for(usd))
    taken = await asyncio.to_thread(learnings_to_shorten, project)

    async def take(given: rt.ToolInput) -> Sequence[str]:
        nonlocal summary, hint
        assert isinstance(given, rt.SubmitLearnings)
        lines = [
            f"{one.category.upper()}: {one_line(one.learning, 4_000)}" for one in given.learnings
        ]
        if refused := problems(taken, lines):
            return refused
        old = await asyncio.to_thread(project.compact_learnings, taken, lines)
        summary = f"shortened {len(taken)} learnings to {len(lines)}"
        hint = f"The previous log was saved as {old.relative_to(project.root)}."
        return ()

    submission = Submission("ralph_submit_learnings", "list", take)
    why, handlers = "shortening the learnings", {submission.tool: submission.submit}
    work = SessionWork(_prompt(taken), why, submission.missing, handlers)
    while not submission.taken:
        end = await run.limits.reason_to_stop() or await run_session(own, work)
        if end is not None:
            return end
    return complete_end(summary, hint)


def _prompt(taken: Sequence[str]) -> str:
    return (
        f"# Ralph Compaction\n\n{plural(len(taken), 'learning')}, the oldest first:\n\n"
        f"{fenced(bullets([inert(line) for line in taken]))}\n"
    )


def problems(taken: Sequence[str], lines: Sequence[str]) -> list[str]:
    found = []
    if len(lines) >= len(taken):
        found.append(f"{len(lines)} learnings are not fewer than {len(taken)}")
    if sum(map(len, lines)) >= sum(map(len, taken)):
        found.append("the list is not shorter than before")
    if any(len(line) > MAX_LEARNING_CHARS + len("architecture: ") for line in lines):
        found.append(_TOO_LONG)
    if len(set(lines)) < len(lines):
        found.append("a learning occurs twice")
    if any(line != line.encode("utf-8", "replace").decode() for line in lines):
        found.append("a learning is not valid text")
    return found
