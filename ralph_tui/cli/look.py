"""Commands that only look: they take no lock and change nothing."""

from typing import Annotated

import typer

from ralph_tui.cli.here import find_project, read_project
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.say import out, out_json


def status(
    *,
    project_root: ProjectRoot = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Add the latest sessions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show where the project stands."""
    from ralph_tui.cli.report import print_status

    print_status(project_root, verbose=verbose, as_json=as_json)


def tasks(
    *,
    project_root: ProjectRoot = None,
    pending: Annotated[bool, typer.Option("--pending", help="Only tasks not complete.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the tasks of the plan, in its order."""
    from ralph_tui.cli import report
    from ralph_tui.domain.plan import TaskStatus

    plan = read_project(find_project(project_root)).plan
    shown = [t for t in plan.tasks if not (pending and t.status is TaskStatus.COMPLETE)]
    if as_json:
        out_json([task.model_dump(mode="json") for task in shown])
    elif not shown:
        out("No task is left to do." if plan.tasks else "The plan has no tasks yet.")
    else:
        report.tasks_table(plan, shown)


def history(*, project_root: ProjectRoot = None, as_json: AsJson = False) -> None:
    """List the sessions that ended, with their cost."""
    from ralph_tui.cli import report

    sessions = find_project(project_root).read_sessions()
    if as_json:
        out_json([session.model_dump(mode="json") for session in sessions])
    else:
        report.sessions_table(sessions)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph status --json"))(status)
    app.command(epilog=examples("ralph tasks --pending"))(tasks)
    app.command(epilog=examples("ralph history"))(history)
