"""Answer why a task was chosen, is blocked or waits, and why the loop stopped: rule, evidence, next step. Pure functions."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, why_chosen
from ralph_tui.domain.plan.plan_validation import PlanProblem
from ralph_tui.domain.project_state import DECISIONS, ApprovalKind
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.domain.view.run_history import Iteration, Run
from ralph_tui.present.sections.guard_log import cooling, labelled, next_step
from ralph_tui.present.sections.question_options import who_asks
from ralph_tui.present.text.figures import in_and_at, in_local, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, commands_as_keys
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.text.status_labels import END, look_of

MAX_LISTED = 20
RULE = "the highest-priority pending task whose dependencies are complete. Plan order breaks ties"


def now_parts(
    view: LoopView,
    problems: Sequence[PlanProblem],
    last: Run | None,
    iterations: Sequence[Iteration],
    now: datetime,
    glyphs: Glyphs,
    keys: Keys,
) -> list[Part]:
    """Return the answers that apply at the moment."""
    plan = ImplementationPlan(tasks=tuple(view.tasks.values()))
    look = look_of(view)
    state = [Span(f"{getattr(glyphs, look.glyph)} {look.word}", look.tone)]
    if view.detail:
        state.append(Span(f"  {view.detail}", Tone.MUTED))
    parts = [Part("The loop", [state])]
    parts += _waiting_for(view, now, keys)
    parts += _chosen_task(view, plan, problems, keys)
    parts += _blocked(plan, keys)
    parts += _held(plan, keys)
    parts += _waiting_tasks(plan)
    parts += _stopped(view, last, iterations, keys)
    return parts


def _task_title(task: Task) -> Line:
    return [Span(f"{task.id}  ", Tone.TITLE), Span(task.title)]


def _chosen_task(
    view: LoopView, plan: ImplementationPlan, problems: Sequence[PlanProblem], keys: Keys
) -> list[Part]:
    current, following = view.current_task, plan.get_next_task()
    if current is not None:
        evidence = labelled("evidence", view.why or "it was already in progress")
        lines = [_task_title(current), labelled("rule", RULE), evidence]
        if view.attempt > 1:
            again = f"attempt {view.attempt}, because earlier attempts did not finish it"
            lines.append(labelled("", again))
        order = "{skip} skips it, {sooner} and {later} on the board change the order"
        return [Part("Why this task", [*lines, next_step(keys, order)])]
    if problems:
        lines = [[Span(problem.message, Tone.BAD)] for problem in problems[:MAX_LISTED]]
        lines.append(labelled("next", "correct .ralph/implementation_plan.json", Tone.ACCENT))
        return [Part("Why no task can start", lines)]
    if following is None:
        return []
    evidence = labelled("evidence", why_chosen(plan, following))
    return [
        Part("Which task comes next", [_task_title(following), labelled("rule", RULE), evidence])
    ]


def _blocked(plan: ImplementationPlan, keys: Keys) -> list[Part]:
    def lines(task: Task) -> list[Line]:
        why = [labelled("evidence", one_line(text, 500), Tone.WARN) for text in task.blockers]
        tries = [labelled("", f"after {plural(task.retry_count, 'attempt')}")]
        retry = next_step(keys, "{retry} on the board retries {task}", task=task.id)
        return [_task_title(task), *why, *(tries if task.retry_count else ()), retry]

    blocked = [task for task in plan.tasks if task.status is TaskStatus.BLOCKED]
    return _about_each("Why blocked", blocked, lines)


def _held(plan: ImplementationPlan, keys: Keys) -> list[Part]:
    rule = labelled("rule", "a held task does not start until you release it")
    step = next_step(keys, "{hold} on the board releases it")
    held = [task for task in plan.tasks if task.is_held]
    return _about_each("Why held", held, lambda task: [_task_title(task)], rule, step)


def _waiting_tasks(plan: ImplementationPlan) -> list[Part]:
    tasks = {task.id: task for task in plan.tasks}
    done = plan.complete_ids()

    def lines(task: Task) -> list[Line]:
        ends = "; ".join(root_cause(name, tasks) for name in plan.waiting_on(task, done)[:5])
        return [[Span(f"{task.id}  ", Tone.TITLE), Span(f"waits for {ends}", Tone.MUTED)]]

    pending = (task for task in plan.tasks if task.status is TaskStatus.PENDING and not task.held)
    waiting = [task for task in pending if not done.issuperset(task.dependencies)]
    return _about_each("Why not yet", waiting, lines)


def _about_each(
    title: str, tasks: Sequence[Task], lines_of: Callable[[Task], list[Line]], *last: Line
) -> list[Part]:
    lines = [line for task in tasks[:MAX_LISTED] for line in lines_of(task)]
    if (more := len(tasks) - MAX_LISTED) > 0:
        lines.append([Span(f"and {more} more", Tone.MUTED)])
    return [Part(f"{title} ({len(tasks)})", [*lines, *last])] if tasks else []


def root_cause(name: str, tasks: dict[str, Task]) -> str:
    """Return a dependency and what it waits for in the end: `b (after a, which is blocked)`."""
    seen = [name]
    while (task := tasks.get(seen[-1])) is not None:
        left = [d for d in task.dependencies if d in tasks and not _is_complete(tasks[d])]
        if not left or left[0] in seen:
            break
        seen.append(left[0])
    last = tasks.get(seen[-1])
    word = "which is not in the plan" if last is None else f"which is {last.status_word}"
    return f"{name}, {word}" if len(seen) == 1 else f"{name} (after {seen[-1]}, {word})"


def _is_complete(task: Task) -> bool:
    return task.status is TaskStatus.COMPLETE


def _waiting_for(view: LoopView, now: datetime, keys: Keys) -> list[Part]:
    lines: list[Line] = []
    for asked in view.questions[:MAX_LISTED]:
        lines.append([Span(f"{who_asks(asked)}: ", Tone.WARN), Span(asked.question.question)])
        if asked.permission is not None and asked.permission.reason:
            lines.append(labelled("rule", asked.permission.reason))
        lines.append(
            next_step(keys, "press {answer} to answer. Esc in the question keeps it for later")
        )
    if (approval := view.approval) is not None:
        summary = f": {in_local(approval.summary, now)}" if approval.summary else ""
        lines.append([Span(f"your approval of {DECISIONS[approval.kind]}{summary}", Tone.WARN)])
        if approval.kind is ApprovalKind.RECOVERY:
            lines.append(labelled("rule", "an open breaker runs nothing until a person agrees"))
        lines += cooling(view.breaker, now)
        lines.append(
            next_step(keys, "press {answer} to decide" + _RESETS * view.breaker.is_cooling)
        )
    if view.limit_until is not None:
        lines.append([Span(view.detail or "a usage limit", Tone.WARN)])
        lines.append(labelled("evidence", f"it resets {in_and_at(view.limit_until, now)}"))
        lines.append(labelled("rule", "waiting counts neither as a failure nor as an iteration"))
        lines.append(next_step(keys, "press {hurry} to retry now, {stop} to stop"))
    if view.run_state is RunState.PAUSED:
        lines.append([Span("a requested pause", Tone.WARN)])
        lines.append(next_step(keys, "press {pause} to resume, {inject} to add guidance first"))
    return [Part("Why waiting", lines)] if lines else []


def _stopped(
    view: LoopView, last: Run | None, iterations: Sequence[Iteration], keys: Keys
) -> list[Part]:
    """Return how the last run ended, unless a run is in progress."""
    under_way = view.run_state not in (
        *(RunState.IDLE, RunState.COMPLETE, RunState.STOPPED, RunState.FAILED),
    )
    if under_way or last is None:
        return []
    end = last.finished
    if end is None:
        resume = next_step(keys, "press {build} to continue. Finished work is saved")
        return [Part("Why stopped", [[Span(_KILLED, Tone.WARN)], resume])]
    lines = [
        [Span(end.reason, Tone.TEXT if end.exit_code == 0 else Tone.WARN)],
        labelled("when", f"{when(end.time)}, after {plural(end.iterations, 'iteration')}"),
        labelled("rule", f"{END[end.status].word}, exit status {end.exit_code}"),
    ]
    of_run = [it for it in iterations if it.run_id == last.run_id]
    if of_run and of_run[-1].reason and end.exit_code != 0:
        lines.append(labelled("evidence", f"iteration {of_run[-1].number}: {of_run[-1].reason}"))
    if end.hint:
        lines.append([*labelled("next", ""), *commands_as_keys(keys, end.hint, Tone.ACCENT)])
    return [Part("Why stopped", lines)]


_KILLED = "The last run did not end properly. It was killed, or the machine went down."
_RESETS = (
    ", {why.reset_breaker} to reset the breaker with a reason, {hurry} to retry now, {stop} to stop"
)
