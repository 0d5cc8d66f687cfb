"""Tell which tasks no check can verify, and report checks to the model: all receipts of its claim, and to the next attempt what failed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ralph_tui.config.settings import BuildingSettings
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.run.breaker import fingerprint_of, reasons, steady, steady_name
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.check_commands import (
    CheckKind,
    ProjectChecks,
    missing_kinds,
    runnable_command,
)
from ralph_tui.domain.verification.verification import GateResult, Inputs, Receipt, criterion_text
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


RESTORE_CHECK_FILES = (
    "Tests, check scripts and test settings that existed before this task must stay unchanged. Restore "
    "them, and put new tests into new files. If the task requires changing them, say so in the notes "
    "of your claim."
)
"""What the model reads when check files changed."""

MOST_CHECKS = 4
MOST_TESTS = 12
MOST_LINES = 30
MOST_CHARS = 4_000
"""The most characters of a report, which goes into the plan file and the next prompt."""


def failure_report(receipts: Iterable[Receipt]) -> str:
    """Return the failed checks for the next attempt: bounded, inert, without secrets."""
    failed = [receipt for receipt in receipts if not receipt.ok]
    room = MOST_CHARS // max(1, min(len(failed), MOST_CHECKS))
    parts = ["\n".join(_report_lines(receipt, room)) for receipt in failed[:MOST_CHECKS]]
    if len(failed) > MOST_CHECKS:
        parts.append(f"{len(failed) - MOST_CHECKS} more checks failed.")
    return "\n".join(parts)


def failure_fingerprint(receipts: Iterable[Receipt]) -> str:
    """Return a fingerprint of the failed checks, which is the same when they fail again in the same way.

    It covers the failing tests and the error lines of the output. The command is included only if nothing
    else is known, because many failures share one command.
    """
    return fingerprint_of(sorted(_signature(receipt) for receipt in receipts if not receipt.ok))


def _signature(receipt: Receipt) -> str:
    tests = sorted(map(steady_name, receipt.failing))
    known = [*tests, *reasons(receipt.tail)]
    if not tests and receipt.reason:
        known.append(steady(receipt.reason))
    if not receipt.tail.strip() and not tests:
        known.append(receipt.command)
    return "; ".join([*known, receipt.status.value])


def _report_lines(receipt: Receipt, room: int) -> Iterator[str]:
    what = one_line(receipt.command, 200)
    reason = f": {one_line(receipt.reason, 200)}" if receipt.reason else ""
    yield f"- `{what}` {receipt.status.value.replace('_', ' ')}{reason}"
    if receipt.failing:
        yield f"  Failing tests: {shortlist(receipt.failing, MOST_TESTS)}"
    lines = _last_lines(inert(receipt.tail).splitlines(), room)
    if lines:
        yield "  End of its output:"
        yield from (f"    {line}" for line in lines)


def _last_lines(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in reversed([one_line(line, 240) for line in lines if line.strip()]):
        room -= len(line) + 5
        if room < 0 or len(kept) == MOST_LINES:
            break
        kept.append(line)
    return kept[::-1]


def receipt_text(result: GateResult) -> str:
    """Return the result as the model reads it; failed checks come last, where a screen shows them."""
    lines = [_headline(result)]
    for receipt in sorted(result.receipts, key=lambda one: not one.ok):
        shown = receipt.reason or (receipt.counts.text if receipt.counts else "")
        reason = f" ({shown})" if shown else ""
        lines.append(f"- {receipt.status.value}: `{receipt.command}`{reason}")
        if not receipt.ok and receipt.tail:
            lines += [f"    {line}" for line in receipt.tail.strip().splitlines()[-60:]]
        if not receipt.ok and receipt.inputs is Inputs.ORIGINALS:
            lines.append(f"    {RESTORE_CHECK_FILES}")
    return "\n".join(lines)


def _headline(result: GateResult) -> str:
    if not result.passed:
        return "NOT YET: these checks failed."
    if result.verified:
        return f"ACCEPTED: {result.basis}."
    if result.question:
        return f"TO BE REVIEWED: {result.question}."
    return f"ACCEPTED as unverified: {result.basis}. Nothing was checked. Your notes are the only evidence."
