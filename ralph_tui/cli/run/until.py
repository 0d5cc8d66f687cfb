"""`ralph until COMMAND`: a plan of one task whose check is that command."""

import asyncio
from collections.abc import Mapping

from ralph_tui.cli.console import note
from ralph_tui.cli.doctor.preflight import check_machine
from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.plan_edits import TaskFields, added
from ralph_tui.engine.run.verify_task import try_checks
from ralph_tui.engine.verification.baseline import require_started
from ralph_tui.engine.verification.evidence.examined import Examined
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project

_OWN = ("ralph until",)
"""The labels of a task that `ralph until` added."""


def prepare_until(
    project: Project, settings: Settings, command: str, what: str
) -> Mapping[str, Examined] | None:
    """Run the command; if it fails, add the task. Return what the command showed, or None if it passes.

    An open task of an earlier `ralph until` continues with the same command, or is replaced if no session began it.
    """
    if not command:
        raise RalphError("No command was given.", 'Say what must pass: ralph until "npm test".')
    LoopLock(project.layout).require_free()
    criteria = (f"$ {command}",)
    plan = project.load().plan
    left = [task for task in plan.tasks if task.status is not TaskStatus.COMPLETE]
    continues = next(
        (t for t in left if _is_own(t) and not _is_new(t) and t.verification_criteria == criteria),
        None,
    )
    known = dict[str, Examined]()
    if continues is None:  # otherwise what passes may be the work of an attempt that nobody judged
        note(f"Running `{command}` before anything else.")
        task = Task(id="until", description=what, verification_criteria=criteria)
        tried = asyncio.run(try_checks(project.root, settings, task))
        if denied := tried.denied.get(command):
            raise SetupError(f"`{command}` may not run: {denied}", "Choose another command.")
        if command in tried.examined and tried.examined[command].passed:
            return None
        require_started(project.root, tried.checks, tried.examined, (task,), tried.gate.hidden)
        known = {} if tried.gate.baseline.needs_ci else tried.examined
    if others := [
        task for task in left if task != continues and not (_is_own(task) and _is_new(task))
    ]:
        raise _not_alone(others[0])
    check_machine(project.root, settings)
    controls = Controls(project.root, tell=note)
    if continues is None:
        fields = TaskFields(description=what or f"Make `{command}` pass.", criteria=criteria)
        controls.change_plan(lambda plan: _with_task(plan, fields))
    elif continues.status is TaskStatus.BLOCKED:
        controls.retry(continues.id)
    return known


def _is_own(task: Task) -> bool:
    return task.labels == _OWN


def _is_new(task: Task) -> bool:
    begun = task.begun or task.iterations or task.retry_count or task.actual_tokens_used
    return not begun and task.status is TaskStatus.PENDING


def _with_task(plan: ImplementationPlan, fields: TaskFields) -> ImplementationPlan:
    kept = tuple(task for task in plan.tasks if not (_is_own(task) and _is_new(task)))
    after = added(plan.model_copy(update={"tasks": kept}), fields)
    return after.with_task(after.tasks[-1].id, labels=_OWN)


def _not_alone(other: Task) -> RalphError:
    if _is_own(other):
        command = str(other.verification_criteria[0]).removeprefix("$ ")
        return RalphError(
            f"An earlier `ralph until` works on `{command}`, in task {other.id}.",
            f"Continue it with `ralph build`, or remove it: ralph drop {other.id}",
        )
    return RalphError(
        f"The plan has open tasks, such as {other.id}, and `ralph until` works on one of its own.",
        f"Build them first with `ralph build`, remove them (`ralph drop {other.id}`), or use a plan of its own: "
        "`ralph feature new NAME`.",
    )
