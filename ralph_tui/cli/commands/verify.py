"""`ralph verify`: runs the checks of a task, as its gate would."""

from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, note_check, out, out_json
from ralph_tui.cli.options import AsJson, app, argument, examples, flag
from ralph_tui.cli.project_lookup import find_project, read_project
from ralph_tui.domain.errors import ExitCode, RalphError
from ralph_tui.domain.sanitize import inert

if TYPE_CHECKING:
    from ralph_tui.domain.verification.verification import GateResult


_TAIL_LINES = 20


@app.command(
    epilog=examples("ralph verify", "ralph verify task-002 --json", "ralph verify --explain")
)
def verify(
    names: Annotated[
        list[str] | None,
        argument(
            "TASK",
            "The task to verify. Default: the current task, or else the next one.",
        ),
    ] = None,
    *,
    explain: Annotated[
        bool,
        flag(
            "Say of each changed file, or of the files that you name instead of a task, why it counts as product "
            "code or as part of the checks. Runs nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a task's checks as its gate would.

    Shows the evidence for each check and records nothing: the task stays as it is. Exits with 0 if every check
    passed, otherwise with 1.
    """
    import asyncio

    from ralph_tui.config.load import load_settings
    from ralph_tui.engine.run.verify_task import explained, task_to_verify, verify_by_hand

    project = find_project()
    plan, settings = read_project(project).plan, load_settings(project.root)
    if explain:
        told = explained(project.root, settings, plan, tuple(names or ()))
        if as_json:
            out_json([one._asdict() for one in told])
            return
        for one in told:
            out(f"{one.path}: {one.side}, because it {one.reason}")
        if not told:
            note("No file has changed since the checks were approved. Name a file to explain.")
        return
    if names and len(names) > 1:
        raise RalphError(
            "Only one task can be verified at a time.", "To explain files, add --explain."
        )
    chosen = task_to_verify(plan, names[0] if names else None)
    result = asyncio.run(verify_by_hand(project.root, settings, chosen, note_check))
    if as_json:
        out_json(
            {**result.model_dump(mode="json"), "passed": result.passed, "verified": result.verified}
        )
    else:
        for text in result_lines(result):
            out(text)
    raise typer.Exit(int(ExitCode.COMPLETE if result.verified else ExitCode.STOPPED))


def result_lines(result: "GateResult") -> list[str]:
    from ralph_tui.domain.verification.verification import receipt_facts

    lines = []
    for receipt in result.receipts:
        status = receipt.status.value.replace("_", " ")
        reason = f": {inert(receipt.reason)}" if receipt.reason else ""
        lines.append(f"{status}  {inert(receipt.command)}{reason}")
        lines += [f"    {inert(fact)}" for fact in receipt_facts(receipt)]
        printed = [] if receipt.ok else inert(receipt.tail).strip().splitlines()
        lines += [f"  | {text}" for text in printed[-_TAIL_LINES:]]
    lines += [f"not checked: {inert(text)}" for text in result.unchecked]
    lines += [f"rests on: {inert(path)}" for path in result.rests_on]
    lines += [
        f"also changed: {inert(path)}, which made no difference" for path in result.also_changed
    ]
    if result.verified:
        return [*lines, f"{result.task_id} passes: {result.basis}."]
    if result.passed:
        needs = "you" if result.for_person else "a reviewer"
        left = (
            f", but {inert(result.question)}. {needs.capitalize()} must agree"
            if result.question
            else ""
        )
        return [*lines, f"{result.task_id} is not verified: {result.basis}{left}."]
    return [*lines, f"{result.task_id} does not pass: {inert(result.refusal)}."]
