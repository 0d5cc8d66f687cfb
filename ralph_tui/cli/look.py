"""Commands that only look: they take no lock and change nothing."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.here import find_project, read_project
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.say import note, out, out_json
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.store.project import Project


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
    from ralph_tui.domain.plan.plan import TaskStatus

    plan = read_project(find_project(project_root)).plan
    shown = [t for t in plan.tasks if not (pending and t.status is TaskStatus.COMPLETE)]
    if as_json:
        out_json([task.model_dump(mode="json") for task in shown])
    elif not shown:
        out("No task is left to do." if plan.tasks else "The plan has no tasks yet.")
    else:
        report.tasks_table(plan, shown)


class Form(StrEnum):
    """Forms of the history for other programs."""

    CSV = "csv"
    JSON = "json"
    MD = "md"


def history(
    *,
    project_root: ProjectRoot = None,
    as_json: AsJson = False,
    form: Annotated[
        Form | None,
        typer.Option(
            "--as", help="Print every iteration with its figures, as the screen exports it."
        ),
    ] = None,
) -> None:
    """List the sessions that ended, with their cost."""
    from ralph_tui.cli import report

    if form is not None:
        if as_json:
            raise RalphError("--as and --json are two forms.", "Give one of them.")
        sys.stdout.write(_exported(find_project(project_root), form))
        return
    sessions = find_project(project_root).read_sessions()
    if as_json:
        out_json([session.model_dump(mode="json") for session in sessions])
    else:
        report.sessions_table(sessions)


def _exported(project: "Project", form: Form) -> str:
    from ralph_tui.domain.plan.plan import TaskStatus
    from ralph_tui.tui.data.exporting import export_text, left_of
    from ralph_tui.tui.data.journal_library import Library
    from ralph_tui.tui.render.figures import plural

    library = Library(project.root)
    chronicle = library.refresh()
    plan = read_project(project).plan
    left = sum(task.status is not TaskStatus.COMPLETE for task in plan.tasks)
    forecast = left_of(chronicle, left if plan.tasks else None)
    text = export_text(form, chronicle, library.metrics(), forecast)
    if library.unreadable:
        note(f"Passed over in the journal: {plural(library.unreadable, 'unreadable line')}.")
    return text


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph status --json"))(status)
    app.command(epilog=examples("ralph tasks --pending"))(tasks)
    app.command(epilog=examples("ralph history", "ralph history --as csv > history.csv"))(history)
