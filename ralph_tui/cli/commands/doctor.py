"""`ralph doctor` and `notify`: check what a run needs, and whether notifications arrive."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, start_directory
from ralph_tui.domain.errors import ExitCode, SetupError

if TYPE_CHECKING:
    from ralph_tui.cli.doctor.guard_layers import Finding
    from ralph_tui.config.settings import Settings
    from ralph_tui.engine.run.webhook import Webhook
    from ralph_tui.present.text.glyphs import Glyphs

app = typer.Typer()


@app.command(epilog=examples("ralph doctor", "ralph doctor --end-strays"))
def doctor(
    *,
    project_root: ProjectRoot = None,
    as_json: AsJson = False,
    end_strays: Annotated[
        bool, typer.Option("--end-strays", help="End leftover processes of a run that died.")
    ] = False,
) -> None:
    """Check everything that a run needs, at no cost."""
    from ralph_tui.cli.doctor.checks import examine, orphans_of

    if end_strays and (left := orphans_of(start_directory(project_root))):
        from ralph_tui.engine.safety import orphan_processes

        orphan_processes.end_orphans(left)
        note(f"{orphan_processes.described(left)} Ended.")
    findings = tuple(examine(start_directory(project_root)))
    if as_json:
        out_json([vars(finding) for finding in findings])
    else:
        _print(findings)
    well = all(finding.ok or finding.is_next for finding in findings if finding.needed)
    raise typer.Exit(int(ExitCode.COMPLETE if well else ExitCode.ERROR))


@app.command(epilog=examples("ralph notify", "ralph notify --test"))
def notify(
    *,
    test: Annotated[
        bool,
        typer.Option("--test", help="Send a test notification now."),
    ] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Show where notifications go, or send a test.

    A run notifies you when it waits for you, stops, finishes or fails. Configure notifications under `notify`.
    docs/run-options.md shows their content.
    """
    from ralph_tui.config.load import load_settings
    from ralph_tui.engine.run.webhook import webhook_of

    root = find_project(project_root).root
    settings = load_settings(root)
    webhook = webhook_of(settings.notify.webhook, os.environ)
    if not settings.notify.commands and webhook is None:
        raise SetupError(
            "No notifications are set up: notify has no command and no webhook.",
            "Set one: ralph config set notify.webhook https://…",
        )
    if not test:
        out(f"Events: {', '.join(settings.notify.on) or 'none'}")
        for command in settings.notify.commands:
            out(f"  command  {command}")
        if webhook is not None:
            out(f"  webhook  {webhook.host}")
        return
    import asyncio

    failures = asyncio.run(_send_test(root, settings, webhook))
    for target, why in failures.items():
        out(f"{target}: {f'failed, {why}' if why else 'sent'}")
    raise typer.Exit(int(ExitCode.STOPPED if any(failures.values()) else ExitCode.COMPLETE))


async def _send_test(
    root: Path, settings: "Settings", webhook: "Webhook | None"
) -> Mapping[str, str]:
    import asyncio

    from ralph_tui.engine.run.notifications import Notification, deliver, notification_sandbox
    from ralph_tui.engine.safety.command_sandbox import confine
    from ralph_tui.store.project import Project

    held = await asyncio.to_thread(confine, root, settings.safety, os.environ)
    name = settings.project.name or root.name
    notification = Notification(
        event="test",
        text=f"{name}: this is a test of ralph's notifications",
        project=name,
        root=str(root),
        reason="a person asked for a test",
    )
    room = notification_sandbox(Project(root), settings, held.sandbox, os.environ)
    return await deliver(notification, settings.notify.commands, webhook, room)


def _print(findings: "tuple[Finding, ...]") -> None:
    from ralph_tui.present.text.glyphs import choose

    signs = choose(encoding=sys.stdout.encoding)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        sign, word = _sign_and_word(finding, signs)
        typer.echo(f"{sign} {word} {finding.name.ljust(width)}  ", nl=False)
        out(finding.text)
        if not finding.ok and finding.advice:
            out(f"{' ' * 8}{finding.advice}")


def _sign_and_word(finding: "Finding", signs: "Glyphs") -> tuple[str, str]:
    if finding.ok:
        return signs.ok, "ok   "
    if finding.is_next:
        return signs.chevron, "next "
    return (signs.failed, "wrong") if finding.needed else (signs.warning, "note ")
