"""Why this task, why blocked, why waiting, why stopped: rule, evidence, next step. Pure functions."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ralph_tui.domain.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.chronicle import BreakerStep, Iteration, Ruled, Run
from ralph_tui.domain.durations import duration
from ralph_tui.domain.plan import ImplementationPlan, PlanProblem, Task, TaskStatus, why_chosen
from ralph_tui.domain.state import ApprovalKind
from ralph_tui.domain.text import one_line
from ralph_tui.domain.view import LoopView, RunState
from ralph_tui.tui.glyphs import Glyphs
from ralph_tui.tui.keys import Keys
from ralph_tui.tui.render.breaker import breaker_parts
from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.render.hints import hint
from ralph_tui.tui.render.iterations import when
from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.render.question import who_asks
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.render.states import BREAKER, RUN
from ralph_tui.tui.timeline.news import standing

MAX_LISTED = 20
RULE = "pending, not held, dependencies complete, then the lowest priority number, then the order of the plan"


def _row(name: str, text: str, tone: Tone = Tone.TEXT) -> Line:
    return [Span(name.ljust(10), Tone.MUTED), Span(text, tone)]


def _next(keys: Keys, text: str, **values: str) -> Line:
    """What to do, with the keys that do it here."""
    return [Span("next".ljust(10), Tone.MUTED), *hint(keys, text, Tone.ACCENT, **values)]


def now_parts(
    view: LoopView,
    problems: Sequence[PlanProblem],
    last: Run | None,
    iterations: Sequence[Iteration],
    now: datetime,
    glyphs: Glyphs,
    keys: Keys,
) -> list[Part]:
    """The four answers; what does not apply is left out. `problems` are those of the view's plan."""
    plan = ImplementationPlan(tasks=tuple(view.tasks.values()))
    look = RUN[view.run_state]
    state = [Span(f"{getattr(glyphs, look.glyph)} {look.word}", look.tone)]
    if view.detail:
        state.append(Span(f"  {view.detail}", Tone.MUTED))
    parts = [Part("The loop", [state])]
    parts += _waiting(view, now, keys)
    parts += _task(view, plan, problems, keys)
    parts += _blocked(plan, keys)
    parts += _held(plan, keys)
    parts += _not_yet(plan)
    parts += _stopped(view, last, iterations, keys)
    return parts


def _task(
    view: LoopView, plan: ImplementationPlan, problems: Sequence[PlanProblem], keys: Keys
) -> list[Part]:
    current = view.current_task
    if current is not None:
        lines = [
            [Span(f"{current.id}  ", Tone.TITLE), Span(current.title)],
            _row("rule", RULE),
            _row("evidence", view.why or "it was in progress already"),
        ]
        if view.attempt > 1:
            lines.append(
                _row("", f"this is try {view.attempt}; the tries before did not finish it")
            )
        lines.append(
            _next(keys, "{skip} skips it; {sooner} and {later} on the board change the order")
        )
        return [Part("Why this task", lines)]
    if problems:
        lines = [[Span(problem.message, Tone.BAD)] for problem in problems[:MAX_LISTED]]
        lines.append(_row("next", "correct .ralph/implementation_plan.json", Tone.ACCENT))
        return [Part("Why no task: the plan cannot be worked", lines)]
    following = plan.get_next_task()
    if following is None:
        return []
    return [
        Part(
            "Which task comes next",
            [
                [Span(f"{following.id}  ", Tone.TITLE), Span(following.title)],
                _row("rule", RULE),
                _row("evidence", why_chosen(plan, following)),
            ],
        )
    ]


def _blocked(plan: ImplementationPlan, keys: Keys) -> list[Part]:
    lines: list[Line] = []
    blocked = [task for task in plan.tasks if task.status is TaskStatus.BLOCKED]
    for task in blocked[:MAX_LISTED]:
        lines.append([Span(f"{task.id}  ", Tone.TITLE), Span(task.title)])
        lines += [_row("evidence", one_line(text, 500), Tone.WARN) for text in task.blockers]
        if task.retry_count:
            lines.append(
                _row("", f"{plural(task.retry_count, 'try').replace('trys', 'tries')} before")
            )
        lines.append(_next(keys, "{retry} on the board tries {task} again", task=task.id))
    if len(blocked) > MAX_LISTED:
        lines.append([Span(f"and {len(blocked) - MAX_LISTED} more", Tone.MUTED)])
    return [Part(f"Why blocked ({len(blocked)})", lines)] if blocked else []


def _held(plan: ImplementationPlan, keys: Keys) -> list[Part]:
    """Tasks the person wants later."""
    held = [task for task in plan.tasks if task.is_held]
    lines: list[Line] = [
        [Span(f"{task.id}  ", Tone.TITLE), Span(task.title)] for task in held[:MAX_LISTED]
    ]
    if len(held) > MAX_LISTED:
        lines.append([Span(f"and {len(held) - MAX_LISTED} more", Tone.MUTED)])
    lines.append(_row("rule", "a held task is not chosen until it is released"))
    lines.append(_next(keys, "{hold} on the board releases it"))
    return [Part(f"Why held ({len(held)})", lines)] if held else []


def _not_yet(plan: ImplementationPlan) -> list[Part]:
    """Tasks that wait for others, each with what holds it up in the end."""
    tasks = {task.id: task for task in plan.tasks}
    done = plan.complete_ids()
    pending = (task for task in plan.tasks if task.status is TaskStatus.PENDING and not task.held)
    waiting = [task for task in pending if not done.issuperset(task.dependencies)]
    lines: list[Line] = []
    for task in waiting[:MAX_LISTED]:
        left = [name for name in task.dependencies if name not in done]
        ends = "; ".join(root_cause(name, tasks) for name in left[:5])
        lines.append([Span(f"{task.id}  ", Tone.TITLE), Span(f"waits for {ends}", Tone.MUTED)])
    if len(waiting) > MAX_LISTED:
        lines.append([Span(f"and {len(waiting) - MAX_LISTED} more", Tone.MUTED)])
    return [Part(f"Why not yet ({len(waiting)})", lines)] if waiting else []


def root_cause(name: str, tasks: dict[str, Task]) -> str:
    """What a dependency waits for in the end: `b (after a, which is blocked)`."""
    seen = [name]
    while (task := tasks.get(seen[-1])) is not None:
        left = [d for d in task.dependencies if d in tasks and not _done(tasks[d])]
        if not left or left[0] in seen:
            break
        seen.append(left[0])
    last = tasks.get(seen[-1])
    word = "which is not in the plan" if last is None else f"which is {_word(last)}"
    return f"{name}, {word}" if len(seen) == 1 else f"{name} (after {seen[-1]}, {word})"


def _done(task: Task) -> bool:
    return task.status is TaskStatus.COMPLETE


def _word(task: Task) -> str:
    return "held" if task.is_held else task.status.value.replace("_", " ")


def _waiting(view: LoopView, now: datetime, keys: Keys) -> list[Part]:
    lines: list[Line] = []
    for asked in view.questions[:MAX_LISTED]:
        lines.append([Span(f"{who_asks(asked)}: ", Tone.WARN), Span(asked.question.question)])
        if asked.permission is not None and asked.permission.reason:
            lines.append(_row("rule", asked.permission.reason))
        lines.append(_next(keys, "{answer} answers; esc in the question defers it"))
    if (approval := view.approval) is not None:
        summary = f": {approval.summary}" if approval.summary else ""
        lines.append([Span(f"your approval of the {approval.kind}{summary}", Tone.WARN)])
        if approval.kind is ApprovalKind.RECOVERY:
            lines.append(_row("rule", "an open breaker lets nothing run before a person agrees"))
        lines += _cooling(view.breaker, now)
        lines.append(_next(keys, "{answer} decides" + _RESETS * view.breaker.is_cooling))
    if view.limit_until is not None:
        left = duration((view.limit_until - now).total_seconds())
        lines.append([Span(view.detail or "a usage limit", Tone.WARN)])
        lines.append(_row("evidence", f"it resets at {view.limit_until:%H:%M:%S} UTC, in {left}"))
        lines.append(_row("rule", "waiting is no failure and no iteration"))
        lines.append(_next(keys, "{hurry} tries now; {stop} gives up"))
    if view.run_state is RunState.PAUSED:
        lines.append([Span("a pause that was asked for", Tone.WARN)])
        lines.append(_next(keys, "{pause} goes on; {inject} adds guidance first"))
    return [Part("Why waiting", lines)] if lines else []


def _stopped(
    view: LoopView, last: Run | None, iterations: Sequence[Iteration], keys: Keys
) -> list[Part]:
    """How the last run ended, while none goes on."""
    under_way = view.run_state not in (
        *(RunState.IDLE, RunState.COMPLETE, RunState.STOPPED, RunState.FAILED),
    )
    if under_way or last is None:
        return []
    end = last.finished
    if end is None:
        lines = [
            [
                Span(
                    "The last run has no end in the journal: it was killed, or still runs elsewhere.",
                    Tone.WARN,
                )
            ],
            _next(keys, "ralph status says whether it runs; {build} starts a new one"),
        ]
        return [Part("Why stopped", lines)]
    lines = [
        [Span(end.reason, Tone.TEXT if end.exit_code == 0 else Tone.WARN)],
        _row("when", f"{when(end.time)} UTC, after {plural(end.iterations, 'iteration')}"),
        _row("rule", f"{end.status.value.replace('_', ' ')}, exit status {end.exit_code}"),
    ]
    mine = [it for it in iterations if it.run_id == last.run_id]
    if mine and mine[-1].reason and end.exit_code != 0:
        lines.append(_row("evidence", f"iteration {mine[-1].number}: {mine[-1].reason}"))
    if end.hint:
        lines.append(_row("next", end.hint, Tone.ACCENT))
    return [Part("Why stopped", lines)]


def guard_parts(rulings: Sequence[Ruled], glyphs: Glyphs) -> list[Part]:
    """The guard's log, newest first: what was refused, and what a person was asked about."""
    if not rulings:
        nothing: Line = [Span("The guard has refused nothing here.", Tone.MUTED)]
        return [Part("Guard log", [nothing])]
    allowed = sum(1 for ruled in rulings if ruled.scope is not None)
    said = [plural(len(rulings) - allowed, "denial")]
    said += [f"{allowed} allowed when asked"] if allowed else []
    parts = [Part(f"Guard log: {', '.join(said)}, newest first", [])]
    parts += [_ruled(ruled, glyphs) for ruled in reversed(rulings)]
    return parts


_SCOPES = {
    "once": "allowed once",
    "session": "allowed for the session",
    "again": "allowed for the session before",
}


def _ruled(ruled: Ruled, glyphs: Glyphs) -> Part:
    iteration = f"iteration {ruled.iteration}" if ruled.iteration else "between iterations"
    by = f" by {ruled.by}" if ruled.by else ""
    tone, rule, decided = Tone.WARN, ruled.reason, ""
    if ruled.scope is not None:
        tone, decided = Tone.OK, _SCOPES[ruled.scope] + by
    elif ruled.by:
        rule, decided = "", f"denied{by}: {ruled.reason}"
    lines = [
        [Span(f"{when(ruled.at)}  {iteration}  {ruled.tool}", Tone.MUTED)],
        _row("evidence", one_line(ruled.part, 500), Tone.WARN) if ruled.part else None,
        _row("rule", rule) if rule else None,
        _row("decided", decided, tone) if decided else None,
        _row("next", ruled.instead, Tone.ACCENT) if ruled.instead else None,
    ]
    sign = glyphs.denied if ruled.scope is None else glyphs.ok
    return Part(f"{sign} {ruled.rule}", [line for line in lines if line is not None])


_NEXT = {
    BreakerState.CLOSED: "Nothing: the loop runs.",
    BreakerState.HALF_OPEN: "Wait for the one iteration that may try: progress closes it, else it opens again.",
    BreakerState.OPEN: "Put right what failed. Then {why.reset_breaker} resets it with your reason, or a new run does.",
}


def breaker_view_parts(
    breaker: CircuitBreaker,
    steps: Iterable[BreakerStep],
    now: datetime,
    glyphs: Glyphs,
    keys: Keys,
) -> list[Part]:
    """The breaker now with its evidence, what comes next, and how it came to this."""
    look = BREAKER[breaker.state]
    head: list[Line] = [
        [Span(f"{getattr(glyphs, look.glyph)} {look.word}", look.tone)],
        _next(keys, _NEXT[breaker.state]),
        *(_cooling(breaker, now) or [_row("cool-down", _NOT_COOLING)]),
    ]
    parts = [Part("The circuit breaker", head), *breaker_parts(breaker, glyphs)[0:]]
    told = _told(steps)
    if told:
        parts.append(Part("How it came to this, newest first", told))
    return parts


_NOT_COOLING = "none runs: it begins when an open breaker waits for a person, circuit_breaker.cooldown_minutes long"

_RESETS = "; {why.reset_breaker} resets it with your reason; {hurry} tries now; {stop} gives up"


def _cooling(breaker: CircuitBreaker, now: datetime) -> list[Line]:
    """When an open breaker lets one iteration try by itself."""
    if breaker.half_open_at is None or not breaker.is_cooling:
        return []
    left = duration(max(0.0, (breaker.half_open_at - now).total_seconds()))
    text = f"one iteration tries by itself in {left}, at {breaker.half_open_at:%H:%M:%S} UTC"
    return [_row("cool-down", text, Tone.WARN)]


def _told(steps: Iterable[BreakerStep]) -> list[Line]:
    lines: list[Line] = []
    for step in reversed(list(steps)):
        look = BREAKER[step.breaker.state]
        counters = standing(step.breaker) or "nothing counts"
        lines.append(
            [
                Span(f"{when(step.at)}  ", Tone.MUTED),
                Span(f"{look.word.ljust(10)}", look.tone),
                Span(counters + (f"  ({step.reason})" if step.reason else "")),
            ]
        )
    return lines
