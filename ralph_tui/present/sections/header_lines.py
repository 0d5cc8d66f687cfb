"""Writes the two lines of the header; fields are dropped whole, by priority. Pure functions."""

from dataclasses import dataclass
from pathlib import PurePath

from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import RESTING, LoopView, RunState
from ralph_tui.present.sections.approval_parts import approval_heading
from ralph_tui.present.sections.question_options import asked_briefly
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, hint
from ralph_tui.present.text.spans import (
    Line,
    Span,
    Tone,
    crop_path,
    crop_words,
    flat,
    row,
    width_of,
)
from ralph_tui.present.text.status_labels import BUSY, OPENING, RUN, look_of, reading

_GAP = Span("   ")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the header shows."""

    view: LoopView
    label: str
    root: str
    elapsed: float
    keys: Keys
    frame: int | None
    """The spinner's frame, or None when it does not turn."""
    slow: bool = False
    """Whether reading the project takes long enough to say so."""


def header_lines(facts: Facts, width: int, glyphs: Glyphs) -> list[Line]:
    """Write state and place on the first line, the work of this moment on the second."""
    return [_first(facts, width, glyphs), _second(facts, width, glyphs)]


def project_name(view: LoopView, root_name: str, glyphs: Glyphs) -> str:
    """Return the name of the project, which is known before the first event, and the feature's, if it has one."""
    name = flat(view.project or root_name)
    return f"{name} {glyphs.chevron} {flat(view.feature)}" if view.feature else name


def title_of(view: LoopView, root_name: str, glyphs: Glyphs) -> str:
    """Write the terminal's title: state and project."""
    look = look_of(view)
    name = project_name(view, root_name, glyphs)
    return one_line(f"{getattr(glyphs, look.glyph)} {name} {look.word} - ralph")


def _first(facts: Facts, width: int, glyphs: Glyphs) -> Line:
    """State, name and phases at the left, iteration and time at the right; the first pair that fits."""
    state = _state(facts, glyphs)
    named = [
        *state,
        _GAP,
        Span(project_name(facts.view, PurePath(facts.root).name, glyphs), Tone.TITLE),
    ]
    label, brief = _labels(facts, glyphs)
    stepper, short = _phases(facts.view, glyphs)
    lefts = [
        [*named, label, _GAP, *stepper],
        [*named, label, _GAP, *short],
        [*named, label],
        [*named, brief],
        named,
    ]
    rights = _progress(facts)
    pairs = [(left, right) for right in rights for left in lefts]
    for left, right in [*pairs, *((state, right) for right in rights)]:
        if width_of(left) + width_of(right) + 2 <= width and width_of(right) <= width // 2:
            return row(left, right, width, glyphs.ellipsis)
    return row(state, [], width, glyphs.ellipsis)


def _labels(facts: Facts, glyphs: Glyphs) -> tuple[Span, Span]:
    """Which run this is and where the loop runs, in full and in brief."""
    other = facts.view.elsewhere
    whole = [flat(facts.label), f"attached to process {other.pid}" if other else ""]
    texts = (", ".join(filter(None, whole)), "attached" if other is not None else "")
    full, brief = (Span(f" {glyphs.between} {t}" if t else "", Tone.MUTED) for t in texts)
    return full, brief


def _phases(view: LoopView, glyphs: Glyphs) -> tuple[list[Span], list[Span]]:
    """The phases in full and in brief; nothing before the project is read."""
    if not view.is_known:
        return [], []
    is_over = look_of(view) is RUN[RunState.COMPLETE]
    if view.tasks or view.iteration or view.run_state is not RunState.IDLE:
        return _stepper(view.phase, glyphs, over=is_over), _short_phase(view.phase)
    return _stepper(None, glyphs, over=is_over), []


def _progress(facts: Facts) -> list[list[Span]]:
    """Iteration and time, then less; nothing where no run has begun."""
    if not facts.view.is_known or not (facts.view.iteration or facts.elapsed):
        return [[]]
    iteration = Span(_iteration(facts.view))
    return [[iteration, _GAP, Span(duration(facts.elapsed), Tone.MUTED)], [iteration], []]


def _iteration(view: LoopView) -> str:
    """Write its number in the project; the limit is of this run, so the iterations of this run stand beside it."""
    if not view.max_iterations:
        return f"iteration {view.iteration}"
    if view.run_iterations in (0, view.iteration):
        return f"iteration {view.iteration}/{view.max_iterations}"
    return f"iteration {view.iteration} ({view.run_iterations}/{view.max_iterations})"


def _state(facts: Facts, glyphs: Glyphs) -> list[Span]:
    look = look_of(facts.view)
    glyph = getattr(glyphs, look.glyph)
    turns = look in _TURNING
    if facts.frame is not None and turns:
        glyph = glyphs.spinner[facts.frame % len(glyphs.spinner)]
    return [Span(f"{glyph} {look.word.ljust(_WORD)}", look.tone)]


_TURNING = frozenset(RUN[state] for state in BUSY)

_WORD = max(len(RUN[state].word) for state in BUSY)
"""Cells of the state, so that nothing moves when a busy loop verifies or hands off."""


def _stepper(phase: Phase | None, glyphs: Glyphs, *, over: bool) -> list[Span]:
    """Draw the phases, marked as far as the project is; with `over` the last one is done, too."""
    spans: list[Span] = []
    phases = list(Phase)
    for place, step in enumerate(phases):
        if spans:
            spans.append(Span(f" {glyphs.chevron} ", Tone.FAINT))
        if step is phase and not over:
            spans.append(Span(f"{glyphs.current} {step.value}", Tone.ACCENT))
        elif phase is not None and place < phases.index(phase) + over:
            spans += [Span(f"{glyphs.ok} ", Tone.OK), Span(step.value, Tone.MUTED)]
        else:
            spans.append(Span(step.value, Tone.MUTED))
    return spans


def _short_phase(phase: Phase) -> list[Span]:
    phases = list(Phase)
    return [
        Span(phase.value, Tone.ACCENT),
        Span(f" {phases.index(phase) + 1}/{len(phases)}", Tone.MUTED),
    ]


def _second(facts: Facts, width: int, glyphs: Glyphs) -> Line:
    now = _now(facts, width, glyphs)
    counts = _counts(facts.view, glyphs) if facts.view.is_known else [[]]
    whole = [*now, *_why(facts.view, now)]
    if facts.view.request and now == [_meanwhile(facts.view)]:
        now = crop_words(whole, width - width_of(counts[-1]) - 2, glyphs.ellipsis)
    for left, right in [(whole, counts[0]), *((now, right) for right in counts)]:
        if width_of(left) + width_of(right) + 2 <= width:
            return row(left, right, width, glyphs.ellipsis)
    right = counts[-1] if width_of(counts[-1]) < width // 3 else []
    return row(
        crop_words(now, width - width_of(right) - 2, glyphs.ellipsis), right, width, glyphs.ellipsis
    )


def _counts(view: LoopView, glyphs: Glyphs) -> list[Line]:
    """List what is counted at the right: all of it, then less and less."""
    guidance = f"{len(view.injections)} guidance waiting" if view.injections else ""
    denials = plural(view.denials, "denial") if view.denials else ""
    tasks = (
        f"{view.tasks.complete:,} of {plural(len(view.tasks), 'task')} done" if view.tasks else ""
    )
    between = f" {glyphs.between} "
    branch = "" if _rests(view) else flat(view.branch)
    choices = (
        *((branch, guidance, denials, tasks), (guidance, denials, tasks)),
        *((guidance, tasks), (tasks,)),
    )
    return [[Span(between.join(part for part in parts if part), Tone.MUTED)] for parts in choices]


def _why(view: LoopView, now: list[Span]) -> list[Span]:
    """Say why the task was chosen, where the line shows the task."""
    if view.why and view.step is None and len(now) > 1:
        return [Span(f"   {view.why}", Tone.MUTED)]
    return [Span(f"   {one_line(view.request)}")] if now == [_meanwhile(view)] else []


def _waiting(view: LoopView, keys: Keys) -> list[Span]:
    """Say what waits for the person, and name the key that opens it."""
    if view.questions:
        asked = view.questions[0]
        more = f" (and {len(view.questions) - 1} more)" if len(view.questions) > 1 else ""
        text = f"{asked_briefly(asked)}{more}"
    elif view.approval is not None:
        first = view.approval.summary.partition(". ")[0].rstrip(".")
        summary = f" ({first})" if first else ""
        text = f"{approval_heading(view.approval.kind)}{summary}"
    else:
        return []
    return [*hint(keys, "{answer} answers   ", Tone.ACCENT), Span(text, Tone.WARN)]


def _now(facts: Facts, width: int, glyphs: Glyphs) -> list[Span]:
    """Say what happens right now; the banner says why nothing does."""
    view, task = facts.view, facts.view.current_task
    if _rests(view):
        return [Span(_place(facts, width, glyphs), Tone.MUTED)]
    if waiting := _waiting(view, facts.keys):
        return waiting
    if view.run_state is RunState.PAUSED:
        return hint(facts.keys, _PAUSED, Tone.WARN)
    if view.run_state in _HALTING and "after" in view.detail:
        return hint(facts.keys, _HALTING[view.run_state], Tone.WARN)
    if view.run_state is RunState.HANDING_OFF and view.task_id:
        going_on = [Span(f"{glyphs.handoff} {view.task_id}  ", Tone.ACCENT)]
        return [*going_on, Span(f"continues in a fresh context: {view.detail}", Tone.INFO)]
    said_above = view.run_state in (RunState.RUNNING, RunState.LIMITED)
    if view.step is None and view.detail and (not said_above or task is None):
        return [Span(view.detail, RUN[view.run_state].tone)]
    return _work(view, glyphs)


def _work(view: LoopView, glyphs: Glyphs) -> list[Span]:
    """Say which step or task is at work, or what happens between them."""
    if (step := view.step) is not None:
        named = f"  {flat(step.what)}" if step.what not in (step.step, step.kind) else ""
        attempt = f" {glyphs.between} try {step.attempt}" if step.attempt > 1 else ""
        running = Span(f"{glyphs.current} step {flat(step.step)}", Tone.ACCENT)
        return [running, Span(named), Span(attempt, Tone.WARN)]
    if view.task_id:
        task = view.current_task
        title = f"  {task.title}" if task else ""
        attempt = f" {glyphs.between} try {view.attempt}" if view.attempt > 1 else ""
        return [
            Span(f"{glyphs.current} {view.task_id}", Tone.ACCENT),
            Span(title),
            Span(attempt, Tone.WARN),
        ]
    return [_meanwhile(view)]


def _meanwhile(view: LoopView) -> Span:
    return Span(_MEANWHILE[view.phase], Tone.MUTED)


def _rests(view: LoopView) -> bool:
    """Tell whether nothing happens, or nothing is known."""
    return view.run_state in RESTING or bool(view.trouble) or not view.is_known


def _place(facts: Facts, width: int, glyphs: Glyphs) -> str:
    """Say where the project is, or that it is still being read."""
    if facts.slow and look_of(facts.view) is OPENING:
        return reading(facts.view)
    branch = f" ({flat(facts.view.branch)})" if facts.view.branch else ""
    return crop_path(facts.root, width - len(branch), glyphs.ellipsis) + branch


_PAUSED = "Paused between iterations. {pause} continues, {inject} adds guidance."

_HALTING = {
    RunState.PAUSING: "Pauses after this iteration; {pause} now, {resume} withdraws.",
    RunState.STOPPING: "Stops after this iteration; {stop} now.",
}

_MEANWHILE = {
    Phase.DISCOVERY: "finding out what to build",
    Phase.PLANNING: "making the plan",
    Phase.BUILDING: "choosing the next task",
    Phase.VALIDATION: "checking the whole against its specs",
}
"""What the loop does while no task is in progress."""
