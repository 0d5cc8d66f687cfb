"""A task in detail, as titled blocks of lines. Pure functions."""

from ralph_tui.domain.plan import MAX_RETRIES, Task
from ralph_tui.domain.text import head
from ralph_tui.domain.verification import Receipt, criterion_text, runnable_command
from ralph_tui.domain.view import LoopView
from ralph_tui.tui.glyphs import Glyphs
from ralph_tui.tui.render.board import complete_ids, group_of
from ralph_tui.tui.render.figures import money, seconds, tokens
from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.timeline.lines import receipt_look

_MAX_DESCRIPTION = 20_000


def task_parts(task: Task, view: LoopView, glyphs: Glyphs) -> list[Part]:
    """Every block that has something to say."""
    parts = [
        Part("State", _state(task, view)),
        Part("Description", [[Span(t)] for t in _text(task.description)]),
        Part("Done when", _criteria(task, view, glyphs)),
        Part("Waits for", _tasks(task.dependencies, view, glyphs)),
        Part("Needed by", _tasks(_dependents(task, view), view, glyphs)),
        Part("Blocked because", [[Span(b, Tone.BAD)] for b in task.blockers]),
        Part("Tries so far", _tries(task, view)),
        Part("Notes", [[Span(t)] for t in _text(task.completion_notes or "")]),
    ]
    return [part for part in parts if part.lines]


def _text(text: str) -> list[str]:
    return head(text, _MAX_DESCRIPTION).splitlines()


def _state(task: Task, view: LoopView) -> list[Line]:
    group = group_of(task, complete_ids(view.tasks.values()))
    facts = [f"priority {task.priority}"]
    if task.retry_count:
        facts.append(f"failed {task.retry_count} of {MAX_RETRIES} tries")
    if task.estimated_tokens:
        facts.append(f"estimated {tokens(task.estimated_tokens)} tokens")
    if task.actual_tokens_used:
        facts.append(f"used {tokens(task.actual_tokens_used)} tokens")
    lines: list[Line] = [
        [Span(group.value, Tone.TITLE), Span(f"   {', '.join(facts)}", Tone.MUTED)]
    ]
    if view.task_id == task.id and view.why:
        lines.append([Span("chosen: ", Tone.MUTED), Span(view.why)])
    return lines


def _criteria(task: Task, view: LoopView, glyphs: Glyphs) -> list[Line]:
    receipts = {r.command: r for r in view.receipts} if view.gate_task_id == task.id else {}
    lines: list[Line] = []
    for criterion in task.verification_criteria:
        command = runnable_command(criterion)
        text = criterion_text(criterion)
        if command is None:
            lines.append(
                [Span(f"{glyphs.note} ", Tone.MUTED), Span(text), Span("  prose", Tone.FAINT)]
            )
            continue
        lines.append(_checked(text, receipts.get(command), glyphs))
    return lines


def _checked(text: str, receipt: Receipt | None, glyphs: Glyphs) -> Line:
    if receipt is None:
        return [Span(f"{glyphs.idle} ", Tone.MUTED), Span(text), Span("  not run yet", Tone.FAINT)]
    name, tone = receipt_look(receipt)
    word = receipt.status.value.replace("_", " ")
    took = f"  {word} in {seconds(receipt.seconds)}"
    return [Span(f"{getattr(glyphs, name)} ", tone), Span(text), Span(took, tone)]


def _dependents(task: Task, view: LoopView) -> tuple[str, ...]:
    return tuple(t.id for t in view.tasks.values() if task.id in t.dependencies)


def _tasks(ids: tuple[str, ...], view: LoopView, glyphs: Glyphs) -> list[Line]:
    done = complete_ids(view.tasks.values())
    lines: list[Line] = []
    for task_id in ids:
        known = view.tasks.get(task_id)
        if known is None:
            lines.append([Span(f"{glyphs.warning} {task_id}", Tone.BAD), Span("  not in the plan")])
            continue
        word = group_of(known, done).value
        lines.append(
            [
                Span(f"{glyphs.ok if task_id in done else glyphs.waiting} ", Tone.MUTED),
                Span(f"{task_id}  ", Tone.INFO),
                Span(known.title),
                Span(f"  {word}", Tone.MUTED),
            ]
        )
    return lines


def _tries(task: Task, view: LoopView) -> list[Line]:
    return [
        [
            Span(f"iteration {e.iteration}  ", Tone.MUTED),
            Span(e.outcome.value.replace("_", " ")),
            Span(f"  {e.reason}" if e.reason else ""),
            Span(f"  {money(e.cost_usd)}  {seconds(e.seconds)}", Tone.MUTED),
        ]
        for e in view.iterations
        if e.task_id == task.id
    ]
