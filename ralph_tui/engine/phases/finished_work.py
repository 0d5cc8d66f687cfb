"""Run the checks of complete tasks again, and reopen tasks whose checks fail."""

import asyncio
from collections.abc import Sequence

from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import (
    Receipt,
    ReceiptStatus,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.verification.failure_report import failure_report
from ralph_tui.store.project import Documents

HOW_TO_END = "marked complete by hand"

MAX_NAMED = 5


async def accept_marked_by_hand(run: RunContext) -> None:
    """Record tasks that the person marked complete in the plan file as their decision, and report them once.

    Edits by the agent's commands are undone before the plan is read here.
    """
    book = run.project.receipts
    if not await asyncio.to_thread(book.unrecorded, run.docs.plan):
        return
    docs = await run.project_state.transact(lambda docs: docs)
    tasks = await asyncio.to_thread(book.unrecorded, docs.plan)
    decision = TaskVerification.decided_by_person(HOW_TO_END, run.clock())
    recorded = {task.id: await asyncio.to_thread(book.record, task.id, decision) for task in tasks}

    def change(now: Documents) -> Documents:
        plan = now.plan
        for task in book.unrecorded(plan):
            if task.id in recorded:
                plan = plan.with_task(task.id, verification=recorded[task.id])
        return now.replacing(plan=plan)

    if recorded:
        await run.project_state.transact(change, "recorded as your decision")
        ids = tuple(recorded)
        count = "1 task was" if len(ids) == 1 else f"{len(ids)} tasks were"
        named = shortlist(ids, MAX_NAMED)
        text = f"{count} marked complete by hand ({named}). Ralph does not check this."
        run.emit(ev.Notice(text=text))


MAX_REOPENED = 2
"""How often a task is reopened before it is blocked, so that two tasks cannot undo each other forever."""

RED = frozenset({ReceiptStatus.FAILED, ReceiptStatus.TIMED_OUT})
"""The statuses that reopen a task. A check that may not run now is no evidence."""

_MAX_LATER_NAMED = 3


class FinishedWork:
    """Checks complete tasks again; a check that passed in this run with the same files is not repeated."""

    def __init__(self) -> None:
        self._passed: dict[str, str] = {}
        """Maps each command to the tree of the project with which it passed."""

    async def passed(self, run: RunContext, task: Task, contents: str) -> None:
        for check in await asyncio.to_thread(run.gate.own_checks, task):
            self._passed[check.command] = contents

    async def reopen(self, run: RunContext) -> bool:
        """Run the checks of all complete tasks again; return whether any task was reopened or blocked."""
        if not run.settings.phases.building.recheck_finished:
            return False
        red = await self._failing_checks(run)
        if not red:
            return False

        def change(docs: Documents) -> Documents:
            plan = docs.plan
            for task_id, receipts in red.items():
                plan = with_reopened(plan, task_id, receipts)
            return docs.replacing(plan=plan)

        await run.project_state.transact(change, "a check that passed before fails now")
        for task_id, receipts in red.items():
            command = one_line(receipts[0].command, 120)
            text = f"Reopened the finished task {task_id}: `{command}` fails now."
            run.emit(ev.Notice(level="warning", text=text))
        return True

    async def _failing_checks(self, run: RunContext) -> dict[str, tuple[Receipt, ...]]:
        decided = VerificationOutcome.ACCEPTED
        tasks = [
            task
            for task in run.docs.plan.tasks
            if task.status is TaskStatus.COMPLETE
            and not (task.verification and task.verification.outcome is decided)
        ]
        own = await asyncio.to_thread(lambda: {t.id: run.gate.own_checks(t) for t in tasks})
        now = await run.snapshots.tree() if any(own.values()) else ""
        due = {
            check.command: check
            for checks in own.values()
            for check in checks
            if not now or self._passed.get(check.command) != now
        }
        if not due:
            return {}
        number = sum(any(c.command in due for c in checks) for checks in own.values())
        count, commands = plural(number, "finished task"), plural(len(due), "command")
        run.emit(ev.Notice(text=f"Checking {count} again ({commands})."))
        red: dict[str, Receipt] = {}
        for check in due.values():
            if run.docs.state.stop is not StopMode.NONE:
                return {}
            receipt = await run.gate.run_check(check)
            if receipt.status in RED:  # once more, because a flaky test must not reopen a task
                receipt = await run.gate.run_check(check)
            if receipt.status in RED:
                red[check.command] = receipt
        now = await run.snapshots.tree()  # checks may write files
        self._passed |= dict.fromkeys(due.keys() - red.keys(), now)
        found = ((name, {c.command for c in checks}) for name, checks in own.items())
        failed = {name: tuple(red[c] for c in red if c in commands) for name, commands in found}
        return {task_id: receipts for task_id, receipts in failed.items() if receipts}


def with_reopened(
    plan: ImplementationPlan, task_id: str, receipts: Sequence[Receipt]
) -> ImplementationPlan:
    task = plan.task(task_id)
    if task is None or task.status is not TaskStatus.COMPLETE:
        return plan
    commands = ", ".join(f"`{one_line(receipt.command, 120)}`" for receipt in receipts)
    verb = "fails" if len(receipts) == 1 else "fail"
    later = _completed_after(plan, task)
    after = f" after {', '.join(later)}" if later else ""
    why = f"{commands} passed when this task was complete and {verb} now{after}."
    changes: dict[str, object] = {
        "status": TaskStatus.PENDING,
        "completed_at": None,
        "verification": None,
        "commit": None,
        "completion_notes": why,
        "retry_count": 0,
        "iterations": 0,
        "reopened": task.reopened + 1,
        "last_failure": (
            f"{why} Make it pass again without undoing what came later.\n{failure_report(receipts)}"
        ),
    }
    if task.reopened >= MAX_REOPENED:
        changes["status"] = TaskStatus.BLOCKED
        changes["blockers"] = (
            *task.blockers,
            f"{why} The task was already reopened {task.reopened} times.",
        )
    return plan.with_task(task_id, **changes)


def _completed_after(plan: ImplementationPlan, task: Task) -> tuple[str, ...]:
    since = task.completed_at
    if since is None:
        return ()
    later = [
        (t.completed_at, t.id) for t in plan.tasks if t.completed_at and t.completed_at > since
    ]
    return tuple(task_id for _, task_id in sorted(later, reverse=True)[:_MAX_LATER_NAMED])
