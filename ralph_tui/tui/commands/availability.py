"""The state that decides whether a command can be used now; pure functions that return why not, and its footer label."""

from collections.abc import Callable
from dataclasses import dataclass

from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.view.loop_view import ENDED, LoopView, RunState
from ralph_tui.engine.control.plan_edits import why_not_change, why_not_hold, why_not_retry
from ralph_tui.present.board.board_rows import why_not_build
from ralph_tui.present.text.key_hints import Keys


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The view, who runs the loop, and what is selected."""

    view: LoopView
    keys: Keys
    """Provides the key names that reasons mention."""
    running: bool
    """Whether a loop runs, here or in the process the screen is attached to."""
    task: Task | None = None
    """The task that task commands act on: the board's if it has the focus, else the current one."""
    takes_requests: bool = False
    """Whether a request can be typed here."""
    can_replan: bool = False
    """Whether the plan can be replaced here."""
    imports: bool = False
    """Whether another tool's plan can be imported here."""
    request: str | None = None
    """The request that is not done yet; empty for none, None while unknown."""

    @property
    def state(self) -> RunState:
        return self.view.run_state

    @property
    def waiting(self) -> bool:
        return bool(self.view.questions) or self.view.approval is not None

    @property
    def ended(self) -> bool:
        return self.state in ENDED


Reason = Callable[[CommandContext], str]
"""Returns why a command cannot be used now, or an empty string if it can."""


def always(_: CommandContext) -> str:
    return ""


def no_loop(now: CommandContext) -> str:
    return "" if now.running else now.keys.said(_NO_LOOP)


_NO_LOOP = "No loop is running here. Press {build} to start one."


def not_running(now: CommandContext) -> str:
    if now.view.elsewhere is not None:
        return f"The loop is already running in process {now.view.elsewhere.pid}."
    if now.running:
        return "The loop is already running."
    if now.view.trouble:
        return f"Cannot start building. {now.view.trouble}"
    return "" if now.view.is_known or now.ended else "The project is still loading."


def cannot_build(now: CommandContext) -> str:
    wrong = f"Cannot start building. {now.view.unworkable}" if now.view.unworkable else ""
    return not_running(now) or wrong or now.keys.said(why_not_build(now.view, now.request))


def is_done(now: CommandContext) -> bool:
    tasks = now.view.tasks
    built = bool(tasks) and tasks.complete == len(tasks)
    return built and not now.running and bool(cannot_build(now))


def is_empty(now: CommandContext) -> bool:
    blank = now.view.is_known and not now.view.tasks and not now.view.trouble
    return blank and not now.running and bool(cannot_build(now))


def cannot_pause(now: CommandContext) -> str:
    if now.state is RunState.STOPPING:
        return "The loop is already stopping."
    return no_loop(now)


def cannot_resume(now: CommandContext) -> str:
    waiting = now.state in (RunState.PAUSED, RunState.PAUSING)
    return no_loop(now) or ("" if waiting else "The loop is not paused.")


def _on_task(why_not: Callable[[Task], str]) -> Reason:
    return lambda now: _SELECT if now.task is None else why_not(now.task)


def _why_not_skip(task: Task) -> str:
    blocked = task.status is TaskStatus.BLOCKED
    return f"Task {task.id} is already blocked." if blocked else why_not_change(task)


_SELECT = "Select a task on the board first."

cannot_change = _on_task(why_not_change)
cannot_skip = _on_task(_why_not_skip)
cannot_retry = _on_task(why_not_retry)
cannot_hold = _on_task(lambda task: "" if task.held else why_not_hold(task))


def pause_label(now: CommandContext) -> str:
    if not now.running:
        return ""
    if now.state is RunState.PAUSED:
        return "resume"
    return "pause now" if now.state is RunState.PAUSING else "pause"


def build_label(now: CommandContext) -> str:
    return "" if now.running else "build"


def stop_label(now: CommandContext) -> str:
    if not now.running:
        return ""
    return "stop now" if now.state is RunState.STOPPING else "stop"


def nothing_waits(now: CommandContext) -> str:
    return "" if now.waiting else "Nothing needs your answer."


def answer_label(now: CommandContext) -> str:
    return "answer" if now.waiting else ""


def no_limit(now: CommandContext) -> str:
    """Return a reason unless the loop waits for a limit or a cool-down."""
    return "" if _counts_down(now) else "The loop is not waiting for a limit or a cool-down."


def hurry_label(now: CommandContext) -> str:
    return "retry now" if _counts_down(now) else ""


def _counts_down(now: CommandContext) -> bool:
    return now.running and now.view.resumes_at is not None


def no_request(now: CommandContext) -> str:
    """Return a reason unless a request can be typed here and now."""
    if not now.takes_requests:
        return 'You cannot enter a request here. Use ralph run "what to build".'
    return not_running(now)


def request_label(now: CommandContext) -> str:
    return "" if no_request(now) else "new request"


def cannot_replan(now: CommandContext) -> str:
    """Return a reason unless the plan can be replaced here and no loop works on it."""
    approval = now.view.approval
    if now.running and approval is not None and approval.kind is ApprovalKind.PLAN:
        return now.keys.said(
            "The plan needs your approval. Press {answer} to review it or request changes."
        )
    if now.running:
        return now.keys.said("The loop is running. Press {stop} to stop it, then replan.")
    if not now.can_replan:
        return 'You cannot replan here. Use ralph regenerate-plan "what to change".'
    return not_running(now)


def no_plan(now: CommandContext) -> str:
    if now.view.trouble:
        return f"Cannot change the plan. {now.view.trouble}"
    return "" if now.view.is_known else "The project is still loading."


def cannot_undo(now: CommandContext) -> str:
    if now.task is None:
        return _SELECT
    if now.running:
        return now.keys.said("The loop is running. Press {stop} to stop it, then undo.")
    task = now.task
    is_begun = task.actual_tokens_used is not None or task.status is TaskStatus.COMPLETE
    return "" if is_begun or task.begun is not None else f"Task {now.task.id} has no work to undo."


def cannot_import(now: CommandContext) -> str:
    """Return a reason unless a plan can be imported here and the project was read."""
    if not now.imports:
        return "You cannot import a plan here. Use ralph import FILE."
    return no_plan(now)


def import_label(now: CommandContext) -> str:
    return "import" if now.imports and is_empty(now) else ""
