"""`ralph config`: shows and changes the settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import setting_names
from ralph_tui.cli.console import agreed, note, out, out_json, out_table
from ralph_tui.cli.options import AsJson, argument, examples, flag, whole
from ralph_tui.cli.project_lookup import find_project, project_directory
from ralph_tui.domain.formatting import plural

if TYPE_CHECKING:
    from ralph_tui.engine.control.config_import import ConfigPreview

app = typer.Typer(name="config", help="Show and change the settings.", rich_markup_mode=None)
whole.add_typer(app)


@app.command(epilog=examples("ralph config show"))
def show(*, as_json: AsJson = False) -> None:
    """Print every setting by topic, with its value and source.

    References to environment variables are shown as written.
    """
    from itertools import groupby

    from ralph_tui.config.load import short_source
    from ralph_tui.config.setting_names import topics
    from ralph_tui.config.template import plain_value, yaml_value
    from ralph_tui.engine.control.change_settings import values_and_sources

    root = project_directory()
    found = values_and_sources(root)
    if as_json:
        out_json(
            {
                key: {"value": plain_value(value), "source": source, "topic": topics()[key].name}
                for key, (value, source) in found.items()
            }
        )
        return
    rows: list[tuple[str, ...]] = []
    for name, keys in groupby(topics(), lambda key: topics()[key].name):
        rows += [("", "", ""), (name, "", "")]
        for key in keys:
            value, source = found[key]
            rows.append((key, yaml_value(value), short_source(source, root)))
    out_table(("SETTING", "VALUE", "FROM"), rows)


@app.command("set", epilog=examples("ralph config set phases.building.max_iterations 50"))
def set_value(
    key: Annotated[
        str,
        argument("KEY", "The setting, as in `ralph config show`.", autocompletion=setting_names),
    ],
    value: Annotated[str, argument("VALUE", "The new value. Write a list as [one, two].")],
) -> None:
    """Change a setting in the project's file, keeping its comments."""
    from ralph_tui.engine.control.change_settings import change_setting

    changed = change_setting(find_project().root, key, value)
    out(f"{key} = {changed.value}  ({changed.path})")
    if changed.stronger:
        note(f"{changed.stronger} overrides this value while it is set.")


@app.command(
    "import",
    epilog=examples(
        "ralph config import .ralph/configs/default.json", "ralph config import config.yaml --yes"
    ),
)
def import_settings(
    file: Annotated[Path, argument("FILE", "Wiggum's default.json or Ralph Hybrid's config.yaml.")],
    *,
    yes: Annotated[bool, flag("Do not ask before importing.", "-y")] = False,
    as_json: AsJson = False,
) -> None:
    """Import the settings of another loop.

    First shows what would be set, what has no counterpart and why, and every command that would be imported.
    Comments in this project's file stay. The other file is not changed.
    """
    from ralph_tui.engine.control.config_import import ConfigImport

    importing = ConfigImport(find_project(), file)
    preview = importing.preview
    if not as_json:
        _show_import(preview)
    written = bool(preview.settings)
    if written and not yes:
        if as_json:
            out_json({**preview.model_dump(mode="json"), "written": False})
        agreed(
            f"Import this{' with its commands' if preview.commands else ''}?",
            nothing="Nothing was written",
            kept="The settings are as they were.",
            default=not preview.commands,
            can_ask=not as_json,
        )
    if written:
        importing.write()
    if as_json:
        out_json({**preview.model_dump(mode="json"), "written": written})
    else:
        out()
        out(
            f"Imported {plural(len(preview.settings), 'setting')}. `ralph config show` lists them all."
            if written
            else "Nothing to import: no setting of the file has a counterpart."
        )


def _show_import(preview: "ConfigPreview") -> None:
    out(f"{preview.source}: {preview.form.value}")
    if preview.settings:
        out()
        out_table(("SETTING", "WAS", "VALUE"), ((s.key, s.was, s.value) for s in preview.settings))
    if preview.left_out:
        out()
        out("Left out:")
        for left in preview.left_out:
            place = f" (line {left.line})" if left.line else ""
            out(f"  {left.key}{place}: {left.reason}.")
    if preview.commands:
        out()
        out("Commands that ralph would run in the sandbox:")
        for place, command in preview.commands.items():
            out(f"  {place}: {command}")
    if preview.done_steps:
        out()
        out(f"Done before, so not run again: {', '.join(preview.done_steps)}.")
    for remark in preview.remarks:
        out()
        out(remark)
