"""Tells why a command cannot be used now, and which word the footer has for it. Pure functions.

A docstring names the condition; where it does not hold, the function returns a sentence, else nothing.
"""

from collections.abc import Callable

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.present.board.board_rows import why_not_build
from ralph_tui.tui.commands.context import CommandContext, goes_on_at

Reason = Callable[[CommandContext], str]
"""Why a command cannot be used now; empty when it can."""


def always(_: CommandContext) -> str:
    """Never disabled."""
    return ""


def no_loop(now: CommandContext) -> str:
    """A loop must run."""
    return "" if now.running else now.keys.said(_NO_LOOP)


_NO_LOOP = "No loop is running here; press {build} to start one."


def not_running(now: CommandContext) -> str:
    """None may run yet."""
    if now.view.elsewhere is not None:
        return f"The loop is already running, in process {now.view.elsewhere.pid}."
    if now.running:
        return "The loop is already running."
    if now.view.trouble:
        return f"Nothing can be built: {now.view.trouble}"
    return "" if now.view.is_known or now.ended else "The project is still being read."


def cannot_build(now: CommandContext) -> str:
    """None runs yet, and there is something to do for one."""
    wrong = f"Nothing can be built: {now.view.unworkable}" if now.view.unworkable else ""
    return not_running(now) or wrong or now.keys.said(why_not_build(now.view, now.request))


def is_done(now: CommandContext) -> bool:
    """Return whether the plan is complete and nothing runs."""
    tasks = now.view.tasks
    built = bool(tasks) and tasks.complete == len(tasks)
    return built and not now.running and bool(cannot_build(now))


def is_empty(now: CommandContext) -> bool:
    """Return whether there is no plan yet and nothing runs."""
    blank = now.view.is_known and not now.view.tasks and not now.view.trouble
    return blank and not now.running and bool(cannot_build(now))


def cannot_pause(now: CommandContext) -> str:
    """It runs and does not stop already."""
    if now.state is RunState.STOPPING:
        return "The loop is stopping already."
    return no_loop(now)


def cannot_resume(now: CommandContext) -> str:
    """Something is paused."""
    waiting = now.state in (RunState.PAUSED, RunState.PAUSING)
    return no_loop(now) or ("" if waiting else "Nothing is paused.")


def cannot_skip(now: CommandContext) -> str:
    """The task can be blocked."""
    if now.task is None:
        return "Select a task on the board first; no task is in progress."
    if now.task.status is TaskStatus.COMPLETE:
        return f"Task {now.task.id} is complete already."
    return f"Task {now.task.id} is blocked already." if _is_blocked(now) else ""


def cannot_hold(now: CommandContext) -> str:
    """The task is held, or may be."""
    if now.task is not None and now.task.held:
        return ""
    reason = cannot_change(now)
    if not reason and now.task is not None and _is_blocked(now):
        return f"Task {now.task.id} is blocked, so it is not chosen."
    return reason


def cannot_retry(now: CommandContext) -> str:
    """The task is blocked."""
    if now.task is None:
        return "Select a blocked task on the board first."
    return "" if _is_blocked(now) else "Only a blocked task can be retried."


def _is_blocked(now: CommandContext) -> bool:
    return now.task is not None and now.task.status is TaskStatus.BLOCKED


def pause_label(now: CommandContext) -> str:
    """Return what the key does next."""
    if not now.running:
        return ""
    if now.state is RunState.PAUSED:
        return "resume"
    return "pause now" if now.state is RunState.PAUSING else "pause"


def build_label(now: CommandContext) -> str:
    """Return the word while no loop runs."""
    return "" if now.running else "build"


def stop_label(now: CommandContext) -> str:
    """Return what the key does next, while a loop runs."""
    if not now.running:
        return ""
    return "stop now" if now.state is RunState.STOPPING else "stop"


def nothing_waits(now: CommandContext) -> str:
    """A question or a decision waits."""
    return "" if now.waiting else "Nothing waits for you."


def answer_label(now: CommandContext) -> str:
    """Return the word while something waits for the person."""
    return "answer" if now.waiting else ""


def no_limit(now: CommandContext) -> str:
    """The loop waits for a time."""
    return "" if _counts_down(now) else "The loop does not wait for a limit or a cool-down."


def hurry_label(now: CommandContext) -> str:
    """Return the word while the loop waits for a time."""
    return "try now" if _counts_down(now) else ""


def _counts_down(now: CommandContext) -> bool:
    return now.running and goes_on_at(now.view) is not None


def no_request(now: CommandContext) -> str:
    """A request can be typed here, now."""
    if not now.takes_requests:
        return 'A request cannot be typed here; use ralph run "what to build".'
    return not_running(now)


def request_label(now: CommandContext) -> str:
    """Return the word while a request can be typed."""
    return "" if no_request(now) else "new request"


def cannot_replan(now: CommandContext) -> str:
    """The plan can be made again here, and nothing works on it."""
    approval = now.view.approval
    if now.running and approval is not None and approval.kind is ApprovalKind.PLAN:
        return now.keys.said(
            "The plan waits for you: {answer} opens it, to send it back with a reason."
        )
    if now.running:
        return now.keys.said(
            "The loop is running; {stop} stops it, then you can make the plan again."
        )
    if not now.plans_anew:
        return 'The plan cannot be made again here; use ralph regenerate-plan "what to change".'
    return not_running(now)


def no_plan(now: CommandContext) -> str:
    """The plan was read."""
    if now.view.trouble:
        return f"Nothing can be added: {now.view.trouble}"
    return "" if now.view.is_known else "The project is still being read."


def cannot_undo(now: CommandContext) -> str:
    """No loop runs, and the task was worked on."""
    if now.task is None:
        return "Select a task on the board first."
    if now.running:
        return now.keys.said("The loop is running; {stop} stops it, then you can undo.")
    task = now.task
    is_begun = task.actual_tokens_used is not None or task.status is TaskStatus.COMPLETE
    return "" if is_begun or task.begun is not None else f"No work on {now.task.id} to undo."


def cannot_import(now: CommandContext) -> str:
    """A plan can be imported here, and the project was read."""
    if not now.imports:
        return "A plan cannot be imported here; use ralph import FILE."
    return no_plan(now)


def import_label(now: CommandContext) -> str:
    """Return the word while there is no plan, and one could be imported."""
    return "import" if now.imports and is_empty(now) else ""


def cannot_change(now: CommandContext) -> str:
    """There is a task, and it is not complete."""
    if now.task is None:
        return "Select a task on the board first."
    complete = now.task.status is TaskStatus.COMPLETE
    return f"Task {now.task.id} is complete already." if complete else ""
