"""The two lines of the header. Fields that do not fit are dropped whole, by priority. Pure functions."""

from dataclasses import dataclass
from pathlib import PurePath

from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import RESTING, LoopView, RunState
from ralph_tui.present.sections.approval_parts import APPROVAL_HEADINGS
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
    """The data that the header shows."""

    view: LoopView
    label: str
    root: str
    elapsed: float
    keys: Keys
    frame: int | None
    """The number of the spinner's frame, or None without a spinner."""
    slow: bool = False


def header_lines(facts: Facts, width: int, glyphs: Glyphs) -> list[Line]:
    return [_first_line(facts, width, glyphs), _second_line(facts, width, glyphs)]


def project_name(view: LoopView, root_name: str, glyphs: Glyphs) -> str:
    name = flat(view.project or root_name)
    return f"{name} {glyphs.chevron} {flat(view.feature)}" if view.feature else name


def title_of(view: LoopView, root_name: str, glyphs: Glyphs) -> str:
    look = look_of(view)
    name = project_name(view, root_name, glyphs)
    return one_line(f"{getattr(glyphs, look.glyph)} {name} {look.word} - ralph")


def _first_line(facts: Facts, width: int, glyphs: Glyphs) -> Line:
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
    other = facts.view.elsewhere
    whole = [flat(facts.label), f"attached to process {other.pid}" if other else ""]
    texts = (", ".join(filter(None, whole)), "attached" if other is not None else "")
    full, brief = (Span(f" {glyphs.between} {t}" if t else "", Tone.MUTED) for t in texts)
    return full, brief


def _phases(view: LoopView, glyphs: Glyphs) -> tuple[list[Span], list[Span]]:
    if not view.is_known:
        return [], []
    is_over = look_of(view) is RUN[RunState.COMPLETE]
    begins = view.phase in (Phase.DISCOVERY, Phase.PLANNING)
    # A start that failed before discovery has done no phase, whatever the default phase is.
    if view.tasks or (begins and (view.iteration or view.run_state is not RunState.IDLE)):
        number = f" {list(Phase).index(view.phase) + 1}/{len(Phase)}"
        short = [Span(view.phase.value, Tone.ACCENT), Span(number, Tone.MUTED)]
        return _stepper(view.phase, glyphs, over=is_over), short
    return _stepper(None, glyphs, over=is_over), []


def _progress(facts: Facts) -> list[list[Span]]:
    if not facts.view.is_known or not (facts.view.iteration or facts.elapsed):
        return [[]]
    view, text = facts.view, f"iteration {facts.view.iteration}"
    if view.max_iterations and view.run_iterations in (0, view.iteration):
        text += f"/{view.max_iterations}"
    elif view.max_iterations:
        text += f" ({view.run_iterations}/{view.max_iterations})"
    iteration = Span(text)
    return [[iteration, _GAP, Span(duration(facts.elapsed), Tone.MUTED)], [iteration], []]


def _state(facts: Facts, glyphs: Glyphs) -> list[Span]:
    look = look_of(facts.view)
    glyph = getattr(glyphs, look.glyph)
    turns = look in _SPINNING
    if facts.frame is not None and turns:
        glyph = glyphs.spinner[facts.frame % len(glyphs.spinner)]
    return [Span(f"{glyph} {look.word.ljust(_STATE_WIDTH)}", look.tone)]


_SPINNING = frozenset(RUN[state] for state in BUSY)

_STATE_WIDTH = max(len(RUN[state].word) for state in BUSY)
"""Cells of the state, so that nothing moves when the state of a busy loop changes."""


def _stepper(phase: Phase | None, glyphs: Glyphs, *, over: bool) -> list[Span]:
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


def _second_line(facts: Facts, width: int, glyphs: Glyphs) -> Line:
    now = _current_activity(facts, width, glyphs)
    counts = _counts(facts.view, glyphs) if facts.view.is_known else [[]]
    view, whole = facts.view, now
    if view.why and view.step is None and len(now) > 1:
        whole = [*now, Span(f"   {view.why}", Tone.MUTED)]
    elif now == [_phase_activity(view)]:
        whole = [*now, Span(f"   {one_line(view.request)}")]
    if facts.view.request and now == [_phase_activity(facts.view)]:
        now = crop_words(whole, width - width_of(counts[-1]) - 2, glyphs.ellipsis)
    for left, right in [(whole, counts[0]), *((now, right) for right in counts)]:
        if width_of(left) + width_of(right) + 2 <= width:
            return row(left, right, width, glyphs.ellipsis)
    right = counts[-1] if width_of(counts[-1]) < width // 3 else []
    return row(
        crop_words(now, width - width_of(right) - 2, glyphs.ellipsis), right, width, glyphs.ellipsis
    )


def _counts(view: LoopView, glyphs: Glyphs) -> list[Line]:
    guidance = f"{len(view.injections)} guidance queued" if view.injections else ""
    denials = plural(view.denials, "denial") if view.denials else ""
    tasks = (
        f"{view.tasks.complete:,} of {plural(len(view.tasks), 'task')} done" if view.tasks else ""
    )
    between = f" {glyphs.between} "
    branch = "" if _is_idle(view) else flat(view.branch)
    choices = (
        *((branch, guidance, denials, tasks), (guidance, denials, tasks)),
        *((guidance, tasks), (tasks,)),
    )
    return [[Span(between.join(part for part in parts if part), Tone.MUTED)] for parts in choices]


def _waiting_for_person(view: LoopView, keys: Keys) -> list[Span]:
    if view.questions:
        asked = view.questions[0]
        more = f" (and {len(view.questions) - 1} more)" if len(view.questions) > 1 else ""
        text = f"{asked_briefly(asked)}{more}"
    elif view.approval is not None:
        first = view.approval.summary.partition(". ")[0].rstrip(".")
        summary = f" ({first})" if first else ""
        text = f"{APPROVAL_HEADINGS[view.approval.kind]}{summary}"
    else:
        return []
    return [*hint(keys, "Press {answer} to answer   ", Tone.ACCENT), Span(text, Tone.WARN)]


def _current_activity(facts: Facts, width: int, glyphs: Glyphs) -> list[Span]:
    view, task = facts.view, facts.view.current_task
    if _is_idle(view):
        if facts.slow and look_of(view) is OPENING:
            return [Span(reading(view), Tone.MUTED)]
        branch = f" ({flat(view.branch)})" if view.branch else ""
        path = crop_path(facts.root, width - len(branch), glyphs.ellipsis)
        return [Span(path + branch, Tone.MUTED)]
    if waiting := _waiting_for_person(view, facts.keys):
        return waiting
    if view.run_state is RunState.PAUSED:
        return hint(facts.keys, _PAUSED, Tone.WARN)
    if view.run_state in _HALTING and "after" in view.detail:
        return hint(facts.keys, _HALTING[view.run_state], Tone.WARN)
    if view.run_state is RunState.HANDING_OFF and view.task_id:
        handed_off = [Span(f"{glyphs.handoff} {view.task_id}  ", Tone.ACCENT)]
        return [*handed_off, Span(f"continues in a fresh context: {view.detail}", Tone.INFO)]
    prefers_task = view.run_state in (RunState.RUNNING, RunState.LIMITED)
    if view.step is None and view.detail and (not prefers_task or task is None):
        return [Span(view.detail, RUN[view.run_state].tone)]
    return _current_work(view, glyphs)


def _current_work(view: LoopView, glyphs: Glyphs) -> list[Span]:
    if (step := view.step) is not None:
        named = f"  {flat(step.what)}" if step.what not in (step.step, step.kind) else ""
        attempt = f" {glyphs.between} attempt {step.attempt}" if step.attempt > 1 else ""
        running = Span(f"{glyphs.current} step {flat(step.step)}", Tone.ACCENT)
        return [running, Span(named), Span(attempt, Tone.WARN)]
    if view.task_id:
        task = view.current_task
        title = f"  {task.title if task else one_line(view.request)}".rstrip()
        attempt = f" {glyphs.between} attempt {view.attempt}" if view.attempt > 1 else ""
        return [
            Span(f"{glyphs.current} {view.task_id}", Tone.ACCENT),
            Span(title),
            Span(attempt, Tone.WARN),
        ]
    return [_phase_activity(view)]


def _phase_activity(view: LoopView) -> Span:
    return Span(_PHASE_ACTIVITIES[view.phase], Tone.MUTED)


def _is_idle(view: LoopView) -> bool:
    return view.run_state in RESTING or bool(view.trouble) or not view.is_known


_PAUSED = "Paused between iterations. Press {pause} to resume, {inject} to add guidance."

_HALTING = {
    RunState.PAUSING: "Pausing after this iteration. Press {pause} to pause now, {resume} to cancel.",
    RunState.STOPPING: "Stopping after this iteration. Press {stop} to stop now.",
}

_PHASE_ACTIVITIES = {
    Phase.DISCOVERY: "finding out what to build",
    Phase.PLANNING: "planning the tasks",
    Phase.BUILDING: "choosing the next task",
    Phase.VALIDATION: "checking the result against the specs",
}
"""What the loop does while no task is in progress."""
