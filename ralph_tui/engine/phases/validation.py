"""Run validation: the project's checks, the model's findings on each criterion, and the person's approval."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.documents.validation_report import (
    ValidationReport,
    rejection_task,
    repair_tasks,
    report_problems,
)
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import ReceiptStatus
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.approved_content import Content, changes, result_content
from ralph_tui.engine.core.outcome import End, complete_end, stopped_end, unverified_clause
from ralph_tui.engine.decisions.ask_person import clear_decision, decide
from ralph_tui.engine.phases.opening_prompts import prompt_of_validation
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.session.supervisor import SessionWork, Submission
from ralph_tui.engine.session.turns import run_session
from ralph_tui.store.project import Documents

UNCHECKED = "No check ran, so the model's word alone does not complete the request. Approve the result yourself."


def checks_task(specs: tuple[Spec, ...]) -> Task:
    """Return the task whose checks are the project's and the commands (`$ …`) among the specs' criteria."""
    commands = tuple(c for spec in specs for c in spec.criteria if c.startswith("$ "))
    return Task(
        id="validation", description="The project's own checks", verification_criteria=commands
    )


class BackToBuilding(StrEnum):
    """Why validation goes back to building."""

    FOUND = "validation found problems"
    REJECTED = "the result was rejected"
    REOPENED = "the check of a finished task fails again"


async def validate(run: RunContext) -> End | BackToBuilding:
    """Validate once; return an end, or why to go back to building, with a task for each failure.

    If the person was shown a report and nothing has changed since, that report is used again.
    """
    if await turn_rejection_into_task(run):
        return BackToBuilding.REJECTED
    number = run.docs.state.validation_round + 1
    shown = await _unchanged_report(run)
    if shown is not None:
        return await _approve(run, shown)
    report = await _report(run, number)
    if isinstance(report, End):
        return report
    await asyncio.to_thread(run.project.write_report, report)
    run.emit(
        ev.ValidationFinished(
            round=number,
            passed=report.passed,
            failures=report.failures(),
            summary=report.summary,
        )
    )
    if not report.passed:
        return await _repair(run, report, number)
    checked = any(receipt.status is ReceiptStatus.PASSED for receipt in report.checks)
    if checked and not run.settings.phases.validation.require_human_approval:
        await _reset_rounds(run)
        return complete_end(f"{report.proof}{unverified_clause(run.docs.plan)}")
    if not checked:
        run.emit(ev.Notice(level="warning", text=UNCHECKED))
    return await _approve(run, report)


async def _unchanged_report(run: RunContext) -> ValidationReport | None:
    asked = run.docs.state.decision
    if asked is None or asked.kind is not ApprovalKind.VALIDATION:
        return None
    report = await asyncio.to_thread(run.project.read_report)
    if report is None or not asked.content:
        return None
    news = changes(asked.content, await result_content(run.project, report))
    if not news:
        return report
    what = "you approved the result" if asked.approved else "you were asked"
    text = f"Validating again. Changed since {what}: {news}."
    run.emit(ev.Notice(level="info", text=text))
    return None


async def turn_rejection_into_task(run: RunContext) -> bool:
    """Turn the person's rejection of the result into a task, once; return whether there was one."""
    docs = run.docs
    last = docs.state.decision
    if last is None or last.kind is not ApprovalKind.VALIDATION or last.approved is not False:
        return False
    reason = last.reason or "The person rejected the result without saying why."
    report = await asyncio.to_thread(run.project.read_report)
    number = report.round if report is not None else docs.state.validation_round + 1
    await _send_back(run, (rejection_task(reason, number, docs.plan),), number)
    return True


async def _approve(run: RunContext, report: ValidationReport) -> End | BackToBuilding:
    summary = report.summary or report.proof
    if count := len(report.observations):
        summary += f" ({plural(count, 'observation')}: see .ralph/validation_report.json)"
    summary += unverified_clause(run.docs.plan)

    async def content() -> Content:
        return await result_content(run.project, report)

    decided = await decide(run, ApprovalKind.VALIDATION, summary, content=content)
    if isinstance(decided, End):
        return decided
    if decided.approved:
        await _reset_rounds(run)
        if run.request.only is run.phase:  # `ralph validate` validates each time
            await clear_decision(run)
        unverified = unverified_clause(run.docs.plan)
        return complete_end(f"validated and approved by {decided.whom}{unverified}")
    await turn_rejection_into_task(run)
    return BackToBuilding.REJECTED


async def _repair(run: RunContext, report: ValidationReport, number: int) -> End | BackToBuilding:
    max_rounds = run.settings.phases.validation.max_rounds
    await _send_back(run, repair_tasks(report, run.docs.plan), number)
    if number >= max_rounds:
        await _reset_rounds(run)
        failures = "; ".join(one_line(f, 120) for f in report.failures()[:3])
        reason = f"validation failed {number} time{'s' if number > 1 else ''}: {failures}"
        return stopped_end(reason, "See .ralph/validation_report.json. Each failure is now a task.")
    return BackToBuilding.FOUND


async def _send_back(run: RunContext, tasks: tuple[Task, ...], number: int) -> None:
    def change(docs: Documents) -> Documents:
        known = {task.id for task in docs.plan.tasks}
        new = [task for task in tasks if task.id not in known]
        counted = docs.with_state(validation_round=number, approval=None)
        return counted.replacing(plan=docs.plan.adding(new))

    await run.project_state.transact(change, "found by validation")


async def _reset_rounds(run: RunContext) -> None:
    await run.project_state.transact(lambda docs: docs.with_state(validation_round=0))


async def _report(run: RunContext, number: int) -> ValidationReport | End:
    specs = tuple(
        spec for spec in await asyncio.to_thread(run.project.request_specs) if spec.criteria
    )
    checks = await run.gate.run(checks_task(specs), "validation")
    report = ValidationReport(round=number, created_at=run.clock(), checks=checks.receipts)
    if not specs:
        return report

    async def take(given: rt.ToolInput) -> Sequence[str]:
        nonlocal report
        assert isinstance(given, rt.SubmitReport)
        problems = report_problems(given.specs, specs)
        if not problems:
            report = report.model_copy(
                update={name: tuple(v) if isinstance(v, list) else v for name, v in given}
            )
        return problems

    submission = Submission("ralph_submit_report", "report", take)
    while not submission.taken:
        end = await run.limits.reason_to_stop()
        if end is not None:
            return end
        work = SessionWork(
            prompt=await asyncio.to_thread(
                prompt_of_validation, run.project, run.docs, report, specs
            ),
            why=f"round {number}: checking the result against the specs",
            missing=submission.missing,
            handlers={submission.tool: submission.submit},
            findings=lambda: len(report.failures()),
        )
        end = await run_session(run, work)
        if end is not None:
            return end
    return report
