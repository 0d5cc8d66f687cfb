"""Find the tasks that no check can verify, and those that the person allows anyway."""

from collections.abc import Sequence

from ralph_tui.config.settings import BuildingSettings
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.check_commands import ProjectChecks
from ralph_tui.domain.verification.verification import criterion_text
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.gate import plan_checks, prose_criteria

SHOWN_TASKS = 8

NO_CHECK = "It has no check that can run"
"""The beginning of the blocker of a task that was not started because no check can run."""


def uncovered(
    plan: ImplementationPlan, building: BuildingSettings, rules: GateRules
) -> tuple[Task, ...]:
    """Return the open tasks that no check can verify and that the person has not allowed.

    A held task is ignored until it is released.
    """
    if building.allow_unverified or rules.commands:
        return ()
    return tuple(
        task
        for task in plan.tasks
        if task.status in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)
        and not task.held
        and not may_start(task, building, rules)
    )


NO_CRITERIA = "The task does what its description asks for."
"""The criterion that a reviewer judges if a task has none."""


def criteria_to_review(
    task: Task, building: BuildingSettings, checks: ProjectChecks
) -> tuple[str, ...]:
    """Return the criteria of a task that a reviewer judges; empty without a review."""
    if building.review == "off":
        return ()
    if building.review == "needed":
        return prose_criteria(task, checks)
    every = tuple(criterion_text(criterion) for criterion in task.verification_criteria)
    return every or (NO_CRITERIA,)


def may_be_unverified(task: Task, building: BuildingSettings) -> bool:
    return building.allow_unverified or task.may_be_unverified


def may_start(task: Task, building: BuildingSettings, rules: GateRules) -> bool:
    judged = plan_checks((task,), rules) or criteria_to_review(task, building, rules.checks)
    return bool(judged) or may_be_unverified(task, building)


def uncovered_notice(tasks: Sequence[Task]) -> str:
    names = shortlist([task.id for task in tasks], SHOWN_TASKS)
    verb = "has" if len(tasks) == 1 else "have"
    return f"{plural(len(tasks), 'task')} {verb} no check that can run: {names}."


def coverage_hint(tasks: Sequence[Task]) -> str:
    return (
        f"Add a command to each with `ralph edit {tasks[0].id} --criterion '$ ./check.sh'`, or set "
        "build.test_command for all of them."
    )


def require_checks(tasks: Sequence[Task]) -> None:
    """Refuse to build tasks that no check can verify.

    Raises:
        PlanError: There are such tasks.
    """
    if tasks:
        instead = "To build them unverified, run again with --allow-unverified."
        raise PlanError(uncovered_notice(tasks), f"{coverage_hint(tasks)} {instead}")


def allowing_unverified(plan: ImplementationPlan, tasks: Sequence[Task]) -> ImplementationPlan:
    for task in tasks:
        plan = plan.with_task(task.id, may_be_unverified=True)
    return plan


def blocked_without_check(plan: ImplementationPlan, task: Task) -> ImplementationPlan:
    """Return the plan with a task blocked because it was added during the run and has no check."""
    blocker = (
        f"{NO_CHECK}. Add one with `ralph edit {task.id} --criterion '$ ./check.sh'`, then "
        f"`ralph retry {task.id}`."
    )
    return plan.with_task(task.id, status=TaskStatus.BLOCKED, blockers=(*task.blockers, blocker))
