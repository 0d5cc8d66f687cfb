"""Show iterations as a list, and one iteration as a summary. Pure functions."""

from collections.abc import Iterable, Sequence
from functools import partial

from rich.cells import cell_len

from ralph_tui.domain.formatting import plural, took
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.run_history import Iteration, Run
from ralph_tui.present.text.figures import money, tokens, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LazyLines, LineBlock, Part
from ralph_tui.present.text.spans import Line, Span, Tone, row, width_of, wrap
from ralph_tui.present.text.status_labels import END, ITERATION, Look

INDENT = " " * 6

RUNNING = Look("running", "running", Tone.INFO)


def look_of(iteration: Iteration) -> Look:
    return RUNNING if not iteration.end else ITERATION[iteration.outcome]


def iteration_blocks(
    iterations: Sequence[Iteration], runs: Iterable[Run], width: int, glyphs: Glyphs
) -> list[LineBlock]:
    """Return the iterations as blocks, newest first, below a heading for each run."""
    heads = {run.run_id: run for run in runs}
    blocks: list[LineBlock] = []
    shown: str | None = None
    for iteration in reversed(iterations):
        if iteration.run_id != shown:
            shown = iteration.run_id
            if blocks:
                blocks.append(LineBlock(None, [[]]))
            blocks.append(LineBlock(None, [_run_head(heads.get(shown), width, glyphs)]))
        room = width - len(INDENT)
        folds = cell_len(_title_or_reason(iteration)) > room
        lines = LazyLines(partial(_iteration_lines, iteration, width, glyphs), 2 + folds)
        blocks.append(LineBlock(iteration.start, lines, folds=False))
    return blocks


def _run_head(run: Run | None, width: int, glyphs: Glyphs) -> Line:
    if run is None:
        return [Span("an earlier run", Tone.MUTED)]
    end = run.finished
    cut_off = ITERATION[None].word if run.end else RUNNING.word
    state = END[end.status].word if end else cut_off
    right = (
        [Span(f"{money(end.cost_usd)} {glyphs.between} {took(end.seconds)}", Tone.MUTED)]
        if end
        else []
    )
    left = [Span(f"run of {when(run.started_at)}", Tone.INFO)]
    ending = [Span(f"  {state}", Tone.MUTED)]
    if width_of([*left, *ending, *right]) < width:
        left += ending
    return row(left, right, width, glyphs.ellipsis)


def _iteration_lines(it: Iteration, width: int, glyphs: Glyphs) -> list[Line]:
    look = look_of(it)
    left = [
        Span(f"{getattr(glyphs, look.glyph)} ", look.tone),
        Span(f"{it.number:>3} ", Tone.MUTED),
        Span(f"{it.task_id}  ", Tone.TITLE),
        Span(look.word, look.tone),
    ]
    cost, lasted = money(it.cost_usd), took(it.seconds)
    brief = (f"{cost} {lasted.rjust(7)}", f"{cost} {lasted}", cost)
    share = f"{it.percent:.0f} %" if it.capacity else ""
    more = f"{tokens(it.tokens):>6} tokens {share:>5}  {cost:>7} {lasted:>7}"
    figures = (f"{more}  {when(it.started_at)}", more, *brief) if it.end else ()
    # The figures are shortened rather than the outcome, and never take more than half of the row.
    room = min(width - width_of(left) - 1, width // 2)
    fits = next((text for text in figures if len(text) <= room), "")
    first = row(left, [Span(fits, Tone.MUTED)] if fits else [], width, glyphs.ellipsis)
    whole, *rest = wrap(_title_or_reason(it), width - len(INDENT))
    folded = [whole, *([" ".join(rest)] if rest else [])]
    below = [
        row([Span(f"{INDENT}{text}", Tone.MUTED)], [], width, glyphs.ellipsis) for text in folded
    ]
    return [first, *below]


def _title_or_reason(it: Iteration) -> str:
    return one_line(it.title or it.reason, 200)


def summary_parts(it: Iteration, run: Run | None, glyphs: Glyphs) -> list[Part]:
    look = look_of(it)
    about: Line = [Span(f"{it.task_id}  ", Tone.TITLE), Span(it.title)]
    outcome: list[Line] = [[Span(f"{getattr(glyphs, look.glyph)} {look.word}", look.tone)]]
    outcome += [[Span(it.reason)]] if it.reason else []
    outcome += [[Span(f"committed as {it.commit[:10]}")]] if it.commit else []
    outcome += [[Span("undone by you", Tone.WARN)]] if it.is_undone else []
    files: list[Line] = [[Span(f"{glyphs.note} ", Tone.MUTED), Span(path)] for path in it.files]
    session = (
        ("id", it.session_id or "unknown"),
        ("model", it.model),
        ("phase", it.phase.value),
        ("run", run.run_id[:12] if run else ""),
    )
    return [
        Part("Task", [about, *_facts(("why", it.why), ("attempt", str(it.attempt)))]),
        Part("Outcome", outcome),
        Part("Figures", _figures(it)),
        Part("Session", _facts(*session)),
        Part(f"Files changed ({len(it.files)})", files or [[Span("none", Tone.MUTED)]]),
    ]


def _figures(it: Iteration) -> list[Line]:
    context = f"{tokens(it.context_tokens)} of {tokens(it.capacity)} ({it.percent:.0f} %)"
    return _facts(
        ("cost", money(it.cost_usd)),
        ("tokens", tokens(it.tokens)),
        ("context", context if it.capacity else ""),
        ("time", took(it.seconds) if it.end else ""),
        ("started", when(it.started_at)),
        ("denied", plural(it.denials, "call") if it.denials else ""),
        ("hand-off", "yes, to a fresh context" if it.handoff else ""),
    )


def _facts(*pairs: tuple[str, str]) -> list[Line]:
    return [[Span(name.ljust(10), Tone.MUTED), Span(value)] for name, value in pairs if value]
