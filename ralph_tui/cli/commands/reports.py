"""`ralph status`, `tasks`, `history` and `report`: what is, and what was."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ralph_tui.cli.completion import every_task
from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, app, argument, examples, flag
from ralph_tui.cli.project_lookup import find_project, read_project
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.formatting import plural

if TYPE_CHECKING:
    from ralph_tui.present.sections.run_report import RunReport
    from ralph_tui.store.project import Project


@app.command(epilog=examples("ralph status --json"))
def status(
    *,
    verbose: Annotated[bool, flag("Also list the latest sessions.", "-v")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the project's status."""
    from ralph_tui.cli.status_report import print_status

    print_status(verbose=verbose, as_json=as_json)


@app.command(epilog=examples("ralph tasks --pending"))
def tasks(
    task_id: Annotated[
        str,
        argument("TASK", "The ID of one task, to show all its fields.", autocompletion=every_task),
    ] = "",
    *,
    pending: Annotated[bool, flag("Leave out complete tasks.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the tasks in plan order, or show one of them."""
    from ralph_tui.cli import status_report
    from ralph_tui.domain.plan.plan import TaskStatus

    plan = read_project(find_project()).plan
    if task_id:
        from ralph_tui.engine.control.plan_edits import find

        out_json(find(plan, task_id).model_dump(mode="json"))
        return
    shown = [t for t in plan.tasks if not (pending and t.status is TaskStatus.COMPLETE)]
    if as_json:
        out_json([task.model_dump(mode="json") for task in shown])
    elif not shown:
        out("No task is left to do." if plan.tasks else "The plan has no tasks yet.")
    else:
        status_report.tasks_table(plan, shown)


_MARK_BYTES = 200
"""How many bytes at the start of a report contain its mark."""


@app.command(epilog=examples("ralph history"))
def history(*, as_json: AsJson = False) -> None:
    """List the past sessions with their costs."""
    from ralph_tui.cli import status_report

    project = find_project()
    all_of_them, feature = project.read_sessions(), project.layout.feature
    sessions = tuple(one for one in all_of_them if one.feature == feature)
    if as_json:
        out_json([session.model_dump(mode="json") for session in sessions])
        return
    status_report.sessions_table(sessions)
    if more := len(all_of_them) - len(sessions):
        out(f"{plural(more, 'session')} of other features; `-f NAME` lists them.")


@app.command(epilog=examples("ralph report --html report.html", "ralph report > report.md"))
def report(
    *,
    html: Annotated[Path | None, flag("Write one HTML page to this file.")] = None,
    markdown: Annotated[Path | None, flag("Write Markdown to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report to share: tasks, checks, costs."""
    from ralph_tui.present.sections.run_report import report_html, report_markdown

    if sum((html is not None, markdown is not None, as_json)) > 1:
        message = "--html, --markdown and --json exclude each other."
        raise RalphError(message, "Give one of them.")
    found = _collect(find_project())
    if html is not None:
        _write(html, report_html(found))
    elif markdown is not None:
        _write(markdown, report_markdown(found))
    elif as_json:
        out_json({**found.model_dump(mode="json"), "complete": found.complete})
    else:
        sys.stdout.write(report_markdown(found))


def _collect(project: "Project") -> "RunReport":
    from ralph_tui.present.sections.run_report import collect_report
    from ralph_tui.store.journal.journal_library import JournalLibrary

    documents = read_project(project)
    library = JournalLibrary(project.root, feature=lambda: documents.feature)
    history, judged = library.refresh(), project.read_report()
    if library.unreadable:
        note(f"Skipped {plural(library.unreadable, 'unreadable line')} of the journal.")
    name, feature = project.root.name, documents.feature
    return collect_report(name, feature, documents.state, documents.plan, history, judged)


def _write(target: Path, text: str) -> None:
    """Write the report to a file; overwrite only an older report."""
    from ralph_tui.present.sections.run_report import MARK
    from ralph_tui.store.io.files import explained, write_atomic

    if target.is_dir():
        raise RalphError(f"{target} is a directory.", "Name a file for the report.")
    with explained("write", target):
        if target.exists():
            with target.open("rb") as file:
                if MARK.encode() not in file.read(_MARK_BYTES):
                    message = f"{target} exists and is not a report of ralph."
                    raise RalphError(message, "Name another file, or delete this one first.")
        write_atomic(target, text.encode(), mode=0o644)
    note(f"Wrote the report to {target}.")
