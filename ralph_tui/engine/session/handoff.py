"""The hand-off: MEMORY.md from the model's summary and what Python knows, and the session archive.

The summary comes through `ralph_update_memory`, whose input has a schema: an output format can be set
for a whole session only, and made each of its turns some 25 times as dear in lost cache.
"""

import asyncio
from datetime import datetime

from ralph_tui.domain.documents.memory import SessionFacts, render_memory, said_sections
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase, SessionRecord
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.usage_meter import Meter
from ralph_tui.engine.session.iteration_result import IterationResult
from ralph_tui.engine.session.supervisor import TaskSupervisor


async def write_handoff(
    run: RunContext,
    supervisor: TaskSupervisor,
    iteration: int,
    meter: Meter,
    dependencies: tuple[str, ...],
) -> str:
    """Write MEMORY.md and the session memory; the path of MEMORY.md, relative to the project."""
    docs = run.project_state.docs
    task, result = supervisor.task.task, supervisor.tools.gate_result
    facts = SessionFacts(
        iteration=iteration,
        phase=docs.state.current_phase,
        task_id=supervisor.task.task_id if task and task.status is not TaskStatus.COMPLETE else "",
        task_description=task.description if task else "",
        files=tuple(supervisor.files),
        receipts=tuple(
            f"{r.status.value}: {r.command}" for r in (result.receipts if result else ())
        ),
        dependencies=dependencies,
        session_cost_usd=meter.costs.iteration,
        session_tokens=meter.tokens,
        progress=docs.plan.completion_percentage,
    )
    text = render_memory(facts, supervisor.tools.note)
    project = run.project_state.project

    def write() -> str:
        path = project.write_memory(text)
        project.write_session_memory(iteration, text)
        return path.name

    return await asyncio.to_thread(write)


def iteration_memory(
    number: int, task_id: str, title: str, result: IterationResult, phase: Phase, now: datetime
) -> str:
    """What Python writes down of an iteration (seeds, "What Gets Captured"), and what the model did."""
    progress = "yes" if result.outcome.value == "complete" else "no"
    files = ", ".join(result.files) or "none"
    about = f"{task_id}: {one_line(title, 120)}" if phase is Phase.BUILDING else "none"
    facts = (
        f"# Iteration {number}\n\n"
        f"- Phase: {phase.value}\n"
        f"- Task: {about}\n"
        f"- Outcome: {result.outcome.value} ({one_line(result.reason, 200)})\n"
        f"- Progress: {progress}\n"
        f"- Files: {files}\n"
        f"- Tokens: {result.tokens:,}\n"
        f"- Cost: ${result.cost_usd:.4f}\n"
        f"- Ended: {now:%Y-%m-%d %H:%M:%S} UTC\n"
    )
    return facts + said_sections(result.note, result.dependencies)


def session_record(
    number: int, task_id: str, result: IterationResult, phase: Phase = Phase.BUILDING
) -> SessionRecord:
    """The archive's line for the session that an iteration used; only building completes tasks."""
    building = phase is Phase.BUILDING
    done = "task_complete" if building else "phase_complete"
    full = result.reason.startswith("context ")
    reasons = {"complete": done, "handed_off": "context_budget" if full else "allowance"}
    outcome = result.outcome.value
    return SessionRecord(
        session_id=result.session_id or f"iteration-{number}",
        iteration=number,
        tokens_used=result.tokens,
        cost_usd=result.cost_usd,
        tasks_completed=int(building and outcome == "complete"),
        phase=phase,
        handoff_reason=reasons.get(outcome, outcome),
        duration_ms=round(result.seconds * 1000),
        task_id=task_id,
    )
