"""Prints what the next run would do first, and its prompt, without running anything."""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ralph_tui.cli.console import note, out, out_facts, out_json
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.verification.review import criteria_count
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.run.dry_run import NextRun, look_ahead
from ralph_tui.present.text.figures import zoned


def show_next_run(
    root: Path,
    overrides: Mapping[str, object],
    request: RunRequest,
    *,
    facts: bool,
    prompt: bool,
    as_json: bool,
) -> int:
    """Print what a run would do first; return its exit status if it would end at once, otherwise 0."""
    from ralph_tui.cli.composition import preview_services

    found = asyncio.run(look_ahead(root, preview_services(root, overrides), request))
    if as_json:
        text = {"prompt": found.prompt} if prompt else {}
        out_json({**found.model_dump(mode="json"), **text})
        return found.status
    if facts:
        _print_facts(found)
    if prompt and found.prompt is None:
        note(f"There is no prompt to show. {found.first} {found.hint}")
    elif prompt and found.prompt is not None:
        if facts:
            out()
        # A terminal obeys control characters; a pipe gets the exact text.
        sys.stdout.write(inert(found.prompt) if sys.stdout.isatty() else found.prompt)
    return found.status


def _print_facts(found: NextRun) -> None:
    out(zoned(found.first))
    if found.hint:
        out(zoned(found.hint))
    for text in found.before:
        out(zoned(f"First: {text}"))
    out()
    out_facts({name: zoned(text) for name, text in _facts(found)})
    out()
    out("This was a dry run: nothing was started or written.")


def _facts(found: NextRun) -> Iterator[tuple[str, str]]:
    yield "Project", found.project
    if found.feature:
        yield "Feature", found.feature
    if found.branch:
        yield "Branch", found.branch
    yield "Phase", f"{found.phase.value}: {found.why}"
    if found.task is not None:
        task = found.task
        attempt = f", attempt {task.attempt}" if task.attempt > 1 else ""
        yield "Task", f"{task.id}{attempt}: {task.title}"
        yield "Chosen by", task.why
    if found.status == 0 or found.task is not None:
        yield "Model", found.model
    for number, check in enumerate(found.checks, 1):
        yield f"Check {number}", check
    if found.reviewed:
        yield (
            "Review",
            f"a second session judges {criteria_count(found.reviewed)}",
        )
    yield (
        "Iterations",
        f"at most {found.max_iterations}, each at most {duration(found.iteration_timeout_seconds)}",
    )
    yield (
        "Requests",
        f"at most {found.rate_limit_per_hour} an hour" if found.rate_limit_per_hour else "no limit",
    )
    yield "Cost", _cost(found)
    if found.prompt_chars is not None:
        yield "Prompt", f"{found.prompt_chars:,} characters"


def _cost(found: NextRun) -> str:
    limits = found.cost_limits
    parts = (
        (limits.per_iteration, "an iteration"),
        (limits.per_session, "this run"),
        (limits.total, "in total"),
    )
    most = ", ".join(f"${usd:.2f} {what}" for usd, what in parts if usd)
    return f"${found.spent_usd:.2f} spent; {f'at most {most}' if most else 'no limit'}"
