"""Show a task in detail, as titled groups of lines. Pure functions."""

from collections.abc import Sequence

from ralph_tui.domain.events import IterationFinished
from ralph_tui.domain.formatting import plural, shortlist, took
from ralph_tui.domain.plan.plan import Task, complete_ids
from ralph_tui.domain.sanitize import head, inert, one_line
from ralph_tui.domain.verification.check_commands import NAMES, runnable_command
from ralph_tui.domain.verification.verification import (
    MOST_SHOWN,
    Receipt,
    criterion_text,
    receipt_facts,
)
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import Iteration, RunHistory
from ralph_tui.present.board.board_rows import LOOK_OF_GROUP, group_of
from ralph_tui.present.sections.iteration_lines import look_of
from ralph_tui.present.text.figures import money, tokens
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.text.status_labels import ITERATION, RECEIPT
from ralph_tui.present.timeline.entry_lines import receipt_note

_MAX_DESCRIPTION = 20_000
_TAIL_LINES = 6


def task_parts(task: Task, view: LoopView, past: RunHistory | None, glyphs: Glyphs) -> list[Part]:
    """Return the parts of a task's detail that are not empty, without its history until the journal is read."""
    attempts = None if past is None else [it for it in past.iterations if it.task_id == task.id]
    is_latest = view.gate_task_id == task.id
    found = view.receipts if is_latest else past.receipts.get(task.id, ()) if past else ()
    receipts = {receipt.command: receipt for receipt in found}
    chosen: list[Line] = []
    if view.task_id == task.id and view.why:
        chosen = [[Span(view.why)]]
    elif (last := next((it for it in reversed(attempts or ()) if it.why), None)) is not None:
        chosen = [[Span(f"iteration {last.number}  ", Tone.MUTED), Span(last.why)]]
    parts = [
        Part("State", _state(task, view, glyphs)),
        Part("Description", [[Span(t)] for t in _text_lines(task.description)]),
        Part("Author's notes", [[Span(t)] for t in _text_lines(task.notes)]),
        Part("Source", _origin(task)),
        Part("Done when", _criteria(task, view, receipts, glyphs)),
        Part("Also checked", _also_checked(task, view, receipts, glyphs)),
        Part("Depends on", _related_tasks(task.dependencies, view, glyphs)),
        Part("Needed by", _related_tasks(_dependents(task, view), view, glyphs)),
        Part("Why it was chosen", chosen),
        Part("Why it is blocked", [[Span(b, Tone.BAD)] for b in task.blockers]),
        Part("Attempts", _attempt_history(task, view, attempts, glyphs)),
        Part("Verification", _completion_basis(task)),
        Part("Notes", [[Span(t)] for t in _text_lines(task.completion_notes or "")]),
    ]
    return [part for part in parts if part.lines]


def _text_lines(text: str) -> list[str]:
    return head(text, _MAX_DESCRIPTION).splitlines()


def _state(task: Task, view: LoopView, glyphs: Glyphs) -> list[Line]:
    group = group_of(task, complete_ids(view.tasks.values()))
    facts = [f"priority {task.priority}"]
    if task.model:
        facts.append(f"model {task.model}")
    if task.retry_count:
        facts.append(plural(task.retry_count, "failed attempt"))
    if task.estimated_tokens:
        facts.append(f"estimated {tokens(task.estimated_tokens)} tokens")
    if task.actual_tokens_used:
        facts.append(f"used {tokens(task.actual_tokens_used)} tokens")
    if task.actual_cost_usd:
        facts.append(f"cost {money(task.actual_cost_usd)}")
    sign, tone = ("warning", Tone.WARN) if task.is_unverified else LOOK_OF_GROUP[group]
    word = Span(f"{getattr(glyphs, sign)} {group.value}{', unverified' * task.is_unverified}", tone)
    return [[word, Span(f"   {', '.join(facts)}", Tone.MUTED)]]


def _completion_basis(task: Task) -> list[Line]:
    basis, commit = task.verification, task.commit
    if basis is None:
        return []
    tone = Tone.WARN if task.is_unverified else Tone.TEXT
    by = f", by {basis.by}" if basis.by else ""
    why = f": {basis.reason}" if basis.reason else ""
    lines: list[Line] = [[Span(f"{basis.outcome.value}{by}{why}", tone)]]
    named = {"Rests on": basis.rests_on, "Also changed": basis.also_changed, "Flaky": basis.flaky}
    lines += [
        [Span(f"{label}: ", Tone.MUTED), Span(inert(shortlist(names, MOST_SHOWN)), Tone.WARN)]
        for label, names in named.items()
        if names
    ]
    if commit is not None and commit.pending:
        lines.append([Span("not committed yet", Tone.WARN)])
    elif commit is not None and commit.hash:
        on = f" on {one_line(commit.branch, 60)}" if commit.branch else ""
        lines.append([Span(f"committed as {one_line(commit.hash[:10])}{on}")])
    return lines


def _origin(task: Task) -> list[Line]:
    if task.origin is None:
        return []
    place = task.origin.path or "standard input"
    facts = [f"{place} ({task.origin.format}), {task.origin.id}"]
    facts += [f"group: {task.group}"] if task.group else []
    facts += [f"labels: {', '.join(task.labels)}"] if task.labels else []
    return [[Span(fact)] for fact in facts]


def _also_checked(
    task: Task, view: LoopView, receipts: dict[str, Receipt], glyphs: Glyphs
) -> list[Line]:
    own = {runnable_command(criterion, view.checks) for criterion in task.verification_criteria}
    return [
        line
        for command, receipt in receipts.items()
        if command not in own
        for line in check_lines(command, receipt, glyphs)
    ]


def _criteria(
    task: Task, view: LoopView, receipts: dict[str, Receipt], glyphs: Glyphs
) -> list[Line]:
    lines: list[Line] = []
    for criterion in task.verification_criteria:
        text = criterion_text(criterion)
        command = runnable_command(criterion, view.checks) or NAMES.get(text.strip())
        if command is None:
            lines.append(
                [Span(f"{glyphs.note} ", Tone.MUTED), Span(text), Span("  prose", Tone.MUTED)]
            )
            continue
        lines += check_lines(text, receipts.get(command), glyphs)
    return lines


def check_lines(text: str, receipt: Receipt | None, glyphs: Glyphs) -> list[Line]:
    if receipt is None:
        not_run = [
            Span(f"{glyphs.idle} ", Tone.MUTED),
            Span(text),
            Span("  not run yet", Tone.MUTED),
        ]
        return [not_run]
    look = RECEIPT[receipt.status]
    note = f": {reason}" if (reason := receipt_note(receipt)) else ""
    lasted = f" in {took(receipt.seconds)}" if receipt.seconds else ""
    lines: list[Line] = [
        [
            Span(f"{getattr(glyphs, look.glyph)} ", look.tone),
            Span(text),
            Span(f"  {look.word}{lasted}{note}", look.tone),
        ]
    ]
    lines += [[Span("  "), Span(inert(fact), Tone.MUTED)] for fact in receipt_facts(receipt)]
    if not receipt.ok:
        tail = inert(receipt.tail).strip().splitlines()[-_TAIL_LINES:]
        lines += [[Span("  "), Span(printed, Tone.MUTED)] for printed in tail]
    return lines


def _dependents(task: Task, view: LoopView) -> tuple[str, ...]:
    return tuple(t.id for t in view.tasks.values() if task.id in t.dependencies)


def _related_tasks(ids: tuple[str, ...], view: LoopView, glyphs: Glyphs) -> list[Line]:
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


def _attempt_history(
    task: Task, view: LoopView, attempts: list[Iteration] | None, glyphs: Glyphs
) -> list[Line]:
    recent = [e for e in view.iterations if e.task_id == task.id]
    known: Sequence[Iteration | IterationFinished] = recent if attempts is None else attempts
    lines = [line for it in known for line in _attempt_lines(it, glyphs)]
    if len(known) > 1:
        spent, used = sum(it.cost_usd for it in known), sum(it.tokens for it in known)
        text = f"total {money(spent)}, {tokens(used)} tokens"
        lines.append([Span(text, Tone.TITLE)])
    return lines


def _attempt_lines(it: Iteration | IterationFinished, glyphs: Glyphs) -> list[Line]:
    if isinstance(it, Iteration):
        number, look, has_ended = it.number, look_of(it), bool(it.end)
    else:
        number, look, has_ended = it.iteration, ITERATION[it.outcome], True
    spent = f"  {money(it.cost_usd)}  {tokens(it.tokens)} tokens  {took(it.seconds)}"
    lines: list[Line] = [
        [
            Span(f"{getattr(glyphs, look.glyph)} ", look.tone),
            Span(f"iteration {number}  ", Tone.MUTED),
            Span(look.word, look.tone),
            Span(spent if has_ended else "", Tone.MUTED),
        ]
    ]
    if it.reason:
        lines.append([Span("  "), Span(it.reason)])
    return lines
