"""`ralph feature` and `archive`: plans beside each other, and plans that are finished."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import features
from ralph_tui.cli.completion import features as offered
from ralph_tui.cli.console import note, out, out_json, out_table
from ralph_tui.cli.options import (
    AsJson,
    ProjectRoot,
    app,
    argument,
    chosen_feature,
    examples,
    flag,
    whole,
)
from ralph_tui.cli.project_lookup import chosen_project, find_project
from ralph_tui.domain.formatting import plural

if TYPE_CHECKING:
    from pathlib import Path

    from ralph_tui.domain.documents.archive import ArchiveSummary
    from ralph_tui.domain.features import FeatureSummary


group = typer.Typer(
    name="feature",
    help="List, create and choose features.",
    rich_markup_mode=None,
)
whole.add_typer(group)


@group.callback(
    invoke_without_command=True, epilog=examples("ralph feature", "ralph feature --json")
)
def feature(
    context: typer.Context, *, project_root: ProjectRoot = None, as_json: AsJson = False
) -> None:
    """List the features, or run one of the commands."""
    context.with_resource(chosen_project(project_root))
    if context.invoked_subcommand is None:
        list_features(as_json=as_json)


@group.command("list", epilog=examples("ralph feature list", "ralph feature list --json"))
def list_features(*, as_json: AsJson = False) -> None:
    """List the features, like `ralph feature` alone."""
    from ralph_tui.store.feature_folders import Features

    found = Features(find_project("").root).summaries()
    if as_json:
        out_json({"features": [_feature_json(summary) for summary in found]})
    elif not found:
        out("This project has one plan. `ralph feature new NAME` makes a feature beside it.")
    else:
        _table(found)


@group.command(epilog=examples("ralph feature new login"))
def new(
    name: Annotated[str, argument("NAME", "The feature's name.")],
) -> None:
    """Create a feature and choose it.

    The feature starts with an empty plan and a folder for its specs. While a loop runs, it is created but not chosen.
    """
    from ralph_tui.engine.control.feature_control import make_feature

    chosen = make_feature(find_project("").root, name)
    out(f"Created the feature {name}. Its specs go into specs/{name}/.")
    if chosen:
        out("Commands work on it from now on. `ralph feature` lists all features.")
    else:
        out(f"Work on it with `-f {name}`, or choose it later with `ralph feature use {name}`.")


@group.command(epilog=examples("ralph feature use login", "ralph feature use ."))
def use(
    name: Annotated[
        str,
        argument(
            "NAME", "The feature's name; `.` is the plan without a name.", autocompletion=offered
        ),
    ],
) -> None:
    """Choose the feature that commands work on.

    Refused while a loop runs, and while another feature's branch is checked out.
    """
    from ralph_tui.engine.control.feature_control import choose_feature
    from ralph_tui.store.feature_choice import named_feature

    chosen = named_feature(name)
    choose_feature(find_project("").root, chosen)
    out(
        f"Commands work on {chosen} from now on."
        if chosen
        else "Commands work on the plan without a name from now on."
    )


def _table(found: "tuple[FeatureSummary, ...]") -> None:
    from ralph_tui.present.text.figures import money, when
    from ralph_tui.present.text.glyphs import choose

    mark = choose(encoding=sys.stdout.encoding).current
    out_table(
        ("", "FEATURE", "DONE", "PHASE", "BRANCH", "COST", "LAST ACTIVITY"),
        (
            (
                mark if one.active else "",
                one.shown,
                "?" if one.trouble else f"{one.done}/{one.total}",
                "" if one.trouble else one.phase.value,
                one.branch,
                money(one.cost_usd),
                when(one.last_activity) if one.last_activity else "",
            )
            for one in found
        ),
    )
    for one in found:
        if one.trouble:
            out(f"problem: {one.trouble}")


def _feature_json(one: "FeatureSummary") -> dict[str, object]:
    when = one.last_activity.isoformat() if one.last_activity else None
    fields = {**one._asdict(), "phase": one.phase.value, "last_activity": when}
    problem = fields.pop("trouble")
    return {**fields, "problem": problem}


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
        _list_archives(find_project("").root, as_json=as_json)
        return
    with chosen_feature(name):
        from ralph_tui.engine.control.archiving import archive_by_hand
        from ralph_tui.store.io.files import utc_now

        written = archive_by_hand(find_project(), utc_now(), complete=complete)
    if as_json:
        out_json(_archive_json(written))
    elif complete:
        tasks = plural(written.tasks_complete, "complete task")
        out(f"Archived {tasks} in .ralph/archive/{written.name}, and took them out of the plan.")
    else:
        out(f"Archived {plural(written.tasks_total, 'task')} in .ralph/archive/{written.name}.")


def _list_archives(root: "Path", *, as_json: bool) -> None:
    from ralph_tui.present.text.figures import money, when
    from ralph_tui.store.archive import read_archives
    from ralph_tui.store.layout import Layout

    found, unreadable = read_archives(Layout(root))
    for folder in unreadable:
        note(f".ralph/archive/{folder} has no summary.json that ralph can read; it is not listed.")
    if as_json:
        out_json({"archives": [_archive_json(one) for one in found]})
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


def _archive_json(one: "ArchiveSummary") -> dict[str, object]:
    return one.model_dump(mode="json", exclude={"schema_version", "digest"})
