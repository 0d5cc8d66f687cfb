"""What a run would begin with, or why none would do anything. Pure functions."""

from collections.abc import Iterable, Mapping

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.tui.render.board import Group, complete_ids, group_of

NO_PLAN = "There is no plan to build."
LOOK_BACK = (
    "{iterations} shows what each iteration changed, {memory} the report, {history} the cost."
)
_BEGIN = "Press {request} and say what to build, or {add} to add a task."


def next_task(tasks: Iterable[Task]) -> Task | None:
    """The task that is built first: one that is ready, or that a dead run left in progress."""
    every = list(tasks)
    done = complete_ids(every)
    ready = (task for task in every if group_of(task, done) in (Group.READY, Group.WORKING))
    return min(ready, key=lambda task: task.priority, default=None)


def sizes_of(tasks: Iterable[Task]) -> dict[Group, int]:
    """How many tasks each group has."""
    every = list(tasks)
    done = complete_ids(every)
    sizes = dict.fromkeys(Group, 0)
    for task in every:
        sizes[group_of(task, done)] += 1
    return sizes


def nothing_ready(sizes: Mapping[Group, int]) -> tuple[str, str]:
    """What is left, and what can be done about it; the second names keys."""
    held, blocked = sizes[Group.HELD], sizes[Group.BLOCKED]
    if not (held or blocked or sizes[Group.WAITING]):
        return "Every task is complete.", f"Press {{request}} to ask for more. {LOOK_BACK}"
    left = "No task is ready: what is left is {} or waits for something that is."
    if not held:
        advice = "Edit the plan, or select a blocked task and press {retry} to try it again."
        return left.format("blocked"), advice
    if not blocked:
        return left.format("held"), "Select a held task and press {hold} to release it."
    advice = "Select a task: {hold} releases a held one, {retry} tries a blocked one again."
    return left.format("held, blocked"), advice


def why_not_build(view: LoopView, request: str | None) -> str:
    """Why a run would end at once, in a sentence that names keys; empty when it would do something.

    `request` is what was asked for and is not done yet; None while that is not known.
    """
    unread = not view.is_known
    if unread or next_task(view.tasks.values()) is not None or _goes_on(view, request):
        return ""
    if not view.tasks:
        return f"{NO_PLAN} {_BEGIN}"
    return " ".join(nothing_ready(sizes_of(view.tasks.values())))


def _goes_on(view: LoopView, request: str | None) -> bool:
    """Whether there is something to do without a task: to ask, to plan, to check what was built."""
    if view.run_state is RunState.COMPLETE:
        return False
    built = view.tasks.complete == len(view.tasks)  # or not planned yet
    return request is None or (bool(request) and (view.phase is not Phase.BUILDING or built))
