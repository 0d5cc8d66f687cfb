"""Run the gate for a task on a person's request, with the same checks and sandbox; nothing is recorded."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.engine.safety.command_sandbox import (
    CommandSandbox,
    confine,
    remove_mount_points,
)
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun
from ralph_tui.engine.verification.gate import Gate, gate_environment
from ralph_tui.guard.guard import Guard
from ralph_tui.guard.sandbox.environment import agent_environment
from ralph_tui.store.project import Project


def task_to_verify(plan: ImplementationPlan, task_id: str | None) -> Task:
    """Return the named task; without a name, the task in progress or the next one."""
    if task_id is not None:
        found = plan.task(task_id)
        if found is None:
            raise RalphError(
                f"The plan has no task {task_id}.", "List the tasks with `ralph tasks`."
            )
        return found
    chosen = plan.get_current_task() or plan.get_next_task()
    if chosen is None:
        raise RalphError("No task is open.", "Name the task to verify: `ralph verify TASK`.")
    return chosen


async def verify_by_hand(root: Path, settings: Settings, task: Task, emit: EventSink) -> GateResult:
    project, environ = Project(root), dict(os.environ)
    confinement = await asyncio.to_thread(confine, root, settings.safety, environ)
    sandbox = CommandSandbox(root, confinement.sandbox, settings.safety.sandbox_exceptions)
    policy = guard_policy(project, settings, Phase.BUILDING)
    guard = Guard(policy)
    try:
        await sandbox.open()
        gate = await asyncio.to_thread(_gate, root, settings, guard, sandbox, emit, environ)
        return await gate.run(task, "verified by hand")
    finally:
        await sandbox.close()
        await guard.close()
        await asyncio.to_thread(remove_mount_points, root, confinement)


def _gate(
    root: Path,
    settings: Settings,
    guard: Guard,
    sandbox: CommandSandbox,
    emit: EventSink,
    environ: Mapping[str, str],
) -> Gate:
    return Gate(
        root,
        rules=ChecksOfRun(root, settings).rules,
        timeout=settings.phases.building.gate_timeout_seconds,
        environment=gate_environment(agent_environment(guard.policy, environ), {}),
        review=guard.review,
        emit=emit,
        prefix=sandbox.prefix,
    )
