"""Why a run ends, as a value."""

import errno

from ralph_tui.domain.breaker import RecoveryAction
from ralph_tui.domain.errors import ExitCode, RalphError, SetupError
from ralph_tui.domain.events import AgentFailed, FailureClass, LoopStatus
from ralph_tui.domain.model import Model
from ralph_tui.domain.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.state import RalphState
from ralph_tui.engine.ports import Failure

_FATAL = {
    FailureClass.AUTHENTICATION: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.BILLING: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.BAD_REQUEST: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.SETUP: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.OVERLOADED: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.NETWORK: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.USAGE_LIMIT: (LoopStatus.USAGE_LIMIT, ExitCode.USAGE_LIMIT),
}
"""Failures that another iteration cannot get past."""

_USED_UP = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
"""Descriptors, memory and processes."""


class End(Model):
    """Why the loop is over."""

    status: LoopStatus
    reason: str
    exit_code: ExitCode
    hint: str = ""
    recovery: RecoveryAction = RecoveryAction.NONE
    """What could get past it, when the breaker is open."""


def stopped(reason: str, hint: str) -> End:
    """A limit, the breaker, or a plan that cannot go on."""
    return End(status=LoopStatus.STOPPED, reason=reason, hint=hint, exit_code=ExitCode.STOPPED)


def complete(reason: str, hint: str = "") -> End:
    """Everything asked for is done."""
    return End(status=LoopStatus.COMPLETE, reason=reason, hint=hint, exit_code=ExitCode.COMPLETE)


def interrupted(state: RalphState) -> End:
    """The stop that was asked for."""
    reason = asked_by(state)
    return End(status=LoopStatus.INTERRUPTED, reason=reason, exit_code=ExitCode.INTERRUPTED)


def asked_by(state: RalphState) -> str:
    """Who or what asked for the stop."""
    return state.stop_why or "stopped by the person"


def waiting(reason: str, hint: str) -> End:
    """A decision is waited for that nobody here can make."""
    code = ExitCode.WAITING_FOR_APPROVAL
    return End(status=LoopStatus.WAITING, reason=reason, hint=hint, exit_code=code)


def failed(error: RalphError) -> End:
    """Something a person must put right."""
    return End(
        status=LoopStatus.ERROR, reason=error.message, hint=error.hint, exit_code=error.exit_code
    )


def used_up(error: OSError) -> End:
    """The machine has no more of something.

    Raises:
        OSError: It is about something else, which nobody expected.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):  # outside of the store, which says it itself
        where = f" ({error.filename})" if error.filename else ""
        return failed(
            SetupError(
                f"The disk is full{where}.", "Free some space, then run again; nothing was lost."
            )
        )
    if error.errno not in _USED_UP:
        raise error
    return failed(
        SetupError(
            f"The operating system gives ralph no more: {error.strerror}.",
            "End other programs, or raise the limit (`ulimit -a` shows them), then run again.",
        )
    )


def failure_told(failure: Failure) -> AgentFailed:
    """The event that tells a failure; what to do about one that passes is said when it ends the run."""
    return AgentFailed(
        failure=failure.kind,
        message=failure.message,
        hint="" if failure.kind.passes else failure.hint,
        resets_at=failure.resets_at,
    )


def fatal(failure: Failure | None, *, outage: str = "") -> End | None:
    """The end a failure means, or None when another iteration may get past it.

    `outage` is how long the API could not be used, where that has lasted longer than it may.
    """
    if failure is None or failure.kind not in _FATAL:
        return None
    status, code = _FATAL[failure.kind]
    reason = (
        f"the API could not be used for {outage}: {failure.message}" if outage else failure.message
    )
    return End(status=status, reason=reason, hint=failure.hint, exit_code=code)


def all_done(plan: ImplementationPlan) -> str:
    """That every task is complete, and which of them nothing has verified."""
    count = len(plan.tasks)
    said = f"all {count} tasks are complete" if count > 1 else "the only task is complete"
    return f"{said}{unverified_told(plan)}"


def unverified_told(plan: ImplementationPlan) -> str:
    """What is added to the last line of a run for tasks that are complete and unverified; else nothing."""
    found = [task.id for task in plan.tasks if task.is_unverified]
    if not found:
        return ""
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return f", {len(found)} unverified ({', '.join(found[:5])}{more})"


def nothing_ready(plan: ImplementationPlan) -> End:
    """No task can be selected, yet the plan is not finished: say what is in the way."""
    blocked = [t.id for t in plan.tasks if t.status is TaskStatus.BLOCKED]
    held = [t.id for t in plan.tasks if t.is_held]
    waiting = [t.id for t in plan.tasks if t.status is TaskStatus.PENDING and not t.held]
    parts = []
    if blocked:
        parts.append(f"{_count(blocked, 'task')} blocked ({', '.join(blocked[:5])})")
    if held:
        parts.append(f"{_count(held, 'task')} held ({', '.join(held[:5])})")
    if waiting:
        parts.append(f"{len(waiting)} waiting on them ({', '.join(waiting[:5])})")
    ways = ["`ralph retry TASK` opens a blocked task again"] if blocked else []
    ways += ["`ralph release TASK` lets a held one go on"] if held else []
    hint = "; ".join(("`ralph tasks` shows why", *ways)) + "."
    return stopped(f"no task can be worked: {', '.join(parts)}", hint)


def _count(items: list[str], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"
