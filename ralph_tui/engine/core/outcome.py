"""Describe why a run ends, as a value."""

import errno
from collections.abc import Callable, Sequence

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import ExitCode, RalphError, SetupError
from ralph_tui.domain.events import AgentFailed
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.outcomes import FailureClass, LoopStatus
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import RalphState
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.core.ports import Failure

FATAL = frozenset(
    {
        FailureClass.AUTHENTICATION,
        FailureClass.BILLING,
        FailureClass.BAD_REQUEST,
        FailureClass.SETUP,
        FailureClass.OVERLOADED,
        FailureClass.NETWORK,
        FailureClass.USAGE_LIMIT,
    }
)
"""Failures that another iteration cannot get past."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
"""Errors of exhausted file descriptors, memory and processes."""


class End(Model):
    """Why a run ended."""

    status: LoopStatus
    reason: str
    exit_code: ExitCode
    hint: str = ""
    remakes_plan: bool = False
    """The recovery when the breaker is open."""


def stopped_end(reason: str, hint: str) -> End:
    return End(status=LoopStatus.STOPPED, reason=reason, hint=hint, exit_code=ExitCode.STOPPED)


def complete_end(reason: str, hint: str = "") -> End:
    return End(status=LoopStatus.COMPLETE, reason=reason, hint=hint, exit_code=ExitCode.COMPLETE)


def interrupted_end(state: RalphState) -> End:
    """Return the end by a requested stop, or by a question that nobody answered in time."""
    reason = who_stopped(state)
    if state.unanswered:
        return waiting_end(reason, "Run again when you can answer. Ralph asks again.")
    return End(
        status=LoopStatus.INTERRUPTED,
        reason=reason,
        hint="Run again to continue. Nothing is lost.",
        exit_code=ExitCode.INTERRUPTED,
    )


def who_stopped(state: RalphState) -> str:
    return state.stop_why or "stopped on request"


def waiting_end(reason: str, hint: str) -> End:
    code = ExitCode.WAITING_FOR_APPROVAL
    return End(status=LoopStatus.WAITING, reason=reason, hint=hint, exit_code=code)


def failed_end(error: RalphError | OSError) -> End:
    """Return the end by an error, or by an exhausted resource: disk, memory, descriptors or processes.

    Raises:
        OSError: The error has another cause.
    """
    if isinstance(error, RalphError):
        return End(
            status=LoopStatus.ERROR,
            reason=error.message,
            hint=error.hint,
            exit_code=error.exit_code,
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):  # the store reports its own
        where = f" ({error.filename})" if error.filename else ""
        return failed_end(
            SetupError(
                f"The disk is full{where}.",
                "Free some disk space, then run again. Nothing was lost.",
            )
        )
    if error.errno not in _EXHAUSTED:
        raise error
    return failed_end(
        SetupError(
            f"The system has run out of resources: {error.strerror}.",
            "Close other programs, or raise the limit (see `ulimit -a`), then run again.",
        )
    )


def failure_event(failure: Failure) -> AgentFailed:
    """Return the event that reports a failure; the hint of a temporary one is shown only if it ends the run."""
    return AgentFailed(
        failure=failure.kind,
        message=failure.message,
        hint="" if failure.kind.passes else failure.hint,
        resets_at=failure.resets_at,
    )


def fatal_end(failure: Failure | None, *, outage: str = "") -> End | None:
    """Return the end that a failure causes, or None when another iteration may get past it.

    `outage` is how long the API could not be used, if longer than allowed.
    """
    if failure is None or failure.kind not in FATAL:
        return None
    status, code = LoopStatus.ERROR, ExitCode.ERROR
    if failure.kind is FailureClass.USAGE_LIMIT:
        status, code = LoopStatus.USAGE_LIMIT, ExitCode.USAGE_LIMIT
    reason = (
        f"the API was unavailable for {outage}: {failure.message}" if outage else failure.message
    )
    return End(status=status, reason=reason, hint=failure.hint, exit_code=code)


def all_done(plan: ImplementationPlan) -> str:
    count = len(plan.tasks)
    complete = f"all {count} tasks are complete" if count > 1 else "the only task is complete"
    return f"{complete}{unverified_clause(plan)}"


def unverified_clause(plan: ImplementationPlan) -> str:
    """Return a clause that names the unverified tasks and those that changed their checks, or an empty string."""
    unverified = [task.id for task in plan.tasks if task.is_unverified]
    changed = [task.id for task in plan.tasks if task.changed_checks]
    clause = f", {len(unverified)} unverified ({shortlist(unverified, 5)})" if unverified else ""
    if changed:
        clause += f", {len(changed)} with changed checks ({shortlist(changed, 5)})"
    return clause


SHOWN_TASKS = 3


def nothing_ready(plan: ImplementationPlan) -> End:
    blocked = [t for t in plan.tasks if t.status is TaskStatus.BLOCKED]
    held = [t for t in plan.tasks if t.is_held]
    waiting = [t for t in plan.tasks if t.status is TaskStatus.PENDING and not t.held]
    parts = []
    if blocked:
        parts.append(f"{plural(len(blocked), 'task')} blocked: {_listed(blocked, _blocker)}")
    if held:
        parts.append(f"{plural(len(held), 'task')} on hold: {_listed(held)}")
    if waiting:
        parts.append(
            f"{len(waiting)} waiting for {'it' if len(blocked) + len(held) == 1 else 'them'}: {_listed(waiting)}"
        )
    return stopped_end(f"no task is ready. {'; '.join(parts)}", _next_steps(blocked, held))


def _next_steps(blocked: Sequence[Task], held: Sequence[Task]) -> str:
    ways = []
    if blocked:
        name = blocked[0].id if len(blocked) == 1 else "TASK"
        ways.append(
            f"Fix the cause or change the task (`ralph edit {name}`), then `ralph retry {name}`."
        )
    if held:
        ways.append(
            f"Release a task with `ralph release {held[0].id if len(held) == 1 else 'TASK'}`."
        )
    return f"{' '.join(ways) or 'Check the plan with `ralph tasks`.'} Then run again."


def _blocker(task: Task) -> str:
    return f" ({one_line(task.blockers[-1], 140).rstrip('.')})" if task.blockers else ""


def _listed(tasks: Sequence[Task], more: Callable[[Task], str] = lambda _: "") -> str:
    return shortlist([f"{task.id}{more(task)}" for task in tasks], SHOWN_TASKS)
