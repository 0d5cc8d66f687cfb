"""`ralph archive`: archives a plan with its documents, or only its complete tasks, and lists the archives."""

from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import features
from ralph_tui.cli.console import note, out, out_json, out_table
from ralph_tui.cli.options import AsJson, app, argument, chosen_feature, examples, flag
from ralph_tui.cli.project_lookup import find_project
from ralph_tui.domain.formatting import plural

if TYPE_CHECKING:
    from pathlib import Path

    from ralph_tui.domain.documents.archive import ArchiveSummary


@app.command(
    epilog=examples(
        "ralph archive", "ralph archive login", "ralph archive --complete", "ralph archive --list"
    )
)
def archive(
    name: Annotated[
        str | None, argument("NAME", "Archive this feature.", autocompletion=features)
    ] = None,
    *,
    complete: Annotated[bool, flag("Move the complete tasks out of the plan.")] = False,
    listed: Annotated[bool, flag("List the archives.", "--list")] = False,
    as_json: AsJson = False,
) -> None:
    """Archive the plan.

    Copies the plan, specs, progress log and report to .ralph/archive. The plan stays. With --complete, complete
    tasks leave the plan, and tasks that depend on them can start. Refused while a loop runs.
    """
    if listed:
        if complete or name:
            raise typer.BadParameter("--list takes nothing else; it lists every archive.")
        _list(find_project("").root, as_json=as_json)
        return
    with chosen_feature(name):
        from ralph_tui.engine.control.archiving import archive_by_hand
        from ralph_tui.store.io.files import utc_now

        written = archive_by_hand(find_project(), utc_now(), complete=complete)
    if as_json:
        out_json(_json(written))
    elif complete:
        tasks = plural(written.tasks_complete, "complete task")
        out(f"Archived {tasks} in .ralph/archive/{written.name}, and took them out of the plan.")
    else:
        out(f"Archived {plural(written.tasks_total, 'task')} in .ralph/archive/{written.name}.")


def _list(root: "Path", *, as_json: bool) -> None:
    from ralph_tui.present.text.figures import money, when
    from ralph_tui.store.archive import read_archives
    from ralph_tui.store.layout import Layout

    found, unreadable = read_archives(Layout(root))
    for folder in unreadable:
        note(f".ralph/archive/{folder} has no summary.json that ralph can read; it is not listed.")
    if as_json:
        out_json({"archives": [_json(one) for one in found]})
    elif not found:
        out("Nothing is archived yet. A finished plan is archived automatically.")
    else:
        out_table(
            ("NAME", "DONE", "COST", "ARCHIVED", "TITLE"),
            (
                (
                    one.name,
                    "taken out" if one.is_retirement else f"{one.tasks_complete}/{one.tasks_total}",
                    money(one.cost_usd),
                    when(one.archived_at),
                    one.title or one.request,
                )
                for one in found
            ),
        )


def _json(one: "ArchiveSummary") -> dict[str, object]:
    return one.model_dump(mode="json", exclude={"schema_version", "digest"})
