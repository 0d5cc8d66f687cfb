"""`ralph doctor`, `verify`, `guard check` and `notify`: try what a run needs and does."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ralph_tui.cli.console import note, note_check, out, out_facts, out_json
from ralph_tui.cli.options import AsJson, app, argument, examples, flag, whole
from ralph_tui.cli.project_lookup import find_project, read_project, start_directory
from ralph_tui.domain.errors import ExitCode, RalphError, SetupError
from ralph_tui.domain.sanitize import inert

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings
    from ralph_tui.domain.verification.verification import GateResult
    from ralph_tui.guard.core.policy import Policy


@app.command(epilog=examples("ralph doctor", "ralph doctor --try", "ralph doctor --end-strays"))
def doctor(
    *,
    as_json: AsJson = False,
    tries: Annotated[
        bool, flag("Also run the project's checks once, and show the login to the API.", "--try")
    ] = False,
    end_strays: Annotated[bool, flag("End leftover processes of a run that died.")] = False,
) -> None:
    """Check everything that a run needs, at no cost.

    With `--try`, each check of the project runs once, in the sandbox, as before the first task of a run: it passes,
    fails, or cannot start.
    """
    from ralph_tui.cli.doctor.checks import examine, orphans_of, print_findings

    if end_strays and (left := orphans_of(start_directory())):
        from ralph_tui.engine.safety import processes

        processes.end_orphans(left)
        note(f"{processes.described(left)} Ended.")
    findings = tuple(examine(start_directory(), tries=tries))
    if as_json:
        out_json([vars(finding) for finding in findings])
    else:
        print_findings(findings)
    well = all(finding.ok or finding.is_next for finding in findings if finding.needed)
    raise typer.Exit(int(ExitCode.COMPLETE if well else ExitCode.ERROR))


@app.command(epilog=examples("ralph notify", "ralph notify --test"))
def notify(
    *,
    test: Annotated[bool, flag("Send a test notification now.")] = False,
) -> None:
    """Show which commands get notifications, or send a test.

    A run notifies you when it waits for you, stops, finishes or fails. Configure notifications under `notify`.
    docs/run-options.md shows their content.
    """
    from ralph_tui.config.load import load_settings

    root = find_project().root
    settings = load_settings(root)
    if not settings.notify.commands:
        raise SetupError(
            "No notifications are set up: notify has no command.",
            "Set one: ralph config set notify.commands '[/home/me/bin/tell-me]'",
        )
    if not test:
        out(f"Events: {', '.join(settings.notify.on) or 'none'}")
        for command in settings.notify.commands:
            out(f"  command  {command}")
        return
    import asyncio

    failures = asyncio.run(_send_test(root, settings))
    for target, why in failures.items():
        out(f"{target}: {f'failed, {why}' if why else 'sent'}")
    raise typer.Exit(int(ExitCode.STOPPED if any(failures.values()) else ExitCode.COMPLETE))


async def _send_test(root: Path, settings: "Settings") -> Mapping[str, str]:
    import asyncio

    from ralph_tui.engine.run.notifications import Notification, NotificationTargets
    from ralph_tui.engine.safety.command_sandbox import confine
    from ralph_tui.store.project import Project

    held = await asyncio.to_thread(confine, root, settings.safety, os.environ)
    targets = NotificationTargets(Project(root), settings, held.sandbox, os.environ)
    name = targets.project_name
    notification = Notification(
        event="test",
        text=f"{name}: this is a test of ralph's notifications",
        project=name,
        root=str(root),
        reason="a person asked for a test",
    )
    return await targets.deliver(notification)


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


PhaseName = Literal["discovery", "planning", "building", "validation"]
"""The phases by name: importing the domain would slow every command down."""

guard = typer.Typer(
    name="guard", help="Check what the guard allows an agent to do.", rich_markup_mode=None
)
whole.add_typer(guard)


@guard.callback()
def _guard() -> None:
    """Keep `check` a subcommand; Typer would merge the only command of a group into the group."""


@guard.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=examples("ralph guard check 'git push'"),
)
def check(
    command: Annotated[list[str], argument("COMMAND", "The command, as the agent would write it.")],
    *,
    phase: Annotated[PhaseName, flag("The phase the agent is in.")] = "building",
    as_json: AsJson = False,
) -> None:
    """Judge a command without running it.

    Exits with 0 if the command may run, and with 1 if it is denied or needs approval.
    """
    from ralph_tui.guard.analysis.judge import check as judge

    line = command[0] if len(command) == 1 else shlex.join(command)
    found = judge(line, _policy(phase))
    if as_json:
        out_json(found)
    else:
        out_facts({name: value for name, value in found.items() if value})
    runs = found["verdict"] in ("allow", "rewrite")
    raise typer.Exit(int(ExitCode.COMPLETE if runs else ExitCode.STOPPED))


def _policy(phase: PhaseName) -> "Policy":
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.session.spec import guard_policy
    from ralph_tui.store.project import Project

    start = start_directory()
    try:
        project = Project.find(start)
    except RalphError:
        project = Project(start)
    return guard_policy(project, load_settings(project.root), Phase(phase))
