"""Make the gate of a run, and run it on a person's request, with the same checks and sandbox; nothing is recorded."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import PlanError, RalphError, SetupError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.engine.control.plan_edits import NOTHING_CHANGED, find
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.engine.safety.command_sandbox import CommandSandbox, confine, remove_mount_points
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.engine.verification.baseline import Baseline, Check
from ralph_tui.engine.verification.coverage import coverage_hint, uncovered, uncovered_notice
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun, GateRules
from ralph_tui.engine.verification.evidence.examined import Examined
from ralph_tui.engine.verification.evidence.trusted_base import TrustedBase
from ralph_tui.engine.verification.gate import Gate, gate_environment, plan_checks
from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.guard import Guard
from ralph_tui.guard.sandbox.environment import agent_environment, hidden_names
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.project import Project


def task_to_verify(plan: ImplementationPlan, task_id: str | None) -> Task:
    if task_id is not None:
        return find(plan, task_id)
    chosen = plan.get_current_task() or plan.get_next_task()
    if chosen is None:
        raise RalphError("No task is open.", "Name the task to verify: `ralph verify TASK`.")
    return chosen


def require_named_checks(root: Path, plan: ImplementationPlan, changed: Sequence[str]) -> None:
    """Refuse tasks that name a check which the project lacks and no task adds, as a run does. Blocks."""
    settings = load_settings(root)
    rules = ChecksOfRun(root, settings).rules()
    found = uncovered(plan, settings.phases.building, rules)
    if lacking := {one: found[one] for one in changed if found.get(one)}:
        raise PlanError(uncovered_notice(lacking), f"{coverage_hint(lacking)} {NOTHING_CHANGED}")


class Explained(NamedTuple):
    """Why a file counts as product or as part of the checks."""

    path: str
    side: str
    reason: str


def explained(
    root: Path, settings: Settings, plan: ImplementationPlan, paths: tuple[str, ...]
) -> tuple[Explained, ...]:
    """Explain the named files of the project, or every file that differs from the trusted base. Blocks.

    Raises:
        RalphError: There is no such file, or the project cannot be read.
    """
    task = plan.get_current_task() or plan.get_next_task()
    rules = ChecksOfRun(root, settings).rules()
    commands = tuple(check.command for check in plan_checks(plan.tasks, rules))
    base = TrustedBase(root, snapshots_of(root), feature=layout_of(root).feature)
    found = base.inspect(commands, task)
    if found.trouble:
        raise SetupError(found.trouble)
    changed = {one.path: Explained(one.path, one.side, one.reason) for one in found.changes}
    changed |= {path: Explained(path, "check", "may change, by the plan") for path in found.allowed}
    if not paths:
        return tuple(changed.values())
    told = []
    for name in paths:
        path = os.path.relpath(os.path.realpath(name), os.path.realpath(root))
        if path not in changed:
            if path.startswith("../") or not (root / path).is_file():
                raise RalphError(f"The project has no file {name}.", "Name files of the project.")
            side, reason = base.side_of(path, commands, task)
            changed[path] = Explained(path, side, reason)
        told.append(changed[path])
    return tuple(told)


async def verify_by_hand(root: Path, settings: Settings, task: Task, emit: EventSink) -> GateResult:
    """Run the gate for a task, as for a claim. Of work that was accepted, checks can only show that nothing broke."""
    if task.status is TaskStatus.COMPLETE and not task.is_unverified:
        task = task.model_copy(update={"shows": "kept"})
    known = Baseline(root)
    await asyncio.to_thread(known.load)
    async with _gate_by_hand(root, settings, emit) as (gate, _):
        gate.baseline.leave_out(known.left_out)
        return await gate.run(
            task, "verified by hand", allowed=task.may_be_unverified, reviewed=True
        )


class Tried(NamedTuple):
    """What the checks showed before any work, and why the guard denies some of them."""

    gate: Gate
    checks: tuple[Check, ...]
    examined: dict[str, Examined]
    denied: dict[str, str]


async def try_checks(root: Path, settings: Settings, task: Task | None = None) -> Tried:
    """Run the checks of the project, or only those of a task, as a run does before the first task."""
    async with _gate_by_hand(root, settings, lambda _: None) as (gate, guard):
        if task is not None:
            only = (await asyncio.to_thread(gate.rules)).model_copy(update={"commands": ()})
            gate.rules = lambda: only
        tasks = () if task is None else (task,)
        checks = plan_checks(tasks, await asyncio.to_thread(gate.rules))
        examined = await gate.examine_all(tasks)
        denied = {}
        for command in {check.command for check in checks} - {*examined}:
            call = ToolCall(tool_id="try", name="Bash", input={"command": command})
            if (verdict := await guard.review(call)).decision == "deny":
                denied[command] = verdict.reason
        return Tried(gate, checks, examined, denied)


@contextlib.asynccontextmanager
async def _gate_by_hand(
    root: Path, settings: Settings, emit: EventSink
) -> AsyncIterator[tuple[Gate, Guard]]:
    project, environ = Project(root), dict(os.environ)
    confinement = await asyncio.to_thread(confine, root, settings.safety, environ)
    sandbox = CommandSandbox(root, confinement.sandbox, settings.safety.sandbox_exceptions)
    commands = CommandJudge()
    guard = Guard(guard_policy(project, settings, Phase.BUILDING), commands)
    try:
        await sandbox.open()
        rules = await asyncio.to_thread(lambda: ChecksOfRun(root, settings).rules)
        yield make_gate(root, settings, guard, sandbox, emit, environ, rules), guard
    finally:
        await sandbox.close()
        await commands.close()
        await asyncio.to_thread(remove_mount_points, root, confinement)


def make_gate(
    root: Path,
    settings: Settings,
    guard: Guard,
    sandbox: CommandSandbox,
    emit: EventSink,
    environ: Mapping[str, str],
    rules: Callable[[], GateRules],
) -> Gate:
    """Return a gate whose checks see what the settings let them see of `environ`, with the marks of a run."""
    passed = {n: environ[n] for n in settings.safety.check_environment if n in environ}
    seen = gate_environment(agent_environment(guard.policy, environ), passed)
    gate = Gate(
        root,
        rules=rules,
        timeout=settings.phases.building.gate_timeout_seconds,
        environment=seen,
        review=guard.review,
        emit=emit,
        prefix=sandbox.prefix,
    )
    gate.hidden = tuple(name for name in hidden_names(environ) if name not in seen)
    return gate
