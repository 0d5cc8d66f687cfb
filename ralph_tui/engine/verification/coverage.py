"""Tell which tasks no check can verify."""

import re
from collections.abc import Mapping

from ralph_tui.config.settings import BuildingSettings
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.check_commands import (
    CheckKind,
    ProjectChecks,
    missing_kinds,
    runnable_command,
)
from ralph_tui.domain.verification.verification import criterion_text
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.evidence.classify import is_recipe, is_settings, names_check
from ralph_tui.engine.verification.gate import plan_checks, prose_criteria

SHOWN_TASKS = 8

Uncovered = Mapping[str, tuple[CheckKind, ...]]
"""The tasks that no check can verify, each with the kinds of check that it names and the project lacks."""


def uncovered(plan: ImplementationPlan, building: BuildingSettings, rules: GateRules) -> Uncovered:
    """Return the open tasks that no check can verify and that the person has not allowed.

    A held task is ignored until it is released. A task may name a check that it or a task before it adds.
    """
    open_tasks = [
        task
        for task in plan.tasks
        if task.status in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS) and not task.held
    ]
    found: dict[str, tuple[CheckKind, ...]] = {}
    for task in open_tasks:
        before = [one for one in open_tasks if one.priority <= task.priority]
        named = missing_kinds(task.verification_criteria, rules.checks)
        lacking = tuple(kind for kind in named if not any(_may_add(one, kind) for one in before))
        judged = (
            named or plan_checks((task,), rules) or criteria_to_review(task, building, rules.checks)
        )
        if (lacking or not judged) and not may_be_unverified(task, building):
            found[task.id] = lacking
    return found


def _may_add(task: Task, kind: CheckKind) -> bool:
    """Return whether a task names a kind of check or a file that defines checks; it may be written in any language."""
    commands = filter(None, map(runnable_command, task.verification_criteria))
    text = "\n".join((task.title, task.description, *task.touches, *commands))
    files = re.findall(r"(?ai)[\w/.-]*[./][\w/.-]*\w|\w+file\b", text)
    named = re.search(rf"(?ai)\b{kind[:4]}", text) is not None
    return named or any(is_settings(one) or is_recipe(one) or names_check(one) for one in files)


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


def uncovered_notice(tasks: Uncovered) -> str:
    told = [f"{one} (no command for `{'`, `'.join(k)}`)" if k else one for one, k in tasks.items()]
    verb = "has" if len(tasks) == 1 else "have"
    return f"{plural(len(tasks), 'task')} {verb} no check that can run: {shortlist(told, SHOWN_TASKS)}."


def coverage_hint(tasks: Uncovered) -> str:
    lacking = next(filter(None, tasks.values()), (CheckKind.TESTS,))[0]
    adding = (
        f", or plan a task that adds {lacking} first, its files in `touches`"
        if any(tasks.values())
        else ""
    )
    return (
        f"Add a command to each with `ralph edit {next(iter(tasks))} --criterion '$ ./check.sh'`, or set "
        f"{lacking.setting or CheckKind.TESTS.setting} for all of them{adding}."
    )


def require_checks(tasks: Uncovered) -> None:
    if tasks:
        instead = "To build them unverified, run again with --allow-unverified."
        raise PlanError(uncovered_notice(tasks), f"{coverage_hint(tasks)} {instead}")


def allowing_unverified(plan: ImplementationPlan, tasks: Uncovered) -> ImplementationPlan:
    for one in tasks:
        plan = plan.with_task(one, may_be_unverified=True)
    return plan
