"""`ralph import` and `ralph export`: read other tools' plans into the plan, and write its progress back."""

from typing import TYPE_CHECKING, Annotated, Literal

from ralph_tui.cli.completion import features
from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, app, argument, chosen_feature, examples, flag, option
from ralph_tui.cli.project_lookup import find_project, open_controls

if TYPE_CHECKING:
    from pathlib import Path


Form = Annotated[
    str, option("FORMAT", "The format of the file. Default: ralph detects it.", "--as")
]


@app.command(
    "import",
    epilog=examples(
        "ralph import prd.json",
        "ralph import .ralph/login/prd.json --into login",
        "ralph import specs/001-login/tasks.md --by group",
        "ralph import .taskmaster/tasks/tasks.json --tag v2 --dry-run",
        "gh issue list --json number,title,body,state | ralph import - --as github --yes",
    ),
)
def import_plan(  # noqa: PLR0913 - an option of the command for each
    source: Annotated[str, argument("SOURCE", "The file with the plan. `-` reads standard input.")],
    *,
    form: Form = "",
    by: Annotated[
        Literal["task", "group"], flag("Make one task of each task of the file, or of each group.")
    ] = "task",
    tag: Annotated[str, option("TAG", "Read this tag of a Taskmaster file.")] = "",
    dry_run: Annotated[bool, flag("Only show what would change.")] = False,
    yes: Annotated[bool, flag("Do not ask before importing.", "-y")] = False,
    into: Annotated[
        str | None,
        option(
            "FEATURE",
            "Import into this feature. Creates the feature if it does not exist.",
            autocompletion=features,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import another tool's plan into this one.

    First shows what is new, changed, no longer in the file or left out, and every command among the criteria.
    Tasks that are complete here stay complete. Tasks that only the file marks as complete count as not verified.
    The file is not changed.
    """
    from ralph_tui.cli.run.import_dialog import ask, finish, show
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.features import UNNAMED
    from ralph_tui.engine.run.plan_import import PlanImport
    from ralph_tui.interop.formats import ImportOptions

    target = _TargetFeature(into)
    with chosen_feature(UNNAMED if target.is_new else into):
        controls = open_controls()
        settings = load_settings(controls.root)
        importing = PlanImport(controls, settings, into_new=target.name if target.is_new else None)
        preview = importing.look(source, form, ImportOptions(by=by, tag=tag))
    if not as_json:
        show(preview)
    if dry_run or not preview.changes_plan:
        finish(preview, as_json=as_json, written=False)
        return
    if not yes:
        ask(preview, as_json=as_json)
    target.create(controls.root)
    with chosen_feature(into):
        if target.is_new:
            importing.made(open_controls())
        if controls.has_loop:
            note("A loop is running here. It sees the change before its next task.")
        importing.write(preview)
    target.copy_specs(controls.root, source)
    finish(preview, as_json=as_json, written=True)


class _TargetFeature:
    """The feature that an import goes into, if one was named. It may have to be created."""

    def __init__(self, name: str | None) -> None:
        self.name = ""
        self.is_new = False
        if name is None:
            return
        from ralph_tui.store.feature_choice import named_feature
        from ralph_tui.store.feature_folders import Features

        self.name = named_feature(name)
        known = Features(find_project("").root)
        self.is_new = bool(self.name) and self.name not in known.names
        if self.is_new:
            known.require_new(self.name)

    def create(self, root: "Path") -> None:
        if self.is_new:
            from ralph_tui.engine.control.feature_control import make_feature

            chosen = make_feature(root, self.name)
            note(f"Made the feature {self.name}{' and chose it' if chosen else ''}.")

    def copy_specs(self, root: "Path", source: str) -> None:
        if self.name:
            from ralph_tui.engine.control.feature_control import adopt_specs

            for path in adopt_specs(root, source, self.name):
                note(f"Copied {path}.")


@app.command(
    epilog=examples(
        "ralph export prd.json",
        "ralph export prd.json --follow",
        "ralph export backlog.json --as snarktank",
    )
)
def export(
    file: Annotated[str, argument("FILE", "A file in this project.")],
    *,
    form: Form = "",
    follow: Annotated[
        bool | None,
        flag(
            "Start or stop updating the file during every run.",
            "--follow/--unfollow",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the plan's progress into another tool's file.

    Only the marks for complete tasks change; every other byte stays. A followed file is left alone once somebody
    else edits it. Creating a file needs --as.
    """
    from ralph_tui.engine.control.plan_export import export_plan, unfollow

    project = find_project()
    if follow is False:
        name = unfollow(project, file)
        if as_json:
            out_json({"path": name, "followed": False})
        else:
            out(f"Runs no longer update {name}. The file stays as it is.")
        return
    done = export_plan(project, file, form, follow=bool(follow))
    if as_json:
        out_json({**done._asdict(), "followed": bool(follow)})
        return
    word = "Created" if done.created else "Updated" if done.changed else "Nothing to change in"
    out(f"{word} {done.path} ({done.format}).")
    if follow:
        out("Every run updates it from now on. `--unfollow` ends that.")
