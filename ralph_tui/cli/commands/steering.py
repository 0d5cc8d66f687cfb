"""`ralph pause`, `answer`, `approve`, `attach` and the other commands that steer or follow a loop from another terminal."""

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ralph_tui.cli.completion import open_questions
from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, Headless, Json, app, argument, examples, flag, option
from ralph_tui.cli.project_lookup import chosen_project, find_project, open_controls, owner_of
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.cli.run.headless import Printer
    from ralph_tui.domain.documents.questions import AskedQuestion
    from ralph_tui.domain.project_state import Approval, StopMode
    from ralph_tui.store.lock import Owner
    from ralph_tui.store.project import Project


@app.command(epilog=examples("ralph pause"))
def pause() -> None:
    """Pause the loop after this iteration. Repeat the command to pause at once."""
    out(f"The loop pauses {_when(open_controls().pause())}. `ralph resume` continues.")


@app.command(epilog=examples("ralph resume"))
def resume() -> None:
    """Resume a paused loop, or withdraw a pending pause."""
    open_controls().resume()
    out("The loop continues.")


@app.command(epilog=examples("ralph stop --now"))
def stop(
    *,
    now: Annotated[bool, flag("Stop without waiting for the iteration to end.")] = False,
) -> None:
    """Stop the loop after this iteration. Repeat the command to stop at once."""
    out(f"The loop stops {_when(open_controls().stop(now=now))}.")


@app.command(
    epilog=examples('ralph inject "Use argparse, not click."', "ralph inject --now - < notes.md")
)
def inject(
    text: Annotated[
        list[str], argument("TEXT", "The guidance. `-` reads standard input, `@FILE` reads a file.")
    ],
    *,
    now: Annotated[bool, flag("Send it to the running session.")] = False,
) -> None:
    """Give guidance to the next or the current iteration.

    While no loop is running, the guidance is stored for the next run.
    """
    from ralph_tui.cli.run.inputs import read_guidance

    controls = open_controls()
    controls.inject(read_guidance(text), now=now)
    if now and controls.has_loop:
        out("The running session gets it as soon as possible.")
    else:
        out(f"{'' if controls.has_loop else 'No loop is running. '}Queued for the next iteration.")


def _when(halt: "StopMode") -> str:
    from ralph_tui.domain.project_state import StopMode

    return "now" if halt is StopMode.NOW else "after this iteration (repeat to do so at once)"


BY: Final = "command"


@app.command(
    epilog=examples(
        "ralph answer",
        "ralph answer q-1a2b3c4d-1 2",
        'ralph answer q-1a2b3c4d-1 "Both"',
        'ralph answer q-5e6f7a8b-1 3 "Not against the real server"',
    )
)
def answer(
    question_id: Annotated[
        str,
        argument(
            "ID",
            "The ID of a question. Without one, list the open questions.",
            autocompletion=open_questions,
        ),
    ] = "",
    text: Annotated[
        list[str] | None,
        argument(
            "TEXT",
            "Option numbers or labels, separated by commas, or your own words. `-` reads standard input.",
        ),
    ] = None,
    *,
    decline: Annotated[
        bool, flag("Leave the decision to the model. A permission is denied.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer an open question or permission, or list them."""
    from ralph_tui.cli.run.inputs import given_answer, one_text, standard_input
    from ralph_tui.domain.permissions import answer_text

    controls = open_controls()
    questions = controls.open_questions()
    if not question_id:
        _list(questions, as_json=as_json)
        return
    asked = next((q for q in questions if q.id == question_id), None)
    typed = standard_input("answer") if text == ["-"] else one_text(text or ())
    given = given_answer(asked, typed, decline=decline)
    answered = controls.answer(question_id, given)
    result = answer_text(answered)
    if answered.permission is None and not given.declined:
        result = f"answered: {result}"
    out(f"{answered.question.header or answered.question.question}: {result}")


@app.command(epilog=examples("ralph approve"))
def approve() -> None:
    """Approve the specs, the plan or the result."""
    decided = open_controls().decide(approved=True, by=BY)
    out(f"Approved: {_about(decided)}{f' ({decided.summary})' if decided.summary else ''}.")
    _hint_if_idle()


@app.command(epilog=examples('ralph reject --reason "The report lacks a total"'))
def reject(
    reason: Annotated[str, option("TEXT", "What is wrong. The model works on it next.", "-r")] = "",
) -> None:
    """Reject the specs, the plan or the result, and say why."""
    decided = open_controls().decide(approved=False, reason=reason, by=BY)
    out(f"Rejected: {_about(decided)}: {decided.reason}")
    _hint_if_idle()


def _about(decided: "Approval") -> str:
    from ralph_tui.domain.project_state import DECISIONS  # here to keep `ralph --help` fast

    return DECISIONS[decided.kind]


def _hint_if_idle() -> None:
    if owner_of(find_project()) is None:
        out("No loop is running; `ralph run` continues from here.")


def _list(questions: "tuple[AskedQuestion, ...]", *, as_json: bool) -> None:
    if as_json:
        out_json([question.model_dump(mode="json") for question in questions])
        return
    if not questions:
        out("No question is open.")
        return
    from ralph_tui.present.text.glyphs import choose
    from ralph_tui.present.timeline.event_lines import question_lines

    signs = choose(encoding=sys.stdout.encoding)
    for asked in questions:
        out(asked.id)
        for line in question_lines(signs, asked):
            out(f"  {line}")
    out()
    first = questions[0]
    no = "3 WHY denies it" if first.permission else "--decline leaves it to the model"
    out(f"ralph answer {first.id} 1   answers the first; {no}.")


@app.command(epilog=examples("ralph attach", "ralph attach --json"))
def attach(
    *,
    as_json: Json = False,
    headless: Headless = False,
) -> None:
    """Follow a loop that runs in another process.

    On a terminal, this opens the screen, and all keys work. Otherwise, it prints lines until the loop ends. Detaching
    does not stop the loop.
    """
    import asyncio

    from ralph_tui.cli.console import no_screen
    from ralph_tui.cli.run.mode import open_project
    from ralph_tui.store.lock import LoopLock

    project = find_project()
    owner = LoopLock(project.layout).owner()
    if owner is None:
        raise RalphError(
            f"No loop is running in {project.root}.",
            "`ralph run` starts one; `ralph history` lists what ran.",
        )
    if owner.feature != project.layout.feature:
        from ralph_tui.domain.features import shown_name

        raise RalphError(
            f"The loop works on {shown_name(owner.feature)}, not on {shown_name(project.layout.feature)}.",
            "`ralph attach` without `-f` follows it.",
        )
    if not (as_json or headless or no_screen()):
        with chosen_project(project.root):
            raise typer.Exit(open_project())
    from ralph_tui.cli.run.headless import json_printer, line_printer
    from ralph_tui.store.journal.journal import last_run

    show = json_printer(sys.stdout) if as_json else line_printer(sys.stdout)
    found = last_run(project.layout.events)
    try:
        asyncio.run(_follow(project, owner, found[0] if found else 0, show))
    except KeyboardInterrupt:
        note("Detached. The loop continues.")


async def _follow(project: "Project", owner: "Owner", start: int, show: "Printer") -> None:
    from ralph_tui.domain.events import LoopFinished
    from ralph_tui.engine.run.observer import owner_is_not, run_until
    from ralph_tui.store.journal.journal import read_events, tail_events
    from ralph_tui.store.lock import LoopLock

    path, shown, is_over = project.layout.events, start, False

    async def tail() -> None:
        nonlocal shown, is_over
        async with contextlib.aclosing(tail_events(path, start)) as found:
            async for offset, event in found:
                show(event)
                shown = offset
                if is_over := isinstance(event, LoopFinished):
                    return

    await run_until(owner_is_not(LoopLock(project.layout), owner), tail())
    # The process may be gone although its last events have not been read yet.
    for _, event in () if is_over else read_events(path, shown):
        show(event)
        is_over = is_over or isinstance(event, LoopFinished)
    if not is_over:
        note("the loop ended without a final event.")
