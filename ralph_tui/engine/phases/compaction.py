"""Have the planning model shorten the learnings in progress.txt; the log as it was is kept beside them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.core.outcome import End, complete_end
from ralph_tui.engine.phases.phase_session import Stage, run_session
from ralph_tui.engine.phases.phase_supervisor import PhaseSupervisor
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import bullets, fenced
from ralph_tui.engine.session.spec import compaction_spec
from ralph_tui.store.project import Project

BOUND = 60
"""Learnings up to which there is nothing to shorten."""

MOST_CHARACTERS = 36_000
"""Of the learnings that one session shortens; the oldest ones are taken."""

LONGEST = 400
"""Characters of a learning that is handed in."""

_MISSING = "The shorter list is missing. Hand it in with ralph_submit_learnings."
_TOO_LONG = f"a learning of more than {LONGEST} characters; shorten it or split it"


def learnings_to_shorten(project: Project) -> tuple[str, ...]:
    """Return the oldest learnings, as many as one session reads. Blocks."""
    taken: list[str] = []
    left = MOST_CHARACTERS
    for line in project.every_learning():
        left -= len(line) + 3
        if left < 0:
            break
        taken.append(line)
    return tuple(taken)


def require_learnings(project: Project) -> None:
    """Refuse to shorten what is short. Blocks.

    Raises:
        PlanError: There are too few learnings.
    """
    known = len(project.every_learning())
    if known <= BOUND:
        told = plural(known, "learning")
        message = f"There is nothing to compact: {told}, and up to {BOUND} are no burden."
        raise PlanError(message, "`ralph memory --stats` says how many there are.")


async def run(stage: Stage) -> End:
    """Run sessions until a shorter list is written, or something stops them."""
    own = replace(stage, spec_for=lambda usd: compaction_spec(stage.spec_for(usd)))
    taken = await asyncio.to_thread(learnings_to_shorten, stage.run.project)
    handed = _Compaction(stage, taken)
    while True:
        supervisor = PhaseSupervisor(
            stage.run,
            missing=handed.missing,
            handlers={"ralph_submit_learnings": handed.submit},
            ends_turn=frozenset({"ralph_submit_learnings"}),
        )
        end = await stage.run_limits.reason_to_stop() or await run_session(
            own,
            supervisor,
            prompt=_prompt(taken),
            missing=handed.missing,
            why="learnings are compacted",
        )
        if end is not None:
            return end
        if handed.told:
            return complete_end(handed.told, handed.kept)


def _prompt(taken: Sequence[str]) -> str:
    return (
        f"# Ralph Compaction\n\n{plural(len(taken), 'learning')}, the oldest first:\n\n"
        f"{fenced(bullets([inert(line) for line in taken]))}\n"
    )


class _Compaction:
    """What one run hands in."""

    def __init__(self, stage: Stage, taken: tuple[str, ...]) -> None:
        self._stage = stage
        self._taken = taken
        self.told = ""
        self.kept = ""

    async def missing(self) -> str | None:
        """Return what the model still has to do."""
        return None if self.told else _MISSING

    async def submit(self, given: rt.ToolInput) -> ToolAnswer:
        """Write the shorter list when it is one."""
        assert isinstance(given, rt.SubmitLearnings)
        if self.told:
            return rt.error("The list is written already. Stop now.")
        lines = [
            f"{one.category.upper()}: {one_line(one.learning, 4_000)}" for one in given.learnings
        ]
        if refused := problems(self._taken, lines):
            return rt.error("NOT YET:\n" + bullets(refused) + "\nHand in the whole list again.")
        project = self._stage.run.project
        copy = await asyncio.to_thread(project.compact_learnings, self._taken, lines)
        self.told = f"{len(self._taken)} learnings became {len(lines)}"
        name = copy.relative_to(project.root)
        self.kept = f"The log as it was is in {name}."
        return rt.answer({"written": len(lines), "next": "Stop now."})


def problems(taken: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Say why a list is no shorter form of the learnings."""
    found = []
    if len(lines) >= len(taken):
        found.append(f"{len(lines)} learnings are not fewer than {len(taken)}")
    if sum(map(len, lines)) >= sum(map(len, taken)):
        found.append("the list is not shorter than before")
    if any(len(line) > LONGEST + len("architecture: ") for line in lines):
        found.append(_TOO_LONG)
    if len(set(lines)) < len(lines):
        found.append("one learning is there twice")
    if any(line != line.encode("utf-8", "replace").decode() for line in lines):
        found.append("one learning is no valid text")
    return found
