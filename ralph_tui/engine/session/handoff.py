"""Write the hand-off to MEMORY.md, from the model's summary and the facts of the session.

The model submits its summary with the tool `ralph_update_memory`, whose input has a schema. An output
format would apply to the whole session and, by invalidating the cache, made each turn some 25 times as
expensive.
"""

import asyncio

from ralph_tui.domain.documents.memory import SessionFacts, render_memory
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.session.supervisor import TaskSupervisor


async def write_handoff(
    run: RunContext,
    supervisor: TaskSupervisor,
    iteration: int,
    meter: UsageMeter,
    dependencies: tuple[str, ...],
) -> str:
    """Write MEMORY.md and the session memory; return the name of MEMORY.md."""
    docs = run.docs
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
    project = run.project

    def write() -> str:
        path = project.write_memory(text)
        project.write_session_memory(iteration, text)
        return path.name

    return await asyncio.to_thread(write)
