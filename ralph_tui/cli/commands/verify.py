"""`ralph verify`: runs the checks of a task, as its gate would."""

from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, read_project
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.sanitize import inert

if TYPE_CHECKING:
    from ralph_tui.domain.events import Event
    from ralph_tui.domain.verification.verification import GateResult, Receipt

app = typer.Typer()

_TAIL_LINES = 20


@app.command(epilog=examples("ralph verify", "ralph verify task-002 --json"))
def verify(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="The task to verify. Default: the current task, or else the next one.",
            show_default=False,
        ),
    ] = None,
    *,
    project_root: ProjectRoot = None,
    as_json: AsJson = False,
) -> None:
    """Run a task's checks as its gate would.

    Shows the evidence for each check and records nothing: the task stays as it is. Exits with 0 if every check
    passed, otherwise with 1.
    """
    import asyncio

    from ralph_tui.config.load import load_settings
    from ralph_tui.engine.run.verify_task import task_to_verify, verify_by_hand

    project = find_project(project_root)
    chosen = task_to_verify(read_project(project).plan, task)
    settings = load_settings(project.root)
    result = asyncio.run(verify_by_hand(project.root, settings, chosen, _report_check))
    if as_json:
        out_json(
            {**result.model_dump(mode="json"), "passed": result.passed, "verified": result.verified}
        )
    else:
        for text in _result_lines(result):
            out(text)
    raise typer.Exit(int(ExitCode.COMPLETE if result.verified else ExitCode.STOPPED))


def _report_check(event: "Event") -> None:
    from ralph_tui.domain.events import GateStarted

    if isinstance(event, GateStarted) and event.commands:
        count = len(event.commands)
        note(f"Verifying {event.task_id} ({count} check{'' if count == 1 else 's'})")


def _result_lines(result: "GateResult") -> list[str]:
    lines = []
    for receipt in result.receipts:
        lines += _receipt_lines(receipt)
    lines += [f"not checked: {inert(text)}" for text in result.unchecked]
    if result.verified:
        return [*lines, f"{result.task_id} passes: {result.basis}."]
    if result.passed:
        return [*lines, f"{result.task_id} is not verified: {result.basis}."]
    return [*lines, f"{result.task_id} does not pass: {inert(result.refusal)}."]


def _receipt_lines(receipt: "Receipt") -> list[str]:
    from ralph_tui.domain.verification.verification import receipt_facts

    status = receipt.status.value.replace("_", " ")
    reason = f": {inert(receipt.reason)}" if receipt.reason else ""
    lines = [f"{status}  {inert(receipt.command)}{reason}"]
    lines += [f"    {inert(fact)}" for fact in receipt_facts(receipt)]
    if not receipt.ok:
        printed = inert(receipt.tail).strip().splitlines()[-_TAIL_LINES:]
        lines += [f"  | {text}" for text in printed]
    return lines
