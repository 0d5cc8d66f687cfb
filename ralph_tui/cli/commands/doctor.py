"""`ralph doctor` and `notify`: check what a run needs, and whether notifications arrive."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, app, examples, flag
from ralph_tui.cli.project_lookup import find_project, start_directory
from ralph_tui.domain.errors import ExitCode, SetupError

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings
    from ralph_tui.engine.run.notifications import Webhook


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
    from ralph_tui.cli.doctor.check_trial import print_findings
    from ralph_tui.cli.doctor.checks import examine, orphans_of

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
    """Show where notifications go, or send a test.

    A run notifies you when it waits for you, stops, finishes or fails. Configure notifications under `notify`.
    docs/run-options.md shows their content.
    """
    from ralph_tui.config.load import load_settings
    from ralph_tui.engine.run.notifications import webhook_of

    root = find_project().root
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

    from ralph_tui.engine.run.notifications import Notification, NotificationTargets
    from ralph_tui.engine.safety.command_sandbox import confine
    from ralph_tui.store.project import Project

    held = await asyncio.to_thread(confine, root, settings.safety, os.environ)
    targets = NotificationTargets(Project(root), settings, webhook, held.sandbox, os.environ)
    name = targets.project_name
    notification = Notification(
        event="test",
        text=f"{name}: this is a test of ralph's notifications",
        project=name,
        root=str(root),
        reason="a person asked for a test",
    )
    return await targets.deliver(notification)
